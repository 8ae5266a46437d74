// Memory that the program knows too: an operation reads it when LibTorch would read it, at its call. Each program
// here writes, reuses or frees the memory as soon as LibTorch allows it, and the numbers are LibTorch's.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <thread>
#include <utility>
#include <vector>

#include "frontend/src/tensor/impl.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr int64_t kSmall = 8;         // elements: copied when read
constexpr int64_t kLarge = 64 << 10;  // elements: the smaller of operand and result is stored

// Pages of their own. Once they are freed any access is a fault, from generated code as well.
template <typename T>
struct Block {
  explicit Block(int64_t count, T value = T(1)) : count(count), data(static_cast<T*>(mapped(bytes()))) { fill(value); }
  ~Block() { free(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void fill(T value) { std::fill(data, data + count, value); }
  void free() {
    if (data) munmap(std::exchange(data, nullptr), bytes());
  }
  size_t bytes() const { return static_cast<size_t>(count) * sizeof(T); }
  static void* mapped(size_t bytes) {
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    return pages;
  }
  int64_t count;
  T* data;
};

double first(const Tensor& x) { return x.flatten()[0].item<double>(); }
double last(const Tensor& x) { return x.flatten()[-1].item<double>(); }

}  // namespace

TEST_CASE("outside: threads that ask for an address at the same time get the same one") {
  for (int round = 0; round < 200; ++round) {
    const Tensor x = arange(round + 1).to(kFloat) * 1;
    if (round % 2) eval(x);
    std::vector<void*> addresses(4);
    std::vector<std::thread> threads;
    for (void*& address : addresses) threads.emplace_back([&] { address = x.data_ptr(); });
    for (std::thread& thread : threads) thread.join();
    for (void* address : addresses) CHECK(address == x.data_ptr());
  }
}

TEST_CASE("outside memory: an operation does not see what is written after its call") {
  struct Case {
    const char* name;
    Tensor (*run)(const Tensor&);
    double want;  // of memory full of 3
  };
  const Case cases[] = {
      {"elementwise", [](const Tensor& x) { return x * 2; }, 6},
      {"two in one", [](const Tensor& x) { return x.mul(2).add(1).square(); }, 49},
      {"the same twice", [](const Tensor& x) { return x * x + x; }, 12},
      {"cast up", [](const Tensor& x) { return x.to(kDouble) / 2; }, 1.5},
      {"cast down", [](const Tensor& x) { return x.to(kByte); }, 3},
      {"reduction", [](const Tensor& x) { return x.mean() * 5; }, 15},
      {"row of a view",
       [](const Tensor& x) {
         return x.view({4, -1})[1] + 1;
       },
       4},
      {"every second", [](const Tensor& x) { return x.slice(0, 0, nullopt, 2) + 1; }, 4},
      {"flipped", [](const Tensor& x) { return x.flip({0}); }, 3},
      {"transposed",
       [](const Tensor& x) {
         return x.view({4, -1}).t().contiguous();
       },
       3},
      {"clone", [](const Tensor& x) { return x.clone(); }, 3},
      {"expanded",
       [](const Tensor& x) {
         return x.view({1, -1}).expand({3, -1}) + 0.5;
       },
       3.5},
      {"joined",
       [](const Tensor& x) {
         return cat({x, x.flip({0})});
       },
       3},
      {"stacked",
       [](const Tensor& x) {
         return stack({x, x});
       },
       3},
      {"padded",
       [](const Tensor& x) {
         return constant_pad_nd(x, {0, 2}, 3);
       },
       3},
      {"bits", [](const Tensor& x) { return x.view(kInt).view(kFloat) + 1; }, 4},
      {"product",
       [](const Tensor& x) {
         return x.view({4, -1}).matmul(x.view({4, -1}).t()) * 0 + x[0];
       },
       3},
      {"sorted", [](const Tensor& x) { return std::get<0>(x.sort()) + std::get<1>(x.sort()) * 0; }, 3},
      {"scan", [](const Tensor& x) { return x.cumsum(0) / x.cumsum(0) * 3; }, 3},
      {"indexed",
       [](const Tensor& x) {
         return x.index({tensor({1, 0, 2})});
       },
       3},
      {"masked", [](const Tensor& x) { return x.masked_select(x > 1); }, 3},
      {"where", [](const Tensor& x) { return where(x > 1, x, x * 0); }, 3},
      {"folded away", [](const Tensor& x) { return x * 1 + 0; }, 3},
      {"written elsewhere", [](const Tensor& x) { return zeros_like(x).add_(x); }, 3},
      {"copied elsewhere", [](const Tensor& x) { return zeros_like(x).copy_(x); }, 3},
      {"put elsewhere", [](const Tensor& x) { return full_like(x, 3).index_put_({indexing::Slice(0, 4)}, x.slice(0, 0, 4)); }, 3},
      {"scattered", [](const Tensor& x) { return full_like(x, 9).scatter_(0, arange(x.numel()), x); }, 3},
      {"over a pending value", [](const Tensor& x) { return (ones(x.numel()) + 1) * x; }, 6},
      {"out",
       [](const Tensor& x) {
         Tensor out = empty({0});
         return add_out(out, x, x);
       },
       6},
      {"data",
       [](const Tensor& x) {
         Tensor y = zeros({1});
         y.set_data(x);
         return y + 1;
       },
       4},
      {"detached", [](const Tensor& x) { return x.detach() + 1; }, 4},
      {"parameter", [](const Tensor& x) { return x.clone().requires_grad_() * x; }, 9},
  };
  for (int64_t count : {kSmall, kLarge}) {
    for (const Case& c : cases) {
      CAPTURE(c.name);
      CAPTURE(count);
      Block<float> block(count, 3);
      Tensor blob = from_blob(block.data, {count});
      const Tensor freed = c.run(blob), overwritten = c.run(blob);
      block.fill(-7);
      CHECK(first(overwritten) == c.want);
      block.free();
      CHECK(first(freed) == c.want);
      CHECK(last(freed) == c.want);

      Tensor given = full({count}, 3.0);  // its address is given away
      float* p = given.data_ptr<float>();
      const Tensor after = c.run(given);
      std::fill(p, p + count, -7.f);
      CHECK(first(after) == c.want);
      CHECK(last(after) == c.want);
      CHECK(first(given) == -7);
    }
  }
}

TEST_CASE("outside memory: a camera's loop over one buffer") {
  constexpr int64_t h = 60, w = 80;
  Block<uint8_t> frame(h * w * 3);
  std::vector<Tensor> images;
  Tensor total = zeros({h, w, 3});
  for (int i = 1; i <= 5; ++i) {
    frame.fill(static_cast<uint8_t>(i * 10));
    Tensor image = from_blob(frame.data, {h, w, 3}, kByte).to(kFloat) / 255;
    images.push_back(image.permute({2, 0, 1}));
    total += image;
  }
  frame.free();
  for (int i = 1; i <= 5; ++i) CHECK(first(images[static_cast<size_t>(i - 1)]) == doctest::Approx(i * 10 / 255.0));
  CHECK(last(total) == doctest::Approx(150 / 255.0));
}

TEST_CASE("outside memory: a write between two reads is seen by the second alone") {
  for (int64_t count : {kSmall, kLarge}) {
    Block<int64_t> block(count, 1);
    const Tensor x = from_blob(block.data, {count}, kLong);
    const Tensor before = x + 10;
    block.fill(2);
    const Tensor after = x + 10;  // the same operation on the same memory
    block.fill(3);
    CHECK(first(before) == 11);
    CHECK(first(after) == 12);
    CHECK(first(x) == 3);
    CHECK(first(x + 10) == 13);
  }
}

TEST_CASE("outside memory: what is written into a tensor lands there before the call returns") {
  for (int64_t count : {kSmall, kLarge}) {
    Block<float> block(count, 1);
    Tensor x = from_blob(block.data, {count});
    const float& element = block.data[2];
    const Tensor before = x * 3;
    x += 1;
    CHECK(element == 2);
    x.slice(0, 1, 3).mul_(5);
    CHECK(element == 10);
    x[2] = 4;
    CHECK(element == 4);
    const Tensor between = x * 3;
    x.copy_(full({count}, 8.0));
    CHECK(element == 8);
    x.index_put_({tensor({2, 3})}, tensor({1.5f, 2.5f}));
    CHECK(element == 1.5);
    x.view({2, -1}).t().zero_();
    CHECK(element == 0);
    CHECK(before[2].item<float>() == 3);
    CHECK(between[2].item<float>() == 12);
  }
}

TEST_CASE("outside memory: accessor writes in a loop") {
  for (int64_t count : {kSmall, kLarge}) {
    Tensor x = zeros({2, count});
    auto a = x.accessor<float, 2>();
    std::vector<Tensor> rows;
    for (int i = 0; i < 4; ++i) {
      for (int64_t k = 0; k < count; ++k) a[1][k] = static_cast<float>(i);
      rows.push_back(x[1] * 2);
    }
    for (int i = 0; i < 4; ++i) CHECK(last(rows[static_cast<size_t>(i)]) == 2 * i);
  }
}

TEST_CASE("outside memory: DLPack, both ways") {
  for (int64_t count : {kSmall, kLarge}) {
    const Tensor x = arange(count, kFloat);
    DLManagedTensor* given = toDLPack(x);
    auto* memory = static_cast<float*>(given->dl_tensor.data);
    const Tensor before = x + 1;
    memory[1] = 50;  // the consumer writes
    const Tensor after = x + 1;
    memory[1] = 60;
    CHECK(before[1].item<float>() == 2);
    CHECK(after[1].item<float>() == 51);
    Tensor back = fromDLPack(given);  // another tensor over the same memory
    const Tensor mine = back * 2;
    x[1] = 70;
    CHECK(mine[1].item<float>() == 120);
    CHECK(back[1].item<float>() == 70);
    CHECK(first(back.flip({0})) == count - 1);
  }
}

TEST_CASE("outside memory: a layer over weights from a file's buffer") {
  Block<float> weights(16 * 512, 0.5f), bias(16, 1);
  nn::Linear layer(512, 16);
  {
    NoGradGuard no_grad;
    layer->weight.set_data(from_blob(weights.data, {16, 512}));
    layer->bias.set_data(from_blob(bias.data, {16}));
  }
  const Tensor y = layer->forward(ones({3, 512})).relu();
  weights.free();
  bias.free();
  CHECK(first(y) == 257);
  CHECK(last(y) == 257);
}

TEST_CASE("outside memory: a loader's samples over one buffer") {
  Block<float> block(4);
  struct Set : data::datasets::Dataset<Set> {
    float* memory;
    data::Example<> get(size_t i) override {
      std::fill(memory, memory + 4, static_cast<float>(i));
      return {from_blob(memory, {4}) * 2, full({}, static_cast<int64_t>(i))};
    }
    optional<size_t> size() const override { return 6; }
  } set;
  set.memory = block.data;
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(set.map(data::transforms::Stack<>()), 3);
  double sum = 0;
  for (auto& batch : *loader) sum += batch.data.sum().item<double>();
  CHECK(sum == 8 * 15);
}

TEST_CASE("outside memory: from threads that share it") {
  Block<float> block(kLarge, 2);
  const Tensor x = from_blob(block.data, {kLarge});
  std::vector<std::thread> threads;
  std::vector<double> sums(4);
  for (size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      Tensor y = x * static_cast<double>(t + 1);
      for (int i = 0; i < 20; ++i) y = y + x.slice(0, 0, 5).sum() - 10;
      sums[t] = y.mean().item<double>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < sums.size(); ++t) CHECK(sums[t] == 2.0 * static_cast<double>(t + 1));
}

TEST_CASE("outside memory: who only reads changes nothing") {
  Tensor x = full({kLarge}, 2.0);
  x += 1;
  eval(x);
  const float* memory = x.const_data_ptr<float>();
  CHECK(x.data_ptr<const float>() == memory);
  const auto a = x.accessor<const float, 1>();
  CHECK(a[5] == 3);
  CHECK(first(x) == 3);
  CHECK_FALSE(impl(x).storage().exposed());
  reset_counters();
  const Tensor y = x * 2, z = y + 1;
  CHECK(counters().launches == 0);
  x += 4;
  CHECK(counters().launches == 0);
  CHECK(first(z) == 7);
  CHECK(first(x) == 7);
  CHECK(memory[5] == 3);  // as it was at the call, and not freed
  CHECK(a[kLarge - 1] == 3);
  CHECK(x.const_data_ptr<float>()[5] == 7);
  CHECK(x.const_data_ptr<float>() == x.data_ptr<float>());
  const Tensor sent = x * 2;
  CHECK(x.const_data_ptr() == x.data_ptr());
}

TEST_CASE("outside memory: what is stored at the call is the smaller of what is read and what comes of it") {
  Block<uint8_t> bytes(kLarge);
  const Tensor x = from_blob(bytes.data, {kLarge}, kByte);
  reset_counters();
  const Tensor image = x.to(kFloat) / 255;
  CHECK(counters().launches == 0);  // the bytes were copied
  (void)image.sum().item();
  CHECK(counters().launches == 1);
  reset_counters();
  const Tensor sum = x.sum();
  CHECK(counters().launches == 1);
  Block<float> bias(kLarge / 64);
  const Tensor b = from_blob(bias.data, {kLarge / 64});
  const Tensor wide = rand({64, kLarge / 64});
  reset_counters();
  const Tensor shifted = wide * 2 + b;
  CHECK(counters().launches == 0);
  bias.free();
  CHECK((shifted == wide * 2 + 1).all().item<bool>());
}

TEST_CASE("outside memory: promised not to change, it is read in place and late") {
  Block<float> block(kLarge, 3);
  Tensor x = from_blob(block.data, {kLarge}).promise_unchanged();
  const MemoryStats before = memory_stats();
  reset_counters();
  const Tensor y = (x * 2 + 1).sum() / kLarge;
  CHECK(counters().launches == 0);
  CHECK(y.item<float>() == 7);
  CHECK(counters().launches == 1);
  CHECK(memory_stats().allocated - before.allocated < 4096);
  const Tensor pending = x * 2;
  x += 1;  // still lands there, and pending readers are spared
  CHECK(block.data[9] == 4);
  CHECK(first(pending) == 6);
  CHECK(x.data_ptr() == block.data);
  const Tensor copy = x.clone();
  x.zero_();
  CHECK(first(copy) == 4);
  CHECK_THROWS_AS(Tensor().promise_unchanged(), Error);
}

TEST_CASE("outside memory: gradients of what is read through views inside of an operation") {
  using List = std::vector<Tensor>;
  const struct {
    const char* name;
    std::vector<std::vector<int64_t>> shapes;
    Tensor (*call)(const List&);
  } cases[] = {
      {"linear", {{4, 5}, {3, 5}, {3}}, [](const List& t) { return linear(t[0], t[1], t[2]); }},
      {"addmm", {{3}, {4, 5}, {5, 3}}, [](const List& t) { return addmm(t[0], t[1], t[2]); }},
      {"baddbmm", {{2, 4, 3}, {2, 4, 5}, {2, 5, 3}}, [](const List& t) { return baddbmm(t[0], t[1], t[2]); }},
      {"addmv", {{4}, {4, 5}, {5}}, [](const List& t) { return addmv(t[0], t[1], t[2]); }},
      {"attention", {{2, 4, 5}, {2, 4, 5}, {2, 4, 5}}, [](const List& t) { return scaled_dot_product_attention(t[0], t[1], t[2]); }},
      {"prelu", {{4, 3}, {3}}, [](const List& t) { return prelu(t[0], t[1]); }},
      {"roll", {{4, 5}}, [](const List& t) { return t[0].roll({1}, {1}); }},
      {"cdist", {{4, 3}, {5, 3}}, [](const List& t) { return cdist(t[0], t[1]); }},
      {"conv2d", {{2, 3, 6, 6}, {4, 3, 3, 3}, {4}}, [](const List& t) { return conv2d(t[0], t[1], t[2]); }},
      {"by itself", {{4, 4}}, [](const List& t) { return matmul(t[0], t[0].t()); }},
      {"detached", {{4, 4}}, [](const List& t) { return linear(t[0].detach(), t[0], t[0][1]); }},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const auto gradients = [&](uint32_t exposed) {
      manual_seed(3);
      List in;
      for (const auto& shape : c.shapes) in.push_back(randn(shape, kDouble).requires_grad_());
      eval(in);
      for (size_t i = 0; i < in.size(); ++i) {
        if (exposed >> i & 1) static_cast<void>(in[i].data_ptr());
      }
      const Tensor y = c.call(in);
      return autograd::grad({(y * y.detach().cos()).sum()}, in);
    };
    const List wanted = gradients(0);
    for (uint32_t exposed = 1; exposed < 1u << c.shapes.size(); ++exposed) {
      CAPTURE(exposed);
      const List got = gradients(exposed);
      for (size_t i = 0; i < got.size(); ++i) CHECK(allclose(got[i], wanted[i]));
    }
  }
}

}  // namespace tenon
