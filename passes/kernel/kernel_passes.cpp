// The kernel -> kernel passes in the order in which they run, between fusion and scheduling: takes a fused
// kernel, gives one that contains basic ops only; verified in the end, and after every pass for who observes it.
#include <utility>

#include "passes/passes.h"

namespace tenon::passes {

std::span<const KernelPass> kernel_passes() {
  static constexpr KernelPass passes[] = {
      {"expand-half", "f16 and bf16 arithmetic computes in f32 and rounds after each op", expand_half},
      {"expand-math", "elementary functions become polynomials in basic ops", expand_math},
      {"clean", "equal pure instructions are shared, unused ones dropped", clean},
      {"merge-axes", "parallel axes that lie one behind the other in every index become one", merge_axes},
  };
  return passes;
}

ir::Kernel run_kernel_passes(ir::Kernel kernel, const PassObserver& observer) {
  for (const KernelPass& pass : kernel_passes()) {
    kernel = pass.run(std::move(kernel));
    if (!observer) continue;
    ir::verify(kernel);
    observer(pass.name, [&] { return ir::print(kernel); });
  }
  if (!observer) ir::verify(kernel);
  return kernel;
}

}  // namespace tenon::passes
