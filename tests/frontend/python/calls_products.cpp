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
  if (c.positional.size() == 2 && c.positional[1].is<List>())
    tensors = c.tensors(1, "operands");
  else
    for (size_t i = 1; i < c.positional.size(); ++i) tensors.push_back(c.tensor(i));
  return tenon::einsum(c.string(0, "equation", ""), tensors);
}

Value repeat_interleave(const Call& c) {
  const auto dim = c.maybe_integer(2, "dim");
  if (!c.has(1, "repeats")) return tenon::repeat_interleave(c.tensor(0));
  return c.need(1, "repeats").is<Tensor>()
             ? tenon::repeat_interleave(c.tensor(0), c.tensor(1, "repeats"), dim)
             : tenon::repeat_interleave(c.tensor(0), c.integer(1, "repeats"), dim);
}

void add_structured(Table& t) {
  t["einsum"] = einsum;
  t["tensordot"] = tensordot;
  t["repeat_interleave"] = repeat_interleave;
  t["kron"] = [](const Call& c) -> Value { return tenon::kron(c.tensor(0), c.tensor(1)); };
  t["cross"] = [](const Call& c) -> Value {
    return tenon::cross(c.tensor(0), c.tensor(1), c.maybe_integer(2, "dim"));
  };
  t["cartesian_prod"] = [](const Call& c) -> Value {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < c.positional.size(); ++i) tensors.push_back(c.tensor(i));
    return tenon::cartesian_prod(tensors);
  };
  t["diag"] = [](const Call& c) -> Value { return tenon::diag(c.tensor(0), c.integer(1, "diagonal", 0)); };
  t["diag_embed"] = [](const Call& c) -> Value {
    return tenon::diag_embed(c.tensor(0), c.integer(1, "offset", 0), c.integer(2, "dim1", -2),
                             c.integer(3, "dim2", -1));
  };
  t["trace"] = [](const Call& c) -> Value { return tenon::trace(c.tensor(0)); };
  t["tril"] = [](const Call& c) -> Value { return tenon::tril(c.tensor(0), c.integer(1, "diagonal", 0)); };
  t["triu"] = [](const Call& c) -> Value { return tenon::triu(c.tensor(0), c.integer(1, "diagonal", 0)); };
  t["tril_indices"] = [](const Call& c) -> Value {
    return tenon::tril_indices(c.integer(0, "row"), c.integer(1, "col"), c.integer(2, "offset", 0));
  };
  t["triu_indices"] = [](const Call& c) -> Value {
    return tenon::triu_indices(c.integer(0, "row"), c.integer(1, "col"), c.integer(2, "offset", 0));
  };
  t["rot90"] = [](const Call& c) -> Value {
    return tenon::rot90(c.tensor(0), c.integer(1, "k", 1), c.ints(2, "dims", {0, 1}));
  };
  t["sum_to_size"] = [](const Call& c) -> Value {
    return tenon::sum_to_size(c.tensor(0), c.rest_as_ints(1, "size"));
  };
  t["nanmean"] = [](const Call& c) -> Value {
    if (!c.has(1, "dim")) return tenon::nanmean(c.tensor(0));
    return tenon::nanmean(c.tensor(0), c.ints(1, "dim"), c.flag(2, "keepdim", false));
  };
  t["logspace"] = [](const Call& c) -> Value {
    return tenon::logspace(c.scalar(0, "start"), c.scalar(1, "end"), c.integer(2, "steps"),
                           c.real(3, "base", 10), c.options());
  };
}

}  // namespace

void add_products(Table& t) {
  add_structured(t);
  t["matmul"] = [](const Call& c) -> Value { return tenon::matmul(c.tensor(0), c.tensor(1)); };
  t["mm"] = [](const Call& c) -> Value { return tenon::mm(c.tensor(0), c.tensor(1)); };
  t["mv"] = [](const Call& c) -> Value { return tenon::mv(c.tensor(0), c.tensor(1)); };
  t["bmm"] = [](const Call& c) -> Value { return tenon::bmm(c.tensor(0), c.tensor(1)); };
  t["dot"] = [](const Call& c) -> Value { return tenon::dot(c.tensor(0), c.tensor(1)); };
  t["outer"] = [](const Call& c) -> Value { return tenon::outer(c.tensor(0), c.tensor(1)); };
  t["linear"] = [](const Call& c) -> Value {
    return tenon::linear(c.tensor(0), c.tensor(1), c.maybe_tensor(2, "bias"));
  };
  t["addmm"] = [](const Call& c) -> Value {
    return tenon::addmm(c.tensor(0), c.tensor(1), c.tensor(2), c.scalar(Call::kNamed, "beta", 1),
                        c.scalar(Call::kNamed, "alpha", 1));
  };
  t["addmv"] = [](const Call& c) -> Value {
    return tenon::addmv(c.tensor(0), c.tensor(1), c.tensor(2), c.scalar(Call::kNamed, "beta", 1),
                        c.scalar(Call::kNamed, "alpha", 1));
  };
  t["baddbmm"] = [](const Call& c) -> Value {
    return tenon::baddbmm(c.tensor(0), c.tensor(1), c.tensor(2), c.scalar(Call::kNamed, "beta", 1),
                          c.scalar(Call::kNamed, "alpha", 1));
  };
}

}  // namespace python
