// Movement operations that make new tensors: joining, repeating, mirroring, padding, copying.
#include <algorithm>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/device_check.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"

namespace tenon {
namespace {

// The shape-(0,) tensor that cat has always skipped.
bool is_legacy_empty(const Dims& sizes) { return sizes.size() == 1 && sizes[0] == 0; }

void check_cat_shape(const Dims& sizes, const Dims& first, size_t dim, size_t number) {
  check(sizes.size() == first.size(), "Tensors must have same number of dimensions: got ", first.size(), " and ", sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    check(d == dim || sizes[d] == first[d], "Sizes of tensors must match except in dimension ", dim, ". Expected size ", first[d],
          " but got size ", sizes[d], " for tensor number ", number, " in the list.");
  }
}

void check_cat_shapes(TensorList tensors, const Dims& first, size_t dim) {
  Dims result = first;
  int64_t& joined = result[dim];
  joined = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Dims& sizes = tensors[i].unsafe_impl()->sizes();
    if (is_legacy_empty(sizes)) continue;
    check_cat_shape(sizes, first, dim, i);
    check(!__builtin_add_overflow(joined, sizes[dim], &joined), "numel: integer multiplication overflow");
  }
  checked_numel(ref(result));
}

// The parts with elements, side by side; all of them are ready to be joined.
NodeRef joined(TensorList tensors, int64_t dim, ScalarType type) {
  const DType dtype = ir_type(type);
  std::vector<NodeRef> parts;
  parts.reserve(tensors.size());
  for (const Tensor& x : tensors) {
    const TensorImpl& t = *x.unsafe_impl();
    if (t.numel() == 0) continue;
    parts.push_back(t.node());
    if (t.dtype() != dtype) parts.back() = ir::cast(parts.back(), dtype);
  }
  return parts.empty() ? NodeRef() : parts.size() == 1 ? parts[0] : ir::cat(parts, dim);
}

template <typename F>
std::vector<Tensor> each(TensorList tensors, F f) {
  std::vector<Tensor> result;
  for (const Tensor& x : tensors) result.push_back(f(x));
  return result;
}

}  // namespace

// --- joining

Tensor cat(TensorList tensors, int64_t dim) {
  GradScope scope("CatBackward0", tensors);
  check<ValueError>(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  Promotion promotion;
  const Tensor* first = nullptr;
  const TensorImpl* before = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorImpl& t = impl(tensors[i]);
    check(!t.sizes().empty(), "zero-dimensional tensor (at position ", i, ") cannot be concatenated");
    if (before) check_argument_device(tensors[0], tensors[i], "tensors", "cat");
    if (!before || t.dtype() != before->dtype()) promotion.add(tensors[i]);
    if (!first && !is_legacy_empty(t.sizes())) first = &tensors[i];
    before = &t;
  }
  if (!first) first = &tensors[0];
  dim = wrap_dim(dim, first->dim());
  check_cat_shapes(tensors, impl(*first).sizes(), at(dim));
  if (NodeRef node = joined(tensors, dim, promotion.result())) return record(std::move(node));
  Dims nothing = impl(*first).sizes();
  nothing[at(dim)] = 0;
  for (const Tensor& x : tensors) {
    if (!is_legacy_empty(impl(x).sizes())) nothing[at(dim)] += x.size(dim);
  }
  return record(constant_node(ir::constant(ir_type(promotion.result()), int64_t{0}), nothing));
}

Tensor stack(TensorList tensors, int64_t dim) {
  GradScope scope("StackBackward0", tensors);
  check(!tensors.empty(), "stack expects a non-empty TensorList");
  dim = wrap_dim(dim, tensors[0].dim() + 1);
  const Dims& first = impl(tensors[0]).sizes();
  for (size_t i = 1; i < tensors.size(); ++i) {
    const Dims& sizes = impl(tensors[i]).sizes();
    check(sizes == first, "stack expects each tensor to be equal size, but got ", ref(first), " at entry 0 and ", ref(sizes), " at entry ",
          i);
  }
  // Along a dim that the tensors have, what is stacked lies as what is joined, in one more dim.
  if (dim == tensors[0].dim() || tensors[0].numel() == 0)
    return cat(each(tensors, [&](const Tensor& x) { return unsqueeze(x, dim); }), dim);
  Dims result = first;
  result.insert(at(dim), std::ssize(tensors));
  return record(ir::reshape(node_of(cat(tensors, dim)), result));
}

Tensor atleast_1d(const Tensor& x) { return x.dim() == 0 ? reshape(x, {1}) : Tensor(x); }
Tensor atleast_2d(const Tensor& x) {
  const CallScope call("atleast_2d", x);
  return x.dim() == 0 ? reshape(x, {1, 1}) : x.dim() == 1 ? unsqueeze(x, 0) : Tensor(x);
}
Tensor atleast_3d(const Tensor& x) {
  const CallScope call("atleast_3d", x);
  switch (x.dim()) {
    case 0: return reshape(x, {1, 1, 1});
    case 1: return unsqueeze(unsqueeze(x, 0), -1);
    case 2: return unsqueeze(x, -1);
    default: return x;
  }
}

Tensor vstack(TensorList tensors) {
  const CallScope call("vstack", tensors);
  check(!tensors.empty(), "vstack expects a non-empty TensorList");
  return cat(atleast_2d(tensors), 0);
}
Tensor hstack(TensorList tensors) {
  const CallScope call("hstack", tensors);
  check(!tensors.empty(), "hstack expects a non-empty TensorList");
  const std::vector<Tensor> parts = atleast_1d(tensors);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}
Tensor dstack(TensorList tensors) {
  const CallScope call("dstack", tensors);
  check(!tensors.empty(), "dstack expects a non-empty TensorList");
  return cat(atleast_3d(tensors), 2);
}

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  const CallScope call("broadcast_tensors", tensors);
  Dims shape;
  for (const Tensor& x : tensors) shape = broadcast_shape(ref(shape), x.sizes());
  return each(tensors, [&](const Tensor& x) { return expand(x, ref(shape)); });
}

// --- copying

// The copy shares the value until either of the two is written; what others may write is copied by record.
Tensor clone(const Operand& x) {
  GradScope scope("CloneBackward0", x);
  return record(node_of(x), x);
}

Tensor detail::contiguous(const Operand& self) {
  const CallScope call("contiguous", self);
  if (self.is_contiguous()) return self;
  GradScope scope("CloneBackward0", self);
  return record(node_of(self));
}

Tensor detail::repeat(const Operand& self, IntArrayRef repeats) {
  GradScope scope("RepeatBackward0", self);
  check(std::ssize(repeats) >= self.dim(), "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  const size_t added = repeats.size() - at(self.dim());
  Dims spread, expanded, result;  // [1, a, 1, b] -> [n, a, m, b] -> [n*a, m*b]
  for (size_t d = 0; d < repeats.size(); ++d) {
    const int64_t size = d < added ? 1 : self.sizes()[d - added];
    spread.push_back(1);
    spread.push_back(size);
    expanded.push_back(repeats[d]);
    expanded.push_back(size);
    int64_t repeated = 0;
    check(!__builtin_mul_overflow(repeats[d], size, &repeated), "numel: integer multiplication overflow");
    result.push_back(repeated);
  }
  if (checked_numel(ref(result)) == 0) return record(constant_node(ir::constant(ir_type(self.scalar_type()), int64_t{0}), result));
  return record(ir::reshape(ir::expand(ir::reshape(node_of(self), spread), expanded), result));
}

Tensor tile(const Operand& x, IntArrayRef dims) {
  const CallScope call("tile", x);
  Dims repeats(at(std::max<int64_t>(0, x.dim() - std::ssize(dims))), 1);
  repeats.append(dims.data(), dims.size());
  return x.repeat(ref(repeats));
}

// --- mirroring and rotating

Tensor flip(const Operand& x, IntArrayRef dims) {
  GradScope scope("FlipBackward0", x);
  const Dims wrapped = wrap_dims(dims, x.dim());
  if (dims.empty() || x.numel() == 0 || x.dim() == 0) return clone(x);
  return record(ir::flip(node_of(x), wrapped));
}
Tensor fliplr(const Operand& x) {
  const CallScope call("fliplr", x);
  check(x.dim() >= 2, "Input must be >= 2-d.");
  return flip(x, {1});
}
Tensor flipud(const Operand& x) {
  const CallScope call("flipud", x);
  check(x.dim() >= 1, "Input must be >= 1-d.");
  return flip(x, {0});
}

Tensor roll(const Operand& x, IntArrayRef shifts, IntArrayRef dims) {
  GradScope scope("RollBackward0", x);
  check(!shifts.empty(), "`shifts` required");
  if (dims.empty() && shifts.size() == 1) return reshape(roll(flatten(x), shifts, {0}), x.sizes());
  check(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  Tensor result = x;
  for (size_t i = 0; i < dims.size(); ++i) {
    check<IndexError>(x.dim() > 0, "Dimension specified as ", dims[i], " but tensor has no dimensions");
    const int64_t dim = wrap_dim(dims[i], x.dim());
    const int64_t size = x.size(dim);
    if (size == 0 || shifts[i] % size == 0) continue;
    const int64_t shift = (shifts[i] % size + size) % size;
    result = cat({narrow(result, dim, size - shift, shift), narrow(result, dim, 0, size - shift)}, dim);
  }
  return result.is_same(x) ? clone(x, MemoryFormat::Contiguous) : result;
}

// --- padding

Tensor constant_pad_nd(const Operand& x, IntArrayRef pad, const Scalar& value) {
  const CallScope call("constant_pad_nd", x, value);
  GradScope scope("ConstantPadNdBackward0", x);
  check(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  check(std::ssize(pad) <= 2 * x.dim(),
        "Padding length should be less than or equal to two times the input dimension but got padding length ", pad.size(),
        " and input of dimension ", x.dim());
  const size_t rank = at(x.dim());
  Tensor cropped = x;
  Dims lo(rank, 0), hi(rank, 0), result;
  for (size_t d = 0; d < rank; ++d) {
    const size_t pair = 2 * (rank - 1 - d);
    const int64_t before = pair < pad.size() ? pad[pair] : 0, after = pair < pad.size() ? pad[pair + 1] : 0;
    const int64_t size = x.size(d);
    constexpr int64_t most = int64_t{1} << 60;  // keeps the sums below from overflowing
    check(std::max(before, after) < most && std::min(before, after) > -most, "padding ", before, " and ", after, " of dimension ", d,
          " is too large");
    check(size + before + after >= 0, "The input size ", size, ", plus negative padding ", before, " and ", after,
          " resulted in a negative output size, which is invalid. Check dimension ", d, " of your input.");
    result.push_back(size + before + after);
    lo[d] = std::max<int64_t>(before, 0);
    hi[d] = std::max<int64_t>(after, 0);
    const int64_t crop = std::max<int64_t>(-before, 0);
    const int64_t kept = std::max<int64_t>(size - crop - std::max<int64_t>(-after, 0), 0);
    cropped = narrow(cropped, static_cast<int64_t>(d), std::min(crop, size), kept);
  }
  checked_numel(ref(result));
  if (ref(result) == cropped.sizes()) return clone(cropped);  // then the value need not fit
  const ir::Constant fill = element_of(value, x.scalar_type());
  if (cropped.numel() == 0) return record(constant_node(fill, result));
  return record(ir::pad(node_of(cropped), constant_node(fill, Dims{}), lo, hi));
}

}  // namespace tenon
