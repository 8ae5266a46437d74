// A training step that is refused, for want of memory or by a device, wherever that happens: parameters, the optimizer's states and
// buffers have the bits of before it, and training goes on with the bits that it has without the refused step.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <atomic>
#include <sstream>

#include "device/late_tensors.h"
#include "runtime/cpu/allocator.h"
#include "runtime/run/async_work.h"

using namespace tenon;
using tenon::test::DeviceCall;
using tenon::test::LateDevice;

namespace {

// A model with its optimizer, and steps of it.
struct Training {
  virtual ~Training() = default;
  virtual Tensor loss(int step) = 0;
  virtual void clip() {}
  std::shared_ptr<nn::Module> net;
  std::unique_ptr<optim::Optimizer> optimizer;
  Device device = kCPU;

  std::vector<Tensor> inputs;  // of two steps
  std::vector<Tensor> labels;
  void place() {
    net->to(device);
    for (auto* list : {&inputs, &labels}) {
      for (Tensor& t : *list) t = t.to(device);
      eval(*list);
    }
  }
};

struct Perceptron final : Training {
  nn::Sequential body{nn::Linear(5, 7), nn::Tanh(), nn::Linear(7, 3)};
  explicit Perceptron(Device where) {
    device = where;
    net = body.ptr();
    inputs = {randn({6, 5}), randn({6, 5})};
    labels = {randint(3, {6}), randint(3, {6})};
    place();
    optimizer = std::make_unique<optim::SGD>(body->parameters(), optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
  }
  Tensor loss(int step) override { return nn::functional::cross_entropy(body->forward(inputs[step % 2]), labels[step % 2]); }
};

struct Convolutions final : Training {
  nn::Sequential body{
      nn::Conv2d(nn::Conv2dOptions(2, 3, 3)), nn::BatchNorm2d(3), nn::ReLU(), nn::Flatten(), nn::Linear(48, 3), nn::BatchNorm1d(3)};
  explicit Convolutions(Device where) {
    device = where;
    net = body.ptr();
    inputs = {randn({4, 2, 6, 6}), randn({4, 2, 6, 6})};
    labels = {randint(3, {4}), randint(3, {4})};
    place();
    optimizer = std::make_unique<optim::Adam>(body->parameters(), optim::AdamOptions(0.01).amsgrad(true));
  }
  Tensor loss(int step) override { return nn::functional::cross_entropy(body->forward(inputs[step % 2]), labels[step % 2]); }
};

struct Words final : Training {
  struct NetImpl : nn::Module {
    nn::Embedding words = register_module("words", nn::Embedding(11, 4));
    nn::LSTM lstm = register_module("lstm", nn::LSTM(4, 5));
    nn::Linear head = register_module("head", nn::Linear(5, 11));
  };
  std::shared_ptr<NetImpl> own = std::make_shared<NetImpl>();
  explicit Words(Device where) {
    device = where;
    net = own;
    inputs = {randint(11, {4, 2}), randint(11, {4, 2})};
    labels = {randint(11, {8}), randint(11, {8})};
    place();
    optimizer = std::make_unique<optim::AdamW>(own->parameters(), optim::AdamWOptions(0.01));
  }
  Tensor loss(int step) override {
    const Tensor states = std::get<0>(own->lstm(own->words(inputs[step % 2])));
    return nn::functional::cross_entropy(own->head(states.reshape({8, 5})), labels[step % 2]);
  }
  void clip() override { nn::utils::clip_grad_norm_(own->parameters(), 0.5); }
};

using Make = std::unique_ptr<Training> (*)(Device);
template <typename T>
std::unique_ptr<Training> make(Device device) {
  manual_seed(5);
  return std::make_unique<T>(device);
}
struct Program {
  const char* name;
  Make make;
};
constexpr Program kPrograms[] = {{"perceptron", make<Perceptron>}, {"convolutions", make<Convolutions>}, {"words", make<Words>}};

enum class Look : uint8_t { Never, BeforeBackward, AfterBackward, AfterStep };
constexpr Look kLooks[] = {Look::Never, Look::BeforeBackward, Look::AfterBackward, Look::AfterStep};

void step(Training& t, int number, Look look) {
  const Tensor loss = t.loss(number);
  t.optimizer->zero_grad();
  if (look == Look::BeforeBackward) static_cast<void>(loss.item<float>());
  loss.backward();
  t.clip();
  if (look == Look::AfterBackward) static_cast<void>(loss.item<float>());
  t.optimizer->step();
  if (look == Look::AfterStep) static_cast<void>(loss.item<float>());
}

// All that a training goes on with, counts of steps included.
std::string state_of(const Training& t) {
  std::ostringstream out;
  const auto add = [&](const Tensor& x) {
    const Tensor here = x.cpu().contiguous();
    out.write(static_cast<const char*>(here.const_data_ptr()), static_cast<std::streamsize>(here.nbytes()));
  };
  for (const Tensor& p : t.net->parameters()) {
    add(p);
    const auto at = t.optimizer->state().find(p.unsafe_impl());
    if (at == t.optimizer->state().end()) continue;
    for (const Tensor& x : at->second->tensors()) add(x);
    if (const auto* adam = dynamic_cast<const optim::AdamParamState*>(at->second.get())) out << adam->step();
    if (const auto* adam = dynamic_cast<const optim::AdamWParamState*>(at->second.get())) out << adam->step();
    out << ';';
  }
  for (const Tensor& b : t.net->buffers()) add(b);
  return out.str();
}

// Before the first step, and before one whose plan is known, one is refused at its first call of a kind, at its second one, and so on,
// until none is met. `plant(n)` makes the n-th call from now on fail, `heal` ends that. Returns how many steps were refused.
template <typename Plant, typename Heal>
int train_with_faults(const Program& program, Device device, Look look, const Plant& plant, const Heal& heal) {
  const std::unique_ptr<Training> t = program.make(device), undisturbed = program.make(device);
  int refused = 0;
  for (int number = 0; number < 3; ++number) {
    const std::string before = state_of(*t);
    for (int64_t nth = number == 1 ? INT64_MAX : 0;; ++nth) {
      CAPTURE(program.name);
      CAPTURE(static_cast<int>(look));
      CAPTURE(number);
      CAPTURE(nth);
      REQUIRE((nth < 2000 || number == 1));
      plant(nth);
      bool met = false;
      try {
        step(*t, number, look);
      } catch (const Error&) {
        met = true;
      }
      heal();
      if (!met) break;
      ++refused;
      REQUIRE(state_of(*t) == before);
    }
    step(*undisturbed, number, look);
    REQUIRE(state_of(*t) == state_of(*undisturbed));
  }
  return refused;
}

// The host's allocations from the n-th on fail.
std::atomic<int64_t> blocks_left{INT64_MAX};
void* acquire(size_t bytes) { return blocks_left.fetch_sub(1) > 0 ? runtime::Allocator::system_source().acquire(bytes) : nullptr; }
struct FailingMemory {
  FailingMemory() {
    runtime::Allocator::global().set_cache_limit(0);  // every allocation asks the system
    before = runtime::Allocator::global().set_source({acquire, runtime::Allocator::system_source().release});
  }
  ~FailingMemory() {
    blocks_left = INT64_MAX;
    runtime::Allocator::global().set_source(before);
    runtime::Allocator::global().set_cache_limit(int64_t{256} << 20);
  }
  runtime::Allocator::Source before;
};

}  // namespace

TEST_CASE("refused steps: every allocation of the host") {
  const FailingMemory memory;
  for (const Program& program : kPrograms) {
    for (const Look look : kLooks) {
      if (program.make != make<Convolutions> && look == Look::AfterBackward) continue;
      const int refused = train_with_faults(
          program, kCPU, look, [](int64_t nth) { blocks_left = nth; }, [] { blocks_left = INT64_MAX; });
      CHECK(refused > 10);
    }
  }
}

TEST_CASE("refused steps: every call of a device") {
  LateDevice& device = LateDevice::get();
  device.shuffle(3);
  for (const Program& program : kPrograms) {
    int refused = 0;
    for (int call = 0; call < test::kDeviceCalls; ++call) {
      CAPTURE(call);
      const Look look = kLooks[call % 4];
      refused += train_with_faults(
          program, test::late(), look, [&](int64_t nth) { device.fail(static_cast<DeviceCall>(call), nth); },
          [&] {
            device.heal();
            runtime::synchronise();
          });
    }
    CHECK(refused > 40);
  }
}

TEST_CASE("refused steps: gradients that were there stay, those of the step go") {
  for (const bool accumulated : {false, true}) {
    const std::unique_ptr<Training> t = make<Convolutions>(kCPU), undisturbed = make<Convolutions>(kCPU);
    if (accumulated) {
      for (Training* each : {t.get(), undisturbed.get()}) {
        for (const Tensor& p : each->net->parameters()) p.mutable_grad() = (p + 1).detach();
      }
    }
    const FailingMemory memory;
    const std::string before = state_of(*t);
    for (int64_t nth = 0;; ++nth) {
      REQUIRE(nth < 2000);
      bool met = false;
      blocks_left = nth;
      try {
        t->loss(1).backward();
        t->optimizer->step();
      } catch (const Error&) {
        met = true;
      }
      blocks_left = INT64_MAX;
      if (!met) break;
      const std::vector<Tensor> own = t->net->parameters(), others = undisturbed->net->parameters();
      for (size_t i = 0; i < own.size(); ++i) {
        REQUIRE(own[i].grad().defined() == accumulated);
        if (accumulated) REQUIRE(test::same_bits(own[i].grad(), others[i].grad()));
      }
    }
    undisturbed->loss(1).backward();
    undisturbed->optimizer->step();
    CHECK(state_of(*t) == state_of(*undisturbed));
    CHECK(state_of(*t) != before);
  }
}

TEST_CASE("refused steps: an exception in a hook") {
  const std::unique_ptr<Training> t = make<Convolutions>(kCPU), undisturbed = make<Convolutions>(kCPU);
  for (int number = 0; number < 3; ++number) {
    for (const Look look : {Look::Never, Look::BeforeBackward}) {
      const std::string before = state_of(*t);
      for (const Tensor& p : t->net->parameters()) {
        const unsigned hook = p.register_hook([](const Tensor& grad) -> Tensor {
          throw std::domain_error("no more");
          return grad;
        });
        CHECK_THROWS_AS(step(*t, number, look), std::domain_error);
        p.remove_hook(hook);
        REQUIRE(state_of(*t) == before);
        for (const Tensor& other : t->net->parameters()) REQUIRE(!other.grad().defined());
      }
    }
    step(*t, number, Look::Never);
    step(*undisturbed, number, Look::Never);
    REQUIRE(state_of(*t) == state_of(*undisturbed));
  }
}

TEST_CASE("refused steps: parameters whose address is known keep it and what is there") {
  const std::unique_ptr<Training> t = make<Perceptron>(kCPU), undisturbed = make<Perceptron>(kCPU);
  std::vector<const void*> addresses;
  for (const Tensor& p : t->net->parameters()) addresses.push_back(p.data_ptr());
  const FailingMemory memory;
  for (int number = 0; number < 2; ++number) {
    const std::string before = state_of(*t);
    for (int64_t nth = 0;; ++nth) {
      REQUIRE(nth < 2000);
      bool met = false;
      blocks_left = nth;
      try {
        step(*t, number, Look::Never);
      } catch (const Error&) {
        met = true;
      }
      blocks_left = INT64_MAX;
      if (!met) break;
      CAPTURE(nth);
      REQUIRE(state_of(*t) == before);
    }
    step(*undisturbed, number, Look::Never);
    REQUIRE(state_of(*t) == state_of(*undisturbed));
  }
  for (size_t i = 0; i < addresses.size(); ++i) CHECK(t->net->parameters()[i].data_ptr() == addresses[i]);
}

TEST_CASE("refused steps: an optimizer that evaluates its closure several times") {
  const auto make_one = [] {
    auto t = make<Convolutions>(kCPU);
    t->optimizer = std::make_unique<optim::LBFGS>(t->net->parameters(), optim::LBFGSOptions(0.5).max_iter(3));
    return t;
  };
  const auto descend = [](Training& t, int fail_at) {
    int calls = 0;
    t.optimizer->step([&] {
      if (++calls == fail_at) throw std::domain_error("no more");
      t.optimizer->zero_grad();
      Tensor loss = t.loss(0);
      loss.backward();
      return loss;
    });
  };
  const std::unique_ptr<Training> t = make_one(), undisturbed = make_one();
  for (int round = 0; round < 2; ++round) {
    const std::string before = state_of(*t);
    for (int fail_at = 1; fail_at < 3; ++fail_at) {
      CHECK_THROWS_AS(descend(*t, fail_at), std::domain_error);
      REQUIRE(state_of(*t) == before);
    }
    descend(*t, 0);
    descend(*undisturbed, 0);
    REQUIRE(state_of(*t) == state_of(*undisturbed));
  }
}
