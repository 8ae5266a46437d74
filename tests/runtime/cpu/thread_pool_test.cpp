// The thread pool: every index once, errors, nesting, concurrent callers, resizing, sleeping and waking,
// fork.
#include "runtime/cpu/thread_pool.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

using namespace tenon::runtime;

namespace {

void check_covered(ThreadPool& pool, int64_t count, int64_t grain) {
  std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
  pool.parallel_for(count, grain, [&](int64_t begin, int64_t end, int worker) {
    REQUIRE(begin < end);
    REQUIRE(worker >= 0);
    REQUIRE(worker < pool.threads());
    for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
  });
  for (auto& h : hits) REQUIRE(h == 1);
}

}  // namespace

TEST_CASE("thread pool: every index exactly once, for many sizes and thread counts") {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 2, 7, 64, 1000, 4097}) {
      for (int64_t grain : {0, 1, 3, 100, 5000}) {
        CAPTURE(threads);
        CAPTURE(count);
        CAPTURE(grain);
        check_covered(pool, count, grain);
      }
    }
  }
}

TEST_CASE("thread pool: work within the grain runs on the caller in one piece") {
  ThreadPool pool(4);
  std::thread::id caller = std::this_thread::get_id();
  int calls = 0;
  pool.parallel_for(100, 100, [&](int64_t begin, int64_t end, int worker) {
    ++calls;
    CHECK(begin == 0);
    CHECK(end == 100);
    CHECK(worker == 0);
    CHECK(std::this_thread::get_id() == caller);
  });
  CHECK(calls == 1);
}

TEST_CASE("thread pool: another thread takes part") {
  ThreadPool pool(2);
  std::atomic<bool> other{false};
  // The caller stays in its chunk until the worker has begun one.
  pool.parallel_for(2, 1, [&](int64_t, int64_t, int worker) {
    if (worker != 0) other = true;
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!other && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  });
  CHECK(other);
}

TEST_CASE("thread pool: an error of any worker reaches the caller, and the pool goes on") {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    int64_t bad = round * 19 % 1000;
    try {
      pool.parallel_for(1000, 1, [&](int64_t begin, int64_t, int) {
        if (begin == bad) throw std::runtime_error("index " + std::to_string(begin));
      });
      FAIL("no error");
    } catch (const std::runtime_error& e) {
      CHECK(e.what() == "index " + std::to_string(bad));
    }
    check_covered(pool, 100, 1);
  }
}

TEST_CASE("thread pool: nested calls run inline") {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  pool.parallel_for(20, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      std::thread::id self = std::this_thread::get_id();
      pool.parallel_for(10, 1, [&](int64_t b, int64_t e, int) {
        REQUIRE(std::this_thread::get_id() == self);
        sum += e - b;
      });
    }
  });
  CHECK(sum == 200);
}

TEST_CASE("thread pool: concurrent callers all finish") {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        pool.parallel_for(50, 3, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
      }
    });
  }
  for (std::thread& t : callers) t.join();
  CHECK(sum == 4 * 300 * 50);
}

TEST_CASE("thread pool: sleeping workers wake, and late ones do no harm") {
  ThreadPool pool(3);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(i % 2 == 0 ? ThreadPool::kSpin * 3 : ThreadPool::kSpin / 2);
    check_covered(pool, 64, 1);
  }
  for (int i = 0; i < 5000; ++i) {  // back to back: jobs end before all workers have seen them
    std::atomic<int> done{0};
    pool.parallel_for(2, 1, [&](int64_t, int64_t, int) { ++done; });
    REQUIRE(done == 2);
  }
}

TEST_CASE("thread pool: a worker asleep on its caller's processor is woken on another, and may run on all again") {
  cpu_set_t all;
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  if (CPU_COUNT(&all) < 2) return;
  ThreadPool pool(2);
  int worker_cpu = -1, beside_caller = 0, confined = 0;
  cpu_set_t workers;
  // Each takes one index: the caller waits until the worker has come.
  const auto meet = [&] {
    std::atomic<int> inside{0};
    pool.parallel_for(2, 1, [&](int64_t, int64_t, int worker) {
      if (worker != 0) {
        worker_cpu = sched_getcpu();
        sched_getaffinity(0, sizeof workers, &workers);
      }
      for (++inside; inside < 2;) std::this_thread::yield();
    });
  };
  for (int round = 0; round < 20; ++round) {
    meet();
    std::this_thread::sleep_for(50 * ThreadPool::kSpin);
    const int callers = worker_cpu;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(callers), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    meet();
    beside_caller += worker_cpu == callers;
    confined += !CPU_EQUAL(&workers, &all);
    REQUIRE(sched_setaffinity(0, sizeof all, &all) == 0);
  }
  CHECK(beside_caller <= 5);  // other programs may push it about
  CHECK(confined <= 5);       // one that wakes while it is sent away is confined for that job
  meet();
  CHECK(CPU_EQUAL(&workers, &all));
}

TEST_CASE("thread pool: the number of threads changes at run time") {
  ThreadPool pool(1);
  for (int threads : {4, 2, 1, 3, 1}) {
    pool.resize(threads);
    CHECK(pool.threads() == threads);
    check_covered(pool, 500, 2);
  }
  pool.resize(0);
  CHECK(pool.threads() == 1);
}

TEST_CASE("thread pool: resizing while another thread works") {
  ThreadPool pool(2);
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    while (!stop) {
      std::atomic<int64_t> sum{0};
      pool.parallel_for(40, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
      REQUIRE(sum == 40);
    }
  });
  for (int i = 0; i < 30; ++i) pool.resize(1 + i % 3);
  stop = true;
  caller.join();
}

#if !defined(__SANITIZE_THREAD__)  // tsan does not follow a fork of a threaded program
TEST_CASE("thread pool: a forked child has a pool that works") {
  ThreadPool::global().parallel_for(8, 1, [](int64_t, int64_t, int) {});
  pid_t child = fork();
  if (child == 0) {
    std::atomic<int64_t> sum{0};
    ThreadPool::global().parallel_for(1000, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
    _exit(sum == 1000 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
#endif
