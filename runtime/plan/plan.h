// A plan: everything that has to be done to evaluate any graph with a given key. It refers to nodes by their
// number in the key and keeps none alive, so that it serves the next graph of the same form.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/memory_plan.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan_code.h"
#include "runtime/plan/step.h"

namespace tenon::runtime {

// Finds the work of a recurrent layer's node (run/recurrence.h).
using FindLayerWork = std::function<std::shared_ptr<const RecurrentWork>(const ir::Node&, const Options&)>;

// Several threads may run one plan at the same time: but for the code nothing in it changes once it is built.
struct Plan {
  int number = 0;  // in the order in which plans are built; those of TENON_DUMP's files
  std::vector<uint64_t> key;
  int runs = 0;                         // since it was built; under the lock of evaluations, as the next one
  uint64_t last_work = 0;               // the number of its last run's (async_work.h); 0: none that goes on later
  bool better_often = false;            // other code is worth compiling once it has run often
  bool may_join = false;                // it has launches that may be joined, and are not
  bool has_joined = false;              // it has launches that are joined
  bool is_again = false;                // in place of another one, that has run
  std::shared_ptr<Plan> successor;      // takes its place once it has code; under the lock of evaluations
  std::vector<compiler::Place> places;  // of inputs the index is the node number
  std::vector<Step> steps;
  std::vector<PlanOutput> outputs;
  struct Arena {
    Device* device;
    int64_t bytes;
  };
  std::vector<size_t> packing;     // the steps that keep what they pack, if it is not kept yet
  std::vector<size_t> recurrent;   // the steps that are recurrent layers
  std::vector<Arena> arenas;       // of intermediates: Place::index says which
  bool works_async = false;        // of a device: not all work is done when its calls return
  Device* device = nullptr;        // that all of it runs on, if it is one that works late
  std::vector<StepOrder> order;    // by step, if there is such a device
  std::vector<Device*> libraries;  // devices whose library computes products of it
  // Under the lock of AsyncWork: the device's recording, and where outputs and arenas lay in the last run.
  std::shared_ptr<Recording> recording;
  std::vector<const void*> homes;

  // Finds or compiles the code of the steps, if no run has done so. True if this call did. Of a plan that runs a second time it
  // compiles what ran as bytecode. Throws std::runtime_error, naming
  // the kernel; the next run tries again. Throws JoinRefused if the plan has joined launches.
  bool find_code(const Options& options, const FindLayerWork& find_layer_work);
  bool has_code() const { return found_.load(std::memory_order_acquire); }
  // Why its joined launches have no code; null if nothing is known against them.
  const std::string* join_refusal() const { return join_refused_.load(std::memory_order_acquire) ? &join_refusal_ : nullptr; }

  PlanCode code;  // what is to be found; empty afterwards

 private:
  void leave_first_tier(const Options& options);

  std::mutex finding_;
  std::atomic<bool> in_first_tier_{false};
  std::atomic<bool> found_{false}, join_refused_{false};
  std::string join_refusal_;
};

// The compiler or the driver takes none of a plan's code, which has joined launches. A plan without them serves instead.
struct JoinRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Whether it has products for a library that cannot be used after all: the device's target is another one then, and so is the plan.
bool is_outdated(const Plan& plan);

}  // namespace tenon::runtime
