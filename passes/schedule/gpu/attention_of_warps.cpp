// Attention of warps: float16 and bfloat16 on tensor cores. attention.cpp has a sketch; what each thread has of a tile of 16x16
// stands in ir/looptree/looptree.h.
//
// A warp has tiles of 16 rows, and passes with the other warps of its block over tiles of the other side. Both sides lie in shared
// memory as they lie in memory, a row of elements behind the other; load_tile turns over what is multiplied along the rows. Scores
// stay in registers: as the sums of a product they lie just as the left operand of the next one does.
//
//   s[i][j] = mma(load_tile own[16 i][k], load_tile other[16 j][k], s[i][j]) for k in 0..depth
//   s = power(s * scale - greatest), in f32
//   o[i][e] = mma(cast s[i][k], load_tile other_value[k][16 e] transposed, o[i][e]) for k in 0..columns
//
// Rows of shared memory lie as panel.h has them. Elements past the heads' last, and rows past the last, are zeros there. While a tile of
// the other side is multiplied, the next one is under way (ring.h).
#include <algorithm>
#include <bit>
#include <functional>
#include <numbers>
#include <optional>
#include <vector>

#include "passes/schedule/gpu/attention.h"
#include "passes/schedule/gpu/ring.h"

namespace tenon::passes::gpu {
namespace {

constexpr int kExtent = ir::kTileExtent, kLanes = ir::kTileLanes;
constexpr int kWarps = 4, kThreadsOfRow = 4;
constexpr int kHalves = 2;         // of a tile: a thread has rows, and pairs of columns, in both
constexpr int kStages = 2;         // tiles of the other side in shared memory
constexpr int kMostNumbers = 168;  // registers of a thread; the others hold operands and places

int tiles_of(int64_t width) { return static_cast<int>(ceil_div(width, kExtent)); }
int64_t pitch_of(int64_t width) { return round_up(width, kExtent); }

// Tiles of 16 rows that a warp has, and of 16 columns of the scores.
struct WarpTile {
  int down, across;
  int rows() const { return down * kExtent * kWarps; }
  int columns() const { return across * kExtent; }
};
constexpr WarpTile kWarpTiles[] = {{2, 4}, {2, 2}, {1, 4}, {1, 2}, {1, 1}};  // the best first

// What attention needs registers and shared memory for.
struct Needs {
  Form::Attention heads;
  bool gradient, masked;
};

// What a thread has at the same time: scores, the sums that they are multiplied to, and a mask's elements, which all come at once,
// each with its place.
int numbers(const WarpTile& tile, const Needs& needs) {
  const int scores = needs.gradient ? 2 : 1, of_mask = needs.masked ? 2 : 0, depth = needs.gradient ? tiles_of(needs.heads.depth) : 0;
  const int rounded = needs.gradient ? 0 : kLanes / 4 * tile.down * tile.across;  // p, half of it at a time
  return kLanes * tile.down * (tile.across * (scores + of_mask) + depth + tiles_of(needs.heads.value_depth)) + rounded;
}

int64_t shared_bytes(const WarpTile& tile, const Needs& needs) {
  const int64_t key = pitch_of(needs.heads.depth), value = pitch_of(needs.heads.value_depth);
  const int64_t own = tile.rows() * (needs.gradient ? key + value : std::max(key, value)), other = kStages * tile.columns() * (key + value);
  return (own + other) * ir::item_size(needs.heads.dtype) + (needs.gradient ? 2 * kStages * tile.columns() * ir::item_size(DType::F32) : 0);
}

bool fits(const WarpTile& tile, const Needs& needs, const ir::GpuTarget& target) {
  constexpr int64_t kMostShared = 100 << 10;  // two blocks a multiprocessor
  return numbers(tile, needs) <= kMostNumbers && shared_bytes(tile, needs) <= std::min(kMostShared, target.shared_bytes);
}

// The first that fits, but with no more rows than there are, nor so many that multiprocessors stay idle.
WarpTile choose(const Needs& needs, int64_t batches, int64_t rows, const ir::GpuTarget& target) {
  const WarpTile* chosen = nullptr;
  for (const WarpTile& tile : kWarpTiles) {
    if (!fits(tile, needs, target)) continue;
    if (!chosen) chosen = &tile;
    const bool too_large = rows <= tile.rows() || batches * ceil_div(rows, chosen->rows()) < target.multiprocessors;
    if (tile.down < chosen->down && too_large) chosen = &tile;
  }
  if (!chosen) throw ir::IrError("attention: no tile fits");
  return *chosen;
}

class AttentionOfWarps : public Attention {
 public:
  AttentionOfWarps(Context& c, const Call& call)
      : Attention(c, call), tile_(choose({heads_, gradient_, mask_.buffer >= 0}, buffers_.batches(), longest(), c.target)) {
    c_.out.tree.threads = kWarps * c_.target.warp;
    const int64_t key = pitch_of(heads_.depth), value = pitch_of(heads_.value_depth);
    own_ = panel("own", tile_.rows(), gradient_ ? key : std::max(key, value));
    if (gradient_) own_value_ = panel("own_value", tile_.rows(), value);
    other_ = panel("other", tile_.columns(), key, kStages);
    other_value_ = panel("other_value", tile_.columns(), value, kStages);
    if (!gradient_) return;
    lse_ = buffer("lse", Space::Shared, kStages * tile_.columns(), DType::F32);
    delta_ = buffer("delta", Space::Shared, kStages * tile_.columns(), DType::F32);
  }

 private:
  int32_t panel(const std::string& name, int64_t rows, int64_t pitch, int stages = 1) {
    const int32_t made = buffer(name, Space::Shared, rows * pitch * stages, heads_.dtype);
    b_.tree().buffers[static_cast<size_t>(made)].stages = stages;
    return made;
  }
  int threads() const { return c_.out.tree.threads; }
  int rows_of_thread() const { return kHalves * tile_.down; }

  // Starts a phase: a block takes a tile of `own`.
  void begin_tile(const std::string& name, const Matrix& own) {
    scores_ = local("s", sums_of(tile_.across));
    begin(name, own, {tile_.rows(), tile_.columns()});
    const ValueId warp = c_.divide(c_.thread(), c_.literal(c_.target.warp)).first;
    warp_row_ = c_.mul(warp, c_.literal(tile_.down * kExtent));
    const auto [row, pair] = c_.divide(lane_, c_.literal(kThreadsOfRow));
    row_in_tile_ = row;
    pair_ = c_.mul(pair, c_.literal(2));
    for (const bool values : {false, true}) {
      const Pieces pieces(pitch_of(values ? heads_.value_depth : heads_.depth));
      Readers& read = readers_[values ? 1 : 0];
      read.left.emplace(c_, pieces, Factor::Left, false);
      read.right.emplace(c_, pieces, Factor::Right, false);
      read.turned.emplace(c_, pieces, Factor::Right, true);
    }
  }

  // --- what a thread has of tiles side by side: sums[row's tile][tile][8 elements]

  int64_t sums_of(int across) const { return int64_t{kLanes} * tile_.down * across; }
  // body(number of the row): its rows of the block's tile, two of each tile of 16.
  template <typename Body>
  void each_row(const Body& body) {
    each(rows_of_thread(), body);
  }
  // body(place, column): of such a row of tiles side by side.
  template <typename Body>
  void each_of_row(ValueId r, int across, const Body& body) {
    const auto [tile, half] = c_.divide(r, c_.literal(kHalves));
    const ValueId first = c_.add(c_.mul(tile, c_.literal(int64_t{kLanes} * across)), c_.mul(half, c_.literal(2)));
    each(int64_t{kHalves} * across, [&](ValueId pair) {
      const ValueId at = c_.add(first, c_.mul(pair, c_.literal(4))), column = c_.add(c_.mul(pair, c_.literal(8)), pair_);
      each(2, [&](ValueId near) { body(c_.add(at, near), c_.add(column, near)); });
    });
  }
  ValueId row_in_block(ValueId r) { return c_.add(c_.add(warp_row_, row_in_tile_), c_.mul(r, c_.literal(8))); }
  ValueId row(ValueId r) { return c_.add(first_row_, row_in_block(r)); }
  ValueId over_row(Op op, ValueId x) {
    return over_group(c_, kThreadsOfRow, lane_, x, [&](ValueId a, ValueId b) {
      return op == Op::Max ? b_.fast(op, {a, b}) : b_.op(op, {a, b});
    });
  }

  // --- staging: `rows` rows of a matrix from `first` on; elements that it does not have are 0

  static bool is_copied(const Matrix& m) { return m.together == kPiece; }

  // Goes to the buffer `to`, its first row at `base`.
  void stage(const Matrix& m, ValueId first, int rows, int32_t to, ValueId base = kZero) {
    const int lanes = is_copied(m) ? kPiece : 1;
    const int64_t padded = round_up(m.width, kExtent);
    const Pieces pieces(pitch_of(m.width));
    const auto words = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(padded / lanes)));
    const int across = std::clamp(words, threads() / rows, c_.target.warp), at_once = threads() / across;
    const auto [down, word] = c_.divide(c_.thread(), c_.literal(across));
    const ValueId begin = c_.mul(word, c_.literal(lanes));
    c_.unrolled(c_.literal(0), c_.literal(padded), int64_t{across} * lanes, [&, down = down](ValueId step) {
      const ValueId element = c_.add(begin, step);
      c_.nest.when(padded % (int64_t{across} * lanes) == 0 ? kAlways : c_.less(element, c_.literal(padded)), [&] {
        std::vector<ValueId> taken, places;  // all are under way before the first is stored
        for (int k = 0; k < rows / at_once; ++k) {
          const ValueId in_tile = c_.offset(down, int64_t{k} * at_once), row = c_.add(first, in_tile),
                        there = inside(m, row, rows, element, padded);
          const bool alike = at_once % kTurns == 0;  // then a piece costs no instruction but the first
          const ValueId place = pieces.place(c_, alike ? down : in_tile, element);
          places.push_back(c_.offset(base < 0 ? place : c_.add(base, place), alike ? int64_t{k} * at_once * pieces.pitch() : 0));
          if (is_copied(m)) b_.copy_async(to, places.back(), m.buffer, place_of(m, row, element), there);
          else taken.push_back(b_.load(m.buffer, place_of(m, row, element), 1, there));
        }
        for (size_t k = 0; k < taken.size(); ++k) b_.store(to, places[k], taken[k]);
      });
    });
  }

  // fill and use of run_ring, over the tiles that the block's rows see, as first column and stage.
  void each_in_ring(const Matrix& other, const Matrix& other_value, bool over_keys, bool own_copied, const RingStep& fill,
                    const RingStep& use) {
    const auto [begin, end] = seen(other, over_keys);
    run_ring(c_, {begin, end, tile_.columns(), kStages, own_copied || is_copied(other) || is_copied(other_value)}, fill, use);
  }
  ValueId in_stage(ValueId stage, int64_t width) { return c_.mul(stage, c_.literal(tile_.columns() * pitch_of(width))); }

  // --- products

  std::vector<ValueId> tiles_down(const std::function<ValueId(int i)>& tile) {
    std::vector<ValueId> tiles;
    for (int i = 0; i < tile_.down; ++i) tiles.push_back(tile(i));
    return tiles;
  }
  // sums[i][j] += left[i] times the tile.
  void accumulate(const std::vector<ValueId>& left, ValueId right, int32_t sums, int across, ValueId j) {
    for (int i = 0; i < tile_.down; ++i) {
      const ValueId at = c_.add(c_.mul(j, c_.literal(kLanes)), c_.literal(int64_t{kLanes} * across * i));
      b_.store(sums, at, b_.mma(left[static_cast<size_t>(i)], right, b_.load(sums, at, kLanes)));
    }
  }

  // The warp's rows of `own` times the rows of `other` in the stage, both as wide as keys, or values, to `sums`.
  void multiply_rows(int32_t own, int32_t other, ValueId stage, bool values, int32_t sums) {
    const int64_t width = values ? heads_.value_depth : heads_.depth;
    const Readers& read = readers_[values ? 1 : 0];
    const ValueId base = in_stage(stage, width);
    fill(sums, sums_of(tile_.across), 0);
    each(tiles_of(width), [&](ValueId k) {
      const ValueId element = c_.mul(k, c_.literal(kExtent));
      const auto left =
          tiles_down([&](int i) { return read.left->load(c_, own, kZero, warp_row_, c_.literal(int64_t{kExtent} * i), element); });
      each(tile_.across, [&](ValueId j) {
        accumulate(left, read.right->load(c_, other, base, kZero, c_.mul(j, c_.literal(kExtent)), element), sums, tile_.across, j);
      });
    });
  }

  // Adds `scores`, rounded to the operands' type, times the rows of `other`, to `sums`.
  void multiply_scores(int32_t scores, int32_t other, ValueId stage, bool values, int32_t sums) {
    const int64_t width = values ? heads_.value_depth : heads_.depth;
    const TileReader& read = *readers_[values ? 1 : 0].turned;
    const ValueId base = in_stage(stage, width);
    const int across = tiles_of(width);
    each(tile_.across, [&](ValueId k) {
      const auto left = tiles_down([&](int i) {
        const ValueId at = c_.add(c_.mul(k, c_.literal(kLanes)), c_.literal(int64_t{kLanes} * tile_.across * i));
        return b_.op(Op::Cast, {b_.load(scores, at, kLanes)}, heads_.dtype);
      });
      const ValueId line = c_.mul(k, c_.literal(kExtent));
      each(across,
           [&](ValueId j) { accumulate(left, read.load(c_, other, base, kZero, line, c_.mul(j, c_.literal(kExtent))), sums, across, j); });
    });
  }

  // --- scores, as exponents of two

  // Scores are products until the power is taken, whose exponent is unit() * score - ...; a mask that is added, or a scale that
  // turns their order round, is applied first.
  bool scaled_first() const { return scale() <= 0 || (mask_.buffer >= 0 && c_.kernel.buffer(mask_.buffer).dtype != DType::Bool); }
  double exponent() const { return scale() * std::numbers::log2e; }
  double unit() const { return scaled_first() ? 1 : exponent(); }

  // Scales and masks the scores of a tile whose columns begin at `first`. Most tiles of a causal attention need no mask.
  void mask_scores(ValueId first, const Matrix& other, bool over_keys) {
    if (scaled_first()) {
      each(sums_of(tile_.across), [&](ValueId at) {
        b_.store(scores_, at, b_.op(Op::Mul, {b_.load(scores_, at, 1), number(exponent())}));
      });
    }
    const bool ends = other.count % tile_.columns() != 0;
    if (!ends && !causal_ && mask_.buffer < 0) return;
    c_.nest.when(mask_.buffer >= 0 ? kAlways : needs_mask(first, other, over_keys, ends), [&] {
      each_row([&](ValueId r) {
        const ValueId own = row(r);
        each_of_row(r, tile_.across, [&](ValueId at, ValueId column) {
          const ValueId across = c_.add(first, column), exists = ends ? c_.less(across, count(other)) : kAlways;
          const ValueId s = b_.load(scores_, at, 1);
          b_.store(scores_, at, masked(s, over_keys ? own : across, over_keys ? across : own, exists, std::numbers::log2e));
        });
      });
    });
  }

  ValueId needs_mask(ValueId first, const Matrix& other, bool over_keys, bool ends) {
    const ValueId end = c_.add(first, c_.literal(tile_.columns()));
    const ValueId past = ends ? c_.less(count(other), end) : kNone;
    if (!causal_) return past;
    const ValueId last_row = c_.add(first_row_, c_.literal(tile_.rows() - 1));
    const ValueId hidden = over_keys ? c_.less(c_.add(first_row_, c_.literal(1)), end) : c_.less(first, last_row);
    return past < 0 ? hidden : b_.op(Op::Or, {hidden, past});
  }

  ValueId power(ValueId x) { return b_.fast(Op::Exp2, {x}); }
  ValueId exponent_of(ValueId score, ValueId subtracted) { return b_.op(Op::Fma, {score, number(unit()), b_.op(Op::Neg, {subtracted})}); }

  // --- results

  // What finish(number of the row, sum) makes of the sums, through the shared memory `by` to the rows of a result.
  template <typename Finish>
  void write(int32_t sums, const Matrix& to, int32_t by, const Finish& finish) {
    const int across = tiles_of(to.width);
    const Pieces pieces(pitch_of(to.width));
    b_.barrier();
    each_row([&](ValueId r) {
      const ValueId line = row_in_block(r);
      each_of_row(r, across, [&](ValueId at, ValueId column) {
        b_.store(by, pieces.place(c_, line, column), b_.op(Op::Cast, {finish(r, b_.load(sums, at, 1))}, heads_.dtype));
      });
    });
    b_.barrier();
    const int lanes = is_copied(to) ? kPiece : 1;
    const auto words = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(ceil_div(to.width, lanes))));
    const int at_once = threads() / std::min(words, c_.target.warp);
    const auto [down, word] = c_.divide(c_.thread(), c_.literal(threads() / at_once));
    c_.loop(down, c_.literal(tile_.rows()), at_once, [&, word = word](ValueId in_tile) {
      const ValueId row = c_.add(first_row_, in_tile);
      c_.nest.when(below(row, to, tile_.rows()), [&] {
        c_.loop(c_.mul(word, c_.literal(lanes)), width(to), int64_t{threads() / at_once} * lanes, [&](ValueId element) {
          const ValueId x = b_.load(by, pieces.place(c_, in_tile, element), lanes);
          b_.store(to.buffer, place_of(to, row, element), x);
        });
      });
    });
  }

  int32_t zeros(const std::string& name, int64_t width, bool wanted) {
    const int64_t count = sums_of(tiles_of(width));
    const int32_t sums = wanted ? local(name, count) : kNone;
    if (wanted) fill(sums, count, 0);
    return sums;
  }

  // --- phase attend

  void attend() override {
    const std::optional<int32_t> result = buffers_.result_of(ir::AttentionResult::Output),
                                 lse = buffers_.result_of(ir::AttentionResult::Lse);
    begin_tile("attend", query_);
    const int32_t most = local("most", rows_of_thread()), sum = local("sum", rows_of_thread());
    const int32_t mixed = zeros("mixed", value_.width, result.has_value());
    each_row([&](ValueId r) {
      b_.store(most, r, infinity());
      b_.store(sum, r, number(0));
    });
    stage(query_, first_row_, tile_.rows(), own_);
    const auto next = [&](ValueId first, ValueId to) {
      stage(key_, first, tile_.columns(), other_, in_stage(to, key_.width));
      if (result) stage(value_, first, tile_.columns(), other_value_, in_stage(to, value_.width));
    };
    each_in_ring(key_, value_, true, is_copied(query_), next, [&](ValueId first, ValueId at) {
      multiply_rows(own_, other_, at, false, scores_);
      mask_scores(first, key_, true);
      normalise(most, sum, mixed);
      if (result) multiply_scores(scores_, other_value_, at, true, mixed);
    });
    each_row([&](ValueId r) { b_.store(sum, r, over_row(Op::Add, b_.load(sum, r, 1))); });
    if (lse) write_lse(*lse, most, sum);
    if (result) {
      write(mixed, like(query_, value_, *result), own_, [&](ValueId r, ValueId x) {
        return b_.op(Op::Div, {x, divisor_of_row(c_, b_.load(sum, r, 1))});
      });
    }
    c_.end_phase();
  }

  // The scores become p; what there was so far goes with the new maximum. As long as a row has seen nothing its maximum is
  // minus infinity, and 0 is subtracted in its place: its p are 0. Each thread has the sum of its own columns.
  void normalise(int32_t most, int32_t sum, int32_t mixed) {
    each_row([&](ValueId r) {
      const ValueId before = b_.load(most, r, 1), greatest = b_.var(before);
      each_of_row(r, tile_.across, [&](ValueId at, ValueId) {
        b_.set(greatest, b_.fast(Op::Max, {b_.get(greatest), b_.load(scores_, at, 1)}));
      });
      const ValueId now = over_row(Op::Max, b_.get(greatest));
      const ValueId scaled = b_.op(Op::Mul, {now, number(unit())});
      const ValueId subtracted = b_.op(Op::Where, {b_.op(Op::Eq, {now, infinity()}), number(0), scaled});
      const ValueId factor = power(exponent_of(before, subtracted));
      const ValueId total = b_.var(b_.op(Op::Mul, {b_.load(sum, r, 1), factor}));
      each_of_row(r, tile_.across, [&](ValueId at, ValueId) {
        const ValueId p = power(exponent_of(b_.load(scores_, at, 1), subtracted));
        b_.store(scores_, at, p);
        b_.set(total, b_.op(Op::Add, {b_.get(total), p}));
      });
      b_.store(most, r, now);
      b_.store(sum, r, b_.get(total));
      if (mixed < 0) return;
      each_of_row(r, tiles_of(value_.width), [&](ValueId at, ValueId) {
        b_.store(mixed, at, b_.op(Op::Mul, {b_.load(mixed, at, 1), factor}));
      });
    });
  }

  void write_lse(int32_t to, int32_t most, int32_t sum) {
    const double natural = scaled_first() ? std::numbers::ln2 : scale();
    c_.nest.when(b_.op(Op::Eq, {pair_, c_.literal(0)}), [&] {
      each_row([&](ValueId r) {
        c_.nest.when(below(row(r), query_, tile_.rows()), [&] {
          const ValueId greatest = b_.op(Op::Mul, {b_.load(most, r, 1), number(natural)});
          const ValueId of_row = lse_of_row(c_, greatest, b_.load(sum, r, 1));
          b_.store(to, c_.add(bases_[static_cast<size_t>(to)], row(r)), of_row);
        });
      });
    });
  }

  // --- phases keys and queries

  void differentiate(const Sides& sides) override {
    const auto& [queries, own, own_value, other, other_value, result, of_value] = sides;
    begin_tile(queries ? "queries" : "keys", own);
    const int32_t ds = local("ds", sums_of(tile_.across));
    const int32_t sums = zeros("sums", own.width, result.has_value()), value_sums = zeros("values", own_value.width, of_value.has_value());
    // One element for each query: those of the rows stay in registers, those of the columns come with each tile.
    const int32_t lse = local("lse", rows_of_thread()), delta = local("delta", rows_of_thread());
    if (queries) {
      each_row([&](ValueId r) {
        b_.store(lse, r, b_.op(Op::Mul, {lse_of(row(r)), number(std::numbers::log2e)}));
        b_.store(delta, r, delta_of(row(r)));
      });
    }
    stage(own, first_row_, tile_.rows(), own_);
    if (result) stage(own_value, first_row_, tile_.rows(), own_value_);
    const auto next = [&](ValueId first, ValueId to) {
      stage(other, first, tile_.columns(), other_, in_stage(to, other.width));
      stage(other_value, first, tile_.columns(), other_value_, in_stage(to, other_value.width));
      if (!queries) stage_sums(first, to);
    };
    each_in_ring(other, other_value, queries, is_copied(own) || is_copied(own_value), next, [&](ValueId first, ValueId stage) {
      multiply_rows(own_, other_, stage, false, scores_);
      if (result) multiply_rows(own_value_, other_value_, stage, true, ds);
      mask_scores(first, other, queries);
      each_row([&](ValueId r) {
        each_of_row(r, tile_.across, [&](ValueId at, ValueId column) {
          const int32_t of_lse = queries ? lse : lse_, of_delta = queries ? delta : delta_;
          const ValueId query = queries ? r : c_.add(c_.mul(stage, c_.literal(tile_.columns())), column);
          const ValueId p = power(exponent_of(b_.load(scores_, at, 1), b_.load(of_lse, query, 1)));
          b_.store(scores_, at, p);
          if (result) b_.store(ds, at, b_.op(Op::Mul, {p, b_.op(Op::Sub, {b_.load(ds, at, 1), b_.load(of_delta, query, 1)})}));
        });
      });
      if (of_value) multiply_scores(scores_, other_value_, stage, true, value_sums);
      if (result) multiply_scores(ds, other_, stage, false, sums);
    });
    if (result) {
      write(sums, like(own, own, *result), own_, [&](ValueId, ValueId x) { return b_.op(Op::Mul, {x, number(scale())}); });
    }
    if (of_value) write(value_sums, like(value_, value_, *of_value), own_value_, [](ValueId, ValueId x) { return x; });
    c_.end_phase();
  }

  // lse and delta of a tile of queries.
  void stage_sums(ValueId first, ValueId stage) {
    c_.nest.when(c_.less(c_.thread(), c_.literal(tile_.columns())), [&] {
      const ValueId query = c_.add(first, c_.thread()), place = c_.add(c_.mul(stage, c_.literal(tile_.columns())), c_.thread());
      b_.store(lse_, place, b_.op(Op::Mul, {lse_of(query), number(std::numbers::log2e)}));
      b_.store(delta_, place, delta_of(query));
    });
  }

  const WarpTile tile_;
  struct Readers {
    std::optional<TileReader> left, right, turned;
  };
  Readers readers_[2];                                                             // of matrices as wide as keys, and as values
  int32_t own_ = kNone, own_value_ = kNone, other_ = kNone, other_value_ = kNone;  // shared: the block's rows; a tile of the other side
  int32_t lse_ = kNone, delta_ = kNone;                                            // shared: of the other side's queries
  // The state of one phase:
  int32_t scores_ = kNone;                      // of a thread: its scores, then p
  ValueId warp_row_ = kNone;                    // of the warp in the block
  ValueId row_in_tile_ = kNone, pair_ = kNone;  // of the thread in a tile of 16x16: its first row and column
};

}  // namespace

bool warps_take(const Form::Attention& heads, const ir::GpuTarget& target) {
  if (!ir::is_half(heads.dtype) || target.compute < kFirstMma) return false;
  return std::any_of(std::begin(kWarpTiles), std::end(kWarpTiles), [&](const WarpTile& tile) {
    return fits(tile, {heads, false, true}, target) && fits(tile, {heads, true, true}, target);
  });
}

void call_attention_of_warps(Context& c, const Call& call) { AttentionOfWarps(c, call).lower(); }

}  // namespace tenon::passes::gpu
