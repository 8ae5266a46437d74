// The methods of a tensor that are more than the function of their name: conversions, shapes of another tensor, operators.
// Part of the class TensorMethods, like tensor_methods.h, which says what TENON_KIND and TENON_SELF are.
// --- conversions: the very same tensor when nothing changes (and copy is false)
Self to(ScalarType dtype, bool non_blocking = false, bool copy = false, optional<MemoryFormat> memory_format = nullopt) TENON_KIND {
  return tenon::detail::to(TENON_SELF, dtype, non_blocking, copy, memory_format);
}
Self to(TypeMeta dtype, bool non_blocking = false, bool copy = false) TENON_KIND {
  return tenon::detail::to(TENON_SELF, dtype.toScalarType(), non_blocking, copy);
}
Self to(Device device, bool non_blocking = false, bool copy = false, optional<MemoryFormat> memory_format = nullopt) TENON_KIND {
  return tenon::detail::to(TENON_SELF, device, non_blocking, copy, memory_format);
}
Self to(DeviceType device, bool non_blocking = false, bool copy = false, optional<MemoryFormat> memory_format = nullopt) TENON_KIND {
  return tenon::detail::to(TENON_SELF, Device(device), non_blocking, copy, memory_format);
}
Self to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false,
        optional<MemoryFormat> memory_format = nullopt) TENON_KIND {
  return tenon::detail::to(TENON_SELF, device, dtype, non_blocking, copy, memory_format);
}
Self to(Device device, TypeMeta dtype, bool non_blocking = false, bool copy = false) TENON_KIND {
  return tenon::detail::to(TENON_SELF, device, dtype.toScalarType(), non_blocking, copy);
}
Self to(const TensorOptions& options, bool non_blocking = false, bool copy = false,
        optional<MemoryFormat> memory_format = nullopt) TENON_KIND {
  return tenon::detail::to(TENON_SELF, options, non_blocking, copy, memory_format);
}
Self to(optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device, optional<bool> pin_memory, bool non_blocking,
        bool copy, optional<MemoryFormat> memory_format) TENON_KIND {
  return tenon::detail::to(TENON_SELF, dtype, layout, device, pin_memory, non_blocking, copy, memory_format);
}
Self to(const Self& other, bool non_blocking = false, bool copy = false,
        optional<MemoryFormat> memory_format = nullopt) TENON_KIND {  // its dtype and device
  return tenon::detail::to(TENON_SELF, other.device(), other.scalar_type(), non_blocking, copy, memory_format);
}
Self toType(ScalarType dtype) TENON_KIND { return tenon::detail::to(TENON_SELF, dtype, false, false); }
Self type_as(const Self& other) TENON_KIND { return tenon::detail::to(TENON_SELF, other.scalar_type(), false, false); }
Self cpu() TENON_KIND { return tenon::detail::to(TENON_SELF, Device(kCPU), false, false); }
Self cuda(optional<Device> device = nullopt, bool non_blocking = false) TENON_KIND {  // the current one unless given
  return tenon::detail::to(TENON_SELF, device.value_or(Device(kCUDA)), non_blocking, false);
}
Self cuda(int index) TENON_KIND { return tenon::detail::to(TENON_SELF, Device(kCUDA, static_cast<DeviceIndex>(index)), false, false); }

// --- in the shape of another tensor
Self reshape_as(const Self& other) TENON_KIND { return tenon::reshape(TENON_SELF, other.sizes()); }
Self view_as(const Self& other) TENON_KIND { return tenon::view(TENON_SELF, other.sizes()); }
Self expand_as(const Self& other) TENON_KIND { return tenon::expand(TENON_SELF, other.sizes()); }

Self narrow_copy(int64_t dim, int64_t start, int64_t length) TENON_KIND {
  return tenon::clone(tenon::narrow(TENON_SELF, dim, start, length));
}
Self resolve_neg() TENON_KIND { return TENON_SELF; }

// --- operators
Self operator[](int64_t index) TENON_KIND { return tenon::select(TENON_SELF, 0, index); }
Self operator[](const Operand& index) TENON_KIND { return tenon::detail::subscript(TENON_SELF, index); }  // index({index})
Self operator-() TENON_KIND { return tenon::neg(TENON_SELF); }
Self operator+() TENON_KIND { return tenon::positive(TENON_SELF); }
Self operator!() TENON_KIND { return tenon::logical_not(TENON_SELF); }
Self operator~() TENON_KIND { return tenon::detail::invert(TENON_SELF); }
