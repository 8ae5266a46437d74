// Weights of modules from and to files; rows of tensors.
#include "tenon/checkpoint.h"

#include "frontend/src/tensor/text.h"
#include "tenon/rows.h"

namespace tenon {

namespace io {

NamedTensors::NamedTensors(const OrderedDict<std::string, Tensor>& tensors) {
  for (const auto& item : tensors) insert(item.key(), item.value());
}
NamedTensors::operator OrderedDict<std::string, Tensor>() const {
  OrderedDict<std::string, Tensor> result("Entry");
  for (const auto& [name, tensor] : items_) result.insert(name, tensor);
  return result;
}

void load_safetensors(const std::string& path, nn::Module& module, Metadata* metadata) {
  module.load_state_dict(load_safetensors(path, metadata));
}

}  // namespace io

void save(const nn::Module& module, const std::string& path) { io::save_safetensors(path, module); }
void load(nn::Module& module, const std::string& path) { io::load_safetensors(path, module); }
void save(const Tensor& tensor, const std::string& path) { save(std::vector<Tensor>{tensor}, path); }
void load(Tensor& tensor, const std::string& path) {
  std::vector<Tensor> tensors;
  load(tensors, path);
  check(tensors.size() == 1, path, ": expected one tensor, but got ", tensors.size());
  tensor = tensors[0];
}

void save(const std::vector<Tensor>& tensors, const std::string& path) {
  io::NamedTensors named;
  for (size_t i = 0; i < tensors.size(); ++i) named.insert(std::to_string(i), tensors[i]);
  io::save_safetensors(path, named);
}
void load(std::vector<Tensor>& tensors, const std::string& path) {
  const io::NamedTensors named = io::load_safetensors(path);
  std::vector<Tensor> result;
  for (size_t i = 0; i < named.size(); ++i) result.push_back(named[std::to_string(i)]);
  tensors = std::move(result);
}

RowIterator begin(const Tensor& x) {
  check<TypeError>(x.dim() > 0, "iteration over a 0-d tensor");
  return {x, 0};
}
RowIterator end(const Tensor& x) { return {x, x.dim() > 0 ? x.size(0) : 0}; }

}  // namespace tenon
