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

std::string shown(bool value) { return as_libtorch() ? (value ? "true" : "false") : (value ? "True" : "False"); }
std::string shown(int64_t value) { return std::to_string(value); }

std::string listed(IntArrayRef values, const char* brackets) {
  std::string result(1, brackets[0]);
  for (size_t i = 0; i < values.size(); ++i) result += (i ? ", " : "") + std::to_string(values[i]);
  return result + brackets[1];
}

std::string shown(IntArrayRef values) {
  if (as_libtorch()) return listed(values, "[]");
  return values.size() == 1 ? "(" + std::to_string(values[0]) + ",)" : listed(values, "()");
}
std::string shown(const std::vector<int64_t>& values) {
  return values.size() == 1 && !as_libtorch() ? std::to_string(values[0]) : shown(IntArrayRef(values));
}
std::string shown(const std::vector<double>& values) {
  std::string list;
  for (const double value : values) list += (list.empty() ? "" : ", ") + shown(value);
  if (as_libtorch()) return "[" + list + "]";
  return values.size() == 1 ? list : "(" + list + ")";
}
std::string shown(const std::string& value) { return "'" + value + "'"; }
std::string shown(const Tensor& value) {
  TextStream out;
  out << value;
  return out.str();
}
const TagName& name_of(Tag tag) {
  static constexpr TagName kNames[] = {{Tag::Nearest, "nearest", "kNearest"},
                                       {Tag::NearestExact, "nearest-exact", "kNearestExact"},
                                       {Tag::Linear, "linear", "kLinear"},
                                       {Tag::Bilinear, "bilinear", "kBilinear"},
                                       {Tag::Bicubic, "bicubic", "kBicubic"},
                                       {Tag::Trilinear, "trilinear", "kTrilinear"},
                                       {Tag::Area, "area", "kArea"},
                                       {Tag::None, "none", "kNone"},
                                       {Tag::Mean, "mean", "kMean"},
                                       {Tag::Sum, "sum", "kSum"},
                                       {Tag::Max, "max", "kMax"},
                                       {Tag::Reflect, "reflect", "kReflect"},
                                       {Tag::Replicate, "replicate", "kReplicate"},
                                       {Tag::Circular, "circular", "kCircular"},
                                       {Tag::Constant, "constant", "kConstant"},
                                       {Tag::Zeros, "zeros", "kZeros"}};
  return *std::ranges::find(kNames, tag, &TagName::tag);
}
std::string shown(Tag tag) { return as_libtorch() ? name_of(tag).libtorch : shown(std::string(name_of(tag).python)); }
std::string shown_dims(IntArrayRef values) { return as_libtorch() && values.size() == 1 ? std::to_string(values[0]) : shown(values); }
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

std::string shown(double value) { return as_libtorch() ? text(value) : format(tensor(value, TensorOptions(kDouble))); }

Shown& Shown::add(const std::string& option) {
  text_ += (first_ ? "" : ", ") + option;
  first_ = false;
  return *this;
}
Shown& Shown::no_brackets_in_libtorch() {
  if (!as_libtorch()) return *this;
  text_.pop_back();
  brackets_ = false;
  return *this;
}

}  // namespace tenon::nn
