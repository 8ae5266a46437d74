// Reductions along columns on a GPU: neighbouring threads take neighbouring columns, so that each step down
// reads a row; a column is walked in the order of ir/kernel.h's Columns tree, blocks of 256 elements one
// after another.
//
//   columns   a thread takes a column:
//               if column < s1 {
//                 total = 0
//                 for b in 0..s2 step 256 {
//                   acc = 0; for e in b..min(b + 256, s2) { acc += x[s3*e + column] }; total += acc }
//                 store y[column], total
//               }
//   split     few columns, long: a thread takes one block of a column and writes its value to global memory;
//             in a second phase a thread takes a column and adds the block values. One such pair for each
//             pass that reduces.
#include "passes/schedule/gpu/reduce.h"

namespace tenon::passes::gpu {

using ir::Op;
using ir::Value;
using ir::ValueId;

namespace {

constexpr int64_t kManyColumns = 1 << 14;  // that fill a GPU with a thread each
constexpr int64_t kSplitBlocks = 4;        // shorter columns are not worth a second launch

class ColumnLowering {
 public:
  ColumnLowering(const ir::Kernel& kernel, const ir::GpuTarget& target)
      : kernel_(kernel),
        columns_(kernel.extent_of(ir::AxisKind::Parallel)),
        elements_(kernel.extent_of(ir::AxisKind::Inner)),
        blocks_(ceil_div(elements_, ir::kColumnBlock)),
        split_(columns_ < kManyColumns && blocks_ >= kSplitBlocks),
        context_(kernel, split_ ? "split" : "columns", target.threads),
        parallel_(ir::axes_of(kernel, ir::AxisKind::Parallel)),
        inner_(ir::axes_of(kernel, ir::AxisKind::Inner)),
        passes_(plan_passes(kernel, false)) {}

  Lowered run() {
    if (split_) {
      split_program();
    } else {
      whole_program();
    }
    return std::move(context_.out);
  }

 private:
  using Registers = std::vector<Accumulator>;  // mutable registers of each reduction of a pass

  // A phase with a thread for each of `count` items; the thread's item is known inside.
  template <typename Body>
  void phase(const std::string& name, SizeRole role, int64_t count, const Body& body) {
    const int64_t threads = context_.out.tree.threads;
    context_.begin_phase(name, ceil_div(count, threads));
    const ValueId item = context_.item();
    const bool ragged = count % threads != 0;
    if (ragged) context_.begin_if(context_.less(item, context_.size(role, 0, count)));
    body(item);
    if (ragged) context_.end_if();
    context_.end_phase();
  }

  Registers start(const Pass& pass) {
    Registers registers;
    for (Value v : pass.reductions) {
      Reducer reduce = reducer(context_, v);
      registers.push_back(reduce.open(reduce.identity()));
    }
    return registers;
  }

  void combine(Value reduction, Accumulator registers, Accumulator next) {
    Reducer reduce = reducer(context_, reduction);
    reduce.write(registers, reduce.combine(reduce.read(registers), next));
  }

  void finish(const Pass& pass, const Registers& totals) {
    for (size_t r = 0; r < pass.reductions.size(); ++r) {
      const Value v = pass.reductions[r];
      Reducer reduce = reducer(context_, v);
      context_.bind(v, reduce.result(reduce.read(totals[r])));
    }
  }

  void store_row(const Pass& pass) {
    context_.lower(pass.store_values);
    for (Value v : pass.row_stores) context_.lower(v);
  }

  void hoist(const Pass& pass) {
    for (size_t v = 0; v < pass.full_values.size(); ++v) {
      if (pass.full_values[v]) context_.hoist(kernel_.instrs[v]);
    }
  }

  ValueId element_count() { return context_.size(SizeRole::Points, 1, elements_); }

  // One block of a column, which begins at element `begin`, into fresh registers.
  Registers block(const Pass& pass, ValueId begin) {
    const Registers sums = start(pass);
    const ValueId all = element_count();
    const ValueId end = context_.add(begin, context_.number(ir::kColumnBlock));
    const ValueId position = context_.begin_for(begin, context_.b.op(Op::Min, {all, end}), 1);
    context_.bind_flat(inner_, position);
    context_.lower(pass.full_values);
    for (size_t r = 0; r < pass.reductions.size(); ++r) {
      const Value v = pass.reductions[r];
      Accumulator next{context_.value(kernel_.instr(v).args[0]), -1};
      if (reducer(context_, v).has_index()) {
        const bool wide = context_.b.type(position).dtype == ir::DType::I64;
        next.index = wide ? position : context_.b.op(Op::Cast, {position}, ir::DType::I64);
      }
      combine(v, sums[r], next);
    }
    context_.end_for();
    return sums;
  }

  void whole_program() {
    phase("columns", SizeRole::Points, columns_, [&](ValueId column) {
      context_.bind_flat(parallel_, column);
      for (const Pass& pass : passes_) {
        context_.lower(pass.row_values);
        store_row(pass);
        if (!pass.walks()) continue;
        const Registers totals = start(pass);
        hoist(pass);
        const ValueId begin = context_.begin_for(context_.number(0), element_count(), ir::kColumnBlock);
        const Registers sums = block(pass, begin);
        for (size_t r = 0; r < pass.reductions.size(); ++r)
          combine(pass.reductions[r], totals[r], reducer(context_, pass.reductions[r]).read(sums[r]));
        context_.end_for();
        finish(pass, totals);
      }
    });
  }

  void split_program() {
    const int32_t all = context_.size_slot(SizeRole::Scratch, 0, columns_ * blocks_);
    const int32_t each = context_.size_slot(SizeRole::Scratch, 1, columns_);
    for (const Pass& pass : passes_) {
      for (Value v : pass.reductions) {
        const std::string number = std::to_string(v);
        partials_[v] =
            reducer(context_, v).buffers("blocks" + number, ir::Space::Global, all, 0);
        results_[v] = context_.b.add_buffer(
            {"result" + number, kernel_.instr(v).dtype, ir::Space::Global, each, 0});
      }
    }
    for (size_t p = 0; p < passes_.size(); ++p) {
      if (passes_[p].walks()) split_blocks(p);
      if (!passes_[p].reductions.empty()) split_columns(p);
    }
  }

  // In a split program a column's values live as long as a phase: earlier results come from global memory.
  void bind_results(const std::vector<bool>& wanted, ValueId column) {
    for (const auto& [v, buffer] : results_) {
      if (wanted[static_cast<size_t>(v)] && !context_.bound(v)) {
        context_.bind(v, context_.b.load(buffer, column, 1));
      }
    }
  }

  void split_blocks(size_t p) {
    const Pass& pass = passes_[p];
    phase("blocks" + std::to_string(p), SizeRole::Blocks, columns_ * blocks_, [&](ValueId item) {
      const ValueId columns = context_.size(SizeRole::Points, 0, columns_);
      const ValueId column = context_.rem(item, columns);
      context_.bind_flat(parallel_, column);
      bind_results(pass.row_values, column);
      context_.lower(pass.row_values);
      hoist(pass);
      const ValueId number = context_.div(item, columns);
      const Registers sums = block(pass, context_.mul(number, context_.number(ir::kColumnBlock)));
      for (size_t r = 0; r < pass.reductions.size(); ++r) {
        Reducer reduce = reducer(context_, pass.reductions[r]);
        reduce.store(partials_.at(pass.reductions[r]), item, reduce.read(sums[r]));
      }
    });
  }

  void split_columns(size_t p) {
    const Pass& pass = passes_[p];
    phase("columns" + std::to_string(p), SizeRole::Points, columns_, [&](ValueId column) {
      context_.bind_flat(parallel_, column);
      const Registers totals = start(pass);
      const ValueId count = context_.size(SizeRole::Blocks, 1, blocks_);
      const ValueId number = context_.begin_for(context_.number(0), count, 1);
      const ValueId row = context_.mul(number, context_.size(SizeRole::Points, 0, columns_));
      const ValueId place = context_.add(row, column);
      for (size_t r = 0; r < pass.reductions.size(); ++r) {
        const Value v = pass.reductions[r];
        combine(v, totals[r], reducer(context_, v).load(partials_.at(v), place));
      }
      context_.end_for();
      finish(pass, totals);
      for (Value v : pass.reductions) context_.b.store(results_.at(v), column, context_.value(v));
      // Stores that wait for no reduction go with the first pass.
      for (size_t due = p == 0 ? 0 : p + 1; due <= p + 1; ++due) {
        bind_results(passes_[due].store_values, column);
        store_row(passes_[due]);
      }
    });
  }

  const ir::Kernel& kernel_;
  int64_t columns_, elements_, blocks_;
  bool split_;
  Context context_;
  std::vector<int> parallel_, inner_;
  std::vector<Pass> passes_;
  std::map<Value, AccumulatorBuffers> partials_;  // split: block values
  std::map<Value, int32_t> results_;       // split: one value a column
};

}  // namespace

Lowered lower_columns(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  return ColumnLowering(kernel, target).run();
}

}  // namespace tenon::passes::gpu
