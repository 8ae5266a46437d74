// Subscripts on both sides of an assignment; gather, scatter, sort, cumulative sums, search.
#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;
using tenon::indexing::Slice;
using tenon::indexing::TensorIndex;

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
    } else {
      result.emplace_back(i.as<int64_t>());
    }
  }
  return result;
}

Value get_item(const Tensor& x, const std::vector<Value>& indices) {
  return x.index(tensor_indices(indices));
}

void set_item(const Tensor&, const std::vector<Value>&, const Value&) {
  throw Unsupported("assignment to an index");
}

void add_indexing(Table&) {}

}  // namespace python
