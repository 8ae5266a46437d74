// Seeing what the library does: the program text at every level, why kernels were fused or not, what ran and
// how long, and a switch for each optimisation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

enum class Stage : uint8_t { Graph, Fused, Kernel, LoopTree, LLVM, Assembly, CUDA, PTX };

// What evaluating these would do, as text; nothing runs. For tensors that are computed: the plan that computed them.
// `kernel`: the stages below Fused show only the kernels with this in their name.
std::string dump(TensorList tensors, Stage stage, std::string_view kernel = {});
// Kernels, what each fused, bytes, flops, what is stored only because the program holds it, what is kept for gradients
// still to come and what they will compute again, why neighbours were not fused.
std::string explain(TensorList tensors);
// The graph in DOT, the language of Graphviz: kernels as boxes, with the time of their last launch if they ran, views on the arrows.
std::string draw_dot(TensorList tensors);
// The same as a picture, which Graphviz's program `dot` lays out. Error if that is not installed, or needs more than a minute.
std::string draw_svg(TensorList tensors);
inline std::string dump(const Tensor& tensor, Stage stage, std::string_view kernel = {}) { return dump(TensorList(tensor), stage, kernel); }
inline std::string explain(const Tensor& tensor) { return explain(TensorList(tensor)); }
inline std::string draw_dot(const Tensor& tensor) { return draw_dot(TensorList(tensor)); }
inline std::string draw_svg(const Tensor& tensor) { return draw_svg(TensorList(tensor)); }

std::string info();  // version, backend, devices, settings
#define TENON_VERSION "0.1.0"
#define TORCH_VERSION TENON_VERSION  // where programs written for LibTorch look
const char* version();               // of the library that runs

// One launch of one kernel.
struct KernelRecord {
  enum class Cache : uint8_t { Memory, Disk, Compiled };
  std::string name, schedule;
  uint64_t hash = 0;
  int ops = 0;        // graph nodes fused
  int64_t bytes = 0;  // read and written
  int64_t flops = 0;
  double compile_ms = 0;  // 0 unless compiled for this launch, to machine code or bytecode
  double run_us = 0;
  Cache cache = Cache::Memory;
  int plan = 0;        // the number of the plan that launched it: explain and TENON_DUMP_DIR's files have it
  std::string shapes;  // "f32[64,128], f32[128] -> f32[64]"
  double gigabytes_per_second() const { return run_us > 0 ? static_cast<double>(bytes) / run_us * 1e-3 : 0; }
};
std::vector<KernelRecord> kernel_history();  // oldest first
void clear_kernel_history();

// --- where the time went
// A table of the kernels in the history, those that took most first: launches, times, bytes, GB/s, share.
std::string profile_summary();
// Records spans of evaluations, plans, compilations, launches (with shapes, bytes, GB/s, plan), of worker threads and of
// scopes, until profile_stop(): a Chrome trace that https://ui.perfetto.dev opens. It forgets what was recorded before.
// Error at once if the file cannot be written; then nothing changes. TENON_PROFILE=FILE does it for a whole program.
void profile_start(const std::string& file);
void profile_stop();  // writes the file
// A span of the program's own, to the end of the block. What is recorded in it and evaluated later runs later: call eval
// in the block to time it there.
//
//   { Scope scope("attention"); y = attention(x); eval(y); }
class Scope {
 public:
  explicit Scope(std::string name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::string name_;
  int64_t begin_;  // in ticks of the trace; 0 while nothing is recorded
};

struct Counters {
  int64_t plans_built = 0, plan_hits = 0;  // passes ran / did not
  int64_t kernels_compiled = 0, memory_hits = 0, disk_hits = 0;
  int64_t launches = 0;
  int64_t kernels_promoted = 0;  // of those compiled: that began as bytecode, and were compiled by LLVM when they came again
};
std::ostream& operator<<(std::ostream& out, const Counters& counters);  // two lines, as in info()
Counters counters();
void reset_counters();
void clear_caches();  // plans, kernels and freed memory of this process; not the disk

struct MemoryStats {
  int64_t allocated = 0;  // bytes in use by tensors
  int64_t peak_allocated = 0;
  int64_t reserved = 0;     // taken from the system
  int64_t allocations = 0;  // requests so far
};
std::ostream& operator<<(std::ostream& out, const MemoryStats& stats);  // one line
MemoryStats memory_stats();

// Every setting, also readable from TENON_... environment variables at the start.
struct Config {
  bool fusion = true;
  bool simplify = true;
  bool plan_cache = true;
  bool donation = true;
  bool disk_cache = true;
  bool interpreter = false;          // run on the interpreter instead of compiled code
  int threads = 0;                   // 0: one for each CPU this process may use
  int vector_bits = 0;               // 0: the host's
  int64_t memory_limit_mb = 0;       // 0: no cap
  int64_t max_pending_nodes = 8192;  // an evaluation is forced beyond these
  int64_t max_pending_bytes = 4ll << 30;
  std::string cache_dir;
  std::string profile;     // file of the Chrome/Perfetto trace: a change is profile_start or profile_stop
  bool first_tier = true;  // a kernel that is new runs at once as bytecode, and is compiled when it comes again
  bool replay = true;      // calls, gradients and updates that come again are made from what is known of them
};
Config get_config();
void set_config(const Config& config);  // takes effect at the next evaluation
int get_num_threads();
void set_num_threads(int threads);
inline void init_num_threads() {}  // each thread knows the setting
// LibTorch's threads between operations. The work of one graph shares one pool, so the number has no effect.
int get_num_interop_threads();
void set_num_interop_threads(int threads);  // Error unless positive

}  // namespace tenon
