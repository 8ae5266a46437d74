// Reading and writing at places that an index tensor names, as gathers and scatters along one dim. Where
// PyTorch takes a 1-d index for a whole dim, the index is repeated along the other dims, which costs nothing.
#include "tenon/indexed.h"

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/device_check.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/index_check.h"
#include "frontend/src/views/positions.h"
#include "tenon/creation.h"

namespace tenon {
namespace {

// A 0-dim tensor counts as one of one element.
NodeRef at_least_1d(const Tensor& x) {
  const NodeRef node = node_of(x);
  return x.dim() == 0 ? ir::reshape(node, Dims{1}) : node;
}
Dims at_least_1d(IntArrayRef sizes) { return sizes.empty() ? Dims{1} : dims_of(sizes); }
int64_t line_size(const Tensor& x, int64_t dim) { return x.dim() == 0 ? 1 : x.size(dim); }

Tensor record_in_shape(const NodeRef& node, IntArrayRef sizes) { return record(ir::reshape(node, dims_of(sizes))); }

NodeRef flat(const Tensor& x) { return ir::reshape(node_of(x), Dims{x.numel()}); }

// --- indices with the rank of the tensor (gather, scatter)
// ---------------------------------------------------------------

void check_full_index(const char* name, const Tensor& index) {
  check(index.numel() == 0 || index.scalar_type() == kLong || index.scalar_type() == kInt, name,
        "(): Expected dtype int32/int64 for index");
}
void check_rank(const Tensor& index, const Tensor& x, const char* what) {
  check(index.numel() == 0 || std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(x.dim(), 1),
        "Index tensor must have the same number of dimensions as ", what, " tensor");
}

// The first dim other than `dim` in which the index is longer than x; -1 if there is none.
int64_t longer_dim(const Tensor& index, const Tensor& x, int64_t dim) {
  for (int64_t d = 0; d < index.dim(); ++d) {
    if (d != dim && x.dim() > 0 && index.size(d) > x.size(d)) return d;
  }
  return -1;
}

NodeRef full_index(const Tensor& index, const Tensor& self, int64_t dim, const char* kernel) {
  check_argument_device(self, index, "index", kernel);
  return ir::reshape(checked_index(index, line_size(self, dim), IndexUse::Gather, dim), at_least_1d(index.sizes()));
}

void check_source(const Tensor& index, const Tensor& src, const Tensor& self, int64_t dim) {
  check_rank(index, src, "src");
  bool fits = longer_dim(index, self, dim) < 0;
  for (int64_t d = 0; d < index.dim() && src.dim() > 0; ++d) fits = fits && index.size(d) <= src.size(d);
  check(fits, "Expected index ", index.sizes(), " to be no larger than self ", self.sizes(), " apart from dimension ", dim,
        " and to be no larger size than src ", src.sizes());
}

// The part of src that the index covers.
NodeRef covered(const Tensor& src, const Tensor& index) {
  const NodeRef node = at_least_1d(src);
  const Dims sizes = at_least_1d(index.sizes());
  return ir::slice(node, Dims(sizes.size(), 0), Dims(sizes.size(), 1), sizes);
}

Tensor scattered(Op op, const char* name, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  dim = wrap_dim(dim, self.dim());
  check_full_index(name, index);
  check(self.scalar_type() == src.scalar_type(), name, "(): Expected self.dtype to be equal to src.dtype");
  check_rank(index, self, "self");
  check_same_device(self, src);
  if (index.numel() == 0) return self.clone();
  check_source(index, src, self, dim);
  return record_in_shape(ir::scatter(op, at_least_1d(self), full_index(index, self, dim, "scatter"), covered(src, index), dim),
                         self.sizes());
}

Tensor scattered(Op op, const char* name, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  dim = wrap_dim(dim, self.dim());
  check_full_index(name, index);
  check_rank(index, self, "self");
  if (index.numel() == 0) return self.clone();
  const int64_t longer = longer_dim(index, self, dim);
  check(longer < 0, "Expected index ", index.sizes(), " to be no larger than self ", self.sizes(), " apart from dimension ", dim);
  const Expr splat = number({constant_node({ir_type(self.scalar_type()), 0}, at_least_1d(index.sizes()))}, value);
  return record_in_shape(ir::scatter(op, at_least_1d(self), full_index(index, self, dim, "scatter"), splat.node, dim), self.sizes());
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
NodeRef line_index(const Tensor& index, const Tensor& self, int64_t dim, IndexUse use) {
  Dims shape = at_least_1d(self.sizes());
  NodeRef node = checked_index(index, line_size(self, dim), use, dim);
  Dims one(shape.size(), 1);
  one[at(dim)] = shape[at(dim)] = index.numel();
  return broadcast(ir::reshape(node, one), ref(shape));
}

// A shape without the dim that an index stands for.
Dims other_sizes(const Tensor& x, int64_t dim) {
  Dims sizes = dims_of(x.sizes());
  if (!sizes.empty()) sizes.erase(at(dim));
  return sizes;
}
std::string spaced(const Dims& sizes) {
  std::string result;
  for (int64_t size : sizes) result += (result.empty() ? "" : " ") + std::to_string(size);
  return result;
}

void check_added(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check<IndexError>(index.dim() <= 1, "index_add_(): Index is supposed to be a vector, but got dim: ", index.dim(),
                    " with type: ", index.scalar_type(), " and size: ", index.sizes());
  check(index.scalar_type() == kLong || index.scalar_type() == kInt,
        "index_add_(): Expected dtype int32/int64 for index but got: ", index.scalar_type());
  check(self.scalar_type() == source.scalar_type(), "index_add_(): self (", self.scalar_type(), ") and source (", source.scalar_type(),
        ") must have the same scalar type");
  check(dim == 0 || dim < source.dim(), "index_add_(): Indexing dim ", dim, " is out of bounds of the source tensor with dim ",
        source.dim());
  check(index.numel() == line_size(source, dim), "index_add_(): Number of indices (", index.numel(),
        ") should be equal to source.size(dim): (", line_size(source, dim), "), for dim: ", dim);
  const bool both = self.dim() > 0 && source.dim() > 0;
  check(both ? other_sizes(self, dim) == other_sizes(source, dim) : self.sizes() == source.sizes(),
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
        "= ",
        self.sizes(), " source.shape = ", source.sizes());
}

void check_copied(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check<IndexError>(index.dim() <= 1, "index_copy_(): Index should have dimension 1 or 0 (got ", index.dim(), ")");
  check<IndexError>(source.dim() > 0 || index.numel() == 1, "index_copy_(): When source is scalar, index should have one element (got ",
                    index.numel(), ")");
  check<IndexError>(source.dim() == self.dim() || source.dim() == 0 || self.dim() == 0,
                    "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
                    "Source dimensionality (",
                    source.dim(), "), destination dimensionality (", self.dim(), ")");
  check(index.scalar_type() == kLong, "index_copy_(): Expected a long tensor for index, but got ", index.scalar_type());
  check(self.scalar_type() == source.scalar_type(), "index_copy_(): self and source expected to have the same dtype, but got (self) ",
        self.scalar_type(), " and (source) ", source.scalar_type());
  const Dims here = other_sizes(self, dim), there = other_sizes(source, std::min(dim, source.dim()));
  check(here == there, "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: ", spaced(here),
        " at dimension ", dim, " and source slice shape: ", spaced(there), " at dimension 0.");
  check<IndexError>(source.dim() == 0 || index.numel() == source.size(dim), "index_copy_(): Number of indices (", index.numel(),
                    ") should be equal to source.size(dim) (", line_size(source, dim), ")");
}

// Lines of the source, whose shape has been checked, at the places of the index; a value of one element goes
// to each.
Tensor write_lines(Op op, IndexUse use, const Tensor& self, int64_t dim, const Tensor& index, const NodeRef& value) {
  const NodeRef places = line_index(index, self, dim, use);
  return record_in_shape(ir::scatter(op, at_least_1d(self), places, broadcast(value, ref(places->shape())), dim), self.sizes());
}

// --- places of a mask
// ---------------------------------------------------------------------------------------------------

Tensor as_mask(const Tensor& x) { return x.scalar_type() == kBool ? x : x != 0; }

// x as rows for the elements of a mask.
Dims rows_of(const ir::Node& x, const ir::Node& mask) { return {mask.numel(), x.numel() / mask.numel()}; }

}  // namespace

Counted count_true(const Tensor& mask) {
  Tensor evaluated = mask.contiguous();
  if (impl(evaluated).storage().exposed()) evaluated = evaluated.clone();
  if (evaluated.numel() == 0) return {node_of(evaluated), 0};
  const Tensor count = evaluated.sum();
  eval({evaluated, count});  // together, so that what gives the mask runs once
  return {node_of(evaluated), count.item<int64_t>()};
}

NodeRef rows_where(const Counted& mask, const NodeRef& x) {
  const Dims rows = rows_of(*x, *mask.mask);
  if (mask.count == rows[0]) return ir::reshape(x, rows);
  return ir::compress(ir::reshape(x, rows), ir::reshape(mask.mask, Dims{rows[0]}), mask.count);
}

NodeRef with_rows_where(const Counted& mask, const NodeRef& x, const NodeRef& value) {
  const Dims rows = rows_of(*x, *mask.mask);
  const NodeRef values = ir::reshape(value, Dims{mask.count, rows[1]});
  if (mask.count == rows[0]) return ir::reshape(values, x->shape());
  const NodeRef written = ir::scatter_mask(ir::reshape(x, rows), ir::reshape(mask.mask, Dims{rows[0]}), values);
  return ir::reshape(written, x->shape());
}

NodeRef true_positions(const Tensor& mask) {
  const Counted counted = count_true(mask);
  const Dims flat{mask.numel()}, result{counted.count};
  if (counted.count == 0) return constant_node(ir::constant(DType::I64, int64_t{0}), result);
  if (counted.count == mask.numel()) return iota_node(result, 0);
  return ir::reshape(ir::nonzero(ir::reshape(counted.mask, flat), counted.count), result);
}

// --- reading
// ----------------------------------------------------------------------------------------------------------

Tensor gather(const Operand& self, int64_t dim, const Operand& index, bool) {
  const CallScope call("gather", self, index);
  GradScope scope("GatherBackward0", self);
  scope.saves(reads_operand(0), index);
  dim = wrap_dim(dim, self.dim());
  check_full_index("gather", index);
  check_rank(index, self, "input");
  const int64_t longer = longer_dim(index, self, dim);
  check(longer < 0, "Size does not match at dimension ", longer, " expected index ", index.sizes(), " to be no larger than self ",
        self.sizes(), " apart from dimension ", dim);
  if (index.numel() == 0) return empty(index.sizes(), self.options());
  return record_in_shape(ir::gather(at_least_1d(self), full_index(index, self, dim, "gather"), dim), index.sizes());
}

Tensor index_select(const Operand& self, int64_t dim, const Operand& index) {
  const CallScope call("index_select", self, index);
  GradScope scope("IndexSelectBackward0", self);
  scope.saves(kReadsNothing, index);
  dim = wrap_dim(dim, self.dim());
  check(index.scalar_type() == kLong || index.scalar_type() == kInt, "index_select(): Expected dtype int32 or int64 for index");
  check<IndexError>(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  check(self.dim() > 0 || index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  check_argument_device(self, index, "index", "_index_select");
  const NodeRef places = line_index(index, self, dim, IndexUse::Line);
  const NodeRef result =
      places->numel() == 0 ? constant_node({ir_type(self.scalar_type()), 0}, places->shape()) : ir::gather(at_least_1d(self), places, dim);
  return self.dim() == 0 ? record_in_shape(result, {}) : record(result);
}

Tensor take(const Operand& self, const Operand& index) {
  const CallScope call("take", self, index);
  GradScope scope("TakeBackward0", self);
  scope.saves(reads_operand(0), index);
  check(index.scalar_type() == kLong, "take(): Expected a long tensor for index, but got ", index.scalar_type());
  check<IndexError>(self.numel() > 0 || index.numel() == 0, "take(): tried to take from an empty tensor");
  if (index.numel() == 0) return empty(index.sizes(), self.options());
  const NodeRef places = checked_index(index, self.numel(), IndexUse::Take);
  return record_in_shape(ir::gather(flat(self), ir::reshape(places, Dims{index.numel()}), 0), index.sizes());
}

Tensor take_along_dim(const Operand& self, const Operand& indices, optional<int64_t> dim) {
  const CallScope call("take_along_dim", self, indices);
  check(indices.scalar_type() == kLong || (!dim && indices.numel() == 0),
        "torch.take_along_dim(): dtype of indices should be Long but got ", indices.scalar_type());
  if (!dim) return gather(self.reshape({-1}), 0, indices.reshape({-1}));
  check(self.dim() == indices.dim(), "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ",
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
  const CallScope call("masked_select", self, mask);
  GradScope scope("MaskedSelectBackward0", self);
  scope.saves(reads_operand(0), mask);
  check(mask.scalar_type() == kBool || mask.scalar_type() == kByte, "masked_select: expected BoolTensor for mask");
  check_same_device(self, mask);
  const Dims shape = broadcast_shape(self.sizes(), mask.sizes());
  const Counted holds = count_true(as_mask(mask).broadcast_to(ref(shape)));
  if (holds.count == 0) return empty({0}, self.options());
  return record_in_shape(rows_where(holds, node_of(self.broadcast_to(ref(shape)))), IntArrayRef(holds.count));
}

Tensor nonzero(const Operand& self) {
  const CallScope call("nonzero", self);
  if (self.dim() == 0) return empty({self.numel() > 0 && self.is_nonzero() ? 1 : 0, 0}, TensorOptions(kLong));
  const Counted holds = count_true(as_mask(self));
  if (holds.count == 0) return empty({0, self.dim()}, TensorOptions(kLong));
  return record(ir::nonzero(holds.mask, holds.count));
}
std::vector<Tensor> nonzero_numpy(const Operand& self) {
  const CallScope call("nonzero_numpy", self);
  return unbind(nonzero(self.dim() == 0 ? self.reshape({1}) : Tensor(self)), 1);
}

// --- writing
// ----------------------------------------------------------------------------------------------------------

Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Operand& src) {
  const CallScope call("scatter", self, index, src);
  GradScope scope("ScatterBackward0", self, src);
  scope.saves(kReadsNothing, index);
  return scattered(Op::Scatter, "scatter", self, dim, index, src);
}
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Scalar& value) {
  const CallScope call("scatter", self, index, value);
  GradScope scope("ScatterBackward1", self);
  scope.saves(kReadsNothing, index);
  return scattered(Op::Scatter, "scatter", self, dim, index, value);
}
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Operand& src, std::string_view reduce) {
  const CallScope call("scatter", self, index, src);
  static std::atomic_flag warned;
  warn_user_once(warned,
                 "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
                 "PyTorch release. Use torch.scatter_reduce instead for more reduction options.");
  GradScope scope("ScatterBackward2", self, src);
  return scattered(scatter_op(reduce), "scatter", self, dim, index, src);
}
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Scalar& value, std::string_view reduce) {
  const CallScope call("scatter", self, index, value);
  GradScope scope("ScatterBackward3", self);
  return scattered(scatter_op(reduce), "scatter", self, dim, index, value);
}
Tensor scatter_add(const Operand& self, int64_t dim, const Operand& index, const Operand& src) {
  const CallScope call("scatter_add", self, index, src);
  GradScope scope("ScatterAddBackward0", self, src);
  scope.saves(kReadsNothing, requires_grad(src) ? Tensor(index) : Tensor());
  return scattered(self.scalar_type() == kBool ? Op::ScatterMax : Op::ScatterAdd, "scatter", self, dim, index, src);
}

Tensor scatter_reduce(const Operand& self, int64_t dim, const Operand& index, const Operand& src, std::string_view reduce,
                      bool include_self) {
  const CallScope call("scatter_reduce", self, index, src);
  GradScope scope("ScatterReduceBackward0", self, src);
  scope.saves(reads_operand(0) | reads_operand(1) | kReadsOutput, index);
  const bool mean = reduce == "mean";
  const Op op = reduce == "sum" || mean ? Op::ScatterAdd
                : reduce == "prod"      ? Op::ScatterMul
                : reduce == "amax"      ? Op::ScatterMax
                                        : Op::ScatterMin;
  check(op != Op::ScatterMin || reduce == "amin", "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  const Tensor start = include_self ? Tensor(self) : scattered(Op::Scatter, "scatter", self, dim, index, start_of(op, self.scalar_type()));
  const Tensor result = scattered(op, "scatter", start, dim, index, src);
  if (!mean) return result;
  const Tensor base = include_self ? ones_like(self) : scattered(Op::Scatter, "scatter", ones_like(self), dim, index, Scalar(0));
  const Tensor count = scattered(Op::ScatterAdd, "scatter", base, dim, index, ones_like(src));
  return div(result, count, self.is_floating_point() ? optional<std::string_view>() : "floor");
}

Tensor index_add(const Operand& self, int64_t dim, const Operand& index, const Operand& source, const Scalar& alpha) {
  const CallScope call("index_add", self, index, source, alpha);
  GradScope scope("IndexAddBackward0", self, source);
  if (requires_grad(source)) scope.saves(reads_operand(1), index);
  else scope.saves(kReadsNothing);
  dim = wrap_dim(dim, self.dim());
  check_added(self, dim, index, source);
  const Tensor scaled = alpha == Scalar(1) ? Tensor(source) : mul(source, alpha).to(source.scalar_type());
  const IndexUse use = self.dim() > 1 ? IndexUse::Gather : IndexUse::Line;  // what PyTorch calls a wrong one
  return write_lines(self.scalar_type() == kBool ? Op::ScatterMax : Op::ScatterAdd, use, self, dim, index, at_least_1d(scaled));
}

Tensor index_copy(const Operand& self, int64_t dim, const Operand& index, const Operand& source) {
  const CallScope call("index_copy", self, index, source);
  GradScope scope("IndexCopyBackward0", self, source);
  scope.saves(requires_grad(source) ? reads_operand(1) : kReadsNothing, index);
  dim = wrap_dim(dim, self.dim());
  check_copied(self, dim, index, source);
  return write_lines(Op::Scatter, IndexUse::Copy, self, dim, index, at_least_1d(source));
}

namespace {

Tensor filled_lines(const Tensor& self, int64_t dim, const Tensor& index, const NodeRef& value) {
  check<IndexError>(index.scalar_type() == kLong, "index_fill_(): Expected dtype int64 for index.");
  check(index.dim() <= 1, "Index has to be a vector/scalar");
  const Dims one(at_least_1d(self.sizes()).size(), 1);
  return write_lines(Op::Scatter, IndexUse::Fill, self, wrap_dim(dim, self.dim()), index,
                     ir::reshape(ir::cast(value, ir_type(self.scalar_type())), one));
}

}  // namespace

Tensor index_fill(const Operand& self, int64_t dim, const Operand& index, const Scalar& value) {
  const CallScope call("index_fill", self, index, value);
  GradScope scope("IndexFillBackward0", self);
  scope.saves(kReadsNothing, index);
  return filled_lines(self, dim, index, constant_node(element_of(value, self.scalar_type()), Dims{}));
}
Tensor index_fill(const Operand& self, int64_t dim, const Operand& index, const Operand& value) {
  const CallScope call("index_fill", self, index, value);
  GradScope scope("IndexFillBackward1", self, value);
  scope.saves(kReadsNothing, index);
  check(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(), " dimension(s).");
  return filled_lines(self, dim, index, node_of(value));
}

Tensor put(const Operand& self, const Operand& index, const Operand& source, bool accumulate) {
  const CallScope call("put", self, index, source);
  GradScope scope("PutBackward0", self, source);
  scope.saves(kReadsNothing, index);
  check(index.scalar_type() == kLong, "put_(): Expected a long tensor for index, but got ", index.scalar_type());
  check(self.scalar_type() == source.scalar_type(),
        "put_(): self and source expected to have the same dtype, but got self.dtype = ", self.scalar_type(),
        " and source.dtype = ", source.scalar_type());
  check(index.numel() == source.numel(),
        "put_(): Expected source and index to have the same number of elements, but got source.numel() = ", source.numel(),
        ", index.numel() = ", index.numel());
  if (index.numel() == 0) return self.clone();
  const NodeRef places = ir::reshape(checked_index(index, self.numel(), IndexUse::Take), Dims{index.numel()});
  const Op op = !accumulate ? Op::Scatter : self.scalar_type() == kBool ? Op::ScatterMax : Op::ScatterAdd;
  return record_in_shape(ir::scatter(op, flat(self), places, flat(source), 0), self.sizes());
}

Tensor masked_scatter(const Operand& self, const Operand& mask, const Operand& source) {
  const CallScope call("masked_scatter", self, mask, source);
  GradScope scope("MaskedScatterBackward0", self, source);
  scope.saves(kReadsNothing, mask);
  check(self.scalar_type() == source.scalar_type(), "masked_scatter: expected self and source to have same dtypes but got ",
        self.scalar_type(), " and ", source.scalar_type());
  check(mask.scalar_type() == kBool || mask.scalar_type() == kByte, "masked_scatter_ only supports boolean masks, but got mask with dtype ",
        mask.dtype());
  const Dims shape = broadcast_shape(self.sizes(), mask.sizes());
  const Tensor x = self.broadcast_to(ref(shape)), holds = as_mask(mask).broadcast_to(ref(shape));
  if (x.numel() == 0) return x.clone();
  const Counted counted = count_true(holds);
  check(counted.count <= source.numel(), "Number of elements of source < number of ones in mask");
  if (counted.count == 0) return x.clone();
  const NodeRef values = ir::slice(flat(source), Dims{0}, Dims{1}, Dims{counted.count});
  return record(with_rows_where(counted, node_of(x), values));
}

}  // namespace tenon
