#!/usr/bin/env bash
# What Tenon has not must not compile, and the compiler must say why in Tenon's words (tenon/absent.h).
# usage: check_absent.sh    (CXX: the compiler)
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# expect 'expression' 'part of the message'
expect() {
  printf '#include <tenon/tenon.h>\nusing namespace tenon;\nvoid f(Tensor x, Tensor y) { (void)(x, y); %s; }\n' "$1" > "$folder/a.cpp"
  if "${CXX:-g++}" -std=c++20 -fsyntax-only -Ifrontend/include "$folder/a.cpp" > "$folder/log" 2>&1; then
    echo "compiles: $1"; failed=1
  elif ! grep -qF "$2" "$folder/log"; then
    echo "$1: the compiler does not say \"$2\":"; head -5 "$folder/log"; failed=1
  fi
}

expect 'stft(x, 400)' 'stft: Tenon has no complex numbers and no Fourier transforms yet'
expect 'fft::rfft(x)' 'rfft: Tenon has no complex numbers and no Fourier transforms yet'
expect 'linalg::solve(x, y)' 'solve: Tenon has no matrix decompositions, inverses and solvers yet'
expect 'inverse(x)' 'inverse: Tenon has no matrix decompositions, inverses and solvers yet'
expect 'sparse_coo_tensor(x, y)' 'sparse_coo_tensor: Tenon has no sparse tensors'
expect 'quantize_per_tensor(x, 0.1, 10, kByte)' 'quantize_per_tensor: Tenon has no quantised tensors'
expect 'special::gammainc(x, y)' 'gammainc: Tenon does not have this function yet'
expect 'jit::load("model.pt")' 'load: Tenon reads no TorchScript'
exit $failed
