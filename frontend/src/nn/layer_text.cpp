// The texts of layer_text.h.
#include "frontend/src/nn/layer_text.h"

#include <algorithm>

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/nn/options.h"
#include "tenon/print.h"

namespace tenon::nn {

bool as_libtorch() { return get_print_style() == PrintStyle::LibTorch; }

std::string own(const char* name) { return std::string(as_libtorch() ? "torch::nn::" : "") + name; }

const char* shown(bool value) {
  return as_libtorch() ? (value ? "true" : "false") : (value ? "True" : "False");
}

std::string listed(IntArrayRef values, const char* brackets) {
  std::string result(1, brackets[0]);
  for (size_t i = 0; i < values.size(); ++i) result += (i ? ", " : "") + std::to_string(values[i]);
  return result + brackets[1];
}

std::string shown(IntArrayRef values) {
  if (as_libtorch()) return listed(values, "[]");
  return values.size() == 1 ? "(" + std::to_string(values[0]) + ",)" : listed(values, "()");
}
std::string shown_dims(IntArrayRef values) {
  return as_libtorch() && values.size() == 1 ? std::to_string(values[0]) : shown(values);
}
std::string shown_as_given(IntArrayRef values) {
  const bool same = std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
  return same && !as_libtorch() ? std::to_string(values[0]) : shown_dims(values);
}
std::string shown_output(IntArrayRef values) {
  std::string result = shown_as_given(values);
  for (const std::string& absent : {std::to_string(ExpandingArrayWithOptionalElem<1>::kAbsent), std::string("-1")}) {
    for (size_t i; (i = result.find(absent)) != std::string::npos;) result.replace(i, absent.size(), "None");
  }
  return result;
}

std::string shown(double value) {
  return as_libtorch() ? text(value) : format(tensor(value, TensorOptions(kDouble)));
}

}  // namespace tenon::nn
