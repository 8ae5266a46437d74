// One run of a plan on one graph. It takes the graph's nodes under the lock of evaluations, computes without it, and gives
// the nodes their values under it again:
//
//   start    the outputs become inputs without data (ir::Definition), and it is settled which of them take over the
//            memory of an input. From here on other threads may record on the outputs; an evaluation of such a graph waits.
//   compute  code, memory, steps. It touches no node: another run may give a value to one that lies in the middle of this
//            graph, after which nothing but the run's own references keeps what is read alive, and from being taken over.
//   finish   the outputs have their buffers;   or, after an exception, undo: they are pending again. On a device that works
//            later they keep their definitions until the work is done (async_work.h).
//   clear    what only the definitions kept alive dies: the owners of adopted memory are outside code, so no lock is held
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "ir/graph/node.h"
#include "runtime/history/profiler.h"
#include "runtime/memory/buffer.h"
#include "runtime/plan/graph_key.h"
#include "runtime/plan/plan.h"
#include "runtime/run/async_work.h"
#include "runtime/run/recurrence.h"

namespace tenon::runtime {

class Run {
 public:
  GraphKey key;  // read it before start

  // Under the lock; if it throws, nothing has changed. `replaced`: see evaluate_step.
  void start(std::shared_ptr<Plan> plan, std::span<const ir::NodeRef> replaced);
  // Launches nothing unless all memory is there. Throws OutOfMemory, or std::runtime_error from a compiler or a device.
  void compute(const Options& options);
  void finish();  // under the lock
  void undo();    // under the lock
  void clear();   // and is free to be taken

  // Under the lock: whether it computes the node's value just now; or reads it.
  bool computes(const ir::Node* node) const;
  bool reads(const ir::Node* node) const;

  // Runs are used again. Under the lock: false if this one is not cleared yet, else it is taken until it is cleared.
  bool take();
  std::shared_ptr<Plan> take_plan() { return std::move(plan_); }  // the one that it had last; ask a run that is not started

 private:
  ir::Node* node(int32_t number) const { return key.nodes[number]; }
  std::shared_ptr<Buffer> buffer(int32_t number) const { return buffer_of(*node(number)); }
  int64_t origin(int32_t number) const { return key.origins[number]; }
  void read_inputs();
  void submit();
  void keep_definition(size_t output);
  void read_last_work();
  bool wrote(size_t output) const;
  void lose_overwritten(const std::string& why);
  void drop_overwritten_copies();
  std::shared_ptr<Buffer> source(const PlanOutput& output, std::span<const ir::NodeRef> replaced);
  void find_dying(std::span<const ir::NodeRef> replaced);
  void allocate_outputs();
  void allocate_arenas();
  std::shared_ptr<Buffer> at_home(size_t home, size_t bytes, Device& device);
  void bind_places();
  std::byte* begin(const Argument::Begin& begin) const;
  int64_t lay_out(const Step& step);  // the arguments; returns the bytes that it moved
  // Returns when it ended, which is when the next one begins.
  Ticks launch(const Step& step, uint64_t* scalars, Ticks begin);
  void start_step(const Step& step, uint64_t* scalars);
  void allocate_packed();
  void allocate_layers();
  Ticks run_layer(const RecurrentLayerStep& layer, Ticks begin);
  void start_compiled(const Step& step, const CompiledStep& work, std::span<const uint64_t> scalars);

  std::atomic<bool> taken_{false};
  bool computing_ = false;      // from start to finish or undo
  std::shared_ptr<Plan> plan_;  // kept when it is cleared: the next run is likely to have it too
  bool first_ = false;          // it found the plan's code
  uint64_t number_ = 0;         // of its work on devices that work asynchronously; 0: there is none
  size_t launched_ = 0;         // steps so far
  bool dropped_ = false;        // by the device, before any of them ran
  // All vectors keep their memory from one run to the next: a training step takes this path each time round.
  std::vector<ir::NodeRef> nodes_;                // of the outputs
  std::vector<ir::Definition> definitions_;       // parallel to them
  std::vector<std::shared_ptr<Buffer>> sources_;  // parallel to them: what an output is, is a copy of, or takes over
  std::vector<std::shared_ptr<Buffer>> buffers_;  // parallel to them
  std::vector<ir::KeptReferences> last_values_;   // of the plan's last work, which is not known to be done
  std::vector<std::shared_ptr<Buffer>> let_go_;   // the buffers of those that no caller can read
  std::vector<std::shared_ptr<Buffer>> inputs_;   // in the order of the plan's places
  std::vector<std::shared_ptr<Buffer>> arenas_;   // parallel to the plan's; null: it needs none
  std::vector<std::shared_ptr<Buffer>> packed_;   // by step: room for the copy that it makes; null if it makes none
  std::vector<RecurrentMemory> layers_;           // by the plan's recurrent steps
  size_t next_layer_ = 0;
  std::vector<void*> pointers_;                // by place
  std::vector<Buffer*> owners_;                // by place: of inputs
  std::vector<void*> arguments_;               // of the current launch
  std::vector<LaunchRecord> launches_;         // so far
  std::vector<Phase> phases_;                  // of the current launch, where it leaves some out
  std::vector<uint64_t> scalars_;              // of all steps: a constant that another evaluation stores loses its bits
  std::vector<uint32_t> readers_;              // by node number
  std::vector<uint8_t> is_output_, lives_on_;  // likewise
};

}  // namespace tenon::runtime
