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
#include <utility>

namespace tenon::passes {
namespace {

using ir::Op, ir::Stmt, ir::StmtKind, ir::ValueId;

// In additions of vectors of f32. A branch that is mispredicted costs some tens; the least other way is to be more than a value at hand,
// which stands for arguments that are hardly ever met, such as 0 or nan.
constexpr double kLongArm = 32, kLeastOther = 4;

// 2 * condition for the second operand of all choices on it, and one more for the third.
using Arm = int32_t;
constexpr Arm kNoArm = -1, kUnused = -2;
Arm arm_of(const Stmt& choice, size_t operand) { return 2 * choice.args[0] + static_cast<Arm>(operand) - 1; }
size_t operand_of(Arm arm) { return static_cast<size_t>(arm % 2) + 1; }

bool is_choice(const Stmt& s) { return s.kind == StmtKind::Let && s.op == Op::Where; }
bool may_move(const Stmt& s) { return s.kind == StmtKind::Let && ir::is_elementwise(s.op) && s.op != Op::Check && s.op != Op::Const; }

class Brancher {
 public:
  explicit Brancher(const ir::LoopTree& tree) : tree_(tree) {}

  std::optional<ir::LoopTree> run() {
    for (ir::Phase& phase : tree_.phases) {
      uses_.assign(tree_.values.size(), 0);
      count_uses(phase.body);
      block(phase.body);
    }
    if (!changed_) return std::nullopt;
    return std::move(tree_);
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

  void block(std::vector<Stmt>& list) {
    for (Stmt& s : list) {
      block(s.body);
      block(s.orelse);
    }
    straight(list);
  }

  double cost(const Stmt& s) const {
    const ir::VType type = tree_.values[s.args.empty() ? s.result : s.args[0]], result = tree_.values[s.result];
    if (ir::is_int(type.dtype) && (s.op == Op::Div || s.op == Op::Gcd)) return kLongArm;  // lane by lane
    return ir::info(s.op).cost * std::max(1.0, std::max(ir::item_size(type.dtype), ir::item_size(result.dtype)) / 4.0);
  }

  // --- which statements belong to which arm

  struct Arms {
    std::vector<Arm> of;        // by statement
    std::vector<double> costs;  // by arm
  };

  // A statement belongs to an arm if all that uses it does, or is a choice that has it there, and if it stands before all these choices.
  // Choices on `plain` conditions are operations like others.
  Arms find_arms(const std::vector<Stmt>& list, const std::vector<bool>& plain) const {
    struct Use {
      Arm by = kUnused;
      int count = 0;
      size_t first = 0;  // choice on it
    };
    Arms arms{std::vector<Arm>(list.size(), kNoArm), std::vector<double>(2 * tree_.values.size())};
    std::vector<Use> used(tree_.values.size());
    for (size_t k = list.size(); k-- > 0;) {
      if (is_choice(list[k])) used[list[k].args[0]].first = k;
    }
    for (size_t k = list.size(); k-- > 0;) {
      const Stmt& s = list[k];
      if (may_move(s)) {
        const Use& use = used[s.result];
        if (use.by >= 0 && use.count == uses_[s.result] && k < used[use.by / 2].first) {
          arms.of[k] = use.by;
          arms.costs[use.by] += cost(s);
        }
      }
      for (size_t i = 0; i < s.args.size(); ++i) {
        const bool chosen = arms.of[k] == kNoArm && i > 0 && is_choice(s) && !plain[s.args[0]];
        const Arm by = chosen ? arm_of(s, i) : arms.of[k];
        Use& use = used[s.args[i]];
        use.by = use.by == kUnused || use.by == by ? by : kNoArm;
        ++use.count;
      }
    }
    return arms;
  }

  static bool is_worth_it(const Arms& arms, Arm arm) { return arms.costs[arm] >= kLongArm && arms.costs[arm ^ 1] >= kLeastOther; }

  // Arms that are not worth a branch are given up, as there may be others within.
  Arms arms_of(const std::vector<Stmt>& list) const {
    constexpr int rounds = 8;
    std::vector<bool> plain(tree_.values.size());
    for (int round = 1;; ++round) {
      Arms arms = find_arms(list, plain);
      bool given_up = false;
      for (Arm& arm : arms.of) {
        if (arm == kNoArm || is_worth_it(arms, arm)) continue;
        if (!is_worth_it(arms, arm ^ 1)) plain[arm / 2] = given_up = true;
        arm = kNoArm;
      }
      if (!given_up || round == rounds) return arms;
    }
  }

  // --- the branches

  // A list while its arms go behind branches.
  struct Rewrite {
    std::vector<Stmt>& list;
    std::vector<Arm> of;           // by statement
    std::vector<size_t> known_at;  // by value: from which statement on
    std::vector<Stmt> out = {};
  };

  void straight(std::vector<Stmt>& list) {
    double all = 0;
    for (const Stmt& s : list) all += may_move(s) ? cost(s) : 0;
    if (all < kLongArm || std::ranges::none_of(list, is_choice)) return;
    Rewrite r{list, arms_of(list).of, std::vector<size_t>(tree_.values.size(), 0)};
    if (std::ranges::all_of(r.of, [](Arm arm) { return arm == kNoArm; })) return;
    changed_ = true;
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
      condition = fresh(tree_.values[arm / 2]);
      r.out.push_back({.kind = StmtKind::Let, .op = Op::Not, .result = condition, .args = {arm / 2}});
    }
    std::vector<Stmt> sets, gets;
    const auto keep = [&](ValueId value, ValueId otherwise, ValueId result) {
      const ValueId var = fresh(tree_.values[value]);
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
      if (last && (static_cast<size_t>(other) >= r.known_at.size() || r.known_at[other] <= k)) {
        const ValueId result = std::exchange(choice.result, fresh(tree_.values[value]));
        sets.push_back(choice);
        keep(choice.result, other, result);
        r.of[j] = arm;
        continue;
      }
      ValueId& stand_in = taken[value];
      if (stand_in < 0) {
        const ValueId zero = fresh(tree_.values[value]);
        r.out.push_back({.kind = StmtKind::Let, .op = Op::Const, .result = zero});
        keep(value, zero, stand_in = fresh(tree_.values[value]));
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
    tree_.values.push_back(type);
    uses_.push_back(0);
    return static_cast<ValueId>(tree_.values.size() - 1);
  }

  ir::LoopTree tree_;
  std::vector<int> uses_;  // of each value in the phase
  bool changed_ = false;
};

bool has_choice(const std::vector<Stmt>& list) {
  return std::ranges::any_of(
      list, [](const Stmt& s) { return (s.kind == StmtKind::Let && s.op == Op::Where) || has_choice(s.body) || has_choice(s.orelse); });
}

}  // namespace

std::optional<ir::LoopTree> branch_around_arms(const ir::LoopTree& tree) {
  if (std::ranges::none_of(tree.phases, [](const ir::Phase& phase) { return has_choice(phase.body); })) return std::nullopt;
  return Brancher(tree).run();
}

}  // namespace tenon::passes
