// Conversions of a tensor to another dtype, device, layout or memory format.
#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/devices.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/transfer.h"

namespace tenon {
namespace {

// In a format that was asked for; Preserve asks for none.
bool asks(optional<MemoryFormat> format) { return format && *format != MemoryFormat::Preserve; }
Tensor in_format(const Tensor& converted, const Tensor& self, bool copy, optional<MemoryFormat> format) {
  const Tensor result = detail::contiguous(converted, *format);
  return copy && result.is_same(self) ? tenon::clone(self, *format) : result;
}

}  // namespace

Tensor detail::to(const Operand& self, ScalarType dtype, bool, bool copy, optional<MemoryFormat> format) {
  GradScope scope("ToCopyBackward0", self);
  if (asks(format)) return in_format(to(self, dtype, false, false), self, copy, format);
  if (dtype == self.scalar_type()) return copy ? tenon::clone(self) : Tensor(self);
  return record(operand(self, dtype).node, self);
}
Tensor detail::to(const Operand& self, Device device, bool non_blocking, bool copy, optional<MemoryFormat> format) {
  const CallScope call("to", self);
  if (asks(format)) return in_format(to(self, device, non_blocking, false), self, copy, format);
  const ir::DeviceTag from = impl(self).device(), to = tag_of(device);
  if (from == to) return copy ? tenon::clone(self) : Tensor(self);
  if (!GradMode::is_enabled() || !requires_grad(self)) {  // else it is an operation with a gradient
    if (const NodeRef node = transferred(impl(self), to, non_blocking)) return record(node);
  }
  GradScope scope("ToCopyBackward0", self);
  return record(on_device(node_of(self), to), self);
}
Tensor detail::to(const Operand& self, Device device, ScalarType dtype, bool non_blocking, bool copy, optional<MemoryFormat> format) {
  const CallScope call("to", self);
  const Tensor there = to(self, device, non_blocking, false);
  return to(there, dtype, non_blocking, copy && there.is_same(self), format);
}
Tensor detail::to(const Operand& self, optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device,
                  optional<bool> pin_memory, bool non_blocking, bool copy, optional<MemoryFormat> format) {
  return to(self, TensorOptions().dtype(dtype).layout(layout.value_or(self.layout())).device(device).pinned_memory(pin_memory),
            non_blocking, copy, format);
}
Tensor detail::to(const Operand& self, const TensorOptions& options, bool non_blocking, bool copy, optional<MemoryFormat> format) {
  const CallScope call("to", self);
  check(!options.requires_grad(),
        "Operators taking TensorOptions cannot take a TensorOptions with options.requires_grad set as true. "
        "This isn't implemented yet.");
  check(options.layout() == self.layout(), "to(options) doesn't support converting to a different layout, but got ", "self.layout being ",
        self.layout(), " and options.layout set as ", options.layout());
  const ScalarType dtype = options.has_dtype() ? options.dtype().toScalarType() : self.scalar_type();
  return to(self, options.has_device() ? options.device() : self.device(), dtype, non_blocking, copy, format);
}

}  // namespace tenon
