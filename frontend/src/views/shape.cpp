// Views of all elements in another shape or order of dims: they compute sizes, strides and an offset; no node
// is made until the view is read.
#include <algorithm>
#include <numeric>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/geometry.h"
#include "tenon/views.h"

namespace tenon {
namespace {

// The shape with its -1 filled in, checked against the number of elements.
Dims infer_shape(IntArrayRef shape, int64_t numel) {
  Dims result = dims_of(shape);
  int64_t known = 1, unknown = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1) {
      check(unknown < 0, "only one dimension can be inferred");
      unknown = static_cast<int64_t>(d);
    } else {
      check(shape[d] >= 0, "invalid shape dimension ", shape[d], " at index ", d, " of shape ", shape);
      check(!__builtin_mul_overflow(known, shape[d], &known), "numel: integer multiplication overflow");
    }
  }
  if (unknown >= 0 && known > 0 && numel % known == 0) {
    result[at(unknown)] = numel / known;
    return result;
  }
  check(unknown < 0 || known != 0 || numel != 0, "cannot reshape tensor of 0 elements into shape ", shape,
        " because the unspecified dimension size -1 can be any value and is ambiguous");
  check(unknown < 0 && known == numel, "shape '", shape, "' is invalid for input of size ", numel);
  return result;
}

// Strides that show the same memory in another shape, if there are any. Old dims are grouped into runs with
// stride[i] == stride[i+1] * size[i+1]; each new dim must lie inside one run.
optional<Dims> view_strides(const Dims& sizes, const Dims& strides, const Dims& shape) {
  if (ir::element_count(sizes) == 0) {
    return sizes == shape ? strides : ir::contiguous_strides(shape);
  }
  Dims result(shape.size(), 1);
  int64_t next = std::ssize(shape) - 1;
  int64_t run_stride = strides.empty() ? 1 : strides.back();
  int64_t run = 1, placed = 1;
  for (int64_t d = std::ssize(sizes) - 1; d >= 0; --d) {
    run *= sizes[at(d)];
    const bool ends = d == 0 || (sizes[at(d - 1)] != 1 && strides[at(d - 1)] != run * run_stride);
    if (!ends) continue;
    while (next >= 0 && (placed < run || shape[at(next)] == 1)) {
      result[at(next)] = placed * run_stride;
      placed *= shape[at(next--)];
    }
    if (placed != run) return nullopt;
    if (d > 0) {
      run_stride = strides[at(d - 1)];
      run = placed = 1;
    }
  }
  if (sizes.empty()) return ir::contiguous_strides(shape);  // all sizes are 1
  return next < 0 ? optional<Dims>(result) : nullopt;
}

// All elements of x in their order.
Tensor in_order(const Tensor& x, const Dims& shape, const Dims& strides) {
  const ElementMap own{ir::contiguous_strides(shape)};
  return make_view(x, ref(shape), ref(strides), impl(x).offset(), &own);
}

}  // namespace

// --- reshaping

Tensor reshape(const Operand& x, IntArrayRef shape) {
  const CallScope call("reshape", x);
  const TensorImpl& t = impl(x);
  const Dims wanted = infer_shape(shape, t.numel());
  const auto strides = view_strides(t.sizes(), t.strides(), wanted);
  GradScope scope(strides ? "ViewBackward0" : "UnsafeViewBackward0", x);
  return strides ? in_order(x, wanted, *strides) : record(ir::reshape(node_of(x), wanted));
}

Tensor view(const Operand& x, IntArrayRef shape) {
  GradScope scope("ViewBackward0", x);
  const TensorImpl& t = impl(x);
  const Dims wanted = infer_shape(shape, t.numel());
  const auto strides = view_strides(t.sizes(), t.strides(), wanted);
  check(strides.has_value(),
        "view size is not compatible with input tensor's size and stride (at least one dimension spans "
        "across two "
        "contiguous subspaces). Use .reshape(...) instead.");
  return in_order(x, wanted, *strides);
}

Tensor flatten(const Operand& x, int64_t start_dim, int64_t end_dim) {
  const CallScope call("flatten", x);
  const int64_t rank = x.dim();
  start_dim = wrap_dim(start_dim, rank);
  end_dim = wrap_dim(end_dim, rank);
  check(start_dim <= end_dim, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (rank == 0) return reshape(x, {1});
  if (start_dim == end_dim) return x;
  Dims shape;
  for (int64_t d = 0; d < rank; ++d) {
    if (d <= start_dim || d > end_dim) shape.push_back(x.size(d));
    else shape.back() *= x.size(d);
  }
  return reshape(x, ref(shape));
}

Tensor unflatten(const Operand& x, int64_t dim, IntArrayRef sizes) {
  const CallScope call("unflatten", x);
  check<IndexError>(x.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  dim = wrap_dim(dim, x.dim());
  check(!sizes.empty(), "unflatten: sizes must be non-empty");
  int64_t product = 1, inferred = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) inferred = static_cast<int64_t>(i);
    else product *= sizes[i];
  }
  const int64_t size = x.size(dim);
  check(inferred < 0 ? product == size : product != 0 && size % product == 0, "unflatten: Provided sizes ", sizes,
        " don't multiply up to the size of dim ", dim, " (", size, ") in the input tensor");
  Dims shape;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d != dim) shape.push_back(x.size(d));
    else
      for (int64_t s : sizes) shape.push_back(s == -1 ? size / product : s);
  }
  return view(x, ref(shape));
}

// Not reshape's view of a line with gaps: elements that lie apart are copied.
Tensor ravel(const Operand& x) { return view(detail::contiguous(x, MemoryFormat::Contiguous), {-1}); }

// --- reordering

Tensor permute(const Operand& x, IntArrayRef dims) {
  GradScope scope("PermuteBackward0", x);
  const Geometry from(x);
  check(std::ssize(dims) == from.rank(),
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
        "desired ordering "
        "of dimensions i.e. input.dim() = ",
        from.rank(), " is not equal to len(dims) = ", dims.size());
  Geometry to = from;
  std::vector<bool> seen(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t d = at(wrap_dim(dims[i], from.rank()));
    check(!seen[d], "permute(): duplicate dims are not allowed.");
    seen[d] = true;
    to.sizes[i] = from.sizes[d];
    to.strides[i] = from.strides[d];
    to.own.strides[i] = from.own.strides[d];
  }
  return to.view_of(x);
}

Tensor transpose(const Operand& x, int64_t dim0, int64_t dim1) {
  GradScope scope("TransposeBackward0", x);
  Geometry g(x);
  dim0 = wrap_dim(dim0, g.rank());
  dim1 = wrap_dim(dim1, g.rank());
  if (g.rank() == 0) return g.view_of(x);
  g.swap(dim0, dim1);
  return g.view_of(x);
}

Tensor t(const Operand& x) {
  GradScope scope("TBackward0", x);
  check(x.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", x.dim(), "D");
  return transpose(x, 0, x.dim() < 2 ? 0 : 1);
}

namespace {
// Each way to transpose a 0-dim tensor is the identity.
bool is_deprecated(const Tensor& x, const char* what, const char* advice) {
  if (x.dim() > 0) return false;
  warn_user(text(what, " is deprecated on 0-D tensors. ", advice));
  return true;
}
constexpr const char* kIdentity = "This function is the identity in these cases.";
constexpr const char* kConj = "Consider using x.conj().";
}  // namespace

Tensor detail::mT(const Operand& self) {
  const CallScope call("mT", self);
  if (is_deprecated(self, "Tensor.mT", kIdentity)) return self;
  check(self.dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ", self.dim(), "-D tensor.");
  return self.transpose(-2, -1);
}

Tensor detail::numpy_T(const Operand& self) {
  const CallScope call("numpy_T", self);
  if (!is_deprecated(self, "Tensor.T", kIdentity) && self.dim() != 2)
    warn_user(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
        "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
        "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.");
  std::vector<int64_t> dims(at(self.dim()));
  std::iota(dims.rbegin(), dims.rend(), int64_t{0});
  return self.permute(dims);
}

Tensor movedim(const Operand& x, IntArrayRef source, IntArrayRef destination) {
  const CallScope call("movedim", x);
  check(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (", source,
        " dims) should contain the same number of dims as destination (", destination, " dims)");
  const int64_t rank = x.dim();
  std::vector<int64_t> order(at(rank), -1);
  std::vector<bool> moved(at(rank));
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], rank), to = wrap_dim(destination[i], rank);
    check(rank == 0 || !moved[at(from)], "movedim: repeated dim in `source` (", source, ")");
    check(rank == 0 || order[at(to)] < 0, "movedim: repeated dim in `destination` (", destination, ")");
    if (rank == 0) {
      GradScope scope("AliasBackward0", x);
      return Geometry(x).view_of(x);
    }
    moved[at(from)] = true;
    order[at(to)] = from;
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (moved[at(next)]) ++next;
    d = next++;
  }
  return permute(x, order);
}

Tensor moveaxis(const Operand& x, IntArrayRef source, IntArrayRef destination) {
  const CallScope call("moveaxis", x);
  return movedim(x, source, destination);
}
Tensor adjoint(const Operand& x) {
  const CallScope call("adjoint", x);
  if (is_deprecated(x, "adjoint()", kConj)) return x;
  check(x.dim() >= 2, "tensor.adjoint() is only supported on matrices or batches of matrices. Got ", x.dim(), "-D tensor.");
  return transpose(x, -2, -1);
}
Tensor detail::mH(const Operand& self) {
  const CallScope call("mH", self);
  if (is_deprecated(self, "Tensor.mH", kConj)) return self;
  check(self.dim() >= 2, "tensor.mH is only supported on matrices or batches of matrices. Got ", self.dim(), "-D tensor.");
  return self.transpose(-2, -1);
}
Tensor detail::H(const Operand& self) {
  const CallScope call("H", self);
  if (is_deprecated(self, "Tensor.H", kConj)) return self;
  check(self.dim() == 2, "tensor.H is only supported on matrices (2-D tensors). Got ", self.dim(), "-D tensor.",
        self.dim() > 2 ? " For batches of matrices, consider using tensor.mH" : "");
  return self.transpose(0, 1);
}

// --- size-1 dims and repetition

Tensor expand(const Operand& x, IntArrayRef size) {
  GradScope scope("ExpandBackward0", x);
  Geometry g(x);
  const int64_t added = std::ssize(size) - g.rank();
  if (added < 0) {
    throw Error(text("expand(torch.", x.scalar_type(), "Tensor{", x.sizes(), "}, size=", size, "): the number of sizes provided (",
                     size.size(), ") must be greater or equal to the number of dimensions in the tensor (", g.rank(), ")"));
  }
  const Dims old = g.sizes;
  for (int64_t i = 0; i < added; ++i) g.insert(0, 1, 0, 0);
  for (int64_t d = g.rank() - 1; d >= 0; --d) {
    const int64_t wanted = size[at(d)], existing = g.sizes[at(d)];
    if (wanted == -1) {
      check(d >= added, "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", d);
      continue;
    }
    if (wanted == existing && d >= added) continue;
    check(existing == 1 && wanted >= 0, "The expanded size of the tensor (", wanted, ") must match the existing size (", existing,
          ") at non-singleton dimension ", d, ".  Target sizes: ", size, ".  Tensor sizes: ", ref(old));
    g.repeat(d, wanted);
  }
  checked_numel(ref(g.sizes));
  return g.view_of(x);
}

Tensor squeeze(const Operand& x) {
  GradScope scope("SqueezeBackward0", x);
  Geometry g(x);
  for (int64_t d = g.rank() - 1; d >= 0; --d) {
    if (g.sizes[at(d)] == 1) g.erase(d);
  }
  return g.view_of(x);
}
Tensor squeeze(const Operand& x, int64_t dim) {
  GradScope scope("SqueezeBackward1", x);
  Geometry g(x);
  dim = wrap_dim(dim, g.rank());
  if (g.rank() > 0 && g.sizes[at(dim)] == 1) g.erase(dim);
  return g.view_of(x);
}
Tensor squeeze(const Operand& x, IntArrayRef dims) {
  GradScope scope("SqueezeBackward2", x);
  Geometry g(x);
  const Dims wrapped = wrap_dims(dims, g.rank());
  if (dims.empty()) return g.view_of(x);
  for (size_t i = wrapped.size(); i-- > 0;) {
    if (g.sizes[at(wrapped[i])] == 1) g.erase(wrapped[i]);
  }
  return g.view_of(x);
}
Tensor unsqueeze(const Operand& x, int64_t dim) {
  GradScope scope("UnsqueezeBackward0", x);
  Geometry g(x);
  g.unsqueeze(wrap_dim(dim, g.rank() + 1));
  return g.view_of(x);
}

// --- lists of tensors

std::vector<Tensor> meshgrid(TensorList tensors) {
  const CallScope call("meshgrid", tensors);
  warn_user("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.");
  return meshgrid(tensors, "ij");
}
std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing) {
  const CallScope call("meshgrid", tensors);
  check(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  check(indexing == "ij" || indexing == "xy", "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  for (const Tensor& x : tensors) {
    check(x.dim() <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", x);
    check(x.scalar_type() == tensors[0].scalar_type(), "torch.meshgrid expects all tensors to have the same dtype");
  }
  std::vector<Tensor> axes(tensors.begin(), tensors.end());
  const bool swaps = indexing == "xy" && axes.size() >= 2;
  if (swaps) std::swap(axes[0], axes[1]);
  Dims shape;
  for (const Tensor& x : axes) shape.push_back(x.numel());
  std::vector<Tensor> grids;
  for (size_t i = 0; i < axes.size(); ++i) {
    Dims line(axes.size(), 1);
    line[i] = shape[i];
    grids.push_back(expand(view(axes[i], ref(line)), ref(shape)));
  }
  if (swaps) std::swap(grids[0], grids[1]);
  return grids;
}

#define TENON_EACH(name)                                       \
  std::vector<Tensor> name(TensorList tensors) {               \
    std::vector<Tensor> result;                                \
    for (const Tensor& x : tensors) result.push_back(name(x)); \
    return result;                                             \
  }
TENON_EACH(atleast_1d)
TENON_EACH(atleast_2d)
TENON_EACH(atleast_3d)
#undef TENON_EACH

}  // namespace tenon
