// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Random tensors with LibTorch's signatures. On the CPU the numbers are PyTorch's, bit for bit: a call draws
// its words from the generator at once, in the order of the tensor's memory, so that the order of calls is
// the order of the stream. The methods (uniform_, normal_, random_, ...) are Tensor's.
#pragma once

#include "tenon/function_types.h"

namespace tenon {

// --- uniform in [0, 1), standard normal
Tensor rand(IntArrayRef size, const TensorOptions& options = {});
Tensor rand(IntArrayRef size, const optional<Generator>& generator, const TensorOptions& options = {});
Tensor randn(IntArrayRef size, const TensorOptions& options = {});
Tensor randn(IntArrayRef size, const optional<Generator>& generator, const TensorOptions& options = {});
Tensor rand_like(const Operand& self, const TensorOptions& options = {});
Tensor randn_like(const Operand& self, const TensorOptions& options = {});

// --- integers in [low, high), int64 unless the options say otherwise; a permutation of 0 ... n-1
Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& options = kLong);
Tensor randint(int64_t high, IntArrayRef size, const optional<Generator>& generator,
               const TensorOptions& options = kLong);
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& options = kLong);
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const optional<Generator>& generator,
               const TensorOptions& options = kLong);
Tensor randint_like(const Operand& self, int64_t high, const TensorOptions& options = {});
Tensor randint_like(const Operand& self, int64_t low, int64_t high, const TensorOptions& options = {});
Tensor randperm(int64_t n, const TensorOptions& options = kLong);
Tensor randperm(int64_t n, const optional<Generator>& generator, const TensorOptions& options = kLong);

// --- draws that depend on tensors: those whose checks need values evaluate them
// 1 with probability self, which must lie in [0, 1], or p.
Tensor bernoulli(const Operand& self, const optional<Generator>& generator = nullopt);
Tensor bernoulli(const Operand& self, double p, const optional<Generator>& generator = nullopt);
Tensor normal(const Operand& mean, double std = 1, const optional<Generator>& generator = nullopt);
Tensor normal(double mean, const Operand& std, const optional<Generator>& generator = nullopt);
Tensor normal(const Operand& mean, const Operand& std, const optional<Generator>& generator = nullopt);
Tensor normal(double mean, double std, IntArrayRef size, const optional<Generator>& generator = nullopt,
              const TensorOptions& options = {});
// Indices (int64) drawn by the weights in the rows of self: [num_samples], or [rows, num_samples].
Tensor multinomial(const Operand& self, int64_t num_samples, bool replacement = false,
                   const optional<Generator>& generator = nullopt);
Tensor poisson(const Operand& self, const optional<Generator>& generator = nullopt);  // rates -> counts

// --- dropout: input itself unless train and p > 0
Tensor dropout(const Operand& input, double p, bool train);
Tensor feature_dropout(const Operand& input, double p, bool train);  // whole channels: one draw per (n, c)
Tensor alpha_dropout(const Operand& input, double p, bool train);  // keeps mean and variance, for SELU
Tensor feature_alpha_dropout(const Operand& input, double p, bool train);

}  // namespace tenon
