// Python's repr of a tensor. The format (plain, scientific, whole numbers) is chosen over the elements that
// are shown.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <ostream>

#include "impl.h"
#include "text.h"

namespace tenon {
namespace {

std::mutex options_mutex;
PrintOptions current_options;

std::string format(const char* pattern, int precision, double value) {
  std::string out(32, '\0');
  const int length = std::snprintf(out.data(), out.size(), pattern, precision, value);
  if (static_cast<size_t>(length) >= out.size()) {  // 1e308 with decimals
    out.resize(static_cast<size_t>(length) + 1);
    std::snprintf(out.data(), out.size(), pattern, precision, value);
  }
  out.resize(static_cast<size_t>(length));
  return out;
}

// How one tensor's elements are written: all to one width.
class Style {
 public:
  Style(DType type, const PrintOptions& options)
      : float_(ir::is_float(type)), type_(type), options_(options) {}

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
    if (!float_) return;
    scientific_ = !counted_.empty() &&
                  (largest_ / smallest_ > 1000.0 || largest_ > 1e8 || (!whole_ && smallest_ < 1e-4));
    for (double v : counted_) width_ = std::max(width_, number(v).size());
    if (options_.sci_mode) scientific_ = *options_.sci_mode;  // the width stays, as in PyTorch
  }

  std::string operator()(ir::Constant c) const {
    std::string out = float_ ? number(ir::to_double(c)) : plain(c);
    return out.size() < width_ ? std::string(width_ - out.size(), ' ') + out : out;
  }

  size_t width() const { return width_; }

 private:
  std::string plain(ir::Constant c) const {
    if (type_ == DType::Bool) return c.bits ? "True" : "False";
    return std::to_string(ir::to_int64(c));
  }
  std::string number(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    if (scientific_) return format("%.*e", options_.precision, v);
    if (whole_) return format("%.*f", 0, v) + ".";
    return format("%.*f", options_.precision, v);
  }

  bool float_;
  DType type_;
  const PrintOptions& options_;
  bool whole_ = true, scientific_ = false;
  double smallest_ = std::numeric_limits<double>::infinity(), largest_ = 0;
  size_t width_ = 1;
  std::vector<double> counted_;
};

class Printer {
 public:
  Printer(const Tensor& tensor, const PrintOptions& options)
      : view_(host_view(tensor)),
        options_(options),
        style_(view_.dtype, options),
        summarise_(tensor.numel() > options.threshold) {
    choose(0, 0);
    style_.decide();
  }

  std::string body() const { return block(0, 0, kIndent); }
  static constexpr size_t kIndent = 7;  // of "tensor("

 private:
  bool cut(size_t dim) const { return summarise_ && view_.sizes[dim] > 2 * options_.edgeitems; }

  // The offsets of the elements or blocks shown along `dim`.
  std::vector<int64_t> shown(size_t dim, int64_t offset) const {
    std::vector<int64_t> result;
    const int64_t size = view_.sizes[dim];
    for (int64_t i = 0; i < size; ++i) {
      if (cut(dim) && i == options_.edgeitems) i = size - options_.edgeitems;
      result.push_back(offset + i * view_.strides[dim]);
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
    for (int64_t o : shown(dim, offset))
      parts.push_back(left == 1 ? style_(view_.element(o)) : block(dim + 1, o, indent + 1));
    if (cut(dim)) parts.insert(parts.begin() + options_.edgeitems, left == 1 ? " ..." : "...");
    // Elements fill lines; rows of a deeper tensor stand apart by one empty line a level.
    const auto room =
        static_cast<size_t>(std::max<int64_t>(0, options_.linewidth - static_cast<int64_t>(indent)));
    const size_t per_line = left == 1 ? std::max<size_t>(1, room / (style_.width() + 2)) : 1;
    const std::string next_line =
        "," + std::string(left == 1 ? 1 : left - 1, '\n') + std::string(indent + 1, ' ');
    std::string out = "[";
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) out += i % per_line == 0 ? next_line : ", ";
      out += parts[i];
    }
    return out + "]";
  }

  HostView view_;
  const PrintOptions& options_;
  Style style_;
  bool summarise_;
};

std::vector<std::string> suffixes(const Tensor& tensor) {
  std::vector<std::string> result;
  const ScalarType type = tensor.scalar_type();
  const bool empty = tensor.numel() == 0;
  if (empty && tensor.dim() != 1) {
    std::string size = text(tensor.sizes());
    size.front() = '(';
    size.back() = ')';
    result.push_back("size=" + size);
  }
  if (empty ? type != kFloat32 : type != kFloat32 && type != kInt64 && type != kBool) {
    result.push_back("dtype=" + repr(type));
  }
  if (tensor.requires_grad()) result.push_back("requires_grad=True");
  return result;
}

}  // namespace

PrintOptions get_printoptions() {
  std::lock_guard guard(options_mutex);
  return current_options;
}
void set_printoptions(const PrintOptions& options) {
  check<ValueError>(options.precision >= 0 && options.precision <= 64,
                    "precision must be between 0 and 64, got ", options.precision);
  check<ValueError>(options.edgeitems > 0, "edgeitems must be positive, got ", options.edgeitems);
  check<ValueError>(options.linewidth > 0, "linewidth must be positive, got ", options.linewidth);
  std::lock_guard guard(options_mutex);
  current_options = options;
}

std::string repr(const Tensor& tensor) {
  if (!tensor.defined()) return "tensor(undefined)";
  const PrintOptions options = get_printoptions();
  std::string out = "tensor(" + (tensor.numel() == 0 ? "[]" : Printer(tensor, options).body());
  // PyTorch counts two columns more than the last line has.
  size_t last = out.size() - (out.rfind('\n') + 1) + 2;
  for (const std::string& suffix : suffixes(tensor)) {
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

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << repr(tensor); }

}  // namespace tenon
