// Mutexes: one holder at a time, whether the others try again or sleep.
#include "ir/base/mutex.h"

#include <doctest/doctest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

using namespace tenon;

namespace {

template <typename Mutex, typename Body>
void from_threads(Mutex& mutex, int rounds, Body body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        const std::lock_guard lock(mutex);
        body();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("mutex: threads that hold it one after another count right") {
  ir::Mutex mutex;
  int64_t count = 0;
  from_threads(mutex, 20000, [&] { ++count; });
  CHECK(count == 80000);
  CHECK(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("mutex: threads that sleep meanwhile are woken") {
  ir::Mutex mutex;
  bool inside = false;
  int overlaps = 0, count = 0;
  from_threads(mutex, 5, [&] {
    overlaps += std::exchange(inside, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    inside = false;
    ++count;
  });
  CHECK(overlaps == 0);
  CHECK(count == 20);
}

TEST_CASE("mutex: a holder may lock a recursive one again") {
  ir::RecursiveMutex mutex;
  int64_t count = 0;
  from_threads(mutex, 5000, [&] {
    const std::lock_guard again(mutex);
    const std::lock_guard third(mutex);
    ++count;
  });
  CHECK(count == 20000);
  const std::unique_lock lock(mutex);
}
