// Operations on whole buffers as generated code: one function each, and what they share. A call's phases are launches one
// after another, so that each sees all that those before it wrote. Private to passes/schedule/.
#pragma once

#include <bit>
#include <functional>
#include <vector>

#include "passes/schedule/call.h"
#include "passes/schedule/form.h"
#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

void call_join(Context& c, const Call& call);
void call_scatter(Context& c, const Call& call);
void call_mask(Context& c, const Call& call);
void call_sort(Context& c, const Call& call);
void call_attention_of_threads(Context& c, const Call& call);
void call_attention_of_warps(Context& c, const Call& call);  // on tensor cores
bool warps_take(const Form::Attention& heads, const ir::GpuTarget& target);
bool takes_heads(const Form::Attention& heads, const ir::GpuTarget& target);  // one of the two does

// a op b of two elements of any dtype; halves are computed in f32 and rounded.
ValueId combined(Context& c, Op op, ValueId a, ValueId b);
// An i64 that may be anything as an index below `size` (an i64 too): the condition that it is one, and it.
struct CheckedIndex {
  ValueId inside, index;
};
CheckedIndex checked(Context& c, ValueId index, ValueId size);
ValueId index_cast(Context& c, ValueId x, DType to);  // x itself if it has the type

// From here on the tree's indices are wide enough for scratch of so many elements. At the beginning of a schedule.
void widen_index(Context& c, int64_t elements);

// The first place of begin .. end, which are `most` at most, for which goes_on(place) does not hold: it holds up to there.
template <typename Test>
ValueId first_beyond(Context& c, ValueId begin, ValueId end, int64_t most, const Test& goes_on) {
  ir::TreeBuilder& b = c.builder;
  const ValueId low = b.var(begin), high = b.var(end);
  c.loop(c.literal(0), c.nest.size(std::bit_width(static_cast<uint64_t>(most))), 1, [&](ValueId) {
    const ValueId from = b.get(low), to = b.get(high);
    c.nest.when(c.less(from, to), [&] {
      const ValueId middle = c.add(from, b.quotient(c.sub(to, from), c.literal(2))), on = goes_on(middle);
      b.set(low, b.op(Op::Where, {on, c.add(middle, c.literal(1)), from}));
      b.set(high, b.op(Op::Where, {on, to, middle}));
    });
  });
  return b.get(low);
}

int64_t greatest_of(DType key);  // of i32 or i64

// Lines of `count` keys each that are sorted, equal ones in their order; a key is an i32 or i64.
struct SortedLines {
  int64_t lines, count;
  DType key;
  int64_t first, wanted;                                                              // ranks that are asked for
  bool side_by_side;                                                                  // neighbours in memory belong to neighbouring lines
  std::function<ValueId(ValueId line, ValueId at)> read;                              // a key
  std::function<void(ValueId line, ValueId rank, ValueId key, ValueId place)> write;  // the rank less `first`
  int64_t elements() const;                                                           // at most so many in scratch
};
DType key_type(DType dtype);
void sort_lines(Context& c, const SortedLines& lines);

// Sums of an index over the threads of a block: of those before this thread, and of all. Every thread must come here.
// `shared` has an element for each warp; before it is used again the threads must have met.
struct BlockSums {
  ValueId before, total;
};
BlockSums add_over_block(Context& c, ValueId x, int32_t shared);

}  // namespace tenon::passes::gpu
