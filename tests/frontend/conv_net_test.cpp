// The tutorial's convolutional network against PyTorch: logits and gradients of a first step, ten steps of Adam, and the first
// losses on Fashion-MNIST. tests/data/cnn.json is made by scripts/make_cnn_golden.py.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <filesystem>

#include "golden.h"
#include "values.h"

namespace tenon {
namespace {

using test::values;

struct ConvNetImpl : nn::Module {
  ConvNetImpl() {  // in braces the layers are made, and draw their weights, from left to right
    nn::MaxPool2d pool(nn::MaxPool2dOptions(2).stride(2));
    conv = register_module(
        "conv", nn::Sequential{nn::Conv2d(3, 6, 5), nn::ReLU(), pool,
                               nn::Conv2d(nn::Conv2dOptions(6, 16, 5).padding(3)), nn::ReLU(), nn::Conv2d(16, 16, 5),
                               nn::ReLU(), pool, nn::Conv2d(16, 16, 3), nn::ReLU(), pool, nn::Flatten()});
    fc = register_module("fc", nn::Sequential{nn::Linear(64, 120), nn::ReLU(), nn::Linear(120, 84), nn::ReLU(),
                                              nn::Linear(84, 10)});
  }
  Tensor forward(const Tensor& x) { return fc->forward(conv->forward(x)); }
  nn::Sequential conv{nullptr}, fc{nullptr};
};
TENON_MODULE(ConvNet);

void check_close(const std::vector<double>& ours, const std::vector<double>& theirs, double tolerance) {
  REQUIRE(ours.size() == theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    INFO("element ", i);
    CHECK(std::abs(ours[i] - theirs[i]) <= tolerance);
  }
}

std::vector<double> every_17th(const Tensor& x) {
  std::vector<double> result;
  const test::Values all = values(x);
  for (size_t i = 0; i < all.size(); i += 17) result.push_back(all[i]);
  return result;
}

const nlohmann::json& golden_net() {
  static const nlohmann::json data = golden::load("cnn.json");
  return data;
}

}  // namespace

TEST_CASE("the tutorial's network: logits, gradients and ten steps of Adam") {
  for (const ScalarType type : {kFloat, kDouble}) {
    const bool single = type == kFloat;
    manual_seed(0);
    ConvNet net;
    net->to(type);
    manual_seed(1);
    const Tensor x = ((rand({16, 3, 32, 32}) - 0.5) / 0.5).to(type), y = randint(0, 10, {16});
    optim::Adam optimizer(net->parameters());
    std::vector<double> losses;
    for (int step = 0; step < 10; ++step) {
      const Tensor logits = net->forward(x), loss = nn::functional::cross_entropy(logits, y);
      optimizer.zero_grad();
      loss.backward();
      if (step == 0) {
        check_close(values(logits), golden_net()["logits"], 1e-6);
        for (const auto& p : net->named_parameters()) {
          INFO(p.key());
          const nlohmann::json& expected = golden_net()["gradients"][p.key()];
          check_close(every_17th(p.value().grad()), expected["every_17th"], 1e-8);
          CHECK(p.value().grad().norm().item<double>() == doctest::Approx(expected["norm"].get<double>()).epsilon(1e-6));
        }
      }
      optimizer.step();
      losses.push_back(loss.item<double>());
    }
    // From the second step on a near tie of the pooling, decided by a rounding of float32, gives its gradient to another pixel.
    check_close(losses, golden_net()["losses"], single ? 2e-3 : 1e-9);
  }
}

TEST_CASE("the tutorial's network on Fashion-MNIST: the first 50 losses") {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: Debian's package dataset-fashion-mnist is not installed");
    return;
  }
  const data::datasets::FashionMNIST files(folder);
  manual_seed(0);
  ConvNet net;
  net->to(kDouble);
  optim::Adam optimizer(net->parameters());
  const Tensor order = randperm(60000);
  std::vector<double> losses;
  for (int64_t step = 0; step < 50; ++step) {
    const Tensor rows = order.slice(0, 256 * step, 256 * (step + 1));
    const Tensor pixels = constant_pad_nd(files.pixels().index_select(0, rows), {2, 2, 2, 2});
    const Tensor x = pixels.to(kDouble).div(255).sub(0.5).div(0.5).expand({-1, 3, -1, -1});
    const Tensor loss = nn::functional::cross_entropy(net->forward(x), files.targets().index_select(0, rows));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  check_close(losses, golden_net()["fashion_mnist_losses"], 1e-6);
}

}  // namespace tenon
