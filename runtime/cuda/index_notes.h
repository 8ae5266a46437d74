// Where kernels note an index that is out of range, so that the host need not look at indices before (Op::Check). A note is a word of
// pinned memory, which the device writes at the address that the host reads: nothing is copied, and as long as every index is right
// nothing is written. 0 is no note, since it is in range wherever there is an element.
//
//   index_select(x, 0, i)      note "index ... is out of bounds for dimension 0 with size 5" -> address a
//   kernel                     at = tenon_check(i[t], 5, a)         i[t] == 7: *a = 7, and element 0 is read
//   copy_to_host, synchronise  wait, find 7 at a, clear it and throw AsyncFailure
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/device/device.h"

namespace tenon::runtime::cuda {

class IndexNotes {
 public:
  explicit IndexNotes(Context& context) : context_(context) {}

  // Null if there is no memory, or there are too many texts already. The context is current.
  void* find(const Device::IndexError& error);
  // Throws AsyncFailure for one that was noted, and clears all. What a kernel notes later is found later.
  void look();

 private:
  static constexpr size_t kMost = 4096;  // texts: sizes and dims that a program indexes

  Context& context_;
  std::mutex mutex_;
  int64_t* notes_ = nullptr;  // kMost of them, kept for good
  std::vector<Device::IndexError> errors_;
  std::unordered_map<std::string, size_t> numbers_;
  std::atomic<size_t> count_{0};
};

}  // namespace tenon::runtime::cuda
