// Reading and writing at places that an index tensor names, as gathers and scatters along one dim. Where
// PyTorch takes a 1-d index for a whole dim, the index is repeated along the other dims, which costs nothing.
#include "tenon/indexed.h"

#include "expr.h"
#include "grad.h"
#include "index_check.h"
#include "positions.h"
#include "tenon/creation.h"
#include "text.h"

namespace tenon {
namespace {

// A 0-dim tensor counts as one of one element.
NodeRef at_least_1d(const Tensor& x) {
  const NodeRef node = node_of(x);
  return x.dim() == 0 ? ir::reshape(node, Dims{1}) : node;
}
Dims at_least_1d(IntArrayRef sizes) { return sizes.empty() ? Dims{1} : dims_of(sizes); }
int64_t line_size(const Tensor& x, int64_t dim) { return x.dim() == 0 ? 1 : x.size(dim); }

Tensor record_in_shape(const NodeRef& node, IntArrayRef sizes) {
  return record(ir::reshape(node, dims_of(sizes)));
}

NodeRef flat(const Tensor& x) { return ir::reshape(node_of(x), Dims{x.numel()}); }

// --- indices with the rank of the tensor (gather, scatter)
// ---------------------------------------------------------------

void check_full_index(const char* name, const Tensor& index, const Tensor& self) {
  check(index.scalar_type() == kLong, name, "(): Expected dtype int64 for index");
  check(index.numel() == 0 || std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(self.dim(), 1),
        "Index tensor must have the same number of dimensions as input tensor");
}

// The first dim other than `dim` in which the index is longer than x; -1 if there is none.
int64_t longer_dim(const Tensor& index, const Tensor& x, int64_t dim) {
  for (int64_t d = 0; d < index.dim(); ++d) {
    if (d != dim && x.dim() > 0 && index.size(d) > x.size(d)) return d;
  }
  return -1;
}

NodeRef full_index(const Tensor& index, const Tensor& self, int64_t dim) {
  return ir::reshape(checked_index(index, line_size(self, dim), IndexUse::Gather, dim),
                     at_least_1d(index.sizes()));
}

void check_source(const Tensor& index, const Tensor& src, const Tensor& self, int64_t dim) {
  check(std::max<int64_t>(src.dim(), 1) == std::max<int64_t>(index.dim(), 1),
        "Index tensor must have the same number of dimensions as src tensor");
  bool fits = longer_dim(index, self, dim) < 0;
  for (int64_t d = 0; d < index.dim() && src.dim() > 0; ++d) fits = fits && index.size(d) <= src.size(d);
  check(fits, "Expected index ", index.sizes(), " to be smaller than self ", self.sizes(),
        " apart from dimension ", dim, " and to be smaller size than src ", src.sizes());
}

// The part of src that the index covers.
NodeRef covered(const Tensor& src, const Tensor& index) {
  const NodeRef node = at_least_1d(src);
  const Dims sizes = at_least_1d(index.sizes());
  return ir::slice(node, Dims(sizes.size(), 0), Dims(sizes.size(), 1), sizes);
}

Tensor scattered(Op op, const char* name, const Tensor& self, int64_t dim, const Tensor& index,
                 const Tensor& src) {
  dim = wrap_dim(dim, self.dim());
  check_full_index(name, index, self);
  check(self.scalar_type() == src.scalar_type(), name, "(): Expected self.dtype to be equal to src.dtype");
  check_same_device(self, src);
  if (index.numel() == 0) return self.clone();
  check_source(index, src, self, dim);
  return record_in_shape(
      ir::scatter(op, at_least_1d(self), full_index(index, self, dim), covered(src, index), dim),
      self.sizes());
}

Tensor scattered(Op op, const char* name, const Tensor& self, int64_t dim, const Tensor& index,
                 const Scalar& value) {
  dim = wrap_dim(dim, self.dim());
  check_full_index(name, index, self);
  if (index.numel() == 0) return self.clone();
  const int64_t longer = longer_dim(index, self, dim);
  check(longer < 0, "Expected index ", index.sizes(), " to be smaller than self ", self.sizes(),
        " apart from dimension ", dim);
  const Expr splat =
      number({ir::make_const({ir_type(self.scalar_type()), 0}, at_least_1d(index.sizes()))}, value);
  return record_in_shape(ir::scatter(op, at_least_1d(self), full_index(index, self, dim), splat.node, dim),
                         self.sizes());
}

Op scatter_op(std::string_view reduce) {
  if (reduce == "add") return Op::ScatterAdd;
  check(reduce == "multiply", "reduce argument must be either add or multiply.");
  return Op::ScatterMul;
}

// What the first write to a place is combined with, if self is not included.
Scalar start_of(Op op, ScalarType type) {
  const Op reduction = op == Op::ScatterMul   ? Op::Prod
                       : op == Op::ScatterMax ? Op::ReduceMax
                       : op == Op::ScatterMin ? Op::ReduceMin
                                              : Op::Sum;
  const ir::Constant start = ir::reduce_identity(reduction, ir_type(type));
  return isFloatingType(type) ? Scalar(ir::to_double(start)) : Scalar(ir::to_int64(start));
}

// --- an index for a whole dim (index_select, index_add, ...)
// ------------------------------------------------------------------

// As an index of the rank of self: repeated along the other dims.
NodeRef line_index(const Tensor& index, const Tensor& self, int64_t dim) {
  Dims shape = at_least_1d(self.sizes());
  NodeRef node = checked_index(index, line_size(self, dim), IndexUse::Line);
  Dims one(shape.size(), 1);
  one[at(dim)] = shape[at(dim)] = index.numel();
  return broadcast(ir::reshape(node, one), ref(shape));
}

void check_line_index(const char* name, const Tensor& index) {
  check(index.scalar_type() == kLong || index.scalar_type() == kInt, name,
        "(): Expected dtype int32 or int64 for index");
  check<IndexError>(index.dim() <= 1, name, "(): Index is supposed to be a vector");
}

// source as index_add and index_copy take it: self's shape but for `dim`, where it has an element for each
// index.
NodeRef line_source(const char* name, const Tensor& self, int64_t dim, const Tensor& index,
                    const Tensor& source) {
  check(self.scalar_type() == source.scalar_type(), name,
        "(): self and source expected to have the same dtype, but got (self) ", self.scalar_type(),
        " and (source) ", source.scalar_type());
  check<IndexError>(line_size(source, source.dim() == 0 ? 0 : dim) == index.numel(), name,
                    "(): Number of indices (", index.numel(), ") should be equal to source.size(dim) (",
                    line_size(source, source.dim() == 0 ? 0 : dim), ")");
  Dims shape = at_least_1d(self.sizes());
  shape[at(dim)] = index.numel();
  const NodeRef node = at_least_1d(source);
  check(node->shape() == shape, name, "(): source tensor shape ", source.sizes(), " does not match self ",
        self.sizes(), " but for dimension ", dim);
  return node;
}

Tensor write_lines(Op op, const char* name, const Tensor& self, int64_t dim, const Tensor& index,
                   const NodeRef& value) {
  check_line_index(name, index);
  const NodeRef places = line_index(index, self, dim);
  return record_in_shape(
      ir::scatter(op, at_least_1d(self), places, broadcast(value, ref(places->shape())), dim), self.sizes());
}

// --- places of a mask
// ---------------------------------------------------------------------------------------------------

Tensor as_mask(const Tensor& x) { return x.scalar_type() == kBool ? x : x != 0; }

// Coordinate `dim` of row-major positions in `sizes`.
Tensor coordinate(const NodeRef& positions, IntArrayRef sizes, int64_t dim) {
  const Dims strides = ir::contiguous_strides(dims_of(sizes));
  const Expr row = Expr{positions} / static_cast<double>(std::max<int64_t>(strides[at(dim)], 1));
  return record(rem(row, static_cast<double>(std::max<int64_t>(sizes[at(dim)], 1))).node);
}

}  // namespace

// The running count numbers the true elements; each writes its position at its number. False ones write past
// the end.
NodeRef true_positions(const Tensor& mask) {
  const int64_t size = mask.numel();
  const int64_t count = size == 0 ? 0 : mask.sum().item<int64_t>();
  const NodeRef none = ir::make_const(ir::constant(DType::I64, int64_t{0}), Dims{count == 0 ? 0 : count + 1});
  if (count == 0) return none;
  const NodeRef iota = ir::make_iota(Dims{size}, 0);
  if (count == size) return iota;
  const Expr holds{flat(mask)}, past = number({iota}, static_cast<double>(count));
  const Expr number_of{ir::scan(Op::ScanSum, ir::cast(holds.node, DType::I64), 0)};
  const Expr place = select(holds, number_of - 1.0, past);
  return ir::slice(ir::scatter(Op::Scatter, none, place.node, iota, 0), Dims{0}, Dims{1}, Dims{count});
}

// --- reading
// ----------------------------------------------------------------------------------------------------------

Tensor gather(const Operand& self, int64_t dim, const Operand& index, bool) {
  GradScope scope("GatherBackward0", self);
  dim = wrap_dim(dim, self.dim());
  check_full_index("gather", index, self);
  const int64_t longer = longer_dim(index, self, dim);
  check(longer < 0, "Size does not match at dimension ", longer, " expected index ", index.sizes(),
        " to be smaller than self ", self.sizes(), " apart from dimension ", dim);
  if (index.numel() == 0) return empty(index.sizes(), self.options());
  return record_in_shape(ir::gather(at_least_1d(self), full_index(index, self, dim), dim), index.sizes());
}

Tensor index_select(const Operand& self, int64_t dim, const Operand& index) {
  GradScope scope("IndexSelectBackward0", self);
  dim = wrap_dim(dim, self.dim());
  check_line_index("index_select", index);
  check(self.dim() > 0 || index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ",
        index.numel(), " value(s)");
  const NodeRef places = line_index(index, self, dim);
  const NodeRef result = places->numel() == 0
                             ? ir::make_const({ir_type(self.scalar_type()), 0}, places->shape())
                             : ir::gather(at_least_1d(self), places, dim);
  return self.dim() == 0 ? record_in_shape(result, {}) : record(result);
}

Tensor take(const Operand& self, const Operand& index) {
  GradScope scope("TakeBackward0", self);
  check(index.scalar_type() == kLong, "take(): Expected a long tensor for index, but got ",
        index.scalar_type());
  check<IndexError>(self.numel() > 0 || index.numel() == 0, "take(): tried to take from an empty tensor");
  if (index.numel() == 0) return empty(index.sizes(), self.options());
  const NodeRef places = checked_index(index, self.numel(), IndexUse::Take);
  return record_in_shape(ir::gather(flat(self), ir::reshape(places, Dims{index.numel()}), 0), index.sizes());
}

Tensor take_along_dim(const Operand& self, const Operand& indices, optional<int64_t> dim) {
  check(indices.scalar_type() == kLong, "torch.take_along_dim(): dtype of indices should be Long but got ",
        indices.scalar_type());
  if (!dim) return gather(self.reshape({-1}), 0, indices.reshape({-1}));
  check(self.dim() == indices.dim(),
        "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ",
        self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  const int64_t d = wrap_dim(*dim, self.dim());
  const int64_t length = self.size(d), count = indices.size(d);  // throws if there are no dims
  std::vector<int64_t> self_sizes = self.sizes().vec(), index_sizes = indices.sizes().vec();
  self_sizes[at(d)] = index_sizes[at(d)] = 1;
  const Dims shape = broadcast_shape(self_sizes, index_sizes);
  Dims self_shape = shape, index_shape = shape;
  self_shape[at(d)] = length;
  index_shape[at(d)] = count;
  return gather(self.broadcast_to(ref(self_shape)), d, indices.broadcast_to(ref(index_shape)));
}

Tensor masked_select(const Operand& self, const Operand& mask) {
  GradScope scope("MaskedSelectBackward0", self);
  check(mask.scalar_type() == kBool || mask.scalar_type() == kByte,
        "masked_select: expected BoolTensor for mask");
  const Dims shape = broadcast_shape(self.sizes(), mask.sizes());
  const NodeRef places = true_positions(as_mask(mask).broadcast_to(ref(shape)));
  const Tensor x = self.broadcast_to(ref(shape));
  if (places->numel() == 0) return empty({0}, self.options());
  return record(ir::gather(flat(x), places, 0));
}

std::vector<Tensor> nonzero_numpy(const Operand& self) {
  const Tensor x = self.dim() == 0 ? self.reshape({1}) : Tensor(self);
  const NodeRef places = true_positions(as_mask(x));
  std::vector<Tensor> result;
  for (int64_t d = 0; d < x.dim(); ++d) result.push_back(coordinate(places, x.sizes(), d));
  return result;
}

Tensor nonzero(const Operand& self) {
  if (self.dim() == 0) return empty({self.numel() > 0 && self.is_nonzero() ? 1 : 0, 0}, TensorOptions(kLong));
  return stack(nonzero_numpy(self), 1);
}
Tensor argwhere(const Operand& self) { return nonzero(self); }
std::vector<Tensor> where(const Operand& condition) { return nonzero_numpy(condition); }

// --- writing
// ----------------------------------------------------------------------------------------------------------

Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Operand& src) {
  GradScope scope("ScatterBackward0", self, src);
  return scattered(Op::Scatter, "scatter", self, dim, index, src);
}
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Scalar& value) {
  GradScope scope("ScatterBackward1", self);
  return scattered(Op::Scatter, "scatter", self, dim, index, value);
}
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Operand& src,
               std::string_view reduce) {
  static std::atomic_flag warned;
  warn_user_once(
      warned,
      "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
      "PyTorch release. Use torch.scatter_reduce instead for more reduction options.");
  GradScope scope("ScatterBackward2", self, src);
  return scattered(scatter_op(reduce), "scatter", self, dim, index, src);
}
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Scalar& value,
               std::string_view reduce) {
  GradScope scope("ScatterBackward3", self);
  return scattered(scatter_op(reduce), "scatter", self, dim, index, value);
}
Tensor scatter_add(const Operand& self, int64_t dim, const Operand& index, const Operand& src) {
  GradScope scope("ScatterAddBackward0", self, src);
  return scattered(self.scalar_type() == kBool ? Op::ScatterMax : Op::ScatterAdd, "scatter_add", self, dim,
                   index, src);
}

Tensor scatter_reduce(const Operand& self, int64_t dim, const Operand& index, const Operand& src,
                      std::string_view reduce, bool include_self) {
  GradScope scope("ScatterReduceBackward0", self, src);
  const bool mean = reduce == "mean";
  const Op op = reduce == "sum" || mean ? Op::ScatterAdd
                : reduce == "prod"      ? Op::ScatterMul
                : reduce == "amax"      ? Op::ScatterMax
                                        : Op::ScatterMin;
  check(op != Op::ScatterMin || reduce == "amin",
        "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  const Tensor start = include_self ? Tensor(self)
                                    : scattered(Op::Scatter, "scatter_reduce", self, dim, index,
                                                start_of(op, self.scalar_type()));
  const Tensor result = scattered(op, "scatter_reduce", start, dim, index, src);
  if (!mean) return result;
  const Tensor base = include_self
                          ? ones_like(self)
                          : scattered(Op::Scatter, "scatter_reduce", ones_like(self), dim, index, Scalar(0));
  const Tensor count = scattered(Op::ScatterAdd, "scatter_reduce", base, dim, index, ones_like(src));
  return div(result, count, self.is_floating_point() ? optional<std::string_view>() : "floor");
}

Tensor index_add(const Operand& self, int64_t dim, const Operand& index, const Operand& source,
                 const Scalar& alpha) {
  GradScope scope("IndexAddBackward0", self, source);
  dim = wrap_dim(dim, self.dim());
  check_line_index("index_add", index);
  const Tensor scaled = alpha == Scalar(1) ? Tensor(source) : mul(source, alpha).to(source.scalar_type());
  return write_lines(self.scalar_type() == kBool ? Op::ScatterMax : Op::ScatterAdd, "index_add", self, dim,
                     index, line_source("index_add", self, dim, index, scaled));
}

Tensor index_copy(const Operand& self, int64_t dim, const Operand& index, const Operand& source) {
  GradScope scope("IndexCopyBackward0", self, source);
  dim = wrap_dim(dim, self.dim());
  check(index.scalar_type() == kLong, "index_copy_(): Expected a long tensor for index, but got ",
        index.scalar_type());
  return write_lines(Op::Scatter, "index_copy_", self, dim, index,
                     line_source("index_copy_", self, dim, index, source));
}

Tensor index_fill(const Operand& self, int64_t dim, const Operand& index, const Scalar& value) {
  GradScope scope("IndexFillBackward0", self);
  check<IndexError>(index.scalar_type() == kLong, "index_fill_(): Expected dtype int64 for index.");
  const Expr one = number(
      {ir::make_const({ir_type(self.scalar_type()), 0}, Dims(at_least_1d(self.sizes()).size(), 1))}, value);
  return write_lines(Op::Scatter, "index_fill_", self, wrap_dim(dim, self.dim()), index, one.node);
}
Tensor index_fill(const Operand& self, int64_t dim, const Operand& index, const Operand& value) {
  GradScope scope("IndexFillBackward1", self, value);
  check(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
        value.dim(), " dimension(s).");
  check<IndexError>(index.scalar_type() == kLong, "index_fill_(): Expected dtype int64 for index.");
  const NodeRef one = ir::reshape(ir::cast(node_of(value), ir_type(self.scalar_type())),
                                  Dims(at_least_1d(self.sizes()).size(), 1));
  return write_lines(Op::Scatter, "index_fill_", self, wrap_dim(dim, self.dim()), index, one);
}

Tensor put(const Operand& self, const Operand& index, const Operand& source, bool accumulate) {
  GradScope scope("PutBackward0", self, source);
  check(index.scalar_type() == kLong, "put_(): Expected a long tensor for index, but got ",
        index.scalar_type());
  check(self.scalar_type() == source.scalar_type(),
        "put_(): self and source expected to have the same dtype, but got self.dtype = ", self.scalar_type(),
        " and source.dtype = ", source.scalar_type());
  check(index.numel() == source.numel(),
        "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
        source.numel(), ", index.numel() = ", index.numel());
  if (index.numel() == 0) return self.clone();
  const NodeRef places = ir::reshape(checked_index(index, self.numel(), IndexUse::Take), Dims{index.numel()});
  const Op op = !accumulate ? Op::Scatter : self.scalar_type() == kBool ? Op::ScatterMax : Op::ScatterAdd;
  return record_in_shape(ir::scatter(op, flat(self), places, flat(source), 0), self.sizes());
}

Tensor masked_scatter(const Operand& self, const Operand& mask, const Operand& source) {
  GradScope scope("MaskedScatterBackward0", self, source);
  check(self.scalar_type() == source.scalar_type(),
        "masked_scatter: expected self and source to have same dtypes but got ", self.scalar_type(), " and ",
        source.scalar_type());
  check(mask.scalar_type() == kBool || mask.scalar_type() == kByte,
        "masked_scatter_ only supports boolean masks, but got mask with dtype ", mask.dtype());
  const Dims shape = broadcast_shape(self.sizes(), mask.sizes());
  const Tensor x = self.broadcast_to(ref(shape)), holds = as_mask(mask).broadcast_to(ref(shape));
  if (x.numel() == 0) return x.clone();
  check(holds.sum().item<int64_t>() <= source.numel(),
        "Number of elements of source < number of ones in mask");
  if (source.numel() == 0) return x.clone();
  const Expr where_flat{flat(holds)};
  const Expr number_of{ir::scan(Op::ScanSum, ir::cast(where_flat.node, DType::I64), 0)};
  const Expr place = smaller(larger(number_of - 1.0, 0.0), static_cast<double>(source.numel() - 1));
  const Expr taken{ir::gather(flat(source), place.node, 0)};
  return record_in_shape(select(where_flat, taken, {flat(x)}).node, ref(shape));
}

}  // namespace tenon
