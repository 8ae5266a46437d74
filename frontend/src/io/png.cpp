// PNG files from pixels: rows without a filter, deflated. What TensorBoard takes as an image.
#include "frontend/src/io/png.h"

#include <zlib.h>

#include "frontend/src/tensor/text.h"

namespace tenon::io {
namespace {

void append_big_endian(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 255);
}

void append_chunk(std::string& out, const std::string& type, const std::string& data) {
  append_big_endian(out, static_cast<uint32_t>(data.size()));
  const std::string body = type + data;
  out += body;
  append_big_endian(out, static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

}  // namespace

std::string png(const std::string& pixels, int64_t width, int64_t height, int64_t channels) {
  constexpr int kColorTypes[] = {0, 0, 4, 2, 6};  // by channels: grey, grey and alpha, RGB, RGBA
  std::string rows;
  const size_t row = static_cast<size_t>(width * channels);
  for (size_t y = 0; y < static_cast<size_t>(height); ++y) {
    rows += '\0';  // no filter
    rows.append(pixels, y * row, row);
  }
  uLongf size = ::compressBound(rows.size());
  std::string packed(size, '\0');
  check(::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()), rows.size()) == Z_OK,
        "cannot deflate an image of ", rows.size(), " bytes");
  packed.resize(size);

  std::string header;
  append_big_endian(header, static_cast<uint32_t>(width));
  append_big_endian(header, static_cast<uint32_t>(height));
  header += std::string{8, static_cast<char>(kColorTypes[channels]), 0, 0, 0};
  std::string out = "\x89PNG\r\n\x1a\n";
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", packed);
  append_chunk(out, "IEND", "");
  return out;
}

}  // namespace tenon::io
