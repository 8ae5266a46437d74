// Contractions on a GPU. Each output is one accumulator (beyond one chain of k, with what its chains come
// to), and k runs in order, whatever the program.
//
//   tiles     (contraction, contraction mma) a block of threads takes a tile of the product, each thread or each warp a part of it in
//             registers (sums.h). Slices of k of both operands pass through a ring in shared memory (ring.h); what they are computed
//             from is evaluated on the way, once a tile. Then the epilogue of the sums; store.
//   windows   the same of windows of an image with few channels, which lies in shared memory once (windows.h): no slices.
//   outputs   a thread takes one output and reads its operands from memory: tiny products, of which any tile would be
//             mostly empty.
//
// Sums of threads are acc = fma(a, b, acc), in chains (ir/op/sum_order.h), so the bits are those of the
// interpreter. Warps multiply on the tensor cores, halves alone (f16 or bf16, the result rounded to it):
// these sum up to 16 k in an order of their own.
//
// Rows are all axes that only the left operand varies along, as one number, columns those of the right one; the others
// count the tiles (batch). A convolution's images are thus columns like its places, and few channels waste no tile.
//
// The code depends on the extents only by the tile, and by whether it divides rows, columns and depth. A tile that reaches
// past the last row stages that row several times and stores it once.
#include <algorithm>
#include <optional>
#include <tuple>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/sums.h"
#include "passes/schedule/gpu/tiles.h"
#include "passes/schedule/gpu/vector_access.h"
#include "passes/schedule/gpu/windows.h"

namespace tenon::passes::gpu {

namespace {

// How near neighbours along the axis lie: 2 side by side, 1 in runs (the last axis of several that a number counts).
int nearness(const Index& index, int axis) {
  const Index::Stride stride = index.stride(axis);
  if (stride.ok) return stride.value == 1 ? 2 : 0;
  for (const Index::Term& term : index.terms()) {
    if (term.axis >= 0 || term.coefficient != 1 || term.divisor > 1) continue;
    const Index::Stride inner = term.inner_index().stride(axis);
    if (inner.ok && inner.value == 1) return 1;
  }
  return 0;
}

// What there is to multiply, and by which program.
class ContractionPlan {
 public:
  ContractionPlan(const ir::Kernel& kernel, const ir::GpuTarget& target)
      : kernel_(kernel), target_(target), contract_(contraction_of(kernel)), factors_(factors_of(kernel, contract_)) {
    k_ = ir::axes_of(kernel, AxisKind::Contract)[0];
    depth_ = kernel.extent(k_);
    left_.value = factors_.left;
    right_.value = factors_.right;
    share_axes();
    for (Operand* side : {&left_, &right_}) look_at(*side);
    find_epilogue();
    choose();
  }

  ContractionProgram program() const {
    if (window_tile_) return ContractionProgram::Windows;
    if (!tile_) return ContractionProgram::Outputs;
    return tile_->worker == Worker::Warp ? ContractionProgram::TilesOfWarps : ContractionProgram::TilesOfThreads;
  }

 protected:
  const ir::Kernel& kernel_;
  const ir::GpuTarget& target_;
  Value contract_;
  Factors factors_;
  int k_;
  int64_t depth_;
  Operand left_, right_;
  std::vector<int> batch_;
  std::vector<Value> of_batch_, of_row_, of_column_, of_element_;  // the epilogue, by what it varies along
  const Tile* tile_ = nullptr;                                     // null: a thread an output, or windows
  std::optional<Windows> windows_;
  std::optional<WindowTile> window_tile_;  // nothing: no windows, or tiles are faster

 private:
  void share_axes() {
    const std::vector<int> axes = ir::axes_of(kernel_, AxisKind::Parallel);
    const auto changes = [&](const Operand& side, int a) -> bool { return varying_along(kernel_, a)[side.value]; };
    for (int a : axes) {
      if (changes(left_, a) != changes(right_, a)) (changes(left_, a) ? left_ : right_).axes.push_back(a);
    }
    // Axes along which neither changes serve a side that has none (a constant, an expanded number).
    Operand* const without = left_.axes.empty() ? &left_ : right_.axes.empty() ? &right_ : nullptr;
    for (int a : axes) {
      if (changes(left_, a) != changes(right_, a)) continue;
      (without && !changes(left_, a) ? without->axes : batch_).push_back(a);
    }
    left_.extent = product_of(kernel_, left_.axes);
    right_.extent = product_of(kernel_, right_.axes);
  }

  // Everything that the values need, operands first; constants and scalars are made where they are used.
  std::vector<bool> needed_for(std::vector<Value> values) const {
    std::vector<bool> needed(kernel_.instrs.size(), false);
    while (!values.empty()) {
      const Value v = values.back();
      values.pop_back();
      if (needed[v] || v == contract_) continue;
      needed[v] = true;
      for (Value a : kernel_.instr(v).args) values.push_back(a);
    }
    return needed;
  }

  void look_at(Operand& side) {
    const std::vector<bool> needed = needed_for({side.value}), along = varying_along(kernel_, k_);
    int depth = 0, width = 0;
    for (Value v = 0; v < static_cast<Value>(needed.size()); ++v) {
      const Instr& in = kernel_.instr(v);
      if (!needed[v] || in.op == Op::Const || in.op == Op::Scalar) continue;
      (along[v] ? side.chain : side.hoisted).push_back(v);
      if (along[v]) side.cost += ir::info(in.op).cost + 6 * static_cast<int>(in.guards.size());
      if (in.op != Op::Load) continue;
      depth += nearness(in.index, k_);
      if (!side.axes.empty()) width += nearness(in.index, side.axes.back());
    }
    side.along_depth = side.axes.empty() || depth > width;
  }

  // Whether the operands are halves, though the kernel multiplies them as f32, and the product is rounded to their type before
  // anyone sees it (what expand-half makes of a product of halves).
  bool multiplies_halves() const {
    const auto half_of = [&](Value v) {
      const Instr& in = kernel_.instr(v);
      return in.op == Op::Cast && kernel_.instr(contract_).dtype == DType::F32 ? kernel_.instr(in.args[0]).dtype : DType::F32;
    };
    const DType half = half_of(left_.value);
    if (factors_.differences || !ir::is_half(half) || half_of(right_.value) != half) return false;
    return std::ranges::all_of(kernel_.instrs, [&](const Instr& in) {
      const bool reads = std::ranges::find(in.args, contract_) != in.args.end();
      return !reads || (in.op == Op::Cast && in.dtype == half);
    });
  }

  void find_epilogue() {
    std::vector<Value> stores;
    for (Value v = 0; v < static_cast<Value>(kernel_.instrs.size()); ++v) {
      if (kernel_.instr(v).op == Op::Store) stores.push_back(v);
    }
    const std::vector<bool> needed = needed_for(stores);
    std::vector<bool> product(needed.size(), false);  // what comes of the product
    const std::vector<bool> rows = varying_along(kernel_, left_.axes), columns = varying_along(kernel_, right_.axes);
    for (Value v = 0; v < static_cast<Value>(needed.size()); ++v) {
      const Instr& in = kernel_.instr(v);
      product[v] = v == contract_ || in.op == Op::Store || std::ranges::any_of(in.args, [&](Value a) { return product[a]; });
      if (v == contract_ || !needed[v] || in.op == Op::Const || in.op == Op::Scalar) continue;
      (product[v] || (rows[v] && columns[v]) ? of_element_ : rows[v] ? of_row_ : columns[v] ? of_column_ : of_batch_).push_back(v);
    }
  }

  void choose() {
    const bool scattered = right_.along_depth && !right_.axes.empty(), halves = multiplies_halves();
    const ProductShape shape{kernel_.instr(contract_).dtype,
                             product_of(kernel_, batch_),
                             left_.extent,
                             right_.extent,
                             depth_,
                             left_.cost,
                             right_.cost,
                             scattered,
                             halves,
                             is_copied(left_, halves) && is_copied(right_, halves)};
    const TileChoice choice = choose_tile(shape, target_);
    tile_ = choice.tile;
    if (tile_ && tile_->worker == Worker::Warp) return;
    windows_ = sees_windows() ? find_windows(kernel_, right_.chain, right_.axes, k_) : std::nullopt;
    if (windows_) window_tile_ = choose_window_tile(*windows_, shape, target_);
    if (window_tile_ && window_tile_->cycles >= choice.cycles) window_tile_.reset();
  }

  // Whether nothing that the right operand is computed from is one for each column.
  bool sees_windows() const {
    const std::vector<bool> columns = varying_along(kernel_, right_.axes);
    return !factors_.differences && !left_.axes.empty() && std::ranges::none_of(right_.hoisted, [&](Value v) { return columns[v]; });
  }

  // Whether the operand can be copied to shared memory as it lies (Ring): halves before their cast; what threads multiply lies there
  // with neighbouring rows side by side.
  bool is_copied(const Operand& side, bool halves) const {
    const Instr& load = kernel_.instr(halves ? kernel_.instr(side.value).args[0] : side.value);
    const int axis = side.along_depth ? k_ : side.axes.empty() ? kNoAxis : side.axes.back();
    return side.chain.size() == (halves ? 2U : 1U) && (halves || !side.along_depth) && copies_pieces(kernel_, load, axis);
  }
};

class Contraction : ContractionPlan {
 public:
  explicit Contraction(Context& c)
      : ContractionPlan(std::any_cast<ContractionPlan&&>(std::move(c.plan))), c_(c), nest_(c.nest), b_(c.builder) {}

  void outputs() {
    const std::vector<int> axes = c_.axes(AxisKind::Parallel);
    c_.each_item("outputs", c_.product(axes), [&](ValueId item) {
      nest_.bind_linear(axes, item);
      for (const Operand* side : {&left_, &right_}) {
        nest_.emit_new(side->hoisted);
        nest_.prepare(side->chain);
      }
      const ValueId acc = b_.var(b_.constant(zero()));
      const auto chain = [&](ValueId begin, ValueId end) {
        c_.loop(begin, end, 1, [&](ValueId k) {
          nest_.bind(k_, k);
          nest_.emit_new(left_.chain);
          nest_.emit_new(right_.chain);
          b_.set(acc, c_.add_product(factors_, nest_.get(left_.value), nest_.get(right_.value), b_.get(acc)));
        });
      };
      nest_.set(contract_, of_chains(acc, chain));
      nest_.emit_new(of_batch_);
      nest_.emit_new(of_row_);
      nest_.emit_new(of_column_);
      nest_.emit_new(of_element_);
    });
  }

  void windows() {
    const Windows& w = *windows_;
    const WindowTile& t = *window_tile_;
    c_.out.tree.threads = kWindowThreads;
    const int64_t height = w.height(t.rows), width = w.width(), pitch = t.filters() + kVector;  // lines of filters begin in different banks
    const DType dtype = nest_.instr(contract_).dtype;
    const int sums = t.places * kFiltersOfThread;
    const int32_t image = c_.fixed_buffer("image0", dtype, Space::Shared, w.channel.extent * height * width);
    const int32_t filters = c_.fixed_buffer("filters0", dtype, Space::Shared, depth_ * pitch);
    const int32_t own = b_.add_buffer({"sums0", dtype, Space::Shared, kNone, int64_t{kWindowThreads} * kFiltersOfThread});
    const int32_t acc = c_.fixed_buffer("acc0", dtype, Space::Local, sums);
    c_.ask_for_blocks(2, sums + t.places + kOtherRegisters);
    begin_windows();
    nest_.emit_new(of_batch_);
    nest_.emit_new(right_.hoisted);
    stage_image(image, height);
    stage_filters(filters, pitch);
    const auto [group, across] = c_.divide(c_.thread(), c_.literal(kWindowThreads / t.groups));
    std::vector<ValueId> places;
    for (int q = 0; q < t.places; ++q) {
      const auto [row, column] = c_.divide(c_.offset(across, int64_t{q} * kWindowThreads / t.groups), c_.literal(w.column.extent));
      places.push_back(c_.add(c_.mul(c_.minimum(row, c_.literal(t.rows - 1)), c_.literal(w.row_step * width)),
                              c_.mul(column, c_.literal(w.column_step))));
    }
    const ValueId first_filter = c_.mul(group, c_.literal(kFiltersOfThread)), none = c_.literal(0);
    c_.unrolled(sums, [&](ValueId i) { b_.store(acc, i, b_.constant(zero())); });
    b_.barrier();
    c_.loop(none, c_.literal(w.channel.extent), 1, [&](ValueId channel) {
      c_.loop(none, c_.literal(w.tap_row.extent), 1, [&](ValueId down) {
        const ValueId line = c_.mul(c_.add(c_.mul(channel, c_.literal(height)), down), c_.literal(width));
        const ValueId k = c_.add(c_.mul(channel, c_.literal(w.channel.stride)), c_.mul(down, c_.literal(w.tap_row.stride)));
        const ValueId of_line = c_.add(c_.mul(k, c_.literal(pitch)), first_filter);
        std::vector<ValueId> seen;
        for (const ValueId place : places) seen.push_back(c_.add(line, place));
        c_.unrolled(w.tap_column.extent, [&](ValueId tap) { multiply_tap(acc, image, seen, tap, filters, of_line, pitch); });
      });
    });
    store_windows(acc, own, across, first_filter);
    c_.end_phase();
  }

  void tiles() {
    const Tile& t = *tile_;
    c_.out.tree.threads = t.threads();
    if (t.worker == Worker::Warp) {
      stage_before_cast(left_);
      stage_before_cast(right_);
    }
    sums_ = t.worker == Worker::Warp ? sums_of_warps(c_, t, depth_, left_, right_, nest_.instr(left_.value).dtype)
                                     : sums_of_threads(c_, t, k_, left_, right_, nest_.instr(contract_).dtype);
    left_.panel = &sums_->left;
    right_.panel = &sums_->right;
    ring_.emplace(c_, t, k_, sums_->zero_filled, left_, right_);
    c_.ask_for_blocks(2, registers_of_sums(t, nest_.instr(contract_).dtype, depth_) + ring_->registers() + kOtherRegisters);
    begin_tile();
    sums_->begin();
    c_.in_scope([&] { ring_->run([&](ValueId k, ValueId stage) { sums_->multiply(k, stage); }); });
    sums_->finish();
    epilogue();
    c_.end_phase();
  }

 private:
  // --- a thread an output

  // What chain(begin, end), each time in `acc`, comes to over all k (ir::add_product).
  template <typename Chain>
  ValueId of_chains(ValueId acc, const Chain& chain) {
    const DType dtype = nest_.instr(contract_).dtype;
    if (!ir::product_in_chains(dtype, depth_)) {
      chain(c_.literal(0), nest_.extent(k_));
      return b_.get(acc);
    }
    ChainSums sums(c_, dtype, 1, depth_);
    sums.begin();
    const int32_t one = c_.fixed_buffer("chain" + std::to_string(c_.out.tree.buffers.size()), dtype, Space::Local, 1);
    const ValueId place = c_.literal(0);
    c_.loop(place, nest_.extent(k_), ir::kProductChain, [&](ValueId first) {
      if (sums.in_groups()) nest_.when(sums.begins_group(first), [&] { sums.end_group(); });
      b_.set(acc, b_.constant(zero()));
      chain(first, c_.piece_end(first, c_.literal(ir::kProductChain), nest_.extent(k_)));
      b_.store(one, place, b_.get(acc));
      sums.add(one, 0, 1);
    });
    sums.finish();
    sums.give(one, 0, 1);
    return b_.load(one, place, 1);
  }

  ir::Constant zero() const { return ir::constant(nest_.instr(contract_).dtype, int64_t{0}); }

  // --- windows

  // Blocks that run at the same time share images.
  void begin_windows() {
    const Windows& w = *windows_;
    const int64_t filter_tiles = ceil_div(left_.extent, window_tile_->filters()), row_tiles = ceil_div(w.row.extent, window_tile_->rows);
    int64_t images = 1;
    for (const AxisPart& part : w.images) images *= part.extent;
    const ValueId block = c_.begin_phase("windows", c_.product(batch_) * images * row_tiles * filter_tiles);
    const auto [of_rows, filter_tile] = c_.divide(block, nest_.size(filter_tiles));
    const auto [of_image, row_tile] = c_.divide(of_rows, nest_.size(row_tiles));
    const auto [batch, number] = c_.divide(of_image, nest_.size(images));
    nest_.bind_linear(batch_, batch);
    left_.begin = c_.mul(filter_tile, c_.literal(window_tile_->filters()));
    right_.begin = c_.mul(row_tile, c_.literal(window_tile_->rows));
    ValueId rest = number;
    image_.assign(w.images.size(), kNone);
    for (size_t i = w.images.size(); i-- > 1;) std::tie(rest, image_[i]) = c_.divide(rest, nest_.size(w.images[i].extent));
    if (!image_.empty()) image_[0] = rest;
  }

  // Binds the columns' axes to a place of the block's image.
  void bind_place(ValueId row, ValueId column) {
    const Windows& w = *windows_;
    for (const int axis : right_.axes) {
      ValueId sum = kZero;
      const auto add = [&](const AxisPart& part, ValueId number) {
        if (part.axis != axis) return;
        const ValueId by = part.stride == 1 ? number : c_.mul(number, nest_.size(part.stride));
        sum = sum < 0 ? by : c_.add(sum, by);
      };
      for (size_t i = 0; i < w.images.size(); ++i) add(w.images[i], image_[i]);
      add(w.row, row);
      add(w.column, column);
      nest_.bind(axis, sum);
    }
  }

  // Each element once, as the last of the block's rows that sees it does. Nothing sees elements past the image's last row of places.
  void stage_image(int32_t image, int64_t height) {
    const Windows& w = *windows_;
    const int64_t width = w.width(), rows = window_tile_->rows;
    const bool ragged = w.row.extent % rows != 0;
    c_.loop(c_.thread(), c_.literal(w.channel.extent * height * width), kWindowThreads, [&](ValueId at) {
      const auto [line, x] = c_.divide(at, c_.literal(width));
      const auto [channel, y] = c_.divide(line, c_.literal(height));
      const ValueId column = c_.minimum(b_.quotient(x, c_.literal(w.column_step)), c_.literal(w.column.extent - 1));
      ValueId row = c_.minimum(b_.quotient(y, c_.literal(w.row_step)), c_.literal(rows - 1));
      if (ragged) row = c_.minimum(row, c_.sub(nest_.size(w.row.extent - 1), right_.begin));
      const ValueId across = c_.sub(x, c_.mul(column, c_.literal(w.column_step))), down = c_.sub(y, c_.mul(row, c_.literal(w.row_step)));
      nest_.when(ragged ? c_.less(down, c_.literal(w.tap_row.extent)) : kAlways, [&, channel = channel] {
        bind_place(c_.add(right_.begin, row), column);
        nest_.bind(k_, c_.add(c_.add(c_.mul(channel, c_.literal(w.channel.stride)), c_.mul(down, c_.literal(w.tap_row.stride))), across));
        nest_.emit_new(right_.chain);
        b_.store(image, at, nest_.get(right_.value));
      });
    });
  }

  // Neighbouring threads bring four filters' neighbouring k, so that they read runs and meet in no bank.
  void stage_filters(int32_t filters, int64_t pitch) {
    c_.loop(c_.thread(), c_.literal(depth_ * window_tile_->filters()), kWindowThreads, [&](ValueId at) {
      const auto [rest, low] = c_.divide(at, c_.literal(kVector));
      const auto [high, k] = c_.divide(rest, c_.literal(depth_));
      const ValueId filter = c_.add(c_.mul(high, c_.literal(kVector)), low);
      ValueId row = c_.add(left_.begin, filter);
      if (left_.extent % window_tile_->filters() != 0) row = c_.minimum(row, nest_.size(left_.extent - 1));
      nest_.bind_linear(left_.axes, row);
      nest_.bind(k_, k);
      nest_.emit_new(left_.hoisted);
      nest_.emit_new(left_.chain);
      b_.store(filters, c_.add(c_.mul(k, c_.literal(pitch)), filter), nest_.get(left_.value));
    });
  }

  void multiply_tap(int32_t acc, int32_t image, const std::vector<ValueId>& seen, ValueId tap, int32_t filters, ValueId of_line,
                    int64_t pitch) {
    const DType dtype = nest_.instr(contract_).dtype;
    std::vector<ValueId> w;
    for (int f = 0; f < kFiltersOfThread; f += kVector) {
      const ValueId four = b_.load(filters, c_.add(of_line, c_.offset(c_.mul(tap, c_.literal(pitch)), f)), kVector);
      for (int i = 0; i < kVector; ++i) w.push_back(b_.let(Op::Extract, {four, c_.literal(i)}, {dtype, 1}));
    }
    for (size_t q = 0; q < seen.size(); ++q) {
      const ValueId x = b_.load(image, c_.add(seen[q], tap), 1);
      for (size_t f = 0; f < w.size(); ++f) {
        const ValueId at = c_.literal(static_cast<int64_t>(q * w.size() + f));
        b_.store(acc, at, c_.multiply_add(w[f], x, b_.load(acc, at, 1)));
      }
    }
  }

  // Place by place of a thread: its sums go to shared memory of its own, so that the code has the epilogue once.
  void store_windows(int32_t acc, int32_t own, ValueId across, ValueId first_filter) {
    const Windows& w = *windows_;
    const WindowTile& t = *window_tile_;
    const int64_t apart = kWindowThreads / t.groups;
    const ValueId none = c_.literal(0), filters = c_.literal(kFiltersOfThread);
    c_.loop(none, c_.literal(t.places), 1, [&](ValueId slot) {
      for (int q = 0; q < t.places; ++q) {
        nest_.when(t.places == 1 ? kAlways : b_.op(Op::Eq, {slot, c_.literal(q)}), [&] {
          c_.unrolled(none, filters, 1, [&](ValueId f) {
            const ValueId sum = b_.load(acc, c_.offset(f, int64_t{q} * kFiltersOfThread), 1);
            b_.store(own, c_.add(c_.mul(f, c_.literal(kWindowThreads)), c_.thread()), sum);
          });
        });
      }
      const ValueId place = c_.add(c_.mul(slot, c_.literal(apart)), across);
      nest_.when(c_.below(place, t.rows * w.column.extent, apart * t.places), [&] {
        const auto [down, column] = c_.divide(place, c_.literal(w.column.extent));
        const ValueId row = c_.add(right_.begin, down);
        nest_.when(c_.below(row, w.row.extent, t.rows), [&, column = column] {
          bind_place(row, column);
          nest_.emit_new(of_column_);
          c_.loop(none, filters, 1, [&](ValueId f) {
            const ValueId filter = c_.add(c_.add(left_.begin, first_filter), f);
            nest_.when(c_.below(filter, left_.extent, t.filters()), [&] {
              nest_.bind_linear(left_.axes, filter);
              nest_.emit_new(of_row_);
              nest_.set(contract_, b_.load(own, c_.add(c_.mul(f, c_.literal(kWindowThreads)), c_.thread()), 1));
              nest_.emit_new(of_element_);
            });
          });
        });
      });
    });
  }

  // --- tiles

  // The tensor cores widen the elements themselves.
  void stage_before_cast(Operand& side) {
    for (std::vector<Value>* values : {&side.chain, &side.hoisted}) std::erase(*values, side.value);
    side.value = nest_.instr(side.value).args[0];
  }

  // Blocks that run at the same time share rows and columns in the second cache: row tiles are taken in groups, and a group has all
  // columns.
  void begin_tile() {
    constexpr int64_t kGroup = 8;
    const Tile& t = *tile_;
    const int64_t row_tiles = ceil_div(left_.extent, t.rows), column_tiles = ceil_div(right_.extent, t.columns);
    const ValueId block = c_.begin_phase("tiles", c_.product(batch_) * row_tiles * column_tiles);
    const ValueId rows = nest_.size(row_tiles), columns = nest_.size(column_tiles);
    const auto [batch, number] = c_.divide(block, c_.mul(rows, columns));
    const auto [group, in_group] = c_.divide(number, c_.mul(columns, c_.literal(kGroup)));
    const ValueId first = c_.mul(group, c_.literal(kGroup));
    const auto [column, row] = c_.divide(in_group, c_.minimum(c_.sub(rows, first), c_.literal(kGroup)));
    nest_.bind_linear(batch_, batch);
    left_.begin = c_.mul(c_.add(first, row), c_.literal(t.rows));
    right_.begin = c_.mul(column, c_.literal(t.columns));
  }

  int threads() const { return tile_->threads(); }

  // Row after row of each worker passes through shared memory, so that neighbouring threads store neighbouring columns, and
  // that the code has the epilogue once. A thread takes four columns where results lie so in memory, eight of halves.
  void epilogue() {
    nest_.set_sub_axes({});
    const int lanes = lanes_ = stored_lanes();
    const int columns = right_.panel->width / lanes, rows = threads() / columns;  // that the threads store at once
    auto [down, across] = c_.divide(c_.thread(), c_.literal(columns));
    if (lanes > 1) across = c_.mul(across, c_.literal(lanes));
    const ValueId column = c_.add(right_.begin, across);
    nest_.emit_new(of_batch_);
    lanes > 1 ? begin_vectors(column) : begin_column(column);
    c_.loop(c_.literal(0), c_.literal(sums_->strips), 1, [&, down = down, across = across](ValueId strip) {
      sums_->pass(strip);
      b_.barrier();
      c_.loop(down, c_.literal(sums_->strip_rows), rows, [&](ValueId number) {
        const ValueId row = c_.add(left_.begin, sums_->row(strip, number));
        nest_.when(c_.below(row, left_.extent, left_.panel->width), [&] {
          nest_.when(c_.below(column, right_.extent, right_.panel->width), [&] {
            nest_.bind_linear(left_.axes, row);
            const ValueId product = c_.add(c_.mul(number, c_.literal(sums_->pitch)), across);
            nest_.emit_new(of_row_);
            if (lanes > 1) return store_vectors(VectorAccess::load(c_, sums_->shared, product, lanes));
            nest_.set(contract_, b_.load(sums_->shared, product, 1));
            nest_.emit_new(of_element_);
          });
        });
      });
      b_.barrier();
    });
  }

  void begin_column(ValueId column) {
    ring_->bind_within(right_, column, right_.last);
    nest_.emit_new(of_column_);
  }

  // --- the epilogue of neighbouring columns

  int stored_lanes() {
    if (right_.axes.empty()) return 1;
    along_columns_ = varying_along(c_.kernel, right_.axes.back());
    along_columns_[contract_] = true;  // a vector, even where all columns are equal
    bool halves = true;
    for (Value v : of_element_) {
      for (Value a : nest_.instr(v).args) along_columns_[v] = along_columns_[v] || along_columns_[a];
      halves = halves && (nest_.instr(v).op != Op::Store || ir::is_half(nest_.instr(nest_.instr(v).args[0]).dtype));
    }
    for (const int lanes : {8, kVector}) {
      if ((lanes == kVector || halves) && stores_vectors(lanes)) return lanes;
    }
    return 1;
  }
  bool stores_vectors(int lanes) {
    const int axis = right_.axes.back(), width = right_.panel->width;
    if (width % lanes != 0 || threads() % (width / lanes) != 0 || c_.extent(axis) % lanes != 0) return false;
    return std::ranges::all_of(of_element_, [&](Value v) {
      return nest_.instr(v).op != Op::Store || moves_as_vector(c_.kernel, nest_.instr(v), axis, along_columns_, lanes);
    });
  }
  bool loads_vector(Value v) {
    return nest_.instr(v).op == Op::Load && along_columns_[v] &&
           moves_as_vector(c_.kernel, nest_.instr(v), right_.axes.back(), along_columns_, lanes_);
  }

  // Binds the columns from this one on, and reads what they have for all rows.
  void begin_vectors(ValueId column) {
    std::vector<int> outer = right_.axes;
    outer.pop_back();
    if (right_.extent % right_.panel->width != 0) column = c_.minimum(column, c_.sub(nest_.size(right_.extent), c_.literal(lanes_)));
    const ValueId vector = b_.quotient(column, c_.literal(lanes_));
    first_column_ = c_.mul(c_.bind_outer(outer, vector, c_.extent(right_.axes.back()) / lanes_).second, c_.literal(lanes_));
    for (Value v : of_column_) {
      if (!along_columns_[v]) nest_.emit_new({&v, 1});
    }
    c_.in_scope([&] {
      nest_.bind(right_.axes.back(), first_column_);
      for (Value v : of_column_) {
        if (loads_vector(v)) column_vectors_.emplace_back(v, VectorAccess::load(c_, nest_.instr(v).slot, nest_.position_of(v), lanes_));
      }
    });
  }

  void store_vectors(std::vector<ValueId> products) {
    VectorAccess access(c_, lanes_);
    access.is(contract_, std::move(products));
    for (const auto& [v, vectors] : column_vectors_) access.is(v, vectors);
    std::vector<Value> moved, single;
    for (Value v : of_column_) {
      if (!loads_vector(v) && along_columns_[v]) single.push_back(v);
    }
    for (Value v : of_element_) {
      if (nest_.instr(v).op == Op::Store || loads_vector(v)) moved.push_back(v);
      else if (along_columns_[v]) single.push_back(v);
      else nest_.emit_new({&v, 1});
    }
    access.move(moved, right_.axes.back(), first_column_);
    nest_.prepare(single);
    access.each([&](ValueId k) {
      nest_.bind(right_.axes.back(), c_.add(first_column_, k));
      nest_.emit_new(single);
    });
  }

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  std::vector<ValueId> image_;  // the block's, by the parts of columns that number it
  std::unique_ptr<Sums> sums_;
  std::optional<Ring> ring_;
  // The epilogue in vectors: which values change along the columns' last axis, the thread's first place there, and what was read.
  std::vector<bool> along_columns_;
  ValueId first_column_ = kNone;
  std::vector<std::pair<Value, std::vector<ValueId>>> column_vectors_;
  int lanes_ = 1;  // columns of a thread
};

}  // namespace

Choice choose_contraction(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  ContractionPlan plan(kernel, target);
  return {plan.program(), std::move(plan)};
}

void lower_contraction_tiles(Context& c) { Contraction(c).tiles(); }
void lower_contraction_windows(Context& c) { Contraction(c).windows(); }
void lower_contraction_outputs(Context& c) { Contraction(c).outputs(); }

}  // namespace tenon::passes::gpu
