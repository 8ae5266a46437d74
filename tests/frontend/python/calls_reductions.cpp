// Reductions that Python calls otherwise than the schema.
#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;

namespace {

tenon::OptionalIntArrayRef maybe_dims(const Call& c, size_t i, Ints& storage) {
  if (!c.has(i, "dim")) return tenon::nullopt;
  storage = c.ints(i, "dim");
  return storage;
}

// std(x, unbiased=...), std(x, dim, unbiased, keepdim), std(x, dim, correction=..., keepdim=...)
template <typename F>
Function spread(F f) {
  return [=](const Call& c) -> Value {
    Ints dims;
    if (c.has(1, "dim") && c.need(1, "dim").is<bool>()) return f(c.tensor(0), tenon::nullopt, c.flag(1, "unbiased", true), false);
    const tenon::OptionalIntArrayRef dim = maybe_dims(c, 1, dims);
    const bool keepdim = c.flag(3, "keepdim", false);
    if (const auto correction = c.maybe_scalar(Call::kNamed, "correction")) return f(c.tensor(0), dim, correction, keepdim);
    return f(c.tensor(0), dim, c.flag(2, "unbiased", true), keepdim);
  };
}

bool unbiased(bool by) { return by; }
bool unbiased(const tenon::optional<tenon::Scalar>& correction) {
  if (correction->toDouble() != 0 && correction->toDouble() != 1) throw Unsupported("such a correction");
  return correction->toDouble() == 1;
}

Value norm_function(const Call& c) {
  Ints dims;
  if (c.has(2, "dim")) dims = c.ints(2, "dim");
  return tenon::norm(c.tensor(0), c.maybe_scalar(1, "p"), dims, c.flag(3, "keepdim", false));
}

}  // namespace

void add_reductions(Table& t) {
  using Dims = tenon::OptionalIntArrayRef;
  t["var"] = spread([](const Tensor& x, Dims d, auto by, bool k) -> Value { return tenon::var(x, d, by, k); });
  t["std"] = spread([](const Tensor& x, Dims d, auto by, bool k) -> Value { return tenon::std(x, d, by, k); });
  t["var_mean"] = spread([](const Tensor& x, Dims d, auto by, bool k) -> Value { return pair_of(tenon::var_mean(x, d, unbiased(by), k)); });
  t["std_mean"] = spread([](const Tensor& x, Dims d, auto by, bool k) -> Value { return pair_of(tenon::std_mean(x, d, unbiased(by), k)); });
  t["norm"] = norm_function;
  t["vector_norm"] = norm_function;
}

}  // namespace python
