// CUDA text: accepted by the real NVRTC without spills, and, run thread by thread on the CPU, the same bits
// as the kernel interpreter.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "codegen/cuda/emit.h"
#include "codegen/interpreter/interpreter.h"
#include "ir/kernel.h"
#include "passes/passes.h"
#include "passes/schedule/schedule.h"
#include "support/cuda_sim.h"
#include "support/nvrtc.h"

using namespace tenon;
using ir::DType;
using test::CudaSimulator;

namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

// The text of a kernel in tests/data, with some of its numbers replaced (each number in it means one thing).
std::string kernel_text(const std::string& name, const Sizes& sizes = {}) {
  std::ifstream file(std::string(TENON_TEST_DATA) + "/kernels/" + name + ".kernel");
  REQUIRE(file.good());
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    const std::string number = text.substr(i, end - i);
    for (const auto& [from, to] : sizes) {
      if (number != from) continue;
      result += std::to_string(to);
      i = end;
    }
    if (i < end) result += number;
    if (i < end) i = end;
    if (i < text.size() && !std::isdigit(static_cast<unsigned char>(text[i]))) result += text[i++];
  }
  return result;
}

Sizes matrix(int64_t rows, int64_t columns) {
  return {{"7400", rows * columns}, {"37", rows}, {"200", columns}};
}

// A host buffer, 16-byte aligned, with a margin on both sides that must stay as it was.
struct Guarded {
  static constexpr size_t kMargin = 64;
  std::vector<uint64_t> words;
  size_t bytes;
  explicit Guarded(size_t bytes)
      : words((bytes + 2 * kMargin + 23) / 8 + 2, 0xa5a5a5a5a5a5a5a5u), bytes(bytes) {}
  char* data() {
    auto address = reinterpret_cast<uintptr_t>(words.data()) + kMargin;
    return reinterpret_cast<char*>((address + 15) / 16 * 16);
  }
  bool intact() {
    const char* begin = reinterpret_cast<const char*>(words.data());
    const char* end = begin + words.size() * 8;
    bool same = true;
    for (const char* p = begin; p < end; ++p) {
      if (p < data() || p >= data() + bytes) same &= *p == static_cast<char>(0xa5);
    }
    return same;
  }
};

// Mostly moderate numbers, with zeros of both signs, ties, and (if asked) nan, infinities and what no integer
// holds.
ir::Constant random_element(DType dtype, std::mt19937& random, bool special) {
  const double odd[] = {0.0, -0.0, 1.0, -1.0, NAN, INFINITY, -INFINITY, 300.7, -3e9, 1e19};
  if (dtype == DType::Bool) return {dtype, random() % 2};
  if (ir::is_float(dtype)) {
    if (random() % 16 == 0) return ir::constant(dtype, odd[random() % (special ? 10 : 4)]);
    return ir::constant(dtype, std::uniform_real_distribution<double>(-4, 4)(random));
  }
  const auto wide = static_cast<int64_t>(uint64_t{random()} << 32 | random());
  if (random() % 3 == 0) return ir::constant(dtype, wide % 4);
  if (random() % 3 == 0) return ir::constant(dtype, wide % 70);
  return ir::constant(dtype, random() % 16 == 0
                                 ? std::numeric_limits<int64_t>::min() >> (64 - 8 * ir::item_size(dtype))
                                 : wide);
}

void fill(char* data, DType dtype, int64_t count, std::mt19937& random, bool special) {
  for (int64_t i = 0; i < count; ++i) {
    const ir::Constant c = random_element(dtype, random, special);
    std::memcpy(data + i * ir::item_size(dtype), &c.bits, static_cast<size_t>(ir::item_size(dtype)));
  }
}

// Bits equal, except that any nan equals any other.
bool same_element(const char* a, const char* b, DType dtype) {
  ir::Constant x{dtype, 0}, y{dtype, 0};
  std::memcpy(&x.bits, a, static_cast<size_t>(ir::item_size(dtype)));
  std::memcpy(&y.bits, b, static_cast<size_t>(ir::item_size(dtype)));
  if (x.bits == y.bits) return true;
  return ir::is_float(dtype) && std::isnan(ir::to_double(x)) && std::isnan(ir::to_double(y));
}

CudaSimulator::Compiler fastest_compiler() {
  using Compiler = CudaSimulator::Compiler;
  return CudaSimulator::available(Compiler::Tcc) ? Compiler::Tcc : Compiler::Cc;
}

// Runs a kernel on the simulator and the interpreter and compares all outputs bit for bit.
void compare(const ir::Kernel& given, const std::string& schedule, bool special = false,
             const std::vector<double>& scalars = {}, CudaSimulator::Compiler compiler = fastest_compiler(),
             const ir::GpuTarget& target = {}) {
  const ir::Kernel kernel = passes::run_kernel_passes(given);
  CAPTURE(ir::print(given));
  const passes::Lowered lowered = passes::lower(kernel, target);
  CHECK(lowered.schedule == schedule);
  REQUIRE_NOTHROW(ir::verify(lowered.tree));
  CAPTURE(ir::print(lowered.tree));

  std::mt19937 random(42);
  std::vector<Guarded> expected, got;
  std::vector<uint64_t> scalar_bits;
  for (const ir::KernelBuffer& buffer : kernel.buffers) {
    Guarded data(static_cast<size_t>(buffer.numel * ir::item_size(buffer.dtype)));
    fill(data.data(), buffer.dtype, buffer.numel, random, special);
    expected.push_back(data);
    got.push_back(data);
  }
  for (size_t i = 0; i < kernel.scalars.size(); ++i) {
    scalar_bits.push_back(ir::constant(kernel.scalars[i].dtype, scalars.at(i)).bits);
  }
  std::vector<void*> buffers;
  for (Guarded& data : expected) buffers.push_back(data.data());
  codegen::interpret(kernel, buffers.data(), scalar_bits.data());

  CudaSimulator simulator(lowered.tree, compiler);
  std::vector<CudaSimulator::Order> orders = {CudaSimulator::Order::Forward};
  for (const ir::TreeBuffer& buffer :
       lowered.tree.buffers) {  // only shared memory can tell the order of threads
    if (buffer.space == ir::Space::Shared && orders.size() == 1)
      orders.push_back(CudaSimulator::Order::Backward);
  }
  for (const auto order : orders) {
    std::vector<Guarded> scratch;
    buffers.clear();
    for (Guarded& data : got) buffers.push_back(data.data());
    for (const ir::TreeBuffer& buffer : lowered.tree.buffers) {
      if (buffer.space != ir::Space::Global) continue;
      const int64_t count = lowered.sizes[static_cast<size_t>(buffer.size_param)];
      scratch.emplace_back(static_cast<size_t>(count * ir::item_size(buffer.dtype)));
    }
    for (Guarded& data : scratch) buffers.push_back(data.data());
    REQUIRE_NOTHROW(simulator.run(buffers, lowered.sizes, scalar_bits, order));
    for (Guarded& data : got) CHECK(data.intact());
    for (Guarded& data : scratch) CHECK(data.intact());
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      if (kernel.buffers[b].role == ir::Role::In) continue;
      const DType dtype = kernel.buffers[b].dtype;
      int64_t wrong = 0, first = -1;
      for (int64_t i = 0; i < kernel.buffers[b].numel; ++i) {
        const int64_t at = i * ir::item_size(dtype);
        if (same_element(expected[b].data() + at, got[b].data() + at, dtype)) continue;
        if (wrong++ == 0) first = i;
      }
      CAPTURE(kernel.buffers[b].name);
      CAPTURE(first);
      CHECK(wrong == 0);
    }
  }
}

void compare(const std::string& text, const std::string& schedule, bool special = false,
             const std::vector<double>& scalars = {}, CudaSimulator::Compiler compiler = fastest_compiler(),
             const ir::GpuTarget& target = {}) {
  compare(ir::parse_kernel(text), schedule, special, scalars, compiler, target);
}

// max(a x b + bias, 0), the operands as they lie or transposed.
struct Product {
  int64_t batch, rows, columns, depth;
  const char* dtype = "f32";
  bool left_transposed = false, right_transposed = false;

  std::string text() const {
    const auto number = [](int64_t n) { return std::to_string(n); };
    const std::string m = number(rows), n = number(columns), k = number(depth), type = dtype;
    const auto at = [&](int64_t area, const std::string& down, int64_t pitch, const std::string& across) {
      return number(area) + "*b + " + number(pitch) + "*" + down + " + " + across;
    };
    const std::string a = left_transposed ? at(rows * depth, "k", rows, "i") : at(rows * depth, "i", depth, "k");
    const std::string b = right_transposed ? at(columns * depth, "j", depth, "k") : at(columns * depth, "k", columns, "j");
    return "kernel @product(a: " + type + " in[" + number(batch * rows * depth) + "], b: " + type + " in[" + number(batch * columns * depth) +
           "], c: " + type + " in[" + n + "], y: " + type + " out[" + number(batch * rows * columns) + "]) {\n  axes b: " + number(batch) +
           " parallel, i: " + m + " parallel, j: " + n + " parallel, k: " + k + " contract\n" +  //
           "  contract b i j|k : %0 = load a[" + a + "] : " + type + "\n" +                     //
           "  contract b i j|k : %1 = load b[" + b + "] : " + type + "\n" +                     //
           "  reduce b i j|k : %2 = contract %0, %1 : " + type + "\n" +                         //
           "  map b i j : %3 = load c[j] : " + type + "\n" +                                    //
           "  map b i j : %4 = add %2, %3 : " + type + "\n" +                                   //
           "  map b i j : %5 = const 0" + (ir::is_float(*ir::dtype_from_name(type)) ? ".0 : " : " : ") + type + "\n" +  //
           "  map b i j : %6 = max %4, %5 : " + type + "\n" +                                   //
           "  map b i j : store y[" + at(rows * columns, "i", columns, "j") + "], %6\n}\n";
  }
};

// One kernel with every basic operation, cast and bitcast on one type, each with an output of its own.
ir::Kernel every_operation(DType dtype) {
  constexpr int64_t kCount = 500;
  ir::Kernel kernel;
  const ir::Index at = ir::Index::axis(kernel.add_axis("i", kCount, ir::AxisKind::Parallel), kCount);
  ir::KernelBuilder build(kernel);
  std::vector<ir::Value> x;
  for (const char* name : {"x", "y", "z"}) {
    x.push_back(build.load(kernel.add_buffer(name, dtype, ir::Role::In, kCount), at, ir::Level::Row));
  }
  const int condition = kernel.add_buffer("condition", DType::Bool, ir::Role::In, kCount);
  const ir::Value chosen = build.load(condition, at, ir::Level::Row);
  const auto store = [&](const std::string& name, ir::Value v) {
    build.store(kernel.add_buffer(name, build.dtype(v), ir::Role::Out, kCount), at, v, ir::Level::Row);
  };
  for (int o = 0; o < ir::kOpCount; ++o) {
    const auto op = static_cast<ir::Op>(o);
    const ir::OpInfo& row = ir::info(op);
    if (!ir::is_elementwise(op) || !ir::in_domain(op, dtype) || (row.traits & ir::TraitExpands)) continue;
    if (op == ir::Op::Cast || op == ir::Op::Bitcast || op == ir::Op::Check) continue;  // a Check writes to its last operand
    std::vector<ir::Value> args(x.begin(), x.begin() + row.arity);
    if (op == ir::Op::Where) args[0] = chosen;
    store(std::string(row.text) + "_", build.op(op, args));
  }
  for (int u = 0; u < ir::kDTypeCount; ++u) {
    const auto to = static_cast<DType>(u);
    if (to == dtype) continue;
    store("cast_" + std::string(ir::name(to)), build.cast(x[0], to));
    if (ir::item_size(to) == ir::item_size(dtype) && dtype != DType::Bool && to != DType::Bool) {
      store("bits_" + std::string(ir::name(to)), build.op(ir::Op::Bitcast, {x[0]}, to));
    }
  }
  return kernel;
}

struct Case {
  const char* kernel;
  const char* schedule;
  std::vector<double> scalars;
};
const Case kCases[] = {
    {"chain", "pointwise", {}}, {"gelu", "pointwise", {}},           {"add_transposed", "transpose", {}},
    {"softmax", "rows", {}},    {"layer_norm", "rows", {200, 1e-5}}, {"mean_variance", "rows", {200}},
    {"dot", "split", {}},
};

}  // namespace

TEST_CASE("cuda: rows of a table, elements one by one, and updates of a region") {
  // 64 elements a row: four at a time, as the places of the rows do not change along them.
  const std::string rows = R"(kernel @rows(t: f32 in[6400], p: i64 in[37], y: f32 out[2368]) {
  axes i: 37 parallel, j: 64 parallel
  map i j : %0 = load p[i] : i64
  map i j : %1 = const 0 : i64
  map i j : %2 = max %0, %1 : i64
  map i j : %3 = const 99 : i64
  map i j : %4 = min %2, %3 : i64
  map i j : %5 = load t[j + 64*%4] : f32
  map i j : store y[64*i + j], %5
}
)";
  compare(rows, "pointwise");
  CHECK(ir::print(passes::lower(ir::parse_kernel(rows), ir::GpuTarget{}).tree).find(" : f32x4") != std::string::npos);
  compare(R"(kernel @each(t: f32 in[2368], p: i64 in[2368], y: f32 inout[4736]) {
  axes i: 37 parallel, j: 64 parallel
  map i j : %0 = load p[64*i + j] : i64
  map i j : %1 = const 0 : i64
  map i j : %2 = max %0, %1 : i64
  map i j : %3 = const 63 : i64
  map i j : %4 = min %2, %3 : i64
  map i j : %5 = load t[64*i + %4] : f32
  map i j : %6 = load y[128*i + 2*j + 1] : f32
  map i j : %7 = mul %5, %6 : f32
  map i j : store y[128*i + 2*j + 1], %7
}
)",
          "pointwise");
}

TEST_CASE("cuda: the kernels of the tutorial give the interpreter's bits") {
  for (const Case& c : kCases) {
    SUBCASE(c.kernel) { compare(kernel_text(c.kernel), c.schedule, false, c.scalars); }
  }
}

TEST_CASE("cuda: rows of every length class") {
  for (const int64_t columns : {1, 2, 3, 7, 8, 10, 16, 17, 31, 32, 33, 63, 64, 65, 512, 1000, 1024, 1025, 4095, 4096}) {
    CAPTURE(columns);
    compare(kernel_text("softmax", matrix(columns < 20 ? 300 : columns < 100 ? 9 : 2, columns)), "rows");
    compare(kernel_text("layer_norm", matrix(columns < 20 ? 128 : 2, columns)), "rows", false, {static_cast<double>(columns), 1e-5});
  }
  compare(kernel_text("softmax", matrix(3, 4097)), "rows");
  compare(kernel_text("softmax", matrix(2, 20000)), "rows");
  // In shared memory: two values of each element, then one, then none.
  for (const auto& [columns, buffers] : {std::pair{1025, 2}, {5000, 2}, {6100, 1}, {11000, 1}, {12289, 0}}) {
    CAPTURE(columns);
    const std::string text = kernel_text("softmax", matrix(3, columns));
    compare(text, "rows");
    const passes::Lowered lowered = passes::lower(passes::run_kernel_passes(ir::parse_kernel(text)), ir::GpuTarget{});
    const auto whole_row = [&](const ir::TreeBuffer& b) { return b.space == ir::Space::Shared && b.count >= columns; };
    CHECK(std::count_if(lowered.tree.buffers.begin(), lowered.tree.buffers.end(), whole_row) == buffers);
    compare(kernel_text("layer_norm", matrix(2, columns)), "rows", false, {static_cast<double>(columns), 1e-5});
  }
  compare(kernel_text("layer_norm", matrix(2, 65537)), "split", false, {65537, 1e-5});
  compare(kernel_text("mean_variance", matrix(4, 5000)), "rows", false, {5000});
}

TEST_CASE("cuda: nan and infinities go through maximum and softmax as they do on the CPU") {
  compare(kernel_text("softmax", matrix(16, 130)), "rows", true);
  compare(kernel_text("chain"), "pointwise", true);
}

TEST_CASE("cuda: the tiles of a transpose with ragged edges") {
  for (const auto& [rows, columns] : {std::pair{16, 16}, {32, 32}, {33, 31}, {64, 96}, {17, 129}}) {
    compare(kernel_text("add_transposed", matrix(rows, columns)), "transpose");
  }
}

TEST_CASE("cuda: every basic operation on every type it takes") {
  for (int t = 0; t < ir::kDTypeCount; ++t)
    compare(every_operation(static_cast<DType>(t)), "pointwise", true);
}

TEST_CASE("cuda: scans of many lines and of one") {
  for (const char* op : {"sum", "prod", "max", "min"}) {
    compare(std::string("kernel @scan(x: f32 in[12000], y: f32 out[12000], z: f32 out[12000]) {\n"
                        "  axes i: 3 parallel, j: 400 parallel, s: 10 serial\n"
                        "  map i j s  : %0 = load x[4000*i + j + 400*s] : f32\n"
                        "  scan i j|s : %1 = scan.") +
                op +
                " %0 : f32\n"
                "  map i j s  : %2 = mul %1, %0 : f32\n"
                "  map i j s  : store y[4000*i + j + 400*s], %1\n"
                "  map i j s  : store z[4000*i + j + 400*s], %2\n}\n",
            "scan", true);
  }
  compare(
      "kernel @scan(x: i64 in[70], y: i64 out[70]) {\n  axes s: 70 serial\n"
      "  map s   : %0 = load x[s] : i64\n  scan |s : %1 = scan.sum %0 : i64\n  map s   : store y[s], %1\n}\n",
      "scan");
}

TEST_CASE("cuda: products of every shape class, on one multiprocessor and on many") {
  const Product products[] = {
      {1, 1, 1, 5},        {1, 1, 300, 40},     {1, 300, 1, 40},   {1, 2, 300, 40},  {1, 300, 3, 40},  {700, 3, 4, 7},    {2, 33, 65, 17},
      {1, 64, 64, 64},     {1, 100, 130, 35},   {1, 128, 128, 24}, {1, 257, 5, 33},  {1, 6, 300, 75},  {1, 16, 400, 147}, {1, 400, 16, 147},
      {1, 20, 20, 300},    {1, 40, 150, 9},     {3, 150, 40, 31},  {1, 16, 60, 200}, {1, 60, 16, 200}, {1, 130, 60, 16},  {1, 60, 130, 16},
  };
  for (const int processors : {1, 100}) {
    ir::GpuTarget target;
    target.multiprocessors = processors;
    for (Product product : products) {
      for (const int transposed : {0, 1, 2}) {
        product.left_transposed = transposed == 1;
        product.right_transposed = transposed == 2;
        compare(product.text(), "contraction", false, {}, fastest_compiler(), target);
      }
    }
  }
}

TEST_CASE("cuda: products of every type") {
  for (const char* dtype : {"f64", "f16", "bf16", "i8", "u8", "i16", "i32", "i64"}) {
    compare(Product{2, 33, 70, 21, dtype, false, true}.text(), "contraction", true);
    compare(Product{50, 3, 2, 9, dtype}.text(), "contraction", true);
  }
}

TEST_CASE("cuda: every reduction, along rows and along columns") {
  const std::pair<const char*, const char*> reductions[] = {
      {"sum", "f32"},    {"sum", "f64"},    {"sum", "i64"},   {"sum", "i32"},    {"prod", "f32"},
      {"prod", "i64"},   {"max", "f32"},    {"max", "i8"},    {"max", "bool"},   {"min", "f64"},
      {"min", "u8"},     {"min", "i16"},    {"any", "bool"},  {"all", "bool"},   {"argmax", "f32"},
      {"argmin", "f32"}, {"argmax", "i32"}, {"argmin", "u8"}, {"argmax", "f64"}, {"argmax", "bool"}};
  for (const auto& [op, dtype] : reductions) {
    const std::string result = std::string(op).starts_with("arg") ? "i64" : dtype;
    for (const char* tree : {"lanes", "columns"}) {
      for (const auto& [rows, columns] : {std::pair{"7", "450"}, {"315", "10"}}) {
        const std::string text = std::string("kernel @reduce(x: ") + dtype + " in[3150], y: " + result + " out[" + rows + "]) {\n  axes r: " + rows +
                                 " parallel, c: " + columns + " inner\n" +  //
                                 "  map r c : %0 = load x[" + columns + "*r + c] : " + dtype + "\n" +
                                 "  reduce r|c : %1 = reduce." + op + " %0 " + tree + " : " + result + "\n" +
                                 "  map r : store y[r], %1\n}\n";
        compare(text, tree == std::string("lanes") ? "rows" : "columns", true);
      }
    }
  }
}

TEST_CASE("cuda: several inner axes, blocks of whole runs and of pieces of one") {
  const auto text = [](int64_t n, int64_t c, int64_t h, int64_t w, const std::string& reduction) {
    const std::string all = std::to_string(n * c * h * w), plane = std::to_string(h * w);
    return "kernel @batch(x: f32 in[" + all + "], y: f32 out[" + all + "], at: i64 out[" + std::to_string(c) +
           "]) {\n" + "  axes c: " + std::to_string(c) + " parallel, n: " + std::to_string(n) +
           " inner, h: " + std::to_string(h) + " inner, w: " + std::to_string(w) + " inner\n" +  //
           "  map c n h w : %0 = load x[" + std::to_string(c * h * w) + "*n + " + plane + "*c + " +
           std::to_string(w) + "*h + w] : f32\n" +                                 //
           "  reduce c|n h w : %1 = reduce.sum %0 " + reduction + " : f32\n" +     //
           "  reduce c|n h w : %2 = reduce.argmax %0 " + reduction + " : i64\n" +  //
           "  map c : store at[c], %2\n" +                                         //
           "  map c n h w : %3 = sub %0, %1 : f32\n" +                             //
           "  map c n h w : store y[" + std::to_string(c * h * w) + "*n + " + plane + "*c + " +
           std::to_string(w) + "*h + w], %3\n}\n";
  };
  compare(text(3, 5, 7, 9, "lanes"), "rows");
  compare(text(1, 3, 1, 5000, "lanes"), "rows");  // two reductions from shared memory
  compare(text(3, 2, 40, 70, "lanes"), "rows");   // several whole runs a block, three blocks
  compare(text(2, 3, 2, 4200, "lanes"), "rows");  // two pieces a run
  compare(text(3, 2, 3, 4200, "lanes"), "split");
  compare(text(40, 1, 33, 65, "lanes"), "split");
  compare(text(3, 5, 7, 9, "columns"), "columns");
  compare(text(30, 3, 11, 9, "columns"), "split");
}

TEST_CASE("cuda: guards, views with div and mod, broadcast and half precision") {
  compare(R"(kernel @pad(x: f32 in[40], y: f32 out[84]) {
  axes i: 7 parallel, j: 12 parallel
  map i j : %0 = const 0.5 : f32
  map i j : %1 = load x[8*i + j - 10] if 0 <= i - 1 < 5 and 0 <= j - 2 < 8 else %0 : f32
  map i j : store y[12*i + j], %1
}
)",
          "pointwise");
  compare(R"(kernel @view(x: f32 in[60], y: f32 out[60], at: i64 out[60]) {
  axes i: 10 parallel, j: 6 parallel
  map i j : %0 = load x[10*((6*i + j) mod 6) + (6*i + j) / 6] : f32
  map i j : %1 = index 6*i + j - 7 : i64
  map i j : store y[6*i + j], %0
  map i j : store at[59 - 6*i - j], %1
}
)",
          "pointwise");
  compare(R"(kernel @halves(x: f16 in[96], b: bf16 in[8], m: bool in[96], y: f16 out[96]) {
  axes i: 12 parallel, j: 8 parallel
  map i j : %0 = load x[8*i + j] : f16
  map i j : %1 = load b[j] : bf16
  map i j : %2 = cast %1 : f16
  map i j : %3 = mul %0, %2 : f16
  map i j : %4 = load m[8*i + j] : bool
  map i j : %5 = where %4, %3, %0 : f16
  map i j : store y[8*i + j], %5
}
)",
          "pointwise", true);
}

TEST_CASE("cuda: a C compiler finds what tcc finds") {
  if (!CudaSimulator::available(CudaSimulator::Compiler::Cc)) return;
  compare(kernel_text("softmax"), "rows", true, {}, CudaSimulator::Compiler::Cc);
  compare(kernel_text("chain"), "pointwise", true, {}, CudaSimulator::Compiler::Cc);
}

TEST_CASE("cuda: a reduction or scan whose result nobody needs leaves its axis behind") {
  for (const std::string kind : {"r: 300 inner", "s: 300 serial"}) {
    const std::string level = kind.substr(0, 1);
    compare(ir::parse_kernel("kernel @left(x: f32 in[1200], y: f32 out[1200]) {\n  axes i: 4 parallel, " + kind + "\n  map i " + level +
                             " : %0 = load x[300*i + " + level + "] : f32\n  map i " + level + " : %1 = neg %0 : f32\n  map i " + level +
                             " : store y[300*i + " + level + "], %1\n}\n"),
            level == "r" ? "rows" : "scan");
  }
}

TEST_CASE("cuda: NVRTC compiles every kernel without spills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  // The registers of each phase; fails on errors and warnings, and on spills unless they are allowed.
  std::vector<double> times;  // ms
  const auto compile = [&](const ir::Kernel& kernel, const std::string& arch, bool may_spill = false, const ir::GpuTarget& target = {}) {
    const passes::Lowered lowered = passes::lower(passes::run_kernel_passes(kernel), target);
    const auto begin = std::chrono::steady_clock::now();
    const test::Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(lowered.tree), arch);
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    CAPTURE(result.log);
    CHECK(result.compiled);
    std::string usage;
    std::istringstream log(result.log);
    for (std::string line; std::getline(log, line);) {
      if (!may_spill && line.find("bytes spill stores") != std::string::npos) {
        CHECK(line.find(" 0 bytes spill stores") != std::string::npos);
        CHECK(line.find(" 0 bytes stack frame") != std::string::npos);
      }
      CHECK(line.find("warning") == std::string::npos);
      const size_t used = line.find("Used ");
      if (used != std::string::npos) usage += "; " + line.substr(used + 5, line.find(',') - used - 5);
    }
    CHECK(!usage.empty());
    return usage;
  };
  std::string report;
  for (const std::string arch : {"sm_75", "sm_90"}) {
    for (const Case& c : kCases) {
      report += "\n" + arch + " " + c.kernel + compile(ir::parse_kernel(kernel_text(c.kernel)), arch);
    }
    report += "\n" + arch + " softmax of 5000 in shared memory" + compile(ir::parse_kernel(kernel_text("softmax", matrix(8, 5000))), arch);
    report += "\n" + arch + " softmax of 10" + compile(ir::parse_kernel(kernel_text("softmax", matrix(800, 10))), arch);
    const std::string longest = kernel_text("layer_norm", matrix(8, 1024));
    report += "\n" + arch + " layer_norm of 1024 in registers" + compile(ir::parse_kernel(longest), arch);
  }
  // Every tile of a product, on the machine that takes it for this product.
  for (const auto& [product, processors] : {std::pair{Product{1, 300, 300, 100}, 1}, {Product{1, 300, 300, 100, "f64"}, 1},
                                            {Product{1, 300, 300, 100, "f16", false, true}, 20}, {Product{1, 300, 300, 512}, 132},
                                            {Product{1, 16, 5000, 75}, 1}, {Product{1, 5000, 6, 75}, 1}, {Product{1, 1, 5000, 75, "f32", false, true}, 1},
                                            {Product{500, 3, 3, 5}, 132}, {Product{1, 300, 300, 100, "i64"}, 1}}) {
    ir::GpuTarget target;
    target.multiprocessors = processors;
    for (const std::string arch : {"sm_75", "sm_80", "sm_90"}) {
      report += "\n" + arch + " product of " + std::to_string(product.rows) + " x " + std::to_string(product.columns) + " " + product.dtype +
                compile(ir::parse_kernel(product.text()), arch, false, target) + "; " + std::to_string(times.back()) + " ms";
    }
  }
  MESSAGE(report);
  // Forty outputs at once are no real kernel: only errors matter here.
  for (const DType dtype : {DType::U8, DType::I64, DType::BF16, DType::F64}) {
    compile(every_operation(dtype), "sm_90", true);
  }
}
