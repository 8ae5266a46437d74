#include "ir/op/lexer.h"

#include <algorithm>
#include <charconv>

namespace tenon::ir {

void Lexer::fail_at(size_t position, const std::string& reason) const {
  const std::string_view before = text_.substr(0, position);
  const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t column = position - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  throw IrError(std::string(file_) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + reason);
}

void Lexer::skip_space() {
  for (;;) {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    if (!text_.substr(at_).starts_with(comment_)) break;
    at_ = std::min(text_.find('\n', at_), text_.size());
  }
  start_ = at_;
}

char Lexer::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Lexer::accept(std::string_view token) {
  skip_space();
  const std::string_view rest = text_.substr(at_);
  if (!rest.starts_with(token)) return false;
  if (is_word_char(token.back(), false) && rest.size() > token.size() && is_word_char(rest[token.size()], dots_)) return false;
  at_ += token.size();
  return true;
}

void Lexer::expect(std::string_view token) {
  if (!accept(token)) fail("expected '" + std::string(token) + "'");
}

std::string_view Lexer::peek_word(bool dots) {
  skip_space();
  size_t end = at_;
  while (end < text_.size() && is_word_char(text_[end], dots)) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Lexer::word(const char* what, bool dots) {
  const std::string_view found = peek_word(dots);
  if (found.empty()) fail(std::string("expected ") + what);
  at_ += found.size();
  return found;
}

int64_t Lexer::integer() {
  skip_space();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("expected an integer");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

}  // namespace tenon::ir
