#!/usr/bin/env python3
"""Tenon, PyTorch eager and torch.compile on one GPU: a Markdown table, for docs/gpu_runs.md.

    bench/gpu.py BENCH_GPU [ROW ...]

BENCH_GPU is the program built from bench_gpu.cpp, which says what the rows are. The contestants take turns, three rounds, and
the quickest of each counts. `of copy` is a row's bandwidth over that of PyTorch's device-to-device copy in the same run; of the
rows that compute, the ratio says how many times as long PyTorch takes. A contestant that cannot run a row has a dash."""
import subprocess
import sys
import time

ELEMENTS = 64 << 20
MOVED = {"copy": 2, "chain": 2, "softmax_1024": 2, "layer_norm_4096": 2, "transpose_8192": 2, "column_sum": 1, "sum": 1}  # in 256 MiB


def rows(torch, compiled):
    F, nn = torch.nn.functional, torch.nn
    rand = lambda *sizes, dtype=torch.float32: torch.rand(*sizes, device="cuda").to(dtype)
    wrap = torch.compile if compiled else (lambda f: f)

    def of(function, *arguments):
        function = wrap(function)
        return lambda: function(*arguments)

    def training(net, x, y):
        net, x, y = net.cuda(), x.cuda(), y.cuda()
        optimizer = torch.optim.Adam(net.parameters())
        loss_of = wrap(lambda: F.cross_entropy(net(x), y))

        def step():
            loss = loss_of()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return step

    def conv_net():
        pool = nn.MaxPool2d(2, 2)
        net = nn.Sequential(nn.Conv2d(3, 6, 5), nn.ReLU(), pool, nn.Conv2d(6, 16, 5, padding=3), nn.ReLU(), nn.Conv2d(16, 16, 5),
                            nn.ReLU(), pool, nn.Conv2d(16, 16, 3), nn.ReLU(), pool, nn.Flatten(), nn.Linear(64, 120), nn.ReLU(),
                            nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
        return training(net, torch.rand(256, 3, 32, 32), torch.randint(0, 10, (256,)))

    def iris():
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 9), nn.ReLU(), nn.Linear(9, 3))
        return training(net, torch.rand(120, 4), torch.randint(0, 3, (120,)))

    half = lambda: rand(4, 16, 2048, 64, dtype=torch.float16)
    return {
        "copy": lambda: of(torch.clone, rand(ELEMENTS)),
        "chain": lambda: of(lambda x: (x * 2 + 1).relu().tanh() - x, rand(ELEMENTS)),
        "softmax_1024": lambda: of(lambda x: x.softmax(1), rand(ELEMENTS // 1024, 1024)),
        "layer_norm_4096": lambda: of(lambda x: F.layer_norm(x, (4096,)), rand(ELEMENTS // 4096, 4096)),
        "transpose_8192": lambda: of(lambda x: x.t().contiguous(), rand(8192, 8192)),
        "column_sum": lambda: of(lambda x: x.sum(0), rand(ELEMENTS // 4096, 4096)),
        "sum": lambda: of(lambda x: x.sum(), rand(ELEMENTS)),
        "sort_1e6": lambda: of(lambda x: x.sort()[0], rand(1 << 20)),
        "matmul_bf16_8192": lambda: of(torch.matmul, rand(8192, 8192, dtype=torch.bfloat16), rand(8192, 8192, dtype=torch.bfloat16)),
        "matmul_512": lambda: of(torch.matmul, rand(512, 512), rand(512, 512)),
        "matmul_64x128": lambda: of(torch.matmul, rand(64, 128, 128), rand(64, 128, 128)),
        "attention": lambda: of(F.scaled_dot_product_attention, half(), half(), half()),
        "cnn_256": conv_net,
        "iris_epoch": iris,
    }


def seconds(torch, once):
    for _ in range(5):
        once()
    torch.cuda.synchronize()
    burst, best, rounds = 1, 1e30, 0
    while rounds < 6:
        start = time.perf_counter()
        for _ in range(burst):
            once()
        torch.cuda.synchronize()
        taken = time.perf_counter() - start
        if taken < 0.05 and burst < 1 << 16:
            burst *= 2
            continue
        best, rounds = min(best, taken / burst), rounds + 1
    return best


def serve(compiled, wanted):
    import torch
    for name, prepare in rows(torch, compiled).items():
        if name in wanted:
            try:
                print(name, f"{seconds(torch, prepare()):.9f}", flush=True)
            except Exception as error:  # a compiler that is missing there
                print(name, "failed:", str(error).splitlines()[0], flush=True)
            torch.cuda.empty_cache()


def ask(command):
    """row -> seconds, of the rows that ran."""
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    times = {}
    for line in answer.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].replace(".", "").isdigit():
            times[words[0]] = float(words[1])
        else:
            print("<!--", line, "-->")
    return times


def main():
    if sys.argv[1] == "--serve":
        return serve(sys.argv[2] == "compiled", sys.argv[3:])
    program, wanted = sys.argv[1], sys.argv[2:] or list(rows_names())
    here = [sys.executable, __file__, "--serve"]
    best = {"tenon": {}, "torch": {}, "compiled": {}}
    for _ in range(3):
        for name, command in (("tenon", [program, *wanted]), ("torch", [*here, "eager", *wanted]), ("compiled", [*here, "compiled", *wanted])):
            for row, taken in ask(command).items():
                best[name][row] = min(taken, best[name].get(row, 1e30))
    copy = best["torch"].get("copy")
    print("| row | Tenon, us | PyTorch / Tenon | torch.compile / Tenon | of copy |\n| --- | --- | --- | --- | --- |")
    for row in wanted:
        ours = best["tenon"].get(row)
        ratio = lambda name: f"{best[name][row] / ours:.2f}" if ours and row in best[name] else "-"
        bandwidth = f"{MOVED[row] / 2 * copy / ours:.2f}" if ours and copy and row in MOVED else ""
        print(f"| {row} | {f'{1e6 * ours:.1f}' if ours else '-'} | {ratio('torch')} | {ratio('compiled')} | {bandwidth} |")


def rows_names():
    return ["copy", "chain", "softmax_1024", "layer_norm_4096", "transpose_8192", "column_sum", "sum", "sort_1e6", "matmul_bf16_8192",
            "matmul_512", "matmul_64x128", "attention", "cnn_256", "iris_epoch"]


if __name__ == "__main__":
    main()
