// Index expressions: identities by text, and random expressions against their naive values at every point.
#include "ir/index/index.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "ir/op/types.h"

using namespace tenon::ir;

namespace {

// Parses with axes named like "i6": axis i of extent 6; the letter alone gives its number.
Index parse(std::string_view text) {
  return parse_index(text, [](std::string_view name) { return Index::axis(name[0] - 'a', std::stoll(std::string(name.substr(1)))); });
}

std::string show(const Index& e) {
  return e.print([](int id) { return std::string(1, static_cast<char>('a' + id)); });
}

std::string shapes(std::span<const Index> indices) {
  std::string text;
  for (const Index& e : indices) text += (text.empty() ? "" : ", ") + show(e);
  return text;
}

// The indices into `from` of a tensor reshaped to the shape that `axes` run over.
std::vector<Index> reshape(std::span<const Index> axes, std::vector<int64_t> to, std::vector<int64_t> from) {
  return unflatten(flatten(axes, to), from).vec();
}

std::vector<Index> axes_of(std::vector<int64_t> shape) {
  std::vector<Index> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.push_back(Index::axis(static_cast<int>(i), shape[i]));
  return axes;
}

}  // namespace

TEST_CASE("index: identities by text") {
  struct Row {
    const char *in, *out;
  };
  const Row table[] = {
      {"a4 + 2*a4 - a4", "2*a"},
      {"1024*a8 + b1024", "1024*a + b"},
      {"a5 - a5", "0"},
      {"a1 + b0", "0"},
      {"7 - a8", "7 - a"},
      {"3 + a8 - 5", "a - 2"},
      // range
      {"a6 / 6", "0"},
      {"a6 mod 6", "a"},
      {"(a6 + 6) / 6", "1"},
      {"(a6 + 6) mod 6", "a"},
      {"(a6 - 1) / 6", "(a + 5) / 6 - 1"},
      {"(5 - a6) mod 6", "5 - a"},
      // multiples
      {"(12*a9 + b4) / 4", "3*a"},
      {"(12*a9 + b4) mod 4", "b"},
      {"(12*a9 + b7) / 4", "3*a + b / 4"},
      {"(12*a9 + b7) mod 4", "b mod 4"},
      {"(5*a9 + b9) / 4", "a + (a + b) / 4"},
      {"(8*a9 + 9) mod 4", "1"},
      // nested
      {"(a100 / 3) / 4", "a / 12"},
      {"(a100 mod 12) mod 4", "a mod 4"},
      {"(a100 mod 12) / 4", "(a mod 12) / 4"},
      {"(a100 / 4) mod 3", "(a mod 12) / 4"},
      {"((a100 / 2) mod 12) / 3", "(a mod 24) / 6"},
      {"((a100 mod 8) + b100) mod 4", "(a + b) mod 4"},
      {"(a100 mod 12) / 8", "(a mod 12) / 8"},
      {"((a100 mod 12) / 4) / 2", "(a mod 12) / 8"},
      // gcd with a bounded remainder
      {"(6*a50 + b6) / 12", "a / 2"},
      {"(6*a50 + b6) mod 12", "b + 6*(a mod 2)"},
      {"(4*a50 + 2*b50 + 1) / 6", "(2*a + b) / 3"},
      {"(4*a50 + 2*b50 + 1) mod 6", "2*((2*a + b) mod 3) + 1"},
      {"(1024*a4096 + b1024) / 4096", "a / 4"},
      // recombination
      {"4*(a50 / 4) + a50 mod 4", "a"},
      {"12*(a50 / 4) + 3*(a50 mod 4) + b5", "3*a + b"},
      {"12*(a90 / 12) + 4*((a90 / 4) mod 3) + a90 mod 4", "a"},
      {"4*((a90 / 4) mod 3) + a90 mod 4", "a mod 12"},
      {"6*((5*a9 + b9) / 6) + (5*a9 + b9) mod 6", "5*a + b"},
      {"4*((11 - a12) / 4) + (11 - a12) mod 4", "11 - a"},
      {"6*((11 - a12) / 6) + 2*(((11 - a12) / 2) mod 3) + (11 - a12) mod 2", "11 - a"},
      // congruence: the residue stays in one period
      {"(3*a2 + 1) mod 4", "1 - a"},
      {"(7*a4 + 3) mod 8", "3 - a"},
      {"(9*a4 + 3) mod 8", "a + 3"},
  };
  for (const Row& row : table) {
    CAPTURE(row.in);
    CHECK(show(parse(row.in)) == row.out);
  }
}

TEST_CASE("index: reshapes come back to the axes") {
  CHECK(shapes(reshape(axes_of({4, 5, 6}), {4, 5, 6}, {4, 5, 6})) == "a, b, c");
  CHECK(shapes(reshape(axes_of({4, 5, 6}), {4, 5, 6}, {20, 6})) == "5*a + b, c");
  CHECK(shapes(reshape(axes_of({20, 6}), {20, 6}, {4, 5, 6})) == "a / 5, a mod 5, b");
  CHECK(shapes(reshape(axes_of({2, 1, 3, 1}), {2, 1, 3, 1}, {1, 2, 3})) == "0, a, c");
  // there and back over any shape between
  for (std::vector<int64_t> between : {std::vector<int64_t>{120}, {2, 60}, {3, 40}, {8, 15}, {24, 5}, {7 + 3, 12}}) {
    CAPTURE(between[0]);
    std::vector<Index> mid = reshape(axes_of({4, 5, 6}), {4, 5, 6}, between);
    CHECK(shapes(reshape(mid, between, {4, 5, 6})) == "a, b, c");
    CHECK(shapes(reshape(mid, between, {120})) == "30*a + 6*b + c");
  }
  // [32, 1024] read as [32*1024/4, 4]: plain strides in, one div and one mod out
  CHECK(shapes(reshape(axes_of({32, 1024}), {32, 1024}, {8192, 4})) == "256*a + b / 4, b mod 4");
  CHECK(show(flatten(reshape(axes_of({8192, 4}), {8192, 4}, {32, 1024}), std::vector<int64_t>{32, 1024})) == "4*a + b");
}

TEST_CASE("index: a permuted tensor reshaped and back") {
  // x[2,3,4] -> permute -> [4,3,2] -> reshape [12,2] -> reshape [4,3,2] -> permute back
  std::vector<Index> a = axes_of({2, 3, 4});
  std::vector<Index> permuted{a[2], a[1], a[0]};
  std::vector<Index> mid = reshape(permuted, {4, 3, 2}, {12, 2});
  std::vector<Index> back = reshape(mid, {12, 2}, {4, 3, 2});
  CHECK(shapes(back) == "c, b, a");
  // heads: [B, T, H*D] -> [B, T, H, D] -> [B, H, T, D] reads plain strides
  std::vector<Index> h = axes_of({8, 12, 128, 64});
  std::vector<Index> source = reshape(std::vector<Index>{h[0], h[2], h[1], h[3]}, {8, 128, 12, 64}, {8, 128, 768});
  CHECK(shapes(source) == "a, c, 64*b + d");
}

TEST_CASE("index: a reshape dim by dim is that through the flat position") {
  std::mt19937 random(20261129);
  const auto draw = [&](size_t n) { return static_cast<int64_t>(random() % n); };
  // A shape of so many elements: the factors, some of them together, and dims of size 1.
  const auto shape_of = [&](std::vector<int64_t> factors) {
    std::ranges::shuffle(factors, random);
    std::vector<int64_t> shape;
    for (int64_t f : factors) {
      if (draw(4) == 0) shape.push_back(1);
      if (!shape.empty() && draw(2) == 0) shape.back() *= f;
      else shape.push_back(f);
    }
    if (draw(4) == 0) shape.push_back(1);
    return shape;
  };
  constexpr int64_t kFactors[] = {2, 2, 3, 4, 5, 6};
  int wrong = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> factors;
    for (int64_t i = 0, n = draw(5); i < n; ++i) factors.push_back(kFactors[draw(std::size(kFactors))]);
    const std::vector<int64_t> start = shape_of(factors), middle = shape_of(factors), end = shape_of(factors);
    const std::vector<Index> axes = axes_of(start);
    const auto at_once = tenon::ir::reshape(reshape(axes, start, middle), middle, end);
    const std::vector<Index> flat = reshape(axes, start, end);
    REQUIRE(at_once.size() == end.size());
    std::vector<int64_t> point(start.size(), 0);
    for (bool more = true; more;) {
      for (size_t d = 0; d < end.size(); ++d) wrong += at_once[d].evaluate(point) != flat[d].evaluate(point);
      more = false;
      for (size_t d = point.size(); d-- > 0 && !more;) more = ++point[d] < start[d] || (point[d] = 0, false);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("index: strides, bounds and divisors") {
  Index e = parse("12*a9 + 4*b5 + 8");
  CHECK(e.divisor() == 4);
  CHECK(e.bounds().lo == 8);
  CHECK(e.bounds().hi == 120);
  CHECK(e.is_affine());
  CHECK(e.stride(1).value == 4);
  CHECK(e.stride(2).ok);
  CHECK(e.stride(2).value == 0);
  Index digit = parse("(7*a9 + 5*b8) / 3");
  CHECK_FALSE(digit.stride(0).ok);
  CHECK_FALSE(digit.is_affine());
  CHECK(digit.depends_on(1));
  CHECK_FALSE(digit.depends_on(2));
  CHECK(parse("(a2 + b9) / 3 - (b9 / 3)").stride(0).ok == false);
  CHECK(Index(0).divisor() == 0);
  Index far = Index::axis(70, 9) + Index::axis(64, 3);
  CHECK(far.depends_on(64));
  CHECK_FALSE(far.depends_on(65));
  CHECK(far.axes() == std::vector<int>{64, 70});
}

TEST_CASE("index: large extents do not overflow, too large ones throw") {
  int64_t big = int64_t{1} << 40;
  Index e = Index::axis(0, big) * (1 << 20) + Index::axis(1, 1 << 20);
  CHECK(e.bounds().hi == (int64_t{1} << 60) - 1);
  CHECK(floor_div(e, 1 << 20) == Index::axis(0, big));
  CHECK(floor_mod(e, 1 << 20) == Index::axis(1, 1 << 20));
  Index loose = Index::axis(0, big) * (int64_t{1} << 62);
  CHECK(loose.bounds().hi == INT64_MAX);
  CHECK_FALSE(floor_div(loose + Index::axis(1, 3), 2).is_constant());
  CHECK_THROWS_AS(loose * 2, IrError);
  CHECK_THROWS_AS(floor_div(e, 0), IrError);
  CHECK_THROWS_AS(floor_mod(e, -3), IrError);
}

TEST_CASE("index: texts that do not parse say where") {
  auto offset = [](const char* text) -> int {
    try {
      parse(text);
    } catch (const IndexSyntaxError& error) {
      return static_cast<int>(error.offset);
    }
    return -1;
  };
  CHECK(offset("a4 +") == 4);
  CHECK(offset("a4 * b4") == 7);
  CHECK(offset("a4 / 0") == 6);
  CHECK(offset("(a4") == 3);
  CHECK(offset("a4 ]") == 3);
  CHECK(offset("99999999999999999999") == 0);
  CHECK(offset((std::string(5000, '(') + "a4").c_str()) > 0);
}

namespace {

// A random expression together with its naive value.
struct Expression {
  Index index;
  std::function<int64_t(std::span<const int64_t>)> value;
};

int64_t naive_div(int64_t a, int64_t d) { return (a - ((a % d) + d) % d) / d; }
int64_t naive_mod(int64_t a, int64_t m) { return ((a % m) + m) % m; }

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    for (size_t i = 0; i < 3; ++i) extents.push_back(pick(1, 8));
    if (pick(0, 3) == 0) extents[0] = pick(8, 24);
  }

  int64_t pick(int64_t lo, int64_t hi) { return lo + static_cast<int64_t>(random_() % static_cast<uint64_t>(hi - lo + 1)); }

  Expression make(int depth) {
    if (depth == 0 || pick(0, 5) == 0) return leaf();
    switch (pick(0, 8)) {
      case 0:
      case 1: return sum(make(depth - 1), make(depth - 1), pick(0, 3) == 0 ? -1 : 1);
      case 2: return scaled(make(depth - 1), pick(-3, 12), pick(-4, 4));
      case 3:
      case 4: return divided(make(depth - 1), divisor());
      case 5:
      case 6: return remainder(make(depth - 1), divisor());
      case 7: return rejoined(make(depth - 1), pick(2, 6), pick(2, 4));
      default: return reshaped(make(depth - 1), make(depth - 1));
    }
  }

  std::vector<int64_t> extents;

 private:
  int64_t divisor() {
    static constexpr int64_t common[] = {2, 3, 4, 6, 8, 12, 16, 24};
    return pick(0, 2) ? common[pick(0, 7)] : pick(1, 13);
  }
  Expression leaf() {
    if (int64_t c = pick(-6, 12); pick(0, 6) == 0) return {Index(c), [c](auto) { return c; }};
    auto id = static_cast<size_t>(pick(0, 2));
    return {Index::axis(static_cast<int>(id), extents[id]), [id](auto v) { return v[id]; }};
  }
  static Expression sum(Expression a, Expression b, int64_t sign) {
    return {sign > 0 ? a.index + b.index : a.index - b.index, [f = a.value, g = b.value, sign](auto v) { return f(v) + sign * g(v); }};
  }
  static Expression scaled(Expression a, int64_t k, int64_t c) {
    return {a.index * k + Index(c), [f = a.value, k, c](auto v) { return f(v) * k + c; }};
  }
  static Expression divided(Expression a, int64_t d) {
    return {floor_div(a.index, d), [f = a.value, d](auto v) { return naive_div(f(v), d); }};
  }
  static Expression remainder(Expression a, int64_t m) {
    return {floor_mod(a.index, m), [f = a.value, m](auto v) { return naive_mod(f(v), m); }};
  }
  // (e / pq)*pq + ((e / q) mod p)*q + e mod q, which is e
  static Expression rejoined(Expression e, int64_t p, int64_t q) {
    return {floor_div(e.index, p * q) * (p * q) + floor_mod(floor_div(e.index, q), p) * q + floor_mod(e.index, q), e.value};
  }
  Expression reshaped(Expression a, Expression b) {
    int64_t n = pick(2, 6), m = divisor();
    Expression flat = sum(scaled(a, n, 0), remainder(b, n), 1);
    return pick(0, 1) ? divided(flat, m) : remainder(flat, m);
  }

  std::mt19937_64 random_;
};

// Calls `check` at every point, or at some of them if there are many.
void at_points(Generator& g, const std::function<void(std::span<const int64_t>)>& check) {
  int64_t total = g.extents[0] * g.extents[1] * g.extents[2];
  int64_t count = std::min<int64_t>(total, 40);
  for (int64_t i = 0; i < count; ++i) {
    int64_t flat = total <= 40 ? i : g.pick(0, total - 1);
    if (i == count - 1) flat = total - 1;
    int64_t v[3] = {flat / (g.extents[1] * g.extents[2]), flat / g.extents[2] % g.extents[1], flat % g.extents[2]};
    check(v);
  }
}

void check_expression(uint64_t seed) {
  Generator g(seed);
  Expression e = g.make(static_cast<int>(g.pick(1, 5)));
  Bounds b = e.index.bounds();
  int64_t divisor = e.index.divisor();
  bool sound = true;
  at_points(g, [&](std::span<const int64_t> v) {
    int64_t value = e.value(v);
    sound &= e.index.evaluate(v) == value && b.lo <= value && value <= b.hi;
    sound &= divisor == 0 ? value == 0 : value % divisor == 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      Index::Stride s = e.index.stride(static_cast<int>(axis));
      if (!s.ok || v[axis] + 1 >= g.extents[axis]) continue;
      std::vector<int64_t> next(v.begin(), v.end());
      ++next[axis];
      sound &= e.value(next) - value == s.value;
    }
  });
  Index rebuilt = e.index.substitute([](int id, int64_t extent) { return Index::axis(id, extent); });
  Index parsed = parse_index(
      show(e.index), [&](std::string_view name) { return Index::axis(name[0] - 'a', g.extents[static_cast<size_t>(name[0] - 'a')]); });
  if (sound && rebuilt == e.index && parsed == e.index) return;
  CAPTURE(seed);
  CAPTURE(show(e.index));
  CHECK(sound);
  CHECK(show(rebuilt) == show(e.index));
  CHECK(show(parsed) == show(e.index));
}

}  // namespace

TEST_CASE("index: random expressions keep their value, bounds and form") {
  for (uint64_t seed = 0; seed < 40000; ++seed) check_expression(seed);
}

// The rules are not complete, but what they miss is rare: quotient and remainder give back the expression
// itself.
TEST_CASE("index: d*(e/d) + e mod d is e nearly always") {
  int made = 0, missed = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Generator g(seed);
    Index e = g.make(static_cast<int>(g.pick(1, 3))).index;
    int64_t d = g.pick(2, 6);
    ++made;
    missed += !(floor_div(e, d) * d + floor_mod(e, d) == e);
  }
  CHECK(missed * 100 < made);
}

TEST_CASE("index: the same expressions from several threads are the same pointers") {
  std::vector<std::vector<Index>> made(4);
  std::vector<std::thread> threads;
  for (auto& list : made) {
    threads.emplace_back([&list] {
      for (uint64_t seed = 100000; seed < 100300; ++seed) list.push_back(Generator(seed).make(4).index);
    });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& list : made) CHECK(std::equal(list.begin(), list.end(), made[0].begin()));
}
