#!/usr/bin/env python3
"""Checks what docs/**/*.md, README.md and the comments of sources say. Prints each fault as FILE:LINE: reason and exits 1.

  IR        each fenced block ```graph, ```kernel, ```call or ```looptree parses and prints the same; with <!-- tenon-opt ARGUMENTS < PAGE#NAME -->
            on the line before it, it is what `tenon-opt ARGUMENTS` prints for the block @NAME of that page (of this one without PAGE)
  quotes    a block after <!-- the end of FILE --> is just that
  links     they lead to a page and a heading that are there; docs/README.md and the site's list name each page, and the former each room
  names     a file that a page or a comment names is there: in full, by the end of its path, or by its name alone
  tables    of a table after <!-- the files of FOLDER/ --> each file is in that folder, or in the folder in its row's first cell; with
            <!-- the files of FOLDER/: every .h --> each header there stands in the table
  numbers   those in NUMBERS are those of the sources; the switches in README.md, and their defaults, are those that are read; each
            schedule has a row on its device's page

Usage: check_docs.py TENON_OPT [--update]     --update writes what tenon-opt prints into the pages
       check_docs.py --self-test              a made-up tree with a fault of each kind: fails unless each is found
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:^<!-- tenon-opt (?P<args>[^<\n]*)< *(?P<page>[\w.]*)#(?P<name>[\w.]+) -->\n)?"
                   r"^```(?P<level>graph|kernel|call|looptree)\n(?P<text>.*?)^```$", re.M | re.S)
QUOTE = re.compile(r"^<!-- the end of (?P<file>\S+) -->\n```\w*\n(?P<text>.*?)^```$", re.M | re.S)
TABLE = re.compile(r"^<!-- the files of (?P<folder>\S+?)(?P<all>: every \.h)? -->\n(?P<rows>(?:^\|.*\n)+)", re.M)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")
FILE = r"(?:[\w-]+/)*[A-Za-z_][\w-]*\.(?:h|cpp|def|inc|py|sh|md|ir|cmake)\b"
FILE_NAME = re.compile(rf"(?<![\w/.<${{*-])({FILE})(?![\w(/.])")
NAMED_FILE = re.compile(rf"`({FILE})`")
OWN = re.compile(r"(.*/)?(my_\w+|app|summary)\.\w+")  # a file that the reader is to write, or that a program writes
SOURCES = {".h", ".cpp", ".def", ".inc"}
SKIPPED = {"build", "shared", "__pycache__"}
WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

# What pages say, where {} stands for a number; and the source that has it, with the number in brackets, or with brackets that are counted.
NUMBERS = [
    ("docs/graph.md", "**There are {} operations**", "ir/op/ops.def", r"^(OP\()(?=(?s:.*)--- kernel and loop-tree level only)"),
    ("docs/kernel.md", "a concatenation of up to {} parts", "passes/fusion/fused.h", r"max_guarded_parts = (\d+)"),
    ("docs/looptree.md", "From {} on (`kLongBody`)", "passes/schedule/cpu/context.h", r"kLongBody = (\d+)"),
    ("docs/kernel.md", "in chains of {}, the same for every tile size", "ir/op/sum_order.h", r"kProductChain = (\d+)"),
    ("docs/runtime.md", "A plan that has run {} times (`TENON_OFTEN`)", "runtime/base/options.h", r"int often = (\d+)"),
    ("docs/runtime.md", "is cut into batches\n   of {}, by age", "runtime/base/options.h", r" batch = (\d+)"),
    ("docs/use/when_things_run.md", "too much pending work: {} operations", "runtime/base/options.h", r"max_pending_nodes = (\d+)"),
    ("docs/read_what_it_compiled.md", "are kept for that, up to {} nodes in all", "runtime/plan/past_plans.h", r"kMostNodes = size_t\{1\} << (\d+)"),
]


def all_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        yield from (pathlib.Path(folder, name) for name in sorted(names))


def line_of(text, position):
    return text.count("\n", 0, position) + 1


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


def anchors(page):
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text()), re.M)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", h.lower()).strip()) for h in headings}


class Checker:
    def __init__(self, root, program, numbers=None, update=False):
        self.root, self.program, self.update = root, program, update
        self.numbers = NUMBERS if numbers is None else numbers
        self.files = list(all_files(root))
        self.pages = [root / "README.md", *(f for f in self.files if f.suffix == ".md" and f.is_relative_to(root / "docs"))]
        parts = [f.relative_to(root).parts for f in self.files]
        self.ends = {"/".join(p[i:]) for p in parts for i in range(len(p))}
        self.faults, self.blocks = [], 0

    def fault(self, file, line, reason):
        self.faults.append(f"{file.relative_to(self.root).as_posix()}:{line}: {reason}")

    def check_ir(self, page):
        content = page.read_text()
        pieces, position = [], 0
        for block in BLOCK.finditer(content):
            self.blocks += 1
            line = line_of(content, block.start("text")) - 1
            wanted, error = expected_text(self.program, page, block)
            if error:
                self.fault(page, line, error)
                wanted = block["text"]
            elif wanted != block["text"] and not self.update:
                shown = "\n".join("    " + l for l in wanted.splitlines())
                self.fault(page, line, f"tenon-opt prints this instead (check_docs.py --update writes it):\n{shown}")
            pieces += [content[position:block.start("text")], wanted]
            position = block.end("text")
        if self.update:
            page.write_text("".join(pieces) + content[position:])

    def check_page(self, page):
        content = page.read_text()
        for quote in QUOTE.finditer(content):
            if not (self.root / quote["file"]).read_text().endswith(quote["text"]):
                self.fault(page, line_of(content, quote.start()), f"{quote['file']} ends differently")
        fences = [f.span() for f in FENCED.finditer(content)]
        for link in LINK.finditer(content):
            if any(begin <= link.start() < end for begin, end in fences) or not (link[1] or link[2]):
                continue  # a lambda in C++ looks like a link
            target = page.parent / link[1] if link[1] else page
            if not target.exists():
                self.fault(page, line_of(content, link.start()), f"the link {link[1]} leads nowhere")
            elif link[2] and target.suffix == ".md" and link[2] not in anchors(target):
                self.fault(page, line_of(content, link.start()), f"{target.name} has no heading #{link[2]}")
        for number, text in enumerate(content.splitlines(), 1):
            self.check_names(page, number, text)
        for table in TABLE.finditer(content):
            self.check_table(page, line_of(content, table.start("rows")), table)

    def check_names(self, file, number, text):
        for name in FILE_NAME.findall(text):
            if name not in self.ends and not OWN.fullmatch(name):
                self.fault(file, number, f"there is no {name}")

    def check_table(self, page, line, table):
        top = table["folder"].rstrip("/")
        listed, folders = {}, [top]
        for number, row in enumerate(table["rows"].splitlines(), line):
            own = re.findall(r"`([\w/-]+)/`", row.split("|")[1])
            folders = [f"{top}/{f}" for f in own] or folders
            for folder in folders:
                if not (self.root / folder).is_dir():
                    self.fault(page, number, f"there is no folder {folder}")
            for name in NAMED_FILE.findall(row):
                if not any((self.root / folder / name).exists() for folder in folders) and not ("/" in name and name in self.ends):
                    self.fault(page, number, f"{name} is not in {' or '.join(folders)}")
                listed.setdefault(folders[0], set()).add(name)
        for folder, names in listed.items() if table["all"] else []:
            for header in sorted((self.root / folder).glob("*.h")):
                if header.name not in names:
                    self.fault(page, line, f"the table lacks {folder}/{header.name}")

    def check_comments(self, file):
        for number, text in enumerate(file.read_text().splitlines(), 1):
            _, mark, comment = text.partition("//")
            if mark:
                self.check_names(file, number, comment)

    def check_site(self):
        """Each page is on the list of the documentation and on that of the site."""
        first, site = self.root / "docs/README.md", self.root / "mkdocs.yml"
        for page in self.pages[1:]:
            name = page.relative_to(self.root / "docs").as_posix()
            if page != first and not re.search(rf"\({re.escape(name)}[)#]", first.read_text()):
                self.fault(first, 1, f"no link leads to {name}")
            if not re.search(rf": {re.escape(name)}$", site.read_text(), re.M):
                self.fault(site, 1, f"nav lacks {name}")

    def check_house(self):
        """docs/README.md shows a floor a line, with its folders."""
        first = self.root / "docs/README.md"
        for floor, rooms in re.findall(r"^(\w+)/ {2,}(.*)$", first.read_text(), re.M):
            above = [self.root / floor, self.root / floor / "src", self.root / floor / "include"]
            named, own = set(re.findall(r"\b(\w+)/", rooms)), above[1] if above[1].is_dir() else above[0]
            for room in sorted(named):
                if not any((folder / room).is_dir() for folder in above):
                    self.fault(first, 1, f"there is no {floor}/{room}")
            for room in sorted(f.name for f in own.glob("*/") if f.is_dir() and f.name not in named | SKIPPED):
                self.fault(first, 1, f"the house lacks {floor}/{room}")

    def check_numbers(self):
        for page, sentence, source, pattern in self.numbers:
            found = re.findall(pattern, (self.root / source).read_text(), re.M)
            if not found:
                self.fault(self.root / source, 1, f"check_docs.py finds no {pattern} here")
                continue
            value = int(found[0]) if found[0].isdigit() else len(found)
            if "<<" in pattern:
                value = 1 << value
            spellings = [str(value), f"{value:,}", *WORDS[value:value + 1]]
            if not any(sentence.replace("{}", s) in (self.root / page).read_text() for s in spellings):
                self.fault(self.root / page, 1, f"{source} has another number than '{sentence}', or the page has it no more: {value}")

    def check_switches(self):
        """The switches in README.md are those that the runtime reads; defaults that are numbers are those of the options."""
        readme, options = self.root / "README.md", self.root / "runtime/base/options.cpp"
        rows = {name: default for names, default in re.findall(r"^\| (`TENON[^|]*) \|[^|]*\| *([^|]*?) *\|", readme.read_text(), re.M)
                for name in re.findall(r"TENON_\w+", names)}
        fields = dict(re.findall(r'r\.\w+\("(TENON_\w+)", o\.(\w+)', options.read_text()))
        read = {name for f in sorted((self.root / "runtime").rglob("*.cpp")) for name in re.findall(r'"(TENON_[A-Z_]+)"', f.read_text())}
        for name in sorted(read - set(rows)):
            self.fault(readme, 1, f"the table of switches lacks {name}")
        for name in sorted(set(rows) - read):
            self.fault(readme, 1, f"nothing reads the switch {name}")
        header = options.with_suffix(".h").read_text()
        for name, field in fields.items():
            default = re.search(rf"\b{field} =\s*(\w+);", header)
            value = {"true": "1", "false": "0"}.get(default[1], default[1]) if default else ""
            if value.isdigit() and rows.get(name, "").isdigit() and rows[name] != value:
                self.fault(readme, 1, f"the default of {name} is {value}")

    def check_schedules(self):
        table = (self.root / "passes/schedule/schedule.cpp").read_text()
        for name, device, rest in re.findall(r'^    \{"([\w ]+)", (kCpu|kGpu), (.*?)\},$', table, re.M | re.S):
            page = self.root / ("docs/looptree.md" if device == "kCpu" else "docs/cuda.md")
            is_of_library = rest.endswith(", nullptr")
            if not is_of_library and not re.search(rf"^\| [^|\n]*(?<!\w){name}(?!\w)[^|\n]*\|", page.read_text(), re.M):
                self.fault(page, 1, f"no row tells of the schedule {name}")

    def check(self):
        for page in self.pages:
            self.check_ir(page)
            self.check_page(page)
        for file in self.files:
            if file.suffix in SOURCES:
                self.check_comments(file)
        self.check_site()
        self.check_house()
        self.check_numbers()
        self.check_switches()
        self.check_schedules()
        return self.faults


CLEAN = {
    "README.md": "[docs](docs/README.md)\n| `TENON_BATCH` | N | 256 | values |\n| `TENON_TRACE` | 0, 1 | 0 | stacks |\n",
    "mkdocs.yml": "nav:\n  - a: README.md\n  - b: graph.md\n  - c: use/data.md\n  - d: looptree.md\n  - e: cuda.md\n",
    "docs/README.md": "[b](graph.md#the-graph-itself), [c](use/data.md), [d](looptree.md), [e](cuda.md)\nruntime/    base/, plan/\n",
    "docs/graph.md": "# The graph, itself\n`plan.cpp`, `plan/plan.cpp`, `my_pass.cpp`; there are two of them\n```graph\ngraph @a\n```\n"
                     "<!-- tenon-opt < #a -->\n```graph\ngraph @a\n```\n",
    "docs/use/data.md": "<!-- the files of runtime/: every .h -->\n| room | files |\n| --- | --- |\n| `plan/` | `plan.h` |\n| | `plan.cpp` |\n",
    "docs/looptree.md": "| rows | rows |\n",
    "docs/cuda.md": "| `scan` | scans |\n",
    "ir/op/ops.def": "OP(a)\nOP(b)\n",
    "passes/schedule/schedule.cpp": '    {"rows", kCpu, takes, {}, on_cpu},\n    {"scan", kGpu, takes, {}, on_gpu},\n    {"sort", kCpu, calls, {}, nullptr},\n',
    "runtime/plan/plan.h": "#include <x.h>  // of plan.cpp\n",
    "runtime/plan/plan.cpp": "",
    "runtime/base/options.h": "int batch = 256;\nbool trace = false;\n",
    "runtime/base/options.cpp": '  r.number("TENON_BATCH", o.batch, 0, 9);\n  r.boolean("TENON_TRACE", o.trace);\n',
}
CLEAN_NUMBERS = [("docs/graph.md", "there are {} of them", "ir/op/ops.def", r"^(OP\()")]
FAULTY = [  # what is changed in a file of CLEAN, and what is said then
    ("docs/graph.md", "`plan.cpp`", "`plane.cpp`", "docs/graph.md:2: there is no plane.cpp"),
    ("docs/graph.md", "plan/plan.cpp", "run/plan.cpp", "docs/graph.md:2: there is no run/plan.cpp"),
    ("docs/graph.md", "there are two", "there are three", "docs/graph.md:1: ir/op/ops.def has another number"),
    ("docs/graph.md", "#a -->\n```graph\ngraph @a", "#a -->\n```graph\ngraph @b", "docs/graph.md:7: tenon-opt prints this instead"),
    ("docs/README.md", "#the-graph-itself", "#the-graph", "docs/README.md:1: graph.md has no heading #the-graph"),
    ("docs/README.md", "(use/data.md)", "(data.md)", "docs/README.md:1: the link data.md leads nowhere"),
    ("docs/README.md", ", [d](looptree.md)", "", "docs/README.md:1: no link leads to looptree.md"),
    ("docs/README.md", "base/, plan/", "base/", "docs/README.md:1: the house lacks runtime/plan"),
    ("docs/README.md", "base/, plan/", "base/, plan/, run/", "docs/README.md:1: there is no runtime/run"),
    ("mkdocs.yml", "  - e: cuda.md\n", "", "mkdocs.yml:1: nav lacks cuda.md"),
    ("docs/use/data.md", "`plan.cpp`", "`options.cpp`", "docs/use/data.md:5: options.cpp is not in runtime/plan"),
    ("docs/use/data.md", "`plan.h`", "", "docs/use/data.md:2: the table lacks runtime/plan/plan.h"),
    ("docs/use/data.md", "`plan/`", "`plans/`", "docs/use/data.md:4: there is no folder runtime/plans"),
    ("runtime/plan/plan.h", "// of plan.cpp", "// of build_plan.cpp", "runtime/plan/plan.h:1: there is no build_plan.cpp"),
    ("README.md", "| 256 |", "| 128 |", "README.md:1: the default of TENON_BATCH is 256"),
    ("README.md", "`TENON_TRACE`", "`TENON_TRACES`", "README.md:1: nothing reads the switch TENON_TRACES"),
    ("README.md", "| `TENON_TRACE` | 0, 1 | 0 | stacks |\n", "", "README.md:1: the table of switches lacks TENON_TRACE"),
    ("docs/looptree.md", "| rows |", "| row |", "docs/looptree.md:1: no row tells of the schedule rows"),
    ("docs/cuda.md", "`scan`", "`scans`", "docs/cuda.md:1: no row tells of the schedule scan"),
]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)

        def write(path, text):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)

        def faults():
            return Checker(root, "cat", CLEAN_NUMBERS).check()  # which prints each block as it is

        for path, text in CLEAN.items():
            write(path, text)
        assert not faults(), faults()
        for path, old, new, reason in FAULTY:
            assert CLEAN[path].count(old) == 1, (path, old)
            write(path, CLEAN[path].replace(old, new))
            found = faults()
            assert any(f.startswith(reason) for f in found), (reason, found)
            write(path, CLEAN[path])
    print(f"check_docs: finds all {len(FAULTY)} planted faults, and none where there is none")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    checker = Checker(pathlib.Path(__file__).resolve().parents[2], arguments[0], update="--update" in sys.argv)
    faults = checker.check()
    print("\n".join(faults) if faults else f"check_docs: {len(checker.pages)} pages say what is there; {checker.blocks} blocks of IR are what tenon-opt prints")
    sys.exit(1 if faults or not checker.blocks else 0)


if __name__ == "__main__":
    main()
