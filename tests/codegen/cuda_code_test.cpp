// The code of the kernels in tests/data/gpu_kernels.ir for an H100: how wide its accesses to global memory are, as the schedules ask
// and as NVRTC's PTX has them, its registers and shared memory, and that nothing spills. scripts/gpu/kernel_table.py prints
// the same kernels with their instructions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "codegen/cuda/accesses.h"
#include "codegen/cuda/emit.h"
#include "compiler/pipeline.h"
#include "ir/graph/graph.h"
#include "support/data_folder.h"
#include "support/nvrtc.h"

using namespace tenon;

namespace {

// The widest accesses of a phase in bytes; the most registers of a thread and bytes of shared memory of a block.
struct Phase {
  const char *kernel, *phase;
  int64_t load, store;
  int registers;
  int64_t shared;
};

constexpr Phase kPhases[] = {
    {"adam", "map", 16, 16, 36, 0},
    {"attention_128", "attend", 16, 16, 255, 65536},
    {"attention_64", "attend", 16, 16, 248, 49152},
    {"attention_grads", "deltas", 16, 4, 48, 0},
    {"attention_grads", "keys", 16, 16, 220, 50176},
    {"attention_grads", "queries", 16, 16, 184, 49152},
    {"cat", "parts", 16, 16, 20, 0},
    {"chain", "map", 16, 16, 28, 0},
    {"conv_f16", "tiles", 16, 16, 156, 45568},
    {"conv_first", "windows", 4, 4, 80, 16384},
    {"conv_weights_f16", "tiles", 16, 16, 104, 41984},
    {"cumsum", "totals0", 4, 4, 40, 8448},
    {"cumsum", "starts0", 4, 4, 40, 8448},
    {"cumsum", "lines", 4, 4, 40, 8448},
    {"gather_rows", "map", 16, 16, 24, 0},
    {"layer_norm_1024", "rows", 16, 16, 88, 0},
    {"layer_norm_1024_f16", "rows", 8, 8, 72, 0},
    {"layer_norm_4096", "rows", 16, 16, 64, 4116},
    {"linear_gelu_f16", "tiles", 16, 16, 228, 66560},
    {"matmul_f16", "tiles", 16, 16, 228, 66560},
    {"matmul_f32", "tiles", 16, 16, 204, 41472},
    {"scatter_add", "tiles", 8, 4, 44, 16384},
    {"scatter_add", "merge0", 4, 4, 24, 0},
    {"scatter_add", "merge1", 4, 4, 24, 0},
    {"scatter_add", "segments", 4, 4, 56, 0},
    {"softmax_1024", "rows", 16, 16, 72, 0},
    {"softmax_4096", "rows", 16, 16, 72, 4116},
    {"softmax_512", "rows", 16, 16, 72, 0},
    {"softmax_65536", "rows", 16, 16, 72, 196736},
    {"sort", "tiles", 4, 4, 40, 16384},
    {"sort", "merge0", 4, 4, 24, 0},
    {"sort", "merge1", 4, 4, 24, 0},
    {"sort", "merge2", 4, 8, 24, 0},
    {"sum_all", "blocks0", 16, 4, 52, 0},
    {"sum_all", "rows0", 4, 4, 44, 16384},
    {"sum_columns", "blocks0", 4, 4, 48, 0},
    {"sum_columns", "columns0", 4, 4, 52, 8192},
    {"tanh", "map", 16, 16, 32, 0},
    {"tanh_f16", "map", 8, 8, 32, 0},
    {"transpose_f16", "tiles", 8, 8, 32, 8320},
    {"transpose_f32", "tiles", 16, 16, 36, 16640},
};

ir::GpuTarget hopper() {
  ir::GpuTarget target;
  target.compute = 90;
  target.multiprocessors = 132;
  target.shared_bytes = 227 << 10;
  target.library = {};
  return target;
}

// The graphs of the file by name.
std::map<std::string, std::string> graphs() {
  std::ifstream file(data_folder() + "/gpu_kernels.ir");
  std::map<std::string, std::string> result;
  std::string* current = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("graph @", 0) == 0) current = &result[line.substr(7, line.find('(') - 7)];
    if (current) *current += line + "\n";
  }
  return result;
}

passes::Lowered lowered(const std::string& text) {
  compiler::Settings settings;
  settings.simplify = false;
  const ir::Target target = hopper();
  settings.fusion.targets = {{0, target}, {1, target}, {64, target}};
  const ir::Graph graph = ir::parse_graph(text);
  const compiler::Program program = compiler::compile_graph(graph.outputs, {}, settings);
  REQUIRE(program.fusion.kernels.size() == 1);
  return compiler::compile(program.fusion.kernels[0].work, target, {});
}

// The widths of loads and of stores, at most 16 bytes an access.
struct Widths {
  std::set<int64_t> loads, stores;
};

void collect(const ir::LoopTree& tree, const std::vector<ir::Stmt>& stmts, Widths& widths) {
  for (const ir::Stmt& stmt : stmts) {
    collect(tree, stmt.body, widths);
    collect(tree, stmt.orelse, widths);
    // A scalar may lie in memory.
    if (stmt.kind == ir::StmtKind::Let && stmt.op == ir::Op::Scalar)
      widths.loads.insert(ir::item_size(tree.scalars[static_cast<size_t>(stmt.slot)]));
    if (stmt.kind == ir::StmtKind::CopyAsync) widths.loads.insert(16);
    const bool load = stmt.kind == ir::StmtKind::Load;
    if (!load && stmt.kind != ir::StmtKind::Store) continue;
    const ir::TreeBuffer& buffer = tree.buffers[static_cast<size_t>(stmt.buffer)];
    if (buffer.space == ir::Space::Local || buffer.space == ir::Space::Shared) continue;
    const int lanes = tree.values[static_cast<size_t>(load ? stmt.result : stmt.args.back())].lanes;
    (load ? widths.loads : widths.stores).insert(std::min<int64_t>(16, lanes * ir::item_size(buffer.dtype)));
  }
}

// The same of PTX, of the function that this line of it begins.
Widths widths_in(const std::string& ptx, const std::string& function) {
  static const std::regex access(R"(\b(ld|st)\.(?:volatile\.)?global(?:\.nc)?(?:\.v([24]))?\.[a-z](\d+))");
  Widths widths;
  const size_t begin = ptx.find(".entry " + function + "(");
  REQUIRE(begin != std::string::npos);
  const size_t next = ptx.find(".entry ", begin + 1);
  const std::string body = ptx.substr(begin, next == std::string::npos ? next : next - begin);
  for (std::sregex_iterator it(body.begin(), body.end(), access), end; it != end; ++it) {
    const std::smatch& m = *it;
    const int64_t lanes = m[2].matched ? std::stoi(m[2]) : 1;
    (m[1] == "ld" ? widths.loads : widths.stores).insert(lanes * std::stoi(m[3]) / 8);
  }
  if (body.find("cp.async.cg.shared.global") != std::string::npos) widths.loads.insert(16);
  return widths;
}

int64_t widest(const std::set<int64_t>& widths) { return widths.empty() ? 0 : *widths.rbegin(); }

// What ptxas says of a function: the number before these words.
int said(const std::string& log, const std::string& function, const std::string& words) {
  const size_t begin = log.find("Compiling entry function '" + function + "'");
  REQUIRE(begin != std::string::npos);
  const std::string of_function = log.substr(begin, log.find("Compiling entry function", begin + 1) - begin);
  std::smatch found;
  return std::regex_search(of_function, found, std::regex("(\\d+) " + words)) ? std::stoi(found[1]) : 0;
}

std::vector<const Phase*> phases_of(const std::string& kernel) {
  std::vector<const Phase*> result;
  for (const Phase& phase : kPhases) {
    if (phase.kernel == kernel) result.push_back(&phase);
  }
  return result;
}

constexpr int64_t kSteps = 2'000'000;  // of a phase: at least its first warps

// A loop tree with one phase, of 32 threads a block but for the last case. Buffers: global g, h (of 16 bits), d (of 64), b (of bytes),
// and shared s.
struct AccessCase {
  const char *name, *body;
  int64_t warps, transfers, least;
  int ways;
};

const AccessCase kAccesses[] = {
    {"unit stride", "%5 = load g[%1] : f32", 1, 4, 4, 0},
    {"unit stride, 16 bits", "%5 = load h[%1] : f16", 1, 2, 2, 0},
    {"unit stride, bytes", "%5 = load b[%1] : u8", 1, 1, 1, 0},
    {"stride 2", "%4 = mul %1, %c2 : i32\n %5 = load g[%4] : f32", 1, 8, 4, 0},
    {"misaligned by one", "%4 = add %1, %c1 : i32\n %5 = load g[%4] : f32", 1, 5, 4, 0},
    {"broadcast", "%5 = load g[%c7] : f32", 1, 1, 1, 0},
    {"a column", "%4 = mul %1, %c33 : i32\n %5 = load g[%4] : f32", 1, 32, 4, 0},
    {"four neighbours", "%4 = mul %1, %c4 : i32\n %5 = load g[%4] : f32x4", 1, 16, 16, 0},
    {"four of eight neighbours", "%4 = mul %1, %c8 : i32\n %5 = load g[%4] : f32x4", 1, 32, 16, 0},
    {"four neighbours of 64 bits, in two instructions", "%4 = mul %1, %c4 : i32\n %5 = load d[%4] : f64x4", 1, 64, 32, 0},
    {"eight of 16 bits", "%4 = mul %1, %c8 : i32\n %5 = load h[%4] : f16x8", 1, 16, 16, 0},
    {"some threads", "%4 = lt %1, %c10 : bool\n if %4 {\n %5 = load g[%1] : f32\n }", 1, 2, 2, 0},
    {"other threads", "%4 = lt %1, %c10 : bool\n if %4 {\n } else {\n %5 = load g[%1] : f32\n }", 1, 3, 3, 0},
    {"no thread", "%4 = lt %1, %c0 : bool\n if %4 {\n %5 = load g[%1] : f32\n }", 0, 0, 0, 0},
    {"a mask", "%4 = lt %1, %c10 : bool\n %5 = load g[%1] mask %4 : f32", 1, 2, 2, 0},
    {"a loop", "for %4 in %c0..%c8 step 2 {\n %5 = add %4, %1 : i32\n %6 = load g[%5] : f32\n }", 4, 4 + 3 * 5, 16, 0},
    {"a loop that threads leave one after another", "for %4 in %c0..%1 step 1 {\n %5 = load g[%1] : f32\n }", 31, 7 * 4 + 8 * (3 + 2 + 1),
     7 * 4 + 8 * (3 + 2 + 1), 0},
    {"a variable",
     "var %4 = %1\n for %5 in %c0..%c2 step 1 {\n %6 = get %4 : i32\n %7 = load g[%6] : f32\n %8 = add %6, %c1 : i32\n set %4, %8\n }", 2,
     9, 8, 0},
    {"shared, unit stride", "%5 = load s[%1] : f32", 1, 1, 1, 1},
    {"shared, stride 2", "%4 = mul %1, %c2 : i32\n %5 = load s[%4] : f32", 1, 2, 1, 2},
    {"shared, one place", "%5 = load s[%c7] : f32", 1, 1, 1, 1},
    {"shared, a column", "%4 = mul %1, %c32 : i32\n %5 = load s[%4] : f32", 1, 32, 1, 32},
    {"shared, a column of padded rows", "%4 = mul %1, %c33 : i32\n %5 = load s[%4] : f32", 1, 1, 1, 1},
    {"shared, a column of rows padded by two", "%4 = mul %1, %c34 : i32\n %5 = load s[%4] : f32", 1, 2, 1, 2},
    {"shared, four neighbours", "%4 = mul %1, %c4 : i32\n %5 = load s[%4] : f32x4", 1, 4, 4, 1},
    {"shared, four of eight neighbours", "%4 = mul %1, %c8 : i32\n %5 = load s[%4] : f32x4", 1, 8, 4, 2},
    {"shared, a column of four neighbours", "%4 = mul %1, %c32 : i32\n %5 = load s[%4] : f32x4", 1, 32, 4, 8},
};

// Constants stand in the bodies as %cN.
ir::LoopTree tree_of(const std::string& body, int threads = 32) {
  std::string text = "looptree @k cuda threads=" + std::to_string(threads) +
                     " index=i32 {\n  params g: f32 in, h: f16 in, d: f64 in, b: u8 in, s: f32 shared[4096], sizes 1\n"
                     "  phase p: parallel %0 in 0..s0 {\n    %1 = thread : i32\n",
              rest = body;
  int fresh = 100;
  std::smatch found;
  while (std::regex_search(rest, found, std::regex("%c(\\d+)"))) {
    const std::string value = "%" + std::to_string(fresh++);
    text += "    " + value + " = const " + found[1].str() + " : i32\n";
    rest = std::regex_replace(rest, std::regex("%c" + found[1].str() + "\\b"), value);
  }
  return ir::parse_looptree(text + rest + "\n  }\n}\n");
}

codegen::cuda::AccessCounts counted(const ir::LoopTree& tree, int64_t blocks = 1) {
  return codegen::cuda::count_accesses(tree, tree.phases[0], std::vector<int64_t>{blocks}, kSteps);
}

// What the machine's instruction gives: a nan for a nan; of zeros the positive one for a maximum, the negative one for a minimum.
float of_machine(bool maximum, float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  if (a == b) return std::signbit(a) == maximum ? b : a;
  return (a > b) == maximum ? a : b;
}

}  // namespace

TEST_CASE("cuda code: each schedule's accesses are as wide as its elements allow") {
  for (const auto& [name, text] : graphs()) {
    CAPTURE(name);
    const ir::LoopTree tree = lowered(text).tree;
    const std::vector<const Phase*> expected = phases_of(name);
    REQUIRE(expected.size() == tree.phases.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(expected[i]->phase);
      CHECK(tree.phases[i].name == expected[i]->phase);
      Widths widths;
      collect(tree, tree.phases[i].body, widths);
      CHECK(widest(widths.loads) == expected[i]->load);
      CHECK(widest(widths.stores) == expected[i]->store);
    }
  }
}

TEST_CASE("cuda code: threads of a warp meet in a bank of shared memory in twos at most") {
  for (const auto& [name, text] : graphs()) {
    const passes::Lowered code = lowered(text);
    for (const ir::Phase& phase : code.tree.phases) {
      CAPTURE(name);
      CAPTURE(phase.name);
      const codegen::cuda::AccessCounts counts = codegen::cuda::count_accesses(code.tree, phase, code.sizes, kSteps);
      for (const codegen::cuda::Access& access : counts.accesses) {
        CAPTURE(code.tree.buffers[static_cast<size_t>(access.buffer)].name);
        CHECK((access.warps > 0 || access.places_vary));
        CHECK(access.ways <= 2);
      }
    }
  }
}

TEST_CASE("cuda code: sectors and rounds of banks of accesses by hand") {
  for (const AccessCase& c : kAccesses) {
    const std::string name = c.name;
    CAPTURE(name);
    const codegen::cuda::AccessCounts counts = counted(tree_of(c.body));
    REQUIRE(counts.accesses.size() == 1);
    const codegen::cuda::Access& access = counts.accesses[0];
    CHECK(access.warps == c.warps);
    CHECK(access.transfers == c.transfers);
    CHECK(access.least == c.least);
    CHECK(access.ways == c.ways);
    CHECK(!access.places_vary);
    CHECK(!access.threads_vary);
  }
}

TEST_CASE("cuda code: accesses of several blocks and of a part of a warp, and where the count ends") {
  const ir::LoopTree tree = tree_of("%4 = mul %0, %c40 : i32\n %5 = add %4, %1 : i32\n %6 = load g[%5] : f32", 40);
  const codegen::cuda::AccessCounts all = counted(tree, 5);
  REQUIRE(all.accesses.size() == 1);
  CHECK(all.blocks == 5);
  CHECK(all.accesses[0].warps == 10);
  CHECK(all.accesses[0].transfers == 5 * (4 + 1));  // 40 elements are five sectors
  const codegen::cuda::AccessCounts some = codegen::cuda::count_accesses(tree, tree.phases[0], std::vector<int64_t>{1'000'000}, 100);
  CHECK(some.blocks > 2);
  CHECK(some.blocks <= 100 / 2 / 3);
  CHECK(some.of_blocks == 1'000'000);
}

TEST_CASE("cuda code: accesses that depend on data say so") {
  const std::string data = "%4 = load b[%1] : u8\n %5 = cast %4 : i32\n ";
  const auto second = [&](const std::string& body) {
    const codegen::cuda::AccessCounts counts = counted(tree_of(data + body));
    REQUIRE(counts.accesses.size() == 2);
    CHECK(counts.accesses[0].warps == 1);
    CHECK(!counts.accesses[0].places_vary);
    return counts.accesses[1];
  };
  const auto place = second("%6 = load g[%5] : f32");
  CHECK(place.places_vary);
  CHECK(place.warps == 0);
  const std::string if_data = "%6 = lt %5, %c7 : bool\n if %6 {\n ";
  const auto condition = second(if_data + "%7 = load g[%1] : f32\n }");
  CHECK(condition.threads_vary);
  CHECK(condition.transfers == 4);
  const auto mask = second("%6 = lt %5, %c7 : bool\n %7 = load g[%1] mask %6 : f32");
  CHECK(mask.threads_vary);
  CHECK(mask.transfers == 4);
  const auto rounds = second("for %6 in %c0..%5 step 1 {\n %7 = load g[%1] : f32\n }");
  CHECK(rounds.threads_vary);
  CHECK(rounds.warps == 1);
  CHECK(second("for %6 in %c0..%5 step 1 {\n %7 = load g[%6] : f32\n }").places_vary);
  // A variable that is set where data say so is not known any more.
  CHECK(second("var %8 = %1\n " + if_data + "set %8, %c3\n }\n %9 = get %8 : i32\n %10 = load g[%9] : f32").places_vary);
  CHECK(second("var %8 = %1\n for %6 in %c0..%5 step 1 {\n %9 = get %8 : i32\n %10 = load g[%9] : f32\n %11 = add %9, %c1 : i32\n set %8, "
               "%11\n }")
            .places_vary);
}

TEST_CASE("cuda code: NVRTC keeps the width of every access, and the registers") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  std::string rows;  // of the table, as they would be now
  for (const auto& [name, text] : graphs()) {
    CAPTURE(name);
    const ir::LoopTree tree = lowered(text).tree;
    const test::Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(tree), "sm_90");
    CAPTURE(result.log);
    REQUIRE(result.compiled);
    CHECK(!result.warns);
    CHECK(!result.spills);
    const std::vector<const Phase*> limits = phases_of(name);
    for (size_t i = 0; i < tree.phases.size(); ++i) {
      const std::string function = codegen::cuda::function_name(tree.name, tree.phases[i]);
      CAPTURE(function);
      Widths asked;
      collect(tree, tree.phases[i].body, asked);
      const Widths got = widths_in(result.ptx, function);
      CHECK(got.loads == asked.loads);
      CHECK(got.stores == asked.stores);
      const int registers = said(result.log, function, "registers");
      const int64_t shared = said(result.log, function, "bytes smem") + codegen::cuda::dynamic_shared_bytes(tree, tree.phases[i]);
      rows += "    {\"" + name + "\", \"" + tree.phases[i].name + "\", " + std::to_string(widest(got.loads)) + ", " +
              std::to_string(widest(got.stores)) + ", " + std::to_string(registers) + ", " + std::to_string(shared) + "},\n";
      if (i >= limits.size()) continue;
      CHECK(registers <= limits[i]->registers);
      CHECK(shared <= limits[i]->shared);
    }
  }
  MESSAGE("\n" << rows);
}

// ptxas makes of a choice between 1, or -1, and -0 one between 1, or -1, and 0.
TEST_CASE("cuda code: NVRTC makes no choice between one and -0 of a minus before a sign") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  for (const std::string type : {"f32", "f16", "bf16"}) {
    const std::string of = " : " + type + "[64]\n";
    const std::string graph = "graph @g(%x: " + type + "[64], %y: " + type + "[64]) {\n  %0 = sign %x" + of + "  %1 = neg %0" + of +
                              "  %2 = lt %x, %y : bool[64]\n  %3 = cast %2" + of + "  %4 = neg %3" + of + "  %5 = mul %1, %y" + of +
                              "  %6 = add %5, %4" + of + "  return %6\n}\n";
    const test::Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(lowered(graph).tree), "sm_90");
    CAPTURE(result.ptx);
    REQUIRE(result.compiled);
    CHECK(result.ptx.find("selp") != std::string::npos);
    CHECK(result.ptx.find("0f80000000") == std::string::npos);
  }
}

TEST_CASE("cuda code: maxima and minima are one instruction exactly where that has the operation's bits") {
  const float numbers[] = {0.0F, -0.0F, 1.5F, -2.0F, NAN, INFINITY, -INFINITY};
  int one = 0;
  for (const float constant : numbers) {
    if (std::isnan(constant)) continue;
    for (const bool maximum : {true, false}) {
      for (const bool first : {true, false}) {
        const std::string name = maximum ? "max" : "min", number = ir::print(ir::constant(ir::DType::F32, double{constant}));
        const std::string text =
            codegen::cuda::emit_kernels(lowered("graph @g(%x: f32[64]@64) {\n  %c = const " + number + " : f32[64]@64\n  %0 = " + name +
                                                (first ? " %c, %x" : " %x, %c") + " : f32[64]@64\n  return %0\n}\n")
                                            .tree);
        CAPTURE(text);
        bool same = true;
        for (const float x : numbers) {
          const float a = first ? constant : x, b = first ? x : constant;
          const float chosen = std::isnan(a) || (maximum ? a > b : a < b) ? a : b, got = of_machine(maximum, a, b);
          same = same && (std::isnan(chosen) ? std::isnan(got) : chosen == got && std::signbit(chosen) == std::signbit(got));
        }
        CHECK((text.find("tenon_fast_" + name) != std::string::npos) == same);
        one += same ? 1 : 0;
      }
    }
  }
  CHECK(one == 20);  // of 24: zeros on the other side are not
  const std::string both =
      codegen::cuda::emit_kernels(lowered("graph @g(%x: f32[64], %y: f32[64]) {\n  %0 = max %x, %y : f32[64]\n  return %0\n}\n").tree);
  CHECK(both.find("tenon_max_f32(") != std::string::npos);
}
