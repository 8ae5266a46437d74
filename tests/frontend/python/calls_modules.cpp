// torch.nn modules and initialisation, torch.nn.Parameter, torch.optim, torch.utils.data.
#include <sstream>
#include <utility>

#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;
namespace nn = tenon::nn;
namespace optim = tenon::optim;
namespace data = tenon::data;

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
  for (size_t i = 0; i < d.keys.size(); ++i) state.insert(d.keys[i].as<std::string>(), d.values[i].as<Tensor>());
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
  o.stride(c.ints(3, "stride", {1})).padding(c.ints(4, "padding", {0})).groups(c.integer(Call::kNamed, "groups", 1));
  return layer(nn::Conv2d(o));
}

// A module that the programs only ask for its parameters.
class Parameters : public Object {
 public:
  explicit Parameters(std::shared_ptr<nn::Module> module) : module_(std::move(module)) {}
  Value method(const std::string& name, const Call& c) override {
    return name == "parameters" ? Value(list_of(module_->parameters())) : Object::method(name, c);
  }
  std::string repr() const override { return printed(*module_); }

 private:
  std::shared_ptr<nn::Module> module_;
};

// A module made from integers, its sizes.
template <typename M, size_t... i>
Value made_of(const Call& c, std::index_sequence<i...>) {
  return ObjectPtr(std::make_shared<Parameters>(M(c.integer(i, "size")...).ptr()));
}
template <typename M, size_t count>
Value of_sizes(const Call& c) {
  return made_of<M>(c, std::make_index_sequence<count>());
}

void add_more_layers(Table& t) {
  t["nn.Bilinear"] = of_sizes<nn::Bilinear, 3>;
  t["nn.Conv1d"] = of_sizes<nn::Conv1d, 3>;
  t["nn.ConvTranspose2d"] = of_sizes<nn::ConvTranspose2d, 3>;
  t["nn.Embedding"] = of_sizes<nn::Embedding, 2>;
  t["nn.LSTM"] = of_sizes<nn::LSTM, 2>;
  t["nn.GRU"] = of_sizes<nn::GRU, 2>;
  t["nn.RNN"] = of_sizes<nn::RNN, 2>;
  t["nn.MultiheadAttention"] = of_sizes<nn::MultiheadAttention, 2>;
  t["nn.PReLU"] = of_sizes<nn::PReLU, 0>;
  t["nn.LayerNorm"] = [](const Call& c) -> Value {
    return ObjectPtr(std::make_shared<Parameters>(nn::LayerNorm(nn::LayerNormOptions(c.ints(0, "shape"))).ptr()));
  };
}

void add_init(Table& t) {
  namespace init = nn::init;
  t["nn.init.uniform_"] = [](const Call& c) -> Value { return init::uniform_(c.tensor(0)); };
  t["nn.init.normal_"] = [](const Call& c) -> Value { return init::normal_(c.tensor(0)); };
  t["nn.init.trunc_normal_"] = [](const Call& c) -> Value {
    return init::trunc_normal_(c.tensor(0), c.real(1, "mean", 0), c.real(2, "std", 1), c.real(3, "a", -2), c.real(4, "b", 2));
  };
  t["nn.init.xavier_uniform_"] = [](const Call& c) -> Value { return init::xavier_uniform_(c.tensor(0)); };
  t["nn.init.xavier_normal_"] = [](const Call& c) -> Value { return init::xavier_normal_(c.tensor(0)); };
  t["nn.init.kaiming_uniform_"] = [](const Call& c) -> Value { return init::kaiming_uniform_(c.tensor(0)); };
  t["nn.init.kaiming_normal_"] = [](const Call& c) -> Value {
    init::FanModeType mode = tenon::kFanIn;
    if (c.string(Call::kNamed, "mode", "fan_in") == "fan_out") mode = tenon::kFanOut;
    init::NonlinearityType nonlinearity = tenon::kLeakyReLU;
    if (c.string(Call::kNamed, "nonlinearity", "leaky_relu") == "relu") nonlinearity = tenon::kReLU;
    return init::kaiming_normal_(c.tensor(0), 0, mode, nonlinearity);
  };
}

void add_layers(Table& t) {
  t["nn.Linear"] = [](const Call& c) {
    return layer(nn::Linear(nn::LinearOptions(c.integer(0, "in_features"), c.integer(1, "out_features")).bias(c.flag(2, "bias", true))));
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
  t["optim.Adam"] = [](const Call& c) { return optimizer<optim::Adam>(c, adam_options<optim::AdamOptions>(c)); };
  t["optim.AdamW"] = [](const Call& c) { return optimizer<optim::AdamW>(c, adam_options<optim::AdamWOptions>(c)); };
  t["optim.RMSprop"] = [](const Call& c) {
    return optimizer<optim::RMSprop>(c, optim::RMSpropOptions(c.real(Call::kNamed, "lr", 1e-2))
                                            .alpha(c.real(Call::kNamed, "alpha", 0.99))
                                            .eps(c.real(Call::kNamed, "eps", 1e-8))
                                            .weight_decay(c.real(Call::kNamed, "weight_decay", 0))
                                            .momentum(c.real(Call::kNamed, "momentum", 0))
                                            .centered(c.flag(Call::kNamed, "centered", false)));
  };
  t["optim.Adagrad"] = [](const Call& c) {
    return optimizer<optim::Adagrad>(c, optim::AdagradOptions(c.real(Call::kNamed, "lr", 1e-2))
                                            .lr_decay(c.real(Call::kNamed, "lr_decay", 0))
                                            .weight_decay(c.real(Call::kNamed, "weight_decay", 0))
                                            .initial_accumulator_value(c.real(Call::kNamed, "initial_accumulator_value", 0))
                                            .eps(c.real(Call::kNamed, "eps", 1e-10)));
  };
}

// --- data

class Loader : public Object {
 public:
  using Batches =
      data::StatelessDataLoader<data::datasets::MapDataset<data::datasets::TensorDataset, data::transforms::Stack<data::TensorExample>>,
                                data::samplers::SeededSampler>;
  explicit Loader(std::unique_ptr<Batches> batches) : batches_(std::move(batches)) {}
  std::vector<Value> items() override {
    std::vector<Value> result;
    for (auto& batch : *batches_) result.emplace_back(batch.data);
    return result;
  }

 private:
  std::unique_ptr<Batches> batches_;
};

Value data_loader(const Call& c) {
  const Tensor& rows = c.tensor(0, "dataset");
  auto set = data::datasets::TensorDataset(rows).map(data::transforms::Stack<data::TensorExample>());
  const auto batch_size = static_cast<size_t>(c.integer(1, "batch_size", 1));
  return ObjectPtr(std::make_shared<Loader>(data::make_data_loader(
      std::move(set), data::samplers::SeededSampler(static_cast<size_t>(rows.size(0)), c.flag(2, "shuffle", false)), batch_size)));
}

class Subset : public Object {
 public:
  explicit Subset(const std::vector<int64_t>& indices) {
    for (int64_t i : indices) indices_.items.emplace_back(i);
  }
  Value attribute(const std::string& name) override { return name == "indices" ? Value(indices_) : Object::attribute(name); }

 private:
  List indices_;
};

Value random_split(const Call& c) {
  const auto size = static_cast<int64_t>(c.need(0, "dataset").as<List>().items.size());
  List parts;
  for (const auto& indices : data::random_split(size, c.ints(1, "lengths")))
    parts.items.emplace_back(ObjectPtr(std::make_shared<Subset>(indices)));
  return parts;
}

}  // namespace

void add_modules(Table& t) {
  t["utils.data.DataLoader"] = data_loader;
  t["utils.data.random_split"] = random_split;
  t["builtins.list"] = [](const Call& c) -> Value {
    const Value& v = c.need(0, "iterable");
    if (!v.is<ObjectPtr>()) return v.as<List>();
    List list;
    list.items = v.as<ObjectPtr>()->items();
    return list;
  };
  add_more_layers(t);
  add_init(t);
  add_layers(t);
  add_optimizers(t);
  t["nn.Parameter"] = [](const Call& c) -> Value {
    return ObjectPtr(std::make_shared<Parameter>(c.tensor(0, "data").detach().requires_grad_()));
  };
}

}  // namespace python
