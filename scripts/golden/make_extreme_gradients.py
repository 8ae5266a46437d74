#!/usr/bin/env python3
"""PyTorch's gradients at extreme values, for tests/gradients/extreme_test.cpp.

usage: make_extreme_gradients.py [OUT]     (OUT: tests/data/extreme_gradients.json; needs torch)

An expression in Python over x0, x1 (float64) and the values of these; elements of the gradient of the sum of its result are
kept as text, so that nan and inf have a place.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
inf, nan = float("inf"), float("nan")
ANY = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, 1e300, -1e300, 1e-300, -1e-300, 5e-324, 700.0, -700.0, 40.0, -40.0, inf, -inf, nan]
PAIRS = [(a, b) for a in [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 0.5, 3.0, inf, -inf, nan, 1e200, 1e-200]
         for b in [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.0, 3.0, inf, -inf, nan]]

UNARY = """abs neg sqrt rsqrt reciprocal square exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh sigmoid erf erfc erfinv lgamma digamma logit sign floor ceil round trunc frac deg2rad sinc i0 nan_to_num""".split()
FUNCTIONS = ["F.relu(x0)", "F.relu6(x0)", "F.leaky_relu(x0)", "F.elu(x0)", "F.selu(x0)", "F.celu(x0)", "F.gelu(x0)", "F.gelu(x0, approximate='tanh')", "F.silu(x0)",
             "F.mish(x0)", "F.softplus(x0)", "F.softsign(x0)", "F.logsigmoid(x0)", "F.hardtanh(x0)", "F.hardswish(x0)", "F.hardsigmoid(x0)", "F.softshrink(x0)",
             "F.hardshrink(x0)", "F.tanhshrink(x0)", "F.threshold(x0, 1.0, 0.0)", "x0.clamp(-1, 1)", "x0.clamp_min(0)", "x0.clamp_max(2)", "x0.pow(2)", "x0.pow(3)",
             "x0.pow(0.5)", "x0.pow(0)", "x0.pow(-1)", "x0.pow(1)", "torch.pow(2, x0)", "torch.pow(0, x0)", "torch.where(x0 > 0, x0.log(), x0 * 0)", "torch.where(x0 > 0, x0, x0 / 0)"]
BINARY = ["x0 + x1", "x0 - x1", "x0 * x1", "x0 / x1", "torch.pow(x0, x1)", "torch.maximum(x0, x1)", "torch.minimum(x0, x1)", "torch.fmax(x0, x1)", "torch.fmin(x0, x1)",
          "torch.atan2(x0, x1)", "torch.hypot(x0, x1)", "torch.xlogy(x0, x1)", "torch.fmod(x0, x1)", "torch.remainder(x0, x1)",
          "torch.copysign(x0, x1)", "torch.logaddexp(x0, x1)", "torch.logaddexp2(x0, x1)", "F.smooth_l1_loss(x0, x1, reduction='none')",
          "F.huber_loss(x0, x1, reduction='none')", "F.l1_loss(x0, x1, reduction='none')", "F.mse_loss(x0, x1, reduction='none')",
          "F.binary_cross_entropy_with_logits(x0, x1, reduction='none')", "torch.clamp(x0, max=x1)", "torch.clamp(x0, min=x1)"]
ROWS = [[1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [-inf, 1.0, 2.0], [-inf, -inf, -inf], [inf, 1.0, 2.0], [inf, inf, 0.0], [nan, 1.0, 2.0], [1e300, -1e300, 1e300], [3.0, 3.0, 3.0], [0.0, -0.0, 5.0]]
REDUCTIONS = ["torch.logsumexp(x0, 1)", "torch.softmax(x0, 1)[:, 0]", "torch.log_softmax(x0, 1)[:, 0]", "x0.norm(dim=1)", "x0.norm(p=1, dim=1)", "x0.norm(p=3, dim=1)",
              "x0.norm(p=float('inf'), dim=1)", "x0.norm(p=0, dim=1)", "x0.std(1)", "x0.var(1)", "x0.amax(1)", "x0.amin(1)", "x0.max(1)[0]", "x0.min(1)[0]", "x0.median(1)[0]",
              "x0.prod(1)", "x0.cumprod(1)", "x0.cumsum(1)", "x0.cummax(1)[0]", "x0.sort(1)[0][:, 0]", "x0.mean(1)", "F.normalize(x0, dim=1)", "x0.logcumsumexp(1)",
              "torch.cdist(x0, x0.detach())", "F.pdist(x0)", "F.pairwise_distance(x0, x0.detach(), eps=0)", "F.cosine_similarity(x0, x0.detach() + 1)", "x0[:, :1].std(1)", "x0.nansum(1)", "F.layer_norm(x0, (3,))"]


def cases():
    for name in UNARY:
        short, _, full = name.partition(":")
        yield f"torch.{full}(x0)" if full else f"torch.{short}(x0)", [ANY], [len(ANY)]
    for e in FUNCTIONS:
        yield e, [ANY], [len(ANY)]
    for e in BINARY:
        yield e, [[a for a, _ in PAIRS], [b for _, b in PAIRS]], [len(PAIRS)]
    for e in REDUCTIONS:
        for row in ROWS:
            yield e, [row + [0.5, 1.5, -2.0]], [2, 3]


def main():
    result = []
    for expression, values, shape in cases():
        x = [torch.tensor(v, dtype=torch.float64).view(shape).requires_grad_() for v in values]
        try:
            out = eval(expression, {"torch": torch, "F": F, "float": float}, {f"x{i}": v for i, v in enumerate(x)})
            grads = torch.autograd.grad(out.sum(), x, allow_unused=True)
        except Exception as error:
            print("left out:", expression, str(error)[:80])
            continue
        grads = [torch.zeros_like(v) if g is None else g for g, v in zip(grads, x)]
        result.append({"expr": expression, "shape": shape, "inputs": [[repr(e) for e in v] for v in values],
                       "grads": [[repr(e) for e in g.flatten().tolist()] for g in grads]})
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "tests/data/extreme_gradients.json")
    with open(out, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in result) + "\n]\n")
    print(len(result), "cases")


if __name__ == "__main__":
    main()
