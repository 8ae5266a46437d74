// The process's worker threads. One job at a time: the caller works too, takes worker number 0, and returns
// when every index is done. Small, nested and concurrent jobs, and those of background threads (runtime/base/background.h), run
// inline on their caller, so any thread may call at any time.
//
//   gate   bit 31: a job is open; bits 0..15: workers that are inside it
//   A worker that wakes late finds the gate shut and goes back to sleep, so nobody waits for sleepers.
//
// After a job the workers spin for kSpin before they sleep: back-to-back launches cost 0.3 us, a wake-up
// costs 5. A worker that last ran on the processor that the caller runs on now is sent to another before it is woken:
// where few processors share a cache, Linux would leave it waiting behind its caller for milliseconds. A forked child
// gets a fresh pool; a fork waits for evaluations (ir/base/fork.h), so that the pool is at rest.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace tenon::runtime {

class ThreadPool {
 public:
  static constexpr std::chrono::microseconds kSpin{40};

  explicit ThreadPool(int threads);  // counting the caller; the workers start with the first job that needs them
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  static ThreadPool& global();  // threads as the options say
  static int usable_cpus();     // that this process may run on, no more than its control group pays for

  int threads() const { return threads_.load(std::memory_order_relaxed); }
  void resize(int threads);  // waits for a running job; a no-op inside a job

  // Calls body(begin, end, worker) on disjoint chunks of about `grain` indices that cover [0, count). The
  // first exception of a body stops the hand-out of chunks and is rethrown here.
  template <typename Body>
  void parallel_for(int64_t count, int64_t grain, Body&& body) {
    if (count <= 0) return;
    if (count <= grain || threads() == 1) {
      body(int64_t{0}, count, 0);
      return;
    }
    using B = std::remove_reference_t<Body>;
    run(
        count, grain < 1 ? 1 : grain,
        [](const void* context, int64_t begin, int64_t end, int worker) {
          (*static_cast<B*>(const_cast<void*>(context)))(begin, end, worker);
        },
        &body);
  }

 private:
  using Call = void (*)(const void* context, int64_t begin, int64_t end, int worker);
  struct Job {
    Call call = nullptr;
    const void* context = nullptr;
    int64_t count = 0, grain = 1;
  };
  struct Worker {
    std::thread thread;
    std::atomic<int> cpu{-1};          // where it went to sleep
    std::atomic<bool> steered{false};  // off the caller's processor, from `allowed`, which it takes again itself
    cpu_set_t allowed;
  };

  void run(int64_t count, int64_t grain, Call call, const void* context);
  void work(int worker) noexcept;  // chunks of the current job until none is left
  void worker_main(Worker& self, int number);
  void steer_sleepers();  // off the calling thread's processor
  bool enter();
  void leave();
  void wait_for_workers();
  uint32_t wait_for_news(Worker& self, uint32_t seen);  // spin, then sleep, until epoch_ differs from `seen`
  void start();
  void stop();

  std::atomic<int> threads_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> busy_{false};  // a caller owns the pool
  std::atomic<bool> stopping_{false};

  Job job_;  // written while the gate is shut and empty
  std::exception_ptr error_;
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<uint32_t> gate_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace tenon::runtime
