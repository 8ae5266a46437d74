// softmax over the rows of 4096 x 1024 float32, against a hand-written vector loop with an exponential of its
// own.
#include <tenon/tenon.h>

#include "bench/baseline.h"
#include "bench/harness.h"

int main() {
  constexpr int64_t rows = 4096, columns = 1024;
  tenon::Tensor x = bench::random_tensor({rows, columns}, -5, 5), result = bench::random_tensor({rows, columns});
  const float* xs = x.data_ptr<float>();
  float* out = result.data_ptr<float>();
  for (int threads : {1, 2}) {
    tenon::set_num_threads(threads);
    bench::Crew crew(threads);
    auto loop = [&](auto* function) {
      return [&, function] { crew.run(rows, [&](int64_t begin, int64_t end) { function(xs, out, columns, begin, end); }); };
    };
    bench::Race race({bench::contestant("tenon", [&] { tenon::eval(tenon::softmax(x, 1)); }),
                      bench::contestant("C native", loop(baseline_native::softmax_rows)),
                      bench::contestant("C 512-bit", loop(baseline_wide::softmax_rows))},
                     31);
    std::string benchmark = "softmax 4096x1024 t=" + std::to_string(threads), c = race.best("C ");
    bench::row(benchmark, "tenon", race.seconds("tenon") * 1e3, "ms");
    bench::row(benchmark, "speed over the vector loop (" + c + ")", race.speed("tenon", c), "x",
               bench::Target{bench::Target::AtLeast, 0.8});
  }
}
