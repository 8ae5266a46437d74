// Finding a tree by its kernel and target.
#include "runtime/cache/lowered_kernels.h"

#include <algorithm>
#include <utility>

#include "ir/base/mix.h"
#include "ir/kernel/kernel_equal.h"

namespace tenon::runtime {
namespace {

constexpr size_t kAlike = 8;

// What lower(known) gives; it is the first of the known ones then, in the place of one that tells no more than it.
template <typename Known, typename Lower>
std::shared_ptr<const passes::Lowered> lower_like(Known& known, const Lower& lower) {
  auto lowered = std::make_shared<passes::Lowered>(lower(passes::KnownLowered(known)));
  if (!lowered->known) lowered->known = std::make_shared<const ir::LoopTree>(std::move(lowered->tree));
  auto used = std::ranges::find_if(known, [&](const auto& other) { return other->known == lowered->known && other->lengths == lowered->lengths; });
  if (used == known.end()) {
    if (known.size() == kAlike) known.pop_back();
    used = known.insert(known.end(), nullptr);
  }
  *used = lowered;
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
  auto lowered = lower_like(of_form(ir::hash_of_form(*kernel)),
                            [&](passes::KnownLowered known) { return compiler::lower_kernel(*kernel, target, settings, known); });
  if (known_.size() >= kMost) known_.clear();
  known_.emplace(hash, Known{kernel, target, lowered});
  return lowered;
}

std::shared_ptr<const passes::Lowered> LoweredKernels::lower(const passes::Call& call, const ir::Target& target, const compiler::Settings& settings) {
  if (settings.observer) return std::make_shared<const passes::Lowered>(compiler::lower_call(call, target, settings));
  const uint64_t form = ir::mix(ir::hash_of_form(call.kernel), static_cast<uint64_t>(call.node.op()));
  return lower_like(of_form(form), [&](passes::KnownLowered known) { return compiler::lower_call(call, target, settings, known); });
}

LoweredKernels::Alike& LoweredKernels::of_form(uint64_t form) {
  if (forms_.size() >= kMostForms) forms_.clear();
  return forms_[form];
}

void LoweredKernels::clear() {
  known_.clear();
  forms_.clear();
}

}  // namespace tenon::runtime
