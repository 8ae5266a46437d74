// What fusion is told, and what it gives: limits and options, kernels and calls with the nodes behind them, refusals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/call/work.h"
#include "ir/graph/graph.h"
#include "ir/op/target.h"

namespace tenon::passes {

// The limits of fusion itself; a device's are in its ir::Target.
struct FusionLimits {
  int max_instrs = 160;  // instructions of a kernel before expansion
  int max_cost = 2000;   // add-equivalents an element: caps the size of the generated function
  int max_buffers = 30;  // distinct tensors read or written
  int max_reductions = 6;
  int max_recompute_cost = 4;  // a value broadcast along an outer axis may be recomputed up to this cost
  int max_siblings = 16;       // kernels that a further reader of the same value is tried with
  int max_guarded_parts = 4;   // parts of a Cat that its reader loads where it needs them
};

struct FusionOptions {
  bool enabled = true;  // off: every non-view node is a kernel of its own
  FusionLimits limits;
  ir::Targets targets;
  const ir::Target& target_of(ir::DeviceTag device) const { return ir::target_of(targets, device); }
};

struct FusedKernel {
  ir::Work work;                   // a kernel, or a call
  std::vector<ir::Node*> inputs;   // behind each In buffer, in buffer order
  std::vector<ir::Node*> outputs;  // behind each Out or InOut buffer: what it holds in the end
  std::vector<ir::Node*> bases;    // behind each InOut buffer: what it holds at first
  std::vector<ir::Node*> scalars;  // the Const node behind each scalar
  std::vector<ir::Node*> fused;    // all nodes computed here, operands first

  const std::string& name() const { return signature().name; }
  const ir::Signature& signature() const { return ir::signature(work); }
  const ir::Kernel& kernel() const { return std::get<ir::Kernel>(work); }
  const ir::Call* call() const { return std::get_if<ir::Call>(&work); }  // null: it is a kernel
};

// Why a value is stored rather than computed where it is read; or why two readers of it are not one kernel.
struct Refusal {
  const ir::Node* producer;
  std::vector<const ir::Node*> readers;  // that it is about
  std::string_view reason;
  std::string where;  // "dim 1" of the producer, "axis of 64": what it is about, if it is about one
};

struct FusionResult {
  std::vector<FusedKernel> kernels;  // in an order that respects their dependences
  std::vector<Refusal> refusals;
};

}  // namespace tenon::passes
