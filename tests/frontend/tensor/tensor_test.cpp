// Tensors as handles: storage shared by views, memory, laziness, conversions, literals, accessors.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <algorithm>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "frontend/src/tensor/impl.h"
#include "ir/graph/graph.h"

using namespace tenon;
using indexing::None;
using indexing::Slice;

namespace {

std::vector<int64_t> values(const Tensor& x) {
  const Tensor dense = x.to(kLong).contiguous();
  const int64_t* data = dense.data_ptr<int64_t>();
  return {data, data + dense.numel()};
}

// The same elements by strides alone, without any graph node.
std::vector<int64_t> by_strides(const Tensor& x) {
  std::vector<int64_t> result;
  const HostView view = host_view(x);
  std::vector<int64_t> index(view.sizes.size(), 0);
  for (int64_t n = 0; n < x.numel(); ++n) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view.strides[d];
    result.push_back(ir::to_int64(view.element(offset)));
    for (size_t d = index.size(); d-- > 0 && ++index[d] == view.sizes[d];) index[d] = 0;
  }
  return result;
}

Tensor numbers(IntArrayRef shape) {  // 0, 1, 2, ... in memory
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  std::vector<int64_t> data(static_cast<size_t>(count));
  std::iota(data.begin(), data.end(), 0);
  return tensor(data).view(shape);
}

// One random view operation that PyTorch would accept.
Tensor random_view(const Tensor& x, std::mt19937& random) {
  auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(std::max<int64_t>(n, 1))); };
  const int64_t rank = x.dim();
  const int64_t dim = pick(rank);
  if (rank == 0) return x.unsqueeze(0);
  switch (pick(8)) {
    case 0: return x.transpose(dim, pick(rank));
    case 1: return x.size(dim) > 0 && rank > 1 ? x.select(dim, pick(x.size(dim))) : x;
    case 2: return x.slice(dim, pick(x.size(dim)), x.size(dim), 1 + pick(3));
    case 3: return rank < 5 ? x.unsqueeze(pick(rank + 1)) : x.squeeze();
    case 4: {
      std::vector<int64_t> size = x.sizes().vec();
      if (size[static_cast<size_t>(dim)] == 1) size[static_cast<size_t>(dim)] = 1 + pick(3);
      return x.expand(size);
    }
    case 5: {
      std::vector<int64_t> dims(static_cast<size_t>(rank));
      std::iota(dims.begin(), dims.end(), 0);
      std::shuffle(dims.begin(), dims.end(), random);
      return x.permute(dims);
    }
    case 6: return x.size(dim) % 2 == 0 && x.size(dim) > 0 && rank < 5 ? x.unflatten(dim, {2, x.size(dim) / 2}) : x;
    default: {
      const int64_t length = pick(x.size(dim) + 1);
      return x.narrow(dim, pick(x.size(dim) - length + 1), length);
    }
  }
}

}  // namespace

TEST_CASE("views: the graph's movement operations agree with the strides") {
  std::mt19937 random(7);
  const std::vector<std::vector<int64_t>> shapes = {{24}, {4, 6}, {5, 7}, {2, 3, 4}, {3, 1, 5, 2}};
  const Config saved = get_config();
  Config config = saved;
  config.interpreter = true;  // hundreds of different kernels; compiling them is not the point
  set_config(config);
  for (int round = 0; round < 400; ++round) {
    Tensor x = numbers(shapes[random() % shapes.size()]);
    const Tensor base = x;
    std::string steps;
    for (int i = 0; i < 5; ++i) {
      try {
        x = random_view(x, random);
      } catch (const Error&) {  // unflatten of dims that do not split
      }
      std::ostringstream text;
      text << x.sizes() << x.strides() << x.storage_offset() << ' ';
      steps += text.str();
    }
    CAPTURE(steps);
    CHECK(x.is_alias_of(base));
    const std::vector<int64_t> want = by_strides(x);
    CHECK(values(x + 0.5) == want);  // a new tensor computed through the view's node, truncated
    CHECK(values(x.clone()) == want);
    if (x.numel() > 0) CHECK(x.data_ptr() == static_cast<int64_t*>(base.data_ptr()) + x.storage_offset());
  }
  set_config(saved);
}

TEST_CASE("views: strides, offsets, sharing as in PyTorch") {
  const Tensor x = numbers({2, 3});
  auto strides = [](const Tensor& t) { return t.strides().vec(); };
  using V = std::vector<int64_t>;
  CHECK(strides(x.t()) == V{1, 3});
  CHECK(strides(x.unsqueeze(0)) == V{6, 3, 1});
  CHECK(strides(x.unsqueeze(1)) == V{3, 3, 1});
  CHECK(strides(x.unsqueeze(2)) == V{3, 1, 1});
  CHECK(strides(x[0].expand({4, 3})) == V{0, 1});
  CHECK(strides(empty({2, 0, 3})) == V{3, 3, 1});
  CHECK(x.select(1, 2).storage_offset() == 2);
  CHECK(x.index({"...", Slice(None, None, 2)}).sizes() == IntArrayRef({2, 2}));
  CHECK(x.t().is_contiguous() == false);
  CHECK(x.t().contiguous().is_contiguous());
  CHECK(x.contiguous().is_same(x));
  CHECK(x.to(kLong).is_same(x));
  CHECK(x.reshape({6}).is_alias_of(x));
  CHECK_FALSE(x.t().reshape({6}).is_alias_of(x));
  CHECK(x.detach().is_alias_of(x));
  CHECK_FALSE(x.clone().is_alias_of(x));
  CHECK(numbers({2, 3, 4}).transpose(0, 1).reshape({3, 2, 2, 2}).strides() == IntArrayRef({4, 12, 2, 1}));
  CHECK(values(x.t()) == V{0, 3, 1, 4, 2, 5});
}

TEST_CASE("memory: a write through a pointer is seen by every alias and by nobody else") {
  Tensor x = numbers({2, 3});
  const Tensor copy = x.clone(), view = x.t(), same = x * 1;
  x.data_ptr<int64_t>()[1] = 50;
  CHECK(values(x) == std::vector<int64_t>{0, 50, 2, 3, 4, 5});
  CHECK(values(view) == std::vector<int64_t>{0, 3, 50, 4, 2, 5});
  CHECK(values(view + 1) == std::vector<int64_t>{1, 4, 51, 5, 3, 6});
  CHECK(values(copy) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  CHECK(values(same) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  const Tensor later = x.clone();
  x.data_ptr<int64_t>()[0] = 7;
  CHECK(later.index({0, 0}).item<int64_t>() == 0);
  Tensor zeros_a = zeros({3}), zeros_b = zeros({3});  // one constant in the graph, two tensors
  zeros_a.data_ptr<float>()[0] = 1;
  CHECK(zeros_b[0].item<float>() == 0);
  CHECK(zeros({3})[0].item<float>() == 0);
}

TEST_CASE("from_blob shares memory, with strides, and frees it once") {
  std::vector<float> data = {0, 1, 2, 3, 4, 5};
  const Tensor x = from_blob(data.data(), {2, 3});
  CHECK(x.data_ptr<float>() == data.data());
  const Tensor copy = x.clone();
  data[0] = 9;
  CHECK(x[0][0].item<float>() == 9);
  CHECK(copy[0][0].item<float>() == 0);
  const Tensor columns = from_blob(data.data(), {3, 2}, {1, 3});
  CHECK(values(columns) == std::vector<int64_t>{9, 3, 1, 4, 2, 5});
  int freed = 0;
  {
    Tensor owned = from_blob(data.data(), {6}, [&](void* p) { freed += p == data.data(); });
    const Tensor view = owned.slice(0, 1, 3), pending = owned + 1;
    owned = Tensor();
    CHECK(freed == 0);
    CHECK(pending[5].item<float>() == 6);
  }
  CHECK(freed == 1);
  CHECK_THROWS_WITH_AS(from_blob(nullptr, {3}), "from_blob: data is null", Error);
}

TEST_CASE("laziness: nothing runs until a value is needed; what is held runs once") {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  reset_counters();
  const Tensor y = (x * 2).exp(), z = y + 1;
  CHECK(counters().launches == 0);
  z.sum().item();
  CHECK(runtime::buffer_of(*node_of(y)));  // held, so an output of the same evaluation
  const int64_t launches = counters().launches;
  CHECK(launches > 0);
  (void)y.data_ptr();
  (void)z.data_ptr();
  CHECK(counters().launches == launches);
}

TEST_CASE("laziness: chains of a million operations, cut at the same place each time") {
  Tensor x = tensor({0.0, 1.0, 2.0, 3.0});
  reset_counters();
  for (int i = 0; i < 1'000'000; ++i) x = x * 0.5;
  CHECK(x.sum().item<float>() == 0);
  CHECK(counters().plan_hits > 100);
  CHECK(counters().plans_built < 20);
  const Config saved = get_config();
  Config config = saved;
  config.max_pending_nodes = int64_t{1} << 40;
  set_config(config);
  {
    Tensor y = x;  // dropping a deep chain must not recurse
    for (int i = 0; i < 200'000; ++i) y = y + 1;
  }
  set_config(saved);
}

TEST_CASE("literals: shapes and types") {
  CHECK(tensor({{1, 2}, {3, 4}}).sizes() == IntArrayRef({2, 2}));
  CHECK(tensor({{{1}}}).sizes() == IntArrayRef({1, 1, 1}));
  CHECK(tensor({}).sizes() == IntArrayRef({0}));
  CHECK(tensor({}).dtype() == kFloat);
  CHECK(tensor(7).dim() == 0);
  CHECK(tensor(7).dtype() == kLong);
  CHECK(tensor({1.0, 2.0}).dtype() == kFloat);
  CHECK(tensor({1, 2}, kInt).dtype() == kInt);
  CHECK(tensor({true, false}).dtype() == kBool);
  CHECK(tensor({1.5f, 2.0f}, dtype(kHalf)).dtype() == kHalf);
  CHECK(tensor(std::vector<double>{0.5, 1.5}).dtype() == kFloat);
  CHECK(tensor(std::vector<int64_t>{1, 2}).dtype() == kLong);
  CHECK(tensor(std::vector<bool>{true, false, true}).sum().item<int64_t>() == 2);
  CHECK(tensor(std::vector<uint8_t>{200}).dtype() == kByte);
  CHECK_THROWS_WITH_AS(tensor({{1, 2}, {3}}), "Expected all sub-lists to have sizes: 2 (e.g. {1, 2}), but got sub-list {3} with sizes: 1",
                       Error);
  CHECK_THROWS_WITH_AS(tensor(300, kUInt8), "value cannot be converted to type uint8 without overflow", Error);
  CHECK(full({2}, 3).dtype() == kLong);
  CHECK(full({2}, 3.0).dtype() == kFloat);
  CHECK(arange(3).dtype() == kLong);
  CHECK(arange(0, 1, 0.25).sizes() == IntArrayRef(4));
  CHECK(ones(7).sizes() == IntArrayRef(7));
}

TEST_CASE("values: items, accessors, printing of attributes") {
  const Tensor x = tensor({{1.5, 2.5, 3.5}, {4.5, 5.5, 6.5}});
  const auto a = x.accessor<float, 2>();
  CHECK(a[1][2] == 6.5f);
  CHECK(a.size(1) == 3);
  const Tensor columns = x.t();
  const auto column = columns.accessor<float, 2>();
  CHECK(column[2][1] == 6.5f);
  CHECK(x[1][0].item<double>() == 4.5);
  CHECK(x[1][0].item().toInt() == 4);
  CHECK_THROWS_WITH_AS((x.accessor<float, 1>()), "TensorAccessor expected 1 dims but tensor has 2", Error);
  CHECK_THROWS_WITH_AS(x.data_ptr<int64_t>(), "expected scalar type Long but found Float", Error);
  CHECK_THROWS_WITH_AS(x.item(), "a Tensor with 6 elements cannot be converted to Scalar", Error);
  CHECK_THROWS_WITH_AS(x[2], "select(): index 2 out of range for tensor of size [2, 3] at dimension 0", IndexError);
  CHECK_THROWS_WITH_AS(tensor(300).item<uint8_t>(), "value cannot be converted to type uint8_t without overflow", Error);
  CHECK_THROWS_AS(Tensor().sizes(), Error);
  std::ostringstream out;
  out << x.sizes() << ' ' << x.dtype() << ' ' << x.scalar_type() << ' ' << x.device() << ' ' << tensor({1}).dtype();
  CHECK(out.str() == "[2, 3] float Float cpu long int");
  CHECK(x.get_device() == -1);
  CHECK(static_cast<float>(Half(65519.f)) == 65504.f);
  CHECK(Scalar(2.5).to<int>() == 2);
  CHECK_THROWS_AS(Scalar(1e30).toLong(), Error);
  CHECK(equal(x, x.clone()));
  CHECK_FALSE(equal(x, x + 1));
  CHECK(allclose(x, x + 1e-7));
}

TEST_CASE("printing options") {
  const PrintOptions saved = get_printoptions();
  PrintOptions o = saved;
  o.precision = 2;
  set_printoptions(o);
  CHECK(repr(tensor({3.14159})) == "tensor([3.14])");
  o = saved;
  o.sci_mode = true;
  set_printoptions(o);
  CHECK(repr(tensor({3.14159, 0.0, 10.0})) == "tensor([3.1416e+00, 0.0000e+00, 1.0000e+01])");
  o.sci_mode = false;
  set_printoptions(o);
  CHECK(repr(tensor({1e-10, 1.0})) == "tensor([0.0000, 1.0000])");
  o = saved;
  o.threshold = 5;
  set_printoptions(o);
  CHECK(repr(arange(10)) == "tensor([0, 1, 2,  ..., 7, 8, 9])");
  o = saved;
  o.linewidth = 40;
  set_printoptions(o);
  CHECK(repr(arange(20)) ==
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,\n         8,  9, 10, 11, 12, 13, 14, 15,\n        16, 17, "
        "18, 19])");
  set_printoptions(saved);
}

TEST_CASE("tensors may be read by several threads at once") {
  const Tensor x = numbers({64, 64}).to(kFloat);
  const Tensor view = x.t(), pending = view + 1;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        right += (view * 2)[3][5].item<float>() == 2 * (5 * 64 + 3);
        right += pending[0][1].item<float>() == 65;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(right == 160);
}

TEST_CASE("nothing leaks") {
  const int64_t before = ir::live_node_count();
  {
    const Tensor x = numbers({3, 4}).to(kFloat);
    const Tensor y = softmax(x.t().matmul(x), 1), z = y.slice(0, 1, 3).sum();
    z.item();
  }
  CHECK(ir::live_node_count() <= before);  // fewer where a table of what came before was full, and was emptied
}

TEST_CASE("indices of triangles, wherever the diagonal lies") {
  for (int64_t rows : {0, 1, 3, 5}) {
    for (int64_t columns : {0, 1, 4}) {
      for (int64_t offset = -7; offset < 8; ++offset) {
        CAPTURE(rows);
        CAPTURE(columns);
        CAPTURE(offset);
        const Tensor ones = tenon::ones({rows, columns});
        CHECK(tenon::equal(tenon::tril_indices(rows, columns, offset), ones.tril(offset).nonzero().t()));
        CHECK(tenon::equal(tenon::triu_indices(rows, columns, offset), ones.triu(offset).nonzero().t()));
      }
    }
  }
  const int64_t most = std::numeric_limits<int64_t>::max();
  CHECK_THROWS_AS(tenon::tril_indices(most, most, 0), tenon::Error);
  CHECK(tenon::equal(tenon::triu_indices(int64_t{1} << 50, 2, 0), tenon::tensor({{0, 0, 1}, {0, 1, 1}})));
}

TEST_CASE("methods of matrices are the functions") {
  const Tensor m = tenon::arange(1., 10.).reshape({3, 3});
  CHECK(m.trace().item<double>() == 15);
  CHECK(tenon::equal(m.tril(), tenon::tril(m)));
  CHECK(tenon::equal(m.diag(1), tenon::tensor({2., 6.})));
  CHECK(tenon::equal(m.rot90(2), m.flip({0, 1})));
  CHECK(tenon::equal(m.sum_to_size({1, 3}), m.sum({0}, true)));
  CHECK(tenon::equal(m[0].repeat_interleave(2), tenon::tensor({1., 1., 2., 2., 3., 3.})));
  CHECK(tenon::equal(m.select_scatter(m[2], 0, 0)[0], m[2]));
}

TEST_CASE("counters and memory print as in info()") {
  eval(ones({3}) + 1);
  std::ostringstream counted, memory;
  counted << counters();
  memory << memory_stats();
  CHECK(info().find("\n" + counted.str() + "\n") != std::string::npos);
  CHECK(memory.str().find(" bytes allocated, ") != std::string::npos);
}
