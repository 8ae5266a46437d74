// The main example: the tutorial's network of three layers (4-8-9-3, relu) learns the species of iris flowers from four
// measurements, in 100 epochs of Adam over all 120 training rows, and is then asked for the 30 others. Each epoch (forward
// pass, loss, gradients, update) is one graph: it is compiled in the first epochs, and the others find its plan.
//
//   iris_train [--adam=classic] [--curve=FILE] [--device cpu|cuda] [FOLDER]
//
//   FOLDER          holds iris.csv (default: examples/data)
//   --adam=classic  Adam as PyTorch had it before 1.3, with which the tutorial printed its losses
//   --curve=FILE    where the losses are drawn as SVG (default: iris_train.svg)
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include "data.h"
#include "device.h"

#ifndef TENON_EXAMPLE_DATA
#define TENON_EXAMPLE_DATA "examples/data"
#endif

using namespace tenon;

namespace {

constexpr int64_t kEpochs = 100;

struct IrisNetImpl : nn::Module {
  explicit IrisNetImpl(int64_t in = 4, int64_t h1 = 8, int64_t h2 = 9, int64_t species = 3) {
    fc1 = register_module("fc1", nn::Linear(in, h1));
    fc2 = register_module("fc2", nn::Linear(h1, h2));
    out = register_module("out", nn::Linear(h2, species));
  }
  Tensor forward(const Tensor& x) { return out(relu(fc2(relu(fc1(x))))); }
  nn::Linear fc1{nullptr}, fc2{nullptr}, out{nullptr};
};
TENON_MODULE(IrisNet);

// Adam of PyTorch before 1.3: epsilon is added to sqrt(v), not to sqrt(v / (1 - beta2^t)).
class ClassicAdam : public optim::Optimizer {
 public:
  ClassicAdam(std::vector<Tensor> parameters, double lr) : Optimizer(std::move(parameters), std::make_unique<optim::AdamOptions>(lr)) {}

  Tensor step(LossClosure closure = nullptr) override {
    return step_each(closure, [](Tensor& p, Tensor grad, const optim::OptimizerOptions& options, optim::OptimizerParamState& state) {
      const auto& o = static_cast<const optim::AdamOptions&>(options);
      auto& s = static_cast<optim::AdamParamState&>(state);
      const auto [beta1, beta2] = o.betas();
      if (s.step()++ == 0) {
        s.exp_avg(zeros_like(p));
        s.exp_avg_sq(zeros_like(p));
      }
      const double t = static_cast<double>(s.step());
      s.exp_avg().mul_(beta1).add_(grad, 1 - beta1);
      s.exp_avg_sq().mul_(beta2).addcmul_(grad, grad, 1 - beta2);
      const double rate = o.lr() * std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t));
      p.addcdiv_(s.exp_avg(), s.exp_avg_sq().sqrt().add_(o.eps()), -rate);
    });
  }

 protected:
  std::unique_ptr<optim::OptimizerParamState> make_state() const override { return std::make_unique<optim::AdamParamState>(); }
};

constexpr const char* kUsage = "usage: iris_train [--adam=classic] [--curve=FILE.svg] [--device cpu|cuda] [FOLDER]\n";

struct Arguments {
  std::string folder = TENON_EXAMPLE_DATA, curve = "iris_train.svg";
  bool classic = false, help = false;
  Device device;

  Arguments(int argc, char** argv) : device(examples::take_device(argc, argv)) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--adam=classic") classic = true;
      else if (word.starts_with("--curve=")) curve = word.substr(8);
      else if (word == "--help") help = true;
      else if (word.starts_with("-")) throw ValueError("no such option: " + word + "\n" + kUsage);
      else folder = word;
    }
  }
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void run(const Arguments& arguments) {
  const std::string flowers = examples::data_file(arguments.folder, "iris.csv");
  std::printf(
      "iris_train: a network of three layers learns the species of 120 iris flowers from four measurements, "
      "%lld epochs of "
      "Adam on %s; then it is asked for 30 others\n",
      static_cast<long long>(kEpochs), arguments.device.str().c_str());
  std::fflush(stdout);
  const double start = seconds();
  const io::Csv csv = io::read_csv(flowers);
  const Tensor x = csv.drop({"target"}).matrix().to(kFloat32);  // [150, 4], cm
  const Tensor y = csv["target"].to(kInt64);                    // [150], 0 to 2
  const auto [x_train, x_test, y_train, y_test] = data::train_test_split(x, y, data::TrainTestSplitOptions(0.2).random_state(33));
  const Tensor inputs = x_train.to(arguments.device), species = y_train.to(arguments.device);

  manual_seed(32);
  IrisNet net;
  net->to(arguments.device);
  nn::CrossEntropyLoss criterion;
  std::unique_ptr<optim::Optimizer> optimizer;
  if (arguments.classic) optimizer = std::make_unique<ClassicAdam>(net->parameters(), 0.01);
  else optimizer = std::make_unique<optim::Adam>(net->parameters(), 0.01);

  std::vector<double> losses;
  ProgressBar bar("training", kEpochs);
  for (int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    const Tensor loss = criterion(net->forward(inputs), species);
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    losses.push_back(loss.item<double>());  // step() has computed it with the update
    bar.advance({{"loss", losses.back()}});
  }
  bar.finish();
  const double trained = seconds();

  for (int64_t epoch = 1; epoch <= kEpochs; epoch += 10)
    std::printf("epoch: %2lld  loss: %10.8f\n", static_cast<long long>(epoch), losses[static_cast<size_t>(epoch - 1)]);
  NoGradGuard no_grad;
  const Tensor logits = net->forward(x_test.to(arguments.device)).cpu();
  const Tensor right = (logits.argmax(1) == y_test).sum();
  std::printf("test loss: %.6f, %lld of %lld right\n", criterion(logits, y_test).item<double>(),
              static_cast<long long>(right.item<int64_t>()), static_cast<long long>(y_test.size(0)));
  std::printf("%lld epochs in %.0f ms, compilation included; %lld kernels were compiled\n", static_cast<long long>(kEpochs),
              1e3 * (trained - start), static_cast<long long>(counters().kernels_compiled));
  if (arguments.curve.empty()) return;
  io::save_curve(arguments.curve, {{"train", losses}}, io::CurveOptions("loss").x_label("epoch").log_y(true));
  std::printf("look at %s: the loss of each epoch\n", std::filesystem::absolute(arguments.curve).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments(argc, argv);
    if (arguments.help) std::cout << kUsage;
    else run(arguments);
  } catch (const Error& error) {
    std::cerr << "iris_train: " << error.what() << "\n";
    return 1;
  }
}
