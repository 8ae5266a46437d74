// Methods that LibTorch's Tensor has and Tenon's has not: each compiles to one sentence that says so. tensor.h includes this
// file in the class; absent.h has the functions.
#define TENON_NO_METHOD(name, sentence)                                 \
  template <typename... Any>                                            \
  auto name(const Any&...) const {                                      \
    static_assert(sizeof...(Any) > 99, "Tensor::" #name ": " sentence); \
    return Tensor();                                                    \
  }
#define TENON_NO_DECOMPOSITION(name) TENON_NO_METHOD(name, "Tenon has no matrix decompositions, inverses and solvers yet")
#define TENON_NO_COMPLEX(name) TENON_NO_METHOD(name, "Tenon has no complex numbers and no Fourier transforms yet")
#define TENON_NO_SPARSE(name) TENON_NO_METHOD(name, "Tenon has no sparse tensors; use gather, scatter and index_add")
#define TENON_NO_QUANTIZED(name) TENON_NO_METHOD(name, "Tenon has no quantised tensors")
TENON_NO_DECOMPOSITION(cholesky)
TENON_NO_DECOMPOSITION(cholesky_inverse)
TENON_NO_DECOMPOSITION(cholesky_solve)
TENON_NO_DECOMPOSITION(det)
TENON_NO_DECOMPOSITION(geqrf)
TENON_NO_DECOMPOSITION(inverse)
TENON_NO_DECOMPOSITION(logdet)
TENON_NO_DECOMPOSITION(lu_solve)
TENON_NO_DECOMPOSITION(matrix_exp)
TENON_NO_DECOMPOSITION(orgqr)
TENON_NO_DECOMPOSITION(ormqr)
TENON_NO_DECOMPOSITION(pinverse)
TENON_NO_DECOMPOSITION(qr)
TENON_NO_DECOMPOSITION(slogdet)
TENON_NO_DECOMPOSITION(svd)
TENON_NO_DECOMPOSITION(triangular_solve)
TENON_NO_METHOD(unique, "LibTorch has this in Python only; use unique_dim, unique_consecutive or _unique2")
TENON_NO_COMPLEX(stft)
TENON_NO_COMPLEX(istft)
TENON_NO_SPARSE(to_sparse)
TENON_NO_SPARSE(to_sparse_csr)
TENON_NO_SPARSE(sparse_mask)
TENON_NO_SPARSE(coalesce)
TENON_NO_QUANTIZED(dequantize)
TENON_NO_QUANTIZED(int_repr)
TENON_NO_QUANTIZED(q_scale)
TENON_NO_QUANTIZED(q_zero_point)
#undef TENON_NO_METHOD
#undef TENON_NO_DECOMPOSITION
#undef TENON_NO_COMPLEX
#undef TENON_NO_SPARSE
#undef TENON_NO_QUANTIZED
