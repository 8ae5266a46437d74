// What a program means: names, operators, attributes, calls, subscripts and statements over values.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "frontend/python/call.h"
#include "frontend/python/parse.h"
#include "frontend/python/python.h"

namespace python {
namespace {

using tenon::Scalar;
using tenon::ScalarType;
using tenon::Tensor;
using Kind = Node::Kind;

const std::map<std::string, ScalarType> kTypes = {{"bool", tenon::kBool},     {"uint8", tenon::kUInt8},    {"int8", tenon::kInt8},
                                                  {"int16", tenon::kInt16},   {"int32", tenon::kInt32},    {"int64", tenon::kInt64},
                                                  {"long", tenon::kInt64},    {"int", tenon::kInt32},      {"float16", tenon::kFloat16},
                                                  {"half", tenon::kFloat16},  {"float", tenon::kFloat},    {"bfloat16", tenon::kBFloat16},
                                                  {"float32", tenon::kFloat}, {"float64", tenon::kDouble}, {"double", tenon::kDouble}};

// Modules of several names; a name that is not here stays as it is written.
const std::map<std::string, std::string> kModules = {
    {"t", "torch"},           {"torch.nn", "nn"},           {"nn.functional", "F"}, {"torch.linalg", "linalg"},
    {"torch.optim", "optim"}, {"torch.special", "special"}, {"torch.cuda", "cuda"}, {"torch.autograd", "autograd"},
    {"torch.utils", "utils"}};

// --- numbers

Wide wide(const Value& v) {
  if (v.is<bool>()) return v.as<bool>();
  return v.is<BigInteger>() ? v.as<BigInteger>().value : v.as<int64_t>();
}
double real(const Value& v) { return v.is<double>() ? v.as<double>() : static_cast<double>(wide(v)); }

Value power(const Value& a, const Value& b) {
  if (a.is<double>() || b.is<double>() || wide(b) < 0) return std::pow(real(a), real(b));
  Wide result = 1;
  for (Wide i = 0; i < wide(b); ++i) result *= wide(a);  // the data stays below 2 ** 65
  return integer(result);
}

Value arithmetic(const std::string& op, const Value& a, const Value& b) {
  if (op == "**") return power(a, b);
  if (op == "/") return real(a) / real(b);
  if (op == "==") return real(a) == real(b);
  if (op == "!=") return real(a) != real(b);
  if (op == "<") return real(a) < real(b);
  if (op == ">") return real(a) > real(b);
  if (op == "<=") return real(a) <= real(b);
  if (op == ">=") return real(a) >= real(b);
  const bool integers = !a.is<double>() && !b.is<double>();
  if (op == "+") return integers ? integer(wide(a) + wide(b)) : Value(real(a) + real(b));
  if (op == "-") return integers ? integer(wide(a) - wide(b)) : Value(real(a) - real(b));
  if (op == "*") return integers ? integer(wide(a) * wide(b)) : Value(real(a) * real(b));
  if (integers && wide(b) != 0) {
    const Wide quotient = wide(a) / wide(b), rest = wide(a) % wide(b);
    const bool down = rest != 0 && (rest < 0) != (wide(b) < 0);
    if (op == "//") return integer(quotient - down);
    if (op == "%") return integer(down ? rest + wide(b) : rest);
  }
  throw Unsupported("operator " + op + " on numbers");
}

// --- operators

const std::unordered_map<std::string, std::string> kOperators = {{"+", "Tensor.add"},
                                                                 {"-", "Tensor.sub"},
                                                                 {"*", "Tensor.mul"},
                                                                 {"/", "Tensor.div"},
                                                                 {"//", "Tensor.floor_divide"},
                                                                 {"%", "Tensor.remainder"},
                                                                 {"**", "Tensor.pow"},
                                                                 {"@", "Tensor.matmul"},
                                                                 {"==", "Tensor.eq"},
                                                                 {"!=", "Tensor.ne"},
                                                                 {"<", "Tensor.lt"},
                                                                 {"<=", "Tensor.le"},
                                                                 {">", "Tensor.gt"},
                                                                 {">=", "Tensor.ge"},
                                                                 {"&", "Tensor.bitwise_and"},
                                                                 {"|", "Tensor.bitwise_or"},
                                                                 {"^", "Tensor.bitwise_xor"},
                                                                 {"<<", "Tensor.bitwise_left_shift"},
                                                                 {">>", "Tensor.bitwise_right_shift"}};

// A number on the left of a tensor: C++'s operators, as far as there are any.
Value reversed(const std::string& op, const Scalar& x, const Tensor& y) {
  if (op == "+") return x + y;
  if (op == "-") return x - y;
  if (op == "*") return x * y;
  if (op == "/") return x / y;
  if (op == "%") return x % y;
  if (op == "&") return x & y;
  if (op == "|") return x | y;
  if (op == "^") return x ^ y;
  if (op == "**") return tenon::pow(x, y);
  if (op == "//") return tenon::floor_divide(tenon::scalar_tensor(x, tenon::result_type(y, x)), y);
  throw Unsupported("a number on the left of " + op);
}

Value binary(const std::string& op, const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return arithmetic(op, a, b);
  if (a.is<Tensor>()) return call_function(kOperators.at(op), {{a, b}, {}});
  if (is_number(a) && b.is<Tensor>()) return reversed(op, to_scalar(a), b.as<Tensor>());
  if (a.is<std::string>() && op == "+") return a.as<std::string>() + b.as<std::string>();
  if (a.is<List>() && op == "+") {
    List sum = a.as<List>();
    for (const Value& item : b.as<List>().items) sum.items.push_back(item);
    return sum;
  }
  if (a.is<List>() && op == "*") {
    List repeated{a.as<List>().kind, {}, {}, {}};
    for (int64_t i = 0; i < b.as<int64_t>(); ++i) {
      for (const Value& item : a.as<List>().items) repeated.items.push_back(item);
    }
    return repeated;
  }
  throw Unsupported("operator " + op);
}

Value unary(const std::string& op, const Value& v) {
  if (v.is<Tensor>()) {
    if (op == "-") return -v.as<Tensor>();
    if (op == "+") return +v.as<Tensor>();
    if (op == "~") return ~v.as<Tensor>();
  }
  if (op == "+" && is_number(v)) return v;
  if (op == "-" && v.is<double>()) return -v.as<double>();
  if (op == "-" && is_number(v)) return integer(-wide(v));
  throw Unsupported("operator " + op);
}

bool truth(const Value& v) {
  if (v.is<None>()) return false;
  if (v.is<Tensor>()) return v.as<Tensor>().is_nonzero();
  if (v.is<List>()) return !v.as<List>().items.empty();
  if (v.is<std::string>()) return !v.as<std::string>().empty();
  return real(v) != 0;
}

// --- sequences

Value list_item(const List& list, const Value& index) {
  const int64_t n = static_cast<int64_t>(list.items.size());
  auto from_end = [n](int64_t i) { return i < 0 ? i + n : i; };
  if (index.is<int64_t>()) return list.items.at(static_cast<size_t>(from_end(index.as<int64_t>())));
  const SliceValue& s = index.as<SliceValue>();
  if (s.step) throw Unsupported("a step in a list");
  List part{list.kind, {}, {}, {}};
  const int64_t stop = std::min(from_end(s.stop.value_or(n)), n);
  for (int64_t i = from_end(s.start.value_or(0)); i < stop; ++i) part.items.push_back(list.items[static_cast<size_t>(i)]);
  return part;
}

std::vector<Value> iterate(const Value& v) {
  if (v.is<ObjectPtr>()) return v.as<ObjectPtr>()->items();
  if (!v.is<Tensor>()) return v.as<List>().items;
  std::vector<Value> rows;
  for (const Tensor& row : v.as<Tensor>().unbind()) rows.emplace_back(row);
  return rows;
}

// --- the interpreter

class Interpreter {
 public:
  explicit Interpreter(Variables variables) : variables_(std::move(variables)) {}

  Value run(const Node& program) {
    if (program.children.size() == 1 && program.children[0]->kind == Kind::Expression) return evaluate(*program.children[0]->children[0]);
    execute(program);
    const auto out = variables_.find("out");
    if (out == variables_.end()) throw Unsupported("a program without out");
    return out->second;
  }

  Value evaluate(const Node& n) {
    switch (n.kind) {
      case Kind::Integer: return integer_literal(n.text);
      case Kind::Real: return std::stod(n.text);
      case Kind::String: return n.text;
      case Kind::Name: return name(n.text);
      case Kind::Ellipsis: return Ellipsis{};
      case Kind::List: return List{List::Kind::List, all(n, 0), {}, {}};
      case Kind::Tuple: return tuple_of(all(n, 0));
      case Kind::Dict: return dict(n);
      case Kind::Comprehension: return comprehension(n);
      case Kind::Unary: return n.text == "not" ? Value(!truth(child(n, 0))) : unary(n.text, child(n, 0));
      case Kind::Binary: return binary_node(n);
      case Kind::Conditional: return evaluate(*n.children[truth(child(n, 0)) ? 1 : 2]);
      case Kind::Lambda: return lambda(n);
      case Kind::Attribute: return attribute(child(n, 0), n.text);
      case Kind::Call: return call(n);
      case Kind::Subscript: return subscript(child(n, 0), all(n, 1));
      case Kind::Slice: return slice(n);
      case Kind::Format: return format_string(n);
      default: throw Unsupported("a statement inside an expression");
    }
  }

 private:
  Value child(const Node& n, size_t i) { return evaluate(*n.children[i]); }
  std::vector<Value> all(const Node& n, size_t from) {
    std::vector<Value> values;
    for (size_t i = from; i < n.children.size(); ++i) values.push_back(child(n, i));
    return values;
  }

  static Value integer_literal(const std::string& digits) {
    Wide value = 0;
    for (char c : digits) value = value * 10 + (c - '0');
    return integer(value);
  }

  Value name(const std::string& id) {
    if (const auto it = variables_.find(id); it != variables_.end()) return it->second;
    if (id == "True") return true;
    if (id == "False") return false;
    if (id == "None") return None{};
    if (id == "inf") return std::numeric_limits<double>::infinity();
    if (id == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (id == "t") return Name{"torch"};
    for (const char* module : {"torch", "F", "nn", "math", "np"}) {
      if (id == module) return Name{id};
    }
    if (find_function("builtins." + id)) return Name{"builtins." + id};
    throw Unsupported("name " + id);
  }

  Value dict(const Node& n) {
    Dict d;
    for (size_t i = 0; i < n.children.size(); i += 2) {
      d.keys.push_back(child(n, i));
      d.values.push_back(child(n, i + 1));
    }
    return d;
  }

  Value comprehension(const Node& n) {
    List result;
    for (const Value& item : iterate(child(n, 1))) {
      variables_[n.text] = item;
      result.items.push_back(child(n, 0));
    }
    return result;
  }

  Value binary_node(const Node& n) {
    Value left = child(n, 0);
    if (n.text == "and") return truth(left) ? child(n, 1) : left;
    if (n.text == "or") return truth(left) ? left : child(n, 1);
    return binary(n.text, left, child(n, 1));
  }

  // A function of the program. It keeps the variables that it was made with.
  class Lambda : public Object {
   public:
    Lambda(const Node& node, Variables variables) : body_(node.children[0]), variables_(std::move(variables)) {
      for (size_t start = 0, end; (end = node.text.find(' ', start)) != std::string::npos; start = end + 1)
        parameters_.push_back(node.text.substr(start, end - start));
    }
    Value call(const Call& c) override {
      Variables inner = variables_;
      for (size_t i = 0; i < parameters_.size(); ++i) inner[parameters_[i]] = c.need(i, parameters_[i].c_str());
      return Interpreter(std::move(inner)).evaluate(*body_);
    }
    std::string repr() const override { return "a lambda"; }

   private:
    NodePtr body_;
    Variables variables_;
    std::vector<std::string> parameters_;
  };
  Value lambda(const Node& n) { return ObjectPtr(std::make_shared<Lambda>(n, variables_)); }

  static Value attribute(const Value& v, const std::string& attribute_name) {
    if (v.is<Name>()) return qualified(v.as<Name>().text + "." + attribute_name);
    if (v.is<Tensor>()) {
      if (const Function* f = find_function("." + attribute_name)) return (*f)({{v}, {}});
    }
    if (v.is<List>() && v.as<List>().kind == List::Kind::Named) {
      const List& list = v.as<List>();
      for (size_t i = 0; i < list.fields.size(); ++i) {
        if (list.fields[i] == attribute_name) return list.items[i];
      }
    }
    if (v.is<ObjectPtr>()) {
      Value result = v.as<ObjectPtr>()->attribute(attribute_name);
      if (!result.is<Bound>()) return result;
    }
    return Bound{attribute_name, std::make_shared<Value>(v)};
  }

  static Value qualified(const std::string& full) {
    if (const auto it = kModules.find(full); it != kModules.end()) return Name{it->second};
    const size_t dot = full.rfind('.');
    const std::string module = full.substr(0, dot), last = full.substr(dot + 1);
    if (module == "torch" || module == "np") {
      if (const auto type = kTypes.find(last); type != kTypes.end()) return type->second;
    }
    if (last == "inf") return std::numeric_limits<double>::infinity();
    if (last == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (last == "pi") return 3.14159265358979323846;
    return Name{full};
  }

  Value call(const Node& n) {
    const Value callee = child(n, 0);
    Call c;
    if (callee.is<Bound>()) c.positional.push_back(*callee.as<Bound>().self);
    for (size_t i = 1; i < n.children.size(); ++i) {
      const Node& argument = *n.children[i];
      if (argument.kind == Kind::Keyword) c.named.emplace(argument.text, child(argument, 0));
      else c.positional.push_back(evaluate(argument));
    }
    if (callee.is<Name>()) return call_function(callee.as<Name>().text, c);
    if (callee.is<Bound>()) return call_method(callee.as<Bound>(), c);
    Value result = callee.as<ObjectPtr>()->call(c);
    c.check_all_read("a call");
    return result;
  }

  static Value call_method(const Bound& bound, const Call& c) {
    const Value& self = *bound.self;
    if (self.is<Tensor>()) return call_function("Tensor." + bound.method, c);
    if (self.is<std::string>()) return call_function("str." + bound.method, c);
    if (self.is<List>()) return call_function("tuple." + bound.method, c);
    c.used_positions.insert(0);
    Value result = self.as<ObjectPtr>()->method(bound.method, c);
    c.check_all_read(bound.method);
    return result;
  }

  Value slice(const Node& n) {
    tenon::optional<int64_t> parts[3];
    for (size_t i = 0; i < 3; ++i) {
      if (!n.children[i]) continue;
      const Value v = child(n, i);
      if (!v.is<None>()) parts[i] = v.as<int64_t>();
    }
    return SliceValue{parts[0], parts[1], parts[2]};
  }

  static Value subscript(const Value& v, const std::vector<Value>& indices) {
    if (v.is<Tensor>()) return get_item(v.as<Tensor>(), indices);
    if (v.is<List>()) return list_item(v.as<List>(), indices.at(0));
    Call c{{v}, {}};
    c.positional.insert(c.positional.end(), indices.begin(), indices.end());
    return call_method({"__getitem__", std::make_shared<Value>(v)}, c);
  }

  Value format_string(const Node& n) {
    std::string text;
    for (const NodePtr& part : n.children) text += part->kind == Kind::String ? part->text : format(child(*part, 0), part->text);
    return text;
  }

  // --- statements

  void execute(const Node& n) {
    switch (n.kind) {
      case Kind::Block:
        for (const NodePtr& statement : n.children) execute(*statement);
        break;
      case Kind::Expression: child(n, 0); break;
      case Kind::Assign: {
        const Value v = evaluate(*n.children.back());
        for (size_t i = 0; i + 1 < n.children.size(); ++i) assign(*n.children[i], v);
        break;
      }
      case Kind::Augmented: augmented(n); break;
      case Kind::For:
        for (const Value& item : iterate(child(n, 0))) {
          variables_[n.text] = item;
          execute(*n.children[1]);
        }
        break;
      case Kind::With: with(n); break;
      default: throw Unsupported("a statement");
    }
  }

  void assign(const Node& target, const Value& v) {
    switch (target.kind) {
      case Kind::Name: variables_[target.text] = v; break;
      case Kind::Subscript: set_item(child(target, 0).as<Tensor>(), all(target, 1), v); break;
      case Kind::Attribute: call_function("." + target.text + "=", {{child(target, 0), v}, {}}); break;
      case Kind::Tuple: {
        const std::vector<Value> items = iterate(v);
        if (items.size() != target.children.size()) throw Unsupported("an assignment to a tuple");
        for (size_t i = 0; i < items.size(); ++i) assign(*target.children[i], items[i]);
        break;
      }
      default: throw Unsupported("an assignment");
    }
  }

  // x += v writes into a tensor; x[i] += v reads x[i], writes into that and assigns it to x[i].
  void augmented(const Node& n) {
    const Node& target = *n.children[0];
    const Value old = evaluate(target), v = child(n, 1);
    if (old.is<Tensor>()) assign(target, call_function(kOperators.at(n.text) + "_", {{old, v}, {}}));
    else assign(target, binary(n.text, old, v));
  }

  void with(const Node& n) {
    const Value context = child(n, 0);  // an object that ends with its last owner, as a guard does in C++
    execute(*n.children[1]);
  }

  Variables variables_;
};

}  // namespace

Value run(const Node& program, const Variables& variables) { return Interpreter(variables).run(program); }
Value run(const std::string& program, const Variables& variables) { return run(*parse(program), variables); }

}  // namespace python
