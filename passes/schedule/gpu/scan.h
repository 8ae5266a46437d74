// Scans on a GPU: the programs, and which of them takes a kernel. Private to passes/schedule/gpu/.
#pragma once

#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

// Whether every scan of the kernel has the same bits however its elements are grouped: of integers, which wrap, and of extremes.
bool scans_are_associative(const ir::Kernel& kernel);

enum class ScanWay : uint8_t {
  Columns,  // a thread walks a line, or a piece of one if the scans are associative
  Groups,   // associative scans: part of a warp, a warp or a block takes a line, or a piece of one
  Tiles,    // a thread walks a line that passes through shared memory tile by tile
};
struct ScanProgram {
  ScanWay way;
  bool split;  // lines are cut into pieces, which takes several phases
  bool operator==(const ScanProgram&) const = default;
};
ScanProgram scan_program(const ir::Kernel& kernel, const ir::GpuTarget& target);
void scan_columns(Context& c);
void scan_in_groups(Context& c);
void scan_in_tiles(Context& c);

// Whether the elements of a line, rather than neighbouring lines, lie side by side.
bool lies_along_lines(const ir::Kernel& kernel);

// How many pieces of whole steps to cut lines of `steps` in, that so many pieces run at once: at least `fewest` steps a piece.
struct LinePieces {
  int64_t count, steps;  // of a line; of a piece, the last one may be shorter
};
LinePieces cut_lines(int64_t lines, int64_t steps, int64_t fewest, int64_t at_once);
LinePieces pieces_of_groups(const ir::Kernel& kernel, const ir::GpuTarget& target);
LinePieces pieces_of_tiles(const ir::Kernel& kernel, const ir::GpuTarget& target);

}  // namespace tenon::passes::gpu
