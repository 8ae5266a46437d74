// Errors say where: the operation and its operands, what is undefined, what is absent, and the call stack.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cstdio>
#include <memory>

#include "runtime/options.h"
#include "values.h"

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
      {"mul", [] { a* b; },
       "The size of tensor a (3) must match the size of tensor b (5) at non-singleton dimension 1\n"
       "  in mul(float32[2, 3], float64[4, 5])"},
      {"mm", [] { a.mm(zeros({4, 5})); },
       "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)\n  in mm(float32[2, 3], float32[4, 5])"},
      {"cat", [] { cat({a, zeros({4})}); },
       "Tensors must have same number of dimensions: got 2 and 1\n  in cat([float32[2, 3], float32[4]])"},
      {"number", [] { tensor({1, 2}).remainder(0).item(); }, "ZeroDivisionError\n  in remainder(int64[2], 0)"},
      {"kthvalue", [] { a.topk(7); }, "selected index k out of range\n  in topk(float32[2, 3])"},
      {"embedding", [] { nn::functional::embedding(tensor({5}), a); },
       "index out of range in self\n  in embedding(float32[2, 3], int64[1])"},
      {"in place", [] { Tensor x = a; x.add_(b); },
       "The size of tensor a (3) must match the size of tensor b (5) at non-singleton dimension 1\n"
       "  in add(float32[2, 3], float64[4, 5])"},
      {"item", [] { a.item(); }, "a Tensor with 6 elements cannot be converted to Scalar\n  in item(float32[2, 3])"},
      {"argmax", [] { a.argmax(5); },
       "Dimension out of range (expected to be in range of [-2, 1], but got 5)\n  in argmax(float32[2, 3])"},
      {"undefined", [] { none.exp(); }, "an undefined Tensor was used (default-constructed?)\n  in exp(undefined Tensor)"},
      {"undefined other", [] { a + none; },
       "an undefined Tensor was used (default-constructed?)\n  in add(float32[2, 3], undefined Tensor)"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.name));
    CHECK(what_of(c.run) == c.want);
  }
  CHECK(what_of([] { throw Error("mine"); }) == "mine");  // no operation is being called
}

TEST_CASE("an error's parts: the message alone, and without the stack") {
  try {
    zeros({2}) + zeros({3});
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.msg() == "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0");
    CHECK(std::string(e.what()) == e.msg() + "\n  in add(float32[2], float32[3])");
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
  CHECK(what_of([] { zeros({1}).cuda(); }).find("CUDA is not available: this build of Tenon has no CUDA backend") == 0);
  CHECK(what_of([] { zeros({1}, kCUDA); }).find("CUDA is not available") == 0);
  CHECK(what_of([] { cuda::get_device_name(0); }).find("CUDA is not available") == 0);
  CHECK(what_of([] { Device("gpu"); }) == "Expected one of cpu, cuda device type at start of device string: gpu");
  CHECK(what_of([] { zeros({1}).cuda(); }).find("Torch") == std::string::npos);
}

}  // namespace tenon
