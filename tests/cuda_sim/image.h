// What the simulated NVRTC makes of a text and the simulated driver takes as a module: one line that says what it is, with a
// checksum over what follows, then the text.
//
//   TENON-SIM cubin 90 15234 8c9f0a4d11e26b73\n<15234 bytes of CUDA C>
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tenon::cuda_sim {

struct Image {
  bool ptx = false;  // compiled by the driver for its device, which may be newer
  int arch = 0;
  std::string text;
};

std::string pack(const Image& image);
// Nothing if it is not one, or not whole. A real cubin is the image that TENON_SIM_CUBINS has for it.
std::optional<Image> unpack(const char* bytes);

}  // namespace tenon::cuda_sim
