// What is printed, what is said and what aliases, against golden data made with PyTorch: tensors' printed
// form, value semantics at corner cases, views, error messages.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <set>

#include "frontend/golden.h"
#include "frontend/python/python.h"

using golden::as_tenon;
using golden::load;
using nlohmann::json;
using python::Unsupported;
using python::Value;
using tenon::Tensor;

namespace {

// The cases that do not apply here, by their code, and why.
std::map<std::string, std::string> exceptions(const std::string& group) {
  const json all = load("not_expressible.json");
  std::map<std::string, std::string> result;
  for (const json& c : all[group]) result[c["code"]] = c["reason"];
  return result;
}

// Where the right answer is not what PyTorch recorded.
std::string corrected(const std::string& code, const std::string& otherwise) {
  static const json table = load("deviations.json");
  return table.contains(code) ? table[code]["text"].get<std::string>() : otherwise;
}

// Runs each case; `check` gives what is wrong with it, or an empty text. A case that is listed as an
// exception must still fail: otherwise the list is stale.
template <typename Check>
void cover(const json& cases, const std::string& group, Check check) {
  const auto listed = exceptions(group);
  int covered = 0, total = 0;
  for (const json& c : cases) {
    const std::string code = c["code"];
    ++total;
    std::string wrong;
    try {
      wrong = check(c);
    } catch (const Unsupported& e) {
      wrong = std::string("not mapped: ") + e.what();
    } catch (const std::exception& e) {
      wrong = std::string("error: ") + e.what();
    }
    covered += wrong.empty();
    if (listed.contains(code)) {
      CHECK_MESSAGE(!wrong.empty(), "listed as not expressible, but right: " << code);
    } else {
      CHECK_MESSAGE(wrong.empty(), group << ": " << code << "\n    " << wrong);
    }
  }
  MESSAGE(group << ": " << covered << " of " << total << ", not expressible " << listed.size());
}

std::string compare(const std::string& got, const std::string& want) {
  return got == want ? "" : "got      " + got + "\n    expected " + want;
}

}  // namespace

TEST_CASE("golden: tensors print as in Python") {
  cover(load("repr.json"), "repr", [](const json& c) {
    const Value v = python::run(c["code"]);
    if (c.contains("repr")) return compare(python::repr(v), as_tenon(corrected(c["code"], c["repr"])));
    return compare(python::str(v), as_tenon(c["text"]));
  });
}

TEST_CASE("golden: values at corner cases") {
  cover(load("semantics.json"), "semantics", [](const json& c) {
    const std::string want = corrected(c["code"], c["repr"]);
    try {
      return compare(python::repr(python::run(c["code"])), as_tenon(want));
    } catch (const tenon::Error& e) {
      return compare("RuntimeError: " + e.msg(), want);
    }
  });
}

namespace {

// Where element 0 of a tensor's storage lies: what aliases has it in common.
const char* storage_start(const Tensor& x) { return static_cast<const char*>(x.data_ptr()) - x.storage_offset() * x.itemsize(); }

json describe(const Tensor& x, const Tensor& y) {
  return {{"alias", y.numel() != 0 && storage_start(x) == storage_start(y)},
          {"same", y.is_same(x)},
          {"shape", y.sizes().vec()},
          {"stride", y.strides().vec()},
          {"offset", y.storage_offset()},
          {"contiguous", y.is_contiguous()}};
}

}  // namespace

TEST_CASE("golden: views alias as in PyTorch") {
  cover(load("views.json"), "views", [](const json& c) {
    const Tensor x = tenon::arange(24.).reshape({2, 3, 4});
    const Value v = python::run(c["code"], {{"x", x}});
    json want = c;
    want.erase("code");
    return compare(describe(x, python::tensor_of(v)).dump(), want.dump());
  });
}

namespace {

std::string kind_of(const tenon::Error& e) {
  if (dynamic_cast<const tenon::IndexError*>(&e)) return "IndexError";
  if (dynamic_cast<const tenon::TypeError*>(&e)) return "TypeError";
  if (dynamic_cast<const tenon::ValueError*>(&e)) return "ValueError";
  if (dynamic_cast<const tenon::NotImplementedError*>(&e)) return "NotImplementedError";
  return "RuntimeError";
}

// Kinds that the library does not tell apart from RuntimeError.
std::string wanted_kind(const std::string& kind) {
  static const std::set<std::string> own = {"IndexError", "TypeError", "ValueError", "NotImplementedError"};
  return own.contains(kind) ? kind : "RuntimeError";
}

}  // namespace

namespace {

// The kinds of devices that PyTorch lists are those of its own build.
std::string in_own_words(const std::string& message) {
  const size_t devices = message.find("Expected one of cpu, cuda, "), end = message.find(" device type at start");
  if (devices == std::string::npos) return message;
  return message.substr(0, devices) + "Expected one of cpu, cuda" + message.substr(end);
}

// Without the second line, which says what was found in place of a driver.
std::string without_findings(const std::string& message) {
  return message.starts_with("Found no NVIDIA driver") ? message.substr(0, message.find('\n')) : message;
}

}  // namespace

TEST_CASE("golden: mistakes get PyTorch's message and type") {
  cover(load("errors.json"), "errors", [](const json& c) -> std::string {
    const std::string code = c["code"];
    try {
      const Value v = python::run(code);
      const std::string text = python::repr(v);
      if (!c.contains("ok")) return "no error; expected " + c["message"].get<std::string>();
      const bool random = code.find("rand") != std::string::npos;
      const std::string want = corrected(code, c["result"]);
      return random && want.find("tensor(") == 0 ? "" : compare(text, as_tenon(want));
    } catch (const tenon::Error& e) {
      if (c.contains("ok")) return std::string("an error: ") + e.what();
      const std::string want = wanted_kind(c["type"]) + ": " + c["message"].get<std::string>();
      return compare(kind_of(e) + ": " + without_findings(e.msg()), in_own_words(corrected(code, want)));
    }
  });
}
