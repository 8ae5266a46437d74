// Schedule for rows of a few elements: vectors run across the rows, and a row's elements are unrolled, each a
// vector of its own. It takes reductions of rows with what stands before and after them, and maps whose innermost
// axis is short. What lies row by row in memory is read as it lies and dealt out in registers, and woven
// together before it is written.
//
//   x, y: [1000000, 3], y = x / sum(x, 1)         phase short_rows: parallel (outer, chunk of rows)
//                                                   for v in chunk step 16 {
//                                                     %0, %1, %2 = x[3*v], x[3*v + 16], x[3*v + 32]
//                                                     %3, %4, %5 = deal %0, %1, %2 at 0, 1, 2
//                                                     %sum = (%3 + %5) + %4; ... / %sum
//                                                     y[3*v] = weave ... at 0; ... }
#include <algorithm>
#include <bit>
#include <optional>

#include "passes/passes.h"
#include "passes/schedule/cpu/context.h"

namespace tenon::passes::cpu {

namespace {

// `axes` along a row, `count` elements in it.
struct ShortRows {
  std::vector<int> axes;
  int lane;
  int64_t count;
};

constexpr int64_t kLongestRow = 16;
// Each length is other code, so that a program whose rows grow compiles for each of its lengths: worth it where much time is saved, or
// where the code runs often. Rows fewer than lanes leave some idle.
int64_t fewest_rows(const ir::Kernel& kernel, int64_t length, bool often) {
  if (often) return length > 4 ? 16 : 2;
  if (length > 4) return 16384 / length;
  return kernel.has(AxisKind::Inner) ? 64 : 2;
}
bool is_worth_a_length(const ir::Kernel& kernel, bool often) {
  constexpr int64_t kFewestPoints = 16384;
  return often || kernel.extent_of(AxisKind::Parallel) * kernel.extent_of(AxisKind::Inner) >= kFewestPoints;
}
constexpr int64_t kChunkRows = 1024;  // rows that one parallel iteration takes
constexpr size_t kMostInstrs = 1500;  // unrolled; beyond, compiling takes longer than it is worth

// Where the elements of a row lie from its first one on, if the rows lie one behind the other.
struct Block {
  int64_t first;           // offset of the block from the access at the row's first point
  std::vector<int> which;  // by point of the row: its place in the block
};

bool is_access(const Instr& in) { return in.op == Op::Load || in.op == Op::Store; }

std::optional<Block> block_of(const ir::Kernel& kernel, const Instr& in, const ShortRows& rows) {
  if (!is_access(in) || !in.guards.empty() || in.scale != 0) return {};
  Index::Stride across = in.index.stride(rows.lane);
  if (!across.ok || across.value != rows.count) return {};
  std::vector<int64_t> offsets{0};
  for (int a : rows.axes) {
    Index::Stride along = in.index.stride(a);
    if (!along.ok) return {};
    std::vector<int64_t> next;
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i < kernel.extent(a); ++i) next.push_back(offset + along.value * i);
    }
    offsets = std::move(next);
  }
  Block block{*std::ranges::min_element(offsets), {}};
  std::vector<bool> seen(offsets.size(), false);
  for (int64_t offset : offsets) {
    int64_t place = offset - block.first;
    if (place >= rows.count || (in.op == Op::Store && seen[place])) return {};
    seen[place] = true;
    block.which.push_back(static_cast<int>(place));
  }
  // A place that nothing asks for may lie behind the end of the buffer.
  if (std::ranges::find(seen, false) != seen.end()) return {};
  return block;
}

// Bytes that an axis along the lanes reads and writes as they lie, less those that it has to pick one by one; and
// whether anything lies in blocks.
struct Worth {
  int64_t bytes = 0;
  bool blocks = false;
};
Worth worth(const ir::Kernel& kernel, const ShortRows& rows) {
  Worth result;
  for (const Instr& in : kernel.instrs) {
    if (!is_access(in)) continue;
    Index::Stride across = in.index.stride(rows.lane);
    bool block = block_of(kernel, in, rows).has_value();
    bool as_it_lies = block || (across.ok && across.value == 1 && in.scale == 0);
    result.blocks = result.blocks || block;
    if (across.ok && across.value == 0 && in.scale == 0) continue;
    result.bytes += (as_it_lies ? 1 : -1) * ir::item_size(in.dtype) * (in.op == Op::Store ? 2 : 1);
  }
  return result;
}

size_t unrolled(const ir::Kernel& kernel, const ShortRows& rows) {
  size_t result = 0;
  for (bool each : varying_along(kernel, rows.axes)) result += each ? static_cast<size_t>(rows.count) : 1;
  return result;
}

// The best axis for the lanes, given the axes that rows run along.
std::optional<ShortRows> across(const ir::Kernel& kernel, const std::vector<int>& axes, bool often) {
  ShortRows rows{axes, kNoAxis, product_of(kernel, axes)};
  if (rows.count > kLongestRow || unrolled(kernel, rows) > kMostInstrs) return {};
  std::optional<ShortRows> best;
  Worth best_worth;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    rows.lane = static_cast<int>(a);
    if (kernel.axes[a].kind != AxisKind::Parallel || kernel.axes[a].extent < fewest_rows(kernel, rows.count, often)) continue;
    if (std::ranges::find(rows.axes, rows.lane) != rows.axes.end()) continue;
    Worth w = worth(kernel, rows);
    if (w.bytes <= 0 || (best && w.bytes < best_worth.bytes)) continue;
    best = rows;
    best_worth = w;
  }
  if (best && !kernel.has(AxisKind::Inner) && !best_worth.blocks) return {};
  return best;
}

// Nothing where another schedule is better.
std::optional<ShortRows> short_rows(const ir::Kernel& kernel, bool often) {
  if (kernel.has(AxisKind::Contract) || kernel.has(AxisKind::Serial) || !is_worth_a_length(kernel, often)) return {};
  std::vector<int> inner;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    if (kernel.axes[a].kind == AxisKind::Inner) inner.push_back(static_cast<int>(a));
  }
  if (!inner.empty()) {
    for (const Instr& in : kernel.instrs) {
      if (ir::is_reduce(in.op) && in.tree == ir::ReduceTree::Columns) return {};
    }
    return across(kernel, inner, often);
  }
  for (size_t a = kernel.axes.size(); a-- > 0;) {
    int64_t extent = kernel.axes[a].extent;
    if (extent < 2 || extent > kLongestRow) continue;
    if (std::optional<ShortRows> rows = across(kernel, {static_cast<int>(a)}, often)) return rows;
  }
  return {};
}

class ShortSchedule {
 public:
  ShortSchedule(Context& c, const ShortRows& rows) : c_(c), nest_(c.nest), b_(c.builder), rows_(rows) {
    for (int a : c.axes(AxisKind::Parallel)) {
      if (a != rows.lane && std::ranges::find(rows.axes, a) == rows.axes.end()) outer_.push_back(a);
    }
    c.set_lanes(rows.lane);
    nest_.take_any_numbers(false);  // each length of rows is other code anyway
    nest_.set_sub_axes(rows.axes);
    length_ = rows.axes.empty() ? 1 : c.extent(rows.axes.back());
    for (const Instr& in : c.kernel.instrs) blocks_.push_back(block_of(c.kernel, in, rows));
  }

  void lower() {
    const double ns = c_.ns_per_element * static_cast<double>(rows_.count);
    c_.run_phase("short_rows", outer_, rows_.lane, kChunkRows, ns, Context::Phases::Several, [&](ValueId begin, ValueId end) {
      bind_points();
      stages(false);
      for (Value v = 0; v < static_cast<Value>(c_.kernel.instrs.size()); ++v) {
        if (nest_.varies(v)) each(v, [&](int) { nest_.prepare({&v, 1}); });
      }
      end_ = end;
      const size_t size = unrolled(c_.kernel, rows_);
      c_.vector_loop(rows_.lane, begin, end, c_.unroll_for(size), [&] { stages(true); });
    });
  }

 private:
  // The position of each point of a row, known while compiling.
  void bind_points() {
    for (int64_t i = 0; i < rows_.count; ++i) {
      nest_.set_sub(static_cast<int>(i));
      int64_t rest = i;
      for (size_t a = rows_.axes.size(); a-- > 0;) {
        int64_t extent = c_.extent(rows_.axes[a]);
        nest_.bind(rows_.axes[a], c_.literal(rest % extent));
        rest /= extent;
      }
    }
    nest_.set_sub(0);
  }

  template <typename Body>
  void each(Value v, const Body& body) {
    for (int i = 0; i < (nest_.apart(v) ? static_cast<int>(rows_.count) : 1); ++i) {
      nest_.set_sub(i);
      body(i);
    }
    nest_.set_sub(0);
  }

  // Everything that changes from row to row, or all the rest. A stage ends with the reductions that the next needs;
  // within it one point of the rows after the other, so that few values are alive.
  void stages(bool varying) {
    const std::vector<int>& stage = c_.loops().available;  // reductions one after another that a value needs
    for (int s = 0; s <= c_.loops().loops; ++s) {
      std::vector<Value> once, reads, points, writes;
      for (Value v = 0; v < static_cast<Value>(c_.kernel.instrs.size()); ++v) {
        const Instr& in = nest_.instr(v);
        bool store = in.op == Op::Store;
        if (stage[v] != s || in.op == Op::Const || in.op == Op::Scalar || ir::is_reduce(in.op) || (nest_.varies(v) || store) != varying)
          continue;
        bool block = nest_.varies(v) && blocks_[v].has_value();
        (block ? store ? writes : reads : nest_.apart(v) ? points : once).push_back(v);
      }
      for (Value v : reads) read_block(v);  // the elements of a block need nothing that is computed
      for (Value v : once) nest_.emit(v);
      for (int i = 0; i < static_cast<int>(rows_.count); ++i) {
        nest_.set_sub(i);
        for (Value v : points) nest_.emit(v);
      }
      nest_.set_sub(0);
      for (Value v : writes) write_block(v);
      for (Value v = 0; v < static_cast<Value>(c_.kernel.instrs.size()); ++v) {
        if (ir::is_reduce(nest_.instr(v).op) && stage[v] == s + 1 && nest_.varies(v) == varying) reduce(v);
      }
    }
  }

  // A vector of the block that the current rows make. It is not loaded if none of its lanes is left: its address may not be
  // mapped, and a processor takes long to find out.
  struct Piece {
    ValueId at, mask, some;  // some: whether a lane is left
  };
  std::vector<Piece> pieces(Value v) {
    std::vector<Piece> result;
    ValueId first = nest_.position_of(v), left = kNone;
    if (nest_.mask() >= 0) left = c_.mul(c_.sub(end_, nest_.axis_value(rows_.lane)), c_.literal(rows_.count));
    for (int64_t k = 0; k < rows_.count; ++k) {
      int64_t within = k * nest_.lanes(), offset = blocks_[v]->first + within;
      ValueId at = c_.offset(first, offset);
      result.push_back({at, left < 0 ? kAlways : nest_.tail_mask(c_.literal(within), left),
                        left < 0 || k == 0 ? kAlways : c_.less(c_.literal(within), left)});
    }
    return result;
  }

  int which(Value v, int point) const { return blocks_[v]->which[point]; }

  void read_block(Value v) {
    std::vector<ValueId> vectors;
    for (const Piece& piece : pieces(v)) {
      const auto load = [&] { return b_.load(nest_.instr(v).slot, piece.at, nest_.lanes(), piece.mask); };
      if (piece.some < 0) {
        vectors.push_back(load());
        continue;
      }
      const ValueId vector = b_.var(b_.constant(ir::constant(nest_.instr(v).dtype, int64_t{0}), nest_.lanes()));
      nest_.when(piece.some, [&] { b_.set(vector, load()); });
      vectors.push_back(b_.get(vector));
    }
    each(v, [&](int i) { nest_.set(v, b_.deal(vectors, which(v, i))); });
  }

  void write_block(Value v) {
    std::vector<ValueId> values(static_cast<size_t>(rows_.count));
    for (int i = 0; i < static_cast<int>(rows_.count); ++i) {
      nest_.set_sub(i);
      values[which(v, i)] = nest_.vector(nest_.instr(v).args[0]);
    }
    nest_.set_sub(0);
    int k = 0;
    for (const Piece& piece : pieces(v)) {
      const ValueId woven = b_.weave(values, k++);
      nest_.when(piece.some, [&] { b_.store(nest_.instr(v).slot, piece.at, woven, piece.mask); });
    }
  }

  // The tree of a row that has at most an element for each of its 64 lanes, or several in order where outer axes
  // are reduced too; lanes without elements change nothing.
  void reduce(Value v) {
    const Instr& in = nest_.instr(v);
    Value operand = in.args[0];
    Reducer reducer = c_.reducer(v);
    int lanes = nest_.varies(v) ? nest_.lanes() : 1;
    std::vector<Accumulator> parts(static_cast<size_t>(std::max<int64_t>(length_, 1)), reducer.identity(lanes));
    for (int64_t i = 0; i < rows_.count; ++i) {
      nest_.set_sub(static_cast<int>(i));
      Accumulator element{lanes > 1 ? nest_.vector(operand) : nest_.get(operand)};
      if (reducer.has_index()) element.beside = b_.constant(ir::constant(DType::I64, i), lanes);
      Accumulator& part = parts[i % length_];
      part = reducer.combine(part, element);
    }
    nest_.set_sub(0);
    for (size_t half = std::bit_ceil(parts.size()) / 2; half > 0; half /= 2) {
      for (size_t i = 0; i + half < parts.size(); ++i) parts[i] = reducer.combine(parts[i], parts[i + half]);
      parts.resize(std::min(parts.size(), half));
    }
    nest_.set(v, reducer.result(parts[0]));
  }

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  ShortRows rows_;
  std::vector<int> outer_;
  int64_t length_;
  ValueId end_ = kNone;
  std::vector<std::optional<Block>> blocks_;  // by instruction
};

}  // namespace

Choice choose_short_rows(const ir::Kernel& kernel, const ir::CpuTarget& target) {
  std::optional<ShortRows> rows = short_rows(kernel, target.often);
  if (!rows) return false;
  return {true, *std::move(rows)};
}

Choice choose_split_rows(const ir::Kernel& kernel, const ir::CpuTarget& target) {
  constexpr int64_t kFewestLanes = 6;  // with fewer rows to a line a gather along it is faster
  std::optional<ir::Kernel> split = split_axes(kernel);
  std::optional<ShortRows> rows = split ? short_rows(*split, target.often) : std::nullopt;
  if (!rows || split->extent(rows->lane) < kFewestLanes) return false;
  return {true, SplitAxes{*std::move(split), *std::move(rows)}};
}

void lower_short_rows(Context& c) { ShortSchedule(c, std::any_cast<const ShortRows&>(c.plan)).lower(); }

}  // namespace tenon::passes::cpu
