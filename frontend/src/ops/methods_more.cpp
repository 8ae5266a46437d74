// Methods that have no function of their own: new tensors like this one, and a few that write in place.
#include <algorithm>
#include <vector>

#include "frontend/src/autograd/aliases.h"
#include "tenon/arrays.h"
#include "tenon/creation.h"
#include "tenon/elementary.h"
#include "tenon/views.h"

namespace tenon {
namespace {

TensorOptions like(const Tensor& self, const TensorOptions& options) {
  TensorOptions result = options;
  if (!result.has_dtype()) result = result.dtype(self.scalar_type());
  if (!result.has_device()) result = result.device(self.device());
  return result;
}

}  // namespace

Tensor Tensor::new_empty(IntArrayRef size, const TensorOptions& options) const { return empty(size, like(*this, options)); }
Tensor Tensor::new_empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) const {
  return empty_strided(size, stride, like(*this, options));
}
Tensor Tensor::new_zeros(IntArrayRef size, const TensorOptions& options) const { return zeros(size, like(*this, options)); }
Tensor Tensor::new_ones(IntArrayRef size, const TensorOptions& options) const { return ones(size, like(*this, options)); }
Tensor Tensor::new_full(IntArrayRef size, const Scalar& fill_value, const TensorOptions& options) const {
  return full(size, fill_value, like(*this, options));
}

Tensor& Tensor::set_(const Tensor& source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride) const {
  std::vector<int64_t> row_major(size.size(), 1);
  for (size_t d = size.size(); d-- > 1;) row_major[d - 1] = row_major[d] * std::max<int64_t>(size[d], 1);
  return set_(tenon::as_strided(source, size, stride.empty() ? IntArrayRef(row_major) : stride, storage_offset));
}
Tensor& Tensor::set_() const { return set_(empty({0}, options().requires_grad(false))); }

}  // namespace tenon
