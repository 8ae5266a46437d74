#!/usr/bin/env python3
"""Counts the instructions of the twelve programs of bench/instructions.cpp under callgrind and compares them with bench/instructions.txt.

    check_instructions.py PROGRAM [--update]

PROGRAM is bench_instructions of the release build. Counts do not depend on how busy the machine is: the same build gives the same counts
on every CPU, as callgrind shows each the same one. A program that takes 3 % more than the file says fails; one that takes 3 % less is
named, so that the file can be updated. The counts hold for the tools that the file's first line names; with others, or without
valgrind, nothing is compared ("skipped")."""
import os
import re
import subprocess
import sys

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/instructions.txt")
ALLOWED = 0.03
# One thread, no disk; what runs as bytecode stays bytecode, but for the program that LLVM compiles, which says so itself.
SETTINGS = {"TENON_THREADS": "1", "TENON_DISK_CACHE": "0", "TENON_FIRST_TIER": "2", "TENON_CUDA_DRIVER": "none"}


def output_of(command, **kw):
    return subprocess.run(command, capture_output=True, text=True, check=True, **kw)


def tools(program):
    """The versions that decide what the counts are, as one line; nothing where valgrind is not installed."""
    try:
        valgrind = output_of(["valgrind", "--version"]).stdout.strip()
    except OSError:
        return None
    compiler = output_of(["readelf", "-p", ".comment", program]).stdout
    compiler = re.search(r"GCC: \([^)]*\) \S+|clang version \S+", compiler)
    llvm = re.search(r"llvm [\d.]+", output_of([program, "info"]).stdout)
    return ", ".join([compiler.group() if compiler else "?", os.confstr("CS_GNU_LIBC_VERSION"), llvm.group() if llvm else "no LLVM", valgrind])


def count(program, name):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=measured", program, name]
    text = output_of(command, env={**os.environ, **SETTINGS}).stderr
    return int(re.search(r"Collected : (\d+)", text).group(1))


def known():
    """The file's first line and its counts."""
    if not os.path.exists(FILE):
        return "", {}
    lines = open(FILE).read().splitlines()
    return lines[0], {name.strip(): int(number) for number, name in (line.split(None, 1) for line in lines[1:])}


def main():
    program = os.path.abspath(sys.argv[1])
    update = "--update" in sys.argv[2:]
    made_with, counts = known()
    now_with = tools(program)
    if now_with is None or (now_with != made_with and not update):
        print(f"skipped: counted with {made_with}; here is {now_with or 'no valgrind'}")
        return 0
    names = output_of([program]).stdout.splitlines()
    measured = {name: count(program, name) for name in names}
    grown = [name for name in names if measured[name] > counts.get(name, 0) * (1 + ALLOWED)]
    for name in names:
        ratio = measured[name] / counts[name] if name in counts else float("nan")
        print(f"{measured[name]:>12,}  {ratio:6.3f}  {name}")
        if ratio < 1 - ALLOWED:
            print(f"              fewer than the file says: update it by {sys.argv[0]} {sys.argv[1]} --update")
    if update:
        with open(FILE, "w") as f:
            f.write(now_with + "\n" + "".join(f"{measured[name]:>12}  {name}\n" for name in names))
        return 0
    for name in grown:
        print(f"'{name}' takes {measured[name]:,} instructions, {counts.get(name, 0):,} before")
    gone = sorted(set(counts) - set(names))
    for name in gone:
        print(f"'{name}' is in the file and is no program")
    return 1 if grown or gone else 0


sys.exit(main())
