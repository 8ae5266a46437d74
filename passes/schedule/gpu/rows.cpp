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
//   rows, block   longer rows with several passes: a CUDA block takes a row, and every thread keeps its part of it: chains of four
//                 lanes' elements (ir/sum_order.h), 64 elements from one to the next, in registers, the later ones in shared
//                 memory. What its chains come to goes to shared memory, where a warp takes each block of the tree. 32768 floats a
//                 row; 65536 with an H100's 227 KB of shared memory.
//                   for j in 0..4 unroll { kept[j] = x; acc += x }; chains[...] = acc; barrier
//                   warp: for c in 0..16 { total += chains[c] } fold barrier ...
//   rows, long    several blocks of the tree a row: a CUDA block takes a row, its warps take the tree's
//                 blocks in turn, and each warp folds all block values, which stand in shared memory.
//   split         few rows, very long: a warp takes one block of the tree and writes its value to global
//                 memory; a second phase gives each row a warp that folds them. One such pair for each pass
//                 that reduces.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/quads.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kLanes = ir::kReduceLanes, kWarp = 32;
constexpr int64_t kMinQuads = 128;         // of shorter rows folding four lanes a thread costs more than it saves
constexpr int64_t kQuadThreads = kLanes / kQuad;  // that have all lanes, four neighbours each
constexpr int64_t kMaxQuads = 512;         // elements of a row that half a warp takes: 32 a thread; of a longer one that stays in
                                           // registers the warp's other half has the rest
constexpr int64_t kMaxRegisterRow = 1024;  // elements whose values may stay in registers: 32 a thread
constexpr size_t kMaxKept = 3;             // values of each element that may stay in registers
constexpr int64_t kThreadsAtOnce = 1024;   // of a multiprocessor, that hide how long memory takes
constexpr int64_t kBlockRegisters = 32;    // of four bytes, in which a thread of a block keeps elements of its row
constexpr int64_t kChainSpan = ir::kReduceChain * ir::kReduceLanes;  // elements from a chain of a lane to its next
constexpr int64_t kMaxShared = 1024;       // block values of a row that stand in shared memory
constexpr int64_t kSplitBlocks = 16;       // rows with fewer blocks than this are not worth a second launch
constexpr int64_t kFewRows = 64;           // too few rows to fill a GPU with a CUDA block each

constexpr int64_t kAccumulators = kLanes / kWarp;  // of each thread

// Where the values of a row stay for later passes: Registers: of the warp; Block: of a CUDA block, and its shared memory.
enum class Kept : uint8_t { Nowhere, Registers, Block };

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

// A row that a CUDA block keeps. A thread has chains one behind the other of each lane that it takes, `in_registers` and then others
// in shared memory. Kept values that no pass needs at the same time have one place: an array of registers, and one in shared memory.
struct BlockRow {
  int64_t threads = 0, lanes = 1, rounds = 0, in_registers = 0;  // a round: a chain of each of the thread's `lanes` neighbours
  std::vector<DType> places;
  std::map<Value, size_t> place_of;
  int64_t teams() const { return threads * lanes / kLanes; }  // that take all lanes together
  int64_t chains() const { return teams() * rounds; }         // of each lane
  int64_t slots() const { return in_registers * ir::kReduceChain * lanes; }
  int64_t shared_slots() const { return (rounds - in_registers) * ir::kReduceChain * threads * lanes; }
};

// A value gives its place to one that is computed where it is needed last.
void find_places(const ir::Kernel& kernel, const ReduceLoops& plan, BlockRow& row) {
  const auto has = [](const std::vector<Value>& values, Value v) { return std::find(values.begin(), values.end(), v) != values.end(); };
  std::vector<int> last_of_place;
  for (int l = 0; l < plan.loops; ++l) {
    for (Value v : plan.carried) {
      if (!has(plan.full[static_cast<size_t>(l)], v)) continue;
      int last = l;
      for (int later = l; later < plan.loops + 1; ++later) {
        if (static_cast<size_t>(later) < plan.carried_in.size() && has(plan.carried_in[static_cast<size_t>(later)], v)) last = later;
      }
      size_t place = 0;
      while (place < row.places.size() && (row.places[place] != kernel.instr(v).dtype || last_of_place[place] > l)) ++place;
      if (place == row.places.size()) {
        row.places.push_back(kernel.instr(v).dtype);
        last_of_place.push_back(0);
      }
      last_of_place[place] = last;
      row.place_of[v] = place;
    }
  }
}

// What the chains of reduction number r of a loop lie in, which those of other loops share.
using ChainPlace = std::tuple<size_t, DType, bool>;
ChainPlace chain_place(Context& c, Value reduction, size_t number) {
  return {number, c.kernel.instr(c.kernel.instr(reduction).args[0]).dtype, c.reducer(reduction).has_index()};
}

// What a block has of shared memory: kept values, chains, block values.
int64_t shared_bytes(Context& c, const ReduceLoops& plan, const BlockRow& row) {
  int64_t bytes = 0;
  for (DType dtype : row.places) bytes += row.shared_slots() * ir::item_size(dtype);
  std::set<ChainPlace> places;
  for (const std::vector<Value>& loop : plan.reductions) {
    for (size_t r = 0; r < loop.size(); ++r) {
      places.insert(chain_place(c, loop[r], r));
      bytes += 32 + 16 * ceil_div(row.chains() * kChainSpan, ir::kLaneBlock);  // its block values, at most
    }
  }
  for (const auto& [number, dtype, has_index] : places) bytes += row.chains() * kLanes * (ir::item_size(dtype) + (has_index ? 8 : 0));
  return bytes;
}

// How a block keeps rows of this length, if it can: a reduction may take chains apart.
std::optional<BlockRow> block_row(Context& c, const ReduceLoops& plan, int64_t length, bool quads) {
  constexpr int64_t kLeast = 128, kMost = 1024, kOfThread = 16, kManyScalars = 16;
  // Each scalar takes a register of each thread: with many of them (random numbers) half the threads have twice the registers.
  const auto scalars = std::count_if(c.kernel.instrs.begin(), c.kernel.instrs.end(), [](const Instr& in) { return in.op == Op::Scalar; });
  const int64_t wider = scalars > kManyScalars ? 2 : 1;
  BlockRow row;
  row.lanes = quads ? kQuad : 1;
  find_places(c.kernel, plan, row);
  for (const std::vector<Value>& loop : plan.reductions) {
    for (Value v : loop) {
      const bool in_order = c.kernel.instr(v).op == Op::Prod && ir::is_float(c.kernel.instr(v).dtype);
      if (in_order) return std::nullopt;
    }
  }
  row.threads = std::clamp(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(ceil_div(length, kOfThread)))), kLeast, kMost / wider);
  row.rounds = ceil_div(length, row.teams() * kChainSpan);
  int64_t registers = 0;
  for (DType dtype : row.places) registers += std::max<int64_t>(1, ir::item_size(dtype) / 4) * ir::kReduceChain * row.lanes;
  row.in_registers = registers == 0 ? row.rounds : std::min(row.rounds, wider * kBlockRegisters / registers);
  if (row.in_registers == 0 || shared_bytes(c, plan, row) > c.target.shared_bytes) return std::nullopt;
  return row;
}

// What later passes over a row need again stays in registers if the row is short, or with a block, without outer axes that
// would multiply them, and if it is not too much; else each pass starts from the loads.
Kept plan(Context& c, std::optional<BlockRow>& row) {
  const std::vector<int> inner = c.axes(AxisKind::Inner);
  const int64_t length = c.extent(inner.back());
  if (c.product(inner) == length) {
    const std::vector<bool> is_dear = dear_values(c.kernel);
    const auto dear = [&](Value v) { return is_dear[v]; };
    const auto read_or_dear = [&](Value v) { return c.kernel.instr(v).op == Op::Load || dear(v); };
    c.loops = plan_loops(c.kernel, read_or_dear);
    if (length <= kMaxRegisterRow && c.loops.carried.size() <= kMaxKept) return Kept::Registers;
    const bool passes = length > kMaxRegisterRow && c.loops.loops > 1, quads = moves_as_quads(c.kernel, inner.back());
    if (passes && (row = block_row(c, c.loops, length, quads))) return Kept::Block;
    c.loops = plan_loops(c.kernel, dear);
    if (passes && (row = block_row(c, c.loops, length, quads))) return Kept::Block;
  }
  c.loops = plan_loops(c.kernel, [](Value) { return false; });
  return Kept::Nowhere;
}

class Rows : RowStages {
 public:
  Rows(Context& c, Kept kept, std::optional<BlockRow> row)
      : RowStages(c, c.loops), c_(c), block_row_(std::move(row)), threads_(block_row_ ? block_row_->threads : c.target.threads),
        row_count_(c.product(rows_)), in_registers_(kept == Kept::Registers),
        writes_over_(!in_place_results(c.kernel, c.loops).empty()) {
    c.out.tree.threads = static_cast<int>(threads_);
    const auto gang = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length_)));
    quads_ = moves_as_quads(c.kernel, lane_);
    halves_ = quads_ && in_registers_ && length_ > kMaxQuads;
    if (!block_row_ && !halves_) quads_ = quads_ && !updates(c) && length_ >= kMinQuads;
    if (blocks_ <= 1 && (gang < kWarp ? !updates(c) : gang == kWarp)) {
      gang_ = gang;
      parts_ = slots_ = 1;
    } else if (holds_quads()) {
      gang_ = halves_ ? kWarp : kQuadThreads;
      parts_ = slots_ = kQuad;
    }
    gangs_ = threads_ / gang_;
    while (slots_ * gang_ < length_) slots_ *= 2;
    block_row_ ? keep_in_block() : keep_in_registers();
    c_.ask_for_blocks(kThreadsAtOnce / threads_, registers());
    for (const std::vector<Value>& loop : plan_.reductions) {
      for (Value v : loop) {
        accumulators_[v] = c_.reducer(v).buffers("acc" + std::to_string(v), Space::Local, -1, parts_);
        const bool has_total = in_chains(v) || (blocks_ > 1 && c_.reducer(v).keeps_rest());
        if (has_total)
          totals_[v] = c_.reducer(v).total().buffers("total" + std::to_string(v), Space::Local, -1, parts_);
        if (halves_ && in_order(v)) operands_[v] = b_.add_buffer({"operand" + std::to_string(v), nest_.instr(v).dtype, Space::Local, -1, slots_});
      }
    }
  }

  void lower() {
    if (block_row_) {
      block_program();
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
  // What a thread may need: what it keeps from one loop to the next, what it loads at once, and places and results in between.
  int64_t registers() const {
    const auto words = [](DType dtype) { return std::max<int64_t>(1, ir::item_size(dtype) / 4); };
    int64_t kept = 0, loaded = 0, widest = 1;
    for (int l = 0; l < plan_.loops; ++l) {
      int64_t now = 0;
      for (Value v : plan_.carried_in[static_cast<size_t>(l)]) now += words(nest_.instr(v).dtype) * slots_;
      kept = std::max(kept, now);
    }
    if (block_row_) {
      kept = 0;
      for (DType dtype : block_row_->places) kept += words(dtype) * block_row_->slots();
    }
    for (const Instr& in : c_.kernel.instrs) {
      widest = std::max(widest, words(in.dtype));
      if (in.op == Op::Load && in.level == Level::Full) loaded += words(in.dtype) * (quads_ ? kQuad : 1);
    }
    return kept + loaded + (widest > 1 ? 100 : 28);  // sums of doubles, and what they round away, take twice as many
  }

  void keep_in_registers() {
    for (Value v : plan_.carried) {
      carry_[v] = b_.add_buffer({"kept" + std::to_string(v), nest_.instr(v).dtype, Space::Local, -1, slots_});
    }
  }

  // Whether a buffer is read and then written at the same place: its rows are done once.
  static bool updates(const Context& c) {
    return std::any_of(c.kernel.buffers.begin(), c.kernel.buffers.end(), [](const ir::KernelBuffer& b) { return b.role == ir::Role::InOut; });
  }

  void each(Value, const std::function<void(int)>& f) override { f(0); }

  // The thread's number in its warp, or in the part of it that takes a row or block.
  void bind_gang() {
    std::tie(gang_number_, lane_in_gang_) = c_.divide(c_.thread(), c_.literal(gang_));
    if (halves_) std::tie(half_, lane_in_half_) = c_.divide(lane_in_gang_, c_.literal(kQuadThreads));
  }

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
    is_row_ = several && writes_over_ ? within : -1;
    nest_.when(several ? -1 : within, [&] {
      nest_.bind_linear(rows_, row);
      body(row);
    });
    is_row_ = -1;
    c_.end_phase();
  }

  // --- walking a row

  // Where this thread's element of a step is that goes to accumulator `part`: 32 further on each, or the next.
  ValueId place_in_step(ValueId part) {
    if (holds_quads()) return c_.add(c_.mul(halves_ ? lane_in_half_ : lane_in_gang_, c_.literal(kQuad)), part);
    return c_.add(c_.mul(part, c_.literal(kWarp)), lane_in_gang_);
  }

  // Where the step with this first slot begins.
  ValueId register_step(ValueId slot) {
    if (!halves_) return c_.mul(slot, c_.literal(gang_));
    return c_.add(c_.mul(slot, c_.literal(kQuadThreads)), c_.mul(half_, c_.literal(kMaxQuads)));
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
    const auto at_step = [&](ValueId step) { return in_registers_ ? register_step(step) : step; };
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
          if (halves_ && in_order(v)) b_.store(operands_.at(v), slot_, next.value);
          take(v, part, next);
        }
      });
    });
    if (halves_) join_halves(l, range.end);
  }

  // The warp's second half goes on from what the lanes of the first one have come to. Where it has combined its own elements it
  // combines the two; sums and products of floats, whose order is part of their value, take the elements once more.
  void join_halves(int l, ValueId end) {
    const ValueId source = b_.op(Op::Cast, {lane_in_half_}, DType::I32);
    const auto of_first = [&](ValueId x) { return x < 0 ? x : b_.let(Op::Shuffle, {x, source}, b_.type(x)); };
    for (Value v : reductions(l)) {
      Reducer reduce = c_.reducer(v);
      for (int64_t i = 0; i < parts_; ++i) {
        const ValueId part = c_.literal(i);
        const Accumulator own = reduce.load(accumulators_.at(v), part), first{of_first(own.value), of_first(own.beside)};
        reduce.store(accumulators_.at(v), part, in_order(v) ? first : reduce.combine(first, own));
      }
      if (!in_order(v)) continue;
      c_.loop(c_.literal(0), c_.literal(slots_), parts_, [&](ValueId step) {
        const ValueId first = c_.add(register_step(step), place_in_step(c_.literal(0)));
        nest_.when(slots_ * gang_ != length_ ? c_.less(first, end) : -1, [&] {
          for (int64_t i = 0; i < parts_; ++i) take(v, c_.literal(i), {b_.load(operands_.at(v), c_.add(step, c_.literal(i)), 1), -1});
        });
      }, true);
    }
  }
  // Whether the order of its elements is part of its value, even where they stay neighbours.
  bool in_order(Value reduction) const {
    const Instr& in = nest_.instr(reduction);
    return (in.op == Op::Sum || in.op == Op::Prod) && ir::is_float(in.dtype);
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
    for (int64_t distance = (halves_ ? kQuadThreads : gang_) / 2; distance >= 1; distance /= 2) {
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
    ValueId first = b_.constant(ir::constant(DType::I32, halves_ ? kQuadThreads : 0));
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
  // All threads compute the values of a row, one stores them. Where that may be over what the row is computed from, a row that is done
  // again must not be stored again: it might have read what is there by then.
  void emit_row(int available, ValueId number) {
    emit_values(available);
    if (has_stores(available)) nest_.when(is_row_, [&] { only(number, [&] { emit_stores(available); }); });
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

  void keep_in_block() {
    const BlockRow& row = *block_row_;
    std::vector<std::pair<int32_t, int32_t>> buffers;
    for (DType dtype : row.places) {
      const std::string name = "kept" + std::to_string(buffers.size());
      const bool more = row.shared_slots() > 0;
      buffers.emplace_back(b_.add_buffer({name, dtype, Space::Local, -1, row.slots()}),
                           more ? b_.add_buffer({name + "_more", dtype, Space::Shared, -1, row.shared_slots()}) : -1);
    }
    for (const auto& [v, place] : row.place_of) std::tie(in_thread_[v], in_shared_[v]) = buffers[place];
  }

  void block_program() {
    const int64_t blocks = ceil_div(block_row_->chains(), kChainsOfBlock);
    std::map<ChainPlace, AccumulatorBuffers> places;
    for (int l = 0; l < plan_.loops; ++l) {
      for (size_t r = 0; r < reductions(l).size(); ++r) {
        const Value v = reductions(l)[r];
        const std::string number = std::to_string(v);
        partials_[v] = c_.reducer(v).buffers("blocks" + number, Space::Shared, -1, blocks);
        chain_[v] = c_.reducer(v).buffers("chain" + number, Space::Local, -1, block_row_->lanes);
        auto [place, fresh] = places.try_emplace(chain_place(c_, v, r));
        if (fresh) place->second = c_.reducer(v).buffers("chains" + number, Space::Shared, -1, block_row_->chains() * kLanes);
        chains_[v] = place->second;
      }
    }
    nest_.bind_linear(rows_, c_.begin_phase("rows", row_count_));
    bind_gang();
    std::tie(team_, lane_in_team_) = c_.divide(c_.thread(), c_.literal(kLanes / block_row_->lanes));
    lane_in_team_ = c_.mul(lane_in_team_, c_.literal(block_row_->lanes));
    for (int l = 0; l < plan_.loops; ++l) {
      emit_row(l, c_.thread());
      c_.in_scope([&] {
        prepare(full(l));
        carry_ = in_thread_;
        c_.loop(c_.literal(0), c_.literal(block_row_->in_registers), 1, [&](ValueId round) { chain(l, round, false); }, true);
        carry_ = in_shared_;
        if (block_row_->shared_slots() > 0) {
          c_.loop(c_.literal(block_row_->in_registers), c_.literal(block_row_->rounds), 1, [&](ValueId round) { chain(l, round, true); });
        }
      });
      if (reductions(l).empty()) continue;
      b_.barrier();
      for (size_t r = 0; r < reductions(l).size(); ++r) add_chains(reductions(l)[r], r);
      b_.barrier();
      for (Value v : reductions(l)) {
        const auto first = [&] { return c_.reducer(v).load(partials_.at(v), c_.literal(0)); };
        blocks_ > 1 ? fold_partials(v, -1, nest_.size(blocks_)) : nest_.set(v, c_.reducer(v).result(first()));
      }
    }
    emit_row(plan_.loops, c_.thread());
    c_.end_phase();
  }

  // A chain of each of the thread's lanes: its elements in loop l, and what they come to.
  void chain(int l, ValueId round, bool in_shared) {
    const BlockRow& row = *block_row_;
    const ValueId number = c_.add(c_.mul(team_, c_.literal(row.rounds)), round);
    const ValueId begin = c_.add(c_.mul(number, c_.literal(kChainSpan)), lane_in_team_);
    const auto start_chain = [&](Value v) {
      for (int64_t part = 0; part < row.lanes; ++part) c_.reducer(v).store(chain_.at(v), c_.literal(part), c_.reducer(v).identity());
    };
    for (Value v : reductions(l)) start_chain(v);
    const bool ragged = row.chains() * kChainSpan != length_;
    c_.loop(c_.literal(0), c_.literal(ir::kReduceChain), 1, [&](ValueId step) {
      const ValueId first = c_.add(begin, c_.mul(step, c_.literal(kLanes)));
      const ValueId of_round = in_shared ? c_.sub(round, c_.literal(row.in_registers)) : round;
      const ValueId slot = c_.add(c_.mul(of_round, c_.literal(ir::kReduceChain)), step);
      const ValueId place = in_shared ? c_.add(c_.mul(slot, c_.literal(threads_ * row.lanes)), c_.mul(c_.thread(), c_.literal(row.lanes)))
                                      : c_.mul(slot, c_.literal(row.lanes));
      nest_.when(ragged ? c_.less(first, nest_.extent(lane_)) : -1, [&] { elements(l, first, place, in_shared); });
    }, true);
    for (Value v : reductions(l)) {
      const Accumulator sums = c_.reducer(v).load(chain_.at(v), c_.literal(0), static_cast<int>(row.lanes));
      c_.reducer(v).store(chains_.at(v), c_.add(c_.mul(number, c_.literal(kLanes)), lane_in_team_), sums);
    }
  }

  // Neighbours from position `first` on, whose kept values are at `place`: in shared memory they move as one vector.
  void elements(int l, ValueId first, ValueId place, bool in_shared) {
    const auto take_all = [&](ValueId part, ValueId position) {
      for (Value v : reductions(l)) {
        Reducer reduce = c_.reducer(v);
        Accumulator next{nest_.get(nest_.instr(v).args[0]), -1};
        if (reduce.has_index()) next.beside = nest_.position(position);
        reduce.store(chain_.at(v), part, reduce.combine(reduce.load(chain_.at(v), part), next));
      }
    };
    if (!quads_) {
      nest_.bind(lane_, first);
      point(l, full(l), [&](int) { return place; });
      return take_all(c_.literal(0), first);
    }
    Quads quads(c_);
    if (in_shared) {
      for (Value v : plan_.carried_in[l]) {
        if (carry_.count(v) != 0) quads.read(v, carry_.at(v), place);
      }
    }
    const std::vector<Value> single = through(quads, l, first);
    if (in_shared) {
      for (Value v : full(l)) {
        if (carry_.count(v) != 0) quads.write(v, carry_.at(v), place);
      }
    }
    quads.each([&](ValueId k) {
      const ValueId position = c_.add(first, k);
      nest_.bind(lane_, position);
      if (in_shared) {
        for (Value v : single) nest_.emit(v);
      } else {
        point(l, single, [&](int) { return c_.add(place, k); });
      }
      take_all(k, position);
    });
  }

  // Reduction number r of a loop, from what the chains came to: the tree's blocks by warps, beginning with another warp for each r.
  void add_chains(Value v, size_t number) {
    Reducer chain = c_.reducer(v), total = chain.total();
    const AccumulatorBuffers& lanes = (total.keeps_rest() ? totals_ : accumulators_).at(v);
    const ValueId blocks = nest_.size(blocks_), shift = c_.literal(static_cast<int64_t>(number) % gangs_);
    const ValueId before = c_.add(gang_number_, c_.sub(c_.literal(gangs_), shift));
    const ValueId first = b_.op(Op::Where, {c_.less(gang_number_, shift), before, c_.sub(gang_number_, shift)});
    const int64_t all = block_row_->chains();
    c_.loop(first, blocks, gangs_, [&](ValueId block) {
      start(total, lanes);
      const ValueId begin = c_.mul(block, c_.literal(kChainsOfBlock));
      const bool whole = blocks_ <= 1 || all % kChainsOfBlock == 0;
      const ValueId count = whole ? c_.literal(std::min(all, kChainsOfBlock))
                                  : c_.minimum(c_.sub(c_.literal(all), begin), c_.literal(kChainsOfBlock));
      c_.loop(c_.literal(0), count, 1, [&](ValueId of_block) {
        const ValueId line = c_.mul(c_.add(begin, of_block), c_.literal(kLanes));
        for (int64_t part = 0; part < parts_; ++part) {
          const ValueId at = c_.literal(part), place = c_.add(line, place_in_step(at));
          total.store(lanes, at, total.combine(total.load(lanes, at), chain.load(chains_.at(v), place)));
        }
      }, whole);
      std::vector<Accumulator> sums = lanes_in(total, lanes);
      for (Accumulator& sum : sums) sum = total.whole(sum);
      const Accumulator state = fold(chain, std::move(sums));
      only(lane_in_gang_, [&] { chain.store(partials_.at(v), block, state); });
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
      nest_.when(is_row_, [&] {
        only(lane_in_gang_, [&] {
          emit_after(l);
          remember(l, place, row_count_);
        });
      });
    });
  }

  Context& c_;
  bool holds_quads() const { return quads_ && !block_row_; }

  static constexpr int64_t kChainsOfBlock = ir::kLaneBlock / kChainSpan;
  std::optional<BlockRow> block_row_;
  int64_t threads_, row_count_;
  bool in_registers_;
  bool quads_ = false;               // a thread takes four neighbours at a time
  bool halves_ = false;              // a half of the warp has elements 0..511 of the row, the other those from 512 on
  int64_t gang_ = kWarp, gangs_ = 0; // threads that take a row, or a block of it, together
  int64_t parts_ = kAccumulators;    // accumulators of a thread
  int64_t slots_ = kAccumulators;    // registers a thread for each kept value
  std::map<Value, AccumulatorBuffers> accumulators_;
  std::map<Value, AccumulatorBuffers> totals_;          // of chains, of block values
  std::map<Value, AccumulatorBuffers> partials_;        // long: shared, split: global
  std::map<Value, int32_t> in_thread_, in_shared_;      // block: where kept values are
  std::map<Value, AccumulatorBuffers> chain_, chains_;  // block: a thread's chain of each lane; shared: of all
  std::map<Value, int32_t> operands_;                   // halves: of reductions, what each slot gives them
  ValueId team_ = -1, lane_in_team_ = -1;               // block
  ValueId half_ = -1, lane_in_half_ = -1;               // halves
  ValueId lane_in_gang_ = -1, gang_number_ = -1, slot_ = -1;
  ValueId is_row_ = -1;       // whether the gang's row is one, and not the last one again; -1: that does not matter
  const bool writes_over_;    // results may lie over operands
};

}  // namespace

void lower_rows(Context& c) {
  std::optional<BlockRow> row;
  const Kept kept = plan(c, row);
  Rows(c, kept, std::move(row)).lower();
}

}  // namespace tenon::passes::gpu
