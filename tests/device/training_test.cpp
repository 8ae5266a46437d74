// The tutorials' networks on the tested device, beside PyTorch's figures.
#include <doctest/doctest.h>

#include "device/tested_device.h"
#include "frontend/golden_training.h"

using namespace tenon;

TEST_CASE("golden training: iris on a device, 20 epochs") {
  test::shuffle(1);
  for (const ScalarType type : {kFloat, kDouble}) test::train_iris(test::tested_device(), type, 20);
}

TEST_CASE("golden training: the convolutional network's first steps on a device") {
  test::shuffle(2);
  for (const ScalarType type : {kFloat, kDouble}) test::train_conv_net(test::tested_device(), type, 2);
}

// Rows of 15 and 16 floats: where a row begins a GPU may, or may not, read several at once.
TEST_CASE("recurrent layers on a device are those of the CPU") {
  const auto check_net = [](auto make) {
    for (const auto& [batch, hidden] : {std::pair<int64_t, int64_t>{3, 5}, {4, 4}}) {
      std::vector<std::vector<Tensor>> results;
      for (const Device& device : {Device(kCPU), test::tested_device()}) {
        manual_seed(8);
        auto net = make(hidden);
        const Tensor x = randn({6, batch, 3});
        net->to(device);
        const Tensor y = std::get<0>(net(x.to(device)));
        (y * y).sum().backward();
        results.push_back({y.detach().cpu()});
        for (const Tensor& p : net->parameters()) results.back().push_back(p.grad().cpu());
      }
      for (size_t i = 0; i < results[0].size(); ++i) CHECK(allclose(results[0][i], results[1][i], 1e-5, 1e-6));
    }
  };
  check_net([](int64_t hidden) { return nn::LSTM(nn::LSTMOptions(3, hidden).num_layers(2).bidirectional(true)); });
  check_net([](int64_t hidden) { return nn::GRU(nn::GRUOptions(3, hidden)); });
  check_net([](int64_t hidden) { return nn::RNN(nn::RNNOptions(3, hidden)); });
}
