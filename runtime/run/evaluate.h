// Evaluation: pending nodes become buffers. A structural hash of the pending graph finds a finished plan;
// otherwise the passes run, kernels are compiled (or found in memory or on disk) and the plan is kept.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime {

// After it, every root is an Input with a Buffer payload, and so is every held node that was computed on the
// way. Thread-safe: graphs that share no pending node are computed at the same time; what another thread is computing is
// waited for. Throws OutOfMemory or std::runtime_error (with the kernel named) and then leaves the
// graph pending, or the part of a very large one (batches.h) that it has not computed yet.
// A root that is a Const or Iota becomes an Input for every graph that shares it.
void evaluate(std::span<const ir::NodeRef> roots);

// The same, where the caller can go back: `replaced` are values in whose place roots come, and to which the caller refers once beside
// this list. If it throws they are what they were. If not, their memory may be another's, and nobody may read them any more.
void evaluate_step(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> replaced);

// Which of these values need something that has to be computed for `roots` too; views count as nothing.
std::vector<bool> share_work(std::span<const ir::NodeRef> values, std::span<const ir::NodeRef> roots);

// Gives an evaluated node other memory with the same contents. Waits for evaluations that read it.
void rebind(ir::Node& node, std::shared_ptr<Buffer> buffer);

// The same plan as text, without running: what `dump` and `explain` of the public API print. For roots that are all
// computed it is the plan that computed them. `kernel`: only kernels with this in their name, below Fused.
enum class Stage : uint8_t { Graph, Fused, Kernel, LoopTree, LLVM, Assembly, CUDA, PTX };
std::string dump(std::span<const ir::NodeRef> roots, Stage stage, std::string_view kernel = {});
std::string explain(std::span<const ir::NodeRef> roots);
std::string draw_svg(std::span<const ir::NodeRef> roots);  // kernels as boxes

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
const std::vector<KernelRecord> kernel_history();  // oldest first, the last kHistoryLimit launches
void clear_kernel_history();
// A table of the kernels in the history, by the time that they took.
std::string profile_summary();
inline constexpr size_t kHistoryLimit = 65536;

struct Counters {
  int64_t plans_built = 0, plan_hits = 0;  // passes ran / did not
  int64_t kernels_compiled = 0, memory_hits = 0, disk_hits = 0;
  int64_t launches = 0;
  int64_t kernels_promoted = 0;  // that ran as bytecode, and were compiled then
};
Counters counters();
void reset_counters();
void clear_caches();  // plans, kernels in memory and freed memory; not the disk

}  // namespace tenon::runtime
