// Element types, shapes and devices: what every level of IR says about a value. Knows nothing of buffers.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "ir/base/small_vector.h"
#include "tenon/error.h"

namespace tenon::ir {

// Ordered so that a larger value within one category is a wider type (relied on by promotion).
enum class DType : uint8_t { Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64 };
inline constexpr int kDTypeCount = 10;

constexpr bool is_float(DType t) { return t >= DType::F16; }
constexpr bool is_int(DType t) { return t >= DType::U8 && t <= DType::I64; }
constexpr bool is_signed(DType t) { return t >= DType::I8; }
constexpr bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }
constexpr int item_size(DType t) {
  constexpr int sizes[kDTypeCount] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(t)];
}
// The name in IR text: bool u8 i8 i16 i32 i64 f16 bf16 f32 f64.
std::string_view name(DType t);
std::optional<DType> dtype_from_name(std::string_view text);

using Dims = SmallVector<int64_t, 6>;
[[noreturn]] void too_many_elements();
inline int64_t element_count(std::span<const int64_t> shape) {
  constexpr int64_t kMost = int64_t{1} << 58;  // so that no byte count overflows
  int64_t count = 1;
  bool too_many = false;
  for (int64_t size : shape) {
    if (size == 0) return 0;
    too_many |= __builtin_mul_overflow(count, size, &count) || count > kMost;
  }
  if (too_many) [[unlikely]]
    too_many_elements();
  return count;
}
Dims contiguous_strides(std::span<const int64_t> shape);  // row-major, in elements; zero-size dims count as 1

// An opaque device tag. 0 is the CPU; 1 + i is CUDA device i. Only the runtime gives it a meaning.
using DeviceTag = int8_t;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// The bits of one element, zero-extended to 64. A float is stored in its own format (an f16 in 16 bits).
struct Constant {
  DType dtype;
  uint64_t bits;
  friend bool operator==(const Constant&, const Constant&) = default;
};
Constant constant(DType dtype, double value);   // rounds to nearest even; to an integer truncates like a cast
Constant constant(DType dtype, int64_t value);  // wraps integers; rounds once to a float
double to_double(Constant c);                   // exact for all but large i64
int64_t to_int64(Constant c);                   // float -> int truncates toward zero; nan and out of range give INT64_MIN
Constant cast(Constant c, DType to);            // PyTorch's cast rules (torch's x86 behaviour for out of range)
std::string print(Constant c);                  // round-trips exactly; nan, inf, -inf by name; "true"/"false"
std::optional<Constant> parse_constant(std::string_view text, DType dtype);

// Conversions between 16-bit formats and float, round to nearest even.
uint16_t float_to_half(float value);
float half_to_float(uint16_t bits);
// A bfloat16 is the upper half of a float; without branches, so that loops take vectors.
constexpr uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}
constexpr float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Malformed IR: a builder or verifier found it, or a text does not parse ("FILE:LINE:COLUMN: reason"). An
// Error of the public API, since the builders see what a check of the frontend has overlooked.
struct IrError : Error {
  using Error::Error;
};

}  // namespace tenon::ir
