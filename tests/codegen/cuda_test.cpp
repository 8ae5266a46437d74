// Rows, columns, elements and scans as CUDA text: accepted by the real NVRTC without spills, and, run thread by thread on the CPU, the same
// bits as the kernel interpreter.
#include <doctest/doctest.h>

#include "codegen/cuda_kernels.h"
#include "ir/kernel/kernel_builder.h"

using namespace tenon;
using namespace test::cuda_kernels;
using ir::DType;
using test::CudaSimulator;

namespace {

// A scan of each line, and a value of each element that needs it: y = scan x, z = y + x (or for bool). The elements of a line are
// neighbours in memory, or, `across`, those of neighbouring lines.
struct Scan {
  int64_t lines, length;
  const char* op;
  const char* dtype;
  bool across = false;

  std::string text() const {
    const auto number = [](int64_t n) { return std::to_string(n); };
    const std::string all = number(lines * length), type = dtype;
    const std::string at = across ? number(lines) + "*s + i" : number(length) + "*i + s";
    return "kernel @scan(x: " + type + " in[" + all + "], y: " + type + " out[" + all + "], z: " + type + " out[" + all +
           "]) {\n  axes i: " + number(lines) + " parallel, s: " + number(length) + " serial\n" +  //
           "  map i s  : %0 = load x[" + at + "] : " + type + "\n" +                               //
           "  scan i|s : %1 = scan." + op + " %0 : " + type + "\n" +                               //
           "  map i s  : store y[" + at + "], %1\n" +                                              //
           "  map i s  : %2 = " + (type == "bool" ? "or" : "add") + " %1, %0 : " + type + "\n" +   //
           "  map i s  : store z[" + at + "], %2\n}\n";
  }
};

// The running maximum, and the place of the last element that equals it: two scans, one after the other.
std::string running_maximum(int64_t lines, int64_t length, bool across = false) {
  const auto number = [](int64_t n) { return std::to_string(n); };
  const std::string all = number(lines * length), at = across ? number(lines) + "*s + i" : number(length) + "*i + s";
  return "kernel @cummax(x: f32 in[" + all + "], b: f32 in[" + number(lines) + "], y: f32 out[" + all + "], at: i64 out[" + all +
         "], c: f32 out[" + number(lines) + "]) {\n  axes i: " + number(lines) + " parallel, s: " + number(length) + " serial\n" +
         "  map i    : %0 = load b[i] : f32\n" + "  map i    : %1 = neg %0 : f32\n" + "  map i    : store c[i], %1\n" +
         "  map i s  : %2 = load x[" + at + "] : f32\n" + "  map i s  : %3 = add %2, %0 : f32\n" + "  scan i|s : %4 = scan.max %3 : f32\n" +
         "  map i s  : %5 = ge %3, %4 : bool\n" + "  map i s  : %6 = index s : i64\n" + "  map i    : %7 = const 0 : i64\n" +
         "  map i s  : %8 = where %5, %6, %7 : i64\n" + "  scan i|s : %9 = scan.max %8 : i64\n" + "  map i s  : store y[" + at + "], %4\n" +
         "  map i s  : store at[" + at + "], %9\n}\n";
}

// Sums of sums of floats beside a running maximum and, if asked, a product, which has one order only: three loops.
std::string sums_of_sums(int64_t lines, int64_t length, const std::string& type, bool across, bool product) {
  const auto number = [](int64_t n) { return std::to_string(n); };
  const std::string all = number(lines * length), at = across ? number(lines) + "*s + i" : number(length) + "*i + s";
  return "kernel @sums(x: " + type + " in[" + all + "], y: " + type + " out[" + all + "]) {\n  axes i: " + number(lines) +
         " parallel, s: " + number(length) + " serial\n" + "  map i s  : %0 = load x[" + at + "] : " + type + "\n" +
         "  scan i|s : %1 = scan.sum %0 : " + type + "\n" + "  scan i|s : %2 = scan.max %0 : " + type + "\n" +
         "  map i s  : %3 = sub %1, %2 : " + type + "\n" + "  scan i|s : %4 = scan.sum %3 : " + type + "\n" +
         "  map i s  : %5 = tanh %4 : " + type + "\n" + "  scan i|s : %6 = scan." + (product ? "prod" : "sum") + " %5 : " + type + "\n" +
         "  map i s  : %7 = add %6, %4 : " + type + "\n" + "  map i s  : store y[" + at + "], %7\n}\n";
}

// x of each of two rows, minus and times scalars by turns; minus its maximum; as a share of the row's sum.
std::string scaled_rows(int64_t columns, int scalars) {
  const std::string n = std::to_string(columns), all = std::to_string(2 * columns), at = "[" + n + "*r + c]";
  std::string text = "kernel @scaled(x: f32 in[" + all + "], y: f32 out[" + all + "]", body;
  int last = 0;
  const auto next = [&](const std::string& place, const std::string& what) {
    body += "  " + place + " : %" + std::to_string(++last) + " = " + what + " : f32\n";
    return "%" + std::to_string(last);
  };
  std::string x = "%0";
  for (int i = 0; i < scalars; ++i) {
    const std::string name = "s" + std::to_string(i);
    text += ", " + name + ": f32 scalar";
    const std::string scalar = next("map r", "scalar " + name);
    x = next("map r c", (i % 2 == 0 ? "sub " : "mul ") + x + ", " + scalar);
  }
  const std::string most = next("reduce r|c", "reduce.max " + x + " lanes"), less = next("map r c", "sub " + x + ", " + most);
  const std::string sum = next("reduce r|c", "reduce.sum " + less + " lanes"), share = next("map r c", "div " + less + ", " + sum);
  return text + ") {\n  axes r: 2 parallel, c: " + n + " inner\n  map r c : %0 = load x" + at + " : f32\n" + body + "  map r c : store y" +
         at + ", " + share + "\n}\n";
}

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
    {"chain", "pointwise", {}},         {"gelu", "pointwise", {}},       {"add_transposed", "transpose", {}}, {"softmax", kRows, {}},
    {"layer_norm", kRows, {200, 1e-5}}, {"mean_variance", kRows, {200}}, {"dot", "rows split", {}},
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

passes::Lowered lowered_for(const std::string& text, const ir::GpuTarget& target) {
  return passes::lower(passes::run_kernel_passes(ir::parse_kernel(text)), target);
}
// Buffers of values that a row keeps.
int64_t kept_values(const passes::Lowered& lowered, ir::Space space) {
  return std::count_if(lowered.tree.buffers.begin(), lowered.tree.buffers.end(),
                       [&](const ir::TreeBuffer& b) { return b.space == space && b.name.rfind("kept", 0) == 0; });
}

TEST_CASE("cuda: rows of every length class") {
  for (const int64_t columns : {1, 2, 3, 7, 8, 10, 16, 17, 31, 32, 33, 63, 64, 65, 512, 1000, 1024, 1025, 4095, 4096}) {
    CAPTURE(columns);
    compare(kernel_text("softmax", matrix(columns < 20 ? 300 : columns < 100 ? 9 : 2, columns)), kRows);
    compare(kernel_text("layer_norm", matrix(columns < 20 ? 128 : 2, columns)), kRows, false, {static_cast<double>(columns), 1e-5});
  }
  compare(kernel_text("softmax", matrix(3, 4097)), kRows);
  compare(kernel_text("softmax", matrix(2, 20000)), kRows);
  // A block keeps a row in its threads' registers, one of the two values of each element; longer rows are read again.
  for (const auto& [columns, kept] :
       {std::pair{1025, 1}, {1028, 1}, {2049, 1}, {5000, 1}, {8197, 1}, {16384, 1}, {16388, 1}, {30001, 1}, {40000, 0}}) {
    CAPTURE(columns);
    const std::string text = kernel_text("softmax", matrix(2, columns));
    compare(text, kRows);
    CHECK(kept_values(lowered_for(text, {}), ir::Space::Local) == kept);
    CHECK(kept_values(lowered_for(text, {}), ir::Space::Shared) == 0);
    compare(kernel_text("layer_norm", matrix(2, columns)), kRows, false, {static_cast<double>(columns), 1e-5});
  }
  compare(kernel_text("layer_norm", matrix(2, 65537)), "rows split", false, {65537, 1e-5});
  compare(kernel_text("mean_variance", matrix(4, 5000)), kRows, false, {5000});
}

TEST_CASE("cuda: aligned rows go by four neighbours a thread") {
  for (const int64_t columns : {64, 124, 128, 132, 252, 256, 260, 508, 512, 516, 768, 1020, 1024, 1028, 2048, 4092, 4096, 4100}) {
    CAPTURE(columns);
    compare(kernel_text("softmax", matrix(5, columns)), kRows);
    compare(kernel_text("mean_variance", matrix(19, columns)), kRows, false, {static_cast<double>(columns)});
  }
  const auto vectors = [](const std::string& text) {
    const std::string tree = ir::print(passes::lower(passes::run_kernel_passes(ir::parse_kernel(text)), ir::GpuTarget{}).tree);
    return tree.find(" : f32x4") != std::string::npos;
  };
  CHECK(vectors(kernel_text("softmax", matrix(5, 256))));
  CHECK(vectors(kernel_text("softmax", matrix(5, 4096))));
  CHECK(vectors(kernel_text("dot")));
  CHECK_FALSE(vectors(kernel_text("softmax", matrix(5, 254))));
  CHECK(vectors(kernel_text("softmax", matrix(5, 516))));
  CHECK(vectors(kernel_text("softmax", matrix(5, 1024))));
  CHECK_FALSE(vectors(kernel_text("softmax", matrix(5, 1022))));
  // Halves, with a value for each row and a table along them; blocks of the tree that two halves of a warp share unevenly.
  for (const int64_t columns : {128, 400, 3000, 20480}) {
    const std::string n = std::to_string(columns), all = std::to_string(7 * columns);
    compare("kernel @halves(x: f16 in[" + all + "], g: bf16 in[" + n + "], m: f16 in[7], y: f16 out[" + all +
                "], s: f16 out[7], at: i64 out[7]) {\n" + "  axes r: 7 parallel, c: " + n + " inner\n  map r c : %0 = load x[" + n +
                "*r + c] : f16\n" + "  map r : %1 = load m[r] : f16\n  map r c : %2 = sub %0, %1 : f16\n" +
                "  reduce r|c : %3 = reduce.sum %2 lanes : f16\n  reduce r|c : %4 = reduce.argmax %0 lanes : i64\n" +
                "  map r : store s[r], %3\n  map r : store at[r], %4\n  map r c : %5 = load g[c] : bf16\n  map r c : %6 = cast %5 : f16\n" +
                "  map r c : %7 = mul %6, %2 : f16\n  map r c : %8 = add %7, %3 : f16\n  map r c : store y[" + n + "*r + c], %8\n}\n",
            kRows, true);
  }
  // Reductions of every kind: in the halves of a warp, and by the chains of a block.
  for (const int64_t columns : {1000, 1024, 1500, 2049, 17000}) {
    const std::string n = std::to_string(columns), all = std::to_string(3 * columns);
    std::string text = "kernel @kinds(x: f32 in[" + all + "], i: i64 in[" + all + "], y: f32 out[" + all + "], n: i64 out[" + all + "]";
    const std::pair<const char*, const char*> kinds[] = {
        {"max", "f32"}, {"min", "f32"}, {"sum", "f32"}, {"argmin", "i64"}, {"prod", "f32"}};
    std::string body;
    int next = 2;
    for (const auto& [kind, type] : kinds) {
      if (std::string(kind) == "prod" && columns > 1024) continue;  // its order is that of the row
      text += std::string(", ") + kind + "1: " + type + " out[3]";
      body += "  reduce r|c : %" + std::to_string(next) + " = reduce." + kind + " %0 lanes : " + type + "\n  map r : store " + kind +
              "1[r], %" + std::to_string(next) + "\n";
      ++next;
    }
    const std::string total = std::to_string(next), less = std::to_string(next + 1), rest = std::to_string(next + 2);
    compare(text + ", total: i64 out[3]) {\n  axes r: 3 parallel, c: " + n + " inner\n  map r c : %0 = load x[" + n + "*r + c] : f32\n" +
                "  map r c : %1 = load i[" + n + "*r + c] : i64\n" + body + "  reduce r|c : %" + total + " = reduce.sum %1 lanes : i64\n" +
                "  map r : store total[r], %" + total + "\n  map r c : %" + less + " = sub %0, %2 : f32\n  map r c : store y[" + n +
                "*r + c], %" + less + "\n  map r c : %" + rest + " = sub %1, %" + total + " : i64\n  map r c : store n[" + n +
                "*r + c], %" + rest + "\n}\n",
            kRows, true);
  }
  for (const int64_t length : {65536, 69632, 98308}) {
    const std::string n = std::to_string(length);
    compare("kernel @sums(x: f32 in[" + n + "], y: f32 out[1], z: f32 out[" + n + "]) {\n  axes c: " + n + " inner\n" +
                "  map c : %0 = load x[c] : f32\n  reduce |c : %1 = reduce.sum %0 lanes : f32\n  map : store y[0], %1\n" +
                "  map c : %2 = div %0, %1 : f32\n  map c : store z[c], %2\n}\n",
            "rows split");
  }
}

TEST_CASE("cuda: what a block's registers have no room for stays in shared memory that each launch brings") {
  const ir::GpuTarget target = with_shared(227);
  for (const auto& [columns, in_shared] : {std::pair{30000, false}, {32772, true}, {40001, true}, {60000, true}}) {
    CAPTURE(columns);
    const std::string text = kernel_text("softmax", matrix(2, columns));
    compare(text, kRows, false, {}, fastest_compiler(), target);
    const passes::Lowered lowered = lowered_for(text, target);
    CHECK(kept_values(lowered, ir::Space::Local) == 1);
    CHECK(kept_values(lowered, ir::Space::Shared) == (in_shared ? 1 : 0));
    const int64_t bytes = codegen::cuda::dynamic_shared_bytes(lowered.tree, lowered.tree.phases.front());
    CHECK(bytes <= target.shared_bytes);
    CHECK((bytes > 0) == in_shared);
    CHECK((codegen::cuda::emit_kernels(lowered.tree).find("TENON_DYNAMIC_SHARED(") != std::string::npos) == in_shared);
  }
}

TEST_CASE("cuda: a block whose row has more than 16 scalars has half the threads, each with twice the registers") {
  struct {
    int64_t columns;
    int scalars, threads;
    bool in_shared;
  } const cases[] = {{5000, 16, 512, false},  {5000, 17, 512, false},  {16384, 16, 1024, false}, {16384, 17, 512, false},
                     {16390, 40, 512, false}, {32772, 16, 1024, true}, {32772, 17, 512, true},   {40001, 24, 512, true}};
  for (const auto& [columns, scalars, threads, in_shared] : cases) {
    CAPTURE(columns);
    CAPTURE(scalars);
    std::vector<double> numbers;
    for (int i = 0; i < scalars; ++i) numbers.push_back(0.5 + 0.125 * i);
    const std::string text = scaled_rows(columns, scalars);
    compare(text, kRows, false, numbers, fastest_compiler(), with_shared(227));
    const passes::Lowered lowered = lowered_for(text, with_shared(227));
    CHECK(lowered.tree.threads == threads);
    CHECK(kept_values(lowered, ir::Space::Local) == 1);
    CHECK(kept_values(lowered, ir::Space::Shared) == (in_shared ? 1 : 0));
  }
}

TEST_CASE("cuda: nan and infinities go through maximum and softmax as they do on the CPU") {
  compare(kernel_text("softmax", matrix(16, 130)), kRows, true);
  compare(kernel_text("chain"), "pointwise", true);
}

TEST_CASE("cuda: the tiles of a transpose with ragged edges") {
  for (const auto& [rows, columns] : {std::pair{16, 16}, {32, 32}, {33, 31}, {64, 96}, {17, 129}}) {
    compare(kernel_text("add_transposed", matrix(rows, columns)), "transpose");
  }
}

TEST_CASE("cuda: every basic operation on every type it takes") {
  for (int t = 0; t < ir::kDTypeCount; ++t) compare(every_operation(static_cast<DType>(t)), "pointwise", true);
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
            kScan, true);
  }
  compare(
      "kernel @scan(x: i64 in[70], y: i64 out[70]) {\n  axes s: 70 serial\n"
      "  map s   : %0 = load x[s] : i64\n  scan |s : %1 = scan.sum %0 : i64\n  map s   : store y[s], %1\n}\n",
      kScan);
}

TEST_CASE("cuda: scans of contiguous lines of every length class") {
  for (const int64_t length :
       {1, 2, 3, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 1024, 1025, 4095, 4096, 4097}) {
    CAPTURE(length);
    const int64_t lines = length < 20 ? 300 : length < 300 ? 9 : 3;
    compare(Scan{lines, length, "sum", "i64"}.text(), kScan);
    compare(Scan{lines, length, "max", "f32"}.text(), kScan, true);
    compare(Scan{lines, length, "sum", "f32"}.text(), kScan, length < 100);
    compare(running_maximum(lines, length), kScan, true);
  }
}

TEST_CASE("cuda: scans of every type") {
  const std::pair<const char*, const char*> scans[] = {{"max", "bool"}, {"min", "bool"}, {"sum", "u8"},  {"prod", "i8"},  {"sum", "i16"},
                                                       {"prod", "i32"}, {"min", "u8"},   {"max", "i64"}, {"prod", "i64"}, {"min", "f64"},
                                                       {"max", "f16"},  {"min", "bf16"}, {"sum", "f16"}, {"prod", "f32"}, {"sum", "f64"}};
  for (const auto& [op, dtype] : scans) {
    CAPTURE(op);
    CAPTURE(dtype);
    const bool rounded = ir::is_float(*ir::dtype_from_name(dtype)) && std::string("sum prod").find(op) != std::string::npos;
    compare(Scan{40, 70, op, dtype}.text(), kScan, true);
    compare(Scan{17, 600, op, dtype}.text(), kScan, true);
    compare(Scan{17, 600, op, dtype, true}.text(), rounded ? kScan : kScanSplit, true);
  }
}

TEST_CASE("cuda: sums of floats go by runs, blocks and spans") {
  ir::GpuTarget target;
  target.multiprocessors = 3;
  // Behind a nan all is nan, so most lines are without.
  const auto check = [&](const std::string& text, const char* schedule, bool special = false) {
    compare(text, schedule, special, {}, fastest_compiler(), target);
  };
  const char* types[] = {"f32", "f64", "f16", "bf16"};
  size_t next = 0;
  for (const int64_t length : {64, 65, 128, 129, 2047, 2048, 2049, 4096, 4097, 12288, 12289, 16385}) {
    CAPTURE(length);
    const char* schedule = length > 12288 ? kScanSplit : kScan;  // four blocks
    for (const bool across : {false, true}) {
      const char* type = types[next++ % 4];
      CAPTURE(type);
      check(Scan{1, length, "sum", type, across}.text(), schedule);
      if (length < 5000) check(Scan{70, length, "sum", type, across}.text(), kScan);
    }
    check(sums_of_sums(2, length, types[next % 4], next % 3 == 0, false), schedule);
    check(sums_of_sums(3, length, types[next % 4], next % 3 != 0, true), kScan);
  }
  check(Scan{5, 20000, "sum", "f32", true}.text(), kScanSplit);
  check(Scan{37, 12300, "sum", "f16", true}.text(), kScanSplit);
  check(Scan{300, 200, "sum", "f32"}.text(), kScan, true);
  check(Scan{2, 12300, "sum", "f64"}.text(), kScanSplit, true);
  check(Scan{1, 530000, "sum", "f32"}.text(), kScanSplit);    // three spans
  check(sums_of_sums(1, 270000, "f32", false, true), kScan);  // and two that one block passes over
}

TEST_CASE("cuda: few long lines are scanned in pieces if the bits allow it") {
  ir::GpuTarget target;
  target.multiprocessors = 3;  // 12 blocks at a time
  const auto check = [&](const std::string& text, const char* schedule) { compare(text, schedule, true, {}, fastest_compiler(), target); };
  for (const int64_t length : {8191, 8192, 20000, 70001}) {
    check(Scan{1, length, "sum", "i64"}.text(), kScanSplit);
    check(Scan{2, length, "min", "f32"}.text(), kScanSplit);
    check(Scan{1, length, "prod", "f64"}.text(), kScan);
    check(running_maximum(2, length), kScanSplit);
  }
  check(running_maximum(13, 5000), kScan);
  check(Scan{20, 1000, "sum", "i32", true}.text(), kScanSplit);
  check(Scan{100, 129, "max", "f32", true}.text(), kScanSplit);
  check(Scan{3, 20000, "sum", "i64", true}.text(), kScanSplit);
  check(Scan{100, 300, "sum", "f32", true}.text(), kScan);
  check(Scan{100, 300, "sum", "f32"}.text(), kScan);
  check(Scan{500, 10, "prod", "f32"}.text(), kScan);
  check(Scan{17000, 200, "sum", "i64", true}.text(), kScan);
}

TEST_CASE("cuda: every reduction, along rows and along columns") {
  const std::pair<const char*, const char*> reductions[] = {
      {"sum", "f32"},    {"sum", "f64"},    {"sum", "i64"},    {"sum", "i32"},   {"prod", "f32"},   {"prod", "i64"},   {"max", "f32"},
      {"max", "i8"},     {"max", "bool"},   {"min", "f64"},    {"min", "u8"},    {"min", "i16"},    {"any", "bool"},   {"all", "bool"},
      {"argmax", "f32"}, {"argmin", "f32"}, {"argmax", "i32"}, {"argmin", "u8"}, {"argmax", "f64"}, {"argmax", "bool"}};
  for (const auto& [op, dtype] : reductions) {
    const std::string result = std::string(op).starts_with("arg") ? "i64" : dtype;
    for (const char* tree : {"lanes", "columns"}) {
      for (const auto& [rows, columns] : {std::pair{"7", "450"}, {"315", "10"}, {"2", "1575"}}) {
        const std::string text = std::string("kernel @reduce(x: ") + dtype + " in[3150], y: " + result + " out[" + rows +
                                 "]) {\n  axes r: " + rows + " parallel, c: " + columns + " inner\n" +  //
                                 "  map r c : %0 = load x[" + columns + "*r + c] : " + dtype + "\n" + "  reduce r|c : %1 = reduce." + op +
                                 " %0 " + tree + " : " + result + "\n" + "  map r : store y[r], %1\n}\n";
        compare(text, tree == std::string("lanes") ? kRows : columns == std::string("1575") ? "columns split" : "columns", true);
      }
    }
  }
}

TEST_CASE("cuda: several inner axes, blocks of whole runs and of pieces of one") {
  const auto text = [](int64_t n, int64_t c, int64_t h, int64_t w, const std::string& reduction) {
    const std::string all = std::to_string(n * c * h * w), plane = std::to_string(h * w);
    return "kernel @batch(x: f32 in[" + all + "], y: f32 out[" + all + "], at: i64 out[" + std::to_string(c) + "]) {\n" +
           "  axes c: " + std::to_string(c) + " parallel, n: " + std::to_string(n) + " inner, h: " + std::to_string(h) +
           " inner, w: " + std::to_string(w) + " inner\n" +  //
           "  map c n h w : %0 = load x[" + std::to_string(c * h * w) + "*n + " + plane + "*c + " + std::to_string(w) +
           "*h + w] : f32\n" +                                                     //
           "  reduce c|n h w : %1 = reduce.sum %0 " + reduction + " : f32\n" +     //
           "  reduce c|n h w : %2 = reduce.argmax %0 " + reduction + " : i64\n" +  //
           "  map c : store at[c], %2\n" +                                         //
           "  map c n h w : %3 = sub %0, %1 : f32\n" +                             //
           "  map c n h w : store y[" + std::to_string(c * h * w) + "*n + " + plane + "*c + " + std::to_string(w) + "*h + w], %3\n}\n";
  };
  compare(text(3, 5, 7, 9, "lanes"), kRows);
  compare(text(1, 3, 1, 5000, "lanes"), kRows);  // two reductions from shared memory
  compare(text(3, 2, 40, 70, "lanes"), kRows);   // several whole runs a block, three blocks
  compare(text(2, 3, 2, 4200, "lanes"), kRows);  // two pieces a run
  compare(text(3, 2, 3, 4200, "lanes"), "rows split");
  compare(text(40, 1, 33, 65, "lanes"), "rows split");
  compare(text(1, 1, 1, 530001, "lanes"), "rows split");  // 130 block values of each, through shared memory
  compare(text(3, 5, 7, 9, "columns"), "columns");
  compare(text(30, 3, 11, 9, "columns"), "columns split");
  compare(text(30, 3, 110, 9, "columns"), "columns split");    // 117 block values a column, through shared memory
  compare(text(1, 33, 1900, 10, "columns"), "columns split");  // 75, of which 64 go there at a time
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
  compare(kernel_text("softmax"), kRows, true, {}, CudaSimulator::Compiler::Cc);
  compare(kernel_text("chain"), "pointwise", true, {}, CudaSimulator::Compiler::Cc);
}

TEST_CASE("cuda: a reduction or scan whose result nobody needs leaves its axis behind") {
  for (const std::string kind : {"r: 300 inner", "s: 300 serial"}) {
    const std::string level = kind.substr(0, 1);
    compare(ir::parse_kernel("kernel @left(x: f32 in[1200], y: f32 out[1200]) {\n  axes i: 4 parallel, " + kind + "\n  map i " + level +
                             " : %0 = load x[300*i + " + level + "] : f32\n  map i " + level + " : %1 = neg %0 : f32\n  map i " + level +
                             " : store y[300*i + " + level + "], %1\n}\n"),
            level == "r" ? kRows : kScan);
  }
}

TEST_CASE("cuda: NVRTC compiles every kernel without spills") {
  test::cuda_kernels::NvrtcChecks checks;
  if (!checks.nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  std::string report;
  for (const std::string arch : {"sm_75", "sm_80", "sm_90"}) {
    for (const Case& c : kCases) {
      report += "\n" + arch + " " + c.kernel + checks.compile(ir::parse_kernel(kernel_text(c.kernel)), arch);
    }
    report +=
        "\n" + arch + " softmax of 5000 in shared memory" + checks.compile(ir::parse_kernel(kernel_text("softmax", matrix(8, 5000))), arch);
    report += "\n" + arch + " softmax of 10" + checks.compile(ir::parse_kernel(kernel_text("softmax", matrix(800, 10))), arch);
    for (const int64_t columns : {512, 1024}) {
      const std::string row = kernel_text("layer_norm", matrix(8, columns));
      report += "\n" + arch + " layer_norm of " + std::to_string(columns) + " in registers" + checks.compile(ir::parse_kernel(row), arch);
    }
    report += "\n" + arch + " softmax of 20000 in shared memory" +
              checks.compile(ir::parse_kernel(kernel_text("softmax", matrix(8, 20000))), arch, false, with_shared(100));
    for (const int64_t columns : {16384, 20000}) {
      report += "\n" + arch + " " + std::to_string(columns) + " elements and 40 scalars" +
                checks.compile(ir::parse_kernel(scaled_rows(columns, 40)), arch, false, with_shared(100));
    }
    for (const Scan& scan : {Scan{1000, 20, "sum", "i64"}, Scan{1000, 300, "max", "f32"}, Scan{1000, 3000, "sum", "i64"},
                             Scan{1, 300000, "sum", "i64"}, Scan{1000, 300, "sum", "f32"}, Scan{1000, 300, "sum", "i32", true},
                             Scan{1, 300000, "sum", "f64"}, Scan{8, 300000, "sum", "f16", true}, Scan{20000, 5000, "sum", "f32", true}}) {
      report += "\n" + arch + " scan of " + std::to_string(scan.lines) + " x " + std::to_string(scan.length) + " " + scan.dtype +
                checks.compile(ir::parse_kernel(scan.text()), arch);
    }
    report += "\n" + arch + " sums of sums" + checks.compile(ir::parse_kernel(sums_of_sums(1, 300000, "f32", false, false)), arch);
    report += "\n" + arch + " running maximum" + checks.compile(ir::parse_kernel(running_maximum(3, 300000)), arch);
  }
  MESSAGE(report);
  // Forty outputs at once are no real kernel: only errors matter here.
  for (const DType dtype : {DType::U8, DType::I64, DType::BF16, DType::F64}) {
    checks.compile(every_operation(dtype), "sm_90", true);
  }
}
