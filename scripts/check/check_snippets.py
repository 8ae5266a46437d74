#!/usr/bin/env python3
"""Compiles and runs the C++ in README.md and the user pages. The ```cpp blocks of a page are one program, in their order: includes,
`using namespace` and namespace aliases go to the top, the rest into main, and nothing is added; a block with a main of its own is its own program. A comment

    <!-- given
    Tensor x = ones({2});
    -->

before a block is code that the reader is not shown. A ```text block right after a block is what that block prints.

Usage: check_snippets.py LIBRARY_FOLDER [PAGE...]     the folder that holds libtenon.so
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs/read_what_it_compiled.md", *sorted((ROOT / "docs/use").glob("*.md"))]
BLOCK = re.compile(r"(?:^<!-- given\n(?P<given>.*?)^-->\n)?^```cpp\n(?P<code>.*?)^```\n(?:```text\n(?P<prints>.*?)^```$)?", re.M | re.S)
TOP = re.compile(r"^(#include .*|using namespace .*|namespace \w+ = .*)$", re.M)
MARK = "\x1e"  # between the outputs of two blocks


def program(blocks):
    """One program of several blocks; each block's output ends with a mark."""
    top, body = [], []
    for block in blocks:
        code = (block["given"] or "") + block["code"]
        top += [line for line in TOP.findall(code) if line not in top]
        body.append(TOP.sub("", code) + f'std::cout << "\\x1e";\n')
    return "\n".join(top) + "\nint main() {\n" + "\n".join(body) + "}\n"


def run(source, library, folder):
    """What the program prints, and what went wrong."""
    file, binary = folder / "page.cpp", folder / "page"
    file.write_text(source)
    compiled = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O0", "-w", f"-I{ROOT}/frontend/include", str(file), "-o", str(binary),
                               f"-L{library}", "-ltenon", f"-Wl,-rpath,{library}"], capture_output=True, text=True)
    if compiled.returncode:
        return "", compiled.stderr
    done = subprocess.run([str(binary)], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.stdout, f"exit status {done.returncode}: {done.stderr}" if done.returncode else ""


def check(page, library, folder):
    blocks = list(BLOCK.finditer(page.read_text()))
    alone = [b for b in blocks if "int main(" in b["code"]]
    together = [b for b in blocks if b not in alone]
    for group, source in [([b], b["code"]) for b in alone] + ([(together, program(together))] if together else []):
        out, error = run(source, library, folder)
        if error:
            yield f"{page.relative_to(ROOT)}: {error}"
            continue
        for block, printed in zip(group, out.split(MARK)):
            if block["prints"] is not None and printed != block["prints"]:
                yield f"{page.relative_to(ROOT)}: a block prints\n{printed}instead of\n{block['prints']}"


def main():
    library, pages = pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(p).resolve() for p in sys.argv[2:]] or PAGES
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            for fault in check(page, library, pathlib.Path(folder)):
                faults += 1
                print(fault)
    print(f"check_snippets: {len(pages)} pages, {faults} faults")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
