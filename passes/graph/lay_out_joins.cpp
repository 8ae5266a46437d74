// What is laid side by side lies as it is read: where the dims of a concatenation are only read in another order and joined, its parts
// are put in that order. A reader then finds rows, and divides no index. So it is with the gradients of queries, keys and values that were
// parts of one projection:
//
//   %c = cat %q, %k dim=0 : f32[2,9,4,16]               %0 = permute %q [1,0,2,3] : f32[9,1,4,16]
//   %p = permute %c [1,0,2,3] : f32[9,2,4,16]     ->    %1 = permute %k [1,0,2,3] : f32[9,1,4,16]
//   %r = reshape %p [9,128] : f32[9,128]                %2 = cat %0, %1 dim=1 : f32[9,2,4,16]
//                                                       %r = reshape %2 [9,128] : f32[9,128]
#include <algorithm>
#include <vector>

#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

using ir::Node, ir::NodeRef, ir::Op;

bool is_view_of_join(const Node& node) { return node.op() == Op::Permute && node.inputs()[0]->op() == Op::Cat; }

// Whether all who read the concatenation want it in the order of this view of it, in which its rows are still rows.
bool is_wanted_order(const Node& view, const Readers& readers) {
  if (!is_view_of_join(view) || view.ints().back() != view.rank() - 1 || !readers.contains(&view)) return false;
  const auto same_order = [&](const Node& reader) { return reader.op() == Op::Permute && std::ranges::equal(reader.ints(), view.ints()); };
  if (!all_readers(readers, view.inputs()[0], same_order)) return false;
  return all_readers(readers, &view, [](const Node& reader) { return reader.op() == Op::Reshape && joins_moved_dims(reader); });
}

NodeRef joined_in_order(const Node& view, const Node& join) {
  std::vector<NodeRef> parts;
  for (Node* part : join.inputs()) parts.push_back(ir::permute(NodeRef(part), view.ints()));
  return ir::cat(parts, std::ranges::find(view.ints(), join.ints()[0]) - view.ints().begin());
}

}  // namespace

ir::Graph lay_out_joins(const ir::Graph& graph) {
  if (std::ranges::none_of(graph.nodes, [](const NodeRef& node) { return is_view_of_join(*node); })) return graph;
  const Readers readers = readers_of(graph);
  return rebuild(graph, [&](const Node& node, std::span<const NodeRef> operands) {
    const bool better = is_wanted_order(node, readers) && operands[0]->op() == Op::Cat;
    return better ? joined_in_order(node, *operands[0]) : remake_as_is(node, operands);
  });
}

}  // namespace tenon::passes
