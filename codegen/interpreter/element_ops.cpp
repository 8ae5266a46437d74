// The element arithmetic of the kernel interpreter: takes arrays of raw bits, gives arrays of raw bits.
#include "codegen/interpreter/element_ops.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "ir/kernel/reduce_tree.h"

namespace tenon::codegen {
namespace {

using ir::DType;
using ir::Op;

// --- elements as C++ values --------------------------------------------------------------------------------
template <typename T>
T from_bits(uint64_t bits) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(bits);
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  } else {
    return static_cast<T>(bits);
  }
}
template <typename T>
uint64_t to_bits(T value) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<uint64_t>(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(value);
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

// Calls f with a value of the C++ type in which `dtype` computes; bool as uint8_t, f16 and bf16 not at all.
template <typename F>
auto with_type(DType dtype, F f) {
  switch (dtype) {
    case DType::Bool:
    case DType::U8: return f(uint8_t{});
    case DType::I8: return f(int8_t{});
    case DType::I16: return f(int16_t{});
    case DType::I32: return f(int32_t{});
    case DType::I64: return f(int64_t{});
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    default: throw ir::IrError("no accumulator type for " + std::string(ir::name(dtype)));
  }
}

template <typename T>
constexpr bool is_real = std::is_floating_point_v<T>;

// Integers wrap: computed unsigned in 64 bits, cut to the type.
template <typename T, typename F>
T arithmetic(F f, T a, T b) {
  if constexpr (is_real<T>) return f(a, b);
  return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}
template <typename T>
T plus(T a, T b) {
  return arithmetic(std::plus<>(), a, b);
}
template <typename T>
T times(T a, T b) {
  return arithmetic(std::multiplies<>(), a, b);
}
template <typename T>
bool is_nan(T a) {
  return a != a;
}
template <typename T>
T larger(T a, T b) {
  return a > b || is_nan(a) ? a : b;
}
template <typename T>
T smaller(T a, T b) {
  return a < b || is_nan(a) ? a : b;
}

// --- elementwise
template <typename T, typename F>
bool binary(std::span<const uint64_t* const> args, uint64_t* out, int64_t count, F f) {
  const uint64_t *a = args[0], *b = args[1];
  for (int64_t i = 0; i < count; ++i) {
    const auto result = f(from_bits<T>(a[i]), from_bits<T>(b[i]));
    if constexpr (std::is_same_v<decltype(result), const bool>) {
      out[i] = result;
    } else {
      out[i] = to_bits<T>(result);
    }
  }
  return true;
}

template <typename T>
bool fused_multiply_add(std::span<const uint64_t* const> args, uint64_t* out, int64_t count) {
  const uint64_t *a = args[0], *b = args[1], *c = args[2];
  for (int64_t i = 0; i < count; ++i) {
    out[i] = to_bits(std::fma(from_bits<T>(a[i]), from_bits<T>(b[i]), from_bits<T>(c[i])));
  }
  return true;
}

// The ops that kernels are full of; false for the others.
template <typename T>
bool apply_common(Op op, std::span<const uint64_t* const> args, uint64_t* out, int64_t count) {
  switch (op) {
    case Op::Add: return binary<T>(args, out, count, plus<T>);
    case Op::Sub: return binary<T>(args, out, count, [](T a, T b) { return arithmetic(std::minus<>(), a, b); });
    case Op::Mul: return binary<T>(args, out, count, times<T>);
    case Op::Max: return binary<T>(args, out, count, larger<T>);
    case Op::Min: return binary<T>(args, out, count, smaller<T>);
    case Op::Eq: return binary<T>(args, out, count, std::equal_to<T>());
    case Op::Ne: return binary<T>(args, out, count, std::not_equal_to<T>());
    case Op::Lt: return binary<T>(args, out, count, std::less<T>());
    case Op::Le: return binary<T>(args, out, count, std::less_equal<T>());
    case Op::Gt: return binary<T>(args, out, count, std::greater<T>());
    case Op::Ge: return binary<T>(args, out, count, std::greater_equal<T>());
    default: break;
  }
  if constexpr (is_real<T>) {
    if (op == Op::Div) return binary<T>(args, out, count, std::divides<T>());
    if (op == Op::Fma) return fused_multiply_add<T>(args, out, count);
  } else {
    if (op == Op::And) return binary<T>(args, out, count, std::bit_and<T>());
    if (op == Op::Or) return binary<T>(args, out, count, std::bit_or<T>());
    if (op == Op::Xor) return binary<T>(args, out, count, std::bit_xor<T>());
  }
  return false;
}

// --- reductions
template <typename T>
T combine(Op op, T a, T b) {
  switch (op) {
    case Op::Add: return plus(a, b);
    case Op::Mul: return times(a, b);
    case Op::Max: return larger(a, b);
    case Op::Min: return smaller(a, b);
    case Op::Or: return static_cast<T>(a != T{0} || b != T{0});
    case Op::And: return static_cast<T>(a != T{0} && b != T{0});
    default: throw ir::IrError(std::string(ir::info(op).text) + ": is no reduction of values");
  }
}

// A value with its position; -1 stands for none, which loses against every element.
template <typename T>
struct Positioned {
  T value;
  int64_t at;
};

// The winner of two: a nan over any number, the better number, then the earlier position.
template <typename T>
Positioned<T> better(Op op, Positioned<T> a, Positioned<T> b) {
  if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
  if (is_nan(a.value) != is_nan(b.value)) return is_nan(a.value) ? a : b;
  if (a.value == b.value || is_nan(a.value)) return a.at < b.at ? a : b;
  return (op == Op::Gt ? a.value > b.value : a.value < b.value) ? a : b;
}

// Hands out the elements of a source one by one.
class Reader {
 public:
  explicit Reader(const ElementSource& source) : source_(source) {}
  uint64_t operator()(int64_t at) {
    if (at >= end_) {
      Elements next = source_(at);
      bits_ = next.bits;
      begin_ = at;
      end_ = at + next.count;
    }
    return bits_[at - begin_];
  }

 private:
  const ElementSource& source_;
  const uint64_t* bits_ = nullptr;
  int64_t begin_ = 0, end_ = 0;
};

// `load` turns bits into the accumulator's type. Gives the bits of the result.
template <typename T, typename Load>
uint64_t reduce_as(Op op, ir::ReduceTree tree, DType dtype, std::span<const int64_t> extents, Reader& read, Load load) {
  const T start = from_bits<T>(ir::combine_start(op, dtype).bits);
  const Op with = ir::combining_op(op);
  if (op != Op::ArgMax && op != Op::ArgMin) {
    const auto element = [&](int64_t at) { return load(read(at)); };
    const auto combined = [with](T a, T b) { return combine(with, a, b); };
    if constexpr (is_real<T>) {
      if (ir::keeps_rest(op, dtype)) return to_bits(ir::reduce_in_order(tree, extents, start, element, combined, ir::Total<T>(start)));
    }
    return to_bits(ir::reduce_in_order(tree, extents, start, element, combined));
  }
  using Found = Positioned<T>;
  const Found best = ir::reduce_in_order(
      tree, extents, Found{start, -1},
      [&](int64_t at) {
        return Found{load(read(at)), at};
      },
      [with](const Found& a, const Found& b) { return better(with, a, b); });
  return to_bits(std::max<int64_t>(best.at, 0));
}

float widen(DType half, uint64_t bits) {
  auto narrow = static_cast<uint16_t>(bits);
  return half == DType::F16 ? ir::half_to_float(narrow) : ir::bfloat16_to_float(narrow);
}
uint16_t narrow(DType half, float value) { return half == DType::F16 ? ir::float_to_half(value) : ir::float_to_bfloat16(value); }

// `product(k, sum)`: the sum with the product of number k. `wide`: the dtype of T.
template <typename T, typename Product>
uint64_t contract_as(DType wide, int64_t count, const Product& product) {
  const auto chain = [&](int64_t begin, int64_t end) {
    T sum{};
    for (int64_t k = begin; k < end; ++k) sum = product(k, sum);
    return sum;
  };
  if constexpr (is_real<T>) return to_bits(ir::add_product(wide, count, T{}, chain));
  return to_bits(chain(0, count));
}

}  // namespace

void apply(Op op, DType operand, DType result, std::span<const uint64_t* const> args, uint64_t* out, int64_t count) {
  if (op == Op::Where) {
    for (int64_t i = 0; i < count; ++i) out[i] = args[0][i] ? args[1][i] : args[2][i];
    return;
  }
  bool done = !ir::is_half(operand) && with_type(operand, [&](auto zero) { return apply_common<decltype(zero)>(op, args, out, count); });
  if (done) return;
  ir::Constant values[3];
  for (int64_t i = 0; i < count; ++i) {
    for (size_t a = 0; a < args.size(); ++a) values[a] = {operand, args[a][i]};
    out[i] = ir::evaluate(op, {values, args.size()}, result).bits;
  }
}

uint64_t reduce_row(Op op, ir::ReduceTree tree, DType operand, std::span<const int64_t> extents, const ElementSource& source) {
  Reader read(source);
  if (ir::is_half(operand)) {
    const uint64_t wide = reduce_as<float>(op, tree, DType::F32, extents, read, [=](uint64_t bits) { return widen(operand, bits); });
    return op == Op::ArgMax || op == Op::ArgMin ? wide : narrow(operand, from_bits<float>(wide));
  }
  return with_type(operand, [&](auto zero) {
    using T = decltype(zero);
    return reduce_as<T>(op, tree, operand, extents, read, from_bits<T>);
  });
}

uint64_t contract_row(DType operand, int64_t count, const FactorSource& source) {
  Factors now{nullptr, nullptr, 0};
  int64_t begin = 0;
  // f(a, b) of number k; asked in order.
  const auto factors = [&](int64_t k, const auto& f) {
    if (k >= begin + now.count) {
      now = source(k);
      begin = k;
    }
    return f(now.a[k - begin], now.b[k - begin]);
  };
  if (ir::is_half(operand)) {
    const auto product = [&](int64_t k, float sum) {
      return factors(k, [&](uint64_t a, uint64_t b) { return std::fma(widen(operand, a), widen(operand, b), sum); });
    };
    return narrow(operand, from_bits<float>(contract_as<float>(DType::F32, count, product)));
  }
  return with_type(operand, [&](auto zero) {
    using T = decltype(zero);
    return contract_as<T>(operand, count, [&](int64_t k, T sum) {
      return factors(k, [&](uint64_t a, uint64_t b) -> T {
        const T x = from_bits<T>(a), y = from_bits<T>(b);
        if constexpr (is_real<T>) {
          return std::fma(x, y, sum);
        } else {
          return plus(sum, times(x, y));
        }
      });
    });
  });
}

}  // namespace tenon::codegen
