// Fusion: a graph becomes kernels. One walk from the outputs to the inputs gives each node the kernel of its
// readers where that is legal, or a kernel of its own; legal means that the schedules take the merged
// kernel: the walk keeps to their conditions (see accepts in schedule.h) and to the limits below, with a
// reason for each refusal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/kernel.h"

namespace tenon::passes {

// Every limit of fusion, in one place.
struct FusionLimits {
  int max_instrs = 160;  // instructions of a kernel before expansion
  int max_cost = 2000;   // add-equivalents an element: caps the size of the generated function
  int max_buffers = 30;  // distinct tensors read or written
  int max_reductions = 6;
  int max_recompute_cost = 4;  // a value broadcast along an outer axis may be recomputed up to this cost
  int max_siblings = 16;       // kernels that a further reader of the same value is tried with
  int max_guarded_parts = 4;   // parts of a Cat that its reader loads where it needs them
  int64_t max_row_bytes = 256 << 10;  // values kept across a reduction, per row (Lanes) or per tile (Columns)
};

struct FusionOptions {
  bool enabled = true;  // off: every non-view node is a kernel of its own
  FusionLimits limits;
};

// One part of a Cat that a routine lays beside the others: the elements that are to move. Neighbouring dims that are
// one run on both sides are one dim; of a constant, a buffer of one element, all steps in `from` are 0.
struct JoinPart {
  struct Dim {
    int64_t extent, from, to;  // steps in elements
  };
  int64_t from = 0, to = 0;  // the first element's place in its buffer and in the result
  SmallVector<Dim, 2> dims;  // outermost first
};

struct FusedKernel {
  ir::Kernel kernel;  // of a routine: its buffers alone
  std::vector<ir::Node*> inputs;   // behind each In buffer, in buffer order
  std::vector<ir::Node*> outputs;  // behind each Out or InOut buffer: what it holds in the end
  std::vector<ir::Node*> bases;    // behind each InOut buffer: what it holds at first
  std::vector<ir::Node*> scalars;  // the Const node behind each kernel scalar
  std::vector<ir::Node*> fused;    // all nodes computed here, operands first
  // Set if a routine of the library computes the one node in `fused`, and no generated code: that node over
  // placeholders, or over views of them. Each operand is an In buffer, the result is the Out buffer. What is behind an
  // In buffer of a Cat may be a Const: then it holds that one element.
  ir::NodeRef routine;
  std::shared_ptr<const std::vector<JoinPart>> parts;  // of a Cat that is a routine: what to copy from each operand
};

// The kernel; or, in its place, the operation that the routine computes.
std::string print(const FusedKernel& fused);

struct Refusal {
  const ir::Node* producer;
  const ir::Node* consumer;
  std::string reason;
};

struct FusionResult {
  std::vector<FusedKernel> kernels;  // in an order that respects their dependences
  std::vector<Refusal> refusals;
};

// `outputs` are stored, each once, whether they are computed, constants or views; every Input reachable is a
// buffer. An output that others read becomes one more output of the kernel that computes it.
FusionResult fuse(const std::vector<ir::NodeRef>& outputs, const FusionOptions& options = {});

}  // namespace tenon::passes
