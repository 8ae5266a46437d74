// Random numbers of CUDA devices: Philox 4x32-10 (J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as
// 1, 2, 3", 2011) as graph operations, so that a draw is elementwise work that fuses, and its numbers depend on no launch.
//
// Which block of four words an element takes, and which of them, is PyTorch's choice: its kernels let n threads walk over the
// elements, n = 256 for each block of the launch, and a thread draws four words for the elements i, i + n, i + 2n, i + 3n.
//
//   element i   thread = i mod n   part = i / n mod 4   round = i / 4n      (pairs of words: mod 2, 2n)
//   words       philox(key = seed, counter = {offset / 4 + round (64 bits), thread (64 bits)})[part]
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "frontend/src/random/generator.h"
#include "ir/graph/expr.h"

namespace tenon {

// Four words of 32 bits, in i32, of the block that these four words count, with the key's two words.
std::array<ir::Expr, 4> philox_block(std::array<ir::Expr, 4> counter, uint64_t key);
std::array<uint32_t, 4> philox_block(std::array<uint32_t, 4> counter, uint64_t key);  // on the host

// Whether the numbers of tensors there come from here.
bool draws_philox(ir::DeviceTag device);

// The engine of draws that have no formula: the generator's own, and for a CUDA device one that its generator starts.
class HostEngine {
 public:
  HostEngine(const std::optional<Generator>& generator, ir::DeviceTag device);
  RandomEngine& operator*() { return started_ ? *started_ : **own_; }

 private:
  std::optional<LockedEngine> own_;
  std::optional<RandomEngine> started_;
};

// One draw of `count` numbers, in the order of memory, each a flat expression of that many elements. The generator moves on
// when the first of the functions is called; one function is called, once.
class PhiloxDraw {
 public:
  PhiloxDraw(const std::optional<Generator>& generator, ir::DeviceTag device, int64_t count)
      : generator_(generator), device_(device), count_(count) {}

  // Numbers of float dtypes. The 16-bit ones are computed in float32 and rounded.
  ir::Expr uniform(ir::DType dtype, double from, double to);  // [from, to)
  ir::Expr normal(ir::DType dtype, double mean, double std);
  ir::Expr exponential(ir::DType dtype, double rate);
  ir::Expr cauchy(ir::DType dtype, double median, double sigma);
  ir::Expr log_normal(ir::DType dtype, double mean, double std);

  ir::Expr integers(int64_t base, uint64_t range, bool wide);  // i64: base ... base + range - 1; 0 means 2^64
  ir::Expr bernoulli(ir::DType dtype, double p);               // bool; `dtype` is that of the tensor
  ir::Expr geometric(ir::DType dtype, double p);               // float
  // In (0, 1]: float32, or float64 for that dtype.
  ir::Expr unit(ir::DType dtype);

 private:
  struct Words {
    std::array<ir::Expr, 4> words;
    ir::Expr part;  // which of the parts of the block is the element's
  };
  Words block(int parts);
  ir::Expr first_block(const ir::Expr& i, const PhiloxState& from);
  ir::Expr word();                       // of four
  std::pair<ir::Expr, ir::Expr> pair();  // of two
  ir::Expr standard_normal(bool wide);

  const std::optional<Generator>& generator_;
  ir::DeviceTag device_;
  int64_t count_;
};

}  // namespace tenon
