// Reading and making tensors in the host's memory.
#include "frontend/src/data/elements.h"

namespace tenon::data {

bool lies_on_host(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cpu() || tensor.requires_grad()) return false;
  return runtime::buffer_of(*impl(tensor).storage().value()) != nullptr;
}

HostElementsOf::HostElementsOf(const Tensor& tensor) {
  HostView view = host_view(tensor);
  owner_ = std::move(view.owner);
  data = view.data;
  const TensorImpl& t = impl(tensor);
  if (t.contiguous() || t.numel() == 0) return;
  auto copy = allocate_buffer(at(t.numel() * ir::item_size(t.dtype())));
  gather_elements(t, data, static_cast<unsigned char*>(copy->data()));
  owner_ = std::move(copy);
  data = static_cast<const unsigned char*>(owner_->data());
}

NewTensor::NewTensor(ScalarType t, IntArrayRef s)
    : type(t), sizes(dims_of(s)), buffer(allocate_buffer(at(checked_numel(s) * ir::item_size(ir_type(t))))) {}

}  // namespace tenon::data
