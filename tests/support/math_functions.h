// The elementary functions as a table: op, reference and stated bound for each dtype; errors in units in the
// last place; and a compiled kernel that applies one op to arrays. Shared by the tests and tools/ulp_sweep.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <type_traits>
#include <vector>

#include "codegen/llvm/jit.h"
#include "ir/kernel/kernel_builder.h"
#include "passes/passes.h"
#include "passes/schedule/schedule.h"
#include "support/launch.h"

namespace tenon::test {

// By Halley's method on erf, or on erfc where erf has no digits left; T is double or long double.
template <typename T>
T inverse_erf(T x) {
  const T a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? x * std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
  if (a < T(1e-12)) return x * T(0.886226925452758013649083741670572592L);  // sqrt(pi)/2
  const T l = std::log1p(-a * a), k = 2 / (T(M_PIl) * T(0.147)) + l / 2;    // Winitzki's first guess
  T y = std::sqrt(std::sqrt(k * k - l / T(0.147)) - k);
  for (int i = 0; i < 6; ++i) {
    const T error = a < T(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const T step = error / (T(1.128379167095512573896158903121545172L) * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

// x times the normal distribution function.
template <typename T>
T normal_share(T x) {
  return x * std::erfc(-x / std::sqrt(T(2))) / 2;
}

// The derivative of that, x ndtr(x).
template <typename T>
T normal_share_slope(T x) {
  const T size = std::fabs(x), tail = size * std::exp(-size * size / 2) / std::sqrt(2 * std::numbers::pi_v<T>);
  const T past_1 = tail - std::erfc(size / std::sqrt(T(2))) / 2;  // what it exceeds 1 by on the right, and 0 by on the left
  return x < 0 ? -past_1 : 1 + past_1;
}

// Of f32 and of f64: 0 where exp(-x) overflows.
inline double logistic_single(double x) { return x <= -0x1.62e43p+6 ? 0 : 1 / (1 + std::exp(-x)); }
inline long double logistic_double(long double x) { return x <= -0x1.62e42fefa39fp+9L ? 0 : 1 / (1 + std::exp(-x)); }

struct UnaryFunction {
  ir::Op op;
  double bound;       // largest error of f32 in ulp, over every argument
  double bound_wide;  // of f64, over the samples that the tests take
  double (*reference)(double);
  long double (*reference_wide)(long double);
  double scale = 0, scale_wide = 0;  // errors are counted in ulps of results of at least this size
};

struct BinaryFunction {
  ir::Op op;
  double bound, bound_wide;
  double (*reference)(double, double);
  long double (*reference_wide)(long double, long double);
};

inline constexpr UnaryFunction kUnaryFunctions[] = {
    {ir::Op::Exp, 1, 1, std::exp, std::exp},
    {ir::Op::Exp2, 1, 1, std::exp2, std::exp2},
    {ir::Op::Expm1, 1, 1, std::expm1, std::expm1},
    {ir::Op::Log, 1, 1, std::log, std::log},
    {ir::Op::Log2, 1, 1, std::log2, std::log2},
    {ir::Op::Log10, 1, 1, std::log10, std::log10},
    {ir::Op::Log1p, 1, 1, std::log1p, std::log1p},
    {ir::Op::Sin, 1, 1, std::sin, std::sin},
    {ir::Op::Cos, 1, 1, std::cos, std::cos},
    {ir::Op::Tan, 1, 1, std::tan, std::tan},
    {ir::Op::Asin, 1, 1, std::asin, std::asin},
    {ir::Op::Acos, 1, 1, std::acos, std::acos},
    {ir::Op::Atan, 1, 1, std::atan, std::atan},
    {ir::Op::Sinh, 0.51, 1, std::sinh, std::sinh},
    {ir::Op::Cosh, 0.51, 1, std::cosh, std::cosh},
    {ir::Op::Tanh, 1.5, 1.5, std::tanh, std::tanh},
    {ir::Op::Sigmoid, 3, 3, logistic_single, logistic_double},
    {ir::Op::Asinh, 0.51, 1.5, std::asinh, std::asinh},
    {ir::Op::Acosh, 0.51, 1.5, std::acosh, std::acosh},
    {ir::Op::Atanh, 0.51, 1, std::atanh, std::atanh},
    {ir::Op::Erf, 1, 1.5, std::erf, std::erf},
    {ir::Op::Erfc, 3.2, 2.2, std::erfc, std::erfc},
    {ir::Op::Gelu, 9, 3, normal_share<double>, normal_share<long double>},
    {ir::Op::GeluGrad, 4, 3, normal_share_slope<double>, normal_share_slope<long double>, 0x1p-3, 0x1p-2},
    {ir::Op::Erfinv, 0.51, 3, inverse_erf<double>, inverse_erf<long double>},
    {ir::Op::Lgamma, 0.51, 6,
     [](double x) {
       int s;
       return lgamma_r(x, &s);
     },
     [](long double x) {
       int s;
       return lgammal_r(x, &s);
     }},
};

inline constexpr BinaryFunction kBinaryFunctions[] = {
    {ir::Op::Pow, 0.51, 1, std::pow, std::pow},
    {ir::Op::Atan2, 0.51, 1, std::atan2, std::atan2},
    {ir::Op::Hypot, 0.51, 1, std::hypot, std::hypot},
    {ir::Op::Rem, 0, 0, std::fmod, std::fmod},
    {ir::Op::CopySign, 0, 0, std::copysign, std::copysign},
};

// |got - want| in units of the last place that `want` has in T, or that `scale` has if it is larger. nan,
// infinities and the signs of zeros must agree, else infinity; an overflow is as far off as it is past the
// largest number.
template <typename T, typename Wide>
double ulp_error(T got, Wide want, double scale = 0) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  const T rounded = static_cast<T>(want);
  if (got == rounded && std::signbit(got) == std::signbit(rounded) && std::isinf(got)) return 0;
  if (std::isinf(want) || want == 0) return got == want && std::signbit(got) == std::signbit(want) ? 0 : wrong;
  if (got == 0 && std::signbit(got) != std::signbit(want)) return wrong;
  using Limits = std::numeric_limits<T>;
  int exponent;
  std::frexp(std::max(std::fabs(want), Wide(scale)), &exponent);
  const Wide unit = std::ldexp(Wide(1), std::max(exponent, Limits::min_exponent) - Limits::digits);
  const Wide value = std::isinf(got) ? std::copysign(std::ldexp(Wide(1), Limits::max_exponent - 1) * 2, Wide(got)) : Wide(got);
  return static_cast<double>(std::fabs(value - want) / unit);
}

// A kernel z = op(x) or op(x, y) over `count` elements, through all passes, schedules and LLVM.
class MathKernel {
 public:
  MathKernel(ir::Op op, ir::DType dtype, int64_t count)
      : kernel_(passes::run_kernel_passes(make(op, dtype, count))),
        lowered_(passes::lower(kernel_, ir::CpuTarget{codegen::llvm_backend::host_vector_bits()})),
        code_(codegen::llvm_backend::load_object(codegen::llvm_backend::compile_object(lowered_.tree),
                                                 static_cast<int>(lowered_.tree.phases.size()))) {}

  // `buffers` are x, (y,) z, of `count` elements each. Thread-safe.
  void run(std::vector<void*> buffers) const { launch(lowered_, *code_, std::move(buffers), {}, std::numeric_limits<int64_t>::max()); }
  const ir::Kernel& kernel() const { return kernel_; }

  static ir::Kernel make(ir::Op op, ir::DType dtype, int64_t count) {
    ir::Kernel kernel;
    kernel.name = "math";
    const ir::Index i = kernel.axis(kernel.add_axis("i", count, ir::AxisKind::Parallel));
    ir::KernelBuilder builder(kernel);
    SmallVector<ir::Value, 3> args;
    for (int k = 0; k < ir::info(op).arity; ++k) {
      const int buffer = kernel.add_buffer(k ? "y" : "x", dtype, ir::Role::In, count);
      args.push_back(builder.load(buffer, i, ir::Level::Row));
    }
    const int result = kernel.add_buffer("z", dtype, ir::Role::Out, count);
    builder.store(result, i, builder.op(op, std::span<const ir::Value>(args.begin(), args.size())), ir::Level::Row);
    return kernel;
  }

 private:
  ir::Kernel kernel_;
  passes::Lowered lowered_;
  std::unique_ptr<codegen::Executable> code_;
};

}  // namespace tenon::test
