// torch.nn modules, torch.nn.Parameter, torch.optim.
#include <sstream>

#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;
namespace nn = tenon::nn;
namespace optim = tenon::optim;

namespace {

template <typename T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// --- modules

class Layer : public Object {
 public:
  explicit Layer(nn::AnyModule module) : module_(std::move(module)) {}
  const nn::AnyModule& module() const { return module_; }
  Value call(const Call& c) override { return module_.forward(c.tensor(0)); }
  Value method(const std::string& name, const Call& c) override;
  std::string repr() const override { return printed(*module_.ptr()); }

 private:
  nn::AnyModule module_;
};

Value layer(nn::AnyModule module) { return ObjectPtr(std::make_shared<Layer>(std::move(module))); }

tenon::OrderedDict<std::string, Tensor> state_of(const Dict& d) {
  tenon::OrderedDict<std::string, Tensor> state;
  for (size_t i = 0; i < d.keys.size(); ++i)
    state.insert(d.keys[i].as<std::string>(), d.values[i].as<Tensor>());
  return state;
}

Value Layer::method(const std::string& name, const Call& c) {
  nn::Module& m = *module_.ptr();
  if (name == "parameters") return list_of(m.parameters());
  if (name == "load_state_dict") {
    m.load_state_dict(state_of(c.need(1, "state_dict").as<Dict>()));
    return None{};
  }
  if (name == "to" || name == "cuda") {
    m.to(name == "to" ? to_device(c.need(1, "device")) : tenon::Device("cuda"));
    return None{};
  }
  return Object::method(name, c);
}

class Sequence : public Layer {
 public:
  explicit Sequence(nn::Sequential modules) : Layer(nn::AnyModule(modules)), modules_(std::move(modules)) {}
  Value method(const std::string& name, const Call& c) override {
    if (name != "__getitem__") return Layer::method(name, c);
    return Value(printed(*modules_->ptr(static_cast<size_t>(c.integer(1, "index")))));
  }

 private:
  nn::Sequential modules_;
};

Value sequential(const Call& c) {
  nn::Sequential modules;
  for (size_t i = 0; i < c.positional.size(); ++i) {
    const Layer* item = c.need(i, "module").object<Layer>();
    if (!item) throw Unsupported("a Sequential of something else");
    modules->push_back(item->module());
  }
  return ObjectPtr(std::make_shared<Sequence>(std::move(modules)));
}

Value conv2d(const Call& c) {
  nn::Conv2dOptions o(c.integer(0, "in_channels"), c.integer(1, "out_channels"), c.ints(2, "kernel_size"));
  o.stride(c.ints(3, "stride", {1}))
      .padding(c.ints(4, "padding", {0}))
      .groups(c.integer(Call::kNamed, "groups", 1));
  return layer(nn::Conv2d(o));
}

void add_layers(Table& t) {
  t["nn.Linear"] = [](const Call& c) {
    return layer(nn::Linear(nn::LinearOptions(c.integer(0, "in_features"), c.integer(1, "out_features"))
                                .bias(c.flag(2, "bias", true))));
  };
  t["nn.Conv2d"] = conv2d;
  t["nn.MaxPool2d"] = [](const Call& c) {
    const Ints size = c.ints(0, "kernel_size");
    return layer(nn::MaxPool2d(nn::MaxPool2dOptions(size).stride(c.ints(1, "stride", size))));
  };
  t["nn.BatchNorm2d"] = [](const Call& c) { return layer(nn::BatchNorm2d(c.integer(0, "num_features"))); };
  t["nn.ReLU"] = [](const Call&) { return layer(nn::ReLU()); };
  t["nn.Flatten"] = [](const Call&) { return layer(nn::Flatten()); };
  t["nn.Identity"] = [](const Call&) { return layer(nn::Identity()); };
  t["nn.Sequential"] = sequential;
}

// --- parameters: in C++ a tensor that requires grad

class Parameter : public Object {
 public:
  explicit Parameter(Tensor x) : x_(std::move(x)) {}
  const Tensor* tensor() const override { return &x_; }
  Value method(const std::string& name, const Call& c) override {
    Call on_tensor = c;
    on_tensor.positional[0] = x_;
    c.used_positions.insert(0);
    return call_function("Tensor." + name, on_tensor);
  }
  std::string repr() const override { return tenon::parameter_repr(x_); }

 private:
  Tensor x_;
};

// --- optimizers

class Optimizer : public Object {
 public:
  explicit Optimizer(std::unique_ptr<optim::Optimizer> o) : optimizer_(std::move(o)) {}
  Value method(const std::string& name, const Call& c) override {
    if (name != "step") return Object::method(name, c);
    optimizer_->step();
    return None{};
  }
  std::string repr() const override { return printed(*optimizer_); }

 private:
  std::unique_ptr<optim::Optimizer> optimizer_;
};

std::vector<Tensor> parameters_of(const Call& c) {
  std::vector<Tensor> parameters;
  for (const Value& p : c.need(0, "params").as<List>().items) parameters.push_back(tensor_of(p));
  return parameters;
}

template <typename O, typename Options>
Value optimizer(const Call& c, const Options& options) {
  return ObjectPtr(std::make_shared<Optimizer>(std::make_unique<O>(parameters_of(c), options)));
}

// What Adam and AdamW have in common.
template <typename Options>
Options adam_options(const Call& c) {
  Options o(c.real(Call::kNamed, "lr", 1e-3));
  if (const Value* betas = c.find(Call::kNamed, "betas")) {
    const std::vector<Value>& b = betas->as<List>().items;
    o.betas({to_scalar(b.at(0)).toDouble(), to_scalar(b.at(1)).toDouble()});
  }
  return o.eps(c.real(Call::kNamed, "eps", o.eps()))
      .weight_decay(c.real(Call::kNamed, "weight_decay", o.weight_decay()))
      .amsgrad(c.flag(Call::kNamed, "amsgrad", false));
}

void add_optimizers(Table& t) {
  t["optim.SGD"] = [](const Call& c) {
    return optimizer<optim::SGD>(c, optim::SGDOptions(c.real(Call::kNamed, "lr", 1e-3))
                                        .momentum(c.real(Call::kNamed, "momentum", 0))
                                        .dampening(c.real(Call::kNamed, "dampening", 0))
                                        .weight_decay(c.real(Call::kNamed, "weight_decay", 0))
                                        .nesterov(c.flag(Call::kNamed, "nesterov", false)));
  };
  t["optim.Adam"] = [](const Call& c) {
    return optimizer<optim::Adam>(c, adam_options<optim::AdamOptions>(c));
  };
  t["optim.AdamW"] = [](const Call& c) {
    return optimizer<optim::AdamW>(c, adam_options<optim::AdamWOptions>(c));
  };
  t["optim.RMSprop"] = [](const Call& c) {
    return optimizer<optim::RMSprop>(c, optim::RMSpropOptions(c.real(Call::kNamed, "lr", 1e-2))
                                            .alpha(c.real(Call::kNamed, "alpha", 0.99))
                                            .eps(c.real(Call::kNamed, "eps", 1e-8))
                                            .weight_decay(c.real(Call::kNamed, "weight_decay", 0))
                                            .momentum(c.real(Call::kNamed, "momentum", 0))
                                            .centered(c.flag(Call::kNamed, "centered", false)));
  };
  t["optim.Adagrad"] = [](const Call& c) {
    return optimizer<optim::Adagrad>(
        c, optim::AdagradOptions(c.real(Call::kNamed, "lr", 1e-2))
               .lr_decay(c.real(Call::kNamed, "lr_decay", 0))
               .weight_decay(c.real(Call::kNamed, "weight_decay", 0))
               .initial_accumulator_value(c.real(Call::kNamed, "initial_accumulator_value", 0))
               .eps(c.real(Call::kNamed, "eps", 1e-10)));
  };
}

}  // namespace

void add_modules(Table& t) {
  add_layers(t);
  add_optimizers(t);
  t["nn.Parameter"] = [](const Call& c) -> Value {
    return ObjectPtr(std::make_shared<Parameter>(c.tensor(0, "data").detach().requires_grad_()));
  };
  t[".grad="] = [](const Call& c) -> Value {
    tensor_of(c.need(0, "parameter")).mutable_grad() = c.tensor(1, "grad");
    return None{};
  };
}

}  // namespace python
