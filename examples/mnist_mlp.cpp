// A network of three linear layers (784-512-512-10, relu) learns MNIST's digits, or Fashion-MNIST's articles of clothing.
//
//   mnist_mlp [--data FOLDER] [--device cpu|cuda] [--epochs N] [--batch-size N] [--checkpoint FILE] ...
//
// FOLDER holds the four IDX files, plain or .gz; by default it is where Debian's package dataset-fashion-mnist puts them.
#include <iostream>

#include "train.h"

namespace {

using namespace tenon;

examples::Images read(const std::string& folder, data::datasets::Mode mode) {
  const data::datasets::MNIST files(folder, mode);
  return {files.pixels(), files.targets(), 1};
}

nn::Sequential make_net() {  // in braces the layers are made, and draw their weights, from left to right
  return nn::Sequential{nn::Flatten(), nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(),
                        nn::Linear(512, 10)};
}

}  // namespace

int main(int argc, char** argv) {
  examples::Options options(5, 64);
  options.data = "/usr/share/datasets/fashion-mnist";
  CLI::App app("Three linear layers learn MNIST or Fashion-MNIST.");
  app.add_option("--data", options.data, "folder of the IDX files")->capture_default_str();
  app.add_option("--device", options.device)->capture_default_str()->check(CLI::IsMember({"cpu", "cuda"}));
  options.add_to(app);
  CLI11_PARSE(app, argc, argv);
  try {
    const examples::Images train = read(options.data, data::datasets::Mode::kTrain).first(options.limit);
    examples::Images test = read(options.data, data::datasets::Mode::kTest);
    examples::train(options, train, test, examples::device_named(options.device), make_net);
  } catch (const Error& error) {
    std::cerr << "mnist_mlp: " << error.what() << "\n";
    return 1;
  }
}
