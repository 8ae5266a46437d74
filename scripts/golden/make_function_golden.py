#!/usr/bin/env python3
"""Values of PyTorch for the cases of tests/frontend/ops/functions_*.inc, packed for tests/frontend/ops/functions_test.cpp.

usage: make_function_golden.py [OUT_DIR]     (OUT_DIR: tests/data; needs torch)

A case, CASE(inputs, ulps, expression), is C++ and Python at once: a, b, c and d are the tensors of one row of the
inputs of that name (below), braces are lists and :: is a dot. The expression's value, or its error, is kept for
each row. CASE_AS(inputs, ulps, "python", expression) says the Python apart. So are the gradients of the inputs, for the
gradient 1 + k % 7 / 4 of the k-th element of each result: null for an input that has none.

functions.json + functions.bin: inputs by name, cases with results and gradients; elements lie in functions.bin, little endian.
"""
import ast
import glob
import json
import math
import os
import re
import sys
import warnings

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
inf, nan = math.inf, math.nan
f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
u8, i8, i16, i32, i64, boolean = torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool


def t(values, dtype=f32):
    return torch.tensor(values, dtype=dtype)


def random(seed, *shape, dtype=f32, lo=-2.0, hi=2.0):
    values = torch.rand(shape, dtype=f64, generator=torch.Generator().manual_seed(seed)) * (hi - lo) + lo
    return values.to(dtype)


def integers(seed, *shape, dtype=i64, lo=-9, hi=10):
    return torch.randint(lo, hi, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def spread(lo, hi, n, dtype):
    return torch.linspace(lo, hi, n, dtype=f64).to(dtype)


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, inf, -inf, nan, 1e-3, -1e-3, 7.25, 33.0, -10.0]
WHOLE = [0, 1, -1, 2, -2, 12, -18, 30, 7, 100, -128, 127]


def float_rows(values):
    return [[t(values, d)] for d in (f32, f64)] + [[t(3.25)], [t([], f64)]]


INPUTS = {
    "none": [[]],
    "floats": [[t(EDGES, d)] for d in (f32, f64, f16, bf16)]
              + [[random(1, 3, 5)], [random(2, 5, 3).t()], [t(2.25)], [t([])], [t([1, 2, 3], i64)]],
    "positive": [[spread(0.01, 40, 60, d)] for d in (f32, f64)] + [[t([0.0, inf, nan, -1.0, 1e-10, 1e5, 3.0])],
                 [t([0.0, inf, nan, -1.0, 1e-10, 1e5, 3.0], f64)], [t([1, 2, 5], i64)]],
    "line": [[spread(-12, 12, 97, d)] for d in (f32, f64)] + [[t([0.0, -0.0, 20.0, -20.0, 1e-8])], [t([4, -3], i32)]],
    "unit": [[spread(0, 1, 41, d)] for d in (f32, f64)] + [[t([1e-30, 1e-10, 0.9999, 1.5, -0.5, nan])]],
    "gamma": [[spread(-7.7, 25, 80, d)] for d in (f32, f64)] + [[t([0.0, -0.0, 10.0, 1e4, 1e18, inf, nan], f64)]],
    "poles": [[t([-1.0, -3.0, -100.0], d)] for d in (f32, f64)],
    "zeta": [[spread(1.5, 20, 12, f64), spread(0.5, 30, 12, f64)], [t([1.0, 0.5, 2.0, 3.0, 2.5, 4.0, nan], f64),
             t([2.0, 2.0, -1.5, -7.25, -1.5, 0.0, 1.0], f64)], [t([2.0, 3.0]), t([1.5, 0.25])]],
    "any": [[t(WHOLE, d)] for d in (i64, i32, i16, i8)] + [[t([0, 3, 200], u8)], [t([True, False])],
            [random(3, 7)], [random(4, 7, dtype=f64)], [t(EDGES, bf16)]],
    "pairs": [[t(EDGES), t(EDGES[::-1])], [t(EDGES, f64), t(EDGES[::-1], f64)], [random(5, 3, 1), random(6, 4)],
              [random(5, 3), t(1.5)], [t(EDGES, bf16), t(EDGES[::-1], bf16)], [t([1.0, 2.0]), t([2.0, 3.0], f64)],
              [t([], f32), t([1.0])]],
    "whole_pairs": [[t(WHOLE, i64), t(WHOLE[::-1], i64)], [integers(7, 4, 1, lo=-1000, hi=1000), integers(8, 5, lo=-60, hi=60)],
                    [integers(9, 40, dtype=i32, lo=-10**9, hi=10**9), integers(10, 40, dtype=i32, lo=-10**9, hi=10**9)],
                    [integers(11, 9, dtype=i16), integers(12, 9, dtype=i16)], [integers(13, 9, dtype=i8), t(6, i8)],
                    [integers(14, 33, dtype=u8, lo=0, hi=256), integers(15, 33, dtype=u8, lo=0, hi=256)],
                    [t([6, 4], i32), t([4, 10], i64)], [t([0, 0, 5]), t([1, 2, 3])], [t([], i64), t([3], i64)]],
    "small_whole": [[t([1.0, -2.5, 3.25, 0.0]), t([3, -2, 0, 5], i32)], [t([1, 2, 3], i64), t([1, 0, 2], i64)],
                    [t([1.5], f64), t([0.5], f64)], [random(16, 2, 3), t(2, i64)]],
    "matrix": [[random(20, 4, 6)], [random(21, 5, 3, dtype=f64)], [integers(22, 3, 4)], [random(23, 2, 3, 4)],
               [random(24, 6, 5).t()]],
    "square": [[random(25, 4, 4)], [random(26, 2, 3, 3, dtype=f64)], [integers(27, 3, 3)], [random(28, 1, 1)],
               [random(28, 2, 3)]],
    "vector": [[random(29, 7)], [random(30, 1)], [t([], f32)], [integers(31, 6)], [random(32, 5, dtype=f64)], [t(2.0)]],
    "curve": [[random(33, 6), spread(0, 3, 6, f32)], [random(34, 3, 5, dtype=f64), spread(-1, 2, 5, f64) ** 3],
              [random(35, 2, 4), random(36, 2, 4)]],
    "sets": [[integers(37, 3, 4), integers(38, 5)], [integers(39, 30), integers(40, 40, lo=0, hi=90)],
             [t([1.0, nan, 2.0]), t([nan, 2.0])], [random(41, 5), t([])], [t([1, 2, 3], i32), t([2.0, 2.5])],
             [t([], i64), t([1], i64)], [integers(42, 4, 5, dtype=u8, lo=0, hi=9), integers(43, 25, dtype=u8, lo=0, hi=9)],
             [t(3, i64), integers(44, 20)]],
    "samples": [[random(45, 40)], [random(46, 5, 8, dtype=f64)], [t([1.0, 1.0, 1.0])], [t([])], [t([1, 2], i64)],
                [t([1.0, inf])]],
    "weighted": [[random(47, 40), spread(-1.5, 1.5, 6, f32), random(48, 40, lo=0)],
                 [random(49, 30, dtype=f64), t([-2.0, -1.0, 0.5, 2.0], f64), random(50, 30, dtype=f64)],
                 [random(47, 40), spread(-1.5, 1.5, 6, f64), random(48, 40, lo=0)]],
    "pieces": [[random(51, 4), random(52, 4)], [random(53, 3, 2), random(54, 3)], [t(1.0), t(2.0)]],
    "ragged": [[random(55, 4, 2), random(56, 2, 2), random(57, 3, 2)], [random(58, 1), random(59, 3), random(60, 2)]],
    "chain": [[random(61, 3, 4), random(62, 4, 5), random(63, 5, 2)], [random(64, 4), random(65, 4, 5), random(66, 5)],
              [random(67, 2, 9, dtype=f64), random(68, 9, 2, dtype=f64), random(69, 2, 7, dtype=f64)],
              [random(61, 3, 4), random(62, 4, 5), random(63, 4, 2)]],
    "places": [[t([22, 41, 37], i64)], [integers(70, 2, 3, lo=0, hi=40)], [t(5, i32)], [t([1.0])]],
    "image": [[random(80, 2, 3, 5, 6), random(81, 2, 4, 3, 2, lo=-1.3, hi=1.3)], [random(82, 1, 1, 1, 4), random(83, 1, 2, 2, 2)],
              [random(84, 1, 2, 4, 4, dtype=f64), t([[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.25], [5.0, -7.5]]]], f64)],
              [random(84, 1, 2, 4, 4), random(85, 2, 3, 3, 2)], [random(84, 1, 2, 4, 4, dtype=f16), random(85, 1, 3, 3, 2, dtype=f16)]],
    "volume": [[random(86, 2, 2, 3, 4, 5), random(87, 2, 2, 3, 2, 3, lo=-1.3, hi=1.3)]],
    "theta": [[random(88, 2, 2, 3)], [random(89, 2, 2, 3, dtype=f64)]],
    "theta3": [[random(90, 2, 3, 4)]],
    "bags": [[random(92, 7, 3), t([1, 2, 4, 5, 4, 3, 2, 6], i64), t([0, 3, 3, 5], i64)], [random(93, 5, 2, dtype=f64), t([4, 0, 2], i32), t([0, 1], i32)],
             [random(92, 7, 3), t([1, 2], i64), t([1], i64)], [random(92, 7, 3), t([1, 2], i64), t([0, 3], i64)]],
    "bag_rows": [[random(94, 7, 3), integers(95, 4, 5, lo=0, hi=7), random(96, 4, 5)], [random(94, 7, 3), integers(97, 2, 1, lo=0, hi=7), random(98, 2, 1)]],
    "labelling": [[torch.log_softmax(random(99, 6, 3, 5), 2), t([[1, 2, 2], [3, 1, 4], [2, 0, 0]], i64), t([6, 6, 4], i64), t([3, 3, 1], i64)],
                  [torch.log_softmax(random(100, 5, 2, 4, dtype=f64), 2), t([1, 1, 3, 2], i64), t([5, 4], i64), t([3, 1], i64)],
                  [torch.log_softmax(random(101, 3, 2, 4), 2), t([[1, 1, 1], [2, 3, 0]], i64), t([3, 3], i64), t([3, 0], i64)],
                  [torch.log_softmax(random(101, 3, 2, 4), 2), t([[1, 1, 1], [2, 3, 0]], i64), t([3, 5], i64), t([3, 0], i64)]],
    "pooled": [[random(102, 2, 3, 7, 8), random(103, 2, 3, 2, lo=0, hi=1)], [random(104, 3, 7, 8, dtype=f64), random(105, 1, 3, 2, dtype=f64, lo=0, hi=1)],
               [random(102, 2, 3, 7, 8), random(103, 2, 3, 3, lo=0, hi=1)]],
    "pooled3": [[random(106, 2, 2, 5, 6, 7), random(107, 2, 2, 3, lo=0, hi=1)]],
    "labels": [[random(108, 3, 4), t([[3, 0, -1, 1], [-1, 0, 1, 2], [0, 1, 2, 3]], i64)], [random(109, 4, dtype=f64), t([1, -1, 2, 0], i64)],
               [random(108, 3, 4), t([1], i64)], [random(108, 3, 4), t([[3, 0, -1, 1], [-1, 0, 1, 9], [0, 1, 2, 3]], i64)]],
    "norm_rows": [[random(110, 2, 3, 6), random(111, 6)], [random(112, 4, 5, dtype=f64), random(113, 5, dtype=f64)],
                  [random(110, 2, 3, 6, dtype=f16), random(111, 6, dtype=f16)], [random(110, 2, 3, 6), random(111, 5)], [integers(114, 2, 3), random(115, 3)]],
    "triplet": [[random(116, 4, 3), random(117, 4, 3), random(118, 4, 3)]],
    "products3": [[random(120, 3, 5), random(121, 2, 3, 4), random(122, 2, 4, 5)], [random(120, 3, 5, dtype=f64), random(121, 2, 3, 4, dtype=f64), random(122, 2, 4, 5, dtype=f64)]],
    "outers": [[random(123, 3, 4), random(124, 3), random(125, 4)], [random(123, 3, 4, dtype=f64), random(124, 3, dtype=f64), random(125, 4, dtype=f64)]],
    "twins": [[random(126, 3, 5), random(127, 3, 5)], [random(128, 3, 4, dtype=f64), random(129, 3, 4, dtype=f64)]],
    "vectors": [[random(130, 3), random(131, 3)], [random(132, 3, dtype=f64), random(133, 3, dtype=f64)]],
    "gaps": [[t([[1.5, nan, -0.5, 2.0], [nan, 0.25, -3.0, nan], [0.5, 1.0, -1.25, 4.0]], d)] for d in (f32, f64)],
    "quantiles": [[random(134, 3, 6), t([0.1, 0.5, 0.85])]],
    "placed": [[random(135, 3, 4), t([[0, 7], [11, 2]], i64), random(136, 2, 2)]],
    "masked": [[random(137, 3, 4), t([[True, False, True, False]], boolean), random(138, 3, 3)]],
    "scattered": [[random(139, 4, 3), t([[0, 2, 2], [0, 1, 3]], i64), random(140, 2, 3)], [random(139, 4, 3, dtype=f64), t([[0, 2, 2], [0, 1, 3]], i64), random(140, 2, 3, dtype=f64)]],
    "conv3": [[random(141, 1, 2, 3, 4, 5), random(142, 3, 2, 2, 2, 3), random(143, 3)]],
    "turned1": [[random(144, 2, 4, 5), random(145, 4, 3, 3), random(146, 3)]],
    "turned3": [[random(147, 1, 2, 2, 3, 3), random(148, 2, 3, 2, 2, 3), random(149, 3)]],
    "lines": [[random(150, 2, 3, 7)], [random(151, 2, 2, 5, dtype=f64)]],
    "resized": [[random(152, 1, 4, 4, 6)], [random(153, 2, 2, 4, 6, dtype=f64)]],
    "columns": [[random(154, 1, 12, 6)]],
    "normed": [[random(155, 2, 3, 4), random(156, 4), random(157, 4)], [random(155, 2, 3, 4, dtype=f64), random(156, 4, dtype=f64), random(157, 4, dtype=f64)]],
    "signs": [[random(158, 4, 3), random(159, 4, 3), t([1.0, -1.0, -1.0, 1.0])]],
    "zeroed": [[t([0.0, -0.0, 1.5, 0.0], d), t([0.0, 1.0, 0.25, 0.5], d)] for d in (f32, f64)],
    "classes": [[random(160, 4, 5), t([2, 0, 4, 1], i64), random(161, 5, lo=0.1)]],
    "maps": [[torch.log_softmax(random(162, 2, 3, 2, 3), 1), integers(163, 2, 2, 3, lo=0, hi=3), random(164, 3, lo=0.1)]],
    "attended": [[random(165, 2, 3, 4), random(166, 2, 5, 4), random(167, 2, 5, 3), random(168, 3, 5)], [random(165, 1, 2, 4, dtype=f64), random(166, 1, 3, 4, dtype=f64), random(167, 1, 3, 4, dtype=f64), random(168, 2, 3, dtype=f64)]],
    "cells": [[random(169, 2, 4), random(170, 2, 3), random(171, 12, 4, lo=-0.6, hi=0.6), random(172, 12, 3, lo=-0.6, hi=0.6)]],
    "reduce_rows": [[random(71, 4, 3), t([0, 2, 2], i64), random(72, 3, 3)]],
}

NAMES = {k: v for k, v in vars(torch).items() if not k.startswith("_")}
NAMES.update(true=True, false=False, nullopt=None, INFINITY=inf, kFloat=f32, kDouble=f64, kHalf=f16, kBFloat16=bf16,
             kInt=i32, kLong=i64, kByte=u8, kShort=i16, kChar=i8, kBool=boolean, special=torch.special, inf=inf,
             linalg=torch.linalg, F=torch.nn.functional, torch=torch, math=math)


def python_of(cpp):
    text = cpp.replace("::", ".").replace("{", "[").replace("}", "]").replace("Scalar(", "(")
    return re.sub(r"(\d)\.(?=[,)\s])", r"\1.0", text)


def cases():
    """(inputs, expression as the compiler's # makes it, python) of every case in the order of the files"""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/frontend/ops/functions_*.inc"))):
        text = re.sub(r"//[^\n]*", "", open(path).read())
        for m in re.finditer(r"\bCASE(_AS)?\(", text):
            depth, end = 1, m.end()
            while depth:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            inputs, ulps, rest = [" ".join(p.split()) for p in text[m.end():end - 1].split(",", 2)]
            if m[1]:
                python, expression = re.fullmatch(r'("(?:[^"\\]|\\.)*"), (.*)', rest).groups()
                yield inputs, expression, ast.literal_eval(python)
            else:
                yield inputs, rest, python_of(rest)


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (bool, int, float)):
        return [torch.tensor(value)]
    return [x for part in value for x in flat(part)]


def gradient(python, row, i):
    """of row[i]; None where no result depends on it, or where PyTorch does not know the derivative"""
    torch.manual_seed(7)
    leaves = [v.clone().requires_grad_(k == i) for k, v in enumerate(row)]
    try:
        results = flat(eval(python, {**NAMES, **{k: v.clone() for k, v in zip("abcd", leaves)}}))
        results = [y for y in results if y.requires_grad]
        weights = [(1 + torch.arange(y.numel()) % 7 / 4).to(y.dtype).reshape(y.shape) for y in results]
        return torch.autograd.grad(results, leaves[i], weights)[0] if results else None
    except RuntimeError:  # NotImplementedError among them
        return None


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "tests/data")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    blob, known = bytearray(), {}

    def put(x):
        if x is None:
            return None
        x = x.detach().contiguous()
        raw = bytes(x.reshape(-1).view(torch.uint8).numpy(force=True)) if x.numel() else b""
        if raw not in known:
            blob.extend(bytes(-len(blob) % 8))
            known[raw] = len(blob)
            blob.extend(raw)
        return {"dtype": str(x.dtype).split(".")[1], "shape": list(x.shape), "at": known[raw]}

    inputs = {name: [[put(x) for x in row] for row in rows] for name, rows in INPUTS.items()}
    packed = []
    for name, expression, python in cases():
        results, grads = [], []
        for row in INPUTS[name]:
            torch.manual_seed(7)
            names = {**NAMES, **{k: v.clone() for k, v in zip("abcd", row)}}
            try:
                results.append([put(x) for x in flat(eval(python, names))])
            except (NameError, SyntaxError, AttributeError):
                print("in", python, file=sys.stderr)
                raise
            except Exception as e:  # PyTorch's own error is the value
                results.append({"error": str(e).split("\n")[0]})
            failed = isinstance(results[-1], dict)
            grads.append([None if failed or not x.is_floating_point() else put(gradient(python, row, i)) for i, x in enumerate(row)])
        packed.append({"inputs": name, "expression": expression, "results": results, "grads": grads})
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in packed)
    with open(os.path.join(out, "functions.json"), "w") as f:
        f.write('{"inputs":' + json.dumps(inputs, separators=(",", ":")) + ',\n"cases":[\n' + lines + "\n]}\n")
    with open(os.path.join(out, "functions.bin"), "wb") as f:
        f.write(blob)
    errors = sum(isinstance(r, dict) for c in packed for r in c["results"])
    print(len(packed), "cases,", sum(len(c["results"]) for c in packed), "results,", errors, "errors,", len(blob), "bytes")


if __name__ == "__main__":
    main()
