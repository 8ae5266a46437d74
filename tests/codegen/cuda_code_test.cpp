// The code of the kernels in tests/data/gpu_kernels.ir for an H100: how wide its accesses to global memory are, as the schedules ask
// and as NVRTC's PTX has them, its registers and shared memory, and that nothing spills. scripts/kernel_table.py prints
// the same kernels with their instructions.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
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
    {"attention_128", "attend", 16, 16, 255, 52224},
    {"attention_64", "attend", 16, 16, 224, 36864},
    {"attention_grads", "keys", 16, 16, 200, 37376},
    {"attention_grads", "queries", 16, 16, 172, 36864},
    {"cat", "parts", 16, 16, 20, 0},
    {"chain", "map", 16, 16, 24, 0},
    {"cumsum", "totals0", 4, 4, 64, 8448},
    {"cumsum", "starts0", 4, 4, 60, 8448},
    {"cumsum", "lines", 4, 4, 56, 8448},
    {"gather_rows", "map", 16, 16, 24, 0},
    {"layer_norm_1024", "rows", 4, 4, 60, 0},
    {"layer_norm_1024_f16", "rows", 2, 2, 64, 0},
    {"layer_norm_4096", "rows", 16, 16, 84, 32800},
    {"linear_gelu_f16", "tiles", 8, 2, 212, 36352},
    {"matmul_f16", "tiles", 8, 2, 212, 36352},
    {"matmul_f32", "tiles", 4, 4, 216, 16512},
    {"scatter_add", "tiles", 8, 4, 44, 16384},
    {"scatter_add", "merge0", 4, 4, 24, 0},
    {"scatter_add", "merge1", 4, 4, 24, 0},
    {"scatter_add", "segments", 4, 4, 56, 0},
    {"softmax_1024", "rows", 4, 4, 140, 0},
    {"softmax_4096", "rows", 16, 16, 84, 32788},
    {"softmax_512", "rows", 16, 16, 140, 0},
    {"softmax_65536", "rows", 16, 16, 52, 128},
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
    {"transpose_f16", "tiles", 2, 2, 28, 2112},
    {"transpose_f32", "tiles", 4, 4, 28, 4224},
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

ir::LoopTree lowered(const std::string& text) {
  compiler::Settings settings;
  settings.simplify = false;
  const ir::Target target = hopper();
  settings.fusion.targets = {{0, target}};
  const ir::Graph graph = ir::parse_graph(text);
  const compiler::Program program = compiler::compile_graph(graph.outputs, {}, settings);
  REQUIRE(program.fusion.kernels.size() == 1);
  const passes::FusedKernel& fused = program.fusion.kernels[0];
  if (!fused.routine) return compiler::compile_kernel(fused.kernel, target, {}).tree;
  const ir::Kernel kernel = compiler::call_kernel(fused);
  return compiler::lower_call({kernel, *fused.routine, fused.parts.get(), fused.twins, fused.layouts}, target, {}).tree;
}

// The widths of loads and of stores, at most 16 bytes an access.
struct Widths {
  std::set<int64_t> loads, stores;
};

void collect(const ir::LoopTree& tree, const std::vector<ir::Stmt>& stmts, Widths& widths) {
  for (const ir::Stmt& stmt : stmts) {
    collect(tree, stmt.body, widths);
    collect(tree, stmt.orelse, widths);
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

}  // namespace

TEST_CASE("cuda code: each schedule's accesses are as wide as its elements allow") {
  for (const auto& [name, text] : graphs()) {
    CAPTURE(name);
    const ir::LoopTree tree = lowered(text);
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

TEST_CASE("cuda code: NVRTC keeps the width of every access, and the registers") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  std::string rows;  // of the table, as they would be now
  for (const auto& [name, text] : graphs()) {
    CAPTURE(name);
    const ir::LoopTree tree = lowered(text);
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
