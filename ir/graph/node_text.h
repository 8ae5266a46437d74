// What the texts of graphs and of calls share: how an operation's attributes and a value's type are written and read.
#pragma once

#include <string>

#include "ir/graph/graph.h"
#include "ir/op/lexer.h"

namespace tenon::ir {

std::string operation_text(const Node& node);   // "attention.grad.key": which result it is, if there are several
std::string attributes_text(const Node& node);  // " dim=1 descending=0"
// The `ints` of such an operation. These and all that read text throw IrError with the place.
Dims parse_attributes(Lexer& text, Op op);
Dims parse_list(Lexer& text);                 // [1,2]; empty: []
std::string_view parse_literal(Lexer& text);  // up to a space or a colon

struct ValueType {
  DType dtype;
  Dims shape;
  DeviceTag device = 0;
};
ValueType parse_type(Lexer& text);  // f32[128,64]@1

// Called for what throws IrError without a place: with this one.
template <typename Build>
auto with_place(const Lexer& text, size_t position, const Build& build) {
  try {
    return build();
  } catch (const IrError& error) {
    text.fail_at(position, error.what());
  }
}

}  // namespace tenon::ir
