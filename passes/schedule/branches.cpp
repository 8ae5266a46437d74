// An arm of a choice is its second or third operand with all that is computed for it alone. A choice computes both. Where it chooses
// between two ways of computing something, a long one goes behind a branch, which vectors take if any lane needs it:
//
//   %5 = div %3, %4 : f64x8                          %6 = add %3, %3 : f64x8
//   %6 = add %3, %3 : f64x8                          var %10 = %6
//   %9 = where %8, %5, %6 : f64x8                    if %8 {
//                                            ->        %5 = div %3, %4 : f64x8
//                                                      %11 = where %8, %5, %6 : f64x8
//                                                      set %10, %11
//                                                    }
//                                                    %9 = get %10 : f64x8
//
// All choices on one condition share a branch. Arms have arithmetic alone, no loads; a choice within an arm has its branches there.
#include "passes/schedule/branches.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace tenon::passes {
namespace {

using ir::Op, ir::Stmt, ir::StmtKind, ir::ValueId;

// In additions of vectors of f32. A branch that is mispredicted costs some tens; the least other way is to be more than a value at hand,
// which stands for arguments that are hardly ever met, such as 0 or nan.
constexpr double kLongArm = 32, kLeastOther = 4;

// 2 * condition for the second operand of all choices on it, and one more for the third.
using Arm = int32_t;
constexpr Arm kNoArm = -1;
Arm arm_of(const Stmt& choice, size_t operand) { return 2 * choice.args[0] + static_cast<Arm>(operand) - 1; }
size_t operand_of(Arm arm) { return static_cast<size_t>(arm % 2) + 1; }

bool is_choice(const Stmt& s) { return s.kind == StmtKind::Let && s.op == Op::Where; }
bool may_move(const Stmt& s) { return s.kind == StmtKind::Let && ir::is_elementwise(s.op) && s.op != Op::Check && s.op != Op::Const; }

// A quick look, as most trees have no arms: whether a condition has something computed on both sides. By value: what is computed, and of
// conditions which of their sides are.
constexpr uint8_t kComputed = 1, kSecond = 2, kThird = 4;
bool may_have_arms(const std::vector<Stmt>& list, std::vector<uint8_t>& known) {
  for (const Stmt& s : list) {
    if (s.kind != StmtKind::Let) {
      if (!s.body.empty() && may_have_arms(s.body, known)) return true;
      if (!s.orelse.empty() && may_have_arms(s.orelse, known)) return true;
      continue;
    }
    if (s.op == Op::Where) {
      uint8_t& condition = known[s.args[0]];
      condition |= (known[s.args[1]] & kComputed ? kSecond : 0) | (known[s.args[2]] & kComputed ? kThird : 0);
      if ((condition & (kSecond | kThird)) == (kSecond | kThird)) return true;
    }
    if (s.op != Op::Const) known[s.result] |= kComputed;
  }
  return false;
}
bool may_have_arms(const ir::LoopTree& tree) {
  std::vector<uint8_t> known(tree.values.size());
  return std::ranges::any_of(tree.phases, [&](const ir::Phase& phase) { return may_have_arms(phase.body, known); });
}

class Brancher {
 public:
  explicit Brancher(const ir::LoopTree& tree) : given_(tree), values_(tree.values) {}

  std::optional<ir::LoopTree> run() {
    bool found = false;
    for (const ir::Phase& phase : given_.phases) {
      count_uses(phase.body);
      found = found || has_arms(phase.body);
    }
    if (!found) return std::nullopt;
    ir::LoopTree tree = given_;
    for (ir::Phase& phase : tree.phases) block(phase.body);
    tree.values = std::move(values_);
    return tree;
  }

 private:
  void count_uses(const std::vector<Stmt>& list) {
    for (const Stmt& s : list) {
      for (const ValueId v : s.args) ++uses_[v];
      if (s.mask >= 0) ++uses_[s.mask];
      count_uses(s.body);
      count_uses(s.orelse);
    }
  }

  bool has_arms(const std::vector<Stmt>& list) {
    if (!arms_of(list).empty()) return true;
    return std::ranges::any_of(list, [&](const Stmt& s) { return has_arms(s.body) || has_arms(s.orelse); });
  }

  void block(std::vector<Stmt>& list) {
    for (Stmt& s : list) {
      block(s.body);
      block(s.orelse);
    }
    straight(list);
  }

  double cost(const Stmt& s) const {
    const ir::VType type = values_[s.args.empty() ? s.result : s.args[0]], result = values_[s.result];
    if (ir::is_int(type.dtype) && (s.op == Op::Div || s.op == Op::Gcd)) return kLongArm;  // lane by lane
    return ir::info(s.op).cost * std::max(1.0, std::max(ir::item_size(type.dtype), ir::item_size(result.dtype)) / 4.0);
  }

  // --- which statements belong to which arm

  // An arm within others; the first is all that is in none.
  struct Node {
    int parent;
    Arm arm;
    double cost;  // with those within
  };
  struct Use {
    int node = 0, count = 0;
    size_t first = 0;  // choice on it
  };
  struct Nodes {
    std::vector<Node> list{{0, kNoArm, 0}};
    std::map<std::pair<int, Arm>, int> within;

    int child(int parent, Arm arm) {
      const auto [it, fresh] = within.try_emplace({parent, arm}, static_cast<int>(list.size()));
      if (fresh) list.push_back({parent, arm, 0});
      return it->second;
    }
    // The innermost one that both are in: what is within another one has a greater number.
    int common(int a, int b) const {
      while (a != b) (a > b ? a : b) = list[std::max(a, b)].parent;
      return a;
    }
    bool is_worth_it(const Node& node) const {
      const auto other = within.find({node.parent, node.arm ^ 1});
      return node.cost >= kLongArm && other != within.end() && list[other->second].cost >= kLeastOther;
    }
  };

  // A statement belongs to the innermost arm that all its uses are in, if it stands before all choices on that arm's condition.
  std::vector<int> nodes_of(const std::vector<Stmt>& list, Nodes& nodes) {
    std::vector<int> of(list.size());
    std::vector<Use>& used = list_uses_;
    used.resize(values_.size());
    for (const Stmt& s : list) {
      if (s.result >= 0) used[s.result] = {};
      for (const ValueId v : s.args) used[v] = {};
    }
    for (size_t k = list.size(); k-- > 0;) {
      if (is_choice(list[k])) used[list[k].args[0]].first = k;
    }
    for (size_t k = list.size(); k-- > 0;) {
      const Stmt& s = list[k];
      if (may_move(s) && used[s.result].count == uses_[s.result]) {
        of[k] = used[s.result].node;
        for (int n = of[k]; n > 0; n = nodes.list[n].parent) {
          if (k >= used[nodes.list[n].arm / 2].first) of[k] = nodes.list[n].parent;
        }
        nodes.list[of[k]].cost += cost(s);
      }
      for (size_t i = 0; i < s.args.size(); ++i) {
        const int by = i > 0 && is_choice(s) ? nodes.child(of[k], arm_of(s, i)) : of[k];
        Use& use = used[s.args[i]];
        use.node = use.count++ == 0 ? by : nodes.common(use.node, by);
      }
    }
    return of;
  }

  // For each statement the outermost arm that is worth a branch. Nothing if there is none.
  std::vector<Arm> arms_of(const std::vector<Stmt>& list) {
    double all = 0;
    for (const Stmt& s : list) all += may_move(s) ? cost(s) : 0;
    if (all < kLongArm || std::ranges::none_of(list, is_choice)) return {};
    Nodes nodes;
    const std::vector<int> of = nodes_of(list, nodes);
    for (size_t n = nodes.list.size(); n-- > 1;) nodes.list[nodes.list[n].parent].cost += nodes.list[n].cost;
    std::vector<Arm> outermost(nodes.list.size(), kNoArm);
    bool found = false;
    for (size_t n = 1; n < nodes.list.size(); ++n) {
      const Node& node = nodes.list[n];
      outermost[n] = outermost[node.parent];
      if (outermost[n] == kNoArm && nodes.is_worth_it(node)) outermost[n] = node.arm;
      found = found || outermost[n] != kNoArm;
    }
    if (!found) return {};
    std::vector<Arm> arms(list.size());
    for (size_t k = 0; k < list.size(); ++k) arms[k] = outermost[of[k]];
    return arms;
  }

  // --- the branches

  // A list while its arms go behind branches.
  struct Rewrite {
    std::vector<Stmt>& list;
    std::vector<Arm> of;                                // by statement
    std::unordered_map<ValueId, size_t> known_at = {};  // from which statement on; what is computed before the list is not in it
    std::vector<Stmt> out = {};
  };

  void straight(std::vector<Stmt>& list) {
    Rewrite r{list, arms_of(list)};
    if (r.of.empty()) return;
    r.out.reserve(list.size() + list.size() / 4);
    std::map<Arm, std::vector<Stmt>> bodies;
    for (size_t k = 0; k < list.size(); ++k) {
      if (list[k].result >= 0) r.known_at[list[k].result] = k + 1;
      if (r.of[k] != kNoArm) bodies[r.of[k]].push_back(std::move(list[k]));
    }
    for (size_t k = 0; k < list.size(); ++k) {
      if (r.of[k] != kNoArm) continue;
      if (is_choice(list[k])) {
        auto first = bodies.extract(arm_of(list[k], 1)), second = bodies.extract(arm_of(list[k], 2));
        if (first) branch(r, k, first.key(), std::move(first.mapped()), !second);
        if (second) branch(r, k, second.key(), std::move(second.mapped()), true);
      }
      if (r.of[k] == kNoArm) r.out.push_back(std::move(list[k]));
    }
    list = std::move(r.out);
  }

  // The branch of an arm before choice k, the first on the condition. The choices go into it, if it is the `last` of their arms that does
  // and what they have else is known here; for others there is a register with the arm's value.
  void branch(Rewrite& r, size_t k, Arm arm, std::vector<Stmt> body, bool last) {
    const size_t i = operand_of(arm);
    ValueId condition = arm / 2;
    if (i == 2) {
      condition = fresh(values_[arm / 2]);
      r.out.push_back({.kind = StmtKind::Let, .op = Op::Not, .result = condition, .args = {arm / 2}});
    }
    std::vector<Stmt> sets, gets;
    const auto keep = [&](ValueId value, ValueId otherwise, ValueId result) {
      const ValueId var = fresh(values_[value]);
      r.out.push_back({.kind = StmtKind::Var, .result = var, .args = {otherwise}});
      sets.push_back({.kind = StmtKind::Set, .args = {var, value}});
      gets.push_back({.kind = StmtKind::Let, .op = Op::Get, .result = result, .args = {var}});
    };
    std::map<ValueId, ValueId> taken;  // of the body's values what stands for them behind it
    for (const Stmt& s : body) taken[s.result] = -1;
    for (size_t j = k; j < r.list.size(); ++j) {
      Stmt& choice = r.list[j];
      if (r.of[j] != kNoArm || !is_choice(choice) || choice.args[0] != arm / 2 || !taken.contains(choice.args[i])) continue;
      const ValueId value = choice.args[i], other = choice.args[3 - i];
      const auto known = r.known_at.find(other);
      if (last && (known == r.known_at.end() || known->second <= k)) {
        const ValueId result = std::exchange(choice.result, fresh(values_[value]));
        sets.push_back(choice);
        keep(choice.result, other, result);
        r.of[j] = arm;
        continue;
      }
      ValueId& stand_in = taken[value];
      if (stand_in < 0) {
        const ValueId zero = fresh(values_[value]);
        r.out.push_back({.kind = StmtKind::Let, .op = Op::Const, .result = zero});
        keep(value, zero, stand_in = fresh(values_[value]));
      }
      choice.args[i] = stand_in;
    }
    straight(body);
    std::ranges::move(sets, std::back_inserter(body));
    Stmt header{.kind = StmtKind::If, .args = {condition}};
    header.body = std::move(body);
    r.out.push_back(std::move(header));
    std::ranges::move(gets, std::back_inserter(r.out));
  }

  ValueId fresh(ir::VType type) {
    values_.push_back(type);
    uses_.push_back(0);
    return static_cast<ValueId>(values_.size() - 1);
  }

  const ir::LoopTree& given_;
  std::vector<ir::VType> values_;  // their types, the new ones too
  std::vector<int> uses_ = std::vector<int>(values_.size());
  std::vector<Use> list_uses_;  // of nodes_of, by value: those of the list at hand count
};

}  // namespace

std::optional<ir::LoopTree> branch_around_arms(const ir::LoopTree& tree) {
  return may_have_arms(tree) ? Brancher(tree).run() : std::nullopt;
}

}  // namespace tenon::passes
