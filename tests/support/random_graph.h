// Random valid graphs and inputs for differential tests, and the reducer that makes a failing graph small.
// Everything follows from the seed alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/interpreter/interpreter.h"
#include "ir/graph/graph.h"

namespace tenon::test {

struct RandomGraphOptions {
  int operations = 20;          // roughly
  int64_t max_numel = 5000;     // of any node
  bool transcendental = false;  // ops whose generated code may differ from libm in the last bits
  bool halves = true;           // f16 and bf16
  bool contractions = true;
  ir::Folding folding = ir::Folding::On;
};

ir::Graph random_graph(uint64_t seed, const RandomGraphOptions& options = {});

// Tensors for graph.inputs: mostly small numbers; in some of them also zeros of both signs, infinities, nan,
// subnormals, and the extremes of the type.
std::vector<codegen::HostTensor> random_inputs(const ir::Graph& graph, uint64_t seed);

// The smallest graph found for which `fails` still holds: outputs dropped, nodes replaced by operands or by
// inputs. Inputs are renumbered on the way, so `fails` should draw its own from the graph it is given.
ir::Graph reduce_failing(const ir::Graph& graph, const std::function<bool(const ir::Graph&)>& fails);

// Equal to the bit, all nans being one.
bool same_elements(const codegen::HostTensor& a, const codegen::HostTensor& b);

// The first element that same_elements() finds different, "[5]: 0x80000000 and not 0x00000000 (-0.0, 0.0)"; of other sizes or types:
// says so.
std::string first_difference(const codegen::HostTensor& got, const codegen::HostTensor& want);

}  // namespace tenon::test
