// Scatters, row after row along the scattered dim, so that the last value for a place wins and sums have one
// order. Units of work touch different places: the positions outside the scattered dim, or runs of them.
//
//   scatter.add %base, %index, %value dim=0 : f32[10,64], index and value [1000,64]
//     units: columns 0..15, 16..31, 32..47, 48..63 of the 64
//     each:  for k in 0..1000 { for j in unit { base[index[k, j], j] += value[k, j] } }
//
// Dims through which base, index and value are stepped alike count as one. If a unit's neighbours all go to one place of the scattered
// dim, as in index_add of rows, the inner loop has vectors; along the scattered dim itself there are no neighbours, and one loop.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <bit>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/cpu/index_bounds.h"
#include "runtime/cpu/routines.h"
#include "runtime/cpu/thread_pool.h"

namespace tenon::runtime {
namespace {

using ir::Dims;
using ir::DType;
using ir::Op;

constexpr int64_t kLeastRun = 16;         // neighbours that stay together: a cache line
constexpr int64_t kCheckGrain = 1 << 16;  // indices that a thread checks at a time
constexpr int64_t kGrain = 1 << 13;       // elements

// Buffers of the call: the result, which begins as the base, is the last.
enum Buffer : uint8_t { kIndex, kValue, kResult };

void check_indices(const ir::Call& call, const int64_t* index) {
  const ir::Node& node = call.node();
  const int64_t size = node.shape()[node.ints()[0]];
  const int64_t count = call.buffer(kIndex).numel;
  std::atomic<bool> outside{false};
  ThreadPool::global().parallel_for(count, kCheckGrain, [&](int64_t begin, int64_t end, int) {
    if (bounds_of(index + begin, end - begin, 0, size - 1).outside) outside = true;
  });
  if (!outside) return;
  throw std::runtime_error("index " + std::to_string(*first_outside(index, count, 0, size - 1)) + " is out of bounds for dimension " +
                           std::to_string(node.ints()[0]) + " with size " + std::to_string(size));
}

// Sums, products and extremes as ir::evaluate has them; halves are computed in float and rounded each time.
template <typename T>
struct Arithmetic {
  TENON_INLINE static T load(T x) { return x; }
  TENON_INLINE static T store(T x) { return x; }
};
struct HalfArithmetic {
  static float load(uint16_t x) { return ir::half_to_float(x); }
  static uint16_t store(float x) { return ir::float_to_half(x); }
};
#if defined(__x86_64__)
// The conversions of processors with AVX2 and FMA, which all have F16C, give the same bits: they too round to nearest, and make nans
// quiet. As text, since an intrinsic is for functions compiled for such a processor alone.
struct F16cArithmetic {
  TENON_INLINE static float load(uint16_t x) {
    float result;
    asm("vcvtph2ps %1, %0" : "=x"(result) : "x"(std::bit_cast<float>(uint32_t{x})));
    return result;
  }
  TENON_INLINE static uint16_t store(float x) {
    float result;
    asm("vcvtps2ph $0, %1, %0" : "=x"(result) : "x"(x));
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(result));
  }
};

// `count` of them, a multiple of eight.
__attribute__((target("avx,f16c"))) void widen(const uint16_t* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
}
__attribute__((target("avx,f16c"))) void narrow(const float* from, uint16_t* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
}
#endif
struct BFloat16Arithmetic {
  TENON_INLINE static float load(uint16_t x) { return ir::bfloat16_to_float(x); }
  TENON_INLINE static uint16_t store(float x) { return ir::float_to_bfloat16(x); }
};

struct Last {
  template <typename V>
  TENON_INLINE V operator()(V, V b) const {
    return b;
  }
};
struct Sum {
  template <typename V>
  TENON_INLINE V operator()(V a, V b) const {
    return static_cast<V>(a + b);
  }
};
// A product of narrow integers would overflow as int.
struct Product {
  template <typename V>
  TENON_INLINE V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return a * b;
  }
};
// In steps that need no branch; b is taken if it is nan.
struct Greatest {
  template <typename V>
  TENON_INLINE V operator()(V a, V b) const {
    const V greater = a > b ? a : b;
    return a != a ? a : greater;
  }
};
struct Least {
  template <typename V>
  TENON_INLINE V operator()(V a, V b) const {
    const V less = a < b ? a : b;
    return a != a ? a : less;
  }
};

// `place` becomes what F makes of it and `value`.
template <typename A, typename F, typename T>
TENON_INLINE inline void take(T& place, T value) {
  place = static_cast<T>(A::store(F()(A::load(place), A::load(value))));
}

// The same for neighbours.
template <typename A, typename F, typename T>
TENON_INLINE inline void take_run(T* __restrict places, const T* __restrict values, int64_t count) {
  int64_t j = 0;
#if defined(__x86_64__)
  if constexpr (std::is_same_v<A, F16cArithmetic>) {  // by blocks
    constexpr int64_t kBlock = 64, kVector = 8;
    float wide[kBlock], taken[kBlock];
    for (int64_t n = 0; j + kVector <= count; j += n) {
      n = std::min(kBlock, (count - j) / kVector * kVector);
      widen(places + j, wide, n);
      widen(values + j, taken, n);
      for (int64_t i = 0; i < n; ++i) wide[i] = F()(wide[i], taken[i]);
      narrow(wide, places + j, n);
    }
  }
#endif
  for (; j < count; ++j) take<A, F>(places[j], values[j]);
}

struct Dim {
  int64_t size, base, value, index;  // elements, and the distance from one to the next
};

class Scatter {
 public:
  Scatter(const ir::Call& call, void* const* buffers)
      : node_(call.node()), index_(static_cast<const int64_t*>(buffers[kIndex])), value_(buffers[kValue]), result_(buffers[kResult]) {
    const Dims& shape = call.shape(1);  // of index and value
    const auto dim_at = [&](size_t d) {
      return Dim{shape[d], call.stored[0].strides[d], call.operands[2].strides[d], call.operands[1].strides[d]};
    };
    const auto scattered = static_cast<size_t>(node_.ints()[0]);
    along_ = dim_at(scattered);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != scattered && shape[d] > 1) add(dim_at(d));
    }
    if (!others_.empty() && others_.back().base == 1 && others_.back().value == 1 && others_.back().index <= 1) {
      run_ = others_.back();
      others_.pop_back();
    }
    for (const Dim& d : others_) rows_ *= d.size;
    const int64_t most = std::max<int64_t>(1, run_.size / kLeastRun);
    pieces_ = std::clamp<int64_t>(ThreadPool::global().threads() / rows_, 1, most);
  }

  void run() const {
    switch (node_.dtype()) {
      case DType::Bool:
      case DType::U8: return by_op<uint8_t, Arithmetic<uint8_t>>();
      case DType::I8: return extremes_signed<int8_t, uint8_t>();
      case DType::I16: return extremes_signed<int16_t, uint16_t>();
      case DType::I32: return extremes_signed<int32_t, uint32_t>();
      case DType::I64: return extremes_signed<int64_t, uint64_t>();
      case DType::F16: return halves();
      case DType::BF16: return by_op<uint16_t, BFloat16Arithmetic>();
      case DType::F32: return by_op<float, Arithmetic<float>>();
      case DType::F64: return by_op<double, Arithmetic<double>>();
    }
  }

 private:
  // Neighbouring dims through which all steps are alike are one.
  void add(const Dim& inner) {
    if (!others_.empty()) {
      Dim& outer = others_.back();
      const auto goes_on = [&](int64_t Dim::*stride) { return outer.*stride == inner.*stride * inner.size; };
      if (goes_on(&Dim::base) && goes_on(&Dim::value) && goes_on(&Dim::index)) {
        outer = {outer.size * inner.size, inner.base, inner.value, inner.index};
        return;
      }
    }
    others_.push_back(inner);
  }

  // Sums and products wrap, as unsigned numbers do; only extremes see the sign.
  template <typename Signed, typename Unsigned>
  void extremes_signed() const {
    if (node_.op() == Op::ScatterMax || node_.op() == Op::ScatterMin) return by_op<Signed, Arithmetic<Signed>>();
    by_op<Unsigned, Arithmetic<Unsigned>>();
  }

  void halves() const {
#if defined(__x86_64__)
    if (has_avx2_and_fma()) return by_op<uint16_t, F16cArithmetic>();
#endif
    by_op<uint16_t, HalfArithmetic>();
  }

  template <typename T, typename A>
  void by_op() const {
    switch (node_.op()) {
      case Op::ScatterAdd: return units<T, A, Sum>();
      case Op::ScatterMul: return units<T, A, Product>();
      case Op::ScatterMax: return units<T, A, Greatest>();
      case Op::ScatterMin: return units<T, A, Least>();
      default: return units<T, Arithmetic<T>, Last>();
    }
  }

  template <typename T, typename A, typename F>
  void units() const {
    const int64_t of_unit = along_.size * run_.size / pieces_;
    ThreadPool::global().parallel_for(rows_ * pieces_, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, of_unit)),
                                      [&](int64_t begin, int64_t end, int) {
                                        for (int64_t u = begin; u < end; ++u) unit<T, A, F>(u);
                                      });
  }

  // The part `unit % pieces_` of the run at row `unit / pieces_`, from the first step along the dim to the last.
  template <typename T, typename A, typename F>
  void unit(int64_t unit) const {
    int64_t row = unit / pieces_, from = 0, index_from = 0, to = 0;  // first elements
    for (size_t d = others_.size(); d-- > 0; row /= others_[d].size) {
      const int64_t at = row % others_[d].size;
      from += at * others_[d].value;
      index_from += at * others_[d].index;
      to += at * others_[d].base;
    }
    const int64_t piece = unit % pieces_, begin = run_.size * piece / pieces_, end = run_.size * (piece + 1) / pieces_;
    const T* const value = static_cast<const T*>(value_) + from + begin;
    T* const result = static_cast<T*>(result_) + to + begin;
    const int64_t* const index = index_ + index_from + begin * run_.index;
    if (run_.size == 1) return elements<T, A, F>(result, value, index);
    run_.index == 0 ? runs<T, A, F>(result, value, index, end - begin) : each<T, A, F>(result, value, index, end - begin);
  }

  // Runs of one element.
  template <typename T, typename A, typename F>
  void elements(T* __restrict result, const T* __restrict value, const int64_t* __restrict index) const {
    const Dim along = along_;
    for (int64_t k = 0; k < along.size; ++k) take<A, F>(result[index[k * along.index] * along.base], value[k * along.value]);
  }

  // Runs that go to one place of the dim each.
  template <typename T, typename A, typename F>
  void runs(T* __restrict result, const T* __restrict value, const int64_t* __restrict index, int64_t count) const {
    const Dim along = along_;
    vectorised([=]() TENON_INLINE {
      for (int64_t k = 0; k < along.size; ++k) {
        take_run<A, F>(result + index[k * along.index] * along.base, value + k * along.value, count);
      }
    });
  }

  // Runs whose elements go to places of their own.
  template <typename T, typename A, typename F>
  void each(T* __restrict result, const T* __restrict value, const int64_t* __restrict index, int64_t count) const {
    const Dim along = along_;
    for (int64_t k = 0; k < along.size; ++k, index += along.index, value += along.value) {
      for (int64_t j = 0; j < count; ++j) take<A, F>(result[index[j] * along.base + j], value[j]);
    }
  }

  const ir::Node& node_;
  const int64_t* index_;
  const void* value_;
  void* result_;
  Dim along_;                // the scattered dim
  std::vector<Dim> others_;  // the others, from the outermost on, but the run
  Dim run_{1, 1, 1, 1};      // neighbours that lie side by side in base and value, unless they are along the scattered dim
  int64_t rows_ = 1;         // positions in the others
  int64_t pieces_;           // of a run
};

}  // namespace

void run_scatter(const ir::Call& call, void* const* buffers, const uint64_t*) {
  if (ir::element_count(call.shape(1)) == 0) return;
  check_indices(call, static_cast<const int64_t*>(buffers[kIndex]));
  Scatter(call, buffers).run();
}

}  // namespace tenon::runtime
