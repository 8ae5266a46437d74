// Sums of warps: products of 16x16x16 on the tensor cores, operands f16 or bf16, sums f32. What each thread has of a tile stands in
// ir/looptree/looptree.h.
//
//   for k in 0..depth step 16 {
//     u[4] = load_tile left[row + 16 i][k]; v[2] = load_tile right[column + 16 j][k]; acc[i][j] = mma(u[i], v[j], acc[i][j])
//   }
//
// In shared memory a slice lies as it was staged, k innermost or rows innermost, as panel.h has it; load_tile turns over what
// needs it. A sum takes 16 k after 16 k, in chains (ir/op/sum_order.h), whatever the tile, so all
// tiles give the same bits.
#include <optional>
#include <vector>

#include "passes/schedule/gpu/sums.h"

namespace tenon::passes::gpu {

namespace {

constexpr int kExtent = ir::kTileExtent;

class SumsOfWarps : public Sums {
 public:
  SumsOfWarps(Context& c, const Tile& t, int64_t depth, const Operand& l, const Operand& r, DType dtype)
      : Sums(c, t), tiles_down_(t.part_rows / kExtent), tiles_across_(t.part_columns / kExtent) {
    left = panel(l, dtype, t.rows);
    right = panel(r, dtype, t.columns);
    if (ir::product_in_chains(DType::F32, depth, ir::kTileChain)) {
      chains_.emplace(c, DType::F32, int64_t{tiles_down_} * tiles_across_ * ir::kTileLanes, depth, ir::kTileChain);
      of_tile_ = c_.fixed_buffer("chain0", DType::F32, Space::Local, ir::kTileLanes);
    }
    zero_filled = true;
    strips = tiles_down_;
    strip_rows = t.rows / t.part_rows * kExtent;
    pitch = t.columns + kPadding;
    shared = b_.add_buffer({"products0", DType::F32, Space::Shared, kNone, int64_t{strip_rows} * pitch});
  }

  void begin() override {
    const auto [warp, lane] = c_.divide(c_.thread(), c_.literal(c_.target.warp));
    const auto [down, across] = c_.divide(warp, c_.literal(tile_.columns / tile_.part_columns));
    first_row_ = c_.mul(down, c_.literal(tile_.part_rows));
    first_column_ = c_.mul(across, c_.literal(tile_.part_columns));
    read_left_.emplace(c_, Pieces(left.pitch), Factor::Left, !left.k_innermost);
    read_right_.emplace(c_, Pieces(right.pitch), Factor::Right, !right.k_innermost);
    const auto [row, pair] = c_.divide(lane, c_.literal(4));
    const ValueId strip_row = c_.add(c_.mul(down, c_.literal(kExtent)), row);
    const ValueId column = c_.add(first_column_, c_.mul(pair, c_.literal(2)));
    passed_to_ = c_.add(c_.mul(strip_row, c_.literal(pitch)), column);
    for (int i = 0; i < tiles_down_ * tiles_across_; ++i) acc_.push_back(b_.var(zero()));
    if (chains_) chains_->begin();
  }

  void multiply(ValueId slice, ValueId stage) override {
    if (chains_) begin_slice(slice);
    c_.unrolled(c_.literal(0), c_.literal(tile_.depth), kExtent, [&](ValueId k) {
      const std::vector<ValueId> rows = load(left, *read_left_, tiles_down_, first_row_, stage, k);
      const std::vector<ValueId> columns = load(right, *read_right_, tiles_across_, first_column_, stage, k);
      for (int i = 0; i < tiles_down_; ++i) {
        for (int j = 0; j < tiles_across_; ++j) b_.set(acc(i, j), b_.mma(rows[i], columns[j], b_.get(acc(i, j))));
      }
    });
  }

  void finish() override {
    if (!chains_) return;
    end_chain();
    chains_->finish();
    each_tile([&](ValueId acc, int64_t first) {
      chains_->give(of_tile_, first, ir::kTileLanes);
      b_.set(acc, b_.load(of_tile_, c_.literal(0), ir::kTileLanes));
    });
  }

  // One row of each warp's tiles of 16x16.
  void pass(ValueId strip) override {
    for (int i = 0; i < tiles_down_; ++i) {
      c_.nest.when(tiles_down_ == 1 ? kAlways : b_.op(Op::Eq, {strip, c_.literal(i)}), [&] {
        for (int j = 0; j < tiles_across_; ++j) pass_tile(b_.get(acc(i, j)), kExtent * j);
      });
    }
  }

  ValueId row(ValueId strip, ValueId number) override {
    const auto [warp, row] = c_.divide(number, c_.literal(kExtent));
    return c_.add(c_.add(c_.mul(warp, c_.literal(tile_.part_rows)), c_.mul(strip, c_.literal(kExtent))), row);
  }

 private:
  ValueId zero() { return b_.constant(ir::constant(DType::F32, int64_t{0}), ir::kTileLanes); }

  // f(a tile of sums, the number of the first of the thread's elements of it).
  template <typename F>
  void each_tile(const F& f) {
    for (size_t i = 0; i < acc_.size(); ++i) f(acc_[i], static_cast<int64_t>(i) * ir::kTileLanes);
  }

  void end_chain() {
    each_tile([&](ValueId acc, int64_t first) {
      b_.store(of_tile_, c_.literal(0), b_.get(acc));
      chains_->add(of_tile_, first, ir::kTileLanes);
      b_.set(acc, zero());
    });
  }

  void begin_slice(ValueId k) {
    c_.nest.when(chains_->begins_chain(k), [&] { end_chain(); });
    if (chains_->in_groups()) c_.nest.when(chains_->begins_group(k), [&] { chains_->end_group(); });
  }

  Panel panel(const Operand& side, DType dtype, int width) const {
    Panel panel{.dtype = dtype, .width = width, .k_innermost = side.along_depth, .turned = true};
    panel.lines = panel.k_innermost ? width : tile_.depth;
    panel.pitch = panel.k_innermost ? tile_.depth : width;
    return panel;
  }

  ValueId acc(int i, int j) const { return acc_[static_cast<size_t>(i * tiles_across_ + j)]; }

  // The tiles of the warp's rows, or columns, at k of the slice in the stage.
  std::vector<ValueId> load(const Panel& panel, const TileReader& reader, int count, ValueId first, ValueId stage, ValueId k) {
    const ValueId base = c_.mul(stage, c_.literal(panel.stage()));
    std::vector<ValueId> tiles;
    for (int i = 0; i < count; ++i) {
      const int64_t row = int64_t{i} * kExtent;
      tiles.push_back(panel.k_innermost ? reader.load(c_, panel.shared, base, first, c_.literal(row), k)
                                        : reader.load(c_, panel.shared, base, kZero, k, c_.offset(first, row)));
    }
    return tiles;
  }

  // The eight elements that the thread has of a tile.
  void pass_tile(ValueId tile, int column) {
    for (int e = 0; e < ir::kTileLanes; ++e) {
      const int64_t row = 8 * (e / 2 % 2), offset = row * pitch + column + e % 2 + 8 * (e / 4);
      b_.store(shared, c_.add(passed_to_, c_.literal(offset)), b_.let(Op::Extract, {tile, c_.literal(e)}, {DType::F32, 1}));
    }
  }

  const int tiles_down_, tiles_across_;  // of a warp
  std::vector<ValueId> acc_;             // row by row
  std::optional<ChainSums> chains_;
  int32_t of_tile_ = kNone;                           // the thread's elements of a tile, one by one
  ValueId first_row_ = kNone, first_column_ = kNone;  // of the warp, in the tile
  std::optional<TileReader> read_left_, read_right_;
  ValueId passed_to_ = kNone;  // where the thread's first element of a strip goes
};

}  // namespace

std::unique_ptr<Sums> sums_of_warps(Context& c, const Tile& tile, int64_t depth, const Operand& left, const Operand& right, DType dtype) {
  return std::make_unique<SumsOfWarps>(c, tile, depth, left, right, dtype);
}

}  // namespace tenon::passes::gpu
