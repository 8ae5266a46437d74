// Weights of modules from and to files.
//
//   io::load_safetensors("resnet.safetensors", *model);    // by name; errors name every key that does not fit
//   save(model, "model.safetensors");                      // LibTorch's save and load, in the safetensors format
#pragma once

#include <concepts>
#include <string>
#include <vector>

#include "tenon/io.h"
#include "tenon/nn/module.h"

namespace tenon {

namespace io {
// Parameters and buffers, named as in state_dict(); as load_state_dict, all or none are loaded.
void load_safetensors(const std::string& path, nn::Module& module, Metadata* metadata = nullptr);
template <std::derived_from<nn::Module> Module>  // a module, and not what braces could become
void save_safetensors(const std::string& path, const Module& module, const Metadata& metadata = {}) {
  save_safetensors(path, NamedTensors(module.state_dict()), metadata);
}
}  // namespace io

// A module, a tensor or a list of tensors in a safetensors file (not LibTorch's archive).
void save(const nn::Module& module, const std::string& path);
void load(nn::Module& module, const std::string& path);
void save(const Tensor& tensor, const std::string& path);
void load(Tensor& tensor, const std::string& path);
void save(const std::vector<Tensor>& tensors, const std::string& path);
void load(std::vector<Tensor>& tensors, const std::string& path);

// What holds a module: nn::Linear, shared_ptr<Net>.
template <typename Holder>
concept HoldsModule = requires(const Holder& holder) {
  { *holder } -> std::convertible_to<const nn::Module&>;
};
template <HoldsModule Holder>
void save(const Holder& holder, const std::string& path) {
  save(static_cast<const nn::Module&>(*holder), path);
}
template <HoldsModule Holder>
void load(Holder& holder, const std::string& path) {
  load(static_cast<nn::Module&>(*holder), path);
}

}  // namespace tenon
