// Compiled only: a program written for LibTorch that reopens its namespaces, before and behind the include, looks names up in
// each way that programs do, and takes the standard library's facilities that LibTorch's header brings without including them.
namespace torch {
void before();
namespace nn {
struct Early;
}
}  // namespace torch

#include <tenon/compat.h>

namespace torch {
void mine(const Tensor& x) { std::cout << nn::Linear(3, 4) << x; }
namespace nn {
struct Mine : Module {
  Linear fc{3, 4};
  Tensor forward(const Tensor& x) { return functional::relu(fc(x)); }
};
namespace functional {
inline Tensor twice_relu(const Tensor& x) { return relu(relu(x)); }
}  // namespace functional
}  // namespace nn
namespace data::datasets {
struct Squares : Dataset<Squares> {
  Example<> get(size_t i) override { return {torch::full({1}, static_cast<double>(i)), torch::zeros({1})}; }
  optional<size_t> size() const override { return 4; }
};
}  // namespace data::datasets
namespace optim {
struct Mine : SGD {
  using SGD::SGD;
};
}  // namespace optim
}  // namespace torch

namespace at {
Tensor two(const Tensor& x) { return x.mul(2); }
namespace native {
Tensor three(const Tensor& x) { return x + two(x); }
}  // namespace native
}  // namespace at

namespace c10 {
inline int four() { return 4; }
}  // namespace c10

namespace {

void qualified() {
  const at::Tensor x = torch::rand({2, 3}, torch::kFloat);
  torch::nn::Mine net;
  torch::nn::functional::twice_relu(net.forward(x));
  at::native::three(at::two(x));
  c10::optional<int> maybe = c10::four();
  at::IntArrayRef sizes = x.sizes();
  c10::Device::Type type = torch::Device::Type::CPU;
  torch::indexing::Slice rows(1);
  at::indexing::TensorIndex place(0);
  torch::optim::Mine optimizer(net.parameters(), torch::optim::SGDOptions(0.1));
  auto loader = torch::data::make_data_loader(torch::data::datasets::Squares().map(torch::data::transforms::Stack<>()), 2);
  torch::autograd::GradMode::set_enabled(torch::GradMode::is_enabled());
  at::AutoGradMode on(true);
  torch::autograd::AutoGradMode off(false);
  torch::NoGradGuard no_grad;
  c10::InferenceMode inference;
  TORCH_CHECK(sizes.size() == 2 && maybe && type == at::kCPU, "sizes ", sizes);
  x.index({rows, place});
  for (auto& batch : *loader) torch::linalg::norm(batch.data);
}

namespace short_names {
using namespace torch;
using namespace torch::nn;
namespace F = torch::nn::functional;
void unqualified(const Tensor& x) {
  Linear layer(3, 4);
  nn::Sequential both(nn::Linear(4, 4), nn::ReLU());
  F::relu(functional::relu(nn::functional::relu(x)));
  optim::Adam optimizer(both->parameters(), 1e-3);
  autograd::grad({x.sum()}, {x});
  data::samplers::RandomSampler sampler(3);
  cuda::is_available();
  init::normal_(layer->weight);
}
}  // namespace short_names

void to_in_every_form(const torch::Tensor& x) {
  const auto format = torch::MemoryFormat::Contiguous;
  x.to(torch::kCPU, torch::kUInt8, false, false, format);
  x.to(torch::kFloat, false, true, format);
  x.to(x, false, false, c10::MemoryFormat::Preserve);
  x.to(x.options().dtype(torch::kDouble), false, false, format);
  x.to(torch::Device("cpu"), x.dtype(), false, true);
  x.to(torch::kHalf, c10::nullopt, torch::Device(at::kCPU), false, false, true, c10::nullopt);
  x.to(at::Device(torch::kCPU), torch::kInt);
}

double standard_library(std::string text) {
  std::vector<double> values(4, std::sqrt(2.0));
  std::iota(values.begin(), values.end(), std::floor(std::exp(1.0)));
  std::mt19937 engine(std::random_device{}());
  std::shuffle(values.begin(), values.end(), engine);
  std::map<std::string, std::set<int>> groups{{text, {1, 2}}};
  std::unordered_map<int, std::unordered_set<int>> hashed;
  std::deque<std::array<int, 2>> queue;
  std::queue<int> line;
  std::stack<int> pile;
  std::list<int> chain;
  std::bitset<8> bits(3);
  std::complex<double> z(1, 2);
  std::optional<std::variant<int, std::string>> choice = text;
  std::function<double(double)> f = [](double v) { return std::max(v, std::numeric_limits<double>::epsilon()); };
  std::mutex mutex;
  std::condition_variable changed;
  std::lock_guard guard(mutex);
  std::atomic<int> count{0};
  std::thread([&count] { ++count; }).join();
  std::ostringstream out;
  out << std::setprecision(3) << std::chrono::steady_clock::now().time_since_epoch().count();
  std::ifstream in(text);
  std::printf("%s %zu %d\n", std::string(std::getenv("HOME") ? "home" : "").c_str(), std::strlen("abc"), std::toupper('a'));
  assert(std::accumulate(values.begin(), values.end(), 0.0) > 0);
  std::tuple<int, std::unique_ptr<int>> pair(1, std::make_unique<int>(std::rand() % INT_MAX));
  if (std::time(nullptr) < 0 || errno == ERANGE) throw std::runtime_error("time");
  return f(std::abs(z)) + static_cast<double>(bits.count() + hashed.size() + queue.size() + line.size() + pile.size() + chain.size() +
                                              groups.size() + static_cast<size_t>(std::get<0>(pair)) + choice->index());
}

}  // namespace

int main() {
  qualified();
  short_names::unqualified(torch::ones({2, 3}));
  to_in_every_form(torch::ones({2}));
  torch::mine(torch::ones({2}));
  return standard_library("x") > 0 ? 0 : 1;
}
