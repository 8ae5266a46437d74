// The fields of an optimizer's options and states, by name, and what follows from them: how they are saved, loaded, compared and
// inherited, and the tensors among them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "frontend/src/tensor/text.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"

namespace tenon::optim {

// Calls visit("name", a.name(), b.name(), ...) for each field of one or several objects of a type:
//   TENON_FIELDS(SGDParamState, FIELD(momentum_buffer))
#define TENON_FIELDS(Type, ...)                                     \
  template <typename Visit, typename... Objects>                    \
  void each_field(const Type*, const Visit& visit, Objects&... o) { \
    __VA_ARGS__                                                     \
  }
#define FIELD(name) visit(#name, o.name()...);

namespace fields {

using serialize::InputArchive;
using serialize::OutputArchive;

void write(OutputArchive& out, const std::string& key, const Tensor& value);
void write(OutputArchive& out, const std::string& key, const std::vector<Tensor>& values);
void write(OutputArchive& out, const std::string& key, const Betas& value);
template <typename T>
void write(OutputArchive& out, const std::string& key, const optional<T>& value) {
  out.write(key, value ? IValue(*value) : IValue());
}
template <typename T>
requires std::is_arithmetic_v<T>
void write(OutputArchive& out, const std::string& key, T value) { out.write(key, IValue(value)); }
void convert(const IValue& from, bool& value);
void convert(const IValue& from, int64_t& value);
void convert(const IValue& from, double& value);
void convert(const IValue& from, std::string& value);
void convert(const IValue& from, Betas& value);
template <typename T>
void convert(const IValue& from, optional<T>& value) {
  value = nullopt;
  if (!from.isNone()) convert(from, value.emplace());
}
void read(InputArchive& in, const std::string& key, Tensor& value);
void read(InputArchive& in, const std::string& key, std::vector<Tensor>& values);
template <typename T>
void read(InputArchive& in, const std::string& key, T& value) {
  IValue found;
  in.read(key, found);
  try {
    convert(found, value);
  } catch (const Error& e) {
    throw Error(text(in.where(key), ": ", e.msg()));
  }
}
void collect(std::vector<Tensor>& into, const Tensor& tensor);
void collect(std::vector<Tensor>& into, const std::vector<Tensor>& tensors);
template <typename T>
void collect(std::vector<Tensor>&, const T&) {}
bool same(const Tensor& a, const Tensor& b);
bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b);
template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}

template <typename T>
void save_fields(OutputArchive& archive, const T& object) {
  each_field(
      &object, [&](const char* key, const auto& value) { write(archive, key, value); }, object);
}
template <typename T>
void load_fields(InputArchive& archive, T& object) {
  const auto loaded = std::make_unique<T>(object);  // all of it or nothing
  each_field(
      &object, [&](const char* key, auto& value) { read(archive, key, value); }, *loaded);
  object = *loaded;
}
template <typename T>
bool equal(const T& a, const T& b) {
  bool result = true;
  each_field(
      &a, [&](const char*, const auto& x, const auto& y) { result = result && same(x, y); }, a, b);
  return result;
}

// `untouched`: the options as their constructor makes them.
template <typename Options>
void inherit_fields(Options& options, const OptimizerOptions& from, const Options& untouched) {
  const auto* defaults = dynamic_cast<const Options*>(&from);
  if (!defaults) return;
  each_field(
      &options,
      [](const char*, auto& value, const auto& default_value, const auto& start) {
        if (same(value, start)) value = default_value;
      },
      options, *defaults, untouched);
}
// The field `momentum`, or the first of `betas`.
template <typename Options>
double* momentum_of(Options& options) {
  if constexpr (requires { options.momentum(); }) return &options.momentum();
  else if constexpr (requires { options.betas(); }) return &std::get<0>(options.betas());
  else return nullptr;
}
template <typename T>
std::vector<Tensor> tensors_of(const T& object) {
  std::vector<Tensor> result;
  each_field(
      &object, [&](const char*, const auto& value) { collect(result, value); }, object);
  return result;
}

}  // namespace fields

// The methods of Name##Options and Name##ParamState, from their fields. `untouched`: the arguments of the constructor whose options
// nobody set.
#define TENON_OPTIMIZER_FIELDS(Name, untouched)                                                                               \
  void Name##Options::serialize(serialize::InputArchive& archive) { fields::load_fields(archive, *this); }                    \
  void Name##Options::serialize(serialize::OutputArchive& archive) const { fields::save_fields(archive, *this); }             \
  void Name##Options::inherit(const OptimizerOptions& from) { fields::inherit_fields(*this, from, Name##Options untouched); } \
  double* Name##Options::cycled_momentum() { return fields::momentum_of(*this); }                                             \
  bool operator==(const Name##Options& a, const Name##Options& b) { return fields::equal(a, b); }                             \
  void Name##ParamState::serialize(serialize::InputArchive& archive) { fields::load_fields(archive, *this); }                 \
  void Name##ParamState::serialize(serialize::OutputArchive& archive) const { fields::save_fields(archive, *this); }          \
  std::vector<Tensor> Name##ParamState::tensors() const { return fields::tensors_of(*this); }                                 \
  bool operator==(const Name##ParamState& a, const Name##ParamState& b) { return fields::equal(a, b); }

}  // namespace tenon::optim
