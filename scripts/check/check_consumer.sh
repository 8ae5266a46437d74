#!/usr/bin/env bash
# Installs a build into an empty prefix and moves the prefix. Then builds, from the installed tree alone, examples/consumer through
# find_package in both spellings and through pkg-config, compares what the programs print, and builds an example and a program that
# was written for LibTorch.
# Usage: check_consumer.sh BUILD_FOLDER
set -euo pipefail
build=$(cd "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/prefix"   # nothing may point back to where it was installed
prefix=$folder/prefix
examples=$prefix/share/doc/tenon/examples
for file in LICENSE README.md docs/README.md; do test -s "$prefix/share/doc/tenon/$file"; done

build_with_cmake() {  # SOURCE TARGET [OPTION]
  { cmake -G Ninja -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$prefix" "${@:3}" && cmake --build "$1/build" --target "$2"; } \
    >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
}
build_with_cmake "$examples/consumer" consumer
"$examples/consumer/build/consumer" >"$folder/by_cmake"
cp -r "$examples/consumer" "$folder/capital"
rm -r "$folder/capital/build"
sed -i 's/find_package(tenon/find_package(Tenon/' "$folder/capital/CMakeLists.txt"
build_with_cmake "$folder/capital" consumer
"$folder/capital/build/consumer" >"$folder/by_capital"

pc=$(find "$prefix" -name tenon.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*}
read -ra flags <<<"$(pkg-config --cflags --libs tenon)"
"${CXX:-c++}" -std=c++20 "$examples/consumer/main.cpp" "${flags[@]}" -o "$folder/by_hand"
LD_LIBRARY_PATH=$libdir "$folder/by_hand" >"$folder/by_pkg_config"
"${CXX:-c++}" -std=c++20 "$examples/hello.cpp" "${flags[@]}" -o "$folder/hello"   # README's line
LD_LIBRARY_PATH=$libdir "$folder/hello" | diff "$examples/expected/hello.txt" -

cmp "$folder/by_cmake" "$folder/by_capital"
cmp "$folder/by_cmake" "$folder/by_pkg_config"
diff "$examples/consumer/expected.txt" "$folder/by_cmake"
build_with_cmake "$examples" iris_predict
"$examples/build/iris_predict" | grep -q '30 of 30 right'
build_with_cmake "$examples/libtorch" line -DTorch_DIR="${pc%/*/*}/cmake/tenon/libtorch"
[ "$("$examples/libtorch/build/line")" = "y = 3 x + -2" ]
echo "built and ran from an installed, moved tree: through find_package(tenon) and (Tenon), through pkg-config, an example, and a program for LibTorch"
