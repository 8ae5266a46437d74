// The parts of a loader of one's own (tenon/data/queue.h): nothing is lost between threads, and results come
// back in order.
#include "tenon/data/queue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

namespace loading = tenon::data::detail;
using std::chrono::milliseconds;

namespace {

struct Result {
  size_t sequence_number;
};

}  // namespace

TEST_CASE("data::detail: a queue gives in order, once to one thread, and says when it has waited too long") {
  loading::Queue<int> queue;
  for (int i = 0; i < 3; ++i) queue.push(i);
  CHECK(queue.pop() == 0);
  CHECK(queue.pop(milliseconds(1)) == 1);
  CHECK(queue.clear() == 1);
  CHECK(queue.clear() == 0);
  CHECK_THROWS_WITH_AS(queue.pop(milliseconds(5)),
                       doctest::Contains("Timeout in DataLoader queue while waiting for next batch (timeout was 5 ms)"), tenon::Error);
  constexpr int kThreads = 3, kEach = 400;
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) queue.push(t * kEach + i);
    });
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) sum += queue.pop();
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr int64_t kAll = int64_t{kThreads} * kEach;
  CHECK(sum == kAll * (kAll - 1) / 2);
  CHECK(queue.clear() == 0);
}

TEST_CASE("data::detail: a shuttle knows what is under way, and drains") {
  loading::DataShuttle<int, int> shuttle;
  CHECK(!shuttle.pop_result());
  shuttle.push_job(1);
  CHECK(shuttle.in_flight_jobs() == 1);
  CHECK_THROWS_AS(shuttle.pop_result(milliseconds(5)), tenon::Error);
  CHECK(shuttle.in_flight_jobs() == 1);
  shuttle.push_result(shuttle.pop_job() * 10);
  CHECK(shuttle.pop_result() == tenon::optional<int>(10));
  CHECK(shuttle.in_flight_jobs() == 0);

  std::vector<std::thread> workers;
  for (int w = 0; w < 2; ++w) {
    workers.emplace_back([&] {
      for (int job = shuttle.pop_job(); job >= 0; job = shuttle.pop_job()) shuttle.push_result(2 * job);
    });
  }
  std::vector<int> results;
  for (int i = 0; i < 100; ++i) shuttle.push_job(i);
  for (int i = 0; i < 60; ++i) results.push_back(*shuttle.pop_result(milliseconds(60000)));
  std::ranges::sort(results);
  CHECK(std::ranges::adjacent_find(results) == results.end());
  shuttle.drain();  // the others, begun or not
  CHECK(shuttle.in_flight_jobs() == 0);
  CHECK(!shuttle.pop_result());
  for (size_t w = 0; w < workers.size(); ++w) shuttle.push_job(-1);
  for (std::thread& worker : workers) worker.join();
}

TEST_CASE("data::detail: sequencers") {
  namespace sequencers = loading::sequencers;
  std::mt19937_64 random(3);
  for (int n = 0; n < 50; ++n) {
    CAPTURE(n);
    const size_t places = 1 + random() % 6, count = random() % 30;
    // Up to `places` results are under way, and any of them may come next.
    std::vector<size_t> came, under_way;
    size_t asked = 0, given = 0;
    const auto produce = [&]() -> tenon::optional<Result> {
      while (asked < count && asked < given + places) under_way.push_back(asked++);
      if (under_way.empty()) return tenon::nullopt;
      std::swap(under_way[random() % under_way.size()], under_way.back());
      const Result result{under_way.back()};
      under_way.pop_back();
      return result;
    };
    sequencers::OrderedSequencer<Result> sequencer(places);
    while (const tenon::optional<Result> result = sequencer.next(produce)) {
      came.push_back(result->sequence_number);
      ++given;
    }
    std::vector<size_t> wanted(count);
    std::iota(wanted.begin(), wanted.end(), size_t{0});
    CHECK(came == wanted);
  }
  std::vector<tenon::optional<Result>> buffer(2);
  CHECK(!sequencers::detail::buffer_contains_result(buffer));
  buffer[1] = Result{4};
  CHECK(sequencers::detail::buffer_contains_result(buffer));
  CHECK(sequencers::NoSequencer<Result>().next([] { return tenon::optional(Result{7}); })->sequence_number == 7);
  // A result that was never asked for, and one that does not come, are errors.
  sequencers::OrderedSequencer<Result> two(2);
  CHECK_THROWS_WITH_AS(two.next([] { return tenon::optional(Result{2}); }), doctest::Contains("cannot keep result 2"), tenon::Error);
  int calls = 0;
  CHECK_THROWS_WITH_AS(two.next([&]() -> tenon::optional<Result> { return ++calls == 1 ? tenon::optional(Result{1}) : tenon::nullopt; }),
                       doctest::Contains("waits for result 0, but the producer has ended"), tenon::Error);
  CHECK_THROWS_AS(sequencers::OrderedSequencer<Result>(0).next([] { return tenon::optional(Result{0}); }), tenon::ValueError);
}
