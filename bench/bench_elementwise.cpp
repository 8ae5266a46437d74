// A fused chain of ten operations over float32 tensors, against the plain C loop on as many threads, and
// against NumPy in a process of its own that takes its turns too. The C loop works on the library's own memory
// (huge pages), for its output too. Outputs are recycled on both sides: the C loop writes one buffer again and
// again, the library's allocator hands the last result's memory out again.
#include <sys/wait.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "bench/baseline.h"
#include "bench/harness.h"

namespace {

// A child process that answers each line with a line.
class Child {
 public:
  explicit Child(const std::string& command) {
    int to_child[2], from_child[2];
    if (pipe(to_child) != 0 || pipe(from_child) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(to_child[0], 0);
      dup2(from_child[1], 1);
      for (int end : {to_child[0], to_child[1], from_child[0], from_child[1]}) close(end);
      execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    close(to_child[0]);
    close(from_child[1]);
    out_ = fdopen(to_child[1], "w");
    in_ = fdopen(from_child[0], "r");
  }
  ~Child() {
    std::fputs("stop\n", out_);
    std::fclose(out_);
    std::fclose(in_);
    waitpid(pid_, nullptr, 0);
  }
  std::string read() {
    char line[256];
    return std::fgets(line, sizeof line, in_) ? std::string(line, std::strcspn(line, "\n")) : "";
  }
  std::string ask(const std::string& question) {
    std::fprintf(out_, "%s\n", question.c_str());
    std::fflush(out_);
    return read();
  }

 private:
  pid_t pid_ = -1;
  std::FILE *in_ = nullptr, *out_ = nullptr;
};

tenon::Tensor chain(const tenon::Tensor& x, const tenon::Tensor& y) {
  tenon::Tensor t = x / (((x * y + x) * 0.5 - y).abs() + 1.0);
  return t.clamp_min(-0.5).clamp_max(0.5) * y;
}

void measure(int64_t n, int threads, Child& numpy, bool have_numpy, bool promised) {
  tenon::set_num_threads(threads);

  tenon::Tensor x = bench::random_tensor({n}, -1, 1, 1), y = bench::random_tensor({n}, -1, 1, 2);
  tenon::Tensor result = bench::random_tensor({n});
  const float *xs = x.data_ptr<float>(), *ys = y.data_ptr<float>();
  float* out = result.data_ptr<float>();

  bench::Crew crew(threads);
  auto loop = [&](auto* function) {
    return [&, function] { crew.run(n, [&](int64_t begin, int64_t end) { function(xs, ys, out, begin, end); }); };
  };
  std::vector<bench::Contestant> contestants = {
      bench::contestant("tenon", [&] { tenon::eval(chain(x, y)); }),
      bench::contestant("C native", loop(baseline_native::chain)),
      bench::contestant("C 512-bit", loop(baseline_wide::chain)),
  };
  if (have_numpy) contestants.push_back({"NumPy", [&] { return std::stod(numpy.ask(std::to_string(n))); }});
  bench::Race race(contestants, n >= 1000000 ? 41 : 101);

  std::string benchmark = "chain10 n=" + std::to_string(n) + " t=" + std::to_string(threads);
  std::string c = race.best("C ");
  auto promise = [&](double value) { return promised ? std::optional<bench::Target>({bench::Target::AtLeast, value}) : std::nullopt; };
  bench::row(benchmark, "tenon", race.seconds("tenon") * 1e3, "ms");
  bench::row(benchmark, "speed over the best C loop (" + c + ")", race.speed("tenon", c), "x", promise(0.90));
  if (have_numpy) bench::row(benchmark, "speed over NumPy", race.speed("tenon", "NumPy"), "x", promise(4));
}

}  // namespace

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  const char* python = std::getenv("TENON_BENCH_PYTHON");
  Child numpy(std::string(python ? python : "python3") + " " BENCH_FOLDER "/numpy_chain.py");
  bool have_numpy = !numpy.read().empty();
  if (!have_numpy) std::fprintf(stderr, "NumPy was not found: its rows are left out\n");
  for (int threads : {1, 2}) {
    measure(100000, threads, numpy, have_numpy, false);
    measure(10000000, threads, numpy, have_numpy, true);
  }
}
