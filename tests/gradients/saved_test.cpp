// What operations save for their gradients: a write to an operand or a result before the backward pass is refused where PyTorch
// refuses it (tests/data/saved.json, by scripts/golden/make_saved_golden.py), over the golden table.
#include <doctest/doctest.h>

#include <map>

#include "frontend/golden.h"
#include "frontend/python/compare.h"
#include "frontend/python/python.h"

using golden::load;
using nlohmann::json;
using tenon::Tensor;

namespace {

using Tensors = std::vector<Tensor>;

tenon::ScalarType type_of(const std::string& name) {
  static const std::map<std::string, tenon::ScalarType> types = {
      {"bool", tenon::kBool}, {"uint8", tenon::kByte}, {"int8", tenon::kChar}, {"int16", tenon::kShort}, {"int32", tenon::kInt}};
  if (name.starts_with("float") || name == "bfloat16") return tenon::kDouble;
  return name == "int64" ? tenon::kLong : types.at(name);
}

Tensors inputs_of(const json& c, std::string& blob) {
  Tensors result;
  for (const json& x : c["inputs"]) {
    const std::string name = x["dtype"];
    const tenon::ScalarType stored = name == "float32"    ? tenon::kFloat
                                     : name == "float16"  ? tenon::kHalf
                                     : name == "bfloat16" ? tenon::kBFloat16
                                                          : type_of(name);
    result.push_back(
        tenon::from_blob(blob.data() + x["at"].get<size_t>(), x["shape"].get<std::vector<int64_t>>(), stored).clone().to(type_of(name)));
  }
  return result;
}

// The operands, none of them a leaf, and then the results.
Tensors called(const json& c, const Tensors& inputs) {
  python::Variables variables;
  Tensors all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor x = inputs[i].clone();
    all.push_back(c["grads"][i].is_null() ? x : x.requires_grad_().clone());
    variables["x" + std::to_string(i)] = all.back();
  }
  tenon::manual_seed(7);
  for (const Tensor& y : python::flat(python::run(c["expr"], variables))) all.push_back(y);
  return all;
}

char outcome(const json& c, const Tensors& inputs, size_t written) {
  const Tensors all = called(c, inputs);
  Tensors sums, grads;
  for (size_t i = inputs.size(); i < all.size(); ++i) {
    if (!all[i].requires_grad()) continue;
    sums.push_back(all[i] * 1);
    grads.push_back(tenon::ones_like(all[i].detach()));
  }
  try {
    const tenon::NoGradGuard no_grad;
    all[written].zero_();
  } catch (const tenon::Error&) {
    return '-';
  }
  try {
    tenon::autograd::backward(sums, grads);
  } catch (const tenon::Error& e) {
    if (std::string(e.what()).find("modified by an inplace") == std::string::npos) throw;
    return 'r';
  }
  return 'a';
}

}  // namespace

TEST_CASE("writes before the backward pass are refused where PyTorch refuses them") {
  std::map<std::string, json> cases;
  for (const json& c : load("ops.json")) cases[c["name"]] = c;
  std::string blob = golden::read("ops.bin");
  const json known = load("saved_differences.json");
  int64_t compared = 0;
  const json saved = load("saved.json");
  for (const json& entry : saved) {
    const std::string name = entry[0], expression = entry[1], letters = entry[2];
    CAPTURE(expression);
    const Tensors inputs = inputs_of(cases.at(name), blob);
    std::string got;
    try {
      for (size_t i = 0; i < letters.size(); ++i) got += outcome(cases.at(name), inputs, i);
    } catch (const std::exception& e) {
      got = e.what();
    }
    const std::string& wanted = known.contains(expression) ? known[expression][0].get<std::string>() : letters;
    CHECK_MESSAGE(got == wanted, name << " " << expression << " gives " << got << ", PyTorch " << letters);
    compared += static_cast<int64_t>(letters.size());
  }
  MESSAGE(compared << " writes compared, " << known.size() << " expressions with known differences");
}
