#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test, two at a time. Further arguments go to ctest (-R NAME, -V, ...).
source "$(dirname "$0")/common.sh"
install_needs "${BUILD_NEEDS[@]}" "${TEST_NEEDS[@]}"
configure_everything
build release
say "testing"
ctest --test-dir build/release -j2 --output-on-failure "$@"
