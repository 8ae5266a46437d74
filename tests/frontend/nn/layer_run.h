// Runs a layer as layer_cases.inc describes it and says what came out. Compiled with Tenon by layers_test.cpp, and with LibTorch by
// scripts/golden/make_layers_golden.py, whose answers are tests/data/layers.json.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace layer_run {

using torch::Tensor;

struct Answer {
  std::string text;             // as LibTorch's C++ prints the layer
  uint64_t values = 0;          // a hash of the bits of all parameters, as drawn
  std::vector<double> results;  // of each output, then of each gradient: its numel and its products with two waves
};

inline uint64_t hash_of(const std::vector<Tensor>& parameters) {
  uint64_t hash = 14695981039346656037u;
  for (const Tensor& parameter : parameters) {
    const Tensor values = parameter.detach().contiguous();
    const auto* bytes = static_cast<const unsigned char*>(values.data_ptr());
    for (int64_t i = 0; i < values.numel() * 4; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  }
  return hash;
}

inline Tensor wave(const Tensor& x, double step) { return (torch::arange(x.numel(), torch::kDouble) * step + 1).cos(); }
inline void note(std::vector<double>& results, const Tensor& x) {
  const Tensor flat = x.detach().to(torch::kDouble).reshape({-1});
  results.push_back(static_cast<double>(x.numel()));
  for (const double step : {1.0, 1.7}) results.push_back((flat * wave(x, step)).sum().item<double>());
}

inline void add(std::vector<Tensor>& outputs, const Tensor& x) { outputs.push_back(x); }
template <typename... T>
void add(std::vector<Tensor>& outputs, const std::tuple<T...>& parts) {
  std::apply([&](const auto&... part) { (add(outputs, part), ...); }, parts);
}
inline void add(std::vector<Tensor>& outputs, const torch::nn::ASMoutput& result) {
  outputs.push_back(result.output);
  outputs.push_back(torch::tensor(static_cast<double>(result.loss), torch::kDouble));
}

// An input as a leaf of the graph, and as it is passed: a layer may write over it.
inline Tensor passed(std::vector<Tensor>& leaves, const Tensor& x) {
  if (!x.defined() || !x.is_floating_point()) return x;
  leaves.push_back(x.detach().clone().requires_grad_(true));
  return leaves.back() * 1.0;
}
struct Fixed {  // needs no gradient
  Tensor value;
};
inline Fixed fixed(const Tensor& x) { return {x}; }
inline Tensor passed(std::vector<Tensor>&, const Fixed& x) { return x.value; }
template <typename... T>
std::tuple<T...> passed(std::vector<Tensor>& leaves, const std::tuple<T...>& parts) {
  return std::apply([&](const auto&... part) { return std::tuple<T...>{passed(leaves, part)...}; }, parts);
}
template <typename T>
T passed(std::vector<Tensor>&, const T& other) {
  return other;
}

struct Forward {
  template <typename Holder, typename... Inputs>
  static auto call(Holder& layer, const Inputs&... inputs) {
    return layer->forward(inputs...);
  }
};
struct WithIndices {
  template <typename Holder, typename... Inputs>
  static auto call(Holder& layer, const Inputs&... inputs) {
    return layer->forward_with_indices(inputs...);
  }
};

// The rows as three sequences of 2, 4 and 1 steps, which lie sorted as 4, 2, 1.
struct Packed {
  template <typename Holder>
  static auto call(Holder& layer, const Tensor& rows) {
    const auto [output, states] = layer->forward_with_packed_input(
        torch::nn::utils::rnn::PackedSequence(rows, torch::tensor({3, 2, 1, 1}, torch::kLong), torch::tensor({1, 0, 2}, torch::kLong)));
    return std::tuple{output.data(), states};
  }
};

// Attention by its function, with given heads in the place of keys or values.
struct StaticHeads {
  template <typename Holder>
  static auto call(Holder& layer, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& static_k,
                   const Tensor& static_v, const Tensor& mask) {
    namespace F = torch::nn::functional;
    F::MultiheadAttentionForwardFuncOptions options(layer->options.embed_dim(), layer->options.num_heads(), layer->in_proj_weight,
                                                    layer->in_proj_bias, {}, {}, layer->options.add_zero_attn(), 0.0,
                                                    layer->out_proj->weight, layer->out_proj->bias);
    options.attn_mask(mask).static_k(static_k).static_v(static_v).average_attn_weights(false);
    return F::multi_head_attention_forward(query, key, value, options);
  }
};

template <typename Kind, typename Holder, typename... Inputs>
Answer run(Holder& layer, const std::tuple<Inputs...>& inputs) {
  Answer answer;
  std::ostringstream text;
  text << layer;
  answer.text = text.str();
  answer.values = hash_of(layer->parameters());
  layer->to(torch::kDouble);
  std::vector<Tensor> leaves, outputs;
  torch::manual_seed(2);
  add(outputs, std::apply([&](const auto&... input) { return Kind::call(layer, passed(leaves, input)...); }, inputs));
  Tensor total = torch::zeros({}, torch::kDouble);
  for (const Tensor& output : outputs) {
    if (output.defined()) note(answer.results, output);
    if (output.defined() && output.requires_grad()) total = total + (output.reshape({-1}) * wave(output, 0.6)).sum();
  }
  for (const Tensor& parameter : layer->parameters()) {
    if (parameter.requires_grad()) leaves.push_back(parameter);
  }
  if (total.requires_grad()) total.backward();
  for (const Tensor& leaf : leaves) {
    if (leaf.grad().defined()) note(answer.results, leaf.grad());
  }
  return answer;
}

// --- inputs of the cases, each drawn anew

inline Tensor R(torch::IntArrayRef sizes) { return torch::randn(sizes, torch::kDouble); }
inline Tensor U(torch::IntArrayRef sizes) { return torch::rand(sizes, torch::kDouble); }
inline Tensor I(int64_t end, torch::IntArrayRef sizes) { return torch::randint(end, sizes, torch::kLong); }
inline Fixed signs(torch::IntArrayRef sizes) { return {I(2, sizes).to(torch::kDouble) * 2 - 1}; }
// Places for an unpooling layer, each once in a plane.
inline Tensor indices(torch::IntArrayRef sizes, int64_t step) {
  int64_t count = 1;
  for (size_t d = 2; d < sizes.size(); ++d) count *= sizes[d];
  return (torch::arange(count, torch::kLong) * step).expand({sizes[0], sizes[1], count}).reshape(sizes);
}

// The layer with its weight drawn anew.
template <typename Holder, typename Draw>
Holder drawn(Holder layer, Draw draw) {
  draw(layer->weight);
  return layer;
}

// Calls look(python, layer) and take(python, answer) for each case, or refused(python, error).
template <typename Take, typename Look, typename Refused>
void run_cases(Take take, Look look, Refused refused) {
  namespace nn = torch::nn;
#define RUN(python, training, kind, layer, ...)               \
  try {                                                       \
    torch::manual_seed(0);                                    \
    auto module = layer;                                      \
    module->train(training);                                  \
    look(python, module);                                     \
    torch::manual_seed(1);                                    \
    take(python, run<kind>(module, std::tuple{__VA_ARGS__})); \
  } catch (const std::exception& error) {                     \
    refused(python, error);                                   \
  }
#define CASE(python, layer, ...) RUN(python, true, Forward, (layer), __VA_ARGS__)
#define EVAL_CASE(python, layer, ...) RUN(python, false, Forward, (layer), __VA_ARGS__)
#define INDICES_CASE(python, layer, ...) RUN(python, true, WithIndices, (layer), __VA_ARGS__)
#define PACKED_CASE(layer, ...) RUN("", true, Packed, (layer), __VA_ARGS__)
#define STATIC_CASE(layer, ...) RUN("", true, StaticHeads, (layer), __VA_ARGS__)
#include "layer_cases.inc"
}

}  // namespace layer_run
