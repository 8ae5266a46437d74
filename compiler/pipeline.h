// The pipeline: every step from a graph to scheduled kernels and calls, by name and in order. What makes plans, what reports about
// them and tenon-opt all call it, so that they agree.
//
//   hide-constants     constants whose value is no part of the code become inputs
//   expand-attention ... dce   the graph passes (passes/graph/graph_passes.cpp)
//   show-constants     the constants come back
//   drop-reshapes      an output that is a reshape becomes what it reshapes
//   fuse               the graph falls into kernels
//   begin-at-first     for each kernel: its buffers begin at the first element that it touches
//   expand-half ...    the kernel passes (passes/kernel/kernel_passes.cpp)
//   merge-axes         axes that lie one behind the other everywhere become one
//   schedule           a loop tree
//   memory-plan        the values of all kernels get their places
//
// The last graph and each kernel are verified. With Settings::verify so is each graph that a step changed and each call, and the text
// of all that is made must also parse and print the same.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/memory_plan.h"
#include "passes/fusion/fusion.h"
#include "passes/passes.h"
#include "passes/schedule/schedule.h"

namespace tenon::compiler {

struct StepInfo {
  std::string_view name, summary;
};
std::vector<StepInfo> steps();  // all of them, in order

struct Settings {
  bool simplify = true;  // run the graph passes; else those alone that some graphs need
  passes::FusionOptions fusion;
  bool verify = false;
  passes::PassObserver observer;  // called after each step with the text of what it made
};

struct Program {
  ir::Graph graph;  // after the graph's steps; output k computes output k of what was given
  passes::FusionResult fusion;
};

// The steps down to the kernels. `hidden` are the constants (leaves of the graph) that the passes must not see: one program
// serves all their values. Throws IrError.
Program compile_graph(const std::vector<ir::NodeRef>& outputs, std::span<ir::Node* const> hidden, const Settings& settings);

// The steps of one kernel or call. Throws IrError with its name if no schedule takes it.
passes::Lowered compile(ir::Work work, const ir::Target& target, const Settings& settings);

// The same in two halves, since kernels that differ before the first are often equal after it: rows of one tensor. Gives
// for each buffer the element at which it begins now. On a GPU that stays the first: there vectors must be aligned; so it does of a call.
std::vector<int64_t> begin_work(ir::Work& work, const ir::Target& target, const Settings& settings);
// A tree that is one of `known` is not made again, unless somebody observes it.
passes::Lowered lower(const ir::Work& work, const ir::Target& target, const Settings& settings, passes::KnownLowered known = {});

// All but the schedule: what an interpreter runs.
ir::Kernel basic_kernel(const ir::Kernel& kernel, const Settings& settings, const ir::Target& target = {});

// The last step, over the values that the kernels read and write.
MemoryPlan plan_memory(const std::vector<PlannedValue>& values, const std::vector<InPlace>& in_place, const Settings& settings,
                       bool reuse_outputs = true);

}  // namespace tenon::compiler
