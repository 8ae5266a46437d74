// The graph's text form: a printer, and the parser of what it prints. One node a line, every node with its
// type:
//
//   graph @name(%x: f32[4096,1024], %w: f16[1024]@1) {
//     %m = reduce.max %x dims=[1] : f32[4096,1]
//     %0 = slice %m starts=[0,0] steps=[2,1] sizes=[2048,1] : f32[2048,1]
//     %1 = const 0.5 : f32[2048,1]
//     return %0, %1
//   }
//
// "@1" behind a type is the device if it is not 0. "//" starts a comment. Names made of digits are not kept:
// the printer numbers the nodes that have no name.
#include <unordered_map>
#include <unordered_set>

#include "ir/graph/graph.h"
#include "ir/graph/graph_infer.h"
#include "ir/graph/graph_map.h"
#include "ir/graph/node_text.h"
#include "ir/op/lexer.h"

namespace tenon::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A name that the printer keeps: letters, digits, '_' and '.', but not digits alone.
bool is_given_name(std::string_view name) {
  bool only_digits = true;
  for (char c : name) {
    if (!is_word_char(c, true)) return false;
    only_digits &= is_digit(c);
  }
  return !only_digits;
}

// --- printing

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) { name_nodes(); }

  std::string print() {
    text_ = "graph @" + graph_.name + "(";
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (i) text_ += ", ";
      append_name(graph_.inputs[i].get());
      text_ += ": " + type_text(*graph_.inputs[i]);
    }
    text_ += ") {\n";
    for (const NodeRef& node : graph_.nodes) {
      if (node->op() != Op::Input) append_node(*node);
    }
    text_ += "  return";
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      text_ += i ? ", " : " ";
      append_name(graph_.outputs[i].get());
    }
    return text_ + "\n}\n";
  }

 private:
  // Given names first, each for the first node that has it; then x0, x1, ... for inputs and 0, 1, ... for the
  // others.
  void name_nodes() {
    std::unordered_set<std::string_view> taken;
    for (size_t i = 0; i < graph_.nodes.size() && i < graph_.names.size(); ++i) {
      const std::string& name = graph_.names[i];
      if (is_given_name(name) && taken.insert(name).second) names_[graph_.nodes[i].get()] = name;
    }
    int64_t next = 0;
    for (const NodeRef& input : graph_.inputs) {
      const auto [name, fresh] = names_.insert(input.get());
      if (!fresh) continue;
      do *name = "x" + std::to_string(next++);
      while (taken.contains(*name));
    }
    next = 0;
    for (const NodeRef& node : graph_.nodes) {
      const auto [name, fresh] = names_.insert(node.get());
      if (fresh) *name = std::to_string(next++);
    }
  }

  void append_name(const Node* node) {
    const std::string* name = names_.find(node);
    text_ += '%' + (name ? *name : "missing");
  }

  void append_node(const Node& node) {
    text_ += "  ";
    append_name(&node);
    text_ += " = " + std::string(info(node.op()).text);
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      text_ += i ? ", " : " ";
      append_name(node.inputs()[i]);
    }
    if (node.op() == Op::Const) text_ += ' ' + ir::print(Constant{node.dtype(), node.bits()});
    text_ += attributes_text(node) + " : " + type_text(node) + "\n";
  }

  const Graph& graph_;
  NodeMap<std::string> names_;
  std::string text_;
};

// --- parsing

class Parser : Lexer {
 public:
  Parser(std::string_view text, Folding folding, std::string_view file) : Lexer(text, file, "//", true), folding_(folding) {}

  Graph parse() {
    expect("graph");
    expect("@");
    graph_.name = std::string(word("a graph name"));
    parse_parameters();
    expect("{");
    while (!accept("return")) parse_line();
    if (peek() == '%') {
      do graph_.outputs.push_back(operand());
      while (accept(","));
    }
    expect("}");
    if (peek() != '\0') fail("text after the end of the graph");
    return std::move(graph_);
  }

 private:
  NodeRef operand() {
    skip_space();
    const size_t start = at_;
    expect("%");
    const auto found = values_.find(word("a name"));
    if (found == values_.end()) {
      fail_at(start, "unknown name " + std::string(text_.substr(start, at_ - start)));
    }
    return found->second;
  }

  std::string_view new_name() {
    expect("%");
    const size_t start = at_;
    const std::string_view name = word("a name");
    if (values_.contains(name)) fail_at(start - 1, "%" + std::string(name) + " is defined twice");
    return name;
  }

  void define(std::string_view name, NodeRef node) {
    values_.emplace(name, node);
    if (!known_.insert(node.get()).second) return;  // equal to an earlier node
    graph_.names.emplace_back(is_given_name(name) ? name : "");
    graph_.nodes.push_back(std::move(node));
  }

  void parse_parameters() {
    expect("(");
    if (accept(")")) return;
    do {
      const std::string_view name = new_name();
      expect(":");
      skip_space();
      const size_t start = at_;
      const ValueType t = parse_type(*this);
      graph_.inputs.push_back(with_place(*this, start, [&] { return make_input(t.dtype, t.shape, nullptr, t.device); }));
      define(name, graph_.inputs.back());
    } while (accept(","));
    expect(")");
  }

  void parse_line() {
    const std::string_view name = new_name();
    expect("=");
    skip_space();
    const size_t start = at_;
    const auto op = op_from_text(word("an operation"));
    if (!op || *op == Op::Input) fail_at(start, "unknown operation " + std::string(text_.substr(start, at_ - start)));

    std::vector<NodeRef> operands;
    if (peek() == '%') {
      do operands.push_back(operand());
      while (accept(","));
    }
    const std::string_view literal = *op == Op::Const ? parse_literal(*this) : "";
    const Dims ints = parse_attributes(*this, *op);
    expect(":");
    skip_space();
    const size_t type_start = at_;
    const ValueType t = parse_type(*this);
    NodeRef node = with_place(*this, start, [&] { return build(*op, operands, ints, literal, t); });
    const bool as_written = node->dtype() == t.dtype && node->shape() == t.shape && node->device() == t.device;
    if (!as_written) fail_at(type_start, "the type is " + type_text(*node));
    define(name, std::move(node));
  }

  NodeRef build(Op op, std::span<const NodeRef> operands, const Dims& ints, std::string_view literal, const ValueType& t) {
    if (info(op).cls == OpClass::Leaf && !operands.empty()) throw IrError("a leaf takes no operands");
    if (op == Op::Iota) return make_iota(t.shape, ints[0], t.device);
    if (op != Op::Const) return make_node(op, operands, ints, t.dtype, folding_);
    const auto value = parse_constant(literal, t.dtype);
    if (!value) throw IrError("'" + std::string(literal) + "' is not a value of " + std::string(name(t.dtype)));
    return make_const(*value, t.shape, t.device);
  }

  Folding folding_;
  Graph graph_;
  std::unordered_map<std::string_view, NodeRef> values_;
  std::unordered_set<const Node*> known_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).print(); }

Graph parse_graph(std::string_view text, Folding folding, std::string_view file) { return Parser(text, folding, file).parse(); }

// --- verifying

namespace {

void verify_node(const Node& node, const NodeMap<bool>& defined, std::vector<NodeRef>& operands) {
  operands.clear();
  for (Node* input : node.inputs()) {
    if (!defined.contains(input)) throw IrError("an operand is not defined before it");
    operands.emplace_back(input);
  }
  NodeType type{node.dtype(), node.shape(), node.numel()};
  if (info(node.op()).cls == OpClass::Leaf) {
    type.numel = check_leaf(node.op(), node.shape(), node.op() == Op::Iota ? node.ints()[0] : -1);
  } else {
    type = infer(node.op(), operands, node.ints(), node.dtype());
  }
  if (type.dtype != node.dtype() || !(type.shape == node.shape())) {
    throw IrError("has type " + type_text(node) + ", should have " + type_text(type.dtype, type.shape));
  }
  if (type.numel != node.numel()) throw IrError("counts its elements wrongly");
  if (!operands.empty() && infer_device(node.op(), operands, node.ints()) != node.device())
    throw IrError("is on another device than its operands");
}

}  // namespace

void verify(const Graph& graph) {
  const auto fail = [&](const std::string& reason) { throw IrError("graph @" + graph.name + ": " + reason); };
  if (graph.names.size() != graph.nodes.size()) fail("the names are not parallel to the nodes");
  NodeMap<bool> inputs, defined;
  for (const NodeRef& input : graph.inputs) {
    if (!input || input->op() != Op::Input) fail("a parameter is not an input");
    if (!inputs.insert(input.get()).second) fail("a parameter is listed twice");
  }
  std::vector<NodeRef> operands;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeRef& node = graph.nodes[i];
    const auto fail_at_node = [&](const std::string& reason) {
      fail("node " + std::to_string(i) + (graph.names[i].empty() ? "" : " %" + graph.names[i]) + ": " + reason);
    };
    if (!node) fail_at_node("is missing");
    if (node->op() == Op::Input && !inputs.contains(node.get())) fail_at_node("is an input but no parameter");
    if (!defined.insert(node.get()).second) fail_at_node("stands twice in the list of nodes");
    try {
      verify_node(*node, defined, operands);
    } catch (const IrError& error) {
      fail_at_node(error.what());
    }
  }
  for (const NodeRef& input : graph.inputs) {
    if (!defined.contains(input.get())) fail("a parameter is not among the nodes");
  }
  for (const NodeRef& output : graph.outputs) {
    if (!output || !defined.contains(output.get())) fail("an output is not among the nodes");
  }
}

}  // namespace tenon::ir
