// Compiles on a thread of its own, while the program runs on with what it has: a plan that is to take the place of another one, a kernel
// that runs as bytecode. No caller waits for the compiler. One job at a time. A fork waits for the one at hand, and its child goes on with
// the code that it has; the end of the process waits for none.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace tenon::runtime {

class CompileBehind {
 public:
  static CompileBehind& global();

  void add(std::function<void()> job);  // which throws nothing that anybody has to know
  void wait();                          // until nothing is left to do

  // For a fork.
  void hold();
  void let_go();

 private:
  void start();  // the mutex is held
  void work();

  std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> jobs_;
  bool is_working_ = false;  // there is a thread
  bool is_held_ = false;
};

}  // namespace tenon::runtime
