// Pages of device memory: mapped, closed to the host, opened for device work.
#include "cuda_sim/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace tenon::cuda_sim {

namespace {

constexpr size_t kPage = 4096, kRange = size_t{1} << 38, kAlignment = 16;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

void* pages(uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

DeviceMemory::DeviceMemory(bool strict, bool idle) : strict_(strict), idle_(idle) {
  void* const range = mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  begin_ = next_ = reinterpret_cast<uintptr_t>(range);
  end_ = begin_ + kRange;
}

// The next free pages behind the last ones given, from the begin again at the end.
uintptr_t DeviceMemory::place(size_t bytes) {
  for (int round = 0; round < 2; ++round, next_ = begin_) {
    while (next_ + bytes <= end_) {
      const auto after = blocks_.lower_bound(next_ + bytes);
      if (after == blocks_.begin()) return std::exchange(next_, next_ + bytes);
      const auto& [begin, block] = *std::prev(after);
      if (begin + block.mapped + kPage <= next_) return std::exchange(next_, next_ + bytes);
      next_ = begin + block.mapped + kPage;
    }
  }
  return 0;
}

DevicePointer DeviceMemory::allocate(int device, size_t bytes) {
  const size_t mapped = round_up(bytes, kPage);
  const uintptr_t begin = place(mapped + kPage);
  if (begin == 0 || mprotect(pages(begin), mapped, PROT_READ | PROT_WRITE) != 0) return 0;
  const uintptr_t address = strict_ ? begin + mapped - round_up(bytes, kAlignment) : begin;
  std::memset(pages(begin), 0xff, address - begin);
  std::memset(pages(address + bytes), 0xff, begin + mapped - address - bytes);
  if (!idle_) std::memset(pages(address), 0xff, bytes);
  mprotect(pages(begin), mapped, PROT_NONE);
  blocks_[begin] = {address, bytes, mapped, device};
  opened_.reserve(blocks_.size());  // blocks open in a handler of signals, where nothing may be allocated
  return address;
}

bool DeviceMemory::free(DevicePointer address) {
  Block* const block = around(address);
  if (!block || block->address != address) return false;
  const uintptr_t begin = address / kPage * kPage;
  const auto found = blocks_.find(begin);
  // Mapped anew: the pages go back to the system, the addresses stay reserved.
  mmap(pages(begin), found->second.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  blocks_.erase(found);
  return true;
}

DeviceMemory::Block* DeviceMemory::around(uintptr_t address) {
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  auto& [begin, block] = *std::prev(after);
  return address < begin + block.mapped ? &block : nullptr;
}

const DeviceMemory::Block* DeviceMemory::find(DevicePointer address) const {
  const Block* const block = const_cast<DeviceMemory*>(this)->around(address);
  return block && address >= block->address && address < block->address + block->bytes ? block : nullptr;
}

bool DeviceMemory::contains(DevicePointer address, size_t bytes) const {
  const Block* const block = find(address);
  return block && bytes <= block->address + block->bytes - address;
}

bool DeviceMemory::open_block(Block& block) {
  const uintptr_t begin = block.address / kPage * kPage;
  const bool fresh = block.access == Block::Closed, reads_only = watched_ && fresh;
  if (mprotect(pages(begin), block.mapped, reads_only ? PROT_READ : PROT_READ | PROT_WRITE) != 0) return false;
  block.access = reads_only ? Block::Readable : Block::Writable;
  if (fresh) opened_.push_back(begin);
  return true;
}

std::string DeviceMemory::close(const std::function<void(Block&)>& visit) {
  std::string message;
  for (const uintptr_t begin : opened_) {
    Block& block = blocks_.at(begin);
    if (message.empty()) message = check_slack(block, begin);
    if (visit) visit(block);
    mprotect(pages(begin), block.mapped, PROT_NONE);
    block.access = Block::Closed;
  }
  opened_.clear();
  return message;
}

std::string DeviceMemory::check_slack(const Block& block, uintptr_t begin) {
  const auto changed = [](uintptr_t from, uintptr_t to) {
    const auto* const first = reinterpret_cast<const unsigned char*>(from);
    const auto* const last = reinterpret_cast<const unsigned char*>(to);
    return std::any_of(first, last, [](unsigned char byte) { return byte != 0xff; });
  };
  const uintptr_t end = block.address + block.bytes;
  if (!changed(begin, block.address) && !changed(end, begin + block.mapped)) return {};
  // Put right again, so that the next work is not blamed.
  std::memset(pages(begin), 0xff, block.address - begin);
  std::memset(pages(end), 0xff, begin + block.mapped - end);
  return "a write beside a block of " + std::to_string(block.bytes) + " bytes";
}

size_t DeviceMemory::used(int device) const {
  size_t bytes = 0;
  for (const auto& [begin, block] : blocks_) bytes += block.device == device ? block.bytes : 0;
  return bytes;
}

void* PinnedMemory::allocate(size_t bytes) {
  void* const memory = mmap(nullptr, round_up(bytes, kPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::memset(memory, 0xff, bytes);
  ranges_[reinterpret_cast<uintptr_t>(memory)] = {bytes, true};
  return memory;
}

bool PinnedMemory::free(void* begin) {
  const auto found = ranges_.find(reinterpret_cast<uintptr_t>(begin));
  if (found == ranges_.end() || !found->second.owned) return false;
  munmap(begin, round_up(found->second.bytes, kPage));
  ranges_.erase(found);
  return true;
}

bool PinnedMemory::add(void* begin, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const auto after = ranges_.lower_bound(address + bytes);
  if (after != ranges_.begin() && std::prev(after)->first + std::prev(after)->second.bytes > address) return false;
  ranges_[address] = {bytes, false};
  return true;
}

bool PinnedMemory::remove(void* begin) {
  const auto found = ranges_.find(reinterpret_cast<uintptr_t>(begin));
  if (found == ranges_.end() || found->second.owned) return false;
  ranges_.erase(found);
  return true;
}

bool PinnedMemory::contains(const void* begin, size_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return false;
  const auto& [first, range] = *std::prev(after);
  return address + bytes <= first + range.bytes;
}

}  // namespace tenon::cuda_sim
