// Sums over everything, over rows and over columns of a 4096 x 4096 float32 matrix, against vector loops.
// (The plain loop, which must add in order, would be several times slower.)
#include <tenon/tenon.h>

#include "bench/baseline.h"
#include "bench/harness.h"

namespace {

constexpr int64_t kSide = 4096;

void measure(const std::string& name, int threads, std::function<tenon::Tensor()> expression, std::function<void()> loop) {
  bench::Race race({bench::contestant("tenon", [&] { tenon::eval(expression()); }), bench::contestant("C", loop)}, 21);
  std::string benchmark = name + " t=" + std::to_string(threads);
  bench::row(benchmark, "tenon", race.seconds("tenon") * 1e3, "ms");
  bench::row(benchmark, "bandwidth", double(kSide * kSide * 4) / race.seconds("tenon") * 1e-9, "GB/s");
  bench::row(benchmark, "speed over the vector loop", race.speed("tenon", "C"), "x");
}

}  // namespace

int main() {
  tenon::Tensor x = bench::random_tensor({kSide, kSide});
  const float* xs = x.data_ptr<float>();
  std::vector<float> out(kSide);
  for (int threads : {1, 2}) {
    tenon::set_num_threads(threads);
    bench::Crew crew(threads);
    measure(
        "sum of all", threads, [&] { return x.sum(); },
        [&] { crew.run(kSide, [&](int64_t b, int64_t e) { out[b] = baseline_wide::sum(xs, b * kSide, e * kSide); }); });
    measure(
        "sum of rows", threads, [&] { return x.sum(1); },
        [&] { crew.run(kSide, [&](int64_t b, int64_t e) { baseline_wide::sum_rows(xs, out.data(), kSide, b, e); }); });
    measure(
        "sum of columns", threads, [&] { return x.sum(0); },
        [&] { crew.run(kSide, [&](int64_t b, int64_t e) { baseline_wide::sum_columns(xs, out.data(), kSide, kSide, b, e); }); });
  }
}
