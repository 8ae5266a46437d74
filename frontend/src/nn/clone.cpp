// Clones of the layers: a layer of the same options, which takes the values over.
#include <typeindex>
#include <unordered_map>

#include "frontend/src/nn/module_text.h"
#include "frontend/src/tensor/text.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/transformer.h"

namespace tenon::nn {
namespace {

struct Layer {
  std::shared_ptr<Module> (*make)(const Module& like);
  void (*take_options)(Module& layer, const Module& like);
};

template <typename Impl>
std::shared_ptr<Module> make(const Module& like) {
  const auto& layer = static_cast<const Impl&>(like);
  if constexpr (requires { Impl(layer.options); })
    return std::make_shared<Impl>(layer.options);
  else  // without tensors
    return std::make_shared<Impl>(layer);
}
template <typename Impl>
void take_options(Module& layer, const Module& like) {
  if constexpr (requires(Impl& x) { x.options = x.options; })
    static_cast<Impl&>(layer).options = static_cast<const Impl&>(like).options;
}

#define TENON_LAYERS(X)                                                                                                \
  X(Linear) X(Bilinear) X(Identity) X(Functional) X(Flatten) X(Unflatten) X(Conv1d) X(Conv2d) X(Conv3d)                \
  X(ConvTranspose1d) X(ConvTranspose2d) X(ConvTranspose3d) X(MaxPool1d) X(MaxPool2d) X(MaxPool3d) X(AvgPool1d)         \
  X(AvgPool2d) X(AvgPool3d) X(AdaptiveAvgPool1d) X(AdaptiveAvgPool2d) X(AdaptiveAvgPool3d) X(AdaptiveMaxPool1d)        \
  X(AdaptiveMaxPool2d) X(AdaptiveMaxPool3d) X(Dropout) X(Dropout2d) X(Dropout3d) X(AlphaDropout) X(BatchNorm1d)        \
  X(BatchNorm2d) X(BatchNorm3d) X(LayerNorm) X(GroupNorm) X(Embedding) X(RNN) X(LSTM) X(GRU) X(MultiheadAttention)     \
  X(TransformerEncoderLayer) X(TransformerDecoderLayer)                                                                \
  X(CELU) X(ELU) X(GELU) X(GLU) X(Hardshrink) X(Hardsigmoid) X(Hardswish) X(Hardtanh) X(LeakyReLU) X(LogSigmoid)       \
  X(LogSoftmax) X(Mish) X(PReLU) X(ReLU) X(ReLU6) X(SELU) X(SiLU) X(Sigmoid) X(Softmax) X(Softmin) X(Softplus)         \
  X(Softshrink) X(Softsign) X(Tanh) X(Tanhshrink) X(BCELoss) X(BCEWithLogitsLoss) X(CrossEntropyLoss) X(HuberLoss)     \
  X(KLDivLoss) X(L1Loss) X(MSELoss) X(NLLLoss) X(SmoothL1Loss)

const Layer* layer_of(const Module& module) {
  static const auto* const layers = new std::unordered_map<std::type_index, Layer>{
#define TENON_LAYER(Name) {typeid(Name##Impl), {make<Name##Impl>, take_options<Name##Impl>}},
      TENON_LAYERS(TENON_LAYER)
#undef TENON_LAYER
  };
  const auto found = layers->find(typeid(module));
  return found == layers->end() ? nullptr : &found->second;
}

}  // namespace

std::shared_ptr<Module> Module::clone(const optional<Device>& device) const {
  const Layer* const layer = layer_of(*this);
  if (!layer) {
    const std::string name = class_name(typeid(*this));
    throw Error(text("clone() has not been implemented for ", name, ". Subclass torch::nn::Cloneable<", name,
                     "> instead of torch::nn::Module to inherit the ability to clone."));
  }
  std::shared_ptr<Module> copy = layer->make(*this);
  copy->take_values(*this, device);
  return copy;
}

void Module::take_clone(const Module& other, const optional<Device>& device) {
  const Layer* const layer = layer_of(*this);
  if (layer && layer == layer_of(other)) layer->take_options(*this, other);
  take_values(other, device);
}

}  // namespace tenon::nn
