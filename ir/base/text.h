// Numbers and letters as text, the same under every locale of C and of C++. Whatever the library prints, writes or
// parses goes through here or through std::to_chars and std::from_chars: printf, streams and <cctype> ask the program's locale.
#pragma once

#include <string>

namespace tenon::ir {

std::string fixed_text(double value, int decimals);       // printf("%.*f", decimals, value)
std::string scientific_text(double value, int decimals);  // printf("%.*e", decimals, value)
std::string general_text(double value, int digits);       // printf("%.*g", digits, value)

// The text at the right end of `width` columns.
std::string right_aligned(const std::string& text, size_t width);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_name_start(char c) { return is_letter(c) || c == '_'; }
constexpr bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace tenon::ir
