// Which tile a block takes of a product, and what that costs. An estimate: it decides between programs that give the same bits (on
// tensor cores: the same within rounding), and between generated code and the library. Private to passes/schedule/.
#pragma once

#include <cstdint>
#include <span>

#include "ir/op/target.h"
#include "passes/schedule/form.h"

namespace tenon::passes::gpu {

constexpr int kPadding = 8;      // sums behind each row of what warps pass through shared memory: rows begin in different banks
constexpr int kFirstMma = 80;    // the compute capability from which on warps multiply tiles of 16x16x16
constexpr int kPieceBytes = 16;  // that are copied asynchronously at once

// Who takes a part of a block's tile, and how: a thread by fused multiply-adds, or a warp on the tensor cores, by products of 16x16x16.
enum class Worker : uint8_t { Thread, Warp };

// Elements of the product: of a block, and of each of its workers; and the slice of k that is in shared memory.
struct Tile {
  int rows, columns, depth, part_rows, part_columns;
  Worker worker = Worker::Thread;
  constexpr int threads() const { return rows / part_rows * (columns / part_columns) * (worker == Worker::Warp ? 32 : 1); }
};

std::span<const Tile> tiles();  // all that there are

// A thread stages whole pieces (an element, or `together` neighbours) of an operand of so many rows, or some threads none, whichever way
// they run.
constexpr bool staged_evenly(const Tile& t, int width, int together) {
  const int pieces = width * t.depth / together;
  if (width % together != 0 || t.depth % together != 0) return false;
  return (pieces % t.threads() == 0 || pieces < t.threads()) && t.threads() % (width / together) == 0 &&
         t.threads() % (t.depth / together) == 0;
}
// Slices that lie in shared memory at the same time where operands are copied asynchronously, so many less one on their way.
constexpr int stages_of(const Tile& t, int64_t item_size) {
  const int64_t bytes = (t.rows + t.columns) * t.depth * item_size;
  return bytes <= (8 << 10) ? 4 : bytes <= (16 << 10) ? 3 : 2;
}
// Registers of a thread: its sums, with what their chains and groups of chains come to; and all but these and what it stages.
int64_t registers_of_sums(const Tile& t, ir::DType dtype, int64_t depth);
constexpr int64_t kOtherRegisters = 56;

// What the choice depends on.
struct ProductShape {
  ir::DType dtype = ir::DType::F32;  // of the sums
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  int left_cost = 0, right_cost = 0;  // to compute an element of an operand, in add-equivalents
  bool scattered = false;             // threads of neighbouring columns read far apart
  bool halves = false;                // operands and results are f16 or bf16, the sums f32
  bool copied = false;                // both operands are copied asynchronously
};

struct TileChoice {
  const Tile* tile;  // null: a thread takes one output and reads its operands from memory
  double cycles;     // of a scheduler of the busiest multiprocessor
};
TileChoice choose_tile(const ProductShape& shape, const ir::GpuTarget& target);

// Cycles for which a fused multiply-add of a warp keeps its scheduler.
double multiply_cycles(ir::DType dtype, int compute);
// The work of the busiest multiprocessor, or how long its blocks wait for memory, those that are resident together: each of their warps has
// so many cycles of a scheduler, and a block waits so often.
double cycles_of_blocks(double blocks, int threads, double of_warp, double waits, const ir::GpuTarget& target);

// A kernel, and a call of the library with what such a call adds: other launches, values that pass through memory.
ProductCosts product_costs(const Form::Product& product, const ir::GpuTarget& target);
WindowOrder window_order(const Form::Product& product, int64_t copied_bytes, const ir::GpuTarget& target);
// Whether the call is faster. There is no call for products of integers.
bool library_is_faster(const Form::Product& product, const ir::GpuTarget& target);

}  // namespace tenon::passes::gpu
