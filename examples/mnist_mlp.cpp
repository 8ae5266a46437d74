// A network of three linear layers (784-512-512-10, relu) learns MNIST's digits, or Fashion-MNIST's articles of clothing.
//
//   mnist_mlp [--data FOLDER] [--device cpu|cuda] [--epochs N] [--batch-size N] [--checkpoint FILE] ...
//
// FOLDER holds the four IDX files, plain or .gz; by default it is where Debian's package
// dataset-fashion-mnist puts them. Where that is not installed, the program draws images itself.
#include <iostream>

#include "train.h"

namespace {

using namespace tenon;

examples::Images read(const std::string& folder, data::datasets::Mode mode) {
  using data::datasets::Mode;
  if (folder.empty()) return examples::drawn_images(mode == Mode::kTrain ? 10000 : 1000, 1, 28, mode == Mode::kTrain ? 1 : 2);
  const data::datasets::MNIST files(folder, mode);
  return {files.pixels(), files.targets(), 1};
}

nn::Sequential make_net() {  // in braces the layers are made, and draw their weights, from left to right
  return nn::Sequential{nn::Flatten(), nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(), nn::Linear(512, 10)};
}

}  // namespace

int main(int argc, char** argv) {
  examples::Options options(5, 64, "mnist_mlp.svg");
  CLI::App app("Three linear layers learn MNIST or Fashion-MNIST.");
  app.add_option("--data", options.data, "folder of the IDX files (default: what is installed)");
  app.add_option("--device", options.device)->capture_default_str()->check(CLI::IsMember({"cpu", "cuda"}));
  options.add_to(app);
  CLI11_PARSE(app, argc, argv);
  try {
    const Device device = examples::device_named(options.device);
    const std::string folder =
        examples::find_images("mnist_mlp", options.data, {"MNIST/raw", "data/MNIST/raw", examples::kFashion}, examples::has_idx);
    const examples::Images train = read(folder, data::datasets::Mode::kTrain).first(options.limit);
    examples::Images test = read(folder, data::datasets::Mode::kTest);
    const std::string what =
        folder.empty() ? "images that it draws itself (stripes in ten directions)" : "the ten kinds of images in " + folder;
    examples::announce(options, "mnist_mlp: a network of three linear layers", what, train, test);
    examples::draw_losses(options.curve, examples::train(options, train, test, device, make_net));
  } catch (const Error& error) {
    std::cerr << "mnist_mlp: " << error.what() << "\n";
    return 1;
  }
}
