// A source that decompresses a gzip file while it is read.
#pragma once

#include <zlib.h>

#include "frontend/src/io/file.h"

namespace tenon::io {

// Decompresses the bytes `first`, which were read already, and what `compressed` holds from where it stands.
// `remaining()` is what the compressed bytes could hold at most: deflate never does better than 1032 to 1.
// `finish` is an Error if more is there than was read, or the checksum at the end is wrong.
class GzipSource final : public Source {
 public:
  GzipSource(Source& compressed, std::string_view first);
  ~GzipSource() override;
  void finish();

 private:
  size_t read_some(void* out, size_t bytes) override;
  Source& compressed_;
  z_stream stream_{};
  unsigned char block_[16 * 1024];
  bool ended_ = false;
};

}  // namespace tenon::io
