#!/usr/bin/env bash
# Installs what is missing, builds the library and runs the main example: a small network learns the iris flowers.
source "$(dirname "$0")/common.sh"
say "Tenon's demo: installs the Debian packages that are missing, builds the library in build/release and runs examples/iris_train.cpp"
install_needs "${BUILD_NEEDS[@]}"
# Without what only the tests need, whatever an earlier run chose.
configure release -DTENON_TESTS=OFF -DTENON_BENCH=OFF -DTENON_TOOLS=OFF
build release iris_train
say "running build/release/bin/iris_train"
build/release/bin/iris_train --curve=build/release/iris_train.svg
say "done in $((SECONDS / 60)) min $((SECONDS % 60)) s; packages installed: ${INSTALLED:-none were missing}"
say "next: read README.md ('Ten lines', 'In your project'); change examples/hello.cpp and see it run:"
say "  cmake --build build/release --target hello && build/release/bin/hello"
say "or run every test: scripts/test.sh"
