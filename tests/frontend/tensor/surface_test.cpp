// What has no golden value: weights from and to files, rows as a range, functions that write in place,
// strided memory, samples that are drawn.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "frontend/values.h"

namespace {

using namespace tenon;
using tenon::test::error_of;
using tenon::test::Values;
using tenon::test::values;

struct NetImpl : nn::Module {
  NetImpl() {
    first = register_module("first", nn::Linear(3, 2));
    scale = register_buffer("scale", full({2}, 1.5));
  }
  nn::Linear first{nullptr};
  Tensor scale;
};
TENON_MODULE(Net);

struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() / ("tenon_surface_" + std::to_string(getpid()))).string();
  ~TemporaryFile() { std::remove(path.c_str()); }
};

}  // namespace

TEST_CASE("a module's weights go to a safetensors file and back") {
  const TemporaryFile file;
  manual_seed(1);
  Net a, b;
  a->scale.fill_(7);
  io::save_safetensors(file.path, *a, {{"format", "pt"}});
  io::Metadata metadata;
  io::load_safetensors(file.path, *b, &metadata);
  CHECK((metadata == io::Metadata{{"format", "pt"}}));
  CHECK(equal(a->first->weight, b->first->weight));
  CHECK(values(b->scale) == Values{7, 7});

  const io::NamedTensors named = io::load_safetensors(file.path);
  CHECK(named.contains("first.weight"));
  Net c;
  c->load_state_dict(named);
  CHECK(equal(a->first->bias, c->first->bias));
  const io::NamedTensors of_state = c->state_dict();
  CHECK(of_state.size() == 3);

  Net d;
  save(a, file.path);
  load(d, file.path);
  CHECK(equal(a->first->weight, d->first->weight));

  nn::Linear other(3, 2);
  const std::string text = error_of([&] { io::load_safetensors(file.path, *other); });
  CHECK(text.find("Missing key(s) in state_dict: \"weight\", \"bias\"") != std::string::npos);
  CHECK(error_of([&] { load(d, "/nowhere/x.safetensors"); }).find("/nowhere/x.safetensors") != std::string::npos);
}

TEST_CASE("tensors and lists of tensors are saved and loaded") {
  const TemporaryFile file;
  const Tensor x = arange(6, kFloat).reshape({2, 3});
  save(x, file.path);
  Tensor y;
  load(y, file.path);
  CHECK(equal(x, y));
  save(std::vector<Tensor>{x, ones(2, kLong), x.t()}, file.path);
  std::vector<Tensor> list;
  load(list, file.path);
  REQUIRE(list.size() == 3);
  CHECK(equal(list[1], ones(2, kLong)));
  CHECK(equal(list[2], x.t()));
  CHECK(error_of([&] { load(y, file.path); }) == file.path + ": expected one tensor, but got 3");
}

TEST_CASE("a tensor is a range of its rows") {
  Tensor x = zeros({3, 2});
  int64_t i = 0;
  for (Tensor row : x) row += ++i;
  CHECK(values(x) == Values{1, 1, 2, 2, 3, 3});
  double sum = 0;
  for (const Tensor& row : x * 2) sum += row.sum().item<double>();
  CHECK(sum == 24);
  for (const Tensor& row : zeros({0, 2})) CHECK(!row.defined());
  CHECK(error_of([] {
          for (const Tensor& row : full({}, 1)) CHECK(!row.defined());
        }) == "iteration over a 0-d tensor");
}

TEST_CASE("values as a vector") {
  const Tensor x = arange(6).reshape({2, 3}).t();
  CHECK((to_vector<int64_t>(x) == std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  CHECK((to_vector<float>(x / 2) == std::vector<float>{0, 1.5F, 0.5F, 2, 1, 2.5F}));
  CHECK((to_vector<bool>(x > 2) == std::vector<bool>{false, true, false, true, false, true}));
  CHECK(to_vector<double>(empty({0, 3})).empty());
  CHECK((to_vector<uint8_t>(full({}, 3.9)) == std::vector<uint8_t>{3}));
}

TEST_CASE("functions that write into their operand") {
  Tensor x = tensor({-4.0, 0.0, 9.0});
  const Tensor alias = x;
  CHECK(&relu_(x) == &x);
  CHECK(values(alias) == Values{0, 0, 9});
  sqrt_(x);
  x.add_(1);
  clamp_(x, 2);
  CHECK(values(alias) == Values{2, 2, 4});
  leaky_relu_(fill_(x, -2), 0.25);
  CHECK(values(alias) == Values{-0.5, -0.5, -0.5});
  hardtanh_(zero_(x), 1, 2);
  CHECK(values(alias) == Values{1, 1, 1});
  Tensor n = tensor({12, 18, 0});
  gcd_(n, tensor({8, 27, 5}));
  CHECK(values(n) == Values{4, 9, 5});
  CHECK(error_of([] {
          Tensor whole = ones(2, kLong);
          digamma_(whole);
        }) == "result type Float can't be cast to the desired output type Long");
}

TEST_CASE("memory laid out as asked for") {
  const Tensor strided = empty_strided({2, 3}, {1, 2});
  CHECK(strided.strides() == IntArrayRef({1, 2}));
  CHECK(empty_strided({2, 0}, {5, 7}).sizes() == IntArrayRef({2, 0}));
  const Tensor permuted = empty_permuted({2, 3, 4}, {1, 2, 0});
  CHECK(permuted.sizes() == IntArrayRef({2, 3, 4}));
  CHECK(permuted.strides() == IntArrayRef({1, 8, 2}));
  CHECK(error_of([] { empty_permuted({2, 3}, {0, 0}); }) == "Duplicate dim not allowed");
  CHECK(error_of([] { empty_strided({2}, {1, 2}); }) == "dimensionality of sizes (1) must match dimensionality of strides (2)");
  const Tensor x = zeros({3, 3});
  CHECK(values(as_strided_scatter(x, ones({2, 2}), {2, 2}, {3, 1}, 1)) == Values{0, 1, 1, 0, 1, 1, 0, 0, 0});
  CHECK(values(x) == Values(9, 0));
  const std::vector<Tensor> parts = unflatten_dense_tensors(flatten_dense_tensors({x + 1, ones(2) * 2}), {x, ones(2)});
  CHECK(parts[0].sizes() == IntArrayRef({3, 3}));
  CHECK(values(parts[1]) == Values{2, 2});
}

TEST_CASE("results that are row-major whatever the operand's order") {
  const Tensor matrix = arange(6.).view({2, 3}).t(), cube = arange(24.).view({2, 3, 4}).permute({2, 0, 1});
  for (const Tensor& x : {matrix, cube}) {
    const std::vector<int64_t> row_major = x.dim() == 2 ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{6, 3, 1};
    for (const Tensor& y : {x.roll(1, 0), x.roll(0, 0), x.roll(1, 1), x.roll(1), x.roll({1, 1}, {0, 1}), x.roll({0, 1}, {0, 1}),
                            x.roll(x.size(0), 0), x.softmax(0), x.log_softmax(1), x.cumsum(0), x.masked_fill(x > 2, 1), x.tril()})
      CHECK(y.strides() == row_major);
    CHECK((x * 2).strides() == x.strides());
    CHECK(x.clone().strides() == x.strides());
  }
  CHECK(equal(matrix.roll(3, 0), matrix));
}

TEST_CASE("types of results, by LibTorch's names") {
  CHECK((promote_types(kInt, kHalf) == kHalf));
  CHECK(can_cast(kInt, kFloat));
  CHECK(!can_cast(kFloat, kInt));
  CHECK((result_type(Scalar(1), Scalar(2.5)) == kFloat));
  CHECK((result_type(Scalar(2), ones(2, kShort)) == kShort));
}

TEST_CASE("fractional pooling draws its own samples") {
  namespace F = tenon::nn::functional;
  const Tensor x = arange(64, kFloat).reshape({1, 1, 8, 8});
  const auto [y, places] = F::fractional_max_pool2d_with_indices(x, F::FractionalMaxPool2dFuncOptions(2).output_size(4));
  CHECK(y.sizes() == IntArrayRef({1, 1, 4, 4}));
  CHECK(equal(y, places.to(kFloat)));  // x counts its own places
  CHECK(y[0][0][3][3].item<float>() == 63);
  CHECK(error_of([&] { F::fractional_max_pool2d(x, F::FractionalMaxPool2dFuncOptions(2)); }) ==
        "fractional_max_pool2d requires specifying either an output_size or an output_ratio");
}

TEST_CASE("orders beyond what a formula holds are errors") {
  CHECK(error_of([] { special::chebyshev_polynomial_t(ones(2), 100000); }) == "chebyshev_polynomial_t: degree 100000 is greater than 4096");
  CHECK(error_of([] { special::zeta(full({}, 3.0), full({}, -1e9)); }).find("must be greater than -2000") != std::string::npos);
  CHECK(error_of([] { combinations(arange(1000), 500); }) == "numel: integer multiplication overflow");
  CHECK(error_of([] {
          matrix_power(ones({2, 2}), -1);
        }) == "linalg.matrix_power: n = -1 needs the inverse, which Tenon does not compute yet");
}

TEST_CASE("methods of these functions") {
  const Tensor x = tensor({{1.5, -2.0, 3.0}, {0.5, 4.0, -1.0}}, kDouble);
  CHECK(x.nelement() == 6);
  CHECK((x.new_zeros({2}).scalar_type() == kDouble));
  CHECK(values(x.new_ones({2}, kInt)) == Values{1, 1});
  CHECK(values(x.new_full({2}, 7)) == Values{7, 7});
  CHECK(x.new_empty({3, 1}).sizes() == IntArrayRef({3, 1}));
  CHECK(x.new_empty_strided({2, 2}, {1, 2}).strides() == IntArrayRef({1, 2}));
  CHECK(equal(x.diff(), diff(x)));
  CHECK(equal(x.cov(), cov(x)));
  CHECK(equal(x.prelu(full({}, 0.5, kDouble).reshape({1})), where(x > 0, x, x * 0.5)));
  CHECK(equal(x.float_power(2), x.pow(2)));
  CHECK(equal(x.subtract(1, 2), x - 2));
  CHECK(equal(x.divide(x, "floor"), ones_like(x)));
  CHECK(equal(x.clip(-1, 2), clamp(x, Scalar(-1), Scalar(2))));
  CHECK(equal(x.abs().digamma(), digamma(x.abs())));
  CHECK(equal(x.abs().polygamma(1), polygamma(1, x.abs())));
  CHECK(equal(std::get<0>(x.frexp()) * std::get<1>(x.frexp()).exp2(), x));
  CHECK(equal(x.renorm(2, 0, 1), renorm(x, 2, 0, 1)));
  CHECK(equal(x.isneginf(), zeros_like(x, kBool)));
  CHECK(equal(x.movedim(0, 1), x.t()));
  CHECK(equal(std::get<0>(x.histogram(3)), std::get<0>(histogram(x, 3))));
  CHECK(equal(x.clone(MemoryFormat::Contiguous), x));
  CHECK(x.t().clone(MemoryFormat::Contiguous).is_contiguous());
  CHECK(equal(x.norm(2, kFloat), x.to(kFloat).norm()));
  CHECK(equal(x.narrow(1, full({}, 1, kLong), 2), x.narrow(1, 1, 2)));

  Tensor y = x.clone();
  y.divide_(2, "trunc").renorm_(1, 0, 1).clip_(optional<Tensor>(zeros_like(y)), optional<Tensor>());
  CHECK(y.ge(0).all().item<bool>());
  y.set_(arange(6, kDouble), 2, {2, 2});
  CHECK(values(y) == Values{2, 3, 4, 5});
  y.set_();
  CHECK(y.numel() == 0);
}

TEST_CASE("any and all over several dims") {
  const Tensor x = tensor({{{1, 0}, {1, 1}}, {{0, 0}, {1, 1}}});
  CHECK(values(x.any({0, 2})) == Values{1, 1});
  CHECK(values(x.all({0, 2})) == Values{0, 1});
  CHECK(x.all({0, 2}, true).sizes() == IntArrayRef({1, 2, 1}));
  CHECK(values(any(x, nullopt)) == Values{1});
  CHECK(any(x, nullopt, true).sizes() == IntArrayRef({1, 1, 1}));
  CHECK(values(any(x, IntArrayRef())) == values(x));
  CHECK((any(x.to(kByte), IntArrayRef({0, 1})).scalar_type() == kByte));
  CHECK(any(zeros({0, 3}), IntArrayRef({0, 1})).item<bool>() == false);
  CHECK(error_of([&] { x.any({0, 0}); }).find("appears multiple times") != std::string::npos);
}
