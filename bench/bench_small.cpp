// The cost of everything but the work: twenty operations on 16 elements, recorded and evaluated again and
// again. After the first time no pass and no compiler runs.
#include <tenon/tenon.h>

#include "bench/harness.h"

int main() {
  tenon::Tensor x = tenon::arange(16).to(tenon::kFloat32), y = tenon::ones({16}) * 0.5;
  tenon::eval(x, y);
  std::vector<double> record, evaluate;
  for (int round = 0; round < 2100; ++round) {
    if (round == 100) tenon::reset_counters();
    double start = bench::now();
    tenon::Tensor t = x;
    for (int i = 0; i < 10; ++i) t = t * y + x;
    double recorded = bench::now();
    tenon::eval(t);
    double done = bench::now();
    if (round < 100) continue;
    record.push_back((recorded - start) * 1e6);
    evaluate.push_back((done - recorded) * 1e6);
  }
  tenon::Counters counters = tenon::counters();
  bench::row("20 ops, 16 elements", "recording", bench::median(record), "us");
  bench::row("20 ops, 16 elements", "evaluation", bench::median(evaluate), "us", bench::Target{bench::Target::AtMost, 15});
  bench::row("20 ops, 16 elements", "plans built and kernels compiled meanwhile", double(counters.plans_built + counters.kernels_compiled),
             "", bench::Target{bench::Target::AtMost, 0});
  bench::row("20 ops, 16 elements", "kernels launched by an evaluation", double(counters.launches) / 2000, "",
             bench::Target{bench::Target::AtMost, 1});
}
