// Tokens with their indentation, then recursive descent with one table for the binary operators.
#include "frontend/python/parse.h"

#include <array>
#include <cctype>
#include <cstring>

#include "frontend/python/value.h"

namespace python {
namespace {

using Kind = Node::Kind;

struct Token {
  enum class Type { Name, Integer, Real, String, Format, Operator, Newline, Indent, Dedent, End } type;
  std::string text;
};

NodePtr make(Kind kind, std::string text, std::vector<NodePtr> children = {}) {
  return std::make_shared<const Node>(Node{kind, std::move(text), std::move(children)});
}

// --- tokens

class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  std::vector<Token> run() {
    start_line();
    while (at_ < text_.size()) step();
    add(Token::Type::Newline, "");
    for (; indents_.size() > 1; indents_.pop_back()) add(Token::Type::Dedent, "");
    add(Token::Type::End, "");
    return std::move(tokens_);
  }

 private:
  void add(Token::Type type, std::string text) { tokens_.push_back({type, std::move(text)}); }

  void start_line() {
    size_t width = 0;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_, ++width;
    if (at_ == text_.size() || text_[at_] == '\n') return;
    if (width > indents_.back()) {
      indents_.push_back(width);
      add(Token::Type::Indent, "");
    }
    for (; width < indents_.back(); indents_.pop_back()) add(Token::Type::Dedent, "");
  }

  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      if (depth_ > 0) return;
      add(Token::Type::Newline, "");
      start_line();
    } else if (c == ' ') {
      ++at_;
    } else if (c == 'f' && at_ + 1 < text_.size() && (text_[at_ + 1] == '"' || text_[at_ + 1] == '\'')) {
      ++at_;
      string(Token::Type::Format);
    } else if (c == '"' || c == '\'') {
      string(Token::Type::String);
    } else if (std::isdigit(static_cast<unsigned char>(c)) ||
               (c == '.' && at_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_ + 1])))) {
      number();
    } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      const size_t start = at_;
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
      add(Token::Type::Name, text_.substr(start, at_ - start));
    } else {
      symbol();
    }
  }

  void string(Token::Type type) {
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string::npos) throw Unsupported("a string without an end");
    add(type, text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
  }

  void number() {
    const size_t start = at_;
    bool real = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent_sign = (c == '-' || c == '+') && text_[at_ - 1] == 'e';
      if (c == '.' || c == 'e' || exponent_sign) real = true;
      else if (!std::isdigit(static_cast<unsigned char>(c))) break;
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] == 'j') throw Unsupported("complex numbers");
    add(real ? Token::Type::Real : Token::Type::Integer, text_.substr(start, at_ - start));
  }

  void symbol() {
    static const char* const symbols[] = {"**=", "//=", "<<=", ">>=", "...", "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "+=", "-=",
                                          "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "@=", "+",  "-",  "*",  "/",  "%",  "@",  "<",  ">",
                                          "&",   "|",   "^",   "~",   "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  ".",  ";",  "="};
    for (const char* s : symbols) {
      if (text_.compare(at_, std::strlen(s), s) != 0) continue;
      if (std::strchr("([{", s[0])) ++depth_;
      if (std::strchr(")]}", s[0])) --depth_;
      at_ += std::strlen(s);
      if (std::strcmp(s, ";") == 0) add(Token::Type::Newline, ";");
      else add(Token::Type::Operator, s);
      return;
    }
    throw Unsupported("syntax at: " + text_.substr(at_));
  }

  const std::string& text_;
  size_t at_ = 0;
  int depth_ = 0;
  std::vector<size_t> indents_ = {0};
  std::vector<Token> tokens_;
};

// --- the tree

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  NodePtr program() {
    std::vector<NodePtr> statements;
    while (now().type != Token::Type::End) add_statement(statements);
    return make(Kind::Block, "", std::move(statements));
  }
  NodePtr whole_expression() {
    NodePtr e = expression();
    if (now().type != Token::Type::Newline) fail();
    return e;
  }

 private:
  const Token& now() const { return tokens_[at_]; }
  [[noreturn]] void fail() const { throw Unsupported("syntax at: '" + now().text + "'"); }
  bool peek(const char* text) const {
    return (now().type == Token::Type::Operator || now().type == Token::Type::Name) && now().text == text;
  }
  bool accept(const char* text) {
    if (!peek(text)) return false;
    ++at_;
    return true;
  }
  void expect(const char* text) {
    if (!accept(text)) fail();
  }
  std::string name() {
    if (now().type != Token::Type::Name) fail();
    return tokens_[at_++].text;
  }

  // --- statements
  void add_statement(std::vector<NodePtr>& block) {
    if (now().type == Token::Type::Newline) {
      ++at_;
    } else if (accept("for")) {
      const std::string variable = name();
      expect("in");
      NodePtr iterable = expression();
      block.push_back(make(Kind::For, variable, {iterable, suite()}));
    } else if (accept("with")) {
      NodePtr context = expression();
      block.push_back(make(Kind::With, "", {context, suite()}));
    } else {
      block.push_back(simple_statement());
      if (now().type != Token::Type::Newline) fail();
      ++at_;
    }
  }

  // What follows a colon: statements on the same line, or an indented block.
  NodePtr suite() {
    expect(":");
    std::vector<NodePtr> statements;
    if (now().type != Token::Type::Newline) {
      bool more = true;
      while (more) {
        statements.push_back(simple_statement());
        more = now().text == ";";
        if (more) ++at_;
      }
      return make(Kind::Block, "", std::move(statements));
    }
    ++at_;
    if (now().type != Token::Type::Indent) fail();
    ++at_;
    while (now().type != Token::Type::Dedent && now().type != Token::Type::End) add_statement(statements);
    if (now().type == Token::Type::Dedent) ++at_;
    return make(Kind::Block, "", std::move(statements));
  }

  // from module import name: the name stands for module.name.
  NodePtr import() {
    NodePtr module = expression();
    expect("import");
    const std::string what = name();
    return make(Kind::Assign, "", {make(Kind::Name, what, {}), make(Kind::Attribute, what, {module})});
  }

  NodePtr simple_statement() {
    if (accept("from")) return import();
    std::vector<NodePtr> parts = {expression_list()};
    for (const char* op : {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "**=", "//=", "<<=", ">>="}) {
      if (!accept(op)) continue;
      parts.push_back(expression_list());
      return make(Kind::Augmented, std::string(op).substr(0, std::strlen(op) - 1), std::move(parts));
    }
    while (accept("=")) parts.push_back(expression_list());
    const Kind kind = parts.size() == 1 ? Kind::Expression : Kind::Assign;
    return make(kind, "", std::move(parts));
  }

  // --- expressions
  NodePtr expression_list() {  // a, b: a tuple without parentheses
    NodePtr first = expression();
    if (!peek(",")) return first;
    std::vector<NodePtr> items = {first};
    while (accept(",")) {
      if (now().type == Token::Type::Newline || peek("=")) break;
      items.push_back(expression());
    }
    return make(Kind::Tuple, "", std::move(items));
  }

  NodePtr expression() {
    if (accept("lambda")) return lambda();
    NodePtr value = binary(0);
    if (!accept("if")) return value;
    NodePtr condition = binary(0);
    expect("else");
    return make(Kind::Conditional, "", {condition, value, expression()});
  }

  NodePtr lambda() {
    std::string parameters;
    while (!accept(":")) {
      parameters += name() + " ";
      accept(",");
    }
    return make(Kind::Lambda, parameters, {expression()});
  }

  // Binary operators, loosest first; each level groups from the left.
  NodePtr binary(size_t level) {
    static const std::array<std::vector<const char*>, 9> levels = {
        {{"or"}, {"and"}, {"==", "!=", "<=", ">=", "<", ">"}, {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "//", "/", "%", "@"}}};
    if (level == levels.size()) return unary();
    if (level == 2 && accept("not")) return make(Kind::Unary, "not", {binary(level)});
    NodePtr left = binary(level + 1);
    while (true) {
      const char* found = nullptr;
      for (const char* op : levels[level]) {
        if (!found && accept(op)) found = op;
      }
      if (!found) return left;
      left = make(Kind::Binary, found, {left, binary(level + 1)});
    }
  }

  NodePtr unary() {
    for (const char* op : {"-", "+", "~"}) {
      if (accept(op)) return make(Kind::Unary, op, {unary()});
    }
    NodePtr base = postfix();
    if (accept("**")) return make(Kind::Binary, "**", {base, unary()});
    return base;
  }

  NodePtr postfix() {
    NodePtr v = primary();
    while (true) {
      if (accept(".")) v = make(Kind::Attribute, name(), {v});
      else if (accept("[")) v = subscript(v);
      else if (accept("(")) v = call(v);
      else return v;
    }
  }

  NodePtr call(const NodePtr& function) {
    std::vector<NodePtr> parts = {function};
    while (!accept(")")) {
      if (now().type == Token::Type::Name && tokens_[at_ + 1].type == Token::Type::Operator && tokens_[at_ + 1].text == "=") {
        const std::string key = name();
        expect("=");
        parts.push_back(make(Kind::Keyword, key, {expression()}));
      } else {
        NodePtr item = expression();
        parts.push_back(peek("for") ? comprehension(item) : item);
      }
      if (!accept(",") && !peek(")")) fail();
    }
    return make(Kind::Call, "", std::move(parts));
  }

  NodePtr subscript(const NodePtr& object) {
    std::vector<NodePtr> parts = {object};
    while (!accept("]")) {
      parts.push_back(index());
      if (!accept(",") && !peek("]")) fail();
    }
    return make(Kind::Subscript, "", std::move(parts));
  }

  NodePtr index() {
    std::vector<NodePtr> parts(3);
    size_t colons = 0;
    while (!peek(",") && !peek("]")) {
      if (accept(":")) {
        if (++colons > 2) fail();
      } else {
        parts[colons] = expression();
      }
    }
    return colons ? make(Kind::Slice, "", std::move(parts)) : parts[0];
  }

  NodePtr comprehension(const NodePtr& item) {
    expect("for");
    const std::string variable = name();
    expect("in");
    return make(Kind::Comprehension, variable, {item, expression()});
  }

  NodePtr sequence(const char* end, bool tuple) {
    std::vector<NodePtr> items;
    bool comma = false;
    while (!accept(end)) {
      items.push_back(expression());
      if (peek("for")) {
        NodePtr result = comprehension(items[0]);
        expect(end);
        return result;
      }
      comma = accept(",");
      if (!comma && !peek(end)) fail();
    }
    if (tuple && items.size() == 1 && !comma) return items[0];
    return make(tuple ? Kind::Tuple : Kind::List, "", std::move(items));
  }

  NodePtr dict() {
    std::vector<NodePtr> entries;
    while (!accept("}")) {
      entries.push_back(expression());
      expect(":");
      entries.push_back(expression());
      if (!accept(",") && !peek("}")) fail();
    }
    return make(Kind::Dict, "", std::move(entries));
  }

  // "a {x:.3f}": text and fields in turn.
  static NodePtr format_string(const std::string& text) {
    std::vector<NodePtr> parts;
    size_t at = 0;
    while (at < text.size()) {
      const size_t open = std::min(text.find('{', at), text.size());
      if (open > at) parts.push_back(make(Kind::String, text.substr(at, open - at)));
      if (open == text.size()) break;
      const size_t close = text.find('}', open), colon = std::min(text.find(':', open), close);
      if (close == std::string::npos) throw Unsupported("a format string");
      NodePtr value = Parser(Lexer(text.substr(open + 1, colon - open - 1)).run()).whole_expression();
      parts.push_back(make(Kind::Field, colon < close ? text.substr(colon + 1, close - colon - 1) : "", {value}));
      at = close + 1;
    }
    return make(Kind::Format, "", std::move(parts));
  }

  NodePtr primary() {
    if (accept("...")) return make(Kind::Ellipsis, "");
    if (accept("(")) return sequence(")", true);
    if (accept("[")) return sequence("]", false);
    if (accept("{")) return dict();
    const Token token = now();
    ++at_;
    switch (token.type) {
      case Token::Type::Name: return make(Kind::Name, token.text);
      case Token::Type::Integer: return make(Kind::Integer, token.text);
      case Token::Type::Real: return make(Kind::Real, token.text);
      case Token::Type::String: return make(Kind::String, token.text);
      case Token::Type::Format: return format_string(token.text);
      default: --at_; fail();
    }
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace

NodePtr parse(const std::string& program) { return Parser(Lexer(program).run()).program(); }

}  // namespace python
