// Index expressions: integer functions of a kernel's axes, kept in one canonical form
//
//     constant + sum(coefficient * term),   term = axis  or  (expr mod m) / d   (m or d may be absent)
//
// with floor semantics for div and mod. Equal values built in different ways become the same expression
// wherever the rules below can see it, so "same index" is cheap to tell. Each expression knows its bounds
// over the axes' extents [0, extent) and its greatest known divisor; nearly every div and mod made by
// reshapes disappears.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/base/small_vector.h"
#include "ir/op/types.h"

namespace tenon::ir {

class Index;
using Axes = SmallVector<int, 8>;  // ids

struct Bounds {
  int64_t lo, hi;  // inclusive
};

namespace detail {
struct IndexRep;
}

class Index {
 public:
  Index();                                    // 0
  Index(int64_t constant);                    // NOLINT(implicit): literals read as indices
  static Index axis(int id, int64_t extent);  // values 0 .. extent-1; the constant 0 if extent <= 1

  friend Index operator+(const Index& a, const Index& b);
  friend Index operator-(const Index& a, const Index& b);
  friend Index operator*(const Index& a, int64_t k);
  friend bool operator==(const Index& a, const Index& b) { return a.rep_ == b.rep_ && a.constant_ == b.constant_; }

  bool is_constant() const;
  int64_t constant_part() const;
  Bounds bounds() const;
  int64_t divisor() const;  // the largest g known to divide every value; 0 for the constant 0

  // Canonical terms, in canonical order.
  struct Term {
    int64_t coefficient;
    int axis;        // >= 0 for a plain axis; -1 for a compound term
    int64_t extent;  // of the axis; 0 for a compound term
    // Compound: (inner mod modulus) / divisor; modulus 0 means no mod, otherwise divisor divides it.
    const detail::IndexRep* inner;
    int64_t modulus, divisor;
    Index inner_index() const;
  };
  std::span<const Term> terms() const;

  bool is_affine() const;           // every term is a plain axis
  bool depends_on(int axis) const;  // also inside compound terms
  Axes axes() const;                // those it depends on, ascending
  // c such that value(axis + 1) - value(axis) == c wherever both are in range; not ok when it varies.
  struct Stride {
    bool ok;
    int64_t value;
  };
  Stride stride(int axis) const;

  // Replaces axes; `f(axis, extent)` gives the new expression for an axis.
  Index substitute(const std::function<Index(int axis, int64_t extent)>& f) const;
  int64_t evaluate(std::span<const int64_t> axis_values) const;  // axis_values[id]

  // "1024*r + c", "(i mod 6) / 2"; `name(id)` prints an axis.
  std::string print(const std::function<std::string(int)>& name) const;
  uint64_t hash() const;

 private:
  friend struct detail::IndexRep;
  friend Index floor_div(const Index& a, int64_t d);
  friend Index floor_mod(const Index& a, int64_t m);
  struct Interned {
    const detail::IndexRep* rep;
    int64_t constant;
  };
  explicit Index(Interned interned) : rep_(interned.rep), constant_(interned.constant) {}
  // The terms, interned for the life of the process. The constant stands apart: a program that writes row after row
  // meets new ones all the time.
  const detail::IndexRep* rep_;
  int64_t constant_;
};

Index floor_div(const Index& a, int64_t d);  // d > 0
Index floor_mod(const Index& a, int64_t m);  // m > 0, result in [0, m)

// A text that is not an index expression; `offset` is where it goes wrong.
struct IndexSyntaxError : IrError {
  IndexSyntaxError(const std::string& reason, size_t where) : IrError(reason), offset(where) {}
  size_t offset;
};

// Parses what print writes; throws IndexSyntaxError. `axis(name)` gives the expression of an axis name, or
// throws IrError.
Index parse_index(std::string_view text, const std::function<Index(std::string_view name)>& axis);

// Row-major flat position of `indices` in `shape`, and back: the two halves of every reshape.
Index flatten(std::span<const Index> indices, std::span<const int64_t> shape);
SmallVector<Index, 4> unflatten(const Index& flat, std::span<const int64_t> shape);
// Both: where `indices` in the shape `from` lie in the shape `to`, which has as many elements.
SmallVector<Index, 4> reshape(std::span<const Index> indices, std::span<const int64_t> from, std::span<const int64_t> to);

}  // namespace tenon::ir
