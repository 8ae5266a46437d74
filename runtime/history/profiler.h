// Spans of time, written as a Chrome trace that Perfetto opens. Off, a span costs one relaxed load.
//
//   TENON_PROFILE=trace.json ./program        writes the file at exit
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "runtime/history/history.h"
#include "runtime/history/ticks.h"

namespace tenon::runtime {

class Profiler {
 public:
  static Profiler& global();
  static std::mutex& mutex();  // of the global one

  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  // Forgets what was recorded before. The trace goes to `file`, if it is not empty, at stop() or at exit. False, and
  // nothing changes, if the file cannot be written.
  bool start(const std::string& file = {});
  bool stop();  // false if the file cannot be written (any more)
  // `category`: "evaluate", "plan", "compile", "launch", "worker", "scope", ... With the facts of a launch, the span says
  // shapes, bytes (and how many were copied beside them), GB/s, plan.
  void add(const char* category, std::string name, Ticks begin, Ticks end, KernelFacts facts = nullptr, int64_t copied = 0);
  std::string json() const;                   // {"traceEvents": [...]}, times in us since start()
  bool write(const std::string& file) const;  // false if the file cannot be written

 private:
  Profiler();
  struct State;
  State* state_;
  std::atomic<bool> enabled_{false};
};

// What traces call the calling thread, from now on.
void name_this_thread(std::string name);

// Records its own lifetime.
class ProfileSpan {
 public:
  ProfileSpan(const char* category, const char* name) : category_(category), name_(name) {
    if (Profiler::global().enabled()) begin_ = ticks();
  }
  ~ProfileSpan() {
    if (begin_ != 0 && Profiler::global().enabled()) Profiler::global().add(category_, name_, begin_, ticks());
  }
  ProfileSpan(const ProfileSpan&) = delete;
  ProfileSpan& operator=(const ProfileSpan&) = delete;

 private:
  const char* category_;
  const char* name_;
  Ticks begin_ = 0;
};

}  // namespace tenon::runtime
