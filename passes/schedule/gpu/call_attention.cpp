// Attention on a GPU, whose scores are never stored: a block takes a tile of rows and passes over tiles of the other side in
// shared memory (Dao, Fu, Ermon, Rudra and Re, FlashAttention, 2022; Dao, FlashAttention-2, 2023). A softmax over tiles keeps
// of each row the greatest score so far and the sum of exp(score - greatest), and scales both, and the result so far, when a
// greater score comes (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).
//
//   phase attend   a block a tile of queries:
//                    for each tile of keys {
//                      s = scale q k^T + mask; m' = max(m, rows of s); p = exp(s - m')
//                      l = l exp(m - m') + sum p;  o = o exp(m - m') + p v;  m = m'
//                    }
//                    result = o / l;  lse = m + log(l)
//   phase keys     gradients of keys and values, a block a tile of keys:
//                    for each tile of queries { p = exp(s - lse); ds = p (v g^T - delta); dv += p g; dk += scale ds q }
//   phase queries  gradient of queries, a block a tile of queries:
//                    for each tile of keys { p = exp(s - lse); ds = p (g v^T - delta); dq += scale ds k }
//
// A thread has a few rows, and a few columns of the scores and of the sums. Both operands of a product lie in shared memory as
// [depth][rows or columns]; what the other side is needed for twice is staged twice, once turned and once as it lies. Every sum
// has one order, by the tile's shape: no operation is atomic, and two runs give the same bits. Causal: tiles with nothing in
// sight are skipped.
//
// Of the extents the code has only: which tile, and whether it divides rows and columns; the heads' elements in sixteens and
// whether four are a vector; where batches repeat; how a mask lies.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <tuple>

#include "ir/attention.h"
#include "passes/schedule/gpu/call.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes::gpu {
namespace {

constexpr int kRowGroups = 16, kColumnGroups = 8;  // of threads; a row's are neighbours in a warp
constexpr int kThreads = kRowGroups * kColumnGroups;
constexpr int64_t kBank = 4;  // elements between the rows of a turned tile, so that neighbouring k go to other banks

DType type_of_sums(DType dtype) { return ir::is_half(dtype) ? DType::F32 : dtype; }
int64_t round_up(int64_t x, int64_t to) { return ceil_div(x, to) * to; }

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
      : run(width > 2 * kColumnGroups ? kVector : width > kColumnGroups ? 2 : 1),
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

// A matrix [count, width] of each batch, and the size parameters that hold these two, the width as a multiple of four, and the
// distance from row to row.
struct Matrix {
  int32_t buffer = -1;
  int64_t count = 0, width = 0;
  int32_t count_size = -1, width_size = -1, depth_size = -1, step_size = -1;
  bool vectors = false;  // four neighbours begin at a multiple of four, in each row
};

class AttentionCall {
 public:
  AttentionCall(Context& c, const Call& call) : c_(c), b_(c.builder), node_(call.node), places_(c.kernel.buffers.size()) {
    const auto& inputs = node_.inputs();
    gradient_ = ir::is_attention_gradient(node_.op());
    const size_t rank = node_.shape().size(), operands = gradient_ ? 6 : 3;
    const auto matrix = [&](size_t i) {
      const ir::Dims& shape = inputs[i]->shape();
      const OperandLayout& layout = call.layouts[i];
      const int64_t rows = shape[rank - 2], elements = shape[rank - 1];
      Matrix m{static_cast<int32_t>(i), rows, elements};
      m.count_size = c.nest.size_slot(rows);
      m.width_size = c.nest.size_slot(elements);
      m.depth_size = c.nest.size_slot(round_up(elements, kVector));
      m.step_size = c.nest.size_slot(layout.strides[rank - 2]);
      const auto in_fours = [](int64_t x) { return x % kVector == 0; };
      m.vectors = !c.kernel.buffer(m.buffer).unaligned && in_fours(elements) && in_fours(layout.offset) &&
                  std::all_of(layout.strides.begin(), layout.strides.end() - 1, in_fours);
      return m;
    };
    query_ = matrix(0);
    key_ = matrix(1);
    value_ = matrix(2);
    if (gradient_) grad_ = matrix(3);
    if (inputs.size() > operands) mask_ = matrix(operands);
    causal_ = node_.ints()[0] != 0;
    sums_ = type_of_sums(inputs[0]->dtype());
    heads_ = {inputs[0]->dtype(), query_.width, value_.width};
    layouts_.assign(call.layouts.begin(), call.layouts.end());
    const auto result = [&](const ir::Node& made) {
      results_.emplace_back(made.op(), static_cast<int32_t>(layouts_.size()));
      layouts_.push_back({0, ir::contiguous_strides(made.shape())});
    };
    result(node_);
    for (const ir::NodeRef& twin : call.twins) result(*twin);
    for (size_t d = 0; d + 2 < rank; ++d) {  // batches in row-major order, and where each begins in the buffers
      std::vector<int64_t> steps;
      for (const OperandLayout& layout : layouts_) steps.push_back(layout.strides[d]);
      places_.dim(node_.shape()[d], std::move(steps));
    }
    tile_ = choose(heads_, gradient_, places_.count(), gradient_ ? std::max(query_.count, key_.count) : query_.count, c.target);
    const SharedElements elements = shared_elements(tile_, query_.width, value_.width, gradient_);
    own_ = buffer("own", Space::Shared, elements.own);
    other_ = buffer("other", Space::Shared, elements.other);
    p_ = buffer("p", Space::Shared, elements.p);
  }

  void lower() {
    c_.out.tree.threads = kThreads;
    if (!gradient_) return attend();
    if (result_of(Op::AttentionGradKey) || result_of(Op::AttentionGradValue)) differentiate(false);
    if (result_of(Op::AttentionGradQuery)) differentiate(true);
  }

 private:
  // --- what there is

  std::optional<int32_t> result_of(Op op) const {
    for (const auto& [made, buffer] : results_) {
      if (made == op) return buffer;
    }
    return std::nullopt;
  }

  // --- a block

  // Starts a phase: a block takes a tile of `own`.
  void begin(const std::string& name, const Matrix& own) {
    scores_ = local("s", scores());
    left_ = local("left", tile_.of_rows);
    const int64_t tiles = ceil_div(own.count, tile_.rows());
    const ValueId block = c_.begin_phase(name, places_.count() * tiles);
    const auto [batch, tile] = c_.divide(block, c_.nest.size(tiles));
    bases_ = places_.places(c_, batch);
    for (size_t i = 0; i < bases_.size(); ++i) {
      if (layouts_[i].offset != 0) bases_[i] = c_.add(bases_[i], c_.nest.size(layouts_[i].offset));
    }
    first_row_ = c_.mul(tile, c_.literal(tile_.rows()));
    const auto [group, place] = c_.divide(c_.thread(), c_.literal(kColumnGroups));
    place_ = place;
    lane_ = c_.divide(c_.thread(), c_.literal(c_.target.warp)).second;
    own_row_ = c_.mul(group, c_.literal(tile_.of_rows));
  }

  int scores() const { return tile_.of_rows * tile_.of_columns; }
  int32_t buffer(const std::string& name, Space space, int64_t count) { return buffer(name, space, count, sums_); }
  int32_t buffer(const std::string& name, Space space, int64_t count, DType dtype) {
    return b_.add_buffer({name + std::to_string(b_.tree().buffers.size()), dtype, space, -1, count});
  }
  int32_t local(const std::string& name, int64_t count) { return buffer(name, Space::Local, count); }
  ValueId number(double value) { return b_.constant(ir::constant(sums_, value)); }
  ValueId infinity() { return number(-std::numeric_limits<double>::infinity()); }
  ValueId wide(ValueId x) { return b_.type(x).dtype == sums_ ? x : b_.op(Op::Cast, {x}, sums_); }
  ValueId both(ValueId a, ValueId b) { return a < 0 ? b : b < 0 ? a : b_.op(Op::And, {a, b}); }
  ValueId count(const Matrix& m) { return b_.size(m.count_size); }
  ValueId width(const Matrix& m) { return b_.size(m.width_size); }
  ValueId depth(const Matrix& m) { return b_.size(m.depth_size); }
  ValueId step(const Matrix& m) { return b_.size(m.step_size); }
  // Whether there is such a row, where tiles have `rows`; -1 if that is certain.
  ValueId below(ValueId row, const Matrix& m, int rows) { return m.count % rows == 0 ? -1 : c_.less(row, count(m)); }

  template <typename Body>
  void each(int64_t count, const Body& body) {
    c_.loop(c_.literal(0), c_.literal(count), 1, body, true);
  }
  // body(i, j): row and column of the scores that a thread has, and their place.
  template <typename Body>
  void each_score(const Body& body) {
    each(tile_.of_rows, [&](ValueId i) {
      each(tile_.of_columns, [&](ValueId j) { body(i, j, c_.add(c_.mul(i, c_.literal(tile_.of_columns)), j)); });
    });
  }
  void fill(int32_t buffer, int64_t count, double value) {
    each(count, [&](ValueId i) { b_.store(buffer, i, number(value)); });
  }
  void accumulate(int32_t buffer, ValueId at, ValueId x, ValueId y) {
    b_.store(buffer, at, b_.op(Op::Fma, {x, y, b_.load(buffer, at, 1)}));
  }

  ValueId row(ValueId i) { return c_.add(c_.add(first_row_, own_row_), i); }
  ValueId column(ValueId first_column, ValueId j) {
    return c_.add(c_.add(first_column, c_.mul(place_, c_.literal(tile_.of_columns))), j);
  }

  // The sum or the maximum over the threads of a row, in each of them.
  ValueId over_row(Op op, ValueId x) {
    for (int64_t distance = kColumnGroups / 2; distance > 0; distance /= 2) {
      const ValueId other = b_.op(Op::Xor, {lane_, c_.literal(distance)});
      x = b_.op(op, {x, b_.let(Op::Shuffle, {x, other}, b_.type(x))});
    }
    return x;
  }

  // --- staging: `rows` rows of a matrix from `first` on; what it has not is 0

  ValueId place_of(const Matrix& m, ValueId row, ValueId element) {
    return c_.add(c_.add(bases_[static_cast<size_t>(m.buffer)], c_.mul(row, step(m))), element);
  }

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

  ValueId inside(const Matrix& m, ValueId row, int rows, ValueId element, int64_t elements) {
    return both(below(row, m, rows), m.width == elements ? -1 : c_.less(element, width(m)));
  }

  // [element][row]: 8 neighbouring rows and 4 vectors of each, or 32 neighbouring elements, are a warp's.
  void stage_turned(const Matrix& m, ValueId first, int rows, int32_t to, int64_t offset = 0) {
    constexpr int kNear = 8;
    const bool vectors = m.vectors;
    const int lanes = vectors ? kVector : 1;
    const auto words = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(ceil_div(m.width, lanes))));
    const int across = vectors ? std::clamp(words, kThreads / rows, kThreads / kNear) : 32, at_once = kThreads / across;
    ValueId word = -1, down = -1;
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
    const bool vectors = m.vectors;
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
  void multiply(ValueId depth, int32_t left, int64_t offset, int32_t right, int64_t right_pitch, const Columns& columns,
                int32_t sums) {
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
      const ValueId loaded = b_.load(from, ahead == 0 ? first : c_.add(first, c_.literal(ahead)), lanes);
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

  // What `values` has of each score, times the rows of `other` from `first` on, is added to `sums`.
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
    ValueId s = b_.op(Op::Mul, {product, number(ir::attention_scale(node_.ints()))}), seen = exists;
    if (causal_) seen = both(seen, b_.op(Op::Le, {key, query}));
    if (mask_.buffer >= 0) {
      ValueId place = bases_[static_cast<size_t>(mask_.buffer)];
      if (mask_.count > 1) place = c_.add(place, c_.mul(query, step(mask_)));
      if (mask_.width > 1) place = c_.add(place, key);
      const ValueId there = both(c_.less(query, count(query_)), c_.less(key, count(key_)));
      const ValueId element = b_.load(mask_.buffer, place, 1, there);
      if (b_.type(element).dtype == DType::Bool) seen = both(seen, element);
      else s = b_.op(Op::Add, {s, wide(element)});
    }
    return seen < 0 ? s : b_.op(Op::Where, {seen, s, infinity()});
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
            c_.nest.when(to.width == columns.padded ? -1 : c_.less(first, width(to)), [&] {
              b_.store(to.buffer, place_of(to, row(i), first), b_.load(four, c_.literal(0), kVector));
            });
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

  // A result with so many rows and columns.
  static Matrix like(Matrix rows, const Matrix& columns, int32_t buffer) {
    rows.buffer = buffer;
    rows.width = columns.width;
    rows.width_size = rows.step_size = columns.width_size;
    return rows;
  }

  // The tiles of the other side that these rows see.
  template <typename Body>
  void each_tile(const Matrix& other, bool over_keys, const Body& body) {
    ValueId begin = c_.literal(0), end = count(other);
    const ValueId columns = c_.literal(tile_.columns());
    if (causal_ && over_keys) end = c_.minimum(end, c_.add(first_row_, c_.literal(tile_.rows())));
    if (causal_ && !over_keys) begin = c_.mul(b_.quotient(first_row_, columns), columns);
    c_.loop(begin, end, tile_.columns(), body);
  }

  // --- phase attend

  void attend() {
    const std::optional<int32_t> result = result_of(Op::Attention), lse = result_of(Op::AttentionLse);
    begin("attend", query_);
    const int32_t most = local("most", tile_.of_rows), sum = local("sum", tile_.of_rows);
    const int64_t results = int64_t{tile_.of_rows} * Columns(value_.width).of_thread();
    const int32_t mixed = result ? local("mixed", results) : -1;
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
      write(mixed, like(query_, value_, *result), [&](ValueId i, ValueId x) { return b_.op(Op::Div, {x, b_.load(sum, i, 1)}); });
    }
    if (lse) {
      each(tile_.of_rows, [&](ValueId i) {
        const ValueId first_thread = b_.op(Op::Eq, {place_, c_.literal(0)});
        c_.nest.when(both(first_thread, below(row(i), query_, tile_.rows())), [&] {
          const ValueId of_row = b_.op(Op::Add, {b_.load(most, i, 1), elementary(c_, Op::Log, b_.load(sum, i, 1))});
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
      const ValueId factor = elementary(c_, Op::Exp, b_.op(Op::Sub, {before, subtracted}));
      const ValueId total = b_.var(number(0));
      each(tile_.of_columns, [&](ValueId j) {
        const ValueId at = c_.add(line, j), p = elementary(c_, Op::Exp, b_.op(Op::Sub, {b_.load(scores_, at, 1), subtracted}));
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

  // `queries`: whose tiles the blocks take.
  void differentiate(bool queries) {
    const Matrix &own = queries ? query_ : key_, &own_value = queries ? grad_ : value_;
    const Matrix &other = queries ? key_ : query_, &other_value = queries ? value_ : grad_;
    const std::optional<int32_t> result = result_of(queries ? Op::AttentionGradQuery : Op::AttentionGradKey);
    const std::optional<int32_t> of_value = queries ? std::nullopt : result_of(Op::AttentionGradValue);
    begin(queries ? "queries" : "keys", own);
    const int32_t ds = local("ds", scores());
    const int64_t value_offset = turned_elements(own.width, tile_.rows());
    const auto sums_of = [&](const char* what, bool wanted, const Matrix& m) {
      const int64_t count = int64_t{tile_.of_rows} * Columns(m.width).of_thread();
      const int32_t sums = wanted ? local(what, count) : -1;
      if (wanted) fill(sums, count, 0);
      return sums;
    };
    const int32_t sums = sums_of("sums", result.has_value(), own), value_sums = sums_of("values", of_value.has_value(), own_value);
    // Of each query: those of the rows stay, those of the columns come with each tile.
    const int of_queries = queries ? tile_.of_rows : tile_.of_columns;
    const int32_t lse = local("lse", of_queries), delta = local("delta", of_queries);
    const auto load_sums = [&](const auto& query_of) {
      each(of_queries, [&](ValueId i) {
        const ValueId query = query_of(i), exists = c_.less(query, count(query_));
        b_.store(lse, i, b_.load(kLse, c_.add(bases_[kLse], query), 1, exists));
        if (result) b_.store(delta, i, b_.load(kDelta, c_.add(bases_[kDelta], query), 1, exists));
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
        const ValueId s = score(b_.load(scores_, at, 1), queries ? r : c, queries ? c : r, -1);
        ValueId p = elementary(c_, Op::Exp, b_.op(Op::Sub, {s, b_.load(lse, query, 1)}));
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
    const auto scaled = [&](ValueId, ValueId x) { return b_.op(Op::Mul, {x, number(ir::attention_scale(node_.ints()))}); };
    if (result) write(sums, like(own, own, *result), scaled);
    if (of_value) write(value_sums, like(value_, value_, *of_value), [](ValueId, ValueId x) { return x; });
    c_.end_phase();
  }

  static constexpr int32_t kLse = 4, kDelta = 5;

  Context& c_;
  ir::TreeBuilder& b_;
  const ir::Node& node_;
  Points places_;
  std::vector<OperandLayout> layouts_;  // by buffer
  std::vector<std::pair<Op, int32_t>> results_;  // and their buffers
  Matrix query_, key_, value_, grad_, mask_;
  bool gradient_ = false, causal_ = false;
  DType sums_ = DType::F32;
  Form::Attention heads_;
  // Of a phase:
  AttentionTile tile_{1, 1};
  int32_t own_ = -1, other_ = -1, p_ = -1;    // shared: the block's rows, turned; a tile of the other side; p or ds, turned
  int32_t scores_ = -1, left_ = -1;           // of a thread: its scores, then p; what it multiplies
  std::vector<ValueId> bases_;                // the batch in each buffer
  ValueId first_row_ = -1, own_row_ = -1;     // of the block; of the thread in it
  ValueId place_ = -1, lane_ = -1;            // of the thread: the number of its columns; in its warp
};

}  // namespace

bool takes_heads(const Form::Attention& heads, const ir::GpuTarget& target) {
  constexpr int64_t kWidest = 128;  // the tiles of larger ones are so small that little is computed of what is read
  if (std::max(heads.depth, heads.value_depth) > kWidest) return false;
  return std::any_of(std::begin(kAttentionTiles), std::end(kAttentionTiles), [&](const AttentionTile& tile) {
    return fits(tile, heads, false, target) && fits(tile, heads, true, target);
  });
}

void call_attention(Context& c, const Call& call) { AttentionCall(c, call).lower(); }

}  // namespace tenon::passes::gpu
