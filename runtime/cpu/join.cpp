// Laying the parts of a Cat side by side: blocks of memory are copied, a stretch of the result at a time, so that
// the result is written once from front to back whatever the dim.
//
//   cat %x, %y dim=1 : f32[1000,96]   from x[1000,32], y[1000,64]
//     rows of 96, 341 of them (128 KiB) a stretch: first x's 32 of each row, then y's 64
//   cat %x, %y dim=0 : f32[96,1000]
//     one row of 96000: the stretches cut x's and y's blocks where they will
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ir/call/join_parts.h"
#include "runtime/cpu/routines.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/cpu/words.h"

namespace tenon::runtime {
namespace {

using ir::JoinPart;

constexpr int64_t kStretchBytes = 128 << 10;  // rows laid together before the next part's turn: they stay in the cache
constexpr int64_t kGrainBytes = 256 << 10;    // of the result, for one thread at a time
constexpr int64_t kSurelyLarge = 32 << 20;    // bytes
constexpr size_t kShortestStream = 1024;      // bytes: the lines at both ends of a run are written through the caches

// Whether a result is so large that writing it past the caches is best: its lines are not read first, which is a third of
// the traffic, and what follows finds little of it in a cache anyway.
bool goes_past_caches(int64_t bytes) {
  static const int64_t kLarge = [] {
    const int64_t last_cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return last_cache > 0 ? std::min(last_cache / 4, kSurelyLarge) : kSurelyLarge;
  }();
  return bytes >= kLarge;
}

#if defined(__SSE2__)
constexpr size_t kLine = 64, kPage = 4096;

size_t to_line(const std::byte* at) { return (kLine - reinterpret_cast<uintptr_t>(at) % kLine) % kLine; }

// `runs` runs at once, some lines of each in turn: several streams bring more from memory than one.
template <size_t runs>
void stream_together(std::byte* to, const std::byte* from, int64_t to_pitch, int64_t from_pitch, size_t bytes) {
  constexpr size_t kLines = 4;
  std::array<size_t, runs> head;
  const auto each = [&](const auto& f) {
    for (size_t r = 0; r < runs; ++r) {
      const auto run = static_cast<int64_t>(r);
      f(to + run * to_pitch, from + run * from_pitch, head[r]);
    }
  };
  each([&](std::byte* out, const std::byte* in, size_t& start) {
    start = to_line(out);
    std::memcpy(out, in, start);
  });
  const size_t end = (bytes - *std::max_element(head.begin(), head.end())) / kLine * kLine;
  for (size_t at = 0; at < end; at += kLines * kLine) {
    each([&](std::byte* out, const std::byte* in, size_t start) {
      const size_t stop = start + std::min(at + kLines * kLine, end);
      for (size_t line = start + at; line < stop; line += kLine) {
        __builtin_prefetch(in + line + static_cast<int64_t>(runs) * from_pitch);  // past the end it does nothing
        __m128i words[kLine / sizeof(__m128i)];
        std::memcpy(words, in + line, kLine);
        for (size_t i = 0; i < std::size(words); ++i) _mm_stream_si128(reinterpret_cast<__m128i*>(out + line) + i, words[i]);
      }
    });
  }
  each([&](std::byte* out, const std::byte* in, size_t start) { std::memcpy(out + start + end, in + start + end, bytes - start - end); });
}

// Copies `count` runs with stores past the caches; `end_streaming` makes them visible to other threads.
void stream(std::byte* to, const std::byte* from, int64_t to_pitch, int64_t from_pitch, size_t bytes, int64_t count) {
  constexpr size_t kTogether = 4;
  if (bytes > 2 * kTogether * kPage) {
    for (; count > 0; --count) {
      const size_t head = to_line(to), pages = (bytes - head) / kPage, rest = head + pages * kPage;
      std::memcpy(to, from, head);
      stream(to + head, from + head, kPage, kPage, kPage, static_cast<int64_t>(pages));
      std::memcpy(to + rest, from + rest, bytes - rest);
      to += to_pitch;
      from += from_pitch;
    }
    return;
  }
  for (; count >= static_cast<int64_t>(kTogether); count -= kTogether) {
    stream_together<kTogether>(to, from, to_pitch, from_pitch, bytes);
    to += kTogether * to_pitch;
    from += kTogether * from_pitch;
  }
  for (; count > 0; --count) {
    stream_together<1>(to, from, to_pitch, from_pitch, bytes);
    to += to_pitch;
    from += from_pitch;
  }
}
void end_streaming() { _mm_sfence(); }
#else
void stream(std::byte* to, const std::byte* from, int64_t to_pitch, int64_t from_pitch, size_t bytes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_pitch, from + i * from_pitch, bytes);
}
void end_streaming() {}
#endif

// `count` runs of `bytes` bytes that are `to_pitch` and `from_pitch` apart. A short run is two moves that may overlap:
// calling memcpy for it would cost more than they do.
void copy_runs(std::byte* to, const std::byte* from, int64_t to_pitch, int64_t from_pitch, size_t bytes, int64_t count, bool streams) {
  const auto two_moves = [&](auto word) {
    auto tail = word;
    const size_t last = bytes - sizeof word;
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&word, from, sizeof word);
      std::memcpy(&tail, from + last, sizeof word);
      std::memcpy(to, &word, sizeof word);
      std::memcpy(to + last, &tail, sizeof word);
      to += to_pitch;
      from += from_pitch;
    }
  };
  struct Words2 {
    uint64_t words[2];
  };
  struct Words4 {
    uint64_t words[4];
  };
  if (streams && bytes >= kShortestStream) {
    stream(to, from, to_pitch, from_pitch, bytes, count);
  } else if (bytes > 64) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_pitch, from + i * from_pitch, bytes);
  } else if (bytes >= 32) {
    two_moves(Words4{});
  } else if (bytes >= 16) {
    two_moves(Words2{});
  } else if (bytes >= 8) {
    two_moves(uint64_t{});
  } else if (bytes >= 4) {
    two_moves(uint32_t{});
  } else if (bytes >= 2) {
    two_moves(uint16_t{});
  } else {
    two_moves(uint8_t{});
  }
}

// `count` elements, from neighbour to neighbour `from_step` and `to_step` elements.
template <typename T>
void copy_elements(T* to, const T* from, int64_t to_step, int64_t from_step, int64_t count) {
  if (to_step == 1 && from_step == 0) {
    std::fill_n(to, count, *from);
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

class Join {
 public:
  Join(const ir::Call& call, void* const* buffers, const uint64_t* scalars)
      : parts_(ir::join_parts(call)), buffers_(buffers), scalars_(scalars), item_(ir::item_size(call.node().dtype())) {
    const ir::Node& cat = call.node();
    const auto dim = static_cast<size_t>(cat.ints()[0]);
    for (size_t d = 0; d < dim; ++d) rows_ *= cat.shape()[d];
    row_ = cat.numel() / rows_;
    streams_ = goes_past_caches(cat.numel() * item_);
    result_ = static_cast<std::byte*>(buffers[call.stored[0].buffer]);
  }

  void run() const {
    ThreadPool& pool = ThreadPool::global();
    const int64_t total = rows_ * row_;
    const int64_t grain = std::max(kGrainBytes / item_, total / (4 * pool.threads()));
    pool.parallel_for(total, grain, [&](int64_t begin, int64_t end, int) {
      lay(begin, end);
      if (streams_) end_streaming();
    });
  }

 private:
  // Elements [begin, end) of the result.
  void lay(int64_t begin, int64_t end) const {
    const int64_t most = std::max<int64_t>(1, kStretchBytes / (row_ * item_));
    while (begin < end) {
      const int64_t row = begin / row_, column = begin % row_, whole = (end - begin) / row_;
      if (column == 0 && whole > 0) {
        const int64_t rows = std::min(whole, most);
        for (size_t p = 0; p < parts_.size(); ++p) {
          const int64_t width = width_of(p);
          copy(p, row * width, (row + rows) * width);
        }
        begin += rows * row_;
      } else {
        const int64_t stop = std::min(row_, column + end - begin);
        lay_in_row(row, column, stop);
        begin += stop - column;
      }
    }
  }

  void lay_in_row(int64_t row, int64_t column, int64_t stop) const {
    const auto after =
        std::upper_bound(parts_.begin(), parts_.end(), column, [](int64_t at, const JoinPart& part) { return at < part.to; });
    for (auto p = static_cast<size_t>(after - parts_.begin()) - 1; column < stop; ++p) {
      const int64_t first = parts_[p].to, width = width_of(p), until = std::min(stop, first + width);
      copy(p, row * width + column - first, row * width + until - first);
      column = until;
    }
  }

  // Elements of a part in one row: it starts where the next one does not yet.
  int64_t width_of(size_t p) const { return (p + 1 < parts_.size() ? parts_[p + 1].to : row_) - parts_[p].to; }

  // Elements [begin, end) of a part, in row-major order: whole runs by the row, what is cut off before and after alone.
  void copy(size_t p, int64_t begin, int64_t end) const {
    static constexpr JoinPart::Dim kOne{1, 1, 1};
    const JoinPart& part = parts_[p];
    const size_t rank = part.dims.size();
    const JoinPart::Dim& run = rank > 0 ? part.dims[rank - 1] : kOne;
    if (begin == end) return;
    if (rank < 2)  // a block, or what is cut of one
      return copy_rows(p, part.from + begin * run.from, part.to + begin * run.to, end - begin, run, 1, kOne);
    const JoinPart::Dim& row = part.dims[rank - 2];
    while (begin < end) {
      int64_t from = part.from, to = part.to, rest = begin / run.extent;
      const int64_t first = begin % run.extent, runs_left = row.extent - rest % row.extent;
      for (size_t d = rank; d-- > 1;) {
        const JoinPart::Dim& dim = part.dims[d - 1];
        from += rest % dim.extent * dim.from;
        to += rest % dim.extent * dim.to;
        rest /= dim.extent;
      }
      const bool whole = first == 0 && end - begin >= run.extent;
      const int64_t runs = whole ? std::min((end - begin) / run.extent, runs_left) : 1;
      const int64_t count = whole ? run.extent : std::min(run.extent - first, end - begin);
      copy_rows(p, from + first * run.from, to + first * run.to, count, run, runs, row);
      begin += runs * count;
    }
  }

  void copy_rows(size_t p, int64_t from, int64_t to, int64_t count, const JoinPart::Dim& run, int64_t rows,
                 const JoinPart::Dim& row) const {
    const JoinPart& part = parts_[p];
    const void* first = part.scalar >= 0 ? static_cast<const void*>(&scalars_[part.scalar]) : buffers_[part.buffer];
    const std::byte* source = static_cast<const std::byte*>(first) + from * item_;
    std::byte* result = result_ + to * item_;
    if (source == result) return;  // the part lies where it belongs already
    if (count == 1 || (run.to == 1 && run.from == 1))
      return copy_runs(result, source, row.to * item_, row.from * item_, static_cast<size_t>(count * item_), rows, streams_);
    for (int64_t r = 0; r < rows; ++r) {
      copy_strided(result, source, run, count);
      result += row.to * item_;
      source += row.from * item_;
    }
  }

  void copy_strided(std::byte* to, const std::byte* from, const JoinPart::Dim& run, int64_t count) const {
    with_word(item_, [&](auto word) {
      using T = decltype(word);
      copy_elements(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), run.to, run.from, count);
    });
  }

  const std::vector<JoinPart> parts_;
  void* const* buffers_;
  const uint64_t* scalars_;
  const int64_t item_;
  int64_t rows_ = 1, row_;
  bool streams_;
  std::byte* result_;
};

}  // namespace

// A part may lie where it belongs already.
void run_join(const ir::Call& cat, void* const* buffers, const uint64_t* scalars) { Join(cat, buffers, scalars).run(); }

}  // namespace tenon::runtime
