#!/usr/bin/env bash
# Checks that every C++ source is as clang-format writes it (.clang-format), and that no line has more than 140 characters, but for the
# texts in tests. Headers and sources that a script prints are left out. CI runs it with version 14, Debian 12's (CLANG_FORMAT names
# the program); others break some lines elsewhere.
#
#   check_format.sh          prints what differs; exits with 1 if anything does
#   check_format.sh --fix    formats
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mapfile -t sources < <(find ir passes codegen compiler runtime frontend tools examples bench tests -name '*.h' -o -name '*.cpp' | sort |
                       xargs grep -LE '^// Printed from |Written by scripts/print/')
if [ "${1:-}" = --fix ]; then mode=(-i); else mode=(--dry-run -Werror); fi
failed=0
printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 40 "${CLANG_FORMAT:-clang-format}" "${mode[@]}" || failed=1
awk 'length($0) > 140 && FILENAME !~ /^tests/ { print FILENAME ":" FNR ": a line of " length($0) " characters"; long = 1 } END { exit long }' "${sources[@]}" || failed=1
[ $failed = 0 ] && echo "${#sources[@]} sources are formatted"
exit $failed
