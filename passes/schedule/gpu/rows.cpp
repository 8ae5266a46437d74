// Reductions along rows on a GPU. The 64 virtual lanes of ir/kernel/kernel.h's tree are the 32 threads of a warp
// with two accumulators each: element i of a row goes to accumulator (i / 32) mod 2 of thread i mod 32, so
// the first halving of the tree happens inside a thread and the other five by shuffles, without barriers. Where rows
// are aligned half a warp takes a row, or a block of the tree: a thread has four neighbouring lanes, loads and stores
// them as one vector, and does the last two halvings. Each lane adds in the same order, so the bits are the same. The
// passes over a row (softmax has three) become four programs:
//
//   rows          one block of the tree a row: a warp takes a row, or several: rows of up to 16 elements have as many
//                 threads as the next power of two. The other lanes of the tree hold the identity, and leave the value
//                 as it is. Up to 1024 elements, what a later pass needs again stays in registers.
//                   if row < s2 {
//                     for j in 0..8 step 2 unroll { for half in 0..2 unroll { ... acc[half] += x } } fold }
//   rows in blocks  longer rows with several passes: a CUDA block takes a row, and every thread keeps its part of it
//                 (rows_in_block.cpp)
//   long rows     several blocks of the tree a row: a CUDA block takes a row, its warps take the tree's
//                 blocks in turn, and each warp folds all block values, which stand in shared memory.
//   rows split    few rows, very long: a warp takes one block of the tree and writes its value to global
//                 memory; a second phase gives each row a warp that folds them. Where they are many,
//                 a CUDA block brings them to shared memory first. One such pair for each pass that reduces.
#include <algorithm>
#include <optional>

#include "passes/schedule/gpu/row_groups.h"
#include "passes/schedule/gpu/rows_in_block.h"

namespace tenon::passes::gpu {
namespace {

constexpr int64_t kMaxRegisterRow = 1024;  // elements whose values may stay in registers: 32 a thread
constexpr size_t kMaxKept = 3;             // values of each element that may stay in registers
constexpr int64_t kMaxShared = 1024;       // block values of a row that stand in shared memory
constexpr int64_t kSplitBlocks = 16;       // rows with fewer blocks than this are not worth a second launch
constexpr int64_t kManyBlocks = 128;       // values of a row from which on they pass through shared memory
constexpr int64_t kSharedValues = 4096;    // block values in shared memory, at most
constexpr int64_t kFewRows = 64;           // too few rows to fill a GPU with a CUDA block each

struct RowPlan {
  ReduceLoops loops;
  Kept kept = Kept::Nowhere;
  BlockRow row = {};  // if a block keeps it
};

// What later passes over a row need again stays in registers if the row is short, or with a block, without outer axes that
// would multiply them, and if it is not too much; else each pass starts from the loads.
RowPlan plan_rows(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  const int lane = ir::axes_of(kernel, AxisKind::Inner).back();
  const int64_t length = kernel.extent(lane);
  if (kernel.extent_of(AxisKind::Inner) == length) {
    const std::vector<bool> costly = costly_values(kernel);
    ReduceLoops loops = plan_loops(kernel, [&](Value v) { return kernel.instr(v).op == Op::Load || costly[v]; });
    if (length <= kMaxRegisterRow && loops.carried.size() <= kMaxKept) return {std::move(loops), Kept::Registers, {}};
    const bool passes = length > kMaxRegisterRow && loops.loops > 1, vectors = moves_as_vectors(kernel, lane);
    const auto in_block = [&] { return passes ? block_row(kernel, target, loops, length, vectors) : std::nullopt; };
    std::optional<BlockRow> row = in_block();
    if (!row) {
      loops = plan_loops(kernel, [&](Value v) { return costly[v]; });
      row = in_block();
    }
    if (row) return {std::move(loops), Kept::Block, *std::move(row)};
  }
  return {plan_loops(kernel)};
}

class Rows : RowGroups {
 public:
  Rows(Context& c, Kept kept) : RowGroups(c, kept, c.target.threads), writes_over_(!in_place_results(c.kernel, c.loops).empty()) {
    for (Value v : plan_.carried) carry_[v] = c_.fixed_buffer("kept" + std::to_string(v), nest_.instr(v).dtype, Space::Local, slots_);
    int64_t kept_registers = 0;
    for (int l = 0; l < plan_.loops; ++l) {
      int64_t now = 0;
      for (Value v : plan_.carried_in[static_cast<size_t>(l)]) now += words(nest_.instr(v).dtype) * slots_;
      kept_registers = std::max(kept_registers, now);
    }
    begin(kept_registers);
  }

  void short_program() {
    each_row("rows", [&](ValueId) {
      for (int l = 0; l < plan_.loops; ++l) {
        emit_row(l, lane_in_group_);
        accumulate(l, kNone);
        for (Value v : reductions(l)) finish(v, fold(v));
      }
      emit_row(plan_.loops, lane_in_group_);
    });
  }

  void long_program() {
    int64_t room = groups_;  // a size class: part of the code
    while (room < blocks_) room *= 4;
    for (const auto& [v, accumulator] : accumulators_) {
      partials_[v] = c_.reducer(v).buffers("blocks" + std::to_string(v), Space::Shared, room);
    }
    nest_.bind_linear(rows_, c_.begin_phase("rows", row_count_));
    bind_group();
    const ValueId blocks = nest_.size(blocks_);
    for (int l = 0; l < plan_.loops; ++l) {
      emit_row(l, c_.thread());
      const bool several = group_ < kWarp;
      c_.loop(several ? c_.literal(0) : group_number_, blocks, groups_, [&](ValueId first) {
        const ValueId block = several ? block_of_group(first, blocks) : first;
        accumulate(l, block);
        store_partials(l, block);
      });
      if (reductions(l).empty()) continue;
      b_.barrier();
      for (Value v : reductions(l)) fold_partials(v, kZero, blocks);
    }
    emit_row(plan_.loops, c_.thread());
    c_.end_phase();
  }

  void split_program() {
    for (const auto& [v, accumulator] : accumulators_) partials_[v] = c_.partials(v, Space::Global, row_count_ * blocks_);
    for (int l = 0; l < plan_.loops; ++l) {
      split_blocks(l);
      if (!reductions(l).empty()) blocks_ < kManyBlocks ? split_rows(l) : split_rows_in_tiles(l);
    }
  }

 private:
  // A phase with a warp, or a part of one, for each row: body(row). A warp stays together: where it takes several rows, those
  // past the last are the last row again.
  template <typename Body>
  void each_row(std::string name, const Body& body) {
    const ValueId block = c_.begin_phase(std::move(name), ceil_div(row_count_, groups_));
    bind_group();
    ValueId row = c_.add(c_.mul(block, c_.literal(groups_)), group_number_);
    const ValueId within = c_.below(row, row_count_, groups_);
    const bool several = group_ < kWarp;
    if (several && within >= 0) row = c_.minimum(row, c_.sub(nest_.size(row_count_), c_.literal(1)));
    is_row_ = several && writes_over_ ? within : kAlways;
    nest_.when(several ? kAlways : within, [&] {
      nest_.bind_linear(rows_, row);
      body(row);
    });
    is_row_ = kAlways;
    c_.end_phase();
  }

  // The group's block among those from `first` on. A warp stays together: past the last block that one is done again.
  ValueId block_of_group(ValueId first, ValueId blocks) { return c_.minimum(c_.add(first, group_number_), c_.sub(blocks, c_.literal(1))); }

  // A group for each block of the tree: element stores, and block values to global memory.
  void split_blocks(int l) {
    const int64_t blocks_of_row = ceil_div(blocks_, groups_);  // CUDA blocks
    const ValueId number = c_.begin_phase("blocks" + std::to_string(l), row_count_ * blocks_of_row);
    auto [row, block_of_row] = c_.divide(number, nest_.size(blocks_of_row));
    bind_group();
    const bool several = group_ < kWarp;
    const ValueId blocks = nest_.size(blocks_), first = c_.mul(block_of_row, c_.literal(groups_));
    const ValueId block = several ? block_of_group(first, blocks) : c_.add(first, group_number_);
    nest_.when(several ? kAlways : c_.less(block, blocks), [&, row = row] {
      nest_.bind_linear(rows_, row);
      recall(l, [row](int) { return row; });
      accumulate(l, block);
      store_partials(l, c_.add(c_.mul(row, blocks), block));
    });
    c_.end_phase();
  }

  // One warp a row: folds the block values of loop l, then stores what is known of the row.
  void split_rows(int l) {
    each_row("rows" + std::to_string(l), [&](ValueId row) {
      const auto place = [row](int) { return row; };
      recall(l, place);
      const ValueId blocks = nest_.size(blocks_), base = c_.mul(row, blocks);
      for (Value v : reductions(l)) fold_partials(v, base, blocks);
      emit_values(l + 1);
      nest_.when(is_row_, [&] {
        only(lane_in_group_, [&] {
          emit_after(l);
          remember(l, place, row_count_);
        });
      });
    });
  }

  // The same of many block values, which one warp would wait for step after step: a CUDA block a row, whose threads bring a tile of them
  // to shared memory at once.
  void split_rows_in_tiles(int l) {
    int64_t bytes = 0, tile = kSharedValues;
    for (Value v : reductions(l)) bytes += ir::item_size(nest_.instr(nest_.instr(v).args[0]).dtype) + (c_.reducer(v).has_index() ? 8 : 0);
    while (tile > threads_ && (tile * bytes > c_.target.static_shared_bytes() || tile / 2 >= blocks_)) tile /= 2;
    std::vector<AccumulatorBuffers> tiles;
    for (Value v : reductions(l)) tiles.push_back(c_.reducer(v).buffers("tile" + std::to_string(v), Space::Shared, tile));

    const ValueId row = c_.begin_phase("rows" + std::to_string(l), row_count_);
    bind_group();
    const auto place = [row](int) { return row; };
    nest_.bind_linear(rows_, row);
    recall(l, place);
    const ValueId blocks = nest_.size(blocks_), base = c_.mul(row, blocks), is_adding = c_.less(c_.thread(), c_.literal(kWarp));
    for (Value v : reductions(l)) open_total(v);
    c_.loop(c_.literal(0), blocks, tile, [&](ValueId first) {
      c_.unrolled(c_.literal(0), c_.literal(tile), threads_, [&](ValueId step) {
        const ValueId in_tile = c_.add(step, c_.thread()), block = c_.add(first, in_tile);
        nest_.when(c_.less(block, blocks), [&] {
          for (size_t r = 0; r < tiles.size(); ++r) {
            Reducer reduce = c_.reducer(reductions(l)[r]);
            reduce.store(tiles[r], in_tile, reduce.load(partials_.at(reductions(l)[r]), c_.add(base, block)));
          }
        });
      });
      b_.barrier();
      nest_.when(is_adding, [&] {
        const ValueId count = c_.minimum(c_.literal(tile), c_.sub(blocks, first));
        for (size_t r = 0; r < tiles.size(); ++r) add_to_total(reductions(l)[r], tiles[r], kZero, count);
      });
      b_.barrier();
    });
    nest_.when(is_adding, [&] {
      for (Value v : reductions(l)) finish_total(v);
      emit_values(l + 1);
      only(c_.thread(), [&] {
        emit_after(l);
        remember(l, place, row_count_);
      });
    });
    c_.end_phase();
  }

  const bool writes_over_;  // results may lie over operands
};

RowProgram program_of(const ir::Kernel& kernel, Kept kept) {
  std::vector<int> outer = ir::axes_of(kernel, AxisKind::Inner);
  const int64_t length = kernel.extent(outer.back()), rows = kernel.extent_of(AxisKind::Parallel);
  outer.pop_back();
  const int64_t blocks = row_blocks(product_of(kernel, outer), length).count;
  if (kept == Kept::Block) return RowProgram::InBlock;
  if (blocks > kMaxShared || (blocks >= kSplitBlocks && rows < kFewRows)) return RowProgram::Split;
  return blocks > 1 ? RowProgram::Long : RowProgram::Short;
}

// Moves the loops to the context.
RowPlan& take_plan(Context& c) {
  auto& plan = std::any_cast<RowPlan&>(c.plan);
  c.loops = std::move(plan.loops);
  return plan;
}

}  // namespace

Choice choose_rows(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  RowPlan plan = plan_rows(kernel, target);
  return {program_of(kernel, plan.kept), std::move(plan)};
}

void lower_short_rows(Context& c) { Rows(c, take_plan(c).kept).short_program(); }
void lower_long_rows(Context& c) { Rows(c, take_plan(c).kept).long_program(); }
void lower_rows_split(Context& c) { Rows(c, take_plan(c).kept).split_program(); }
void lower_rows_in_block(Context& c) { lower_rows_in_block(c, take_plan(c).row); }

}  // namespace tenon::passes::gpu
