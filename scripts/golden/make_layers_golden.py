#!/usr/bin/env python3
"""Writes tests/data/layers.json: what LibTorch says to each case of tests/frontend/nn/layer_cases.inc (the printed form, a hash of the initial
values, numbers of the results and gradients), and how Python prints the same layer. Needs PyTorch with LibTorch's headers, and g++.

Usage: make_layers_golden.py [FILE]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = pathlib.Path(torch.__file__).parent
PROGRAM = r"""
#include <torch/torch.h>

#include <iomanip>
#include <iostream>

#include "layer_run.h"

int main() {
  bool failed = false;
  layer_run::run_cases(
      [](const char* python, const layer_run::Answer& answer) {
        std::cout << python << "\n" << answer.values << std::setprecision(12);
        for (const double x : answer.results) std::cout << ' ' << x;
        std::cout << "\n" << answer.text << "\n~\n";
      },
      [](const char*, auto&) {},
      [&](const char* python, const std::exception& error) {
        std::cerr << python << ": " << error.what() << std::endl;
        failed = true;
      });
  return failed;
}
"""


def answers():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "layers.cpp").write_text(PROGRAM)
        include = [f"-I{TORCH}/include", f"-I{TORCH}/include/torch/csrc/api/include", f"-I{ROOT}/tests/frontend/nn"]
        library = [f"-L{TORCH}/lib", "-ltorch", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{TORCH}/lib"]
        subprocess.run(["g++", "-std=c++20", "-w", *include, folder / "layers.cpp", "-o", folder / "layers", *library], check=True)
        return subprocess.run([folder / "layers"], stdout=subprocess.PIPE, text=True, check=True).stdout


cases = []
for block in answers().split("\n~\n")[:-1]:
    python, numbers, text = block.split("\n", 2)
    values, *results = numbers.split()
    cases.append({"python": python, "python_text": repr(eval(python)) if python else "", "text": text, "values": values,
                  "results": [float(x) for x in results]})
file = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/data/layers.json"
file.write_text("[" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "]\n")
print(len(cases), "cases")
