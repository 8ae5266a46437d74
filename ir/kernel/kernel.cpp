// Axes, buffers and scalars of a kernel.
#include "ir/kernel/kernel.h"

#include <string>
#include <utility>

namespace tenon::ir {

int Kernel::add_axis(std::string name, int64_t extent, AxisKind kind) {
  if (extent < 0) throw IrError("axis " + name + " has a negative extent");
  axes.push_back({std::move(name), extent, kind});
  return static_cast<int>(axes.size()) - 1;
}

int Signature::add_buffer(std::string name, DType dtype, Role role, int64_t numel) {
  if (numel < 0) throw IrError("buffer " + name + " has a negative size");
  buffers.push_back({std::move(name), dtype, role, numel});
  return static_cast<int>(buffers.size()) - 1;
}

int Signature::add_scalar(std::string name, DType dtype) {
  scalars.push_back({std::move(name), dtype});
  return static_cast<int>(scalars.size()) - 1;
}

namespace {

template <typename Of>
std::vector<int> axes_where(const Kernel& kernel, Of of) {
  std::vector<int> result;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    if (of(kernel.axes[a])) result.push_back(static_cast<int>(a));
  }
  return result;
}

template <typename Of>
int64_t extent_where(const Kernel& kernel, Of of) {
  int64_t points = 1;
  bool overflows = false;
  for (const Axis& a : kernel.axes) {
    if (!of(a)) continue;
    if (a.extent == 0) return 0;
    overflows |= __builtin_mul_overflow(points, a.extent, &points);
  }
  if (overflows) throw IrError("the axes of kernel " + kernel.name + " have more than 2^63 points");
  return points;
}

}  // namespace

std::vector<int> axes_of(const Kernel& kernel, AxisKind kind) {
  return axes_where(kernel, [&](const Axis& a) { return a.kind == kind; });
}
std::vector<int> axes_of(const Kernel& kernel, Level level) {
  return axes_where(kernel, [&](const Axis& a) { return level_of(a.kind) == level; });
}
int64_t Kernel::extent_of(AxisKind kind) const {
  return extent_where(*this, [&](const Axis& a) { return a.kind == kind; });
}
int64_t Kernel::extent_of(Level level) const {
  return extent_where(*this, [&](const Axis& a) { return level_of(a.kind) == level; });
}
bool Kernel::has(AxisKind kind) const {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.kind == kind; });
}
bool Kernel::has(Level level) const {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return level_of(a.kind) == level; });
}

}  // namespace tenon::ir
