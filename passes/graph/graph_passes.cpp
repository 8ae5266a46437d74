// The graph passes in the order in which they run.
#include "passes/passes.h"

namespace tenon::passes {

std::span<const GraphPass> graph_passes() {
  static constexpr GraphPass passes[] = {
      {"simplify", "algebraic identities, exact to the bit", simplify},
      {"fold-views", "chains of movement ops become one or none", fold_views},
      {"fold-constants", "what depends on constants alone is computed", fold_constants},
      {"lay-out-products", "products are stored as they are read", lay_out_products},
      {"lay-out-attention", "results of attention lie as they are read", lay_out_attention},
      {"late-reshapes", "elementwise operations come before the reshape of a contraction", late_reshapes},
      {"cse", "equal operations become one", common_subexpressions},
      {"dce", "nodes that no output needs are dropped", dead_code},
  };
  return passes;
}

}  // namespace tenon::passes
