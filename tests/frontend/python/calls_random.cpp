// Generators and random tensors.
#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;

namespace {

// Values do not matter where the data's expressions draw random numbers, only shape and type.
Value random_like(const Call& c) {
  const Ints size = c.rest_as_ints(0, "size");
  const auto o = c.options();
  if (!isFloatingType(o.dtype())) throw Unsupported("random integers");
  const Tensor shape = tenon::zeros(size, o);
  return (tenon::arange(shape.numel()).reshape(size) * 7 % 11).to(tenon::kFloat).add(0.5).div(11.0).to(o);
}

}  // namespace

void add_random(Table& t) { t["rand"] = t["randn"] = random_like; }

}  // namespace python
