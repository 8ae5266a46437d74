// Schedule for contractions: a tile of the product lives in registers while k runs; the epilogue is applied
// to the registers before they are stored. Each element is acc = fma(a, b, acc) with k in order, in chains
// (ir/op/sum_order.h), so tiles do not change bits.
//
//   phase tiles: parallel (batch, row panel, column tile)
//     pack b[., columns] -> panel[k][columns]         where b is not contiguous along the columns (what is contiguous
//                                                     along k is turned in registers), or large
//     for i in panel step 6 {
//       acc[6][4 vectors]; for k { acc += splat(a[i, k]) * b[k, columns] }; epilogue; store }
//     the same for the rows left over, 3 at a time
//
// The code depends on the number of rows only by the tile that suits them, and not even by that if they are many: a tile that reaches
// past the last row has that row several times, and stores it once. The columns left over at the end are one narrower tile, its last
// vector masked, and so are columns that one tile holds, however many; code for much work, or that runs often, knows whether they fill it.
//
// Where columns are few and b, read in place, changes along an axis y that a does not change along (rows of an image under a
// convolution), the vectors of a tile lie at neighbouring y:
//
//     acc[6][2 y][2 vectors]; for k { acc += splat(a[i, k]) * b[k, y, columns] }
//
// Where a panel of all k would leave the second cache, it is packed chain by chain of k, for all rows and some tiles of columns at once. A
// left operand that lies along its rows is turned meanwhile:
//
//     for chain of k {
//       turn a[rows, chain] -> rows
//       for tile of columns { pack b[chain, tile] -> panel; for i in rows step 6 { acc[6][4 vectors]; ...; sums[tile, i ..] += acc } } }
//     epilogue
//
// Where k of b, read in place, has to be divided, a table tells how far on it lies (window_product.h).
//
// Windows times weights of many channels go another way (window_product.h).
//
// A constant b that few rows use is packed as a whole, in a phase of its own, so that the copy can be kept from launch to
// launch:
//
//   phase pack: parallel column tile               pack b[., columns] -> packed[tile][k][columns]
//   phase tiles: ...                               as above, from there
//
// Accumulators take three quarters of the vector registers, as 6 rows of 4 vectors, 8 of 3 or, if they lie beside each other, 12 of 2;
// with 16 registers as 6 of 2. Wide tiles splat fewer elements for each multiplication (6 of 4: 155 GFLOP/s, 12 of 2: 125, of 179), narrow
// ones keep a long panel in the cache and leave fewer columns over.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "passes/passes.h"
#include "passes/schedule/cpu/context.h"
#include "passes/schedule/cpu/window_product.h"

namespace tenon::passes::cpu {

namespace {

constexpr size_t kShortEpilogue = 8;  // instructions
// About the rows that one parallel iteration takes, and so uses a packed panel: few where there are few columns to
// share out.
constexpr int64_t kFewRows = 48, kManyRows = 240, kManyVectors = 16;
constexpr int64_t kRowsOfChains = 512;                  // whose left operand stays in the second cache for a chain
constexpr int64_t kTasksOfCore = 4;                     // that share out the work evenly
constexpr int64_t kRowsOfPacked = 96, kManyTasks = 16;  // where that leaves so many iterations
constexpr int64_t kRowsOfCast = 24;                     // fewer take no longer to widen what they read in place
constexpr int64_t kRowsOfCopy = 128;                    // with more, packing costs little beside the product
constexpr int kLeastRows = 6;                           // fewer rows to a tile would wait for the panel's loads
constexpr int kLeastInstructions = 20;                  // about as many could be issued while the loads of a small tile are waited for
constexpr int kLeastTiled = 3;                          // rows: of fewer the last ones are computed twice
constexpr int kRowsOfAny = 8;              // of a tile for any number of columns, at most: as many as hide the latency of a product
constexpr int64_t kFirstCache = 16 << 10;  // bytes of a right operand that stay in it, however its tiles lie
constexpr int64_t kAskedBytes = 64 << 10;  // of an operand that the first cache does not hold
constexpr int kRowsOfRest = 8;             // of a tile of the columns left over, at most
constexpr int kRowsApart = 8;              // each has an address in a register, and may have a line in the same set of the cache

struct RegisterTile {
  int vectors = 1;              // of columns
  int lines = 1;                // neighbours along the axis of lines, `vectors` of each
  std::vector<int> rows = {1};  // of the tile; then of those that take what is left over
  bool any_columns = false;     // the columns that whole tiles leave over go vector by vector, however many
};

int accumulators(const ir::CpuTarget& target) { return target.vector_registers() * 3 / 4; }
int accumulators(const Context& c) { return accumulators(c.target); }

// Rows that a tile may have, with so many vectors of each in registers.
int most_rows(int registers, int vectors) { return vectors == 1 ? registers * 2 / 3 : registers / vectors; }
// Rows of a tile of so many, and of those that take the rows left over: two sizes, in code that runs often three.
std::vector<int> rows_of_tile(int most, bool often) {
  std::vector<int> rows{most};
  while (rows.size() < (often ? 3 : 2) && rows.back() > kLeastTiled) rows.push_back(rows.back() / 2);
  return rows;
}
// The choices for a tile: as many rows as the registers hold, if they lie `apart` no more than kRowsApart, else also those, and in code
// that runs often behind it one tile for all rows left over; for several lines, where rows are a convolution's channels, also as many as
// divide them, so that none is computed twice.
std::vector<std::vector<int>> tiles_of_rows(int64_t rows, int most, bool apart, int lines, bool often) {
  const int few = std::min(most, kRowsApart);
  std::vector<std::vector<int>> result{rows_of_tile(few, often)};
  if (!apart && few < most) result.push_back(rows_of_tile(most, often));
  if (often && rows % few > 0) result.push_back({few, static_cast<int>(rows % few)});
  if (lines == 1 || rows % few == 0) return result;
  for (int even = few - 1; even >= kLeastTiled; --even) {
    if (rows % even != 0) continue;
    result.push_back({even, kLeastTiled});
    break;
  }
  return result;
}
// The columns left over are few: less code for them.
std::vector<int> rows_of_rest(int registers, int vectors) { return {std::min(most_rows(registers, vectors), kRowsOfRest)}; }

// The instructions for one k and all rows.
int64_t instructions_of(int64_t rows, const std::vector<int>& tile_rows, int vectors) {
  int64_t count = 0;
  for (int tile : tile_rows) {
    const bool whole = tile == tile_rows[0] && tile_rows.size() > 1;
    const int64_t tiles = std::max<int64_t>(rows + (whole ? 0 : tile_rows.back() - 1), 0) / tile;
    count += tiles * std::max(tile * vectors + tile + vectors + 3, kLeastInstructions);
    rows -= tiles * tile;
  }
  return count;
}

class TileChoice {
 public:
  // `item_bytes`: of the right operand. A panel of it of more than two vectors fits the second cache. A tile takes an even share of the
  // `lines` neighbouring lines that it may take together.
  TileChoice(const Context& c, int64_t rows, bool apart, int64_t columns, int64_t depth, int64_t item_bytes, int64_t lines)
      : c_(c),
        rows_(rows),
        apart_(apart),
        columns_(columns),
        depth_(depth),
        item_bytes_(item_bytes),
        lines_(lines),
        registers_(accumulators(c)),
        widest_(registers_ / kLeastRows) {}

  // The tile for which all tiles take the fewest instructions. Unless the code runs often it is that for many rows, of which those left
  // over hardly count: one tile for all numbers of rows. A convolution's rows are its channels, which do not change.
  RegisterTile best(bool often) const {
    if (any_columns() && !often) return of_any_columns();
    constexpr int64_t kMany = 24, kWholeTiles = 240;  // a multiple of most tiles
    const int64_t rows = often || (lines_ > 1 && rows_ <= kMany) ? rows_ : kWholeTiles;
    RegisterTile best;
    double least = 0;
    for (int vectors = std::min(vectors_in(columns_), 2); vectors <= vectors_in(columns_); ++vectors) {
      const int64_t tile = int64_t{vectors} * c_.lanes;
      if (vectors > 2 && !is_in_cache(tile)) break;
      for (int together = 1; together * vectors <= widest_ && (together == 1 || columns_ <= tile); ++together) {
        if (lines_ % together != 0) continue;
        for (const std::vector<int>& tile_rows : tiles_of_rows(rows_, most_rows(registers_, vectors * together), apart_, together, often)) {
          const RegisterTile next{vectors, together, tile_rows};
          const double of_line = instructions(rows, next);
          if (least > 0 && of_line >= least) continue;
          least = of_line;
          best = next;
        }
      }
    }
    return best;
  }

  // Whether the code suits all numbers of columns: of little work, unless it runs often. As many as the widest tile holds, or the first
  // cache, go vector by vector, and so does what more of them leave over. Several whole tiles are one more code: that of most layers.
  bool any_columns() const {
    const bool whole = columns_ > widest_tile() && columns_ % widest_tile() == 0;
    return c_.is_small() && !whole && is_in_cache(widest_tile());
  }

  // Whether a tile is so much better than another that other code is worth compiling.
  bool is_better(const RegisterTile& tile, const RegisterTile& than) const {
    const double worth_it = c_.is_small() ? 0.9 : 0.97;
    return instructions(rows_, tile) < worth_it * instructions(rows_, than) || rows_of(tile) < worth_it * rows_of(than);
  }

 private:
  int64_t widest_tile() const { return int64_t{widest_} * c_.lanes; }
  bool is_in_cache(int64_t tile) const { return depth_ * item_bytes_ * tile <= c_.target.l2_bytes / 2; }
  RegisterTile of_any_columns() const {
    const bool in_first_cache = depth_ * columns_ * item_bytes_ <= kFirstCache;
    const int vectors = columns_ <= widest_tile() || in_first_cache ? 1 : widest_;
    return {vectors, 1, rows_of_tile(std::min(most_rows(registers_, vectors), kRowsOfAny), false), true};
  }
  int vectors_in(int64_t width) const { return static_cast<int>(std::min<int64_t>(ceil_div(width, c_.lanes), widest_)); }

  // Rows that are computed, some of them more than once.
  double rows_of(const RegisterTile& t) const {
    int64_t left = rows_, count = 0;
    for (int tile : t.rows) {
      const int64_t tiles = std::max<int64_t>(left + (tile == t.rows[0] ? 0 : t.rows.back() - 1), 0) / tile;
      count += tiles * tile;
      left -= tiles * tile;
    }
    return static_cast<double>(count);
  }

  // The instructions for a line and one k.
  double instructions(int64_t rows, const RegisterTile& t) const {
    const int64_t tile = int64_t{t.vectors} * c_.lanes, whole = columns_ / tile, rest = columns_ % tile;
    const int rest_vectors = vectors_in(rest);
    int64_t count = whole * instructions_of(rows, t.rows, t.lines * t.vectors);
    if (rest == 0) return static_cast<double>(count) / t.lines;
    if (t.any_columns) {
      count += rest_vectors * instructions_of(rows, t.rows, 1);
    } else if (whole > 0) {
      count += instructions_of(rows, rows_of_rest(registers_, rest_vectors), rest_vectors);
    } else {
      count = instructions_of(rows, t.rows, t.lines * t.vectors);
    }
    return static_cast<double>(count) / t.lines;
  }

  const Context& c_;
  const int64_t rows_;
  const bool apart_;  // the rows do not lie beside each other
  const int64_t columns_, depth_, item_bytes_, lines_;
  const int registers_, widest_;
};

bool depends(const ir::Kernel& kernel, Value v, int axis) {
  const Instr& in = kernel.instr(v);
  const auto on = [&](const ir::Guard& g) { return g.value.depends_on(axis); };
  return in.index.depends_on(axis) || std::ranges::any_of(in.guards, on) ||
         std::ranges::any_of(in.args, [&](Value a) { return depends(kernel, a, axis); });
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
  explicit Contraction(Context& c)
      : c_(c), nest_(c.nest), b_(c.builder), contract_(contraction_of(c.kernel)), factors_(factors_of(c.kernel, contract_)) {
    k_ = c.axes(AxisKind::Contract)[0];
    left_ = factors_.left;
    right_ = factors_.right;
    choose_axes();
    left_chain_ = chain(c.kernel, left_);
    right_chain_ = chain(c.kernel, right_);
    c.set_lanes(column_);
    tile_.vectors = column_ >= 0 && c.extent(column_) > c.lanes ? 2 : 1;
    // Several rows pay only if the right operand does not change from row to row and the left not along the
    // lanes.
    tiled_ = row_ >= 0 && !depends(c_.kernel, right_, row_) && !nest_.varies(left_);
    if (tiled_) {
      const int64_t lines = line_ < 0 || packs() ? 1 : c.extent(line_);
      // The part of a panel that is read again from tile to tile.
      const int64_t depth = turned_ || goes_by_chains() ? std::min(c.extent(k_), ir::kProductChain) : c.extent(k_);
      const TileChoice choice(c, c.extent(row_), rows_lie_apart(), c.extent(column_), depth, ir::item_size(nest_.instr(right_).dtype),
                              lines);
      tile_ = choice.best(c.target.often || turned_);  // the places of an image seldom change
      if (!c.target.often)
        c.out.better_often = choice.is_better(choice.best(true), tile_) || (tile_.any_columns && columns_fill_and_lie_apart());
    }
    has_steps_ = turned_ || (tiled_ && !c.is_small() && has_steps(c, left_, k_));
    tile_.lines > 1 ? std::erase(batch_, line_) : line_ = kNoAxis;
    choose_asked();
    measure();
  }

  void lower() {
    if (copies_) pack_whole();
    if (has_steps_ || steps_right_) steps_ = note_steps(c_, has_steps_ ? left_ : right_, k_);
    if (turned_) windows_.emplace(c_, window_product(), factors_, steps_);
    const ValueId t = c_.begin_phase_of("tiles", c_.length_slot(lengths_, kTasks), ns_);
    auto [rest, column_tile] = c_.divide(t, in_chains_ ? c_.length(lengths_, kGroups) : nest_.size(column_tiles_));
    auto [batch, panel] = c_.divide(rest, c_.length(lengths_, kPanels));
    if (line_ >= 0) {
      const auto [outer, group] = c_.divide(batch, nest_.size(lines_));
      first_line_ = c_.mul(group, c_.literal(tile_.lines));
      batch = outer;
    }
    nest_.bind_linear(batch_, batch);
    const ValueId step = c_.length(lengths_, kPanelRows);
    row_begin_ = c_.mul(panel, step);
    row_end_ = c_.minimum(c_.add(row_begin_, step), c_.length(lengths_, kRows));
    prologue();
    if (in_chains_) {
      rows_by_chains(column_tile);
    } else {
      columns_of_tile(column_tile, !turned_, [&](const PackedTile& columns) { rows_of_panel(columns); });
    }
    c_.end_phase();
    c_.keep(std::move(lengths_), c_.target);
  }

  // Where known code is this one's: all that lower() does but the code.
  bool is_known() {
    if (!c_.is_known(lengths_, c_.target)) return false;
    if (copies_) {
      c_.out.phase_cost.push_back(pack_ns_);
      if (keeps_copy_) c_.out.packing->copy = static_cast<int32_t>(c_.kernel.buffers.size());  // the first of the tree's own
    }
    if (has_steps_ || steps_right_) c_.out.phase_cost.push_back(steps_ns(c_, k_));
    c_.out.phase_cost.push_back(ns_);
    return true;
  }

 private:
  enum Length { kTasks, kPanels, kPanelRows, kRows, kDepth, kSumRows, kGroups, kGroupTiles, kSums, kLeft };  // of lengths_.numbers

  void measure() {
    const int64_t columns = column_ < 0 ? 1 : c_.extent(column_), rows = row_ < 0 ? 1 : c_.extent(row_);
    const int64_t tile = int64_t{tile_.vectors} * nest_.lanes();
    column_tiles_ = ceil_div(columns, tile);
    packs_ = packs();
    in_chains_ = goes_by_chains();
    lines_ = line_ < 0 ? 1 : c_.extent(line_) / tile_.lines;
    // Panels of equal size, larger where there are tasks enough without them.
    int64_t about = turned_ || in_chains_ || columns >= kManyVectors * nest_.lanes() ? kManyRows : kFewRows;
    const int64_t tiles = c_.product(batch_) * lines_ * column_tiles_;
    if (packs_ && about == kFewRows && tiles * (rows / kRowsOfPacked) >= kManyTasks) about = kRowsOfPacked;
    int64_t panels = std::max<int64_t>((rows + about / 2) / about, 1);
    // Each panel packs its columns again, or fetches what was packed: no more of them than share out the work.
    const int64_t wanted = c_.target.cores == 1 ? 1 : kTasksOfCore * c_.target.cores;
    if ((packs_ || turned_) && panels > 1) {
      const int64_t least = in_chains_ ? ceil_div(rows, kRowsOfChains) : 1;
      panels = std::clamp(ceil_div(wanted, tiles), std::min(least, panels), panels);
    }
    const int64_t panel_bytes = c_.extent(k_) * tile * ir::item_size(nest_.instr(right_).dtype);
    const int64_t whole = turned_ ? block_rows(c_, panel_bytes, tile_.rows[0]) : tile_.rows[0];
    const int64_t panel_rows = std::max<int64_t>(ceil_div(ceil_div(rows, panels), whole), 1) * whole;
    panels = ceil_div(rows, panel_rows);
    const auto cost = [&](int64_t work) {
      return static_cast<double>(work * tile * tile_.lines * c_.extent(k_)) / (6.0 * nest_.lanes()) + 50;
    };
    const int64_t sum_rows = panel_rows + std::max(tile_.rows[0], kRowsOfRest);
    const int64_t group_tiles = in_chains_ ? tiles_of_group(sum_rows * tile, c_.product(batch_) * lines_ * panels, wanted) : 1;
    const int64_t groups = ceil_div(column_tiles_, group_tiles);
    ns_ = cost(std::min(rows, panel_rows)) * static_cast<double>(group_tiles);
    pack_ns_ = cost(4);
    const int64_t depth = c_.extent(k_) + packed_slack(c_, right_chain_.front(), k_);
    keeps_copy_ = packs_ && (turned_ || rows <= kRowsOfCopy) && copies_whole();
    copies_ = keeps_copy_ || turned_;
    packs_left_ = packs_left();
    steps_right_ = steps_right();
    lengths_.numbers = {c_.product(batch_) * lines_ * groups * panels,
                        panels,
                        panel_rows,
                        rows,
                        depth,
                        sum_rows,
                        groups,
                        group_tiles,
                        group_tiles * sum_rows,
                        panel_rows + (packs_left_ ? packed_slack(c_, left_chain_.front(), row_) : 0)};
    lengths_.free = {row_, k_};
    const auto outermost = std::ranges::find_if(batch_, [&](int a) { return c_.extent(a) > 1; });
    if (outermost != batch_.end()) lengths_.free.push_back(*outermost);
    const DType dtype = nest_.instr(contract_).dtype;
    lengths_.choices = {c_.is_small(),
                        tiled_,
                        tile_.any_columns,
                        packs_,
                        copies_,
                        keeps_copy_,
                        turned_,
                        has_steps_,
                        steps_right_,
                        in_chains_,
                        packs_left_,
                        whole,
                        ir::product_in_chains(dtype, c_.extent(k_)),
                        ir::product_in_groups(dtype, c_.extent(k_)),
                        tiles_fill_rows(),
                        tile_.vectors,
                        tile_.lines};
    lengths_.choices.insert(lengths_.choices.end(), tile_.rows.begin(), tile_.rows.end());
    lengths_.choices.insert(lengths_.choices.end(), asked_.begin(), asked_.end());
  }

  // The epilogue's loads of a tile of a matrix: its rows lie so far apart that the processor does not see them come. They are asked for
  // before k runs, which hides the time until they are there.
  void choose_asked() {
    if (c_.is_small() || column_ < 0 || row_ < 0) return;
    for (size_t i = 0; i < c_.kernel.instrs.size(); ++i) {
      const auto v = static_cast<Value>(i);
      const Instr& in = nest_.instr(v);
      if (in.op != Op::Load || in.level == Level::Contract || in.scale != 0 || !in.guards.empty()) continue;
      const Index::Stride along = in.index.stride(column_), across = in.index.stride(row_);
      if (!along.ok || along.value != 1 || (across.ok && across.value == 0) || c_.bytes_read(v) < kAskedBytes) continue;
      asked_.push_back(v);
    }
  }

  // Of a tile that begins with these rows bound.
  void ask(int rows) {
    for (int sub = 0; sub < rows * accumulators_of_row(); ++sub) {
      nest_.set_sub(sub);
      for (const Value v : asked_) nest_.ask(v);
    }
    nest_.set_sub(0);
  }

  // Whether a panel of all k would leave the second cache, and so be fetched again for each tile.
  bool goes_by_chains() const {
    return tiled_ && !turned_ && packs() &&
           product_goes_by_chains(c_.target, nest_.instr(contract_).dtype, c_.extent(k_), c_.extent(column_));
  }

  // Tiles of columns that an iteration takes chain by chain of k: as many as leave enough iterations, and sums in the second cache.
  int64_t tiles_of_group(int64_t sums, int64_t iterations, int64_t wanted) const {
    const int64_t most = std::max<int64_t>(c_.target.l2_bytes / 4 / (sums * ir::item_size(nest_.instr(contract_).dtype)), 1);
    return std::clamp(column_tiles_ * iterations / wanted, int64_t{1}, std::min(most, column_tiles_));
  }

  // Whether a right operand that is read in place has a table, see window_product.h.
  bool steps_right() const {
    if (!tiled_ || has_steps_ || packs_ || c_.is_small() || !has_steps(c_, right_, k_)) return false;
    const Index::Stride across = nest_.instr(right_).index.stride(column_);
    return across.ok && across.value == 1;
  }

  // Whether a left operand that is read across its rows is turned chain by chain of k.
  bool packs_left() const {
    const Instr& left = nest_.instr(left_chain_.front());
    if (!in_chains_ || has_steps_ || left_chain_.size() > 1 || left.op != Op::Load || !left.guards.empty() || left.scale != 0) return false;
    const Index::Stride along = left.index.stride(k_), across = left.index.stride(row_);
    return along.ok && along.value != 1 && across.ok && across.value == 1;
  }

  // Rows are channels where tiles have several lines: a tile was chosen to divide them.
  bool tiles_fill_rows() const { return line_ >= 0 && c_.extent(row_) % tile_.rows[0] == 0; }

  // A right operand of more is packed: its rows lie far apart.
  int64_t large_bytes() const { return c_.target.l2_bytes / 4; }

  // The column axis is one along which the left operand does not change, the row axis one along which the
  // right does not; the last ones win, and the last but one for columns is that of lines. Everything else is batch.
  // Axes along which neither changes are those of an operand that is the same there (a constant, an expanded number): they
  // make the rows or columns that the other operand leaves out.
  void choose_axes() {
    std::vector<int> unchanged;
    for (int a : c_.axes(AxisKind::Parallel)) {
      bool left = depends(c_.kernel, left_, a), right = depends(c_.kernel, right_, a);
      if (right && !left) line_ = std::exchange(column_, a);
      if (left && !right) row_ = a;
      if (!left && !right) unchanged.push_back(a);
    }
    for (int* axis : {&column_, &row_}) {
      if (*axis >= 0 || unchanged.empty()) continue;
      *axis = unchanged.back();
      unchanged.pop_back();
    }
    if (column_ < 0) {
      // The product has one column: vectors run down its rows instead.
      column_ = row_;
      row_ = kNoAxis;
      std::swap(left_, right_);
      swapped_ = true;
    }
    turned_ = is_window_product(c_, window_product());
    if (turned_) {
      std::swap(column_, row_);
      std::swap(left_, right_);
      swapped_ = true;
      line_ = kNoAxis;
    }
    batch_ = c_.parallel_but({column_, row_});
  }

  // Of the roles as they are, or turned.
  WindowProduct window_product() const {
    return turned_ ? WindowProduct{contract_, right_, left_, k_, row_, column_}
                   : WindowProduct{contract_, left_, right_, k_, column_, row_};
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

  // `vectors` of columns for each line.
  void bind_columns(ValueId begin, int vectors) {
    for (int q = 0; q < vectors * tile_.lines; ++q) {
      nest_.set_sub(q);
      if (line_ >= 0) nest_.bind(line_, c_.offset(first_line_, q / vectors));
      if (column_ >= 0) nest_.bind(column_, c_.offset(begin, int64_t{q % vectors} * nest_.lanes()));
    }
    nest_.set_sub(0);
  }

  // The columns of tile `number`, or those that are left over for it, the last vector masked: body(columns). `binds` them, or leaves that
  // to the body.
  template <class Body>
  void columns_of_tile(ValueId number, bool binds, const Body& body) {
    const int64_t width = int64_t{tile_.vectors} * nest_.lanes(), columns = column_ < 0 ? 1 : c_.extent(column_);
    const ValueId begin = c_.mul(number, c_.literal(width)), end = nest_.size(columns);
    const auto bound_at = [&](ValueId first, int vectors, bool whole) {
      c_.in_scope([&] {
        nest_.set_sub_axes(std::array{column_, line_});
        if (binds) bind_columns(first, vectors);
        if (copies_) packed_.base = c_.mul(number, c_.length(lengths_, kDepth, width));
        const ValueId last = whole ? kAlways : nest_.tail_mask(c_.offset(first, int64_t{vectors - 1} * nest_.lanes()), end);
        body(PackedTile{column_, k_, first, vectors, whole ? kNone : end, last});
      });
    };
    const auto bound = [&](int vectors, bool whole) { bound_at(begin, vectors, whole); };
    if (column_ < 0) return bound(1, true);
    if (tile_.any_columns && tile_.vectors == 1) return bound(1, false);
    if (tile_.any_columns && !copies_) {
      const auto vector_by_vector = [&] { c_.loop(begin, end, nest_.lanes(), [&](ValueId at) { bound_at(at, 1, false); }); };
      return nest_.when(
          c_.builder.op(Op::Le, {c_.add(begin, c_.literal(width)), end}), [&] { bound(tile_.vectors, true); }, vector_by_vector);
    }
    const bool filled = c_.is_small() ? columns_fill_and_lie_apart() : columns % nest_.lanes() == 0;
    if (columns <= width) return bound(tile_.vectors, filled);
    c_.whole_or_rest(
        begin, end, columns, width, [&] { bound(tile_.vectors, true); },
        [&] { bound(static_cast<int>(ceil_div(columns % width, nest_.lanes())), filled); });
  }

  bool rows_lie_apart() const {
    const Index::Stride across = nest_.instr(left_).index.stride(row_);
    return !(across.ok && across.value == 1);
  }

  // Then a vector of them takes much longer under a mask: whether the last one is full is a part of the code.
  bool columns_fill_and_lie_apart() const {
    if (c_.extent(column_) % c_.lanes != 0) return false;
    const Index::Stride along = nest_.instr(right_).index.stride(k_), across = nest_.instr(right_).index.stride(column_);
    return !(along.ok && along.value == 1) && !(across.ok && (across.value == 0 || across.value == 1));
  }

  // Whether a copy of the whole right operand is worth keeping if it is constant, and it is.
  bool copies_whole() {
    const Instr& right = nest_.instr(right_chain_.front());
    const Index::Stride along = right.index.stride(k_), across = right.index.stride(column_);
    const ir::Axes axes = right.index.axes();
    const bool whole = std::ranges::all_of(axes, [&](int a) { return a == k_ || a == column_; });
    if (!whole || !along.ok || !across.ok || right.scale != 0 || !right.guards.empty()) return false;
    c_.out.packing =
        Lowered::Packing{right.slot,
                         kNone,
                         0,
                         {static_cast<int64_t>(right.dtype), static_cast<int64_t>(nest_.instr(right_).dtype), c_.extent(k_),
                          c_.extent(column_), along.value, across.value, right.index.constant_part(), nest_.lanes(), tile_.vectors}};
    return c_.kernel.buffer(right.slot).constant;
  }

  void pack_whole() {
    const int64_t width = int64_t{tile_.vectors} * nest_.lanes();
    packed_ = {c_.buffer_of("packed", nest_.instr(right_).dtype, Space::Global, c_.length_slot(lengths_, kDepth, column_tiles_ * width)),
               kZero, width};
    if (keeps_copy_) c_.out.packing->copy = packed_.buffer;
    columns_of_tile(c_.begin_phase("pack", column_tiles_, pack_ns_), true,
                    [&](const PackedTile& columns) { pack(c_, right_chain_, columns, packed_); });
    c_.end_phase();
  }

  // Where the right operand of a tile is read: packed, or in place.
  Panel panel_of(const PackedTile& columns) {
    if (copies_) return packed_;
    if (!packs_) return {};
    const int64_t width = int64_t{columns.vectors} * nest_.lanes();
    const Panel panel{c_.buffer_of("panel", nest_.instr(right_).dtype, Space::Local, c_.length_slot(lengths_, kDepth, width)), kZero,
                      width};
    pack(c_, right_chain_, columns, panel);
    return panel;
  }

  // All rows of the panel for one tile of columns.
  void rows_of_panel(const PackedTile& columns) {
    const Panel panel = panel_of(columns);
    const std::vector<int> rows = take(columns);
    turned_ ? windows_->run(row_begin_, row_end_, columns, panel, rows, epilogue_) : all_rows(panel, rows);
  }

  // From here on these are the current columns; the rows of their tiles.
  std::vector<int> take(const PackedTile& columns) {
    mask_ = columns.mask;
    vectors_ = columns.vectors;
    nest_.set_sub_axes(std::array{column_, line_, row_});
    const bool is_last = columns.mask >= 0 && c_.extent(column_) > int64_t{tile_.vectors} * nest_.lanes();
    const bool rest = columns.vectors < tile_.vectors || (is_last && !tile_.any_columns);
    return rest && tiled_ ? rows_of_rest(accumulators(c_), columns.vectors) : tile_.rows;
  }

  // Whole tiles first; then as many smaller ones as the rows that are left and those that the last ones may add fill.
  void all_rows(const Panel& panel, const std::vector<int>& rows) {
    ValueId at = row_begin_;
    for (int tile : rows) {
      const bool whole = tile == rows[0] && rows.size() > 1;
      ValueId end = row_end_;
      if (tile != rows.back()) {
        const ValueId filled = c_.offset(c_.sub(row_end_, at), whole ? 0 : rows.back() - 1), step = c_.literal(tile);
        end = c_.add(at, c_.mul(b_.quotient(filled, step), step));
      }
      row_group(at, end, tile, whole || tile == 1, panel);
      if (whole && tiles_fill_rows()) break;
      at = end;
    }
  }

  // A group of tiles of columns chain by chain of k, whose parts of the operands stay in the second cache. The sums lie in memory, as
  // [columns of a tile, or of a vector left over][row][column].
  void rows_by_chains(ValueId group) {
    const DType dtype = nest_.instr(contract_).dtype;
    const int lanes = nest_.lanes();
    const int64_t width = int64_t{tile_.vectors} * lanes;
    sums_ = c_.buffer_of("sums", dtype, Space::Local, c_.length_slot(lengths_, kSums, width));
    if (!copies_) {
      const int64_t chain = ir::kProductChain + packed_slack(c_, right_chain_.front(), k_);
      chain_panel_ =
          c_.fixed_buffer("panel" + std::to_string(c_.out.tree.buffers.size()), nest_.instr(right_).dtype, Space::Local, chain * width);
    }
    if (packs_left_)
      left_panel_ = c_.buffer_of("rows", nest_.instr(left_).dtype, Space::Local, c_.length_slot(lengths_, kLeft, ir::kProductChain));
    const ValueId first_tile = c_.mul(group, c_.length(lengths_, kGroupTiles));
    const ValueId end_tile = c_.piece_end(first_tile, c_.length(lengths_, kGroupTiles), nest_.size(column_tiles_));
    const ValueId tiles = c_.sub(end_tile, first_tile), count = c_.mul(tiles, c_.length(lengths_, kSumRows, width));
    const ValueId first_column = c_.mul(first_tile, c_.literal(width));
    const auto each_tile = [&](const auto& body) {
      c_.loop(first_tile, end_tile, 1, [&](ValueId tile) {
        columns_of_tile(tile, true, [&](const PackedTile& columns) {
          columns_sums_ = c_.mul(c_.sub(columns.begin, first_column), c_.length(lengths_, kSumRows));
          body(columns);
        });
      });
    };
    const ValueId zero = b_.constant(ir::constant(dtype, int64_t{0}), lanes);
    const auto chains = [&](ValueId first, ValueId last) {
      c_.loop(c_.literal(0), count, lanes, [&](ValueId at) { b_.store(sums_, at, zero); });
      c_.loop(first, last, ir::kProductChain, [&](ValueId k) {
        chain_begin_ = k;
        chain_end_ = c_.piece_end(k, c_.literal(ir::kProductChain), last);
        if (packs_left_) turn_left();
        each_tile([&](const PackedTile& columns) { add_chain(columns); });
      });
    };
    const ValueId begin = c_.literal(0), end = nest_.extent(k_);
    ir::product_in_groups(dtype, c_.extent(k_))
        ? total_of_groups(c_, {begin, end, sums_, count, c_.length_slot(lengths_, kSums, width), lanes}, dtype, chains)
        : chains(begin, end);
    each_tile([&](const PackedTile& columns) { rows_of_sums(columns); });
  }

  // A chain of the rows of the left operand, which lie along memory.
  void turn_left() {
    const int lanes = nest_.lanes();
    c_.in_scope([&] {
      nest_.set_lane_axis(k_, lanes);
      const PackedTile rows{k_, row_, chain_begin_, static_cast<int>(ir::kProductChain / lanes), chain_end_, kAlways, row_begin_, row_end_};
      pack(c_, left_chain_, rows, Panel{left_panel_, kZero, ir::kProductChain});
    });
    nest_.set_lane_axis(column_, lanes);
  }

  // The products of a chain of all rows and a tile of columns.
  void add_chain(const PackedTile& columns) {
    Panel panel{chain_panel_, kZero, int64_t{columns.vectors} * nest_.lanes()};
    if (copies_) {
      panel = packed_;
      panel.base = packed_.row(c_, chain_begin_);
    } else {
      PackedTile part = columns;
      part.row_begin = chain_begin_;
      part.row_end = chain_end_;
      pack(c_, right_chain_, part, panel);
    }
    all_rows(panel, take(columns));
  }

  void rows_of_sums(const PackedTile& columns) {
    take(columns);
    const int lanes = nest_.lanes();
    c_.loop(row_begin_, row_end_, 1, [&](ValueId row) {
      bind_row(0, row);
      const ValueId place = c_.add(columns_sums_, c_.mul(c_.sub(row, row_begin_), c_.literal(int64_t{vectors_} * lanes)));
      epilogue(0, [&](int q) { return b_.load(sums_, c_.offset(place, int64_t{q} * lanes), lanes); });
    });
  }

  // Adds a chain of a tile's products to the sums.
  void add_to_sums(ValueId at, const std::vector<std::vector<ValueId>>& registers) {
    const int lanes = nest_.lanes();
    const ValueId place = c_.add(columns_sums_, c_.mul(c_.sub(at, row_begin_), c_.literal(int64_t{vectors_} * lanes)));
    int64_t offset = 0;
    for (const std::vector<ValueId>& row : registers) {
      for (const ValueId x : row) {
        const ValueId to = c_.offset(place, std::exchange(offset, offset + lanes));
        b_.store(sums_, to, c_.add(b_.load(sums_, to, lanes), b_.get(x)));
      }
    }
  }

  // Whether the right operand is copied into a panel: its rows lie far apart, or its columns do. Guards (of blocks laid side
  // by side) are settled once, not for each row, and so are casts.
  bool packs() const {
    const Instr& right = nest_.instr(right_chain_.front());
    const auto is_cast = [&](Value v) { return nest_.instr(v).op == Op::Cast; };
    if (!tiled_ || column_ < 0 || right.op != Op::Load || !std::all_of(right_chain_.begin() + 1, right_chain_.end(), is_cast)) return false;
    const Index::Stride across = right.index.stride(column_);
    const int64_t bytes = c_.extent(k_) * c_.extent(column_) * ir::item_size(right.dtype);
    const bool casts = right_chain_.size() > 1, few = casts && c_.extent(row_) < kRowsOfCast;
    const bool in_place = across.ok && (across.value == 0 || (across.value == 1 && (few || bytes <= large_bytes())));
    return !in_place || !right.guards.empty() || (casts && !few);
  }

  int accumulators_of_row() const { return vectors_ * tile_.lines; }

  // Rows begin..end, `rows` at a time, each with its accumulators. Vector q of row r is a sub-vector of the nest. The last
  // row of all is computed again for those behind it: no more addresses, and no mask.
  void row_group(ValueId begin, ValueId end, int rows, bool whole, const Panel& panel) {
    const int vectors = accumulators_of_row();
    c_.loop(begin, end, rows, [&](ValueId at) {
      const int width = column_ < 0 ? 1 : nest_.lanes();
      const ir::Constant zero = ir::constant(nest_.instr(contract_).dtype, int64_t{0});
      std::vector<std::vector<ValueId>> registers(static_cast<size_t>(rows));
      for (auto& row : registers) {
        for (int q = 0; q < vectors; ++q) row.push_back(b_.var(b_.constant(zero, width)));
      }
      const ValueId last = whole ? kNone : c_.sub(row_end_, c_.literal(1));
      for (int r = 0; r < rows; ++r) {
        const ValueId row = c_.offset(at, r);
        bind_row(r, whole ? row : c_.minimum(row, last));
      }
      places_.clear();
      for (int sub = 0; sub < rows * vectors; ++sub) {
        nest_.set_sub(sub);
        if (sub % vectors == 0) note_row();
        if (sub < vectors && panel.buffer < 0) steps_right_ ? note_place(right_) : nest_.prepare(right_chain_);
      }
      ask(rows);
      const auto chain = [&](ValueId first, ValueId end) {
        c_.loop(first, end, 1, [&](ValueId k) {
          nest_.bind(k_, k);
          multiply(panel, k, registers);
        });
      };
      if (in_chains_) {
        c_.loop(c_.literal(0), c_.sub(chain_end_, chain_begin_), 1, [&](ValueId k) {
          k_of_chain_ = k;
          nest_.bind(k_, c_.add(chain_begin_, k));
          multiply(panel, k, registers);
        });
        return add_to_sums(at, registers);
      }
      const ValueId begin_k = c_.literal(0), end_k = nest_.extent(k_);
      ir::product_in_chains(nest_.instr(contract_).dtype, c_.extent(k_)) ? chains(begin_k, end_k, chain, registers) : chain(begin_k, end_k);
      whole && (rows == 1 || epilogue_.size() <= kShortEpilogue) ? at_once(registers) : row_by_row(at, registers);
    });
  }

  // How the row of the current sub-vector finds its elements.
  void note_row() {
    if (packs_left_) return places_.push_back(c_.mul(c_.sub(nest_.axis_value(row_), row_begin_), c_.literal(ir::kProductChain)));
    has_steps_ ? note_place(left_) : nest_.prepare(left_chain_);
  }

  // Where an operand has its first k.
  void note_place(Value operand) {
    c_.in_scope([&] {
      nest_.bind(k_, c_.literal(0));
      places_.push_back(nest_.position_of(operand));
    });
  }

  // The chains of k, by chain(first, end), and what they come to (ir::add_product). Groups and totals lie in
  // memory.
  template <class Chain>
  void chains(ValueId begin, ValueId end, const Chain& chain, const std::vector<std::vector<ValueId>>& registers) {
    const DType dtype = nest_.instr(contract_).dtype;
    const int width = column_ < 0 ? 1 : nest_.lanes();
    const int64_t count = static_cast<int64_t>(registers.size() * registers[0].size()) * width;
    const int32_t group = c_.fixed_buffer("group" + std::to_string(c_.out.tree.buffers.size()), dtype, Space::Local, count);
    const auto each_register = [&](const auto& f) {
      int64_t place = 0;
      for (const std::vector<ValueId>& row : registers) {
        for (const ValueId x : row) f(x, c_.literal(std::exchange(place, place + width)));
      }
    };
    const ValueId zero = b_.constant(ir::constant(dtype, int64_t{0}), width);
    const auto chains_of_group = [&](ValueId first, ValueId last) {
      each_register([&](ValueId, ValueId place) { b_.store(group, place, zero); });
      c_.loop(first, last, ir::kProductChain, [&](ValueId k) {
        chain(k, c_.piece_end(k, c_.literal(ir::kProductChain), last));
        each_register([&](ValueId x, ValueId place) {
          b_.store(group, place, c_.add(b_.load(group, place, width), b_.get(x)));
          b_.set(x, zero);
        });
      });
    };
    ir::product_in_groups(dtype, c_.extent(k_))
        ? total_of_groups(c_, {begin, end, group, c_.literal(count), c_.nest.size_slot(count), width}, dtype, chains_of_group)
        : chains_of_group(begin, end);
    each_register([&](ValueId x, ValueId place) { b_.set(x, b_.load(group, place, width)); });
  }

  // Row r of the tile: its sub-vectors have the lines and columns of the first row's.
  void bind_row(int r, ValueId row) {
    const int vectors = accumulators_of_row();
    for (int q = 0; q < vectors; ++q) {
      nest_.set_sub(q);
      const ValueId column = column_ < 0 ? kNone : nest_.axis_value(column_), line = line_ < 0 ? kNone : nest_.axis_value(line_);
      nest_.set_sub(r * vectors + q);
      if (row_ >= 0) nest_.bind(row_, row);
      if (r > 0 && column_ >= 0) nest_.bind(column_, column);
      if (r > 0 && line_ >= 0) nest_.bind(line_, line);
    }
    nest_.set_sub(0);
  }

  // The epilogue of a group of rows: a short one on each register in its place, so that nothing is stored in between.
  void at_once(const std::vector<std::vector<ValueId>>& registers) {
    for (size_t r = 0; r < registers.size(); ++r) epilogue(static_cast<int>(r), [&](int q) { return b_.get(registers[r][q]); });
  }

  // The epilogue of as many rows as there are, or a long one (GELU): in a loop over the rows from memory, since the registers would
  // not hold a dozen of them.
  void row_by_row(ValueId first_row, const std::vector<std::vector<ValueId>>& registers) {
    const int width = column_ < 0 ? 1 : nest_.lanes(), vectors = accumulators_of_row();
    const auto rows = static_cast<int>(registers.size());
    int32_t products = b_.add_buffer({"products" + std::to_string(c_.out.tree.buffers.size()), nest_.instr(contract_).dtype, Space::Local,
                                      kNone, int64_t{rows} * vectors * width});
    for (int r = 0; r < rows; ++r) {
      for (int q = 0; q < vectors; ++q) {
        b_.store(products, c_.literal((int64_t{r} * vectors + q) * width), b_.get(registers[r][q]));
      }
    }
    const ValueId present = c_.minimum(nest_.size(rows), c_.sub(row_end_, first_row));
    c_.loop(c_.literal(0), present, 1, [&](ValueId r) {
      bind_row(rows, c_.add(first_row, r));  // sub-vectors of its own: the tile's know other rows' addresses
      const ValueId place = c_.mul(r, c_.literal(int64_t{vectors} * width));
      epilogue(rows, [&](int q) { return b_.load(products, c_.offset(place, int64_t{q} * width), width); });
    });
  }

  // The mask of vector q of a row: the last vector of columns may reach past the end.
  ValueId mask_of(size_t q) const { return (static_cast<int>(q) + 1) % vectors_ == 0 ? mask_ : kAlways; }

  void multiply(const Panel& panel, ValueId k, const std::vector<std::vector<ValueId>>& registers) {
    const ValueId packed = panel.buffer < 0 ? kNone : panel.row(c_, k);
    const ValueId step = has_steps_ || steps_right_ ? b_.load(steps_, nest_.axis_value(k_), 1) : kNone;
    std::vector<ValueId> right;  // the rows share it
    int sub = 0;
    for (const std::vector<ValueId>& row : registers) {
      ValueId x = kNone;  // the vectors share it
      for (size_t q = 0; q < row.size(); ++q, ++sub) {
        nest_.set_sub(sub);
        nest_.set_mask(mask_of(q));
        if (q == 0 || nest_.varies(left_)) x = left_element(static_cast<size_t>(sub) / row.size(), step);
        if (right.size() == q) {
          const auto place = [&] { return c_.offset(packed, static_cast<int64_t>(q) * nest_.lanes()); };
          right.push_back(packed < 0 ? right_vector(q, step) : b_.load(panel.buffer, place(), nest_.lanes()));
        }
        nest_.set_mask(kAlways);
        b_.set(row[q],
               swapped_ ? c_.add_product(factors_, right[q], x, b_.get(row[q])) : c_.add_product(factors_, x, right[q], b_.get(row[q])));
      }
    }
    nest_.set_sub(0);
  }

  // The left operand of a row, at the bound k, or so far behind its first one.
  ValueId left_element(size_t row, ValueId step) {
    if (packs_left_) return b_.splat(b_.load(left_panel_, c_.add(places_[row], k_of_chain_), 1), nest_.lanes());
    if (!has_steps_) return operand(left_);
    return b_.splat(b_.load(nest_.instr(left_).slot, c_.add(places_[row], step), 1), nest_.lanes());
  }

  // A vector of the right operand in place.
  ValueId right_vector(size_t q, ValueId step) {
    if (!steps_right_) return operand(right_);
    return b_.load(nest_.instr(right_).slot, c_.add(places_[q], step), nest_.lanes(), mask_of(q));
  }

  // An operand at the bound k, row and columns.
  ValueId operand(Value v) {
    nest_.emit_new(v == left_ ? left_chain_ : right_chain_);
    return column_ < 0 ? nest_.get(v) : nest_.vector(v);
  }
  // The first lane of a product that is the same in all columns.
  ValueId first_lane(ValueId x) {
    for (int lanes = b_.type(x).lanes; lanes > 1; lanes /= 2) x = b_.let(Op::Low, {x}, {b_.type(x).dtype, static_cast<int16_t>(lanes / 2)});
    return x;
  }
  template <class Product>
  void epilogue(int r, const Product& product) {
    const int vectors = accumulators_of_row();
    c_.in_scope([&] {
      for (int q = 0; q < vectors; ++q) {
        nest_.set_sub(r * vectors + q);
        nest_.set(contract_, nest_.varies(contract_) ? product(q) : first_lane(product(q)));
        nest_.set_mask(mask_of(q));
        nest_.emit_new(epilogue_);
        nest_.set_mask(kAlways);
      }
      nest_.set_sub(0);
    });
  }

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  Value contract_, left_, right_;
  const Factors factors_;
  std::vector<Value> left_chain_, right_chain_;
  bool turned_ = false;                                        // rows are places of an image, columns are channels
  bool swapped_ = false;                                       // left_ and right_ are the contraction's second and first operand
  int k_, row_ = kNoAxis, column_ = kNoAxis, line_ = kNoAxis;  // the axis of lines: none if a tile takes one
  bool tiled_ = false;                                         // several rows to a tile
  std::vector<int> batch_;
  std::vector<Value> epilogue_, asked_;  // asked_: loads of the epilogue that are asked for ahead
  RegisterTile tile_;
  int vectors_ = 1;                      // of the current columns
  Panel packed_;                         // the whole right operand, from the current columns on
  bool has_steps_ = false;               // the left operand, see window_product.h
  int32_t steps_ = kNone;                // then
  bool steps_right_ = false;             // or the right one
  std::vector<ValueId> places_;          // of the rows of a tile, there or in the panel, or of its vectors
  std::optional<WindowTiles> windows_;   // where roles are turned
  bool packs_ = false, copies_ = false;  // the right operand: tile by tile, as a whole
  bool keeps_copy_ = false;              // from launch to launch
  bool in_chains_ = false;               // all rows of some tiles of columns for each chain of k; then
  bool packs_left_ = false;              // the left operand
  int32_t sums_ = kNone;
  int32_t chain_panel_ = kNone, left_panel_ = kNone;  // of the right operand, where it is not packed as a whole; of the left one
  ValueId columns_sums_ = kNone;                      // where those of the current columns begin
  ValueId chain_begin_ = kNone, chain_end_ = kNone, k_of_chain_ = kNone;
  CodeLengths lengths_;
  int64_t column_tiles_ = 1, lines_ = 1;  // lines_: groups of lines that a tile takes
  double ns_ = 0, pack_ns_ = 0;           // of an iteration
  ValueId first_line_ = kNone, row_begin_ = kNone, row_end_ = kNone, mask_ = kAlways;
};

// A contraction's kernel with an axis of one row or one k in its indices, see with_axes_of_one.
class FilledAxes {
 public:
  explicit FilledAxes(ir::Kernel& kernel) : kernel_(kernel), contract_(&kernel.instr(contraction_of(kernel))) {
    left_ = chain(kernel, contract_->args[0]);
    right_ = chain(kernel, contract_->args[1]);
    for (const int a : ir::axes_of(kernel, AxisKind::Parallel)) {
      const bool left = depends(kernel, left_.back(), a), right = depends(kernel, right_.back(), a);
      if (right && !left) column_ = a;
      has_row_ = has_row_ || !right;  // where neither changes, a left operand may be the same in all rows
    }
    k_ = ir::axes_of(kernel, AxisKind::Contract)[0];
  }

  void fill() {
    if (column_ < 0 || !operands_stand_alone()) return;
    if (kernel_.extent(k_) == 1) fill_k();
    if (!has_row_ && kernel_.extent_of(AxisKind::Parallel) * kernel_.extent(k_) <= kFewProducts) fill_row();
  }

 private:
  // Loads at fixed places and what is computed from them for the contraction alone.
  bool operands_stand_alone() const {
    std::vector<int> of_operand(kernel_.instrs.size(), 0);
    for (const std::vector<Value>* values : {&left_, &right_}) {
      for (const Value v : *values) ++of_operand[static_cast<size_t>(v)];
    }
    for (size_t v = 0; v < of_operand.size(); ++v) {
      const Instr& in = kernel_.instrs[v];
      if (of_operand[v] > 1 || (of_operand[v] > 0 && (!in.guards.empty() || in.scale != 0))) return false;
      if (of_operand[v] > 0 || &in == contract_) continue;
      for (const Value a : in.args) {
        if (of_operand[static_cast<size_t>(a)] > 0) return false;
      }
    }
    return true;
  }

  void fill_k() {
    for (const std::vector<Value>* values : {&left_, &right_}) {
      for (const Value v : *values) {
        Instr& in = kernel_.instr(v);
        if (in.op == Op::Load) in.index = in.index + Index::axis(k_, 2) * kNowhere;
        if (in.op != Op::Const && in.op != Op::Scalar) in.level = ir::Level::Contract;
      }
    }
  }

  // Before the columns. Nothing tells whether another operand of the epilogue changes from row to row: a bias does not.
  void fill_row() {
    const int row = column_;
    substitute_axes(kernel_, [&](int a, int64_t extent) { return Index::axis(a < row ? a : a + 1, extent); });
    kernel_.axes.insert(kernel_.axes.begin() + row, ir::Axis{"row", 1, AxisKind::Parallel});
    const auto fill = [&](Instr& in) { in.index = in.index + Index::axis(row, 2) * kNowhere; };
    for (const Value v : left_) {
      if (kernel_.instr(v).op == Op::Load) fill(kernel_.instr(v));
    }
    for (Instr& in : kernel_.instrs) {
      if (in.op == Op::Store || (in.op == Op::Load && kernel_.buffer(in.slot).role == ir::Role::InOut)) fill(in);
    }
  }

  static constexpr int64_t kFewProducts = 1 << 16;       // a row is computed four times
  static constexpr int64_t kNowhere = int64_t{1} << 40;  // a distance that is no other one

  ir::Kernel& kernel_;
  const Instr* contract_;
  std::vector<Value> left_, right_;  // the operands, behind what they are computed from
  int k_ = kNoAxis, column_ = kNoAxis;
  bool has_row_ = false;
};

// An axis of one element has vanished from all indices: that of rows, or k. It gets a place in them again, at a distance that is never
// gone, so that little work of one row or one k is the code that it is for any number.
//
//   axes j: 192 parallel, c: 64 contract               axes row: 1 parallel, j: 192 parallel, c: 64 contract
//   load x0[c]   load x1[192*c + j]   store y0[j]  ->  load x0[far*row + c]   load x1[192*c + j]   store y0[far*row + j]
ir::Kernel with_axes_of_one(ir::Kernel kernel) {
  FilledAxes(kernel).fill();
  return kernel;
}

// The columns of a convolution are places of an image, a number that vectors seldom divide: those of several images are one line of
// columns where that saves vectors. Their windows are packed in any case.
//
//   axes i: 8 parallel, k: 49 parallel, ...               axes k: 392 parallel, ...
//   load x1[20736*i + k mod 7 + 9*(k / 7) + ...]      ->  load x1[20736*(k / 49) + k mod 7 + 9*((k mod 49) / 7) + ...]
ir::Kernel with_joined_columns(ir::Kernel kernel, int lanes) {
  constexpr int64_t kLeastRows = 16, kLeastColumns = 6;
  constexpr double kWorthIt = 0.97;
  const Instr& contract = kernel.instr(contraction_of(kernel));
  const Value left = contract.args[0], right = contract.args[1];
  int column = kNoAxis, line = kNoAxis;
  int64_t rows = 1;
  for (const int a : ir::axes_of(kernel, AxisKind::Parallel)) {
    const bool of_left = depends(kernel, left, a), of_right = depends(kernel, right, a);
    if (of_right && !of_left) line = std::exchange(column, a);
    if (of_left && !of_right) rows = kernel.extent(a);
  }
  const Instr& load = kernel.instr(right);
  if (line == kNoAxis || rows < kLeastRows || load.op != Op::Load || load.scale != 0 || load.index.stride(column).ok) return kernel;
  const int64_t columns = kernel.extent(column), lines = kernel.extent(line);
  const double vectors = static_cast<double>(lines * ceil_div(columns, lanes));
  if (columns < kLeastColumns || static_cast<double>(ceil_div(lines * columns, lanes)) > kWorthIt * vectors) return kernel;
  const Index joined = Index::axis(column - (line < column ? 1 : 0), lines * columns);
  substitute_axes(kernel, [&](int a, int64_t extent) {
    if (a == line) return floor_div(joined, columns);
    if (a == column) return floor_mod(joined, columns);
    return Index::axis(a > line ? a - 1 : a, extent);
  });
  kernel.axes[static_cast<size_t>(column)].extent = lines * columns;
  kernel.axes.erase(kernel.axes.begin() + line);
  return kernel;
}

}  // namespace

// sums(first, end) puts the sums of a group of k into the buffer `group`; there is the total of all in the end.
void total_of_groups(Context& c, const Groups& of, DType dtype, const std::function<void(ValueId first, ValueId end)>& sums) {
  ir::TreeBuilder& b = c.builder;
  Reducer total = Reducer(b, Op::Sum, dtype).total();
  const AccumulatorBuffers totals = total.buffers("totals" + std::to_string(c.out.tree.buffers.size()), Space::Local, 0, of.room);
  const auto each = [&](const auto& f) { c.loop(c.literal(0), of.count, of.width, f); };
  const Accumulator zero = total.identity(of.width);
  each([&](ValueId place) { total.store(totals, place, zero); });
  const int64_t length = ir::kProductChain * ir::kProductGroup;
  c.loop(of.begin, of.end, length, [&](ValueId first) {
    sums(first, c.piece_end(first, c.literal(length), of.end));
    each([&](ValueId place) {
      total.store(totals, place, total.combine(total.load(totals, place, of.width), {b.load(of.group, place, of.width)}));
    });
  });
  each([&](ValueId place) { b.store(of.group, place, total.result(total.load(totals, place, of.width))); });
}

void lower_contraction(Context& c) {
  Contraction contraction(c);
  if (!contraction.is_known()) contraction.lower();
}

ir::Kernel laid_out_contraction(ir::Kernel kernel, const ir::CpuTarget& target) {
  constexpr int kBitsOfLane = 32;
  const bool is_small = kernel.extent_of(AxisKind::Parallel) * kernel.extent_of(AxisKind::Contract) < kManyProducts;
  if (!is_small || target.often) kernel = with_joined_columns(std::move(kernel), target.vector_bits / kBitsOfLane);
  return is_small ? with_axes_of_one(std::move(kernel)) : kernel;
}

}  // namespace tenon::passes::cpu

namespace tenon::passes {

bool product_goes_by_chains(const ir::CpuTarget& target, ir::DType dtype, int64_t depth, int64_t columns) {
  if (!ir::product_in_chains(dtype, depth)) return false;
  const int64_t lanes = target.vector_bits / (8 * ir::item_size(dtype)),
                tile = int64_t{cpu::accumulators(target) / cpu::kLeastRows} * lanes;
  return depth * std::min(columns, tile) * ir::item_size(dtype) > target.l2_bytes / 2;
}

}  // namespace tenon::passes
