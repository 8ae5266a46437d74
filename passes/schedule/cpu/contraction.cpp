// Schedule for contractions: a tile of the product lives in registers while k runs; the epilogue is applied
// to the registers before they are stored. Each element is acc = fma(a, b, acc) with k in order, so tiles do
// not change bits.
//
//   phase tiles: parallel (batch, row panel, column tile)
//     pack b[., columns] -> panel[k][columns]         where b is not contiguous along the columns (what is contiguous
//                                                     along k is turned in registers), or large
//     for i in panel step 6 {
//       acc[6][4 vectors]; for k { acc += splat(a[i, k]) * b[k, columns] }; epilogue; store }
//     the same for the rows left over, 2 at a time, then one by one; up to 12 rows in all are one tile
//
// A constant b that few rows use is packed as a whole, in a phase of its own, so that the copy can be kept from launch to
// launch:
//
//   phase pack: parallel column tile               pack b[., columns] -> packed[tile][k][columns]
//   phase tiles: ...                               as above, from there
//
// Accumulators take three quarters of the vector registers, as 6 rows of 4 vectors, 8 of 3 or 12 of 2; with 16 registers
// as 6 of 2. Wide tiles splat fewer elements for each multiplication (6 of 4: 155 GFLOP/s, 12 of 2: 125, of 179), narrow
// ones keep a long panel in the cache and leave fewer columns over.
#include <algorithm>
#include <array>

#include "passes/schedule/cpu/context.h"

namespace tenon::passes::cpu {

namespace {

constexpr size_t kShortEpilogue = 8;  // instructions
// About the rows that one parallel iteration takes, and so uses a packed panel: few where there are few columns to
// share out.
constexpr int64_t kFewRows = 48, kManyRows = 240, kManyVectors = 16;
constexpr int64_t kRowsOfCopy = 128;        // with more, packing costs little beside the product
constexpr int kLeastRows = 6;               // fewer rows to a tile would wait for the panel's loads
constexpr int kLeastInstructions = 20;      // about as many could be issued while the loads of a small tile are waited for

struct RegisterTile {
  int vectors;
  std::vector<int> rows;  // of the tile; then of those that take what is left over
};

// The columns left over are few: less code for them.
std::vector<int> rows_of_rest(const std::vector<int>& tile_rows) {
  return tile_rows.size() == 1 ? tile_rows : std::vector<int>{std::min(tile_rows[0], kLeastRows), 1};
}

// Of one k, for all rows.
int64_t instructions_of(int64_t rows, const std::vector<int>& tile_rows, int vectors) {
  int64_t count = 0;
  for (int tile : tile_rows) {
    count += rows / tile * std::max(tile * vectors + tile + vectors + 3, kLeastInstructions);
    rows %= tile;
  }
  return count;
}

// The tile for which all tiles take the fewest instructions. Rows that fit one tile stay one. `column_bytes`: of one column
// of the right operand; a panel of more than two vectors has no more than fits the second cache.
RegisterTile choose_tile(const Context& c, int64_t rows, int64_t columns, int64_t column_bytes) {
  const int accumulators = c.target.vector_registers() * 3 / 4, least_vectors = columns > c.lanes ? 2 : 1;
  const int widest = least_vectors == 1 ? 1 : accumulators / kLeastRows;
  RegisterTile best;
  int64_t least = INT64_MAX;
  for (int vectors = least_vectors; vectors <= widest; ++vectors) {
    const int most = vectors == 1 ? accumulators * 2 / 3 : accumulators / vectors;
    const int64_t tile = int64_t{vectors} * c.lanes, panel = column_bytes * tile, rest = columns % tile;
    if (vectors > 2 && ((rows > most && rows <= accumulators / 2) || panel > c.target.l2_bytes / 2)) break;
    std::vector<int> tile_rows{static_cast<int>(std::min<int64_t>(rows, most))};
    if (rows > most) tile_rows.insert(tile_rows.end(), {most / 3, 1});
    const int64_t instructions = columns / tile * instructions_of(rows, tile_rows, vectors) +
                                 ceil_div(rest, c.lanes) * instructions_of(rows, columns < tile ? tile_rows : rows_of_rest(tile_rows), 1);
    if (instructions >= least) continue;
    least = instructions;
    best = {vectors, tile_rows};
  }
  return best;
}

bool depends(const ir::Kernel& kernel, Value v, int axis) {
  const Instr& in = kernel.instr(v);
  const auto on = [&](const ir::Guard& g) { return g.value.depends_on(axis); };
  return in.index.depends_on(axis) || std::any_of(in.guards.begin(), in.guards.end(), on) ||
         std::any_of(in.args.begin(), in.args.end(), [&](Value a) { return depends(kernel, a, axis); });
}

// A value behind what it is computed from (loads and casts).
std::vector<Value> chain(const ir::Kernel& kernel, Value v) {
  std::vector<Value> order;
  for (Value a : kernel.instr(v).args) {
    for (Value u : chain(kernel, a)) order.push_back(u);
  }
  order.push_back(v);
  return order;
}

class Contraction {
 public:
  explicit Contraction(Context& c) : c_(c), nest_(c.nest), b_(c.builder) {
    for (size_t v = 0; v < c.kernel.instrs.size(); ++v) {
      if (c.kernel.instrs[v].op == Op::Contract) contract_ = static_cast<Value>(v);
    }
    k_ = c.axes(AxisKind::Contract)[0];
    left_ = nest_.instr(contract_).args[0];
    right_ = nest_.instr(contract_).args[1];
    choose_axes();
    c.set_lanes(column_);
    tile_.vectors = column_ >= 0 && c.extent(column_) > c.lanes ? 2 : 1;
    // Several rows pay only if the right operand does not change from row to row and the left not along the
    // lanes.
    if (row_ >= 0 && !depends(c_.kernel, right_, row_) && !nest_.varies(left_)) {
      tile_ = choose_tile(c, c.extent(row_), c.extent(column_), c.extent(k_) * ir::item_size(nest_.instr(right_).dtype));
    }
  }

  void lower() {
    int64_t columns = column_ < 0 ? 1 : c_.extent(column_), rows = row_ < 0 ? 1 : c_.extent(row_);
    int64_t tile = int64_t{tile_.vectors} * nest_.lanes();
    int64_t column_tiles = ceil_div(columns, tile);
    // Panels of equal size: each packs its columns again.
    const int64_t about = columns >= kManyVectors * nest_.lanes() ? kManyRows : kFewRows;
    int64_t panels = std::max<int64_t>((rows + about / 2) / about, 1);
    const int64_t panel_rows = std::max<int64_t>(ceil_div(ceil_div(rows, panels), tile_.rows[0]), 1) * tile_.rows[0];
    panels = ceil_div(rows, panel_rows);
    const auto cost = [&](int64_t work) { return static_cast<double>(work * tile * c_.extent(k_)) / (8.0 * nest_.lanes()) + 50; };
    if (packs() && rows <= kRowsOfCopy && copies_whole()) pack_whole(column_tiles, cost(4));
    const double ns = cost(std::min(rows, panel_rows));
    ValueId t = c_.begin_phase("tiles", c_.product(batch_) * column_tiles * panels, ns);
    auto [rest, column_tile] = c_.divide(t, nest_.size(column_tiles));
    auto [batch, panel] = c_.divide(rest, nest_.size(panels));
    nest_.bind_linear(batch_, batch);
    ValueId step = nest_.size(panel_rows);
    row_begin_ = c_.mul(panel, step);
    row_end_ = c_.minimum(c_.add(row_begin_, step), nest_.size(rows));
    prologue();
    columns_of_tile(column_tile, [&](const PackedTile& columns) { rows_of_tile(columns); });
    c_.end_phase();
  }

 private:
  // A right operand of more is packed: its rows lie far apart.
  int64_t large_bytes() const { return c_.target.l2_bytes / 4; }

  // The column axis is one along which the left operand does not change, the row axis one along which the
  // right does not; the last ones win. Everything else is batch.
  void choose_axes() {
    for (int a : c_.axes(AxisKind::Parallel)) {
      bool left = depends(c_.kernel, left_, a), right = depends(c_.kernel, right_, a);
      if (right && !left) column_ = a;
      if (left && !right) row_ = a;
    }
    if (column_ < 0) {
      // The product has one column: vectors run down its rows instead.
      column_ = row_;
      row_ = -1;
      std::swap(left_, right_);
      swapped_ = true;
    }
    batch_ = c_.parallel_but({column_, row_});
  }

  // Values that depend on neither rows nor columns; notes what the products go through afterwards.
  void prologue() {
    for (size_t i = 0; i < c_.kernel.instrs.size(); ++i) {
      const auto v = static_cast<Value>(i);
      const Instr& in = nest_.instr(v);
      if (in.op == Op::Const || in.op == Op::Scalar) {
        nest_.emit(v);
      } else if (in.level != Level::Contract && in.op != Op::Contract) {
        epilogue_.push_back(v);
      }
    }
  }

  void bind_columns(ValueId begin, int vectors) {
    for (int q = 0; q < vectors; ++q) {
      nest_.set_sub(q);
      if (column_ >= 0)
        nest_.bind(column_, q == 0 ? begin : c_.add(begin, c_.literal(int64_t{q} * nest_.lanes())));
    }
    nest_.set_sub(0);
  }

  // The columns of tile `number`, all vectors of them or, of the last tile, vector by vector: body(columns).
  template <class Body>
  void columns_of_tile(ValueId number, const Body& body) {
    const int64_t width = int64_t{tile_.vectors} * nest_.lanes(), columns = column_ < 0 ? 1 : c_.extent(column_);
    const ValueId begin = c_.mul(number, c_.literal(width)), end = nest_.size(columns);
    const auto bound = [&](ValueId first, int vectors, ValueId mask) {
      c_.in_scope([&] {
        nest_.set_sub_axes(std::array{column_});
        bind_columns(first, vectors);
        if (region_ > 0) packed_.base = c_.add(c_.mul(number, nest_.size(region_)), c_.sub(first, begin));
        body(PackedTile{column_, k_, first, vectors, mask < 0 ? -1 : end, mask});
      });
    };
    if (column_ < 0) return bound(begin, 1, -1);
    c_.whole_or_rest(begin, end, columns, width, [&] { bound(begin, tile_.vectors, -1); },
                     [&] { c_.loop(begin, end, nest_.lanes(), [&](ValueId at) { bound(at, 1, nest_.tail_mask(at, end)); }); });
  }

  // Whether a copy of the whole right operand is worth keeping if it is constant, and it is.
  bool copies_whole() {
    const Instr& right = nest_.instr(right_);
    const Index::Stride along = right.index.stride(k_), across = right.index.stride(column_);
    const ir::Axes axes = right.index.axes();
    const bool whole = std::all_of(axes.begin(), axes.end(), [&](int a) { return a == k_ || a == column_; });
    if (!whole || !along.ok || !across.ok || right.scale != 0 || !right.guards.empty()) return false;
    region_ = (c_.extent(k_) + packed_slack(c_, right_, k_)) * tile_.vectors * nest_.lanes();
    c_.out.packing = Lowered::Packing{right.slot, -1, 0,
                                      {static_cast<int64_t>(right.dtype), c_.extent(k_), c_.extent(column_), along.value, across.value,
                                       right.index.constant_part(), nest_.lanes(), tile_.vectors}};
    if (!c_.kernel.buffer(right.slot).constant) region_ = 0;
    return region_ > 0;
  }

  void pack_whole(int64_t tiles, double ns) {
    packed_ = {c_.buffer("packed", nest_.instr(right_).dtype, Space::Global, tiles * region_), -1, int64_t{tile_.vectors} * nest_.lanes()};
    c_.out.packing->copy = packed_.buffer;
    columns_of_tile(c_.begin_phase("pack", tiles, ns), [&](const PackedTile& columns) { pack(c_, right_, columns, packed_); });
    c_.end_phase();
  }

  // Where the right operand of a tile is read: packed, or in place.
  Panel panel_of(const PackedTile& columns) {
    if (region_ > 0) return packed_;
    if (!packs()) return {};
    const int64_t width = int64_t{columns.vectors} * nest_.lanes();
    const Panel panel{c_.buffer("panel", nest_.instr(right_).dtype, Space::Local, (c_.extent(k_) + packed_slack(c_, right_, k_)) * width), -1, width};
    pack(c_, right_, columns, panel);
    return panel;
  }

  // All rows of the panel for one tile of columns.
  void rows_of_tile(const PackedTile& columns) {
    mask_ = columns.mask;
    const int vectors = columns.vectors;
    const Panel panel = panel_of(columns);
    std::vector<int> tile_axes{column_};
    if (row_ >= 0) tile_axes.push_back(row_);
    nest_.set_sub_axes(tile_axes);
    ValueId at = row_begin_;
    for (int rows : mask_ < 0 || fewer_than_tile() ? tile_.rows : rows_of_rest(tile_.rows)) {
      ValueId end = row_end_;
      if (rows > 1) {
        ValueId step = c_.literal(rows);
        end = c_.add(at, c_.mul(b_.quotient(c_.sub(row_end_, at), step), step));
      }
      row_group(at, end, rows, vectors, panel);
      if (rows > 1 && rows == tile_.rows[0] && c_.extent(row_) % rows == 0) break;  // panels are whole tiles: no rows are left over
      at = end;
    }
  }

  // Then all columns are left over, and those are what the code is for.
  bool fewer_than_tile() const { return c_.extent(column_) < int64_t{tile_.vectors} * nest_.lanes(); }

  // Whether the right operand is copied into a panel: its rows lie far apart, or its columns do. Guards (of blocks laid side
  // by side) are settled once, not for each row.
  bool packs() const {
    const Instr& right = nest_.instr(right_);
    if (column_ < 0 || right.op != Op::Load || tile_.rows[0] == 1) return false;
    const Index::Stride across = right.index.stride(column_);
    const int64_t bytes = c_.extent(k_) * c_.extent(column_) * ir::item_size(right.dtype);
    const bool in_place = across.ok && (across.value == 0 || (across.value == 1 && bytes <= large_bytes()));
    return !in_place || !right.guards.empty();
  }

  // Rows begin..end, `rows` at a time, each with `vectors` accumulators. Vector q of row r is a sub-vector of the nest.
  void row_group(ValueId begin, ValueId end, int rows, int vectors, const Panel& panel) {
    c_.loop(begin, end, rows, [&](ValueId at) {
      const int width = column_ < 0 ? 1 : nest_.lanes();
      const ir::Constant zero = ir::constant(nest_.instr(contract_).dtype, int64_t{0});
      std::vector<std::vector<ValueId>> registers(static_cast<size_t>(rows));
      for (auto& row : registers) {
        for (int q = 0; q < vectors; ++q) row.push_back(b_.var(b_.constant(zero, width)));
      }
      for (int r = 0; r < rows; ++r) bind_row(r, r == 0 ? at : c_.add(at, c_.literal(r)), vectors);
      for (int sub = 0; sub < rows * vectors; ++sub) {
        nest_.set_sub(sub);
        if (sub % vectors == 0) nest_.prepare(chain(c_.kernel, left_));
        if (sub < vectors && panel.buffer < 0) nest_.prepare(chain(c_.kernel, right_));
      }
      c_.loop(c_.literal(0), nest_.extent(k_), 1, [&](ValueId k) {
        nest_.bind(k_, k);
        multiply(panel, k, registers);
      });
      finish(at, vectors, registers);
    });
  }

  // Row r of the tile: its sub-vectors have the columns of the first row's.
  void bind_row(int r, ValueId row, int vectors) {
    for (int q = 0; q < vectors; ++q) {
      nest_.set_sub(q);
      const ValueId column = column_ < 0 ? -1 : nest_.axis_value(column_);
      nest_.set_sub(r * vectors + q);
      if (row_ >= 0) nest_.bind(row_, row);
      if (r > 0 && column_ >= 0) nest_.bind(column_, column);
    }
    nest_.set_sub(0);
  }

  // The epilogue of a group of rows: a short one on each register in its place, so that nothing is stored in
  // between; a long one (GELU) once, in a loop over the rows, for the registers would not hold a dozen of them.
  void finish(ValueId first_row, int vectors, const std::vector<std::vector<ValueId>>& registers) {
    const int width = column_ < 0 ? 1 : nest_.lanes();
    const auto rows = static_cast<int>(registers.size());
    if (rows == 1 || epilogue_.size() <= kShortEpilogue) {
      for (int r = 0; r < rows; ++r) {
        epilogue(r, vectors, [&](int q) { return b_.get(registers[r][q]); });
      }
      return;
    }
    const auto place = [&](ValueId r, int q) {
      return c_.add(c_.mul(r, c_.literal(int64_t{vectors} * width)), c_.literal(int64_t{q} * width));
    };
    int32_t products = b_.add_buffer({"products" + std::to_string(c_.out.tree.buffers.size()),
                                      nest_.instr(contract_).dtype, Space::Local, -1, int64_t{rows} * vectors * width});
    for (int r = 0; r < rows; ++r) {
      for (int q = 0; q < vectors; ++q) {
        b_.store(products, place(c_.literal(r), q), b_.get(registers[r][q]));
      }
    }
    c_.loop(c_.literal(0), nest_.size(rows), 1, [&](ValueId r) {  // a literal would be unrolled again
      bind_row(rows, c_.add(first_row, r), vectors);  // sub-vectors of its own: the tile's know other rows' addresses
      epilogue(rows, vectors, [&](int q) { return b_.load(products, place(r, q), width); });
    });
  }

  void multiply(const Panel& panel, ValueId k, const std::vector<std::vector<ValueId>>& registers) {
    std::vector<ValueId> right;  // the rows share it
    int sub = 0;
    for (const std::vector<ValueId>& row : registers) {
      ValueId x = -1;  // the vectors share it
      for (size_t q = 0; q < row.size(); ++q, ++sub) {
        nest_.set_sub(sub);
        nest_.set_mask(mask_);
        if (q == 0 || nest_.varies(left_)) x = operand(left_);
        if (right.size() == q) {
          const auto at = [&] { return panel.at(c_, k, static_cast<int64_t>(q) * nest_.lanes()); };
          right.push_back(panel.buffer < 0 ? operand(right_) : b_.load(panel.buffer, at(), nest_.lanes()));
        }
        nest_.set_mask(-1);
        b_.set(row[q], swapped_ ? multiply_add(right[q], x, b_.get(row[q])) : multiply_add(x, right[q], b_.get(row[q])));
      }
    }
    nest_.set_sub(0);
  }

  ValueId multiply_add(ValueId x, ValueId y, ValueId acc) {
    if (ir::is_float(b_.type(acc).dtype)) return b_.op(Op::Fma, {x, y, acc});
    return b_.op(Op::Add, {b_.op(Op::Mul, {x, y}), acc});
  }

  // An operand at the bound k, row and columns.
  ValueId operand(Value v) {
    for (Value u : chain(c_.kernel, v)) {
      if (!nest_.known(u)) nest_.emit(u);
    }
    return column_ < 0 ? nest_.get(v) : nest_.vector(v);
  }
  template <class Product>
  void epilogue(int r, int vectors, const Product& product) {
    c_.in_scope([&] {
      for (int q = 0; q < vectors; ++q) {
        nest_.set_sub(r * vectors + q);
        nest_.set(contract_, product(q));
        nest_.set_mask(mask_);
        for (Value v : epilogue_) {
          if (nest_.instr(v).op == Op::Store || !nest_.known(v)) nest_.emit(v);
        }
        nest_.set_mask(-1);
      }
      nest_.set_sub(0);
    });
  }

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  Value contract_ = -1, left_, right_;
  bool swapped_ = false;  // left_ and right_ are the contraction's second and first operand
  int k_, row_ = -1, column_ = -1;
  std::vector<int> batch_;
  std::vector<Value> epilogue_;
  RegisterTile tile_{1, {1}};
  Panel packed_;        // the whole right operand, from the current columns on
  int64_t region_ = 0;  // its elements for a tile of columns; 0: it is not packed as a whole
  ValueId row_begin_ = -1, row_end_ = -1, mask_ = -1;
};

}  // namespace

void lower_contraction(Context& c) { Contraction(c).lower(); }

}  // namespace tenon::passes::cpu
