// Finding a tree by its kernel and target.
#include "runtime/lowered_kernels.h"

#include "ir/kernel_equal.h"

namespace tenon::runtime {

LoweredKernels& LoweredKernels::global() {
  static auto* const all = new LoweredKernels;  // never destroyed: static tensors may evaluate at exit
  return *all;
}

std::shared_ptr<const passes::Lowered> LoweredKernels::lower(const ir::Kernel& kernel, const ir::Target& target,
                                                             const compiler::Settings& settings) {
  if (settings.observer) return std::make_shared<const passes::Lowered>(compiler::lower_kernel(kernel, target, settings));
  const uint64_t hash = ir::hash_of_work(kernel);
  for (auto [it, end] = known_.equal_range(hash); it != end; ++it) {
    if (it->second.target == target && ir::same_work(it->second.kernel, kernel)) return it->second.lowered;
  }
  auto lowered = std::make_shared<const passes::Lowered>(compiler::lower_kernel(kernel, target, settings));
  if (known_.size() >= kMost) known_.clear();
  known_.emplace(hash, Known{kernel, target, lowered});
  return lowered;
}

}  // namespace tenon::runtime
