// Arenas that plans keep between their runs: such a plan finds its intermediates at the same addresses each time, so that
// launches which were recorded with them stay valid. Kept memory counts as allocated, since nobody else can have it, and as
// a live buffer. It is idle between runs, so it goes whenever somebody wants memory back: empty_memory_cache, an
// allocation that fails, the end of the plan. A plan asks for it (Plan::keep_arenas): blocks for each of thousands of
// cached plans would cost more than the addresses are worth. No plan of the CPU asks. A device that records launches and
// replays them (a CUDA graph) asks for the plan that it records.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/buffer.h"

namespace tenon::runtime {

struct Plan;
using Arenas = std::vector<std::shared_ptr<Buffer>>;  // one for each device of the plan; null if it needs none there

class KeptArenas {
 public:
  static KeptArenas& global();
  static std::mutex& global_mutex();

  // What the plan keeps, empty if that is nothing yet. False if another run has it: then this one takes memory of its own.
  bool take(const Plan& plan, Arenas& arenas);
  void give_back(const Plan& plan, Arenas arenas);
  void drop(const Plan& plan);  // of a plan that is not running
  bool drop_all();              // that are not in use; false if there were none

 private:
  struct Kept {
    Arenas arenas;
    bool in_use = false;
  };
  std::mutex mutex_;
  std::unordered_map<const Plan*, Kept> kept_;
};

}  // namespace tenon::runtime
