// Embeddings, bags of them, rows of a table held to a norm; and classes as one-hot vectors.
#include <limits>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/index_check.h"
#include "tenon/arrays.h"
#include "tenon/creation.h"
#include "tenon/elementary.h"
#include "tenon/neural.h"

namespace tenon {

namespace {

// The rows that were read get the gradients of their copies; that of the padding none.
GradRule embedding_rule(int64_t padding_idx, bool scale_grad_by_freq, Dims shape) {
  return [=](GradCall& c) {
    const Tensor index = c.operand(1).reshape({-1}).to(kLong);
    Tensor rows = c.grad().reshape({index.numel(), shape[1]});
    if (padding_idx >= 0) rows = where((index == padding_idx).unsqueeze(1), 0, rows);
    const Tensor none = zeros(ref(shape), rows.options());
    if (scale_grad_by_freq) {
      const Tensor counts = zeros({shape[0]}, rows.options()).index_add(0, index, ones_like(index).to(rows.scalar_type()));
      rows = rows / counts.index_select(0, index).unsqueeze(1);
    }
    c.give(0, none.index_add(0, index, rows));
  };
}

}  // namespace

Tensor embedding(const Operand& weight, const Operand& indices, int64_t padding_idx, bool scale_grad_by_freq, bool) {
  const CallScope call("embedding", weight, indices);
  GradScope scope("EmbeddingBackward0", weight, indices);
  check(weight.dim() == 2, "'weight' must be 2-D");
  check(indices.scalar_type() == kLong || indices.scalar_type() == kInt,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
        "got torch.",
        indices.scalar_type(), "Tensor instead (while checking arguments for embedding)");
  if (padding_idx >= 0 || scale_grad_by_freq)
    scope.rule(reads_operand(1), embedding_rule(padding_idx, scale_grad_by_freq, dims_of(weight.sizes())));
  Dims shape = dims_of(indices.sizes());
  shape.push_back(weight.size(1));
  return reshape(index_select(weight, 0, reshape(indices, {indices.numel()})), ref(shape));
}

Tensor one_hot(const Operand& x, int64_t num_classes) {
  const CallScope call("one_hot", x);
  check(x.scalar_type() == kLong, "one_hot is only applicable to index tensor of type LongTensor.");
  Dims shape = dims_of(x.sizes());
  if (x.numel() == 0) {
    check(num_classes > 0, "Can not infer total number of classes from empty tensor.");
    shape.push_back(num_classes);
    return zeros(ref(shape), kLong);
  }
  const NoGradGuard no_grad;
  void* const note = num_classes > 0 ? index_note(impl(x).device(), num_classes, IndexUse::Gather, x.dim()) : nullptr;
  if (note) {  // the kernel checks the classes
    shape.push_back(num_classes);
    checked_numel(ref(shape));
    const Expr classes{iota_node(shape, x.dim())};
    const NodeRef index = ir::reshape(checked_there(node_of(x), num_classes, note), dims_of(unsqueeze(x, -1).sizes()));
    return record_as(classes == broadcast(Expr{index}, ref(shape)), kLong);
  }
  const Tensor kept = x;  // or a temporary is computed for the check and for the result
  const auto [least, greatest] = aminmax(x);
  check(least.item<int64_t>() >= 0, "Class values must be non-negative.");
  if (num_classes == -1) {
    num_classes = greatest.item<int64_t>() + 1;
  } else {
    check(num_classes > 0, "num_classes should be positive");
    check(num_classes > greatest.item<int64_t>(), "Class values must be smaller than num_classes.");
  }
  shape.push_back(num_classes);
  checked_numel(ref(shape));
  const Expr classes{iota_node(shape, x.dim())};
  return record_as(classes == broadcast(Expr{node_of(unsqueeze(x, -1))}, ref(shape)), kLong);
}

// --- bags

namespace {

enum class BagMode : int64_t { Sum, Mean, Max };

void check_bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets, const MaybeTensor& per_sample, BagMode mode,
                bool include_last) {
  check(isIntegralType(indices.scalar_type(), false), "embedding_bag: expected indices of an integer type, but got ",
        indices.scalar_type());
  check(indices.dim() == 1, "input has to be a 1D or 2D Tensor, but got Tensor of dimension ", indices.dim());
  check(offsets.dim() == 1, "offsets has to be a 1D Tensor, but got Tensor of dimension ", offsets.dim());
  check(weight.dim() == 2, "weight has to be a 2D Tensor, but got Tensor of dimension ", weight.dim());
  check(weight.is_floating_point(), "expected a floating point weight, but got ", weight.scalar_type());
  check(!include_last || offsets.size(0) >= 1, "include_last_offset: number of offset should be at least 1");
  if (given(per_sample)) {
    check(mode == BagMode::Sum, "embedding_bag: per_sample_weights only supported with mode='sum'");
    check(per_sample->dim() == 1 && per_sample->numel() == indices.numel(),
          "expected per_sample_weights to have the same shape as indices, but got ", per_sample->sizes(), " and ", indices.sizes());
    check(per_sample->scalar_type() == weight.scalar_type(), "expected scalar type ", weight.scalar_type(), " but found ",
          per_sample->scalar_type());
  }
}

// Where the bags start: the first `bags` of the offsets, as i64. The first offset is to be 0, the last one not behind `count`. On a GPU
// the kernel that reads them sees to that.
Tensor starts_of(const Tensor& offsets, int64_t bags, int64_t count) {
  const Tensor starts = offsets.to(kLong).slice(0, 0, bags).contiguous();
  if (offsets.size(0) == 0) return starts;
  const std::string no_start =
      "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got ";
  const std::string too_long = text("offsets[-1] can not be greater than input's length ", count, " but got offsets[-1] of ");
  const ir::DeviceTag device = impl(offsets).device();
  if (void* note = bags > 0 ? value_note(device, no_start, "embedding_bag", true) : nullptr) {
    const auto all = [&](const Tensor& offset) { return broadcast(ir::cast(node_of(offset), DType::I64), starts.sizes()); };
    const NodeRef checked = noted_where(node_of(starts), all(offsets[0]), 1, note);
    void* const longer = value_note(device, too_long, "embedding_bag", true);
    return record(longer ? noted_where(checked, all(clamp_min(offsets[-1], 0)), count + 1, longer) : checked);
  }
  const auto first = offsets[0].item<int64_t>(), last = offsets[-1].item<int64_t>();
  check(first == 0, no_start, first);
  check(last <= count, too_long, last);
  return starts;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Operand& weight, const Operand& indices, const Operand& offsets,
                                                         bool scale_grad_by_freq, int64_t mode, bool sparse,
                                                         const MaybeTensor& per_sample_weights, bool include_last_offset,
                                                         optional<int64_t> padding_idx) {
  const auto how = static_cast<BagMode>(mode);
  check_bags(weight, indices, offsets, per_sample_weights, how, include_last_offset);
  const int64_t count = indices.numel(), bags = offsets.size(0) - (include_last_offset ? 1 : 0), width = weight.size(1);
  int64_t padding = -1;
  if (padding_idx) {
    check(*padding_idx >= -weight.size(0) && *padding_idx < weight.size(0), "padding_idx must be within the number of embeddings, -",
          weight.size(0), " through ", weight.size(0) - 1, ", but got ", *padding_idx);
    padding = *padding_idx < 0 ? *padding_idx + weight.size(0) : *padding_idx;
  }
  const TensorOptions longs = TensorOptions(kLong).device(indices.device());
  const ScalarType type = promoteTypes(indices.scalar_type(), offsets.scalar_type());  // of counts and places
  const Tensor starts = starts_of(offsets, bags, count);
  const Tensor bag =
      bags == 0 ? zeros(0, longs) : clamp(bucketize(arange(count, longs), starts, false, true) - 1, Scalar(0), Scalar(bags - 1));
  const Tensor inputs = bags == 0 ? indices.slice(0, 0, 0) : Tensor(indices);
  const Tensor kept = ne(inputs, padding);
  const Tensor sizes = index_add(zeros(bags, longs), 0, bag, kept.to(kLong));
  Tensor rows = embedding(weight, inputs, padding, scale_grad_by_freq, sparse);
  if (given(per_sample_weights)) rows = rows * per_sample_weights->slice(0, 0, inputs.numel()).unsqueeze(1);
  const TensorOptions plain = weight.options().requires_grad(false);
  const Tensor empty_bags = zeros({bags, width}, plain);
  if (how == BagMode::Max) {
    const Tensor places = bag.unsqueeze(1).expand({inputs.numel(), width});
    const Scalar infinity = std::numeric_limits<double>::infinity();
    const Tensor lowest = full({}, -infinity, plain);
    const Tensor values = rows.detach();
    const Tensor largest =
        scatter_reduce(full({bags, width}, -infinity, plain), 0, places, where(kept.unsqueeze(1), values, lowest), "amax");
    // Which index gave each maximum: the first of its bag. Its row alone has the gradient.
    const Tensor is_largest = logical_or(values == index_select(largest, 0, bag), isnan(values));
    const Tensor has_it = logical_and(kept.unsqueeze(1), is_largest);
    const Tensor turn = where(has_it, arange(inputs.numel(), longs).unsqueeze(1), inputs.numel());
    const Tensor first = scatter_reduce(full({bags, width}, inputs.numel(), longs), 0, places, turn, "amin");
    const Tensor filled = sizes.unsqueeze(1) > 0;
    if (inputs.numel() == 0) return {empty_bags, bag.to(type), sizes.to(type), zeros({bags, width}, longs.dtype(type))};
    const Tensor row = clamp(first, Scalar(0), Scalar(inputs.numel() - 1));
    return {where(filled, gather(rows, 0, row), empty_bags), bag.to(type), sizes.to(type),
            where(filled, take(inputs.to(kLong), row), 0).to(type)};
  }
  const Tensor addends = padding_idx ? where(kept.unsqueeze(1), rows, zeros({}, plain)) : rows;
  Tensor sums = index_add(empty_bags, 0, bag, addends);
  if (how == BagMode::Mean) sums = sums / clamp_min(sizes, 1).unsqueeze(1).to(weight.scalar_type());
  const Tensor counts = sizes.to(type);
  return {sums, bag.to(type), counts, how == BagMode::Mean ? counts : zeros(bags, longs.dtype(type))};
}

Tensor embedding_renorm(const Operand& weight, const Operand& indices, double max_norm, double norm_type) {
  const Tensor index = reshape(indices, {indices.numel()}), rows = index_select(weight, 0, index);
  const Tensor length = norm(rows, Scalar(norm_type), 1, true);
  const Tensor scale = where(length > max_norm, max_norm / (length + 1e-7), Scalar(1.0));
  return index_copy(weight, 0, index, mul(rows, scale).to(weight.scalar_type()));
}
Tensor& embedding_renorm_(Tensor& weight, const Operand& indices, double max_norm, double norm_type) {
  const NoGradGuard no_grad;
  return weight.copy_(embedding_renorm(weight, indices, max_norm, norm_type));
}

}  // namespace tenon
