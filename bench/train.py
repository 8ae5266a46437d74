#!/usr/bin/env python3
"""Training in Tenon and in PyTorch, eager and torch.compile, in one interleaved run.

    bench/train.py BENCH_TRAIN [--threads N] [--rounds N] [--best] [--eager] [ROW ...]

BENCH_TRAIN is the program built from bench_train.cpp. Each contestant trains in a process of its own; they take turns in an
order drawn anew each round. "recycled" is PyTorch that keeps the memory that it freed (malloc's trim_threshold), so that no
page fault counts against it. Printed: Tenon's milliseconds, and how many times as long the others take, the median of the
rounds' ratios; with --best the quickest of all rounds counts, as on a machine with other work. Below cnn_256 and the rows of
sequences: the most memory that each process had, which trained that row alone. Then the row iris_cold: from the start of a
process, with an empty cache, to the 100th epoch of the tutorial, imports included. torch.compile is left out where it cannot
compile, and with --eager. Ends with 1 if a loss is wrong."""
import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from peers import RECYCLED

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = ["iris_epoch", "mlp_64", "cnn_64", "cnn_256", "resnet_32", "lstm", "transformer", "encoder", "adam_1e7"]
CHECKED = {"iris_epoch": 10, "mlp_64": 5, "cnn_64": 5, "cnn_256": 5, "resnet_32": 3, "lstm": 5, "transformer": 5, "encoder": 5, "adam_1e7": 3}
BATCH, TOKENS, WIDTH, HEADS, DEPTH, WORDS = 12, 64, 128, 4, 4, 65


def iris_rows(torch):
    """The tutorial's 120 training rows: scikit-learn's split, which is NumPy's permutation."""
    import numpy as np
    table = np.loadtxt(os.path.join(HERE, "../examples/data/iris.csv"), delimiter=",", skiprows=1)
    rows = np.random.RandomState(33).permutation(150)[30:]
    return torch.tensor(table[rows, :4], dtype=torch.float32), torch.tensor(table[rows, 4], dtype=torch.int64)


def iris_net(torch):
    nn = torch.nn
    torch.manual_seed(32)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 9), nn.ReLU(), nn.Linear(9, 3))


def training(torch, compiled, net, x, y):
    return training_of(torch, compiled, lambda: torch.nn.functional.cross_entropy(net(x), y), torch.optim.Adam(net.parameters()))


def training_of(torch, compiled, loss_of, optimizer):
    if compiled:
        loss_of = torch.compile(loss_of)

    def step():
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step


def residual_block(torch, batch):
    """Two convolutions of 64 channels with batch norms, over images of 32x32."""
    nn = torch.nn
    torch.manual_seed(0)
    convolution = lambda: nn.Conv2d(64, 64, 3, padding=1, bias=False)
    inner = nn.Sequential(convolution(), nn.BatchNorm2d(64), nn.ReLU(), convolution(), nn.BatchNorm2d(64))
    torch.manual_seed(1)
    x, y = torch.rand(batch, 64, 32, 32) - 0.5, torch.rand(batch, 64, 32, 32)
    loss_of = lambda: torch.nn.functional.mse_loss(torch.relu(inner(x) + x), y)
    return loss_of, torch.optim.SGD(inner.parameters(), lr=0.01)


def lstm(torch):
    """A class for each of 32 sequences of 50 steps, from the state after the last one."""
    nn = torch.nn
    torch.manual_seed(0)
    layer = nn.LSTM(64, 128, batch_first=True)
    head = nn.Linear(128, 10)
    torch.manual_seed(1)
    x, y = torch.rand(32, 50, 64) - 0.5, torch.randint(0, 10, (32,))
    loss_of = lambda: nn.functional.cross_entropy(head(layer(x)[0].select(1, -1)), y)
    return loss_of, torch.optim.Adam([*layer.parameters(), *head.parameters()])


def transformer(torch):
    """The next word of each, by causal attention."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.to_heads, self.from_heads = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.norm2, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            parts = self.to_heads(self.norm1(x)).view(BATCH, TOKENS, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            heads = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
            y = x + self.from_heads(heads.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
            return y + self.down(nn.functional.gelu(self.up(self.norm2(y))))

    torch.manual_seed(0)
    embedding, places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
    rest = nn.Sequential(*[Block() for _ in range(DEPTH)], nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS))
    torch.manual_seed(1)
    words, following = torch.randint(0, WORDS, (BATCH, TOKENS)), torch.randint(0, WORDS, (BATCH * TOKENS,))
    loss_of = lambda: nn.functional.cross_entropy(rest(embedding(words) + places(torch.arange(TOKENS))).view(-1, WORDS), following)
    return loss_of, torch.optim.AdamW([*embedding.parameters(), *places.parameters(), *rest.parameters()])


def encoder(torch):
    """A class for each of the sequences, from the mean over its tokens."""
    nn = torch.nn
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, dim_feedforward=4 * WIDTH, dropout=0.0)
    stack = nn.TransformerEncoder(layer, DEPTH, enable_nested_tensor=False)
    head = nn.Linear(WIDTH, 10)
    torch.manual_seed(1)
    x, y = torch.rand(TOKENS, BATCH, WIDTH) - 0.5, torch.randint(0, 10, (BATCH,))
    mask = torch.full((TOKENS, TOKENS), -float("inf")).triu(1)
    loss_of = lambda: nn.functional.cross_entropy(head(stack(x, mask=mask).mean(0)), y)
    return loss_of, torch.optim.AdamW([*stack.parameters(), *head.parameters()])


SEQUENCES = {"lstm": lstm, "transformer": transformer, "encoder": encoder}


def prepare(torch, row, compiled):
    nn = torch.nn
    if row in SEQUENCES:
        return training_of(torch, compiled, *SEQUENCES[row](torch))
    if row == "iris_epoch":
        x, y = iris_rows(torch)
        return training(torch, compiled, iris_net(torch), x, y)
    if row == "adam_1e7":
        torch.manual_seed(0)
        parameter = torch.rand(10_000_000, requires_grad=True)
        parameter.grad = torch.rand(10_000_000) - 0.5
        optimizer = torch.optim.Adam([parameter])
        update = torch.compile(optimizer.step) if compiled else optimizer.step

        def step():
            update()
            return parameter.detach()[:8].sum()
        return step
    batch = int(row.split("_")[1])
    if row.startswith("resnet"):
        return training_of(torch, compiled, *residual_block(torch, batch))
    torch.manual_seed(0)
    if row.startswith("mlp"):
        net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        torch.manual_seed(1)
        x = torch.rand(batch, 784)
    else:
        pool = nn.MaxPool2d(2, 2)
        net = nn.Sequential(nn.Conv2d(3, 6, 5), nn.ReLU(), pool, nn.Conv2d(6, 16, 5, padding=3), nn.ReLU(), nn.Conv2d(16, 16, 5),
                            nn.ReLU(), pool, nn.Conv2d(16, 16, 3), nn.ReLU(), pool, nn.Flatten(), nn.Linear(64, 120), nn.ReLU(),
                            nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
        torch.manual_seed(1)
        x = (torch.rand(batch, 3, 32, 32) - 0.5) / 0.5
    return training(torch, compiled, net, x, torch.randint(0, 10, (batch,)))


def serve(compiled, threads):
    import resource
    import torch
    torch.set_num_threads(threads)
    steps = {}
    for line in sys.stdin:
        row = line.strip()
        if row == "stop":
            break
        if row == "memory":
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0, flush=True)
            continue
        if row not in steps:
            steps[row] = prepare(torch, row, compiled)
            for _ in range(CHECKED[row] - 1):
                steps[row]().item()
            print(row, "check", steps[row]().item(), flush=True)
        runs, start = 0, time.perf_counter()
        while time.perf_counter() - start < 0.1:
            steps[row]().item()
            runs += 1
        print((time.perf_counter() - start) / runs, flush=True)


def iris_from_the_start():
    """The tutorial's program: what a user of PyTorch starts."""
    import torch
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    x, y = iris_rows(torch)
    net = iris_net(torch)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(100):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        last = loss.item()
    print(last)


class Server:
    def __init__(self, command, **environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env={**os.environ, **environment})
        self.losses = {}

    def ask(self, line):
        """None if the process has ended."""
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        answer = self.process.stdout.readline()
        if " check " in answer:
            self.losses[line] = float(answer.split()[-1])
            answer = self.process.stdout.readline()
        return float(answer) if answer else None


def seconds_of(command, **environment):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--serve", choices=["torch", "compiled"])
    parser.add_argument("--iris", action="store_true")
    options = parser.parse_intermixed_args()
    if options.serve:
        return serve(options.serve == "compiled", options.threads)
    if options.iris:
        return iris_from_the_start()

    threads = str(options.threads)
    here = [sys.executable, os.path.abspath(__file__), "-", "--threads", threads]
    commands = {"tenon": ([options.program], {"TENON_THREADS": threads}),
                "torch": (here + ["--serve", "torch"], {"OMP_NUM_THREADS": threads}),
                "recycled": (here + ["--serve", "torch"], {"OMP_NUM_THREADS": threads, "GLIBC_TUNABLES": RECYCLED}),
                "compiled": (here + ["--serve", "compiled"], {"OMP_NUM_THREADS": threads, "GLIBC_TUNABLES": RECYCLED})}
    if options.eager:
        del commands["compiled"]
    others = [name for name in commands if name != "tenon"]
    ratio = lambda ours, theirs: (min(theirs) / min(ours) if options.best
                                  else statistics.median(b / a for a, b in zip(ours, theirs)))
    typical = min if options.best else statistics.median
    print(f"{'row, ' + threads + ' threads':24}{'ms':>9}" + "".join(f"{name:>10}" for name in others), flush=True)
    order, wrong = random.Random(1), False

    def report(name, times, note=""):
        cells = [f"{ratio(times['tenon'], times[s]):10.2f}" if times.get(s) else f"{'-':>10}" for s in others]
        print(f"{name:24}{1e3 * typical(times['tenon']):9.3f}" + "".join(cells) + note, flush=True)

    for name in options.rows or ROWS:
        if name in ("iris_cold", "memory"):
            continue
        servers = {s: Server(command, **environment) for s, (command, environment) in commands.items()}
        times = {s: [] for s in servers}
        for turn in range(-1, options.rounds):
            for s in order.sample(list(servers), len(servers)):
                time.sleep(0.1)  # OpenMP's threads spin for a while after their work
                seconds = servers[s].ask(name)
                if seconds is None:
                    if s != "compiled":
                        sys.exit(f"{s} has ended in row {name}")
                    del servers[s], times[s]
                elif turn >= 0:
                    times[s].append(seconds)
        losses = [server.losses[name] for server in servers.values()]
        right = max(losses) - min(losses) <= 1e-4 * max(1.0, max(map(abs, losses)))
        wrong = wrong or not right
        report(name, times, "" if right else f"  WRONG: losses {losses}")
        if name == "cnn_256" or name in SEQUENCES:
            memory = {s: [server.ask("memory")] for s, server in servers.items()}
            print(f"{'  memory':24}" + "  ".join(f"{s} {m[0] / 2**20:.0f} MB" for s, m in memory.items()), flush=True)
        for server in servers.values():
            server.process.kill()
            server.process.wait()
    if not options.rows or "iris_cold" in options.rows:
        times = {"tenon": [], "torch": []}
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as empty:
                times["tenon"].append(seconds_of([options.program, "iris"], TENON_THREADS=threads, XDG_CACHE_HOME=empty))
            times["torch"].append(seconds_of(here + ["--iris"], OMP_NUM_THREADS=threads))
        report("iris_cold", times)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
