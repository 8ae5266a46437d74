// The graph passes in the order in which they run.
#include "passes/passes.h"

namespace tenon::passes {

namespace {

// A pass that does the same for all devices.
template <ir::Graph (*pass)(const ir::Graph&)>
ir::Graph everywhere(const ir::Graph& graph, const ir::Targets&) {
  return pass(graph);
}

}  // namespace

std::span<const GraphPass> graph_passes() {
  static constexpr GraphPass passes[] = {
      {"expand-attention", "attention that no schedule of the target takes becomes products and a softmax", expand_attention, true},
      {"simplify", "algebraic identities, exact to the bit", everywhere<simplify>},
      {"fold-views", "chains of movement ops become one or none", everywhere<fold_views>},
      {"fold-constants", "what depends on constants alone is computed", everywhere<fold_constants>},
      {"lay-out-products", "products are stored as they are read", everywhere<lay_out_products>},
      {"lay-out-joins", "parts are laid side by side as they are read", everywhere<lay_out_joins>},
      {"lay-out-attention", "results of attention lie as they are read", everywhere<lay_out_attention>},
      {"lay-out-operands", "operands of large products on a CPU are stored as the product reads them", lay_out_operands},
      {"lay-out-windows", "windows of many channels are read channel by channel on tensor cores", lay_out_windows},
      {"late-reshapes", "elementwise operations come before the reshape of a contraction", everywhere<late_reshapes>},
      {"cse", "equal operations become one", everywhere<common_subexpressions>},
      {"dce", "nodes that no output needs are dropped", everywhere<dead_code>},
  };
  return passes;
}

}  // namespace tenon::passes
