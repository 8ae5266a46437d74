// What every out form does with its result, and the out forms with a check of their own.
#include "frontend/src/ops/out.h"

#include "frontend/src/autograd/aliases.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "tenon/out.h"
#include "tenon/tensor.h"

namespace tenon {

Tensor& put_out(Tensor& out, const Tensor& result, const char* name) {
  check(!GradMode::is_enabled() || (!out.requires_grad() && !result.requires_grad()), name,
        "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.");
  check(canCast(result.scalar_type(), out.scalar_type()), "result type ", result.scalar_type(),
        " can't be cast to the desired output type ", out.scalar_type());
  if (!(out.sizes() == result.sizes())) {
    if (out.numel() > 0)
      warn_user(text("An output with one or more elements was resized since it had shape ", out.sizes(),
                     ", which does not match the required output shape ", result.sizes(),
                     ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless "
                     "they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
                     "elements with t.resize_(0)."));
    out.resize_(result.sizes());
  }
  return assign(out, result);
}

Tensor& cat_out(Tensor& out, TensorList tensors, int64_t dim) {
  const CallScope call("cat_out", out, tensors);
  const Tensor result = cat(tensors, dim);
  check<TypeError>(canCast(result.scalar_type(), out.scalar_type()), "torch.cat(): input types can't be cast to the desired output type ",
                   out.scalar_type());
  return put_out(out, result, "cat");
}

}  // namespace tenon
