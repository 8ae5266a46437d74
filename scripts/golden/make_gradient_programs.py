#!/usr/bin/env python3
"""Random differentiable programs, run in PyTorch, for tests/fuzz/torch_programs.cpp (which says what a file of them looks like).

  make_gradient_programs.py draw SEED COUNT OUT            writes COUNT programs of the seeds SEED, SEED + 1, ... with PyTorch's results
  make_gradient_programs.py compare RUNNER SEED COUNT      draws them, has the runner compare, prints differences, shrunk, and kinds
  make_gradient_programs.py golden RUNNER                  writes tests/data/gradient_programs.txt

A program draws leaves, views of every kind, writes into bases and views, every function of the golden tables (ops.json,
functions_*.inc), hooks, detached and unrecorded parts, and backward passes of first and second order. A statement that raises
is left out, or ends the program. Needs torch.
"""
import collections
import math
import os
import re
import subprocess
import sys
import tempfile
import warnings

import torch

from gradient_programs import ROOT, Namespace, Program


# --- running

def run(lines, shift=0.0):
    """(what the program showed, how it ended)"""
    space = Namespace(shift)
    torch.manual_seed(0)
    try:
        exec("\n".join(lines), space)
    except Exception as e:
        return space.shown, f"{kind_of(e)}: {str(e).splitlines()[0] if str(e) else ''}"
    return space.shown, ""


def kind_of(e):
    return next(name for kind, name in ((IndexError, "IndexError"), (TypeError, "TypeError"), (ValueError, "ValueError"), (NameError, "NameError"),
                                        (Exception, "RuntimeError")) if isinstance(e, kind))


def line_of(x):
    if x is None:
        return "None"
    if isinstance(x, str):
        return f"name {x}"
    values = "".join(f" {v:.9g}" for v in x.detach().double().reshape(-1).tolist())
    return f"{str(x.dtype)[6:]} {'g' if x.requires_grad else '-'} [{','.join(map(str, x.shape))}]{values}"


def floats_of(lines, shown):
    """the type whose rounding the results have"""
    single = any(isinstance(x, torch.Tensor) and x.dtype == torch.float32 for x in shown) or re.search("float32|given", "\n".join(lines))
    return "float32" if single else "float64"


def packed(number, lines, result):
    text, floats = "\n".join(lines), floats_of(lines, result[0])
    shown = "".join(line_of(x) + "\n" for x in result[0])
    return f"### {number} {floats}\n{text}\n---\n{shown}" + (f"! {result[1]}\n" if result[1] else "")


def drawn(seed):
    lines = Program(seed).draw()
    return lines, run(lines)


# --- comparing

# Differences that stay: what the runner says, and why.
EXPECTED = (
    ("error: none, not RuntimeError: Trying to backward through the graph a second time",
     "a product with a number saves it in Python, and nothing in C++"),
    ("error: none, not RuntimeError: unsupported operation: some elements of the input tensor and the written-to tensor",
     "a write that overlaps its operand works"),
    ("refused: .*unsupported operation: more than one element of the written-to tensor",
     "an expanded tensor is not filled by a mask or an index, which PyTorch deprecates"),
    ("error: none, not RuntimeError: unsupported operation: more than one element of the written-to tensor", "a gradient is never expanded memory"),
    ("error: none, not IndexError: too many indices for tensor of dimension 0", "a mask without dims chooses all or nothing, as in LibTorch's index_put_"),
    ("error: none, not RuntimeError: (torch.utils.checkpoint|Trying to use a saved tensor that has been detached)", "what was saved is there, detached or not"),
    ("error: none, not RuntimeError: Can't detach views in-place", "results are seldom views here where they are in PyTorch"),
    (r"shape: \[[\d,]*\],", "a retained gradient has the shape that the tensor has"),
)
# Those of one call: what the runner says, the call, and why (functions_test.cpp has the same two).
EXPECTED_OF_CALLS = (
    ("value: ", r"F::ctc_loss\(a, b, c, d, F::CTCLossFuncOptions\(\)\.blank\(3\)", "ctc_loss with a label that is the blank: for PyTorch's way back it is another one"),
    ("value: ", r"as_strided_scatter\(", "as_strided_scatter over places that meet: what is not written has a gradient, there what is"),
    ("value: ", r'scatter_reduce\(a, 0, b, c, "am(in|ax)", false\)', "scatter_reduce without self: an equal element of self takes a part of the gradient there"),
)


def outcomes(runner, programs, environment=None):
    """number -> outcome of each program, also where the runner dies"""
    results, left = {}, list(programs)
    while left:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write("".join(packed(*p) for p in left))
            f.flush()
            out = subprocess.run([runner, f.name], capture_output=True, text=True, env={**os.environ, **(environment or {})})
        lines = out.stdout.splitlines()
        for line in lines:
            number, _, outcome = line.partition(" ")
            results[number] = outcome or f"crash: {out.returncode} {out.stderr.strip()[-200:]}"
        if len(lines) < len(left) and out.returncode in (0, 1):
            raise SystemExit(f"the runner read {len(lines)} of {len(left)} programs: {out.stderr}")
        left = left[len(lines):] if out.returncode not in (0, 1) else []
    return results


def reason(outcome, lines):
    """Why a difference stays, if it does."""
    of_calls = (why for pattern, call, why in EXPECTED_OF_CALLS if re.match(pattern, outcome) and re.search(call, "\n".join(lines)))
    return next((why for pattern, why in EXPECTED if re.match(pattern, outcome)), None) or next(of_calls, None)


def kind(outcome):
    return outcome.split(":")[0]


def shorter(lines):
    """The program without one of its lines, or without one term of a sum that is differentiated."""
    for i in reversed(range(len(lines))):
        yield lines[:i] + lines[i + 1:]
    for i, line in enumerate(lines):
        terms = re.fullmatch(r"\((.*)\)\.backward\((.*)\)", line)
        parts = terms[1].split(" + ") if terms else []
        for k in range(len(parts) if len(parts) > 1 else 0):
            yield lines[:i] + [f"({' + '.join(parts[:k] + parts[k + 1:])}).backward({terms[2]})"] + lines[i + 1:]


def shrunk(runner, lines, wanted):
    """The program without all that the difference does not need."""
    while True:
        candidates = []
        for i, less in enumerate(shorter(lines)):
            result = run(less)
            if not result[1].startswith(("NameError", "TypeError")):
                candidates.append((str(i), less, result))
        found = outcomes(runner, candidates)
        better = next((c for c in candidates if kind(found[c[0]]) == wanted), None)
        if better is None:
            return lines
        lines = better[1]


def unstable(lines, amount):
    """Whether rounding may make a difference as large as that: PyTorch's own results of operands that are a little off."""
    shown, end = run(lines)
    for _ in range(4):
        other, other_end = run(lines, 1e-6 if floats_of(lines, shown) == "float32" else 1e-11)
        if len(other) != len(shown) or end != other_end:
            return True
        for x, y in zip(shown, other):
            if (x is None) != (y is None) or (x is not None and x.shape != y.shape):
                return True
            if x is not None and not torch.allclose(x.detach().double(), y.detach().double(), rtol=0, atol=amount, equal_nan=True):
                return True
    return False


def distance(outcome):
    """between the two numbers of a difference in values"""
    found = re.search(r"is (\S+), not (\S+),", outcome)
    difference = abs(float(found[1]) - float(found[2])) if found else math.inf
    return difference / 8 if math.isfinite(difference) else 1e-3


def compare(runner, seed, count, most=50, batch=500):
    kinds, expected, compared, raised = collections.Counter(), collections.Counter(), 0, 0
    for first in range(seed, seed + count, batch):
        programs = [(str(s), *drawn(s)) for s in range(first, min(first + batch, seed + count))]
        said = outcomes(runner, programs)
        compared += len(said)
        raised += sum(bool(p[2][1]) for p in programs)
        for number, lines, result in programs:
            outcome = said[number]
            why = reason(outcome, lines)
            if outcome == "same" or why:
                expected.update([why] if why else [])
                continue
            name = kind(outcome)
            kinds[name] += 1
            if kinds[name] > most:
                print(f"=== {number} {name}, as the program was drawn\n# {outcome[:300]}", flush=True)
                continue
            small = shrunk(runner, lines, name)
            what = outcomes(runner, [("0", small, run(small))])["0"]
            if name == "value" and unstable(small, distance(what)):
                kinds.subtract([name])
                name = "rounding"
                kinds[name] += 1
            print(f"=== {number} {name}\n" + "\n".join(small) + f"\n# {what[:600]}\n# torch: {run(small)[1]}", flush=True)
        print(f"## {compared} programs, {raised} of them end with an error: {dict(kinds)}, expected: {dict(expected)}", flush=True)


def found():
    """Programs that were wrong once, by name."""
    text = open(os.path.join(ROOT, "scripts/golden/gradient_programs_found.txt")).read()
    for block in text.split("### ")[1:]:
        name, _, program = block.rstrip("\n").partition("\n")
        yield name.replace(" ", "_"), program.split("\n")


def golden(runner, bytes_wanted=140_000):
    """The programs that were wrong once, and small ones on which both agree: so that each name and each way to end is there."""
    out = [packed(name, lines, run(lines)) for name, lines in found()]
    seen, size = collections.Counter(), sum(map(len, out))
    for first in range(1, 3000, 300):
        programs = [(str(s), *drawn(s)) for s in range(first, first + 300)]
        said = outcomes(runner, programs)
        for program in programs:
            text = packed(*program)
            words = set(re.findall(r"[a-z_]\w{2,}(?=\()", "\n".join(program[1]))) | {re.sub(r"\d+|\[.*", "", program[2][1])[:60]}
            fresh = sum(seen[w] < 2 for w in words)
            if said[program[0]] != "same" or not fresh or len(text) > 300 + 300 * fresh or size + len(text) > bytes_wanted or unstable(program[1], 1e-4):
                continue
            seen.update(words)
            out.append(text)
            size += len(text)
    with open(os.path.join(ROOT, "tests/data/gradient_programs.txt"), "w") as f:
        f.write("".join(out))
    print(len(out), "programs,", len(seen), "names,", size, "bytes")


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    command, *rest = sys.argv[1:] or [""]
    if command == "draw":
        with open(rest[2], "w") as f:
            for s in range(int(rest[0]), int(rest[0]) + int(rest[1])):
                f.write(packed(s, *drawn(s)))
    elif command == "compare":
        compare(rest[0], int(rest[1]), int(rest[2]))
    elif command == "golden":
        golden(rest[0])
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
