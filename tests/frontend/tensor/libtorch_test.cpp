// What programs written for LibTorch meet beside the operators: its words, its corners, its names, its warnings.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/compat.h"

using namespace tenon;
using namespace tenon::indexing;

namespace {

// The message of the tenon::Error that f throws, or "" if it throws none.
template <typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.msg();
  }
  return "";
}

bool same(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && equal(a, b); }

// Collects the warnings of a block.
struct Collect : WarningHandler {
  void process(const Warning& warning) override { seen.push_back(warning.msg()); }
  std::vector<std::string> seen;
};
template <typename F>
std::vector<std::string> warnings_of(F f) {
  Collect collect;
  const WarningUtils::WarningHandlerGuard guard(&collect);
  const WarningUtils::WarnAlways always;
  f();
  return collect.seen;
}

namespace deep {
struct NetImpl : nn::Module {};
TENON_MODULE(Net);
}  // namespace deep

}  // namespace

TEST_CASE("libtorch: the dtype of an empty range is that of its elements") {
  CHECK(tensor(std::vector<int64_t>{}).dtype() == kLong);
  CHECK(tensor(std::vector<int>{}).dtype() == kLong);
  CHECK(tensor(std::vector<uint8_t>{}).dtype() == kByte);
  CHECK(tensor(std::vector<bool>{}).dtype() == kBool);
  CHECK(tensor(std::vector<double>{}).dtype() == kFloat);
  CHECK(tensor(ArrayRef<int>{}).dtype() == kLong);
  CHECK(tensor({}).dtype() == kFloat);
  CHECK(tensor({{}, {}}).sizes() == IntArrayRef({2, 0}));
}

TEST_CASE("libtorch: leading dims of size 1 of an assigned value do not count") {
  const Tensor a = zeros({2, 3}), v = arange(6).to(kFloat).reshape({1, 1, 2, 3});
  const Tensor flat = v.reshape({2, 3});
  for (const TensorIndex& whole : {TensorIndex(true), TensorIndex(tensor(true)), TensorIndex(tensor(1, kByte)), TensorIndex(Ellipsis),
                                   TensorIndex(Slice()), TensorIndex(None), TensorIndex(tensor({0, 1}))}) {
    a.zero_();
    a.index_put_({whole}, v);
    CHECK(same(a, flat));
  }
  a.index_put_({false}, v + 1);
  CHECK(same(a, flat));
  a.index_put_({tensor({true, false})}, ones({1, 1, 1, 1, 3}));
  CHECK(same(a, tensor({{1.0, 1.0, 1.0}, {3.0, 4.0, 5.0}})));
  const Tensor z = tensor(1.0);
  z.index_put_({true}, full({1, 1, 1}, 7.0));
  CHECK(z.item<float>() == 7);
  z.index_put_({tensor(true)}, full({1, 1}, 8.0));
  CHECK(z.item<float>() == 8);
  z.index_put_({None}, full({1}, 9.0));
  CHECK(z.item<float>() == 9);
  CHECK(message_of([&] {
          a.index_put_({tensor({0, 1})}, ones({2, 2, 3}));
        }) == "shape mismatch: value tensor of shape [2, 2, 3] cannot be broadcast to indexing result of shape [2, 3]");
}

TEST_CASE("libtorch: indices") {
  const Tensor a = arange(6).reshape({2, 3});
  for (ScalarType type : {kByte, kChar, kShort, kInt, kLong}) {
    if (type != kByte) CHECK(same(a.index({tensor(1, type)}), a[1]));
    if (type != kByte) CHECK(same(a.clone().index_put_({tensor(1, type)}, 7)[1], full({3}, 7)));
  }
  CHECK(message_of([&] { a.index({tensor(1.0)}); }) == "tensors used as indices must be long, int, byte or bool tensors");
  CHECK(message_of([&] { a.index({tensor({1}, kShort)}); }) == "tensors used as indices must be long, int, byte or bool tensors");
  const std::vector<TensorIndex> none;
  CHECK(message_of([&] { a.index(none); }) == "Passing an empty index list to Tensor::index() is not valid syntax");
  CHECK(message_of([&] { a.index_put_(none, 1); }) == "Passing an empty index list to Tensor::index_put_() is not valid syntax");
  CHECK(message_of([] { tensor(1.0).index({Slice()}); }) == "slice() cannot be applied to a 0-dim tensor.");
  CHECK(message_of([] { tensor(1.0).slice(0, 0, 1); }) == "slice() cannot be applied to a 0-dim tensor.");
  CHECK(message_of([] { tensor(1.0).select(0, 0); }) == "select() cannot be applied to a 0-dim tensor.");
  CHECK_THROWS_AS(tensor(1.0).slice(0, 0, 1), IndexError);
  CHECK(message_of([] { zeros({0}).index({tensor({0})}); }) == "index is out of bounds for dimension with size 0");
  CHECK(message_of([] { zeros({0}).take(tensor({0})); }) == "take(): tried to take from an empty tensor");

  Tensor b = a.clone();
  index_put_(b, {tensor({0})}, ones({1, 3}, kLong));
  CHECK(same(b[0], ones({3}, kLong)));
  CHECK(same(index_put(a, {tensor({0})}, ones({1, 3}, kLong)), b));
  CHECK(Slice(1, 5, 2).start() == 1);
  CHECK(Slice(1, 5, 2).stop() == 5);
  CHECK(Slice().step() == 1);
  CHECK(TensorIndex(true).is_boolean());
  CHECK(TensorIndex(tensor({1})).is_tensor());
  CHECK(str(Slice(0, 3), TensorIndex(None), std::vector<TensorIndex>{1, "...", false}) == "0:3:1None(1, ..., false)");
}

TEST_CASE("libtorch: one number at a bool mask takes the dtype of the tensor") {
  const Tensor a = arange(6).reshape({2, 3}), mask = a > 3;
  CHECK(same(a.clone().index_put_({mask}, tensor(9.7)), tensor({{0, 1, 2}, {3, 9, 9}})));
  CHECK(same(a.clone().index_put_({mask}, tensor({{-8.7}})), tensor({{0, 1, 2}, {3, -8, -8}})));
  CHECK(same(a.clone().index_put_({Slice(), tensor({true, false, true})}, tensor(17.5)), tensor({{17, 1, 17}, {17, 4, 17}})));
  CHECK(message_of([&] {
          a.clone().index_put_({mask}, tensor({8.7, 8.7}));
        }) ==
        "Index put requires the source and destination dtypes match, got Long for the destination and Float for "
        "the source.");
}

TEST_CASE("libtorch: an undefined tensor as an optional argument is none") {
  const Tensor x = ones({2, 3}), none;
  const optional<Tensor> undefined = none;
  CHECK(layer_norm(x, {3}, undefined, undefined).sizes() == x.sizes());
  CHECK(same(bincount(tensor({1, 2}), undefined), tensor({0, 1, 1})));
  CHECK(same(searchsorted(tensor({1, 2, 3}), tensor({2}), false, false, "left", undefined), tensor({1})));
  CHECK(same(clamp(x, undefined, optional<Tensor>(x * 0.5)), full({2, 3}, 0.5)));
  CHECK(message_of([&] { clamp(x, undefined, undefined); }) == "torch.clamp: At least one of 'min' or 'max' must not be None");
}

TEST_CASE("libtorch: words for mistakes") {
  CHECK(message_of([] {
          tensor({{1, 2.0}});
        }) ==
        "Expected all elements of the tensor to have the same scalar type: Int, but got element of scalar type: "
        "Double");
  CHECK(message_of([] {
          tensor({{true, 2}});
        }) == "Expected all elements of the tensor to have the same scalar type: Bool, but got element of scalar type: Int");
  CHECK(message_of([] {
          tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7}}});
        }) == "Expected all sub-lists to have sizes: 2 (e.g. {5, 6}), but got sub-list {7} with sizes: 1");
  CHECK(message_of([] {
          tensor({{1, 2}, 3});
        }) == "Expected all sub-lists to have sizes: 2 (e.g. {1, 2}), but got sub-list 3 with sizes: ");
  CHECK(message_of([] { ones({2}).to(TensorOptions(kDouble).requires_grad(true)); }) ==
        "Operators taking TensorOptions cannot take a TensorOptions with options.requires_grad set as true. This "
        "isn't implemented yet.");
  CHECK(message_of([] { ones({2}, kLong).requires_grad_(); }) == "Only Tensors of floating point and complex dtype can require gradients");
  CHECK(message_of([] {
          Tensor().sum();
        }).starts_with("Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'"));
  CHECK(message_of([] { Tensor().item(); }).starts_with("a Tensor with 0 elements cannot be converted to Scalar"));
  CHECK(message_of([] {
          bilinear(ones({2, 3}), ones({2, 4}, kDouble), ones({5, 3, 4}));
        }) == "All tensors must have the same dtype, got input1: float, input2: double, weight: float");
  CHECK(message_of([] { nn::Conv2d(nn::Conv2dOptions(2, 2, 3).groups(-1)); }) ==
        "in_channels, groups and out_channels must be a positive integer.");
  CHECK(message_of([] { nn::Conv2d(nn::Conv2dOptions(2, 2, 3).padding(kSame).stride(2)); }) ==
        "padding='same' is not supported for strided convolutions");
  CHECK(message_of([] { zeros({2}, kSparse); }) != "");
  CHECK(message_of([] { zeros({2}, kMeta); }) != "");
}

TEST_CASE("libtorch: views under NoGrad are leaves that require grad as their base does") {
  const Tensor leaf = ones({2, 2}, requires_grad()), made = leaf * 2;
  Tensor view, deeper, product, detached;
  {
    const NoGradGuard no_grad;
    view = leaf[0];
    deeper = made[0].view({1, 2});
    product = leaf * 2;
    detached = leaf.detach()[0];
  }
  CHECK(view.requires_grad());
  CHECK(view.is_leaf());
  CHECK(deeper.requires_grad());
  CHECK(deeper.is_leaf());
  CHECK_FALSE(product.requires_grad());
  CHECK_FALSE(detached.requires_grad());
  CHECK((view * 2).requires_grad());
  CHECK_THROWS_AS(view.mul_(2), Error);
}

TEST_CASE("libtorch: local_response_norm of integers is computed in float") {
  namespace F = nn::functional;
  const Tensor x = arange(12).reshape({1, 3, 4});
  const F::LocalResponseNormFuncOptions options(2);
  CHECK(same(F::local_response_norm(x, options), F::local_response_norm(x.to(kFloat), options)));
}

TEST_CASE("libtorch: the default dtype may be an integer type") {
  struct Restore {
    ~Restore() { set_default_dtype(kFloat); }
  } restore;
  set_default_dtype(TypeMeta::Make<int>());
  CHECK(get_default_dtype() == kInt);
  CHECK(ones({2}).dtype() == kInt);
  CHECK(tensor({1.5}).dtype() == kInt);
  CHECK((ones({2}) + 1.5).dtype() == kInt);
  for (const auto& needs_float :
       std::vector<std::function<void()>>{[] { sqrt(ones({2})); }, [] { rand({2}); }, [] { randn({2}); }, [] { ones({2}).mean(); },
                                          [] { ones({2}) / 2; }, [] { nn::Linear(2, 2); }})
    CHECK(message_of(needs_float) != "");
}

TEST_CASE("libtorch: modules") {
  struct Outer : nn::Module {
    Outer() {
      register_module("a", nn::Linear(1, 1));
      register_module("b", nn::Sequential(nn::Linear(1, 1)));
    }
  };
  Outer outer;
  std::string visited;
  outer.apply([&](const std::string& name, nn::Module&) { visited += name + " "; }, "root");
  CHECK(visited == "root root.a root.b root.b.0 ");
  CHECK(deep::Net()->name().ends_with("deep::NetImpl"));
  CHECK(nn::Linear(1, 1)->name() == "tenon::nn::LinearImpl");
  CHECK(outer.modules(false).size() == 3);
  CHECK(message_of([&] { outer.modules(); }).starts_with("It looks like you attempted to retrieve your top-level module"));
  const std::shared_ptr<nn::Module> linear = nn::Linear(2, 3).ptr();
  CHECK(linear->as<nn::Linear>() == linear.get());
  CHECK(linear->as<nn::Conv2d>() == nullptr);
  CHECK(outer.named_parameters()[0].key() == "a.weight");
  CHECK(message_of([&] { outer.named_parameters()[9]; }) == "Index 9 is out of bounds");
  nn::RNN rnn(nn::RNNOptions(3, 4).num_layers(2).nonlinearity(kReLU).batch_first(true));
  CHECK(rnn->options.num_layers() == 2);
  CHECK(rnn->named_parameters().size() == 8);

  nn::Sequential net(
      nn::Linear(2, 3), nn::Functional(relu), nn::Functional(elu, 1, 2, 1),
      nn::Functional([](const Tensor& t, int64_t dim, const Tensor& scale) { return t.sum(dim) * scale; }, 1, tensor({2.0})));
  CHECK(net->at<nn::LinearImpl>(0).options.out_features() == 3);
  CHECK(net->ptr<nn::LinearImpl>(0) == net->ptr(0));
  CHECK(net->ptr(1)->as<nn::Functional>() == net->ptr<nn::FunctionalImpl>(1).get());
  const Tensor input = tensor({{1.0, -2.0}});
  CHECK(equal(net(input), elu(relu(net->at<nn::LinearImpl>(0).forward(input)), 1, 2, 1).sum(1) * 2));
  CHECK(message_of([&] { net->at<nn::LinearImpl>(1); }) ==
        "Attempted to cast module of type tenon::nn::FunctionalImpl to type tenon::nn::LinearImpl");
  CHECK(message_of([&] { net->ptr<nn::LinearImpl>(9); }) == "Index out of range");

  auto loader = data::make_data_loader(data::datasets::TensorDataset(arange(4)), 2);
  CHECK(message_of([&] { *loader->end(); }) == "Dereferencing the DataLoader's past-the-end iterator is not allowed");
  CHECK(message_of([&] { ++loader->end(); }) == "Incrementing the DataLoader's past-the-end iterator is not allowed");
}

TEST_CASE("libtorch: orthogonal_ makes rows or columns orthonormal") {
  manual_seed(5);
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{6, 4}, {4, 6}, {5, 5}, {4, 3, 2}}) {
    const Tensor w = nn::init::orthogonal_(tenon::empty(sizes), 2.0).flatten(1) / 2;
    const Tensor product = w.size(0) <= w.size(1) ? w.mm(w.t()) : w.t().mm(w);
    CHECK(allclose(product, eye(product.size(0)), 1e-5, 1e-6));
  }
}

TEST_CASE("libtorch: warnings reach the handler") {
  const Tensor x = arange(6).to(kFloat).reshape({2, 3});
  const std::string bytes = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.";
  CHECK(warnings_of([&] { x.index({tensor({0, 1}, kByte)}); }) == std::vector{bytes});
  CHECK(warnings_of([&] { x.clone().index_put_({tensor({0, 1}, kByte)}, ones({1, 3})); }) == std::vector{bytes});
  CHECK(warnings_of([&] { x.index({tensor({false, true})}); }).empty());
  using Doing = std::function<void()>;
  const std::vector<std::pair<std::string, Doing>> cases{
      {"where received a uint8 condition tensor.",
       [&] {
         where(ones({2, 3}, kByte), x, x);
       }},
      {"An output with one or more elements was resized since it had shape [5]",
       [&] {
         Tensor out = ones({5});
         add_out(out, x, x);
       }},
      {"The use of `x.T` on tensors of dimension other than 2", [] { ones({3}).numpy_T(); }},
      {"Tensor.mT is deprecated on 0-D tensors.", [] { tensor(1.0).mT(); }},
      {"torch.meshgrid: in an upcoming release",
       [] {
         meshgrid({arange(2), arange(3)});
       }},
      {"The .grad attribute of a Tensor that is not a leaf", [] { (ones({2}, requires_grad()) * 2).grad(); }},
      {"Using a target size ([3]) that is different to the input size ([2, 3]).", [&] { nn::functional::mse_loss(x, ones({3})); }},
      {"reduction: 'mean' divides the total loss by both", [&] { nn::functional::kl_div(x, x); }},
      {"Default upsampling behavior when mode=kBilinear",
       [] {
         nn::functional::interpolate(ones({1, 1, 2, 2}),
                                     nn::functional::InterpolateFuncOptions().size(std::vector<int64_t>{3, 3}).mode(kBilinear));
       }},
      {"dropout option adds dropout after all but last recurrent layer", [] { nn::LSTM(nn::LSTMOptions(2, 3).dropout(0.5)); }},
      {"Using padding='same' with even kernel lengths",
       [] {
         conv2d(ones({1, 1, 4, 4}), ones({1, 1, 2, 2}), {}, 1, "same");
       }},
      {"Using torch.cross without specifying the dim arg",
       [] {
         cross(ones({3, 3}), ones({3, 3}));
       }},
      {"The reduce argument of torch.scatter",
       [&] {
         x.scatter(0, zeros({1, 3}, kLong), x, "add");
       }},
      {"to - 1 is out of bounds [-(2^24), 2^24].", [] { ones({3}).random_(0, int64_t{1} << 30); }},
      {"std(): degrees of freedom is <= 0.", [] { ones({1}).std(); }},
      {"var(): degrees of freedom is <= 0.",
       [] {
         ones({2, 1}).var(OptionalIntArrayRef(1), true);
       }},
      {"var_mean(): degrees of freedom is <= 0.", [] { var_mean(ones({1})); }},
      {"cov(): degrees of freedom is <= 0.",
       [] {
         cov(ones({2, 1}));
       }},
      {"An undefined tensor cannot require grad.", [] { nn::Module().register_parameter("u", Tensor()); }},
      {"mine 3", [] { TORCH_WARN("mine ", 3); }},
  };
  for (const auto& [text, doing] : cases) {
    CAPTURE(text);
    const std::vector<std::string> seen = warnings_of(doing);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].starts_with(text));
  }
  // Layers without a bias, and what PyTorch is silent about.
  CHECK(warnings_of([] { nn::Linear(nn::LinearOptions(2, 2).bias(false)); }).empty());
  CHECK(warnings_of([] { ones({2, 2}, requires_grad()).grad(); }).empty());
  Collect collect;
  const WarningUtils::WarningHandlerGuard guard(&collect);
  for (int i = 0; i < 3; ++i) TORCH_WARN_ONCE("once");
  CHECK(collect.seen == std::vector<std::string>{"once"});
}

TEST_CASE("libtorch: an ordered dictionary") {
  OrderedDict<std::string, int> dict = {{"a", 1}, {"b", 2}, {"c", 3}};
  CHECK(dict[1].key() == "b");
  CHECK(dict.front().value() == 1);
  CHECK(*dict.back() == 3);
  dict.erase("a");
  CHECK(dict.keys() == std::vector<std::string>{"b", "c"});
  CHECK(dict["c"] == 3);
  CHECK(*dict.find("b") == 2);
  CHECK(dict.find("a") == nullptr);
  OrderedDict<std::string, int> other("Thing");
  other.update(dict);
  CHECK(other == dict);
  CHECK(message_of([&] { other.insert("b", 1); }) == "Thing 'b' already defined");
  CHECK(message_of([&] { other["z"]; }) == "Thing 'z' is not defined");
  CHECK(message_of([&] { other.erase("z"); }) == "Key 'z' doesn't exist");
  CHECK(message_of([] { OrderedDict<std::string, int>().back(); }) == "Called back() on an empty OrderedDict");
}

TEST_CASE("libtorch: names that programs use") {
  Tensor x = ones({2, 3}), y = ones({2, 3}, kDouble);
  CHECK(x.to(y.dtype()).dtype() == kDouble);
  CHECK(torch::str("a", 1, ' ', 2.5) == "a1 2.5");
  int64_t sum = 0;
  for (const auto i : c10::irange(4)) sum += i;
  for (const auto i : c10::irange(2, 4)) sum += i;
  CHECK(sum == 11);
  CHECK(message_of([] { TORCH_CHECK(1 > 2, "one is ", 1); }) == "one is 1");
  CHECK((c10::typeMetaToScalarType(caffe2::TypeMeta::Make<float>()) == kFloat));
  CHECK(x.layout() == kStrided);
  CHECK(x.storage().nbytes() == 24);
  const std::array<int64_t, 2> sizes{1, 2};
  const ExpandingArray<2> once(3), each(sizes);
  CHECK((*once)[1] == 3);
  CHECK(torch::str(once, each) == "[3, 3][1, 2]");
  CHECK(nn::Conv2d(nn::Conv2dOptions(1, 1, sizes))->weight.sizes() == IntArrayRef({1, 1, 1, 2}));
  CHECK(torch::str(torch::detail::TensorDataContainer({{1, 2}, {3, 4}})) == "{{1, 2}, {3, 4}}");
  CHECK(allclose(torch::special::expit(zeros({2})), full({2}, 0.5)));
  torch::init_num_threads();
  torch::set_num_interop_threads(1);
  CHECK(torch::get_num_interop_threads() == 1);
  CHECK(torch::str(c10::DeviceType::CPU) == "cpu");
  CHECK(DeviceTypeName(c10::DeviceType::CUDA) == "CUDA");
  CHECK_FALSE(torch::cuda::cudnn_is_available());
  CHECK(std::isnan(NAN));
  CHECK(std::isinf(INFINITY));
  CHECK(conv2d(ones({1, 1, 4, 4}), ones({1, 1, 2, 2}), {}, 1, 0).sizes() == IntArrayRef({1, 1, 3, 3}));
  CHECK(nn::functional::normalize(x, nn::functional::NormalizeFuncOptions().out(y.to(kFloat))).sizes() == x.sizes());
  size_t batches = 0;
  const auto loader = data::make_data_loader(data::datasets::TensorDataset(ones({4, 2})), 3);
  for (auto& batch : *loader) batches += batch.size();
  CHECK(batches == 4);
}

TEST_CASE("libtorch: of values that all occur once mode takes a number, and counts each nan alone") {
  constexpr float nan = NAN;
  CHECK(std::get<0>(tensor({nan, 1.0F, 1.0F}).mode()).item<float>() == 1);
  CHECK(std::get<0>(tensor({nan, 2.0F, nan, 2.0F, nan}).mode()).item<float>() == 2);
  CHECK(std::get<0>(tensor({nan, nan, 3.0F}).mode()).item<float>() == 3);
  CHECK(std::isnan(std::get<0>(tensor({nan, nan}).mode()).item<float>()));
}

TEST_CASE("libtorch: results into tensors that are there") {
  const Tensor x = tensor({{3.0, 1.0, 2.0}, {-1.0, 5.0, 4.0}}), w = ones({4, 3});
  Tensor out = empty({0}), places = empty({0}, kLong), real = empty({0}, kDouble);
  const std::pair<const char*, std::pair<std::function<Tensor&()>, Tensor>> cases[] = {
      {"linear", {[&]() -> Tensor& { return linear_out(out, x, w); }, linear(x, w)}},
      {"amax", {[&]() -> Tensor& { return amax_out(out, x, {1}); }, tensor({3.0, 5.0})}},
      {"max", {[&]() -> Tensor& { return max_out(out, x, x * -1); }, x.abs()}},
      {"std", {[&]() -> Tensor& { return std_out(out, x, {0}, true); }, x.std({0}, true)}},
      {"roll", {[&]() -> Tensor& { return roll_out(out, x, {1}, {0}); }, x.flip({0})}},
      {"avg_pool1d", {[&]() -> Tensor& { return avg_pool1d_out(out, x, {3}, {1}); }, x.mean(1, true)}},
      {"vstack",
       {[&]() -> Tensor& {
          return vstack_out(out, {x, x});
        },
        cat({x, x})}},
      {"clamp_min", {[&]() -> Tensor& { return clamp_min_out(out, x, 2.5); }, x.clamp_min(2.5)}},
      {"masked_select", {[&]() -> Tensor& { return masked_select_out(out, x, x > 3); }, tensor({5.0, 4.0})}},
      {"linspace", {[&]() -> Tensor& { return linspace_out(real, 0, 0.3, 4); }, linspace(0, 0.3, 4, kDouble)}},
      {"eye", {[&]() -> Tensor& { return eye_out(out, 2); }, eye(2)}},
  };
  for (const auto& [name, c] : cases) {
    CAPTURE(std::string(name));
    Tensor& result = c.first();
    CHECK((&result == &out || &result == &real));
    CHECK(same(result, c.second));
    result.resize_({0});
  }
  sort_out(out, places, x, 1);
  CHECK(same(out, std::get<0>(x.sort(1))));
  CHECK(same(places, std::get<1>(x.sort(1))));
  out.resize_({0});
  places.resize_({0});
  max_out(out, places, x, 0);
  CHECK(same(places, tensor({0, 1, 1})));
  CHECK(rand_out(real, {2, 2}).dtype() == kDouble);
  CHECK(message_of([&] { amax_out(places, x, {1}); }) == "result type Float can't be cast to the desired output type Long");
}

TEST_CASE("libtorch: the functions behind the layers") {
  manual_seed(3);
  const Tensor x = randn({2, 5, 3}), h = randn({4, 2, 4}), c = randn({4, 2, 4});
  nn::LSTM net(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).batch_first(true));
  const auto [out, state] = net->forward(x, std::make_tuple(h, c));
  const auto [out2, h2, c2] = lstm(x, {h, c}, net->parameters(), true, 2, 0.0, false, true, true);
  CHECK(equal(out, out2));
  CHECK(equal(std::get<0>(state), h2));
  CHECK(equal(std::get<1>(state), c2));
  nn::GRU gates(nn::GRUOptions(3, 4).bias(false));
  const auto [out3, h3] =
      gru(x, h[0].unsqueeze(0).slice(1, 0, 1).expand({1, 5, 4}), gates->parameters(), false, 1, 0.0, false, false, false);
  CHECK(equal(out3, std::get<0>(gates->forward(x, h[0].unsqueeze(0).slice(1, 0, 1).expand({1, 5, 4})))));
  const std::vector<Tensor> w = gates->parameters();
  CHECK(allclose(
      gru_cell(x[0], out3[0], w[0], w[1]).slice(0, 0, 1),
      std::get<0>(gru(x[0].slice(0, 0, 1).unsqueeze(0), out3[0].slice(0, 0, 1).unsqueeze(0), w, false, 1, 0.0, false, false, false))[0]));
  CHECK(equal(rnn_relu_cell(x[0], zeros({5, 4}), w[0].slice(0, 0, 4), w[1].slice(0, 0, 4)), relu(linear(x[0], w[0].slice(0, 0, 4)))));
  CHECK(message_of([&] { gru(x, h, {w[0]}, false, 1, 0.0, false, false, false); }) == "expected 2 weights and biases, but got 1");

  const Tensor image = arange(16.).view({1, 2, 2, 4}), plain = image.flatten(1);
  const auto [normed, mean, rstd] = native_layer_norm(plain, {16}, nullopt, nullopt, 1e-5);
  CHECK(equal(normed, layer_norm(plain, {16})));
  CHECK(same(mean, tensor({{7.5}})));
  CHECK(allclose(rstd, tensor({{0.216930}}), 1e-5));  // PyTorch's
  const auto [grouped, group_mean, group_rstd] = native_group_norm(image, nullopt, nullopt, 1, 2, 8, 2, 1e-5);
  CHECK(equal(grouped, group_norm(image, 2)));
  CHECK(same(group_mean, tensor({{3.5, 11.5}})));
  CHECK(allclose(group_rstd, full({1, 2}, 0.436435), 1e-5));
  const auto [batched, save_mean, save_rstd] = native_batch_norm(image, nullopt, nullopt, nullopt, nullopt, true, 0.1, 1e-5);
  CHECK(equal(batched, batch_norm(image, nullopt, nullopt, nullopt, nullopt, true, 0.1, 1e-5)));
  CHECK(same(save_mean, tensor({3.5, 11.5})));
  CHECK(allclose(save_rstd, full({2}, 0.436435), 1e-5));
  namespace F = nn::functional;
  const std::vector<int64_t> size{3, 6};
  CHECK(equal(upsample_nearest2d(image, size), F::interpolate(image, F::InterpolateFuncOptions().size(size))));
  CHECK(equal(upsample_bilinear2d(image, size, true),
              F::interpolate(image, F::InterpolateFuncOptions().size(size).mode(kBilinear).align_corners(true))));
  CHECK(message_of([&] { upsample_linear1d(image, {3}, false); }) == "It is expected input_size equals to 3, but got size 4");
  CHECK(same(_reshape_alias(plain, {4, 4}, {4, 1}), plain.view({4, 4})));
}

namespace {
// As a LibTorch program has it. Returns what the work took on the device.
float on_a_gpu(const Tensor& x) {
  const torch::Device device(torch::kCUDA, 0);
  c10::cuda::CUDAGuard guard(device);
  c10::cuda::OptionalCUDAGuard maybe;
  maybe.set_index(0);
  torch::DeviceGuard any(device);
  const at::cuda::CUDAStream stream = at::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index());
  at::cuda::CUDAStreamGuard on(stream);
  at::cuda::CUDAEvent start(0), end(0);
  start.record(at::cuda::getCurrentCUDAStream());
  torch::Tensor y = x.pin_memory().to(device, /*non_blocking=*/true);
  y = torch::ones({2}, torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA, 0)) + y.cuda();
  torch::Generator generator = at::make_generator<at::CUDAGeneratorImpl>(device.index());
  y.uniform_(0, 1, generator);
  at::Generator defaults = at::cuda::detail::getDefaultCUDAGenerator();
  defaults.set_current_seed(1);
  end.record();
  end.block(stream);
  torch::cuda::synchronize(device.index());
  c10::cuda::CUDACachingAllocator::emptyCache();
  const std::string name = at::cuda::getDeviceProperties(0)->name + at::cuda::getCurrentDeviceProperties()->name;
  return start.elapsed_time(end) + static_cast<float>(c10::cuda::CUDACachingAllocator::getDeviceStats(0).allocated_bytes[0].current);
}
}  // namespace

TEST_CASE("LibTorch's names for CUDA: without a device they say that there is none") {
  CHECK_FALSE(torch::cuda::is_available());
  CHECK(message_of([] { on_a_gpu(torch::ones({2})); }).find("Found no NVIDIA driver on your system.") == 0);
  CHECK(message_of([] { at::cuda::CUDAGraph().capture_begin(); }).find("Found no NVIDIA driver on your system.") == 0);
  CHECK(message_of([] { at::cuda::CUDAGraph().replay(); }) == "Called CUDAGraph::replay without a preceding successful capture.");
  const c10::cuda::OptionalCUDAGuard guard;
  CHECK_FALSE(guard.original_device());
  const torch::DeviceGuard host(torch::kCPU);
  CHECK(host.current_device() == torch::Device(torch::kCPU));
  torch::Generator generator = at::make_generator<at::CUDAGeneratorImpl>(0);  // its seed waits for a device
  generator.set_current_seed(7);
  CHECK(generator.current_seed() == 7);
  CHECK(message_of([&] { torch::rand({2}, generator); }) == "Expected a 'cpu' device type for generator but found 'cuda'");
}
