// torch::nn::functional's multi_head_attention_forward: query [L, N, E], key [S, N, kdim] and value [S, N,
// vdim], projected, attended to in heads, and projected again. nn::MultiheadAttention calls it;
// <tenon/tenon.h> does not include it, <tenon/compat.h> does.
#pragma once

#include "tenon/nn/options.h"
#include "tenon/tensor.h"

namespace tenon::nn::functional {

struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight, Tensor in_proj_bias,
                                       Tensor bias_k, Tensor bias_v, bool add_zero_attn, double dropout_p, Tensor out_proj_weight,
                                       Tensor out_proj_bias)
      : embed_dim_to_check_(embed_dim_to_check),
        num_heads_(num_heads),
        in_proj_weight_(std::move(in_proj_weight)),
        in_proj_bias_(std::move(in_proj_bias)),
        bias_k_(std::move(bias_k)),
        bias_v_(std::move(bias_v)),
        add_zero_attn_(add_zero_attn),
        dropout_p_(dropout_p),
        out_proj_weight_(std::move(out_proj_weight)),
        out_proj_bias_(std::move(out_proj_bias)) {}
  TENON_ARG(int64_t, embed_dim_to_check);
  TENON_ARG(int64_t, num_heads);
  TENON_ARG(Tensor, in_proj_weight);  // [3 E, E], of query, key and value
  TENON_ARG(Tensor, in_proj_bias);    // [3 E], or undefined
  TENON_ARG(Tensor, bias_k);          // [1, 1, E], one more source, or undefined
  TENON_ARG(Tensor, bias_v);
  TENON_ARG(bool, add_zero_attn);  // and one of zeros
  TENON_ARG(double, dropout_p);
  TENON_ARG(Tensor, out_proj_weight);  // [E, E]
  TENON_ARG(Tensor, out_proj_bias);
  TENON_ARG(bool, training) = true;          // drops weights
  TENON_ARG(Tensor, key_padding_mask) = {};  // [N, S], true: left out
  TENON_ARG(bool, need_weights) = true;
  TENON_ARG(Tensor, attn_mask) = {};  // [L, S] or [N * num_heads, L, S], true: left out; of floats: added
  TENON_ARG(bool, use_separate_proj_weight) = false;
  TENON_ARG(Tensor, q_proj_weight) = {};  // [E, E], [E, kdim], [E, vdim] in the place of in_proj_weight
  TENON_ARG(Tensor, k_proj_weight) = {};
  TENON_ARG(Tensor, v_proj_weight) = {};
  TENON_ARG(Tensor, static_k) = {};  // [N * num_heads, S, E / num_heads], in the place of what is projected
  TENON_ARG(Tensor, static_v) = {};
  TENON_ARG(bool, average_attn_weights) = true;
};
// The output [L, N, E], and the attention [N, L, S], averaged over the heads unless told otherwise.
std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& options);

}  // namespace tenon::nn::functional
