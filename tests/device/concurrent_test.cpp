// Evaluations at the same time. The device of these tests is the host, but a test can stop a launch or a compilation in the
// middle, so what overlaps with what is settled by the test and not by the clock.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "runtime/device/device.h"
#include "runtime/evaluation_support.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

constexpr int kIndex = 40;
constexpr auto kLongest = std::chrono::seconds(60);  // then the test has failed

// Opens once; whoever waits goes on.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLongest, [this] { return open_; });
  }
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return open_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// The host under another number. `before` and `after` a launch, and `compiling`, are the test's.
class StoppedDevice final : public Device {
 public:
  using Hook = std::function<void()>;
  Hook before, after, compiling;
  std::atomic<int> launches{0};

  static StoppedDevice& get() {
    static auto& device =
        static_cast<StoppedDevice&>(register_device(std::make_unique<StoppedDevice>(DeviceId{DeviceKind::PrivateUse1, kIndex})));
    return device;
  }
  using Device::Device;

  DeviceInfo info() const override { return host_device().info(); }
  ir::Target target(const Options& options) const override { return host_device().target(options); }
  bool host_accesses_memory() const override { return true; }
  bool works_async() const override { return false; }
  bool needs_alignment() const override { return false; }
  bool keeps_packed_copies() const override { return true; }
  Event record(Stream) override { return {}; }
  void wait(Stream, const Event&) override {}
  void synchronise(const Event&) override {}
  void synchronise() override {}
  void* allocate(size_t bytes, Stream stream) override { return host_device().allocate(bytes, stream); }
  void release(void* block, size_t bytes, Stream stream) noexcept override { host_device().release(block, bytes, stream); }
  MemoryStats memory_stats() const override { return host_device().memory_stats(); }
  void reset_peak_memory_stats() override {}
  void empty_cache() noexcept override {}
  void copy_from_host(void* to, const void* from, size_t bytes, Stream s) override { copy(to, from, bytes, s); }
  void copy_to_host(void* to, const void* from, size_t bytes, Stream s) override { copy(to, from, bytes, s); }
  void copy(void* to, const void* from, size_t bytes, Stream s) override { host_device().copy(to, from, bytes, s); }
  bool compiles(const Options& options) const override { return host_device().compiles(options); }
  std::string code_version() const override { return "stopped\n" + host_device().code_version(); }
  std::string compile(const ir::LoopTree& tree) override {
    if (compiling) compiling();
    return host_device().compile(tree);
  }
  std::unique_ptr<Code> load(const std::string& bytes, const ir::LoopTree& tree) override { return host_device().load(bytes, tree); }
  std::vector<CodeForm> code_forms() const override { return host_device().code_forms(); }
  std::string code_text(const ir::LoopTree& tree, CodeForm form) override { return host_device().code_text(tree, form); }
  void launch(const Launch& launch, Stream stream) override {
    stop(before);
    host_device().launch(launch, stream);
    stop(after);
  }
  void interpret(const Uncompiled& work, Stream stream) override {
    stop(before);
    host_device().interpret(work, stream);
    stop(after);
  }
  void call_library(const Uncompiled& call, Stream stream) override { host_device().call_library(call, stream); }

 private:
  void stop(const Hook& hook) {
    if (&hook == &before) ++launches;
    if (hook) hook();
  }
};

// Hooks for one test; set while nothing runs.
struct Hooks {
  StoppedDevice& device = StoppedDevice::get();
  WithOptions options;
  Hooks() { device.launches = 0; }
  ~Hooks() { device.before = device.after = device.compiling = {}; }
};

const Shape kShape{300};
double ramp(int64_t i) { return static_cast<double>(i % 50) + 1; }

NodeRef there(double first = 0) {
  StoppedDevice& device = StoppedDevice::get();
  auto buffer = Buffer::allocate(300 * sizeof(float), device);
  for (int64_t i = 0; i < 300; ++i) static_cast<float*>(buffer->data())[i] = static_cast<float>(ramp(i) + first);
  return ir::make_input(DType::F32, kShape, std::move(buffer), device.tag());
}
NodeRef number_there(double value) { return ir::make_const(ir::constant(DType::F32, value), kShape, StoppedDevice::get().tag()); }
NodeRef plus(const NodeRef& x, double value) { return ir::binary(Op::Add, x, number_there(value)); }
NodeRef times(const NodeRef& x, double value) { return ir::binary(Op::Mul, x, number_there(value)); }

void compute(const NodeRef& root) { runtime::evaluate({&root, 1}); }

struct Thread {
  std::thread thread;
  template <typename F>
  explicit Thread(F f) : thread(std::move(f)) {}
  ~Thread() {
    if (thread.joinable()) thread.join();
  }
};

// Computes a node in a thread that stands still in its first launch, until `finish`.
class StoppedEvaluation {
 public:
  StoppedEvaluation(Hooks& hooks, const NodeRef& node) {
    hooks.device.before = [this] {
      started_.open();
      static_cast<void>(go_on_.wait());
    };
    thread_.emplace([&node] { compute(node); });
    REQUIRE(started_.wait());
  }
  void finish() {
    go_on_.open();
    thread_->thread.join();
  }

 private:
  Gate started_, go_on_;
  std::optional<Thread> thread_;
};

void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }  // for others to go wrong in

}  // namespace

TEST_CASE("two threads compute independent graphs at the same time") {
  Hooks hooks;
  const NodeRef a = plus(there(), 2), b = times(there(1), 3);
  std::atomic<int> inside{0};
  Gate both;
  bool met[2] = {false, false};
  hooks.device.before = [&] {
    const int number = inside++;
    if (number == 1) both.open();
    met[number] = both.wait();
  };
  {
    Thread one([&] { compute(a); }), two([&] { compute(b); });
  }
  CHECK(met[0]);
  CHECK(met[1]);
  CHECK(element(a, 4) == ramp(4) + 2);
  CHECK(element(b, 4) == (ramp(4) + 1) * 3);
}

TEST_CASE("two threads run one plan at the same time") {
  Hooks hooks;
  compute(times(plus(there(), 2), 0.25));
  hooks.device.launches = 0;
  const NodeRef a = times(plus(there(5), 2), 0.25), b = times(plus(there(9), 3), 0.75);
  std::atomic<int> inside{0};
  Gate both;
  hooks.device.before = [&] {
    if (++inside == 2) both.open();
    static_cast<void>(both.wait());
  };
  reset_counters();
  {
    Thread one([&] { compute(a); }), two([&] { compute(b); });
  }
  CHECK(counters().plan_hits == 2);
  CHECK(inside == 2);
  CHECK(element(a, 4) == (ramp(4) + 7) * 0.25);
  CHECK(element(b, 4) == (ramp(4) + 12) * 0.75);
}

TEST_CASE("a long evaluation and a long compilation stop nobody else") {
  for (const bool compiling : {false, true}) {
    Hooks hooks;
    clear_caches();
    const NodeRef slow = plus(times(there(), 2.5), compiling ? 7 : 8);
    Gate started, go_on;
    const auto stop = [&] {
      started.open();
      static_cast<void>(go_on.wait());
    };
    (compiling ? hooks.device.compiling : hooks.device.before) = stop;
    Thread other([&] { compute(slow); });
    REQUIRE(started.wait());
    const NodeRef x = input_of(kShape, ramp), small = ir::binary(Op::Mul, x, x);
    evaluate({small});  // compiles, too
    CHECK(element(small, 3) == ramp(3) * ramp(3));
    CHECK_FALSE(go_on.is_open());
    go_on.open();
    other.thread.join();
    CHECK(element(slow, 4) == ramp(4) * 2.5 + (compiling ? 7 : 8));
  }
}

TEST_CASE("what another thread is computing is waited for, and computed once") {
  Hooks hooks;
  const NodeRef y = plus(there(), 1), z = times(y, 2);
  Gate asked;
  std::atomic<bool> done{false};
  StoppedEvaluation one(hooks, y);
  CHECK(y->op() == Op::Input);  // and nobody can look at what it is computed from
  CHECK_FALSE(buffer_of(*y));
  Thread two([&] {
    asked.open();
    compute(z);
    done = true;
  });
  REQUIRE(asked.wait());
  settle();
  CHECK_FALSE(done);
  CHECK(hooks.device.launches == 1);
  one.finish();
  two.thread.join();
  CHECK(hooks.device.launches == 2);
  CHECK(element(y, 4) == ramp(4) + 1);
  CHECK(element(z, 4) == (ramp(4) + 1) * 2);
}

TEST_CASE("two threads that want the same value get it, computed once") {
  Hooks hooks;
  for (int round = 0; round < 50; ++round) {
    const NodeRef y = plus(times(there(round), 2), 1);
    hooks.device.launches = 0;
    {
      Thread one([&] { compute(y); }), two([&] { compute(y); });
    }
    CHECK(hooks.device.launches == 1);
    CHECK(element(y, 4) == (ramp(4) + round) * 2 + 1);
  }
}

TEST_CASE("no rule looks through a value in the making at memory that it takes over") {
  Hooks hooks;
  NodeRef x = there();
  const auto* memory = buffer_of(*x)->data();
  NodeRef y = ir::unary(Op::Neg, x);
  x = NodeRef();
  Gate written, go_on;
  hooks.device.after = [&] {
    written.open();
    static_cast<void>(go_on.wait());
  };
  Thread one([&] { compute(y); });
  REQUIRE(written.wait());
  const NodeRef z = ir::unary(Op::Neg, y);  // -(-x) is x
  go_on.open();
  one.thread.join();
  CHECK(buffer_of(*y)->data() == memory);
  compute(z);
  CHECK(element(z, 4) == ramp(4));
}

TEST_CASE("an input that another thread has a reader of keeps its memory") {
  Hooks hooks;
  NodeRef x = there();
  const NodeRef other = times(x, 5);
  NodeRef y = plus(x, 1);
  x = NodeRef();
  Gate written, go_on;
  std::atomic<int> launch{0};
  hooks.device.after = [&] {
    if (launch++ > 0) return;
    written.open();
    static_cast<void>(go_on.wait());
  };
  Thread one([&] { compute(y); });
  REQUIRE(written.wait());
  compute(other);
  CHECK(element(other, 4) == ramp(4) * 5);
  go_on.open();
  one.thread.join();
  CHECK(element(y, 4) == ramp(4) + 1);
}

TEST_CASE("a failure leaves the values pending; who waited computes them") {
  for (const bool again : {false, true}) {
    Hooks hooks;
    const int64_t nodes = ir::live_node_count(), bytes = memory_stats().allocated;
    {
      const NodeRef y = plus(there(), 4), z = times(y, 2);
      Gate started, go_on;
      std::atomic<int> launch{0};
      hooks.device.before = [&] {
        if (launch++ == 0) {
          started.open();
          static_cast<void>(go_on.wait());
        } else if (!again) {
          return;
        }
        throw std::runtime_error("the test's fault");
      };
      std::string first, second;
      const auto message = [](const NodeRef& node) -> std::string {
        try {
          compute(node);
        } catch (const std::runtime_error& e) {
          return e.what();
        }
        return {};
      };
      Thread one([&] { first = message(y); });
      REQUIRE(started.wait());
      Thread two([&] { second = message(z); });
      settle();
      go_on.open();
      one.thread.join();
      two.thread.join();
      CHECK(first == "the test's fault");
      CHECK(second == (again ? first : ""));
      CHECK(y->op() == Op::Add);
      CHECK_FALSE(buffer_of(*y));
      CHECK((ir::binary(Op::Add, NodeRef(y->inputs()[0]), NodeRef(y->inputs()[1])) == y));  // found again in the table
      hooks.device.before = {};
      compute(z);
      compute(y);
      CHECK(element(y, 4) == ramp(4) + 4);
      CHECK(element(z, 4) == (ramp(4) + 4) * 2);
    }
    CHECK(ir::live_node_count() == nodes);
    CHECK(memory_stats().allocated == bytes);
  }
}

TEST_CASE("a failure after an input gave its memory away is no wrong number later") {
  for (const int failing : {1, 2}) {
    Hooks hooks;
    const NodeRef y = plus(there(), 4), z = ir::reduce(Op::Sum, times(there(1), 3), Shape{0});
    hooks.device.before = [&] {
      if (hooks.device.launches == failing) throw std::runtime_error("the test's fault");
    };
    const std::vector<NodeRef> roots{y, z};
    CHECK_THROWS_WITH(runtime::evaluate(roots), "the test's fault");
    hooks.device.before = {};
    for (int again = 0; again < 2; ++again) {
      if (failing == 1) {
        runtime::evaluate(roots);
        CHECK(element(y, 1) == ramp(1) + 4);
      } else {
        CHECK_THROWS_WITH(runtime::evaluate(roots), "a value that is read here is lost: the test's fault");
      }
    }
  }
}

TEST_CASE("memory is not put in the place of an input that is being read") {
  Hooks hooks;
  const NodeRef x = there(), y = plus(x, 3), copy = there();
  std::atomic<bool> done{false};
  StoppedEvaluation one(hooks, y);
  Thread two([&] {
    rebind(*x, buffer_of(*copy));
    done = true;
  });
  settle();
  CHECK_FALSE(done);
  one.finish();
  two.thread.join();
  CHECK(buffer_of(*x) == buffer_of(*copy));
  CHECK(element(y, 4) == ramp(4) + 3);
}

TEST_CASE("options change between evaluations") {
  Hooks hooks;
  const NodeRef y = plus(there(), 6);
  StoppedEvaluation one(hooks, y);
  Thread two([&] {
    const WithOptions other([](Options& o) { o.threads = 1; });
    const NodeRef x = input_of(kShape, ramp), small = ir::binary(Op::Add, x, x);
    evaluate({small});
    CHECK(element(small, 3) == 2 * ramp(3));
  });
  settle();
  one.finish();
  two.thread.join();
  CHECK(element(y, 4) == ramp(4) + 6);
}

TEST_CASE("a fork waits for what is being computed") {
  Hooks hooks;
  const NodeRef y = plus(there(), 5);
  std::atomic<bool> forked{false};
  int status = -1;
  StoppedEvaluation one(hooks, y);
  Thread two([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      const NodeRef x = input_of(kShape, ramp), z = ir::binary(Op::Mul, x, x);
      evaluate({z});
      _exit(buffer_of(*y) && element(y, 4) == ramp(4) + 5 && element(z, 4) == ramp(4) * ramp(4) ? 0 : 1);
    }
    forked = true;
    ::waitpid(child, &status, 0);
  });
  settle();
  CHECK_FALSE(forked);
  one.finish();
  two.thread.join();
  CHECK(status == 0);
}

// Threads that share values at random: each draws two, records on them, keeps the result in the place of a third, and now and
// then evaluates one. The values are whole numbers below 2^20, so that float32 has all of them.
TEST_CASE("threads that share, drop and evaluate values at random get the right numbers") {
  Hooks hooks;
  struct Value {
    NodeRef node;
    int64_t first;
  };
  constexpr int kValues = 24;
  std::vector<Value> values;
  std::mutex mutex;
  for (int i = 0; i < kValues; ++i) values.push_back({there(i), static_cast<int64_t>(ramp(0)) + i});
  std::atomic<int> wrong{0}, evaluated{0};
  std::vector<std::unique_ptr<Thread>> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    threads.push_back(std::make_unique<Thread>([&, seed] {
      std::mt19937_64 random(seed);
      const auto drawn = [&] {
        const std::lock_guard lock(mutex);
        return values[random() % kValues];
      };
      for (int round = 0; round < 400; ++round) {
        Value a = drawn(), b = drawn();
        Value made{ir::binary(Op::Sub, a.node, b.node), a.first - b.first};
        if (random() % 2) made = {ir::unary(Op::Neg, made.node), -made.first};
        if (std::abs(made.first) > 1000) made = {there(3), static_cast<int64_t>(ramp(0)) + 3};
        a = b = {};
        Value gone;
        {
          const std::lock_guard lock(mutex);
          gone = std::exchange(values[random() % kValues], random() % 8 ? made : Value{there(5), static_cast<int64_t>(ramp(0)) + 5});
        }
        if (random() % 3) continue;
        Value looked = random() % 2 ? std::move(made) : drawn();
        made = gone = {};
        compute(looked.node);
        ++evaluated;
        if (element(looked.node) != static_cast<double>(looked.first)) ++wrong;
      }
    }));
  }
  threads.clear();
  CHECK(wrong == 0);
  CHECK(evaluated > 200);
}
