// The list of recorded spans, and the JSON made of it.
#include "runtime/profiler.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "codegen/exit.h"
#include "ir/fork.h"
#include "runtime/options.h"

namespace tenon::runtime {
namespace {

constexpr size_t kSpanLimit = size_t{1} << 20;  // then recording stops: a trace of a million spans is 100 MB

int thread_number() {
  static std::atomic<int> next{1};
  thread_local const int number = next.fetch_add(1);
  return number;
}

void append_quoted(std::string& text, const std::string& value) {
  text += '"';
  for (char c : value) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      text += escape;
    } else {
      text += c;
    }
  }
  text += '"';
}

void write_at_exit() {
  std::string file = options().profile;
  if (!file.empty() && !Profiler::global().write(file)) {
    std::fprintf(stderr, "tenon: the profile could not be written to %s\n", file.c_str());
  }
}

}  // namespace

struct Profiler::State {
  struct Span {
    const char* category;
    std::string name;
    int thread;
    double begin_us, length_us;
  };
  mutable std::mutex mutex;
  Clock::time_point origin = Clock::now();
  std::vector<Span> spans;
};

Profiler::Profiler() : state_(new State) {}

Profiler& Profiler::global() {
  static Profiler* profiler = [] {
    auto* p = new Profiler;  // never destroyed: spans may end in static destructors
    if (!options().profile.empty()) {
      p->start();
      codegen::at_exit(write_at_exit);
    }
    return p;
  }();
  return *profiler;
}

std::mutex& Profiler::mutex() { return global().state_->mutex; }
[[maybe_unused]] const bool held_over_fork = ir::hold_over_fork(ir::ForkOrder::Profile, ir::fork_lock<Profiler::mutex>());

void Profiler::start() {
  std::lock_guard lock(state_->mutex);
  state_->spans.clear();
  state_->origin = Clock::now();
  enabled_ = true;
}

void Profiler::stop() { enabled_ = false; }

void Profiler::add(const char* category, std::string name, Clock::time_point begin, Clock::time_point end) {
  using Micros = std::chrono::duration<double, std::micro>;
  std::lock_guard lock(state_->mutex);
  if (state_->spans.size() >= kSpanLimit || begin < state_->origin) return;
  state_->spans.push_back({category, std::move(name), thread_number(), Micros(begin - state_->origin).count(),
                           Micros(end - begin).count()});
}

std::string Profiler::json() const {
  std::lock_guard lock(state_->mutex);
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  const char* separator = "\n";
  for (const State::Span& s : state_->spans) {
    text += separator;
    separator = ",\n";
    text += "{\"ph\": \"X\", \"cat\": ";
    append_quoted(text, s.category);
    text += ", \"name\": ";
    append_quoted(text, s.name);
    char rest[160];
    std::snprintf(rest, sizeof rest, ", \"pid\": %ld, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f}",
                  static_cast<long>(getpid()), s.thread, s.begin_us, s.length_us);
    text += rest;
  }
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
