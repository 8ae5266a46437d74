// Text: Python's repr of what the library has, formatting of single numbers, and the settings of the printer.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

std::string repr(IntArrayRef sizes);                          // tenon.Size([2, 3])
std::string repr(const Scalar& number);                       // 7, 7.0, True
std::string repr(TensorList tensors);                         // [tensor(1), tensor(2)]
std::string repr(const std::tuple<Tensor, Tensor>& tensors);  // (tensor(1), tensor(2))
// The named result of max, min, sort, topk, ...: tenon.return_types.max(\nvalues=...,\nindices=...)
std::string repr(const std::tuple<Tensor, Tensor>& result, std::string_view function);
std::string parameter_repr(const Tensor& tensor);  // Parameter containing:\ntensor(...)
std::ostream& operator<<(std::ostream& out, const std::tuple<Tensor, Tensor>& tensors);
std::ostream& operator<<(std::ostream& out, TensorList tensors);

// Python's format(tensor, spec): the number of a 0-dim tensor, so format(t, "10.8f"), and the repr of any
// other, which takes no spec (TypeError).
std::string format(const Tensor& tensor, std::string_view spec = {});

// What << writes of tensors and modules: Python's repr, or the forms of LibTorch's C++ ("[ CPUFloatType{2,3} ]",
// "torch::nn::Linear(in_features=3, ...)"). repr() is always Python's. A setting of the process.
enum class PrintStyle : uint8_t { Python, LibTorch };
void set_print_style(PrintStyle style);
PrintStyle get_print_style();
// A tensor in LibTorch's form, in lines of at most so many characters.
std::ostream& print(std::ostream& out, const Tensor& tensor, int64_t line_size);
void print(const Tensor& tensor, int64_t line_size = 80);  // to the standard output

// Settings of the printer, as torch.set_printoptions. What is not set stays as it is, but for sci_mode, which
// without a value is chosen from the elements again.
struct PrintOptions {
  optional<int> precision = {};             // digits after the point
  optional<int64_t> threshold = {};         // more elements than this are summarised
  optional<int64_t> edgeitems = {};         // shown at each end of a summarised dim
  optional<int> linewidth = {};             // in characters
  optional<std::string_view> profile = {};  // "default", "short" or "full": all of the above at once
  optional<bool> sci_mode = {};
};
void set_printoptions(const PrintOptions& options);  // set_printoptions({.precision = 2})
PrintOptions get_printoptions();                     // all set, except the profile and perhaps sci_mode

// The settings for the rest of the block.
class PrintOptionsGuard {
 public:
  explicit PrintOptionsGuard(const PrintOptions& options) : before_(get_printoptions()) { set_printoptions(options); }
  ~PrintOptionsGuard() { set_printoptions(before_); }
  PrintOptionsGuard(const PrintOptionsGuard&) = delete;
  PrintOptionsGuard& operator=(const PrintOptionsGuard&) = delete;

 private:
  PrintOptions before_;
};

}  // namespace tenon
