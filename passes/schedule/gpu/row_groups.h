// Groups of threads that take a row, or a block of its tree, together, for every program of rows.cpp and rows_in_block.cpp: they walk the
// elements, each adds up those of its lanes, and they fold the lanes. Private to passes/schedule/gpu/.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/thread_group.h"
#include "passes/schedule/gpu/vector_access.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::gpu {

// Whether a thread may take four neighbours along a row together: all that is read and written there moves as vectors.
bool moves_as_vectors(const ir::Kernel& kernel, int axis);

// Where the values of a row stay for later passes: Registers: of the warp; Block: of a CUDA block, and its shared memory.
enum class Kept : uint8_t { Nowhere, Registers, Block };

class RowGroups : protected RowStages {
 protected:
  static constexpr int64_t kLanes = ir::kReduceLanes;
  static constexpr int64_t kVectorThreads = kLanes / kVector;  // that have all lanes, four neighbours each

  RowGroups(Context& c, Kept kept, int64_t threads);
  // When there are buffers for what is kept, which takes so many registers of a thread: asks for blocks, and makes the accumulators.
  void begin(int64_t kept);
  static int64_t words(DType dtype) { return std::max<int64_t>(1, ir::item_size(dtype) / 4); }  // registers of a value

  // The thread's number in its warp, or in the part of it that takes a row or block.
  void bind_group();
  // Every element of one block of the tree that belongs to this thread: computed, kept, accumulated.
  void accumulate(int l, ValueId block);
  // Where this thread's element of a step is that goes to accumulator `part`: 32 further on each, or the next.
  ValueId place_in_step(ValueId part);
  // What loop l reads and writes of four elements from position `first` on; gives the instructions that are left.
  std::vector<Value> through(VectorAccess& access, int l, ValueId first);
  void start(Reducer reduce, const AccumulatorBuffers& at);  // every part at the identity

  // The lanes of the tree by halves; thread 0 has the value. A thread with lanes j and j + 32 begins with the first halving, then
  // 16, 8, 4, 2, 1 are shuffles; one with four neighbours ends with the last two.
  Accumulator fold(Value reduction);
  Accumulator fold(Reducer reduce, std::vector<Accumulator> lanes);
  std::vector<Accumulator> lanes_in(Reducer reduce, const AccumulatorBuffers& from);
  void finish(Value reduction, Accumulator folded);  // every thread of the row gets the first one's value
  // Folds the block values partials[base .. base + count) as one row of 64 lanes.
  void fold_partials(Value reduction, ValueId base, ValueId count);
  // The same in parts: the lanes at the identity, block values that lie in `from`, the value.
  void open_total(Value reduction);
  void add_to_total(Value reduction, const AccumulatorBuffers& from, ValueId base, ValueId count);
  void finish_total(Value reduction);
  // Folds the accumulators of one block; thread 0 of the group writes its value to partials[place].
  void store_partials(int l, ValueId place);

  // body() by the thread with this number 0.
  template <typename Body>
  void only(ValueId number, const Body& body) {
    nest_.when(b_.op(Op::Eq, {number, c_.literal(0)}), body);
  }
  // All threads compute the values of a row, one stores them. Where that may be over what the row is computed from, a row that is done
  // again must not be stored again: it might have read what is there by then.
  void emit_row(int available, ValueId number) {
    emit_values(available);
    if (has_stores(available)) nest_.when(is_row_, [&] { only(number, [&] { emit_stores(available); }); });
  }

  Context& c_;
  const int64_t threads_, row_count_;
  int64_t group_ = kWarp, groups_ = 0;  // threads that take a row, or a block of it, together
  int64_t slots_;                       // registers a thread for each kept value
  bool in_vectors_ = false;             // a thread takes four neighbours at a time
  std::map<Value, AccumulatorBuffers> accumulators_;
  std::map<Value, AccumulatorBuffers> totals_;    // of chains, of block values
  std::map<Value, AccumulatorBuffers> partials_;  // block values: split: in global memory, else shared
  ValueId lane_in_group_ = kNone, group_number_ = kNone;
  ValueId is_row_ = kAlways;  // whether the group's row is one, and not the last one again, where that matters
  int64_t parts_;             // accumulators of a thread

 private:
  void each(Value, const std::function<void(int)>& f) override { f(0); }
  int64_t registers(int64_t kept) const;
  bool holds_vectors() const { return in_vectors_ && !in_block_; }
  bool in_order(Value reduction) const;
  const AccumulatorBuffers& lanes_of_total(Value reduction) {
    return (c_.reducer(reduction).keeps_rest() ? totals_ : accumulators_).at(reduction);
  }
  ValueId register_step(ValueId slot);
  template <typename Element>
  void lanes(int l, ValueId begin, ValueId end, const Element& element);
  template <typename Element>
  void only_lane(ValueId end, const Element& element);
  void join_halves(int l, ValueId end);
  void start(Value reduction);
  void begin_step(const std::vector<Value>& reductions, ValueId step);
  void end_chains(const std::vector<Value>& reductions);
  void take(Value reduction, ValueId part, Accumulator next);

  const bool in_registers_, in_block_;
  bool halves_ = false;                // a half of the warp has elements 0..511 of the row, the other those from 512 on
  std::map<Value, int32_t> operands_;  // halves: of reductions, what each slot gives them
  ValueId half_ = kNone, lane_in_half_ = kNone, slot_ = kNone;
};

}  // namespace tenon::passes::gpu
