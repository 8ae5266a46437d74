// The trees of calls: equal ones of a plan are one, those of other lengths have the statements of the first, and what a tree stands for is
// never another call's.
#include <doctest/doctest.h>

#include "ir/graph/attention.h"
#include "ir/looptree/looptree.h"
#include "passes/fusion/fusion.h"
#include "runtime/cache/lowered_kernels.h"
#include "runtime/device/device.h"
#include "runtime/plan/analysis.h"
#include "runtime/plan/plan_code.h"

using namespace tenon;

namespace {

struct Heads {
  int64_t rows = 9, keys = 11, width = 16;
  double scale = 0.25;
  bool causal = false;
  bool logarithms = false;  // those of the sums of its rows too
};

passes::FusedKernel call_of(const Heads& h) {
  const auto input = [&](int64_t rows) { return ir::make_input(ir::DType::F32, std::vector<int64_t>{2, 4, rows, h.width}); };
  const ir::Attention a{input(h.rows), input(h.keys), input(h.keys), {}, h.causal, h.scale};
  std::vector<ir::NodeRef> made{ir::attention(a)};
  if (h.logarithms) made.push_back(ir::attention(a, ir::AttentionResult::Lse));
  passes::FusionResult fusion = passes::fuse(made);
  REQUIRE(fusion.kernels.size() == 1);
  return std::move(fusion.kernels[0]);
}

class Trees {
 public:
  size_t lower(const Heads& h, bool unaligned = false) {
    passes::FusedKernel fused = call_of(h);
    ir::signature(fused.work).buffers[0].unaligned = unaligned;
    const size_t number = code_.lower(fused.work, runtime::host_device(), options_, settings_);
    const passes::Lowered &made = code_.lowered(number),
                          wanted = compiler::lower(fused.work, runtime::host_device().target(options_), settings_);
    CHECK(ir::same_code(made.whole_tree(), wanted.tree));
    CHECK(made.sizes == wanted.sizes);
    CHECK(made.phase_cost == wanted.phase_cost);
    CHECK(made.schedule == wanted.schedule);
    return number;
  }
  const ir::LoopTree* tree(size_t number) const { return &code_.lowered(number).whole_tree(); }

 private:
  runtime::Options options_;
  compiler::Settings settings_ = runtime::compiler_settings(options_);
  runtime::PlanCode code_;
};

}  // namespace

TEST_CASE("plan code: equal calls have one tree, and one of other lengths has the statements of the first") {
  if (!runtime::host_device().compiles({})) return;
  runtime::LoweredKernels::global().clear();
  Trees trees;
  const size_t first = trees.lower({});
  CHECK(trees.lower({}) == first);
  for (const Heads& other : {Heads{.rows = 12}, Heads{.keys = 30}, Heads{.rows = 9, .keys = 9}}) {
    const size_t longer = trees.lower(other);
    CHECK(longer != first);
    CHECK(trees.tree(longer) == trees.tree(first));
    CHECK(trees.lower(other) == longer);
  }
  for (const Heads& other : {Heads{.scale = 0.5}, Heads{.causal = true}, Heads{.logarithms = true}}) {
    const size_t apart = trees.lower(other);
    CHECK(apart != first);
    CHECK(trees.tree(apart) != trees.tree(first));
    CHECK(trees.lower(other) == apart);
  }
  CHECK(trees.lower({}, true) != first);
  CHECK(trees.lower({}) == first);
  Trees others;  // of another plan
  CHECK(others.tree(others.lower({.rows = 20})) == trees.tree(first));
}
