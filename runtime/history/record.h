// What is known of a launch of a kernel, and what the runtime counts.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::runtime {

// One launch of one kernel.
enum class CacheState : uint8_t { Memory, Disk, Compiled };
struct KernelRecord {
  std::string name;      // "sub_exp_sum_div"
  std::string schedule;  // "rows"
  uint64_t hash = 0;     // of the cache key
  int ops = 0;           // graph nodes fused
  int64_t bytes = 0;     // read and written
  int64_t flops = 0;
  double compile_ms = 0;  // 0 unless compiled for this launch, perhaps to bytecode
  double run_us = 0;
  CacheState cache = CacheState::Memory;
  int plan = 0;
  std::string shapes;  // "f32[64,128], f32[128] -> f32[64]"
};

struct Counters {
  int64_t plans_built = 0, plan_hits = 0;  // passes ran / did not
  int64_t kernels_compiled = 0, memory_hits = 0, disk_hits = 0;
  int64_t launches = 0;
  int64_t kernels_promoted = 0;  // that ran as bytecode, and were compiled then
};

}  // namespace tenon::runtime
