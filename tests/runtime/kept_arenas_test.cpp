// A plan that keeps its arenas finds them at the same addresses, and gives them back when memory is wanted.
#include <doctest/doctest.h>

#include <mutex>

#include "runtime/cpu/allocator.h"
#include "runtime/evaluation.h"
#include "runtime/evaluation_support.h"
#include "runtime/run.h"
#include "support/random_graph.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

const Shape kShape{64, 1024};

// A reduction whose value other kernels read, so that there are intermediates.
NodeRef graph_of(const NodeRef& x) {
  NodeRef sum = ir::reduce(Op::Sum, x, Shape{0});
  NodeRef product = ir::binary(Op::Mul, x, ir::expand(sum, x->shape()));
  return ir::reduce(Op::Sum, product, Shape{1});
}

std::shared_ptr<Plan> plan_of(Run& run, const NodeRef& root, const Options& options) {
  const std::lock_guard lock(evaluation_mutex());
  run.key.read({&root, 1}, 0);
  return build_plan(0, run.key, options);
}

// Runs the plan on a fresh graph of the same form; `during` it.
template <typename F>
void run_plan(const std::shared_ptr<Plan>& plan, const Options& options, F during) {
  Run run;
  const NodeRef x = input_of(kShape, [](int64_t i) { return static_cast<double>(i % 3); }), root = graph_of(x);
  {
    const std::lock_guard lock(evaluation_mutex());
    run.key.read({&root, 1}, 0);
    run.start(plan, {});
  }
  run.compute(options);
  during();
  {
    const std::lock_guard lock(evaluation_mutex());
    run.finish();
  }
  run.clear();
  const NodeRef again = graph_of(x);
  evaluate({again});
  CHECK(same_elements(value_of(*root), value_of(*again)));
}

const void* kept_address(const Plan& plan) {
  Arenas arenas;
  REQUIRE(KeptArenas::global().take(plan, arenas));
  const void* address = arenas.empty() || !arenas[0] ? nullptr : arenas[0]->data();
  KeptArenas::global().give_back(plan, std::move(arenas));
  return address;
}

}  // namespace

TEST_CASE("a plan that keeps its arena has it at the same address in each run, until memory is wanted") {
  WithOptions with;
  const Options options = runtime::options();
  std::shared_ptr<Plan> plan;
  {
    Run run;
    plan = plan_of(run, graph_of(input_of(kShape, [](int64_t) { return 1.0; })), options);
  }
  REQUIRE(plan->arenas.size() == 1);
  REQUIRE(plan->arenas[0].bytes > 0);
  const auto nothing = [] {};
  run_plan(plan, options, nothing);
  const int64_t before = memory_stats().allocated;
  const auto arena = static_cast<int64_t>(Allocator::class_bytes(static_cast<size_t>(plan->arenas[0].bytes)));

  plan->keep_arenas();
  run_plan(plan, options, nothing);
  const void* const first = kept_address(*plan);
  REQUIRE(first);
  CHECK(memory_stats().allocated == before + arena);  // nobody else can have it
  for (int round = 0; round < 5; ++round) {
    const auto taken = Buffer::allocate(static_cast<size_t>(plan->arenas[0].bytes));  // not the kept block
    run_plan(plan, options, nothing);
    CHECK(kept_address(*plan) == first);
  }
  // A second run at the same time has memory of its own, and the first one's stays the plan's.
  run_plan(plan, options, [&] { run_plan(plan, options, nothing); });
  CHECK(kept_address(*plan) == first);
  CHECK(memory_stats().allocated == before + arena);

  empty_memory_cache();
  CHECK(memory_stats().allocated == before);
  CHECK_FALSE(kept_address(*plan));

  run_plan(plan, options, nothing);
  CHECK(kept_address(*plan));
  constexpr size_t kLarge = 8 << 20;
  host_device().empty_cache();
  host_device().set_memory_limit(memory_stats().allocated + static_cast<int64_t>(kLarge) - 64);
  auto block = Buffer::allocate(kLarge);  // would fail, but takes the kept ones first
  host_device().set_memory_limit(0);
  CHECK_FALSE(kept_address(*plan));
  block.reset();
  CHECK(memory_stats().allocated == before);

  run_plan(plan, options, nothing);
  CHECK(memory_stats().allocated == before + arena);
  plan.reset();
  CHECK(memory_stats().allocated == before);
}
