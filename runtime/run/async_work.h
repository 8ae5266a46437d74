// Work that was submitted to devices and is not known to be done. It may fail when the call that submitted it has long
// returned, so all such work goes through here:
//
//   number   Each run of a plan on a device that works asynchronously has one, and each copy that no graph knows. They grow. A buffer
//            has the number of the work that wrote it (Buffer::written), and a node that got its value from a run keeps what
//            it computes under that number (ir::Node::keep).
//   done     The events behind the work are past and no device has failed: the definitions are dropped.
//   failed   A device throws a AsyncFailure. All work that is not known to be done counts as failed: its nodes are pending
//            again (`recover`), with the definitions that they kept, and their next use computes them. What cannot
//            be computed again is lost, and each read of it gets an error that names the kernel: an input whose memory an
//            output took over, unless the input itself is computed again; memory whose address is known outside; a copy that
//            no graph knows, but for one from the host that a failure which leaves memory whole (a wrong index) does not touch.
//
// Until its reader is done an input keeps its memory, unless it gave it away, or came from the same run as all its readers. A caller
// that finds no memory waits for the devices.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime {

class AsyncWork {
 public:
  static AsyncWork& global();
  static std::mutex& global_mutex();

  // Runs `work`; no other thread submits meanwhile, since calls for one stream come from one thread at a time. If it throws a
  // AsyncFailure, the caller calls `recover` when it holds no lock and computes nothing.
  template <typename F>
  void alone(F&& work) {
    const std::lock_guard lock(mutex_);
    try {
      work();
    } catch (const AsyncFailure& failure) {
      fail(failure);
      throw;
    }
  }

  // Within `alone`.
  uint64_t begin() { return ++last_; }                                // the number of the work that is submitted next
  void end(uint64_t number, Device& device, bool from_host = false);  // all of it that goes to this device is submitted
  // Notes what is done, and returns what was kept for that; it is to die outside. Throws a AsyncFailure if something failed.
  std::vector<ir::Definition> look();

  bool waits();                      // whether something is not known to be done
  void check(const Buffer& buffer);  // throws std::runtime_error if its contents are lost
  void lose(Buffer& buffer, const std::string& why);

  // After a failure, while nothing is computed and nothing walks the graph: the nodes that it hit are pending again. Returns
  // what is to die when no lock is held.
  bool has_failed();
  std::vector<ir::Definition> recover();

 private:
  struct Range {
    uint64_t first, last;
  };
  struct Submitted {
    uint64_t number;
    Device* device;
    Event event;
    bool from_host;  // a copy
  };
  struct Failure {
    Range range;
    std::string why;
  };
  uint64_t done() const { return submitted_.empty() ? last_ : submitted_.front().number - 1; }
  void fail(const AsyncFailure& failure);
  void add_failure(Range range, const std::string& why);

  std::mutex mutex_;
  uint64_t last_ = 0;
  std::deque<Submitted> submitted_;
  std::optional<Range> failed_;  // and not recovered

  std::atomic<uint64_t> last_failed_{0};
  std::mutex failures_mutex_;
  std::vector<Failure> failures_;
};

// Copies that no graph knows, and waiting, for callers that hold no lock and compute nothing. They throw a AsyncFailure after
// everything that it hit is pending again; other errors say that it was the copy.
void copy_to_host(void* to, const Buffer& from, size_t offset, size_t bytes);  // after all work in the main stream
// All bytes of `to`. With an `owner` of the source this may be read later, if it is pinned.
void copy_from_host(Buffer& to, const void* from, const std::shared_ptr<const void>& owner = nullptr);
void copy_all(Buffer& to, const Buffer& from);  // buffers of one size
void synchronise();                             // waits for all work of all devices
void look_at_devices();                         // does not wait: notes what is done, or has failed

}  // namespace tenon::runtime
