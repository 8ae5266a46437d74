// The order in which a reduction combines its elements, as ir/kernel/kernel.h defines it (ReduceTree). Takes the
// extents of the reduced axes and some functions on an accumulator type of the caller's; both interpreters
// reduce through here.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "ir/kernel/kernel.h"
#include "ir/op/sum_order.h"

namespace tenon::ir {

// What a block of the Lanes tree takes: rows of the outer axes, and elements of the innermost.
struct LaneBlock {
  int64_t rows, columns;
  int64_t steps() const { return rows * ((columns + kReduceLanes - 1) / kReduceLanes); }  // of a lane
};
inline LaneBlock lane_block(int64_t outer, int64_t inner) {
  if (inner >= kLaneBlock) return {1, kLaneBlock};
  return {std::min(outer, kLaneBlock / std::max<int64_t>(inner, 1)), inner};
}

// A total of what keeps no rest, and so is one chain.
template <typename Acc, typename Combine>
class PlainTotal {
 public:
  static constexpr bool kOfChains = false;
  PlainTotal(const Acc& identity, Combine& combine) : value_(identity), combine_(&combine) {}
  void add(const Acc& part) { value_ = (*combine_)(value_, part); }
  void add(const PlainTotal& other) { add(other.value_); }
  Acc value() const { return value_; }

 private:
  Acc value_;
  Combine* combine_;
};

// Elements in order, in chains: of one lane, or column. `one`: all are one chain.
template <typename Acc, typename Combine, typename Total>
class ReduceChains {
 public:
  ReduceChains(bool one, const Acc& identity, Combine& combine, const Total& total)
      : one_(one || !Total::kOfChains), identity_(identity), chain_(identity), combine_(&combine), total_(total) {}
  void add(const Acc& element) { chain_ = (*combine_)(chain_, element); }
  void end_chain() {
    if (one_) return;
    total_.add(chain_);
    chain_ = identity_;
  }
  Acc value() {
    end_chain();
    return one_ ? chain_ : total_.value();
  }

 private:
  bool one_;
  Acc identity_, chain_;
  Combine* combine_;
  Total total_;
};

// 64 lanes, folded by halves: fold(a, b) adds b to a.
template <typename Lane, typename Fold>
Lane fold_lanes(std::vector<Lane>& lanes, Fold fold) {
  for (size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) fold(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

// `outer` rows of `inner` elements each; element(row * inner + i).
template <typename Acc, typename Element, typename Combine, typename Total>
Acc reduce_by_lanes(int64_t outer, int64_t inner, const Acc& identity, Element& element, Combine& combine, const Total& total) {
  if (outer == 0 || inner == 0) return identity;
  const LaneBlock size = lane_block(outer, inner);
  std::vector<Total> block_lanes(kReduceLanes, total);
  int64_t blocks = 0;
  Acc value = identity;
  for (int64_t row = 0; row < outer; row += size.rows) {
    for (int64_t column = 0; column < inner; column += size.columns) {
      std::vector<ReduceChains<Acc, Combine, Total>> lanes(kReduceLanes, {size.steps() <= kShortReduce, identity, combine, total});
      for (int64_t o = row; o < std::min(outer, row + size.rows); ++o) {
        for (int64_t i = column; i < std::min(inner, column + size.columns); ++i) {
          if ((i - column) / kReduceLanes % kReduceChain == 0) lanes[i % kReduceLanes].end_chain();
          lanes[i % kReduceLanes].add(element(o * inner + i));
        }
      }
      std::vector<Acc> values;
      for (auto& lane : lanes) values.push_back(lane.value());
      value = fold_lanes(values, [&](Acc& a, const Acc& b) { a = combine(a, b); });
      block_lanes[blocks++ % kReduceLanes].add(value);
    }
  }
  return blocks == 1 ? value : fold_lanes(block_lanes, [](Total& a, const Total& b) { a.add(b); }).value();
}

template <typename Acc, typename Element, typename Combine, typename Total>
Acc reduce_by_columns(int64_t count, const Acc& identity, Element& element, Combine& combine, const Total& start) {
  Total total = start;
  Acc value = identity;
  for (int64_t begin = 0; begin < count; begin += kColumnBlock) {
    ReduceChains<Acc, Combine, Total> block(count <= kShortReduce, identity, combine, start);
    for (int64_t o = begin; o < std::min(count, begin + kColumnBlock); ++o) {
      if (o % kReduceChain == 0) block.end_chain();
      block.add(element(o));
    }
    value = block.value();
    total.add(value);
  }
  return count <= kColumnBlock ? value : total.value();
}

// Acc element(int64_t flat): the value at a row-major position within the reduced axes. Acc combine(Acc,
// Acc). `total`: at the identity, of the kind that the reduction keeps (Total, PlainTotal).
template <typename Acc, typename Element, typename Combine, typename Total>
Acc reduce_in_order(ReduceTree tree, std::span<const int64_t> extents, const Acc& identity, Element element, Combine combine,
                    const Total& total) {
  const int64_t count = element_count(extents);
  if (tree == ReduceTree::Columns) return reduce_by_columns(count, identity, element, combine, total);
  const int64_t inner = extents.empty() ? 1 : extents.back();
  return reduce_by_lanes(inner ? count / inner : 0, inner, identity, element, combine, total);
}
template <typename Acc, typename Element, typename Combine>
Acc reduce_in_order(ReduceTree tree, std::span<const int64_t> extents, const Acc& identity, Element element, Combine combine) {
  return reduce_in_order(tree, extents, identity, element, combine, PlainTotal<Acc, Combine>(identity, combine));
}

}  // namespace tenon::ir
