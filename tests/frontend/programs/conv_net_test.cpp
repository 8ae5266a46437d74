// The tutorial's convolutional network against PyTorch: logits and gradients of a first step, ten steps of Adam, and the first
// losses on Fashion-MNIST.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <filesystem>

#include "frontend/golden.h"
#include "frontend/golden_training.h"

namespace tenon {

TEST_CASE("the tutorial's network: logits, gradients and ten steps of Adam") {
  for (const ScalarType type : {kFloat, kDouble}) test::train_conv_net(kCPU, type, 10);
}

TEST_CASE("the tutorial's network on Fashion-MNIST: the first 50 losses") {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: Debian's package dataset-fashion-mnist is not installed");
    return;
  }
  const data::datasets::FashionMNIST files(folder);
  manual_seed(0);
  test::ConvNet net;
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
  test::check_close(losses, golden::load("cnn.json")["fashion_mnist_losses"], 1e-6);
}

}  // namespace tenon
