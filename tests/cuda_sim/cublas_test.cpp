// Matrix products: every layout against a loop with fma, to the bit; batches, 16-bit types, and what is refused.
#include <cmath>
#include <cstring>
#include <random>

#include "cuda_sim/gpu.h"

namespace {

constexpr int kF32 = 0, kF64 = 1, kF16 = 2, kCompute32 = 68, kComputeTf32 = 77;

struct Blas {
  Handle handle = nullptr;
  Blas() { REQUIRE(cublasCreate_v2(&handle) == 0); }
  ~Blas() { cublasDestroy_v2(handle); }
};

std::vector<float> draw(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = std::uniform_real_distribution<float>(-2, 2)(random);
  return values;
}

}  // namespace

TEST_CASE("cublas: float products in every layout have the bits of a loop with fma") {
  const Context context;
  const Blas blas;
  const int m = 17, n = 9, k = 33;
  const std::vector<float> a = draw(m * k, 1), b = draw(k * n, 2), start = draw(m * n, 3);
  const Buffer device_a(a), device_b(b);
  for (const int ta : {0, 1}) {
    for (const int tb : {0, 1}) {
      for (const float beta : {0.0f, 0.5f}) {
        const Buffer c(start);
        const float alpha = 1;
        REQUIRE(cublasGemmEx(blas.handle, ta, tb, m, n, k, &alpha, reinterpret_cast<void*>(device_a.address), kF32, ta ? k : m,
                             reinterpret_cast<void*>(device_b.address), kF32, tb ? n : k, &beta, reinterpret_cast<void*>(c.address), kF32,
                             m, kCompute32, -1) == 0);
        const std::vector<float> got = c.read();
        for (int i = 0; i < m; ++i) {
          for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int p = 0; p < k; ++p) {
              sum = std::fma(a[static_cast<size_t>(ta ? i * k + p : p * m + i)], b[static_cast<size_t>(tb ? p * n + j : j * k + p)], sum);
            }
            const auto at = static_cast<size_t>(j * m + i);
            CHECK(got[at] == (beta == 0 ? sum : sum + beta * start[at]));
          }
        }
      }
    }
  }
}

TEST_CASE("cublas: a product is late work of its stream, and reads what precedes it") {
  const Context context;
  const Blas blas;
  const Buffer a(std::vector<float>{2, 2, 2, 2}), b(std::vector<float>{3, 3, 3, 3}), c(4);
  int wrong = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    tenon_sim_seed(seed);
    const Stream producer, consumer;
    REQUIRE(cublasSetStream_v2(blas.handle, consumer.handle) == 0);
    REQUIRE(cuMemsetD32Async(a.address, 0x3f800000u, 4, nullptr) == 0);
    REQUIRE(cuCtxSynchronize() == 0);
    REQUIRE(cuMemsetD32Async(a.address, 0x40000000u, 4, producer.handle) == 0);
    const float one = 1, zero = 0;
    REQUIRE(cublasGemmStridedBatchedEx(blas.handle, 0, 0, 1, 1, 2, &one, reinterpret_cast<void*>(a.address), kF32, 1, 2,
                                       reinterpret_cast<void*>(b.address), kF32, 2, 2, &zero, reinterpret_cast<void*>(c.address), kF32, 1,
                                       1, 2, kCompute32, -1) == 0);
    const std::vector<float> got = c.read(consumer.handle);
    CHECK(got[0] == got[1]);
    wrong += got[0] != 12;
  }
  CHECK(wrong > 0);
  CHECK(wrong < 20);
}

TEST_CASE("cublas: half operands sum in float; what the real one refuses is refused") {
  const Context context;
  const Blas blas;
  const Buffer a(2), b(2), c(2);
  REQUIRE(cuMemsetD32Async(a.address, 0x3c003c00u, 2, nullptr) == 0);  // four ones
  REQUIRE(cuMemsetD32Async(b.address, 0x38003800u, 2, nullptr) == 0);  // four halves
  const float one = 1, zero = 0;
  const auto product = [&](int a_type, int c_type, int lda, int compute) {
    return cublasGemmEx(blas.handle, 0, 0, 1, 1, 4, &one, reinterpret_cast<void*>(a.address), a_type, lda,
                        reinterpret_cast<void*>(b.address), a_type, 4, &zero, reinterpret_cast<void*>(c.address), c_type, 1, compute, -1);
  };
  CHECK(product(kF16, kF32, 1, kCompute32) == 0);
  CHECK(c.read()[0] == 2);
  CHECK(product(kF16, kF16, 1, kCompute32) == 0);
  uint32_t bits = 0;
  const std::vector<float> halves = c.read();
  std::memcpy(&bits, halves.data(), 4);
  CHECK((bits & 0xffff) == 0x4000);
  CHECK(product(kF16, kF16, 0, kCompute32) == 7);
  CHECK(product(kF64, kF64, 1, kCompute32) == 15);
  CHECK(product(kF16, kF32, 1, kComputeTf32) == 15);
  tenon_sim_fault("cublasGemmEx", 1, 14);
  CHECK(product(kF16, kF32, 1, kCompute32) == 14);
  CHECK(cublasGemmEx(nullptr, 0, 0, 1, 1, 4, &one, nullptr, 0, 1, nullptr, 0, 4, &zero, nullptr, 0, 1, kCompute32, -1) == 1);
}

TEST_CASE("cublas: without a workspace a product of many k has memory of its own, which no child graph may have") {
  const Context context;
  const Blas blas;
  const Stream stream;
  const Buffer a(600), b(600), c(4), workspace(1 << 20);
  const auto in_graph = [&](int k) {
    Handle graph = nullptr, child = nullptr, node = nullptr;
    const float one = 1, zero = 0;
    REQUIRE(cuStreamBeginCapture_v2(stream.handle, 2) == 0);
    REQUIRE(cublasGemmEx(blas.handle, 0, 0, 1, 1, k, &one, reinterpret_cast<void*>(a.address), kF32, 1, reinterpret_cast<void*>(b.address),
                         kF32, k, &zero, reinterpret_cast<void*>(c.address), kF32, 1, kCompute32, -1) == 0);
    REQUIRE(cuStreamEndCapture(stream.handle, &child) == 0);
    REQUIRE(cuGraphCreate(&graph, 0) == 0);
    const int result = cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
    cuGraphDestroy(child);
    cuGraphDestroy(graph);
    return result;
  };
  REQUIRE(cublasSetStream_v2(blas.handle, stream.handle) == 0);
  CHECK(in_graph(600) == 801);
  CHECK(in_graph(60) == 0);
  REQUIRE(cublasSetWorkspace_v2(blas.handle, reinterpret_cast<void*>(workspace.address), size_t{4} << 20) == 0);
  CHECK(in_graph(600) == 0);
  REQUIRE(cublasSetStream_v2(blas.handle, stream.handle) == 0);  // takes it away
  CHECK(in_graph(600) == 801);
}

TEST_CASE("cublas: an operand that ends too early is error 700") {
  const Context context;
  tenon_sim_set("strict", 1);
  const Blas blas;
  {
    const Buffer a(60), b(64), c(64);
    const float one = 1, zero = 0;
    REQUIRE(cublasGemmEx(blas.handle, 0, 0, 8, 8, 8, &one, reinterpret_cast<void*>(a.address), kF32, 8, reinterpret_cast<void*>(b.address),
                         kF32, 8, &zero, reinterpret_cast<void*>(c.address), kF32, 8, kCompute32, -1) == 0);
    CHECK(cuCtxSynchronize() == 700);
    CHECK(contains(finding(), "matrix product"));
    tenon_sim_heal();
  }
  CHECK(tenon_sim_live("allocations") == 0);
}
