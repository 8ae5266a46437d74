// Sums of threads: fused multiply-adds of what each thread reads from shared memory to registers, k in order.
//
//   for k { u[8] = left[k][..]; v[8] = right[k][..]; acc[i][j] = fma(u[i], v[j], acc[i][j]) }        (ir/op/sum_order.h)
//
// Past the last k nothing is multiplied: adding 0 * 0 would turn -0.0 into 0.0.
#include <optional>

#include "passes/schedule/gpu/sums.h"

namespace tenon::passes::gpu {

namespace {

constexpr int kManySums = 32;  // of a thread

class SumsOfThreads : public Sums {
 public:
  SumsOfThreads(Context& c, const Tile& t, int k, const Operand& l, const Operand& r, DType dtype)
      : Sums(c, t), k_(k), dtype_(dtype), factors_(factors_of(c.kernel, contraction_of(c.kernel))) {
    rows_ = part(left, l, "left", t.rows, t.part_rows);
    columns_ = part(right, r, "right", t.columns, t.part_columns);
    acc_ = c_.fixed_buffer("acc0", dtype, Space::Local, count());
    shared = b_.add_buffer({"products0", dtype, Space::Shared, kNone, int64_t{t.threads()} * t.part_columns});
    if (ir::product_in_chains(dtype, c.extent(k))) chains_.emplace(c, dtype, count(), c.extent(k));
    strips = t.part_rows;
    strip_rows = t.rows / t.part_rows;
    pitch = t.columns;
  }

  void begin() override {
    const auto [down, across] = c_.divide(c_.thread(), c_.literal(tile_.columns / tile_.part_columns));
    down_ = down;
    rows_.first = first_of(rows_, down);
    columns_.first = first_of(columns_, across);
    clear();
    if (chains_) chains_->begin();
  }

  void multiply(ValueId k, ValueId stage) override {
    for (Part* part : {&rows_, &columns_}) part->base = c_.add(c_.mul(stage, c_.literal(part->panel->stage())), part->first);
    if (chains_) begin_slice(k);
    const int64_t depth = c_.extent(k_);
    // A few k together, then those left over one by one.
    const int together = tile_.part_rows * tile_.part_columns > kManySums ? 4 : 8;
    const bool ragged = depth % tile_.depth != 0;
    const ValueId zero = c_.literal(0), many = c_.literal(together);
    const ValueId end = ragged ? c_.minimum(c_.sub(c_.nest.extent(k_), k), c_.literal(tile_.depth)) : c_.literal(tile_.depth);
    const ValueId whole = ragged ? c_.mul(b_.quotient(end, many), many) : end;
    c_.loop(zero, whole, together, [&](ValueId first) { c_.unrolled(together, [&](ValueId i) { multiply_one(c_.add(first, i)); }); });
    if (ragged) c_.loop(whole, end, 1, [&](ValueId at) { multiply_one(at); });
  }

  void finish() override {
    if (!chains_) return;
    end_chain();
    chains_->finish();
    chains_->give(acc_, 0, count());
  }

  // One row of each thread's sums.
  void pass(ValueId strip) override {
    c_.unrolled(tile_.part_rows, [&](ValueId row) { c_.nest.when(b_.op(Op::Eq, {row, strip}), [&] { pass_row(row); }); });
  }

  ValueId row(ValueId strip, ValueId number) override { return within_tile(rows_, first_of(rows_, number), strip); }

 private:
  int64_t count() const { return int64_t{tile_.part_rows} * tile_.part_columns; }  // sums of a thread
  void clear() {
    c_.unrolled(count(), [&](ValueId i) { b_.store(acc_, i, b_.constant(ir::constant(dtype_, int64_t{0}))); });
  }
  void end_chain() {
    chains_->add(acc_, 0, count());
    clear();
  }
  void begin_slice(ValueId k) {
    c_.nest.when(chains_->begins_chain(k), [&] { end_chain(); });
    if (chains_->in_groups()) c_.nest.when(chains_->begins_group(k), [&] { chains_->end_group(); });
  }

  // A thread's rows, or columns.
  struct Part {
    const Panel* panel = nullptr;
    int width = 0;  // how many
    int32_t registers = kNone;
    ValueId first = kNone;  // the first one, in the tile
    ValueId base = kNone;   // where it lies for the first k of a slice
    bool in_vectors() const { return width % kVector == 0; }
  };

  Part part(Panel& panel, const Operand& side, const std::string& name, int width, int of_thread) {
    Part part{&panel, of_thread};
    panel.dtype = dtype_;
    panel.width = width;
    panel.lines = tile_.depth;
    // Neighbouring k go to other banks, and four neighbours stay aligned.
    panel.pitch = width + (!side.along_depth ? 0 : part.in_vectors() ? kVector : 1);
    part.registers = c_.fixed_buffer(name + "1", panel.dtype, Space::Local, of_thread);
    return part;
  }

  // Row i of a thread in the tile, `first` being its row 0: four neighbours, then four behind those of all other threads; or
  // single ones.
  ValueId within_tile(const Part& part, ValueId first, ValueId i) {
    const int64_t others = part.panel->width / part.width;
    if (!part.in_vectors()) return c_.add(c_.mul(i, c_.literal(others)), first);
    const auto [group, lane] = c_.divide(i, c_.literal(kVector));
    return c_.add(c_.add(c_.mul(group, c_.literal(others * kVector)), first), lane);
  }
  ValueId first_of(const Part& part, ValueId number) { return part.in_vectors() ? c_.mul(number, c_.literal(kVector)) : number; }

  // A thread's part of one k of the slice, to registers.
  void fetch(const Part& part, ValueId k) {
    const ValueId base = c_.add(c_.mul(k, c_.literal(part.panel->pitch)), part.base);
    const int step = part.in_vectors() ? kVector : 1, others = part.panel->width / part.width;
    for (int i = 0; i < part.width; i += step) {
      const ValueId loaded = b_.load(part.panel->shared, i == 0 ? base : c_.add(base, c_.literal(int64_t{i} * others)), step);
      for (int lane = 0; lane < step; ++lane) {
        const ValueId value = step == 1 ? loaded : b_.let(Op::Extract, {loaded, c_.literal(lane)}, {b_.type(loaded).dtype, 1});
        b_.store(part.registers, c_.literal(i + lane), value);
      }
    }
  }

  void multiply_one(ValueId k) {
    fetch(rows_, k);
    fetch(columns_, k);
    c_.unrolled(rows_.width, [&](ValueId i) {
      const ValueId x = b_.load(rows_.registers, i, 1), row = c_.mul(i, c_.literal(columns_.width));
      c_.unrolled(columns_.width, [&](ValueId j) {
        const ValueId at = c_.add(row, j);
        b_.store(acc_, at, c_.add_product(factors_, x, b_.load(columns_.registers, j, 1), b_.load(acc_, at, 1)));
      });
    });
  }

  void pass_row(ValueId row) {
    const int step = columns_.in_vectors() ? kVector : 1;
    const ValueId from = c_.mul(row, c_.literal(columns_.width)), base = c_.add(c_.mul(down_, c_.literal(pitch)), columns_.first);
    for (int j = 0; j < columns_.width; j += step) {
      const ValueId sum = b_.load(acc_, c_.add(from, c_.literal(j)), step);
      b_.store(shared, c_.add(base, c_.literal(int64_t{j} * (tile_.columns / columns_.width))), sum);
    }
  }

  int k_;
  DType dtype_;
  const Factors factors_;
  Part rows_, columns_;
  int32_t acc_ = kNone;
  std::optional<ChainSums> chains_;
  ValueId down_ = kNone;  // the number of the thread's rows among those of the tile
};

}  // namespace

std::unique_ptr<Sums> sums_of_threads(Context& c, const Tile& tile, int k, const Operand& left, const Operand& right, DType dtype) {
  return std::make_unique<SumsOfThreads>(c, tile, k, left, right, dtype);
}

}  // namespace tenon::passes::gpu
