// Losses, as formulas over the elements and one reduction. Classes are picked by comparing the class axis
// with the targets, so that the softmax and the loss of a row are one pass over it:
//
//   loss[n] = -sum over c of where(c == target[n], weight[c] * log_softmax(x)[n, c], 0)
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numbers>

#include "frontend/src/autograd/replayed_call.h"
#include "frontend/src/tensor/device_check.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/index_check.h"
#include "tenon/creation.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

Tensor reduced(const Tensor& loss, int64_t reduction) {
  check(reduction >= Reduction::None && reduction < Reduction::END, reduction, " is not a valid value for reduction");
  if (reduction == Reduction::Mean) return mean(loss);
  return reduction == Reduction::Sum ? sum(loss) : loss;
}

// The dtype of some losses is that of one operand.
void check_output(ScalarType type, ScalarType output) {
  check(canCast(type, output), "result type ", type, " can't be cast to the desired output type ", output);
}

// f over the elements of two tensors that broadcast. Where PyTorch composes a loss, an addition comes last.
template <typename F>
Tensor formula(const Tensor& a, const Tensor& b, F f) {
  GradScope scope("AddBackward0", a, b);
  check_same_device(a, b);
  const ScalarType type = float_type(promoted(a, b));
  const Dims shape = broadcast_shape(a.sizes(), b.sizes());
  return record_as(f(broadcast(formula_operand(a, type), ref(shape)), broadcast(formula_operand(b, type), ref(shape))), type);
}

Tensor weighted(const Tensor& loss, const MaybeTensor& weight) { return given(weight) ? mul(loss, *weight) : loss; }

// A loss is a float: integers have none, unless the other operand makes one of them.
void require_float(const Tensor& a, const Tensor& b, const char* kernel) {
  const ScalarType type = promoted(a, b);
  check<NotImplementedError>(isFloatingType(type), '"', kernel, "\" not implemented for '", type, "'");
}

void require_float(const Tensor& x, const char* kernel) {
  check<NotImplementedError>(x.is_floating_point(), '"', kernel, "\" not implemented for '", x.scalar_type(), "'");
}

}  // namespace

// --- distances between input and target

Tensor mse_loss(const Operand& x, const Operand& target, int64_t reduction) {
  const CallScope call("mse_loss", x, target);
  require_float(x, target, "mse_cpu");
  const auto recorded = [&] {
    GradScope scope("MseLossBackward0", x, target);
    return reduced(formula(x, target, [](const Expr& a, const Expr& b) { return (a - b) * (a - b); }), reduction);
  };
  return replayed_formula("mse_loss", {static_cast<uint64_t>(reduction)}, recorded, x, target);
}
Tensor l1_loss(const Operand& x, const Operand& target, int64_t reduction) {
  const CallScope call("l1_loss", x, target);
  GradScope scope(reduction == Reduction::Mean  ? "MeanBackward0"
                  : reduction == Reduction::Sum ? "SumBackward0"
                                                : "AbsBackward0",
                  x, target);
  scope.saves(kReadsNothing);  // the difference
  return reduced(abs(sub(x, target)), reduction);
}
Tensor smooth_l1_loss(const Operand& x, const Operand& target, int64_t reduction, double beta) {
  const CallScope call("smooth_l1_loss", x, target);
  check(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return l1_loss(x, target, reduction);
  require_float(x, target, "smooth_l1_cpu");
  GradScope scope("SmoothL1LossBackward0", x, target);
  const auto f = [&](const Expr& a, const Expr& b) {
    const Expr z = abs(a - b);
    const Expr near = select(z >= beta, number(z, 0), z);  // or the square's gradient at infinity would be nan
    return select(z >= beta, z - 0.5 * beta, 0.5 * near * near / beta);
  };
  return reduced(formula(x, target, f), reduction);
}
Tensor huber_loss(const Operand& x, const Operand& target, int64_t reduction, double delta) {
  const CallScope call("huber_loss", x, target);
  check(delta > 0, "huber_loss does not support non-positive values for delta.");
  check_output(promoted(x, target), x.scalar_type());
  require_float(x, target, "huber_cpu");
  GradScope scope("HuberLossBackward0", x, target);
  const auto f = [&](const Expr& a, const Expr& b) {
    const Expr z = abs(a - b);
    const Expr near = select(z > delta, number(z, 0), z);
    return select(z > delta, delta * (z - 0.5 * delta), 0.5 * near * near);
  };
  return reduced(formula(x, target, f).to(x.scalar_type()), reduction);
}

// --- probabilities

namespace {

Dims without_ones(IntArrayRef sizes) {
  Dims result;
  std::ranges::copy_if(sizes, std::back_inserter(result), [](int64_t size) { return size != 1; });
  return result;
}

// As ATen pairs the targets with the elements of x: dims of size 1 do not count.
Tensor for_each_element(const Tensor& target, const Tensor& x) {
  if (target.sizes() == x.sizes()) return target;
  const Dims sizes = without_ones(x.sizes()), shape = broadcast_shape(ref(sizes), ref(without_ones(target.sizes())));
  check(shape == sizes, "output with shape ", ref(sizes), " doesn't match the broadcast shape ", ref(shape));
  return target.reshape(ref(without_ones(target.sizes()))).expand(ref(sizes)).reshape(x.sizes());
}

}  // namespace

Tensor binary_cross_entropy(const Operand& x, const Operand& given_target, const MaybeTensor& weight, int64_t reduction) {
  const CallScope call("binary_cross_entropy", x, given_target, weight);
  require_float(x, "binary_cross_entropy");
  check(x.scalar_type() == given_target.scalar_type(), "Found dtype ", given_target.scalar_type(), " but expected ", x.scalar_type());
  constexpr const char* kNoProbability = "all elements of input should be between 0 and 1";
  void* const note = value_note(impl(x).device(), kNoProbability, "binary_cross_entropy");
  if (!note) {
    NoGradGuard no_grad;
    const Tensor kept = x;  // or a temporary is computed for the check and for the loss
    check(x.numel() == 0 || all(logical_and(x >= 0, x <= 1)).item<bool>(), kNoProbability);
  }
  check_not_differentiated(weight, "binary_cross_entropy", "weight");
  GradScope scope("BinaryCrossEntropyBackward0", x, given_target, weight);
  scope.rule(reads_operand(0) | reads_operand(1) | reads_operand(2), [reduction, weighted = given(weight)](GradCall& c) {
    const Tensor x = c.operand(0), target = c.operand(1), t = for_each_element(target, x);
    Tensor g = c.grad();
    if (reduction == Reduction::Mean) g = g / static_cast<double>(x.numel());
    if (weighted) g = g * c.operand(2);
    if (c.wants(0)) c.give(0, g * (x - t) / clamp_min((1 - x) * x, 1e-12));
    if (!c.wants(1)) return;
    const Tensor each = (g * (log1p(-x) - log(x))).reshape(ref(without_ones(x.sizes())));
    c.give(1, each.sum_to_size(ref(without_ones(target.sizes()))).reshape(target.sizes()));
  });
  const Tensor target = for_each_element(given_target, x);
  if (given(weight)) {
    const Dims shape = broadcast_shape(x.sizes(), weight->sizes());
    check(ref(shape) == x.sizes(), "output with shape ", x.sizes(), " doesn't match the broadcast shape ", ref(shape));
  }
  const auto f = [note](const Expr& p, const Expr& t) {  // logarithms are cut off at -100
    const Expr each = (t - 1.0) * larger(-100.0, log1p(-p)) - t * larger(-100.0, log(p));
    return note ? Expr{noted_where(each.node, (!((p >= 0.0) & (p <= 1.0))).node, note)} : each;
  };
  return reduced(weighted(formula(x, target, f), weight), reduction);
}
Tensor binary_cross_entropy_with_logits(const Operand& x, const Operand& target, const MaybeTensor& weight, const MaybeTensor& pos_weight,
                                        int64_t reduction) {
  const CallScope call("binary_cross_entropy_with_logits", x, target, weight, pos_weight);
  require_float(x, "log_sigmoid_cpu");
  refuse_bool_difference(target.scalar_type() == kBool, target.scalar_type() == kBool);
  check_output(x.scalar_type(), target.scalar_type());
  check_not_differentiated(weight, "binary_cross_entropy_with_logits", "weight");
  check_not_differentiated(pos_weight, "binary_cross_entropy_with_logits", "pos_weight");
  GradScope scope("BinaryCrossEntropyWithLogitsBackward0", x, target, weight, pos_weight);
  const auto f = [&](const Expr& v, const Expr& t) {
    if (!given(pos_weight)) return (1.0 - t) * v - log_sigmoid(v);
    const DType type = v.dtype();
    const Expr positive = broadcast(cast(Expr{node_of(*pos_weight)}, type), v.shape());
    return (1.0 - t) * v - ((positive - 1.0) * t + 1.0) * log_sigmoid(v);
  };
  if (given(pos_weight)) {
    const Dims shape = broadcast_shape(x.sizes(), target.sizes());
    check(ref(broadcast_shape(ref(shape), pos_weight->sizes())) == ref(shape), "output with shape ", ref(shape),
          " doesn't match the broadcast shape ", ref(broadcast_shape(ref(shape), pos_weight->sizes())));
  }
  return reduced(weighted(formula(x, target, f).to(target.scalar_type()), weight), reduction);
}
Tensor kl_div(const Operand& x, const Operand& target, int64_t reduction, bool log_target) {
  const CallScope call("kl_div", x, target);
  check(x.is_floating_point() && target.is_floating_point(), "kl_div: Integral inputs not supported.");
  const auto f = [&](const Expr& v, const Expr& t) {
    if (log_target) return exp(t) * (t - v);
    return select(t == 0.0, number(t, 0.0), t * log(t)) - t * v;
  };
  const auto each = [&] {
    GradScope scope(log_target ? "MulBackward0" : "SubBackward0", x, target);
    return formula(x, target, f);
  };
  return reduced(each(), reduction);
}
Tensor poisson_nll_loss(const Operand& x, const Operand& target, bool log_input, bool full, double eps, int64_t reduction) {
  const CallScope call("poisson_nll_loss", x, target);
  refuse_bool_difference(promoted(x, target) == kBool, false);
  const auto f = [&](const Expr& v, const Expr& t) {
    const Expr loss = log_input ? exp(v) - t * v : v - t * log(v + eps);
    if (!full) return loss;  // Stirling's approximation of log(t!)
    const Expr stirling = t * log(t) - t + 0.5 * log(2 * std::numbers::pi * t);
    return loss + select(t <= 1.0, number(t, 0.0), stirling);
  };
  return reduced(formula(x, target, f), reduction);
}
Tensor soft_margin_loss(const Operand& x, const Operand& target, int64_t reduction) {
  check_not_differentiated(Tensor(target), "soft_margin_loss", "target");
  GradScope scope("SoftMarginLossBackward0", x, target);
  if (x.scalar_type() == kBool) neg(x);  // says that bools have no negative
  check_output(float_type(promoted(x, target)), x.scalar_type());
  const auto f = [](const Expr& v, const Expr& t) { return log1p(exp(-t * v)); };
  return reduced(formula(x, target, f).to(x.scalar_type()), reduction);
}

// --- classes

namespace {

struct Classes {
  Expr logs;        // [.., C, ..], log-probabilities
  size_t axis;      // of the classes
  Expr picked;      // [.., C, ..]: is this the target's class, and not the one to ignore?
  Expr weight;      // [.., C, ..]
  ScalarType type;  // of the result

  int64_t count() const { return logs.node->shape()[axis]; }
};

NodeRef sum_over(const Expr& x, const Dims& dims) {
  if (x.node->numel() == 0) {
    Dims shape = x.node->shape();
    for (int64_t d : dims) shape[d] = 1;
    return constant_node(ir::constant(x.dtype(), int64_t{0}), shape);
  }
  return ir::reduce(Op::Sum, x.node, dims);
}

// Over the classes; the dim goes.
Expr class_sum(const Expr& x, size_t axis) {
  const NodeRef sum = sum_over(x, Dims{static_cast<int64_t>(axis)});
  Dims shape = sum->shape();
  shape.erase(axis);
  return {ir::reshape(sum, shape)};
}

Expr total(const Expr& x) {
  Dims dims;
  for (size_t d = 0; d < x.node->shape().size(); ++d) dims.push_back(static_cast<int64_t>(d));
  return {ir::reshape(sum_over(x, dims), Dims{})};
}

Expr along(const NodeRef& vector, size_t axis, const Expr& like) {
  Dims shape(like.node->shape().size(), 1);
  shape[axis] = vector->shape()[0];
  return broadcast(Expr{ir::reshape(vector, shape)}, like.shape());
}

Expr class_weights(const MaybeTensor& weight, size_t axis, const Expr& like) {
  if (!given(weight)) return number(like, 1.0);
  return along(ir::cast(node_of(*weight), like.dtype()), axis, like);
}

// `note`: of targets that the device checks (check_targets).
Classes classes_of(const Expr& logs, ScalarType type, const Tensor& target, const MaybeTensor& weight, int64_t ignore_index, size_t axis,
                   void* note) {
  Dims shape = logs.node->shape();
  const Expr index{iota_node(shape, static_cast<int64_t>(axis))};
  Dims with_class = dims_of(target.sizes());
  with_class.insert(axis, 1);
  Expr each{ir::cast(node_of(target), DType::I64)};
  if (note) {
    const Expr ignored = apply(Op::Eq, each, number(each, Scalar(ignore_index)));
    const Expr checked{checked_there(select(ignored, number(each, 0), each).node, shape[axis], note)};
    each = select(ignored, each, checked);
  }
  const Expr wanted = broadcast(Expr{ir::reshape(each.node, with_class)}, ref(shape));
  Expr picked = index == wanted;
  if (ignore_index >= 0 && ignore_index < shape[axis]) picked = picked & apply(Op::Ne, wanted, number(wanted, Scalar(ignore_index)));
  return {logs, axis, picked, class_weights(weight, axis, logs), type};
}

// The loss of class indices, with the part `smoothing` of it spread over all classes.
Tensor pick_loss(const Classes& c, int64_t reduction, double smoothing) {
  const Expr zero = number(c.logs, 0.0);
  const Expr chosen = select(c.picked, c.weight, zero);
  Expr each = -select(c.picked, c.weight * c.logs, zero) * (1 - smoothing);
  if (smoothing > 0) {
    const Expr one = cast(c.picked, c.logs.dtype());
    const Expr counts = broadcast(Expr{sum_over(one, Dims{static_cast<int64_t>(c.axis)})}, c.logs.shape());
    const double share = smoothing / static_cast<double>(c.count());
    each = each - select(counts > 0.0, c.weight * c.logs * share, zero);
  }
  if (reduction == Reduction::None) return record_as(class_sum(each, c.axis), c.type);
  const Expr sum = total(class_sum(each, c.axis));
  if (reduction == Reduction::Sum) return record_as(sum, c.type);
  check(reduction == Reduction::Mean, reduction, " is not a valid value for reduction");
  return record_as(sum / total(class_sum(chosen, c.axis)), c.type);
}

bool are_classes(const Tensor& target, int64_t classes) {
  const auto range = known_range(*node_of(target));
  return range && range->first >= 0 && range->second < classes;
}

// The note of targets whose device checks them when it reads them; null for others.
void* target_note(const Tensor& target, int64_t classes) {
  return are_classes(target, classes) ? nullptr : index_note(impl(target).device(), classes, IndexUse::Target);
}

// Reads the targets: each is a class or the one to ignore. Or gives their note.
void* check_targets(const Tensor& target, int64_t classes, int64_t ignore_index) {
  if (void* note = target_note(target, classes)) return note;
  if (are_classes(target, classes)) return nullptr;
  const NoGradGuard no_grad;
  const Tensor dense = target.to(kLong).contiguous();
  const HostView view = host_view(dense);
  const auto* data = reinterpret_cast<const int64_t*>(view.data);
  for (int64_t i = 0; i < dense.numel(); ++i) {
    check<IndexError>((data[i] >= 0 && data[i] < classes) || data[i] == ignore_index, "Target ", data[i], " is out of bounds.");
  }
  return nullptr;
}

// What nll_loss and nll_loss2d check, with the errors in their order.
void* check_classes(const Tensor& x, const Tensor& target, const MaybeTensor& weight, int64_t ignore_index, size_t axis) {
  const int64_t classes = x.size(axis);
  check_not_differentiated(weight, x.dim() <= 2 ? "nll_loss_forward" : "nll_loss2d_forward", "weight");
  check(!given(weight) || (weight->dim() == 1 && weight->numel() == classes), "weight tensor should be defined either for all ", classes,
        " classes or no classes but got weight tensor of shape: ", given(weight) ? weight->sizes() : IntArrayRef());
  check(target.scalar_type() == kLong || target.scalar_type() == kByte, "expected target dtype to be Long or Byte, but got ",
        target.scalar_type());
  check(!given(weight) || weight->scalar_type() == x.scalar_type(), "expected scalar type ", x.scalar_type(), " but found ",
        given(weight) ? weight->scalar_type() : kFloat);
  return check_targets(target, classes, ignore_index);
}

void check_rows(const Tensor& x, const Tensor& target) {
  check(x.dim() > 0 && x.dim() <= 2, "input tensor should be 1D or 2D");
  check(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  check((x.dim() == 1 && target.dim() == 0) || (target.dim() == 1 && x.size(0) == target.size(0)), "size mismatch (got input: ", x.sizes(),
        ", target: ", target.sizes(), ")");
}

// One row of classes takes its target with or without a dim.
Tensor target_of(const Tensor& x, const Tensor& target) {
  if (x.dim() != 1 || target.dim() != 1) return target;
  check<ValueError>(target.size(0) == 1, "For 1D input, 1D target must have size 1, but got target size: ", target.size(0));
  return target.reshape(IntArrayRef());
}

// The axis of the classes, after the checks of the shapes of x and target.
size_t check_shapes(const Tensor& x, const Tensor& target) {
  check<ValueError>(x.dim() >= 1, "Expected 1 or more dimensions (got 0)");
  check<ValueError>(x.dim() == 1 || target.dim() == 0 || x.size(0) == target.size(0), "Expected input batch_size (", x.size(0),
                    ") to match target batch_size (", target.dim() ? target.size(0) : 0, ").");
  if (x.dim() <= 2) {
    check_rows(x, target);
    return static_cast<size_t>(x.dim() - 1);
  }
  Dims expected = dims_of(x.sizes());
  expected.erase(1);
  check(target.sizes() == ref(expected), "Expected target size ", ref(expected), ", got ", target.sizes());
  return 1;
}

Tensor index_loss(const Tensor& x, const Tensor& target, const MaybeTensor& weight, int64_t reduction, int64_t ignore_index) {
  const size_t axis = check_shapes(x, target);
  require_float(x, "nll_loss_out_frame");
  void* const note = check_classes(x, target, weight, ignore_index, axis);
  const Expr logs = formula_operand(x, x.scalar_type());
  return pick_loss(classes_of(logs, x.scalar_type(), target, weight, ignore_index, axis, note), reduction, 0);
}

Tensor probability_loss(const Tensor& x, const Tensor& target, const MaybeTensor& weight, int64_t reduction, double smoothing) {
  const size_t axis = x.dim() == 1 ? 0 : 1;
  const int64_t classes = x.size(axis);
  check(target.is_floating_point(), "Expected floating point type for target with class probabilities, got ", target.scalar_type());
  check(!given(weight) || (weight->dim() == 1 && weight->numel() == classes),
        "cross_entropy: weight tensor should be defined either for all ", classes,
        " classes or no classes but got weight tensor of shape: ", given(weight) ? weight->sizes() : IntArrayRef());
  const Expr logs = formula_operand(log_softmax(x, static_cast<int64_t>(axis)), x.scalar_type());
  Expr wanted = cast(Expr{node_of(target)}, logs.dtype());
  if (smoothing > 0) wanted = wanted * (1 - smoothing) + smoothing / static_cast<double>(classes);
  const Expr each = class_sum(-(logs * wanted * class_weights(weight, axis, logs)), axis);
  if (reduction == Reduction::None) return record_as(each, x.scalar_type());
  const Expr sum = total(each);
  if (reduction == Reduction::Sum) return record_as(sum, x.scalar_type());
  check(reduction == Reduction::Mean, reduction, " is not a valid value for reduction");
  return record_as(sum / static_cast<double>(each.node->numel()), x.scalar_type());
}

}  // namespace

Tensor nll_loss(const Operand& x, const Operand& target, const MaybeTensor& weight, int64_t reduction, int64_t ignore_index) {
  const CallScope call("nll_loss", x, target, weight);
  GradScope scope("NllLossBackward0", x, weight);
  scope.derivative_reads(reads_operand(0));
  scope.saves(reads_operand(0) | reads_operand(1), target);
  const Tensor classes = target_of(x, target);
  check_rows(x, classes);
  return index_loss(x, classes, weight, reduction, ignore_index);
}
Tensor nll_loss2d(const Operand& x, const Operand& target, const MaybeTensor& weight, int64_t reduction, int64_t ignore_index) {
  const CallScope call("nll_loss2d", x, target, weight);
  GradScope scope("NllLoss2DBackward0", x, weight);
  scope.derivative_reads(reads_operand(0));
  scope.saves(reads_operand(0) | reads_operand(1), target);
  check(target.dim() == 3, "only batches of spatial targets supported (3D tensors) but got targets of dimension: ", target.dim());
  check(x.dim() == 4, "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", x.dim());
  return index_loss(x, target, weight, reduction, ignore_index);
}
Tensor nll_loss_nd(const Operand& x, const Operand& target, const MaybeTensor& weight, int64_t reduction, int64_t ignore_index) {
  const CallScope call("nll_loss_nd", x, target, weight);
  GradScope scope(x.dim() <= 2 ? "NllLossBackward0" : "NllLoss2DBackward0", x, weight);
  scope.derivative_reads(reads_operand(0));
  scope.saves(reads_operand(0) | reads_operand(1), target);
  return index_loss(x, target, weight, reduction, ignore_index);
}

namespace {

Tensor recorded_cross_entropy(const Tensor& x, const Tensor& target, const MaybeTensor& weight, int64_t reduction, int64_t ignore_index,
                              double label_smoothing) {
  GradScope scope(x.dim() <= 2 ? "NllLossBackward0" : "NllLoss2DBackward0", x, target, weight);
  const bool by_probability = x.sizes() == target.sizes();
  scope.saves(by_probability ? kReadsNothing : reads_operand(1) | reads_operand(2));  // and logarithms of its own
  check(label_smoothing >= 0.0 && label_smoothing <= 1.0, "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  if (by_probability) check_same_device(x, target);
  else check_argument_device(x, target, "target", x.dim() <= 2 ? "nll_loss_forward" : "nll_loss2d_forward");
  if (by_probability) {
    check(ignore_index < 0, "ignore_index is not supported for floating point target");
    return probability_loss(x, target, weight, reduction, label_smoothing);
  }
  const Tensor logs = log_softmax(x, x.dim() == 1 ? 0 : 1);
  const Tensor classes = target_of(x, target);
  const size_t axis = check_shapes(x, classes);
  void* const note = check_classes(x, classes, weight, ignore_index, axis);
  const Expr values = formula_operand(logs, x.scalar_type());
  return pick_loss(classes_of(values, x.scalar_type(), classes, weight, ignore_index, axis, note), reduction, label_smoothing);
}

}  // namespace

Tensor cross_entropy_loss(const Operand& x, const Operand& target, const MaybeTensor& weight, int64_t reduction, int64_t ignore_index,
                          double label_smoothing) {
  const CallScope call("cross_entropy", x, target, weight);
  const bool by_class = x.dim() > 0 && x.sizes() != target.sizes();
  const int64_t classes = x.dim() > 1 ? x.size(1) : x.numel();
  void* const note = by_class ? target_note(target, classes) : nullptr;
  const ReplayedCall replayed(ReplayedCall::When::Always, "cross_entropy",
                              {static_cast<uint64_t>(reduction), static_cast<uint64_t>(ignore_index),
                               std::bit_cast<uint64_t>(label_smoothing), reinterpret_cast<uint64_t>(note)},
                              x, target, weight);
  if (!replayed.can_replay())
    return replayed.record_and_keep([&] { return recorded_cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing); });
  if (by_class && !note) check_targets(target, classes, ignore_index);
  return replayed.replay();
}

Tensor multi_margin_loss(const Operand& x, const Operand& target, const Scalar& p, const Scalar& margin, const MaybeTensor& weight,
                         int64_t reduction) {
  const CallScope call("multi_margin_loss", x, target, p, margin, weight);
  check_not_differentiated(weight, "multi_margin_loss", "weight");
  GradScope scope("MultiMarginLossBackward0", x, weight);
  check(p == Scalar(1) || p == Scalar(2), "multi_margin_loss: only p == 1 and p == 2 supported");
  check(x.dim() >= 1 && x.dim() <= 2 && x.numel() > 0,
        "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", x.sizes());
  check((x.dim() == 1 && target.numel() == 1 && target.dim() <= 1) || (target.dim() == 1 && target.size(0) == x.size(0)),
        "inconsistent target size, got: ", target.sizes());
  require_float(x, "multi_margin_loss");
  const size_t axis = static_cast<size_t>(x.dim() - 1);
  const Tensor labels = reshape(target, {x.sizes().data(), axis});
  void* const note = check_classes(x, labels, weight, -100, axis);
  const Expr v = formula_operand(x, x.scalar_type()), zero = number(v, 0.0);
  const Classes c = classes_of(v, x.scalar_type(), labels, weight, -100, axis, note);
  const Dims dim{static_cast<int64_t>(axis)};
  const Expr own = broadcast(Expr{sum_over(select(c.picked, v, zero), dim)}, v.shape());
  const Expr factor = broadcast(Expr{sum_over(select(c.picked, c.weight, zero), dim)}, v.shape());
  const Expr z = larger(0.0, margin.toDouble() - own + v);
  const Expr each = select(c.picked, zero, (p == Scalar(2) ? z * z : z) * factor);
  return reduced(record_as(class_sum(each, axis) / static_cast<double>(c.count()), c.type), reduction);
}

// --- margins

Tensor hinge_embedding_loss(const Operand& x, const Operand& target, double margin, int64_t reduction) {
  const CallScope call("hinge_embedding_loss", x, target);
  refuse_bool_difference(x.scalar_type() == kBool, x.scalar_type() == kBool);
  const auto f = [&](const Expr& v, const Expr& t) {
    const Expr zero = number(v, 0.0);
    return select(t != 1.0, larger(0.0, margin - v), zero) + select(t != -1.0, v, zero);
  };
  return reduced(formula(x, target.detach(), f).to(x.scalar_type()), reduction);
}
Tensor margin_ranking_loss(const Operand& a, const Operand& b, const Operand& target, double margin, int64_t reduction) {
  const CallScope call("margin_ranking_loss", a, b, target);
  return reduced(clamp_min(neg(target) * (a - b) + margin, 0), reduction);
}
Tensor cosine_embedding_loss(const Operand& a, const Operand& b, const Operand& target, double margin, int64_t reduction) {
  const CallScope call("cosine_embedding_loss", a, b, target);
  check(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  if (target.dim() == 1) {
    check(a.dim() == 2 && b.dim() == 2, "1D target tensor expects 2D input tensors, but found inputs with sizes ", a.sizes(), " and ",
          b.sizes(), ".");
  } else {
    check(a.dim() == 1 && b.dim() == 1, "0D target tensor expects 1D input tensors, but found inputs with sizes ", a.sizes(), " and ",
          b.sizes(), ".");
  }
  constexpr double eps = 1e-12;
  const int64_t dim = target.dim();
  const Tensor dot = sum(a * b, dim), squares = (sum(a * a, dim) + eps) * (sum(b * b, dim) + eps);
  const auto f = [&](const Expr& cosine, const Expr& t) {
    const Expr zero = number(cosine, 0.0);
    return select(t == 1.0, 1.0 - cosine, zero) + select(t == -1.0, larger(0.0, cosine - margin), zero);
  };
  return reduced(formula(dot / sqrt(squares), target.detach(), f), reduction);  // the target is only compared
}
Tensor triplet_margin_loss(const Operand& anchor, const Operand& positive, const Operand& negative, double margin, double p, double eps,
                           bool swap, int64_t reduction) {
  const CallScope call("triplet_margin_loss", anchor, positive, negative);
  check(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(),
        "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
        "got: anchor ",
        anchor.dim(), "D, positive ", positive.dim(), "D, and negative ", negative.dim(), "D inputs");
  const Tensor near = pairwise_distance(anchor, positive, p, eps);
  Tensor far = pairwise_distance(anchor, negative, p, eps);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps));
  return reduced(clamp_min(margin + near - far, 0), reduction);
}

namespace {

// [N, classes], each -1 or a class. On a GPU the kernel that reads them checks that.
Tensor labels_of(const Tensor& target, int64_t classes) {
  constexpr const char* kOutside = "argument #2 'target' is out of range";
  const Tensor labels = reshape(target, {-1, classes});
  if (labels.numel() == 0) return labels;
  if (void* note = value_note(impl(labels).device(), kOutside, "multilabel_margin_loss"))
    return record((Expr{checked_there((Expr{node_of(labels)} + 1.0).node, classes + 1, note)} - 1.0).node);
  check(labels.min().item<int64_t>() >= -1 && labels.max().item<int64_t>() < classes, kOutside);
  return labels;
}

}  // namespace

Tensor multilabel_margin_loss(const Operand& self, const Operand& target, int64_t reduction) {
  GradScope scope("MultilabelMarginLossBackward0", self);
  scope.derivative_reads(reads_operand(0));
  check(self.dim() <= 2 && (self.dim() == 0 || self.size(-1) != 0),
        "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", self.sizes());
  check(self.dim() == 2 ? target.sizes() == self.sizes() : target.dim() <= 1 && target.numel() == self.numel(),
        "inconsistent target size: ", target.sizes(), " for input of size: ", self.sizes());
  check(target.scalar_type() == kLong, "expected scalar type Long but found ", target.scalar_type());
  check(self.is_floating_point(), "\"multilabel_margin_loss_forward_out_frame\" not implemented for '", self.scalar_type(), "'");
  const int64_t classes = self.dim() == 0 ? 1 : self.size(-1);
  const Tensor x = reshape(self, {-1, classes}), labels = labels_of(target, classes);
  const Tensor counts = cumprod((labels >= 0).to(kLong), 1) > 0;  // up to the first -1
  const Tensor label = clamp(labels, Scalar(0), Scalar(classes - 1));
  const Tensor picked = logical_and(counts.unsqueeze(2), label.unsqueeze(2) == arange(classes, label.options()));
  const Tensor is_label = any(picked, 1);                                       // [N, classes]
  const Tensor margin = 1 - gather(x, 1, label).unsqueeze(2) + x.unsqueeze(1);  // [N, labels, classes]
  const Tensor matters = logical_and(counts.unsqueeze(2), logical_not(is_label).unsqueeze(1));
  const Tensor losses =
      sum(where(matters, relu(margin), zeros({}, x.options().requires_grad(false))), {1, 2}) / static_cast<double>(classes);
  if (reduction == Reduction::Mean) return mean(losses);
  if (reduction == Reduction::Sum) return sum(losses);
  return self.dim() == 2 ? losses : reshape(losses, {});
}

}  // namespace tenon
