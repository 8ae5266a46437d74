// What generated calls of all devices share: the batches of their operands, and operations that are more than one instruction.
// Private to passes/schedule/.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/attention.h"
#include "passes/schedule/context.h"

namespace tenon::passes {

// Points of some dims in row-major order, and where each lies in several buffers.
//
//   dim 10 {64, 1}, dim 64 {1, 0}: point 70 = (1, 6) lies at 64*1 + 6 of the first buffer, at 1 of the second
class Points {
 public:
  // `any_steps`: the code has no step in it, not even whether it is 1.
  explicit Points(size_t buffers, bool any_steps = false) : buffers_(buffers), any_steps_(any_steps) {}
  // The next dim inwards; `steps`: from point to point along it, in elements, one a buffer. A dim of one point is none,
  // and one that continues the dim before it in all buffers makes that longer.
  void dim(int64_t extent, std::vector<int64_t> steps);
  int64_t count() const;
  std::vector<ValueId> places(Context& c, ValueId point) const;

 private:
  struct Dim {
    int64_t extent;
    std::vector<int64_t> steps;
  };
  size_t buffers_;
  bool any_steps_;
  std::vector<Dim> dims_;
};

// The buffers of an attention or of its gradient: operands as they lie, then the results, each a matrix for each batch.
class AttentionBuffers {
 public:
  explicit AttentionBuffers(const Call& call);
  int64_t batches() const { return batches_.count(); }
  // None: it is not asked for.
  std::optional<int32_t> result_of(ir::AttentionResult which) const { return numbered(static_cast<int64_t>(which)); }
  std::optional<int32_t> gradient_of(ir::AttentionGradient which) const { return numbered(static_cast<int64_t>(which)); }
  std::vector<ValueId> begins(Context& c, ValueId batch) const;  // its first element in each buffer
  int64_t row_step(int32_t buffer) const { return views_[static_cast<size_t>(buffer)].strides.end()[-2]; }

 private:
  std::optional<int32_t> numbered(int64_t which) const;

  Points batches_;                                    // in row-major order
  std::vector<ir::View> views_;                       // by buffer; of a result: with the dims of ir::attention_dims
  std::vector<std::pair<int64_t, int32_t>> results_;  // which, and its buffer
};

// One of the operations that expand into basic ones, of an f32 or f64 or a vector of them.
ValueId elementary(Context& c, Op op, ValueId x);
// exp(x), the weight of a key beside one of weight 1; or 0 below 2^-100, of which no float sum has anything left: products with denormal
// weights, or that give such numbers, would be slow.
ValueId attention_weight(Context& c, ValueId x);
// What a row's result is divided by, and what its gradient takes from its scores: the greatest score and log of the sum. A row whose mask
// leaves no key has a sum of 0: its result and its weights are 0.
ValueId divisor_of_row(Context& c, ValueId sum);
ValueId lse_of_row(Context& c, ValueId most, ValueId sum);

}  // namespace tenon::passes
