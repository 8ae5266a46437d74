// Accuracy of the elementary functions through the JIT: each is compiled once and compared with libm in a
// wider type, on a strided sample of all float32, every exponent's neighbourhood and the special values.
// tools/ulp_sweep does all 2^32.
#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <random>

#include "codegen/interpreter/interpreter.h"
#include "support/math_functions.h"

using namespace tenon;
using ir::DType;
using ir::Op;

namespace {

constexpr int64_t kBlock = 4096;

template <typename T>
constexpr DType dtype_of = std::is_same_v<T, float> ? DType::F32 : DType::F64;

const std::vector<double>& special_values() {
  static const std::vector<double> values = [] {
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> v;
    for (double x : {0.0,
                     1.0,
                     2.0,
                     0.5,
                     3.0,
                     1.5,
                     8.0,
                     1.0 / 3,
                     inf,
                     nan,
                     0x1p-1074,
                     0x1p-1022,
                     0x1.fffffffffffffp1023,
                     0x1p-149,
                     0x1p-126,
                     0x1.fffffep127,
                     0x1.fffffffffffffp-1,
                     1 + 0x1p-52,
                     0x1.fffffep-1,
                     1 + 0x1p-23,
                     88.72283,
                     88.72284,
                     103.97208,
                     87.33654,
                     709.782712893384,
                     745.13321910194117,
                     720.0,
                     708.4,
                     16777215.0,
                     0x1p53,
                     0x1p53 - 1,
                     1023.0,
                     1024.0,
                     1074.0,
                     1075.0,
                     127.0,
                     128.0,
                     149.0,
                     150.0,
                     26.5,
                     27.2,
                     10.05,
                     0x1.6ac5b262ca1ffp+849,
                     1e22,
                     1e300,
                     1e30,
                     1e-300,
                     1e-30,
                     1.5707963267948966,
                     3.1415926535897932,
                     0.34657359,
                     0.41421356,
                     2.41421356,
                     0.55,
                     0.6,
                     0.92,
                     0.47,
                     2.5,
                     7.5,
                     0x1p60,
                     0x1p30,
                     0x1p51}) {
      v.push_back(x);
      v.push_back(-x);
    }
    return v;
  }();
  return values;
}

// Arguments in blocks of kBlock, the last filled up with ones.
template <typename T>
std::vector<T> padded(std::vector<T> x) {
  while (x.size() % kBlock) x.push_back(T(1));
  return x;
}

std::vector<float> single_samples() {
  std::vector<float> x;
  for (double s : special_values()) {
    for (float f : {static_cast<float>(s), std::nextafter(static_cast<float>(s), 0.0f)}) x.push_back(f);
  }
  for (uint64_t exponent = 0; exponent < 512; ++exponent) {
    for (uint32_t near : {-2u, -1u, 0u, 1u, 2u}) {
      x.push_back(std::bit_cast<float>((static_cast<uint32_t>(exponent) << 23) + near));
    }
  }
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return padded(std::move(x));
}

// Doubles of all exponents, in [-1, 1], [-8, 8], [-1024, 1024], and of moderate exponents.
double random_double(std::mt19937_64& random, int kind) {
  const auto bits = random();
  const auto fraction = static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-63;
  switch (kind % 5) {
    case 0: return std::bit_cast<double>(bits);
    case 1: return fraction;
    case 2: return fraction * 8;
    case 3: return fraction * 1024;
    default: return std::ldexp(fraction, -static_cast<int>(random() % 40));
  }
}

std::vector<double> double_samples(int count) {
  std::mt19937_64 random(42);
  std::vector<double> x = special_values();
  for (double s : special_values()) x.push_back(std::nextafter(s, 0.0));
  for (int i = 0; i < count; ++i) x.push_back(random_double(random, i));
  return padded(std::move(x));
}

template <typename T>
std::vector<T> results(const test::MathKernel& kernel, const std::vector<T>& x, const std::vector<T>& y = {}) {
  std::vector<T> z(x.size());
  for (size_t i = 0; i < x.size(); i += kBlock) {
    std::vector<void*> buffers = {const_cast<T*>(x.data() + i)};
    if (!y.empty()) buffers.push_back(const_cast<T*>(y.data() + i));
    buffers.push_back(z.data() + i);
    kernel.run(buffers);
  }
  return z;
}

struct Worst {
  double error = 0;
  size_t at = 0;
  void add(double e, size_t i) {
    if (e > error) *this = {e, i};
  }
};

}  // namespace

TEST_CASE("math: unary functions of float32 keep their bounds") {
  const std::vector<float> x = single_samples();
  for (const test::UnaryFunction& f : test::kUnaryFunctions) {
    const std::vector<float> z = results(test::MathKernel(f.op, DType::F32, kBlock), x);
    Worst worst;
    for (size_t i = 0; i < x.size(); ++i) worst.add(test::ulp_error(z[i], f.reference(static_cast<double>(x[i])), f.scale), i);
    CAPTURE(ir::info(f.op).text);
    CAPTURE(x[worst.at]);
    CAPTURE(z[worst.at]);
    CHECK(worst.error <= f.bound);
  }
}

// Arithmetic on denormal numbers is several times slower than other arithmetic: where argument and result are none, no step's operand or
// result is one, nor a product that is lost to 0.
TEST_CASE("math: unary functions of tiny float32 meet no denormal number") {
  const auto denormal = [](const ir::Constant& c) {
    return c.dtype == DType::F32 && ir::to_double(c) != 0 && std::fabs(ir::to_double(c)) < 0x1p-126;
  };
  for (const test::UnaryFunction& f : test::kUnaryFunctions) {
    const ir::Kernel kernel = passes::run_kernel_passes(test::MathKernel::make(f.op, DType::F32, 1));
    CAPTURE(ir::info(f.op).text);
    for (const float x : {1e-37f, -1e-30f, 1e-26f, 3e-23f, -1e-20f, 1e-19f, 1e-12f, -1e-9f, 1e-8f, 1e-4f, -0.3f}) {
      CAPTURE(x);
      std::vector<ir::Constant> values;
      for (const ir::Instr& in : kernel.instrs) {
        std::vector<ir::Constant> args;
        for (const ir::Value v : in.args) args.push_back(values[static_cast<size_t>(v)]);
        if (in.op == Op::Store) break;
        values.push_back(in.op == Op::Load    ? ir::constant(DType::F32, static_cast<double>(x))
                         : in.op == Op::Const ? ir::Constant{in.dtype, in.bits}
                                              : ir::evaluate(in.op, args, in.dtype));
        if (in.op != Op::Add && in.op != Op::Sub && in.op != Op::Mul && in.op != Op::Div && in.op != Op::Fma) continue;
        CAPTURE(ir::info(in.op).text);
        CHECK_FALSE(denormal(values.back()));
        for (const ir::Constant& arg : args) CHECK_FALSE(denormal(arg));
        if (in.op == Op::Mul && in.dtype == DType::F32) {
          CHECK((ir::to_double(values.back()) != 0 || ir::to_double(args[0]) == 0 || ir::to_double(args[1]) == 0));
        }
      }
    }
  }
}

// Near the roots of lgamma left of 0 the bound is absolute: that many ulp of 1.
TEST_CASE("math: unary functions of float64 keep their bounds") {
  const std::vector<double> x = double_samples(20000);
  for (const test::UnaryFunction& f : test::kUnaryFunctions) {
    const std::vector<double> z = results(test::MathKernel(f.op, DType::F64, kBlock), x);
    Worst worst;
    for (size_t i = 0; i < x.size(); ++i) {
      const double scale = f.op == Op::Lgamma && x[i] < 0 ? 1 : f.scale_wide;
      worst.add(test::ulp_error(z[i], f.reference_wide(x[i]), scale), i);
    }
    CAPTURE(ir::info(f.op).text);
    CAPTURE(x[worst.at]);
    CAPTURE(z[worst.at]);
    CHECK(worst.error <= f.bound_wide);
  }
}

namespace {

// All pairs of special values, then random ones: of all exponents, near 1, small integers, and close in size.
template <typename T>
void binary_samples(std::vector<T>& x, std::vector<T>& y, int count) {
  for (double a : special_values()) {
    for (double b : special_values()) {
      x.push_back(static_cast<T>(a));
      y.push_back(static_cast<T>(b));
    }
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < count; ++i) {
    double a = random_double(random, i / 5), b = random_double(random, i);
    if (i % 7 == 1) a = 1 + a * (sizeof(T) == 4 ? 0x1p-12 : 0x1p-30);
    if (i % 7 == 2) a = static_cast<double>(random() % 41) - 20, b = static_cast<double>(random() % 81) - 40;
    if (i % 7 == 3) b = a * (0.25 + static_cast<double>(random() % 1000) / 300);
    x.push_back(static_cast<T>(a));
    y.push_back(static_cast<T>(b));
  }
  x = padded(std::move(x));
  y = padded(std::move(y));
}

}  // namespace

TEST_CASE_TEMPLATE("math: binary functions keep their bounds", T, float, double) {
  std::vector<T> x, y;
  binary_samples(x, y, 40000);
  for (const test::BinaryFunction& f : test::kBinaryFunctions) {
    const std::vector<T> z = results(test::MathKernel(f.op, dtype_of<T>, kBlock), x, y);
    Worst worst;
    for (size_t i = 0; i < x.size(); ++i) {
      worst.add(sizeof(T) == 4 ? test::ulp_error(z[i], f.reference(x[i], y[i])) : test::ulp_error(z[i], f.reference_wide(x[i], y[i])), i);
    }
    CAPTURE(ir::info(f.op).text);
    CAPTURE(x[worst.at]);
    CAPTURE(y[worst.at]);
    CAPTURE(z[worst.at]);
    CHECK(worst.error <= (sizeof(T) == 4 ? f.bound : f.bound_wide));
  }
}

TEST_CASE("math: PyTorch's corners of pow and sign") {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double cases[][3] = {{0, 0, 1},        {1, nan, 1},  {nan, 0, 1},      {-8, 1.0 / 3, nan}, {-2, 3, -8},      {-0.0, 3, -0.0},
                             {-0.0, -3, -inf}, {-0.0, 2, 0}, {0, -1, inf},     {-inf, 3, -inf},    {-inf, -3, -0.0}, {-1, inf, 1},
                             {0.5, inf, 0},    {2, -inf, 0}, {-inf, 0.5, inf}, {nan, 1, nan},      {2, nan, nan},    {-2, inf, inf}};
  std::vector<double> x, y;
  for (const auto& c : cases) x.push_back(c[0]), y.push_back(c[1]);
  x = padded(x), y = padded(y);
  const std::vector<double> z = results(test::MathKernel(Op::Pow, DType::F64, kBlock), x, y);
  for (size_t i = 0; i < std::size(cases); ++i) {
    CAPTURE(x[i]);
    CAPTURE(y[i]);
    CHECK(test::ulp_error(z[i], cases[i][2]) == 0);
  }
  const std::vector<float> s = results(test::MathKernel(Op::Sign, DType::F32, kBlock),
                                       padded(std::vector<float>{-3, -0.0f, 0, 5, static_cast<float>(nan), -INFINITY}));
  for (size_t i = 0; i < 6; ++i)
    CHECK(std::bit_cast<uint32_t>(s[i]) == std::bit_cast<uint32_t>(std::array{-1.f, 0.f, 0.f, 1.f, 0.f, -1.f}[i]));
}

// Every integer op that expands, against the op's defining value.
TEST_CASE_TEMPLATE("math: integer pow, rem and sign are exact", T, uint8_t, int8_t, int16_t, int32_t, int64_t) {
  constexpr DType dtype = std::is_same_v<T, uint8_t>   ? DType::U8
                          : std::is_same_v<T, int8_t>  ? DType::I8
                          : std::is_same_v<T, int16_t> ? DType::I16
                          : std::is_same_v<T, int32_t> ? DType::I32
                                                       : DType::I64;
  std::mt19937_64 random(3);
  std::vector<T> x, y;
  for (int i = 0; i < kBlock; ++i) {
    x.push_back(static_cast<T>(i % 3 ? random() : random() % 7 - 3));
    y.push_back(static_cast<T>(i % 2 ? random() % 70 - 6 : random()));
  }
  x[0] = std::numeric_limits<T>::min(), y[0] = static_cast<T>(-1);
  for (int i = 1; i < 40; ++i) {  // on both sides of what a float holds
    x[static_cast<size_t>(i)] = static_cast<T>((i % 2 ? 1 : -1) * ((int64_t{1} << (i < 20 ? 51 : 31)) + i % 5 - 2));
    y[static_cast<size_t>(i)] = static_cast<T>(i % 7 - 3);
  }
  for (Op op : {Op::Pow, Op::Div, Op::Rem, Op::Sign}) {
    CAPTURE(ir::info(op).text);
    const std::vector<T> z = results(test::MathKernel(op, dtype, kBlock), x, op == Op::Sign ? std::vector<T>{} : y);
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const ir::Constant args[] = {ir::constant(dtype, static_cast<int64_t>(x[i])), ir::constant(dtype, static_cast<int64_t>(y[i]))};
      const size_t arity = op == Op::Sign ? 1 : 2;
      wrong += static_cast<T>(ir::to_int64(ir::evaluate(op, {args, arity}, dtype))) != z[i];
    }
    CHECK(wrong == 0);
  }
}

// Half types go through f32: rounding the f32 result of the widened argument gives the same bits, for every
// argument.
TEST_CASE("math: f16 and bf16 round the f32 result") {
  for (DType half : {DType::F16, DType::BF16}) {
    std::vector<uint16_t> x(65536);
    std::vector<float> wide(65536);
    for (uint32_t i = 0; i < 65536; ++i) {
      x[i] = static_cast<uint16_t>(i);
      wide[i] = half == DType::F16 ? ir::half_to_float(x[i]) : ir::bfloat16_to_float(x[i]);
    }
    const std::vector<uint16_t> narrow = results(test::MathKernel(Op::Tanh, half, kBlock), x);
    const std::vector<float> single = results(test::MathKernel(Op::Tanh, DType::F32, kBlock), wide);
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const uint16_t rounded = half == DType::F16 ? ir::float_to_half(single[i]) : ir::float_to_bfloat16(single[i]);
      if (!std::isnan(single[i])) wrong += rounded != narrow[i];
    }
    CHECK(wrong == 0);
  }
}

// The same kernel, element by element on the host: not one bit differs.
TEST_CASE("math: the JIT and the kernel interpreter give the same bits") {
  std::vector<float> x = single_samples();
  x.resize(kBlock);
  for (const test::UnaryFunction& f : test::kUnaryFunctions) {
    const test::MathKernel kernel(f.op, DType::F32, kBlock);
    const std::vector<float> z = results(kernel, x);
    std::vector<float> slow(x.size());
    void* const buffers[] = {x.data(), slow.data()};
    codegen::interpret(kernel.kernel(), buffers, nullptr);
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      wrong += !(std::isnan(z[i]) && std::isnan(slow[i])) && std::bit_cast<uint32_t>(z[i]) != std::bit_cast<uint32_t>(slow[i]);
    }
    CAPTURE(ir::info(f.op).text);
    CHECK(wrong == 0);
  }
}
