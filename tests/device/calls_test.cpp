// Operations on whole buffers (joining, scattering, masks, sorting) on a device: the CPU's bits, also where a plan lays a
// result over an operand, leaves out parts that lie in place, or reads a part of a tensor.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <functional>
#include <string>
#include <vector>

#include "device/tested_device.h"

using namespace tenon;
using tenon::test::bits_of;

namespace {

// The same program on the host and on the device.
void compare(const char* name, const std::function<std::vector<Tensor>(Device)>& program) {
  CAPTURE(name);
  manual_seed(3);
  const std::vector<Tensor> expected = program(kCPU);
  manual_seed(3);
  const std::vector<Tensor> got = program(tenon::test::tested_device());
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i].sizes() == expected[i].sizes());
    CHECK(bits_of(got[i]) == bits_of(expected[i]));
  }
}

Tensor normal(std::vector<int64_t> shape, Device device) { return randn(shape).to(device); }
Tensor places(int64_t end, std::vector<int64_t> shape, Device device) { return randint(end, shape).to(device); }

}  // namespace

TEST_CASE("calls: parts of a cat, read, computed, in place, and many") {
  compare("inputs", [](Device d) {
    const Tensor a = normal({5, 8}, d), b = normal({5, 3}, d);
    return std::vector<Tensor>{cat({a, b}, 1), cat({a, a}, 0)};
  });
  compare("computed, all in place", [](Device d) {
    const Tensor a = normal({64, 8}, d), b = normal({32, 8}, d);
    return std::vector<Tensor>{cat({a.relu(), b.exp(), a.softmax(1), b.sum(0, true)}, 0)};
  });
  compare("computed, at odd places", [](Device d) {
    const Tensor a = normal({3, 7}, d), b = normal({5, 7}, d);
    return std::vector<Tensor>{cat({a.relu(), b.exp(), a.softmax(1), b.sum(0, true), a}, 0).mul(2)};
  });
  compare("many", [](Device d) {
    std::vector<Tensor> narrow, computed;
    for (int i = 0; i < 70; ++i) narrow.push_back(normal({4, 1 + i % 5}, d));
    for (int i = 0; i < 40; ++i) computed.push_back(normal({4, 8}, d).softmax(1));
    return std::vector<Tensor>{cat(narrow, 1), cat(computed, 0), stack(std::vector<Tensor>(40, narrow[0]), 0)};
  });
  compare("constants and views", [](Device d) {
    const Tensor a = normal({5, 8}, d), b = normal({6, 10}, d);
    return std::vector<Tensor>{cat({a, zeros({5, 4}, d), ones({5, 3}, d), full({5, 1}, 2.5, d)}, 1),
                               cat({b.t(), b.t().flip(0), b.slice(0, 1, 4).t(), b.t()}, 1)};
  });
  compare("rows that begin anywhere", [](Device d) {
    const Tensor x = normal({6, 7}, d).contiguous(), bytes = places(200, {6, 9}, d).to(kByte);
    eval(x, bytes);
    std::vector<Tensor> joined;
    for (int64_t i = 0; i < 5; ++i) {
      joined.push_back(cat({x[i].slice(0, 0, 4), x[i + 1].slice(0, 1, 5)}, 0));
      joined.push_back(cat({bytes[i].slice(0, 0, 4), bytes[i + 1].slice(0, 1, 5)}, 0));
      for (const Tensor& t : joined) eval(t);
    }
    return joined;
  });
}

TEST_CASE("calls: scatters over a copy, over the base itself, and into a part of a tensor") {
  compare("out of place", [](Device d) {
    const Tensor a = normal({10, 8}, d), self = normal({50}, d);
    return std::vector<Tensor>{a.scatter_add(0, places(10, {30, 8}, d), normal({30, 8}, d)), a,
                               self.scatter_add(0, places(50, {50}, d), self), self};
  });
  compare("in place, one after another", [](Device d) {
    Tensor a = zeros({50}, d) + 1;
    for (int i = 0; i < 3; ++i) a.scatter_add_(0, places(50, {300}, d), normal({300}, d));
    return std::vector<Tensor>{a};
  });
  compare("a row", [](Device d) {
    Tensor a = normal({4, 50}, d);
    const Tensor apart = a[2].scatter_add(0, places(50, {300}, d), normal({300}, d));
    a[1].scatter_add_(0, places(50, {300}, d), normal({300}, d));
    return std::vector<Tensor>{apart, a};
  });
  compare("the gradient of an embedding", [](Device d) {
    Tensor weight = normal({20, 16}, d).requires_grad_();
    embedding(weight, places(20, {200}, d)).pow(2).sum().backward();
    return std::vector<Tensor>{weight.grad()};
  });
  compare("indices", [](Device d) {
    Tensor a = normal({10, 4}, d);
    a.index_put_({places(10, {20}, d)}, normal({20, 4}, d), true);
    return std::vector<Tensor>{a, bincount(places(30, {500}, d))};
  });
}

TEST_CASE("calls: masks and sorted lines") {
  compare("masks", [](Device d) {
    Tensor a = normal({40, 7}, d);
    const Tensor rows = a.sum(1) > 0;
    std::vector<Tensor> results = {a.masked_select(a > 0.5), nonzero(a > 1), a.index({rows})};
    a.index_put_({rows}, normal({rows.sum().item<int64_t>(), 7}, d));
    results.push_back(a.masked_scatter(a > 0, normal({400}, d)));
    results.push_back(a);
    return results;
  });
  compare("sort", [](Device d) {
    const Tensor a = normal({7, 300}, d), ties = places(1000, {5000}, d);
    const auto [along, along_at] = sort(a, 1);
    const auto [down, down_at] = sort(a, 0, true);
    return std::vector<Tensor>{along, along_at, down, down_at, argsort(ties, 0, true)};
  });
  compare("the first few and the middle", [](Device d) {
    const Tensor a = normal({3, 5000}, d);
    const auto [values, at] = topk(a, 5);
    return std::vector<Tensor>{values, at, median(a)};
  });
}
