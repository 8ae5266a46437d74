// The memory plan: values alive together never overlap, and memory is reused.
#include "compiler/memory_plan.h"

#include <doctest/doctest.h>

#include <random>

using namespace tenon::compiler;

namespace {

bool alive_together(const PlannedValue& a, const PlannedValue& b) { return a.begin <= b.end && b.begin <= a.end; }

bool allowed_over(const std::vector<InPlace>& pairs, int32_t from, int32_t to, const std::vector<PlannedValue>& values) {
  for (const InPlace& p : pairs) {
    if (p.from == from && p.to == to && values[static_cast<size_t>(from)].end == p.step) return true;
  }
  return false;
}

// Where a value lies for the length of its life: an output that was donated to lies in the input.
struct Extent {
  int space;  // 0 arena, 1 + output, 1000 + input
  int64_t begin, end;
};

}  // namespace

TEST_CASE("memory plan: intermediates one after another share one place") {
  std::vector<PlannedValue> v = {{ValueKind::Input, 0, 400, -1, 0},
                                 {ValueKind::Temporary, 0, 400, 0, 1},
                                 {ValueKind::Temporary, 0, 400, 1, 2},
                                 {ValueKind::Temporary, 0, 400, 2, 3},
                                 {ValueKind::Output, 0, 4, 3, 3}};
  MemoryPlan plan = plan_memory(v, {});
  CHECK(plan.arena_bytes == 2 * 448);
  CHECK(plan.places[1].offset == plan.places[3].offset);
  CHECK(plan.donations.empty());
}

TEST_CASE("memory plan: an output's buffer hosts intermediates until it is written") {
  std::vector<PlannedValue> v = {
      {ValueKind::Temporary, 0, 400, 0, 1}, {ValueKind::Temporary, 0, 400, 1, 2}, {ValueKind::Output, 0, 400, 2, 2}};
  MemoryPlan plan = plan_memory(v, {});
  CHECK(plan.places[0].base == ValueKind::Output);
  CHECK(plan.places[1].base == ValueKind::Temporary);  // still read while the output is written
  CHECK(plan.arena_bytes == 448);
  v[0].begin = v[0].end = 0;  // the buffer is free when the second is written: it goes there if it may be written over
  CHECK(plan_memory(v, {{2, 1, 2}}).places[1].base == ValueKind::Output);
  CHECK(plan_memory(v, {}).places[1].base == ValueKind::Temporary);
}

TEST_CASE("memory plan: a chain of updates lies in one place, from the input it takes over to the output") {
  std::vector<PlannedValue> v = {{ValueKind::Input, 0, 400, -1, 0},
                                 {ValueKind::Temporary, 0, 400, 0, 1},
                                 {ValueKind::Temporary, 0, 400, 1, 2},
                                 {ValueKind::Output, 0, 400, 2, 2}};
  std::vector<InPlace> updates = {{0, 0, 1, true}, {1, 1, 2, true}, {2, 2, 3, true}};
  MemoryPlan plan = plan_memory(v, updates);
  CHECK(plan.arena_bytes == 0);
  for (size_t i : {1, 2, 3}) CHECK(plan.places[i].base == ValueKind::Output);
  REQUIRE(plan.donations.size() == 1);
  CHECK(plan.donations[0].input == 0);
  CHECK(plan.donations[0].output == 0);
  // A reader of the first one after the second is written: there the chain is cut.
  v[1].end = 2;
  plan = plan_memory(v, updates);
  CHECK(plan.places[1].base == ValueKind::Temporary);
  CHECK(plan.places[2].base == ValueKind::Output);
  CHECK(plan.donations.empty());
}

TEST_CASE("memory plan: donation needs the last read, the same size, and happens once") {
  std::vector<PlannedValue> v = {{ValueKind::Input, 0, 400, -1, 0}, {ValueKind::Output, 0, 400, 0, 0}, {ValueKind::Output, 1, 400, 0, 0}};
  MemoryPlan plan = plan_memory(v, {{0, 0, 1}, {0, 0, 2}});
  REQUIRE(plan.donations.size() == 1);
  CHECK(plan.donations[0].output == 0);
  v[0].end = 1;
  CHECK(plan_memory(v, {{0, 0, 1}}).donations.empty());
  v[0].end = 0;
  v[0].bytes = 404;
  CHECK(plan_memory(v, {{0, 0, 1}}).donations.empty());
}

TEST_CASE("memory plan: in random plans nothing that is alive is overwritten") {
  std::mt19937 random(11);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int64_t planned = 0, needed = 0;
  for (int round = 0; round < 500; ++round) {
    int steps = 1 + below(12);
    std::vector<PlannedValue> values;
    int32_t inputs = 1 + below(3), outputs = 0;
    for (int32_t i = 0; i < inputs; ++i) values.push_back({ValueKind::Input, i, 64 * (1 + below(4)), -1, below(steps)});
    for (int32_t s = 0; s < steps; ++s) {
      for (int k = 1 + below(2); k > 0; --k) {
        if (s == steps - 1 || below(4) == 0) {
          values.push_back({ValueKind::Output, outputs++, 64 * (1 + below(4)), s, s + below(steps - s)});
        } else {
          values.push_back({ValueKind::Temporary, 0, 60 + 64 * below(4), s, s + below(steps - s)});
        }
      }
    }
    std::vector<InPlace> pairs;
    auto count = static_cast<int32_t>(values.size());
    for (int32_t to = 0; to < count; ++to) {
      for (int32_t from = 0; from < count; ++from) {
        const PlannedValue &f = values[static_cast<size_t>(from)], &t = values[static_cast<size_t>(to)];
        if (t.kind != ValueKind::Input && f.begin < t.begin && f.end >= t.begin && below(3) == 0) pairs.push_back({t.begin, from, to});
      }
    }
    MemoryPlan plan = plan_memory(values, pairs);
    std::vector<Extent> extents;
    for (int32_t v = 0; v < count; ++v) {
      const Place& p = plan.places[static_cast<size_t>(v)];
      int64_t bytes = values[static_cast<size_t>(v)].bytes;
      int space = p.base == ValueKind::Temporary ? 0 : p.base == ValueKind::Output ? 1 + p.index : 1000 + p.index;
      for (const MemoryPlan::Donation& d : plan.donations) {
        if (p.base == ValueKind::Output && d.output == p.index) space = 1000 + d.input;
      }
      if (space == 0) REQUIRE(p.offset + bytes <= plan.arena_bytes);
      extents.push_back({space, p.offset, p.offset + bytes});
      if (values[static_cast<size_t>(v)].kind == ValueKind::Temporary) needed += bytes;
    }
    planned += plan.arena_bytes;
    // An output lives to the end; an input that was not donated too.
    for (int32_t a = 0; a < count; ++a) {
      for (int32_t b = a + 1; b < count; ++b) {
        const Extent &x = extents[static_cast<size_t>(a)], &y = extents[static_cast<size_t>(b)];
        if (x.space != y.space || x.end <= y.begin || y.end <= x.begin) continue;
        PlannedValue va = values[static_cast<size_t>(a)], vb = values[static_cast<size_t>(b)];
        if (va.kind == ValueKind::Output) va.end = 1000;
        if (vb.kind == ValueKind::Output) vb.end = 1000;
        if (!alive_together(va, vb)) continue;
        bool fine = allowed_over(pairs, a, b, values) || allowed_over(pairs, b, a, values);
        REQUIRE(fine);
      }
    }
  }
  CHECK(planned < needed * 6 / 10);  // and there is something to it
}

TEST_CASE("memory plan: a chain that takes over a place keeps it while later values look for theirs") {
  std::vector<PlannedValue> v = {{ValueKind::Temporary, 0, 256, 0, 1}, {ValueKind::Temporary, 0, 256, 0, 2},
                                 {ValueKind::Temporary, 0, 256, 2, 4},  // written over the one before
                                 {ValueKind::Temporary, 0, 192, 3, 4}, {ValueKind::Temporary, 0, 192, 3, 4},
                                 {ValueKind::Temporary, 0, 256, 4, 5},  // an update of the third
                                 {ValueKind::Output, 0, 4, 5, 5}};
  MemoryPlan plan = plan_memory(v, {{2, 1, 2}, {4, 2, 5, true}});
  REQUIRE(plan.places[2].base == ValueKind::Temporary);
  for (size_t i : {3, 4}) {
    const bool apart = plan.places[i].offset + 192 <= plan.places[2].offset || plan.places[2].offset + 256 <= plan.places[i].offset;
    CHECK(apart);
  }
}

TEST_CASE("memory plan: parts lie in what is laid together from them, unless somebody reads them afterwards") {
  std::vector<PlannedValue> v = {{ValueKind::Temporary, 0, 256, 0, 3}, {ValueKind::Temporary, 0, 128, 1, 3},
                                 {ValueKind::Temporary, 0, 64, 2, 4},  // read again later
                                 {ValueKind::Temporary, 0, 448, 3, 5}, {ValueKind::Temporary, 0, 64, 4, 5},
                                 {ValueKind::Output, 0, 512, 5, 5}};  // the fourth and the fifth
  const auto part = [](int32_t step, int32_t from, int32_t to, int64_t offset) { return InPlace{step, from, to, false, true, offset}; };
  MemoryPlan plan = plan_memory(v, {part(3, 0, 3, 0), part(3, 1, 3, 256), part(3, 2, 3, 384), part(5, 3, 5, 64), part(5, 4, 5, 0)});
  const int64_t offsets[] = {64, 320, -1, 64, 0, 0};
  for (size_t i : {0, 1, 3, 4, 5}) {
    CAPTURE(i);
    CHECK(plan.places[i].base == ValueKind::Output);
    CHECK(plan.places[i].index == 0);
    CHECK(plan.places[i].offset == offsets[i]);
  }
  CHECK(plan.places[2].base == ValueKind::Temporary);
  CHECK(plan.arena_bytes == 64);
  // The same value twice: one of the two is copied.
  v = {{ValueKind::Temporary, 0, 64, 0, 1}, {ValueKind::Output, 0, 128, 1, 1}};
  plan = plan_memory(v, {part(1, 0, 1, 0), part(1, 0, 1, 64)});
  CHECK(plan.places[0].base == ValueKind::Output);
  CHECK(plan.places[0].offset == 0);
}

TEST_CASE("memory plan: thousands of values alive together, or one after another") {
  for (const int32_t life : {1, 20000}) {
    std::vector<PlannedValue> v;
    for (int32_t s = 0; s < 20000; ++s) {
      v.push_back({ValueKind::Temporary, 0, 64 + 64 * (s % 3), s, std::min(s + life, 20000)});
      v.push_back({ValueKind::Output, s, 64 * (s % 5), s, s});
    }
    const MemoryPlan plan = plan_memory(v, {});
    CHECK(plan.arena_bytes <= (life == 1 ? 1024 : 20000 * 192));
  }
}
