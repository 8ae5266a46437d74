// The table of kept arenas. Memory is released when the lock is open again.
#include "runtime/kept_arenas.h"

#include <utility>

#include "ir/fork.h"

namespace tenon::runtime {

KeptArenas& KeptArenas::global() {
  static auto* kept = new KeptArenas;  // never destroyed, like the plans
  return *kept;
}
std::mutex& KeptArenas::global_mutex() { return global().mutex_; }
[[maybe_unused]] const bool held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Arenas, ir::fork_lock<KeptArenas::global_mutex>());

bool KeptArenas::take(const Plan& plan, Arenas& arenas) {
  const std::lock_guard lock(mutex_);
  Kept& kept = kept_[&plan];
  if (kept.in_use) return false;
  kept.in_use = true;
  arenas = std::move(kept.arenas);
  return true;
}

void KeptArenas::give_back(const Plan& plan, Arenas arenas) {
  const std::lock_guard lock(mutex_);
  kept_[&plan] = {std::move(arenas), false};
}

void KeptArenas::drop(const Plan& plan) {
  Kept gone;
  const std::lock_guard lock(mutex_);
  const auto at = kept_.find(&plan);
  if (at == kept_.end()) return;
  gone = std::move(at->second);
  kept_.erase(at);
}

bool KeptArenas::drop_all() {
  std::vector<Arenas> gone;
  const std::lock_guard lock(mutex_);
  for (auto& [plan, kept] : kept_) {
    if (!kept.arenas.empty()) gone.push_back(std::exchange(kept.arenas, {}));
  }
  return !gone.empty();
}

}  // namespace tenon::runtime
