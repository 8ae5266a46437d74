// The LLVM backend: every op, dtype and lane count against ir::evaluate, then every statement kind, several
// CPUs, threads, and objects that are not ours. Trees are written as text.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "codegen/llvm/jit.h"

using namespace tenon;
using namespace tenon::ir;
namespace jit = tenon::codegen::llvm_backend;

namespace {

using Bytes = std::vector<unsigned char>;

struct Program {
  LoopTree tree;
  std::unique_ptr<codegen::Executable> code;

  explicit Program(const std::string& text, const std::string& cpu = {})
      : tree(parse_looptree(text)), code(jit::load_object(jit::compile_object(tree, cpu), static_cast<int>(tree.phases.size()))) {}

  // Runs each phase over all of its range, in two pieces.
  void run(std::vector<void*> buffers, std::vector<int64_t> sizes, std::vector<uint64_t> scalars = {}) const {
    alignas(64) static thread_local unsigned char local[1 << 16];
    for (size_t i = 0; i < tree.phases.size(); ++i) {
      const int64_t count = sizes[static_cast<size_t>(tree.phases[i].extent)];
      code->phases[i](buffers.data(), sizes.data(), scalars.data(), 0, count / 2, local);
      code->phases[i](buffers.data(), sizes.data(), scalars.data(), count / 2, count, local);
    }
  }
};

Constant read(const Bytes& bytes, DType dtype, size_t i) {
  Constant c{dtype, 0};
  const auto size = static_cast<size_t>(item_size(dtype));
  std::memcpy(&c.bits, bytes.data() + i * size, size);
  return c;
}

void write(Bytes& bytes, Constant c, size_t i) {
  const auto size = static_cast<size_t>(item_size(c.dtype));
  std::memcpy(bytes.data() + i * size, &c.bits, size);
}

bool is_nan(Constant c) { return is_float(c.dtype) && std::isnan(to_double(c)); }

std::vector<Constant> special_values(DType dtype) {
  std::vector<Constant> values;
  if (dtype == DType::Bool) return {{dtype, 0}, {dtype, 1}};
  if (is_int(dtype)) {
    for (int64_t x : {0, 1, -1, 2, -2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100, -100}) values.push_back(constant(dtype, x));
    const uint64_t sign = uint64_t{1} << (8 * item_size(dtype) - 1);
    for (uint64_t bits : {sign, sign - 1, sign + 1}) values.push_back({dtype, bits});
    return values;
  }
  for (double x : {0.0,
                   1.0,
                   0.5,
                   1.5,
                   2.5,
                   3.0,
                   0.1,
                   127.9,
                   128.0,
                   300.0,
                   65504.0,
                   65519.0,
                   65520.0,
                   0x1p31,
                   0x1.fffffep30,
                   0x1p63,
                   0x1.fffffffffffffp62,
                   3e9,
                   1e30,
                   6e-8,
                   2.9e-8,
                   6.1e-5,
                   1e-40,
                   HUGE_VAL}) {
    values.push_back(constant(dtype, x));
    values.push_back(constant(dtype, -x));
  }
  values.push_back(constant(dtype, std::nan("")));
  values.push_back({dtype, constant(dtype, HUGE_VAL).bits + 1});  // a nan whose low bits alone are set
  values.push_back({dtype, 1});                                   // the least subnormal
  return values;
}

// Operand columns: all pairs of special values, then random bits and random special values.
std::vector<Bytes> operands(const std::vector<DType>& dtypes, size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Bytes> columns;
  std::vector<std::vector<Constant>> specials;
  for (DType dtype : dtypes) {
    columns.emplace_back(count * static_cast<size_t>(item_size(dtype)));
    specials.push_back(special_values(dtype));
  }
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i;
    for (size_t k = dtypes.size(); k-- > 0;) {
      const size_t n = specials[k].size();
      Constant c = specials[k][i < count / 2 ? rest % n : random() % n];
      rest /= n;
      const int bits = 8 * item_size(dtypes[k]);
      if (i >= count / 2 && random() % 4) c.bits = dtypes[k] == DType::Bool ? random() & 1 : random() >> (64 - bits);
      write(columns[k], c, i);
    }
  }
  return columns;
}

std::string typed(DType dtype, int lanes) { return std::string(name(dtype)) + (lanes == 1 ? "" : "x" + std::to_string(lanes)); }

struct OpCase {
  Op op;
  std::vector<DType> from;
  DType to;
};

std::vector<OpCase> all_cases() {
  std::vector<OpCase> cases;
  for (int o = 0; o < kOpCount; ++o) {
    const Op op = static_cast<Op>(o);
    if (!is_elementwise(op) || has_trait(op, TraitExpands)) continue;
    for (int t = 0; t < kDTypeCount; ++t) {
      const DType dtype = static_cast<DType>(t);
      const bool moves = info(op).rule == TypeRule::Attr || info(op).rule == TypeRule::Select;
      if (!in_domain(op, dtype) || (is_half(dtype) && !moves)) continue;  // expand-half comes before arithmetic
      std::vector<DType> from(static_cast<size_t>(info(op).arity), dtype);
      if (info(op).rule == TypeRule::Select) from[0] = DType::Bool;
      if (info(op).rule != TypeRule::Attr) {
        cases.push_back({op, from, info(op).rule == TypeRule::Compare ? DType::Bool : dtype});
        continue;
      }
      for (int to = 0; to < kDTypeCount; ++to) {
        if (op == Op::Cast || (to != 0 && item_size(static_cast<DType>(to)) == item_size(dtype))) {
          cases.push_back({op, from, static_cast<DType>(to)});
        }
      }
    }
  }
  return cases;
}

// One phase for each lane count, each writing its own output.
std::string case_text(const OpCase& c, const std::vector<int>& lane_counts) {
  std::string text = "looptree cpu {\n params ";
  for (size_t i = 0; i < c.from.size(); ++i) text += "x" + std::to_string(i) + ": " + typed(c.from[i], 1) + " in, ";
  for (size_t k = 0; k < lane_counts.size(); ++k) text += "y" + std::to_string(k) + ": " + typed(c.to, 1) + " out, ";
  text += "sizes " + std::to_string(lane_counts.size()) + "\n";
  for (size_t k = 0; k < lane_counts.size(); ++k) {
    const int lanes = lane_counts[k];
    const std::string n = std::to_string(k);
    text += "phase p" + n + ": parallel %0 in 0..s" + n + " {\n%1 = const " + std::to_string(lanes) + " : i64\n%2 = mul %0, %1 : i64\n";
    std::string args;
    for (size_t i = 0; i < c.from.size(); ++i) {
      const std::string value = "%" + std::to_string(i + 3);
      text += value + " = load x" + std::to_string(i) + "[%2] : " + typed(c.from[i], lanes) + "\n";
      args += (i ? ", " : " ") + value;
    }
    text += "%9 = " + std::string(info(c.op).text) + args + " : " + typed(c.to, lanes) + "\nstore y" + n + "[%2], %9\n}\n";
  }
  return text + "}\n";
}

// The first difference from ir::evaluate, or "".
std::string check_case(const OpCase& c, const std::vector<int>& lane_counts, const std::string& cpu) {
  const size_t count = 1024;
  const Program program(case_text(c, lane_counts), cpu);
  std::vector<Bytes> in = operands(c.from, count, static_cast<unsigned>(c.op) * 64 + static_cast<unsigned>(c.to));
  std::vector<Bytes> out(lane_counts.size(), Bytes(count * static_cast<size_t>(item_size(c.to)), 0xee));
  std::vector<void*> buffers;
  for (Bytes& b : in) buffers.push_back(b.data());
  for (Bytes& b : out) buffers.push_back(b.data());
  std::vector<int64_t> sizes;
  for (int lanes : lane_counts) sizes.push_back(static_cast<int64_t>(count) / lanes);
  program.run(buffers, sizes);
  for (size_t i = 0; i < count; ++i) {
    std::vector<Constant> args;
    std::string shown;
    for (size_t k = 0; k < c.from.size(); ++k) {
      args.push_back(read(in[k], c.from[k], i));
      shown += " " + print(args[k]);
    }
    const Constant expected = evaluate(c.op, args, c.to);
    for (size_t k = 0; k < lane_counts.size(); ++k) {
      const Constant got = read(out[k], c.to, i);
      if (got == expected || (is_nan(got) && is_nan(expected))) continue;
      return std::string(info(c.op).text) + " " + typed(c.from.back(), lane_counts[k]) + " -> " + std::string(name(c.to)) + " on '" + cpu +
             "':" + shown + " gave " + print(got) + ", not " + print(expected);
    }
  }
  return "";
}

// Runs `work(i)` for i < count on all processors; collects what it returns.
template <typename Work>
std::vector<std::string> in_parallel(size_t count, Work work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> failures;
  auto worker = [&] {
    for (size_t i; (i = next++) < count;) {
      std::string failure;
      try {
        failure = work(i);
      } catch (const std::exception& error) {
        failure = error.what();
      }
      if (failure.empty()) continue;
      const std::lock_guard lock(mutex);
      failures.push_back(failure);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(2u, std::thread::hardware_concurrency()); ++t) threads.emplace_back(worker);
  for (std::thread& thread : threads) thread.join();
  return failures;
}

void check_all(const std::vector<OpCase>& cases, const std::vector<int>& lane_counts, const std::string& cpu) {
  const auto failures = in_parallel(cases.size(), [&](size_t i) { return check_case(cases[i], lane_counts, cpu); });
  for (const std::string& failure : failures) FAIL_CHECK(failure);
  CHECK(failures.empty());
}

bool runs_here(const char* feature) { return jit::host_features().find(feature) != std::string::npos; }

}  // namespace

TEST_CASE("llvm: every op, dtype and lane count computes what the op table says" * doctest::skip(!jit::available())) {
  const std::vector<OpCase> cases = all_cases();
  CHECK(cases.size() > 250);
  check_all(cases, {1, 4, 8, 16}, "");
}

// The oldest CPU that is served has neither FMA nor half conversions; AVX2 has no masks. All give the same
// bits.
TEST_CASE("llvm: older CPUs give the same bits" * doctest::skip(!jit::available() || !runs_here("+avx2"))) {
  std::vector<OpCase> rounding;
  for (const OpCase& c : all_cases()) {
    const bool half = is_half(c.from.back()) || is_half(c.to);
    if (c.op == Op::Fma || (half && c.op == Op::Cast) || c.op == Op::Shr || c.op == Op::Max) {
      rounding.push_back(c);
    }
  }
  check_all(rounding, {1, 8}, "x86-64-v2");
  check_all(rounding, {8}, "x86-64-v3");
}

namespace {

// A page whose end is the end of accessible memory.
class Fence {
 public:
  Fence() : start_(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(start_ != MAP_FAILED);
    REQUIRE(mprotect(static_cast<char*>(start_) + kPage, kPage, PROT_NONE) == 0);
  }
  ~Fence() { munmap(start_, 2 * kPage); }
  Fence(const Fence&) = delete;
  unsigned char* last(size_t bytes) const { return static_cast<unsigned char*>(start_) + kPage - bytes; }
  bool disturbed(size_t bytes) const {  // anything but the last `bytes`
    return std::any_of(last(kPage), last(bytes), [](unsigned char byte) { return byte != 0; });
  }

 private:
  static constexpr size_t kPage = 4096;
  void* start_;
};

const char* kTail = R"(looptree @tail cpu lanes=LANES {
  params x: TYPE in, y: TYPE out, sizes 3
  phase p: parallel %0 in 0..s0 {
    %1 = size s1 : i64
    %2 = const 1 : i64
    %3 = mul %0, %1 : i64
    %4 = add %3, %1 : i64
    for %5 in %3..%4 step LANES {
      %6 = ramp %5, %2 : i64xLANES
      %7 = splat %4 : i64xLANES
      %8 = lt %6, %7 : boolxLANES
      %9 = load x[%5] mask %8 : TYPExLANES
      %10 = bitcast %9 : TYPExLANES
      store y[%5] mask %8, %10
    }
  }
}
)";

std::string filled(std::string text, std::initializer_list<std::pair<const char*, std::string>> words) {
  for (const auto& [word, by] : words) {
    for (size_t at; (at = text.find(word)) != std::string::npos;) text.replace(at, std::strlen(word), by);
  }
  return text;
}

}  // namespace

TEST_CASE("llvm: masked loads and stores touch nothing outside" * doctest::skip(!jit::available())) {
  struct Variant {
    DType dtype;
    int lanes;
    const char* cpu;
  };
  std::vector<Variant> variants;
  for (int t = 0; t < kDTypeCount; ++t) {
    for (int lanes : {4, 16}) variants.push_back({static_cast<DType>(t), lanes, ""});
    if (runs_here("+avx2")) variants.push_back({static_cast<DType>(t), 8, "x86-64-v3"});
  }
  const auto failures = in_parallel(variants.size(), [&](size_t v) -> std::string {
    const auto [dtype, lanes, cpu] = variants[v];
    std::string text = filled(kTail, {{"LANES", std::to_string(lanes)}, {"TYPE", std::string(name(dtype))}});
    if (dtype == DType::Bool) text = filled(text, {{"bitcast %9", "or %9, %9"}});
    const Program program(text, cpu);
    const auto size = static_cast<size_t>(item_size(dtype));
    for (size_t count : {1u, 3u, 4u, 5u, 15u, 16u, 17u, 31u, 33u}) {
      Fence x, y;
      unsigned char* from = x.last(count * size);
      unsigned char* to = y.last(count * size);
      for (size_t i = 0; i < count * size; ++i) {
        from[i] = static_cast<unsigned char>(dtype == DType::Bool ? i % 2 : i + 1);
      }
      program.run({from, to}, {1, static_cast<int64_t>(count), 0});
      if (std::memcmp(from, to, count * size) != 0) return "wrong elements: " + text;
      if (x.disturbed(count * size) || y.disturbed(count * size)) return "wrote before the start: " + text;
    }
    return "";
  });
  for (const std::string& failure : failures) FAIL_CHECK(failure);
}

TEST_CASE("llvm: a bool in memory is any byte; a scalar mask guards a scalar access" * doctest::skip(!jit::available())) {
  const Program program(R"(looptree cpu {
    params x: bool in, y: bool out, z: f32 out, w: f32 in, sizes 1
    phase p: parallel %0 in 0..s0 {
      %1 = load x[%0] : bool
      store y[%0], %1
      %2 = load w[%0] mask %1 : f32
      %3 = not %1 : bool
      store z[%0] mask %3, %2
    }
  })");
  Bytes x = {0, 1, 2, 255, 128}, y(5);
  std::vector<float> w = {1, 2, 3, 4, 5}, z(5, 9);
  program.run({x.data(), y.data(), z.data(), w.data()}, {5});
  CHECK(y == Bytes{0, 1, 1, 1, 1});
  CHECK(z == std::vector<float>{0, 9, 9, 9, 9});
}

// LLVM 19 has no code for this with AVX512-FP16, and ended the process.
TEST_CASE("llvm: the bits of a comparison as float16" * doctest::skip(!jit::available())) {
  const std::string text = R"(looptree cpu {
    params x: f32 in, y: f32 out, sizes 1
    phase p: parallel %0 in 0..s0 {
      %1 = load x[%0] : f32
      %2 = const 0.0 : f32
      %3 = eq %1, %2 : bool
      %4 = cast %3 : i16
      %5 = bitcast %4 : f16
      %6 = cast %5 : f32
      store y[%0], %6
    }
  })";
  CHECK_NOTHROW(jit::compile_object(parse_looptree(text), "sapphirerapids"));
  std::vector<float> x = {0, 1, -0.0F, 3}, y(4);
  Program(text).run({x.data(), y.data()}, {4});
  CHECK(y == std::vector<float>{0x1p-24F, 0, 0x1p-24F, 0});
}

TEST_CASE("llvm: strided and gathered access, masked and not" * doctest::skip(!jit::available())) {
  for (const char* type : {"f32", "f64", "i16", "u8", "bool", "f16"}) {
    for (const char* lanes : {"4", "16"}) {
      const std::string text = filled(R"(looptree cpu {
    params x: TYPE in, y: TYPE out, g: TYPE out, i: i64 in, sizes 4
    phase p: parallel %0 in 0..s0 {
      %1 = size s1 : i64
      %2 = size s2 : i64
      %3 = const 0 : i64
      %4 = const 1 : i64
      %5 = size s3 : i64
      %6 = ramp %3, %4 : i64xLANES
      %7 = splat %5 : i64xLANES
      %8 = lt %6, %7 : boolxLANES
      %9 = load x[%0 stride %1] : TYPExLANES
      store y[%0 stride %2], %9
      %10 = load x[%0 stride %1] mask %8 : TYPExLANES
      %11 = load i[%3] : i64xLANES
      store g[%11] mask %8, %10
      %12 = load x[%11] : TYPExLANES
      %13 = size s2 : i64
      %14 = add %0, %13 : i64
      %15 = add %14, %13 : i64
      store y[%15 stride %2], %12
    }
  })",
                                      {{"TYPE", type}, {"LANES", lanes}});
      const Program program(text);
      const size_t n = static_cast<size_t>(std::atoi(lanes)), size = static_cast<size_t>(item_size(program.tree.buffers[0].dtype));
      const size_t stride = 3, out_stride = 5, live = 3;
      Bytes x(n * stride * size), y(n * out_stride * size + 3 * out_stride * size, 0xcd), g(n * stride * size, 0xcd);
      for (size_t k = 0; k < x.size(); ++k) x[k] = std::strcmp(type, "bool") ? static_cast<unsigned char>(k * 7) : k % 2;
      std::vector<int64_t> where;
      for (size_t k = 0; k < n; ++k) where.push_back(static_cast<int64_t>((k * 7 + 2) % (n * stride)));
      Bytes want_y = y, want_g = g;
      for (size_t k = 0; k < n; ++k) {
        std::memcpy(&want_y[k * out_stride * size], &x[k * stride * size], size);
        if (k < live) std::memcpy(&want_g[static_cast<size_t>(where[k]) * size], &x[k * stride * size], size);
      }
      for (size_t k = 0; k < n; ++k) {
        std::memcpy(&want_y[(k * out_stride + 2 * out_stride) * size], &x[static_cast<size_t>(where[k]) * size], size);
      }
      program.run({x.data(), y.data(), g.data(), where.data()},
                  {1, static_cast<int64_t>(stride), static_cast<int64_t>(out_stride), static_cast<int64_t>(live)});
      CAPTURE(type);
      CAPTURE(lanes);
      CHECK(y == want_y);
      CHECK(g == want_g);
    }
  }
}

TEST_CASE("llvm: registers, loops, branches, local buffers, several phases" * doctest::skip(!jit::available())) {
  // Row sums through two local buffers and a fold by halves; then each row's sum over the total.
  const Program program(R"(looptree @rows cpu lanes=8 {
    params x: f32 in, sum: f32 global[s0], y: f32 out, odd: i8 local[3], row: f32 local[s1], a0: f32 scalar, a1: bool scalar, a2: f64 scalar, sizes 3
    phase rows: parallel %0 in 0..s0 {
      %1 = size s1 : i64
      %2 = mul %0, %1 : i64
      %3 = const 0 : i64
      %4 = const 0.0 : f32x8
      var %5 = %4
      for %6 in %3..%1 step 8 {
        %7 = add %2, %6 : i64
        %8 = load x[%7] : f32x8
        store row[%6], %8
      }
      %9 = const 7 : i8
      store odd[%3], %9
      for %10 in %3..%1 step 8 {
        %11 = load row[%10] : f32x8
        %12 = get %5 : f32x8
        %13 = add %12, %11 : f32x8
        set %5, %13
      }
      %14 = get %5 : f32x8
      %15 = low %14 : f32x4
      %16 = high %14 : f32x4
      %17 = add %15, %16 : f32x4
      %18 = const 0.0 : f32
      var %19 = %18
      %20 = const 4 : i64
      for %21 in %3..%20 step 1 unroll {
        %22 = extract %17, %21 : f32
        %23 = get %19 : f32
        %24 = add %23, %22 : f32
        set %19, %24
      }
      %25 = get %19 : f32
      %26 = load odd[%3] : i8
      %27 = cast %26 : f32
      %28 = add %25, %27 : f32
      store sum[%0], %28
    }
    phase finish: parallel %29 in 0..s2 {
      %30 = load sum[%29] : f32
      %31 = scalar a0 : f32
      %32 = scalar a1 : bool
      %33 = gt %30, %31 : bool
      %34 = and %32, %33 : bool
      if %34 {
        store y[%29], %31
      } else {
        %35 = scalar a2 : f64
        %36 = cast %35 : f32
        %37 = mul %30, %36 : f32
        store y[%29], %37
      }
    }
  })");
  const int64_t rows = 9, columns = 32;
  std::vector<float> x(static_cast<size_t>(rows * columns)), sum(9), y(9);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const float limit = 2000;
  const double factor = 0.5;
  uint64_t limit_bits = 0, factor_bits = 0;
  std::memcpy(&limit_bits, &limit, sizeof limit);
  std::memcpy(&factor_bits, &factor, sizeof factor);
  for (uint64_t clip : {0u, 1u}) {
    program.run({x.data(), sum.data(), y.data()}, {rows, columns, rows}, {limit_bits, clip, factor_bits});
    for (int64_t r = 0; r < rows; ++r) {
      const auto expected = static_cast<float>(columns * columns * r + columns * (columns - 1) / 2 + 7);
      CHECK(sum[static_cast<size_t>(r)] == expected);
      CHECK(y[static_cast<size_t>(r)] == (clip && expected > limit ? limit : expected * 0.5f));
    }
  }
}

TEST_CASE("llvm: 32-bit index arithmetic" * doctest::skip(!jit::available())) {
  const Program program(R"(looptree cpu lanes=4 index=i32 {
    params x: i32 in, y: i32 out, sizes 2
    phase p: parallel %0 in 0..s0 {
      %1 = size s1 : i32
      %2 = mul %0, %1 : i32
      %3 = load x[%2 stride %1] : i32x4
      %4 = sub %1, %2 : i32
      store y[%4 stride %1], %3
    }
  })");
  std::vector<int32_t> x(16), y(16, -1);
  for (int i = 0; i < 16; ++i) x[static_cast<size_t>(i)] = i;
  program.run({x.data(), y.data()}, {2, 2});
  CHECK(y == std::vector<int32_t>{2, -1, 4, -1, 6, -1, 8, -1, 6, -1, -1, -1, -1, -1, -1, -1});
}

TEST_CASE("llvm: bad trees and bad objects are refused" * doctest::skip(!jit::available())) {
  LoopTree tree = parse_looptree(filled(kTail, {{"LANES", "16"}, {"TYPE", "f32"}}));
  const std::string object = jit::compile_object(tree);
  CHECK(jit::compile_object(tree) == object);
  CHECK(jit::load_object(object, 1)->phases.size() == 1);
  CHECK_THROWS_AS(jit::load_object(object, 2), std::runtime_error);
  CHECK_THROWS_AS(jit::load_object("", 1), std::runtime_error);
  LoopTree gpu = tree;
  gpu.target = TargetKind::Cuda;
  CHECK_THROWS_AS(jit::compile_object(gpu), IrError);
  tree.phases[0].body[0].slot = 99;
  CHECK_THROWS_AS(jit::compile_object(tree), IrError);
  const char* expanded =
      "looptree cpu {\n params y: f32 out, sizes 1\n phase p: parallel %0 in 0..s0 {\n"
      "%1 = const 1.0 : f32\n%2 = exp %1 : f32\nstore y[%0], %2\n}\n}\n";
  CHECK_THROWS_AS(jit::compile_object(parse_looptree(expanded)), IrError);
}

TEST_CASE("llvm: code can be read" * doctest::skip(!jit::available())) {
  const LoopTree tree = parse_looptree(filled(kTail, {{"LANES", "4"}, {"TYPE", "f32"}}));
  CHECK(jit::emit_ir(tree).find("@llvm.masked.load.v4f32") != std::string::npos);
  CHECK(jit::emit_assembly(tree).find("phase0:") != std::string::npos);
  CHECK(jit::version().find('.') != std::string::npos);
  CHECK((jit::host_vector_bits() == 128 || jit::host_vector_bits() == 256 || jit::host_vector_bits() == 512));
}

TEST_CASE("llvm: without LLVM everything says so" * doctest::skip(jit::available())) {
  CHECK_THROWS_AS(jit::compile_object(LoopTree{}), std::runtime_error);
  CHECK_THROWS_AS(jit::load_object("", 1), std::runtime_error);
}
