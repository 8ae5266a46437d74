// The caching allocator: alignment, size classes, reuse, statistics, bounds, and what happens without memory.
#include "runtime/cpu/allocator.h"

#include <doctest/doctest.h>

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "ir/base/spare_memory.h"
#include "runtime/cpu/system_memory.h"

using namespace tenon::runtime;

namespace {

// A source that counts, and can be told to have no memory.
struct Supply {
  static inline int64_t acquired = 0, released = 0, refuse_from = -1;  // refuse requests number >= this
  static inline size_t refuse_above = SIZE_MAX;
  static inline int64_t outstanding = 0;
  static void reset() {
    acquired = released = outstanding = 0;
    refuse_from = -1;
    refuse_above = SIZE_MAX;
  }
  static void* acquire(size_t bytes) {
    if (static_cast<size_t>(outstanding) + bytes > refuse_above) return nullptr;
    if (refuse_from >= 0 && acquired >= refuse_from) return nullptr;
    ++acquired;
    outstanding += static_cast<int64_t>(bytes);
    return Allocator::system_source().acquire(bytes);
  }
  static void release(void* block, size_t bytes) {
    ++released;
    outstanding -= static_cast<int64_t>(bytes);
    Allocator::system_source().release(block, bytes);
  }
  static Allocator::Source source() { return {acquire, release}; }
};

constexpr int64_t kNoCacheLimit = int64_t{1} << 60;

}  // namespace

TEST_CASE("allocator: the slack of a size class is bounded and classes grow with the size") {
  size_t last = 0;
  for (size_t bytes = 1; bytes < (size_t{1} << 40); bytes += bytes / 37 + 1) {
    size_t whole = Allocator::class_bytes(bytes);
    REQUIRE(whole >= bytes);
    REQUIRE(whole % 64 == 0);
    REQUIRE(whole >= last);
    REQUIRE(whole - bytes < std::max<size_t>(64, bytes / 8 + 64));
    if (bytes % 64 == 0) REQUIRE(static_cast<double>(whole - bytes) <= 0.125 * static_cast<double>(bytes));
    REQUIRE(Allocator::class_bytes(whole) == whole);
    last = whole;
  }
}

TEST_CASE("allocator: blocks are aligned, writable and recycled") {
  Supply::reset();
  Allocator a(Supply::source(), 0, kNoCacheLimit);
  for (size_t bytes : {size_t{1}, size_t{64}, size_t{65}, size_t{1000}, size_t{1} << 20, (size_t{2} << 20) + 1, size_t{5} << 20}) {
    CAPTURE(bytes);
    void* first = a.allocate(bytes);
    CHECK(reinterpret_cast<uintptr_t>(first) % 64 == 0);
    if (bytes >= (size_t{2} << 20)) CHECK(reinterpret_cast<uintptr_t>(first) % (size_t{2} << 20) == 0);
    std::memset(first, 0x5a, bytes);
    a.release(first, bytes);
    void* second = a.allocate(bytes);
    CHECK(second == first);
    a.release(second, bytes);
  }
  CHECK(Supply::released == 0);
  CHECK(a.stats().cache_hits == 8);  // the second size shares the class of the first
  a.empty_cache();
  CHECK(Supply::outstanding == 0);
  CHECK(a.stats().reserved == 0);
}

TEST_CASE("allocator: statistics follow every step of a random history") {
  Supply::reset();
  Allocator a(Supply::source(), 0, 1 << 20);
  std::mt19937 random(7);
  struct Live {
    void* block;
    size_t bytes;
    unsigned char tag;
  };
  std::vector<Live> live;
  int64_t allocated = 0, peak = 0, count = 0;
  for (int step = 0; step < 20000; ++step) {
    if (live.empty() || random() % 100 < 52) {
      size_t bytes = 1 + random() % (random() % 50 == 0 ? 3 << 20 : 5000);
      auto* block = static_cast<unsigned char*>(a.allocate(bytes));
      auto tag = static_cast<unsigned char>(random());
      block[0] = block[bytes - 1] = tag;
      live.push_back({block, bytes, tag});
      allocated += static_cast<int64_t>(Allocator::class_bytes(bytes));
      ++count;
    } else {
      size_t at = random() % live.size();
      auto* block = static_cast<unsigned char*>(live[at].block);
      REQUIRE(block[0] == live[at].tag);
      REQUIRE(block[live[at].bytes - 1] == live[at].tag);
      allocated -= static_cast<int64_t>(Allocator::class_bytes(live[at].bytes));
      a.release(block, live[at].bytes);
      live[at] = live.back();
      live.pop_back();
    }
    peak = std::max(peak, allocated);
    MemoryStats s = a.stats();
    REQUIRE(s.allocated == allocated);
    REQUIRE(s.peak_allocated == peak);
    REQUIRE(s.allocations == count);
    REQUIRE(s.live_buffers == static_cast<int64_t>(live.size()));
    REQUIRE(s.cached <= 1 << 20);
    REQUIRE(s.reserved == s.allocated + s.cached);
    REQUIRE(s.reserved == Supply::outstanding);
    REQUIRE(s.peak_reserved >= s.reserved);
  }
  for (const Live& l : live) a.release(l.block, l.bytes);
  a.reset_peak();
  CHECK(a.stats().peak_allocated == 0);
}

TEST_CASE("allocator: a free block of up to twice the size serves where there is none of the size") {
  Supply::reset();
  Allocator a(Supply::source(), 0, kNoCacheLimit);
  constexpr size_t kSmall = 64 << 10, kLarge = 2 * kSmall;
  void* large = a.allocate(kLarge);
  a.release(large, kLarge);
  void* lent = a.allocate(kSmall);
  CHECK(lent == large);
  CHECK(a.stats().allocated == kSmall);
  CHECK(a.stats().cached == kLarge - kSmall);  // the slack
  CHECK(a.stats().reserved == Supply::outstanding);
  a.empty_cache();  // which is not to be had
  CHECK(a.stats().reserved == Supply::outstanding);
  a.release(lent, kSmall);
  CHECK(a.stats().allocated == 0);
  CHECK(a.stats().cached == kLarge);
  CHECK(a.allocate(kLarge) == large);  // of its own class again
  a.release(large, kLarge);
  void* less = a.allocate(kSmall - 4096);  // this block has more than twice as much
  CHECK(less != large);
  a.release(less, kSmall - 4096);
  a.empty_cache();
  CHECK(Supply::outstanding == 0);

  Allocator limited(Supply::source(), 1 << 20, kNoCacheLimit);  // a limit counts what is held
  large = limited.allocate(kLarge);
  limited.release(large, kLarge);
  void* exact = limited.allocate(kSmall);
  CHECK(exact != large);
  limited.release(exact, kSmall);
}

TEST_CASE("allocator: the least recently freed blocks leave a full cache first") {
  Supply::reset();
  Allocator a(Supply::source(), 0, 3 * 1024);
  void* old = a.allocate(1024);
  void* b = a.allocate(1152);
  void* c = a.allocate(1280);
  a.release(old, 1024);
  a.release(b, 1152);
  CHECK(Supply::released == 0);
  a.release(c, 1280);
  CHECK(Supply::released == 1);
  CHECK(a.stats().cached == 1152 + 1280);
}

TEST_CASE("allocator: the limit counts live memory, and cached memory makes room") {
  Supply::reset();
  Allocator a(Supply::source(), 1 << 20, kNoCacheLimit);
  void* half = a.allocate(512 << 10);
  a.release(half, 512 << 10);
  void* most = a.allocate(768 << 10);  // fits only if the cached half goes
  CHECK(a.stats().reserved <= 1 << 20);
  CHECK_THROWS_AS(a.allocate(512 << 10), OutOfMemory);
  CHECK(a.stats().allocated == 768 << 10);
  a.release(most, 768 << 10);
  void* again = a.allocate(1 << 20);
  a.release(again, 1 << 20);
}

TEST_CASE("allocator: without memory the cache is freed, then one retry, then a typed error with the sizes") {
  Supply::reset();
  Allocator a(Supply::source(), 0, kNoCacheLimit);
  void* cached = a.allocate(1 << 20);
  a.release(cached, 1 << 20);
  Supply::refuse_above = (1 << 20) + (1 << 19);
  void* block = a.allocate(1152 << 10);  // succeeds on the second try
  CHECK(Supply::released == 1);
  try {
    a.allocate(size_t{2} << 30);
    FAIL("no error");
  } catch (const OutOfMemory& e) {
    std::string text = e.what();
    CAPTURE(text);
    CHECK(text.find("Tenon CPU out of memory: tried to allocate 2.00 GiB (") == 0);
    CHECK(text.find("1.12 MiB already allocated") != std::string::npos);
  }
  a.release(block, 1152 << 10);
  CHECK_THROWS_AS(a.allocate(SIZE_MAX), OutOfMemory);
  CHECK_THROWS_AS(a.allocate(SIZE_MAX / 2), OutOfMemory);
  void* small = a.allocate(100);  // still usable
  a.release(small, 100);
}

TEST_CASE("system memory: pieces of huge pages overlap nothing, are joined again, and an empty page goes back") {
  Allocator::global().empty_cache();  // its blocks would share the pages
  constexpr size_t kPage = size_t{2} << 20;
  auto is_mapped = [](uintptr_t page) {
    unsigned char resident;
    return mincore(reinterpret_cast<void*>(page), 4096, &resident) == 0;
  };
  struct Piece {
    unsigned char* data;
    size_t bytes;
    unsigned char mark;
  };
  std::mt19937 random(7);
  std::vector<Piece> pieces;
  std::map<uintptr_t, size_t> used;  // of each page
  auto release = [&](size_t i) {
    Piece p = pieces[i];
    pieces[i] = pieces.back();
    pieces.pop_back();
    for (size_t at = 0; at < p.bytes; at += 509) REQUIRE(p.data[at] == p.mark);
    REQUIRE(p.data[p.bytes - 1] == p.mark);
    const uintptr_t page = reinterpret_cast<uintptr_t>(p.data) / kPage * kPage;
    release_to_system(p.data, p.bytes);
    if ((used[page] -= p.bytes) == 0) used.erase(page);
  };
  for (int i = 0; i < 3000; ++i) {
    if (pieces.size() > random() % 60) {
      release(random() % pieces.size());
      continue;
    }
    const size_t bytes = (size_t{32} << 10) + random() % (i % 9 == 0 ? kPage - (size_t{40} << 10) : size_t{200} << 10);
    Piece p{static_cast<unsigned char*>(acquire_from_system(bytes)), bytes, static_cast<unsigned char>(random())};
    REQUIRE(p.data);
    REQUIRE(reinterpret_cast<uintptr_t>(p.data) % 64 == 0);
    std::memset(p.data, p.mark, bytes);
    pieces.push_back(p);
    used[reinterpret_cast<uintptr_t>(p.data) / kPage * kPage] += bytes;
  }
  std::vector<uintptr_t> pages;
  for (auto [page, bytes] : used) pages.push_back(page);
  for (size_t less : {1, 64, 65, 128, 700, 768, 832}) {  // what hardly fits a page, or does not
    const size_t bytes = kPage - less;
    void* block = acquire_from_system(bytes);
    REQUIRE(block);
    std::memset(block, 1, bytes);
    release_to_system(block, bytes);
  }
  const size_t count = pieces.size();
  while (!pieces.empty()) release(pieces.size() - 1);
  if (!TENON_SPARE_MEMORY) return;  // under sanitizers the pieces are malloc's
  CHECK(pages.size() < count);
  for (uintptr_t page : pages) CHECK_FALSE(is_mapped(page));
}

TEST_CASE("allocator: several threads") {
  Allocator a(Allocator::system_source(), 0, 1 << 20);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&a, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 2000; ++i) {
        size_t bytes = 1 + random() % 20000;
        auto* block = static_cast<unsigned char*>(a.allocate(bytes));
        block[0] = block[bytes - 1] = static_cast<unsigned char>(t);
        REQUIRE(block[0] == t);
        a.release(block, bytes);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(a.stats().allocated == 0);
  CHECK(a.stats().allocations == 8000);
}

TEST_CASE("buffers: own memory goes back, adopted memory to its deleter, empty ones are fine") {
  int64_t before = memory_stats().allocated;
  {
    auto b = Buffer::allocate(1000);
    CHECK(b->bytes() == 1000);
    CHECK_FALSE(b->adopted());
    CHECK(memory_stats().allocated == before + 1024);
    auto empty = Buffer::allocate(0);
    CHECK(empty->data() != nullptr);
    CHECK(memory_stats().allocated == before + 1024);
  }
  CHECK(memory_stats().allocated == before);
  int value = 0, deleted = 0;
  {
    auto b = Buffer::adopt(&value, sizeof value, [&](void* p) { deleted += p == &value; });
    auto copy = b;
    CHECK(copy->data() == &value);
    CHECK(copy->adopted());
  }
  CHECK(deleted == 1);
  { auto b = Buffer::adopt(&value, sizeof value, {}); }
}

TEST_CASE("buffers: a failing system is reported, and the library recovers") {
  Supply::reset();
  Supply::refuse_from = 0;
  Allocator::Source old = Allocator::global().set_source(Supply::source());
  CHECK_THROWS_AS(Buffer::allocate(123), OutOfMemory);
  Allocator::global().set_source(old);
  CHECK(Buffer::allocate(123)->bytes() == 123);
}
