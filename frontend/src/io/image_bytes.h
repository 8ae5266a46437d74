// The decoder of images on bytes, as the fuzzer calls it.
#pragma once

#include <string>
#include <string_view>

#include "tenon/image.h"

namespace tenon::io {

Tensor decode_image_bytes(const std::string& name, std::string_view bytes, ImageMode mode);

}  // namespace tenon::io
