// Contractions on a GPU. Each output is one accumulator (beyond one chain of k, with what its chains come
// to), and k runs in order, whatever the program.
//
//   tiles     a block of threads takes a tile of the product, each thread or each warp a part of it in registers (sums.h). Slices
//             of k of both operands pass through shared memory; what they are computed from (views, windows and their border,
//             casts, an activation) is evaluated as they are staged, once a tile.
//               for k0 in -depth..K step depth {
//                 if k0 >= 0 { left[k][row] = x; right[k][column] = y; barrier }              # each thread some elements
//                 if k0 + depth < K { x = a[row, k0 + depth + k]; y = b[k0 + depth + k, column] }   # on their way meanwhile
//                 if k0 >= 0 { multiply the slices; barrier }
//               }
//               epilogue of the sums; store
//   outputs   a thread takes one output and reads its operands from memory: tiny products, of which any tile would be
//             mostly empty.
//
// Sums of threads are acc = fma(a, b, acc), in chains (ir/sum_order.h), so the bits are those of the
// interpreter. Warps multiply on the tensor cores, halves alone (f16 or bf16, the result rounded to it):
// these sum up to 16 k in an order of their own.
//
// Rows are all axes that only the left operand varies along, as one number, columns those of the right one; the others
// count the tiles (batch). A convolution's images are thus columns like its places, and few channels waste no tile.
//
// Of the extents the code has only: which tile, and whether it divides rows, columns and depth. A tile that reaches past
// the last row stages that row several times and stores it once.
#include <algorithm>
#include <tuple>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/quads.h"
#include "passes/schedule/gpu/sums.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes::gpu {

namespace {

struct Side {
  Value operand = -1;
  std::vector<int> axes = {};  // outermost first
  int64_t extent = 1;          // their product
  int cost = 0;                // to compute an element, add-equivalents
  std::vector<Value> hoisted = {}, chain = {};  // what it is computed from: once for all k, for each k
  Panel panel = {};               // of a tile
  ValueId begin = -1, last = -1;  // the block's first row, the last of all
  ValueId depth = -1;             // the first k that the thread stages, in the slice
  std::vector<ValueId> taken = {}, places = {};  // what it stages: the elements' registers; where those that go together are put
  int32_t vector = -1;                           // of elements that go together, to pack them
  std::vector<Value> vectors = {};               // loads of the chain that read as many neighbours at once
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

  void lower() {
    if (!tile_) return outputs();
    if (tile_->worker == Worker::Warp) c_.out.schedule = "contraction mma";
    tiles();
  }

 private:
  // --- what there is

  void share_axes() {
    const std::vector<int> axes = c_.axes(AxisKind::Parallel);
    const auto changes = [&](const Side& side, int a) -> bool { return varying_along(c_.kernel, a)[side.operand]; };
    for (int a : axes) {
      if (changes(left_, a) != changes(right_, a)) (changes(left_, a) ? left_ : right_).axes.push_back(a);
    }
    // Axes along which neither changes serve a side that has none (a constant, an expanded number).
    Side* const without = left_.axes.empty() ? &left_ : right_.axes.empty() ? &right_ : nullptr;
    for (int a : axes) {
      if (changes(left_, a) != changes(right_, a)) continue;
      (without && !changes(left_, a) ? without->axes : batch_).push_back(a);
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
    side.panel.along_depth = side.axes.empty() || depth > width;
  }

  // Whether the operands are halves, though the kernel multiplies them as f32, and the product is rounded to their type before
  // anyone sees it (what expand-half makes of a product of halves).
  bool multiplies_halves() const {
    const auto half_of = [&](Value v) {
      const Instr& in = nest_.instr(v);
      return in.op == Op::Cast && nest_.instr(contract_).dtype == DType::F32 ? nest_.instr(in.args[0]).dtype : DType::F32;
    };
    const DType half = half_of(left_.operand);
    if (!ir::is_half(half) || half_of(right_.operand) != half) return false;
    return std::all_of(c_.kernel.instrs.begin(), c_.kernel.instrs.end(), [&](const Instr& in) {
      const bool reads = std::find(in.args.begin(), in.args.end(), contract_) != in.args.end();
      return !reads || (in.op == Op::Cast && in.dtype == half);
    });
  }

  // The tensor cores widen the elements themselves.
  void stage_before_cast(Side& side) {
    for (std::vector<Value>* values : {&side.chain, &side.hoisted}) std::erase(*values, side.operand);
    side.operand = nest_.instr(side.operand).args[0];
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
    const bool scattered = right_.panel.along_depth && !right_.axes.empty();
    const ProductShape shape{nest_.instr(contract_).dtype, c_.product(batch_), left_.extent, right_.extent, depth_,
                             left_.cost, right_.cost, scattered, multiplies_halves()};
    tile_ = choose_tile(shape, c_.target).tile;
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
      const auto chain = [&](ValueId begin, ValueId end) {
        c_.loop(begin, end, 1, [&](ValueId k) {
          nest_.bind(k_, k);
          emit(left_.chain);
          emit(right_.chain);
          b_.set(acc, multiply_add(c_, nest_.get(left_.operand), nest_.get(right_.operand), b_.get(acc)));
        });
      };
      nest_.set(contract_, of_chains(acc, chain));
      emit(of_batch_);
      emit(of_row_);
      emit(of_column_);
      emit(of_element_);
    });
  }

  // What chain(begin, end), each time in `acc`, comes to over all k (ir::add_product).
  template <typename Chain>
  ValueId of_chains(ValueId acc, const Chain& chain) {
    const DType dtype = nest_.instr(contract_).dtype;
    if (!ir::product_in_chains(dtype, depth_)) {
      chain(c_.literal(0), nest_.extent(k_));
      return b_.get(acc);
    }
    ChainSums sums(c_, dtype, 1, depth_);
    sums.begin();
    const int32_t one =
        b_.add_buffer({"chain" + std::to_string(c_.out.tree.buffers.size()), dtype, Space::Local, -1, 1});
    const ValueId place = c_.literal(0);
    c_.loop(place, nest_.extent(k_), ir::kProductChain, [&](ValueId first) {
      if (sums.in_groups()) nest_.when(sums.begins_group(first), [&] { sums.end_group(); });
      b_.set(acc, b_.constant(zero()));
      chain(first, c_.piece_end(first, c_.literal(ir::kProductChain), nest_.extent(k_)));
      b_.store(one, place, b_.get(acc));
      sums.add(one, 0, 1);
    });
    sums.finish();
    sums.give(one, 0, 1);
    return b_.load(one, place, 1);
  }

  ir::Constant zero() const { return ir::constant(nest_.instr(contract_).dtype, int64_t{0}); }

  void emit(const std::vector<Value>& values) {
    for (Value v : values) {
      if (nest_.instr(v).op == Op::Store || !nest_.known(v)) nest_.emit(v);
    }
  }

  // --- tiles

  // What a thread may need: its sums, with what their chains and groups of chains come to, and what it stages.
  int64_t registers(const Tile& t) const {
    constexpr int64_t kOthers = 56;
    const DType dtype = nest_.instr(contract_).dtype;
    const int64_t sums = int64_t{t.part_rows} * t.part_columns / (t.worker == Worker::Warp ? c_.target.warp : 1);
    const int64_t kinds = 1 + (ir::product_in_chains(dtype, depth_) ? 1 : 0) + (ir::product_in_groups(dtype, depth_) ? 2 : 0);
    return sums * kinds * std::max<int64_t>(1, ir::item_size(dtype) / 4) + kOthers;
  }

  void tiles() {
    const Tile& t = *tile_;
    c_.out.tree.threads = t.threads();
    if (t.worker == Worker::Warp) {
      stage_before_cast(left_);
      stage_before_cast(right_);
    }
    for (Side* side : {&left_, &right_}) side->panel.dtype = nest_.instr(side->operand).dtype;
    sums_ = t.worker == Worker::Warp
                ? sums_of_warps(c_, t, depth_, left_.panel, right_.panel)
                : sums_of_threads(c_, t, k_, left_.panel, right_.panel, nest_.instr(contract_).dtype);
    left_.panel = sums_->left;
    right_.panel = sums_->right;
    c_.ask_for_blocks(2, registers(t));
    find_vectors(left_);
    find_vectors(right_);
    const int64_t row_tiles = ceil_div(left_.extent, t.rows), column_tiles = ceil_div(right_.extent, t.columns);
    const ValueId block = c_.begin_phase("tiles", c_.product(batch_) * row_tiles * column_tiles);
    const auto [rest, column_tile] = c_.divide(block, nest_.size(column_tiles));
    const auto [batch, row_tile] = c_.divide(rest, nest_.size(row_tiles));
    nest_.bind_linear(batch_, batch);
    left_.begin = c_.mul(row_tile, c_.literal(t.rows));
    right_.begin = c_.mul(column_tile, c_.literal(t.columns));
    sums_->begin();
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
        nest_.when(begun, [&] {
          sums_->multiply(k);
          b_.barrier();
        });
      });
    });
    sums_->finish();
    epilogue();
    c_.end_phase();
  }

  int threads() const { return tile_->threads(); }
  // What is put into shared memory at once: an element, or neighbouring ones. A thread stages several k of several rows; one of
  // both numbers is that of its pieces, the other that of neighbours in a piece.
  int together() const { return sums_->together; }
  int pieces(const Side& side) const { return side.panel.width * tile_->depth / together(); }
  int pieces_of_thread(const Side& side) const { return std::max(1, pieces(side) / threads()); }
  int k_of_thread(const Side& side) const { return side.panel.along_depth ? together() : pieces_of_thread(side); }
  int rows_of_thread(const Side& side) const { return side.panel.along_depth ? pieces_of_thread(side) : together(); }
  // Neighbouring threads stage so many pieces side by side; a thread's next piece is `step` of the other direction further on.
  int run(const Side& side) const { return (side.panel.along_depth ? tile_->depth : side.panel.width) / together(); }
  int step(const Side& side) const { return std::max(1, threads() / run(side)); }
  ValueId ahead(ValueId x, int64_t by) { return by == 0 ? x : c_.add(x, c_.literal(by)); }

  // f(r) for the first `count` rows that a thread stages, as sub-vectors of the nest.
  template <typename F>
  void each_row(const Side& side, int count, const F& f) {
    nest_.set_sub_axes(side.axes);
    for (int r = 0; r < count; ++r) {
      nest_.set_sub(r);
      f(r);
    }
    nest_.set_sub(0);
  }

  // Binds the rows (columns) that a thread stages, and computes what stays the same for all k.
  void begin_staging(Side& side) {
    const bool along_depth = side.panel.along_depth;
    side.last = c_.sub(nest_.size(side.extent), c_.literal(1));
    auto [far, near] = c_.divide(c_.thread(), c_.literal(run(side)));
    if (together() > 1) {
      near = c_.mul(near, c_.literal(together()));
      const std::string name = "vector" + std::to_string(c_.out.tree.buffers.size());
      side.vector = b_.add_buffer({name, side.panel.dtype, Space::Local, -1, together()});
    }
    side.depth = along_depth ? near : far;
    const ValueId first = along_depth ? far : near;
    for (int p = 0; p < pieces_of_thread(side); ++p) {
      const int64_t by = int64_t{p} * step(side);
      side.places.push_back(place(side.panel, ahead(side.depth, along_depth ? 0 : by), ahead(first, along_depth ? by : 0)));
      for (int i = 0; i < together(); ++i) side.taken.push_back(b_.var(b_.constant(ir::constant(side.panel.dtype, int64_t{0}))));
    }
    const bool row_vectors = !along_depth && !side.vectors.empty();  // past the last row that ends of the last vector
    each_row(side, rows_of_thread(side), [&](int r) {
      const ValueId row = c_.add(side.begin, ahead(first, int64_t{r} * (along_depth ? step(side) : 1)));
      bind_within(side, row, ahead(side.last, row_vectors ? r + 1 - together() : 0));
      emit(side.hoisted);
      nest_.prepare(side.chain);
    });
  }

  ValueId place(const Panel& panel, ValueId k, ValueId row) {
    const ValueId pitch = c_.literal(panel.pitch);
    return panel.k_innermost ? c_.add(c_.mul(row, pitch), k) : c_.add(c_.mul(k, pitch), row);
  }

  // Past the last row: the last row again. Threads that stage nothing may be past it too.
  void bind_within(const Side& side, ValueId row, ValueId last) {
    if (side.extent % side.panel.width != 0 || pieces(side) < threads()) row = c_.minimum(row, last);
    nest_.bind_linear(side.axes, row);
  }

  // Whether this thread stages anything; -1 if each does.
  ValueId stages(const Side& side) { return c_.below(c_.thread(), pieces(side), threads()); }

  // What the thread has taken, to shared memory.
  void give(const Side& side) {
    nest_.when(stages(side), [&] {
      auto taken = side.taken.begin();
      for (const ValueId place : side.places) {
        if (together() == 1) {
          b_.store(side.panel.shared, place, b_.get(*taken++));
          continue;
        }
        for (int i = 0; i < together(); ++i) b_.store(side.vector, c_.literal(i), b_.get(*taken++));
        b_.store(side.panel.shared, place, b_.load(side.vector, c_.literal(0), together()));
      }
    });
  }

  // The elements of a slice that the thread stages, to registers.
  void take(const Side& side, ValueId slice_begin) {
    const bool along_depth = side.panel.along_depth;
    nest_.when(stages(side), [&] {
      const ValueId first = c_.add(slice_begin, side.depth);
      std::vector<ValueId> vectors;
      if (along_depth && !side.vectors.empty()) {
        c_.in_scope([&] {
          bind_k(first, together());
          vectors = load_vectors(side, rows_of_thread(side));
        });
      }
      for (int i = 0; i < k_of_thread(side); ++i) {
        c_.in_scope([&] {
          const ValueId inside = bind_k(ahead(first, int64_t{i} * (along_depth ? 1 : step(side))), 1);
          if (!along_depth) vectors = load_vectors(side, 1);
          each_row(side, rows_of_thread(side), [&](int r) {
            const int piece = along_depth ? r : i, neighbour = along_depth ? i : r;
            pick(side, vectors, along_depth ? r : 0, neighbour);
            emit(side.chain);
            b_.set(side.taken[static_cast<size_t>(piece * together() + neighbour)], or_zero(side, inside));
          });
        });
      }
    });
  }

  // Which loads read the neighbours of a piece as one vector: all of these are inside, or none.
  void find_vectors(Side& side) {
    const int axis = side.panel.along_depth ? k_ : side.axes.empty() ? -1 : side.axes.back();
    if (together() != kVector || axis < 0 || c_.extent(axis) % together() != 0) return;
    const std::vector<bool> varies = varying_along(c_.kernel, axis);
    for (Value v : side.chain) {
      if (nest_.instr(v).op == Op::Load && moves_as_quad(c_.kernel, nest_.instr(v), axis, varies)) side.vectors.push_back(v);
    }
  }

  // Those of the first `rows` rows that a thread stages, row by row.
  std::vector<ValueId> load_vectors(const Side& side, int rows) {
    std::vector<ValueId> loaded;
    each_row(side, rows, [&](int) {
      for (Value v : side.vectors) loaded.push_back(b_.load(nest_.instr(v).slot, nest_.position_of(v), together()));
    });
    return loaded;
  }

  // From here on those loads are the neighbour of that number.
  void pick(const Side& side, const std::vector<ValueId>& vectors, int row, int neighbour) {
    for (size_t v = 0; v < side.vectors.size(); ++v) {
      const ValueId vector = vectors[static_cast<size_t>(row) * side.vectors.size() + v];
      nest_.set(side.vectors[v], b_.let(Op::Extract, {vector, c_.literal(neighbour)}, {b_.type(vector).dtype, 1}));
    }
  }

  // So many k; past the last one the last ones again. Gives whether they are inside, if anyone asks; else -1.
  ValueId bind_k(ValueId k, int64_t count) {
    const bool ragged = depth_ % tile_->depth != 0;
    nest_.bind(k_, ragged ? c_.minimum(k, c_.sub(nest_.extent(k_), c_.literal(count))) : k);
    return ragged && sums_->zero_filled && count == 1 ? c_.less(k, nest_.extent(k_)) : -1;
  }

  ValueId or_zero(const Side& side, ValueId inside) {
    const ValueId value = nest_.get(side.operand);
    return inside < 0 ? value : b_.op(Op::Where, {inside, value, b_.constant(ir::constant(side.panel.dtype, int64_t{0}))});
  }

  // Row after row of each worker passes through shared memory, so that neighbouring threads store neighbouring columns, and
  // that the code has the epilogue once. A thread takes four columns where results and what they need lie so in memory.
  void epilogue() {
    nest_.set_sub_axes({});
    const int lanes = stores_vectors() ? kVector : 1;
    const int columns = right_.panel.width / lanes, rows = threads() / columns;  // that the threads store at once
    auto [down, across] = c_.divide(c_.thread(), c_.literal(columns));
    if (lanes > 1) across = c_.mul(across, c_.literal(lanes));
    const ValueId column = c_.add(right_.begin, across);
    emit(of_batch_);
    lanes > 1 ? begin_vectors(column) : begin_column(column);
    c_.loop(c_.literal(0), c_.literal(sums_->strips), 1, [&, down = down, across = across](ValueId strip) {
      sums_->pass(strip);
      b_.barrier();
      c_.loop(down, c_.literal(sums_->strip_rows), rows, [&](ValueId number) {
        const ValueId row = c_.add(left_.begin, sums_->row(strip, number));
        nest_.when(c_.below(row, left_.extent, left_.panel.width), [&] {
          nest_.when(c_.below(column, right_.extent, right_.panel.width), [&] {
            nest_.bind_linear(left_.axes, row);
            const ValueId product = b_.load(sums_->shared, c_.add(c_.mul(number, c_.literal(sums_->pitch)), across), lanes);
            emit(of_row_);
            if (lanes > 1) return store_vectors(product);
            nest_.set(contract_, product);
            emit(of_element_);
          });
        });
      });
      b_.barrier();
    });
  }

  void begin_column(ValueId column) {
    bind_within(right_, column, right_.last);
    emit(of_column_);
  }

  // --- the epilogue of four neighbouring columns

  bool stores_vectors() {
    if (right_.axes.empty() || right_.panel.width % kVector != 0 || threads() % (right_.panel.width / kVector) != 0) return false;
    const int axis = right_.axes.back();
    if (c_.extent(axis) % kVector != 0) return false;
    along_columns_ = varying_along(c_.kernel, axis);
    along_columns_[contract_] = true;  // a vector, even where all columns are equal
    for (Value v : of_element_) {
      for (Value a : nest_.instr(v).args) along_columns_[v] = along_columns_[v] || along_columns_[a];
    }
    return std::all_of(of_element_.begin(), of_element_.end(), [&](Value v) {
      return nest_.instr(v).op != Op::Store || moves_as_quad(c_.kernel, nest_.instr(v), axis, along_columns_);
    });
  }
  bool loads_vector(Value v) {
    return nest_.instr(v).op == Op::Load && along_columns_[v] && moves_as_quad(c_.kernel, nest_.instr(v), right_.axes.back(), along_columns_);
  }

  // Binds the columns from this one on, and reads what they have for all rows.
  void begin_vectors(ValueId column) {
    std::vector<int> outer = right_.axes;
    outer.pop_back();
    if (right_.extent % right_.panel.width != 0) column = c_.minimum(column, c_.sub(nest_.size(right_.extent), c_.literal(kVector)));
    const ValueId four = b_.quotient(column, c_.literal(kVector));
    first_column_ = c_.mul(c_.bind_outer(outer, four, c_.extent(right_.axes.back()) / kVector).second, c_.literal(kVector));
    for (Value v : of_column_) {
      if (!along_columns_[v]) emit({v});
    }
    c_.in_scope([&] {
      nest_.bind(right_.axes.back(), first_column_);
      for (Value v : of_column_) {
        if (loads_vector(v)) column_vectors_.emplace_back(v, b_.load(nest_.instr(v).slot, nest_.position_of(v), kVector));
      }
    });
  }

  void store_vectors(ValueId products) {
    Quads quads(c_);
    quads.is(contract_, products);
    for (const auto& [v, vector] : column_vectors_) quads.is(v, vector);
    std::vector<Value> single;
    for (Value v : of_column_) {
      if (!loads_vector(v) && along_columns_[v]) single.push_back(v);
    }
    for (Value v : of_element_) {
      const bool moves = nest_.instr(v).op == Op::Store || loads_vector(v);
      if (!moves && along_columns_[v]) single.push_back(v);
      if (!moves && !along_columns_[v]) emit({v});
    }
    c_.in_scope([&] {
      nest_.bind(right_.axes.back(), first_column_);
      for (Value v : of_element_) {
        const Instr& in = nest_.instr(v);
        if (in.op == Op::Store) quads.write(in.args[0], in.slot, nest_.position_of(v));
        if (loads_vector(v)) quads.read(v, in.slot, nest_.position_of(v));
      }
    });
    nest_.prepare(single);
    quads.each([&](ValueId k) {
      nest_.bind(right_.axes.back(), c_.add(first_column_, k));
      emit(single);
    });
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
  std::unique_ptr<Sums> sums_;
  // The epilogue in vectors: which values change along the columns' last axis, the thread's first place there, and what was read.
  std::vector<bool> along_columns_;
  ValueId first_column_ = -1;
  std::vector<std::pair<Value, ValueId>> column_vectors_;
};

}  // namespace

void lower_contraction(Context& c) { Contraction(c).lower(); }

}  // namespace tenon::passes::gpu
