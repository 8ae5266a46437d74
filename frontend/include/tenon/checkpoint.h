// Weights of modules from and to files.
//
//   io::load_safetensors("resnet.safetensors", *model);    // by name; errors name every key that does not fit
//   save(model, "model.safetensors");                      // LibTorch's save and load, in the safetensors format
//
// and whole trainings, which go on bit for bit where they stopped:
//
//   io::Checkpoint checkpoint("run.safetensors");
//   checkpoint.add("model", *model).add("optimizer", optimizer).add("schedule", schedule).add("epoch", epoch);
//   checkpoint.load_if_there();
//   for (; epoch < 100;) { train(); ++epoch; checkpoint.save(); }
//
// Every file is written whole or not at all: under another name in the same folder, then renamed.
#pragma once

#include <concepts>
#include <string>
#include <vector>

#include "tenon/io.h"
#include "tenon/nn/module.h"
#include "tenon/optim.h"
#include "tenon/scheduler.h"
#include "tenon/serialize.h"

namespace tenon {

namespace io {
// Parameters and buffers, named as in state_dict(); as load_state_dict, all or none are loaded.
void load_safetensors(const Input& from, nn::Module& module, Metadata* metadata = nullptr);
template <std::derived_from<nn::Module> Module>  // a module, and not what braces could become
void save_safetensors(const Output& to, const Module& module, const Metadata& metadata = {}) {
  save_safetensors(to, NamedTensors(module.state_dict()), metadata);
}

// Optimizers, schedulers, samplers, loaders, and what a program has of that kind.
template <typename T>
concept Savable = !std::derived_from<T, nn::Module> &&
                  requires(T & object, const T& constant, serialize::OutputArchive& out, serialize::InputArchive& in) {
  constant.save(out);
  object.load(in);
};

// What belongs to a training, by name; all of it must outlive the checkpoint. The state of the default generator always
// belongs to it.
class Checkpoint {
 public:
  explicit Checkpoint(std::string path);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;

  Checkpoint& add(const std::string& name, nn::Module& module);
  template <Savable T>
  Checkpoint& add(const std::string& name, T& object) {
    return add_saved(
        name, [&object](serialize::OutputArchive& archive) { object.save(archive); },
        [&object](serialize::InputArchive& archive) { object.load(archive); });
  }
  Checkpoint& add(const std::string& name, Tensor& tensor);
  Checkpoint& add(const std::string& name, int64_t& number);
  Checkpoint& add(const std::string& name, double& number);
  Checkpoint& add(const std::string& name, std::string& text);

  void save() const;
  // All of it or, after an Error that names the file and the key, nothing.
  void load();
  bool load_if_there();  // false if there is no such file
  const std::string& path() const { return path_; }

 private:
  using Save = Function<void(serialize::OutputArchive&)>;
  using Load = Function<void(serialize::InputArchive&)>;
  // save writes into an archive. load checks what an archive holds, and gives what puts it into its place.
  struct Part {
    std::string name;
    Save save;
    Function<Function<void()>(serialize::InputArchive&)> load;
  };
  Checkpoint& add(Part part);
  Checkpoint& add_saved(const std::string& name, Save save, Load load);
  template <typename T>
  Checkpoint& add_value(const std::string& name, T& value);
  std::string path_;
  std::vector<Part> parts_;
};
}  // namespace io

// A module, an optimizer, a tensor or a list of tensors as a safetensors file (not LibTorch's archive), by what they write into an archive.
// All is loaded or nothing; what a file has beyond that is passed over. What is loaded goes to the device, if one is given; else the
// tensors of a module and an optimizer stay where they are, and others are on the CPU.
void save(const nn::Module& module, const io::Output& to);
void load(nn::Module& module, const io::Input& from, optional<Device> device = nullopt);
void save(const Tensor& tensor, const io::Output& to);
void load(Tensor& tensor, const io::Input& from, optional<Device> device = nullopt);
void save(const std::vector<Tensor>& tensors, const io::Output& to);
void load(std::vector<Tensor>& tensors, const io::Input& from, optional<Device> device = nullopt);
void save(const optim::Optimizer& optimizer, const io::Output& to);
void load(optim::Optimizer& optimizer, const io::Input& from, optional<Device> device = nullopt);

// What holds a module: nn::Linear, shared_ptr<Net>.
template <typename Holder>
concept HoldsModule = requires(const Holder& holder) {
  { *holder } -> std::convertible_to<const nn::Module&>;
};
template <HoldsModule Holder>
void save(const Holder& holder, const io::Output& to) {
  save(static_cast<const nn::Module&>(*holder), to);
}
template <HoldsModule Holder>
void load(Holder& holder, const io::Input& from, optional<Device> device = nullopt) {
  load(static_cast<nn::Module&>(*holder), from, device);
}

// Loads from what io::Input takes in two parts.
template <typename Value>
void load(Value& value, const char* data, size_t size, optional<Device> device = nullopt) {
  load(value, io::Input(data, size), device);
}
template <typename Value, std::invocable<uint64_t, void*, size_t> Read, std::invocable<> Size>
void load(Value& value, const Read& read, const Size& size, optional<Device> device = nullopt) {
  load(value, io::Input(read, size), device);
}

}  // namespace tenon
