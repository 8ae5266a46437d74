"""The libraries beside which bench/cliff.py and bench/performance.py put Tenon, each in a process of its own.

    bench/peers.py LIBRARY THREADS

serves the commands of calls.cpp by torch, compiled (torch.compile), numpy or jax, a line each, and one more:

    bytes EXPRESSION          answers how many bytes the result and the variables that it names have

A program is an expression of Python: torch and F are PyTorch's modules; xp is NumPy or jax.numpy, and jax is JAX."""
import os
import re
import subprocess
import sys
import time

# Memory that a library freed stays with its process (and in huge pages), so that no page fault counts against it.
RECYCLED = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.hugetlb=1"


class Server:
    """A process that answers a line to a line."""

    def __init__(self, command, **environment):
        self.command, self.environment = command, {**os.environ, **environment}
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env=self.environment)

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            text = self.process.stdout.readline()
        except BrokenPipeError:
            text = ""
        if not text:
            self.start()
            return "error: the process ended"
        return text.strip()


def peer(library, threads):
    """The server of a library, with memory that is recycled."""
    threads = str(threads)
    xla = f"--xla_cpu_multi_thread_eigen={'false' if threads == '1' else 'true'} intra_op_parallelism_threads={threads}"
    return Server([sys.executable, os.path.abspath(__file__), library, threads], GLIBC_TUNABLES=RECYCLED, OMP_NUM_THREADS=threads,
                  OPENBLAS_NUM_THREADS=threads, XLA_FLAGS=xla, JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1")


# --- the libraries: the names that programs use, how a function is made ready to run often, how to wait for it, how arrays come and go

class Torch:
    def __init__(self, threads):
        import torch
        torch.set_num_threads(threads)
        self.torch, self.names, self.array = torch, {"torch": torch, "F": torch.nn.functional}, torch.Tensor

    def ready(self, function):
        return function

    def load(self, array):
        return self.torch.from_numpy(array)

    def numpy(self, array):
        array = array.detach()
        return (array.float() if array.dtype == self.torch.bfloat16 else array).numpy()

    def summary(self, array):
        x = array.detach().to(self.torch.float64)
        total = self.torch.where(x.isfinite(), x.abs(), self.torch.zeros_like(x)).sum()
        return "[" + "".join(f"{n}," for n in x.shape) + f"] {int(x.isnan().sum())} {float(total):e} "


class Compiled(Torch):
    def ready(self, function):
        return self.torch.compile(function, dynamic=False)


class NumPy:
    def __init__(self, threads):
        import numpy
        self.names, self.array = {"xp": numpy, "np": numpy}, (numpy.ndarray, numpy.generic)

    def ready(self, function):
        return function

    def load(self, array):
        return array

    def numpy(self, array):
        return array


class Jax:
    def __init__(self, threads):
        import jax
        import numpy
        self.jax, self.np = jax, numpy
        self.names, self.array = {"xp": jax.numpy, "jax": jax}, jax.Array

    def ready(self, function):
        jitted = self.jax.jit(function)
        return lambda *values: self.jax.block_until_ready(jitted(*values))

    def load(self, array):
        return self.jax.numpy.asarray(array)

    def numpy(self, array):
        return self.np.asarray(array if array.dtype != self.jax.numpy.bfloat16 else array.astype("float32"))


LIBRARIES = {"torch": Torch, "compiled": Compiled, "numpy": NumPy, "jax": Jax}


class Answers:
    def __init__(self, library):
        self.library, self.variables, self.calls = library, {}, {}

    def function(self, program):
        """The function that a program is, and the variables that it takes."""
        used = sorted(set(re.findall(r"\b[A-Za-z_]\w*", program)) & set(self.variables))
        return eval(f"lambda {', '.join(used)}: {program}", self.library.names), [self.variables[name] for name in used]

    def call(self, program):
        """The same, made ready to run often."""
        if program not in self.calls:
            function, values = self.function(program)
            self.calls[program] = self.library.ready(function), values
        return self.calls[program]

    def result(self, program):
        function, values = self.call(program)
        return function(*values)

    def arrays(self, value):
        if isinstance(value, self.library.array):
            return [value]
        return [a for item in value for a in self.arrays(item)] if isinstance(value, (list, tuple)) else []

    def clear(self, rest):
        self.variables.clear()
        self.calls.clear()
        return "ok"

    def let(self, rest):
        name, program = rest.split(" ", 1)
        function, values = self.function(program)
        self.variables[name] = function(*values)
        return "ok"

    def load(self, rest):
        import numpy
        name, file = rest.split(" ", 1)
        self.variables[name] = self.library.load(numpy.load(file))
        return "ok"

    def save(self, rest):
        import numpy
        file, program = rest.split(" ", 1)
        arrays = self.arrays(self.result(program))
        for i, array in enumerate(arrays):
            numpy.save(f"{file}.{i}.npy", self.library.numpy(array))
        return str(len(arrays))

    def run(self, rest):
        return "".join(self.library.summary(a) for a in self.arrays(self.result(rest)))

    def bytes(self, rest):
        return str(sum(a.nbytes for a in self.arrays([self.call(rest)[1], self.result(rest)])))

    def time(self, rest):
        limit, program = rest.split(" ", 1)
        limit, (function, values) = float(limit), self.call(program)
        runs, start = 0, time.perf_counter()
        while True:
            function(*values)
            runs += 1
            if time.perf_counter() - start > limit:
                return f"{(time.perf_counter() - start) / runs * 1e6:f}"


def serve(library, threads):
    answers = Answers(LIBRARIES[library](threads))
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "stop":
            break
        try:
            text = getattr(answers, command)(rest.strip())
        except Exception as e:
            text = "error: " + " ".join(str(e).split())
        print(text, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
