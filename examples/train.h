// What the training examples share: their options, where their images come from, a pass over them, and what
// is printed of it.
#pragma once
#include <tenon/tenon.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "device.h"

namespace examples {

using namespace tenon;

struct Options {
  std::string data, device = "cpu", optimizer = "adam", checkpoint, logs, curve;
  double lr = 1e-3;
  int64_t epochs, batch_size, limit = 0, workers = 2, seed = 0;

  Options(int64_t epochs, int64_t batch_size, std::string curve) : curve(std::move(curve)), epochs(epochs), batch_size(batch_size) {}

  void add_to(CLI::App& app) {
    app.add_option("--epochs", epochs, "passes over the training images")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--batch-size", batch_size, "images in a step")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--limit", limit, "use only the first N training images")->check(CLI::PositiveNumber);
    app.add_option("--optimizer", optimizer)->capture_default_str()->check(CLI::IsMember({"adam", "sgd"}));
    app.add_option("--lr", lr, "learning rate")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--seed", seed, "of the weights and of the order of the images")->capture_default_str();
    app.add_option("--workers", workers, "threads that make batches")->capture_default_str()->check(CLI::NonNegativeNumber);
    app.add_option("--checkpoint", checkpoint, "saved here after each epoch; a run goes on where this file stands");
    app.add_option("--logs", logs, "folder for TensorBoard");
    app.add_option("--curve", curve, "the loss of each step is drawn here as SVG")->capture_default_str();
  }
};

// Images [samples, channels, height, width] of bytes, and labels. A batch, gathered and scaled to [-1, 1], is one kernel.
class Images : public data::datasets::BatchDataset<Images, data::Example<>> {
 public:
  Images(Tensor pixels, Tensor labels, int64_t channels) : pixels_(std::move(pixels)), labels_(std::move(labels)), channels_(channels) {}

  data::Example<> get_batch(ArrayRef<size_t> indices) override {
    const Tensor rows = tensor(std::vector<int64_t>(indices.begin(), indices.end()));
    const Tensor x = pixels_.index_select(0, rows).to(kFloat).div(255).sub(0.5).div(0.5);
    return {x.expand({-1, channels_, -1, -1}), labels_.index_select(0, rows)};
  }
  optional<size_t> size() const override { return static_cast<size_t>(count()); }
  int64_t count() const { return labels_.size(0); }
  // The first n of them; all if n is 0 or there are fewer.
  Images first(int64_t n) const {
    const int64_t end = n == 0 ? count() : std::min(n, count());
    return {pixels_.slice(0, 0, end), labels_.slice(0, 0, end), channels_};
  }
  data::Example<> rows(int64_t begin, int64_t end) {
    std::vector<size_t> indices;
    for (int64_t i = begin; i < end; ++i) indices.push_back(static_cast<size_t>(i));
    return get_batch(indices);
  }

 private:
  Tensor pixels_, labels_;
  int64_t channels_;
};

// Images that this program draws itself, for a machine that has no others: stripes in ten directions, each
// image with another width, place, brightness and noise.
inline Images drawn_images(int64_t count, int64_t channels, int64_t size, uint64_t seed) {
  manual_seed(seed);
  const auto each = [&](double low, double high) { return rand({count, 1, 1, 1}) * (high - low) + low; };
  const Tensor labels = randint(10, {count}, kLong), angle = labels.to(kFloat).view({-1, 1, 1, 1}) * (M_PI / 10);
  const Tensor place = arange(size, kFloat), x = place.view({1, 1, 1, -1}), y = place.view({1, 1, -1, 1});
  const Tensor wave = (each(0.5, 1.0) * (x * angle.cos() + y * angle.sin()) + each(0, 2 * M_PI)).sin();
  const Tensor noise = randn({count, channels, size, size}) * 25;
  const Tensor pixels = (each(90, 160) + each(30, 80) * wave + noise).clamp(0, 255).to(kByte);
  eval(pixels, labels);
  return {pixels, labels, channels};
}

// --- where images are

constexpr const char* kFashion = "/usr/share/datasets/fashion-mnist";  // of Debian's package dataset-fashion-mnist
constexpr const char* kHowToGetImages =
    "get some with: sudo apt install dataset-fashion-mnist, or CIFAR-10's cifar-10-binary.tar.gz, "
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz (md5 c32a1d4ab5d03f1284b67883e8d87530), "
    "unpacked here or given by --data";

inline bool has_cifar(const std::string& folder) {
  return std::filesystem::exists(folder + "/data_batch_1.bin") ||
         std::filesystem::exists(folder + "/cifar-10-batches-bin/data_batch_1.bin");
}
inline bool has_idx(const std::string& folder) {
  for (const char* inside : {"", "/MNIST/raw"}) {
    const std::string file = folder + inside + "/train-images-idx3-ubyte";
    if (std::filesystem::exists(file) || std::filesystem::exists(file + ".gz")) return true;
  }
  return false;
}

// The folder that was asked for, else the first of these that has images; empty if none has. Error if the one
// asked for has none.
inline std::string find_images(const std::string& program, const std::string& given, const std::vector<std::string>& places,
                               bool (*has)(const std::string&)) {
  std::string tried;
  for (const std::string& folder : given.empty() ? places : std::vector<std::string>{given}) {
    if (has(folder)) return folder;
    tried += (tried.empty() ? "" : ", ") + folder;
  }
  const std::string nothing = "no images in " + tried + "; " + kHowToGetImages;
  if (!given.empty()) throw Error(nothing);
  std::printf("%s: %s\n", program.c_str(), nothing.c_str());
  return {};
}

// What a run is about to do, as its first words.
inline void announce(const Options& o, const std::string& who, const std::string& what, const Images& images, const Images& test) {
  std::printf(
      "%s learns %s: %lld epochs of %lld images in batches of %lld, %s with a rate of %g; then %lld others "
      "are tried\n",
      who.c_str(), what.c_str(), static_cast<long long>(o.epochs), static_cast<long long>(images.count()),
      static_cast<long long>(o.batch_size), o.optimizer.c_str(), o.lr, static_cast<long long>(test.count()));
  std::fflush(stdout);
}

// What there is to look at, as its last: the losses, smoothed as well.
inline void draw_losses(const std::string& file, const std::vector<double>& losses) {
  if (file.empty() || losses.empty()) return;
  std::vector<double> smooth;
  for (const double loss : losses) smooth.push_back(smooth.empty() ? loss : 0.98 * smooth.back() + 0.02 * loss);
  io::save_curve(file, {{"each step", losses}, {"smoothed", smooth}}, io::CurveOptions("loss").x_label("step"));
  std::printf("look at %s: the loss of each step\n", std::filesystem::absolute(file).c_str());
}

// One generator of batches in random order: its epochs draw from the default generator.
inline auto make_loader(const Images& images, int64_t batch_size, int64_t workers) {
  return data::make_data_loader<data::samplers::RandomSampler>(
      images, data::DataLoaderOptions(static_cast<size_t>(batch_size)).workers(static_cast<size_t>(workers)));
}

inline std::unique_ptr<optim::Optimizer> make_optimizer(const Options& o, nn::Module& net) {
  if (o.optimizer == "sgd") return std::make_unique<optim::SGD>(net.parameters(), optim::SGDOptions(o.lr).momentum(0.9));
  return std::make_unique<optim::Adam>(net.parameters(), optim::AdamOptions(o.lr));
}

inline double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// One pass: the loss of each step. Nothing waits for a loss before the next step is recorded.
template <typename Net, typename Loader>
std::vector<double> train_epoch(Net& net, Loader& loader, optim::Optimizer& optimizer, Device device, ProgressBar* bar) {
  std::vector<Tensor> losses;
  for (auto& batch : loader) {
    const Tensor loss = nn::functional::cross_entropy(net->forward(batch.data.to(device)), batch.target.to(device));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.detach());
    if (bar) bar->advance();
  }
  const Tensor all = stack(losses).to(kDouble).cpu();
  return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel()};
}

// The share of the images whose class the net names.
template <typename Net>
double accuracy(Net& net, Images& images, Device device) {
  const NoGradGuard no_grad;
  int64_t right = 0;
  for (int64_t i = 0; i < images.count(); i += 500) {
    const data::Example<> batch = images.rows(i, std::min(i + 500, images.count()));
    const Tensor guess = net->forward(batch.data.to(device)).argmax(1).cpu();
    right += (guess == batch.target).sum().template item<int64_t>();
  }
  return static_cast<double>(right) / static_cast<double>(images.count());
}

inline double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

// Trains `make_net()` on a device, from a checkpoint if there is one; prints a line for each epoch. The loss
// of each step.
template <typename MakeNet>
std::vector<double> train(const Options& o, const Images& images, Images& test, Device device, MakeNet make_net) {
  auto loader = make_loader(images, o.batch_size, o.workers);  // the generator of its first order is not ours yet
  manual_seed(static_cast<uint64_t>(o.seed));
  auto net = make_net();
  net->to(device);
  const auto optimizer = make_optimizer(o, *net);
  int64_t epoch = 0, step = 0;
  std::vector<double> all;
  io::Checkpoint checkpoint(o.checkpoint);
  checkpoint.add("model", *net).add("optimizer", *optimizer).add("epoch", epoch).add("step", step);
  if (!o.checkpoint.empty() && checkpoint.load_if_there())
    std::printf("%s: going on after epoch %lld\n", o.checkpoint.c_str(), static_cast<long long>(epoch));
  std::optional<tensorboard::SummaryWriter> writer;
  if (!o.logs.empty()) writer.emplace(o.logs);

  const int64_t steps = (images.count() + o.batch_size - 1) / o.batch_size;
  while (epoch < o.epochs) {
    const double start = seconds();
    ProgressBar bar("epoch " + std::to_string(epoch + 1), steps);
    const std::vector<double> losses = train_epoch(net, *loader, *optimizer, device, &bar);
    bar.finish();
    const double trained = seconds() - start, share = accuracy(net, test, device);
    if (writer) {
      for (size_t i = 0; i < losses.size(); ++i) writer->add_scalar("Train/Loss", losses[i], step + static_cast<int64_t>(i));
      writer->add_scalar("Test/Accuracy", share, epoch);
    }
    all.insert(all.end(), losses.begin(), losses.end());
    step += static_cast<int64_t>(losses.size());
    ++epoch;
    std::printf("epoch %2lld  loss %.5f  test accuracy %5.2f %%  %.2f s on %s\n", static_cast<long long>(epoch), mean_of(losses),
                100 * share, trained, device.str().c_str());
    std::fflush(stdout);
    if (!o.checkpoint.empty()) checkpoint.save();
  }
  return all;
}

}  // namespace examples
