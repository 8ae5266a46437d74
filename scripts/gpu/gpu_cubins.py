#!/usr/bin/env python3
"""The disk cache of a GPU, made on a machine without one.

Usage: gpu_cubins.py FROM TO [--texts FOLDER] [--arch 90] [--library FILE]

FROM is a folder with caches of programs on the simulated GPU somewhere below it. The simulated NVRTC keeps a kernel's text as its
machine code; the real one compiles it here, as the runtime would on the GPU, and each entry is written anew to TO/tenon with the
cubin in the place of the text. An entry's key holds the loop tree, the build of the library, NVRTC's version and the architecture: where
these are the same, a program finds it. Entries of the host are left out: other processors ask for other code.

--texts keeps each text under the name by which the simulated driver looks for it (TENON_SIM_CUBINS=FOLDER), so that the cache can be
tried here. Without NVRTC the entries are copied as they are: a cache for the simulated GPU alone. Ends with 1 if NVRTC refuses a text or
spills registers."""
import argparse
import ctypes
import ctypes.util
import multiprocessing
import os
import pathlib
import struct
import sys
import zlib

import check_nvrtc

HEADER = struct.Struct("<8sQQ16s")  # of an entry: magic, sizes of key and payload, checksum (runtime/cache/disk_cache.h)


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def hash128(xxhash, content):
    """XXH3-128, as the library stores it."""
    return bytes(xxhash.XXH3_128bits(content, ctypes.c_size_t(len(content))))


def load_xxhash():
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    library.XXH3_128bits.restype = Hash128
    return library


def split(content):
    """(key, payload) of an entry."""
    magic, key_size, payload_size, _ = HEADER.unpack_from(content)
    assert magic == b"TENONK01" and len(content) == HEADER.size + key_size + payload_size
    return content[HEADER.size : HEADER.size + key_size], content[HEADER.size + key_size :]


def join(xxhash, key, payload):
    head = lambda checksum: HEADER.pack(b"TENONK01", len(key), len(payload), checksum)
    return head(hash128(xxhash, head(bytes(16)) + key + payload)) + key + payload


def entries(folder):
    """name -> (key, image), of what was compiled for a GPU."""
    found = {}
    for path in pathlib.Path(folder).rglob("*.bin"):
        content = path.read_bytes()
        if check_nvrtc.IMAGE.search(content):
            found[path.name] = split(content)
    return found


def text_of(image):
    header = check_nvrtc.IMAGE.match(image)
    return image[header.end() : header.end() + int(header[2])]


def compile_text(item):
    return check_nvrtc.machine_code(*item)


def stand_in_name(cubin):
    """What the simulated driver calls a cubin by (tests/cuda_sim/image.cpp)."""
    before_sections = cubin[: struct.unpack_from("<Q", cubin, 40)[0]]
    return f"{zlib.crc32(before_sections):08x}{zlib.adler32(before_sections):08x}"


def write(path, content):
    path.write_bytes(content)
    path.chmod(0o600)  # the cache takes nothing that others may write


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("to")
    parser.add_argument("--texts", help="a folder for the simulated driver")
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--library", help="libnvrtc.so.13; none: copies the entries")
    options = parser.parse_args()
    to = pathlib.Path(options.to) / "tenon"
    to.mkdir(parents=True, exist_ok=True)
    to.chmod(0o700)
    found = entries(options.source)
    if options.library == "none" or not check_nvrtc.load(options.library):
        xxhash = load_xxhash()
        for name, (key, image) in found.items():
            write(to / name, join(xxhash, key, image))
        print(f"{len(found)} entries copied for the simulated GPU: there is no NVRTC here")
        return 0

    of_arch = {name: pair for name, pair in found.items() if check_nvrtc.IMAGE.match(pair[1])[1] == b"%d" % options.arch}
    texts = sorted({text_of(image) for _, image in of_arch.values()})
    with multiprocessing.Pool(initializer=check_nvrtc.start, initargs=(options.library,)) as pool:
        compiled = dict(zip(texts, pool.map(compile_text, [(text, options.arch) for text in texts], chunksize=8)))
    bad = 0
    for text, (cubin, log) in compiled.items():
        spills = check_nvrtc.spills(log)
        bad += cubin is None or bool(spills)
        if cubin is None:
            print(f"refused: {check_nvrtc.name_of(text)}\n{log}")
        elif spills:
            print(f"spills {'+'.join(spills)} bytes: {check_nvrtc.name_of(text)}")

    xxhash = load_xxhash()
    if options.texts:
        os.makedirs(options.texts, exist_ok=True)
    for name, (key, image) in of_arch.items():
        cubin = compiled[text_of(image)][0]
        if cubin is None:
            continue
        write(to / name, join(xxhash, key, cubin))
        if options.texts:
            write(pathlib.Path(options.texts) / stand_in_name(cubin), image)
    size = sum(path.stat().st_size for path in to.iterdir())
    print(f"{len(of_arch)} entries, {len(texts)} texts compiled for sm_{options.arch}: {bad} refused or with spills; {size / 2**20:.1f} MiB")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
