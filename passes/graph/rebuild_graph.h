// What the graph passes share: one walk that makes each node anew on the new versions of its operands, and who reads a node.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/graph_map.h"

namespace tenon::passes {

// Gives the new version of a node, which is not a leaf, from those of its operands.
using Remake = std::function<ir::NodeRef(const ir::Node& node, std::span<const ir::NodeRef> operands)>;

// The node again, on other operands.
ir::NodeRef remake_as_is(const ir::Node& node, std::span<const ir::NodeRef> operands);

// Walks graph.nodes in order; keeps inputs, outputs, names and dead nodes. Nodes that `remake` made on the
// way to a result stand before it.
ir::Graph rebuild(const ir::Graph& graph, const Remake& remake);
// The same where `remake` is for some nodes alone; a graph without such is given back.
ir::Graph rebuild_some(const ir::Graph& graph, const std::function<bool(const ir::Node&)>& is_wanted, const Remake& remake);

// Who reads a node that an output needs. Null: the program.
using Readers = ir::NodeMap<std::vector<const ir::Node*>>;
Readers readers_of(const ir::Graph& graph);
template <typename Test>
bool all_readers(const Readers& readers, const ir::Node* node, const Test& test) {
  const auto& of_node = readers.at(node);
  return std::ranges::all_of(of_node, [&](const ir::Node* reader) { return reader && test(*reader); });
}

// A copy, which lies as its dims stand. No kernel computes it on the way: its readers read memory.
ir::NodeRef copied(const ir::NodeRef& value);

// Whether the rows of a matrix lie along memory, as far as its views say.
bool lies_along_rows(const ir::Node* x);

// Whether a reshape of a permuted value joins dims that do not lie one behind the other.
bool joins_moved_dims(const ir::Node& reshape);

ir::Dims long_dims(const ir::Dims& shape);  // those of more than one element
bool same_but_for_ones(const ir::Dims& a, const ir::Dims& b);

}  // namespace tenon::passes
