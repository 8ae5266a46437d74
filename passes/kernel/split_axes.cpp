// Splits axes that an index divides, wherever it then divides less.
//
//   axes l: 28 parallel                  axes l: 14 parallel, l0: 2 parallel
//   load x[l / 2]; store y[l]      ->    load x[l]; store y[2*l + l0]
//
// An axis that merge-axes has made comes apart again: l / 56 and (l mod 28) / 2 make it four.
//
// So what a pool's window or an enlarged image's pixel shares is read once, and not gathered.
#include <algorithm>
#include <functional>
#include <vector>

#include "passes/passes.h"

namespace tenon::passes {
namespace {

using ir::Index;

// What the terms that depend on an axis are divided by, a number for each division; in the terms inside those too.
void divisions(const Index& index, int axis, std::vector<int64_t>& found) {
  for (const Index::Term& term : index.terms()) {
    if (term.axis >= 0 || !term.inner_index().depends_on(axis)) continue;
    if (term.modulus > 1) found.push_back(term.modulus);
    if (term.divisor > 1) found.push_back(term.divisor);
    divisions(term.inner_index(), axis, found);
  }
}

std::vector<int64_t> divisions(const ir::Kernel& kernel, int axis) {
  std::vector<int64_t> found;
  for (const ir::Instr& in : kernel.instrs) {
    divisions(in.index, axis, found);
    for (const ir::Guard& g : in.guards) divisions(g.value, axis, found);
  }
  return found;
}

// Axis a, of extent n*d, becomes two: a of extent n and, behind it, one of extent d.
ir::Kernel split(const ir::Kernel& kernel, int a, int64_t d) {
  ir::Kernel result = kernel;
  const int64_t parts = kernel.extent(a) / d;
  result.axes[a].extent = parts;
  result.axes.insert(result.axes.begin() + a + 1, {kernel.axes[a].name + "0", d, kernel.axes[a].kind});
  substitute_axes(result, [&](int axis, int64_t extent) {
    return axis == a ? Index::axis(a, parts) * d + Index::axis(a + 1, d) : Index::axis(axis < a ? axis : axis + 1, extent);
  });
  return result;
}

}  // namespace

std::optional<ir::Kernel> split_axes(const ir::Kernel& kernel) {
  std::optional<ir::Kernel> result;
  for (int a = static_cast<int>(kernel.axes.size()) - 1; a >= 0; --a) {
    const ir::Kernel& whole = result ? *result : kernel;
    if (whole.axes[a].kind != ir::AxisKind::Parallel) continue;
    std::vector<int64_t> by = divisions(whole, a);
    const size_t before = by.size();
    std::ranges::sort(by, std::greater<>());
    by.erase(std::unique(by.begin(), by.end()), by.end());
    for (int64_t d : by) {
      if (whole.extent(a) % d != 0 || whole.extent(a) == d) continue;
      ir::Kernel parts = split(whole, a, d);
      if (divisions(parts, a).size() + divisions(parts, a + 1).size() >= before) continue;
      result = std::move(parts);
      a += 2;  // both are looked at again
      break;
    }
  }
  return result ? std::optional(merge_axes(*result)) : std::nullopt;
}

}  // namespace tenon::passes
