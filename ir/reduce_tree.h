// The order in which a reduction combines its elements, as ir/kernel.h defines it (ReduceTree). Takes the
// extents of the reduced axes and three functions on an accumulator type of the caller's; both interpreters
// reduce through here.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "ir/kernel.h"

namespace tenon::ir {

// 64 lanes that fold by halves into one value.
template <typename Acc, typename Combine>
class ReduceLanes {
 public:
  ReduceLanes(const Acc& identity, Combine& combine) : combine_(combine) { lanes_.fill(identity); }
  void add(int64_t position, const Acc& value) {
    Acc& lane = lanes_[position % kReduceLanes];
    lane = combine_(lane, value);
  }
  Acc fold() {
    for (size_t half = lanes_.size() / 2; half > 0; half /= 2) {
      for (size_t lane = 0; lane < half; ++lane) lanes_[lane] = combine_(lanes_[lane], lanes_[lane + half]);
    }
    return lanes_[0];
  }

 private:
  std::array<Acc, kReduceLanes> lanes_;
  Combine& combine_;
};

// `outer` rows of `inner` elements each; element(row * inner + i).
template <typename Acc, typename Element, typename Combine>
Acc reduce_by_lanes(int64_t outer, int64_t inner, const Acc& identity, Element& element, Combine& combine) {
  if (outer == 0 || inner == 0) return identity;
  const bool wide = inner >= kLaneBlock;
  const int64_t rows_in_block = wide ? 1 : kLaneBlock / inner;
  const int64_t columns_in_block = wide ? kLaneBlock : inner;
  ReduceLanes<Acc, Combine> total(identity, combine);
  int64_t blocks = 0;
  Acc value = identity;
  for (int64_t row = 0; row < outer; row += rows_in_block) {
    for (int64_t column = 0; column < inner; column += columns_in_block) {
      ReduceLanes<Acc, Combine> block(identity, combine);
      for (int64_t o = row; o < std::min(outer, row + rows_in_block); ++o) {
        for (int64_t i = column; i < std::min(inner, column + columns_in_block); ++i) {
          block.add(i, element(o * inner + i));
        }
      }
      value = block.fold();
      total.add(blocks++, value);
    }
  }
  return blocks == 1 ? value : total.fold();
}

template <typename Acc, typename Element, typename Combine>
Acc reduce_by_columns(int64_t count, const Acc& identity, Element& element, Combine& combine) {
  Acc total = identity;
  for (int64_t begin = 0; begin < count; begin += kColumnBlock) {
    Acc block = identity;
    for (int64_t o = begin; o < std::min(count, begin + kColumnBlock); ++o)
      block = combine(block, element(o));
    total = combine(total, block);
  }
  return total;
}

// Acc element(int64_t flat): the value at a row-major position within the reduced axes. Acc combine(Acc,
// Acc).
template <typename Acc, typename Element, typename Combine>
Acc reduce_in_order(ReduceTree tree, std::span<const int64_t> extents, const Acc& identity, Element element,
                    Combine combine) {
  const int64_t count = element_count(extents);
  if (tree == ReduceTree::Columns) return reduce_by_columns(count, identity, element, combine);
  const int64_t inner = extents.empty() ? 1 : extents.back();
  return reduce_by_lanes(inner ? count / inner : 0, inner, identity, element, combine);
}

}  // namespace tenon::ir
