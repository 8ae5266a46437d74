// The methods that write into their tensor. Nearly all are the operation without the underscore, assigned.
#include "frontend/src/tensor/inplace.h"

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/tensor/transfer.h"
#include "tenon/algebra.h"
#include "tenon/creation.h"
#include "tenon/indexed.h"
#include "tenon/order.h"

namespace tenon {
namespace {

Tensor& itself(const Tensor& self) { return const_cast<Tensor&>(self); }

void write_splat(const Tensor& self, const NodeRef& element) {
  write(self, broadcast(ir::cast(element, ir_type(self.scalar_type())), self.sizes()));
}

// The mask over the shape of self; it may be smaller but not larger.
NodeRef mask_over(const Tensor& self, const Tensor& mask) {
  check(mask.scalar_type() == kBool, "masked_fill_ only supports boolean masks, but got mask with dtype ",
        mask.dtype());
  const Dims shape = broadcast_shape(mask.sizes(), self.sizes());
  check(ref(shape) == self.sizes(), "output with shape ", self.sizes(), " doesn't match the broadcast shape ",
        ref(shape));
  return broadcast(node_of(mask), self.sizes());
}

}  // namespace

Tensor& assign(const Tensor& self, const Tensor& result) {
  check(result.sizes() == self.sizes(), "output with shape ", self.sizes(),
        " doesn't match the broadcast shape ", result.sizes());
  check(canCast(result.scalar_type(), self.scalar_type()), "result type ", result.scalar_type(),
        " can't be cast to the desired output type ", self.scalar_type());
  check_writable(self, requires_grad(result));
  write(self, operand(result, self.scalar_type()).node);
  written_as(self, result);
  return itself(self);
}

Tensor& reshape_in_place(const Tensor& self, const Tensor& view) {
  check_writable(self);
  const TensorImpl& shape = impl(view);
  TensorImpl& t = impl(self);
  t.reshape(ref(shape.sizes()), ref(shape.strides()), shape.offset());
  t.bump_version();
  reshaped_as(self, view);
  return itself(self);
}

// --- one for each operation

#define TENON_INPLACE(name) \
  Tensor& Tensor::name##_() const {              \
    const CallScope call(#name "_", *this);      \
    return assign(*this, tenon::name(*this));    \
  }
TENON_UNARY_INPLACE_OPS(TENON_INPLACE)
#undef TENON_INPLACE
#define TENON_INPLACE(name) \
  Tensor& Tensor::name##_(const Operand& other) const { \
    const CallScope call(#name "_", *this, other);      \
    return assign(*this, tenon::name(*this, other));    \
  }
TENON_BINARY_TENSOR_INPLACE_OPS(TENON_INPLACE)
TENON_BINARY_OPS(TENON_INPLACE)
#undef TENON_INPLACE
#define TENON_INPLACE(name) \
  Tensor& Tensor::name##_(const Scalar& other) const { \
    const CallScope call(#name "_", *this, other);     \
    return assign(*this, tenon::name(*this, other));   \
  }
TENON_BINARY_OPS(TENON_INPLACE)
#undef TENON_INPLACE

Tensor& Tensor::add_(const Operand& other, const Scalar& alpha) const {
  const CallScope call("add_", *this, other, alpha);
  return assign(*this, tenon::add(*this, other, alpha));
}
Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha) const {
  const CallScope call("add_", *this, other, alpha);
  return assign(*this, tenon::add(*this, other, alpha));
}
Tensor& Tensor::sub_(const Operand& other, const Scalar& alpha) const {
  const CallScope call("sub_", *this, other, alpha);
  return assign(*this, tenon::sub(*this, other, alpha));
}
Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha) const {
  const CallScope call("sub_", *this, other, alpha);
  return assign(*this, tenon::sub(*this, other, alpha));
}
Tensor& Tensor::div_(const Operand& other) const { return assign(*this, tenon::div(*this, other)); }
Tensor& Tensor::div_(const Scalar& other) const { return assign(*this, tenon::div(*this, other)); }
Tensor& Tensor::div_(const Operand& other, optional<std::string_view> mode) const {
  const CallScope call("div_", *this, other);
  return assign(*this, tenon::div(*this, other, mode));
}
Tensor& Tensor::div_(const Scalar& other, optional<std::string_view> mode) const {
  const CallScope call("div_", *this, other);
  return assign(*this, tenon::div(*this, other, mode));
}
Tensor& Tensor::pow_(const Operand& exponent) const { return assign(*this, tenon::pow(*this, exponent)); }
Tensor& Tensor::pow_(const Scalar& exponent) const { return assign(*this, tenon::pow(*this, exponent)); }

namespace {
template <typename T>
Tensor& float_power_in_place(const Tensor& self, const T& exponent) {
  check(self.scalar_type() == kDouble, "the base given to float_power_ has dtype ", self.scalar_type(),
        " but the operation's result requires dtype ", kDouble);
  return assign(self, float_power(self, exponent));
}
}  // namespace
Tensor& Tensor::float_power_(const Operand& exponent) const { return float_power_in_place(*this, exponent); }
Tensor& Tensor::float_power_(const Scalar& exponent) const { return float_power_in_place(*this, exponent); }

Tensor& Tensor::round_(int64_t decimals) const { return assign(*this, tenon::round(*this, decimals)); }
Tensor& Tensor::clamp_(const optional<Scalar>& min, const optional<Scalar>& max) const {
  const CallScope call("clamp_", *this);
  return assign(*this, tenon::clamp(*this, min, max));
}
Tensor& Tensor::clamp_(const optional<Tensor>& min, const optional<Tensor>& max) const {
  const CallScope call("clamp_", *this, min, max);
  return assign(*this, tenon::clamp(*this, min, max));
}
Tensor& Tensor::clamp_min_(const Scalar& min) const { return assign(*this, tenon::clamp_min(*this, min)); }
Tensor& Tensor::clamp_min_(const Operand& min) const { return assign(*this, tenon::clamp_min(*this, min)); }
Tensor& Tensor::clamp_max_(const Scalar& max) const { return assign(*this, tenon::clamp_max(*this, max)); }
Tensor& Tensor::clamp_max_(const Operand& max) const { return assign(*this, tenon::clamp_max(*this, max)); }
Tensor& Tensor::lerp_(const Operand& end, const Scalar& weight) const {
  const CallScope call("lerp_", *this, end, weight);
  return assign(*this, tenon::lerp(*this, end, weight));
}
Tensor& Tensor::lerp_(const Operand& end, const Operand& weight) const {
  const CallScope call("lerp_", *this, end, weight);
  return assign(*this, tenon::lerp(*this, end, weight));
}
Tensor& Tensor::addcmul_(const Operand& a, const Operand& b, const Scalar& value) const {
  const CallScope call("addcmul_", *this, a, b, value);
  return assign(*this, tenon::addcmul(*this, a, b, value));
}
Tensor& Tensor::addcdiv_(const Operand& a, const Operand& b, const Scalar& value) const {
  const CallScope call("addcdiv_", *this, a, b, value);
  return assign(*this, tenon::addcdiv(*this, a, b, value));
}
Tensor& Tensor::addmm_(const Operand& a, const Operand& b, const Scalar& beta, const Scalar& alpha) const {
  const CallScope call("addmm_", *this, a, b, beta, alpha);
  return assign(*this, tenon::addmm(*this, a, b, beta, alpha));
}
Tensor& Tensor::addmv_(const Operand& mat, const Operand& vec, const Scalar& beta, const Scalar& alpha) const {
  const CallScope call("addmv_", *this, mat, vec, beta, alpha);
  return assign(*this, tenon::addmv(*this, mat, vec, beta, alpha));
}
Tensor& Tensor::baddbmm_(const Operand& a, const Operand& b, const Scalar& beta, const Scalar& alpha) const {
  const CallScope call("baddbmm_", *this, a, b, beta, alpha);
  return assign(*this, tenon::baddbmm(*this, a, b, beta, alpha));
}
Tensor& Tensor::addr_(const Operand& a, const Operand& b, const Scalar& beta, const Scalar& alpha) const {
  const CallScope call("addr_", *this, a, b, beta, alpha);
  return assign(*this, tenon::addr(*this, a, b, beta, alpha));
}
Tensor& Tensor::addbmm_(const Operand& a, const Operand& b, const Scalar& beta, const Scalar& alpha) const {
  const CallScope call("addbmm_", *this, a, b, beta, alpha);
  return assign(*this, tenon::addbmm(*this, a, b, beta, alpha));
}
Tensor& Tensor::tril_(int64_t diagonal) const { return assign(*this, tenon::tril(*this, diagonal)); }
Tensor& Tensor::triu_(int64_t diagonal) const { return assign(*this, tenon::triu(*this, diagonal)); }
Tensor& Tensor::nan_to_num_(optional<double> nan, optional<double> posinf, optional<double> neginf) const {
  const CallScope call("nan_to_num_", *this);
  return assign(*this, tenon::nan_to_num(*this, nan, posinf, neginf));
}
Tensor& Tensor::logit_(optional<double> eps) const { return assign(*this, tenon::logit(*this, eps)); }
Tensor& Tensor::cumsum_(int64_t dim, optional<ScalarType> dtype) const {
  const CallScope call("cumsum_", *this);
  return assign(*this, tenon::cumsum(*this, dim, dtype ? dtype : scalar_type()));
}
Tensor& Tensor::cumprod_(int64_t dim, optional<ScalarType> dtype) const {
  const CallScope call("cumprod_", *this);
  return assign(*this, tenon::cumprod(*this, dim, dtype ? dtype : scalar_type()));
}

// --- values from elsewhere

Tensor& Tensor::copy_(const Operand& src, bool non_blocking) const {
  const CallScope call("copy_", *this, src);
  if (is_same(src)) {
    check_writable(*this);
    return itself(*this);
  }
  const Dims shape = broadcast_shape(sizes(), src.sizes());
  check(ref(shape) == sizes(), "output with shape ", sizes(), " doesn't match the broadcast shape ",
        ref(shape));
  GradScope scope("CopyBackwards", *this, src);
  const ir::DeviceTag device = impl(*this).device();
  NodeRef there;
  if (!GradMode::is_enabled() || !tenon::requires_grad(src)) there = transferred(impl(src), device, non_blocking);
  there = there ? ir::cast(std::move(there), ir_type(scalar_type())) : on_device(operand(src, scalar_type()).node, device);
  write(*this, broadcast(there, sizes()));
  return itself(*this);
}

Tensor& Tensor::fill_(const Scalar& value) const {
  const CallScope call("fill_", *this, value);
  GradScope scope("FillBackward2", *this);
  // One element of a 16-bit type takes any number, as in PyTorch.
  const bool any = numel() == 1 && ir::is_half(ir_type(scalar_type()));
  write_splat(*this,
              constant_node(any ? wrapped(value, ir_type(scalar_type())) : element_of(value, scalar_type()),
                             Dims{}));
  return itself(*this);
}
Tensor& Tensor::fill_(const Operand& value) const {
  const CallScope call("fill_", *this, value);
  check(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
        " dimensions.");
  GradScope scope("FillBackward3", *this, value);
  write_splat(*this, on_device(node_of(value), impl(*this).device()));
  return itself(*this);
}
Tensor& Tensor::zero_() const {
  GradScope scope("ZeroBackward0", *this);
  write_splat(*this, constant_node(ir::constant(ir_type(scalar_type()), int64_t{0}), Dims{}));
  return itself(*this);
}
Tensor& Tensor::fill_diagonal_(const Scalar& value, bool wrap) const {
  const CallScope call("fill_diagonal_", *this, value);
  check(dim() >= 2, "dimensions must larger than 1");
  const int64_t rows = size(0), columns = size(1);
  int64_t step = 0, shortest = rows;
  for (int64_t d = 0; d < dim(); ++d) {
    check(dim() == 2 || size(d) == rows, "all dimensions of input must be of equal length");
    step += stride(d);
    shortest = std::min(shortest, size(d));
  }
  make_view(*this, IntArrayRef(shortest), IntArrayRef(step), storage_offset()).fill_(value);
  if (dim() == 2 && wrap && rows > columns + 1) {
    const int64_t first = columns + 1, period = (columns + 1) * stride(0);
    const int64_t left = rows - first;
    for (int64_t start = 0; start < left; start += columns + 1) {
      const int64_t count = std::min(columns, left - start);
      const int64_t offset = storage_offset() + (start / (columns + 1) + 1) * period;
      make_view(*this, IntArrayRef(count), IntArrayRef(step), offset).fill_(value);
    }
  }
  return itself(*this);
}

Tensor& Tensor::masked_fill_(const Operand& mask, const Scalar& value) const {
  const CallScope call("masked_fill_", *this, mask, value);
  mask_over(*this, mask);
  return assign(*this, tenon::masked_fill(*this, mask, value));
}
Tensor& Tensor::masked_fill_(const Operand& mask, const Operand& value) const {
  const CallScope call("masked_fill_", *this, mask, value);
  mask_over(*this, mask);
  return assign(*this, tenon::masked_fill(*this, mask, value));
}
Tensor& Tensor::masked_scatter_(const Operand& mask, const Operand& source) const {
  const CallScope call("masked_scatter_", *this, mask, source);
  mask_over(*this, mask);
  return assign(*this, tenon::masked_scatter(*this, mask, source));
}

// --- at places that an index names

Tensor& Tensor::index_fill_(int64_t dim, const Operand& index, const Scalar& value) const {
  const CallScope call("index_fill_", *this, index, value);
  return assign(*this, tenon::index_fill(*this, dim, index, value));
}
Tensor& Tensor::index_fill_(int64_t dim, const Operand& index, const Operand& value) const {
  const CallScope call("index_fill_", *this, index, value);
  return assign(*this, tenon::index_fill(*this, dim, index, value));
}
Tensor& Tensor::index_add_(int64_t dim, const Operand& index, const Operand& source,
                           const Scalar& alpha) const {
  const CallScope call("index_add_", *this, index, source, alpha);
  return assign(*this, tenon::index_add(*this, dim, index, source, alpha));
}
Tensor& Tensor::index_copy_(int64_t dim, const Operand& index, const Operand& source) const {
  const CallScope call("index_copy_", *this, index, source);
  return assign(*this, tenon::index_copy(*this, dim, index, source));
}
Tensor& Tensor::scatter_(int64_t dim, const Operand& index, const Operand& src) const {
  const CallScope call("scatter_", *this, index, src);
  return assign(*this, tenon::scatter(*this, dim, index, src));
}
Tensor& Tensor::scatter_(int64_t dim, const Operand& index, const Scalar& value) const {
  const CallScope call("scatter_", *this, index, value);
  return assign(*this, tenon::scatter(*this, dim, index, value));
}
Tensor& Tensor::scatter_(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce) const {
  const CallScope call("scatter_", *this, index, src);
  return assign(*this, tenon::scatter(*this, dim, index, src, reduce));
}
Tensor& Tensor::scatter_(int64_t dim, const Operand& index, const Scalar& value,
                         std::string_view reduce) const {
  const CallScope call("scatter_", *this, index, value);
  return assign(*this, tenon::scatter(*this, dim, index, value, reduce));
}
Tensor& Tensor::scatter_add_(int64_t dim, const Operand& index, const Operand& src) const {
  const CallScope call("scatter_add_", *this, index, src);
  return assign(*this, tenon::scatter_add(*this, dim, index, src));
}
Tensor& Tensor::scatter_reduce_(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce,
                                bool include_self) const {
  const CallScope call("scatter_reduce_", *this, index, src);
  return assign(*this, tenon::scatter_reduce(*this, dim, index, src, reduce, include_self));
}
Tensor& Tensor::put_(const Operand& index, const Operand& source, bool accumulate) const {
  const CallScope call("put_", *this, index, source);
  return assign(*this, tenon::put(*this, index, source, accumulate));
}

// --- the shape alone

Tensor& Tensor::squeeze_() const { return reshape_in_place(*this, squeeze()); }
Tensor& Tensor::squeeze_(int64_t dim) const { return reshape_in_place(*this, squeeze(dim)); }
Tensor& Tensor::squeeze_(IntArrayRef dims) const { return reshape_in_place(*this, squeeze(dims)); }
Tensor& Tensor::unsqueeze_(int64_t dim) const { return reshape_in_place(*this, unsqueeze(dim)); }
Tensor& Tensor::transpose_(int64_t dim0, int64_t dim1) const {
  const CallScope call("transpose_", *this);
  return reshape_in_place(*this, transpose(dim0, dim1));
}
Tensor& Tensor::t_() const { return reshape_in_place(*this, t()); }

const Tensor& Tensor::resize_(IntArrayRef size) const {
  const CallScope call("resize_", *this);
  check(!requires_grad(), "cannot resize variables that require grad");
  TensorImpl& t = impl(*this);
  const int64_t count = checked_numel(size);
  const int64_t item = element_size(), bytes = count == 0 ? 0 : (t.offset() + count) * item;
  t.storage().grow(bytes);
  t.reshape(size, ref(ir::contiguous_strides(span_of(size))), t.offset());
  return *this;
}

Tensor& Tensor::set_(const Tensor& source) const {
  const CallScope call("set_", *this, source);
  check(scalar_type() == source.scalar_type(), "Could not set tensor of type ", source.dtype(),
        " to a tensor of type ", dtype());
  check(device() == source.device(), "Attempted to set the storage of a tensor on device \"", device(), "\" to a storage on different device \"",
        source.device(), "\". This is no longer allowed; the devices must match.");
  check_writable(*this);
  impl(*this).share(impl(source));
  return itself(*this);
}

int64_t Tensor::_version() const {
  check(!is_inference(), "Inference tensors do not track version counter.");
  return impl(*this).version();
}

}  // namespace tenon
