// What is asked of the compiler for a pending graph, and its answer: which nodes become buffers, which constants and windows
// are arguments of the plan, the graph after its passes and the kernels. A plan is made of it; dump, explain and the drawings
// show it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/pipeline.h"
#include "runtime/base/options.h"
#include "runtime/plan/graph_key.h"

namespace tenon::runtime {

struct Analysis {
  std::vector<ir::NodeRef> outputs;  // the nodes to materialise, as the user made them, each once
  ir::Graph graph;                   // after the passes; graph.outputs[k] computes outputs[k]
  passes::FusionResult fusion;
  // The constants of `graph` whose value is read at each run, by their number in the key. Others are
  // literals.
  std::unordered_map<const ir::Node*, int32_t> constants;
  // Those that stand for where a pad puts its row.
  std::unordered_map<const ir::Node*, GraphKey::Place> places;
  // The inputs of `graph` that stand for windows (see GraphKey), or for an input that begins at an origin.
  struct Window {
    int32_t input;   // number in the key
    int32_t origin;  // its first element
    bool part;       // false: all of the input, though seen from there
  };
  std::unordered_map<const ir::Node*, Window> windows;

  // The shapes of values as the program knows them, where the graph has them in another: in one dim, mostly.
  std::unordered_map<const ir::Node*, ir::Dims> shapes;
  const ir::Dims& shape(const ir::Node* node) const {
    auto it = shapes.find(node);
    return it == shapes.end() ? node->shape() : it->second;
  }

  const Window* window(const ir::Node* node) const {
    auto it = windows.find(node);
    return it == windows.end() ? nullptr : &it->second;
  }
};

// Its elements are some of its operand's: it computes nothing.
bool is_view(const ir::Node& node);

// What to store so that no operation behind a held node runs twice. A view costs nothing: its source is stored instead,
// unless the view is the smaller one; null if the source is a leaf.
ir::Node* stored_for(ir::Node* held);

Analysis analyse(const GraphKey& key, const compiler::Settings& settings);

compiler::Settings compiler_settings(const Options& options);

}  // namespace tenon::runtime
