// Type and shape inference, op by op: takes operands and attributes, gives the result's type, throws on
// anything malformed. Builders, the parser and the verifier all pass through here.
#include "ir/graph/graph_infer.h"

#include <algorithm>

#include "ir/graph/attention.h"
#include "ir/graph/indexed.h"
#include "ir/graph/recurrence.h"

namespace tenon::ir {

void (*refuse_devices)(DeviceTag, DeviceTag) = nullptr;

namespace {

[[noreturn, gnu::cold]] void refuse_count(Op op, int arity, size_t count) {
  refuse(op, "takes " + (arity < 0 ? "at least 1" : std::to_string(arity)) + " operands, got " + std::to_string(count));
}
[[noreturn, gnu::cold]] void refuse_types(Op op, DType a, DType b) {
  refuse(op, "operands of different types, " + std::string(name(a)) + " and " + std::string(name(b)));
}
[[noreturn, gnu::cold]] void refuse_type(Op op, DType type) { refuse(op, "not defined for " + std::string(name(type))); }

// The number of elements, of a shape that may be one.
int64_t checked_count(Op op, std::span<const int64_t> shape) {
  for (int64_t size : shape) require(size >= 0, op, "a size is negative");
  return element_count(shape);  // throws if there are too many
}

void check_operands(Op op, const OpInfo& row, std::span<const NodeRef> inputs) {
  const bool counted = row.arity < 0 ? !inputs.empty() : inputs.size() == static_cast<size_t>(row.arity);
  if (!counted) refuse_count(op, row.arity, inputs.size());
  for (const NodeRef& input : inputs) {
    require(input.get() != nullptr, op, "an operand is missing");
    if (input->device() == inputs[0]->device()) [[likely]]
      continue;
    if (refuse_devices) refuse_devices(inputs[0]->device(), input->device());
    refuse(op, "operands on different devices");
  }
}

void require_attention(Op op, std::span<const int64_t> ints) {
  require(ints.size() == 4 && (ints[0] == 0 || ints[0] == 1), op, "takes 0 or 1, a scale, the dim of the rows, and which result it is");
  require(ints[3] >= 0 && ints[3] <= (op == Op::AttentionGrad ? 2 : 1), op, "has no such result");
}
bool is_lse(Op op, std::span<const int64_t> ints) { return op == Op::Attention && ints[3] == static_cast<int64_t>(AttentionResult::Lse); }

// q, k, v, g and the result have one dtype, lse that of sums; the mask is bool or like q.
DType attention_dtype(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints) {
  require_attention(op, ints);
  const DType dtype = inputs[0]->dtype(), sums = is_half(dtype) ? DType::F32 : dtype;
  const bool gradient = op == Op::AttentionGrad;
  const size_t operands = gradient ? 6 : 3;
  if (inputs.size() != operands && inputs.size() != operands + 1)
    refuse(op, "takes " + std::to_string(operands) + " operands and perhaps a mask, got " + std::to_string(inputs.size()));
  for (size_t i = 1; i < operands; ++i) {
    const DType wanted = i == 4 ? sums : dtype;
    if (inputs[i]->dtype() != wanted) refuse_types(op, wanted, inputs[i]->dtype());
  }
  const bool masked = inputs.size() > operands;
  if (masked && inputs.back()->dtype() != DType::Bool && inputs.back()->dtype() != dtype) refuse_types(op, dtype, inputs.back()->dtype());
  if (!in_domain(op, dtype)) refuse_type(op, dtype);
  return is_lse(op, ints) ? sums : dtype;
}

DType infer_dtype(Op op, const OpInfo& row, std::span<const NodeRef> inputs, std::span<const int64_t> ints, DType to) {
  if (row.rule == TypeRule::Attention) return attention_dtype(op, inputs, ints);
  const size_t first = row.rule == TypeRule::Select ? 1 : 0;
  const DType dtype = inputs[first]->dtype();
  for (size_t i = first; i < inputs.size(); ++i) {
    if (row.rule == TypeRule::Indexed && i == 1) {
      require(inputs[1]->dtype() == DType::I64, op, "the index is not i64");
    } else if (row.rule == TypeRule::Masked && i == 1) {
      require(inputs[1]->dtype() == DType::Bool, op, "the mask is not bool");
    } else if (inputs[i]->dtype() != dtype) {
      refuse_types(op, dtype, inputs[i]->dtype());
    }
  }
  if (!in_domain(op, dtype)) refuse_type(op, dtype);
  switch (row.rule) {
    case TypeRule::Same:
    case TypeRule::Indexed:
    case TypeRule::Masked: return dtype;
    case TypeRule::Compare: return DType::Bool;
    case TypeRule::Index: return DType::I64;
    case TypeRule::Select: require(inputs[0]->dtype() == DType::Bool, op, "the condition is not bool"); return dtype;
    case TypeRule::Attention:
    case TypeRule::Attr: break;
  }
  if (op == Op::Bitcast) {
    require(item_size(to) == item_size(dtype) && in_domain(op, to), op, "the types differ in size or one is bool");
  }
  return to;
}

Dims elementwise_shape(Op op, std::span<const NodeRef> inputs) {
  const Dims& shape = inputs[0]->shape();
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (!(inputs[i]->shape() == shape)) {
      refuse(op, "operand shapes differ, " + type_text(*inputs[0]) + " and " + type_text(*inputs[i]));
    }
  }
  return shape;
}

// Dims ascending without repetition, each within the rank.
void check_dim_list(Op op, std::span<const int64_t> dims, int rank) {
  for (size_t i = 0; i < dims.size(); ++i) {
    require(dims[i] >= 0 && dims[i] < rank, op, "a dim is out of range");
    require(i == 0 || dims[i - 1] < dims[i], op, "dims are not ascending");
  }
}

Dims reduce_shape(Op op, const Node& x, std::span<const int64_t> dims) {
  check_dim_list(op, dims, x.rank());
  Dims shape = x.shape();
  for (int64_t dim : dims) shape[dim] = 1;
  return shape;
}

Dims permute_shape(const Node& x, std::span<const int64_t> dims) {
  require(dims.size() == x.shape().size(), Op::Permute, "needs one dim for each of the operand's");
  Dims shape, seen(dims.size(), 0);
  for (int64_t dim : dims) {
    require(dim >= 0 && dim < x.rank() && !seen[dim], Op::Permute, "not a permutation");
    seen[dim] = 1;
    shape.push_back(x.shape()[dim]);
  }
  return shape;
}

Dims expand_shape(const Node& x, std::span<const int64_t> shape) {
  require(shape.size() == x.shape().size(), Op::Expand, "the rank changes");
  for (size_t i = 0; i < shape.size(); ++i) {
    require(x.shape()[i] == shape[i] || x.shape()[i] == 1, Op::Expand, "a dim grows whose size is not 1");
  }
  return Dims(shape);
}

Dims slice_shape(const Node& x, std::span<const int64_t> ints) {
  const size_t rank = x.rank();
  require(ints.size() == 3 * rank, Op::Slice, "needs a start, a step and a size for each dim");
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = x.shape()[i], start = ints[i], step = ints[rank + i], size = ints[2 * rank + i];
    require(start >= 0 && start <= extent, Op::Slice, "a start is out of range");
    require(step > 0, Op::Slice, "a step is not positive");
    require(size >= 0 && (size == 0 || (start < extent && size - 1 <= (extent - 1 - start) / step)), Op::Slice,
            "a slice reaches past the end");
  }
  return Dims(ints.subspan(2 * rank));
}

Dims pad_shape(std::span<const NodeRef> inputs, std::span<const int64_t> ints) {
  const Node& x = *inputs[0];
  const size_t rank = x.rank();
  require(inputs[1]->op() == Op::Const, Op::Pad, "the value is not a const");
  require(ints.size() == 2 * rank, Op::Pad, "needs two amounts for each dim");
  Dims shape = x.shape();
  for (size_t i = 0; i < rank; ++i) {
    require(ints[i] >= 0 && ints[rank + i] >= 0, Op::Pad, "an amount is negative");
    const bool too_big =
        __builtin_add_overflow(shape[i], ints[i], &shape[i]) || __builtin_add_overflow(shape[i], ints[rank + i], &shape[i]);
    require(!too_big, Op::Pad, "an amount is too large");
  }
  return shape;
}

Dims cat_shape(std::span<const NodeRef> parts, std::span<const int64_t> ints) {
  require(ints.size() == 1 && ints[0] >= 0 && ints[0] < parts[0]->rank(), Op::Cat, "the dim is out of range");
  const size_t dim = ints[0];
  Dims shape = parts[0]->shape();
  for (const NodeRef& part : parts.subspan(1)) {
    require(part->rank() == parts[0]->rank(), Op::Cat, "parts of different rank");
    for (size_t i = 0; i < shape.size(); ++i) {
      require(i == dim || part->shape()[i] == shape[i], Op::Cat, "parts differ in another dim than that of the cat");
    }
    require(!__builtin_add_overflow(shape[dim], part->shape()[dim], &shape[dim]), Op::Cat, "too many elements");
  }
  return shape;
}

Dims strided_shape(const Node& x, std::span<const int64_t> ints) {
  require(ints.size() % 2 == 1, Op::Strided, "needs a size and a stride for each dim, and an offset");
  const size_t rank = ints.size() / 2;
  checked_count(Op::Strided, ints.first(rank));
  check_places(Op::Strided, ints.first(rank), ints.subspan(rank, rank), ints.back(), x.numel());
  return Dims(ints.first(rank));
}

Dims dot_shape(const Node& a, const Node& b) {
  const size_t rank = a.shape().size();
  require(rank >= 2 && b.shape().size() == rank, Op::Dot, "needs two operands of one rank, at least 2");
  for (size_t i = 0; i + 2 < rank; ++i) require(a.shape()[i] == b.shape()[i], Op::Dot, "batch sizes differ");
  if (a.shape()[rank - 1] != b.shape()[rank - 2]) {
    refuse(Op::Dot, "inner sizes differ, " + type_text(a) + " and " + type_text(b));
  }
  Dims shape = a.shape();
  shape[rank - 1] = b.shape()[rank - 1];
  return shape;
}

// The size that two sizes make together: they are equal, or one is 1.
int64_t together(Op op, int64_t a, int64_t b) {
  require(a == b || a == 1 || b == 1, op, "sizes differ");
  return a == 1 ? b : a;
}

Dims attention_shape(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints) {
  const Dims &q = inputs[0]->shape(), &k = inputs[1]->shape(), &v = inputs[2]->shape();
  const size_t rank = q.size(), length = rank - 2, depth = rank - 1;
  for (const NodeRef& input : inputs) require(rank >= 2 && input->shape().size() == rank, op, "needs operands of one rank, at least 2");
  require(ints[2] >= 0 && ints[2] <= static_cast<int64_t>(length), op, "has no such dim of rows");
  require(q[depth] == k[depth], op, "queries and keys differ in their last dim");
  require(k[length] == v[length], op, "there is not one value for each key");
  Dims rows = q;  // [N.., L, 1]
  rows[depth] = 1;
  const bool gradient = op == Op::AttentionGrad, masked = inputs.size() == (gradient ? 7u : 4u);
  for (size_t d = 0; d < length; ++d) {
    rows[d] = together(op, together(op, q[d], k[d]), v[d]);
    if (masked) rows[d] = together(op, rows[d], inputs.back()->shape()[d]);
  }
  if (masked) {
    const Dims& mask = inputs.back()->shape();
    require(mask[length] == q[length] || mask[length] == 1, op, "the mask has not a row for each query");
    require(mask[depth] == k[length] || mask[depth] == 1, op, "the mask has not a column for each key");
  }
  Dims result = rows;
  result[depth] = v[depth];
  if (gradient) {
    require(inputs[3]->shape() == result && inputs[4]->shape() == rows && inputs[5]->shape() == result, op,
            "the result, its gradient or a sum of the rows is not of their shape");
  }
  if (is_lse(op, ints)) result = rows;
  if (gradient) {
    const auto of = static_cast<AttentionGradient>(ints[3]);
    result[length] = of == AttentionGradient::Query ? q[length] : k[length];
    result[depth] = of == AttentionGradient::Value ? v[depth] : q[depth];
  }
  std::rotate(result.begin() + ints[2], result.end() - 2, result.end() - 1);
  return result;
}

Dims reshape_shape(const Node& x, std::span<const int64_t> shape) {
  require(checked_count(Op::Reshape, shape) == x.numel(), Op::Reshape, "the number of elements changes");
  return Dims(shape);
}

Dims infer_shape(Op op, const OpInfo& row, std::span<const NodeRef> inputs, std::span<const int64_t> ints) {
  const Node& x = *inputs[0];
  if (row.cls == OpClass::Elementwise) {
    require(ints.empty(), op, "takes no attributes");
    return elementwise_shape(op, inputs);
  }
  if (is_reduce(op)) return reduce_shape(op, x, ints);
  if (is_attention(op)) return attention_shape(op, inputs, ints);
  if (is_recurrence(op)) return recurrent_shape(op, inputs, ints);
  if (is_scan(op)) {
    require(ints.size() == 1, op, "takes one dim");
    check_dim(op, ints, x);
    return x.shape();
  }
  switch (op) {
    case Op::Reshape: return reshape_shape(x, ints);
    case Op::Permute: return permute_shape(x, ints);
    case Op::Expand: return expand_shape(x, ints);
    case Op::Slice: return slice_shape(x, ints);
    case Op::Flip: check_dim_list(op, ints, x.rank()); return x.shape();
    case Op::Pad: return pad_shape(inputs, ints);
    case Op::Cat: return cat_shape(inputs, ints);
    case Op::Strided: return strided_shape(x, ints);
    case Op::Dot: require(ints.empty(), op, "takes no attributes"); return dot_shape(x, *inputs[1]);
    default: break;
  }
  const IndexedOp* indexed = indexed_op(op);
  require(indexed != nullptr, op, "not an op on tensors");
  return indexed->shape(op, inputs, ints);
}

}  // namespace

NodeType infer(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints, DType to) {
  const OpInfo& row = info(op);
  const OpClass cls = row.cls;
  require(cls != OpClass::Leaf && cls != OpClass::Memory && cls != OpClass::Lane, op, "not an op on tensors");
  check_operands(op, row, inputs);
  NodeType type{infer_dtype(op, row, inputs, ints, to), infer_shape(op, row, inputs, ints), inputs[0]->numel()};
  const bool same_count = cls == OpClass::Elementwise || op == Op::Reshape || op == Op::Permute;
  if (!same_count) type.numel = checked_count(op, type.shape);
  return type;
}

int64_t check_leaf(Op op, std::span<const int64_t> shape, int64_t iota_dim) {
  const int64_t count = checked_count(op, shape);
  if (op == Op::Iota) require(iota_dim >= 0 && iota_dim < std::ssize(shape), op, "the dim is out of range");
  return count;
}

std::string type_text(DType dtype, std::span<const int64_t> shape, DeviceTag device) {
  std::string text(name(dtype));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  text += ']';
  if (device) text += '@' + std::to_string(device);
  return text;
}

std::string type_text(const Node& node) { return type_text(node.dtype(), node.shape(), node.device()); }

}  // namespace tenon::ir
