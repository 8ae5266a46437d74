// Schedule for Columns reductions: each lane is a result of its own, the inner axes are a serial loop, and a
// parallel iteration takes a tile of neighbouring columns. Blocks of 256 elements are summed apart and added
// in order.
//
//   phase columns: parallel (outer, tile)
//     for b in 0..rows step 256 {
//       block = identity; for r in b..b+256 { block += x[r, tile] }; total += block }
#include <algorithm>
#include <map>

#include "passes/schedule_cpu.h"

namespace tenon::passes::cpu {

using ir::AxisKind;
using ir::kColumnBlock;
using ir::Op;
using ir::Value;
using ir::ValueId;

namespace {

// Vectors of columns side by side. A plain sum takes long runs of each row, which memory likes better than
// short ones; larger bodies have other uses for the registers. A scan stores every row again, far from the one
// before, so that single lines of cache would cost more than registers do.
int columns_at_once(const Context& c, int64_t columns) {
  size_t instrs = c.kernel.instrs.size();
  int vectors = instrs <= 6 ? 16 : instrs <= 24 ? 4 : instrs <= 60 ? 2 : 1;
  if (c.kernel.has(AxisKind::Serial)) vectors = std::max(vectors, 4);
  while (vectors > 1 && int64_t{vectors} * c.lanes > columns) vectors /= 2;
  return vectors;
}

}  // namespace

ColumnTiles::ColumnTiles(Context& c) : c_(c), lane_(best_lane_axis(c.kernel)) {
  for (int a : c.axes(AxisKind::Parallel)) {
    if (a != lane_) outer_.push_back(a);
  }
  c.nest.set_lane_axis(lane_, c.lanes);
  vectors_ = columns_at_once(c, c.extent(lane_));
  width_ = int64_t{vectors_} * c.lanes;
}

void ColumnTiles::run(std::string phase, double ns, const std::function<void(int vectors)>& body) {
  Nest& nest = c_.nest;
  ir::TreeBuilder& b = c_.builder;
  int64_t columns = c_.extent(lane_), tiles = (columns + width_ - 1) / width_;
  ValueId tile = c_.begin_phase(std::move(phase), c_.product(outer_) * tiles, ns);
  if (!outer_.empty()) {
    auto [row, within] = c_.divide(tile, nest.size(tiles));
    nest.bind_linear(outer_, row);
    tile = within;
  }
  ValueId begin = c_.mul(tile, nest.literal(width_)), end = nest.size(columns);
  b.begin_if(b.op(Op::Le, {c_.add(begin, nest.literal(width_)), end}));
  nest.push();
  for (int q = 0; q < vectors_; ++q) bind(q, c_.add(begin, nest.literal(int64_t{q} * nest.lanes())), -1);
  body(vectors_);
  nest.pop();
  b.begin_else();
  ValueId at = b.begin_for(begin, end, nest.lanes());
  nest.push();
  bind(0, at, nest.tail_mask(at, end));
  body(1);
  nest.pop();
  b.end_for();
  b.end_if();
  c_.end_phase();
}

void ColumnTiles::bind(int sub, ValueId position, ValueId mask) {
  c_.nest.set_sub(sub);
  c_.nest.bind(lane_, position);
  mask_ = mask;
}

void ColumnTiles::each(Value v, int vectors, const std::function<void(int q)>& f) {
  Nest& nest = c_.nest;
  for (int q = 0; q < (nest.varies(v) ? vectors : 1); ++q) {
    nest.set_sub(q);
    nest.set_mask(nest.varies(v) ? mask_ : -1);
    f(q);
  }
  nest.set_sub(0);
  nest.set_mask(-1);
}

namespace {

class Columns {
 public:
  explicit Columns(Context& c)
      : c_(c), nest_(c.nest), b_(c.builder), tiles_(c), plan_(plan_loops(c.kernel)) {
    inner_ = c.axes(AxisKind::Inner);
    count_ = c.product(inner_);
  }

  void lower() {
    c_.out.schedule = "columns";
    for (Value v : plan_.carried) {
      int64_t count = count_ * tiles_.width();
      carry_[v] = b_.add_buffer({"kept" + std::to_string(c_.out.tree.buffers.size()), nest_.instr(v).dtype,
                                 ir::Space::Local, nest_.size_slot(count), 0});
    }
    double ns = c_.ns_per_element * static_cast<double>(count_ * tiles_.width()) + 20;
    tiles_.run("columns", ns, [&](int vectors) { all_loops(vectors); });
  }

 private:
  void emit_rows(int available, int subs) {
    for (Value v : plan_.rows[static_cast<size_t>(available)]) {
      tiles_.each(v, subs, [&](int) { nest_.emit(v); });
    }
  }

  void all_loops(int subs) {
    for (int l = 0; l < plan_.loops; ++l) {
      emit_rows(l, subs);
      loop(l, subs);
    }
    emit_rows(plan_.loops, subs);
  }

  struct Column {
    Value reduction;
    int sub;
    Accumulator total, block;
  };

  Reducer reducer(Value reduction) {
    const ir::Instr& in = nest_.instr(reduction);
    return Reducer(b_, in, nest_.instr(in.args[0]).dtype);
  }
  int width(Value v) const { return tiles_.lanes(v); }

  void loop(int l, int subs) {
    std::vector<Column> columns;
    for (Value v : plan_.reductions[static_cast<size_t>(l)]) {
      tiles_.each(v, subs, [&](int q) {
        columns.push_back({v, q, reducer(v).open(reducer(v).identity(width(v))), {}});
      });
    }
    bool blocks = count_ > kColumnBlock && !columns.empty();
    ValueId begin = nest_.literal(0), end = nest_.size(count_);
    if (blocks) {
      begin = b_.begin_for(begin, end, kColumnBlock);
      end = c_.minimum(c_.add(begin, nest_.literal(kColumnBlock)), end);
    }
    for (Column& column : columns) {
      Reducer reduce = reducer(column.reduction);
      column.block = blocks ? reduce.open(reduce.identity(width(column.reduction))) : column.total;
    }
    ValueId at = b_.begin_for(begin, end, 1);
    nest_.push();
    nest_.bind_linear(inner_, at);
    point(l, subs, at);
    for (Column& column : columns) accumulate(column, at);
    nest_.pop();
    b_.end_for();
    if (blocks) {
      for (Column& column : columns) {
        Reducer reduce = reducer(column.reduction);
        reduce.write(column.total, reduce.combine(reduce.read(column.total), reduce.read(column.block)));
      }
      b_.end_for();
    }
    for (Column& column : columns) {
      Reducer reduce = reducer(column.reduction);
      nest_.set_sub(column.sub);
      nest_.set(column.reduction, reduce.result(reduce.read(column.total)));
    }
    nest_.set_sub(0);
  }

  // The full-level instructions of loop l for one element of every column.
  void point(int l, int subs, ValueId at) {
    auto kept = [&](int q) {
      return c_.add(c_.mul(at, nest_.literal(tiles_.width())), nest_.literal(int64_t{q} * nest_.lanes()));
    };
    for (Value v : plan_.carried_in[static_cast<size_t>(l)]) {
      tiles_.each(v, subs, [&](int q) { nest_.set(v, b_.load(carry_.at(v), kept(q), width(v))); });
    }
    for (Value v : plan_.full[static_cast<size_t>(l)]) {
      tiles_.each(v, subs, [&](int q) {
        nest_.emit(v);
        if (auto it = carry_.find(v); it != carry_.end()) b_.store(it->second, kept(q), nest_.get(v));
      });
    }
  }

  void accumulate(Column& column, ValueId at) {
    Reducer reduce = reducer(column.reduction);
    nest_.set_sub(column.sub);
    Value operand = nest_.instr(column.reduction).args[0];
    Accumulator element{width(column.reduction) > 1 ? nest_.vector(operand) : nest_.get(operand), -1};
    if (reduce.has_index()) element.index = b_.splat(at, width(column.reduction));
    reduce.write(column.block, reduce.combine(reduce.read(column.block), element));
    nest_.set_sub(0);
  }

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  ColumnTiles tiles_;
  ReduceLoops plan_;
  std::vector<int> inner_;
  int64_t count_;  // elements of a column
  std::map<Value, int32_t> carry_;
};

}  // namespace

void lower_columns(Context& c) { Columns(c).lower(); }

}  // namespace tenon::passes::cpu
