// AnyModule, Sequential and the other containers; clones.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <sstream>

#include "frontend/values.h"

namespace tenon {
namespace {

using test::error_of;
using test::values;

struct TwoImpl : nn::Module {
  Tensor forward(Tensor a, int factor, double offset = 0.5) { return a * factor + offset; }
};
TENON_MODULE(Two);
struct PairImpl : nn::Module {
  std::tuple<Tensor, Tensor> forward(const Tensor& x) { return {x, x * 2}; }
};
TENON_MODULE(Pair);
struct JoinImpl : nn::Module {
  int forward(std::tuple<Tensor, Tensor> both) { return static_cast<int>((std::get<0>(both) + std::get<1>(both)).sum().item<double>()); }
};
TENON_MODULE(Join);

struct OwnImpl : nn::Cloneable<OwnImpl> {
  explicit OwnImpl(int64_t size_) : size(size_) { reset(); }
  void reset() override {
    fc = register_module("fc", nn::Linear(size, 2));
    scale = register_parameter("scale", ones({2}));
    mean = register_buffer("mean", zeros({2}));
  }
  Tensor forward(const Tensor& x) { return fc(x) * scale + mean; }
  int64_t size;
  nn::Linear fc{nullptr};
  Tensor scale, mean;
};

template <typename T>
std::string printed(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace

TEST_CASE("AnyModule: any signature, and LibTorch's errors") {
  nn::AnyModule two{Two()};
  CHECK(values(two.forward(ones({2}), 3)) == std::vector<double>{3.5, 3.5});
  CHECK(values(two.forward(ones({2}), 3, 1.0)) == std::vector<double>{4, 4});
  CHECK(error_of([&] { two.forward(5, 3); }) == "Expected argument #0 to be of type tenon::Tensor, but received value of type int");
  CHECK(error_of([&] {
          two.forward(ones({1}));
        }).find("TwoImpl's forward() method expects at least 2 argument(s) and at most 3 argument(s), but received 1.") !=
        std::string::npos);
  CHECK(error_of([&] { two.forward<int>(ones({1}), 3); }) == "Attempted to cast AnyValue to int, but its actual type is tenon::Tensor");
  nn::AnyModule linear(nn::Linear(2, 3));
  CHECK(error_of([&] { linear.forward(ones({2}), ones({2})); }) ==
        "tenon::nn::LinearImpl's forward() method expects 1 argument(s), but received 2.");
  CHECK(error_of([&] { linear.get<nn::ReLUImpl>(); }) ==
        "Attempted to cast module of type tenon::nn::LinearImpl to type tenon::nn::ReLUImpl");
  CHECK(linear.get<nn::LinearImpl>().options.out_features() == 3);
  nn::AnyModule empty;
  CHECK(empty.is_empty());
  CHECK(error_of([&] { empty.forward(ones({1})); }) == "Cannot call forward() on an empty AnyModule");
  CHECK(error_of([&] { empty.ptr(); }) == "Cannot call ptr() on an empty AnyModule");
  const nn::AnyModule copy = linear.clone();
  CHECK(copy.ptr() != linear.ptr());
  CHECK(equal(copy.get<nn::LinearImpl>().weight, linear.get<nn::LinearImpl>().weight));
}

namespace {
struct TextsImpl : nn::Module {
  int forward(std::string a, const std::string& b, std::string&& c) { return static_cast<int>(a.size() + b.size() + c.size()); }
};
struct InnerImpl : nn::Cloneable<InnerImpl> {
  InnerImpl() { reset(); }
  void reset() override { weight = register_parameter("weight", ones({2})); }
  Tensor weight;
  int value = 0;
};
TENON_MODULE(Inner);
struct OuterImpl : nn::Cloneable<OuterImpl> {
  OuterImpl() { reset(); }
  void reset() override {
    in = register_module("in", Inner());
    drop = register_module("drop", nn::Dropout(0.5));
  }
  Inner in{nullptr};
  nn::Dropout drop{nullptr};
};
}  // namespace

TEST_CASE("a clone's submodules have the members and options of those that were cloned") {
  OuterImpl outer;
  outer.in->value = 123;
  outer.drop->options.p(0.25);
  {
    const NoGradGuard no_grad;
    outer.in->weight.fill_(3);
  }
  const auto copy = std::dynamic_pointer_cast<OuterImpl>(outer.clone());
  CHECK(copy->in->value == 123);
  CHECK(copy->drop->options.p() == 0.25);
  CHECK(equal(copy->in->weight, full({2}, 3.f)));
  CHECK(copy->in->weight.unsafe_impl() == copy->parameters()[0].unsafe_impl());
  CHECK(copy->in->weight.unsafe_impl() != outer.in->weight.unsafe_impl());
}

TEST_CASE("arguments of an AnyModule may be passed on by an rvalue reference; an empty one names the call") {
  nn::AnyModule texts(std::make_shared<TextsImpl>());
  CHECK(texts.forward<int>(std::string("a"), std::string("bc"), std::string("def")) == 6);
  CHECK(error_of([] { nn::AnyModule().get<nn::LinearImpl>(); }) == "Cannot call get() on an empty AnyModule");
  CHECK(error_of([] { nn::AnyModule().ptr<nn::LinearImpl>(); }) == "Cannot call ptr() on an empty AnyModule");
}

TEST_CASE("Sequential: names, any signature, clones") {
  nn::Sequential net({{"l", nn::Linear(2, 3)}, {"r", nn::ReLU()}});
  CHECK(printed(net) == "Sequential(\n  (l): Linear(in_features=2, out_features=3, bias=True)\n  (r): ReLU()\n)");
  CHECK(net->named_parameters().keys() == std::vector<std::string>{"l.weight", "l.bias"});
  nn::Sequential other((Two()), Pair(), Join());
  CHECK(other->forward<int>(ones({3}), 2) == 22);
  CHECK(error_of([&] { other->forward(ones({3}), 2); }) == "The type of the return value is int, but you asked for type tenon::Tensor");
  nn::Sequential nested;
  nested->push_back(net);
  nested->push_back(nn::Sequential(nn::Linear(3, 1)));
  CHECK(nested->forward(ones({4, 2})).sizes().vec() == std::vector<int64_t>{4, 1});
  CHECK(error_of([] { nn::Sequential()->forward(ones({1})); }) == "Cannot call forward() on an empty Sequential");
  nn::Sequential extended;
  extended->extend(*net);
  CHECK(extended->size() == 2);
  CHECK(extended->ptr(0) == net->ptr(0));

  net->eval();
  const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  CHECK(copy->named_parameters().keys() == net->named_parameters().keys());
  CHECK(!copy->is_training());
  const Tensor x = rand({5, 2});
  CHECK(equal(copy->forward(x), net->forward(x)));
  {
    const NoGradGuard no_grad;
    net->at<nn::LinearImpl>(0).weight.zero_();
  }
  CHECK(!equal(copy->at<nn::LinearImpl>(0).weight, net->at<nn::LinearImpl>(0).weight));
  CHECK(copy->parameters()[0].unsafe_impl() == copy->at<nn::LinearImpl>(0).weight.unsafe_impl());
}

TEST_CASE("ModuleList and ModuleDict") {
  nn::ModuleList list(nn::Linear(2, 3), nn::ReLU());
  list->insert(1, nn::Tanh());
  CHECK(printed(list) == "ModuleList(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): Tanh()\n  (2): ReLU()\n)");
  CHECK(error_of([&] { list->insert(9, nn::ReLU()); }) == "Index out of range");
  CHECK(list->at<nn::LinearImpl>(0).options.in_features() == 2);
  size_t count = 0;
  for (const auto& module : *list) count += module != nullptr;
  CHECK(count == 3);
  CHECK(std::dynamic_pointer_cast<nn::ModuleListImpl>(list->clone())->size() == 3);

  nn::ModuleDict dict({{"l", nn::Linear(2, 3).ptr()}, {"r", nn::ReLU().ptr()}});
  CHECK(dict->keys() == std::vector<std::string>{"l", "r"});
  CHECK(dict->at<nn::LinearImpl>("l").options.out_features() == 3);
  CHECK(error_of([&] { dict["x"]; }) == "Key 'x' is not defined");
  CHECK(error_of([&] { dict->pop("x"); }) == "Key 'x' is not defined");
  dict->update({{"r", nn::Tanh().ptr()}, {"t", nn::ELU().ptr()}});
  CHECK(printed(dict) == "ModuleDict(\n  (l): Linear(in_features=2, out_features=3, bias=True)\n  (r): Tanh()\n  (t): ELU(alpha=1.0)\n)");
  CHECK(dict->pop("l") != nullptr);
  CHECK(dict->size() == 2);
  CHECK(!dict->contains("l"));
}

TEST_CASE("ParameterList and ParameterDict") {
  Tensor a = ones({2, 3}, requires_grad()), b = ones({}, kDouble);
  nn::ParameterList list(a, b);
  CHECK(printed(list) ==
        "ParameterList(\n    (0): Parameter containing: [tenon.float32 of size 2x3]\n    (1): Parameter containing: "
        "[tenon.float64 of size ]\n)");
  CHECK(list->parameters().size() == 2);
  CHECK(list[0].unsafe_impl() == a.unsafe_impl());
  CHECK(list->at(0).requires_grad());
  CHECK(!list->at(1).requires_grad());
  CHECK(error_of([&] { list->at(5); }) == "Index out of range");
  const nn::ParameterList other(a.detach() * 2, b.clone());
  list->extend(*other);
  CHECK(list->size() == 4);
  CHECK(list->named_parameters().keys() == std::vector<std::string>{"0", "1", "2", "3"});
  nn::ParameterDict dict;
  dict->insert("a", a);
  CHECK(printed(dict) == "ParameterDict(\n    (a): Parameter containing: [tenon.FloatTensor of size 2x3]\n)");
  CHECK(error_of([&] { dict["q"]; }) == "Parameter 'q' is not defined");
  const auto copy = std::dynamic_pointer_cast<nn::ParameterDictImpl>(dict->clone());
  CHECK(copy->get("a").unsafe_impl() != a.unsafe_impl());
  CHECK(copy->get("a").requires_grad());
  CHECK(dict->pop("a").unsafe_impl() == a.unsafe_impl());
  CHECK(dict->empty());
}

TEST_CASE("LibTorch indents children, and no lines of a module without any") {
  const PrintStyle before = get_print_style();
  set_print_style(PrintStyle::LibTorch);
  struct Holds : nn::Module {
    Holds() : nn::Module("Holds") { register_module("list", nn::ParameterList(ones({2}))); }
  };
  const std::string text = printed(Holds()), refused = error_of([] { Holds().clone(); });
  set_print_style(before);
  CHECK(text == "Holds(\n  (list): torch::nn::ParameterList(\n(0): Parameter containing: [Float of size [2]]\n)\n)");
  CHECK(refused ==
        "clone() has not been implemented for Holds. Subclass torch::nn::Cloneable<Holds> instead of torch::nn::Module to inherit the "
        "ability "
        "to clone.");
}

TEST_CASE("clones of layers and of a program's modules") {
  nn::BatchNorm2d norm(3);
  norm->running_mean.fill_(2);
  norm->eval();
  const auto copy = norm->clone();
  CHECK(values(copy->named_buffers()["running_mean"]) == std::vector<double>{2, 2, 2});
  CHECK(!copy->is_training());
  CHECK(copy->named_buffers()["running_mean"].unsafe_impl() != norm->running_mean.unsafe_impl());
  for (const std::shared_ptr<nn::Module>& module :
       {std::shared_ptr<nn::Module>(nn::LSTM(2, 3).ptr()), std::shared_ptr<nn::Module>(nn::Conv2d(1, 2, 3).ptr()),
        std::shared_ptr<nn::Module>(nn::MultiheadAttention(4, 2).ptr()), std::shared_ptr<nn::Module>(nn::Functional(relu).ptr()),
        std::shared_ptr<nn::Module>(nn::Embedding(4, 2).ptr())}) {
    const auto other = module->clone();
    CHECK(printed(*other) == printed(*module));
    for (const auto& item : module->named_parameters()) CHECK(equal(item.value(), other->named_parameters()[item.key()]));
  }

  const auto own = std::make_shared<OwnImpl>(3);
  const auto twin = std::dynamic_pointer_cast<OwnImpl>(own->clone());
  const Tensor x = rand({4, 3});
  CHECK(equal(own->forward(x), twin->forward(x)));
  {
    const NoGradGuard no_grad;
    own->fc->weight.zero_();
    own->scale.zero_();
  }
  CHECK(!equal(own->forward(x), twin->forward(x)));
  CHECK(twin->scale.unsafe_impl() == twin->named_parameters()["scale"].unsafe_impl());

  struct Bare : nn::Module {};
  CHECK(error_of([] { Bare().clone(); }).find("clone() has not been implemented for ") == 0);
  CHECK(error_of([] { Bare().replace_module("x", nn::ReLU()); }) == "Submodule 'x' is not defined");
  CHECK(error_of([] { Bare().unregister_module("x"); }) == "No Module with name `x` is registered");
}

}  // namespace tenon
