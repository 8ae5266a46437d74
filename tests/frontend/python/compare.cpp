// Element by element in double, which holds every floating type.
#include "frontend/python/compare.h"

#include <cmath>
#include <sstream>

namespace python {

using tenon::Tensor;

std::vector<Tensor> flat(const Value& v) {
  if (v.is<Tensor>()) return {v.as<Tensor>()};
  std::vector<Tensor> result;
  for (const Value& item : v.as<List>().items) result.push_back(item.as<Tensor>());
  return result;
}

std::string difference(const Tensor& got, const Tensor& want, double rtol, double atol, bool sign_of_zero) {
  std::ostringstream out;
  out.precision(17);
  if (got.scalar_type() != want.scalar_type()) {
    out << "dtype " << got.scalar_type() << ", expected " << want.scalar_type();
    return out.str();
  }
  if (!(got.sizes() == want.sizes())) {
    out << "shape " << got.sizes() << ", expected " << want.sizes();
    return out.str();
  }
  if (!got.is_floating_point()) {
    if (!tenon::equal(got, want)) out << got << ", expected " << want;
    return out.str();
  }
  const Tensor a = got.detach().to(tenon::kDouble).contiguous(), b = want.to(tenon::kDouble).contiguous();
  const double *x = a.data_ptr<double>(), *y = b.data_ptr<double>();
  for (int64_t i = 0; i < a.numel(); ++i) {
    const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    const bool near = std::isfinite(x[i]) && std::isfinite(y[i]) && std::abs(x[i] - y[i]) <= atol + rtol * std::abs(y[i]);
    const bool sign = !sign_of_zero || std::isnan(x[i]) || std::signbit(x[i]) == std::signbit(y[i]);
    if ((same || near) && sign) continue;
    out << "element " << i << ": " << x[i] << ", expected " << y[i];
    return out.str();
  }
  return out.str();
}

}  // namespace python
