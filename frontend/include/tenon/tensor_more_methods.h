// The methods of a tensor that are more than the function of their name: conversions, shapes of another tensor, operators.
// Part of the class Tensor, like tensor_methods.h, which says what TENON_KIND is. The bodies stand in frontend/src/ops/more_methods.h.
// --- conversions: the very same tensor when nothing changes (and copy is false)
Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false, optional<MemoryFormat> memory_format = nullopt) TENON_KIND;
Tensor to(TypeMeta dtype, bool non_blocking = false, bool copy = false) TENON_KIND;
Tensor to(Device device, bool non_blocking = false, bool copy = false, optional<MemoryFormat> memory_format = nullopt) TENON_KIND;
Tensor to(DeviceType device, bool non_blocking = false, bool copy = false, optional<MemoryFormat> memory_format = nullopt) TENON_KIND;
Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false,
          optional<MemoryFormat> memory_format = nullopt) TENON_KIND;
Tensor to(Device device, TypeMeta dtype, bool non_blocking = false, bool copy = false) TENON_KIND;
Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false,
          optional<MemoryFormat> memory_format = nullopt) TENON_KIND;
Tensor to(optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device, optional<bool> pin_memory, bool non_blocking,
          bool copy, optional<MemoryFormat> memory_format) TENON_KIND;
Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false, optional<MemoryFormat> memory_format = nullopt) TENON_KIND;
Tensor toType(ScalarType dtype) TENON_KIND;
Tensor type_as(const Tensor& other) TENON_KIND;
Tensor cpu() TENON_KIND;
Tensor cuda(optional<Device> device = nullopt, bool non_blocking = false) TENON_KIND;
Tensor cuda(int index) TENON_KIND;

// --- in the shape of another tensor
Tensor reshape_as(const Tensor& other) TENON_KIND;
Tensor view_as(const Tensor& other) TENON_KIND;
Tensor expand_as(const Tensor& other) TENON_KIND;

Tensor narrow_copy(int64_t dim, int64_t start, int64_t length) TENON_KIND;
Tensor resolve_neg() TENON_KIND;

// --- operators
Tensor operator[](int64_t index) TENON_KIND;
Tensor operator[](const Operand& index) TENON_KIND;  // index({index})
Tensor operator-() TENON_KIND;
Tensor operator+() TENON_KIND;
Tensor operator!() TENON_KIND;
Tensor operator~() TENON_KIND;
