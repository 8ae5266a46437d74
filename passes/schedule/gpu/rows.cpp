// Reductions along rows on a GPU. The 64 virtual lanes of ir/kernel.h's tree are the 32 threads of a warp
// with two accumulators each: element i of a row goes to accumulator (i / 32) mod 2 of thread i mod 32, so
// the first halving of the tree happens inside a thread and the other five by shuffles, without barriers. The
// passes over a row (softmax has three) become three shapes of program:
//
//   rows, short   one block of the tree a row: a warp takes a row, or several: rows of up to 16 elements have as many
//                 threads as the next power of two. The other lanes of the tree hold the identity, and leave the value
//                 as it is. Up to 1024 elements, what a later pass needs again stays in registers.
//                   if row < s2 {
//                     for j in 0..8 step 2 unroll { for half in 0..2 unroll { ... acc[half] += x } } fold }
//   rows, shared  longer rows with several passes: a CUDA block takes a row. All its threads compute the elements and
//                 leave in shared memory what is reduced and what a later pass needs again; then a warp takes each
//                 block of the tree. About 11000 floats, or half as many if two values of each element are kept.
//                   for c in thread..s2 step 256 { kept[c] = x } barrier; warp: for j { acc += kept[j] } fold barrier ...
//   rows, long    several blocks of the tree a row: a CUDA block takes a row, its warps take the tree's
//                 blocks in turn, and each warp folds all block values, which stand in shared memory.
//   split         few rows, very long: a warp takes one block of the tree and writes its value to global
//                 memory; a second phase gives each row a warp that folds them. One such pair for each pass
//                 that reduces.
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kLanes = ir::kReduceLanes, kWarp = 32;
constexpr int64_t kMaxRegisterRow = 1024;  // elements whose values may stay in registers: 32 a thread
constexpr size_t kMaxKept = 3;             // values of each element that may stay in registers
constexpr int64_t kRoomStep = 1024;        // elements of a row in shared memory: a multiple
constexpr int64_t kMaxShared = 1024;       // block values of a row that stand in shared memory
constexpr int64_t kSplitBlocks = 16;       // rows with fewer blocks than this are not worth a second launch
constexpr int64_t kFewRows = 64;           // too few rows to fill a GPU with a CUDA block each

constexpr int64_t kAccumulators = kLanes / kWarp;  // of each thread
constexpr int kCheap = 4;  // add-equivalents: what costs no more is computed again rather than kept
constexpr int kDear = 1 << 20;

// For each value, what it costs to compute from one load: chains of cheap ops on a single element value.
std::vector<int> costs_from_load(const ir::Kernel& kernel) {
  std::vector<int> costs(kernel.instrs.size(), 0);
  for (size_t v = 0; v < costs.size(); ++v) {
    const Instr& instr = kernel.instrs[v];
    if (instr.level != Level::Full || !ir::is_elementwise(instr.op)) continue;
    int full_operands = 0;
    costs[v] = ir::info(instr.op).cost;
    for (Value arg : instr.args) {
      if (kernel.instr(arg).level != Level::Full) continue;
      ++full_operands;
      costs[v] = std::min(kDear, costs[v] + costs[arg]);
    }
    if (full_operands > 1) costs[v] = kDear;
  }
  return costs;
}

// Where the values of a row stay for later passes.
enum class Kept : uint8_t { Nowhere, Registers, Shared };

// Of elements in shared memory: a size class, part of the code.
int64_t shared_room(int64_t length) { return ceil_div(length, kRoomStep) * kRoomStep; }

// Where the operands of reductions lie in shared memory: with the value that is kept, or, of one that is not, in the place of a
// value that is kept from a later loop on, or in a place that the loops share.
struct OperandPlaces {
  std::map<Value, Value> with;                      // by reduction: a kept value
  std::map<Value, std::pair<size_t, DType>> own;    // by reduction
  std::set<std::pair<size_t, DType>> places() const {
    std::set<std::pair<size_t, DType>> result;
    for (const auto& [v, place] : own) result.insert(place);
    return result;
  }
};

OperandPlaces operand_places(const ir::Kernel& kernel, const ReduceLoops& plan) {
  OperandPlaces result;
  const auto has = [](const std::vector<Value>& values, Value v) { return std::find(values.begin(), values.end(), v) != values.end(); };
  for (size_t l = 0; l < plan.reductions.size(); ++l) {
    std::set<Value> taken;
    for (size_t r = 0; r < plan.reductions[l].size(); ++r) {
      const Value reduction = plan.reductions[l][r], operand = kernel.instr(reduction).args[0];
      const auto lends = [&](Value kept) {
        if (kept == operand) return true;
        if (kernel.instr(kept).dtype != kernel.instr(operand).dtype || taken.count(kept) || has(plan.carried, operand)) return false;
        return std::none_of(plan.full.begin(), plan.full.begin() + static_cast<std::ptrdiff_t>(l) + 1,
                            [&](const std::vector<Value>& computed) { return has(computed, kept); });
      };
      const auto kept = std::find_if(plan.carried.begin(), plan.carried.end(), lends);
      if (kept == plan.carried.end()) {
        result.own[reduction] = {r, kernel.instr(operand).dtype};
      } else {
        result.with[reduction] = *kept;
        taken.insert(*kept);
      }
    }
  }
  return result;
}

bool fits_shared(const Context& c, const ReduceLoops& plan, int64_t length) {
  constexpr int64_t kBlockValues = 512;  // bytes
  int64_t item_bytes = 0;
  for (Value v : plan.carried) item_bytes += ir::item_size(c.kernel.instr(v).dtype);
  for (const auto& [number, dtype] : operand_places(c.kernel, plan).places()) item_bytes += ir::item_size(dtype);
  return shared_room(length) * item_bytes + kBlockValues <= c.target.shared_bytes;
}

// What later passes over a row need again stays in registers if the row is short, or in shared memory, without outer axes that
// would multiply them, and if it is not too much; else each pass starts from the loads.
Kept plan(Context& c) {
  const int64_t length = c.extent(c.axes(AxisKind::Inner).back());
  if (c.product(c.axes(AxisKind::Inner)) == length) {
    const std::vector<int> costs = costs_from_load(c.kernel);
    const auto dear = [&](Value v) { return costs[v] > kCheap; };
    const auto read_or_dear = [&](Value v) { return c.kernel.instr(v).op == Op::Load || dear(v); };
    c.loops = plan_loops(c.kernel, read_or_dear);
    if (length <= kMaxRegisterRow && c.loops.carried.size() <= kMaxKept) return Kept::Registers;
    const bool passes = length > kMaxRegisterRow && c.loops.loops > 1;
    if (passes && fits_shared(c, c.loops, length)) return Kept::Shared;
    c.loops = plan_loops(c.kernel, dear);
    if (passes && fits_shared(c, c.loops, length)) return Kept::Shared;
  }
  c.loops = plan_loops(c.kernel, [](Value) { return false; });
  return Kept::Nowhere;
}

class Rows : RowStages {
 public:
  Rows(Context& c, Kept kept)
      : RowStages(c, c.loops), c_(c), warps_(c.target.threads / kWarp), row_count_(c.product(rows_)),
        in_registers_(kept == Kept::Registers), in_shared_(kept == Kept::Shared) {
    const auto gang = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length_)));
    if (blocks_ <= 1 && (gang < kWarp ? !updates(c) : gang == kWarp)) {
      gang_ = gang;
      halves_ = slots_ = 1;
    }
    while (slots_ * kWarp < length_) slots_ *= 2;
    for (Value v : plan_.carried) {
      const std::string name = "kept" + std::to_string(v);
      carry_[v] = in_shared_ ? shared(name, nest_.instr(v).dtype) : b_.add_buffer({name, nest_.instr(v).dtype, Space::Local, -1, slots_});
    }
    for (const std::vector<Value>& loop : plan_.reductions) {
      for (Value v : loop) accumulators_[v] = c_.reducer(v).buffers("acc" + std::to_string(v), Space::Local, -1, halves_);
    }
  }

  void lower() {
    if (in_shared_) {
      shared_program();
    } else if (blocks_ > kMaxShared || (blocks_ >= kSplitBlocks && row_count_ < kFewRows)) {
      c_.out.schedule = "split";
      split_program();
    } else if (blocks_ > 1) {
      long_program();
    } else {
      short_program();
    }
  }

 private:
  // Whether a buffer is read and then written at the same place: its rows are done once.
  static bool updates(const Context& c) {
    return std::any_of(c.kernel.buffers.begin(), c.kernel.buffers.end(), [](const ir::KernelBuffer& b) { return b.role == ir::Role::InOut; });
  }

  void each(Value, const std::function<void(int)>& f) override { f(0); }

  // The thread's number in its warp, or in the part of it that takes a row.
  void bind_warp() { std::tie(warp_, lane_in_warp_) = c_.divide(c_.thread(), c_.literal(gang_)); }

  // A phase with a warp, or a part of one, for each row: body(row). A warp stays together: where it takes several rows, those
  // past the last are the last row again.
  template <typename Body>
  void each_row(std::string name, const Body& body) {
    const int64_t together = c_.target.threads / gang_;
    const ValueId block = c_.begin_phase(std::move(name), ceil_div(row_count_, together));
    bind_warp();
    ValueId row = c_.add(c_.mul(block, c_.literal(together)), warp_);
    const ValueId within = c_.below(row, row_count_, together);
    const bool several = gang_ < kWarp;
    if (several && within >= 0) row = c_.minimum(row, c_.sub(nest_.size(row_count_), c_.literal(1)));
    nest_.when(several ? -1 : within, [&] {
      nest_.bind_linear(rows_, row);
      body(row);
    });
    c_.end_phase();
  }

  // --- walking a row

  // element(half, position) for positions begin + thread, + 32, ... below end of the lane axis.
  template <typename Element>
  void lanes(ValueId begin, ValueId end, const Element& element) {
    const ValueId zero = c_.literal(0), width = c_.literal(kWarp);
    if (halves_ == 1) return only_lane(end, element);
    const bool ragged = in_registers_ ? slots_ * kWarp != length_ : length_ % kLanes != 0;
    const auto two = [&](ValueId step) {
      c_.loop(zero, c_.literal(kAccumulators), 1, [&](ValueId half) {
        slot_ = in_registers_ ? c_.add(step, half) : -1;
        const ValueId position = in_registers_ ? c_.add(c_.mul(slot_, width), lane_in_warp_)
                                               : c_.add(step, c_.add(c_.mul(half, width), lane_in_warp_));
        nest_.bind(lane_, position);
        nest_.when(ragged ? c_.less(position, end) : -1, [&] { element(half, position); });
      }, true);
    };
    if (in_registers_) {
      c_.loop(zero, c_.literal(slots_), kAccumulators, two, true);
    } else {
      c_.loop(begin, end, kLanes, two);
    }
  }

  // Of a row that has a thread for each element.
  template <typename Element>
  void only_lane(ValueId end, const Element& element) {
    slot_ = c_.literal(0);
    nest_.when(gang_ != length_ ? c_.less(lane_in_warp_, end) : -1, [&] {
      nest_.bind(lane_, lane_in_warp_);
      element(slot_, lane_in_warp_);
    });
  }

  // Every element of one block of the tree that belongs to this thread: computed, kept, accumulated.
  void accumulate(int l, ValueId block) {
    for (Value v : reductions(l)) start(v);
    const Range range = block_range(block);
    for_outer(l, range, [&](ValueId base) {
      lanes(range.begin, range.end, [&](ValueId half, ValueId position) {
        point(l, inner_, [&](int) { return slot_; });
        for (Value v : reductions(l)) {
          Reducer reduce = c_.reducer(v);
          Accumulator next{nest_.get(nest_.instr(v).args[0]), -1};
          if (reduce.has_index()) next.index = nest_.position(at(base, position));
          take(v, half, next);
        }
      });
    });
  }

  void start(Value reduction) {
    Reducer reduce = c_.reducer(reduction);
    const Accumulator identity = reduce.identity();
    for (int64_t half = 0; half < halves_; ++half) reduce.store(accumulators_.at(reduction), c_.literal(half), identity);
  }

  void take(Value reduction, ValueId half, Accumulator next) {
    Reducer reduce = c_.reducer(reduction);
    const AccumulatorBuffers& accumulator = accumulators_.at(reduction);
    reduce.store(accumulator, half, reduce.combine(reduce.load(accumulator, half), next));
  }

  // --- folding

  // 64 -> 32 inside each thread, then 16, 8, 4, 2, 1 by shuffles; thread 0 has the value.
  Accumulator fold(Value reduction) {
    Reducer reduce = c_.reducer(reduction);
    const AccumulatorBuffers& accumulators = accumulators_.at(reduction);
    const Accumulator low = reduce.load(accumulators, c_.literal(0));
    Accumulator state = halves_ == 1 ? low : reduce.combine(low, reduce.load(accumulators, c_.literal(1)));
    for (int64_t distance = gang_ / 2; distance >= 1; distance /= 2) {
      const ValueId offset = b_.constant(ir::constant(DType::I32, distance));
      const auto shuffled = [&](ValueId part) {
        return part < 0 ? part : b_.let(Op::ShuffleDown, {part, offset}, b_.type(part));
      };
      const ValueId value = shuffled(state.value);
      state = reduce.combine(state, {value, shuffled(state.index)});
    }
    return state;
  }

  // Every thread of the row gets the first one's value.
  void finish(Value reduction) {
    const ValueId result = c_.reducer(reduction).result(fold(reduction));
    if (gang_ == 1) return nest_.set(reduction, result);
    ValueId first = b_.constant(ir::constant(DType::I32, int64_t{0}));
    if (gang_ < kWarp) {
      const ValueId in_warp = c_.divide(c_.thread(), c_.literal(kWarp)).second;
      first = b_.op(Op::Cast, {c_.sub(in_warp, lane_in_warp_)}, DType::I32);
    }
    nest_.set(reduction, b_.let(Op::Shuffle, {result, first}, b_.type(result)));
  }

  // Folds the block values partials[base .. base + count) as one row of 64 lanes.
  void fold_partials(Value reduction, ValueId base, ValueId count) {
    start(reduction);
    c_.loop(c_.literal(0), count, kLanes, [&](ValueId step) {
      c_.loop(c_.literal(0), c_.literal(kAccumulators), 1, [&](ValueId half) {
        const ValueId block = c_.add(step, c_.add(c_.mul(half, c_.literal(kWarp)), lane_in_warp_));
        nest_.when(c_.less(block, count), [&] {
          take(reduction, half, c_.reducer(reduction).load(partials_.at(reduction), at(base, block)));
        });
      }, true);
    });
    finish(reduction);
  }

  // Folds the accumulators of one block; thread 0 of the warp writes its value to partials[place].
  void store_partials(int l, ValueId place) {
    for (Value v : reductions(l)) {
      const Accumulator state = fold(v);
      only(lane_in_warp_, [&] { c_.reducer(v).store(partials_.at(v), place, state); });
    }
  }

  // --- programs

  // body() by the thread with this number 0.
  template <typename Body>
  void only(ValueId number, const Body& body) {
    nest_.when(b_.op(Op::Eq, {number, c_.literal(0)}), body);
  }
  // All threads compute the values of a row, one stores them.
  void emit_row(int available, ValueId number) {
    emit_values(available);
    if (has_stores(available)) only(number, [&] { emit_stores(available); });
  }

  void short_program() {
    each_row("rows", [&](ValueId) {
      for (int l = 0; l < plan_.loops; ++l) {
        emit_row(l, lane_in_warp_);
        accumulate(l, -1);
        for (Value v : reductions(l)) finish(v);
      }
      emit_row(plan_.loops, lane_in_warp_);
    });
  }

  void long_program() {
    int64_t room = warps_;  // a size class: part of the code
    while (room < blocks_) room *= 4;
    for (const auto& [v, accumulator] : accumulators_) {
      partials_[v] = c_.reducer(v).buffers("blocks" + std::to_string(v), Space::Shared, -1, room);
    }
    nest_.bind_linear(rows_, c_.begin_phase("rows", row_count_));
    bind_warp();
    const ValueId blocks = nest_.size(blocks_);
    for (int l = 0; l < plan_.loops; ++l) {
      emit_row(l, c_.thread());
      c_.loop(warp_, blocks, warps_, [&](ValueId block) {
        accumulate(l, block);
        store_partials(l, block);
      });
      if (reductions(l).empty()) continue;
      b_.barrier();
      for (Value v : reductions(l)) fold_partials(v, -1, blocks);
    }
    emit_row(plan_.loops, c_.thread());
    c_.end_phase();
  }

  int32_t shared(const std::string& name, DType dtype) { return b_.add_buffer({name, dtype, Space::Shared, -1, shared_room(length_)}); }

  void shared_program() {
    for (const auto& [v, accumulator] : accumulators_) {
      partials_[v] = c_.reducer(v).buffers("blocks" + std::to_string(v), Space::Shared, -1, ceil_div(shared_room(length_), ir::kLaneBlock));
    }
    operands_ = operand_places(c_.kernel, plan_);
    for (const auto& place : operands_.places()) places_[place] = shared("operand" + std::to_string(places_.size()), place.second);
    nest_.bind_linear(rows_, c_.begin_phase("rows", row_count_));
    bind_warp();
    for (int l = 0; l < plan_.loops; ++l) {
      emit_row(l, c_.thread());
      elements(l);
      if (reductions(l).empty()) continue;
      b_.barrier();
      for (size_t r = 0; r < reductions(l).size(); ++r) reduce_blocks(reductions(l)[r], r);
      b_.barrier();
      for (Value v : reductions(l)) {
        const auto first = [&] { return c_.reducer(v).load(partials_.at(v), c_.literal(0)); };
        blocks_ > 1 ? fold_partials(v, -1, nest_.size(blocks_)) : nest_.set(v, c_.reducer(v).result(first()));
      }
    }
    emit_row(plan_.loops, c_.thread());
    c_.end_phase();
  }

  // The elements of a row, by all threads.
  void elements(int l) {
    c_.in_scope([&] {
      prepare(full(l));
      c_.loop(c_.thread(), nest_.extent(lane_), c_.target.threads, [&](ValueId position) {
        nest_.bind(lane_, position);
        point(l, full(l), [&](int) { return position; });
        for (Value v : reductions(l)) {
          const Value operand = nest_.instr(v).args[0];
          if (carry_.count(operand) == 0) b_.store(operand_place(v), position, nest_.get(operand));
        }
      });
    });
  }

  int32_t operand_place(Value reduction) const {
    const auto own = operands_.own.find(reduction);
    return own != operands_.own.end() ? places_.at(own->second) : carry_.at(operands_.with.at(reduction));
  }

  // Reduction number r of a loop, from shared memory: the tree's blocks by warps, beginning with another warp for each r.
  void reduce_blocks(Value v, size_t number) {
    const int32_t operand = operand_place(v);
    const ValueId blocks = nest_.size(blocks_), shift = c_.literal(static_cast<int64_t>(number) % warps_);
    const ValueId first = b_.op(Op::Where, {c_.less(warp_, shift), c_.add(warp_, c_.sub(c_.literal(warps_), shift)), c_.sub(warp_, shift)});
    c_.loop(first, blocks, warps_, [&](ValueId block) {
      start(v);
      const Range range = block_range(block);
      c_.loop(range.begin, range.end, kLanes, [&](ValueId step) {
        c_.loop(c_.literal(0), c_.literal(kAccumulators), 1, [&](ValueId half) {
          const ValueId position = c_.add(step, c_.add(c_.mul(half, c_.literal(kWarp)), lane_in_warp_));
          nest_.when(length_ % kLanes != 0 ? c_.less(position, range.end) : -1, [&] {
            Accumulator next{b_.load(operand, position, 1), -1};
            if (c_.reducer(v).has_index()) next.index = nest_.position(position);
            take(v, half, next);
          });
        }, true);
      });
      const Accumulator state = fold(v);
      only(lane_in_warp_, [&] { c_.reducer(v).store(partials_.at(v), block, state); });
    });
  }

  void split_program() {
    for (const auto& [v, accumulator] : accumulators_) partials_[v] = c_.partials(v, Space::Global, row_count_ * blocks_);
    for (int l = 0; l < plan_.loops; ++l) {
      split_blocks(l);
      if (!reductions(l).empty()) split_rows(l);
    }
  }

  // One warp a block of the tree: element stores, and block values to global memory.
  void split_blocks(int l) {
    const int64_t teams = ceil_div(blocks_, warps_);  // CUDA blocks a row
    const ValueId number = c_.begin_phase("blocks" + std::to_string(l), row_count_ * teams);
    auto [row, team] = c_.divide(number, nest_.size(teams));
    bind_warp();
    const ValueId block = c_.add(c_.mul(team, c_.literal(warps_)), warp_), blocks = nest_.size(blocks_);
    nest_.when(c_.less(block, blocks), [&, row = row] {
      nest_.bind_linear(rows_, row);
      recall(l, [row](int) { return row; });
      accumulate(l, block);
      store_partials(l, c_.add(c_.mul(row, blocks), block));
    });
    c_.end_phase();
  }

  // One warp a row: folds the block values of loop l, then stores what is known of the row.
  void split_rows(int l) {
    each_row("rows" + std::to_string(l), [&](ValueId row) {
      const auto place = [row](int) { return row; };
      recall(l, place);
      const ValueId blocks = nest_.size(blocks_), base = c_.mul(row, blocks);
      for (Value v : reductions(l)) fold_partials(v, base, blocks);
      emit_values(l + 1);
      only(lane_in_warp_, [&] {
        emit_after(l);
        remember(l, place, row_count_);
      });
    });
  }

  Context& c_;
  int64_t warps_, row_count_;
  bool in_registers_, in_shared_;
  int64_t gang_ = kWarp;             // threads that take a row together
  int64_t halves_ = kAccumulators;   // accumulators of a thread
  int64_t slots_ = kAccumulators;    // registers a thread for each kept value
  std::map<Value, AccumulatorBuffers> accumulators_;
  std::map<Value, AccumulatorBuffers> partials_;  // long: shared, split: global
  OperandPlaces operands_;                               // shared: of reductions
  std::map<std::pair<size_t, DType>, int32_t> places_;  // shared: those that are nobody else's
  ValueId lane_in_warp_ = -1, warp_ = -1, slot_ = -1;
};

}  // namespace

void lower_rows(Context& c) {
  const Kept kept = plan(c);
  Rows(c, kept).lower();
}

}  // namespace tenon::passes::gpu
