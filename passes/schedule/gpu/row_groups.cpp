#include "passes/schedule/gpu/row_groups.h"

#include <algorithm>
#include <bit>

namespace tenon::passes::gpu {
namespace {

constexpr int64_t kShortestOfVectors = 128;  // of shorter rows folding four lanes a thread costs more than it saves
constexpr int64_t kHalfWarpRow = 512;        // elements of a row that half a warp takes: 32 a thread; of a longer one that stays in
                                             // registers the warp's other half has the rest
constexpr int64_t kThreadsAtOnce = 1024;     // of a multiprocessor, that hide how long memory takes

// Whether a buffer is read and then written at the same place: its rows are done once.
bool updates(const Context& c) {
  return std::ranges::any_of(c.kernel.buffers, [](const ir::KernelBuffer& b) { return b.role == ir::Role::InOut; });
}

}  // namespace

bool moves_as_vectors(const ir::Kernel& kernel, int axis) {
  if (kernel.extent(axis) % kVector != 0) return false;
  const std::vector<bool> varies = varying_along(kernel, axis);
  for (Value v = 0; v < static_cast<Value>(kernel.instrs.size()); ++v) {
    const Instr& in = kernel.instr(v);
    if (in.level != Level::Full || (in.op != Op::Load && in.op != Op::Store) || (in.op == Op::Load && !varies[v])) continue;
    if (in.scale != 0 && kernel.instr(in.position()).level != Level::Row) return false;
    if (!moves_as_vector(kernel, in, axis, varies)) return false;
  }
  return true;
}

RowGroups::RowGroups(Context& c, Kept kept, int64_t threads)
    : RowStages(c, c.loops),
      c_(c),
      threads_(threads),
      row_count_(c.product(rows_)),
      slots_(kLanes / kWarp),
      parts_(kLanes / kWarp),
      in_registers_(kept == Kept::Registers),
      in_block_(kept == Kept::Block) {
  c.out.tree.threads = static_cast<int>(threads_);
  const auto group = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length_)));
  in_vectors_ = moves_as_vectors(c.kernel, lane_);
  halves_ = in_vectors_ && in_registers_ && length_ > kHalfWarpRow;
  if (!in_block_ && !halves_) in_vectors_ = in_vectors_ && !updates(c) && length_ >= kShortestOfVectors;
  if (blocks_ <= 1 && (group < kWarp ? !updates(c) : group == kWarp)) {
    group_ = group;
    parts_ = slots_ = 1;
  } else if (holds_vectors()) {
    group_ = halves_ ? kWarp : kVectorThreads;
    parts_ = slots_ = kVector;
  }
  groups_ = threads_ / group_;
  while (slots_ * group_ < length_) slots_ *= 2;
}

void RowGroups::begin(int64_t kept) {
  c_.ask_for_blocks(kThreadsAtOnce / threads_, registers(kept));
  for (const std::vector<Value>& loop : plan_.reductions) {
    for (Value v : loop) {
      accumulators_[v] = c_.reducer(v).buffers("acc" + std::to_string(v), Space::Local, parts_);
      const bool has_total = in_chains(v) || (blocks_ > 1 && c_.reducer(v).keeps_rest());
      if (has_total) totals_[v] = c_.reducer(v).total().buffers("total" + std::to_string(v), Space::Local, parts_);
      if (halves_ && in_order(v)) operands_[v] = c_.fixed_buffer("operand" + std::to_string(v), nest_.instr(v).dtype, Space::Local, slots_);
    }
  }
}

// That a thread may need: what it keeps from one loop to the next, what it loads at once, and places and results in between.
int64_t RowGroups::registers(int64_t kept) const {
  int64_t loaded = 0, widest = 1;
  for (const Instr& in : c_.kernel.instrs) {
    widest = std::max(widest, words(in.dtype));
    if (in.op == Op::Load && in.level == Level::Full) loaded += words(in.dtype) * (in_vectors_ ? kVector : 1);
  }
  return kept + loaded + (widest > 1 ? 100 : 28);  // sums of doubles, and what they round away, take twice as many
}

void RowGroups::bind_group() {
  std::tie(group_number_, lane_in_group_) = place_in_group(c_, group_);
  if (halves_) std::tie(half_, lane_in_half_) = c_.divide(lane_in_group_, c_.literal(kVectorThreads));
}

// --- walking a row

ValueId RowGroups::place_in_step(ValueId part) {
  if (holds_vectors()) return c_.add(c_.mul(halves_ ? lane_in_half_ : lane_in_group_, c_.literal(kVector)), part);
  return c_.add(c_.mul(part, c_.literal(kWarp)), lane_in_group_);
}

// Where the step with this first slot begins.
ValueId RowGroups::register_step(ValueId slot) {
  if (!halves_) return c_.mul(slot, c_.literal(group_));
  return c_.add(c_.mul(slot, c_.literal(kVectorThreads)), c_.mul(half_, c_.literal(kHalfWarpRow)));
}

// element(instrs, part, position) for this thread's positions of begin .. end of the lane axis, 64 of the group's at a step.
// `instrs`: those of loop l that are computed for each element alone.
template <typename Element>
void RowGroups::lanes(int l, ValueId begin, ValueId end, const Element& element) {
  const ValueId zero = c_.literal(0);
  if (parts_ == 1) {
    end_chains(reductions(l));
    return only_lane(end, element);
  }
  const bool ragged = in_registers_ ? slots_ * group_ != length_ : length_ % kLanes != 0;
  const auto before_end = [&](ValueId position) { return ragged ? c_.less(position, end) : kAlways; };
  // In registers steps are counted by their first slot.
  const auto at_step = [&](ValueId step) { return in_registers_ ? register_step(step) : step; };
  const auto part_of = [&](std::span<const Value> instrs, ValueId step, ValueId part, ValueId position) {
    slot_ = in_registers_ ? c_.add(step, part) : kNone;
    nest_.bind(lane_, position);
    element(instrs, part, position);
  };
  const auto one_by_one = [&](ValueId step) {
    c_.unrolled(parts_, [&](ValueId part) {
      const ValueId position = c_.add(at_step(step), place_in_step(part));
      nest_.when(before_end(position), [&] { part_of(inner_, step, part, position); });
    });
  };
  const auto together = [&](ValueId step) {
    const ValueId first = c_.add(at_step(step), place_in_step(zero));
    nest_.when(before_end(first), [&] {
      VectorAccess access(c_);
      const std::vector<Value> single = through(access, l, first);
      access.each([&](ValueId part) { part_of(single, step, part, c_.add(first, part)); });
    });
  };
  const auto steps = [&](ValueId step) {
    begin_step(reductions(l), step);
    in_vectors_ ? together(step) : one_by_one(step);
  };
  if (in_registers_) {
    c_.unrolled(zero, c_.literal(slots_), parts_, steps);
  } else {
    c_.loop(begin, end, kLanes, steps);
  }
}

std::vector<Value> RowGroups::through(VectorAccess& access, int l, ValueId first) {
  const std::vector<bool> varies = varying_along(c_.kernel, lane_);
  std::vector<Value> moved, single;
  for (Value v : full(l)) {
    const Op op = nest_.instr(v).op;
    (op == Op::Store || (op == Op::Load && varies[v]) ? moved : single).push_back(v);
  }
  access.move(moved, lane_, first);
  return single;
}

// The loop over a row that has a thread for each element.
template <typename Element>
void RowGroups::only_lane(ValueId end, const Element& element) {
  slot_ = c_.literal(0);
  nest_.when(group_ != length_ ? c_.less(lane_in_group_, end) : kAlways, [&] {
    nest_.bind(lane_, lane_in_group_);
    element(inner_, slot_, lane_in_group_);
  });
}

void RowGroups::accumulate(int l, ValueId block) {
  for (Value v : reductions(l)) start(v);
  const Range range = block_range(block);
  for_outer(l, range, [&](ValueId base) {
    lanes(l, range.begin, range.end, [&](std::span<const Value> instrs, ValueId part, ValueId position) {
      point(l, instrs, [&](int) { return slot_; });
      for (Value v : reductions(l)) {
        Reducer reduce = c_.reducer(v);
        Accumulator next{nest_.get(nest_.instr(v).args[0])};
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
void RowGroups::join_halves(int l, ValueId end) {
  const ValueId source = b_.op(Op::Cast, {lane_in_half_}, DType::I32);
  const auto of_first = [&](ValueId x) { return x < 0 ? x : shuffled(b_, x, source); };
  for (Value v : reductions(l)) {
    Reducer reduce = c_.reducer(v);
    for (int64_t i = 0; i < parts_; ++i) {
      const ValueId part = c_.literal(i);
      const Accumulator own = reduce.load(accumulators_.at(v), part), first{of_first(own.value), of_first(own.beside)};
      reduce.store(accumulators_.at(v), part, in_order(v) ? first : reduce.combine(first, own));
    }
    if (!in_order(v)) continue;
    c_.unrolled(c_.literal(0), c_.literal(slots_), parts_, [&](ValueId step) {
      const ValueId first = c_.add(register_step(step), place_in_step(c_.literal(0)));
      nest_.when(slots_ * group_ != length_ ? c_.less(first, end) : kAlways, [&] {
        for (int64_t i = 0; i < parts_; ++i) take(v, c_.literal(i), {b_.load(operands_.at(v), c_.add(step, c_.literal(i)), 1)});
      });
    });
  }
}
// Whether the order of its elements is part of its value, even where they stay neighbours.
bool RowGroups::in_order(Value reduction) const {
  const Instr& in = nest_.instr(reduction);
  return (in.op == Op::Sum || in.op == Op::Prod) && ir::is_float(in.dtype);
}

void RowGroups::start(Value reduction) {
  start(c_.reducer(reduction), accumulators_.at(reduction));
  if (in_chains(reduction)) start(c_.reducer(reduction).total(), totals_.at(reduction));
}

void RowGroups::start(Reducer reduce, const AccumulatorBuffers& at) {
  const Accumulator identity = reduce.identity();
  for (int64_t part = 0; part < parts_; ++part) reduce.store(at, c_.literal(part), identity);
}

// Where a step begins a chain of each lane, those before go to the totals.
void RowGroups::begin_step(const std::vector<Value>& reductions, ValueId step) {
  if (in_registers_ || !in_chains(reductions)) return;
  const ValueId of_chain = b_.op(Op::And, {step, c_.literal(kLanes * ir::kReduceChain - 1)});
  nest_.when(b_.op(Op::Eq, {of_chain, c_.literal(0)}), [&] { end_chains(reductions); });
}

void RowGroups::end_chains(const std::vector<Value>& reductions) {
  for (Value v : reductions) {
    if (!in_chains(v)) continue;
    Reducer sum = c_.reducer(v), total = sum.total();
    for (int64_t part = 0; part < parts_; ++part) {
      const ValueId at = c_.literal(part);
      total.store(totals_.at(v), at, total.combine(total.load(totals_.at(v), at), sum.load(accumulators_.at(v), at)));
      sum.store(accumulators_.at(v), at, sum.identity());
    }
  }
}

void RowGroups::take(Value reduction, ValueId part, Accumulator next) {
  Reducer reduce = c_.reducer(reduction);
  const AccumulatorBuffers& accumulator = accumulators_.at(reduction);
  reduce.store(accumulator, part, reduce.combine(reduce.load(accumulator, part), next));
}

// --- folding

Accumulator RowGroups::fold(Value reduction) {
  Reducer sum = c_.reducer(reduction);
  if (!in_chains(reduction)) return fold(sum, lanes_in(sum, accumulators_.at(reduction)));
  end_chains({reduction});
  Reducer total = sum.total();
  std::vector<Accumulator> lanes = lanes_in(total, totals_.at(reduction));
  for (Accumulator& lane : lanes) lane = total.whole(lane);
  return fold(sum, std::move(lanes));
}

std::vector<Accumulator> RowGroups::lanes_in(Reducer reduce, const AccumulatorBuffers& from) {
  std::vector<Accumulator> lanes;
  for (int64_t part = 0; part < parts_; ++part) lanes.push_back(reduce.load(from, c_.literal(part)));
  return lanes;
}

Accumulator RowGroups::fold(Reducer reduce, std::vector<Accumulator> lanes) {
  const auto halve = [&] {
    for (size_t i = 0; i < lanes.size() / 2; ++i) lanes[i] = reduce.combine(lanes[i], lanes[i + lanes.size() / 2]);
    lanes.resize(lanes.size() / 2);
  };
  if (!holds_vectors() && lanes.size() > 1) halve();
  for (int64_t distance = (halves_ ? kVectorThreads : group_) / 2; distance >= 1; distance /= 2) {
    const ValueId offset = b_.constant(ir::constant(DType::I32, distance));
    const auto further = [&](ValueId part) { return part < 0 ? part : shuffled_down(b_, part, offset); };
    for (Accumulator& lane : lanes) {
      const ValueId value = further(lane.value);
      lane = reduce.combine(lane, {value, further(lane.beside)});
    }
  }
  while (lanes.size() > 1) halve();
  return lanes[0];
}

void RowGroups::finish(Value reduction, Accumulator folded) {
  const ValueId result = c_.reducer(reduction).result(folded);
  if (group_ == 1) return nest_.set(reduction, result);
  ValueId first = b_.constant(ir::constant(DType::I32, halves_ ? kVectorThreads : 0));
  if (group_ < kWarp) {
    const ValueId in_warp = place_in_group(c_, kWarp).second;
    first = b_.op(Op::Cast, {c_.sub(in_warp, lane_in_group_)}, DType::I32);
  }
  nest_.set(reduction, shuffled(b_, result, first));
}

void RowGroups::fold_partials(Value reduction, ValueId base, ValueId count) {
  open_total(reduction);
  add_to_total(reduction, partials_.at(reduction), base, count);
  finish_total(reduction);
}

void RowGroups::open_total(Value reduction) { start(c_.reducer(reduction).total(), lanes_of_total(reduction)); }

void RowGroups::add_to_total(Value reduction, const AccumulatorBuffers& from, ValueId base, ValueId count) {
  Reducer block = c_.reducer(reduction), total = block.total();
  const AccumulatorBuffers& lanes = lanes_of_total(reduction);
  c_.loop(c_.literal(0), count, kLanes, [&](ValueId step) {
    c_.unrolled(parts_, [&](ValueId part) {
      const ValueId number = c_.add(step, place_in_step(part));
      nest_.when(c_.less(number, count), [&] {
        const Accumulator value = block.load(from, at(base, number));
        total.store(lanes, part, total.combine(total.load(lanes, part), value));
      });
    });
  });
}

void RowGroups::finish_total(Value reduction) {
  Reducer total = c_.reducer(reduction).total();
  const AccumulatorBuffers& lanes = lanes_of_total(reduction);
  finish(reduction, total.whole(fold(total, lanes_in(total, lanes))));
}

void RowGroups::store_partials(int l, ValueId place) {
  for (Value v : reductions(l)) {
    const Accumulator state = fold(v);
    only(lane_in_group_, [&] { c_.reducer(v).store(partials_.at(v), place, state); });
  }
}

}  // namespace tenon::passes::gpu
