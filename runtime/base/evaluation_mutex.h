// The lock of evaluations.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "ir/base/mutex.h"

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

}  // namespace tenon::runtime
