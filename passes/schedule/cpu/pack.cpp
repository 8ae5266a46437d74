// Packing: an operand's tile is copied into a panel with contiguous rows.
//
//   x[k, columns], contiguous along the columns      x[columns, k], contiguous along k: as many columns as there are
//     for k { panel[k] = x[k, columns] }             lanes are read in order and turned in registers
#include <algorithm>
#include <array>

#include "passes/schedule/cpu/context.h"

namespace tenon::passes::cpu {

namespace {

void along_columns(Context& c, std::span<const Value> operand, const PackedTile& tile, const Panel& panel) {
  Nest& nest = c.nest;
  const auto each_vector = [&](const auto& body) {
    for (int q = 0; q < tile.vectors; ++q) {
      nest.set_sub(q);
      body(q);
    }
    nest.set_sub(0);
  };
  each_vector([&](int) { nest.prepare(operand); });
  const bool all = tile.row_begin < 0;
  c.loop(all ? c.literal(0) : tile.row_begin, all ? nest.extent(tile.rows) : tile.row_end, 1, [&](ValueId row) {
    nest.bind(tile.rows, row);
    const ValueId place = panel.row(c, all ? row : c.sub(row, tile.row_begin));
    each_vector([&](int q) {
      nest.set_mask(q + 1 == tile.vectors ? tile.mask : kAlways);
      for (const Value v : operand) nest.emit(v);
      c.builder.store(panel.buffer, c.offset(place, int64_t{q} * nest.lanes()), nest.vector(operand.back()));
    });
    nest.set_mask(kAlways);
  });
}

constexpr int kTurned = 16;  // rows and columns that are turned at once, at most: more is ever more code

// The last column is read again in the place of those past it, and the panel has room past the last row: neither is asked for. One
// loop, masked throughout, and a block turned by halves: whole vectors apart, and each row of the block woven from all columns, would
// be eight times the code.
void along_rows(Context& c, std::span<const Value> operand, const PackedTile& tile, const Panel& panel) {
  Nest& nest = c.nest;
  const int lanes_of_columns = nest.lanes(), lanes = std::min(lanes_of_columns, kTurned);
  nest.set_lane_axis(tile.rows, lanes);
  nest.set_sub_axes(std::array{tile.columns});
  const ValueId width = c.literal(int64_t{tile.vectors} * lanes_of_columns),
                reach = tile.end < 0 ? width : c.minimum(width, c.sub(tile.end, tile.begin));
  c.loop(c.literal(0), reach, lanes, [&](ValueId block) {
    const ValueId first = c.add(tile.begin, block), last = tile.end < 0 ? kNone : c.sub(tile.end, c.literal(1));
    for (int j = 0; j < lanes; ++j) {
      const ValueId column = c.offset(first, j);
      nest.set_sub(j);
      nest.bind(tile.columns, last < 0 ? column : c.minimum(column, last));
      nest.prepare(operand);
    }
    nest.set_sub(0);
    const ValueId begin = tile.row_begin, end = begin < 0 ? nest.extent(tile.rows) : tile.row_end;
    c.masked_loop(tile.rows, begin < 0 ? c.literal(0) : begin, end, [&] {
      std::vector<ValueId> vectors;
      for (int j = 0; j < lanes; ++j) {
        nest.set_sub(j);
        for (const Value v : operand) nest.emit(v);
        vectors.push_back(nest.get(operand.back()));
      }
      nest.set_sub(0);
      turn(c.builder, vectors);
      const ValueId position = nest.axis_value(tile.rows), row = begin < 0 ? position : c.sub(position, begin);
      const ValueId place = c.add(panel.row(c, row), block);
      for (int i = 0; i < lanes; ++i) c.builder.store(panel.buffer, c.offset(place, i * panel.pitch), vectors[i]);
    });
  });
  nest.set_lane_axis(tile.columns, lanes_of_columns);
}

bool is_turned(const Context& c, Value load, int axis) {
  const Index::Stride along = c.nest.instr(load).index.stride(axis);
  return along.ok && along.value == 1;
}

}  // namespace

// Transposes by halves.
void turn(ir::TreeBuilder& b, std::vector<ValueId>& rows) {
  for (size_t turned = 1; turned < rows.size(); turned *= 2) {
    const std::vector<ValueId> before = rows;
    const size_t half = before.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      const ValueId pair[] = {before[i], before[i + half]};
      rows[2 * i] = b.weave(pair, 0);
      rows[2 * i + 1] = b.weave(pair, 1);
    }
  }
}

ValueId Panel::row(Context& c, ValueId row) const {
  const ValueId within = c.mul(row, c.literal(pitch));
  return base < 0 ? within : c.add(base, within);
}

int64_t packed_slack(const Context& c, Value load, int rows) { return is_turned(c, load, rows) ? std::min(c.lanes, kTurned) - 1 : 0; }

void pack(Context& c, std::span<const Value> operand, const PackedTile& tile, const Panel& panel) {
  is_turned(c, operand.front(), tile.rows) ? along_rows(c, operand, tile, panel) : along_columns(c, operand, tile, panel);
}

}  // namespace tenon::passes::cpu
