// Movement operations that make new tensors: joining, repeating, mirroring, padding, copying.
#include <algorithm>

#include "expr.h"
#include "grad.h"
#include "promote.h"
#include "text.h"

namespace tenon {
namespace {

// The shape-(0,) tensor that cat has always skipped.
bool is_legacy_empty(const Tensor& x) { return x.dim() == 1 && x.size(0) == 0; }

void check_cat_shapes(TensorList tensors, const Tensor& first, int64_t dim) {
  Dims result = dims_of(first.sizes());
  int64_t& joined = result[at(dim)];
  joined = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    if (is_legacy_empty(x)) continue;
    check(x.dim() == first.dim(), "Tensors must have same number of dimensions: got ", first.dim(), " and ",
          x.dim());
    for (int64_t d = 0; d < x.dim(); ++d) {
      check(d == dim || x.size(d) == first.size(d), "Sizes of tensors must match except in dimension ", dim,
            ". Expected size ", first.size(d), " but got size ", x.size(d), " for tensor number ", i,
            " in the list.");
    }
    check(!__builtin_add_overflow(joined, x.size(dim), &joined), "numel: integer multiplication overflow");
  }
  checked_numel(ref(result));
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
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(tensors[i].dim() > 0, "zero-dimensional tensor (at position ", i, ") cannot be concatenated");
    check_same_device(tensors[0], tensors[i]);
    promotion.add(tensors[i]);
    if (!first && !is_legacy_empty(tensors[i])) first = &tensors[i];
  }
  if (!first) first = &tensors[0];
  dim = wrap_dim(dim, first->dim());
  check_cat_shapes(tensors, *first, dim);
  std::vector<NodeRef> parts;
  for (const Tensor& x : tensors) {
    if (x.size(std::min(dim, x.dim() - 1)) == 0) continue;
    parts.push_back(operand(x, promotion.result()).node);
  }
  if (parts.empty()) return record(operand(*first, promotion.result()).node);
  if (parts.size() == 1) return record(parts[0]);
  return record(ir::cat(parts, dim));
}
Tensor concat(TensorList tensors, int64_t dim) { return cat(tensors, dim); }

Tensor stack(TensorList tensors, int64_t dim) {
  GradScope scope("StackBackward0", tensors);
  check(!tensors.empty(), "stack expects a non-empty TensorList");
  dim = wrap_dim(dim, tensors[0].dim() + 1);
  for (size_t i = 1; i < tensors.size(); ++i) {
    check(tensors[i].sizes() == tensors[0].sizes(), "stack expects each tensor to be equal size, but got ",
          tensors[0].sizes(), " at entry 0 and ", tensors[i].sizes(), " at entry ", i);
  }
  return cat(each(tensors, [&](const Tensor& x) { return unsqueeze(x, dim); }), dim);
}

Tensor atleast_1d(const Tensor& x) { return x.dim() == 0 ? reshape(x, {1}) : Tensor(x); }
Tensor atleast_2d(const Tensor& x) {
  return x.dim() == 0 ? reshape(x, {1, 1}) : x.dim() == 1 ? unsqueeze(x, 0) : Tensor(x);
}
Tensor atleast_3d(const Tensor& x) {
  switch (x.dim()) {
    case 0: return reshape(x, {1, 1, 1});
    case 1: return unsqueeze(unsqueeze(x, 0), -1);
    case 2: return unsqueeze(x, -1);
    default: return x;
  }
}

Tensor vstack(TensorList tensors) {
  check(!tensors.empty(), "vstack expects a non-empty TensorList");
  return cat(atleast_2d(tensors), 0);
}
Tensor hstack(TensorList tensors) {
  check(!tensors.empty(), "hstack expects a non-empty TensorList");
  const std::vector<Tensor> parts = atleast_1d(tensors);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}
Tensor dstack(TensorList tensors) {
  check(!tensors.empty(), "dstack expects a non-empty TensorList");
  return cat(atleast_3d(tensors), 2);
}

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
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
  if (self.is_contiguous()) return self;
  GradScope scope("CloneBackward0", self);
  return record(node_of(self));
}

Tensor detail::repeat(const Operand& self, IntArrayRef repeats) {
  GradScope scope("RepeatBackward0", self);
  check(static_cast<int64_t>(repeats.size()) >= self.dim(),
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
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
  if (checked_numel(ref(result)) == 0)
    return record(ir::make_const(ir::constant(ir_type(self.scalar_type()), int64_t{0}), result));
  return record(ir::reshape(ir::expand(ir::reshape(node_of(self), spread), expanded), result));
}

Tensor tile(const Operand& x, IntArrayRef dims) {
  Dims repeats(at(std::max<int64_t>(0, x.dim() - static_cast<int64_t>(dims.size()))), 1);
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
  check(x.dim() >= 2, "Input must be >= 2-d.");
  return flip(x, {1});
}
Tensor flipud(const Operand& x) {
  check(x.dim() >= 1, "Input must be >= 1-d.");
  return flip(x, {0});
}

Tensor roll(const Operand& x, IntArrayRef shifts, IntArrayRef dims) {
  GradScope scope("RollBackward0", x);
  check(!shifts.empty(), "`shifts` required");
  if (dims.empty() && shifts.size() == 1) return reshape(roll(flatten(x), shifts, {0}), x.sizes());
  check(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(),
        ", dims:", dims.size());
  Tensor result = x;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = wrap_dim(dims[i], x.dim());
    const int64_t size = x.dim() ? x.size(dim) : 1;
    if (size == 0 || shifts[i] % size == 0) continue;
    const int64_t shift = (shifts[i] % size + size) % size;
    result = cat({narrow(result, dim, size - shift, shift), narrow(result, dim, 0, size - shift)}, dim);
  }
  return result.is_same(x) ? clone(x) : result;
}

// --- padding

Tensor constant_pad_nd(const Operand& x, IntArrayRef pad, const Scalar& value) {
  GradScope scope("ConstantPadNdBackward0", x);
  check(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  check(
      static_cast<int64_t>(pad.size()) <= 2 * x.dim(),
      "Padding length should be less than or equal to two times the input dimension but got padding length ",
      pad.size(), " and input of dimension ", x.dim());
  const size_t rank = at(x.dim());
  Tensor cropped = x;
  Dims lo(rank, 0), hi(rank, 0), result;
  for (size_t d = 0; d < rank; ++d) {
    const size_t pair = 2 * (rank - 1 - d);
    const int64_t before = pair < pad.size() ? pad[pair] : 0, after = pair < pad.size() ? pad[pair + 1] : 0;
    const int64_t size = x.size(static_cast<int64_t>(d));
    constexpr int64_t most = int64_t{1} << 60;  // keeps the sums below from overflowing
    check(std::max(before, after) < most && std::min(before, after) > -most, "padding ", before, " and ",
          after, " of dimension ", d, " is too large");
    check(size + before + after >= 0, "The input size ", size, ", plus negative padding ", before, " and ",
          after, " resulted in a negative output size, which is invalid. Check dimension ", d,
          " of your input.");
    result.push_back(size + before + after);
    lo[d] = std::max<int64_t>(before, 0);
    hi[d] = std::max<int64_t>(after, 0);
    const int64_t crop = std::max<int64_t>(-before, 0);
    const int64_t kept = std::max<int64_t>(size - crop - std::max<int64_t>(-after, 0), 0);
    cropped = narrow(cropped, static_cast<int64_t>(d), std::min(crop, size), kept);
  }
  checked_numel(ref(result));
  const ir::Constant fill = element_of(value, x.scalar_type());
  if (cropped.numel() == 0) return record(ir::make_const(fill, result));
  return record(ir::pad(node_of(cropped), ir::make_const(fill, Dims{}), lo, hi));
}

}  // namespace tenon
