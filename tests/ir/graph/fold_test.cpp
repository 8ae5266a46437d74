// The rewrite rules: what becomes of each form, and, over every op, type and special value, that the bits
// stay.
#include "ir/graph/fold.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ir/graph/graph_evaluate.h"
#include "ir/graph/graph_map.h"

using namespace tenon::ir;

namespace {

// Parses the body with rules on (parameters: f32 %x, %y, %z; i32 %i, %j; bool %b, %c; u8 %u; f16 %h; all [4])
// and gives the line that the last definition became, or the parameter's name.
std::string folded(const std::string& body) {
  const std::string head =
      "graph @g(%x: f32[4], %y: f32[4], %z: f32[4], %i: i32[4], %j: i32[4], %b: bool[4], %c: bool[4], %u: "
      "u8[4],"
      " %h: f16[4]) {\n";
  Graph graph = parse_graph(head + body + "\n return %r }", Folding::On);
  const Node* result = graph.outputs[0].get();
  // Numbered without the names of the text, so that only what is left counts.
  Graph small = Graph::of(graph.outputs);
  for (size_t n = 0; n < small.nodes.size(); ++n) {
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (small.nodes[n] == graph.inputs[i]) small.names[n] = graph.names[i];
    }
  }
  if (result->op() == Op::Input) {
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (graph.inputs[i].get() == result) return "%" + graph.names[i];
    }
  }
  std::string text = print(small), lines;
  text = text.substr(text.find("{\n") + 2);
  text = text.substr(0, text.find("  return"));
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at), equals = text.find(" = ", at) + 3;
    if (!lines.empty()) lines += "; ";
    lines += text.substr(equals, text.rfind(" : ", end) - equals);
    at = end + 1;
  }
  return lines;
}

std::string folded_with(const std::string& constant, const std::string& type, const std::string& line) {
  return folded("%k = const " + constant + " : " + type + "[4]\n%r = " + line + " : " + type + "[4]");
}

struct Evaluated {
  std::vector<ElementBits> inputs;
  NodeMap<ElementBits> values;

  ElementBits of(const NodeRef& root, std::span<const NodeRef> parameters) {
    for (size_t i = 0; i < parameters.size(); ++i) values[parameters[i].get()] = inputs[i];
    for (Node* node : topological_order({&root, 1})) {
      if (node->op() == Op::Input) continue;
      std::vector<ElementBits> copies;
      std::vector<const ElementBits*> operands;
      for (Node* input : node->inputs()) copies.push_back(values[input]);
      for (const ElementBits& copy : copies) operands.push_back(&copy);
      values[node] = evaluate_node(*node, operands);
    }
    return values[root.get()];
  }
};

bool same_bits(DType t, const ElementBits& a, const ElementBits& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = is_float(t) && std::isnan(to_double({t, a[i]})) && std::isnan(to_double({t, b[i]}));
    if (a[i] != b[i] && !both_nan) return false;
  }
  return true;
}

std::vector<Constant> special_values(DType t) {
  std::vector<Constant> values;
  if (t == DType::Bool) return {{t, 0}, {t, 1}};
  if (is_float(t)) {
    for (double v : {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -8.0, 3.0, 1e-3, 6e-8, 1e-40, 60000.0, 1e30, HUGE_VAL, -HUGE_VAL}) {
      values.push_back(constant(t, v));
    }
    values.push_back(constant(t, std::nan("")));
    return values;
  }
  const int64_t least = int64_t{-1} << (8 * item_size(t) - 1);
  for (int64_t v : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{7}, int64_t{-8}, int64_t{33}, least, ~least}) {
    values.push_back(constant(t, v));
  }
  return values;
}

// Operands for one op of type t: all pairs of special values in %x and %y, so that every combination occurs.
struct Pairs {
  DType t;
  NodeRef x, y;
  Evaluated evaluated;

  explicit Pairs(DType dtype) : t(dtype) {
    const auto values = special_values(t);
    ElementBits left, right;
    for (const Constant& a : values) {
      for (const Constant& b : values) {
        left.push_back(a.bits);
        right.push_back(b.bits);
      }
    }
    const Dims shape{static_cast<int64_t>(left.size())};
    x = make_input(t, shape);
    y = make_input(t, shape);
    evaluated.inputs = {left, right};
  }

  // The op with rules and without gives the same bits.
  void check(Op op, std::span<const NodeRef> operands, DType to) {
    const NodeRef plain = make_node(op, operands, {}, to, Folding::Off);
    const NodeRef simple = make_node(op, operands, {}, to, Folding::On);
    const NodeRef parameters[] = {x, y};
    Evaluated a = evaluated, b = evaluated;
    const bool same = plain->dtype() == simple->dtype() && plain->shape() == simple->shape() &&
                      same_bits(plain->dtype(), a.of(plain, parameters), b.of(simple, parameters));
    if (same) return;
    const NodeRef both[] = {plain, simple};
    FAIL_CHECK(print(Graph::of(both)));
  }
};

NodeRef off(Op op, std::initializer_list<NodeRef> operands, DType to = DType::F32) {
  return make_node(op, std::span<const NodeRef>(operands.begin(), operands.size()), {}, to, Folding::Off);
}

bool bits_are_defined(Op op, DType t) { return is_elementwise(op) && in_domain(op, t) && !(has_trait(op, TraitExpands) && is_float(t)); }

}  // namespace

TEST_CASE("float identities") {
  CHECK(folded_with("1.0", "f32", "mul %x, %k") == "%x");
  CHECK(folded_with("1.0", "f32", "mul %k, %x") == "%x");
  CHECK(folded_with("-1.0", "f32", "mul %x, %k") == "neg %x");
  CHECK(folded_with("0.0", "f32", "mul %x, %k") == "const 0.0; mul %x, %0");
  CHECK(folded_with("-0.0", "f32", "add %x, %k") == "%x");
  CHECK(folded_with("0.0", "f32", "add %x, %k") == "const 0.0; add %x, %0");
  CHECK(folded_with("0.0", "f32", "sub %x, %k") == "%x");
  CHECK(folded_with("-0.0", "f32", "sub %x, %k") == "const -0.0; sub %x, %0");
  CHECK(folded_with("-0.0", "f32", "sub %k, %x") == "neg %x");
  CHECK(folded_with("1.0", "f32", "div %x, %k") == "%x");
  CHECK(folded_with("8.0", "f32", "div %x, %k") == "const 0.125; mul %x, %0");
  CHECK(folded_with("3.0", "f32", "div %x, %k") == "const 3.0; div %x, %0");
  CHECK(folded_with("1e-45", "f32", "div %x, %k") == "const 1e-45; div %x, %0");
  CHECK(folded_with("-inf", "f32", "max %x, %k") == "%x");
  CHECK(folded("%r = sub %x, %x : f32[4]") == "sub %x, %x");
  CHECK(folded("%r = max %x, %x : f32[4]") == "%x");
  CHECK(folded("%a = neg %x : f32[4] %r = neg %a : f32[4]") == "%x");
  CHECK(folded("%a = neg %x : f32[4] %r = abs %a : f32[4]") == "abs %x");
  CHECK(folded("%a = neg %y : f32[4] %r = add %a, %x : f32[4]") == "sub %x, %y");
  CHECK(folded("%a = floor %x : f32[4] %r = round %a : f32[4]") == "floor %x");
  CHECK(folded("%a = cast %i : f32[4] %r = floor %a : f32[4]") == "cast %i");
}

TEST_CASE("integer and bool identities") {
  CHECK(folded_with("0", "i32", "add %i, %k") == "%i");
  CHECK(folded_with("0", "i32", "mul %i, %k") == "const 0");
  CHECK(folded_with("-1", "i32", "and %i, %k") == "%i");
  CHECK(folded_with("255", "u8", "or %u, %k") == "const 255");
  CHECK(folded_with("255", "u8", "xor %u, %k") == "not %u");
  CHECK(folded_with("0", "i32", "shl %i, %k") == "%i");
  CHECK(folded_with("-2147483648", "i32", "max %i, %k") == "%i");
  CHECK(folded("%r = sub %i, %i : i32[4]") == "const 0");
  CHECK(folded("%r = xor %i, %i : i32[4]") == "const 0");
  CHECK(folded("%r = eq %i, %i : bool[4]") == "const true");
  CHECK(folded("%r = lt %x, %x : bool[4]") == "const false");
  CHECK(folded("%r = eq %x, %x : bool[4]") == "eq %x, %x");
  CHECK(folded_with("true", "bool", "eq %b, %k") == "%b");
  CHECK(folded_with("false", "bool", "eq %b, %k") == "not %b");
  CHECK(folded("%a = lt %i, %j : bool[4] %r = not %a : bool[4]") == "ge %i, %j");
  CHECK(folded("%a = lt %x, %y : bool[4] %r = not %a : bool[4]") == "lt %x, %y; not %0");
  CHECK(folded("%a = eq %x, %y : bool[4] %r = not %a : bool[4]") == "ne %x, %y");
}

TEST_CASE("where, fma and casts") {
  CHECK(folded("%r = where %b, %x, %x : f32[4]") == "%x");
  CHECK(folded("%k = const false : bool[4] %r = where %k, %x, %y : f32[4]") == "%y");
  CHECK(folded("%a = not %b : bool[4] %r = where %a, %x, %y : f32[4]") == "where %b, %y, %x");
  CHECK(folded("%t = const true : bool[4] %f = const false : bool[4] %r = where %b, %t, %f : bool[4]") == "%b");
  CHECK(folded_with("1.0", "f32", "fma %x, %k, %y") == "add %x, %y");
  CHECK(folded_with("-0.0", "f32", "fma %x, %y, %k") == "mul %x, %y");
  CHECK(folded_with("0.0", "f32", "fma %x, %y, %k") == "const 0.0; fma %x, %y, %0");
  CHECK(folded("%r = cast %x : f32[4]") == "%x");
  CHECK(folded("%a = cast %h : f64[4] %r = cast %a : f32[4]") == "cast %h");
  CHECK(folded("%a = cast %x : f64[4] %r = cast %a : f32[4]") == "%x");
  CHECK(folded("%a = cast %x : f16[4] %r = cast %a : f32[4]") == "cast %x; cast %0");
  CHECK(folded("%a = cast %i : i16[4] %r = cast %a : i8[4]") == "cast %i");
  CHECK(folded("%a = cast %i : i16[4] %r = cast %a : i64[4]") == "cast %i; cast %0");
  CHECK(folded("%a = bitcast %x : i32[4] %r = bitcast %a : f32[4]") == "%x");
}

TEST_CASE("constants fold where the bits are known, and only there") {
  CHECK(folded("%a = const 0.1 : f32[4] %k = const 0.2 : f32[4] %r = add %a, %k : f32[4]") == "const 0.3");
  CHECK(folded("%k = const 2.0 : f32[4] %r = sqrt %k : f32[4]") == "const 1.4142135");
  CHECK(folded("%k = const 2.0 : f32[4] %r = exp %k : f32[4]") == "const 2.0; exp %0");
  CHECK(folded("%k = const 7 : i32[4] %m = const 4 : i32[4] %r = rem %k, %m : i32[4]") == "const 3");
  CHECK(folded("%k = const 7 : i32[4] %m = const 0 : i32[4] %r = div %k, %m : i32[4]") == "const 0");
  CHECK(folded("%k = const 300.7 : f32[4] %r = cast %k : u8[4]") == "const 44");
}

TEST_CASE("operands that commute stand in one order") {
  const NodeRef x = make_input(DType::F32, Dims{4}), k = make_const(constant(DType::F32, 3.0), Dims{4});
  const NodeRef y = make_input(DType::F32, Dims{4});
  CHECK(binary(Op::Mul, k, y)->inputs()[1] == k.get());
  CHECK(binary(Op::Mul, y, x)->inputs()[0] == x.get());
  CHECK(binary(Op::Sub, k, y)->inputs()[0] == k.get());
}

TEST_CASE("movement") {
  const auto f = [](const std::string& body) { return folded(body); };
  CHECK(f("%a = reshape %x [2,2] : f32[2,2] %r = reshape %a [1,4] : f32[1,4]") == "reshape %x [1,4]");
  CHECK(f("%a = reshape %x [2,2] : f32[2,2] %r = reshape %a [4] : f32[4]") == "%x");
  CHECK(f("%a = reshape %x [2,2] : f32[2,2] %p = permute %a [1,0] : f32[2,2] %q = permute %p [1,0] : f32[2,2]"
          " %r = reshape %q [4] : f32[4]") == "%x");
  CHECK(f("%a = reshape %x [4,1] : f32[4,1] %e = expand %a [4,2] : f32[4,2] %r = expand %e [4,2] : f32[4,2]") ==
        "reshape %x [4,1]; expand %0 [4,2]");
  CHECK(f("%r = slice %x starts=[0] steps=[1] sizes=[4] : f32[4]") == "%x");
  CHECK(f("%a = slice %x starts=[1] steps=[1] sizes=[3] : f32[3] %r = slice %a starts=[0] steps=[2] "
          "sizes=[2] : f32[2]") == "slice %x starts=[1] steps=[2] sizes=[2]");
  CHECK(f("%a = flip %x dims=[0] : f32[4] %r = flip %a dims=[0] : f32[4]") == "%x");
  CHECK(f("%a = reshape %x [1,4] : f32[1,4] %r = flip %a dims=[0,1] : f32[1,4]") == "reshape %x [1,4]; flip %0 dims=[1]");
  CHECK(f("%k = const 0.0 : f32[] %r = pad %x, %k lo=[0] hi=[0] : f32[4]") == "%x");
  CHECK(f("%k = const 0.0 : f32[] %a = pad %x, %k lo=[1] hi=[0] : f32[5] %r = pad %a, %k lo=[1] hi=[2] : "
          "f32[8]") == "const 0.0; pad %x, %0 lo=[2] hi=[2]");
  CHECK(f("%k = const 2.0 : f32[] %a = pad %x, %k lo=[1] hi=[2] : f32[7] %r = strided %a sizes=[1] strides=[1] offset=2 : f32[1]") ==
        "slice %x starts=[1] steps=[1] sizes=[1]");
  CHECK(f("%k = const 2.0 : f32[] %a = pad %x, %k lo=[1] hi=[2] : f32[7] %r = strided %a sizes=[1] strides=[1] offset=5 : f32[1]") ==
        "const 2.0");
  CHECK(f("%k = const 2.0 : f32[] %m = reshape %x [2,2] : f32[2,2] %a = pad %m, %k lo=[1,2] hi=[0,1] : f32[3,5] "
          "%r = strided %a sizes=[1,1,1] strides=[1,1,1] offset=13 : f32[1,1,1]") ==
        "reshape %x [2,2]; slice %0 starts=[1,1] steps=[1,1] sizes=[1,1]; reshape %1 [1,1,1]");
  CHECK(f("%k = const 2.0 : f32[] %a = pad %x, %k lo=[1] hi=[2] : f32[7] %r = slice %a starts=[1] steps=[1] sizes=[4] : f32[4]") == "%x");
  CHECK(f("%k = const 2.0 : f32[] %a = pad %x, %k lo=[1] hi=[2] : f32[7] %r = slice %a starts=[2] steps=[2] sizes=[2] : f32[2]") ==
        "slice %x starts=[1] steps=[2] sizes=[2]");
  CHECK(f("%k = const 2.0 : f32[] %a = pad %x, %k lo=[1] hi=[2] : f32[7] %r = slice %a starts=[2] steps=[2] sizes=[3] : f32[3]") ==
        "const 2.0; pad %x, %0 lo=[1] hi=[2]; slice %1 starts=[2] steps=[2] sizes=[3]");
  CHECK(f("%r = cat %x dim=0 : f32[4]") == "%x");
  CHECK(f("%e = slice %y starts=[4] steps=[1] sizes=[0] : f32[0] %r = cat %x, %e, %z dim=0 : f32[8]") == "cat %x, %z dim=0");
  CHECK(f("%k = const 2.0 : f32[4,1] %a = expand %k [4,3] : f32[4,3] %r = permute %a [1,0] : f32[3,4]") == "const 2.0");
}

TEST_CASE("reductions over one element or none") {
  const auto f = [](const std::string& body) { return folded(body); };
  const std::string row = "%a = reshape %x [1,4] : f32[1,4] %r = ";
  CHECK(f(row + "reduce.max %a dims=[0] : f32[1,4]") == "reshape %x [1,4]");
  CHECK(f(row + "reduce.prod %a dims=[0] : f32[1,4]") == "reshape %x [1,4]");
  CHECK(f(row + "reduce.sum %a dims=[0] : f32[1,4]") == "reshape %x [1,4]; const 0.0; add %0, %1");  // -0.0 is 0.0
  CHECK(f(row + "reduce.argmax %a dims=[0] : i64[1,4]") == "const 0");
  CHECK(f(row + "reduce.sum %a dims=[1] : f32[1,1]") == "reshape %x [1,4]; reduce.sum %0 dims=[1]");
  const std::string empty = "%a = slice %x starts=[0] steps=[1] sizes=[0] : f32[0] %r = ";
  CHECK(f(empty + "reduce.sum %a dims=[0] : f32[1]") == "const 0.0");
  CHECK(f(empty + "reduce.max %a dims=[0] : f32[1]") == "const -inf");
  CHECK(f("%k = const 3.0 : f32[4] %r = reduce.max %k dims=[0] : f32[1]") == "const 3.0");
}

TEST_CASE("every rule keeps the bits: one op, on values and constants in every position") {
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType t = static_cast<DType>(d);
    Pairs pairs(t);
    const auto& [_, x, y, __] = pairs;
    for (int i = 0; i < kOpCount; ++i) {
      const Op op = static_cast<Op>(i);
      if (!bits_are_defined(op, t) || info(op).arity != 2) continue;
      pairs.check(op, std::array{x, y}, t);
      pairs.check(op, std::array{x, x}, t);
      for (const Constant& c : special_values(t)) {
        const NodeRef k = make_const(c, x->shape());
        pairs.check(op, std::array{x, k}, t);
        pairs.check(op, std::array{k, x}, t);
      }
    }
  }
}

TEST_CASE("every rule keeps the bits: one op on the result of another") {
  for (int d = 0; d < kDTypeCount; ++d) {
    Pairs pairs(static_cast<DType>(d));
    const auto& [t, x, y, _] = pairs;
    for (int i = 0; i < kOpCount; ++i) {
      const Op inner = static_cast<Op>(i);
      if (!bits_are_defined(inner, t) || inner == Op::Bitcast || info(inner).arity > 2) continue;
      for (int to = 0; to < (inner == Op::Cast ? kDTypeCount : 1); ++to) {
        const NodeRef a = info(inner).arity == 1 ? off(inner, {x}, static_cast<DType>(to)) : off(inner, {x, y});
        for (int j = 0; j < kOpCount; ++j) {
          const Op outer = static_cast<Op>(j);
          if (!bits_are_defined(outer, a->dtype()) || outer == Op::Bitcast || info(outer).arity > 2) continue;
          for (int to2 = 0; to2 < (outer == Op::Cast ? kDTypeCount : 1); ++to2) {
            if (info(outer).arity == 1) pairs.check(outer, {&a, 1}, static_cast<DType>(to2));
          }
          if (info(outer).arity != 2 || a->dtype() != t) continue;
          pairs.check(outer, std::array{a, y}, t);
          pairs.check(outer, std::array{y, a}, t);
        }
      }
    }
  }
}

TEST_CASE("every rule keeps the bits: where and fma") {
  for (const DType t : {DType::F16, DType::F32, DType::F64}) {
    Pairs pairs(t);
    const NodeRef x = pairs.x, y = pairs.y;
    for (const Constant& c : special_values(t)) {
      const NodeRef k = make_const(c, x->shape());
      pairs.check(Op::Fma, std::array{x, y, k}, t);
      pairs.check(Op::Fma, std::array{x, k, y}, t);
      pairs.check(Op::Fma, std::array{k, x, y}, t);
    }
    const NodeRef less = off(Op::Lt, {x, y}), not_less = off(Op::Not, {less});
    pairs.check(Op::Where, std::array{not_less, x, y}, t);
    pairs.check(Op::Where, std::array{less, x, x}, t);
  }
}

// A view of a base of 60 elements, as a program may make it: a shape, slices with steps, a permutation, places, runs together.
NodeRef random_view(const NodeRef& base, std::mt19937_64& random) {
  const auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const Dims shapes[] = {{60}, {12, 5}, {3, 4, 5}, {4, 1, 15}};
  NodeRef view = reshape(base, shapes[pick(4)]);
  if (pick(4) == 0) return strided(view, Dims{2, 3}, Dims{20, 1 + pick(3)}, pick(20));
  for (int64_t n = pick(3); n >= 0; --n) {
    const size_t rank = view->shape().size();
    if (pick(2) == 0) {
      Dims order(rank, 0);
      std::iota(order.begin(), order.end(), int64_t{0});
      std::shuffle(order.begin(), order.end(), random);
      view = permute(view, order);
      continue;
    }
    Dims starts, steps, sizes;
    for (const int64_t extent : view->shape()) {
      starts.push_back(pick(extent));
      steps.push_back(1 + pick(2));
      sizes.push_back(1 + pick((extent - 1 - starts.back()) / steps.back() + 1));
    }
    view = slice(view, starts, steps, sizes);
  }
  return pick(2) == 0 ? reshape(view, Dims{view->numel()}) : view;
}

TEST_CASE("an update that writes what it replaces is its base, and no other is") {
  std::mt19937_64 random(7);
  const NodeRef base = make_input(DType::I32, Dims{60});
  ElementBits places(60);
  std::iota(places.begin(), places.end(), uint64_t{0});
  int same = 0, other = 0;
  for (int n = 0; n < 2000; ++n) {
    CAPTURE(n);
    const NodeRef read = random_view(base, random), written = random() % 2 == 0 ? read : random_view(base, random);
    if (element_count(read->shape()) != element_count(written->shape())) continue;
    Evaluated evaluated{{places}, {}};
    const ElementBits to = evaluated.of(written, {&base, 1}), from = Evaluated{{places}, {}}.of(read, {&base, 1});
    // The places of a view that keeps its order, as sizes and strides: those of its dims, from what it reads.
    Dims strides;
    int64_t inside = element_count(written->shape());
    bool regular = true;
    for (const int64_t size : written->shape()) {
      inside /= size;
      strides.push_back(size > 1 ? static_cast<int64_t>(to[static_cast<size_t>(inside)]) - static_cast<int64_t>(to[0]) : 1);
      regular = regular && strides.back() > 0;
    }
    int64_t reach = 0;
    for (size_t d = strides.size(); d-- > 0;) {
      regular = regular && strides[d] > reach;
      reach += (written->shape()[d] - 1) * strides[d];
    }
    regular = regular && static_cast<int64_t>(to[0]) + reach < 60;
    if (regular) regular = evaluated.of(strided(base, written->shape(), strides, static_cast<int64_t>(to[0])), {&base, 1}) == to;
    if (!regular) continue;
    const NodeRef value = reshape(read, written->shape());
    const NodeRef updated = update(base, value, strides, static_cast<int64_t>(to[0]));
    (from == to ? same : other) += 1;
    if (from == to || element_count(value->shape()) < 60) CHECK((updated == base) == (from == to));
    ElementBits expected = places;
    for (size_t i = 0; i < to.size(); ++i) expected[to[i]] = from[i];
    CHECK(Evaluated{{places}, {}}.of(updated, {&base, 1}) == expected);
  }
  CHECK(same > 200);
  CHECK(other > 20);
}
