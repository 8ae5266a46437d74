#!/usr/bin/env bash
# Builds and runs every benchmark and prints one table; the rows also go to build/release/bench.json, one object a line.
# Usage: bench.sh [NAME...]   (elementwise, softmax, reduce, matmul, compile, record, small)
# bench_first_use and bench_train have drivers of their own, beside PyTorch and NumPy: bench/first_use.py, bench/train.py.
# bench_calls is driven by bench/cliff.py: random calls of all functions beside PyTorch, to find those that are slower,
# and by bench/performance.py, which writes docs/performance.md.
# bench_many has no targets yet: it prints what graphs of many roots and operands cost.
# Installs what the comparisons need: NumPy and OpenBLAS.
source "$(dirname "$0")/common.sh"
python_with_numpy() {
  local python
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && echo "$python" && return
  done
  return 1
}
install_needs "${BUILD_NEEDS[@]}" "${TEST_NEEDS[@]}" \
  "python3-numpy python_with_numpy" "libopenblas0 ldconfig -p | grep libopenblas.so.0"
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(elementwise softmax reduce matmul compile record small)
configure_everything
build release "${names[@]/#/bench_}"
export TENON_BENCH_JSON=$PWD/build/release/bench.json TENON_BENCH_PYTHON
TENON_BENCH_PYTHON=$(python_with_numpy)
rm -f "$TENON_BENCH_JSON"
say "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs), $(nproc) CPUs, $(c++ --version | head -1)"
for name in "${names[@]}"; do build/release/bin/bench_"$name"; done
missed=$(grep -c '"met": false' "$TENON_BENCH_JSON" || true)
say "$(grep -c '"met": true' "$TENON_BENCH_JSON" || true) targets met, $missed missed"
