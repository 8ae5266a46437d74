// A row for each schedule, type and special instruction of the generated kernels.
#include "gpu/smoke.h"

#include <cmath>

namespace tenon::test {
namespace {

namespace F = nn::functional;
using Outputs = std::vector<Tensor>;

constexpr double kHalfBound = 4e-3, kBFloatBound = 3e-2;  // sums in another order, rounded to 11 and to 8 bits
double bound_of(ScalarType type) { return type == kHalf ? kHalfBound : type == kBFloat16 ? kBFloatBound : 1e-5; }

// Numbers from -2 to 2, the same on every device.
Tensor values(IntArrayRef sizes, ScalarType type, const Device& device, uint64_t seed = 1) {
  manual_seed(seed);
  const Tensor x = rand(sizes) * 4 - 2;
  if (type == kBool) return (x > 0).to(device);
  return (isIntegralType(type, false) ? x * 50 : x).to(type).to(device);
}
// Every pattern of 16 bits but those of nans, whose payload is the processor's choice.
Tensor patterns(ScalarType type, const Device& device) {
  const Tensor all = arange(65536, kInt).to(kShort).view(type);
  return where(all.isnan(), zeros_like(all), all).to(device);
}
// Nans, infinities, zeros of both signs, subnormals among numbers.
Tensor edges(ScalarType type, const Device& device) {
  const Tensor x = values({4096}, kFloat, kCPU);
  const float special[] = {NAN, INFINITY, -INFINITY, 0.f, -0.f, 1e-41f, -1e-41f, 3.4e38f};
  for (int i = 0; i < 64; ++i) x.slice(0, i * 61, i * 61 + 1).fill_(special[i % 8]);
  return x.to(type).to(device);
}

template <typename F>
SmokeRow bits(const std::string& name, F run) {
  return {name, 0, [=](const Device& d) { return Outputs(run(d)); }};
}
template <typename F>
SmokeRow near(const std::string& name, double bound, F run, bool generated = false) {
  return {name, bound, [=](const Device& d) { return Outputs(run(d)); }, generated};
}

struct Type {
  ScalarType type;
  const char* name;
};
constexpr Type kFloats[] = {{kFloat, "f32"}, {kDouble, "f64"}, {kHalf, "f16"}, {kBFloat16, "bf16"}};
constexpr Type kHalves[] = {{kHalf, "f16"}, {kBFloat16, "bf16"}};
constexpr Type kIntegers[] = {{kLong, "i64"}, {kInt, "i32"}, {kShort, "i16"}, {kByte, "u8"}};

void add_maps(std::vector<SmokeRow>& rows) {
  for (const auto& [type, name] : kFloats) {
    const ScalarType t = type;
    rows.push_back(bits(std::string("map_") + name, [=](const Device& d) {  // by vectors, and one by one
      const Tensor x = values({256, 128}, t, d), odd = values({37, 53}, t, d);
      return Outputs{(x * 2 + 1).relu().tanh() - x, (odd * 2 + 1).exp() / (odd.abs() + 1)};
    }));
    rows.push_back(bits(std::string("extremes_") + name, [=](const Device& d) {  // max.NaN, comparisons, signs
      const Tensor x = edges(t, d), y = edges(t, d).roll(13);
      return Outputs{maximum(x, y), minimum(x, y), x.clamp(-1, 1), x.relu(), x < y, (x * y).isnan(), x.sign(), x.abs().sqrt(), x / y};
    }));
    rows.push_back(bits(std::string("minus_") + name, [=](const Device& d) {  // a -0 that is chosen beside 1 and -1
      const Tensor x = edges(t, d), y = edges(t, d).roll(13);
      return Outputs{
          -x, -x.sign(), -(x < y).to(t), -x.sign() * y, -where(x < y, x.sign(), zeros_like(x)), (x + x.floor()).sum(0, true).sign().neg()};
    }));
  }
  for (const auto& [type, name] : kIntegers) {
    const ScalarType t = type;
    rows.push_back(bits(std::string("map_") + name, [=](const Device& d) {
      const Tensor x = values({1000}, t, d), y = values({1000}, t, d, 2);
      return Outputs{x * y + 3, x.bitwise_and(y), floor_divide(x, y.abs().bitwise_or(1)), x.remainder(y.abs().bitwise_or(1)), maximum(x, y),
                     x == y};
    }));
  }
  rows.push_back(bits("maths_f32", [](const Device& d) {
    const Tensor x = values({4099}, kFloat, d), p = x.abs() + 0.01;
    return Outputs{x.exp(),  p.log(),   x.sin(),   x.cos(),   x.erf(),     x.sigmoid(), F::gelu(x),
                   p.pow(x), p.rsqrt(), p.log1p(), x.expm1(), atan2(x, p), p.lgamma()};
  }));
  rows.push_back(bits("casts_of_16_bits", [](const Device& d) {  // every pattern
    const Tensor h = patterns(kHalf, d), b = patterns(kBFloat16, d);
    return Outputs{h.to(kFloat), b.to(kFloat), h.to(kFloat) * 1.0009765625, h.to(kDouble), h.to(kBFloat16), b.to(kHalf), h + h, b * b};
  }));
  rows.push_back(bits("casts_to_16_bits", [](const Device& d) {  // ties, overflow, subnormals
    const Tensor x = (arange(1 << 20, kInt) * 4093).view(kFloat), finite = where(x.isfinite(), x, zeros_like(x)).to(d);
    return Outputs{finite.to(kHalf), finite.to(kBFloat16), finite.to(kDouble).to(kHalf), (finite / 65536).to(kLong)};
  }));
  for (const auto& [type, name] : {Type{kFloat, "f32"}, Type{kHalf, "f16"}, Type{kDouble, "f64"}, Type{kByte, "u8"}}) {
    const ScalarType t = type;
    rows.push_back(bits(std::string("transpose_") + name, [=](const Device& d) {
      return Outputs{values({192, 320}, t, d).t().contiguous(), values({3, 65, 33}, t, d).permute({2, 1, 0}).contiguous()};
    }));
  }
}

void add_reductions(std::vector<SmokeRow>& rows) {
  for (const auto& [type, name] : kFloats) {
    const ScalarType t = type;
    // Rows of a few threads, a warp, vectors, long ones through shared memory, split ones; columns.
    rows.push_back(bits(std::string("sums_") + name, [=](const Device& d) {
      Outputs sums;
      for (const int64_t length : {7, 32, 202, 512, 1024, 1030, 4096}) sums.push_back(values({40, length}, t, d).sum(1));
      sums.push_back(values({2, 70000}, t, d).sum(1));
      sums.push_back(values({100001}, t, d).sum());
      for (const int64_t length : {30, 2000}) sums.push_back(values({length, 96}, t, d).sum(0));
      return sums;
    }));
    rows.push_back(bits(std::string("softmax_") + name, [=](const Device& d) {
      Outputs y;
      for (const int64_t length : {10, 128, 202, 1000, 1024, 2048}) y.push_back(values({24, length}, t, d).softmax(1));
      return y;
    }));
  }
  rows.push_back(bits("softmax_long_rows", [](const Device& d) {  // as much shared memory as a block may have, and more
    return Outputs{values({3, 40000}, kFloat, d).softmax(1), values({2, 70000}, kFloat, d).softmax(1),
                   values({2, 65536}, kHalf, d).log_softmax(1)};
  }));
  rows.push_back(bits("sums_of_many_blocks", [](const Device& d) {  // whose values pass through shared memory, in one tile and in several
    const Tensor x = values({3, 530001}, kFloat, d);
    return Outputs{x.sum(1), x.argmax(1), x.to(kDouble).amax(1), x.mean(), values({(1 << 24) + 70001}, kFloat, d).sum()};
  }));
  rows.push_back(bits("norms", [](const Device& d) {
    const Tensor x = values({32, 768}, kFloat, d), long_rows = values({4, 4096}, kFloat, d), image = values({4, 16, 12, 12}, kFloat, d);
    return Outputs{F::layer_norm(x, F::LayerNormFuncOptions({768})), F::layer_norm(long_rows, F::LayerNormFuncOptions({4096})),
                   F::layer_norm(x.to(kHalf), F::LayerNormFuncOptions({768})), group_norm(image, 4), image.var({0, 2, 3}, true)};
  }));
  rows.push_back(bits("extremes_and_places", [](const Device& d) {
    const Tensor x = values({64, 513}, kFloat, d), i = values({64, 513}, kLong, d);
    return Outputs{x.argmax(1), x.amax(0),      std::get<1>(x.min(0)), i.sum(1),     i.prod(1),
                   i.amax(1),   (x > 0).any(1), (x > -3).all(0),       (x > 0).sum()};
  }));
}

void add_scans_and_calls(std::vector<SmokeRow>& rows) {
  rows.push_back(bits("scans", [](const Device& d) {
    const Tensor x = values({24, 1000}, kFloat, d), i = values({6, 20000}, kLong, d);
    return Outputs{x.cumsum(1),
                   x.cumsum(0),
                   values({2, 30000}, kFloat, d).cumsum(1),
                   i.cumsum(1),
                   std::get<0>(x.cummax(1)),
                   std::get<1>(x.cummin(0)),
                   (x * 0.1 + 1).cumprod(1),
                   x.to(kDouble).cumsum(1),
                   x.to(kHalf).cumsum(1)};
  }));
  rows.push_back(
      bits("scans_across_and_of_short_lines", [](const Device& d) {  // a thread for each line or a few for each; few lines in pieces
        const Tensor many = values({60, 40000}, kLong, d), columns = values({600, 2000}, kFloat, d);
        return Outputs{many.cumsum(0), columns.cumsum(0), values({1000, 20}, kInt, d).cumsum(0), values({9000, 20}, kLong, d).cumsum(1),
                       values({40000, 10}, kInt, d).cumsum(1)};
      }));
  rows.push_back(bits("sort", [](const Device& d) {
    const Tensor x = values({7, 300}, kFloat, d), line = values({20000}, kFloat, d), i = values({9000}, kInt, d);
    return Outputs{std::get<0>(x.sort(1)),     std::get<1>(x.sort(1, true)), std::get<0>(line.sort()), i.argsort(),
                   std::get<0>(line.topk(10)), std::get<1>(x.topk(5, 1))};
  }));
  rows.push_back(bits("scatter", [](const Device& d) {
    const Tensor base = values({100, 16}, kFloat, d), source = values({3000, 16}, kFloat, d);
    const Tensor rows_of = (arange(3000) * 7 % 100).to(d), hot = (arange(3000) % 3).to(d);
    return Outputs{base.index_add(0, rows_of, source), base.index_add(0, hot, source),
                   base.scatter_add(1, (arange(1600).reshape({100, 16}) % 16).to(d), base), base.index_fill(0, hot.slice(0, 0, 3), 5)};
  }));
  rows.push_back(bits("gather_and_embedding", [](const Device& d) {
    const Tensor table = values({500, 64}, kFloat, d).requires_grad_(), i = (arange(2048) * 37 % 500).to(d);
    const Tensor y = embedding(table, i);
    (y * y).sum().backward();
    const Tensor grad = table.grad();
    return Outputs{y.detach(), grad, table.detach().gather(0, (arange(640).reshape({10, 64}) % 500).to(d)),
                   table.detach().index_select(1, (arange(8) * 5).to(d))};
  }));
  rows.push_back(bits("masks", [](const Device& d) {
    const Tensor x = values({40, 333}, kFloat, d);
    return Outputs{x.masked_select(x > 0.5), x.nonzero(), x.masked_fill(x < 0, 7), x.masked_scatter(x > 1, x.neg()), x.index({x > 1.5})};
  }));
  rows.push_back(bits("joins", [](const Device& d) {
    const Tensor a = values({30, 64}, kFloat, d), b = values({30, 7}, kFloat, d);
    Outputs parts;
    for (int i = 0; i < 20; ++i) parts.push_back(a + i);
    return Outputs{cat({a, b * 2, a}, 1), cat({a, a.flip(0)}, 0), stack(parts, 1), cat({a.to(kHalf), b.to(kHalf)}, 1)};
  }));
  rows.push_back(bits("checks_in_kernels", [](const Device& d) {
    const Tensor i = values({500}, kLong, d);
    return Outputs{floor_divide(i, i.abs() + 1), one_hot((i.abs() % 7), 7), F::cross_entropy(values({500, 7}, kFloat, d), i.abs() % 7)};
  }));
  rows.push_back(near("philox", 1e-6,
                      [](const Device& d) {  // words of the generator are PyTorch's on a GPU: moments alone compare
                        const Device there = d;
                        manual_seed(5);
                        const Tensor u = rand({1 << 16}, TensorOptions(there));
                        return Outputs{(u.mean() - 0.5).abs() < 0.01, (u.var() - 1 / 12.).abs() < 0.01, (u >= 0).all(), (u < 1).all(),
                                       (randn({1 << 16}, TensorOptions(there)).var() - 1).abs() < 0.05};
                      }));
  rows.push_back(bits("copies_and_views", [](const Device& d) {
    const Tensor x = values({64, 48}, kFloat, d), y = x.clone();
    y.slice(1, 3, 9).mul_(2);
    y.t().add_(1);
    return Outputs{y, x.slice(0, 1, 60, 3).contiguous(), x.unfold(1, 8, 4).sum(2), x.expand({3, 64, 48}).contiguous(),
                   x.as_strided({5, 5}, {7, 2}, 3).clone()};
  }));
}

Tensor product(IntArrayRef a, IntArrayRef b, ScalarType type, const Device& d) {
  return values(a, type, d, 3).matmul(values(b, type, d, 4));
}

void add_products(std::vector<SmokeRow>& rows) {
  // Shapes for which the model takes each of its tiles on a GPU of 132 multiprocessors. By threads sums have
  // the CPU's order, so its bits.
  struct Shape {
    const char* name;
    int64_t batch, m, n, k;
  };
  const Shape by_threads[] = {{"128x128", 16, 512, 512, 72}, {"128x64", 1, 512, 4096, 72}, {"64x64", 500, 48, 48, 72},
                              {"32x32", 1, 48, 4096, 300},   {"16x16", 1, 9, 8, 300},      {"16x256", 16, 16, 4096, 72},
                              {"256x16", 16, 4096, 16, 72},  {"8x256", 16, 8, 4096, 72},   {"256x8", 16, 4096, 8, 72},
                              {"16x64", 500, 8, 48, 72},     {"64x16", 500, 48, 8, 72},    {"vector", 1, 1, 512, 700},
                              {"tiny", 500, 3, 3, 3},        {"odd", 12, 33, 65, 41}};
  const Shape by_warps[] = {{"128x128", 16, 512, 512, 72}, {"chains", 16, 512, 512, 264}, {"128x64", 16, 4096, 48, 72},
                            {"64x128", 16, 48, 4096, 72},  {"64x64", 500, 48, 48, 72},    {"32x32", 1, 9, 8, 1000},
                            {"128x16", 16, 4096, 8, 72},   {"16x128", 16, 8, 4096, 72},   {"odd", 3, 77, 83, 91}};
  const auto some = [](int64_t size) { return size >= 500 ? large(size) : size; };
  const auto of_shape = [=](const Shape& s, ScalarType type, const Device& d) {
    return Outputs{product({some(s.batch), some(s.m), s.k}, {some(s.batch), s.k, some(s.n)}, type, d)};
  };
  for (const Shape& s : by_threads) {
    rows.push_back({std::string("product_f32_") + s.name, 0, [=](const Device& d) { return of_shape(s, kFloat, d); }, true});
  }
  rows.push_back(bits("product_f64_i64", [](const Device& d) {
    return Outputs{product({70, 60}, {60, 50}, kDouble, d), product({70, 60}, {60, 50}, kLong, d), product({33, 20}, {20, 10}, kInt, d)};
  }));
  for (const auto& [type, name] : kHalves) {
    const ScalarType t = type;
    for (const Shape& s : by_warps) {
      if (t == kBFloat16 && s.name != std::string("64x64") && s.name != std::string("odd")) continue;  // the tiles are the same
      rows.push_back(near(
          std::string("mma_") + name + "_" + s.name, bound_of(t), [=](const Device& d) { return of_shape(s, t, d); }, true));
    }
    rows.push_back(near(
        std::string("mma_") + name + "_fused", bound_of(t),
        [=](const Device& d) {  // prologue, views, epilogue
          const Tensor a = values({200, 136}, t, d), w = values({264, 136}, t, d), b = values({264}, t, d);
          return Outputs{F::gelu(F::linear(a * 0.5, w, b)), F::linear(a, w).t().contiguous(), a.t().matmul(a)};
        },
        true));
  }
  // By the library: another order of sums.
  rows.push_back(near("cublas_f32", 1e-5, [](const Device& d) {
    return Outputs{product({large(1280), 2048}, {2048, large(1280)}, kFloat, d),
                   values({large(1280), 320}, kFloat, d).t().matmul(values({large(1280), 320}, kFloat, d)),
                   product({3, 320, large(1280)}, {3, large(1280), 320}, kFloat, d)};
  }));
  for (const auto& [type, name] : kHalves) {
    const ScalarType t = type;
    rows.push_back(near(std::string("cublas_") + name, bound_of(t), [=](const Device& d) {
      return Outputs{product({large(1280), 2048}, {2048, large(1280)}, t, d), product({16, large(4096)}, {large(4096), large(4096)}, t, d)};
    }));
  }
  rows.push_back(bits("conv_f32", [](const Device& d) {
    const Tensor x = values({4, 6, 20, 20}, kFloat, d), w = values({16, 6, 5, 5}, kFloat, d), b = values({16}, kFloat, d);
    return Outputs{F::conv2d(x, w, F::Conv2dFuncOptions().bias(b).padding(2)).relu(), F::conv2d(x, w, F::Conv2dFuncOptions().stride(2)),
                   F::max_pool2d(x, F::MaxPool2dFuncOptions(2))};
  }));
  rows.push_back(bits("windows_f32", [](const Device& d) {  // of few channels, in many blocks
    const Tensor x = values({large(256), 3, 32, 32}, kFloat, d), w = values({16, 3, 3, 3}, kFloat, d), b = values({16}, kFloat, d);
    const Tensor y = values({large(256), 1, 28, 28}, kFloat, d), v = values({20, 1, 5, 5}, kFloat, d);
    return Outputs{F::conv2d(x, w, F::Conv2dFuncOptions().bias(b).padding(1)).relu(),
                   F::conv2d(y, v, F::Conv2dFuncOptions().stride(2)).tanh()};
  }));
  for (const auto& [type, name] : kHalves) {  // small, and in copies with the channels last
    const ScalarType t = type;
    for (const int64_t images : {int64_t{4}, large(256)}) {
      rows.push_back(near(std::string(images == 4 ? "conv_" : "conv_large_") + name, bound_of(t), [=](const Device& d) {
        Tensor x = values({images, 24, 20, 20}, t, d), w = values({32, 24, 3, 3}, t, d);
        for (Tensor* leaf : {&x, &w}) leaf->requires_grad_();
        const Tensor y = F::conv2d(x, w, F::Conv2dFuncOptions().padding(1)).relu(),
                     z = F::conv2d(x, w, F::Conv2dFuncOptions().stride(2).dilation(2));
        (y.to(kFloat).mean() + z.to(kFloat).mean()).backward();
        return Outputs{y.detach(), z.detach(), x.grad(), w.grad()};
      }));
    }
  }
}

// Forward, and the gradients of all three.
Outputs attend(IntArrayRef sizes, ScalarType type, bool causal, const Device& d) {
  Tensor q = values(sizes, type, d, 5), k = values(sizes, type, d, 6), v = values(sizes, type, d, 7);
  for (Tensor* x : {&q, &k, &v}) x->requires_grad_();
  const Tensor y = scaled_dot_product_attention(q, k, v, {}, 0.0, causal);
  (y * y).sum().backward();
  return {y.detach(), q.grad(), k.grad(), v.grad()};
}

void add_attention(std::vector<SmokeRow>& rows) {
  for (const auto& [type, name] : {Type{kFloat, "f32"}, Type{kHalf, "f16"}, Type{kBFloat16, "bf16"}}) {
    const ScalarType t = type;
    const double bound = t == kFloat ? 1e-4 : 4 * bound_of(t);
    rows.push_back(near(std::string("attention_") + name, bound, [=](const Device& d) { return attend({2, 3, 150, 64}, t, false, d); }));
    rows.push_back(near(std::string("attention_causal_") + name, bound, [=](const Device& d) {
      return attend({1, 2, 200, 40}, t, true, d);
    }));
  }
  rows.push_back(near("attention_f16_128", 4 * kHalfBound, [](const Device& d) { return attend({1, 2, 130, 128}, kHalf, true, d); }));
}

void add_training(std::vector<SmokeRow>& rows) {
  rows.push_back(bits("optimizers", [](const Device& d) {
    Outputs after;
    const auto train = [&](auto make) {
      manual_seed(2);
      nn::Sequential net(nn::Linear(12, 32), nn::Tanh(), nn::Linear(32, 4));
      net->to(d);
      auto optimizer = make(net->parameters());
      const Tensor x = values({64, 12}, kFloat, d), y = values({64, 4}, kFloat, d, 2);
      for (int step = 0; step < 4; ++step) {
        optimizer.zero_grad();
        F::mse_loss(net->forward(x), y).backward();
        optimizer.step();
      }
      for (const Tensor& p : net->parameters()) after.push_back(p.detach());
    };
    train([](auto p) { return optim::Adam(p, optim::AdamOptions(0.01).weight_decay(0.1)); });
    train([](auto p) { return optim::SGD(p, optim::SGDOptions(0.01).momentum(0.9)); });
    return after;
  }));
}

}  // namespace

std::vector<SmokeRow> smoke_rows() {
  std::vector<SmokeRow> rows;
  for (const auto add : {add_maps, add_reductions, add_scans_and_calls, add_products, add_attention, add_training}) add(rows);
  return rows;
}

}  // namespace tenon::test
