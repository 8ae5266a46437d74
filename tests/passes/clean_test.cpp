// passes/clean, text in and text out.
#include <doctest/doctest.h>

#include "passes/passes.h"

using namespace tenon;

namespace {

std::string cleaned(const char* text) {
  ir::Kernel kernel = passes::clean(ir::parse_kernel(text));
  ir::verify(kernel);
  return ir::print(kernel);
}

}  // namespace

TEST_CASE("clean: equal loads and ops are one, dead ones go, the order stays") {
  CHECK(cleaned(R"(kernel @k(x: f32 in[32], y: f32 out[32]) {
  axes r: 4 parallel, c: 8 parallel
  map r c : %0 = load x[8*r + c] : f32
  map r c : %1 = load x[8*r + c] : f32
  map r c : %2 = mul %0, %1 : f32
  map r c : %3 = exp %2 : f32
  map r c : %4 = mul %1, %0 : f32
  map r c : %5 = add %2, %4 : f32
  map r c : store y[8*r + c], %5
}
)") == R"(kernel @k(x: f32 in[32], y: f32 out[32]) {
  axes r: 4 parallel, c: 8 parallel
  map r c : %0 = load x[8*r + c] : f32
  map r c : %1 = mul %0, %0 : f32
  map r c : %2 = add %1, %1 : f32
  map r c : store y[8*r + c], %2
}
)");
}

TEST_CASE("clean: constants fold and their operands go; equal reductions are one") {
  CHECK(cleaned(R"(kernel @k(x: f32 in[32], y: f32 out[32], z: f32 out[4]) {
  axes r: 4 parallel, c: 8 inner
  map r      : %a = const 2.0 : f32
  map r      : %b = const 3.0 : f32
  map r      : %c = mul %a, %b : f32
  map r c    : %0 = load x[8*r + c] : f32
  reduce r|c : %1 = reduce.sum %0 lanes : f32
  reduce r|c : %2 = reduce.sum %0 lanes : f32
  reduce r|c : %3 = reduce.max %0 lanes : f32
  map r      : %4 = add %1, %2 : f32
  map r c    : %5 = mul %0, %c : f32
  map r c    : store y[8*r + c], %5
  map r      : store z[r], %4
}
)") == R"(kernel @k(x: f32 in[32], y: f32 out[32], z: f32 out[4]) {
  axes r: 4 parallel, c: 8 inner
  map r      : %0 = const 6.0 : f32
  map r c    : %1 = load x[8*r + c] : f32
  reduce r|c : %2 = reduce.sum %1 lanes : f32
  map r      : %3 = add %2, %2 : f32
  map r c    : %4 = mul %1, %0 : f32
  map r c    : store y[8*r + c], %4
  map r      : store z[r], %3
}
)");
}

TEST_CASE("clean: a value falls to the level that its operands need") {
  CHECK(cleaned(R"(kernel @k(x: f32 in[4], y: f32 out[32], a: f32 scalar) {
  axes r: 4 parallel, c: 8 inner
  map r c : %0 = load x[r] : f32
  map r   : %1 = load x[r] : f32
  map r   : %2 = scalar a : f32
  map r c : %3 = mul %1, %2 : f32
  map r c : %4 = add %0, %3 : f32
  map r c : store y[8*r + c], %4
}
)") == R"(kernel @k(x: f32 in[4], y: f32 out[32], a: f32 scalar) {
  axes r: 4 parallel, c: 8 inner
  map r   : %0 = load x[r] : f32
  map r   : %1 = scalar a : f32
  map r   : %2 = mul %0, %1 : f32
  map r   : %3 = add %0, %2 : f32
  map r c : store y[8*r + c], %3
}
)");
}

TEST_CASE("clean: what never runs stays where it is") {
  const char* text = R"(kernel @k(x: f32 in[0], y: f32 out[3]) {
  axes r: 3 parallel, c: 0 inner
  map r c    : %0 = load x[r] : f32
  reduce r|c : %1 = reduce.sum %0 lanes : f32
  map r      : store y[r], %1
}
)";
  CHECK(cleaned(text) == text);
}

TEST_CASE("clean: guards that always hold go, with what they guarded against") {
  CHECK(cleaned(R"(kernel @k(x: f32 in[8], y: f32 out[8]) {
  axes i: 8 parallel
  map i : %0 = const 0.0 : f32
  map i : %1 = load x[i] if 0 <= i < 8 else %0 : f32
  map i : %2 = load x[i - 3] if 0 <= i - 3 < 8 else %0 : f32
  map i : %3 = load x[i] if 20 <= i < 30 else %1 : f32
  map i : %4 = add %3, %2 : f32
  map i : store y[i], %4
}
)") == R"(kernel @k(x: f32 in[8], y: f32 out[8]) {
  axes i: 8 parallel
  map i : %0 = const 0.0 : f32
  map i : %1 = load x[i] : f32
  map i : %2 = load x[i - 3] if 0 <= i - 3 < 8 else %0 : f32
  map i : %3 = add %1, %2 : f32
  map i : store y[i], %3
}
)");
}

TEST_CASE("clean: a contraction that nobody needs takes its axis with it") {
  CHECK(cleaned(R"(kernel @k(y: i64 out[13], a: i64 scalar) {
  axes i: 13 parallel, c: 5 contract
  map i        : %0 = scalar a : i64
  contract i|c : %1 = index c : i64
  reduce i|c   : %2 = contract %0, %1 : i64
  map i        : %3 = const 0 : i64
  map i        : store y[i], %3
}
)") == R"(kernel @k(y: i64 out[13], a: i64 scalar) {
  axes i: 13 parallel
  map i : %0 = const 0 : i64
  map i : store y[i], %0
}
)");
}
