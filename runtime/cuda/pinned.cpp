// The table of pinned blocks: address -> bytes.
#include "runtime/cuda/pinned.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

namespace tenon::runtime::cuda {
namespace {

struct Pinned {
  std::mutex mutex;
  std::map<const std::byte*, size_t> blocks;
  static Pinned& all() {
    static auto* made = new Pinned;
    return *made;
  }
};

}  // namespace

void note_pinned(const void* block, size_t bytes) {
  Pinned& pinned = Pinned::all();
  const std::lock_guard lock(pinned.mutex);
  pinned.blocks.emplace(static_cast<const std::byte*>(block), std::max<size_t>(bytes, 1));
}

void forget_pinned(const void* block) {
  Pinned& pinned = Pinned::all();
  const std::lock_guard lock(pinned.mutex);
  pinned.blocks.erase(static_cast<const std::byte*>(block));
}

bool is_pinned(const void* address) noexcept {
  Pinned& pinned = Pinned::all();
  const std::lock_guard lock(pinned.mutex);
  const auto* byte = static_cast<const std::byte*>(address);
  const auto after = pinned.blocks.upper_bound(byte);
  if (after == pinned.blocks.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return byte < begin + bytes;
}

}  // namespace tenon::runtime::cuda
