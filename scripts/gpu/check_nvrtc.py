#!/usr/bin/env python3
"""Every kernel that programs on the simulated GPU have left in a disk cache, compiled by the real NVRTC as the runtime asks for it.

Usage: check_nvrtc.py CACHE... [--arch 75,80,90] [--library FILE] [--one-of N] [--slowest N]

CACHE is a folder with .bin files somewhere below it (XDG_CACHE_HOME of `scripts/gpu_test.sh simulate`). The simulated NVRTC keeps the text
of a kernel as its machine code (tests/cuda_sim/image.h), so a cache has each distinct text once for each kind of GPU. Texts that
use tensor cores are compiled for sm_80 and up, and texts that ask for much shared memory only where a block has it: no other GPU
is given them. Prints errors, spills, and the time and registers that kernels take. Ends with 1 if NVRTC refuses a text or spills registers.
"""
import argparse
import ctypes
import multiprocessing
import pathlib
import re
import statistics
import sys
import time

FOLDERS = ["", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"]
TENSOR_CORES = b"= tenon_mma_"
SHARED_BYTES = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 89: 99 << 10}  # that a block may have; of all others 227 KB
SHARED_BUFFER = re.compile(rb"TENON_DYNAMIC_SHARED\(\w[\w ]*, \w+, \d+, (\d+)\);")  # where it begins
IMAGE = re.compile(rb"TENON-SIM (?:cubin|ptx) (\d+) (\d+) [0-9a-f]+\n")


def texts(folders):
    """The distinct texts, in an order that does not depend on the cache."""
    found = set()
    for folder in folders:
        for path in pathlib.Path(folder).rglob("*.bin"):
            content = path.read_bytes()
            if image := IMAGE.search(content):
                found.add(content[image.end() : image.end() + int(image[2])])
    return sorted(found)


def is_given(text, arch):
    """Whether schedules give such a text to this kind of GPU."""
    shared = max((int(begin) for begin in SHARED_BUFFER.findall(text)), default=0)
    return shared < SHARED_BYTES.get(arch, 227 << 10) and (arch >= 80 or TENSOR_CORES not in text)


def load(given):
    """NVRTC opens its builtins by bare name: loaded by full path first, they are found."""
    for name in [given] if given else [f"{folder}libnvrtc.so.{version}" for folder in FOLDERS for version in (13, 12)]:
        for builtins in pathlib.Path(name).parent.glob("libnvrtc-builtins.so.*") if "/" in name else []:
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def start(given):
    """Loads NVRTC for what follows; whether it is there."""
    global nvrtc
    nvrtc = load(given)
    if nvrtc:
        compile_text(0, b'extern "C" __global__ void empty() {}', 80)  # the first one takes a little longer
    return nvrtc is not None


def compiled(text, arch, *more):
    """(PTX, cubin, what ptxas says); no PTX and cubin if it is refused."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernel.cu", 0, None, None)
    options = [b"-arch=sm_%d" % arch, b"--minimal", b"--fmad=false", b"--ptxas-options=-v", *more]
    refused = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))

    def part(name):
        getattr(nvrtc, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{name}")(program, data)
        return data.raw

    log = part("ProgramLog").decode().rstrip("\0")
    found = (None, None, log) if refused else (part("PTX").decode().rstrip("\0"), part("CUBIN"), log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return found


def machine_code(text, arch):
    """(cubin, or None if it is refused; what ptxas says), as runtime/cuda/compiler.cpp asks for it: what spills is compiled once more."""
    _, cubin, log = compiled(text, arch)
    if cubin is not None and spills(log):
        _, cubin, log = compiled(text, arch, b"-DTENON_ALL_REGISTERS")
    return cubin, log


def spills(log):
    return [n for n in re.findall(r"(\d+) bytes spill stores", log) if n != "0"]


def compile_text(key, text, arch):
    """(key, arch, milliseconds of this process, whether it compiled, what ptxas says)."""
    begin = time.process_time()
    cubin, log = machine_code(text, arch)
    return key, arch, (time.process_time() - begin) * 1e3, cubin is not None, log


def work(item):
    return compile_text(*item)


def name_of(text):
    """The comment that heads each kernel: its name, phase and launch."""
    return "; ".join(line[10:] for line in text.decode().splitlines() if line.startswith("// kernel "))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", nargs="+")
    parser.add_argument("--arch", default="75,80,90")
    parser.add_argument("--library", help="libnvrtc.so.13")
    parser.add_argument("--one-of", type=int, default=1, metavar="N", help="compiles only one of N texts: all of a long run are many thousands")
    parser.add_argument("--slowest", type=int, default=5, metavar="N", help="names this many")
    options = parser.parse_args()
    kernels = texts(options.cache)[:: options.one_of]
    if not kernels:
        sys.exit("no kernel of the simulated GPU is there")
    archs = [int(arch) for arch in options.arch.split(",")]
    items = [(key, text, arch) for key, text in enumerate(kernels) for arch in archs if is_given(text, arch)]
    if not load(options.library):
        print("skipped: libnvrtc was not found; --library names it")
        return 0
    with multiprocessing.Pool(initializer=start, initargs=(options.library,)) as pool:
        results = pool.map(work, items, chunksize=16)

    bad = 0
    for key, arch, _, compiled, log in results:
        if not compiled or spills(log):
            bad += 1
            print(f"sm_{arch}: {'spills ' + '+'.join(spills(log)) + ' bytes' if compiled else 'refused'}: {name_of(kernels[key])}")
            if not compiled:
                print(log)
    for arch in archs:
        times = sorted(ms for _, of, ms, _, _ in results if of == arch)
        registers = [int(n) for _, of, _, _, log in results if of == arch for n in re.findall(r"Used (\d+) registers", log)]
        print(f"sm_{arch}: {len(times)} texts, {len(registers)} functions; compile ms (of one core) median {statistics.median(times):.0f}, "
              f"95 % {times[int(0.95 * (len(times) - 1))]:.0f}, most {times[-1]:.0f}; registers median {statistics.median(registers):.0f}, most {max(registers)}")
    for key, arch, ms, _, _ in sorted(results, key=lambda r: -r[2])[: options.slowest]:
        print(f"slow: {ms:.0f} ms, sm_{arch}: {name_of(kernels[key])}")
    print(f"{len(kernels)} texts for {len(archs)} kinds of GPU: {bad} refused or with spills")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
