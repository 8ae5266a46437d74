// The bookkeeping of autograd: who requires grad, what a result remembers, what may be written in place.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <cstring>
#include <thread>

#include "frontend/golden.h"
#include "frontend/python/compare.h"
#include "frontend/python/python.h"

using namespace tenon;

namespace {

std::string grad_name(const Tensor& x) {
  const auto fn = x.grad_fn();
  return fn ? fn->name() : "";
}
Tensor parameter(IntArrayRef shape = {2, 3}) { return ones(shape, requires_grad()); }

constexpr const char* kLeaf = "a leaf Variable that requires grad is being used in an in-place operation.";
constexpr const char* kViewOfLeaf = "a view of a leaf Variable that requires grad is being used in an in-place operation.";

}  // namespace

TEST_CASE("leaves and results") {
  const Tensor p = parameter(), c = ones({2, 3});
  CHECK(p.requires_grad());
  CHECK(p.is_leaf());
  CHECK_FALSE(c.requires_grad());
  CHECK(c.is_leaf());
  CHECK_FALSE((c * 2).requires_grad());
  const Tensor y = p * c;
  CHECK(y.requires_grad());
  CHECK_FALSE(y.is_leaf());
  CHECK(grad_name(y) == "MulBackward0");
  CHECK_FALSE((p > 0).requires_grad());  // not a float
  CHECK_FALSE(p.argmax().requires_grad());
  CHECK_FALSE(p.to(kLong).requires_grad());
  CHECK_FALSE(ones_like(p).requires_grad());
  CHECK_FALSE(y.detach().requires_grad());
  CHECK(y.detach().is_leaf());
  CHECK(y.detach().is_alias_of(y));
  CHECK(equal(y.detach(), y.data()));
  const auto [values, indices] = p.max(1);
  CHECK(values.requires_grad());
  CHECK_FALSE(indices.requires_grad());
  Tensor same = y.contiguous();
  CHECK(same.is_same(y));
}

TEST_CASE("flags change as in PyTorch") {
  const Tensor c = ones({2});
  CHECK(c.requires_grad_().is_same(c));
  CHECK(c.requires_grad());
  CHECK_FALSE(c.requires_grad_(false).requires_grad());
  c.set_requires_grad(true);
  const Tensor y = c * 2;
  y.requires_grad_(true);  // it does already
  CHECK_THROWS_WITH_AS(y.requires_grad_(false),
                       "you can only change requires_grad flags of leaf variables. If you want to use a "
                       "computed variable in a subgraph that doesn't require differentiation use var_no_grad = "
                       "var.detach().",
                       Error);
  CHECK_THROWS_WITH_AS(y.set_requires_grad(true), "you can only change requires_grad flags of leaf variables.", Error);
  CHECK_THROWS_WITH_AS(tensor({1, 2}).requires_grad_(), "Only Tensors of floating point and complex dtype can require gradients", Error);
  CHECK_THROWS_WITH_AS(zeros({2}, TensorOptions(kLong).requires_grad(true)),
                       "Only Tensors of floating point and complex dtype can require gradients", Error);
  CHECK_THROWS_AS(Tensor().requires_grad(), Error);
}

TEST_CASE("names are PyTorch's") {
  const Tensor a = rand({2, 3}, requires_grad()), b = rand({2, 3}, requires_grad()), c = rand({2, 3});
  const Tensor v = rand({3}, requires_grad()), m = rand({3, 4}), w = rand({4, 3}, requires_grad());
  const std::pair<Tensor, const char*> cases[] = {
      {a + b, "AddBackward0"},
      {1 + a, "AddBackward0"},
      {c - a, "SubBackward0"},
      {1 - a, "RsubBackward1"},
      {a * 2, "MulBackward0"},
      {a / c, "DivBackward0"},
      {1 / a, "MulBackward0"},
      {a.div(2, "floor"), "DivBackward2"},
      {a.floor_divide(2), "NotImplemented"},
      {a % 2, "RemainderBackward0"},
      {a.pow(2), "PowBackward0"},
      {a.square(), "PowBackward0"},
      {c.pow(b), "PowBackward1"},
      {pow(2, a), "PowBackward2"},
      {-a, "NegBackward0"},
      {a.exp(), "ExpBackward0"},
      {a.log1p(), "Log1PBackward0"},
      {a.log2(), "Log2Backward0"},
      {a.arcsin(), "AsinBackward0"},
      {a.sigmoid(), "SigmoidBackward0"},
      {relu(a), "ReluBackward0"},
      {relu6(a), "HardtanhBackward0"},
      {leaky_relu(a), "LeakyReluBackward0"},
      {selu(a), "EluBackward0"},
      {softsign(a), "DivBackward0"},
      {a.abs(), "AbsBackward0"},
      {a.sum(), "SumBackward0"},
      {a.sum(0), "SumBackward1"},
      {a.mean(), "MeanBackward0"},
      {a.mean(0), "MeanBackward1"},
      {a.prod(), "ProdBackward0"},
      {a.std(), "StdBackward0"},
      {a.var({1}), "VarBackward0"},
      {a.max(), "MaxBackward1"},
      {std::get<0>(a.max(1)), "MaxBackward0"},
      {a.amax(), "AmaxBackward0"},
      {a.max(b), "MaximumBackward0"},
      {a.norm(), "LinalgVectorNormBackward0"},
      {a.softmax(1), "SoftmaxBackward0"},
      {a.log_softmax(1), "LogSoftmaxBackward0"},
      {a.logsumexp(1), "LogsumexpBackward0"},
      {layer_norm(a, {3}), "NativeLayerNormBackward0"},
      {a.clamp(0.1, 0.9), "ClampBackward1"},
      {a.clamp_min(0.1), "ClampMinBackward0"},
      {where(c > 0.5, a, c), "WhereBackward0"},
      {a.masked_fill(c > 0.5, 0), "MaskedFillBackward0"},
      {a[0], "SelectBackward0"},
      {a.slice(0, 0, 1), "SliceBackward0"},
      {a.index({indexing::Slice(), 0}), "SelectBackward0"},
      {a.index({0, indexing::Slice(1, indexing::None)}), "SliceBackward0"},
      {a.index({indexing::None}), "UnsqueezeBackward0"},
      {a.t(), "TBackward0"},
      {a.transpose(0, 1), "TransposeBackward0"},
      {a.permute({1, 0}), "PermuteBackward0"},
      {a.view({6}), "ViewBackward0"},
      {a.reshape({6}), "ViewBackward0"},
      {a.t().reshape({6}), "UnsafeViewBackward0"},
      {a.flatten(), "ViewBackward0"},
      {a.expand({4, 2, 3}), "ExpandBackward0"},
      {a.squeeze(), "SqueezeBackward0"},
      {a.squeeze(0), "SqueezeBackward1"},
      {a.unsqueeze(0), "UnsqueezeBackward0"},
      {a.split(1)[0], "SplitBackward0"},
      {a.chunk(2)[1], "SplitBackward0"},
      {a.unbind()[1], "UnbindBackward0"},
      {cat({a, c}), "CatBackward0"},
      {stack({c, b}), "StackBackward0"},
      {vstack({c, b}), "CatBackward0"},
      {a.clone(), "CloneBackward0"},
      {a.flip({0}), "FlipBackward0"},
      {a.roll(1), "RollBackward0"},
      {a.repeat({2, 2}), "RepeatBackward0"},
      {a.to(kDouble), "ToCopyBackward0"},
      {a.mm(m), "MmBackward0"},
      {a.matmul(v), "MvBackward0"},
      {v.dot(v), "DotBackward0"},
      {v.matmul(m), "SqueezeBackward4"},
      {a.unsqueeze(0).bmm(m.unsqueeze(0)), "BmmBackward0"},
      {a.unsqueeze(0).matmul(m), "UnsafeViewBackward0"},
      {linear(c, w, rand({4})), "AddmmBackward0"},
      {linear(c, w), "MmBackward0"},
      {linear(c.unsqueeze(0), w, rand({4})), "ViewBackward0"},
  };
  for (const auto& [result, name] : cases) {
    INFO(name);
    CHECK(grad_name(result) == name);
    CHECK(result.requires_grad());
  }
  CHECK(repr(a.abs().sum()).find("grad_fn=<SumBackward0>)") != std::string::npos);
}

TEST_CASE("grad_fn's names in LibTorch's style, where Python has others, and of writes") {
  const PrintStyle style = get_print_style();
  const auto x = [] { return rand({2, 3}, requires_grad()) * 1; };
  const auto names = [](const Tensor& y) {
    set_print_style(PrintStyle::Python);
    const std::string python = grad_name(y);
    set_print_style(PrintStyle::LibTorch);
    return python + " " + grad_name(y);
  };
  CHECK(names(1 - x()) == "RsubBackward1 SubBackward0");
  CHECK(names(2 / x()) == "MulBackward0 DivBackward0");
  CHECK(names(x() + 1) == "AddBackward0 AddBackward1");
  CHECK(names(x().norm()) == "LinalgVectorNormBackward0 NormBackward0");
  CHECK(names(x().norm(2, 1)) == "LinalgVectorNormBackward0 NormBackward1");
  CHECK(names(linalg_vector_norm(x())) == "LinalgVectorNormBackward0 LinalgVectorNormBackward0");
  CHECK(names(pairwise_distance(x(), x())) == "NormBackward1 NormBackward1");
  CHECK(names(xlogy(2, x())) == "XlogyBackward1 XlogyBackward1");
  CHECK(names(special::xlog1py(x(), 2)) == "SpecialXlog1PyBackward2 SpecialXlog1PyBackward2");
  CHECK(names(diag(x())) == "DiagonalBackward0_copy DiagonalBackward0_copy");
  CHECK(names(x().fill_(1)) == "FillBackward2 FillBackward2");
  CHECK(names(x().t_()) == "TBackward1 TBackward1");
  CHECK(names(x().unsqueeze_(0)) == "UnsqueezeBackward1 UnsqueezeBackward1");
  CHECK(names(x().squeeze_()) == "SqueezeBackward3 SqueezeBackward3");
  CHECK(names(normal(x(), 1.0)) == "NormalBackward1 NormalBackward1");
  CHECK(names(bernoulli(x(), 0.3)) == "NotImplemented torch::autograd::NotImplemented");
  set_print_style(style);
}

TEST_CASE("each golden operator remembers the operands that require grad") {
  const nlohmann::json cases = golden::load("ops.json");
  const std::string blob = golden::read("ops.bin");
  int remembered = 0;
  for (const nlohmann::json& c : cases) {
    const std::string name = c["name"], expression = c["expr"];
    if (name.starts_with("optim")) continue;  // their result is detached
    python::Variables variables;
    bool any = false;
    for (size_t i = 0; i < c["inputs"].size(); ++i) {
      const nlohmann::json& in = c["inputs"][i];
      const std::vector<int64_t> shape = in["shape"];
      const std::string dtype = in["dtype"];
      if (dtype != "float32" && dtype != "float64") continue;
      const auto type = dtype == "float32" ? kFloat : kDouble;
      const Tensor x = zeros(shape, type);
      std::memcpy(x.data_ptr(), blob.data() + in["at"].get<size_t>(), static_cast<size_t>(x.nbytes()));
      variables["x" + std::to_string(i)] = x.requires_grad_();
      any = true;
    }
    if (!any || variables.size() != c["inputs"].size()) continue;
    try {
      for (const Tensor& out : python::flat(python::run(expression, variables))) {
        if (!out.is_floating_point()) continue;
        CHECK_MESSAGE(out.requires_grad(), name << ": " << expression);
        remembered += out.requires_grad();
      }
    } catch (const python::Unsupported&) {
    } catch (const Error& e) {
      const std::string what = e.what();  // of programs that write in place, and of weights without a derivative
      CHECK_MESSAGE((what.find("leaf Variable") + 1 || what.find("is a view and is being modified") + 1 ||
                     what.find("is not differentiable with respect to") + 1),
                    expression << ": " << e.what());
    }
  }
  CHECK(remembered > 700);
}

TEST_CASE("outputs are numbered") {
  const Tensor p = parameter({6});
  const std::vector<Tensor> parts = p.split(2);
  CHECK(parts[0].output_nr() == 0);
  CHECK(parts[2].output_nr() == 2);
  CHECK(parts[0].grad_fn() == parts[2].grad_fn());
  const auto [deviation, mean] = std_mean(p);
  CHECK(deviation.output_nr() == 0);
  CHECK(mean.output_nr() == 1);
  CHECK(softmax(p, 0).output_nr() == 0);  // what happens inside an operation does not count
  CHECK(p.output_nr() == 0);
}

TEST_CASE("grad mode") {
  const Tensor p = parameter();
  {
    NoGradGuard no_grad;
    CHECK_FALSE(GradMode::is_enabled());
    CHECK_FALSE((p * 2).requires_grad());
    CHECK(p[0].requires_grad());  // a view is what its base is; a leaf of its own
    CHECK(p[0].is_leaf());
    CHECK_FALSE(p.detach()[0].requires_grad());
    CHECK(parameter().requires_grad());  // leaves may be made
    {
      const AutoGradMode on(true);
      CHECK((p * 2).requires_grad());
    }
    bool elsewhere = false;
    std::thread([&] { elsewhere = GradMode::is_enabled(); }).join();
    CHECK(elsewhere);
  }
  CHECK(GradMode::is_enabled());
  {
    InferenceMode inference;
    CHECK_FALSE((p * 2).requires_grad());
  }
  GradMode::set_enabled(false);
  CHECK_FALSE((p * 2).requires_grad());
  GradMode::set_enabled(true);
  CHECK((p * 2).requires_grad());
}

TEST_CASE("the grad of a tensor is a place to put one") {
  const Tensor p = parameter({2});
  CHECK_FALSE(p.grad().defined());
  p.mutable_grad() = tensor({1.0, 2.0});
  CHECK(equal(p.grad(), tensor({1.0, 2.0})));
  CHECK(p.requires_grad());
  p.mutable_grad() = Tensor();
  CHECK_FALSE(p.grad().defined());
  CHECK_FALSE(p.retains_grad());
  const Tensor y = p * 2;
  y.retain_grad();
  CHECK(y.retains_grad());
  CHECK_THROWS_WITH_AS(p.detach().retain_grad(), "can't retain_grad on Tensor that has requires_grad=False", Error);
}

TEST_CASE("writing in place") {
  const Tensor p = parameter({2, 2});
  CHECK_THROWS_WITH_AS(p.add_(1), kLeaf, Error);
  CHECK_THROWS_WITH_AS(p.zero_(), kLeaf, Error);
  CHECK_THROWS_WITH_AS(p[0].add_(1), kViewOfLeaf, Error);
  CHECK_THROWS_WITH_AS(p.view({4}).mul_(2), kViewOfLeaf, Error);
  CHECK_THROWS_WITH_AS(p.expand({3, 2, 2}).add_(1), kViewOfLeaf, Error);
  CHECK_THROWS_WITH_AS(p[0][1].fill_(5.), kViewOfLeaf, Error);
  CHECK(equal(p, ones({2, 2})));  // nothing happened
  CHECK_THROWS_WITH_AS((p * 2).split(1)[0].add_(1),
                       "Output 0 of Split is a view and is being modified inplace. This view is the output of a "
                       "function that returns multiple views. Such functions do not allow the output views to be modified "
                       "inplace. You should replace the inplace operation by an out-of-place one.",
                       Error);
  {
    NoGradGuard no_grad;
    p.add_(1);
    p[0].add_(1);
    CHECK(equal(p, tensor({{3.0, 3.0}, {2.0, 2.0}})));
    CHECK(p.is_leaf());
    CHECK(p.requires_grad());
  }
  const Tensor y = p * 2, unwatched = [&] {
    NoGradGuard no_grad;
    return y[0];
  }();
  CHECK_THROWS_WITH(unwatched.add_(p[0]), doctest::Contains("A view was created in no_grad mode"));
  y.exp_();
  CHECK(grad_name(y) == "ExpBackward0");
  y[0].mul_(3);
  CHECK(grad_name(y) == "CopySlices");
}

TEST_CASE("what is written with a tensor that requires grad requires it too") {
  const Tensor p = parameter({2}), x = zeros({2, 2}), before = x[1];
  x[0].copy_(p);
  CHECK(x.requires_grad());
  CHECK_FALSE(x.is_leaf());
  CHECK(grad_name(x) == "CopySlices");
  CHECK(before.requires_grad());  // a view of it, made before
  CHECK(grad_name(before) == "AsStridedBackward0");
  const Tensor z = zeros({2});
  z.add_(p);
  CHECK(grad_name(z) == "AddBackward0");
  Tensor detached = zeros({2});
  detached.add_(p);
  detached.detach_();
  CHECK(detached.is_leaf());
  CHECK_FALSE(detached.requires_grad());
  CHECK_THROWS_AS(x[0].detach_(), Error);
}

TEST_CASE("views know what they show") {
  const Tensor x = zeros({2, 3});
  CHECK_FALSE(x.is_view());
  CHECK_THROWS_WITH_AS(x._base(), "Can't get base of non-view Variable", Error);
  CHECK(x[0].is_view());
  CHECK(x[0][1]._base().is_same(x));
  CHECK_FALSE(x.detach().is_view());
  CHECK_FALSE((x + 1).is_view());
}

TEST_CASE("set_data exchanges the memory of a tensor that others hold") {
  const Tensor p = parameter({2}), other = p, replacement = tensor({5.0, 6.0, 7.0});
  p.set_data(replacement);
  CHECK(other.requires_grad());
  CHECK(equal(other.detach(), replacement));
  CHECK(other.is_alias_of(replacement));
  CHECK_THROWS_AS(p.set_data(tensor({1, 2})), Error);
}

TEST_CASE("a history of any length is freed") {
  Tensor x = parameter({1});
  for (int i = 0; i < 200000; ++i) x = x + 1;
  CHECK(x.requires_grad());
  x = Tensor();
}
