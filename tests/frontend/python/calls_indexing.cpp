// Subscripts on both sides of an assignment; gather, scatter, sort, cumulative sums, search.
#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;
using tenon::indexing::Slice;
using tenon::indexing::TensorIndex;

namespace {

// A list of integers or bools is a tensor of them.
TensorIndex list_index(const List& list) {
  const bool bools = !list.items.empty() && list.items[0].is<bool>();
  return tenon::tensor(ints_of(list)).to(bools ? tenon::kBool : tenon::kLong);
}

}  // namespace

std::vector<TensorIndex> tensor_indices(const std::vector<Value>& indices) {
  std::vector<TensorIndex> result;
  for (const Value& i : indices) {
    if (i.is<None>()) {
      result.emplace_back(std::nullopt);
    } else if (i.is<Ellipsis>()) {
      result.emplace_back("...");
    } else if (i.is<SliceValue>()) {
      const SliceValue& s = i.as<SliceValue>();
      result.emplace_back(Slice(s.start, s.stop, s.step));
    } else if (i.is<bool>()) {
      result.emplace_back(i.as<bool>());
    } else if (i.is<Tensor>()) {
      result.emplace_back(i.as<Tensor>());
    } else if (i.is<List>()) {
      result.push_back(list_index(i.as<List>()));
    } else {
      result.emplace_back(i.as<int64_t>());
    }
  }
  return result;
}

Value get_item(const Tensor& x, const std::vector<Value>& indices) { return x.index(tensor_indices(indices)); }

void set_item(const Tensor& x, const std::vector<Value>& indices, const Value& v) {
  if (v.is<Tensor>()) x.index_put_(tensor_indices(indices), v.as<Tensor>());
  else x.index_put_(tensor_indices(indices), to_scalar(v));
}

void add_indexing(Table& t) {
  t["index_put"] = [](const Call& c) -> Value {
    return c.tensor(0).index_put(tensor_indices(c.need(1, "indices").as<List>().items), c.tensor(2, "values"),
                                 c.flag(3, "accumulate", false));
  };
  t["index_put_"] = [](const Call& c) -> Value {
    return c.tensor(0).index_put_(tensor_indices(c.need(1, "indices").as<List>().items), c.tensor(2, "values"),
                                  c.flag(3, "accumulate", false));
  };
}

}  // namespace python
