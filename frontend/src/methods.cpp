// Methods of Tensor whose functions are declared after it.
#include "tenon/algebra.h"
#include "tenon/views.h"

namespace tenon {

Tensor Tensor::tril(int64_t diagonal) const { return tenon::tril(*this, diagonal); }
Tensor Tensor::triu(int64_t diagonal) const { return tenon::triu(*this, diagonal); }
Tensor Tensor::diag(int64_t diagonal) const { return tenon::diag(*this, diagonal); }
Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tenon::diag_embed(*this, offset, dim1, dim2);
}
Tensor Tensor::diagflat(int64_t offset) const { return tenon::diagflat(*this, offset); }
Tensor Tensor::trace() const { return tenon::trace(*this); }
Tensor Tensor::kron(const Tensor& other) const { return tenon::kron(*this, other); }
Tensor Tensor::inner(const Tensor& other) const { return tenon::inner(*this, other); }
Tensor Tensor::vdot(const Tensor& other) const { return tenon::vdot(*this, other); }
Tensor Tensor::ger(const Tensor& vec2) const { return tenon::ger(*this, vec2); }
Tensor Tensor::addr(const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) const {
  return tenon::addr(*this, vec1, vec2, beta, alpha);
}
Tensor Tensor::cross(const Tensor& other, optional<int64_t> dim) const {
  return tenon::cross(*this, other, dim);
}
Tensor Tensor::dist(const Tensor& other, const Scalar& p) const { return tenon::dist(*this, other, p); }
Tensor Tensor::corrcoef() const { return tenon::corrcoef(*this); }
Tensor Tensor::nanmean(OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) const {
  return tenon::nanmean(*this, dim, keepdim, dtype);
}
Tensor Tensor::rot90(int64_t k, IntArrayRef dims) const { return tenon::rot90(*this, k, dims); }
Tensor Tensor::repeat_interleave(int64_t repeats, optional<int64_t> dim) const {
  return tenon::repeat_interleave(*this, repeats, dim);
}
Tensor Tensor::repeat_interleave(const Tensor& repeats, optional<int64_t> dim) const {
  return tenon::repeat_interleave(*this, repeats, dim);
}
Tensor Tensor::sum_to_size(IntArrayRef size) const { return tenon::sum_to_size(*this, size); }
Tensor Tensor::select_scatter(const Tensor& src, int64_t dim, int64_t index) const {
  return tenon::select_scatter(*this, src, dim, index);
}
Tensor Tensor::slice_scatter(const Tensor& src, int64_t dim, optional<int64_t> start, optional<int64_t> end,
                             int64_t step) const {
  return tenon::slice_scatter(*this, src, dim, start, end, step);
}
Tensor Tensor::diagonal_scatter(const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) const {
  return tenon::diagonal_scatter(*this, src, offset, dim1, dim2);
}

}  // namespace tenon
