// The end and the fork of a process. By hand with more runs: test_process late 1000, test_process fork 200.
//
//   late N   N processes evaluate, compiling, after exit has begun: in a static object's destructor, an exit handler, a destructor of
//            the main thread's thread_local, in a thread that still runs. Each must get the value or an Error.
//   fork N   N children are forked while other threads evaluate, compile, draw and print; each must evaluate.
#include <tenon/tenon.h>

#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <thread>

using namespace tenon;

namespace {

void say(const std::string& line) {  // also when streams are gone
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) _exit(5);
}

bool near(const Tensor& x, double expected) { return std::abs(x.item<double>() - expected) <= 1e-3 * std::abs(expected) + 1e-3; }

// Work of twelve kinds, each with code of its own. True if the value is right.
bool compute(int seed) {
  const auto n = static_cast<int64_t>(20 + seed % 7);
  const double sum = static_cast<double>(n * (n - 1)) / 2, k = 3 + seed % 5;
  const Tensor x = arange(n, kFloat) * 1;
  switch (seed % 12) {
    case 0: return near((x * k + 1).sum(), k * sum + static_cast<double>(n));
    case 1: return near(softmax(x * k, 0).sum(), 1);
    case 2: return near(matmul(ones({n, n}) * k, ones({n, 3})).select(0, 1).sum(), 3 * k * static_cast<double>(n));
    case 3: return near((x.to(kHalf) * 0.5).to(kFloat).sum(), sum / 2);
    case 10: return near((arange(n) / static_cast<int64_t>(1)).to(kInt).floor_divide(1).sum(), sum);
    case 11: return near(cumsum(x, 0).select(0, n - 1), sum);
    case 6: return near(std::get<0>((-x).sort()).select(0, 0), static_cast<double>(1 - n));
    case 7: return near(where(x > 2, x, x * 0).to(kDouble).sum(), sum - 3);
    case 8: {
      const Tensor r = rand({n}) * k;
      return r.min().item<double>() >= 0 && r.max().item<double>() < k;
    }
    case 4: {  // after one of kind 5: the thread has recorded before
      const Tensor w = full({n}, k).requires_grad_();
      (w * x).sum().backward();
      return near(w.grad().sum(), sum);
    }
    case 5: {
      const Tensor w = full({n}, k).requires_grad_();
      autograd::checkpoint([&](const Tensor& t) { return (t * x).sum(); }, w).backward();
      return near(w.grad().sum(), sum);
    }
    default: {
      std::ostringstream out;
      out << (x * 2).slice(0, 0, 2);
      return out.str() == "tensor([0., 2.])";
    }
  }
}

// For a moment in which no exception may leave.
void report(int seed) noexcept {
  try {
    if (!compute(seed)) _exit(3);
    say("right\n");
  } catch (const Error& error) {
    say(std::string("error: ") + error.what() + "\n");
  } catch (...) {
    _exit(4);
  }
}

// --- late

int late_seed = -1;

struct AtTheEnd {
  explicit AtTheEnd(bool first) : first_(first) {}
  ~AtTheEnd() {
    if (late_seed >= 0 && first_) report(late_seed);
  }
  bool first_;
};
AtTheEnd before_main(true);  // made before anything of the library's

int run_late(const std::string& when, int seed) {
  ::alarm(120);
  if (seed % 3 != 0 && !compute(seed + 1)) return 3;  // else the library is first used after the exit
  if (when == "static") {
    late_seed = seed;
  } else if (when == "local static") {
    static AtTheEnd at_the_end(true);
    if (!compute(seed + 2)) return 3;
    before_main.first_ = false;
    late_seed = seed;
  } else if (when == "atexit") {
    static int handed = seed;
    std::atexit([] { report(handed); });
  } else if (when == "thread_local") {
    thread_local AtTheEnd at_the_end(true);
    static_cast<void>(&at_the_end);
    before_main.first_ = false;
    if (!compute(seed + 2)) return 3;
    late_seed = seed;
  } else {
    std::thread([seed] {
      for (int i = seed;; ++i) report(i);
    }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(seed % 40));
    static struct Slow {
      ~Slow() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
    } slow;
  }
  return 0;
}

constexpr const char* kMoments[] = {"static", "local static", "atexit", "thread_local", "thread"};

struct Ended {
  int status = 0;
  std::string output;
};

Ended run_self(const char* moment, int seed, const std::string& folder) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]), ::close(ends[1]);
    ::setenv("TENON_CACHE_DIR", (folder + "/" + std::to_string(seed)).c_str(), 1);  // cold
    ::setenv("TENON_DISK_CACHE", seed % 2 ? "1" : "0", 1);
    ::execl("/proc/self/exe", "test_process", "--late", moment, std::to_string(seed).c_str(), nullptr);
    _exit(127);
  }
  ::close(ends[1]);
  Ended result;
  char buffer[4096];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;) result.output.append(buffer, static_cast<size_t>(count));
  ::close(ends[0]);
  ::waitpid(child, &result.status, 0);
  return result;
}

int drive_late(int runs) {
  const std::string folder = (std::filesystem::temp_directory_path() / ("tenon_process_test_" + std::to_string(::getpid()))).string();
  int bad = 0, threw = 0;
  for (int seed = 0; seed < runs; ++seed) {
    const char* moment = kMoments[seed % 5];
    const Ended ended = run_self(moment, seed / 5, folder);
    const bool said = ended.output.starts_with("right") || ended.output.starts_with("error: ");
    const bool may_be_silent = std::strcmp(moment, "thread") == 0;
    threw += ended.output.find("error: ") != std::string::npos;
    if (ended.status == 0 && (said || may_be_silent)) continue;
    ++bad;
    std::printf("%s, seed %d: status 0x%x: %s\n", moment, seed / 5, static_cast<unsigned>(ended.status), ended.output.c_str());
  }
  std::filesystem::remove_all(folder);
  std::printf("late: %d of %d processes ended well (%d with an Error)\n", runs - bad, runs, threw);
  return bad;
}

// --- fork

std::atomic<bool> stop{false};

void keep_evaluating(int first) {
  for (int i = first; !stop; ++i) {
    if (!compute(i)) std::abort();
    if (i % 50 == 0) clear_caches();  // to compile again
  }
}

int drive_fork(int runs) {
  std::thread others[] = {std::thread(keep_evaluating, 0), std::thread(keep_evaluating, 7), std::thread([] {
                            for (int i = 0; !stop; ++i) {
                              if (!compute(8 + i % 2)) std::abort();
                              Generator own = make_generator<CPUGeneratorImpl>(1);
                              const Tensor drawn = rand({64}, own);
                              static_cast<void>(drawn);
                            }
                          })};
  std::map<int, int> ends;  // by wait status
  for (int i = 0; i < runs; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      bool right = true;
      for (int k = 0; k < 10; ++k) right = right && compute(i + k);
      _exit(right ? 0 : 3);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    ++ends[status];
  }
  stop = true;
  for (std::thread& t : others) t.join();
  for (const auto& [status, count] : ends) {
    if (status != 0) std::printf("status 0x%x: %d children\n", static_cast<unsigned>(status), count);
  }
  std::printf("fork: %d of %d children evaluated\n", ends[0], runs);
  return runs - ends[0];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "--late" && argc == 4) return run_late(argv[2], std::atoi(argv[3]));
  if (what == "late" && argc == 3) return drive_late(std::atoi(argv[2])) == 0 ? 0 : 1;
  if (what == "fork" && argc == 3) return drive_fork(std::atoi(argv[2])) == 0 ? 0 : 1;
  std::fprintf(stderr, "usage: test_process late|fork RUNS\n");
  return 2;
}
