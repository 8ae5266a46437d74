#!/usr/bin/env bash
# Tenon on a machine with an NVIDIA GPU that has neither LLVM nor our packages.
#
#   scripts/gpu_test.sh pack         here: builds the release tests and benchmarks (LLVM linked in) and packs them into
#                                    .gpu/bundle.tgz (git ignores it), about 30 MB
#   scripts/gpu_test.sh run [FOLDER] there: unpacks the bundle, runs every CUDA test, compute-sanitizer over the generated kernels
#                                    and the benchmarks beside PyTorch; logs go to FOLDER (default .gpu/out), and the
#                                    summary for docs/gpu_runs.md to FOLDER/summary.md
#   scripts/gpu_test.sh simulate [SEED...]
#                                    here: the same tests as `run`, on the simulated GPU, once for each seed (1 ... 8); a seed draws the
#                                    order of streams, and of each launch's blocks and threads (forward, backward, at
#                                    random). Random programs are divided among the seeds. The GPU is an sm_90; for the
#                                    last of several seeds an sm_75, whose kernels use no tensor cores. Then the real
#                                    NVRTC, if it is installed, compiles every kernel that was met, for sm_75, sm_80 and sm_90
#
# TENON_GPU_FAST=1 leaves compute-sanitizer and the benchmarks out. Ends with 1 if a test failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PROGRAMS=(test_cuda test_device alias_fuzz test_gradients bench_gpu bench_train)

pack() {
  source scripts/common.sh
  install_needs "${BUILD_NEEDS[@]}" "${TEST_NEEDS[@]}"
  configure_everything
  build release "${PROGRAMS[@]}"
  rm -rf .gpu
  mkdir -p .gpu/stage/bin .gpu/stage/tests
  cp build/release/bin/libtenon.so.? .gpu/stage/bin/
  for program in "${PROGRAMS[@]}"; do cp "build/release/bin/$program" .gpu/stage/bin/; done
  strip .gpu/stage/bin/* 2>/dev/null || true
  cp -r tests/data .gpu/stage/tests/data
  mkdir .gpu/stage/examples && cp -r examples/data .gpu/stage/examples/data
  tar -C .gpu/stage -czf .gpu/bundle.tgz .
  rm -rf .gpu/stage
  ls -l .gpu/bundle.tgz
}

# Where NVIDIA's libraries may lie on such a machine.
find_libraries() {
  local folder
  for folder in /usr/local/nvidia/lib64 /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib \
                "$(python3 -c 'import nvidia, os; print(os.path.join(list(nvidia.__path__)[0], "cu13/lib"))' 2>/dev/null)"; do
    [ -d "$folder" ] && export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  done
  return 0
}

passed=0 failed=0
check() {  # NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  if timeout 900 "$@" >"$out/$name.log" 2>&1; then
    passed=$((passed + 1))
    echo "| $name | passed | $((SECONDS - start)) s | $(grep -hoE 'MESSAGE: .*' "$out/$name.log" | tail -1 | cut -c10-) |" | tee -a "$out/summary.md"
  else
    failed=$((failed + 1))
    echo "| $name | **failed** | $((SECONDS - start)) s | $(grep -hE 'ERROR|error' "$out/$name.log" | head -1 | tr '|' '/') |" | tee -a "$out/summary.md"
  fi
}

# BIN: the folder of the programs.
run_tests() {
  local bin=$1
  printf '| test | result | time | |\n| --- | --- | --- | --- |\n' >>"$out/summary.md"
  check frontend_and_faults "$bin/test_cuda"
  check golden "$bin/test_device" "-tc=golden*"
  check fuzz_graphs env TENON_FUZZ_COUNT="${TENON_FUZZ_COUNT:-2000}" "$bin/test_device" "-tc=fuzz*"
  check fuzz_aliases "$bin/alias_fuzz" "${TENON_ALIAS_COUNT:-2000}" "${TENON_ALIAS_SEED:-5}"
  check fuzz_training env TENON_FUZZ_COUNT="${TENON_TRAINING_COUNT:-300}" "$bin/test_gradients" "-tc=tape*"
}

run() {
  out=$(mkdir -p "${1:-.gpu/out}" && cd "${1:-.gpu/out}" && pwd)
  rm -rf .gpu/here && mkdir -p .gpu/here && tar -C .gpu/here -xzf .gpu/bundle.tgz
  local here=$PWD/.gpu/here
  find_libraries
  export TENON_TEST_DEVICE=cuda TENON_TEST_DATA=$here/tests/data XDG_CACHE_HOME=$here/cache
  {
    echo "## $(date -u +%F), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)"
    echo
    python3 -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)' 2>/dev/null || true
    echo
  } >"$out/summary.md"
  run_tests "$here/bin"
  if [ -z "${TENON_GPU_FAST:-}" ]; then
    if command -v compute-sanitizer >/dev/null; then
      for tool in memcheck racecheck initcheck synccheck; do
        check "sanitizer_$tool" env TENON_FUZZ_COUNT=60 compute-sanitizer --tool "$tool" --error-exitcode 9 "$here/bin/test_device" "-tc=fuzz*"
      done
    fi
    { echo; timeout 500 python3 bench/gpu.py "$here/bin/bench_gpu"; } >>"$out/summary.md" 2>"$out/bench.log" || true
  fi
  printf '\n%s passed, %s failed\n' "$passed" "$failed" | tee -a "$out/summary.md"
  cat "$out/summary.md"
  [ "$failed" = 0 ]
}

simulate() {
  [ $# -gt 0 ] || set -- 1 2 3 4 5 6 7 8
  source scripts/common.sh
  configure_everything
  build release test_cuda test_device alias_fuzz test_gradients cuda_sim
  local bin=$PWD/build/release/bin graphs=${TENON_FUZZ_COUNT:-2000} aliases=${TENON_ALIAS_COUNT:-2000} training=${TENON_TRAINING_COUNT:-300} seed
  local logs
  logs=$(mktemp -d)
  export TENON_TEST_DEVICE=cuda XDG_CACHE_HOME=$logs/cache
  export TENON_CUDA_DRIVER=$bin/libtenon_sim_cuda.so TENON_NVRTC=$bin/libtenon_sim_nvrtc.so TENON_CUBLAS=$bin/libtenon_sim_cublas.so
  for seed in "$@"; do
    echo "seed $seed"
    out=$logs/$seed
    mkdir "$out"
    local arch=90
    if [ $# -gt 1 ] && [ "$seed" = "${*: -1}" ]; then arch=75; fi
    TENON_SIM_ARCH=$arch TENON_SIM_SEED=$seed TENON_FUZZ_SEED=$((1000 * seed)) TENON_FUZZ_COUNT=$((graphs / $#)) TENON_ALIAS_SEED=$((1000 * seed)) \
      TENON_ALIAS_COUNT=$((aliases / $#)) TENON_TRAINING_COUNT=$((training / $#)) run_tests "$bin"
  done
  python3 scripts/check_nvrtc.py "$logs/cache" || failed=$((failed + 1))
  echo "logs: $logs"
  printf '%s passed, %s failed\n' "$passed" "$failed"
  [ "$failed" = 0 ]
}

case "${1:-}" in
  pack) pack ;;
  run) run "${2:-}" ;;
  simulate) shift; simulate "$@" ;;
  *) sed -n '2,18p' "$0"; exit 2 ;;
esac
