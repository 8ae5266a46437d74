// What a mask selects, on a GPU: the true elements are counted by blocks, one block adds up the counts, and then all blocks
// know where their results begin.
//
//   mask    0 1 1 0 | 0 0 0 0 | 1 0 0 1     phase count: 2, 0, 2     phase starts: 0, 2, 2
//   phase select: the r-th true element i  ->  nonzero: its indices, compress: y[r] = x[i], scatter.mask: y[i] = value[r]
//   phase rows:   where x or y has rows of several elements, select notes i in rows[r], and these are copied here
//
// Results are as many as were counted when the call was made: should the mask have more true elements, they are passed over.
#include <array>
#include <tuple>

#include "passes/schedule/gpu/call.h"
#include "passes/schedule/gpu/vector_access.h"

namespace tenon::passes::gpu {
namespace {

constexpr int64_t kPerThread = 16;  // neighbours that a thread looks at

class Mask {
 public:
  Mask(Context& c, const ir::Node& node)
      : c_(c),
        b_(c.builder),
        node_(node),
        mask_node_(*node.inputs()[node.op() == Op::Nonzero ? 0 : 1]),
        size_(mask_node_.numel()),
        tile_(kPerThread * c.target.threads),
        blocks_(ceil_div(size_, tile_)),
        mask_(node.op() == Op::Compress ? 1 : 0),
        result_(static_cast<int32_t>(c.out.tree.buffers.size()) - 1),
        index_(c.out.tree.index_type) {
    const bool writes_over = node.op() == Op::ScatterMask;
    count_ = writes_over ? node.inputs()[2]->shape()[0] : node.shape()[0];
    columns_ = node.op() == Op::Nonzero ? 1 : node.shape()[1];
    starts_ = c.buffer("starts", index_, Space::Global, blocks_);
    if (columns_ > 1) rows_ = c.buffer("rows", index_, Space::Global, count_);
    sums_ = c_.fixed_buffer("sums0", index_, Space::Shared, c.target.threads / c.target.warp);
    flags_ = c_.fixed_buffer("flags0", DType::Bool, Space::Local, kPerThread);
  }

  void lower() {
    count();
    add_up();
    select();
    if (columns_ > 1) copy_rows();
  }

 private:
  // Reads the thread's elements of a block, into `flags` if they are to be kept; gives the first one's place and how many
  // are true.
  std::pair<ValueId, ValueId> read_flags(ValueId block, bool keep) {
    const ValueId first = c_.add(c_.mul(block, c_.literal(tile_)), c_.mul(c_.thread(), c_.literal(kPerThread)));
    const ValueId size = c_.nest.size(size_), total = b_.var(c_.literal(0));
    c_.unrolled(kPerThread, [&](ValueId k) {
      const ValueId i = c_.add(first, k), inside = size_ % tile_ == 0 ? kAlways : c_.less(i, size);
      const ValueId flag = b_.load(mask_, i, 1, inside);
      if (keep) b_.store(flags_, k, flag);
      b_.set(total, c_.add(b_.get(total), b_.op(Op::Cast, {flag}, index_)));
    });
    return {first, b_.get(total)};
  }

  void count() {
    const ValueId block = c_.begin_phase("count", blocks_);
    const BlockSums sums = add_over_block(c_, read_flags(block, false).second, sums_);
    c_.nest.when(b_.op(Op::Eq, {c_.thread(), c_.literal(0)}), [&] { b_.store(starts_, block, sums.total); });
    c_.end_phase();
  }

  // Each thread takes neighbouring counts.
  void add_up() {
    c_.begin_phase("starts", 1);
    const ValueId each = c_.nest.size(ceil_div(blocks_, c_.target.threads)), blocks = c_.nest.size(blocks_);
    const ValueId begin = c_.mul(c_.thread(), each), end = c_.minimum(c_.add(begin, each), blocks), sum = b_.var(c_.literal(0));
    c_.loop(begin, end, 1, [&](ValueId i) { b_.set(sum, c_.add(b_.get(sum), b_.load(starts_, i, 1))); });
    const BlockSums sums = add_over_block(c_, b_.get(sum), sums_);
    const ValueId start = b_.var(sums.before);
    c_.loop(begin, end, 1, [&](ValueId i) {
      const ValueId own = b_.load(starts_, i, 1), before = b_.get(start);
      b_.store(starts_, i, before);
      b_.set(start, c_.add(before, own));
    });
    c_.end_phase();
  }

  void select() {
    const ValueId block = c_.begin_phase("select", blocks_);
    const auto [first, total] = read_flags(block, true);
    const BlockSums sums = add_over_block(c_, total, sums_);
    const ValueId next = b_.var(c_.add(b_.load(starts_, block, 1), sums.before)), count = c_.nest.size(count_);
    c_.unrolled(kPerThread, [&, first = first](ValueId k) {
      c_.nest.when(b_.load(flags_, k, 1), [&] {
        const ValueId rank = b_.get(next);
        c_.nest.when(c_.less(rank, count), [&] { put(c_.add(first, k), rank); });
        b_.set(next, c_.add(rank, c_.literal(1)));
      });
    });
    c_.end_phase();
  }

  // Element i is the rank-th that is true.
  void put(ValueId i, ValueId rank) {
    if (node_.op() == Op::Nonzero) return put_indices(i, rank);
    if (columns_ > 1) return b_.store(rows_, rank, i);
    const auto [from, to] = source_and_target(i, rank);
    b_.store(result_, to, b_.load(source(), from, 1));
  }

  void put_indices(ValueId i, ValueId rank) {
    const ir::Dims& shape = mask_node_.shape();
    const ValueId row = c_.mul(rank, c_.literal(static_cast<int64_t>(shape.size())));
    for (size_t d = shape.size(); d-- > 0;) {
      ValueId digit = i;
      if (d > 0) std::tie(i, digit) = c_.divide(i, c_.nest.size(shape[d]));
      b_.store(result_, c_.add(row, c_.literal(static_cast<int64_t>(d))), index_cast(c_, digit, DType::I64));
    }
  }

  int32_t source() const { return node_.op() == Op::Compress ? 0 : 1; }
  std::pair<ValueId, ValueId> source_and_target(ValueId i, ValueId rank) const {
    return node_.op() == Op::Compress ? std::pair{i, rank} : std::pair{rank, i};
  }

  void copy_rows() {
    const int lanes = columns_ % kVector == 0 && !c_.kernel.buffer(source()).unaligned ? kVector : 1;
    const int64_t words = columns_ / lanes;
    c_.each_item("rows", count_ * words, [&](ValueId item) {
      const auto [rank, word] = c_.divide(item, c_.nest.size(words));
      const ValueId row = b_.load(rows_, rank, 1);
      const ValueId inside = b_.op(Op::And, {b_.op(Op::Ge, {row, c_.literal(0)}), c_.less(row, c_.nest.size(size_))});
      c_.nest.when(inside, [&, rank = rank, word = word] {  // what a mask with fewer true elements leaves in `rows` is anything
        const ValueId columns = c_.nest.size(columns_), column = lanes == 1 ? word : c_.mul(word, c_.literal(lanes));
        const auto [from, to] = source_and_target(row, rank);
        const ValueId value = b_.load(source(), c_.add(c_.mul(from, columns), column), lanes);
        b_.store(result_, c_.add(c_.mul(to, columns), column), value);
      });
    });
  }

  Context& c_;
  ir::TreeBuilder& b_;
  const ir::Node& node_;
  const ir::Node& mask_node_;
  int64_t size_, tile_, blocks_;  // of the mask; its elements in a block
  int32_t mask_, result_, starts_, rows_ = kNone, sums_, flags_;
  DType index_;
  int64_t count_, columns_;
};

}  // namespace

void call_mask(Context& c, const Call& call) { Mask(c, call.node()).lower(); }

}  // namespace tenon::passes::gpu
