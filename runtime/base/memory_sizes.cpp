#include "runtime/base/memory_sizes.h"

#include <iterator>

#include "ir/base/text.h"

namespace tenon::runtime {

std::string readable_bytes(double bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return ir::fixed_text(bytes, unit == 0 ? 0 : 2) + " " + units[unit];
}

}  // namespace tenon::runtime
