// Image transforms: loops over the host's memory.
#include "tenon/data/vision.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "frontend/src/data/elements.h"
#include "tenon/creation.h"
#include "tenon/data/transforms.h"
#include "tenon/ops.h"
#include "tenon/random.h"

namespace tenon::data::transforms::vision {
namespace {

struct Size {
  int64_t height, width;
};
Size size_of(const Tensor& image) {
  check_defined(image);
  check<TypeError>(image.dim() == 3, "an image is [channels, height, width], but this tensor has ", image.dim(), " dims");
  return {image.size(1), image.size(2)};
}
Size both(IntArrayRef size) {  // one number stands for both
  check<ValueError>(size.size() == 1 || size.size() == 2, "Please provide only two dimensions (h, w) for size.");
  check<ValueError>(size.front() > 0 && size.back() > 0, "a size must be positive, but got ", size);
  return {size.front(), size.back()};
}

// The copy of a window that may reach over the borders, where `fill` stands; row r of it is row `row(r)` of
// the window.
template <typename Row>
Tensor window(const Tensor& image, int64_t top, int64_t left, Size size, double fill, const Row& row, bool mirrored) {
  const Size whole = size_of(image);
  const HostElementsOf in(image);
  NewTensor out(image.scalar_type(), {image.size(0), size.height, size.width});
  const size_t item = image.element_size();
  auto* to = out.as<unsigned char>();
  const int64_t first = std::clamp<int64_t>(-left, 0, size.width);
  const int64_t end = std::clamp<int64_t>(whole.width - left, first, size.width);
  if (first > 0 || end < size.width || top < 0 || top + size.height > whole.height) {
    const ir::Constant value = element_of(Scalar(fill), image.scalar_type());
    for (int64_t i = 0; i < image.size(0) * size.height * size.width; ++i) std::memcpy(to + at(i) * item, &value.bits, item);
  }
  for (int64_t c = 0; c < image.size(0); ++c) {
    for (int64_t r = 0; r < size.height; ++r, to += at(size.width) * item) {
      const int64_t y = top + row(r);
      if (y < 0 || y >= whole.height || first == end) continue;
      const unsigned char* from = in.data + at((c * whole.height + y) * whole.width + left + first) * item;
      if (!mirrored) {
        std::memcpy(to + at(first) * item, from, at(end - first) * item);
        continue;
      }
      for (int64_t x = first; x < end; ++x) std::memcpy(to + at(size.width - 1 - x) * item, from + at(x - first) * item, item);
    }
  }
  return std::move(out).done();
}
Tensor window(const Tensor& image, int64_t top, int64_t left, Size size, double fill = 0) {
  check<ValueError>(size.height > 0 && size.width > 0, "an image of ", size.height, " x ", size.width, " pixels is empty");
  return window(
      image, top, left, size, fill, [](int64_t r) { return r; }, false);
}

// What each element along an edge of the result is a weighted sum of: `count` neighbours from `first` on.
struct Taps {
  Taps(int64_t size, int64_t most) : stride(most), first(at(size)), count(at(size)), weights(at(size * most)) {}
  int64_t stride;
  std::vector<int64_t> first, count;
  std::vector<float> weights;
};

Taps nearest_taps(int64_t in, int64_t out) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  Taps taps(out, 1);
  for (size_t i = 0; i < taps.first.size(); ++i) {
    taps.first[i] = std::min(static_cast<int64_t>(std::floor(static_cast<float>(i) * scale)), in - 1);
    taps.count[i] = 1;
    taps.weights[i] = 1;
  }
  return taps;
}

Taps bilinear_taps(int64_t in, int64_t out) {  // the two neighbours
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  Taps taps(out, 2);
  for (size_t i = 0; i < taps.first.size(); ++i) {
    const float place = std::max(scale * (static_cast<float>(i) + 0.5f) - 0.5f, 0.0f);
    const int64_t below = std::min(static_cast<int64_t>(place), in - 1);
    const float share = std::min(std::max(place - static_cast<float>(below), 0.0f), 1.0f);
    taps.first[i] = below;
    taps.count[i] = below + 1 < in ? 2 : 1;
    taps.weights[2 * i] = taps.count[i] == 2 ? 1 - share : 1;
    taps.weights[2 * i + 1] = share;
  }
  return taps;
}

Taps antialiased_taps(int64_t in, int64_t out) {  // a triangle as wide as a pixel of the result
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  const float support = std::max(scale, 1.0f), inverse = scale >= 1 ? 1 / scale : 1;
  Taps taps(out, static_cast<int64_t>(std::ceil(support)) * 2 + 1);
  for (size_t i = 0; i < taps.first.size(); ++i) {
    const float center = scale * (static_cast<float>(i) + 0.5f);
    const int64_t first = std::max(static_cast<int64_t>(center - support + 0.5f), int64_t{0});
    const int64_t count = std::min(static_cast<int64_t>(center + support + 0.5f), in) - first;
    float* weights = &taps.weights[i * at(taps.stride)];
    float total = 0;
    for (int64_t j = 0; j < count; ++j) {
      const float distance = std::abs((static_cast<float>(j + first) - center + 0.5f) * inverse);
      total += weights[j] = std::max(1 - distance, 0.0f);
    }
    for (int64_t j = 0; j < count && total != 0; ++j) weights[j] /= total;
    taps.first[i] = first;
    taps.count[i] = count;
  }
  return taps;
}

Taps taps_of(int64_t in, int64_t out, Interpolation interpolation, bool antialias) {
  if (interpolation == Interpolation::Nearest) return nearest_taps(in, out);
  return antialias ? antialiased_taps(in, out) : bilinear_taps(in, out);
}

// [in] -> [taps]: elements of a row, `step` apart.
void weigh(const float* in, const Taps& taps, int64_t step, float* out) {
  for (size_t i = 0; i < taps.first.size(); ++i) {
    const float* weights = &taps.weights[i * at(taps.stride)];
    float sum = 0;
    for (int64_t j = 0; j < taps.count[i]; ++j) sum += in[(taps.first[i] + j) * step] * weights[j];
    out[static_cast<int64_t>(i) * step] = sum;
  }
}

// One channel: rows first, then columns.
void resize_plane(const std::vector<float>& in, int64_t width, const Taps& rows, const Taps& columns, std::vector<float>& between,
                  float* out) {
  const auto out_width = static_cast<int64_t>(columns.first.size());
  const int64_t height = static_cast<int64_t>(in.size()) / width;
  between.resize(at(height * out_width));
  for (int64_t r = 0; r < height; ++r) weigh(&in[at(r * width)], columns, 1, &between[at(r * out_width)]);
  for (int64_t c = 0; c < out_width; ++c) weigh(&between[at(c)], rows, out_width, out + c);
}

}  // namespace

Tensor to_tensor(const Tensor& image) {
  size_of(image);
  check<ValueError>(image.size(0) >= 1 && image.size(0) <= 4, "an image is [channels, height, width], but the first size of ",
                    image.sizes(), " cannot be channels; permute({2, 0, 1}) makes it so from [height, width, channels]");
  if (image.is_floating_point()) return image;
  check<TypeError>(image.scalar_type() == kByte, "to_tensor expects bytes or floats, but got ", image.dtype());
  const HostElementsOf in(image);
  NewTensor out(kFloat, image.sizes());
  auto* to = out.as<float>();
  for (int64_t i = 0; i < image.numel(); ++i) to[i] = static_cast<float>(in.data[i]) / 255.0f;
  return std::move(out).done();
}

Tensor normalize(const Tensor& image, ArrayRef<double> mean, ArrayRef<double> stddev) {
  size_of(image);
  check<TypeError>(image.is_floating_point(), "Input tensor should be a float tensor. Got ", image.dtype(), ".");
  for (double s : stddev)
    check<ValueError>(s != 0, "std evaluated to zero after conversion to ", image.dtype(), ", leading to division by zero.");
  const auto column = [&](ArrayRef<double> values) {
    return tensor(values.vec(), TensorOptions(image.scalar_type())).reshape({static_cast<int64_t>(values.size()), 1, 1});
  };
  return data::detail::normalized(image, column(mean), column(stddev));
}

Tensor hflip(const Tensor& image) {
  return window(
      image, 0, 0, size_of(image), 0, [](int64_t r) { return r; }, true);
}
Tensor vflip(const Tensor& image) {
  const Size size = size_of(image);
  return window(
      image, 0, 0, size, 0, [&](int64_t r) { return size.height - 1 - r; }, false);
}

Tensor crop(const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width) {
  size_of(image);
  return window(image, top, left, {height, width});
}

Tensor center_crop(const Tensor& image, IntArrayRef size) {
  const Size wanted = both(size);
  Tensor padded = image;
  const auto [height, width] = size_of(image);
  const int64_t rows = std::max<int64_t>(wanted.height - height, 0), columns = std::max<int64_t>(wanted.width - width, 0);
  if (rows > 0 || columns > 0) padded = pad(image, {columns / 2, rows / 2, (columns + 1) / 2, (rows + 1) / 2});
  const auto middle = [](int64_t from, int64_t to) { return static_cast<int64_t>(std::nearbyint(static_cast<double>(from - to) / 2)); };
  const Size from = size_of(padded);
  return window(padded, middle(from.height, wanted.height), middle(from.width, wanted.width), wanted);
}

Tensor pad(const Tensor& image, IntArrayRef padding, double fill) {
  check<ValueError>(padding.size() == 1 || padding.size() == 2 || padding.size() == 4,
                    "Padding must be an int or a 1, 2, or 4 element tuple, not a ", padding.size(), " element tuple");
  const int64_t left = padding[0], top = padding[padding.size() > 1 ? 1 : 0];
  const int64_t right = padding[padding.size() == 4 ? 2 : 0], bottom = padding[padding.size() == 4 ? 3 : padding.size() - 1];
  const auto [height, width] = size_of(image);
  return window(image, -top, -left, {height + top + bottom, width + left + right}, fill);
}

Tensor resize(const Tensor& image, IntArrayRef size, Interpolation interpolation, bool antialias) {
  const auto [height, width] = size_of(image);
  check<TypeError>(image.scalar_type() == kByte || image.scalar_type() == kFloat, "resize expects uint8 or float32, but got ",
                   image.dtype());
  Size wanted = both(size);
  check<ValueError>(height > 0 && width > 0, "an image of ", height, " x ", width, " pixels is empty");
  if (size.size() == 1) {
    if (width <= height) wanted.height = wanted.width * height / width;
    else wanted.width = wanted.height * width / height;
  }
  if (wanted.height == height && wanted.width == width) return image;
  const Taps rows = taps_of(height, wanted.height, interpolation, antialias),
             columns = taps_of(width, wanted.width, interpolation, antialias);
  const HostElementsOf in(image);
  NewTensor out(image.scalar_type(), {image.size(0), wanted.height, wanted.width});
  const size_t plane = at(height * width), out_plane = at(wanted.height * wanted.width);
  const bool bytes = image.scalar_type() == kByte;
  std::vector<float> from(plane), between, to(out_plane);
  for (size_t c = 0; c < at(image.size(0)); ++c) {
    if (bytes) std::copy_n(in.data + c * plane, plane, from.begin());
    else std::copy_n(in.as<float>() + c * plane, plane, from.begin());
    resize_plane(from, width, rows, columns, between, to.data());
    if (!bytes) {
      std::copy(to.begin(), to.end(), out.as<float>() + c * out_plane);
      continue;
    }
    for (size_t i = 0; i < out_plane; ++i)
      out.as<unsigned char>()[c * out_plane + i] = static_cast<unsigned char>(std::clamp(std::nearbyint(to[i]), 0.0f, 255.0f));
  }
  return std::move(out).done();
}

namespace {

bool happens(double p) { return tenon::rand({1}).item<float>() < static_cast<float>(p); }
int64_t below(int64_t end) { return randint(0, end, {1}).item<int64_t>(); }
double uniform(double low, double high) { return empty({1}).uniform_(low, high).item<double>(); }

}  // namespace

Normalize::Normalize(ArrayRef<double> mean, ArrayRef<double> stddev) : mean_(mean.vec()), stddev_(stddev.vec()) {}
Resize::Resize(IntArrayRef size, Interpolation interpolation, bool antialias)
    : size_(size.vec()), interpolation_(interpolation), antialias_(antialias) {}
CenterCrop::CenterCrop(IntArrayRef size) : size_(size.vec()) {}
Pad::Pad(IntArrayRef padding, double fill) : padding_(padding.vec()), fill_(fill) {}
Pad::Pad(std::initializer_list<int64_t> padding, double fill) : Pad(IntArrayRef(padding), fill) {}
RandomCrop::RandomCrop(IntArrayRef size, IntArrayRef padding, double fill) : size_(size.vec()), padding_(padding.vec()), fill_(fill) {}
RandomCrop::RandomCrop(std::initializer_list<int64_t> size, IntArrayRef padding, double fill)
    : RandomCrop(IntArrayRef(size), padding, fill) {}
RandomResizedCrop::RandomResizedCrop(IntArrayRef size, std::array<double, 2> scale, std::array<double, 2> ratio,
                                     Interpolation interpolation, bool antialias)
    : size_(size.vec()), scale_(scale), ratio_(ratio), interpolation_(interpolation), antialias_(antialias) {}

Tensor Compose::operator()(const Tensor& image) const {
  Tensor result = image;
  for (const auto& transform : transforms_) result = (*transform)(result);
  return result;
}

Tensor RandomCrop::operator()(const Tensor& image) const {
  const Tensor padded = padding_.empty() ? image : pad(image, padding_, fill_);
  const Size wanted = both(size_), from = size_of(padded);
  check<ValueError>(from.height >= wanted.height && from.width >= wanted.width, "Required crop size (", wanted.height, ", ", wanted.width,
                    ") is larger than input image size (", from.height, ", ", from.width, ")");
  if (from.height == wanted.height && from.width == wanted.width) return padded;
  const int64_t top = below(from.height - wanted.height + 1), left = below(from.width - wanted.width + 1);
  return window(padded, top, left, wanted);
}

Tensor RandomHorizontalFlip::operator()(const Tensor& image) const { return happens(p_) ? hflip(image) : image; }
Tensor RandomVerticalFlip::operator()(const Tensor& image) const { return happens(p_) ? vflip(image) : image; }

RandomResizedCrop::Window RandomResizedCrop::draw(int64_t height, int64_t width) const {
  const auto area = static_cast<double>(height * width);
  const float low = std::log(static_cast<float>(ratio_[0])), high = std::log(static_cast<float>(ratio_[1]));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * uniform(scale_[0], scale_[1]);
    const double aspect = std::exp(static_cast<float>(uniform(low, high)));
    const auto w = static_cast<int64_t>(std::nearbyint(std::sqrt(target * aspect)));
    const auto h = static_cast<int64_t>(std::nearbyint(std::sqrt(target / aspect)));
    if (w < 1 || w > width || h < 1 || h > height) continue;
    const int64_t top = below(height - h + 1), left = below(width - w + 1);
    return {top, left, h, w};
  }
  const double shape = static_cast<double>(width) / static_cast<double>(height);  // the largest window in the middle
  int64_t w = width, h = height;
  if (shape < ratio_[0]) h = static_cast<int64_t>(std::nearbyint(static_cast<double>(w) / ratio_[0]));
  else if (shape > ratio_[1]) w = static_cast<int64_t>(std::nearbyint(static_cast<double>(h) * ratio_[1]));
  return {(height - h) / 2, (width - w) / 2, h, w};
}

Tensor RandomResizedCrop::operator()(const Tensor& image) const {
  const auto [height, width] = size_of(image);
  const Window w = draw(height, width);
  const Size wanted = both(size_);
  return resize(crop(image, w.top, w.left, w.height, w.width), {wanted.height, wanted.width}, interpolation_, antialias_);
}

}  // namespace tenon::data::transforms::vision
