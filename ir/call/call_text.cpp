// The text form of calls, both ways, in the style shown at the top of ir/call/call.h: views first, then results, then stores.
#include <algorithm>
#include <unordered_map>

#include "ir/call/call.h"
#include "ir/graph/graph_infer.h"
#include "ir/graph/node_text.h"
#include "ir/kernel/kernel_rules.h"
#include "ir/op/lexer.h"

namespace tenon::ir {
namespace {

// --- printing

// " offset=3 strides=[8,1]", or what of it is not as usual
std::string view_text(const View& view, const Dims& shape) {
  std::string text;
  if (view.scalar >= 0) return text;
  if (view.offset != 0) text += " offset=" + std::to_string(view.offset);
  if (view.strides == row_major_strides(shape)) return text;
  text += " strides=[";
  for (size_t d = 0; d < view.strides.size(); ++d) text += (d ? "," : "") + std::to_string(view.strides[d]);
  return text + "]";
}

// --- parsing

class Parser : Lexer {
 public:
  Parser(std::string_view text, std::string_view file) : Lexer(text, file, "//", true) {}

  Call parse() {
    expect("call");
    expect("@");
    call_.name = std::string(word("a call name"));
    expect("(");
    parse_parameters(*this, call_);
    expect(")");
    expect("{");
    while (!accept("}")) accept("store") ? parse_store() : parse_value();
    if (peek() != '\0') fail("text after the end of the call");
    with_place(*this, 0, [&] { verify(call_); });
    return std::move(call_);
  }

 private:
  const NodeRef& value() {
    skip_space();
    const size_t start = at_;
    expect("%");
    const auto found = values_.find(word("a name"));
    if (found == values_.end()) fail_at(start, "unknown name " + std::string(text_.substr(start, at_ - start)));
    return found->second;
  }

  View parse_view() {
    skip_space();
    const size_t start = at_;
    const std::string_view name = word("a parameter name");
    const auto number = [&](const auto& list) {
      const auto found = std::ranges::find_if(list, [&](const auto& parameter) { return parameter.name == name; });
      return found == list.end() ? -1 : static_cast<int32_t>(found - list.begin());
    };
    View view{number(call_.buffers), number(call_.scalars)};
    if (view.buffer < 0 && view.scalar < 0) fail_at(start, "there is no parameter named " + std::string(name));
    if (accept("offset=")) view.offset = integer();
    has_strides_ = accept("strides=");
    if (has_strides_) view.strides = parse_list(*this);
    return view;
  }
  void complete(View& view, const Dims& shape) const {
    if (!has_strides_) view.strides = view.scalar >= 0 ? Dims(shape.size(), 0) : row_major_strides(shape);
  }

  void parse_value() {
    expect("%");
    const size_t name_start = at_;
    const std::string_view name = word("a name");
    expect("=");
    skip_space();
    const size_t start = at_;
    NodeRef made = accept("view") ? parse_operand() : parse_result(start);
    if (!values_.emplace(name, std::move(made)).second) fail_at(name_start - 1, "%" + std::string(name) + " is defined twice");
  }

  NodeRef parse_operand() {
    View view = parse_view();
    expect(":");
    skip_space();
    const size_t start = at_;
    const ValueType type = parse_type(*this);
    complete(view, type.shape);
    NodeRef placeholder = with_place(*this, start, [&] { return make_input(type.dtype, type.shape, nullptr, type.device); });
    views_.emplace(placeholder.get(), std::move(view));
    return placeholder;
  }

  NodeRef parse_result(size_t start) {
    const auto op = op_from_text(word("an operation"));
    if (!op || info(*op).cls == OpClass::Leaf) fail_at(start, "unknown operation " + std::string(text_.substr(start, at_ - start)));
    std::vector<NodeRef> operands;
    do operands.push_back(value());
    while (accept(","));
    const Dims ints = parse_attributes(*this, *op);
    expect(":");
    skip_space();
    const size_t type_start = at_;
    const ValueType type = parse_type(*this);
    NodeRef node = with_place(*this, start, [&] { return make_node(*op, operands, ints, type.dtype, Folding::Off); });
    if (node->dtype() != type.dtype || !(node->shape() == type.shape) || node->device() != type.device)
      fail_at(type_start, "the type is " + type_text(*node));
    return node;
  }

  void parse_store() {
    skip_space();
    const size_t start = at_;
    View view = parse_view();
    expect(",");
    const NodeRef& result = value();
    complete(view, result->shape());
    if (result->op() == Op::Input) fail_at(start, "an operand is stored");
    if (call_.results.empty()) {
      for (const Node* input : result->inputs()) {
        const auto operand = views_.find(input);
        if (operand == views_.end()) fail_at(start, "an operand of the result is no view");
        call_.operands.push_back(operand->second);
      }
    }
    call_.results.push_back(result);
    call_.stored.push_back(std::move(view));
  }

  Call call_;
  bool has_strides_ = false;  // of the view that was read last
  std::unordered_map<std::string_view, NodeRef> values_;
  std::unordered_map<const Node*, View> views_;
};

}  // namespace

std::string print(const Call& call) {
  std::string text = "call @" + call.name + "(" + parameters_text(call) + ") {\n", operands, stores;
  const auto name_of = [&](const View& view) {
    return view.scalar >= 0 ? call.scalars[static_cast<size_t>(view.scalar)].name : call.buffer(view.buffer).name;
  };
  size_t next = 0;
  for (const View& view : call.operands) {
    const Node& placeholder = *call.node().inputs()[next];
    const std::string name = "%" + std::to_string(next++);
    text += "  " + name + " = view " + name_of(view) + view_text(view, placeholder.shape()) + " : " + type_text(placeholder) + "\n";
    operands += (operands.empty() ? " " : ", ") + name;
  }
  for (size_t k = 0; k < call.results.size(); ++k) {
    const Node& result = *call.results[k];
    const std::string name = "%" + std::to_string(next++);
    text +=
        "  " + name + " = " + std::string(info(result.op()).text) + operands + attributes_text(result) + " : " + type_text(result) + "\n";
    stores += "  store " + name_of(call.stored[k]) + view_text(call.stored[k], result.shape()) + ", " + name + "\n";
  }
  return text + stores + "}\n";
}

Call parse_call(std::string_view text, std::string_view file) { return Parser(text, file).parse(); }

}  // namespace tenon::ir
