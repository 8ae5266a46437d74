// The ring: pieces are laid one behind another, none across its end, and taken away in the order in which they were laid.
#include "runtime/cuda/staging.h"

#include <algorithm>
#include <cstring>

namespace tenon::runtime::cuda {
namespace {
constexpr size_t rounded(size_t bytes, size_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }
}  // namespace

bool Staging::copy(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  const std::lock_guard lock(mutex_);
  if (!ring_) {
    void* memory = nullptr;
    if (context_.api().host_allocate(&memory, kBytes, kHostAllocPortable) != kSuccess) return false;
    ring_ = static_cast<std::byte*>(memory);
  }
  const auto* source = static_cast<const std::byte*>(from);
  for (size_t done = 0; done < bytes; done += kPiece) copy_piece(to + done, source + done, std::min(kPiece, bytes - done), stream);
  return true;
}

void Staging::copy_piece(CUdeviceptr to, const std::byte* from, size_t bytes, CUstream stream) {
  std::byte* const staged = place(bytes);
  std::memcpy(staged, from, bytes);
  const CUevent event = events_.take(false);
  try {
    context_.check(context_.api().copy_in(to, staged, bytes, stream), "cuMemcpyHtoDAsync");
    if (const CUresult result = context_.api().event_record(event, stream); result != kSuccess) {
      context_.api().stream_synchronize(stream);  // nothing else tells when the copy is done
      context_.check(result, "cuEventRecord");
    }
  } catch (...) {
    events_.give_back(event, false);
    throw;
  }
  end_ += rounded(bytes, kAlignment);
  pieces_.push_back({end_, event});
}

// Room for the next piece. `end_` is moved to where it begins.
std::byte* Staging::place(size_t bytes) {
  const size_t size = rounded(bytes, kAlignment);
  if (kBytes - end_ % kBytes < size) end_ = (end_ / kBytes + 1) * kBytes;
  forget_past();
  while (end_ + size - begin_ > kBytes || pieces_.size() == kMostPieces) wait_for_oldest();
  return ring_ + end_ % kBytes;
}

void Staging::forget_past() {
  while (!pieces_.empty() && context_.api().event_query(pieces_.front().event) == kSuccess) forget_oldest();
  if (pieces_.empty()) begin_ = end_;
}

void Staging::wait_for_oldest() {
  context_.check(context_.api().event_synchronize(pieces_.front().event), "cuEventSynchronize");
  forget_oldest();
  if (pieces_.empty()) begin_ = end_;
}

void Staging::forget_oldest() {
  events_.give_back(pieces_.front().event, false);
  begin_ = pieces_.front().end;
  pieces_.pop_front();
}

void Staging::release() noexcept {
  const std::lock_guard lock(mutex_);
  if (!ring_ || context_.is_lost()) return;
  forget_past();
  if (!pieces_.empty()) return;
  context_.api().host_free(ring_);
  ring_ = nullptr;
  begin_ = end_ = 0;
}

}  // namespace tenon::runtime::cuda
