// What the library is measured against: the loops that one would write by hand, each over [begin, end) of its
// elements or rows. Compiled twice with g++ -O3 -march=native, once more with 512-bit vectors preferred; the
// better one counts.
#pragma once

#include <cstdint>

#define TENON_BASELINE(NAMESPACE)                                                                                 \
  namespace NAMESPACE {                                                                                           \
  void chain(const float* x, const float* y, float* out, int64_t begin, int64_t end);                             \
  void softmax_rows(const float* x, float* out, int64_t columns, int64_t begin, int64_t end);                     \
  float sum(const float* x, int64_t begin, int64_t end);                                                          \
  void sum_rows(const float* x, float* out, int64_t columns, int64_t begin, int64_t end);                         \
  void sum_columns(const float* x, float* out, int64_t rows, int64_t columns, int64_t begin, int64_t end);        \
  void matmul(const float* a, const float* b, float* out, int64_t k, int64_t n, int64_t begin, int64_t end);      \
  void copy_past_caches(const float* x, float* out, int64_t count); /* count: a multiple of 16 */                 \
  int64_t fma_chains(int64_t repeats); /* multiplies and adds in registers; how many floating-point operations */ \
  }
TENON_BASELINE(baseline_native)
TENON_BASELINE(baseline_wide)
#undef TENON_BASELINE
