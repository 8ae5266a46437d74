// Index maps through views, along reduced dims, at the places of updates and gathers; see views.h.
#include "passes/fusion/views.h"

#include <algorithm>
#include <optional>

#include "ir/call/call.h"
#include "ir/graph/graph_evaluate.h"

namespace tenon::passes::fusion {

ReduceShape reduce_shape(const Node& reduce) {
  const ir::Dims& shape = reduce.inputs()[0]->shape();
  ReduceShape result;
  result.tree = ir::reduce_tree(shape, reduce.ints());
  result.extents = ir::reduce_extents(shape, reduce.ints()).vec();
  if (result.extents.empty()) result.extents = {1};
  size_t next = 0;
  int64_t product = 1;
  for (int64_t d : reduce.ints()) {
    if (shape[d] == 1) continue;
    if (product == 1) result.runs.emplace_back();
    result.runs.back().push_back(static_cast<int>(d));
    product *= shape[d];
    if (product == result.extents[next]) {
      product = 1;
      ++next;
    }
  }
  return result;
}

Map through_view(const Node& view, const Map& map) {
  const Node& x = *view.inputs()[0];
  const ir::Dims& ints = view.ints();
  size_t rank = map.size();
  switch (view.op()) {
    case Op::Reshape: return ir::reshape(map, view.shape(), x.shape());
    case Op::Permute: {
      Map result(rank, Index());
      for (size_t d = 0; d < rank; ++d) result[ints[d]] = map[d];
      return result;
    }
    case Op::Expand: {
      Map result = map;
      for (size_t d = 0; d < rank; ++d) {
        if (x.shape()[d] == 1) result[d] = Index();
      }
      return result;
    }
    case Op::Slice: {
      Map result = map;
      for (size_t d = 0; d < rank; ++d) result[d] = map[d] * ints[rank + d] + ints[d];
      return result;
    }
    case Op::Strided: {
      Index at = ints[2 * rank];
      for (size_t d = 0; d < rank; ++d) at = at + map[d] * ints[rank + d];
      return ir::unflatten(at, x.shape());
    }
    default: {  // Flip
      Map result = map;
      for (int64_t d : ints) result[d] = Index(x.shape()[d] - 1) - map[d];
      return result;
    }
  }
}

Node* behind_views(Node* node) {
  while (is_view(node->op())) node = node->inputs()[0];
  return node;
}

Node* behind_views(Node* node, Map& map) {
  for (; is_view(node->op()); node = node->inputs()[0]) map = through_view(*node, map);
  return node;
}

Index update_place(const Node& update, const Map& map) {
  Index place = update.ints().back();
  for (size_t d = 0; d < map.size(); ++d) place = place + map[d] * update.ints()[d];
  return place;
}

GatherSource gather_source(const Node& gather) {
  Node* x = gather.inputs()[0];
  const auto dim = static_cast<int>(gather.ints()[0]);
  Map map;
  for (size_t d = 0; d < x->shape().size(); ++d) map.push_back(Index::axis(static_cast<int>(d), x->shape()[d]));
  const Index whole = ir::flatten(map, x->shape());
  Node* node = behind_views(x, map);
  const Index flat = ir::flatten(map, node->shape());
  const bool made = node->op() == Op::Const || node->op() == Op::Iota;  // has no buffer unless asked for one
  if (!made && flat.stride(dim).ok) return {node, flat, true};
  return {buffer_behind(x), whole, false};
}

namespace {

// Steps from neighbour to neighbour up to which a copy runs at the speed of memory, or nearly.
constexpr int64_t kNearStep = 16;

// The operand as a view of the buffer behind it, if its neighbours are near each other there.
std::optional<OperandSource> seen_through(Node* part) {
  Map map;
  for (size_t d = 0; d < part->shape().size(); ++d) {
    const int64_t extent = part->shape()[d];
    map.push_back(extent == 1 ? Index() : Index::axis(static_cast<int>(d), extent));
  }
  Node* node = behind_views(part, map);
  OperandSource source{node, 0, ir::Dims(part->shape().size(), 0)};
  if (node->op() == Op::Const) return source;
  if (node->op() == Op::Iota) return std::nullopt;
  const Index flat = ir::flatten(map, node->shape());
  source.offset = flat.constant_part();
  int64_t inner = 1;
  for (size_t d = 0; d < part->shape().size(); ++d) {
    const Index::Stride stride = flat.stride(static_cast<int>(d));
    if (!stride.ok) return std::nullopt;
    source.strides[d] = stride.value;
    if (part->shape()[d] > 1) inner = stride.value;
  }
  if (inner < 0 || inner > kNearStep) return std::nullopt;
  return source;
}

bool suits_attention(const OperandSource& source, const Node& operand) {
  const bool side_by_side = source.strides.back() == 1 || operand.shape().back() == 1;
  return side_by_side && source.buffer->op() != Op::Const &&
         std::ranges::all_of(source.strides, [](int64_t stride) { return stride >= 0; });
}

// Whether a permutation only turns the matrices that its last two dims are.
bool is_transpose(const Node& node) {
  if (node.op() != Op::Permute) return false;
  const size_t rank = node.shape().size();
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (node.ints()[d] != static_cast<int64_t>(d)) return false;
  }
  return rank >= 2 && node.ints()[rank - 1] == static_cast<int64_t>(rank) - 2;
}

bool is_shared_index(const Node& call, const Node* operand) {
  const auto& inputs = call.inputs();
  return ir::is_scatter(call.op()) && operand == inputs[1] && operand->op() == Op::Expand && inputs[0] != operand && inputs[2] != operand;
}

}  // namespace

OperandSource operand_source(const Node& call, Node* operand) {
  Node* buffer = buffer_behind(operand);
  const bool is_cat = call.op() == Op::Cat;
  if (is_view(buffer->op()) && (is_cat || ir::is_attention(call.op()))) {
    std::optional<OperandSource> source = seen_through(operand);
    if (source && (is_cat || suits_attention(*source, *operand))) return *std::move(source);
  }
  if (is_cat && buffer->op() == Op::Const) return {buffer, 0, ir::Dims(operand->shape().size(), 0)};
  const bool is_transposed = call.op() == Op::Dot && is_transpose(*operand);
  if (!is_transposed && !is_shared_index(call, operand)) return {buffer, 0, ir::row_major_strides(operand->shape())};
  Node* x = operand->inputs()[0];
  OperandSource source{buffer_behind(x), 0, ir::row_major_strides(x->shape())};
  if (is_transposed) std::swap(source.strides.end()[-1], source.strides.end()[-2]);
  return source;
}

// Parts that are yet to be computed may be written where they belong if each is one block of the result.
bool copies_parts(const Node& cat, const FusionLimits& limits) {
  if (cat.inputs().size() > static_cast<size_t>(limits.max_guarded_parts)) return true;
  for (int64_t d = 0; d < cat.ints()[0]; ++d) {
    if (cat.shape()[d] != 1) return false;
  }
  return std::ranges::none_of(cat.inputs(), [](Node* part) { return behind_views(part)->is_leaf(); });
}

bool overlaps(const Node& strided) {
  const size_t rank = strided.shape().size();
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < rank; ++d) {
    if (strided.shape()[d] > 1) dims.emplace_back(strided.ints()[rank + d], strided.shape()[d]);
  }
  std::ranges::sort(dims);
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

}  // namespace tenon::passes::fusion
