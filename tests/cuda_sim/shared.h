// What the stand-ins of NVRTC and cuBLAS use of the driver's library: its counts and faults, its compiler, its streams.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace tenon::cuda_sim {

// Counts a call; a code other than 0 if a test asked for it.
__attribute__((visibility("default"))) int count_call(const char* function);
// Compiles a text as its module will be; the messages if that fails.
__attribute__((visibility("default"))) bool compile_text(const std::string& text, std::string& messages);
// What a call of a library is in a graph: this many nodes, between an allocation and its end if it has no memory of its own.
struct LibraryNodes {
  int kernels = 1;
  bool allocates = false;
};
// Queues work on a stream of the current context, as a kernel is; a code of the driver's. What the body holds is freed after
// it has run, the body itself must allocate nothing.
__attribute__((visibility("default"))) int submit_library_call(void* stream, const std::string& name, std::function<void()> body,
                                                               LibraryNodes nodes);
// The settings "library" and "spills".
__attribute__((visibility("default"))) long library_seed();
__attribute__((visibility("default"))) bool texts_spill();
// The driver's code for a call that needs a current context: 0 if there is one that works.
__attribute__((visibility("default"))) int check_context();

}  // namespace tenon::cuda_sim
