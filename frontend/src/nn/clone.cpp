// Clones of the layers: a layer of the same options, which takes the values over.
#include <typeindex>
#include <unordered_map>

#include "frontend/src/nn/module_text.h"
#include "frontend/src/tensor/text.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/transformer.h"

namespace tenon::nn {
namespace {

using Make = std::shared_ptr<Module> (*)(const Module& like);

template <typename Layer>
std::shared_ptr<Module> make(const Module& like) {
  const auto& layer = static_cast<const Layer&>(like);
  if constexpr (requires { Layer(layer.options); })
    return std::make_shared<Layer>(layer.options);
  else  // without tensors
    return std::make_shared<Layer>(layer);
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

const std::unordered_map<std::type_index, Make>& makers() {
  static const auto* const makers = new std::unordered_map<std::type_index, Make>{
#define TENON_MAKER(Name) {typeid(Name##Impl), make<Name##Impl>},
      TENON_LAYERS(TENON_MAKER)
#undef TENON_MAKER
  };
  return *makers;
}

}  // namespace

std::shared_ptr<Module> Module::clone(const optional<Device>& device) const {
  const auto found = makers().find(typeid(*this));
  if (found == makers().end()) {
    const std::string name = class_name(typeid(*this));
    throw Error(text("clone() has not been implemented for ", name, ". Subclass torch::nn::Cloneable<", name,
                     "> instead of torch::nn::Module to inherit the ability to clone."));
  }
  std::shared_ptr<Module> copy = found->second(*this);
  copy->take_values(*this, device);
  return copy;
}

}  // namespace tenon::nn
