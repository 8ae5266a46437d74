// ulp_sweep [function ...]: the error of every elementary function over every float32, through the JIT.
// Prints for each (all by default) the largest error in ulp, the argument where it occurs, and the time an
// element takes on one core.
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "support/math_functions.h"

using namespace tenon;

namespace {

constexpr int64_t kBlock = 1 << 16;

struct Worst {
  double error = -1;
  float x = 0, got = 0;
};

// Takes blocks of consecutive bit patterns from `next` until none is left.
void sweep(const test::UnaryFunction& f, const test::MathKernel& kernel, std::atomic<int64_t>& next, Worst& worst) {
  std::vector<float> x(kBlock), z(kBlock);
  for (int64_t block; (block = next++) < (int64_t{1} << 32) / kBlock;) {
    for (int64_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(block * kBlock + i));
    kernel.run({x.data(), z.data()});
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = f.reference(static_cast<double>(x[i]));
      // An ulp is more than 2^-24 of the value: most elements are seen to be no worse without finding theirs.
      if (std::fabs(static_cast<double>(z[i]) - want) <= worst.error * 0x1p-24 * std::fabs(want)) continue;
      const double error = test::ulp_error(z[i], want, f.scale);
      if (error > worst.error) worst = {error, x[i], z[i]};
    }
  }
}

double nanoseconds_an_element(const test::MathKernel& kernel) {
  constexpr size_t count = 1 << 14;
  std::vector<float> x(count), z(count);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>(0.01 + 0.9 * static_cast<double>(i) / count);
  double best = 1e9;
  for (int i = 0; i < 50; ++i) {
    const auto start = std::chrono::steady_clock::now();
    kernel.run({x.data(), z.data()});
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / count);
  }
  return best;
}

void report(const test::UnaryFunction& f) {
  const test::MathKernel kernel(f.op, ir::DType::F32, kBlock), timed(f.op, ir::DType::F32, 1 << 14);
  std::atomic<int64_t> next{0};
  std::vector<Worst> worst(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (Worst& w : worst) threads.emplace_back([&] { sweep(f, kernel, next, w); });
  for (std::thread& t : threads) t.join();
  const Worst& w = *std::max_element(worst.begin(), worst.end(), [](auto& a, auto& b) { return a.error < b.error; });
  std::printf("%-8s %8.4f ulp (bound %.2f) at %.9g = %a: %.9g, %6.3f ns\n", std::string(ir::info(f.op).text).c_str(), w.error, f.bound,
              static_cast<double>(w.x), static_cast<double>(w.x), static_cast<double>(w.got), nanoseconds_an_element(timed));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  for (const test::UnaryFunction& f : test::kUnaryFunctions) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted |= ir::info(f.op).text == argv[i];
    if (wanted) report(f);
  }
}
