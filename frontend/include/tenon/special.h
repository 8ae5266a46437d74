// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Special functions: LibTorch's namespace special, and its spellings at top level. Integers become the default
// float type; 16-bit floats are computed in float32.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// --- of one tensor
// ndtr is the normal distribution's, entr is -x log x, the `e` of i0e and i1e is a factor exp(-|x|).

namespace special {
Tensor entr(const Operand& self);
Tensor erfcx(const Operand& self);
Tensor ndtr(const Operand& self);
Tensor ndtri(const Operand& self);
Tensor log_ndtr(const Operand& self);
Tensor i0e(const Operand& self);
Tensor i1(const Operand& self);
Tensor i1e(const Operand& self);
Tensor bessel_j0(const Operand& self);
Tensor bessel_j1(const Operand& self);
Tensor bessel_y0(const Operand& self);
Tensor bessel_y1(const Operand& self);
Tensor modified_bessel_k0(const Operand& self);
Tensor modified_bessel_k1(const Operand& self);
Tensor scaled_modified_bessel_k0(const Operand& self);
Tensor scaled_modified_bessel_k1(const Operand& self);
Tensor spherical_bessel_j0(const Operand& self);
Tensor chebyshev_polynomial_t(const Operand& x, const Scalar& n);
Tensor chebyshev_polynomial_u(const Operand& x, const Scalar& n);
Tensor chebyshev_polynomial_v(const Operand& x, const Scalar& n);
Tensor chebyshev_polynomial_w(const Operand& x, const Scalar& n);
Tensor shifted_chebyshev_polynomial_t(const Operand& x, const Scalar& n);
Tensor shifted_chebyshev_polynomial_u(const Operand& x, const Scalar& n);
Tensor shifted_chebyshev_polynomial_v(const Operand& x, const Scalar& n);
Tensor shifted_chebyshev_polynomial_w(const Operand& x, const Scalar& n);
Tensor hermite_polynomial_h(const Operand& x, const Scalar& n);
Tensor hermite_polynomial_he(const Operand& x, const Scalar& n);
Tensor laguerre_polynomial_l(const Operand& x, const Scalar& n);
Tensor legendre_polynomial_p(const Operand& x, const Scalar& n);
Tensor digamma(const Operand& self);
Tensor psi(const Operand& self);
Tensor erf(const Operand& self);
Tensor erfc(const Operand& self);
Tensor erfinv(const Operand& self);
Tensor exp2(const Operand& self);
Tensor expit(const Operand& self);
Tensor expm1(const Operand& self);
Tensor gammaln(const Operand& self);
Tensor i0(const Operand& self);
Tensor log1p(const Operand& self);
Tensor sinc(const Operand& self);
Tensor modified_bessel_i0(const Operand& self);
Tensor modified_bessel_i1(const Operand& self);
Tensor round(const Operand& self, int64_t decimals = 0);
Tensor logit(const Operand& self, optional<double> eps = nullopt);
Tensor polygamma(int64_t n, const Operand& self);
Tensor multigammaln(const Operand& self, int64_t p);
Tensor logsumexp(const Operand& self, IntArrayRef dim, bool keepdim = false);
Tensor softmax(const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor log_softmax(const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor xlogy(const Operand& self, const Operand& other);
Tensor xlogy(const Operand& self, const Scalar& other);
Tensor xlogy(const Scalar& self, const Operand& other);
Tensor xlog1py(const Operand& self, const Operand& other);  // self * log1p(other), 0 where self is 0
Tensor xlog1py(const Operand& self, const Scalar& other);
Tensor xlog1py(const Scalar& self, const Operand& other);
// The Hurwitz zeta function of self > 1: the sum of (other + k) ** -self. Evaluates the least of `other`, on whose
// sign depends how many terms are summed.
Tensor zeta(const Operand& self, const Operand& other);
Tensor zeta(const Operand& self, const Scalar& other);
Tensor zeta(const Scalar& self, const Operand& other);

}  // namespace special
Tensor special_entr(const Operand& self);
Tensor special_erfcx(const Operand& self);
Tensor special_ndtr(const Operand& self);
Tensor special_ndtri(const Operand& self);
Tensor special_log_ndtr(const Operand& self);
Tensor special_i0e(const Operand& self);
Tensor special_i1(const Operand& self);
Tensor special_i1e(const Operand& self);
Tensor special_bessel_j0(const Operand& self);
Tensor special_bessel_j1(const Operand& self);
Tensor special_bessel_y0(const Operand& self);
Tensor special_bessel_y1(const Operand& self);
Tensor special_modified_bessel_k0(const Operand& self);
Tensor special_modified_bessel_k1(const Operand& self);
Tensor special_scaled_modified_bessel_k0(const Operand& self);
Tensor special_scaled_modified_bessel_k1(const Operand& self);
Tensor special_spherical_bessel_j0(const Operand& self);
Tensor special_digamma(const Operand& self);
Tensor special_psi(const Operand& self);
Tensor special_erf(const Operand& self);
Tensor special_erfc(const Operand& self);
Tensor special_erfinv(const Operand& self);
Tensor special_exp2(const Operand& self);
Tensor special_expit(const Operand& self);
Tensor special_expm1(const Operand& self);
Tensor special_gammaln(const Operand& self);
Tensor special_i0(const Operand& self);
Tensor special_log1p(const Operand& self);
Tensor special_sinc(const Operand& self);
Tensor special_modified_bessel_i0(const Operand& self);

}  // namespace tenon
