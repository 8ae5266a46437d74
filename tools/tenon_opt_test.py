"""Runs tenon-opt on small texts: every form it reads, every form it prints, and how it fails."""
import subprocess
import sys

OPT = sys.argv[1]
GRAPH = """graph @g(%x: f32[8,16]) {
  %0 = const 1.0 : f32[8,16]
  %1 = mul %x, %0 : f32[8,16]
  %2 = sqrt %1 : f32[8,16]
  %3 = reduce.sum %2 dims=[1] : f32[8,1]
  return %3
}
"""
failures = 0


def run(*arguments, text=GRAPH):
    return subprocess.run([OPT, *arguments], input=text, capture_output=True, text=True)


def check(condition, what, result):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {what}\nstatus {result.returncode}\n{result.stdout}{result.stderr}")


def check_prints(what, result, *parts):
    check(result.returncode == 0 and all(part in result.stdout for part in parts), what, result)


def check_fails(what, result, message):
    check(result.returncode == 1 and message in result.stderr and not result.stdout, what, result)


result = run()
check(result.returncode == 0 and result.stdout == GRAPH, "a graph without passes prints as it is", result)
check_prints("--list", run("--list"), "  hide-constants", "* simplify", "* cse", "  fuse", "* merge-axes", "  memory-plan")
result = run("--pass", "simplify,dce", "-")
check_prints("passes", result, "%0 = sqrt %x : f32[8,16]", "%1 = reduce.sum %0 dims=[1] : f32[8,1]")
check("mul" not in result.stdout and "const" not in result.stdout, "passes ran", result)
kernel = run("--pass", "all", "--fuse")
check_prints("--fuse", kernel, "kernel @", "reduce.sum", "sqrt")
check(kernel.stdout.count("kernel @") == 1, "one kernel", kernel)
unfused = run("--fuse", "--no-fusion")
check(unfused.stdout.count("kernel @") > 1, "--no-fusion", unfused)
again = run("--pass", "clean", text=kernel.stdout)
check(again.returncode == 0 and again.stdout == kernel.stdout, "a kernel is read and prints the same", again)
tree = run("--pass", "all", "--lower", "cpu", "--vector-bits", "256")
check_prints("--lower cpu", tree, "looptree @", "parallel")
again = run(text=tree.stdout)
check(again.returncode == 0 and again.stdout == tree.stdout, "a loop tree is read and prints the same", again)
check_prints("--emit cuda", run("--emit", "cuda"), "TENON_KERNEL")
check_fails("a tree of the other device", run("--emit", "cuda", text=tree.stdout), "other device")
llvm = run("--emit", "llvm")
if "no LLVM" not in llvm.stderr:
    check_prints("--emit llvm", llvm, "define", "ret void")
    check_prints("--emit asm", run("--emit", "asm"), "ret")

ROUTINE = """graph @s(%x: f32[8,16]) {
  %0 = sqrt %x : f32[8,16]
  %1 = sort %0 dim=1 descending=0 : i64[8,16]
  %2 = gather %0, %1 dim=1 : f32[8,16]
  return %2
}
"""
check_prints("a call that a GPU has code for", run("--emit", "cuda", text=ROUTINE), "sqrt_map(", "sort_tiles(", "gather_map(")
for way in (["--fuse"], ["--lower", "cpu"], ["--pass", "all", "--fuse"]):
    result = run(*way, text=ROUTINE)
    check_prints("a graph with a call", result, "call @sort(", "sort", "sqrt", "gather" if "--fuse" in way else "")

check_fails("a line that is wrong", run(text=GRAPH.replace("sqrt", "squirt")), "<stdin>:4:8: unknown operation squirt")
check_fails("neither graph nor kernel", run(text="nonsense"), "<stdin>:1:1: expected a graph")
check_fails("no text", run(text=""), "<stdin>:1:1: expected a graph")
check_fails("an unknown pass", run("--pass", "simplify,polish"), "unknown pass 'polish'")
check_fails("a file that is not there", run("/nonexistent/a.ir"), "/nonexistent/a.ir: cannot be read")
check_fails("an unknown device", run("--lower", "tpu"), "tpu")
check_fails("a contradiction", run("--lower", "cpu", "--emit", "cuda"), "needs --lower cuda")
check_fails("an unknown option", run("--frobnicate"), "frobnicate")
sys.exit(1 if failures else 0)
