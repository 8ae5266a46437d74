// The parts of text.h that are no templates.
#include "frontend/src/tensor/text.h"

#include <cstring>

namespace tenon {

std::string error_text(int number) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
  if (const char* english = strerrordesc_np(number)) return english;
#endif
  return std::strerror(number);
}

}  // namespace tenon
