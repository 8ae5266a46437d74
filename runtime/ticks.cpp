// Whether the processor's ticks come at one rate, and which.
#include "runtime/ticks.h"

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
const Clock::time_point start_time = Clock::now();
const Ticks start_ticks = ticks();
}  // namespace

double microseconds_per_tick() {
  using Micros = std::chrono::duration<double, std::micro>;
  if (!counts_ticks) return Micros(Clock::duration(1)).count();
  return Micros(Clock::now() - start_time).count() / static_cast<double>(ticks() - start_ticks);
}

}  // namespace tenon::runtime
