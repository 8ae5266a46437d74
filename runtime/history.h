// The last launches, and the counters. Recording a launch copies a pointer and two numbers; the names are put
// together when somebody asks.
#pragma once

#include <memory>

#include "runtime/evaluate.h"

namespace tenon::runtime {

// What does not change from one launch of a kernel to the next: its record, with times and cache state left
// out.
using KernelFacts = std::shared_ptr<const KernelRecord>;

// `copied`: bytes moved for this launch beside those of the facts.
void record_launch(const KernelFacts& facts, double run_us, CacheState cache, double compile_ms,
                   int64_t copied = 0);

enum class Count : uint8_t { PlansBuilt, PlanHits, Compiled, MemoryHits, DiskHits, Launches };
void count(Count what, int64_t by = 1);

}  // namespace tenon::runtime
