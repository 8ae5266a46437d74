// Operands of formulas: casting and broadcasting.
#include "frontend/src/tensor/expr.h"

#include <algorithm>

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/device_check.h"
#include "frontend/src/tensor/text.h"
#include "runtime/device/device.h"

namespace tenon {

namespace {
// As in PyTorch, one number of the host goes with tensors on any device.
bool goes_anywhere(const TensorImpl& t) { return t.device() == runtime::kHostTag && t.sizes().empty(); }
NodeRef operand_node(const Tensor& tensor) {
  NodeRef node = node_of(tensor);
  if (!node->shape().empty() || !goes_anywhere(impl(tensor))) [[likely]]
    return node;
  return on_device(node, call_device());
}
}  // namespace

Expr operand(const Tensor& tensor, ScalarType type) { return {ir::cast(operand_node(tensor), ir_type(type))}; }
Expr formula_operand(const Tensor& tensor, ScalarType type) { return {ir::cast(operand_node(tensor), formula_type(ir_type(type)))}; }

Expr bound_number(const Expr& like, const Scalar& value, Bound which) {
  const ScalarType type = scalar_type(like.dtype());
  if (isFloatingType(type)) return number(like, value);
  const bool lower = which == Bound::Min;
  const ir::Constant lowest = ir::reduce_identity(Op::ReduceMax, like.dtype()), highest = ir::reduce_identity(Op::ReduceMin, like.dtype());
  const int64_t bound = value.toLong();
  check(lower ? bound <= ir::to_int64(highest) : bound >= ir::to_int64(lowest), "Clamp ", lower ? "min" : "max", " value ",
        value.toDouble(), " is outside the representable range of ", type);
  if (lower && bound < ir::to_int64(lowest)) return constant_like(like, lowest);
  if (!lower && bound > ir::to_int64(highest)) return constant_like(like, highest);
  return constant_like(like, ir::constant(like.dtype(), bound));
}

Expr multiply_add(const Expr& x, const Expr& y, const Expr& z) {
  if (!ir::is_float(x.dtype())) return x * y + z;
  const NodeRef operands[] = {x.node, y.node, z.node};
  return {ir::make_node(Op::Fma, operands)};
}

NodeRef broadcast(const NodeRef& node, IntArrayRef shape) {
  const Dims& from = node->shape();
  if (ref(from) == shape) return node;
  if (node->op() == Op::Const) return ir::make_const({node->dtype(), node->bits()}, span_of(shape), node->device());
  if (from.size() == shape.size()) return ir::expand(node, span_of(shape));
  Dims padded(shape.size() - from.size(), 1);
  padded.append(from.data(), from.size());
  return ir::expand(ir::reshape(node, padded), span_of(shape));
}

Dims broadcast_shape(IntArrayRef a, IntArrayRef b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims shape(rank, 1);
  for (size_t i = 0; i < rank; ++i) {  // from the last dim
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    check(x == y || x == 1 || y == 1, "The size of tensor a (", x, ") must match the size of tensor b (", y,
          ") at non-singleton dimension ", rank - 1 - i);
    shape[rank - 1 - i] = x == 1 ? y : x;
  }
  checked_numel(ref(shape));
  return shape;
}

void refuse_bool_difference(bool a, bool b) {
  check<NotImplementedError>(!a || !b,
                             "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
                             "or `logical_xor()` operator instead.");
  check<NotImplementedError>(!a && !b,
                             "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                             "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
}

void check_argument_device(const Tensor& first, const Tensor& argument, const char* name, const char* kernel) {
  const TensorImpl *x = first.unsafe_impl(), *y = argument.unsafe_impl();
  if (!x || !y || x->device() == y->device()) [[likely]]
    return;
  throw Error(text("Expected all tensors to be on the same device, but got ", name, " is on ", argument.device(),
                   ", different from other tensors on ", first.device(), " (when checking argument in method wrapper_CUDA_", kernel, ")"));
}

void check_same_device(const Tensor& a, const Tensor& b) {
  const TensorImpl *x = a.unsafe_impl(), *y = b.unsafe_impl();
  if (x && y && x->device() == y->device()) [[likely]]
    return;
  if (x && y && (goes_anywhere(*x) || goes_anywhere(*y))) return;
  const bool host_first = a.device().is_cpu();  // as in PyTorch the other device is named first
  const Device first = host_first ? b.device() : a.device(), second = host_first ? a.device() : b.device();
  check(first == second, "Expected all tensors to be on the same device, but found at least two devices, ", first, " and ", second, "!");
}

}  // namespace tenon
