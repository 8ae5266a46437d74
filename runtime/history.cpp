// The ring of launches and the counters behind evaluate.h.
#include "runtime/history.h"

#include <atomic>
#include <mutex>

#include "ir/fork.h"

namespace tenon::runtime {
namespace {

struct Launch {
  KernelFacts facts;
  double run_us, compile_ms;
  CacheState cache;
  int64_t copied;
};

struct Ring {
  std::mutex mutex;
  std::vector<Launch> launches;  // a ring once it is full
  size_t next = 0;               // where the next one goes, once full
};

Ring& ring() {
  static auto* r = new Ring;
  return *r;
}
[[maybe_unused]] const bool held_over_fork = ir::hold_over_fork(
    ir::ForkOrder::History, ir::fork_lock<[]() -> std::mutex& { return ring().mutex; }>());

std::atomic<int64_t> counts[6];

int64_t value(Count what) { return counts[static_cast<size_t>(what)].load(std::memory_order_relaxed); }

}  // namespace

void record_launch(const KernelFacts& facts, double run_us, CacheState cache, double compile_ms,
                   int64_t copied) {
  count(Count::Launches);
  Ring& r = ring();
  std::lock_guard lock(r.mutex);
  Launch launch{facts, run_us, compile_ms, cache, copied};
  if (r.launches.size() < kHistoryLimit) {
    r.launches.push_back(std::move(launch));
  } else {
    r.launches[r.next] = std::move(launch);
    r.next = (r.next + 1) % kHistoryLimit;
  }
}

const std::vector<KernelRecord> kernel_history() {
  Ring& r = ring();
  std::lock_guard lock(r.mutex);
  std::vector<KernelRecord> records;
  records.reserve(r.launches.size());
  for (size_t i = 0; i < r.launches.size(); ++i) {
    const Launch& launch = r.launches[(r.next + i) % r.launches.size()];
    KernelRecord record = *launch.facts;
    record.run_us = launch.run_us;
    record.compile_ms = launch.compile_ms;
    record.cache = launch.cache;
    record.bytes += launch.copied;
    records.push_back(std::move(record));
  }
  return records;
}

void clear_kernel_history() {
  Ring& r = ring();
  std::lock_guard lock(r.mutex);
  r.launches.clear();
  r.next = 0;
}

void count(Count what, int64_t by) {
  counts[static_cast<size_t>(what)].fetch_add(by, std::memory_order_relaxed);
}

Counters counters() {
  Counters c;
  c.plans_built = value(Count::PlansBuilt);
  c.plan_hits = value(Count::PlanHits);
  c.kernels_compiled = value(Count::Compiled);
  c.memory_hits = value(Count::MemoryHits);
  c.disk_hits = value(Count::DiskHits);
  c.launches = value(Count::Launches);
  return c;
}

void reset_counters() {
  for (std::atomic<int64_t>& c : counts) c.store(0, std::memory_order_relaxed);
}

}  // namespace tenon::runtime
