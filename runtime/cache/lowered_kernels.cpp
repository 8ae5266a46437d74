// Finding a tree by its kernel or call and target.
#include "runtime/cache/lowered_kernels.h"

#include <algorithm>
#include <utility>

namespace tenon::runtime {
namespace {

constexpr size_t kAlike = 8;

// What lower(known) gives; it is the first of the known ones then, in the place of one that tells no more than it.
template <typename Known, typename Lower>
std::shared_ptr<const passes::Lowered> lower_like(Known& known, const Lower& lower) {
  auto lowered = std::make_shared<passes::Lowered>(lower(passes::KnownLowered(known)));
  if (!lowered->known) lowered->known = std::make_shared<const ir::LoopTree>(std::move(lowered->tree));
  auto used =
      std::ranges::find_if(known, [&](const auto& other) { return other->known == lowered->known && other->lengths == lowered->lengths; });
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

std::shared_ptr<const passes::Lowered> LoweredKernels::lower(const std::shared_ptr<const ir::Work>& work, const ir::Target& target,
                                                             const compiler::Settings& settings) {
  if (settings.observer) return std::make_shared<const passes::Lowered>(compiler::lower(*work, target, settings));
  const uint64_t hash = ir::hash_of_work(*work);
  for (auto [it, end] = known_.equal_range(hash); it != end; ++it) {
    if (it->second.target == target && ir::same_work(*it->second.work, *work)) return it->second.lowered;
  }
  auto lowered = lower_like(of_form(ir::hash_of_form(*work)),
                            [&](passes::KnownLowered known) { return compiler::lower(*work, target, settings, known); });
  if (known_.size() >= kMost) known_.clear();
  known_.emplace(hash, Known{work, target, lowered});
  return lowered;
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
