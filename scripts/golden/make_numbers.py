#!/usr/bin/env python3
"""Makes tests/data/numbers.json: expressions at the edges of dtypes, with what PyTorch answers.

usage: make_numbers.py [OUT.json]        (needs torch; OUT: tests/data/numbers.json)

A case is {"code", "type", "shape", "values"} or {"code", "error", "text"}: the class and the first line of the message.
Elements are numbers, or "nan", "inf", "-inf". A group is compared exactly, but for its "ulp".
"""
import json
import math
import os
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import inf, nan, nn

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

DATA = {"bool": "[True, False, True]", "uint8": "[0, 3, 5, 200]", "int8": "[0, 3, -5, 127]", "int16": "[0, 3, -5, 30000]",
        "int32": "[0, 3, -5, 2000000000]", "int64": "[0, 3, -5, 9000000000]",
        "float16": "[0.0, 3.5, -2.25, 1000.0, 0.1, 60000.0, 0.001]", "bfloat16": "[0.0, 3.5, -2.25, 1000.0, 0.1, 1e38, 0.001]",
        "float32": "[0.0, 3.5, -2.25, 1000.0, 0.1, 1e38, 0.001]", "float64": "[0.0, 3.5, -2.25, 1000.0, 0.1, 1e300, 0.001]"}
INTEGERS, HALVES = ["uint8", "int8", "int16", "int32", "int64"], ["float16", "bfloat16"]


def x(dtype, data=None):
    return f"torch.tensor({data or DATA[dtype]}, dtype=torch.{dtype})"


def each(templates, dtypes, numbers=("",)):
    return [t.format(x=x(d), d=d, n=n) for t in templates for d in dtypes for n in numbers]


def wide(dtype, count=20):  # many values of ordinary size; PyTorch rounds the last of less than 32 at other places
    return f"((torch.arange({count}, dtype=torch.float64) * 2.31 - 20.1) ** 3 / 100).to(torch.{dtype})"


def halves(templates):
    numbers = ["0.1", "0.3", "0.7", "3.3", "100000", "1e-8", "torch.tensor(0.3)", "torch.tensor(0.3, dtype=torch.float64)"]
    return [t.format(x=wide(d), n=n) for t in templates for d in HALVES for n in numbers]


BOOLS = "torch.tensor([True, False])"
GROUPS = {
    "bounds of integers": {"cases": each(
        ["torch.clamp({x}, {n})", "torch.clamp({x}, None, {n})", "torch.clamp({x}, -1, {n})", "torch.clamp_min({x}, {n})",
         "torch.clamp_max({x}, {n})", "{x}.clamp_({n}, 5)", "F.hardtanh({x}, -300, {n})"], INTEGERS,
        ["-1", "2", "300", "-200", "100000", "3000000000"]) + each(["F.hardtanh({x})", "F.relu6({x})"], INTEGERS)},
    "numbers beside 16-bit floats": {"cases": halves(
        ["{x} * {n}", "{n} * {x}", "{x} / {n}", "{x} // {n}", "torch.div({x}, {n}, rounding_mode='floor')",
         "torch.div({x}, {n}, rounding_mode='trunc')", "{x} + {n}", "{x} - {n}", "{x} % {n}", "torch.fmod({x}, {n})", "{x} < {n}"])
        + each(["{x} * {n}", "{x} / {n}", "{x}.mul_({n})", "{x}.div_({n})"], HALVES, ["100000", "1e-8", "1e10", "0.3", "70000.0"])
        + [f"{op}({wide(d, 64)}, {n})" for op in ("F.softshrink", "F.hardshrink", "F.leaky_relu", "torch.xlogy")
           for d in HALVES for n in ("0.1", "0.3", "2.7")]
        + [f"torch.xlogy({wide(d)}, {wide(d)}.abs())" for d in HALVES]
        + [f"torch.add({wide(d, 64)}, {wide(d, 64)}.flip(0), alpha={n})" for d in HALVES + ["float32", "float64"] for n in ("0.1", "3", "-0.7")]
        + [f"torch.sub({wide(d, 64)}, {wide(d, 64)}.flip(0), alpha={n})" for d in HALVES + ["float32", "float64"] for n in ("0.1", "3", "-0.7")]
        + [f"F.threshold({x(d)}, {n}, 2)" for d in HALVES for n in ("0.1", "3.5")]
        + [f"torch.manual_seed(3); out = F.dropout({wide(d)}, {p}, True)" for d in HALVES for p in (0.3, 0.7)]},
    "numbers put into typed tensors": {"cases": each(
        ["{x}.fill_({n})", "torch.full([2], {n}, dtype=torch.{d})", "{x}.masked_fill({x} == 3, {n})", "out = {x}; out[out == 3] = {n}",
         "F.pad({x}, (1, 1), value={n})", "{x} ** {n}", "torch.where({x} == 3, {x}, {n})"],
        list(DATA), ["-3", "256", "100000", "1e10", "1e300"])
        + each(["torch.add({x}, {x}, alpha={n})"], INTEGERS + ["float32", "float64"], ["-3", "256", "100000", "1e300"])
        + each(["{x}.fill_({n})", "torch.tensor([{n}], dtype=torch.{d})"], list(DATA), ["-3", "300", "127.5", "-0.5", "nan", "inf"])
        + each(["{x} // {n}", "{x} % {n}", "torch.fmod({x}, {n})"], INTEGERS, ["256", "0"])
        + ["torch.zeros(0, dtype=torch.int32) % 0", "torch.zeros(0, dtype=torch.int64).fmod(0)",
           "torch.zeros(2, 3, dtype=torch.int32).fill_diagonal_(1e10)"]},
    "bools": {"cases": [f"F.{loss}({a}, {b})" for loss in
                        ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss",
                         "hinge_embedding_loss", "binary_cross_entropy_with_logits", "poisson_nll_loss")
                        for a in (BOOLS, "torch.tensor([1, 2])", "torch.tensor([0.5, 0.25])")
                        for b in (BOOLS, "torch.tensor([1, 2])", "torch.tensor([0.5, 0.25], dtype=torch.float64)")
                        if not (loss in ("poisson_nll_loss", "binary_cross_entropy_with_logits") and "float64" in b)]
              + [f"torch.addcmul({BOOLS}, {BOOLS}, {BOOLS})", f"{BOOLS} ** True", f"{BOOLS} ** False", f"{BOOLS} ** 2",
                 f"torch.clamp({BOOLS}, True)", f"F.threshold({BOOLS}, 0, 1)", f"F.tanhshrink({BOOLS})", f"{BOOLS}.argmax()",
                 f"torch.hypot({BOOLS}, {BOOLS})", "torch.hypot(torch.tensor([1]), torch.tensor([2]))", f"{BOOLS}.topk(1)",
                 "torch.logaddexp(torch.tensor([1]), torch.tensor([2]))", "torch.round(torch.tensor([1]), decimals=1)",
                 "torch.zeros(0, dtype=torch.int32).median()", "torch.zeros(0, dtype=torch.uint8).median()",
                 "torch.zeros(0, dtype=torch.bool).median()", "torch.zeros(0, dtype=torch.int32).softmax(0)",
                 "torch.zeros(0, dtype=torch.bool).softmax(0)"], "ulp": 2},
    "places": {"cases": [
        "out = torch.ones(3); out.index_put_((torch.tensor([True, False, True]),), torch.tensor([2.], dtype=torch.float64))",
        "out = torch.ones(3); out.index_put_((torch.tensor([True, False, True]),), torch.tensor([2., 3.], dtype=torch.float64))",
        "torch.arange(6.).view(2, 3).gather(1, torch.tensor([[2], [0]], dtype=torch.int32))",
        "torch.arange(6.).view(2, 3).gather(1, torch.tensor([[2], [0]], dtype=torch.int16))",
        "torch.arange(6.).view(2, 3).scatter_add(1, torch.tensor([]), torch.ones(2, 3))",
        "torch.tensor(1.5).mT", "torch.tensor(1.5).adjoint()", "F.pdist(torch.ones(1, 3))", "F.pdist(torch.ones(0, 3))",
        "torch.einsum('a,a->', torch.tensor([100, 100], dtype=torch.int8), torch.tensor([100, 1], dtype=torch.int8))",
        "torch.einsum('a,a->', torch.tensor([1, 2], dtype=torch.int32), torch.tensor([3, 4], dtype=torch.int32))",
        "torch.einsum('ab,ab->a', torch.tensor([[200, 100]], dtype=torch.uint8), torch.tensor([[1, 2]], dtype=torch.uint8))",
        "torch.einsum('a->', torch.tensor([100, 100], dtype=torch.int8))", f"torch.einsum('a,a->', {BOOLS}, {BOOLS})",
        "F.adaptive_avg_pool2d(torch.ones(1, 2, 4, 4), (-1, 2))", "torch.tril(torch.ones(3))",
        "torch.arange(6.).view(2, 3).index_fill(0, torch.tensor([-1]), 9.)", "torch.arange(6.).view(2, 3).index_fill(1, torch.tensor([3]), 9.)",
        "torch.arange(6.).view(2, 3).index_fill(1, torch.tensor([[0]]), 9.)", "torch.arange(6.).view(2, 3).scatter(0, torch.tensor([0, 1]), 1.)",
        "torch.arange(6.).view(2, 3).scatter(1, torch.tensor([[0], [1], [0]]), torch.ones(2, 3))", "torch.tensor([-0.0, -0.0]).cumsum(0)",
        *[f"torch.arange(6.).view(2, 3).{f}({d}, {i}, {s})" for f in ("index_add", "index_copy")
          for d, i, s in ((0, "torch.tensor([0, 5])", "torch.ones(2, 3)"), (1, "torch.tensor([0, -1])", "torch.ones(2, 2)"),
                          (0, "torch.tensor([0.])", "torch.ones(1, 3)"), (0, "torch.tensor([[0, 1]])", "torch.ones(2, 3)"),
                          (0, "torch.tensor([0, 1])", "torch.ones(2, 2)"), (1, "torch.tensor([0, 1])", "torch.ones(2, 3)"),
                          (0, "torch.tensor([0, 1])", "torch.ones(2, 3, dtype=torch.int64)"), (0, "torch.tensor([1, 0])", "torch.ones(2, 3)"))],
        "torch.rot90(torch.ones(1), 1, (0, 2))", "torch.rot90(torch.ones(1, 2), 1, (0, 2))", "torch.cdist(torch.ones(1, 2), torch.ones(1, 2, dtype=torch.float64))", "torch.ones(3).index_add(0, torch.tensor([5]), torch.ones(1))",
        "torch.histc(torch.tensor([0.5, 0.25, 1.0], dtype=torch.float16), 4)", "torch.histc(torch.tensor([0.5, 0.25], dtype=torch.bfloat16), 4)",
        "torch.add(torch.tensor([inf], dtype=torch.float16), torch.tensor([1e38], dtype=torch.bfloat16), alpha=-30)",
        "torch.add(torch.tensor([1 + 2. ** -23] * 16), torch.tensor([1 - 2. ** -24] * 16), alpha=-1 - 2. ** -23)",
        "F.softshrink(torch.tensor([nan, 0.3, -0.3, -0.0, 1.]))", "F.elu(torch.tensor([0.0, -0.0, nan, -1.]), inf)"]},
    "signs of zero": {"cases": [f"torch.signbit({f}({a}, {b}))" for f in ("torch.fmin", "torch.fmax") for d in ("float32", "float64", "float16")
                                for n in (1, 7, 40) for a, b in [[f"torch.tensor([{v}]).repeat({n}).to(torch.{d})" for v in
                                                                 ("0., -0., 0., -0., nan, -0.", "-0., 0., 0., -0., -0., nan")]]]
                      + [f"torch.signbit(torch.tensor([0., -0., -0.]).{f}(0))" for f in ("cumsum", "cumprod", "sum", "prod")]},
    "distances": {"cases": [f"torch.cdist(torch.arange(12.).view(4, 3).to(torch.{d}) * 0.37, torch.arange(6.).view(2, 3).to(torch.{d}) - 1.3, {p})"
                            for d in HALVES + ["float32", "float64"] for p in ("0", "0.5", "1", "2", "3", "inf")]
                  + [f"torch.cdist(torch.ones({n}, 2, dtype=torch.{d}), torch.zeros(2, 2, dtype=torch.{d}), {p})"
                     for d in HALVES for n in (0, 25, 26) for p in (1, 2)]
                  + [f"torch.cdist(torch.ones(2, 3, dtype=torch.{d}), torch.ones(2, 3, dtype=torch.{e}))"
                     for d in HALVES + ["float32", "float64"] for e in HALVES + ["float32", "float64"] if d != e]
                  + [f"F.pdist(torch.arange({3 * n}.).view({n}, 3).to(torch.{d}))" for d in HALVES + ["float64"] for n in (0, 1, 2, 4)]
                  + [f"F.{loss}(torch.tensor([1., 2.5], dtype=torch.{a}), torch.tensor([0., 2.], dtype=torch.{b}))"
                     for loss in ("huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss")
                     for a, b in (("float32", "float64"), ("float64", "float32"), ("float32", "float16"), ("bfloat16", "float32"))], "ulp": 2},
    "nothing": {"cases": ["torch.tensor(1.5).topk(0)[0]", "torch.tensor(1.5).topk(0)[1]", "torch.tensor(1.5).topk(1)[0]",
                          "torch.take_along_dim(torch.ones(2, 3), torch.zeros(0))", "torch.take_along_dim(torch.ones(2, 3), torch.zeros(0, 3), 0)"]
                + [f"F.conv_transpose{n}d(torch.ones({b}, 2, {size}{', 2' * (n - 1)}), torch.ones(2, 3, {k}{', 1' * (n - 1)}), padding=({p},{' 0,' * (n - 1)}))"
                   for n in (1, 2) for b in (0, 2) for size, k, p in ((1, 2, 1), (3, 4, 3), (1, 1, 0))]},
    "random numbers": {"cases": [f"torch.manual_seed(7); out = torch.cat([{c}.double(), torch.rand(2, dtype=torch.float64)])" for d in HALVES for c in
                                 [f"torch.rand(40, dtype=torch.{d})", f"torch.zeros(33, dtype=torch.{d}).uniform_(-3, 5)"]
                                 + [f"torch.randn({n}, dtype=torch.{d})" for n in (5, 16, 31, 100)]
                                 + [f"torch.zeros(20, dtype=torch.{d}).normal_(0.1, 0.3)"]]
                       + [f"torch.manual_seed(7); out = torch.cat([torch.randint(0, {n}, (5,)).double(), torch.rand(2, dtype=torch.float64)])"
                          for n in (2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 32 - 1, 2 ** 32)]
                       + [f"torch.manual_seed(7); w = torch.zeros({n}, dtype=torch.{d}); nn.init.trunc_normal_(w{a}); "
                          "out = torch.cat([w.double(), torch.rand(2, dtype=torch.float64)])"
                          for n in (9, 50) for d in ("float32", "float16") for a in ("", ", 1, 2, -1, 3", ", 0, 1, 2, 4")]},
    "float64 streams": {"cases": [f"torch.manual_seed({s}); out = torch.zeros(50, dtype=torch.float64).{f}" for s in (1, 2)
                                  for f in ("exponential_()", "exponential_(0.7)", "log_normal_()", "log_normal_(0.3, 0.9)", "cauchy_()", "normal_()")]
                        + [f"torch.manual_seed({s}); out = torch.zeros(100, dtype=torch.float64)[::2].normal_(0.1, 3)" for s in (1, 2)]
                        + [f"torch.manual_seed({s}); out = -torch.zeros(50, dtype=torch.float64).exponential_().log()" for s in (1, 2)]
                        + ["torch.manual_seed(1); out = torch.randn(9, dtype=torch.float64)"], "ulp": 1},
}


def element(v):
    return v if not isinstance(v, float) or math.isfinite(v) else "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"


def answer(code):
    env = {"torch": torch, "F": F, "nn": nn, "inf": inf, "nan": nan}
    try:
        if "out = " in code:
            exec(code, env)
            value = env["out"]
        else:
            value = eval(code, env)
    except Exception as e:
        return {"code": code, "error": type(e).__name__, "text": str(e).split("\n")[0]}
    values = value.double() if value.is_floating_point() else value
    return {"code": code, "type": str(value.dtype)[6:], "shape": list(value.shape),
            "values": [element(v) for v in values.reshape(-1).tolist()]}


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..", "tests", "data", "numbers.json")
    lines = []
    for name, group in GROUPS.items():
        cases = ",\n".join(json.dumps(answer(c), separators=(",", ":")) for c in dict.fromkeys(group["cases"]))
        lines.append(f'{json.dumps(name)}: {{"ulp": {group.get("ulp", 0)}, "cases": [\n{cases}\n]}}')
    with open(out, "w") as f:
        f.write("{\n" + ",\n".join(lines) + "\n}\n")
    print(", ".join(f"{n} {len(dict.fromkeys(g['cases']))}" for n, g in GROUPS.items()))


main()
