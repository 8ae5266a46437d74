#!/usr/bin/env bash
# A project that takes Tenon in with add_subdirectory (as FetchContent does) gets tenon::tenon and nothing else: no tests or programs
# of Tenon's, no flag, no setting, nothing in its installation. Configures only, without LLVM.
# Usage: check_subproject.sh
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*" >&2; exit 1; }

cat >"$folder/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.24)
project(host LANGUAGES CXX)
enable_testing()
set(settings CMAKE_BUILD_TYPE CMAKE_CXX_STANDARD CMAKE_CXX_FLAGS CMAKE_POSITION_INDEPENDENT_CODE CMAKE_EXPORT_COMPILE_COMMANDS
    CMAKE_RUNTIME_OUTPUT_DIRECTORY CMAKE_LIBRARY_OUTPUT_DIRECTORY CMAKE_CXX_COMPILER_LAUNCHER CMAKE_BUILD_RPATH_USE_ORIGIN BUILD_TESTING)
foreach(name \${settings})
  set(before_\${name} "\${\${name}}")
endforeach()
add_subdirectory("$source" tenon)
foreach(name \${settings})
  if(NOT "\${\${name}}" STREQUAL "\${before_\${name}}")
    message(FATAL_ERROR "\${name} was '\${before_\${name}}' and is '\${\${name}}'")
  endif()
endforeach()
foreach(property COMPILE_OPTIONS LINK_OPTIONS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS TESTS)
  get_directory_property(value \${property})
  if(value)
    message(FATAL_ERROR "the host's \${property}: \${value}")
  endif()
endforeach()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_executable(host host.cpp)
target_link_libraries(host PRIVATE tenon::tenon)
install(TARGETS host)
TEXT
echo '#include <tenon/tenon.h>
int main() { return tenon::ones({1}).item<int>() - 1; }' >"$folder/host.cpp"

cmake -G Ninja -S "$folder" -B "$folder/build" -DTENON_LLVM=OFF >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
command=$(grep '"command".*host.cpp' "$folder/build/compile_commands.json")
! grep -qE -- '-Wall|-Werror|-ffp-contract|-fno-' <<<"$command" || fail "Tenon's flags reach the host: $command"
targets=$(ninja -C "$folder/build" -t targets all)
! grep -E '^(tenon/)?(bin/)?(test_|bench_|tenon-opt|iris_|cifar_train|mnist_mlp|hello|ulp_sweep)' <<<"$targets" || fail "programs of Tenon's are built"
[ "$(ctest --test-dir "$folder/build" -N | grep -c 'Test *#')" = 0 ] || fail "tests of Tenon's reach the host"
! grep -riq 'tenon' "$folder/build/tenon/cmake_install.cmake" 2>/dev/null ||
  [ "$(grep -c 'file(INSTALL' "$folder/build/tenon/cmake_install.cmake")" = 0 ] || fail "Tenon is installed with the host"
ninja -C "$folder/build" CMakeFiles/host.dir/host.cpp.o >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
echo "taken in by another project: tenon::tenon, and nothing else"
