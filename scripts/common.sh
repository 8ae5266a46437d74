# Shared by demo.sh, test.sh and .ci/run (sourced, not run): finds or installs what a build needs, configures, builds.
# A tool or header that is already there, from whatever source, is not installed again; INSTALLED names what was.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*"; }

INSTALLED=""

has_compiler() { echo '#include <concepts>' | "${CXX:-c++}" -x c++ -std=c++20 -fsyntax-only -; }
has_header() { echo "#include <$1>" | "${CXX:-c++}" -x c++ -std=c++20 -fsyntax-only -; }

has_cmake() {  # 3.24 or newer
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*//p')
  [ "$(printf '3.24\n%s\n' "$version" | sort -V | head -1)" = 3.24 ]
}

has_llvm() {  # 19 or newer, with its CMake package
  local dir
  for dir in "${LLVM_DIR:-}" /usr/lib/llvm-{19,20,21,22}/lib/cmake/llvm /usr/{,local/}lib{,64}/cmake/llvm; do
    [ -f "$dir/LLVMConfigVersion.cmake" ] &&
      grep -qE 'PACKAGE_VERSION "(19|2[0-9])\.' "$dir/LLVMConfigVersion.cmake" && return 0
  done
  return 1
}

has_filecheck() {
  local dir
  for dir in /usr/lib/llvm-{19,20,21,22}/bin; do [ -x "$dir/FileCheck" ] && return 0; done
  command -v FileCheck
}

# Debian package, then the command that tells whether what it brings is there. The library and the examples need the first
# list, everything else (the tests, and tenon-opt with its tests) the second too.
BUILD_NEEDS=(
  "g++                  has_compiler"
  "cmake                has_cmake"
  "ninja-build          command -v ninja"
  "llvm-19-dev          has_llvm"
  "libzstd-dev          has_header zstd.h"
  "zlib1g-dev           has_header zlib.h"
  "libxxhash-dev        has_header xxhash.h"
  "nlohmann-json3-dev   has_header nlohmann/json.hpp"
  "libminizip-dev       has_header minizip/unzip.h"
  "libpng-dev           has_header png.h"
  "libturbojpeg0-dev    has_header turbojpeg.h"
)
TEST_NEEDS=(
  "libcli11-dev         has_header CLI/CLI.hpp"
  "doctest-dev          has_header doctest/doctest.h"
  "python3              command -v python3"
  "pkg-config           command -v pkg-config"
  "binutils             command -v nm"
  "tcc                  command -v tcc"
  "llvm-19-tools        has_filecheck"
  "mkdocs               command -v mkdocs"
  "graphviz             command -v dot"
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
  local missing log run=()
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -n "${missing// /}" ] || return 0
  if ! command -v apt-get >/dev/null; then
    cat >&2 <<TEXT
This system has no apt-get, and these are missing (Debian names): $missing
Install with your package manager, then run this script again:
  a C++20 compiler (GCC 12 or newer), CMake 3.24 or newer, Ninja,
  LLVM 19.1 or newer with headers and CMake files (set LLVM_DIR if it is in an unusual place), zstd, zlib, minizip,
  libpng, libturbojpeg, xxHash and nlohmann-json headers; for the tests also CLI11 and doctest headers, Python 3, pkg-config, binutils, tcc, Graphviz and LLVM's FileCheck.
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
  log=$(mktemp)
  "${run[@]}" apt-get update -qq >"$log" 2>&1 || true   # old lists may do: what cannot be had shows below
  # shellcheck disable=SC2086
  "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >>"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    echo "apt-get could not install: $missing (all it said: $log)" >&2
    exit 1
  }
  rm -f "$log"
  INSTALLED+=$missing
  missing=$(missing_packages "$@" | tr '\n' ' ')
  if [ -n "${missing// /}" ]; then
    echo "apt-get ran, but this is still not usable: $missing(too old, or CXX=${CXX:-c++} does not find it)" >&2
    exit 1
  fi
}

# configure PRESET [CMAKE ARGUMENT...] sets up build/PRESET, build PRESET [TARGET...] builds the targets, or everything.
configure() {
  local log
  log=$(cmake --preset "$@" 2>&1) || { echo "$log" >&2; exit 1; }
}

# The release build with all its parts, whatever an earlier run chose.
configure_everything() { configure release -DTENON_TESTS=ON -DTENON_EXAMPLES=ON -DTENON_BENCH=ON -DTENON_TOOLS=ON; }

build() {
  local preset=$1 target args=()
  shift
  for target in "$@"; do args+=(--target "$target"); done
  say "building $preset ${*:-(everything)}"
  cmake --build --preset "$preset" "${args[@]}"
}
