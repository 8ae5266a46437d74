// Contractions on a GPU. Each output is acc = fma(a, b, acc) with k in order and one accumulator, whatever the program, so
// the bits are those of the interpreter.
//
//   tiles     a block of threads takes a tile of the product, each thread a small one in registers. Slices of k of both
//             operands pass through shared memory; what they are computed from (views, windows and their border, casts,
//             an activation) is evaluated as they are staged, once a tile.
//               for k0 in -depth..K step depth {
//                 if k0 >= 0 { left[k][row] = x; right[k][column] = y; barrier }              # each thread some elements
//                 if k0 + depth < K { x = a[row, k0 + depth + k]; y = b[k0 + depth + k, column] }   # on their way meanwhile
//                 if k0 >= 0 {
//                   for k { u[8] = left[k][..]; v[8] = right[k][..]; acc[i][j] = fma(u[i], v[j], acc[i][j]) }
//                   barrier
//                 }
//               }
//               epilogue of acc[i][j]; store
//   outputs   a thread takes one output and reads its operands from memory: tiny products, of which any tile would be
//             mostly empty.
//
// Rows are all axes that only the left operand varies along, as one number, columns those of the right one; the others
// count the tiles (batch). A convolution's images are thus columns like its places, and few channels waste no tile.
//
// Of the extents the code has only: which tile, and whether it divides rows, columns and depth. A tile that reaches past
// the last row stages that row several times and stores it once. Past the last k nothing is multiplied: adding 0 * 0
// would turn -0.0 into 0.0.
#include <algorithm>
#include <tuple>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes::gpu {

namespace {

constexpr int kManySums = 32;  // of a thread

struct Side {
  Value operand = -1;
  std::vector<int> axes = {};  // outermost first
  int64_t extent = 1;          // their product
  int cost = 0;                // to compute an element, add-equivalents
  std::vector<Value> hoisted = {}, chain = {};  // what it is computed from: once for all k, for each k
  // Neighbouring threads stage neighbouring k, not neighbouring rows (columns).
  bool along_depth = false;
  int width = 0, of_thread = 0, pitch = 0;  // of the tile, of a thread's; distance from k to k in shared memory
  int32_t shared = -1, registers = -1;
  ValueId begin = -1, last = -1, first = -1;  // the block's first row, the last of all; the thread's first one, in the tile
  ValueId depth = -1;                         // the first k that it stages, in the slice
  std::vector<ValueId> taken = {}, places = {};  // the elements that it stages: their registers, and where in shared memory
};

// How near neighbours along the axis lie: 2 side by side, 1 in runs (the last axis of several that a number counts).
int nearness(const Index& index, int axis) {
  const Index::Stride stride = index.stride(axis);
  if (stride.ok) return stride.value == 1 ? 2 : 0;
  for (const Index::Term& term : index.terms()) {
    if (term.axis >= 0 || term.coefficient != 1 || term.divisor > 1) continue;
    const Index::Stride inner = term.inner_index().stride(axis);
    if (inner.ok && inner.value == 1) return 1;
  }
  return 0;
}

class Contraction {
 public:
  explicit Contraction(Context& c) : c_(c), nest_(c.nest), b_(c.builder) {
    for (size_t v = 0; v < c.kernel.instrs.size(); ++v) {
      if (c.kernel.instrs[v].op == Op::Contract) contract_ = static_cast<Value>(v);
    }
    k_ = c.axes(AxisKind::Contract)[0];
    depth_ = c.extent(k_);
    left_.operand = nest_.instr(contract_).args[0];
    right_.operand = nest_.instr(contract_).args[1];
    share_axes();
    for (Side* side : {&left_, &right_}) look_at(*side);
    find_epilogue();
    choose();
  }

  void lower() { tile_ ? tiles() : outputs(); }

 private:
  // --- what there is

  void share_axes() {
    for (int a : c_.axes(AxisKind::Parallel)) {
      const std::vector<bool> varies = varying_along(c_.kernel, a);
      const bool left = varies[left_.operand], right = varies[right_.operand];
      (left == right ? batch_ : left ? left_.axes : right_.axes).push_back(a);
    }
    left_.extent = c_.product(left_.axes);
    right_.extent = c_.product(right_.axes);
  }

  // Everything that the values need, operands first; constants and scalars are made where they are used.
  std::vector<bool> needed_for(std::vector<Value> values) const {
    std::vector<bool> needed(c_.kernel.instrs.size(), false);
    while (!values.empty()) {
      const Value v = values.back();
      values.pop_back();
      if (needed[v] || v == contract_) continue;
      needed[v] = true;
      for (Value a : nest_.instr(v).args) values.push_back(a);
    }
    return needed;
  }

  void look_at(Side& side) {
    const std::vector<bool> needed = needed_for({side.operand}), along = varying_along(c_.kernel, k_);
    int depth = 0, width = 0;
    for (Value v = 0; v < static_cast<Value>(needed.size()); ++v) {
      const Instr& in = nest_.instr(v);
      if (!needed[v] || in.op == Op::Const || in.op == Op::Scalar) continue;
      (along[v] ? side.chain : side.hoisted).push_back(v);
      if (along[v]) side.cost += ir::info(in.op).cost + 6 * static_cast<int>(in.guards.size());
      if (in.op != Op::Load) continue;
      depth += nearness(in.index, k_);
      if (!side.axes.empty()) width += nearness(in.index, side.axes.back());
    }
    side.along_depth = side.axes.empty() || depth > width;
  }

  void find_epilogue() {
    std::vector<Value> stores;
    for (Value v = 0; v < static_cast<Value>(c_.kernel.instrs.size()); ++v) {
      if (nest_.instr(v).op == Op::Store) stores.push_back(v);
    }
    const std::vector<bool> needed = needed_for(stores);
    std::vector<bool> product(needed.size(), false);  // what comes of the product
    const std::vector<bool> rows = varying_along(c_.kernel, left_.axes), columns = varying_along(c_.kernel, right_.axes);
    for (Value v = 0; v < static_cast<Value>(needed.size()); ++v) {
      const Instr& in = nest_.instr(v);
      product[v] = v == contract_ || in.op == Op::Store || std::any_of(in.args.begin(), in.args.end(), [&](Value a) { return product[a]; });
      if (v == contract_ || !needed[v] || in.op == Op::Const || in.op == Op::Scalar) continue;
      (product[v] || (rows[v] && columns[v]) ? of_element_ : rows[v] ? of_row_ : columns[v] ? of_column_ : of_batch_).push_back(v);
    }
  }

  void choose() {
    const bool scattered = right_.along_depth && !right_.axes.empty();
    const DType dtype = nest_.instr(contract_).dtype;
    tile_ = choose_tile({dtype, c_.product(batch_), left_.extent, right_.extent, depth_, left_.cost, right_.cost, scattered}, c_.target).tile;
  }

  // --- a thread an output

  void outputs() {
    const std::vector<int> axes = c_.axes(AxisKind::Parallel);
    c_.each_item("outputs", c_.product(axes), [&](ValueId item) {
      nest_.bind_linear(axes, item);
      for (const Side* side : {&left_, &right_}) {
        emit(side->hoisted);
        nest_.prepare(side->chain);
      }
      const ValueId acc = b_.var(b_.constant(zero()));
      c_.loop(c_.literal(0), nest_.extent(k_), 1, [&](ValueId k) {
        nest_.bind(k_, k);
        emit(left_.chain);
        emit(right_.chain);
        b_.set(acc, multiply_add(nest_.get(left_.operand), nest_.get(right_.operand), b_.get(acc)));
      });
      nest_.set(contract_, b_.get(acc));
      emit(of_batch_);
      emit(of_row_);
      emit(of_column_);
      emit(of_element_);
    });
  }

  ir::Constant zero() const { return ir::constant(nest_.instr(contract_).dtype, int64_t{0}); }

  ValueId multiply_add(ValueId x, ValueId y, ValueId acc) {
    if (ir::is_float(b_.type(acc).dtype)) return b_.op(Op::Fma, {x, y, acc});
    return b_.op(Op::Add, {b_.op(Op::Mul, {x, y}), acc});
  }

  void emit(const std::vector<Value>& values) {
    for (Value v : values) {
      if (nest_.instr(v).op == Op::Store || !nest_.known(v)) nest_.emit(v);
    }
  }

  // --- tiles

  void tiles() {
    const Tile& t = *tile_;
    c_.out.tree.threads = t.threads();
    place_side(left_, "left", t.rows, t.thread_rows);
    place_side(right_, "right", t.columns, t.thread_columns);
    acc_ = b_.add_buffer({"acc0", nest_.instr(contract_).dtype, Space::Local, -1, int64_t{t.thread_rows} * t.thread_columns});
    products_ = b_.add_buffer({"products0", nest_.instr(contract_).dtype, Space::Shared, -1, int64_t{t.threads()} * t.thread_columns});
    const int64_t row_tiles = ceil_div(left_.extent, t.rows), column_tiles = ceil_div(right_.extent, t.columns);
    const ValueId block = c_.begin_phase("tiles", c_.product(batch_) * row_tiles * column_tiles);
    const auto [rest, column_tile] = c_.divide(block, nest_.size(column_tiles));
    const auto [batch, row_tile] = c_.divide(rest, nest_.size(row_tiles));
    nest_.bind_linear(batch_, batch);
    left_.begin = c_.mul(row_tile, c_.literal(t.rows));
    right_.begin = c_.mul(column_tile, c_.literal(t.columns));
    const auto [down, across] = c_.divide(c_.thread(), c_.literal(t.columns / t.thread_columns));
    down_ = down;
    left_.first = first_of(left_, down);
    right_.first = first_of(right_, across);
    each(t.thread_rows * t.thread_columns, [&](ValueId i) { b_.store(acc_, i, b_.constant(zero())); });
    c_.in_scope([&] {
      begin_staging(left_);
      begin_staging(right_);
      const ValueId depth = nest_.extent(k_);
      c_.loop(c_.literal(-t.depth), depth, t.depth, [&](ValueId k) {
        const ValueId begun = b_.op(Op::Ge, {k, c_.literal(0)}), next = c_.add(k, c_.literal(t.depth));
        nest_.when(begun, [&] {
          give(left_);
          give(right_);
          b_.barrier();
        });
        nest_.when(c_.less(next, depth), [&] {
          take(left_, next);
          take(right_, next);
        });
        nest_.when(begun, [&] { multiply_slice(k); });
      });
    });
    epilogue();
    c_.end_phase();
  }

  void place_side(Side& side, const std::string& name, int width, int of_thread) {
    side.width = width;
    side.of_thread = of_thread;
    // Neighbouring k go to other banks, and four neighbours stay aligned.
    side.pitch = width + (!side.along_depth ? 0 : in_vectors(side) ? kVector : 1);
    const DType dtype = nest_.instr(side.operand).dtype;
    side.shared = b_.add_buffer({name + "0", dtype, Space::Shared, -1, int64_t{tile_->depth} * side.pitch});
    side.registers = b_.add_buffer({name + "1", dtype, Space::Local, -1, of_thread});
  }

  template <typename Body>
  void each(int64_t count, const Body& body) {
    c_.loop(c_.literal(0), c_.literal(count), 1, body, true);
  }

  int threads() const { return tile_->threads(); }
  int elements(const Side& side) const { return side.width * tile_->depth; }
  int staged_by_thread(const Side& side) const { return std::max(1, elements(side) / threads()); }

  // f(e) for each element that a thread stages, as a sub-vector of the nest. They differ in one direction only.
  template <typename F>
  void each_staged(const Side& side, const F& f) {
    const std::vector<int> depth{k_};
    nest_.set_sub_axes(side.along_depth ? side.axes : depth);
    for (int e = 0; e < staged_by_thread(side); ++e) {
      nest_.set_sub(e);
      f(e);
    }
    nest_.set_sub(0);
  }

  // Binds the rows (columns) that a thread stages, and computes what stays the same for all k.
  void begin_staging(Side& side) {
    side.last = c_.sub(nest_.size(side.extent), c_.literal(1));
    const int run = side.along_depth ? tile_->depth : side.width, step = std::max(1, threads() / run);
    auto [far, near] = c_.divide(c_.thread(), c_.literal(run));
    side.depth = side.along_depth ? near : far;
    const ValueId first = side.along_depth ? far : near, pitch = c_.literal(side.pitch);
    each_staged(side, [&](int e) {
      const ValueId ahead = c_.literal(int64_t{e} * step);
      const ValueId row = side.along_depth && e > 0 ? c_.add(first, ahead) : first;
      const ValueId k = side.along_depth || e == 0 ? side.depth : c_.add(side.depth, ahead);
      side.places.push_back(c_.add(c_.mul(k, pitch), row));
      side.taken.push_back(b_.var(b_.constant(ir::constant(nest_.instr(side.operand).dtype, int64_t{0}))));
      if (side.along_depth || e == 0) bind_within(side, c_.add(side.begin, row));
      emit(side.hoisted);
      nest_.prepare(side.chain);
    });
  }

  // Past the last row: the last row again. Threads that stage nothing may be past it too.
  void bind_within(const Side& side, ValueId row) {
    if (side.extent % side.width != 0 || elements(side) < threads()) row = c_.minimum(row, side.last);
    nest_.bind_linear(side.axes, row);
  }

  void multiply_slice(ValueId k) {
    const Tile& t = *tile_;
    // A few k together, then those left over one by one.
    const int together = t.thread_rows * t.thread_columns > kManySums ? 4 : 8;
    const bool ragged = depth_ % t.depth != 0;
    const ValueId zero = c_.literal(0), many = c_.literal(together);
    const ValueId end = ragged ? c_.minimum(c_.sub(nest_.extent(k_), k), c_.literal(t.depth)) : c_.literal(t.depth);
    const ValueId whole = ragged ? c_.mul(b_.quotient(end, many), many) : end;
    c_.loop(zero, whole, together, [&](ValueId first) { each(together, [&](ValueId i) { multiply(c_.add(first, i)); }); });
    if (ragged) c_.loop(whole, end, 1, [&](ValueId at) { multiply(at); });
    b_.barrier();
  }

  // Whether this thread stages anything; -1 if each does.
  ValueId stages(const Side& side) { return c_.below(c_.thread(), elements(side), threads()); }

  // What the thread has taken, to shared memory.
  void give(const Side& side) {
    nest_.when(stages(side), [&] {
      for (size_t e = 0; e < side.places.size(); ++e) b_.store(side.shared, side.places[e], b_.get(side.taken[e]));
    });
  }

  // The elements of a slice that the thread stages, to registers.
  void take(const Side& side, ValueId slice_begin) {
    nest_.when(stages(side), [&] {
      const int step = threads() / (side.along_depth ? tile_->depth : side.width);
      const ValueId first = c_.add(slice_begin, side.depth);
      each_staged(side, [&](int e) {
        if (!side.along_depth || e == 0) {
          ValueId k = e == 0 ? first : c_.add(first, c_.literal(int64_t{e} * step));
          if (depth_ % tile_->depth != 0) k = c_.minimum(k, c_.sub(nest_.extent(k_), c_.literal(1)));
          nest_.bind(k_, k);
        }
        emit(side.chain);
        b_.set(side.taken[static_cast<size_t>(e)], nest_.get(side.operand));
      });
    });
  }

  static bool in_vectors(const Side& side) { return side.of_thread % kVector == 0; }
  // Row i of a thread in the tile, `first` being its row 0: four neighbours, then four behind those of all other threads; or
  // single ones.
  ValueId within_tile(const Side& side, ValueId first, ValueId i) {
    const int64_t others = side.width / side.of_thread;
    if (!in_vectors(side)) return c_.add(c_.mul(i, c_.literal(others)), first);
    const auto [group, lane] = c_.divide(i, c_.literal(kVector));
    return c_.add(c_.add(c_.mul(group, c_.literal(others * kVector)), first), lane);
  }
  ValueId first_of(const Side& side, ValueId number) { return in_vectors(side) ? c_.mul(number, c_.literal(kVector)) : number; }

  // A thread's part of one k of the slice, to registers.
  void fetch(const Side& side, ValueId k) {
    const ValueId base = c_.add(c_.mul(k, c_.literal(side.pitch)), side.first);
    const int step = in_vectors(side) ? kVector : 1, others = side.width / side.of_thread;
    for (int i = 0; i < side.of_thread; i += step) {
      const ValueId loaded = b_.load(side.shared, i == 0 ? base : c_.add(base, c_.literal(int64_t{i} * others)), step);
      for (int lane = 0; lane < step; ++lane) {
        const ValueId value = step == 1 ? loaded : b_.let(Op::Extract, {loaded, c_.literal(lane)}, {b_.type(loaded).dtype, 1});
        b_.store(side.registers, c_.literal(i + lane), value);
      }
    }
  }

  void multiply(ValueId k) {
    fetch(left_, k);
    fetch(right_, k);
    each(left_.of_thread, [&](ValueId i) {
      const ValueId x = b_.load(left_.registers, i, 1), row = c_.mul(i, c_.literal(right_.of_thread));
      each(right_.of_thread, [&](ValueId j) {
        const ValueId at = c_.add(row, j);
        b_.store(acc_, at, multiply_add(x, b_.load(right_.registers, j, 1), b_.load(acc_, at, 1)));
      });
    });
  }

  // Row after row of each thread passes through shared memory, so that neighbouring threads store neighbouring columns, and
  // that the code has the epilogue once.
  void epilogue() {
    nest_.set_sub_axes({});
    const int columns = right_.width, rows = threads() / columns;  // that the threads store at once
    const auto [down, across] = c_.divide(c_.thread(), c_.literal(columns));
    const ValueId column = c_.add(right_.begin, across);
    bind_within(right_, column);
    emit(of_batch_);
    emit(of_column_);
    c_.loop(c_.literal(0), c_.literal(left_.of_thread), 1, [&, down = down, across = across](ValueId i) {
      each(left_.of_thread, [&](ValueId row) { nest_.when(b_.op(Op::Eq, {row, i}), [&] { pass_row(row); }); });
      b_.barrier();
      c_.loop(down, c_.literal(left_.width / left_.of_thread), rows, [&](ValueId number) {
        const ValueId row = c_.add(left_.begin, within_tile(left_, first_of(left_, number), i));
        nest_.when(c_.below(row, left_.extent, left_.width), [&] {
          nest_.when(c_.below(column, right_.extent, right_.width), [&] {
            nest_.bind_linear(left_.axes, row);
            nest_.set(contract_, b_.load(products_, c_.add(c_.mul(number, c_.literal(columns)), across), 1));
            emit(of_row_);
            emit(of_element_);
          });
        });
      });
      b_.barrier();
    });
  }

  // One row of each thread's sums.
  void pass_row(ValueId row) {
    const int step = in_vectors(right_) ? kVector : 1;
    const ValueId from = c_.mul(row, c_.literal(right_.of_thread)), base = c_.add(c_.mul(down_, c_.literal(right_.width)), right_.first);
    for (int j = 0; j < right_.of_thread; j += step) {
      const ValueId sum = b_.load(acc_, c_.add(from, c_.literal(j)), step);
      b_.store(products_, c_.add(base, c_.literal(int64_t{j} * (right_.width / right_.of_thread))), sum);
    }
  }

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  Value contract_ = -1;
  int k_;
  int64_t depth_;
  Side left_, right_;
  std::vector<int> batch_;
  std::vector<Value> of_batch_, of_row_, of_column_, of_element_;  // the epilogue, by what it varies along
  const Tile* tile_ = nullptr;  // null: a thread an output
  int32_t acc_ = -1, products_ = -1;  // a thread's sums; one row of each, of all threads
  ValueId down_ = -1;                 // the number of the thread's rows among those of the tile
};

}  // namespace

void lower_contraction(Context& c) { Contraction(c).lower(); }

}  // namespace tenon::passes::gpu
