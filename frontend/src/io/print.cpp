// Python's repr of a tensor. The format (plain, scientific, whole numbers) is chosen over the elements that
// are shown.
#include "tenon/print.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iostream>
#include <mutex>

#include "frontend/src/io/python_format.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/fork.h"
#include "ir/base/text.h"

namespace tenon {
namespace {

struct Settings {
  int precision = 4;
  int64_t threshold = 1000;
  int64_t edgeitems = 3;
  int linewidth = 80;
  optional<bool> sci_mode;
};

std::mutex settings_mutex;
Settings current_settings;
[[maybe_unused]] const bool printing_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Printing, ir::fork_lock<[]() -> std::mutex& { return settings_mutex; }>());

Settings settings() {
  std::lock_guard guard(settings_mutex);
  return current_settings;
}

// How one tensor's elements are written: all to one width.
class Style {
 public:
  Style(DType type, const Settings& settings) : float_(ir::is_float(type)), type_(type), settings_(settings) {}

  void see(ir::Constant c) {
    if (!float_) {
      width_ = std::max(width_, plain(c).size());
      return;
    }
    const double v = ir::to_double(c);
    if (!std::isfinite(v) || v == 0) return;  // these never decide
    smallest_ = std::min(smallest_, std::abs(v));
    largest_ = std::max(largest_, std::abs(v));
    whole_ = whole_ && v == std::ceil(v);
    counted_.push_back(v);
  }

  void decide() {
    if (counted_.empty()) return;
    scientific_ = settings_.sci_mode.value_or(largest_ / smallest_ > 1000.0 || largest_ > 1e8 || smallest_ < 1e-4);
    for (double v : counted_) width_ = std::max(width_, number(v).size());
  }

  std::string operator()(ir::Constant c) const { return ir::right_aligned(float_ ? number(ir::to_double(c)) : plain(c), width_); }

  size_t width() const { return width_; }

 private:
  std::string plain(ir::Constant c) const {
    if (type_ == DType::Bool) return c.bits ? "True" : "False";
    return std::to_string(ir::to_int64(c));
  }
  std::string number(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    if (scientific_) return ir::scientific_text(v, settings_.precision);
    if (whole_) return ir::fixed_text(v, 0) + ".";
    return ir::fixed_text(v, settings_.precision);
  }

  bool float_;
  DType type_;
  const Settings& settings_;
  bool whole_ = true, scientific_ = false;
  double smallest_ = std::numeric_limits<double>::infinity(), largest_ = 0;
  size_t width_ = 1;
  std::vector<double> counted_;
};

class Printer {
 public:
  Printer(const Tensor& tensor, const Settings& settings)
      : view_(host_view(tensor)), settings_(settings), style_(view_.dtype, settings), summarise_(tensor.numel() > settings.threshold) {
    choose(0, 0);
    style_.decide();
  }

  std::string body() const { return block(0, 0, kIndent); }
  static constexpr size_t kIndent = 7;  // of "tensor("

 private:
  bool cut(size_t dim) const {
    return summarise_ && view_.sizes[dim] / 2 >= settings_.edgeitems && view_.sizes[dim] != 2 * settings_.edgeitems;
  }

  // The offsets of the elements or blocks shown along `dim`.
  std::vector<int64_t> shown(size_t dim, int64_t offset) const {
    std::vector<int64_t> result;
    const int64_t size = view_.sizes[dim], edge = settings_.edgeitems;
    for (int64_t i = 0; i < size; ++i) {
      if (cut(dim) && i == edge) i = size - edge;
      if (i < size) result.push_back(offset + i * view_.strides[dim]);
    }
    return result;
  }

  void choose(size_t dim, int64_t offset) {
    if (dim == view_.sizes.size()) return style_.see(view_.element(offset));
    for (int64_t o : shown(dim, offset)) choose(dim + 1, o);
  }

  std::string block(size_t dim, int64_t offset, size_t indent) const {
    const size_t left = view_.sizes.size() - dim;
    if (left == 0) return style_(view_.element(offset));
    std::vector<std::string> parts;
    for (int64_t o : shown(dim, offset)) parts.push_back(left == 1 ? style_(view_.element(o)) : block(dim + 1, o, indent + 1));
    if (cut(dim)) {
      const bool element = left == 1 && settings_.edgeitems > 0;
      parts.insert(parts.begin() + settings_.edgeitems, element ? " ..." : "...");
    }
    // Elements fill lines; rows of a deeper tensor stand apart by one empty line a level.
    const auto room = static_cast<size_t>(std::max<int64_t>(0, settings_.linewidth - static_cast<int64_t>(indent)));
    const size_t per_line = left == 1 ? std::max<size_t>(1, room / (style_.width() + 2)) : 1;
    const std::string next_line = "," + std::string(left == 1 ? 1 : left - 1, '\n') + std::string(indent + 1, ' ');
    std::string out = "[";
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) out += i % per_line == 0 ? next_line : ", ";
      out += parts[i];
    }
    return out + "]";
  }

  HostView view_;
  const Settings& settings_;
  Style style_;
  bool summarise_;
};

std::vector<std::string> suffixes(const Tensor& tensor, const Settings& options) {
  std::vector<std::string> result;
  const ScalarType type = tensor.scalar_type();
  const bool empty = tensor.numel() == 0;
  if (!tensor.device().is_cpu()) result.push_back("device='" + tensor.device().str() + "'");
  if (empty ? tensor.dim() != 1 : options.edgeitems == 0) {  // what the elements do not show
    std::string size = text(tensor.sizes());
    size.front() = '(';
    size.back() = ')';
    if (tensor.dim() == 1) size.insert(size.size() - 1, ",");
    result.push_back("size=" + size);
  }
  const bool usual = type == get_default_dtype() || (!empty && (type == kInt64 || type == kBool));
  if (!usual) result.push_back("dtype=" + repr(type));
  if (const auto fn = tensor.grad_fn()) result.push_back("grad_fn=<" + fn->name() + ">");
  else if (tensor.requires_grad()) result.push_back("requires_grad=True");
  return result;
}

std::string joined(TensorList tensors) {
  std::string out;
  for (const Tensor& tensor : tensors) out += (out.empty() ? "" : ", ") + repr(tensor);
  return out;
}

}  // namespace

// --- settings

namespace {
std::atomic<PrintStyle> current_style{PrintStyle::Python};
}
void set_print_style(PrintStyle style) { current_style = style; }
PrintStyle get_print_style() { return current_style.load(std::memory_order_relaxed); }

PrintOptions get_printoptions() {
  const Settings s = settings();
  return {s.precision, s.threshold, s.edgeitems, s.linewidth, nullopt, s.sci_mode};
}

void set_printoptions(const PrintOptions& options) {
  Settings next = settings();
  if (options.profile) {
    next = {};
    if (*options.profile == "short") next.precision = next.edgeitems = 2;
    else if (*options.profile == "full") next.threshold = std::numeric_limits<int64_t>::max();
    else check<ValueError>(*options.profile == "default", "profile must be 'default', 'short' or 'full', got '", *options.profile, "'");
  }
  next.precision = options.precision.value_or(next.precision);
  next.threshold = options.threshold.value_or(next.threshold);
  next.edgeitems = options.edgeitems.value_or(next.edgeitems);
  next.linewidth = options.linewidth.value_or(next.linewidth);
  next.sci_mode = options.sci_mode;
  check<ValueError>(next.precision >= 0 && next.precision <= 1100, "precision must be between 0 and 1100, got ", next.precision);
  check<ValueError>(next.edgeitems >= 0, "edgeitems must not be negative, got ", next.edgeitems);
  check<ValueError>(next.linewidth > 0, "linewidth must be positive, got ", next.linewidth);
  std::lock_guard guard(settings_mutex);
  current_settings = next;
}

// --- texts

std::string repr(const Tensor& tensor) {
  if (!tensor.defined()) return "[ Tensor (undefined) ]";
  const Settings options = settings();
  std::string out = "tensor(" + (tensor.numel() == 0 ? "[]" : Printer(tensor, options).body());
  // PyTorch counts two columns more than the last line has.
  size_t last = out.size() - (out.rfind('\n') + 1) + 2;
  for (const std::string& suffix : suffixes(tensor, options)) {
    if (last + suffix.size() + 2 > static_cast<size_t>(options.linewidth)) {
      out += ",\n" + std::string(Printer::kIndent, ' ') + suffix;
      last = Printer::kIndent + suffix.size();
    } else {
      out += ", " + suffix;
      last += suffix.size() + 2;
    }
  }
  return out + ")";
}

std::string repr(IntArrayRef sizes) { return text("tenon.Size(", sizes, ")"); }
std::string repr(const Scalar& number) { return python_repr(number); }
std::string repr(TensorList tensors) { return "[" + joined(tensors) + "]"; }
std::string repr(const std::tuple<Tensor, Tensor>& tensors) { return "(" + joined({std::get<0>(tensors), std::get<1>(tensors)}) + ")"; }
std::string repr(const std::tuple<Tensor, Tensor>& result, std::string_view function) {
  const bool bounds = function == "aminmax";
  return text("tenon.return_types.", function, "(\n", bounds ? "min" : "values", "=", repr(std::get<0>(result)), ",\n",
              bounds ? "max" : "indices", "=", repr(std::get<1>(result)), ")");
}
std::string parameter_repr(const Tensor& tensor) { return "Parameter containing:\n" + repr(tensor); }

std::string format(const Tensor& tensor, std::string_view spec) {
  if (tensor.defined() && tensor.dim() == 0) return python_format(tensor.item(), spec);
  check<TypeError>(spec.empty(), "unsupported format string passed to Tensor.__format__");
  return repr(tensor);
}

// Each as one string, so that a stream's width holds for the whole and its flags for nothing inside.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return get_print_style() == PrintStyle::LibTorch ? print(out, tensor, 80) : out << repr(tensor);
}
std::ostream& operator<<(std::ostream& out, TensorList tensors) {
  if (get_print_style() == PrintStyle::Python) return out << repr(tensors);
  TextStream list;
  for (const Tensor& tensor : tensors) print(list << (list.tellp() > 0 ? ", " : ""), tensor, 80);
  return out << "[" + list.str() + "]";
}
std::ostream& operator<<(std::ostream& out, const std::tuple<Tensor, Tensor>& tensors) { return out << repr(tensors); }

std::string Tensor::toString() const { return defined() ? text(is_cuda() ? "CUDA" : "CPU", scalar_type(), "Type") : "UndefinedType"; }
void Tensor::print() const { std::cerr << (defined() ? text("[", toString(), " ", sizes(), "]\n") : "[UndefinedTensor]\n"); }

}  // namespace tenon
