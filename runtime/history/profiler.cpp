// The list of recorded spans, and the JSON made of it.
#include "runtime/history/profiler.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "ir/base/exit.h"
#include "ir/base/fork.h"
#include "runtime/base/options.h"

namespace tenon::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSpanLimit = size_t{1} << 20;  // then recording stops: a trace of a million spans is 100 MB

// Numbers of threads in the order in which they were first met, and their names.
struct Threads {
  std::mutex mutex;
  std::map<int, std::string> names;
  int next = 1;

  static Threads& get() {
    static auto* threads = new Threads;
    return *threads;
  }
};

[[maybe_unused]] const bool threads_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Threads, ir::fork_lock<[]() -> std::mutex& { return Threads::get().mutex; }>());

int thread_number() {
  thread_local const int number = [] {
    Threads& threads = Threads::get();
    const std::lock_guard lock(threads.mutex);
    return threads.next++;
  }();
  return number;
}

std::string line_of(const Json& event) {
  return event.dump(-1, ' ', false, Json::error_handler_t::replace);  // a user's name need not be UTF-8
}

void write_at_exit() {
  if (Profiler::global().enabled() && !Profiler::global().stop())
    std::fprintf(stderr, "tenon: the profile could not be written to %s\n", options().profile.c_str());
}

bool writable(const std::string& file) {
  std::FILE* out = std::fopen(file.c_str(), "a");
  return out && std::fclose(out) == 0;
}

}  // namespace

struct Profiler::State {
  struct Span {
    const char* category;
    std::string name;
    int thread;
    Ticks begin, length;
    KernelFacts facts;
    int64_t copied;
  };
  mutable std::mutex mutex;
  Ticks origin = ticks();
  std::vector<Span> spans;
  std::string file;

  static Json event(const Span& s, Ticks origin, double us_per_tick) {
    const double begin_us = static_cast<double>(s.begin - origin) * us_per_tick, length_us = static_cast<double>(s.length) * us_per_tick;
    Json event{{"ph", "X"},       {"cat", s.category}, {"name", s.name},  {"pid", getpid()},
               {"tid", s.thread}, {"ts", begin_us},    {"dur", length_us}};
    if (!s.facts) return event;
    const KernelRecord& facts = *s.facts;
    const int64_t bytes = facts.bytes + s.copied;
    event["args"] = {{"plan", facts.plan},
                     {"shapes", facts.shapes},
                     {"bytes", bytes},
                     {"GB/s", length_us > 0 ? static_cast<double>(bytes) / length_us * 1e-3 : 0.0},
                     {"flops", facts.flops},
                     {"operations", facts.ops},
                     {"schedule", facts.schedule}};
    return event;
  }
};

void name_this_thread(std::string name) {
  const int number = thread_number();
  Threads& threads = Threads::get();
  const std::lock_guard lock(threads.mutex);
  threads.names[number] = std::move(name);
}

Profiler::Profiler() : state_(new State) {}

Profiler& Profiler::global() {
  static Profiler* profiler = [] {
    auto* p = new Profiler;  // never destroyed: spans may end in static destructors
    ir::at_exit(write_at_exit);
    const std::string file = options().profile;
    if (!file.empty() && !p->start(file))
      std::fprintf(stderr, "tenon: TENON_PROFILE=%s cannot be written to; nothing is recorded\n", file.c_str());
    return p;
  }();
  return *profiler;
}

std::mutex& Profiler::mutex() { return global().state_->mutex; }
[[maybe_unused]] const bool profile_held_over_fork = ir::hold_over_fork(ir::ForkOrder::Profile, ir::fork_lock<Profiler::mutex>());

bool Profiler::start(const std::string& file) {
  if (!file.empty() && !writable(file)) return false;
  std::lock_guard lock(state_->mutex);
  state_->spans.clear();
  state_->origin = ticks();
  state_->file = file;
  enabled_ = true;
  return true;
}

bool Profiler::stop() {
  enabled_ = false;
  std::string file;
  {
    std::lock_guard lock(state_->mutex);
    std::swap(file, state_->file);
  }
  return file.empty() || write(file);
}

void Profiler::add(const char* category, std::string name, Ticks begin, Ticks end, KernelFacts facts, int64_t copied) {
  std::lock_guard lock(state_->mutex);
  if (state_->spans.size() >= kSpanLimit || begin < state_->origin) return;
  state_->spans.push_back({category, std::move(name), thread_number(), begin, end - begin, std::move(facts), copied});
}

std::string Profiler::json() const {
  std::lock_guard lock(state_->mutex);
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  const char* separator = "\n";
  const auto add = [&](const Json& event) {
    text += separator + line_of(event);
    separator = ",\n";
  };
  {
    Threads& threads = Threads::get();
    const std::lock_guard names(threads.mutex);
    for (const auto& [number, name] : threads.names) {
      add({{"ph", "M"}, {"name", "thread_name"}, {"pid", getpid()}, {"tid", number}, {"args", {{"name", name}}}});
    }
  }
  const double us_per_tick = microseconds_per_tick();
  for (const State::Span& span : state_->spans) add(State::event(span, state_->origin, us_per_tick));
  return text + "\n]}\n";
}

bool Profiler::write(const std::string& file) const {
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (!out) return false;
  std::string text = json();
  bool good = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  return std::fclose(out) == 0 && good;
}

}  // namespace tenon::runtime
