// Methods of Tensor that are not functions: what it is, and its values.
#include "tenon/tensor.h"

#include <cstring>

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/devices.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/fork.h"
#include "runtime/cuda/cuda.h"
#include "runtime/device/device.h"

namespace tenon {

const optional<Tensor>& detail::no_tensor() {
  static const auto* const none = new optional<Tensor>;
  return *none;
}

void refuse_undefined(int argument, const char* name) {
  std::string what = "Expected a proper Tensor but got None (or an undefined Tensor in C++)";
  // An operand after the first, met where its number is not known: the line of the call shows which.
  if (argument > 0 || !CallScope::begins_with_tensor()) what += text(" for argument #", argument, " '", name, "'");
  throw Error(what);
}

// --- what it is

IntArrayRef Tensor::sizes() const { return ref(impl(*this).sizes()); }
IntArrayRef Tensor::strides() const { return ref(impl(*this).strides()); }
int64_t Tensor::size(int64_t dim) const {
  const Dims& sizes = impl(*this).sizes();
  check<IndexError>(!sizes.empty(), "Dimension specified as ", dim, " but tensor has no dimensions");
  return sizes[wrap_dim(dim, std::ssize(sizes))];
}
int64_t Tensor::stride(int64_t dim) const {
  const Dims& strides = impl(*this).strides();
  check<IndexError>(!strides.empty(), "Dimension specified as ", dim, " but tensor has no dimensions");
  return strides[wrap_dim(dim, std::ssize(strides))];
}
int64_t Tensor::storage_offset() const { return impl(*this).offset(); }
int64_t Tensor::numel() const { return impl(*this).numel(); }
bool Tensor::is_contiguous() const { return impl(*this).contiguous(); }
ScalarType Tensor::scalar_type() const { return tenon::scalar_type(impl(*this).dtype()); }
Device Tensor::device() const {
  if (!defined() && CallScope::begins_with_tensor()) refuse_undefined(0, "self");
  check(defined(), "tensor does not have a device");
  return device_with(impl(*this).device());
}
int64_t Tensor::get_device() const {
  const Device& device = device_with(impl(*this).device());
  return device.is_cpu() ? -1 : device.index();
}
TensorOptions Tensor::options() const { return TensorOptions(scalar_type()).device(device()); }
bool Tensor::is_alias_of(const Tensor& other) const { return &impl(*this).storage() == &impl(other).storage(); }
Layout Tensor::layout() const {
  impl(*this);
  return kStrided;
}
StorageHandle Tensor::storage() const { return StorageHandle(detach()); }
size_t StorageHandle::nbytes() const {
  const NodeRef value = impl(tensor_).storage().value();
  return static_cast<size_t>(value->numel() * ir::item_size(value->dtype()));
}
void* StorageHandle::mutable_data() const { return impl(tensor_).storage().expose()->data(); }

// --- its values

Scalar Tensor::item() const {
  const CallScope call("item", *this);
  check(defined(), "a Tensor with 0 elements cannot be converted to Scalar");
  check(numel() == 1, "a Tensor with ", numel(), " elements cannot be converted to Scalar");
  const ir::Constant c = host_view(*this).element(0);
  if (c.dtype == DType::Bool) return c.bits != 0;
  if (ir::is_float(c.dtype)) return ir::to_double(c);
  return ir::to_int64(c);
}

bool Tensor::is_nonzero() const {
  const CallScope call("is_nonzero", *this);
  check(numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  check(numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
  return item().toBool();
}

namespace {

void* first_element(const TensorImpl& t, const runtime::Buffer& buffer) {
  auto* base = static_cast<unsigned char*>(buffer.data());
  return t.numel() == 0 ? base : base + t.offset() * ir::item_size(t.dtype());
}

void check_type(const Tensor& x, ScalarType wanted) {
  check(x.scalar_type() == wanted, "expected scalar type ", wanted, " but found ", x.scalar_type());
}

}  // namespace

void* Tensor::data_ptr() const {
  TensorImpl& t = impl(*this);
  return first_element(t, *t.storage().expose());
}
void Tensor::record_stream(const cuda::CUDAStream&) const {
  check<NotImplementedError>(is_cuda(), "Could not run 'aten::record_stream' with arguments from the 'CPU' backend.");
}
const void* Tensor::const_data_ptr() const {
  TensorImpl& t = impl(*this);
  return first_element(t, *t.storage().show());
}
void* Tensor::checked_data(ScalarType wanted) const {
  check_type(*this, wanted);
  return data_ptr();
}
const void* Tensor::checked_const_data(ScalarType wanted) const {
  check_type(*this, wanted);
  return const_data_ptr();
}

const Tensor& Tensor::promise_unchanged() const {
  impl(*this).storage().trust();
  return *this;
}

void Tensor::check_accessor(size_t dims, bool narrow) const {
  check(dims > 0 && static_cast<int64_t>(dims) == dim(), "TensorAccessor expected ", dims, " dims but tensor has ", dim());
  check(is_cpu(), "can't read the memory of a ", device(),
        " device type tensor through an accessor. Use Tensor.cpu() to copy the "
        "tensor to host memory first.");
  if (!narrow) return;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t last = 0;  // overlapping or spread elements: the count alone does not bound an index
  for (int64_t d = 0; d < dim() && numel() > 0; ++d) last += (size(d) - 1) * stride(d);
  check(numel() <= kMost && last <= kMost, "numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64");
}

// --- pinned memory

bool Tensor::is_pinned() const {
  const auto buffer = is_cpu() ? runtime::buffer_of(*impl(*this).storage().value()) : nullptr;
  return buffer && !runtime::only_host() && runtime::cuda::is_pinned(buffer->data());
}
Tensor Tensor::pin_memory(optional<Device> device) const {
  const CallScope call("pin_memory", *this);
  check(is_cpu(), "cannot pin '", toString(), "' only dense CPU tensors can be pinned");
  check_cuda_device(device && device->has_index() ? device->index() : current_cuda_device());
  if (is_pinned()) return *this;
  const Tensor rows = contiguous();
  const HostView view = host_view(rows);
  const auto bytes = static_cast<size_t>(rows.nbytes());
  if (bytes == 0) return clone();
  const auto buffer =
      with_public_errors([&] { return runtime::Buffer::adopt(runtime::cuda::allocate_pinned(bytes), bytes, runtime::cuda::free_pinned); });
  std::memcpy(buffer->data(), view.data, bytes);
  return Tensor(new TensorImpl(ir::make_input(impl(rows).dtype(), impl(rows).sizes(), buffer)), false);
}

}  // namespace tenon
