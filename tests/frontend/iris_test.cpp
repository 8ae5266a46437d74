// The tutorial's network on iris, all 100 epochs, against PyTorch's. tests/data/iris.json holds the losses of torch 2.15 with
// manual_seed(32), scikit-learn's split (random_state=33) and torch.optim.Adam(lr=0.01); the rows are float32 before they are double.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace tenon {

TEST_CASE("iris: each of 100 losses is PyTorch's, and all 30 flowers are told") {
  const auto golden = nlohmann::json::parse(std::ifstream(TENON_TEST_DATA "/iris.json"));
  const io::Csv csv = io::read_csv(TENON_TEST_DATA "/../../examples/data/iris.csv");
  const auto [x, x_test, y, y_test] = data::train_test_split(
      csv.drop({"target"}).matrix(), csv["target"].to(kLong), data::TrainTestSplitOptions(0.2).random_state(33));
  for (const bool single : {true, false}) {
    const nlohmann::json& expected = golden[single ? "float32" : "float64"];
    const double tolerance = single ? 1e-6 : 1e-12;
    const ScalarType type = single ? kFloat : kDouble;
    manual_seed(32);
    nn::Sequential net{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 9), nn::ReLU(), nn::Linear(9, 3)};
    net->to(type);
    optim::Adam optimizer(net->parameters(), 0.01);
    for (const nlohmann::json& value : expected["losses"]) {
      const Tensor loss = nn::functional::cross_entropy(net->forward(x.to(kFloat).to(type)), y);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      CHECK(std::abs(loss.item<double>() - value.get<double>()) <= tolerance);
    }
    const NoGradGuard no_grad;
    const Tensor logits = net->forward(x_test.to(kFloat).to(type));
    CHECK(std::abs(nn::functional::cross_entropy(logits, y_test).item<double>() - expected["test_loss"].get<double>()) <= tolerance);
    CHECK((logits.argmax(1) == y_test).sum().item<int64_t>() == 30);
  }
}

}  // namespace tenon
