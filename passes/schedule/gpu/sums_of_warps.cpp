// Sums of warps: products of 16x16x16 on the tensor cores, operands f16 or bf16, sums f32. What each thread has of a tile stands in
// ir/looptree.h.
//
//   for k in 0..depth step 16 {
//     u[4] = load_tile left[row + 16 i][k]; v[2] = load_tile right[column + 16 j][k]; acc[i][j] = mma(u[i], v[j], acc[i][j])
//   }
//
// In shared memory a slice lies as it was staged, k innermost or rows innermost; load_tile turns over what
// needs it. The eight pieces of eight elements that it reads at once lie in different banks, as each line has
// kPadding elements more. A sum takes 16 k after 16 k, in chains (ir/sum_order.h), whatever the tile, so all
// tiles give the same bits.
#include <optional>
#include <vector>

#include "passes/schedule/gpu/sums.h"

namespace tenon::passes::gpu {

namespace {

constexpr int kExtent = ir::kTileExtent;

class SumsOfWarps : public Sums {
 public:
  SumsOfWarps(Context& c, const Tile& t, int64_t depth, const Panel& l, const Panel& r)
      : Sums(c, t), tiles_down_(t.part_rows / kExtent), tiles_across_(t.part_columns / kExtent) {
    left = place_panel(l, "left", t.rows);
    right = place_panel(r, "right", t.columns);
    if (ir::product_in_chains(DType::F32, depth)) {
      chains_.emplace(c, DType::F32, int64_t{tiles_down_} * tiles_across_ * ir::kTileLanes, depth);
      of_tile_ = b_.add_buffer({"chain0", DType::F32, Space::Local, -1, ir::kTileLanes});
    }
    together = kVector;
    zero_filled = true;
    strips = tiles_down_;
    strip_rows = t.rows / t.part_rows * kExtent;
    pitch = t.columns + kPadding;
    shared = b_.add_buffer({"products0", DType::F32, Space::Shared, -1, int64_t{strip_rows} * pitch});
  }

  void begin() override {
    const auto [warp, lane] = c_.divide(c_.thread(), c_.literal(c_.target.warp));
    const auto [down, across] = c_.divide(warp, c_.literal(tile_.columns / tile_.part_columns));
    first_row_ = c_.mul(down, c_.literal(tile_.part_rows * row_step(left)));
    first_column_ = c_.mul(across, c_.literal(tile_.part_columns * row_step(right)));
    const auto [row, pair] = c_.divide(lane, c_.literal(4));
    const ValueId strip_row = c_.add(c_.mul(down, c_.literal(kExtent)), row);
    const ValueId column = c_.add(c_.mul(across, c_.literal(tile_.part_columns)), c_.mul(pair, c_.literal(2)));
    passed_to_ = c_.add(c_.mul(strip_row, c_.literal(pitch)), column);
    for (int i = 0; i < tiles_down_ * tiles_across_; ++i) acc_.push_back(b_.var(zero()));
    if (chains_) chains_->begin();
  }

  void multiply(ValueId slice) override {
    if (chains_) begin_slice(slice);
    c_.loop(
        c_.literal(0), c_.literal(tile_.depth), kExtent,
        [&](ValueId k) {
          const std::vector<ValueId> rows = load(left, tiles_down_, first_row_, k);
          const std::vector<ValueId> columns = load(right, tiles_across_, first_column_, k);
          for (int i = 0; i < tiles_down_; ++i) {
            for (int j = 0; j < tiles_across_; ++j)
              b_.set(acc(i, j), b_.mma(rows[i], columns[j], b_.get(acc(i, j))));
          }
        },
        true);
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
      c_.nest.when(tiles_down_ == 1 ? -1 : b_.op(Op::Eq, {strip, c_.literal(i)}), [&] {
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

  Panel place_panel(Panel panel, const std::string& name, int width) {
    panel.width = width;
    panel.k_innermost = panel.along_depth;
    panel.pitch = (panel.k_innermost ? tile_.depth : width) + kPadding;
    const int64_t lines = panel.k_innermost ? width : tile_.depth;
    panel.shared = b_.add_buffer({name + "0", panel.dtype, Space::Shared, -1, lines * panel.pitch});
    return panel;
  }

  static int64_t row_step(const Panel& panel) { return panel.k_innermost ? panel.pitch : 1; }

  ValueId acc(int i, int j) const { return acc_[static_cast<size_t>(i * tiles_across_ + j)]; }

  std::vector<ValueId> load(const Panel& panel, int count, ValueId first_row, ValueId k) {
    const ValueId pitch = c_.literal(panel.pitch), first = c_.add(first_row, panel.k_innermost ? k : c_.mul(k, pitch));
    std::vector<ValueId> tiles;
    for (int i = 0; i < count; ++i) {
      const ValueId at = i == 0 ? first : c_.add(first, c_.literal(i * kExtent * row_step(panel)));
      tiles.push_back(b_.load_tile(panel.shared, at, pitch, !panel.k_innermost));
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
  int32_t of_tile_ = -1;                        // the thread's elements of a tile, one by one
  ValueId first_row_ = -1, first_column_ = -1;  // where a warp's part of the slices begins
  ValueId passed_to_ = -1;                      // where the thread's first element of a strip goes
};

}  // namespace

std::unique_ptr<Sums> sums_of_warps(Context& c, const Tile& tile, int64_t depth, const Panel& left,
                                    const Panel& right) {
  return std::make_unique<SumsOfWarps>(c, tile, depth, left, right);
}

}  // namespace tenon::passes::gpu
