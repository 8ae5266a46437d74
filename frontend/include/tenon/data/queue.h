// The parts that a loader of one's own may be made of: a queue between threads, a pair of queues for jobs and
// results, and what puts results back into order. Tenon's own loaders (tenon/data/loader.h) do not use them.
// Included by tenon/compat.h.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "tenon/data/loader.h"
#include "tenon/function.h"

namespace tenon::data::detail {

// Any thread may push and pop; values come out in the order in which they went in.
template <typename T>
class Queue {
 public:
  void push(T value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push_back(std::move(value));
    }
    pushed_.notify_one();
  }
  // Waits for a value; Error after the timeout.
  T pop(optional<std::chrono::milliseconds> timeout = nullopt) {
    std::unique_lock lock(mutex_);
    const auto is_there = [this] { return !values_.empty(); };
    if (!timeout) {
      pushed_.wait(lock, is_there);
    } else if (!pushed_.wait_for(lock, *timeout, is_there)) {
      throw Error("Timeout in DataLoader queue while waiting for next batch (timeout was " + std::to_string(timeout->count()) + " ms)");
    }
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  // Drops what is in it, and says how many values that were.
  size_t clear() {
    const std::lock_guard lock(mutex_);
    const size_t count = values_.size();
    values_.clear();
    return count;
  }

 private:
  std::deque<T> values_;
  std::mutex mutex_;
  std::condition_variable pushed_;
};

// Jobs to the workers, results back. push_job, pop_result and drain are for the one thread that asks, the
// others for workers.
template <typename Job, typename Result>
class DataShuttle {
 public:
  void push_job(Job job) {
    jobs_.push(std::move(job));
    ++in_flight_;
  }
  Job pop_job() { return jobs_.pop(); }
  void push_result(Result result) { results_.push(std::move(result)); }
  // The next result, once it is there; none if no job is under way. Error after the timeout.
  optional<Result> pop_result(optional<std::chrono::milliseconds> timeout = nullopt) {
    if (in_flight_ == 0) return nullopt;
    Result result = results_.pop(timeout);
    --in_flight_;
    return result;
  }
  // Drops the jobs that no worker has taken, and waits for the results of the others, which are dropped too.
  void drain() {
    in_flight_ -= jobs_.clear();
    while (in_flight_ > 0) pop_result();
  }
  size_t in_flight_jobs() const noexcept { return in_flight_; }

 private:
  Queue<Job> jobs_;
  Queue<Result> results_;
  size_t in_flight_ = 0;
};

namespace sequencers {

namespace detail {
template <typename Result>
bool buffer_contains_result(const std::vector<optional<Result>>& buffer) {
  for (const optional<Result>& result : buffer) {
    if (result) return true;
  }
  return false;
}
}  // namespace detail

// Gives results of a producer, which ends with nullopt, in an order of its own.
template <typename Result>
struct Sequencer {
  using ResultProducer = tenon::Function<optional<Result>()>;
  virtual ~Sequencer() = default;
  virtual optional<Result> next(ResultProducer next_result) = 0;
};

// As they come.
template <typename Result>
struct NoSequencer final : Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  optional<Result> next(ResultProducer next_result) override { return next_result(); }
};

// In the order of their `sequence_number`, 0, 1, 2, ...: a result that comes early waits in one of `max_jobs`
// places.
template <typename Result>
struct OrderedSequencer : Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  explicit OrderedSequencer(size_t max_jobs) : buffer_(max_jobs) {}
  optional<Result> next(ResultProducer next_result) override {
    if (buffer_.empty()) throw ValueError("an OrderedSequencer needs a place for each job that is under way, and has none");
    optional<Result>& due = buffer_[next_sequence_number_ % buffer_.size()];
    while (!due) {
      optional<Result> result = next_result();
      if (!result) {
        if (detail::buffer_contains_result(buffer_))
          throw Error("an OrderedSequencer waits for result " + std::to_string(next_sequence_number_) + ", but the producer has ended");
        return nullopt;
      }
      optional<Result>& place = buffer_[result->sequence_number % buffer_.size()];
      if (result->sequence_number < next_sequence_number_ || result->sequence_number - next_sequence_number_ >= buffer_.size() || place)
        throw Error("an OrderedSequencer with " + std::to_string(buffer_.size()) + " places waits for result " +
                    std::to_string(next_sequence_number_) + " and cannot keep result " + std::to_string(result->sequence_number));
      place = std::move(result);
    }
    ++next_sequence_number_;
    return std::exchange(due, nullopt);
  }

 private:
  size_t next_sequence_number_ = 0;
  std::vector<optional<Result>> buffer_;
};

}  // namespace sequencers
}  // namespace tenon::data::detail
