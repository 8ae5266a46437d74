// Sorting, running sums, counting, searching; gather, scatter and their family.
#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;

namespace {

using Pair = std::tuple<Tensor, Tensor>;

// f(x) of all elements, or values and indices along a dim.
template <typename All, typename One>
Function statistic(const char* name, All all, One one) {
  return [=](const Call& c) -> Value {
    if (!c.has(1, "dim")) return all(c.tensor(0));
    return value_and_index(name, one(c.tensor(0), c.integer(1, "dim"), c.flag(2, "keepdim", false)));
  };
}

Value unique(const Call& c) {
  const bool inverse = c.flag(2, "return_inverse", false), counts = c.flag(3, "return_counts", false);
  const bool sorted = c.flag(1, "sorted", true);
  const auto [values, where, how_many] =
      c.has(4, "dim") ? tenon::unique_dim(c.tensor(0), c.integer(4, "dim"), sorted, inverse, counts)
                      : tenon::_unique2(c.tensor(0), sorted, inverse, counts);
  if (!inverse && !counts) return values;
  std::vector<Tensor> result{values};
  if (inverse) result.push_back(where);
  if (counts) result.push_back(how_many);
  return list_of(result);
}

Value scatter(const Call& c) {
  const Tensor &x = c.tensor(0), &index = c.tensor(2, "index");
  const int64_t dim = c.integer(1, "dim");
  const bool reduces = c.has(Call::kNamed, "reduce");
  const std::string how = c.string(Call::kNamed, "reduce", "");
  const Value& src = c.has(3, "src") ? c.need(3, "src") : c.need(3, "value");
  if (src.is<Tensor>()) {
    const Tensor& t = src.as<Tensor>();
    return reduces ? tenon::scatter(x, dim, index, t, how) : tenon::scatter(x, dim, index, t);
  }
  const tenon::Scalar s = to_scalar(src);
  return reduces ? tenon::scatter(x, dim, index, s, how) : tenon::scatter(x, dim, index, s);
}

Value searchsorted(const Call& c) {
  const bool int32 = c.flag(2, "out_int32", false), right = c.flag(3, "right", false);
  const std::string side = c.string(4, "side", "");
  const auto which = side.empty() ? tenon::optional<std::string_view>() : side;
  const tenon::optional<Tensor> sorter = c.maybe_tensor(5, "sorter");
  if (c.need(1, "values").is<Tensor>())
    return tenon::searchsorted(c.tensor(0), c.tensor(1, "values"), int32, right, which, sorter);
  return tenon::searchsorted(c.tensor(0), c.scalar(1, "values"), int32, right, which, sorter);
}

Value quantile(const Call& c) {
  const tenon::optional<int64_t> dim = c.maybe_integer(2, "dim");
  const bool keep = c.flag(3, "keepdim", false);
  const std::string how = c.string(Call::kNamed, "interpolation", "linear");
  if (c.need(1, "q").is<Tensor>()) return tenon::quantile(c.tensor(0), c.tensor(1, "q"), dim, keep, how);
  return tenon::quantile(c.tensor(0), c.real(1, "q", 0), dim, keep, how);
}

}  // namespace

void add_order(Table& t) {
  t["cumsum"] = [](const Call& c) -> Value {
    return tenon::cumsum(c.tensor(0), c.integer(1, "dim"), c.dtype());
  };
  t["cumprod"] = [](const Call& c) -> Value {
    return tenon::cumprod(c.tensor(0), c.integer(1, "dim"), c.dtype());
  };
  t["cummax"] = [](const Call& c) {
    return value_and_index("cummax", tenon::cummax(c.tensor(0), c.integer(1, "dim")));
  };
  t["cummin"] = [](const Call& c) {
    return value_and_index("cummin", tenon::cummin(c.tensor(0), c.integer(1, "dim")));
  };
  t["logcumsumexp"] = [](const Call& c) -> Value {
    return tenon::logcumsumexp(c.tensor(0), c.integer(1, "dim"));
  };

  t["sort"] = [](const Call& c) {
    const bool stable = c.flag(Call::kNamed, "stable", false);
    const int64_t dim = c.integer(1, "dim", -1);
    return value_and_index(
        "sort", tenon::sort(c.tensor(0), tenon::optional<bool>(stable), dim, c.flag(2, "descending", false)));
  };
  t["argsort"] = [](const Call& c) -> Value {
    return tenon::argsort(c.tensor(0), c.integer(1, "dim", -1), c.flag(2, "descending", false));
  };
  t["topk"] = [](const Call& c) {
    return value_and_index("topk", tenon::topk(c.tensor(0), c.integer(1, "k"), c.integer(2, "dim", -1),
                                               c.flag(3, "largest", true), c.flag(4, "sorted", true)));
  };
  t["kthvalue"] = [](const Call& c) {
    return value_and_index("kthvalue", tenon::kthvalue(c.tensor(0), c.integer(1, "k"),
                                                       c.integer(2, "dim", -1), c.flag(3, "keepdim", false)));
  };
  t["median"] = statistic(
      "median", [](const Tensor& x) { return tenon::median(x); },
      [](const Tensor& x, int64_t d, bool keep) { return tenon::median(x, d, keep); });
  t["nanmedian"] = statistic(
      "nanmedian", [](const Tensor& x) { return tenon::nanmedian(x); },
      [](const Tensor& x, int64_t d, bool keep) { return tenon::nanmedian(x, d, keep); });
  t["mode"] = [](const Call& c) {
    return value_and_index("mode",
                           tenon::mode(c.tensor(0), c.integer(1, "dim", -1), c.flag(2, "keepdim", false)));
  };
  t["quantile"] = quantile;
  t["unique"] = unique;
  t["bincount"] = [](const Call& c) -> Value {
    return tenon::bincount(c.tensor(0), c.maybe_tensor(1, "weights"), c.integer(2, "minlength", 0));
  };
  t["histc"] = [](const Call& c) -> Value {
    return tenon::histc(c.tensor(0), c.integer(1, "bins", 100), c.scalar(2, "min", 0), c.scalar(3, "max", 0));
  };
  t["searchsorted"] = searchsorted;

  t["gather"] = [](const Call& c) -> Value {
    return tenon::gather(c.tensor(0), c.integer(1, "dim"), c.tensor(2, "index"));
  };
  t["index_select"] = [](const Call& c) -> Value {
    return tenon::index_select(c.tensor(0), c.integer(1, "dim"), c.tensor(2, "index"));
  };
  t["take"] = [](const Call& c) -> Value { return tenon::take(c.tensor(0), c.tensor(1, "index")); };
  t["take_along_dim"] = [](const Call& c) -> Value {
    return tenon::take_along_dim(c.tensor(0), c.tensor(1, "indices"), c.maybe_integer(2, "dim"));
  };
  t["masked_select"] = [](const Call& c) -> Value {
    return tenon::masked_select(c.tensor(0), c.tensor(1, "mask"));
  };
  t["nonzero"] = [](const Call& c) -> Value {
    return c.flag(Call::kNamed, "as_tuple", false) ? Value(list_of(tenon::nonzero_numpy(c.tensor(0))))
                                                   : Value(tenon::nonzero(c.tensor(0)));
  };
  t["argwhere"] = [](const Call& c) -> Value { return tenon::argwhere(c.tensor(0)); };
  t["scatter"] = scatter;
  t["scatter_add"] = [](const Call& c) -> Value {
    return tenon::scatter_add(c.tensor(0), c.integer(1, "dim"), c.tensor(2, "index"), c.tensor(3, "src"));
  };
  t["index_add"] = [](const Call& c) -> Value {
    return tenon::index_add(c.tensor(0), c.integer(1, "dim"), c.tensor(2, "index"), c.tensor(3, "source"),
                            c.scalar(4, "alpha", 1));
  };
  t["index_copy"] = [](const Call& c) -> Value {
    return tenon::index_copy(c.tensor(0), c.integer(1, "dim"), c.tensor(2, "index"), c.tensor(3, "source"));
  };
  t["index_fill"] = [](const Call& c) -> Value {
    if (c.need(3, "value").is<Tensor>())
      return tenon::index_fill(c.tensor(0), c.integer(1, "dim"), c.tensor(2, "index"), c.tensor(3, "value"));
    return tenon::index_fill(c.tensor(0), c.integer(1, "dim"), c.tensor(2, "index"), c.scalar(3, "value"));
  };
  t["masked_scatter"] = [](const Call& c) -> Value {
    return tenon::masked_scatter(c.tensor(0), c.tensor(1, "mask"), c.tensor(2, "source"));
  };
}

}  // namespace python
