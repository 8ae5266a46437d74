// The code of the kernels in tests/data/gpu_kernels.ir for an H100: how wide its accesses to global memory are, as the schedules ask
// and as NVRTC's PTX has them, its registers and shared memory, and that nothing spills. scripts/kernel_table.py prints
// the same kernels with their instructions.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "codegen/cuda/emit.h"
#include "compiler/pipeline.h"
#include "ir/graph.h"
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
    {"attention_grads", "keys", 16, 16, 220, 50176},
    {"attention_grads", "queries", 16, 16, 184, 49152},
    {"cat", "parts", 16, 16, 20, 0},
    {"chain", "map", 16, 16, 28, 0},
    {"cumsum", "totals0", 4, 4, 64, 8448},
    {"cumsum", "starts0", 4, 4, 60, 8448},
    {"cumsum", "lines", 4, 4, 56, 8448},
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
    {"sum_all", "rows0", 4, 4, 44, 0},
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
  settings.fusion.targets = {{0, target}, {64, target}};
  const ir::Graph graph = ir::parse_graph(text);
  const compiler::Program program = compiler::compile_graph(graph.outputs, {}, settings);
  REQUIRE(program.fusion.kernels.size() == 1);
  const passes::FusedKernel& fused = program.fusion.kernels[0];
  if (!fused.routine) return compiler::compile_kernel(fused.kernel, target, {});
  const ir::Kernel kernel = compiler::call_kernel(fused);
  return compiler::lower_call({kernel, *fused.routine, fused.parts.get(), fused.twins, fused.layouts}, target, {});
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
    if (stmt.kind == ir::StmtKind::Let && stmt.op == ir::Op::Scalar) widths.loads.insert(ir::item_size(tree.scalars[static_cast<size_t>(stmt.slot)]));
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

// Walks a phase as one warp of block 0 does and counts, for each access to shared memory whose places depend on no data, how many
// words of one bank it needs at a time. Loops are walked for their first two rounds.
class Banks {
 public:
  Banks(const passes::Lowered& lowered, int warp) : tree_(lowered.tree), sizes_(lowered.sizes), warp_(warp), values_(tree_.values.size()) {}

  int worst(const ir::Phase& phase) {
    values_[static_cast<size_t>(phase.index)] = Lanes{};
    walk(phase.body, ~0U);
    return worst_;
  }

 private:
  static constexpr int kLanes = 32;
  using Lanes = std::array<int64_t, kLanes>;
  using Known = std::optional<Lanes>;
  Known& value(ir::ValueId v) { return values_[static_cast<size_t>(v)]; }

  void walk(const std::vector<ir::Stmt>& stmts, uint32_t active) {
    for (const ir::Stmt& stmt : stmts) statement(stmt, active);
  }

  void statement(const ir::Stmt& stmt, uint32_t active) {
    switch (stmt.kind) {
      case ir::StmtKind::Let: value(stmt.result) = computed(stmt); return;
      case ir::StmtKind::Var: value(stmt.result) = value(stmt.args[0]); return;
      case ir::StmtKind::Set: value(stmt.args[0]) = value(stmt.args[1]); return;
      case ir::StmtKind::Size: value(stmt.result) = all(sizes_[static_cast<size_t>(stmt.slot)]); return;
      case ir::StmtKind::Load: return access(stmt, tree_.values[static_cast<size_t>(stmt.result)].lanes, active);
      case ir::StmtKind::Store: return access(stmt, tree_.values[static_cast<size_t>(stmt.args.back())].lanes, active);
      case ir::StmtKind::CopyAsync: return copy(stmt, active);
      case ir::StmtKind::LoadTile: return tile(stmt);
      case ir::StmtKind::If: {
        const Known condition = value(stmt.args[0]);
        uint32_t holds = condition ? 0 : active;
        for (int lane = 0; condition && lane < kLanes; ++lane) holds |= active & ((*condition)[static_cast<size_t>(lane)] != 0 ? 1U << lane : 0);
        walk(stmt.body, holds);
        return walk(stmt.orelse, condition ? active & ~holds : active);
      }
      case ir::StmtKind::For:
        value(stmt.result) = value(stmt.args[0]);
        for (int round = 0; round < 2; ++round) {
          walk(stmt.body, active);
          if (Known& at = value(stmt.result)) std::for_each(at->begin(), at->end(), [&](int64_t& x) { x += stmt.step; });
          if (const Known &at = value(stmt.result), &end = value(stmt.args[1]); at && end && (*at)[0] >= (*end)[0]) return;
        }
        return;
      default: return;
    }
  }

  static Lanes all(int64_t x) {
    Lanes lanes;
    lanes.fill(x);
    return lanes;
  }

  Known computed(const ir::Stmt& stmt) {
    const ir::VType type = tree_.values[static_cast<size_t>(stmt.result)];
    if (type.lanes != 1 || ir::is_float(type.dtype)) return std::nullopt;
    Lanes lanes = all(0);
    if (stmt.op == ir::Op::Const) return all(ir::to_int64({type.dtype, stmt.bits}));
    if (stmt.op == ir::Op::ThreadId) {
      for (int lane = 0; lane < kLanes; ++lane) lanes[static_cast<size_t>(lane)] = warp_ * kLanes + lane;
      return lanes;
    }
    std::vector<Lanes> x;
    for (ir::ValueId arg : stmt.args) {
      if (!value(arg)) return std::nullopt;
      x.push_back(*value(arg));
    }
    for (size_t i = 0; i < kLanes; ++i) {
      const std::optional<int64_t> y = scalar(stmt.op, x[0][i], x.size() > 1 ? x[1][i] : 0, x.size() > 2 ? x[2][i] : 0);
      if (!y) return std::nullopt;
      lanes[i] = *y;
    }
    return lanes;
  }

  static std::optional<int64_t> scalar(ir::Op op, int64_t a, int64_t b, int64_t c) {
    switch (op) {
      case ir::Op::Get: return a;
      case ir::Op::Add: return a + b;
      case ir::Op::Sub: return a - b;
      case ir::Op::Mul: return a * b;
      case ir::Op::Min: return std::min(a, b);
      case ir::Op::Max: return std::max(a, b);
      case ir::Op::Quotient: return a / b;
      case ir::Op::And: return a & b;
      case ir::Op::Or: return a | b;
      case ir::Op::Xor: return a ^ b;
      case ir::Op::Shl: return a << b;
      case ir::Op::Shr: return a >> b;
      case ir::Op::Lt: return a < b;
      case ir::Op::Le: return a <= b;
      case ir::Op::Gt: return a > b;
      case ir::Op::Ge: return a >= b;
      case ir::Op::Eq: return a == b;
      case ir::Op::Ne: return a != b;
      case ir::Op::Where: return a != 0 ? b : c;
      case ir::Op::Cast: return a;
      default: return std::nullopt;
    }
  }

  // The bytes that a thread moves come 16 at a time.
  void copy(const ir::Stmt& stmt, uint32_t active) {
    access(stmt, static_cast<int>(16 / ir::item_size(tree_.buffers[static_cast<size_t>(stmt.buffer)].dtype)), active);
  }

  void access(const ir::Stmt& stmt, int lanes, uint32_t active) {
    const ir::TreeBuffer& buffer = tree_.buffers[static_cast<size_t>(stmt.buffer)];
    const Known places = value(stmt.args[0]);
    if (buffer.space != ir::Space::Shared || !places) return;
    const int64_t item = ir::item_size(buffer.dtype), bytes = std::min<int64_t>(16, item * lanes);
    Lanes addresses = *places;
    for (int64_t& x : addresses) x *= item;
    count(addresses, bytes, active);
  }

  // Each thread names eight elements.
  void tile(const ir::Stmt& stmt) {
    const Known places = value(stmt.args[0]);
    if (!places) return;
    Lanes addresses = *places;
    for (int64_t& x : addresses) x *= 2;
    count(addresses, 16, ~0U);
  }

  // Memory gives 128 bytes at a time: to all threads, of 8 or 16 bytes to half or a quarter of them.
  void count(const Lanes& addresses, int64_t bytes, uint32_t active) {
    const int together = static_cast<int>(kLanes * 4 / std::max<int64_t>(4, bytes));
    for (int first = 0; first < kLanes; first += together) {
      std::array<std::set<int64_t>, 32> words;
      for (int lane = first; lane < first + together; ++lane) {
        if ((active >> lane & 1) == 0) continue;
        const int64_t address = addresses[static_cast<size_t>(lane)];
        for (int64_t word = address / 4; word <= (address + bytes - 1) / 4; ++word) words[static_cast<size_t>(word % 32)].insert(word);
      }
      for (const std::set<int64_t>& of_bank : words) worst_ = std::max(worst_, static_cast<int>(of_bank.size()));
    }
  }

  const ir::LoopTree& tree_;
  const std::vector<int64_t>& sizes_;
  const int warp_;
  std::vector<Known> values_;
  int worst_ = 0;  // without an access
};

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
      for (const int warp : {0, 1, code.tree.threads / 32 - 1}) {
        CAPTURE(name);
        CAPTURE(phase.name);
        CAPTURE(warp);
        CHECK(Banks(code, warp).worst(phase) <= 2);
      }
    }
  }
}

TEST_CASE("cuda code: a column of shared memory whose rows are 32 words long is one bank") {
  for (const auto& [pitch, worst] : {std::pair{32, 32}, {33, 1}, {34, 2}, {4, 4}, {1, 1}, {0, 1}}) {
    passes::Lowered code;
    code.tree = ir::parse_looptree("looptree @k cuda threads=32 index=i32 {\n  params s: f32 shared[2048], sizes 1\n  phase p: parallel %0 in 0..s0 {\n" 
                                   "    %1 = thread : i32\n    %2 = const " + std::to_string(pitch) + " : i32\n    %3 = mul %1, %2 : i32\n" +
                                   "    %4 = load s[%3] : f32\n  }\n}\n");
    code.sizes = {1};
    CHECK(Banks(code, 0).worst(code.tree.phases[0]) == worst);
  }
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

TEST_CASE("cuda code: maxima and minima are one instruction exactly where that has the operation's bits") {
  const float numbers[] = {0.0F, -0.0F, 1.5F, -2.0F, NAN, INFINITY, -INFINITY};
  int one = 0;
  for (const float constant : numbers) {
    if (std::isnan(constant)) continue;
    for (const bool maximum : {true, false}) {
      for (const bool first : {true, false}) {
        const std::string name = maximum ? "max" : "min", number = ir::print(ir::constant(ir::DType::F32, double{constant}));
        const std::string text = codegen::cuda::emit_kernels(lowered("graph @g(%x: f32[64]@64) {\n  %c = const " + number + " : f32[64]@64\n  %0 = " + name +
                                                                     (first ? " %c, %x" : " %x, %c") + " : f32[64]@64\n  return %0\n}\n").tree);
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
  const std::string both = codegen::cuda::emit_kernels(lowered("graph @g(%x: f32[64], %y: f32[64]) {\n  %0 = max %x, %y : f32[64]\n  return %0\n}\n").tree);
  CHECK(both.find("tenon_max_f32(") != std::string::npos);
}
