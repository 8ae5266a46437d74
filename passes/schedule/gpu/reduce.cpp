// Passes of the GPU schedules over a row; see reduce.h.
#include "passes/schedule/gpu/reduce.h"

#include <algorithm>
#include <limits>

namespace tenon::passes::gpu {

using ir::DType;
using ir::Level;
using ir::Op;
using ir::Value;
using ir::ValueId;

namespace {

constexpr int kCheap = 4;  // add-equivalents: what costs no more is computed again rather than kept
constexpr int kDear = 1 << 20;

const ir::Instr& at(const ir::Kernel& kernel, Value v) { return kernel.instr(v); }

// For each value, what it costs to compute from one load: chains of cheap ops on a single element value.
std::vector<int> costs_from_load(const ir::Kernel& kernel) {
  std::vector<int> costs(kernel.instrs.size(), 0);
  for (size_t v = 0; v < costs.size(); ++v) {
    const ir::Instr& instr = kernel.instrs[v];
    if (instr.level != Level::Full || !ir::is_elementwise(instr.op)) continue;
    int full_operands = 0;
    costs[v] = ir::info(instr.op).cost;
    for (Value arg : instr.args) {
      if (at(kernel, arg).level != Level::Full) continue;
      ++full_operands;
      costs[v] = std::min(kDear, costs[v] + costs[static_cast<size_t>(arg)]);
    }
    if (full_operands > 1) costs[v] = kDear;
  }
  return costs;
}

// The number of reductions, one after another, that each value waits for.
std::vector<int> rounds_of(const ir::Kernel& kernel) {
  std::vector<int> rounds(kernel.instrs.size(), 0);
  for (size_t v = 0; v < rounds.size(); ++v) {
    const ir::Instr& instr = kernel.instrs[v];
    for (Value arg : instr.args) rounds[v] = std::max(rounds[v], rounds[static_cast<size_t>(arg)]);
    if (ir::is_reduce(instr.op)) ++rounds[v];
  }
  return rounds;
}

bool holds(const std::vector<Value>& list, Value v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

// Adds what the marked values are made of, down to the results of reductions.
void close_over_operands(const ir::Kernel& kernel, std::vector<bool>& marked) {
  for (size_t v = marked.size(); v-- > 0;) {
    if (!marked[v] || ir::is_reduce(kernel.instrs[v].op)) continue;
    for (Value arg : kernel.instrs[v].args) marked[static_cast<size_t>(arg)] = true;
  }
}

}  // namespace

std::vector<Pass> plan_passes(const ir::Kernel& kernel, bool keep) {
  const std::vector<int> rounds = rounds_of(kernel);
  const std::vector<int> costs = costs_from_load(kernel);
  const size_t count = kernel.instrs.size();
  const int last = rounds.empty() ? 0 : *std::max_element(rounds.begin(), rounds.end());
  std::vector<Pass> passes(static_cast<size_t>(last) + 1);
  for (size_t v = 0; v < count; ++v) {
    const ir::Instr& instr = kernel.instrs[v];
    if (ir::is_reduce(instr.op)) {
      passes[static_cast<size_t>(rounds[v]) - 1].reductions.push_back(static_cast<Value>(v));
    } else if (instr.op == Op::Store) {
      Pass& pass = passes[static_cast<size_t>(rounds[v])];
      (instr.level == Level::Full ? pass.full_stores : pass.row_stores).push_back(static_cast<Value>(v));
    }
  }
  for (size_t p = 0; p < passes.size(); ++p) {
    Pass& pass = passes[p];
    pass.full_values.assign(count, false);
    pass.row_values.assign(count, false);
    const auto need = [&](Value v) {
      const ir::Instr& instr = at(kernel, v);
      if (instr.level != Level::Full) {
        pass.row_values[static_cast<size_t>(v)] = true;
        return;
      }
      const bool costly = instr.op == Op::Load || costs[static_cast<size_t>(v)] > kCheap;
      const auto source =
          std::find_if(passes.begin(), passes.begin() + static_cast<ptrdiff_t>(p),
                       [&](Pass& earlier) { return earlier.full_values[static_cast<size_t>(v)]; });
      if (keep && costly && source != passes.begin() + static_cast<ptrdiff_t>(p)) {
        if (!holds(pass.restored, v)) pass.restored.push_back(v);
        if (!holds(source->kept, v)) source->kept.push_back(v);
      } else {
        pass.full_values[static_cast<size_t>(v)] = true;
      }
    };
    for (Value v : pass.reductions) need(at(kernel, v).args[0]);
    for (Value v : pass.full_stores) need(v);
    for (size_t v = count; v-- > 0;) {
      if (!pass.full_values[v]) continue;
      for (Value arg : kernel.instrs[v].args) need(arg);
    }
    close_over_operands(kernel, pass.row_values);
    pass.store_values.assign(count, false);
    for (Value v : pass.row_stores) {
      for (Value arg : at(kernel, v).args) pass.store_values[static_cast<size_t>(arg)] = true;
    }
    close_over_operands(kernel, pass.store_values);
  }
  return passes;
}

Reducer reducer(Context& context, Value reduction) {
  const ir::Instr& instr = at(context.kernel, reduction);
  return {context.b, instr, at(context.kernel, instr.args[0]).dtype,
          [&context](ir::Constant value, int) { return context.constant(value); }};
}

}  // namespace tenon::passes::gpu
