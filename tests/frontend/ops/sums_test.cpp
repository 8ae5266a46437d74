// Sums and products over many terms: their error does not grow with the number of terms (docs/math.md has the table, tools/sums
// makes it), infinities and nan come through, an operand that is the same everywhere gives what any other gives, and reductions run along memory.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace tenon;

namespace {

// Relative, of the worst element.
double error_of(const Tensor& got, const Tensor& exact) { return (got.to(kDouble) / exact - 1).abs().max().item<double>(); }

Tensor weight_gradient(const Tensor& x, const Tensor& y) {
  Tensor w = zeros({y.size(1), x.size(1)}, x.options());
  w.set_requires_grad(true);
  return autograd::grad({(linear(x, w) * y).sum()}, {w})[0];
}

Tensor conv_weight_gradient(const Tensor& x, const Tensor& y) {
  const auto image = [](const Tensor& t) { return t.select(1, 0).reshape({1, 1, t.size(0) / 5, 5}); };
  Tensor w = zeros({1, 1, 1, 1}, x.options());
  w.set_requires_grad(true);
  return autograd::grad({(conv2d(image(x), w) * image(y)).sum()}, {w})[0];
}

struct Case {
  const char* name;
  double equal, rand;                                           // bounds of the error in float32
  std::function<Tensor(const Tensor& x, const Tensor& y)> run;  // x, y: [K, 2]
};

std::vector<Case> cases() {
  constexpr double kChain = 1e-6, kUlp = 1.2e-7;
  return {{"mm", kChain, kChain, [](const Tensor& x, const Tensor& y) { return x.t().contiguous().mm(y); }},
          {"bmm", kChain, kChain, [](const Tensor& x, const Tensor& y) { return x.t().unsqueeze(0).bmm(y.unsqueeze(0)); }},
          {"mv", 3 * kUlp, 3 * kUlp, [](const Tensor& x, const Tensor& y) { return x.t().mv(y.select(1, 0)); }},
          {"weight gradient", kChain, kChain, weight_gradient},
          {"conv2d weight gradient", kChain, kChain, conv_weight_gradient},
          {"sum(0)", kUlp, kUlp, [](const Tensor& x, const Tensor&) { return x.sum(0); }},
          {"sum(1)", 3 * kUlp, 3 * kUlp, [](const Tensor& x, const Tensor&) { return x.t().contiguous().sum(1); }},
          {"square().sum(0)", kUlp, 2 * kUlp, [](const Tensor& x, const Tensor&) { return x.square().sum(0); }},
          {"sum()", 3 * kUlp, 3 * kUlp, [](const Tensor& x, const Tensor&) { return x.sum(); }},
          {"mean(0)", 2 * kUlp, 2 * kUlp, [](const Tensor& x, const Tensor&) { return x.mean(0); }}};
}

}  // namespace

TEST_CASE("the error of sums and products does not grow with the number of terms") {
  manual_seed(1);
  for (const int64_t k : {10, 100, 1000, 65535, 1000000}) {
    for (const bool equal : {true, false}) {
      const auto terms = [&] { return equal ? full({k, 2}, 0.1) : rand({k, 2}); };
      const Tensor x = terms(), y = terms();
      for (const Case& c : cases()) {
        CAPTURE(c.name);
        CAPTURE(k);
        CAPTURE(equal);
        CHECK(error_of(c.run(x, y), c.run(x.to(kDouble), y.to(kDouble))) <= (equal ? c.equal : c.rand));
      }
    }
  }
}

TEST_CASE("products and means of half precision are off by their own rounding") {
  manual_seed(2);
  for (const auto& [dtype, rounding] : {std::pair{kHalf, 0x1p-11}, {kBFloat16, 0x1p-8}}) {
    for (const int64_t k : {1000, 100000}) {
      const Tensor x = rand({k, 2}).to(dtype), y = rand({k, 2}).to(dtype);
      CAPTURE(k);
      CHECK(error_of(x.t().contiguous().mm(y), x.to(kDouble).t().mm(y.to(kDouble))) <= 1.01 * rounding);
      CHECK(error_of(x.mean(0), x.to(kDouble).mean(0)) <= 1.01 * rounding);
    }
  }
}

TEST_CASE("a mean of many equal numbers is that number to one unit in the last place") {
  for (const double value : {0.1, 0.3, 1 / 3.0, 0.7, 0.9, 1.1, -1.7, 2.3, 3.14159, 1e-3, 123.456, 7e30}) {
    const auto x = static_cast<float>(value);
    const float ulp = std::abs(std::nextafter(x, 2 * x) - x);
    for (const int64_t n : {5000, 999999, 1000000}) {
      const Tensor line = full({n}, value), columns = full({n, 3}, value), planes = full({n / 1000, 2, 1000}, value);
      CAPTURE(value);
      CAPTURE(n);
      for (const Tensor& mean : {line.mean(), columns.mean(0).max(), columns.t().mean(1).min(), planes.mean(), planes.mean({0, 2}).max()})
        CHECK(std::abs(mean.item<float>() - x) <= ulp);
    }
  }
}

TEST_CASE("infinities, nan and overflow go through long sums and products as through short ones") {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  struct Special {
    std::vector<double> values;  // among ones
    double sum;
  };
  for (const Special& special :
       {Special{{kInf}, kInf}, {{-kInf}, -kInf}, {{kInf, -kInf}, kNan}, {{kNan}, kNan}, {{kInf, kNan}, kNan}, {{3e38, 3e38}, kInf}}) {
    for (const int64_t n : {20, 300, 5000, 70000}) {
      Tensor x = ones({n});
      for (size_t i = 0; i < special.values.size(); ++i) x[static_cast<int64_t>(i) * 7 + 3] = special.values[i];
      const Tensor columns = x.unsqueeze(1).expand({n, 2}).contiguous();
      CAPTURE(n);
      CAPTURE(special.sum);
      for (const Tensor& sum : {x.sum(), columns.sum(0)[0], columns.t().mm(ones({n, 2}))[0][0], columns.t().matmul(ones({n}))[1]}) {
        const double got = sum.item<double>();
        CHECK((got == special.sum || (std::isnan(got) && std::isnan(special.sum))));
      }
    }
  }
}

TEST_CASE("an operand that is the same everywhere gives what the same numbers in memory give") {
  manual_seed(3);
  const Tensor x = randn({20, 300}), image = randn({2, 3, 9, 11});
  const auto stored = [](const Tensor& t) {  // numbers that nobody knows to be equal
    Tensor copy = from_blob(t.contiguous().data_ptr<float>(), t.sizes()).clone();
    eval(copy);
    return copy;
  };
  const auto same = [&](const std::function<Tensor(const Tensor&)>& product, const Tensor& operand) {
    CHECK(equal(product(operand), product(stored(operand))));
  };
  same([&](const Tensor& w) { return x.mm(w); }, full({300, 40}, 0.3));
  same([&](const Tensor& w) { return x.mm(w); }, x[0].unsqueeze(1).expand({300, 40}));
  same([&](const Tensor& w) { return w.mm(x); }, full({17, 20}, 0.3));
  same([&](const Tensor& w) { return linear(x, w); }, ones({40, 300}));
  same([&](const Tensor& w) { return x.unsqueeze(0).expand({3, 20, 300}).bmm(w); }, ones({3, 300, 5}));
  same([&](const Tensor& w) { return conv2d(image, w, {}, 1, 1); }, full({4, 3, 3, 3}, 0.3));
  same([&](const Tensor& w) { return conv2d(w, randn({4, 3, 3, 3}).zero_() + 0.2, {}, 1, 1); }, image);
  same([&](const Tensor& w) { return conv_transpose2d(image, w, {}, 2, 1); }, full({3, 4, 4, 4}, 0.3));
}

TEST_CASE("a reduction of a permuted view is that of what it shows, in its order of memory") {
  manual_seed(2);
  const Tensor x = randn({5, 19, 23, 7});
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&, IntArrayRef, bool)>>> reductions = {
      {"sum", [](const Tensor& t, IntArrayRef dims, bool keep) { return t.sum(dims, keep); }},
      {"mean", [](const Tensor& t, IntArrayRef dims, bool keep) { return t.mean(dims, keep); }},
      {"std", [](const Tensor& t, IntArrayRef dims, bool keep) { return t.std(dims, true, keep); }},
      {"amax", [](const Tensor& t, IntArrayRef dims, bool keep) { return t.amax(dims, keep); }},
      {"norm", [](const Tensor& t, IntArrayRef dims, bool keep) { return t.norm(3, dims, keep); }},
      {"logsumexp", [](const Tensor& t, IntArrayRef dims, bool keep) { return t.logsumexp(dims, keep); }}};
  std::vector<int64_t> order = {0, 1, 2, 3}, places(4);
  do {
    for (size_t i = 0; i < 4; ++i) places[order[i]] = static_cast<int64_t>(i);
    const Tensor view = x.permute(order);
    for (int64_t mask = 1; mask < 16; ++mask) {
      std::vector<int64_t> dims, of_view;
      for (int64_t d = 0; d < 4; ++d) {
        if (mask >> d & 1) dims.push_back(d), of_view.push_back(places[d]);
      }
      const auto& [name, reduce] = reductions[static_cast<size_t>(mask) % reductions.size()];
      CAPTURE(name);
      CAPTURE(view.sizes());
      CAPTURE(of_view);
      const Tensor kept = reduce(view, of_view, true);
      CHECK(equal(kept, reduce(x, dims, true).permute(order)));
      CHECK(equal(reduce(view, of_view, false), kept.squeeze(of_view)));
      CHECK(kept.is_contiguous());
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a sum of a transposed matrix runs the kernel of the matrix") {
  const Tensor x = rand({300, 200}), y = rand({300, 200});
  for (const auto& [rows, columns] :
       {std::pair(x.sum(), y.t().sum()), std::pair(x.sum(0), y.t().sum(1)), std::pair(x.sum(1), y.t().sum(0))}) {
    clear_kernel_history();
    eval(rows);
    eval(columns);
    const std::vector<KernelRecord> records = kernel_history();
    REQUIRE(records.size() == 2);
    CHECK(records[0].schedule == records[1].schedule);
    CHECK(records[0].hash == records[1].hash);
  }
}

TEST_CASE("a sum over an expanded operand and a norm of a permuted one have the bits of their copies") {
  for (const int64_t length : {5, 15, 16, 17, 40, 522}) {
    CAPTURE(length);
    for (const ScalarType type : {kFloat, kDouble, kFloat16}) {
      const Tensor line = randn({617, 1}).to(type), wide = line.expand({617, length}), copy = wide.clone(MemoryFormat::Contiguous);
      CHECK(wide.sum().equal(copy.sum()));
      CHECK(wide.mul(2).sum().equal(copy.mul(2).sum()));
    }
  }
  const Tensor x = randn({3, 6, 20, 17}), turned = x.transpose(-1, -2), copy = turned.clone(MemoryFormat::Contiguous), w = randn({6}),
               b = randn({6});
  eval({x, copy, w, b});
  for (const int64_t groups : {1, 2, 6}) CHECK(group_norm(turned, groups, w, b).equal(group_norm(copy, groups, w, b)));
  CHECK(layer_norm(turned, {6, 17, 20}).equal(layer_norm(copy, {6, 17, 20})));
}
