#!/usr/bin/env python3
"""Packs the bundle that scripts/gpu_test.sh takes to a machine with a GPU: programs, data, and a disk cache with the kernels of all rows.

    gpu_pack.py BIN [--work FOLDER] [--slices N] [--most N] [--library FILE]

BIN is the folder of a release build. All rows run here on the simulated GPU; then gpu_cubins.py makes machine code of what they left. What
schedules ask of a GPU is asked for an H100 and for an H200, so that the cache serves both. Sizes that take the simulator long are
not computed (TENON_SIM_IDLE), only compiled. FOLDER (.gpu) gets bundle.tar.xz, and texts/ for trying the bundle on the simulator. Ends with 1
if a row is not right here, or NVRTC refuses or spills a kernel."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

import gpu_rows
import gpu_run

HERE = gpu_run.HERE
PROGRAMS = ["gpu_smoke", "gpu_facts", "bench_gpu", "test_device", "test_cuda", "alias_fuzz", "test_gradients"]
CARDS = ["H100", "H200"]


class Pack:
    """What gpu_run's lists of rows ask for, and the machine that runs them."""

    def __init__(self, options):
        self.options, self.work = options, pathlib.Path(options.work).resolve()
        self.stage, self.simulated, gpu = self.work / "stage", self.work / "simulated", self.work / "simulator"
        for folder in (self.stage, self.simulated, gpu, self.work / "texts", self.work / "here"):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.stage / "bin", self.simulated, gpu):
            folder.mkdir(parents=True, mode=0o700)
        self.bin, built = self.stage / "bin", pathlib.Path(options.bin).resolve()
        for program in [*PROGRAMS, *[path.name for path in built.glob("libtenon.so.?")]]:
            shutil.copy(built / program, self.bin)
            subprocess.run(["strip", self.bin / program], stderr=subprocess.DEVNULL)  # keeps the build's id, which is in each key
        for path in built.glob("libtenon_sim_*.so"):
            shutil.copy(path, gpu)
        self.environment = dict(os.environ, TENON_TEST_DEVICE="cuda", TENON_TEST_DATA=str(HERE / "tests/data"), XDG_CACHE_HOME=str(self.simulated),
                                TENON_CUDA_DRIVER=f"{gpu}/libtenon_sim_cuda.so", TENON_NVRTC=f"{gpu}/libtenon_sim_nvrtc.so",
                                TENON_CUBLAS=f"{gpu}/libtenon_sim_cublas.so")
        self.facts = {"slices": options.slices}
        parts = ["right here", *[f"{part}, {card}" for card in CARDS for part in ("smoke", "bench")], "tests"]
        self.report = gpu_rows.Report(self.work, "pack", [(part, 0) for part in parts])
        self.machine = gpu_rows.Machine(self.report, 24 * 3600, os.cpu_count() or 2, self.environment, self.work / "logs_pack")
        self.rows_of_smoke = self.list_of([self.bin / "gpu_smoke", "list"])

    def list_of(self, command):
        return subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self.environment).stdout.split("\n")[:-1]

    def rows(self, part, commands):
        begin = time.monotonic()
        self.report.part(part)["state"] = "running"
        done = self.machine.rows(part, commands, 600)
        self.report.part(part).update(state="done", seconds=round(time.monotonic() - begin, 1))
        self.report.save()
        print(f"{part}: {len(done)} rows, {time.monotonic() - begin:.0f} s", flush=True)
        return done

    def simulate(self):
        """All rows; those that were not right."""
        smoke = [name for of_runtime in (False, True) for name in gpu_run.smoke_rows(self, of_runtime)[: self.options.most]]
        small = {"TENON_SMOKE_SMALL": "1"}
        done = self.rows("right here", [("facts", [self.bin / "gpu_facts"], small), *[(name, [self.bin / "gpu_smoke", "run", name], small) for name in smoke]])
        for card in CARDS:
            idle = {"TENON_SIM_CARD": card, "TENON_SIM_IDLE": "1", "TENON_SIM_MEMORY_MB": "80000"}
            self.rows(f"smoke, {card}", [(name, [self.bin / "gpu_smoke", "compile", name], idle) for name in smoke])
            self.rows(f"bench, {card}", self.bench_rows(idle))
        if not self.options.most:  # on an H200 their kernels are the same: only the tiles of large products are others
            done += self.rows("tests", self.tests())
        return [row for row in done if row["state"] not in ("ok", "missing")]

    def without_rows(self):
        """Schedules that generate code for a GPU, and that no row of smoke ran."""
        table = (HERE / "passes/schedule/schedule.cpp").read_text()
        wanted = {*re.findall(r'\{"([\w ]+)", kGpu', table)} - {"indexed", "recurrence", "product"}  # routines
        fields = [row["text"].split(" | ") for row in self.report.part("right here")["rows"]]
        return [] if self.options.most else sorted(wanted - {name for field in fields if len(field) > 1 for name in field[1].split(", ")})

    def bench_rows(self, idle):
        names = gpu_run.STEPS[: self.options.most] + gpu_run.bench_names(self)[: self.options.most]
        # As long as there: after some hundred steps an optimiser has factors of 1, and other kernels.
        return [(name, [self.bin / "bench_gpu", name], idle) for name in names] + gpu_run.product_rows(self, idle)

    def tests(self):
        some = gpu_run.slices_from(self, 0)
        return [*gpu_run.golden_rows(self), *gpu_run.cuda_rows(self), *[next(some) for _ in range(3 * self.options.slices)]]

    def targets(self):
        """The numbers of each card, as gpu_facts prints them there."""
        found = []
        for card in CARDS:
            answer = subprocess.run([self.bin / "gpu_facts"], capture_output=True, text=True,
                                    env={**self.environment, "TENON_SIM_CARD": card, "TENON_SIM_IDLE": "1", "TENON_SMOKE_SMALL": "1"}).stdout
            found += re.findall(r"^target: (.*)$", answer, re.M)
        return found

    def fill(self):
        for data in ("tests/data", "examples/data"):
            shutil.copytree(HERE / data, self.stage / data)
        describe = ["git", "describe", "--always", "--dirty"]
        commit = subprocess.run(describe, cwd=HERE, capture_output=True, text=True).stdout.strip() if shutil.which("git") else "unknown"
        kernels = len(list((self.stage / "cache/tenon").glob("*.bin")))
        (self.stage / "bundle.json").write_text(json.dumps({"commit": commit, "kernels": kernels, "slices": self.options.slices, "targets": self.targets()}))

    def close(self):
        bundle = self.work / ("bundle.tar" if self.options.plain else "bundle.tar.xz")

        def plain(entry):
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            return entry

        with tarfile.open(bundle, "w" if self.options.plain else "w:xz") as tar:
            for path in sorted(self.stage.iterdir()):
                tar.add(path, arcname=path.name, filter=plain)
        print(f"{bundle}: {bundle.stat().st_size / 2**20:.1f} MiB")

    def end(self, wrong, missing, refused):
        """Says in summary.md and rows.json that nothing runs any longer, and how it ended."""
        self.report.notes += [f"Not right: {row['name']}." for row in wrong] + [f"No row of smoke runs {name}." for name in missing]
        self.report.notes += ["NVRTC refuses or spills kernels."] if refused else []
        self.report.state = "ended"
        self.report.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--work", default=HERE / ".gpu")
    parser.add_argument("--slices", type=int, default=6, help="of random programs of each kind, 50 graphs each")
    parser.add_argument("--most", type=int, help="only so many rows of a kind, and no tests")
    parser.add_argument("--library", help="libnvrtc.so.13; none: a bundle for the simulator alone")
    parser.add_argument("--plain", action="store_true", help="no compression")
    pack = Pack(parser.parse_args())
    wrong = pack.simulate()
    if missing := pack.without_rows():
        print(f"no row of smoke runs {', '.join(missing)}")
    for row in wrong:
        print(f"not right: {row['name']}: {row['text']}")
    library = ["--library", pack.options.library] if pack.options.library else []
    cubins = subprocess.run([sys.executable, HERE / "scripts/gpu/gpu_cubins.py", pack.simulated, pack.stage / "cache", "--texts", pack.work / "texts", *library])
    pack.fill()
    pack.close()
    pack.end(wrong, missing, cubins.returncode)
    return 1 if wrong or missing or cubins.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
