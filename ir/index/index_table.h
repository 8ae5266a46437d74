// The interned sums behind an Index: one for each, in a table of all. Only index_arithmetic.cpp looks inside.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "ir/base/mix.h"
#include "ir/index/index.h"
#include "ir/op/types.h"

namespace tenon::ir::detail {

using Term = Index::Term;

inline constexpr int kLastAxisBit = 63;

// One interned expression; its terms follow it in memory. The constant is 0 except inside of compound terms.
struct IndexRep {
  int64_t constant;
  Bounds bounds;
  int64_t divisor;
  uint64_t hash;
  uint64_t axis_mask;  // bit i: depends on axis i; the last bit: on that or a later one
  size_t count;

  const Term* begin() const { return reinterpret_cast<const Term*>(this + 1); }
  const Term* end() const { return begin() + count; }
  std::span<const Term> terms() const { return {begin(), count}; }
  static Index make(const IndexRep* terms, int64_t constant) { return Index(Index::Interned{terms, constant}); }
};
static_assert(sizeof(IndexRep) % alignof(Term) == 0, "terms follow the header directly");

// The sum of these terms, which are in canonical order.
const IndexRep* intern_rep(int64_t constant, std::span<const Term> terms);

// Canonical order: axes by number, then compound terms by structure (never by address: texts must be
// reproducible).
int compare_base(const Term& a, const Term& b);
Bounds bounds_of(const Term& t);  // without the coefficient

inline bool is_axis(const Term& t) { return t.axis >= 0; }
inline bool same_base(const Term& a, const Term& b) {
  return a.axis == b.axis && a.extent == b.extent && a.inner == b.inner && a.modulus == b.modulus && a.divisor == b.divisor;
}

// --- checked and floor arithmetic

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

[[noreturn]] inline void overflow() { throw IrError("index arithmetic overflows 64 bits"); }

inline int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) overflow();
  return sum;
}
inline int64_t mul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) overflow();
  return product;
}
inline int64_t saturate(__int128 x) { return x < kMin ? kMin : x > kMax ? kMax : static_cast<int64_t>(x); }
inline int64_t divide_down(int64_t a, int64_t d) { return a / d - (a % d < 0); }
inline int64_t remainder_down(int64_t a, int64_t m) { return a % m + (a % m < 0 ? m : 0); }
inline int64_t magnitude(int64_t a) { return a < 0 ? (a == kMin ? kMax : -a) : a; }

}  // namespace tenon::ir::detail
