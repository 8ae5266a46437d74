// Vectors that keep their first elements inside.
#include "ir/base/small_vector.h"

#include <doctest/doctest.h>
#include <numeric>

namespace tenon {
namespace {

template <uint32_t N>
SmallVector<int64_t, N> numbers(size_t count) {
  SmallVector<int64_t, N> result(count, 0);
  std::iota(result.begin(), result.end(), int64_t{1});
  return result;
}

template <uint32_t N>
void check_copies_and_moves() {
  for (size_t count = 0; count <= 2 * N + 1; ++count) {
    for (size_t before = 0; before <= 2 * N + 1; before += N) {
      CAPTURE(N);
      CAPTURE(count);
      CAPTURE(before);
      const auto expected = numbers<N>(count);
      auto copied = expected;
      CHECK(copied == expected);
      auto moved = std::move(copied);
      CHECK(moved == expected);
      CHECK(copied.empty());  // NOLINT: a vector that was moved from is empty, and can be used again
      copied.push_back(7);
      CHECK(copied == SmallVector<int64_t, N>{7});
      auto assigned = numbers<N>(before);
      assigned = expected;
      CHECK(assigned == expected);
      auto move_assigned = numbers<N>(before);
      move_assigned = std::move(moved);
      CHECK(move_assigned == expected);
    }
  }
}

}  // namespace

TEST_CASE("small vector: copies and moves have all elements, inside and on the heap") {
  check_copies_and_moves<1>();
  check_copies_and_moves<8>();  // 64 bytes inside
  check_copies_and_moves<9>();  // more than are copied whole
  check_copies_and_moves<24>();
}

}  // namespace tenon
