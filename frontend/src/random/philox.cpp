// Philox blocks as formulas, and the distributions over them. What PyTorch's CUDA kernels compute is computed here in the same
// steps: uniform numbers, integers and coins have its bits; logarithms, sines and cosines are the IR's, where its kernels take the
// hardware's quick ones, so that normal numbers agree to about six digits.
#include "frontend/src/random/philox.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "frontend/src/tensor/capture.h"
#include "runtime/cuda/cuda.h"
#include "runtime/device/device.h"

namespace tenon {
namespace {

using ir::Constant;
using ir::DType;
using ir::Expr;
using ir::Op;

constexpr uint32_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;  // of words 0 and 2
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;          // what the key grows by each round
constexpr int kRounds = 10;

// --- words of 32 bits in i32, and numbers without sign in i64

// A number of the integer dtype of `like`: as many of the bits as it holds.
Expr integer(const Expr& like, uint64_t bits) {
  return constant_like(like, Constant{like.dtype(), like.dtype() == DType::I32 ? bits & 0xffffffffu : bits});
}
Expr low_word(const Expr& x) { return cast(x, DType::I32); }
Expr high_word(const Expr& x) { return low_word(apply(Op::Shr, x, integer(x, 32))); }
Expr number_of(const Expr& word) {
  const Expr x = cast(word, DType::I64);
  return x & integer(x, 0xffffffffu);
}
Expr shifted_left(const Expr& x, uint64_t bits) { return apply(Op::Shl, x, integer(x, bits)); }

// A number that no other constant of a graph equals and that nothing folds: the graphs of all steps of a loop are then one, and
// find one plan, though each step draws from further on. (Folded, the halves of its products would coincide here and there.)
// `index` is not negative.
Expr unfolded(const Expr& index, uint64_t value) {
  constexpr uint64_t kMask = 0x5bd1e995c6a4a793;
  return (smaller(index, integer(index, 0)) + integer(index, value ^ kMask)) ^ integer(index, kMask);
}

// a < b of numbers without a sign.
Expr below(const Expr& a, const Expr& b) {
  const Expr sign = integer(a, uint64_t{1} << 63);
  return (a ^ sign) < (b ^ sign);
}

// x mod `range` of a number of 64 bits without a sign. The quotient of its upper 63 bits, doubled, is at most one too small.
Expr remainder64(const Expr& x, uint64_t range) {
  const Expr r = integer(x, range);
  if (range >> 63) return select(below(x, r), x, x - r);
  const Expr half = apply(Op::Shr, x, integer(x, 1)) & integer(x, ~uint64_t{0} >> 1);
  const Expr rest = x - shifted_left(half / r, 1) * r;
  return select(below(rest, r), rest, rest - r);
}

// --- which thread of PyTorch's draws what

// Threads that a multiprocessor holds, by compute capability (CUDA C++ Programming Guide, "Technical Specifications").
int threads_per_multiprocessor(int major, int minor) {
  if (major == 7) return minor == 5 ? 1024 : 2048;
  if (major == 8) return minor == 0 ? 2048 : 1536;
  return major >= 12 ? 1536 : 2048;
}

constexpr int64_t kBlock = 256;

// The most blocks of 256 that PyTorch launches there. Other kinds of devices, which tests bring, count as an H100.
int64_t most_blocks(ir::DeviceTag device) {
  static std::array<std::atomic<int64_t>, runtime::kMostCudaDevices> known{};
  const int index = runtime::id_of(device).index;
  std::atomic<int64_t>& blocks = known[static_cast<size_t>(index)];
  if (blocks == 0) {
    try {
      const runtime::cuda::Properties p = runtime::cuda::properties(index);
      blocks = p.multiprocessors * (threads_per_multiprocessor(p.major, p.minor) / kBlock);
    } catch (const std::runtime_error&) {
      blocks = 132 * 8;
    }
  }
  return blocks;
}

// --- floats of words

// (w + 1/2) / 2^32, in (0, 1].
Expr unit_float(const Expr& w) { return cast(w, DType::F32) * 0x1p-32 + 0x1p-33; }

// 53 of the 64 bits, xor-ed with the others.
Expr mixed(const std::pair<Expr, Expr>& w) { return w.first ^ shifted_left(w.second, 53 - 32); }
Expr unit_double(const std::pair<Expr, Expr>& w) { return cast(mixed(w), DType::F64) * 0x1p-53 + 0x1p-54; }

Expr fma(const Expr& x, double factor, double addend) {
  const ir::NodeRef operands[] = {x.node, number(x, factor).node, number(x, addend).node};
  return {ir::make_node(Op::Fma, operands)};
}

// The numbers as the dtype rounds them.
double rounded(DType dtype, double value) { return ir::to_double(ir::constant(dtype, value)); }

DType computed_in(DType dtype) { return dtype == DType::F64 ? DType::F64 : DType::F32; }
double epsilon_of(DType dtype) {
  return dtype == DType::F64 ? std::numeric_limits<double>::epsilon() : double{std::numeric_limits<float>::epsilon()};
}

}  // namespace

std::array<Expr, 4> philox_block(std::array<Expr, 4> c, uint64_t key) {
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round, k0 += kWeyl0, k1 += kWeyl1) {
    const Expr m0 = integer(c[0], kMultiply0), m1 = integer(c[2], kMultiply1);
    c = {apply(Op::MulHi, c[2], m1) ^ c[1] ^ integer(c[1], k0), c[2] * m1, apply(Op::MulHi, c[0], m0) ^ c[3] ^ integer(c[3], k1),
         c[0] * m0};
  }
  return c;
}

std::array<uint32_t, 4> philox_block(std::array<uint32_t, 4> c, uint64_t key) {
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round, k0 += kWeyl0, k1 += kWeyl1) {
    const uint64_t p0 = uint64_t{c[0]} * kMultiply0, p1 = uint64_t{c[2]} * kMultiply1;
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1), static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1,
         static_cast<uint32_t>(p0)};
  }
  return c;
}

bool draws_philox(ir::DeviceTag device) { return device != runtime::kHostTag && runtime::id_of(device).kind == runtime::DeviceKind::Cuda; }

HostEngine::HostEngine(const std::optional<Generator>& generator, ir::DeviceTag device) {
  if (!draws_philox(device)) {
    own_.emplace(generator);
    return;
  }
  const PhiloxState from = take_offsets(generator, device, 4);
  const uint64_t at = from.offset / 4;
  started_.emplace(philox_block({static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32), 0, 0}, from.seed)[0]);
}

PhiloxDraw::Words PhiloxDraw::block(int parts) {
  const int64_t threads = kBlock * std::min((count_ + kBlock - 1) / kBlock, most_blocks(device_));
  const int64_t rounds = (count_ - 1) / (threads * parts) + 1;
  const PhiloxState from = take_offsets(generator_, device_, 4 * static_cast<uint64_t>(rounds));
  const Expr i{ir::make_iota(ir::Dims{count_}, 0, device_)};
  const Expr element = count_ <= std::numeric_limits<int32_t>::max() ? cast(i, DType::I32) : i;  // a GPU divides it much faster
  const Expr n = integer(element, static_cast<uint64_t>(threads)), of_block = integer(element, static_cast<uint64_t>(parts));
  const bool one_part = count_ <= threads;
  const Expr steps = one_part ? integer(element, 0) : element / n;
  const Expr at = first_block(i, from) + cast(steps / of_block, DType::I64), thread = low_word(one_part ? element : rem(element, n));
  return {philox_block({low_word(at), high_word(at), thread, integer(thread, 0)}, from.seed), rem(steps, of_block)};
}

// The number of the draw's first block. In a capture it is an input, which each replay sets.
Expr PhiloxDraw::first_block(const Expr& i, const PhiloxState& from) {
  if (!capturing()) return unfolded(i, from.offset / 4);
  const auto at = [count = count_, device = device_](uint64_t offset) {
    return unfolded(Expr{ir::make_iota(ir::Dims{count}, 0, device)}, offset / 4).node;
  };
  return {capturing()->draw(*i.node, at)};
}

Expr PhiloxDraw::word() {
  const Words w = block(4);
  const Expr second_half = w.part >= 2, odd = (w.part & integer(w.part, 1)) == 1;
  return number_of(select(second_half, select(odd, w.words[3], w.words[2]), select(odd, w.words[1], w.words[0])));
}

std::pair<Expr, Expr> PhiloxDraw::pair() {
  const Words w = block(2);
  const Expr second = w.part == 1;
  return {number_of(select(second, w.words[2], w.words[0])), number_of(select(second, w.words[3], w.words[1]))};
}

Expr PhiloxDraw::unit(DType dtype) { return dtype == DType::F64 ? unit_double(pair()) : unit_float(word()); }

// What rounds to the upper bound becomes the lower one, as the numbers are in (0, 1].
Expr PhiloxDraw::uniform(DType dtype, double from, double to) {
  const double low = rounded(dtype, from), high = rounded(dtype, to);
  const Expr value = cast(fma(unit(dtype), rounded(dtype, high - low), low), dtype);
  return select(value == high, number(value, low), value);
}

// Box-Muller: two uniform numbers give r cos and r sin; odd parts are the cosines. A block makes one pair in float64, else two.
Expr PhiloxDraw::standard_normal(bool wide) {
  const Words w = block(wide ? 2 : 4);
  const Expr odd = (w.part & integer(w.part, 1)) == 1;
  if (wide) {
    const Expr radius = sqrt(log(unit_double({number_of(w.words[0]), number_of(w.words[1])})) * -2.0);
    const Expr angle = fma(cast(mixed({number_of(w.words[2]), number_of(w.words[3])}), DType::F64), 0x1p-52, 0x1p-53) * std::numbers::pi;
    return select(odd, cos(angle), sin(angle)) * radius;
  }
  constexpr double kTurn = double{6.2831855f} * 0x1p-32;
  const Expr second = w.part >= 2;
  const Expr radius = sqrt(log(unit_float(number_of(select(second, w.words[2], w.words[0])))) * -2.0);
  const Expr angle = fma(cast(number_of(select(second, w.words[3], w.words[1])), DType::F32), kTurn, kTurn / 2);
  return select(odd, cos(angle), sin(angle)) * radius;
}

Expr PhiloxDraw::normal(DType dtype, double mean, double std) { return fma(standard_normal(dtype == DType::F64), std, mean); }
Expr PhiloxDraw::log_normal(DType dtype, double mean, double std) { return exp(normal(dtype, mean, std)); }

// 1 has the logarithm 0, which no exponential number is: it takes half an epsilon.
Expr PhiloxDraw::exponential(DType dtype, double rate) {
  const Expr u = unit(dtype);
  const double half_epsilon = epsilon_of(computed_in(dtype)) / 2;
  const Expr logarithm = select(u >= 1.0 - half_epsilon, number(u, -half_epsilon), log(u));
  return logarithm * (number(u, -1) / number(u, rate));
}

// Ends are cut off, where the tangent has its pole.
Expr PhiloxDraw::cauchy(DType dtype, double median, double sigma) {
  const Expr u = unit(dtype);
  const double epsilon = epsilon_of(computed_in(dtype));
  const Expr inner = larger(smaller(u, 1 - epsilon), epsilon);
  return fma(apply(Op::Tan, (inner - 0.5) * std::numbers::pi), sigma, median);
}

Expr PhiloxDraw::integers(int64_t base, uint64_t range, bool wide) {
  if (!wide) {
    const Expr w = word();
    return rem(w, integer(w, range)) + integer(w, static_cast<uint64_t>(base));
  }
  const auto [high, low] = pair();
  const Expr bits = shifted_left(high, 32) | low;
  return (range == 0 ? bits : remainder64(bits, range)) + integer(bits, static_cast<uint64_t>(base));
}

Expr PhiloxDraw::bernoulli(DType dtype, double p) { return unit(dtype) < p; }

Expr PhiloxDraw::geometric(DType dtype, double p) {
  const Expr u = unit(dtype);
  return larger(apply(Op::Ceil, log(u) / number(u, std::log1p(-p))), 1);  // the logarithm of 1 is 0
}

}  // namespace tenon
