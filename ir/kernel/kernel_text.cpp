// The text form of kernels, both ways, in the style shown at the top of ir/kernel/kernel.h. One instruction a line:
//
//   map r        : %0 = const -inf : f32                 scalar a0 : f32      index 8*r + c : i64
//   map r c      : %1 = load x[8*r + c - 2] if 0 <= c - 2 < 8 and r < 5 else %0 : f32
//   contract i|k : %2 = load x[8*i + k] : f32
//   reduce i|k   : %3 = contract %2, %2 : f32            reduce.sum %1 lanes : f32
//   map r c      : %5 = load x[c + 8*%4] : f32           at a computed place; store likewise
//   scan r|c     : %6 = scan.sum %5 : f32                along a serial axis
//   map r |      : store y[r], %3                        full level in a kernel without inner axes
#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "ir/base/text.h"
#include "ir/kernel/kernel.h"
#include "ir/kernel/kernel_rules.h"
#include "ir/op/lexer.h"

namespace tenon::ir {
namespace {

// --- printing ---------------------------------------------------------------------------------------------
constexpr std::string_view kRoles[] = {"in", "out", "inout", "scratch"};
constexpr std::string_view kTrees[] = {"lanes", "columns"};

// "parallel, inner, contract or serial"
std::string alternatives(std::span<const std::string_view> words) {
  std::string text(words[0]);
  for (size_t i = 1; i < words.size(); ++i) text += (i + 1 < words.size() ? ", " : " or ") + std::string(words[i]);
  return text;
}

std::string axis_names(const Kernel& kernel, Level level) {
  std::string text;
  for (const Axis& a : kernel.axes) {
    if (level_of(a.kind) == level) text += (text.empty() ? "" : " ") + a.name;
  }
  return text;
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string print() {
    text_ = "kernel @" + kernel_.name + "(" + parameters_text(kernel_) + ") {\n";
    if (!kernel_.axes.empty()) text_ += "  axes " + axes() + "\n";
    size_t width = 0;
    for (const Instr& i : kernel_.instrs) width = std::max(width, stage_text(kernel_, i).size());
    for (const Instr& i : kernel_.instrs) {
      std::string stage = stage_text(kernel_, i);
      stage.resize(width, ' ');
      numbers_.push_back(i.op == Op::Store ? -1 : next_++);
      text_ += "  " + stage + " : " + body(i) + "\n";
    }
    return text_ + "}\n";
  }

 private:
  std::string axes() const {
    std::string text;
    for (const Axis& a : kernel_.axes) {
      text +=
          (text.empty() ? "" : ", ") + a.name + ": " + std::to_string(a.extent) + " " + std::string(kAxisWords[static_cast<int>(a.kind)]);
    }
    return text;
  }
  std::string index(const Index& e) const {
    return e.print([&](int axis) { return kernel_.axes.at(axis).name; });
  }
  std::string value(Value v) const { return "%" + std::to_string(numbers_.at(v)); }
  std::string values(const Instr& i) const {
    std::string text;
    for (Value v : i.args) text += (text.empty() ? " " : ", ") + value(v);
    return text;
  }
  // x[64*i + j], x[64*i + 4*%3], x[%3]
  std::string access(const Instr& i) const {
    std::string place = index(i.index);
    if (i.scale != 0) {
      place = i.index == Index() ? "" : place + " + ";
      if (i.scale != 1) place += std::to_string(i.scale) + "*";
      place += value(i.position());
    }
    return " " + kernel_.buffers.at(i.slot).name + "[" + place + "]";
  }
  std::string guards(const Instr& i) const {
    std::string text;
    for (const Guard& g : i.guards) {
      text += text.empty() ? " if " : " and ";
      text += std::to_string(g.lo) + " <= " + index(g.value) + " < " + std::to_string(g.hi);
    }
    return text;
  }
  std::string body(const Instr& i) const {
    std::string op(info(i.op).text);
    if (i.op == Op::Store) return op + access(i) + ", " + value(i.args[0]) + guards(i);
    std::string text = "%" + std::to_string(numbers_.back()) + " = " + op;
    if (i.op == Op::Load) {
      text += access(i) + guards(i) + (i.guards.empty() ? "" : " else " + value(i.args[0]));
    } else if (i.op == Op::Const) {
      text += " " + ir::print(Constant{i.dtype, i.bits});
    } else if (i.op == Op::Scalar) {
      text += " " + kernel_.scalars.at(i.slot).name;
    } else if (i.op == Op::IndexOf) {
      text += " " + index(i.index);
    } else {
      text += values(i);
      if (is_reduce(i.op)) text += " " + std::string(kTrees[static_cast<int>(i.tree)]);
    }
    return text + " : " + std::string(name(i.dtype));
  }

  const Kernel& kernel_;
  std::string text_;
  std::vector<int> numbers_;  // of each instruction's value; stores have none
  int next_ = 0;
};

// --- parsing ----------------------------------------------------------------------------------------------
size_t parse_choice(Lexer& text, std::span<const std::string_view> names, const char* what) {
  text.skip_space();
  const size_t begin = text.at_;
  const std::string_view w = text.word(what);
  const auto it = std::find(names.begin(), names.end(), w);
  if (it == names.end()) text.fail_at(begin, std::string("expected ") + what + ", not " + std::string(w));
  return static_cast<size_t>(it - names.begin());
}

DType parse_dtype(Lexer& text) {
  text.skip_space();
  const size_t begin = text.at_;
  const std::string_view w = text.word("a dtype");
  const std::optional<DType> t = dtype_from_name(w);
  if (!t) text.fail_at(begin, std::string(w) + " is no dtype");
  return *t;
}

void parse_parameter(Lexer& text, Signature& signature) {
  std::string name(text.word("a parameter name"));
  text.expect(":");
  const DType type = parse_dtype(text);
  if (text.accept("scalar")) {
    signature.add_scalar(std::move(name), type);
    return;
  }
  const auto role = static_cast<Role>(parse_choice(text, kRoles, "in, out, inout, scratch or scalar"));
  text.expect("[");
  signature.buffers.push_back({std::move(name), type, role, text.integer()});
  text.expect("]");
  signature.buffers.back().constant = text.accept("constant");
  signature.buffers.back().unaligned = text.accept("unaligned");
}

class Parser : Lexer {
 public:
  Parser(std::string_view text, std::string_view file) : Lexer(text, file, "//", false) {}

  Kernel parse() {
    expect("kernel");
    expect("@");
    kernel_.name = std::string(word("a kernel name", true));
    expect("(");
    parse_parameters(*this, kernel_);
    expect(")");
    expect("{");
    if (accept("axes")) {
      do axis();
      while (accept(","));
    }
    at_error([&] { check_header(kernel_); });
    while (!accept("}")) instruction();
    skip_space();
    if (at_ != text_.size()) fail("unexpected text after the kernel");
    return std::move(kernel_);
  }

 private:
  // Runs a check, giving the position of the current statement to what it throws.
  template <typename Check>
  void at_error(Check check) {
    std::string reason;
    try {
      return check();
    } catch (const IrError& error) {
      reason = error.what();
    }
    fail_at(statement_, reason);
  }

  void axis() {
    std::string name(word("an axis name"));
    expect(":");
    int64_t extent = integer();
    kernel_.axes.push_back({name, extent, static_cast<AxisKind>(parse_choice(*this, kAxisWords, alternatives(kAxisWords).c_str()))});
  }

  template <typename List>
  int32_t slot(const List& list, const char* what) {
    skip_space();
    size_t begin = at_;
    std::string_view w = word(what);
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].name == w) return static_cast<int32_t>(i);
    }
    fail_at(begin, std::string("there is no ") + what + " named " + std::string(w));
  }
  // The index expression up to the next `stop`, which stays.
  Index index(char stop) { return index_before(std::min(text_.find_first_of(std::string{stop, '\n'}, at_), text_.size())); }
  Index index_before(size_t end) {
    skip_space();
    size_t begin = at_;
    try {
      Index e = parse_index(text_.substr(begin, end - begin), [&](std::string_view name) {
        for (size_t i = 0; i < kernel_.axes.size(); ++i) {
          if (kernel_.axes[i].name == name) return kernel_.axis(static_cast<int>(i));
        }
        throw IrError("there is no axis named " + std::string(name));
      });
      at_ = end;
      return e;
    } catch (const IndexSyntaxError& error) {
      fail_at(begin + error.offset, error.what());
    } catch (const IrError& error) {
      fail_at(begin, error.what());
    }
  }
  Value value() {
    expect("%");
    size_t begin = at_;
    auto it = values_.find(std::string(word("a value name")));
    if (it == values_.end()) fail_at(begin - 1, "no value of this name is defined yet");
    return it->second;
  }

  // "map r c :" -> "map r c"; returned with single spaces, and none around the bar of a reduction.
  std::string stage() {
    std::string text(word("map, reduce, scan or contract"));
    bool bare = true;  // no space before the next name
    text += ' ';
    while (!accept(":")) {
      if (accept("|")) {
        bool full_map = text.starts_with("map");
        text += full_map ? (bare ? "|" : " |") : "|";
        bare = true;
      } else {
        text += (bare ? "" : " ") + std::string(word("an axis name"));
        bare = false;
      }
    }
    while (text.back() == ' ') text.pop_back();
    return text;
  }

  void instruction() {
    skip_space();
    size_t begin = statement_ = at_;
    std::string where = stage();
    Instr instr{};
    std::string name;
    if (accept("%")) {
      name = std::string(word("a value name"));
      expect("=");
    }
    skip_space();
    statement_ = at_;
    std::string op(word("an operation", true));
    std::optional<Op> known = op_from_text(op);
    if (!known) fail_at(statement_, op + " is no operation");
    instr.op = *known;
    if ((instr.op == Op::Store) != name.empty()) fail_at(statement_, op + (name.empty() ? " needs" : " has no") + " result");
    body(instr);
    instr.level = level(where, instr, begin);
    kernel_.instrs.push_back(std::move(instr));
    at_error([&] { check_instr(kernel_, kernel_.instrs.size() - 1); });
    if (name.empty()) return;
    bool fresh = values_.emplace(name, static_cast<Value>(kernel_.instrs.size()) - 1).second;
    if (!fresh) fail_at(statement_, "%" + name + " is defined twice");
  }

  Level level(const std::string& where, Instr instr, size_t begin) {
    for (Level level : {Level::Row, Level::Full, Level::Contract}) {
      instr.level = level;
      if (stage_text(kernel_, instr) == where) return level;
    }
    fail_at(begin, "\"" + where + "\" names no level of this kernel for " + std::string(info(instr.op).text));
  }

  void body(Instr& instr) {
    switch (instr.op) {
      case Op::Store: {
        const Value position = access(instr);
        expect(",");
        instr.args.push_back(value());
        instr.dtype = kernel_.buffer(instr.slot).dtype;
        guards(instr);
        if (position >= 0) instr.args.push_back(position);
        return;
      }
      case Op::Const: return literal(instr);
      case Op::Load: {
        const Value position = access(instr);
        guards(instr);
        if (accept("else")) instr.args.push_back(value());
        if (position >= 0) instr.args.push_back(position);
        break;
      }
      case Op::Scalar: instr.slot = slot(kernel_.scalars, "scalar"); break;
      case Op::IndexOf: instr.index = index(':'); break;
      default:
        do instr.args.push_back(value());
        while (accept(","));
        if (is_reduce(instr.op)) instr.tree = static_cast<ReduceTree>(parse_choice(*this, kTrees, "lanes or columns"));
    }
    expect(":");
    instr.dtype = parse_dtype(*this);
  }
  // Gives the position that adds to the index, -1 if there is none.
  Value access(Instr& instr) {
    instr.slot = slot(kernel_.buffers, "buffer");
    expect("[");
    const size_t close = std::min(text_.find(']', at_), text_.size()), percent = text_.find('%', at_);
    if (percent >= close) {
      instr.index = index(']');
      expect("]");
      return -1;
    }
    // Back from the value over its scale: [INDEX +] [SCALE *] %value
    size_t term = percent;
    while (term > at_ && text_[term - 1] != '+' && text_[term - 1] != '[') --term;
    if (text_[term - 1] == '+') {
      instr.index = index_before(term - 1);
      expect("+");
    }
    at_ = term;
    skip_space();
    instr.scale = 1;
    if (at_ != percent) {
      instr.scale = integer();
      expect("*");
    }
    if (instr.scale == 0) fail("a scale of 0");
    const Value position = value();
    expect("]");
    return position;
  }
  void guards(Instr& instr) {
    if (!accept("if")) return;
    do {
      Guard g;
      g.lo = integer();
      expect("<=");
      g.value = index('<');
      expect("<");
      g.hi = integer();
      instr.guards.push_back(g);
    } while (accept("and"));
  }
  void literal(Instr& instr) {
    skip_space();
    size_t begin = at_, end = std::min(text_.find(':', at_), text_.size());
    std::string_view digits = text_.substr(begin, end - begin);
    while (!digits.empty() && is_space(digits.back())) digits.remove_suffix(1);
    at_ = end;
    expect(":");
    instr.dtype = parse_dtype(*this);
    std::optional<Constant> c = parse_constant(digits, instr.dtype);
    if (!c) fail_at(begin, std::string(digits) + " is no " + std::string(name(instr.dtype)));
    instr.bits = c->bits;
  }

  size_t statement_ = 0;  // where an error without a position of its own belongs
  Kernel kernel_;
  std::unordered_map<std::string, Value> values_;
};

}  // namespace

std::string parameters_text(const Signature& signature) {
  std::string text;
  for (const KernelBuffer& b : signature.buffers) {
    text += (text.empty() ? "" : ", ") + b.name + ": " + std::string(name(b.dtype)) + " " + std::string(kRoles[static_cast<int>(b.role)]) +
            "[" + std::to_string(b.numel) + "]" + (b.constant ? " constant" : "") + (b.unaligned ? " unaligned" : "");
  }
  for (const KernelScalar& s : signature.scalars) {
    text += (text.empty() ? "" : ", ") + s.name + ": " + std::string(name(s.dtype)) + " scalar";
  }
  return text;
}

void parse_parameters(Lexer& text, Signature& signature) {
  if (text.peek() == ')') return;
  do parse_parameter(text, signature);
  while (text.accept(","));
}

std::string stage_text(const Kernel& kernel, const Instr& instr) {
  std::string parallel = axis_names(kernel, Level::Row);
  std::string inner = axis_names(kernel, Level::Full);
  std::string contract = axis_names(kernel, Level::Contract);
  auto beside = [](std::string left, const std::string& right) { return right.empty() ? left : left + " " + right; };
  if (instr.op == Op::Contract) return "reduce " + parallel + "|" + contract;
  if (is_reduce(instr.op)) return "reduce " + parallel + "|" + inner;
  if (is_scan(instr.op) && instr.level == Level::Full) return "scan " + parallel + "|" + inner;
  if (instr.level == Level::Contract) return "contract " + parallel + "|" + contract;
  std::string map = beside("map", parallel);
  if (instr.level == Level::Row) return map;
  return beside(map, inner.empty() ? "|" : inner);
}

std::string print(const Kernel& kernel) { return Printer(kernel).print(); }

Kernel parse_kernel(std::string_view text, std::string_view file) { return Parser(text, file).parse(); }

}  // namespace tenon::ir
