// Reductions along columns on a GPU: neighbouring threads take neighbouring columns, so that each step down
// reads a row; a column is walked in the order of ir/kernel/kernel.h's Columns tree, blocks of 256 elements one
// after another.
//
//   columns   a thread takes a column:
//               if column < s1 {
//                 total = 0
//                 for b in 0..s2 step 256 {
//                   acc = 0; for e in b..min(b + 256, s2) { acc += x[s3*e + column] }; total += acc }
//                 store y[column], total
//               }
//   split     few columns, long: a thread takes one block of a column and writes its value to global memory;
//             in a second phase a thread takes a column and adds the block values, which if they are many all
//             threads of a CUDA block bring to shared memory. One such pair for each pass that reduces.
#include <algorithm>
#include <bit>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kManyColumns = 1 << 14;  // that fill a GPU with a thread each
constexpr int64_t kChainsAhead = 4;        // 16 elements of a column that a thread reads before it adds them
constexpr int64_t kSplitBlocks = 4;        // shorter columns are not worth a second launch
constexpr int64_t kManyBlocks = 64;        // values of a column that are not worth the way through shared memory
constexpr int64_t kSharedValues = 2048;    // block values in shared memory
constexpr int64_t kTileColumns = 32;       // at most

class Columns : ColumnStages {
 public:
  explicit Columns(Context& c) : ColumnStages(c, c.loops), c_(c), parallel_(c.axes(AxisKind::Parallel)), columns_(c.product(parallel_)) {
    if (count_ >= kChainsAhead * ir::kReduceChain) chains_ahead_ = kChainsAhead;
  }

  void lower() {
    each_column("columns", [&](ValueId) { all_loops(); });
  }
  void lower_split() {
    for (int l = 0; l < plan_.loops; ++l) split(l);
  }

 private:
  void each(Value, const std::function<void(int)>& f) override { f(0); }

  // A phase with a thread for each column: body(column).
  template <typename Body>
  void each_column(std::string name, const Body& body) {
    c_.each_item(std::move(name), columns_, [&](ValueId column) {
      nest_.bind_linear(parallel_, column);
      body(column);
    });
  }

  void split(int l) {
    const std::vector<AccumulatorBuffers> partials = partial_buffers(l, columns_ * blocks_);
    c_.each_item("blocks" + std::to_string(l), columns_ * blocks_, [&](ValueId item) {
      auto [number, column] = c_.divide(item, nest_.size(columns_));
      nest_.bind_linear(parallel_, column);
      recall(l, [column = column](int) { return column; });
      std::vector<Column> sums = open(l);
      const ValueId begin = block_begin(number);
      block(l, begin, block_end(begin), 1, sums);
      for (Column& sum : sums) sum.reduce.store(partials[sum.number], item, sum.read());
    });
    if (partials.empty()) return;
    if (blocks_ >= kManyBlocks) return fold_in_tiles(l, partials);
    each_column("columns" + std::to_string(l), [&](ValueId column) {
      const auto block_place = [&](ValueId number, int) { return c_.add(c_.mul(number, nest_.size(columns_)), column); };
      fold_blocks(
          l, partials, block_place, [column](int) { return column; }, columns_);
    });
  }

  // Up to 32 columns are a CUDA block's: its threads bring a tile of block values, then a thread for each column adds those in order.
  void fold_in_tiles(int l, const std::vector<AccumulatorBuffers>& partials) {
    int64_t bytes = 0, tile = kSharedValues;
    for (Value v : reductions(l)) bytes += ir::item_size(nest_.instr(nest_.instr(v).args[0]).dtype) + (c_.reducer(v).has_index() ? 8 : 0);
    while (tile * bytes > c_.target.static_shared_bytes() && tile > kTileColumns) tile /= 2;
    const int64_t together = std::min(kTileColumns, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(columns_))));
    std::vector<AccumulatorBuffers> tiles;
    for (Value v : reductions(l)) tiles.push_back(c_.reducer(v).buffers("tile" + std::to_string(v), Space::Shared, tile));

    const ValueId block = c_.begin_phase("columns" + std::to_string(l), ceil_div(columns_, together));
    const ValueId first = c_.mul(block, c_.literal(together));
    const ValueId blocks = nest_.size(blocks_), width = c_.literal(tile / together), is_adding = c_.less(c_.thread(), c_.literal(together));
    std::vector<Column> totals = open_totals(l);
    c_.loop(c_.literal(0), blocks, tile / together, [&](ValueId base) {
      c_.loop(c_.thread(), c_.literal(tile), c_.target.threads, [&](ValueId element) {
        const auto [in_tile, beside] = c_.divide(element, c_.literal(together));
        const ValueId number = c_.add(base, in_tile), column = c_.add(first, beside);
        nest_.when(b_.op(Op::And, {c_.less(number, blocks), c_.less(column, nest_.size(columns_))}), [&] {
          const ValueId place = c_.add(c_.mul(number, nest_.size(columns_)), column);
          for (size_t r = 0; r < tiles.size(); ++r) {
            Reducer reduce = c_.reducer(reductions(l)[r]);
            reduce.store(tiles[r], element, reduce.load(partials[r], place));
          }
        });
      });
      b_.barrier();
      nest_.when(is_adding, [&] {
        c_.loop(c_.literal(0), c_.minimum(width, c_.sub(blocks, base)), 1, [&](ValueId number) {
          const ValueId place = c_.add(c_.mul(number, c_.literal(together)), c_.thread());
          for (Column& total : totals) total.take(c_.reducer(total.reduction).load(tiles[total.number], place));
        });
      });
      b_.barrier();
    });
    const ValueId column = c_.add(first, c_.thread());
    nest_.when(b_.op(Op::And, {is_adding, c_.less(column, nest_.size(columns_))}), [&] {
      nest_.bind_linear(parallel_, column);
      const auto place = [column](int) { return column; };
      recall(l, place);
      give_results(totals);
      emit_after(l);
      remember(l, place, columns_);
    });
    c_.end_phase();
  }

  Context& c_;
  std::vector<int> parallel_;
  int64_t columns_;
};

}  // namespace

bool splits_columns(const ir::Kernel& kernel) {
  const int64_t blocks = ceil_div(kernel.extent_of(AxisKind::Inner), ir::kColumnBlock);
  return kernel.extent_of(AxisKind::Parallel) < kManyColumns && blocks >= kSplitBlocks;
}

void lower_columns(Context& c) {
  c.loops = plan_loops(c.kernel);
  Columns(c).lower();
}
void lower_columns_split(Context& c) {
  c.loops = plan_loops(c.kernel);
  Columns(c).lower_split();
}

}  // namespace tenon::passes::gpu
