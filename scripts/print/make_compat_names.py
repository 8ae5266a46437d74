#!/usr/bin/env python3
"""Writes frontend/include/tenon/compat_names.h: the names of namespace tenon once more in a real namespace torch, which a
program may reopen. Asks clang++ (as an editor does, by code completion) what tenon and each namespace in it has.

  make_compat_names.py            writes the header
  make_compat_names.py --check    says what the header lacks or has too much; exits with 1 if it does
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "frontend/include"
HEADER = INCLUDE / "tenon/compat_names.h"
NAMESPACES = {name for header in INCLUDE.glob("tenon/**/*.h") if header != HEADER
              for path in re.findall(r"^(?:inline )?namespace ([\w:]+)", header.read_text(), re.M) for name in path.split("::")}
TOP = """\
// The names of namespace tenon in a real namespace torch, which a program may reopen, as it may each namespace in it. They
// are using-declarations wherever there are namespaces inside: after a using-directive for tenon, `using namespace torch;` would find two
// namespaces nn. Written by scripts/print/make_compat_names.py, checked by a test; a part of tenon/compat.h.
"""


def members(folder, namespace):
    """The names in a namespace, and the namespaces among them."""
    source, before = folder / "names.cpp", f"void f() {{ {namespace}::"
    source.write_text(f"{before} ;\n")
    run = subprocess.run(["clang++", "-std=c++20", "-fsyntax-only", "-include-pch", folder / "compat.pch", "-Xclang",
                          f"-code-completion-at={source}:1:{len(before) + 1}", source], capture_output=True, text=True, check=False)
    names = set(re.findall(r"^COMPLETION: (\w+) ", run.stdout, re.M)) - {"operator"}
    shown_bare = set(re.findall(r"^COMPLETION: (\w+) : \1$", run.stdout, re.M))  # as classes and enumerations are
    inside = (shown_bare & NAMESPACES) - {namespace.split("::")[-1]}  # the last: an enumeration of the namespace's own name
    return sorted(names - inside), sorted(inside)


def block(folder, namespace):
    names, inside = members(folder, namespace)
    torch = namespace.replace("tenon", "torch", 1)
    rows = "".join(f"using ::{namespace}::{name};\n" for name in names) if inside else f"using namespace ::{namespace};\n"
    nested = "".join(block(folder, f"{namespace}::{name}") for name in inside)
    return f"\nnamespace {torch} {{\n{rows}}}  // namespace {torch}\n" + nested


def header():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "compat.h").write_text("#define TENON_NO_COMPAT_NAMES\n#include <tenon/compat.h>\n")
        subprocess.run(["clang++", "-std=c++20", f"-I{INCLUDE}", "-x", "c++-header", folder / "compat.h", "-o", folder / "compat.pch"], check=True)
        return TOP + block(folder, "tenon")


if not shutil.which("clang++"):
    print("skipped: no clang++ here")
    sys.exit(0)
text = header()
if "--check" not in sys.argv:
    HEADER.write_text(text)
elif HEADER.read_text() != text:
    ours, theirs = set(HEADER.read_text().splitlines()), set(text.splitlines())
    for row in sorted(theirs - ours):
        print("missing:", row)
    for row in sorted(ours - theirs):
        print("too much:", row)
    print("run scripts/print/make_compat_names.py")
    sys.exit(1)
