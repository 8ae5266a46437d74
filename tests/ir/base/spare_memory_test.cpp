// Small blocks that a thread frees and takes again.
#include "ir/base/spare_memory.h"

#include <doctest/doctest.h>

#include <set>
#include <thread>
#include <vector>

using tenon::ir::SpareMemory;

#if TENON_SPARE_MEMORY

TEST_CASE("spare memory: a block serves for its exact size only, the last one first") {
  void* a = ::operator new(48);
  void* b = ::operator new(48);
  std::thread([&] {  // whose lists are empty
    CHECK(SpareMemory::take(48) == nullptr);
    REQUIRE(SpareMemory::keep(a, 48));
    REQUIRE(SpareMemory::keep(b, 48));
    CHECK(SpareMemory::take(40) == nullptr);
    CHECK(SpareMemory::take(56) == nullptr);
    CHECK(SpareMemory::take(48) == b);
    CHECK(SpareMemory::take(48) == a);
    CHECK(SpareMemory::take(48) == nullptr);
  })
      .join();
  ::operator delete(a);
  ::operator delete(b);
}

TEST_CASE("spare memory: blocks of other sizes than multiples of 8 up to 512 bytes are not kept") {
  CHECK_FALSE(SpareMemory::keep(nullptr, 48));
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{12}, size_t{47}, size_t{513}, size_t{520}, size_t{1} << 40}) {
    int stays = 0;
    CAPTURE(bytes);
    CHECK_FALSE(SpareMemory::keep(&stays, bytes));
    CHECK(SpareMemory::take(bytes) == nullptr);
  }
}

TEST_CASE("spare memory: a thread keeps a megabyte at most, and none when it ends") {
  std::vector<void*> blocks;
  for (int i = 0; i < 3000; ++i) blocks.push_back(::operator new(512));
  std::thread([&] {
    size_t kept = 0;
    while (SpareMemory::keep(blocks.back(), 512)) {
      blocks.pop_back();
      ++kept;
    }
    CHECK(kept == 2048);
    const std::set<void*> left(blocks.begin(), blocks.end());
    for (size_t i = 0; i < kept / 2; ++i) {  // half of them come back; the thread's end frees the others
      void* block = SpareMemory::take(512);
      REQUIRE(block != nullptr);
      REQUIRE(!left.contains(block));
      blocks.push_back(block);
    }
  }).join();
  for (void* block : blocks) ::operator delete(block);
}

#endif
