// The bodies of the methods that tenon/tensor_more_methods.h declares. methods.cpp includes this file twice: TENON_KIND is the kind of
// object, `const&` or `&&`; TENON_SELF is the object as an argument.
// --- conversions
Tensor Tensor::to(ScalarType dtype, bool non_blocking, bool copy, optional<MemoryFormat> memory_format) TENON_KIND {
  return tenon::detail::to(TENON_SELF, dtype, non_blocking, copy, memory_format);
}
Tensor Tensor::to(TypeMeta dtype, bool non_blocking, bool copy) TENON_KIND {
  return tenon::detail::to(TENON_SELF, dtype.toScalarType(), non_blocking, copy);
}
Tensor Tensor::to(Device device, bool non_blocking, bool copy, optional<MemoryFormat> memory_format) TENON_KIND {
  return tenon::detail::to(TENON_SELF, device, non_blocking, copy, memory_format);
}
Tensor Tensor::to(DeviceType device, bool non_blocking, bool copy, optional<MemoryFormat> memory_format) TENON_KIND {
  return tenon::detail::to(TENON_SELF, Device(device), non_blocking, copy, memory_format);
}
Tensor Tensor::to(Device device, ScalarType dtype, bool non_blocking, bool copy, optional<MemoryFormat> memory_format) TENON_KIND {
  return tenon::detail::to(TENON_SELF, device, dtype, non_blocking, copy, memory_format);
}
Tensor Tensor::to(Device device, TypeMeta dtype, bool non_blocking, bool copy) TENON_KIND {
  return tenon::detail::to(TENON_SELF, device, dtype.toScalarType(), non_blocking, copy);
}
Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy, optional<MemoryFormat> memory_format) TENON_KIND {
  return tenon::detail::to(TENON_SELF, options, non_blocking, copy, memory_format);
}
Tensor Tensor::to(optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device, optional<bool> pin_memory,
                  bool non_blocking, bool copy, optional<MemoryFormat> memory_format) TENON_KIND {
  return tenon::detail::to(TENON_SELF, dtype, layout, device, pin_memory, non_blocking, copy, memory_format);
}
Tensor Tensor::to(const Tensor& other, bool non_blocking, bool copy,
                  optional<MemoryFormat> memory_format) TENON_KIND {  // its dtype and device
  return tenon::detail::to(TENON_SELF, other.device(), other.scalar_type(), non_blocking, copy, memory_format);
}
Tensor Tensor::toType(ScalarType dtype) TENON_KIND { return tenon::detail::to(TENON_SELF, dtype, false, false); }
Tensor Tensor::type_as(const Tensor& other) TENON_KIND { return tenon::detail::to(TENON_SELF, other.scalar_type(), false, false); }
Tensor Tensor::cpu() TENON_KIND { return tenon::detail::to(TENON_SELF, Device(kCPU), false, false); }
Tensor Tensor::cuda(optional<Device> device, bool non_blocking) TENON_KIND {  // the current one unless given
  return tenon::detail::to(TENON_SELF, device.value_or(Device(kCUDA)), non_blocking, false);
}
Tensor Tensor::cuda(int index) TENON_KIND {
  return tenon::detail::to(TENON_SELF, Device(kCUDA, static_cast<DeviceIndex>(index)), false, false);
}

// --- in the shape of another tensor
Tensor Tensor::reshape_as(const Tensor& other) TENON_KIND { return tenon::reshape(TENON_SELF, other.sizes()); }
Tensor Tensor::view_as(const Tensor& other) TENON_KIND { return tenon::view(TENON_SELF, other.sizes()); }
Tensor Tensor::expand_as(const Tensor& other) TENON_KIND { return tenon::expand(TENON_SELF, other.sizes()); }
Tensor Tensor::narrow_copy(int64_t dim, int64_t start, int64_t length) TENON_KIND {
  return tenon::clone(tenon::narrow(TENON_SELF, dim, start, length));
}
Tensor Tensor::resolve_neg() TENON_KIND { return TENON_SELF; }

// --- operators
Tensor Tensor::operator[](int64_t index) TENON_KIND { return tenon::select(TENON_SELF, 0, index); }
Tensor Tensor::operator[](const Operand& index) TENON_KIND { return tenon::detail::subscript(TENON_SELF, index); }
Tensor Tensor::operator-() TENON_KIND { return tenon::neg(TENON_SELF); }
Tensor Tensor::operator+() TENON_KIND { return tenon::positive(TENON_SELF); }
Tensor Tensor::operator!() TENON_KIND { return tenon::logical_not(TENON_SELF); }
Tensor Tensor::operator~() TENON_KIND { return tenon::detail::invert(TENON_SELF); }
