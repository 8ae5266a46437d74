// The rewrite rules of the graph, in one list. A rule gives a simpler node that equals the operation to the
// bit, for every value that may come: signed zeros, infinities and nans included (only the payload of a nan
// is not kept). That is why x*0, x+0 and x-x are rules for integers alone.
//
// Written once for all types: 0 - x and x + (-0.0) have the integer meaning too, since -0.0 is 0 as an
// integer.
#include "ir/graph/fold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

namespace tenon::ir {
namespace {

struct Operation {
  Op op;
  std::span<const NodeRef> in;
  std::span<const int64_t> ints;
  const NodeType& type;
};
using O = const Operation&;

// --- what rules ask

bool is_const(const NodeRef& x) { return x->op() == Op::Const; }
Constant value_of(const NodeRef& x) { return {x->dtype(), x->bits()}; }
bool is(const NodeRef& x, Constant c) { return is_const(x) && value_of(x) == c; }
bool is(const NodeRef& x, double value) { return is_const(x) && value_of(x) == constant(x->dtype(), value); }
bool is_whole(const NodeRef& x) { return !is_float(x->dtype()); }  // bool or integer: no nan, no signed zero
bool same(O o) { return o.in[0] == o.in[1]; }
NodeRef operand(const NodeRef& x, size_t i = 0) { return NodeRef(x->inputs()[i]); }
Constant all_ones(DType t) {
  const Constant zero{t, 0};
  return evaluate(Op::Not, {&zero, 1}, t);
}

// --- what rules make

NodeRef splat(O o, Constant c) { return make_const(c, o.type.shape, o.in[0]->device()); }
NodeRef splat(O o, double value) { return splat(o, constant(o.type.dtype, value)); }
NodeRef splat_bool(O o, bool value) { return splat(o, Constant{DType::Bool, value}); }
NodeRef move(O o, const NodeRef& x) { return make_node(o.op, {&x, 1}, o.ints); }

// The operand whose partner is the constant `value`, in a commuting op.
NodeRef beside(O o, Constant value) {
  if (is(o.in[1], value)) return o.in[0];
  return is(o.in[0], value) ? o.in[1] : NodeRef();
}
NodeRef beside(O o, double value) {
  if (!is_const(o.in[1]) && !is_const(o.in[0])) return {};  // nearly always, and before the constant is made
  return beside(o, constant(o.in[0]->dtype(), value));
}

NodeRef beside_negated(O o, Op op, double value) {
  const NodeRef x = beside(o, value);
  return x ? unary(op, x) : x;
}

NodeRef first_if(O o, bool holds) { return holds ? o.in[0] : NodeRef(); }
NodeRef splat_if(O o, bool holds, double value) { return holds ? splat(o, value) : NodeRef(); }

NodeRef undo(O o) { return o.in[0]->op() == o.op ? operand(o.in[0]) : NodeRef(); }

// --- rules too long for a line

// not (a == b) is a != b; with an order only where there is no nan.
NodeRef not_of_comparison(O o) {
  static constexpr std::pair<Op, Op> opposites[] = {{Op::Eq, Op::Ne}, {Op::Ne, Op::Eq}, {Op::Lt, Op::Ge},
                                                    {Op::Ge, Op::Lt}, {Op::Gt, Op::Le}, {Op::Le, Op::Gt}};
  const NodeRef& x = o.in[0];
  for (const auto& [op, opposite] : opposites) {
    if (x->op() != op) continue;
    const bool exact = op == Op::Eq || op == Op::Ne || is_whole(operand(x));
    return exact ? binary(opposite, operand(x), operand(x, 1)) : NodeRef();
  }
  return {};
}

// floor, ceil, trunc and round leave a value that is integral already.
NodeRef integral_already(O o) {
  const NodeRef& x = o.in[0];
  const Op op = x->op();
  const bool rounded = op == Op::Floor || op == Op::Ceil || op == Op::Trunc || op == Op::Round;
  return first_if(o, rounded || (op == Op::Cast && is_whole(operand(x))));
}

// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (from == DType::Bool) return true;
  if (is_float(from)) return is_half(from) ? to >= DType::F32 : to == DType::F64;
  const int digits = 8 * item_size(from) - is_signed(from);
  if (is_int(to)) return is_signed(to) ? 8 * item_size(to) - 1 >= digits : !is_signed(from) && item_size(to) == 1;
  static constexpr int significand[] = {11, 8, 24, 53};  // f16 bf16 f32 f64
  return is_float(to) && significand[static_cast<int>(to) - static_cast<int>(DType::F16)] >= digits;
}

// cast(cast(x: A) : B) : C is cast(x) : C if A fits into B, or if integers only get narrower: the low bits
// remain.
NodeRef cast_chain(O o) {
  if (o.in[0]->op() != Op::Cast) return {};
  const NodeRef x = operand(o.in[0]);
  const DType a = x->dtype(), b = o.in[0]->dtype(), c = o.type.dtype;
  const bool narrows = is_int(a) && is_int(b) && is_int(c) && item_size(b) >= item_size(c);
  return widens(a, b) || narrows ? cast(x, c) : NodeRef();
}

// x / 2^k = x * 2^-k: both are the same real number, rounded once. A few numbers, which have nothing to gain, stay the kernel that they are
// for other counts: the means over a dim, of which 1 is left.
NodeRef divide_by_power_of_two(O o) {
  constexpr int64_t kFew = 16384;
  const bool few =
      element_count(o.type.shape) <= kFew && (o.type.shape.empty() || std::ranges::find(o.type.shape, 1) != o.type.shape.end());
  if (!is_const(o.in[1]) || is_whole(o.in[1]) || few) return {};
  const double divisor = to_double(value_of(o.in[1])), inverse = 1 / divisor;
  int exponent;
  const Constant c = constant(o.type.dtype, inverse);
  if (std::fabs(std::frexp(divisor, &exponent)) != 0.5 || to_double(c) != inverse || std::isinf(inverse)) return {};
  return binary(Op::Mul, o.in[0], splat(o, c));
}

// x op x for comparisons: known for whole numbers; x < x is false even for nan.
NodeRef compare_with_itself(O o) {
  if (!same(o)) return {};
  const bool holds = o.op == Op::Eq || o.op == Op::Le || o.op == Op::Ge;
  if (!is_whole(o.in[0]) && o.op != Op::Lt && o.op != Op::Gt) return {};
  return splat_bool(o, holds);
}

// b == true is b, b == false is not b; b != false is b, b != true is not b.
NodeRef compare_bool(O o) {
  if (o.in[0]->dtype() != DType::Bool) return {};
  if (NodeRef x = beside(o, Constant{DType::Bool, o.op == Op::Eq})) return x;
  return beside_negated(o, Op::Not, o.op == Op::Eq ? 0.0 : 1.0);
}

NodeRef where_of_bools(O o) {
  if (o.type.dtype != DType::Bool) return {};
  if (is(o.in[1], 1.0) && is(o.in[2], 0.0)) return o.in[0];
  return is(o.in[1], 0.0) && is(o.in[2], 1.0) ? unary(Op::Not, o.in[0]) : NodeRef();
}

int64_t reduced_count(O o) {
  int64_t count = 1;
  for (int64_t dim : o.ints) count *= o.in[0]->shape()[dim];
  return count;
}

// A reduction of nothing is what the reduction starts from; one of a single element is that element.
NodeRef reduce_of_none_or_one(O o) {
  const int64_t count = reduced_count(o);
  if (count == 0) return splat(o, reduce_identity(o.op, o.type.dtype));
  if (count != 1) return {};
  if (o.op == Op::ArgMax || o.op == Op::ArgMin) return splat(o, 0.0);
  if (o.op == Op::Sum) return binary(Op::Add, o.in[0], splat(o, 0.0));  // a sum starts from +0: -0.0 becomes 0.0
  return o.in[0];
}

NodeRef permute_chain(O o) {
  if (o.in[0]->op() != Op::Permute) return {};
  Dims dims;
  for (int64_t dim : o.ints) dims.push_back(o.in[0]->ints()[dim]);
  return permute(operand(o.in[0]), dims);
}

bool is_identity_permutation(O o) {
  for (size_t i = 0; i < o.ints.size(); ++i) {
    if (o.ints[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// A slice that takes everything: then every start is 0 and every step 1, or the dim has at most one element.
bool is_whole_slice(O o) { return o.type.shape == o.in[0]->shape(); }

// (x[s1 : : t1])[s2 : : t2] = x[s1 + s2*t1 : : t1*t2]; an empty dim starts at 0.
NodeRef slice_chain(O o) {
  const NodeRef& inner = o.in[0];
  if (inner->op() != Op::Slice) return {};
  const size_t rank = o.type.shape.size();
  Dims starts, steps;
  for (size_t i = 0; i < rank; ++i) {
    const bool stepped = o.type.shape[i] > 1;  // else the step does not matter, and must not overflow
    starts.push_back(o.type.shape[i] ? inner->ints()[i] + o.ints[i] * inner->ints()[rank + i] : 0);
    steps.push_back(stepped ? inner->ints()[rank + i] * o.ints[rank + i] : 1);
  }
  return slice(operand(inner), starts, steps, o.type.shape);
}

// Dims of size 1 need no flip.
NodeRef flip_needed_dims(O o) {
  Dims needed;
  for (int64_t dim : o.ints) {
    if (o.type.shape[dim] > 1) needed.push_back(dim);
  }
  if (needed.empty()) return o.in[0];
  return needed.size() < o.ints.size() ? flip(o.in[0], needed) : NodeRef();
}

// Two flips leave the dims that only one of them turns.
NodeRef flip_chain(O o) {
  if (o.in[0]->op() != Op::Flip) return {};
  Dims dims;
  for (int64_t dim = 0; dim < o.in[0]->rank(); ++dim) {
    const auto flips = [dim](std::span<const int64_t> list) {
      for (int64_t d : list) {
        if (d == dim) return true;
      }
      return false;
    };
    if (flips(o.ints) != flips(o.in[0]->ints())) dims.push_back(dim);
  }
  return flip(operand(o.in[0]), dims);
}

NodeRef bitcast_chain(O o) {
  return o.in[0]->op() == Op::Bitcast ? make_node(o.op, std::array{operand(o.in[0])}, {}, o.type.dtype) : NodeRef();
}

bool pads_nothing(O o) { return o.type.shape == o.in[0]->shape(); }

NodeRef pad_chain(O o) {
  const NodeRef& inner = o.in[0];
  if (inner->op() != Op::Pad || value_of(operand(inner, 1)) != value_of(o.in[1])) return {};
  const size_t rank = o.type.shape.size();
  Dims lo, hi;
  for (size_t i = 0; i < rank; ++i) {
    lo.push_back(o.ints[i] + inner->ints()[i]);
    hi.push_back(o.ints[rank + i] + inner->ints()[rank + i]);
  }
  return pad(operand(inner), o.in[1], lo, hi);
}

NodeRef pad_of_splat(O o) { return is_const(o.in[0]) && value_of(o.in[0]) == value_of(o.in[1]) ? splat(o, value_of(o.in[0])) : NodeRef(); }

// Parts without elements say nothing.
NodeRef cat_without_empty_parts(O o) {
  const auto has_elements = [&](const NodeRef& part) { return part->shape()[o.ints[0]] != 0; };
  if (std::all_of(o.in.begin(), o.in.end(), has_elements)) return {};
  std::vector<NodeRef> parts;
  std::copy_if(o.in.begin(), o.in.end(), std::back_inserter(parts), has_elements);
  return parts.empty() ? o.in[0] : cat(parts, o.ints[0]);
}

NodeRef cat_of_splats(O o) {
  for (const NodeRef& part : o.in) {
    if (!is_const(part) || part->bits() != o.in[0]->bits()) return {};
  }
  return splat(o, value_of(o.in[0]));
}

// The row-major order of x itself.
bool is_contiguous_place_list(O o, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset) {
  if (offset != 0 || element_count(sizes) != o.in[0]->numel()) return false;
  const Dims dense = contiguous_strides(sizes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1 && strides[i] != dense[i]) return false;
  }
  return true;
}

NodeRef strided_as_reshape(O o) {
  const Dims& sizes = o.type.shape;
  const bool whole = is_contiguous_place_list(o, sizes, o.ints.subspan(sizes.size()), o.ints.back());
  return whole ? reshape(o.in[0], sizes) : NodeRef();
}

// A slice of what is padded alone.
NodeRef slice_of_pad(O o) {
  const NodeRef& padded = o.in[0];
  if (padded->op() != Op::Pad) return {};
  const NodeRef inner = operand(padded);
  const size_t rank = inner->shape().size();
  Dims starts(o.ints.first(rank));
  const std::span<const int64_t> steps = o.ints.subspan(rank, rank);
  for (size_t d = 0; d < rank; ++d) {
    starts[d] -= padded->ints()[d];
    const int64_t last = starts[d] + (o.type.shape[d] - 1) * steps[d];
    if (o.type.shape[d] == 0 || starts[d] < 0 || last >= inner->shape()[d]) return {};
  }
  return slice(inner, starts, steps, o.type.shape);
}

// One element of a pad: of what is padded, or the fill. Gradients of views of views read what they have just padded.
NodeRef element_of_pad(O o) {
  const NodeRef& padded = o.in[0];
  if (padded->op() != Op::Pad || element_count(o.type.shape) != 1) return {};
  const NodeRef inner = operand(padded);
  int64_t rest = o.ints.back();
  Dims starts(inner->shape().size(), 0);
  for (size_t d = starts.size(); d-- > 0; rest /= padded->shape()[d]) {
    starts[d] = rest % padded->shape()[d] - padded->ints()[d];
    if (starts[d] < 0 || starts[d] >= inner->shape()[d]) return splat(o, value_of(operand(padded, 1)));
  }
  const Dims ones(starts.size(), 1);
  return reshape(slice(inner, starts, ones, ones), o.type.shape);
}

NodeRef update_of_everything(O o) {
  const Dims& sizes = o.in[1]->shape();
  return is_contiguous_place_list(o, sizes, o.ints, o.ints.back()) ? reshape(o.in[1], o.type.shape) : NodeRef();
}

// A stride for each dim and an offset, in elements of `base`, of what slices, permutations and a strided view of it read; nothing for
// another node.
std::optional<Dims> places_read(const NodeRef& view, const NodeRef& base) {
  const auto is_dense = [&](const NodeRef& x) { return x == base || (x->op() == Op::Reshape && operand(x) == base); };
  std::vector<NodeRef> moves;  // the last first
  NodeRef inner = view;
  for (; inner->op() == Op::Slice || inner->op() == Op::Permute; inner = operand(inner)) moves.push_back(inner);
  Dims places;
  if (is_dense(inner)) {
    places = contiguous_strides(inner->shape());
    places.push_back(0);
  } else if (inner->op() == Op::Strided && is_dense(operand(inner))) {
    const std::span<const int64_t> ints = inner->ints();
    places = Dims(ints.last(inner->shape().size() + 1));
  } else {
    return {};
  }
  for (; !moves.empty(); moves.pop_back()) {
    const NodeRef& move = moves.back();
    const std::span<const int64_t> ints = move->ints();
    const size_t rank = move->shape().size();
    const Dims before = places;
    for (size_t d = 0; d < rank; ++d) {
      places[d] = move->op() == Op::Permute ? before[static_cast<size_t>(ints[d])] : ints[rank + d] * before[d];
      if (move->op() == Op::Slice) places.back() += ints[d] * before[d];
    }
  }
  return places;
}

// Sizes and strides of the same places in the same order, in as few dims as there can be: a size, its stride, and so on.
Dims runs_of(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  Dims runs;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (!runs.empty() && runs.back() == sizes[d] * strides[d]) {
      runs[runs.size() - 2] *= sizes[d];
      runs.back() = strides[d];
    } else {
      runs.push_back(sizes[d]);
      runs.push_back(strides[d]);
    }
  }
  return runs;
}

// What stands there already.
NodeRef update_of_itself(O o) {
  NodeRef value = o.in[1];
  while (value != o.in[0] && value->op() == Op::Reshape) value = operand(value);
  const std::optional<Dims> read = places_read(value, o.in[0]);
  if (!read || read->back() != o.ints.back()) return {};
  return runs_of(value->shape(), *read) == runs_of(o.in[1]->shape(), o.ints) ? o.in[0] : NodeRef();
}

// What the second write replaces, the first need not have written.
NodeRef update_again(O o) {
  const NodeRef& first = o.in[0];
  if (first->op() != Op::Update || !(operand(first, 1)->shape() == o.in[1]->shape())) return {};
  const bool same_places = std::equal(o.ints.begin(), o.ints.end(), first->ints().begin(), first->ints().end());
  return same_places ? update(operand(first), o.in[1], o.ints.first(o.ints.size() - 1), o.ints.back()) : NodeRef();
}

// --- the list

struct Rule {
  Op op;
  NodeRef (*apply)(O);
};

// In the order of the op table; of several rules for one op the first that applies wins. m stands for a
// movement.
// clang-format off
constexpr Rule kRules[] = {
    {Op::Neg, undo},                                                                     // -(-x) = x
    {Op::Abs, [](O o) { return first_if(o, o.in[0]->op() == Op::Abs); }},                // ||x|| = |x|
    // |-x| = |x|.
    {Op::Abs, [](O o) { return o.in[0]->op() == Op::Neg && is_signed(o.type.dtype) ? unary(Op::Abs, operand(o.in[0])) : NodeRef(); }},
    {Op::Floor, integral_already},                                                       // floor(round x) = round x
    {Op::Ceil, integral_already},
    {Op::Trunc, integral_already},
    {Op::Round, integral_already},
    {Op::Not, undo},                                                                     // not not x = x
    {Op::Not, not_of_comparison},                                                        // not (a == b) = (a != b)
    {Op::Cast, [](O o) { return first_if(o, o.type.dtype == o.in[0]->dtype()); }},       // cast x : T = x for an x of T
    {Op::Cast, cast_chain},                                                              // cast(cast x : B) : C = cast x : C
    {Op::Bitcast, [](O o) { return first_if(o, o.type.dtype == o.in[0]->dtype()); }},
    {Op::Bitcast, bitcast_chain},
    {Op::Add, [](O o) { return beside(o, -0.0); }},                                      // x + (-0.0) = x
    {Op::Add, [](O o) { return o.in[1]->op() == Op::Neg ? binary(Op::Sub, o.in[0], operand(o.in[1])) : NodeRef(); }},  // x + (-y) = x - y
    {Op::Add, [](O o) { return o.in[0]->op() == Op::Neg ? binary(Op::Sub, o.in[1], operand(o.in[0])) : NodeRef(); }},  // (-y) + x = x - y
    {Op::Sub, [](O o) { return first_if(o, is(o.in[1], 0.0)); }},                        // x - 0 = x
    {Op::Sub, [](O o) { return splat_if(o, same(o) && is_whole(o.in[0]), 0.0); }},       // x - x = 0, integers
    {Op::Sub, [](O o) { return is(o.in[0], -0.0) ? unary(Op::Neg, o.in[1]) : NodeRef(); }},  // (-0.0) - x = -x
    {Op::Sub, [](O o) { return o.in[1]->op() == Op::Neg ? binary(Op::Add, o.in[0], operand(o.in[1])) : NodeRef(); }},  // x - (-y) = x + y
    {Op::Mul, [](O o) { return beside(o, 1.0); }},                                       // x * 1 = x
    {Op::Mul, [](O o) { return beside_negated(o, Op::Neg, -1.0); }},                     // x * -1 = -x
    {Op::Mul, [](O o) { return splat_if(o, is_whole(o.in[0]) && beside(o, 0.0), 0.0); }},  // x * 0 = 0, integers
    {Op::Div, [](O o) { return first_if(o, is(o.in[1], 1.0)); }},                        // x / 1 = x
    {Op::Div, [](O o) { return is(o.in[1], -1.0) && is_signed(o.type.dtype) ? unary(Op::Neg, o.in[0]) : NodeRef(); }},  // x / -1 = -x
    {Op::Div, [](O o) { return splat_if(o, is_whole(o.in[0]) && is(o.in[0], 0.0), 0.0); }},  // 0 / x = 0, integers
    {Op::Div, divide_by_power_of_two},                                                   // x / 2^k = x * 2^-k
    {Op::Rem, [](O o) { return splat_if(o, is_whole(o.in[0]) && is(o.in[1], 1.0), 0.0); }},  // x rem 1 = 0, integers
    {Op::Max, [](O o) { return first_if(o, same(o)); }},                                 // max(x, x) = x
    {Op::Max, [](O o) { return beside(o, reduce_identity(Op::ReduceMax, o.type.dtype)); }},              // max(x, -inf) = x
    {Op::Min, [](O o) { return first_if(o, same(o)); }},                                 // min(x, x) = x
    {Op::Min, [](O o) { return beside(o, reduce_identity(Op::ReduceMin, o.type.dtype)); }},              // min(x, inf) = x
    {Op::And, [](O o) { return first_if(o, same(o)); }},                                 // x & x = x
    {Op::And, [](O o) { return splat_if(o, static_cast<bool>(beside(o, 0.0)), 0.0); }},  // x & 0 = 0
    {Op::And, [](O o) { return beside(o, all_ones(o.type.dtype)); }},                    // x & ~0 = x
    {Op::Or, [](O o) { return first_if(o, same(o)); }},                                  // x | x = x
    {Op::Or, [](O o) { return beside(o, 0.0); }},                                        // x | 0 = x
    {Op::Or, [](O o) { return beside(o, all_ones(o.type.dtype)) ? splat(o, all_ones(o.type.dtype)) : NodeRef(); }},  // x | ~0 = ~0
    {Op::Xor, [](O o) { return splat_if(o, same(o), 0.0); }},                            // x ^ x = 0
    {Op::Xor, [](O o) { return beside(o, 0.0); }},                                       // x ^ 0 = x
    {Op::Xor, [](O o) { NodeRef x = beside(o, all_ones(o.type.dtype)); return x ? unary(Op::Not, x) : x; }},  // x ^ ~0 = ~x
    {Op::Shl, [](O o) { return first_if(o, is(o.in[1], 0.0)); }},                        // x << 0 = x
    {Op::Shr, [](O o) { return first_if(o, is(o.in[1], 0.0)); }},                        // x >> 0 = x
    {Op::Eq, compare_with_itself},
    {Op::Eq, compare_bool},                                                              // b == true = b
    {Op::Ne, compare_with_itself},
    {Op::Ne, compare_bool},                                                              // b != false = b
    {Op::Lt, compare_with_itself},                                                       // x < x = false
    {Op::Le, compare_with_itself},
    {Op::Gt, compare_with_itself},
    {Op::Ge, compare_with_itself},
    {Op::Where, [](O o) { return o.in[1] == o.in[2] ? o.in[1] : NodeRef(); }},           // where(c, a, a) = a
    {Op::Where, [](O o) { return is_const(o.in[0]) ? o.in[o.in[0]->bits() ? 1 : 2] : NodeRef(); }},  // where(true, a, b) = a
    {Op::Where, where_of_bools},                                                         // where(c, true, false) = c
    // Where(not c, a, b) = where(c, b, a).
    {Op::Where, [](O o) { return o.in[0]->op() == Op::Not ? where(operand(o.in[0]), o.in[2], o.in[1]) : NodeRef(); }},
    {Op::Fma, [](O o) { return is(o.in[1], 1.0) ? binary(Op::Add, o.in[0], o.in[2]) : NodeRef(); }},  // x*1 + c = x + c
    {Op::Fma, [](O o) { return is(o.in[0], 1.0) ? binary(Op::Add, o.in[1], o.in[2]) : NodeRef(); }},  // 1*x + c = x + c
    {Op::Fma, [](O o) { return is(o.in[2], -0.0) ? binary(Op::Mul, o.in[0], o.in[1]) : NodeRef(); }},  // a*b + (-0.0) = a*b
    {Op::Sum, reduce_of_none_or_one},
    {Op::Prod, reduce_of_none_or_one},
    {Op::ReduceMax, reduce_of_none_or_one},
    {Op::ReduceMin, reduce_of_none_or_one},
    {Op::Any, reduce_of_none_or_one},
    {Op::All, reduce_of_none_or_one},
    {Op::ArgMax, reduce_of_none_or_one},
    {Op::ArgMin, reduce_of_none_or_one},
    {Op::Reshape, [](O o) { return first_if(o, o.type.shape == o.in[0]->shape()); }},    // m that changes nothing = x
    {Op::Reshape, [](O o) { return o.in[0]->op() == Op::Reshape ? move(o, operand(o.in[0])) : NodeRef(); }},
    {Op::Permute, [](O o) { return first_if(o, is_identity_permutation(o)); }},
    {Op::Permute, permute_chain},                                                        // m(m(x)) = m(x)
    {Op::Expand, [](O o) { return first_if(o, o.type.shape == o.in[0]->shape()); }},
    {Op::Expand, [](O o) { return o.in[0]->op() == Op::Expand ? move(o, operand(o.in[0])) : NodeRef(); }},
    {Op::Slice, [](O o) { return first_if(o, is_whole_slice(o)); }},
    {Op::Slice, slice_chain},
    {Op::Slice, slice_of_pad},
    {Op::Flip, flip_needed_dims},
    {Op::Flip, flip_chain},
    {Op::Pad, [](O o) { return first_if(o, pads_nothing(o)); }},
    {Op::Pad, pad_of_splat},
    {Op::Pad, pad_chain},
    {Op::Cat, [](O o) { return first_if(o, o.in.size() == 1); }},                        // cat(x) = x
    {Op::Cat, cat_without_empty_parts},
    {Op::Cat, cat_of_splats},
    {Op::Strided, strided_as_reshape},
    {Op::Strided, element_of_pad},
    {Op::Update, [](O o) { return first_if(o, o.in[1]->numel() == 0); }},                // nothing written
    {Op::Update, update_of_itself},                                                      // the view that is there
    {Op::Update, update_of_everything},
    {Op::Update, update_again},
};
// clang-format on

constexpr size_t kRuleCount = std::size(kRules);
constexpr size_t kOps = 256;

// kFirst[op] .. kFirst[op + 1]: the rules of an op, so that an op without rules costs nothing.
constexpr std::array<uint8_t, kOps + 1> kFirst = [] {
  std::array<uint8_t, kOps + 1> first{};
  size_t rule = 0;
  for (size_t op = 0; op <= kOps; ++op) {
    while (rule < kRuleCount && static_cast<size_t>(kRules[rule].op) < op) ++rule;
    first[op] = static_cast<uint8_t>(rule);
  }
  return first;
}();
static_assert(kRuleCount < 256);
static_assert(
    [] {
      for (size_t i = 1; i < kRuleCount; ++i) {
        if (kRules[i - 1].op > kRules[i].op) return false;
      }
      return true;
    }(),
    "the rules stand in the order of the op table");

// An op on splats is a splat, where `evaluate` is the last word on the bits: generated code computes the ops
// that expand with polynomials of its own, but integers are exact in any way.
NodeRef elementwise_on_splats(O o) {
  for (const NodeRef& x : o.in) {
    if (!is_const(x)) return {};
  }
  if (has_trait(o.op, TraitExpands) && is_float(o.in[0]->dtype())) return {};
  Constant args[3] = {};
  for (size_t i = 0; i < o.in.size(); ++i) args[i] = value_of(o.in[i]);
  return splat(o, evaluate(o.op, {args, o.in.size()}, o.type.dtype));
}

bool moves_one_operand(Op op) { return is_movement(op) && op != Op::Pad && op != Op::Cat; }

}  // namespace

NodeRef fold(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints, const NodeType& type) {
  const Operation o{op, inputs, ints, type};
  if (is_const(inputs[0])) {
    if (moves_one_operand(op)) return splat(o, value_of(inputs[0]));
    const bool keeps_value = op == Op::ReduceMax || op == Op::ReduceMin || op == Op::Any || op == Op::All;
    if (keeps_value && reduced_count(o) > 0) return splat(o, value_of(inputs[0]));
    if (is_elementwise(op)) {
      if (NodeRef node = elementwise_on_splats(o)) return node;
    }
  }
  if (is_scatter(op) && inputs[1]->numel() == 0) return inputs[0];
  for (size_t i = kFirst[static_cast<size_t>(op)]; i < kFirst[static_cast<size_t>(op) + 1]; ++i) {
    if (NodeRef node = kRules[i].apply(o)) return node;
  }
  return {};
}

bool rules_look_at(Op op) {
  switch (op) {
    case Op::Const:
    case Op::Neg:
    case Op::Abs:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
    case Op::Not:
    case Op::Cast:
    case Op::Bitcast:
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Update: return true;
    default: return is_movement(op);
  }
}

}  // namespace tenon::ir
