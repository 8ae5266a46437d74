// The gradients of convolutions of every kind, which have rules of their own, against those of sums written out.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include "frontend/values.h"

namespace tenon {
namespace {

struct Case {
  const char* name;
  std::vector<int64_t> input, weight, stride, padding, dilation;
  int64_t groups;
};
const Case kCases[] = {
    {"one sample, one channel", {1, 1, 5, 5}, {1, 1, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"long rows", {3, 2, 9, 14}, {4, 2, 3, 5}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"padding", {4, 3, 10, 12}, {5, 3, 5, 5}, {1, 1}, {3, 2}, {1, 1}, 1},
    {"stride", {2, 3, 11, 12}, {4, 3, 3, 4}, {2, 3}, {1, 0}, {1, 1}, 1},
    {"dilation", {2, 2, 12, 17}, {3, 2, 3, 3}, {1, 1}, {2, 1}, {2, 3}, 1},
    {"stride and dilation", {2, 2, 13, 16}, {3, 2, 3, 2}, {3, 2}, {1, 2}, {2, 3}, 1},
    {"groups", {2, 6, 7, 11}, {8, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2},
    {"depthwise", {3, 4, 8, 12}, {8, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 4},
    {"1 x 1", {5, 4, 6, 9}, {3, 4, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"windows side by side", {2, 3, 8, 13}, {4, 3, 4, 4}, {4, 4}, {0, 0}, {1, 1}, 1},
    {"along one dim", {7, 3, 40}, {4, 3, 5}, {2}, {2}, {1}, 1},
    {"along three dims", {2, 2, 5, 6, 9}, {3, 2, 2, 3, 2}, {1, 2, 1}, {1, 0, 1}, {1, 1, 1}, 1},
};

Tensor convolved(const Case& c, const Tensor& x, const Tensor& w, const Tensor& b) {
  return convolution(x, w, b, c.stride, c.padding, c.dilation, false, std::vector<int64_t>(c.stride.size(), 0), c.groups);
}

// Element by element, each tap a slice of the padded input: sums of products, whose gradients are those of slices.
Tensor by_taps(const Case& c, const Tensor& x, const Tensor& w, const Tensor& b) {
  const size_t dims = c.stride.size();
  std::vector<int64_t> border;
  for (size_t d = dims; d-- > 0;) border.insert(border.end(), 2, c.padding[d]);
  const Tensor padded = constant_pad_nd(x, border);
  const Tensor like = convolved(c, x.detach(), w.detach(), b.detach());  // for its sizes
  const int64_t outs = w.size(0), group_ins = w.size(1), group_outs = outs / c.groups;
  int64_t taps = 1;
  for (size_t d = 0; d < dims; ++d) taps *= w.size(static_cast<int64_t>(2 + d));
  std::vector<Tensor> channels;
  for (int64_t o = 0; o < outs; ++o) {
    Tensor sum = b[o];
    for (int64_t i = 0; i < group_ins; ++i) {
      for (int64_t t = 0; t < taps; ++t) {
        Tensor seen = padded.select(1, o / group_outs * group_ins + i), factor = w[o][i];
        int64_t rest = t;
        for (size_t d = dims; d-- > 0;) {
          const auto dim = static_cast<int64_t>(d);
          const int64_t k = rest % w.size(2 + dim), begin = k * c.dilation[d];
          rest /= w.size(2 + dim);
          seen = seen.slice(1 + dim, begin, begin + (like.size(2 + dim) - 1) * c.stride[d] + 1, c.stride[d]);
          factor = factor.select(dim, k);
        }
        sum = sum + seen * factor;
      }
    }
    channels.push_back(sum);
  }
  return stack(channels, 1);
}

double distance(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

}  // namespace

TEST_CASE("gradients of convolutions are those of their sums") {
  manual_seed(3);
  for (const Case& c : kCases) {
    INFO(c.name);
    const TensorOptions leaf = TensorOptions(kDouble).requires_grad(true);
    const Tensor x = randn(c.input, leaf), w = randn(c.weight, leaf), b = randn({c.weight[0]}, leaf);
    const Tensor y = convolved(c, x, w, b), expected = by_taps(c, x, w, b);
    REQUIRE(y.sizes() == expected.sizes());
    CHECK(distance(y, expected) < 1e-12);
    const Tensor g = randn_like(y.detach());
    const std::vector<Tensor> ours = autograd::grad({y}, {x, w, b}, {g}), theirs = autograd::grad({expected}, {x, w, b}, {g});
    for (size_t i = 0; i < ours.size(); ++i) {
      INFO("operand ", i);
      REQUIRE(ours[i].sizes() == theirs[i].sizes());
      CHECK(distance(ours[i], theirs[i]) < 1e-11);
    }
  }
}

TEST_CASE("gradients of transposed convolutions: the inner product with a direction, both ways") {
  manual_seed(4);
  for (const Case& c : kCases) {
    INFO(c.name);
    const TensorOptions leaf = TensorOptions(kDouble).requires_grad(true);
    // A transposed convolution is the adjoint of the convolution with the same weights.
    const Tensor x = randn(c.input, kDouble), w = randn(c.weight, leaf);
    const Tensor y = convolved(c, x, w, {});
    const Tensor g = randn(y.sizes(), leaf);
    std::vector<int64_t> rest;
    for (size_t d = 0; d < c.stride.size(); ++d) {
      const auto dim = static_cast<int64_t>(d) + 2;
      rest.push_back(x.size(dim) - ((y.size(dim) - 1) * c.stride[d] - 2 * c.padding[d] + c.dilation[d] * (w.size(dim) - 1) + 1));
    }
    const Tensor back = convolution(g, w, {}, c.stride, c.padding, c.dilation, true, rest, c.groups);
    REQUIRE(back.sizes() == x.sizes());
    const Tensor one = (back * x).sum(), other = (y * g).sum();
    CHECK(distance(one, other) < 1e-10);
    const std::vector<Tensor> ours = autograd::grad({one}, {g, w}), theirs = autograd::grad({other}, {g, w});
    CHECK(distance(ours[0], theirs[0]) < 1e-11);
    CHECK(distance(ours[1], theirs[1]) < 1e-11);
  }
}

TEST_CASE("second gradients of a convolution, and of one sample without a batch") {
  manual_seed(5);
  const TensorOptions leaf = TensorOptions(kDouble).requires_grad(true);
  const Tensor x = randn({3, 10, 12}, leaf), w = randn({4, 3, 3, 3}, leaf), b = randn({4}, leaf);
  const Case c{"", {1, 3, 10, 12}, {4, 3, 3, 3}, {2, 1}, {1, 1}, {1, 1}, 1};
  const auto penalty = [&](const Tensor& y) {
    const std::vector<Tensor> first = autograd::grad({y.square().sum()}, {x, w}, {}, nullopt, true);
    return autograd::grad({first[0].square().sum() + first[1].square().sum()}, {x, w, b});
  };
  const std::vector<Tensor> ours = penalty(conv2d(x, w, b, c.stride, c.padding)), theirs = penalty(by_taps(c, x.unsqueeze(0), w, b));
  for (size_t i = 0; i < ours.size(); ++i) CHECK(distance(ours[i], theirs[i]) < 1e-8 * theirs[i].abs().max().item<double>());
}

}  // namespace tenon
