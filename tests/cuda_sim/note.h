// A line behind a text that the real NVRTC compiled: the registers and the local memory that it gave a thread of a kernel.
#pragma once

#include <string>

namespace tenon::cuda_sim {

inline std::string registers_note(const std::string& kernel, unsigned registers, unsigned local_bytes) {
  return "// NVRTC's registers and local bytes of " + kernel + ": " + std::to_string(registers) + " " + std::to_string(local_bytes) + "\n";
}

}  // namespace tenon::cuda_sim
