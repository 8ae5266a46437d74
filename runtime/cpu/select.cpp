// Which elements stand at some places of a sorted line, without sorting the line: the greatest k, a median. The order is
// that of sorting, so equal elements keep theirs.
//
//   a dozen of a short line   the m-th least of 16 minima bounds them; the few below it are ranked, without a branch to guess
//   few places at the front   one pass that keeps the least m seen so far: whole blocks of keys are held against the
//                             m-th of them and mostly passed over; what remains is cut down to m now and then
//   others                    a histogram of the keys' leading digits says in which of them the places lie; only elements
//                             with these are taken along, and the next digits looked at, until few are left to sort
//   others of lines that fit  sorting all, or comparing
//
// Lines run in parallel. One that is alone and long is cut into pieces, which keep m each, or count apart.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "runtime/cpu/routines.h"
#include "runtime/cpu/sort_keys.h"
#include "runtime/cpu/thread_pool.h"

namespace tenon::runtime {
namespace {

constexpr int64_t kShort = 40;           // lines up to this long are sorted
constexpr int64_t kSortedBytes = 2048;   // and lines of so few, if more than the least of them are wanted
constexpr int64_t kMostKept = 1024;      // places that are kept in one pass
constexpr int64_t kBlock = 32;           // keys held against the limit at a time
constexpr int64_t kKeys = 256;           // made from elements at a time
constexpr int64_t kPiece = 1 << 15;      // least elements of a piece of a line
constexpr int64_t kGrain = 1 << 14;      // elements of lines that a thread takes at a time
constexpr int64_t kFewLeft = 1 << 11;    // candidates that are simply sorted
constexpr int64_t kLineBytes = 64;       // of a cache line
constexpr int64_t kPartition = 1 << 12;  // lines up to this long are partitioned by comparing
constexpr int kDigitBits = 11;

// The first block from `i` on with a key below the limit, or where the whole blocks end.
template <typename Key>
int64_t next_block(const Key* bits, int64_t i, int64_t count, const Order& by, Key limit) {
  int64_t found = i;
  vectorised([&, by]() TENON_INLINE {
    int64_t at = i;
    for (; at + kBlock <= count; at += kBlock) {
      Key any = 0;
      for (int64_t k = 0; k < kBlock; ++k) any |= static_cast<Key>(by.key(bits[at + k]) < limit);
      if (any != 0) break;
    }
    found = at;
  });
  return found;
}

template <typename Key>
void keys_of(const Key* bits, int64_t count, const Order& by, Key* keys) {
  vectorised([=]() TENON_INLINE {
    for (int64_t i = 0; i < count; ++i) keys[i] = by.key(bits[i]);
  });
}

// The keys of a block or less; bit k of the result: the k-th is below the limit.
template <typename Key>
uint32_t keys_below(const Key* bits, int64_t count, const Order& by, Key limit, Key* keys) {
  uint32_t below = 0;
  vectorised([&, by]() TENON_INLINE {
    uint32_t found = 0;
    const auto look = [&](int64_t k) TENON_INLINE {
      keys[k] = by.key(bits[k]);
      found |= static_cast<uint32_t>(keys[k] < limit) << k;
    };
    if (count == kBlock) {
      for (int64_t k = 0; k < kBlock; ++k) look(k);  // a number of turns that is known makes vectors
    } else {
      for (int64_t k = 0; k < count; ++k) look(k);
    }
    below = found;
  });
  return below;
}

// The least `most` elements of what is added, by key and place: if few, in order; else among as many again that wait to be
// cut away.
template <typename Key, typename Place>
class Kept {
 public:
  using Element = Item<Key, Place>;
  Kept(int64_t most, const Order& by) : most_(static_cast<size_t>(most)), by_(by) {}

  // Elements of a line from `place` on, after those added before.
  void add(const Key* bits, int64_t count, int64_t place) {
    Key keys[kBlock];
    for (int64_t i = 0, some; i < count; i += some) {
      if (limited_ && count - i > kKeys) i = next_block(bits, i, count, by_, limit_);
      some = std::min(count - i, kBlock);
      uint32_t wanted = keys_below(bits + i, some, by_, limit_, keys);
      if (!limited_) wanted = ~uint32_t{0} >> (kBlock - some);
      for (; wanted != 0; wanted &= wanted - 1) {
        const int k = std::countr_zero(wanted);
        if (!limited_ || keys[k] < limit_) take({keys[k], static_cast<Place>(place + i + k)});
      }
      if (elements.size() >= 2 * most_ + kBlock) cut();
    }
  }
  void cut() {
    if (elements.size() < most_) return;
    const auto last = elements.begin() + static_cast<std::ptrdiff_t>(most_) - 1;
    std::nth_element(elements.begin(), last, elements.end());
    elements.resize(most_);
    limit_ = elements.back().key;
    limited_ = true;
  }
  void finish() {  // in order, the least ones only
    if (most_ <= kInOrder && elements.size() <= most_) return;
    cut();
    std::sort(elements.begin(), elements.end());
  }
  void clear() {
    elements.clear();
    limited_ = false;
  }

  std::vector<Element> elements;

 private:
  static constexpr size_t kInOrder = 16;

  // Few are kept in order: behind those with keys as small, and the last one goes.
  void take(const Element& element) {
    const bool grows = most_ > kInOrder || elements.size() < most_;
    if (grows) elements.push_back(element);
    if (most_ > kInOrder) return;
    size_t hole = elements.size() - 1;
    for (; hole > 0 && element.key < elements[hole - 1].key; --hole) elements[hole] = elements[hole - 1];
    elements[hole] = element;
    limited_ = elements.size() == most_;
    limit_ = elements.back().key;
  }

  size_t most_;
  Order by_;
  Key limit_ = 0;         // of an element that comes later and is still wanted, the key is below
  bool limited_ = false;  // there are enough of them for a limit
};

constexpr int64_t kMinima = 16;      // of a short line, side by side
constexpr int64_t kCandidates = 64;  // that are ranked by comparing all with all

// The places of the keys of a line, at most kKeys of them, that may be among its least `most` (up to kMinima), in order;
// how many these are.
template <typename Key>
int64_t candidates(const Key* bits, int64_t count, int64_t most, const Order& by, Key* keys, uint8_t* places) {
  int64_t found = 0;
  vectorised([&, by]() TENON_INLINE {
    constexpr auto greatest = static_cast<Key>(~Key{0});
    for (int64_t i = 0; i < count; ++i) keys[i] = by.key(bits[i]);
    const int64_t whole = (count + kMinima - 1) / kMinima * kMinima;
    for (int64_t i = count; i < whole; ++i) keys[i] = greatest;
    Key least[kMinima];
    for (int64_t k = 0; k < kMinima; ++k) least[k] = keys[k];
    for (int64_t at = kMinima; at < whole; at += kMinima) {
      for (int64_t k = 0; k < kMinima; ++k) least[k] = std::min(least[k], keys[at + k]);
    }
    Key limit = greatest;  // the m-th of the minima: as many elements are no greater
    for (int64_t k = 0; k < kMinima; ++k) {
      uint32_t below = 0;
      for (int64_t j = 0; j < kMinima; ++j) below += static_cast<uint32_t>(least[j] <= least[k]);
      if (below >= static_cast<uint32_t>(most)) limit = std::min(limit, least[k]);
    }
    int64_t next = 0;
    for (int64_t i = 0; i < count; ++i) {  // each is written, and stays if it is one
      places[next] = static_cast<uint8_t>(i);
      next += static_cast<int64_t>(keys[i] <= limit);
    }
    found = next;
  });
  return found;
}

// The least `most` elements of a short line in order; false where too many are equal.
template <typename Key, typename Place>
bool least_of_short(const Key* bits, int64_t count, int64_t most, const Order& by, std::vector<Item<Key, Place>>& least) {
  Key keys[kKeys];
  uint8_t places[kKeys];
  const int64_t found = candidates(bits, count, most, by, keys, places);
  if (found > kCandidates) return false;
  Key some[kCandidates];
  for (int64_t i = 0; i < found; ++i) some[i] = keys[places[i]];
  Item<Key, Place> ranked[kCandidates];
  for (int64_t i = 0; i < found; ++i) {
    size_t rank = 0;
    for (int64_t k = 0; k < i; ++k) rank += static_cast<size_t>(some[k] <= some[i]);
    for (int64_t k = i + 1; k < found; ++k) rank += static_cast<size_t>(some[k] < some[i]);
    ranked[rank] = {some[i], static_cast<Place>(places[i])};
  }
  least.assign(ranked, ranked + most);
  return true;
}

template <typename Key, typename Place>
class Selector : SortedLines {
 public:
  using Element = Item<Key, Place>;

  explicit Selector(const SortedLines& sorted) : SortedLines(sorted) {}

  void run() const {
    ThreadPool& pool = ThreadPool::global();
    const int64_t pieces = std::min<int64_t>(pool.threads(), lines.count / kPiece);
    if (pieces > 1 && lines.lines() < pool.threads()) {
      Array<Key> copy(lines.stride > 1 ? lines.count : 0);
      for (int64_t line = 0; line < lines.lines(); ++line) in_pieces(line, pieces, copy.data());
      return;
    }
    // Lines that lie side by side are read together, a cache line at a time.
    const int64_t most = std::max<int64_t>(1, kLineBytes / static_cast<int64_t>(sizeof(Key)));
    const int64_t together = std::min(lines.stride, most), groups = (lines.stride + together - 1) / together;
    pool.parallel_for(lines.outer * groups, std::max<int64_t>(1, kGrain / (lines.count * together)), [&](int64_t begin, int64_t end, int) {
      Array<Key> copy(lines.stride > 1 ? lines.count * together : 0);
      Kept<Key, Place> kept(ranks.first + ranks.count, order);
      for (int64_t group = begin; group < end; ++group) {
        const int64_t inner = group % groups * together;
        const int64_t line = group / groups * lines.stride + inner;
        some_lines(line, std::min(together, lines.stride - inner), copy.data(), kept);
      }
    });
  }

 private:
  bool keeps() const {
    const int64_t most = ranks.first + ranks.count;
    return most <= kMostKept && most * 4 <= lines.count;
  }

  // The line's elements side by side: where they lie, or copied.
  const Key* elements_of(int64_t line, int64_t together, Key* copy) const {
    const Key* from = static_cast<const Key*>(x) + lines.first(line);
    if (lines.stride == 1) return from;
    for (int64_t i = 0; i < lines.count; ++i, from += lines.stride) {
      for (int64_t k = 0; k < together; ++k) copy[k * lines.count + i] = from[k];
    }
    return copy;
  }

  void some_lines(int64_t first, int64_t together, Key* copy, Kept<Key, Place>& kept) const {
    const Key* bits = elements_of(first, together, copy);
    for (int64_t line = first; line < first + together; ++line, bits += lines.count) {
      const int64_t most = ranks.first + ranks.count;
      if (most <= kMinima && lines.count >= kMinima && lines.count <= kKeys &&
          least_of_short(bits, lines.count, most, order, kept.elements)) {
        write(line, kept.elements.data() + ranks.first);
      } else if (keeps()) {
        kept.clear();
        kept.add(bits, lines.count, 0);
        finish_kept(line, kept);
      } else if (lines.count <= kPartition) {
        by_partition(line, bits, kept.elements);
      } else {
        by_digits(line, bits, 1);
      }
    }
  }

  void by_partition(int64_t line, const Key* bits, std::vector<Element>& elements) const {
    elements.clear();
    for (int64_t i = 0; i < lines.count; ++i) elements.push_back({order.key(bits[i]), static_cast<Place>(i)});
    const auto first = elements.begin() + ranks.first, end = first + ranks.count;
    std::nth_element(elements.begin(), first, elements.end());
    if (ranks.count > 1) std::partial_sort(first, end, elements.end());
    write(line, elements.data() + ranks.first);
  }

  void in_pieces(int64_t line, int64_t pieces, Key* copy) const {
    const Key* bits = elements_of(line, 1, copy);
    if (!keeps()) return by_digits(line, bits, pieces);
    std::vector<Kept<Key, Place>> parts(static_cast<size_t>(pieces), {ranks.first + ranks.count, order});
    each_piece(pieces, [&](int64_t p, int64_t begin, int64_t end) { parts[p].add(bits + begin, end - begin, begin); });
    Kept<Key, Place>& all = parts[0];
    for (size_t p = 1; p < parts.size(); ++p) all.elements.insert(all.elements.end(), parts[p].elements.begin(), parts[p].elements.end());
    finish_kept(line, all);
  }

  template <typename F>
  void each_piece(int64_t pieces, F f) const {
    ThreadPool::global().parallel_for(pieces, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t p = first; p < last; ++p) f(p, lines.count * p / pieces, lines.count * (p + 1) / pieces);
    });
  }

  void finish_kept(int64_t line, Kept<Key, Place>& kept) const {
    kept.finish();
    write(line, kept.elements.data() + ranks.first);
  }

  void write(int64_t line, const Element* elements) const {
    int64_t* to = result + results.first(line);
    for (int64_t i = 0; i < ranks.count; ++i) to[i * results.stride] = static_cast<int64_t>(elements[i].place);
  }

  // --- by digits

  static constexpr int kBits = 8 * sizeof(Key);
  static constexpr size_t kCounts = size_t{1} << std::min(kDigitBits, kBits);
  using Counts = std::vector<int64_t>;

  static size_t digit_at(Key key, int shift) { return static_cast<size_t>(key >> shift) & (kCounts - 1); }

  // The digits in which ranks first .. first + count - 1 lie, and how many elements lie before them and in them.
  struct Span {
    size_t low, high;
    int64_t before = 0, inside = 0;
  };
  static Span span_of(const Counts& counts, int64_t first, int64_t count) {
    Span span{0, 0};
    while (span.before + counts[span.low] <= first) span.before += counts[span.low++];
    span.high = span.low;
    span.inside = counts[span.low];
    while (span.before + span.inside < first + count) span.inside += counts[++span.high];
    return span;
  }

  // Where the digit lies whose bits are the first that differ between keys.
  int first_shift(const Key* bits, int64_t pieces) const {
    std::vector<Key> differences(static_cast<size_t>(pieces));
    each_piece(pieces, [&](int64_t p, int64_t begin, int64_t end) {
      Key any = 0;
      vectorised([&, by = order]() TENON_INLINE {
        const Key first = by.key(bits[0]);
        Key differing = 0;
        for (int64_t i = begin; i < end; ++i) differing |= static_cast<Key>(by.key(bits[i]) ^ first);
        any = differing;
      });
      differences[p] = any;
    });
    Key any = 0;
    for (const Key one : differences) any |= one;
    return std::max(0, static_cast<int>(std::bit_width(any)) - kDigitBits);
  }

  void by_digits(int64_t line, const Key* bits, int64_t pieces) const {
    const int shift = first_shift(bits, pieces);
    std::vector<Counts> counts(static_cast<size_t>(pieces), Counts(kCounts, 0));
    each_piece(pieces, [&](int64_t p, int64_t begin, int64_t end) {
      Counts &mine = counts[p], odd(kCounts, 0);
      Key keys[kKeys];
      for (int64_t i = begin; i < end; i += kKeys) {
        const int64_t some = std::min(kKeys, end - i);
        keys_of(bits + i, some, order, keys);
        for (int64_t k = 0; k + 1 < some; k += 2) {  // equal neighbours do not wait for each other
          ++mine[digit_at(keys[k], shift)];
          ++odd[digit_at(keys[k + 1], shift)];
        }
        if (some % 2 == 1) ++mine[digit_at(keys[some - 1], shift)];
      }
      for (size_t d = 0; d < kCounts; ++d) mine[d] += odd[d];
    });
    Counts all(kCounts, 0);
    for (const Counts& piece : counts) {
      for (size_t d = 0; d < kCounts; ++d) all[d] += piece[d];
    }
    const Span span = span_of(all, ranks.first, ranks.count);
    std::vector<int64_t> starts;  // of the pieces' elements among those taken along
    int64_t next = 0;
    for (const Counts& piece : counts) {
      starts.push_back(next);
      for (size_t d = span.low; d <= span.high; ++d) next += piece[d];
    }
    Array<Element> memory(2 * span.inside);
    Element* taken = memory.data();
    each_piece(pieces, [&](int64_t p, int64_t begin, int64_t end) {
      Element* to = taken + starts[p];
      Key keys[kKeys];
      Element found[kKeys];
      for (int64_t i = begin; i < end; i += kKeys) {
        const int64_t some = std::min(kKeys, end - i);
        keys_of(bits + i, some, order, keys);
        size_t next_found = 0;  // each is written, and stays if it is one: no branch to guess
        for (int64_t k = 0; k < some; ++k) {
          found[next_found] = {keys[k], static_cast<Place>(i + k)};
          next_found += static_cast<size_t>(digit_at(keys[k], shift) - span.low <= span.high - span.low);
        }
        to = std::copy(found, found + next_found, to);
      }
    });
    int64_t first = ranks.first - span.before, left = span.inside;
    if (span.low == span.high) left = narrow(taken, left, shift, first);
    Element* spare = memory.data() + span.inside;
    radix_sort(taken, spare, left);
    write(line, taken + first);
  }

  // Takes `count` elements with one digit at `shift`, in place order, and keeps those that can have the ranks from `first` on:
  // by the digits below, while there are many. Gives how many are left; `first` becomes a rank among them.
  int64_t narrow(Element* elements, int64_t count, int shift, int64_t& first) const {
    Counts counts;
    bool one_digit = true;
    while (one_digit && shift > 0 && count > kFewLeft) {
      shift = std::max(0, shift - kDigitBits);
      counts.assign(kCounts, 0);
      for (int64_t i = 0; i < count; ++i) ++counts[digit_at(elements[i].key, shift)];
      const Span span = span_of(counts, first, ranks.count);
      Element* to = elements;
      for (int64_t i = 0; i < count; ++i) {
        const Element element = elements[i];
        const size_t d = digit_at(element.key, shift);
        if (d >= span.low && d <= span.high) *to++ = element;
      }
      first -= span.before;
      count = span.inside;
      one_digit = span.low == span.high;
    }
    return count;
  }
};

}  // namespace

void run_select(const ir::Call& call, void* const* buffers, const uint64_t*) {
  const SortedLines sorted(call.node(), buffers);
  const int64_t count = sorted.lines.count, bytes = count * ir::item_size(sorted.dtype);
  const bool least = sorted.ranks.first + sorted.ranks.count <= kMinima;
  const bool many = sorted.ranks.count * (count <= kPartition ? 4 : 2) >= count;  // that are wanted: they would be sorted anyway
  if (count <= kShort || (bytes <= kSortedBytes && !least) || many) return sort_lines(sorted);
  with_key_and_place(sorted.dtype, sorted.lines.count,
                     [&](auto key, auto place) { Selector<decltype(key), decltype(place)>(sorted).run(); });
}

}  // namespace tenon::runtime
