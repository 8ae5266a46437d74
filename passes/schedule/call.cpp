// Places of points and of batches in several buffers, and elementary functions by their polynomials.
#include "passes/schedule/call.h"

#include <tuple>
#include <utility>
#include <vector>

#include "ir/graph/attention.h"
#include "ir/kernel/kernel_builder.h"
#include "passes/passes.h"

namespace tenon::passes {

void Points::dim(int64_t extent, std::vector<int64_t> steps) {
  if (extent == 1) return;
  const auto continues = [&](const Dim& outer) {
    for (size_t b = 0; b < buffers_; ++b) {
      if (outer.steps[b] != extent * steps[b]) return false;
    }
    return true;
  };
  if (!dims_.empty() && continues(dims_.back())) {
    dims_.back() = {dims_.back().extent * extent, std::move(steps)};
  } else {
    dims_.push_back({extent, std::move(steps)});
  }
}

int64_t Points::count() const {
  int64_t count = 1;
  for (const Dim& dim : dims_) count *= dim.extent;
  return count;
}

std::vector<ValueId> Points::places(Context& c, ValueId point) const {
  std::vector<ValueId> places(buffers_, kZero);
  for (size_t d = dims_.size(); d-- > 0;) {
    const Dim& dim = dims_[d];
    ValueId digit = point;
    if (d > 0) std::tie(point, digit) = c.divide(point, c.nest.size(dim.extent));
    for (size_t b = 0; b < buffers_; ++b) {
      if (dim.steps[b] == 0) continue;
      const ValueId term = dim.steps[b] == 1 && !any_steps_ ? digit : c.mul(digit, c.nest.size(dim.steps[b]));
      places[b] = places[b] < 0 ? term : c.add(places[b], term);
    }
  }
  for (ValueId& place : places) {
    if (place < 0) place = c.literal(0);
  }
  return places;
}

AttentionBuffers::AttentionBuffers(const Call& call) : batches_(call.buffers.size(), true), views_(call.operands) {
  for (size_t k = 0; k < call.results.size(); ++k) {
    const ir::Node& made = *call.results[k];
    results_.emplace_back(made.ints()[3], call.stored[k].buffer);
    ir::View view = call.stored[k];
    const ir::Dims dims = ir::attention_dims(made);
    for (size_t d = 0; d < dims.size(); ++d) view.strides[d] = call.stored[k].strides[dims[d]];
    views_.push_back(std::move(view));
  }
  const ir::Dims dims = ir::attention_dims(call.node());
  for (size_t d = 0; d + 2 < dims.size(); ++d) {
    std::vector<int64_t> steps;
    for (const ir::View& view : views_) steps.push_back(view.strides[d]);
    batches_.dim(call.node().shape()[dims[d]], std::move(steps));
  }
}

std::optional<int32_t> AttentionBuffers::numbered(int64_t which) const {
  for (const auto& [made, buffer] : results_) {
    if (made == which) return buffer;
  }
  return std::nullopt;
}

std::vector<ValueId> AttentionBuffers::begins(Context& c, ValueId batch) const {
  std::vector<ValueId> begins = batches_.places(c, batch);
  for (size_t i = 0; i < begins.size(); ++i) {
    if (views_[i].offset != 0) begins[i] = c.add(begins[i], c.nest.size(views_[i].offset));
  }
  return begins;
}

// Uses a kernel of that one operation, which the passes over kernels expand.
ValueId elementary(Context& c, Op op, ValueId x) {
  const auto [dtype, lanes] = c.builder.type(x);
  ir::Kernel kernel;
  ir::KernelBuilder builder(kernel);
  builder.store(kernel.add_buffer("y", dtype, ir::Role::Out, 1), ir::Index(),
                builder.op(op, {builder.scalar(kernel.add_scalar("x", dtype))}), Level::Row);
  const ir::Kernel basic = expand_math(kernel);
  std::vector<ValueId> values;
  for (const Instr& in : basic.instrs) {
    std::vector<ValueId> args;
    for (const Value arg : in.args) args.push_back(values[static_cast<size_t>(arg)]);
    switch (in.op) {
      case Op::Scalar: values.push_back(x); break;
      case Op::Const: values.push_back(c.builder.constant({in.dtype, in.bits}, lanes)); break;
      case Op::Store: return args[0];
      default: values.push_back(c.builder.op(in.op, args, in.dtype));
    }
  }
  return kNone;
}

namespace {
ValueId number_like(Context& c, ValueId x, double value) {
  const auto [dtype, lanes] = c.builder.type(x);
  return c.builder.constant(ir::constant(dtype, value), lanes);
}
}  // namespace

ValueId attention_weight(Context& c, ValueId x) {
  constexpr double kLeast = -69.3;  // log(2^-100)
  const ValueId is_least = c.builder.op(Op::Lt, {x, number_like(c, x, kLeast)});
  return c.builder.op(Op::Where, {is_least, number_like(c, x, 0), elementary(c, Op::Exp, x)});
}

// A sum has the greatest score's weight, which is 1, or within its last digits where weights are powers of 2.
ValueId divisor_of_row(Context& c, ValueId sum) { return c.builder.op(Op::Max, {sum, number_like(c, sum, 1)}); }

ValueId lse_of_row(Context& c, ValueId most, ValueId sum) {
  const ValueId sees_none = c.builder.op(Op::Eq, {most, number_like(c, most, -std::numeric_limits<double>::infinity())});
  const ValueId greatest = c.builder.op(Op::Where, {sees_none, number_like(c, most, 0), most});
  return c.builder.op(Op::Add, {greatest, elementary(c, Op::Log, divisor_of_row(c, sum))});
}

}  // namespace tenon::passes
