// Keys to sort by: an element becomes an unsigned number in whose order it sorts (complemented to sort descending), so
// that only keys are compared, whatever the dtype. What sorting and selecting share: the lines, and radix sorting of keys with
// their places.
//
//   float 1.5   0 01111111 100...   ->   1 01111111 100...     sign bit set
//   float -1.5  1 01111111 100...   ->   0 10000000 011...     all bits flipped
//   -0.0 becomes 0.0, every nan the greatest key
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "ir/graph/node.h"
#include "runtime/cpu/vectorised.h"
#include "runtime/cpu/words.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime {

template <typename Key, typename Place>
struct Item {
  Key key;
  Place place;

  friend bool operator<(const Item& a, const Item& b) { return a.key != b.key ? a.key < b.key : a.place < b.place; }
};

// How the bits of a dtype become a key.
struct Order {
  uint64_t sign = 0;      // 0: unsigned
  uint64_t infinity = 0;  // 0: no float
  uint64_t flip = 0;      // all ones: descending

  Order(ir::DType dtype, bool descending) : flip(descending ? ~uint64_t{0} : 0) {
    if (ir::is_signed(dtype)) sign = uint64_t{1} << (8 * ir::item_size(dtype) - 1);
    if (ir::is_float(dtype)) infinity = ir::constant(dtype, std::numeric_limits<double>::infinity()).bits;
  }

  template <typename Key>
  TENON_INLINE Key key(Key bits) const {
    const auto top = static_cast<Key>(sign), inf = static_cast<Key>(infinity);
    auto key = static_cast<Key>(bits ^ top);
    if (inf != 0) {
      const auto magnitude = static_cast<Key>(bits & static_cast<Key>(~top));
      const bool negative = (bits & top) != 0 && magnitude != 0;
      key = negative ? static_cast<Key>(~bits) : static_cast<Key>(magnitude | top);
      if (magnitude > inf) key = static_cast<Key>(~Key{0});
    }
    return static_cast<Key>(key ^ static_cast<Key>(flip));
  }
};

// A line: `count` elements `stride` apart, along one dim of a tensor. Lines are numbered (outer, inner).
struct Lines {
  int64_t count, stride, outer;
  int64_t lines() const { return outer * stride; }
  int64_t first(int64_t line) const { return line / stride * count * stride + line % stride; }
};

// Places first .. first + count - 1 of a line's order.
struct Ranks {
  int64_t first, count;
};

// What a Sort or a SortPart computes: where in its line each element lies that has one of the ranks. Equal elements keep their order;
// nan is the greatest.
struct SortedLines {
  SortedLines(const ir::Node& node, void* const* buffers);

  ir::DType dtype;
  Lines lines;
  Ranks ranks;
  Lines results;
  Order order;
  const void* x;
  int64_t* result;
};
void sort_lines(const SortedLines& sorted);

// f(Key(), Place()): types for the keys of a dtype, and for places in lines of `count` elements.
template <typename F>
void with_key_and_place(ir::DType dtype, int64_t count, F f) {
  const auto with_place = [&](auto key) {
    if (count <= std::numeric_limits<uint32_t>::max()) {
      f(key, uint32_t{});
    } else {
      f(key, uint64_t{});
    }
  };
  with_word(ir::item_size(dtype), with_place);
}

template <typename T>
class Array {
 public:
  explicit Array(int64_t count) : memory_(Buffer::allocate(static_cast<size_t>(count) * sizeof(T))) {}
  T* data() const { return static_cast<T*>(memory_->data()); }

 private:
  std::shared_ptr<Buffer> memory_;
};

inline constexpr size_t kDigits = 256;

template <typename Key>
size_t digit(Key key, size_t byte) {
  return static_cast<size_t>(key >> (8 * byte)) & (kDigits - 1);
}

template <typename Element>
void move_by_digit(const Element* from, int64_t count, size_t byte, int64_t* starts, Element* to) {
  for (int64_t i = 0; i < count; ++i) to[starts[digit(from[i].key, byte)]++] = from[i];
}

// Sorts `count` elements of `from` by their keys, equal ones in their order. `to` has room for as many; afterwards the
// sorted ones are in `from`, which may have changed places with it.
template <typename Key, typename Place>
void radix_sort(Item<Key, Place>*& from, Item<Key, Place>*& to, int64_t count) {
  std::array<std::array<Place, kDigits>, sizeof(Key)> counts;
  for (auto& of_byte : counts) of_byte.fill(0);
  for (int64_t i = 0; i < count; ++i) {
    for (size_t byte = 0; byte < sizeof(Key); ++byte) ++counts[byte][digit(from[i].key, byte)];
  }
  for (size_t byte = 0; byte < sizeof(Key); ++byte) {
    if (static_cast<int64_t>(counts[byte][digit(from[0].key, byte)]) == count) continue;  // the same everywhere
    int64_t starts[kDigits], next = 0;
    for (size_t d = 0; d < kDigits; ++d) {
      starts[d] = next;
      next += static_cast<int64_t>(counts[byte][d]);
    }
    move_by_digit(from, count, byte, starts, to);
    std::swap(from, to);
  }
}

}  // namespace tenon::runtime
