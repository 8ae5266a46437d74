#!/usr/bin/env python3
"""Mutants of what orders work on a CUDA device: one event, barrier or wait is left out at a time, and a test on the simulated GPU
must fail (docs/cuda.md, How it is tested without a GPU).

  scripts/check/check_device_mutants.py [--list] [--only TEXT] [--seeds N]

All mutants are built at once, in a copy of the sources in build/mutants: each piece of code that is left out stands in an `if` there,
and TENON_MUTANT in the environment has the number of the one that is. Ends with 1 if one survives."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "build" / "mutants"  # a copy of the tree
BUILD = SOURCE / "build" / "release"
TARGETS = ["cuda_sim", "test_codegen", "test_cuda", "test_device"]
LONGEST = 300  # seconds of one test; a mutant that hangs is found

# Tests: a program, its cases, what else is in the environment.
CUDA = {"TENON_TEST_DEVICE": "cuda"}  # else test_device runs on a device of its own, whose work is late
RACES = {"TENON_SIM_RACES": "1", "TENON_CUDA_CACHE": "0"}  # the simulator names accesses that nothing orders
TWO = {"TENON_SIM_DEVICES": "2"}
TESTS = {
    "staging": ("test_cuda", "staging*", {}),
    "frontend": ("test_cuda", "cuda:*", {}),
    "index": ("test_cuda", "index:*", {}),
    "capture": ("test_cuda", "capture:*", {}),
    "faults": ("test_cuda", "faults:*", {}),
    "races": ("test_cuda", "staging*,capture:*,index:*", RACES),
    "order": ("test_cuda", "order:*", TWO),
    "fuzz": ("test_device", "fuzz*", CUDA),
    "late": ("test_device", "no order of streams*,memory*", {}),
    "failures": ("test_device", "what fails after*,a failure is found*,an input whose*,memory whose*,the host gets*,who finds*", {}),
    "names": ("test_device", "cuda:*", {}),
    "golden": ("test_device", "golden: op*", CUDA),
    "turns": ("test_codegen", "launches in turn*", {}),
}
RUNTIME = ["order", "staging", "index", "late", "failures", "names", "frontend", "capture", "races", "fuzz", "faults"]

# File, text with the part that is left out in «», what stands in its place, the tests that find it soonest.
LEFT_OUT = [
    ("runtime/device/device.cpp", "«device.wait(later, device.record(earlier));»", "", "late"),
    ("runtime/device/device.cpp", "if (from_device.host_accesses_memory()) { «order(to_device, Stream::Main, Stream::Transfer);»", "", "late"),
    ("runtime/device/device.cpp", "«return order(to_device, Stream::Transfer, Stream::Main);»", "return;", "late"),
    ("runtime/device/device.cpp", "if («!owner» || ", "false", "order"),
    ("runtime/device/device.cpp", "«order(from_device, Stream::Main, Stream::Transfer);» if (to_device.host_accesses_memory())", "", "late"),
    ("runtime/device/device.cpp", "«for (Device* device : all_devices()) device->throw_failure();»", "", "failures"),
    ("runtime/device/device.cpp", "«to_device.wait(Stream::Transfer, from_device.record(Stream::Main));»", "", "order"),
    ("runtime/device/device.cpp", "from_device.record(Stream::Main)); «order(to_device, Stream::Main, Stream::Transfer);»", "", "order"),
    ("runtime/device/device.cpp", "bytes, Stream::Transfer)) { «order(to_device, Stream::Transfer, Stream::Main);»", "", "order"),
    ("runtime/device/device.cpp", "«return from_device.wait(Stream::Main, to_device.record(Stream::Transfer));»", "return;", "order"),
    ("runtime/run/async_work.cpp", "submitted_.push_back({number, &device, «device.record(Stream::Main)», from_host});", "Event{}", "failures"),
    ("runtime/run/async_work.cpp", "return «!h.device->is_past(h.event)»;", "false", "failures"),
    ("runtime/run/async_work.cpp", "«for_each_async_device([](Device& device) { device.throw_failure(); });»", "", "failures"),
    ("runtime/run/async_work.cpp", "try { «device.synchronise();»", "", "index"),
    ("runtime/run/async_work.cpp", "«work.end(number, to.device(), from_host);»", "", "failures"),
    ("runtime/run/async_work.cpp", "work.end(number, to.device(), «from_host»);", "false", "index"),
    ("runtime/run/async_work.cpp", "«for_each_async_device([](Device& device) { device.synchronise(); });»", "", "failures"),
    ("runtime/run/evaluate.cpp", "«synchronise();» // inputs of what is not done", "", "failures"),
    ("runtime/run/run.cpp", "«late.end(number_, *arena.device);»", "", "failures"),
    ("runtime/cuda/cuda_device.cpp", '«check(api().event_record(event->event, of(stream)), "cuEventRecord");»', "", "fuzz"),
    ("runtime/cuda/cuda_device.cpp", '«check(api().stream_wait(of(stream), raw(event), 0), "cuStreamWaitEvent");»', "", "fuzz"),
    ("runtime/cuda/cuda_device.cpp", '«context_.check_wait(api().event_synchronize(raw(event)), "cuEventSynchronize");»', "", "frontend"),
    ("runtime/cuda/cuda_device.cpp",
     '«for (CUstream stream : streams_) context_.check_wait(api().stream_synchronize(stream), "cuStreamSynchronize");»', "", "frontend"),
    ("runtime/cuda/cuda_device.cpp", "read_later_.forget_past(api()); «notes_.look();»", "", "index"),
    ("runtime/cuda/cuda_device.cpp", "void throw_failure() override { «notes_.look();»", "", "index"),
    ("runtime/cuda/cuda_device.cpp", "if (result == kErrorNotReady) return «false»;", "true", "index"),
    ("runtime/cuda/cuda_device.cpp", '«check(api().event_record(event->event, of(Stream::Main)), "cuEventRecord");»', "", "frontend"),
    ("runtime/cuda/cuda_device.cpp", '«if (pinned) context_.check_wait(api().stream_synchronize(of(stream)), "cuStreamSynchronize");»', "", "order"),
    ("runtime/cuda/cuda_device.cpp", "CUresult result = «api().event_record(event->event, of(stream))»;", "kSuccess", "staging"),
    ("runtime/cuda/cuda_device.cpp", "«api().stream_synchronize(of(stream));» // nothing else tells", "", "order"),
    ("runtime/cuda/cuda_device.cpp", "«read_later_.keep(std::move(event), owner);»", "", "staging"),
    ("runtime/cuda/cuda_device.cpp", "«api.event_query(entries_.front().event->event) == kSuccess»", "true", "staging"),
    ("runtime/cuda/cuda_device.cpp", '"cuMemcpyDtoHAsync"); «context_.check_wait(api().stream_synchronize(of(stream)), "cuStreamSynchronize");»', "", "order"),
    ("runtime/cuda/cuda_device.cpp", "«notes_.look();» } void copy(", "", "order"),
    ("runtime/cuda/cuda_device.cpp", "«for (CUstream stream : streams) context.api().stream_synchronize(stream);»", "", "order"),
    ("runtime/cuda/cuda_device.cpp", "«submit_held();» const std::vector<ir::KernelBuffer>& buffers", "", "order"),
    ("runtime/cuda/recording.cpp", "graph_add_kernel(&node, graph, before.data(), «before.size()», &params)", "0", "capture"),
    ("runtime/cuda/recording.cpp", "graph_add_child(&node, graph, before.data(), «before.size()», child)", "0", "order"),
    ("runtime/cuda/staging.cpp", "CUresult result = «context_.api().event_record(event, stream)»;", "kSuccess", "staging"),
    ("runtime/cuda/staging.cpp", "«context_.api().stream_synchronize(stream);» // nothing else tells", "", "order"),
    ("runtime/cuda/staging.cpp", "while («end_ + size - begin_ > kBytes» || ", "false", "staging"),
    ("runtime/cuda/staging.cpp", "«context_.api().event_query(pieces_.front().event) == kSuccess»", "true", "staging"),
    ("runtime/cuda/staging.cpp", '«context_.check(context_.api().event_synchronize(pieces_.front().event), "cuEventSynchronize");»', "", "staging"),
    ("runtime/cuda/staging.cpp", "forget_past(); «if (!pieces_.empty()) return;»", "", "order"),
    ("runtime/cuda/cuda.cpp", "!event_ || «device(index_).is_past(event_)»;", "true", "order"),
    ("runtime/cuda/cuda.cpp", "«if (event_) device(index_).synchronise(event_);»", "", "frontend"),
    ("frontend/src/tensor/cuda.cpp", "with_public_errors([] { «runtime::synchronise();» });", "", "index"),
    ("frontend/src/tensor/cuda.cpp", "return «device.is_past(device.record(runtime::Stream::Main))»", "true", "names"),
    ("frontend/src/tensor/cuda.cpp", "CUDAStream::synchronize() const { «cuda::synchronize(device_);»", "", "names"),
    ("frontend/src/tensor/cuda.cpp", "«state_->event.record(device_);»", "", "frontend"),
    ("frontend/src/tensor/cuda.cpp", "stream.device_index() != device_) «synchronize();»", "", "order"),
    ("frontend/src/tensor/cuda.cpp", "«if (state_) with_public_errors([&] { state_->event.synchronize(); });»", "", "frontend"),
    ("frontend/src/tensor/capture.cpp", "«compute_inputs();» for (const Input", "", "capture"),
    ("frontend/src/tensor/capture.cpp", "«if (!roots.empty()) evaluate_nodes(roots);»", "", "capture"),
    ("passes/schedule/join_launches.cpp", "if (depends && !waited) «body.push_back({.kind = StmtKind::Barrier});»", "", "turns"),
    ("passes/schedule/join_launches.cpp", "if (waited) «loop.body.push_back({.kind = StmtKind::Barrier});»", "", "turns"),
]

# Barriers are looked for in the schedules; which tests of test_codegen look at a schedule's kernels.
SCHEDULES = {
    "attention_of_threads.cpp": "attention:*",
    "attention_of_warps.cpp": "attention: halves*",
    "call_sort.cpp": "cuda calls: sorted*,cuda calls: the first few*",
    "call.cpp": "cuda calls: what a mask*",
    "columns.cpp": "cuda: every reduction*,cuda: several inner*",
    "contraction.cpp": "cuda: products*",
    "pointwise.cpp": "cuda: the tiles of a transpose*",
    "ring.cpp": "cuda: products of halves*,attention: halves*",
    "rows.cpp": "cuda: rows of every*,cuda: every reduction*",
    "rows_in_block.cpp": "cuda: rows of every*,cuda: what a block*",
    "scan_groups.cpp": "cuda: scans*,cuda: few long lines*",
    "scan_tiles.cpp": "cuda: scans*,cuda: few long lines*",
}
ALL_KERNELS = "cuda*,attention:*"
NEEDS_A_COMPILER = "*NVRTC*,*C compiler*"  # not looked at: the same kernels again


class Mutant(NamedTuple):
    file: str
    begin: int  # of the code that is left out
    end: int
    instead: str
    tests: list  # the one that finds it soonest comes first

    def line(self):
        return (ROOT / self.file).read_text().count("\n", 0, self.begin) + 1

    def name(self):
        code = (ROOT / self.file).read_text()[self.begin : self.end]
        return f"{self.file}:{self.line()} {' '.join(code.split())}" + (f" -> {self.instead}" if self.instead else "")


def left_out(file, marked, instead, first):
    """The mutant of a row of the table. White space in the row stands for any."""
    parts = [r"\s*".join(re.escape(word) for word in part.split()) for part in re.split("[«»]", marked)]
    pattern = r"{}\s*({})\s*{}".format(*parts)
    found = list(re.finditer(pattern, (ROOT / file).read_text()))
    if len(found) != 1:
        sys.exit(f"{file} has {len(found)} times, not once: {marked}")
    tests = [TESTS[name] for name in [first, *(name for name in RUNTIME if name != first)]]
    return Mutant(file, *found[0].span(1), instead, tests)


def barriers():
    for path in sorted((ROOT / "passes/schedule/gpu").glob("*.cpp")):
        cases = [SCHEDULES[path.name]] if path.name in SCHEDULES else []
        tests = [("test_codegen", names, {}) for names in [*cases, ALL_KERNELS]] + [TESTS["golden"]]
        for match in re.finditer(r"[\w.]+\.(barrier|wait)\([^;]*\);", path.read_text()):
            yield Mutant(str(path.relative_to(ROOT)), *match.span(), "", tests)


def with_mutants(file, numbered):
    """The text of a file with its mutants, last first, so that places stay."""
    text = (ROOT / file).read_text()
    for number, mutant in sorted(numbered, key=lambda n: -n[1].begin):
        code = text[mutant.begin : mutant.end]
        if code.endswith(";"):
            code = f"{{ if (is_mutant({number})) {{ {mutant.instead} }} else {{ {code} }} }}"
        else:
            code = f"(is_mutant({number}) ? ({mutant.instead}) : ({code}))"
        text = text[: mutant.begin] + code + text[mutant.end :]
    return '#include "mutant.h"\n' + text


HEADER = """#pragma once
#include <cstdlib>
inline bool is_mutant(int number) {
  static const char* const chosen = std::getenv("TENON_MUTANT");
  return chosen && std::atoi(chosen) == number;
}
"""


def write(path, content, mode=None):
    """A file that does not change keeps its time, and is not built again."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if mode is not None:
        path.chmod(mode)


def build(mutants):
    of_file = {}
    for number, mutant in enumerate(mutants, 1):
        of_file.setdefault(mutant.file, []).append((number, mutant))
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        if not (ROOT / name).is_file():
            continue
        content = with_mutants(name, of_file[name]).encode() if name in of_file else (ROOT / name).read_bytes()
        write(SOURCE / name, content, (ROOT / name).stat().st_mode)
    write(SOURCE / "mutant.h", HEADER.encode())
    subprocess.run(["cmake", "--preset", "release"], cwd=SOURCE, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", *TARGETS], check=True, stdout=subprocess.DEVNULL)


def environment(mutant, seed, cache):
    library = {name: str(BUILD / "bin" / f"libtenon_sim_{name}.so") for name in ("cuda", "nvrtc", "cublas")}
    others = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
    return {**others, "TENON_CUDA_DRIVER": library["cuda"], "TENON_NVRTC": library["nvrtc"], "TENON_CUBLAS": library["cublas"],
            "TENON_MUTANT": str(mutant), "TENON_SIM_SEED": str(seed), "TENON_FUZZ_SEED": str(seed), "TENON_FUZZ_COUNT": "20",
            "XDG_CACHE_HOME": cache}


def killer(number, tests, seeds):
    """The first test that fails, or None."""
    with tempfile.TemporaryDirectory() as cache:  # kernels of another mutant must not be found
        for seed in range(1, seeds + 1):
            for program, cases, settings in tests:
                command = [BUILD / "bin" / program, f"-tc={cases}", f"-tce={NEEDS_A_COMPILER}", "--abort-after=1"]
                try:
                    ended = subprocess.run(command, env={**environment(number, seed, cache), **settings}, capture_output=True,
                                           text=True, errors="replace", timeout=LONGEST)
                except subprocess.TimeoutExpired:
                    return f"{program} {cases}: hangs"
                if ended.returncode != 0:
                    case = re.search(r"TEST CASE: +(.*)", ended.stdout)
                    return f"{program} {case.group(1) if case else cases}" + (f", seed {seed}" if seed > 1 else "")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the mutants, run nothing")
    parser.add_argument("--only", default="", help="mutants whose name has this text")
    parser.add_argument("--seeds", type=int, default=3, help="how many orders of streams and threads a test may try")
    options = parser.parse_args()
    mutants = [left_out(*row) for row in LEFT_OUT] + list(barriers())
    chosen = [(number, mutant) for number, mutant in enumerate(mutants, 1) if options.only in mutant.name()]
    if options.list:
        print("\n".join(mutant.name() for _, mutant in chosen))
        return 0
    build(mutants)
    if failed := killer(0, list(TESTS.values()) + [("test_codegen", ALL_KERNELS, {})], 1):
        sys.exit(f"without a mutant a test fails: {failed}")
    survivors = 0
    for number, mutant in chosen:
        begin = time.monotonic()
        by = killer(number, mutant.tests, options.seeds)
        survivors += by is None
        print(f"{'killed' if by else 'SURVIVED':8} {mutant.name()}: {by} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
