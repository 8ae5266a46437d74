// The table of packed copies. Memory is released when the lock is open again.
#include "runtime/memory/packed_copies.h"

#include <algorithm>
#include <utility>

#include "ir/base/fork.h"

namespace tenon::runtime {

PackedCopies& PackedCopies::global() {
  static auto* const copies = [] {
    auto* made = new PackedCopies;  // never destroyed: buffers are, at any time
    register_keeper(*made);
    return made;
  }();
  return *copies;
}
std::mutex& PackedCopies::global_mutex() { return global().mutex_; }
[[maybe_unused]] const bool packed_held_over_fork = ir::hold_over_fork(ir::ForkOrder::Packed, ir::fork_lock<PackedCopies::global_mutex>());

std::shared_ptr<Buffer> PackedCopies::find(const Buffer& source, const Layout& layout) {
  const std::lock_guard lock(mutex_);
  const auto known = copies_.find(&source);
  if (known == copies_.end()) return nullptr;
  const auto copy = std::ranges::find(known->second, layout, &Copy::layout);
  return copy == known->second.end() ? nullptr : copy->buffer;
}

bool PackedCopies::keep(const Buffer& source, const Layout& layout, const std::shared_ptr<Buffer>& copy) {
  const std::lock_guard lock(mutex_);
  if (!source.constant()) return true;  // it was written, or is known outside, since the plan was chosen: nobody would drop this
  if (bytes_ + copy->bytes() > kMostBytes) return false;
  std::vector<Copy>& copies = copies_[&source];
  if (std::ranges::find(copies, layout, &Copy::layout) != copies.end()) return true;  // another thread was faster
  copies.push_back({layout, copy});
  bytes_ += copy->bytes();
  return true;
}

void PackedCopies::forget(const Buffer& source) {
  std::vector<Copy> gone;
  const std::lock_guard lock(mutex_);
  const auto known = copies_.find(&source);
  if (known == copies_.end()) return;
  gone = std::move(known->second);
  copies_.erase(known);
  for (const Copy& copy : gone) bytes_ -= copy.buffer->bytes();
}

size_t PackedCopies::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

bool PackedCopies::give_back() {
  decltype(copies_) gone;
  const std::lock_guard lock(mutex_);
  gone.swap(copies_);
  bytes_ = 0;
  return !gone.empty();
}

}  // namespace tenon::runtime
