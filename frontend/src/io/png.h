#pragma once

#include <cstdint>
#include <string>

namespace tenon::io {

// A PNG file of 8-bit pixels, row by row, `channels` (1 to 4) bytes each.
std::string png(const std::string& pixels, int64_t width, int64_t height, int64_t channels);

}  // namespace tenon::io
