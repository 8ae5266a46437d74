// The methods that write into their tensor and are more than the operation without the underscore, assigned: those are
// printed_inplace.cpp.
#include "frontend/src/autograd/aliases.h"
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
  check(mask.scalar_type() == kBool, "masked_fill_ only supports boolean masks, but got mask with dtype ", mask.dtype());
  const Dims shape = broadcast_shape(mask.sizes(), self.sizes());
  check(ref(shape) == self.sizes(), "output with shape ", self.sizes(), " doesn't match the broadcast shape ", ref(shape));
  return broadcast(node_of(mask), self.sizes());
}

}  // namespace

// --- with a check or a default of their own; printed_inplace.cpp has those without

namespace {
template <typename T>
Tensor& float_power_in_place(const Tensor& self, const T& exponent) {
  const CallScope call("float_power_", self, exponent);
  check(self.scalar_type() == kDouble, "the base given to float_power_ has dtype ", self.scalar_type(),
        " but the operation's result requires dtype ", kDouble);
  return assign(self, float_power(self, exponent));
}
}  // namespace
Tensor& Tensor::float_power_(const Operand& exponent) const { return float_power_in_place(*this, exponent); }
Tensor& Tensor::float_power_(const Scalar& exponent) const { return float_power_in_place(*this, exponent); }

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
  check(ref(shape) == sizes(), "output with shape ", sizes(), " doesn't match the broadcast shape ", ref(shape));
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
  write_splat(*this, constant_node(any ? wrapped(value, ir_type(scalar_type())) : element_of(value, scalar_type()), Dims{}));
  return itself(*this);
}
Tensor& Tensor::fill_(const Operand& value) const {
  const CallScope call("fill_", *this, value);
  check(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(), " dimensions.");
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

// --- the shape alone

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
const Tensor& Tensor::resize_as_(const Tensor& the_template) const { return resize_(the_template.sizes()); }

Tensor& Tensor::set_(const Tensor& source) const {
  const CallScope call("set_", *this, source);
  check(scalar_type() == source.scalar_type(), "Could not set tensor of type ", source.dtype(), " to a tensor of type ", dtype());
  check(device() == source.device(), "Attempted to set the storage of a tensor on device \"", device(),
        "\" to a storage on different device \"", source.device(), "\". This is no longer allowed; the devices must match.");
  check_writable(*this);
  impl(*this).share(impl(source));
  return itself(*this);
}

int64_t Tensor::_version() const {
  check(!is_inference(), "Inference tensors do not track version counter.");
  return impl(*this).version();
}

}  // namespace tenon
