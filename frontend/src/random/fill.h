// Fills memory with numbers of one distribution, element by element as PyTorch's CPU kernels draw them.
// Logarithms and exponentials of float64 are libm's, PyTorch's are now and then an ulp away. Arguments are
// checked by the callers.
#pragma once

#include "frontend/src/random/engine.h"
#include "ir/op/types.h"

namespace tenon {

// `count` elements of one dtype.
struct Elements {
  ir::DType dtype;
  void* data;
  int64_t count;
};

void fill_uniform(RandomEngine& engine, Elements out, double from, double to);  // float dtypes, [from, to)
// Float dtypes. Contiguous tensors of 16 elements and more take PyTorch's blockwise algorithm.
void fill_normal(RandomEngine& engine, Elements out, double mean, double std, bool contiguous);
// base ... base + range - 1; a range of 0 means 2^64. From 2^28 on an element takes two words.
void fill_integers(RandomEngine& engine, Elements out, int64_t base, uint64_t range);
bool takes_wide_words(uint64_t range);
void fill_any_integers(RandomEngine& engine, Elements out);  // random_() without bounds
uint64_t any_integer_range(ir::DType dtype);
void fill_bernoulli(RandomEngine& engine, Elements out, double p);  // 1 with probability p, else 0
void fill_bernoulli(RandomEngine& engine, Elements out,
                    const double* p);                                     // one p an element: 53-bit uniforms
void fill_bernoulli(RandomEngine& engine, Elements out, const float* p);  // 24-bit uniforms
void fill_poisson(RandomEngine& engine, Elements out, const double* rates);
void fill_exponential(RandomEngine& engine, Elements out, double rate);
void fill_log_normal(RandomEngine& engine, Elements out, double mean, double std);
void fill_cauchy(RandomEngine& engine, Elements out, double median, double sigma);
void fill_geometric(RandomEngine& engine, Elements out, double p);
void fill_permutation(RandomEngine& engine, int64_t* out, int64_t count);

double uniform_double(RandomEngine& engine);  // 53 bits in [0, 1), two words

}  // namespace tenon
