// The fundamentals tutorial, section by section, in LibTorch's spelling: tensors, types, arithmetic, matrix
// products, aggregation, shapes, indexing, memory shared with plain arrays, reproducible randomness, devices.
// It prints what the tutorial prints.
#include <tenon/tenon.h>

#include <iostream>
#include <vector>

namespace torch = tenon;
using torch::Tensor;
using torch::indexing::Slice;

namespace {

void section(const char* title) { std::cout << "\n== " << title << '\n'; }

template <typename T>
void show(const char* what, const T& value) {
  std::cout << what << " -> " << value << '\n';
}

void making_tensors() {
  section("Tensors");
  const Tensor scalar = torch::tensor(7);
  show("scalar", scalar);
  show("scalar.ndim", scalar.dim());
  show("scalar.item()", scalar.item<int64_t>());

  const Tensor vector = torch::tensor({7, 7});
  show("vector", vector);
  show("vector.ndim", vector.dim());
  show("vector.shape", vector.sizes());

  const Tensor matrix = torch::tensor({{7, 8}, {9, 10}});
  show("MATRIX", matrix);
  show("MATRIX.ndim", matrix.dim());
  show("MATRIX[1]", matrix[1]);
  show("MATRIX.shape", matrix.sizes());

  const Tensor cube = torch::tensor({{{1, 2, 3}, {3, 6, 9}, {2, 4, 5}}});
  show("TENSOR", cube);
  show("TENSOR.ndim", cube.dim());
  show("TENSOR.shape", cube.sizes());
  show("TENSOR[0]", cube[0]);
  show("TENSOR[0][1][1]", cube[0][1][1]);
}

void random_tensors() {
  section("Random tensors");
  torch::manual_seed(42);
  const Tensor random = torch::rand({3, 4});
  show("random_tensor", random);
  show("random_tensor.ndim", random.dim());
  const Tensor image = torch::rand({224, 224, 3});  // height, width, colour channels
  show("random_image_size_tensor.shape", image.sizes());
  show("random_image_size_tensor.ndim", image.dim());

  section("Zeros and ones");
  const Tensor zeros = torch::zeros({3, 4}), ones = torch::ones({3, 4});
  show("zeros", zeros);
  show("zeros * random_tensor", zeros * random);
  show("ones", ones);
  show("ones.dtype", torch::repr(ones.scalar_type()));

  section("Ranges and tensors like others");
  const Tensor one_to_ten = torch::arange(1, 11, 1);
  show("one_to_ten", one_to_ten);
  show("zeros_like", torch::zeros_like(one_to_ten));
}

void types() {
  section("Types");
  const Tensor float_32 = torch::tensor({3.0, 6.0, 9.0}, torch::TensorOptions().requires_grad(false));  // dtype, device: the defaults
  show("float_32_tensor", float_32);
  show("float_32_tensor.dtype", torch::repr(float_32.scalar_type()));
  const Tensor float_16 = float_32.to(torch::kFloat16);
  show("float_16_tensor", float_16);
  show("float_16_tensor * float_32_tensor", float_16 * float_32);
  const Tensor int_32 = torch::tensor({3, 6, 9}, torch::kInt32);
  show("int_32_tensor", int_32);
  show("float_32_tensor * int_32_tensor", float_32 * int_32);

  const Tensor some = torch::rand({3, 4});
  show("Datatype of tensor", torch::repr(some.scalar_type()));
  show("Shape of tensor", some.sizes());
  show("Device tensor is on", some.device());
}

void arithmetic() {
  section("Arithmetic");
  const Tensor tensor = torch::tensor({1, 2, 3});
  show("tensor + 10", tensor + 10);
  show("tensor * 10", tensor * 10);
  show("tensor - 10", tensor - 10);
  show("torch.mul(tensor, 10)", torch::mul(tensor, 10));
  show("torch.add(tensor, 10)", torch::add(tensor, 10));
  show("tensor * tensor", tensor * tensor);
  show("torch.matmul(tensor, tensor)", torch::matmul(tensor, tensor));

  Tensor value = torch::zeros({}, torch::kLong);  // the product by hand
  for (int64_t i = 0; i < tensor.size(0); ++i) value += tensor[i] * tensor[i];
  show("value", value);
  show("torch.matmul(rand(8, 10), rand(10, 8)).shape", torch::matmul(torch::rand({8, 10}), torch::rand({10, 8})).sizes());
}

void shape_errors() {
  section("Shapes that do not fit");
  const Tensor a = torch::tensor({{1, 2}, {3, 4}, {5, 6}}), b = torch::tensor({{7, 10}, {8, 11}, {9, 12}});
  try {
    torch::mm(a, b);
  } catch (const torch::Error& error) {
    std::cout << "RuntimeError: " << error.what() << '\n';
  }
  show("tensor_B.T", b.t());
  show("tensor_B.T.shape", b.t().sizes());
  const Tensor output = torch::matmul(a, b.t());
  show("torch.matmul(tensor_A, tensor_B.T)", output);
  show("Output shape", output.sizes());
}

void aggregation() {
  section("Min, max, mean, sum");
  const Tensor x = torch::arange(1, 100, 10);
  show("x", x);
  show("x.dtype", torch::repr(x.scalar_type()));
  show("torch.min(x)", torch::min(x));
  show("x.max()", x.max());
  try {
    torch::mean(x);
  } catch (const torch::Error& error) {
    std::cout << "RuntimeError: " << error.what() << '\n';
  }
  show("torch.mean(x.type(torch.float32))", torch::mean(x.to(torch::kFloat32)));
  show("x.sum()", x.sum());
  show("x.argmin()", x.argmin());
  show("x.argmax()", x.argmax());
  show("x[0]", x[0]);
  show("x[9]", x[9]);
}

void shapes() {
  section("Reshaping, viewing, stacking");
  Tensor x = torch::arange(1., 10.);
  show("x", x);
  show("x.shape", x.sizes());
  const Tensor reshaped = x.reshape({1, 9});
  show("x_reshaped", reshaped);
  const Tensor z = x.view({1, 9});
  z.index({Slice(), 0}) = 5;  // a view: x sees it
  show("z", z);
  show("x", x);
  show("torch.stack([x, x, x, x])", torch::stack({x, x, x, x}, 0));
  show("torch.vstack([x, x]).shape", torch::vstack({x, x}).sizes());
  show("torch.hstack([x, x])", torch::hstack({x, x}));

  section("Squeezing, unsqueezing, permuting");
  const Tensor squeezed = reshaped.squeeze();
  show("x_squeezed", squeezed);
  show("x_squeezed.shape", squeezed.sizes());
  const Tensor unsqueezed = squeezed.unsqueeze(0);
  show("x_unsqueezed", unsqueezed);
  show("x_unsqueezed.shape", unsqueezed.sizes());
  Tensor original = torch::rand({224, 244, 3});
  const Tensor permuted = original.permute({2, 0, 1});
  show("x_original.shape", original.sizes());
  show("x_permuted.shape", permuted.sizes());
  original[0][0][0] = 728218;  // a view as well
  show("x_original[0, 0, 0]", original[0][0][0]);
  show("x_permuted[0, 0, 0]", permuted.index({0, 0, 0}));
}

void indexing() {
  section("Indexing");
  const Tensor x = torch::arange(1, 10).reshape({1, 3, 3});
  show("x", x);
  show("x[0]", x[0]);
  show("x[0][0]", x[0][0]);
  show("x[0][1][1]", x[0][1][1]);
  show("x[0][2][2]", x[0][2][2]);
  show("x[:, 0]", x.index({Slice(), 0}));
  show("x[:, :, 1]", x.index({Slice(), Slice(), 1}));
  show("x[:, 1, 1]", x.index({Slice(), 1, 1}));
  show("x[0, 0, :]", x.index({0, 0, Slice()}));
  show("x[:, :, 2]", x.index({Slice(), Slice(), 2}));
}

void plain_memory() {
  section("Plain arrays");
  std::vector<double> array{1, 2, 3, 4, 5, 6, 7};
  const Tensor shared = torch::from_blob(array.data(), {7}, torch::kFloat64);
  show("tensor", shared);
  std::vector<double> more = array;  // array = array + 1 makes another one: the tensor stays
  for (double& value : more) value += 1;
  show("tensor", shared);

  Tensor tensor = torch::ones(7);
  const float* numbers = tensor.data_ptr<float>();
  const Tensor before = tensor;
  tensor = tensor + 1;  // another tensor: the numbers stay
  std::cout << "numpy_tensor ->";
  for (int i = 0; i < 7; ++i) std::cout << ' ' << numbers[i];
  std::cout << '\n';
  show("tensor", tensor);
}

void reproducibility() {
  section("Reproducibility");
  const Tensor a = torch::rand({3, 4}), b = torch::rand({3, 4});
  show("random_tensor_A == random_tensor_B", a == b);
  torch::manual_seed(42);
  const Tensor c = torch::rand({3, 4});
  torch::manual_seed(42);
  const Tensor d = torch::rand({3, 4});
  show("random_tensor_C", c);
  show("random_tensor_C == random_tensor_D", c == d);
}

void devices() {
  section("Devices");
  const torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  const Tensor tensor = torch::tensor({1, 2, 3});
  std::cout << tensor << ' ' << tensor.device() << '\n';
  const Tensor moved = tensor.to(device);  // a copy, if the device is another
  const Tensor back = moved.cpu();
  std::cout << "back on the CPU -> " << back << '\n';
}

}  // namespace

int main() {
  std::cout << "fundamentals: the tutorial on tensors, section by section; what stands left of an arrow is "
               "its code\n";
  making_tensors();
  random_tensors();
  types();
  arithmetic();
  shape_errors();
  aggregation();
  shapes();
  indexing();
  plain_memory();
  reproducibility();
  devices();
  std::cout << "\nlook at examples/fundamentals.cpp beside this text\n";
}
