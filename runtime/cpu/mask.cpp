// What a mask selects: its true elements are counted by blocks, which then know where theirs begin and are done side by
// side. Nothing but the counts is stored beside the result.
//
//   mask    0 1 1 0 | 0 0 0 0 | 1 0 0 1     counts 2, 0, 2     starts 0, 2, 2
//   nonzero 1 2     |         | 8 11
//
// Eight elements are looked at in one step: none true, passed over; else, as long as eight results have room, all eight
// are written one after another, each over the one before unless that was true.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/cpu/routines.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/cpu/words.h"

namespace tenon::runtime {
namespace {

constexpr int64_t kBlock = 1 << 15;  // elements of a mask
constexpr int64_t kWord = 8;

uint64_t word_at(const uint8_t* mask) {
  uint64_t word;
  std::memcpy(&word, mask, sizeof word);
  return word;
}

// Bools are 0 or 1: a byte holds the sum of 255 of them.
int64_t count_true(const uint8_t* mask, int64_t count) {
  constexpr int64_t kSums = 64, kTurns = 255;
  int64_t total = 0, i = 0;
  while (i + kSums <= count) {
    uint8_t sums[kSums] = {};
    for (int64_t turn = 0; turn < kTurns && i + kSums <= count; ++turn, i += kSums) {
      for (int64_t k = 0; k < kSums; ++k) sums[k] = static_cast<uint8_t>(sums[k] + mask[i + k]);
    }
    for (uint8_t sum : sums) total += sum;
  }
  for (; i < count; ++i) total += mask[i];
  return total;
}

// f(i) for each true element of begin..end, in order.
template <typename F>
void for_each_true(const uint8_t* mask, int64_t begin, int64_t end, F f) {
  int64_t i = begin;
  for (; i + kWord <= end; i += kWord) {
    if (word_at(mask + i) == 0) continue;
    for (int64_t k = i; k < i + kWord; ++k) {
      if (mask[k] != 0) f(k);
    }
  }
  for (; i < end; ++i) {
    if (mask[i] != 0) f(i);
  }
}

// value(i) for each true element of begin..end into `to`, which has room for `room`.
template <typename T, typename Value>
void pack(const uint8_t* mask, int64_t begin, int64_t end, T* to, int64_t room, Value value) {
  T* const last = to + room;
  int64_t i = begin;
  for (; i + kWord <= end && last - to >= kWord; i += kWord) {
    if (word_at(mask + i) == 0) continue;
    for (int64_t k = i; k < i + kWord; ++k) {
      *to = value(k);
      to += mask[k];
    }
  }
  for_each_true(mask, i, end, [&](int64_t k) { *to++ = value(k); });
}

// to[i] for each true element of begin..end from the `count` values.
template <typename T>
void unpack(const uint8_t* mask, int64_t begin, int64_t end, const T* from, int64_t count, T* to) {
  const T* const last = from + count;
  int64_t i = begin;
  for (; i + kWord <= end && last - from >= kWord; i += kWord) {
    if (word_at(mask + i) == 0) continue;
    for (int64_t k = i; k < i + kWord; ++k) {
      to[k] = mask[k] != 0 ? *from : to[k];
      from += mask[k];
    }
  }
  for_each_true(mask, i, end, [&](int64_t k) { to[k] = *from++; });
}

// The number of results before each block; throws unless all blocks have `count`.
std::vector<int64_t> block_starts(const ir::Node& node, const uint8_t* mask, int64_t size, int64_t count) {
  const int64_t blocks = (size + kBlock - 1) / kBlock;
  std::vector<int64_t> starts(static_cast<size_t>(blocks) + 1, 0);
  ThreadPool::global().parallel_for(blocks, 4, [&](int64_t first, int64_t end, int) {
    for (int64_t b = first; b < end; ++b)
      starts[static_cast<size_t>(b) + 1] = count_true(mask + b * kBlock, std::min(kBlock, size - b * kBlock));
  });
  for (size_t b = 1; b < starts.size(); ++b) starts[b] += starts[b - 1];
  if (starts.back() != count) {
    throw std::runtime_error(std::string(ir::info(node.op()).text) + ": the mask has " + std::to_string(starts.back()) +
                             " true elements, where " + std::to_string(count) + " were counted");
  }
  return starts;
}

// f(begin, end, start, count) for each block with a true element, on all threads.
template <typename F>
void each_block(const ir::Node& node, const uint8_t* mask, int64_t size, int64_t count, F f) {
  const std::vector<int64_t> starts = block_starts(node, mask, size, count);
  ThreadPool::global().parallel_for(static_cast<int64_t>(starts.size()) - 1, 4, [&](int64_t first, int64_t end, int) {
    for (int64_t b = first; b < end; ++b) {
      const int64_t start = starts[b], inside = starts[static_cast<size_t>(b) + 1] - start;
      if (inside > 0) f(b * kBlock, std::min(size, (b + 1) * kBlock), start, inside);
    }
  });
}

// The indices of each place: those of its row of the last dim, which are counted on from the row before, and its own.
class Coordinates {
 public:
  Coordinates(const ir::Dims& shape, int64_t* to) : shape_(shape), row_(shape.size(), 0), to_(to) {}

  void put(int64_t place) {
    const size_t last = shape_.size() - 1;
    if (place >= end_) move_to(place);
    for (size_t d = 0; d < last; ++d) *to_++ = row_[d];
    *to_++ = place - begin_;
  }

 private:
  void move_to(int64_t place) {
    const size_t last = shape_.size() - 1;
    int64_t row = place / shape_[last];
    begin_ = row * shape_[last];
    end_ = begin_ + shape_[last];
    for (size_t d = last; d-- > 0;) {
      row_[d] = row % shape_[d];
      row /= shape_[d];
    }
  }

  const ir::Dims& shape_;
  ir::Dims row_;
  int64_t begin_ = 0, end_ = 0;  // places of the row
  int64_t* to_;
};

void nonzero(const ir::Node& node, const uint8_t* mask, int64_t* result) {
  const ir::Dims& shape = node.inputs()[0]->shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t size = node.inputs()[0]->numel();
  each_block(node, mask, size, node.ints()[0], [&](int64_t begin, int64_t end, int64_t start, int64_t count) {
    int64_t* to = result + start * rank;
    if (rank == 1) return pack(mask, begin, end, to, count, [](int64_t i) { return i; });
    Coordinates coordinates(shape, to);
    for_each_true(mask, begin, end, [&](int64_t i) { coordinates.put(i); });
  });
}

#if defined(__x86_64__)
bool has_avx512() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"); }

// 64 at a time while there is room: elements of 4 or 8 bytes move together in a register. Moves `begin` and `to` on.
template <typename T>
__attribute__((target("avx512f,avx512bw,popcnt"))) void pack_on_avx512(const T* x, const uint8_t* mask, int64_t& begin, int64_t end, T*& to,
                                                                       const T* last) {
  constexpr int64_t kStep = 64;
  constexpr int kLanes = 64 / sizeof(T);
  for (; begin + kStep <= end && last - to >= kStep; begin += kStep) {
    const __m512i bytes = _mm512_loadu_si512(mask + begin);
    uint64_t some = _mm512_test_epi8_mask(bytes, bytes);
    if (some == 0) continue;
    for (int64_t at = begin; at < begin + kStep; at += kLanes, some >>= kLanes) {
      if constexpr (sizeof(T) == 4) {
        const auto m = static_cast<__mmask16>(some);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(m, _mm512_maskz_loadu_epi32(m, x + at)));
        to += __builtin_popcount(m);
      } else {
        const auto m = static_cast<__mmask8>(some);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(m, _mm512_maskz_loadu_epi64(m, x + at)));
        to += __builtin_popcount(m);
      }
    }
  }
}
#endif

template <typename T>
void pack_elements(const T* x, const uint8_t* mask, int64_t begin, int64_t end, T* to, int64_t count) {
  const T* const last = to + count;
#if defined(__x86_64__)
  if constexpr (sizeof(T) >= 4) {
    if (has_avx512()) pack_on_avx512(x, mask, begin, end, to, last);
  }
#endif
  pack(mask, begin, end, to, last - to, [x](int64_t i) { return x[i]; });
}

void compress(const ir::Node& node, const void* x, const uint8_t* mask, void* result) {
  const int64_t item = ir::item_size(node.dtype()), bytes = node.shape()[1] * item;
  each_block(node, mask, node.inputs()[1]->numel(), node.ints()[0], [&](int64_t begin, int64_t end, int64_t start, int64_t count) {
    const auto as = [&](auto type) {
      using T = decltype(type);
      pack_elements(static_cast<const T*>(x), mask, begin, end, static_cast<T*>(result) + start, count);
    };
    if (bytes == item) return with_word(item, as);
    auto* to = static_cast<std::byte*>(result) + start * bytes;
    for_each_true(mask, begin, end, [&](int64_t row) {
      std::memcpy(to, static_cast<const std::byte*>(x) + row * bytes, static_cast<size_t>(bytes));
      to += bytes;
    });
  });
}

void scatter_mask(const ir::Node& node, const uint8_t* mask, const void* value, void* result) {
  const int64_t item = ir::item_size(node.dtype()), bytes = node.shape()[1] * item, rows = node.shape()[0];
  each_block(node, mask, rows, node.inputs()[2]->shape()[0], [&](int64_t begin, int64_t end, int64_t start, int64_t count) {
    const auto as = [&](auto type) {
      using T = decltype(type);
      unpack(mask, begin, end, static_cast<const T*>(value) + start, count, static_cast<T*>(result));
    };
    if (bytes == item) return with_word(item, as);
    const auto* from = static_cast<const std::byte*>(value) + start * bytes;
    for_each_true(mask, begin, end, [&](int64_t row) {
      std::memcpy(static_cast<std::byte*>(result) + row * bytes, from, static_cast<size_t>(bytes));
      from += bytes;
    });
  });
}

}  // namespace

void run_nonzero(const ir::Call& call, void* const* buffers, const uint64_t*) {
  nonzero(call.node(), static_cast<const uint8_t*>(buffers[0]), static_cast<int64_t*>(buffers[1]));
}
void run_compress(const ir::Call& call, void* const* buffers, const uint64_t*) {
  compress(call.node(), buffers[0], static_cast<const uint8_t*>(buffers[1]), buffers[2]);
}
void run_scatter_mask(const ir::Call& call, void* const* buffers, const uint64_t*) {
  scatter_mask(call.node(), static_cast<const uint8_t*>(buffers[0]), buffers[1], buffers[2]);
}

}  // namespace tenon::runtime
