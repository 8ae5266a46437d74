// The end of the process. The library's static objects, and those of the LLVM that is linked into it, are never destroyed: tensors
// in static objects, exit handlers and threads that still run may evaluate to the last moment. (The linker sends every
// registration of a static's destructor to exit.cpp, which drops it: --wrap in CMakeLists.txt.)
#pragma once

namespace tenon::ir {

void at_exit(void (*handler)());  // as std::atexit, which would be dropped too

}  // namespace tenon::ir
