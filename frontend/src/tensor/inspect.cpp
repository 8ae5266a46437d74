// The public face of the runtime's instruments and switches.
#include "tenon/inspect.h"

#include <atomic>
#include <cerrno>
#include <utility>

#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/pending.h"
#include "frontend/src/tensor/text.h"
#include "runtime/base/options.h"
#include "runtime/cuda/cuda.h"
#include "runtime/device/device.h"
#include "runtime/history/history.h"
#include "runtime/history/profiler.h"
#include "runtime/memory/buffer.h"
#include "runtime/report/report.h"
#include "runtime/run/evaluate.h"

namespace tenon {
namespace {

std::vector<NodeRef> nodes_of(TensorList tensors) {
  std::vector<NodeRef> nodes;
  for (const Tensor& tensor : tensors) {
    NodeRef value = impl(tensor).storage().value();
    nodes.push_back(runtime::buffer_of(*value) ? std::move(value) : node_of(tensor));  // a view is in memory, too
  }
  return nodes;
}

// Makes a text, with the errors of the public API.
template <typename F>
std::string report_of(F f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(e.what());
  }
}

}  // namespace

std::string dump(TensorList tensors, Stage stage, std::string_view kernel) {
  static_assert(static_cast<int>(Stage::PTX) == static_cast<int>(runtime::Stage::PTX));
  return report_of([&] { return runtime::dump(nodes_of(tensors), static_cast<runtime::Stage>(stage), kernel); });
}
std::string explain(TensorList tensors) {
  return report_of([&] { return runtime::explain(nodes_of(tensors)); });
}
std::string draw_dot(TensorList tensors) {
  return report_of([&] { return runtime::draw_dot(nodes_of(tensors)); });
}
std::string draw_svg(TensorList tensors) {
  return report_of([&] { return runtime::draw_svg(nodes_of(tensors)); });
}

const char* version() { return TENON_VERSION; }

std::string info() {
  const Config c = get_config();
  auto on = [](bool value) { return value ? "on" : "off"; };
  const runtime::DeviceInfo host = runtime::host_device().info();
  std::string backend = host.compiler.empty() ? "bytecode (this build has no LLVM)"
                        : c.interpreter       ? "interpreter (LLVM " + host.compiler_version + " is there)"
                                              : host.compiler + " " + host.compiler_version + " for " + host.name;
  return text("tenon ", version(), "\nbackend: ", backend, "\nthreads: ", get_num_threads(),
              c.threads == 0 ? " (one for each usable CPU)" : "",
              "\nvector bits: ", c.vector_bits == 0 ? std::to_string(host.vector_bits) + " (the host's)" : std::to_string(c.vector_bits),
              "\nfusion: ", on(c.fusion), ", simplify: ", on(c.simplify), ", plan cache: ", on(c.plan_cache), ", replay: ", on(c.replay),
              ", donation: ", on(c.donation), ", disk cache: ", on(c.disk_cache), c.cache_dir.empty() ? "" : " in " + c.cache_dir,
              "\nmemory: ", memory_stats(), "\n", counters(), "\n", runtime::cuda::report());
}

std::vector<KernelRecord> kernel_history() {
  std::vector<KernelRecord> result;
  for (const runtime::KernelRecord& r : runtime::kernel_history()) {
    result.push_back({r.name, r.schedule, r.hash, r.ops, r.bytes, r.flops, r.compile_ms, r.run_us,
                      static_cast<KernelRecord::Cache>(r.cache), r.plan, r.shapes});
  }
  return result;
}
void clear_kernel_history() { runtime::clear_kernel_history(); }

std::string profile_summary() { return runtime::profile_summary(); }

void profile_start(const std::string& file) {
  check<ValueError>(!file.empty(), "profile_start: the name of the file is empty");
  const bool started = runtime::Profiler::global().start(file);
  check(started, file, ": cannot write the profile: ", error_text(errno));
  runtime::Options o = runtime::options();
  o.profile = file;
  runtime::set_options(o);
}

void profile_stop() {
  runtime::Options o = runtime::options();
  const std::string file = std::exchange(o.profile, {});
  runtime::set_options(o);
  const bool written = runtime::Profiler::global().stop();
  check(written, file, ": cannot write the profile: ", error_text(errno));
}

Scope::Scope(std::string name) : name_(std::move(name)), begin_(runtime::Profiler::global().enabled() ? runtime::ticks() : 0) {}
Scope::~Scope() {
  if (begin_ == 0 || !runtime::Profiler::global().enabled()) return;
  runtime::Profiler::global().add("scope", std::move(name_), begin_, runtime::ticks());
}

std::ostream& operator<<(std::ostream& out, const Counters& n) {
  return out << text("plans: ", n.plans_built, " built, ", n.plan_hits, " reused\nkernels: ", n.kernels_compiled, " compiled, ",
                     n.memory_hits, " found in memory, ", n.disk_hits, " on disk, ", n.launches, " launches");
}
Counters counters() {
  const runtime::Counters c = runtime::counters();
  return {c.plans_built, c.plan_hits, c.kernels_compiled, c.memory_hits, c.disk_hits, c.launches, c.kernels_promoted};
}
void reset_counters() { runtime::reset_counters(); }
void clear_caches() { runtime::clear_caches(); }

std::ostream& operator<<(std::ostream& out, const MemoryStats& m) {
  return out << text(m.allocated, " bytes allocated, ", m.peak_allocated, " at most, ", m.reserved, " reserved");
}
MemoryStats memory_stats() {
  const runtime::MemoryStats m = runtime::memory_stats();
  return {m.allocated, m.peak_allocated, m.reserved, m.allocations};
}

Config get_config() {
  const runtime::Options o = runtime::options();
  return {o.fusion,
          o.simplify,
          o.plan_cache,
          o.donation,
          o.disk_cache,
          o.backend == runtime::Options::Backend::Interpreter,
          o.threads,
          o.vector_bits,
          o.memory_limit_mb,
          o.max_pending_nodes,
          o.max_pending_bytes,
          o.cache_dir,
          o.profile,
          o.first_tier != 0,
          o.replay};
}

void set_config(const Config& c) {
  constexpr int kMostThreads = 1024;                    // as for TENON_THREADS
  constexpr int64_t kMostMegabytes = int64_t{1} << 40;  // as for TENON_MEMORY_LIMIT_MB
  check<ValueError>(c.threads >= 0, "threads must not be negative, got ", c.threads);
  check<ValueError>(c.threads <= kMostThreads, "threads must be at most ", kMostThreads, ", got ", c.threads);
  check<ValueError>(c.memory_limit_mb >= 0 && c.memory_limit_mb <= kMostMegabytes, "memory_limit_mb must be from 0 to ", kMostMegabytes,
                    ", got ", c.memory_limit_mb);
  check<ValueError>(c.vector_bits == 0 || c.vector_bits == 128 || c.vector_bits == 256 || c.vector_bits == 512,
                    "vector_bits must be 0, 128, 256 or 512, got ", c.vector_bits);
  check<ValueError>(c.max_pending_nodes > 0 && c.max_pending_bytes > 0, "the caps on pending work must be positive");
  runtime::Options o = runtime::options();
  o.fusion = c.fusion;
  o.simplify = c.simplify;
  o.plan_cache = c.plan_cache;
  o.donation = c.donation;
  o.disk_cache = c.disk_cache;
  o.backend = c.interpreter ? runtime::Options::Backend::Interpreter : runtime::Options::Backend::Llvm;
  o.threads = c.threads;
  o.vector_bits = c.vector_bits;
  o.memory_limit_mb = c.memory_limit_mb;
  o.max_pending_nodes = c.max_pending_nodes;
  o.max_pending_bytes = c.max_pending_bytes;
  o.cache_dir = c.cache_dir;
  o.replay = c.replay;
  if (c.first_tier != (o.first_tier != 0)) o.first_tier = c.first_tier ? 1 : 0;
  runtime::set_options(o);
  if (c.profile != o.profile) c.profile.empty() ? profile_stop() : profile_start(c.profile);
  set_pending_caps(c.max_pending_nodes, c.max_pending_bytes);
}

int get_num_threads() {
  const int threads = runtime::options().threads;
  return threads > 0 ? threads : runtime::host_device().workers();
}
void set_num_threads(int threads) {
  check(threads > 0, "set_num_threads expects a positive integer");
  Config c = get_config();
  c.threads = threads;
  set_config(c);
}

namespace {
std::atomic<int> interop_threads{0};
}
int get_num_interop_threads() { return interop_threads > 0 ? interop_threads.load() : runtime::host_device().workers(); }
void set_num_interop_threads(int threads) {
  check(threads > 0, "Expected positive number of threads");
  interop_threads = threads;
}

}  // namespace tenon
