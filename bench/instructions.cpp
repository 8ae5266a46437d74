// Twelve programs whose instructions are counted: what a program pays beside its arithmetic, from recording an operation to a training
// step whose code is there. scripts/check/check_instructions.py runs each under callgrind, which counts what `measured` does.
//
//   bench_instructions          prints the programs' names
//   bench_instructions info     prints what the library says of itself
//   bench_instructions NAME     prepares the program, runs it a few times uncounted, and then its fixed number of times
#include <tenon/tenon.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace tenon;
namespace F = nn::functional;
using Step = std::function<void()>;

struct Program {
  const char* name;
  int warm_up, times;
  std::function<Step()> prepare;
};

Tensor values(IntArrayRef shape) {
  const Tensor t = rand(shape);
  eval(t);
  return t;
}

Tensor twenty(const Tensor& x, const Tensor& y) {
  Tensor t = x;
  for (int i = 0; i < 10; ++i) t = t * y + x;
  return t;
}

Step training(nn::Sequential net, const Tensor& x, int64_t classes) {
  const Tensor y = randint(0, classes, {x.size(0)});
  eval(x, y);
  auto optimizer = std::make_shared<optim::Adam>(net->parameters(), optim::AdamOptions(0.01));
  return [=]() mutable {
    optimizer->zero_grad();
    const Tensor loss = F::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer->step();
    loss.item<float>();
  };
}

nn::Sequential small_mlp() { return nn::Sequential(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 8), nn::ReLU(), nn::Linear(8, 3)); }

// A graph of 200 operations that no run before has had: their kinds and order follow `seed`.
Tensor new_graph(const Tensor& x, unsigned seed) {
  Tensor t = x;
  for (int i = 0; i < 200; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const unsigned kind = seed >> 29;
    if (i % 20 == 19) t = t - t.mean(1, true);
    else if (kind == 0) t = t + x;
    else if (kind == 1) t = t * x;
    else if (kind == 2) t = t.tanh();
    else if (kind == 3) t = t.abs();
    else if (kind == 4) t = t.relu();
    else if (kind == 5) t = t.sin();
    else if (kind == 6) t = t.maximum(x);
    else t = t.sigmoid();
  }
  return t;
}

const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
      {"record twenty operations", 5, 50,
       [] {
         const Tensor x = values({16}), y = values({16});
         return [=] { twenty(x, y); };
       }},
      {"record a loss and its gradients", 5, 20,
       [] {
         nn::Sequential net = small_mlp();
         const Tensor x = values({8, 4}), y = randint(0, 3, {8});
         eval(y);
         return [=]() mutable {
           net->zero_grad();
           F::cross_entropy(net->forward(x), y).backward();
         };
       }},
      {"one operation", 5, 100,
       [] {
         const Tensor x = values({16}), y = values({16});
         return [=] { eval(x + y); };
       }},
      {"twenty operations", 5, 50,
       [] {
         const Tensor x = values({16}), y = values({16});
         return [=] { eval(twenty(x, y)); };
       }},
      {"softmax and layer_norm", 5, 50,
       [] {
         const Tensor x = values({4, 16});
         return [=] { eval(x.softmax(1), F::layer_norm(x, F::LayerNormFuncOptions({16}))); };
       }},
      {"training step of an MLP", 6, 20,
       [] {
         return training(small_mlp(), rand({8, 4}), 3);
       }},
      {"training step of a CNN", 6, 5,
       [] {
         const nn::Sequential net(nn::Conv2d(1, 4, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(4, 4, 3), nn::ReLU(), nn::Flatten(),
                                  nn::Linear(16, 3));
         return training(net, rand({2, 1, 10, 10}), 3);
       }},
      {"transformer layer", 5, 10,
       [] {
         nn::TransformerEncoderLayer layer(nn::TransformerEncoderLayerOptions(16, 2).dim_feedforward(32));
         layer->eval();
         const Tensor x = values({4, 2, 16});
         return [=]() mutable {
           NoGradGuard no_grad;
           eval(layer->forward(x));
         };
       }},
      {"views and updates in place", 5, 30,
       [] {
         const Tensor x = values({8, 8}), index = tensor({3, 1, 2});
         return [=] {
           Tensor t = x.clone();
           t.index({indexing::Slice(1, 5), 2}) += 1;
           t.t().select(0, 3).copy_(x[1]);
           eval(t.index_select(0, index).reshape({3, 2, 4}).permute({2, 0, 1}).contiguous());
         };
       }},
      {"sizes that are new", 2, 10,
       [] {
         nn::Sequential net = small_mlp();
         return [=, rows = int64_t{2}]() mutable {
           NoGradGuard no_grad;
           eval(net->forward(ones({++rows, 4})));
         };
       }},
      {"a new graph of 200 operations", 1, 2,
       [] {
         const Tensor x = values({16, 16});
         return [=, seed = 1u]() mutable { eval(new_graph(x, seed++)); };
       }},
      {"a kernel compiled by LLVM", 1, 1,
       [] {
         Config config = get_config();
         config.first_tier = false;
         set_config(config);
         const Tensor x = values({64, 64});
         return [=, dim = 1]() mutable { eval(x.softmax(dim--)); };
       }},
  };
  return all;
}

}  // namespace

// What callgrind counts, by this name.
extern "C" [[gnu::noinline]] void measured(const std::function<void()>* step, int times) {
  for (int i = 0; i < times; ++i) (*step)();
}

int main(int argc, char** argv) {
  if (argc < 2) {
    for (const Program& program : programs()) std::puts(program.name);
    return 0;
  }
  const std::string wanted = argv[1];
  if (wanted == "info") return std::puts(info().c_str()) < 0;
  for (const Program& program : programs()) {
    if (wanted != program.name) continue;
    manual_seed(0);
    const Step step = program.prepare();
    for (int i = 0; i < program.warm_up; ++i) step();
    measured(&step, program.times);
    return 0;
  }
  std::fprintf(stderr, "bench_instructions: no program named '%s'\n", wanted.c_str());
  return 2;
}
