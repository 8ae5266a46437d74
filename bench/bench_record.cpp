// What it costs to record an operation that is not run yet: check, infer, fold, intern, and drop it again
// afterwards. Each round records a chain of 2,000 operations, short of the length at which the library would
// evaluate by itself.
#include <tenon/tenon.h>

#include "bench/harness.h"

namespace {

constexpr int kOps = 2000;

template <class F>
void measure(const char* name, F step, bool tracked = false, bool one_op = true) {
  tenon::Tensor x = tenon::arange(16).to(tenon::kFloat32).requires_grad_(tracked);
  tenon::Tensor y = tenon::arange(16).to(tenon::kFloat32);
  tenon::eval(x, y);
  std::vector<double> record, all;
  for (int round = 0; round < 101; ++round) {
    double start = bench::now();
    {
      tenon::Tensor t = x;
      for (int i = 0; i < kOps; ++i) t = step(t, y, i);
      record.push_back((bench::now() - start) / kOps * 1e9);
    }
    all.push_back((bench::now() - start) / kOps * 1e9);
  }
  if (one_op) bench::row("record an op", name, bench::median(record), "ns", bench::Target{bench::Target::AtMost, 300});
  else bench::row("record an op", name, bench::median(record), "ns");
  bench::row("record an op", std::string(name) + ", with its destruction", bench::median(all), "ns");
}

}  // namespace

int main() {
  using tenon::Tensor;
  measure("tensor + tensor", [](const Tensor& t, const Tensor& y, int) { return t + y; });
  measure("tensor * scalar", [](const Tensor& t, const Tensor&, int i) { return t * (i + 2); });
  measure("exp", [](const Tensor& t, const Tensor&, int) { return t.exp(); });
  measure(
      "tensor + tensor, for gradients", [](const Tensor& t, const Tensor& y, int) { return t + y; }, true, false);
  measure(
      "tensor * scalar, for gradients", [](const Tensor& t, const Tensor&, int i) { return t * (i + 2); }, true, false);
  measure(
      "exp, for gradients", [](const Tensor& t, const Tensor&, int) { return t.exp(); }, true, false);
  measure(
      "softmax", [](const Tensor& t, const Tensor&, int) { return t.softmax(0); }, false, false);
  measure(
      "softmax, for gradients", [](const Tensor& t, const Tensor&, int) { return t.softmax(0); }, true, false);
}
