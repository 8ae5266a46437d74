// Whether the processor's ticks come at one rate, and which.
#include "runtime/history/ticks.h"

#include <atomic>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// "Invariant TSC": bit 8 of EDX of CPUID's leaf 0x80000007 (Intel SDM 3B, 18.17.1; AMD APM 3, E.4.7).
bool has_one_rate() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
#else
  return false;
#endif
}

}  // namespace

const bool counts_ticks = has_one_rate();

namespace {

using Micros = std::chrono::duration<double, std::micro>;

// Both clocks at one instant, as near to each other as a few tries bring them.
struct Reading {
  Ticks tick;
  Clock::time_point time;
};
Reading read_both() {
  Reading nearest{};
  Ticks least = std::numeric_limits<Ticks>::max();
  for (int i = 0; i < 5; ++i) {
    const Ticks before = ticks();
    const Clock::time_point time = Clock::now();
    const Ticks apart = ticks() - before;
    if (apart >= least) continue;
    least = apart;
    nearest = {before + apart / 2, time};
  }
  return nearest;
}

double measure() {
  const Reading begin = read_both();
  Reading end = begin;
  while (end.time - begin.time < std::chrono::microseconds(500)) end = read_both();
  return Micros(end.time - begin.time).count() / static_cast<double>(end.tick - begin.tick);
}

}  // namespace

double microseconds_per_tick() {
  static constinit std::atomic<double> known = 0;  // two threads may measure it
  double result = known.load(std::memory_order_relaxed);
  if (result == 0) known.store(result = counts_ticks ? measure() : Micros(Clock::duration(1)).count(), std::memory_order_relaxed);
  return result;
}

}  // namespace tenon::runtime
