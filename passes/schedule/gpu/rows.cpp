// Reductions along rows on a GPU. The 64 virtual lanes of ir/kernel.h's tree are the 32 threads of a warp
// with two accumulators each: element i of a row goes to accumulator (i / 32) mod 2 of thread i mod 32, so
// the first halving of the tree happens inside a thread and the other five by shuffles, without barriers. Where rows
// are aligned half a warp takes a row, or a block of the tree: a thread has four neighbouring lanes, loads and stores
// them as one vector, and does the last two halvings. Each lane adds in the same order, so the bits are the same. The
// passes over a row (softmax has three) become three shapes of program:
//
//   rows, short   one block of the tree a row: a warp takes a row, or several: rows of up to 16 elements have as many
//                 threads as the next power of two. The other lanes of the tree hold the identity, and leave the value
//                 as it is. Up to 1024 elements, what a later pass needs again stays in registers.
//                   if row < s2 {
//                     for j in 0..8 step 2 unroll { for half in 0..2 unroll { ... acc[half] += x } } fold }
//   rows, shared  longer rows with several passes: a CUDA block takes a row. All its threads compute the elements and
//                 leave in shared memory what is reduced and what a later pass needs again; then a warp takes each
//                 block of the tree. As long as a block's shared memory holds the row: 11000 floats of 48 KB, 56000 of an H100's
//                 227 KB, half as many if two values of each element are kept.
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
#include "passes/schedule/gpu/quads.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kLanes = ir::kReduceLanes, kWarp = 32;
constexpr int64_t kMinQuads = 128;         // of shorter rows folding four lanes a thread costs more than it saves
constexpr int64_t kMaxQuads = 512;         // elements whose values may stay in registers: 32 a thread
constexpr int64_t kMaxRegisterRow = 1024;  // elements whose values may stay in registers: 32 a thread
constexpr size_t kMaxKept = 3;             // values of each element that may stay in registers
constexpr int64_t kRoomStep = 1024;        // elements of a row in shared memory: a multiple
constexpr int64_t kMaxShared = 1024;       // block values of a row that stand in shared memory
constexpr int64_t kSplitBlocks = 16;       // rows with fewer blocks than this are not worth a second launch
constexpr int64_t kFewRows = 64;           // too few rows to fill a GPU with a CUDA block each

constexpr int64_t kAccumulators = kLanes / kWarp;  // of each thread

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

// What a row takes of shared memory.
int64_t shared_bytes(const Context& c, const ReduceLoops& plan, int64_t length) {
  const int64_t room = shared_room(length), block_values = 32 + 16 * ceil_div(room, ir::kLaneBlock);  // of a reduction, at most
  int64_t item_bytes = 0, reductions = 0;
  for (Value v : plan.carried) item_bytes += ir::item_size(c.kernel.instr(v).dtype);
  for (const auto& [number, dtype] : operand_places(c.kernel, plan).places()) item_bytes += ir::item_size(dtype);
  for (const std::vector<Value>& of_loop : plan.reductions) reductions += static_cast<int64_t>(of_loop.size());
  return room * item_bytes + reductions * block_values;
}
bool fits_shared(const Context& c, const ReduceLoops& plan, int64_t length) {
  return shared_bytes(c, plan, length) <= c.target.shared_bytes;
}

// Threads for a row in shared memory: as many of a multiprocessor's as its share of that.
int64_t threads_for(const Context& c, const ReduceLoops& plan, int64_t length) {
  constexpr int64_t kMost = 1024;
  int64_t threads = c.target.threads;
  while (2 * threads <= kMost && kMost * shared_bytes(c, plan, length) > threads * c.target.shared_bytes) threads *= 2;
  return threads;
}

// Whether a thread may take four neighbours along a row together: all that is read and written there moves as vectors.
bool moves_as_quads(const ir::Kernel& kernel, int axis) {
  if (kernel.extent(axis) % kQuad != 0) return false;
  const std::vector<bool> varies = varying_along(kernel, axis);
  for (Value v = 0; v < static_cast<Value>(kernel.instrs.size()); ++v) {
    const Instr& in = kernel.instr(v);
    if (in.level != Level::Full || (in.op != Op::Load && in.op != Op::Store) || (in.op == Op::Load && !varies[v])) continue;
    if (in.scale != 0 && kernel.instr(in.position()).level != Level::Row) return false;
    if (!moves_as_quad(kernel, in, axis, varies)) return false;
  }
  return true;
}

// What later passes over a row need again stays in registers if the row is short, or in shared memory, without outer axes that
// would multiply them, and if it is not too much; else each pass starts from the loads.
Kept plan(Context& c) {
  const int64_t length = c.extent(c.axes(AxisKind::Inner).back());
  if (c.product(c.axes(AxisKind::Inner)) == length) {
    const std::vector<bool> is_dear = dear_values(c.kernel);
    const auto dear = [&](Value v) { return is_dear[v]; };
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
      : RowStages(c, c.loops), c_(c), threads_(kept == Kept::Shared ? threads_for(c, c.loops, length_) : c.target.threads),
        row_count_(c.product(rows_)), in_registers_(kept == Kept::Registers), in_shared_(kept == Kept::Shared) {
    c.out.tree.threads = static_cast<int>(threads_);
    const auto gang = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length_)));
    quads_ = moves_as_quads(c.kernel, lane_);
    if (!in_shared_) quads_ = quads_ && !updates(c) && length_ >= kMinQuads && (!in_registers_ || length_ <= kMaxQuads);
    if (blocks_ <= 1 && (gang < kWarp ? !updates(c) : gang == kWarp)) {
      gang_ = gang;
      parts_ = slots_ = 1;
    } else if (quads_ && !in_shared_) {
      gang_ = kLanes / kQuad;
      parts_ = slots_ = kQuad;
    }
    gangs_ = threads_ / gang_;
    while (slots_ * gang_ < length_) slots_ *= 2;
    for (Value v : plan_.carried) {
      const std::string name = "kept" + std::to_string(v);
      carry_[v] = in_shared_ ? shared(name, nest_.instr(v).dtype) : b_.add_buffer({name, nest_.instr(v).dtype, Space::Local, -1, slots_});
    }
    for (const std::vector<Value>& loop : plan_.reductions) {
      for (Value v : loop) {
        accumulators_[v] = c_.reducer(v).buffers("acc" + std::to_string(v), Space::Local, -1, parts_);
        const bool has_total = in_chains(v) || (blocks_ > 1 && c_.reducer(v).keeps_rest());
        if (has_total)
          totals_[v] = c_.reducer(v).total().buffers("total" + std::to_string(v), Space::Local, -1, parts_);
      }
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

  // The thread's number in its warp, or in the part of it that takes a row or block.
  void bind_gang() { std::tie(gang_number_, lane_in_gang_) = c_.divide(c_.thread(), c_.literal(gang_)); }

  // A phase with a warp, or a part of one, for each row: body(row). A warp stays together: where it takes several rows, those
  // past the last are the last row again.
  template <typename Body>
  void each_row(std::string name, const Body& body) {
    const ValueId block = c_.begin_phase(std::move(name), ceil_div(row_count_, gangs_));
    bind_gang();
    ValueId row = c_.add(c_.mul(block, c_.literal(gangs_)), gang_number_);
    const ValueId within = c_.below(row, row_count_, gangs_);
    const bool several = gang_ < kWarp;
    if (several && within >= 0) row = c_.minimum(row, c_.sub(nest_.size(row_count_), c_.literal(1)));
    nest_.when(several ? -1 : within, [&] {
      nest_.bind_linear(rows_, row);
      body(row);
    });
    c_.end_phase();
  }

  // --- walking a row

  // Where this thread's element of a step is that goes to accumulator `part`: 32 further on each, or the next.
  ValueId place_in_step(ValueId part) {
    if (holds_quads()) return c_.add(c_.mul(lane_in_gang_, c_.literal(kQuad)), part);
    return c_.add(c_.mul(part, c_.literal(kWarp)), lane_in_gang_);
  }

  // element(instrs, part, position) for this thread's positions of begin .. end of the lane axis, 64 of the gang's at a step.
  // `instrs`: those of loop l that are computed for each element alone.
  template <typename Element>
  void lanes(int l, ValueId begin, ValueId end, const Element& element) {
    const ValueId zero = c_.literal(0);
    if (parts_ == 1) {
      end_chains(reductions(l));
      return only_lane(end, element);
    }
    const bool ragged = in_registers_ ? slots_ * gang_ != length_ : length_ % kLanes != 0;
    const auto before_end = [&](ValueId position) { return ragged ? c_.less(position, end) : -1; };
    // In registers steps are counted by their first slot.
    const auto at_step = [&](ValueId step) { return in_registers_ ? c_.mul(step, c_.literal(gang_)) : step; };
    const auto part_of = [&](std::span<const Value> instrs, ValueId step, ValueId part, ValueId position) {
      slot_ = in_registers_ ? c_.add(step, part) : -1;
      nest_.bind(lane_, position);
      element(instrs, part, position);
    };
    const auto one_by_one = [&](ValueId step) {
      c_.loop(zero, c_.literal(parts_), 1, [&](ValueId part) {
        const ValueId position = c_.add(at_step(step), place_in_step(part));
        nest_.when(before_end(position), [&] { part_of(inner_, step, part, position); });
      }, true);
    };
    const auto together = [&](ValueId step) {
      const ValueId first = c_.add(at_step(step), place_in_step(zero));
      nest_.when(before_end(first), [&] {
        Quads quads(c_);
        const std::vector<Value> single = through(quads, l, first);
        quads.each([&](ValueId part) { part_of(single, step, part, c_.add(first, part)); });
      });
    };
    const auto steps = [&](ValueId step) {
      begin_step(reductions(l), step);
      quads_ ? together(step) : one_by_one(step);
    };
    if (in_registers_) {
      c_.loop(zero, c_.literal(slots_), parts_, steps, true);
    } else {
      c_.loop(begin, end, kLanes, steps);
    }
  }

  // What loop l reads and writes of four elements from position `first` on; gives the instructions that are left.
  std::vector<Value> through(Quads& quads, int l, ValueId first) {
    const std::vector<bool> varies = varying_along(c_.kernel, lane_);
    std::vector<Value> single;
    c_.in_scope([&] {
      nest_.bind(lane_, first);
      for (Value v : full(l)) {
        const Instr& in = nest_.instr(v);
        if (in.op == Op::Load && varies[v]) {
          quads.read(v, in.slot, nest_.position_of(v));
        } else if (in.op == Op::Store) {
          quads.write(in.args[0], in.slot, nest_.position_of(v));
        } else {
          single.push_back(v);
        }
      }
    });
    return single;
  }

  // Of a row that has a thread for each element.
  template <typename Element>
  void only_lane(ValueId end, const Element& element) {
    slot_ = c_.literal(0);
    nest_.when(gang_ != length_ ? c_.less(lane_in_gang_, end) : -1, [&] {
      nest_.bind(lane_, lane_in_gang_);
      element(inner_, slot_, lane_in_gang_);
    });
  }

  // Every element of one block of the tree that belongs to this thread: computed, kept, accumulated.
  void accumulate(int l, ValueId block) {
    for (Value v : reductions(l)) start(v);
    const Range range = block_range(block);
    for_outer(l, range, [&](ValueId base) {
      lanes(l, range.begin, range.end, [&](std::span<const Value> instrs, ValueId part, ValueId position) {
        point(l, instrs, [&](int) { return slot_; });
        for (Value v : reductions(l)) {
          Reducer reduce = c_.reducer(v);
          Accumulator next{nest_.get(nest_.instr(v).args[0]), -1};
          if (reduce.has_index()) next.beside = nest_.position(at(base, position));
          take(v, part, next);
        }
      });
    });
  }

  void start(Value reduction) {
    start(c_.reducer(reduction), accumulators_.at(reduction));
    if (in_chains(reduction)) start(c_.reducer(reduction).total(), totals_.at(reduction));
  }
  void start(Reducer reduce, const AccumulatorBuffers& at) {
    const Accumulator identity = reduce.identity();
    for (int64_t part = 0; part < parts_; ++part) reduce.store(at, c_.literal(part), identity);
  }

  // Where a step begins a chain of each lane, those before go to the totals.
  void begin_step(const std::vector<Value>& reductions, ValueId step) {
    if (in_registers_ || !in_chains(reductions)) return;
    const ValueId of_chain = b_.op(Op::And, {step, c_.literal(kLanes * ir::kReduceChain - 1)});
    nest_.when(b_.op(Op::Eq, {of_chain, c_.literal(0)}), [&] { end_chains(reductions); });
  }
  void end_chains(const std::vector<Value>& reductions) {
    for (Value v : reductions) {
      if (!in_chains(v)) continue;
      Reducer sum = c_.reducer(v), total = sum.total();
      for (int64_t part = 0; part < parts_; ++part) {
        const ValueId at = c_.literal(part);
        total.store(totals_.at(v), at,
                    total.combine(total.load(totals_.at(v), at), sum.load(accumulators_.at(v), at)));
        sum.store(accumulators_.at(v), at, sum.identity());
      }
    }
  }

  void take(Value reduction, ValueId part, Accumulator next) {
    Reducer reduce = c_.reducer(reduction);
    const AccumulatorBuffers& accumulator = accumulators_.at(reduction);
    reduce.store(accumulator, part, reduce.combine(reduce.load(accumulator, part), next));
  }

  // --- folding

  // The lanes of the tree by halves; thread 0 has the value. A thread with lanes j and j + 32 begins with the first halving, then
  // 16, 8, 4, 2, 1 are shuffles; one with four neighbours ends with the last two.
  Accumulator fold(Value reduction) {
    Reducer sum = c_.reducer(reduction);
    if (!in_chains(reduction)) return fold(sum, lanes_in(sum, accumulators_.at(reduction)));
    end_chains({reduction});
    Reducer total = sum.total();
    std::vector<Accumulator> lanes = lanes_in(total, totals_.at(reduction));
    for (Accumulator& lane : lanes) lane = total.whole(lane);
    return fold(sum, std::move(lanes));
  }
  std::vector<Accumulator> lanes_in(Reducer reduce, const AccumulatorBuffers& from) {
    std::vector<Accumulator> lanes;
    for (int64_t part = 0; part < parts_; ++part) lanes.push_back(reduce.load(from, c_.literal(part)));
    return lanes;
  }
  Accumulator fold(Reducer reduce, std::vector<Accumulator> lanes) {
    const auto halve = [&] {
      for (size_t i = 0; i < lanes.size() / 2; ++i) lanes[i] = reduce.combine(lanes[i], lanes[i + lanes.size() / 2]);
      lanes.resize(lanes.size() / 2);
    };
    if (!holds_quads() && lanes.size() > 1) halve();
    for (int64_t distance = gang_ / 2; distance >= 1; distance /= 2) {
      const ValueId offset = b_.constant(ir::constant(DType::I32, distance));
      const auto shuffled = [&](ValueId part) {
        return part < 0 ? part : b_.let(Op::ShuffleDown, {part, offset}, b_.type(part));
      };
      for (Accumulator& lane : lanes) {
        const ValueId value = shuffled(lane.value);
        lane = reduce.combine(lane, {value, shuffled(lane.beside)});
      }
    }
    while (lanes.size() > 1) halve();
    return lanes[0];
  }

  // Every thread of the row gets the first one's value.
  void finish(Value reduction, Accumulator folded) {
    const ValueId result = c_.reducer(reduction).result(folded);
    if (gang_ == 1) return nest_.set(reduction, result);
    ValueId first = b_.constant(ir::constant(DType::I32, int64_t{0}));
    if (gang_ < kWarp) {
      const ValueId in_warp = c_.divide(c_.thread(), c_.literal(kWarp)).second;
      first = b_.op(Op::Cast, {c_.sub(in_warp, lane_in_gang_)}, DType::I32);
    }
    nest_.set(reduction, b_.let(Op::Shuffle, {result, first}, b_.type(result)));
  }

  // Folds the block values partials[base .. base + count) as one row of 64 lanes.
  void fold_partials(Value reduction, ValueId base, ValueId count) {
    Reducer block = c_.reducer(reduction), total = block.total();
    const AccumulatorBuffers& lanes = (total.keeps_rest() ? totals_ : accumulators_).at(reduction);
    start(total, lanes);
    c_.loop(c_.literal(0), count, kLanes, [&](ValueId step) {
      c_.loop(
          c_.literal(0), c_.literal(parts_), 1,
          [&](ValueId part) {
            const ValueId number = c_.add(step, place_in_step(part));
            nest_.when(c_.less(number, count), [&] {
              const Accumulator value = block.load(partials_.at(reduction), at(base, number));
              total.store(lanes, part, total.combine(total.load(lanes, part), value));
            });
          },
          true);
    });
    finish(reduction, total.whole(fold(total, lanes_in(total, lanes))));
  }

  // Folds the accumulators of one block; thread 0 of the gang writes its value to partials[place].
  void store_partials(int l, ValueId place) {
    for (Value v : reductions(l)) {
      const Accumulator state = fold(v);
      only(lane_in_gang_, [&] { c_.reducer(v).store(partials_.at(v), place, state); });
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
        emit_row(l, lane_in_gang_);
        accumulate(l, -1);
        for (Value v : reductions(l)) finish(v, fold(v));
      }
      emit_row(plan_.loops, lane_in_gang_);
    });
  }

  void long_program() {
    int64_t room = gangs_;  // a size class: part of the code
    while (room < blocks_) room *= 4;
    for (const auto& [v, accumulator] : accumulators_) {
      partials_[v] = c_.reducer(v).buffers("blocks" + std::to_string(v), Space::Shared, -1, room);
    }
    nest_.bind_linear(rows_, c_.begin_phase("rows", row_count_));
    bind_gang();
    const ValueId blocks = nest_.size(blocks_);
    for (int l = 0; l < plan_.loops; ++l) {
      emit_row(l, c_.thread());
      const bool several = gang_ < kWarp;
      c_.loop(several ? c_.literal(0) : gang_number_, blocks, gangs_, [&](ValueId first) {
        const ValueId block = several ? of_gang(first, blocks) : first;
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

  // The gang's block among those from `first` on. A warp stays together: past the last block that one is done again.
  ValueId of_gang(ValueId first, ValueId blocks) { return c_.minimum(c_.add(first, gang_number_), c_.sub(blocks, c_.literal(1))); }

  int32_t shared(const std::string& name, DType dtype) { return b_.add_buffer({name, dtype, Space::Shared, -1, shared_room(length_)}); }

  void shared_program() {
    for (const auto& [v, accumulator] : accumulators_) {
      partials_[v] = c_.reducer(v).buffers("blocks" + std::to_string(v), Space::Shared, -1, ceil_div(shared_room(length_), ir::kLaneBlock));
    }
    operands_ = operand_places(c_.kernel, plan_);
    for (const auto& place : operands_.places()) places_[place] = shared("operand" + std::to_string(places_.size()), place.second);
    nest_.bind_linear(rows_, c_.begin_phase("rows", row_count_));
    bind_gang();
    for (int l = 0; l < plan_.loops; ++l) {
      emit_row(l, c_.thread());
      quads_ ? elements_by_quads(l) : elements(l);
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
      c_.loop(c_.thread(), nest_.extent(lane_), threads_, [&](ValueId position) {
        nest_.bind(lane_, position);
        point(l, full(l), [&](int) { return position; });
        for (Value v : reductions(l)) {
          const Value operand = nest_.instr(v).args[0];
          if (carry_.count(operand) == 0) b_.store(operand_place(v), position, nest_.get(operand));
        }
      });
    });
  }

  void elements_by_quads(int l) {
    c_.in_scope([&] {
      prepare(full(l));
      c_.loop(c_.mul(c_.thread(), c_.literal(kQuad)), nest_.extent(lane_), threads_ * kQuad, [&](ValueId first) {
        Quads quads(c_);
        for (Value v : plan_.carried_in[l]) {
          if (carry_.count(v) != 0) quads.read(v, carry_.at(v), first);
        }
        const std::vector<Value> single = through(quads, l, first);
        for (Value v : full(l)) {
          if (carry_.count(v) != 0) quads.write(v, carry_.at(v), first);
        }
        for (Value v : reductions(l)) {
          const Value operand = nest_.instr(v).args[0];
          if (carry_.count(operand) == 0) quads.write(operand, operand_place(v), first);
        }
        quads.each([&](ValueId k) {
          nest_.bind(lane_, c_.add(first, k));
          for (Value v : single) nest_.emit(v);
        });
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
    const ValueId blocks = nest_.size(blocks_), shift = c_.literal(static_cast<int64_t>(number) % gangs_);
    const ValueId before = c_.add(gang_number_, c_.sub(c_.literal(gangs_), shift));
    const ValueId first = b_.op(Op::Where, {c_.less(gang_number_, shift), before, c_.sub(gang_number_, shift)});
    c_.loop(first, blocks, gangs_, [&](ValueId block) {
      start(v);
      const Range range = block_range(block);
      c_.loop(range.begin, range.end, kLanes, [&](ValueId step) {
        begin_step({v}, step);
        c_.loop(
            c_.literal(0), c_.literal(parts_), 1,
            [&](ValueId part) {
              const ValueId position = c_.add(step, place_in_step(part));
              nest_.when(length_ % kLanes != 0 ? c_.less(position, range.end) : -1, [&] {
                Accumulator next{b_.load(operand, position, 1), -1};
                if (c_.reducer(v).has_index()) next.beside = nest_.position(position);
                take(v, part, next);
              });
            },
            true);
      });
      const Accumulator state = fold(v);
      only(lane_in_gang_, [&] { c_.reducer(v).store(partials_.at(v), block, state); });
    });
  }

  void split_program() {
    for (const auto& [v, accumulator] : accumulators_) partials_[v] = c_.partials(v, Space::Global, row_count_ * blocks_);
    for (int l = 0; l < plan_.loops; ++l) {
      split_blocks(l);
      if (!reductions(l).empty()) split_rows(l);
    }
  }

  // A gang for each block of the tree: element stores, and block values to global memory.
  void split_blocks(int l) {
    const int64_t teams = ceil_div(blocks_, gangs_);  // CUDA blocks a row
    const ValueId number = c_.begin_phase("blocks" + std::to_string(l), row_count_ * teams);
    auto [row, team] = c_.divide(number, nest_.size(teams));
    bind_gang();
    const bool several = gang_ < kWarp;
    const ValueId blocks = nest_.size(blocks_), first = c_.mul(team, c_.literal(gangs_));
    const ValueId block = several ? of_gang(first, blocks) : c_.add(first, gang_number_);
    nest_.when(several ? -1 : c_.less(block, blocks), [&, row = row] {
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
      only(lane_in_gang_, [&] {
        emit_after(l);
        remember(l, place, row_count_);
      });
    });
  }

  Context& c_;
  bool holds_quads() const { return quads_ && !in_shared_; }

  int64_t threads_, row_count_;
  bool in_registers_, in_shared_;
  bool quads_ = false;               // a thread takes four neighbours at a time
  int64_t gang_ = kWarp, gangs_ = 0; // threads that take a row, or a block of it, together
  int64_t parts_ = kAccumulators;    // accumulators of a thread
  int64_t slots_ = kAccumulators;    // registers a thread for each kept value
  std::map<Value, AccumulatorBuffers> accumulators_;
  std::map<Value, AccumulatorBuffers> totals_;          // of chains, of block values
  std::map<Value, AccumulatorBuffers> partials_;        // long: shared, split: global
  OperandPlaces operands_;                              // shared: of reductions
  std::map<std::pair<size_t, DType>, int32_t> places_;  // shared: those that are nobody else's
  ValueId lane_in_gang_ = -1, gang_number_ = -1, slot_ = -1;
};

}  // namespace

void lower_rows(Context& c) {
  const Kept kept = plan(c);
  Rows(c, kept).lower();
}

}  // namespace tenon::passes::gpu
