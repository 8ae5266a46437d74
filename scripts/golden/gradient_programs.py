"""Draws random differentiable programs; make_gradient_programs.py says what for. Needs torch.

A program is a list of Python statements, each run in PyTorch as it is drawn: what raises is left out, or ends the program. It
uses PyTorch's functions and the few of Namespace, which tests/fuzz/torch_programs.cpp has too.
"""
import json
import math
import os
import random
import re

import torch
import torch.utils.checkpoint

import make_function_golden as functions

ROOT = functions.ROOT
LARGEST = 48     # elements of a tensor that views and writes use
BOUND = 1e3      # a value beyond it ends up in rounding errors
FLOATS = (torch.float32, torch.float64)


# --- what the programs call beside PyTorch's own functions; torch_programs.cpp has the same

def numbers(seed, shape, dtype, steps, shift):
    count, state, values = math.prod(shape), seed * 7919 + 12345, []
    for _ in range(count):
        state = (state * 1103515245 + 12345) % (1 << 31)
        values.append(((state >> 8) % (4 * steps + 1) - 2 * steps) / steps)
    return shifted(torch.tensor(values, dtype=torch.float64), shift).to(dtype).view(shape).clone()


class Layer:
    """Called, it gives the layer's first result."""

    def __init__(self, kind, train, sizes):
        torch.manual_seed(7)
        self.module = getattr(torch.nn, kind)(*sizes).double().train(train)

    def __call__(self, x):
        result = self.module(x, x, x) if isinstance(self.module, torch.nn.MultiheadAttention) else self.module(x)
        return result[0] if isinstance(result, tuple) else result


def shifted(x, shift):
    """x, each element off by a random part of itself: to see what rounding makes of a program"""
    return x if shift == 0 or not x.is_floating_point() else x * (1 + shift * (torch.rand_like(x) - 0.5))


class Namespace(dict):
    """Variables of one run, and what it has shown."""

    def __init__(self, shift=0.0):
        super().__init__(torch=torch, F=torch.nn.functional, math=math, inf=math.inf, nan=math.nan)
        self.shown = []
        self.update(
            name=lambda x: x.grad_fn.name() if x.grad_fn else "None",
            show=lambda x: self.shown.append(x if x is None or isinstance(x, str) else x.detach().clone().requires_grad_(x.requires_grad) if x.is_floating_point() else x.clone()),
            leaf=lambda seed, shape, dtype=torch.float64: numbers(seed, shape, dtype, 1000, shift),
            ties=lambda seed, shape, dtype=torch.float64: numbers(seed, shape, dtype, 4, shift),
            given=lambda name, row, i: shifted(functions.INPUTS[name][row][i].contiguous().clone(), shift),
            layer=Layer,
            parameter=lambda layer, i: list(layer.module.parameters())[i],
            checkpointed=lambda x: torch.utils.checkpoint.checkpoint(lambda t: t.sin() * t + t.tanh().exp(), x, use_reentrant=False),
            written_out=lambda name, out, a, b: getattr(torch, name)(a, b, out=out),
            example=lambda name, i: shifted(OPS[name][1][i].clone(), shift),
            function=lambda expression, *operands: functions.flat(eval(CASES[expression], {**functions.NAMES, **{k: v.clone() for k, v in zip("abcd", operands)}})))


# Functions that the golden tables have as parts of programs alone, with the shapes of their operands.
OTHERS = (
    ("F.batch_norm(x0, None, None, x1, x2, True)", [[3, 4], [4], [4]]), ("F.fold(x0, (3, 4), 2)", [[1, 8, 6]]), ("x0.real", [[2, 3]]),
    ("torch.multiply(x0, x1)", [[2, 3], [3]]), ("torch.true_divide(x0, 2.5 + x1 * x1)", [[2, 3], [2, 1]]), ("torch.negative(x0)", [[4]]),
    ("torch.remainder(x0, x1 * x1 + 0.5)", [[2, 3], [3]]), ("torch.fmod(x0, 0.75)", [[2, 3]]), ("x0.type_as(x1)", [[2, 3], [1]]),
    ("x0.reshape_as(x1)", [[2, 3], [3, 2]]), ("torch.resolve_conj(x0)", [[3]]), ("F.dropout(x0, 0.4)", [[3, 4]]), ("torch.heaviside(x0, x1)", [[4], [4]]),
    ("torch.floor_divide(x0, x1 * x1 + 0.5)", [[2, 3], [3]]), ("torch.adjoint(x0)", [[2, 3]]), ("torch.dropout(x0, 1.0, True)", [[3]]),
    ("torch.square(x0)", [[3]]))


def load_ops():
    """name -> (expression, operands), of the cases with gradients"""
    folder = os.path.join(ROOT, "tests/data")
    blob, ops = open(os.path.join(folder, "ops.bin"), "rb").read(), {}
    for case in json.load(open(os.path.join(folder, "ops.json"))):
        if not any(case.get("grads") or []) or "out = " in case["expr"]:
            continue
        operands = []
        for x in case["inputs"]:
            dtype, count = getattr(torch, x["dtype"]), math.prod(x["shape"])
            data = torch.frombuffer(bytearray(blob), dtype=dtype, count=count, offset=x["at"]) if count else torch.empty(0, dtype=dtype)
            operands.append(data.clone().view(x["shape"]))
        ops[case["name"]] = (case["expr"], operands)
    return ops


def load_cases():
    """C++ text -> Python text, and the same with the set of operands, of the cases where PyTorch has a gradient"""
    python, with_gradient = {}, []
    table = json.load(open(os.path.join(ROOT, "tests/data/functions.json")))["cases"]
    for (inputs, expression, text), entry in zip(functions.cases(), table):
        python[expression] = text
        rows = [r for r, grads in enumerate(entry["grads"]) if any(grads) and isinstance(entry["results"][r], list)]
        if rows:
            with_gradient.append((expression, inputs, rows))
    return python, with_gradient


OPS = load_ops()
CASES, FUNCTIONS = load_cases()


# --- drawing

class Program:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.dtype = self.rng.choice([torch.float64] * 4 + [torch.float32])
        self.mixed = self.rng.random() < 0.1
        self.wild = self.rng.random() < 0.1          # nan and infinity are wanted
        self.tied = self.rng.random() < 0.3
        self.lines, self.names, self.leaves, self.retained, self.learned = [], [], [], [], []
        self.space, self.count, self.ended = Namespace(), 0, False

    # --- statements

    def attempt(self, text, writes=False):
        """Runs a statement and keeps it, unless it raises; then it may end the program."""
        try:
            exec(text, self.space)
        except Exception as e:
            words = str(e)
            refusal = re.search(r"modified by an inplace|in-place|inplace|leaf|second time|does not require grad|no_grad|requires grad|graph|differentiated|overlap|"
                                r"single memory location", words)
            comparable = not isinstance(e, (TypeError, NotImplementedError, AttributeError, NameError)) and "not implemented" not in words
            leaf = "leaf Variable" in words
            if comparable and self.rng.random() < (0.03 if leaf else 0.35 if refusal else 0.04):
                self.lines.append(text)
                self.ended = True
            elif writes:  # it may have done a part
                self.again()
            return False
        self.lines.append(text)
        return True

    def again(self):
        self.space = Namespace()
        exec("\n".join(self.lines), self.space)

    def define(self, expression):
        """A new variable; None if that cannot be, or its values are of no use."""
        name = f"v{self.count}"
        if not self.attempt(f"{name} = {expression}"):
            return None
        x = self.space[name]
        keep = isinstance(x, torch.Tensor) and x.dtype in FLOATS
        if keep and x.numel():
            values = x.detach().abs()
            keep = bool((values < BOUND).all()) or (self.wild and not bool((values >= BOUND).logical_and(values.isfinite()).any()))
        if not keep or x.numel() > 400 or x.dim() > 5:
            self.lines.pop()
            return None
        self.count += 1
        self.names.append(name)
        return name

    def tensor(self, name):
        return self.space[name]

    def any(self):
        """Of the variables, the later ones more often."""
        return self.names[-1 - int(len(self.names) * self.rng.random() ** 1.6)]

    def small(self):
        for _ in range(8):
            name = self.any()
            if self.tensor(name).numel() <= LARGEST:
                return name
        return None

    def cast(self, dtype=None):
        dtype = dtype or self.dtype
        return "" if dtype == torch.float64 else f", {dtype}"

    def data(self, shape, dtype=None):
        return f"{'ties' if self.tied else 'leaf'}({self.rng.randrange(1000)}, {list(shape)}{self.cast(dtype)})"

    def shape(self):
        rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
        while True:
            shape = [self.rng.choice([1, 2, 2, 3, 3, 4, 5]) for _ in range(rank)]
            if self.rng.random() < 0.04 and shape:
                shape[self.rng.randrange(rank)] = 0
            if math.prod(shape) <= LARGEST:
                return shape

    # --- leaves and operands

    def leaf(self):
        dtype = self.rng.choice(FLOATS) if self.mixed else self.dtype
        wanted = self.rng.random() < 0.85
        name = self.define(self.data(self.shape(), dtype) + (".requires_grad_()" if wanted else ""))
        if name and wanted:
            self.leaves.append(name)

    def operand(self, shape, written=None):
        """Something that broadcasts to the shape: a variable, mostly, in other memory than what is written; else numbers."""
        fitting = [n for n in self.names if broadcasts(self.tensor(n).shape, shape) and not self.share(n, written)]
        if fitting and self.rng.random() < 0.75:
            return self.rng.choice(fitting)
        cut = list(shape[self.rng.choice([0, 0, 0, min(1, len(shape))]):])
        cut = [1 if self.rng.random() < 0.15 else s for s in cut]
        constant = self.data(cut)
        return constant if self.rng.random() < 0.6 else f"{self.data([1] * len(shape))}.expand({list(shape)})"

    def share(self, name, other):
        """Whether they have one memory: a write that reads what it writes is right in Tenon, and no error as in PyTorch."""
        return other is not None and self.tensor(name).untyped_storage().data_ptr() == self.tensor(other).untyped_storage().data_ptr()

    def dim(self, rank):
        return self.rng.randrange(-rank, rank)

    # --- views

    def view(self):
        name = self.small()
        if name:
            text = self.view_of(name, self.tensor(name))
            if text:
                self.define(text)

    def view_of(self, n, x):
        rng, rank, shape = self.rng, x.dim(), list(x.shape)
        d = self.dim(rank) if rank else 0
        e = self.dim(rank) if rank else 0
        size = shape[d] if rank else 1
        start = rng.randrange(size + 1)
        order = rng.sample(range(rank), rank)
        kind = rng.randrange(31 if rank else 12)
        if kind == 0:
            return f"{n}.unsqueeze({rng.randrange(-rank - 1, rank + 1)})"
        if kind == 1:
            return self.strided(n, x)
        if kind == 2:
            return f"{n}.view_as({n})" if rng.random() < 0.5 else f"{n}.expand_as({n})"
        if kind == 3:
            return f"{n}.expand({[rng.choice([2, 3])] + [-1] * rank})" if math.prod(shape) <= 16 else f"{n}.expand({[-1] * rank})"
        if kind == 4:
            return f"{n}[None]" if rng.random() < 0.5 else f"{n}[..., None]"
        if kind == 5:
            return f"{n}.reshape(-1)" if rng.random() < 0.5 else f"{n}.flatten()"
        if kind == 6:
            return rng.choice([f"{n}.detach()", f"{n}.squeeze()", f"torch.atleast_2d({n})", f"{n}.view(-1)", f"{n}.contiguous()", f"torch.ravel({n})"])
        if kind == 7:
            return f"{n}.permute({order})"
        if kind == 8:
            return f"{n}.view({factors(rng, x.numel())})"
        if kind == 9:
            return f"{n}.movedim({order[:2]}, {rng.sample(range(rank), min(2, rank))})" if rank else f"{n}.view([1, 1])"
        if kind == 10:
            return f"{n}.reshape({factors(rng, x.numel())})"
        if kind == 11:
            return f"torch.broadcast_to({n}, {[2] + [3 if s == 1 else s for s in shape]})" if math.prod(shape) <= 16 else f"{n}[...]"
        if kind == 12:
            return f"{n}[{rng.randrange(-shape[0], shape[0])}]" if shape[0] else None
        if kind in (13, 14):
            return f"{n}[{', '.join([':'] * (d % rank) + [slice_text(rng, size)])}]"
        if kind == 15:
            return f"{n}.select({d}, {rng.randrange(-size, size)})" if size else None
        if kind == 16:
            return f"{n}.narrow({d}, {start}, {rng.randrange(size - start + 1)})"
        if kind == 17:
            return f"{n}.transpose({d}, {e})"
        if kind in (18, 19):
            length = rng.randrange(1, size + 1) if size else 0
            return f"{n}.unfold({d}, {length}, {rng.choice([1, 1, 2, 3])})"
        if kind in (20, 21):
            return f"{n}.diagonal({rng.choice([0, 0, 1, -1])}, {d}, {e})" if d % rank != e % rank else None
        if kind == 22:
            return f"{n}.chunk({rng.choice([2, 3])}, {d})[{rng.choice([0, -1])}]"
        if kind == 23:
            return f"{n}.split({rng.choice([1, 2])}, {d})[{rng.choice([0, -1])}]" if rng.random() < 0.5 else f"{n}.split({[start, size - start]}, {d})[{rng.choice([0, 1])}]"
        if kind == 24:
            return f"torch.tensor_split({n}, {rng.choice([2, 3, [1], [1, 2]])}, {d})[{rng.choice([0, 1])}]"
        if kind == 25:
            return f"{n}.unbind({d})[{rng.choice([0, -1])}]" if size else None
        if kind == 26:
            return f"{n}.squeeze({d})" if rng.random() < 0.6 else f"{n}.squeeze(({d}, {e}))"
        if kind == 27:
            return f"{n}.unflatten({d}, {factors(rng, size)})"
        if kind == 28:
            return f"{n}.flatten({min(d % rank, e % rank)}, {max(d % rank, e % rank)})"
        if kind == 29:
            return rng.choice([f"{n}.t()", f"{n}.T" if rank == 2 else f"{n}.mT", f"{n}.mT", f"{n}.swapaxes({d}, {e})", f"torch.adjoint({n})"])
        return self.picked(n, x)

    def picked(self, n, x):
        """x at the places of index tensors: a copy"""
        rng, shape = self.rng, list(x.shape)
        if 0 in shape:
            return None
        index = [rng.randrange(-shape[0], shape[0]) for _ in range(rng.choice([1, 2, 3]))]
        return rng.choice([f"{n}[torch.tensor({index})]", f"{n}[{n} > 0.25]", f"{n}[..., {[rng.randrange(shape[-1])] * 2}]",
                           f"{n}[{n}.detach().sign() < 0]"])

    def strided(self, n, x):
        """as_strided within the memory of x, with overlaps and gaps"""
        rng, places = self.rng, x.untyped_storage().size() // x.element_size()
        if not places:
            return None
        sizes, strides, last = [], [], 0
        for _ in range(rng.choice([0, 1, 2, 2, 3])):
            size, stride = rng.choice([1, 2, 3]), rng.choice([0, 1, 1, 2, 3, 4])
            if last + (size - 1) * stride < places:
                sizes.append(size), strides.append(stride)
                last += (size - 1) * stride
        return f"{n}.as_strided({sizes}, {strides}, {rng.randrange(places - last)})"

    # --- functions

    def compute(self):
        n = self.small()
        if not n:
            return
        x, rng = self.tensor(n), self.rng
        other = self.operand(x.shape)
        rank = x.dim()
        d = self.dim(rank) if rank else 0
        choices = [f"{n} {rng.choice(['+', '-', '*', '*'])} {other}", f"{n} * {rng.choice([2, -0.5, 3])}", f"{rng.choice([1, 2.5])} - {n}", f"{n}.sin()", f"{n}.tanh()",
                   f"{n}.exp()", f"{n} * {n}", f"{n}.clone()", f"-{n}", f"torch.where({n} > 0.25, {n}, {other})", f"torch.maximum({n}, {other})", f"{n} / (2.5 + {other} * {other})",
                   f"{n}.sum()", f"{n}.relu()", f"{n}.abs()", f"torch.cat([{n}.reshape(-1), {other}.reshape(-1)])", f"torch.stack([{n}, {n}])",
                   f"{n}.mean()", f"{n}.pow(2)", f"{n}.sum({d}, keepdim=True)", f"{n}.cumsum({d})", f"{n}.softmax({d})", f"{n}.max({d})[0]", f"{n}.amax({d})",
                   f"{n}.to(torch.float64)" if self.mixed else f"{n}.sigmoid()", f"{n} @ {n}.mT" if rank >= 2 else f"{n}.prod()", f"{n}.max()", f"{n}.median()",
                   f"{n}.detach() * {n}", f"torch.lerp({n}, {other}, 0.25)", f"{n}.norm()", f"{n}.clamp(-0.5, 0.75)"]
        self.define(rng.choice(choices))

    def function(self):
        """One of the golden tables' functions, of variables where they fit and of the tables' own operands."""
        rng, draw = self.rng, self.rng.random()
        if draw < 0.05:
            expression, shapes = rng.choice(OTHERS)
            values = [torch.zeros(shape, dtype=self.dtype) for shape in shapes]
            operands = [self.operand_like(self.data(shape), v) for shape, v in zip(shapes, values)]
            text = re.sub(r"\bx(\d)\b", lambda m: operands[int(m[1])], expression)
        elif draw < 0.5:
            name = rng.choice(list(OPS))
            expression, values = OPS[name]
            operands = [self.operand_like(f"example('{name}', {i})", v) for i, v in enumerate(values)]
            text = re.sub(r"\bx(\d)\b", lambda m: operands[int(m[1])], expression)
        else:
            expression, inputs, rows = rng.choice(FUNCTIONS)
            row = rng.choice(rows)
            values = functions.INPUTS[inputs][row]
            operands = [self.operand_like(f"given('{inputs}', {row}, {i})", v) for i, v in enumerate(values)]
            text = f"function({quoted(expression)}, {', '.join(operands)})"
        if sum(v.numel() for v in values) > 400 or any(v.dtype in (torch.float16, torch.bfloat16) for v in values):
            return
        if not self.wild and any(v.is_floating_point() and not bool(v.isfinite().all()) for v in values):
            return
        before = torch.get_rng_state()
        try:
            result = eval(text, self.space)
        except Exception:
            result = None
        if not torch.equal(before, torch.get_rng_state()):
            self.attempt("torch.manual_seed(7)")
        if isinstance(result, (tuple, list)):
            floats = [i for i, r in enumerate(result) if isinstance(r, torch.Tensor) and r.dtype in FLOATS]
            text = f"({text})[{rng.choice(floats)}]" if floats else text
        name = self.define(text)
        if name and self.tensor(name).numel() > LARGEST:
            self.define(f"{name}.reshape(-1)[:{rng.choice([4, 6, 12])}]")

    def layer(self):
        """A layer of a variable's size, mostly with all that it learns among what is compared."""
        rng, n = self.rng, self.small()
        if not n or self.dtype != torch.float64 or self.tensor(n).dtype != torch.float64 or self.tensor(n).dim() == 0 or self.tensor(n).numel() == 0:
            return
        shape = list(self.tensor(n).shape)
        kinds = {1: ["Linear"], 2: ["Linear", "LayerNorm", "BatchNorm1d", "PReLU"],
                 3: ["Linear", "LayerNorm", "BatchNorm1d", "Conv1d", "LSTM", "GRU", "RNN", "MultiheadAttention"]}
        kind = rng.choice(kinds.get(len(shape), ["Linear", "LayerNorm"]))
        channels = shape[1] if len(shape) > 1 else 1
        sizes = {"Linear": [shape[-1], rng.choice([1, 3])], "LayerNorm": [shape[-1]], "BatchNorm1d": [channels], "PReLU": [],
                 "Conv1d": [channels, 2, min(2, shape[-1])], "MultiheadAttention": [shape[-1], 1]}.get(kind, [shape[-1], 2])
        name = f"m{self.count}"
        if not self.attempt(f"{name} = layer('{kind}', {rng.random() < 0.7}, {sizes})"):
            return
        result = self.define(f"{name}({n})")
        if result is None:
            if not self.ended:
                self.lines.pop()
            return
        count = len(list(self.space[name].module.parameters()))
        if count:
            self.learned.append((name, rng.randrange(count)))
        if rng.random() < 0.3:
            self.define(f"{name}({result})" if self.tensor(result).shape == self.tensor(n).shape else f"{name}({n} * 0.5)")

    def special(self):
        """checkpoints, and calls that write into a given tensor"""
        n = self.small()
        if n and self.rng.random() < 0.6:
            self.define(f"checkpointed({n})")
        elif n:
            shape = self.tensor(n).shape
            self.attempt(f"written_out('{self.rng.choice(['add', 'mul', 'maximum'])}', {n}, {self.operand(shape, n)}, {self.source(list(shape), n)})", writes=True)

    def operand_like(self, source, value):
        """An operand of the value's shape: a variable, the value with a variable in it, or the value."""
        rng, shape = self.rng, value.shape
        if not value.is_floating_point():
            return source
        if value.dtype != self.dtype:
            source += f".to({self.dtype})"
        same = [n for n in self.names if self.tensor(n).shape == shape and self.tensor(n).dtype == self.dtype]
        wide = [n for n in self.names if broadcasts(self.tensor(n).shape, shape) and self.tensor(n).dtype == self.dtype]
        large = [n for n in self.names if self.tensor(n).numel() >= value.numel() > 0 and self.tensor(n).dtype == self.dtype]
        draw = rng.random()
        if same and draw < 0.6:
            return rng.choice(same)
        if wide and draw < 0.75:
            return f"({source} + {rng.choice(wide)} * 0.125)"
        if large and draw < 0.9:
            return f"{rng.choice(large)}.reshape(-1)[:{value.numel()}].view({list(shape)})"
        if draw < 0.95 and value.numel() <= LARGEST:
            name = self.define(source + ".requires_grad_()")
            if name:
                self.leaves.append(name)
                return name
        return source

    # --- writes

    def write(self):
        n = self.small()
        if n and n in self.leaves and self.tensor(n).requires_grad and self.rng.random() < 0.9:
            n = self.define(f"{n}.clone()" if self.rng.random() < 0.5 else f"{n} * 2")
        if not n or overlaps(self.tensor(n)):  # each place of memory once
            return
        text = self.write_to(n, self.tensor(n))
        if not text:
            return
        draw = self.rng.random()
        if draw < 0.12 and not re.search(r"(t|squeeze|transpose)_\(", text):
            text = f"with torch.no_grad():\n    {text}"
        count = len(self.lines)
        if self.attempt(text, writes=True) and not self.bounded():
            del self.lines[count:]
            self.again()

    def bounded(self):
        return self.wild or all(bool((self.tensor(n).detach().abs() < BOUND).all()) for n in self.names)

    def write_to(self, n, x):
        rng, rank, shape = self.rng, x.dim(), list(x.shape)
        other, third = n if rng.random() < 0.05 else self.operand(shape, n), self.operand(shape, n)
        number = rng.choice([0, 1, 2, -0.5, 0.75])
        simple = [f"{n}.mul_({other})", f"{n}.mul_({rng.choice([2, -0.5])})", f"{n}.add_({other})", f"{n}.add_({number})", f"{n}.sub_({other}, alpha=0.5)", f"{n}.copy_({other})",
                  f"{n}.zero_()", f"{n}.fill_({number})", f"{n} += {other}", f"{n} *= {number}", f"{n}[...] = {other}", f"{n}.masked_fill_({n} > 0.25, {number})",
                  f"{n}.clamp_(-0.5, 0.75)", f"{n}.addcmul_({other}, {third}, value=0.5)", f"{n}.lerp_({other}, 0.25)", f"{n}.div_(2.5 + {other} * {other})",
                  f"{n}.{rng.choice(['sin', 'cos', 'tanh', 'sigmoid', 'relu', 'abs', 'neg', 'square', 'exp', 'atan', 'erf', 'sign', 'floor', 'sinh', 'expm1', 'asinh', 'sgn', 'frac', 'sinc', 'round', 'cosh'])}_()",
                  f"{n}.pow_({rng.choice([2, 3])})", f"{n}.fill_({other}.sum())", f"{n}.xlogy_({other}.abs() + 0.5)", f"{n}.hypot_({other})", f"{n}.atan2_({other})", f"{n}.fmod_(1.5)",
                  f"{n}.remainder_(1.5)", f"{n}.copysign_({other})", f"{n}.nan_to_num_(0.5)", f"{n}.requires_grad_()", f"{n}.addcdiv_({other}, 2.5 + {third} * {third}, value=0.5)",
                  f"torch.manual_seed(7)\n{n}.uniform_()", f"{n}[{n} > 0] = {number}", f"{n}.index_put_([{n} > 0.25], {self.data([])}, accumulate={rng.random() < 0.5})"]
        if not rank or rng.random() < 0.5:
            return rng.choice(simple)
        d = self.dim(rank)
        size = shape[d]
        if not size or 0 in shape:
            return rng.choice(simple)
        count = rng.choice([1, 2, 3])
        index = [rng.randrange(size) for _ in range(count)]
        distinct = rng.sample(range(size), min(count, size))
        part = shape[:d % rank] + [count] + shape[d % rank + 1:]
        part_distinct = shape[:d % rank] + [len(distinct)] + shape[d % rank + 1:]
        where = self.source(part, n)
        first = rng.randrange(-shape[0], shape[0])
        piece = f"{n}[{', '.join([':'] * (d % rank) + [slice_text(rng, size)])}]"
        try:
            piece_shape = list(eval(piece, self.space).shape)
        except Exception:
            piece_shape = shape
        return rng.choice([
            f"{n}[{first}] = {self.operand(shape[1:], n)}", f"{n}[{first}] = {number}", f"{n}[{first}].mul_({self.operand(shape[1:], n)})", f"{n}[{first}] *= 2", f"{n}[{first}] += {self.operand(shape[1:], n)}",
            f"{piece} = {self.operand(piece_shape, n)}", f"{piece} = {number}", f"{piece}.sin_()", f"{piece}.mul_({self.operand(piece_shape, n)})",
            f"{n}.index_add_({d}, torch.tensor({index}), {where}, alpha=0.5)", f"{n}.index_copy_({d}, torch.tensor({distinct}), {self.source(part_distinct, n)})",
            f"{n}.index_fill_({d}, torch.tensor({index}), {number})", f"{n}[torch.tensor({[i % shape[0] for i in distinct]})] = {number}",
            f"{n}.index_put_([torch.tensor({[i % shape[0] for i in index]})], {self.source([count] + shape[1:], n)}, accumulate=True)",
            f"{n}.cumsum_({d})", f"{n}.cumprod_({d})", f"{n}.tril_()" if rank > 1 else f"{n}.cumsum_({d})", f"{n}.fill_diagonal_({number})" if rank > 1 else f"{n}.zero_()",
            f"{n}.scatter_({d}, {self.places(shape, d)}, {number})", f"{n}.scatter_add_({d}, {self.places(shape, d)}, {self.source(shape, n)})",
            f"{n}.scatter_({d}, {self.places(shape, d)}, {self.source(shape, n)})", f"{n}.scatter_reduce_({d}, {self.places(shape, d)}, {self.source(shape, n)}, 'mean')",
            f"{n}.masked_scatter_({n} > 0, {self.source(shape, n)})", f"{n}.t_()" if rank == 2 else f"{n}.unsqueeze_(0)", f"{n}.transpose_({d}, 0)", f"{n}.squeeze_()",
            f"{n}.put_(torch.tensor([0, {x.numel() - 1}]), {self.source([2], n)}, accumulate=True)", f"{n}.addmm_({self.source([shape[0], 2], n)}, {self.source([2, shape[-1]], n)})" if rank == 2 else f"{n}.neg_()"])

    def source(self, shape, written):
        """Of just that shape, in other memory"""
        wide = [n for n in self.names if broadcasts(self.tensor(n).shape, shape) and not self.share(n, written)]
        same = [n for n in wide if list(self.tensor(n).shape) == list(shape)]
        if same and self.rng.random() < 0.7:
            return self.rng.choice(same)
        return f"{self.rng.choice(wide)}.expand({list(shape)})" if wide and self.rng.random() < 0.5 else self.data(shape)

    def places(self, shape, d):
        """An index of that shape into the dim d"""
        rank = len(shape)
        flat = torch.tensor([self.rng.randrange(shape[d]) for _ in range(shape[d])])
        return f"torch.tensor({flat.tolist()}).view({[shape[d] if k == d % rank else 1 for k in range(rank)]}).expand({list(shape)})"

    # --- gradients

    def watch(self):
        """hooks, retained gradients, switches"""
        rng, n = self.rng, self.any()
        leaf = rng.choice(self.leaves) if self.leaves else n
        text = rng.choice([f"{n}.retain_grad()"] * 4 + [f"{n}.register_hook(lambda g: g * {rng.choice([2, -0.5])})"] * 3 +
                          [f"{n}.requires_grad_(False)", f"{leaf}.requires_grad_(False)", f"{leaf}.requires_grad_()", f"{n}.detach_()", f"{leaf}.grad = None"])
        if self.attempt(text) and "retain" in text:
            self.retained.append(n)

    def unrecorded(self):
        n = self.small()
        if n:
            text = self.view_of(n, self.tensor(n)) if self.rng.random() < 0.6 else f"{n} * 2"
            if text and self.attempt(f"with torch.no_grad():\n    v{self.count} = {text}"):
                x = self.space[f"v{self.count}"]
                if x.dtype in FLOATS and x.numel() <= LARGEST:
                    self.names.append(f"v{self.count}")
                    self.count += 1
                else:
                    self.lines.pop()

    def differentiable(self):
        return [n for n in self.names if self.tensor(n).requires_grad]

    def scalar(self, n):
        x = self.tensor(n)
        return self.rng.choice([f"{n}.sum()", f"({n} * {self.data(x.shape, x.dtype)}).sum()", f"({n} * {n}).sum()", f"{n}.mean()" if x.numel() else f"{n}.sum()"])

    def backward(self, last=False):
        rng, found = self.rng, self.differentiable()
        if not found:
            return
        n = found[-1 - int(len(found) * rng.random() ** 2)]
        x = self.tensor(n)
        if last and rng.random() < 0.8:
            some = found[-4:] + ([rng.choice(found)] if rng.random() < 0.5 else [])
            self.attempt(f"({' + '.join(self.scalar(m) for m in dict.fromkeys(some))}).backward({rng.choice(['', '', 'retain_graph=True'])})", writes=True)
            return
        keep = rng.random() < (0.3 if last else 0.85)
        options = ["retain_graph=True"] if keep else []
        draw = rng.random()
        if draw < 0.5:
            self.attempt(f"{self.scalar(n)}.backward({', '.join(options)})", writes=True)
        elif draw < 0.62:
            self.attempt(f"{n}.backward({', '.join([self.data(x.shape, x.dtype)] + options)})", writes=True)
        elif draw < 0.7:
            m = rng.choice(found)
            self.attempt(f"torch.autograd.backward([{self.scalar(n)}, {self.scalar(m)}]{', retain_graph=True' if keep else ''})", writes=True)
        elif draw < 0.74 and self.leaves:
            self.attempt(f"{self.scalar(n)}.backward({', '.join(options + [f'inputs=[{rng.choice(self.leaves)}]'])})", writes=True)
        elif draw < 0.8:
            self.attempt(f"{self.scalar(n)}.backward(create_graph=True)", writes=True)
            some = [m for m in self.leaves if self.tensor(m).grad is not None]
            if some and not self.ended:
                self.define(f"{rng.choice(some)}.grad")
        else:
            m = rng.choice(found)
            create = rng.random() < 0.7
            text = f"torch.autograd.grad({self.scalar(n)}, [{m}], create_graph={create}, {'' if create else 'retain_graph=True, '}allow_unused=True)[0]"
            if self.define(text) is None and not self.ended:
                self.again()

    def draw(self):
        rng = self.rng
        self.leaf()
        for _ in range(rng.choice([0, 1, 1, 2])):
            self.leaf()
        actions = [(self.view, 28), (self.compute, 20), (self.function, 18), (self.write, 20), (self.watch, 6), (self.unrecorded, 2), (self.backward, 6), (self.leaf, 2), (self.layer, 5),
                   (self.special, 2)]
        for _ in range(rng.choice([4, 6, 8, 10, 12])):
            if self.ended or not self.names:
                break
            rng.choices([a for a, _ in actions], [w for _, w in actions])[0]()
        for _ in range(rng.choice([1, 1, 2])):
            if not self.ended:
                self.backward(last=True)
        if not self.ended:
            for n in dict.fromkeys(self.leaves + self.retained):
                self.lines.append(f"show({n}.grad)")
            for layer, i in self.learned:
                self.lines.append(f"show(parameter({layer}, {i}).grad)")
            for n in self.names:
                if self.tensor(n).numel() <= LARGEST and n not in self.leaves and rng.random() < 0.5:
                    self.lines.append(f"show({n})")
        return self.lines


def broadcasts(shape, to):
    return len(shape) <= len(to) and all(a == b or a == 1 for a, b in zip(reversed(shape), reversed(to)))


def overlaps(x):
    """Whether two elements are one place in memory, with a stride that is not 0."""
    places = torch.zeros(1, dtype=torch.long)
    for size, stride in zip(x.shape, x.stride()):
        places = (places[:, None] + torch.arange(size if stride else min(size, 1)) * stride).reshape(-1)
    return len(places.unique()) < len(places)


def factors(rng, count):
    first = rng.choice([k for k in range(1, count + 1) if count % k == 0] or [0])
    rest = count // first if first else 0
    return rng.choice([[first, rest], [rest, first], [count], [first, 1, rest]])


def slice_text(rng, size):
    start, stop = rng.choice(["", rng.randrange(-size - 1, size + 1)]), rng.choice(["", rng.randrange(-size - 1, size + 2)])
    step = rng.choice(["", "", ":2", ":3"])
    return f"{start}:{stop}{step}"


def quoted(text):
    return f"'{text}'" if "'" not in text else f'"{text}"'
