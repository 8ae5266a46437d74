// Evaluates one node, element by element, in the plainest way that keeps the order of kernel.h's reduction
// trees.
#include "ir/graph/graph_evaluate.h"

#include <algorithm>
#include <cmath>

#include "ir/graph/attention.h"
#include "ir/graph/graph_map.h"
#include "ir/graph/indexed.h"
#include "ir/graph/recipe.h"
#include "ir/graph/recurrence.h"
#include "ir/kernel/reduce_tree.h"
#include "ir/op/scan_order.h"

namespace tenon::ir {
namespace {

DType operand_type(const Node& node, size_t i = 0) { return node.inputs()[i]->dtype(); }

// Sums and products of f16 and bf16 run in f32 and are rounded once, at the end.
DType accumulator_type(DType dtype) { return is_half(dtype) ? DType::F32 : dtype; }

ElementBits elementwise(const Node& node, std::span<const ElementBits* const> operands) {
  ElementBits result(node.numel());
  Constant args[3] = {};
  for (size_t flat = 0; flat < result.size(); ++flat) {
    for (size_t i = 0; i < operands.size(); ++i) args[i] = {operand_type(node, i), (*operands[i])[flat]};
    result[flat] = evaluate(node.op(), {args, operands.size()}, node.dtype()).bits;
  }
  return result;
}

// --- movement

// result[index] = x[sum of map(index)[i] * stride_i of x]
template <typename Map>
ElementBits move_elements(const Node& node, const ElementBits& x, Map map) {
  ElementBits result(node.numel());
  const Dims strides = contiguous_strides(node.inputs()[0]->shape());
  Dims source(strides.size(), 0);
  for_each_index(node.shape(), [&](int64_t flat, const Dims& index) {
    for (size_t i = 0; i < index.size(); ++i) map(i, index[i], source);
    result[flat] = x[position(source, strides)];
  });
  return result;
}

bool contains(std::span<const int64_t> dims, size_t dim) {
  for (int64_t d : dims) {
    if (d == static_cast<int64_t>(dim)) return true;
  }
  return false;
}

// Writes `part` into `result` (of `shape`), its first element at `offset`.
void place(ElementBits& result, const Dims& shape, const ElementBits& part, const Dims& part_shape, const Dims& offset) {
  const Dims strides = contiguous_strides(shape);
  const int64_t base = position(offset, strides);
  for_each_index(part_shape, [&](int64_t flat, const Dims& index) { result[base + position(index, strides)] = part[flat]; });
}

ElementBits pad(const Node& node, const ElementBits& x, uint64_t value) {
  ElementBits result(node.numel(), value);
  const Dims lo(std::span<const int64_t>(node.ints()).first(node.shape().size()));
  place(result, node.shape(), x, node.inputs()[0]->shape(), lo);
  return result;
}

ElementBits cat(const Node& node, std::span<const ElementBits* const> parts) {
  ElementBits result(node.numel());
  const size_t dim = node.ints()[0];
  Dims offset(node.shape().size(), 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Dims& shape = node.inputs()[i]->shape();
    place(result, node.shape(), *parts[i], shape, offset);
    offset[dim] += shape[dim];
  }
  return result;
}

ElementBits strided(const Node& node, const ElementBits& x) {
  ElementBits result(node.numel());
  const std::span<const int64_t> ints = node.ints();
  for_each_place(node.shape(), ints.subspan(node.shape().size()), [&](size_t i, size_t place) { result[i] = x[place]; });
  return result;
}

ElementBits movement(const Node& node, std::span<const ElementBits* const> operands) {
  const ElementBits& x = *operands[0];
  const Dims& ints = node.ints();
  const Dims& from = node.inputs()[0]->shape();
  const size_t rank = node.shape().size();
  switch (node.op()) {
    case Op::Reshape: return x;
    case Op::Permute: return move_elements(node, x, [&](size_t i, int64_t at, Dims& source) { source[ints[i]] = at; });
    case Op::Expand: return move_elements(node, x, [&](size_t i, int64_t at, Dims& source) { source[i] = from[i] == 1 ? 0 : at; });
    case Op::Slice: return move_elements(node, x, [&](size_t i, int64_t at, Dims& source) { source[i] = ints[i] + at * ints[rank + i]; });
    case Op::Flip:
      return move_elements(node, x, [&](size_t i, int64_t at, Dims& source) { source[i] = contains(ints, i) ? from[i] - 1 - at : at; });
    case Op::Pad: return pad(node, x, node.inputs()[1]->bits());
    case Op::Strided: return strided(node, x);
    default: return cat(node, operands);
  }
}

// --- reductions

struct Candidate {
  Constant value;
  int64_t index;
};

// The first of the greatest (or least), where nan beats every number: a total order, so no tree matters.
Candidate better(Op op, const Candidate& a, const Candidate& b) {
  const auto first = [&] { return a.index < b.index ? a : b; };
  if (is_float(a.value.dtype)) {
    const bool a_nan = std::isnan(to_double(a.value)), b_nan = std::isnan(to_double(b.value));
    if (a_nan || b_nan) return a_nan && b_nan ? first() : a_nan ? a : b;
  }
  const auto holds = [&](Op test, const Constant& l, const Constant& r) {
    const Constant args[] = {l, r};
    return evaluate(test, args, DType::Bool).bits != 0;
  };
  const Op beats = combining_op(op);
  if (holds(beats, a.value, b.value)) return a;
  return holds(beats, b.value, a.value) ? b : first();
}

uint64_t reduce_arg(const Node& node, ReduceTree tree, const Dims& extents, auto element) {
  const DType dtype = operand_type(node);
  const Candidate none{combine_start(node.op(), dtype), kNoPosition};
  const Candidate best = reduce_in_order(
      tree, extents, none,
      [&](int64_t i) {
        return Candidate{element(i), i};
      },
      [&](const Candidate& a, const Candidate& b) { return better(node.op(), a, b); });
  return best.index == kNoPosition ? 0 : static_cast<uint64_t>(best.index);
}

// A float, for what adds up by operators.
struct Real {
  Constant value;
  Real by(Op op, const Real& other) const {
    const Constant args[] = {value, other.value};
    return {evaluate(op, args, value.dtype)};
  }
  Real operator+(const Real& other) const { return by(Op::Add, other); }
  Real operator-(const Real& other) const { return by(Op::Sub, other); }
  bool operator==(const Real& other) const { return to_double(value) == to_double(other.value); }
};

uint64_t reduce_values(const Node& node, ReduceTree tree, const Dims& extents, auto element) {
  const DType wide = accumulator_type(node.dtype());
  const Op op = combining_op(node.op());
  const Real identity{reduce_identity(node.op(), wide)};
  const auto value = [&](int64_t i) { return Real{cast(element(i), wide)}; };
  const auto combine = [&](const Real& a, const Real& b) { return a.by(op, b); };
  const Real result = keeps_rest(node.op(), wide) ? reduce_in_order(tree, extents, identity, value, combine, Total<Real>(identity))
                                                  : reduce_in_order(tree, extents, identity, value, combine);
  return cast(result.value, node.dtype()).bits;
}

ElementBits reduction(const Node& node, const ElementBits& x) {
  const Dims& shape = node.inputs()[0]->shape();
  const Dims strides = contiguous_strides(shape);
  Dims extents, extent_strides;
  for (int64_t dim : node.ints()) {
    if (shape[dim] == 1) continue;
    extents.push_back(shape[dim]);
    extent_strides.push_back(strides[dim]);
  }
  std::vector<int64_t> offsets;  // of the elements of one reduction, in row-major order of the reduced dims
  for_each_index(extents, [&](int64_t, const Dims& index) { offsets.push_back(position(index, extent_strides)); });

  const ReduceTree tree = reduce_tree(shape, node.ints());
  const Dims runs = reduce_extents(shape, node.ints());
  const bool wants_index = node.op() == Op::ArgMax || node.op() == Op::ArgMin;
  ElementBits result(node.numel());
  for_each_index(node.shape(), [&](int64_t flat, const Dims& index) {
    const int64_t base = position(index, strides);
    const auto element = [&](int64_t i) { return Constant{operand_type(node), x[base + offsets[i]]}; };
    result[flat] = wants_index ? reduce_arg(node, tree, runs, element) : reduce_values(node, tree, runs, element);
  });
  return result;
}

// --- along one dim

ElementBits scan(const Node& node, const ElementBits& x) {
  ElementBits result = x;
  const DType wide = accumulator_type(node.dtype());
  const auto combine = [&](const Constant& a, const Constant& b) {
    const Constant args[] = {a, b};
    return evaluate(combining_op(node.op()), args, wide);
  };
  for_each_line(node.shape(), node.ints()[0], [&](size_t first, size_t stride, size_t count) {
    ScanInOrder line(scan_by_runs(node.op(), wide), combine_start(node.op(), wide), combine);
    for (size_t i = first; i < first + count * stride; i += stride) {
      result[i] = cast(line.next(cast({node.dtype(), x[i]}, wide)), node.dtype()).bits;
    }
  });
  return result;
}

// --- contraction

Constant multiply_add(const Constant& a, const Constant& b, const Constant& sum) {
  if (is_float(a.dtype)) {
    const Constant args[] = {a, b, sum};
    return evaluate(Op::Fma, args, a.dtype);
  }
  const Constant factors[] = {a, b};
  const Constant terms[] = {evaluate(Op::Mul, factors, a.dtype), sum};
  return evaluate(Op::Add, terms, a.dtype);
}

ElementBits contraction(const Node& node, const ElementBits& a, const ElementBits& b) {
  const size_t rank = node.shape().size();
  const size_t rows = node.shape()[rank - 2], columns = node.shape()[rank - 1];
  const size_t depth = node.inputs()[0]->shape()[rank - 1];
  const DType dtype = node.dtype(), wide = accumulator_type(dtype);
  ElementBits result(node.numel());
  for (size_t flat = 0; flat < result.size(); ++flat) {
    const size_t batch = flat / (rows * columns), m = flat / columns % rows, n = flat % columns;
    const auto chain = [&](int64_t begin, int64_t end) {
      Constant sum{wide, 0};
      for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
        const Constant l{dtype, a[(batch * rows + m) * depth + k]}, r{dtype, b[(batch * depth + k) * columns + n]};
        sum = multiply_add(cast(l, wide), cast(r, wide), sum);
      }
      return Real{sum};
    };
    const Real sum = add_product(wide, static_cast<int64_t>(depth), Real{{wide, 0}}, chain);
    result[flat] = cast(sum.value, dtype).bits;
  }
  return result;
}

// Adds the values of all that the roots are made of; those of the inputs are there.
void evaluate_all(std::span<const NodeRef> roots, NodeMap<ElementBits>& values) {
  for (const Node* step : topological_order(roots)) {
    if (step->op() == Op::Input) continue;
    std::vector<const ElementBits*> inputs;
    for (const Node* input : step->inputs()) inputs.push_back(&values.at(input));
    ElementBits value = evaluate_node(*step, inputs);
    values[step] = std::move(value);
  }
}

// Evaluates the operations that attention is made of.
ElementBits attention(const Node& node, std::span<const ElementBits* const> operands) {
  const PausedTape paused;
  std::vector<NodeRef> placeholders;
  NodeMap<ElementBits> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Node& operand = *node.inputs()[i];
    placeholders.push_back(make_input(operand.dtype(), operand.shape()));
    values[placeholders.back().get()] = *operands[i];
  }
  const NodeRef made = evaluated_attention(node, placeholders);
  evaluate_all({&made, 1}, values);
  return std::move(values[made.get()]);
}

// Row by row, by the step that it is made of.
ElementBits recurrence(const Node& node, std::span<const ElementBits* const> operands) {
  const PausedTape paused;
  const RecurrentStep step = recurrent_step(node);
  ElementBits result(static_cast<size_t>(node.numel()));
  const int64_t rows = recurrent_rows(node);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = step.last_first ? rows - 1 - i : i;
    NodeMap<ElementBits> values;
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      const RecurrentStep::Source& source = step.sources[k];
      const ElementBits* from = source.operand == RecurrentStep::Source::kMade ? &result : operands[static_cast<size_t>(source.operand)];
      int64_t first = 0;
      const int64_t numel = step.inputs[k]->numel(), wanted = row + source.shift;
      if (!source.whole && (wanted < 0 || wanted >= rows)) from = operands[static_cast<size_t>(source.outside)];
      else if (!source.whole) first = rows * source.before + wanted * numel;
      values[step.inputs[k].get()] = ElementBits(from->begin() + first, from->begin() + first + numel);
    }
    evaluate_all(step.outputs, values);
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      const ElementBits& value = values.at(step.outputs[k].get());
      std::copy(value.begin(), value.end(), result.begin() + rows * step.before[k] + row * std::ssize(value));
    }
  }
  return result;
}

ElementBits iota(const Node& node) {
  ElementBits result(node.numel());
  for_each_index(node.shape(), [&](int64_t flat, const Dims& index) { result[flat] = static_cast<uint64_t>(index[node.ints()[0]]); });
  return result;
}

}  // namespace

ReduceTree reduce_tree(std::span<const int64_t> shape, std::span<const int64_t> dims) {
  size_t last = shape.size();
  while (last > 0 && shape[last - 1] == 1) --last;
  return last == 0 || contains(dims, last - 1) ? ReduceTree::Lanes : ReduceTree::Columns;
}

Dims reduce_extents(std::span<const int64_t> shape, std::span<const int64_t> dims) {
  Dims runs;
  bool open = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const bool reduced = contains(dims, d);
    if (reduced && open) runs.back() *= shape[d];
    if (reduced && !open) runs.push_back(shape[d]);
    open = reduced;
  }
  return runs;
}

ElementBits evaluate_node(const Node& node, std::span<const ElementBits* const> operands) {
  if (node.op() == Op::Const) return ElementBits(static_cast<size_t>(node.numel()), node.bits());
  if (node.op() == Op::Iota) return iota(node);
  if (is_elementwise(node.op())) return elementwise(node, operands);
  if (is_movement(node.op())) return movement(node, operands);
  if (is_reduce(node.op())) return reduction(node, *operands[0]);
  if (is_scan(node.op())) return scan(node, *operands[0]);
  if (const IndexedOp* row = indexed_op(node.op())) return row->value(node, operands);
  if (node.op() == Op::Dot) return contraction(node, *operands[0], *operands[1]);
  if (is_attention(node.op())) return attention(node, operands);
  if (is_recurrence(node.op())) return recurrence(node, operands);
  refuse(node.op(), "has no value of its own");
}

}  // namespace tenon::ir
