#!/usr/bin/env bash
# Installs a build into an empty prefix, moves the prefix, builds examples/consumer against it through find_package and
# through pkg-config, and compares what both programs print.
# Usage: check_consumer.sh BUILD_FOLDER
set -euo pipefail
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../examples/consumer" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/prefix"   # nothing may point back to where it was installed
prefix=$folder/prefix

cmake -G Ninja -S "$source" -B "$folder/cmake" -DCMAKE_PREFIX_PATH="$prefix" >"$folder/log" 2>&1 &&
  cmake --build "$folder/cmake" >>"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
"$folder/cmake/consumer" >"$folder/by_cmake"

pc=$(find "$prefix" -name tenon.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*}
read -ra flags <<<"$(pkg-config --cflags --libs tenon)"
"${CXX:-c++}" -std=c++20 "$source/main.cpp" "${flags[@]}" -o "$folder/by_hand"
LD_LIBRARY_PATH=$libdir "$folder/by_hand" >"$folder/by_pkg_config"

cmp "$folder/by_cmake" "$folder/by_pkg_config"
diff "$source/expected.txt" "$folder/by_cmake"
echo "built and ran from an installed, moved tree, through find_package and through pkg-config"
