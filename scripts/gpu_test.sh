#!/usr/bin/env bash
# Tenon on a machine with an NVIDIA GPU that has neither LLVM nor our packages.
#
#   scripts/gpu_test.sh pack            here: builds what is needed and packs it into .gpu/bundle.tar.xz (git ignores it): programs with
#                                       LLVM linked in, data, and a disk cache with the machine code of all kernels that the runs
#                                       will meet, made by NVRTC here (where it lies: TENON_NVRTC_FILE, else the usual places)
#   scripts/gpu_test.sh first [FOLDER]  there, 8 minutes: facts and ceilings, a row for each schedule and type, graphs and faults,
#                                       benchmarks beside PyTorch, counters, sanitizers, golden cases, random programs until the time
#                                       is over. FOLDER (.gpu/out) has summary.md, rows.json and logs.tgz at any moment
#   scripts/gpu_test.sh second [FOLDER] there, 4 minutes: what failed in the first run (its rows.json as .gpu/rows.json), torch.compile,
#                                       the model of tiles, the other sanitizers, more random programs
#   scripts/gpu_test.sh dry [N]         here: both runs on the simulated GPU with the bundle, the first killed N times (20) too
#   scripts/gpu_test.sh simulate [SEED...]
#                                       here: all CUDA tests on the simulated GPU, once for each seed (1 ... 8); a seed draws the
#                                       order of streams, and of each launch's blocks and threads (forward, backward, at
#                                       random). Random programs are divided among the seeds. The GPU is an sm_90; for the
#                                       last of several seeds an sm_75, whose kernels use no tensor cores. Then the real
#                                       NVRTC, if it is installed, compiles every kernel that was met, for sm_75, sm_80 and sm_90
#
# `first` and `second` take the options of scripts/gpu/gpu_run.py behind the folder. Ends with 1 if a test failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PROGRAMS=(gpu_smoke gpu_facts bench_gpu test_device test_cuda alias_fuzz test_gradients)

pack() {
  source scripts/common.sh
  install_needs "${BUILD_NEEDS[@]}" "${TEST_NEEDS[@]}"
  configure_everything
  build release "${PROGRAMS[@]}" cuda_sim
  rm -rf .gpu
  python3 scripts/gpu/gpu_pack.py build/release/bin ${TENON_NVRTC_FILE:+--library "$TENON_NVRTC_FILE"}
}

there() {  # first|second [FOLDER [OPTION...]]
  local run=$1 out=${2:-.gpu/out}
  exec python3 scripts/gpu/gpu_run.py "$run" "$out" "${@:3}"
}

passed=0 failed=0
check() {  # NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  if timeout 900 "$@" >"$out/$name.log" 2>&1; then
    passed=$((passed + 1))
    echo "| $name | passed | $((SECONDS - start)) s | $(grep -hoE 'MESSAGE: .*' "$out/$name.log" | tail -1 | cut -c10-) |"
  else
    failed=$((failed + 1))
    echo "| $name | **failed** | $((SECONDS - start)) s | $(grep -hE 'ERROR|error' "$out/$name.log" | head -1 | tr '|' '/') |"
  fi
}

# BIN: the folder of the programs.
run_tests() {
  local bin=$1
  check frontend_and_faults env TENON_FAULTS="${TENON_FAULTS:-12}" "$bin/test_cuda"
  check golden "$bin/test_device" "-tc=golden*"
  check fuzz_graphs env TENON_FUZZ_COUNT="${TENON_FUZZ_COUNT:-2000}" "$bin/test_device" "-tc=fuzz*"
  check fuzz_aliases "$bin/alias_fuzz" "${TENON_ALIAS_COUNT:-2000}" "${TENON_ALIAS_SEED:-5}"
  check fuzz_training env TENON_FUZZ_COUNT="${TENON_TRAINING_COUNT:-300}" "$bin/test_gradients" "-tc=tape*"
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
  python3 scripts/gpu/check_nvrtc.py "$logs/cache" || failed=$((failed + 1))
  echo "logs: $logs"
  printf '%s passed, %s failed\n' "$passed" "$failed"
  [ "$failed" = 0 ]
}

case "${1:-}" in
  pack) pack ;;
  first | second) there "$@" ;;
  dry) python3 scripts/gpu/check_gpu_run.py build/release/bin --work .gpu --kills "${2:-20}" ;;
  simulate) shift; simulate "$@" ;;
  *) sed -n '2,24p' "$0"; exit 2 ;;
esac
