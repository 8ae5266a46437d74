// The meaning of elementwise ops on single elements, and the op table's own consistency.
#include "ir/op/ops.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace tenon::ir;

namespace {

int64_t on_ints(Op op, DType t, int64_t a, int64_t b) {
  const Constant args[] = {constant(t, a), constant(t, b)};
  return to_int64(evaluate(op, args, t));
}

double on_floats(Op op, DType t, std::vector<double> values) {
  std::vector<Constant> args;
  for (double value : values) args.push_back(constant(t, value));
  return to_double(evaluate(op, args, t));
}

}  // namespace

TEST_CASE("the table: texts are unique and are found again") {
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    CHECK(op_from_text(info(op).text) == op);
    CHECK(info(op).domain != 0);
  }
  CHECK_FALSE(op_from_text("nonsense"));
}

TEST_CASE("every elementwise op has a value for every type in its domain") {
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (!is_elementwise(op)) continue;
    for (int d = 0; d < kDTypeCount; ++d) {
      const DType t = static_cast<DType>(d);
      if (!in_domain(op, t)) continue;
      std::vector<Constant> args(static_cast<size_t>(info(op).arity), constant(t, 1.0));
      if (op == Op::Where) args[0] = {DType::Bool, 1};
      const Constant result = evaluate(op, args, t);
      const DType expected = info(op).rule == TypeRule::Compare ? DType::Bool : t;
      CHECK_MESSAGE(result.dtype == expected, info(op).text);
      if (item_size(result.dtype) < 8) CHECK((result.bits >> (8 * item_size(result.dtype))) == 0);
    }
  }
}

TEST_CASE("integers wrap, and nothing traps") {
  CHECK(on_ints(Op::Add, DType::I8, 127, 1) == -128);
  CHECK(on_ints(Op::Sub, DType::U8, 0, 1) == 255);
  CHECK(on_ints(Op::Mul, DType::I64, INT64_MAX, 2) == -2);
  CHECK(on_ints(Op::Div, DType::I8, -128, -1) == -128);
  CHECK(on_ints(Op::Div, DType::I64, INT64_MIN, -1) == INT64_MIN);
  CHECK(on_ints(Op::Rem, DType::I64, INT64_MIN, -1) == 0);
  CHECK(on_ints(Op::Div, DType::I32, 7, 0) == 0);
  CHECK(on_ints(Op::Rem, DType::I32, 7, 0) == 0);
  CHECK(on_ints(Op::Div, DType::I32, -7, 2) == -3);
  CHECK(on_ints(Op::Rem, DType::I32, -7, 2) == -1);
  CHECK(on_ints(Op::Pow, DType::I32, 3, 4) == 81);
  CHECK(on_ints(Op::Pow, DType::I8, 2, 7) == -128);
  CHECK(on_ints(Op::Pow, DType::I32, 2, -1) == 0);
  CHECK(on_ints(Op::Pow, DType::I32, 1, -5) == 1);
  CHECK(on_ints(Op::Pow, DType::I32, -1, -3) == -1);
  CHECK(on_ints(Op::Pow, DType::I32, -1, -4) == 1);
  CHECK(on_ints(Op::Pow, DType::I32, 0, 0) == 1);
  const Constant least = constant(DType::I64, INT64_MIN);
  CHECK(to_int64(evaluate(Op::Abs, {&least, 1}, DType::I64)) == INT64_MIN);
  CHECK(to_int64(evaluate(Op::Neg, {&least, 1}, DType::I64)) == INT64_MIN);
}

TEST_CASE("mulhi is the upper half of a product without sign") {
  CHECK(on_ints(Op::MulHi, DType::U8, 250, 75) == 73);
  CHECK(on_ints(Op::MulHi, DType::I8, -1, -1) == -2);
  CHECK(on_ints(Op::MulHi, DType::I16, -1, 2) == 1);
  CHECK(on_ints(Op::MulHi, DType::I32, -1, -1) == -2);
  CHECK(on_ints(Op::MulHi, DType::I32, 0x7fffffff, 3) == 1);
  CHECK(on_ints(Op::MulHi, DType::I64, -1, -1) == -2);
  CHECK(on_ints(Op::MulHi, DType::I64, int64_t{1} << 40, int64_t{3} << 30) == 192);
  CHECK(on_ints(Op::MulHi, DType::I64, 0x123456789abcdef0, 0x0fedcba987654321) == 0x0121fa00ad77d742);
}

TEST_CASE("shifts out of range give 0 or the sign") {
  CHECK(on_ints(Op::Shl, DType::I32, 1, 31) == INT32_MIN);
  CHECK(on_ints(Op::Shl, DType::I32, 1, 32) == 0);
  CHECK(on_ints(Op::Shl, DType::I64, 1, -1) == 0);
  CHECK(on_ints(Op::Gcd, DType::I64, -12, 18) == 6);
  CHECK(on_ints(Op::Gcd, DType::I32, 0, -5) == 5);
  CHECK(on_ints(Op::Gcd, DType::I16, 0, 0) == 0);
  CHECK(on_ints(Op::Gcd, DType::I8, -128, 6) == 2);
  CHECK(on_ints(Op::Gcd, DType::U8, 250, 75) == 25);
  CHECK(on_ints(Op::Gcd, DType::I64, INT64_MIN, 0) == INT64_MIN);
  CHECK(on_ints(Op::Shr, DType::I8, -8, 1) == -4);
  CHECK(on_ints(Op::Shr, DType::I8, -8, 8) == -1);
  CHECK(on_ints(Op::Shr, DType::I8, 8, -1) == 0);
  CHECK(on_ints(Op::Shr, DType::U8, 255, 1) == 127);
  CHECK(on_ints(Op::Shl, DType::U8, 255, 4) == 240);
}

TEST_CASE("max and min propagate nan and pick the second of equals") {
  const double nan = std::nan("");
  CHECK(std::isnan(on_floats(Op::Max, DType::F32, {nan, 1})));
  CHECK(std::isnan(on_floats(Op::Max, DType::F32, {1, nan})));
  CHECK(std::isnan(on_floats(Op::Min, DType::F16, {1, nan})));
  CHECK(std::signbit(on_floats(Op::Max, DType::F32, {0.0, -0.0})));
  CHECK_FALSE(std::signbit(on_floats(Op::Max, DType::F32, {-0.0, 0.0})));
  CHECK(on_floats(Op::Sign, DType::F32, {nan}) == 0);
  CHECK_FALSE(std::signbit(on_floats(Op::Sign, DType::F32, {-0.0})));
}

TEST_CASE("halves are computed in float and rounded") {
  CHECK(on_floats(Op::Add, DType::F16, {2048, 1}) == 2048);
  CHECK(on_floats(Op::Add, DType::BF16, {256, 1}) == 256);
  CHECK(on_floats(Op::Mul, DType::F16, {300, 300}) == HUGE_VAL);
  CHECK(on_floats(Op::Fma, DType::F16, {300, 300, -HUGE_VAL}) == -HUGE_VAL);
  CHECK(on_floats(Op::Fma, DType::F16, {300, 300, -65504}) == 24496);  // 90000 is finite on the way
  CHECK(on_floats(Op::Round, DType::F32, {2.5}) == 2);
  CHECK(on_floats(Op::Round, DType::F64, {-0.4}) == 0);
  CHECK(std::signbit(on_floats(Op::Round, DType::F64, {-0.4})));
}

TEST_CASE("fma rounds once") {
  const double a = 1 + 0x1p-12;
  CHECK(on_floats(Op::Fma, DType::F32, {a, a, -1 - 0x1p-11}) == 0x1p-24);
  CHECK(on_floats(Op::Fma, DType::F64, {1 + 0x1p-30, 1 - 0x1p-30, -1}) == -0x1p-60);
}

TEST_CASE("erfinv inverts erf to the last bits") {
  for (double x : {1e-300, 1e-9, 1e-4, 0.1, 0.3, 0.4999, 0.5, 0.7, 0.9, 0.99, 0.999999, 1 - 1e-12, 1 - 0x1p-53}) {
    const double y = on_floats(Op::Erfinv, DType::F64, {x});
    const double back = x < 0.5 ? std::erf(y) / x - 1 : std::erfc(y) / (1 - x) - 1;
    CHECK_MESSAGE(std::fabs(back) < 2e-14, x);
    CHECK(on_floats(Op::Erfinv, DType::F64, {-x}) == -y);
  }
  CHECK(on_floats(Op::Erfinv, DType::F64, {1}) == HUGE_VAL);
  CHECK(on_floats(Op::Erfinv, DType::F32, {-1}) == -HUGE_VAL);
  CHECK(std::isnan(on_floats(Op::Erfinv, DType::F32, {1.5})));
  CHECK(on_floats(Op::Erfinv, DType::F32, {0.5}) == static_cast<double>(0.476936276204469873f));
}

TEST_CASE("reductions start from the identity of their operation") {
  CHECK(to_int64(reduce_identity(Op::ReduceMax, DType::I8)) == -128);
  CHECK(to_int64(reduce_identity(Op::ReduceMin, DType::U8)) == 255);
  CHECK(to_int64(reduce_identity(Op::ReduceMin, DType::I64)) == INT64_MAX);
  CHECK(to_double(reduce_identity(Op::ReduceMax, DType::F16)) == -HUGE_VAL);
  CHECK(to_double(reduce_identity(Op::Prod, DType::BF16)) == 1);
  CHECK(reduce_identity(Op::Sum, DType::F32).bits == 0);
  CHECK(reduce_identity(Op::ReduceMin, DType::Bool).bits == 1);
}
