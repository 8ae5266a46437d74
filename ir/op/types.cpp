// Element types and single elements of them: sizes, names, conversions and their text form. Conversions
// follow PyTorch on x86-64, including what it gives for values that do not fit.
#include "ir/op/types.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace tenon::ir {
namespace {

constexpr std::string_view kNames[kDTypeCount] = {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};

uint64_t mask_of(DType t) { return item_size(t) == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * item_size(t))) - 1; }

uint64_t float_bits(DType t, float value) {
  switch (t) {
    case DType::F16: return float_to_half(value);
    case DType::BF16: return float_to_bfloat16(value);
    case DType::F32: return std::bit_cast<uint32_t>(value);
    default: return std::bit_cast<uint64_t>(static_cast<double>(value));
  }
}

// The float behind f16, bf16 and f32 bits; exact.
float as_float(Constant c) {
  switch (c.dtype) {
    case DType::F16: return half_to_float(static_cast<uint16_t>(c.bits));
    case DType::BF16: return bfloat16_to_float(static_cast<uint16_t>(c.bits));
    default: return std::bit_cast<float>(static_cast<uint32_t>(c.bits));
  }
}

// The integer behind bool and integer bits.
int64_t as_int(Constant c) {
  switch (c.dtype) {
    case DType::I8: return static_cast<int8_t>(c.bits);
    case DType::I16: return static_cast<int16_t>(c.bits);
    case DType::I32: return static_cast<int32_t>(c.bits);
    default: return static_cast<int64_t>(c.bits);
  }
}

int64_t truncate_to_int64(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63)) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

// Narrow integers are cut out of the 32-bit conversion, as the machine does it: 300.0 -> u8 is 44, nan -> i16
// is 0.
int64_t truncate_to_int32(double value) {
  if (!(value > -0x1p31 - 1 && value < 0x1p31)) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(value);
}

template <typename Float>
std::string print_float(Float value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::string result(text, end);
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

uint64_t canonical_nan(DType t) { return float_bits(t, std::numeric_limits<float>::quiet_NaN()); }

std::string print_nan(Constant c) {
  if (c.bits == canonical_nan(c.dtype)) return "nan";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, c.bits, 16).ptr;
  return "nan(0x" + std::string(text, end) + ")";
}

// "nan(0x7fc00001)": a nan with another sign or payload than the canonical one, by its bits.
std::optional<Constant> parse_nan(std::string_view text, DType dtype) {
  if (text == "nan") return Constant{dtype, canonical_nan(dtype)};
  if (!text.starts_with("nan(0x") || !text.ends_with(")")) return std::nullopt;
  text = text.substr(6, text.size() - 7);
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  if (error != std::errc{} || end != text.data() + text.size() || (bits & ~mask_of(dtype))) return std::nullopt;
  const Constant c{dtype, bits};
  if (!std::isnan(to_double(c))) return std::nullopt;
  return c;
}

}  // namespace

std::string_view name(DType t) { return kNames[static_cast<int>(t)]; }

std::optional<DType> dtype_from_name(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kNames[i] == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

void too_many_elements() { throw IrError("a shape has more elements than memory could hold"); }

Dims contiguous_strides(std::span<const int64_t> shape) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i) {
    // Unsigned: an empty tensor may have other dims whose product wraps; its strides lead nowhere.
    auto extent = static_cast<uint64_t>(shape[i - 1] ? shape[i - 1] : 1);
    strides[i - 2] = static_cast<int64_t>(static_cast<uint64_t>(strides[i - 1]) * extent);
  }
  return strides;
}

Constant constant(DType dtype, double value) { return cast({DType::F64, std::bit_cast<uint64_t>(value)}, dtype); }

Constant constant(DType dtype, int64_t value) { return cast({DType::I64, static_cast<uint64_t>(value)}, dtype); }

double to_double(Constant c) {
  if (c.dtype == DType::F64) return std::bit_cast<double>(c.bits);
  return is_float(c.dtype) ? static_cast<double>(as_float(c)) : static_cast<double>(as_int(c));
}

int64_t to_int64(Constant c) { return is_float(c.dtype) ? truncate_to_int64(to_double(c)) : as_int(c); }

Constant cast(Constant c, DType to) {
  if (c.dtype == to) return c;
  if (to == DType::Bool) return {to, is_float(c.dtype) ? to_double(c) != 0 : c.bits != 0};
  if (is_float(to)) {
    if (to == DType::F64) return {to, std::bit_cast<uint64_t>(to_double(c))};
    if (is_float(c.dtype)) return {to, float_bits(to, static_cast<float>(to_double(c)))};
    return {to, float_bits(to, static_cast<float>(as_int(c)))};
  }
  int64_t value = 0;
  if (!is_float(c.dtype)) {
    value = as_int(c);
  } else {
    value = to == DType::I64 ? truncate_to_int64(to_double(c)) : truncate_to_int32(to_double(c));
  }
  return {to, static_cast<uint64_t>(value) & mask_of(to)};
}

std::string print(Constant c) {
  if (c.dtype == DType::Bool) return c.bits ? "true" : "false";
  if (!is_float(c.dtype)) return std::to_string(as_int(c));
  const double value = to_double(c);
  if (std::isnan(value)) return print_nan(c);
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return c.dtype == DType::F64 ? print_float(value) : print_float(as_float(c));
}

std::optional<Constant> parse_constant(std::string_view text, DType dtype) {
  if (dtype == DType::Bool) {
    if (text != "true" && text != "false") return std::nullopt;
    return Constant{dtype, text == "true"};
  }
  if (!is_float(dtype)) {
    const auto value = parse_number<int64_t>(text);
    if (!value) return std::nullopt;
    const Constant c = constant(dtype, *value);
    if (as_int(c) != *value) return std::nullopt;
    return c;
  }
  if (text.starts_with("nan")) return parse_nan(text, dtype);
  if (text == "inf" || text == "-inf") {
    return constant(dtype, text == "inf" ? HUGE_VAL : -HUGE_VAL);
  }
  if (text.empty() || !(text.back() >= '0' && text.back() <= '9')) return std::nullopt;  // "infinity" and the like
  if (dtype == DType::F64) {
    const auto value = parse_number<double>(text);
    if (!value) return std::nullopt;
    return constant(dtype, *value);
  }
  const auto value = parse_number<float>(text);
  if (!value) return std::nullopt;
  return Constant{dtype, float_bits(dtype, *value)};
}

// Half: 1 sign, 5 exponent (bias 15), 10 fraction bits. Float: 1, 8 (bias 127), 23.
uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // from 65520 on: infinity
  if (magnitude < 0x38800000) {
    // Below 2^-14 the result is subnormal, a multiple of 2^-24: adding 0.5 aligns it, and the addition
    // rounds.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000));
  }
  const uint32_t odd = magnitude >> 13 & 1;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
}

}  // namespace tenon::ir
