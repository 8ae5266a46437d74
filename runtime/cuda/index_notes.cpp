// Notes are handed out one after another and never taken back: a plan that is kept has their addresses.
#include "runtime/cuda/index_notes.h"

#include <algorithm>

namespace tenon::runtime::cuda {

void* IndexNotes::find(const Device::IndexError& error) {
  const std::lock_guard lock(mutex_);
  if (!notes_) {
    const Context::Current current(context_);
    void* memory = nullptr;
    if (context_.api().host_allocate(&memory, kMost * sizeof(int64_t), kHostAllocPortable) != kSuccess) return nullptr;
    notes_ = static_cast<int64_t*>(memory);
    std::fill_n(notes_, kMost, 0);
  }
  const auto [found, is_new] = numbers_.try_emplace(error.before + '\0' + error.after, errors_.size());
  if (is_new && errors_.size() == kMost) {
    numbers_.erase(found);
    return nullptr;
  }
  if (is_new) {
    errors_.push_back(error);
    count_.store(errors_.size(), std::memory_order_release);
  }
  return notes_ + found->second;
}

void IndexNotes::look() {
  const size_t count = count_.load(std::memory_order_acquire);
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    std::atomic_ref note(notes_[i]);
    if (note.load(std::memory_order_relaxed) == 0) continue;
    int64_t index = note.exchange(0);
    if (!text.empty()) continue;
    const std::lock_guard lock(mutex_);
    if (index < 0) index -= errors_[i].wraps_at;
    text = errors_[i].before + (errors_[i].names_index ? std::to_string(index) : std::string()) + errors_[i].after;
  }
  if (text.empty()) return;
  AsyncFailure failure(text);
  failure.copies_are_right = true;
  throw failure;
}

}  // namespace tenon::runtime::cuda
