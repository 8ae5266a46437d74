// Products and convolutions as CUDA text: accepted by the real NVRTC without spills, and, run thread by thread on the CPU, the same bits as
// the kernel interpreter; on tensor cores the same sums in another order.
#include <doctest/doctest.h>

#include <set>

#include "codegen/cuda_kernels.h"
#include "ir/op/sum_order.h"
#include "passes/schedule/gpu/tiles.h"

using namespace tenon;
using namespace test::cuda_kernels;
using ir::DType;
using test::CudaSimulator;

namespace {

// max(windows of x times filters + bias, 0), of padded images, as frontend/src/neural/conv.cpp has it: places are one axis, or rows and
// columns. Or with channels last, as passes/graph/lay_out_windows.cpp lays them out.
struct Convolution {
  int64_t images, channels, height, width, filters, taps_down, taps_across, step = 1, border = 0;
  bool by_rows = false;
  const char* dtype = "f32";
  bool channels_last = false;

  std::string text() const {
    const int64_t rows = (height + 2 * border - taps_down) / step + 1, columns = (width + 2 * border - taps_across) / step + 1;
    const int64_t taps = taps_down * taps_across, depth = channels * taps, places = rows * columns;
    const auto n = [](int64_t x) { return std::to_string(x); };
    const std::string across_taps = n(taps_across), of_columns = n(columns);
    const std::string row = by_rows ? "r" : "(p / " + of_columns + ")", column = by_rows ? "l" : "(p mod " + of_columns + ")";
    const std::string tap = channels_last ? "(k / " + n(channels) + ")" : "(k mod " + n(taps) + ")";
    const std::string channel = channels_last ? "(k mod " + n(channels) + ")" : "(k / " + n(taps) + ")";
    const std::string down = "(" + tap + " / " + across_taps + ")", across = "(" + tap + " mod " + across_taps + ")";
    const int64_t pixel = channels_last ? channels : 1, plane = channels_last ? 1 : height * width;
    const std::string y = n(step) + "*" + row + " + " + down, x = n(step) + "*" + column + " + " + across;
    const std::string type = std::string(" : ") + dtype + "\n", axes = by_rows ? "n r f l" : "n f p";
    const std::string guard = border == 0 ? ""
                                          : " if 0 <= " + y + " - " + n(border) + " < " + n(height) + " and 0 <= " + x + " - " + n(border) +
                                                " < " + n(width) + " else %1";
    const auto buffer = [&](const std::string& name, const std::string& role, int64_t count) {
      return name + ": " + dtype + " " + role + "[" + n(count) + "]";
    };
    return "kernel @conv(" + buffer("x", "in", images * channels * height * width) + ", " + buffer("w", "in", filters * depth) + ", " +
           buffer("b", "in", filters) + ", " + buffer("y", "out", images * filters * places) + ") {\n  axes n: " + n(images) +
           " parallel, " +
           (by_rows ? "r: " + n(rows) + " parallel, f: " + n(filters) + " parallel, l: " + of_columns + " parallel"
                    : "f: " + n(filters) + " parallel, p: " + n(places) + " parallel") +
           ", k: " + n(depth) + " contract\n" + "  contract " + axes + "|k : %0 = load w[" + n(depth) + "*f + k]" + type + "  contract " +
           axes + "|k : %1 = const 0.0" + type + "  contract " + axes + "|k : %2 = load x[" + n(channels * height * width) + "*n + " +
           n(plane) + "*" + channel + " + " + n(pixel * width) + "*(" + y + ") + " + n(pixel) + "*(" + x + ") - " +
           n(pixel * border * (width + 1)) + "]" + guard + type + "  reduce " + axes + "|k : %3 = contract %0, %2" + type + "  map " +
           axes + " : %4 = load b[f]" + type + "  map " + axes + " : %5 = add %3, %4" + type + "  map " + axes + " : %6 = const 0.0" +
           type + "  map " + axes + " : %7 = max %5, %6" + type + "  map " + axes + " : store y[" + n(filters * places) + "*n + " +
           n(places) + "*f + " + (by_rows ? of_columns + "*r + l" : "p") + "], %7\n}\n";
  }
};

// max(a x b + bias, 0), the operands as they lie or transposed; or the squares of their differences in place of products.
struct Product {
  int64_t batch, rows, columns, depth;
  const char* dtype = "f32";
  bool left_transposed = false, right_transposed = false, differences = false;

  std::string text() const {
    const auto number = [](int64_t n) { return std::to_string(n); };
    const std::string m = number(rows), n = number(columns), k = number(depth), type = dtype;
    const auto at = [&](int64_t area, const std::string& down, int64_t pitch, const std::string& across) {
      return number(area) + "*b + " + number(pitch) + "*" + down + " + " + across;
    };
    const std::string a = left_transposed ? at(rows * depth, "k", rows, "i") : at(rows * depth, "i", depth, "k");
    const auto value = [&](int v) { return "%" + number(v + (differences ? 1 : 0)); };
    const std::string of_both = "  contract b i j|k : %2 = sub %0, %1 : " + type + "\n", factors = differences ? "%2, %2" : "%0, %1";
    const std::string b = right_transposed ? at(columns * depth, "j", depth, "k") : at(columns * depth, "k", columns, "j");
    return "kernel @product(a: " + type + " in[" + number(batch * rows * depth) + "], b: " + type + " in[" +
           number(batch * columns * depth) + "], c: " + type + " in[" + n + "], y: " + type + " out[" + number(batch * rows * columns) +
           "]) {\n  axes b: " + number(batch) + " parallel, i: " + m + " parallel, j: " + n + " parallel, k: " + k + " contract\n" +  //
           "  contract b i j|k : %0 = load a[" + a + "] : " + type + "\n" +                                                           //
           "  contract b i j|k : %1 = load b[" + b + "] : " + type + "\n" +                                                           //
           (differences ? of_both : "") + "  reduce b i j|k : " + value(2) + " = contract " + factors + " : " + type + "\n" +         //
           "  map b i j : " + value(3) + " = load c[j] : " + type + "\n" +                                                            //
           "  map b i j : " + value(4) + " = add " + value(2) + ", " + value(3) + " : " + type + "\n" +                               //
           "  map b i j : " + value(5) + " = const 0" + (ir::is_float(*ir::dtype_from_name(type)) ? ".0 : " : " : ") + type + "\n" +  //
           "  map b i j : " + value(6) + " = max " + value(4) + ", " + value(5) + " : " + type + "\n" +                               //
           "  map b i j : store y[" + at(rows * columns, "i", columns, "j") + "], " + value(6) + "\n}\n";
  }
};

}  // namespace

TEST_CASE("cuda: products of every shape class, on one multiprocessor and on many") {
  const Product products[] = {
      {1, 1, 1, 5},     {1, 1, 300, 40},   {1, 300, 1, 40},   {1, 2, 300, 40},  {1, 300, 3, 40},   {700, 3, 4, 7},    {2, 33, 65, 17},
      {1, 64, 64, 64},  {1, 100, 130, 35}, {1, 128, 128, 24}, {1, 257, 5, 33},  {1, 6, 300, 75},   {1, 16, 400, 147}, {1, 400, 16, 147},
      {1, 20, 20, 300}, {1, 40, 150, 9},   {3, 150, 40, 31},  {1, 16, 60, 200}, {1, 60, 16, 200},  {1, 130, 60, 16},  {1, 60, 130, 16},
      {1, 3, 5, 257},   {1, 40, 33, 700},  {1, 20, 20, 512},  {1, 3, 2, 4500},  {1, 17, 18, 8200},
  };
  for (const int processors : {1, 100}) {
    ir::GpuTarget target;
    target.multiprocessors = processors;
    for (Product product : products) {
      for (const int transposed : {0, 1, 2}) {
        product.left_transposed = transposed == 1;
        product.right_transposed = transposed == 2;
        compare(product.text(), kContraction, false, {}, fastest_compiler(), target);
      }
    }
  }
}

TEST_CASE("cuda: squares of differences, which the threads take as they multiply") {
  for (const int processors : {1, 100}) {
    ir::GpuTarget target;
    target.multiprocessors = processors;
    for (const char* dtype : {"f32", "f64", "i32"}) {
      for (Product product : {Product{1, 33, 65, 17, dtype}, {2, 64, 64, 64, dtype}, {1, 40, 33, 700, dtype}, {50, 3, 2, 9, dtype}}) {
        product.right_transposed = product.differences = true;
        compare(product.text(), kContraction, false, {}, fastest_compiler(), target);
      }
    }
  }
}

TEST_CASE("cuda: windows of images with few channels, of every shape class") {
  const Convolution convolutions[] = {
      {2, 3, 16, 16, 8, 3, 3, 1, 1},  {1, 1, 28, 28, 6, 5, 5, 1, 0},  {1, 1, 28, 28, 6, 5, 5, 1, 2},  {1, 3, 33, 29, 20, 3, 3, 1, 1},
      {1, 3, 30, 31, 33, 7, 7, 2, 3}, {1, 3, 20, 18, 40, 5, 5, 3, 2}, {2, 3, 31, 63, 33, 3, 5, 2, 1}, {3, 4, 16, 16, 16, 3, 3, 1, 1},
      {1, 3, 5, 130, 9, 5, 3, 1, 1},  {1, 1, 17, 300, 8, 3, 7, 1, 3},
  };
  ir::GpuTarget target;
  target.multiprocessors = 1;  // on many these are too small for blocks of 256 threads
  for (Convolution c : convolutions) {
    for (const bool by_rows : {false, true}) {
      c.by_rows = by_rows;
      compare(c.text(), "contraction windows", false, {}, fastest_compiler(), target);
    }
  }
  // Chains of more than 256 of k, other types and images of which some is seen by nobody are products as others.
  compare(Convolution{1, 29, 12, 12, 8, 3, 3, 1, 1}.text(), kContraction, false, {}, fastest_compiler(), target);
  compare(Convolution{1, 3, 12, 12, 8, 3, 3, 1, 1, false, "f64"}.text(), kContraction, false, {}, fastest_compiler(), target);
  compare(Convolution{1, 3, 24, 24, 8, 3, 3, 4, 0}.text(), kContraction, false, {}, fastest_compiler(), target);
}

TEST_CASE("cuda: windows of halves with their channels last are copied by 16 bytes, and the border is zeros") {
  const Convolution convolutions[] = {
      {2, 8, 12, 12, 16, 3, 3, 1, 1}, {1, 16, 9, 11, 33, 3, 3, 2, 1}, {3, 24, 7, 7, 40, 3, 3, 1, 2},
      {1, 64, 10, 6, 20, 2, 2, 1, 0}, {1, 8, 16, 15, 70, 5, 5, 3, 2}, {2, 40, 5, 40, 17, 1, 5, 1, 0},
  };
  for (Convolution c : convolutions) {
    for (const char* dtype : {"f16", "bf16"}) {
      c.dtype = dtype;
      c.channels_last = true;
      for (const int processors : {1, 100}) {
        ir::GpuTarget target;
        target.multiprocessors = processors;
        target.library = {};
        compare(c.text(), "contraction mma", false, {}, fastest_compiler(), target);
        const std::string text = codegen::cuda::emit(passes::lower(passes::run_kernel_passes(ir::parse_kernel(c.text())), target).tree);
        CHECK(text.find("tenon_copy_async(&left0") != std::string::npos);
        CHECK(text.find("tenon_copy_async(&right0") != std::string::npos);
      }
    }
  }
  // A border of another number, or channels that are no multiple of eight, pass through registers.
  Convolution odd{1, 12, 12, 12, 16, 3, 3, 1, 1, false, "f16", true};
  CHECK(codegen::cuda::emit(passes::lower(passes::run_kernel_passes(ir::parse_kernel(odd.text())), ir::GpuTarget{}).tree)
            .find("tenon_copy_async(&right0") == std::string::npos);
  odd.channels = 16;
  std::string ones = odd.text();
  ones.replace(ones.find("const 0.0"), 9, "const 1.0");
  compare(ones, "contraction mma");
  CHECK(codegen::cuda::emit(passes::lower(passes::run_kernel_passes(ir::parse_kernel(ones)), ir::GpuTarget{}).tree)
            .find("tenon_copy_async(&right0") == std::string::npos);
}

TEST_CASE("cuda: products of every type") {
  ir::GpuTarget target;
  target.compute = 75;  // whose tensor cores no schedule is for
  for (const char* dtype : {"f64", "f16", "bf16", "i8", "u8", "i16", "i32", "i64"}) {
    compare(Product{2, 33, 70, 21, dtype, false, true}.text(), kContraction, true, {}, fastest_compiler(), target);
    compare(Product{50, 3, 2, 9, dtype}.text(), kContraction, true, {}, fastest_compiler(), target);
  }
}

TEST_CASE("cuda: products of halves on tensor cores, by every tile") {
  std::set<const passes::gpu::Tile*> used;
  const auto check = [&](const Product& p, int processors) {
    ir::GpuTarget target;
    target.multiprocessors = processors;
    target.shared_bytes = 99 << 10;
    target.library = {};
    const std::string text = p.text();
    const bool special = p.depth % 2 == 1;
    const passes::gpu::ProductShape shape{
        .batch = p.batch,
        .rows = p.rows,
        .columns = p.columns,
        .depth = p.depth,
        .left_cost = 2,
        .right_cost = 2,
        .halves = true,  // a load and a cast
        .copied = (p.left_transposed ? p.rows : p.depth) % 8 == 0 && (p.right_transposed ? p.depth : p.columns) % 8 == 0};
    used.insert(passes::gpu::choose_tile(shape, target).tile);
    compare(text, "contraction mma", special, {}, fastest_compiler(), target);
  };
  const Product products[] = {
      {1, 130, 129, 65, "f16"}, {1, 128, 128, 64, "bf16"}, {3, 36, 52, 36, "bf16"},   {2, 33, 31, 100, "f16"},
      {5, 17, 15, 33, "bf16"},  {1, 67, 193, 20, "f16"},   {3, 67, 19, 20, "bf16"},   {3, 19, 67, 21, "f16"},
      {3, 34, 34, 20, "f16"},   {3, 115, 5, 65, "bf16"},   {3, 5, 115, 65, "f16"},    {1, 40, 50, 300, "f16"},
      {1, 70, 33, 520, "bf16"}, {1, 17, 18, 4200, "f16"},  {1, 136, 120, 264, "f16"}, {1, 200, 200, 64, "bf16"},
  };
  for (Product product : products) {
    for (const int transposed : {0, 1, 2}) {
      product.left_transposed = transposed == 1;
      product.right_transposed = transposed == 2;
      check(product, 1);
      check(product, 100);
    }
  }
  for (const passes::gpu::Tile& tile : passes::gpu::tiles()) {
    CAPTURE(tile.rows);
    CAPTURE(tile.columns);
    CAPTURE(tile.depth);
    if (tile.worker == passes::gpu::Worker::Warp) CHECK(used.count(&tile) == 1);
  }
}

TEST_CASE("cuda: places are sums that may not wrap, and what unrolled loops know is added to addresses") {
  const passes::Lowered product =
      passes::lower(passes::run_kernel_passes(ir::parse_kernel(Product{1, 256, 256, 64, "f16"}.text())), ir::GpuTarget{});
  const std::string text = codegen::cuda::emit(product.tree), kernel = text.substr(text.find("// kernel"));
  CHECK(kernel.find("_i32(") == std::string::npos);
  CHECK(kernel.find("tenon_load_tile(&left0[v") != std::string::npos);
  std::istringstream lines(kernel);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("_tile(&") != std::string::npos) CHECK_MESSAGE(line.find("] + ") != std::string::npos, line);
  }
  // A register is an index if all that is set is one: data wrap around.
  for (const bool data : {false, true}) {
    const std::string set = data ? "%5" : "%4";
    const ir::LoopTree tree = ir::parse_looptree(R"(looptree @k cuda threads=32 index=i32 {
  params x: i32 in, y: i32 out, sizes 1
  phase map: parallel %0 in 0..s0 {
    %1 = const 0 : i32
    var %2 = %1
    %3 = get %2 : i32
    %4 = add %3, %0 : i32
    %5 = load x[%0] : i32
    set %2, )" + set + R"(
    store y[%0], %4
  }
}
)");
    CHECK(ir::index_values(tree)[4] == !data);
    CHECK((codegen::cuda::emit(tree).find("= tenon_add_i32(") != std::string::npos) == data);
  }
}

TEST_CASE("cuda: what a product of halves on tensor cores stages, and what is no such product") {
  // A convolution along l with a border, filters of 3 taps over 5 channels; its input computed, its result through an epilogue.
  const char* convolution = R"(kernel @conv(x: f32 in[540], w: f16 in[300], y: f16 out[2160]) {
  axes o: 20 parallel, n: 3 parallel, l: 36 parallel, k: 15 contract
  contract o n l|k : %0 = load w[15*o + k] : f16
  map o n l        : %1 = const 0.0 : f32
  contract o n l|k : %2 = load x[180*n + 36*(k / 3) + l + k mod 3 - 1] if 0 <= l + k mod 3 - 1 < 36 else %1 : f32
  contract o n l|k : %3 = max %2, %1 : f32
  contract o n l|k : %4 = cast %3 : f16
  reduce o n l|k   : %5 = contract %0, %4 : f16
  map o n l        : %6 = mul %5, %5 : f16
  map o n l        : store y[720*n + 36*o + l], %6
}
)";
  compare(convolution, "contraction mma");
  // Sums that somebody sees before they are rounded keep the order of k.
  const char* single = R"(kernel @single(a: bf16 in[4096], b: bf16 in[4096], y: f32 out[4096]) {
  axes i: 64 parallel, j: 64 parallel, k: 64 contract
  contract i j|k : %0 = load a[64*i + k] : bf16
  contract i j|k : %1 = load b[64*k + j] : bf16
  contract i j|k : %2 = cast %0 : f32
  contract i j|k : %3 = cast %1 : f32
  reduce i j|k : %4 = contract %2, %3 : f32
  map i j : store y[64*i + j], %4
}
)";
  compare(single, kContraction);
}

// The bound of docs/cuda.md: whatever the order of k, a sum of f32 is off by its last place at each step; then the product is
// rounded to the half, and so is what the bias is added to. Up to 256 of k are one chain everywhere; warps add up to 4096 in one.
TEST_CASE("cuda: sums in the order of tensor cores stay within the bound of their rounding") {
  int64_t differ = 0;
  for (const auto& [type, depth] : {std::pair{"f16", 250}, {"bf16", 250}, {"f16", 600}, {"bf16", 4200}}) {
    const Product p{1, 70, 50, depth, type};
    const DType dtype = *ir::dtype_from_name(type);
    const double u = dtype == DType::F16 ? 0x1p-11 : 0x1p-8, step = static_cast<double>(p.depth) * 0x1p-23;
    const ir::Kernel kernel = passes::run_kernel_passes(ir::parse_kernel(p.text()));
    const passes::Lowered lowered = passes::lower(kernel, ir::GpuTarget{});
    CHECK(lowered.schedule == "contraction mma");
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    std::vector<codegen::HostTensor> x;
    std::vector<void*> buffers;
    for (const ir::KernelBuffer& buffer : kernel.buffers) {
      x.push_back(codegen::HostTensor::zeros(dtype, ir::Dims{buffer.numel}));
      for (int64_t i = 0; i < buffer.numel; ++i) x.back().set(i, ir::constant(dtype, normal(random)));
    }
    for (codegen::HostTensor& t : x) buffers.push_back(t.data.data());
    codegen::interpret(kernel, buffers.data(), nullptr);
    const codegen::HostTensor want = x[3];
    CudaSimulator simulator(lowered.tree, fastest_compiler());
    simulator.run(buffers, lowered.sizes, {});
    if (depth <= ir::kProductChain) {  // in the order of k
      CHECK(x[3].data == want.data);
      simulator.run(buffers, lowered.sizes, {}, CudaSimulator::Order::Forward, 0, true);
    }
    int64_t wrong = 0;
    for (int64_t i = 0; i < p.rows * p.columns; ++i) {
      const auto value = [&](int tensor, int64_t at) { return ir::to_double(x[static_cast<size_t>(tensor)].get(at)); };
      double sum = 0, size = 0;
      for (int64_t k = 0; k < p.depth; ++k) {
        const double product = value(0, i / p.columns * p.depth + k) * value(1, k * p.columns + i % p.columns);
        sum += product;
        size += std::fabs(product);
      }
      const double bias = value(2, i % p.columns), exact = std::max(sum + bias, 0.0);
      const double bound = (1 + 4 * u) * (step * size + u * (2 * std::fabs(sum) + std::fabs(bias)));
      differ += x[3].get(i).bits != want.get(i).bits;
      wrong += !(std::fabs(value(3, i) - exact) <= bound);
    }
    CHECK(wrong == 0);
  }
  CHECK(differ > 0);
}

TEST_CASE("cuda: NVRTC compiles every tile of a product without spills") {
  test::cuda_kernels::NvrtcChecks checks;
  if (!checks.nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  std::string report;
  // Every tile of a product, on the machine that takes it for this product.
  for (const auto& [product, processors] : {std::pair{Product{1, 300, 300, 100}, 1},
                                            {Product{1, 300, 300, 100, "f64"}, 1},
                                            {Product{1, 300, 300, 100, "f16", false, true}, 20},
                                            {Product{1, 300, 300, 512}, 132},
                                            {Product{1, 16, 5000, 75}, 1},
                                            {Product{1, 5000, 6, 75}, 1},
                                            {Product{1, 1, 5000, 75, "f32", false, true}, 1},
                                            {Product{500, 3, 3, 5}, 132},
                                            {Product{1, 300, 300, 100, "i64"}, 1}}) {
    ir::GpuTarget target;
    target.multiprocessors = processors;
    for (const std::string arch : {"sm_75", "sm_80", "sm_90"}) {
      target.compute = std::stoi(arch.substr(3));
      report += "\n" + arch + " product of " + std::to_string(product.rows) + " x " + std::to_string(product.columns) + " " +
                product.dtype + checks.compile(ir::parse_kernel(product.text()), arch, false, target) + "; " + std::to_string(checks.ms) +
                " ms";
    }
  }
  // Every tile of a warp, on the machine that takes it for this product.
  for (const auto& [product, processors] : {std::pair{Product{1, 300, 300, 100, "f16"}, 1},
                                            {Product{1, 300, 300, 101, "bf16", true, true}, 1},
                                            {Product{3, 67, 19, 20, "f16"}, 1},
                                            {Product{3, 19, 67, 20, "f16"}, 1},
                                            {Product{3, 34, 34, 20, "f16"}, 1},
                                            {Product{1, 64, 64, 128, "bf16"}, 100},
                                            {Product{1, 304, 304, 96, "f16"}, 1},
                                            {Product{1, 304, 304, 512, "f16"}, 1},
                                            {Product{3, 115, 5, 65, "f16"}, 1},
                                            {Product{3, 5, 115, 65, "f16"}, 1}}) {
    ir::GpuTarget target;
    target.shared_bytes = 99 << 10;
    target.multiprocessors = processors;
    for (const std::string arch : {"sm_80", "sm_90"}) {
      target.compute = std::stoi(arch.substr(3));
      const ir::Kernel kernel = ir::parse_kernel(product.text());
      CHECK(passes::lower(passes::run_kernel_passes(kernel), target).schedule == "contraction mma");
      report += "\n" + arch + " product of " + std::to_string(product.rows) + " x " + std::to_string(product.columns) + " " +
                product.dtype + checks.compile(kernel, arch, false, target) + "; " + std::to_string(checks.ms) + " ms";
    }
  }
  MESSAGE(report);
}
