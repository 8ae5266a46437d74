// Kernels: the builder's sharing, folding and levels; the text form both ways; what the verifier refuses.
#include "ir/kernel/kernel_builder.h"

#include <doctest/doctest.h>

#include <limits>

using namespace tenon::ir;

namespace {

std::string error_of(const std::string& text) {
  try {
    parse_kernel(text, "t");
  } catch (const IrError& error) {
    return error.what();
  }
  return "";
}

// The reason that one line of a kernel over x[64], y[64], i[64] is refused for; "" if it is taken.
std::string refused(const std::string& lines) {
  std::string error = error_of(
      "kernel @k(x: f32 in[64], y: f32 out[64], n: i64 in[64], a: f16 scalar) {\n"
      "  axes r: 8 parallel, c: 8 inner, k: 4 contract\n"
      "  map r      : %row = load x[r] : f32\n"
      "  map r c    : %full = load x[8*r + c] : f32\n"
      "  contract r|k : %con = load x[k] : f32\n"
      "  map r      : %int = load n[r] : i64\n" +
      lines + "\n}\n");
  size_t reason = error.rfind(": ");
  return reason == std::string::npos ? error : error.substr(error.find(' ') + 1);
}

}  // namespace

TEST_CASE("kernel: text round-trips") {
  const char* texts[] = {
      R"(kernel @softmax(x: f32 in[4194304], y: f32 out[4194304]) {
  axes r: 4096 parallel, c: 1024 inner
  map r c    : %0 = load x[1024*r + c] : f32
  reduce r|c : %1 = reduce.max %0 lanes : f32
  map r c    : %2 = sub %0, %1 : f32
  map r c    : %3 = exp %2 : f32
  reduce r|c : %4 = reduce.sum %3 columns : f32
  map r c    : %5 = div %3, %4 : f32
  map r c    : store y[1024*r + c], %5
}
)",
      R"(kernel @linear.relu(a: f32 in[12], w: f32 in[15], y: f32 out[20], t: f32 scratch[4], a0: f32 scalar, a1: bool scalar) {
  axes i: 4 parallel, j: 5 parallel, k: 3 contract
  contract i j|k : %0 = load a[3*i + k] : f32
  contract i j|k : %1 = load w[3*j + k] : f32
  reduce i j|k   : %2 = contract %0, %1 : f32
  map i j        : %3 = scalar a0 : f32
  map i j        : store t[i], %3 if 0 <= j < 1 and -2 <= i - j < 3
  map i j        : %4 = const -inf : f32
  map i j        : %5 = scalar a1 : bool
  map i j        : %6 = where %5, %2, %4 : f32
  map i j        : %7 = fma %6, %6, %3 : f32
  map i j        : store y[5*i + j], %7
}
)",
      R"(kernel @pad(x: f16 in[5], y: i64 out[9], z: bool out[9]) {
  axes i: 9 parallel
  map i : %0 = const 0.5 : f16
  map i : %1 = load x[i - 2] if 0 <= i - 2 < 5 else %0 : f16
  map i : %2 = cast %1 : i64
  map i : %3 = index (i mod 6) / 2 : i64
  map i : %4 = add %2, %3 : i64
  map i : %5 = lt %2, %4 : bool
  map i : store y[i], %4
  map i : store z[8 - i], %5
}
)",
      R"(kernel @total(x: f32 in[7], y: i64 out[1]) {
  axes c: 7 inner
  map c     : %0 = load x[c] : f32
  reduce |c : %1 = reduce.argmax %0 lanes : i64
  map       : store y[0], %1
}
)",
      R"(kernel @full(x: f32 in[7], y: f32 out[7]) {
  axes i: 7 parallel
  map i | : %0 = load x[i] : f32
  map i   : %1 = const 2.0 : f32
  map i | : %2 = mul %0, %1 : f32
  map i | : store y[i], %2
}
)",
      "kernel @nothing() {\n}\n"};
  for (const char* text : texts) {
    Kernel kernel = parse_kernel(text);
    verify(kernel);
    CHECK(print(kernel) == text);
  }
}

TEST_CASE("kernel: free-form text, comments and names come out canonical") {
  Kernel kernel = parse_kernel(R"(
    kernel @k(x: f32 in[8],   // the input
              y: f32 out[8]) { axes i: 8 parallel
      map i: %value = load x[ 2*i - i ]:f32
      map i: store y[(i/8)*8 + i mod 8], %value })");
  CHECK(print(kernel) == R"(kernel @k(x: f32 in[8], y: f32 out[8]) {
  axes i: 8 parallel
  map i : %0 = load x[i] : f32
  map i : store y[i], %0
}
)");
}

TEST_CASE("kernel: errors in text name their place") {
  CHECK(error_of("kernel @k(x: f33 in[8]) {\n}") == "t:1:14: f33 is no dtype");
  CHECK(error_of("kernel @k(x: f32 in[8], x: f32 in[8]) {\n}") == "t:1:1: the name x is taken");
  CHECK(error_of("kernel @k() {\n  axes i: 8 sideways\n}") == "t:2:13: expected parallel, inner, contract or serial, not sideways");
  const std::string head = "kernel @k(x: f32 in[8], y: f32 out[8]) {\n  axes i: 8 parallel, c: 2 inner\n";
  CHECK(error_of(head + "  map i : %0 = lode x[i] : f32\n}") == "t:3:16: lode is no operation");
  CHECK(error_of(head + "  map i : %0 = load z[i] : f32\n}") == "t:3:21: there is no buffer named z");
  CHECK(error_of(head + "  map i : %0 = load x[i + q] : f32\n}") == "t:3:27: there is no axis named q");
  CHECK(error_of(head + "  map i : %0 = load x[i * ] : f32\n}") == "t:3:27: expected a number, an axis or (");
  CHECK(error_of(head + "  map i : %0 = neg %9 : f32\n}") == "t:3:20: no value of this name is defined yet");
  CHECK(error_of(head + "  map c : %0 = load x[i] : f32\n}") == "t:3:3: \"map c\" names no level of this kernel for load");
  CHECK(error_of(head + "  map i : %0 = const 1.x : f32\n}") == "t:3:22: 1.x is no f32");
  CHECK(error_of(head + "  map i : %0 = const 1.0 : f32\n  map i : %0 = const 2.0 : f32\n}") == "t:4:16: %0 is defined twice");
  CHECK(error_of(head + "  map i : %0 = load x[i]") == "t:3:25: expected ':'");
  CHECK(error_of("") == "t:1:1: expected 'kernel'");
}

TEST_CASE("kernel: what is not well formed is refused with a reason") {
  CHECK(refused("  map r : store y[r], %row") == "");
  CHECK(refused("  map r : %0 = add %row, %int : f32") == "add: operands are f32 and i64");
  CHECK(refused("  map r : %0 = add %row, %row : f64") == "add: gives f32, not f64");
  CHECK(refused("  map r : %0 = add %row : f32") == "add: takes 2 operands, got 1");
  CHECK(refused("  map r : %0 = sqrt %int : i64") == "sqrt: is not defined on i64");
  CHECK(refused("  map r : %0 = where %row, %row, %row : f32") == "where: the condition is f32, not bool");
  CHECK(refused("  map r : %0 = bitcast %row : i64") == "bitcast: from f32 to i64");
  CHECK(refused("  map r : %0 = neg %full : f32") == "neg: an operand at full level is used at row level");
  CHECK(refused("  map r c : %0 = neg %con : f32") == "neg: an operand at contract level is used at full level");
  CHECK(refused("  map r c : %0 = add %con, %full : f32") == "a full-level and a contract-level value meet in one operation");
  CHECK(refused("  reduce r|c : %0 = reduce.sum %con lanes : f32") == "reduce.sum: reduces a contract-level value");
  CHECK(refused("  reduce r|k : %0 = contract %full, %full : f32") == "contract: reduces a full-level value");
  CHECK(refused("  map r : %0 = load x[r + c] : f32") == "load: an index at full level is used at row level");
  CHECK(refused("  map r : %0 = load x[9*r + 1] : f32") == "load: the index runs over 1..64, but x has 64 elements");
  CHECK(refused("  map r : %0 = load x[r - 1] : f32") == "load: the index runs over -1..6, but x has 64 elements");
  CHECK(refused("  map r : %0 = load x[r - 1] if 1 <= r < 8 else %row : f32") == "");
  CHECK(refused("  map r : %0 = load x[r - 1] if 1 <= r < 8 : f32") == "load: guards and a value for elsewhere come together");
  CHECK(refused("  map r : %0 = load x[r - 1] if 1 <= r < 8 else %int : f32") == "load: the value for elsewhere has another dtype");
  CHECK(refused("  map r : %0 = load x[r] : f16") == "load: x is f32");
  CHECK(refused("  map r : store x[r], %row") == "store: the buffer is an input");
  CHECK(refused("  map r : store y[r], %int") == "store: the value has another dtype");
  CHECK(refused("  contract r|k : store y[r], %con") == "store: a contract-level value is for contractions only");
  CHECK(refused("  map r : %0 = scalar a : f32") == "scalar: the scalar has another dtype");
}

TEST_CASE("kernel: an operand that comes later is refused") {
  Kernel k;
  Index i = k.axis(k.add_axis("i", 4, AxisKind::Parallel));
  int x = k.add_buffer("x", DType::F32, Role::In, 4);
  KernelBuilder b(k);
  b.op(Op::Neg, {b.load(x, i, Level::Row)});
  verify(k);
  std::swap(k.instrs[0], k.instrs[1]);
  CHECK_THROWS_WITH(verify(k), "kernel @kernel, instruction 0: neg: an operand is no earlier value");
}

TEST_CASE("kernel builder: equal pure instructions are shared, loads of outputs are not") {
  Kernel k;
  Index r = k.axis(k.add_axis("r", 4, AxisKind::Parallel)), c = k.axis(k.add_axis("c", 8, AxisKind::Inner));
  int x = k.add_buffer("x", DType::F32, Role::In, 32), y = k.add_buffer("y", DType::F32, Role::Out, 32);
  int a = k.add_scalar("a", DType::F32);
  KernelBuilder b(k);
  Value v = b.load(x, r * 8 + c, Level::Full);
  CHECK(v == b.load(x, c + r * 4 + r * 4, Level::Full));
  CHECK(v != b.load(x, c, Level::Full));
  CHECK(b.scalar(a) == b.scalar(a));
  CHECK(b.constant(DType::F32, 1.5) == b.constant(DType::F32, 1.5));
  CHECK(b.constant(DType::F32, 0.0) != b.constant(DType::F32, -0.0));
  Value e = b.op(Op::Exp, {v});
  CHECK(e == b.op(Op::Exp, {v}));
  CHECK(b.reduce(Op::Sum, e, ReduceTree::Lanes) == b.reduce(Op::Sum, e, ReduceTree::Lanes));
  CHECK(b.reduce(Op::Sum, e, ReduceTree::Lanes) != b.reduce(Op::Sum, e, ReduceTree::Columns));
  CHECK(b.load(y, r, Level::Row) != b.load(y, r, Level::Row));
  // another builder over the same kernel knows what is there
  KernelBuilder later(k);
  CHECK(later.op(Op::Exp, {v}) == e);
}

TEST_CASE("kernel builder: a level is the highest of its operands'") {
  Kernel k;
  Index r = k.axis(k.add_axis("r", 4, AxisKind::Parallel)), c = k.axis(k.add_axis("c", 8, AxisKind::Inner));
  Index d = k.axis(k.add_axis("k", 8, AxisKind::Contract));
  int x = k.add_buffer("x", DType::F32, Role::In, 64);
  KernelBuilder b(k);
  Value row = b.load(x, r, Level::Row), full = b.load(x, c, Level::Row), deep = b.load(x, d, Level::Contract);
  CHECK(b.level(row) == Level::Row);
  CHECK(b.level(full) == Level::Full);
  CHECK(b.level(b.op(Op::Add, {row, full})) == Level::Full);
  CHECK(b.level(b.op(Op::Add, {deep, row})) == Level::Contract);
  CHECK(b.level(b.reduce(Op::Sum, full, ReduceTree::Lanes)) == Level::Row);
  CHECK(b.level(b.contract(deep, row)) == Level::Row);
  CHECK(b.level(b.index(r + c, Level::Row)) == Level::Full);
  CHECK_THROWS_AS(b.op(Op::Add, {full, deep}), IrError);
  CHECK_THROWS_AS(b.reduce(Op::Sum, deep, ReduceTree::Lanes), IrError);
  CHECK_THROWS_AS(b.contract(full, row), IrError);
  verify(k);
}

TEST_CASE("kernel builder: constants fold and identities are exact") {
  Kernel k;
  Index i = k.axis(k.add_axis("i", 4, AxisKind::Parallel));
  KernelBuilder b(k);
  Value x = b.load(k.add_buffer("x", DType::F32, Role::In, 4), i, Level::Row);
  Value n = b.load(k.add_buffer("n", DType::I32, Role::In, 4), i, Level::Row);
  Value t = b.load(k.add_buffer("t", DType::Bool, Role::In, 4), i, Level::Row);
  auto f = [&](double v) { return b.constant(DType::F32, v); };
  auto whole = [&](double v) { return b.constant(DType::I32, v); };
  CHECK(b.op(Op::Add, {f(2), f(3)}) == f(5));
  CHECK(b.op(Op::Lt, {f(2), f(3)}) == b.constant(DType::Bool, 1.0));
  CHECK(b.cast(f(2.75), DType::I32) == whole(2));
  CHECK(b.op(Op::Exp, {f(0)}) != f(1));  // what expands has its value from its expansion
  CHECK(b.op(Op::Mul, {x, f(1)}) == x);
  CHECK(b.op(Op::Mul, {f(1), x}) == x);
  CHECK(b.op(Op::Sub, {x, f(0)}) == x);
  CHECK(b.op(Op::Add, {x, f(-0.0)}) == x);
  CHECK(b.op(Op::Add, {x, f(0)}) != x);  // -0 + 0 is +0
  CHECK(b.op(Op::Sub, {x, f(-0.0)}) != x);
  CHECK(b.op(Op::Add, {n, whole(0)}) == n);
  CHECK(b.op(Op::And, {n, whole(0)}) == whole(0));
  CHECK(b.op(Op::And, {n, whole(1)}) != n);
  CHECK(b.op(Op::And, {t, b.constant(DType::Bool, 1.0)}) == t);
  CHECK(b.op(Op::Or, {n, whole(1)}) != whole(1));
  CHECK(b.op(Op::Where, {b.constant(DType::Bool, 0.0), x, f(9)}) == f(9));
  CHECK(b.op(Op::Where, {t, x, x}) == x);
  CHECK(b.op(Op::Neg, {b.op(Op::Neg, {x})}) == x);
  CHECK(b.cast(x, DType::F32) == x);
  CHECK(b.index(Index(7), Level::Row) == b.constant(Constant{DType::I64, 7}));
}

TEST_CASE("kernel builder: guards that always hold go, those that never hold leave the other value") {
  Kernel k;
  Index i = k.axis(k.add_axis("i", 8, AxisKind::Parallel));
  int x = k.add_buffer("x", DType::F32, Role::In, 8), y = k.add_buffer("y", DType::F32, Role::Out, 8);
  KernelBuilder b(k);
  Value zero = b.constant(DType::F32, 0.0), plain = b.load(x, i, Level::Row);
  CHECK(b.load(x, i, Level::Row, {{i, 0, 8}, {i + Index(3), 3, 40}}, zero) == plain);
  CHECK(b.load(x, i, Level::Row, {{i, 0, 5}, {i, 8, 12}}, zero) == zero);
  Value twice = b.load(x, i, Level::Row, {{i, 2, 5}, {i, 2, 5}}, zero);
  CHECK(k.instrs[static_cast<size_t>(twice)].guards.size() == 1);
  size_t before = k.instrs.size();
  b.store(y, i, plain, Level::Row, {{i, -5, 0}});
  CHECK(k.instrs.size() == before);
  CHECK_THROWS_AS(b.load(x, i, Level::Row, {{i, 2, 5}}), IrError);
  CHECK_THROWS_AS(b.store(x, i, plain, Level::Row), IrError);
}

TEST_CASE("kernel builder: a hundred thousand instructions in no time") {
  Kernel k;
  Index i = k.axis(k.add_axis("i", 8, AxisKind::Parallel));
  KernelBuilder b(k);
  Value x = b.load(k.add_buffer("x", DType::F32, Role::In, 8), i, Level::Row), v = x;
  for (int n = 0; n < 50000; ++n) v = b.op(Op::Mul, {b.op(Op::Add, {v, x}), b.op(Op::Add, {v, x})});
  CHECK(k.instrs.size() == 100001);
  verify(k);
  CHECK(print(parse_kernel(print(k))) == print(k));
}

TEST_CASE("kernel: loads and stores at computed places") {
  const std::string text = R"(kernel @take(x: f32 in[640], p: i64 in[8], y: f32 out[64], z: f32 out[8]) {
  axes i: 8 parallel, j: 8 parallel
  map i j : %0 = load p[i] : i64
  map i j : %1 = load x[8*i + j + 64*%0] : f32
  map i j : %2 = load x[%0] if 0 <= i - 1 < 7 else %1 : f32
  map i j : store y[j + 8*%0], %2
  map i j : store z[%0], %2
}
)";
  Kernel k = parse_kernel(text);
  verify(k);
  CHECK(print(k) == text);
  CHECK(k.instrs[1].position() == 0);
  CHECK(k.instrs[1].scale == 64);
  CHECK(k.instrs[0].position() == -1);
  k.instrs[1].args.back() = 1;
  CHECK_THROWS_AS(verify(k), IrError);
  CHECK_THROWS_AS(parse_kernel("kernel @g(x: f32 in[8], y: f32 out[8]) {\n  axes i: 8 parallel\n"
                               "  map i : %0 = load x[i] : f32\n  map i : %1 = load x[i + 2*%0] : f32\n}\n"),
                  IrError);
  // Loads at one place are one load; at different places, or with different steps, they are not.
  KernelBuilder b(k);
  Index i = k.axis(0);
  Value p = b.load(1, i, Level::Row);
  CHECK(b.load(0, i, {p, 8}, Level::Row) == b.load(0, i, {p, 8}, Level::Row));
  CHECK(b.load(0, i, {p, 8}, Level::Row) != b.load(0, i, {p, 4}, Level::Row));
  CHECK(b.load(0, i, {p, 8}, Level::Row) != b.load(0, i, Level::Row));
}

TEST_CASE("kernel: what is updated is loaded only where it is stored, and before") {
  auto kernel = [](const char* load, const char* store) {
    Kernel k = parse_kernel(std::string("kernel @g(x: f32 inout[16]) {\n  axes i: 8 parallel\n  map i : %0 = load x[") + load +
                            "] : f32\n  map i : store x[" + store + "], %0\n}\n");
    return k;
  };
  CHECK_NOTHROW(verify(kernel("i + 3", "i + 3")));
  CHECK_THROWS_AS(verify(kernel("i + 3", "i + 4")), IrError);
  CHECK_THROWS_AS(verify(kernel("2*i", "i")), IrError);
}

TEST_CASE("kernel: extents") {
  Kernel k;
  k.add_axis("a", 3, AxisKind::Parallel);
  k.add_axis("b", 4, AxisKind::Parallel);
  k.add_axis("c", 0, AxisKind::Inner);
  CHECK(k.extent_of(AxisKind::Parallel) == 12);
  CHECK(k.extent_of(AxisKind::Inner) == 0);
  CHECK(k.extent_of(AxisKind::Contract) == 1);
  CHECK(k.has(AxisKind::Inner));
  CHECK_FALSE(k.has(AxisKind::Contract));
  CHECK_THROWS_AS(k.add_axis("d", -1, AxisKind::Inner), IrError);
  k.add_axis("e", std::numeric_limits<int64_t>::max(), AxisKind::Parallel);
  CHECK_THROWS_AS(k.extent_of(AxisKind::Parallel), IrError);
}
