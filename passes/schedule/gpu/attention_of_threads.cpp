// Attention of threads: float32, float64, and halves where there are no tensor cores for them. attention.cpp has a sketch.
//
// A thread has a few rows, and a few columns of the scores and of the sums. Both operands of a product lie in shared memory as
// [depth][rows or columns]; what the other side is needed for twice is staged twice, once turned and once as it lies.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <tuple>

#include "passes/schedule/gpu/attention.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes::gpu {
namespace {

constexpr int kRowGroups = 16, kColumnGroups = 8;  // of threads; a row's are neighbours in a warp
constexpr int kThreads = kRowGroups * kColumnGroups;
constexpr int64_t kBank = 4;  // elements between the rows of a turned tile, so that neighbouring k go to other banks

DType type_of_sums(DType dtype) { return ir::is_half(dtype) ? DType::F32 : dtype; }

// Rows, and columns of the scores, that a thread has.
struct AttentionTile {
  int of_rows, of_columns;
  int rows() const { return of_rows * kRowGroups; }
  int columns() const { return of_columns * kColumnGroups; }
};
constexpr AttentionTile kAttentionTiles[] = {{4, 4}, {2, 4}, {1, 4}, {1, 2}, {1, 1}};  // the best first

// How the columns of a tile [.., width] fall to the threads of a row: runs of so many neighbours.
struct Columns {
  explicit Columns(int64_t width)
      : run(width > 2 * kColumnGroups ? kVector
            : width > kColumnGroups   ? 2
                                      : 1),
        padded(round_up(width, int64_t{run} * kColumnGroups)) {}
  int run;
  int64_t padded;
  int of_thread() const { return static_cast<int>(padded / kColumnGroups); }
};

int64_t turned_elements(int64_t width, int64_t rows) { return round_up(width, 16) * (rows + kBank); }

// Elements that pass through shared memory for one side's tiles, of the other side's, and of p.
struct SharedElements {
  int64_t own, other, p;
  int64_t sum() const { return own + other + p; }
};

SharedElements shared_elements(const AttentionTile& tile, int64_t depth, int64_t value_depth, bool gradient) {
  const int64_t widest = gradient ? std::max(depth, value_depth) : value_depth;
  return {turned_elements(depth, tile.rows()) + (gradient ? turned_elements(value_depth, tile.rows()) : 0),
          std::max(turned_elements(gradient ? widest : depth, tile.columns()), tile.columns() * Columns(widest).padded),
          tile.columns() * (tile.rows() + kBank)};
}

bool fits(const AttentionTile& tile, const Form::Attention& heads, bool gradient, const ir::GpuTarget& target) {
  const int64_t elements = shared_elements(tile, heads.depth, heads.value_depth, gradient).sum();
  return elements * ir::item_size(type_of_sums(heads.dtype)) <= target.static_shared_bytes();
}

// The largest tile that fits, but no larger than there are rows, nor so large that multiprocessors stay idle.
AttentionTile choose(const Form::Attention& heads, bool gradient, int64_t batches, int64_t rows, const ir::GpuTarget& target) {
  const AttentionTile* chosen = nullptr;
  for (const AttentionTile& tile : kAttentionTiles) {
    if (!fits(tile, heads, gradient, target)) continue;
    if (chosen && (tile.of_columns < chosen->of_columns || chosen->of_rows == 1)) break;
    const bool too_large = chosen && (rows <= tile.rows() || batches * ceil_div(rows, chosen->rows()) < target.multiprocessors);
    if (!chosen || too_large) chosen = &tile;
  }
  if (!chosen) throw ir::IrError("attention: no tile fits");
  return *chosen;
}

class AttentionOfThreads : public Attention {
 public:
  AttentionOfThreads(Context& c, const Call& call)
      : Attention(c, call), tile_(choose(heads_, gradient_, buffers_.batches(), longest(), c.target)) {
    c_.out.tree.threads = kThreads;
    const SharedElements elements = shared_elements(tile_, query_.width, value_.width, gradient_);
    own_ = buffer("own", Space::Shared, elements.own, sums_);
    other_ = buffer("other", Space::Shared, elements.other, sums_);
    p_ = buffer("p", Space::Shared, elements.p, sums_);
  }

 private:
  // Starts a phase: a block takes a tile of `own`.
  void begin_tile(const std::string& name, const Matrix& own) {
    scores_ = local("s", scores());
    left_ = local("left", tile_.of_rows);
    begin(name, own, {tile_.rows(), tile_.columns()});
    const auto [group, place] = c_.divide(c_.thread(), c_.literal(kColumnGroups));
    place_ = place;
    own_row_ = c_.mul(group, c_.literal(tile_.of_rows));
  }

  int scores() const { return tile_.of_rows * tile_.of_columns; }
  // body(i, j): row and column of the scores that a thread has, and their place.
  template <typename Body>
  void each_score(const Body& body) {
    each(tile_.of_rows,
         [&](ValueId i) { each(tile_.of_columns, [&](ValueId j) { body(i, j, c_.add(c_.mul(i, c_.literal(tile_.of_columns)), j)); }); });
  }
  void accumulate(int32_t buffer, ValueId at, ValueId x, ValueId y) {
    b_.store(buffer, at, b_.op(Op::Fma, {x, y, b_.load(buffer, at, 1)}));
  }

  ValueId row(ValueId i) { return c_.add(c_.add(first_row_, own_row_), i); }
  ValueId column(ValueId first_column, ValueId j) { return c_.add(c_.add(first_column, c_.mul(place_, c_.literal(tile_.of_columns))), j); }

  // The sum or the maximum over the threads of a row, in each of them.
  ValueId over_row(Op op, ValueId x) {
    return over_group(c_, kColumnGroups, lane_, x, [&](ValueId a, ValueId b) { return b_.op(op, {a, b}); });
  }

  // --- staging: `rows` rows of a matrix from `first` on; elements that it does not have are 0

  // Four elements of a row, or one: body(element's number, value).
  template <typename Body>
  void read(const Matrix& m, ValueId row, ValueId element, int lanes, ValueId inside, const Body& body) {
    if (lanes == 1) return body(0, wide(b_.load(m.buffer, place_of(m, row, element), 1, inside)));
    std::vector<ValueId> values;
    for (int lane = 0; lane < lanes; ++lane) values.push_back(b_.var(number(0)));
    c_.nest.when(inside, [&] {
      const ValueId four = b_.load(m.buffer, place_of(m, row, element), lanes);
      for (int lane = 0; lane < lanes; ++lane) {
        const ValueId one = b_.let(Op::Extract, {four, c_.literal(lane)}, {b_.type(four).dtype, 1});
        b_.set(values[static_cast<size_t>(lane)], wide(one));
      }
    });
    for (int lane = 0; lane < lanes; ++lane) body(lane, b_.get(values[static_cast<size_t>(lane)]));
  }

  // [element][row]: 8 neighbouring rows and 4 vectors of each, or 32 neighbouring elements, are a warp's.
  void stage_turned(const Matrix& m, ValueId first, int rows, int32_t to, int64_t offset = 0) {
    constexpr int kNear = 8;
    const bool vectors = m.together > 1;
    const int lanes = vectors ? kVector : 1;
    const auto words = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(ceil_div(m.width, lanes))));
    const int across = vectors ? std::clamp(words, kThreads / rows, kThreads / kNear) : 32, at_once = kThreads / across;
    ValueId word = kNone, down = kNone;
    if (vectors) {
      const auto [rest, near] = c_.divide(c_.thread(), c_.literal(kNear));
      const auto [far, at] = c_.divide(rest, c_.literal(across));
      word = at;
      down = c_.add(c_.mul(far, c_.literal(kNear)), near);
    } else {
      std::tie(down, word) = c_.divide(c_.thread(), c_.literal(across));
    }
    const int64_t pitch = rows + kBank, elements = round_up(m.width, kVector);
    c_.loop(c_.mul(word, c_.literal(lanes)), depth(m), int64_t{across} * lanes, [&](ValueId element) {
      each(rows / at_once, [&](ValueId k) {
        const ValueId in_tile = c_.add(down, c_.mul(k, c_.literal(at_once))), row = c_.add(first, in_tile);
        read(m, row, element, lanes, inside(m, row, rows, element, elements), [&](int lane, ValueId value) {
          const ValueId line = c_.mul(c_.add(element, c_.literal(lane)), c_.literal(pitch));
          b_.store(to, c_.add(c_.add(line, in_tile), c_.literal(offset)), value);
        });
      });
    });
  }

  // [row][element]
  void stage_rows(const Matrix& m, ValueId first, int rows, int32_t to, const Columns& columns) {
    const bool vectors = m.together > 1;
    const int lanes = vectors ? kVector : 1;
    const auto words = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(columns.padded / lanes)));
    const int across = std::clamp(words, kThreads / rows, 32), at_once = kThreads / across;
    const auto [down, word] = c_.divide(c_.thread(), c_.literal(across));
    const ValueId begin = c_.mul(word, c_.literal(lanes));
    c_.loop(begin, c_.literal(columns.padded), int64_t{across} * lanes, [&, down = down](ValueId element) {
      each(rows / at_once, [&](ValueId k) {
        const ValueId in_tile = c_.add(down, c_.mul(k, c_.literal(at_once))), row = c_.add(first, in_tile);
        read(m, row, element, lanes, inside(m, row, rows, element, columns.padded), [&](int lane, ValueId value) {
          b_.store(to, c_.add(c_.add(c_.mul(in_tile, c_.literal(columns.padded)), element), c_.literal(lane)), value);
        });
      });
    });
  }

  // --- products

  // sums[i][j] += left[k][own row i] * right[k][own column j] for k in 0..depth, a multiple of four.
  void multiply(ValueId depth, int32_t left, int64_t offset, int32_t right, int64_t right_pitch, const Columns& columns, int32_t sums) {
    const int width = columns.of_thread();
    const int32_t of_right = local("right", width);
    const ValueId first_column = c_.mul(place_, c_.literal(columns.run));
    c_.loop(c_.literal(0), depth, kVector, [&](ValueId begin) {
      each(kVector, [&](ValueId next) {
        const ValueId k = c_.add(begin, next);
        const ValueId row = c_.add(c_.add(c_.mul(k, c_.literal(tile_.rows() + kBank)), own_row_), c_.literal(offset));
        fetch(left, row, tile_.of_rows, tile_.of_rows, 0, left_);
        const ValueId column = c_.add(c_.mul(k, c_.literal(right_pitch)), first_column);
        fetch(right, column, width, columns.run, int64_t{columns.run} * kColumnGroups, of_right);
        each(tile_.of_rows, [&](ValueId i) {
          const ValueId x = b_.load(left_, i, 1), line = c_.mul(i, c_.literal(width));
          each(width, [&](ValueId j) { accumulate(sums, c_.add(line, j), x, b_.load(of_right, j, 1)); });
        });
      });
    });
  }

  // `count` elements in runs of neighbours, from shared memory to registers.
  void fetch(int32_t from, ValueId first, int count, int run, int64_t distance, int32_t to) {
    const int lanes = run == kVector ? kVector : 1;
    for (int i = 0; i < count; i += lanes) {
      const int64_t ahead = i / run * distance + i % run;
      const ValueId loaded = b_.load(from, c_.offset(first, ahead), lanes);
      for (int lane = 0; lane < lanes; ++lane) {
        const ValueId one = lanes == 1 ? loaded : b_.let(Op::Extract, {loaded, c_.literal(lane)}, {sums_, 1});
        b_.store(to, c_.literal(i + lane), one);
      }
    }
  }

  // own rows times the rows of `other` from `first` on, through shared memory, to `sums`.
  void multiply_rows(const Matrix& other, ValueId first, int64_t own_offset, int32_t sums) {
    b_.barrier();
    stage_turned(other, first, tile_.columns(), other_);
    b_.barrier();
    fill(sums, scores(), 0);
    multiply(depth(other), own_, own_offset, other_, tile_.columns() + kBank, Columns(tile_.columns()), sums);
  }

  // Adds the numbers in `values`, one for each score, times the rows of `other` from `first` on, to `sums`.
  void multiply_scores(int32_t values, const Matrix& other, ValueId first, int32_t sums) {
    const Columns columns(other.width);
    each_score([&](ValueId i, ValueId j, ValueId at) {
      const ValueId column = c_.add(c_.mul(place_, c_.literal(tile_.of_columns)), j);
      b_.store(p_, c_.add(c_.add(c_.mul(column, c_.literal(tile_.rows() + kBank)), own_row_), i), b_.load(values, at, 1));
    });
    b_.barrier();
    stage_rows(other, first, tile_.columns(), other_, columns);
    b_.barrier();
    multiply(c_.literal(tile_.columns()), p_, 0, other_, columns.padded, columns, sums);
  }

  // scale * product + mask; minus infinity where the query does not see the key.
  ValueId score(ValueId product, ValueId query, ValueId key, ValueId exists) {
    return masked(b_.op(Op::Mul, {product, number(scale())}), query, key, exists, 1);
  }

  // The thread's part of `sums`, which finish(i, value) completes, to the rows of a result.
  template <typename Finish>
  void write(int32_t sums, const Matrix& to, const Finish& finish) {
    const Columns columns(to.width);
    const DType dtype = c_.kernel.buffer(to.buffer).dtype;
    const bool vectors = columns.run == kVector && to.width % kVector == 0;
    const int32_t four = buffer("four", Space::Local, kVector, dtype);
    each(tile_.of_rows, [&](ValueId i) {
      c_.nest.when(below(row(i), to, tile_.rows()), [&] {
        const ValueId line = c_.mul(i, c_.literal(columns.of_thread()));
        each(columns.of_thread() / columns.run, [&](ValueId run) {
          const ValueId of_all = c_.mul(run, c_.literal(int64_t{columns.run} * kColumnGroups));
          const ValueId first = c_.add(of_all, c_.mul(place_, c_.literal(columns.run)));
          const auto value = [&](ValueId lane) {
            const ValueId at = c_.add(c_.add(line, c_.mul(run, c_.literal(columns.run))), lane);
            const ValueId x = finish(i, b_.load(sums, at, 1));
            return dtype == sums_ ? x : b_.op(Op::Cast, {x}, dtype);
          };
          if (vectors) {
            each(kVector, [&](ValueId lane) { b_.store(four, lane, value(lane)); });
            c_.nest.when(to.width == columns.padded ? kAlways : c_.less(first, width(to)),
                         [&] { b_.store(to.buffer, place_of(to, row(i), first), b_.load(four, c_.literal(0), kVector)); });
            return;
          }
          each(columns.run, [&](ValueId lane) {
            const ValueId element = c_.add(first, lane);
            c_.nest.when(c_.less(element, width(to)), [&] { b_.store(to.buffer, place_of(to, row(i), element), value(lane)); });
          });
        });
      });
    });
  }

  // --- phase attend

  void attend() override {
    const std::optional<int32_t> result = buffers_.result_of(ir::AttentionResult::Output),
                                 lse = buffers_.result_of(ir::AttentionResult::Lse);
    begin_tile("attend", query_);
    const int32_t most = local("most", tile_.of_rows), sum = local("sum", tile_.of_rows);
    const int64_t results = int64_t{tile_.of_rows} * Columns(value_.width).of_thread();
    const int32_t mixed = result ? local("mixed", results) : kNone;
    fill(most, tile_.of_rows, -std::numeric_limits<double>::infinity());
    fill(sum, tile_.of_rows, 0);
    if (result) fill(mixed, results, 0);
    stage_turned(query_, first_row_, tile_.rows(), own_);
    each_tile(key_, true, [&](ValueId first) {
      multiply_rows(key_, first, 0, scores_);
      each_score([&](ValueId i, ValueId j, ValueId at) {
        const ValueId key = column(first, j);
        b_.store(scores_, at, score(b_.load(scores_, at, 1), row(i), key, below(key, key_, tile_.columns())));
      });
      normalise(most, sum, mixed);
      if (result) multiply_scores(scores_, value_, first, mixed);
    });
    if (result) {
      write(mixed, like(query_, value_, *result), [&](ValueId i, ValueId x) {
        return b_.op(Op::Div, {x, divisor_of_row(c_, b_.load(sum, i, 1))});
      });
    }
    if (lse) {
      each(tile_.of_rows, [&](ValueId i) {
        const ValueId first_thread = b_.op(Op::Eq, {place_, c_.literal(0)});
        c_.nest.when(c_.nest.both(first_thread, below(row(i), query_, tile_.rows())), [&] {
          const ValueId of_row = lse_of_row(c_, b_.load(most, i, 1), b_.load(sum, i, 1));
          b_.store(*lse, c_.add(bases_[static_cast<size_t>(*lse)], row(i)), of_row);
        });
      });
    }
    c_.end_phase();
  }

  // The scores become p; what there was so far goes with the new maximum. As long as a row has seen nothing its maximum is
  // minus infinity, and 0 is subtracted in its place: its p are 0.
  void normalise(int32_t most, int32_t sum, int32_t mixed) {
    each(tile_.of_rows, [&](ValueId i) {
      const ValueId line = c_.mul(i, c_.literal(tile_.of_columns)), before = b_.load(most, i, 1);
      const ValueId greatest = b_.var(infinity());
      each(tile_.of_columns, [&](ValueId j) {
        b_.set(greatest, b_.op(Op::Max, {b_.get(greatest), b_.load(scores_, c_.add(line, j), 1)}));
      });
      const ValueId now = b_.op(Op::Max, {before, over_row(Op::Max, b_.get(greatest))});
      const ValueId subtracted = b_.op(Op::Where, {b_.op(Op::Eq, {now, infinity()}), number(0), now});
      const ValueId factor = attention_weight(c_, b_.op(Op::Sub, {before, subtracted}));
      const ValueId total = b_.var(number(0));
      each(tile_.of_columns, [&](ValueId j) {
        const ValueId at = c_.add(line, j), p = attention_weight(c_, b_.op(Op::Sub, {b_.load(scores_, at, 1), subtracted}));
        b_.store(scores_, at, p);
        b_.set(total, b_.op(Op::Add, {b_.get(total), p}));
      });
      b_.store(most, i, now);
      b_.store(sum, i, b_.op(Op::Fma, {b_.load(sum, i, 1), factor, over_row(Op::Add, b_.get(total))}));
      if (mixed < 0) return;
      const int width = Columns(value_.width).of_thread();
      each(width, [&](ValueId j) {
        const ValueId at = c_.add(c_.mul(i, c_.literal(width)), j);
        b_.store(mixed, at, b_.op(Op::Mul, {b_.load(mixed, at, 1), factor}));
      });
    });
  }

  // --- phases keys and queries

  void differentiate(const Sides& sides) override {
    const auto& [queries, own, own_value, other, other_value, result, of_value] = sides;
    begin_tile(queries ? "queries" : "keys", own);
    const int32_t ds = local("ds", scores());
    const int64_t value_offset = turned_elements(own.width, tile_.rows());
    const auto sums_of = [&](const char* what, bool wanted, const Matrix& m) {
      const int64_t count = int64_t{tile_.of_rows} * Columns(m.width).of_thread();
      const int32_t sums = wanted ? local(what, count) : kNone;
      if (wanted) fill(sums, count, 0);
      return sums;
    };
    const int32_t sums = sums_of("sums", result.has_value(), own), value_sums = sums_of("values", of_value.has_value(), own_value);
    // One element for each query: those of the rows stay, those of the columns come with each tile.
    const int of_queries = queries ? tile_.of_rows : tile_.of_columns;
    const int32_t lse = local("lse", of_queries), delta = local("delta", of_queries);
    const auto load_sums = [&](const auto& query_of) {
      each(of_queries, [&](ValueId i) {
        const ValueId query = query_of(i);
        b_.store(lse, i, lse_of(query));
        if (result) b_.store(delta, i, delta_of(query));
      });
    };
    if (queries) load_sums([&](ValueId i) { return row(i); });
    stage_turned(own, first_row_, tile_.rows(), own_);
    if (result) stage_turned(own_value, first_row_, tile_.rows(), own_, value_offset);
    each_tile(other, queries, [&](ValueId first) {
      if (!queries) load_sums([&](ValueId j) { return column(first, j); });
      multiply_rows(other, first, 0, scores_);
      if (result) multiply_rows(other_value, first, value_offset, ds);
      each_score([&](ValueId i, ValueId j, ValueId at) {
        const ValueId r = row(i), c = column(first, j), query = queries ? i : j;
        const ValueId exists = below(c, other, tile_.columns());
        const ValueId s = score(b_.load(scores_, at, 1), queries ? r : c, queries ? c : r, kAlways);
        ValueId p = attention_weight(c_, b_.op(Op::Sub, {s, b_.load(lse, query, 1)}));
        if (exists >= 0) p = b_.op(Op::Where, {exists, p, number(0)});
        b_.store(scores_, at, p);
        if (!result) return;
        const ValueId back = b_.op(Op::Mul, {p, b_.op(Op::Sub, {b_.load(ds, at, 1), b_.load(delta, query, 1)})});
        b_.store(ds, at, back);
      });
      if (of_value) multiply_scores(scores_, other_value, first, value_sums);
      if (of_value && result) b_.barrier();
      if (result) multiply_scores(ds, other, first, sums);
    });
    const auto scaled = [&](ValueId, ValueId x) { return b_.op(Op::Mul, {x, number(scale())}); };
    if (result) write(sums, like(own, own, *result), scaled);
    if (of_value) write(value_sums, like(value_, value_, *of_value), [](ValueId, ValueId x) { return x; });
    c_.end_phase();
  }

  const AttentionTile tile_;
  int32_t own_ = kNone, other_ = kNone, p_ = kNone;  // shared: the block's rows, turned; a tile of the other side; p or ds, turned
  // The state of one phase:
  int32_t scores_ = kNone, left_ = kNone;    // of a thread: its scores, then p; what it multiplies
  ValueId own_row_ = kNone, place_ = kNone;  // of the thread in the block; the number of its columns
};

}  // namespace

bool threads_take(const Form::Attention& heads, const ir::GpuTarget& target) {
  return std::any_of(std::begin(kAttentionTiles), std::end(kAttentionTiles),
                     [&](const AttentionTile& tile) { return fits(tile, heads, false, target) && fits(tile, heads, true, target); });
}

void call_attention_of_threads(Context& c, const Call& call) { AttentionOfThreads(c, call).lower(); }

}  // namespace tenon::passes::gpu
