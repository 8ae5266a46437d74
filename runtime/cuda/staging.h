// Copies from pageable memory of the host to a device, by way of a ring of pinned memory. CUDA's documentation allows the driver to
// wait for the stream before it stages such memory itself ("API synchronization behavior"); here the call returns when the source has
// been read, whatever the stream still has to do, as long as the ring has room.
//
//   ring     |  free  | piece: is read by its copy until its event is past | piece | ...  free  |
//            a piece is at most a quarter of the ring; a larger copy is several, so that the host fills one while the device reads others
//   full     the host waits for the oldest piece
//
// The other way round the caller waits for the data anyway, and the driver stages as well as we could.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "runtime/cuda/context.h"
#include "runtime/cuda/events.h"

namespace tenon::runtime::cuda {

class Staging {
 public:
  Staging(Context& context, EventPool& events) : context_(context), events_(events) {}

  // In the order of the stream. The source has been read when it returns. False, and nothing is done, if there is no pinned memory.
  // The context is current.
  bool copy(CUdeviceptr to, const void* from, size_t bytes, CUstream stream);
  void release() noexcept;  // gives the ring back if no copy reads it

 private:
  static constexpr size_t kBytes = size_t{8} << 20, kPiece = kBytes / 4, kAlignment = 256;
  static constexpr size_t kMostPieces = 256;
  struct Piece {
    uint64_t end;  // that of the ring's bytes, counted from the first that was ever used
    CUevent event;
  };

  std::byte* place(size_t bytes);
  void copy_piece(CUdeviceptr to, const std::byte* from, size_t bytes, CUstream stream);
  void forget_past();
  void wait_for_oldest();
  void forget_oldest();

  Context& context_;
  EventPool& events_;
  std::mutex mutex_;
  std::byte* ring_ = nullptr;
  uint64_t begin_ = 0, end_ = 0;  // of what copies still read, in bytes ever used
  std::deque<Piece> pieces_;      // the oldest first
};

}  // namespace tenon::runtime::cuda
