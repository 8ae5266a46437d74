// Scatters on a GPU, with the order of the CPU: along the scattered dim from first to last, so that the last value for a
// place wins and sums have one order.
//
//   lines     a thread takes a position outside the dim and walks along it:
//               if line < s1 {
//                 for k in 0..s2 { at = index[line + s3*k]; if at is inside { y[line + s4*at] += value[line + s5*k] } } }
//
//   segments  where such positions are few and long: each line's indices are sorted first, equal ones in their order
//             (call_sort.cpp). A thread looks at one of them at a position, and the first of equal ones walks along these:
//               if first of its segment { for k in place..end { total += value[line + s5*order[k]] }; y[line + s4*at] = total }
//
// An index out of range is passed over: it never writes outside of the result.
#include <limits>

#include "passes/schedule/gpu/call.h"

namespace tenon::passes::gpu {
namespace {

constexpr int64_t kManyLines = 1 << 13;  // that fill a GPU with a thread each
constexpr int64_t kShortLine = 64;       // is walked sooner than sorted

enum Buffer : int32_t { kIndex, kValue, kResult };

class Scatter {
 public:
  Scatter(Context& c, const Call& call)
      : c_(c),
        b_(c.builder),
        node_(call.node()),
        shape_(call.shape(1)),
        dim_(static_cast<size_t>(node_.ints()[0])),
        result_(call.stored[0].strides),
        value_(call.operands[2].strides),
        index_(call.operands[1].strides) {}

  void lower() {
    Points lines(3);
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (d != dim_) lines.dim(shape_[d], {index_[d], value_[d], result_[d]});
    }
    const bool walks = lines.count() == 0 || lines.count() >= kManyLines || shape_[dim_] <= kShortLine;
    walks ? walk(lines) : sort_and_add();
  }

 private:
  void walk(const Points& lines) {
    c_.each_item("lines", shape_[dim_] == 0 ? 0 : lines.count(), [&](ValueId line) {
      const std::vector<ValueId> first = lines.places(c_, line);
      const ValueId index_step = c_.nest.size(index_[dim_]), value_step = c_.nest.size(value_[dim_]);
      const ValueId result_step = c_.nest.size(result_[dim_]), size = size_value();
      c_.loop(c_.literal(0), c_.nest.size(shape_[dim_]), 1, [&](ValueId k) {
        const ValueId at = b_.load(kIndex, c_.add(first[kIndex], c_.mul(k, index_step)), 1);
        const CheckedIndex place = checked(c_, at, size);
        c_.nest.when(place.inside, [&] {
          const ValueId to = c_.add(first[kResult], c_.mul(place.index, result_step));
          ValueId value = b_.load(kValue, c_.add(first[kValue], c_.mul(k, value_step)), 1);
          if (node_.op() != Op::Scatter) value = combined(c_, ir::combining_op(node_.op()), b_.load(kResult, to, 1), value);
          b_.store(kResult, to, value);
        });
      });
    });
  }

  void sort_and_add() {
    Points lines(1);                               // of the index, as it is in memory
    std::vector<int64_t> steps(shape_.size(), 0);  // from place to place of what is sorted
    int64_t step = shape_[dim_];
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (d != dim_ && index_[d] != 0) lines.dim(shape_[d], {index_[d]});
    }
    for (size_t d = shape_.size(); d-- > 0;) {
      if (d == dim_ || index_[d] == 0) continue;
      steps[d] = step;
      step *= shape_[d];
    }
    steps[dim_] = 1;
    sort_index(lines);
    add_segments(steps);
  }

  // The key of an index out of range is greater than any other.
  void sort_index(const Points& lines) {
    const bool narrow = node_.shape()[dim_] < std::numeric_limits<int32_t>::max();
    SortedLines sorted{lines.count(), shape_[dim_], narrow ? DType::I32 : DType::I64, 0, shape_[dim_], index_[dim_] > 1, {}, {}};
    widen_index(c_, sorted.elements());
    sorted.read = [&](ValueId line, ValueId at) {
      const ValueId from = c_.add(lines.places(c_, line)[0], c_.mul(at, c_.nest.size(index_[dim_])));
      const ValueId index = b_.load(kIndex, from, 1);
      return b_.op(Op::Where, {checked(c_, index, size_value()).inside, index_cast(c_, index, sorted.key),
                               b_.constant(ir::constant(sorted.key, greatest_of(sorted.key)))});
    };
    keys_ = c_.buffer("sorted", sorted.key, Space::Global, lines.count() * shape_[dim_]);
    order_ = c_.buffer("order", c_.out.tree.index_type, Space::Global, lines.count() * shape_[dim_]);
    sorted.write = [&](ValueId line, ValueId rank, ValueId key, ValueId place) {
      const ValueId to = c_.add(c_.mul(line, c_.nest.size(shape_[dim_])), rank);
      b_.store(keys_, to, key);
      b_.store(order_, to, place);
    };
    sort_lines(c_, sorted);
  }

  void add_segments(const std::vector<int64_t>& steps) {
    enum { kSorted, kValueAt, kResultAt, kRank };
    Points points(4);
    for (size_t d = 0; d < shape_.size(); ++d) {
      const bool along = d == dim_;
      points.dim(shape_[d], {steps[d], along ? 0 : value_[d], along ? 0 : result_[d], along ? 1 : 0});
    }
    c_.each_item("segments", points.count(), [&](ValueId item) {
      const std::vector<ValueId> at = points.places(c_, item);
      const ValueId one = c_.literal(1), key = b_.load(keys_, at[kSorted], 1);
      const ValueId has_before = b_.op(Op::Gt, {at[kRank], c_.literal(0)});
      const ValueId before = b_.load(keys_, c_.sub(at[kSorted], one), 1, has_before);
      const ValueId first = b_.op(Op::Or, {b_.op(Op::Not, {has_before}), b_.op(Op::Ne, {before, key})});
      const ValueId inside = c_.less(index_cast(c_, key, DType::I64), size_value());
      c_.nest.when(b_.op(Op::And, {first, inside}), [&] {
        const ValueId end = c_.add(c_.sub(at[kSorted], at[kRank]), c_.nest.size(shape_[dim_]));
        const ValueId past = end_of_segment(at[kSorted], end, key);
        const ValueId place = index_cast(c_, key, c_.out.tree.index_type);
        const ValueId to = c_.add(at[kResultAt], c_.mul(place, c_.nest.size(result_[dim_])));
        b_.store(kResult, to, total(at[kSorted], past, at[kValueAt], to));
      });
    });
  }

  // The first place after `begin`, and before `end`, where the keys are greater.
  ValueId end_of_segment(ValueId begin, ValueId end, ValueId key) {
    return first_beyond(c_, c_.add(begin, c_.literal(1)), end, shape_[dim_], [&](ValueId place) {
      return b_.op(Op::Eq, {b_.load(keys_, place, 1), key});
    });
  }

  // What place `to` of the result has after the values begin..end of the order; of a plain scatter the last of these.
  ValueId total(ValueId begin, ValueId end, ValueId first, ValueId to) {
    const auto value_at = [&](ValueId k) {
      return b_.load(kValue, c_.add(first, c_.mul(b_.load(order_, k, 1), c_.nest.size(value_[dim_]))), 1);
    };
    if (node_.op() == Op::Scatter) return value_at(c_.sub(end, c_.literal(1)));
    const ValueId sum = b_.var(b_.load(kResult, to, 1));
    c_.loop(begin, end, 1, [&](ValueId k) { b_.set(sum, combined(c_, ir::combining_op(node_.op()), b_.get(sum), value_at(k))); });
    return b_.get(sum);
  }

  // The size of the scattered dim, as an i64.
  ValueId size_value() { return index_cast(c_, c_.nest.size(node_.shape()[dim_]), DType::I64); }

  Context& c_;
  ir::TreeBuilder& b_;
  const ir::Node& node_;
  const ir::Dims& shape_;  // of index and value
  size_t dim_;
  ir::Dims result_, value_, index_;  // strides
  int32_t keys_ = kNone, order_ = kNone;
};

}  // namespace

void call_scatter(Context& c, const Call& call) { Scatter(c, call).lower(); }

}  // namespace tenon::passes::gpu
