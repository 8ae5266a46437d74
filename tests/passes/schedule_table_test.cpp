// The table of schedules: names, and a kernel for each schedule that takes kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "ir/kernel/kernel.h"
#include "passes/passes.h"
#include "passes/schedule/schedule.h"

using namespace tenon;

namespace {

std::string number(int64_t n) { return std::to_string(n); }

std::string map(int64_t rows, int64_t columns, const std::string& place) {
  const std::string all = number(rows * columns);
  return "kernel @map(x: f32 in[" + all + "], y: f32 out[" + all + "]) {\n  axes r: " + number(rows) + " parallel, c: " + number(columns) +
         " parallel\n  map r c : %0 = load x[" + place + "] : f32\n  map r c : %1 = neg %0 : f32\n  map r c : store y[" + number(columns) +
         "*r + c], %1\n}\n";
}

// Sums, in the order of the tree `order`; and each element less the sum of its row, if asked.
std::string sums(int64_t rows, int64_t length, const std::string& order, bool twice = false) {
  const std::string all = number(rows * length), n = number(length);
  const std::string place = order == "lanes" ? n + "*r + i" : number(rows) + "*i + r";
  return "kernel @sums(x: f32 in[" + all + "], y: f32 out[" + (twice ? all : number(rows)) + "]) {\n  axes r: " + number(rows) +
         " parallel, i: " + n + " inner\n  map r i : %0 = load x[" + place + "] : f32\n  reduce r|i : %1 = reduce.sum %0 " + order +
         " : f32\n" +
         (twice ? "  map r i : %2 = sub %0, %1 : f32\n  map r i : store y[" + place + "], %2\n}\n" : "  map r : store y[r], %1\n}\n");
}

std::string scan(int64_t lines, int64_t length, const std::string& type, bool across) {
  const std::string all = number(lines * length), place = across ? number(lines) + "*s + i" : number(length) + "*i + s";
  return "kernel @scan(x: " + type + " in[" + all + "], y: " + type + " out[" + all + "]) {\n  axes i: " + number(lines) +
         " parallel, s: " + number(length) + " serial\n  map i s : %0 = load x[" + place + "] : " + type +
         "\n  scan i|s : %1 = scan.sum %0 : " + type + "\n  map i s : store y[" + place + "], %1\n}\n";
}

std::string product(int64_t rows, int64_t columns, int64_t depth, const std::string& type) {
  const std::string n = number(columns), k = number(depth);
  return "kernel @product(a: " + type + " in[" + number(rows * depth) + "], b: " + type + " in[" + number(columns * depth) +
         "], y: " + type + " out[" + number(rows * columns) + "]) {\n  axes i: " + number(rows) + " parallel, j: " + n +
         " parallel, k: " + k + " contract\n  contract i j|k : %0 = load a[" + k + "*i + k] : " + type +
         "\n  contract i j|k : %1 = load b[" + n + "*k + j] : " + type + "\n  reduce i j|k : %2 = contract %0, %1 : " + type +
         "\n  map i j : store y[" + n + "*i + j], %2\n}\n";
}

const char* const kWindows = R"(kernel @windows(x: f32 in[196608], w: f32 in[432], y: f32 out[1048576]) {
  axes n: 64 parallel, f: 16 parallel, p: 1024 parallel, k: 27 contract
  map n f p        : %0 = const 0.0 : f32
  contract n f p|k : %1 = load x[3072*n + 1024*(k / 9) + 32*((k mod 9) / 3) + p + k mod 3 - 33] if 0 <= p / 32 + (k mod 9) / 3 - 1 < 32 and 0 <= p mod 32 + k mod 3 - 1 < 32 else %0 : f32
  contract n f p|k : %2 = load w[27*f + k] : f32
  reduce n f p|k   : %3 = contract %2, %1 : f32
  map n f p        : store y[16384*n + 1024*f + p], %3
}
)";

const char* const kDepthwise = R"(kernel @depthwise(x: f32 in[50176], w: f32 in[576], y: f32 out[50176]) {
  axes j: 64 parallel, k: 28 parallel, l: 28 parallel, r: 9 inner
  map j k l      : %0 = const 0.0 : f32
  map j k l r    : %1 = load x[784*j + 28*k + l + 28*(r / 3) + r mod 3 - 29] if 0 <= k + r / 3 - 1 < 28 and 0 <= l + r mod 3 - 1 < 28 else %0 : f32
  map j k l r    : %2 = load w[9*j + r] : f32
  map j k l r    : %3 = mul %1, %2 : f32
  reduce j k l|r : %4 = reduce.sum %3 columns : f32
  map j k l      : store y[784*j + 28*k + l], %4
}
)";

bool takes_kernels(const passes::Schedule& schedule, const ir::Target& target) {
  passes::Form forms[5];
  forms[1].lanes = forms[2].columns = forms[3].scans = forms[4].contractions = forms[4].contract_axes = 1;
  return std::any_of(std::begin(forms), std::end(forms),
                     [&](const passes::Form& form) { return schedule.accepts(form, target).fit == passes::Schedule::Fit::Takes; });
}

}  // namespace

TEST_CASE("schedules: each has a name of its own, and takes some kernel") {
  ir::GpuTarget gpu;
  gpu.compute = 90;
  const ir::Target targets[] = {ir::CpuTarget{512}, gpu};
  const struct {
    ir::TargetKind device;
    const char* schedule;
    std::string kernel;
  } kCases[] = {
      {ir::TargetKind::Cpu, "contraction", product(64, 64, 64, "f32")},
      {ir::TargetKind::Cpu, "scan lines", scan(2, 1000, "f32", false)},
      {ir::TargetKind::Cpu, "scan columns", scan(100, 40, "f32", true)},
      {ir::TargetKind::Cpu, "short rows of split axes", map(1, 400000, "c / 2")},
      {ir::TargetKind::Cpu, "short rows", sums(9000, 3, "lanes")},
      {ir::TargetKind::Cpu, "transpose", map(400, 300, "400*c + r")},
      {ir::TargetKind::Cpu, "transpose of split axes", map(1, 120000, "c / 300 + 400*(c mod 300)")},
      {ir::TargetKind::Cpu, "pointwise", map(40, 30, "30*r + c")},
      {ir::TargetKind::Cpu, "windows", kDepthwise},
      {ir::TargetKind::Cpu, "columns in runs", sums(100000, 33, "columns")},
      {ir::TargetKind::Cpu, "columns split", sums(17, 10000, "columns")},
      {ir::TargetKind::Cpu, "columns", sums(100000, 32, "columns")},
      {ir::TargetKind::Cpu, "rows split", sums(1, 1000000, "lanes")},
      {ir::TargetKind::Cpu, "rows", sums(1000, 17, "lanes")},
      {ir::TargetKind::Cuda, "contraction mma", product(4000, 4000, 90, "f16")},
      {ir::TargetKind::Cuda, "contraction windows", kWindows},
      {ir::TargetKind::Cuda, "contraction", product(4000, 4000, 90, "f32")},
      {ir::TargetKind::Cuda, "contraction outputs", product(3, 2, 9, "f32")},
      {ir::TargetKind::Cuda, "scan columns split", scan(20, 1000, "i64", true)},
      {ir::TargetKind::Cuda, "scan columns", scan(40, 70, "i64", true)},
      {ir::TargetKind::Cuda, "scan groups split", scan(1, 1000000, "i64", false)},
      {ir::TargetKind::Cuda, "scan groups", scan(9, 200, "i64", false)},
      {ir::TargetKind::Cuda, "scan tiles split", scan(1, 20000, "f32", false)},
      {ir::TargetKind::Cuda, "scan tiles", scan(9, 200, "f32", false)},
      {ir::TargetKind::Cuda, "rows in blocks", sums(9, 5000, "lanes", true)},
      {ir::TargetKind::Cuda, "rows split", sums(1, 100000, "lanes")},
      {ir::TargetKind::Cuda, "long rows", sums(9, 5000, "lanes")},
      {ir::TargetKind::Cuda, "rows", sums(9, 200, "lanes", true)},
      {ir::TargetKind::Cuda, "columns split", sums(9, 2000, "columns")},
      {ir::TargetKind::Cuda, "columns", sums(9, 200, "columns")},
      {ir::TargetKind::Cuda, "transpose", map(40, 30, "40*c + r")},
      {ir::TargetKind::Cuda, "pointwise", map(40, 30, "30*r + c")},
  };
  std::set<std::pair<ir::TargetKind, std::string>> names, reached;
  for (const auto& c : kCases) {
    CAPTURE(c.kernel);
    const ir::Target& target = targets[c.device == ir::TargetKind::Cpu ? 0 : 1];
    CHECK(passes::lower(passes::run_kernel_passes(ir::parse_kernel(c.kernel), {}, target), target).schedule == c.schedule);
    reached.emplace(c.device, c.schedule);
  }
  for (const passes::Schedule& s : passes::schedules()) {
    CAPTURE(s.name);
    CHECK(names.emplace(s.device, s.name).second);
    if (takes_kernels(s, targets[s.device == ir::TargetKind::Cpu ? 0 : 1])) CHECK(reached.count({s.device, std::string(s.name)}) == 1);
  }
}
