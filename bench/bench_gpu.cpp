// Rows on a GPU, as scripts/gpu_test.sh asks for them and by hand: `bench_gpu [ROW...]` prints a line each, "ROW seconds host launches":
// of one run of the row, the time until it is done, the time until it is handed in, and its launches. It is the best of several
// bursts, a burst being handed in whole before the device is waited for. Bandwidth rows move 256 MiB in and 256 MiB out, or what
// their name says. `bench_gpu times N ROW...` runs them N times and measures nothing; `bench_gpu products f16|f32 SHAPE...` adds what
// the model of products thinks. Without a GPU it says why and ends with 77.
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

// A step of Adam over ten million parameters, whose gradients are there.
std::function<void()> adam_step() {
  const Tensor p = on_gpu({10'000'000}).requires_grad_();
  auto optimizer = std::make_shared<optim::Adam>(std::vector<Tensor>{p});
  p.mutable_grad() = on_gpu({10'000'000});
  return [=] {
    optimizer->step();
    eval(p);
  };
}

std::function<void()> attention(int64_t heads, int64_t width, bool backward) {
  std::vector<Tensor> qkv;
  for (int i = 0; i < 3; ++i) qkv.push_back(on_gpu({4, heads, 2048, width}, kHalf).requires_grad_(backward));
  return [=] {
    const Tensor y = scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
    if (!backward) return eval(y);
    const std::vector<Tensor> gradients = autograd::grad({y}, qkv, {y.detach()});
    eval(gradients);
  };
}

const Row kRows[] = {
    {"scale", [] { return run([x = on_gpu({kElements})] { return x * 2; }); }},
    {"chain", [] { return run([x = on_gpu({kElements})] { return (x * 2 + 1).relu().tanh() - x; }); }},
    {"chain_f16", [] { return run([x = on_gpu({2 * kElements}, kHalf)] { return (x * 2 + 1).relu() - x; }); }},
    {"softmax_1024", [] { return run([x = on_gpu({kElements / 1024, 1024})] { return x.softmax(1); }); }},
    {"softmax_4096", [] { return run([x = on_gpu({kElements / 4096, 4096})] { return x.softmax(1); }); }},
    {"softmax_65536", [] { return run([x = on_gpu({kElements / 65536, 65536})] { return x.softmax(1); }); }},
    {"layer_norm_4096", [] { return run([x = on_gpu({kElements / 4096, 4096})] { return F::layer_norm(x, F::LayerNormFuncOptions({4096})); }); }},
    {"layer_norm_f16_1024", [] { return run([x = on_gpu({kElements / 512, 1024}, kHalf)] { return F::layer_norm(x, F::LayerNormFuncOptions({1024})); }); }},
    {"transpose_8192", [] { return run([x = on_gpu({8192, 8192})] { return x.t().contiguous(); }); }},
    {"transpose_f16", [] { return run([x = on_gpu({8192, 16384}, kHalf)] { return x.t().contiguous(); }); }},
    {"column_sum", [] { return run([x = on_gpu({kElements / 4096, 4096})] { return x.sum(0); }); }},
    {"sum", [] { return run([x = on_gpu({kElements})] { return x.sum(); }); }},
    {"cumsum", [] { return run([x = on_gpu({kElements})] { return x.cumsum(0); }); }},
    {"embedding", [] {
       const Tensor table = on_gpu({50000, 1024}), i = randint(0, 50000, {65536}).to(Device("cuda:0"));
       return run([=] { return embedding(table, i); });
     }},
    {"index_add", [] {
       const Tensor base = on_gpu({50000, 256}), source = on_gpu({65536, 256}), i = randint(0, 50000, {65536}).to(Device("cuda:0"));
       return run([=] { return base.index_add(0, i, source); });
     }},
    {"sort_1e6", [] { return run([x = on_gpu({1 << 20})] { return std::get<0>(x.sort()); }); }},
    {"adam_1e7", adam_step},
    {"matmul_bf16_8192", [] { return product(1, 8192, kBFloat16); }},
    {"matmul_f16_1024", [] { return product(1, 1024, kHalf); }},
    {"matmul_f32_4096", [] { return product(1, 4096, kFloat); }},
    {"matmul_512", [] { return product(1, 512, kFloat); }},
    {"matmul_64x128", [] { return product(64, 128, kFloat); }},
    {"linear_gelu_f16", [] {
       const Tensor x = on_gpu({8192, 1024}, kHalf), w = on_gpu({4096, 1024}, kHalf), b = on_gpu({4096}, kHalf);
       return run([=] { return F::gelu(F::linear(x, w, b)); });
     }},
    {"conv_f16", [] {
       const Tensor x = on_gpu({32, 64, 56, 56}, kHalf), w = on_gpu({64, 64, 3, 3}, kHalf);
       return run([=] { return F::conv2d(x, w, F::Conv2dFuncOptions().padding(1)); });
     }},
    {"attention", [] { return attention(16, 64, false); }},
    {"attention_128", [] { return attention(8, 128, false); }},
    {"attention_training", [] { return attention(16, 64, true); }},
    {"cnn_256", conv_net},
    {"iris_epoch", [] {
       nn::Sequential net{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 9), nn::ReLU(), nn::Linear(9, 3)};
       return training(net, rand({120, 4}), randint(0, 3, {120}));
     }},
};

struct Times {
  double seconds, host_seconds;
  int64_t launches;
};

// The times of one run: bursts of a tenth of a second, the best of five.
Times measure(const std::function<void()>& once) {
  for (int i = 0; i < 5; ++i) once();
  cuda::synchronize();
  const int64_t launches = counters().launches;
  once();
  Times best{1e30, 1e30, counters().launches - launches};
  cuda::synchronize();
  int burst = 1;
  for (int round = 0; round < 6;) {
    const double start = bench::now();
    for (int i = 0; i < burst; ++i) once();
    const double handed_in = bench::now() - start;
    cuda::synchronize();
    const double taken = bench::now() - start;
    if (taken < 0.05 && burst < 1 << 16) {
      burst *= 2;
      continue;
    }
    best = {std::min(best.seconds, taken / burst), std::min(best.host_seconds, handed_in / burst), best.launches};
    ++round;
  }
  return best;
}

void report(const char* name, const std::function<std::function<void()>()>& prepare, int times) {
  try {
    const std::function<void()> once = prepare();
    if (times > 0) {
      for (int i = 0; i < times; ++i) once();
      cuda::synchronize();
    } else {
      const Times t = measure(once);
      std::printf("%s %.9f %.9f %lld\n", name, t.seconds, t.host_seconds, static_cast<long long>(t.launches));
    }
  } catch (const std::exception& e) {
    std::printf("%s failed: %s\n", name, e.what());
  }
  std::fflush(stdout);
  cuda::empty_cache();
}

// A product by whoever the model takes, a kernel or the library, and then what it thinks of both. SHAPE: "512x512x64", rows, columns, depth.
void report_product(const std::string& type_name, const std::string& shape) {
  const ScalarType type = type_name == "f16" ? kHalf : kFloat;
  int m = 0, n = 0, k = 0;
  if (std::sscanf(shape.c_str(), "%dx%dx%d", &m, &n, &k) != 3) throw std::runtime_error("a shape is ROWSxCOLUMNSxDEPTH, and not " + shape);
  const Tensor a = on_gpu({m, k}, type), b = on_gpu({k, n}, type);
  const std::string text = explain(a.matmul(b)), mark = "product    by ";
  report((type_name + "_" + shape).c_str(), [=] { return run([=] { return a.matmul(b); }); }, 0);
  const size_t begin = text.find(mark);
  if (begin == std::string::npos) return;  // without the library there is no choice
  std::printf("model of %s_%s: %s\n", type_name.c_str(), shape.c_str(), text.substr(begin + mark.size(), text.find('\n', begin) - begin - mark.size()).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (!cuda::is_available()) {
    std::printf("skipped: there is no GPU\n%s", info().c_str());
    return 77;
  }
  std::vector<std::string> wanted(argv + 1, argv + argc);
  manual_seed(1);
  if (wanted.size() > 2 && wanted[0] == "products") {
    for (size_t i = 2; i < wanted.size(); ++i) report_product(wanted[1], wanted[i]);
    return 0;
  }
  int times = 0;
  if (wanted.size() > 1 && wanted[0] == "times") {
    times = std::stoi(wanted[1]);
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  }
  for (const Row& row : kRows) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), row.name) != wanted.end()) report(row.name, row.prepare, times);
  }
}
