// Views that speak of memory: strides from the caller, the bits as another type, memory formats.
#include "frontend/src/autograd/aliases.h"
#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/geometry.h"
#include "tenon/views.h"

namespace tenon {

// --- strides from the caller

Tensor as_strided(const Operand& x, IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) {
  const CallScope call("as_strided", x);
  check(size.size() == stride.size(), "mismatch in length of strides and shape");
  const NodeRef base = impl(x).storage().value();
  const int64_t item = x.element_size(), bytes = base->numel() * ir::item_size(base->dtype());
  const int64_t offset = storage_offset.value_or(x.storage_offset());
  check(offset >= 0, "Tensor: invalid storage offset ", offset);
  int64_t reach = offset;  // the last element
  bool inside = true;
  for (size_t d = 0; d < size.size(); ++d) {
    check(stride[d] >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", stride);
    int64_t along = 0;
    inside = inside && !__builtin_mul_overflow(std::max<int64_t>(size[d] - 1, 0), stride[d], &along) &&
             !__builtin_add_overflow(reach, along, &reach);
  }
  const bool none = checked_numel(size) == 0;
  check(none || (inside && reach < bytes / item), "setStorage: sizes ", size, ", strides ", stride, ", storage offset ", offset,
        ", and itemsize ", item, " requiring a storage size of ",
        static_cast<int64_t>((static_cast<uint64_t>(reach) + 1) * static_cast<uint64_t>(item)), " are out of bounds for storage of size ",
        bytes);
  GradScope scope("AsStridedBackward0", x);
  return make_view(x, size, stride, offset);
}
Tensor& Tensor::as_strided_(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) const {
  const CallScope call("as_strided_", *this);
  return reshape_in_place(*this, as_strided(size, stride, storage_offset));
}

bool Tensor::is_set_to(const Tensor& other) const {
  return is_alias_of(other) && storage_offset() == other.storage_offset() && sizes() == other.sizes() && strides() == other.strides();
}

// --- the bits as another type

namespace {

// The last dim shrinks or grows by the ratio of the item sizes; all places are counted in new items.
void rescale(Geometry& g, ScalarType from, ScalarType to) {
  const int64_t old_size = elementSize(from), new_size = elementSize(to);
  check(g.rank() > 0, "self.dim() cannot be 0 to view ", from, " as ", to, " (different element sizes)");
  check(g.strides.back() == 1, "self.stride(-1) must be 1 to view ", from, " as ", to, " (different element sizes), but got ",
        g.strides.back());
  if (old_size > new_size) {
    const int64_t ratio = old_size / new_size;
    for (size_t d = 0; d + 1 < g.strides.size(); ++d) g.strides[d] *= ratio;
    g.sizes.back() *= ratio;
    g.offset *= ratio;
    return;
  }
  const int64_t ratio = new_size / old_size;
  check(g.sizes.back() % ratio == 0, "self.size(-1) must be divisible by ", ratio, " to view ", from, " as ", to,
        " (different element sizes), but got ", g.sizes.back());
  check(g.offset % ratio == 0, "self.storage_offset() must be divisible by ", ratio, " to view ", from, " as ", to,
        " (different element sizes), but got ", g.offset);
  for (size_t d = 0; d + 1 < g.strides.size(); ++d) {
    check(g.strides[d] % ratio == 0, "self.stride(", d, ") must be divisible by ", ratio, " to view ", from, " as ", to,
          " (different element sizes), but got ", g.strides[d]);
    g.strides[d] /= ratio;
  }
  g.sizes.back() /= ratio;
  g.offset /= ratio;
}

}  // namespace

Tensor detail::view(const Operand& self, ScalarType dtype) {
  const CallScope call("view", self);
  Geometry g(self);
  if (elementSize(dtype) != self.element_size()) rescale(g, self.scalar_type(), dtype);
  Tensor result(new TensorImpl(impl(self), ir_type(dtype), ref(g.sizes), ref(g.strides), g.offset), false);
  if (isFloatingType(dtype)) adopt_view(self, result, dtype == self.scalar_type() ? &g.own : nullptr);
  return result;
}

Tensor real(const Operand& x) { return x; }
Tensor conj(const Operand& x) { return x; }
Tensor resolve_conj(const Operand& x) { return x; }

// --- memory formats

namespace {

// The dims from the outermost to the innermost in memory.
Dims memory_order(const Tensor& x, MemoryFormat format) {
  const int64_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  check(x.dim() == rank, "required rank ", rank, " tensor to use channels_last", rank == 5 ? "_3d" : "", " format");
  return rank == 4 ? Dims{0, 2, 3, 1} : Dims{0, 2, 3, 4, 1};
}

}  // namespace

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return is_contiguous();
  const int64_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  return dim() == rank && permute(ref(memory_order(*this, format))).is_contiguous();
}

Tensor detail::contiguous(const Operand& self, MemoryFormat format) {
  const CallScope call("contiguous", self);
  check(format != MemoryFormat::Preserve, "preserve memory format is unsupported by the contiguous operator");
  if (self.is_contiguous(format)) return self;
  if (format == MemoryFormat::Contiguous) return contiguous(self);
  const Dims order = memory_order(self, format);
  Dims back(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) back[at(order[i])] = static_cast<int64_t>(i);
  return self.permute(ref(order)).contiguous().permute(ref(back));
}

}  // namespace tenon
