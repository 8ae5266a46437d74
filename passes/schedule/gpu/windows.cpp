// Which products are windows, and how large a block's part of them is; see windows.h.
#include "passes/schedule/gpu/windows.h"

#include <algorithm>
#include <map>
#include <set>

namespace tenon::passes::gpu {

namespace {

using ir::Index;

// What an index divides the axis by, or takes it modulo.
void divisors(const Index& index, int axis, std::set<int64_t>& found) {
  for (const Index::Term& term : index.terms()) {
    if (term.axis >= 0 || !term.inner_index().depends_on(axis)) continue;
    for (const int64_t d : {term.modulus, term.divisor}) {
      if (d > 1) found.insert(d);
    }
    divisors(term.inner_index(), axis, found);
  }
}

// Indices of loads, and what guards look at.
std::vector<Index> indices_of(const ir::Kernel& kernel, const std::vector<Value>& values) {
  std::vector<Index> indices;
  for (const Value v : values) {
    const Instr& in = kernel.instr(v);
    if (in.op == Op::Load) indices.push_back(in.index);
    for (const ir::Guard& guard : in.guards) indices.push_back(guard.value);
  }
  return indices;
}

// The axis in parts, outermost first; one part if its divisors do not divide each other.
std::vector<AxisPart> parts_of(const ir::Kernel& kernel, const std::vector<Index>& indices, int axis) {
  std::set<int64_t> by;
  for (const Index& index : indices) divisors(index, axis, by);
  std::vector<AxisPart> parts;
  int64_t stride = 1, extent = kernel.extent(axis);
  for (const int64_t d : by) {
    if (d >= extent || d % stride != 0 || extent % d != 0) continue;
    parts.insert(parts.begin(), {axis, d / stride, stride});
    stride = d;
  }
  parts.insert(parts.begin(), {axis, extent / stride, stride});
  return parts;
}

// Each index as coefficients of the parts, by number; nothing if one is not a sum of them.
std::optional<std::vector<std::vector<int64_t>>> coefficients(const std::vector<Index>& indices, const std::vector<AxisPart>& parts,
                                                              int axes) {
  std::vector<std::vector<int64_t>> all;
  for (const Index& index : indices) {
    const Index in_parts = index.substitute([&](int axis, int64_t extent) {
      Index sum;
      bool found = false;
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].axis != axis) continue;
        sum = sum + Index::axis(axes + static_cast<int>(i), parts[i].extent) * parts[i].stride;
        found = true;
      }
      return found ? sum : Index::axis(axis, extent);
    });
    if (!in_parts.is_affine()) return std::nullopt;
    std::vector<int64_t> of_parts(parts.size(), 0);
    for (const Index::Term& term : in_parts.terms()) {
      if (term.axis >= axes) of_parts[static_cast<size_t>(term.axis - axes)] = term.coefficient;
    }
    all.push_back(std::move(of_parts));
  }
  return all;
}

// The least step >= 1 with which the place moves every index as the tap does; 0 if there is none.
int64_t step_of(const std::vector<std::vector<int64_t>>& indices, size_t place, size_t tap) {
  int64_t step = 0;
  for (const std::vector<int64_t>& index : indices) {
    const int64_t by_place = index[place], by_tap = index[tap];
    if (by_tap == 0 && by_place == 0) continue;
    if (by_tap == 0 || by_place % by_tap != 0 || by_place / by_tap < 1 || (step != 0 && step != by_place / by_tap)) return 0;
    step = by_place / by_tap;
  }
  return step;
}

}  // namespace

std::optional<Windows> find_windows(const ir::Kernel& kernel, const std::vector<Value>& values, const std::vector<int>& columns, int k) {
  const std::vector<Index> indices = indices_of(kernel, values);
  const std::vector<AxisPart> of_k = parts_of(kernel, indices, k);
  if (of_k.size() != 2 && of_k.size() != 3) return std::nullopt;
  std::vector<AxisPart> parts;
  for (const int axis : columns) {
    for (const AxisPart& part : parts_of(kernel, indices, axis)) parts.push_back(part);
  }
  const size_t places = parts.size(), taps = places + of_k.size() - 2;
  parts.insert(parts.end(), of_k.begin(), of_k.end());
  const auto known = coefficients(indices, parts, static_cast<int>(kernel.axes.size()));
  if (!known) return std::nullopt;
  Windows windows;
  if (of_k.size() == 3) windows.channel = of_k[0];
  else windows.channel = {k, 1, kernel.extent(k)};
  windows.tap_row = parts[taps];
  windows.tap_column = parts[taps + 1];
  // Places overlap, or touch: so each element of the image is seen.
  const auto find_place = [&](size_t tap, size_t other) -> std::pair<size_t, int64_t> {
    std::pair<size_t, int64_t> best{places, 0};
    for (size_t place = 0; place < places; ++place) {
      const int64_t step = step_of(*known, place, tap);
      if (place != other && step >= 1 && step <= parts[tap].extent && (best.second == 0 || step < best.second)) best = {place, step};
    }
    return best;
  };
  const auto [column, column_step] = find_place(taps + 1, places);
  const auto [row, row_step] = find_place(taps, column);
  if (column_step == 0 || row_step == 0) return std::nullopt;
  windows.column = parts[column];
  windows.row = parts[row];
  windows.column_step = column_step;
  windows.row_step = row_step;
  for (size_t i = 0; i < places; ++i) {
    if (i != row && i != column) windows.images.push_back(parts[i]);
  }
  return windows;
}

std::optional<WindowTile> choose_window_tile(const Windows& w, const ProductShape& shape, const ir::GpuTarget& target) {
  constexpr double kStagedOfImage = 30, kStagedFilter = 14;  // instructions: places of a patch are divided
  constexpr int64_t kMostShared = 100 << 10, kMostOfChain = ir::kProductChain;
  if (shape.dtype != DType::F32 || shape.depth > kMostOfChain || target.threads != kWindowThreads) return std::nullopt;
  int64_t images = shape.batch;
  for (const AxisPart& part : w.images) images *= part.extent;
  std::optional<WindowTile> best;
  for (const int groups : {1, 2, 4}) {
    for (const int places : {1, 2, 4}) {
      const int64_t filters = int64_t{kFiltersOfThread} * groups, columns = int64_t{kWindowThreads} / groups * places;
      const int64_t rows = std::min(w.row.extent, columns / w.column.extent);
      if (rows == 0) continue;
      const int64_t image = w.channel.extent * w.height(rows) * w.width(), bytes = 4 * (image + shape.depth * (filters + kVector));
      if (bytes > std::min(kMostShared, target.shared_bytes)) continue;
      const double blocks = static_cast<double>(images) * static_cast<double>(ceil_div(w.row.extent, rows) * ceil_div(shape.rows, filters));
      const double multiplied = static_cast<double>(shape.depth) *
                                (multiply_cycles(shape.dtype, target.compute) * kFiltersOfThread * places + 2.0 * (2 + places) + 2);
      const double staged = static_cast<double>(ceil_div(image, kWindowThreads)) * (kStagedOfImage + shape.right_cost) +
                            static_cast<double>(ceil_div(shape.depth * filters, kWindowThreads)) * (kStagedFilter + shape.left_cost);
      const double cycles = cycles_of_blocks(blocks, kWindowThreads, multiplied + staged, 2, target);
      if (!best || cycles < best->cycles) best = WindowTile{groups, places, rows, cycles};
    }
  }
  return best;
}

}  // namespace tenon::passes::gpu
