#!/usr/bin/env bash
# The same program a second time compiles nothing: its kernels come from the disk cache. Usage: check_warm_start.sh PROGRAM
# where PROGRAM prints a table of kernels that says "compiled" or "from disk", as examples/iris_predict does.
set -euo pipefail
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
run() { XDG_CACHE_HOME=$cache "$1" | grep -cE "$2" || true; }
cold=$(run "$1" ' compiled ')
warm=$(run "$1" ' compiled ')
found=$(run "$1" ' from disk ')
echo "kernels compiled: $cold cold, $warm warm; found on disk: $found"
[ "$cold" -gt 0 ] && [ "$warm" -eq 0 ] && [ "$found" -gt 0 ]
