// The first thing that every header of Tenon includes: what it cannot be compiled with ends the compilation with one line.
#pragma once

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error Tenon needs C++20 (-std=c++20)
#include <a_compiler_in_cxx20_mode>  // is not there, which ends the compilation here: pages of errors would follow
#endif
#if !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
#error Tenon needs exceptions: its errors are exceptions (leave out -fno-exceptions)
#include <a_compiler_with_exceptions>
#endif
#if !defined(__cpp_rtti) && !defined(_CPPRTTI)
#error Tenon needs run-time type information: modules, optimizers and datasets are asked for their types (leave out -fno-rtti)
#include <a_compiler_with_rtti>
#endif
