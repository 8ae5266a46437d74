// The caching allocator of one GPU's memory. A freed block stays here, by size class, until it is wanted again: the driver's
// own calls wait for the device. Blocks are reused in the order of the stream that had them, so no work waits for what
// still runs; a block of one stream never goes to another without the device having been waited for.
//
//   size classes   multiples of 512 bytes up to 4096, then 8 classes to each power of two (at most 1/8 is slack), from
//                  32 MB on multiples of 2 MB
//   homes          what a plan that repeats gives up it asks for again by its address (allocate_at). Such a block is free for
//                  others, but goes to them only if there is no other of its class; then it is no home any more
//   small blocks   of up to 256 KB are cut from pieces of 2 MB, which is what the driver takes for any of them
//   failure        all freed blocks go back to the driver, one more try, then OutOfMemory with PyTorch's text
//   switches       TENON_CUDA_CACHE=0    each block is the driver's own, of exactly its size: bounds are as the program sees them
//                  TENON_CUDA_POISON=1   a new block holds 0xff bytes, which are nan
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/device/device.h"

namespace tenon::runtime::cuda {

class Allocator {
 public:
  Allocator(Context& context, int index, const std::vector<CUstream>& streams);  // which may be made later

  void* allocate(size_t bytes, Stream stream);
  void* allocate_at(void* home, size_t bytes, Stream stream);  // there, if that is free; the block is a home from then on
  void release(void* block, size_t bytes, Stream stream) noexcept;
  MemoryStats stats() const;
  void reset_peak();
  void empty_cache() noexcept;
  void set_limit(int64_t bytes);

 private:
  static constexpr int kStreams = 2;
  struct Block {
    CUdeviceptr address;
    bool cut;  // from a piece: it does not go back to the driver by itself
    bool home = false;
  };
  struct Free {  // of one class
    std::vector<Block> blocks;
    std::unordered_map<CUdeviceptr, Block> homes;
  };
  using FreeLists = std::unordered_map<size_t, Free>;  // by the bytes of a class

  void* allocate(size_t bytes, Stream stream, bool as_home, CUdeviceptr wanted);
  Block take(size_t size, Stream stream, CUdeviceptr wanted);
  Block take_fresh(size_t size);
  Block cut(size_t size);
  CUdeviceptr from_driver(size_t size);
  void free_cached() noexcept;
  [[noreturn]] void fail(size_t bytes);

  Context& context_;
  const int index_;
  const std::vector<CUstream>& streams_;
  const bool caches_, poisons_;
  mutable std::mutex mutex_;
  int64_t limit_ = 0;
  MemoryStats stats_;
  FreeLists free_[kStreams];
  std::unordered_map<CUdeviceptr, Block> live_;
  CUdeviceptr piece_ = 0;  // what is left of the last piece
  size_t piece_left_ = 0;
};

}  // namespace tenon::runtime::cuda
