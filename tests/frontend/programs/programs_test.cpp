// Programs as users of LibTorch write them, with another include: what they print, held to what the same
// programs print in PyTorch (scripts/golden/make_programs.py, tests/data/programs.txt). Where they train, they form the
// gradients by hand.
#include <tenon/compat.h>

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <string>
#include <vector>

#include "support/data_folder.h"

namespace {

using namespace torch::indexing;
namespace F = torch::nn::functional;

void show(std::ostream& out, const std::string& name, const torch::Tensor& x) {
  out << name << " " << x.sizes() << std::setprecision(6);
  const torch::Tensor flat = x.to(torch::kDouble).contiguous().view({-1});
  for (int64_t i = 0; i < flat.numel(); ++i) out << " " << flat[i].item<double>();
  out << "\n";
}

void tensor_basics(std::ostream& out) {
  torch::manual_seed(1);
  torch::Tensor a = torch::rand({2, 3}), b = torch::randn({3, 2});
  show(out, "product", a.mm(b));
  show(out, "mixed", (a * 2 - b.t()).clamp(-0.5, 1.5).sum(1));
  show(out, "types", torch::arange(5, torch::dtype(torch::kInt32)).to(torch::kFloat64) / 2);
  auto [values, places] = torch::cat({a, b.t()}).topk(2, 1);
  show(out, "top", values);
  show(out, "places", places);
  show(out, "where", torch::where(a > 0.5, a, torch::zeros_like(a)));
  show(out, "stats", torch::stack({a.mean(), a.std(), a.max(), a.norm(), b.var()}));
  a[0].mul_(3);
  a.t()[2] += 1;
  show(out, "written", a);
  show(out, "einsum", torch::einsum("ij,jk->ki", {a, b}));
}

void gradients(std::ostream& out) {
  torch::manual_seed(2);
  torch::Tensor w = torch::randn({3}, torch::requires_grad());
  torch::Tensor x = torch::randn({8, 3}), y = torch::randn({8});
  torch::optim::SGD optimizer({w}, torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < 5; ++step) {
    torch::Tensor loss = F::mse_loss(x.matmul(w), y);
    optimizer.zero_grad();
    {
      torch::NoGradGuard no_grad;
      w.mutable_grad() = x.t().matmul(x.matmul(w) - y) * 2 / 8;
    }
    optimizer.step();
    show(out, "loss", loss);
  }
  show(out, "w", w);
  torch::NoGradGuard no_grad;
  show(out, "detached", (w * 2).detach());
}

struct NetImpl : torch::nn::Module {
  NetImpl() : fc1(register_module("fc1", torch::nn::Linear(4, 5))), fc2(4 + 1, 2) {
    register_module("fc2", fc2);
    scale = register_parameter("scale", torch::ones(2));
    shift = register_buffer("shift", torch::full({2}, 0.5));
  }
  torch::Tensor forward(torch::Tensor x) { return torch::relu(fc1(x)).mm(fc2->weight.t()) * scale + shift; }
  torch::nn::Linear fc1, fc2;
  torch::Tensor scale, shift;
};
TORCH_MODULE(Net);

void module(std::ostream& out) {
  torch::manual_seed(3);
  Net net;
  show(out, "out", net->forward(torch::randn({2, 4})));
  for (const auto& pair : net->named_parameters()) show(out, pair.key(), pair.value());
  show(out, "buffers", net->buffers()[0]);
  int64_t count = 0;
  for (const auto& p : net->parameters()) count += p.numel();
  show(out, "count", torch::tensor(count));
}

struct Points : torch::data::datasets::Dataset<Points> {
  Points(torch::Tensor x, torch::Tensor y) : x_(std::move(x)), y_(std::move(y)) {}
  torch::data::Example<> get(size_t index) override {
    const auto i = static_cast<int64_t>(index);
    return {x_[i], y_[i]};
  }
  torch::optional<size_t> size() const override { return x_.size(0); }
  torch::Tensor x_, y_;
};

void training(std::ostream& out) {
  torch::manual_seed(4);
  torch::nn::Linear fc1(4, 8), fc2(8, 3);
  torch::Tensor x = torch::randn({12, 1, 2, 2}), y = torch::randint(0, 3, {12});
  std::vector<torch::Tensor> parameters = fc1->parameters();
  for (const auto& p : fc2->parameters()) parameters.push_back(p);
  torch::optim::Adam optimizer(parameters, torch::optim::AdamOptions(0.05));
  auto set = Points(x, y).map(torch::data::transforms::Normalize<>(0.1, 0.9)).map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader(std::move(set), 5);
  for (int epoch = 0; epoch < 3; ++epoch) {
    double total = 0;
    for (auto& batch : *loader) {
      const torch::Tensor data = batch.data.flatten(1), target = batch.target;
      const torch::Tensor hidden = torch::relu(fc1->forward(data)), scores = fc2->forward(hidden);
      const torch::Tensor loss = F::cross_entropy(scores, target);
      optimizer.zero_grad();
      {
        torch::NoGradGuard no_grad;
        const torch::Tensor d_scores = (torch::softmax(scores, 1) - F::one_hot(target, 3)) / static_cast<double>(data.size(0));
        const torch::Tensor d_hidden = d_scores.mm(fc2->weight) * (hidden > 0);
        fc2->weight.mutable_grad() = d_scores.t().mm(hidden);
        fc2->bias.mutable_grad() = d_scores.sum(0);
        fc1->weight.mutable_grad() = d_hidden.t().mm(data);
        fc1->bias.mutable_grad() = d_hidden.sum(0);
      }
      optimizer.step();
      total += loss.item<float>();
    }
    show(out, "epoch", torch::tensor(total));
  }
  show(out, "weight", fc1->weight);
  show(out, "bias", fc2->bias);
  show(out, "classes", fc2(torch::relu(fc1(x.flatten(1)))).argmax(1));
}

void convolutions(std::ostream& out) {
  torch::manual_seed(5);
  torch::nn::Sequential net;  // one by one: the order in which C++ evaluates a call's arguments is its own
  net->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3).padding(1)));
  net->push_back(torch::nn::BatchNorm2d(4));
  net->push_back(torch::nn::ReLU());
  net->push_back(torch::nn::MaxPool2d(2));
  net->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 6, 3).stride(2)));
  net->push_back(torch::nn::Dropout2d(0.5));
  net->push_back(torch::nn::AdaptiveAvgPool2d(1));
  net->push_back(torch::nn::Flatten());
  net->push_back(torch::nn::Linear(6, 3));
  torch::Tensor x = torch::randn({2, 1, 12, 12});
  show(out, "train", net->forward(x));
  const auto* norm = net->ptr(1)->as<torch::nn::BatchNorm2d>();
  show(out, "mean", norm->running_mean);
  show(out, "var", norm->running_var);
  net->eval();
  show(out, "eval", torch::log_softmax(net->forward(x), 1));
}

void saving(std::ostream& out) {
  torch::manual_seed(6);
  torch::nn::Linear net(3, 2), other(3, 2);
  const std::string path = (std::filesystem::temp_directory_path() / ("tenon_programs_" + std::to_string(getpid()))).string();
  torch::save(net, path);
  torch::load(other, path);
  std::vector<torch::Tensor> list;
  torch::save(std::vector<torch::Tensor>{torch::arange(3.), torch::eye(2)}, path);
  torch::load(list, path);
  std::remove(path.c_str());
  show(out, "weight", other->weight);
  show(out, "same", other(torch::ones({1, 3})) - net(torch::ones({1, 3})));
  show(out, "list", list[1]);
}

void indexing(std::ostream& out) {
  torch::Tensor x = torch::arange(24.).view({2, 3, 4});
  show(out, "slice", x.index({Slice(), Slice(1, None), Slice(None, None, 2)}));
  show(out, "ellipsis", x.index({Ellipsis, -1}));
  show(out, "none", x.index({0, None, 1}));
  show(out, "list", x.index({Slice(), torch::tensor({2, 0})}));
  show(out, "mask", x.index({x > 17}));
  x.index_put_({1, "...", Slice(2)}, -1);
  x.index_put_({0, torch::tensor({0, 2}), torch::tensor({1, 3})}, torch::tensor({50., 60.}));
  x.index({x < 0}) *= 2;  // of a copy, as in LibTorch
  x.index_put_({x < 0}, x.index({x < 0}) * 2);
  show(out, "written", x);
  show(out, "scalar", x.index({1, 2, 0}));
}

// As in LibTorch's example of a DCGAN.
struct DCGANGeneratorImpl : torch::nn::Module {
  explicit DCGANGeneratorImpl(int64_t noise)
      : conv1(torch::nn::ConvTranspose2dOptions(noise, 8, 4).bias(false)),
        batch_norm1(8),
        conv2(torch::nn::ConvTranspose2dOptions(8, 4, 3).stride(2).padding(1).bias(false)),
        batch_norm2(4),
        conv3(torch::nn::ConvTranspose2dOptions(4, 1, 4).stride(2).padding(1).bias(false)) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv3", conv3);
    register_module("batch_norm1", batch_norm1);
    register_module("batch_norm2", batch_norm2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(batch_norm1(conv1(x)));
    x = torch::relu(batch_norm2(conv2(x)));
    return torch::tanh(conv3(x));
  }
  torch::nn::ConvTranspose2d conv1;
  torch::nn::BatchNorm2d batch_norm1;
  torch::nn::ConvTranspose2d conv2;
  torch::nn::BatchNorm2d batch_norm2;
  torch::nn::ConvTranspose2d conv3;
};
TORCH_MODULE(DCGANGenerator);

void gan(std::ostream& out) {
  using namespace torch;
  manual_seed(7);
  DCGANGenerator generator(5);
  const auto leaky = nn::LeakyReLUOptions().negative_slope(0.2).inplace(true);
  nn::Sequential discriminator;
  discriminator->push_back(nn::Conv2d(nn::Conv2dOptions(1, 4, 4).stride(2).padding(1).bias(false)));
  discriminator->push_back(nn::LeakyReLU(leaky));
  discriminator->push_back(nn::Conv2d(nn::Conv2dOptions(4, 8, 4).stride(2).padding(1).bias(false)));
  discriminator->push_back(nn::BatchNorm2d(8));
  discriminator->push_back(nn::LeakyReLU(leaky));
  discriminator->push_back(nn::Conv2d(nn::Conv2dOptions(8, 1, 3).stride(1).padding(0).bias(false)));
  discriminator->push_back(nn::Sigmoid());
  optim::Adam optimizer(discriminator->parameters(), optim::AdamOptions(2e-4).betas(std::make_tuple(0.5, 0.5)));
  const Tensor real = rand({3, 1, 14, 14}) * 2 - 1, labels = empty(3).uniform_(0.8, 1.0);
  const Tensor seen = discriminator->forward(real).reshape(labels.sizes());
  show(out, "real", binary_cross_entropy(seen, labels));
  const Tensor fake = generator->forward(randn({3, 5, 1, 1}));
  show(out, "fake", fake[0][0][6]);
  show(out, "fooled", binary_cross_entropy(discriminator->forward(fake.detach()).reshape({-1}), zeros(3)));
  for (auto& p : discriminator->parameters()) p.mutable_grad() = p.detach() * 0.5 + 0.1;
  optimizer.step();
  show(out, "after", discriminator->forward(real));
}

void characters(std::ostream& out) {
  torch::manual_seed(8);
  const std::string text = "hello tensor";
  std::map<char, int64_t> letters;
  for (char c : text) letters[c] = 0;
  int64_t next = 0;
  for (auto& [letter, id] : letters) id = next++;
  std::vector<int64_t> numbers;
  for (char c : text) numbers.push_back(letters[c]);
  const torch::Tensor ids = torch::tensor(numbers);
  torch::nn::Embedding embedding(next, 6);
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(6, 7).num_layers(2));
  torch::nn::Linear decoder(7, next);
  auto [result, state] = lstm->forward(embedding->forward(ids.slice(0, 0, -1)).unsqueeze(1));
  show(out, "loss", F::cross_entropy(decoder(result).squeeze(1), ids.slice(0, 1)));
  show(out, "h", std::get<0>(state));
  show(out, "c", std::get<1>(state)[1]);
  torch::Tensor letter = ids.index({Slice(0, 1)});
  std::vector<torch::Tensor> said;
  for (int i = 0; i < 5; ++i) {
    torch::Tensor step;
    std::tie(step, state) = lstm->forward(embedding->forward(letter).unsqueeze(1), state);
    letter = decoder->forward(step).view({1, -1}).argmax(1);
    said.push_back(letter);
  }
  show(out, "said", torch::cat(said));
  torch::nn::GRU gru(torch::nn::GRUOptions(6, 3).bidirectional(true));
  show(out, "gru", std::get<0>(gru->forward(embedding->forward(ids.slice(0, 0, 3)).unsqueeze(1))));
}

class Numbers : public torch::data::Dataset<Numbers> {
 public:
  explicit Numbers(int64_t count) : count_(count) {}
  torch::data::Example<> get(size_t index) override {
    return {torch::full({3}, static_cast<double>(index)), torch::tensor(static_cast<int64_t>(index % 2))};
  }
  torch::optional<size_t> size() const override { return count_; }

 private:
  int64_t count_;
};

void dataset(std::ostream& out) {
  torch::Tensor total = torch::zeros(3);
  auto set = Numbers(7).map(torch::data::transforms::Stack<>());
  const size_t size = set.size().value();
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(set), torch::data::DataLoaderOptions().batch_size(3).workers(2));
  size_t seen = 0;
  for (torch::data::Example<>& batch : *loader) {
    show(out, "batch", batch.data);
    show(out, "labels", batch.target);
    total += batch.data.sum(0);
    seen += batch.data.size(0);
  }
  CHECK(seen == size);
  show(out, "total", total);
}

// The words of both are the same, numbers to float32's accuracy.
bool same_words(const std::string& got, const std::string& want) {
  std::istringstream a(got), b(want);
  std::string p, q;
  while (b >> q) {
    if (!(a >> p)) return false;
    char* end = nullptr;
    const double number = std::strtod(q.c_str(), &end);
    if (*end ? p != q : !(std::abs(std::stod(p) - number) <= 2e-5 * std::abs(number) + 2e-6)) return false;
  }
  return !(a >> p);
}

}  // namespace

TEST_CASE("programs written for LibTorch print what PyTorch prints") {
  using Program = void (*)(std::ostream&);
  const std::map<std::string, Program> programs{
      {"tensor_basics", tensor_basics}, {"gradients", gradients}, {"module", module},     {"training", training},
      {"convolutions", convolutions},   {"saving", saving},       {"indexing", indexing}, {"gan", gan},
      {"characters", characters},       {"dataset", dataset}};
  std::ifstream file(data_folder() + "/programs.txt");
  std::string line, name;
  std::istringstream printed;
  size_t ran = 0;
  while (std::getline(file, line)) {
    if (line.starts_with("### ")) {
      CHECK(!std::getline(printed, name));  // nothing left over
      name = line.substr(4);
      std::ostringstream out;
      programs.at(name)(out);
      printed = std::istringstream(out.str());
      ++ran;
      continue;
    }
    std::string got;
    std::getline(printed, got);
    CHECK_MESSAGE(same_words(got, line), name << ": " << got << "\n    expected " << line);
  }
  CHECK(ran == programs.size());
}
