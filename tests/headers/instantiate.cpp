// Instantiates the templates of the public headers as programs do; compiled, never run. check_compilers.sh
// holds it and the headers to a program's strictest warnings under each compiler. Its caller includes every
// public header first.
#include <tenon/tenon.h>

#include <array>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace nn = tenon::nn;
namespace F = tenon::nn::functional;
namespace data = tenon::data;
using tenon::Tensor;
using tenon::indexing::Slice;

namespace {

// --- elements

template <typename T>
void elements_of(const Tensor& x) {
  const T value = x.item<T>();
  T* const memory = x.data_ptr<T>();
  const T* const read = x.const_data_ptr<T>();
  memory[0] = read[1];
  x.mutable_data_ptr<T>()[0] = value;
  auto plain = x.accessor<T, 2>();
  plain[0][1] = plain[1][0];
  auto constant = x.accessor<const T, 3>();
  const bool same = constant[0][0][0] == constant[plain.size(0) - 1][0][0];
  auto wide = x.packed_accessor64<T, 2>();
  wide[wide.size(0) - 1][0] = T(same);
  auto narrow = x.packed_accessor32<T, 1>();
  narrow[narrow.size(0) - 1] = *narrow.data();
  const tenon::Scalar scalar = value;
  if (scalar.to<T>() == value) memory[0] = tenon::Scalar(memory[1]).to<T>();
}

template <typename T>
void tensors_from() {
  const std::vector<T> vector{T(1), T(0)};
  const std::array<T, 2> array{T(1), T(0)};
  T memory[4] = {};
  (void)tenon::tensor(vector);
  (void)tenon::tensor(array, tenon::kFloat);
  (void)tenon::tensor(T(1), tenon::dtype(tenon::kDouble));
  (void)tenon::from_blob(memory, {2, 2}, tenon::scalar_type_of<T>());
  (void)tenon::from_blob(
      memory, {2, 2}, [](void*) {}, tenon::kFloat);
  (void)tenon::from_blob(memory, {2, 2}, {1, 2}, [](void*) {});
  if constexpr (!std::is_same_v<T, bool>) {
    (void)tenon::tensor(std::span<const T>(array));
    (void)tenon::tensor(tenon::ArrayRef<T>(vector));
  }
}

template <typename T>
Tensor numbers_with(const Tensor& x, T number) {
  Tensor y = x + number - number * x / number;
  y += number;
  y = (y > number).where(y, tenon::full({2}, number)).clamp(number, number);
  y.fill_(number).masked_fill_(y == number, number);
  y[0] = number;
  return number - y.pow(number) + tenon::arange(number) + tenon::add(x, y, number);
}

void every_element_type(const Tensor& x) {
  elements_of<bool>(x), elements_of<uint8_t>(x), elements_of<int8_t>(x), elements_of<int16_t>(x), elements_of<int32_t>(x);
  elements_of<int64_t>(x), elements_of<long long>(x), elements_of<float>(x), elements_of<double>(x);
  elements_of<tenon::Half>(x), elements_of<tenon::BFloat16>(x);
  tensors_from<uint8_t>(), tensors_from<int8_t>(), tensors_from<int16_t>(), tensors_from<int32_t>(), tensors_from<int64_t>();
  tensors_from<float>(), tensors_from<double>(), tensors_from<tenon::Half>(), tensors_from<tenon::BFloat16>();
  numbers_with(x, 2), numbers_with(x, 2u), numbers_with(x, int64_t{2}), numbers_with(x, size_t{2}), numbers_with(x, 2.f);
  numbers_with(x, 2.), numbers_with(x, short{2}), numbers_with(x, true);
  (void)tenon::tensor({{1, 2}, {3, 4}}), (void)tenon::tensor({1.5, 2.5}), (void)tenon::tensor(std::vector<bool>{true});
}

void indices_and_sizes(const Tensor& x) {
  const size_t unsigned_index = 1;
  const std::vector<int64_t> dims{0, 1};
  (void)x.index({0, int64_t{1}, unsigned_index, short{0}, true, "...", tenon::indexing::None, Slice(1), Slice(), x});
  (void)x.index({tenon::indexing::Ellipsis, Slice(tenon::indexing::None, 2, 1)});
  x.index_put_({Slice(0, 2), 1}, 1.5f);
  x.index_put_({x > 0}, x);
  (void)x.sum({0}), (void)x.sum(0), (void)x.sum(dims), (void)x.sum({0, 1}, true, tenon::kDouble), (void)x.permute(dims);
  (void)x.var(0), (void)x.var({0}), (void)x.var(true), (void)x.std(x.dim() - 1), (void)tenon::var_mean(x, 0);
  (void)x.view({-1}), (void)x.reshape({2, -1}), (void)tenon::zeros(3), (void)tenon::zeros(dims, tenon::kInt);
  (void)tenon::cat({x, x}, 1), (void)tenon::stack({x, x});
  const auto [values, places] = x.max(0);
  const auto [q, r] = std::tuple(values + 1, places);
  tenon::eval(q, r);
}

// --- modules

struct NetImpl : nn::Module {
  explicit NetImpl(int64_t width)
      : first(register_module("first", nn::Linear(width, 8))),
        norm(register_module("norm", nn::BatchNorm1d(nn::BatchNormOptions(8).eps(1e-4)))),
        scale(register_parameter("scale", tenon::ones({8}))) {}
  Tensor forward(const Tensor& x) { return tenon::relu(norm(first(x))) * scale; }
  nn::Linear first{nullptr};
  nn::BatchNorm1d norm{nullptr};
  Tensor scale;
};
TENON_MODULE(Net);

Tensor modules(const Tensor& x) {
  Net net(4);
  nn::Sequential sequence(nn::Linear(4, 8), nn::ReLU(), nn::Dropout(0.1), net, nn::Flatten(), nn::LayerNorm(nn::LayerNormOptions({8})),
                          nn::GELU(), nn::Softmax(1));
  sequence->push_back(nn::Linear(nn::LinearOptions(8, 3).bias(false)));
  sequence->push_back("named", nn::ELU(nn::ELUOptions().alpha(0.5)));
  nn::ModuleList list(nn::Linear(1, 2), nn::Tanh());
  nn::Conv2d convolution(nn::Conv2dOptions(3, 4, {3, 3}).stride(2).padding(tenon::kSame).padding_mode(tenon::kReflect));
  nn::MaxPool2d pool(nn::MaxPool2dOptions({2, 2}).stride({2, 2}));
  nn::AdaptiveAvgPool2d adaptive(nn::AdaptiveAvgPool2dOptions({1, tenon::nullopt}));
  nn::Embedding embedding(10, 4);
  nn::LSTM lstm(nn::LSTMOptions(4, 8).num_layers(2).batch_first(true));
  nn::GRU gru(4, 8);
  nn::MultiheadAttention attention(8, 2);
  nn::CrossEntropyLoss loss(nn::CrossEntropyLossOptions().label_smoothing(0.1).reduction(tenon::kSum));
  auto [output, state] = lstm(x);
  auto [mixed, weights] = attention(output, output, output);
  for (const auto& pair : net->named_parameters()) {
    std::ostringstream out;
    out << pair.key() << pair.value() << *net << sequence;
  }
  tenon::OrderedDict<std::string, int> dict;
  dict.insert("one", 1);
  net->load_state_dict(net->state_dict());
  if (net->as<nn::Linear>() || !dict.contains("one")) net->to(tenon::kDouble);
  net->apply([](nn::Module& module) { module.train(); });
  return loss(sequence->forward(x) + list->ptr(0)->as<nn::LinearImpl>()->forward(x), weights) + pool(convolution(x)) + adaptive(mixed) +
         embedding(x) + std::get<0>(gru(x)) + std::get<0>(state) + net(x);
}

Tensor functions(const Tensor& x) {
  Tensor y = F::pad(x, F::PadFuncOptions({1, 2}).mode(tenon::kReplicate).value(0.5));
  y = F::conv2d(y, x, F::Conv2dFuncOptions().stride({1, 2}).padding(1));
  y = F::max_pool2d(y, F::MaxPool2dFuncOptions(3).padding({1, 1}));
  y = F::interpolate(y, F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2}).mode(tenon::kBilinear));
  return F::cross_entropy(F::gelu(y), x, F::CrossEntropyFuncOptions().reduction(tenon::kMean));
}

// --- data

struct Squares : data::datasets::Dataset<Squares> {
  data::Example<> get(size_t index) override {
    return {tenon::full({2}, static_cast<double>(index)), tenon::full({}, static_cast<int64_t>(index * index))};
  }
  tenon::optional<size_t> size() const override { return 16; }
};

template <typename Loader>
Tensor total(Loader& loader) {
  Tensor sum = tenon::zeros({});
  for (auto& batch : loader) sum = sum + batch.data.sum();
  for (auto at = loader.begin(); at != loader.end(); ++at) sum = sum + at->data.sum();
  return sum;
}

Tensor loaders(const Tensor& x) {
  using data::transforms::Normalize, data::transforms::Stack, data::transforms::TensorLambda;
  auto halve = [](Tensor t) { return t / 2; };
  auto random = data::make_data_loader(Squares().map(Normalize<>({0.5}, {0.25})).map(Stack<>()), data::DataLoaderOptions(4));
  auto lambda = data::make_data_loader(Squares().map(TensorLambda<>(halve)).map(Stack<>()));
  auto ordered = data::make_data_loader<data::samplers::SequentialSampler>(data::datasets::PairDataset(x, x).map(Stack<>()),
                                                                           data::DataLoaderOptions(8).drop_last(true));
  auto seeded =
      data::make_data_loader(data::datasets::TensorDataset(x).map(Stack<data::TensorExample>()), data::samplers::SeededSampler(16));
  using tenon::data::transforms::Lambda, tenon::data::transforms::Collate;
  namespace vision = data::transforms::vision;
  auto parts = data::random_split(Squares(), {0.5, 0.5});
  auto threaded = data::make_data_loader(parts[0].map(Lambda<data::Example<>>([](data::Example<> e) { return e; })).map(Stack<>()),
                                         data::DataLoaderOptions(4).workers(2).max_jobs(3).timeout(std::chrono::seconds(9)));
  auto collated = data::make_data_loader<data::samplers::DistributedRandomSampler>(
      data::datasets::make_shared_dataset<Squares>().map(
          Collate<data::Example<>>([](std::vector<data::Example<>> all) { return all.back(); })),
      5);
  auto images = data::make_data_loader(
      data::datasets::PairDataset(x.reshape({1, 1, 4, 4}), x.slice(0, 0, 1))
          .map(vision::Compose(vision::Resize(3), vision::Pad({1, 1}), vision::RandomCrop({2, 2}), vision::Normalize({0.5}, {2.0})))
          .map(Stack<>()));
  const auto [train, test, y_train, y_test] = data::train_test_split(x, x, 0.25);
  return total(*random) + total(*lambda) + total(*ordered) + total(*seeded) + total(*threaded) + total(*collated) + total(*images) +
         train.sum() + test.sum() + y_train.sum() + y_test.sum();
}

}  // namespace

int main() {
  const Tensor x = tenon::rand({4, 4});
  every_element_type(x);
  indices_and_sizes(x);
  const Tensor y = modules(x) + functions(x) + loaders(x);
  tenon::optim::Adam adam({y}, tenon::optim::AdamOptions(1e-3).betas({0.9, 0.99}));
  adam.step();
  const tenon::NoGradGuard guard;
  const auto generator = tenon::make_generator<tenon::CPUGeneratorImpl>(7);
  (void)tenon::explain(y);
  return generator.defined() ? 0 : y.item<int>();
}
