// Index arithmetic: hash-consed canonical sums and the rules that keep div and mod out of them.
// Takes sums of axes; gives interned expressions with bounds and divisors. All arithmetic is checked for
// overflow.
//
// A compound term is a run of digits of its inner expression: digits(x, d, m) = (x mod m) / d, where d
// divides m, or m is 0 and stands for infinity. Every rule below is an identity over all integers except
// where it names a range.
#include "ir/index/index.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "ir/base/fork.h"
#include "ir/index/index_table.h"

namespace tenon::ir {
namespace {

using namespace detail;

bool bounded(Bounds b) { return b.lo != kMin && b.hi != kMax; }

// k such that d*k <= e < d*(k+1) for every value of e, if there is one.
bool one_period(Bounds b, int64_t d, int64_t& k) {
  k = divide_down(b.lo, d);
  return bounded(b) && divide_down(b.hi, d) == k;
}

Index intern(int64_t constant, std::span<const Term> terms) {
  return terms.empty() ? Index(constant) : IndexRep::make(intern_rep(0, terms), constant);
}

// --- sums ----------------------------------------------------------------------------------------------
Index digits(const Index& x, int64_t d, int64_t m);

// A sum under construction, its terms in canonical order.
struct Sum {
  int64_t constant = 0;
  SmallVector<Term, 6> terms;

  void add_term(const Term& t, int64_t coefficient) {
    if (coefficient == 0) return;
    auto at = std::lower_bound(terms.begin(), terms.end(), t, [](const Term& a, const Term& b) { return compare_base(a, b) < 0; });
    size_t position = static_cast<size_t>(at - terms.begin());
    if (at != terms.end() && same_base(*at, t)) {
      at->coefficient = add(at->coefficient, coefficient);
      if (at->coefficient == 0) terms.erase(position);
      return;
    }
    Term fresh = t;
    fresh.coefficient = coefficient;
    terms.insert(position, fresh);
  }
  void add_scaled(const Index& e, int64_t k) {
    constant = add(constant, mul(e.constant_part(), k));
    for (const Term& t : e.terms()) add_term(t, mul(t.coefficient, k));
  }
  Index finish() {
    while (recombine()) {
    }
    return intern(constant, terms);
  }

 private:
  bool recombine();
  bool join_digits(const Term& low, const Term& high);
  bool join_remainder(const Term& low, const Term& high);
  void replace(Term low, Term high, const Index& joined);
};

Index term_index(Term t) {
  t.coefficient = 1;
  return intern(0, {&t, 1});
}
Index make_term(const Index& inner, int64_t m, int64_t d) {
  Term t{};
  t.coefficient = 1;
  t.axis = -1;
  t.inner = intern_rep(inner.constant_part(), inner.terms());
  t.modulus = m;
  t.divisor = d;
  return intern(0, {&t, 1});
}

// The one compound term that `e` consists of, or null.
const Term* single_compound(const Index& e) {
  bool single = e.terms().size() == 1 && e.constant_part() == 0;
  return single && e.terms()[0].coefficient == 1 && !is_axis(e.terms()[0]) ? &e.terms()[0] : nullptr;
}

// --- division ------------------------------------------------------------------------------------------
// Quotient and remainder come from one list of rules, so that d*(e/d) + e%d always finds its way back to e.
enum class Want : uint8_t { Quotient, Remainder };

Index divide(const Index& e, int64_t d, Want want);

// e = d*Q + R with the residues of R's coefficients toward zero or, with `nearest`, of the smallest
// magnitude.
void split_multiples(const Index& e, int64_t d, bool nearest, Sum& quotient, Sum& rest) {
  quotient.constant = divide_down(e.constant_part(), d);
  rest.constant = remainder_down(e.constant_part(), d);
  for (const Term& t : e.terms()) {
    int64_t q = t.coefficient / d, r = t.coefficient % d;
    if (nearest && magnitude(r) > d / 2) {
      q += r < 0 ? -1 : 1;
      r -= r < 0 ? -d : d;
    }
    quotient.add_term(t, q);
    rest.add_term(t, r);
  }
}

// c*(x mod m)/a + y, taken mod d where d divides c*(m/a): the inner mod changes only multiples of d, so it
// can go.
bool drop_inner_mods(Index& e, int64_t d) {
  for (const Term& t : e.terms()) {
    if (is_axis(t) || t.modulus == 0) continue;
    __int128 period = static_cast<__int128>(t.coefficient) * (t.modulus / t.divisor);
    if (period % d != 0) continue;
    Sum sum;
    sum.add_scaled(e, 1);
    sum.add_term(t, -t.coefficient);
    sum.add_scaled(digits(t.inner_index(), t.divisor, 0), t.coefficient);
    e = sum.finish();
    return true;
  }
  return false;
}

// e = g*A + B with g dividing d and B within one [k*g, (k+1)*g):
//   e / d = (A + k) / (d/g)        e mod d = g*((A + k) mod (d/g)) + B - k*g
bool divide_by_factor(const Index& e, int64_t d, Want want, Index& result) {
  int64_t tried = d;
  for (;;) {
    int64_t g = 1;  // the next smaller candidate
    for (const Term& t : e.terms()) {
      int64_t candidate = std::gcd(d, magnitude(t.coefficient));
      if (candidate < tried) g = std::max(g, candidate);
    }
    if (g == 1) return false;
    tried = g;
    Sum a, b;
    b.constant = e.constant_part();
    for (const Term& t : e.terms()) {
      if (t.coefficient % g == 0) {
        a.add_term(t, t.coefficient / g);
      } else {
        b.add_term(t, t.coefficient);
      }
    }
    Index low = intern(b.constant, b.terms);
    if (!one_period(low.bounds(), g, a.constant)) continue;
    Index high = divide(a.finish(), d / g, want);
    result = want == Want::Quotient ? high : high * g + (low - Index(a.constant) * g);
    return true;
  }
}

// e is one run of digits (x mod m) / a.
Index divide_digits(const Term& t, int64_t d, Want want) {
  Index x = t.inner_index();
  int64_t a = t.divisor, ad = mul(a, d);
  // (x/a) / d = x/(a*d)      (x/a) mod d = (x mod a*d) / a      both also within x mod m if a*d divides m
  if (t.modulus == 0 || t.modulus % ad == 0) {
    return want == Want::Quotient ? digits(x, ad, t.modulus) : digits(x, a, ad);
  }
  Index y = a == 1 ? term_index(t) : make_term(x, t.modulus, 1);  // y = x mod m
  return want == Want::Quotient ? make_term(y, 0, ad) : make_term(y, ad, a);
}

Index divide(const Index& e, int64_t d, Want want) {
  bool quotient = want == Want::Quotient;
  if (d == 1) return quotient ? e : Index(0);
  int64_t k;
  // d*k <= e < d*(k+1):  e/d = k,  e mod d = e - d*k
  if (one_period(e.bounds(), d, k)) return quotient ? Index(k) : e - Index(d) * k;

  // (d*Q + R) / d = Q + R/d,  (d*Q + R) mod d = R mod d
  Sum multiples, rest;
  split_multiples(e, d, false, multiples, rest);
  Index remainder = rest.finish();
  if (!(remainder == e)) {
    Index r = divide(remainder, d, want);
    return quotient ? multiples.finish() + r : r;
  }
  if (Index dropped = e; !quotient && drop_inner_mods(dropped, d)) return divide(dropped, d, want);

  // The same with residues around zero, if that R stays within one period: 3*x mod 4 = 4 - x for x in 1..4.
  Sum near_multiples, near_rest;
  split_multiples(e, d, true, near_multiples, near_rest);
  Index near = near_rest.finish();
  if (one_period(near.bounds(), d, k)) {
    return quotient ? near_multiples.finish() + Index(k) : near - Index(d) * k;
  }
  if (Index result; divide_by_factor(e, d, want, result)) return result;
  if (const Term* t = single_compound(e)) return divide_digits(*t, d, want);
  return quotient ? make_term(e, 0, d) : make_term(e, d, 1);
}

// (x mod m) / d; d divides m, or m is 0: no mod.
Index digits(const Index& x, int64_t d, int64_t m) {
  if (m == 0) return divide(x, d, Want::Quotient);
  Index low = divide(x, m, Want::Remainder);
  if (d == 1) return low;
  const Term* mod = single_compound(low);
  if (!mod || mod->modulus != m || mod->divisor != 1) return divide(low, d, Want::Quotient);
  // (r mod m) / d = (r/d) mod (m/d): prefer the left side only where r/d does not simplify
  Index r = mod->inner_index(), high = divide(r, d, Want::Quotient);
  const Term* div = single_compound(high);
  bool irreducible = div && div->inner == mod->inner && div->divisor == d && div->modulus == 0;
  return irreducible ? make_term(r, m, d) : divide(high, m / d, Want::Remainder);
}

// --- recombination: digits that a reshape took apart become one number again ---------------------------
void Sum::replace(Term low, Term high, const Index& joined) {
  add_term(low, -low.coefficient);
  add_term(high, -high.coefficient);
  add_scaled(joined, low.coefficient);
}

// digits(x, d, m) + (m/d) * digits(x, m, M) = digits(x, d, M); with M = infinity and d = 1: x mod m + m*(x/m)
// = x
bool Sum::join_digits(const Term& low, const Term& high) {
  int64_t ratio = high.coefficient / low.coefficient, m = high.divisor;
  if (ratio < 2 || m % ratio != 0) return false;
  Index x = high.inner_index();
  if (!(digits(x, m / ratio, m) == term_index(low))) return false;
  replace(low, high, digits(x, m / ratio, high.modulus));
  return true;
}

// s + a*(y mod k) = (a*y + s) mod (a*k) for s in [0, a); worth it where a*y + s recombines in turn
bool Sum::join_remainder(const Term& low, const Term& high) {
  int64_t ratio = high.coefficient / low.coefficient;
  if (ratio < 2 || high.modulus == 0 || high.divisor != 1) return false;
  Bounds s = bounds_of(low);
  if (s.lo < 0 || s.hi >= ratio) return false;
  Index y = high.inner_index(), whole = y * ratio + term_index(low);
  if (whole.terms().size() > y.terms().size()) return false;
  Index joined = divide(whole, mul(ratio, high.modulus), Want::Remainder);
  if (joined.terms().size() > 1) return false;
  replace(low, high, joined);
  return true;
}

// Applies one rule to one pair of compound terms; false when there is none.
bool Sum::recombine() {
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = 0; j < terms.size(); ++j) {
      const Term &low = terms[i], &high = terms[j];
      if (i == j || is_axis(low) || is_axis(high) || high.coefficient % low.coefficient != 0) continue;
      if (join_digits(low, high) || join_remainder(low, high)) return true;
    }
  }
  return false;
}

// Every axis of `e`, also those in compound terms.
void collect_axes(const IndexRep* e, std::vector<const IndexRep*>& seen, Axes& axes) {
  if (std::find(seen.begin(), seen.end(), e) != seen.end()) return;
  seen.push_back(e);
  for (const Term& t : e->terms()) {
    if (is_axis(t)) {
      axes.push_back(t.axis);
    } else {
      collect_axes(t.inner, seen, axes);
    }
  }
}

using AxisMap = std::function<Index(int axis, int64_t extent)>;

Index substitute_rep(const IndexRep* e, const AxisMap& f, std::unordered_map<const IndexRep*, Index>& done) {
  if (auto it = done.find(e); it != done.end()) return it->second;
  Sum sum;
  sum.constant = e->constant;
  for (const Term& t : e->terms()) {
    Index replaced = is_axis(t) ? f(t.axis, t.extent) : digits(substitute_rep(t.inner, f, done), t.divisor, t.modulus);
    sum.add_scaled(replaced, t.coefficient);
  }
  Index result = sum.finish();
  if (!std::ranges::all_of(e->terms(), is_axis)) done.emplace(e, result);
  return result;
}

int64_t evaluate_rep(const IndexRep* e, std::span<const int64_t> axis_values) {
  int64_t value = e->constant;
  for (const Term& t : e->terms()) {
    int64_t base;
    if (is_axis(t)) {
      base = axis_values[t.axis];
    } else {
      base = evaluate_rep(t.inner, axis_values);
      if (t.modulus != 0) base = remainder_down(base, t.modulus);
      base = divide_down(base, t.divisor);
    }
    value += t.coefficient * base;
  }
  return value;
}

}  // namespace

// --- the public face -----------------------------------------------------------------------------------
Index::Index(int64_t constant) {
  static const IndexRep* const no_terms = intern_rep(0, {});
  rep_ = no_terms;
  constant_ = constant;
}
Index::Index() : Index(int64_t{0}) {}
[[maybe_unused]] static const bool made_before_fork = make_before_fork([] { Index(); });

Index Index::axis(int id, int64_t extent) {
  if (id < 0) throw IrError("an axis has a negative number");
  if (extent <= 1) return Index(0);
  Term t{};
  t.coefficient = 1;
  t.axis = id;
  t.extent = extent;
  t.divisor = 1;
  return intern(0, {&t, 1});
}

Index Index::Term::inner_index() const { return intern(inner->constant, inner->terms()); }

Index operator+(const Index& a, const Index& b) {
  Sum sum;
  sum.add_scaled(a, 1);
  sum.add_scaled(b, 1);
  return sum.finish();
}
Index operator-(const Index& a, const Index& b) {
  Sum sum;
  sum.add_scaled(a, 1);
  sum.add_scaled(b, -1);
  return sum.finish();
}
Index operator*(const Index& a, int64_t k) {
  Sum sum;
  if (k != 0) sum.add_scaled(a, k);
  return sum.finish();
}

bool Index::is_constant() const { return rep_->count == 0; }
int64_t Index::constant_part() const { return constant_; }
Bounds Index::bounds() const {
  Bounds b = rep_->bounds;
  if (b.lo != kMin) b.lo = saturate(static_cast<__int128>(b.lo) + constant_);
  if (b.hi != kMax) b.hi = saturate(static_cast<__int128>(b.hi) + constant_);
  return b;
}
int64_t Index::divisor() const { return std::gcd(rep_->divisor, magnitude(constant_)); }
std::span<const Term> Index::terms() const { return rep_->terms(); }
uint64_t Index::hash() const { return mix(rep_->hash, static_cast<uint64_t>(constant_)); }

bool Index::is_affine() const { return std::all_of(rep_->begin(), rep_->end(), is_axis); }

Axes Index::axes() const {
  Axes axes;
  if (rep_->axis_mask >> kLastAxisBit == 0) {
    for (uint64_t left = rep_->axis_mask; left != 0; left &= left - 1) axes.push_back(std::countr_zero(left));
    return axes;
  }
  std::vector<const IndexRep*> seen;
  collect_axes(rep_, seen, axes);
  std::sort(axes.begin(), axes.end());
  axes.resize(static_cast<size_t>(std::unique(axes.begin(), axes.end()) - axes.begin()));
  return axes;
}

bool Index::depends_on(int axis) const {
  if (axis < 0 || !(rep_->axis_mask >> std::min(axis, kLastAxisBit) & 1)) return false;
  if (axis < kLastAxisBit) return true;
  const Axes all = axes();
  return std::binary_search(all.begin(), all.end(), axis);
}

Index::Stride Index::stride(int axis) const {
  int64_t direct = 0;
  bool compound = false;
  for (const Term& t : rep_->terms()) {
    if (t.axis == axis) direct = t.coefficient;
    compound |= !is_axis(t) && t.inner_index().depends_on(axis);
  }
  if (!compound) return {true, direct};
  auto shifted = [&](int64_t by) {  // over the values that have a successor
    return substitute(
        [&](int id, int64_t extent) { return id == axis ? Index::axis(id, extent - 1) + Index(by) : Index::axis(id, extent); });
  };
  Index step = shifted(1) - shifted(0);
  return {step.is_constant(), step.is_constant() ? step.constant_part() : 0};
}

Index Index::substitute(const AxisMap& f) const {
  std::unordered_map<const IndexRep*, Index> done;
  Index result = substitute_rep(rep_, f, done);
  result.constant_ = add(result.constant_, constant_);
  return result;
}

int64_t Index::evaluate(std::span<const int64_t> axis_values) const { return evaluate_rep(rep_, axis_values) + constant_; }

Index floor_div(const Index& a, int64_t d) {
  if (d <= 0) throw IrError("floor_div by " + std::to_string(d) + ": the divisor must be positive");
  return divide(a, d, Want::Quotient);
}
Index floor_mod(const Index& a, int64_t m) {
  if (m <= 0) throw IrError("floor_mod by " + std::to_string(m) + ": the modulus must be positive");
  return divide(a, m, Want::Remainder);
}

Index flatten(std::span<const Index> indices, std::span<const int64_t> shape) {
  Dims strides = contiguous_strides(shape);
  Sum sum;
  for (size_t i = 0; i < indices.size(); ++i) sum.add_scaled(indices[i], strides[i]);
  return sum.finish();
}

// `flat` lies within the shape, so the outermost dim needs no mod; a dim of size 1 (or 0) has index 0.
SmallVector<Index, 4> unflatten(const Index& flat, std::span<const int64_t> shape) {
  Dims strides = contiguous_strides(shape);
  SmallVector<Index, 4> indices(shape.size(), Index());
  bool outermost = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] <= 1) continue;
    indices[i] = digits(flat, strides[i], outermost ? 0 : mul(strides[i], shape[i]));
    outermost = false;
  }
  return indices;
}

// Neighbouring dims that hold as many elements on both sides stand for themselves: a dim that both have keeps its index.
SmallVector<Index, 4> reshape(std::span<const Index> indices, std::span<const int64_t> from, std::span<const int64_t> to) {
  SmallVector<Index, 4> result(to.size(), Index());
  if (std::ranges::find(from, 0) != from.end()) return result;
  for (size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    const size_t first = i, first_to = j;
    int64_t elements = from[i++], wanted = to[j++];
    while (elements != wanted) (elements < wanted ? elements *= from[i++] : wanted *= to[j++]);
    if (j - first_to == 1 && i - first == 1) {
      if (wanted != 1) result[first_to] = indices[first];
      continue;
    }
    const Index flat = flatten(indices.subspan(first, i - first), from.subspan(first, i - first));
    const auto parts = unflatten(flat, to.subspan(first_to, j - first_to));
    std::ranges::copy(parts, result.begin() + static_cast<std::ptrdiff_t>(first_to));
  }
  return result;
}

}  // namespace tenon::ir
