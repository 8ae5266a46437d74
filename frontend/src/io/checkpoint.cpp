// Weights of modules from and to files; rows of tensors.
#include "tenon/checkpoint.h"

#include <unistd.h>

#include "frontend/src/nn/state_dict.h"
#include "frontend/src/tensor/text.h"
#include "tenon/generator.h"
#include "tenon/rows.h"

namespace tenon {

namespace io {

using serialize::InputArchive;
using serialize::OutputArchive;
using Commit = Function<void()>;

NamedTensors::NamedTensors(const OrderedDict<std::string, Tensor>& tensors) {
  for (const auto& item : tensors) insert(item.key(), item.value());
}
NamedTensors::operator OrderedDict<std::string, Tensor>() const {
  OrderedDict<std::string, Tensor> result("Entry");
  for (const auto& [name, tensor] : items_) result.insert(name, tensor);
  return result;
}

void load_safetensors(const Input& from, nn::Module& module, Metadata* metadata) {
  module.load_state_dict(load_safetensors(from, metadata));
}

// --- trainings

Checkpoint::Checkpoint(std::string path) : path_(std::move(path)) {
  add(Part{"generator", [](OutputArchive& archive) { archive.write("state", get_rng_state()); },
           [](InputArchive& archive) -> Commit {
             Tensor state;
             archive.read("state", state);
             Generator trial = default_generator().clone();
             trial.set_state(state);  // throws if it is none
             return [state] { set_rng_state(state); };
           }});
}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;

Checkpoint& Checkpoint::add(Part part) {
  check<ValueError>(!part.name.empty() && part.name.find('.') == std::string::npos, "Checkpoint: '", part.name,
                    "' is no name: it is empty or has a dot");
  for (const Part& other : parts_) check<ValueError>(other.name != part.name, "Checkpoint: '", part.name, "' appears twice");
  parts_.push_back(std::move(part));
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, nn::Module& module) {
  return add(Part{name,
                  [&module](OutputArchive& archive) {
                    for (const auto& item : module.state_dict()) archive.write(item.key(), item.value());
                    archive.write("training", IValue(module.is_training()));
                  },
                  [&module](InputArchive& archive) -> Commit {
                    OrderedDict<std::string, Tensor> state;
                    for (const auto& item : module.state_dict()) {
                      Tensor found;
                      archive.read(item.key(), found);
                      check(found.sizes() == item->sizes(), archive.where(item.key()), ": has shape ", found.sizes(),
                            ", and the module's is ", item->sizes());
                      state.insert(item.key(), found);
                    }
                    IValue training;
                    archive.read("training", training);
                    return [&module, state, on = training.toBool()] {
                      module.load_state_dict(state);
                      module.train(on);
                    };
                  }});
}

// What has save and load of its own. To load is tried first, and taken back: a later part may be missing.
Checkpoint& Checkpoint::add_saved(const std::string& name, Save save, Load load) {
  return add(Part{name, save, [save, load](InputArchive& archive) -> Commit {
                    OutputArchive before;
                    save(before);
                    load(archive);
                    InputArchive back(before);
                    load(back);
                    return [load, archive]() mutable { load(archive); };
                  }});
}

Checkpoint& Checkpoint::add(const std::string& name, Tensor& tensor) {
  return add(Part{name, [&tensor](OutputArchive& archive) { archive.write("tensor", tensor); },
                  [&tensor](InputArchive& archive) -> Commit {
                    Tensor found;
                    archive.read("tensor", found);
                    return [&tensor, found] {
                      const NoGradGuard no_grad;
                      if (tensor.defined()) tensor.set_data(found.to(tensor.device()));
                      else tensor = found;
                    };
                  }});
}

namespace {
void convert(const IValue& from, int64_t& value) { value = from.toInt(); }
void convert(const IValue& from, double& value) { value = from.toDouble(); }
void convert(const IValue& from, std::string& value) { value = from.toStringRef(); }
}  // namespace

template <typename T>
Checkpoint& Checkpoint::add_value(const std::string& name, T& value) {
  return add(Part{name, [&value](OutputArchive& archive) { archive.write("value", IValue(value)); },
                  [&value](InputArchive& archive) -> Commit {
                    IValue found;
                    archive.read("value", found);
                    T converted{};
                    convert(found, converted);
                    return [&value, converted] { value = converted; };
                  }});
}
Checkpoint& Checkpoint::add(const std::string& name, int64_t& number) { return add_value(name, number); }
Checkpoint& Checkpoint::add(const std::string& name, double& number) { return add_value(name, number); }
Checkpoint& Checkpoint::add(const std::string& name, std::string& text) { return add_value(name, text); }

void Checkpoint::save() const {
  OutputArchive archive;
  for (const Part& part : parts_) {
    OutputArchive nested;
    part.save(nested);
    archive.write(part.name, nested);
  }
  archive.save_to(path_);
}

void Checkpoint::load() {
  InputArchive archive;
  archive.load_from(path_);
  std::vector<Commit> commits;
  for (const Part& part : parts_) {
    InputArchive nested;
    check(archive.try_read(part.name, nested), path_, ": this checkpoint has no '", part.name, "'");
    commits.push_back(part.load(nested));
  }
  for (const Commit& commit : commits) commit();
}

bool Checkpoint::load_if_there() {
  if (::access(path_.c_str(), F_OK) != 0) return false;
  load();
  return true;
}

}  // namespace io

void save(const optim::Optimizer& optimizer, const io::Output& to) {
  serialize::OutputArchive archive;
  archive << optimizer;
  archive.save_to(to);
}
void load(optim::Optimizer& optimizer, const io::Input& from, optional<Device> device) {
  serialize::InputArchive archive;
  archive.load_from(from, device);
  archive >> optimizer;
}

void save(const nn::Module& module, const io::Output& to) {
  serialize::OutputArchive archive;
  archive << module;
  archive.save_to(to);
}
void load(nn::Module& module, const io::Input& from, optional<Device> device) {
  serialize::InputArchive archive;
  archive.load_from(from, device);
  try {
    archive >> module;
  } catch (const Error&) {
    nn::check_state_dict(module, archive.tensors(), false);  // where it can, name all that does not fit instead of the first
    throw;
  }
  if (device) module.to(*device);
}

void save(const Tensor& tensor, const io::Output& to) { save(std::vector<Tensor>{tensor}, to); }
void load(Tensor& tensor, const io::Input& from, optional<Device> device) {
  std::vector<Tensor> tensors;
  load(tensors, from, device);
  check(tensors.size() == 1, from.name(), ": expected one tensor, but got ", tensors.size());
  tensor = tensors[0];
}

void save(const std::vector<Tensor>& tensors, const io::Output& to) {
  io::NamedTensors named;
  for (size_t i = 0; i < tensors.size(); ++i) named.insert(std::to_string(i), tensors[i]);
  io::save_safetensors(to, named);
}
void load(std::vector<Tensor>& tensors, const io::Input& from, optional<Device> device) {
  if (device) check_device(*device);
  const io::NamedTensors named = io::load_safetensors(from);
  std::vector<Tensor> result;
  for (size_t i = 0; i < named.size(); ++i) {
    const Tensor& read = named[std::to_string(i)];
    result.push_back(device ? read.to(*device) : read);
  }
  tensors = std::move(result);
}

RowIterator begin(const Tensor& x) {
  check<TypeError>(x.dim() > 0, "iteration over a 0-d tensor");
  return {x, 0};
}
RowIterator end(const Tensor& x) { return {x, x.dim() > 0 ? x.size(0) : 0}; }

}  // namespace tenon
