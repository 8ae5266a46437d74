#include "runtime/base/memory_sizes.h"

#include "ir/base/text.h"

namespace tenon::runtime {

std::string readable(double value, std::span<const char* const> units, double base) {
  size_t unit = 0;
  for (; value >= base && unit + 1 < units.size(); ++unit) value /= base;
  return ir::fixed_text(value, unit == 0 ? 0 : 2) + " " + units[unit];
}

std::string readable_bytes(double bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return readable(bytes, units, 1024);
}

}  // namespace tenon::runtime
