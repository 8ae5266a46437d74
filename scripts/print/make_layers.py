#!/usr/bin/env python3
"""Prints what follows from frontend/layers.def: the structs of options, the functions of nn::functional that take them, with the bodies
of those that pass them on, the list of layers, and the optimizers' options and states. What a row may say stands at the top of that file.

  make_layers.py            writes the files
  make_layers.py --check    says which files differ from what the table prints; exits with 1 if one does
  make_layers.py --bodies LIBTENON.SO   says which functions `by hand` have no body in the library
  make_layers.py --self-test   checks that it sees each kind of wrong row
"""
import re
import subprocess
import sys

import make_functions
from make_functions import INCLUDE, ROOT, Wrong, parts, wrapped

TABLE = ROOT / "frontend/layers.def"
PRINTED = "// Printed from frontend/layers.def by scripts/print/make_layers.py.\n"
ROW = re.compile(r"(F::)?(\w+?)(\{([123,]+)\}d|<D>)?(?:\((.*?)\))?(?: -> (.*?))?(?: \| (.*?))?$")
FORWARD = re.compile(r"(?:(\w+): )?(tenon::)?([\w{}]+)(?:\(([\w, ]+)\))?(?: = (\w+)(?:\(([\w:, ]+)\))?)?( by hand)?( with indices)?$")
OPTIMIZER = re.compile(r"optim::(\w+)\((.*)\) remembers( shaped)? \((.*)\)$")
SHOWN = re.compile(r"(?:(?:NAMED|BARE|TUPLE|SIZES|PADDING|ON|GIVEN|PYTHON|LIBTORCH)\((\w+)\)|NO_BRACKETS) ?")
TYPES = {"bool": "bool", "int": "int64_t", "int32": "int", "float": "double", "str": "std::string", "Tensor?": "Tensor", "bool?": "optional<bool>",
         "int?": "optional<int64_t>", "float?": "optional<double>", "ScalarType?": "optional<ScalarType>", "int[]": "std::vector<int64_t>",
         "int[]?": "optional<std::vector<int64_t>>", "str?": "optional<std::string>", "Tensor[]": "std::vector<Tensor>",
         "float[]?": "optional<std::vector<double>>"}
REDUCTIONS = ("LossReduction", "KLDivLossReduction")
TAKES = {  # types of options that a function's parameter takes
    "Scalar": ("int", "float"), "int[]": ("int[]", "int[D]", "int?[D]", "int[2]"), "Tensor?": ("Tensor?",), "int": ("int",) + REDUCTIONS}


class Option:
    def __init__(self, text, positional):
        declared, _, self.default = text.partition("=")
        self.type, _, self.name = declared.rpartition(" ")
        self.positional = positional
        sized = re.fullmatch(r"int(\??)\[(.+)\]", self.type)
        if sized:
            self.cxx = f"ExpandingArray{'WithOptionalElem' if sized[1] else ''}<{sized[2]}>"
        elif self.type in TYPES:
            self.cxx = TYPES[self.type]
        elif re.match(r"[A-Z]\w*(<.*>)?$|mode_t$|nonlinearity_t$|optional<", self.type):
            self.cxx = self.type
        else:
            raise Wrong(f"no type of an option: {self.type or text}")

    def cxx_default(self):
        value = self.default
        if value == "None":
            return "{}" if self.type == "Tensor?" else "nullopt"
        if value in ("True", "False"):
            return value.lower()
        if value == "[]":
            return "{}"
        if value[0] == "'":
            return '"' + value[1:-1] + '"'
        if re.fullmatch(r"[A-Z]\w+", value):
            return "k" + value
        return value

    def value(self, of):
        return f"reduction_of({of})" if self.type in REDUCTIONS else f"{of}.{self.name}()"


class Options:
    """A struct: its lines of `using`, its fields and whether it is made without arguments."""

    def __init__(self, text):
        self.usings, self.fields = [], []
        words = parts(text)
        if words.count("*") > 1:
            raise Wrong("two `*`")
        positional = True
        for word in words:
            if word == "*":
                positional = False
            elif word.startswith("using "):
                self.usings.append(word)
            else:
                self.fields.append(Option(word, positional))
        names = [f.name for f in self.fields]
        for i, field in enumerate(self.fields):
            if names.count(field.name) > 1:
                raise Wrong(f"two options {field.name}")
            if not positional and not field.positional and not field.default:
                raise Wrong(f"{field.name} is behind `*` and has no default")
            field.follows = field.default in names[:i]
        self.positional = [f for f in self.fields if f.positional]
        self.has_defaults = all(f.default for f in self.positional)
        late = next((f.name for i, f in enumerate(self.positional) if not f.default and any(g.default for g in self.positional[:i])), None)
        if late:
            raise Wrong(f"{late} stands behind an option with a default and has none")

    def struct(self, name, dims, base="", more=()):
        lines = [f"struct {name}{base} {{"] + [f"  {u};" for u in self.usings]
        if self.positional:
            items = [f"{f.cxx} {f.name}" + (f" = {f.cxx_default()}" if f.default else "") for f in self.positional]
            made = [f"{f.name}_({f'std::move({f.name})' if f.cxx.startswith('std::') else f.name})" for f in self.positional]
            made += [f"{f.name}_({f.default})" for f in self.fields if f.follows]
            head = wrapped(f"  {name}", items, "")
            one = f"{head} : {', '.join(made)} {{}}"
            lines.append(one if len(one) <= 120 else f"{head}\n      : " + ",\n        ".join(made) + " {}")
            first = self.positional[0]
            if first.type in REDUCTIONS and len(self.positional) == 1:
                lines += ["  template <Tag tag>", f"  {name}(enumtype::Is<tag> {first.name}) : {first.name}_({first.name}) {{}}"]
        for f in self.fields:
            macro = f"TENON_REDUCTION({f.cxx})" if f.type in REDUCTIONS else f"TENON_ARG({f.cxx}, {f.name})"
            lines.append(f"  {macro}" + ("" if f.positional or f.follows else f" = {f.cxx_default()}") + ";")
        return ("template <size_t D>\n" if dims else "") + "\n".join([*lines, *more]) + "\n};"


class Forward:
    """A layer's forward(): what it calls and what that does with the options."""

    def __init__(self, text):
        match = FORWARD.match(text)
        if not match:
            raise Wrong("no result: own, {C++} or [NAME:] function(operands) [= function | by hand] [with indices]")
        name, direct, self.function, operands, self.callee, renamed, self.by_hand, self.indices = match.groups()
        self.options_name, self.direct = name, bool(direct)
        self.operands = parts(operands or "input")
        self.callee = self.callee or self.function
        self.renamed = {}
        for word in parts(renamed or ""):
            parameter, _, option = word.partition(": ")
            self.renamed[parameter] = option
        if self.by_hand and match[5]:
            raise Wrong("a body by hand and a function that it calls")
        if self.direct and (self.by_hand or self.indices):
            raise Wrong("a function of tenon:: has its body already")

    def call(self, functions, callee, options, of):
        """`tenon::callee(operands, the options as its parameters)`; Wrong if the two differ."""
        rows = functions.get(callee)
        if not rows:
            raise Wrong(f"functions.def has no function {callee}")
        wrong = None
        for row in rows:
            try:
                return self.call_of(row, options, of), row
            except Wrong as error:
                wrong = error
        raise wrong

    def call_of(self, row, options, of):
        count = len(self.operands)
        if len(row.parameters) < count or not all(p.type in ("Tensor", "Tensor(a)") for p in row.parameters[:count]):
            raise Wrong(f"{row.name} does not take {count} tensor{'s' if count > 1 else ''} first")
        left = {f.name: f for f in options.fields if f.name != "inplace"}
        given = list(self.operands)
        needed = count
        for parameter in row.parameters[count:]:
            option = left.pop(self.renamed.get(parameter.name, parameter.name), None)
            if option:
                if option.type != parameter.type and option.type not in TAKES.get(parameter.type, ()):
                    raise Wrong(f"the option {option.name} is {option.type}, the parameter {parameter.name} of {row.name} is {parameter.type}")
                given.append(option.value(of))
                needed = len(given)
            elif parameter.default:
                given.append(parameter.cxx_default())
            else:
                raise Wrong(f"{row.name} needs {parameter.name}, which is no option")
        for name in list(left) + [n for n in self.renamed if n not in [p.name for p in row.parameters]]:
            raise Wrong(f"{row.name} has no parameter {name}")
        return wrapped(f"  return tenon::{row.name}", given[:needed], "")[9:]


class Row:
    def __init__(self, text, line, chapter, comment):
        match = ROW.match(text)
        if not match:
            raise Wrong("no row: NAME(options) -> result | what is shown")
        scope, self.base, suffix, numbers, options, result, self.shown = match.groups()
        self.text, self.line, self.chapter, self.comment = text, line, chapter, comment
        self.functional, self.template = bool(scope), suffix == "<D>"
        self.dims = parts(numbers) if numbers else [None]
        self.same = options[2:] if options and options.startswith("= ") else None
        self.options = Options(options) if options is not None and not self.same else None
        self.own, self.expression, self.forward = result == "own", None, None
        if result and result[0] == "{":
            self.expression = result[1:-1]
        elif result and not self.own:
            self.forward = Forward(result)
        if self.functional and result and not self.forward:
            raise Wrong("options of a function are no layer")
        if self.forward and self.forward.direct and self.functional:
            raise Wrong("a function of tenon:: has its body already")
        if self.template and result:
            raise Wrong("a template of options is no layer")
        if not result and options is None:
            raise Wrong("neither options nor a result")
        if self.shown and not SHOWN.sub("", self.shown + " ").strip() == "":
            raise Wrong(f"no form of what is shown: {SHOWN.sub('', self.shown + ' ').strip()}")

    def suffix(self):
        return "FuncOptions" if self.functional else "Options"

    def is_layer(self):
        return not self.functional and (self.own or self.expression is not None or self.forward is not None)

    def is_generic(self):
        return self.template or self.dims != [None]

    def name(self, dim):
        return self.base + (f"{dim}d" if dim else "")

    def has_weights(self):
        return self.forward is not None and any(f.type == "Tensor?" and f.name == "weight" for f in self.fields())

    def made(self):
        """The layers and functions of the row."""
        layers = [self.name(dim) for dim in self.dims if self.is_layer()]
        return layers + ["F::" + self.forward.function.replace("{D}", dim or "") for dim in self.dims if has_function(self)]

    def fields(self):
        return self.options.fields if self.options else []


class OptimizerRow:
    """An optimizer: its options, and what it remembers of a parameter."""

    def __init__(self, text, comment):
        match = OPTIMIZER.match(text)
        if not match:
            raise Wrong("no optimizer: optim::NAME(options) remembers [shaped] (fields)")
        self.name, self.comment, self.shaped = match[1], comment, "true" if match[3] else "false"
        self.options, self.state = Options(match[2]), Options("*, " + match[4])
        if "lr" not in [f.name for f in self.options.fields]:
            raise Wrong("an optimizer has an option lr")

    def structs(self):
        options, state = self.name + "Options", self.name + "ParamState"
        return self.comment + [
            self.options.struct(options, False, f" : OptimizerCloneableOptions<{options}>", [f"  TENON_OPTIMIZER_OPTIONS({options})"]),
            self.state.struct(state, False, f" : OptimizerCloneableParamState<{state}>", [f"  TENON_OPTIMIZER_STATE({state}, {self.shaped})"]),
            f"TENON_OPTIMIZER({self.name}, {'= {}' if self.options.has_defaults else ''})", ""]

    def fields(self):
        return [f"TENON_FIELDS({self.name}{kind}, {' '.join(f'FIELD({f.name})' for f in of.fields)})"
                for kind, of in (("Options", self.options), ("ParamState", self.state))]


class Table:
    def __init__(self, text, functions):
        self.rows, self.optimizers, errors, chapter, comment = [], [], [], "", []
        self.functions = {}
        for row in functions.rows:
            if not row.scope and "function" in row.forms:
                self.functions.setdefault(row.name, []).append(row)
        structs, made = {}, {}
        for number, line in enumerate(text.split("\n"), 1):
            if line.startswith("-- "):
                chapter = line[3:]
            elif line.startswith("//"):
                comment.append(line)
            elif line and line[0] != "#":
                try:
                    if line.startswith("optim::"):
                        self.optimizers.append(OptimizerRow(line, comment))
                        continue
                    row = Row(line, number, chapter, comment)
                    self.resolve(row, structs)
                    self.check(row)
                    for name in row.made():
                        if name in made:
                            raise Wrong(f"{name} is made by line {made[name]}")
                        made[name] = number
                    self.rows.append(row)
                except Wrong as wrong:
                    errors.append(f"{TABLE.relative_to(ROOT)}:{number}: {wrong}")
                finally:
                    comment = []
        if errors:
            raise SystemExit("\n".join(errors))

    @staticmethod
    def resolve(row, structs):
        """Gives a row the options of the one that it names."""
        if row.same:
            wanted = re.sub(r"<\w>$", "", row.same)
            if wanted not in structs:
                raise Wrong(f"no row above has options {wanted}")
            row.options = structs[wanted]
        if row.options:
            numbered = f"{{{','.join(row.dims)}}}d" if row.same and row.dims != [None] else ""
            key = ("F::" if row.functional else "") + row.base + numbered
            if key in structs:
                raise Wrong(f"two rows {key}")
            structs[key] = row.options

    def check(self, row):
        names = {f.name for f in row.fields()}
        for match in SHOWN.finditer((row.shown or "") + " "):
            if match[1] and match[1] not in names:
                raise Wrong(f"{match[1]} is shown and is no option")
        if row.shown and not row.is_layer():
            raise Wrong("what is shown of no layer")
        if row.expression is not None:
            for name in re.findall(r"\boptions\.(\w+)\(", row.expression):
                if name not in names:
                    raise Wrong(f"{name} is used and is no option")
        if row.forward and not row.forward.by_hand:
            for dim in row.dims:
                self.calls(row, dim)

    def calls(self, row, dim):
        """The calls in the function's body and in that of its form with indices."""
        forward, options = row.forward, row.options or Options("")
        of = "options"
        callee = forward.callee.replace("{D}", dim or "")
        call, function = forward.call(self.functions, callee, options, of)
        pair = None
        if forward.indices and callee + "_with_indices" in self.functions:
            pair, _ = forward.call(self.functions, callee + "_with_indices", options, of)
        elif forward.indices:
            pair, call = call, f"std::get<0>({call})"
        results = function.results()
        if results != 1 and not forward.indices:
            raise Wrong(f"{callee} gives {results} tensors")
        return call, pair


def struct_name(name):
    base, _, dim = name.partition("<")
    suffix = "FuncOptions" if base.startswith("F::") else "Options"
    return base.removeprefix("F::") + suffix + (f"<{dim}" if dim else "")


def chaptered(rows, text):
    out, before = [], None
    for row in rows:
        lines = text(row)
        if lines and row.chapter != before:
            before = row.chapter
            out.append(f"\n// --- {row.chapter}")
        out += lines
    return "\n".join(out)


def structs_of(row):
    lines = []
    name = struct_name(("F::" if row.functional else "") + row.base)
    if row.options and not row.same:
        lines += row.comment + [row.options.struct(name, row.is_generic())]
    if row.options and not row.template and (row.same or row.is_generic()):
        of = struct_name(row.same) if row.same else name + "<D>"
        lines += [f"using {row.name(dim)}{row.suffix()} = {of.replace('<D>', f'<{dim}>')};" for dim in row.dims]
    return lines


def function_structs_of(row):
    if row.functional:
        return structs_of(row)
    if not has_function(row) or not row.options:
        return []
    return [f"using {options_name(row, dim)}FuncOptions = {row.name(dim)}Options;" for dim in row.dims]


def options_header(table):
    return PRINTED + """// The options that functions of tenon/nn/functional.h and modules take, in LibTorch's style: each field has a
// setter that returns the options, and a getter of the same name.
//
//   F::max_pool2d(x, F::MaxPool2dFuncOptions(3).stride(2).padding(1))
#pragma once

#include "tenon/nn/arg.h"

namespace tenon::nn {

#define TENON_REDUCTION(T) \\
 public:                   \\
  using reduction_t = T;   \\
  TENON_ARG(reduction_t, reduction)
""" + chaptered([r for r in table.rows if not r.functional], structs_of) + """
#undef TENON_REDUCTION

namespace functional {
""" + chaptered(table.rows, function_structs_of) + """

}  // namespace functional
}  // namespace tenon::nn
"""


def options_name(row, dim):
    return row.forward.options_name or row.name(dim)


def signatures(row, default):
    """The result, name and parameters of each function of a row, with whether it gives indices."""
    forward = row.forward
    tensor = "Tensor" if any(f.name == "inplace" for f in row.fields()) else "const Operand&"
    for dim in row.dims:
        items = [f"{tensor} {name}" for name in forward.operands]
        if row.options:
            items.append(f"const {options_name(row, dim)}FuncOptions& options" + (" = {}" if default and row.options.has_defaults else ""))
        name = forward.function.replace("{D}", dim or "")
        yield dim, f"Tensor {name}", items, False
        if forward.indices:
            yield dim, f"std::tuple<Tensor, Tensor> {name}_with_indices", items, True


def has_function(row):
    return row.forward is not None and not row.forward.direct


def functions_header(table):
    return PRINTED + """// torch::nn::functional: the operators of tenon/neural.h with their options as structs.
//
//   namespace F = tenon::nn::functional;
//   F::conv2d(x, weight, F::Conv2dFuncOptions().bias(b).stride(2).padding(kSame));
//   F::cross_entropy(scores, classes, F::CrossEntropyFuncOptions().label_smoothing(0.1));
#pragma once

#include "tenon/neural.h"
#include "tenon/nn/functional_more.h"  // IWYU pragma: export
#include "tenon/nn/options.h"

namespace tenon::nn::functional {
""" + chaptered([r for r in table.rows if has_function(r)],
                lambda row: [wrapped(head, items, ";") for _, head, items, _ in signatures(row, True)]) + """

}  // namespace tenon::nn::functional
"""


def bodies_of(table, row):
    lines = []
    for dim, head, items, indices in signatures(row, False):
        call, pair = table.calls(row, dim)
        call = pair if indices else call
        if any(f.name == "inplace" for f in row.fields()):
            taken = row.forward.operands[0]
            call = f"placed({taken}, options.inplace(), [&](const Tensor& {taken}) {{ return {call}; }})"
        lines.append(wrapped(head, items, " {") + f"\n  return {call};\n}}")
    return lines


def functions_source(table):
    return PRINTED + """// The functions of nn::functional that pass their options to a function of tenon.
#include "frontend/src/nn/call_options.h"
#include "tenon/nn/functional.h"
#include "tenon/tenon.h"

namespace tenon::nn::functional {
""" + chaptered([r for r in table.rows if has_function(r) and not r.forward.by_hand], lambda row: bodies_of(table, row)) + """

}  // namespace tenon::nn::functional
"""


def layer(table, row, dim):
    name, shown = row.name(dim), row.shown or ""
    if row.own:
        return f"TENON_OWN({name})"
    if row.expression is not None:
        operands, result = ["input"], row.expression
    else:
        forward = row.forward
        operands = forward.operands
        function = forward.function.replace("{D}", dim or "")
        if forward.indices:
            return f"TENON_POOL({name}, {function}, {shown})"
        if row.has_weights():
            return f"TENON_WEIGHTED({name}, {function}, {shown})"
        given = operands + (["options"] if row.options else [])
        result = table.calls(row, dim)[0] if forward.direct else f"F::{function}({', '.join(given)})"
    taken = ", ".join(f"const Operand& {o}" for o in operands)
    return f"TENON_LAYER({name}, ({taken}), {result}, {shown})" if row.options else f"TENON_PLAIN({name}, ({taken}), {result})"


def layer_list(table):
    return PRINTED + """// Every layer. From the rows come the classes that only forward to a function (layers.h), their bodies and printed forms
// (forward_layers.cpp) and the clones of all (clone.cpp).
//
//   TENON_LAYER(name, parameters, result, shown)  forward(parameters) gives the result, which may use `options` and is_training()
//   TENON_PLAIN(name, parameters, result)         the same without options
//   TENON_POOL(name, function, shown)             F::function; forward_with_indices() gives the places of the maxima too
//   TENON_WEIGHTED(name, function, shown)         a loss; the weights in its options become buffers
//   TENON_OWN(name)                               a class by hand
#ifndef TENON_OWN
#define TENON_OWN(name)
#endif
#ifndef TENON_LAYER
#define TENON_LAYER(name, parameters, result, shown) TENON_OWN(name)
#define TENON_PLAIN(name, parameters, result) TENON_OWN(name)
#define TENON_POOL(name, function, shown) TENON_OWN(name)
#define TENON_WEIGHTED(name, function, shown) TENON_OWN(name)
#endif
""" + chaptered([r for r in table.rows if r.is_layer()], lambda row: [layer(table, row, dim) for dim in row.dims]) + """

#undef TENON_LAYER
#undef TENON_OWN
#undef TENON_PLAIN
#undef TENON_POOL
#undef TENON_WEIGHTED
"""


def optimizers_header(table):
    return PRINTED + """// The optimizers: their options, what each remembers of a parameter, and the classes. A part of tenon/optim.h.

namespace tenon::optim {

""" + "\n".join(line for row in table.optimizers for line in row.structs()) + """
}  // namespace tenon::optim
"""


def optimizer_fields(table):
    return PRINTED + """// The fields of the optimizers' options and states, in their order. A part of optimizer.h.
#pragma once

#include "frontend/src/optim/fields.h"

namespace tenon::optim {

""" + "\n".join(line for row in table.optimizers for line in row.fields()) + """

}  // namespace tenon::optim
"""


def files(table):
    return {INCLUDE + "optimizers.h": optimizers_header(table), "frontend/src/optim/printed_fields.h": optimizer_fields(table),
            INCLUDE + "nn/options.h": options_header(table), INCLUDE + "nn/functional.h": functions_header(table),
            INCLUDE + "nn/layer_list.def": layer_list(table), "frontend/src/nn/printed_functional.cpp": functions_source(table)}


def check_bodies(table, library):
    said = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    there = re.findall(r" T (tenon::nn::functional::\w+)\(", said)
    wrong = 0
    for row in table.rows:
        for _, head, _, _ in signatures(row, False) if has_function(row) else ():
            if f"tenon::nn::functional::{head.split()[-1]}" not in there:
                wrong += 1
                print(f"{TABLE.relative_to(ROOT)}:{row.line}: no body of F::{head.split()[-1]}")
    return wrong > 0


WRONG = {  # a row that is refused beside `Dim(int dim)` and `Mish -> mish`, and a part of what is said of it
    "Dim(int dim)": "two rows Dim",
    "Mish -> own": "Mish is made by line 3",
    "A -> mish": "F::mish is made by line 3",
    "A": "neither options nor a result",
    "A(= B)": "no row above has options B",
    "A(thing x=1)": "no type of an option: thing",
    "A(*, float x)": "x is behind `*` and has no default",
    "A(float x=1, float y)": "y stands behind an option with a default",
    "A(float x, float x)": "two options x",
    "A(*, float x=1, *)": "two `*`",
    "A(float x) | NAMED(x)": "what is shown of no layer",
    "F::A(float x) -> own": "options of a function are no layer",
    "F::A(float x) -> relu": "relu has no parameter x",
    "A<D>(int[D] x) -> relu": "a template of options is no layer",
    "A -> relu, elu": "no result",
    "A -> {softmax(input, options.dim())}": "dim is used and is no option",
    "A(*, float alpha=1) -> celu | NAMED(beta)": "beta is shown and is no option",
    "A(*, float alpha=1) -> celu | BOLD(alpha)": "no form of what is shown: BOLD(alpha)",
    "A -> no_such_function": "functions.def has no function no_such_function",
    "A(*, float beta=1) -> celu": "celu has no parameter beta",
    "A(*, str alpha='x') -> celu": "the option alpha is str, the parameter alpha of celu is Scalar",
    "A(float lambda=1) -> hardshrink = hardshrink(lambda: lambda)": "hardshrink has no parameter lambda",
    "A -> threshold": "threshold needs threshold, which is no option",
    "A -> relu(a, b)": "relu does not take 2 tensors first",
    "A{1,2,3}d(int[D] output_size) -> adaptive_max_pool{D}d": "adaptive_max_pool1d gives 2 tensors",
    "A -> relu = relu by hand": "a body by hand and a function that it calls",
    "optim::A(float lr=1)": "no optimizer",
    "optim::A(float rate=1) remembers (int step=0)": "an optimizer has an option lr",
    "optim::A(float lr=1) remembers (int step)": "step is behind `*` and has no default",
    "A -> tenon::relu by hand": "a function of tenon:: has its body already",
}


def self_test(functions):
    begin = "-- test\nDim(int dim)\nMish -> mish\n"
    Table(begin, functions)
    failed = 0
    for row, words in WRONG.items():
        try:
            Table(begin + row, functions)
            said = "nothing"
        except SystemExit as refused:
            said = str(refused)
        if words not in said or "layers.def:4: " not in said:
            failed += 1
            print(f"{row}\n  should say: {words}\n  says: {said}")
    return failed > 0


def main():
    functions = make_functions.Table(make_functions.TABLE.read_text())
    if "--self-test" in sys.argv:
        return self_test(functions)
    table = Table(TABLE.read_text(), functions)
    if "--bodies" in sys.argv:
        return check_bodies(table, sys.argv[-1])
    return make_functions.write(files(table), "frontend/layers.def", "scripts/print/make_layers.py")


if __name__ == "__main__":
    sys.exit(main())
