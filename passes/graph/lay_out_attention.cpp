// The results of attention lie as they are read. Heads stand before the rows in the operation's dims, but what reads its result joins the
// heads of each row. Where all who ask for another order of the dims ask for the rows at one place, they lie there:
//
//   %a = attention %q, %k, %v rows=2 : f32[2,4,9,16]       %a = attention %q, %k, %v rows=0 : f32[9,2,4,16]
//   %p = permute %a [2,0,1,3] : f32[9,2,4,16]        ->    %r = reshape %a [18,64] : f32[18,64]
//   %r = reshape %p [18,64] : f32[18,64]                   return %r
//   return %r
//
// So it is with the gradients of queries, keys and values, which are read as the results of one projection.
#include <algorithm>
#include <optional>

#include "ir/graph/attention.h"
#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

using ir::Node, ir::NodeRef, ir::Op;

// At which dim the rows of an attention's result [N.., L, Ev] stand in a permutation of it, which may have other dims of one element; none
// if the permutation moves others of its dims.
std::optional<int64_t> rows_in(const Node& permutation, const Node& attention) {
  const ir::Dims of_result = long_dims(attention.shape()), of_source = long_dims(permutation.inputs()[0]->shape());
  const int64_t rows = attention.rank() - 2;
  int64_t at = 0, last = -1;
  bool passed = attention.shape()[rows] == 1;
  if (passed) at = rows;
  for (const int64_t dim : permutation.ints()) {
    const auto number = std::ranges::find(of_source, dim) - of_source.begin();
    if (number == std::ssize(of_source)) continue;  // a dim of one element
    const int64_t d = of_result[number];
    if (d == rows) {
      passed = true;
      continue;
    }
    if (d < last || (d > rows && !passed)) return std::nullopt;
    last = d;
    if (!passed) at = d + 1;
  }
  return at;
}

// Whether all readers of `value`, the result of an attention or that with dims of one element more or less, take it as it lies or want
// its rows at one dim, which is `rows` from the first of them on.
bool agree(const Node& value, const Node& attention, const Readers& readers, std::optional<int64_t>& rows) {
  for (const Node* reader : readers.at(&value)) {
    if (!reader) return false;
    if (ir::is_elementwise(reader->op()) || ir::is_attention(reader->op())) continue;
    if (reader->op() == Op::Reshape && same_but_for_ones(reader->shape(), value.shape())) {
      if (!agree(*reader, attention, readers, rows)) return false;
      continue;
    }
    const std::optional<int64_t> here = reader->op() == Op::Permute ? rows_in(*reader, attention) : std::nullopt;
    if (!here || (rows && rows != here)) return false;
    rows = here;
  }
  return true;
}

std::optional<int64_t> wanted_rows(const Node& attention, const Readers& readers) {
  std::optional<int64_t> rows;
  return readers.contains(&attention) && agree(attention, attention, readers, rows) ? rows : std::nullopt;
}

}  // namespace

ir::Graph lay_out_attention(const ir::Graph& graph) {
  if (std::ranges::none_of(graph.nodes, [](const NodeRef& node) { return ir::is_attention(node->op()); })) return graph;
  const Readers readers = readers_of(graph);
  return rebuild(graph, [&](const Node& node, std::span<const NodeRef> operands) {
    if (node.op() == Op::Permute) return ir::permute(operands[0], node.ints());
    if (node.op() == Op::Reshape) return ir::reshape(operands[0], node.shape());
    const std::optional<int64_t> rows = ir::is_attention(node.op()) ? wanted_rows(node, readers) : std::nullopt;
    if (!rows || ir::attention_rows(node.ints()) != node.rank() - 2) return remake_as_is(node, operands);
    return ir::attention_with_rows(node, operands, *rows);
  });
}

}  // namespace tenon::passes
