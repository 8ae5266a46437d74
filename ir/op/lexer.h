// What the parsers of all levels share: words, numbers and marks of IR text, and errors with their place. A parser
// derives from it, and hands itself to functions that read what several texts have. Private to what reads text in ir/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/base/text.h"
#include "ir/op/types.h"

namespace tenon::ir {

inline bool is_word_char(char c, bool dots) { return is_name_char(c) || (dots && c == '.'); }

class Lexer {
 public:
  // Comments go from their mark to the end of the line. `dots`: words hold dots too.
  Lexer(std::string_view text, std::string_view file, std::string_view comment, bool dots)
      : text_(text), file_(file), comment_(comment), dots_(dots) {}
  virtual ~Lexer() = default;

  [[noreturn]] virtual void fail(const std::string& reason) const { fail_at(at_, reason); }
  // Throws IrError "FILE:LINE:COLUMN: reason".
  [[noreturn]] void fail_at(size_t position, const std::string& reason) const;

  void skip_space();                    // and comments
  char peek();                          // '\0' at the end
  bool accept(std::string_view token);  // a word only if it ends there
  void expect(std::string_view token);
  std::string_view peek_word(bool dots);  // the next word, not taken; empty if there is none
  std::string_view word(const char* what, bool dots);
  std::string_view word(const char* what) { return word(what, dots_); }
  int64_t integer();

  const std::string_view text_, file_, comment_;
  const bool dots_;
  size_t at_ = 0;
  size_t start_ = 0;  // of the token last looked at
};

}  // namespace tenon::ir
