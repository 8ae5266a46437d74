#!/usr/bin/env bash
# Holds the public headers, alone and with their templates instantiated, to a program's strictest warnings, and to one line of
# error where the standard is older than C++20.
# Usage: check_compilers.sh [COMPILER...]   (default: every g++ from 12 and clang++ from 14 that is installed)
set -euo pipefail
cd "$(dirname "$0")/../.."
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

installed() {  # each once, whatever its names
  local name path
  for name in g++ g++-{12..18} clang++ clang++-{14..24}; do
    path=$(command -v "$name") || continue
    [ "$("$name" -dumpversion | cut -d. -f1)" -ge "$(case $name in g*) echo 12 ;; *) echo 14 ;; esac)" ] || continue
    echo "$(readlink -f "$path") $name"
  done | sort -u -k1,1 | cut -d' ' -f2
}

headers=()   # what has no #pragma once (tensor_methods.h, compat_names.h, ...) is a part of another
while read -r path; do headers+=("${path#frontend/include/}"); done < <(grep -rlx '#pragma once' frontend/include/tenon | sort)
{
  printf '#include <%s>\n' "${headers[@]}"
  echo "#include \"$PWD/tests/headers/instantiate.cpp\""
} >"$folder/program.cpp"
for header in "${headers[@]}"; do echo "#include <$header>" >"$folder/${header//\//_}.cpp"; done

check_old_standard() {  # FILE: one #error and the end
  local said
  if said=$("$compiler" -std=c++17 -fsyntax-only -Ifrontend/include "$1" 2>&1); then
    echo "$compiler -std=c++17 takes $(cat "$1")" >&2
    return 1
  fi
  [ "$(grep -c 'Tenon needs C++20' <<<"$(grep 'error:' <<<"$said")")" = 1 ] && [ "$(grep -c 'error:' <<<"$said")" = 2 ] && return 0
  echo "$compiler -std=c++17 on $(cat "$1") says" >&2
  echo "$said" >&2
  return 1
}

check_option() {  # OPTION SENTENCE: a program compiled with the option is told that it cannot be
  local said
  if said=$("$compiler" -std=c++20 "$1" -fsyntax-only -Ifrontend/include "$folder/tenon_tenon.h.cpp" 2>&1) || ! grep -q "$2" <<<"$said"; then
    echo "$compiler $1 does not say '$2':" >&2
    echo "$said" >&2
    return 1
  fi
}

compilers=("$@")
[ $# -gt 0 ] || readarray -t compilers < <(installed)
for compiler in "${compilers[@]}"; do
  mode=(-fsyntax-only)
  "$compiler" --version | grep -q clang || mode=(-O2 -c -o "$folder/program.o")   # some of GCC's warnings are its optimiser's
  "$compiler" -std=c++20 "${mode[@]}" "${warnings[@]}" -Ifrontend/include "$folder/program.cpp"
  check_old_standard "$folder/tenon_tenon.h.cpp"
  check_option -fno-rtti 'needs run-time type information'
  check_option -fno-exceptions 'needs exceptions'
  "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Ifrontend/include tests/headers/libtorch_program.cpp
  echo "$("$compiler" --version | head -1): ${#headers[@]} headers and their templates without a warning; one error below C++20"
done
# Each header by itself brings what it needs, and asks for C++20.
compiler=${compilers[0]}
for header in "${headers[@]}"; do check_old_standard "$folder/${header//\//_}.cpp"; done
printf '%s\0' "$folder"/*.h.cpp |
  xargs -0 -P "$(nproc)" -n 1 "$compiler" -std=c++20 "${warnings[@]}" -Ifrontend/include -fsyntax-only
echo "each header compiles alone"
