// A small part of Python's grammar: expressions, assignments, for, with; no definitions of functions but
// lambda.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace python {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

// One node of the tree. `text` and `children` mean, by kind:
struct Node {
  enum class Kind {
    Integer,        // text: digits
    Real,           // text
    String,         // text: the characters
    Name,           // text
    Ellipsis,       //
    List,           // items
    Tuple,          // items
    Dict,           // key, value, key, value, ...
    Comprehension,  // text: variable; item, iterable
    Unary,          // text: operator; operand
    Binary,         // text: operator; left, right ("and" and "or" too)
    Conditional,    // condition, then, otherwise
    Lambda,         // text: parameters, each followed by a space; body
    Attribute,      // text: name; object
    Call,           // function, then arguments
    Keyword,        // text: name; value (an argument)
    Subscript,      // object, then indices
    Slice,          // start, stop, step: null where missing
    Format,         // f-string: parts; a String, or a Field
    Field,          // text: format spec; value
    // statements
    Expression,  // value
    Assign,      // targets ..., value
    Augmented,   // text: operator; target, value
    For,         // text: variable; iterable, Block
    With,        // context, Block
    Block,       // statements
  };
  Kind kind;
  std::string text;
  std::vector<NodePtr> children;
};

NodePtr parse(const std::string& program);  // a Block; throws Unsupported at syntax it does not know

}  // namespace python
