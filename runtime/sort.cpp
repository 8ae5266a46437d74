// Stable sorting of lines. An element becomes an unsigned key in whose order it sorts (complemented to sort
// descending), beside its place in the line; then only keys are compared, whatever the dtype.
//
//   float 1.5   0 01111111 100...   ->   1 01111111 100...     sign bit set
//   float -1.5  1 01111111 100...   ->   0 10000000 011...     all bits flipped
//   -0.0 becomes 0.0, every nan the greatest key
//
// Short lines: insertion sort. Longer ones: radix sort from the lowest byte of the key up, one histogram of
// all bytes first, so that a byte that is the same everywhere costs nothing. Lines run in parallel; a line
// that is alone and long is cut into pieces, which count their bytes apart and know from all the counts where
// theirs go (Zagha and Blelloch, "Radix sort for vector multiprocessors", 1991).
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "runtime/buffer.h"
#include "runtime/routines.h"
#include "runtime/thread_pool.h"

namespace tenon::runtime {
namespace {

using ir::DType;

constexpr int64_t kInsertion = 40;   // lines up to this long
constexpr int64_t kPiece = 1 << 16;  // least elements of a piece of a line
constexpr int64_t kGrain = 1 << 13;  // elements of lines that a thread takes at a time
constexpr size_t kDigits = 256;

template <typename Key, typename Place>
struct Item {
  Key key;
  Place place;
};

// How the bits of a dtype become a key.
struct Order {
  uint64_t sign = 0;      // 0: unsigned
  uint64_t infinity = 0;  // 0: no float
  uint64_t flip = 0;      // all ones: descending

  Order(DType dtype, bool descending) : flip(descending ? ~uint64_t{0} : 0) {
    if (ir::is_signed(dtype)) sign = uint64_t{1} << (8 * ir::item_size(dtype) - 1);
    if (ir::is_float(dtype)) infinity = ir::constant(dtype, std::numeric_limits<double>::infinity()).bits;
  }

  template <typename Key>
  Key key(Key bits) const {
    const auto top = static_cast<Key>(sign), inf = static_cast<Key>(infinity);
    auto key = static_cast<Key>(bits ^ top);
    if (inf != 0) {
      const auto magnitude = static_cast<Key>(bits & static_cast<Key>(~top));
      const bool negative = (bits & top) != 0 && magnitude != 0;
      key = negative ? static_cast<Key>(~bits) : static_cast<Key>(magnitude | top);
      if (magnitude > inf) key = static_cast<Key>(~Key{0});
    }
    return static_cast<Key>(key ^ static_cast<Key>(flip));
  }
};

// Place: wide enough for the places of a line.
template <typename Key, typename Place>
class Sorter {
 public:
  using Element = Item<Key, Place>;

  Sorter(const Lines& lines, const Order& order, const void* x, int64_t* result)
      : lines_(lines), order_(order), x_(static_cast<const std::byte*>(x)), result_(result) {}

  void run() const {
    ThreadPool& pool = ThreadPool::global();
    const int64_t pieces = std::min<int64_t>(pool.threads(), lines_.count / kPiece);
    if (lines_.lines() < pool.threads() && pieces > 1) {
      Scratch scratch(lines_.count);
      for (int64_t line = 0; line < lines_.lines(); ++line) sort_in_pieces(line, pieces, scratch);
      return;
    }
    pool.parallel_for(lines_.lines(), std::max<int64_t>(1, kGrain / lines_.count),
                      [&](int64_t begin, int64_t end, int) {
                        Scratch scratch(lines_.count);
                        for (int64_t line = begin; line < end; ++line) sort(line, scratch);
                      });
  }

 private:
  using Histogram = std::array<std::array<Place, kDigits>, sizeof(Key)>;

  struct Scratch {
    explicit Scratch(int64_t count)
        : memory(Buffer::allocate(2 * static_cast<size_t>(count) * sizeof(Element))),
          from(static_cast<Element*>(memory->data())),
          to(from + count) {}
    std::shared_ptr<Buffer> memory;
    Element *from, *to;
  };

  void read(int64_t line, int64_t begin, int64_t end, Element* to) const {
    const int64_t first = lines_.first(line);
    for (int64_t i = begin; i < end; ++i) {
      Key bits;
      std::memcpy(&bits, x_ + static_cast<size_t>(first + i * lines_.stride) * sizeof(Key), sizeof(Key));
      to[i].key = order_.key(bits);
      to[i].place = static_cast<Place>(i);
    }
  }

  void write(int64_t line, int64_t begin, int64_t end, const Element* from) const {
    int64_t* to = result_ + lines_.first(line);
    for (int64_t i = begin; i < end; ++i) to[i * lines_.stride] = static_cast<int64_t>(from[i].place);
  }

  void sort(int64_t line, Scratch& scratch) const {
    const int64_t count = lines_.count;
    read(line, 0, count, scratch.from);
    if (count <= kInsertion) {
      insertion_sort(scratch.from, count);
    } else {
      radix_sort(scratch, count);
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

  static size_t digit(const Element& item, size_t byte) {
    return static_cast<size_t>(item.key >> (8 * byte)) & (kDigits - 1);
  }

  static void count_digits(const Element* items, int64_t count, Histogram& counts) {
    for (auto& of_byte : counts) of_byte.fill(0);
    for (int64_t i = 0; i < count; ++i) {
      for (size_t byte = 0; byte < sizeof(Key); ++byte) ++counts[byte][digit(items[i], byte)];
    }
  }

  static void scatter(const Element* from, int64_t count, size_t byte, int64_t* starts, Element* to) {
    for (int64_t i = 0; i < count; ++i) to[starts[digit(from[i], byte)]++] = from[i];
  }

  static void radix_sort(Scratch& s, int64_t count) {
    Histogram counts;
    count_digits(s.from, count, counts);
    for (size_t byte = 0; byte < sizeof(Key); ++byte) {
      if (static_cast<int64_t>(counts[byte][digit(s.from[0], byte)]) == count)
        continue;  // the same everywhere
      int64_t starts[kDigits], next = 0;
      for (size_t d = 0; d < kDigits; ++d) {
        starts[d] = next;
        next += static_cast<int64_t>(counts[byte][d]);
      }
      scatter(s.from, count, byte, starts, s.to);
      std::swap(s.from, s.to);
    }
  }

  // One line on all threads: piece p of `pieces` counts and moves its own elements.
  void sort_in_pieces(int64_t line, int64_t pieces, Scratch& s) const {
    const int64_t count = lines_.count;
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
        Starts& mine = starts[static_cast<size_t>(p)];
        mine.fill(0);
        for (int64_t i = begin; i < end; ++i) ++mine[digit(s.from[i], byte)];
      });
      int64_t next = 0;
      for (size_t d = 0; d < kDigits; ++d) {
        for (int64_t p = 0; p < pieces; ++p) next += std::exchange(starts[static_cast<size_t>(p)][d], next);
      }
      each_piece([&](int64_t p, int64_t begin, int64_t end) {
        scatter(s.from + begin, end - begin, byte, starts[static_cast<size_t>(p)].data(), s.to);
      });
      std::swap(s.from, s.to);
    }
    each_piece([&](int64_t, int64_t begin, int64_t end) { write(line, begin, end, s.from); });
  }

  const Lines& lines_;
  const Order& order_;
  const std::byte* x_;
  int64_t* result_;
};

template <typename Key>
void sort_by(const Lines& lines, const Order& order, const void* x, int64_t* result) {
  if (lines.count <= std::numeric_limits<uint32_t>::max()) {
    Sorter<Key, uint32_t>(lines, order, x, result).run();
  } else {
    Sorter<Key, uint64_t>(lines, order, x, result).run();
  }
}

}  // namespace

void sort_lines(DType dtype, const Lines& lines, bool descending, const void* x, int64_t* order) {
  const Order by(dtype, descending);
  switch (ir::item_size(dtype)) {
    case 1: return sort_by<uint8_t>(lines, by, x, order);
    case 2: return sort_by<uint16_t>(lines, by, x, order);
    case 4: return sort_by<uint32_t>(lines, by, x, order);
    default: return sort_by<uint64_t>(lines, by, x, order);
  }
}

}  // namespace tenon::runtime
