// Every switch of the runtime: one struct, filled from the environment once, changeable by the program.
//
//   TENON_THREADS=N          TENON_FUSION=0|1        TENON_SIMPLIFY=0|1     TENON_PLAN_CACHE=0|1
//   TENON_DISK_CACHE=0|1     TENON_CACHE_DIR=PATH    TENON_CACHE_MAX_MB=N   TENON_VECTOR_BITS=128|256|512
//   TENON_DUMP_DIR=PATH      TENON_PROFILE=FILE      TENON_DONATION=0|1     TENON_MEMORY_LIMIT_MB=N
//   TENON_VERIFY=0|1         TENON_INLINE_US=N       TENON_BACKEND=llvm|interpreter
//   TENON_WINDOWS=0|1        TENON_TRACE=0|1         TENON_BATCH=N          TENON_OFTEN=N
//   TENON_FIRST_TIER=0|1|2   TENON_REPEATS=N         TENON_REPLAY=0|1
//   TENON_DUMP_KERNEL=NAME   (a part of a kernel's name)
//   TENON_DUMP=graph,fused,kernel,looptree,llvm,assembly,cuda,passes
//
// A malformed value gives one warning on stderr that names the accepted ones, and the default stands.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tenon::runtime {

inline constexpr uint32_t kDumpPasses = 1u << 7;

struct Options {
  int threads = 0;         // 0: one for each CPU this process may use
  int64_t inline_us = 12;  // a launch of less estimated work than this is not split over threads
  bool fusion = true;
  bool simplify = true;
  bool plan_cache = true;
  int64_t batch = 256;  // values of a plan, for graphs that give several times as many; 0: one plan always
  // A plan that has run so often is made again, with kernels that know how long short rows are; 0: from the start.
  int often = 64;
  // 1: a kernel that is new runs at once as bytecode, and is compiled when it comes again (kernel_cache.h); 0: it is compiled before it
  // runs; 2: it is never compiled, for tests.
  int first_tier = 1;
  // A plan that comes again after so many runs is made anew on a GPU, its small launches joined (plan_launches.h); 0: from the start,
  // below 0: never.
  int repeats = 2;
  bool replay = true;    // calls, gradients and updates that come again are made from what is known of them, not recorded
  bool windows = true;   // where a slice of an input begins is an argument of the plan, not a part of it
  bool donation = true;  // an output may take over the memory of an input nobody else needs
  bool verify = false;   // each graph, kernel and loop tree is verified, and its text must parse and print the same
  bool disk_cache = true;
  std::string cache_dir;  // empty: $XDG_CACHE_HOME/tenon or ~/.cache/tenon
  int64_t cache_max_mb = 512;
  int vector_bits = 0;  // 0: the host's
  enum class Backend : uint8_t { Llvm, Interpreter } backend = Backend::Llvm;
  uint32_t dump = 0;                 // bit i: Stage i; kDumpPasses: what each step changed
  std::string dump_kernel;           // of the stages below Fused only the kernels with this in their name
  std::string dump_dir;              // empty: stderr
  std::string profile;               // file of the Chrome/Perfetto trace, written at exit
  bool trace = false;                // errors carry the call stack
  int64_t memory_limit_mb = 0;       // 0: no cap
  int64_t max_pending_nodes = 8192;  // an evaluation is forced beyond these
  int64_t max_pending_bytes = 4ll << 30;
};

Options options();                   // a copy of the current ones
void set_options(const Options& o);  // takes effect at the next evaluation
// `told` is called after each set_options, for the life of the process. Returns true.
bool when_options_change(void (*told)(const Options&));
bool replays();                 // Options::replay, at the cost of a load
uint64_t options_generation();  // grows with each set_options: a cheap test for "unchanged"

// What the environment says. `get` is getenv or a stand-in for it; `warn` receives one line for each bad
// value.
Options parse_options(const std::function<const char*(const char*)>& get, const std::function<void(const std::string&)>& warn);

}  // namespace tenon::runtime
