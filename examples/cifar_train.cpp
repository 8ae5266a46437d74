// The tutorial's convolutional network learns CIFAR-10's photos, or Fashion-MNIST's articles of clothing, and the devices of
// the machine are compared by batch size.
//
//   cifar_train [--data FOLDER] [--device cpu|cuda|both] [--epochs N] [--batch-size N] [--checkpoint FILE] ...
//   cifar_train [--data FOLDER] --device both --compare speed.svg
//
// FOLDER holds CIFAR-10's binary files, or the IDX files of (Fashion-)MNIST, which get a border to 32 x 32
// and three equal channels. Without it CIFAR-10 is looked for here, then Debian's Fashion-MNIST; where there
// is neither, it draws images.
#include <iostream>

#include "train.h"

namespace {

using namespace tenon;
using data::datasets::Mode;

struct ConvNetImpl : nn::Module {
  ConvNetImpl() {  // in braces the layers are made, and draw their weights, from left to right
    nn::MaxPool2d pool(nn::MaxPool2dOptions(2).stride(2));
    conv = register_module("conv", nn::Sequential{nn::Conv2d(3, 6, 5), nn::ReLU(), pool,                           // [n, 6, 14, 14]
                                                  nn::Conv2d(nn::Conv2dOptions(6, 16, 5).padding(3)), nn::ReLU(),  // [n, 16, 16, 16]
                                                  nn::Conv2d(16, 16, 5), nn::ReLU(), pool,                         // [n, 16, 6, 6]
                                                  nn::Conv2d(16, 16, 3), nn::ReLU(), pool, nn::Flatten()});        // [n, 64]
    fc = register_module("fc", nn::Sequential{nn::Linear(64, 120), nn::ReLU(), nn::Linear(120, 84), nn::ReLU(), nn::Linear(84, 10)});
  }
  Tensor forward(const Tensor& x) { return fc->forward(conv->forward(x)); }  // [n, 3, 32, 32] -> [n, 10]
  nn::Sequential conv{nullptr}, fc{nullptr};
};
TENON_MODULE(ConvNet);

examples::Images read(const std::string& folder, Mode mode) {
  if (folder.empty()) return examples::drawn_images(mode == Mode::kTrain ? 10000 : 1000, 3, 32, mode == Mode::kTrain ? 1 : 2);
  if (examples::has_cifar(folder)) {
    const data::datasets::CIFAR10 files(folder, mode);
    return {files.pixels(), files.targets(), 3};
  }
  const data::datasets::MNIST files(folder, mode);
  const Tensor bordered = constant_pad_nd(files.pixels(), {2, 2, 2, 2});
  eval(bordered);
  return {bordered, files.targets(), 3};
}

std::string name_of(const std::string& folder) {
  if (folder.empty()) return "images that it draws itself (stripes in ten directions)";
  return (examples::has_cifar(folder) ? "the ten kinds of photos in " : "the ten kinds of images in ") + folder;
}

// The devices to use; one that is asked for and missing is an Error alone, and a line beside others.
std::vector<Device> devices_of(const std::string& name) {
  if (name != "both") return {examples::device_named(name)};
  if (cuda::is_available()) return {kCPU, Device(kCUDA, 0)};
  std::cout << "no CUDA device can be used here: only the CPU is tried\n";
  return {kCPU};
}

// Images a second in training, after a first pass that compiles.
double speed(const examples::Images& images, int64_t batch_size, const examples::Options& o, Device device) {
  manual_seed(static_cast<uint64_t>(o.seed));
  ConvNet net;
  net->to(device);
  const auto optimizer = examples::make_optimizer(o, *net);
  auto loader = examples::make_loader(images, batch_size, o.workers);
  examples::train_epoch(net, *loader, *optimizer, device, nullptr);
  const double start = examples::seconds();
  examples::train_epoch(net, *loader, *optimizer, device, nullptr);
  return static_cast<double>(images.count()) / (examples::seconds() - start);
}

void compare(const examples::Options& o, const examples::Images& images, const std::vector<Device>& devices,
             const std::vector<int64_t>& sizes, const std::string& plot) {
  std::vector<io::Curve> curves;
  for (const Device& device : devices) {
    io::Curve curve{device.str(), {}, {}};
    for (const int64_t size : sizes) {
      curve.x.push_back(static_cast<double>(size));
      curve.y.push_back(speed(images, size, o, device));
      std::printf("%-6s batches of %5lld: %8.0f images/s\n", device.str().c_str(), static_cast<long long>(size), curve.y.back());
      std::fflush(stdout);
    }
    curves.push_back(std::move(curve));
  }
  io::save_curve(plot, curves, io::CurveOptions("images a second").x_label("batch size").log_y(true));
  std::cout << "look at " << std::filesystem::absolute(plot).string() << ": images a second by batch size\n";
}

}  // namespace

int main(int argc, char** argv) {
  examples::Options options(5, 256, "cifar_train.svg");
  std::string plot;
  std::vector<int64_t> sizes{16, 64, 256, 1024};
  CLI::App app("The tutorial's convolutional network learns CIFAR-10 or Fashion-MNIST.");
  app.add_option("--data", options.data, "folder of CIFAR-10's binary files, or of IDX files (default: what is installed)");
  app.add_option("--device", options.device)->capture_default_str()->check(CLI::IsMember({"cpu", "cuda", "both"}));
  app.add_option("--compare", plot, "train nothing, but measure the devices by batch size and draw this SVG file");
  app.add_option("--batch-sizes", sizes, "what --compare tries")->delimiter(',')->check(CLI::PositiveNumber);
  options.add_to(app);
  CLI11_PARSE(app, argc, argv);
  try {
    const std::vector<Device> devices = devices_of(options.device);
    const auto has_images = [](const std::string& folder) { return examples::has_cifar(folder) || examples::has_idx(folder); };
    const std::string folder = examples::find_images("cifar_train", options.data,
                                                     {"cifar-10-batches-bin", "data/cifar-10-batches-bin", examples::kFashion}, has_images);
    const examples::Images train = read(folder, Mode::kTrain).first(options.limit);
    if (!plot.empty()) {
      std::cout << "cifar_train measures how many images of " << name_of(folder) << " it learns in a second, by batch size\n";
      compare(options, train, devices, sizes, plot);
      return 0;
    }
    examples::Images test = read(folder, Mode::kTest);
    examples::announce(options, "cifar_train: a convolutional network", name_of(folder), train, test);
    std::vector<double> losses;
    for (const Device& device : devices) losses = examples::train(options, train, test, device, [] { return ConvNet(); });
    examples::draw_losses(options.curve, losses);
  } catch (const Error& error) {
    std::cerr << "cifar_train: " << error.what() << "\n";
    return 1;
  }
}
