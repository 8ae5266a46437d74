// Runs the Python programs in which the golden data states its cases, by calling the C++ API:
//
//   run("F.softmax(x0.t() @ x1, -1)", {{"x0", a}, {"x1", b}})
//   run("y = x0.clone(); y[:, 0] = 5; out = y", {{"x0", a}})
//
// Gives the value of an expression, or the variable `out` of a list of statements. What has no counterpart in
// the library throws Unsupported; the library's own mistakes are tenon::Errors.
//
// parse.h: text to a tree. interpret.cpp: the tree's meaning. value.h: values. call.h: the table of
// functions, and where to add one. calls_*.cpp: its entries.
#pragma once

#include "frontend/python/parse.h"
#include "frontend/python/value.h"

namespace python {

Value run(const std::string& program, const Variables& variables = {});
Value run(const Node& program, const Variables& variables);  // of parse(), for a program that runs often

}  // namespace python
