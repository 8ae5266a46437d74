// Transformers and what holds gradients within bounds, against PyTorch. tests/data/transformer.json holds torch 2.15's parameters
// of three networks made with manual_seed(1), their results and gradients, and 20 losses and norms of a classifier (manual_seed(3)):
// scripts/golden/make_transformer_golden.py.
#include <doctest/doctest.h>
#include <tenon/nn/multi_head_attention.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "frontend/values.h"
#include "support/data_folder.h"

namespace tenon {
namespace {

using test::error_of;
using test::values;

const nlohmann::json& golden() {
  static const auto json = nlohmann::json::parse(std::ifstream(data_folder() + "/transformer.json"));
  return json;
}

bool close(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * (1 + std::abs(b)); }

// The sum of the absolute elements of each parameter, or of its gradient.
void check_sums(const nn::Module& module, const nlohmann::json& expected, bool gradients) {
  const auto parameters = module.named_parameters();
  REQUIRE(parameters.size() == expected.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    CAPTURE(parameters[i].key());
    CHECK(parameters[i].key() == expected[i][0].get<std::string>());
    const Tensor& parameter = parameters[i].value();
    const Tensor values = gradients ? parameter.grad() : parameter.detach();
    CHECK(close(values.to(kDouble).abs().sum().item<double>(), expected[i][1].get<double>(), gradients ? 2e-5 : 1e-6));
  }
}

struct Networks {
  Networks() {
    manual_seed(1);
    nn::TransformerEncoderLayer layer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16).dropout(0.0));
    nn::TransformerDecoderLayer decoder_layer(nn::TransformerDecoderLayerOptions(8, 2).dim_feedforward(16).dropout(0.0).activation(kGELU));
    encoder = nn::TransformerEncoder(nn::TransformerEncoderOptions(layer, 2).norm(nn::AnyModule(nn::LayerNorm(nn::LayerNormOptions({8})))));
    decoder = nn::TransformerDecoder(decoder_layer, 2);
    whole = nn::Transformer(nn::TransformerOptions(8, 2, 1, 2).dim_feedforward(12).dropout(0.0));
    src = randn({5, 3, 8});
    tgt = randn({4, 3, 8});
    padding = zeros({3, 5}, kBool);
    padding.index_put_({1, 4}, true);
  }
  std::vector<Tensor> results() const {
    const Tensor mask = nn::TransformerImpl::generate_square_subsequent_mask(4), none;
    return {encoder(src, none, padding), decoder(tgt, src, mask, none, none, padding),
            whole(src, tgt, none, mask, none, padding, none, padding)};
  }
  nn::TransformerEncoder encoder{nullptr};
  nn::TransformerDecoder decoder{nullptr};
  nn::Transformer whole{nullptr};
  Tensor src, tgt, padding;
};

}  // namespace

TEST_CASE("transformers: parameters, results and gradients are PyTorch's") {
  const Networks networks;
  const std::pair<const char*, const nn::Module*> modules[] = {
      {"encoder", networks.encoder.get()}, {"decoder", networks.decoder.get()}, {"whole", networks.whole.get()}};
  for (const auto& [name, module] : modules) check_sums(*module, golden()["parameters"][name], false);
  Tensor loss = zeros({});
  const std::vector<Tensor> results = networks.results();
  for (size_t i = 0; i < results.size(); ++i) {
    const auto got = values(results[i]);
    const auto expected = golden()["results"][i].get<std::vector<double>>();
    REQUIRE(got.size() == expected.size());
    for (size_t k = 0; k < got.size(); ++k) CHECK(close(got[k], expected[k], 1e-5));
    loss = loss + (results[i] * linspace(-1, 1, 8)).pow(2).sum();
  }
  loss.backward();
  for (const auto& [name, module] : modules) check_sums(*module, golden()["gradients"][name], true);
}

TEST_CASE("transformers: a classifier of sequences learns as PyTorch's does, its gradients clipped by three norms") {
  manual_seed(3);
  nn::Embedding embedding(20, 16);
  nn::TransformerEncoder encoder(
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(16, 4).dim_feedforward(32).dropout(0.0), 2));
  nn::Linear head(16, 2);
  std::vector<Tensor> all, matrices, vectors;
  for (const nn::Module* module :
       {static_cast<nn::Module*>(embedding.get()), static_cast<nn::Module*>(encoder.get()), static_cast<nn::Module*>(head.get())}) {
    for (const Tensor& parameter : module->parameters()) {
      all.push_back(parameter);
      (parameter.dim() > 1 ? matrices : vectors).push_back(parameter);
    }
  }
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(matrices, std::make_unique<optim::AdamWOptions>(optim::AdamWOptions(3e-3).weight_decay(0.1)));
  groups.emplace_back(vectors, std::make_unique<optim::AdamWOptions>(optim::AdamWOptions(3e-3).weight_decay(0.0)));
  optim::AdamW optimizer(groups, optim::AdamWOptions(3e-3));
  const double orders[] = {2.0, std::numeric_limits<double>::infinity(), 1.0};
  for (size_t step = 0; step < 20; ++step) {
    CAPTURE(step);
    const Tensor x = randint(0, 20, {16, 12});
    const Tensor y = (x.lt(10).sum(1) > 6).to(kLong);
    const Tensor logits = head(encoder(embedding(x.t())).mean(0));
    const Tensor loss = nn::functional::cross_entropy(logits, y, nn::functional::CrossEntropyFuncOptions().label_smoothing(0.05));
    optimizer.zero_grad();
    loss.backward();
    const double norm = nn::utils::clip_grad_norm_(all, 0.5, orders[step % 3]);
    optimizer.step();
    CHECK(close(loss.item<double>(), golden()["losses"][step].get<double>(), 1e-4));
    CHECK(close(norm, golden()["norms"][step].get<double>(), 1e-3));
  }
}

TEST_CASE("transformers: clones, containers, archives and other parts") {
  Networks networks;
  const auto before = values(networks.encoder(networks.src));
  const auto copy = std::dynamic_pointer_cast<nn::TransformerEncoderImpl>(networks.encoder->clone());
  CHECK(values(copy->forward(networks.src)) == before);
  {
    const NoGradGuard no_grad;
    for (Tensor& parameter : networks.encoder->parameters()) parameter.mul_(0.5);
  }
  CHECK(values(copy->forward(networks.src)) == before);  // its norm too is its own

  nn::Sequential net(nn::Linear(6, 8), nn::AnyModule(networks.encoder), nn::Linear(8, 1));
  CHECK(net->forward(rand({5, 3, 6})).sizes() == IntArrayRef({5, 3, 1}));

  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("tenon_transformer_" + std::to_string(::getpid()));
  save(networks.whole, file.string());
  nn::Transformer loaded(nn::TransformerOptions(8, 2, 1, 2).dim_feedforward(12).dropout(0.0));
  load(loaded, file.string());
  std::filesystem::remove(file);
  CHECK(values(loaded(networks.src, networks.tgt)) == values(networks.whole(networks.src, networks.tgt)));

  nn::TransformerEncoderLayer squared(
      nn::TransformerEncoderLayerOptions(8, 2).dropout(0.0).activation([](const Tensor& x) { return relu(x).pow(2); }));
  CHECK(squared(networks.src).isfinite().all().item<bool>());
  nn::Transformer custom(
      nn::TransformerOptions(8, 2).custom_encoder(nn::AnyModule(networks.encoder)).custom_decoder(nn::AnyModule(networks.decoder)));
  CHECK(custom(networks.src, networks.tgt).sizes() == networks.tgt.sizes());
}

// Queries are scaled before their product with the keys, which is 102,400 here.
TEST_CASE("transformers: attention of halves whose products no half holds") {
  const NoGradGuard guard;
  nn::MultiheadAttention attention(64, 1);
  attention->to(kHalf);
  for (const Tensor& p : attention->parameters()) p.zero_();
  for (int64_t part = 0; part < 3; ++part) attention->in_proj_weight.narrow(0, 64 * part, 64).copy_(eye(64, kHalf));
  attention->out_proj->weight.copy_(eye(64, kHalf));
  const Tensor x = full({3, 1, 64}, 40, kHalf);
  CHECK(equal(std::get<0>(attention(x, x, x)), x));
}

TEST_CASE("transformers: what does not fit is said at the call") {
  const nn::Transformer net(nn::TransformerOptions(8, 2, 1, 1).dim_feedforward(4));
  CHECK(error_of([&] { net(rand({5, 3, 8}), rand({4, 2, 8})); }).find("equal batch size") != std::string::npos);
  CHECK(error_of([&] { net(rand({5, 3, 6}), rand({4, 3, 6})); }).find("same feature size as d_model") != std::string::npos);
  CHECK(error_of([] { nn::TransformerEncoderLayer(9, 2); }) == "embed_dim must be divisible by num_heads");
}

TEST_CASE("attention: masks and given heads that do not fit are said at the call, masks of bytes are read") {
  namespace F = nn::functional;
  manual_seed(1);
  nn::MultiheadAttention attention(4, 2);
  const Tensor x = randn({3, 5, 4}), y = randn({6, 5, 4});
  const auto refused = [&](const Tensor& padding, const Tensor& mask) {
    return error_of([&] { attention(x, y, y, padding, true, mask); });
  };
  CHECK(refused(ones({5, 3}, kBool), {}).find("key_padding_mask: expected 5 x 6 (batch and sources), but got [5, 3]") == 0);
  CHECK(refused({}, ones({6, 3}, kBool)).find("The size of the 2D attn_mask is not correct: expected 3 x 6, but got [6, 3]") == 0);
  CHECK(refused({}, ones({5, 3, 6}, kBool)).find("The size of the 3D attn_mask is not correct: expected 10 x 3 x 6, but got [5, 3, 6]") ==
        0);
  CHECK(refused({}, ones({6}, kBool)).find("attn_mask's dimension 1 is not supported") == 0);
  const Tensor mask = ones({3, 6}).triu(2), padding = arange(30).reshape({5, 6}) % 4 == 1;
  struct Collect : WarningHandler {
    void process(const Warning& warning) override { seen.push_back(warning.msg()); }
    std::vector<std::string> seen;
  } collect;
  Tensor by_bytes;
  {
    const WarningUtils::WarningHandlerGuard guard(&collect);
    by_bytes = std::get<0>(attention(x, y, y, padding.to(kByte), true, mask.to(kByte)));
  }
  CHECK(collect.seen ==
        std::vector<std::string>{"Byte tensor for `attn_mask` in `nn.MultiheadAttention` is deprecated. Use bool tensor instead.",
                                 "Byte tensor for `key_padding_mask` in `nn.MultiheadAttention` is deprecated. Use bool tensor instead."});
  CHECK(equal(by_bytes, std::get<0>(attention(x, y, y, padding, true, mask.to(kBool)))));
  const auto options = [&] {
    return F::MultiheadAttentionForwardFuncOptions(4, 2, attention->in_proj_weight, attention->in_proj_bias, {}, {}, false, 0.0,
                                                   attention->out_proj->weight, attention->out_proj->bias);
  };
  const auto by_function = [&](const F::MultiheadAttentionForwardFuncOptions& o) {
    return error_of([&] { F::multi_head_attention_forward(x, y, y, o); });
  };
  CHECK(by_function(options().embed_dim_to_check(5)).find("was expecting embedding dimension of 5, but got 4") == 0);
  CHECK(by_function(options().num_heads(3)).find("embed_dim must be divisible by num_heads") == 0);
  CHECK(by_function(options().static_k(ones({5, 6, 2}))).find("expecting static_k of sizes [10, sources, 2], but got [5, 6, 2]") == 0);
  CHECK(by_function(options().bias_k(ones({1, 1, 4}))).find("bias_k and bias_v are given together, or neither is") == 0);
  CHECK(by_function(options().bias_k(ones({1, 1, 4})).bias_v(ones({1, 1, 4})).static_k(ones({10, 6, 2})))
            .find("bias cannot be added to static key.") == 0);
}

TEST_CASE("utils: gradients clipped, and parameters as one vector") {
  const auto parameter = [](std::vector<float> grad) {
    Tensor p = zeros({static_cast<int64_t>(grad.size())}, requires_grad());
    p.mutable_grad() = tensor(grad);
    return p;
  };
  const std::vector<Tensor> two{parameter({3, 0}), parameter({0, -4, 0})};
  const Tensor without = ones({2}, requires_grad());
  CHECK(static_cast<double>(nn::utils::clip_grad_norm_({two[0], without, two[1]}, 10.0)) == 5.0);
  CHECK(values(two[1].grad()) == test::Values{0, -4, 0});
  CHECK(nn::utils::clip_grad_norm_(two, 1.0, std::numeric_limits<double>::infinity()) == 4.0);
  CHECK(close(two[1].grad()[1].item<double>(), -1, 1e-6));
  CHECK(close(two[0].grad()[0].item<double>(), 0.75, 1e-6));
  CHECK(nn::utils::clip_grad_norm_(without, 1.0) == 0.0);
  nn::utils::clip_grad_value_(two, 0.5);
  CHECK(values(two[0].grad()) == test::Values{0.5, 0});
  CHECK(values(two[1].grad()) == test::Values{0, -0.5, 0});

  const Tensor broken = parameter({NAN, 1});
  const std::vector<Tensor> with_nan{two[0], broken};
  CHECK(error_of([&] { nn::utils::clip_grad_norm_(with_nan, 1.0, 2.0, true); }) ==
        "The total norm of order 2 for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and "
        "scale the gradients with the non-finite norm anyway, set `error_if_nonfinite=false`");
  CHECK(values(two[0].grad()) == test::Values{0.5, 0});
  CHECK(std::isnan(nn::utils::clip_grad_norm_(with_nan, 1.0)));

  nn::Linear layer(3, 2);
  const Tensor vector = nn::utils::parameters_to_vector(layer->parameters());
  CHECK(vector.sizes() == IntArrayRef({8}));
  CHECK(vector.requires_grad());
  nn::utils::vector_to_parameters(arange(9, kFloat), layer->parameters());
  CHECK(values(layer->weight) == test::Values{0, 1, 2, 3, 4, 5});
  CHECK(values(layer->bias) == test::Values{6, 7});
  CHECK(layer->weight.requires_grad());
  CHECK(error_of([&] { nn::utils::vector_to_parameters(ones({7}), layer->parameters()); }).find("expected a vector of 8 elements") !=
        std::string::npos);
  CHECK(values(layer->weight) == test::Values{0, 1, 2, 3, 4, 5});
}

TEST_CASE("utils: a step whose gradients are clipped stays one plan as long as nobody reads the norm") {
  nn::Linear layer(4, 3);
  optim::SGD sgd(layer->parameters(), 0.1);
  const Tensor x = rand({8, 4});
  const auto step = [&](bool read) {
    sgd.zero_grad();
    layer(x).pow(2).mean().backward();
    const auto norm = nn::utils::clip_grad_norm_(layer->parameters(), 0.01);
    if (read) CHECK(norm > 0);
    sgd.step();
  };
  for (const bool read : {false, true}) {
    step(read);
    step(read);
    const Counters before = counters();
    step(read);
    CHECK(counters().plans_built == before.plans_built);
    CHECK(counters().plan_hits - before.plan_hits == (read ? 2 : 1));
  }
}

}  // namespace tenon
