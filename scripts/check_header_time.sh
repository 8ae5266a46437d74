#!/usr/bin/env bash
# Processor time that #include <tenon/tenon.h> alone takes to parse: best of five, at most LIMIT seconds (default 1.0),
# and without a warning.
# Usage: check_header_time.sh [LIMIT]
set -euo pipefail
cd "$(dirname "$0")/.."
limit=${1:-1.0}
compiler=${CXX:-g++}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo '#include <tenon/tenon.h>' >"$folder/only.cpp"

best=999
TIMEFORMAT="%U %S"
for _ in 1 2 3 4 5; do
  if ! { time "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -Ifrontend/include "$folder/only.cpp" 2>"$folder/errors"; } \
      2>"$folder/seconds"; then
    cat "$folder/errors" >&2
    exit 1
  fi
  best=$(awk -v a="$best" -v b="$(awk '{ print $1 + $2 }' "$folder/seconds")" 'BEGIN { print (b < a ? b : a) }')
done
echo "<tenon/tenon.h> parses in $best s (best of 5, limit $limit s)"
awk -v a="$best" -v b="$limit" 'BEGIN { exit !(a <= b) }'
