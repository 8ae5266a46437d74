// Which GPU schedule takes a kernel, the shapes that share a tree, and refusals. What the trees look like is in
// tests/filecheck/gpu.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "ir/call/call.h"
#include "ir/kernel/kernel.h"
#include "ir/looptree/looptree.h"
#include "passes/schedule/gpu/tiles.h"
#include "passes/schedule/schedule.h"

using namespace tenon;

namespace {

passes::Lowered lower(const std::string& text) {
  const passes::Lowered lowered = passes::lower(ir::parse_kernel(text), ir::GpuTarget{});
  ir::verify(lowered.tree);
  return lowered;
}

std::string pointwise(const std::string& rows, const std::string& columns, const std::string& numel) {
  return "kernel @k(x: f32 in[" + numel + "], b: f32 in[" + columns + "], y: f32 out[" + numel + "]) {\n" + "  axes r: " + rows +
         " parallel, c: " + columns + " parallel\n" +                //
         "  map r c : %0 = load x[" + columns + "*r + c] : f32\n" +  //
         "  map r c : %1 = load b[c] : f32\n" +                      //
         "  map r c : %2 = mul %0, %1 : f32\n" +                     //
         "  map r c : store y[" + columns + "*r + c], %2\n}\n";
}

std::string rows(const std::string& rows, const std::string& columns, const std::string& numel,
                 const std::string& reduction = "reduce.sum %0 lanes") {
  return "kernel @k(x: f32 in[" + numel + "], y: f32 out[" + numel + "]) {\n" +  //
         "  axes r: " + rows + " parallel, c: " + columns + " inner\n" +         //
         "  map r c : %0 = load x[" + columns + "*r + c] : f32\n" +              //
         "  reduce r|c : %1 = " + reduction + " : f32\n" +                       //
         "  map r c : %2 = div %0, %1 : f32\n" +                                 //
         "  map r c : store y[" + columns + "*r + c], %2\n}\n";
}

const char* kTransposed = R"(kernel @t(x: f32 in[1200], y: f32 out[1200]) {
  axes r: 40 parallel, c: 30 parallel
  map r c : %0 = load x[40*c + r] : f32
  map r c : %1 = neg %0 : f32
  map r c : store y[30*r + c], %1
}
)";

// Where the first loop of a phase begins and ends in a block's first thread, by the index arithmetic before it. Overflow of the index
// type throws.
std::pair<int64_t, int64_t> first_loop(const passes::Lowered& lowered, size_t phase, int64_t block) {
  const ir::LoopTree& tree = lowered.tree;
  std::map<ir::ValueId, int64_t> values{{tree.phases[phase].index, block}};
  const auto arithmetic = [&](const ir::Stmt& stmt) {
    const auto arg = [&](size_t i) { return values.at(stmt.args[i]); };
    switch (stmt.op) {
      case ir::Op::Const: return ir::to_int64({tree.index_type, stmt.bits});
      case ir::Op::ThreadId: return int64_t{0};
      case ir::Op::Add: return arg(0) + arg(1);
      case ir::Op::Sub: return arg(0) - arg(1);
      case ir::Op::Mul: return arg(0) * arg(1);
      case ir::Op::Min: return std::min(arg(0), arg(1));
      case ir::Op::Max: return std::max(arg(0), arg(1));
      case ir::Op::Quotient: return arg(0) / arg(1);
      default: throw std::runtime_error("unexpected: " + std::string(ir::info(stmt.op).text));
    }
  };
  for (const ir::Stmt& stmt : tree.phases[phase].body) {
    if (stmt.kind == ir::StmtKind::For) return {values.at(stmt.args[0]), values.at(stmt.args[1])};
    if (stmt.kind == ir::StmtKind::Size) values[stmt.result] = lowered.sizes[static_cast<size_t>(stmt.slot)];
    if (stmt.kind != ir::StmtKind::Let || tree.values[stmt.result] != ir::VType{tree.index_type, 1} || stmt.op == ir::Op::Get) continue;
    const int64_t value = arithmetic(stmt);
    if (tree.index_type == ir::DType::I32 && value != static_cast<int32_t>(value)) throw std::overflow_error("of an index");
    values[stmt.result] = value;
  }
  throw std::runtime_error("there is no loop");
}

}  // namespace

TEST_CASE("gpu schedule: shapes that need the same code share a tree") {
  const auto key = [](const std::string& text) { return ir::print(lower(text).tree, false); };
  CHECK(key(pointwise("6", "8", "48")) == key(pointwise("50", "64", "3200")));
  CHECK(key(pointwise("6", "7", "42")) == key(pointwise("7", "6", "42")));
  CHECK(key(pointwise("6", "8", "48")) != key(pointwise("6", "7", "42")));
  CHECK(key(rows("9", "200", "1800")) == key(rows("13", "132", "1716")));
  CHECK(key(rows("9", "202", "1818")) == key(rows("13", "130", "1690")));
  CHECK(key(rows("9", "200", "1800")) != key(rows("9", "202", "1818")));  // four neighbours a thread
  CHECK(key(rows("9", "200", "1800")) != key(rows("9", "20", "180")));
  CHECK(key(rows("9", "5000", "45000")) == key(rows("70", "4700", "329000")));  // as many threads
  CHECK(key(rows("9", "5000", "45000")) != key(rows("9", "9000", "81000")));
  CHECK(key(rows("9", "40004", "360036")) == key(rows("70", "50000", "3500000")));  // not kept
}

TEST_CASE("gpu schedule: accesses, the reduction's tree and the number of rows choose the program") {
  CHECK(lower(pointwise("6", "8", "48")).schedule == "pointwise");
  CHECK(lower(pointwise("6", "8", "48")).sizes ==
        std::vector<int64_t>{1, 12, 2, 8});  // blocks, threads that work, vectors of a row, columns
  CHECK(lower(kTransposed).schedule == "transpose");
  CHECK(lower(rows("9", "200", "1800")).schedule == "rows");
  CHECK(lower(rows("9", "5000", "45000")).schedule == "rows in blocks");
  CHECK(lower(rows("9", "40004", "360036")).schedule == "long rows");
  CHECK(lower(rows("1", "100000", "100000")).schedule == "rows split");
  CHECK(lower(rows("1", "100000", "100000")).tree.phases.size() == 3);
  CHECK(lower(rows("9", "200", "1800", "reduce.sum %0 columns")).schedule == "columns");
}

TEST_CASE("gpu schedule: a map may write over what it reads at the same place, and its text says so") {
  const passes::Lowered map = lower(pointwise("6", "8", "48"));
  CHECK(map.donations == std::vector<std::pair<int, int>>{{2, 0}});
  CHECK(map.tree.buffers[0].aliased);
  CHECK(!map.tree.buffers[1].aliased);
  CHECK(map.tree.buffers[2].aliased);
  CHECK(ir::print(ir::parse_looptree(ir::print(map.tree))) == ir::print(map.tree));
  CHECK(lower(kTransposed).donations.empty());
}

TEST_CASE("gpu schedule: a row's value lies over an operand only where all threads of the row have read it before") {
  const auto rows_of_value = [](const std::string& value, const std::string& result) {
    return lower(
               "kernel @k(x0: f32 in[9], x1: f32 in[1800], y0: f32 out[9], y1: f32 out[1800]) {\n  axes i: 9 parallel, r: 200 inner\n"
               "  map i : %0 = load x0[i] : f32\n  map i r : %1 = load x1[200*i + r] : f32\n  map i r : %2 = mul %0, %1 : f32\n" +
               value + "  map i : store y0[i], " + result + "\n  map i r : store y1[200*i + r], %2\n}\n")
        .donations;
  };
  CHECK(rows_of_value("  reduce i|r : %3 = reduce.sum %2 lanes : f32\n", "%3") == std::vector<std::pair<int, int>>{{2, 0}});
  CHECK(rows_of_value("  map i : %3 = neg %0 : f32\n", "%3").empty());
  for (const char* const order : {"lanes", "columns"}) {  // a reduction of the row stands beside it, and may come after the store
    const std::string sum = std::string("  reduce i|r : %3 = reduce.sum %2 ") + order + " : f32\n";
    CHECK(rows_of_value(sum + "  map i : %4 = neg %0 : f32\n", "%4").empty());
    CHECK(rows_of_value(sum + "  map i : %4 = add %0, %3 : f32\n", "%4") == std::vector<std::pair<int, int>>{{2, 0}});
  }
}

TEST_CASE("gpu schedule: addresses beyond 2^31 take 64-bit indices") {
  CHECK(lower(pointwise("6", "8", "48")).tree.index_type == ir::DType::I32);
  CHECK(lower(pointwise("65536", "65536", "4294967296")).tree.index_type == ir::DType::I64);
}

TEST_CASE("gpu schedule: the pieces of a line of nearly 2^31 elements fit 32-bit indices") {
  const int64_t length = int64_t{2096123} * 1024;  // 1540 pieces of 1362 * 1024, so that the last would end behind 2^31
  const std::string n = std::to_string(length);
  const std::string text = "kernel @scan(x: i64 in[" + n + "], y: i64 out[" + n + "]) {\n  axes s: " + n + " serial\n" +
                           "  map s   : %0 = load x[s] : i64\n  scan |s : %1 = scan.sum %0 : i64\n  map s   : store y[s], %1\n}\n";
  ir::GpuTarget target;
  target.multiprocessors = 385;
  const passes::Lowered lowered = passes::lower(ir::parse_kernel(text), target);
  CHECK(lowered.schedule == "scan groups split");
  CHECK(lowered.tree.index_type == ir::DType::I32);
  const int64_t pieces = lowered.sizes[static_cast<size_t>(lowered.tree.phases[0].extent)];
  CHECK(pieces * 1362 * 1024 > int64_t{1} << 31);
  int64_t end = 0;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const auto part = first_loop(lowered, 0, piece);
    CHECK(part.first == end);
    end = part.second;
  }
  CHECK(end == length);
}

TEST_CASE("gpu schedule: the extents of a product and the number of multiprocessors choose its tile") {
  const auto chosen = [](int64_t batch, int64_t rows, int64_t columns, int64_t depth, int processors, ir::DType dtype = ir::DType::F32,
                         bool halves = false, int compute = 90, bool copied = false) {
    ir::GpuTarget target;
    target.compute = compute;
    target.multiprocessors = processors;
    target.shared_bytes = 99 << 10;
    return passes::gpu::choose_tile(
               {.dtype = dtype, .batch = batch, .rows = rows, .columns = columns, .depth = depth, .halves = halves, .copied = copied},
               target)
        .tile;
  };
  const auto is = [](const passes::gpu::Tile* tile, int rows, int columns) {
    return tile && tile->rows == rows && tile->columns == columns;
  };
  CHECK(is(chosen(1, 4096, 4096, 1024, 132), 128, 128));
  CHECK(chosen(1000, 4, 4, 4, 132) == nullptr);  // a thread an output
  CHECK(is(chosen(1, 6, 25088, 75, 1), 8, 256));
  // Few blocks leave multiprocessors without work: smaller ones then.
  CHECK(is(chosen(1, 256, 256, 2048, 1), 128, 128));
  CHECK(is(chosen(1, 256, 256, 2048, 132), 16, 16));
  // Sums of 8 bytes fill the registers twice as fast.
  CHECK(is(chosen(1, 4096, 4096, 1024, 132, ir::DType::I64), 128, 64));

  // Halves go to the tensor cores, where there are some that schedules are for.
  const auto on_tensor_cores = [](const passes::gpu::Tile* tile) { return tile && tile->worker == passes::gpu::Worker::Warp; };
  CHECK(on_tensor_cores(chosen(1, 512, 512, 512, 132, ir::DType::F32, true)));
  CHECK(on_tensor_cores(chosen(1, 512, 512, 512, 132, ir::DType::F32, true, 80)));
  CHECK_FALSE(on_tensor_cores(chosen(1, 512, 512, 512, 132, ir::DType::F32, true, 75)));
  CHECK_FALSE(on_tensor_cores(chosen(1, 512, 512, 512, 132)));
  CHECK(chosen(1000, 4, 4, 4, 132, ir::DType::F32, true) == nullptr);
  // A warp has 64x64 sums where they are one chain and nothing is staged through registers.
  const auto most = [&](int64_t depth, bool copied) {
    const passes::gpu::Tile* const tile = chosen(1, 4096, 4096, depth, 132, ir::DType::F32, true, 90, copied);
    return tile ? tile->part_rows * tile->part_columns : 0;
  };
  CHECK(most(4096, true) == 64 * 64);
  CHECK(most(4096, false) == 64 * 32);
  CHECK(most(4097, true) == 64 * 32);

  std::set<const passes::gpu::Tile*> used;
  for (const bool halves : {false, true}) {
    for (const int processors : {1, 16, 132}) {
      for (const int64_t depth : {16, 75, 512, 4096}) {
        for (int64_t rows = 1; rows <= 4096; rows *= 2) {
          for (int64_t columns = 1; columns <= 4096; columns *= 2) {
            used.insert(chosen(1, rows, columns, depth, processors, ir::DType::F32, halves));
            if (halves) used.insert(chosen(1, rows, columns, depth, processors, ir::DType::F32, true, 90, true));
          }
        }
      }
    }
  }
  for (const passes::gpu::Tile& tile : passes::gpu::tiles()) {
    CAPTURE(tile.rows);
    CAPTURE(tile.columns);
    CAPTURE(tile.depth);
    CHECK(used.count(&tile) == 1);
  }
}

TEST_CASE("gpu schedule: what it does not take, it names") {
  const char* contraction = R"(kernel @mm(a: f32 in[12], b: f32 in[12], y: f32 out[4]) {
  axes i: 2 parallel, j: 2 parallel, k: 3 contract, l: 2 contract
  contract i j|k l : %0 = load a[6*i + 2*k + l] : f32
  contract i j|k l : %1 = load b[4*k + 2*l + j] : f32
  reduce i j|k l : %2 = contract %0, %1 : f32
  map i j : store y[2*i + j], %2
}
)";
  CHECK_THROWS_WITH_AS(lower(contraction), "no GPU schedule takes kernel 'mm': a contraction runs along one axis", ir::IrError);
}

TEST_CASE("gpu schedule: the text of an attention is lowered if its heads fit, and refused with the reason if they do not") {
  const auto lowered = [](const std::string& depth) {
    const std::string text =
        "call @attention(x0: f32 in[2000], x1: f32 in[2000], x2: f32 in[2000], y0: f32 out[2000]) {\n"
        "  %0 = view x0 : f32[9," +
        depth + "]\n  %1 = view x1 : f32[9," + depth + "]\n  %2 = view x2 : f32[9," + depth +
        "]\n"
        "  %3 = attention %0, %1, %2 causal=0 scale=0.5 rows=0 result=output : f32[9," +
        depth + "]\n  store y0, %3\n}\n";
    return passes::lower(ir::parse_call(text), ir::GpuTarget{}).schedule;
  };
  CHECK(lowered("128") == "attention");
  CHECK_THROWS_WITH_AS(
      lowered("129"),
      "no GPU schedule takes call 'attention': heads are so large that a block's shared memory has no room for tiles of a good size",
      ir::IrError);
}
