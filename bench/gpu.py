#!/usr/bin/env python3
"""The rows of bench_gpu.cpp by PyTorch, eager or compiled: "ROW seconds" a line, each as soon as it is known.

    bench/gpu.py eager|compiled ROW...

scripts/gpu_test.sh puts them beside Tenon's. A row that it cannot run says "ROW failed: why"."""
import sys
import time

ELEMENTS = 64 << 20


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

    def adam():
        p = torch.nn.Parameter(rand(10_000_000))
        p.grad = rand(10_000_000)
        return wrap(torch.optim.Adam([p]).step) if compiled else torch.optim.Adam([p]).step

    def attention(heads, width, backward):
        q, k, v = (rand(4, heads, 2048, width, dtype=half).requires_grad_(backward) for _ in range(3))
        forward = wrap(F.scaled_dot_product_attention)

        def step():
            y = forward(q, k, v)
            return torch.autograd.grad(y, (q, k, v), y.detach()) if backward else y
        return step

    half = torch.float16
    indices = lambda n, count: torch.randint(0, n, (count,), device="cuda")
    return {
        "scale": lambda: of(lambda x: x * 2, rand(ELEMENTS)),
        "chain": lambda: of(lambda x: (x * 2 + 1).relu().tanh() - x, rand(ELEMENTS)),
        "chain_f16": lambda: of(lambda x: (x * 2 + 1).relu() - x, rand(2 * ELEMENTS, dtype=half)),
        "softmax_1024": lambda: of(lambda x: x.softmax(1), rand(ELEMENTS // 1024, 1024)),
        "softmax_4096": lambda: of(lambda x: x.softmax(1), rand(ELEMENTS // 4096, 4096)),
        "softmax_65536": lambda: of(lambda x: x.softmax(1), rand(ELEMENTS // 65536, 65536)),
        "layer_norm_4096": lambda: of(lambda x: F.layer_norm(x, (4096,)), rand(ELEMENTS // 4096, 4096)),
        "layer_norm_f16_1024": lambda: of(lambda x: F.layer_norm(x, (1024,)), rand(ELEMENTS // 512, 1024, dtype=half)),
        "transpose_8192": lambda: of(lambda x: x.t().contiguous(), rand(8192, 8192)),
        "transpose_f16": lambda: of(lambda x: x.t().contiguous(), rand(8192, 16384, dtype=half)),
        "column_sum": lambda: of(lambda x: x.sum(0), rand(ELEMENTS // 4096, 4096)),
        "sum": lambda: of(lambda x: x.sum(), rand(ELEMENTS)),
        "cumsum": lambda: of(lambda x: x.cumsum(0), rand(ELEMENTS)),
        "embedding": lambda: of(lambda i, w: F.embedding(i, w), indices(50000, 65536), rand(50000, 1024)),
        "index_add": lambda: of(lambda x, i, y: x.index_add(0, i, y), rand(50000, 256), indices(50000, 65536), rand(65536, 256)),
        "sort_1e6": lambda: of(lambda x: x.sort()[0], rand(1 << 20)),
        "adam_1e7": adam,
        "matmul_bf16_8192": lambda: of(torch.matmul, rand(8192, 8192, dtype=torch.bfloat16), rand(8192, 8192, dtype=torch.bfloat16)),
        "matmul_f16_1024": lambda: of(torch.matmul, rand(1024, 1024, dtype=half), rand(1024, 1024, dtype=half)),
        "matmul_f32_4096": lambda: of(torch.matmul, rand(4096, 4096), rand(4096, 4096)),
        "matmul_512": lambda: of(torch.matmul, rand(512, 512), rand(512, 512)),
        "matmul_64x128": lambda: of(torch.matmul, rand(64, 128, 128), rand(64, 128, 128)),
        "linear_gelu_f16": lambda: of(lambda x, w, b: F.gelu(F.linear(x, w, b)), rand(8192, 1024, dtype=half), rand(4096, 1024, dtype=half), rand(4096, dtype=half)),
        "conv_f16": lambda: of(lambda x, w: F.conv2d(x, w, padding=1), rand(32, 64, 56, 56, dtype=half), rand(64, 64, 3, 3, dtype=half)),
        "attention": lambda: attention(16, 64, False),
        "attention_128": lambda: attention(8, 128, False),
        "attention_training": lambda: attention(16, 64, True),
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


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("eager", "compiled"):
        sys.exit(__doc__)
    import torch
    made = rows(torch, sys.argv[1] == "compiled")
    for name in sys.argv[2:]:
        try:
            print(name, f"{seconds(torch, made[name]()):.9f}", flush=True)
        except Exception as error:  # a compiler that is missing there
            print(name, "failed:", (str(error) or repr(error)).splitlines()[0], flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
