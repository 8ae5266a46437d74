// Values of rows and elements between the loops of a kernel with reductions; see staged.h.
#include "passes/schedule/staged.h"

#include <algorithm>

namespace tenon::passes {

void Staged::emit_values(int available) {
  for (Value v : plan_.rows[available]) {
    if (nest_.instr(v).op != Op::Store && !nest_.known(v)) each(v, [&](int) { nest_.emit(v); });
  }
}

void Staged::emit_stores(int available) {
  for (Value v : plan_.rows[available]) {
    if (nest_.instr(v).op == Op::Store) each(v, [&](int) { nest_.emit(v); });
  }
}

bool Staged::has_stores(int available) const {
  const std::vector<Value>& rows = plan_.rows[available];
  return std::any_of(rows.begin(), rows.end(), [&](Value v) { return nest_.instr(v).op == Op::Store; });
}

void Staged::point(int l, std::span<const Value> instrs, const Place& place) {
  const auto mask = [&](Value v) { return nest_.varies(v) ? nest_.mask() : -1; };
  for (Value v : plan_.carried_in[l]) {
    each(v, [&](int q) { nest_.set(v, b_.load(carry_.at(v), place(q), nest_.lanes(v), mask(v))); });
  }
  for (Value v : instrs) each(v, [&](int) { nest_.emit(v); });
  for (Value v : full(l)) {
    if (const auto it = carry_.find(v); it != carry_.end()) {
      each(v, [&](int q) { b_.store(it->second, place(q), nest_.get(v), mask(v)); });
    }
  }
}

void Staged::recall(int l, const Place& place) {
  emit_values(0);
  for (const auto& [v, buffer] : remembered_) {
    if (plan_.available[v] > l) continue;
    each(v, [&](int q) { nest_.set(v, b_.load(buffer, place(q), nest_.lanes(v))); });
  }
}

// A phase's body may stand more than once, for whole tiles and for what is left over.
void Staged::remember(int l, const Place& place, int64_t count) {
  for (Value v : plan_.values_after(c_.kernel, l)) {
    auto it = std::find_if(remembered_.begin(), remembered_.end(), [&](const auto& known) { return known.first == v; });
    if (it == remembered_.end()) {
      it = remembered_.emplace(it, v, c_.buffer("row", nest_.instr(v).dtype, Space::Global, count));
    }
    each(v, [&](int q) { b_.store(it->second, place(q), nest_.get(v)); });
  }
}

RowStages::RowStages(Context& context, const ReduceLoops& plan) : Staged(context, plan) {
  rows_ = c_.axes(AxisKind::Parallel);
  outer_ = c_.axes(AxisKind::Inner);
  lane_ = outer_.back();
  outer_.pop_back();
  length_ = c_.extent(lane_);
  count_ = c_.product(outer_);
  const bool chunks = length_ >= ir::kLaneBlock;  // blocks are pieces of one run of lanes, not groups of whole ones
  blocks_along_ = chunks ? ceil_div(length_, ir::kLaneBlock) : 1;
  rows_per_block_ = chunks ? 1 : std::max<int64_t>(1, ir::kLaneBlock / std::max<int64_t>(1, length_));
  blocks_ = chunks ? count_ * blocks_along_ : ceil_div(count_, rows_per_block_);
}

RowStages::Range RowStages::whole_row() {
  const bool outer = !outer_.empty();
  return {outer ? c_.literal(0) : -1, outer ? nest_.size(count_) : -1, c_.literal(0), nest_.extent(lane_)};
}

RowStages::Range RowStages::block_range(ValueId block) {
  if (blocks_ <= 1) return whole_row();
  const ValueId end = nest_.extent(lane_);
  if (length_ < ir::kLaneBlock) {
    const ValueId step = nest_.size(rows_per_block_), begin = c_.mul(block, step);
    return {begin, c_.minimum(c_.add(begin, step), nest_.size(count_)), c_.literal(0), end};
  }
  ValueId outer = -1, outer_end = -1;
  if (!outer_.empty()) {
    std::tie(outer, block) = c_.divide(block, nest_.size(blocks_along_));
    outer_end = c_.add(outer, c_.literal(1));
  }
  const ValueId length = c_.literal(ir::kLaneBlock), begin = c_.mul(block, length);
  return {outer, outer_end, begin, c_.minimum(c_.add(begin, length), end)};
}

void RowStages::for_outer(int l, const Range& range, const std::function<void(ValueId base)>& body) {
  const auto one = [&](ValueId base) {
    inner_.clear();
    // What is computed from a value that is read back stays with it, though it may not vary.
    std::vector<bool> late(c_.kernel.instrs.size(), false);
    for (Value v : plan_.carried_in[l]) late[v] = true;
    for (Value v : full(l)) {
      const Instr& in = nest_.instr(v);
      late[v] =
          std::any_of(in.args.begin(), in.args.end(), [&](Value a) { return late[a]; });
      if (nest_.varies(v) || nest_.lanes() == 1 || late[v]) {
        inner_.push_back(v);
      } else {
        each(v, [&](int) { nest_.emit(v); });
      }
    }
    prepare(inner_);
    body(base);
  };
  if (outer_.empty()) return c_.in_scope([&] { one(-1); });
  c_.loop(range.outer_begin, range.outer_end, 1, [&](ValueId outer) {
    nest_.bind_linear(outer_, outer);
    one(c_.mul(outer, nest_.extent(lane_)));
  });
}

}  // namespace tenon::passes
