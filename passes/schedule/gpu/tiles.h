// Which tile a block takes of a product, and what that costs. An estimate: it decides between programs that give the same bits (on
// tensor cores: the same within rounding), and between generated code and the library. Private to passes/schedule/.
#pragma once

#include <cstdint>
#include <span>

#include "ir/target.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes::gpu {

constexpr int kVector = 4;   // neighbours that a thread reads from shared memory at once
constexpr int kPadding = 8;  // elements behind each row of what warps have in shared memory: rows begin in different banks

// Who takes a part of a block's tile, and how: a thread by fused multiply-adds, or a warp on the tensor cores, by products of 16x16x16.
enum class Worker : uint8_t { Thread, Warp };

// Elements of the product: of a block, and of each of its workers; and the slice of k that is in shared memory.
struct Tile {
  int rows, columns, depth, part_rows, part_columns;
  Worker worker = Worker::Thread;
  constexpr int threads() const { return rows / part_rows * (columns / part_columns) * (worker == Worker::Warp ? 32 : 1); }
};

std::span<const Tile> tiles();  // all that there are

// What the choice depends on.
struct ProductShape {
  ir::DType dtype = ir::DType::F32;   // of the sums
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  int left_cost = 0, right_cost = 0;  // to compute an element of an operand, in add-equivalents
  bool scattered = false;             // threads of neighbouring columns read far apart
  bool halves = false;                // operands and results are f16 or bf16, the sums f32
};

struct TileChoice {
  const Tile* tile;  // null: a thread takes one output and reads its operands from memory
  double cycles;     // of a scheduler of the busiest multiprocessor
};
TileChoice choose_tile(const ProductShape& shape, const ir::GpuTarget& target);

// A kernel, and a call of the library with what such a call adds: other launches, values that pass through memory.
ProductCosts product_costs(const Form::Product& product, const ir::GpuTarget& target);
// Whether the call is faster. Of integers there is none.
bool library_is_faster(const Form::Product& product, const ir::GpuTarget& target);

}  // namespace tenon::passes::gpu
