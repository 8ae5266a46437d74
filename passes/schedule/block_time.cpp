// For each warp one walk over a phase's statements, as its first thread goes: sizes are known, and so are loops' bounds and most
// conditions. The walk counts the instructions that a thread starts, and the cycles for which it waits for memory, for other threads
// and for barriers.
#include "passes/schedule/block_time.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tenon::passes {
namespace {

using ir::LoopTree, ir::Op, ir::Space, ir::Stmt, ir::StmtKind, ir::ValueId;

// Cycles, of an H100 as micro-benchmarks have them (Luo et al. 2024, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture").
constexpr double kInstruction = 2;  // four until the next one has its result, and about every other one waits for that
constexpr double kCached = 40;      // the first cache: all that a small step touches fits in
constexpr double kShared = 30;      // shared memory, and a shuffle
constexpr double kBarrier = 30;
constexpr double kAtOnce = 4;  // rounds of an innermost loop, of which NVRTC asks for all that they load together
constexpr double kWalked = 8;  // rounds of a loop that are looked at one by one
constexpr int kWarp = 32;

struct Cost {
  double instructions = 0, waits = 0;
};

class Walk {
 public:
  Walk(const LoopTree& tree, std::span<const int64_t> sizes, int64_t thread)
      : tree_(tree), sizes_(sizes), thread_(thread), known_(tree.values.size()) {}

  Cost run(const ir::Phase& phase) {
    known_[static_cast<size_t>(phase.index)] = 0;
    return of(phase.body);
  }

 private:
  std::optional<int64_t>& known(ValueId v) { return known_[static_cast<size_t>(v)]; }

  Cost of(const std::vector<Stmt>& stmts) {
    Cost cost;
    double open = 0;  // the longest wait of what was asked for since the last block or barrier: all of it is under way together
    const auto settle = [&] { cost.waits += std::exchange(open, 0); };
    for (const Stmt& stmt : stmts) {
      cost.instructions += instructions(stmt);
      open = std::max(open, latency(stmt));
      if (stmt.kind != StmtKind::For && stmt.kind != StmtKind::If && stmt.kind != StmtKind::Barrier) continue;
      settle();
      const Cost within = stmt.kind == StmtKind::For ? loop(stmt) : stmt.kind == StmtKind::If ? branch(stmt) : Cost{0, kBarrier};
      cost.instructions += within.instructions;
      cost.waits += within.waits;
    }
    settle();
    return cost;
  }

  Cost loop(const Stmt& stmt) {
    const std::optional<int64_t> begin = known(stmt.args[0]), end = known(stmt.args[1]);
    const double rounds = begin && end ? static_cast<double>(std::max<int64_t>(0, (*end - *begin + stmt.step - 1) / stmt.step)) : 1;
    const bool innermost =
        std::ranges::none_of(stmt.body, [](const Stmt& s) { return s.kind == StmtKind::For || s.kind == StmtKind::Barrier; });
    if (depth_ == 0 && !innermost && !stmt.unroll && begin && end && rounds <= kWalked) return each_round(stmt, *begin, *end);
    known(stmt.result) = begin;
    const Cost round = body_of(stmt);
    // What unrolled rounds ask for is under way together.
    const double together = stmt.unroll ? std::max(1.0, rounds) : innermost ? kAtOnce : 1;
    return {rounds * (round.instructions + (stmt.unroll ? 0 : 1)), std::ceil(rounds / together) * round.waits};
  }

  Cost each_round(const Stmt& stmt, int64_t begin, int64_t end) {
    Cost cost;
    for (int64_t i = begin; i < end; i += stmt.step) {
      known(stmt.result) = i;
      const Cost round = body_of(stmt);
      cost.instructions += round.instructions;
      cost.waits += round.waits;
    }
    return cost;
  }

  Cost body_of(const Stmt& loop) {
    ++depth_;
    unrolled_ += loop.unroll ? 1 : 0;
    const Cost cost = of(loop.body);
    unrolled_ -= loop.unroll ? 1 : 0;
    --depth_;
    return cost;
  }

  // Threads may take both ways, unless the condition is known.
  Cost branch(const Stmt& stmt) {
    const std::optional<int64_t> condition = known(stmt.args[0]);
    Cost cost = condition && *condition == 0 ? Cost{} : of(stmt.body);
    if (condition && *condition != 0) return cost;
    const Cost other = of(stmt.orelse);
    return {cost.instructions + other.instructions, cost.waits + other.waits};
  }

  double instructions(const Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::Let: return operation(stmt);
      case StmtKind::Size: known(stmt.result) = sizes_[static_cast<size_t>(stmt.slot)]; return 0;
      case StmtKind::Load:
      case StmtKind::Store: return space(stmt) == Space::Local ? 0 : 1;
      case StmtKind::Mma: return 4;
      case StmtKind::For:
      case StmtKind::Var: return 0;
      default: return 1;
    }
  }

  double operation(const Stmt& stmt) {
    if (stmt.op == Op::Const) {
      const ir::Constant value{tree_.values[static_cast<size_t>(stmt.result)].dtype, stmt.bits};
      if (ir::is_int(value.dtype)) known(stmt.result) = ir::to_int64(value);
      return 0;
    }
    if (stmt.op == Op::ThreadId) known(stmt.result) = thread_;
    else compute(stmt);
    if (stmt.op == Op::Get || stmt.op == Op::Scalar || stmt.op == Op::Extract) return 0;
    if (unrolled_ > 0 && is_place(stmt)) return 0;  // constants, once the loop is unrolled
    return std::max<double>(1, ir::info(stmt.op).cost);
  }
  bool is_place(const Stmt& stmt) const {
    return tree_.values[static_cast<size_t>(stmt.result)] == ir::VType{tree_.index_type, 1} &&
           (stmt.op == Op::Add || stmt.op == Op::Sub || stmt.op == Op::Mul);
  }

  void compute(const Stmt& stmt) {
    if (stmt.args.size() != 2 || !known(stmt.args[0]) || !known(stmt.args[1])) return;
    const int64_t a = *known(stmt.args[0]), b = *known(stmt.args[1]);
    std::optional<int64_t>& result = known(stmt.result);
    switch (stmt.op) {
      case Op::Add: result = a + b; return;
      case Op::Sub: result = a - b; return;
      case Op::Mul: result = a * b; return;
      case Op::Min: result = std::min(a, b); return;
      case Op::Max: result = std::max(a, b); return;
      case Op::And: result = a & b; return;
      case Op::Quotient:
        if (b != 0) result = a / b;
        return;
      case Op::Lt: result = a < b; return;
      case Op::Le: result = a <= b; return;
      case Op::Gt: result = a > b; return;
      case Op::Ge: result = a >= b; return;
      case Op::Ne: result = a != b; return;
      case Op::Eq: result = a == b; return;
      default: return;
    }
  }

  Space space(const Stmt& stmt) const { return tree_.buffers[static_cast<size_t>(stmt.buffer)].space; }

  double latency(const Stmt& stmt) const {
    switch (stmt.kind) {
      case StmtKind::Load: return space(stmt) == Space::Local ? 0 : space(stmt) == Space::Shared ? kShared : kCached;
      case StmtKind::LoadTile: return kShared;
      case StmtKind::Wait: return kCached;
      case StmtKind::Let: return stmt.op == Op::Shuffle || stmt.op == Op::ShuffleDown ? kShared : 0;
      default: return 0;
    }
  }

  const LoopTree& tree_;
  std::span<const int64_t> sizes_;
  int64_t thread_;
  int depth_ = 0, unrolled_ = 0;               // loops around, and those that are unrolled
  std::vector<std::optional<int64_t>> known_;  // indices
};

}  // namespace

std::vector<double> warp_cycles(const LoopTree& tree, const ir::Phase& phase, std::span<const int64_t> sizes) {
  std::vector<double> cycles;
  for (int64_t thread = 0; thread < tree.threads; thread += kWarp) {
    const Cost cost = Walk(tree, sizes, thread).run(phase);
    cycles.push_back(cost.instructions * kInstruction + cost.waits);
  }
  return cycles;
}

}  // namespace tenon::passes
