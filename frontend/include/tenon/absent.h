// What LibTorch has and Tenon has not: each name compiles to one sentence that says so.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

namespace detail {
template <typename...>
inline constexpr bool present = false;
}  // namespace detail

#define TENON_ABSENT(name, sentence)                                                                         \
  auto name(const auto& x, const auto&...) { /* auto: the sentence comes before an error about the result */ \
    static_assert(detail::present<decltype(x)>, #name ": " sentence);                                        \
    return Tensor();                                                                                         \
  }

#define TENON_NO_COMPLEX(name) TENON_ABSENT(name, "Tenon has no complex numbers and no Fourier transforms yet")
#define TENON_NO_DECOMPOSITION(name) TENON_ABSENT(name, "Tenon has no matrix decompositions, inverses and solvers yet")
#define TENON_NO_SPARSE(name) TENON_ABSENT(name, "Tenon has no sparse tensors; use gather, scatter and index_add")
#define TENON_NO_QUANTIZED(name) TENON_ABSENT(name, "Tenon has no quantised tensors")
#define TENON_NO_FUNCTION(name) TENON_ABSENT(name, "Tenon does not have this function yet")

// --- complex numbers
TENON_NO_COMPLEX(complex)
TENON_NO_COMPLEX(polar)
TENON_NO_COMPLEX(view_as_complex)
TENON_NO_COMPLEX(view_as_real)
TENON_NO_COMPLEX(imag)
TENON_NO_COMPLEX(stft)
TENON_NO_COMPLEX(istft)
namespace fft {
// clang-format off
#define TENON_FFTS(X)                                                                                          \
  X(fft) X(ifft) X(fft2) X(ifft2) X(fftn) X(ifftn) X(rfft) X(irfft) X(rfft2) X(irfft2) X(rfftn) X(irfftn) X(hfft) \
      X(ihfft) X(fftfreq) X(rfftfreq) X(fftshift) X(ifftshift)
// clang-format on
TENON_FFTS(TENON_NO_COMPLEX)
}  // namespace fft
#define TENON_NO_FFT(name) TENON_NO_COMPLEX(fft_##name)
TENON_FFTS(TENON_NO_FFT)
#undef TENON_NO_FFT
#undef TENON_FFTS

// --- linear algebra
// clang-format off
#define TENON_DECOMPOSITIONS(X)                                                                                  \
  X(cholesky) X(cholesky_inverse) X(cholesky_solve) X(det) X(geqrf) X(inverse) X(logdet) X(lu_solve) X(lu_unpack) \
      X(matrix_exp) X(orgqr) X(ormqr) X(pinverse) X(qr) X(slogdet) X(svd) X(triangular_solve) X(lobpcg)        \
          X(svd_lowrank) X(pca_lowrank) X(nuclear_norm)
// clang-format on
TENON_DECOMPOSITIONS(TENON_NO_DECOMPOSITION)
namespace linalg {
// clang-format off
#define TENON_LINALG_DECOMPOSITIONS(X)                                                                             \
  X(cholesky) X(cholesky_ex) X(cond) X(det) X(eig) X(eigh) X(eigvals) X(eigvalsh) X(householder_product) X(inv)     \
      X(inv_ex) X(ldl_factor) X(ldl_solve) X(lstsq) X(lu) X(lu_factor) X(lu_solve) X(matrix_exp) X(matrix_rank)     \
          X(pinv) X(qr) X(slogdet) X(solve) X(solve_ex) X(solve_triangular) X(svd) X(svdvals) X(tensorinv)         \
              X(tensorsolve)
// clang-format on
TENON_LINALG_DECOMPOSITIONS(TENON_NO_DECOMPOSITION)
}  // namespace linalg
#define TENON_NO_LINALG(name) TENON_NO_DECOMPOSITION(linalg_##name)
TENON_LINALG_DECOMPOSITIONS(TENON_NO_LINALG)
#undef TENON_NO_LINALG
#undef TENON_LINALG_DECOMPOSITIONS

// --- other kinds of tensors
TENON_NO_SPARSE(sparse_coo_tensor)
TENON_NO_SPARSE(sparse_csr_tensor)
TENON_NO_SPARSE(sparse_csc_tensor)
TENON_NO_SPARSE(sparse_bsr_tensor)
TENON_NO_SPARSE(sparse_bsc_tensor)
TENON_NO_SPARSE(sparse_compressed_tensor)
TENON_NO_SPARSE(smm)
TENON_NO_SPARSE(sspaddmm)
TENON_NO_SPARSE(hspmm)
TENON_NO_QUANTIZED(quantize_per_tensor)
TENON_NO_QUANTIZED(quantize_per_channel)
TENON_NO_QUANTIZED(dequantize)
TENON_NO_QUANTIZED(fake_quantize_per_tensor_affine)
TENON_NO_QUANTIZED(fake_quantize_per_channel_affine)

// --- single functions
// Only for a tensor: a program that includes <algorithm> may mean the other.
template <typename... More>
Tensor unique(const Operand&, const More&...) {
  static_assert(sizeof...(More) > 99, "unique: LibTorch has this in Python only; use unique_dim, unique_consecutive or _unique2");
  return {};
}
TENON_NO_FUNCTION(igamma)
TENON_NO_FUNCTION(igammac)
TENON_NO_FUNCTION(binomial)
TENON_NO_FUNCTION(histogramdd)
TENON_NO_FUNCTION(segment_reduce)
namespace special {
TENON_NO_FUNCTION(gammainc)
TENON_NO_FUNCTION(gammaincc)
TENON_NO_FUNCTION(airy_ai)
}  // namespace special
TENON_NO_FUNCTION(special_gammainc)
TENON_NO_FUNCTION(special_gammaincc)
TENON_NO_FUNCTION(special_airy_ai)

// --- types
namespace detail {
struct Absent {  // takes whatever a program does with a module, so that the sentence is the only error
  template <typename... Arguments>
  Absent(Arguments&&...) {}
  template <typename... Arguments>
  Tensor operator()(Arguments&&...) {
    return {};
  }
  template <typename... Arguments>
  Tensor forward(Arguments&&...) {
    return {};
  }
  Absent* operator->() { return this; }
};
}  // namespace detail
#define TENON_NO_TYPE(Name, sentence) using Name __attribute__((unavailable(sentence))) = ::tenon::detail::Absent;

namespace jit {
#define TENON_NO_SCRIPT "Tenon reads no TorchScript; save weights as safetensors and build the model in C++"
TENON_ABSENT(load, TENON_NO_SCRIPT)
TENON_NO_TYPE(Module, "jit::Module: " TENON_NO_SCRIPT)
namespace script {
TENON_NO_TYPE(Module, "jit::script::Module: " TENON_NO_SCRIPT)
}
#undef TENON_NO_SCRIPT
}  // namespace jit

namespace optim {
#define TENON_NO_OPTIMIZER(Name) \
  TENON_NO_TYPE(Name, "optim::" #Name ": LibTorch has this in Python only; SGD, Adam, AdamW, RMSprop, Adagrad and LBFGS are here")
TENON_NO_OPTIMIZER(Adadelta)
TENON_NO_OPTIMIZER(Adamax)
TENON_NO_OPTIMIZER(NAdam)
TENON_NO_OPTIMIZER(RAdam)
TENON_NO_OPTIMIZER(ASGD)
TENON_NO_OPTIMIZER(Rprop)
#undef TENON_NO_OPTIMIZER
}  // namespace optim

namespace nn {
TENON_NO_TYPE(DataParallel, "nn::DataParallel: Tenon spreads no module over several devices; run a process for each")
namespace parallel {
TENON_ABSENT(data_parallel, "Tenon spreads no module over several devices; run a process for each")
}
}  // namespace nn
#undef TENON_NO_TYPE

#undef TENON_NO_COMPLEX
#undef TENON_NO_DECOMPOSITION
#undef TENON_NO_SPARSE
#undef TENON_NO_QUANTIZED
#undef TENON_NO_FUNCTION
#undef TENON_ABSENT
#undef TENON_DECOMPOSITIONS

}  // namespace tenon
