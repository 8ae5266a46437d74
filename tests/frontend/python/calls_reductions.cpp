// Sums, extrema, norms, softmax.
#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;

namespace {

// f(x), f(x, dim, keepdim) with one optional dim.
template <typename All, typename One>
Function over_dim(All all, One one) {
  return [=](const Call& c) -> Value {
    if (!c.has(1, "dim")) return all(c.tensor(0));
    return one(c.tensor(0), c.integer(1, "dim"), c.flag(2, "keepdim", false));
  };
}

tenon::OptionalIntArrayRef maybe_dims(const Call& c, size_t i, Ints& storage) {
  if (!c.has(i, "dim")) return tenon::nullopt;
  storage = c.ints(i, "dim");
  return storage;
}

// std(x, unbiased=...), std(x, dim, unbiased, keepdim)
template <typename F>
Function spread(F f) {
  return [=](const Call& c) -> Value {
    Ints dims;
    if (c.has(1, "dim") && c.need(1, "dim").is<bool>())
      return f(c.tensor(0), tenon::nullopt, c.flag(1, "unbiased", true), false);
    bool unbiased = c.flag(2, "unbiased", true);
    if (c.has(Call::kNamed, "correction")) {
      if (c.integer(Call::kNamed, "correction") > 1) throw Unsupported("a correction beyond 1");
      unbiased = c.integer(Call::kNamed, "correction") == 1;
    }
    return f(c.tensor(0), maybe_dims(c, 1, dims), unbiased, c.flag(3, "keepdim", false));
  };
}

Value max_or_min(const Call& c, bool max) {
  if (c.has(1, "dim") && c.need(1, "dim").is<Tensor>()) {
    return max ? tenon::max(c.tensor(0), c.tensor(1)) : tenon::min(c.tensor(0), c.tensor(1));
  }
  if (!c.has(1, "dim")) return max ? tenon::max(c.tensor(0)) : tenon::min(c.tensor(0));
  const int64_t dim = c.integer(1, "dim");
  const bool keepdim = c.flag(2, "keepdim", false);
  return value_and_index(max ? "max" : "min",
                         max ? tenon::max(c.tensor(0), dim, keepdim) : tenon::min(c.tensor(0), dim, keepdim));
}

Value norm_function(const Call& c) {
  Ints dims;
  if (c.has(2, "dim")) dims = c.ints(2, "dim");
  return tenon::norm(c.tensor(0), c.maybe_scalar(1, "p"), dims, c.flag(3, "keepdim", false));
}

}  // namespace

void add_reductions(Table& t) {
  t["sum"] = [](const Call& c) -> Value {
    if (!c.has(1, "dim")) return tenon::sum(c.tensor(0), c.dtype());
    Ints dims;
    return tenon::sum(c.tensor(0), maybe_dims(c, 1, dims), c.flag(2, "keepdim", false), c.dtype());
  };
  t["nansum"] = [](const Call& c) -> Value {
    Ints dims;
    return tenon::nansum(c.tensor(0), maybe_dims(c, 1, dims), c.flag(2, "keepdim", false), c.dtype());
  };
  t["mean"] = [](const Call& c) -> Value {
    if (!c.has(1, "dim")) return tenon::mean(c.tensor(0), c.dtype());
    Ints dims;
    return tenon::mean(c.tensor(0), maybe_dims(c, 1, dims), c.flag(2, "keepdim", false), c.dtype());
  };
  t["prod"] = [](const Call& c) -> Value {
    if (!c.has(1, "dim")) return tenon::prod(c.tensor(0), c.dtype());
    return tenon::prod(c.tensor(0), c.integer(1, "dim"), c.flag(2, "keepdim", false), c.dtype());
  };
  t["any"] = over_dim([](const Tensor& x) { return tenon::any(x); },
                      [](const Tensor& x, int64_t d, bool keep) { return tenon::any(x, d, keep); });
  t["all"] = over_dim([](const Tensor& x) { return tenon::all(x); },
                      [](const Tensor& x, int64_t d, bool keep) { return tenon::all(x, d, keep); });
  t["argmax"] = over_dim([](const Tensor& x) { return tenon::argmax(x); },
                         [](const Tensor& x, int64_t d, bool keep) { return tenon::argmax(x, d, keep); });
  t["argmin"] = over_dim([](const Tensor& x) { return tenon::argmin(x); },
                         [](const Tensor& x, int64_t d, bool keep) { return tenon::argmin(x, d, keep); });
  t["max"] = [](const Call& c) { return max_or_min(c, true); };
  t["min"] = [](const Call& c) { return max_or_min(c, false); };
  t["amax"] = [](const Call& c) -> Value {
    return tenon::amax(c.tensor(0), c.ints(1, "dim", {}), c.flag(2, "keepdim", false));
  };
  t["amin"] = [](const Call& c) -> Value {
    return tenon::amin(c.tensor(0), c.ints(1, "dim", {}), c.flag(2, "keepdim", false));
  };
  using Dims = tenon::OptionalIntArrayRef;
  t["var"] = spread([](const Tensor& x, Dims d, bool u, bool k) -> Value { return tenon::var(x, d, u, k); });
  t["std"] = spread([](const Tensor& x, Dims d, bool u, bool k) -> Value { return tenon::std(x, d, u, k); });
  t["var_mean"] = spread(
      [](const Tensor& x, Dims d, bool u, bool k) -> Value { return pair_of(tenon::var_mean(x, d, u, k)); });
  t["std_mean"] = spread(
      [](const Tensor& x, Dims d, bool u, bool k) -> Value { return pair_of(tenon::std_mean(x, d, u, k)); });
  t["aminmax"] = [](const Call& c) -> Value {
    return named("aminmax", {"min", "max"},
                 tensors_of(pair_of(tenon::aminmax(c.tensor(0), c.maybe_integer(Call::kNamed, "dim"),
                                                   c.flag(Call::kNamed, "keepdim", false)))));
  };
  t["norm"] = norm_function;
  t["vector_norm"] = norm_function;
  t["logsumexp"] = [](const Call& c) -> Value {
    return tenon::logsumexp(c.tensor(0), c.ints(1, "dim"), c.flag(2, "keepdim", false));
  };
  t["count_nonzero"] = [](const Call& c) -> Value {
    return tenon::count_nonzero(c.tensor(0), c.ints(1, "dim", {}));
  };
  t["softmax"] = [](const Call& c) -> Value {
    return tenon::softmax(c.tensor(0), c.integer(1, "dim"), c.dtype());
  };
  t["log_softmax"] = [](const Call& c) -> Value {
    return tenon::log_softmax(c.tensor(0), c.integer(1, "dim"), c.dtype());
  };
  t["layer_norm"] = [](const Call& c) -> Value {
    return tenon::layer_norm(c.tensor(0), c.ints(1, "normalized_shape"), c.maybe_tensor(2, "weight"),
                             c.maybe_tensor(3, "bias"), c.maybe_real(4, "eps").value_or(1e-5));
  };
}

}  // namespace python
