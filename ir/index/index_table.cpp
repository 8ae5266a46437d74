// The table of all index expressions: the order of their terms, what is known of their values, their hashes.
#include "ir/index/index_table.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "ir/base/fork.h"
#include "ir/base/hashed_numbers.h"

namespace tenon::ir::detail {
namespace {

template <typename T>
int three_way(T a, T b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

int compare(const IndexRep* a, const IndexRep* b) {
  if (a == b) return 0;
  if (int c = three_way(a->count, b->count)) return c;
  for (size_t i = 0; i < a->count; ++i) {
    if (int c = compare_base(a->begin()[i], b->begin()[i])) return c;
    if (int c = three_way(a->begin()[i].coefficient, b->begin()[i].coefficient)) return c;
  }
  return three_way(a->constant, b->constant);
}

int64_t divisor_of(const Term& t) {  // of the term without its coefficient
  if (is_axis(t)) return 1;
  int64_t step = t.modulus == 0 ? t.inner->divisor : std::gcd(t.inner->divisor, t.modulus);
  return step % t.divisor == 0 ? step / t.divisor : 1;
}

struct Key {
  int64_t constant;
  std::span<const Term> terms;
  uint64_t hash;
  bool is(const IndexRep& rep) const {
    return constant == rep.constant && std::equal(terms.begin(), terms.end(), rep.begin(), rep.end(), [](const Term& a, const Term& b) {
             return a.coefficient == b.coefficient && same_base(a, b);
           });
  }
};

uint64_t hash_of(int64_t constant, std::span<const Term> terms) {
  uint64_t h = mix(0x7E40, static_cast<uint64_t>(constant));
  for (const Term& t : terms) {
    h = mix(h, static_cast<uint64_t>(t.coefficient));
    h = mix(h, static_cast<uint64_t>(t.axis));
    h = mix(h, static_cast<uint64_t>(is_axis(t) ? t.extent : 0));
    if (is_axis(t)) continue;
    h = mix(h, t.inner->hash);
    h = mix(mix(h, static_cast<uint64_t>(t.modulus)), static_cast<uint64_t>(t.divisor));
  }
  return h;
}

IndexRep* allocate(const Key& key) {
  void* memory = std::malloc(sizeof(IndexRep) + key.terms.size() * sizeof(Term));
  if (!memory) throw OutOfMemoryError("out of host memory");
  __int128 lo = key.constant, hi = key.constant;
  auto* rep = new (memory) IndexRep{key.constant, {}, magnitude(key.constant), key.hash, 0, key.terms.size()};
  std::uninitialized_copy(key.terms.begin(), key.terms.end(), const_cast<Term*>(rep->begin()));
  bool no_lo = false, no_hi = false;
  for (const Term& t : key.terms) {
    Bounds b = bounds_of(t);
    bool flip = t.coefficient < 0;
    no_lo |= flip ? b.hi == kMax : b.lo == kMin;
    no_hi |= flip ? b.lo == kMin : b.hi == kMax;
    lo += static_cast<__int128>(t.coefficient) * (flip ? b.hi : b.lo);
    hi += static_cast<__int128>(t.coefficient) * (flip ? b.lo : b.hi);
    __int128 step = static_cast<__int128>(magnitude(t.coefficient)) * divisor_of(t);
    rep->divisor = std::gcd(rep->divisor, step > kMax ? magnitude(t.coefficient) : static_cast<int64_t>(step));
    rep->axis_mask |= is_axis(t) ? uint64_t{1} << std::min(t.axis, kLastAxisBit) : t.inner->axis_mask;
  }
  rep->bounds = {no_lo ? kMin : saturate(lo), no_hi ? kMax : saturate(hi)};
  return rep;
}

// The table of all expressions, in shards so that threads seldom meet. Never freed: an Index is a bare
// pointer.
struct Shard {
  std::mutex mutex;
  std::vector<const IndexRep*> reps;
  HashedNumbers numbers;  // of those
};
std::array<Shard, 16>& shards() {
  static auto& all = *new std::array<Shard, 16>;
  return all;
}
template <auto call>
void for_each_shard() {
  for (Shard& shard : shards()) call(shard.mutex);
}
[[maybe_unused]] const bool indices_held_over_fork =
    hold_over_fork(ForkOrder::Indices, {for_each_shard<[](std::mutex& m) { m.lock(); }>, for_each_shard<[](std::mutex& m) { m.unlock(); }>,
                                        for_each_shard<[](std::mutex& m) { std::construct_at(&m); }>});

}  // namespace

int compare_base(const Term& a, const Term& b) {
  if (is_axis(a) != is_axis(b)) return is_axis(a) ? -1 : 1;
  if (int c = three_way(a.axis, b.axis)) return c;
  if (int c = three_way(a.extent, b.extent)) return c;
  if (is_axis(a)) return 0;
  if (int c = compare(a.inner, b.inner)) return c;
  if (int c = three_way(a.modulus, b.modulus)) return c;
  return three_way(a.divisor, b.divisor);
}

Bounds bounds_of(const Term& t) {
  if (is_axis(t)) return {0, t.extent - 1};
  if (t.modulus == 0) {
    Bounds b = t.inner->bounds;
    return {b.lo == kMin ? kMin : divide_down(b.lo, t.divisor), b.hi == kMax ? kMax : divide_down(b.hi, t.divisor)};
  }
  int64_t step = std::gcd(t.inner->divisor, t.modulus);  // x mod m is a multiple of gcd(g, m) if x is one of g
  return {0, (t.modulus - step) / t.divisor};
}

namespace {

const IndexRep* find_or_add(const Key& key) {
  Shard& shard = shards()[key.hash >> 60];
  std::lock_guard lock(shard.mutex);
  const int32_t number = shard.numbers.find(key.hash, [&](int32_t n) { return key.is(*shard.reps[n]); });
  if (number >= 0) return shard.reps[number];
  const IndexRep* rep = allocate(key);
  shard.reps.push_back(rep);
  shard.numbers.add(key.hash, static_cast<int32_t>(shard.reps.size()) - 1);
  return rep;
}

}  // namespace

// A graph's views make a few dozen expressions again and again: most are found without the lock.
const IndexRep* intern_rep(int64_t constant, std::span<const Term> terms) {
  constexpr size_t kRecent = 256;
  static thread_local std::array<const IndexRep*, kRecent> recent{};
  const Key key{constant, terms, hash_of(constant, terms)};
  const IndexRep*& place = recent[key.hash % kRecent];
  if (!place || place->hash != key.hash || !key.is(*place)) place = find_or_add(key);
  return place;
}

}  // namespace tenon::ir::detail
