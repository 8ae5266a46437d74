// The ring of launches and the counters of launches and cache hits.
#include "runtime/history/history.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "ir/base/text.h"
#include "runtime/base/evaluation_mutex.h"

namespace tenon::runtime {
namespace {

struct PastLaunch {
  KernelFacts facts;
  Ticks run_time = 0;
  double compile_ms = 0;
  CacheState cache{};
  int64_t copied = 0;
};

// The last launches, where number n of them lies at n % kHistoryLimit. The evaluation lock guards it; recording allocates nothing.
struct Ring {
  std::array<PastLaunch, kHistoryLimit> launches;
  size_t count = 0;  // since it was cleared

  PastLaunch& operator[](size_t number) { return launches[number % kHistoryLimit]; }
  size_t first() const { return count > kHistoryLimit ? count - kHistoryLimit : 0; }
};
constinit Ring ring;

std::atomic<int64_t> counts[7];

int64_t value(Count what) { return counts[static_cast<size_t>(what)].load(std::memory_order_relaxed); }

}  // namespace

void record_launches(std::span<const LaunchRecord> launches) {
  count_under_lock(Count::Launches, static_cast<int64_t>(launches.size()));
  for (const LaunchRecord& l : launches) {
    PastLaunch& past = ring[ring.count++];
    if (past.facts != *l.facts) past.facts = *l.facts;
    past.run_time = l.run_time;
    past.compile_ms = l.compile_ms;
    past.cache = l.cache;
    past.copied = l.copied;
  }
}

const std::vector<KernelRecord> kernel_history() {
  const std::lock_guard lock(evaluation_mutex());
  std::vector<KernelRecord> records;
  records.reserve(ring.count - ring.first());
  const double us_per_tick = microseconds_per_tick();
  for (size_t n = ring.first(); n < ring.count; ++n) {
    const PastLaunch& launch = ring[n];
    KernelRecord record = *launch.facts;
    record.run_us = static_cast<double>(launch.run_time) * us_per_tick;
    record.compile_ms = launch.compile_ms;
    record.cache = launch.cache;
    record.bytes += launch.copied;
    records.push_back(std::move(record));
  }
  return records;
}

std::string profile_summary() {
  struct Row {
    const KernelRecord* facts;
    int64_t launches = 0, bytes = 0;
    double us = 0, compile_ms = 0;
  };
  const std::vector<KernelRecord> records = kernel_history();
  std::map<std::pair<std::string_view, std::string_view>, Row> by_kernel;  // kernels of one name may differ
  Row all{nullptr};
  for (const KernelRecord& r : records) {
    Row& row = by_kernel.try_emplace({r.name, r.shapes}, Row{&r}).first->second;
    for (Row* sum : {&row, &all}) {
      ++sum->launches;
      sum->bytes += r.bytes;
      sum->us += r.run_us;
      sum->compile_ms += r.compile_ms;
    }
  }
  std::vector<Row> rows;
  for (const auto& [key, row] : by_kernel) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.us > b.us; });
  constexpr size_t kShown = 25;
  std::string text = " share   total ms    launches     mean us  bytes each     GB/s  plan  kernel\n";
  const auto numbers = [&](const Row& row) {
    const auto launches = static_cast<double>(std::max<int64_t>(row.launches, 1));
    const auto bytes = static_cast<double>(row.bytes);
    const auto column = [](double value, int decimals, size_t width) { return ir::right_aligned(ir::fixed_text(value, decimals), width); };
    return column(all.us > 0 ? 100 * row.us / all.us : 0.0, 1, 5) + "%" + column(row.us * 1e-3, 3, 11) +
           ir::right_aligned(std::to_string(row.launches), 12) + column(row.us / launches, 2, 12) + column(bytes / launches, 0, 12) +
           column(row.us > 0 ? bytes / row.us * 1e-3 : 0.0, 2, 9);
  };
  for (size_t i = 0; i < rows.size() && i < kShown; ++i) {
    text += numbers(rows[i]) + ir::right_aligned(std::to_string(rows[i].facts->plan), 6) + "  " + rows[i].facts->name + "  " +
            rows[i].facts->shapes + "\n";
  }
  if (rows.size() > kShown) text += "... and " + std::to_string(rows.size() - kShown) + " kernels more\n";
  return text + numbers(all) + "        all; " + ir::fixed_text(all.compile_ms, 3) + " ms of compiling beside them\n";
}

void clear_kernel_history() {
  const std::lock_guard lock(evaluation_mutex());
  for (size_t n = ring.first(); n < ring.count; ++n) ring[n].facts.reset();
  ring.count = 0;
}

void count(Count what, int64_t by) { counts[static_cast<size_t>(what)].fetch_add(by, std::memory_order_relaxed); }
void count_under_lock(Count what, int64_t by) { counts[static_cast<size_t>(what)].store(value(what) + by, std::memory_order_relaxed); }

Counters counters() {
  Counters c;
  c.plans_built = value(Count::PlansBuilt);
  c.plan_hits = value(Count::PlanHits);
  c.kernels_compiled = value(Count::Compiled);
  c.memory_hits = value(Count::MemoryHits);
  c.disk_hits = value(Count::DiskHits);
  c.launches = value(Count::Launches);
  c.kernels_promoted = value(Count::Promoted);
  return c;
}

void reset_counters() {
  const std::lock_guard lock(evaluation_mutex());
  for (std::atomic<int64_t>& c : counts) c.store(0, std::memory_order_relaxed);
}

}  // namespace tenon::runtime
