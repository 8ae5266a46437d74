// Scatters, row after row along the scattered dim, so that the last value for a place wins and sums have one
// order. Units of work touch different places: the positions outside the scattered dim, or runs of them.
//
//   scatter.add %base, %index, %value dim=0 : f32[10,64], index and value [1000,64]
//     units: columns 0..15, 16..31, 32..47, 48..63 of the 64
//     each:  for k in 0..1000 { for j in unit { base[index[k, j], j] += value[k, j] } }
#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

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
  std::atomic<int64_t> bad{0};
  std::atomic<bool> found{false};
  ThreadPool::global().parallel_for(count, kCheckGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      if (index[i] >= 0 && index[i] < size) continue;
      bad = index[i];
      found = true;
    }
  });
  if (!found) return;
  throw std::runtime_error("index " + std::to_string(bad.load()) + " is out of bounds for dimension " + std::to_string(node.ints()[0]) +
                           " with size " + std::to_string(size));
}

// Sums, products and extremes as ir::evaluate has them; halves are computed in float and rounded each time.
template <typename T>
struct Arithmetic {
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};
struct HalfArithmetic {
  static float load(uint16_t x) { return ir::half_to_float(x); }
  static uint16_t store(float x) { return ir::float_to_half(x); }
};
struct BFloat16Arithmetic {
  static float load(uint16_t x) { return ir::bfloat16_to_float(x); }
  static uint16_t store(float x) { return ir::float_to_bfloat16(x); }
};

// A product of narrow integers would overflow as int.
template <typename V>
V product(V a, V b) {
  if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else return a * b;
}

class Scatter {
 public:
  Scatter(const ir::Call& call, void* const* buffers)
      : node_(call.node()),
        shape_(call.shape(1)),
        dim_(static_cast<size_t>(node_.ints()[0])),
        index_(static_cast<const int64_t*>(buffers[kIndex])),
        value_(buffers[kValue]),
        result_(buffers[kResult]),
        base_strides_(call.stored[0].strides),
        strides_(call.operands[2].strides),
        index_strides_(call.operands[1].strides) {
    const size_t last = shape_.size() - 1;
    run_ = dim_ == last ? 1 : shape_[last];
    rows_ = ir::element_count(shape_) / (shape_[dim_] * run_);
    const int64_t most = std::max<int64_t>(1, run_ / kLeastRun);
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
      case DType::F16: return by_op<uint16_t, HalfArithmetic>();
      case DType::BF16: return by_op<uint16_t, BFloat16Arithmetic>();
      case DType::F32: return by_op<float, Arithmetic<float>>();
      case DType::F64: return by_op<double, Arithmetic<double>>();
    }
  }

 private:
  // Sums and products wrap, as unsigned numbers do; only extremes see the sign.
  template <typename Signed, typename Unsigned>
  void extremes_signed() const {
    if (node_.op() == Op::ScatterMax || node_.op() == Op::ScatterMin) return by_op<Signed, Arithmetic<Signed>>();
    by_op<Unsigned, Arithmetic<Unsigned>>();
  }

  template <typename T, typename A>
  void by_op() const {
    switch (node_.op()) {
      case Op::ScatterAdd: return combine<T, A>([](auto a, auto b) { return static_cast<decltype(a)>(a + b); });
      case Op::ScatterMul: return combine<T, A>([](auto a, auto b) { return product(a, b); });
      case Op::ScatterMax: return combine<T, A>([](auto a, auto b) { return a > b || a != a ? a : b; });
      case Op::ScatterMin: return combine<T, A>([](auto a, auto b) { return a < b || a != a ? a : b; });
      default: return units<T>([](T, T value) { return value; });
    }
  }
  template <typename T, typename A, typename F>
  void combine(F f) const {
    units<T>([f](T a, T b) { return static_cast<T>(A::store(f(A::load(a), A::load(b)))); });
  }

  template <typename T, typename F>
  void units(F f) const {
    const int64_t of_unit = shape_[dim_] * run_ / pieces_;
    ThreadPool::global().parallel_for(rows_ * pieces_, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, of_unit)),
                                      [&](int64_t begin, int64_t end, int) {
                                        for (int64_t u = begin; u < end; ++u) unit<T>(u, f);
                                      });
  }

  // The part `unit % pieces_` of the run at row `unit / pieces_`, from the first step along the dim to the
  // last.
  template <typename T, typename F>
  void unit(int64_t unit, F f) const {
    int64_t row = unit / pieces_, from = 0, index_from = 0, to = 0;  // first elements
    for (size_t d = shape_.size(); d-- > 0;) {
      if (d == dim_ || (d + 1 == shape_.size() && run_ > 1)) continue;
      from += row % shape_[d] * strides_[d];
      index_from += row % shape_[d] * index_strides_[d];
      to += row % shape_[d] * base_strides_[d];
      row /= shape_[d];
    }
    const int64_t piece = unit % pieces_, begin = run_ * piece / pieces_, end = run_ * (piece + 1) / pieces_;
    const T* values = static_cast<const T*>(value_) + from;
    T* result = static_cast<T*>(result_) + to;
    const int64_t* index = index_ + index_from;
    const int64_t stride = base_strides_[dim_];
    const bool one_place = index_strides_.back() == 0;  // of a whole run
    for (int64_t k = 0; k < shape_[dim_]; ++k, values += strides_[dim_], index += index_strides_[dim_]) {
      if (one_place) {
        T* places = result + index[0] * stride;
        for (int64_t j = begin; j < end; ++j) places[j] = f(places[j], values[j]);
        continue;
      }
      for (int64_t j = begin; j < end; ++j) {
        T& place = result[index[j] * stride + j];
        place = f(place, values[j]);
      }
    }
  }

  const ir::Node& node_;
  const Dims& shape_;  // of index and value
  size_t dim_;
  const int64_t* index_;
  const void* value_;
  void* result_;
  Dims base_strides_, strides_, index_strides_;
  int64_t run_;     // neighbours along the last dim, unless it is the scattered one
  int64_t rows_;    // positions in the other dims
  int64_t pieces_;  // of a run
};

}  // namespace

void run_scatter(const ir::Call& call, void* const* buffers, const uint64_t*) {
  if (ir::element_count(call.shape(1)) == 0) return;
  check_indices(call, static_cast<const int64_t*>(buffers[kIndex]));
  Scatter(call, buffers).run();
}

}  // namespace tenon::runtime
