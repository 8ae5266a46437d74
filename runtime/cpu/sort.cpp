// Stable sorting of lines, by the keys of sort_keys.h, each beside its place in the line.
//
// Many short lines: several side by side, by a network of exchanges (Batcher's merge exchange; Knuth, The Art of Computer Programming,
// volume 3, 5.2.2, algorithm M), whose steps are vectors across the lines. Few short ones, and short ones of 64 bits: insertion sort.
// Longer ones: radix sort from the lowest byte of the key up, one histogram of
// all bytes first, so that a byte that is the same everywhere costs nothing. Lines run in parallel; a line
// that is alone and long is cut into pieces, which count their bytes apart and know from all the counts where
// theirs go (Zagha and Blelloch, "Radix sort for vector multiprocessors", 1991).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/cpu/routines.h"
#include "runtime/cpu/sort_keys.h"
#include "runtime/cpu/thread_pool.h"

namespace tenon::runtime {
namespace {

constexpr int64_t kInsertion = 40;   // lines up to this long
constexpr int64_t kSides = 32;       // of which so many are sorted side by side
constexpr int64_t kPiece = 1 << 16;  // least elements of a piece of a line
constexpr int64_t kGrain = 1 << 13;  // elements of lines that a thread takes at a time

// Place: wide enough for the places of a line.
template <typename Key, typename Place>
class Sorter : SortedLines {
 public:
  using Element = Item<Key, Place>;

  explicit Sorter(const SortedLines& sorted) : SortedLines(sorted) {}

  void run() const {
    ThreadPool& pool = ThreadPool::global();
    const int64_t pieces = std::min<int64_t>(pool.threads(), lines.count / kPiece);
    if (lines.lines() < pool.threads() && pieces > 1) {
      Scratch scratch(lines.count);
      for (int64_t line = 0; line < lines.lines(); ++line) sort_in_pieces(line, pieces, scratch);
      return;
    }
    if constexpr (sizeof(Key) <= 4) {
      if (lines.count <= kInsertion && lines.lines() >= kSides) return sort_sides();
    }
    pool.parallel_for(lines.lines(), std::max<int64_t>(1, kGrain / lines.count), [&](int64_t begin, int64_t end, int) {
      Scratch scratch(lines.count);
      for (int64_t line = begin; line < end; ++line) sort(line, scratch);
    });
  }

 private:
  struct Scratch {
    explicit Scratch(int64_t count) : memory(2 * count), from(memory.data()), to(from + count) {}
    Array<Element> memory;
    Element *from, *to;
  };

  void read(int64_t line, int64_t begin, int64_t end, Element* to) const {
    const auto* from = static_cast<const Key*>(x) + lines.first(line);
    for (int64_t i = begin; i < end; ++i) {
      to[i].key = order.key(from[i * lines.stride]);
      to[i].place = static_cast<Place>(i);
    }
  }

  // Writes those of the sorted elements begin..end whose rank is wanted.
  void write(int64_t line, int64_t begin, int64_t end, const Element* from) const {
    int64_t* to = result + results.first(line);
    begin = std::max(begin, ranks.first);
    end = std::min(end, ranks.first + ranks.count);
    for (int64_t i = begin; i < end; ++i) to[(i - ranks.first) * results.stride] = static_cast<int64_t>(from[i].place);
  }

  void sort(int64_t line, Scratch& scratch) const {
    const int64_t count = lines.count;
    read(line, 0, count, scratch.from);
    if (count <= kInsertion) {
      insertion_sort(scratch.from, count);
    } else {
      radix_sort(scratch.from, scratch.to, count);
    }
    write(line, 0, count, scratch.from);
  }

  static void insertion_sort(Element* items, int64_t count) {
    for (int64_t i = 1; i < count; ++i) {
      const Element item = items[i];
      int64_t hole = i;
      for (; hole > 0 && item.key < items[hole - 1].key; --hole) items[hole] = items[hole - 1];
      items[hole] = item;
    }
  }

  // --- short lines side by side

  // A key and behind it the place, which tells equal ones apart.
  using Cell = std::conditional_t<sizeof(Key) <= 2, int32_t, int64_t>;
  static constexpr int kPlaceBits = 8;
  struct Sides {
    Cell cells[kInsertion][kSides];
  };

  void sort_sides() const {
    const int64_t blocks = (lines.lines() + kSides - 1) / kSides;
    ThreadPool::global().parallel_for(blocks, std::max<int64_t>(1, kGrain / (kSides * lines.count)), [&](int64_t begin, int64_t end, int) {
      Sides sides;
      for (int64_t block = begin; block < end; ++block) sort_block(block * kSides, sides);
    });
  }

  // Of `filled` lines from one on, without a division for each; and copies of the last.
  static void first_elements(const Lines& of, int64_t line, int64_t filled, int64_t* first) {
    int64_t inner = line % of.stride, at = of.first(line);
    for (int64_t s = 0; s < kSides; ++s) {
      first[s] = at;
      if (s + 1 >= filled) continue;
      ++at;
      if (++inner < of.stride) continue;
      inner = 0;
      at += (of.count - 1) * of.stride;
    }
  }

  // Behind the last line stand copies of it, which are not written.
  void sort_block(int64_t first_line, Sides& sides) const {
    const int64_t count = lines.count, filled = std::min(kSides, lines.lines() - first_line);
    int64_t from[kSides];
    first_elements(lines, first_line, filled, from);
    vectorised([&, by = order, step = lines.stride]() TENON_INLINE {
      for (int64_t i = 0; i < count; ++i) {
        const auto* at = static_cast<const Key*>(x) + i * step;
        Key bits[kSides];  // side by side first: then keys are vectors
        for (int64_t s = 0; s < kSides; ++s) bits[s] = at[from[s]];
        for (int64_t s = 0; s < kSides; ++s) sides.cells[i][s] = (static_cast<Cell>(by.key(bits[s])) << kPlaceBits) | static_cast<Cell>(i);
      }
      merge_exchange(sides, count);
    });
    first_elements(results, first_line, filled, from);
    for (int64_t r = 0; r < ranks.count; ++r) {
      for (int64_t s = 0; s < filled; ++s)
        result[from[s] + r * results.stride] = sides.cells[ranks.first + r][s] & ((Cell{1} << kPlaceBits) - 1);
    }
  }

  TENON_INLINE static void merge_exchange(Sides& sides, int64_t count) {
    const auto top = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)) / 2);
    for (int64_t p = top; p > 0; p /= 2) {
      int64_t distance = p, part = 0;
      for (int64_t q = top;; q /= 2) {
        for (int64_t i = 0; i + distance < count; ++i) {
          if ((i & p) == part) exchange(sides.cells[i], sides.cells[i + distance]);
        }
        if (q == p) break;
        distance = q - p;
        part = p;
      }
    }
  }

  TENON_INLINE static void exchange(Cell* __restrict low, Cell* __restrict high) {
    for (int64_t s = 0; s < kSides; ++s) {
      const Cell a = low[s], b = high[s];
      low[s] = a < b ? a : b;
      high[s] = a < b ? b : a;
    }
  }

  // One line on all threads: piece p of `pieces` counts and moves its own elements.
  void sort_in_pieces(int64_t line, int64_t pieces, Scratch& s) const {
    const int64_t count = lines.count;
    auto each_piece = [&](auto&& body) {
      ThreadPool::global().parallel_for(pieces, 1, [&](int64_t first, int64_t last, int) {
        for (int64_t p = first; p < last; ++p) body(p, count * p / pieces, count * (p + 1) / pieces);
      });
    };
    using Starts = std::array<int64_t, kDigits>;
    auto starts = std::make_unique<Starts[]>(static_cast<size_t>(pieces));
    each_piece([&](int64_t, int64_t begin, int64_t end) { read(line, begin, end, s.from); });
    for (size_t byte = 0; byte < sizeof(Key); ++byte) {
      each_piece([&](int64_t p, int64_t begin, int64_t end) {
        Starts& mine = starts[p];
        mine.fill(0);
        for (int64_t i = begin; i < end; ++i) ++mine[digit(s.from[i].key, byte)];
      });
      int64_t next = 0;
      for (size_t d = 0; d < kDigits; ++d) {
        for (int64_t p = 0; p < pieces; ++p) next += std::exchange(starts[p][d], next);
      }
      each_piece([&](int64_t p, int64_t begin, int64_t end) { move_by_digit(s.from + begin, end - begin, byte, starts[p].data(), s.to); });
      std::swap(s.from, s.to);
    }
    each_piece([&](int64_t, int64_t begin, int64_t end) { write(line, begin, end, s.from); });
  }
};

}  // namespace

SortedLines::SortedLines(const ir::Node& node, void* const* buffers)
    : dtype(node.inputs()[0]->dtype()),
      lines{node.inputs()[0]->shape()[node.ints()[0]], 1, 1},
      ranks{node.op() == ir::Op::SortPart ? node.ints()[2] : 0, node.shape()[node.ints()[0]]},
      order(dtype, node.ints()[1] != 0),
      x(buffers[0]),
      result(static_cast<int64_t*>(buffers[1])) {
  for (int d = 0; d < node.rank(); ++d) {
    if (d < node.ints()[0]) lines.outer *= node.shape()[d];
    if (d > node.ints()[0]) lines.stride *= node.shape()[d];
  }
  results = {ranks.count, lines.stride, lines.outer};
}

void sort_lines(const SortedLines& sorted) {
  with_key_and_place(sorted.dtype, sorted.lines.count, [&](auto key, auto place) { Sorter<decltype(key), decltype(place)>(sorted).run(); });
}

void run_sort(const ir::Call& call, void* const* buffers, const uint64_t*) { sort_lines({call.node(), buffers}); }

}  // namespace tenon::runtime
