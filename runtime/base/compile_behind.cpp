// The thread that compiles behind the program, and its queue.
#include "runtime/base/compile_behind.h"

#include <exception>
#include <new>
#include <system_error>
#include <thread>

#include "ir/base/fork.h"
#include "runtime/base/background.h"

namespace tenon::runtime {

CompileBehind& CompileBehind::global() {
  static auto* behind = new CompileBehind;  // never destroyed: its thread may outlive all statics
  return *behind;
}

[[maybe_unused]] const bool compiling_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Behind, {[] { CompileBehind::global().hold(); }, [] { CompileBehind::global().let_go(); },
                                               [] { new (&CompileBehind::global()) CompileBehind; }, [] { CompileBehind::global(); }});

void CompileBehind::add(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (!is_working_) start();
}

void CompileBehind::start() {
  try {
    std::thread([this] { work(); }).detach();
    is_working_ = true;
  } catch (const std::system_error&) {  // no thread to be had: the plans that run serve on
    jobs_.clear();
  }
}

void CompileBehind::work() {
  in_background = true;
  std::unique_lock lock(mutex_);
  while (!jobs_.empty() && !is_held_) {
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    try {
      job();
    } catch (const std::exception&) {  // what runs now serves on
    }
    job = {};
    lock.lock();
  }
  is_working_ = false;
  idle_.notify_all();
}

void CompileBehind::wait() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return !is_working_; });
}

// The mutex stays locked until let_go.
void CompileBehind::hold() {
  std::unique_lock lock(mutex_);
  is_held_ = true;
  idle_.wait(lock, [&] { return !is_working_; });
  lock.release();
}

void CompileBehind::let_go() {
  is_held_ = false;
  if (!jobs_.empty()) start();
  mutex_.unlock();
}

}  // namespace tenon::runtime
