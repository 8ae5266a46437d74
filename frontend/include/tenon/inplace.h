// Methods that write into their tensor, as functions: relu_(x) is x.relu_(). Included by tenon.h.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

#define TENON_DEFINE(name) \
  inline Tensor& name##_(Tensor& self) { return self.name##_(); }
TENON_UNARY_INPLACE_OPS(TENON_DEFINE)
TENON_DEFINE(zero)
TENON_DEFINE(detach)
#undef TENON_DEFINE
#define TENON_DEFINE(name) \
  inline Tensor& name##_(Tensor& self, const Tensor& other) { return self.name##_(other); }
TENON_BINARY_TENSOR_INPLACE_OPS(TENON_DEFINE)
#undef TENON_DEFINE
inline Tensor& xlogy_(Tensor& self, const Tensor& other) { return self.xlogy_(other); }
inline Tensor& xlogy_(Tensor& self, const Scalar& other) { return self.xlogy_(other); }
inline Tensor& fill_(Tensor& self, const Scalar& value) { return self.fill_(value); }
inline Tensor& fill_(Tensor& self, const Tensor& value) { return self.fill_(value); }
inline Tensor& clamp_(Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt) {
  return self.clamp_(min, max);
}
inline Tensor& clamp_(Tensor& self, const optional<Tensor>& min, const optional<Tensor>& max) {
  return self.clamp_(min, max);
}
inline Tensor& clip_(Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt) {
  return self.clamp_(min, max);
}
inline Tensor& clamp_min_(Tensor& self, const Scalar& min) { return self.clamp_min_(min); }
inline Tensor& clamp_max_(Tensor& self, const Scalar& max) { return self.clamp_max_(max); }
inline Tensor& nan_to_num_(Tensor& self, optional<double> nan = nullopt, optional<double> posinf = nullopt,
                           optional<double> neginf = nullopt) {
  return self.nan_to_num_(nan, posinf, neginf);
}
inline Tensor& logit_(Tensor& self, optional<double> eps = nullopt) { return self.logit_(eps); }
inline Tensor& addmv_(Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta = 1,
                      const Scalar& alpha = 1) {
  return self.addmv_(mat, vec, beta, alpha);
}
inline const Tensor& resize_as_(const Tensor& self, const Tensor& the_template) {
  return self.resize_as_(the_template);
}

// --- activations: the function's result, written into self
#define TENON_DEFINE(name) \
  inline Tensor& name##_(Tensor& self) { return self.copy_(tenon::name(self.clone())); }
TENON_DEFINE(relu6)
TENON_DEFINE(selu)
TENON_DEFINE(silu)
TENON_DEFINE(mish)
TENON_DEFINE(hardsigmoid)
TENON_DEFINE(hardswish)
#undef TENON_DEFINE
inline Tensor& leaky_relu_(Tensor& self, const Scalar& negative_slope = 0.01) {
  return self.copy_(leaky_relu(self.clone(), negative_slope));
}
inline Tensor& elu_(Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1, const Scalar& input_scale = 1) {
  return self.copy_(elu(self.clone(), alpha, scale, input_scale));
}
inline Tensor& celu_(Tensor& self, const Scalar& alpha = 1.0) { return self.copy_(celu(self.clone(), alpha)); }
inline Tensor& gelu_(Tensor& self, std::string_view approximate = "none") {
  return self.copy_(gelu(self.clone(), approximate));
}
inline Tensor& hardtanh_(Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1) {
  return self.copy_(hardtanh(self.clone(), min_val, max_val));
}
inline Tensor& threshold_(Tensor& self, const Scalar& threshold, const Scalar& value) {
  return self.copy_(tenon::threshold(self.clone(), threshold, value));
}

}  // namespace tenon
