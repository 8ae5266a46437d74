// Square float32 products, against three plain loops and, where it is installed, OpenBLAS (loaded at run
// time, so that nothing depends on it). No target yet: the schedule is the correct one, not the fast one.
#include <dlfcn.h>
#include <tenon/tenon.h>

#include "bench/baseline.h"
#include "bench/harness.h"

namespace {

using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                       int ldb, float beta, float* c, int ldc);
constexpr int kRowMajor = 101, kNoTranspose = 111;

void measure(int64_t n, void* blas) {
  tenon::Tensor a = bench::random_tensor({n, n}, -1, 1, 1), b = bench::random_tensor({n, n}, -1, 1, 2);
  tenon::Tensor result = bench::random_tensor({n, n});
  const float *as = a.data_ptr<float>(), *bs = b.data_ptr<float>();
  float* out = result.data_ptr<float>();
  std::vector<bench::Contestant> contestants = {bench::contestant("tenon", [&] { tenon::eval(tenon::matmul(a, b)); }),
                                                bench::contestant("C", [&] { baseline_wide::matmul(as, bs, out, n, n, 0, n); })};
  if (auto sgemm = blas ? reinterpret_cast<Sgemm>(dlsym(blas, "cblas_sgemm")) : nullptr)
    contestants.push_back(bench::contestant("OpenBLAS", [&, sgemm] {
      int side = static_cast<int>(n);
      sgemm(kRowMajor, kNoTranspose, kNoTranspose, side, side, side, 1, as, side, bs, side, 0, out, side);
    }));
  bench::Race race(contestants, 7, 2);
  std::string benchmark = "matmul n=" + std::to_string(n) + " t=1";
  bench::row(benchmark, "tenon", 2.0 * double(n * n * n) / race.seconds("tenon") * 1e-9, "GFLOP/s");
  bench::row(benchmark, "speed over three plain loops", race.speed("tenon", "C"), "x");
  if (contestants.size() > 2) bench::row(benchmark, "speed over OpenBLAS", race.speed("tenon", "OpenBLAS"), "x");
}

}  // namespace

int main() {
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  tenon::set_num_threads(1);
  void* blas = dlopen("libopenblas.so.0", RTLD_NOW);
  for (int64_t n : {128, 512, 1024}) measure(n, blas);
}
