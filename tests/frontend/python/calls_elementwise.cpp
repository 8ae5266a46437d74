// Arithmetic, comparison, activations.
#include "frontend/python/call.h"

namespace python {

using tenon::Scalar;
using tenon::Tensor;

namespace {

// Tensor-or-number second operand.
template <typename T, typename S>
Function either(T with_tensor, S with_scalar) {
  return [=](const Call& c) -> Value {
    if (is_number(c.need(0, "input"))) throw Unsupported("a number on the left");
    const Value& other = c.need(1, "other");
    return other.is<Tensor>() ? with_tensor(c.tensor(0), other.as<Tensor>())
                              : with_scalar(c.tensor(0), to_scalar(other));
  };
}

Value div_function(const Call& c) {
  tenon::optional<std::string_view> mode;
  std::string text;
  if (c.has(Call::kNamed, "rounding_mode")) mode = text = c.string(Call::kNamed, "rounding_mode", "");
  const Value& other = c.need(1, "other");
  return other.is<Tensor>() ? c.tensor(0).div(other.as<Tensor>(), mode)
                            : c.tensor(0).div(to_scalar(other), mode);
}

Value add_or_sub(const Call& c, bool add) {
  const Scalar alpha = c.scalar(Call::kNamed, "alpha", 1);
  const Value& other = c.need(1, "other");
  if (other.is<Tensor>())
    return add ? tenon::add(c.tensor(0), other.as<Tensor>(), alpha)
               : tenon::sub(c.tensor(0), other.as<Tensor>(), alpha);
  return add ? tenon::add(c.tensor(0), to_scalar(other), alpha)
             : tenon::sub(c.tensor(0), to_scalar(other), alpha);
}

Value pow_function(const Call& c) {
  const Value &base = c.need(0, "input"), &exponent = c.need(1, "exponent");
  if (!base.is<Tensor>()) return tenon::pow(to_scalar(base), exponent.as<Tensor>());
  return exponent.is<Tensor>() ? tenon::pow(base.as<Tensor>(), exponent.as<Tensor>())
                               : tenon::pow(base.as<Tensor>(), to_scalar(exponent));
}

Value where_function(const Call& c) {
  const Value &a = c.need(1, "input"), &b = c.need(2, "other");
  const Tensor& condition = c.tensor(0, "condition");
  if (a.is<Tensor>() && b.is<Tensor>()) return tenon::where(condition, a.as<Tensor>(), b.as<Tensor>());
  if (a.is<Tensor>()) return tenon::where(condition, a.as<Tensor>(), to_scalar(b));
  return b.is<Tensor>() ? tenon::where(condition, to_scalar(a), b.as<Tensor>())
                        : tenon::where(condition, to_scalar(a), to_scalar(b));
}

Value clamp_function(const Call& c) {
  for (const auto& [i, name] : {std::pair<size_t, const char*>{1, "min"}, {2, "max"}}) {
    if (c.has(i, name) && c.need(i, name).is<Tensor>()) {
      return tenon::clamp(c.tensor(0), c.maybe_tensor(1, "min"), c.maybe_tensor(2, "max"));
    }
  }
  return tenon::clamp(c.tensor(0), c.maybe_scalar(1, "min"), c.maybe_scalar(2, "max"));
}

void add_regular(Table& t) {
#define X(name) t[#name] = [](const Call& c) -> Value { return tenon::name(c.tensor(0)); };
  TENON_UNARY_OPS(X)
  TENON_ACTIVATIONS(X)
#undef X
#define X(name) t[#name] = [](const Call& c) -> Value { return tenon::name(c.tensor(0), c.tensor(1)); };
  TENON_BINARY_TENSOR_OPS(X)
#undef X
#define X(name)                                                                         \
  t[#name] = either([](const Tensor& a, const Tensor& b) { return tenon::name(a, b); }, \
                    [](const Tensor& a, const Scalar& b) { return tenon::name(a, b); });
  TENON_BINARY_OPS(X)
#undef X
  t["logsigmoid"] = t["log_sigmoid"];
  t["round"] = [](const Call& c) -> Value {
    if (!c.has(1, "decimals")) return tenon::round(c.tensor(0));
    return tenon::round(c.tensor(0), c.integer(1, "decimals"));
  };
}

}  // namespace

void add_elementwise(Table& t) {
  add_regular(t);
  t["add"] = [](const Call& c) -> Value {
    if (!c.has(Call::kNamed, "out")) return add_or_sub(c, true);
    Tensor out = c.tensor(Call::kNamed, "out");
    return tenon::add_out(out, c.tensor(0), c.tensor(1));
  };
  t["sub"] = [](const Call& c) { return add_or_sub(c, false); };
  t["div"] = div_function;
  t["pow"] = pow_function;
  t["where"] = where_function;
  t["clamp"] = clamp_function;
  t["masked_fill"] = [](const Call& c) -> Value {
    const Value& v = c.need(2, "value");
    return v.is<Tensor>() ? tenon::masked_fill(c.tensor(0), c.tensor(1), v.as<Tensor>())
                          : tenon::masked_fill(c.tensor(0), c.tensor(1), to_scalar(v));
  };
  t["lerp"] = [](const Call& c) -> Value {
    const Value& w = c.need(2, "weight");
    return w.is<Tensor>() ? tenon::lerp(c.tensor(0), c.tensor(1), w.as<Tensor>())
                          : tenon::lerp(c.tensor(0), c.tensor(1), to_scalar(w));
  };
  t["addcmul"] = [](const Call& c) -> Value {
    return tenon::addcmul(c.tensor(0), c.tensor(1), c.tensor(2), c.scalar(3, "value", 1));
  };
  t["addcdiv"] = [](const Call& c) -> Value {
    return tenon::addcdiv(c.tensor(0), c.tensor(1), c.tensor(2), c.scalar(3, "value", 1));
  };
  t["nan_to_num"] = [](const Call& c) -> Value {
    return tenon::nan_to_num(c.tensor(0), c.maybe_real(1, "nan"), c.maybe_real(2, "posinf"),
                             c.maybe_real(3, "neginf"));
  };
  t["logit"] = [](const Call& c) -> Value { return tenon::logit(c.tensor(0), c.maybe_real(1, "eps")); };
  t["leaky_relu"] = [](const Call& c) -> Value {
    return tenon::leaky_relu(c.tensor(0), c.scalar(1, "negative_slope", 0.01));
  };
  t["elu"] = [](const Call& c) -> Value { return tenon::elu(c.tensor(0), c.scalar(1, "alpha", 1)); };
  t["celu"] = [](const Call& c) -> Value { return tenon::celu(c.tensor(0), c.scalar(1, "alpha", 1)); };
  t["gelu"] = [](const Call& c) -> Value {
    return tenon::gelu(c.tensor(0), c.string(1, "approximate", "none"));
  };
  t["softplus"] = [](const Call& c) -> Value {
    return tenon::softplus(c.tensor(0), c.scalar(1, "beta", 1), c.scalar(2, "threshold", 20));
  };
  t["hardtanh"] = [](const Call& c) -> Value {
    return tenon::hardtanh(c.tensor(0), c.scalar(1, "min_val", -1), c.scalar(2, "max_val", 1));
  };
  t["hardshrink"] = [](const Call& c) -> Value {
    return tenon::hardshrink(c.tensor(0), c.scalar(1, "lambd", 0.5));
  };
  t["softshrink"] = [](const Call& c) -> Value {
    return tenon::softshrink(c.tensor(0), c.scalar(1, "lambd", 0.5));
  };
  t["threshold"] = [](const Call& c) -> Value {
    return tenon::threshold(c.tensor(0), c.scalar(1, "threshold"), c.scalar(2, "value"));
  };
  t["clamp_min"] = either([](const Tensor& a, const Tensor& b) { return tenon::clamp_min(a, b); },
                          [](const Tensor& a, const Scalar& b) { return tenon::clamp_min(a, b); });
  t["clamp_max"] = either([](const Tensor& a, const Tensor& b) { return tenon::clamp_max(a, b); },
                          [](const Tensor& a, const Scalar& b) { return tenon::clamp_max(a, b); });
  t["float_power"] = either([](const Tensor& a, const Tensor& b) { return tenon::float_power(a, b); },
                            [](const Tensor& a, const Scalar& b) { return tenon::float_power(a, b); });
  t["equal"] = [](const Call& c) -> Value { return tenon::equal(c.tensor(0), c.tensor(1)); };
  t["allclose"] = [](const Call& c) -> Value {
    return tenon::allclose(c.tensor(0), c.tensor(1), c.real(2, "rtol", 1e-05), c.real(3, "atol", 1e-08),
                           c.flag(4, "equal_nan", false));
  };
  t["isclose"] = [](const Call& c) -> Value {
    return tenon::isclose(c.tensor(0), c.tensor(1), c.real(2, "rtol", 1e-05), c.real(3, "atol", 1e-08),
                          c.flag(4, "equal_nan", false));
  };
}

}  // namespace python
