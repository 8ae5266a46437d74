// Sets, counts and places in sorted sequences. A set's size depends on the values, so its operand is
// evaluated at the call; what is made of it then is lazy again.
#include <cmath>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/positions.h"
#include "tenon/creation.h"

namespace tenon {
namespace {

Expr gather(const Expr& x, const Expr& index, int64_t dim) { return {ir::gather(x.node, index.node, dim)}; }
Expr iota(int64_t size, ir::DeviceTag device) { return {ir::make_iota(Dims{size}, 0, device)}; }
Expr zeros(DType type, int64_t size, ir::DeviceTag device) { return {ir::make_const(ir::constant(type, int64_t{0}), Dims{size}, device)}; }
Tensor empty_result(ir::DeviceTag device) { return record(zeros(DType::I64, 0, device).node); }

// The first of each run of equal rows, where `differs` says that row i is another than row i - 1 (true for
// row 0). inverse[order[i]] is the run of row i.
struct Runs {
  NodeRef starts;  // i64 [runs], ascending
  Tensor inverse, counts;
};

Runs runs_of(const Tensor& differs, const NodeRef& order, bool wants_inverse, bool wants_counts) {
  const int64_t rows = differs.numel();
  const ir::DeviceTag device = impl(differs).device();
  Runs result{true_positions(differs), empty_result(device), empty_result(device)};
  const int64_t runs = result.starts->numel();
  if (wants_inverse) {
    const NodeRef run = ir::scan(Op::ScanSum, ir::cast(node_of(differs), DType::I64), 0);
    const Expr number_of_run = Expr{run} - 1.0;
    result.inverse = record(rows == 0 ? number_of_run.node
                                      : ir::scatter(Op::Scatter, zeros(DType::I64, rows, device).node, order, number_of_run.node, 0));
  }
  if (wants_counts) {
    const NodeRef end = ir::make_const(ir::constant(DType::I64, rows), Dims{runs > 0 ? 1 : 0}, device);
    const Tensor starts = record(result.starts);
    const Tensor next = runs > 0 ? cat({starts.slice(0, 1), record(end)}) : starts;
    result.counts = next - starts;
  }
  return result;
}

// Is each row of a matrix another than the row before?
Tensor row_differs(const Tensor& rows) {
  const ir::DeviceTag device = impl(rows).device();
  const int64_t count = rows.size(0);
  if (count == 0) return record(zeros(DType::Bool, 0, device).node);
  const Tensor same_as_before = (rows.slice(0, 1) == rows.slice(0, 0, -1)).all(1);
  return cat({record(ir::make_const(ir::constant(DType::Bool, int64_t{1}), Dims{1}, device)), same_as_before.logical_not()});
}

// The order that sorts the rows of a matrix lexicographically: stable sorts from the last column to the
// first.
NodeRef row_order(const Tensor& rows) {
  NodeRef order = iota(rows.size(0), impl(rows).device()).node;
  for (int64_t column = rows.size(1); column-- > 0;) {
    const NodeRef keys = ir::gather(node_of(rows.select(1, column)), order, 0);
    order = ir::gather(order, ir::sort(keys, 0, false), 0);
  }
  return order;
}

Tensor rows_at(const Tensor& rows, const NodeRef& places) {
  const NodeRef index = broadcast(ir::reshape(places, Dims{places->numel(), 1}), {places->numel(), rows.size(1)});
  return record(ir::gather(node_of(rows), index, 0));
}

// Unique slices of x along dim, seen as the rows of a matrix.
std::tuple<Tensor, Tensor, Tensor> unique_rows(const Tensor& x, int64_t dim, bool sorts, bool inverse, bool counts) {
  dim = wrap_dim(dim, x.dim());
  const Tensor front = x.movedim({dim}, {0});
  const int64_t count = front.dim() > 0 ? front.size(0) : 1;
  check(count == 0 || x.numel() > 0, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  const ir::DeviceTag device = impl(x).device();
  if (count == 0) return {x, empty_result(device), empty_result(device)};
  const Tensor rows = front.reshape({count, -1});
  const NodeRef order = sorts ? row_order(rows) : iota(count, device).node;
  const Tensor in_order = sorts ? rows_at(rows, order) : rows;
  const Runs runs = runs_of(row_differs(in_order), order, inverse, counts);
  std::vector<int64_t> shape(front.sizes().begin(), front.sizes().end());
  if (shape.empty()) shape.push_back(1);
  shape[0] = runs.starts->numel();
  Tensor values = rows_at(in_order, runs.starts).reshape(shape);
  if (x.dim() > 0) values = values.movedim({0}, {dim});
  return {values, runs.inverse, runs.counts};
}

std::tuple<Tensor, Tensor, Tensor> unique_elements(const Tensor& x, bool sorts, bool inverse, bool counts) {
  auto [values, inverse_of, counts_of] = unique_rows(x.reshape({-1}), 0, sorts, inverse, counts);
  return {values, inverse ? inverse_of.reshape(x.sizes()) : inverse_of, counts_of};
}

// --- places in sorted sequences

// Binary search for all values at once: the place is in [low, low + length], and each step halves the length.
// One candidate too many may remain to the right of the middle; it is past the place or past the end.
// `lines` [n, size], `values` [n, m].
Expr search(const Expr& lines, const Expr& values, bool right) {
  const int64_t size = lines.shape()[1];
  Expr low = number({ir::make_const({DType::I64, 0}, dims_of(ref(values.shape())), values.node->device())}, 0.0);
  const double end = size;
  for (int64_t length = size, half; length > 0; length = half) {
    half = length / 2;
    const Expr middle = low + static_cast<double>(half);
    const Expr element = gather(lines, smaller(middle, end - 1), 1);
    const Expr stays = (right ? element > values : element >= values) | (middle >= end);
    low = select(stays, low, middle + 1.0);
  }
  return low;
}

Tensor place_in(const Tensor& sequence, const Tensor& values, bool out_int32, bool right, optional<std::string_view> side,
                const optional<Tensor>& sorter) {
  check(!side || *side == "left" || *side == "right", "torch.searchsorted(): side can only be 'left' or 'right' but got ",
        side.value_or(""));
  check(!(side && *side == "left" && right),
        "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was "
        "True");
  check(sequence.dim() > 0,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, "
        "but we got boundaries tensor dim(0) and input value's dim(",
        values.dim(), ") numel(", values.numel(), ")");
  const bool flat = sequence.dim() == 1;
  const bool lines_match = !flat && sequence.dim() == values.dim() &&
                           sequence.sizes().slice(0, sequence.sizes().size() - 1) == values.sizes().slice(0, values.sizes().size() - 1);
  check(flat || lines_match,
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
        "boundaries tensor "
        "and input value tensor must match, but we got boundaries tensor ",
        sequence.sizes(), " and input value tensor ", values.sizes());
  check(sequence.scalar_type() == values.scalar_type(),
        "torch.searchsorted(): boundary tensor and input value tensor should have same dtype, but got "
        "boundary tensor dtype ",
        sequence.dtype(), " and input value tensor dtype ", values.dtype());
  const int64_t size = sequence.size(-1);
  const int64_t lines = flat ? 1 : (size == 0 ? 0 : sequence.numel() / size);
  Tensor ordered = sequence;
  if (given(sorter)) {
    check(sorter->sizes() == sequence.sizes(),
          "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor ", sequence.sizes(),
          "and got sorter tensor ", sorter->sizes());
    check(sorter->scalar_type() == kLong, "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ", sorter->dtype());
    ordered = tenon::gather(sequence, -1, *sorter);
  }
  const ScalarType type = out_int32 ? kInt : kLong;
  if (values.numel() == 0 || size == 0) return zeros_like(values, TensorOptions(type));
  const Expr table{ir::reshape(node_of(ordered), Dims{lines, size})};
  const Expr wanted{ir::reshape(node_of(values), Dims{lines, values.numel() / lines})};
  const bool after = right || (side && *side == "right");
  return record(ir::reshape(ir::cast(search(table, wanted, after).node, ir_type(type)), dims_of(values.sizes())));
}

Tensor as_value(const Scalar& value, const Tensor& like) {
  return full({}, value, TensorOptions(like.scalar_type()).device(like.device()));
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _unique2(const Operand& self, bool, bool return_inverse, bool return_counts) {
  return unique_elements(self, true, return_inverse, return_counts);
}
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Operand& self, bool return_inverse, bool return_counts, optional<int64_t> dim) {
  const CallScope call("unique_consecutive", self);
  return dim ? unique_rows(self, *dim, false, return_inverse, return_counts) : unique_elements(self, false, return_inverse, return_counts);
}
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Operand& self, int64_t dim, bool, bool return_inverse, bool return_counts) {
  const CallScope call("unique_dim", self);
  return unique_rows(self, dim, true, return_inverse, return_counts);
}

Tensor bincount(const Operand& self, const optional<Tensor>& weights, int64_t minlength) {
  const CallScope call("bincount", self, weights);
  check(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  check<NotImplementedError>(isIntegralType(self.scalar_type(), false), "\"bincount_cpu\" not implemented for '", self.scalar_type(), "'");
  check(minlength >= 0, "minlength should be >= 0");
  check(!given(weights) || weights->sizes() == self.sizes(), "weights should be 1-d and have the same length as input");
  const Tensor kept = self;  // or a temporary is computed for each use
  int64_t greatest = -1;
  if (self.numel() > 0) {
    const auto [least, most] = aminmax(self);
    eval({least, most});
    check(least.item<int64_t>() >= 0, "bincount only supports 1-d non-negative integral inputs.");
    greatest = most.item<int64_t>();
  }
  check(greatest < std::numeric_limits<int64_t>::max(), "maximum value of input overflowed, it should be < ",
        std::numeric_limits<int64_t>::max());
  const int64_t size = std::max(greatest + 1, minlength);
  checked_numel({size});
  const DType type = !given(weights) ? DType::I64 : weights->scalar_type() == kFloat ? DType::F32 : DType::F64;
  const Expr base = zeros(type, size, impl(self).device());
  const NodeRef amount =
      given(weights) ? ir::cast(node_of(*weights), type) : constant_node(ir::constant(type, int64_t{1}), Dims{self.numel()});
  return record(ir::scatter(Op::ScatterAdd, base.node, ir::cast(node_of(self), DType::I64), amount, 0));
}

Tensor histc(const Operand& self, int64_t bins, const Scalar& min, const Scalar& max) {
  const CallScope call("histc", self, min, max);
  GradScope scope("HistcBackward0", self);
  check(bins > 0, "torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
  checked_numel(IntArrayRef(bins));
  check<NotImplementedError>(self.is_floating_point(), "\"histogram_cpu\" not implemented for '", self.scalar_type(), "'");
  double lo = min.toDouble(), hi = max.toDouble();
  if (lo == hi && self.numel() > 0) {
    const Tensor kept = self;  // or a temporary is computed for each
    lo = self.min().item<double>();
    hi = self.max().item<double>();
  }
  if (lo == hi) lo -= 1, hi += 1;
  check(std::isfinite(lo) && std::isfinite(hi), "range of [", lo, ", ", hi, "] is not finite");
  check(lo < hi, "max must be larger than min");
  const ScalarType type = self.scalar_type();
  const Expr x{ir::reshape(formula_operand(self, type).node, Dims{self.numel()})};
  const Expr inside = (x >= lo) & (x <= hi);
  const Expr bin = cast((x - lo) * static_cast<double>(bins) / (hi - lo), DType::I64);
  const auto last = static_cast<double>(bins - 1), outside = static_cast<double>(bins);
  const Expr place = select(inside, smaller(larger(bin, 0.0), last), number(bin, outside));
  const Expr one = number(x, 1.0);
  const NodeRef counts = ir::scatter(Op::ScatterAdd, zeros(x.dtype(), bins + 1, x.node->device()).node, place.node, one.node, 0);
  return record_as({ir::slice(counts, Dims{0}, Dims{1}, Dims{bins})}, type);
}

namespace {

std::tuple<Tensor, Tensor> histogram_between(const Tensor& x, const Tensor& edges, const optional<Tensor>& weight, bool density) {
  const ScalarType type = x.scalar_type();
  check(edges.dim() == 1, "torch.histogramdd: bins tensor should have one dimension, but got ", edges.dim(),
        " dimensions in the bins tensor for dimension 0");
  check(edges.numel() > 0,
        "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the "
        "bins tensor for dimension 0");
  check(edges.numel() > 1, "torch.histogram(): bins must be > 0, but got 0 for dimension 0");
  check(edges.scalar_type() == type,
        "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
        "got input with dtype ",
        x.dtype(), " and bins for dimension 0 with dtype ", edges.dtype());
  if (given(weight)) {
    check(weight->scalar_type() == type,
          "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the "
          "same "
          "dtype, but got input(",
          x.dtype(), "), and weight(", weight->dtype(), ")");
    check(weight->sizes() == x.sizes(),
          "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
          "excluding its innermost dimension, but got input with shape [",
          x.numel(), ", 1] and weight with shape ", weight->sizes());
  }
  check(type == kFloat || type == kDouble, "\"histogram_cpu\" not implemented for '", type, "'");
  const Tensor values = reshape(x, {-1}).contiguous();
  const int64_t bins = edges.numel() - 1;
  // What lies outside is counted in one bin more, which is dropped; the last edge belongs to the last bin.
  const Tensor place = clamp(sub(bucketize(values, edges, false, true), 1), 0, std::max<int64_t>(bins - 1, 0));
  const Tensor inside = logical_and(ge(values, select(edges, 0, 0)), le(values, select(edges, 0, -1)));
  const Tensor bin = bins > 0 ? where(inside, place, bins) : zeros_like(place);
  const Tensor amount = given(weight) ? reshape(*weight, {-1}) : ones_like(values);
  Tensor counts = narrow(index_add(zeros({bins + 1}, x.options().dtype(type)), 0, bin, amount), 0, 0, bins);
  if (density) counts = div(counts, mul(sum(counts), diff(edges)));
  return {counts.clone(), edges};
}

}  // namespace

std::tuple<Tensor, Tensor> histogram(const Operand& self, const Operand& bins, const optional<Tensor>& weight, bool density) {
  GradScope scope("NotImplemented", self, bins, weight);
  scope.no_derivative("histogram");
  return histogram_between(self, bins, weight, density);
}
std::tuple<Tensor, Tensor> histogram(const Operand& self, int64_t bins, optional<ArrayRef<double>> range, const optional<Tensor>& weight,
                                     bool density) {
  GradScope scope("NotImplemented", self, weight);
  scope.no_derivative("histogram");
  check(bins > 0, "torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
  double lo = 0, hi = 1;
  if (range) {
    check(range->size() == 2, "torch.histogramdd(): for a 1-dimensional histogram range should have 2 elements, but got ", range->size());
    lo = (*range)[0];
    hi = (*range)[1];
    check(!(lo > hi), "torch.histogramdd: min should not exceed max, but got min ", lo, " max ", hi, " for dimension 0");
  } else if (self.numel() > 0) {
    check(self.is_floating_point(), "\"histogramdd\" not implemented for '", self.scalar_type(), "'");
    const Tensor kept = self;  // or a temporary is computed for each
    lo = self.min().item<double>();
    hi = self.max().item<double>();
  }
  check(std::isfinite(lo) && std::isfinite(hi), "torch.histogramdd: dimension 0's range [", lo, ", ", hi, "] is not finite");
  if (lo == hi) lo -= 0.5, hi += 0.5;
  check(self.is_floating_point(), "\"histogram_cpu\" not implemented for '", self.scalar_type(), "'");
  return histogram_between(self, linspace(lo, hi, bins + 1, self.options()), weight, density);
}

Tensor searchsorted(const Operand& sorted_sequence, const Operand& self, bool out_int32, bool right, optional<std::string_view> side,
                    const optional<Tensor>& sorter) {
  const CallScope call("searchsorted", sorted_sequence, self, sorter);
  return place_in(sorted_sequence, self, out_int32, right, side, sorter);
}
Tensor searchsorted(const Operand& sorted_sequence, const Scalar& self, bool out_int32, bool right, optional<std::string_view> side,
                    const optional<Tensor>& sorter) {
  const CallScope call("searchsorted", sorted_sequence, self, sorter);
  return place_in(sorted_sequence, as_value(self, sorted_sequence), out_int32, right, side, sorter);
}
Tensor bucketize(const Operand& self, const Operand& boundaries, bool out_int32, bool right) {
  const CallScope call("bucketize", self, boundaries);
  check(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  return place_in(boundaries, self, out_int32, right, nullopt, nullopt);
}
Tensor bucketize(const Scalar& self, const Operand& boundaries, bool out_int32, bool right) {
  const CallScope call("bucketize", self, boundaries);
  return bucketize(as_value(self, boundaries), boundaries, out_int32, right);
}

}  // namespace tenon
