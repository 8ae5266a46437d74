// The first thing that every header of Tenon includes: an older standard ends the compilation with one line.
#pragma once

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error Tenon needs C++20 (-std=c++20)
#include <a_compiler_in_cxx20_mode>  // is not there, which ends the compilation here: pages of errors would follow
#endif
