// Convolution, pooling, resizing, losses, norms and einsum against plain loops over random configurations;
// what they refuse; how many kernels they take. The golden data cover the common cases, these the corners.
#include <doctest/doctest.h>
#include <tenon/nn/functional.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>

namespace {

namespace F = tenon::nn::functional;
using tenon::Tensor;
using Shape = std::vector<int64_t>;
using Index = std::vector<int64_t>;

int64_t count(const Shape& shape) { return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()); }

// A row-major array of doubles, the model of a tensor.
struct Array {
  Shape shape;
  std::vector<double> values;

  explicit Array(Shape s, double fill = 0) : shape(std::move(s)), values(static_cast<size_t>(count(shape)), fill) {}
  size_t place(const Index& i) const {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + i[d];
    return static_cast<size_t>(at);
  }
  double& operator[](const Index& i) { return values[place(i)]; }
  double operator[](const Index& i) const { return values[place(i)]; }
  Tensor tensor() const { return tenon::tensor(values, tenon::kDouble).reshape(shape); }
};

void for_each_index(const Shape& shape, const std::function<void(const Index&)>& f) {
  Index i(shape.size(), 0);
  for (int64_t n = count(shape); n > 0; --n) {
    f(i);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++i[d] < shape[d]) break;
      i[d] = 0;
    }
  }
}

struct Random {
  std::mt19937 engine;
  explicit Random(unsigned seed) : engine(seed) {}
  int64_t from(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(engine); }
  Array array(Shape shape) {
    Array a(std::move(shape));
    for (double& v : a.values) v = std::uniform_real_distribution<double>(-2, 2)(engine);
    return a;
  }
};

void check_equal(const Tensor& got, const Array& wanted, double tolerance = 1e-9) {
  REQUIRE(got.sizes() == tenon::IntArrayRef(wanted.shape));
  const Tensor dense = got.to(tenon::kDouble).contiguous();
  const double* data = dense.data_ptr<double>();
  double worst = 0;
  for (size_t i = 0; i < wanted.values.size(); ++i) {
    const bool same = data[i] == wanted.values[i] || (std::isnan(data[i]) && std::isnan(wanted.values[i]));
    if (same) continue;
    const double error = std::abs(data[i] - wanted.values[i]) / std::max(1.0, std::abs(wanted.values[i]));
    if (!(error <= worst)) worst = error;  // also nan
  }
  CHECK(worst <= tolerance);
}

size_t kernels(const std::function<std::vector<Tensor>()>& expression) {
  std::vector<Tensor> results = expression();
  tenon::clear_kernel_history();
  tenon::eval(results);
  return tenon::kernel_history().size();
}

template <typename Exception = tenon::Error, typename Call>
void check_error(Call call, const std::string& message) {
  try {
    call();
    FAIL("no error, wanted: " << message);
  } catch (const Exception& e) {
    CHECK(std::string(e.msg()) == message);
  }
}

// --- convolution

// One convolution in D dims with everything random.
struct Conv {
  size_t dims;
  int64_t batch, groups, in, out;  // channels of one group
  Index size, kernel, stride, padding, dilation, output_padding;

  Conv(Random& r, size_t d) : dims(d), batch(r.from(1, 3)), groups(r.from(1, 3)), in(r.from(1, 3)), out(r.from(1, 3)) {
    for (size_t i = 0; i < d; ++i) {
      kernel.push_back(r.from(1, 3));
      stride.push_back(r.from(1, 3));
      dilation.push_back(r.from(1, 2));
      padding.push_back(r.from(0, 2));
      output_padding.push_back(r.from(0, std::max(stride[i], dilation[i]) - 1));
      size.push_back(r.from(dilation[i] * (kernel[i] - 1) + 1, 8));
    }
  }
  Shape with(int64_t a, int64_t b, const Index& rest) const {
    Shape shape{a, b};
    shape.insert(shape.end(), rest.begin(), rest.end());
    return shape;
  }
};

Array convolved(const Conv& c, const Array& x, const Array& w, const Array& bias) {
  Index size;
  for (size_t d = 0; d < c.dims; ++d)
    size.push_back((c.size[d] + 2 * c.padding[d] - c.dilation[d] * (c.kernel[d] - 1) - 1) / c.stride[d] + 1);
  Array y(c.with(c.batch, c.groups * c.out, size));
  for_each_index(y.shape, [&](const Index& o) {
    double sum = bias[{o[1]}];
    for_each_index(c.with(c.in, 1, c.kernel), [&](const Index& k) {
      Index from{o[0], o[1] / c.out * c.in + k[0]}, at{o[1], k[0]};
      for (size_t d = 0; d < c.dims; ++d) {
        from.push_back(o[2 + d] * c.stride[d] - c.padding[d] + k[2 + d] * c.dilation[d]);
        at.push_back(k[2 + d]);
        if (from.back() < 0 || from.back() >= c.size[d]) return;
      }
      sum += x[from] * w[at];
    });
    y[o] = sum;
  });
  return y;
}

Array conv_transposed(const Conv& c, const Array& x, const Array& w, const Array& bias) {
  Index size;
  for (size_t d = 0; d < c.dims; ++d) {
    size.push_back((c.size[d] - 1) * c.stride[d] - 2 * c.padding[d] + c.dilation[d] * (c.kernel[d] - 1) + c.output_padding[d] + 1);
  }
  Array y(c.with(c.batch, c.groups * c.out, size));
  for_each_index(y.shape, [&](const Index& o) { y[o] = bias[{o[1]}]; });
  for_each_index(x.shape, [&](const Index& i) {
    for_each_index(c.with(c.out, 1, c.kernel), [&](const Index& k) {
      Index to{i[0], i[1] / c.in * c.out + k[0]}, at{i[1], k[0]};
      for (size_t d = 0; d < c.dims; ++d) {
        to.push_back(i[2 + d] * c.stride[d] - c.padding[d] + k[2 + d] * c.dilation[d]);
        at.push_back(k[2 + d]);
        if (to.back() < 0 || to.back() >= size[d]) return;
      }
      y[to] += x[i] * w[at];
    });
  });
  return y;
}

TEST_CASE("convolutions and transposed ones equal their loops") {
  Random r(1);
  for (int round = 0; round < 24; ++round) {
    const Conv c(r, static_cast<size_t>(round % 3 + 1));
    CAPTURE(round);
    const Array x = r.array(c.with(c.batch, c.groups * c.in, c.size)), bias = r.array({c.groups * c.out});
    const Array w = r.array(c.with(c.groups * c.out, c.in, c.kernel));
    const Array wt = r.array(c.with(c.groups * c.in, c.out, c.kernel));
    check_equal(tenon::convolution(x.tensor(), w.tensor(), bias.tensor(), c.stride, c.padding, c.dilation, false, 0, c.groups),
                convolved(c, x, w, bias));
    bool possible = true;
    for (size_t d = 0; d < c.dims; ++d) {
      possible =
          possible && (c.size[d] - 1) * c.stride[d] - 2 * c.padding[d] + c.dilation[d] * (c.kernel[d] - 1) + c.output_padding[d] + 1 > 0;
    }
    if (!possible) continue;
    check_equal(
        tenon::convolution(x.tensor(), wt.tensor(), bias.tensor(), c.stride, c.padding, c.dilation, true, c.output_padding, c.groups),
        conv_transposed(c, x, wt, bias));
  }
}

TEST_CASE("convolutions of nothing and of one sample") {
  const Tensor w = tenon::ones({4, 3, 3, 3}), b = tenon::arange(4, tenon::kFloat);
  CHECK(tenon::conv2d(tenon::ones({0, 3, 5, 5}), w, b).sizes() == tenon::IntArrayRef({0, 4, 3, 3}));
  const Tensor x = tenon::ones({3, 5, 5});
  CHECK(tenon::conv2d(x, w, b).equal(tenon::conv2d(x.unsqueeze(0), w, b)[0]));
  CHECK(tenon::conv2d(x, w, b)[3][0][0].item<float>() == 30);
  CHECK(tenon::conv2d(x, w, {}, 1, "same").sizes() == tenon::IntArrayRef({4, 5, 5}));
  CHECK(tenon::conv2d(x, tenon::ones({4, 3, 2, 2}), {}, 1, "same")[0][4][4].item<float>() == 3);  // more padding after
  const Tensor integers = tenon::arange(9).reshape({1, 1, 3, 3});
  CHECK(tenon::conv2d(integers, tenon::ones({1, 1, 2, 2}, tenon::kLong)).flatten().equal(tenon::tensor({8, 12, 20, 24})));
}

TEST_CASE("convolutions refuse what does not fit") {
  const Tensor x = tenon::ones({1, 3, 8, 8}), w = tenon::ones({6, 3, 3, 3});
  check_error(
      [&] {
        tenon::conv2d(tenon::ones({1, 1, 8, 8}), tenon::ones({6, 3, 5, 5}));
      },
      "Given groups=1, weight of size [6, 3, 5, 5], expected input[1, 1, 8, 8] to have 3 channels, but got 1 "
      "channels instead");
  check_error(
      [&] {
        tenon::conv2d(tenon::ones({3, 4}), w);
      },
      "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [3, 4]");
  check_error(
      [&] {
        tenon::conv2d(tenon::ones({1, 3, 4, 4}), tenon::ones({6, 3, 5, 5}));
      },
      "Calculated padded input size per channel: (4 x 4). Kernel size: (5 x 5). Kernel size can't be greater "
      "than "
      "actual input size");
  check_error([&] { tenon::conv2d(x.to(tenon::kDouble), w, tenon::ones({6})); },
              "Input type (double) and bias type (float) should be the same");
  check_error([&] { tenon::conv2d(x, w, tenon::ones({5})); },
              "Given weight of size [6, 3, 3, 3], expected bias to be 1-dimensional with 6 elements, but got "
              "bias of size "
              "[5] instead");
  check_error([&] { tenon::conv2d(x, w, {}, 0); }, "non-positive stride is not supported");
  check_error([&] { tenon::conv2d(x, w, {}, 1, -1); }, "negative padding is not supported");
  check_error([&] { tenon::conv2d(x, w, {}, 2, "same"); }, "padding='same' is not supported for strided convolutions");
  check_error(
      [&] {
        tenon::conv2d(x, w, {}, {1, 2, 3});
      },
      "expected stride to be a single integer value or a list of 2 values to match the convolution "
      "dimensions, but "
      "got stride=[1, 2, 3]");
  CHECK_THROWS_AS(tenon::conv2d(x, w, {}, int64_t{1} << 62), tenon::Error);
  CHECK_THROWS_AS(F::conv2d(x, w, F::Conv2dFuncOptions().stride({1, 2, 3})), tenon::Error);
}

// --- pooling

TEST_CASE("pools equal their loops, with ceil_mode, dilation and padding") {
  Random r(2);
  for (int round = 0; round < 24; ++round) {
    CAPTURE(round);
    Index size, kernel, stride, padding, dilation, out;
    const bool ceil = r.from(0, 1) != 0, include = r.from(0, 1) != 0;
    for (size_t d = 0; d < 2; ++d) {
      kernel.push_back(r.from(1, 4));
      stride.push_back(r.from(1, 4));
      padding.push_back(r.from(0, kernel[d] / 2));
      dilation.push_back(r.from(1, 2));
      size.push_back(r.from(7, 10));
    }
    const Array x = r.array({2, 3, size[0], size[1]});
    const auto outputs = [&](const Index& spread) {
      Index n;
      for (size_t d = 0; d < 2; ++d) {
        const int64_t room = size[d] + 2 * padding[d] - spread[d] * (kernel[d] - 1) - 1;
        n.push_back((room + (ceil ? stride[d] - 1 : 0)) / stride[d] + 1);
        if (ceil && (n[d] - 1) * stride[d] >= size[d] + padding[d]) --n[d];
      }
      return n;
    };
    const Index most = outputs(dilation), mean = outputs({1, 1});
    Array best({2, 3, most[0], most[1]}, -INFINITY), where(best.shape), average({2, 3, mean[0], mean[1]});
    const auto visit = [&](const Index& o, const Index& spread, const auto& f) {
      for (int64_t i = 0; i < kernel[0]; ++i) {
        for (int64_t j = 0; j < kernel[1]; ++j) {
          f(o[2] * stride[0] - padding[0] + i * spread[0], o[3] * stride[1] - padding[1] + j * spread[1]);
        }
      }
    };
    const auto inside = [&](int64_t h, int64_t w) { return h >= 0 && h < size[0] && w >= 0 && w < size[1]; };
    for_each_index(best.shape, [&](const Index& o) {
      visit(o, dilation, [&](int64_t h, int64_t w) {
        if (!inside(h, w) || x[{o[0], o[1], h, w}] <= best[o]) return;
        best[o] = x[{o[0], o[1], h, w}];
        where[o] = static_cast<double>(h * size[1] + w);
      });
    });
    for_each_index(average.shape, [&](const Index& o) {
      double counted = 0;
      visit(o, {1, 1}, [&](int64_t h, int64_t w) {
        if (inside(h, w)) average[o] += x[{o[0], o[1], h, w}];
        const bool padded = h < size[0] + padding[0] && w < size[1] + padding[1];
        counted += include ? padded : inside(h, w);
      });
      average[o] /= counted;
    });
    const auto [values, indices] = tenon::max_pool2d_with_indices(x.tensor(), kernel, stride, padding, dilation, ceil);
    check_equal(values, best);
    check_equal(indices, where);
    check_equal(tenon::max_pool2d(x.tensor(), kernel, stride, padding, dilation, ceil), best);
    check_equal(tenon::avg_pool2d(x.tensor(), kernel, stride, padding, ceil, include), average);
  }
}

TEST_CASE("a window of nothing but -inf points at its first element inside, nan is the maximum") {
  const Tensor x = tenon::full({1, 4, 4}, -INFINITY);
  const Tensor indices = std::get<1>(tenon::max_pool2d_with_indices(x, 3, 2, 1));
  CHECK(indices.flatten().equal(tenon::tensor({0, 1, 4, 5})));
  CHECK(std::get<1>(tenon::max_pool2d_with_indices(x, 3, 2, 1, 2, true))[0][0][0].item<int64_t>() == 5);
  const Tensor y = tenon::tensor({{{1.0f, NAN}, {3.0f, 2.0f}}});
  CHECK(std::isnan(tenon::max_pool2d(y, 2).item<float>()));
  CHECK(tenon::max_pool2d(tenon::tensor({{{-5, -3}, {-9, -7}}}), 2, 2, 1).flatten().equal(tenon::tensor({-5, -3, -9, -7})));
}

TEST_CASE("adaptive pools take windows from floor to ceil") {
  Random r(3);
  const Array x = r.array({2, 3, 7, 5});
  for (const Index& out : {Index{3, 4}, Index{1, 1}, Index{7, 5}, Index{9, 2}}) {
    Array mean({2, 3, out[0], out[1]}), best(mean.shape, -INFINITY), where(mean.shape);
    for_each_index(mean.shape, [&](const Index& o) {
      const auto lo = [&](size_t d, int64_t n) { return o[d] * n / out[d - 2]; };
      const auto hi = [&](size_t d, int64_t n) { return ((o[d] + 1) * n + out[d - 2] - 1) / out[d - 2]; };
      for (int64_t h = lo(2, 7); h < hi(2, 7); ++h) {
        for (int64_t w = lo(3, 5); w < hi(3, 5); ++w) {
          const double v = x[{o[0], o[1], h, w}];
          mean[o] += v / static_cast<double>((hi(2, 7) - lo(2, 7)) * (hi(3, 5) - lo(3, 5)));
          if (v <= best[o]) continue;
          best[o] = v;
          where[o] = static_cast<double>(h * 5 + w);
        }
      }
    });
    check_equal(tenon::adaptive_avg_pool2d(x.tensor(), out), mean);
    const auto [values, indices] = tenon::adaptive_max_pool2d(x.tensor(), out);
    check_equal(values, best);
    check_equal(indices, where);
  }
}

TEST_CASE("pools refuse what does not fit") {
  check_error(
      [] {
        tenon::max_pool2d(tenon::ones({1, 1, 1, 1}), 2);
      },
      "Given input size: (1x1x1). Calculated output size: (1x0x0). Output size is too small");
  check_error([] { tenon::max_pool2d(tenon::ones(4), 2); }, "non-empty 3D or 4D (batch mode) tensor expected for input");
  check_error(
      [] {
        tenon::avg_pool2d(tenon::ones({1, 1, 4, 4}), 2, {}, 2);
      },
      "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1");
  check_error([] { tenon::max_pool2d(tenon::ones({1, 1, 4, 4}), 2, 0); }, "stride should not be zero");
  check_error([] { tenon::avg_pool2d(tenon::ones({1, 1, 4, 4}), 2, {}, 0, false, true, 0); }, "divisor must be not zero");
}

TEST_CASE("fold is the adjoint of unfold, unpooling undoes pooling") {
  Random r(4);
  for (int round = 0; round < 8; ++round) {
    const Index kernel{r.from(1, 3), r.from(1, 3)}, stride{r.from(1, 3), r.from(1, 3)}, padding{r.from(0, 2), r.from(0, 2)},
        dilation{r.from(1, 2), r.from(1, 2)}, size{r.from(5, 8), r.from(5, 8)};
    const Tensor x = r.array({2, 3, size[0], size[1]}).tensor();
    const Tensor columns = tenon::im2col(x, kernel, dilation, padding, stride);
    const Tensor y = r.array(columns.sizes().vec()).tensor();
    const Tensor back = tenon::col2im(y, size, kernel, dilation, padding, stride);
    CHECK((columns * y).sum().item<double>() == doctest::Approx((x * back).sum().item<double>()));
  }
  const Tensor x = r.array({2, 3, 4, 6}).tensor();
  const auto [values, indices] = F::max_pool2d_with_indices(x, F::MaxPool2dFuncOptions(2));
  const Tensor planes = F::max_unpool2d(values, indices, F::MaxUnpool2dFuncOptions(2));
  CHECK(planes.sizes() == x.sizes());
  CHECK(planes.sum().item<double>() == doctest::Approx(values.sum().item<double>()));
  CHECK(tenon::logical_or(planes == 0, planes == x).all().item<bool>());
}

// --- padding and resizing

TEST_CASE("padding by reflection, repetition and wrapping, also negative") {
  Random r(5);
  const Array x = r.array({2, 5, 6});
  const auto mirror = [](int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; };
  const auto nearest = [](int64_t i, int64_t n) { return std::clamp<int64_t>(i, 0, n - 1); };
  const auto wrapped = [](int64_t i, int64_t n) { return (i + n) % n; };
  const std::map<std::string, std::function<int64_t(int64_t, int64_t)>> modes{
      {"reflect", mirror}, {"replicate", nearest}, {"circular", wrapped}};
  for (const Index& pad : {Index{1, 2, 3, 4}, Index{0, 5, 2, 0}, Index{-1, 2, 0, -2}}) {
    for (const auto& [mode, place] : modes) {
      if (mode == "circular" && pad[0] < 0) continue;
      Array y({2, 5 + pad[2] + pad[3], 6 + pad[0] + pad[1]});
      for_each_index(y.shape, [&](const Index& i) {
        const int64_t h = i[1] - pad[2], w = i[2] - pad[0];
        const int64_t last_h = 5 + std::min<int64_t>(pad[3], 0), last_w = 6 + std::min<int64_t>(pad[1], 0);
        const int64_t first_h = std::max<int64_t>(-pad[2], 0), first_w = std::max<int64_t>(-pad[0], 0);
        y[i] = x[{i[0], first_h + place(h - first_h, last_h - first_h), first_w + place(w - first_w, last_w - first_w)}];
      });
      CAPTURE(mode);
      check_equal(tenon::pad(x.tensor(), pad, mode), y);
    }
  }
  check_error(
      [] {
        tenon::pad(tenon::ones({1, 2, 3}), {3, 3}, "reflect");
      },
      "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (3, "
      "3) at "
      "dimension 2 of input [1, 2, 3]");
  check_error([] { F::pad(tenon::ones(2), F::PadFuncOptions({1})); }, "Padding length must be divisible by 2");
  check_error(
      [] {
        F::pad(tenon::ones({1, 2, 3}), F::PadFuncOptions({4, 0}).mode(tenon::kCircular));
      },
      "Padding value causes wrapping around more than once.");
}

TEST_CASE("resizing keeps linear ramps linear and repeats for nearest") {
  const Tensor ramp = tenon::arange(5, tenon::kDouble).reshape({1, 1, 5});
  const auto resized = [&](int64_t size, auto mode, bool align) {
    F::InterpolateFuncOptions o;
    o.size(std::vector<int64_t>{size}).mode(mode);
    if constexpr (std::is_same_v<decltype(mode), tenon::enumtype::kLinear>) o.align_corners(align);
    return F::interpolate(ramp, o).flatten();
  };
  CHECK(resized(9, tenon::kLinear, true).allclose(tenon::linspace(0, 4, 9, tenon::kDouble)));
  CHECK(resized(10, tenon::kLinear, false)
            .allclose(tenon::clamp(tenon::arange(10, tenon::kDouble) * 0.5 - 0.25, tenon::Scalar(0), tenon::Scalar(4))));
  CHECK(resized(10, tenon::kNearest, false).equal(tenon::arange(10, tenon::kLong).floor_divide(2).to(tenon::kDouble)));
  CHECK(resized(3, tenon::kNearest, false).equal(tenon::tensor({0., 1., 3.}, tenon::kDouble)));
  CHECK(resized(3, tenon::kNearestExact, false).equal(tenon::tensor({0., 2., 4.}, tenon::kDouble)));
  CHECK(resized(5, tenon::kArea, false).equal(ramp.flatten()));
  const Tensor plane = ramp.reshape({1, 1, 1, 5}).expand({1, 1, 4, 5});
  const Tensor cubic =
      F::interpolate(plane, F::InterpolateFuncOptions().size(std::vector<int64_t>{4, 9}).mode(tenon::kBicubic).align_corners(true));
  CHECK(cubic[0][0][1].slice(0, 2, 7).allclose(tenon::linspace(1, 3, 5, tenon::kDouble)));  // where no tap is cut off
  check_error([&] { F::interpolate(ramp, F::InterpolateFuncOptions()); }, "either size or scale_factor should be defined");
}

// --- losses

TEST_CASE("cross entropy with weights, ignored classes, smoothing and trailing dims equals its loops") {
  Random r(6);
  for (int round = 0; round < 12; ++round) {
    const int64_t classes = r.from(2, 5), ignored = r.from(0, 2) == 0 ? r.from(0, classes - 1) : -100;
    const double smoothing = r.from(0, 1) == 0 ? 0.0 : 0.2;
    const bool weighted = r.from(0, 1) != 0;
    const Array x = r.array({4, classes, 3});
    Array weight({classes}, 1);
    if (weighted) {
      for (double& w : weight.values) w = 0.25 + static_cast<double>(r.from(0, 8)) / 4;
    }
    std::vector<int64_t> target(12);
    for (int64_t& t : target) t = r.from(0, classes - 1);
    if (ignored == -100) target[5] = -100;
    Array each({4, 3});
    double total = 0, weights = 0;
    for_each_index(each.shape, [&](const Index& i) {
      const int64_t t = target[static_cast<size_t>(i[0] * 3 + i[1])];
      if (t == ignored) return;
      double sum = 0, spread = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[{i[0], c, i[1]}]);
      const auto log = [&](int64_t c) { return x[{i[0], c, i[1]}] - std::log(sum); };
      for (int64_t c = 0; c < classes; ++c) spread -= weight[{c}] * log(c);
      each[i] = -(1 - smoothing) * weight[{t}] * log(t) + smoothing / static_cast<double>(classes) * spread;
      total += each[i];
      weights += weight[{t}];
    });
    auto options = F::CrossEntropyFuncOptions().label_smoothing(smoothing).ignore_index(ignored);
    if (weighted) options.weight(weight.tensor());
    const Tensor classes_of = tenon::tensor(target).reshape({4, 3});
    check_equal(F::cross_entropy(x.tensor(), classes_of, options.reduction(tenon::kNone)), each);
    CHECK(F::cross_entropy(x.tensor(), classes_of, options.reduction(tenon::kSum)).item<double>() == doctest::Approx(total));
    CHECK(F::cross_entropy(x.tensor(), classes_of, options.reduction(tenon::kMean)).item<double>() == doctest::Approx(total / weights));
    // Certain classes are probabilities of one.
    if (ignored != -100) continue;
    target[5] = 0;
    const Tensor sure = tenon::one_hot(tenon::tensor(target).reshape({4, 3}), classes).permute({0, 2, 1}).to(tenon::kDouble);
    const auto plain = F::CrossEntropyFuncOptions().label_smoothing(smoothing).reduction(tenon::kSum);
    CHECK(F::cross_entropy(x.tensor(), sure, plain).item<double>() ==
          doctest::Approx(F::cross_entropy(x.tensor(), tenon::tensor(target).reshape({4, 3}), plain).item<double>()));
  }
}

TEST_CASE("losses refuse what does not fit") {
  using tenon::tensor;
  const Tensor x = tenon::ones({2, 3});
  check_error<tenon::IndexError>([&] { F::cross_entropy(x, tensor({0, 3})); }, "Target 3 is out of bounds.");
  check_error<tenon::IndexError>([&] { F::cross_entropy(x, tensor({0, -1})); }, "Target -1 is out of bounds.");
  check_error<tenon::ValueError>(
      [&] {
        F::cross_entropy(x, tensor({0, 1, 2}));
      },
      "Expected input batch_size (2) to match target batch_size (3).");
  check_error([&] { F::cross_entropy(x, tensor({0., 1.})); }, "expected target dtype to be Long or Byte, but got Float");
  check_error([&] { F::cross_entropy(x, tensor({{0, 1}, {1, 2}})); }, "0D or 1D target tensor expected, multi-target not supported");
  CHECK(F::cross_entropy(tenon::ones(3), tensor({0})).dim() == 0);
  check_error<tenon::ValueError>(
      [&] {
        F::cross_entropy(tenon::ones(3), tensor({0, 1}));
      },
      "For 1D input, 1D target must have size 1, but got target size: 2");
  check_error(
      [&] {
        F::nll_loss(x, tensor({0, 1}), F::NLLLossFuncOptions().weight(tenon::ones(2)));
      },
      "weight tensor should be defined either for all 3 classes or no classes but got weight tensor of "
      "shape: [2]");
  check_error([&] { F::binary_cross_entropy(tensor({1.5}), tensor({1.})); }, "all elements of input should be between 0 and 1");
  check_error<tenon::ValueError>([&] { F::binary_cross_entropy(tenon::ones(2), tenon::ones(3)); },
                                 "Using a target size (torch.Size([3])) that is different to the input size "
                                 "(torch.Size([2])) is deprecated. Please "
                                 "ensure they have the same size.");
  check_error<tenon::IndexError>([&] { F::embedding(tensor({5}), tenon::ones({3, 2})); }, "index out of range in self");
  check_error([&] { F::one_hot(tensor({3}), 2); }, "Class values must be smaller than num_classes.");
}

// --- norms

TEST_CASE("batch norm moves its running statistics in place and uses them in evaluation") {
  Random r(7);
  const Array x = r.array({4, 3, 5});
  Tensor mean = tenon::zeros(3, tenon::kDouble), var = tenon::ones(3, tenon::kDouble);
  const Tensor alias = mean.view({3, 1});
  const Tensor y = F::batch_norm(x.tensor(), mean, var, F::BatchNormFuncOptions().training(true).momentum(0.25));
  CHECK(y.mean({0, 2}).allclose(tenon::zeros(3, tenon::kDouble), 0, 1e-12));
  CHECK(y.var({0, 2}, false).allclose(tenon::ones(3, tenon::kDouble), 1e-4));
  CHECK(mean.allclose(x.tensor().mean({0, 2}) * 0.25));
  CHECK(alias.flatten().equal(mean));
  CHECK(var.allclose(0.75 + 0.25 * x.tensor().var({0, 2}, true)));
  const Tensor z = F::batch_norm(x.tensor(), mean, var);
  CHECK(z.allclose((x.tensor() - mean.view({3, 1})) / (var.view({3, 1}) + 1e-5).sqrt()));
  check_error<tenon::ValueError>(
      [&] {
        F::batch_norm(tenon::ones({1, 3}), {}, {}, F::BatchNormFuncOptions().training(true));
      },
      "Expected more than 1 value per channel when training, got input size torch.Size([1, 3])");
  check_error([&] { F::batch_norm(tenon::ones({2, 4, 5}, tenon::kDouble), mean, var); }, "running_mean should contain 4 elements not 3");
}

TEST_CASE("group norm of one channel a group is instance norm; of one group it is layer norm") {
  Random r(8);
  const Tensor x = r.array({2, 6, 5}).tensor();
  CHECK(tenon::group_norm(x, 6).allclose(F::instance_norm(x)));
  CHECK(tenon::group_norm(x, 1).allclose(tenon::layer_norm(x, {6, 5})));
}

TEST_CASE("embedding scales rows that are looked up down to max_norm") {
  Tensor table = tenon::tensor({{3., 4.}, {0.3, 0.4}, {6., 8.}});
  const Tensor y = F::embedding(tenon::tensor({{0, 1}, {1, 0}}), table, F::EmbeddingFuncOptions().max_norm(1.0));
  CHECK(table[0].allclose(tenon::tensor({0.6, 0.8})));
  CHECK(table[1].allclose(tenon::tensor({0.3, 0.4})));
  CHECK(table[2].allclose(tenon::tensor({6., 8.})));
  CHECK(y[1][1].equal(table[0]));
}

// --- einsum

// The sum of products over all letters, one by one.
Array summed(const std::vector<std::string>& terms, const std::string& output, const std::vector<Array>& operands) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t d = 0; d < terms[i].size(); ++d) {
      int64_t& size = sizes.emplace(terms[i][d], 1).first->second;
      size = std::max(size, operands[i].shape[d]);
    }
  }
  Shape all, shape;
  std::map<char, size_t> position;
  for (const auto& [letter, size] : sizes) {
    position[letter] = all.size();
    all.push_back(size);
  }
  for (char c : output) shape.push_back(sizes[c]);
  Array result(shape);
  for_each_index(all, [&](const Index& i) {
    double product = 1;
    for (size_t k = 0; k < terms.size(); ++k) {
      Index at;
      for (size_t d = 0; d < terms[k].size(); ++d) at.push_back(operands[k].shape[d] == 1 ? 0 : i[position[terms[k][d]]]);
      product *= operands[k][at];
    }
    Index to;
    for (char c : output) to.push_back(i[position[c]]);
    result[to] += product;
  });
  return result;
}

TEST_CASE("random Einstein sums equal their loops") {
  Random r(9);
  for (int round = 0; round < 60; ++round) {
    std::map<char, int64_t> sizes;
    for (char c : std::string("abcdE")) sizes[c] = r.from(1, 3);
    std::vector<std::string> terms;
    std::vector<Array> operands;
    std::vector<Tensor> tensors;
    std::string used;
    for (int64_t n = r.from(1, 3); n > 0; --n) {
      std::string term;
      Shape shape;
      for (int64_t d = r.from(0, 3); d > 0; --d) {
        const char c = "abcdE"[r.from(0, 4)];
        term += c;
        shape.push_back(sizes[c]);
        if (used.find(c) == std::string::npos) used += c;
      }
      terms.push_back(term);
      operands.push_back(r.array(shape));
      tensors.push_back(operands.back().tensor());
    }
    std::shuffle(used.begin(), used.end(), r.engine);
    const std::string output = used.substr(0, static_cast<size_t>(r.from(0, static_cast<int64_t>(used.size()))));
    std::string equation;
    for (size_t i = 0; i < terms.size(); ++i) equation += (i ? "," : "") + terms[i];
    equation += "->" + output;
    CAPTURE(equation);
    check_equal(tenon::einsum(equation, tensors), summed(terms, output, operands));
  }
}

TEST_CASE("einsum: views, ellipsis, sizes of one, errors") {
  using tenon::einsum;
  Random r(10);
  const Tensor a = r.array({2, 3}).tensor(), b = r.array({4, 2, 3}).tensor(), c = r.array({4, 3, 5}).tensor();
  const Tensor turned = einsum("ij->ji", {a});
  CHECK(turned.is_alias_of(a));
  CHECK(turned.equal(a.t()));
  CHECK(einsum("...ij,...jk", {a, c}).allclose(tenon::matmul(a, c)));
  CHECK(einsum("b...,b...->...", {b, b}).allclose((b * b).sum(0)));
  CHECK(einsum("ij,kj", {a, tenon::ones({5, 1}, tenon::kDouble)}).allclose(a.sum({1}, true).expand({2, 5})));
  // Nothing is summed over a dim of size 1: integers keep their type.
  const auto ints = [](std::vector<int64_t> sizes) { return tenon::ones(sizes, tenon::kInt); };
  CHECK((einsum("ij,kj->ik", {ints({4, 1}), ints({7, 1})}).scalar_type() == tenon::kInt));
  CHECK(einsum("bij,bkj->ik", {ints({2, 4, 1}), ints({2, 7, 1})}).equal(tenon::full({4, 7}, 2, tenon::kInt)));
  CHECK((einsum("ij->i", {ints({4, 1})}).scalar_type() == tenon::kInt));
  check_error(
      [&] {
        einsum("ij,jk", {tenon::ones({2, 3}), tenon::ones({4, 5})});
      },
      "einsum(): subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3");
  check_error([&] { einsum("ij", {tenon::ones(2)}); },
              "einsum(): the number of subscripts in the equation (2) does not match the number of "
              "dimensions (1) for "
              "operand 0 and no ellipsis was given");
  check_error([&] { einsum("ii->i", {a}); }, "einsum(): subscript i is repeated for operand 0 but the sizes don't match, 3 != 2");
  check_error([&] { einsum("i1", {a}); },
              "einsum(): invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]");
  check_error([&] { einsum("ij->ik", {a}); }, "einsum(): output subscript k does not appear in the equation for any input operand");
  check_error([&] { einsum("ij,jk", {a}); }, "einsum(): fewer operands were provided than specified in the equation");
}

// --- structure

TEST_CASE("triangles, diagonals, blocks and repetition") {
  using tenon::tensor;
  const Tensor x = tenon::arange(12).reshape({3, 4});
  CHECK(tenon::diag(x, 1).equal(tensor({1, 6, 11})));
  CHECK(tenon::diag(x, -5).sizes() == tenon::IntArrayRef({0}));
  CHECK(tenon::diag(tensor({1, 2}), -1).equal(tensor({{0, 0, 0}, {1, 0, 0}, {0, 2, 0}})));
  CHECK(tenon::diag_embed(tensor({1, 2}), 1, 1, 0).equal(tensor({{0, 0, 0}, {1, 0, 0}, {0, 2, 0}})));
  CHECK(tenon::tril(x, INT64_MIN).sum().item<int64_t>() == 0);
  CHECK(tenon::triu(x, INT64_MAX).sum().item<int64_t>() == 0);
  CHECK(tenon::tril_indices(2, 3, 1).equal(tensor({{0, 0, 1, 1, 1}, {0, 1, 0, 1, 2}})));
  CHECK(tenon::triu_indices(2, 2, INT64_MAX).sizes() == tenon::IntArrayRef({2, 0}));
  CHECK(tenon::block_diag({tensor({{1, 2}}), tensor(3)}).equal(tensor({{1, 2, 0}, {0, 0, 3}})));
  CHECK(tenon::repeat_interleave(tensor({1, 2, 3}), tensor({0, 2, 1})).equal(tensor({2, 2, 3})));
  CHECK(tenon::repeat_interleave(x, 2, 0)[3].equal(x[1]));
  CHECK(tenon::rot90(x, 1).equal(tenon::rot90(x, -3)));
  CHECK(tenon::rot90(x)[0].equal(tensor({3, 7, 11})));
  CHECK(tenon::kron(tensor({1, 2}), tensor({{1}, {3}})).equal(tensor({{1, 2}, {3, 6}})));
  CHECK(tenon::cross(tensor({1, 0, 0}), tensor({0, 1, 0})).equal(tensor({0, 0, 1})));
  CHECK(tenon::trace(x).item<int64_t>() == 15);
  const Tensor y = tensor({{1., 2., 4.}, {2., 4., 9.}}, tenon::kDouble);
  CHECK(tenon::cov(y).allclose(tensor({{7. / 3, 5.5}, {5.5, 13.}}, tenon::kDouble)));
  CHECK(tenon::corrcoef(y)[0][1].item<double>() == doctest::Approx(5.5 / std::sqrt(7. / 3 * 13)));
  check_error([] { tenon::cross(tenon::ones(2), tenon::ones(2)); }, "no dimension of size 3 in input");
  check_error([] { tenon::diag(tenon::ones({2, 2, 2})); }, "diag(): Supports 1D or 2D tensors. Got 3D");
  check_error([] { tenon::triu(tenon::tensor(1.)); }, "triu: input tensor must have at least 2 dimensions");
}

// --- kernels

TEST_CASE("a convolution that is held beside what is made of it") {
  const Tensor x = tenon::rand({2, 4, 6, 6}) - 0.5, w = tenon::rand({8, 4, 3, 3}) - 0.5;
  const Tensor y = tenon::conv2d(x, w), z = tenon::relu(y), s = z + y;
  tenon::eval(s);
  CHECK(s.equal(tenon::conv2d(x, w).clone() + tenon::relu(tenon::conv2d(x, w).clone())));
  CHECK(tenon::relu(y).equal(z));
}

TEST_CASE("windows fuse: pools, depthwise convolution, losses") {
  const Tensor x = tenon::rand({2, 4, 12, 12}), w = tenon::rand({8, 4, 3, 3}), b = tenon::rand(8), d = tenon::rand({4, 1, 3, 3});
  const Tensor scores = tenon::rand({16, 10}), classes = tenon::arange(16).remainder(10);
  const Tensor m = tenon::rand({6, 12}), v = tenon::rand(6);
  tenon::eval(x, w, b, d, m, v, scores, classes);
  CHECK(kernels([&] { return std::vector{tenon::max_pool2d(tenon::relu(x), 2)}; }) == 1);
  CHECK(kernels([&] { return std::vector{tenon::max_pool2d(x, 3, 2, 1)}; }) == 1);
  CHECK(kernels([&] { return std::vector{tenon::avg_pool2d(x, 3, 1, 1, true, false)}; }) == 1);
  CHECK(kernels([&] { return std::vector{tenon::conv2d(x, d, {}, 1, 1, 1, 4)}; }) == 1);
  CHECK(kernels([&] { return std::vector{tenon::conv2d(x, w, b)}; }) == 1);
  CHECK(kernels([&] { return std::vector{tenon::relu(tenon::conv2d(x, w, b, 1, 1))}; }) == 2);  // the border is made first
  CHECK(kernels([&] { return std::vector{tenon::gelu(tenon::linear(x, m, v)) * 2}; }) == 1);
  CHECK(kernels([&] { return std::vector{F::cross_entropy(scores, classes)}; }) <= 2);
  CHECK(kernels([&] { return std::vector{F::nll_loss(tenon::log_softmax(scores, 1), classes)}; }) <= 2);
  CHECK(kernels([&] { return std::vector{tenon::triu(scores, 1) + 1}; }) == 1);
}

}  // namespace
