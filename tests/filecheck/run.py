#!/usr/bin/env python3
"""Runs the test that a text of IR carries in its comments: run.py TENON_OPT FILECHECK FILE.

  // RUN: ARGUMENTS        tenon-opt ARGUMENTS FILE; what it prints must match the // CHECK lines
  // RUN(WIDE): ARGUMENTS  the same with the // WIDE lines

FileCheck's manual says what such a line may hold: https://llvm.org/docs/CommandGuide/FileCheck.html. %[[#I:]] takes the
number of a value, %[[#I]] is the same value again.
"""
import re
import subprocess
import sys
from pathlib import Path

opt, filecheck, file = sys.argv[1:]
runs = re.findall(r"^// RUN(?:\((\w+)\))?: *(.*)$", Path(file).read_text(), re.M)
if not runs:
    sys.exit(f"{file}: no RUN line")
failed = False
for prefix, arguments in runs:
    printed = subprocess.run([opt, *arguments.split(), file], capture_output=True, text=True)
    if printed.returncode != 0:
        sys.exit(f"{file}: {printed.stderr}")
    checked = subprocess.run([filecheck, file, f"--check-prefix={prefix or 'CHECK'}"], input=printed.stdout, text=True)
    failed |= checked.returncode != 0
sys.exit(failed)
