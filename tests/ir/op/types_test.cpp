// Elements: conversions between formats, PyTorch's casts, and the exact text form.
#include "ir/op/types.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

using namespace tenon::ir;

namespace {

uint64_t cast_bits(DType from, double value, DType to) { return cast(constant(from, value), to).bits; }

}  // namespace

TEST_CASE("half: every value survives float and back, and rounding is to nearest even") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const bool signalling = (half & 0x7c00) == 0x7c00 && (half & 0x3ff) && !(half & 0x200);
    const uint16_t back = float_to_half(half_to_float(half));
    if (back != (signalling ? half | 0x200 : half)) FAIL_CHECK("half " << bits << " came back as " << back);
  }
  CHECK(half_to_float(0x3c00) == 1.0f);
  CHECK(half_to_float(0x0001) == 0x1p-24f);
  CHECK(float_to_half(65519.0f) == 0x7bff);
  CHECK(float_to_half(65520.0f) == 0x7c00);
  CHECK(float_to_half(1.0f + 0x1p-11f) == 0x3c00);  // a tie goes to even
  CHECK(float_to_half(1.0f + 3 * 0x1p-11f) == 0x3c02);
  CHECK(float_to_half(0x1p-25f) == 0);
  CHECK(float_to_half(std::nextafter(0x1p-25f, 1.0f)) == 1);
  CHECK(float_to_half(-0.0f) == 0x8000);
}

TEST_CASE("half: rounding agrees with the nearest neighbour found by search") {
  for (uint32_t bits = 1; bits < 0x7f800000; bits += 40009) {
    const auto value = std::bit_cast<float>(bits);
    const float rounded = half_to_float(float_to_half(value));
    if (value >= 65520.0f) {
      CHECK(std::isinf(rounded));
      continue;
    }
    const uint16_t h = float_to_half(value);
    const float error = std::fabs(rounded - value);
    if (h > 0 && error > std::fabs(half_to_float(static_cast<uint16_t>(h - 1)) - value)) FAIL_CHECK(value);
    if (h < 0x7bff && error > std::fabs(half_to_float(static_cast<uint16_t>(h + 1)) - value)) FAIL_CHECK(value);
  }
}

TEST_CASE("bfloat16 is the rounded upper half of a float") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    const bool signalling = (b & 0x7f80) == 0x7f80 && (b & 0x7f) && !(b & 0x40);
    if (float_to_bfloat16(bfloat16_to_float(b)) != (signalling ? b | 0x40 : b)) FAIL_CHECK(bits);
  }
  CHECK(float_to_bfloat16(std::bit_cast<float>(0x3f808000u)) == 0x3f80);
  CHECK(float_to_bfloat16(std::bit_cast<float>(0x3f818000u)) == 0x3f82);
  CHECK(float_to_bfloat16(3.4e38f) == 0x7f80);
}

TEST_CASE("casts give what PyTorch gives on x86-64") {
  CHECK(cast_bits(DType::F32, 300.0, DType::U8) == 44);
  CHECK(cast_bits(DType::F32, -1.0, DType::U8) == 255);
  CHECK(to_int64(cast(constant(DType::F32, -129.0), DType::I8)) == 127);
  CHECK(cast_bits(DType::F64, std::nan(""), DType::I16) == 0);
  CHECK(to_int64(cast(constant(DType::F32, HUGE_VAL), DType::I32)) == INT32_MIN);
  CHECK(to_int64(cast(constant(DType::F64, -2147483648.5), DType::I32)) == INT32_MIN);
  CHECK(to_int64(cast(constant(DType::F64, 2147483647.5), DType::I32)) == INT32_MAX);
  CHECK(to_int64(cast(constant(DType::F64, 2147483648.0), DType::I32)) == INT32_MIN);
  CHECK(to_int64(cast(constant(DType::F64, 1e300), DType::I64)) == INT64_MIN);
  CHECK(to_int64(cast(constant(DType::F32, -2.9), DType::I64)) == -2);
  CHECK(cast_bits(DType::F32, std::nan(""), DType::Bool) == 1);
  CHECK(cast_bits(DType::F32, -0.0, DType::Bool) == 0);
  CHECK(cast_bits(DType::F64, 65519.0, DType::F16) == 0x7bff);
  CHECK(cast_bits(DType::F64, 65520.0, DType::F16) == 0x7c00);
  CHECK(cast(constant(DType::I64, int64_t{-1}), DType::U8).bits == 255);
  CHECK(to_double(cast(constant(DType::I64, int64_t{16777217}), DType::F32)) == 16777216.0);
  CHECK(cast(Constant{DType::Bool, 1}, DType::F32).bits == std::bit_cast<uint32_t>(1.0f));
}

TEST_CASE("constants print so that they parse to the same bits") {
  const auto round_trips = [](Constant c) {
    const auto back = parse_constant(print(c), c.dtype);
    return back && *back == c;
  };
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if (!round_trips({DType::F16, bits})) FAIL_CHECK("f16 " << bits);
    if (!round_trips({DType::BF16, bits})) FAIL_CHECK("bf16 " << bits);
    if (!round_trips({DType::I16, bits})) FAIL_CHECK("i16 " << bits);
  }
  for (uint64_t i = 0; i < 20000; ++i) {
    const uint64_t bits = i * 0x9E3779B97F4A7C15u;
    if (!round_trips({DType::F32, bits >> 32})) FAIL_CHECK("f32 " << (bits >> 32));
    if (!round_trips({DType::F64, bits})) FAIL_CHECK("f64 " << bits);
    if (!round_trips({DType::I64, bits})) FAIL_CHECK("i64 " << bits);
  }
  CHECK(round_trips({DType::F32, 1}));
  CHECK(round_trips({DType::F64, 1}));
  CHECK(print(constant(DType::F32, 0.1)) == "0.1");
  CHECK(print(constant(DType::F32, 1.0)) == "1.0");
  CHECK(print(constant(DType::F64, -0.0)) == "-0.0");
  CHECK(print(constant(DType::F32, 1e30)) == "1e+30");
  CHECK(print(constant(DType::BF16, HUGE_VAL)) == "inf");
  CHECK(print(constant(DType::F16, -HUGE_VAL)) == "-inf");
  CHECK(print(Constant{DType::F32, 0x7fc00000}) == "nan");
  CHECK(print(Constant{DType::F32, 0xffc00001}) == "nan(0xffc00001)");
  CHECK(print(Constant{DType::Bool, 1}) == "true");
  CHECK(print(Constant{DType::I8, 0x80}) == "-128");
}

TEST_CASE("text that is no value of the type is refused") {
  for (const char* text : {"", "1.5", "256", "-1", "true", "0x10", "1 "}) CHECK_FALSE(parse_constant(text, DType::U8));
  for (const char* text : {"", "infinity", "nan(0x1)", "nan(0x7fc00000", "1.0f", "+1", "1e999", "--1"}) {
    CHECK_FALSE(parse_constant(text, DType::F32));
  }
  CHECK_FALSE(parse_constant("1", DType::Bool));
  CHECK(parse_constant("1", DType::F32) == constant(DType::F32, 1.0));
}

TEST_CASE("shapes: strides, counts, and the shape that is too large") {
  CHECK(contiguous_strides(Dims{2, 0, 3}) == Dims{3, 3, 1});
  CHECK(contiguous_strides(Dims{4, 3, 2}) == Dims{6, 2, 1});
  CHECK(element_count(Dims{}) == 1);
  CHECK(element_count(Dims{INT64_MAX, INT64_MAX, 0}) == 0);
  CHECK_THROWS_AS(element_count(Dims{INT64_MAX, 3}), IrError);
}
