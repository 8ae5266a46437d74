// How a layer's options are printed: as Python does, or as LibTorch's C++ does (set_print_style).
//
//   out << Shown("MaxPool2d").named("kernel_size", options.kernel_size()).on("ceil_mode", options.ceil_mode()).text();
#pragma once

#include <string>

#include "tenon/nn/options.h"

namespace tenon::nn {

// A tag that an option may be, as a program names it.
struct TagName {
  Tag tag;
  const char *python, *libtorch;
};
const TagName& name_of(Tag tag);

bool as_libtorch();
std::string own(const char* name);  // the name of a layer
std::string listed(IntArrayRef values, const char* brackets);
std::string shown(bool value);
std::string shown(int64_t value);
std::string shown(double value);                        // Python's shortest text of a float: 0.5, 1.0, 1e-05; or a stream's: 0.5, 1, 1e-05
std::string shown(IntArrayRef values);                  // (2, 3) and (2,), or [2, 3]
std::string shown(const std::vector<int64_t>& values);  // in Python one number without brackets
std::string shown(const std::vector<double>& values);
std::string shown(const std::string& value);  // in quotes
std::string shown(const Tensor& value);
std::string shown(Tag tag);  // 'nearest', or kNearest
// One number for each dim: a list, but LibTorch writes that of one dim without brackets.
std::string shown_dims(IntArrayRef values);
// In Python as a user gave it: one number if all are the same.
std::string shown_as_given(IntArrayRef values);
// The same of an adaptive pool; what is absent, or -1, keeps the input's size.
std::string shown_output(IntArrayRef values);

template <Tag... tags>
std::string shown(OneOf<tags...> value) {
  return shown(value.tag());
}
template <size_t D>
std::string shown(const ExpandingArray<D>& values) {
  return shown_as_given(values);
}
template <size_t D>
std::string shown(const ExpandingArrayWithOptionalElem<D>& values) {
  return shown_output(values);
}
template <typename T>
std::string shown(const optional<T>& value) {
  return value ? shown(*value) : "None";
}

// "Name(" the options, which the calls add, ")".
class Shown {
 public:
  explicit Shown(const char* name) : text_(own(name) + "(") {}
  explicit Shown(const std::string& name) : text_(name + "(") {}
  template <typename T>
  Shown& bare(const T& value) {
    return add(shown(value));
  }
  template <typename T>
  Shown& named(const char* name, const T& value) {
    return add(std::string(name) + "=" + shown(value));
  }
  template <typename T>
  Shown& named_if(bool wanted, const char* name, const T& value) {
    return wanted ? named(name, value) : *this;
  }
  template <typename T>
  Shown& given(const char* name, const optional<T>& value) {
    return value ? named(name, *value) : *this;
  }
  Shown& on(const char* name, bool value) { return named_if(value, name, value); }
  Shown& add(const std::string& option);
  Shown& no_brackets_in_libtorch();  // which forgets them for two losses
  std::string text() const { return text_ + (brackets_ ? ")" : ""); }

 private:
  std::string text_;
  bool first_ = true, brackets_ = true;
};

// Calls of a Shown for a member of `options`, as the rows of layers.def name them.
#define NAMED(x) .named(#x, options.x())
#define BARE(x) .bare(options.x())
#define TUPLE(x) .named(#x, IntArrayRef(options.x()))
#define SIZES(x) .add(#x "=" + shown_dims(options.x()))
#define PADDING(x) .add((as_libtorch() ? #x "=" : "") + shown(IntArrayRef(options.x())))
#define GIVEN(x) .given(#x, options.x())
#define ON(x) .on(#x, options.x())
#define PYTHON(x) .named_if(!as_libtorch(), #x, options.x())
#define LIBTORCH(x) .named_if(as_libtorch(), #x, options.x())
#define NO_BRACKETS .no_brackets_in_libtorch()

}  // namespace tenon::nn
