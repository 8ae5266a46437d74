// The call stack as text, for TENON_TRACE=1.
#pragma once

#include <string>

namespace tenon {

// One line a frame, innermost first: "\n  #0 tenon::mul(...) (libtenon.so.0+0x1234)". Function, file and line where
// the program has debugging information and addr2line (binutils) is there.
std::string stack_trace();

}  // namespace tenon
