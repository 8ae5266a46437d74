// The thread pool: hand-out of chunks, the gate, spinning and sleeping.
#include "runtime/cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "runtime/base/background.h"
#include "runtime/base/options.h"
#include "runtime/cpu/cpu_quota.h"
#include "runtime/history/profiler.h"

namespace tenon::runtime {
namespace {

constexpr uint32_t kOpen = uint32_t{1} << 31;
constexpr uint32_t kInside = 0xffff;

thread_local bool inside_job = false;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `done()` or the time is over; true if done.
template <typename Done>
bool spin(Done&& done) {
  auto until = std::chrono::steady_clock::now() + ThreadPool::kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < until);
  return done();
}

int wanted_threads() {
  int n = options().threads;
  return n > 0 ? n : ThreadPool::usable_cpus();
}

std::atomic<ThreadPool*> the_pool{nullptr};
std::atomic<ThreadPool*> forgotten_pool{nullptr};  // the parent's, in a forked child: it keeps its memory

}  // namespace

int ThreadPool::usable_cpus() {
  static const double quota = cpu_quota();
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  const int cpus = known ? CPU_COUNT(&set) : static_cast<int>(std::thread::hardware_concurrency());
  return threads_of_quota(quota, std::max(1, cpus));
}

ThreadPool& ThreadPool::global() {
  ThreadPool* pool = the_pool.load(std::memory_order_acquire);
  if (pool) return *pool;
  // Threads do not survive fork: the child forgets the parent's pool and makes its own.
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    if (ThreadPool* pool = the_pool.exchange(nullptr)) forgotten_pool = pool;
  });
  static_cast<void>(registered);
  auto* fresh = new ThreadPool(wanted_threads());  // never destroyed: kernels may run in static destructors
  if (the_pool.compare_exchange_strong(pool, fresh)) return *fresh;
  delete fresh;
  return *pool;
}

ThreadPool::ThreadPool(int threads) : threads_(std::clamp(threads, 1, 1024)) {}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::resize(int threads) {
  threads = std::clamp(threads, 1, 1024);
  if (inside_job || threads == this->threads()) return;
  while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  stop();
  threads_ = threads;
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::start() {
  stopping_ = false;
  // A machine out of threads is a slow machine, not an error: the pool works with those that it got.
  try {
    for (int i = 1; i < threads(); ++i) {
      Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
      worker.thread = std::thread([this, &worker, i] { worker_main(worker, i); });
    }
  } catch (const std::system_error&) {
    workers_.pop_back();
    threads_ = static_cast<int>(workers_.size()) + 1;
  }
}

void ThreadPool::stop() {
  stopping_ = true;
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (const auto& worker : workers_) worker->thread.join();
  workers_.clear();
}

void ThreadPool::run(int64_t count, int64_t grain, Call call, const void* context) {
  if (inside_job || in_background || busy_.exchange(true, std::memory_order_acquire)) {
    call(context, 0, count, 0);
    return;
  }
  if (workers_.empty()) start();
  job_ = {call, context, count, grain};
  next_.store(0, std::memory_order_relaxed);
  gate_.store(kOpen, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_seq_cst);  // before the look at sleepers_: see wait_for_news
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    steer_sleepers();
    epoch_.notify_all();
  }

  work(0);
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  wait_for_workers();

  std::exception_ptr error = std::exchange(error_, nullptr);
  failed_.store(false, std::memory_order_relaxed);
  busy_.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

void ThreadPool::work(int worker) noexcept {
  inside_job = true;
  while (true) {
    int64_t begin = next_.fetch_add(job_.grain, std::memory_order_relaxed);
    if (begin >= job_.count) break;
    try {
      job_.call(job_.context, begin, std::min(job_.count, begin + job_.grain), worker);
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
      next_.store(job_.count, std::memory_order_relaxed);
    }
  }
  inside_job = false;
}

bool ThreadPool::enter() {
  uint32_t gate = gate_.load(std::memory_order_relaxed);
  while (gate & kOpen) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void ThreadPool::leave() {
  uint32_t before = gate_.fetch_sub(1, std::memory_order_seq_cst);
  if ((before & kInside) == 1 && caller_sleeps_.load(std::memory_order_seq_cst)) gate_.notify_all();
}

void ThreadPool::wait_for_workers() {
  auto empty = [this] { return (gate_.load(std::memory_order_acquire) & kInside) == 0; };
  if (spin(empty)) return;
  caller_sleeps_.store(true, std::memory_order_seq_cst);
  for (uint32_t gate = gate_.load(); (gate & kInside) != 0; gate = gate_.load()) gate_.wait(gate);
  caller_sleeps_.store(false, std::memory_order_relaxed);
}

void ThreadPool::steer_sleepers() {
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE) return;
  for (const auto& worker : workers_) {
    if (worker->cpu.load(std::memory_order_relaxed) != here || worker->steered.load(std::memory_order_acquire)) continue;
    const pthread_t thread = worker->thread.native_handle();
    if (pthread_getaffinity_np(thread, sizeof worker->allowed, &worker->allowed) != 0) continue;
    cpu_set_t elsewhere = worker->allowed;
    CPU_CLR(static_cast<size_t>(here), &elsewhere);
    if (CPU_COUNT(&elsewhere) == 0 || pthread_setaffinity_np(thread, sizeof elsewhere, &elsewhere) != 0) continue;
    worker->steered.store(true, std::memory_order_release);
  }
}

uint32_t ThreadPool::wait_for_news(Worker& self, uint32_t seen) {
  auto news = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
  if (!spin(news)) {
    // Either run() sees this sleeper and wakes it, or the sleeper sees the new epoch: both sides are seq_cst.
    self.cpu.store(sched_getcpu(), std::memory_order_relaxed);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    epoch_.wait(seen, std::memory_order_seq_cst);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    self.cpu.store(-1, std::memory_order_relaxed);
  }
  if (self.steered.load(std::memory_order_acquire)) {
    pthread_setaffinity_np(pthread_self(), sizeof self.allowed, &self.allowed);
    self.steered.store(false, std::memory_order_release);
  }
  return epoch_.load(std::memory_order_acquire);
}

void ThreadPool::worker_main(Worker& self, int number) {
  name_this_thread("tenon worker " + std::to_string(number));
  // Begins with an epoch that is already over, so that a job opened before this thread ran is not missed.
  uint32_t seen = epoch_.load(std::memory_order_acquire) - 1;
  while (!stopping_.load(std::memory_order_acquire)) {
    seen = wait_for_news(self, seen);
    if (enter()) {
      work(number);
      leave();
    }
  }
}

}  // namespace tenon::runtime
