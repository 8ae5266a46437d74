// What a newcomer does wrong, and what the library says: the whole text, held to tests/data/mistakes.txt. With TENON_WRITE_GOLDEN=1 in
// the environment the file is written instead.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "support/data_folder.h"

using namespace tenon;
namespace F = nn::functional;

namespace {

// The program sees no driver, also where there is one: it is looked for when something first needs it.
const bool no_driver = setenv("TENON_CUDA_DRIVER", "none", 1) == 0;

struct Mistake {
  const char* code;
  std::function<void()> make;
};

#define MISTAKE(...)                  \
  {                                   \
#__VA_ARGS__, [] { __VA_ARGS__; } \
  }
const Mistake mistakes[] = {
    MISTAKE(ones({2, 3}) + ones({4})),
    MISTAKE(ones({2, 3}).mm(ones({2, 3}))),
    MISTAKE(ones({2, 3}).matmul(ones({4}))),
    MISTAKE(ones({2, 2}).to(kDouble).mm(ones({2, 2}))),
    MISTAKE(linear(ones({1, 3}), ones({2, 4}))),
    MISTAKE(nn::Linear(4, 2)->forward(ones({1, 3}))),
    MISTAKE(conv2d(ones({1, 3, 8, 8}), ones({4, 2, 3, 3}))),
    MISTAKE(nn::Conv2d(nn::Conv2dOptions(3, 4, 3))->forward(ones({1, 1, 8, 8}))),
    MISTAKE(F::cross_entropy(ones({2, 3}), tensor({0, 3}))),
    MISTAKE(F::cross_entropy(ones({2, 3}), tensor({0, 1, 2}))),
    MISTAKE(F::binary_cross_entropy(ones({2}) * 2, ones({2}))),
    MISTAKE(F::mse_loss(ones({2, 3}), ones({4}))),
    MISTAKE(embedding(ones({5, 2}), tensor({5}))),
    MISTAKE(ones({2, 3}).view({4, 2})),
    MISTAKE(ones({2, 3}).t().view({6})),
    MISTAKE(ones({2, 3}).reshape({-1, 4})),
    MISTAKE(ones({2, 3}).sum(2)),
    MISTAKE(ones({2, 3})[2]),
    MISTAKE(ones({2, 3}).index({tensor({0, 7})})),
    MISTAKE(ones({2, 3}).index({tensor({true, false, true})})),
    MISTAKE(cat({ones({2, 3}), ones({2, 4})}, 0)),
    MISTAKE(stack({ones({2}), ones({3})})),
    MISTAKE(ones({2, 3}).permute({0, 0})),
    MISTAKE(ones({2, 3}).item()),
    MISTAKE(ones({2}).data_ptr<double>()),
    MISTAKE(Tensor x = ones({2, 3}); x.accessor<float, 3>().size(0)),
    MISTAKE(arange(4) /= 2),
    MISTAKE(arange(4).mean()),
    MISTAKE(ones({3}).bitwise_and(ones({3}))),
    MISTAKE(tensor({1, 0}) % 0),
    MISTAKE(Tensor x; x + 1),
    MISTAKE(Tensor x; x.sizes()),
    MISTAKE(eval(Tensor())),
    MISTAKE(ones({2}).cuda()),
    MISTAKE(Device("gpu")),
    MISTAKE(ones({2}).to(Device("cuda:0"))),
    MISTAKE(zeros({1ll << 40, 1ll << 30})),
    MISTAKE(ones({-1})),
    MISTAKE(io::load_npy("missing.npy")),
    MISTAKE(io::load_safetensors("missing.safetensors")),
    MISTAKE(einsum("ij,jk->ik", {ones({2, 3}), ones({4, 5})})),
    MISTAKE(ones({2, 3}).expand({2, 4})),
    MISTAKE(ones({3}).squeeze(1)),
    MISTAKE(ones({3}).expand({2, 3}).add_(1)),
    MISTAKE(multinomial(tensor({0.5, -1.0}), 1)),
    MISTAKE(randint(5, 2, {3})),
    MISTAKE(ones({2, 3}).topk(4)),
    MISTAKE(nn::ModuleHolder<nn::LinearImpl> empty(nullptr); empty->forward(ones({1, 2}))),
    MISTAKE(arange(0, 5, -1)),
    MISTAKE(one_hot(tensor({0, 4}), 3)),
    MISTAKE(pad(ones({2}), {1})),
    MISTAKE(ones({2, 3}).chunk(0)),
    MISTAKE(ones({4, 4}).split({1, 2})),
    MISTAKE(where(ones({3}), ones({3}), zeros({3}))),
    MISTAKE(max_pool2d(ones({1, 1, 2, 2}), {3, 3})),
    MISTAKE(layer_norm(ones({2, 3}), {4})),
    MISTAKE(set_num_threads(0)),
};
#undef MISTAKE

std::string said(const Mistake& mistake) {
  try {
    mistake.make();
  } catch (const Error& e) {
    return e.what_without_backtrace();
  }
  return "(no error)";
}

}  // namespace

TEST_CASE("mistakes: the tests run as without a GPU") { CHECK((no_driver && !cuda::is_available())); }

TEST_CASE("mistakes: each gets a message that says what is wrong and where") {
  const std::string path = data_folder() + "/mistakes.txt";
  if (std::getenv("TENON_WRITE_GOLDEN")) {
    std::ofstream out(path);
    for (const Mistake& m : mistakes) out << "### " << m.code << "\n" << said(m) << "\n";
    return;
  }
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string wanted = text.str();
  size_t at = 0;
  for (const Mistake& m : mistakes) {
    CAPTURE(std::string(m.code));
    const std::string head = std::string("### ") + m.code + "\n";
    REQUIRE(wanted.compare(at, head.size(), head) == 0);
    at += head.size();
    const size_t end = std::min(wanted.find("\n### ", at), wanted.size() - 1);
    CHECK(said(m) == wanted.substr(at, end - at));
    at = end + 1;
  }
}
