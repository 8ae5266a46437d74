// Every layer against LibTorch: the cases of layer_cases.inc, whose answers scripts/golden/make_layers_golden.py has written.
#include <tenon/nn/multi_head_attention.h>
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <sstream>

#include "frontend/golden.h"

namespace torch = tenon;
#include "frontend/nn/layer_run.h"

namespace nn = tenon::nn;
using tenon::Tensor;

// The modules of LibTorch 2.15: all that its headers name by TORCH_MODULE, and three that they write out.
// clang-format off
#define EVERY_MODULE(X)                                                                                                           \
  X(AdaptiveAvgPool1d) X(AdaptiveAvgPool2d) X(AdaptiveAvgPool3d) X(AdaptiveLogSoftmaxWithLoss) X(AdaptiveMaxPool1d)               \
  X(AdaptiveMaxPool2d) X(AdaptiveMaxPool3d) X(AlphaDropout) X(AvgPool1d) X(AvgPool2d) X(AvgPool3d) X(BCELoss)                     \
  X(BCEWithLogitsLoss) X(BatchNorm1d) X(BatchNorm2d) X(BatchNorm3d) X(Bilinear) X(CELU) X(CTCLoss) X(ConstantPad1d)               \
  X(ConstantPad2d) X(ConstantPad3d) X(Conv1d) X(Conv2d) X(Conv3d) X(ConvTranspose1d) X(ConvTranspose2d) X(ConvTranspose3d)        \
  X(CosineEmbeddingLoss) X(CosineSimilarity) X(CrossEntropyLoss) X(CrossMapLRN2d) X(Dropout) X(Dropout2d) X(Dropout3d) X(ELU)     \
  X(Embedding) X(EmbeddingBag) X(FeatureAlphaDropout) X(Flatten) X(Fold) X(FractionalMaxPool2d) X(FractionalMaxPool3d)            \
  X(Functional) X(GELU) X(GLU) X(GRU) X(GRUCell) X(GroupNorm) X(Hardshrink) X(Hardtanh) X(HingeEmbeddingLoss) X(HuberLoss)        \
  X(Identity) X(InstanceNorm1d) X(InstanceNorm2d) X(InstanceNorm3d) X(KLDivLoss) X(L1Loss) X(LPPool1d) X(LPPool2d) X(LPPool3d)    \
  X(LSTM) X(LSTMCell) X(LayerNorm) X(LeakyReLU) X(Linear) X(LocalResponseNorm) X(LogSigmoid) X(LogSoftmax) X(MSELoss)             \
  X(MarginRankingLoss) X(MaxPool1d) X(MaxPool2d) X(MaxPool3d) X(MaxUnpool1d) X(MaxUnpool2d) X(MaxUnpool3d) X(Mish)                \
  X(ModuleDict) X(ModuleList) X(MultiLabelMarginLoss) X(MultiLabelSoftMarginLoss) X(MultiMarginLoss) X(MultiheadAttention)        \
  X(NLLLoss) X(PReLU) X(PairwiseDistance) X(ParameterDict) X(ParameterList) X(PixelShuffle) X(PixelUnshuffle) X(PoissonNLLLoss)   \
  X(RNN) X(RNNCell) X(RReLU) X(ReLU) X(ReLU6) X(ReflectionPad1d) X(ReflectionPad2d) X(ReflectionPad3d) X(ReplicationPad1d)        \
  X(ReplicationPad2d) X(ReplicationPad3d) X(SELU) X(Sequential) X(SiLU) X(Sigmoid) X(SmoothL1Loss) X(SoftMarginLoss) X(Softmax)   \
  X(Softmax2d) X(Softmin) X(Softplus) X(Softshrink) X(Softsign) X(Tanh) X(Tanhshrink) X(Threshold) X(Transformer)                 \
  X(TransformerDecoder) X(TransformerDecoderLayer) X(TransformerEncoder) X(TransformerEncoderLayer) X(TripletMarginLoss)          \
  X(TripletMarginWithDistanceLoss) X(Unflatten) X(Unfold) X(Upsample) X(ZeroPad1d) X(ZeroPad2d) X(ZeroPad3d)
// clang-format on

namespace {

template <typename T>
std::string printed(const T& value, tenon::PrintStyle style) {
  const tenon::PrintStyle before = tenon::get_print_style();
  tenon::set_print_style(style);
  std::ostringstream out;
  out << value;
  tenon::set_print_style(before);
  return out.str();
}

bool near(const std::vector<double>& got, const std::vector<double>& wanted) {
  if (got.size() != wanted.size()) return false;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(got[i] - wanted[i]) <= 1e-8 * (1 + std::abs(wanted[i])))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("golden: layers print, start and compute as LibTorch's") {
  const nlohmann::json cases = golden::load("layers.json");
  size_t next = 0;
  const auto take = [&](const std::string& python, const layer_run::Answer& got) {
    const nlohmann::json& wanted = cases.at(next - 1);
    CAPTURE(next);
    CAPTURE(python);
    REQUIRE(wanted["python"] == python);
    CHECK(got.text == wanted["text"]);
    CHECK(std::to_string(got.values) == wanted["values"]);
    const std::vector<double> results = wanted["results"];
    if (!near(got.results, results)) FAIL_CHECK("got ", nlohmann::json(got.results).dump(), ", wanted ", nlohmann::json(results).dump());
  };
  // Before each is run: Python's form, a clone, a copy by a state.
  const auto look = [&](const std::string& python, auto& layer) {
    CAPTURE(python);
    const std::string text = cases.at(next++)["python_text"];
    if (!text.empty()) CHECK(printed(layer, tenon::PrintStyle::Python) == text);
    const std::shared_ptr<nn::Module> twin = layer->clone();
    CHECK(typeid(*twin) == typeid(*layer));
    CHECK(printed(*twin, tenon::PrintStyle::Python) == printed(layer, tenon::PrintStyle::Python));
    CHECK(layer_run::hash_of(twin->parameters()) == layer_run::hash_of(layer->parameters()));
    tenon::set_print_style(tenon::PrintStyle::LibTorch);
  };
  layer_run::run_cases(take, look,
                       [](const std::string& python, const std::exception& error) { FAIL_CHECK(python, ": ", std::string(error.what())); });
  tenon::set_print_style(tenon::PrintStyle::Python);
  CHECK(next == cases.size());
}

TEST_CASE("every module of LibTorch is here, and all but containers have golden cases") {
  const std::string cases = golden::read("layers.json");
  const auto look = [&]<typename Holder>(const char* name) {
    CAPTURE(name);
    CHECK(std::is_base_of_v<nn::Module, typename Holder::ContainedType>);
    const std::string text = std::string("torch::nn::") + name;
    const bool elsewhere = text.find("Transformer") != text.npos || text.ends_with("List") || text.ends_with("Dict") ||
                           text.ends_with("Sequential") || text.ends_with("Functional");
    CHECK((elsewhere || cases.find(text + "(") != text.npos || cases.find(text + "\"") != text.npos));
  };
#define LOOK(Name) look.template operator()<nn::Name>(#Name);
  EVERY_MODULE(LOOK)
}

TEST_CASE("layers refuse what PyTorch refuses, in its words") {
  const auto refused = [](auto make) -> std::string {
    try {
      make();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      return text.substr(0, text.find("\n"));
    }
    return "";
  };
  CHECK(refused([] { nn::Dropout(1.5); }) == "dropout probability has to be between 0 and 1, but got 1.5");
  CHECK(refused([] { nn::Hardtanh(nn::HardtanhOptions().min_val(1).max_val(0)); }) == "max_val must be greater than min_val");
  CHECK(refused([] { nn::MultiMarginLoss(nn::MultiMarginLossOptions().p(3)); }) == "only p == 1 and p == 2 supported");
  CHECK(refused([] { nn::FractionalMaxPool2d(2); }) == "FractionalMaxPool2d requires specifying either an output size, or a pooling ratio");
  CHECK(refused([] { nn::FractionalMaxPool3d(nn::FractionalMaxPool3dOptions(2).output_ratio(1.5)); }) ==
        "output_ratio must be between 0 and 1 (got (1.5, 1.5, 1.5))");
  CHECK(refused([] {
          nn::AdaptiveLogSoftmaxWithLoss(4, 5, std::vector<int64_t>{3, 2});
        }) ==
        "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and "
        "n_classes-1");
  CHECK(refused([] { nn::Embedding(nn::EmbeddingOptions(3, 2).padding_idx(3)); }) == "Padding_idx must be within num_embeddings");
  CHECK(refused([] { nn::InstanceNorm2d(3)(tenon::ones({3, 3})); }) == "expected 3D or 4D input (got 2D input)");
  CHECK(refused([] { nn::RNNCell(3, 4)(tenon::ones({2, 5})); }) == "input has inconsistent input_size: got 5 expected 3");
  CHECK(refused([] {
          nn::GRUCell(3, 4)(tenon::ones({2, 3}), tenon::ones({3, 4}));
        }) == "Input batch size 2 doesn't match hidden0 batch size 3");
  CHECK(refused([] { nn::Softmax2d()(tenon::ones({2, 5})); }) == "Softmax2d requires a 3D or 4D tensor as input");
}

TEST_CASE("a convolution is told to pad with zeros as with any other mode") {
  const auto options = [] { return nn::Conv2dOptions(1, 2, 3).padding(1); };
  CHECK(options().padding_mode() == tenon::Tag::Zeros);
  nn::Conv2d plain(options()), zeros(options().padding_mode(tenon::kZeros)), mirrored(options().padding_mode(tenon::kReflect));
  {
    const tenon::NoGradGuard no_grad;
    for (const auto& layer : {zeros, mirrored}) {
      layer->weight.copy_(plain->weight);
      layer->bias.copy_(plain->bias);
    }
  }
  const tenon::Tensor x = tenon::ones({1, 1, 4, 4});
  CHECK(tenon::equal(plain(x), zeros(x)));
  CHECK_FALSE(tenon::equal(plain(x), mirrored(x)));
  std::ostringstream text;
  text << *zeros << *mirrored;
  CHECK(text.str() ==
        "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))"
        "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), padding_mode=reflect)");
}

TEST_CASE("weights of a loss are its buffers, and a clone has its own") {
  const Tensor weight = tenon::tensor({1.0f, 3.0f});
  nn::CrossEntropyLoss loss(nn::CrossEntropyLossOptions().weight(weight));
  const auto twin = std::dynamic_pointer_cast<nn::CrossEntropyLossImpl>(loss->clone());
  twin->named_buffers()["weight"].fill_(1);
  CHECK(loss->named_buffers()["weight"].equal(weight));
  const Tensor x = tenon::tensor({{0.0f, 1.0f}, {2.0f, 0.0f}}), classes = tenon::tensor({0, 1}, tenon::kLong);
  CHECK(twin->forward(x, classes).item<float>() == nn::CrossEntropyLoss()(x, classes).item<float>());
  CHECK(loss(x, classes).item<float>() != twin->forward(x, classes).item<float>());
  loss->to(tenon::kDouble);
  CHECK((loss->weight.scalar_type() == tenon::kDouble));
}

TEST_CASE("embeddings share the rows they are made of, adaptive softmax predicts") {
  const Tensor rows = tenon::arange(6, tenon::kFloat).reshape({3, 2});
  nn::Embedding embedding = nn::Embedding::from_pretrained(rows);
  CHECK(!embedding->weight.requires_grad());
  rows.fill_(7);
  CHECK(embedding(tenon::tensor({1}, tenon::kLong)).equal(tenon::full({1, 2}, 7.0f)));
  const auto twin = std::dynamic_pointer_cast<nn::EmbeddingImpl>(embedding->clone());
  rows.fill_(8);
  CHECK(twin->weight.equal(tenon::full({3, 2}, 7.0f)));
  tenon::manual_seed(3);
  nn::AdaptiveLogSoftmaxWithLoss softmax(nn::AdaptiveLogSoftmaxWithLossOptions(8, 10, {4, 8}).div_value(2));
  const Tensor x = tenon::randn({5, 8}), all = softmax->log_prob(x);
  CHECK(tenon::allclose(all.exp().sum(1), tenon::ones({5})));
  CHECK(softmax->predict(x).equal(all.argmax(1)));
  const Tensor classes = tenon::tensor({0, 9, 5, 3, 8}, tenon::kLong);
  CHECK(tenon::allclose(softmax(x, classes).output, all.gather(1, classes.unsqueeze(1)).squeeze(1)));
}

TEST_CASE("packed sequences: what is packed, refused and padded again") {
  namespace rnn = nn::utils::rnn;
  const Tensor x = tenon::arange(24, tenon::kFloat).reshape({4, 3, 2}).requires_grad_(true);
  const Tensor lengths = tenon::tensor({2, 4, 1}, tenon::kLong);
  const rnn::PackedSequence packed = rnn::pack_padded_sequence(x, lengths, false, false);
  CHECK(packed.batch_sizes().equal(tenon::tensor({3, 2, 1, 1}, tenon::kLong)));
  CHECK(packed.sorted_indices().equal(tenon::tensor({1, 0, 2}, tenon::kLong)));
  CHECK(packed.data().select(1, 0).equal(tenon::tensor({2.f, 0.f, 4.f, 8.f, 6.f, 14.f, 20.f})));
  const auto [padded, again] = rnn::pad_packed_sequence(packed, true, -1.0, 5);
  CHECK(again.equal(lengths));
  CHECK(padded.sizes() == tenon::IntArrayRef({3, 5, 2}));
  CHECK(padded.select(2, 0).equal(
      tenon::tensor({{0.f, 6.f, -1.f, -1.f, -1.f}, {2.f, 8.f, 14.f, 20.f, -1.f}, {4.f, -1.f, -1.f, -1.f, -1.f}})));
  padded.sum().backward();
  CHECK(x.grad().sum().item<float>() == 14);
  const rnn::PackedSequence sequences = rnn::pack_sequence({tenon::ones({3}), tenon::zeros({2})});
  CHECK(sequences.data().equal(tenon::tensor({1.f, 0.f, 1.f, 0.f, 1.f})));
  CHECK(!sequences.sorted_indices().defined());
  const auto refused = [&](const Tensor& of, bool sorted = true) -> std::string {
    try {
      rnn::pack_padded_sequence(x, of, false, sorted);
    } catch (const tenon::Error& error) {
      return std::string(error.what()).substr(0, 60);
    }
    return "";
  };
  CHECK(refused(lengths) == "`lengths` array must be sorted in decreasing order when `enf");
  CHECK(refused(tenon::tensor({2, 0, 1}, tenon::kLong), false) == "Length of all samples has to be greater than 0, but found an");
  CHECK(refused(tenon::tensor({2, 1}, tenon::kLong)) == "Expected `len(lengths)` to be equal to batch_size, but got 2");
  CHECK(refused(tenon::tensor({9, 1, 1}, tenon::kLong)) == "Expected sequences of at most 4 steps, but a length is 9");
  CHECK_THROWS_AS(rnn::pad_packed_sequence(packed, false, 0.0, 3), tenon::Error);
  // The layers give to a packed batch what they give to each of its sequences.
  tenon::manual_seed(5);
  nn::LSTM lstm(nn::LSTMOptions(2, 3).num_layers(2).bidirectional(true));
  lstm->flatten_parameters();
  const auto [output, states] = lstm->forward_with_packed_input(packed);
  const Tensor all = std::get<0>(rnn::pad_packed_sequence(output));
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t length = lengths[i].item<int64_t>();
    const auto [alone, last] = lstm(x.slice(0, 0, length).slice(1, i, i + 1));
    CHECK(tenon::allclose(all.slice(0, 0, length).slice(1, i, i + 1), alone));
    CHECK(tenon::allclose(std::get<0>(states).slice(1, i, i + 1), std::get<0>(last)));
    CHECK(tenon::allclose(std::get<1>(states).slice(1, i, i + 1), std::get<1>(last)));
  }
}

TEST_CASE("containers by LibTorch's ways") {
  nn::Sequential net(nn::Linear(2, 3), nn::ReLU());
  CHECK(net[1]->as<nn::ReLU>() != nullptr);
  nn::ModuleList list(nn::Linear(2, 3), nn::ReLU());
  CHECK(list[0]->as<nn::Linear>() != nullptr);
  const nn::AnyModule any(nn::Linear(2, 3));
  const nn::Linear linear = any.get<nn::Linear>();
  CHECK(linear.get() == &any.get<nn::LinearImpl>());
  CHECK_THROWS_AS(any.get<nn::ReLU>(), tenon::Error);
  nn::ModuleDict dict, other;
  other->insert("a", nn::ReLU().ptr());
  dict->update(*other);
  dict->update(std::vector<std::pair<std::string, std::shared_ptr<nn::Module>>>{{"b", nn::Linear(2, 3).ptr()}});
  CHECK(dict->keys() == std::vector<std::string>{"a", "b"});
  nn::ParameterDict parameters, more;
  more->insert("w", tenon::ones({2}));
  parameters->update(*more);
  more->get("w").data().fill_(3);
  parameters->update(*more);  // a name that is there gets the new tensor
  CHECK(parameters->get("w").equal(tenon::full({2}, 3.0f)));
  nn::ParameterList first(tenon::ones({2})), second(tenon::zeros({3}));
  *first += *second;
  CHECK(first->size() == 2);
}

TEST_CASE("LibTorch prints transformers by the names of their classes") {
  const nn::TransformerEncoderLayer layer(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(3));
  const std::string text = printed(nn::TransformerEncoder(nn::TransformerEncoderOptions(layer, 1)), tenon::PrintStyle::LibTorch);
  CHECK(text.find(
            "torch::nn::TransformerEncoderImpl(\n  (layers): torch::nn::ModuleList(\n    (0): torch::nn::TransformerEncoderLayerImpl(\n") ==
        0);
  CHECK(printed(layer, tenon::PrintStyle::Python).find("TransformerEncoderLayer(\n  (self_attn): MultiheadAttention(") == 0);
}
