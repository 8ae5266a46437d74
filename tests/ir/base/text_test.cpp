// Numbers as text: what printf writes in the C locale, for all kinds of numbers and precisions.
#include "ir/base/text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

using namespace tenon::ir;

namespace {

std::string by_printf(const char* format, int precision, double value) {
  char text[2048];
  return {text, static_cast<size_t>(std::snprintf(text, sizeof text, format, precision, value))};
}

void check_number(double value) {
  for (const int precision : {0, 1, 2, 4, 6, 9, 17, 40, 300}) {
    CAPTURE(value);
    CAPTURE(precision);
    CHECK(fixed_text(value, precision) == by_printf("%.*f", precision, value));
    CHECK(scientific_text(value, precision) == by_printf("%.*e", precision, value));
    CHECK(general_text(value, precision) == by_printf("%.*g", precision, value));
  }
}

}  // namespace

TEST_CASE("text: numbers are written as printf writes them in the C locale") {
  for (double value : {0.0, 1.0, 0.5, 1.5, 2.5, 1234.5, 999999.5, 1e-4, 1e-5, 1e15, 1e16, 1e22, 0.1, 1.0 / 3}) {
    check_number(value);
    check_number(-value);
  }
  for (double value :
       {std::numeric_limits<double>::max(), std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min(),
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    check_number(value);
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i)
    check_number(std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), static_cast<int>(random() % 200) - 100));
}

TEST_CASE("text: columns and letters") {
  CHECK(right_aligned("12", 5) == "   12");
  CHECK(right_aligned("123456", 5) == "123456");
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    CAPTURE(byte);
    CHECK(is_digit(c) == (byte >= '0' && byte <= '9'));
    CHECK(is_letter(c) == ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')));
    CHECK(is_space(c) == (byte == ' ' || (byte >= 9 && byte <= 13)));
    CHECK(to_lower(to_upper(c)) == to_lower(c));
  }
}
