// A convolution of many channels as a product whose rows are places of an image and whose columns are channels: the image is read where it
// lies, element by element, and only the weights are packed.
#pragma once

#include <vector>

#include "passes/schedule/cpu/context.h"

namespace tenon::passes::cpu {

// The axes and operands of a contraction of windows of an image and weights.
struct WindowProduct {
  Value contract, weights, image;  // the operands are loads
  int k, place, channel;
};

// Whether it pays: enough channels for vectors, terms for sums that are turned, and places for weights that are packed.
bool is_window_product(const Context& c, const WindowProduct& product);

// Rows that are computed together, beside a panel of weights of so many bytes: whole tiles, and whole vectors.
int64_t block_rows(const Context& c, int64_t panel_bytes, int tile_rows);

// Whether an element of this operand lies where the first of its row does, and so many further on as its k says, which takes divisions:
// then a table tells it.
bool has_steps(const Context& c, Value load, int k);
// A phase that makes the table, one of the tree's buffers, and what it takes.
int32_t note_steps(Context& c, Value load, int k);
double steps_ns(const Context& c, int k);

class WindowTiles {
 public:
  // `steps`: of note_steps, for the image.
  WindowTiles(Context& c, const WindowProduct& product, const Factors& factors, int32_t steps);

  // The rows begin..end of a tile of columns, which are packed in the panel, by tiles of so many rows, then of those behind; their
  // products go through the epilogue.
  void run(ValueId begin, ValueId end, const PackedTile& columns, const Panel& panel, const std::vector<int>& tile_rows,
           std::span<const Value> epilogue);

 private:
  void note_places(ValueId begin, ValueId end, int64_t more);
  void add_up(ValueId rows, const Panel& panel, const std::vector<int>& tile_rows);
  void add_chain(ValueId begin, ValueId end, ValueId rows, const Panel& panel, const std::vector<int>& tile_rows);
  void add_to_tile(ValueId at, int rows, ValueId begin, ValueId end, const Panel& panel);
  void turn_and_store(ValueId begin, ValueId end, const PackedTile& columns, std::span<const Value> epilogue);
  ValueId image_place();

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  const WindowProduct of_;
  const Factors factors_;
  const DType dtype_;
  int vectors_ = 1;                // of a row
  int64_t width_ = 0, block_ = 0;  // columns; rows of a block, with those behind it that its last tile has
  const int32_t steps_;            // by k
  int32_t places_ = kNone;         // of the image's elements, by row
  int32_t sums_ = kNone;           // [row][column] of a block
};

}  // namespace tenon::passes::cpu
