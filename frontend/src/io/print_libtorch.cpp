// LibTorch's own printed form of a tensor, with its ways: every element is written as a float64, a scale is taken
// out where it makes numbers short, and the rows of a matrix after the first are indented once more in a deeper
// tensor or under a scale.
//
//    0  1  2          0.001 *
//    3  4  5           1.0000  2.0000
//   [ CPULongType{2,3} ]
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <span>

#include "frontend/src/io/python_format.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "tenon/print.h"

namespace tenon {
namespace {

// How the numbers of one matrix or vector are written.
struct Format {
  double scale = 1;
  int width = 2;
  enum class Kind : uint8_t { Short, Fixed, Scientific } kind = Kind::Short;

  std::string text(double value) const {
    TextStream out;
    if (kind == Kind::Fixed) out << std::fixed << std::setprecision(4);
    if (kind == Kind::Scientific) out << std::scientific << std::setprecision(4);
    out << std::setw(width) << value / scale;
    return out.str();
  }
  std::string scale_line() const {
    TextStream out;
    out << scale << " *\n";
    return out.str();
  }
};

double digits(double magnitude) { return magnitude == 0 ? 1 : std::floor(std::log10(magnitude)) + 1; }

Format format_of(std::span<const double> values) {
  const auto finite = [](double v) { return std::isfinite(v); };
  const bool whole = std::all_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v) || v == std::ceil(v); });
  double least = 1, most = 1;  // powers of ten
  if (const auto first = std::find_if(values.begin(), values.end(), finite); first != values.end()) {
    double smallest = std::abs(*first), largest = smallest;
    for (double v : values) {
      if (!std::isfinite(v)) continue;
      smallest = std::min(smallest, std::abs(v));
      largest = std::max(largest, std::abs(v));
    }
    least = digits(smallest);
    most = digits(largest);
  }
  if (whole) return most > 9 ? Format{1, 11, Format::Kind::Scientific} : Format{1, static_cast<int>(most) + 1};
  if (most - least > 4) {
    const bool three_digits = std::abs(most) > 99 || std::abs(least) > 99;
    return {1, three_digits ? 12 : 11, Format::Kind::Scientific};
  }
  if (most > 5 || most < 0) return {std::pow(10, most - 1), 7, Format::Kind::Fixed};
  return {1, most == 0 ? 7 : static_cast<int>(most) + 6, Format::Kind::Fixed};
}

class LibTorchPrinter {
 public:
  LibTorchPrinter(std::ostream& out, int64_t line_size) : out_(out), line_size_(line_size) {}

  void vector(std::span<const double> values) {
    const Format format = format_of(values);
    if (format.scale != 1) out_ << format.scale_line();
    for (double v : values) out_ << format.text(v) << '\n';
  }

  void matrix(std::span<const double> values, int64_t columns, int64_t indent) {
    const Format format = format_of(values);
    const std::string margin(at(indent), ' ');
    const int64_t fitting = std::max<int64_t>((line_size_ - indent) / (format.width + 1), 1);
    for (int64_t first = 0; first < columns; first += fitting) {
      const int64_t end = std::min(first + fitting, columns);
      if (fitting < columns) out_ << (first ? "\n" : "") << "Columns " << first + 1 << " to " << end << margin;
      if (format.scale != 1) out_ << format.scale_line() << margin;
      rows(values, columns, first, end, format, format.scale != 1 ? margin + " " : margin);
    }
  }

  // Matrix after matrix, the first dim fastest.
  void deeper(std::span<const double> values, IntArrayRef sizes) {
    const size_t outer = sizes.size() - 2;
    const int64_t columns = sizes.back(), block = sizes[outer] * columns;
    std::vector<int64_t> place(outer, 0);
    for (int64_t count = std::ssize(values) / block, n = 0; n < count; ++n) {
      out_ << (n ? "\n(" : "(");
      int64_t index = 0;
      for (size_t d = 0; d < outer; ++d) {
        out_ << place[d] + 1 << ',';
        index = index * sizes[d] + place[d];
      }
      out_ << ".,.) = \n";
      matrix(values.subspan(at(index * block), at(block)), columns, 1);
      for (size_t d = 0; d < outer && ++place[d] == sizes[d]; ++d) place[d] = 0;
    }
  }

 private:
  void rows(std::span<const double> values, int64_t columns, int64_t first, int64_t end, const Format& format, const std::string& margin) {
    const int64_t count = std::ssize(values) / columns;
    for (int64_t row = 0; row < count; ++row) {
      if (row) out_ << margin;
      for (int64_t c = first; c < end; ++c) out_ << format.text(values[at(row * columns + c)]) << (c + 1 < end ? ' ' : '\n');
    }
  }

  std::ostream& out_;
  int64_t line_size_;
};

// The shortest text that reads back as the number.
std::string shortest(double value) {
  std::string result = std::isnan(value) ? (std::signbit(value) ? "-nan" : "nan") : python_repr(Scalar(value));
  if (result.ends_with(".0")) result.resize(result.size() - 2);
  return result;
}

}  // namespace

std::ostream& print(std::ostream& out, const Tensor& tensor, int64_t line_size) {
  if (!tensor.defined()) return out << "[ Tensor (undefined) ]";
  TextStream body;
  const Tensor dense = tensor.detach().to(kDouble).contiguous();
  const HostView view = host_view(dense);
  const std::span<const double> values(reinterpret_cast<const double*>(view.data), at(dense.numel()));
  LibTorchPrinter printer(body, line_size);
  if (tensor.dim() == 0) body << shortest(values[0]) << '\n';
  else if (tensor.numel() > 0 && tensor.dim() == 1) printer.vector(values);
  else if (tensor.numel() > 0 && tensor.dim() == 2) printer.matrix(values, tensor.size(1), 0);
  else if (tensor.numel() > 0) printer.deeper(values, tensor.sizes());
  body << "[ " << tensor.toString() << '{';
  for (int64_t d = 0; d < tensor.dim(); ++d) body << (d ? "," : "") << tensor.size(d);
  body << "} ]";
  return out << body.str();
}
void print(const Tensor& tensor, int64_t line_size) { print(std::cout, tensor, line_size); }

}  // namespace tenon
