#!/usr/bin/env bash
# The same program a second time compiles nothing: its kernels come from the disk cache. Usage: check_warm_start.sh PROGRAM [ARGUMENT...]
# where PROGRAM prints a table of kernels that says "compiled" or "from disk", as examples/iris_predict does, or in its last words how
# many "kernels were compiled", as examples/iris_train does. On a GPU (--device cuda) that goes for its kernels and the host's.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compiled() {  # in this output
  sed -n 's/.* \([0-9]*\) kernels were compiled$/\1/p' "$1" | grep . || grep -c ' compiled ' "$1" || true
}
XDG_CACHE_HOME=$folder "$@" >"$folder/cold"
XDG_CACHE_HOME=$folder "$@" >"$folder/warm"
cold=$(compiled "$folder/cold") warm=$(compiled "$folder/warm")
found=$(grep -c ' from disk ' "$folder/warm" || true)
rows=$(grep -c ' compiled ' "$folder/cold" || true)
echo "kernels compiled: $cold cold, $warm warm; found on disk: $found"
[ "$cold" -gt 0 ] && [ "$warm" -eq 0 ] && [ "$found" -ge "$rows" ]
