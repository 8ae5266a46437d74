#!/usr/bin/env python3
"""The run for a machine with a GPU, tried on the simulated one: a bundle is packed, the first and the second run are made with it, and the
first is killed at random moments.

Usage: check_gpu_run.py BIN [--kills N] [--seed N] [--most N] [--seconds N] [--work FOLDER] [--library FILE]

Held to: with the bundle nothing is compiled; whenever a run is killed, its summary names each part, has what every part that ended had
found, and its files are whole and few; no process outlives it. --work names a folder with a bundle that is there, which is then
taken; --library none packs no machine code."""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import gpu_rows
import gpu_run

HERE = gpu_run.HERE


def command(options, work, run, out, *more):
    bundle = next(work.glob("bundle.tar*"))
    return [sys.executable, HERE / "scripts/gpu/gpu_run.py", run, out, "--work", work, "--bundle", bundle, "--rows", work / "rows.json",
            "--simulate", options.bin, "--jobs", "4", *(["--only", options.only] if options.only else []), *(["--most", str(options.most)] if options.most else []), *map(str, more)]


# Stand-ins of NVIDIA's tools: each runs the program behind its options, which ends with it; ncu then prints its table, of two kernels.
SANITIZER = """#!/usr/bin/env bash
while [ ! -x "$1" ]; do shift; done
exec "$@"
"""
NCU = """#!/usr/bin/env bash
while [ ! -x "$1" ]; do [ "$1" = --metrics ] && metrics=$2; shift; done
setpriv --pdeathsig KILL "$@" || exit $?
echo "==PROF== Disconnected"
row() { printf '"%s","1","program","host","%s"' "$1" "$2"; for metric in ${metrics//,/ }; do printf ',"%s"' "${3:-$metric}"; done; echo; }
row ID "Kernel Name"; row "" "" unit; row 0 tenon_small 1,000; row 1 tenon_large 20,000.5
"""


def tools(folder):
    """The environment in which they are found."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("compute-sanitizer", SANITIZER), ("ncu", NCU)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")


def check(condition, what):
    if not condition:
        raise SystemExit(f"wrong: {what}")


def whole(options, work, run, out):
    """A run to its end."""
    begin = time.monotonic()
    done = subprocess.run(command(options, work, run, out, "--seconds", options.seconds), stdout=subprocess.PIPE, text=True, env=options.environment)
    content = json.loads((out / "rows.json").read_text())
    print(f"{run}: {content['state']} after {content['seconds']} s; " + ", ".join(f"{part['name']} {part['seconds']}" for part in content["parts"]))
    for part in content["parts"]:
        for row in part["rows"]:
            check(row["state"] in ("ok", "missing", "no end"), f"{run}, {part['name']}, {row['name']}: {row['state']}: {row['text']}")
        packed = part["name"] in ("facts", "smoke", "runtime", "bench", "again", "tiles") if options.most else part["name"] != "slices"
        # Where the tests of faults have loads fail, kernels of the bundle are compiled again.
        for compiled, again in re.findall(r"Kernels compiled by NVRTC so far: (\d+), (\d+) of them", "\n".join(part["text"])):
            check(not packed or compiled == again, f"{run}, {part['name']}: {compiled} kernels were compiled, {again} of them again")
    check(content["state"] == "ended" and done.returncode == (gpu_rows_failed(content) > 0), f"{run}: status {done.returncode}\n{done.stdout}")
    counted = [part for part in content["parts"] if part["name"] == "counters" and part["state"] == "done"]
    check(not counted or "| tenon_large | 20,000.5 |" in "\n".join(counted[0]["text"]), "no counters of the slowest kernel")
    check_files(out)
    return time.monotonic() - begin


def gpu_rows_failed(content):
    return sum(row["state"] not in ("ok", "missing") for part in content["parts"] for row in part["rows"])


def check_files(out):
    files = [path for path in out.rglob("*") if path.is_file()]
    check(len(files) <= 8 and all(path.stat().st_size <= 16 << 20 and path.parent == out for path in files), f"too much to bring back: {files}")


def killed(options, work, out, after):
    """A run that is killed after so many seconds; what it had said by then must be in its files."""
    shutil.rmtree(out, ignore_errors=True)
    process = subprocess.Popen(command(options, work, "first", out, "--seconds", 600), stdout=subprocess.PIPE, text=True, process_group=0,
                               env=options.environment)
    time.sleep(after)
    over = process.poll() is not None
    process.send_signal(signal.SIGKILL)
    said = process.communicate()[0]
    if not (out / "summary.md").exists():
        check(after < 1.5, f"killed after {after:.1f} s: no summary")
        return "before its begin"
    summary, content = (out / "summary.md").read_text(), json.loads((out / "rows.json").read_text())
    check([part["name"] for part in content["parts"]] == [name for name, _, _ in gpu_run.PARTS["first"][1]], "a part is not in rows.json")
    for part in content["parts"]:
        check(f"\n| {part['name']} | " in summary, f"{part['name']} is not in the summary")
    for name, state, right in re.findall(r"^(\w+): ([^,]+), [\d.]+ s, (\d+) right", said, re.M):
        lines = re.findall(rf"^\| {name} \| ([^|]+) \| (\d+) \|", summary, re.M)
        check(lines == [(state, right)] or (lines and lines[0][0] == "running"), f"killed after {after:.1f} s: {name} ended with {state}, {right}; the summary has {lines}")
    in_summary = sum(int(right) + int(wrong) for right, wrong in re.findall(r"^\| \w+ \| [^|]+ \| (\d+) \| (\d+) \| \d", summary, re.M))
    known = sum(row["state"] != "missing" for part in content["parts"] for row in part["rows"])  # rows.json is written first
    check(in_summary <= known and (in_summary == known or content["seconds"] - seconds_of(summary) < 5), f"{in_summary} rows in the summary, {known} known")
    if (out / "logs.tgz").exists():
        with tarfile.open(out / "logs.tgz") as tar:
            check(len(tar.getnames()) > 0, "an empty archive")
    check_files(out)
    for _ in range(50):
        alive = processes_of(work)
        if not alive:
            break
        time.sleep(0.02)
    check(not alive, f"processes outlive the run: {alive}")
    running = [part["name"] for part in content["parts"] if part["state"] == "running"]
    return "after its end" if over else f"in {running[0]}" if running else "between parts"


def seconds_of(summary):
    return float(re.search(r"after (\d+) s;", summary)[1])


def processes_of(work):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if words and words[0].startswith(os.fsencode(work / "here")):
            found.append(b" ".join(words).decode())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, help="rows of a part")
    parser.add_argument("--seconds", type=int, default=450)
    parser.add_argument("--only", help="these parts")
    parser.add_argument("--work")
    parser.add_argument("--library")
    options = parser.parse_args()
    options.bin = pathlib.Path(options.bin).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(options.work).resolve() if options.work else pathlib.Path(temporary) / "work"
        out = pathlib.Path(temporary) / "out"
        options.environment = tools(pathlib.Path(temporary) / "tools")
        if not options.work:
            few = ["--most", str(options.most), "--plain"] if options.most else []
            library = ["--library", options.library] if options.library else []
            packed = subprocess.run([sys.executable, HERE / "scripts/gpu/gpu_pack.py", options.bin, "--work", work, *few, *library], stdout=subprocess.PIPE, text=True)
            check(packed.returncode == 0, f"the bundle\n{packed.stdout}")
            print(packed.stdout.strip().splitlines()[-1])
            check("State: ended" in (work / "summary.md").read_text(), "the summary of the packing does not say that it has ended")
        took = whole(options, work, "first", out / "first")
        shutil.copy(out / "first/rows.json", work / "rows.json")
        whole(options, work, "second", out / "second")
        numbers = random.Random(options.seed)
        for kill in range(options.kills):
            after = numbers.uniform(0.1, min(took, 40))
            print(f"kill {kill + 1} after {after:.1f} s: {killed(options, work, out / 'killed', after)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
