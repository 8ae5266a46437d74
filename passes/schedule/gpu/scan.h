// Scans on a GPU: the programs, and which of them takes a kernel. Private to passes/schedule/gpu/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::gpu {

// Whether every scan of the kernel has the same bits however its elements are grouped: of integers, which wrap, and of extremes.
bool scans_are_associative(const ir::Kernel& kernel);

// Split: lines are cut into pieces, which takes several phases.
enum class ScanProgram : uint8_t {
  Columns,  // a thread walks a line, or a piece of one if the scans are associative
  ColumnsSplit,
  Groups,  // associative scans: part of a warp, a warp or a block takes a line, or a piece of one
  GroupsSplit,
  Tiles,  // a thread walks a line that passes through shared memory tile by tile
  TilesSplit,
};
Choice choose_scan(const ir::Kernel& kernel, const ir::GpuTarget& target);
Choice choose_scan_in_groups(const ir::Kernel& kernel, const ir::GpuTarget& target);
Choice choose_scan_in_tiles(const ir::Kernel& kernel, const ir::GpuTarget& target);
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

// What all programs know of the lines, and do with them.
class Scan : protected Staged {
 protected:
  Scan(Context& c, LinePieces pieces);
  void each(Value, const std::function<void(int)>& f) override { f(0); }
  bool is_split() const { return pieces_.count > 1; }
  // The number of a line, or of some lines, and that of its piece, none where lines are whole.
  std::pair<ValueId, ValueId> piece_of(ValueId number);
  // Where a piece of so many elements begins and ends, or a line where `piece` is kNone.
  std::pair<ValueId, ValueId> ends_of(ValueId piece, int64_t elements);
  // The loop's instructions for an element, with or without stores.
  std::vector<Value> of_element(int l, bool stores) const;

  Context& c_;
  const std::vector<int> lines_;
  const int serial_;
  const int64_t count_, length_;  // lines, and elements of each
  const LinePieces pieces_;
  int scan_loops_ = 0;  // that have scans
};

}  // namespace tenon::passes::gpu
