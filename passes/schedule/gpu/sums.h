// The sums of a block's tile: which worker holds which, how it multiplies a slice of both operands, and how the sums get to shared
// memory, where the epilogue finds them. One kind for threads, one for warps. Private to passes/schedule/gpu/.
#pragma once

#include <memory>
#include <string>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes::gpu {

// A slice of an operand in shared memory: `width` rows (of the right operand: columns) by the depth of the tile.
struct Panel {
  DType dtype = DType::F32;
  bool along_depth = false;  // neighbouring threads stage neighbouring k, not neighbouring rows
  int width = 0;
  bool k_innermost = false;  // else rows are
  int pitch = 0;             // how far the next row, else the next k, lies
  int32_t shared = -1;
};

class Sums {
 public:
  virtual ~Sums() = default;

  // --- what is staged
  Panel left, right;
  int together = 1;          // so many neighbours, along_depth or not, are put there as one vector
  bool zero_filled = false;  // past the last k there must be zeros

  // --- in the phase
  virtual void begin() = 0;              // all sums are 0
  virtual void multiply(ValueId k) = 0;  // the slice that begins at k

  // --- the sums to shared memory, `strips` times `strip_rows` rows of the tile
  int strips = 0, strip_rows = 0, pitch = 0;
  int32_t shared = -1;
  virtual void pass(ValueId strip) = 0;
  virtual ValueId row(ValueId strip, ValueId number) = 0;  // the row of the tile that is number `number` there

 protected:
  Sums(Context& c, const Tile& t) : c_(c), b_(c.builder), tile_(t) {}
  Context& c_;
  ir::TreeBuilder& b_;
  const Tile& tile_;
};

inline ValueId multiply_add(Context& c, ValueId x, ValueId y, ValueId acc) {
  if (ir::is_float(c.builder.type(acc).dtype)) return c.builder.op(Op::Fma, {x, y, acc});
  return c.builder.op(Op::Add, {c.builder.op(Op::Mul, {x, y}), acc});
}

// The panels come with dtype and along_depth. k: the axis that is summed over.
std::unique_ptr<Sums> sums_of_threads(Context& c, const Tile& tile, int k, const Panel& left, const Panel& right, DType dtype);
std::unique_ptr<Sums> sums_of_warps(Context& c, const Tile& tile, const Panel& left, const Panel& right);

}  // namespace tenon::passes::gpu
