// Rows on a GPU, as scripts/gpu_test.sh asks for them and by hand: `bench_gpu [ROW...]` prints a line each, "ROW seconds host launches":
// of one run of the row, the time until it is done, the time until it is handed in, and its launches. It is the best of several
// bursts, a burst being handed in whole before the device is waited for. Bandwidth rows move 256 MiB in and 256 MiB out, or what
// their name says. `bench_gpu times N ROW...` runs them N times and measures nothing; `bench_gpu products f16|f32 SHAPE...` adds what
// the model of products thinks. Inputs are drawn on the host, so all kernels of the process are the row's. A row fails, and the process
// ends with 1, if it throws, launches nothing, or has a result of other sizes than it should. Without a GPU it says why and ends with 77.
#include <tenon/tenon.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/harness.h"

namespace {

using namespace tenon;
namespace F = nn::functional;

constexpr int64_t kElements = int64_t{64} << 20;  // 256 MiB of float32

using Sizes = std::vector<int64_t>;
using Once = std::function<Tensor()>;  // runs the row once, and gives what it computed

struct Row {
  const char* name;
  Sizes result;
  std::function<Once()> prepare;
};

Tensor on_gpu(const Sizes& sizes, ScalarType type = kFloat) { return rand(sizes).to(type).to(Device("cuda:0")); }

// What runs the expression once.
template <typename F>
Once run(F expression) {
  return [=] {
    const Tensor y = expression();
    eval(y);
    return y;
  };
}

Once training(nn::Sequential net, Tensor x, Tensor y) {
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
    return loss;
  };
}

Once conv_net() {
  nn::MaxPool2d pool(nn::MaxPool2dOptions(2).stride(2));
  nn::Sequential net{nn::Conv2d(3, 6, 5),
                     nn::ReLU(),
                     pool,
                     nn::Conv2d(nn::Conv2dOptions(6, 16, 5).padding(3)),
                     nn::ReLU(),
                     nn::Conv2d(16, 16, 5),
                     nn::ReLU(),
                     pool,
                     nn::Conv2d(16, 16, 3),
                     nn::ReLU(),
                     pool,
                     nn::Flatten(),
                     nn::Linear(64, 120),
                     nn::ReLU(),
                     nn::Linear(120, 84),
                     nn::ReLU(),
                     nn::Linear(84, 10)};
  return training(net, rand({256, 3, 32, 32}), randint(0, 10, {256}));
}

Once product(const Sizes& sizes, ScalarType type) {
  const Tensor a = on_gpu(sizes, type), b = on_gpu(sizes, type);
  return run([=] { return a.matmul(b); });
}

// A step of Adam over ten million parameters, whose gradients are there, late in a training: the corrections of its moments are 1, and
// so the kernel stays the same however many steps are timed.
Once adam_step() {
  const Tensor p = on_gpu({10'000'000}).requires_grad_();
  auto optimizer = std::make_shared<optim::Adam>(std::vector<Tensor>{p});
  p.mutable_grad() = on_gpu({10'000'000});
  optimizer->step();
  for (auto& [parameter, state] : optimizer->state()) static_cast<optim::AdamParamState&>(*state).step(100'000);
  return [=] {
    optimizer->step();
    eval(p);
    return p;
  };
}

Once attention(int64_t heads, int64_t width, bool backward) {
  std::vector<Tensor> qkv;
  for (int i = 0; i < 3; ++i) qkv.push_back(on_gpu({4, heads, 2048, width}, kHalf).requires_grad_(backward));
  return [=] {
    const Tensor y = scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
    const std::vector<Tensor> results = backward ? autograd::grad({y}, qkv, {y.detach()}) : std::vector<Tensor>{y};
    eval(results);
    return results.back();
  };
}

const Row kRows[] = {
    {"scale", {kElements}, [] { return run([x = on_gpu({kElements})] { return x * 2; }); }},
    {"chain", {kElements}, [] { return run([x = on_gpu({kElements})] { return (x * 2 + 1).relu().tanh() - x; }); }},
    {"chain_f16", {2 * kElements}, [] { return run([x = on_gpu({2 * kElements}, kHalf)] { return (x * 2 + 1).relu() - x; }); }},
    {"softmax_1024",
     {kElements / 1024, 1024},
     [] {
       return run([x = on_gpu({kElements / 1024, 1024})] { return x.softmax(1); });
     }},
    {"softmax_4096",
     {kElements / 4096, 4096},
     [] {
       return run([x = on_gpu({kElements / 4096, 4096})] { return x.softmax(1); });
     }},
    {"softmax_65536",
     {kElements / 65536, 65536},
     [] {
       return run([x = on_gpu({kElements / 65536, 65536})] { return x.softmax(1); });
     }},
    {"layer_norm_4096",
     {kElements / 4096, 4096},
     [] {
       return run([x = on_gpu({kElements / 4096, 4096})] { return F::layer_norm(x, F::LayerNormFuncOptions({4096})); });
     }},
    {"layer_norm_f16_1024",
     {kElements / 512, 1024},
     [] {
       return run([x = on_gpu({kElements / 512, 1024}, kHalf)] { return F::layer_norm(x, F::LayerNormFuncOptions({1024})); });
     }},
    {"transpose_8192",
     {8192, 8192},
     [] {
       return run([x = on_gpu({8192, 8192})] { return x.t().contiguous(); });
     }},
    {"transpose_f16",
     {16384, 8192},
     [] {
       return run([x = on_gpu({8192, 16384}, kHalf)] { return x.t().contiguous(); });
     }},
    {"column_sum",
     {4096},
     [] {
       return run([x = on_gpu({kElements / 4096, 4096})] { return x.sum(0); });
     }},
    {"sum", {}, [] { return run([x = on_gpu({kElements})] { return x.sum(); }); }},
    {"cumsum", {kElements}, [] { return run([x = on_gpu({kElements})] { return x.cumsum(0); }); }},
    {"embedding",
     {65536, 1024},
     [] {
       const Tensor table = on_gpu({50000, 1024}), i = randint(0, 50000, {65536}).to(Device("cuda:0"));
       return run([=] { return embedding(table, i); });
     }},
    {"index_add",
     {50000, 256},
     [] {
       const Tensor base = on_gpu({50000, 256}), source = on_gpu({65536, 256}), i = randint(0, 50000, {65536}).to(Device("cuda:0"));
       return run([=] { return base.index_add(0, i, source); });
     }},
    {"sort_1e6", {1 << 20}, [] { return run([x = on_gpu({1 << 20})] { return std::get<0>(x.sort()); }); }},
    {"adam_1e7", {10'000'000}, adam_step},
    {"matmul_bf16_8192",
     {8192, 8192},
     [] {
       return product({8192, 8192}, kBFloat16);
     }},
    {"matmul_f16_1024",
     {1024, 1024},
     [] {
       return product({1024, 1024}, kHalf);
     }},
    {"matmul_f32_4096",
     {4096, 4096},
     [] {
       return product({4096, 4096}, kFloat);
     }},
    {"matmul_512",
     {512, 512},
     [] {
       return product({512, 512}, kFloat);
     }},
    {"matmul_64x128",
     {64, 128, 128},
     [] {
       return product({64, 128, 128}, kFloat);
     }},
    {"linear_gelu_f16",
     {8192, 4096},
     [] {
       const Tensor x = on_gpu({8192, 1024}, kHalf), w = on_gpu({4096, 1024}, kHalf), b = on_gpu({4096}, kHalf);
       return run([=] { return F::gelu(F::linear(x, w, b)); });
     }},
    {"conv_f16",
     {32, 64, 56, 56},
     [] {
       const Tensor x = on_gpu({32, 64, 56, 56}, kHalf), w = on_gpu({64, 64, 3, 3}, kHalf);
       return run([=] { return F::conv2d(x, w, F::Conv2dFuncOptions().padding(1)); });
     }},
    {"attention", {4, 16, 2048, 64}, [] { return attention(16, 64, false); }},
    {"attention_128", {4, 8, 2048, 128}, [] { return attention(8, 128, false); }},
    {"attention_training", {4, 16, 2048, 64}, [] { return attention(16, 64, true); }},
    {"cnn_256", {}, conv_net},
    {"iris_epoch",
     {},
     [] {
       nn::Sequential net{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 9), nn::ReLU(), nn::Linear(9, 3)};
       return training(net, rand({120, 4}), randint(0, 3, {120}));
     }},
};

struct Times {
  double seconds, host_seconds;
  int64_t launches;
};

// A row whose inputs are not what they should be would be timed over nothing.
void check_result(const Tensor& got, const Sizes& want) {
  if (got.sizes() == IntArrayRef(want) && got.is_cuda()) return;
  std::ostringstream text;
  text << "the result should be " << IntArrayRef(want) << " on the GPU, and is " << got.sizes() << " on " << got.device();
  throw std::runtime_error(text.str());
}

// The times of one run: bursts of a tenth of a second, the best of five.
Times measure(const Once& once) {
  for (int i = 0; i < 5; ++i) once();
  cuda::synchronize();
  const int64_t launches = counters().launches;
  once();
  if (counters().launches == launches) throw std::runtime_error("nothing was launched");
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

// Returns whether the row did not fail.
bool report(const Row& row, int times) {
  const char* name = row.name;
  bool right = true;
  try {
    const Once once = row.prepare();
    if (times > 0) {
      for (int i = 0; i < times; ++i) check_result(once(), row.result);
      cuda::synchronize();
    } else {
      check_result(once(), row.result);
      const Times t = measure(once);
      std::printf("%s %.9f %.9f %lld\n", name, t.seconds, t.host_seconds, static_cast<long long>(t.launches));
    }
  } catch (const std::exception& e) {
    std::printf("%s failed: %s\n", name, e.what());
    right = false;
  }
  std::fflush(stdout);
  cuda::empty_cache();
  return right;
}

// A product by whoever the model takes, a kernel or the library, and then what it thinks of both. SHAPE: "512x512x64", rows, columns,
// depth.
bool report_product(const std::string& type_name, const std::string& shape) {
  const ScalarType type = type_name == "f16" ? kHalf : kFloat;
  int m = 0, n = 0, k = 0;
  if (std::sscanf(shape.c_str(), "%dx%dx%d", &m, &n, &k) != 3) throw std::runtime_error("a shape is ROWSxCOLUMNSxDEPTH, and not " + shape);
  const Tensor a = on_gpu({m, k}, type), b = on_gpu({k, n}, type);
  const std::string text = explain(a.matmul(b)), mark = "product    by ";
  const std::string name = type_name + "_" + shape;
  const bool right = report({name.c_str(), {m, n}, [=] { return run([=] { return a.matmul(b); }); }}, 0);
  const size_t begin = text.find(mark);
  if (begin == std::string::npos) return right;  // without the library there is no choice
  std::printf("model of %s: %s\n", name.c_str(), text.substr(begin + mark.size(), text.find('\n', begin) - begin - mark.size()).c_str());
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  if (!cuda::is_available()) {
    std::printf("skipped: there is no GPU\n%s", info().c_str());
    return 77;
  }
  std::vector<std::string> wanted(argv + 1, argv + argc);
  manual_seed(1);
  bool right = true;
  if (wanted.size() > 2 && wanted[0] == "products") {
    for (size_t i = 2; i < wanted.size(); ++i) right &= report_product(wanted[1], wanted[i]);
    return right ? 0 : 1;
  }
  int times = 0;
  if (wanted.size() > 1 && wanted[0] == "times") {
    times = std::stoi(wanted[1]);
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  }
  for (const Row& row : kRows) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), row.name) != wanted.end()) right &= report(row, times);
  }
  return right ? 0 : 1;
}
