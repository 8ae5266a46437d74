// tests/data/iris.json holds the losses of torch 2.15 with manual_seed(32), scikit-learn's split (random_state=33) and
// torch.optim.Adam(lr=0.01), the rows float32 before they are double; tests/data/cnn.json is made by scripts/golden/make_cnn_golden.py.
#include "frontend/golden_training.h"

#include <doctest/doctest.h>

#include <cmath>

#include "frontend/golden.h"
#include "frontend/values.h"

namespace tenon::test {

void check_close(const Values& ours, const Values& theirs, double tolerance) {
  REQUIRE(ours.size() == theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    INFO("element ", i);
    CHECK(std::abs(ours[i] - theirs[i]) <= tolerance);
  }
}

void train_iris(Device device, ScalarType type, int epochs) {
  const bool single = type == kFloat;
  const nlohmann::json expected = golden::load("iris.json")[single ? "float32" : "float64"];
  const double tolerance = single ? 1e-6 : 1e-12;
  const io::Csv csv = io::read_csv(data_folder() + "/../../examples/data/iris.csv");
  const auto [x, x_test, y, y_test] =
      data::train_test_split(csv.drop({"target"}).matrix(), csv["target"].to(kLong), data::TrainTestSplitOptions(0.2).random_state(33));
  manual_seed(32);
  nn::Sequential net{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 9), nn::ReLU(), nn::Linear(9, 3)};
  net->to(device, type);
  const auto prepared = [&](const Tensor& rows) { return rows.to(kFloat).to(device, type); };
  const Tensor targets = y.to(device), targets_test = y_test.to(device);
  optim::Adam optimizer(net->parameters(), 0.01);
  Values losses = expected["losses"];
  losses.resize(std::min<size_t>(losses.size(), static_cast<size_t>(epochs)));
  for (const double value : losses) {
    const Tensor loss = nn::functional::cross_entropy(net->forward(prepared(x)), targets);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    CHECK(std::abs(loss.item<double>() - value) <= tolerance);
  }
  if (epochs < 100) return;
  const NoGradGuard no_grad;
  const Tensor logits = net->forward(prepared(x_test));
  CHECK(std::abs(nn::functional::cross_entropy(logits, targets_test).item<double>() - expected["test_loss"].get<double>()) <= tolerance);
  CHECK((logits.argmax(1) == targets_test).sum().item<int64_t>() == 30);
}

ConvNetImpl::ConvNetImpl() {  // in braces the layers are made, and draw their weights, from left to right
  nn::MaxPool2d pool(nn::MaxPool2dOptions(2).stride(2));
  conv = register_module(
      "conv", nn::Sequential{nn::Conv2d(3, 6, 5), nn::ReLU(), pool, nn::Conv2d(nn::Conv2dOptions(6, 16, 5).padding(3)), nn::ReLU(),
                             nn::Conv2d(16, 16, 5), nn::ReLU(), pool, nn::Conv2d(16, 16, 3), nn::ReLU(), pool, nn::Flatten()});
  fc = register_module("fc", nn::Sequential{nn::Linear(64, 120), nn::ReLU(), nn::Linear(120, 84), nn::ReLU(), nn::Linear(84, 10)});
}

void train_conv_net(Device device, ScalarType type, int steps) {
  const nlohmann::json expected = golden::load("cnn.json");
  manual_seed(0);
  ConvNet net;
  net->to(device, type);
  manual_seed(1);
  const Tensor x = ((rand({16, 3, 32, 32}) - 0.5) / 0.5).to(device, type), y = randint(0, 10, {16}).to(device);
  optim::Adam optimizer(net->parameters());
  Values losses;
  for (int step = 0; step < steps; ++step) {
    const Tensor logits = net->forward(x), loss = nn::functional::cross_entropy(logits, y);
    optimizer.zero_grad();
    loss.backward();
    if (step == 0) {
      check_close(values(logits.cpu()), expected["logits"], 1e-6);
      for (const auto& p : net->named_parameters()) {
        INFO(p.key());
        const nlohmann::json& gradient = expected["gradients"][p.key()];
        const Tensor ours = p.value().grad().cpu();
        check_close(values(ours.flatten().slice(0, 0, ours.numel(), 17)), gradient["every_17th"], 1e-8);
        CHECK(ours.norm().item<double>() == doctest::Approx(gradient["norm"].get<double>()).epsilon(1e-6));
      }
    }
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  // From the second step on a near tie of the pooling, decided by a rounding of float32, gives its gradient to another pixel.
  Values theirs = expected["losses"];
  theirs.resize(losses.size());
  check_close(losses, theirs, type == kFloat ? 2e-3 : 1e-9);
}

}  // namespace tenon::test
