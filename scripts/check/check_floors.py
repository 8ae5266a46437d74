#!/usr/bin/env python3
"""Checks who includes whom. Reads every source of the six floors; prints each broken rule as FILE:LINE: reason and
exits 1, or says how many files it read.

  floors    a file includes its own floor and floors below: frontend -> runtime -> compiler -> codegen -> passes -> ir
  frontend  of these it includes runtime/ and ir/ alone: what it records does not depend on what a target can compute
  rooms     inside a floor a file includes its own room and rooms before it (ROOMS below; what stands in one line is one room)
  circles   inside a floor no file pair (x.h and x.cpp) includes itself by way of others
  devices   runtime/ names no device: nothing outside of runtime/cpu and runtime/cuda looks into them, no floor above does either, and
            llvm_backend is named only in runtime/cpu and where it is defined; the frontend alone has doors, OPEN_HEADERS. codegen/cuda is
            included by itself and runtime/cuda, and no other file of runtime/ asks whether a target or a text is CUDA's
  public    frontend/include/tenon/* includes <tenon/...> and the standard library only, and neither iostream nor regex
  LLVM      <llvm/...> only under codegen/llvm
  CUDA      driver, NVRTC and cuBLAS declarations only under runtime/cuda and codegen/cuda, and no toolkit header anywhere

--self-test runs the same rules over a made-up tree with one fault for each rule, and fails unless each is found.
"""
import pathlib
import re
import sys
import tempfile

FLOORS = ["ir", "passes", "codegen", "compiler", "runtime", "frontend"]  # lowest first
ROOMS = {  # by floor, from the lowest
    "ir": [["ir/base/"], ["ir/op/"], ["ir/index/"], ["ir/kernel/"], ["ir/looptree/"], ["ir/graph/"], ["ir/call/"], ["ir/gradient/"]],
    "passes": [["passes/schedule/"], ["passes/kernel/"], ["passes/graph/"], ["passes/fusion/"]],
    "frontend": [["frontend/src/tensor/"], ["frontend/src/autograd/"], ["frontend/src/views/"], ["frontend/src/ops/"],
                 ["frontend/src/random/"], ["frontend/src/neural/"], ["frontend/src/nn/"], ["frontend/src/optim/"], ["frontend/src/io/"],
                 ["frontend/src/data/"]],
    "runtime": [["runtime/base/"], ["runtime/history/"], ["runtime/device/"], ["runtime/memory/"], ["runtime/cpu/", "runtime/cuda/"],
                ["runtime/cache/"], ["runtime/plan/"], ["runtime/run/"], ["runtime/report/"]],
}
BEHIND_RUNTIME = ("compiler/", "codegen/", "passes/")
PUBLIC = "frontend/include/tenon/"
DEVICE_ROOMS = ("runtime/cpu/", "runtime/cuda/")
OPEN_HEADERS = {"runtime/cpu/vectorised.h", "runtime/cpu/index_bounds.h",  # for loops of the host's own
                "runtime/cuda/cuda.h"}       # what programs ask of CUDA beside tensors
CUDA_QUESTION = re.compile(r"\b(TargetKind::Cuda|CodeForm::(CUDA|PTX)|Stage::CUDA)\b")
HOST_COMPILER = re.compile(r"\bllvm_backend\b")
SOURCES = {".h", ".cpp", ".def", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CUDA_HEADER = re.compile(r"^(cuda|cuda_runtime|cuda_runtime_api|nvrtc|cublas|cublas_v2|cuda_fp16|cuda_bf16)\.h$|^cuda/")
CUDA_NAME = re.compile(r"\b(CUresult|CUdevice|CUcontext|CUmodule|CUfunction|CUstream|CUdeviceptr|nvrtcResult|nvrtcProgram"
                       r"|cublasHandle_t|cublasStatus_t|cu(Init|LaunchKernel|ModuleLoad\w*|Mem\w+|Ctx\w+|Stream\w+)\s*\("
                       r"|nvrtc(CreateProgram|CompileProgram)\s*\()")
COMMENT_OR_STRING = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
HEAVY = {"iostream", "regex"}
THIRD_PARTY = re.compile(r"\.(h|hpp)$|/")  # a header of the C++ standard library has neither a suffix nor a folder
C_HEADERS = {"stdint.h", "stddef.h"}
EXCEPTIONS = "tenon/error.h"  # the one public header of every floor: it includes nothing but the standard library


def floor_of(path):
    top = path.split("/", 1)[0]
    return FLOORS.index(top) if top in FLOORS else None


def target_floor(path, name, angle):
    """The floor that an include leads to, or None for a system header."""
    if name == EXCEPTIONS:
        return FLOORS.index("ir")
    if name.startswith("tenon/"):
        return FLOORS.index("frontend")
    if angle:
        return None
    top = name.split("/", 1)[0]
    if top in FLOORS:
        return FLOORS.index(top)
    return floor_of(path)  # beside the file


def room_of(path):
    """The number of a file's room inside its floor; None for what stands beside the rooms, like the header of all passes."""
    for number, folders in enumerate(ROOMS.get(path.split("/", 1)[0], [])):
        if path.startswith(tuple(folders)):
            return number
    return None


def check_include(path, name, angle):
    """Yields the reasons why `path` must not include `name`."""
    own, target = floor_of(path), target_floor(path, name, angle)
    if target is not None and target > own:
        yield f"{FLOORS[own]} includes {name} of {FLOORS[target]}, a floor above it"
    if path.startswith("frontend/") and name.startswith(BEHIND_RUNTIME):
        yield f"the frontend includes {name}; it records operations, and what becomes of them is behind runtime/"
    if name.startswith("codegen/cuda/") and not path.startswith(("codegen/cuda/", "runtime/cuda/")):
        yield f"{name} is of a device; others see runtime/device/device.h"
    is_open = name in OPEN_HEADERS and not (path.startswith("runtime/") and name.startswith("runtime/cuda/"))
    if name.startswith(DEVICE_ROOMS) and not is_open:
        if not path.startswith(name[:name.rindex("/") + 1]):
            yield f"{name} is of a device; others see runtime/device/device.h"
    room, other = room_of(path), None if angle or own != target else room_of(name)
    if room is not None and other is not None and other > room:
        yield f"{name} is of a room behind this one: see ROOMS"
    if path.startswith(PUBLIC):
        if name in HEAVY and path != "frontend/include/tenon/compat.h":  # LibTorch's header brings <iostream> too
            yield f"a public header includes <{name}>, which costs every user compile time"
        elif not name.startswith("tenon/") and name not in C_HEADERS and (not angle or THIRD_PARTY.search(name)):
            yield f"a public header includes {name}, which is neither a public header nor the standard library"
    elif path.startswith("frontend/include/"):
        yield "public headers stand in frontend/include/tenon"
    if re.match(r"llvm(-c)?/", name) and not path.startswith("codegen/llvm/"):
        yield f"{name} is LLVM's; its headers stay under codegen/llvm"
    if CUDA_HEADER.search(name) and angle:
        yield f"{name} is a CUDA toolkit header; the build must not need the toolkit"


def check_file(path, text):
    """Yields (line number, reason)."""
    cuda_allowed = path.startswith(("runtime/cuda/", "codegen/cuda/"))
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            for reason in check_include(path, include[2], include[1] == "<"):
                yield number, reason
            continue
        if HOST_COMPILER.search(COMMENT_OR_STRING.sub("", line)) and not path.startswith(("codegen/llvm/", "runtime/cpu/")):
            yield number, "llvm_backend is the CPU's compiler; others ask runtime/device/device.h"
        if path.startswith("runtime/") and not cuda_allowed and (question := CUDA_QUESTION.search(COMMENT_OR_STRING.sub("", line))):
            yield number, f"{question[0]} asks for CUDA; the device has a trait for it: runtime/device/device.h"
        if not cuda_allowed:
            name = CUDA_NAME.search(COMMENT_OR_STRING.sub("", line))
            if name:
                yield number, f"{name[0].rstrip('( ')} belongs under runtime/cuda or codegen/cuda"


def pair_of(path):
    return path.rsplit(".", 1)[0]


def circles_of(texts):
    """The circles among the files of a floor: (path, line number, include, the pairs) at the first include that goes round."""
    includes = [(path, number, include[2]) for path, text in texts.items() for number, line in enumerate(text.splitlines(), 1)
                if (include := INCLUDE.match(line)) and include[1] == '"' and pair_of(include[2]) != pair_of(path)]
    pairs = {pair_of(path): set() for path in texts}
    for path, _, name in includes:
        if pair_of(name) in pairs:
            pairs[pair_of(path)].add(pair_of(name))

    def reached(pair):
        found, left = set(), [pair]
        while left:
            new = pairs[left.pop()] - found
            found |= new
            left += new
        return found

    reach, told = {pair: reached(pair) for pair in pairs}, set()
    for path, number, name in includes:
        own, other = pair_of(path), pair_of(name)
        if own not in told and own in reach.get(other, ()):
            circle = sorted(pair for pair in reach[own] if own in reach[pair])
            told.update(circle)
            yield path, number, name, circle


def check_tree(root):
    """All faults below `root` as text lines, and the number of files read."""
    faults, count = [], 0
    for floor in FLOORS:
        texts = {file.relative_to(root).as_posix(): file.read_text() for file in sorted((root / floor).rglob("*")) if file.suffix in SOURCES}
        count += len(texts)
        for path, text in texts.items():
            faults += [f"{path}:{number}: {reason}" for number, reason in check_file(path, text)]
        faults += [f"{path}:{number}: {name} leads back here: a circle of {', '.join(circle)}" for path, number, name, circle in circles_of(texts)]
    return faults, count


CLEAN = {
    "ir/graph/graph.cpp": '#include "ir/graph/graph.h"\n#include <vector>\n// CUdevice in a comment\n',
    "codegen/llvm/jit.cpp": '#include <llvm/IR/Module.h>\n#include "ir/graph/graph.h"\n',
    "runtime/cuda/driver.h": '#include "codegen/cuda/emit.h"\nusing CUdevice = int;\nbool b = form == CodeForm::PTX;\n',
    "runtime/cpu/cpu_device.cpp": '#include "runtime/cpu/thread_pool.h"\n#include "runtime/device/device.h"\nusing llvm_backend::emit;\n',
    "frontend/src/random/fill.cpp": '#include "runtime/cpu/vectorised.h"\n',
    "frontend/src/tensor/cuda.cpp": '#include "runtime/cuda/cuda.h"\n',
    "frontend/include/tenon/tensor.h": "#include <tenon/error.h>\n#include <cstdint>\n#include <ostream>\n",
    "passes/fusion/fusion.cpp": '#include "passes/fusion/group.h"\n#include "passes/schedule/schedule.h"\n',
    "frontend/src/ops/there.h": '#include "frontend/src/ops/here.h"\n',
    "frontend/src/tensor/tensor.cpp": '#include <tenon/tensor.h>\n#include "runtime/run/evaluate.h"\n#include "local.h"\n',
}
FAULTY = {
    "ir/up.cpp": ('#include "passes/fusion/fusion.h"\n', "a floor above"),
    "codegen/up.cpp": ('\n#include "runtime/memory/buffer.h"\n', "a floor above"),
    "passes/schedule/up.cpp": ('#include "passes/fusion/fusion.h"\n', "a room behind"),
    "frontend/src/tensor/up.cpp": ('#include "frontend/src/autograd/history.h"\n', "a room behind"),
    "frontend/src/ops/here.cpp": ('#include "frontend/src/ops/there.h"\n', "a circle of frontend/src/ops/here, frontend/src/ops/there"),
    "frontend/src/ops/down.cpp": ('#include "passes/schedule/schedule.h"\n', "behind runtime/"),
    "frontend/src/views/up.cpp": ('#include "frontend/src/nn/loss.h"\n', "a room behind"),
    "runtime/up.cpp": ("#include <tenon/tensor.h>\n", "a floor above"),
    "runtime/llvm.cpp": ("#include <llvm/IR/Module.h>\n", "LLVM's"),
    "runtime/plan/plan.cpp": ('#include "runtime/cpu/thread_pool.h"\n', "of a device"),
    "runtime/report/text.cpp": ('#include "codegen/cuda/emit.h"\n', "of a device"),
    "compiler/text.cpp": ('#include "codegen/cuda/emit.h"\n', "of a device"),
    "runtime/plan/door.cpp": ('#include "runtime/cuda/cuda.h"\n', "of a device"),
    "runtime/plan/asks.cpp": ("if (kind(target) == ir::TargetKind::Cuda) join();\n", "asks for CUDA"),
    "runtime/memory/up.cpp": ('#include "runtime/run/async_work.h"\n', "a room behind"),
    "ir/op/up.cpp": ('#include "ir/graph/node.h"\n', "a room behind"),
    "runtime/cpu/other.cpp": ('#include "runtime/cuda/driver.h"\n', "of a device"),
    "frontend/src/io/pool.cpp": ('#include "runtime/cpu/thread_pool.h"\n', "of a device"),
    "runtime/report/report.cpp": ("codegen::llvm_backend::emit_ir(tree);\n", "CPU's compiler"),
    "codegen/llvm.cpp": ('#include "llvm-c/Core.h"\n', "LLVM's"),
    "runtime/gpu.cpp": ("CUdevice device;\n", "belongs under"),
    "runtime/launch.cpp": ("  cuLaunchKernel(f);\n", "belongs under"),
    "runtime/cuda/toolkit.cpp": ("#include <cuda.h>\n", "toolkit header"),
    "frontend/include/tenon/ir.h": ('#include "ir/graph/graph.h"\n', "neither a public header"),
    "frontend/include/tenon/json.h": ("#include <nlohmann/json.hpp>\n", "neither a public header"),
    "frontend/include/tenon/io.h": ("#include <iostream>\n", "compile time"),
    "frontend/include/stray.h": ("#include <vector>\n", "stand in"),
}


def self_test():
    def write(root, path, text):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in CLEAN.items():
            write(root, path, text)
        faults, count = check_tree(root)
        assert not faults and count == len(CLEAN), faults
        for path, (text, _) in FAULTY.items():
            write(root, path, text)
        faults, _ = check_tree(root)
        for path, (text, reason) in FAULTY.items():
            line = text.count("\n", 0, len(text) - len(text.lstrip("\n"))) + 1
            assert any(f.startswith(f"{path}:{line}: ") and reason in f for f in faults), f"not found: {path}"
        assert len(faults) == len(FAULTY), faults
    print(f"check_floors: finds all {len(FAULTY)} planted faults and no other")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    faults, count = check_tree(pathlib.Path(__file__).resolve().parents[2])
    print("\n".join(faults) if faults else f"check_floors: {count} files, each includes its own floor or below")
    sys.exit(1 if faults or count == 0 else 0)


if __name__ == "__main__":
    main()
