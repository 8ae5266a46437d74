// Copies of constants in the layouts that kernels want them in: a product that reads the same weights each time does not
// pack them again. Such a copy belongs to the buffer it was made from. It goes with the buffer, or as soon as that is
// written, and all of them go when memory is wanted back (empty_memory_cache, an allocation that fails); it counts as
// allocated memory and as a live buffer. Only buffers of the host have copies, for there a launch is over when it returns.
//
// A buffer counts as constant once kernels have packed it often since it was written (Buffer::constant). That is
// part of a graph's key: its plan then has a kernel whose packing is a phase of its own, which a launch leaves out if
// there is a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tenon::runtime {

class Buffer;

class PackedCopies {
 public:
  // What decides where each element of the source lies in the copy: equal layouts of one buffer are equal copies.
  using Layout = std::vector<int64_t>;

  static PackedCopies& global();
  static std::mutex& global_mutex();

  std::shared_ptr<Buffer> find(const Buffer& source, const Layout& layout);  // null if there is none
  // Not if the source has ceased to count as constant. False if there is no room: all copies together would pass kMostBytes.
  bool keep(const Buffer& source, const Layout& layout, const std::shared_ptr<Buffer>& copy);
  bool give_back();  // all of them; false if there were none
  void forget(const Buffer& source);
  size_t bytes();  // of all copies

  static constexpr size_t kMostBytes = size_t{256} << 20;

 private:
  struct Copy {
    Layout layout;
    std::shared_ptr<Buffer> buffer;
  };
  std::mutex mutex_;
  std::unordered_map<const Buffer*, std::vector<Copy>> copies_;
  size_t bytes_ = 0;
};

}  // namespace tenon::runtime
