// The calls of a first tour through tensors, spelled for LibTorch: the code below knows `torch` only, and
// must compile and print what PyTorch prints in Python. The numbers are the rows of the list of calls that
// the library is held to.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <sstream>

namespace torch = tenon;
using namespace torch::indexing;
namespace F = torch::nn::functional;

namespace {

template <typename T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

template <typename Call>
std::string message(Call call) {
  try {
    call();
  } catch (const torch::Error& e) {
    return e.msg();
  }
  return "no error";
}

}  // namespace

TEST_CASE("seed calls: creation and attributes (rows 1 to 22)") {
  CHECK(std::string(TORCH_VERSION) == torch::version());  // 1
  const torch::Tensor scalar = torch::tensor(7);          // 2
  CHECK(printed(scalar) == "tensor(7)");
  CHECK((scalar.scalar_type() == torch::kLong));
  CHECK(scalar.dim() == 0);  // 3
  CHECK(scalar.ndimension() == 0);
  CHECK(scalar.item<int64_t>() == 7);  // 4
  const torch::Scalar untyped = scalar.item();
  CHECK(untyped.toLong() == 7);
  CHECK(untyped.toDouble() == 7.0);
  CHECK(printed(torch::tensor({7, 7})) == "tensor([7, 7])");  // 5
  CHECK(printed(torch::tensor({1, 2, 3})) == "tensor([1, 2, 3])");
  const torch::Tensor vector = torch::tensor({7, 7});  // 6
  CHECK(printed(vector.sizes()) == "[2]");
  CHECK(vector.size(0) == 2);
  CHECK(printed(torch::tensor({{7, 8}, {9, 10}})) == "tensor([[ 7,  8],\n        [ 9, 10]])");  // 7
  CHECK(printed(torch::tensor({{{1, 2, 3}, {3, 6, 9}, {2, 4, 5}}})) ==                          // 8
        "tensor([[[1, 2, 3],\n         [3, 6, 9],\n         [2, 4, 5]]])");
  torch::manual_seed(42);                // 22
  CHECK(printed(torch::rand({3, 4})) ==  // 9
        "tensor([[0.8823, 0.9150, 0.3829, 0.9593],\n        [0.3904, 0.6009, 0.2566, 0.7936],\n"
        "        [0.9408, 0.1332, 0.9346, 0.5936]])");
  CHECK(torch::rand(1).sizes() == torch::IntArrayRef({1}));
  CHECK(torch::rand({224, 224, 3}).dim() == 3);  // 10
  CHECK(printed(torch::rand({224, 244, 3}).sizes()) == "[224, 244, 3]");
  CHECK(printed(torch::zeros({3, 4})) ==  // 11
        "tensor([[0., 0., 0., 0.],\n        [0., 0., 0., 0.],\n        [0., 0., 0., 0.]])");
  CHECK(printed(torch::ones({3, 4}).sum()) == "tensor(12.)");
  CHECK(printed(torch::ones(7)) == "tensor([1., 1., 1., 1., 1., 1., 1.])");
  CHECK(printed(torch::arange(1, 11, 1)) == "tensor([ 1,  2,  3,  4,  5,  6,  7,  8,  9, 10])");  // 12
  CHECK(printed(torch::arange(1, 100, 10)) == "tensor([ 1, 11, 21, 31, 41, 51, 61, 71, 81, 91])");
  CHECK(printed(torch::arange(1, 10)) == "tensor([1, 2, 3, 4, 5, 6, 7, 8, 9])");
  CHECK(printed(torch::arange(1., 10.)) == "tensor([1., 2., 3., 4., 5., 6., 7., 8., 9.])");  // 13
  CHECK(printed(torch::zeros_like(torch::arange(1, 11, 1))) ==                               // 14
        "tensor([0, 0, 0, 0, 0, 0, 0, 0, 0, 0])");
  const torch::Tensor floats = torch::tensor({3.0, 6.0, 9.0}, torch::TensorOptions().requires_grad(false));  // 15
  CHECK(printed(floats) == "tensor([3., 6., 9.])");
  CHECK((floats.scalar_type() == torch::kFloat32));
  CHECK(!floats.requires_grad());
  CHECK(printed(torch::tensor({3, 6, 9}, torch::kInt32)) == "tensor([3, 6, 9], dtype=tenon.int32)");  // 16
  CHECK(printed(torch::tensor({1.f, 2.f})) == "tensor([1., 2.])");                                    // 17
  double buffer[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const torch::Tensor rows = torch::from_blob(buffer, {2, 4}, torch::kFloat64).to(torch::kFloat32);
  CHECK(printed(rows) == "tensor([[0., 1., 2., 3.],\n        [4., 5., 6., 7.]])");
  CHECK(printed(torch::from_blob(buffer, {3}, torch::kFloat64).to(torch::kInt64)) == "tensor([0, 1, 2])");  // 18
  CHECK(printed(torch::tensor(std::vector<int64_t>{2, 0, 1})) == "tensor([2, 0, 1])");
  CHECK(printed(floats.dtype()) == "float");  // 19
  CHECK(printed(vector.dtype()) == "long int");
  CHECK(printed(floats.scalar_type()) == "Float");
  CHECK(printed(vector.scalar_type()) == "Long");
  CHECK((floats.dtype() == torch::kFloat32));
  CHECK(printed(floats.device()) == "cpu");  // 20
  CHECK(floats.device().str() == "cpu");
  CHECK(printed(torch::tensor({0.5, 2.0})) == "tensor([0.5000, 2.0000])");  // 21
}

TEST_CASE("seed calls: types and arithmetic (rows 23 to 39)") {
  const torch::Tensor floats = torch::tensor({3.0, 6.0, 9.0});
  const torch::Tensor halves = floats.to(torch::kFloat16);  // 23
  CHECK(printed(halves) == "tensor([3., 6., 9.], dtype=tenon.float16)");
  CHECK(printed(floats.toType(torch::kFloat16)) == printed(halves));
  CHECK(printed(halves * floats) == "tensor([ 9., 36., 81.])");  // 24
  CHECK(printed(floats * torch::tensor({3, 6, 9}, torch::kInt32)) == "tensor([ 9., 36., 81.])");
  const torch::Tensor t = torch::tensor({1, 2, 3});
  CHECK(printed(t + 10) == "tensor([11, 12, 13])");  // 25
  CHECK(printed(t * 10) == "tensor([10, 20, 30])");
  CHECK(printed(t - 10) == "tensor([-9, -8, -7])");
  CHECK(printed(t + 1) == "tensor([2, 3, 4])");
  CHECK(printed(torch::mul(t, 10)) == "tensor([10, 20, 30])");  // 26
  CHECK(printed(torch::add(t, 10)) == "tensor([11, 12, 13])");
  CHECK(printed(t * t) == "tensor([1, 4, 9])");  // 27
  CHECK(printed(torch::zeros({3, 4}) * torch::rand({3, 4})) == printed(torch::zeros({3, 4})));
  CHECK(printed(torch::matmul(torch::rand({8, 10}), torch::rand({10, 8})).sizes()) == "[8, 8]");  // 28
  CHECK(printed(torch::matmul(t, t)) == "tensor(14)");                                            // 29
  torch::Tensor value = torch::zeros({}, torch::kLong);                                           // 30
  for (int64_t i = 0; i < t.size(0); ++i) value += t[i] * t[i];
  CHECK(printed(value) == "tensor(14)");
  const torch::Tensor A = torch::tensor({{1, 2}, {3, 4}, {5, 6}}), B = torch::tensor({{7, 10}, {8, 11}, {9, 12}});
  CHECK(message([&] { torch::mm(A, B); }) == "mm: mat1 and mat2 shapes cannot be multiplied (3x2 and 3x2)");  // 31
  const char* product = "tensor([[ 27,  30,  33],\n        [ 61,  68,  75],\n        [ 95, 106, 117]])";
  CHECK(printed(torch::matmul(A, B.t())) == product);  // 32
  CHECK(printed(torch::matmul(A, B.numpy_T())) == product);
  CHECK(printed(torch::matmul(A, B.mT())) == product);
  const torch::Tensor x = torch::arange(1, 100, 10);
  CHECK(printed(torch::min(x)) == "tensor(1)");  // 33
  CHECK(printed(x.min()) == "tensor(1)");
  CHECK(printed(torch::max(x)) == "tensor(91)");
  CHECK(printed(x.max()) == "tensor(91)");
  CHECK(printed(torch::mean(x.to(torch::kFloat32))) == "tensor(46.)");  // 35
  CHECK(printed(x.to(torch::kFloat32).mean()) == "tensor(46.)");
  CHECK(message([&] { x.mean(); }) ==  // 36
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
        "Got: Long");
  CHECK(printed(torch::sum(x)) == "tensor(460)");  // 37
  CHECK(printed(x.sum()) == "tensor(460)");
  CHECK(printed(x.argmin()) == "tensor(0)");  // 38
  CHECK(printed(x.argmax()) == "tensor(9)");
  CHECK(printed(x[0]) == "tensor(1)");
  CHECK(printed(x[9]) == "tensor(91)");
  const torch::Tensor C = torch::tensor({0.5, 1.5}), D = torch::tensor({0.5, 2.5});
  CHECK(printed(C == D) == "tensor([ True, False])");  // 39
  CHECK(((C == D).scalar_type() == torch::kBool));
}

TEST_CASE("seed calls: shape, views, indexing (rows 40 to 49)") {
  torch::Tensor x = torch::arange(1., 10.);
  CHECK(printed(x.reshape({1, 9})) == "tensor([[1., 2., 3., 4., 5., 6., 7., 8., 9.]])");  // 40
  torch::Tensor z = x.view({1, 9});                                                       // 41
  CHECK(z.is_alias_of(x));
  z.index_put_({Slice(), 0}, 5);  // 42
  CHECK(printed(z) == "tensor([[5., 2., 3., 4., 5., 6., 7., 8., 9.]])");
  CHECK(printed(x) == "tensor([5., 2., 3., 4., 5., 6., 7., 8., 9.])");
  z.index({Slice(), 0}) = 6;
  CHECK(printed(x[0]) == "tensor(6.)");
  z.index({Slice(), 0}) = torch::tensor({5.});
  CHECK(printed(x[0]) == "tensor(5.)");
  const std::string r = "[5., 2., 3., 4., 5., 6., 7., 8., 9.]";
  CHECK(printed(torch::stack({x, x, x, x}, 0)) ==  // 43
        "tensor([" + r + ",\n        " + r + ",\n        " + r + ",\n        " + r + "])");
  CHECK(printed(torch::vstack({x, x, x, x})) == printed(torch::stack({x, x, x, x}, 0)));  // 44
  CHECK(printed(torch::hstack({x, x, x, x})) ==
        "tensor([5., 2., 3., 4., 5., 6., 7., 8., 9., 5., 2., 3., 4., 5., 6., 7., 8., 9.,\n"
        "        5., 2., 3., 4., 5., 6., 7., 8., 9., 5., 2., 3., 4., 5., 6., 7., 8., 9.])");
  CHECK(printed(x.reshape({1, 9}).squeeze().sizes()) == "[9]");  // 45
  CHECK(printed(x.unsqueeze(0).sizes()) == "[1, 9]");
  torch::Tensor original = torch::rand({224, 244, 3});
  torch::Tensor permuted = original.permute({2, 0, 1});  // 46
  CHECK(printed(permuted.sizes()) == "[3, 224, 244]");
  original.index_put_({0, 0, 0}, 728218);  // 47
  CHECK(printed(original[0][0][0]) == "tensor(728218.)");
  CHECK(printed(permuted.index({0, 0, 0})) == "tensor(728218.)");
  const torch::Tensor cube = torch::arange(1, 10).reshape({1, 3, 3});
  CHECK(printed(cube) == "tensor([[[1, 2, 3],\n         [4, 5, 6],\n         [7, 8, 9]]])");
  CHECK(printed(cube[0]) == "tensor([[1, 2, 3],\n        [4, 5, 6],\n        [7, 8, 9]])");  // 48
  CHECK(printed(cube[0][0]) == "tensor([1, 2, 3])");
  CHECK(printed(cube[0][1][1]) == "tensor(5)");
  CHECK(printed(cube[0][2][2]) == "tensor(9)");
  CHECK(printed(torch::tensor({{7, 8}, {9, 10}})[1]) == "tensor([ 9, 10])");
  CHECK(printed(cube.index({Slice(), 0})) == "tensor([[1, 2, 3]])");  // 49
  CHECK(printed(cube.index({Slice(), Slice(), 1})) == "tensor([[2, 5, 8]])");
  CHECK(printed(cube.index({Slice(), 1, 1})) == "tensor([5])");
  CHECK(printed(cube.index({0, 0, Slice()})) == "tensor([1, 2, 3])");
  CHECK(printed(cube.index({Slice(), Slice(), 2})) == "tensor([[3, 6, 9]])");
}

TEST_CASE("seed calls: plain memory (rows 50 to 54)") {
  std::vector<double> array = {1, 2, 3, 4, 5, 6, 7};
  const torch::Tensor tensor = torch::from_blob(array.data(), {7}, torch::kFloat64);  // 50
  CHECK(printed(tensor) == "tensor([1., 2., 3., 4., 5., 6., 7.], dtype=tenon.float64)");
  std::vector<double> next(array);  // 51
  for (double& v : next) v += 1;
  CHECK(printed(tensor[0]) == "tensor(1., dtype=tenon.float64)");
  array[0] = 8;
  CHECK(printed(tensor[0]) == "tensor(8., dtype=tenon.float64)");
  torch::Tensor ones = torch::ones(7);  // 52
  const float* memory = ones.data_ptr<float>();
  const torch::Tensor kept = ones;
  ones = ones + 1;
  CHECK(memory[0] == 1);
  const auto elements = ones.accessor<float, 1>();
  CHECK(elements.size(0) == 7);
  CHECK(elements[6] == 2);
  const torch::Tensor on_cpu = torch::tensor({1, 2, 3}).cpu();  // 54
  const int64_t* integers = on_cpu.data_ptr<int64_t>();
  CHECK(std::vector<int64_t>(integers, integers + 3) == std::vector<int64_t>{1, 2, 3});
}
