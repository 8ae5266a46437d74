// Which loop computes what, backwards from what needs it; see loops.h.
#include "passes/schedule/loops.h"

#include <algorithm>
#include <set>

namespace tenon::passes {

ReduceLoops plan_loops(const ir::Kernel& kernel, const std::function<bool(Value)>& keep) {
  ReduceLoops plan;
  size_t count = kernel.instrs.size();
  plan.available.assign(count, 0);
  for (size_t v = 0; v < count; ++v) {
    const Instr& in = kernel.instrs[v];
    int available = 0;
    for (Value a : in.args) available = std::max(available, plan.available[a]);
    if (ir::is_reduce(in.op) || ir::is_scan(in.op)) ++available;
    plan.available[v] = available;
    plan.loops = std::max(plan.loops, available + (in.op == Op::Store && in.level == Level::Full ? 1 : 0));
  }
  auto loops = static_cast<size_t>(plan.loops);
  plan.full.resize(loops);
  plan.reductions.resize(loops);
  plan.carried_in.resize(loops);
  plan.rows.resize(loops + 1);

  std::vector<uint64_t> needed(count, 0), computed(count, 0);  // bit l: loop l
  for (size_t v = count; v-- > 0;) {
    const Instr& in = kernel.instrs[v];
    if (ir::is_reduce(in.op) || ir::is_scan(in.op)) {
      needed[in.args[0]] |= uint64_t{1} << (plan.available[v] - 1);
      continue;
    }
    if (in.level != Level::Full) continue;
    if (in.op == Op::Store) needed[v] = uint64_t{1} << plan.available[v];
    uint64_t first = needed[v] & (~needed[v] + 1);
    computed[v] = first == needed[v] || (keep && keep(static_cast<Value>(v))) ? first : needed[v];
    for (Value a : in.args) needed[a] |= computed[v];
  }
  for (size_t v = 0; v < count; ++v) {
    const Instr& in = kernel.instrs[v];
    auto value = static_cast<Value>(v);
    if (ir::is_reduce(in.op) || ir::is_scan(in.op)) {
      plan.reductions[static_cast<size_t>(plan.available[v]) - 1].push_back(value);
    }
    if (ir::is_reduce(in.op)) continue;
    if (in.level != Level::Full) {
      if (in.op != Op::Const && in.op != Op::Scalar) plan.rows[plan.available[v]].push_back(value);
    } else {
      uint64_t carried = needed[v] & ~computed[v];
      if (carried != 0) plan.carried.push_back(value);
      for (size_t l = 0; l < loops; ++l) {
        if ((computed[v] >> l & 1) != 0) plan.full[l].push_back(value);
        if ((carried >> l & 1) != 0) plan.carried_in[l].push_back(value);
      }
    }
  }
  return plan;
}

std::vector<bool> costly_values(const ir::Kernel& kernel) {
  constexpr int kCheap = 4, kCostly = 1 << 20;  // add-equivalents
  std::vector<int> costs(kernel.instrs.size(), 0);
  std::vector<bool> costly(kernel.instrs.size(), false);
  for (size_t v = 0; v < costs.size(); ++v) {
    const Instr& instr = kernel.instrs[v];
    if (instr.level != Level::Full || !ir::is_elementwise(instr.op)) continue;
    int full_operands = 0;
    costs[v] = ir::info(instr.op).cost;
    for (Value arg : instr.args) {
      if (kernel.instr(arg).level != Level::Full) continue;
      ++full_operands;
      costs[v] = std::min(kCostly, costs[v] + costs[arg]);
    }
    if (full_operands > 1) costs[v] = kCostly;
    costly[v] = costs[v] > kCheap;
  }
  return costly;
}

std::vector<Value> ReduceLoops::values_after(const ir::Kernel& kernel, int l) const {
  const auto needed = [&](Value v) {
    for (size_t u = static_cast<size_t>(v) + 1; u < kernel.instrs.size(); ++u) {
      const Instr& in = kernel.instrs[u];
      const bool later = in.level == Level::Full || ir::is_reduce(in.op) || available[u] > l + 1;
      if (later && std::ranges::find(in.args, v) != in.args.end()) return true;
    }
    return false;
  };
  std::vector<Value> values = reductions[l];
  const std::vector<Value>& after = rows[static_cast<size_t>(l) + 1];
  values.insert(values.end(), after.begin(), after.end());
  std::erase_if(values, [&](Value v) { return kernel.instr(v).op == Op::Store || !needed(v); });
  return values;
}

namespace {

// How many input buffers each value is computed from, and whether `buffer` is one of them.
struct Sources {
  std::vector<std::set<int>> of;
  explicit Sources(const ir::Kernel& kernel) : of(kernel.instrs.size()) {
    for (size_t v = 0; v < of.size(); ++v) {
      const Instr& in = kernel.instrs[v];
      if (in.op == Op::Load) of[v].insert(in.slot);
      if (ir::is_reduce(in.op) || in.op == Op::Contract) continue;  // of those an element depends on many
      for (const Value arg : in.args) of[v].insert(of[static_cast<size_t>(arg)].begin(), of[static_cast<size_t>(arg)].end());
    }
  }
};

template <typename Accepts>
std::vector<std::pair<int, int>> pairs_where(const ir::Kernel& kernel, const Accepts& accepts) {
  struct Pair {
    size_t store;
    int out, in;
    size_t rank = 0;
  };
  std::vector<Pair> pairs;
  for (size_t s = 0; s < kernel.instrs.size(); ++s) {
    const Instr& store = kernel.instrs[s];
    if (store.op != Op::Store || !store.guards.empty() || store.scale != 0) continue;
    // What is updated starts as its base, not as another input.
    if (kernel.buffer(store.slot).role != ir::Role::Out || !accepts(s)) continue;
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      const ir::KernelBuffer& in = kernel.buffers[b];
      const ir::KernelBuffer& out = kernel.buffer(store.slot);
      if (in.role != ir::Role::In || in.numel != out.numel || ir::item_size(in.dtype) != ir::item_size(out.dtype)) continue;
      bool same = std::ranges::all_of(kernel.instrs, [&](const Instr& i) {
        return i.op != Op::Load || i.slot != static_cast<int>(b) ||
               (i.index == store.index && i.guards.empty() && i.scale == 0 && i.level == store.level);
      });
      if (same) pairs.push_back({s, store.slot, static_cast<int>(b)});
    }
  }
  if (pairs.size() > 1) {
    const Sources sources(kernel);
    for (Pair& pair : pairs) {
      const std::set<int>& of = sources.of[pair.store];
      pair.rank = of.contains(pair.in) ? of.size() : kernel.buffers.size() + 1;
    }
    std::ranges::stable_sort(pairs, [](const Pair& a, const Pair& b) { return a.rank < b.rank; });
  }
  std::vector<std::pair<int, int>> result;
  for (const Pair& pair : pairs) result.emplace_back(pair.out, pair.in);
  return result;
}

}  // namespace

std::vector<std::pair<int, int>> in_place_pairs(const ir::Kernel& kernel, const ReduceLoops& plan) {
  return pairs_where(kernel, [&](size_t s) {
    // A store before the last loop could be read again by a later one.
    return !kernel.has(Level::Full) || (kernel.instrs[s].level == Level::Full && plan.available[s] == plan.loops - 1);
  });
}

std::vector<std::pair<int, int>> in_place_results(const ir::Kernel& kernel, const ReduceLoops& plan) {
  // Threads of the same row that store nothing may read what is stored there already: no note and no address may come of that.
  const auto acts = [](const Instr& in) { return in.op == Op::Check || (in.op == Op::Load && in.scale != 0); };
  if (std::ranges::any_of(kernel.instrs, acts)) return {};
  // An element of the row may not come of it either; elements after a reduction are in another loop. Only a reduction makes the threads
  // of a row wait for each other: a store before it may come before another thread's load.
  const bool reduces = std::ranges::any_of(kernel.instrs, [](const Instr& in) { return ir::is_reduce(in.op); });
  return pairs_where(kernel, [&](size_t s) {
    if (kernel.instrs[s].level != Level::Row) return false;
    return reduces ? plan.available[s] > 0 && (plan.loops == 1 || !kernel.has(Level::Full)) : !kernel.has(Level::Full);
  });
}

}  // namespace tenon::passes
