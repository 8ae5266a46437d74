#!/usr/bin/env python3
"""Prints the public functions that frontend/functions.def lists: the headers of its sections, the methods, in-place and out forms, and
the definitions of those forms. What a row may say stands at the top of that file.

  make_functions.py            writes the files
  make_functions.py --check    says which files differ from what the table prints; exits with 1 if one does
  make_functions.py --bodies LIBTENON.SO   says which rows have no body in the library, or one with other parameters
  make_functions.py --self-test   checks that it sees each kind of wrong row
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "frontend/functions.def"
OPERATIONS = {name: (int(arity), rule, domain) for name, arity, rule, domain in re.findall(
    r'^OP\((\w+), +"\w+", +Elementwise, (\d), (\w+), ([BIF|]+),', (ROOT / "ir/op/ops.def").read_text(), re.M)}
INCLUDE = "frontend/include/tenon/"
SOURCES = "frontend/src/ops/"
PRINTED = "// Printed from frontend/functions.def by scripts/print/make_functions.py.\n"
WIDTH = 110
ROW = re.compile(r"([\w:]+?)(?:\.(\w+))?\((.*)\) -> (.*?) \| ([a-z_: ]+?)(?: \| = (?:op (\w+)(?: (saving result|saving operand|keeping integers))?|([\w:]+)))?(?:  // (.*))?$")
TYPES = {  # of parameters, in the table and in C++
    "Tensor": "const Operand&", "Tensor(a)": "const Operand&", "Tensor(a!)": "Tensor&", "Tensor&": "const Tensor&",
    "Tensor?": "const optional<Tensor>&", "Tensor[]": "TensorList", "Scalar": "const Scalar&",
    "Scalar?": "const optional<Scalar>&", "Scalar[]": "ArrayRef<Scalar>", "int": "int64_t", "int?": "optional<int64_t>",
    "int[]": "IntArrayRef", "int[]?": "OptionalIntArrayRef", "int32": "int", "float": "double", "float?": "optional<double>",
    "float[]?": "optional<ArrayRef<double>>", "bool": "bool", "bool?": "optional<bool>", "str": "std::string_view", "str?": "optional<std::string_view>",
    "ScalarType": "ScalarType", "ScalarType?": "optional<ScalarType>", "MemoryFormat": "MemoryFormat",
    "Generator?": "const optional<Generator>&", "TensorOptions": "const TensorOptions&", "DimList": "DimList",
    "Index[]": "ArrayRef<indexing::TensorIndex>", "PaddingName": "PaddingName"}
RESULTS = {"Tensor": "Tensor", "Tensor(a)": "Tensor", "Tensor(a!)": "Tensor&", "Tensor&": "const Tensor&", "Tensor[]": "std::vector<Tensor>",
           "Tensor(a)[]": "std::vector<Tensor>", "bool": "bool", "ScalarType": "ScalarType"}
SYMBOLS = {  # of those types that a symbol of the library names otherwise
    "int64_t": "long", "IntArrayRef": "tenon::ArrayRef<long>", "OptionalIntArrayRef": "tenon::OptionalIntArrayRef",
    "TensorList": "tenon::ArrayRef<tenon::Tensor>", "std::string_view": "std::basic_string_view<char, std::char_traits<char> >",
    "DimList": "std::initializer_list<long>", "double": "double", "bool": "bool", "int": "int"}
FORMS = {"function", "method", "method_", "function_", "function_:copy", "out", "out:more", "out:body"}
NOTED = {"Tensor", "Tensor(a)", "Tensor(a!)", "Tensor&", "Tensor?", "Tensor[]", "Scalar"}  # what a CallScope shows
IN_PLACE = "in place"
METHODS = "methods"


class Wrong(Exception):
    """A row of the table that says something impossible."""


def parts(text):
    """Splits at the commas outside of brackets."""
    found, depth, begin = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "([<{") - (c in ")]>}")
        if c == "," and depth == 0:
            found.append(text[begin:i].strip())
            begin = i + 1
    return [p for p in found if p]


class Parameter:
    def __init__(self, text):
        declared, _, self.default = text.partition("=")
        self.type, _, self.name = declared.rpartition(" ")
        if self.type not in TYPES:
            raise Wrong(f"no type of a parameter: {self.type or text}")

    def cxx_default(self):
        value = self.default
        if value == "None":
            return "detail::no_tensor()" if self.type == "Tensor?" else "nullopt"
        if value in ("True", "False"):
            return value.lower()
        if value in ("Mean", "Sum"):
            return "Reduction::" + value
        if value[0] == "'":
            return '"' + value[1:-1] + '"'
        return "{" + value[1:-1] + "}" if value[0] == "[" else value

    def declared(self, default=True):
        return f"{TYPES[self.type]} {self.name}" + (f" = {self.cxx_default()}" if default and self.default else "")


class Row:
    def __init__(self, text, line, section, chapter):
        match = ROW.match(text)
        if not match:
            raise Wrong("no row: name.overload(parameters) -> result | forms | = name, or = op OP  // comment")
        full, self.overload, parameters, self.result, forms, self.op, self.how, self.alias, self.comment = match.groups()
        self.line, self.section, self.chapter, self.text = line, section, chapter, text
        self.scope, _, self.name = full.rpartition("::")
        words = parts(parameters)
        self.by_name = len(words) - 1 - words.index("*") if "*" in words else 0  # so many at the end only by name
        self.parameters = [Parameter(w) for w in words if w != "*"]
        self.forms = forms.split()
        self.itself = next((p for p in self.parameters if p.name == "self" and p.type.startswith("Tensor") and p.type != "Tensor[]"), None)
        self.check()

    def check(self):
        for form in self.forms:
            if form not in FORMS or self.forms.count(form) > 1:
                raise Wrong(f"no form, or twice: {form}")
        if sum(form.startswith("out") for form in self.forms) > 1:
            raise Wrong("two forms of out")
        if ("method" in self.forms or "method_" in self.forms) and not self.itself:
            raise Wrong("a method needs a parameter `Tensor self`")
        if "function_" in self.forms and "method_" not in self.forms:
            raise Wrong("function_ calls method_, which is missing")
        if self.result not in RESULTS and not re.fullmatch(r"\(Tensor\b.*\)", self.result):
            raise Wrong(f"no type of a result: {self.result}")
        if self.out() and self.result not in ("Tensor", "Tensor(a)") and self.results() != 2:
            raise Wrong("out forms have one tensor or two")
        if self.op:
            self.check_operation()
        if not self.scope and (self.section == IN_PLACE) != (self.name.endswith("_") and "method" in self.forms):
            raise Wrong("a method whose name ends in _ stands in the section `in place`, and nothing else")

    def check_operation(self):
        if self.op not in OPERATIONS:
            raise Wrong(f"ops.def has no elementwise operation {self.op}")
        arity, rule, domain = OPERATIONS[self.op]
        tensors = [p.type for p in self.parameters]
        if len(tensors) != arity:
            raise Wrong(f"the operation {self.op} takes {arity}, the function {len(tensors)}")
        if "function" not in self.forms or self.scope or self.result != "Tensor" or tensors[0] != "Tensor":
            raise Wrong("an operation's function is one of tenon:: that takes a Tensor and gives one")
        if self.how and arity != 1:
            raise Wrong(f"{self.how}: only an operation of one operand")
        if tensors[1:] not in ([], ["Tensor"], ["Scalar"] if rule == "Compare" else []):
            raise Wrong(f"the operation {self.op} does not take {tensors[1]}")
        if rule != "Compare" and (rule != "Same" or domain != "F"):
            raise Wrong(f"the operation {self.op} is none of floats alone and no comparison: its function has a body by hand")

    def out(self):
        return next((form for form in self.forms if form.startswith("out")), None)

    def results(self):
        return len(parts(self.result[1:-1])) if self.result[0] == "(" else 1

    def cxx_result(self, tensor="Tensor"):
        if self.result[0] == "(":
            return f"std::tuple<{', '.join([tensor] * self.results())}>"
        return re.sub(r"\bTensor\b", tensor, RESULTS[self.result])

    def rest(self):
        return [p for p in self.parameters if p is not self.itself]

    def call(self, function, itself):
        """The call of the function, by way of its parameters' names."""
        return f"{function}({', '.join(itself if p is self.itself else p.name for p in self.parameters)})"

    def function(self):
        """The name by which forms call the function."""
        return ("tenon::" if "function" in self.forms else "tenon::detail::") + (self.scope + "::" if self.scope else "") + self.name

    def types(self):
        return tuple(p.type for p in self.parameters)


class Table:
    """The rows, and the text of each section: rows, chapters and lines as they stand."""

    def __init__(self, text):
        self.rows, self.sections, self.includes = [], {}, {}
        section = chapter = None
        errors = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.startswith("#") or (not line and section is None):
                continue
            try:
                if line.startswith("== "):
                    section, _, includes = line[3:].partition(" < ")
                    self.sections[section], self.includes[section], chapter = [], includes.split(), ""
                    continue
                item = line
                if line.startswith("-- "):
                    chapter = line[3:]
                elif line and not line.startswith("//"):
                    item = Row(line, number, section, chapter)
                    self.rows.append(item)
                self.sections[section].append(item)
            except Wrong as wrong:
                errors.append(f"{TABLE.relative_to(ROOT)}:{number}: {wrong}")
        errors += list(self.contradictions())
        if errors:
            raise SystemExit("\n".join(errors))

    def contradictions(self):
        seen, outs = {}, {}
        names = {(r.scope + "::" if r.scope else "") + r.name for r in self.rows}
        for row in self.rows:
            where = f"{TABLE.relative_to(ROOT)}:{row.line}:"
            key = (row.scope, row.name, row.types())
            if key in seen:
                yield f"{where} the same parameters as in line {seen[key]}"
            seen[key] = row.line
            if row.alias and row.alias not in names:
                yield f"{where} no row has the name {row.alias}"
            if row.out():
                key = (row.name, row.results(), tuple(p.type for p in out_parameters(row)))
                if key in outs:
                    yield f"{where} its out form is that of line {outs[key]}"
                outs[key] = row.line


def wrapped(head, items, tail, indent=0, width=WIDTH):
    """`head(items)tail`, in lines of the width: broken between items, below the first one."""
    line = " " * indent + head + "("
    column, lines = len(line), []
    if any(column + len(item) + 2 > width for item in items):
        column = indent + 4
        if items and len(line) + len(items[0]) + 1 > width:
            lines.append(line)
            line = " " * column
    for i, item in enumerate(items):
        last = i + 1 == len(items)
        piece = item + (")" + tail if last else ",")
        if line.strip() and not line.endswith("(") and len(line) + 1 + len(piece) > width:
            lines.append(line)
            line = " " * column + piece
        else:
            line += piece if line.endswith("(") or not line.strip() else " " + piece
    if not items:
        line += ")" + tail
    return "\n".join(lines + [line])


def remarked(text, comment, indent=0):
    if not comment:
        return text
    if len(text.rsplit("\n", 1)[-1]) + len(comment) + 5 <= 120:
        return f"{text}  // {comment}"
    return f"{' ' * indent}// {comment}\n{text}"


def section_header(table, section):
    """The functions of one section, with its chapters and remarks."""
    about, out, scope, state = [], [], "", "about"
    for item in table.sections[section]:
        if state == "about":
            if isinstance(item, str) and item.startswith("//"):
                about.append(item)
                continue
            state = "body"
            if item == "":
                continue
        row = item if isinstance(item, Row) else None
        if row and "function" not in row.forms:
            continue
        wanted = row.scope if row else "" if isinstance(item, str) and item.startswith("-- ") else scope
        if wanted != scope:
            if scope:
                out.append(f"}}  // namespace {scope}")
            if wanted:
                out.append(f"namespace {wanted} {{")
            scope = wanted
        if row:
            text = wrapped(f"{row.cxx_result()} {row.name}", [p.declared() for p in row.parameters], ";")
            out.append(remarked(text, row.comment))
        else:
            out.append("// --- " + item[3:] if item.startswith("-- ") else item)
    while out and out[-1] == "":
        out.pop()
    if scope:
        out.append(f"}}  // namespace {scope}")
    includes = "".join(f'#include "{name}"\n' for name in table.includes[section])
    return PRINTED + "\n".join(about) + f"\n#pragma once\n\n{includes}\nnamespace tenon {{\n\n" + "\n".join(out) + "\n\n}  // namespace tenon\n"


def chapters(rows, indent=""):
    """Yields the heading of a chapter before the first of its rows, as (heading, row)."""
    before = None
    for row in rows:
        heading = None
        if (row.section, row.chapter) != before:
            before = (row.section, row.chapter)
            heading = f"\n{indent}// --- {row.chapter or row.section}" if row.chapter or row.section else ""
        yield heading, row


def has_method(row):
    return "method" in row.forms and row.section != IN_PLACE


def methods(table):
    out = [PRINTED + """// The methods of a tensor that record an operation, as declared in the class Tensor. tensor.h includes this file twice:
// for tensors with a name, and for temporaries, whose values nobody will want again (see Operand there). TENON_KIND is
// the kind of object, `const&` or `&&`. Each method is the function of its name, whose header says what it does."""]
    for heading, row in chapters([r for r in table.rows if has_method(r)], "  "):
        if heading:
            out.append(heading)
        items = [p.declared().replace("detail::no_tensor()", "nullopt") for p in row.rest()]
        text = wrapped(f"{row.cxx_result()} {row.name}", items, " TENON_KIND;", 2, 120)
        out.append(remarked(text, row.comment if "function" not in row.forms else None, 2))
    return "\n".join(out) + "\n"


def method_bodies(table):
    out = [PRINTED + """// The bodies of the methods that tenon/tensor_methods.h declares. frontend/src/ops/methods.cpp includes this file twice:
// TENON_KIND is the kind of object, `const&` or `&&`; TENON_SELF is the object as an argument.
"""]
    for row in filter(has_method, table.rows):
        text = definition(f"{row.cxx_result()} Tensor::{row.name}", [p.declared(False) for p in row.rest()],
                          [f"return {row.call(row.function(), 'TENON_SELF')};"])
        out.append(text.replace(") {", ") TENON_KIND {", 1))
    return "\n".join(out) + "\n"


def is_method_in_place(row):
    return "method_" in row.forms or (row.section == IN_PLACE and "method" in row.forms)


def in_place_name(row):
    return row.name if row.section == IN_PLACE else row.name + "_"


def in_place_result(row):
    return row.cxx_result() if row.section == IN_PLACE else "Tensor&"


def methods_in_place(table):
    out = [PRINTED + """// The methods that write into their tensor, as declared in the class Tensor: like the operation without the underscore,
// into this tensor. Its shape and dtype stay, so the operands must broadcast to its shape, and the result's type must not
// be of a higher category than its own (bool < integer < float). All tensors that share its memory see the write; what was
// recorded before it keeps the old values. Memory that data_ptr() or from_blob() made known to others is written before the
// call returns; any other write is recorded like an operation, and evaluated in place where nothing else needs the old value."""]
    for heading, row in chapters([r for r in table.rows if is_method_in_place(r)], "  "):
        if heading:
            out.append(heading)
        items = [p.declared().replace("detail::no_tensor()", "nullopt") for p in row.rest()]
        text = wrapped(f"{in_place_result(row)} {in_place_name(row)}", items, " const;", 2)
        out.append(remarked(text, row.comment if row.section == IN_PLACE else None, 2))
    return "\n".join(out) + "\n"


def functions_in_place(table):
    out = [PRINTED + """// Methods that write into their tensor, as functions: relu_(x) is x.relu_(). Included by tenon.h.
#pragma once

#include "tenon/tensor.h"

namespace tenon {"""]
    for heading, row in chapters([r for r in table.rows if is_function_in_place(r)]):
        if heading:
            out.append(heading)
        out.append(wrapped(f"{in_place_result(row)} {in_place_name(row)}", in_place_parameters(row), ";"))
    return "\n".join(out) + "\n\n}  // namespace tenon\n"


def is_function_in_place(row):
    if row.section == IN_PLACE:
        return "function" in row.forms
    return "function_" in row.forms or "function_:copy" in row.forms


def in_place_parameters(row, default=True):
    changed = "const Tensor& self" if row.result == "Tensor&" else "Tensor& self"
    return [changed] + [p.declared(default).replace("detail::no_tensor()", "nullopt") for p in row.rest()]


def out_parameters(row):
    return [p for p in row.parameters if p.type != "TensorOptions"]


def out_declared(row, default=True):
    results = ["Tensor& out"] if row.results() == 1 else ["Tensor& first", "Tensor& second"]
    return results + [p.declared(default).replace("detail::no_tensor()", "nullopt") for p in out_parameters(row)]


def out_result(row):
    return "Tensor&" if row.results() == 1 else "std::tuple<Tensor&, Tensor&>"


def out_header(table, form):
    if form == "out":
        rows = [r for r in table.rows if r.out() in ("out", "out:body")]
        about = """// Results into a tensor that is there: name_out(out, operands...). `out` takes the result's shape (an out of
// another shape is resized) and keeps its dtype, to which the result's type must be castable. Error if out or
// the result requires grad."""
        includes = ["tenon/tensor.h"]
    else:
        rows = [r for r in table.rows if r.out() == form]
        about = """// LibTorch's name_out(out, operands...) for the functions that out.h does not declare: whatever arguments a
// function takes, its _out form takes after the tensors that get the results, which behave as those of out.h.
// For programs written for LibTorch (tenon/compat.h).
//
//   amax_out(out, x, {1});
//   sort_out(values, indices, x, 0);"""
        includes = ["tenon/neural.h", "tenon/out.h"]
    out = [PRINTED + about + "\n#pragma once\n\n" + "".join(f'#include "{i}"\n' for i in includes) + "\nnamespace tenon {"]
    for heading, row in chapters(rows):
        if heading:
            out.append(heading)
        out.append(wrapped(f"{out_result(row)} {row.name}_out", out_declared(row), ";"))
    return "\n".join(out) + "\n\n}  // namespace tenon\n"


def scope_of_call(name, first, parameters):
    noted = [first] + [p.name for p in parameters if p.type in NOTED] if first else [p.name for p in parameters if p.type in NOTED]
    return f'const CallScope call("{name}"{"".join(", " + n for n in noted)});'


def definition(head, items, lines):
    return wrapped(head, items, " {") + "\n" + "".join(f"  {line}\n" for line in lines) + "}"


def in_place_source(table):
    out = [PRINTED + """// The methods that write into their tensor and have no body by hand: the operation without the underscore, assigned.
#include "frontend/src/autograd/aliases.h"
#include "frontend/src/tensor/call.h"
#include "tenon/tenon.h"

namespace tenon {
"""]
    for row in table.rows:
        if "method_" in row.forms:
            items = [p.declared(False) for p in row.rest()]
            store = "reshape_in_place" if row.result == "Tensor(a)" else "assign"
            out.append(definition(f"Tensor& Tensor::{row.name}_", items, [
                scope_of_call(row.name + "_", "*this", row.rest()),
                f"return {store}(*this, {row.call(row.function(), '*this')});"]).replace(") {", ") const {", 1))
    out.append("\n// --- as functions\n")
    for row in table.rows:
        if is_function_in_place(row):
            name = in_place_name(row)
            if "function_:copy" in row.forms:
                lines = [scope_of_call(name, "self", row.rest()), f"return self.copy_({row.call(row.function(), 'self.clone()')});"]
            else:
                lines = [f"return self.{name}({', '.join(p.name for p in row.rest())});"]
            out.append(definition(f"{in_place_result(row)} {name}", in_place_parameters(row, False), lines))
    return "\n".join(out) + "\n\n}  // namespace tenon\n"


def out_source(table):
    out = [PRINTED + """// The out forms: the operation, assigned to a tensor of the right shape.
#include "frontend/src/ops/out.h"
#include "frontend/src/tensor/call.h"
#include "tenon/out_forms.h"
#include "tenon/tenon.h"

namespace tenon {
"""]
    for row in table.rows:
        if row.out() not in ("out", "out:more"):
            continue
        given = []
        for p in row.parameters:
            if p.type != "TensorOptions":
                given.append(p.name)
            elif not row.itself:
                given.append("out.options()")
        call = f"{row.function()}({', '.join(given)})"
        if row.results() == 1:
            lines = [scope_of_call(row.name + "_out", "out", out_parameters(row)), f'return put_out(out, {call}, "{row.name}");']
        else:
            lines = [scope_of_call(row.name + "_out", "first, second", out_parameters(row)), f"const auto [a, b] = {call};",
                     f'put_out(first, a, "{row.name}");', f'put_out(second, b, "{row.name}");', "return {first, second};"]
        out.append(definition(f"{out_result(row)} {row.name}_out", out_declared(row, False), lines))
    return "\n".join(out) + "\n\n}  // namespace tenon\n"


def names_source(table):
    out = [PRINTED + """// Functions that are another name of a function.
#include "tenon/native.h"
#include "tenon/tenon.h"

namespace tenon {
"""]
    for row in table.rows:
        if row.alias and "function" in row.forms:
            scope = row.scope + "::" if row.scope else ""
            call = f"tenon::{row.alias}({', '.join(p.name for p in row.parameters)})"
            out.append(definition(f"{row.cxx_result()} {scope}{row.name}", [p.declared(False) for p in row.parameters], [f"return {call};"]))
    return "\n".join(out) + "\n\n}  // namespace tenon\n"


SAVED = {None: "kReadsNothing", "saving result": "kReadsOutput", "saving operand": "reads_operand(0)"}


def operations_source(table):
    out = [PRINTED + """// Functions that record one elementwise operation.
#include "frontend/src/ops/elementwise.h"
#include "tenon/tenon.h"

namespace tenon {
"""]
    for row in table.rows:
        if not row.op:
            continue
        given = f"Op::{row.op}, " + ", ".join(p.name for p in row.parameters)
        if OPERATIONS[row.op][1] == "Compare":
            call = f'compare("{row.name}", {given})'
        elif len(row.parameters) == 2:
            call = f'float_binary_op("{row.op}Backward0", {given})'
        elif row.how == "keeping integers":
            call = f'rounding_op("{row.op}Backward0", "{row.name}_vml_cpu", {given})'
        else:
            call = f'replayed_float_op("{row.name}", "{row.op}Backward0", {SAVED[row.how]}, {given})'
        out.append(definition(f"Tensor {row.name}", [p.declared(False) for p in row.parameters], [f"return {call};"]))
    return "\n".join(out) + "\n\n}  // namespace tenon\n"


CALLED = {  # how a test's call reads an argument of the type
    "Tensor": "tensor", "Tensor(a)": "tensor", "Tensor(a!)": "tensor", "Tensor&": "tensor", "Tensor?": "maybe_tensor",
    "Tensor[]": "tensors", "Scalar": "scalar", "Scalar?": "maybe_scalar", "int": "integer", "int?": "maybe_integer",
    "float": "real", "float?": "maybe_real", "bool": "flag", "bool?": "maybe_flag", "str": "string", "str?": "maybe_string",
    "int[]": "ints", "int[]?": "maybe_ints", "ScalarType": "type", "ScalarType?": "maybe_type"}


def test_entry(row, in_place):
    """The overload of a test's call that is this row, or None if Python's call has other types."""
    parameters = row.parameters
    if not parameters or any(p.type not in CALLED for p in parameters):
        return None
    first_by_name = len(row.parameters) - row.by_name
    words = []
    for i, p in enumerate(parameters):
        words += (["*"] if i == first_by_name else []) + [f"{p.type} {p.name}" + (f"={p.default}" if p.default else "")]
    given = {p.name: f"a.{CALLED[p.type]}({i})" for i, p in enumerate(parameters)}
    if in_place:
        call = f"{given['self']}.{in_place_name(row)}({', '.join(given[p.name] for p in parameters if p is not row.itself)})"
    else:
        scope = row.scope + "::" if row.scope else ""
        call = f"tenon::{scope}{row.name}({', '.join(given[p.name] for p in parameters)})"
    if not in_place and row.result[0] == "(":
        names = [p.partition(" ")[2] for p in parts(row.result[1:-1])]
        listed = "{" + ", ".join(f'"{n}"' for n in names) + "}" if all(names) else "{}"
        call = f'fields("{row.name}", {listed}, {call})'
    elif row.result.endswith("[]"):
        call = f"list_of({call})"
    schema = ", ".join(words).replace('"', '\\"')
    return f'{{"{schema}",\n       [](const Arguments& a) -> Value {{ return {call}; }}}}'


def test_calls(table):
    entries = {}
    for row in table.rows:
        if row.result == "ScalarType":
            continue
        if "function" in row.forms and row.section != IN_PLACE and not row.name.endswith("_"):
            name = row.scope.replace("::", ".") + "." + row.name if row.scope else row.name
            entries.setdefault(name, []).append(test_entry(row, False))
        if is_method_in_place(row):
            entries.setdefault(in_place_name(row), []).append(test_entry(row, True))
    out = [PRINTED + """// The tests' calls of public functions and of methods in place, by name: the overloads in the order of the table.
#include <tenon/native.h>

#include "frontend/python/overloads.h"

namespace python {

void add_printed(Table& t) {"""]
    for name, overloads in entries.items():
        overloads = [o for o in overloads if o]
        if overloads:
            out.append(f'  t["{name}"] = overloads({{\n      ' + ",\n      ".join(overloads) + "});")
    return "\n".join(out) + "\n}\n\n}  // namespace python\n"


def files(table):
    printed = {INCLUDE + s: section_header(table, s) for s in table.sections if s.endswith(".h")}
    printed[INCLUDE + "tensor_methods.h"] = methods(table)
    printed[INCLUDE + "tensor_inplace.h"] = methods_in_place(table)
    printed[INCLUDE + "inplace.h"] = functions_in_place(table)
    printed[INCLUDE + "out.h"] = out_header(table, "out")
    printed[INCLUDE + "out_forms.h"] = out_header(table, "out:more")
    printed[SOURCES + "printed_methods.h"] = method_bodies(table)
    printed[SOURCES + "printed_inplace.cpp"] = in_place_source(table)
    printed[SOURCES + "printed_out.cpp"] = out_source(table)
    printed[SOURCES + "printed_names.cpp"] = names_source(table)
    printed[SOURCES + "printed_operations.cpp"] = operations_source(table)
    printed["tests/frontend/python/printed_calls.cpp"] = test_calls(table)
    return printed


def symbol_type(cxx):
    match = re.fullmatch(r"(const )?([^&]*?)(&?)", cxx)
    inner = re.fullmatch(r"(optional|ArrayRef)<(.*)>", match[2])
    if inner:
        of = symbol_type(inner[2])
        name = f"{'std' if inner[1] == 'optional' else 'tenon'}::{inner[1]}<{of}{' ' if of.endswith('>') else ''}>"
    else:
        name = SYMBOLS.get(match[2], "tenon::" + match[2])
    return name + (" const" if match[1] else "") + match[3]


def bodies(row):
    """The functions that a row needs and that are not printed, as the library's symbols."""
    def symbol(name, parameters, after=""):
        return f"tenon::{name}({', '.join(symbol_type(TYPES[p.type]) for p in parameters)}){after}"
    scope = row.scope + "::" if row.scope else ""
    if row.section == IN_PLACE:
        yield symbol(f"Tensor::{row.name}", row.rest(), " const")
    elif not row.alias:
        yield symbol(("" if "function" in row.forms else "detail::") + scope + row.name, row.parameters)
    if row.out() == "out:body":
        yield symbol(row.name + "_out", [Parameter("Tensor(a!) out"), *out_parameters(row)])


def check_bodies(table, library):
    said = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    there = {line.split(" ", 2)[2] for line in said.split("\n") if " T " in line}
    wrong = 0
    for row in table.rows:
        for symbol in bodies(row):
            if symbol in there:
                continue
            wrong += 1
            print(f"{TABLE.relative_to(ROOT)}:{row.line}: no body of {symbol}")
            name = symbol.split("(")[0] + "("
            for other in sorted(s for s in there if s.startswith(name)):
                print(f"  there is {other}")
    return wrong > 0


WRONG = {  # a row that is refused beside `exp`, and a part of what is said of it
    "exp(Tensor self) -> Tensor | function": "the same parameters as in line",
    "f(Tensor self) -> Tensor": "no row",
    "f(Tensor self) -> Tensor | function inplace": "no form, or twice: inplace",
    "f(Tensor self) -> Tensor | function function": "no form, or twice: function",
    "f(Tensor self) -> Tensor | function out out:more": "two forms of out",
    "f(tensor self) -> Tensor | function": "no type of a parameter: tensor",
    "f(Tensor self) -> Tensors | function": "no type of a result: Tensors",
    "f(Tensor x) -> Tensor | function method": "needs a parameter `Tensor self`",
    "f(Tensor self) -> Tensor | function function_": "which is missing",
    "f(Tensor self) -> Tensor[] | function out": "one tensor or two",
    "f(Tensor self) -> Tensor | function | = g": "no row has the name g",
    "f(Tensor self) -> Tensor | function | = op Exq": "ops.def has no elementwise operation Exq",
    "f(Tensor self, Tensor other) -> Tensor | function | = op Exp": "the operation Exp takes 1, the function 2",
    "f(Tensor self, Scalar other) -> Tensor | function | = op Atan2": "the operation Atan2 does not take Scalar",
    "f(Tensor self, Tensor other) -> Tensor | function | = op Atan2 saving result": "only an operation of one operand",
    "f(Tensor self) -> Tensor | function | = op Exp saving both": "no row",
    "f(Tensor self) -> Tensor | function | = op Not": "none of floats alone",
    "f(Tensor self) -> Tensor | method | = op Exp": "one of tenon:: that takes a Tensor",
    "f(str self) -> Tensor | function | = op Exp": "one of tenon:: that takes a Tensor",
    "f_(Tensor(a!) self) -> Tensor(a!) | method": "stands in the section `in place`",
    "exp.new(Tensor self, TensorOptions options={}) -> Tensor | function out": "its out form is that of line",
}


def self_test():
    begin = "== test.h < tenon/types.h\nexp(Tensor self) -> Tensor | function method method_ out\n"
    Table(begin)
    failed = 0
    for row, words in WRONG.items():
        try:
            Table(begin + row)
            said = "nothing"
        except SystemExit as refused:
            said = str(refused)
        if words not in said or "functions.def:3: " not in said:
            failed += 1
            print(f"{row}\n  should say: {words}\n  says: {said}")
    return failed > 0


def write(printed, table, script):
    """Writes the files that differ, or with --check names them."""
    differ = []
    for name, text in printed.items():
        path = ROOT / name
        if path.exists() and path.read_text() == text:
            continue
        differ.append(name)
        if "--check" not in sys.argv:
            path.write_text(text)
    for name in differ:
        print(f"{name}: {'differs from what the table prints' if '--check' in sys.argv else 'written'}")
    if differ and "--check" in sys.argv:
        print(f"change {table}, not what is printed from it, and run {script}")
        return 1
    return 0


def main():
    if "--self-test" in sys.argv:
        return self_test()
    if "--bodies" in sys.argv:
        return check_bodies(Table(TABLE.read_text()), sys.argv[-1])
    return write(files(Table(TABLE.read_text())), "frontend/functions.def", "scripts/print/make_functions.py")


if __name__ == "__main__":
    sys.exit(main())
