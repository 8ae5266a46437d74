// Accesses that nothing orders are found whatever order they happened in, and ordered ones never.
#include "cuda_sim/races.h"
#include "cuda_sim/gpu.h"

namespace {

const std::string kAdd = R"(
TENON_KERNEL void TENON_LAUNCH(32) k(const float* x, float* y) {
  y[TENON_THREAD] = x[TENON_THREAD] + 1.0f;
}
)";

enum class By { Nothing, Event, Host, Query, OneStream };

// A kernel's result becomes another kernel's operand (or the other way round); true if that was found to be a race.
bool races(By by, bool eager, bool write_after_read) {
  tenon_sim_set("races", 1);
  tenon_sim_set("eager", eager);
  bool found = false;
  {
    const Kernel add(kAdd);
    const Buffer x(std::vector<float>(32, 1.0f)), y(std::vector<float>(32, 1.0f)), z(32);
    const Stream first, second;
    const Event done;
    const Handle later = by == By::OneStream ? first.handle : second.handle;
    const auto produce = [&](Handle stream) { return add.launch(stream, 1, 32, x.address, y.address); };
    const auto consume = [&](Handle stream) { return add.launch(stream, 1, 32, y.address, z.address); };
    REQUIRE((write_after_read ? consume(first.handle) : produce(first.handle)) == 0);
    REQUIRE(cuEventRecord(done.handle, first.handle) == 0);
    if (by == By::Event) REQUIRE(cuStreamWaitEvent(later, done.handle, 0) == 0);
    if (by == By::Host) REQUIRE(cuEventSynchronize(done.handle) == 0);
    while (by == By::Query && cuEventQuery(done.handle) == 600) continue;
    REQUIRE((write_after_read ? produce(later) : consume(later)) == 0);
    found = cuCtxSynchronize() == 719;
    if (found) CHECK(contains(finding(), "nothing orders them"));
    tenon_sim_heal();
  }
  return found;
}

}  // namespace

TEST_CASE("races: found without an order, not with one") {
  const Context context;
  for (const bool eager : {false, true}) {
    for (const bool write_after_read : {false, true}) {
      CAPTURE(eager);
      CAPTURE(write_after_read);
      for (unsigned seed = 0; seed < 5; ++seed) {
        tenon_sim_seed(seed);
        CHECK(races(By::Nothing, eager, write_after_read));
        for (const By by : {By::Event, By::Host, By::Query, By::OneStream}) CHECK_FALSE(races(by, eager, write_after_read));
      }
    }
  }
}

TEST_CASE("races: two reads are none, and orders are handed on from stream to stream") {
  using tenon::cuda_sim::History;
  History block;
  CHECK(block.note({1, 1, "a"}, true, {}).empty());
  CHECK(block.note({2, 1, "b"}, false, {{1, 1}}).empty());
  CHECK(block.note({3, 1, "c"}, false, {{1, 1}}).empty());
  CHECK(block.note({2, 2, "d"}, true, {{1, 1}, {2, 1}}) == "d writes what c reads: nothing orders them");
  CHECK(block.note({3, 2, "e"}, true, {{1, 1}, {2, 2}}).empty());
  CHECK(block.note({1, 2, "f"}, false, {{2, 2}}) == "f reads what e writes: nothing orders them");
  CHECK(block.note({1, 3, "g"}, false, {{3, 9}}).empty());
}
