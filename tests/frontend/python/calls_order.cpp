// Sorting, running sums, counting, searching; gather, scatter and their family.
#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;

namespace {

Value unique(const Call& c) {
  const bool inverse = c.flag(2, "return_inverse", false), counts = c.flag(3, "return_counts", false);
  const bool sorted = c.flag(1, "sorted", true);
  const auto [values, where, how_many] = c.has(4, "dim") ? tenon::unique_dim(c.tensor(0), c.integer(4, "dim"), sorted, inverse, counts)
                                                         : tenon::_unique2(c.tensor(0), sorted, inverse, counts);
  if (!inverse && !counts) return values;
  std::vector<Tensor> result{values};
  if (inverse) result.push_back(where);
  if (counts) result.push_back(how_many);
  return list_of(result);
}

Value searchsorted(const Call& c) {
  const bool int32 = c.flag(2, "out_int32", false), right = c.flag(3, "right", false);
  const std::string side = c.string(4, "side", "");
  const auto which = side.empty() ? tenon::optional<std::string_view>() : side;
  const tenon::optional<Tensor> sorter = c.maybe_tensor(5, "sorter");
  if (c.need(1, "values").is<Tensor>()) return tenon::searchsorted(c.tensor(0), c.tensor(1, "values"), int32, right, which, sorter);
  return tenon::searchsorted(c.tensor(0), c.scalar(1, "values"), int32, right, which, sorter);
}

}  // namespace

void add_order(Table& t) {
  t["sort"] = [](const Call& c) {
    const bool stable = c.flag(Call::kNamed, "stable", false);
    const int64_t dim = c.integer(1, "dim", -1);
    return value_and_index("sort", tenon::sort(c.tensor(0), tenon::optional<bool>(stable), dim, c.flag(2, "descending", false)));
  };
  t["unique"] = unique;
  t["searchsorted"] = searchsorted;

  t["nonzero"] = [](const Call& c) -> Value {
    return c.flag(Call::kNamed, "as_tuple", false) ? Value(list_of(tenon::nonzero_numpy(c.tensor(0)))) : Value(tenon::nonzero(c.tensor(0)));
  };
}

}  // namespace python
