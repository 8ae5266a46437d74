// How a layer's options are printed: as Python does, or as LibTorch's C++ does (set_print_style).
#pragma once

#include <string>

#include "tenon/array_ref.h"

namespace tenon::nn {

bool as_libtorch();
std::string own(const char* name);  // the name of a layer
std::string listed(IntArrayRef values, const char* brackets);
const char* shown(bool value);
std::string shown(double value);        // Python's shortest text of a float: 0.5, 1.0, 1e-05; or a stream's: 0.5, 1, 1e-05
std::string shown(IntArrayRef values);  // (2, 3) and (2,), or [2, 3]
// One number for each dim: a list, but LibTorch writes that of one dim without brackets.
std::string shown_dims(IntArrayRef values);
// In Python as a user gave it: one number if all are the same.
std::string shown_as_given(IntArrayRef values);
// The same of an adaptive pool; what is absent, or -1, keeps the input's size.
std::string shown_output(IntArrayRef values);

}  // namespace tenon::nn
