// Tiles of a convolution whose rows are places of an image, and whose columns are channels:
//
//   y[i, o, p] = sum over k of w[o, k] * x[place(i, p) + step(k)]          k is a channel and a tap
//
//   step[k], once for all rows                                             it divides k, which takes more than to read it
//   for p in panel step 48 {
//     place[48]
//     for k in K step 256 { for p' in 0..48 step 6 {                       chain by chain, so that its weights are near
//       acc[6][4 vectors] = 0; for k' { acc += splat(x[place[p'] + step[k']]) * packed w[k', channels] }; sum[p' ..] += acc } }
//     turn sum square by square: vectors down the places; epilogue; store
//   }
//
// An element of the image is splat as it is read, so no copy of the windows is made, which took a fifth of the time of 64 channels. The
// order of the sums is that of any contraction.
#include "passes/schedule/cpu/window_product.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace tenon::passes::cpu {

namespace {

constexpr int64_t kLeastChannels = 32, kLeastPlaces = 128, kLeastTerms = 64;  // of a sum: fewer do not pay for the turning
constexpr int kMostLanes = 16;                                                // of vectors that are turned

bool is_plain(const Instr& in) { return in.op == Op::Load && in.guards.empty() && in.scale == 0; }

}  // namespace

bool has_steps(const Context& c, Value load, int k) {
  const Instr& in = c.kernel.instr(load);
  if (!is_plain(in) || in.index.stride(k).ok) return false;
  const auto only = [&](bool of_k) {
    return in.index.substitute([&](int a, int64_t extent) { return (a == k) == of_k ? Index::axis(a, extent) : Index(0); });
  };
  return only(false) + only(true) - in.index.constant_part() == in.index;
}

double steps_ns(const Context& c, int k) { return 2.0 * static_cast<double>(c.extent(k)); }

int32_t note_steps(Context& c, Value load, int k) {
  Nest& nest = c.nest;
  ir::TreeBuilder& b = c.builder;
  const int32_t steps = c.buffer("steps", DType::I64, Space::Global, c.extent(k));
  c.begin_phase("steps", 1, steps_ns(c, k));
  for (const int a : c.axes(AxisKind::Parallel)) nest.bind(a, c.literal(0));
  const ValueId first = b.var(c.literal(0));
  const auto place_at = [&](ValueId at) {
    nest.bind(k, at);
    return nest.position_of(load);
  };
  c.in_scope([&] { b.set(first, place_at(c.literal(0))); });
  c.loop(c.literal(0), nest.extent(k), 1, [&](ValueId at) { b.store(steps, at, c.sub(place_at(at), b.get(first))); });
  c.end_phase();
  return steps;
}

bool is_window_product(const Context& c, const WindowProduct& p) {
  if (c.is_small() || p.place < 0 || p.channel < 0 || c.extent(p.k) < kLeastTerms) return false;
  const Instr& weights = c.kernel.instr(p.weights);
  if (!is_plain(weights) || !has_steps(c, p.image, p.k)) return false;
  const ir::Axes axes = weights.index.axes();
  const bool shared = std::ranges::all_of(axes, [&](int a) { return a == p.k || a == p.channel; });
  if (!shared || !weights.index.stride(p.k).ok || !weights.index.stride(p.channel).ok) return false;
  const int64_t channels = c.kernel.extent(p.channel), places = c.kernel.extent_of(AxisKind::Parallel) / channels;
  const int lanes = c.target.vector_bits / (8 * ir::item_size(c.kernel.instr(p.contract).dtype));
  return lanes <= kMostLanes && channels >= kLeastChannels && (places >= kLeastPlaces || c.kernel.buffer(weights.slot).constant);
}

WindowTiles::WindowTiles(Context& c, const WindowProduct& product, const Factors& factors, int32_t steps)
    : c_(c), nest_(c.nest), b_(c.builder), of_(product), factors_(factors), dtype_(c.nest.instr(product.contract).dtype), steps_(steps) {}

// Where the packed weights of all k would leave the second cache, many rows use those of a chain.
int64_t block_rows(const Context& c, int64_t panel_bytes, int tile_rows) {
  constexpr int64_t kManyRows = 960;
  const int64_t least = std::lcm(int64_t{tile_rows}, int64_t{c.lanes});
  return panel_bytes <= c.target.l2_bytes / 2 ? least : std::max(kManyRows / least, int64_t{1}) * least;
}

// Of the image's element, where row and k are bound.
ValueId WindowTiles::image_place() { return nest_.position_of(of_.image); }

void WindowTiles::run(ValueId begin, ValueId end, const PackedTile& columns, const Panel& panel, const std::vector<int>& tile_rows,
                      std::span<const Value> epilogue) {
  vectors_ = columns.vectors;
  width_ = int64_t{vectors_} * nest_.lanes();
  const int64_t block = block_rows(c_, c_.extent(of_.k) * width_ * ir::item_size(dtype_), tile_rows[0]);
  block_ = block + tile_rows[0];
  const auto numbered = [&](const char* name) { return name + std::to_string(c_.out.tree.buffers.size()); };
  places_ = c_.fixed_buffer(numbered("places"), DType::I64, Space::Local, block_);
  sums_ = c_.fixed_buffer(numbered("sums"), dtype_, Space::Local, block_ * width_);
  c_.loop(begin, end, block, [&](ValueId first) {
    const ValueId last = c_.piece_end(first, c_.literal(block), end);
    note_places(first, last, tile_rows[0]);
    add_up(c_.sub(last, first), panel, tile_rows);
    turn_and_store(first, last, columns, epilogue);
  });
}

// Of the rows begin..end, and of `more` behind them, which are the last one again.
void WindowTiles::note_places(ValueId begin, ValueId end, int64_t more) {
  const ValueId last = c_.sub(end, c_.literal(1));
  c_.loop(begin, c_.offset(end, more), 1, [&](ValueId row) {
    nest_.bind(of_.place, c_.minimum(row, last));
    nest_.bind(of_.k, c_.literal(0));
    b_.store(places_, c_.sub(row, begin), image_place());
  });
}

// The sums of a block's first `rows` rows.
void WindowTiles::add_up(ValueId rows, const Panel& panel, const std::vector<int>& tile_rows) {
  const ValueId begin = c_.literal(0), end = nest_.extent(of_.k);
  if (!ir::product_in_chains(dtype_, c_.extent(of_.k))) return add_chain(begin, end, rows, panel, tile_rows);
  const int lanes = nest_.lanes();
  const ValueId count = c_.mul(c_.offset(rows, tile_rows[0]), c_.literal(width_));
  const ValueId zero = b_.constant(ir::constant(dtype_, int64_t{0}), lanes);
  const auto chains = [&](ValueId first, ValueId last) {
    c_.loop(c_.literal(0), count, lanes, [&](ValueId at) { b_.store(sums_, at, zero); });
    c_.loop(first, last, ir::kProductChain,
            [&](ValueId k) { add_chain(k, c_.piece_end(k, c_.literal(ir::kProductChain), last), rows, panel, tile_rows); });
  };
  if (!ir::product_in_groups(dtype_, c_.extent(of_.k))) return chains(begin, end);
  total_of_groups(c_, {begin, end, sums_, count, nest_.size_slot(block_ * width_), lanes}, dtype_, chains);
}

// The products of begin..end of k, tile by tile: whole ones, then the smaller ones for what is left.
void WindowTiles::add_chain(ValueId begin, ValueId end, ValueId rows, const Panel& panel, const std::vector<int>& tile_rows) {
  ValueId at = c_.literal(0);
  for (const int tile : tile_rows) {
    ValueId stop = rows;
    if (tile != tile_rows.back()) {
      const ValueId step = c_.literal(tile);
      const ValueId filled = c_.offset(c_.sub(rows, at), tile == tile_rows[0] ? 0 : tile_rows.back() - 1);
      stop = c_.add(at, c_.mul(b_.quotient(filled, step), step));
    }
    c_.loop(at, stop, tile, [&](ValueId first) { add_to_tile(first, tile, begin, end, panel); });
    at = stop;
  }
}

void WindowTiles::add_to_tile(ValueId at, int rows, ValueId begin, ValueId end, const Panel& panel) {
  const int lanes = nest_.lanes();
  const ValueId zero = b_.constant(ir::constant(dtype_, int64_t{0}), lanes), from = c_.mul(at, c_.literal(width_));
  std::vector<ValueId> registers, places;
  for (int r = 0; r < rows; ++r) {
    places.push_back(b_.load(places_, c_.offset(at, r), 1));
    for (int q = 0; q < vectors_; ++q) registers.push_back(b_.var(zero));
  }
  c_.loop(begin, end, 1, [&](ValueId k) {
    const ValueId step = b_.load(steps_, k, 1), row = c_.mul(k, c_.literal(panel.pitch));
    std::vector<ValueId> weights;
    for (int q = 0; q < vectors_; ++q) {  // what k adds stands apart: all vectors have one pointer
      const ValueId within = c_.offset(row, int64_t{q} * lanes);
      weights.push_back(b_.load(panel.buffer, panel.base < 0 ? within : c_.add(panel.base, within), lanes));
    }
    for (int r = 0; r < rows; ++r) {
      const ValueId place = c_.add(places[static_cast<size_t>(r)], step);
      const ValueId x = b_.splat(b_.load(nest_.instr(of_.image).slot, place, 1), lanes);
      for (int q = 0; q < vectors_; ++q) {
        const ValueId sum = registers[static_cast<size_t>(r * vectors_ + q)];
        b_.set(sum, c_.add_product(factors_, weights[static_cast<size_t>(q)], x, b_.get(sum)));
      }
    }
  });
  const bool adds = ir::product_in_chains(dtype_, c_.extent(of_.k));
  for (size_t i = 0; i < registers.size(); ++i) {
    const ValueId place = c_.offset(from, static_cast<int64_t>(i) * lanes), sum = b_.get(registers[i]);
    b_.store(sums_, place, adds ? c_.add(b_.load(sums_, place, lanes), sum) : sum);
  }
}

// Of a block's rows, with vectors down the rows. Those that are past the end are not stored.
void WindowTiles::turn_and_store(ValueId begin, ValueId end, const PackedTile& columns, std::span<const Value> epilogue) {
  const int lanes = nest_.lanes();
  const int32_t square =
      c_.fixed_buffer("square" + std::to_string(c_.out.tree.buffers.size()), dtype_, Space::Local, int64_t{lanes} * lanes);
  nest_.set_lane_axis(of_.place, lanes);
  const ValueId columns_end = columns.end < 0 ? c_.offset(columns.begin, width_) : columns.end;
  c_.loop(begin, end, lanes, [&](ValueId row) {
    nest_.bind(of_.place, row);
    nest_.prepare(epilogue);
    const ValueId mask = nest_.tail_mask(row, end), from = c_.mul(c_.sub(row, begin), c_.literal(width_));
    c_.loop(c_.literal(0), c_.sub(columns_end, columns.begin), lanes, [&](ValueId column) {
      const ValueId place = c_.add(from, column), first = c_.add(columns.begin, column);
      std::vector<ValueId> vectors;
      for (int i = 0; i < lanes; ++i) vectors.push_back(b_.load(sums_, c_.offset(place, i * width_), lanes));
      turn(b_, vectors);
      for (int i = 0; i < lanes; ++i) b_.store(square, c_.literal(int64_t{i} * lanes), vectors[static_cast<size_t>(i)]);
      c_.loop(first, c_.piece_end(first, c_.literal(lanes), columns_end), 1, [&](ValueId channel) {
        nest_.bind(of_.channel, channel);
        nest_.set(of_.contract, b_.load(square, c_.mul(c_.sub(channel, first), c_.literal(lanes)), lanes));
        nest_.set_mask(mask);
        nest_.emit_new(epilogue);
        nest_.set_mask(kAlways);
      });
    });
  });
  nest_.set_lane_axis(of_.channel, lanes);
}

}  // namespace tenon::passes::cpu
