// Training steps, as train.py asks for them. A row is trained by a line with its name on standard input, for a tenth of a second
// or one step; the answer is the seconds of a step, the time to prepare not counted, and at the row's first line "NAME check LOSS"
// before it, the loss of a fixed number of steps. "memory" answers the most bytes that this process has had. `bench_train iris`
// instead trains the tutorial's 100 epochs from the CSV file and ends: what a user waits for.
#include <sys/resource.h>
#include <tenon/tenon.h>

#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "bench/harness.h"

namespace {

using namespace tenon;
using Step = std::function<Tensor()>;

// Forward pass and loss, gradients and update, on one batch.
template <typename Optimizer>
Step training_of(std::function<Tensor()> loss_of, std::shared_ptr<Optimizer> optimizer) {
  return [=] {
    const Tensor loss = loss_of();
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    return loss.detach();
  };
}

Step training(nn::Sequential net, const Tensor& x, const Tensor& y) {
  eval(x, y);
  const auto loss_of = [=] { return nn::functional::cross_entropy(nn::Sequential(net)->forward(x), y); };
  return training_of(loss_of, std::make_shared<optim::Adam>(net->parameters()));
}

Step mlp(int64_t batch) {
  manual_seed(0);
  nn::Sequential net{nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(), nn::Linear(512, 10)};
  manual_seed(1);
  const Tensor x = rand({batch, 784});
  return training(net, x, randint(0, 10, {batch}));
}

Step conv_net(int64_t batch) {
  manual_seed(0);
  nn::MaxPool2d pool(nn::MaxPool2dOptions(2).stride(2));
  nn::Sequential net{nn::Conv2d(3, 6, 5),
                     nn::ReLU(),
                     pool,
                     nn::Conv2d(nn::Conv2dOptions(6, 16, 5).padding(3)),
                     nn::ReLU(),
                     nn::Conv2d(16, 16, 5),
                     nn::ReLU(),
                     pool,
                     nn::Conv2d(16, 16, 3),
                     nn::ReLU(),
                     pool,
                     nn::Flatten(),
                     nn::Linear(64, 120),
                     nn::ReLU(),
                     nn::Linear(120, 84),
                     nn::ReLU(),
                     nn::Linear(84, 10)};
  manual_seed(1);
  const Tensor x = (rand({batch, 3, 32, 32}) - 0.5) / 0.5;
  return training(net, x, randint(0, 10, {batch}));
}

// Two convolutions of 64 channels with batch norms, over images of 32x32.
Step residual_block(int64_t batch) {
  manual_seed(0);
  const auto convolution = [] { return nn::Conv2d(nn::Conv2dOptions(64, 64, 3).padding(1).bias(false)); };
  nn::Sequential inner;
  for (const bool last : {false, true}) {
    inner->push_back(convolution());
    inner->push_back(nn::BatchNorm2d(64));
    if (!last) inner->push_back(nn::ReLU());
  }
  manual_seed(1);
  const Tensor x = rand({batch, 64, 32, 32}) - 0.5, y = rand({batch, 64, 32, 32});
  eval(x, y);
  const auto loss_of = [=] { return nn::functional::mse_loss(relu(nn::Sequential(inner)->forward(x) + x), y); };
  return training_of(loss_of, std::make_shared<optim::SGD>(inner->parameters(), 0.01));
}

// A class for each of 32 sequences of 50 steps, from the state after the last one.
Step lstm() {
  manual_seed(0);
  nn::LSTM layer(nn::LSTMOptions(64, 128).batch_first(true));
  nn::Linear head(128, 10);
  manual_seed(1);
  const Tensor x = rand({32, 50, 64}) - 0.5, y = randint(0, 10, {32});
  eval(x, y);
  std::vector<Tensor> parameters = layer->parameters();
  for (const Tensor& parameter : head->parameters()) parameters.push_back(parameter);
  const auto loss_of = [=] {
    const Tensor all = std::get<0>(layer->forward(x));
    return nn::functional::cross_entropy(head->forward(all.select(1, -1)), y);
  };
  return training_of(loss_of, std::make_shared<optim::Adam>(parameters));
}

constexpr int64_t kBatch = 12, kTokens = 64, kWidth = 128, kHeads = 4, kDepth = 4, kWords = 65;

struct BlockImpl : nn::Module {
  Tensor forward(const Tensor& x) {
    const auto parts = to_heads->forward(norm1->forward(x)).view({kBatch, kTokens, 3, kHeads, kWidth / kHeads}).permute({2, 0, 3, 1, 4});
    const Tensor heads = scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true);
    const Tensor y = x + from_heads->forward(heads.transpose(1, 2).reshape({kBatch, kTokens, kWidth}));
    return y + down->forward(nn::functional::gelu(up->forward(norm2->forward(y))));
  }
  nn::LayerNorm norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
  nn::Linear to_heads = register_module("to_heads", nn::Linear(kWidth, 3 * kWidth));
  nn::Linear from_heads = register_module("from_heads", nn::Linear(kWidth, kWidth));
  nn::LayerNorm norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
  nn::Linear up = register_module("up", nn::Linear(kWidth, 4 * kWidth));
  nn::Linear down = register_module("down", nn::Linear(4 * kWidth, kWidth));
};
TENON_MODULE(Block);

struct LanguageModelImpl : nn::Module {
  Tensor forward(const Tensor& words) {
    Tensor x = embedding->forward(words) + places->forward(arange(kTokens));
    for (const Block& block : blocks) x = Block(block)->forward(x);
    return head->forward(norm->forward(x));
  }
  nn::Embedding embedding = register_module("embedding", nn::Embedding(kWords, kWidth));
  nn::Embedding places = register_module("places", nn::Embedding(kTokens, kWidth));
  std::vector<Block> blocks = [this] {
    std::vector<Block> all;
    for (int64_t i = 0; i < kDepth; ++i) all.push_back(register_module("block" + std::to_string(i), Block()));
    return all;
  }();
  nn::LayerNorm norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
  nn::Linear head = register_module("head", nn::Linear(kWidth, kWords));
};
TENON_MODULE(LanguageModel);

// The next word of each, by causal attention.
Step transformer() {
  manual_seed(0);
  LanguageModel model;
  manual_seed(1);
  const Tensor words = randint(0, kWords, {kBatch, kTokens}), next = randint(0, kWords, {kBatch * kTokens});
  eval(words, next);
  const auto loss_of = [=] { return nn::functional::cross_entropy(LanguageModel(model)->forward(words).view({-1, kWords}), next); };
  return training_of(loss_of, std::make_shared<optim::AdamW>(model->parameters()));
}

// A class for each of the sequences, from the mean over its tokens.
Step encoder() {
  manual_seed(0);
  const auto layer = nn::TransformerEncoderLayerOptions(kWidth, kHeads).dim_feedforward(4 * kWidth).dropout(0.0);
  nn::TransformerEncoder stack(nn::TransformerEncoderOptions(layer, kDepth));
  nn::Linear head(kWidth, 10);
  manual_seed(1);
  const Tensor x = rand({kTokens, kBatch, kWidth}) - 0.5, y = randint(0, 10, {kBatch});
  const Tensor mask = full({kTokens, kTokens}, -INFINITY).triu(1);
  eval(x, y, mask);
  std::vector<Tensor> parameters = stack->parameters();
  for (const Tensor& parameter : head->parameters()) parameters.push_back(parameter);
  const auto loss_of = [=] {
    return nn::functional::cross_entropy(nn::Linear(head)->forward(nn::TransformerEncoder(stack)->forward(x, mask).mean(0)), y);
  };
  return training_of(loss_of, std::make_shared<optim::AdamW>(parameters));
}

nn::Sequential iris_net() {
  manual_seed(32);
  return nn::Sequential{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 9), nn::ReLU(), nn::Linear(9, 3)};
}

std::pair<Tensor, Tensor> iris_rows() {
  const io::Csv csv = io::read_csv(BENCH_FOLDER "/../examples/data/iris.csv");
  const auto [x, x_test, y, y_test] = data::train_test_split(csv.drop({"target"}).matrix().to(kFloat), csv["target"].to(kLong),
                                                             data::TrainTestSplitOptions(0.2).random_state(33));
  return {x, y};
}

Step adam(int64_t count) {
  manual_seed(0);
  auto parameter = std::make_shared<Tensor>(rand({count}).set_requires_grad(true));
  parameter->mutable_grad() = rand({count}) - 0.5;
  eval(*parameter, parameter->grad());
  auto optimizer = std::make_shared<optim::Adam>(std::vector<Tensor>{*parameter});
  return [=] {
    optimizer->step();
    return parameter->detach().slice(0, 0, 8).sum();
  };
}

struct Row {
  const char* name;
  int checked;  // steps before the loss that is compared
  std::function<Step()> prepare;
};
const Row kRows[] = {
    {"iris_epoch", 10,
     [] {
       const auto [x, y] = iris_rows();
       return training(iris_net(), x, y);
     }},
    {"mlp_64", 5, [] { return mlp(64); }},
    {"cnn_64", 5, [] { return conv_net(64); }},
    {"cnn_256", 5, [] { return conv_net(256); }},
    {"resnet_32", 3, [] { return residual_block(32); }},
    {"lstm", 5, lstm},
    {"transformer", 5, transformer},
    {"encoder", 5, encoder},
    {"adam_1e7", 3, [] { return adam(10'000'000); }},
};

double seconds_of_one(const Step& step) {
  int runs = 0;
  const double start = bench::now();
  do {
    step().item<double>();
    ++runs;
  } while (bench::now() - start < 0.1);
  return (bench::now() - start) / runs;
}

void train_iris() {
  const auto [x, y] = iris_rows();
  nn::Sequential net = iris_net();
  optim::Adam optimizer(net->parameters(), 0.01);
  double last = 0;
  for (int epoch = 0; epoch < 100; ++epoch) {
    const Tensor loss = nn::functional::cross_entropy(net->forward(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
  }
  std::cout << last << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "iris") {
    train_iris();
    return 0;
  }
  std::map<std::string, Step> prepared;
  for (std::string line; std::getline(std::cin, line) && line != "stop";) {
    if (line == "memory") {
      rusage usage;
      getrusage(RUSAGE_SELF, &usage);
      std::cout << usage.ru_maxrss * 1024.0 << std::endl;
      continue;
    }
    Step& step = prepared[line];
    if (!step) {
      for (const Row& row : kRows) {
        if (line != row.name) continue;
        step = row.prepare();
        for (int i = 1; i < row.checked; ++i) step().item<double>();
        std::cout << line << " check " << step().item<double>() << std::endl;
      }
      if (!step) {
        std::cerr << "no row named " << line << "\n";
        return 1;
      }
    }
    std::cout << seconds_of_one(step) << std::endl;
  }
}
