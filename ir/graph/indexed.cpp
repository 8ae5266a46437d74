// One operation after another: its shape, its value, and at the end its row.
#include "ir/graph/indexed.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenon::ir {
namespace {

using Inputs = std::span<const NodeRef>;
using Ints = std::span<const int64_t>;
using Operands = std::span<const ElementBits* const>;

// --- update

Dims update_shape(Op op, Inputs inputs, Ints ints) {
  const Node &base = *inputs[0], &value = *inputs[1];
  const size_t rank = value.shape().size();
  require(ints.size() == rank + 1, op, "needs a stride for each dim of the value, and an offset");
  check_places(op, value.shape(), ints.first(rank), ints.back(), base.numel());
  // Distinct if, from the smallest stride up, each dim steps over all that the dims below it reach.
  Dims dims;
  for (size_t i = 0; i < rank; ++i) {
    if (value.shape()[i] > 1) dims.push_back(static_cast<int64_t>(i));
  }
  if (dims.size() > 1) std::ranges::sort(dims, {}, [&](int64_t dim) { return ints[dim]; });
  int64_t reach = 0;
  for (int64_t dim : dims) {
    const int64_t stride = ints[dim];
    require(stride > reach, op, "writes a place twice");
    reach += (value.shape()[dim] - 1) * stride;
  }
  return base.shape();
}

ElementBits update(const Node& node, Operands operands) {
  ElementBits result = *operands[0];
  const ElementBits& value = *operands[1];
  for_each_place(node.inputs()[1]->shape(), node.ints(), [&](size_t i, size_t place) { result[place] = value[i]; });
  return result;
}

// --- gather and scatter

// The index has x's rank, and no dim but `dim` is longer than x's.
void check_index(Op op, const Node& x, const Node& index, Ints ints) {
  require(ints.size() == 1, op, "takes one dim");
  check_dim(op, ints, x);
  require(index.rank() == x.rank(), op, "the index is of another rank");
  for (size_t i = 0; i < x.shape().size(); ++i) {
    require(static_cast<int64_t>(i) == ints[0] || index.shape()[i] <= x.shape()[i], op,
            "the index is longer than the operand in another dim");
  }
}

// f(i, place): the i-th position of the index and the element of the operand that it names.
template <typename F>
void for_each_indexed(const Node& node, const ElementBits& indices, F f) {
  const Dims& shape = node.inputs()[0]->shape();
  const size_t dim = node.ints()[0];
  const Dims strides = contiguous_strides(shape);
  for_each_index(node.inputs()[1]->shape(), [&](int64_t flat, const Dims& index) {
    const int64_t at = indices[flat];
    if (at < 0 || at >= shape[dim]) {
      refuse(node.op(), "index " + std::to_string(at) + " is out of range for size " + std::to_string(shape[dim]));
    }
    Dims source = index;
    source[dim] = at;
    f(flat, position(source, strides));
  });
}

Dims gather_shape(Op op, Inputs inputs, Ints ints) {
  check_index(op, *inputs[0], *inputs[1], ints);
  return inputs[1]->shape();
}

ElementBits gather(const Node& node, Operands operands) {
  ElementBits result(node.numel());
  for_each_indexed(node, *operands[1], [&](size_t i, size_t place) { result[i] = (*operands[0])[place]; });
  return result;
}

Dims scatter_shape(Op op, Inputs inputs, Ints ints) {
  check_index(op, *inputs[0], *inputs[1], ints);
  require(inputs[1]->shape() == inputs[2]->shape(), op, "index and value differ in shape");
  return inputs[0]->shape();
}

ElementBits scatter(const Node& node, Operands operands) {
  ElementBits result = *operands[0];
  const ElementBits& value = *operands[2];
  for_each_indexed(node, *operands[1], [&](size_t i, size_t place) {
    const Constant args[] = {{node.dtype(), result[place]}, {node.dtype(), value[i]}};
    result[place] = node.op() == Op::Scatter ? value[i] : evaluate(combining_op(node.op()), args, node.dtype()).bits;
  });
  return result;
}

// --- by a mask

// Checks how many elements a mask selects: no more than it has.
void check_count(Op op, Ints ints, const Node& mask) {
  require(ints.size() == 1, op, "takes a count");
  require(ints[0] >= 0 && ints[0] <= mask.numel(), op, "the count is out of range");
}

// Rows of x that a mask selects.
void check_rows(Op op, const Node& x, const Node& mask) {
  require(x.rank() == 2 && mask.rank() == 1 && mask.shape()[0] == x.shape()[0], op, "takes a matrix and a mask of its rows");
}

// f(flat): the true elements in order. Throws IrError if there are not `count`.
template <typename F>
void for_each_true(const Node& node, const ElementBits& mask, int64_t count, F f) {
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    if (count-- == 0) break;
    f(i);
  }
  require(count == 0, node.op(), "the mask does not have as many true elements as were counted");
}

Dims nonzero_shape(Op op, Inputs inputs, Ints ints) {
  check_count(op, ints, *inputs[0]);
  return Dims{ints[0], inputs[0]->rank()};
}

ElementBits nonzero(const Node& node, Operands operands) {
  const Dims& shape = node.inputs()[0]->shape();
  const Dims strides = contiguous_strides(shape);
  ElementBits result;
  for_each_true(node, *operands[0], node.ints()[0], [&](size_t flat) {
    for (size_t d = 0; d < shape.size(); ++d) result.push_back(flat / strides[d] % shape[d]);
  });
  return result;
}

Dims compress_shape(Op op, Inputs inputs, Ints ints) {
  check_rows(op, *inputs[0], *inputs[1]);
  check_count(op, ints, *inputs[1]);
  return Dims{ints[0], inputs[0]->shape()[1]};
}

ElementBits compress(const Node& node, Operands operands) {
  const size_t columns = node.shape()[1];
  ElementBits result;
  for_each_true(node, *operands[1], node.ints()[0], [&](size_t row) {
    for (size_t c = 0; c < columns; ++c) result.push_back((*operands[0])[row * columns + c]);
  });
  return result;
}

Dims scatter_mask_shape(Op op, Inputs inputs, Ints ints) {
  const Node &base = *inputs[0], &value = *inputs[2];
  require(ints.empty(), op, "takes no attributes");
  check_rows(op, base, *inputs[1]);
  require(value.rank() == 2 && value.shape()[1] == base.shape()[1] && value.shape()[0] <= base.shape()[0], op,
          "the value's rows are not the base's");
  return base.shape();
}

ElementBits scatter_mask(const Node& node, Operands operands) {
  const size_t columns = node.shape()[1];
  ElementBits result = *operands[0];
  size_t next = 0;
  for_each_true(node, *operands[1], node.inputs()[2]->shape()[0], [&](size_t row) {
    for (size_t c = 0; c < columns; ++c) result[row * columns + c] = (*operands[2])[next++];
  });
  return result;
}

// --- copy

Dims copy_shape(Op op, Inputs inputs, Ints ints) {
  require(ints.size() == 1 && ints[0] >= 0 && ints[0] <= INT8_MAX, op, "takes a device, 0 to 127");
  require(ints[0] != inputs[0]->device(), op, "the operand is on that device");
  return inputs[0]->shape();
}

ElementBits copy(const Node&, Operands operands) { return *operands[0]; }

// --- sort

Dims sort_shape(Op op, Inputs inputs, Ints ints) {
  const Node& x = *inputs[0];
  require(ints.size() == 2 && (ints[1] == 0 || ints[1] == 1), op, "takes a dim, and 0 or 1");
  check_dim(op, ints, x);
  return x.shape();
}

Dims sort_part_shape(Op op, Inputs inputs, Ints ints) {
  const Node& x = *inputs[0];
  require(ints.size() == 4 && (ints[1] == 0 || ints[1] == 1), op, "takes a dim, 0 or 1, a first place and a count");
  check_dim(op, ints, x);
  Dims shape = x.shape();
  int64_t& size = shape[ints[0]];
  require(ints[2] >= 0 && ints[3] >= 0 && ints[2] <= size && ints[3] <= size - ints[2], op, "the places are out of range");
  size = ints[3];
  return shape;
}

ElementBits sort(const Node& node, Operands operands) {
  const Node& operand = *node.inputs()[0];
  const ElementBits& x = *operands[0];
  const DType dtype = operand.dtype();
  const bool descending = node.ints()[1] != 0;
  const auto less = [&](uint64_t a, uint64_t b) {
    const Constant args[] = {{dtype, a}, {dtype, b}};
    if (is_float(dtype)) {
      const bool a_nan = std::isnan(to_double(args[0])), b_nan = std::isnan(to_double(args[1]));
      if (a_nan || b_nan) return !a_nan && b_nan;
    }
    return evaluate(Op::Lt, args, DType::Bool).bits != 0;
  };
  const size_t dim = node.ints()[0];
  const auto begin = static_cast<size_t>(node.op() == Op::SortPart ? node.ints()[2] : 0);
  const size_t wanted = node.shape()[dim];
  ElementBits result(node.numel());
  for_each_line(operand.shape(), dim, [&](size_t first, size_t stride, size_t count) {
    ElementBits order(count);
    std::iota(order.begin(), order.end(), uint64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](uint64_t i, uint64_t j) {
      const uint64_t a = x[first + i * stride], b = x[first + j * stride];
      return descending ? less(b, a) : less(a, b);
    });
    const size_t outer = first / stride / count, inner = first % stride;
    for (size_t i = 0; i < wanted; ++i) result[(outer * wanted + i) * stride + inner] = order[begin + i];
  });
  return result;
}

// --- the rows

constexpr std::string_view kStrides[] = {"strides="}, kOffset[] = {"offset="}, kDim[] = {"dim="}, kCount[] = {"count="};
constexpr std::string_view kDevice[] = {"device="}, kSort[] = {"dim=", "descending="};
constexpr std::string_view kSortPart[] = {"dim=", "descending=", "first=", "count="};

constexpr IndexedOp kIndexedOps[] = {
    {Op::Update, {kStrides, kOffset}, update_shape, update},
    {Op::Gather, {{}, kDim}, gather_shape, gather},
    {Op::Scatter, {{}, kDim}, scatter_shape, scatter},
    {Op::ScatterAdd, {{}, kDim}, scatter_shape, scatter},
    {Op::ScatterMul, {{}, kDim}, scatter_shape, scatter},
    {Op::ScatterMax, {{}, kDim}, scatter_shape, scatter},
    {Op::ScatterMin, {{}, kDim}, scatter_shape, scatter},
    {Op::Nonzero, {{}, kCount}, nonzero_shape, nonzero},
    {Op::Compress, {{}, kCount}, compress_shape, compress},
    {Op::ScatterMask, {}, scatter_mask_shape, scatter_mask},
    {Op::Copy, {{}, kDevice}, copy_shape, copy},
    {Op::SortPart, {{}, kSortPart}, sort_part_shape, sort},
    {Op::Sort, {{}, kSort}, sort_shape, sort},
};

}  // namespace

const IndexedOp* indexed_op(Op op) {
  const auto* row = std::ranges::find(kIndexedOps, op, &IndexedOp::op);
  return row == std::end(kIndexedOps) ? nullptr : row;
}

}  // namespace tenon::ir
