// The hand-written loops of baseline.h, in the namespace BASELINE. Plain C where the compiler vectorises it
// by itself; GCC's vector extensions where it does not (softmax, and sums, which it may not reorder).
#include "bench/baseline.h"

#include <cmath>
#include <cstring>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace BASELINE {
namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
typedef int32_t Ints __attribute__((vector_size(kLanes * sizeof(int32_t))));

Floats load(const float* p) {
  Floats v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
void store(float* p, Floats v) { std::memcpy(p, &v, sizeof v); }
Floats maximum(Floats a, Floats b) { return a > b ? a : b; }
float total(Floats v) {
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += v[i];
  return sum;
}

// e^x for x <= 0, to about 2 ULP: x = n ln 2 + r, |r| <= ln 2 / 2, a polynomial in r, and n added to the
// exponent. The magic number rounds to an integer and leaves it in the low bits of the float.
Floats exponential(Floats x) {
  const float magic = 12582912.0f;  // 1.5 * 2^23
  x = x < -87.0f ? Floats{} - 87.0f : x;
  Floats shifted = x * 1.44269504f + magic;
  Floats n = shifted - magic;
  Floats r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return (Floats)((Ints)p + ((Ints)shifted << 23));
}

}  // namespace

void chain(const float* __restrict x, const float* __restrict y, float* __restrict out, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    float t = (x[i] * y[i] + x[i]) * 0.5f - y[i];
    t = x[i] / (std::fabs(t) + 1.0f);
    t = t < -0.5f ? -0.5f : t;
    t = t > 0.5f ? 0.5f : t;
    out[i] = t * y[i];
  }
}

// Over each row: its maximum; then the exponentials, stored and added up, and scaled while they are in the
// first-level cache. Memory is read once and written once. `columns` is a multiple of four vectors.
void softmax_rows(const float* __restrict x, float* __restrict out, int64_t columns, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const float* in = x + row * columns;
    float* to = out + row * columns;
    Floats highest[4] = {load(in), load(in), load(in), load(in)};
    for (int64_t c = 0; c < columns; c += 4 * kLanes)
      for (int u = 0; u < 4; ++u) highest[u] = maximum(highest[u], load(in + c + u * kLanes));
    Floats m = maximum(maximum(highest[0], highest[1]), maximum(highest[2], highest[3]));
    float top = m[0];
    for (int i = 1; i < kLanes; ++i) top = m[i] > top ? m[i] : top;

    Floats sums[4] = {};
    for (int64_t c = 0; c < columns; c += 4 * kLanes)
      for (int u = 0; u < 4; ++u) {
        Floats e = exponential(load(in + c + u * kLanes) - top);
        store(to + c + u * kLanes, e);
        sums[u] += e;
      }
    float scale = 1.0f / total((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (int64_t c = 0; c < columns; c += kLanes) store(to + c, load(to + c) * scale);
  }
}

float sum(const float* x, int64_t begin, int64_t end) {
  Floats sums[4] = {};
  int64_t i = begin;
  for (; i + 4 * kLanes <= end; i += 4 * kLanes)
    for (int u = 0; u < 4; ++u) sums[u] += load(x + i + u * kLanes);
  float rest = 0;
  for (; i < end; ++i) rest += x[i];
  return total((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

void sum_rows(const float* x, float* out, int64_t columns, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) out[row] = sum(x + row * columns, 0, columns);
}

void sum_columns(const float* __restrict x, float* __restrict out, int64_t rows, int64_t columns, int64_t begin, int64_t end) {
  for (int64_t c = begin; c < end; ++c) out[c] = 0;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = begin; c < end; ++c) out[c] += x[row * columns + c];
}

// Three loops in the order that vectorises.
void matmul(const float* __restrict a, const float* __restrict b, float* __restrict out, int64_t k, int64_t n, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < n; ++j) out[i * n + j] = 0;
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j) out[i * n + j] += a[i * k + l] * b[l * n + j];
  }
}

void copy_past_caches(const float* x, float* out, int64_t count) {
#ifdef __SSE__
  for (int64_t i = 0; i < count; i += 4) _mm_stream_ps(out + i, _mm_loadu_ps(x + i));
  _mm_sfence();
#else
  std::memcpy(out, x, static_cast<size_t>(count) * sizeof(float));
#endif
}

int64_t fma_chains(int64_t repeats) {
  constexpr int kChains = 16;    // enough that none waits for its last result
  volatile float factor = 0.5f;  // not known to the compiler
  const Floats a = Floats{} + factor;
  Floats chains[kChains];
  for (Floats& chain : chains) chain = Floats{} + factor;  // read anew: not known to be equal
  for (int64_t i = 0; i < repeats; ++i)
    for (Floats& chain : chains) chain = chain * a + a;
  for (const Floats& chain : chains) factor = factor + chain[0];
  return repeats * kChains * kLanes * 2;
}

}  // namespace BASELINE
