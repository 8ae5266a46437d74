"""The NumPy side of bench_elementwise: for each line "N" on standard input, evaluates the chain over N float32 and
prints the seconds it took. A line "stop" ends it. The first line printed is NumPy's version."""
import sys
import time

import numpy as np

print(np.__version__, flush=True)
data = {}
for line in sys.stdin:
    if line.strip() == "stop":
        break
    n = int(line)
    if n not in data:
        random = np.random.default_rng(1)
        data[n] = [random.uniform(-1, 1, n).astype(np.float32) for _ in range(2)]
    x, y = data[n]
    start = time.perf_counter()
    t = x / (np.abs((x * y + x) * np.float32(0.5) - y) + np.float32(1))
    t = np.minimum(np.maximum(t, np.float32(-0.5)), np.float32(0.5)) * y
    print(time.perf_counter() - start, flush=True)
