// Timing for the benchmarks. Contestants take turns, round after round, so that a machine whose speed drifts
// treats all alike; a ratio is the median over the rounds of the quotient within one round. Rows print as one
// table and, if TENON_BENCH_JSON names a file, are appended to it as one JSON object a line.
#pragma once

#include <tenon/tenon.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

inline double now() {  // seconds
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One way to do the job. `run` does it once and gives the seconds that it took.
struct Contestant {
  std::string name;
  std::function<double()> run;
};

// Wraps a plain function into the timing of itself.
template <class F>
Contestant contestant(std::string name, F f) {
  return {std::move(name), [f = std::move(f)] {
            double start = now();
            f();
            return now() - start;
          }};
}

class Race {
 public:
  // `warmup` rounds are run and forgotten: pages are mapped, kernels compiled, threads started.
  Race(const std::vector<Contestant>& contestants, int rounds, int warmup = 3) {
    for (const Contestant& c : contestants) times_.push_back({c.name, {}});
    const size_t count = contestants.size();
    for (int round = -warmup; round < rounds; ++round)
      for (size_t turn = 0; turn < count; ++turn) {
        // Every other round runs backwards: who comes before leaves the caches as they are, and should not
        // always be the same.
        size_t i = round % 2 == 0 ? turn : count - 1 - turn;
        double seconds = contestants[i].run();
        if (round >= 0) times_[i].second.push_back(seconds);
      }
  }

  double seconds(const std::string& name) const { return median(of(name)); }

  // How many times as fast as `other` is `name`.
  double speed(const std::string& name, const std::string& other) const {
    const std::vector<double>&a = of(name), &b = of(other);
    std::vector<double> quotients;
    for (size_t i = 0; i < a.size(); ++i) quotients.push_back(b[i] / a[i]);
    return median(std::move(quotients));
  }

  // The fastest of the contestants whose name starts with `prefix`; `prefix` itself if there is none.
  std::string best(const std::string& prefix) const {
    std::string winner = prefix;
    for (const auto& [name, times] : times_)
      if (name.starts_with(prefix) && (winner == prefix || median(times) < seconds(winner))) winner = name;
    return winner;
  }

 private:
  const std::vector<double>& of(const std::string& name) const {
    for (const auto& [n, times] : times_)
      if (n == name) return times;
    std::fprintf(stderr, "no contestant named %s\n", name.c_str());
    std::exit(1);
  }
  std::vector<std::pair<std::string, std::vector<double>>> times_;
};

// One line of the table. A target is what the project promises: at least so much, or at most.
struct Target {
  enum { AtLeast, AtMost } kind;
  double value;
};

inline void row(const std::string& benchmark, const std::string& measure, double value, const std::string& unit,
                std::optional<Target> target = {}) {
  std::string verdict, json;
  if (target) {
    bool least = target->kind == Target::AtLeast;
    bool met = least ? value >= target->value : value <= target->value;
    char text[64];
    std::snprintf(text, sizeof text, "%s %g  %s", least ? ">=" : "<=", target->value, met ? "met" : "MISSED");
    verdict = text;
    std::snprintf(text, sizeof text, ", \"target\": %g, \"met\": %s", target->value, met ? "true" : "false");
    json = text;
  }
  std::printf("%-22s %-44s %10.3f %-8s %s\n", benchmark.c_str(), measure.c_str(), value, unit.c_str(), verdict.c_str());
  std::fflush(stdout);
  if (const char* path = std::getenv("TENON_BENCH_JSON"))
    if (std::FILE* file = std::fopen(path, "a")) {
      std::fprintf(file, "{\"benchmark\": \"%s\", \"measure\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"%s}\n", benchmark.c_str(),
                   measure.c_str(), value, unit.c_str(), json.c_str());
      std::fclose(file);
    }
}

// The same threads for the C loops as for the library: persistent, woken for each job, the caller being one
// of them.
class Crew {
 public:
  explicit Crew(int threads) : threads_(threads), start_(threads), finish_(threads) {
    for (int i = 1; i < threads; ++i)
      workers_.emplace_back([this, i] {
        for (;;) {
          start_.arrive_and_wait();
          if (!job_) return;
          share(i);
          finish_.arrive_and_wait();
        }
      });
  }
  ~Crew() {
    job_ = nullptr;
    start_.arrive_and_wait();
    for (std::thread& worker : workers_) worker.join();
  }

  // Calls job(begin, end) on each thread with its part of [0, total).
  void run(int64_t total, std::function<void(int64_t, int64_t)> job) {
    total_ = total;
    job_ = std::move(job);
    start_.arrive_and_wait();
    share(0);
    finish_.arrive_and_wait();
  }

 private:
  void share(int i) { job_(total_ * i / threads_, total_ * (i + 1) / threads_); }
  int64_t threads_, total_ = 0;
  std::function<void(int64_t, int64_t)> job_;
  std::barrier<> start_, finish_;
  std::vector<std::thread> workers_;
};

// Uniform float32 in [lo, hi), the same in every run, evaluated.
inline tenon::Tensor random_tensor(tenon::IntArrayRef shape, float lo = -1, float hi = 1, unsigned seed = 1) {
  const tenon::Tensor tensor = tenon::zeros(shape, tenon::kFloat32);
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(lo, hi);
  float* values = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = uniform(engine);
  return tensor.promise_unchanged();
}

}  // namespace bench
