// Attention: the scores are never stored as a whole. A block takes kQueries queries, along which the vectors lie, and passes over
// tiles of keys, whose scores stay in the first cache. It keeps the greatest score so far of each query and the sum of
// exp(score - greatest), and scales both, and the result so far, when a greater score comes (Milakov and Gimelshein, Online
// normalizer calculation for softmax, 2018; Dao, FlashAttention-2, 2023).
//
//   phase attend   parallel (batch, block of queries)
//     turn q -> own[depth][queries]
//     for each tile of keys {
//       scores[keys][queries] = k own;  scale, mask;  m' = max(m, columns of scores)
//       p = exp(scores - m');  l = l exp(m - m') + sum p;  o = o exp(m - m') + p^T v;  m = m'
//     }
//     result = o / l;  lse = m + log(l)
//
// Products keep 8 rows of one vector in registers, or of two where there are registers for that: the other factor's elements are splat
// from memory, where rows of keys and values are read in place. So only the block's own queries are packed. Operands of 16 bits are
// widened tile by tile.
//
// The sum over the keys of a tile is a chain, and tiles are added one after the other: the order of terms is that of the tiles, whose
// extents are constants. Threads, vectors and the number of queries do not change it. Causal: a block ends with its last query's key,
// and in the tile where it ends kRows keys that none of kSpan queries sees are left out, of scores and of sums.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/attention.h"
#include "passes/schedule/call.h"
#include "passes/schedule/cpu/context.h"

namespace tenon::passes::cpu {

namespace {

constexpr int kQueries = 32, kKeys = 128;         // of a tile
constexpr int kQueriesBack = 64, kKeysBack = 64;  // of the gradient's
constexpr int kRows = 8;                          // that a product keeps in registers
constexpr int kSpan = 16;                         // queries that leave out the same keys: as many as the longest vector has
constexpr int kStep = 4;                          // keys of which a pass over scores takes the rows at a time

// A matrix [count, width] of each batch, and the size parameters that hold these two and the distance from row to row.
struct Matrix {
  int32_t buffer = kNone;
  int64_t count = 0, width = 0;
  int32_t count_size = kNone, width_size = kNone, step_size = kNone;
};

// Rows of a matrix as a product reads them, the first at `first`.
struct Rows {
  int32_t buffer = kNone;
  ValueId first = kNone, step = kNone;
};

class Attention {
 public:
  Attention(Context& c, const Call& call) : c_(c), b_(c.builder), node_(call.node()), buffers_(call) {
    const auto& inputs = node_.inputs();
    const size_t rank = node_.shape().size(), operands = ir::is_attention_gradient(node_) ? 6 : 3;
    sums_ = ir::is_half(inputs[0]->dtype()) ? DType::F32 : inputs[0]->dtype();
    lanes_ = c.target.vector_bits / (8 * ir::item_size(sums_));
    c.out.tree.lanes = lanes_;
    const auto matrix = [&](size_t i) {
      const ir::Dims& shape = inputs[i]->shape();
      Matrix m{static_cast<int32_t>(i), shape[rank - 2], shape[rank - 1]};
      m.count_size = c.nest.size_slot(m.count);
      m.width_size = c.nest.size_slot(m.width);
      m.step_size = c.nest.size_slot(call.operands[i].strides[rank - 2]);
      return m;
    };
    query_ = matrix(0);
    key_ = matrix(1);
    value_ = matrix(2);
    if (operands == 6) grad_ = matrix(3), result_ = matrix(5);
    if (inputs.size() > operands) mask_ = matrix(operands);
    causal_ = node_.ints()[0] != 0;
  }

  void lower() { ir::is_attention_gradient(node_) ? differentiate() : attend(); }

 private:
  // --- values

  ValueId count(const Matrix& m) { return b_.size(m.count_size); }
  ValueId width(const Matrix& m) { return b_.size(m.width_size); }
  ValueId step(const Matrix& m) { return b_.size(m.step_size); }
  // The step from row to row of a result.
  ValueId result_step(int32_t buffer) { return c_.nest.size(buffers_.row_step(buffer)); }
  ValueId base(int32_t buffer) const { return bases_[static_cast<size_t>(buffer)]; }
  int64_t padded(int64_t width) const { return ceil_div(width, lanes_) * lanes_; }
  ValueId number(double value) { return b_.constant(ir::constant(sums_, value), lanes_); }
  ValueId infinity() { return number(-std::numeric_limits<double>::infinity()); }  // less than all
  ValueId vector(int32_t buffer, ValueId place) { return b_.load(buffer, place, lanes_); }
  ValueId splat(ValueId x) { return b_.splat(x, lanes_); }
  ValueId wide(ValueId x) { return b_.type(x).dtype == sums_ ? x : b_.op(Op::Cast, {x}, sums_); }
  // Positions from `first` on, one a lane.
  ValueId positions(ValueId first) {
    const ValueId from = b_.op(Op::Cast, {first}, DType::I32), one = b_.constant(ir::constant(DType::I32, int64_t{1}));
    return b_.let(Op::Ramp, {from, one}, {DType::I32, static_cast<int16_t>(lanes_)});
  }
  ValueId position(ValueId x) { return splat(b_.op(Op::Cast, {x}, DType::I32)); }
  // Lanes at `first` and behind it that lie before `end`.
  ValueId tail(ValueId first, ValueId end) {
    const ValueId left = c_.minimum(c_.sub(end, first), c_.literal(lanes_));
    return b_.op(Op::Lt, {positions(c_.literal(0)), position(left)});
  }
  ValueId tail_of_row(const Matrix& m, ValueId element) { return m.width % lanes_ == 0 ? kAlways : tail(element, width(m)); }

  int32_t local(const std::string& name, int64_t count) { return c_.buffer(name, sums_, Space::Local, count); }
  void fill(int32_t buffer, ValueId count, double value) {
    c_.loop(c_.literal(0), count, lanes_, [&](ValueId at) { b_.store(buffer, at, number(value)); });
  }

  // --- operands

  // Rows of m from `first` on, `rows` of them, and of these the elements begin..end, which may fill their vectors:
  // to[element - begin][row], in vectors, where `pitch` rows have room.
  void stage_turned(const Matrix& m, ValueId first, ValueId rows, ValueId begin, ValueId end, bool fills, int pitch, int32_t to) {
    const ValueId last = c_.sub(count(m), c_.literal(1));
    c_.loop(c_.literal(0), rows, lanes_, [&](ValueId row) {
      std::vector<ValueId> places;
      for (int i = 0; i < lanes_; ++i) {
        const ValueId at = c_.minimum(c_.offset(c_.add(first, row), i), last);
        places.push_back(c_.add(base(m.buffer), c_.mul(at, step(m))));
      }
      c_.loop(begin, end, lanes_, [&](ValueId element) {
        const ValueId mask = fills ? kAlways : tail(element, end);
        std::vector<ValueId> vectors;
        for (const ValueId place : places) vectors.push_back(wide(b_.load(m.buffer, c_.add(place, element), lanes_, mask)));
        turn(b_, vectors);
        const ValueId at = c_.add(c_.mul(c_.sub(element, begin), c_.literal(pitch)), row);
        for (int i = 0; i < lanes_; ++i) b_.store(to, c_.offset(at, int64_t{i} * pitch), vectors[static_cast<size_t>(i)]);
      });
    });
  }
  void stage_turned(const Matrix& m, ValueId first, ValueId rows, int pitch, int32_t to) {
    stage_turned(m, first, rows, c_.literal(0), width(m), m.width % lanes_ == 0, pitch, to);
  }

  // The operand of a gradient with one element a query.
  ValueId lse_of(ValueId first_query) {
    constexpr int32_t kLse = 4;
    return b_.load(kLse, c_.add(base(kLse), first_query), lanes_, tail(first_query, count(query_)));
  }

  // Rows of m from `first` on, `rows` of them: in place, or widened in `to`.
  Rows rows_of(const Matrix& m, ValueId first, ValueId rows, int32_t to) {
    const Rows there{m.buffer, c_.add(base(m.buffer), c_.mul(first, step(m))), step(m)};
    if (to < 0) return there;
    const ValueId pitch = c_.nest.size(padded(m.width));
    c_.loop(c_.literal(0), rows, 1, [&](ValueId row) {
      const ValueId from = c_.add(there.first, c_.mul(row, there.step)), place = c_.mul(row, pitch);
      c_.loop(c_.literal(0), width(m), lanes_, [&](ValueId element) {
        b_.store(to, c_.add(place, element), wide(b_.load(m.buffer, c_.add(from, element), lanes_, tail_of_row(m, element))));
      });
    });
    return {to, c_.literal(0), pitch};
  }
  int32_t widened(const std::string& name, const Matrix& m, int64_t rows) {
    return c_.kernel.buffer(m.buffer).dtype == sums_ ? kNone : local(name, rows * padded(m.width));
  }

  // --- tiles

  // Of queries and keys, the first ones as numbers of all.
  struct Tile {
    ValueId first_query, queries, first_key, keys;
  };
  // The first query of the tile, a multiple of `step`, from which on all that see key `row` of it or one of the kRows - 1 behind it stand.
  ValueId first_that_sees(const Tile& tile, ValueId row, int step) {
    if (!causal_) return c_.literal(0);
    const ValueId apart = c_.sub(c_.add(tile.first_key, row), tile.first_query);
    return b_.op(Op::And, {b_.op(Op::Max, {apart, c_.literal(0)}), c_.literal(-step)});
  }
  // How many keys of the tile the queries of a span see, of which `query` is one.
  ValueId seen_keys(const Tile& tile, ValueId query) {
    if (!causal_) return tile.keys;
    const ValueId span = b_.op(Op::And, {query, c_.literal(-kSpan)}), end = c_.offset(c_.add(tile.first_query, span), kSpan);
    return c_.minimum(tile.keys, b_.op(Op::Max, {c_.sub(end, tile.first_key), c_.literal(0)}));
  }

  // --- products

  // Sums in registers: kRows rows of so many vectors.
  using Registers = std::vector<std::vector<ValueId>>;
  Registers zeros(int vectors) {
    Registers registers(kRows);
    for (std::vector<ValueId>& row : registers) {
      for (int q = 0; q < vectors; ++q) row.push_back(b_.var(number(0)));
    }
    return registers;
  }
  // Adds the products of an element of each row, y(row), and these vectors.
  template <typename Element>
  void multiply(const Registers& sums, const std::vector<ValueId>& x, const Element& y) {
    for (int r = 0; r < kRows; ++r) {
      const ValueId element = splat(y(r));
      for (size_t q = 0; q < x.size(); ++q) {
        const ValueId sum = sums[static_cast<size_t>(r)][q];
        b_.set(sum, b_.op(Op::Fma, {element, x[q], b_.get(sum)}));
      }
    }
  }
  bool takes_pairs() const { return c_.target.vector_registers() >= 32; }
  // That a product takes of a row of m at once: pairs if there is no odd one.
  int vectors_of_row(const Matrix& m) const { return takes_pairs() && ceil_div(m.width, lanes_) % 2 == 0 ? 2 : 1; }
  // And of the queries of a tile, which has room for pairs: behind the last query of all there are copies of it.
  int vectors_of_queries() const { return takes_pairs() ? 2 : 1; }
  ValueId filled_queries(ValueId queries) {
    const int64_t step = int64_t{vectors_of_queries()} * lanes_;
    return b_.op(Op::And, {c_.offset(queries, step - 1), c_.literal(-step)});
  }
  std::vector<ValueId> vectors(int32_t buffer, ValueId place, int count) {
    std::vector<ValueId> result;
    for (int q = 0; q < count; ++q) result.push_back(vector(buffer, c_.offset(place, int64_t{q} * lanes_)));
    return result;
  }

  // to[row][query] = the sum over `depth` of rows[row][k] * own[k][query], of the queries that see the row.
  void multiply_rows(const Rows& rows, const Tile& tile, ValueId depth, int32_t own, int pitch, int32_t to) {
    const ValueId last = c_.sub(tile.keys, c_.literal(1));
    const int of_query = vectors_of_queries(), step = of_query * lanes_;
    c_.loop(c_.literal(0), tile.keys, kRows, [&](ValueId row) {
      std::vector<ValueId> places;
      for (int r = 0; r < kRows; ++r) places.push_back(c_.add(rows.first, c_.mul(c_.minimum(c_.offset(row, r), last), rows.step)));
      c_.loop(first_that_sees(tile, row, std::max(step, kSpan)), tile.queries, step, [&](ValueId query) {
        const Registers sums = zeros(of_query);
        c_.loop(c_.literal(0), depth, 1, [&](ValueId k) {
          const std::vector<ValueId> x = vectors(own, c_.add(c_.mul(k, c_.literal(pitch)), query), of_query);
          multiply(sums, x, [&](int r) { return b_.load(rows.buffer, c_.add(places[static_cast<size_t>(r)], k), 1); });
        });
        for (int r = 0; r < kRows; ++r) {
          const ValueId at = c_.add(c_.mul(c_.offset(row, r), c_.literal(pitch)), query);
          for (int q = 0; q < of_query; ++q)
            b_.store(to, c_.offset(at, int64_t{q} * lanes_), b_.get(sums[static_cast<size_t>(r)][static_cast<size_t>(q)]));
        }
      });
    });
  }

  // finish(row, element, sum) of the sums over the k in range(row) of factors[k * k_step + row * row_step] * rows[k][element ...].
  template <typename Range, typename Finish>
  void mix_rows(int32_t factors, int row_step, ValueId count, int k_step, const Range& range, const Rows& rows, const Matrix& m,
                const Finish& finish) {
    const int of_row = vectors_of_row(m);
    c_.loop(c_.literal(0), count, kRows, [&](ValueId row) {
      const ValueId of_rows = c_.mul(row, c_.literal(row_step));
      const auto [first_k, end_k] = range(row);
      c_.loop(c_.literal(0), width(m), int64_t{of_row} * lanes_, [&](ValueId element) {
        const ValueId last = c_.offset(element, int64_t{of_row - 1} * lanes_), first = c_.add(rows.first, element);
        const ValueId mask = rows.buffer == m.buffer ? tail_of_row(m, last) : kAlways;
        const Registers sums = zeros(of_row);
        c_.loop(first_k, end_k, 1, [&](ValueId k) {
          const ValueId place = c_.add(first, c_.mul(k, rows.step)), at = c_.add(of_rows, c_.mul(k, c_.literal(k_step)));
          std::vector<ValueId> x;
          for (int q = 0; q < of_row; ++q)
            x.push_back(b_.load(rows.buffer, c_.offset(place, int64_t{q} * lanes_), lanes_, q + 1 == of_row ? mask : kAlways));
          multiply(sums, x, [&](int r) { return b_.load(factors, c_.offset(at, int64_t{r} * row_step), 1); });
        });
        for (int r = 0; r < kRows; ++r) {
          for (int q = 0; q < of_row; ++q)
            finish(c_.offset(row, r), c_.offset(element, int64_t{q} * lanes_),
                   b_.get(sums[static_cast<size_t>(r)][static_cast<size_t>(q)]));
        }
      });
    });
  }

  // --- scores

  // What a vector of queries and some rows of keys have in common: where the queries are and, if a causal mask asks, what their numbers
  // are; the tile's first key and the end of its keys.
  struct Block {
    ValueId first_query, query_positions, first_key, end;
  };
  Block block(ValueId first_query, ValueId key, ValueId keys) {
    const ValueId end = c_.add(key, keys);
    if (turned_mask_ >= 0) stage_turned(mask_, first_query, c_.literal(lanes_), key, end, false, lanes_, turned_mask_);
    return {first_query, causal_ ? positions(first_query) : kNone, key, end};
  }
  // A mask of queries and keys is turned for each block, since its elements for a vector of queries lie far apart.
  void make_room_for_mask(int keys) {
    if (mask_.buffer >= 0 && mask_.count > 1 && mask_.width > 1) turned_mask_ = local("mask", int64_t{keys} * lanes_);
  }

  // scale * product + mask of a vector of queries and row `row` of the tile's keys; minus infinity where they do not see it. The first
  // of some rows `exists`: there is such a key.
  ValueId score(ValueId product, const Block& in, ValueId row, bool exists) {
    const ValueId key = c_.add(in.first_key, row);
    ValueId s = b_.op(Op::Mul, {product, number(ir::attention_scale(node_.ints()))});
    ValueId seen = exists ? kAlways : b_.op(Op::Lt, {position(key), position(in.end)});
    if (causal_) seen = c_.nest.both(seen, b_.op(Op::Le, {position(key), in.query_positions}));
    if (mask_.buffer >= 0) {
      const ValueId element = mask_element(in, row, exists ? key : c_.minimum(key, c_.sub(in.end, c_.literal(1))));
      if (b_.tree().buffers[static_cast<size_t>(mask_.buffer)].dtype == DType::Bool) seen = c_.nest.both(seen, element);
      else s = b_.op(Op::Add, {s, element});
    }
    return seen < 0 ? s : b_.op(Op::Where, {seen, s, infinity()});
  }
  // A bool, or a number of the sums' type.
  ValueId mask_element(const Block& in, ValueId row, ValueId key) {
    const bool is_bool = b_.tree().buffers[static_cast<size_t>(mask_.buffer)].dtype == DType::Bool;
    const auto as_added = [&](ValueId x) { return is_bool ? x : wide(x); };
    if (turned_mask_ >= 0) {
      const ValueId x = vector(turned_mask_, c_.mul(row, c_.literal(lanes_)));
      return is_bool ? b_.op(Op::Ne, {x, number(0)}) : x;
    }
    const ValueId place = mask_.width > 1 ? c_.add(base(mask_.buffer), key) : base(mask_.buffer);
    if (mask_.count == 1) return as_added(splat(b_.load(mask_.buffer, place, 1)));
    const ValueId first = c_.add(place, c_.mul(in.first_query, step(mask_)));
    return as_added(b_.load_strided(mask_.buffer, first, step(mask_), lanes_, tail(in.first_query, count(query_))));
  }

  // body(i, row, place) for the scores of a vector of queries, kStep rows at once, of which row i is one.
  template <typename Body>
  void each_score(ValueId keys, int pitch, ValueId query, const Body& body) {
    c_.loop(c_.literal(0), keys, kStep, [&](ValueId row) {
      const ValueId at = c_.add(c_.mul(row, c_.literal(pitch)), query);
      for (int i = 0; i < kStep; ++i) body(static_cast<size_t>(i), c_.offset(row, i), c_.offset(at, int64_t{i} * pitch));
    });
  }

  // --- phase attend

  // Starts a phase of so many parts of each batch; gives the batch and the part.
  std::pair<ValueId, ValueId> begin(const std::string& name, int64_t parts, double ns) {
    const ValueId block = c_.begin_phase(name, buffers_.batches() * parts, ns);
    const auto [batch, part] = c_.divide(block, c_.nest.size(parts));
    bases_ = buffers_.begins(c_, batch);
    return {batch, part};
  }

  void attend() {
    const std::optional<int32_t> result = buffers_.result_of(ir::AttentionResult::Output),
                                 lse = buffers_.result_of(ir::AttentionResult::Lse);
    const int64_t of_score = query_.width + (result ? value_.width : 0) + 32;
    const double ns = static_cast<double>(kQueries * key_.count * of_score) / (4.0 * lanes_) + 100;
    const ValueId block = begin("attend", ceil_div(query_.count, kQueries), ns).second, first = c_.mul(block, c_.literal(kQueries));
    const int64_t pitch = padded(value_.width);
    const int32_t own = local("own", padded(query_.width) * kQueries), scores = local("scores", kKeys * kQueries);
    const int32_t most = local("most", kQueries), sum = local("sum", kQueries), factor = local("factor", kQueries);
    const int32_t mixed = result ? local("mixed", kQueries * pitch) : kNone;
    make_room_for_mask(kKeys);
    const int32_t keys_wide = widened("keys", key_, kKeys), values_wide = result ? widened("values", value_, kKeys) : kNone;
    const ValueId queries = c_.minimum(c_.literal(kQueries), c_.sub(count(query_), first)),
                  row_pitch = result ? c_.nest.size(pitch) : kNone;
    fill(most, queries, -std::numeric_limits<double>::infinity());
    fill(sum, queries, 0);
    if (result) fill(mixed, c_.mul(queries, row_pitch), 0);
    stage_turned(query_, first, filled_queries(queries), kQueries, own);
    const ValueId end = causal_ ? c_.minimum(count(key_), c_.add(first, c_.literal(kQueries))) : count(key_);
    c_.loop(c_.literal(0), end, kKeys, [&](ValueId key) {
      const Tile tile{first, queries, key, c_.minimum(c_.literal(kKeys), c_.sub(end, key))};
      multiply_rows(rows_of(key_, key, tile.keys, keys_wide), tile, width(query_), own, kQueries, scores);
      c_.loop(c_.literal(0), queries, lanes_, [&](ValueId query) { normalise(scores, tile, query, most, sum, factor); });
      if (!result) return;
      const auto seen = [&](ValueId row) { return std::pair(c_.literal(0), seen_keys(tile, row)); };
      mix_rows(scores, 1, queries, kQueries, seen, rows_of(value_, key, tile.keys, values_wide), value_,
               [&](ValueId row, ValueId element, ValueId x) {
                 const ValueId at = c_.add(c_.mul(row, row_pitch), element);
                 b_.store(mixed, at, b_.op(Op::Fma, {vector(mixed, at), splat(b_.load(factor, row, 1)), x}));
               });
    });
    if (result) write(*result, mixed, row_pitch, first, queries, sum);
    if (lse) {
      c_.loop(c_.literal(0), queries, lanes_, [&](ValueId query) {
        const ValueId of_rows = lse_of_row(c_, vector(most, query), vector(sum, query));
        b_.store(*lse, c_.add(c_.add(base(*lse), first), query), of_rows, tail(query, queries));
      });
    }
    c_.end_phase();
  }

  // Scores of a vector of queries become p. As long as a query has seen nothing its maximum is minus infinity, and 0 is subtracted in
  // its place: its p are 0.
  void normalise(int32_t scores, const Tile& tile, ValueId query, int32_t most, int32_t sum, int32_t factor) {
    const Block in = block(c_.add(tile.first_query, query), tile.first_key, tile.keys);
    const ValueId keys = seen_keys(tile, query);
    const ValueId before = vector(most, query);
    std::vector<ValueId> greatest, sums;
    for (int i = 0; i < kStep; ++i) greatest.push_back(b_.var(infinity()));
    for (int i = 0; i < kStep; ++i) sums.push_back(b_.var(number(0)));
    const auto combine = [&](Op op, std::vector<ValueId>& parts) {
      const auto pair = [&](ValueId x, ValueId y) { return b_.op(op, {x, y}); };
      return pair(pair(b_.get(parts[0]), b_.get(parts[1])), pair(b_.get(parts[2]), b_.get(parts[3])));
    };
    each_score(keys, kQueries, query, [&](size_t i, ValueId row, ValueId at) {
      const ValueId s = score(vector(scores, at), in, row, i == 0);
      b_.store(scores, at, s);
      b_.set(greatest[i], b_.op(Op::Max, {b_.get(greatest[i]), s}));
    });
    const ValueId now = b_.op(Op::Max, {before, combine(Op::Max, greatest)});
    const ValueId subtracted = b_.op(Op::Where, {b_.op(Op::Eq, {now, infinity()}), number(0), now});
    each_score(keys, kQueries, query, [&](size_t i, ValueId, ValueId at) {
      const ValueId p = attention_weight(c_, b_.op(Op::Sub, {vector(scores, at), subtracted}));
      b_.store(scores, at, p);
      b_.set(sums[i], b_.op(Op::Add, {b_.get(sums[i]), p}));
    });
    const ValueId shrinks = attention_weight(c_, b_.op(Op::Sub, {before, subtracted}));
    b_.store(most, query, now);
    b_.store(factor, query, shrinks);
    b_.store(sum, query, b_.op(Op::Fma, {vector(sum, query), shrinks, combine(Op::Add, sums)}));
  }

  void write(int32_t to, int32_t mixed, ValueId pitch, ValueId first, ValueId queries, int32_t sum) {
    const DType dtype = c_.kernel.buffer(to).dtype;
    const ValueId step = result_step(to);
    c_.loop(c_.literal(0), queries, 1, [&](ValueId row) {
      const ValueId place = c_.add(base(to), c_.mul(c_.add(first, row), step)), of_row = divisor_of_row(c_, splat(b_.load(sum, row, 1)));
      c_.loop(c_.literal(0), width(value_), lanes_, [&](ValueId element) {
        const ValueId x = b_.op(Op::Div, {vector(mixed, c_.add(c_.mul(row, pitch), element)), of_row});
        b_.store(to, c_.add(place, element), dtype == sums_ ? x : b_.op(Op::Cast, {x}, dtype), tail_of_row(value_, element));
      });
    });
  }

  // --- phase back

  // Where sums over all queries are added up: rows of keys, from the first of the iteration's chunk on.
  struct Totals {
    int32_t buffer = kNone;
    ValueId first = kNone, pitch = kNone;
    int32_t result = kNone;  // the buffer that they go to in the end
    const Matrix* like = nullptr;
    bool in_place() const { return buffer == result; }
  };

  void differentiate() {
    const std::optional<int32_t> of_query = buffers_.gradient_of(ir::AttentionGradient::Query),
                                 of_key = buffers_.gradient_of(ir::AttentionGradient::Key),
                                 of_value = buffers_.gradient_of(ir::AttentionGradient::Value);
    const bool scores_back = of_query || of_key;
    // Keys are shared out where batches are few. So the sums over them have parts, by the shapes alone.
    constexpr int64_t kParts = 8, kFewestKeys = 128;
    const int64_t wanted =
        std::min(ceil_div(kParts, std::max<int64_t>(buffers_.batches(), 1)), std::max<int64_t>(key_.count / kFewestKeys, 1));
    const int64_t chunk = ceil_div(ceil_div(key_.count, wanted), kKeysBack) * kKeysBack, chunks = ceil_div(key_.count, chunk);
    const int64_t of_score = 3 * query_.width + 2 * value_.width + 32;
    const double ns = static_cast<double>(query_.count * std::min(chunk, key_.count) * of_score) / (4.0 * lanes_) + 100;
    const ValueId part = begin("back", chunks, ns).second;
    const ValueId chunk_size = c_.nest.size(chunk), begin_keys = c_.mul(part, chunk_size);
    const ValueId end_keys = c_.minimum(count(key_), c_.add(begin_keys, chunk_size));
    const Totals of_keys = totals(of_key, key_, begin_keys, chunk), of_values = totals(of_value, value_, begin_keys, chunk);
    for (const Totals* t : {&of_keys, &of_values}) {
      if (t->buffer >= 0) zero(*t, c_.sub(end_keys, begin_keys));
    }
    const int32_t own = local("own", padded(query_.width) * kQueriesBack),
                  own_grad = scores_back ? local("grads", padded(value_.width) * kQueriesBack) : kNone;
    const int32_t results = scores_back ? local("results", padded(value_.width) * kQueriesBack) : kNone,
                  delta = scores_back ? local("delta", kQueriesBack) : kNone;
    const int32_t p = local("p", kKeysBack * kQueriesBack), ds = scores_back ? local("ds", kKeysBack * kQueriesBack) : kNone;
    const int64_t pitch = padded(query_.width);
    const int32_t mixed = of_query ? local("mixed", kQueriesBack * pitch) : kNone;
    const int32_t queries_wide = of_key ? widened("queries", query_, kQueriesBack) : kNone,
                  grads_wide = of_value ? widened("grads", grad_, kQueriesBack) : kNone;
    make_room_for_mask(kKeysBack);
    const int32_t keys_wide = widened("keys", key_, kKeysBack), values_wide = scores_back ? widened("values", value_, kKeysBack) : kNone;
    const bool in_parts = of_query && chunks > 1;
    const int32_t parts =
        in_parts ? c_.buffer("parts", sums_, Space::Global, chunks * buffers_.batches() * query_.count * query_.width) : kNone;
    const ValueId row_pitch = of_query ? c_.nest.size(pitch) : kNone;
    const ValueId query_step = of_query ? result_step(*of_query) : kNone;
    c_.loop(c_.literal(0), count(query_), kQueriesBack, [&](ValueId first) {
      const ValueId queries = c_.minimum(c_.literal(kQueriesBack), c_.sub(count(query_), first));
      stage_turned(query_, first, filled_queries(queries), kQueriesBack, own);
      if (scores_back) {
        stage_turned(grad_, first, filled_queries(queries), kQueriesBack, own_grad);
        stage_turned(result_, first, queries, kQueriesBack, results);
        sum_of_products(own_grad, results, queries, delta);
      }
      if (of_query) fill(mixed, c_.mul(queries, row_pitch), 0);
      const Rows of_own = of_key ? rows_of(query_, first, queries, queries_wide) : Rows(),
                 of_grad = of_value ? rows_of(grad_, first, queries, grads_wide) : Rows();
      const ValueId end = causal_ ? c_.minimum(end_keys, c_.add(first, c_.literal(kQueriesBack))) : end_keys;
      c_.loop(begin_keys, end, kKeysBack, [&](ValueId key) {
        const Tile tile{first, queries, key, c_.minimum(c_.literal(kKeysBack), c_.sub(end, key))};
        const Rows of_tile = rows_of(key_, key, tile.keys, keys_wide);
        multiply_rows(of_tile, tile, width(query_), own, kQueriesBack, p);
        if (scores_back) multiply_rows(rows_of(value_, key, tile.keys, values_wide), tile, width(value_), own_grad, kQueriesBack, ds);
        c_.loop(c_.literal(0), queries, lanes_, [&](ValueId query) { scores_to_gradient(p, ds, delta, tile, query); });
        const ValueId of_chunk = c_.sub(key, begin_keys);
        if (of_value) add_rows(p, tile, of_grad, grad_, of_values, of_chunk);
        if (of_key) add_rows(ds, tile, of_own, query_, of_keys, of_chunk);
        if (!of_query) return;
        const auto seen = [&](ValueId row) { return std::pair(c_.literal(0), seen_keys(tile, row)); };
        mix_rows(ds, 1, queries, kQueriesBack, seen, of_tile, key_, [&](ValueId row, ValueId element, ValueId x) {
          const ValueId at = c_.add(c_.mul(row, row_pitch), element);
          b_.store(mixed, at, b_.op(Op::Add, {vector(mixed, at), x}));
        });
      });
      if (!of_query) return;
      const int32_t to = in_parts ? parts : *of_query;
      const ValueId before = in_parts ? c_.mul(part, c_.nest.size(buffers_.batches() * query_.count * query_.width)) : kNone;
      const ValueId at = in_parts ? c_.add(before, base(*of_query)) : base(*of_query);
      write_rows(mixed, row_pitch, to, c_.add(at, c_.mul(first, query_step)), query_step, queries, query_);
    });
    for (const Totals* t : {&of_keys, &of_values}) {
      if (t->buffer < 0 || t->in_place()) continue;
      const ValueId step = result_step(t->result), place = c_.add(base(t->result), c_.mul(begin_keys, step));
      write_rows(t->buffer, t->pitch, t->result, place, step, c_.sub(end_keys, begin_keys), *t->like);
    }
    c_.end_phase();
    if (in_parts) add_parts(parts, *of_query, chunks);
  }

  Totals totals(std::optional<int32_t> result, const Matrix& m, ValueId first, int64_t rows) {
    if (!result) return {};
    if (c_.kernel.buffer(*result).dtype == sums_) {
      const ValueId step = result_step(*result);
      return {*result, c_.add(base(*result), c_.mul(first, step)), step, *result, &m};
    }
    return {local("totals", rows * padded(m.width)), c_.literal(0), c_.nest.size(padded(m.width)), *result, &m};
  }
  ValueId tail_of(const Totals& t, ValueId element) { return t.in_place() ? tail_of_row(*t.like, element) : kAlways; }
  void zero(const Totals& t, ValueId rows) {
    c_.loop(c_.literal(0), rows, 1, [&](ValueId row) {
      const ValueId place = c_.add(t.first, c_.mul(row, t.pitch));
      c_.loop(c_.literal(0), width(*t.like), lanes_,
              [&](ValueId element) { b_.store(t.buffer, c_.add(place, element), number(0), tail_of(t, element)); });
    });
  }
  // Rows of a tile of keys, whose first is `first` of the chunk.
  void add_rows(int32_t factors, const Tile& tile, const Rows& rows, const Matrix& m, const Totals& to, ValueId first) {
    const auto seeing = [&](ValueId row) { return std::pair(first_that_sees(tile, row, kSpan), tile.queries); };
    mix_rows(factors, kQueriesBack, tile.keys, 1, seeing, rows, m, [&](ValueId row, ValueId element, ValueId x) {
      c_.nest.when(c_.less(row, tile.keys), [&] {
        const ValueId at = c_.add(c_.add(to.first, c_.mul(c_.add(first, row), to.pitch)), element), mask = tail_of(to, element);
        b_.store(to.buffer, at, b_.op(Op::Add, {b_.load(to.buffer, at, lanes_, mask), x}), mask);
      });
    });
  }

  // to[query] = the sum over the elements of a value of a[element][query] * b[element][query].
  void sum_of_products(int32_t a, int32_t b, ValueId queries, int32_t to) {
    c_.loop(c_.literal(0), queries, lanes_, [&](ValueId query) {
      const ValueId sum = b_.var(number(0));
      c_.loop(c_.literal(0), width(value_), 1, [&](ValueId element) {
        const ValueId at = c_.add(c_.mul(element, c_.literal(kQueriesBack)), query);
        b_.set(sum, b_.op(Op::Fma, {vector(a, at), vector(b, at), b_.get(sum)}));
      });
      b_.store(to, query, b_.get(sum));
    });
  }

  // Products of queries and keys become p, those of gradient and values the gradient of the products, of a vector of queries.
  void scores_to_gradient(int32_t p, int32_t ds, int32_t deltas, const Tile& tile, ValueId query) {
    const ValueId first_query = c_.add(tile.first_query, query);
    const ValueId lse = lse_of(first_query), delta = ds < 0 ? kNone : vector(deltas, query);
    const Block in = block(first_query, tile.first_key, tile.keys);
    each_score(seen_keys(tile, query), kQueriesBack, query, [&](size_t i, ValueId row, ValueId at) {
      const ValueId s = score(vector(p, at), in, row, i == 0);
      const ValueId of_score = attention_weight(c_, b_.op(Op::Sub, {s, lse}));
      b_.store(p, at, of_score);
      if (ds < 0) return;
      const ValueId back = b_.op(Op::Mul, {of_score, b_.op(Op::Sub, {vector(ds, at), delta})});
      b_.store(ds, at, b_.op(Op::Mul, {back, number(ir::attention_scale(node_.ints()))}));
    });
  }

  // Rows in scratch go to a buffer, from `place` on and `step` apart, as rows of m are long.
  void write_rows(int32_t from, ValueId pitch, int32_t to, ValueId place, ValueId step, ValueId rows, const Matrix& m) {
    const DType dtype = b_.tree().buffers[static_cast<size_t>(to)].dtype;
    c_.loop(c_.literal(0), rows, 1, [&](ValueId row) {
      const ValueId of_row = c_.add(place, c_.mul(row, step));
      c_.loop(c_.literal(0), width(m), lanes_, [&](ValueId element) {
        const ValueId x = vector(from, c_.add(c_.mul(row, pitch), element));
        b_.store(to, c_.add(of_row, element), dtype == sums_ ? x : b_.op(Op::Cast, {x}, dtype), tail_of_row(m, element));
      });
    });
  }

  // The parts of the gradient of all queries, which lie as it does, one after the other.
  void add_parts(int32_t parts, int32_t to, int64_t count) {
    constexpr int64_t kRun = 4096;
    const int64_t elements = buffers_.batches() * query_.count * query_.width;
    const DType dtype = c_.kernel.buffer(to).dtype;
    const ValueId run = c_.begin_phase("add", ceil_div(elements, kRun), static_cast<double>(kRun * count) / lanes_);
    const ValueId begin = c_.mul(run, c_.literal(kRun)), all = c_.nest.size(elements),
                  end = c_.minimum(all, c_.add(begin, c_.literal(kRun)));
    c_.loop(begin, end, lanes_, [&](ValueId at) {
      const ValueId mask = tail(at, end), sum = b_.var(b_.load(parts, at, lanes_, mask));
      c_.loop(c_.literal(1), c_.nest.size(count), 1, [&](ValueId part) {
        b_.set(sum, b_.op(Op::Add, {b_.get(sum), b_.load(parts, c_.add(at, c_.mul(part, all)), lanes_, mask)}));
      });
      const ValueId x = b_.get(sum);
      b_.store(to, at, dtype == sums_ ? x : b_.op(Op::Cast, {x}, dtype), mask);
    });
    c_.end_phase();
  }

  Context& c_;
  ir::TreeBuilder& b_;
  const ir::Node& node_;
  AttentionBuffers buffers_;
  Matrix query_, key_, value_, grad_, result_, mask_;
  int32_t turned_mask_ = kNone;  // where a tile of it is turned
  bool causal_ = false;
  DType sums_ = DType::F32;
  int lanes_ = 1;
  std::vector<ValueId> bases_;  // the batch in each buffer
};

}  // namespace

// Few queries of many keys, as those of a cache, leave most lanes of a vector empty: their products go along the keys' elements. By the
// shape alone, since these are other bits.
bool takes_attention(const Form::Attention& heads) {
  constexpr int64_t kFewQueries = 8;
  return heads.queries >= kFewQueries || heads.keys <= 2 * heads.queries;
}

void call_attention(Context& c, const Call& call) { Attention(c, call).lower(); }

}  // namespace tenon::passes::cpu
