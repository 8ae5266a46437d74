// Scans on a GPU: the ways to go about it, between which lower_scan chooses. Private to passes/schedule/gpu/.
#pragma once

#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

// Whether every scan of the kernel has the same bits however its elements are grouped: of integers, which wrap, and of extremes.
bool scans_are_associative(const Context& c);
// How many pieces of whole steps to cut lines of `steps` in, that so many pieces run at once: at least `fewest` steps a piece.
struct LinePieces {
  int64_t count, steps;  // of a line; of a piece, the last one may be shorter
};
LinePieces cut_lines(int64_t lines, int64_t steps, int64_t fewest, int64_t at_once);

void scan_across_lines(Context& c);  // a thread walks a line, or a piece of one if the scans are associative
void scan_by_teams(Context& c);      // associative scans: part of a warp, a warp or a block takes a line, or a piece of one
// A thread walks a line that passes through shared memory tile by tile. `along`: neighbours in memory belong to the same line.
void scan_in_tiles(Context& c, bool along);

}  // namespace tenon::passes::gpu
