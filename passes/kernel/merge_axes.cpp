// Merges adjacent parallel axes that every index runs through as one.
//
//   axes i: 4096 parallel, j: 1024 parallel   load x[1024*i + j]    ->    axes i: 4194304 parallel   load x[i]
#include <algorithm>

#include "passes/passes.h"

namespace tenon::passes {
namespace {

using ir::Index;

// How many terms are a div or a mod.
std::ptrdiff_t compound_terms(const Index& index) {
  return std::ranges::count_if(index.terms(), [](const Index::Term& t) { return t.axis < 0; });
}

// Writes every index of the kernel in terms of a merged axis `a` (extent A*B) in place of a and b. False if
// some index would need another div or mod, or if its bounds could not be told as well as before.
bool merge(ir::Kernel& kernel, int a, int b) {
  int64_t extent_b = kernel.extent(b);
  Index merged = Index::axis(a, kernel.extent(a) * extent_b);
  Index outer = floor_div(merged, extent_b), inner = floor_mod(merged, extent_b);
  auto rewrite = [&](const Index& index) {
    return index.substitute([&](int axis, int64_t extent) { return axis == a ? outer : axis == b ? inner : Index::axis(axis, extent); });
  };
  auto stays_simple = [](const Index& before, const Index& after) {
    const ir::Bounds was = before.bounds(), is = after.bounds();
    return after.terms().size() <= before.terms().size() && compound_terms(after) <= compound_terms(before) && is.lo >= was.lo &&
           is.hi <= was.hi;
  };
  std::vector<ir::Instr> instrs = kernel.instrs;
  for (ir::Instr& in : instrs) {
    if (in.index.is_constant() && in.guards.empty()) continue;
    Index index = rewrite(in.index);
    if (!stays_simple(in.index, index)) return false;
    in.index = index;
    for (ir::Guard& g : in.guards) {
      Index value = rewrite(g.value);
      if (!stays_simple(g.value, value)) return false;
      g.value = value;
    }
  }
  kernel.instrs = std::move(instrs);
  kernel.axes[a].extent *= extent_b;
  kernel.axes[b].extent = 1;
  return true;
}

// Drops parallel axes of extent 1 and renumbers the rest.
void renumber(ir::Kernel& kernel) {
  std::vector<Index> to;
  std::vector<ir::Axis> axes;
  for (const ir::Axis& axis : kernel.axes) {
    if (axis.kind == ir::AxisKind::Parallel && axis.extent == 1) {
      to.push_back(Index());
      continue;
    }
    to.push_back(Index::axis(static_cast<int>(axes.size()), axis.extent));
    axes.push_back(axis);
  }
  if (axes.size() == kernel.axes.size()) return;
  substitute_axes(kernel, [&](int axis, int64_t) { return to[axis]; });
  kernel.axes = std::move(axes);
}

}  // namespace

ir::Kernel merge_axes(ir::Kernel kernel) {
  std::vector<int> parallel;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    const ir::Axis& axis = kernel.axes[a];
    if (axis.kind == ir::AxisKind::Parallel && axis.extent != 1) parallel.push_back(static_cast<int>(a));
  }
  for (size_t i = parallel.size(); i-- > 1;) {
    // A contraction keeps its last two parallel axes: rows and columns of the product.
    if (kernel.has(ir::AxisKind::Contract) && i + 2 >= parallel.size()) continue;
    if (merge(kernel, parallel[i - 1], parallel[i])) parallel.erase(parallel.begin() + static_cast<std::ptrdiff_t>(i));
  }
  renumber(kernel);
  return kernel;
}

}  // namespace tenon::passes
