// Linear and bilinear maps, and attention: what is made of products of matrices.
#include <cmath>

#include "frontend/src/autograd/replayed_call.h"
#include "frontend/src/neural/attention.h"
#include "frontend/src/ops/matmul.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/device_check.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "tenon/neural.h"
#include "tenon/random.h"

namespace tenon {

namespace {

// With a bias, and a weight that is a matrix.
Tensor recorded_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check_argument_device(bias, input, "mat1", "addmm");
  check_argument_device(bias, weight, "mat2", "addmm");
  const int64_t rank = input.dim();
  GradScope scope(rank == 2 ? "AddmmBackward0" : rank == 3 ? "ViewBackward0" : "AddBackward0", input, weight, bias);
  Tensor reshaped;
  if (rank != 2) reshaped = rank == 1 ? unsqueeze(input, 0) : as_rows(input);
  const Tensor& rows = rank == 2 ? input : reshaped;
  NodeRef product = product_with_transpose(rows, weight, bias);
  if (rank != 2) {
    Dims shape = dims_of(input.sizes());
    shape.back() = weight.size(0);
    product = ir::reshape(product, shape);
  }
  if (bias.dim() > 1) return add(record(std::move(product)), bias);  // its memory may decide how the result lies
  const Dims shape = broadcast_shape(ref(product->shape()), bias.sizes());
  return record(ir::binary(Op::Add, broadcast(product, ref(shape)), broadcast(node_of(bias), ref(shape))));
}

}  // namespace

Tensor linear(const Operand& input, const Operand& weight, const optional<Tensor>& bias) {
  const CallScope call("linear", input, weight, bias);
  check(weight.dim() <= 2, "linear(): weight must be at most 2-dimensional, got ", weight.dim(), "D");
  if (!given(bias)) return matmul(input, t(weight));
  const ReplayedCall replayed(ReplayedCall::When::Always, "linear", {}, input, weight, bias);
  if (replayed.can_replay()) return replayed.replay();
  if (input.dim() > 0 && weight.dim() == 2) {
    return replayed.record_and_keep([&] { return recorded_linear(input, weight, *bias); });
  }
  const char* const name = input.dim() == 2 ? "AddmmBackward0" : input.dim() == 3 ? "ViewBackward0" : "AddBackward0";
  Tensor transposed = t(weight);
  check_addmm(*bias, input, weight);
  GradScope scope(name, input, weight, bias);
  return add(matmul(input, std::move(transposed)), *bias);
}

Tensor bilinear(const Operand& x1, const Operand& x2, const Operand& weight, const MaybeTensor& bias) {
  const CallScope call("bilinear", x1, x2, weight, bias);
  const ScalarType type = x1.scalar_type();
  check(x2.scalar_type() == type && weight.scalar_type() == type && (!given(bias) || bias->scalar_type() == type),
        "All tensors must have the same dtype, got input1: ", x1.dtype(), ", input2: ", x2.dtype(), ", weight: ", weight.dtype(),
        given(bias) ? text(", bias: ", bias->dtype()) : "");
  check(x1.dim() == x2.dim(), "bilinear(): input dimensions do not match: got ", x1.dim(), " and ", x2.dim());
  for (int64_t d = 0; d + 1 < x1.dim(); ++d) {
    check(x1.size(d) == x2.size(d), "bilinear(): input batch dimensions do not match at dim ", d, ": got ", x1.size(d), " and ",
          x2.size(d));
  }
  check(weight.dim() == 3, "bilinear(): weight must be 3-dimensional, got ", weight.dim(), "D");
  check(x1.size(-1) == weight.size(1), "bilinear(): input1 size does not match weight size: got ", x1.size(-1), " but expected ",
        weight.size(1));
  check(x2.size(-1) == weight.size(2), "bilinear(): input2 size does not match weight size: got ", x2.size(-1), " but expected ",
        weight.size(2));
  check(!given(bias) || bias->size(0) == weight.size(0), "bilinear(): bias size does not match weight size: got ",
        given(bias) ? bias->size(0) : 0, " but expected ", weight.size(0));
  const int64_t outs = weight.size(0);
  Dims shape(span_of({x1.sizes().data(), x1.sizes().size() - 1}));
  const int64_t rows = checked_numel(ref(shape));
  shape.push_back(outs);
  // [rows, in1] x [in1, out * in2], then times x2 and summed over in2
  const Tensor matrix = reshape(permute(weight, {1, 0, 2}), {weight.size(1), outs * weight.size(2)});
  const Tensor half = reshape(mm(reshape(x1, {rows, weight.size(1)}), matrix), {rows, outs, weight.size(2)});
  const Tensor y = reshape(sum(mul(half, reshape(x2, {rows, 1, weight.size(2)})), -1), ref(shape));
  return given(bias) ? add(y, *bias) : y;
}

Tensor scaled_dot_product_attention(const Operand& query, const Operand& key, const Operand& value, const MaybeTensor& attn_mask,
                                    double dropout_p, bool is_causal, optional<double> scale) {
  const CallScope call("scaled_dot_product_attention", query, key, value, attn_mask);  // not the GradFn's name, which is a part's
  // PyTorch's kernel for CPUs saves all that it reads and its result; what that does not take is composed there.
  const bool matrices = query.dim() == 3 || query.dim() == 4, masked = given(attn_mask) && requires_grad(*attn_mask);
  const bool kernel = matrices && dropout_p == 0 && !masked && value.dim() == query.dim() && query.size(-1) == value.size(-1);
  GradScope scope(query.dim() == 2   ? "MmBackward0"
                  : query.dim() == 3 ? "SqueezeBackward1"
                  : kernel           ? "ScaledDotProductFlashAttentionForCpuBackward0"
                                     : "UnsafeViewBackward0",
                  query, key, value, attn_mask);
  constexpr uint32_t operands = reads_operand(0) | reads_operand(1) | reads_operand(2) | reads_operand(3);
  scope.saves(kernel ? operands | kReadsOutput : reads_operand(2));
  check(query.scalar_type() == key.scalar_type() && query.scalar_type() == value.scalar_type(),
        "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype(), " key.dtype: ", key.dtype(),
        " and value.dtype: ", value.dtype(), " instead.");
  check(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
        "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ", query.dim(), " key.dim: ", key.dim(),
        " and value.dim: ", value.dim(), " instead.");
  check(!given(attn_mask) || !is_causal, "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  check(!given(attn_mask) || attn_mask->scalar_type() == kBool || attn_mask->scalar_type() == query.scalar_type(),
        "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
        given(attn_mask) ? attn_mask->dtype() : TypeMeta(kFloat), " and  query.dtype: ", query.dtype(), " instead.");
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  if (dropout_p == 0) {
    if (Tensor mixed = attention_at_once(query, key, value, attn_mask, is_causal, factor); mixed.defined()) return mixed;
  }
  Tensor scores = mul(matmul(query, key.mT()), factor);
  if (is_causal) {
    const Dims shape{query.size(-2), key.size(-2)};
    const Expr row{iota_node(shape, 0)}, column{iota_node(shape, 1)};
    scores = masked_fill(scores, record((column > row).node), -ir::kInfinity);
  } else if (given(attn_mask)) {
    scores = attn_mask->scalar_type() == kBool ? masked_fill(scores, logical_not(*attn_mask), -ir::kInfinity) : add(scores, *attn_mask);
  }
  if (!given(attn_mask)) return matmul(dropout(softmax(scores, -1), dropout_p, true), value);
  const Tensor sees_none = all(scores == -ir::kInfinity, -1, true);
  const Tensor weights = masked_fill(softmax(masked_fill(scores, sees_none, 0), -1), sees_none, 0);
  return matmul(dropout(weights, dropout_p, true), value);
}

}  // namespace tenon
