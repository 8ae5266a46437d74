// Places of points in several buffers, and elementary functions by their polynomials.
#include "passes/schedule/call.h"

#include <tuple>
#include <utility>
#include <vector>

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
  std::vector<ValueId> places(buffers_, -1);
  for (size_t d = dims_.size(); d-- > 0;) {
    const Dim& dim = dims_[d];
    ValueId digit = point;
    if (d > 0) std::tie(point, digit) = c.divide(point, c.nest.size(dim.extent));
    for (size_t b = 0; b < buffers_; ++b) {
      if (dim.steps[b] == 0) continue;
      const ValueId term = dim.steps[b] == 1 ? digit : c.mul(digit, c.nest.size(dim.steps[b]));
      places[b] = places[b] < 0 ? term : c.add(places[b], term);
    }
  }
  for (ValueId& place : places) {
    if (place < 0) place = c.literal(0);
  }
  return places;
}

// By a kernel of that one operation, which the passes over kernels expand.
ValueId elementary(Context& c, Op op, ValueId x) {
  const auto [dtype, lanes] = c.builder.type(x);
  ir::Kernel kernel;
  ir::KernelBuilder builder(kernel);
  builder.store(kernel.add_buffer("y", dtype, ir::Role::Out, 1), ir::Index(), builder.op(op, {builder.scalar(kernel.add_scalar("x", dtype))}),
                Level::Row);
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
  return -1;
}

}  // namespace tenon::passes
