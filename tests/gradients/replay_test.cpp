// Config::replay: what comes again is made from what is known of it, or recorded each time; nobody can tell which.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cstring>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/autograd/replayed_call.h"

using namespace tenon;

namespace {

struct Replay {
  explicit Replay(bool on) {
    Config config = before;
    config.replay = on;
    set_config(config);
  }
  ~Replay() { set_config(before); }
  Config before = get_config();
};

std::vector<uint32_t> bits(const Tensor& x) {
  const Tensor dense = x.detach().to(kFloat).contiguous();
  std::vector<uint32_t> result(static_cast<size_t>(dense.numel()));
  std::memcpy(result.data(), dense.const_data_ptr(), result.size() * sizeof(uint32_t));
  return result;
}

// What a training is in the end: its losses and its parameters.
std::vector<uint32_t> trained(bool convolutions, int steps) {
  manual_seed(5);
  nn::Sequential net;
  if (convolutions) {
    net = nn::Sequential(nn::Conv2d(nn::Conv2dOptions(2, 4, 3).padding(1)), nn::BatchNorm2d(4), nn::GELU(), nn::MaxPool2d(2), nn::Flatten(),
                         nn::Linear(36, 3));
  } else {
    net = nn::Sequential(nn::Linear(72, 16), nn::LayerNorm(nn::LayerNormOptions({16})), nn::SiLU(), nn::Dropout(0.2), nn::Linear(16, 3));
  }
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(0.01));
  std::vector<uint32_t> result;
  for (int step = 0; step < steps; ++step) {
    const Tensor x = randn({step % 3 + 4, 2, 6, 6}), y = arange(x.size(0)) % 3;
    const Tensor loss = nn::functional::cross_entropy(net->forward(convolutions ? x : x.flatten(1)), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    for (const uint32_t b : bits(loss)) result.push_back(b);
  }
  for (const Tensor& p : net->parameters()) {
    for (const uint32_t b : bits(p)) result.push_back(b);
  }
  return result;
}

}  // namespace

TEST_CASE("replay: with it a call is recorded twice, without it each time") {
  for (const bool on : {true, false}) {
    const Replay replay(on);
    CHECK(get_config().replay == on);
    CHECK(info().find(std::string("replay: ") + (on ? "on" : "off")) != std::string::npos);
    int recorded = 0;
    const char* const name = on ? "replay_test_on" : "replay_test_off";
    for (int i = 0; i < 5; ++i) {
      const Tensor x = arange(6, kFloat).requires_grad_();
      const Tensor y = replayed_call(
          name, {},
          [&] {
            ++recorded;
            GradScope scope("MulBackward0", x);
            return x * 3;
          },
          x);
      y.sum().backward();
      CHECK(bits(x.grad()) == bits(full({6}, 3.0)));
    }
    CHECK(recorded == (on ? 2 : 5));
  }
}

TEST_CASE("replay: trainings are the same to the bit") {
  for (const bool convolutions : {false, true}) {
    std::vector<uint32_t> results[2];
    for (const bool on : {false, true}) {
      const Replay replay(on);
      results[on] = trained(convolutions, 9);
    }
    CHECK(results[0] == results[1]);
  }
}
