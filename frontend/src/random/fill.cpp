// The distributions over the word stream. Words are drawn in chunks that stay in the nearest cache; the
// float32 and float64 uniforms, float32 normals and Bernoulli draws vectorise, the rest is bound by libm.
#include "frontend/src/random/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "runtime/cpu/vectorised.h"
#include "tenon/types.h"

namespace tenon {
namespace {

using ir::DType;
using Engine = RandomEngine;

constexpr int64_t kChunk = 1024;

// step(words, at, n): the words of elements at ... at + n - 1.
template <int kWordsEach, typename Step>
void in_chunks(Engine& engine, int64_t count, Step step) {
  uint32_t words[kChunk * kWordsEach];
  for (int64_t at = 0; at < count; at += kChunk) {
    const int64_t n = std::min(kChunk, count - at);
    engine.words(words, static_cast<size_t>(n * kWordsEach));
    step(static_cast<const uint32_t*>(words), at, n);
  }
}

// Calls f with a null pointer to the C++ type of the elements.
template <typename F>
void with_type(DType dtype, F f) {
  switch (dtype) {
    case DType::Bool: return f(static_cast<bool*>(nullptr));
    case DType::U8: return f(static_cast<uint8_t*>(nullptr));
    case DType::I8: return f(static_cast<int8_t*>(nullptr));
    case DType::I16: return f(static_cast<int16_t*>(nullptr));
    case DType::I32: return f(static_cast<int32_t*>(nullptr));
    case DType::I64: return f(static_cast<int64_t*>(nullptr));
    case DType::F16: return f(static_cast<Half*>(nullptr));
    case DType::BF16: return f(static_cast<BFloat16*>(nullptr));
    case DType::F32: return f(static_cast<float*>(nullptr));
    case DType::F64: return f(static_cast<double*>(nullptr));
  }
}

template <typename T>
constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <typename T>
T converted(int64_t value) {
  if constexpr (is_half<T>) return T(static_cast<float>(value));
  else return static_cast<T>(value);
}
template <typename T>
T converted(double value) {
  if constexpr (is_half<T>) return T(static_cast<float>(value));
  else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(value);
  else return converted<T>(ir::to_int64(ir::constant(DType::I64, value)));
}

template <typename Number>
void store(Elements out, int64_t at, const Number* values, int64_t n) {
  with_type(out.dtype, [&]<typename T>(T*) {
    T* to = static_cast<T*>(out.data) + at;
    for (int64_t i = 0; i < n; ++i) to[i] = converted<T>(values[i]);
  });
}

// --- uniform

// The low 24 bits of a word as a fraction: exact.
TENON_INLINE inline float unit_float(uint32_t w) { return static_cast<float>(static_cast<int32_t>(w & 0xffffffu)) * 0x1p-24f; }

// The low 53 bits of a pair of words as a fraction: exact. In halves, as int32 -> double is what machines
// have.
TENON_INLINE inline double unit_double(uint32_t high, uint32_t low) {
  const auto top = static_cast<double>(static_cast<int32_t>(high & 0x1fffffu));
  const double rest = static_cast<double>(static_cast<int32_t>(low ^ 0x80000000u)) + 0x1p31;
  return (top * 0x1p32 + rest) * 0x1p-53;
}

void unit_floats(Engine& engine, float* out, int64_t count) {
  in_chunks<1>(engine, count, [=](const uint32_t* w, int64_t at, int64_t n) {
    vectorised([=]() TENON_INLINE {
      for (int64_t i = 0; i < n; ++i) out[at + i] = unit_float(w[i]);
    });
  });
}

void unit_doubles(Engine& engine, double* out, int64_t count) {
  in_chunks<2>(engine, count, [=](const uint32_t* w, int64_t at, int64_t n) {
    vectorised([=]() TENON_INLINE {
      for (int64_t i = 0; i < n; ++i) out[at + i] = unit_double(w[2 * i], w[2 * i + 1]);
    });
  });
}

// f(u) of a uniform double each.
template <typename F>
void fill_from_doubles(Engine& engine, Elements out, F f) {
  double values[kChunk];
  for (int64_t at = 0; at < out.count; at += kChunk) {
    const int64_t n = std::min(kChunk, out.count - at);
    unit_doubles(engine, values, n);
    for (int64_t i = 0; i < n; ++i) values[i] = f(values[i]);
    store(out, at, values, n);
  }
}

void fill_uniform_float(Engine& engine, float* out, int64_t count, float from, float to) {
  const float width = to - from;
  in_chunks<1>(engine, count, [=](const uint32_t* w, int64_t at, int64_t n) {
    vectorised([=]() TENON_INLINE {
      for (int64_t i = 0; i < n; ++i) out[at + i] = std::fma(unit_float(w[i]), width, from);
    });
  });
}

void fill_uniform_double(Engine& engine, double* out, int64_t count, double from, double to) {
  const double width = to - from;
  in_chunks<2>(engine, count, [=](const uint32_t* w, int64_t at, int64_t n) {
    vectorised([=]() TENON_INLINE {
      for (int64_t i = 0; i < n; ++i) out[at + i] = std::fma(unit_double(w[2 * i], w[2 * i + 1]), width, from);
    });
  });
}

// The 16-bit types are float32 numbers, rounded; one that the rounding takes to the upper bound is the lower
// one.
template <typename T>
void fill_uniform_half(Engine& engine, T* out, int64_t count, float from, float to) {
  const float width = to - from;
  const T low(from), high(to);
  in_chunks<1>(engine, count, [=](const uint32_t* w, int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const T value(std::fma(unit_float(w[i]), width, from));
      out[at + i] = value.bits == high.bits ? low : value;
    }
  });
}

// --- normal

TENON_INLINE inline uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
TENON_INLINE inline float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// log and sincos of S. Moshier's Cephes library in single precision, with the fused steps of PyTorch's AVX2
// build. Choices are made with masks, since loops with branches do not vectorise.
// 0 < x <= 1.
TENON_INLINE inline float cephes_log(float x) {
  const uint32_t mantissa = (bits_of(x) & 0x007fffffu) | 0x3f000000u;  // a float in [0.5, 1)
  const uint32_t small = mantissa < bits_of(0.707106781186547524f);
  const auto e = static_cast<float>(static_cast<int32_t>((bits_of(x) >> 23) - 126u - small));
  const float m = (float_of(mantissa) - 1.0f) + float_of(mantissa & (0u - small));
  const float z = m * m;
  float y = 7.0376836292e-2f;
  y = std::fma(y, m, -1.1514610310e-1f);
  y = std::fma(y, m, 1.1676998740e-1f);
  y = std::fma(y, m, -1.2420140846e-1f);
  y = std::fma(y, m, 1.4249322787e-1f);
  y = std::fma(y, m, -1.6668057665e-1f);
  y = std::fma(y, m, 2.0000714765e-1f);
  y = std::fma(y, m, -2.4999993993e-1f);
  y = std::fma(y, m, 3.3333331174e-1f);
  y = std::fma(y * m, z, e * -2.12194440e-4f) - z * 0.5f;
  return std::fma(e, 0.693359375f, m + y);
}

struct SineCosine {
  float sine, cosine;
};

// 0 <= x < 8192.
TENON_INLINE inline SineCosine cephes_sincos(float x) {
  const auto octant = static_cast<uint32_t>(static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1u;
  const auto y = static_cast<float>(static_cast<int32_t>(octant));
  x = std::fma(y, -0.78515625f, x);  // x - y * pi/4 in three steps
  x = std::fma(y, -2.4187564849853515625e-4f, x);
  x = std::fma(y, -3.77489497744594108e-8f, x);
  const float z = x * x;
  float c = 2.443315711809948e-5f;
  c = std::fma(c, z, -1.388731625493765e-3f);
  c = std::fma(c, z, 4.166664568298827e-2f);
  c = std::fma(c * z, z, -(z * 0.5f)) + 1.0f;
  float s = -1.9515295891e-4f;
  s = std::fma(s, z, 8.3321608736e-3f);
  s = std::fma(s, z, -1.6666654611e-1f);
  s = std::fma(s * z, x, x);
  const uint32_t swap = (0u - (octant >> 1 & 1u)) & (bits_of(s) ^ bits_of(c));
  const uint32_t negative_sine = (octant & 4u) << 29, negative_cosine = ((octant + 2u) & 4u) << 29;
  return {float_of(bits_of(s) ^ swap ^ negative_sine), float_of(bits_of(c) ^ swap ^ negative_cosine)};
}

// Box-Muller on blocks of 16 uniforms: pairs (j, j + 8) become r cos and r sin.
void normal_floats(const float* u, float* out, int64_t blocks, float mean, float std) {
  constexpr auto two_pi = static_cast<float>(2 * std::numbers::pi);
  vectorised([=]() TENON_INLINE {
    for (int64_t b = 0; b < blocks; ++b) {
      const float* in = u + 16 * b;
      float* to = out + 16 * b;
      for (int j = 0; j < 8; ++j) {
        const float radius = std::sqrt(-2.0f * cephes_log(1.0f - in[j]));
        const SineCosine angle = cephes_sincos(two_pi * in[j + 8]);
        to[j] = std::fma(radius * angle.cosine, std, mean);
        to[j + 8] = std::fma(radius * angle.sine, std, mean);
      }
    }
  });
}

void normal_doubles(const double* u, double* out, int64_t blocks, double mean, double std) {
  for (int64_t i = 0; i < 16 * blocks; i = (i & 15) == 7 ? i + 9 : i + 1) {
    const double radius = std::sqrt(-2 * std::log(1 - u[i]));
    const double angle = 2 * std::numbers::pi * u[i + 8];
    out[i] = std::fma(radius * std::cos(angle), std, mean);
    out[i + 8] = std::fma(radius * std::sin(angle), std, mean);
  }
}

// The 16-bit types are float32 numbers, rounded.
template <typename T>
void normal_halves(const float* u, T* out, int64_t blocks, float mean, float std) {
  float values[kChunk];
  normal_floats(u, values, blocks, mean, std);
  for (int64_t i = 0; i < 16 * blocks; ++i) out[i] = T(values[i]);
}

// draw(u, n) makes uniforms, transform(u, out, blocks) turns blocks of 16 into normals. If there are elements
// left over after the whole blocks, the last 16 are drawn once more; those of float32 and float64 had been
// drawn before too.
template <typename Uniform, typename T, typename Draw, typename Transform>
void fill_blocks(T* out, int64_t count, Draw draw, Transform transform) {
  static_assert(kChunk % 16 == 0);
  Uniform u[kChunk];
  const int64_t whole = count / 16 * 16;
  for (int64_t at = 0; at < whole; at += kChunk) {
    const int64_t n = std::min(kChunk, whole - at);
    draw(u, n);
    transform(u, out + at, n / 16);
  }
  if (whole == count) return;
  if (!is_half<T>) draw(u, count - whole);
  draw(u, 16);
  transform(u, out + count - 16, 1);
}

void fill_normal_blocks(Engine& engine, Elements out, double mean, double std) {
  const auto mean32 = static_cast<float>(mean), std32 = static_cast<float>(std);
  auto floats = [&](float* u, int64_t n) { unit_floats(engine, u, n); };
  auto halves = [=](const float* u, auto* to, int64_t blocks) { normal_halves(u, to, blocks, mean32, std32); };
  switch (out.dtype) {
    case DType::F16: return fill_blocks<float>(static_cast<Half*>(out.data), out.count, floats, halves);
    case DType::BF16: return fill_blocks<float>(static_cast<BFloat16*>(out.data), out.count, floats, halves);
    case DType::F32:
      return fill_blocks<float>(static_cast<float*>(out.data), out.count, floats,
                                [=](const float* u, float* to, int64_t blocks) { normal_floats(u, to, blocks, mean32, std32); });
    default:
      return fill_blocks<double>(
          static_cast<double*>(out.data), out.count, [&](double* u, int64_t n) { unit_doubles(engine, u, n); },
          [=](const double* u, double* to, int64_t blocks) { normal_doubles(u, to, blocks, mean, std); });
  }
}

// One normal of a pair, Box-Muller in double; the engine holds the other back. 1 - u2 is exact, but log1p is what PyTorch calls, and
// libm's log1p and log round apart.
double standard_normal(Engine& engine) {
  if (engine.held_normal) return *std::exchange(engine.held_normal, std::nullopt);
  const double u1 = uniform_double(engine), u2 = uniform_double(engine);
  const double radius = std::sqrt(-2 * std::log1p(-u2)), angle = 2 * std::numbers::pi * u1;
  engine.held_normal = radius * std::sin(angle);
  return radius * std::cos(angle);
}

template <typename F>
void fill_from_normals(Engine& engine, Elements out, F f) {
  double values[kChunk];
  for (int64_t at = 0; at < out.count; at += kChunk) {
    const int64_t n = std::min(kChunk, out.count - at);
    for (int64_t i = 0; i < n; ++i) values[i] = f(standard_normal(engine));
    store(out, at, values, n);
  }
}

// --- integers

// w % divisor by two multiplications (D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct computation",
// 2019): exact for every pair of 32-bit numbers.
class Remainder32 {
 public:
  explicit Remainder32(uint32_t divisor) : divisor_(divisor), inverse_(~uint64_t{0} / divisor + 1) {}
  uint32_t operator()(uint32_t w) const {
    __extension__ using uint128 = unsigned __int128;
    return static_cast<uint32_t>((uint128{inverse_ * w} * divisor_) >> 64);
  }

 private:
  uint64_t divisor_, inverse_;
};

// f(word) as int64, with words of 32 or of 64 bits.
template <typename F>
void fill_from_words(Engine& engine, Elements out, bool wide, F f) {
  int64_t values[kChunk];
  if (wide) {
    in_chunks<2>(engine, out.count, [&](const uint32_t* w, int64_t at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) values[i] = f(uint64_t{w[2 * i]} << 32 | w[2 * i + 1]);
      store(out, at, values, n);
    });
  } else {
    in_chunks<1>(engine, out.count, [&](const uint32_t* w, int64_t at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) values[i] = f(uint64_t{w[i]});
      store(out, at, values, n);
    });
  }
}

// base + word % range, with words of 32 or of 64 bits; a range of 0 means 2^64.
void fill_remainders(Engine& engine, Elements out, int64_t base, uint64_t range, bool wide) {
  const auto start = static_cast<uint64_t>(base);
  auto from_start = [=](uint64_t offset) { return static_cast<int64_t>(start + offset); };
  if (range == 0) {
    fill_from_words(engine, out, true, from_start);
  } else if (wide) {
    fill_from_words(engine, out, true, [=](uint64_t w) { return from_start(w % range); });
  } else {
    const Remainder32 remainder(static_cast<uint32_t>(range));
    fill_from_words(engine, out, false, [=](uint64_t w) { return from_start(remainder(static_cast<uint32_t>(w))); });
  }
}

// --- Poisson

double poisson_sample(Engine& engine, double rate) {
  if (rate == 0) return 0;
  if (rate < 10) {  // as many uniforms as it takes for their product to fall to exp(-rate)
    const double limit = std::exp(-rate);
    double count = 0;
    for (double product = uniform_double(engine); product > limit; product *= uniform_double(engine)) ++count;
    return count;
  }
  // Transformed rejection with squeeze: W. Hörmann, "The transformed rejection method for generating Poisson
  // random variables", 1993, algorithm PTRS.
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept_below = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = uniform_double(engine) - 0.5, v = uniform_double(engine);
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= accept_below) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    int sign = 0;
    const double density = -rate + k * std::log(rate) - lgamma_r(k + 1, &sign);
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <= density) return k;
  }
}

}  // namespace

double uniform_double(Engine& engine) {
  uint32_t w[2];
  engine.words(w, 2);
  return unit_double(w[0], w[1]);
}

void fill_uniform(Engine& engine, Elements out, double from, double to) {
  const auto low = static_cast<float>(from), high = static_cast<float>(to);
  switch (out.dtype) {
    case DType::F16: return fill_uniform_half(engine, static_cast<Half*>(out.data), out.count, low, high);
    case DType::BF16: return fill_uniform_half(engine, static_cast<BFloat16*>(out.data), out.count, low, high);
    case DType::F32: return fill_uniform_float(engine, static_cast<float*>(out.data), out.count, low, high);
    default: return fill_uniform_double(engine, static_cast<double*>(out.data), out.count, from, to);
  }
}

void fill_normal(Engine& engine, Elements out, double mean, double std, bool contiguous) {
  if (contiguous && out.count >= 16) return fill_normal_blocks(engine, out, mean, std);
  fill_from_normals(engine, out, [=](double x) { return std::fma(x, std, mean); });
}

bool takes_wide_words(uint64_t range) { return range == 0 || range >= uint64_t{1} << 28; }
void fill_integers(Engine& engine, Elements out, int64_t base, uint64_t range) {
  fill_remainders(engine, out, base, range, takes_wide_words(range));
}

uint64_t any_integer_range(DType dtype) {
  switch (dtype) {
    case DType::Bool: return 2;
    case DType::U8: return uint64_t{1} << 8;
    case DType::I8: return uint64_t{1} << 7;
    case DType::I16: return uint64_t{1} << 15;
    case DType::I32: return uint64_t{1} << 31;
    case DType::I64: return uint64_t{1} << 63;
    case DType::F16: return (uint64_t{1} << 11) + 1;
    case DType::BF16: return (uint64_t{1} << 8) + 1;
    case DType::F32: return (uint64_t{1} << 24) + 1;
    case DType::F64: return (uint64_t{1} << 53) + 1;
  }
  return 0;
}
void fill_any_integers(Engine& engine, Elements out) {
  fill_remainders(engine, out, 0, any_integer_range(out.dtype), out.dtype == DType::I64 || out.dtype == DType::F64);
}

void fill_bernoulli(Engine& engine, Elements out, double p) {
  // u * 2^-53 < p exactly if the integer u is below p * 2^53, rounded up.
  const auto bound = static_cast<uint64_t>(std::ceil(p * 0x1p53));
  uint8_t hits[kChunk];
  in_chunks<2>(engine, out.count, [&](const uint32_t* w, int64_t at, int64_t n) {
    uint8_t* to = out.dtype == DType::Bool ? static_cast<uint8_t*>(out.data) + at : hits;
    vectorised([=]() TENON_INLINE {
      for (int64_t i = 0; i < n; ++i) to[i] = (uint64_t{w[2 * i] & 0x1fffffu} << 32 | w[2 * i + 1]) < bound;
    });
    if (out.dtype == DType::Bool) return;
    with_type(out.dtype, [&]<typename T>(T*) {
      const T zero = converted<T>(int64_t{0}), one = converted<T>(int64_t{1});
      for (int64_t i = 0; i < n; ++i) static_cast<T*>(out.data)[at + i] = hits[i] ? one : zero;
    });
  });
}

void fill_bernoulli(Engine& engine, Elements out, const double* p) {
  fill_from_doubles(engine, out, [&](double u) { return u < *p++ ? 1.0 : 0.0; });
}

void fill_bernoulli(Engine& engine, Elements out, const float* p) {
  fill_from_words(engine, out, false, [&](uint64_t w) -> int64_t { return unit_float(static_cast<uint32_t>(w)) < *p++; });
}

void fill_poisson(Engine& engine, Elements out, const double* rates) {
  for (int64_t i = 0; i < out.count; ++i) {
    const double count = poisson_sample(engine, rates[i]);
    store(out, i, &count, 1);
  }
}

void fill_exponential(Engine& engine, Elements out, double rate) {
  fill_from_doubles(engine, out, [=](double u) { return -1.0 / rate * std::log1p(-u); });
}

void fill_log_normal(Engine& engine, Elements out, double mean, double std) {
  fill_from_normals(engine, out, [=](double x) { return std::exp(std::fma(x, std, mean)); });
}

void fill_cauchy(Engine& engine, Elements out, double median, double sigma) {
  fill_from_doubles(engine, out, [=](double u) { return std::fma(sigma, std::tan(std::numbers::pi * (u - 0.5)), median); });
}

void fill_geometric(Engine& engine, Elements out, double p) {
  fill_from_doubles(engine, out, [=](double u) { return std::ceil(std::log(u) / std::log1p(-p)); });
}

void fill_permutation(Engine& engine, int64_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = i;
  in_chunks<1>(engine, count - 1, [=](const uint32_t* w, int64_t at, int64_t n) {
    for (int64_t i = at; i < at + n; ++i)
      std::swap(out[i], out[i + static_cast<int64_t>(uint64_t{w[i - at]} % static_cast<uint64_t>(count - i))]);
  });
}

}  // namespace tenon
