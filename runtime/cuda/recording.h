// Plans that repeat become CUDA graphs by themselves. Between the begin and the end of a plan the device notes its launches, then
// submits them together:
//
//   the first runs      one after another. What writes over memory that the plan was given comes last and, if it is several launches,
//                       as one CUDA graph: so a refused launch overwrites nothing
//   from the third on   as one CUDA graph, whose nodes come behind those of the steps that theirs comes behind (StepOrder): independent
//                       branches of the plan are branches of the graph. Products of the library have one workspace, so they are a chain.
//                       Where a later run has another argument (a buffer elsewhere), that node alone is updated
//   numbers             that change from run to run (a learning rate) lie in one block on the device: a kernel whose scalars are others
//                       for the first time reads them there from then on, and one copy before the graph writes them all
//   another shape       a run whose launches are of other functions makes the graph anew; a plan that does so each time stays
//                       with plain launches
//   a refused call      Of capturing, building, updating or launching the graph. Then nothing of the run is submitted yet: it has plain
//                       launches, and the graph is made anew, in this run if it was an update, else in the next one. A plan whose graph
//                       is refused each time stays with plain launches.
//
// A kernel is a node of the graph; what is no launch of ours (a product of cuBLAS, a copy) is captured into a child graph,
// and captured again when its arguments change. It is captured on a stream of its own, so that the main stream takes plain work
// whatever becomes of that. A product has run plainly before it is captured, with operands that are aligned alike: what a library
// loads at the first use of a kernel it may not load while it is captured.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/device/device.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime::cuda {

// One piece of work, and what decides whether an earlier one is the same.
struct Work {
  CUfunction function = nullptr;  // a kernel; null: `call` submits it
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
  std::vector<uint64_t> words;         // the kernel's buffers and sizes, a word each; else all that `call` depends on
  std::vector<uint64_t> numbers = {};  // the kernel's scalars
  std::function<void(CUstream)> call;  // submits it to a stream
  bool is_of_library = false;
  int32_t step = -1;  // of the plan; -1: before all steps
  const std::string* name = nullptr;
};

class CudaRecording final : public Recording {
 public:
  // `repeats`: it is known to.
  CudaRecording(Context& context, Device& device, CUstream stream, CUstream capturing, bool repeats)
      : context_(context), device_(device), stream_(stream), capturing_(capturing), runs_(repeats ? kPlainRuns : 0) {}
  ~CudaRecording() override;

  // A run: its work is noted, step by step, then submitted. Throws what the driver says of a plain launch; some pieces may be submitted
  // then.
  void begin() { has_overwritten_ = false; }
  void run(std::span<const Work> work, std::span<const StepOrder> order);
  bool has_overwritten() const { return has_overwritten_; }  // a piece that writes over what the plan was given is submitted

 private:
  static constexpr int kPlainRuns = 2;   // before a graph is worth its making
  static constexpr int kMostGraphs = 5;  // one after another, before the plan stays with plain launches
  static constexpr size_t kFewest = 2;   // pieces of work

  void run_plainly(std::span<const Work> work, std::span<const StepOrder> order);
  void run_last(std::span<const Work> work, std::span<const size_t> last);
  bool launch_together(std::span<const Work> work, std::span<const size_t> pieces);
  bool have_run(std::span<const Work> work) const;
  bool have_run(std::span<const Work> work, size_t piece) const;
  bool launch_graph(std::span<const Work> work, std::span<const StepOrder> order);
  bool has_shape(std::span<const Work> work) const;
  void build(std::span<const Work> work, std::span<const StepOrder> order);
  CUgraphNode add_node(CUgraph graph, const Work& work, std::span<const CUgraphNode> before);
  void update(std::span<const Work> work);
  CUdeviceptr place_for(const std::vector<uint64_t>& numbers);
  void write_numbers();
  CUgraph captured(const Work& work);
  void destroy() noexcept;

  Context& context_;
  Device& device_;
  CUstream stream_, capturing_;
  int runs_, graphs_made_ = 0;
  bool has_overwritten_ = false;
  struct Node {
    CUfunction function;
    unsigned blocks, threads, shared_bytes;
    std::vector<uint64_t> words, numbers;
    CUgraphNode node;
    CUdeviceptr place = 0;  // of its numbers on the device; 0: they are its parameters
  };
  std::vector<Node> nodes_;
  std::vector<uint64_t> numbers_;        // of all nodes that have a place
  std::shared_ptr<Buffer> placed_;       // what they lie in on the device
  std::set<std::vector<uint64_t>> run_;  // which calls of a library have run plainly: the place in the plan, the alignments
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

// Submits a piece to a stream.
void submit(Context& context, CUstream stream, const Work& work);

}  // namespace tenon::runtime::cuda
