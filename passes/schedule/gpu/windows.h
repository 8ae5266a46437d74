// Products whose right operand are windows of an image with few channels: a direct convolution. A block takes rows of places of one image
// and some filters. What of the image these see lies in shared memory once, with its border, and the filters whole; a thread then
// multiplies with no index to compute, as a tap moves all of its places by the same number:
//
//   for channel { for tap row { for tap column {                                    k in order, one chain (ir/op/sum_order.h)
//     w[8] = filters[k][..]; x[i] = image[place[i] + offset of the tap]; acc[i][f] = fma(w[f], x[i], acc[i][f]) }}}
//
// A program of contractions (contraction.cpp) beside tiles, which would stage an element of the image for each tap that sees it, after
// a division for its place and a look at the border. Private to passes/schedule/gpu/.
#pragma once

#include <optional>
#include <vector>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes::gpu {

// A part of an axis, which is the sum of its parts' numbers times their strides.
struct AxisPart {
  int axis = kNoAxis;
  int64_t extent = 1, stride = 1;
};

// How the axes of a product see windows: the right operand changes with places and taps by step * place + tap alone.
struct Windows {
  std::vector<AxisPart> images;           // columns that no tap goes along
  AxisPart row, column;                   // places: columns of the product
  AxisPart channel, tap_row, tap_column;  // parts of k, in this order
  int64_t row_step = 1, column_step = 1;
  int64_t width() const { return column_step * (column.extent - 1) + tap_column.extent; }  // of what a row of places sees
  int64_t height(int64_t rows) const { return row_step * (rows - 1) + tap_row.extent; }
};

// `values`: the right operand and all that it is computed from along k. Nothing if these are no windows.
std::optional<Windows> find_windows(const ir::Kernel& kernel, const std::vector<Value>& values, const std::vector<int>& columns, int k);

constexpr int kWindowThreads = 256, kFiltersOfThread = 8;

// How a block is divided: threads by groups of 8 filters, `places` for each thread, and whole rows of places.
struct WindowTile {
  int groups, places;
  int64_t rows;
  double cycles;  // as TileChoice has them
  int64_t filters() const { return int64_t{kFiltersOfThread} * groups; }
};
std::optional<WindowTile> choose_window_tile(const Windows& windows, const ProductShape& shape, const ir::GpuTarget& target);

}  // namespace tenon::passes::gpu
