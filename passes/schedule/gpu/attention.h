// What attention of threads and attention of warps share: operands and results as matrices, batches, the tiles that a block passes
// over, and what masks make of a score. Private to passes/schedule/gpu/.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "passes/schedule/gpu/call.h"
#include "passes/schedule/gpu/thread_group.h"

namespace tenon::passes::gpu {

constexpr int64_t round_up(int64_t x, int64_t to) { return ceil_div(x, to) * to; }

// A matrix [count, width] of each batch, and the size parameters that hold these two, the width as a multiple of four, and the
// distance from row to row.
struct Matrix {
  int32_t buffer = kNone;
  int64_t count = 0, width = 0;
  int32_t count_size = kNone, width_size = kNone, depth_size = kNone, step_size = kNone;
  int64_t together = 1;  // as many neighbours begin at a multiple of their number in each row: 8, 4 or 1
};

// Rows of a block's tile, and columns of the tiles of the other side that it passes over.
struct TileExtents {
  int rows, columns;
};

class Attention {
 public:
  virtual ~Attention() = default;
  // Writes the phases.
  void lower();

 protected:
  Attention(Context& c, const Call& call);
  virtual void attend() = 0;
  // A phase of the gradient: of the queries, else of keys and values. Blocks have rows of `own`, and pass over tiles of `other`.
  struct Sides {
    bool queries;
    const Matrix &own, &own_value, &other, &other_value;
    std::optional<int32_t> result, of_value;  // the buffers of the gradients of own and value
  };
  virtual void differentiate(const Sides& sides) = 0;

  int64_t longest() const { return gradient_ ? std::max(query_.count, key_.count) : query_.count; }  // of what blocks share out
  double scale() const;

  // Starts a phase: a block takes a tile of `own`.
  void begin(const std::string& name, const Matrix& own, TileExtents tile);
  // The first column of the first tile of the other side that the block's rows see, and where the tiles end.
  std::pair<ValueId, ValueId> seen(const Matrix& other, bool over_keys) {
    ValueId begin = c_.literal(0), end = count(other);
    const ValueId columns = c_.literal(tile_extents_.columns);
    if (causal_ && over_keys) end = c_.minimum(end, c_.add(first_row_, c_.literal(tile_extents_.rows)));
    if (causal_ && !over_keys) begin = c_.mul(b_.quotient(first_row_, columns), columns);
    return {begin, end};
  }
  // body(first column): the tiles of the other side that the block's rows see.
  template <typename Body>
  void each_tile(const Matrix& other, bool over_keys, const Body& body) {
    const auto [begin, end] = seen(other, over_keys);
    c_.loop(begin, end, tile_extents_.columns, body);
  }

  int32_t buffer(const std::string& name, Space space, int64_t count, DType dtype);
  int32_t local(const std::string& name, int64_t count) { return buffer(name, Space::Local, count, sums_); }
  ValueId number(double value) { return b_.constant(ir::constant(sums_, value)); }
  ValueId infinity();  // less than all
  ValueId wide(ValueId x) { return b_.type(x).dtype == sums_ ? x : b_.op(Op::Cast, {x}, sums_); }
  ValueId count(const Matrix& m) { return b_.size(m.count_size); }
  ValueId width(const Matrix& m) { return b_.size(m.width_size); }
  ValueId depth(const Matrix& m) { return b_.size(m.depth_size); }
  ValueId step(const Matrix& m) { return b_.size(m.step_size); }
  // Whether there is such a row, where tiles have `rows`.
  ValueId below(ValueId row, const Matrix& m, int rows) { return m.count % rows == 0 ? kAlways : c_.less(row, count(m)); }
  // The same of an element too, where there are `elements` in a tile's rows.
  ValueId inside(const Matrix& m, ValueId row, int rows, ValueId element, int64_t elements);
  ValueId place_of(const Matrix& m, ValueId row, ValueId element);
  // What a gradient reads of a query, 0 past the last one: the operand lse, and delta, which a phase of its own has computed.
  ValueId lse_of(ValueId query);
  ValueId delta_of(ValueId query);

  template <typename Body>
  void each(int64_t count, const Body& body) {
    c_.unrolled(count, body);
  }
  void fill(int32_t buffer, int64_t count, double value);

  // The score s, `unit` times as large as it is, with the mask; minus infinity where the query does not see the key, or where
  // `exists` is false.
  ValueId masked(ValueId s, ValueId query, ValueId key, ValueId exists, double unit);

  // A result with so many rows and columns.
  Matrix like(Matrix rows, const Matrix& columns, int32_t buffer);

  void sum_deltas();  // a phase

  Context& c_;
  ir::TreeBuilder& b_;
  const ir::Node& node_;
  AttentionBuffers buffers_;
  Matrix query_, key_, value_, grad_, result_, mask_;
  int32_t deltas_ = kNone;  // one element for each query of each batch
  bool gradient_ = false, causal_ = false;
  DType sums_ = DType::F32;
  Form::Attention heads_;
  // The state of one phase:
  TileExtents tile_extents_{1, 1};
  std::vector<ValueId> bases_;  // the batch in each buffer
  ValueId batch_ = kNone;
  ValueId first_row_ = kNone;  // of the block
  ValueId lane_ = kNone;       // of the thread in its warp
};

bool threads_take(const Form::Attention& heads, const ir::GpuTarget& target);

}  // namespace tenon::passes::gpu
