// The sums of a block's tile: which worker holds which, how it multiplies a slice of both operands, and how the sums get to shared
// memory, where the epilogue finds them. One kind for threads, one for warps. Private to passes/schedule/gpu/.
#pragma once

#include <memory>
#include <string>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/ring.h"

namespace tenon::passes::gpu {

class Sums {
 public:
  virtual ~Sums() = default;

  // --- what is staged
  Panel left, right;         // but for their buffers
  bool zero_filled = false;  // past the last k there must be zeros

  // --- in the phase
  virtual void begin() = 0;                             // all sums are 0
  virtual void multiply(ValueId k, ValueId stage) = 0;  // the slice that begins at k
  virtual void finish() = 0;                            // after the last one

  // --- the sums to shared memory, `strips` times `strip_rows` rows of the tile
  int strips = 0, strip_rows = 0, pitch = 0;
  int32_t shared = kNone;
  virtual void pass(ValueId strip) = 0;
  virtual ValueId row(ValueId strip, ValueId number) = 0;  // the row of the tile that is number `number` there

 protected:
  Sums(Context& c, const Tile& t) : c_(c), b_(c.builder), tile_(t) {}
  Context& c_;
  ir::TreeBuilder& b_;
  const Tile& tile_;
};

// What the chains of a worker's sums come to (ir::add_product), in registers or wherever the compiler has
// room: a chain's end alone touches them.
class ChainSums {
 public:
  ChainSums(Context& c, DType dtype, int64_t count, int64_t depth, int64_t chain = ir::kProductChain)
      : c_(c), b_(c.builder), dtype_(dtype), total_(Reducer(c.builder, Op::Sum, dtype).total()), count_(count), chain_(chain) {
    const std::string number = std::to_string(c.out.tree.buffers.size());
    group_ = c_.fixed_buffer("group" + number, dtype, Space::Local, count);
    if (ir::product_in_groups(dtype, depth, chain)) totals_ = total_.buffers("totals" + number, Space::Local, count);
  }
  bool in_groups() const { return totals_.value >= 0; }
  void begin() {
    c_.unrolled(count_, [&](ValueId i) {
      b_.store(group_, i, zero());
      if (in_groups()) total_.store(totals_, i, total_.identity());
    });
  }
  // Whether a chain, or a group, begins at k. Slices of k divide chains.
  ValueId begins_chain(ValueId k) { return is_multiple(k, chain_); }
  ValueId begins_group(ValueId k) { return is_multiple(k, chain_ * ir::kProductGroup); }
  // Adds the `count` chains in `sums` to the groups from number `first` on.
  void add(int32_t sums, int64_t first, int64_t count) {
    c_.unrolled(count, [&](ValueId i) {
      const ValueId at = c_.offset(i, first);
      b_.store(group_, at, c_.add(b_.load(group_, at, 1), b_.load(sums, i, 1)));
    });
  }
  void end_group() {
    c_.unrolled(count_, [&](ValueId i) {
      total_.store(totals_, i, total_.combine(total_.load(totals_, i), {b_.load(group_, i, 1)}));
      b_.store(group_, i, zero());
    });
  }
  // After the last chain; then what all come to, to `sums`.
  void finish() {
    if (in_groups()) end_group();
  }
  void give(int32_t sums, int64_t first, int64_t count) {
    c_.unrolled(count, [&](ValueId i) {
      const ValueId at = c_.offset(i, first);
      b_.store(sums, i, in_groups() ? total_.result(total_.load(totals_, at)) : b_.load(group_, at, 1));
    });
  }

 private:
  ValueId zero() { return b_.constant(ir::constant(dtype_, int64_t{0})); }
  ValueId is_multiple(ValueId k, int64_t of) { return b_.op(Op::Eq, {b_.op(Op::And, {k, c_.literal(of - 1)}), c_.literal(0)}); }

  Context& c_;
  ir::TreeBuilder& b_;
  DType dtype_;
  Reducer total_;
  int64_t count_, chain_;
  int32_t group_;
  AccumulatorBuffers totals_;
};

// The operands come with along_depth. k: the axis that is summed over; depth: its extent.
std::unique_ptr<Sums> sums_of_threads(Context& c, const Tile& tile, int k, const Operand& left, const Operand& right, DType dtype);
std::unique_ptr<Sums> sums_of_warps(Context& c, const Tile& tile, int64_t depth, const Operand& left, const Operand& right, DType dtype);

}  // namespace tenon::passes::gpu
