#!/usr/bin/env bash
# Processor time that #include <tenon/tenon.h> alone takes to parse, without a warning: at most LIMIT seconds of the
# user's (default 0.8) in the best of up to ten runs, since other work on the machine only makes a run slower.
# Usage: check_header_time.sh [LIMIT]
set -euo pipefail
cd "$(dirname "$0")/.."
limit=${1:-0.8}
compiler=${CXX:-g++}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo '#include <tenon/tenon.h>' >"$folder/only.cpp"

best=999
TIMEFORMAT=%U
for _ in {1..10}; do
  if ! { time "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -Ifrontend/include "$folder/only.cpp" 2>"$folder/errors"; } \
      2>"$folder/seconds"; then
    cat "$folder/errors" >&2
    exit 1
  fi
  best=$(awk -v a="$best" '{ print ($1 < a ? $1 : a) }' "$folder/seconds")
  if awk -v a="$best" -v b="$limit" 'BEGIN { exit !(a <= b) }'; then
    echo "<tenon/tenon.h> parses in $best s (limit $limit s)"
    exit 0
  fi
done
echo "<tenon/tenon.h> takes $best s to parse (best of 10, limit $limit s)" >&2
exit 1
