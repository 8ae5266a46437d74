"""What a newcomer tries first, in Tenon, PyTorch and NumPy, in one interleaved run.

    bench/first_use.py BENCH_FIRST_USE [--threads N] [--rounds N] [ROW ...]

BENCH_FIRST_USE is the program built from bench_first_use.cpp. Each library runs in a process of its own; they take turns,
row by row and round by round, in an order drawn anew each round. PyTorch and NumPy keep the memory that they freed (malloc's
trim_threshold), so that no page fault counts against them. A row is a name with a setup and an expression for each of the
two here, and a lambda of that name there. Printed: Tenon's milliseconds, and how many times as long the others take (the
median over the rounds): PyTorch, NumPy, and Tenon itself with TENON_FUSION=0; with --best the quickest of all rounds counts,
as on a machine with other work. A library that is not installed is left out. Ends with 1 if a result is wrong."""
import argparse
import importlib.util
import os
import random
import statistics
import subprocess
import sys
import time

from peers import RECYCLED

# name: (setup, PyTorch, NumPy); `numbers(*shape)`, `mixed(*shape)` and `rows(count, *shape)` as in bench_first_use.cpp.
# None: NumPy has no such function.
ROWS = {
    "cat0_2x512x1024": ("h = numbers(512, 1024)", "torch.cat([h, h], 0)", "np.concatenate([h, h], 0)"),
    "cat0_8x4096x1024": ("p = rows(8, 4096, 1024)", "torch.cat(p, 0)", "np.concatenate(p, 0)"),
    "cat1_2x4096x1024": ("h = numbers(4096, 1024)", "torch.cat([h, h], 1)", "np.concatenate([h, h], 1)"),
    "cat1_2x1e6x3": ("h = numbers(1000000, 3)", "torch.cat([h, h], 1)", "np.concatenate([h, h], 1)"),
    "cat_small32": ("p = rows(32, 16)", "torch.cat(p, 0)", "np.concatenate(p, 0)"),
    "cat_flat_1e6": ("h = numbers(1000000)", "torch.cat([h, h], 0)", "np.concatenate([h, h], 0)"),
    "cat0_pending": ("h = numbers(1024, 1024)", "torch.cat([h + 1, h * 2], 0)", "np.concatenate([h + 1, h * 2], 0)"),
    "cat1_pending": ("h = numbers(1024, 1024)", "torch.cat([h + 1, h * 2], 1)", "np.concatenate([h + 1, h * 2], 1)"),
    "cat_then_map": ("h = numbers(1024, 1024)", "(torch.cat([h, h], 1) * 2 + 1).relu()",
                     "np.maximum(np.concatenate([h, h], 1) * 2 + 1, 0)"),
    "stack_1000x1024": ("p = rows(1000, 1024)", "torch.stack(p, 0)", "np.stack(p, 0)"),
    "stack_64x784": ("p = rows(64, 784)", "torch.stack(p, 0)", "np.stack(p, 0)"),
    "stack1_8x65536": ("p = rows(8, 65536)", "torch.stack(p, 1)", "np.stack(p, 1)"),
    "stack_pending_64x784": ("p = rows(64, 784)", "torch.stack([x * 0.5 for x in p], 0)",
                             "np.stack([x * np.float32(0.5) for x in p], 0)"),
    "roll0": ("m = numbers(4096, 1024)", "torch.roll(m, 1, 0)", "np.roll(m, 1, 0)"),
    "roll1": ("m = numbers(4096, 1024)", "torch.roll(m, 1, 1)", "np.roll(m, 1, 1)"),
    "roll_flat_1e7": ("m = numbers(10000000)", "torch.roll(m, 1000, 0)", "np.roll(m, 1000, 0)"),
    "roll_stencil": ("m = numbers(1024, 1024)",
                     "m.roll(1, 0) + m.roll(-1, 0) + m.roll(1, 1) + m.roll(-1, 1) - m * 4",
                     "np.roll(m, 1, 0) + np.roll(m, -1, 0) + np.roll(m, 1, 1) + np.roll(m, -1, 1) - m * 4"),
    "pad2d": ("m = numbers(3000, 3000)", "torch.constant_pad_nd(m, [1, 1, 1, 1], 0)", "np.pad(m, 1)"),
    "pad2d_images": ("m = numbers(32, 16, 32, 32)", "torch.constant_pad_nd(m, [1, 1, 1, 1], 0)",
                     "np.pad(m, [(0, 0), (0, 0), (1, 1), (1, 1)])"),
    "flip1": ("m = numbers(4096, 1024)", "torch.flip(m, [1])", "np.flip(m, 1).copy()"),
    "flip0": ("m = numbers(4096, 1024)", "torch.flip(m, [0])", "np.flip(m, 0).copy()"),
    "tile_2x2": ("m = numbers(1024, 1024)", "torch.tile(m, [2, 2])", "np.tile(m, [2, 2])"),
    "tile_rows": ("m = numbers(1024)", "torch.tile(m, [1000, 1])", "np.tile(m, [1000, 1])"),
    "repeat_columns": ("m = numbers(4096, 64)", "m.repeat(1, 16)", "np.tile(m, [1, 16])"),
    "gelu_1e6": ("x = numbers(1000, 1000) * 8 - 4", "torch.nn.functional.gelu(x)", None),
    "linear_gelu_256": ("x = numbers(256, 512); w = (numbers(2048, 512) - 0.5) / 16; b = numbers(2048)",
                        "torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b))", None),
    "linear_gelu_32": ("x = numbers(32, 256); w = (numbers(256, 256) - 0.5) / 16; b = numbers(256)",
                       "torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b))", None),
    **{f"linear_1x{k}x{n}": (f"x = numbers(1, {k}); w = numbers({n}, {k}) - 0.5; b = numbers({n})",
                             "torch.nn.functional.linear(x, w, b)", "x @ w.T + b")
       for k, n in ((128, 10), (512, 512), (1024, 4096), (4096, 1024))},
    "linear_8x1024x1024": ("x = numbers(8, 1024); w = numbers(1024, 1024) - 0.5; b = numbers(1024)",
                           "torch.nn.functional.linear(x, w, b)", "x @ w.T + b"),
    "mm_4096x1024x1": ("m = numbers(4096, 1024); v = numbers(1024, 1)", "m @ v", "m @ v"),
    "mm_1x1024x4096": ("v = numbers(1, 1024); m = numbers(1024, 4096)", "v @ m", "v @ m"),
    "mv_4096x1024": ("m = numbers(4096, 1024); v = numbers(1024)", "m @ v", "m @ v"),
    "conv_1_to_16": ("x = numbers(32, 1, 28, 28); w = numbers(16, 1, 3, 3) - 0.5; b = numbers(16)",
                     "torch.conv2d(x, w, b, 1, 1)", None),
    "conv_16_to_32": ("x = numbers(32, 16, 14, 14); w = numbers(32, 16, 3, 3) - 0.5; b = numbers(32)",
                      "torch.conv2d(x, w, b, 1, 1)", None),
    "nx3_sum1": ("p = numbers(1000000, 3)", "p.sum(1)", "p.sum(1)"),
    "nx3_sum0": ("p = numbers(1000000, 3)", "p.sum(0)", "p.sum(0)"),
    "nx3_mean1": ("p = numbers(1000000, 3)", "p.mean(1)", "p.mean(1)"),
    "nx3_max1": ("p = numbers(1000000, 3)", "p.amax(1)", "p.max(1)"),
    "nx3_argmax1": ("p = numbers(1000000, 3)", "p.argmax(1)", "p.argmax(1)"),
    "nx3_max0": ("p = numbers(1000000, 3)", "p.amax(0)", "p.max(0)"),
    "nx3_norm1": ("p = numbers(1000000, 3)", "torch.linalg.vector_norm(p, 2, 1)", "np.sqrt((p * p).sum(1))"),
    "nx3_plus3": ("p = numbers(1000000, 3); v = numbers(3)", "p + v", "p + v"),
    "nx3_normalize": ("p = numbers(1000000, 3) + 1", "p / torch.linalg.vector_norm(p, 2, 1, True)",
                      "p / np.sqrt((p * p).sum(1, keepdims=True))"),
    "nx3_softmax": ("p = numbers(1000000, 3)", "p.softmax(1)",
                    "(lambda e: e / e.sum(1, keepdims=True))(np.exp(p - p.max(1, keepdims=True)))"),
    "nx8_layer_norm": ("p = numbers(100000, 8)", "torch.layer_norm(p, [8])",
                       "(lambda c: c / np.sqrt((c * c).mean(1, keepdims=True) + np.float32(1e-5)))"
                       "(p - p.mean(1, keepdims=True))"),
    "nbody_1024": ("p = numbers(1024, 3) * 10; m = numbers(1024) + 1\n"
                   "def forces():\n"
                   "    d = p[None, :, :] - p[:, None, :]\n"
                   "    r = (d * d).sum(2) + 1\n"
                   "    return (d * (m[None, :] / (r * r ** 0.5))[:, :, None]).sum(1)", "forces()", "forces()"),
    "topk_1024x50257_50": ("m = mixed(1024, 50257)", "m.topk(50)[0]",
                           "np.sort(np.partition(m, -50, 1)[:, -50:], 1)[:, ::-1]"),
    "topk_1e6_10": ("m = mixed(1000000)", "m.topk(10)[0]", "np.sort(np.partition(m, -10)[-10:])[::-1]"),
    "topk_1e5x100_5": ("m = mixed(100000, 100)", "m.topk(5)[0]",
                       "np.sort(np.partition(m, -5, 1)[:, -5:], 1)[:, ::-1]"),
    "kthvalue_1e6": ("m = mixed(1000000)", "m.kthvalue(1000)[0]", "np.partition(m, 999)[999]"),
    "nonzero_dense": ("m = numbers(2000, 2000) > 0.25", "m.nonzero()", "np.argwhere(m)"),
    "nonzero_sparse": ("m = numbers(2000, 2000) > 0.995", "m.nonzero()", "np.argwhere(m)"),
    "masked_select": ("m = numbers(2000, 2000)", "m.masked_select(m > 0.5)", "m[m > 0.5]"),
    "masked_select_sparse": ("m = numbers(2000, 2000)", "m.masked_select(m > 0.995)", "m[m > 0.995]"),
    "mask_write": ("m = numbers(2000, 2000)\n"
                   "def write():\n"
                   "    m[m > 0.5] = 0.25\n"
                   "    return m", "write()", "write()"),
    "slices_64": ("m = numbers(64, 10000)\n"
                  "def steps():\n"
                  "    total = 0\n"
                  "    for i in range(64):\n"
                  "        total = total + float(m[i, i:5000 + i].sum())\n"
                  "    return np.float32(total) if LIBRARY == 'numpy' else torch.tensor(total)", "steps()", "steps()"),
    "row_writes_64": ("m = numbers(64, 10000); v = numbers(10000)\n"
                      "def write():\n"
                      "    for i in range(64):\n"
                      "        m[i] = v * i\n"
                      "    return m", "write()", "write()"),
}


def serve(library, threads):
    """Runs rows for the lines on standard input, as bench_first_use does."""
    import numpy as np

    def numbers(*shape, shift=0):
        count = int(np.prod(shape))
        x = ((np.arange(count) % 997).astype(np.float32) / np.float32(997) + np.float32(shift)).reshape(shape)
        return torch.from_numpy(x) if library == "torch" else x

    def mixed(*shape):
        h = np.arange(int(np.prod(shape)), dtype=np.int64) * 2654435761 & 0xffffffff
        h = (h ^ h >> 15) * 1540483477 & 0xffffffff
        x = ((h ^ h >> 13) >> 8).astype(np.float32).reshape(shape) / np.float32(2 ** 24)
        return torch.from_numpy(x) if library == "torch" else x

    names = {"np": np, "mixed": mixed, "numbers": numbers, "LIBRARY": library,
             "rows": lambda n, *shape: [numbers(*shape, shift=i) for i in range(n)]}
    if library == "torch":
        import torch
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        names["torch"] = torch
    prepared = {}
    for line in sys.stdin:
        name = line.strip()
        if name == "stop":
            break
        if name not in prepared:
            setup, *expressions = ROWS[name]
            scope = dict(names)
            exec(setup, scope)
            prepared[name] = scope, compile(expressions[library == "numpy"], name, "eval")
            print(name, "check", float(np.abs(eval(prepared[name][1], scope).astype(np.float64)).sum() if library == "numpy" else
                                       eval(prepared[name][1], scope).double().abs().sum()), flush=True)
        scope, code = prepared[name]
        runs, start = 0, time.perf_counter()
        while time.perf_counter() - start < 0.01:
            eval(code, scope)
            runs += 1
        print((time.perf_counter() - start) / runs, flush=True)


class Server:
    def __init__(self, command, **environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        self.sums = {}

    def seconds(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[0]} has ended in row {name}")
        if " check " in line:
            self.sums[name] = float(line.split()[-1])
            line = self.process.stdout.readline()
        return float(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--serve")
    options = parser.parse_intermixed_args()
    if options.serve:
        return serve(options.serve, options.threads)

    threads = str(options.threads)
    here = [sys.executable, __file__, "-", "--threads", threads, "--serve"]
    others = {"GLIBC_TUNABLES": RECYCLED, "OMP_NUM_THREADS": threads}
    servers = {"tenon": Server([options.program], TENON_THREADS=threads)}
    for library in ("torch", "numpy"):
        if importlib.util.find_spec(library):
            servers[library] = Server(here + [library], **others)
    servers["unfused"] = Server([options.program], TENON_THREADS=threads, TENON_FUSION="0")
    typical = min if options.best else statistics.median
    print(f"{'row, ' + threads + ' threads':24}{'ms':>9}{'torch':>9}{'numpy':>9}{'unfused':>9}")
    wrong = False
    order = random.Random(1)  # who runs after whom matters by up to a fifth: the caches and the clock are shared
    for name in options.rows or ROWS:
        contestants = [s for s in servers if s != "numpy" or ROWS[name][2]]
        times = {s: [] for s in contestants}
        for turn in range(-1, options.rounds):
            for s in order.sample(contestants, len(contestants)):
                if options.threads > 1:
                    time.sleep(0.1)  # OpenMP's and OpenBLAS' threads spin for a while after their work
                seconds = servers[s].seconds(name)
                if turn >= 0:
                    times[s].append(seconds)
        cells = [f"{1e3 * typical(times['tenon']):9.4f}"]
        for s in ("torch", "numpy", "unfused"):
            if s not in times:
                cells.append(f"{'-':>9}")
            elif options.best:
                cells.append(f"{min(times[s]) / min(times['tenon']):9.2f}")
            else:
                cells.append(f"{statistics.median(b / a for a, b in zip(times['tenon'], times[s])):9.2f}")
        sums = [servers[s].sums[name] for s in contestants]
        right = max(sums) - min(sums) <= 1e-5 * max(1.0, max(map(abs, sums)))
        wrong = wrong or not right
        print(f"{name:24}" + "".join(cells) + ("" if right else f"  WRONG: sums {sums}"), flush=True)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
