// Plans that repeat become CUDA graphs by themselves. Between the begin and the end of a plan the device notes its launches, then
// hands them in together:
//
//   the first runs      one after another, as if they had not been noted
//   from the third on   as one CUDA graph, a chain of nodes in the order of the plan. Where a later run has another argument (a
//                       buffer elsewhere, a changed learning rate) that node alone is updated
//   another shape       a run whose launches are of other functions makes the graph anew; a plan that does so each time stays
//                       with plain launches
//
// A kernel is a node of the graph; what is no launch of ours (a product of cuBLAS, a copy) is captured into a child graph,
// and captured again when its arguments change.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/device.h"

namespace tenon::runtime::cuda {

// One piece of work, and what decides whether an earlier one is the same.
struct Work {
  CUfunction function = nullptr;  // a kernel; null: `capture` hands it in
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
  std::vector<uint64_t> words;    // the kernel's parameters, a word each; else all that `capture` depends on
  std::function<void()> capture;  // hands it in to the main stream
  const std::string* name = nullptr;
};

class CudaRecording final : public Recording {
 public:
  CudaRecording(Context& context, CUstream stream) : context_(context), stream_(stream) {}
  ~CudaRecording() override;

  void run(const std::vector<Work>& work);  // hands all of it in. Throws what the driver says; part of it may be handed in then
  bool is_graph() const { return exec_ != nullptr; }

 private:
  static constexpr int kPlainRuns = 2;   // before a graph is worth its making
  static constexpr int kMostShapes = 4;  // other graphs in turn, before the plan stays with plain launches
  static constexpr size_t kFewest = 2;   // pieces of work

  void run_plainly(const std::vector<Work>& work);
  bool has_shape(const std::vector<Work>& work) const;
  void build(const std::vector<Work>& work);
  void update(const std::vector<Work>& work);
  CUgraph captured(const Work& work);
  void destroy() noexcept;

  Context& context_;
  CUstream stream_;
  int runs_ = 0, shapes_ = 0;
  struct Node {
    CUfunction function;
    unsigned blocks, threads, shared_bytes;
    std::vector<uint64_t> words;
    CUgraphNode node;
  };
  std::vector<Node> nodes_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

// A launch as the driver wants it: the address of each parameter.
void launch(Context& context, CUstream stream, const Work& work);

}  // namespace tenon::runtime::cuda
