// A matrix in shared memory: how its lines lie there, so that neither who writes it nor who reads it meets a bank twice.
//
// For tensor cores a line is cut into pieces of eight halves, 16 bytes, and piece p of line l lies in the place of piece p ^ turn(l)
// of that line. A line of n pieces begins n mod 8 places further on than the line before, in the eight places that all banks are: with
// g the greatest of 8, 4, 2, 1 that divides n, turn(l) = l / (8 / g) mod g sends eight pieces one below the other to eight places.
//
//   n = 4      line 0   0 1 2 3      line 2   5 4 7 6           each number a piece; a row of eight is all banks
//              line 1   0 1 2 3 (+4) line 3   5 4 7 6 (+4)      turn(0) = turn(1) = 0, turn(2) = turn(3) = 1, ...
//
// Private to passes/schedule/gpu/.
#pragma once

#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

constexpr int kPiece = 8;  // halves
constexpr int kTurns = 8;  // lines after which pieces are turned as before

class Pieces {
 public:
  // Lines of `pitch` elements, a multiple of eight.
  explicit Pieces(int64_t pitch = kPiece);
  int64_t pitch() const { return pitch_; }
  // Where an element is. Up to eight neighbours are together, where the first is at a multiple of their number.
  ValueId place(Context& c, ValueId line, ValueId element) const;

 private:
  friend class TileReader;
  ValueId turn(Context& c, ValueId line) const;  // of elements: eight times that of pieces

  int64_t pitch_, group_;
};

// What a thread names of tiles of 16x16 (load_tile, ir/looptree/looptree.h) of such a matrix, factors of mma: as it lies, or turned over.
enum class Factor : uint8_t { Left, Right };
class TileReader {
 public:
  TileReader(Context& c, const Pieces& pieces, Factor factor, bool turned);
  // The tile of 16 lines from `line` on and 16 elements from `element` on, both multiples of 16, in the part of the buffer that begins at
  // `base`. A line is `line` and `further`, which unrolled loops know: it is added last, and costs no instruction.
  ValueId load(Context& c, int32_t buffer, ValueId base, ValueId line, ValueId further, ValueId element) const;

 private:
  int64_t pitch_;
  bool turned_;
  ValueId line_, element_;  // of the thread: the offset of its line; its piece, turned as that line is
};

}  // namespace tenon::passes::gpu
