// The order in which floats are added up, so that the error of a sum does not grow with the number of its
// terms. Interpreters add through here; every schedule follows it to the bit.
//
//   chain   a few terms, one after the other: kProductChain of a product's k, kReduceChain of a lane or column of a reduction.
//           Tensor cores add 16 products at once: a chain of theirs is as many additions, kTileChain of k
//   group   of a product, the sums of kProductGroup chains, one after the other
//   total   the chains or groups, one after the other, where what each addition rounds away is kept beside the sum (Kahan, 1965;
//           Neumaier, 1974):
//             next = sum + part;  rest += part - (next - sum);  sum = next            in the end sum + rest
//
// A product of up to kProductChain terms is one chain, of as many as a group has one group. A lane of a block
// of the Lanes tree, or a block of a column (ir/kernel/kernel.h, ReduceTree), that has more than kShortReduce
// elements adds them in chains, which end with each row of the innermost axis. The lanes of block values, and
// the blocks of a column, are totals of the blocks' values, and are folded as totals.
//
// So a term goes through the roundings of its chain and group and about one more, however many there are. A
// sum that is infinite or nan has no rest. Integers and extremes may be grouped at will, products of floats
// may leave the type's range: they keep plain order.
#pragma once

#include "ir/op/ops.h"

namespace tenon::ir {

inline constexpr int64_t kProductChain = 256, kProductGroup = 16, kTileChain = 16 * kProductChain;
inline constexpr int64_t kReduceChain = 4, kShortReduce = 16;

// Whether a reduction, or a contraction (Op::Contract), keeps totals.
inline bool keeps_rest(Op op, DType dtype) { return is_float(dtype) && (op == Op::Sum || op == Op::Contract); }

// Whether a product of so many k is more than a chain, and more than a group.
inline bool product_in_chains(DType dtype, int64_t depth, int64_t chain = kProductChain) {
  return keeps_rest(Op::Contract, dtype) && depth > chain;
}
inline bool product_in_groups(DType dtype, int64_t depth, int64_t chain = kProductChain) {
  return product_in_chains(dtype, depth, chain * kProductGroup);
}

// A total of a type with + - ==. Totals are added as parts are, their rests with them.
template <typename T>
class Total {
 public:
  static constexpr bool kOfChains = true;
  explicit Total(const T& zero) : zero_(zero), sum_(zero), rest_(zero) {}
  void add(const T& part) {
    const T next = sum_ + part;
    rest_ = rest_ + (part - (next - sum_));
    sum_ = next;
  }
  void add(const Total& other) {
    rest_ = rest_ + other.rest_;
    add(other.sum_);
  }
  T value() const { return sum_ - sum_ == zero_ ? sum_ + rest_ : sum_; }

 private:
  T zero_, sum_, rest_;
};

// A product of `depth` terms: chain(begin, end) is the sum of those.
template <typename T, typename Chain>
T add_product(DType dtype, int64_t depth, const T& zero, const Chain& chain) {
  if (!product_in_chains(dtype, depth)) return chain(int64_t{0}, depth);
  Total<T> total(zero);
  T group = zero;
  for (int64_t begin = 0; begin < depth; begin += kProductChain) {
    if (begin % (kProductChain * kProductGroup) == 0) {
      total.add(group);
      group = zero;
    }
    group = group + chain(begin, begin + kProductChain < depth ? begin + kProductChain : depth);
  }
  if (!product_in_groups(dtype, depth)) return group;
  total.add(group);
  return total.value();
}

}  // namespace tenon::ir
