// Distances, gated activations, embeddings and attention.
#include <algorithm>
#include <cmath>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/index_check.h"
#include "tenon/creation.h"
#include "tenon/neural.h"
#include "tenon/random.h"

namespace tenon {
namespace {

// Distances of 16-bit floats come from products of matrices only, in PyTorch as here.
void check_wide(const char* name, const Tensor& x) {
  check<NotImplementedError>(x.itemsize() >= 4, '"', name, "\" not implemented for '", x.scalar_type(), "'");
}

}  // namespace

// --- distances

Tensor cosine_similarity(const Operand& x1, const Operand& x2, int64_t dim, double eps) {
  const CallScope call("cosine_similarity", x1, x2);
  const ScalarType type = promoted(x1, x2);
  check(isFloatingType(type), "expected common dtype to be floating point, yet common dtype is ", type);
  const Dims shape = broadcast_shape(x1.sizes(), x2.sizes());
  const Tensor a = expand(x1.to(type), ref(shape)), b = expand(x2.to(type), ref(shape));
  const auto unit = [&](const Tensor& x) { return div(x, clamp_min(norm(x, Scalar(2), dim, true), eps)); };
  return sum(mul(unit(a), unit(b)), dim);
}

Tensor pairwise_distance(const Operand& x1, const Operand& x2, double p, double eps, bool keepdim) {
  const CallScope call("pairwise_distance", x1, x2);
  const int64_t rank = std::max(x1.dim(), x2.dim());
  return norm(sub(x1, x2) + eps, Scalar(p), rank - 1, keepdim);
}

Tensor cdist(const Operand& x1, const Operand& x2, double p, optional<int64_t> compute_mode) {
  GradScope scope("CdistBackward0", x1, x2);
  check(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  check(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  check(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
        " X2: ", x2.size(-1));
  check(x1.is_floating_point(), "cdist only supports floating-point dtypes, X1 got: ", x1.scalar_type());
  check(x2.is_floating_point(), "cdist only supports floating-point dtypes, X2 got: ", x2.scalar_type());
  check(p >= 0, "cdist only supports non-negative p values");
  const int64_t mode = compute_mode.value_or(0);
  check(mode >= 0 && mode <= 2, "possible modes: 0, 1, 2, but was: ", mode);
  const bool by_product = p == 2 && (mode == 1 || (mode == 0 && std::max(x1.size(-2), x2.size(-2)) > 25));
  if (!by_product && x1.numel() > 0 && x2.numel() > 0) check_wide("cdist", x1);
  check(x1.scalar_type() == x2.scalar_type(), "expected scalar type ", x1.scalar_type(), " but found ",
        x2.scalar_type());
  if (x1.size(-1) == 0) {
    Dims shape = broadcast_shape({x1.sizes().data(), x1.sizes().size() - 2},
                                 {x2.sizes().data(), x2.sizes().size() - 2});
    for (int64_t rows : {x1.size(-2), x2.size(-2)}) shape.push_back(rows);
    return zeros(ref(shape), x1.options());
  }
  return norm(sub(unsqueeze(x1, -2), unsqueeze(x2, -3)), Scalar(p), -1);
}

Tensor pdist(const Operand& x, double p) {
  GradScope scope("PdistBackward0", x);
  check(x.dim() == 2, "pdist only supports 2D tensors, got: ", x.dim(), "D");
  check(x.is_floating_point(), "pdist only supports floating-point dtypes");
  check(p >= 0, "pdist only supports non-negative p values");
  const int64_t n = x.size(0);
  check(n < (int64_t{1} << 31), "pdist: too many rows");
  if (n < 2) return empty({0}, x.options());
  check_wide("pdist", x);
  std::vector<int64_t> above;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) above.push_back(i * n + j);
  }
  return index_select(reshape(cdist(x, x, p), {n * n}), 0, tensor(above));
}

// --- activations with operands

Tensor glu(const Operand& x, int64_t dim) {
  GradScope scope("GluBackward0", x);
  check(x.dim() > 0, "glu does not support 0-dimensional tensors");
  dim = wrap_dim(dim, x.dim());
  const int64_t size = x.size(dim);
  check(size % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ", size);
  return mul(narrow(x, dim, 0, size / 2), sigmoid(narrow(x, dim, size / 2, size / 2)));
}

Tensor prelu(const Operand& x, const Operand& weight) {
  GradScope scope("PreluKernelBackward0", x, weight);
  check(x.scalar_type() == weight.scalar_type(), "prelu: Type promoting not supported. Got ", x.scalar_type(),
        " and ", weight.scalar_type());
  check(weight.dim() <= 1,
        "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  Dims shape(static_cast<size_t>(x.dim()), 1);
  if (weight.numel() != 1) {
    check(x.dim() > 0, "Not allow zero-dim input tensor.");
    const int64_t channels = x.dim() > 1 ? x.size(1) : 1;
    check(channels == weight.numel(),
          "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
          " and channel size = ", channels, ".");
    shape[1] = channels;
  }
  return where(x > 0, x, mul(x, reshape(weight, ref(shape))));
}

// --- embedding

Tensor embedding(const Operand& weight, const Operand& indices, int64_t, bool, bool) {
  const CallScope call("embedding", weight, indices);
  GradScope scope("EmbeddingBackward0", weight);
  check(weight.dim() == 2, "'weight' must be 2-D");
  check(indices.scalar_type() == kLong || indices.scalar_type() == kInt,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
        "got torch.",
        indices.scalar_type(), "Tensor instead (while checking arguments for embedding)");
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

// --- products

Tensor bilinear(const Operand& x1, const Operand& x2, const Operand& weight, const MaybeTensor& bias) {
  const CallScope call("bilinear", x1, x2, weight, bias);
  const ScalarType type = x1.scalar_type();
  check(x2.scalar_type() == type && weight.scalar_type() == type && (!given(bias) || bias->scalar_type() == type),
        "All tensors must have the same dtype, got input1: ", x1.dtype(), ", input2: ", x2.dtype(),
        ", weight: ", weight.dtype(), given(bias) ? text(", bias: ", bias->dtype()) : "");
  check(x1.dim() == x2.dim(), "bilinear(): input dimensions do not match: got ", x1.dim(), " and ", x2.dim());
  for (int64_t d = 0; d + 1 < x1.dim(); ++d) {
    check(x1.size(d) == x2.size(d), "bilinear(): input batch dimensions do not match at dim ", d, ": got ",
          x1.size(d), " and ", x2.size(d));
  }
  check(weight.dim() == 3, "bilinear(): weight must be 3-dimensional, got ", weight.dim(), "D");
  check(x1.size(-1) == weight.size(1), "bilinear(): input1 size does not match weight size: got ",
        x1.size(-1), " but expected ", weight.size(1));
  check(x2.size(-1) == weight.size(2), "bilinear(): input2 size does not match weight size: got ",
        x2.size(-1), " but expected ", weight.size(2));
  check(!given(bias) || bias->size(0) == weight.size(0),
        "bilinear(): bias size does not match weight size: got ", given(bias) ? bias->size(0) : 0,
        " but expected ", weight.size(0));
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

Tensor scaled_dot_product_attention(const Operand& query, const Operand& key, const Operand& value,
                                    const MaybeTensor& attn_mask, double dropout_p, bool is_causal,
                                    optional<double> scale) {
  GradScope scope("ScaledDotProductAttentionBackward0", query, key, value, attn_mask);
  check(query.scalar_type() == key.scalar_type() && query.scalar_type() == value.scalar_type(),
        "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype(),
        " key.dtype: ", key.dtype(), " and value.dtype: ", value.dtype(), " instead.");
  check(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
        "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ", query.dim(),
        " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  check(!given(attn_mask) || !is_causal,
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  check(!given(attn_mask) || attn_mask->scalar_type() == kBool ||
            attn_mask->scalar_type() == query.scalar_type(),
        "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
        given(attn_mask) ? attn_mask->dtype() : TypeMeta(kFloat), " and  query.dtype: ", query.dtype(),
        " instead.");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  Tensor scores = mul(matmul(query, key.mT()), factor);
  if (is_causal) {
    const Dims shape{query.size(-2), key.size(-2)};
    const Expr row{iota_node(shape, 0)}, column{iota_node(shape, 1)};
    scores = masked_fill(scores, record((column > row).node), -kInfinity);
  } else if (given(attn_mask)) {
    scores = attn_mask->scalar_type() == kBool ? masked_fill(scores, logical_not(*attn_mask), -kInfinity)
                                               : add(scores, *attn_mask);
  }
  return matmul(dropout(softmax(scores, -1), dropout_p, true), value);
}

}  // namespace tenon
