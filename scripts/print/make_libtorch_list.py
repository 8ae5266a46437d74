#!/usr/bin/env python3
"""Writes docs/libtorch_names.md: every class and function of LibTorch's nn, optim and data, and whether Tenon has it.

  make_libtorch_list.py                  writes the page: the compiler is asked for each name of scripts/print/libtorch_names.json
  make_libtorch_list.py --check          says where the page is wrong; exits with 1 if it is
  make_libtorch_list.py --names INCLUDE  writes the names anew, from LibTorch's headers in the folder INCLUDE
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import make_function_list

ROOT = make_function_list.ROOT
NAMES = ROOT / "scripts/print/libtorch_names.json"
PAGE = ROOT / "docs/libtorch_names.md"

# Why a name is not there, by a pattern that it matches.
REASONS = {
    r"torch::nn::\w+Impl(Base)?": "what layers of several dims share inside LibTorch; a program names the layers",
    r"torch::nn::(\w+PoolOptions|\w+PadOptions)|torch::nn::functional::MaxUnpoolFuncOptions":
        "a template over the number of dims; the options with a number (`1d`, `2d`, `3d`) are there",
    r"torch::nn::AnyModule(Holder|Placeholder)": "what an `AnyModule` is made of inside LibTorch",
    r"torch::nn::functions::CrossMapLRN2d": "the layer's autograd function; `nn::CrossMapLRN2d` is there",
    r"torch::optim::(serialize|deque_to_list|list_to_deque)": "what optimisers of LibTorch are written to archives with; `save` and `load` are there",
}


class Names(make_function_list.Reader):
    """Also aliases and the Impl classes."""

    def open(self, header):
        match = re.search(r"\b(class|struct)\s+(?:TORCH_API\s+)?(\w+Impl)\b[^()]*$", "".join(self.words))
        if match and self.public():
            self.note(header, match[2], "class")
        return super().open(header)

    def declare(self, header):
        match = re.match(r"using (\w+) =|typedef .*?(\w+)$", "".join(self.words).strip(), re.S)
        if match and self.public():
            return self.note(header, match[1] or match[2], "using")
        return super().declare(header)


def libtorch_names(include):
    api = include / "torch/csrc/api/include"
    run = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-E", "-C", f"-I{include}", f"-I{api}", "-x", "c++", "-"],
                         input="#include <torch/torch.h>\n", capture_output=True, text=True, check=True)
    header, rows = None, []
    for row in run.stdout.split("\n"):
        if marker := re.match(r'# \d+ "([^"]*)"', row):
            path = Path(marker[1])
            header = str(path.relative_to(api)) if path.is_relative_to(api) else None
        elif header and re.match(r"torch/(nn|optim|data)\b", header):
            rows.append((header, re.sub(r"__attribute__\(\([^()]*(\([^()]*\))?\)\)|\[\[.*?\]\]", "", row)))
    reader = Names()
    reader.read(rows)
    classes = {f"{entry['scope']}::{entry['name']}" for entry in reader.found if entry["signature"].startswith(("class", "struct"))}
    names = {}
    for entry in reader.found:
        is_free = entry["scope"] not in classes and entry["scope"].startswith(("torch::nn", "torch::optim", "torch::data"))
        if is_free and "operator" not in entry["name"] and not entry["name"].startswith("_"):
            names.setdefault(entry["scope"], set()).add(entry["name"])
    there = present(names, "torch/torch.h", [f"-I{include}", f"-I{api}"])  # and not a method that was read as a function
    found = {scope: sorted(name for name in names[scope] if f"{scope}::{name}" in there) for scope in sorted(names)}
    return {scope: found[scope] for scope in found if found[scope]}


def present(names, header, options):
    """The names, with their scopes, that a program can use which includes the header."""
    every = [f"{scope}::{name}" for scope in names for name in names[scope]]
    source = f"#include <{header}>\n#line 1\n" + "".join(f"namespace probe_{i} {{ using {name}; }}\n" for i, name in enumerate(every))
    compiler = os.environ.get("CXX", "c++")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    every_error = ["-ferror-limit=0"] if "clang" in version else []
    run = subprocess.run([compiler, "-std=c++20", "-w", "-fsyntax-only", *every_error, *options, "-x", "c++", "-"],
                         input=source, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    missing = {int(line) - 1 for line in re.findall(r"^<stdin>:(\d+):\d+: error", run.stderr, re.M)}
    return {name for i, name in enumerate(every) if i not in missing}


def page(names):
    here = present(names, "tenon/compat.h", [f"-I{make_function_list.INCLUDE}"])
    total = sum(len(names[scope]) for scope in names)
    out = ["# LibTorch's names", "",
           f"Of {total} classes, functions and types that LibTorch's headers of nn, optim and data declare, Tenon has {len(here)} under the same",
           "names, for a program that includes `tenon/compat.h`. `scripts/print/make_libtorch_list.py` writes this page: the compiler says which are",
           "there, and a test holds the page to it. What each does is in [Every function](functions.md).", ""]
    for scope in names:
        missing = [name for name in names[scope] if f"{scope}::{name}" not in here]
        out += [f"## {scope}", "", f"{len(names[scope]) - len(missing)} of {len(names[scope])}.", ""]
        if missing:
            out += ["| not there | why |", "| --- | --- |"]
            for name in missing:
                why = next((reason for pattern, reason in REASONS.items() if re.fullmatch(pattern, f"{scope}::{name}")), None)
                if why is None:
                    sys.exit(f"{scope}::{name} is not there, and REASONS does not say why")
                out.append(f"| {name} | {why} |")
            out.append("")
        there = ", ".join(f"`{name}`" for name in names[scope] if name not in missing)
        if there:
            out += [there, ""]
    return "\n".join(out)


def main():
    if "--names" in sys.argv:
        names = libtorch_names(Path(sys.argv[-1]))
        NAMES.write_text(json.dumps(names, indent=0) + "\n")
        print(f"{sum(map(len, names.values()))} names")
        return 0
    text = page(json.loads(NAMES.read_text()))
    if "--check" not in sys.argv:
        PAGE.write_text(text)
        return 0
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    old = set(PAGE.read_text().split("\n")) if PAGE.exists() else set()
    for line in sorted(set(text.split("\n")) ^ old):
        print("the page lacks:" if line not in old else "the page has too much:", line[:160])
    print("run scripts/print/make_libtorch_list.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
