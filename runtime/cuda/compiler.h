// CUDA C text -> machine code of one GPU, by NVRTC. It needs no device and may be called from several threads.
#pragma once

#include <string>

namespace tenon::runtime::cuda {

// What NVRTC is asked for: code of the newest architecture that it knows and the device runs; if the device is newer than all of
// them, PTX, which the driver translates.
struct Architecture {
  int number = 0;  // 90: sm_90
  bool ptx = false;
  std::string text() const { return (ptx ? "compute_" : "sm_") + std::to_string(number); }
};
Architecture architecture_for(int compute_capability);  // 90; throws std::runtime_error if it is older than all of them
std::string compiler_version();                         // "13.0"

// A cubin, or PTX. Throws std::runtime_error with the compiler's log. A schedule's number of blocks a multiprocessor rests on an estimate:
// where registers spill with it, the text is compiled again without.
std::string compile(const std::string& text, const Architecture& architecture);
std::string compile_to_ptx(const std::string& text, const Architecture& architecture);

}  // namespace tenon::runtime::cuda
