// The _out functions: the operation, assigned to a tensor of the right shape.
#include "tenon/out.h"

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/inplace.h"
#include "frontend/src/tensor/text.h"
#include "tenon/indexed.h"
#include "tenon/order.h"
#include "tenon/out_forms.h"

namespace tenon {

Tensor& detail::put_out(Tensor& out, const Tensor& result, const char* name) {
  check(!GradMode::is_enabled() || (!out.requires_grad() && !result.requires_grad()), name,
        "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.");
  check(canCast(result.scalar_type(), out.scalar_type()), "result type ", result.scalar_type(),
        " can't be cast to the desired output type ", out.scalar_type());
  if (!(out.sizes() == result.sizes())) {
    if (out.numel() > 0)
      warn_user(text(
          "An output with one or more elements was resized since it had shape ", out.sizes(),
          ", which does not match the required output shape ", result.sizes(),
          ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless "
          "they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
          "elements with t.resize_(0)."));
    out.resize_(result.sizes());
  }
  return assign(out, result);
}

using detail::put_out;

#define TENON_OUT(name) \
  Tensor& name##_out(Tensor& out, const Operand& self) { return put_out(out, name(self), #name); }
TENON_UNARY_OPS(TENON_OUT)
#undef TENON_OUT
#define TENON_OUT(name)                                                      \
  Tensor& name##_out(Tensor& out, const Operand& self, const Operand& other) { \
    return put_out(out, name(self, other), #name);                           \
  }
TENON_BINARY_TENSOR_OPS(TENON_OUT)
TENON_BINARY_OPS(TENON_OUT)
TENON_OUT(matmul)
TENON_OUT(div)
TENON_OUT(pow)
TENON_OUT(mm)
TENON_OUT(mv)
TENON_OUT(bmm)
TENON_OUT(dot)
TENON_OUT(outer)
#undef TENON_OUT
#define TENON_OUT(name)                                                      \
  Tensor& name##_out(Tensor& out, const Operand& self, const Scalar& other) { \
    return put_out(out, name(self, other), #name);                           \
  }
TENON_BINARY_OPS(TENON_OUT)
TENON_OUT(pow)
#undef TENON_OUT

Tensor& add_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha) {
  const CallScope call("add_out", out, self, other, alpha);
  return put_out(out, add(self, other, alpha), "add");
}
Tensor& sub_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha) {
  const CallScope call("sub_out", out, self, other, alpha);
  return put_out(out, sub(self, other, alpha), "sub");
}
Tensor& addmm_out(Tensor& out, const Operand& self, const Operand& mat1, const Operand& mat2, const Scalar& beta,
                  const Scalar& alpha) {
  const CallScope call("addmm_out", out, self, mat1, mat2, beta, alpha);
  return put_out(out, addmm(self, mat1, mat2, beta, alpha), "addmm");
}
Tensor& clamp_out(Tensor& out, const Operand& self, const optional<Scalar>& min, const optional<Scalar>& max) {
  const CallScope call("clamp_out", out, self);
  return put_out(out, clamp(self, min, max), "clamp");
}
Tensor& where_out(Tensor& out, const Operand& condition, const Operand& self, const Operand& other) {
  const CallScope call("where_out", out, condition, self, other);
  return put_out(out, where(condition, self, other), "where");
}
Tensor& sum_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim,
                optional<ScalarType> dtype) {
  const CallScope call("sum_out", out, self);
  return put_out(out, sum(self, dim, keepdim, dtype), "sum");
}
Tensor& mean_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim,
                 optional<ScalarType> dtype) {
  const CallScope call("mean_out", out, self);
  return put_out(out, mean(self, dim, keepdim, dtype), "mean");
}
Tensor& argmax_out(Tensor& out, const Operand& self, optional<int64_t> dim, bool keepdim) {
  const CallScope call("argmax_out", out, self);
  return put_out(out, argmax(self, dim, keepdim), "argmax");
}
Tensor& argmin_out(Tensor& out, const Operand& self, optional<int64_t> dim, bool keepdim) {
  const CallScope call("argmin_out", out, self);
  return put_out(out, argmin(self, dim, keepdim), "argmin");
}
Tensor& cumsum_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype) {
  const CallScope call("cumsum_out", out, self);
  return put_out(out, cumsum(self, dim, dtype), "cumsum");
}
Tensor& cat_out(Tensor& out, TensorList tensors, int64_t dim) {
  const CallScope call("cat_out", out, tensors);
  const Tensor result = cat(tensors, dim);
  check<TypeError>(canCast(result.scalar_type(), out.scalar_type()),
                   "torch.cat(): input types can't be cast to the desired output type ", out.scalar_type());
  return put_out(out, result, "cat");
}
Tensor& stack_out(Tensor& out, TensorList tensors, int64_t dim) { return put_out(out, stack(tensors, dim), "stack"); }
Tensor& index_select_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index) {
  const CallScope call("index_select_out", out, self, index);
  return put_out(out, index_select(self, dim, index), "index_select");
}
Tensor& gather_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index) {
  const CallScope call("gather_out", out, self, index);
  return put_out(out, gather(self, dim, index), "gather");
}
Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  const CallScope call("arange_out", out, start, end, step);
  return put_out(out, arange(start, end, step, out.options()), "arange");
}
Tensor& zeros_out(Tensor& out, IntArrayRef size) { return put_out(out, zeros(size, out.options()), "zeros"); }
Tensor& ones_out(Tensor& out, IntArrayRef size) { return put_out(out, ones(size, out.options()), "ones"); }
Tensor& full_out(Tensor& out, IntArrayRef size, const Scalar& fill_value) {
  const CallScope call("full_out", out, fill_value);
  return put_out(out, full(size, fill_value, out.options()), "full");
}

}  // namespace tenon
