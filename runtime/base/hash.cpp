// XXH3 lives in this one translation unit, header-only, so that nothing links to libxxhash.
#include "runtime/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tenon::runtime {

Hash128 hash128(const void* data, size_t bytes) {
  XXH128_hash_t h = XXH3_128bits(data, bytes);
  return {h.low64, h.high64};
}

std::string Hash128::hex() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[15 - i] = digits[(high >> (4 * i)) & 15];
    text[31 - i] = digits[(low >> (4 * i)) & 15];
  }
  return text;
}

}  // namespace tenon::runtime
