// torchvision's transforms of images [channels, height, width], with PyTorch's random draws from the default
// generator. They work at once, on the host's memory; what comes from elsewhere is fetched.
//
//   namespace vision = data::transforms::vision;
//   const vision::Compose augment(vision::RandomCrop(32, 4), vision::RandomHorizontalFlip(), vision::ToTensor(),
//                                 vision::Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}));
//   auto set = data::datasets::ImageFolder("photos").map(augment).map(data::transforms::Stack<>());
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/data/example.h"

namespace tenon::data::transforms::vision {

enum class Interpolation : uint8_t { Nearest, Bilinear };

// --- functions

// Bytes as floats: float32, divided by 255; floats stay. ValueError unless the first dim can be channels (1
// to 4).
Tensor to_tensor(const Tensor& image);
// (image - mean) / stddev, one number for each channel or one for all. TypeError unless the image is of
// floats.
Tensor normalize(const Tensor& image, ArrayRef<double> mean, ArrayRef<double> stddev);
Tensor hflip(const Tensor& image);
Tensor vflip(const Tensor& image);
// What lies outside of the image is 0.
Tensor crop(const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width);
Tensor center_crop(const Tensor& image, IntArrayRef size);  // {height, width}, or one number for both
// Pads by {all}, {left and right, top and bottom} or {left, top, right, bottom}; a border below 0 cuts off.
Tensor pad(const Tensor& image, IntArrayRef padding, double fill = 0);
// Resizes to {height, width}, or so that the shorter edge is `size` long. uint8 or float32. With antialias a
// smaller image is a weighted mean of all of the larger one; bytes are rounded.
Tensor resize(const Tensor& image, IntArrayRef size, Interpolation interpolation = Interpolation::Bilinear, bool antialias = true);

// --- the same as transforms, of single images and of datasets

class ImageTransform {
 public:
  virtual ~ImageTransform() = default;
  virtual Tensor operator()(const Tensor& image) const = 0;
  template <typename Target>
  std::vector<Example<Tensor, Target>> apply_batch(std::vector<Example<Tensor, Target>> batch) const {
    for (auto& sample : batch) sample.data = (*this)(sample.data);
    return batch;
  }
};

class ToTensor : public ImageTransform {
 public:
  Tensor operator()(const Tensor& image) const override { return to_tensor(image); }
};

class Normalize : public ImageTransform {
 public:
  Normalize(ArrayRef<double> mean, ArrayRef<double> stddev);
  Tensor operator()(const Tensor& image) const override { return normalize(image, mean_, stddev_); }

 private:
  std::vector<double> mean_, stddev_;
};

class Resize : public ImageTransform {
 public:
  explicit Resize(IntArrayRef size, Interpolation interpolation = Interpolation::Bilinear, bool antialias = true);
  Tensor operator()(const Tensor& image) const override { return resize(image, size_, interpolation_, antialias_); }

 private:
  std::vector<int64_t> size_;
  Interpolation interpolation_;
  bool antialias_;
};

class CenterCrop : public ImageTransform {
 public:
  explicit CenterCrop(IntArrayRef size);
  Tensor operator()(const Tensor& image) const override { return center_crop(image, size_); }

 private:
  std::vector<int64_t> size_;
};

class Pad : public ImageTransform {
 public:
  explicit Pad(IntArrayRef padding, double fill = 0);
  explicit Pad(std::initializer_list<int64_t> padding, double fill = 0);
  Tensor operator()(const Tensor& image) const override { return pad(image, padding_, fill_); }

 private:
  std::vector<int64_t> padding_;
  double fill_;
};

// A window at a random place, of the padded image. Draws the row and the column, unless the window is all of
// it.
class RandomCrop : public ImageTransform {
 public:
  explicit RandomCrop(IntArrayRef size, IntArrayRef padding = {}, double fill = 0);
  explicit RandomCrop(std::initializer_list<int64_t> size, IntArrayRef padding = {}, double fill = 0);
  Tensor operator()(const Tensor& image) const override;  // ValueError if the image is smaller

 private:
  std::vector<int64_t> size_, padding_;
  double fill_;
};

// Mirrored with probability p: one draw.
class RandomHorizontalFlip : public ImageTransform {
 public:
  explicit RandomHorizontalFlip(double p = 0.5) : p_(p) {}
  Tensor operator()(const Tensor& image) const override;

 private:
  double p_;
};
class RandomVerticalFlip : public ImageTransform {
 public:
  explicit RandomVerticalFlip(double p = 0.5) : p_(p) {}
  Tensor operator()(const Tensor& image) const override;

 private:
  double p_;
};

// A window of random area and aspect ratio, resized.
class RandomResizedCrop : public ImageTransform {
 public:
  explicit RandomResizedCrop(IntArrayRef size, std::array<double, 2> scale = {0.08, 1.0},
                             std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0}, Interpolation interpolation = Interpolation::Bilinear,
                             bool antialias = true);
  Tensor operator()(const Tensor& image) const override;

 private:
  struct Window {
    int64_t top, left, height, width;
  };
  Window draw(int64_t height, int64_t width) const;
  std::vector<int64_t> size_;
  std::array<double, 2> scale_, ratio_;
  Interpolation interpolation_;
  bool antialias_;
};

// One after another.
class Compose : public ImageTransform {
 public:
  template <typename... Transforms>
  requires(std::is_base_of_v<ImageTransform, Transforms>&&...) explicit Compose(Transforms... transforms)
      : transforms_{std::make_shared<Transforms>(std::move(transforms))...} {}
  Tensor operator()(const Tensor& image) const override;

 private:
  std::vector<std::shared_ptr<const ImageTransform>> transforms_;
};

}  // namespace tenon::data::transforms::vision
