// Errors say where: the operation and its operands, what is undefined, what is absent, and the call stack.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cstdio>
#include <memory>

#include "frontend/values.h"
#include "runtime/base/options.h"

// doctest compares an exception's text through this: PyTorch's line, which is what most tests are about.
REGISTER_EXCEPTION_TRANSLATOR(const tenon::Error& e) { return e.msg().c_str(); }

namespace tenon {
namespace {

std::string what_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(std::string(e.what()) == e.what_without_backtrace());
    return e.what();
  }
  return "no error";
}

struct Case {
  const char* name;
  void (*run)();
  const char* want;
};

}  // namespace

TEST_CASE("an error's second line names the operation, shapes and dtypes") {
  static const Tensor a = zeros({2, 3}), b = zeros({4, 5}, kDouble), none;
  const Case cases[] = {
      {"operator", [] { a* b; }, "mul(float32[2, 3], float64[4, 5])"},
      {"mm",
       [] {
         a.mm(zeros({4, 5}));
       },
       "mm(float32[2, 3], float32[4, 5])"},
      {"linear", [] { nn::functional::linear(a, a.t(), a); }, "linear(float32[2, 3], float32[3, 2], float32[2, 3])"},
      {"cat",
       [] {
         cat({a, zeros({4})});
       },
       "cat([float32[2, 3], float32[4]])"},
      {"a bare message",
       [] {
         tensor({1, 2}).div(0, "floor").item();
       },
       "div(int64[2], 0)"},
      {"topk", [] { a.topk(7); }, "topk(float32[2, 3], 7)"},
      {"embedding", [] { nn::functional::embedding(tensor({5}), a); }, "embedding(float32[2, 3], int64[1])"},
      {"in place",
       [] {
         Tensor x = a;
         x.lerp_(b, 0.5);
       },
       "lerp_(float32[2, 3], float64[4, 5], 0.5)"},
      {"in place, refused by its own shape",
       [] {
         Tensor x = a;
         x.div_(zeros({4, 2, 3}));
       },
       "div_(float32[2, 3], float32[4, 2, 3])"},
      {"in place, by its own type",
       [] {
         Tensor x = zeros({2, 2}, kInt);
         x.logit_();
       },
       "logit_(int32[2, 2])"},
      {"in place, another name",
       [] {
         Tensor x = a;
         x.divide_(b);
       },
       "divide_(float32[2, 3], float64[4, 5])"},
      {"out",
       [] {
         Tensor out = empty({0}, kInt);
         sqrt_out(out, a);
       },
       "sqrt_out(int32[0], float32[2, 3])"},
      {"item", [] { a.item(); }, "item(float32[2, 3])"},
      {"no gradient of its own", [] { a.argmax(5); }, "argmax(float32[2, 3])"},
      {"composed of others",
       [] {
         tenon::cov(zeros({2, 3, 4}));
       },
       "cov(float32[2, 3, 4])"},
      {"a view", [] { a.view({7}); }, "view(float32[2, 3])"},
      {"a comparison", [] { a == zeros({4}); }, "eq(float32[2, 3], float32[4])"},
      {"logic", [] { a.logical_and(zeros({4})); }, "logical_and(float32[2, 3], float32[4])"},
      {"a check before the operation", [] { nn::functional::binary_cross_entropy(a, zeros({4})); },
       "binary_cross_entropy(float32[2, 3], float32[4])"},
      {"as it was called",
       [] {
         max_pool2d(a.view({1, 2, 3}), 9);
       },
       "max_pool2d(float32[1, 2, 3])"},
      {"with indices",
       [] {
         max_pool2d_with_indices(a.view({1, 2, 3}), 9);
       },
       "max_pool2d_with_indices(float32[1, 2, 3])"},
      {"attention",
       [] {
         scaled_dot_product_attention(zeros({2, 4, 8}), zeros({2, 4, 6}), zeros({2, 4, 8}));
       },
       "scaled_dot_product_attention(float32[2, 4, 8], float32[2, 4, 6], float32[2, 4, 8])"},
      {"a layer of attention",
       [] {
         nn::MultiheadAttention(3, 1)(a.view({2, 1, 3}), a.view({2, 1, 3}), zeros({3, 1, 3}));
       },
       "multi_head_attention_forward(float32[2, 1, 3], float32[2, 1, 3], float32[3, 1, 3])"},
      {"a recurrent layer",
       [] {
         nn::GRU(4, 5)(a.view({2, 1, 3}));
       },
       "gru(float32[2, 1, 3])"},
      {"its state",
       [] {
         nn::RNN(3, 5)(a.view({2, 1, 3}), zeros({1, 1, 4}));
       },
       "rnn_tanh(float32[2, 1, 3])"},
      {"a recurrent cell", [] { nn::LSTMCell(4, 5)(a); }, "lstm_cell(float32[2, 3])"},
      {"no dims", [] { zeros({}).unflatten(0, {1}); }, "unflatten(float32[])"},
      {"undefined", [] { none.exp(); }, "exp(undefined Tensor)"},
      {"undefined operand", [] { a* none; }, "mul(float32[2, 3], undefined Tensor)"},
      {"undefined, chosen", [] { where(a > 0, a, none); }, "where(bool[2, 3], float32[2, 3], undefined Tensor)"},
      {"undefined, a reduction", [] { none.sum(); }, "sum(undefined Tensor)"},
      {"undefined, a question", [] { none.any(); }, "any(undefined Tensor)"},
      {"undefined, not", [] { ~none; }, "bitwise_not(undefined Tensor)"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.name));
    const std::string what = what_of(c.run);
    CHECK(what.substr(what.rfind('\n') + 1) == std::string("  in ") + c.want);
  }
  const auto refused = [](void (*run)()) {
    const std::string what = what_of(run), text = "Expected a proper Tensor but got None (or an undefined Tensor in C++)";
    return what.starts_with(text) ? what.substr(text.size(), what.find('\n') - text.size()) : what;
  };
  CHECK(refused([] { none.exp(); }) == " for argument #0 'self'");
  CHECK(refused([] { add(a, none); }) == " for argument #1 'other'");
  CHECK(refused([] { mm(a, none); }).empty());  // which one, the line of the call shows
  CHECK(refused([] { where(a > 0, a, none); }).empty());
  CHECK(what_of([] { eval(none); }).find("undefined Tensor") != std::string::npos);
  CHECK(what_of([] { throw Error("mine"); }) == "mine");  // no operation is being called
}

TEST_CASE("an error in an operation leaves no operation behind") {
  for (int i = 0; i < 3; ++i) CHECK(what_of([] { zeros({2}).view({3}); }).find("  in view(float32[2])") != std::string::npos);
  CHECK(what_of([] { throw Error("mine"); }) == "mine");
}

TEST_CASE("an error's parts: the message alone, and without the stack") {
  try {
    zeros({2}) + zeros({3});
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.msg() == "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0");
    CHECK(std::string(e.what()).find(e.msg() + "\n  in add(float32[2], float32[3]") == 0);
    const Error copy = e;
    CHECK(copy.msg() == e.msg());
    CHECK(std::string(copy.what_without_backtrace()) == e.what());
  }
}

TEST_CASE("TENON_TRACE: an error carries the call stack") {
  const runtime::Options saved = runtime::options();
  runtime::Options traced = saved;
  traced.trace = true;
  runtime::set_options(traced);
  std::string what, without;
  try {
    zeros({2}).add(zeros({3}));
  } catch (const IndexError&) {
    FAIL("another kind of error");
  } catch (const Error& e) {
    what = e.what();
    without = e.what_without_backtrace();
  }
  runtime::set_options(saved);
  CAPTURE(what);
  CHECK(what.find(without + "\n  #0 ") == 0);
  CHECK(without.find('#') == std::string::npos);
  CHECK(what.find("tenon::add(") != std::string::npos);
  CHECK(what.find("broadcast") != std::string::npos);
}

TEST_CASE("devices that are not there: what was looked for, and what there is") {
  const std::string none = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver";
  for (const std::string& what :
       {what_of([] { zeros({1}).cuda(); }), what_of([] { zeros({1}, kCUDA); }), what_of([] { cuda::get_device_name(0); }),
        what_of([] { ones({1}).pin_memory(); }), what_of([] { cuda::set_device(0); }), what_of([] { cuda::init(); })}) {
    CHECK(what.find(none) == 0);
    CHECK(what.find("cannot open shared object file") != std::string::npos);
  }
  CHECK_FALSE(cuda::is_available());
  CHECK_FALSE(cuda::is_initialized());
  CHECK(cuda::device_count() == 0);
  CHECK(cuda::memory_allocated() == 0);
  CHECK_FALSE(ones({1}).is_pinned());
  cuda::empty_cache();
  cuda::manual_seed(3);
  CHECK(what_of([] { Device("gpu"); }) == "Expected one of cpu, cuda device type at start of device string: gpu");
  CHECK(what_of([] { zeros({1}).cuda(); }).find("Torch") == std::string::npos);
}

}  // namespace tenon
