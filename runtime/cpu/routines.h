// Calls that a routine of the library computes and no generated code: a plan makes them between its launches. Takes a
// call as fusion makes it (passes/fusion/build.cpp), and memory for its operands and results.
#pragma once

#include "ir/call/call.h"

namespace tenon::runtime {

// `buffers` and `scalars` are the call's own; a buffer without elements is null, and a part of a Cat may lie in its result. Splits
// the work over the thread pool. Throws std::runtime_error for an index out of range, before anything is written, and OutOfMemory.
using Routine = void(const ir::Call& call, void* const* buffers, const uint64_t* scalars);

Routine run_routine;  // that of the call's operation

#define ROUTINE(Name, run) Routine run;
#include "runtime/cpu/routines.def"

}  // namespace tenon::runtime
