#!/usr/bin/env python3
"""Checks the IR in docs/*.md and README.md. Each fenced block ```graph, ```kernel, ```call or ```looptree must parse and print the same; with
the comment

    <!-- tenon-opt ARGUMENTS < PAGE#NAME -->

on the line before it, it must be what `tenon-opt ARGUMENTS` prints for the block @NAME of that page (or of this one if
PAGE is left out). A block of any language after <!-- the end of FILE --> must be just that. Links between pages must lead
somewhere, the files that pages and comments name must exist, and the page of graphs must count the operations right.

Usage: check_docs.py TENON_OPT [--update]     --update writes what tenon-opt prints into the pages
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?:^<!-- tenon-opt (?P<args>[^<\n]*)< *(?P<page>[\w.]*)#(?P<name>[\w.]+) -->\n)?"
                   r"^```(?P<level>graph|kernel|call|looptree)\n(?P<text>.*?)^```$", re.M | re.S)
QUOTE = re.compile(r"^<!-- the end of (?P<file>\S+) -->\n```\w*\n(?P<text>.*?)^```$", re.M | re.S)
FLOORS = "ir|passes|codegen|compiler|runtime|frontend"
FILE_NAME = re.compile(rf"(?<![\w/<\"])((?:{FLOORS}|tests|docs|scripts|tools|examples|bench)/[\w/]+\.(?:h|cpp|def|py|md|sh))\b")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def tenon_opt(program, arguments, text):
    """What tenon-opt prints for `text`, and what it complains about."""
    result = subprocess.run([program, *arguments, "-"], input=text, capture_output=True, text=True)
    return result.stdout, result.stderr.strip() if result.returncode else ""


def find_block(page, name):
    for block in BLOCK.finditer(page.read_text()):
        if re.search(rf"@{re.escape(name)}\b", block["text"]):
            return block["text"]
    raise SystemExit(f"{page.name}: no block is named @{name}")


def expected_text(program, page, block):
    """What should stand in the block, and an error if there is one."""
    if block["args"] is None:
        return tenon_opt(program, [], block["text"])
    source = page.parent / block["page"] if block["page"] else page
    return tenon_opt(program, block["args"].split(), find_block(source, block["name"]))


def check_page(program, page, update):
    """Yields the page's faults as text lines."""
    content = page.read_text()
    pieces, position = [], 0
    for block in BLOCK.finditer(content):
        line = content.count("\n", 0, block.start("text"))
        wanted, error = expected_text(program, page, block)
        if error:
            yield f"{page.relative_to(ROOT)}:{line}: {error}"
            wanted = block["text"]
        elif wanted != block["text"] and not update:
            shown = "\n".join("    " + l for l in wanted.splitlines())
            yield f"{page.relative_to(ROOT)}:{line}: tenon-opt prints this instead (check_docs.py --update writes it):\n{shown}"
        pieces += [content[position:block.start("text")], wanted]
        position = block.end("text")
    if update:
        page.write_text("".join(pieces) + content[position:])
    for quote in QUOTE.finditer(content):
        if not (ROOT / quote["file"]).read_text().endswith(quote["text"]):
            yield f"{page.relative_to(ROOT)}:{content.count(chr(10), 0, quote.start()) + 1}: {quote['file']} ends differently"
    for link in LINK.finditer(content):
        if not (page.parent / link[1]).exists():
            line = content.count("\n", 0, link.start()) + 1
            yield f"{page.relative_to(ROOT)}:{line}: the link {link[1]} leads nowhere"


def check_names(file):
    """The files that a page or a source names and that are not there; a new one's in an example begins with my_."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        for name in FILE_NAME.findall(line):
            if not (ROOT / name).exists() and "/my_" not in name:
                yield f"{file.relative_to(ROOT)}:{number}: there is no {name}"


def check_count():
    """The number of operations of a graph, if the page of graphs has another than the table."""
    table = (ROOT / "ir/op/ops.def").read_text().split("kernel and loop-tree level only")[0]
    count = len(re.findall(r"^OP\(", table, re.M))
    if f"**There are {count} operations**" not in (ROOT / "docs/graph.md").read_text():
        yield f"docs/graph.md: there are {count} operations"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    blocks = sum(len(BLOCK.findall(page.read_text())) for page in pages)
    faults = [f for page in pages for f in check_page(arguments[0], page, "--update" in sys.argv)]
    sources = [f for floor in FLOORS.split("|") for f in sorted((ROOT / floor).rglob("*")) if f.suffix in {".h", ".cpp", ".def"}]
    faults += [f for file in [*pages, *sources] for f in check_names(file)]
    faults += check_count()
    print("\n".join(faults) if faults else f"check_docs: {blocks} blocks of IR on {len(pages)} pages are what tenon-opt prints")
    sys.exit(1 if faults or not blocks else 0)


if __name__ == "__main__":
    main()
