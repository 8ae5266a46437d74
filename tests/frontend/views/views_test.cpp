// Views: what they show, where they alias, and the order of dims that results take from their operands.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include "frontend/values.h"

using namespace tenon;
using indexing::None;
using indexing::Slice;
using test::error_of;
using test::Values;
using test::values;

namespace {

Tensor box() { return arange(24.).reshape({2, 3, 4}); }

}  // namespace

TEST_CASE("views: windows, diagonals and strides") {
  const Tensor x = box();
  CHECK(values(x.unfold(2, 2, 1)[0][0]) == Values{0, 1, 1, 2, 2, 3});
  CHECK(values(x.unfold(0, 2, 1)).size() == 24);
  CHECK(values(x.diagonal(0, 1, 2)) == Values{0, 5, 10, 12, 17, 22});
  CHECK(values(x[0].diagonal(2)) == Values{2, 7});
  CHECK(values(x[0].diagonal(-2)) == Values{8});
  CHECK(x[0].diagonal(9).numel() == 0);
  CHECK(values(x.as_strided({3, 3}, {1, 1}, 4)) == Values{4, 5, 6, 5, 6, 7, 6, 7, 8});
  CHECK(values(x.as_strided({2, 2}, {0, 7})) == Values{0, 7, 0, 7});
  CHECK(error_of([&] {
          x.as_strided({3, 3}, {3, 9});
        }) ==
        "setStorage: sizes [3, 3], strides [3, 9], storage offset 0, and itemsize 4 requiring a storage size "
        "of "
        "100 are out of bounds for storage of size 96");
  CHECK(error_of([&] { x.as_strided({int64_t{1} << 40, 2}, {int64_t{1} << 40, 1}); }).find("out of bounds") != std::string::npos);
  CHECK(error_of([&] { x.unfold(2, 5, 1); }) == "maximum size for tensor at dimension 2 is 4 but size is 5");
  CHECK(error_of([&] { x.unfold(2, 2, 0); }) == "step is 0 but must be > 0");
}

TEST_CASE("views: ravel copies elements that lie apart, where reshape and flatten see them") {
  Tensor x = arange(6.);
  const Tensor apart = x.slice(0, 0, 6, 2), whole = x.ravel();
  const Tensor raveled = apart.ravel(), flat = apart.flatten();
  x.add_(1);
  CHECK(values(raveled) == Values{0, 2, 4});
  CHECK(values(flat) == Values{1, 3, 5});
  CHECK(values(whole) == Values{1, 2, 3, 4, 5, 6});
  Tensor w = arange(6.).set_requires_grad(true);
  const Tensor result = (w * 2).slice(0, 0, 6, 2).ravel();
  CHECK(result.grad_fn()->name() == "ViewBackward0");
  (result * result).sum().backward();
  CHECK(values(w.grad()) == Values{0, 0, 16, 0, 32, 0});
}

TEST_CASE("views: splitting") {
  const Tensor x = arange(10);
  std::vector<int64_t> sizes;
  for (const Tensor& part : x.tensor_split(3)) sizes.push_back(part.size(0));
  CHECK(sizes == std::vector<int64_t>{4, 3, 3});
  CHECK(values(x.tensor_split({2, 7})[1]) == Values{2, 3, 4, 5, 6});
  CHECK(values(x.tensor_split(tensor({-3}))[1]) == Values{7, 8, 9});
  CHECK(values(box().hsplit(3)[1][1]) == Values{16, 17, 18, 19});
  CHECK(box().dsplit({1, 2}).size() == 3);
  CHECK(error_of([&] { x.hsplit(3); }) ==
        "torch.hsplit attempted to split along dimension 0, but the size of the dimension 10 is not "
        "divisible by "
        "the split_size 3!");
}

TEST_CASE("views: grids") {
  const auto ij = meshgrid({arange(3), arange(2)});
  CHECK(ij[0].sizes().vec() == std::vector<int64_t>{3, 2});
  CHECK(values(ij[0]) == Values{0, 0, 1, 1, 2, 2});
  const auto xy = meshgrid({arange(3), arange(2)}, "xy");
  CHECK(xy[0].sizes().vec() == std::vector<int64_t>{2, 3});
  CHECK(values(xy[1]) == Values{0, 0, 0, 1, 1, 1});
  CHECK(error_of([] { meshgrid({arange(3)}, "yx"); }) == "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: yx");
}

TEST_CASE("views: the bits as another type, read and written") {
  Tensor x = tensor({1.0, -2.0}, kFloat);
  CHECK(values(x.view(kInt)) == Values{0x3f800000, -1073741824});
  CHECK(values(x.view(kByte)) == Values{0, 0, 128, 63, 0, 0, 0, 192});
  CHECK(values(x.view(kByte).view(kFloat)) == Values{1, -2});
  CHECK(x.view(kLong).sizes().vec() == std::vector<int64_t>{1});
  x.view(kByte).slice(0, 3, 4).fill_(191);  // the sign
  CHECK(values(x) == Values{-1, -2});
  x.view(kInt).bitwise_and_(0x7fffffff);
  CHECK(values(x) == Values{1, 2});
  x.view(kLong).zero_();
  CHECK(values(x) == Values{0, 0});
  CHECK(error_of([&] { arange(6, kByte).view(kInt); }) ==
        "self.size(-1) must be divisible by 4 to view Byte as Int (different element sizes), but got 6");
  CHECK(error_of([&] { tensor(1.f).view(kByte); }) == "self.dim() cannot be 0 to view Float as Byte (different element sizes)");
  Tensor odd = arange(7, kByte);  // a storage that the wide type does not fill
  odd.slice(0, 0, 4).view(kInt).fill_(-1);
  CHECK(values(odd) == Values{255, 255, 255, 255, 4, 5, 6});
}

TEST_CASE("views: elementwise results keep the order of dims in memory") {
  const auto strides = [](const Tensor& x) { return x.strides().vec(); };
  using Strides = std::vector<int64_t>;
  const Tensor x = arange(6.).reshape({2, 3}).t();
  CHECK(strides(x + 1) == Strides{1, 3});
  CHECK(strides(x.exp()) == Strides{1, 3});
  CHECK(strides(x.clone()) == Strides{1, 3});
  CHECK(strides(zeros_like(x)) == Strides{1, 3});
  CHECK(strides(x.to(kDouble)) == Strides{1, 3});
  CHECK(strides(x > 2) == Strides{1, 3});
  CHECK(strides(where(x > 2, x, 0)) == Strides{1, 3});
  CHECK(strides(x.clamp(0, 3)) == Strides{1, 3});
  CHECK(strides(x + arange(6.).reshape({3, 2})) == Strides{1, 3});  // the first operand decides
  CHECK(strides(arange(6.).reshape({3, 2}) + x) == Strides{2, 1});
  CHECK(strides(x + arange(2.)) == Strides{1, 3});
  CHECK(strides(x.contiguous()) == Strides{2, 1});
  CHECK(strides(x.sum(0, true)) == Strides{2, 1});
  const Tensor part = box().permute({2, 0, 1}).slice(0, 0, 4, 2);  // not dense: dense in the same order
  CHECK(strides(part * 2) == Strides{1, 6, 2});
  CHECK(values(x + 1) == Values{1, 4, 2, 5, 3, 6});
  CHECK(values((x + 1).t() * 2) == Values{2, 4, 6, 8, 10, 12});
  CHECK(values((part * 2)[1]) == Values{4, 12, 20, 28, 36, 44});
}

TEST_CASE("views: an operation behind a permuted result runs once") {
  const Tensor x = arange(6.).reshape({2, 3}).t();
  const Tensor y = (x + 1).exp();
  const Tensor z = y * 2;
  eval(y);
  clear_kernel_history();
  eval(z);
  REQUIRE(kernel_history().size() == 1);
  CHECK(kernel_history()[0].name.find("exp") == std::string::npos);
}

TEST_CASE("views: channels last") {
  const Tensor x = arange(24.).reshape({1, 2, 3, 4});
  const Tensor y = x.contiguous(MemoryFormat::ChannelsLast);
  CHECK(y.strides().vec() == std::vector<int64_t>{24, 1, 8, 2});
  CHECK(y.is_contiguous(MemoryFormat::ChannelsLast));
  CHECK(!y.is_contiguous());
  CHECK(values(y) == values(x));
  CHECK((y + 1).is_contiguous(MemoryFormat::ChannelsLast));
}

TEST_CASE("views: tensors as indices") {
  const Tensor x = box();
  const Tensor rows = tensor({1, 0, -1}), columns = tensor({0, 3, 2});
  const auto shape = [](const Tensor& t) { return t.sizes().vec(); };
  using Shape = std::vector<int64_t>;
  CHECK(shape(x.index({Slice(), Slice(), columns})) == Shape{2, 3, 3});
  CHECK(shape(x.index({Slice(), tensor({0, 1}), tensor({0, 3})})) == Shape{2, 2});
  CHECK(shape(x.index({tensor({0, 1}), Slice(), tensor({0, 3})})) == Shape{2, 3});  // apart: to the front
  CHECK(shape(x.index({0, Slice(), columns})) == Shape{3, 3});
  CHECK(shape(x.index({rows.reshape({3, 1}), tensor({0, 1})})) == Shape{3, 2, 4});
  CHECK(shape(x.index({None, rows, "...", tensor({0})})) == Shape{3, 1, 3});
  CHECK(values(x.index({rows, 0, columns})) == Values{12, 3, 14});
  CHECK(values(x.index({x > 20})) == Values{21, 22, 23});
  CHECK(values(x.index({tensor({false, true}), 1, Slice(1, 3)})) == Values{17, 18});
  CHECK(values(x.index({1, tensor({{true, false, false, true}, {false, false, false, false}, {false, true, false, false}})})) ==
        Values{12, 15, 21});
  CHECK(shape(x.index({true})) == Shape{1, 2, 3, 4});
  CHECK(shape(x.index({false})) == Shape{0, 2, 3, 4});
  CHECK(shape(x.index({tensor(1)})) == Shape{3, 4});
  CHECK(x.index({tensor(1)}).is_alias_of(x));
  CHECK(values(x[tensor({1})][0][2]) == Values{20, 21, 22, 23});
  CHECK(shape(x.index({zeros({0}, kLong)})) == Shape{0, 3, 4});
  CHECK(values(arange(5).index({tensor({1, 3}, kInt)})) == Values{1, 3});
  CHECK(error_of([&] { x.index({tensor({2})}); }) == "index 2 is out of bounds for dimension 0 with size 2");
  CHECK(error_of([&] { x.index({0, tensor({-4})}); }) == "index -4 is out of bounds for dimension 0 with size 3");
  CHECK(error_of([&] {
          x.index({tensor({0, 1}), tensor({0, 1, 2})});
        }) == "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]");
  CHECK(error_of([&] {
          x.index({tensor({true, false, true})});
        }) ==
        "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3, 4] at "
        "index 0");
  CHECK(error_of([&] { x.index({tensor({0.5})}); }) == "tensors used as indices must be long, int, byte or bool tensors");
  CHECK(error_of([&] { x.index({rows, rows, rows, rows}); }) == "too many indices for tensor of dimension 3");
}
