#!/usr/bin/env python3
"""Runs a program and compares what it prints with a file: each line of the file must occur as a line of the output,
in that order (times and addresses may stand between them). Usage: check_output.py EXPECTED PROGRAM [ARGUMENT...]"""
import subprocess
import sys

expected = open(sys.argv[1]).read().splitlines()
if not expected:
    sys.exit(f"{sys.argv[1]} is empty: nothing would be checked")
result = subprocess.run(sys.argv[2:], capture_output=True, text=True)
print(result.stdout, end="")
print(result.stderr, end="", file=sys.stderr)
if result.returncode != 0:
    sys.exit(f"{sys.argv[2]} ended with status {result.returncode}")
lines = iter(result.stdout.splitlines())
for wanted in expected:
    if wanted not in lines:  # consumes up to and with the line found
        sys.exit(f"not printed, or not in this order: {wanted}")
