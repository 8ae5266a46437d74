// The rules, and the walk over a recipe that applies them.
#include "ir/gradient/gradient.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>

#include "ir/gradient/gradient_parts.h"
#include "ir/graph/attention.h"
#include "ir/graph/gamma.h"

namespace tenon::ir {
namespace {

struct ValueType {
  DType dtype;
  std::span<const int64_t> shape;
  DeviceTag device;
};

// One step of a recipe, for the gradient of one of its inputs. Values that the rule does not read may be undefined.
struct GradStep {
  const Recipe& recipe;
  const Recipe::Step& step;
  size_t input;
  std::span<const int64_t> ints;
  Expr g;              // of the result
  Expr x, y, z, w, r;  // the inputs and the result

  ValueType input_type(size_t i) const {
    const Recipe::Step& from = recipe.steps()[static_cast<size_t>(recipe.inputs(step)[i])];
    return {from.dtype, recipe.shape(from), from.device};
  }
  // A value like an input: the same number everywhere.
  Expr filled(size_t i, double value) const {
    const ValueType type = input_type(i);
    return {make_const(constant(type.dtype, value), type.shape, type.device)};
  }
  Expr zeros(size_t i) const { return filled(i, 0); }
};

Expr zero_input(const GradStep& s) { return s.zeros(s.input); }

// --- elementwise

Expr bell(const Expr& x) { return exp(-(x * x)) * (2 * std::numbers::inv_sqrtpi); }
Expr normal_density(const Expr& x) { return exp(-0.5 * (x * x)) * (std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2); }

// x^2 + y^2 as a divisor: infinity where it is 0, so that nothing comes of it.
Expr square_sum(const Expr& x, const Expr& y) {
  const Expr sum = x * x + y * y;
  return select(sum == 0.0, number(sum, std::numeric_limits<double>::infinity()), sum);
}

// --- movement

Expr reshaped(const Expr& x, std::span<const int64_t> shape) { return {reshape(x.node, shape)}; }
Expr expanded_to(const Expr& x, std::span<const int64_t> shape) { return {expand(x.node, shape)}; }
Expr flipped(const Expr& x, int64_t dim) { return {flip(x.node, Dims{dim})}; }

// Elements `start` .. `start + size - 1` along one dim.
Expr part(const Expr& x, int64_t dim, int64_t start, int64_t size) {
  Dims starts(x.shape().size(), 0), steps(x.shape().size(), 1), sizes = x.shape();
  starts[dim] = start;
  sizes[dim] = size;
  return {slice(x.node, starts, steps, sizes)};
}

Expr padded(const Expr& x, double value, const Dims& low, const Dims& high) {
  const NodeRef filling = make_const(constant(x.dtype(), value), Dims{}, x.node->device());
  return {pad(x.node, filling, low, high)};
}

Expr expanded(const Expr& x, const GradStep& s) { return expanded_to(x, s.input_type(0).shape); }

Expr permuted_back(const GradStep& s) {
  Dims order(s.ints.size(), 0);
  for (size_t i = 0; i < s.ints.size(); ++i) order[s.ints[i]] = static_cast<int64_t>(i);
  return {permute(s.g.node, order)};
}

Expr summed_back(const GradStep& s) {
  const std::span<const int64_t> shape = s.input_type(0).shape;
  Dims grown;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != s.ints[d]) grown.push_back(static_cast<int64_t>(d));
  }
  return grown.empty() ? s.g : reduce(Op::Sum, s.g, grown);
}

// The elements of a slice at their places, zeros between and around them.
Expr put_back(const GradStep& s) {
  const std::span<const int64_t> shape = s.input_type(0).shape;
  const size_t rank = shape.size();
  const auto starts = s.ints.subspan(0, rank), steps = s.ints.subspan(rank, rank), sizes = s.ints.subspan(2 * rank, rank);
  Expr g = s.g;
  if (std::ranges::any_of(steps, [](int64_t step) { return step > 1; })) {
    Dims apart, gaps, none(2 * rank, 0), joined, first(rank, 0), each(rank, 1), last;
    for (size_t d = 0; d < rank; ++d) {
      for (int64_t size : {sizes[d], int64_t{1}}) apart.push_back(size);
      for (int64_t gap : {int64_t{0}, steps[d] - 1}) gaps.push_back(gap);
      joined.push_back(sizes[d] * steps[d]);
      last.push_back(sizes[d] == 0 ? 0 : (sizes[d] - 1) * steps[d] + 1);  // no gap behind the last one
    }
    g = reshaped(padded(reshaped(g, apart), 0, none, gaps), joined);
    g = {slice(g.node, first, each, last)};
  }
  Dims low, high;
  for (size_t d = 0; d < rank; ++d) {
    low.push_back(sizes[d] == 0 ? 0 : starts[d]);
    high.push_back(shape[d] - low[d] - g.shape()[d]);
  }
  return padded(g, 0, low, high);
}

Expr cropped(const GradStep& s) {
  const std::span<const int64_t> shape = s.input_type(0).shape;
  return {slice(s.g.node, s.ints.subspan(0, shape.size()), Dims(shape.size(), 1), shape)};
}

Expr own_part(const GradStep& s) {
  const int64_t dim = s.ints[0];
  int64_t start = 0;
  for (size_t i = 0; i < s.input; ++i) start += s.input_type(i).shape[dim];
  return part(s.g, dim, start, s.input_type(s.input).shape[dim]);
}

Expr copied_back(const GradStep& s) {
  const int64_t device = s.input_type(0).device;
  return {make_node(Op::Copy, {&s.g.node, 1}, {&device, 1}, s.g.dtype())};
}

// --- strided views

struct StridedDim {
  int64_t size, stride;
  int64_t dim;  // of the view
};

// Whether no two indices of these dims meet in one place, in any order of the dims.
bool are_distinct(std::vector<StridedDim> dims) {
  std::ranges::sort(dims, {}, &StridedDim::stride);
  int64_t reach = 0;  // from the first place to the last
  for (const StridedDim& d : dims) {
    if (d.size <= 1) continue;
    if (d.stride <= reach) return false;
    reach += (d.size - 1) * d.stride;
  }
  return true;
}

// Places of x that several elements of the view show get the sum of their gradients. Along the dims that meet others,
// short ones like those of a kernel's windows, each index is a write of its own.
Expr windows_back(const GradStep& s) {
  const ValueType type = s.input_type(0);
  const size_t rank = s.ints.size() / 2;
  std::vector<StridedDim> dims, kept;
  for (size_t d = 0; d < rank; ++d) dims.push_back({s.ints[d], s.ints[rank + d], static_cast<int64_t>(d)});
  std::ranges::stable_sort(dims, std::greater(), &StridedDim::size);
  Dims repeated, peeled;
  for (const StridedDim& d : dims) {
    if (d.stride == 0 && d.size != 1) {
      repeated.push_back(d.dim);
      continue;
    }
    kept.push_back(d);
    if (are_distinct(kept)) continue;
    kept.pop_back();
    peeled.push_back(d.dim);
  }
  std::ranges::sort(repeated);
  const Expr g = repeated.empty() ? s.g : reduce(Op::Sum, s.g, repeated);
  Expr sum = zero_input(s);
  if (g.node->numel() == 0) return sum;
  Dims index(peeled.size(), 0);
  while (true) {
    Expr one = g;
    int64_t offset = s.ints.back();
    for (size_t i = 0; i < peeled.size(); ++i) {
      one = part(one, peeled[i], index[i], 1);
      offset += index[i] * s.ints[rank + peeled[i]];
    }
    const bool first = std::ranges::all_of(index, [](int64_t i) { return i == 0; });
    const Expr zeros = {make_const(constant(type.dtype, 0.0), type.shape, type.device)};
    const Expr written = {update(zeros.node, one.node, s.ints.subspan(rank, rank), offset)};
    sum = first ? written : sum + written;
    size_t i = 0;
    while (i < peeled.size() && ++index[i] == g.shape()[peeled[i]]) index[i++] = 0;
    if (i == peeled.size()) return sum;
  }
}

// --- reductions and scans

Expr scanned(Op op, const Expr& x, int64_t dim) { return {scan(op, x.node, dim)}; }

// Sums from each element to the last.
Expr from_the_end(const Expr& x, int64_t dim) { return flipped(scanned(Op::ScanSum, flipped(x, dim), dim), dim); }

// Along `dim`, the product of all elements before each one.
Expr product_before(const Expr& x, int64_t dim) {
  Dims low(x.shape().size(), 0), none = low;
  low[dim] = 1;
  return part(padded(scanned(Op::ScanProd, x, dim), 1, low, none), dim, 0, x.shape()[dim]);
}

// Uses scans from both ends, so that a zero does no harm.
Expr product_of_others(const GradStep& s) {
  const Dims& shape = s.x.shape();
  Dims order, line;
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (std::ranges::find(s.ints, dim) != s.ints.end()) {
      count *= shape[d];
    } else {
      order.push_back(dim);
      line.push_back(shape[d]);
    }
  }
  const auto last = static_cast<int64_t>(line.size());
  line.push_back(count);
  for (int64_t d : s.ints) order.push_back(d);
  const Expr lines = reshaped({permute(s.x.node, order)}, line);
  const Expr others = product_before(lines, last) * flipped(product_before(flipped(lines, last), last), last);
  Dims permuted_shape, back(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    permuted_shape.push_back(shape[order[i]]);
    back[order[i]] = static_cast<int64_t>(i);
  }
  return {permute(reshaped(others, permuted_shape).node, back)};
}

Expr positions(const Expr& like, int64_t dim) { return {make_iota(like.shape(), dim, like.node->device())}; }

Expr shared_by_ties(const GradStep& s) {
  if (s.recipe.first_of_ties() && s.ints.size() == 1) {
    const Expr first = {reduce(s.step.op == Op::ReduceMax ? Op::ArgMax : Op::ArgMin, s.x.node, s.ints)};
    return select(positions(s.x, s.ints[0]) == expanded(first, s), expanded(s.g, s), zero_input(s));
  }
  const Expr winners = cast(s.x == expanded(s.r, s), s.g.dtype());
  return winners * expanded(s.g / reduce(Op::Sum, winners, Dims(s.ints)), s);
}

// With x_i in the place of one, products that leave one element out are products of the rest: the gradient of x_i is
//
//   sum over k >= i of g_k * product of x_j, j <= k, j != i
//
// For short lines each product is computed for itself, [.., n (i), n (k)].
Expr scan_prod_by_element(const GradStep& s, int64_t dim) {
  const int64_t n = s.x.shape()[dim];
  Dims square;
  for (size_t d = 0; d < s.x.shape().size(); ++d) {
    if (static_cast<int64_t>(d) == dim) square.push_back(n);
    square.push_back(s.x.shape()[d]);
  }
  Dims flat = square;
  flat[dim] = 1;
  const auto spread = [&](const Expr& v) { return expanded_to(reshaped(v, flat), square); };
  const Expr x = spread(s.x), g = spread(s.g);
  const Expr i = positions(x, dim), k = positions(x, dim + 1);
  const Expr products = scanned(Op::ScanProd, select(i == k, number(x, 1), x), dim + 1);
  const Expr sums = reduce(Op::Sum, select(k >= i, g * products, number(x, 0)), Dims{dim + 1});
  return reshaped(sums, s.x.shape());
}

// For long ones: before the first zero the sums from the end of g * r over x; at it, those of the products without it;
// behind it nothing.
Expr scan_prod_gradient(const GradStep& s) {
  const int64_t dim = s.ints[0], n = s.x.shape()[dim];
  constexpr int64_t kShort = 32;
  if (n <= kShort) return scan_prod_by_element(s, dim);
  const Expr zero = s.x == 0.0, place = positions(s.x, dim);
  const Expr first = reduce(Op::ReduceMin, select(zero, place, number(place, static_cast<double>(n))), Dims{dim});
  const Expr at_first = place == expanded_to(first, s.x.shape()), before = place < expanded_to(first, s.x.shape());
  const Expr safe = select(zero, number(s.x, 1), s.x);
  const Expr without = scanned(Op::ScanProd, select(at_first, number(s.x, 1), s.x), dim);
  const Expr counted = select(before, number(s.x, 0), s.g * without);
  const Expr usual = from_the_end(s.g * scanned(Op::ScanProd, s.x, dim), dim) / safe;
  return select(before, usual, select(at_first, expanded_to(reduce(Op::Sum, counted, Dims{dim}), s.x.shape()), number(s.x, 0)));
}

// The gradient goes to the last element that was as great as the result: the one of which the result is a copy.
Expr scan_extreme_gradient(const GradStep& s) {
  const int64_t dim = s.ints[0];
  const Expr place = positions(s.x, dim), copied = (s.x == s.r) | (s.x != s.x);
  const Expr from = scanned(Op::ScanMax, select(copied, place, number(place, 0)), dim);
  return {scatter(Op::ScatterAdd, s.zeros(0).node, from.node, s.g.node, dim)};
}

// --- scatters: x the base, y the indices, z the values

Expr gathered(const Expr& x, const GradStep& s) { return {gather(x.node, s.y.node, s.ints[0])}; }
Expr scattered(Op op, const Expr& base, const Expr& value, const GradStep& s) {
  return {scatter(op, base.node, s.y.node, value.node, s.ints[0])};
}

Expr scatter_mul_base(const GradStep& s) {
  const Expr safe = select(s.x == 0.0, number(s.x, 1), s.x);
  return s.g * scattered(Op::ScatterMul, safe, s.z, s) / safe;
}

// A single zero among the factors of a place gets the product of the others; beside it the others get none.
Expr scatter_mul_value(const GradStep& s) {
  const Expr zero = s.z == 0.0, one = number(s.z, 1), nothing = number(s.z, 0);
  const Expr zeros = gathered(scattered(Op::ScatterAdd, number(s.x, 0), select(zero, one, nothing), s), s);
  const Expr single = zero & (zeros == 1.0);
  const Expr without = scattered(Op::ScatterMul, s.x, select(single, one, s.z), s);
  return select(single, gathered(s.g * without, s), gathered(s.g * s.r, s) / select(zero, one, s.z));
}

// What won shares the gradient: the base, and each value that equals the result.
Expr winning_values(const GradStep& s) { return cast(s.z == gathered(s.r, s), s.g.dtype()); }
Expr winning_base(const GradStep& s) { return cast(s.x == s.r, s.g.dtype()); }
Expr share_of_winner(const GradStep& s) { return s.g / scattered(Op::ScatterAdd, winning_base(s), winning_values(s), s); }
Expr scatter_extreme_base(const GradStep& s) { return winning_base(s) * share_of_winner(s); }
Expr scatter_extreme_value(const GradStep& s) { return winning_values(s) * gathered(share_of_winner(s), s); }

// --- contractions

Expr transposed(const Expr& x) {
  Dims order;
  for (int64_t d = 0; d < x.node->rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return {permute(x.node, order)};
}

// If the product is x * w^T, as in a linear layer, the gradient is asked for w: then the product that gives w's gradient as it lies
// is taken, and transposed as w was.
Expr right_of_dot(const GradStep& s) {
  const Recipe::Step& right = s.recipe.steps()[static_cast<size_t>(s.recipe.inputs(s.step)[1])];
  const std::span<const int64_t> order = s.recipe.ints(right);
  const bool is_transposed = right.op == Op::Permute && order[order.size() - 1] < order[order.size() - 2];
  return is_transposed ? transposed({dot(transposed(s.g).node, s.x.node)}) : Expr{dot(transposed(s.x).node, s.g.node)};
}

// --- attention

// What repeats along a dim gets the sum of the gradients. No operation is the gradient of a mask, nor has one of its own.
Expr attention_back(const GradStep& s) {
  const Attention operands{s.x.node, s.y.node, s.z.node, s.w.node, s.ints[0] != 0, attention_scale(s.ints)};
  if (s.input == 3 || Tape::current) return {composed_attention_gradient(operands, s.input, s.g.node)};
  const Expr whole = {attention_gradient(operands, static_cast<AttentionGradient>(s.input), s.g.node, s.r.node)};
  const std::span<const int64_t> shape = s.input_type(s.input).shape;
  Dims grown;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != whole.shape()[d]) grown.push_back(static_cast<int64_t>(d));
  }
  return grown.empty() ? whole : reduce(Op::Sum, whole, grown);
}

// --- the table

enum Reads : uint8_t { X = 1, Y = 2, Z = 4, W = 8, R = 16 };
constexpr int kEach = -1;

struct Rule {
  uint8_t reads = 0;
  Expr (*apply)(const GradStep&) = nullptr;
};
struct Row {
  Op op;
  int input;
  Rule rule;
};

const Row kRows[] = {
#define GRAD(Name, input, reads, formula)                                                                      \
  {Op::Name, input, {reads, [](const GradStep& s) -> Expr {                                                    \
                       [[maybe_unused]] const Expr &g = s.g, &x = s.x, &y = s.y, &z = s.z, &w = s.w, &r = s.r; \
                       return formula;                                                                         \
                     }}},
#include "ir/gradient/gradients.def"
};

constexpr size_t kMostInputs = 4;
using Rules = std::array<Rule, kMostInputs>;

const Rule& rule_of(Op op, size_t input) {
  static const auto* table = [] {
    auto* rules = new std::vector<Rules>(static_cast<size_t>(kOpCount));
    for (const Row& row : kRows) {
      Rules& of_op = (*rules)[static_cast<size_t>(row.op)];
      if (row.input == kEach) of_op.fill(row.rule);
      else of_op[static_cast<size_t>(row.input)] = row.rule;
    }
    return rules;
  }();
  return (*table)[static_cast<size_t>(op)][std::min(input, kMostInputs - 1)];
}

// Whether each step depends on a tracked operand, through operations that have gradients.
std::vector<uint8_t> dependent(const Recipe& recipe, const Recipe::Flags& tracked) {
  std::vector<uint8_t> depends(recipe.steps().size(), 0);
  for (size_t i = 0; i < recipe.operands().size(); ++i) {
    if (recipe.operands()[i] != Recipe::kUnused && tracked[i]) depends[recipe.operands()[i]] = 1;
  }
  for (size_t i = 0; i < depends.size(); ++i) {
    const Recipe::Step& step = recipe.steps()[i];
    if (!is_float(step.dtype)) continue;
    const std::span<const int64_t> inputs = recipe.inputs(step);
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (depends[inputs[k]] && rule_of(step.op, k).apply) depends[i] = 1;
    }
  }
  return depends;
}

// Marks what the rules of one step read.
void mark_read(const Recipe& recipe, size_t i, const std::vector<uint8_t>& depends, std::vector<uint8_t>& read) {
  const std::span<const int64_t> inputs = recipe.inputs(recipe.steps()[i]);
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!depends[inputs[k]]) continue;
    const uint8_t reads = rule_of(recipe.steps()[i].op, k).reads;
    for (size_t j = 0; j < std::min(inputs.size(), kMostInputs); ++j) {
      if (reads & (1u << j)) read[inputs[j]] = 1;
    }
    if (reads & R) read[i] = 1;
  }
}

NodeRef made_again(const Recipe& recipe, const Recipe::Step& step, const std::vector<NodeRef>& values) {
  if (step.op == Op::Const) return make_const({step.dtype, static_cast<uint64_t>(recipe.ints(step)[0])}, recipe.shape(step), step.device);
  if (step.op == Op::Iota) return make_iota(recipe.shape(step), recipe.ints(step)[0], step.device);
  std::vector<NodeRef> inputs;
  for (int64_t input : recipe.inputs(step)) inputs.push_back(values[input]);
  if (step.op == Op::Input || std::ranges::any_of(inputs, [](const NodeRef& n) { return !n; }))
    throw IrError("a gradient needs a value that was not kept");
  return make_node(step.op, inputs, recipe.ints(step), step.dtype);
}

}  // namespace

std::vector<uint32_t> steps_to_keep(const Recipe& recipe, const Recipe::Flags& tracked) {
  const std::vector<uint8_t> depends = dependent(recipe, tracked);
  const size_t count = depends.size();
  std::vector<uint8_t> read(count, 0), behind(count, 0), end(count, 0);  // behind: what a costly value was computed from
  for (size_t i = 0; i < count; ++i) {
    if (depends[i]) mark_read(recipe, i, depends, read);
  }
  for (uint32_t output : recipe.outputs()) end[output] = 1;
  for (size_t i = 0; i < count; ++i) {
    const Op op = recipe.steps()[i].op;
    if (op == Op::Input || op == Op::Const) end[i] = 1;
  }
  std::vector<uint32_t> result;
  for (size_t i = count; i-- > 0;) {
    const Recipe::Step& step = recipe.steps()[i];
    const bool keep = (read[i] && (end[i] || is_dear(step.op))) || (behind[i] && end[i]);
    if (keep) result.push_back(static_cast<uint32_t>(i));
    if (keep && end[i]) continue;
    for (int64_t input : recipe.inputs(step)) {
      if (keep || behind[i]) behind[input] = 1;
      else if (read[i]) read[input] = 1;
    }
  }
  return result;
}

std::vector<NodeRef> differentiate(const Recipe& recipe, std::vector<NodeRef> values, std::span<const NodeRef> gradients,
                                   const Recipe::Flags& tracked) {
  const std::vector<Recipe::Step>& steps = recipe.steps();
  const std::vector<uint8_t> depends = dependent(recipe, tracked);
  std::vector<uint8_t> reached(steps.size(), 0), read(steps.size(), 0);
  std::vector<NodeRef> grads(steps.size());     // of each step, the first part
  std::vector<std::vector<NodeRef>> all_parts;  // of those that have several
  const auto add = [&](size_t step, const NodeRef& g) {
    if (!grads[step]) {
      grads[step] = g;
      return;
    }
    all_parts.resize(steps.size());
    if (all_parts[step].empty()) all_parts[step].push_back(grads[step]);
    all_parts[step].push_back(g);
  };
  for (size_t i = 0; i < gradients.size(); ++i) {
    const uint32_t output = recipe.outputs()[i];
    if (!gradients[i] || !depends[output]) continue;
    add(output, gradients[i]);
    reached[output] = 1;
  }
  for (size_t i = steps.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (int64_t input : recipe.inputs(steps[i])) reached[input] |= depends[input];
    mark_read(recipe, i, depends, read);
  }
  for (const Recipe::Leaf& leaf : recipe.leaves()) values[leaf.step] = leaf.value;
  for (size_t i = steps.size(); i-- > 0;) {
    if (!read[i] || values[i]) continue;
    for (int64_t input : recipe.inputs(steps[i])) read[input] = 1;
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (read[i] && !values[i]) values[i] = made_again(recipe, steps[i], values);
  }
  for (size_t i = steps.size(); i-- > 0;) {
    const Recipe::Step& step = steps[i];
    if (!reached[i] || !grads[i]) continue;
    if (!all_parts.empty() && !all_parts[i].empty()) grads[i] = sum_of_parts(all_parts[i]);
    const std::span<const int64_t> inputs = recipe.inputs(step);
    const auto value = [&](size_t k) { return Expr{k < inputs.size() ? values[inputs[k]] : NodeRef()}; };
    GradStep s{recipe, step, 0, recipe.ints(step), {grads[i]}, value(0), value(1), value(2), value(3), {values[i]}};
    for (s.input = 0; s.input < inputs.size(); ++s.input) {
      const Rule& rule = rule_of(step.op, s.input);
      if (rule.apply && depends[inputs[s.input]]) add(static_cast<size_t>(inputs[s.input]), rule.apply(s).node);
    }
  }
  std::vector<NodeRef> result(recipe.operands().size());
  for (size_t i = 0; i < result.size(); ++i) {
    if (recipe.operands()[i] != Recipe::kUnused && tracked[i]) result[i] = grads[recipe.operands()[i]];
  }
  return result;
}

}  // namespace tenon::ir
