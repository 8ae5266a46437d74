// What evaluate.h and the reports share: the lock under which graphs are walked, and the salt of their keys.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ir/base/mutex.h"
#include "ir/graph/graph.h"
#include "runtime/base/options.h"

namespace tenon::runtime {

// The lock under which graphs are walked and nodes lose and get their values, and the evaluations that compute meanwhile
// without it. It lets a waiting fork go first: threads that evaluate in a loop would keep it out.
class EvaluationMutex {
 public:
  void lock() {
    for (int n = forks_.load(); n != 0; n = forks_.load()) forks_.wait(n);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

  // All of these with the lock held.
  void begin() { ++running_; }  // an evaluation computes from here on
  void end() {                  // it has stored what it computed
    --running_;
    if (waiting_ > 0) ended_.notify_all();
  }
  void wait_for_end() {  // of some evaluation; the lock is open meanwhile
    std::unique_lock lock(mutex_, std::adopt_lock);
    ++waiting_;
    ended_.wait(lock);
    --waiting_;
    lock.release();
  }
  void wait_for_all() {  // until none computes
    while (running_ > 0) wait_for_end();
  }

  void lock_to_end() { mutex_.lock(); }  // for an evaluation that computes: a fork waits for it

  void lock_for_fork() {
    ++forks_;
    mutex_.lock();
    wait_for_all();
  }
  void unlock_after_fork() {
    mutex_.unlock();
    if (--forks_ == 0) forks_.notify_all();
  }

 private:
  ir::Mutex mutex_;
  std::condition_variable_any ended_;
  int running_ = 0, waiting_ = 0;
  std::atomic<int> forks_{0};  // waiting, or going on
};
EvaluationMutex& evaluation_mutex();

// After a LateFailure: values that were not computed are pending again (late_work.h). For callers that hold no lock and compute nothing.
void recover();

// The plan of a graph over inputs without data, of which `constants` are the same in many runs; the others and the results may lie `anywhere`. It writes
// to no input. Called while an evaluation computes, without the lock. `key`: the graph's, with the numbers of its nodes.
std::shared_ptr<struct Plan> plan_of_step(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> constants, bool anywhere,
                                          struct GraphKey& key);

// The works of recurrent layers (recurrence.h) by their keys, as long as plans are kept; null if there is none. Without the lock.
std::shared_ptr<const struct RecurrentWork> known_work(const std::vector<int64_t>& key);
void keep_work(const std::vector<int64_t>& key, std::shared_ptr<const RecurrentWork> work);

// The options that change what a plan does, as the first word of its key.
uint64_t key_salt(const Options& options);

// The graphs of the last plans. Under the lock.
const class PastPlans& past_plans();

// Prints the stages that TENON_DUMP asks for, but for the log of the steps, which building the plan writes. Called for each new plan, under the lock.
void dump_new_plan(int plan, const struct GraphKey& key, const Options& options);

}  // namespace tenon::runtime
