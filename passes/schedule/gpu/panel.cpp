// Where the elements of a matrix in shared memory lie; see panel.h.
#include "passes/schedule/gpu/panel.h"

#include <numeric>

namespace tenon::passes::gpu {

namespace {

ValueId remainder(Context& c, ValueId x, int64_t power_of_two) { return c.builder.op(Op::And, {x, c.literal(power_of_two - 1)}); }

}  // namespace

Pieces::Pieces(int64_t pitch) : pitch_(pitch), group_(std::gcd(pitch / kPiece, 8)) {}

ValueId Pieces::turn(Context& c, ValueId line) const {
  if (group_ == 1) return kZero;
  const ValueId number = group_ == 8 ? line : c.builder.quotient(line, c.literal(8 / group_));
  return c.mul(remainder(c, number, group_), c.literal(kPiece));
}

ValueId Pieces::place(Context& c, ValueId line, ValueId element) const {
  const ValueId turned = turn(c, line);
  if (turned >= 0) element = c.builder.op(Op::Xor, {element, turned});
  return c.add(c.mul(line, c.literal(pitch_)), element);
}

// A tile's first line is a multiple of 16, so the thread's line alone says how its piece is turned. Quarters one after the other are
// side by side in the right factor, one below the other in the left one, and the other way round in what is turned over.
TileReader::TileReader(Context& c, const Pieces& pieces, Factor factor, bool turned) : pitch_(pieces.pitch()), turned_(turned) {
  const auto [warp, lane] = c.divide(c.thread(), c.literal(c.target.warp));
  const auto [half, of_half] = c.divide(lane, c.literal(16));
  const auto [quarter, eighth] = c.divide(of_half, c.literal(8));
  const bool side_by_side = (factor == Factor::Right) != turned;
  const ValueId line = side_by_side ? c.add(c.mul(half, c.literal(8)), eighth) : of_half;
  line_ = c.mul(line, c.literal(pitch_));
  element_ = c.mul(side_by_side ? quarter : half, c.literal(kPiece));
  if (const ValueId turn = pieces.turn(c, line); turn >= 0) element_ = c.builder.op(Op::Xor, {element_, turn});
}

ValueId TileReader::load(Context& c, int32_t buffer, ValueId base, ValueId line, ValueId further, ValueId element) const {
  const ValueId first = line < 0 ? line_ : c.add(c.mul(line, c.literal(pitch_)), line_), piece = c.builder.op(Op::Xor, {element, element_});
  const ValueId place = c.add(base < 0 ? first : c.add(base, first), piece);
  return c.builder.load_tile(buffer, c.add(place, c.mul(further, c.literal(pitch_))), turned_);
}

}  // namespace tenon::passes::gpu
