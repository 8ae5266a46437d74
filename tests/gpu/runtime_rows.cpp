// Rows on what surrounds the kernels: graphs, training, faults, threads, fork, the end of a process.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "gpu/smoke.h"

namespace tenon::test {
namespace {

namespace F = nn::functional;
const Device& gpu() {
  static const Device device("cuda:0");
  return device;
}

Tensor values(IntArrayRef sizes, uint64_t seed = 1) {
  manual_seed(seed);
  return rand(sizes) * 2 - 1;
}

// The message of the error that it must throw; "" if it threw none.
template <typename F>
std::string error_of(F body) {
  try {
    body();
  } catch (const Error& e) {
    return e.msg();
  }
  return "";
}

struct Trained {
  std::vector<double> losses;
  std::vector<Tensor> weights;
};
template <typename Optimizer>
Trained train(int64_t width, int steps, Optimizer make, uint64_t seed = 3) {
  manual_seed(seed);
  nn::Sequential net(nn::Linear(64, width), nn::ReLU(), nn::Linear(width, width), nn::ReLU(), nn::Linear(width, 10));
  net->to(gpu());
  auto optimizer = make(net->parameters());
  const Tensor x = values({256, 64}).to(gpu()), y = (arange(256) * 7 % 10).to(gpu());
  Trained trained;
  for (int step = 0; step < steps; ++step) {
    const Tensor loss = F::cross_entropy(net->forward(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    trained.losses.push_back(loss.item<double>());
  }
  for (const Tensor& p : net->parameters()) trained.weights.push_back(p.detach().cpu());
  return trained;
}
optim::Adam adam(std::vector<Tensor> p) { return optim::Adam(std::move(p), optim::AdamOptions(1e-3)); }
optim::SGD sgd(std::vector<Tensor> p) { return optim::SGD(std::move(p), optim::SGDOptions(1e-2).momentum(0.9)); }

std::string unlike(const Trained& a, const Trained& b) {
  for (size_t i = 0; i < a.losses.size(); ++i) {
    std::ostringstream text;
    text.precision(9);
    text << "the losses of step " << i << " are " << a.losses[i] << " and " << b.losses[i];
    if (a.losses[i] != b.losses[i]) return text.str();
  }
  for (size_t i = 0; i < a.weights.size(); ++i) {
    if (const std::string where = difference(a.weights[i], b.weights[i], 0); !where.empty())
      return "parameter " + std::to_string(i) + ": " + where;
  }
  if (!(a.losses.back() < a.losses.front())) return "the loss does not fall";
  return "";
}

// Each step as a plan of its own, which never becomes a graph, against the steps as they come.
template <typename Optimizer>
std::string graph_against_plain(int64_t width, int steps, Optimizer make) {
  const Trained graph = train(width, steps, make);
  Config config = get_config();
  config.plan_cache = false;
  set_config(config);
  return unlike(graph, train(width, steps, make));
}

// Six runs of one plan, the last ones as a CUDA graph that holds a product of the library.
std::string product_in_graph(ScalarType type, int64_t rows, int64_t columns, int64_t depth, double bound) {
  const Tensor a = values({rows, depth}).to(type), b = values({depth, columns}, 2).to(type);
  const Tensor there_a = a.to(gpu()), there_b = b.to(gpu());
  for (int run = 1; run <= 6; ++run) {
    const auto step = [&](const Tensor& x, const Tensor& y) { return ((x * run).matmul(y) + run).cumsum(0); };
    const Tensor got = step(there_a, there_b);
    eval({got});
    if (const std::string where = difference(got.cpu(), step(a, b), bound); !where.empty())
      return "run " + std::to_string(run) + ": " + where;
  }
  return "";
}

std::string lost_index() {
  const Tensor table = values({50, 8}), there = table.to(gpu()), wrong = (arange(6) * 20).to(gpu()), other = (there * 3).exp();
  eval({other});
  const std::string text = error_of([&] {
    const Tensor y = there.index_select(0, wrong);
    eval({y});
    cuda::synchronize();
  });
  if (text.find("out of bounds") == std::string::npos) return "no error of the index, but '" + text + "'";
  if (!equal(other.cpu(), (table * 3).exp())) return "a value that was there before is another";
  return equal(there.index_select(0, (arange(6) * 8).to(gpu())).cpu(), table.index_select(0, arange(6) * 8))
             ? ""
             : "rows are wrong after the error";
}

std::string out_of_memory() {
  const Tensor kept = values({1000}).to(gpu());
  const int64_t total = std::get<1>(cuda::mem_get_info());
  std::string kind;
  try {
    const Tensor x = rand({total / 4 * 2}, TensorOptions(gpu()));
    eval({x});
    kind = "no error";
  } catch (const OutOfMemoryError& e) {
    if (e.msg().find("out of memory") == std::string::npos) kind = e.msg();
  }
  if (!kind.empty()) return kind;
  if (!empty({1 << 20}, TensorOptions(gpu())).data_ptr()) return "no memory afterwards";
  return equal((kept + 1).cpu(), kept.cpu() + 1) ? "" : "values are wrong after the error";
}

std::string two_threads() {
  const Trained want = train(96, 6, adam);
  std::vector<std::string> found(2);
  std::vector<std::thread> threads;
  // Streams of random numbers are the process': what each thread trains begins from weights that are there.
  for (size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      try {
        const Tensor x = want.weights[0].to(gpu());
        for (int round = 0; round < 50 && found[t].empty(); ++round) {
          const Tensor y = (x * (round + 1)).softmax(1).matmul(x.t()).cumsum(0);
          const Tensor there = y.cpu(), here = (want.weights[0] * (round + 1)).softmax(1).matmul(want.weights[0].t()).cumsum(0);
          found[t] = difference(there, here, 1e-5);
        }
      } catch (const std::exception& e) {
        found[t] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return found[0] + found[1];
}

std::string fork_child() {
  const Tensor x = values({100}).to(gpu());
  eval({x});
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const std::string text = error_of([&] { (x + 1).cpu().sum().item(); });
    _exit(text.find("forked subprocess") != std::string::npos && equal(ones({3}) + 1, ones({3}) * 2) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) return "the child ended with status " + std::to_string(status);
  return equal((x + 1).cpu(), x.cpu() + 1) ? "" : "the parent's values are wrong afterwards";
}

std::string early_exit() {  // work is under way and tensors live when the process ends; its status tells
  static Tensor kept = values({large(1024), large(1024)}).to(gpu());
  for (int i = 0; i < 20; ++i) kept = kept.matmul(kept).tanh();
  eval({kept});
  return "";
}

std::string captured() {
  const Tensor x = zeros({64, 32}, TensorOptions(gpu())), w = values({32, 32}).to(gpu());
  eval({x, w});
  Tensor y;
  cuda::CUDAGraph graph;
  {
    const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
    graph.capture_begin();
    y = (x.matmul(w) + 1).softmax(1);
    graph.capture_end();
  }
  for (int replay = 0; replay < 5; ++replay) {
    const Tensor next = values({64, 32}, 10 + static_cast<uint64_t>(replay));
    x.copy_(next);
    graph.replay();
    if (const std::string where = difference(y.cpu(), (next.matmul(w.cpu()) + 1).softmax(1), 1e-6); !where.empty())
      return "replay " + std::to_string(replay) + ": " + where;
  }
  return "";
}

std::string transfers() {  // pageable and pinned, small and larger than the ring
  for (const int64_t count : {int64_t{1}, int64_t{1000}, int64_t{3} << 20, int64_t{9} << 20}) {
    const Tensor x = arange(count, kInt), pinned = x.pin_memory();
    const Tensor a = x.to(gpu()), b = pinned.to(gpu(), /*non_blocking=*/true);
    if (!equal(a.cpu(), x) || !equal(b.cpu(), x) || !equal((b + a).cpu(), x + x))
      return std::to_string(count) + " numbers come back as others";
  }
  return "";
}

}  // namespace

std::vector<RuntimeRow> runtime_rows() {
  return {
      {"runtime_lost_index", lost_index},
      {"runtime_out_of_memory", out_of_memory},
      {"runtime_two_threads", two_threads},
      {"runtime_fork", fork_child},
      {"runtime_early_exit", early_exit},
      {"runtime_captured", captured},
      {"runtime_transfers", transfers},
      {"runtime_product_f32", [] { return product_in_graph(kFloat, large(1280), large(1280), 1024, 1e-5); }},
      {"runtime_product_f16", [] { return product_in_graph(kHalf, 512, large(2048), 1024, 1e-2); }},
      {"runtime_product_skinny", [] { return product_in_graph(kHalf, 24, large(4096), large(8192), 1e-2); }},
      {"runtime_adam", [] { return graph_against_plain(64, 10, adam); }},
      {"runtime_adam_wide", [] { return graph_against_plain(large(1280), 10, adam); }},
      {"runtime_sgd", [] { return graph_against_plain(large(640), 10, sgd); }},
  };
}

}  // namespace tenon::test
