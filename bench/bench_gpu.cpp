// Rows on a GPU, as gpu.py asks for them and by hand: `bench_gpu [ROW...]` prints a line each, "ROW seconds", of one run of the
// row: the best of several bursts, a burst being handed in whole before the device is waited for. Bandwidth rows move 256 MiB in
// and 256 MiB out, or what their name says. Without a GPU it says why and ends with 77.
#include <tenon/tenon.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness.h"

namespace {

using namespace tenon;
namespace F = nn::functional;

constexpr int64_t kElements = int64_t{64} << 20;  // 256 MiB of float32

struct Row {
  const char* name;
  std::function<std::function<void()>()> prepare;
};

Tensor on_gpu(IntArrayRef sizes, ScalarType type = kFloat) {
  const Tensor x = rand(sizes, TensorOptions(Device("cuda:0"))).to(type);
  eval(x);
  return x;
}
// What runs the expression once, its result computed and dropped.
template <typename F>
std::function<void()> run(F expression) {
  return [=] { eval(expression()); };
}

std::function<void()> training(nn::Sequential net, Tensor x, Tensor y) {
  net->to(Device("cuda:0"));
  x = x.to(Device("cuda:0"));
  y = y.to(Device("cuda:0"));
  auto optimizer = std::make_shared<optim::Adam>(net->parameters());
  return [=]() mutable {
    const Tensor loss = F::cross_entropy(net->forward(x), y);
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    eval(loss);
  };
}

std::function<void()> conv_net() {
  nn::MaxPool2d pool(nn::MaxPool2dOptions(2).stride(2));
  nn::Sequential net{nn::Conv2d(3, 6, 5), nn::ReLU(), pool, nn::Conv2d(nn::Conv2dOptions(6, 16, 5).padding(3)),
                     nn::ReLU(), nn::Conv2d(16, 16, 5), nn::ReLU(), pool, nn::Conv2d(16, 16, 3), nn::ReLU(), pool,
                     nn::Flatten(), nn::Linear(64, 120), nn::ReLU(), nn::Linear(120, 84), nn::ReLU(), nn::Linear(84, 10)};
  return training(net, rand({256, 3, 32, 32}), randint(0, 10, {256}));
}

std::function<void()> product(int64_t batch, int64_t size, ScalarType type) {
  const IntArrayRef one{size, size}, many{batch, size, size};
  const Tensor a = on_gpu(batch == 1 ? one : many, type), b = on_gpu(batch == 1 ? one : many, type);
  return run([=] { return a.matmul(b); });
}

const Row kRows[] = {
    {"copy", [] { return run([x = on_gpu({kElements})] { return x.clone(); }); }},
    {"chain", [] { return run([x = on_gpu({kElements})] { return (x * 2 + 1).relu().tanh() - x; }); }},
    {"softmax_1024", [] { return run([x = on_gpu({kElements / 1024, 1024})] { return x.softmax(1); }); }},
    {"layer_norm_4096", [] { return run([x = on_gpu({kElements / 4096, 4096})] { return F::layer_norm(x, F::LayerNormFuncOptions({4096})); }); }},
    {"transpose_8192", [] { return run([x = on_gpu({8192, 8192})] { return x.t().contiguous(); }); }},
    {"column_sum", [] { return run([x = on_gpu({kElements / 4096, 4096})] { return x.sum(0); }); }},
    {"sum", [] { return run([x = on_gpu({kElements})] { return x.sum(); }); }},
    {"sort_1e6", [] { return run([x = on_gpu({1 << 20})] { return std::get<0>(x.sort()); }); }},
    {"matmul_bf16_8192", [] { return product(1, 8192, kBFloat16); }},
    {"matmul_512", [] { return product(1, 512, kFloat); }},
    {"matmul_64x128", [] { return product(64, 128, kFloat); }},
    {"attention", [] {
       const Tensor q = on_gpu({4, 16, 2048, 64}, kHalf), k = on_gpu({4, 16, 2048, 64}, kHalf), v = on_gpu({4, 16, 2048, 64}, kHalf);
       return run([=] { return scaled_dot_product_attention(q, k, v); });
     }},
    {"cnn_256", conv_net},
    {"iris_epoch", [] {
       nn::Sequential net{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 9), nn::ReLU(), nn::Linear(9, 3)};
       return training(net, rand({120, 4}), randint(0, 3, {120}));
     }},
};

// The seconds of one run: bursts of a tenth of a second, the best of five.
double seconds(const std::function<void()>& once) {
  for (int i = 0; i < 5; ++i) once();
  cuda::synchronize();
  int burst = 1;
  double best = 1e30;
  for (int round = 0; round < 6;) {
    const double start = bench::now();
    for (int i = 0; i < burst; ++i) once();
    cuda::synchronize();
    const double taken = bench::now() - start;
    if (taken < 0.05 && burst < 1 << 16) {
      burst *= 2;
      continue;
    }
    best = std::min(best, taken / burst);
    ++round;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (!cuda::is_available()) {
    std::printf("skipped: there is no GPU\n%s", info().c_str());
    return 77;
  }
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  manual_seed(1);
  for (const Row& row : kRows) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), row.name) == wanted.end()) continue;
    try {
      std::printf("%s %.9f\n", row.name, seconds(row.prepare()));
    } catch (const std::exception& e) {
      std::printf("%s failed: %s\n", row.name, e.what());
    }
    std::fflush(stdout);
    cuda::empty_cache();
  }
}
