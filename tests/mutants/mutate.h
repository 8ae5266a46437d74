// What the places of a mutated copy of ir/gradient/gradient.cpp do. One mutant is on at a time: `place`, `kind`. Included in the middle of
// that file, inside its namespace.
#pragma once

}  // the file's own namespace, for a moment
}  // namespace tenon::ir
#include "mutants/mutants.h"
namespace tenon::ir {
namespace {

using mutants::is_on;

// `a * Place{7} * b` is a * b, or what the mutant makes of it. Numbers and sizes stay as they are.
struct Place {
  int number;
};
template <typename A>
struct Left {
  A a;
  int number;
};

template <typename A, typename B>
constexpr bool kFormula = std::is_same_v<A, Expr> || std::is_same_v<B, Expr>;

// Kind 0: another operator; 1: the left operand alone, where it is a value; 2: the right one.
template <typename A, typename B, typename Right, typename Wrong>
auto either(const A& a, int number, const B& b, Right right, Wrong wrong) -> decltype(right(a, b)) {
  if constexpr (kFormula<A, B>) {
    if (is_on(number, 0)) return wrong(a, b);
    if constexpr (std::is_same_v<A, Expr>) {
      if (is_on(number, 1)) return a;
    }
    if constexpr (std::is_same_v<B, Expr>) {
      if (is_on(number, 2)) return b;
    }
  }
  return right(a, b);
}
// Comparisons and logic. Kind 0: another; 1: the border moved, where there is one.
template <typename A, typename B, typename Right, typename Wrong, typename Border>
auto either_truth(const A& a, int number, const B& b, Right right, Wrong wrong, Border border) -> decltype(right(a, b)) {
  if constexpr (kFormula<A, B>) {
    if (is_on(number, 0)) return wrong(a, b);
    if (is_on(number, 1)) return border(a, b);
  }
  return right(a, b);
}

#define LEFT(op)                                 \
  template <typename A>                          \
  Left<A> operator op(const A& a, Place place) { \
    return {a, place.number};                    \
  }
#define BINARY(op, other)                                                                                                               \
  LEFT(op)                                                                                                                              \
  template <typename A, typename B>                                                                                                     \
  auto operator op(const Left<A>& l, const B& b) {                                                                                      \
    return either(                                                                                                                      \
        l.a, l.number, b, [](const auto& x, const auto& y) { return x op y; }, [](const auto& x, const auto& y) { return x other y; }); \
  }
#define TRUTH(op, other, border)                                                                                                       \
  LEFT(op)                                                                                                                             \
  template <typename A, typename B>                                                                                                    \
  auto operator op(const Left<A>& l, const B& b) {                                                                                     \
    return either_truth(                                                                                                               \
        l.a, l.number, b, [](const auto& x, const auto& y) { return x op y; }, [](const auto& x, const auto& y) { return x other y; }, \
        [](const auto& x, const auto& y) { return x border y; });                                                                      \
  }
BINARY(+, -)
BINARY(-, +)
BINARY(*, /)
BINARY(/, *)
TRUTH(<, >=, <=)
TRUTH(>, <=, >=)
TRUTH(>=, <, >)
TRUTH(==, !=, <)
TRUTH(&, |, |)
TRUTH(|, &, &)
#undef BINARY
#undef TRUTH
#undef LEFT

double minus(int number) { return is_on(number, 0) ? 1 : -1; }
double changed(int number, double value) { return is_on(number, 0) ? value + 1 : value != 0 && is_on(number, 1) ? -value : value; }
int changed(int number, int value) { return is_on(number, 0) ? value + 1 : value; }

Op changed(int number, Op op) {
  if (!is_on(number, 0)) return op;
  switch (op) {
    case Op::Sum: return Op::ReduceMax;
    case Op::ReduceMin: return Op::ReduceMax;
    case Op::ReduceMax: return Op::ReduceMin;
    case Op::ScanSum: return Op::ScanMax;
    case Op::ScanProd: return Op::ScanSum;
    case Op::ScanMax: return Op::ScanMin;
    case Op::ScatterAdd: return Op::Scatter;
    case Op::Scatter: return Op::ScatterAdd;
    case Op::ScatterMul: return Op::ScatterAdd;
    case Op::Sign: return Op::Abs;
    case Op::ArgMax: return Op::ArgMin;
    case Op::ArgMin: return Op::ArgMax;
    case Op::Erfc: return Op::Erf;
    default: return op;
  }
}

// select(...): kind 0 the other way round; 1 and 2 always one of them.
struct Choice {
  int number;
  Expr operator()(const Expr& condition, const Expr& a, const Expr& b) const {
    if (is_on(number, 0)) return select(condition, b, a);
    if (is_on(number, 1)) return a;
    if (is_on(number, 2)) return b;
    return select(condition, a, b);
  }
};

// flipped(...), transposed(...): kind 0 not at all.
struct Turn {
  int number;
  template <typename F, typename... Dim>
  Expr operator()(F f, const Expr& x, Dim... dim) const {
    return is_on(number, 0) ? x : f(x, dim...);
  }
};

// The whole gradient: 0 negated, 1 doubled, 2 nothing, 3 the upstream gradient, 4 shifted by one place.
// Those that could not change anything are no mutants.
template <typename Formula>
Expr whole_row(int number, const GradStep& s, Formula formula) {
  const Expr result = formula();
  const bool like_upstream = s.g.dtype() == result.dtype() && s.g.shape() == result.shape();
  if (like_upstream && !(s.g.node == result.node) && is_on(number, 3)) return s.g;
  if (result.node->op() == Op::Const) return result;  // zeros: none of the others changes them
  if (is_on(number, 0)) return -result;
  if (is_on(number, 1)) return result + result;
  if (is_on(number, 2)) return ir::number(result, 0);
  if (is_on(number, 4)) {
    for (size_t d = result.shape().size(); d-- > 0;) {
      const int64_t size = result.shape()[d];
      if (size < 2) continue;
      Dims starts(result.shape().size(), 0), steps(result.shape().size(), 1), sizes = result.shape(), zeros = starts;
      starts[d] = 1;
      sizes[d] = size - 1;
      Dims high = zeros;
      high[d] = 1;
      const NodeRef filling = make_const(constant(result.dtype(), 0.0), Dims{}, result.node->device());
      return {pad(slice(result.node, starts, steps, sizes), filling, zeros, high)};
    }
  }
  return result;
}
