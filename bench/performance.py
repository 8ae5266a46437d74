#!/usr/bin/env python3
"""Measures Tenon beside PyTorch, NumPy and JAX, and writes docs/performance.md's tables and plots.

    bench/performance.py BENCH_CALLS [--rounds N] [--threads N] [--compile] [--only PATTERN] [--training BENCH_TRAIN] [--page]

BENCH_CALLS is the program built from calls.cpp. The peers (requirements.txt) are installed in an environment of their own in the build
folder. Each library runs in a process of its own (peers.py), all on the same cores; the rows are those of performance_rows.py. A row's
inputs are the same for all, and the first results must equal PyTorch's before anything is timed. Then the libraries take turns of at
least 20 ms, in reverse order every other round. A time is the median over the rounds, a ratio the median of the rounds' quotients.
The peers keep the memory that they freed, so that no page fault counts against them, and Tenon compiles before a kernel's first run.
--compile adds torch.compile, which takes seconds a row. --only measures the rows whose "group: name" has the pattern. --training adds the
table of train.py. What was measured is kept in BENCH_CALLS' build folder (performance.json), row by row: what a later run does not
measure stays. --page writes the page from it. Ends with 1 if a result differs."""
import argparse
import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import peers
import performance_page
import performance_rows

TURN = 0.02   # seconds
WARM = {"tenon": 0.15, "jax": 0.05, "numpy": 0.02, "torch": 0.05, "compiled": 0.1}
COPIES = [2 ** k for k in range(15, 30, 2)]   # bytes


def in_own_environment(folder):
    """Runs this again in the environment of the peers, which is made if it is not there as requirements.txt has it."""
    python, wanted, made = folder / "bin/python", HERE / "requirements.txt", folder / "requirements.txt"
    if not made.exists() or made.read_text() != wanted.read_text():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(wanted)], check=True)
        made.write_text(wanted.read_text())
    if pathlib.Path(sys.prefix) != folder:
        os.execv(python, [str(python), *sys.argv])


def machine(threads):
    info = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    info = {key.strip(): value.strip() for key, value in info.items()}
    flags = [f for f in ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile") if f in info.get("flags", "").split()]
    memory = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) / 2 ** 20
    return (f"{info.get('model name', platform.machine())} (family {info.get('cpu family')}, model {info.get('model')}; {', '.join(flags)}), "
            f"{os.cpu_count()} cores, {memory:.0f} GB; {threads} thread{'s' if threads > 1 else ''}, pinned to as many cores")


def limits(tenon, known):
    """The best of what was measured so far: other work on the machine can only make them less."""
    copies = {str(size): max(float(tenon.ask(f"copy {size}")), known.get("copy", {}).get(str(size), 0.0)) for size in COPIES}
    return {"fma": max(float(tenon.ask("fma")), known.get("fma", 0.0)), "copy": copies}


# --- one row

def draw(inputs, folder):
    """Writes the inputs of a row as .npy files; gives their names."""
    import numpy as np
    rng = np.random.default_rng(1)
    names = {"M": (4096, 1024), "randn": lambda *shape: rng.standard_normal(shape, np.float32), "sorted": np.sort,
             "rand": lambda *shape: rng.random(shape, np.float32), "below": lambda n, *shape: rng.integers(0, n, shape)}
    variables = {}
    exec(inputs, names, variables)
    for name, array in variables.items():
        np.save(f"{folder}/{name}.npy", np.asarray(array, array.dtype if array.dtype != np.float64 else np.float32))
    return list(variables)


def statements(row, library):
    """What makes a library's further variables."""
    lets = [s.strip() for s in row.let.split(";") if s.strip()]
    if library in row.texts:
        lets = [performance_rows.translated(s) for s in lets if "requires_grad" not in s]
    return [" ".join(["let", *s.split(" = ", 1)]) for s in lets]


def prepare(server, library, row, text, names, folder):
    """How many tensors the result has, which is written; or an error."""
    lines = ["clear", *(f"load {name} {folder}/{name}.npy" for name in names), *statements(row, library)]
    for line in lines + [f"save {folder}/{library} {text}"]:
        answer = server.ask(line)
        if answer.startswith("error"):
            break
    return answer


def difference(folder, library, count, tolerance):
    """What differs between a library's result and PyTorch's, or None."""
    import numpy as np
    for i in range(int(count)):
        wanted, found = (np.load(f"{folder}/{name}.{i}.npy") for name in ("torch", library))
        if wanted.shape != found.shape:
            return f"sizes {found.shape} for {wanted.shape}"
        wanted, found = wanted.astype(np.float64), found.astype(np.float64)
        error = np.abs(wanted - found).max() / max(1e-30, np.abs(wanted).max()) if wanted.size else 0.0
        if not error <= tolerance:
            return f"an error of {error:.2g} of the largest value"
    return None


def measure(row, servers, rounds):
    texts = {library: row.texts.get(library) if library in ("numpy", "jax") else row.text for library in servers}
    result, times = {"group": row.group, "name": row.name, "us": {}, "ratio": {}, "faults": {}}, {}
    with tempfile.TemporaryDirectory() as folder:
        names = draw(row.inputs, folder)
        for library, text in texts.items():   # PyTorch is the first
            if not text:
                continue
            answer = prepare(servers[library], library, row, text, names, folder)
            fault = answer if answer.startswith("error") else difference(folder, library, answer, row.tolerance)
            if fault:
                result["faults"][library] = fault
            else:
                times[library] = []
            if fault and library in ("torch", "tenon"):
                return result
    result["bytes"], result["flops"] = float(servers["torch"].ask("bytes " + row.text)), row.flops
    for library in times:
        servers[library].ask(f"time {WARM[library]} {texts[library]}")
    for turn in range(rounds):
        for library in list(times)[::1 if turn % 2 else -1]:
            times[library].append(float(servers[library].ask(f"time {TURN} {texts[library]}")))
    for library, values in times.items():
        result["us"][library] = statistics.median(values)
        result["ratio"][library] = statistics.median(theirs / ours for theirs, ours in zip(values, times["tenon"]))
    result["least"] = min(times["tenon"])
    return result


def report(result):
    cells = "".join(f"{result['ratio'][s]:9.2f}" if s in result["ratio"] else f"{'-':>9}" for s in ("torch", "numpy", "jax", "compiled"))
    faults = "".join(f"  {library}: {text[:150]}" for library, text in result["faults"].items())
    print(f"{result['name'][:40]:42}{result['us'].get('tenon', math.nan):12.1f}{cells}{faults}", flush=True)


def measure_all(options, known):
    libraries = ["torch", "numpy", "jax"] + ["compiled"] * options.compile
    servers = {"torch": peers.peer("torch", options.threads),
               "tenon": peers.Server([options.program], TENON_THREADS=str(options.threads), TENON_FIRST_TIER="0")}
    servers.update({library: peers.peer(library, options.threads) for library in libraries[1:]})
    known["limits"] = limits(servers["tenon"], known.get("limits", {}))
    known["machine"], known["rounds"] = machine(options.threads), options.rounds
    versions = "import torch, numpy, jax; print(f'PyTorch {torch.__version__}, NumPy {numpy.__version__}, JAX {jax.__version__}')"
    known["versions"] = subprocess.run([sys.executable, "-c", versions], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{'row':42}{'Tenon, us':>12}{'torch':>9}{'numpy':>9}{'jax':>9}{'compiled':>9}", flush=True)
    wrong = False
    for row in performance_rows.ROWS:
        if not re.search(options.only, f"{row.group}: {row.name}"):
            continue
        result = measure(row, servers, options.rounds)
        report(result)
        wrong = wrong or bool(result["faults"])
        known["rows"][f"{row.group}: {row.name}"] = result
        options.kept.write_text(json.dumps(known, indent=1))
    known["limits"] = limits(servers["tenon"], known["limits"])
    options.kept.write_text(json.dumps(known, indent=1))
    for server in servers.values():
        server.ask("stop")
    return wrong


def training(options):
    """What train.py prints: torch.compile is left out, as its first steps take half a minute each."""
    command = [sys.executable, str(HERE / "train.py"), options.training, "--threads", str(options.threads), "--rounds", str(options.rounds), "--eager"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--training")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    build = pathlib.Path(options.program).parents[1]
    options.kept = build / "performance.json"
    known = json.loads(options.kept.read_text()) if options.kept.exists() else {"rows": {}}
    wrong = False
    if not options.page:
        in_own_environment(build / "peers")
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])   # of all processes that are started
        wrong = measure_all(options, known)
        if options.training:
            known["training"] = training(options)
            options.kept.write_text(json.dumps(known, indent=1))
    if not options.only:
        order = [f"{row.group}: {row.name}" for row in performance_rows.ROWS]
        known["rows"] = {key: known["rows"][key] for key in order if key in known["rows"]}
        performance_page.write(known, HERE.parent / "docs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
