// Reductions along columns on a GPU: neighbouring threads take neighbouring columns, so that each step down
// reads a row; a thread walks its column in the order of ir/kernel.h's Columns tree, blocks of 256 elements
// one after another.
//
//   if column < s1 {
//     total = 0
//     for b in 0..s2 step 256 { acc = 0; for e in b..min(b + 256, s2) { acc += load x[s3*e + column] }; total
//     += acc } store y[column], total
//   }
#include "passes/schedule_gpu_reduce.h"

namespace tenon::passes::gpu {

using ir::Op;
using ir::Value;
using ir::ValueId;

namespace {

class ColumnLowering {
 public:
  ColumnLowering(const ir::Kernel& kernel, const GpuTarget& target)
      : kernel_(kernel),
        context_(kernel, "columns", target.threads),
        threads_(target.threads),
        inner_axes_(axes_of(kernel, ir::AxisKind::Inner)),
        passes_(plan_passes(kernel, false)) {}

  Lowered run() {
    const int64_t columns = kernel_.extent_of(ir::AxisKind::Parallel);
    context_.begin_phase("columns", ceil_div(columns, threads_));
    const ValueId column = context_.item();
    const bool ragged = columns % threads_ != 0;
    if (ragged) context_.begin_if(context_.less(column, context_.size(SizeRole::Points, 0, columns)));
    context_.bind_flat(axes_of(kernel_, ir::AxisKind::Parallel), column);
    for (const Pass& pass : passes_) {
      context_.lower(pass.row_values);
      context_.lower(pass.store_values);
      for (Value v : pass.row_stores) context_.lower(v);
      if (pass.walks()) walk(pass);
    }
    if (ragged) context_.end_if();
    context_.end_phase();
    return std::move(context_.out);
  }

 private:
  using Registers = std::vector<State>;  // mutable registers of each reduction of a pass

  Registers start(const Pass& pass) {
    Registers registers;
    for (Value v : pass.reductions) {
      State state;
      for (ValueId part : reducer(context_, v).identity()) state.push_back(context_.b.var(part));
      registers.push_back(state);
    }
    return registers;
  }

  State read(const State& registers) {
    State state;
    for (ValueId part : registers) state.push_back(context_.b.get(part));
    return state;
  }

  void combine(Value reduction, const State& registers, const State& next) {
    const State state = reducer(context_, reduction).combine(read(registers), next);
    for (size_t i = 0; i < state.size(); ++i) context_.b.set(registers[i], state[i]);
  }

  void walk(const Pass& pass) {
    const ValueId elements = context_.size(SizeRole::Points, 1, kernel_.extent_of(ir::AxisKind::Inner));
    const Registers totals = start(pass);
    for (size_t v = 0; v < pass.full_values.size(); ++v) {
      if (pass.full_values[v]) context_.hoist(kernel_.instrs[v]);
    }
    const ValueId block = context_.begin_for(context_.number(0), elements, ir::kColumnBlock);
    const Registers sums = start(pass);
    const ValueId end =
        context_.b.op(Op::Min, {elements, context_.add(block, context_.number(ir::kColumnBlock))});
    const ValueId position = context_.begin_for(block, end, 1);
    context_.bind_flat(inner_axes_, position);
    context_.lower(pass.full_values);
    for (size_t r = 0; r < pass.reductions.size(); ++r) {
      const Value v = pass.reductions[r];
      State next{context_.value(kernel_.instrs[static_cast<size_t>(v)].args[0])};
      if (reducer(context_, v).has_position()) {
        const bool wide = context_.b.type(position).dtype == ir::DType::I64;
        next.push_back(wide ? position : context_.b.op(Op::Cast, {position}, ir::DType::I64));
      }
      combine(v, sums[r], next);
    }
    context_.end_for();
    for (size_t r = 0; r < pass.reductions.size(); ++r) combine(pass.reductions[r], totals[r], read(sums[r]));
    context_.end_for();
    for (size_t r = 0; r < pass.reductions.size(); ++r) {
      const Value v = pass.reductions[r];
      context_.bind(v, reducer(context_, v).result(read(totals[r])));
    }
  }

  const ir::Kernel& kernel_;
  Context context_;
  int64_t threads_;
  std::vector<int> inner_axes_;
  std::vector<Pass> passes_;
};

}  // namespace

Lowered lower_columns(const ir::Kernel& kernel, const GpuTarget& target) {
  return ColumnLowering(kernel, target).run();
}

}  // namespace tenon::passes::gpu
