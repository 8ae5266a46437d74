// Writes files for readers that are not Tenon's: exchange_files FOLDER. scripts/check/check_readers.py opens them with NumPy, safetensors,
// PyTorch and TensorBoard, and knows what must be in them.
#include <tenon/tenon.h>

#include <cmath>
#include <iostream>
#include <string>

using namespace tenon;

namespace {

constexpr ScalarType kTypes[] = {kBool, kUInt8, kInt8, kInt16, kInt32, kInt64, kHalf, kBFloat16, kFloat, kDouble};

io::NamedTensors all_types(bool with_bfloat16) {
  io::NamedTensors all;
  for (const ScalarType type : kTypes) {
    if (type == kBFloat16 && !with_bfloat16) continue;
    all.insert(toString(type), (arange(6) - (type == kUInt8 ? 0 : 2)).to(type).reshape({2, 3}));
  }
  all.insert("transposed", arange(6, kFloat).reshape({2, 3}).t());
  all.insert("sliced", arange(20).slice(0, 3, 19, 4));
  all.insert("scalar", tensor(2.5));
  all.insert("none", zeros({3, 0}));
  all.insert("läyer \"1\"", tensor({INFINITY, -0.0f, NAN}));
  return all;
}

void write_tensors(const std::string& folder) {
  io::save_safetensors(folder + "/tensors.safetensors", all_types(true), {{"format", "pt"}, {"note", "a \"b\"\n"}});
  io::NamedTensors arrays = all_types(false);
  io::save_npz(folder + "/stored.npz", arrays);
  io::save_npz(folder + "/deflated.npz", arrays, true);
  for (const auto& [name, value] : arrays) {
    if (name[0] != 'l') io::save_npy(folder + "/" + name + ".npy", value);
  }
}

// The network of check_readers.py.
nn::Sequential make_net() {
  manual_seed(0);
  return nn::Sequential{nn::Linear(nn::LinearOptions(4, 8).bias(false)), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 3)};
}

template <typename Optimizer, typename Options>
void train(const std::string& folder, const std::string& name, Options options) {
  nn::Sequential net = make_net();
  manual_seed(1);
  const Tensor x = randn({32, 4}), y = randint(0, 3, {32});
  if (name == "sgd") {
    save(net, folder + "/net.safetensors");
    io::save_safetensors(folder + "/batch.safetensors", {{"x", x}, {"y", y}});
  }
  Optimizer optimizer(net->parameters(), options);
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    nn::functional::cross_entropy(net->forward(x), y).backward();
    optimizer.step();
  }
  save(net, folder + "/net_" + name + ".safetensors");
  save(optimizer, folder + "/" + name + ".safetensors");
}

void write_trainings(const std::string& folder) {
  train<optim::SGD>(folder, "sgd", optim::SGDOptions(0.1).momentum(0.9).nesterov(true));
  train<optim::Adam>(folder, "adam", optim::AdamOptions(0.01).amsgrad(true).weight_decay(0.1));
  train<optim::AdamW>(folder, "adamw", optim::AdamWOptions(0.01).betas({0.8, 0.99}));
  train<optim::RMSprop>(folder, "rmsprop", optim::RMSpropOptions(0.01).momentum(0.5).centered(true));
  train<optim::Adagrad>(folder, "adagrad", optim::AdagradOptions(0.1).lr_decay(0.1));
}

void write_events(const std::string& folder) {
  tensorboard::SummaryWriter writer(folder + "/run");
  for (int64_t step = 0; step < 300; ++step) writer.add_scalar("loss/train", 1.0 / static_cast<double>(step + 1), step);
  writer.add_scalar("odd", std::nan(""), 1);
  writer.add_scalar("odd", INFINITY, int64_t{1} << 40);
  writer.add_scalars("both", {{"train", 0.5}, {"test", 0.75}}, 7);
  manual_seed(0);
  writer.add_histogram("normal", randn({1000}), 3, 20);
  writer.add_histogram("one value", full({5}, 2.0), 4);
  writer.add_histogram("with nan", tensor({0.0, 1.0, 1.0, 4.0, std::nan("")}), 300, 4);
  const Tensor image = arange(3 * 5 * 4, kFloat).reshape({3, 5, 4}) / 59 * 1.2 - 0.1;  // some below 0, some above 1
  writer.add_image("color", image, 1);
  writer.add_image("gray", image[0], 1);
  writer.add_image("bytes", arange(4 * 2 * 3).reshape({4, 2, 3}).to(kByte), 1);
  writer.add_text("note", "the **first** run: ä", 2);
  const Tensor x = rand({4, 3}), w = rand({3, 2});
  eval(x, w);
  writer.add_graph(x.mm(w).relu().sum(1));
  writer.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: exchange_files FOLDER\n";
    return 2;
  }
  try {
    write_tensors(argv[1]);
    write_trainings(argv[1]);
    write_events(argv[1]);
  } catch (const Error& error) {
    std::cerr << "exchange_files: " << error.what() << "\n";
    return 1;
  }
}
