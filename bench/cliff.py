#!/usr/bin/env python3
"""Looks for operations, shapes and types for which Tenon is the wrong choice: random calls beside PyTorch eager.

    bench/cliff.py BENCH_CALLS [--draws N] [--seed S] [--threads N] [--only NAME,...] [--report FILE]

BENCH_CALLS is the program built from calls.cpp. A draw is a function, uniformly among those of frontend/functions.def that PyTorch has
and among the layers' functions below, with operands of random sizes (2,000 to 2 million elements), types and strides, now and then
fused with what is before or behind it, or with its gradient. Each library runs in a process of its own; they take turns. PyTorch
keeps the memory that it freed (malloc's trim_threshold), so that no page fault counts against it. Results are compared first. A draw
that takes PyTorch less than 30 us is left out: this measures kernels, not calls. A draw below 0.8 of PyTorch's speed is measured
twice more, and listed if it is below 0.8 each time: the ratio, PyTorch's and Tenon's microseconds, the program. Ends with 1 if a
result differs."""
import argparse
import math
import os
import random
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../scripts/print"))
import make_functions  # the reader of frontend/functions.def
import peers

SLOW, SHORT = 0.8, 30.0   # a ratio; microseconds


# --- draws

class Draw:
    """A program: variables and an expression over them."""

    def __init__(self, rng, name):
        self.rng, self.name, self.lets, self.expression = rng, name, [], None
        self.dtype = rng.choices(["float32", "float64", "bfloat16", "float16", "int64", "int32", "uint8", "bool"],
                                 [60, 10, 7, 5, 8, 5, 3, 2])[0]
        self.size = int(math.exp(rng.uniform(math.log(2e3), math.log(2e6))))

    def floating(self, *types):
        if self.dtype not in ("float32", "float64", "bfloat16", "float16") or types and self.dtype not in types:
            self.dtype = "float32"
        return self

    def shape(self, dims=None):
        rng = self.rng
        dims = dims or rng.choices([1, 2, 3, 4], [15, 50, 20, 15])[0]
        shares = [rng.random() + 0.1 for _ in range(dims)]
        return [max(1, round(self.size ** (s / sum(shares)))) for s in shares]

    def fresh(self, shape, dtype=None, positive=False):
        """An expression for a contiguous tensor."""
        dtype = dtype or self.dtype
        sizes = ", ".join(map(str, shape))
        if dtype == "bool":
            return f"torch.rand({sizes}) > 0.5"
        if dtype in ("int64", "int32", "uint8"):
            return f"(torch.rand({sizes}) * 100 + 1).to(torch.{dtype})"
        text = f"torch.rand({sizes}) + 0.1" if positive else f"torch.randn({sizes})"
        return text if dtype == "float32" else f"({text}).to(torch.{dtype})"

    def let(self, text):
        name = f"x{len(self.lets)}"
        self.lets.append((name, text))
        return name

    def operand(self, shape, dtype=None, positive=False, strided=True):
        """A variable of that shape, of random strides."""
        kind = self.rng.choices(["plain", "transposed", "stepped", "expanded"], [70, 13, 10, 7])[0] if strided and shape else "plain"
        if kind == "transposed" and len(shape) > 1:
            name = self.let(self.fresh(shape[:-2] + [shape[-1], shape[-2]], dtype, positive))
            return self.let(f"{name}.transpose(-1, -2)")
        if kind == "stepped":
            name = self.let(self.fresh(shape[:-1] + [2 * shape[-1]], dtype, positive))
            return self.let(f"{name}[..., ::2]")
        if kind == "expanded" and len(shape) > 1:
            at = self.rng.randrange(len(shape))
            name = self.let(self.fresh(shape[:at] + [1] + shape[at + 1:], dtype, positive))
            return self.let(f"{name}.expand({', '.join(map(str, shape))})")
        return self.let(self.fresh(shape, dtype, positive))

    def index(self, shape, below):
        return self.let(f"torch.randint(0, {below}, ({', '.join(map(str, shape))},))")

    def dim(self, shape):
        return self.rng.randrange(-len(shape), len(shape))

    def finish(self, expression):
        """Fuses the call with others, or takes its gradient."""
        rng, name = self.rng, self.lets[0][0]
        floats = self.dtype in ("float32", "float64", "bfloat16", "float16")
        kind = rng.choices(["alone", "before", "behind", "sum", "gradient"], [55, 10, 12, 8, 15])[0]
        if kind == "before" and floats:
            expression = re.sub(rf"\b{name}\b", f"({name} * 0.5 + 0.25)", expression)
        elif kind == "behind" and floats:
            expression = f"({expression}) * 2 - 1"
        elif kind == "sum" and floats:
            expression = f"({expression}).sum(-1)"
        elif kind == "gradient" and floats:
            leaf = self.let(f"{name}.detach().clone().requires_grad_()")
            expression = re.sub(rf"\b{name}\b", leaf, expression)
            expression = f"torch.autograd.grad(({expression}).sum(), [{leaf}])"
        self.expression = expression
        return self

    def lines(self):
        return [f"let {name} {text}" for name, text in self.lets]

    def text(self):
        return "; ".join(f"{name} = {text}" for name, text in self.lets) + "; " + self.expression


def generic(row, python_name):
    """A draw from a row of functions.def whose parameters say enough; None if they do not."""
    def make(rng):
        d = Draw(rng, row.name)
        shape = d.shape()
        positive = rng.random() < 0.3
        arguments = []
        for place, parameter in enumerate(row.parameters):
            kind, name, default = parameter.type.replace("(a)", ""), parameter.name, parameter.default or None
            named = place >= len(row.parameters) - row.by_name
            value = None
            if kind in ("Tensor", "Tensor&"):
                size = shape
                if d.lets and rng.random() < 0.25:
                    size = shape[rng.randrange(len(shape)):] if rng.random() < 0.5 else [n if rng.random() < 0.5 else 1 for n in shape]
                dtype = "bool" if name in ("condition", "mask") else None
                value = d.operand(size, dtype, positive)
            elif kind == "Tensor[]":
                value = "[" + ", ".join(d.operand(shape, None, positive) for _ in range(rng.randint(2, 4))) + "]"
            elif kind in ("int", "int32", "int?") and name.startswith("dim") and (default is None or rng.random() < 0.6):
                value = str(d.dim(shape))
            elif kind in ("int[]", "int[]?") and name.startswith("dim") and (default is None or rng.random() < 0.6):
                value = "[" + ", ".join(map(str, rng.sample(range(len(shape)), rng.randint(1, min(2, len(shape)))))) + "]"
            elif default is not None:
                value = "True" if name == "keepdim" and rng.random() < 0.3 else None
            elif kind in ("Scalar", "Scalar?", "float"):
                value = str(rng.randint(1, 7)) if d.dtype in ("int64", "int32", "uint8", "bool") else f"{rng.uniform(0.5, 3):.2f}"
            elif kind in ("int", "int?"):
                value = str(rng.randint(1, 4))
            elif kind == "int[]":
                value = "[" + ", ".join(str(rng.randint(1, 3)) for _ in shape) + "]"
            else:
                return None
            if value is not None:
                arguments.append(value if default is None and not named else f"{name}={value}")
        expression = f"{python_name}({', '.join(arguments)})"
        return d.finish(expression) if d.lets else None
    return make


LEFT_OUT = set("""rand randn randint rand_like randn_like randint_like empty empty_like zeros ones full arange linspace logspace eye dropout
bernoulli normal poisson multinomial randperm result_type equal allclose is_same_size clone positive broadcast_tensors alpha_dropout
feature_dropout feature_alpha_dropout rrelu fractional_max_pool2d fractional_max_pool3d range tril_indices triu_indices cartesian_prod
combinations block_diag matrix_power chain_matmul vander nonzero_static empty_strided empty_permuted as_strided as_strided_scatter
resize kron diagflat diag_embed unique_consecutive corrcoef cov mvlgamma igamma igammac polygamma outer ger inner addr""".split())


def by_hand():
    """Functions whose operands have to fit: name -> a maker of draws."""
    makers = {}

    def maker(f):
        def make(rng):
            d = Draw(rng, f.__name__.rstrip("_"))
            return d.finish(f(d, rng))
        makers[f.__name__.rstrip("_")] = make
        return f

    def near(rng, low, high):
        return int(math.exp(rng.uniform(math.log(low), math.log(high))))

    def conv(d, rng, dims, transposed=False):
        d.floating("float32", "float64")
        kernel = rng.choice([1, 3, 3, 3, 5, 7] if dims < 3 else [1, 3])
        width = {1: near(rng, 32, 512), 2: near(rng, 7, 64), 3: near(rng, 5, 14)}[dims]
        batch, channels, outputs = near(rng, 1, 16), near(rng, 1, 96), near(rng, 4, 96)
        groups = rng.choice([1, 1, 1, channels])
        if groups > 1:
            outputs = channels * rng.randint(1, 2)
        x = d.operand([batch, channels] + [max(width, kernel)] * dims)
        weights = [channels, outputs // groups] if transposed else [outputs, channels // groups]
        w = d.let(d.fresh(weights + [kernel] * dims))
        options = f", stride={rng.choice([1, 1, 2])}, padding={rng.choice([0, kernel // 2])}, groups={groups}"
        bias = ", " + d.let(d.fresh([outputs])) if rng.random() < 0.5 else ""
        return f"F.conv{'_transpose' if transposed else ''}{dims}d({x}, {w}{bias}{options})"

    @maker
    def conv1d(d, rng): return conv(d, rng, 1)

    @maker
    def conv2d(d, rng): return conv(d, rng, 2)

    @maker
    def conv3d(d, rng): return conv(d, rng, 3)

    @maker
    def conv_transpose2d(d, rng): return conv(d, rng, 2, True)

    @maker
    def linear(d, rng):
        d.floating("float32", "float64", "bfloat16")
        k, n = near(rng, 8, 1024), near(rng, 8, 1024)
        x, w = d.operand([near(rng, 1, 512), k]), d.operand([n, k])
        return f"F.linear({x}, {w}{', ' + d.let(d.fresh([n])) if rng.random() < 0.7 else ''})"

    def product(name):
        def make(d, rng):
            d.floating("float32", "float64", "bfloat16")
            m, k, n = (near(rng, 4, 512) for _ in range(3))
            batch = [near(rng, 2, 16)] if name in ("bmm", "baddbmm") else []
            if batch:
                m, k, n = (near(rng, 4, 128) for _ in range(3))
            a, b = d.operand(batch + [m, k]), d.operand(batch + [k, n])
            if name in ("addmm", "baddbmm"):
                return f"torch.{name}({d.operand(batch + [m, n], strided=False)}, {a}, {b})"
            return f"torch.{name}({a}, {b})"
        make.__name__ = name
        maker(make)
    for name in ("matmul", "mm", "bmm", "addmm", "baddbmm"):
        product(name)

    @maker
    def mv(d, rng):
        d.floating("float32", "float64")
        m, k = near(rng, 32, 2048), near(rng, 32, 2048)
        return f"torch.mv({d.operand([m, k])}, {d.operand([k])})"

    @maker
    def dot(d, rng):
        d.floating("float32", "float64")
        return f"torch.dot({d.operand([d.size])}, {d.operand([d.size])})"

    @maker
    def outer_(d, rng):
        m = near(rng, 32, 2048)
        return f"torch.outer({d.operand([m])}, {d.operand([max(1, d.size // m)])})"

    @maker
    def einsum(d, rng):
        d.floating("float32", "float64")
        a, b, c, e = (near(rng, 4, 48) for _ in range(4))
        equation, left, right = rng.choice([("abc,cd->abd", [a, b, c], [c, e]), ("abc,abd->acd", [a, b, c], [a, b, e]),
                                            ("abcd,abed->abce", [a, b, c, e], [a, b, 8, e]), ("ab,ab->a", [a * 8, b * 8], [a * 8, b * 8])])
        return f"torch.einsum('{equation}', [{d.operand(left)}, {d.operand(right)}])"

    @maker
    def cdist(d, rng):
        d.floating("float32", "float64")
        k = near(rng, 2, 64)
        return f"torch.cdist({d.operand([near(rng, 16, 512), k])}, {d.operand([near(rng, 16, 512), k])})"

    def pool(name, dims):
        def make(d, rng):
            d.floating("float32", "float64")
            width = {1: near(rng, 64, 1024), 2: near(rng, 8, 64)}[dims]
            x = d.operand([near(rng, 1, 16), near(rng, 1, 64)] + [width] * dims)
            kernel = rng.choice([2, 2, 3])
            return f"F.{name}({x}, {kernel}, stride={rng.choice([1, 2, kernel])}, padding={rng.choice([0, kernel // 2])})"
        make.__name__ = name
        maker(make)
    for name, dims in (("max_pool1d", 1), ("max_pool2d", 2), ("avg_pool1d", 1), ("avg_pool2d", 2)):
        pool(name, dims)

    def adaptive(name):
        def make(d, rng):
            d.floating("float32", "float64")
            width = near(rng, 8, 64)
            return f"F.{name}({d.operand([near(rng, 1, 16), near(rng, 1, 64), width, width])}, {rng.choice([1, 4, 7])})"
        make.__name__ = name
        maker(make)
    adaptive("adaptive_avg_pool2d")
    adaptive("adaptive_max_pool2d")

    def image(d, rng):
        d.floating("float32", "float64")
        width = near(rng, 7, 64)
        return [near(rng, 2, 32), near(rng, 2, 64), width, width]

    @maker
    def batch_norm(d, rng):
        s = image(d, rng)
        x, w, b = d.operand(s), d.let(d.fresh(s[1:2])), d.let(d.fresh(s[1:2]))
        mean, var = d.let(d.fresh(s[1:2])), d.let(d.fresh(s[1:2], positive=True))
        return f"F.batch_norm({x}, {mean}, {var}, weight={w}, bias={b}, training={rng.choice(['True', 'False'])})"

    @maker
    def layer_norm(d, rng):
        d.floating()
        s = d.shape(rng.choice([2, 3]))
        return f"F.layer_norm({d.operand(s)}, [{s[-1]}], {d.let(d.fresh(s[-1:]))}, {d.let(d.fresh(s[-1:]))})"

    @maker
    def group_norm(d, rng):
        s = image(d, rng)
        groups = rng.choice([1, 2])
        s[1] = s[1] // groups * groups
        return f"F.group_norm({d.operand(s)}, {groups}, {d.let(d.fresh(s[1:2]))}, {d.let(d.fresh(s[1:2]))})"

    @maker
    def normalize(d, rng):
        d.floating()
        s = d.shape()
        return f"F.normalize({d.operand(s)}, dim={d.dim(s)})"

    @maker
    def scaled_dot_product_attention(d, rng):
        d.floating("float32", "bfloat16")
        head, length = rng.choice([16, 32, 48, 64, 128]), near(rng, 8, 256)
        s = [near(rng, 1, 8), near(rng, 1, 8), length, head]
        return (f"F.scaled_dot_product_attention({d.operand(s, strided=False)}, {d.operand(s, strided=False)}, {d.operand(s, strided=False)}"
                f", is_causal={rng.choice(['True', 'False'])})")

    @maker
    def cross_entropy(d, rng):
        d.floating("float32", "float64")
        n, c = near(rng, 16, 4096), near(rng, 2, 1000)
        return f"F.cross_entropy({d.operand([n, c])}, {d.index([n], c)})"

    @maker
    def nll_loss(d, rng):
        d.floating("float32", "float64")
        n, c = near(rng, 16, 4096), near(rng, 2, 1000)
        return f"F.nll_loss({d.operand([n, c])}, {d.index([n], c)})"

    def loss(name, positive=False):
        def make(d, rng):
            d.floating("float32", "float64")
            s = d.shape()
            a = d.operand(s) if not positive else d.let(f"torch.sigmoid({d.operand(s)})")
            return f"F.{name}({a}, {d.let(f'torch.sigmoid({d.operand(s)})')})"
        make.__name__ = name
        maker(make)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits", "kl_div"):
        loss(name)
    loss("binary_cross_entropy", True)

    @maker
    def embedding(d, rng):
        d.floating("float32", "float64")
        rows, width = near(rng, 10, 20000), near(rng, 4, 128)
        w = d.operand([rows, width], strided=False)
        return f"F.embedding({d.index([near(rng, 16, 4096)], rows)}, {w})"

    @maker
    def interpolate(d, rng):
        s = image(d, rng)
        mode = rng.choice(["nearest", "bilinear"])
        return f"F.interpolate({d.operand(s)}, scale_factor={rng.choice(['2.0', '0.5', '1.5'])}, mode='{mode}')"

    @maker
    def pad(d, rng):
        s = image(d, rng)
        return f"F.pad({d.operand(s)}, [1, 2, 2, 1], mode='{rng.choice(['constant', 'reflect', 'replicate', 'circular'])}')"

    @maker
    def unfold(d, rng):
        return f"F.unfold({d.operand(image(d, rng))}, 3, padding=1)"

    @maker
    def grid_sample(d, rng):
        s = image(d, rng)
        return f"F.grid_sample({d.operand(s)}, {d.let(d.fresh([s[0], s[2], s[3], 2]))}, align_corners=False)"

    def indexed(name):
        def make(d, rng):
            s = d.shape(rng.choice([1, 2, 2, 3]))
            dim = rng.randrange(len(s))
            x = d.operand(s)
            if name in ("gather", "take_along_dim"):
                i = d.index(s[:dim] + [near(rng, 1, 2 * s[dim] + 1)] + s[dim + 1:], s[dim])
                return f"torch.gather({x}, {dim}, {i})" if name == "gather" else f"torch.take_along_dim({x}, {i}, {dim})"
            if name in ("scatter", "scatter_add"):
                i = d.index(s, s[dim])
                return f"torch.{name}({x}, {dim}, {i}, {d.operand(s)})"
            if name == "scatter_reduce":
                i = d.index(s, s[dim])
                return f"torch.scatter_reduce({x}, {dim}, {i}, {d.operand(s)}, '{rng.choice(['sum', 'amax'])}')"
            count = near(rng, 1, 2 * s[dim] + 1)
            i = d.index([count], s[dim])
            if name == "index_select":
                return f"torch.index_select({x}, {dim}, {i})"
            return f"torch.{name}({x}, {dim}, {i}, {d.operand(s[:dim] + [count] + s[dim + 1:])})"
        make.__name__ = name
        maker(make)
    for name in ("gather", "take_along_dim", "scatter", "scatter_add", "scatter_reduce", "index_select", "index_add"):
        indexed(name)

    @maker
    def index(d, rng):
        s = d.shape(rng.choice([1, 2, 3]))
        x = d.operand(s)
        if rng.random() < 0.4:
            return f"{x}[{x} > {rng.choice([0, 1])}]"
        return f"{x}[{d.index([near(rng, 1, 2 * s[0] + 1)], s[0])}]"

    @maker
    def take(d, rng):
        s = d.shape()
        return f"torch.take({d.operand(s)}, {d.index([d.size], math.prod(s))})"

    @maker
    def masked_select(d, rng):
        s = d.shape()
        return f"torch.masked_select({d.operand(s)}, {d.operand(s, 'bool')})"

    @maker
    def masked_scatter(d, rng):
        s = d.shape()
        return f"torch.masked_scatter({d.operand(s)}, {d.operand(s, 'bool')}, {d.operand(s)})"

    @maker
    def nonzero(d, rng):
        d.dtype = "bool"
        return f"torch.nonzero({d.operand(d.shape())})"

    @maker
    def bincount(d, rng):
        d.dtype = "int64"
        return f"torch.bincount({d.index([d.size], near(rng, 2, 10000))})"

    @maker
    def histc(d, rng):
        d.floating("float32", "float64")
        return f"torch.histc({d.operand([d.size])}, {near(rng, 4, 500)})"

    @maker
    def searchsorted(d, rng):
        d.floating("float32", "float64")
        edges = d.let(f"torch.sort({d.fresh([near(rng, 4, 10000)])})[0]")
        return f"torch.searchsorted({edges}, {d.operand([d.size])})"

    @maker
    def bucketize(d, rng):
        d.floating("float32", "float64")
        edges = d.let(f"torch.sort({d.fresh([near(rng, 4, 10000)])})[0]")
        return f"torch.bucketize({d.operand([d.size])}, {edges})"

    @maker
    def topk(d, rng):
        s = d.shape()
        dim = rng.randrange(len(s))
        return f"torch.topk({d.operand(s)}, {near(rng, 1, s[dim] + 1)}, {dim})[0]"

    @maker
    def sort(d, rng):
        s = d.shape()
        return f"torch.sort({d.operand(s)}, {d.dim(s)})[0]"

    @maker
    def argsort(d, rng):
        s = d.shape()
        return f"torch.argsort({d.operand(s)}, {d.dim(s)}, stable=True)"

    @maker
    def kthvalue(d, rng):
        s = d.shape()
        dim = rng.randrange(len(s))
        return f"torch.kthvalue({d.operand(s)}, {rng.randint(1, s[dim])}, {dim})[0]"

    @maker
    def unique(d, rng):
        d.dtype = "int64"
        return f"torch.unique({d.index([d.size], near(rng, 2, 100000))})"

    def joined(name):
        def make(d, rng):
            s = d.shape()
            return f"torch.{name}([{', '.join(d.operand(s) for _ in range(rng.randint(2, 5)))}], {rng.randrange(len(s))})"
        make.__name__ = name
        maker(make)
    joined("cat")
    joined("stack")

    @maker
    def one_hot(d, rng):
        classes = near(rng, 2, 200)
        d.dtype = "int64"
        return f"F.one_hot({d.index([max(1, d.size // classes)], classes)}, {classes})"

    def repeated(name, text):
        def make(d, rng):
            s = d.shape(rng.choice([1, 2, 3]))
            return text(d, rng, d.operand(s), s)
        make.__name__ = name
        maker(make)
    repeated("repeat", lambda d, rng, x, s: f"{x}.repeat({', '.join(str(rng.randint(1, 3)) for _ in s)})")
    repeated("tile", lambda d, rng, x, s: f"torch.tile({x}, [{', '.join(str(rng.randint(1, 3)) for _ in s)}])")
    repeated("repeat_interleave", lambda d, rng, x, s: f"torch.repeat_interleave({x}, {rng.randint(2, 4)}, {rng.randrange(len(s))})")
    repeated("roll", lambda d, rng, x, s: f"torch.roll({x}, [{rng.randint(1, 9)}], [{rng.randrange(len(s))}])")
    repeated("contiguous", lambda d, rng, x, s: f"{x}.transpose(0, -1).contiguous() + 0")
    repeated("permute", lambda d, rng, x, s: f"{x}.permute({', '.join(map(str, rng.sample(range(len(s)), len(s))))}) + 1")
    repeated("write_slice", lambda d, rng, x, s: f"{x}.clone()[1:].mul_(2)")
    repeated("to", lambda d, rng, x, s: f"{x}.to(torch.{rng.choice(['float32', 'float64', 'int64', 'int32', 'bfloat16', 'float16', 'bool', 'uint8'])})")
    repeated("select_sum", lambda d, rng, x, s: f"{x}[{rng.randrange(s[0])}] * 2 + {x}[0]")

    @maker
    def cross(d, rng):
        d.floating("float32", "float64")
        s = [max(1, d.size // 3), 3]
        return f"torch.cross({d.operand(s)}, {d.operand(s)}, dim=1)"

    @maker
    def where(d, rng):
        s = d.shape()
        return f"torch.where({d.operand(s, 'bool')}, {d.operand(s)}, {d.operand(s)})"

    @maker
    def softmax(d, rng):
        d.floating()
        s = d.shape()
        return f"torch.softmax({d.operand(s)}, {d.dim(s)})"

    @maker
    def log_softmax(d, rng):
        d.floating()
        s = d.shape()
        return f"torch.log_softmax({d.operand(s)}, {d.dim(s)})"
    return makers


def makers_of(only):
    import torch
    makers = by_hand()
    table = {}
    for row in make_functions.Table(make_functions.TABLE.read_text()).rows:
        table.setdefault(f"{row.scope}::{row.name}" if row.scope else row.name, []).append(row)
    for name, rows in table.items():
        if name in makers or name in LEFT_OUT or name.endswith("_") or "backward" in name:
            continue
        plain = name.replace("::", ".")
        modules = [("torch", torch), ("F", torch.nn.functional)]   # torch's own losses have no reduction as their default
        found = next((f"{module}.{plain}" for module, holder in (modules[::-1] if plain.endswith("_loss") else modules)
                      if callable(getattr(holder, plain, None))), None)
        if "." in plain and plain.split(".")[0] in ("special", "linalg"):
            found = f"torch.{plain}"
        usable = [r for r in rows if any(p.type.startswith("Tensor") for p in r.parameters) and r.result != "bool"]
        if found and usable and not all(r.result.startswith("Tensor(a)") for r in rows):
            makers[name] = lambda rng, rows=usable, found=found: generic(rng.choice(rows), found)(rng)
    if only:
        makers = {name: m for name, m in makers.items() if name in only}
    return makers


# --- comparing

def equal(a, b):
    if a == b:
        return True
    x, y = re.sub(r"\[[^]]*\]", "", a).split(), re.sub(r"\[[^]]*\]", "", b).split()
    if re.findall(r"\[[^]]*\]", a) != re.findall(r"\[[^]]*\]", b) or len(x) != len(y):
        return False
    return all(abs(float(u) - float(v)) <= 2e-2 * max(abs(float(u)), abs(float(v)), 1e-3) for u, v in zip(x, y))


def race(servers, expression, rounds):
    """The median of PyTorch's time over Tenon's, and the median microseconds of both."""
    times = {name: [] for name in servers}
    for server in servers.values():
        server.ask(f"time 0.03 {expression}")   # kernels are compiled
    for i in range(rounds):
        for name in list(servers)[::1 if i % 2 else -1]:
            text = servers[name].ask(f"time 0.01 {expression}")
            if text.startswith("error"):
                return None
            times[name].append(float(text))
    return (statistics.median(t / u for t, u in zip(times["torch"], times["tenon"])), statistics.median(times["torch"]),
            statistics.median(times["tenon"]))


def prepare(servers, draw):
    """Both have the variables and equal results; else what went wrong."""
    for name in ("torch", "tenon"):
        servers[name].ask("clear")
        for line in ["let _ torch.manual_seed(0)"] + draw.lines():
            text = servers[name].ask(line)
            if text.startswith("error"):
                return name, text
    results = {}
    for name in ("torch", "tenon"):
        results[name] = servers[name].ask("run " + draw.expression)
        if results[name].startswith("error"):
            return name, results[name]
    return None if equal(results["torch"], results["tenon"]) else ("differs", f"{results['torch']} {results['tenon']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--report", default="")
    options = parser.parse_args()
    servers = {"torch": peers.peer("torch", options.threads),
               "tenon": peers.Server([options.program], TENON_THREADS=str(options.threads))}
    makers = makers_of([n for n in options.only.split(",") if n])
    rng = random.Random(options.seed)
    ratios, slow, wrong, refused, tries = [], [], [], {}, 0
    while len(ratios) < options.draws and tries < 20 * options.draws:
        tries += 1
        draw = makers[rng.choice(sorted(makers))](rng)
        if draw is None:
            continue
        problem = prepare(servers, draw)
        if problem:
            if problem[0] == "tenon":
                refused[draw.name] = f"{problem[1]} | {draw.text()}"
            if problem[0] == "differs":
                wrong.append(f"{problem[1]} | {draw.text()}")
            continue
        result = race(servers, draw.expression, 5)
        if not result or result[1] < SHORT:
            continue
        ratios.append(result[0])
        repeated = [result]
        while len(repeated) < 3 and repeated[-1] and repeated[-1][0] < SLOW:
            repeated.append(race(servers, draw.expression, 5))
        if len(repeated) == 3 and repeated[-1] and repeated[-1][0] < SLOW:
            ratio, theirs, ours = repeated[-1]
            slow.append((ratio, f"{ratio:6.2f} {theirs:10.1f} {ours:10.1f}  {draw.name}: {draw.text()}"))
            print(slow[-1][1], flush=True)
    lines = [text for _, text in sorted(slow)]
    end = [f"{len(ratios)} draws of {len(makers)} functions: geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f} of PyTorch, "
           f"{len(slow)} below {SLOW} in three runs ({100 * len(slow) / len(ratios):.1f} %)"]
    end += [f"differs: {text}" for text in wrong] + [f"Tenon refuses {name}: {text}" for name, text in sorted(refused.items())]
    print("\n".join(end))
    if options.report:
        with open(options.report, "w") as file:
            file.write("\n".join(lines + end) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
