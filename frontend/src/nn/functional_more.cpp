// torch::nn::functional, second part.
#include "tenon/nn/functional_more.h"

#include <algorithm>
#include <cmath>

#include "frontend/src/nn/attention.h"
#include "frontend/src/nn/reduction.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/nn/attention.h"
#include "tenon/nn/functional.h"
#include "tenon/random.h"

namespace tenon::nn::functional {
// --- sampling

Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners) {
  check(theta.is_floating_point(), "Expected theta to have floating point type, but got ", theta.dtype());
  check(size.size() == 4 || size.size() == 5,
        "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine "
        "transforms, respectively. Got size ",
        size);
  const auto dims = std::ssize(size) - 2;
  check(theta.dim() == 3 && theta.size(-2) == dims && theta.size(-1) == dims + 1, "Expected a batch of ",
        dims, "D affine matrices of shape Nx", dims, "x", dims + 1, " for size ", size, ". Got ",
        theta.sizes(), ".");
  check(*std::min_element(size.begin(), size.end()) > 0, "Expected non-zero, positive output size. Got ",
        size);
  return affine_grid_generator(theta, size, align_corners);
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& o) {
  const Tag mode = o.mode().tag(), padding = o.padding_mode().tag();
  return grid_sampler(input, grid,
                      mode == Tag::Bilinear  ? 0
                      : mode == Tag::Nearest ? 1
                                             : 2,
                      padding == Tag::Zeros    ? 0
                      : padding == Tag::Border ? 1
                                               : 2,
                      o.align_corners().value_or(false));
}

// --- embedding

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& o) {
  const Tensor& per_sample = o.per_sample_weights();
  check(!per_sample.defined() || input.sizes() == per_sample.sizes(),
        "embedding_bag: If per_sample_weights (", per_sample.defined() ? per_sample.sizes() : IntArrayRef(),
        ") is not null, then it must have the same shape as the input (", input.sizes(), ")");
  check(input.dim() == 1 || input.dim() == 2, "input has to be 1D or 2D Tensor, but got Tensor of dimension ",
        input.dim());
  Tensor offsets = o.offsets(), weights = per_sample;
  if (input.dim() == 2) {
    check(!offsets.defined(),
          "If input is 2D, then offsets has to be null, as input is treated is a mini-batch of fixed "
          "length sequences. However, found offsets of type Tensor");
  } else {
    check(offsets.defined(), "offsets has to be a 1D Tensor but got null");
    check(offsets.dim() == 1, "offsets has to be a 1D Tensor");
  }
  const Tag mode = o.mode().tag();
  if (mode == Tag::Max) {
    check(!o.scale_grad_by_freq(), "max mode does not support scaling the gradient by the frequency");
    check(!o.sparse(), "max mode does not support sparse weights");
  }
  if (o.max_norm()) {
    Tensor table = weight;
    embedding_renorm_(table, input, *o.max_norm(), o.norm_type());
  }
  check(!per_sample.defined() || mode == Tag::Sum,
        "embedding_bag: per_sample_weights was not null. per_sample_weights is only supported for "
        "mode='kSum' (got mode='",
        mode == Tag::Mean ? "kMean" : "kMax", "').Please open a feature request on GitHub.");
  if (input.dim() == 2 && !o.padding_idx() &&
      input.size(1) > 0) {  // bags of one size: a reduction, not a scatter
    const Tensor rows = tenon::embedding(weight, input, -1, o.scale_grad_by_freq(), o.sparse());
    if (mode == Tag::Max) return std::get<0>(max(rows, 1));
    if (mode == Tag::Mean) return mean(rows, 1);
    return sum(weights.defined() ? rows * weights.unsqueeze(-1) : rows, 1);
  }
  Tensor indices = input;
  if (input.dim() == 2) {
    offsets = arange(input.size(0), input.options().dtype(kLong)) * input.size(1);
    indices = reshape(input, {-1});
    if (weights.defined()) weights = reshape(weights, {-1});
  }
  return std::get<0>(tenon::embedding_bag(weight, indices, offsets, o.scale_grad_by_freq(),
                                          mode == Tag::Sum    ? 0
                                          : mode == Tag::Mean ? 1
                                                              : 2,
                                          o.sparse(), weights, o.include_last_offset(), o.padding_idx()));
}

// --- pooling

namespace {

struct FractionalPlan {
  std::vector<int64_t> output;
  Tensor samples;
};

// The output's size and the samples, computed or drawn where they are not given.
template <size_t D>
FractionalPlan fractional_plan(const Tensor& x, const FractionalMaxPoolOptions<D>& o) {
  const int64_t dims = D;
  check(o.output_size() || o.output_ratio(), "fractional_max_pool", D,
        "d requires specifying either an output_size or an "
        "output_ratio");
  check(x.dim() == dims + 1 || x.dim() == dims + 2, "fractional_max_pool", D, "d(): Expected ", D + 1,
        "D or ", D + 2, "D tensor, but got: ", x.sizes());
  FractionalPlan plan;
  for (size_t d = 0; d < D; ++d) {
    if (o.output_size()) {
      plan.output.push_back((*o.output_size())[d]);
      continue;
    }
    const double size = static_cast<double>(x.size(static_cast<int64_t>(d) - dims));
    plan.output.push_back(static_cast<int64_t>(size * (*o.output_ratio())[d]));
  }
  const int64_t batch = x.dim() == dims + 1 ? 1 : x.size(0);
  plan.samples = o._random_samples().defined()
                     ? o._random_samples()
                     : rand({batch, x.size(-dims - 1), dims}, x.options().requires_grad(false));
  return plan;
}

}  // namespace

#define TENON_DEFINE(D)                                                                            \
  std::tuple<Tensor, Tensor> fractional_max_pool##D##d_with_indices(                               \
      const Tensor& x, const FractionalMaxPool##D##dFuncOptions& o) {                              \
    const FractionalPlan plan = fractional_plan<D>(x, o);                                          \
    return tenon::fractional_max_pool##D##d(x, o.kernel_size(), plan.output, plan.samples);        \
  }                                                                                                \
  Tensor fractional_max_pool##D##d(const Tensor& x, const FractionalMaxPool##D##dFuncOptions& o) { \
    return std::get<0>(fractional_max_pool##D##d_with_indices(x, o));                              \
  }
TENON_DEFINE(2)
TENON_DEFINE(3)
#undef TENON_DEFINE

// --- randomised activations

Tensor rrelu(Tensor x, const RReLUFuncOptions& o) {
  return o.inplace() ? tenon::rrelu_(x, o.lower(), o.upper(), o.training())
                     : tenon::rrelu(x, o.lower(), o.upper(), o.training());
}

Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& o) {
  const Tensor gumbels = -log(empty_like(logits).exponential_());
  const Tensor soft = tenon::softmax((logits + gumbels) / o.tau(), o.dim());
  if (!o.hard()) return soft;
  const Tensor index = std::get<1>(max(soft, o.dim(), true));
  const Tensor hard = zeros_like(logits).scatter_(o.dim(), index, Scalar(1.0));
  return hard - soft.detach() + soft;
}

// --- attention

namespace {

// A mask of bytes means what one of bools does.
Tensor as_mask(const Tensor& mask, const char* name) {
  if (!mask.defined() || mask.scalar_type() != kByte) return mask;
  warn_user(text("Byte tensor for `", name,
                 "` in `nn.MultiheadAttention` is deprecated. Use bool tensor instead."));
  return mask.to(kBool);
}

// The masks of a layer as one for scaled_dot_product_attention: theirs are true where nothing takes part.
// Nothing if there is none.
MaybeTensor joined_mask(const Tensor& mask, const Tensor& padding) {
  if (!padding.defined())
    return !mask.defined() ? MaybeTensor() : mask.scalar_type() == kBool ? logical_not(mask) : mask;
  if (mask.defined() && mask.scalar_type() != kBool) return where(padding, -HUGE_VAL, mask);
  return logical_not(mask.defined() ? logical_or(mask, padding) : padding);
}

// What takes the place of a projected key or value, as heads.
Tensor given_heads(const Tensor& x, const char* name, int64_t batch, int64_t heads, int64_t depth) {
  check(x.dim() == 3 && x.size(0) == batch * heads && x.size(2) == depth, "expecting ", name, " of sizes [",
        batch * heads, ", sources, ", depth, "], but got ", x.sizes());
  return x.reshape({batch, heads, x.size(1), depth});
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key,
                                                        const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& o) {
  const CallScope call("multi_head_attention_forward", query, key, value);
  check(query.dim() == 3 && key.dim() == 3 && value.dim() == 3,
        "MultiheadAttention: query, key and value are [length, batch, features]");
  const int64_t size = query.size(2), heads = o.num_heads(), separate = o.use_separate_proj_weight();
  check(size == o.embed_dim_to_check(), "was expecting embedding dimension of ", o.embed_dim_to_check(),
        ", but got ", size);
  check(heads > 0 && size % heads == 0, "embed_dim must be divisible by num_heads");
  if (separate)
    check(key.sizes().slice(0, 2) == value.sizes().slice(0, 2), "key's sequence and batch dims ",
          key.sizes().slice(0, 2), " do not match value's ", value.sizes().slice(0, 2));
  else
    check(key.sizes() == value.sizes(), "key shape ", key.sizes(), " does not match value shape ",
          value.sizes());
  check(o.bias_k().defined() == o.bias_v().defined(), "bias_k and bias_v are given together, or neither is");
  check(!o.bias_k().defined() || !o.static_k().defined(), "bias cannot be added to static key.");
  check(!o.bias_v().defined() || !o.static_v().defined(), "bias cannot be added to static value.");
  const int64_t length = query.size(0), batch = query.size(1), depth = size / heads;
  // [batch, heads, length, depth] of x under `parts` of the three projections from `first` on, as one
  // product. Nothing is copied, but each part is a value of its own: its gradient is that of a chunk, where a
  // view's would be written into the memory of all.
  const auto heads_of = [&](const Tensor& x, int64_t first, int64_t parts) {
    const Tensor bias =
        o.in_proj_bias().defined() ? o.in_proj_bias().narrow(0, first * size, parts * size) : Tensor();
    const Tensor weight = !separate    ? o.in_proj_weight().narrow(0, first * size, parts * size)
                          : first == 0 ? o.q_proj_weight()
                          : first == 1 ? o.k_proj_weight()
                                       : o.v_proj_weight();
    std::vector<Tensor> results = functional::linear(x, weight, bias).chunk(parts, 2);
    for (Tensor& result : results)
      result = result.contiguous().reshape({x.size(0), x.size(1), heads, depth}).permute({1, 2, 0, 3});
    return results;
  };
  const bool one_source = key.is_same(value) && !separate, packed = one_source && query.is_same(key);
  std::vector<Tensor> projected = heads_of(query, 0, packed ? 3 : 1);
  const auto append = [&](const Tensor& x, int64_t first, int64_t parts) {
    for (Tensor& part : heads_of(x, first, parts)) projected.push_back(std::move(part));
  };
  if (!packed) append(key, 1, one_source ? 2 : 1);
  if (!one_source) append(value, 2, 1);
  if (o.static_k().defined()) projected[1] = given_heads(o.static_k(), "static_k", batch, heads, depth);
  if (o.static_v().defined()) projected[2] = given_heads(o.static_v(), "static_v", batch, heads, depth);
  const auto with_added = [&](const Tensor& x, const Tensor& learned) {
    std::vector<Tensor> parts{x};
    if (learned.defined())
      parts.push_back(learned.reshape({1, heads, 1, depth}).expand({batch, heads, 1, depth}));
    if (o.add_zero_attn()) parts.push_back(zeros({batch, heads, 1, depth}, x.options()));
    return parts.size() == 1 ? x : cat(parts, 2);
  };
  const Tensor q = projected[0], k = with_added(projected[1], o.bias_k()),
               v = with_added(projected[2], o.bias_v());
  const int64_t sources = k.size(2), added = o.bias_k().defined() + o.add_zero_attn(),
                given = sources - added;
  Tensor mask = as_mask(o.attn_mask(), "attn_mask"),
         padding = as_mask(o.key_padding_mask(), "key_padding_mask");
  if (mask.defined()) {
    check(mask.dim() == 2 || mask.dim() == 3, "attn_mask's dimension ", mask.dim(), " is not supported");
    check(mask.sizes().slice(mask.dim() - 2) == IntArrayRef({length, given}) &&
              (mask.dim() == 2 || mask.size(0) == batch * heads),
          "The size of the ", mask.dim(), "D attn_mask is not correct: expected ",
          mask.dim() == 2 ? "" : text(batch * heads, " x "), length, " x ", given, ", but got ",
          mask.sizes());
    if (added) mask = constant_pad_nd(mask, {0, added});
    if (mask.dim() == 3) mask = mask.reshape({batch, heads, length, sources});
  }
  if (padding.defined()) {
    check(padding.sizes() == IntArrayRef({batch, given}), "key_padding_mask: expected ", batch, " x ", given,
          " (batch and sources), but got ", padding.sizes());
    if (added) padding = constant_pad_nd(padding, {0, added});
    padding = padding.reshape({batch, 1, 1, sources});
  }
  const auto out = [&](const Tensor& mixed) {
    return functional::linear(mixed.permute({2, 0, 1, 3}).reshape({length, batch, size}), o.out_proj_weight(),
                              o.out_proj_bias());
  };
  const bool drops = o.training() && o.dropout_p() > 0;
  const bool mask_adds = mask.defined() && mask.scalar_type() != kBool;
  const bool masks_fit = (!mask_adds || mask.scalar_type() == query.scalar_type()) &&
                         (!padding.defined() || padding.scalar_type() == kBool);
  const bool at_once = !drops && masks_fit && attends_at_once(q, k, v);
  Tensor mixed;
  if (at_once) mixed = out(scaled_dot_product_attention(q, k, v, joined_mask(mask, padding)));
  if (at_once && !o.need_weights()) return {mixed, Tensor()};
  // Weights are a value apart then: nothing computes them for a program that only looks at the result.
  Tensor scores = matmul(q * std::sqrt(1 / static_cast<double>(depth)),
                         k.transpose(2, 3));  // a half might not hold the product itself
  const double minus_infinity = -HUGE_VAL;
  if (mask.defined()) scores = mask_adds ? scores + mask : scores.masked_fill(mask, minus_infinity);
  if (padding.defined()) scores = scores.masked_fill(padding, minus_infinity);
  const Tensor attention = tenon::dropout(tenon::softmax(scores, -1), o.dropout_p(), drops);
  if (!at_once) mixed = out(matmul(attention, v));
  if (!o.need_weights()) return {mixed, Tensor()};
  return {mixed, o.average_attn_weights() ? attention.mean({1}) : attention};
}

// --- losses

Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& o) {
  return tenon::multilabel_margin_loss(x, target, reduction_of(o));
}
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& o) {
  return tenon::ctc_loss(log_probs, targets, input_lengths, target_lengths, o.blank(), reduction_of(o),
                         o.zero_infinity());
}
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& o) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return o.distance_function() ? (*o.distance_function())(a, b) : functional::pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (o.swap()) far = min(far, distance(positive, negative));
  const Tensor loss = clamp_min(near - far + o.margin(), 0);
  const int64_t reduction = reduction_of(o);
  return reduction == Reduction::Mean ? mean(loss) : reduction == Reduction::Sum ? sum(loss) : loss;
}

}  // namespace tenon::nn::functional
