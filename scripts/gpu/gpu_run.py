#!/usr/bin/env python3
"""The first and the second run on a machine with a GPU: see scripts/gpu_test.sh.

    gpu_run.py first|second OUT [--seconds N] [--jobs N] [--only PART,...] [--most N] [--simulate BIN] [--bundle FILE] [--rows FILE]

OUT gets summary.md, rows.json and logs.tgz. Parts run in order of what they tell; each has a limit, and none that fails ends the run. --most
takes only the first N rows of a part; --simulate runs on the stand-ins of NVIDIA's libraries in BIN, with small sizes. The exit status is 1
if a row was not right."""
import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import time

import gpu_rows

HERE = pathlib.Path(__file__).resolve().parents[2]
STEPS = ["iris_epoch", "cnn_256"]
COMPILED = ["chain", "softmax_1024", "layer_norm_4096", "attention", *STEPS]
COUNTED = ["chain", "softmax_4096", "layer_norm_4096", "transpose_f16", "matmul_64x128", "attention", "adam_1e7", "cumsum", "sum", "column_sum"]
FOR_SANITIZERS = ["memcheck", "racecheck"]
# Millions of bytes read and written by rows that only move them.
MOVED = {name: 536.9 for name in ("scale", "chain", "chain_f16", "softmax_1024", "softmax_4096", "softmax_65536", "layer_norm_4096", "layer_norm_f16_1024",
                                  "transpose_8192", "transpose_f16", "cumsum", "embedding")}
MOVED |= {"column_sum": 268.4, "sum": 268.4, "adam_1e7": 280.0}
PRODUCTS = ["64x64x64", "128x128x512", "256x256x256", "256x256x2048", "512x512x512", "1024x1024x256", "1024x1024x1024", "2048x2048x512",
            "2048x2048x2048", "4096x4096x1024", "4096x16x1024", "16x4096x1024", "128x4096x512", "4096x128x512", "1000x1000x1000"]
METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
           "lts__t_sectors_op_write.sum", "smsp__issue_active.avg.pct_of_peak_sustained_active", "smsp__inst_executed.sum",
           "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "l1tex__data_bank_conflicts_pipe_lsu.sum",
           "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
           "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "launch__registers_per_thread",
           "sm__warps_active.avg.pct_of_peak_sustained_active"]


def find_tool(name):
    """On PATH, else where the toolkit and its profilers lie."""
    found = shutil.which(name)
    for folder in [] if found else ["/usr/local/cuda/bin", *sorted(map(str, pathlib.Path("/opt/nvidia").glob("*/*")), reverse=True)]:
        if os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name}"
    return found


def library_path():
    """Where NVIDIA's libraries may lie."""
    folders = ["/usr/local/nvidia/lib64", "/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib"]
    try:
        import nvidia
        folders += [f"{folder}/cu13/lib" for folder in nvidia.__path__]
    except ImportError:
        pass
    folders = [folder for folder in folders if os.path.isdir(folder)]
    return ":".join(folders + [os.environ["LD_LIBRARY_PATH"]] if "LD_LIBRARY_PATH" in os.environ else folders)


def unpack(bundle, here):
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    with tarfile.open(bundle) as tar:
        tar.extractall(here)
    return json.loads((here / "bundle.json").read_text())


class Cache:
    """The kernels of the bundle, and those that programs have added: what NVRTC had to compile here, some of it in the place of machine code
    of the bundle that did not load."""

    def __init__(self, folder):
        self.folder = folder / "tenon"
        self.packed = {entry.name: entry.stat().st_ino for entry in self.folder.glob("*.bin")}
        self.seen = {}

    def compiled(self):
        for entry in self.folder.glob("*.bin"):
            inode = entry.stat().st_ino
            if self.packed.get(entry.name) == inode or self.seen.get(entry.name, (None,))[0] == inode:
                continue
            with open(entry, "rb") as file:
                head = file.read(40)
                key = file.read(int.from_bytes(head[8:16], "little"))
            self.seen[entry.name] = (inode, b"\nnvrtc " in key[-200:])
        of_gpu = [name for name, (_, is_of_gpu) in self.seen.items() if is_of_gpu]
        return len(of_gpu), sum(name in self.packed for name in of_gpu)


class Run:
    def __init__(self, options, parts):
        self.options, self.out = options, pathlib.Path(options.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.work = pathlib.Path(options.work).resolve()
        self.report = gpu_rows.Report(self.out, f"{options.run} run, {time.strftime('%Y-%m-%d', time.gmtime())}", [(name, limit) for name, limit, _ in parts])
        try:
            self.facts = unpack(options.bundle, self.work / "here")
        except Exception as error:
            self.report.state = f"no bundle ({error})"
            self.report.save()
            raise
        self.bin = self.work / "here" / "bin"
        logs = self.work / f"logs_{options.run}"
        shutil.rmtree(logs, ignore_errors=True)
        self.machine = gpu_rows.Machine(self.report, options.seconds, options.jobs, self.environment(), logs)
        self.cache = Cache(self.work / "here" / "cache")
        self.ceiling = None
        self.rows_of_smoke = self.list_of([self.bin / "gpu_smoke", "list"])

    def environment(self):
        here = self.work / "here"
        values = dict(os.environ, LD_LIBRARY_PATH=library_path(), TENON_TEST_DEVICE="cuda", TENON_TEST_DATA=str(here / "tests/data"),
                      XDG_CACHE_HOME=str(here / "cache"), PYTHONUNBUFFERED="1")
        if self.options.simulate:
            simulated = pathlib.Path(self.options.simulate).resolve()
            values |= {"TENON_CUDA_DRIVER": f"{simulated}/libtenon_sim_cuda.so", "TENON_NVRTC": f"{simulated}/libtenon_sim_nvrtc.so",
                       "TENON_CUBLAS": f"{simulated}/libtenon_sim_cublas.so", "TENON_SIM_CUBINS": str(self.work / "texts"), "TENON_SMOKE_SMALL": "1"}
        return values

    def list_of(self, command):
        answer = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self.environment())
        return answer.stdout.split("\n")[:-1]

    def idle(self):
        """The simulator does not compute what is only timed."""
        return {"TENON_SIM_IDLE": "1", "TENON_SIM_MEMORY_MB": "80000"} if self.options.simulate else {}

    def rows(self, part, commands, limit, jobs=None, until=None):
        commands = iter(commands)
        if self.options.most:
            commands = (command for command, _ in zip(commands, range(self.options.most)))
        return self.machine.rows(part, commands, limit, jobs, until)

    def say(self, part, *lines):
        self.report.part(part)["text"] += lines
        self.report.save()

    def go(self, parts):
        for name, limit, run in parts:
            if self.options.only and name not in self.options.only:
                self.report.part(name)["state"] = "left out"
                continue
            if self.machine.left() < 1:
                self.report.part(name)["state"] = "no time"
                continue
            self.run_part(name, limit, run)
        self.report.state = "ended"
        self.report.save()
        return self.report.failed()

    def run_part(self, name, limit, run):
        part, begin = self.report.part(name), time.monotonic()
        until = min(self.machine.end, begin + (limit or self.options.seconds))
        part["state"] = "running"
        self.report.save()
        try:
            run(self, name, until)
            part["state"] = "done" if time.monotonic() < until or not limit else "cut at its limit"
        except Exception as error:  # the next part may tell more
            part["state"], part["text"] = "failed", [*part["text"], f"{type(error).__name__}: {error}"]
        part["seconds"] = round(time.monotonic() - begin, 1)
        compiled, again = self.cache.compiled()
        part["text"] += ["", f"Kernels compiled by NVRTC so far: {compiled}, {again} of them since the bundle's did not load."]
        print(f"{name}: {part['state']}, {part['seconds']} s, {sum(row['state'] == 'ok' for row in part['rows'])} right, "
              f"{sum(row['state'] not in ('ok', 'missing') for row in part['rows'])} not; kernels compiled: {compiled}", flush=True)
        gpu_rows.archive(self.machine.logs, self.out / "logs.tgz")
        self.report.save()


def note_missing(run, part, name, why):
    run.report.part(part)["rows"].append({"name": name, "state": "missing", "seconds": 0, "text": why})
    run.report.save()


# --- what the machine is

def facts(run, part, until):
    commands = [("tenon", [run.bin / "gpu_facts"]), ("glibc", ["ldd", "--version"]), ("python", [sys.executable, "--version"])]
    if smi := find_tool("nvidia-smi"):
        fields = "name,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,pstate,temperature.gpu,power.draw"
        commands.append(("nvidia-smi", [smi, f"--query-gpu={fields}", "--format=csv,noheader"]))
    else:
        note_missing(run, part, "nvidia-smi", "it is nowhere")
    for tool in ("ncu", "compute-sanitizer"):
        if not find_tool(tool):
            note_missing(run, part, tool, "it is not on PATH and not in /usr/local/cuda/bin")
    run.machine.rows(part, commands, 15, until=until)
    text = run.machine.log(part, "tenon")
    run.report.notes = [f"{run.machine.log(part, 'nvidia-smi').strip() or 'simulated'}; Tenon {run.facts['commit']}, {run.facts['kernels']} kernels packed."]
    run.say(part, "```", *text.strip().splitlines(), "```")
    if found := re.search(r"copy within the device, read and written: ([\d.]+) GB/s", text):
        run.ceiling = float(found[1])
    if (target := re.search(r"^target: (.*)$", text, re.M)) and target[1] not in run.facts["targets"]:
        run.say(part, f"The cache was packed for other numbers: {'; '.join(run.facts['targets'])}.")


# --- is it right

def smoke_rows(run, of_runtime):
    return [name for name in run.rows_of_smoke if name.startswith("runtime_") == of_runtime]


def smoke(run, part, until):
    run.rows(part, [(name, [run.bin / "gpu_smoke", "run", name]) for name in smoke_rows(run, False)], 40, until=until)
    right = [row for row in run.report.part(part)["rows"] if row["state"] == "ok"]
    errors = [re.search(r"error (\S+), bound (\S+)", row["text"]) for row in right]
    nearest = sorted((float(found[1]) / float(found[2]), row["name"], found[0]) for row, found in zip(right, errors) if found)
    run.say(part, *[f"Nearest to its bound: {name}, {text}." for _, name, text in nearest[-1:]])
    fields = [row["text"].split(" | ") for row in right]
    run.say(part, f"Schedules that were right: {', '.join(sorted({name for field in fields if len(field) > 1 for name in field[1].split(', ')}))}.")


def runtime(run, part, until):
    run.rows(part, [(name, [run.bin / "gpu_smoke", "run", name]) for name in smoke_rows(run, True)], 40, jobs=4, until=until)


def again(run, part, until):
    """What was not right in the first run."""
    known = json.loads(pathlib.Path(run.options.rows).read_text()) if os.path.exists(run.options.rows) else {"parts": []}
    wrong = {of["name"]: {row["name"] for row in of["rows"] if row["state"] not in ("ok", "missing")} for of in known["parts"]}
    if not known["parts"]:
        run.say(part, f"{run.options.rows} of a first run is not here: all smoke rows.")
        wrong = {"smoke": set(smoke_rows(run, False)), "runtime": set(smoke_rows(run, True))}
    commands = [(name, [run.bin / "gpu_smoke", "run", name]) for of in ("smoke", "runtime") for name in run.rows_of_smoke if name in wrong.get(of, ())]
    commands += [item for item in golden_rows(run) + cuda_rows(run) if item[0] in wrong.get("golden", set()) | wrong.get("cuda", set())]
    faulty = {row["name"] for of in known["parts"] if of["name"] == "slices" for row in of["rows"] if row["state"] not in ("ok", "missing", "no end")}
    commands += [item for item in slices_from(run, 0) if item[0] in faulty] if faulty else []
    run.rows(part, commands, 40, until=until)


def golden_rows(run):
    cases = [("golden: operators on a device", 16), ("golden: gradients on a device have the CPU's bits", 16), ("golden: functions on a device", 16),
             ("golden: corner cases*", 4), ("golden: views*", 1), ("golden: tensors*", 1), ("golden training: iris*", 1), ("golden training: the conv*", 1),
             ("recurrent*", 1)]
    return [(f"{re.sub('[^a-z]+', '_', case).strip('_')}_{index}", [run.bin / "test_device", f"-tc={case}"], {"TENON_TEST_SLICE": f"{index}/{count}"} if count > 1 else {})
            for case, count in cases for index in range(count)]


def golden(run, part, until):
    run.rows(part, golden_rows(run), 60, until=until)


def cuda_rows(run):
    names = [line for line in run.list_of([run.bin / "test_cuda", "-ltc", "--no-version", "--no-intro"]) if ": " in line]
    return [(f"{index:02d}_{re.sub('[^A-Za-z0-9]+', '_', name)[:50]}", [run.bin / "test_cuda", "-tc=" + name.replace(",", "\\,")]) for index, name in enumerate(names)]


def cuda(run, part, until):
    run.rows(part, cuda_rows(run), 60, until=until)


def slices_from(run, first):
    """Random graphs, programs of writes, training programs in turn; the bundle has the kernels of the first of each."""
    for index in range(first, 10000):
        yield f"graphs_{index}", [run.bin / "test_device", "-tc=fuzz*"], {"TENON_FUZZ_COUNT": "50", "TENON_FUZZ_SEED": str(1 + 50 * index)}
        yield f"aliases_{index}", [run.bin / "alias_fuzz", "50", str(100 + index)]
        yield f"training_{index}", [run.bin / "test_gradients", "-tc=tape*"], {"TENON_FUZZ_COUNT": "10", "TENON_FUZZ_SEED": str(1 + 10 * index)}


def slices(run, part, until):
    first = 0 if run.options.run == "first" else run.facts["slices"]
    run.rows(part, slices_from(run, first), 60, until=until - 2)
    rows = run.report.part(part)["rows"]
    run.say(part, f"Slices from {first} on; {run.facts['slices']} of each kind are in the bundle, the kernels of later ones are compiled here. "
                  f"{sum(row['state'] == 'ok' for row in rows)} of {len(rows)} right.")


def sanitize(tools):
    def sanitized(run, part, until):
        program = find_tool("compute-sanitizer")
        if not program:
            return note_missing(run, part, "compute-sanitizer", "it is not on PATH and not in /usr/local/cuda/bin")
        for index, tool in enumerate(tools):
            share = time.monotonic() + (until - time.monotonic()) / (len(tools) - index)
            run.rows(part, [(f"{tool}_{name}", [program, "--tool", tool, "--error-exitcode", "9", run.bin / "gpu_smoke", "compile", name])
                            for name in smoke_rows(run, False)], 40, until=share)
    return sanitized


# --- how fast

def times_of(log):
    """row -> numbers, of lines "row seconds ..." ."""
    found = {}
    for line in log.splitlines():
        words = line.split()
        if len(words) > 1 and re.fullmatch(r"[\d.]+", words[1]):
            found[words[0]] = [float(word) for word in words[1:]]
    return found


def time_ours(run, part, names, until, environment={}, suffix=""):
    """A process a row, one after another."""
    commands = [(name + suffix, [run.bin / "bench_gpu", name], {**run.idle(), **environment}) for name in names]
    run.rows(part, commands, 15, jobs=1, until=until)
    return {name: found for name in names for found in times_of(run.machine.log(part, name + suffix)).values()}


def time_torch(run, part, kind, names, until):
    """One process for all rows, each of which is in the log as soon as it is known."""
    if run.options.simulate or subprocess.run([sys.executable, "-c", "import torch; torch.cuda.init()"], capture_output=True).returncode:
        note_missing(run, part, f"PyTorch, {kind}", "there is none that sees the GPU")
        return {}
    own_libraries = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    run.machine.rows(part, [(f"torch_{kind}", [sys.executable, HERE / "bench/gpu.py", kind, *names], own_libraries)], max(1, until - time.monotonic()), jobs=1,
                     until=until)
    return times_of(run.machine.log(part, f"torch_{kind}"))


def bench_names(run):
    return [name for name in re.findall(r'^    \{"(\w+)"', (HERE / "bench/bench_gpu.cpp").read_text(), re.M) if name not in STEPS]


def bench(run, part, until):
    names = bench_names(run)
    ours = time_ours(run, part, names, time.monotonic() + 0.6 * (until - time.monotonic()))
    table(run, part, names, ours, {})
    table(run, part, names, ours, time_torch(run, part, "eager", names, until))


def table(run, part, names, ours, eager):
    us = lambda times, name: f"{1e6 * times[name][0]:.1f}" if name in times else "-"
    lines = ["| row | Tenon, us | PyTorch eager, us | PyTorch / Tenon | of the copy |", "| --- | --- | --- | --- | --- |"]
    for name in names:
        ratio = f"{eager[name][0] / ours[name][0]:.2f}" if name in ours and name in eager else "-"
        share = f"{MOVED[name] / 1e3 / ours[name][0] / run.ceiling:.2f}" if name in ours and name in MOVED and run.ceiling else ""
        lines.append(f"| {name} | {us(ours, name)} | {us(eager, name)} | {ratio} | {share} |")
    run.report.part(part)["text"] = lines
    run.report.save()


def steps(run, part, until):
    graph, plain = (time_ours(run, part, STEPS, until, environment, suffix)
                    for environment, suffix in (({}, ""), ({"TENON_CUDA_GRAPHS": "0"}, "_plain")))
    begin = time.monotonic()
    run.machine.rows(part, [("cnn_start", [run.bin / "bench_gpu", "times", "3", "cnn_256"], run.idle())], 15, jobs=1, until=until)
    run.say(part, f"Three steps of the CNN from the start of the process: {time.monotonic() - begin:.2f} s.")
    eager = time_torch(run, part, "eager", STEPS, until)
    us = lambda times, name, which=0: f"{1e6 * times[name][which]:.1f}" if len(times.get(name, ())) > which else "-"
    launches = lambda name: f"{graph[name][2]:.0f}" if len(graph.get(name, ())) > 2 else "-"
    run.say(part, "", "| step | us | host us | launches | us without graphs | PyTorch eager, us |", "| --- | --- | --- | --- | --- | --- |",
            *[f"| {name} | {us(graph, name)} | {us(graph, name, 1)} | {launches(name)} | {us(plain, name)} | {us(eager, name)} |" for name in STEPS])


def compiled(run, part, until):
    times = time_torch(run, part, "compiled", COMPILED, until)
    run.say(part, "| row | torch.compile, us |", "| --- | --- |", *[f"| {name} | {1e6 * times[name][0]:.1f} |" for name in COMPILED if name in times])


def counters(run, part, until):
    ncu = find_tool("ncu")
    if not ncu:
        return note_missing(run, part, "ncu", "it is not on PATH and not in /usr/local/cuda/bin")
    head = [ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(METRICS)]
    run.rows(part, [(name, [*head, run.bin / "bench_gpu", "times", "2", name], run.idle()) for name in COUNTED], 25, jobs=1, until=until)
    run.say(part, "The slowest kernel of each row, whose inputs come from the host:", "", f"| row | kernel | {' | '.join(metric.split('.')[0] for metric in METRICS)} |", "| --- " * (len(METRICS) + 2) + "|")
    for name in COUNTED:
        if kernel := slowest_kernel(run.machine.log(part, name)):
            run.say(part, f"| {name} | {kernel.get('Kernel Name', '')[:40]} | {' | '.join(kernel.get(metric, '-') for metric in METRICS)} |")


def slowest_kernel(log):
    """A row of ncu's table; units stand in its first."""
    lines = log.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    kernels = list(csv.DictReader(lines[begin:]))[1:] if begin is not None else []
    number = lambda text: float(text.replace(",", "") or 0) if text else 0
    return max(kernels, key=lambda kernel: number(kernel.get(METRICS[0], "")), default=None)


def product_rows(run, environment):
    """A process for each type, with the library and without it: (name, command, environment)."""
    shapes = PRODUCTS[: run.options.most]
    return [(f"{kind}_{by}", [run.bin / "bench_gpu", "products", kind, *shapes], {**environment, **({"TENON_CUBLAS": "none"} if by == "generated" else {})})
            for kind in ("f16", "f32") for by in ("chosen", "generated")]


def tiles(run, part, until):
    """Products by the kernel that the model takes and by whom the model chooses, beside what the model thinks of both."""
    run.rows(part, product_rows(run, run.idle()), 20, jobs=1, until=until)
    logs = {by: run.machine.log(part, f"f16_{by}") + run.machine.log(part, f"f32_{by}") for by in ("chosen", "generated")}
    chosen, generated = times_of(logs["chosen"]), times_of(logs["generated"])
    run.say(part, "| product | generated, us | estimated | as chosen, us | estimated, library | chosen |", "| --- | --- | --- | --- | --- | --- |")
    ratios = []
    for name, who, ours, library in re.findall(r"^model of (\w+): (.*); estimated: generated ([\d.]+) us, a call of the library ([\d.]+) us", logs["chosen"], re.M):
        if name in generated and name in chosen:
            ratios.append(1e6 * generated[name][0] / float(ours))
            run.say(part, f"| {name} | {1e6 * generated[name][0]:.1f} | {ours} | {1e6 * chosen[name][0]:.1f} | {library} | {who} |")
    if ratios:
        run.say(part, "", f"Measured over estimated, generated: median {statistics.median(ratios):.2f}, least {min(ratios):.2f}, most {max(ratios):.2f}.")


# (name, limit in seconds or 0: to the end, function)
PARTS = {
    "first": (450, [("facts", 15, facts), ("smoke", 60, smoke), ("runtime", 40, runtime), ("bench", 90, bench), ("steps", 50, steps), ("counters", 60, counters),
                    ("sanitizers", 80, sanitize(["memcheck", "racecheck"])), ("golden", 60, golden), ("cuda", 45, cuda), ("slices", 0, slices)]),
    "second": (220, [("facts", 15, facts), ("again", 50, again), ("compiled", 50, compiled), ("tiles", 35, tiles), ("sanitizers", 45, sanitize(["initcheck", "synccheck"])),
                     ("slices", 0, slices)]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", choices=PARTS)
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--jobs", type=int, default=max(2, min(12, (os.cpu_count() or 4) - 4)))
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--most", type=int)
    parser.add_argument("--simulate")
    parser.add_argument("--work", default=HERE / ".gpu")
    parser.add_argument("--bundle", default=HERE / ".gpu/bundle.tar.xz")
    parser.add_argument("--rows", default=HERE / ".gpu/rows.json")
    options = parser.parse_args()
    seconds, parts = PARTS[options.run]
    options.seconds = options.seconds or seconds
    failed = Run(options, parts).go(parts)
    sys.stdout.write((pathlib.Path(options.out) / "summary.md").read_text()[:6000])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
