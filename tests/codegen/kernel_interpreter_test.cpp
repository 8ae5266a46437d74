// The kernel interpreter on hand-written kernels, against straightforward loops.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "codegen/interpreter/interpreter.h"
#include "ir/kernel/kernel_builder.h"

using namespace tenon;
using namespace tenon::ir;

namespace {

std::vector<float> random_floats(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(static_cast<double>(random() % 20000) / 5000.0 - 2.0);
  return values;
}

void run(const std::string& text, std::vector<void*> buffers, std::vector<uint64_t> scalars = {}) {
  Kernel kernel = parse_kernel(text);
  verify(kernel);
  codegen::interpret(kernel, buffers.data(), scalars.data());
}

std::string number(int64_t n) { return std::to_string(n); }

// By the letter of ir/op/sum_order.h: parts added in order, what each addition rounds away kept beside the sum.
struct ChainTotal {
  float sum = 0, rest = 0;
  void add(float part) {
    const float next = sum + part;
    rest += part - (next - sum);
    sum = next;
  }
  void add(const ChainTotal& other) {
    rest += other.rest;
    add(other.sum);
  }
  float value() const { return sum + rest; }
};

// Elements in order: up to 16 of a lane one by one, more in chains of 4 and a total.
float in_chains(const std::vector<std::vector<float>>& chains, bool one) {
  ChainTotal total;
  float sum = 0;
  for (const std::vector<float>& chain : chains) {
    float of_chain = 0;
    for (float x : chain) (one ? sum : of_chain) += x;
    total.add(of_chain);
  }
  return one ? sum : total.value();
}

template <typename Lane>
Lane fold(std::vector<Lane> lanes, void (*add)(Lane&, const Lane&)) {
  for (size_t half = 32; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) add(lanes[j], lanes[j + half]);
  }
  return lanes[0];
}

// The sum of one row by the letter of ReduceTree: 64 lanes, blocks, folds by halves. `rows` of `columns`
// elements.
float lanes_sum(const float* x, int64_t rows, int64_t columns) {
  const int64_t together = columns >= 4096 ? 1 : std::min(rows, 4096 / columns), length = std::min<int64_t>(columns, 4096);
  std::vector<float> blocks;
  for (int64_t first = 0; first < rows; first += together) {
    for (int64_t begin = 0; begin < columns; begin += length) {
      std::vector<float> lanes;
      for (int64_t lane = 0; lane < 64; ++lane) {
        std::vector<std::vector<float>> chains;
        for (int64_t o = first; o < std::min(rows, first + together); ++o) {
          for (int64_t i = begin + lane; i < std::min(columns, begin + length); i += 64) {
            if ((i - begin) / 64 % 4 == 0) chains.emplace_back();
            chains.back().push_back(x[o * columns + i]);
          }
        }
        lanes.push_back(in_chains(chains, together * ((length + 63) / 64) <= 16));
      }
      blocks.push_back(fold<float>(lanes, [](float& a, const float& b) { a += b; }));
    }
  }
  if (blocks.size() == 1) return blocks[0];
  std::vector<ChainTotal> lanes(64);
  for (size_t b = 0; b < blocks.size(); ++b) lanes[b % 64].add(blocks[b]);
  return fold<ChainTotal>(lanes, [](ChainTotal& a, const ChainTotal& b) { a.add(b); }).value();
}

float columns_sum(const std::vector<float>& x) {
  ChainTotal total;
  float block = 0;
  for (size_t begin = 0; begin < x.size(); begin += 256) {
    std::vector<std::vector<float>> chains;
    for (size_t o = begin; o < std::min(x.size(), begin + 256); ++o) {
      if (o % 4 == 0) chains.emplace_back();
      chains.back().push_back(x[o]);
    }
    total.add(block = in_chains(chains, x.size() <= 16));
  }
  return x.size() <= 256 ? block : total.value();
}

std::string row_sum(int64_t rows, int64_t outer, int64_t inner) {
  int64_t n = rows * outer * inner;
  return "kernel @row_sum(x: f32 in[" + number(n) + "], y: f32 out[" + number(rows) + "]) {\n" + "  axes r: " + number(rows) +
         " parallel, o: " + number(outer) + " inner, i: " + number(inner) + " inner\n" + "  map r o i    : %0 = load x[" +
         number(outer * inner) + "*r + " + number(inner) + "*o + i] : f32\n" + "  reduce r|o i : %1 = reduce.sum %0 lanes : f32\n" +
         "  map r        : store y[r], %1\n}\n";
}

std::string softmax(int64_t rows, int64_t columns) {
  std::string n = number(rows * columns), at = "[" + number(columns) + "*r + c]";
  return "kernel @softmax(x: f32 in[" + n + "], y: f32 out[" + n + "]) {\n" + "  axes r: " + number(rows) +
         " parallel, c: " + number(columns) + " inner\n" + "  map r c    : %0 = load x" + at + " : f32\n" +
         "  reduce r|c : %1 = reduce.max %0 lanes : f32\n"
         "  map r c    : %2 = sub %0, %1 : f32\n"
         "  map r c    : %3 = exp %2 : f32\n"
         "  reduce r|c : %4 = reduce.sum %3 lanes : f32\n"
         "  map r c    : %5 = div %3, %4 : f32\n"
         "  map r c    : store y" +
         at + ", %5\n}\n";
}

}  // namespace

TEST_CASE("kernel interpreter: sums follow the tree of lanes to the bit") {
  struct Case {
    int64_t rows, outer, inner;
  };
  for (Case c : {Case{3, 1, 1},
                 {5, 1, 63},
                 {2, 1, 64},
                 {2, 1, 65},
                 {2, 1, 1024},
                 {2, 1, 1025},
                 {2, 16, 60},
                 {2, 17, 60},
                 {1, 1, 4095},
                 {1, 1, 4096},
                 {2, 1, 4097},
                 {1, 3, 5000},
                 {1, 1, 300000},
                 {2, 700, 7},
                 {1, 5, 1000},
                 {700, 1, 9},
                 {3, 9000, 1}}) {
    CAPTURE(c.rows);
    CAPTURE(c.outer);
    CAPTURE(c.inner);
    int64_t row = c.outer * c.inner;
    std::vector<float> x = random_floats(static_cast<size_t>(c.rows * row), 7), y(static_cast<size_t>(c.rows), -1);
    run(row_sum(c.rows, c.outer, c.inner), {x.data(), y.data()});
    for (int64_t r = 0; r < c.rows; ++r) CHECK(y[static_cast<size_t>(r)] == lanes_sum(x.data() + r * row, c.outer, c.inner));
  }
}

TEST_CASE("kernel interpreter: column sums add blocks of 256 in order") {
  for (int64_t rows : {1, 16, 17, 255, 256, 257, 3000}) {
    const int64_t columns = 5;
    std::vector<float> x = random_floats(static_cast<size_t>(rows * columns), 11), y(5);
    run("kernel @columns(x: f32 in[" + number(rows * columns) + "], y: f32 out[5]) {\n" + "  axes c: 5 parallel, o: " + number(rows) +
            " inner\n" +
            "  map c o    : %0 = load x[c + 5*o] : f32\n"
            "  reduce c|o : %1 = reduce.sum %0 columns : f32\n"
            "  map c      : store y[c], %1\n}\n",
        {x.data(), y.data()});
    for (int64_t c = 0; c < columns; ++c) {
      std::vector<float> column;
      for (int64_t o = 0; o < rows; ++o) column.push_back(x[static_cast<size_t>(o * columns + c)]);
      CHECK(y[static_cast<size_t>(c)] == columns_sum(column));
    }
  }
}

TEST_CASE("kernel interpreter: softmax, short rows, long rows and in place") {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{4, 3}, {1, 1}, {1000, 17}, {3, 2048}, {2, 5001}}) {
    CAPTURE(columns);
    std::vector<float> x = random_floats(static_cast<size_t>(rows * columns), 3), y(x.size());
    run(softmax(rows, columns), {x.data(), y.data()});
    double worst = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x.data() + r * columns;
      double sum = 0;
      for (int64_t c = 0; c < columns; ++c) sum += std::exp(static_cast<double>(row[c]));
      for (int64_t c = 0; c < columns; ++c) {
        worst = std::max(worst, std::fabs(std::exp(static_cast<double>(row[c])) / sum - y[static_cast<size_t>(r * columns + c)]));
      }
    }
    CHECK(worst < 1e-6);
    // the output may take over the input's memory
    run(softmax(rows, columns), {x.data(), x.data()});
    CHECK(std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("kernel interpreter: layer norm with two reductions, a scalar and weights by column") {
  const int64_t rows = 6, columns = 300;
  std::vector<float> x = random_floats(1800, 5), w = random_floats(300, 6), y(1800);
  run("kernel @layer_norm(x: f32 in[1800], w: f32 in[300], y: f32 out[1800], eps: f32 scalar, n: f32 scalar) "
      "{\n"
      "  axes r: 6 parallel, c: 300 inner\n"
      "  map r c    : %0 = load x[300*r + c] : f32\n"
      "  reduce r|c : %1 = reduce.sum %0 lanes : f32\n"
      "  map r      : %n = scalar n : f32\n"
      "  map r      : %mean = div %1, %n : f32\n"
      "  map r c    : %d = sub %0, %mean : f32\n"
      "  map r c    : %dd = mul %d, %d : f32\n"
      "  reduce r|c : %s = reduce.sum %dd lanes : f32\n"
      "  map r      : %var = div %s, %n : f32\n"
      "  map r      : %eps = scalar eps : f32\n"
      "  map r      : %ve = add %var, %eps : f32\n"
      "  map r      : %sd = sqrt %ve : f32\n"
      "  map r c    : %q = div %d, %sd : f32\n"
      "  map r c    : %w = load w[c] : f32\n"
      "  map r c    : %y = mul %q, %w : f32\n"
      "  map r c    : store y[300*r + c], %y\n}\n",
      {x.data(), w.data(), y.data()}, {constant(DType::F32, 1e-5).bits, constant(DType::F32, 300.0).bits});
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x.data() + r * columns;
    float mean = lanes_sum(row, 1, columns) / 300.0f;
    std::vector<float> squares;
    for (int64_t c = 0; c < columns; ++c) squares.push_back((row[c] - mean) * (row[c] - mean));
    float deviation = std::sqrt(lanes_sum(squares.data(), 1, columns) / 300.0f + 1e-5f);
    for (int64_t c = 0; c < columns; c += 37) {
      CHECK(y[static_cast<size_t>(r * columns + c)] == (row[c] - mean) / deviation * w[static_cast<size_t>(c)]);
    }
  }
}

TEST_CASE("kernel interpreter: argmax takes the first of equals, the first nan, and positions of the inner space") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::string text =
      "kernel @argmax(x: f32 in[24], y: i64 out[2], z: i64 out[2]) {\n"
      "  axes r: 2 parallel, o: 3 inner, i: 4 inner\n"
      "  map r o i    : %0 = load x[12*r + 4*o + i] : f32\n"
      "  reduce r|o i : %1 = reduce.argmax %0 lanes : i64\n"
      "  reduce r|o i : %2 = reduce.argmin %0 lanes : i64\n"
      "  map r        : store y[r], %1\n"
      "  map r        : store z[r], %2\n}\n";
  std::vector<float> x(24, 1.0f);
  int64_t y[2], z[2];
  x[6] = x[9] = 5;
  x[12 + 11] = -3;
  run(text, {x.data(), y, z});
  CHECK(y[0] == 6);
  CHECK(y[1] == 0);
  CHECK(z[0] == 0);
  CHECK(z[1] == 11);
  std::fill(x.begin(), x.end(), -inf);
  x[12 + 7] = x[12 + 4] = nan;
  run(text, {x.data(), y, z});
  CHECK(y[0] == 0);
  CHECK(y[1] == 4);
  CHECK(z[1] == 4);
}

TEST_CASE("kernel interpreter: contraction in order of k, in chains of 256 and groups of 16, fused, with an epilogue") {
  for (const int64_t k : {250, 3001, 4096, 9000}) {
    const int64_t m = 3, n = 5;
    CAPTURE(k);
    std::vector<float> a = random_floats(static_cast<size_t>(m * k), 1), b = random_floats(static_cast<size_t>(k * n), 2);
    std::vector<float> bias = random_floats(5, 3), y(15);
    run("kernel @linear(a: f32 in[" + number(m * k) + "], b: f32 in[" + number(k * n) + "], c: f32 in[5], y: f32 out[15]) {\n" +
            "  axes i: 3 parallel, j: 5 parallel, k: " + number(k) + " contract\n" + "  contract i j|k : %0 = load a[" + number(k) +
            "*i + k] : f32\n"
            "  contract i j|k : %1 = load b[j + 5*k] : f32\n"
            "  reduce i j|k   : %2 = contract %0, %1 : f32\n"
            "  map i j        : %3 = load c[j] : f32\n"
            "  map i j        : %4 = add %2, %3 : f32\n"
            "  map i j        : store y[5*i + j], %4\n}\n",
        {a.data(), b.data(), bias.data(), y.data()});
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        ChainTotal total;
        float group = 0;
        for (int64_t begin = 0; begin < k; begin += 256) {
          if (begin % 4096 == 0) total.add(std::exchange(group, 0.0f));
          float chain = 0;
          for (int64_t p = begin; p < std::min(k, begin + 256); ++p)
            chain = std::fma(a[static_cast<size_t>(i * k + p)], b[static_cast<size_t>(p * n + j)], chain);
          group += chain;
        }
        total.add(group);
        CHECK(y[static_cast<size_t>(i * n + j)] == (k <= 4096 ? group : total.value()) + bias[static_cast<size_t>(j)]);
      }
    }
  }
}

TEST_CASE("kernel interpreter: a contraction may take a value of its row") {
  std::vector<float> b{1, 2, 4}, y(2);
  run("kernel @scale(b: f32 in[3], y: f32 out[2]) {\n"
      "  axes i: 2 parallel, k: 3 contract\n"
      "  map i        : %0 = index i : i64\n"
      "  map i        : %1 = cast %0 : f32\n"
      "  contract i|k : %2 = load b[k] : f32\n"
      "  contract i|k : %4 = mul %2, %1 : f32\n"
      "  reduce i|k   : %3 = contract %1, %4 : f32\n"
      "  map i        : store y[i], %3\n}\n",
      {b.data(), y.data()});
  CHECK(y == std::vector<float>{0, 7});
}

TEST_CASE("kernel interpreter: guards pad, and stores can be guarded too") {
  std::vector<float> x{1, 2, 3, 4, 5}, y(9, -1);
  run("kernel @pad(x: f32 in[5], y: f32 out[9]) {\n"
      "  axes i: 9 parallel\n"
      "  map i : %0 = const 7 : f32\n"
      "  map i : %1 = load x[i - 2] if 0 <= i - 2 < 5 else %0 : f32\n"
      "  map i : store y[i], %1 if 1 <= i < 9\n}\n",
      {x.data(), y.data()});
  CHECK(y == std::vector<float>{-1, 7, 1, 2, 3, 4, 5, 7, 7});
}

TEST_CASE("kernel interpreter: an index with div and mod reads a transposed reshape") {
  std::vector<int32_t> x(24), y(24);
  for (int i = 0; i < 24; ++i) x[static_cast<size_t>(i)] = i;
  run("kernel @mix(x: i32 in[24], y: i32 out[24]) {\n"
      "  axes a: 8 parallel, b: 3 parallel\n"
      "  map a b : %0 = load x[6*((3*a + b) mod 4) + (3*a + b) / 4] : i32\n"
      "  map a b : store y[3*a + b], %0\n}\n",
      {x.data(), y.data()});
  for (int i = 0; i < 24; ++i) CHECK(y[static_cast<size_t>(i)] == i % 4 * 6 + i / 4);
}

TEST_CASE("kernel interpreter: empty axes") {
  std::vector<float> none, y(3, 9), z(3, 9);
  run("kernel @empty(x: f32 in[0], y: f32 out[3], z: f32 out[3]) {\n"
      "  axes r: 3 parallel, c: 0 inner, k: 0 contract\n"
      "  map r c      : %0 = load x[r + c] : f32\n"
      "  reduce r|c   : %1 = reduce.max %0 lanes : f32\n"
      "  contract r|k : %2 = load x[k] : f32\n"
      "  reduce r|k   : %3 = contract %2, %2 : f32\n"
      "  map r        : store y[r], %1\n"
      "  map r        : store z[r], %3\n}\n",
      {none.data(), y.data(), z.data()});
  CHECK(y[2] == -std::numeric_limits<float>::infinity());
  CHECK(z == std::vector<float>{0, 0, 0});
  run("kernel @nothing(x: f32 in[0], y: f32 out[3]) {\n"
      "  axes r: 0 parallel, c: 5 inner\n"
      "  map r c    : %0 = load x[r + c] : f32\n"
      "  reduce r|c : %1 = reduce.sum %0 lanes : f32\n"
      "  map r      : store y[r], %1\n}\n",
      {none.data(), y.data()});
  CHECK(y[0] == -std::numeric_limits<float>::infinity());
}

TEST_CASE("kernel interpreter: reductions of every dtype") {
  auto reduce = [](const std::string& op, DType dtype, std::vector<double> values) {
    std::vector<std::byte> x(8 * values.size()), y(8);
    const int size = item_size(dtype);
    for (size_t i = 0; i < values.size(); ++i) {
      uint64_t bits = constant(dtype, values[i]).bits;
      std::memcpy(x.data() + i * static_cast<size_t>(size), &bits, static_cast<size_t>(size));
    }
    std::string t(name(dtype)), n = number(static_cast<int64_t>(values.size()));
    run("kernel @k(x: " + t + " in[" + n + "], y: " + t + " out[1]) {\n  axes c: " + n + " inner\n" + "  map c    : %0 = load x[c] : " + t +
            "\n  reduce |c : %1 = reduce." + op + " %0 lanes : " + t + "\n  map      : store y[0], %1\n}\n",
        {x.data(), y.data()});
    uint64_t bits = 0;
    std::memcpy(&bits, y.data(), static_cast<size_t>(size));
    return to_double({dtype, bits});
  };
  for (DType t : {DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64}) {
    CAPTURE(name(t));
    CHECK(reduce("sum", t, {1, 2, 3, 4}) == 10);
    CHECK(reduce("prod", t, {1, 2, 3, 4}) == 24);
    CHECK(reduce("max", t, {3, 9, 4}) == 9);
    CHECK(reduce("min", t, {3, 9, 4}) == 3);
  }
  CHECK(reduce("sum", DType::U8, {200, 100}) == 44);
  CHECK(reduce("sum", DType::I8, {127, 1}) == -128);
  CHECK(reduce("max", DType::I8, {-5, -7}) == -5);
  CHECK(reduce("any", DType::Bool, {0, 0, 1}) == 1);
  CHECK(reduce("all", DType::Bool, {1, 1, 0}) == 0);
  CHECK(reduce("max", DType::Bool, {0, 1, 0}) == 1);
  CHECK(reduce("min", DType::Bool, {1, 1}) == 1);
  CHECK(std::isnan(reduce("max", DType::F32, {1, std::nan(""), 3})));
  // f16 accumulates in f32: 2048 + 1 + 1 is lost step by step in f16
  CHECK(reduce("sum", DType::F16, {2048, 1, 1}) == 2050);
}

TEST_CASE("kernel interpreter: every elementwise op agrees with evaluate") {
  std::mt19937_64 random(21);
  for (int o = 0; o < kOpCount; ++o) {
    Op op = static_cast<Op>(o);
    if (!is_elementwise(op) || op == Op::Bitcast || op == Op::Cast) continue;
    for (int d = 0; d < kDTypeCount; ++d) {
      DType t = static_cast<DType>(d);
      if (!in_domain(op, t)) continue;
      CAPTURE(info(op).text);
      CAPTURE(name(t));
      const int64_t n = 33;
      Kernel k;
      KernelBuilder builder(k);
      Index i = k.axis(k.add_axis("i", n, AxisKind::Parallel));
      std::vector<std::vector<uint64_t>> inputs;
      std::vector<DType> dtypes;
      std::vector<Value> args;
      for (int a = 0; a < info(op).arity; ++a) {
        dtypes.push_back(info(op).rule == TypeRule::Select && a == 0 ? DType::Bool : t);
        args.push_back(builder.load(k.add_buffer("x" + number(a), dtypes.back(), Role::In, n), i, Level::Row));
        inputs.emplace_back();
        for (int64_t p = 0; p < n; ++p) {
          inputs.back().push_back(constant(dtypes.back(), static_cast<double>(random() % 41) / 4.0 - (is_signed(t) ? 5 : 0)).bits);
        }
      }
      Value y = builder.op(op, args, t);
      DType result = builder.dtype(y);
      builder.store(k.add_buffer("y", result, Role::Out, n), i, y, Level::Row);
      verify(k);
      std::vector<std::vector<std::byte>> memory;
      for (size_t a = 0; a < inputs.size(); ++a) {
        const auto size = static_cast<size_t>(item_size(dtypes[a]));
        memory.emplace_back(static_cast<size_t>(n) * size);
        for (size_t p = 0; p < inputs[a].size(); ++p) std::memcpy(memory[a].data() + p * size, &inputs[a][p], size);
      }
      const auto size = static_cast<size_t>(item_size(result));
      memory.emplace_back(static_cast<size_t>(n) * size);
      std::vector<void*> buffers;
      for (auto& m : memory) buffers.push_back(m.data());
      codegen::interpret(k, buffers.data(), nullptr);
      int wrong = 0;
      for (size_t p = 0; p < static_cast<size_t>(n); ++p) {
        std::vector<Constant> values;
        for (size_t a = 0; a < inputs.size(); ++a) values.push_back({dtypes[a], inputs[a][p]});
        Constant got{result, 0}, want = evaluate(op, values, result);
        std::memcpy(&got.bits, memory.back().data() + p * size, size);
        bool both_nan = std::isnan(to_double(got)) && std::isnan(to_double(want));
        wrong += got.bits != want.bits && !both_nan;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("kernel interpreter: an access outside its buffer throws") {
  std::vector<float> x(4), y(9);
  CHECK_THROWS_AS(run("kernel @k(x: f32 in[4], y: f32 out[9]) {\n"
                      "  axes i: 9 parallel\n"
                      "  map i : %0 = const 0.0 : f32\n"
                      "  map i : %1 = load x[i] if 0 <= i < 5 else %0 : f32\n"
                      "  map i : store y[i], %1\n}\n",
                      {x.data(), y.data()}),
                  IrError);
}
