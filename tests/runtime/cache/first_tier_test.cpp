// The first tier: a kernel that is new runs as bytecode, and is compiled behind the program when it comes again. Which does when; and that
// nobody sees it in the values, also while compiled code takes the place of bytecode.
#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/compile_behind.h"
#include "runtime/device/device.h"
#include "runtime/evaluation_support.h"
#include "runtime/temp_directory.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;
using ir::NodeRef;
using ir::Op;

namespace {

using Shape = std::vector<int64_t>;

double ramp_of(int64_t i) { return static_cast<double>(i % 37) / 16 - 1; }

// Rows of an odd length: sums of exponentials.
NodeRef sums(int64_t rows, int64_t columns) {
  return ir::reduce(Op::Sum, ir::unary(Op::Exp, input_of(Shape{rows, columns}, ramp_of)), Shape{1});
}

std::vector<double> values_of(const NodeRef& node) {
  std::vector<double> result;
  for (int64_t i = 0; i < node->numel(); ++i) result.push_back(element(node, i));
  return result;
}
std::vector<double> run(int64_t rows, int64_t columns) {
  const NodeRef node = sums(rows, columns);
  evaluate({node});
  return values_of(node);
}

// Keeps the thread that compiles behind the program from doing so.
struct CompilerHeld {
  CompilerHeld() {
    CompileBehind::global().add([this] { released.wait(); });
  }
  ~CompilerHeld() { CompileBehind::global().wait(); }
  void let_go() { released.count_down(); }
  std::latch released{1};
};

struct Tier {
  explicit Tier(int tier, const std::string& cache = {})
      : options([&](Options& o) {
          o.first_tier = tier;
          o.disk_cache = !cache.empty();
          o.cache_dir = cache;
        }) {
    CompileBehind::global().wait();
    clear_caches();
    reset_counters();
  }
  ~Tier() { CompileBehind::global().wait(); }
  WithOptions options;
};

}  // namespace

TEST_CASE("first tier: what runs once is bytecode; a plan of few kernels that runs again is compiled before that") {
  if (!host_device().compiles(options())) return;
  const Tier tier(1);
  const std::vector<double> first = run(9, 23);
  CHECK(counters().kernels_compiled == 1);
  CHECK(counters().kernels_promoted == 0);
  CHECK(run(9, 23) == first);
  CHECK(counters().kernels_promoted == 1);
  CHECK(run(9, 23) == first);
  CHECK(counters().kernels_compiled == 1);
  CHECK(counters().kernels_promoted == 1);
}

TEST_CASE("first tier: a kernel that another plan wants too is compiled before that runs") {
  if (!host_device().compiles(options())) return;
  const Tier tier(1);
  const std::vector<double> first = run(9, 23), other = run(7, 22);
  CHECK(counters().kernels_compiled == 1);
  CHECK(counters().kernels_promoted == 1);
  CHECK(run(9, 23) == first);
  CHECK(run(7, 22) == other);
  CHECK(counters().kernels_promoted == 1);
}

TEST_CASE("first tier: the disk knows what ran as bytecode in another process, which compiles it behind") {
  if (!host_device().compiles(options())) return;
  TempDirectory directory;
  const Tier tier(1, directory.path);
  const std::vector<double> first = run(9, 23);
  CHECK(counters().kernels_compiled == 1);
  const auto again = [&] {
    clear_caches();  // as a new process would
    reset_counters();
    CHECK(run(9, 23) == first);
    CompileBehind::global().wait();
    CHECK(counters().kernels_compiled == 0);
    CHECK(counters().disk_hits == 1);
    return counters().kernels_promoted;
  };
  CHECK(again() == 1);
  CHECK(again() == 0);  // the disk has its code
}

TEST_CASE("first tier: much work is compiled before it runs, also if the kernel was bytecode for little") {
  if (!host_device().compiles(options())) return;
  const auto chain = [](int64_t elements) {
    NodeRef x = input_of(Shape{elements}, ramp_of);
    for (int i = 0; i < 8; ++i) x = ir::unary(Op::Sin, x);
    evaluate({x});
  };
  const Tier tier(1);
  chain(1 << 18);
  chain(1 << 18);
  CHECK(counters().kernels_compiled == 1);
  CHECK(counters().kernels_promoted == 0);  // it was compiled
  clear_caches();
  reset_counters();
  chain(100);
  CHECK(counters().kernels_promoted == 0);
  chain(1 << 18);
  CHECK(counters().kernels_compiled == 1);
  CHECK(counters().kernels_promoted == 1);
}

TEST_CASE("first tier: a plan of many kernels goes on as bytecode, until that has taken as long as compiling takes") {
  if (!host_device().compiles(options())) return;
  constexpr int64_t kKernels = 6;
  const auto sines = [](int64_t elements) {
    std::vector<NodeRef> roots;
    for (int64_t k = 1; k <= kKernels; ++k) {  // each of another size, so they share no kernel
      NodeRef x = input_of(Shape{k, elements}, ramp_of);
      for (int64_t i = 0; i < k; ++i) x = ir::unary(Op::Sin, x);
      roots.push_back(ir::reduce(Op::Sum, x, Shape{1}));
    }
    evaluate(roots);
    return values_of(roots.back());
  };
  const Tier tier(1);
  {
    CompilerHeld held;
    const std::vector<double> first = sines(9);
    CHECK(counters().kernels_compiled == kKernels);
    for (int i = 0; i < 3; ++i) CHECK(sines(9) == first);
    CHECK(counters().kernels_promoted == 0);
    held.let_go();
    CompileBehind::global().wait();
    CHECK(counters().kernels_promoted == kKernels);
    CHECK(sines(9) == first);
  }
  clear_caches();
  reset_counters();
  CompilerHeld held;
  const std::vector<double> much = sines(1 << 13);
  CHECK(counters().kernels_compiled == kKernels);
  for (int i = 0; i < 200; ++i) CHECK(sines(1 << 13) == much);
  CHECK(counters().kernels_promoted == kKernels);  // by the program itself
  held.let_go();
}

TEST_CASE("first tier: off, and always; all give the same bits") {
  if (!host_device().compiles(options())) return;
  std::vector<double> compiled;
  {
    const Tier tier(0);
    compiled = run(9, 23);
    run(9, 23);
    CHECK(counters().kernels_compiled == 1);
    CHECK(counters().kernels_promoted == 0);
  }
  const Tier tier(2);
  for (int i = 0; i < 3; ++i) CHECK(run(9, 23) == compiled);
  run(9, 22);
  CompileBehind::global().wait();
  CHECK(counters().kernels_compiled == 1);
  CHECK(counters().kernels_promoted == 0);
}

TEST_CASE("first tier: threads run a kernel while compiled code takes its place") {
  if (!host_device().compiles(options())) return;
  for (int round = 0; round < 4; ++round) {
    std::vector<double> wanted, other;
    {
      const Tier bytecode(2);
      wanted = run(9, 23);
      other = run(8, 21);
    }
    const Tier tier(1);
    CHECK(run(9, 23) == wanted);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int64_t i = 0; i < 60; ++i) {
          if ((t + i) % 2 ? run(9, 23) != wanted : run(8, 21) != other) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CompileBehind::global().wait();
    CHECK(counters().kernels_promoted == 1);
  }
}
