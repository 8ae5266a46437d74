# Shared by demo.sh, test.sh and .ci/run (sourced, not run): finds or installs what a build needs, configures, builds.
# A tool or header that is already there, from whatever source, is not installed again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*"; }

has_header() { echo "#include <$1>" | c++ -x c++ -std=c++20 -fsyntax-only - 2>/dev/null; }

has_llvm() {  # 19 or newer, with its CMake package
  local dir
  for dir in "${LLVM_DIR:-}" /usr/lib/llvm-{19,20,21,22}/lib/cmake/llvm /usr/{,local/}lib{,64}/cmake/llvm; do
    [ -f "$dir/LLVMConfigVersion.cmake" ] &&
      grep -qE 'PACKAGE_VERSION "(19|2[0-9])\.' "$dir/LLVMConfigVersion.cmake" && return 0
  done
  return 1
}

# Debian package, then the command that tells whether what it brings is there. g++ comes first: the header probes use it.
BUILD_NEEDS=(
  "g++                  command -v c++"
  "cmake                command -v cmake"
  "ninja-build          command -v ninja"
  "llvm-19-dev          has_llvm"
  "libzstd-dev          has_header zstd.h"
  "zlib1g-dev           has_header zlib.h"
  "libxxhash-dev        has_header xxhash.h"
  "nlohmann-json3-dev   has_header nlohmann/json.hpp"
  "libzip-dev           has_header zip.h"
  "libcli11-dev         has_header CLI/CLI.hpp"
)
TEST_NEEDS=(
  "doctest-dev          has_header doctest/doctest.h"
  "python3              command -v python3"
  "pkg-config           command -v pkg-config"
  "binutils             command -v nm"
  "tcc                  command -v tcc"
)

missing_packages() {  # the packages among "package probe..." lines whose probe fails
  local line package probe
  for line in "$@"; do
    read -r package probe <<<"$line"
    eval "$probe" >/dev/null 2>&1 || echo "$package"
  done
}

# Installs what is missing, with apt-get where that is possible; otherwise says what to install and stops.
install_needs() {
  local missing run=()
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -n "${missing// /}" ] || return 0
  if ! command -v apt-get >/dev/null; then
    cat >&2 <<TEXT
This system has no apt-get, and these are missing (Debian names): $missing
Install with your package manager, then run this script again:
  a C++20 compiler (GCC 12 or newer), CMake 3.24 or newer, Ninja,
  LLVM 19.1 or newer with headers and CMake files (set LLVM_DIR if it is in an unusual place), zstd, zlib, libzip,
  xxHash, nlohmann-json and CLI11 headers; for the tests also doctest, Python 3, pkg-config and binutils.
TEXT
    exit 1
  fi
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Not root and no sudo: have an administrator run  apt-get install $missing" >&2
      exit 1
    fi
    run=(sudo)
  fi
  say "installing: $missing"
  "${run[@]}" apt-get update -qq
  # shellcheck disable=SC2086
  "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
  missing=$(missing_packages "$@" | tr '\n' ' ')
  if [ -n "${missing// /}" ]; then
    echo "apt-get ran, but this is still not usable: $missing" >&2
    exit 1
  fi
}

# build PRESET [TARGET...]: configures build/PRESET and builds the targets, or everything.
build() {
  local preset=$1 target args=() log
  shift
  for target in "$@"; do args+=(--target "$target"); done
  say "building $preset ${*:-(everything)}"
  log=$(cmake --preset "$preset" 2>&1) || { echo "$log" >&2; exit 1; }
  cmake --build --preset "$preset" "${args[@]}"
}
