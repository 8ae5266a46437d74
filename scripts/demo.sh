#!/usr/bin/env bash
# Installs what is missing, builds the library and runs the main example: a small network on the iris flowers.
source "$(dirname "$0")/common.sh"
install_needs "${BUILD_NEEDS[@]}"
build release iris_predict
build/release/bin/iris_predict
