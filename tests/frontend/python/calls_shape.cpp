// Views, joining, padding.
#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;

namespace {

Value split_function(const Call& c) {
  const Value& size = c.need(1, "split_size_or_sections");
  const int64_t dim = c.integer(2, "dim", 0);
  return size.is<List>() ? list_of(tenon::split(c.tensor(0), ints_of(size), dim))
                         : list_of(tenon::split(c.tensor(0), size.as<int64_t>(), dim));
}

// hsplit, vsplit, tensor_split: into so many parts, or at these places
template <typename Parts, typename Places>
Function cut(Parts parts, Places places) {
  return [=](const Call& c) -> Value {
    const Value& where = c.need(1, "indices_or_sections");
    return list_of(where.is<List>() ? places(c, ints_of(where)) : parts(c, where.as<int64_t>()));
  };
}

Value meshgrid_function(const Call& c) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < c.positional.size(); ++i) tensors.push_back(c.tensor(i));
  return list_of(tenon::meshgrid(tensors, c.string(Call::kNamed, "indexing", "ij")));
}

void add_views(Table& t) {
  t["Tensor.unfold"] = [](const Call& c) -> Value {
    return c.tensor(0).unfold(c.integer(1, "dimension"), c.integer(2, "size"), c.integer(3, "step"));
  };
  t[".real"] = [](const Call& c) -> Value { return tenon::real(c.tensor(0)); };
  t[".data"] = [](const Call& c) -> Value { return c.tensor(0).data(); };
  t["tensor_split"] = cut([](const Call& c, int64_t n) { return tenon::tensor_split(c.tensor(0), n, c.integer(2, "dim", 0)); },
                          [](const Call& c, const Ints& at) { return tenon::tensor_split(c.tensor(0), at, c.integer(2, "dim", 0)); });
  t["hsplit"] = cut([](const Call& c, int64_t n) { return tenon::hsplit(c.tensor(0), n); },
                    [](const Call& c, const Ints& at) { return tenon::hsplit(c.tensor(0), at); });
  t["vsplit"] = cut([](const Call& c, int64_t n) { return tenon::vsplit(c.tensor(0), n); },
                    [](const Call& c, const Ints& at) { return tenon::vsplit(c.tensor(0), at); });
  t["meshgrid"] = meshgrid_function;
}

}  // namespace

void add_shape(Table& t) {
  t[".T"] = [](const Call& c) -> Value { return c.tensor(0).numpy_T(); };
  t[".mT"] = [](const Call& c) -> Value { return c.tensor(0).mT(); };
  t[".shape"] = [](const Call& c) -> Value { return size_of(c.tensor(0).sizes()); };
  t["torch.Size"] = [](const Call& c) -> Value { return size_of(c.ints(0, "sizes")); };
  t[".ndim"] = [](const Call& c) -> Value { return c.tensor(0).dim(); };
  t["dim"] = [](const Call& c) -> Value { return c.tensor(0).dim(); };
  using tenon::IntArrayRef;
  auto with_ints = [&](const char* name, const char* argument, Tensor (*f)(const tenon::Operand&, IntArrayRef)) {
    t[name] = [=](const Call& c) -> Value { return f(c.tensor(0), c.rest_as_ints(1, argument)); };
  };
  with_ints("reshape", "shape", tenon::reshape);
  t["view"] = [](const Call& c) -> Value {
    if (c.need(1, "size").is<tenon::ScalarType>()) return c.tensor(0).view(c.need(1, "dtype").as<tenon::ScalarType>());
    return tenon::view(c.tensor(0), c.rest_as_ints(1, "size"));
  };
  with_ints("permute", "dims", tenon::permute);
  with_ints("expand", "size", tenon::expand);
  with_ints("broadcast_to", "size", tenon::broadcast_to);
  with_ints("flip", "dims", tenon::flip);
  with_ints("tile", "dims", tenon::tile);
  t["repeat"] = [](const Call& c) -> Value { return c.tensor(0).repeat(c.rest_as_ints(1, "repeats")); };
  t["swapaxes"] = t["transpose"];
  t["moveaxis"] = t["movedim"];
  t["split"] = split_function;
  t["contiguous"] = [](const Call& c) -> Value { return c.tensor(0).contiguous(); };
  t["cat"] = [](const Call& c) -> Value {
    if (c.has(Call::kNamed, "out")) {
      Tensor out = c.tensor(Call::kNamed, "out");
      return tenon::cat_out(out, c.tensors(0, "tensors"), c.integer(1, "dim", 0));
    }
    return tenon::cat(c.tensors(0, "tensors"), c.integer(1, "dim", 0));
  };
  t["pad"] = [](const Call& c) -> Value {
    if (c.has(Call::kNamed, "mode")) throw Unsupported("padding modes");
    return tenon::constant_pad_nd(c.tensor(0), c.ints(1, "pad"), c.real(Call::kNamed, "value", 0));
  };
  t["size"] = [](const Call& c) -> Value {
    if (!c.has(1, "dim")) return size_of(c.tensor(0).sizes());
    return c.tensor(0).size(c.integer(1, "dim"));
  };
  t["concat"] = t["cat"];
  t["swapdims"] = t["transpose"];
  t["expand_as"] = [](const Call& c) -> Value { return c.tensor(0).expand_as(c.tensor(1)); };
  t["view_as"] = [](const Call& c) -> Value { return c.tensor(0).view_as(c.tensor(1)); };
  t["reshape_as"] = [](const Call& c) -> Value { return c.tensor(0).reshape_as(c.tensor(1)); };
  t["broadcast_tensors"] = [](const Call& c) -> Value {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < c.positional.size(); ++i) tensors.push_back(c.tensor(i));
    return list_of(tenon::broadcast_tensors(tensors));
  };
  t["detach"] = [](const Call& c) -> Value { return c.tensor(0).detach(); };
  t["numel"] = [](const Call& c) -> Value { return c.tensor(0).numel(); };
  add_views(t);
}

}  // namespace python
