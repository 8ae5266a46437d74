// Which tile a block takes of a product, and what that costs. An estimate: it decides between programs that all give the same
// bits, and between generated code and the library. Private to passes/schedule/.
#pragma once

#include <cstdint>
#include <span>

#include "ir/target.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes::gpu {

constexpr int kVector = 4;  // neighbours that a thread reads from shared memory at once

// Elements of the product: of a block, and of each of its threads; and the slice of k that is in shared memory.
struct Tile {
  int rows, columns, depth, thread_rows, thread_columns;
  int threads() const { return rows / thread_rows * (columns / thread_columns); }
};

std::span<const Tile> tiles();  // all that there are

// What the choice depends on.
struct ProductShape {
  ir::DType dtype = ir::DType::F32;   // of the sums
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  int left_cost = 0, right_cost = 0;  // to compute an element of an operand, in add-equivalents
  bool scattered = false;             // threads of neighbouring columns read far apart
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
