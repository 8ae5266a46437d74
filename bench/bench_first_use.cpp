// What a newcomer tries first, beside PyTorch and NumPy: bench/first_use.py drives this program and prints the ratios.
// A row is a name here, with its Tenon expression, and the same name there, with the two others.
//
// For each line "NAME" on standard input the row is run again and again for at least 10 ms; printed are the seconds of
// one run, and once, at first, "NAME check SUM" with the sum of the result's magnitudes. "stop" ends it.
#include <tenon/tenon.h>

#include <iostream>
#include <map>

#include "bench/harness.h"

namespace {

using namespace tenon;

// The elements 0, 1/997, 2/997, ... 996/997, 0, ...: the same on all sides.
Tensor numbers(IntArrayRef shape, double shift = 0) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  Tensor x = ((arange(count, kInt64) % 997).to(kFloat32) / 997 + shift).reshape(shape);
  eval(x);
  return x;
}

std::vector<Tensor> rows_of(int count, IntArrayRef shape) {
  std::vector<Tensor> rows;
  for (int i = 0; i < count; ++i) rows.push_back(numbers(shape, i));
  return rows;
}

Tensor kept(Tensor x) {
  eval(x);
  return x;
}

// In [0, 1), in no order: a hash of the position.
Tensor mixed(IntArrayRef shape) {
  const auto times = [](const Tensor& x, int64_t factor) { return (x * factor).bitwise_and(0xffffffff); };
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  Tensor h = times(arange(count, kInt64), 2654435761);
  h = times(h ^ h.bitwise_right_shift(15), 1540483477);
  return kept((h ^ h.bitwise_right_shift(13)).bitwise_right_shift(8).to(kFloat32).reshape(shape) / (1 << 24));
}

std::function<Tensor()> linear_of(int64_t rows, int64_t in, int64_t out) {
  return [x = numbers({rows, in}), w = kept(numbers({out, in}) - 0.5), b = numbers({out})] { return linear(x, w, b); };
}

// 32 square images, kernels of 3x3 and a border of one.
std::function<Tensor()> conv_of(int64_t in, int64_t side, int64_t out) {
  return
      [x = numbers({32, in, side, side}), w = kept(numbers({out, in, 3, 3}) - 0.5), b = numbers({out})] { return conv2d(x, w, b, 1, 1); };
}

std::function<Tensor()> linear_gelu(int64_t rows, int64_t in, int64_t out) {
  return [x = numbers({rows, in}), w = kept((numbers({out, in}) - 0.5) / 16), b = numbers({out})] { return gelu(linear(x, w, b)); };
}

struct Row {
  const char* name;
  // Makes the inputs and gives what is timed.
  std::function<std::function<Tensor()>()> prepare;
};

const Row kRows[] = {
    {"cat0_2x512x1024",
     [] {
       return [h = numbers({512, 1024})] { return cat({h, h}, 0); };
     }},
    {"cat0_8x4096x1024",
     [] {
       return [p = rows_of(8, {4096, 1024})] { return cat(p, 0); };
     }},
    {"cat1_2x4096x1024",
     [] {
       return [h = numbers({4096, 1024})] { return cat({h, h}, 1); };
     }},
    {"cat1_2x1e6x3",
     [] {
       return [h = numbers({1000000, 3})] { return cat({h, h}, 1); };
     }},
    {"cat_small32", [] { return [p = rows_of(32, {16})] { return cat(p, 0); }; }},
    {"cat_flat_1e6", [] { return [h = numbers({1000000})] {
                            return cat({h, h}, 0);
                          }; }},
    {"cat0_pending",
     [] {
       return [h = numbers({1024, 1024})] { return cat({h + 1, h * 2}, 0); };
     }},
    {"cat1_pending",
     [] {
       return [h = numbers({1024, 1024})] { return cat({h + 1, h * 2}, 1); };
     }},
    {"cat_then_map",
     [] {
       return [h = numbers({1024, 1024})] { return (cat({h, h}, 1) * 2 + 1).relu(); };
     }},
    {"stack_1000x1024", [] { return [p = rows_of(1000, {1024})] { return stack(p, 0); }; }},
    {"stack_64x784", [] { return [p = rows_of(64, {784})] { return stack(p, 0); }; }},
    {"stack1_8x65536", [] { return [p = rows_of(8, {65536})] { return stack(p, 1); }; }},
    {"stack_pending_64x784",
     [] {
       return [p = rows_of(64, {784})] {
         std::vector<Tensor> scaled;
         for (const Tensor& x : p) scaled.push_back(x * 0.5);
         return stack(scaled, 0);
       };
     }},
    {"roll0",
     [] {
       return [m = numbers({4096, 1024})] { return roll(m, 1, 0); };
     }},
    {"roll1",
     [] {
       return [m = numbers({4096, 1024})] { return roll(m, 1, 1); };
     }},
    {"roll_flat_1e7", [] { return [m = numbers({10000000})] { return roll(m, 1000, 0); }; }},
    {"roll_stencil",
     [] {
       return [m = numbers({1024, 1024})] { return roll(m, 1, 0) + roll(m, -1, 0) + roll(m, 1, 1) + roll(m, -1, 1) - m * 4; };
     }},
    {"pad2d",
     [] {
       return [m = numbers({3000, 3000})] { return constant_pad_nd(m, {1, 1, 1, 1}, 0); };
     }},
    {"pad2d_images",
     [] {
       return [m = numbers({32, 16, 32, 32})] { return constant_pad_nd(m, {1, 1, 1, 1}, 0); };
     }},
    {"flip1",
     [] {
       return [m = numbers({4096, 1024})] { return flip(m, {1}); };
     }},
    {"flip0",
     [] {
       return [m = numbers({4096, 1024})] { return flip(m, {0}); };
     }},
    {"tile_2x2",
     [] {
       return [m = numbers({1024, 1024})] { return tile(m, {2, 2}); };
     }},
    {"tile_rows", [] { return [m = numbers({1024})] {
                         return tile(m, {1000, 1});
                       }; }},
    {"repeat_columns",
     [] {
       return [m = numbers({4096, 64})] { return m.repeat({1, 16}); };
     }},
    {"gelu_1e6",
     [] {
       return [x = kept(numbers({1000, 1000}) * 8 - 4)] { return gelu(x); };
     }},
    {"linear_gelu_256", [] { return linear_gelu(256, 512, 2048); }},
    {"linear_gelu_32", [] { return linear_gelu(32, 256, 256); }},
    {"linear_1x128x10", [] { return linear_of(1, 128, 10); }},
    {"linear_1x512x512", [] { return linear_of(1, 512, 512); }},
    {"linear_1x1024x4096", [] { return linear_of(1, 1024, 4096); }},
    {"linear_1x4096x1024", [] { return linear_of(1, 4096, 1024); }},
    {"linear_8x1024x1024", [] { return linear_of(8, 1024, 1024); }},
    {"mm_4096x1024x1",
     [] {
       return [m = numbers({4096, 1024}), v = numbers({1024, 1})] { return mm(m, v); };
     }},
    {"mm_1x1024x4096",
     [] {
       return [v = numbers({1, 1024}), m = numbers({1024, 4096})] { return mm(v, m); };
     }},
    {"mv_4096x1024",
     [] {
       return [m = numbers({4096, 1024}), v = numbers({1024})] { return mv(m, v); };
     }},
    {"conv_1_to_16", [] { return conv_of(1, 28, 16); }},
    {"conv_16_to_32", [] { return conv_of(16, 14, 32); }},
    {"nx3_sum1",
     [] {
       return [p = numbers({1000000, 3})] { return p.sum(1); };
     }},
    {"nx3_sum0",
     [] {
       return [p = numbers({1000000, 3})] { return p.sum(0); };
     }},
    {"nx3_mean1",
     [] {
       return [p = numbers({1000000, 3})] { return p.mean(1); };
     }},
    {"nx3_max1",
     [] {
       return [p = numbers({1000000, 3})] { return p.amax(1); };
     }},
    {"nx3_max0",
     [] {
       return [p = numbers({1000000, 3})] { return p.amax(0); };
     }},
    {"nx3_argmax1",
     [] {
       return [p = numbers({1000000, 3})] { return p.argmax(1); };
     }},
    {"nx3_norm1",
     [] {
       return [p = numbers({1000000, 3})] { return linalg::vector_norm(p, 2, 1); };
     }},
    {"nx3_plus3",
     [] {
       return [p = numbers({1000000, 3}), v = numbers({3})] { return p + v; };
     }},
    {"nx3_normalize",
     [] {
       return [p = kept(numbers({1000000, 3}) + 1)] { return p / linalg::vector_norm(p, 2, 1, true); };
     }},
    {"nx3_softmax",
     [] {
       return [p = numbers({1000000, 3})] { return p.softmax(1); };
     }},
    {"nx8_layer_norm",
     [] {
       return [p = numbers({100000, 8})] { return layer_norm(p, {8}); };
     }},
    {"nbody_1024",
     [] {
       return [p = kept(numbers({1024, 3}) * 10), m = kept(numbers({1024}) + 1)] {
         Tensor d = p.unsqueeze(0) - p.unsqueeze(1);
         Tensor r = (d * d).sum(2) + 1;
         return (d * (m.unsqueeze(0) / (r * r.sqrt())).unsqueeze(2)).sum(1);
       };
     }},
    {"topk_1024x50257_50",
     [] {
       return [m = mixed({1024, 50257})] { return std::get<0>(m.topk(50)); };
     }},
    {"topk_1e6_10", [] { return [m = mixed({1000000})] { return std::get<0>(m.topk(10)); }; }},
    {"topk_1e5x100_5",
     [] {
       return [m = mixed({100000, 100})] { return std::get<0>(m.topk(5)); };
     }},
    {"kthvalue_1e6", [] { return [m = mixed({1000000})] { return std::get<0>(m.kthvalue(1000)); }; }},
    {"nonzero_dense",
     [] {
       return [m = kept(numbers({2000, 2000}) > 0.25)] { return m.nonzero(); };
     }},
    {"nonzero_sparse",
     [] {
       return [m = kept(numbers({2000, 2000}) > 0.995)] { return m.nonzero(); };
     }},
    {"masked_select",
     [] {
       return [m = numbers({2000, 2000})] { return m.masked_select(m > 0.5); };
     }},
    {"masked_select_sparse",
     [] {
       return [m = numbers({2000, 2000})] { return m.masked_select(m > 0.995); };
     }},
    {"mask_write",
     [] {
       return [m = numbers({2000, 2000})] {
         m.index_put_({m > 0.5}, 0.25);
         return m;
       };
     }},
    {"slices_64",
     [] {
       return [m = numbers({64, 10000})] {
         double total = 0;
         for (int64_t i = 0; i < 64; ++i) total += m.index({i, indexing::Slice(i, 5000 + i)}).sum().item<double>();
         return tensor(total, kFloat32);
       };
     }},
    {"row_writes_64",
     [] {
       return [m = numbers({64, 10000}), v = numbers({10000})] {
         for (int64_t i = 0; i < 64; ++i) m[i] = v * i;
         return m;
       };
     }},
};

double seconds_of_one(const std::function<Tensor()>& run) {
  int runs = 0;
  const double start = bench::now();
  do {
    Tensor result = run();
    eval(result);
    ++runs;
  } while (bench::now() - start < 0.01);
  return (bench::now() - start) / runs;
}

}  // namespace

int main() {
  std::map<std::string, std::function<Tensor()>> prepared;
  for (std::string line; std::getline(std::cin, line) && line != "stop";) {
    std::function<Tensor()>& run = prepared[line];
    if (!run) {
      for (const Row& row : kRows) {
        if (line == row.name) run = row.prepare();
      }
      if (!run) {
        std::cerr << "no row named " << line << "\n";
        return 1;
      }
      std::cout << line << " check " << run().to(kFloat64).abs().sum().item<double>() << std::endl;
    }
    std::cout << seconds_of_one(run) << std::endl;
  }
}
