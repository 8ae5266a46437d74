// The blocks of a part come behind those of the parts before it:
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
// A block is of one part as a whole, so barriers and shuffles stay as they are, and shared memory is used over again.
#include "passes/schedule/join_launches.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tenon::passes {
namespace {

using ir::LoopTree;
using ir::Space;
using ir::Stmt;
using ir::StmtKind;
using ir::ValueId;

constexpr size_t kMostParts = 8;
constexpr size_t kMostArguments = 400;  // of the 4 KB that a launch may bring

bool is_argument(const ir::TreeBuffer& buffer) { return buffer.space != Space::Local && buffer.space != Space::Shared; }

size_t arguments(const LoopTree& tree) {
  const auto buffers = std::count_if(tree.buffers.begin(), tree.buffers.end(), is_argument);
  return static_cast<size_t>(buffers) + static_cast<size_t>(tree.size_count) + tree.scalars.size() + 1;
}

// What shared buffers that are used over again have in common: the type of their elements, and stages.
using Kind = std::pair<ir::DType, int32_t>;
Kind kind_of(const ir::TreeBuffer& buffer) { return {buffer.dtype, buffer.stages}; }

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
  explicit Joiner(std::span<const Lowered* const> parts) : parts_(parts) {}

  Lowered run() {
    const LoopTree& first = parts_[0]->whole_tree();
    tree_.target = first.target;
    tree_.threads = first.threads;
    tree_.index_type = first.index_type;
    tree_.resident = first.resident;
    tree_.name.clear();
    int64_t blocks = 0;
    double cost = 0;
    for (const Lowered* part : parts_) {
      const LoopTree& tree = part->whole_tree();
      tree_.name += (tree_.name.empty() ? "" : "_and_") + tree.name;
      tree_.resident = std::min(tree_.resident, tree.resident);
      out_.schedule += (out_.schedule.empty() ? "" : " + ") + part->schedule;
      blocks += part->sizes[static_cast<size_t>(tree.phases[0].extent)];
      cost = std::max(cost, part->phase_cost.at(0));
      out_.better_often = out_.better_often || part->better_often;
    }
    const ValueId block = fresh({tree_.index_type, 1});
    std::vector<Stmt> body = from(0, block);
    out_.sizes.push_back(blocks);
    out_.phase_cost = {cost};
    tree_.phases.push_back({"joined", block, tree_.size_count++, std::move(body)});
    return std::move(out_);
  }

 private:
  ValueId fresh(ir::VType type) {
    tree_.values.push_back(type);
    return static_cast<ValueId>(tree_.values.size()) - 1;
  }

  ValueId append(std::vector<Stmt>& stmts, ir::Op op, std::initializer_list<ValueId> args, ir::DType type) {
    Stmt stmt{.kind = StmtKind::Let, .op = op};
    for (const ValueId arg : args) stmt.args.push_back(arg);
    const ValueId result = stmt.result = fresh({type, 1});
    stmts.push_back(std::move(stmt));
    return result;
  }

  // The parts from this one on, where `block` counts from this one's first.
  std::vector<Stmt> from(size_t p, ValueId block) {
    if (p + 1 == parts_.size()) return part(p, block);
    std::vector<Stmt> stmts;
    Stmt size{.kind = StmtKind::Size};
    size.slot = tree_.size_count + parts_[p]->whole_tree().phases[0].extent;
    const ValueId count = size.result = fresh({tree_.index_type, 1});
    stmts.push_back(std::move(size));
    Stmt choice{.kind = StmtKind::If};
    choice.args.push_back(append(stmts, ir::Op::Lt, {block, count}, ir::DType::Bool));
    choice.body = part(p, block);
    const ValueId rest = append(choice.orelse, ir::Op::Sub, {block, count}, tree_.index_type);
    std::vector<Stmt> others = from(p + 1, rest);
    choice.orelse.insert(choice.orelse.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
    stmts.push_back(std::move(choice));
    return stmts;
  }

  // Takes over what the part declares, and its statements with the numbers that all of that has here.
  std::vector<Stmt> part(size_t p, ValueId block) {
    const LoopTree& tree = parts_[p]->whole_tree();
    const ir::Phase& phase = tree.phases[0];
    Numbers numbers{{}, tree_.size_count, static_cast<int32_t>(tree_.scalars.size()), phase.index, block,
                    static_cast<ValueId>(tree_.values.size()) - 1};
    std::map<Kind, size_t> shared;
    for (const ir::TreeBuffer& b : tree.buffers) numbers.buffers.push_back(take_buffer(b, p, numbers.sizes, shared));
    tree_.size_count += tree.size_count;
    out_.sizes.insert(out_.sizes.end(), parts_[p]->sizes.begin(), parts_[p]->sizes.end());
    tree_.scalars.insert(tree_.scalars.end(), tree.scalars.begin(), tree.scalars.end());
    tree_.values.insert(tree_.values.end(), tree.values.begin() + 1, tree.values.end());
    std::vector<Stmt> body = phase.body;
    renumber(body, numbers);
    return body;
  }

  int32_t take_buffer(ir::TreeBuffer buffer, size_t p, int32_t sizes, std::map<Kind, size_t>& shared) {
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
    buffer.name += "_" + std::to_string(p);
    if (buffer.size_param >= 0) buffer.size_param += sizes;
    tree_.buffers.push_back(std::move(buffer));
    return static_cast<int32_t>(tree_.buffers.size()) - 1;
  }

  // What the numbers of a part are here.
  struct Numbers {
    std::vector<int32_t> buffers;
    int32_t sizes, scalars;  // to be added
    ValueId index, block;    // this one is that one; it is a tree's first value
    ValueId values;          // to be added to others
    ValueId value(ValueId v) const { return v < 0 ? v : v == index ? block : v + values; }
  };

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

  std::span<const Lowered* const> parts_;
  Lowered out_;
  LoopTree& tree_ = out_.tree;
  std::map<Kind, std::vector<int32_t>> shared_;  // the shared buffers so far
};

}  // namespace

bool can_join(std::span<const Lowered* const> parts, const Lowered& next) {
  const LoopTree& tree = next.whole_tree();
  if (tree.phases.size() != 1 || tree.phases[0].index != 0 || next.packing || parts.size() == kMostParts) return false;
  if (!parts.empty()) {
    const LoopTree& first = parts[0]->whole_tree();
    if (first.threads != tree.threads || first.index_type != tree.index_type) return false;
  }
  size_t count = arguments(tree);
  Shared shared;
  take_up(tree, shared);
  for (const Lowered* part : parts) {
    count += arguments(part->whole_tree());
    take_up(part->whole_tree(), shared);
  }
  return count <= kMostArguments && bytes_of(shared) <= ir::kStaticSharedBytes;
}

Lowered join_launches(std::span<const Lowered* const> parts) { return Joiner(parts).run(); }

}  // namespace tenon::passes
