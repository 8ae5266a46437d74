// The text form of index expressions, both ways:  1024*r + c,  (i mod 6) / 2,  4*((2*i + j) mod 6) - k,  11 -
// i Takes expressions and the names of axes; parsing rebuilds through the arithmetic, so the result is
// canonical.
#include <charconv>

#include "ir/base/text.h"
#include "ir/index/index.h"
#include "ir/op/types.h"

namespace tenon::ir {
namespace {

using AxisNames = std::function<std::string(int)>;

// One term without its coefficient; a compound one in parentheses if `wrap`.
std::string print_base(const Index::Term& t, bool wrap, const AxisNames& name) {
  if (t.axis >= 0) return name(t.axis);
  Index inner = t.inner_index();
  bool atom = inner.terms().size() == 1 && inner.terms()[0].axis >= 0 && inner.terms()[0].coefficient == 1 && inner.constant_part() == 0;
  std::string text = atom ? inner.print(name) : "(" + inner.print(name) + ")";
  if (t.modulus != 0) text += " mod " + std::to_string(t.modulus);
  if (t.modulus != 0 && t.divisor != 1) text = "(" + text + ")";
  if (t.divisor != 1) text += " / " + std::to_string(t.divisor);
  return wrap ? "(" + text + ")" : text;
}

// The grammar:  sum = ['-'] product {('+'|'-') product};  product = atom {'*' atom | '/' int | 'mod' int};
//               atom = int | name | '(' sum ')'
class Parser {
 public:
  Parser(std::string_view text, const std::function<Index(std::string_view)>& axis) : text_(text), axis_(axis) {}

  Index whole() {
    Index e = sum();
    if (at_ != text_.size()) fail("unexpected text in an index");
    return e;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) { throw IndexSyntaxError(reason, at_); }

  char peek() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool accept_mod() {
    if (peek() != 'm' || text_.substr(at_, 3) != "mod") return false;
    if (at_ + 3 < text_.size() && is_name_char(text_[at_ + 3])) return false;
    at_ += 3;
    return true;
  }

  // Parentheses nest as deep as the text says; a cap keeps hostile text from exhausting the stack.
  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > 200) parser.fail("parentheses nest too deeply");
    }
    ~Deeper() { --parser.depth_; }
    Parser& parser;
  };

  Index sum() {
    Deeper deeper(*this);
    Index e = accept('-') ? product() * -1 : product();
    for (;;) {
      if (accept('+')) {
        e = e + product();
      } else if (accept('-')) {
        e = e - product();
      } else {
        return e;
      }
    }
  }

  Index product() {
    Index e = atom();
    for (;;) {
      if (accept('*')) {
        Index factor = atom();
        if (!e.is_constant() && !factor.is_constant()) fail("a product of two axes is not an index");
        e = e.is_constant() ? factor * e.constant_part() : e * factor.constant_part();
      } else if (accept('/')) {
        e = floor_div(e, positive());
      } else if (accept_mod()) {
        e = floor_mod(e, positive());
      } else {
        return e;
      }
    }
  }

  int64_t number() {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected a number that fits 64 bits");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  int64_t positive() {
    if (!is_digit(peek())) fail("expected a number");
    int64_t value = number();
    if (value <= 0) fail("expected a positive number");
    return value;
  }

  Index atom() {
    char c = peek();
    if (is_digit(c)) return Index(number());
    if (accept('(')) {
      Index e = sum();
      if (!accept(')')) fail("expected )");
      return e;
    }
    if (!is_name_start(c)) fail("expected a number, an axis or (");
    size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    std::string_view name = text_.substr(begin, at_ - begin);
    try {
      return axis_(name);
    } catch (const IrError& error) {
      at_ = begin;
      fail(error.what());
    }
  }

  std::string_view text_;
  const std::function<Index(std::string_view)>& axis_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Index::print(const AxisNames& name) const {
  std::string text;
  auto append = [&](bool negative, const std::string& part) {
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += part;
  };
  int64_t constant = constant_part();
  // 11 - i reads better than -i + 11
  bool constant_first = terms().empty() || (constant > 0 && terms()[0].coefficient < 0);
  if (constant_first) append(constant < 0, std::to_string(constant).substr(constant < 0));
  for (const Term& t : terms()) {
    bool negative = t.coefficient < 0, plain = t.coefficient == 1;
    std::string factor = plain ? "" : std::to_string(t.coefficient).substr(negative) + "*";
    if (t.coefficient == -1) factor.clear();
    append(negative, factor + print_base(t, !plain, name));
  }
  if (!constant_first && constant != 0) append(constant < 0, std::to_string(constant).substr(constant < 0));
  return text;
}

Index parse_index(std::string_view text, const std::function<Index(std::string_view name)>& axis) { return Parser(text, axis).whole(); }

}  // namespace tenon::ir
