// The names and overloads that programs written for LibTorch meet through <tenon/compat.h>: how they look up is compiled in
// tests/headers/libtorch_program.cpp, what they do is here.
#include <tenon/compat.h>

#include <doctest/doctest.h>

namespace torch {
static Tensor plus_one(const Tensor& x) { return x + 1; }  // a namespace of its own, which may be reopened
}  // namespace torch

namespace {

using torch::Tensor;
constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

std::string name_of(const Tensor& x) { return x.grad_fn()->name(); }

std::string message_of(auto&& f) {
  try {
    f();
  } catch (const torch::Error& e) {
    return e.msg();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("compat: torch is a real namespace with tenon's names") {
  CHECK(torch::equal(torch::plus_one(torch::zeros({2})), at::ones({2})));
  CHECK(std::is_same_v<torch::Tensor, tenon::Tensor>);
  CHECK(std::is_same_v<c10::Device::Type, tenon::DeviceType>);
  CHECK(torch::Device(torch::Device::Type::CPU) == at::Device("cpu"));
}

TEST_CASE("compat: standard containers print as with c10") {
  const auto text = [](const auto& value) {
    std::ostringstream out;
    out << value;
    return out.str();
  };
  CHECK(text(std::vector<std::string>{"a", "b c"}) == "a b c");
  CHECK(text(std::vector<std::vector<int64_t>>{{1, 2}, {}, {3}}) == "1 2  3");
  CHECK(text(std::map<std::string, double>{{"lr", 0.5}, {"eps", 2}}) == "(eps, 2) (lr, 0.5)");
  CHECK(text(std::set<int>{3, 1}) == "1 3");
  CHECK(text(std::vector<int>()) == "");
  CHECK(text(std::vector<int>(101, 7)).substr(195) == " 7 7 ...");
  CHECK(text(torch::tensor({1, 2}).sizes()) == "[2]");
}

namespace {
struct ScaledImpl : torch::nn::Module {
  Tensor forward(const Tensor& x, double factor = 2, bool negative = false) { return x * (negative ? -factor : factor); }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(2.0)}, {2, torch::nn::AnyValue(false)})
};
TORCH_MODULE(Scaled);
}  // namespace

TEST_CASE("compat: default arguments of forward, declared as for LibTorch") {
  torch::nn::AnyModule any{Scaled()};
  CHECK(any.forward(torch::ones({1})).item<float>() == 2);
  CHECK(any.forward(torch::ones({1}), 3.0, true).item<float>() == -3);
  torch::nn::Sequential twice{Scaled(), Scaled()};
  CHECK(twice->forward(torch::ones({1})).item<float>() == 4);
}

TEST_CASE("compat: names of c10 and of ATen's loops") {
  std::ostringstream out;
  out << torch::MemoryFormat::Contiguous << " " << kChannelsLast << " " << c10::MemoryFormat::Preserve << " "
      << at::MemoryFormat::ChannelsLast3d;
  CHECK(out.str() == "Contiguous ChannelsLast Preserve ChannelsLast3d");
  CHECK(c10::make_optional(3) == torch::optional<int>(3));
  std::vector<int> calls(100, 0);
  at::parallel_for(0, 100, 7, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) calls[static_cast<size_t>(i)] += 1;
  });
  CHECK(calls == std::vector<int>(100, 1));
  at::parallel_for(3, 3, 1, [&](int64_t, int64_t) { calls.clear(); });
  CHECK(calls.size() == 100);
  CHECK(message_of([] { at::parallel_for(0, 8, 1, [](int64_t begin, int64_t end) { TORCH_CHECK(begin > 5 || end <= 5, "a part"); }); }) ==
        "a part");
}

TEST_CASE("compat: every form of to, with a memory format") {
  const Tensor x = torch::arange(48, torch::kFloat).reshape({2, 3, 2, 4}), turned = x.transpose(1, 3);
  const Tensor bytes = x.to(torch::kCPU, torch::kUInt8, false, false, torch::MemoryFormat::Contiguous);
  CHECK(bytes.dtype() == torch::kUInt8);
  CHECK(torch::equal(bytes.to(torch::kFloat), x));
  CHECK(x.to(torch::kFloat).is_same(x));
  CHECK(x.to(torch::kCPU, torch::kFloat, false, false, torch::MemoryFormat::Contiguous).is_same(x));
  CHECK_FALSE(x.to(torch::kCPU, torch::kFloat, false, true, torch::MemoryFormat::Contiguous).is_alias_of(x));
  CHECK_FALSE(x.to(torch::kFloat, false, true).is_alias_of(x));
  CHECK(turned.to(torch::kFloat, false, false, torch::MemoryFormat::Preserve).is_same(turned));
  const struct {
    const char* form;
    Tensor result;
    c10::ScalarType dtype;
  } last[] = {
      {"dtype", x.to(torch::kDouble, false, false, kChannelsLast), torch::kDouble},
      {"device", x.to(torch::Device("cpu"), false, false, kChannelsLast), torch::kFloat},
      {"device and dtype", x.to(torch::kCPU, torch::kHalf, false, false, kChannelsLast), torch::kHalf},
      {"options", x.to(torch::TensorOptions(torch::kInt), false, false, kChannelsLast), torch::kInt},
      {"tensor", x.to(bytes, false, false, kChannelsLast), torch::kByte},
      {"all", x.to(torch::kLong, c10::nullopt, torch::Device(at::kCPU), false, false, false, kChannelsLast), torch::kLong},
      {"a copy", x.to(torch::kFloat, false, true, kChannelsLast), torch::kFloat},
  };
  for (const auto& [form, result, dtype] : last) {
    CAPTURE(form);
    CHECK((result.scalar_type() == dtype));
    CHECK(result.is_contiguous(kChannelsLast));
    CHECK(torch::equal(result.to(torch::kFloat), x));
  }
  CHECK(turned.to(torch::kFloat, false, false, torch::MemoryFormat::Contiguous).is_contiguous());
  CHECK(x.to(torch::Device("cpu"), torch::ones({1}, torch::kLong).dtype()).dtype() == torch::kLong);
  CHECK(message_of([&] { x[0].to(torch::kFloat, false, false, kChannelsLast); }) == "required rank 4 tensor to use channels_last format");
  const Tensor w = torch::rand({2, 3, 2, 4}).requires_grad_();
  w.to(torch::kCPU, torch::kDouble, false, false, kChannelsLast).sum().backward();
  CHECK(torch::equal(w.grad(), torch::ones_like(w)));
}

TEST_CASE("compat: the meta device is answered by a sentence") {
  const Tensor x = torch::ones({2});
  for (const auto& f : std::vector<std::function<void()>>{[&] { x.to(torch::kMeta); }, [&] { torch::empty({2}, torch::kMeta); }})
    CHECK(message_of(f).starts_with("Tenon has no meta device"));
}

TEST_CASE("compat: gradient switches by LibTorch's other names") {
  torch::autograd::GradMode::set_enabled(true);
  CHECK(at::GradMode::is_enabled());
  {
    torch::autograd::AutoGradMode off(false);
    CHECK_FALSE(torch::GradMode::is_enabled());
    at::AutoGradMode on(true);
    CHECK(torch::autograd::GradMode::is_enabled());
    at::NoGradGuard none;
    CHECK_FALSE(torch::GradMode::is_enabled());
    c10::InferenceMode inference;
    CHECK(torch::InferenceMode::is_enabled());
  }
  CHECK(torch::GradMode::is_enabled());
}

TEST_CASE("compat: grad_fn has LibTorch's names under its print style, and else Python's") {
  const Tensor x = torch::ones({2, 2}).requires_grad_();
  const struct {
    Tensor result;
    const char *libtorch, *python;
  } cases[] = {
      {x + 2, "AddBackward1", "AddBackward0"},
      {2 + x, "AddBackward1", "AddBackward0"},
      {x + x, "AddBackward0", "AddBackward0"},
      {x - 2, "SubBackward1", "SubBackward0"},
      {x * 2, "MulBackward1", "MulBackward0"},
      {2 * x, "MulBackward1", "MulBackward0"},
      {x * x, "MulBackward0", "MulBackward0"},
      {x / 2, "DivBackward1", "DivBackward0"},
      {2 / x, "DivBackward0", "MulBackward0"},
      {x / x, "DivBackward0", "DivBackward0"},
      {x.div(2, "floor"), "DivBackward3", "DivBackward2"},
      {x.pow(2), "PowBackward0", "PowBackward0"},
      {(x * 1).mul_(3), "MulBackward1", "MulBackward0"},
      {((x * 1) += 3), "AddBackward1", "AddBackward0"},
  };
  for (const auto& [result, libtorch, python] : cases) {
    CHECK(name_of(result) == python);
    tenon::set_print_style(tenon::PrintStyle::LibTorch);
    CHECK(name_of(result) == libtorch);
    tenon::set_print_style(tenon::PrintStyle::Python);
  }
  CHECK(tenon::repr(x * 2).ends_with("grad_fn=<MulBackward0>)"));
}
