// Numbers as Python writes them: repr, and format with a format spec ("10.8f", ">8.2f", "+,d", ".1%").
#pragma once

#include <string>
#include <string_view>

#include "tenon/types.h"

namespace tenon {

// The shortest digits that read back as the same double: 0.1, 1e-05, 1e+16, inf.
std::string python_repr(double value);
std::string python_repr(const Scalar& value);

// format(value, spec) of a Python float, int or bool; ValueError with Python's text if the spec is not
// theirs. https://docs.python.org/3/library/string.html#format-specification-mini-language
std::string python_format(const Scalar& value, std::string_view spec);

}  // namespace tenon
