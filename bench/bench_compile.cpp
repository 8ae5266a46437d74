// What the first evaluation of a new kernel costs: 40 distinct fused kernels, one after another with the disk cache off, compiled before
// they run and as bytecode. Compile time is what the kernel history says; the whole time also has the passes, planning and the launch.
#include <tenon/tenon.h>

#include "bench/harness.h"

namespace {

// A different chain of six to nine operations for each i, some with a reduction and an epilogue after it.
tenon::Tensor expression(const tenon::Tensor& x, const tenon::Tensor& y, int i) {
  tenon::Tensor t = x * y + x;
  if (i & 1) t = t.relu();
  if (i & 2) t = t.abs() - y;
  if (i & 4) t = t * t + y;
  t = (i & 8) ? t.sqrt() : t.exp();
  if (i & 16) t = t / (y + 2.0);
  if (i >= 32) t = t - t.sum(1, true);
  return t * 0.5 + 1.0;
}

void measure(const char* name, bool first_tier, double most_ms) {
  tenon::Config config = tenon::get_config();
  config.disk_cache = false;
  config.first_tier = first_tier;
  tenon::set_config(config);
  tenon::clear_caches();
  const tenon::Tensor x = bench::random_tensor({256, 128}, 0.1f, 1, 1), y = bench::random_tensor({256, 128}, 0.1f, 1, 2);
  tenon::eval(x + y);  // LLVM's own start-up is not a kernel's cost

  std::vector<double> compile, whole;
  for (int i = 0; i < 40; ++i) {
    tenon::clear_kernel_history();
    const double start = bench::now();
    tenon::eval(expression(x, y, i));
    const double seconds = bench::now() - start;
    for (const tenon::KernelRecord& record : tenon::kernel_history())
      if (record.cache == tenon::KernelRecord::Cache::Compiled) {
        compile.push_back(record.compile_ms);
        whole.push_back(seconds * 1e3);
      }
  }
  bench::row(name, "kernels made", double(compile.size()), "");
  bench::row(name, "one fused kernel, median", bench::median(compile), "ms", bench::Target{bench::Target::AtMost, most_ms});
  bench::row(name, "slowest", *std::max_element(compile.begin(), compile.end()), "ms");
  bench::row(name, "first evaluation as a whole, median", bench::median(whole), "ms");
}

}  // namespace

int main() {
  measure("cold compile", false, 15);
  measure("bytecode", true, 0.5);
}
