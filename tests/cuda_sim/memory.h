// The memory of all simulated devices, in one reserved range of addresses that the host cannot touch. Device work opens a
// block at its first access and closes all it opened at its end.
//
//   | slack 0xff | the block's bytes | slack 0xff | guard page |      whole pages; a block begins at its page's begin,
//                                                                    or, strict, ends as near the guard page as 16 allows
//
// New memory is 0xff (nan in every float type); slack that has changed is a write out of bounds; addresses come again only
// when the range has been used up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cuda_sim/races.h"

namespace tenon::cuda_sim {

using DevicePointer = unsigned long long;

class DeviceMemory {
 public:
  struct Block {
    uintptr_t address;
    size_t bytes, mapped;  // mapped: whole pages, without the guard
    int device;
    enum Access { Closed, Readable, Writable } access = Closed;
    History history = {};  // where accesses are watched
  };

  explicit DeviceMemory(bool strict, bool idle = false);  // idle: nothing computes, so new memory need not be nan
  void set_strict(bool strict) { strict_ = strict; }
  void watch(bool watched) { watched_ = watched; }  // tells reads from writes: a block opens for reading first

  DevicePointer allocate(int device, size_t bytes);  // 0 if the host has no more
  bool free(DevicePointer address);                  // false if it is no block's
  const Block* find(DevicePointer address) const;    // whose bytes it is one of, or null
  bool contains(DevicePointer address, size_t bytes) const;

  // For device work: opens the block around an address. False if there is none, or `may` refuses its device.
  template <typename May>
  bool open(uintptr_t address, const May& may) {
    Block* const block = around(address);
    return block && block->access != Block::Writable && may(block->device) && open_block(*block);
  }
  // Closes what was opened, and shows it to `visit`. A message if the slack of a block has changed, else nothing.
  std::string close(const std::function<void(Block&)>& visit = {});

  size_t used(int device) const;
  size_t count() const { return blocks_.size(); }

 private:
  Block* around(uintptr_t address);  // the block whose pages hold it
  uintptr_t place(size_t bytes);
  bool open_block(Block& block);
  static std::string check_slack(const Block& block, uintptr_t begin);

  bool strict_, idle_, watched_ = false;
  uintptr_t begin_, end_, next_;
  std::map<uintptr_t, Block> blocks_;  // by their first page
  std::vector<uintptr_t> opened_;
};

// Host memory that copies may read and write late: page-locked by the driver or registered with it.
class PinnedMemory {
 public:
  void* allocate(size_t bytes);
  bool free(void* begin);
  bool add(void* begin, size_t bytes);  // false if it overlaps what is there
  bool remove(void* begin);
  bool contains(const void* begin, size_t bytes) const;
  size_t count() const { return ranges_.size(); }

 private:
  struct Range {
    size_t bytes;
    bool owned;
  };
  std::map<uintptr_t, Range> ranges_;
};

}  // namespace tenon::cuda_sim
