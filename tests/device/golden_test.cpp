// The golden operators on the tested device: the values of PyTorch, and the CPU's bits.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <sstream>

#include "device/tested_device.h"
#include "frontend/golden.h"
#include "frontend/python/compare.h"
#include "frontend/python/python.h"

using golden::load;
using golden::packed;
using golden::read;
using nlohmann::json;
using tenon::ScalarType;
using tenon::Tensor;
using tenon::test::bits_of;

// They make a tensor on the host and mix it with those on the device, which PyTorch refuses too.
const std::set<std::string> kMixed = {"maximum_self_kink", "minimum_self_kink", "attention_causal_float32"};

namespace {

std::string printed(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}
// Without layout, since the device's name breaks lines elsewhere.
std::string words(std::string text) {
  const std::string device = ",device='" + tenon::test::tested_name() + "'";
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  for (size_t at = text.find(device); at != std::string::npos; at = text.find(device)) text.erase(at, device.size());
  return text;
}

}  // namespace

TEST_CASE("golden: tensors of a device print as those of the host") {
  const tenon::Device there = tenon::test::tested_device();
  int count = 0;
  for (const json& c : load("repr.json")) {
    const std::string code = c["code"];
    CAPTURE(code);
    std::vector<Tensor> values;
    try {
      values = python::flat(python::run(code));
    } catch (const std::exception&) {
      continue;  // is no tensor
    }
    for (const Tensor& value : values) {
      const Tensor x = value.detach();
      const std::string text = printed(x.to(there));
      CHECK(words(text) == words(printed(x)));
      CHECK(text.find("device='" + tenon::test::tested_name() + "'") != std::string::npos);
      ++count;
    }
  }
  CHECK(count > 50);
}

namespace {

// The program with all that it makes on the device.
std::string moved(std::string code) {
  static const std::vector<std::string> makers = {"tensor", "arange", "zeros", "ones", "full", "linspace", "eye", "empty"};
  for (const std::string& maker : makers) {
    const std::string call = "t." + maker + "(";
    for (size_t at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) {
      size_t end = at + call.size();
      for (int depth = 1; depth > 0; ++end) depth += code[end] == '(' ? 1 : code[end] == ')' ? -1 : 0;
      code.insert(end - 1, ", device='" + tenon::test::tested_name() + "'");
    }
  }
  return code;
}

// Types, sizes and bits of what the program gives; numbers as text; or its error.
std::string outcome(const std::string& code) {
  try {
    const python::Value value = python::run(code);
    std::string text;
    std::vector<Tensor> tensors;
    try {
      tensors = python::flat(value);
    } catch (const std::exception&) {
      return words(python::repr(value));  // is no tensor
    }
    for (const Tensor& x : tensors) text += tenon::toString(x.scalar_type()) + printed(x.detach().cpu()) + bits_of(x);
    return text;
  } catch (const tenon::Error& e) {
    return "error: " + e.msg();
  }
}

}  // namespace

TEST_CASE("golden: corner cases on a device have the CPU's bits") {
  int equal = 0, all = 0, seen = 0;
  for (const json& c : load("semantics.json")) {
    if (!tenon::test::is_in_slice(static_cast<size_t>(seen++))) continue;
    const std::string code = c["code"], there = moved(code);
    CAPTURE(there);
    CHECK(there != code);
    tenon::test::shuffle(static_cast<uint64_t>(all++));
    const std::string want = outcome(code), got = outcome(there);
    equal += got == want;
    CHECK_MESSAGE(got == want, (got.starts_with("error") ? got : "the bits differ"));
  }
  MESSAGE(equal << " of " << all << " cases have the CPU's bits");
}

TEST_CASE("golden: views of a device alias as those of the host") {
  const tenon::Device there = tenon::test::tested_device();
  int count = 0;
  for (const json& c : load("views.json")) {
    const std::string code = c["code"];
    CAPTURE(code);
    const Tensor host = tenon::arange(24.).reshape({2, 3, 4}), moved = host.to(there);
    std::vector<Tensor> a, b;
    try {
      a = python::flat(python::run(code, {{"x", host}}));
    } catch (const std::exception&) {
      continue;  // not expressible
    }
    try {
      b = python::flat(python::run(code, {{"x", moved}}));
    } catch (const tenon::Error& e) {  // what mixes in a tensor of the host is refused, as in PyTorch; so is x.numpy()
      CHECK((code.find("t.") != std::string::npos || code.find("numpy") != std::string::npos));
      CHECK((std::string(e.what()).find("device") != std::string::npos || code.find("numpy") != std::string::npos));
      continue;
    }
    REQUIRE(a.size() == b.size());
    const auto start = [](const Tensor& x) { return static_cast<const char*>(x.data_ptr()) - x.storage_offset() * x.itemsize(); };
    for (size_t i = 0; i < a.size(); ++i) {
      CHECK((b[i].device() == there || code.find("cpu") != std::string::npos));
      CHECK(a[i].sizes() == b[i].sizes());
      CHECK(a[i].strides() == b[i].strides());
      CHECK(a[i].storage_offset() == b[i].storage_offset());
      if (a[i].numel() > 0 && !b[i].is_cpu()) CHECK((start(host) == start(a[i])) == (start(moved) == start(b[i])));
      ++count;
    }
  }
  CHECK(count > 50);
}

TEST_CASE("golden: operators on a device") {
  const tenon::Device there = tenon::test::tested_device();
  const json cases = load("ops.json");
  std::string blob = read("ops.bin");
  size_t equal = 0, stayed = 0, all = 0;
  for (size_t k = 0; k < cases.size(); ++k) {
    const json& c = cases[k];
    if (!tenon::test::is_in_slice(k)) continue;
    all += !kMixed.contains(c["name"]);
    const std::string name = c["name"], expression = c["expr"];
    CAPTURE(name);
    CAPTURE(expression);
    tenon::test::shuffle(k);
    python::Variables here, moved;
    for (size_t i = 0; i < c["inputs"].size(); ++i) {
      const Tensor x = packed(c["inputs"][i], blob);
      here["x" + std::to_string(i)] = x.clone();
      moved["x" + std::to_string(i)] = x.to(there);
    }
    try {
      const std::vector<Tensor> want = python::flat(python::run(expression, here)), got = python::flat(python::run(expression, moved));
      REQUIRE(got.size() == want.size());
      bool right = true;
      for (size_t i = 0; i < got.size(); ++i) {
        const bool same = got[i].sizes() == want[i].sizes() && got[i].dtype() == want[i].dtype() && bits_of(got[i]) == bits_of(want[i]);
        CHECK_MESSAGE(same, "the bits differ");
        right &= same;
        stayed += got[i].device() == there;
      }
      equal += right;
      CHECK_FALSE(kMixed.contains(name));
    } catch (const std::exception& e) {
      if (kMixed.contains(name)) continue;
      FAIL_CHECK(std::string(e.what()));
    }
  }
  MESSAGE(equal << " of " << all << " cases have the CPU's bits; " << stayed << " results lie on the device");
  CHECK(equal == all);
  CHECK((tenon::test::is_sliced() || all == cases.size() - kMixed.size()));
}

TEST_CASE("golden: gradients on a device have the CPU's bits") {
  const tenon::Device there = tenon::test::tested_device();
  const json cases = load("ops.json");
  std::string blob = read("ops.bin");
  size_t compared = 0, equal = 0;
  for (size_t k = 0; k < cases.size(); ++k) {
    const json& c = cases[k];
    if (!c.contains("grads") || kMixed.contains(c["name"]) || !tenon::test::is_in_slice(k)) continue;
    const std::string name = c["name"], expression = c["expr"];
    CAPTURE(name);
    CAPTURE(expression);
    tenon::test::shuffle(k);
    const auto gradients_on = [&](tenon::Device device) {
      python::Variables variables;
      std::vector<Tensor> inputs, outputs, weights;
      for (size_t i = 0; i < c["inputs"].size(); ++i) {
        const Tensor x = packed(c["inputs"][i], blob).to(device);
        const bool wanted = !c["grads"][i].is_null();
        if (wanted) inputs.push_back(x.requires_grad_());
        variables["x" + std::to_string(i)] = wanted ? x.clone() : x;  // may be written
      }
      const std::vector<Tensor> got = python::flat(python::run(expression, variables));
      for (size_t i = 0; i < got.size(); ++i) {
        if (c["grad_outputs"][i].is_null() || !got[i].requires_grad()) continue;
        outputs.push_back(got[i]);
        weights.push_back(packed(c["grad_outputs"][i], blob).to(device));
      }
      return tenon::autograd::grad(outputs, inputs, weights, false, false, true);
    };
    try {
      const std::vector<Tensor> want = gradients_on(tenon::kCPU), got = gradients_on(there);
      bool right = true;
      for (size_t i = 0; i < want.size(); ++i) {
        CHECK(got[i].defined() == want[i].defined());
        if (!want[i].defined()) continue;
        const bool same = got[i].sizes() == want[i].sizes() && got[i].device() == there && bits_of(got[i]) == bits_of(want[i]);
        CHECK_MESSAGE(same, "the bits differ");
        right &= same;
      }
      equal += right;
      ++compared;
    } catch (const std::exception& e) {
      FAIL_CHECK(std::string(e.what()));
    }
  }
  MESSAGE(equal << " of " << compared << " expressions' gradients have the CPU's bits");
  CHECK(equal == compared);
  CHECK((tenon::test::is_sliced() || compared == 797));  // of 800; three mix devices
}
