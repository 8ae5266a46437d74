// A program written for LibTorch, with its header and its names: fits a line to points that lie on one.
#include <torch/torch.h>

#include <iostream>

struct Line : torch::nn::Module {
  Line() : fc(register_module("fc", torch::nn::Linear(1, 1))) {}
  torch::Tensor forward(const torch::Tensor& x) { return fc->forward(x); }
  torch::nn::Linear fc;
};

int main() {
  torch::manual_seed(0);
  Line line;
  torch::optim::SGD optimizer(line.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  const auto x = torch::linspace(-1, 1, 64).unsqueeze(1), y = 3 * x - 2;
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    torch::mse_loss(line.forward(x), y).backward();
    optimizer.step();
  }
  TORCH_CHECK(torch::mse_loss(line.forward(x), y).item<float>() < 1e-6, "not learned");
  std::cout << "y = " << std::round(line.fc->weight.item<float>()) << " x + " << std::round(line.fc->bias.item<float>()) << std::endl;
}
