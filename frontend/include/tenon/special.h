// Special functions: LibTorch's namespace special, and its spellings at top level. Integers become the default
// float type; 16-bit floats are computed in float32.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// Functions of one tensor that have no other name. ndtr is the normal distribution's, entr is -x log x, the
// `e` of i0e and i1e is a factor exp(-|x|).
#define TENON_SPECIAL_OPS(X)                                                                              \
  X(entr) X(erfcx) X(ndtr) X(ndtri) X(log_ndtr) X(i0e) X(i1) X(i1e) X(bessel_j0) X(bessel_j1) X(bessel_y0) \
      X(bessel_y1) X(modified_bessel_k0) X(modified_bessel_k1) X(scaled_modified_bessel_k0)              \
          X(scaled_modified_bessel_k1) X(spherical_bessel_j0)
// special::name is the top level's other.
#define TENON_SPECIAL_NAMES(X)                                                                          \
  X(digamma, digamma) X(psi, digamma) X(erf, erf) X(erfc, erfc) X(erfinv, erfinv) X(exp2, exp2)         \
      X(expit, sigmoid) X(expm1, expm1) X(gammaln, lgamma) X(i0, i0) X(log1p, log1p) X(sinc, sinc)      \
          X(modified_bessel_i0, i0)
// Orthogonal polynomials of degree n.
#define TENON_POLYNOMIALS(X)                                                                              \
  X(chebyshev_polynomial_t) X(chebyshev_polynomial_u) X(chebyshev_polynomial_v) X(chebyshev_polynomial_w) \
      X(shifted_chebyshev_polynomial_t) X(shifted_chebyshev_polynomial_u)                                \
          X(shifted_chebyshev_polynomial_v) X(shifted_chebyshev_polynomial_w) X(hermite_polynomial_h)    \
              X(hermite_polynomial_he) X(laguerre_polynomial_l) X(legendre_polynomial_p)

namespace special {

#define TENON_DECLARE(name) Tensor name(const Operand& self);
TENON_SPECIAL_OPS(TENON_DECLARE)
#undef TENON_DECLARE
#define TENON_DECLARE(name) Tensor name(const Operand& x, const Scalar& n);
TENON_POLYNOMIALS(TENON_DECLARE)
#undef TENON_DECLARE
#define TENON_DECLARE(name, other) \
  inline Tensor name(const Operand& self) { return tenon::other(self); }
TENON_SPECIAL_NAMES(TENON_DECLARE)
#undef TENON_DECLARE
inline Tensor modified_bessel_i1(const Operand& self) { return i1(self); }
inline Tensor round(const Operand& self, int64_t decimals = 0) { return tenon::round(self, decimals); }
inline Tensor logit(const Operand& self, optional<double> eps = nullopt) { return tenon::logit(self, eps); }
inline Tensor polygamma(int64_t n, const Operand& self) { return tenon::polygamma(n, self); }
inline Tensor multigammaln(const Operand& self, int64_t p) { return tenon::mvlgamma(self, p); }
inline Tensor logsumexp(const Operand& self, IntArrayRef dim, bool keepdim = false) {
  return tenon::logsumexp(self, dim, keepdim);
}
inline Tensor softmax(const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return tenon::softmax(self, dim, dtype);
}
inline Tensor log_softmax(const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return tenon::log_softmax(self, dim, dtype);
}
inline Tensor xlogy(const Operand& self, const Operand& other) { return tenon::xlogy(self, other); }
inline Tensor xlogy(const Operand& self, const Scalar& other) { return tenon::xlogy(self, other); }
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

#define TENON_DECLARE(name) \
  inline Tensor special_##name(const Operand& self) { return special::name(self); }
TENON_SPECIAL_OPS(TENON_DECLARE)
#undef TENON_DECLARE
#define TENON_DECLARE(name, other) \
  inline Tensor special_##name(const Operand& self) { return tenon::other(self); }
TENON_SPECIAL_NAMES(TENON_DECLARE)
#undef TENON_DECLARE
#undef TENON_SPECIAL_NAMES

}  // namespace tenon
