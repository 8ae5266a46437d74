// Image files. Both libraries are loaded when they are first needed, and used through interfaces that report
// errors by return values: libpng's simplified one and TurboJPEG. Before memory is made for an image, its
// size is held against what so many compressed bytes can hold.
#include "tenon/image.h"

#include <dlfcn.h>

#include <cstring>
#include <string_view>

#include "frontend/src/io/file.h"
#include "frontend/src/io/image_bytes.h"
#include "frontend/src/tensor/impl.h"

#ifdef TENON_WITH_PNG
#include <png.h>
#endif
#ifdef TENON_WITH_TURBOJPEG
#include <turbojpeg.h>
#endif

namespace tenon::io {
namespace {

// Row-major pixels: height x width x channels.
struct Pixels {
  Pixels(int64_t h, int64_t w, int64_t c) : height(h), width(w), channels(c), bytes(at(h * w * c), '\0') {}
  unsigned char* data() { return reinterpret_cast<unsigned char*>(bytes.data()); }
  const unsigned char* data() const { return reinterpret_cast<const unsigned char*>(bytes.data()); }
  int64_t height, width, channels;
  std::string bytes;
};

[[maybe_unused]] void check_size(const std::string& name, uint64_t width, uint64_t height, uint64_t bytes, uint64_t pixels_per_byte) {
  constexpr uint64_t kMostPixels = uint64_t{1} << 31;
  check(width > 0 && height > 0 && width <= kMostPixels / height && width * height <= bytes * pixels_per_byte, name, ": says that it is ",
        width, " x ", height, " pixels, which its ", bytes, " bytes cannot hold");
}

// A library of the system, for as long as the process lives. Error if it is not there.
class Library {
 public:
  Library(const char* name, const char* package) : name_(name), handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    check(handle_ != nullptr, "cannot load ", name, " (Debian: ", package, "): ", dlerror());
  }
  template <typename Function>
  void find(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    check(function != nullptr, name_, " has no ", symbol);
  }

 private:
  const char* name_;
  void* handle_;
};
#define TENON_FUNCTION(name) decltype(&::name) name = nullptr
#define TENON_FIND(name) library.find(#name, name)

#ifdef TENON_WITH_PNG
struct LibPng {
  TENON_FUNCTION(png_image_begin_read_from_memory);
  TENON_FUNCTION(png_image_finish_read);
  TENON_FUNCTION(png_image_write_to_memory);
  TENON_FUNCTION(png_image_free);
  LibPng() {
    const Library library("libpng16.so.16", "libpng16-16");
    TENON_FIND(png_image_begin_read_from_memory);
    TENON_FIND(png_image_finish_read);
    TENON_FIND(png_image_write_to_memory);
    TENON_FIND(png_image_free);
  }
};
const LibPng& png() {
  static const LibPng library;
  return library;
}

class PngImage {  // libpng's, which must be freed
 public:
  PngImage() { image_.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png().png_image_free(&image_); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  png_image* operator->() { return &image_; }
  operator png_image*() { return &image_; }

 private:
  png_image image_{};
};

Pixels decode_png(const std::string& name, std::string_view bytes) {
  constexpr uint64_t kPixelsPerByte = 8 * 1032;  // one bit a pixel, deflated
  PngImage image;
  check(png().png_image_begin_read_from_memory(image, bytes.data(), bytes.size()) != 0, name, ": PNG: ", image->message);
  check_size(name, image->width, image->height, bytes.size(), kPixelsPerByte);
  image->flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  image->format &= PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA;  // 8 bits a sample, no palette
  Pixels pixels(image->height, image->width, PNG_IMAGE_SAMPLE_CHANNELS(image->format));
  check(png().png_image_finish_read(image, nullptr, pixels.data(), 0, nullptr) != 0, name, ": PNG: ", image->message);
  return pixels;
}

std::string png_of(const Pixels& pixels) {
  constexpr png_uint_32 kFormats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  PngImage image;
  image->width = static_cast<png_uint_32>(pixels.width);
  image->height = static_cast<png_uint_32>(pixels.height);
  image->format = kFormats[pixels.channels - 1];
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(*static_cast<png_image*>(image));
  std::string file(size, '\0');
  check(png().png_image_write_to_memory(image, file.data(), &size, 0, pixels.data(), 0, nullptr) != 0, "PNG: ", image->message);
  file.resize(size);
  return file;
}
#else
[[noreturn]] void no_png() { throw Error("PNG: Tenon was built without libpng (Debian: libpng-dev)"); }
Pixels decode_png(const std::string&, std::string_view) { no_png(); }
std::string png_of(const Pixels&) { no_png(); }
#endif

#ifdef TENON_WITH_TURBOJPEG
struct LibTurboJpeg {
  TENON_FUNCTION(tjInitCompress);
  TENON_FUNCTION(tjInitDecompress);
  TENON_FUNCTION(tjDestroy);
  TENON_FUNCTION(tjDecompressHeader3);
  TENON_FUNCTION(tjDecompress2);
  TENON_FUNCTION(tjCompress2);
  TENON_FUNCTION(tjBufSize);
  TENON_FUNCTION(tjGetErrorStr2);
  TENON_FUNCTION(tjGetErrorCode);
  LibTurboJpeg() {
    const Library library("libturbojpeg.so.0", "libturbojpeg0");
    TENON_FIND(tjInitCompress);
    TENON_FIND(tjInitDecompress);
    TENON_FIND(tjDestroy);
    TENON_FIND(tjDecompressHeader3);
    TENON_FIND(tjDecompress2);
    TENON_FIND(tjCompress2);
    TENON_FIND(tjBufSize);
    TENON_FIND(tjGetErrorStr2);
    TENON_FIND(tjGetErrorCode);
  }
};
const LibTurboJpeg& tj() {
  static const LibTurboJpeg library;
  return library;
}

class TurboJpeg {  // a handle that must be destroyed
 public:
  explicit TurboJpeg(tjhandle handle) : handle_(handle) { check<OutOfMemoryError>(handle != nullptr, "JPEG: no memory"); }
  ~TurboJpeg() { tj().tjDestroy(handle_); }
  TurboJpeg(const TurboJpeg&) = delete;
  TurboJpeg& operator=(const TurboJpeg&) = delete;
  operator tjhandle() const { return handle_; }

 private:
  tjhandle handle_;
};

// Whether the image's data, which begin behind the segments of its header, have an end. libjpeg makes one up
// where it is missing.
bool has_end(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  size_t segment = 2;
  while (segment + 4 <= bytes.size() && byte(segment) == 0xff) {
    const unsigned char marker = byte(segment + 1);
    if (marker == 0xda) return bytes.find("\xff\xd9", segment) != bytes.npos;
    segment += marker == 0xff ? 1 : 2u + byte(segment + 2) * 256u + byte(segment + 3);
  }
  return false;
}

Pixels decode_jpeg(const std::string& name, std::string_view bytes) {
  constexpr uint64_t kPixelsPerByte = 1024;  // at least one bit for a block of 8 x 8 pixels
  const TurboJpeg jpeg(tj().tjInitDecompress());
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, sampling = 0, color = 0;
  check(tj().tjDecompressHeader3(jpeg, data, bytes.size(), &width, &height, &sampling, &color) == 0, name,
        ": JPEG: ", tj().tjGetErrorStr2(jpeg));
  check_size(name, static_cast<uint64_t>(width), static_cast<uint64_t>(height), bytes.size(), kPixelsPerByte);
  check(has_end(bytes), name, ": JPEG: byte ", bytes.size(), ": its data are cut off");
  check(color != TJCS_CMYK && color != TJCS_YCCK, name, ": JPEG: its colours are CMYK, which are not read");
  Pixels pixels(height, width, color == TJCS_GRAY ? 1 : 3);
  const int format = color == TJCS_GRAY ? TJPF_GRAY : TJPF_RGB;
  if (tj().tjDecompress2(jpeg, data, bytes.size(), pixels.data(), width, 0, height, format, TJFLAG_LIMITSCANS) == 0) return pixels;
  // Odd but complete files are warnings; the warnings about those that are cut off speak of a premature end.
  const std::string_view reason = tj().tjGetErrorStr2(jpeg);
  check(tj().tjGetErrorCode(jpeg) == TJERR_WARNING && reason.find("remature end") == reason.npos, name, ": JPEG: ", reason);
  return pixels;
}

std::string jpeg_of(const Pixels& pixels, int quality) {
  const TurboJpeg jpeg(tj().tjInitCompress());
  const bool gray = pixels.channels == 1;
  const int width = static_cast<int>(pixels.width), height = static_cast<int>(pixels.height);
  const int sampling = gray ? TJSAMP_GRAY : TJSAMP_420;
  std::string file(tj().tjBufSize(width, height, sampling), '\0');
  auto* out = reinterpret_cast<unsigned char*>(file.data());
  unsigned long size = file.size();
  check(tj().tjCompress2(jpeg, pixels.data(), width, 0, height, gray ? TJPF_GRAY : TJPF_RGB, &out, &size, sampling, quality,
                         TJFLAG_NOREALLOC) == 0,
        "JPEG: ", tj().tjGetErrorStr2(jpeg));
  file.resize(size);
  return file;
}
#else
[[noreturn]] void no_jpeg() { throw Error("JPEG: Tenon was built without TurboJPEG (Debian: libturbojpeg0-dev)"); }
Pixels decode_jpeg(const std::string&, std::string_view) { no_jpeg(); }
std::string jpeg_of(const Pixels&, int) { no_jpeg(); }
#endif

// One pixel in other channels: alpha is dropped or 255, gray is the luma of ITU-R 601 in 16 bits, as PIL has
// it.
void convert_pixel(const unsigned char* in, int64_t from, unsigned char* out, int64_t to, int64_t plane) {
  const bool from_color = from >= 3, to_color = to >= 3;
  const unsigned alpha = from % 2 == 0 ? in[from - 1] : 255;
  if (to_color) {
    for (int64_t c = 0; c < 3; ++c) out[c * plane] = from_color ? in[c] : in[0];
  } else {
    out[0] = from_color ? static_cast<unsigned char>((in[0] * 19595u + in[1] * 38470u + in[2] * 7471u + 0x8000u) >> 16) : in[0];
  }
  if (to % 2 == 0) out[(to - 1) * plane] = static_cast<unsigned char>(alpha);
}

Tensor tensor_of(const Pixels& pixels, ImageMode mode) {
  const int64_t channels = mode == ImageMode::Unchanged ? pixels.channels : static_cast<int64_t>(mode);
  const int64_t plane = pixels.height * pixels.width;
  auto buffer = allocate_buffer(at(channels * plane));
  auto* out = static_cast<unsigned char*>(buffer->data());
  for (int64_t i = 0; i < plane; ++i) convert_pixel(pixels.data() + i * pixels.channels, pixels.channels, out + i, channels, plane);
  return tensor_from_buffer(DType::U8, {channels, pixels.height, pixels.width}, std::move(buffer));
}

Pixels pixels_of(const Tensor& image, int64_t most_channels) {
  check(image.defined() && image.scalar_type() == kByte && image.dim() == 3, "an image is written from uint8 [channels, height, width]");
  const int64_t channels = image.size(0), height = image.size(1), width = image.size(2);
  check(channels >= 1 && channels <= most_channels && (channels != 2 || most_channels == 4), "an image of ", channels,
        " channels cannot be written in this format");
  check(height >= 1 && width >= 1 && height <= 65535 && width <= 65535, "an image of ", width, " x ", height, " pixels cannot be written");
  const Tensor rows = image.permute({1, 2, 0}).contiguous();
  Pixels pixels(height, width, channels);
  std::memcpy(pixels.data(), host_view(rows).data, pixels.bytes.size());
  return pixels;
}

Tensor tensor_of(const std::string& bytes) {
  auto buffer = allocate_buffer(bytes.size());
  std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return tensor_from_buffer(DType::U8, {static_cast<int64_t>(bytes.size())}, std::move(buffer));
}

void write_file(const std::string& path, const std::string& bytes) {
  OutputFile file(path);
  file.write(bytes.data(), bytes.size());
  file.close();
}

std::string png_file(const Tensor& image) { return png_of(pixels_of(image, 4)); }
std::string jpeg_file(const Tensor& image, int quality) {
  check(quality >= 1 && quality <= 100, "Image quality should be a positive number between 1 and 100");
  return jpeg_of(pixels_of(image, 3), quality);
}

}  // namespace

Tensor decode_image_bytes(const std::string& name, std::string_view bytes, ImageMode mode) {
  if (bytes.starts_with("\x89PNG")) return tensor_of(decode_png(name, bytes), mode);
  if (bytes.starts_with("\xff\xd8\xff")) return tensor_of(decode_jpeg(name, bytes), mode);
  throw Error(name + ": byte 0: neither a PNG nor a JPEG");
}

Tensor read_image(const std::string& path, ImageMode mode) {
  FileSource file(path);
  return decode_image_bytes(path, file.read_text(file.size(), "bytes"), mode);
}
Tensor decode_image(const Tensor& bytes, ImageMode mode) {
  check(bytes.defined() && bytes.scalar_type() == kByte && bytes.dim() == 1, "decode_image expects the bytes of a file: uint8, 1-d");
  const Tensor flat = bytes.contiguous();
  const HostView view = host_view(flat);
  return decode_image_bytes("image", {reinterpret_cast<const char*>(view.data), at(flat.numel())}, mode);
}

void write_png(const Tensor& image, const std::string& path) { write_file(path, png_file(image)); }
void write_jpeg(const Tensor& image, const std::string& path, int quality) { write_file(path, jpeg_file(image, quality)); }
Tensor encode_png(const Tensor& image) { return tensor_of(png_file(image)); }
Tensor encode_jpeg(const Tensor& image, int quality) { return tensor_of(jpeg_file(image, quality)); }

}  // namespace tenon::io
