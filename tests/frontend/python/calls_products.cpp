// Matrix products.
#include "frontend/python/call.h"

namespace python {

namespace {

using tenon::Tensor;

Value tensordot(const Call& c) {
  const Value& dims = c.need(2, "dims");
  if (!dims.is<List>()) {  // the last ones with the first ones
    Ints last, first;
    for (int64_t i = 0; i < dims.as<int64_t>(); ++i) {
      last.push_back(c.tensor(0).dim() - dims.as<int64_t>() + i);
      first.push_back(i);
    }
    return tenon::tensordot(c.tensor(0), c.tensor(1), last, first);
  }
  const std::vector<Value>& both = dims.as<List>().items;
  return tenon::tensordot(c.tensor(0), c.tensor(1), ints_of(both.at(0)), ints_of(both.at(1)));
}

Value einsum(const Call& c) {
  std::vector<Tensor> tensors;
  if (c.positional.size() == 2 && c.positional[1].is<List>()) tensors = c.tensors(1, "operands");
  else
    for (size_t i = 1; i < c.positional.size(); ++i) tensors.push_back(c.tensor(i));
  return tenon::einsum(c.string(0, "equation", ""), tensors);
}

Value repeat_interleave(const Call& c) {
  const auto dim = c.maybe_integer(2, "dim");
  if (!c.has(1, "repeats")) return tenon::repeat_interleave(c.tensor(0));
  return c.need(1, "repeats").is<Tensor>() ? tenon::repeat_interleave(c.tensor(0), c.tensor(1, "repeats"), dim)
                                           : tenon::repeat_interleave(c.tensor(0), c.integer(1, "repeats"), dim);
}

void add_structured(Table& t) {
  t["einsum"] = einsum;
  t["tensordot"] = tensordot;
  t["repeat_interleave"] = repeat_interleave;
  t["logspace"] = [](const Call& c) -> Value {
    return tenon::logspace(c.scalar(0, "start"), c.scalar(1, "end"), c.integer(2, "steps"), c.real(3, "base", 10), c.options());
  };
  t["tril_indices"] = [](const Call& c) -> Value {
    return tenon::tril_indices(c.integer(0, "row"), c.integer(1, "col"), c.integer(2, "offset", 0));
  };
  t["triu_indices"] = [](const Call& c) -> Value {
    return tenon::triu_indices(c.integer(0, "row"), c.integer(1, "col"), c.integer(2, "offset", 0));
  };
  t["cartesian_prod"] = [](const Call& c) -> Value {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < c.positional.size(); ++i) tensors.push_back(c.tensor(i));
    return tenon::cartesian_prod(tensors);
  };
}

}  // namespace

void add_products(Table& t) { add_structured(t); }

}  // namespace python
