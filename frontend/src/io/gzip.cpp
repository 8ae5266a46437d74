// gzip through zlib.
#include "frontend/src/io/gzip.h"

#include <algorithm>
#include <limits>

#include "frontend/src/tensor/text.h"

namespace tenon::io {
namespace {

constexpr uint64_t kBestRatio = 1032;
constexpr int kGzip = 16 + MAX_WBITS;  // zlib's way to ask for gzip's header and checksum

uint64_t most_bytes(uint64_t compressed) {
  return compressed > std::numeric_limits<uint64_t>::max() / kBestRatio ? std::numeric_limits<uint64_t>::max() : compressed * kBestRatio;
}

}  // namespace

GzipSource::GzipSource(Source& compressed, std::string_view first)
    : Source(compressed.name() + " (decompressed)", most_bytes(compressed.remaining() + first.size())), compressed_(compressed) {
  check(first.size() <= sizeof block_, name(), ": too much was read of it");
  std::copy(first.begin(), first.end(), block_);
  stream_.next_in = block_;
  stream_.avail_in = static_cast<uInt>(first.size());
  check<OutOfMemoryError>(inflateInit2(&stream_, kGzip) == Z_OK, compressed.name(), ": no memory to decompress it");
}
GzipSource::~GzipSource() { inflateEnd(&stream_); }

size_t GzipSource::read_some(void* out, size_t bytes) {
  if (ended_) return 0;
  stream_.next_out = static_cast<unsigned char*>(out);
  stream_.avail_out = static_cast<uInt>(std::min<size_t>(bytes, std::numeric_limits<uInt>::max()));
  const uInt wanted = stream_.avail_out;
  while (stream_.avail_out == wanted && !ended_) {
    if (stream_.avail_in == 0) {
      const size_t count = std::min<uint64_t>(sizeof block_, compressed_.remaining());
      check(count > 0, compressed_.name(), ": byte ", compressed_.size(), ": the compressed data are cut off");
      compressed_.read(block_, count, "compressed data");
      stream_.next_in = block_;
      stream_.avail_in = static_cast<uInt>(count);
    }
    const int result = inflate(&stream_, Z_NO_FLUSH);
    check(result == Z_OK || result == Z_STREAM_END, compressed_.name(), ": byte ",
          compressed_.size() - compressed_.remaining() - stream_.avail_in, ": ",
          stream_.msg ? stream_.msg : "the compressed data are damaged");
    ended_ = result == Z_STREAM_END;
  }
  return wanted - stream_.avail_out;
}

void GzipSource::finish() {
  unsigned char more;
  check(read_some(&more, 1) == 0 && compressed_.remaining() == 0 && stream_.avail_in == 0, name(), ": holds more than it says");
}

}  // namespace tenon::io
