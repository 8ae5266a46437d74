// Attention with its projections.
#include "tenon/nn/multi_head_attention.h"

#include <cmath>

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/nn/functional.h"
#include "tenon/random.h"

namespace tenon::nn::functional {

namespace {

// A mask of bytes means what one of bools does.
Tensor as_mask(const Tensor& mask, const char* name) {
  if (!mask.defined() || mask.scalar_type() != kByte) return mask;
  warn_user(text("Byte tensor for `", name, "` in `nn.MultiheadAttention` is deprecated. Use bool tensor instead."));
  return mask.to(kBool);
}

// The masks of a layer as one for scaled_dot_product_attention: theirs are true where nothing takes part.
// Nothing if there is none.
MaybeTensor joined_mask(const Tensor& mask, const Tensor& padding) {
  if (!padding.defined()) return !mask.defined() ? MaybeTensor() : mask.scalar_type() == kBool ? logical_not(mask) : mask;
  if (mask.defined() && mask.scalar_type() != kBool) return where(padding, -HUGE_VAL, mask);
  return logical_not(mask.defined() ? logical_or(mask, padding) : padding);
}

// What takes the place of a projected key or value, as heads.
Tensor given_heads(const Tensor& x, const char* name, int64_t batch, int64_t heads, int64_t depth) {
  check(x.dim() == 3 && x.size(0) == batch * heads && x.size(2) == depth, "expecting ", name, " of sizes [", batch * heads, ", sources, ",
        depth, "], but got ", x.sizes());
  return x.reshape({batch, heads, x.size(1), depth});
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& o) {
  const CallScope call("multi_head_attention_forward", query, key, value);
  check(query.dim() == 3 && key.dim() == 3 && value.dim() == 3, "MultiheadAttention: query, key and value are [length, batch, features]");
  const int64_t size = query.size(2), heads = o.num_heads(), separate = o.use_separate_proj_weight();
  check(size == o.embed_dim_to_check(), "was expecting embedding dimension of ", o.embed_dim_to_check(), ", but got ", size);
  check(heads > 0 && size % heads == 0, "embed_dim must be divisible by num_heads");
  if (separate)
    check(key.sizes().slice(0, 2) == value.sizes().slice(0, 2), "key's sequence and batch dims ", key.sizes().slice(0, 2),
          " do not match value's ", value.sizes().slice(0, 2));
  else check(key.sizes() == value.sizes(), "key shape ", key.sizes(), " does not match value shape ", value.sizes());
  check(o.bias_k().defined() == o.bias_v().defined(), "bias_k and bias_v are given together, or neither is");
  check(!o.bias_k().defined() || !o.static_k().defined(), "bias cannot be added to static key.");
  check(!o.bias_v().defined() || !o.static_v().defined(), "bias cannot be added to static value.");
  const int64_t length = query.size(0), batch = query.size(1), depth = size / heads;
  // [batch, heads, length, depth] of x under `parts` of the three projections from `first` on, as one
  // product. Nothing is copied, but each part is a value of its own: its gradient is that of a chunk, where a
  // view's would be written into the memory of all.
  const auto heads_of = [&](const Tensor& x, int64_t first, int64_t parts) {
    const Tensor bias = o.in_proj_bias().defined() ? o.in_proj_bias().narrow(0, first * size, parts * size) : Tensor();
    const Tensor weight = !separate    ? o.in_proj_weight().narrow(0, first * size, parts * size)
                          : first == 0 ? o.q_proj_weight()
                          : first == 1 ? o.k_proj_weight()
                                       : o.v_proj_weight();
    std::vector<Tensor> results = functional::linear(x, weight, bias).chunk(parts, 2);
    for (Tensor& result : results) result = result.contiguous().reshape({x.size(0), x.size(1), heads, depth}).permute({1, 2, 0, 3});
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
    if (learned.defined()) parts.push_back(learned.reshape({1, heads, 1, depth}).expand({batch, heads, 1, depth}));
    if (o.add_zero_attn()) parts.push_back(zeros({batch, heads, 1, depth}, x.options()));
    return parts.size() == 1 ? x : cat(parts, 2);
  };
  const Tensor q = projected[0], k = with_added(projected[1], o.bias_k()), v = with_added(projected[2], o.bias_v());
  const int64_t sources = k.size(2), added = o.bias_k().defined() + o.add_zero_attn(), given = sources - added;
  Tensor mask = as_mask(o.attn_mask(), "attn_mask"), padding = as_mask(o.key_padding_mask(), "key_padding_mask");
  if (mask.defined()) {
    check(mask.dim() == 2 || mask.dim() == 3, "attn_mask's dimension ", mask.dim(), " is not supported");
    check(mask.sizes().slice(mask.dim() - 2) == IntArrayRef({length, given}) && (mask.dim() == 2 || mask.size(0) == batch * heads),
          "The size of the ", mask.dim(), "D attn_mask is not correct: expected ", mask.dim() == 2 ? "" : text(batch * heads, " x "),
          length, " x ", given, ", but got ", mask.sizes());
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
    return functional::linear(mixed.permute({2, 0, 1, 3}).reshape({length, batch, size}), o.out_proj_weight(), o.out_proj_bias());
  };
  const bool drops = o.training() && o.dropout_p() > 0;
  const bool mask_adds = mask.defined() && mask.scalar_type() != kBool;
  const bool masks_fit =
      (!mask_adds || mask.scalar_type() == query.scalar_type()) && (!padding.defined() || padding.scalar_type() == kBool);
  const bool at_once = !drops && masks_fit && q.is_floating_point();
  Tensor mixed;
  if (at_once) mixed = out(scaled_dot_product_attention(q, k, v, joined_mask(mask, padding)));
  if (at_once && !o.need_weights()) return {mixed, Tensor()};
  // Weights are a value apart then: nothing computes them for a program that only looks at the result.
  Tensor scores = matmul(q * std::sqrt(1 / static_cast<double>(depth)), k.transpose(2, 3));  // a half might not hold the product itself
  const double minus_infinity = -HUGE_VAL;
  if (mask.defined()) scores = mask_adds ? scores + mask : scores.masked_fill(mask, minus_infinity);
  if (padding.defined()) scores = scores.masked_fill(padding, minus_infinity);
  const Tensor attention = tenon::dropout(tenon::softmax(scores, -1), o.dropout_p(), drops);
  if (!at_once) mixed = out(matmul(attention, v));
  if (!o.need_weights()) return {mixed, Tensor()};
  return {mixed, o.average_attn_weights() ? attention.mean({1}) : attention};
}

}  // namespace tenon::nn::functional
