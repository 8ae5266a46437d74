// LibTorch's header by its own name, for programs that are to be compiled unchanged: add the folder `tenon/libtorch` to the paths of
// the headers, or take CMake's `find_package(Torch)` from there. What it has stands in tenon/compat.h.
#pragma once

#include "tenon/compat.h"  // IWYU pragma: export
