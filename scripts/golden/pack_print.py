#!/usr/bin/env python3
"""Random tensors with their printed form, which is that of PyTorch (needs torch).
Usage: pack_print.py COUNT SEED OUTPUT.json"""
import json
import math
import random
import struct
import sys

import torch

count, seed, output = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

rng = random.Random(seed)
FORMATS = {"bool": "?", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
           "float16": "e", "bfloat16": None, "float32": "f", "float64": "d"}
BITS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-2**15, 2**15 - 1), "int32": (-2**31, 2**31 - 1),
        "int64": (-2**63, 2**63 - 1)}
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38, "float64": 1.7976e308}


def as_bytes(value, dtype):
    if dtype == "bfloat16":
        return struct.pack("<f", value)[2:]
    return struct.pack("<" + FORMATS[dtype], value)


def from_bytes(data, dtype):
    if dtype == "bfloat16":
        return struct.unpack("<f", b"\0\0" + data)[0]
    return struct.unpack("<" + FORMATS[dtype], data)[0]


def shape():
    kind = rng.random()
    if kind < 0.08:
        return []
    if kind < 0.14:
        return [rng.choice([0, 1, 2, 3]) for _ in range(rng.randint(1, 4))]
    if kind < 0.17:
        return rng.choice([[1001], [40, 30], [7, 2, 80], [1, 1, 1005]])
    rank = rng.choice([1, 1, 1, 2, 2, 3, 4])
    most = {1: 30, 2: 9, 3: 4, 4: 3}[rank]
    return [rng.randint(1, most) for _ in range(rank)]


def numbers(n, dtype):
    if dtype == "bool":
        return [rng.random() < 0.5 for _ in range(n)]
    if dtype in BITS:
        lo, hi = BITS[dtype]
        reach = rng.choice([2, 10, 100, 1000, 10**6, 2**63])
        return [rng.randint(max(lo, -reach), min(hi, reach)) for _ in range(n)]
    kind = rng.choice(["unit", "normal", "whole", "wide", "special", "zeros", "edge", "one"])
    largest = LARGEST[dtype]
    scale = 10.0 ** rng.randint(-9, 12)
    values = []
    for _ in range(n):
        if kind == "unit":
            v = rng.random()
        elif kind == "normal":
            v = rng.gauss(0, 1) * scale
        elif kind == "whole":
            v = float(rng.randint(-int(min(scale, 1e15)) - 1, int(min(scale, 1e15)) + 1))
        elif kind == "wide":
            v = rng.choice([-1, 1]) * 10.0 ** rng.uniform(-5, 9)
        elif kind == "special":
            v = rng.choice([math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, 2.5, -3.0])
        elif kind == "zeros":
            v = rng.choice([0.0, -0.0])
        elif kind == "edge":
            v = rng.choice([1e-4, 9.9999e-5, 1.0, 1000.0, 1001.0, 1e8, 1.0001e8, 0.1, 1e5])
        else:
            v = scale
        values.append(v if not math.isfinite(v) else max(-largest, min(largest, v)))
    return values


cases = []
for _ in range(count):
    dtype = rng.choice(list(FORMATS))
    size = shape()
    n = math.prod(size)
    period = n if n <= 300 else rng.choice([7, 50])  # long ones repeat their first elements
    data = [as_bytes(v, dtype) for v in numbers(min(n, period), dtype)]
    values = [from_bytes(d, dtype) for d in data]
    values = [values[i % period] for i in range(n)]
    options = {}
    if rng.random() < 0.2:
        options = {"precision": rng.choice([0, 1, 2, 6, 12]), "threshold": rng.choice([5, 20, 1000]),
                   "edgeitems": rng.choice([0, 1, 2, 3, 5]), "linewidth": rng.choice([20, 40, 60, 80, 120])}
        if rng.random() < 0.5:
            options["sci_mode"] = rng.random() < 0.5
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**options)
    is_float = "float" in dtype
    grad = is_float and rng.random() < 0.2
    text = repr(torch.tensor(values, dtype=getattr(torch, dtype)).reshape(size).requires_grad_(grad))
    case = {"dtype": dtype, "shape": size, "hex": b"".join(data).hex(), "text": text.replace("torch.", "tenon.")}
    if options:
        case["options"] = options
    if grad:
        case["grad"] = True
    cases.append(case)

with open(output, "w") as out:
    out.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
