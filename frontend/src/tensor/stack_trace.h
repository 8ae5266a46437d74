// The call stack as text, for TENON_TRACE=1 and anomaly mode.
#pragma once

#include <string>
#include <vector>

namespace tenon {

// The return addresses of the calls that are running, innermost first, without this one and its caller: cheap, and enough to
// tell the text later.
std::vector<void*> call_stack();
// One line a frame, innermost first: "\n  #0 tenon::mul(...) (libtenon.so.0+0x1234)". Function, file and line where
// the program has debugging information and addr2line (binutils) is there.
std::string text_of_stack(const std::vector<void*>& addresses);

}  // namespace tenon
