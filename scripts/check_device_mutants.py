#!/usr/bin/env python3
"""Mutants of what orders work on a CUDA device: one event, barrier, edge or wait is removed at a time, and some test on the
simulated GPU must fail.

  scripts/check_device_mutants.py [--list] [--only TEXT] [--seeds N]

Works on a copy of the committed and changed sources in build/mutants, about half a minute a mutant. Ends with 1 if one survives.
Each mutant is a line of a table: file, the text that is there (exactly once), what stands in its place."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "build" / "mutants"   # a copy of the tree
BUILD = SOURCE / "build" / "release"

ORDER = "order({}, Stream::{}, Stream::{});"
RUNTIME = [
    ("runtime/device.cpp", "device.wait(later, device.record(earlier));", ""),
    ("runtime/device.cpp", "    " + ORDER.format("to_device", "Main", "Transfer") + "\n    to_device.copy_from_host",
     "    to_device.copy_from_host"),
    ("runtime/device.cpp", "return " + ORDER.format("to_device", "Transfer", "Main") + "\n  }\n  order(from", "return;\n  }\n  order(from"),
    ("runtime/device.cpp", "  " + ORDER.format("from_device", "Main", "Transfer") + "\n  if (to_device.is_host())",
     "  if (to_device.is_host())"),
    ("runtime/device.cpp", "to_device.wait(Stream::Transfer, from_device.record(Stream::Main));", ""),
    ("runtime/device.cpp", "      " + ORDER.format("to_device", "Transfer", "Main") + "\n      return from", "      return from"),
    ("runtime/device.cpp", "return from_device.wait(Stream::Main, to_device.record(Stream::Transfer));", "return;"),
    ("runtime/cuda/cuda_device.cpp", 'check(api().event_record(event->event, of(stream)), "cuEventRecord");', ""),
    ("runtime/cuda/cuda_device.cpp", 'check(api().stream_wait(of(stream), raw(event), 0), "cuStreamWaitEvent");', ""),
    ("runtime/cuda/cuda_device.cpp", 'check(api().event_synchronize(raw(event)), "cuEventSynchronize");', ""),
    ("runtime/cuda/cuda_device.cpp",
     'for (CUstream stream : streams_) check(api().stream_synchronize(stream), "cuStreamSynchronize");', ""),
    ("runtime/cuda/cuda_device.cpp", "if (result == kErrorNotReady) return false;", "if (result == kErrorNotReady) return true;"),
    ("runtime/cuda/cuda_device.cpp", 'if (is_pinned(from)) check(api().stream_synchronize(of(stream)), "cuStreamSynchronize");', ""),
    ("runtime/cuda/cuda_device.cpp",
     '"cuMemcpyDtoHAsync");\n    check(api().stream_synchronize(of(stream)), "cuStreamSynchronize");', '"cuMemcpyDtoHAsync");'),
    ("runtime/cuda/cuda_device.cpp", "for (CUstream stream : streams) context.api().stream_synchronize(stream);\n    context.api().module",
     "context.api().module"),
    ("runtime/cuda/recording.cpp", "const size_t count = before ? 1 : 0;", "const size_t count = 0;"),
    ("runtime/late_work.cpp", "if (!device.is_host()) handed_.push_back({number, &device, device.record(Stream::Main)});",
     "if (!device.is_host()) handed_.push_back({number, &device, Event{}});"),
]

# One program after another, those that find something soonest first; with RACES the simulator names accesses that nothing orders.
RACES = {"TENON_SIM_RACES": "1", "TENON_CUDA_CACHE": "0"}
OF_RUNTIME = [
    ("test_cuda", [], {}),
    ("test_device", ["-tc=fuzz*,golden: view*"], {}),
    ("test_device", ["-tc=fuzz*"], RACES),
    ("alias_fuzz", ["150", "{seed}"], {}),
    ("test_gradients", ["-tc=tape*"], {}),
]
OF_SCHEDULES = [
    ("test_codegen", ["-tc=cuda*", "-tce=*NVRTC*,*C compiler*"], {}),
    ("test_device", ["-tc=fuzz*,golden: op*"], {}),
    ("schedule_fuzz", ["100", "{seed}"], {}),
]


def barriers():
    """A mutant for each barrier that a schedule emits."""
    found = []
    for path in sorted((ROOT / "passes/schedule/gpu").glob("*.cpp")):
        text = path.read_text()
        for match in re.finditer(r"^ *\S*\bbarrier\(\);\n", text, re.M):
            line = text[: match.start()].count("\n") + 1
            found.append((str(path.relative_to(ROOT)), line, text[: match.start()] + "\n" + text[match.end() :]))
    return found


def mutants():
    """(name, file, mutated text) each."""
    made = []
    for file, old, new in RUNTIME:
        text = (ROOT / file).read_text()
        if text.count(old) != 1:
            sys.exit(f"{file} has {text.count(old)} times, not once: {old}")
        line = text[: text.index(old)].count("\n") + 1
        made.append((f"{file}:{line} {' '.join(old.split())[:90]}", file, text.replace(old, new)))
    made += [(f"{file}:{line} barrier", file, text) for file, line, text in barriers()]
    return made


def copy_sources():
    """Tracked and new files; a file that did not change keeps its time, so that it is not built again."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        if (ROOT / name).is_file():
            write(SOURCE / name, (ROOT / name).read_bytes(), (ROOT / name).stat().st_mode)


def write(path, content, mode=None):
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if mode is not None:
        path.chmod(mode)


def build():
    targets = sorted({program for program, _, _ in OF_RUNTIME + OF_SCHEDULES} | {"cuda_sim"})
    return subprocess.run(["cmake", "--build", BUILD, "--target", *targets], capture_output=True, text=True)


def environment(seed, cache):
    library = {name: str(BUILD / "bin" / f"libtenon_sim_{name}.so") for name in ("cuda", "nvrtc", "cublas")}
    return {**os.environ, "TENON_CUDA_DRIVER": library["cuda"], "TENON_NVRTC": library["nvrtc"], "TENON_CUBLAS": library["cublas"],
            "TENON_TEST_DEVICE": "cuda", "TENON_FUZZ_COUNT": "30", "TENON_FUZZ_SEED": str(seed), "TENON_SIM_SEED": str(seed),
            "TENON_CUDA_POISON": "1", "XDG_CACHE_HOME": cache}


def killer(programs, seeds):
    """The first test that fails, or None."""
    with tempfile.TemporaryDirectory() as cache:  # kernels of another mutant must not be found
        for seed in range(1, seeds + 1):
            for program, arguments, settings in programs:
                command = [BUILD / "bin" / program, *(a.format(seed=seed) for a in arguments)]
                text = f"{program} {' '.join(command[1:])}, seed {seed}{', races' if settings else ''}"
                try:
                    ended = subprocess.run(command, env={**environment(seed, cache), **settings}, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, timeout=300)
                except subprocess.TimeoutExpired:
                    return f"{text}: hangs"
                if ended.returncode != 0:
                    return text
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the mutants, run nothing")
    parser.add_argument("--only", default="", help="mutants whose name has this text")
    parser.add_argument("--seeds", type=int, default=3, help="how many orders of streams and threads a test may try")
    options = parser.parse_args()
    chosen = [m for m in mutants() if options.only in m[0]]
    if options.list:
        print("\n".join(name for name, _, _ in chosen))
        return 0
    copy_sources()
    subprocess.run(["cmake", "--preset", "release"], cwd=SOURCE, check=True, stdout=subprocess.DEVNULL)
    built = build()
    if built.returncode != 0:
        sys.exit(built.stdout[-3000:])
    if failed := killer(OF_RUNTIME + OF_SCHEDULES, 1):
        sys.exit(f"without any change a test fails: {failed}")
    survivors = 0
    for number, (name, file, text) in enumerate(chosen, 1):
        begin = time.monotonic()
        original = (SOURCE / file).read_bytes()
        write(SOURCE / file, text.encode())
        built = build()
        result = killer(OF_SCHEDULES if file.startswith("passes/") else OF_RUNTIME, options.seeds) if built.returncode == 0 else "does not compile"
        write(SOURCE / file, original)
        survivors += result is None or built.returncode != 0
        print(f"{number:3}/{len(chosen)} {'SURVIVED' if result is None else 'killed':8} {name}: {result} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
