// Running sums and sorting, and the order statistics that follow from a sorted line: each is a scan or a
// sort, and gathers at computed places.
#include <cmath>
#include <limits>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"

namespace tenon {
namespace {

// A 0-dim tensor is a line of one element.
Expr line_of(const Tensor& x) {
  const NodeRef node = node_of(x);
  return {x.dim() == 0 ? ir::reshape(node, Dims{1}) : node};
}
Tensor record_like(const Expr& x, const Tensor& like, ScalarType type) {
  return record(ir::reshape(ir::cast(x.node, ir_type(type)), dims_of(like.sizes())));
}

Expr scan(Op op, const Expr& x, int64_t dim) { return {ir::scan(op, x.node, dim)}; }
Expr gather(const Expr& x, const Expr& index, int64_t dim) { return {ir::gather(x.node, index.node, dim)}; }
Expr iota_like(const Expr& x, int64_t dim) { return {iota_node(x.shape(), dim)}; }
Expr is_nan(const Expr& x) { return x != x; }

// Sums and products of float32 run in float64 as in PyTorch, those of the 16-bit floats in float32.
DType running_type(DType t) { return t == DType::F32 ? DType::F64 : formula_type(t); }

Tensor running(Op op, const Tensor& self, int64_t dim, optional<ScalarType> dtype) {
  dim = wrap_dim(dim, self.dim());
  const ScalarType type = dtype.value_or(self.is_floating_point() ? self.scalar_type() : kLong);
  check<NotImplementedError>(type != kBool, '"', op == Op::ScanSum ? "cumsum" : "cumprod", "_out_cpu\" not implemented for 'Bool'");
  Expr x = cast(cast(line_of(self), ir_type(type)), running_type(ir_type(type)));
  if (op == Op::ScanSum && isFloatingType(type)) x = x + 0.0;  // it starts from +0: a first -0 becomes 0
  return record_like(scan(op, x, dim), self, type);
}

// The index is that of the latest element equal to the extreme so far, or of the latest nan.
std::tuple<Tensor, Tensor> running_extreme(Op op, const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  const Expr x = line_of(self);
  const Expr extreme = scan(op, x, dim);
  Expr holds = x == extreme;
  if (self.is_floating_point()) holds = holds | is_nan(x);
  const Expr place = iota_like(x, dim);
  const Expr index = scan(Op::ScanMax, select(holds, place, number(place, 0.0)), dim);
  return {record_like(extreme, self, self.scalar_type()), record_like(index, self, kLong)};
}

// A tensor sorted along a dim: the values, and the index of each in the tensor.
struct Sorted {
  Expr values, index;
  int64_t dim, size;  // of the sorted dim
};

Sorted sorted(const Expr& x, int64_t dim, bool descending) {
  const Expr index{ir::sort(x.node, dim, descending)};
  return {gather(x, index, dim), index, dim, x.shape()[dim]};
}
Sorted sorted(const Tensor& self, int64_t dim, bool descending = false) {
  return sorted(line_of(self), wrap_dim(dim, self.dim()), descending);
}
// Only `count` elements of each sorted line, from the one at `first` on; nothing else is sorted.
Sorted sorted_part(const Tensor& self, int64_t dim, bool descending, int64_t first, int64_t count) {
  const Expr x = line_of(self);
  dim = wrap_dim(dim, self.dim());
  const int64_t size = x.shape()[dim];
  const Expr index{ir::sort_part(x.node, dim, descending, first, count)};
  if (index.node->numel() == 0) return {{constant_node({x.dtype(), 0}, index.node->shape())}, index, dim, size};
  return {gather(x, index, dim), index, dim, size};
}

// The shape of one element of each line.
Dims line_shape(const Sorted& s) {
  Dims shape = s.values.shape();
  shape[s.dim] = 1;
  return shape;
}
Expr slice_of_line(const Expr& x, int64_t dim, int64_t start, int64_t size) {
  const size_t rank = x.shape().size();
  Dims starts(rank, 0), steps(rank, 1), sizes = x.shape();
  starts[dim] = start;
  sizes[dim] = size;
  return {ir::slice(x.node, starts, steps, sizes)};
}

Tensor finish_line(const Expr& x, const Tensor& self, int64_t dim, bool keepdim, ScalarType type) {
  Dims shape = x.shape();
  if (self.dim() == 0) shape.clear();
  else if (!keepdim) shape.erase(static_cast<size_t>(dim));
  return record(ir::reshape(ir::cast(x.node, ir_type(type)), shape));
}

// The element of each sorted line at `place`, and its index in the tensor.
std::tuple<Tensor, Tensor> element_of_lines(const Sorted& s, const Expr& place, const Tensor& self, bool keepdim) {
  return {finish_line(gather(s.values, place, s.dim), self, s.dim, keepdim, self.scalar_type()),
          finish_line(gather(s.index, place, s.dim), self, s.dim, keepdim, kLong)};
}

Expr nan_count(const Sorted& s) { return reduce(Op::Sum, cast(is_nan(s.values), DType::I64), Dims{s.dim}); }

// Where the median of the numbers of each sorted line stands: the lower middle.
Expr middle_of_numbers(const Sorted& s) {
  return larger(double(s.size) - nan_count(s) - 1.0, 0.0) / 2.0;  // whole numbers: rounds down
}

// The lower middle of each line; its first nan if there is one.
std::tuple<Tensor, Tensor> middle_of_lines(const Tensor& self, int64_t dim, bool keepdim) {
  const Expr x = line_of(self);
  const Sorted s = sorted_part(self, dim, false, (x.shape()[dim] - 1) / 2, 1);
  Expr place = s.index;
  if (self.is_floating_point()) place = select(reduce(Op::Any, is_nan(x), Dims{dim}), reduce(Op::ArgMax, x, Dims{dim}), place);
  return {finish_line(gather(x, place, dim), self, dim, keepdim, self.scalar_type()), finish_line(place, self, dim, keepdim, kLong)};
}

std::tuple<Tensor, Tensor> median_of_lines(const Tensor& self, int64_t dim, bool keepdim, bool ignore_nan) {
  check<NotImplementedError>(self.scalar_type() != kBool, "\"median_cpu\" not implemented for 'Bool'");
  dim = wrap_dim(dim, self.dim());
  check<IndexError>(self.dim() == 0 || self.size(dim) > 0, "median(): Expected reduction dim ", dim, " to have non-zero size.");
  if (!ignore_nan || !self.is_floating_point()) return middle_of_lines(self, dim, keepdim);
  const Sorted s = sorted(self, dim);
  return element_of_lines(s, middle_of_numbers(s), self, keepdim);
}

Tensor median_of_all(const Tensor& self, bool ignore_nan) {
  const DType type = ir_type(self.scalar_type());
  if (self.numel() == 0) {  // nan, of integers what the cast of nan gives: the lowest, or 0; True of bools
    const ir::Constant none = self.is_floating_point() ? ir::constant(type, std::numeric_limits<double>::quiet_NaN())
                              : type == DType::Bool    ? ir::constant(type, int64_t{1})
                                                       : ir::reduce_identity(Op::ReduceMax, type);
    return record(constant_node(none, Dims{}));
  }
  check<NotImplementedError>(self.scalar_type() != kBool, "\"median_cpu\" not implemented for 'Bool'");
  return std::get<0>(median_of_lines(self.reshape({-1}), 0, false, ignore_nan));
}

// --- quantiles

// q's value at each sorted line: `rank` is its place among the line's elements, between two of them in general.
Expr quantile_of_lines(const Sorted& s, const Expr& rank, std::string_view how) {
  const auto element = [&](const Expr& place) { return gather(s.values, cast(larger(place, 0.0), DType::I64), s.dim); };
  if (how == "nearest") return element(apply(Op::Round, rank));
  const Expr below = floor(rank), low = element(below);
  if (how == "lower") return low;
  const Expr high = element(apply(Op::Ceil, rank));
  if (how == "higher") return high;
  const Expr weight = how == "midpoint" ? number(low, 0.5) : cast(rank - below, low.dtype());
  // PyTorch's lerp: from the nearer end.
  return select(weight < 0.5, low + weight * (high - low), high - (high - low) * (1.0 - weight));
}

void check_quantile(const Tensor& self, std::string_view how, const std::vector<double>& q) {
  check(self.numel() > 0, "quantile() input tensor must be non-empty");
  check(self.scalar_type() == kFloat || self.scalar_type() == kDouble, "quantile() input tensor must be either float or double dtype");
  check(how == "linear" || how == "lower" || how == "higher" || how == "midpoint" || how == "nearest",
        "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", how);
  for (double value : q) {
    check(value >= 0 && value <= 1,
          q.size() == 1 ? "quantile() q must be in the range [0, 1] but got " : "quantile() q values must be in the range [0, 1], got ",
          value);
  }
}

Tensor quantile_at(const Tensor& self, double q, optional<int64_t> dim, bool keepdim, std::string_view how, bool ignore_nan) {
  GradScope scope("SqueezeBackward4", self);
  const Tensor x = dim ? self : self.reshape({-1});
  const int64_t d = wrap_dim(dim.value_or(0), x.dim());
  Expr value, spoiled;
  if (ignore_nan) {
    const Sorted s = sorted(x, d);
    const Expr nans = nan_count(s);
    value = quantile_of_lines(s, cast(double(s.size) - nans - 1.0, DType::F64) * q, how);
    spoiled = nans == double(s.size);
  } else {  // the two elements beside the place are enough
    const Expr line = line_of(x);
    double rank = static_cast<double>(line.shape()[d] - 1) * q;
    if (how == "nearest") rank = std::nearbyint(rank);
    const double below = std::floor(rank);
    const Sorted s = sorted_part(x, d, false, static_cast<int64_t>(below), std::ceil(rank) > below ? 2 : 1);
    value = quantile_of_lines(s, {constant_node(ir::constant(DType::F64, rank - below), line_shape(s))}, how);
    spoiled = reduce(Op::Any, is_nan(line), Dims{d});
  }
  const Expr result = select(spoiled, number(value, std::numeric_limits<double>::quiet_NaN()), value);
  const Tensor line = finish_line(result, x, d, dim && keepdim, self.scalar_type());
  return !dim && keepdim ? line.reshape(std::vector<int64_t>(static_cast<size_t>(self.dim()), 1)) : line;
}

Tensor quantile_at_each(const Tensor& self, const Tensor& q, optional<int64_t> dim, bool keepdim, std::string_view how, bool ignore_nan) {
  check(q.dim() < 2, "quantile() q must be a scalar or 1D tensor");
  check(q.scalar_type() == self.scalar_type(), "quantile() q tensor must be same dtype as the input tensor");
  const Tensor values = q.to(kDouble).contiguous().cpu();
  const double* data = values.const_data_ptr<double>();
  const std::vector<double> places(data, data + values.numel());
  check_quantile(self, how, places);
  std::vector<Tensor> parts;
  for (double place : places) parts.push_back(quantile_at(self, place, dim, keepdim, how, ignore_nan));
  if (how == "linear" && requires_grad(q) && GradMode::is_enabled()) {  // 0 is added, whose gradient is that of the place
    const Tensor flat = q.reshape({-1}), moves = flat - flat.detach(), x = dim ? self : self.reshape({-1});
    const int64_t d = wrap_dim(dim.value_or(0), x.dim());
    Tensor last = (ignore_nan ? isnan(x).logical_not() : ones_like(x, kBool)).sum(d, keepdim).to(x.scalar_type()) - 1;
    for (size_t i = 0; i < places.size(); ++i) {
      const Tensor gap =
          quantile_at(x, places[i], d, keepdim, "higher", ignore_nan) - quantile_at(x, places[i], d, keepdim, "lower", ignore_nan);
      const Tensor slope = (gap * last).reshape(parts[i].sizes());
      parts[i] = parts[i] + moves[static_cast<int64_t>(i)] * where(isfinite(slope), slope, 0);
    }
  }
  return q.dim() == 0 ? parts[0] : stack(parts);
}

}  // namespace

// --- running along a dim

Tensor cumsum(const Operand& self, int64_t dim, optional<ScalarType> dtype) {
  GradScope scope("CumsumBackward0", self);
  return running(Op::ScanSum, self, dim, dtype);
}
Tensor cumprod(const Operand& self, int64_t dim, optional<ScalarType> dtype) {
  GradScope scope("CumprodBackward0", self);
  scope.saves(reads_operand(0) | kReadsOutput);
  return running(Op::ScanProd, self, dim, dtype);
}
std::tuple<Tensor, Tensor> cummax(const Operand& self, int64_t dim) {
  GradScope scope("CummaxBackward0", self);
  scope.saves(reads_operand(0) | kReadsIndices);
  return running_extreme(Op::ScanMax, self, dim);
}
std::tuple<Tensor, Tensor> cummin(const Operand& self, int64_t dim) {
  GradScope scope("CumminBackward0", self);
  scope.saves(reads_operand(0) | kReadsIndices);
  return running_extreme(Op::ScanMin, self, dim);
}

// log(exp(a) + exp(b)) is associative: after step k each element stands for the 2^k up to it, so no sum
// leaves the range of the type, as it would if all were taken relative to one maximum.
Tensor logcumsumexp(const Operand& self, int64_t dim) {
  GradScope scope("LogcumsumexpBackward0", self);
  scope.saves(reads_operand(0) | kReadsOutput);
  dim = wrap_dim(dim, self.dim());
  check(self.is_floating_point(), "logcumsumexp(): Expected a floating point tensor, but got ", self.scalar_type());
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  Tensor result = self.clone();
  for (int64_t reach = 1; reach < size; reach *= 2) {
    const Expr x{node_of(result)};
    Dims before(x.shape().size(), 0);
    before[dim] = reach;
    const NodeRef none = number({constant_node({x.dtype(), 0}, Dims{})}, -HUGE_VAL).node;
    const NodeRef earlier = slice_of_line(x, dim, 0, size - reach).node;
    result = logaddexp(result, record(ir::pad(earlier, none, before, Dims(before.size(), 0))));
  }
  return result;
}

// --- sorting

std::tuple<Tensor, Tensor> sort(const Operand& self, int64_t dim, bool descending) {
  GradScope scope("SortBackward0", self);
  scope.saves(kReadsIndices);
  const Sorted s = sorted(self, dim, descending);
  return {record_like(s.values, self, self.scalar_type()), record_like(s.index, self, kLong)};
}
std::tuple<Tensor, Tensor> sort(const Operand& self, optional<bool>, int64_t dim, bool descending) {
  const CallScope call("sort", self);
  return sort(self, dim, descending);
}
Tensor argsort(const Operand& self, int64_t dim, bool descending) {
  const CallScope call("argsort", self);
  return record_like({ir::sort(line_of(self).node, wrap_dim(dim, self.dim()), descending)}, self, kLong);
}
Tensor argsort(const Operand& self, bool, int64_t dim, bool descending) {
  const CallScope call("argsort", self);
  return argsort(self, dim, descending);
}
Tensor msort(const Operand& self) { return std::get<0>(sort(self, 0)); }

std::tuple<Tensor, Tensor> topk(const Operand& self, int64_t k, int64_t dim, bool largest, bool) {
  const Scalar count(k);
  const CallScope call("topk", self, count);
  GradScope scope("TopkBackward0", self);
  scope.saves(kReadsIndices);
  const int64_t d = wrap_dim(dim, self.dim());
  check(k >= 0 && k <= (self.dim() > 0 ? self.size(d) : 1), "selected index k out of range");
  check<NotImplementedError>(self.scalar_type() != kBool, "topk does not support bool dtypes on CPU");
  const Sorted s = sorted_part(self, d, largest, 0, self.dim() > 0 ? k : 1);  // a number has one for any k
  const auto result = [&](const Expr& x, ScalarType type) {
    return self.dim() > 0 ? record_as(x, type) : finish_line(x, self, d, false, type);
  };
  return {result(s.values, self.scalar_type()), result(s.index, kLong)};
}

std::tuple<Tensor, Tensor> kthvalue(const Operand& self, int64_t k, int64_t dim, bool keepdim) {
  GradScope scope("KthvalueBackward0", self);
  scope.saves(kReadsIndices);
  const int64_t d = wrap_dim(dim, self.dim());
  check<IndexError>(self.dim() == 0 || self.size(d) > 0, "kthvalue(): Expected reduction dim ", d, " to have non-zero size.");
  check(k >= 1 && k <= (self.dim() > 0 ? self.size(d) : 1), "kthvalue(): selected number k out of range for dimension ", d);
  const Sorted s = sorted_part(self, d, false, k - 1, 1);
  return {finish_line(s.values, self, d, keepdim, self.scalar_type()), finish_line(s.index, self, d, keepdim, kLong)};
}

Tensor median(const Operand& self) {
  GradScope scope("MedianBackward0", self);
  share_among_equals(scope);
  return median_of_all(self, false);
}
std::tuple<Tensor, Tensor> median(const Operand& self, int64_t dim, bool keepdim) {
  GradScope scope("MedianBackward1", self);
  scope.saves(kReadsIndices);
  return median_of_lines(self, dim, keepdim, false);
}
Tensor nanmedian(const Operand& self) {
  GradScope scope("NanmedianBackward0", self);
  share_among_equals(scope);
  return median_of_all(self, true);
}
std::tuple<Tensor, Tensor> nanmedian(const Operand& self, int64_t dim, bool keepdim) {
  GradScope scope("NanmedianBackward1", self);
  scope.saves(kReadsIndices);
  return median_of_lines(self, dim, keepdim, true);
}

// In a sorted line equal values stand together: the end of the first longest run. Sorting is stable, so the
// index there is that of the value's last occurrence.
std::tuple<Tensor, Tensor> mode(const Operand& self, int64_t dim, bool keepdim) {
  GradScope scope("ModeBackward0", self);
  scope.saves(kReadsIndices);
  dim = wrap_dim(dim, self.dim());
  check<IndexError>(self.dim() == 0 || self.size(dim) > 0, "mode(): Expected reduction dim ", dim, " to have non-zero size.");
  const Sorted s = sorted(self, dim);
  const Expr place = iota_like(s.values, dim);
  Dims starts(place.shape().size(), 0), after = starts;
  after[dim] = 1;
  const Expr padded{ir::pad(slice_of_line(s.values, dim, 0, s.size - 1).node, constant_node({s.values.dtype(), 0}, Dims{}), after, starts)};
  const Expr begins = (place == 0.0) | (s.values != padded);
  const Expr run_start = scan(Op::ScanMax, select(begins, place, number(place, 0.0)), dim);
  return element_of_lines(s, reduce(Op::ArgMax, place - run_start, Dims{dim}), self, keepdim);
}

Tensor quantile(const Operand& self, double q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  const CallScope call("quantile", self);
  check_quantile(self, interpolation, {q});
  return quantile_at(self, q, dim, keepdim, interpolation, false);
}
Tensor quantile(const Operand& self, const Operand& q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  const CallScope call("quantile", self, q);
  return quantile_at_each(self, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Operand& self, double q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  const CallScope call("nanquantile", self);
  check_quantile(self, interpolation, {q});
  return quantile_at(self, q, dim, keepdim, interpolation, true);
}
Tensor nanquantile(const Operand& self, const Operand& q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  const CallScope call("nanquantile", self, q);
  return quantile_at_each(self, q, dim, keepdim, interpolation, true);
}

}  // namespace tenon

// --- methods whose result holds tensors

namespace tenon {

using Pair = std::tuple<Tensor, Tensor>;

}  // namespace tenon
