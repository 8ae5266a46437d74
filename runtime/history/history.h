// The last launches, and the counters. Recording a launch copies a pointer and a few numbers; the names are put
// together when somebody asks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/history/record.h"
#include "runtime/history/ticks.h"

namespace tenon::runtime {

// What does not change from one launch of a kernel to the next: its record, with times and cache state left
// out.
using KernelFacts = std::shared_ptr<const KernelRecord>;

struct LaunchRecord {
  const KernelFacts* facts;
  Ticks run_time;
  double compile_ms;
  CacheState cache;
  int64_t copied;  // bytes moved for this launch beside those of the facts
};
void record_launches(std::span<const LaunchRecord> launches);  // of one run, in order; with the evaluation lock held

const std::vector<KernelRecord> kernel_history();  // oldest first, the last kHistoryLimit launches
void clear_kernel_history();
// A table of the kernels in the history, by the time that they took.
std::string profile_summary();
inline constexpr size_t kHistoryLimit = 65536;

enum class Count : uint8_t { PlansBuilt, PlanHits, Compiled, MemoryHits, DiskHits, Launches, Promoted };
void count(Count what, int64_t by = 1);
void count_under_lock(Count what, int64_t by = 1);  // the evaluation lock, without which nobody changes this count: no locked instruction
Counters counters();
void reset_counters();

}  // namespace tenon::runtime
