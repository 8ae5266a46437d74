// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Functions that are another name of a function.
#include "tenon/native.h"
#include "tenon/tenon.h"

namespace tenon {

Tensor absolute(const Operand& self) {
  return tenon::abs(self);
}
Tensor negative(const Operand& self) {
  return tenon::neg(self);
}
Tensor fix(const Operand& self) {
  return tenon::trunc(self);
}
Tensor arctan2(const Operand& self, const Operand& other) {
  return tenon::atan2(self, other);
}
Tensor swapaxes(const Operand& self, int64_t axis0, int64_t axis1) {
  return tenon::transpose(self, axis0, axis1);
}
Tensor broadcast_to(const Operand& self, IntArrayRef size) {
  return tenon::expand(self, size);
}
Tensor concat(TensorList tensors, int64_t dim) {
  return tenon::cat(tensors, dim);
}
Tensor max(const Operand& self, const Operand& other) {
  return tenon::maximum(self, other);
}
Tensor min(const Operand& self, const Operand& other) {
  return tenon::minimum(self, other);
}
Tensor subtract(const Operand& self, const Operand& other, const Scalar& alpha) {
  return tenon::sub(self, other, alpha);
}
Tensor subtract(const Operand& self, const Scalar& other, const Scalar& alpha) {
  return tenon::sub(self, other, alpha);
}
Tensor divide(const Operand& self, const Operand& other) {
  return tenon::div(self, other);
}
Tensor divide(const Operand& self, const Scalar& other) {
  return tenon::div(self, other);
}
Tensor divide(const Operand& self, const Operand& other, optional<std::string_view> rounding_mode) {
  return tenon::div(self, other, rounding_mode);
}
Tensor divide(const Operand& self, const Scalar& other, optional<std::string_view> rounding_mode) {
  return tenon::div(self, other, rounding_mode);
}
Tensor clip(const Operand& self, const optional<Scalar>& min, const optional<Scalar>& max) {
  return tenon::clamp(self, min, max);
}
Tensor clip(const Operand& self, const optional<Tensor>& min, const optional<Tensor>& max) {
  return tenon::clamp(self, min, max);
}
Tensor ger(const Operand& self, const Operand& vec2) {
  return tenon::outer(self, vec2);
}
Tensor linalg::cross(const Operand& self, const Operand& other, int64_t dim) {
  return tenon::linalg_cross(self, other, dim);
}
Tensor linalg::vector_norm(const Operand& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim,
                           optional<ScalarType> dtype) {
  return tenon::linalg_vector_norm(self, ord, dim, keepdim, dtype);
}
Tensor concatenate(TensorList tensors, int64_t dim) {
  return tenon::cat(tensors, dim);
}
Tensor row_stack(TensorList tensors) {
  return tenon::vstack(tensors);
}
Tensor trapz(const Operand& y, const Operand& x, int64_t dim) {
  return tenon::trapezoid(y, x, dim);
}
Tensor matrix_power(const Operand& self, int64_t n) {
  return tenon::linalg_matrix_power(self, n);
}
Tensor moveaxis(const Operand& self, int64_t source, int64_t destination) {
  return tenon::movedim(self, source, destination);
}
std::vector<Tensor> where(const Operand& condition) {
  return tenon::nonzero_numpy(condition);
}
Tensor argwhere(const Operand& self) {
  return tenon::nonzero(self);
}
Tensor swapdims(const Operand& self, int64_t dim0, int64_t dim1) {
  return tenon::transpose(self, dim0, dim1);
}
Tensor empty_like(const Tensor& self, const TensorOptions& options) {
  return tenon::zeros_like(self, options);
}
Tensor linalg_diagonal(const Operand& A, int64_t offset, int64_t dim1, int64_t dim2) {
  return tenon::diagonal(A, offset, dim1, dim2);
}
Tensor linalg_matmul(const Operand& self, const Operand& other) {
  return tenon::matmul(self, other);
}
Tensor linalg::norm(const Operand& self, const optional<Scalar>& ord, OptionalIntArrayRef dim, bool keepdim,
                    optional<ScalarType> dtype) {
  return tenon::linalg_norm(self, ord, dim, keepdim, dtype);
}
Tensor linalg::norm(const Operand& self, std::string_view ord, OptionalIntArrayRef dim, bool keepdim,
                    optional<ScalarType> dtype) {
  return tenon::linalg_norm(self, ord, dim, keepdim, dtype);
}
Tensor linalg::norm(const Operand& self) {
  return tenon::linalg_norm(self);
}
Tensor linalg::matrix_norm(const Operand& self, const Scalar& ord, IntArrayRef dim, bool keepdim,
                           optional<ScalarType> dtype) {
  return tenon::linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
Tensor linalg::matrix_norm(const Operand& self, std::string_view ord, IntArrayRef dim, bool keepdim,
                           optional<ScalarType> dtype) {
  return tenon::linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
Tensor linalg::matrix_power(const Operand& self, int64_t n) {
  return tenon::linalg_matrix_power(self, n);
}
Tensor linalg::multi_dot(TensorList tensors) {
  return tenon::linalg_multi_dot(tensors);
}
Tensor linalg::vecdot(const Operand& x, const Operand& y, int64_t dim) {
  return tenon::linalg_vecdot(x, y, dim);
}
Tensor linalg::diagonal(const Operand& A, int64_t offset, int64_t dim1, int64_t dim2) {
  return tenon::linalg_diagonal(A, offset, dim1, dim2);
}
Tensor linalg::matmul(const Operand& self, const Operand& other) {
  return tenon::linalg_matmul(self, other);
}
Tensor linalg::vander(const Operand& x, optional<int64_t> N) {
  return tenon::linalg_vander(x, N);
}
Tensor special::digamma(const Operand& self) {
  return tenon::digamma(self);
}
Tensor special::psi(const Operand& self) {
  return tenon::digamma(self);
}
Tensor special::erf(const Operand& self) {
  return tenon::erf(self);
}
Tensor special::erfc(const Operand& self) {
  return tenon::erfc(self);
}
Tensor special::erfinv(const Operand& self) {
  return tenon::erfinv(self);
}
Tensor special::exp2(const Operand& self) {
  return tenon::exp2(self);
}
Tensor special::expit(const Operand& self) {
  return tenon::sigmoid(self);
}
Tensor special::expm1(const Operand& self) {
  return tenon::expm1(self);
}
Tensor special::gammaln(const Operand& self) {
  return tenon::lgamma(self);
}
Tensor special::i0(const Operand& self) {
  return tenon::i0(self);
}
Tensor special::log1p(const Operand& self) {
  return tenon::log1p(self);
}
Tensor special::sinc(const Operand& self) {
  return tenon::sinc(self);
}
Tensor special::modified_bessel_i0(const Operand& self) {
  return tenon::i0(self);
}
Tensor special::modified_bessel_i1(const Operand& self) {
  return tenon::special::i1(self);
}
Tensor special::round(const Operand& self, int64_t decimals) {
  return tenon::round(self, decimals);
}
Tensor special::logit(const Operand& self, optional<double> eps) {
  return tenon::logit(self, eps);
}
Tensor special::polygamma(int64_t n, const Operand& self) {
  return tenon::polygamma(n, self);
}
Tensor special::multigammaln(const Operand& self, int64_t p) {
  return tenon::mvlgamma(self, p);
}
Tensor special::logsumexp(const Operand& self, IntArrayRef dim, bool keepdim) {
  return tenon::logsumexp(self, dim, keepdim);
}
Tensor special::softmax(const Operand& self, int64_t dim, optional<ScalarType> dtype) {
  return tenon::softmax(self, dim, dtype);
}
Tensor special::log_softmax(const Operand& self, int64_t dim, optional<ScalarType> dtype) {
  return tenon::log_softmax(self, dim, dtype);
}
Tensor special::xlogy(const Operand& self, const Operand& other) {
  return tenon::xlogy(self, other);
}
Tensor special::xlogy(const Operand& self, const Scalar& other) {
  return tenon::xlogy(self, other);
}
Tensor special_entr(const Operand& self) {
  return tenon::special::entr(self);
}
Tensor special_erfcx(const Operand& self) {
  return tenon::special::erfcx(self);
}
Tensor special_ndtr(const Operand& self) {
  return tenon::special::ndtr(self);
}
Tensor special_ndtri(const Operand& self) {
  return tenon::special::ndtri(self);
}
Tensor special_log_ndtr(const Operand& self) {
  return tenon::special::log_ndtr(self);
}
Tensor special_i0e(const Operand& self) {
  return tenon::special::i0e(self);
}
Tensor special_i1(const Operand& self) {
  return tenon::special::i1(self);
}
Tensor special_i1e(const Operand& self) {
  return tenon::special::i1e(self);
}
Tensor special_bessel_j0(const Operand& self) {
  return tenon::special::bessel_j0(self);
}
Tensor special_bessel_j1(const Operand& self) {
  return tenon::special::bessel_j1(self);
}
Tensor special_bessel_y0(const Operand& self) {
  return tenon::special::bessel_y0(self);
}
Tensor special_bessel_y1(const Operand& self) {
  return tenon::special::bessel_y1(self);
}
Tensor special_modified_bessel_k0(const Operand& self) {
  return tenon::special::modified_bessel_k0(self);
}
Tensor special_modified_bessel_k1(const Operand& self) {
  return tenon::special::modified_bessel_k1(self);
}
Tensor special_scaled_modified_bessel_k0(const Operand& self) {
  return tenon::special::scaled_modified_bessel_k0(self);
}
Tensor special_scaled_modified_bessel_k1(const Operand& self) {
  return tenon::special::scaled_modified_bessel_k1(self);
}
Tensor special_spherical_bessel_j0(const Operand& self) {
  return tenon::special::spherical_bessel_j0(self);
}
Tensor special_digamma(const Operand& self) {
  return tenon::digamma(self);
}
Tensor special_psi(const Operand& self) {
  return tenon::digamma(self);
}
Tensor special_erf(const Operand& self) {
  return tenon::erf(self);
}
Tensor special_erfc(const Operand& self) {
  return tenon::erfc(self);
}
Tensor special_erfinv(const Operand& self) {
  return tenon::erfinv(self);
}
Tensor special_exp2(const Operand& self) {
  return tenon::exp2(self);
}
Tensor special_expit(const Operand& self) {
  return tenon::sigmoid(self);
}
Tensor special_expm1(const Operand& self) {
  return tenon::expm1(self);
}
Tensor special_gammaln(const Operand& self) {
  return tenon::lgamma(self);
}
Tensor special_i0(const Operand& self) {
  return tenon::i0(self);
}
Tensor special_log1p(const Operand& self) {
  return tenon::log1p(self);
}
Tensor special_sinc(const Operand& self) {
  return tenon::sinc(self);
}
Tensor special_modified_bessel_i0(const Operand& self) {
  return tenon::i0(self);
}

}  // namespace tenon
