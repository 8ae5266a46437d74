// Images from and to files: PNG through libpng, JPEG through libjpeg-turbo. Where the library was built
// without one of them, its functions are Errors that say so. Images are uint8 [channels, height, width] in
// the host's memory: gray, gray and alpha, RGB, or RGB and alpha.
#pragma once

#include <string>

#include "tenon/tensor.h"

namespace tenon::io {

enum class ImageMode : uint8_t { Unchanged, Gray, GrayAlpha, RGB, RGBAlpha };

// What the file's first bytes say that it is, a PNG or a JPEG, in the file's channels or in others: alpha is
// dropped, or is 255. 16 bits a sample become 8. Errors name the file: damaged, cut off, or of a size that it
// cannot hold.
Tensor read_image(const std::string& path, ImageMode mode = ImageMode::Unchanged);
void write_png(const Tensor& image, const std::string& path);
void write_jpeg(const Tensor& image, const std::string& path,
                int quality = 75);  // gray or RGB; quality 1..100

// The same with the bytes of a file: uint8, 1-d.
Tensor decode_image(const Tensor& bytes, ImageMode mode = ImageMode::Unchanged);
Tensor encode_png(const Tensor& image);
Tensor encode_jpeg(const Tensor& image, int quality = 75);

}  // namespace tenon::io
