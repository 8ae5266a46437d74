// Methods that write into their tensor.
#include "frontend/python/call.h"

namespace python {

using tenon::Scalar;
using tenon::Tensor;

namespace {

// f(x, operand), the operand a tensor or a number.
template <typename T, typename S>
Function either(T with_tensor, S with_scalar) {
  return [=](const Call& c) -> Value {
    const Value& other = c.need(1, "other");
    return other.is<Tensor>() ? with_tensor(c.tensor(0), other.as<Tensor>())
                              : with_scalar(c.tensor(0), to_scalar(other));
  };
}

void add_regular(Table& t) {
#define X(name) t[#name "_"] = [](const Call& c) -> Value { return c.tensor(0).name##_(); };
  TENON_UNARY_INPLACE_OPS(X)
  X(zero)
  X(t)
#undef X
#define X(name) t[#name "_"] = [](const Call& c) -> Value { return c.tensor(0).name##_(c.tensor(1)); };
  TENON_BINARY_TENSOR_INPLACE_OPS(X)
#undef X
#define X(name)                                                                        \
  t[#name "_"] = either([](const Tensor& a, const Tensor& b) { return a.name##_(b); }, \
                        [](const Tensor& a, const Scalar& b) { return a.name##_(b); });
  TENON_BINARY_OPS(X)
  X(pow)
  X(float_power)
  X(fill)
#undef X
}

Value add_or_sub(const Call& c, bool add) {
  const Scalar alpha = c.scalar(Call::kNamed, "alpha", 1);
  const Tensor& x = c.tensor(0);
  const Value& other = c.need(1, "other");
  if (other.is<Tensor>()) return add ? x.add_(other.as<Tensor>(), alpha) : x.sub_(other.as<Tensor>(), alpha);
  return add ? x.add_(to_scalar(other), alpha) : x.sub_(to_scalar(other), alpha);
}

Value div_inplace(const Call& c) {
  const Value& other = c.need(1, "other");
  if (!c.has(Call::kNamed, "rounding_mode"))
    return other.is<Tensor>() ? c.tensor(0).div_(other.as<Tensor>()) : c.tensor(0).div_(to_scalar(other));
  const std::string mode = c.string(Call::kNamed, "rounding_mode", "");
  return other.is<Tensor>() ? c.tensor(0).div_(other.as<Tensor>(), mode)
                            : c.tensor(0).div_(to_scalar(other), mode);
}

Value scatter_inplace(const Call& c) {
  const Tensor &x = c.tensor(0), &index = c.tensor(2, "index");
  const int64_t dim = c.integer(1, "dim");
  const Value& source = c.need(3, "src");
  return source.is<Tensor>() ? x.scatter_(dim, index, source.as<Tensor>())
                             : x.scatter_(dim, index, to_scalar(source));
}

// The shape alone changes.
void add_views_in_place(Table& t) {
  t["squeeze_"] = [](const Call& c) -> Value {
    return c.has(1, "dim") ? c.tensor(0).squeeze_(c.integer(1, "dim")) : c.tensor(0).squeeze_();
  };
  t["unsqueeze_"] = [](const Call& c) -> Value { return c.tensor(0).unsqueeze_(c.integer(1, "dim")); };
  t["transpose_"] = [](const Call& c) -> Value {
    return c.tensor(0).transpose_(c.integer(1, "dim0"), c.integer(2, "dim1"));
  };
}

void add_places(Table& t) {
  t["index_add_"] = [](const Call& c) -> Value {
    return c.tensor(0).index_add_(c.integer(1, "dim"), c.tensor(2, "index"), c.tensor(3, "source"),
                                  c.scalar(Call::kNamed, "alpha", 1));
  };
  t["index_copy_"] = [](const Call& c) -> Value {
    return c.tensor(0).index_copy_(c.integer(1, "dim"), c.tensor(2, "index"), c.tensor(3, "source"));
  };
  t["index_fill_"] = [](const Call& c) -> Value {
    const Value& v = c.need(3, "value");
    return v.is<Tensor>() ? c.tensor(0).index_fill_(c.integer(1, "dim"), c.tensor(2, "index"), v.as<Tensor>())
                          : c.tensor(0).index_fill_(c.integer(1, "dim"), c.tensor(2, "index"), to_scalar(v));
  };
  t["index_reduce_"] = [](const Call& c) -> Value {
    return c.tensor(0).index_reduce_(c.integer(1, "dim"), c.tensor(2, "index"), c.tensor(3, "source"),
                                     c.string(4, "reduce", ""), c.flag(Call::kNamed, "include_self", true));
  };
  t["scatter_"] = scatter_inplace;
  t["scatter_add_"] = [](const Call& c) -> Value {
    return c.tensor(0).scatter_add_(c.integer(1, "dim"), c.tensor(2, "index"), c.tensor(3, "src"));
  };
  t["scatter_reduce_"] = [](const Call& c) -> Value {
    return c.tensor(0).scatter_reduce_(c.integer(1, "dim"), c.tensor(2, "index"), c.tensor(3, "src"),
                                       c.string(4, "reduce", ""), c.flag(Call::kNamed, "include_self", true));
  };
  t["put_"] = [](const Call& c) -> Value {
    return c.tensor(0).put_(c.tensor(1, "index"), c.tensor(2, "source"), c.flag(3, "accumulate", false));
  };
  t["masked_fill_"] = [](const Call& c) -> Value {
    const Value& v = c.need(2, "value");
    return v.is<Tensor>() ? c.tensor(0).masked_fill_(c.tensor(1, "mask"), v.as<Tensor>())
                          : c.tensor(0).masked_fill_(c.tensor(1, "mask"), to_scalar(v));
  };
  t["masked_scatter_"] = [](const Call& c) -> Value {
    return c.tensor(0).masked_scatter_(c.tensor(1, "mask"), c.tensor(2, "source"));
  };
}

// Of several operands.
void add_sums(Table& t) {
  t["addcmul_"] = [](const Call& c) -> Value {
    return c.tensor(0).addcmul_(c.tensor(1), c.tensor(2), c.scalar(Call::kNamed, "value", 1));
  };
  t["addcdiv_"] = [](const Call& c) -> Value {
    return c.tensor(0).addcdiv_(c.tensor(1), c.tensor(2), c.scalar(Call::kNamed, "value", 1));
  };
  t["lerp_"] = [](const Call& c) -> Value {
    const Value& w = c.need(2, "weight");
    return w.is<Tensor>() ? c.tensor(0).lerp_(c.tensor(1), w.as<Tensor>())
                          : c.tensor(0).lerp_(c.tensor(1), to_scalar(w));
  };
  using Sum =
      Tensor& (Tensor::*)(const tenon::Operand&, const tenon::Operand&, const Scalar&, const Scalar&) const;
  for (const auto& [name, f] : {std::pair<const char*, Sum>{"addmm_", &Tensor::addmm_},
                                {"addmv_", &Tensor::addmv_},
                                {"baddbmm_", &Tensor::baddbmm_},
                                {"addr_", &Tensor::addr_},
                                {"addbmm_", &Tensor::addbmm_}}) {
    t[name] = [f = f](const Call& c) -> Value {
      return (c.tensor(0).*f)(c.tensor(1), c.tensor(2), c.scalar(Call::kNamed, "beta", 1),
                              c.scalar(Call::kNamed, "alpha", 1));
    };
  }
}

}  // namespace

void add_inplace(Table& t) {
  add_regular(t);
  add_views_in_place(t);
  add_places(t);
  add_sums(t);
  t["round_"] = [](const Call& c) -> Value {
    return c.has(1, "decimals") ? c.tensor(0).round_(c.integer(1, "decimals")) : c.tensor(0).round_();
  };
  t["cumsum_"] = [](const Call& c) -> Value { return c.tensor(0).cumsum_(c.integer(1, "dim")); };
  t["cumprod_"] = [](const Call& c) -> Value { return c.tensor(0).cumprod_(c.integer(1, "dim")); };
  t["tril_"] = [](const Call& c) -> Value { return c.tensor(0).tril_(c.integer(1, "diagonal", 0)); };
  t["triu_"] = [](const Call& c) -> Value { return c.tensor(0).triu_(c.integer(1, "diagonal", 0)); };
  t["nan_to_num_"] = [](const Call& c) -> Value { return c.tensor(0).nan_to_num_(c.maybe_real(1, "nan")); };
  t["logit_"] = [](const Call& c) -> Value { return c.tensor(0).logit_(c.maybe_real(1, "eps")); };
  t["renorm_"] = [](const Call& c) -> Value {
    return c.tensor(0).renorm_(c.scalar(1, "p"), c.integer(2, "dim"), c.scalar(3, "maxnorm"));
  };
  t["add_"] = [](const Call& c) { return add_or_sub(c, true); };
  t["sub_"] = [](const Call& c) { return add_or_sub(c, false); };
  t["div_"] = div_inplace;
  t["clamp_"] = [](const Call& c) -> Value {
    return c.tensor(0).clamp_(c.maybe_scalar(1, "min"), c.maybe_scalar(2, "max"));
  };
  t["copy_"] = [](const Call& c) -> Value { return c.tensor(0).copy_(c.tensor(1, "src")); };
  t["fill_diagonal_"] = [](const Call& c) -> Value {
    return c.tensor(0).fill_diagonal_(c.scalar(1, "fill_value"), c.flag(2, "wrap", false));
  };
  t["resize_"] = [](const Call& c) -> Value { return c.tensor(0).resize_(c.rest_as_ints(1, "sizes")); };
  t["__setitem__"] = [](const Call& c) -> Value {
    const Value& index = c.need(1, "index");
    set_item(c.tensor(0), {index}, c.need(2, "value"));
    return None{};
  };
}

}  // namespace python
