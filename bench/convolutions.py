#!/usr/bin/env python3
"""Convolutions of 40 shapes, forward and both gradients, in Tenon and in PyTorch, whose memory is recycled.

    bench/convolutions.py BENCH_CALLS [--threads N] [--rounds N] [--only forward|input|weights] [SHAPE ...]

BENCH_CALLS is the program built from calls.cpp. SHAPE is the number of a row below. The libraries take turns in processes of their own, and the
quickest of all rounds counts. Printed: PyTorch's and Tenon's microseconds and their ratio, above 1 where Tenon is faster; then the geometric
means, and what is below 0.95. A gradient is a program of its own, which PyTorch computes the result for as well."""
import argparse
import math

import peers

# batch, channels, filters, kernel, size, step, groups
SHAPES = [
    (1, 64, 64, 1, 56, 1, 1), (32, 64, 256, 1, 56, 1, 1), (8, 256, 64, 1, 56, 1, 1), (16, 256, 512, 1, 14, 1, 1),
    (32, 512, 128, 1, 28, 2, 1), (64, 512, 512, 1, 7, 1, 1), (4, 128, 128, 1, 112, 1, 1), (64, 32, 64, 1, 32, 1, 1),
    (1, 64, 64, 3, 56, 1, 1), (32, 64, 64, 3, 32, 1, 1), (64, 32, 64, 3, 32, 1, 1), (64, 64, 128, 3, 8, 1, 1),
    (16, 128, 128, 3, 28, 1, 1), (16, 256, 256, 3, 14, 1, 1), (16, 512, 512, 3, 7, 1, 1), (32, 64, 128, 3, 28, 2, 1),
    (1, 512, 512, 3, 7, 1, 1), (1, 256, 256, 3, 14, 1, 1), (8, 3, 64, 3, 224, 1, 1), (64, 3, 32, 3, 32, 1, 1),
    (64, 16, 16, 3, 32, 1, 1), (4, 64, 64, 3, 112, 1, 1), (16, 128, 256, 3, 28, 2, 1), (64, 32, 64, 3, 16, 1, 1),
    (64, 3, 6, 5, 32, 1, 1), (64, 6, 16, 5, 14, 1, 1), (64, 16, 32, 5, 28, 1, 1), (16, 64, 64, 5, 28, 1, 1),
    (8, 32, 64, 5, 56, 2, 1), (1, 48, 128, 5, 27, 1, 1), (1, 3, 64, 7, 224, 2, 1), (8, 3, 64, 7, 224, 2, 1),
    (16, 16, 32, 7, 64, 2, 1), (8, 64, 64, 7, 56, 2, 1), (1, 32, 32, 3, 112, 1, 32), (16, 64, 64, 3, 56, 1, 64),
    (32, 128, 128, 3, 28, 1, 128), (32, 256, 256, 3, 14, 2, 256), (16, 96, 96, 7, 56, 1, 96), (64, 512, 512, 3, 7, 1, 512),
]
KINDS = ["forward", "input", "weights"]
TURN, WARM = 0.015, 0.1  # seconds


def program(shape, kind):
    """Variables and an expression."""
    batch, channels, filters, kernel, size, step, groups = shape
    border, call = kernel // 2, "F.conv2d({}, {}, None, %d, %d, 1, %d)" % (step, kernel // 2, groups)
    out = (size + 2 * border - kernel) // step + 1
    lets = {"x": f"torch.randn({batch}, {channels}, {size}, {size})", "w": f"torch.randn({filters}, {channels // groups}, {kernel}, {kernel})"}
    if kind == "forward":
        return lets, call.format("x", "w")
    of = "x" if kind == "input" else "w"
    lets["v"] = f"{of}.detach().clone().requires_grad_()"
    lets["g"] = f"torch.randn({batch}, {filters}, {out}, {out})"
    return lets, f"torch.autograd.grad({call.format(*('v' if name == of else name for name in 'xw'))}, [v], [g])"


def race(servers, lets, expression, rounds):
    for server in servers.values():
        server.ask("clear")
        for name, text in lets.items():
            server.ask(f"let {name} {text}")
        server.ask(f"time {WARM} {expression}")
    times = {name: [] for name in servers}
    for turn in range(rounds):
        for name in list(servers)[::1 if turn % 2 else -1]:
            times[name].append(float(servers[name].ask(f"time {TURN} {expression}")))
    return {name: min(list_of) for name, list_of in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("shapes", nargs="*", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=KINDS)
    options = parser.parse_intermixed_args()
    servers = {"torch": peers.peer("torch", options.threads), "tenon": peers.Server([options.program], TENON_THREADS=str(options.threads))}
    slow = []
    for kind in [options.only] if options.only else KINDS:
        ratios = []
        for number in options.shapes or range(len(SHAPES)):
            batch, channels, filters, kernel, size, step, groups = SHAPES[number]
            times = race(servers, *program(SHAPES[number], kind), options.rounds)
            ratios.append(times["torch"] / times["tenon"])
            text = (f"{number:2} {kind:8} {kernel}x{kernel} by {step}, {channels} to {filters}, {batch} of {size}x{size}"
                    + (", depthwise" if groups > 1 else ""))
            print(f"{text:58}{times['torch']:10.0f}{times['tenon']:10.0f}{ratios[-1]:7.2f}", flush=True)
            if ratios[-1] < 0.95:
                slow.append((ratios[-1], text))
        print(f"{kind}: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} in the mean, {min(ratios):.2f} at least", flush=True)
    print("\nbelow 0.95:")
    for ratio, text in sorted(slow):
        print(f"{ratio:5.2f}  {text}")


if __name__ == "__main__":
    main()
