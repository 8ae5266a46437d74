#!/usr/bin/env python3
"""A copy of ir/gradient/gradient.cpp whose rules can be made wrong one at a time, for tests/mutants.

usage: make_gradient_mutants.py OUT

Each operator, number, minus, choice and graph operation in a formula becomes a place with a number of its own; `a * b`
becomes `a * Place{7} * b`, which multiplies unless the mutant at place 7 is on. tests/mutants/mutate.h says which mutants a
place has. Each row of the table is a place too, for its whole result.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPS = r"Op::(?:Sum|Scan\w+|Reduce\w+|Scatter\w*|Sign|Arg\w+|Erfc)\b"
PLACE = re.compile(r" (?P<binary>[-+*/<>&|]|==|>=) (?!\d* *std::)|(?<=[(,*=?:] )(?P<minus>-)(?=[a-z(])|(?<=[(])(?P<paren>-)(?=[a-z(])|"
                   r"(?P<number>\b\d+\.\d+\b|(?<=, )[01](?=\)))|(?P<choice>\bselect)\(|(?P<turn>\b(?:flipped|transposed))\(|(?P<op>" + OPS + ")")
names = []  # of the places: the function or row, and which of its places it is
where = ""


def number():
    names.append(f"{where} #{sum(name.startswith(where + ' #') for name in names)}")
    return len(names)


def marked(text):
    def place(m):
        if m["binary"]:
            return f" {m['binary']} Place{{{number()}}} {m['binary']} "
        if m["minus"] or m["paren"]:
            return f"minus({number()}) * "
        if m["number"]:
            return f"changed({number()}, {m['number']})"
        if m["choice"]:
            return f"Choice{{{number()}}}("
        if m["turn"]:
            return f"Turn{{{number()}}}(&{m['turn']}, "
        return f"changed({number()}, {m['op']})"
    return PLACE.sub(place, text)


def is_formula(line):
    """Not a loop, a declaration of a function, or arithmetic of sizes."""
    code = line.split("//")[0]
    return not re.search(r"\bfor \(|\bwhile \(|\bif \(|^Expr \w+\(const Expr& x, |push_back|^(?!.*return).*Dims |int64_t|size_t|constexpr", code) or (
        code.startswith("Expr ") and "{ return" in code and "flipped(const" not in code and "transposed(const" not in code)


def main():
    global where
    source = (ROOT / "ir/gradient/gradient.cpp").read_text()
    table = (ROOT / "ir/gradient/gradients.def").read_text()
    start, end = source.index("// --- elementwise"), source.index("// --- the table")
    rules = []
    for line in source[start:end].split("\n"):
        if function := re.match(r"\w+ (\w+)\(", line):
            where = function[1]
        if not is_formula(line):
            rules.append(line)
            continue
        head = re.match(r"Expr \w+\([^{]*\) \{", line)  # the parameters of a function on one line
        cut = head.end() if head else 0
        code, *comment = line[cut:].split("//")
        rules.append(line[:cut] + marked(code) + "".join("//" + c for c in comment))
    rows = []
    for line in table.split("\n"):
        m = re.match(r"GRAD\((\w+),( *\w+),( *[\w|]+), *(.*)\)( *//.*)?$", line)
        if m:
            where = f"{m[1]},{m[2].strip()}"
        rows.append(f"GRAD({m[1]},{m[2]},{m[3]}, whole_row({number()}, s, [&]() -> Expr {{ return {marked(m[4])}; }}))" if m and m[1] != "..." else line)
    mutated = source[:start] + '#include "mutants/mutate.h"\n' + "\n".join(rules) + source[end:].replace('#include "ir/gradient/gradients.def"', "\n".join(rows))
    listed = "".join(f'  "{name}",\n' for name in names)
    Path(sys.argv[1]).write_text(f"// Written by scripts/print/make_gradient_mutants.py.\n{mutated}\nnamespace mutants {{\nconst std::vector<std::string> names = {{\n"
                                 f"{listed}}};\n}}\n")


if __name__ == "__main__":
    main()
