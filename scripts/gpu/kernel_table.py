#!/usr/bin/env python3
"""What NVRTC makes of the watched kernels (tests/data/gpu_kernels.ir): a line for each phase.

Usage: kernel_table.py TENON_OPT [--gpu 90] [--kernels NAME,...] [--library FILE] [--disassembler FILE] [--keep FOLDER] [--markdown]

TENON_OPT is build/release/bin/tenon-opt. A line has the registers, shared memory and spilled bytes that ptxas reports, how many accesses to global
memory of each width in bytes the PTX has (of the loop and outside, as they stand in the text: "4x16 1x4"), and where nvdisasm is on the PATH
(PyPI: nvidia-cuda-nvdisasm) the same of the machine code with its instructions: all, those of its longest loop with what
is in it, and accesses to shared memory. --keep leaves texts, PTX and machine code there.
"""
import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import check_nvrtc

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "gpu_kernels.ir"
SCALAR_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


def graphs():
    parts = re.split(r"^(?=graph @)", KERNELS.read_text(), flags=re.M)[1:]
    return {re.match(r"graph @(\w+)", part)[1]: part for part in parts}


def widths(counts):
    return " ".join(f"{n}x{width}" for width, n in sorted(counts.items(), reverse=True)) or "-"


def ptx_accesses(ptx):
    """By function: (loads, stores) of global memory by width."""
    found = {}
    for body in re.split(r"^\.visible \.entry ", ptx, flags=re.M)[1:]:
        counts = {"ld": collections.Counter(), "st": collections.Counter()}
        for kind, lanes, bits in re.findall(r"\b(ld|st)(?:\.volatile|\.relaxed\.\w+)?\.global(?:\.nc)?(?:\.v(\d))?\.[a-z](\d+)", body):
            counts[kind][int(lanes or 1) * SCALAR_BYTES[bits]] += 1
        if copies := len(re.findall(r"\bcp\.async\.cg\.shared\.global", body)):
            counts["ld"][16] += copies
        found[re.match(r"\w+", body)[0]] = counts["ld"], counts["st"]
    return found


def report(log):
    """By function: registers, shared bytes, spilled bytes."""
    found = {}
    for name, said in re.findall(r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry|\Z)", log, re.S):
        number = lambda pattern: sum(int(n) for n in re.findall(pattern, said))
        found[name] = number(r"Used (\d+) registers"), number(r"(\d+) bytes smem"), number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes stack frame")
    return found


def instructions(sass):
    """By function: a list of (address, instruction, target of a branch or None)."""
    found, lines = {}, None
    for line in sass.splitlines():
        if name := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            lines = found[name[1]] = []
        elif (code := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?);", line)) and lines is not None:
            target = re.search(r"BRA.*`\(([.\w$]+)\)", code[2])
            lines.append((int(code[1], 16), code[2], target and target[1]))
        elif (label := re.match(r"(\.L_[\w$]+):", line)) and lines is not None:
            lines.append((None, label[1], None))
    return found


def machine(lines):
    """Instructions, those of the longest loop, and accesses by kind and width."""
    labels, code, loops = {}, [], []
    for address, text, target in lines:
        if address is None:
            labels[text] = len(code)
        else:
            text = re.sub(r"^@!?U?P\w+\s+", "", text)
            if target in labels and labels[target] < len(code):
                loops.append((labels[target], len(code) + 1))
            code.append(text.split()[0])
    while code and code[-1].split(".")[0] in ("NOP", "BRA"):
        code.pop()
    longest = max((end - begin for begin, end in loops), default=0)
    counts = collections.defaultdict(collections.Counter)
    for text in code:
        words = text.split(".")
        if words[0] in ("LDG", "STG", "LDS", "STS"):
            width = next((int(w) // 8 for w in words if w in ("64", "128")), 2 if words[-1] in ("U16", "S16") or "U16" in words else 1 if "U8" in words or "S8" in words else 4)
            counts[words[0]][width] += 1
        elif words[0] in ("LDL", "STL", "LDSM", "HMMA"):
            counts[words[0]][0] += 1
    return len(code), longest, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon_opt")
    parser.add_argument("--gpu", type=int, default=90, choices=[75, 80, 90])
    parser.add_argument("--kernels", help="only these")
    parser.add_argument("--library", help="libnvrtc.so.13")
    parser.add_argument("--disassembler", default=shutil.which("nvdisasm"), help="nvdisasm")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--markdown", action="store_true", help="rows of a table")
    options = parser.parse_args()
    if not check_nvrtc.start(options.library):
        print("skipped: libnvrtc was not found; --library names it")
        return 0
    folder = options.keep or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    chosen = options.kernels.split(",") if options.kernels else None
    heads = ["kernel, phase", "registers", "shared", "spills", "PTX loads", "PTX stores"]
    heads += ["instructions", "loop", "LDG", "STG", "LDS", "STS"] if options.disassembler else []
    rows = [heads]
    for name, graph in graphs().items():
        if chosen and name not in chosen:
            continue
        arguments = [options.tenon_opt, "--emit", "cuda", "--gpu", str(options.gpu)]
        text = subprocess.run(arguments, input=graph.encode(), stdout=subprocess.PIPE, check=True).stdout
        ptx, cubin, log = check_nvrtc.compiled(text, options.gpu)
        if cubin is None:
            sys.exit(log)
        for ending, data in [("cu", text), ("ptx", ptx.encode()), ("cubin", cubin)]:
            (folder / f"{name}.{ending}").write_bytes(data)
        sass = {}
        if options.disassembler:
            output = subprocess.run([options.disassembler, "-c", folder / f"{name}.cubin"], stdout=subprocess.PIPE, check=True).stdout
            (folder / f"{name}.sass").write_bytes(output)
            sass = instructions(output.decode())
        reported = report(log)
        for function, (loads, stores) in ptx_accesses(ptx).items():
            registers, shared, spills = reported[function]
            rows.append([f"{name}, {function.rpartition('_')[2]}", registers, shared, spills, widths(loads), widths(stores)])
            if function in sass:
                count, loop, accesses = machine(sass[function])
                rows[-1] += [count, loop, *(widths(accesses[kind]) for kind in ("LDG", "STG", "LDS", "STS"))]
            if rows[-1][1:] == rows[-2][1:]:  # the phases of a sort
                rows.pop()
    if options.markdown:
        rows.insert(1, ["---"] * len(heads))
        for row in rows:
            print("| " + " | ".join(str(cell) for cell in row) + " |")
        return 0
    columns = [max(len(str(row[i])) for row in rows if i < len(row)) for i in range(len(heads))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, columns)).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
