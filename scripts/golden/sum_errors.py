#!/usr/bin/env python3
"""The table of errors in docs/math.md: sums and products over K terms against float64, Tenon's (the program sum_errors) and PyTorch's.

    scripts/golden/sum_errors.py build/release/bin/sum_errors [LARGEST_K]
"""
import subprocess
import sys

import torch

SIDE = 2
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def weight_gradient(x, y):
    w = torch.zeros(SIDE, SIDE, dtype=x.dtype, requires_grad=True)
    return torch.autograd.grad((torch.nn.functional.linear(x, w) * y).sum(), w)[0].t()


def conv_weight_gradient(x, y):
    image = lambda t: t[:, 0].reshape(1, 1, -1, 10)
    w = torch.zeros(1, 1, 3, 3, dtype=x.dtype, requires_grad=True)
    return torch.autograd.grad((torch.nn.functional.conv2d(image(x), w, padding=1) * image(y)).sum(), w)[0][0, 0, 1, 1]


def products(x, y):
    return (x[:, 0] * y[:, 0]).sum()


CASES = {
    "mm": (lambda x, y: x.t().contiguous().mm(y), products),
    "weight gradient": (weight_gradient, products),
    "conv2d weight gradient": (conv_weight_gradient, products),
    "sum(0)": (lambda x, y: x.sum(0), lambda x, y: x[:, 0].sum()),
    "mean()": (lambda x, y: x.mean(), lambda x, y: x.mean()),
}


def measure(name, dtype, kind, k):
    torch.manual_seed(0)
    terms = lambda: (torch.full((k, SIDE), 0.1) if kind == "equal" else torch.rand(k, SIDE)).to(DTYPES[dtype])
    x, y = terms(), terms()
    run, exact = CASES[name]
    return abs(run(x, y).reshape(-1)[0].double() / exact(x.double(), y.double()) - 1).item()


def main():
    torch.set_num_threads(1)
    errors = {}
    for line in subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True).stdout.splitlines():
        name, dtype, kind, k, error = line.split("|")
        errors.setdefault((name, dtype, kind), {})[int(k)] = f"{float(error):.0e} ({measure(name, dtype, kind, int(k)):.0e})"
    sizes = sorted({k for row in errors.values() for k in row})
    print("| | dtype | terms | " + " | ".join(f"{k:,}" for k in sizes) + " |")
    print("|" + " --- |" * (len(sizes) + 3))
    for (name, dtype, kind), row in errors.items():
        print(f"| {name} | {dtype} | {kind} | " + " | ".join(row.get(k, "") for k in sizes) + " |")


main()
