// How the slices of a contraction's operands get to shared memory; see ring.h.
#include "passes/schedule/gpu/ring.h"

#include <algorithm>
#include <string>

#include "passes/schedule/gpu/vector_access.h"

namespace tenon::passes::gpu {

bool copies_pieces(const ir::Kernel& kernel, const Instr& load, int axis) {
  const int64_t together = kPieceBytes / ir::item_size(load.dtype);
  if (load.op != Op::Load || axis < 0 || together == 1 || kernel.extent(axis) % together != 0) return false;
  if (!load.guards.empty()) {  // a copy puts zeros where it reads nothing
    const Instr& otherwise = kernel.instr(load.args[0]);
    if (otherwise.op != Op::Const || otherwise.bits != 0) return false;
  }
  return lies_as_vector(kernel, load, axis, varying_along(kernel, axis), together);
}

void run_ring(Context& c, const RingSteps& steps, const RingStep& fill, const RingStep& use, const RingStep& rest) {
  ir::TreeBuilder& b = c.builder;
  const int64_t ahead = int64_t{steps.stages - 1} * steps.step;
  const ValueId filled = b.var(c.literal(0));  // the stage that is filled next
  c.loop(c.add(steps.begin, c.literal(-ahead)), steps.end, steps.step, [&](ValueId at) {
    const ValueId next = b.get(filled), after = c.add(next, c.literal(1));
    const ValueId stage = b.op(Op::Where, {b.op(Op::Eq, {after, c.literal(steps.stages)}), c.literal(0), after});
    b.set(filled, stage);
    if (steps.copies) b.wait(steps.stages - 2);
    b.barrier();
    const ValueId coming = c.add(at, c.literal(ahead)), more = c.less(coming, steps.end);
    c.nest.when(more, [&] { fill(coming, next); });
    if (steps.copies) b.commit();
    c.nest.when(b.op(Op::Ge, {at, steps.begin}), [&] { use(at, stage); });
    if (rest) c.nest.when(more, [&] { rest(coming, next); });
  });
  if (!steps.copies) return;
  b.commit();  // of what was copied before the first step, where there is none
  b.wait(0);
}

Ring::Ring(Context& c, const Tile& tile, int k, bool zero_filled, Operand& left, Operand& right)
    : c_(c),
      nest_(c.nest),
      b_(c.builder),
      tile_(tile),
      k_(k),
      depth_(c.extent(k)),
      zero_filled_(zero_filled),
      left_(&left),
      right_(&right) {
  for (Operand* side : {left_, right_}) choose_pieces(*side);
  if (left.copied || right.copied) stages_ = stages_of(tile, ir::item_size(left.panel->dtype));
  for (Operand* side : {left_, right_}) {
    Panel& panel = *side->panel;
    const std::string name = side == left_ ? "left0" : "right0";
    panel.shared = b_.add_buffer({name, panel.dtype, Space::Shared, kNone, panel.stage() * stages_, false, stages_});
    find_vectors(*side);
  }
}

// Copied asynchronously, by 16 bytes, or through registers: halves four at a time, others one by one.
void Ring::choose_pieces(Operand& side) {
  const Panel& panel = *side.panel;
  const int axis = side.along_depth ? k_ : side.axes.empty() ? kNoAxis : side.axes.back();
  const auto together = static_cast<int>(kPieceBytes / ir::item_size(panel.dtype));
  const bool as_it_lies = panel.k_innermost == side.along_depth && panel.pitch % together == 0;
  side.copied = as_it_lies && side.chain.size() == 1 && side.chain[0] == side.value &&
                copies_pieces(c_.kernel, nest_.instr(side.value), axis) && staged_evenly(tile_, panel.width, together);
  side.together = side.copied ? together : panel.turned ? kVector : 1;
}

int64_t Ring::registers() const {
  int64_t registers = 0;
  for (const Operand* side : {left_, right_}) {
    const int64_t bytes = std::max<int64_t>(4, ir::item_size(side->panel->dtype));
    if (!side->copied) registers += int64_t{pieces_of_thread(*side)} * side->together * bytes / 4;
  }
  return registers;
}

void Ring::run(const RingStep& multiply) {
  begin(*left_);
  begin(*right_);
  const auto fill = [&](ValueId slice, ValueId stage) {
    for (Operand* side : {left_, right_}) side->copied ? copy(*side, slice, stage) : take(*side, slice);
  };
  const auto rest = [&](ValueId, ValueId stage) {
    for (Operand* side : {left_, right_}) {
      if (!side->copied) give(*side, stage);
    }
  };
  const RingSteps steps{c_.literal(0), nest_.extent(k_), tile_.depth, stages_, left_->copied || right_->copied};
  run_ring(c_, steps, fill, multiply, left_->copied && right_->copied ? RingStep() : rest);
}

// f(r) for the first `count` rows that a thread stages, as sub-vectors of the nest.
template <typename F>
void Ring::each_row(const Operand& side, int count, const F& f) {
  nest_.set_sub_axes(side.axes);
  for (int r = 0; r < count; ++r) {
    nest_.set_sub(r);
    f(r);
  }
  nest_.set_sub(0);
}

// Binds the rows (columns) that a thread stages, and computes what stays the same for all k.
void Ring::begin(Operand& side) {
  side.last = c_.sub(nest_.size(side.extent), c_.literal(1));
  auto [far, near] = c_.divide(c_.thread(), c_.literal(run_of(side)));
  if (side.together > 1) near = c_.mul(near, c_.literal(side.together));
  if (side.together > 1 && !side.copied) {
    const std::string name = "vector" + std::to_string(c_.out.tree.buffers.size());
    side.vector = c_.fixed_buffer(name, side.panel->dtype, Space::Local, side.together);
  }
  side.depth = side.along_depth ? near : far;
  const ValueId first = side.along_depth ? far : near;
  for (int p = 0; p < pieces_of_thread(side); ++p) {
    side.places.push_back(place_of_piece(side, p, first));
    for (int i = 0; i < side.together && !side.copied; ++i)
      side.taken.push_back(b_.var(b_.constant(ir::constant(side.panel->dtype, int64_t{0}))));
  }
  const bool row_vectors = !side.along_depth && (side.copied || !side.vectors.empty());  // past the last row that ends of the last vector
  each_row(side, side.copied && row_vectors ? 1 : rows_of_thread(side), [&](int r) {
    const ValueId row = c_.add(side.begin, c_.offset(first, int64_t{r} * (side.along_depth ? step(side) : 1)));
    bind_within(side, row, c_.offset(side.last, row_vectors ? r + 1 - side.together : 0));
    nest_.emit_new(side.hoisted);
    nest_.prepare(side.chain);
  });
}

// A piece is lines or elements behind the one before it, so all but the first cost no instruction where lines turn alike.
Operand::Place Ring::place_of_piece(const Operand& side, int number, ValueId first_row) {
  const Panel& panel = *side.panel;
  const bool lines = panel.k_innermost == side.along_depth, alike = !panel.turned || step(side) % kTurns == 0;
  const int64_t by = int64_t{number} * step(side);
  if (alike) return {number > 0 ? side.places[0].first : place(panel, side.depth, first_row), by * (lines ? panel.pitch : 1)};
  return {place(panel, c_.offset(side.depth, side.along_depth ? 0 : by), c_.offset(first_row, side.along_depth ? by : 0)), 0};
}

ValueId Ring::place(const Panel& panel, ValueId k, ValueId row) {
  const ValueId line = panel.k_innermost ? row : k, element = panel.k_innermost ? k : row;
  if (panel.turned) return Pieces(panel.pitch).place(c_, line, element);
  return c_.add(c_.mul(line, c_.literal(panel.pitch)), element);
}

// A row past the last one is the last one again. Threads that stage nothing may be past it too.
void Ring::bind_within(const Operand& side, ValueId row, ValueId last) {
  if (side.extent % side.panel->width != 0 || pieces(side) < threads()) row = c_.minimum(row, last);
  nest_.bind_linear(side.axes, row);
}

// Copies the pieces of a slice that the thread stages to the stage.
void Ring::copy(Operand& side, ValueId slice, ValueId stage) {
  const Value load = side.value;
  nest_.when(stages(side), [&] {
    const ValueId first = c_.add(slice, side.depth), base = c_.mul(stage, c_.literal(side.panel->stage()));
    for (int i = 0; i < (side.along_depth ? 1 : pieces_of_thread(side)); ++i) {
      c_.in_scope([&] {
        const ValueId k = c_.offset(first, int64_t{i} * step(side)), inside = bind_k(k, side.along_depth ? side.together : 1);
        each_row(side, side.along_depth ? pieces_of_thread(side) : 1, [&](int r) {
          const Operand::Place& place = side.places[static_cast<size_t>(side.along_depth ? r : i)];
          const ValueId to = c_.offset(c_.add(base, place.first), place.further);
          b_.copy_async(side.panel->shared, to, nest_.instr(load).slot, nest_.position_of(load), nest_.both(inside, nest_.inside(load)));
        });
      });
    }
  });
}

// Puts what the thread has taken to shared memory.
void Ring::give(Operand& side, ValueId stage) {
  nest_.when(stages(side), [&] {
    const ValueId base = c_.mul(stage, c_.literal(side.panel->stage()));
    auto taken = side.taken.begin();
    for (const Operand::Place& place : side.places) {
      const ValueId to = c_.offset(c_.add(base, place.first), place.further);
      if (side.together == 1) {
        b_.store(side.panel->shared, to, b_.get(*taken++));
        continue;
      }
      for (int i = 0; i < side.together; ++i) b_.store(side.vector, c_.literal(i), b_.get(*taken++));
      b_.store(side.panel->shared, to, b_.load(side.vector, c_.literal(0), side.together));
    }
  });
}

// Loads the elements of a slice that the thread stages to registers.
void Ring::take(Operand& side, ValueId slice) {
  nest_.when(stages(side), [&] {
    const ValueId first = c_.add(slice, side.depth);
    std::vector<ValueId> vectors;
    if (side.along_depth && !side.vectors.empty()) {
      c_.in_scope([&] {
        bind_k(first, side.together);
        vectors = load_vectors(side, rows_of_thread(side));
      });
    }
    for (int i = 0; i < k_of_thread(side); ++i) {
      c_.in_scope([&] {
        const ValueId inside = bind_k(c_.offset(first, int64_t{i} * (side.along_depth ? 1 : step(side))), 1);
        if (!side.along_depth) vectors = load_vectors(side, 1);
        each_row(side, rows_of_thread(side), [&](int r) {
          const int piece = side.along_depth ? r : i, neighbour = side.along_depth ? i : r;
          pick(side, vectors, side.along_depth ? r : 0, neighbour);
          nest_.emit_new(side.chain);
          b_.set(side.taken[static_cast<size_t>(piece * side.together + neighbour)], or_zero(side, inside));
        });
      });
    }
  });
}

// Which loads read the neighbours of a piece as one vector: all of these are inside, or none.
void Ring::find_vectors(Operand& side) {
  const int axis = side.along_depth ? k_ : side.axes.empty() ? kNoAxis : side.axes.back();
  if (side.copied || side.together != kVector || axis < 0 || c_.extent(axis) % kVector != 0) return;
  const std::vector<bool> varies = varying_along(c_.kernel, axis);
  for (Value v : side.chain) {
    if (nest_.instr(v).op == Op::Load && moves_as_vector(c_.kernel, nest_.instr(v), axis, varies, kVector)) side.vectors.push_back(v);
  }
}

// Those of the first `rows` rows that a thread stages, row by row.
std::vector<ValueId> Ring::load_vectors(const Operand& side, int rows) {
  std::vector<ValueId> loaded;
  each_row(side, rows, [&](int) {
    for (Value v : side.vectors) loaded.push_back(b_.load(nest_.instr(v).slot, nest_.position_of(v), side.together));
  });
  return loaded;
}

// Those loads are the neighbour of that number from here on.
void Ring::pick(const Operand& side, const std::vector<ValueId>& vectors, int row, int neighbour) {
  for (size_t v = 0; v < side.vectors.size(); ++v) {
    const ValueId vector = vectors[static_cast<size_t>(row) * side.vectors.size() + v];
    nest_.set(side.vectors[v], b_.let(Op::Extract, {vector, c_.literal(neighbour)}, {b_.type(vector).dtype, 1}));
  }
}

// So many k; past the last one the last ones again. Gives whether they are inside, if anyone asks.
ValueId Ring::bind_k(ValueId k, int64_t count) {
  const bool ragged = depth_ % tile_.depth != 0;
  nest_.bind(k_, ragged ? c_.minimum(k, c_.sub(nest_.extent(k_), c_.literal(count))) : k);
  return ragged && zero_filled_ ? c_.less(k, nest_.extent(k_)) : kAlways;
}

ValueId Ring::or_zero(const Operand& side, ValueId inside) {
  const ValueId value = nest_.get(side.value);
  return inside < 0 ? value : b_.op(Op::Where, {inside, value, b_.constant(ir::constant(side.panel->dtype, int64_t{0}))});
}

}  // namespace tenon::passes::gpu
