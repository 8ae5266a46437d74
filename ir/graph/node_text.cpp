// Attributes, types and literals, both ways.
#include "ir/graph/node_text.h"

#include <algorithm>

#include "ir/graph/indexed.h"

namespace tenon::ir {
namespace {

// Reshape, permute and expand write their list bare. An integer that is the bits of an f64 is written as that, one that says which result
// of several a node is by its name.
constexpr std::string_view kScale = "scale=";  // the bits of an f64
constexpr std::string_view kResult = "result=";
// By number, as AttentionResult and AttentionGradient have them.
std::span<const std::string_view> result_names(Op op) {
  static constexpr std::string_view results[] = {"output", "lse"}, gradients[] = {"query", "key", "value"};
  if (op == Op::AttentionGrad) return gradients;
  return results;
}
Attributes attributes_of(Op op) {
  static constexpr std::string_view dims[] = {"dims="}, bare[] = {""}, dim[] = {"dim="}, offset[] = {"offset="};
  static constexpr std::string_view slice[] = {"starts=", "steps=", "sizes="}, pad[] = {"lo=", "hi="};
  static constexpr std::string_view places[] = {"sizes=", "strides="};
  static constexpr std::string_view attention[] = {"causal=", kScale, "rows=", kResult}, recurrence[] = {"cell=", "backwards=", "flag="};
  if (is_attention(op)) return {{}, attention};
  if (is_recurrence(op)) return {{}, recurrence};
  if (is_reduce(op)) return {dims, {}};
  if (is_scan(op)) return {{}, dim};
  if (const IndexedOp* row = indexed_op(op)) return row->attributes;
  switch (op) {
    case Op::Iota:
    case Op::Cat: return {{}, dim};
    case Op::Reshape:
    case Op::Permute:
    case Op::Expand: return {bare, {}};
    case Op::Slice: return {slice, {}};
    case Op::Flip: return {dims, {}};
    case Op::Pad: return {pad, {}};
    case Op::Strided: return {places, offset};
    default: return {};
  }
}

// The bits of an f64.
int64_t parse_number(Lexer& text) {
  const auto value = parse_constant(parse_literal(text), DType::F64);
  if (!value) text.fail("a number is missing");
  return static_cast<int64_t>(value->bits);
}

int64_t parse_result(Lexer& text, Op op) {
  const auto names = result_names(op);
  const auto name = std::ranges::find(names, text.word("a result"));
  if (name == names.end()) text.fail("unknown result");
  return name - names.begin();
}

}  // namespace

std::string operation_text(const Node& node) {
  const std::string text(info(node.op()).text);
  if (!is_attention(node.op()) || (node.op() == Op::Attention && node.ints()[3] == 0)) return text;
  return text + '.' + std::string(result_names(node.op())[static_cast<size_t>(node.ints()[3])]);
}

std::string attributes_text(const Node& node) {
  const auto [lists, integers] = attributes_of(node.op());
  const int64_t* next = node.ints().begin();
  std::string text;
  for (const std::string_view word : lists) {
    text += ' ' + std::string(word) + '[';
    const size_t count = (node.ints().size() - integers.size()) / lists.size();
    for (size_t i = 0; i < count; ++i) text += (i ? "," : "") + std::to_string(*next++);
    text += ']';
  }
  for (const std::string_view word : integers) {
    const int64_t value = *next++;
    text += ' ' + std::string(word);
    if (word == kScale) text += print(Constant{DType::F64, static_cast<uint64_t>(value)});
    else if (word == kResult) text += result_names(node.op())[static_cast<size_t>(value)];
    else text += std::to_string(value);
  }
  return text;
}

Dims parse_list(Lexer& text) {
  Dims values;
  text.expect("[");
  if (text.accept("]")) return values;
  do values.push_back(text.integer());
  while (text.accept(","));
  text.expect("]");
  return values;
}

std::string_view parse_literal(Lexer& text) {
  text.skip_space();
  const size_t start = text.at_;
  text.at_ = std::min(text.text_.find_first_of(" \t\r\n:", start), text.text_.size());
  return text.text_.substr(start, text.at_ - start);
}

Dims parse_attributes(Lexer& text, Op op) {
  Dims ints;
  const auto [lists, integers] = attributes_of(op);
  size_t length = 0;
  for (size_t list = 0; list < lists.size(); ++list) {
    if (!lists[list].empty()) text.expect(lists[list]);
    const Dims values = parse_list(text);
    if (list == 0) length = values.size();
    if (values.size() != length) text.fail("lists of different length");
    for (const int64_t value : values) ints.push_back(value);
  }
  for (const std::string_view word : integers) {
    text.expect(word);
    ints.push_back(word == kScale ? parse_number(text) : word == kResult ? parse_result(text, op) : text.integer());
  }
  return ints;
}

ValueType parse_type(Lexer& text) {
  const auto dtype = dtype_from_name(text.word("a type"));
  if (!dtype) text.fail("unknown element type");
  ValueType result{*dtype, parse_list(text)};
  if (text.accept("@")) {
    const int64_t device = text.integer();
    if (device < 0 || device > INT8_MAX) text.fail("a device number is 0 to 127");
    result.device = static_cast<DeviceTag>(device);
  }
  return result;
}

}  // namespace tenon::ir
