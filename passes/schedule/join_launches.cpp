// Side by side, the blocks of a part come behind those of the parts before it:
//
//   phase joined: parallel %0 in 0..s5 {
//     %1 = size s0                 blocks of the first part
//     %2 = lt %0, %1
//     if %2 {
//       ...                        the first, with %0 as its block
//     } else {
//       %9 = sub %0, %1
//       ...                        the second, with %9 as its block
//     }
//   }
//
// In turn, one block is each of a part's blocks, one after another, and what a turn has written is seen behind a barrier:
//
//   phase in_turn: parallel %0 in 0..s5 {
//     for %3 in 0..s0 {
//       ...                        the first, with %3 as its block
//     }
//     barrier
//     for %9 in 0..s2 {
//       ...                        the second, with %9 as its block
//     }
//   }
//
// Side by side, a block is of one part as a whole, so barriers and shuffles stay as they are. Shared memory is used over again: in
// turn, behind a barrier at the end of each round. Parts of a turn that have no barriers come last, each from another warp on, so that
// warps are busy with different parts at the same time: thread t is thread (t + 32 w) mod 256 of such a part, and w is a size.
#include "passes/schedule/join_launches.h"

#include <algorithm>
#include <map>
#include <utility>

#include "passes/schedule/block_time.h"

namespace tenon::passes {
namespace {

using ir::LoopTree, ir::Space, ir::Stmt, ir::StmtKind, ir::ValueId;

constexpr size_t kMostParts = 8;
constexpr size_t kMostArguments = 400;  // of the 4 KB that a launch may bring

bool is_argument(const ir::TreeBuffer& buffer) { return buffer.space != Space::Local && buffer.space != Space::Shared; }

size_t arguments(const LoopTree& tree) {
  const auto buffers = std::ranges::count_if(tree.buffers, is_argument);
  return static_cast<size_t>(buffers) + static_cast<size_t>(tree.size_count) + tree.scalars.size() + 1;
}

// What shared buffers that are used over again have in common: the type of their elements, and stages.
using Kind = std::pair<ir::DType, int32_t>;
Kind kind_of(const ir::TreeBuffer& buffer) { return {buffer.dtype, buffer.stages}; }

constexpr int kWarp = 32;

bool waits_in(const std::vector<Stmt>& stmts, const LoopTree& tree) {
  return std::ranges::any_of(stmts, [&](const Stmt& stmt) {
    return stmt.kind == StmtKind::Barrier || (stmt.buffer >= 0 && tree.buffers[static_cast<size_t>(stmt.buffer)].space == Space::Shared) ||
           waits_in(stmt.body, tree) || waits_in(stmt.orelse, tree);
  });
}

// Whether a part may begin at any warp: beside others, and as long as none of its threads waits for another one, but for those of its warp.
bool turns_threads(const Turn& turn, const LoopTree& tree) {
  return turn.size() > 1 && (tree.threads & (tree.threads - 1)) == 0 && !waits_in(tree.phases[0].body, tree);
}

// How a block does a turn: its parts in this order, each from a warp of its own on.
struct Order {
  std::vector<size_t> parts;
  std::vector<int64_t> first_warps;  // parallel to them
  double cycles = 0;
};

Order order_of(const Turn& turn) {
  Order order;
  const LoopTree& any = turn[0]->whole_tree();
  const auto warps = static_cast<size_t>((any.threads + kWarp - 1) / kWarp);
  std::vector<double> busy(warps, 0);
  for (const bool waiting : {true, false}) {
    for (size_t p = 0; p < turn.size(); ++p) {
      const LoopTree& tree = turn[p]->whole_tree();
      if (turns_threads(turn, tree) == waiting) continue;
      order.parts.push_back(p);
      size_t first = 0;
      for (const ir::Phase& phase : tree.phases) {
        std::vector<double> cycles = warp_cycles(tree, phase, turn[p]->sizes);
        for (double& c : cycles) c *= static_cast<double>(turn[p]->sizes[static_cast<size_t>(phase.extent)]);
        if (waiting) {
          const double all = *std::ranges::max_element(busy) + *std::ranges::max_element(cycles);
          std::ranges::fill(busy, all);
          continue;
        }
        // The thread t of the block is the part's thread t + 32 first: its warp v is the block's warp v - first.
        double least = 0;
        for (size_t w = 0; w < warps; ++w) {
          double most = 0;
          for (size_t v = 0; v < warps; ++v) most = std::max(most, busy[(v + warps - w) % warps] + cycles[v]);
          if (w == 0 || most < least) {
            first = w;
            least = most;
          }
        }
        for (size_t v = 0; v < warps; ++v) busy[(v + warps - first) % warps] += cycles[v];
      }
      order.first_warps.push_back(static_cast<int64_t>(first));
    }
  }
  order.cycles = *std::ranges::max_element(busy);
  return order;
}

// By kind: how many elements each of the shared buffers has.
using Shared = std::map<Kind, std::vector<int64_t>>;
void take_up(const LoopTree& tree, Shared& shared) {
  std::map<Kind, size_t> next;
  for (const ir::TreeBuffer& b : tree.buffers) {
    if (b.space != Space::Shared) continue;
    std::vector<int64_t>& counts = shared[kind_of(b)];
    const size_t i = next[kind_of(b)]++;
    counts.resize(std::max(counts.size(), i + 1));
    counts[i] = std::max(counts[i], b.count);
  }
}

int64_t bytes_of(const Shared& shared) {
  constexpr int64_t kAlignment = 16;
  int64_t bytes = 0;
  for (const auto& [kind, counts] : shared) {
    for (const int64_t count : counts) bytes += (count * ir::item_size(kind.first) + kAlignment - 1) / kAlignment * kAlignment;
  }
  return bytes;
}

class Joiner {
 public:
  explicit Joiner(std::span<const Turn> turns) : turns_(turns) {}

  Lowered run() {
    for (const Turn& turn : turns_) {
      for (const Lowered* const& part : turn) take_up(*part, &part == turn.data());
    }
    turns_.size() == 1 ? side_by_side() : in_turn();
    out_.phase_cost = {0};
    return std::move(out_);
  }

 private:
  // What the numbers of a part are here: its buffers, and what is to be added to others.
  struct Numbers {
    std::vector<int32_t> buffers;
    int32_t sizes, scalars;
    ValueId values;
    ValueId value(ValueId v) const { return v < 0 ? v : v + values; }
  };
  struct Part {
    const Lowered& lowered;
    Numbers numbers;
    const LoopTree& tree() const { return lowered.whole_tree(); }
  };

  // Takes over what the part declares.
  void take_up(const Lowered& part, bool begins_turn) {
    const LoopTree& tree = part.whole_tree();
    const bool first = parts_.empty();
    if (first) {
      tree_.target = tree.target;
      tree_.threads = tree.threads;
      tree_.index_type = tree.index_type;
      tree_.resident = tree.resident;
      tree_.name.clear();
    }
    tree_.name += (first ? "" : begins_turn ? "_then_" : "_and_") + tree.name;
    tree_.resident = std::min(tree_.resident, tree.resident);
    out_.schedule += (first ? "" : begins_turn ? " then " : " + ") + part.schedule;
    out_.better_often = out_.better_often || part.better_often;
    Numbers numbers{{}, tree_.size_count, static_cast<int32_t>(tree_.scalars.size()), static_cast<ValueId>(tree_.values.size())};
    std::map<Kind, size_t> shared;
    for (const ir::TreeBuffer& b : tree.buffers) numbers.buffers.push_back(take_buffer(b, numbers.sizes, shared));
    tree_.size_count += tree.size_count;
    out_.sizes.insert(out_.sizes.end(), part.sizes.begin(), part.sizes.end());
    tree_.scalars.insert(tree_.scalars.end(), tree.scalars.begin(), tree.scalars.end());
    tree_.values.insert(tree_.values.end(), tree.values.begin(), tree.values.end());
    parts_.push_back({part, std::move(numbers)});
  }

  // What one part writes a later one may read.
  int32_t take_buffer(ir::TreeBuffer buffer, int32_t sizes, std::map<Kind, size_t>& shared) {
    if (buffer.space == Space::Shared) {
      std::vector<int32_t>& known = shared_[kind_of(buffer)];
      const size_t i = shared[kind_of(buffer)]++;
      if (i < known.size()) {
        int64_t& count = tree_.buffers[static_cast<size_t>(known[i])].count;
        count = std::max(count, buffer.count);
        return known[i];
      }
      known.push_back(static_cast<int32_t>(tree_.buffers.size()));
    }
    buffer.name += "_" + std::to_string(parts_.size());
    if (buffer.size_param >= 0) buffer.size_param += sizes;
    if (is_argument(buffer)) buffer.aliased = buffer.aliased || turns_.size() > 1;
    tree_.buffers.push_back(std::move(buffer));
    return static_cast<int32_t>(tree_.buffers.size()) - 1;
  }

  void side_by_side() {
    int64_t blocks = 0;
    for (const Part& part : parts_) blocks += part.lowered.sizes[static_cast<size_t>(part.tree().phases[0].extent)];
    std::vector<Stmt> body = from(0);
    add_phase("joined", index_of(0), blocks, std::move(body));
  }

  void in_turn() {
    const ValueId block = fresh({tree_.index_type, 1});
    std::vector<Stmt> body;
    const ValueId zero = constant(body, 0);
    size_t first = 0;
    bool waited = true;  // for nothing, at the beginning
    for (const Turn& turn : turns_) {
      const Order order = order_of(turn);
      for (size_t i = 0; i < turn.size(); ++i) {
        const Part& part = parts_[first + order.parts[i]];
        for (const ir::Phase& phase : part.tree().phases) {
          const bool depends = i == 0 || &phase != part.tree().phases.data();
          if (depends && !waited) body.push_back({.kind = StmtKind::Barrier});
          waited = waits(part.tree(), phase);
          Stmt loop{.kind = StmtKind::For};  // a round for each block
          loop.args = {zero, size(body, part.numbers.sizes + phase.extent)};
          loop.result = part.numbers.value(phase.index);
          loop.body = body_of(part, phase);
          if (waited) loop.body.push_back({.kind = StmtKind::Barrier});
          else if (turns_threads(turn, part.tree())) begin_at(order.first_warps[i], body, loop.body);
          body.push_back(std::move(loop));
        }
      }
      first += turn.size();
    }
    add_phase("in_turn", block, 1, std::move(body));
  }

  // The threads of a part count from this warp on.
  void begin_at(int64_t warp, std::vector<Stmt>& before, std::vector<Stmt>& body) {
    out_.sizes.push_back(warp * kWarp);
    turn_threads(body, size(before, tree_.size_count++), constant(before, tree_.threads - 1));
  }
  void turn_threads(std::vector<Stmt>& stmts, ValueId ahead, ValueId last) {
    for (size_t i = 0; i < stmts.size(); ++i) {
      turn_threads(stmts[i].body, ahead, last);
      turn_threads(stmts[i].orelse, ahead, last);
      if (stmts[i].kind != StmtKind::Let || stmts[i].op != ir::Op::ThreadId) continue;
      std::vector<Stmt> turned;
      Stmt sum{.kind = StmtKind::Let, .op = ir::Op::Add}, rest{.kind = StmtKind::Let, .op = ir::Op::And};
      sum.args = {append(turned, {.kind = StmtKind::Let, .op = ir::Op::ThreadId}, tree_.index_type), ahead};
      rest.args = {append(turned, std::move(sum), tree_.index_type), last};
      rest.result = stmts[i].result;
      stmts[i] = std::move(rest);
      stmts.insert(stmts.begin() + static_cast<std::ptrdiff_t>(i), std::make_move_iterator(turned.begin()),
                   std::make_move_iterator(turned.end()));
      i += turned.size();
    }
  }

  void add_phase(const char* name, ValueId block, int64_t blocks, std::vector<Stmt> body) {
    out_.sizes.push_back(blocks);
    tree_.phases.push_back({name, block, tree_.size_count++, std::move(body)});
  }

  ValueId fresh(ir::VType type) {
    tree_.values.push_back(type);
    return static_cast<ValueId>(tree_.values.size()) - 1;
  }
  ValueId append(std::vector<Stmt>& stmts, Stmt stmt, ir::DType type) {
    const ValueId result = stmt.result = fresh({type, 1});
    stmts.push_back(std::move(stmt));
    return result;
  }
  ValueId size(std::vector<Stmt>& stmts, int32_t slot) {
    Stmt stmt{.kind = StmtKind::Size};
    stmt.slot = slot;
    return append(stmts, std::move(stmt), tree_.index_type);
  }
  ValueId constant(std::vector<Stmt>& stmts, int64_t value) {
    Stmt stmt{.kind = StmtKind::Let, .op = ir::Op::Const};
    stmt.bits = ir::constant(tree_.index_type, value).bits;
    return append(stmts, std::move(stmt), tree_.index_type);
  }

  ValueId index_of(size_t p) const { return parts_[p].numbers.value(parts_[p].tree().phases[0].index); }

  // The parts from this one on, once its block is known.
  std::vector<Stmt> from(size_t p) {
    const Part& part = parts_[p];
    const ir::Phase& phase = part.tree().phases[0];
    if (p + 1 == parts_.size()) return body_of(part, phase);
    std::vector<Stmt> stmts;
    const ValueId count = size(stmts, part.numbers.sizes + phase.extent);
    Stmt less{.kind = StmtKind::Let, .op = ir::Op::Lt}, rest{.kind = StmtKind::Let, .op = ir::Op::Sub}, choice{.kind = StmtKind::If};
    less.args = rest.args = {index_of(p), count};
    choice.args = {append(stmts, std::move(less), ir::DType::Bool)};
    choice.body = body_of(part, phase);
    rest.result = index_of(p + 1);
    choice.orelse.push_back(std::move(rest));
    std::vector<Stmt> others = from(p + 1);
    choice.orelse.insert(choice.orelse.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
    stmts.push_back(std::move(choice));
    return stmts;
  }

  static std::vector<Stmt> body_of(const Part& part, const ir::Phase& phase) {
    std::vector<Stmt> body = phase.body;
    renumber(body, part.numbers);
    return body;
  }

  static void renumber(std::vector<Stmt>& stmts, const Numbers& numbers) {
    for (Stmt& stmt : stmts) {
      if (stmt.buffer >= 0) stmt.buffer = numbers.buffers[static_cast<size_t>(stmt.buffer)];
      if (stmt.kind == StmtKind::CopyAsync) stmt.slot = numbers.buffers[static_cast<size_t>(stmt.slot)];
      if (stmt.kind == StmtKind::Size) stmt.slot += numbers.sizes;
      if (stmt.kind == StmtKind::Let && stmt.op == ir::Op::Scalar) stmt.slot += numbers.scalars;
      stmt.result = numbers.value(stmt.result);
      stmt.mask = numbers.value(stmt.mask);
      for (ValueId& arg : stmt.args) arg = numbers.value(arg);
      renumber(stmt.body, numbers);
      renumber(stmt.orelse, numbers);
    }
  }

  std::span<const Turn> turns_;
  std::vector<Part> parts_;  // of all turns
  Lowered out_;
  LoopTree& tree_ = out_.tree;
  std::map<Kind, std::vector<int32_t>> shared_;  // the shared buffers so far
};

// Whether one launch has room for all of these, and blocks of the same threads serve them.
bool fit_together(const std::vector<const Lowered*>& parts) {
  size_t count = 0;
  Shared shared;
  for (const Lowered* part : parts) {
    const LoopTree &tree = part->whole_tree(), &first = parts[0]->whole_tree();
    if (part->packing || first.threads != tree.threads || first.index_type != tree.index_type) return false;
    count += arguments(tree);
    take_up(tree, shared);
  }
  return count <= kMostArguments && bytes_of(shared) <= ir::kStaticSharedBytes;
}

}  // namespace

bool can_join(const Turn& parts, const Lowered& next) {
  std::vector<const Lowered*> all = parts;
  all.push_back(&next);
  return next.whole_tree().phases.size() == 1 && parts.size() < kMostParts && fit_together(all);
}

bool can_follow(std::span<const Turn> turns, const Turn& next) {
  std::vector<const Lowered*> all;
  for (const Turn& turn : turns) all.insert(all.end(), turn.begin(), turn.end());
  all.insert(all.end(), next.begin(), next.end());
  return fit_together(all);
}

bool waits(const LoopTree& tree, const ir::Phase& phase) { return waits_in(phase.body, tree); }

double cycles_in_turn(const Turn& turn) { return order_of(turn).cycles; }

Lowered join_launches(std::span<const Turn> turns) { return Joiner(turns).run(); }

}  // namespace tenon::passes
