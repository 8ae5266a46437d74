// Python's number formatting: the spec is parsed into its fields, the digits are made, then sign, grouping
// and padding are put around them.
#include "frontend/src/io/python_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "frontend/src/tensor/text.h"
#include "ir/base/text.h"

namespace tenon {
namespace {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct Spec {
  char fill = ' ', align = '>', sign = 0, grouping = 0, type = 0;
  bool alternate = false;
  int width = -1, precision = -1;
};

using ir::is_digit;
bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

class Reader {
 public:
  Reader(std::string_view text, const char* kind) : text_(text), whole_(text), kind_(kind) {}

  Spec spec() {
    Spec s;
    const bool filled = text_.size() > 1 && is_align(text_[1]);
    if (filled) s.fill = next();
    const bool aligned = is_align(peek());
    if (aligned) s.align = next();
    if (peek() == '+' || peek() == '-' || peek() == ' ') s.sign = next();
    if (peek() == '#') s.alternate = next();
    if (peek() == '0' && !filled) {
      s.fill = next();
      if (!aligned) s.align = '=';
    }
    if (is_digit(peek())) s.width = number();
    if (peek() == ',' || peek() == '_') s.grouping = next();
    check<ValueError>(peek() != ',' && peek() != '_', "Cannot specify both ',' and '_'.");
    if (peek() == '.') {
      next();
      check<ValueError>(is_digit(peek()), "Format specifier missing precision");
      s.precision = number();
    }
    if (!text_.empty()) s.type = next();
    check<ValueError>(text_.empty(), "Invalid format specifier '", whole_, "' for object of type '", kind_, "'");
    check_grouping(s);
    return s;
  }

 private:
  char peek() const { return text_.empty() ? '\0' : text_[0]; }
  char next() {
    const char c = text_[0];
    text_.remove_prefix(1);
    return c;
  }
  int number() {
    int value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    check<ValueError>(error == std::errc(), "Too many decimal digits in format string");
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }
  static void check_grouping(const Spec& s) {
    const bool decimal = std::string_view("defgEG%F").find(s.type) != std::string_view::npos;
    const bool binary = std::string_view("boxX").find(s.type) != std::string_view::npos;
    check<ValueError>(!s.grouping || !s.type || decimal || (binary && s.grouping == '_'), "Cannot specify '", s.grouping, "' with '",
                      s.type, "'.");
  }

  std::string_view text_, whole_;
  const char* kind_;
};

int exponent_of(const std::string& scientific) {
  const char* sign = scientific.data() + scientific.find('e') + 1;
  int exponent = 0;
  std::from_chars(sign + (*sign == '+'), scientific.data() + scientific.size(), exponent);
  return exponent;
}

// A number of notation e, f or g; the alternate form has a point always, and all zeros of a g.
std::string printed(char type, bool alternate, int precision, double value) {
  constexpr int most = 1 << 20;
  check<ValueError>(precision <= most, "precision too big");
  if (type == 'g' && alternate) {  // as printf defines it
    const int digits = std::max(precision, 1);
    const int exponent = exponent_of(ir::scientific_text(value, digits - 1));
    if (exponent < -4 || exponent >= digits) return printed('e', true, digits - 1, value);
    return printed('f', true, digits - 1 - exponent, value);
  }
  std::string out = type == 'e'   ? ir::scientific_text(value, precision)
                    : type == 'f' ? ir::fixed_text(value, precision)
                                  : ir::general_text(value, precision);
  if (alternate && precision == 0) out.insert(std::min(out.find('e'), out.size()), 1, '.');
  return out;
}

// 1234567 -> 1,234,567, with zeros in front until `width` is filled.
std::string grouped(std::string digits, char separator, size_t step, size_t width) {
  auto length = [&](size_t count) { return count + (count - 1) / step; };
  while (length(digits.size()) < width) digits.insert(0, 1, '0');
  for (size_t i = digits.size(); i > step;) digits.insert(i -= step, 1, separator);
  return digits;
}

// The sign, the prefix ("0x"), the whole digits and the rest (".5", "e+10", "%") in the width of the spec.
std::string assemble(const Spec& s, bool negative, std::string prefix, std::string digits, const std::string& rest) {
  if (negative) prefix.insert(0, 1, '-');
  else if (s.sign == '+' || s.sign == ' ') prefix.insert(0, 1, s.sign);
  const size_t width = s.width < 0 ? 0 : static_cast<size_t>(s.width);
  if (s.grouping && !digits.empty() &&
      (is_digit(digits[0]) || (digits[0] >= 'a' && digits[0] <= 'f') || (digits[0] >= 'A' && digits[0] <= 'F'))) {
    const size_t around = prefix.size() + rest.size();
    const bool zeros = s.fill == '0' && s.align == '=' && width > around;
    const size_t step = s.type == 'b' || s.type == 'o' || s.type == 'x' || s.type == 'X' ? 4 : 3;
    digits = grouped(std::move(digits), s.grouping, step, zeros ? width - around : 0);
  }
  const size_t length = prefix.size() + digits.size() + rest.size();
  const size_t padding = width > length ? width - length : 0;
  const size_t left = s.align == '<' ? 0 : s.align == '^' ? padding / 2 : padding;
  const std::string before(left, s.fill), after(padding - left, s.fill);
  if (s.align == '=') return prefix + before + digits + rest;
  return before + prefix + digits + rest + after;
}

// As 'g' without trailing zeros, but with a digit after the point, for which one of the precision's digits is
// kept back; without a precision repr.
std::string natural_digits(const Spec& s, double value) {
  if (s.precision < 0) return python_repr(value);
  const int digits = std::max(s.precision, 1);
  const std::string out = printed('e', false, digits - 1, value);
  const size_t e = out.find('e');
  const int exponent = exponent_of(out);
  if (exponent >= -4 && exponent < digits - 1) {
    const std::string plain = printed('g', s.alternate, digits, value);
    return plain.find('.') == std::string::npos ? plain + ".0" : plain;
  }
  if (s.alternate || out.find('.') == std::string::npos) return out;
  const size_t last = out.find_last_not_of('0', e - 1);
  return out.substr(0, out[last] == '.' ? last : last + 1) + out.substr(e);
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ir::to_upper);
  return text;
}

// The digits of a finite, non-negative number in the spec's notation.
std::string float_digits(const Spec& s, double value) {
  const int precision = s.precision < 0 ? 6 : s.precision;
  switch (s.type) {
    case 'e':
    case 'f':
    case 'g': return printed(s.type, s.alternate, precision, value);
    case 'E':
    case 'F':
    case 'G': return in_capitals(printed(ir::to_lower(s.type), s.alternate, precision, value));
    case 'n': return printed('g', s.alternate, precision, value);
    case '%': return printed('f', s.alternate, precision, value * 100) + "%";
    default: break;
  }
  std::string out = natural_digits(s, value);
  if (s.alternate && out.find('.') == std::string::npos) out.insert(std::min(out.find('e'), out.size()), ".");
  return out;
}

std::string format_float(const Spec& s, double value) {
  const std::string_view types("eEfFgGn%\0", 9);
  check<ValueError>(types.find(s.type) != std::string_view::npos, "Unknown format code '", s.type, "' for object of type 'float'");
  const bool negative = std::signbit(value) && !std::isnan(value);
  if (!std::isfinite(value)) {
    const bool upper = s.type == 'E' || s.type == 'F' || s.type == 'G';
    const char* name = std::isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
    return assemble(s, negative, "", name, s.type == '%' ? "%" : "");
  }
  const std::string text = float_digits(s, std::abs(value));
  const size_t whole = std::min(text.find_first_not_of("0123456789"), text.size());
  return assemble(s, negative, "", text.substr(0, whole), text.substr(whole));
}

std::string utf8(int64_t code) {
  check<ValueError>(code >= 0 && code <= 0x10ffff, "%c arg not in range(0x110000)");
  auto byte = [&](int shift, int mark, int mask) { return static_cast<char>(mark | ((code >> shift) & mask)); };
  if (code < 0x80) return {byte(0, 0, 0x7f)};
  if (code < 0x800) return {byte(6, 0xc0, 0x1f), byte(0, 0x80, 0x3f)};
  if (code < 0x10000) return {byte(12, 0xe0, 0x0f), byte(6, 0x80, 0x3f), byte(0, 0x80, 0x3f)};
  return {byte(18, 0xf0, 0x07), byte(12, 0x80, 0x3f), byte(6, 0x80, 0x3f), byte(0, 0x80, 0x3f)};
}

std::string format_int(Spec s, int64_t value, const char* kind) {
  const std::string_view float_types = "eEfFgG%";
  if (s.type && float_types.find(s.type) != std::string_view::npos) return format_float(s, static_cast<double>(value));
  if (s.type == 0 || s.type == 'n') s.type = 'd';
  check<ValueError>(std::string_view("bcdoxX").find(s.type) != std::string_view::npos, "Unknown format code '", s.type,
                    "' for object of type '", kind, "'");
  check<ValueError>(s.precision < 0, "Precision not allowed in integer format specifier");
  if (s.type == 'c') {
    check<ValueError>(!s.sign, "Sign not allowed with integer format specifier 'c'");
    check<ValueError>(!s.alternate, "Alternate form (#) not allowed with integer format specifier 'c'");
    const std::string character = utf8(value);
    if (s.width > 0) s.width += static_cast<int>(character.size()) - 1;  // it is one character wide
    return assemble(s, false, "", "", character);
  }
  const int base = s.type == 'b' ? 2 : s.type == 'o' ? 8 : s.type == 'd' ? 10 : 16;
  const uint64_t magnitude = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, magnitude, base).ptr;
  std::string text(digits, end);
  if (s.type == 'X') text = in_capitals(std::move(text));
  const std::string prefix = s.alternate && base != 10 ? std::string{'0', s.type} : "";
  return assemble(s, value < 0, prefix, text, "");
}

}  // namespace

std::string python_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string scientific(buffer, end);
  const int exponent = exponent_of(scientific);
  if (exponent < -4 || exponent >= 16) return scientific;
  const auto fixed_end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  const std::string fixed(buffer, fixed_end);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

std::string python_repr(const Scalar& value) {
  if (value.isFloatingPoint()) return python_repr(value.toDouble());
  if (value.isBoolean()) return value.toBool() ? "True" : "False";
  return std::to_string(value.toLong());
}

std::string python_format(const Scalar& value, std::string_view spec) {
  if (spec.empty()) return python_repr(value);
  const char* kind = value.isFloatingPoint() ? "float" : value.isBoolean() ? "bool" : "int";
  const Spec s = Reader(spec, kind).spec();
  return value.isFloatingPoint() ? format_float(s, value.toDouble()) : format_int(s, value.toLong(), kind);
}

}  // namespace tenon
