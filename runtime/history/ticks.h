// The clock of launches and traces. It counts the processor's ticks where they come at one rate: reading them takes half the time of
// steady_clock, of which two readings were a twentieth of a small evaluation.
#pragma once

#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tenon::runtime {

using Ticks = int64_t;

extern const bool counts_ticks;  // the processor's; else a tick is one of steady_clock

inline Ticks ticks() {
#if defined(__x86_64__)
  if (counts_ticks) return static_cast<Ticks>(__rdtsc());
#endif
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

double microseconds_per_tick();  // measured by the first call, in half a millisecond

}  // namespace tenon::runtime
