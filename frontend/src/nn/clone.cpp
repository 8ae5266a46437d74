// Clones of the layers: a layer of the same options, which takes the values over.
#include <typeindex>
#include <unordered_map>

#include "frontend/src/nn/module_text.h"
#include "frontend/src/tensor/text.h"
#include "tenon/nn/adaptive.h"
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
  if constexpr (requires { Impl(layer.options); }) return std::make_shared<Impl>(layer.options);
  else  // without tensors
    return std::make_shared<Impl>(layer);
}
template <typename Impl>
void take_options(Module& layer, const Module& like) {
  if constexpr (requires(Impl & x) { x.options = x.options; }) static_cast<Impl&>(layer).options = static_cast<const Impl&>(like).options;
}

const Layer* layer_of(const Module& module) {
  static const auto* const layers = new std::unordered_map<std::type_index, Layer>{
#define TENON_OWN(Name) {typeid(Name##Impl), {make<Name##Impl>, take_options<Name##Impl>}},
#include "tenon/nn/layer_list.def"
  };
  const auto found = layers->find(typeid(module));
  return found == layers->end() ? nullptr : &found->second;
}

}  // namespace

std::shared_ptr<Module> Module::clone(const optional<Device>& device) const {
  const Layer* const layer = layer_of(*this);
  if (!layer) {
    throw Error(text("clone() has not been implemented for ", name(), ". Subclass torch::nn::Cloneable<", name(),
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
