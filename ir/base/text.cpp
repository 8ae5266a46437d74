#include "ir/base/text.h"

#include <algorithm>
#include <charconv>

namespace tenon::ir {
namespace {

std::string printed(double value, std::chars_format format, int precision) {
  constexpr size_t kWholeDigits = 320;  // of the greatest double, with a sign, a point and an exponent
  std::string text(kWholeDigits + static_cast<size_t>(std::max(precision, 0)), '\0');
  text.resize(static_cast<size_t>(std::to_chars(text.data(), text.data() + text.size(), value, format, precision).ptr - text.data()));
  return text;
}

}  // namespace

std::string fixed_text(double value, int decimals) { return printed(value, std::chars_format::fixed, decimals); }
std::string scientific_text(double value, int decimals) { return printed(value, std::chars_format::scientific, decimals); }
std::string general_text(double value, int digits) { return printed(value, std::chars_format::general, digits); }

std::string right_aligned(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

}  // namespace tenon::ir
