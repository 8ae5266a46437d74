#!/usr/bin/env python3
"""What PyTorch's operations save for their gradients, for tests/gradients/saved_test.cpp.

usage: make_saved_golden.py [OUT]     (OUT: tests/data/saved.json; needs torch)

For each expression of tests/data/ops.json with gradients: one letter for each operand and then for each result. It is written
between the call and the backward pass: r if the backward pass refuses that, a if it accepts, - if it cannot be written (it is a
view that repeats memory). Operands are float64 and no leaves.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TYPES = {"bool": torch.bool, "uint8": torch.uint8, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64,
         "float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}


def inputs_of(case, blob):
    result = []
    for x in case["inputs"]:
        dtype = TYPES[x["dtype"]]
        count = 1
        for size in x["shape"]:
            count *= size
        value = torch.frombuffer(bytearray(blob[x["at"]:x["at"] + count * dtype.itemsize]), dtype=dtype).view(x["shape"]) if count else torch.empty(x["shape"], dtype=dtype)
        result.append(value.double() if dtype.is_floating_point else value.clone())
    return result


def call(case, inputs):
    asked = [i for i, g in enumerate(case["grads"]) if g is not None]
    leaves = [x.clone().requires_grad_() if i in asked else x.clone() for i, x in enumerate(inputs)]
    variables = {f"x{i}": x.clone() if x.requires_grad else x for i, x in enumerate(leaves)}
    scope = {"torch": torch, "F": F, "float": float, "math": __import__("math"), **variables}
    torch.manual_seed(7)
    if "out = " in case["expr"]:
        exec(case["expr"], scope)
        out = scope["out"]
    else:
        out = eval(case["expr"], scope)
    out = [out] if isinstance(out, torch.Tensor) else [x for x in out if isinstance(x, torch.Tensor)]
    return list(variables.values()), out


def outcome(case, inputs, written):
    operands, results = call(case, inputs)
    tracked = [y for y in results if y.requires_grad]
    target = (operands + results)[written]
    grads = [torch.ones_like(y) for y in tracked]
    sums = [y * 1 for y in tracked]
    try:
        with torch.no_grad():
            target.zero_()
    except RuntimeError:
        return "-"
    try:
        torch.autograd.backward(sums, grads)
    except RuntimeError as error:
        assert "modified by an inplace" in str(error), error
        return "r"
    return "a"


def main():
    with open(os.path.join(ROOT, "tests/data/ops.json")) as f:
        cases = [c for c in json.load(f) if "grads" in c]
    with open(os.path.join(ROOT, "tests/data/ops.bin"), "rb") as f:
        blob = f.read()
    result, seen = [], set()
    for case in cases:
        if case["expr"] in seen:
            continue
        seen.add(case["expr"])
        inputs = inputs_of(case, blob)
        try:
            operands, results = call(case, inputs)
            if not any(y.requires_grad for y in results):
                continue
            letters = [outcome(case, inputs, i) for i in range(len(operands) + len(results))]
        except Exception as error:
            print("left out:", case["expr"], str(error)[:80])
            continue
        result.append([case["name"], case["expr"], "".join(letters)])
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "tests/data/saved.json")
    with open(out, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in result) + "\n]\n")
    print(len(result), "cases")


if __name__ == "__main__":
    main()
