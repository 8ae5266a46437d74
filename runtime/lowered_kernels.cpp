// Finding a tree by its kernel and target.
#include "runtime/lowered_kernels.h"

#include <algorithm>
#include <utility>

#include "ir/kernel_equal.h"
#include "ir/mix.h"

namespace tenon::runtime {
namespace {

constexpr size_t kTreesOfForm = 4;

// What lower(known) gives; its tree is the first of the known ones then.
template <typename Trees, typename Lower>
std::shared_ptr<const passes::Lowered> lower_like(Trees& known, const Lower& lower) {
  auto lowered = std::make_shared<passes::Lowered>(lower(ir::KnownTrees(known)));
  if (!lowered->known) {
    if (known.size() == kTreesOfForm) known.pop_back();
    lowered->known = std::make_shared<const ir::LoopTree>(std::move(lowered->tree));
    known.push_back(lowered->known);
  }
  const auto used = std::find(known.begin(), known.end(), lowered->known);
  std::rotate(known.begin(), used, used + 1);
  return lowered;
}

}  // namespace

LoweredKernels& LoweredKernels::global() {
  static auto* const all = new LoweredKernels;  // never destroyed: static tensors may evaluate at exit
  return *all;
}

std::shared_ptr<const passes::Lowered> LoweredKernels::lower(const std::shared_ptr<const ir::Kernel>& kernel, const ir::Target& target,
                                                             const compiler::Settings& settings) {
  if (settings.observer) return std::make_shared<const passes::Lowered>(compiler::lower_kernel(*kernel, target, settings));
  const uint64_t hash = ir::hash_of_work(*kernel);
  for (auto [it, end] = known_.equal_range(hash); it != end; ++it) {
    if (it->second.target == target && ir::same_work(*it->second.kernel, *kernel)) return it->second.lowered;
  }
  auto lowered = lower_like(trees_of(ir::hash_of_form(*kernel)),
                            [&](ir::KnownTrees known) { return compiler::lower_kernel(*kernel, target, settings, known); });
  if (known_.size() >= kMost) known_.clear();
  known_.emplace(hash, Known{kernel, target, lowered});
  return lowered;
}

std::shared_ptr<const passes::Lowered> LoweredKernels::lower(const passes::Call& call, const ir::Target& target, const compiler::Settings& settings) {
  if (settings.observer) return std::make_shared<const passes::Lowered>(compiler::lower_call(call, target, settings));
  const uint64_t form = ir::mix(ir::hash_of_form(call.kernel), static_cast<uint64_t>(call.node.op()));
  return lower_like(trees_of(form), [&](ir::KnownTrees known) { return compiler::lower_call(call, target, settings, known); });
}

LoweredKernels::Trees& LoweredKernels::trees_of(uint64_t form) {
  if (trees_.size() >= kMostForms) trees_.clear();
  return trees_[form];
}

void LoweredKernels::clear() {
  known_.clear();
  trees_.clear();
}

}  // namespace tenon::runtime
