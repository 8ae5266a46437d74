// What all attention shares, and who computes it. The scores are never stored: a block takes a tile of rows and passes over tiles
// of the other side in shared memory (Dao, Fu, Ermon, Rudra and Re, FlashAttention, 2022; Dao, FlashAttention-2, 2023). A softmax
// over tiles keeps of each row the greatest score so far and the sum of exp(score - greatest), and scales both, and the result so
// far, when a greater score comes (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).
//
//   phase attend   a block a tile of queries:
//                    for each tile of keys {
//                      s = scale q k^T + mask; m' = max(m, rows of s); p = exp(s - m')
//                      l = l exp(m - m') + sum p;  o = o exp(m - m') + p v;  m = m'
//                    }
//                    result = o / l;  lse = m + log(l)
//   phase deltas   delta = sum(g result), eight threads a query
//   phase keys     gradients of keys and values, a block a tile of keys:
//                    for each tile of queries { p = exp(s - lse); ds = p (v g^T - delta); dv += p g; dk += scale ds q }
//   phase queries  gradient of queries, a block a tile of queries:
//                    for each tile of keys { p = exp(s - lse); ds = p (g v^T - delta); dq += scale ds k }
//
// Every sum has one order, by the tile's shape: no operation is atomic, and two runs give the same bits. Causal: tiles with nothing
// in sight are skipped.
//
// The code depends on the extents only by the tile and whether it divides rows and columns; by the heads' elements in sixteens
// and whether four or eight are a vector; by where batches repeat; by how a mask lies.
#include "passes/schedule/gpu/attention.h"

#include <algorithm>
#include <limits>

#include "ir/graph/attention.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes::gpu {

Attention::Attention(Context& c, const Call& call) : c_(c), b_(c.builder), node_(call.node()), buffers_(call) {
  const auto& inputs = node_.inputs();
  gradient_ = ir::is_attention_gradient(node_);
  const size_t rank = node_.shape().size(), operands = gradient_ ? 6 : 3;
  const auto matrix = [&](size_t i) {
    const ir::Dims& shape = inputs[i]->shape();
    const ir::View& view = call.operands[i];
    const int64_t rows = shape[rank - 2], elements = shape[rank - 1];
    Matrix m{static_cast<int32_t>(i), rows, elements};
    m.count_size = c.nest.size_slot(rows);
    m.width_size = c.nest.size_slot(elements);
    m.depth_size = c.nest.size_slot(round_up(elements, kVector));
    m.step_size = c.nest.size_slot(view.strides[rank - 2]);
    const auto divides = [&](int64_t n) {
      const auto multiple = [n](int64_t x) { return x % n == 0; };
      return multiple(elements) && multiple(view.offset) && std::all_of(view.strides.begin(), view.strides.end() - 1, multiple);
    };
    if (!c.kernel.buffer(m.buffer).unaligned) m.together = divides(8) ? 8 : divides(kVector) ? kVector : 1;
    return m;
  };
  query_ = matrix(0);
  key_ = matrix(1);
  value_ = matrix(2);
  if (gradient_) grad_ = matrix(3), result_ = matrix(5);
  if (inputs.size() > operands) mask_ = matrix(operands);
  causal_ = node_.ints()[0] != 0;
  sums_ = ir::is_half(inputs[0]->dtype()) ? DType::F32 : inputs[0]->dtype();
  heads_ = {inputs[0]->dtype(), query_.width, value_.width};
}

void Attention::lower() {
  if (!gradient_) return attend();
  const auto of_query = buffers_.gradient_of(ir::AttentionGradient::Query), of_key = buffers_.gradient_of(ir::AttentionGradient::Key),
             of_value = buffers_.gradient_of(ir::AttentionGradient::Value);
  if (of_query || of_key) sum_deltas();
  if (of_key || of_value) differentiate({false, key_, value_, query_, grad_, of_key, of_value});
  if (of_query) differentiate({true, query_, grad_, key_, value_, of_query, std::nullopt});
}

void Attention::sum_deltas() {
  constexpr int kThreads = 8;
  const auto run =
      static_cast<int>(std::min({grad_.together, result_.together, ir::is_half(heads_.dtype) ? int64_t{8} : int64_t{kVector}}));
  deltas_ = c_.buffer("deltas", sums_, Space::Global, buffers_.batches() * query_.count);
  begin("deltas", query_, {c_.out.tree.threads / kThreads, 1});
  const auto [group, thread] = c_.divide(c_.thread(), c_.literal(kThreads));
  const ValueId query = c_.add(first_row_, group), row = c_.minimum(query, c_.sub(count(query_), c_.literal(1)));
  const ValueId sum = b_.var(number(0));
  c_.loop(c_.mul(thread, c_.literal(run)), width(value_), kThreads * run, [&](ValueId first) {
    const ValueId grads = b_.load(grad_.buffer, place_of(grad_, row, first), run);
    const ValueId results = b_.load(result_.buffer, place_of(result_, row, first), run);
    const auto element = [&](ValueId vector, int i) {
      return wide(run == 1 ? vector : b_.let(Op::Extract, {vector, c_.literal(i)}, {b_.type(vector).dtype, 1}));
    };
    for (int i = 0; i < run; ++i) b_.set(sum, b_.op(Op::Fma, {element(grads, i), element(results, i), b_.get(sum)}));
  });
  const ValueId delta = over_group(c_, kThreads, lane_, b_.get(sum), [&](ValueId a, ValueId b) { return b_.op(Op::Add, {a, b}); });
  c_.nest.when(c_.nest.both(b_.op(Op::Eq, {thread, c_.literal(0)}), c_.less(query, count(query_))),
               [&] { b_.store(deltas_, c_.add(c_.mul(batch_, count(query_)), query), delta); });
  c_.end_phase();
}

double Attention::scale() const { return ir::attention_scale(node_.ints()); }

void Attention::begin(const std::string& name, const Matrix& own, TileExtents tile) {
  tile_extents_ = tile;
  const int64_t tiles = ceil_div(own.count, tile.rows);
  const ValueId block = c_.begin_phase(name, buffers_.batches() * tiles);
  const auto [batch, number] = c_.divide(block, c_.nest.size(tiles));
  bases_ = buffers_.begins(c_, batch);
  batch_ = batch;
  first_row_ = c_.mul(number, c_.literal(tile.rows));
  lane_ = c_.divide(c_.thread(), c_.literal(c_.target.warp)).second;
}

int32_t Attention::buffer(const std::string& name, Space space, int64_t count, DType dtype) {
  return c_.fixed_buffer(name + std::to_string(b_.tree().buffers.size()), dtype, space, count);
}

ValueId Attention::infinity() { return number(-std::numeric_limits<double>::infinity()); }

ValueId Attention::inside(const Matrix& m, ValueId row, int rows, ValueId element, int64_t elements) {
  return c_.nest.both(below(row, m, rows), m.width == elements ? kAlways : c_.less(element, width(m)));
}

ValueId Attention::place_of(const Matrix& m, ValueId row, ValueId element) {
  return c_.add(c_.add(bases_[static_cast<size_t>(m.buffer)], c_.mul(row, step(m))), element);
}

ValueId Attention::lse_of(ValueId query) {
  constexpr int32_t kLse = 4;  // the operand
  return b_.load(kLse, c_.add(bases_[kLse], query), 1, c_.less(query, count(query_)));
}

ValueId Attention::delta_of(ValueId query) {
  return b_.load(deltas_, c_.add(c_.mul(batch_, count(query_)), query), 1, c_.less(query, count(query_)));
}

void Attention::fill(int32_t buffer, int64_t count, double value) {
  each(count, [&](ValueId i) { b_.store(buffer, i, number(value)); });
}

ValueId Attention::masked(ValueId s, ValueId query, ValueId key, ValueId exists, double unit) {
  ValueId seen = exists;
  if (causal_) seen = c_.nest.both(seen, b_.op(Op::Le, {key, query}));
  if (mask_.buffer >= 0) {
    ValueId place = bases_[static_cast<size_t>(mask_.buffer)];
    if (mask_.count > 1) place = c_.add(place, c_.mul(query, step(mask_)));
    if (mask_.width > 1) place = c_.add(place, key);
    const ValueId there = c_.nest.both(c_.less(query, count(query_)), c_.less(key, count(key_)));
    const ValueId element = b_.load(mask_.buffer, place, 1, there);
    if (b_.type(element).dtype == DType::Bool) seen = c_.nest.both(seen, element);
    else if (unit == 1) s = b_.op(Op::Add, {s, wide(element)});
    else s = b_.op(Op::Fma, {wide(element), number(unit), s});
  }
  return seen < 0 ? s : b_.op(Op::Where, {seen, s, infinity()});
}

Matrix Attention::like(Matrix rows, const Matrix& columns, int32_t buffer) {
  rows.buffer = buffer;
  rows.width = columns.width;
  rows.width_size = columns.width_size;
  rows.step_size = c_.nest.size_slot(buffers_.row_step(buffer));
  rows.together = rows.width % 8 == 0 ? 8 : rows.width % kVector == 0 ? kVector : 1;  // so is the step from row to row
  return rows;
}

bool takes_heads(const Form::Attention& heads, const ir::GpuTarget& target) {
  constexpr int64_t kWidest = 128;  // the tiles of larger ones are so small that little is computed of what is read
  if (std::max(heads.depth, heads.value_depth) > kWidest) return false;
  return warps_take(heads, target) || threads_take(heads, target);
}

}  // namespace tenon::passes::gpu
