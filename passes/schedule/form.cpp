// The form of a kernel, a call or an attention; the extents of a product.
#include "passes/schedule/form.h"

namespace tenon::passes {

using ir::Call, ir::Op;

Form form_of(const ir::Work& work) {
  Form form;
  if (const auto* call = std::get_if<Call>(&work)) {
    if (ir::is_attention(call->op())) return form_of_attention(call->node());
    form.call = call->op();
    return form;
  }
  const auto& kernel = std::get<ir::Kernel>(work);
  form.contract_axes = static_cast<int>(ir::axes_of(kernel, ir::AxisKind::Contract).size());
  for (const ir::Instr& in : kernel.instrs) {
    if (ir::is_reduce(in.op)) ++(in.tree == ir::ReduceTree::Lanes ? form.lanes : form.columns);
    if (ir::is_scan(in.op)) ++form.scans;
    if (in.op == Op::Contract) ++form.contractions;
  }
  // Instructions that nothing needed are gone, but their axis is not: its points are walked all the same.
  if (kernel.has(ir::AxisKind::Inner) && form.lanes + form.columns == 0) form.lanes = 1;
  if (kernel.has(ir::AxisKind::Serial) && form.scans == 0) form.scans = 1;
  return form;
}

Form form_of_attention(const ir::Node& attention) {
  const ir::Dims &query = attention.inputs()[0]->shape(), &key = attention.inputs()[1]->shape(), &value = attention.inputs()[2]->shape();
  Form form;
  form.call = attention.op();
  form.attention = Form::Attention{attention.inputs()[0]->dtype(), query.back(), value.back(), query.end()[-2], key.end()[-2]};
  return form;
}

Form::Product product_of(const ir::Node& dot) {
  const auto& inputs = dot.inputs();
  Form::Product product{.dtype = dot.dtype()};
  const size_t rank = dot.shape().size();
  product.rows = dot.shape()[rank - 2];
  product.columns = dot.shape()[rank - 1];
  product.depth = inputs[0]->shape().back();
  const auto repeats = [&](const ir::Node& operand, size_t d) {
    return operand.op() == Op::Expand && operand.inputs()[0]->shape()[d] == 1;
  };
  for (size_t d = 0; d + 2 < rank; ++d) {
    (repeats(*inputs[0], d) ? product.columns : repeats(*inputs[1], d) ? product.rows : product.batch) *= dot.shape()[d];
  }
  return product;
}

}  // namespace tenon::passes
