// The first tier: a kernel that is new runs as bytecode, and is compiled behind the program when it comes again. Which does when; and that
// nobody sees it in the values, also while compiled code takes the place of bytecode.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "codegen/llvm/jit.h"
#include "ir/looptree/looptree.h"
#include "runtime/base/compile_behind.h"
#include "runtime/cache/kernel_cache.h"
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

bool has_compiler() { return codegen::llvm_backend::available() && options().backend != Options::Backend::Interpreter; }

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
  if (!has_compiler()) return;
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
  if (!has_compiler()) return;
  const Tier tier(1);
  const std::vector<double> first = run(9, 23), other = run(7, 22);
  CHECK(counters().kernels_compiled == 1);
  CHECK(counters().kernels_promoted == 1);
  CHECK(run(9, 23) == first);
  CHECK(run(7, 22) == other);
  CHECK(counters().kernels_promoted == 1);
}

TEST_CASE("first tier: the disk knows what ran as bytecode in another process, which compiles it behind") {
  if (!has_compiler()) return;
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
  if (!has_compiler()) return;
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
  if (!has_compiler()) return;
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

TEST_CASE("first tier: a kernel that the compiler refuses stays bytecode, and says why") {
  if (options().backend == Options::Backend::Interpreter) return;
  const ir::LoopTree refused = ir::parse_looptree(R"(looptree @refused cpu lanes=4 {
  params x0: f32 in, y0: f32 out, sizes 1
  phase elements: parallel %0 in 0..s0 {
    %1 = const 0 : i64
    %2 = load x0[%1] : f32x4
    %3 = erf %2 : f32x4
    store y0[%1], %3
  }
}
)");
  const auto tree = std::make_shared<const ir::LoopTree>(refused);
  const std::string name = "refused";
  for (const int first_tier : {0, 1}) {
    for (const double ns : {1.0, 1e9}) {  // at first as bytecode, or compiled at once
      const Tier tier(first_tier);
      const auto get = [&] {
        return KernelCache::global().get(std::vector<WantedKernel>{{tree, ns}}, host_device(), options()).at(0).kernel;
      };
      get();
      const std::shared_ptr<const CompiledKernel> kernel = get();  // it comes again
      const float x[] = {-1, 0, 0.5, 3};
      float y[4];
      void* const buffers[] = {const_cast<float*>(x), y};
      const int64_t sizes[] = {1};
      const Phase phases[] = {{1, 10}};
      host_device().launch({kernel->code, name, buffers, sizes, {}, phases, 0}, Stream::Main);
      for (int i = 0; i < 4; ++i) CHECK(y[i] == std::erf(x[i]));
      CHECK(KernelCache::global().has_refused());
      CHECK(KernelCache::global().refusal(*tree, host_device()).find(has_compiler() ? "erf" : "without LLVM") != std::string::npos);
    }
  }
}

TEST_CASE("first tier: off, and always; all give the same bits") {
  if (!has_compiler()) return;
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
  if (!has_compiler()) return;
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
