// Images with labels from files. Readers check what a file says against what it holds; their Errors name the
// file and the byte.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/data/datasets.h"

namespace tenon::data::datasets {

enum class Mode : uint8_t { kTrain, kTest };

namespace detail {
struct LabelledImages {
  Tensor pixels, targets;  // uint8 [samples, channels, height, width], int64 [samples]
};
// Files in the IDX format, plain or compressed by gzip: in `root`, or in the places where torchvision keeps
// `name`.
LabelledImages read_mnist(const std::string& root, const char* name, Mode mode);
// CIFAR's binary files, records of `labels` bytes and 3 x 32 x 32 pixels; the last label counts, and is below
// `classes`.
LabelledImages read_cifar(const std::string& root, Mode mode, int labels, int classes);
Example<> sample_of(const LabelledImages& images, size_t index);  // IndexError
}  // namespace detail

// Samples are float32 images [channels, height, width] in [0, 1] with int64 targets.
template <typename Self>
class ImageDataset : public Dataset<Self> {
 public:
  using Mode = datasets::Mode;
  Example<> get(size_t index) override { return detail::sample_of(images_, index); }
  optional<size_t> size() const override { return static_cast<size_t>(images_.targets.size(0)); }
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }
  Tensor images() const { return images_.pixels.to(kFloat).div(255); }  // all of them, as samples have them
  const Tensor& pixels() const { return images_.pixels; }               // as they are in the file, uint8
  const Tensor& targets() const { return images_.targets; }

 protected:
  ImageDataset(detail::LabelledImages images, Mode mode) : images_(std::move(images)), mode_(mode) {}

 private:
  detail::LabelledImages images_;
  Mode mode_;
};

// Handwritten digits, 28 x 28: train-images-idx3-ubyte, ... or these with .gz, in `root` or in
// root/MNIST/raw.
class MNIST : public ImageDataset<MNIST> {
 public:
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);
};
// Zalando's articles of clothing, in MNIST's format. Without a root, where Debian's package
// dataset-fashion-mnist has them.
class FashionMNIST : public ImageDataset<FashionMNIST> {
 public:
  explicit FashionMNIST(const std::string& root = "/usr/share/datasets/fashion-mnist", Mode mode = Mode::kTrain);
  explicit FashionMNIST(Mode mode);
};
// Photos, 3 x 32 x 32, of 10 classes: data_batch_1.bin, ... and test_batch.bin, in `root` or in
// root/cifar-10-batches-bin. As many training files as there are.
class CIFAR10 : public ImageDataset<CIFAR10> {
 public:
  explicit CIFAR10(const std::string& root, Mode mode = Mode::kTrain);
};
// Images of 100 classes: train.bin and test.bin, in `root` or in root/cifar-100-binary.
class CIFAR100 : public ImageDataset<CIFAR100> {
 public:
  explicit CIFAR100(const std::string& root, Mode mode = Mode::kTrain);
};

// Photos in folders, one for each class: root/cat/1.jpg, root/dog/a/2.png, ... Classes and files are in the
// order of their names. Samples are uint8 [3, height, width]; files are read when their sample is asked for.
class ImageFolder : public Dataset<ImageFolder> {
 public:
  explicit ImageFolder(const std::string& root);  // Error if there is no class, or a class has no image
  Example<> get(size_t index) override;
  optional<size_t> size() const override { return samples_.size(); }
  const std::vector<std::string>& classes() const { return classes_; }
  const std::vector<std::pair<std::string, int64_t>>& samples() const { return samples_; }  // path, class

 private:
  std::vector<std::string> classes_;
  std::vector<std::pair<std::string, int64_t>> samples_;
};

}  // namespace tenon::data::datasets
