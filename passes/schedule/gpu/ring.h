// Tiles of operands on their way to shared memory, where they lie in a ring of stages: while one is used, the next ones are under way.
//
//   for at in begin - (stages - 1) step..end step step {
//     wait stages - 2; barrier                     # what belongs to `at` is there, and all are done with what the step before it used
//     if at + ahead < end { fill the stage that the step before used with what belongs to at + ahead }
//     commit
//     if at >= begin { use the stage of `at` }
//   }
//
// A contraction's stages are slices of both operands along k. An operand that is stored as it is wanted, 16 bytes side by side, is
// copied asynchronously and passes through no register. What another is computed from (views, windows and their border, casts, an
// activation) is loaded before a slice is multiplied, computed, and stored after that. Private to passes/schedule/gpu/.
#pragma once

#include <functional>
#include <vector>

#include "passes/schedule/gpu/panel.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes::gpu {

struct RingSteps {
  ValueId begin, end;
  int64_t step;
  int stages;
  bool copies;  // whether fill copies anything asynchronously
};
using RingStep = std::function<void(ValueId at, ValueId stage)>;
// fill, use, and, where it is given, what fill has left for after the use. All that was copied has arrived at the end.
void run_ring(Context& c, const RingSteps& steps, const RingStep& fill, const RingStep& use, const RingStep& rest = {});

// A slice of an operand in shared memory: `width` rows (of the right operand: columns) by the depth of the tile.
struct Panel {
  DType dtype = DType::F32;
  int width = 0;
  bool k_innermost = false;  // else rows are
  int64_t lines = 0, pitch = 0;
  bool turned = false;  // its pieces lie as panel.h has them
  int32_t shared = kNone;
  int64_t stage() const { return lines * pitch; }
};

// Whether the load's neighbours along the axis, 16 bytes of them at a multiple of their number, lie so in memory. All of them may be
// zeros, past a border.
bool copies_pieces(const ir::Kernel& kernel, const Instr& load, int axis);

class Operand {
 public:
  Value value = kNone;
  std::vector<int> axes = {};                   // outermost first
  int64_t extent = 1;                           // their product
  int cost = 0;                                 // to compute an element, add-equivalents
  std::vector<Value> hoisted = {}, chain = {};  // what it is computed from: once for all k, for each k
  bool along_depth = false;                     // neighbours are neighbouring k, not neighbouring rows
  Panel* panel = nullptr;                       // of a tile
  ValueId begin = kNone, last = kNone;          // the block's first row, the last of all

 private:
  friend class Ring;
  bool copied = false;              // asynchronously
  int together = 1;                 // neighbours that move as one
  ValueId depth = kNone;            // the first k that the thread stages, in the slice
  std::vector<ValueId> taken = {};  // what it stages: the elements' registers
  struct Place {
    ValueId first;
    int64_t further;
  };
  std::vector<Place> places = {};   // where those that go together are put
  int32_t vector = kNone;           // of elements that go together, to pack them
  std::vector<Value> vectors = {};  // loads of the chain that read as many neighbours at once
};

class Ring {
 public:
  // k: the axis that is summed over. zero_filled: past its end there must be zeros. Makes the panels' buffers.
  Ring(Context& c, const Tile& tile, int k, bool zero_filled, Operand& left, Operand& right);

  // In the phase: multiply(k, stage) for each slice.
  void run(const RingStep& multiply);
  // Registers that hold what a thread has loaded and not yet stored.
  int64_t registers() const;

  // Binds a row, past the last one that.
  void bind_within(const Operand& side, ValueId row, ValueId last);

 private:
  void choose_pieces(Operand& side);
  void begin(Operand& side);
  void copy(Operand& side, ValueId slice, ValueId stage);
  void take(Operand& side, ValueId slice);
  void give(Operand& side, ValueId stage);

  int threads() const { return tile_.threads(); }
  // A thread stages several k of several rows; one of both numbers is that of its pieces, the other that of neighbours in a piece.
  int pieces(const Operand& side) const { return side.panel->width * tile_.depth / side.together; }
  int pieces_of_thread(const Operand& side) const { return std::max(1, pieces(side) / threads()); }
  int k_of_thread(const Operand& side) const { return side.along_depth ? side.together : pieces_of_thread(side); }
  int rows_of_thread(const Operand& side) const { return side.along_depth ? pieces_of_thread(side) : side.together; }
  // Neighbouring threads stage so many pieces side by side; a thread's next piece is `step` of the other direction further on.
  int run_of(const Operand& side) const { return (side.along_depth ? tile_.depth : side.panel->width) / side.together; }
  int step(const Operand& side) const { return std::max(1, threads() / run_of(side)); }
  ValueId stages(const Operand& side) { return c_.below(c_.thread(), pieces(side), threads()); }  // whether this thread does
  Operand::Place place_of_piece(const Operand& side, int number, ValueId first_row);
  ValueId place(const Panel& panel, ValueId k, ValueId row);
  ValueId bind_k(ValueId k, int64_t count);
  void find_vectors(Operand& side);
  std::vector<ValueId> load_vectors(const Operand& side, int rows);
  void pick(const Operand& side, const std::vector<ValueId>& vectors, int row, int neighbour);
  ValueId or_zero(const Operand& side, ValueId inside);
  template <typename F>
  void each_row(const Operand& side, int count, const F& f);

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  const Tile& tile_;
  const int k_;
  const int64_t depth_;
  const bool zero_filled_;
  Operand *left_, *right_;
  int stages_ = 2;
};

}  // namespace tenon::passes::gpu
