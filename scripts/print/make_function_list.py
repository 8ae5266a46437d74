#!/usr/bin/env python3
"""Writes docs/functions.md: every public function, method and module, with its header, signature, one line about it and
PyTorch's name. Reads the headers as the compiler sees them, so what macros declare is there too.

  make_function_list.py            writes the page
  make_function_list.py --check    says what the page lacks or has too much; exits with 1 if it does
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "frontend/include"
PAGE = ROOT / "docs/functions.md"
TORCH_NAMES = ROOT / "scripts/print/torch_names.json"
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|::|&&|->|\.\.\.|\n|[^\sA-Za-z_]|\s',
                   re.S)
OPERATOR = re.compile(r"operator\s*(\(\)|\[\]|[^\s(\w]{1,3}|[\w:]+)\s*$")
PARTS = {"tensor_methods.h", "tensor_more_methods.h", "tensor_inplace.h", "absent_methods.h", "optimizers.h"}  # of another header
HIDDEN_CLASSES = {"Operand"}  # a parameter type


def preprocessed():
    """The text of Tenon's headers after the preprocessor, as (header, text) in order."""
    headers = sorted(p.relative_to(INCLUDE) for p in INCLUDE.glob("tenon/**/*.h") if p.name not in PARTS)
    source = "".join(f"#include <{h}>\n" for h in ["tenon/tenon.h", *headers])
    compiler = os.environ.get("CXX", "c++")
    run = subprocess.run([compiler, "-std=c++20", "-E", "-C", f"-I{INCLUDE}", "-x", "c++", "-"], input=source,
                         capture_output=True, text=True, check=True)
    header, line, texts = None, 0, []
    for row in run.stdout.split("\n"):
        marker = re.match(r'# (\d+) "([^"]*)"', row)
        if marker:
            path = Path(marker[2])
            header = str(path.relative_to(INCLUDE)) if path.is_relative_to(INCLUDE) else None
            continue
        if header and header not in ("tenon/absent.h", "tenon/absent_methods.h"):  # what it declares does not compile
            texts.append((header, row))
    return texts


def tokens(rows):
    """(header, token) pairs; a line's end is a token too."""
    text, starts, position = [], [], 0
    for header, row in rows:
        starts.append((position, header))
        text.append(row + "\n")
        position += len(row) + 1
    at = 0
    for match in TOKEN.finditer("".join(text)):
        while at + 1 < len(starts) and starts[at + 1][0] <= match.start():
            at += 1
        yield starts[at][1], match[0]


class Reader:
    """Walks the declarations and keeps what is public: (header, section, scope, name, signature, comment)."""

    def __init__(self):
        self.found = []
        self.about = {}      # header -> the sentence at its top
        self.scopes = []     # (kind, name, public)
        self.section = {}
        self.words, self.depth, self.angle = [], 0, 0
        self.comment, self.blank, self.last = [], True, None

    def public(self):
        return all(public and kind in ("namespace", "class") for kind, _, public in self.scopes) and not any(
            name in ("detail", "") for _, name, _ in self.scopes)

    def scope(self):
        return "::".join(name for _, name, _ in self.scopes)

    def read(self, rows):
        skip = 0
        for header, token in tokens(rows):
            if skip:  # a body or an initialiser
                skip += token.count("{") - token.count("}") if len(token) == 1 else 0
                if skip == 0:
                    self.words = []
                continue
            if token == "\n":
                if self.blank and not self.words:
                    self.comment = []
                self.blank = True
                continue
            if token.isspace():
                if self.words:
                    self.words.append(" ")
                continue
            if token.startswith(("//", "/*")):
                self.remark(header, token[2:].strip())
                continue
            self.blank = False
            if token == "{" and self.depth == 0:
                skip = self.open(header)
            elif token == "}" and self.depth == 0:
                if self.scopes:
                    self.scopes.pop()
                self.words = []
            elif token == ";" and self.depth == 0:
                self.declare(header)
                self.words = []
            elif token == ":" and self.depth == 0 and "".join(self.words).strip() in ("public", "private", "protected"):
                kind, name, _ = self.scopes[-1]
                self.scopes[-1] = (kind, name, "".join(self.words).strip() == "public")
                self.words = []
            else:
                self.depth += token in "([" and 1 or 0
                self.depth -= token in ")]" and 1 or 0
                self.words.append(token)

    def remark(self, header, text):
        if text.startswith("Printed from "):
            return
        trailing = not self.blank
        self.blank = False
        if text.startswith("---"):
            self.section[header] = text.strip("- ")
            self.comment = []
        elif trailing and self.last is not None and not "".join(self.words).strip():
            if not self.last["comment"]:
                self.last["comment"] = text
        elif not trailing:
            if not self.comment:
                self.about.setdefault(header, text) if not self.scopes else None
            elif header in self.about and self.about[header] == " ".join(self.comment) and not self.scopes:
                self.about[header] += " " + text
            self.comment.append(text)

    def open(self, header):
        head = "".join(self.words).strip()
        match = re.search(r"\bnamespace\s*([\w:]*)\s*$", head)
        if match:
            self.scopes.append(("namespace", match[1], True))
            self.words = []
            return 0
        bare = re.sub(r"^template\s*<.*?>\s*(requires\b.*?)?(?=class|struct)", "", head, flags=re.S)
        match = re.match(r"(class|struct)\s+(\w+)", bare)
        if match and "(" not in bare:
            if self.public() and not match[2].endswith("Impl") and match[2] not in HIDDEN_CLASSES:
                self.note(header, match[2], f"{match[1]} {match[2]}")
            else:
                self.pass_over()
            self.scopes.append(("class", match[2], match[1] == "struct"))
            self.words = []
            return 0
        if not head.startswith("enum"):
            self.declare(header)
        return 1

    def declare(self, header):
        head = re.sub(r"\s+", " ", "".join(self.words)).strip()
        head = re.sub(r"\[\[\w+\]\] ?", "", head)
        head = re.sub(r"^template <> ?", "", head)
        paren = self.first_paren(head)
        if paren < 0 or not self.public() or re.match(r"(using|typedef|friend|static_assert|extern)\b", head):
            return self.pass_over()
        before = head[:paren].rstrip()
        match = OPERATOR.search(before) or re.search(r"(~?\w+)$", before)
        deleted = head.endswith("delete")
        if not match or deleted or ("=" in before and "operator" not in before):
            return self.pass_over()
        name = match[0].strip()
        kind, owner, _ = self.scopes[-1] if self.scopes else ("", "", True)
        if kind == "class":
            if name in (owner, "~" + owner) or "operator" in before or owner.endswith("Impl"):
                return self.pass_over()
            if re.match(r"auto \w+\(.* new_\w+\) ?->", head):  # an option: its setter says all
                head = re.sub(r"^auto (\w+)\((.*) new_.*", r"\1(\2)", head)
            elif name == "pretty_print" or re.search(rf"& {name}\(\)( const)? noexcept$", head):
                return self.pass_over()
        while re.match(r"(inline|constexpr|static|virtual|explicit) ", head):
            head = head.split(" ", 1)[1]
        self.note(header, name, head)

    def pass_over(self):
        self.comment, self.last = [], None

    @staticmethod
    def first_paren(head):
        if "operator()" in head:
            return head.index("operator()") + len("operator()")
        angle = 0
        for i, c in enumerate(head):
            if c == "<" and "operator" not in head[max(0, i - 9):i]:
                angle += 1
            elif c == ">" and angle:
                angle -= 1
            elif c == "(" and not angle and not head[:i].rstrip().endswith("requires"):
                return i
        return -1

    def note(self, header, name, signature):
        scope = self.scope()
        scope = re.sub(r"^tenon(::)?", "", scope)
        signature = re.sub(r" const ?& ?$| && ?$| const$| noexcept$| override$", "", signature)
        signature = signature.replace("const Operand& ", "const Tensor& ").replace("Self", "Tensor")
        signature = signature.replace("detail::no_tensor()", "nullopt")
        self.last = {"header": header, "section": self.section.get(header, ""), "scope": scope, "name": name,
                     "signature": signature, "comment": " ".join(self.comment)}
        self.found.append(self.last)
        self.comment = []


def torch_name(names, scope, name):
    bare = scope.split("::")[-1] if scope else ""
    table = {"": ("torch", "torch.", "torch"), "Tensor": ("Tensor", "Tensor.", "torch.Tensor"),
             "functional": ("F", "F.", "torch.nn.functional"), "nn": ("nn", "nn.", "torch.nn"),
             "linalg": ("linalg", "linalg.", ""), "special": ("special", "special.", ""),
             "optim": ("optim", "optim.", ""), "init": ("init", "nn.init.", "")}.get(bare)
    if table and name in names[table[0]]:
        return f"`{table[1]}{name}`"
    if table and name.removesuffix("_out") in names[table[0]]:
        return f"`{table[1]}{name.removesuffix('_out')}(out=)`"
    return ""


def sentence(text):
    text = re.sub(r"\s+", " ", text.replace("|", "\\|"))
    match = re.match(r".*?[a-z0-9)`\]]{2,}\.(?= |$)", text)
    return (match[0] if match else text).rstrip(".")


def page(found, about):
    names = json.loads(TORCH_NAMES.read_text())
    by_header = {}
    for entry in found:
        rows = by_header.setdefault(entry["header"], {})
        row = rows.setdefault((entry["scope"], entry["name"]), {"signatures": [], "comment": "", "section": entry["section"]})
        if entry["signature"] not in row["signatures"]:
            row["signatures"].append(entry["signature"])
        row["comment"] = row["comment"] or entry["comment"]
    count = sum(len(rows) for rows in by_header.values())
    out = ["# Every function", "",
           f"{count} names, by header. `scripts/print/make_function_list.py` writes this page from the headers, and a test holds it to them.",
           "What stands in a header but not here is for Tenon's own sources. `const Tensor&` stands for `const Operand&`, a tensor as a parameter.",
           "The last column is the name in PyTorch; where it is empty, Tenon or LibTorch's C++ alone has it.", ""]
    for header in sorted(by_header):
        out += [f"## {header.removeprefix('tenon/')}", ""]
        if about.get(header):
            out += [sentence(about[header]) + ".", ""]
        out += ["| name | signature | what | PyTorch |", "| --- | --- | --- | --- |"]
        for (scope, name), row in by_header[header].items():
            shown = f"{scope}::{name}" if scope else name
            signatures = "<br>".join("`" + s.replace("|", "\\|") + "`" for s in row["signatures"])
            what = sentence(row["comment"]) or row["section"].split(":")[0].replace("|", "\\|")
            out.append(f"| {shown.replace('|', chr(92) + '|')} | {signatures} | {what} | {torch_name(names, scope, name)} |")
        out.append("")
    return "\n".join(out)


def main():
    reader = Reader()
    reader.read(preprocessed())
    text = page(reader.found, reader.about)
    if "--check" not in sys.argv:
        PAGE.write_text(text)
        print(f"{PAGE.relative_to(ROOT)}: {len(reader.found)} declarations")
        return 0
    old = set(PAGE.read_text().split("\n")) if PAGE.exists() else set()
    new = set(text.split("\n"))
    for line in sorted(new - old):
        print("the page lacks:", line[:160])
    for line in sorted(old - new):
        print("the headers lack:", line[:160])
    if old != new:
        print("run scripts/print/make_function_list.py")
    return old != new


if __name__ == "__main__":
    sys.exit(main())
