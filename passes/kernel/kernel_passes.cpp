// The kernel -> kernel passes in the order in which they run, between fusion and scheduling: takes a fused
// kernel, gives one that contains basic ops only; verified in the end, and after every pass for who observes it.
#include <utility>

#include "passes/passes.h"

namespace tenon::passes {

std::span<const KernelPass> kernel_passes() {
  static constexpr KernelPass passes[] = {
      {"expand-half", "f16 and bf16 arithmetic computes in f32 and rounds after each op", expand_half},
      {"widen-products", "products of exponentials are computed in f64, where a CPU is slow with denormal numbers", widen_products,
       [](const ir::Target& target) {
         const auto* cpu = std::get_if<ir::CpuTarget>(&target);
         return cpu && cpu->slow_denormals;
       }},
      {"expand-math", "elementary functions become polynomials in basic ops", expand_math},
      {"divide-integers", "integers are divided as floats, which a CPU does a vector at a time", divide_integers,
       [](const ir::Target& target) { return std::holds_alternative<ir::CpuTarget>(target); }},
      {"clean", "equal pure instructions are shared, unused ones dropped", clean},
      {"merge-axes", "parallel axes that lie one behind the other in every index become one", merge_axes},
  };
  return passes;
}

ir::Kernel run_kernel_passes(ir::Kernel kernel, const PassObserver& observer, const ir::Target& target) {
  for (const KernelPass& pass : kernel_passes()) {
    if (!pass.is_for(target)) continue;
    kernel = pass.run(std::move(kernel));
    if (!observer) continue;
    ir::verify(kernel);
    observer(pass.name, [&] { return ir::print(kernel); });
  }
  if (!observer) ir::verify(kernel);
  return kernel;
}

}  // namespace tenon::passes
