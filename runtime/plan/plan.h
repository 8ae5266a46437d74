// A plan: everything that has to be done to evaluate any graph with a given key. It refers to nodes by their
// number in the key and keeps none alive, so that it serves the next graph of the same form.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "compiler/memory_plan.h"
#include "ir/call/work.h"
#include "passes/fusion/fusion.h"
#include "runtime/base/history.h"
#include "runtime/base/options.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device.h"
#include "runtime/plan/graph_key.h"
#include "runtime/plan/plan_code.h"

namespace tenon::runtime {

struct ScalarSource {
  int32_t node;   // the constant with this number; or, if it is -1,
  uint64_t bits;  // this literal
  int32_t dim = -1;  // or where the node, a pad, begins along this dim
};

// Where a buffer that a step is given begins: behind the first element of a place.
struct Argument {
  struct Begin {
    int32_t place = -1;   // -1: it has no elements, or is a packed copy
    int32_t origin = -1;  // of the key: so many items behind it
    int32_t item_size = 0;
    int64_t bytes = 0;
  };
  Begin at;
  // If it is updated: what is copied to the place first, unless it lies there already.
  Begin base = {};
  size_t base_bytes = 0;
};

// What a step does: one of these.
struct CompiledStep {
  std::shared_ptr<const CompiledKernel> kernel;  // once the plan's code is found
  std::vector<int64_t> sizes;
  std::vector<Phase> phases;
  size_t local_bytes = 0;  // scratch of each worker
  // What it packs at each launch. A constant is packed in a phase of its own, which a launch with a packed copy leaves out.
  struct Packing {
    int32_t source, copy;  // arguments; the copy is -1 where the source counts as no constant: that is a matter of the kernel
    size_t phase;
    size_t bytes;  // of the copy
    std::vector<int64_t> layout;
  };
  std::optional<Packing> packing;
};
struct UncompiledStep {
  std::shared_ptr<const ir::Work> work;
  bool interpreted;  // else it is a call of the library
};
struct CopyStep {  // of argument 0, on another device, to argument 1
  Device* from;
  size_t bytes;
};

struct RecurrentWork;
struct RecurrentLayerStep {
  ir::NodeRef node;  // over placeholders
  std::shared_ptr<const RecurrentWork> work;  // once the plan's code is found
};

struct InPlaceStep {};  // all parts of a Cat are computed where they belong: nothing is left to do

struct Step {
  Device* device = nullptr;
  std::variant<CompiledStep, UncompiledStep, RecurrentLayerStep, CopyStep, InPlaceStep> work;
  std::vector<Argument> arguments;
  SmallVector<int32_t, 2> writes;  // places that it writes
  std::vector<ScalarSource> scalars;
  KernelFacts facts;
  CacheState cache = CacheState::Memory;  // of the first run; later ones find it in memory
  double compile_ms = 0;
};

struct PlanOutput {
  int32_t node;    // number in the key
  Device* device;  // where it lies
  size_t bytes;
  int32_t same_as = -1;  // shares the buffer of this earlier output
  int32_t alias = -1;    // is this input node after all (everything around it cancelled out)
  int32_t origin = -1;   // then: is a copy of its elements from this origin of the key on
  int32_t item_size = 0;  // of those
  int32_t donor = -1;    // the input node whose buffer it takes over, if nobody else wants that
};

// Several threads may run one plan at the same time: but for the code nothing in it changes once it is built.
struct Plan {
  int number = 0;  // in the order in which plans are built; those of TENON_DUMP's files
  std::vector<uint64_t> key;
  int runs = 0;  // since it was built; under the lock of evaluations, as the next one
  uint64_t last_work = 0;  // the number of its last run's (late_work.h); 0: none that goes on later
  bool better_often = false;  // other code is worth compiling once it has run often
  bool may_join = false;      // it has launches that may be joined, and are not
  bool has_joined = false;    // it has launches that are joined
  bool is_again = false;      // in place of another one, that has run
  std::shared_ptr<Plan> successor;  // takes its place once it has code; under the lock of evaluations
  std::vector<compiler::Place> places;  // of inputs the index is the node number
  std::vector<Step> steps;
  std::vector<PlanOutput> outputs;
  struct Arena {
    Device* device;
    int64_t bytes;
  };
  std::vector<size_t> packing;  // the steps that keep what they pack, if it is not kept yet
  std::vector<size_t> recurrent;  // the steps that are recurrent layers
  std::vector<Arena> arenas;  // of intermediates: Place::index says which
  bool on_host = true;  // all of it: its work is done when its calls return
  Device* device = nullptr;  // that all of it runs on, if it is one, and not the host
  std::vector<StepOrder> order;  // by step, if there is such a device
  std::vector<Device*> libraries;  // devices whose library computes products of it
  // Under the lock of LateWork: the device's recording, and where outputs and arenas lay in the last run.
  std::shared_ptr<Recording> recording;
  std::vector<const void*> homes;

  // Finds or compiles the code of the steps, if no run has done so. True if this call did. Of a plan that runs a second time it
  // compiles what ran as bytecode. Throws std::runtime_error, naming
  // the kernel; the next run tries again. Throws JoinRefused if the plan has joined launches.
  bool find_code(const Options& options);
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

// What a step does that is no compiled code, on its arguments.
void start_uncompiled(const Step& step, std::span<void* const> arguments, std::span<const uint64_t> scalars);

// Runs the passes and schedules the kernels. Throws std::runtime_error, naming the kernel where there is one.
std::shared_ptr<Plan> build_plan(int number, const GraphKey& key, const Options& options);

}  // namespace tenon::runtime
