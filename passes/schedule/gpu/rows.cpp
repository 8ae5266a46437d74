// Reductions along rows on a GPU. The 64 virtual lanes of ir/kernel.h's tree are the 32 threads of a warp
// with two accumulators each: element i of a row goes to accumulator (i / 32) mod 2 of thread i mod 32, so
// the first halving of the tree happens inside a thread and the other five by shuffles, without barriers. The
// passes over a row (softmax has three) become three shapes of program:
//
//   rows, short   one block of the tree a row: a warp takes a row. Up to 1024 elements, what a later pass
//                 needs again stays in registers.
//                   if row < s2 {
//                     for j in 0..8 step 2 unroll { for half in 0..2 unroll { ... acc[half] += x } } fold }
//   rows, long    several blocks of the tree a row: a CUDA block takes a row, its warps take the tree's
//                 blocks in turn, and each warp folds all block values, which stand in shared memory.
//   split         few rows, very long: a warp takes one block of the tree and writes its value to global
//                 memory; a second phase gives each row a warp that folds them. One such pair for each pass
//                 that reduces.
#include <algorithm>

#include "passes/schedule/gpu/reduce.h"

namespace tenon::passes::gpu {

using ir::Op;
using ir::Value;
using ir::ValueId;

namespace {

constexpr int64_t kLanes = ir::kReduceLanes;
constexpr int64_t kMaxRegisterRow = 1024;  // elements whose values may stay in registers: 32 a thread
constexpr int kMaxKept = 3;                // values of each element that may stay in registers
constexpr int64_t kMaxShared = 1024;       // block values of a row that stand in shared memory
constexpr int64_t kSplitBlocks = 16;       // rows with fewer blocks than this are not worth a second launch
constexpr int64_t kFewRows = 64;           // too few rows to fill a GPU with a CUDA block each

// The blocks of the tree over one row, see ReduceTree::Lanes. `inner` is the extent that lanes run along,
// `outer` the product of the other inner axes.
struct RowShape {
  int64_t rows, outer, inner, blocks, chunks, outer_per_block;
  bool chunked;  // blocks are pieces of one inner run, not groups of whole ones

  explicit RowShape(const ir::Kernel& kernel) {
    rows = kernel.extent_of(ir::AxisKind::Parallel);
    const std::vector<int> axes = ir::axes_of(kernel, ir::AxisKind::Inner);
    inner = axes.empty() ? 1 : kernel.extent(axes.back());
    outer = 1;
    for (size_t i = 0; i + 1 < axes.size(); ++i) outer *= kernel.extent(axes[i]);
    chunked = inner >= ir::kLaneBlock;
    chunks = chunked ? ceil_div(inner, ir::kLaneBlock) : 1;
    outer_per_block = chunked ? 1 : std::max<int64_t>(1, ir::kLaneBlock / std::max<int64_t>(1, inner));
    blocks = std::max<int64_t>(1, chunked ? outer * chunks : ceil_div(outer, outer_per_block));
  }
};

class RowLowering {
 public:
  RowLowering(const ir::Kernel& kernel, const ir::GpuTarget& target)
      : kernel_(kernel),
        shape_(kernel),
        split_(is_split(shape_)),
        context_(kernel, split_ ? "split" : "rows", target.threads),
        warps_(target.threads / kWarp) {
    outer_axes_ = ir::axes_of(kernel, ir::AxisKind::Inner);
    if (outer_axes_.empty()) refuse(kernel, "a reduction without inner axes");
    lane_axis_ = outer_axes_.back();
    outer_axes_.pop_back();
    plan();
  }

  Lowered run() {
    if (split_) {
      split_program();
    } else if (shape_.blocks > 1) {
      long_program();
    } else {
      short_program();
    }
    return std::move(context_.out);
  }

 private:
  static bool is_split(const RowShape& shape) {
    return shape.blocks > kMaxShared || (shape.blocks >= kSplitBlocks && shape.rows < kFewRows);
  }

  void plan();
  void bind_warp();
  void bind_row(ValueId row) { context_.bind_flat(ir::axes_of(kernel_, ir::AxisKind::Parallel), row); }
  void short_program();
  void long_program();
  void split_program();
  void split_blocks(size_t p);
  void split_rows(size_t p);
  void store_row(const Pass& pass, ValueId number);
  void store_partials(const Pass& pass, ValueId place);
  void bind_results(const std::vector<bool>& wanted, ValueId row);
  void hoist(const Pass& pass);
  void start(const Pass& pass);
  template <typename Element>
  void walk(const Pass& pass, ValueId block, const Element& element);
  template <typename Element>
  void lanes(const Pass& pass, ValueId begin, ValueId end, bool ragged, const Element& element);
  void accumulate(const Pass& pass, ValueId block);
  void element(const Pass& pass, ValueId half);
  Accumulator fold(Reducer reducer, const AccumulatorBuffers& accumulators);
  void fold_partials(Value reduction, const AccumulatorBuffers& partials, ValueId base, ValueId count);
  void finish(Value reduction, Accumulator state);
  ValueId position();

  const ir::Kernel& kernel_;
  RowShape shape_;
  bool split_;
  Context context_;
  int64_t warps_;
  std::vector<int> outer_axes_;
  int lane_axis_ = 0;
  std::vector<Pass> passes_;
  bool in_registers_ = false;
  int64_t slots_ = 0;              // registers a thread for each kept value
  std::map<Value, int32_t> kept_;  // buffers of kept values
  std::map<Value, AccumulatorBuffers> accumulators_;
  std::map<Value, AccumulatorBuffers> partials_;  // long: shared, split: global
  std::map<Value, int32_t> results_;       // split: one value a row
  ValueId lane_ = -1, warp_ = -1, slot_ = -1;
};

// Kept values need registers: a short row, not too many of them, no outer axes to multiply them.
void RowLowering::plan() {
  if (shape_.blocks == 1 && shape_.outer == 1 && shape_.inner <= kMaxRegisterRow) {
    passes_ = plan_passes(kernel_, true);
    size_t kept = 0;
    for (const Pass& pass : passes_) kept += pass.kept.size();
    in_registers_ = kept <= kMaxKept;
  }
  if (!in_registers_) passes_ = plan_passes(kernel_, false);
  slots_ = kLanes / kWarp;
  while (slots_ * kWarp < shape_.inner) slots_ *= 2;
  for (const Pass& pass : passes_) {
    for (Value v : pass.kept) {
      kept_[v] =
          context_.b.add_buffer({"kept" + std::to_string(v), kernel_.instr(v).dtype,
                                 ir::Space::Local, -1, slots_});
    }
    for (Value v : pass.reductions) {
      accumulators_[v] = reducer(context_, v).buffers("acc" + std::to_string(v), ir::Space::Local, -1, kLanes / kWarp);
    }
  }
}

void RowLowering::bind_warp() {
  const ValueId width = context_.number(kWarp);
  lane_ = context_.rem(context_.thread(), width);
  warp_ = context_.div(context_.thread(), width);
}

// --- walking a row

// Index arithmetic that does not change within the loops to come.
void RowLowering::hoist(const Pass& pass) {
  for (size_t v = 0; v < pass.full_values.size(); ++v) {
    if (pass.full_values[v]) context_.hoist(kernel_.instrs[v]);
  }
}

// Calls element(half) for i = begin + thread, + 32, ... below end, the lane axis bound to i. `ragged` asks
// for a test of the last steps.
template <typename Element>
void RowLowering::lanes(const Pass& pass, ValueId begin, ValueId end, bool ragged, const Element& element) {
  const ValueId zero = context_.number(0), two = context_.number(kLanes / kWarp),
                width = context_.number(kWarp);
  hoist(pass);
  const ValueId step = in_registers_ ? context_.begin_for(zero, context_.number(slots_), kLanes / kWarp, true)
                                     : context_.begin_for(begin, end, kLanes);
  const ValueId half = context_.begin_for(zero, two, 1, true);
  if (in_registers_) {
    slot_ = context_.add(step, half);
    context_.bind_axis(lane_axis_, context_.add(context_.mul(slot_, width), lane_));
  } else {
    context_.bind_axis(lane_axis_, context_.add(step, context_.add(context_.mul(half, width), lane_)));
  }
  if (ragged) context_.begin_if(context_.less(context_.axis(lane_axis_), end));
  element(half);
  if (ragged) context_.end_if();
  context_.end_for();
  context_.end_for();
}

// Calls element(half) for every element of one block of the tree that belongs to this thread.
template <typename Element>
void RowLowering::walk(const Pass& pass, ValueId block, const Element& element) {
  const ValueId zero = context_.number(0);
  const ValueId inner = context_.extent(lane_axis_);
  if (in_registers_) return lanes(pass, zero, inner, slots_ * kWarp != shape_.inner, element);
  const bool ragged = shape_.inner % kLanes != 0;
  if (shape_.outer == 1 && shape_.blocks == 1) return lanes(pass, zero, inner, ragged, element);
  if (shape_.chunked) {
    ValueId chunk = block;
    if (shape_.outer > 1) {
      const ValueId chunks = context_.size(SizeRole::Blocks, 1, shape_.chunks);
      context_.bind_flat(outer_axes_, context_.div(block, chunks));
      chunk = context_.rem(block, chunks);
    }
    const ValueId length = context_.number(ir::kLaneBlock);
    const ValueId begin = context_.mul(chunk, length);
    return lanes(pass, begin, context_.b.op(Op::Min, {inner, context_.add(begin, length)}), ragged, element);
  }
  const ValueId outer = context_.size(SizeRole::Points, 1, shape_.outer);
  ValueId first = zero, last = outer;
  if (shape_.blocks > 1) {
    const ValueId length = context_.size(SizeRole::Blocks, 2, shape_.outer_per_block);
    first = context_.mul(block, length);
    last = context_.b.op(Op::Min, {outer, context_.add(first, length)});
  }
  hoist(pass);
  const ValueId o = context_.begin_for(first, last, 1);
  context_.bind_flat(outer_axes_, o);
  lanes(pass, zero, inner, ragged, element);
  context_.end_for();
}

// The row-major position of the current element within its row, as argmax reports it.
ValueId RowLowering::position() {
  ValueId flat = -1;
  std::vector<int> axes = outer_axes_;
  axes.push_back(lane_axis_);
  for (int axis : axes) {
    if (kernel_.extent(axis) == 1) continue;
    const ValueId x = context_.axis(axis);
    flat = flat < 0 ? x : context_.add(context_.mul(flat, context_.extent(axis)), x);
  }
  if (flat < 0) flat = context_.number(0);
  return context_.b.type(flat).dtype == ir::DType::I64 ? flat
                                                       : context_.b.op(Op::Cast, {flat}, ir::DType::I64);
}

// Computes one element: restores what is kept, lowers the rest, keeps, accumulates.
void RowLowering::element(const Pass& pass, ValueId half) {
  for (Value v : pass.restored) context_.bind(v, context_.b.load(kept_.at(v), slot_, 1));
  context_.lower(pass.full_values);
  for (Value v : pass.kept) context_.b.store(kept_.at(v), slot_, context_.value(v));
  for (Value v : pass.reductions) {
    Reducer reduce = reducer(context_, v);
    Accumulator next{context_.value(kernel_.instr(v).args[0]), -1};
    if (reduce.has_index()) next.index = position();
    const AccumulatorBuffers& accumulator = accumulators_.at(v);
    reduce.store(accumulator, half, reduce.combine(reduce.load(accumulator, half), next));
  }
}

void RowLowering::start(const Pass& pass) {
  for (Value v : pass.reductions) {
    Reducer reduce = reducer(context_, v);
    const Accumulator identity = reduce.identity();
    for (int64_t half = 0; half < kLanes / kWarp; ++half) {
      reduce.store(accumulators_.at(v), context_.number(half), identity);
    }
  }
}

void RowLowering::accumulate(const Pass& pass, ValueId block) {
  start(pass);
  walk(pass, block, [&](ValueId half) { element(pass, half); });
}

// --- folding

// 64 -> 32 inside each thread, then 16, 8, 4, 2, 1 by shuffles; thread 0 has the value.
Accumulator RowLowering::fold(Reducer reducer, const AccumulatorBuffers& accumulators) {
  const Accumulator low = reducer.load(accumulators, context_.number(0));
  Accumulator state = reducer.combine(low, reducer.load(accumulators, context_.number(1)));
  for (int64_t distance = kWarp / 2; distance >= 1; distance /= 2) {
    const ValueId offset = context_.constant(ir::constant(ir::DType::I32, distance));
    const auto shuffled = [&](ValueId part) {
      return part < 0 ? part : context_.b.let(Op::ShuffleDown, {part, offset}, context_.b.type(part));
    };
    const ValueId value = shuffled(state.value);
    state = reducer.combine(state, {value, shuffled(state.index)});
  }
  return state;
}

// Every thread of the warp gets thread 0's value.
void RowLowering::finish(Value reduction, Accumulator state) {
  const ValueId result = reducer(context_, reduction).result(state);
  const ValueId first = context_.constant(ir::constant(ir::DType::I32, int64_t{0}));
  context_.bind(reduction, context_.b.let(Op::Shuffle, {result, first}, context_.b.type(result)));
}

// Folds the block values partials[base .. base + count) as one row of 64 lanes.
void RowLowering::fold_partials(Value reduction, const AccumulatorBuffers& partials, ValueId base, ValueId count) {
  Reducer reduce = reducer(context_, reduction);
  const AccumulatorBuffers& accumulator = accumulators_.at(reduction);
  const ValueId zero = context_.number(0);
  for (int64_t half = 0; half < kLanes / kWarp; ++half) {
    reduce.store(accumulator, context_.number(half), reduce.identity());
  }
  const ValueId step = context_.begin_for(zero, count, kLanes);
  const ValueId half = context_.begin_for(zero, context_.number(kLanes / kWarp), 1, true);
  const ValueId block = context_.add(step, context_.add(context_.mul(half, context_.number(kWarp)), lane_));
  context_.begin_if(context_.less(block, count));
  const Accumulator next = reduce.load(partials, base < 0 ? block : context_.add(base, block));
  reduce.store(accumulator, half, reduce.combine(reduce.load(accumulator, half), next));
  context_.end_if();
  context_.end_for();
  context_.end_for();
  finish(reduction, fold(reduce, accumulator));
}

// --- programs

// The row stores that are due: all threads compute the values, the one whose number is 0 stores them.
void RowLowering::store_row(const Pass& pass, ValueId number) {
  if (pass.row_stores.empty()) return;
  context_.lower(pass.store_values);
  context_.begin_if(context_.b.op(Op::Eq, {number, context_.number(0)}));
  for (Value v : pass.row_stores) context_.lower(v);
  context_.end_if();
}

void RowLowering::short_program() {
  context_.begin_phase("rows", ceil_div(shape_.rows, warps_));
  bind_warp();
  const ValueId row = context_.add(context_.mul(context_.b.phase_index(), context_.number(warps_)), warp_);
  const bool ragged = shape_.rows % warps_ != 0;
  if (ragged) context_.begin_if(context_.less(row, context_.size(SizeRole::Points, 0, shape_.rows)));
  bind_row(row);
  for (const Pass& pass : passes_) {
    context_.lower(pass.row_values);
    store_row(pass, lane_);
    if (!pass.walks()) continue;
    accumulate(pass, -1);
    for (Value v : pass.reductions) finish(v, fold(reducer(context_, v), accumulators_.at(v)));
  }
  if (ragged) context_.end_if();
  context_.end_phase();
}

void RowLowering::long_program() {
  int64_t room = warps_;  // a size class: part of the code
  while (room < shape_.blocks) room *= 4;
  for (const Pass& pass : passes_) {
    for (Value v : pass.reductions) {
      partials_[v] = reducer(context_, v).buffers("blocks" + std::to_string(v), ir::Space::Shared, -1, room);
    }
  }
  context_.begin_phase("rows", shape_.rows);
  bind_warp();
  bind_row(context_.b.phase_index());
  const ValueId blocks = context_.size(SizeRole::Blocks, 0, shape_.blocks);
  for (const Pass& pass : passes_) {
    context_.lower(pass.row_values);
    store_row(pass, context_.thread());
    if (!pass.walks()) continue;
    const ValueId block = context_.begin_for(warp_, blocks, warps_);
    accumulate(pass, block);
    store_partials(pass, block);
    context_.end_for();
    if (pass.reductions.empty()) continue;
    context_.b.barrier();
    for (Value v : pass.reductions) fold_partials(v, partials_.at(v), -1, blocks);
  }
  context_.end_phase();
}

// Folds the accumulators of one block; thread 0 of the warp writes its value to partials[place].
void RowLowering::store_partials(const Pass& pass, ValueId place) {
  for (Value v : pass.reductions) {
    Reducer reduce = reducer(context_, v);
    const Accumulator state = fold(reduce, accumulators_.at(v));
    context_.begin_if(context_.b.op(Op::Eq, {lane_, context_.number(0)}));
    reduce.store(partials_.at(v), place, state);
    context_.end_if();
  }
}

// In a split program a row value lives as long as a phase: the results of earlier phases come from global
// memory.
void RowLowering::bind_results(const std::vector<bool>& wanted, ValueId row) {
  for (const auto& [v, buffer] : results_) {
    if (wanted[static_cast<size_t>(v)] && !context_.bound(v))
      context_.bind(v, context_.b.load(buffer, row, 1));
  }
}

void RowLowering::split_program() {
  const int32_t all = context_.size_slot(SizeRole::Scratch, 0, shape_.rows * shape_.blocks);
  const int32_t rows = context_.size_slot(SizeRole::Scratch, 1, shape_.rows);
  for (const Pass& pass : passes_) {
    for (Value v : pass.reductions) {
      Reducer reduce = reducer(context_, v);
      partials_[v] = reduce.buffers("blocks" + std::to_string(v), ir::Space::Global, all, 0);
      results_[v] =
          context_.b.add_buffer({"result" + std::to_string(v), kernel_.instr(v).dtype,
                                 ir::Space::Global, rows, 0});
    }
  }
  for (size_t p = 0; p < passes_.size(); ++p) {
    if (passes_[p].walks()) split_blocks(p);
    if (!passes_[p].reductions.empty()) split_rows(p);
  }
}

// One warp a block of the tree: element stores, and block values to global memory.
void RowLowering::split_blocks(size_t p) {
  const Pass& pass = passes_[p];
  const int64_t teams = ceil_div(shape_.blocks, warps_);  // CUDA blocks a row
  context_.begin_phase("blocks" + std::to_string(p), shape_.rows * teams);
  bind_warp();
  const ValueId team_count = context_.size(SizeRole::Blocks, 3, teams);
  const ValueId row = context_.div(context_.b.phase_index(), team_count);
  const ValueId team = context_.rem(context_.b.phase_index(), team_count);
  const ValueId block = context_.add(context_.mul(team, context_.number(warps_)), warp_);
  const ValueId blocks = context_.size(SizeRole::Blocks, 0, shape_.blocks);
  context_.begin_if(context_.less(block, blocks));
  bind_row(row);
  bind_results(pass.row_values, row);
  context_.lower(pass.row_values);
  accumulate(pass, block);
  store_partials(pass, context_.add(context_.mul(row, blocks), block));
  context_.end_if();
  context_.end_phase();
}

// One warp a row: folds the block values of pass p, then stores what is known of the row.
void RowLowering::split_rows(size_t p) {
  context_.begin_phase("rows" + std::to_string(p), ceil_div(shape_.rows, warps_));
  bind_warp();
  const ValueId row = context_.add(context_.mul(context_.b.phase_index(), context_.number(warps_)), warp_);
  context_.begin_if(context_.less(row, context_.size(SizeRole::Points, 0, shape_.rows)));
  bind_row(row);
  const ValueId blocks = context_.size(SizeRole::Blocks, 0, shape_.blocks);
  for (Value v : passes_[p].reductions) fold_partials(v, partials_.at(v), context_.mul(row, blocks), blocks);
  context_.begin_if(context_.b.op(Op::Eq, {lane_, context_.number(0)}));
  for (Value v : passes_[p].reductions) context_.b.store(results_.at(v), row, context_.value(v));
  context_.end_if();
  // Row stores need no reduction (they go with the first pass) or those up to this one.
  for (size_t due = p == 0 ? 0 : p + 1; due <= p + 1; ++due) {
    bind_results(passes_[due].store_values, row);
    store_row(passes_[due], lane_);
  }
  context_.end_if();
  context_.end_phase();
}

}  // namespace

Lowered lower_rows(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  return RowLowering(kernel, target).run();
}

}  // namespace tenon::passes::gpu
