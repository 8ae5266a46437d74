// Cat on a GPU: each part's elements are copied to where they belong. Blocks 0 .. s1 take the first part's, the next ones
// the second's; a thread moves one word, or four neighbours as one vector where a part's rows and places allow it. Words
// are as wide as the elements, wider for narrow ones that lie in fours or pairs everywhere. A constant fills its places.
//
//   phase parts: parallel block in 0..s0
//     if block < s1              { item = 256*block + thread;        if item < s2 { y[s3 + 4*item] = x0[4*item] : i32x4 } }
//     if block >= s1, block < s4 { item = 256*(block - s1) + thread; if item < s5 { ... } }
#include <algorithm>

#include "ir/call/join_parts.h"
#include "passes/schedule/gpu/call.h"
#include "passes/schedule/gpu/vector_access.h"

namespace tenon::passes::gpu {
namespace {

// All numbers of a part count words of `elements` elements.
bool in_words(const ir::JoinPart& part, int64_t elements) {
  if (elements == 1) return true;
  if (part.scalar >= 0 || part.dims.empty() || part.from % elements != 0 || part.to % elements != 0) return false;
  for (size_t d = 0; d < part.dims.size(); ++d) {
    const ir::JoinPart::Dim& dim = part.dims[d];
    const bool last = d + 1 == part.dims.size();
    if (last ? dim.from != 1 || dim.to != 1 || dim.extent % elements != 0 : dim.from % elements != 0 || dim.to % elements != 0)
      return false;
  }
  return true;
}

ir::JoinPart divided(ir::JoinPart part, int64_t elements) {
  if (elements == 1) return part;
  part.from /= elements;
  part.to /= elements;
  for (size_t d = 0; d + 1 < part.dims.size(); ++d) {
    part.dims[d].from /= elements;
    part.dims[d].to /= elements;
  }
  part.dims.back().extent /= elements;
  return part;
}

// Whether four neighbours are a vector where they lie. Those of a constant need no memory of their own.
bool fits_vectors(const ir::JoinPart& part) {
  ir::JoinPart stored = part;
  if (part.scalar >= 0) {
    stored.scalar = kNone;
    stored.from = 0;
    for (ir::JoinPart::Dim& dim : stored.dims) dim.from = 0;
    if (!stored.dims.empty()) stored.dims.back().from = 1;
  }
  return in_words(stored, kVector);
}

DType word_of(int64_t bytes) { return bytes == 1 ? DType::U8 : bytes == 2 ? DType::I16 : bytes == 4 ? DType::I32 : DType::I64; }

class Join {
 public:
  Join(Context& c, const Call& call) : c_(c), result_(call.stored[0].buffer) {
    for (size_t p = 0; const ir::JoinPart& part : ir::join_parts(call)) {
      if (!call.is_in_place(p) && call.node().inputs()[p]->numel() > 0) parts_.push_back(part);
      ++p;
    }
    int64_t bytes = ir::item_size(call.node().dtype()), elements = 1;
    const std::vector<ir::KernelBuffer>& buffers = c.kernel.buffers;
    const bool aligned = std::ranges::none_of(buffers, [](const ir::KernelBuffer& buffer) { return buffer.unaligned; });
    const auto fits_twice = [&](const ir::JoinPart& part) { return in_words(part, 2 * elements); };
    while (aligned && bytes < 4 && std::ranges::all_of(parts_, fits_twice)) {
      bytes *= 2;
      elements *= 2;
    }
    for (ir::JoinPart& part : parts_) part = divided(std::move(part), elements);
    for (ir::TreeBuffer& buffer : c.out.tree.buffers) buffer.dtype = word_of(bytes);
    for (DType& scalar : c.out.tree.scalars) scalar = word_of(bytes);
  }

  void lower() {
    std::vector<Work> works;
    int64_t blocks = 0;
    for (const ir::JoinPart& part : parts_) {
      const bool vectors = fits_vectors(part) && (part.scalar >= 0 || !c_.kernel.buffer(part.buffer).unaligned);
      const Points points = points_of(part, vectors);
      blocks += ceil_div(points.count(), c_.target.threads);
      works.push_back({part, vectors, points, blocks});
    }
    const ValueId block = c_.begin_phase("parts", blocks);
    int64_t first = 0;
    for (const Work& work : works) {
      const ValueId begin = first == 0 ? kZero : c_.nest.size(first);
      ValueId own = work.end == blocks ? kAlways : c_.less(block, c_.nest.size(work.end));
      if (begin >= 0) {
        const ValueId after = c_.builder.op(Op::Ge, {block, begin});
        own = own < 0 ? after : c_.builder.op(Op::And, {after, own});
      }
      c_.nest.when(own, [&] { copy(work, begin < 0 ? block : c_.sub(block, begin)); });
      first = work.end;
    }
    c_.end_phase();
  }

 private:
  struct Work {
    const ir::JoinPart& part;
    bool vectors;
    Points points;  // of what a thread takes
    int64_t end;    // of its blocks
  };

  static Points points_of(const ir::JoinPart& part, bool vectors) {
    Points points(2);
    for (size_t d = 0; d < part.dims.size(); ++d) {
      const ir::JoinPart::Dim& dim = part.dims[d];
      const int64_t at_once = vectors && d + 1 == part.dims.size() ? kVector : 1;
      points.dim(dim.extent / at_once, {dim.from * at_once, dim.to * at_once});
    }
    return points;
  }

  void copy(const Work& work, ValueId block) {
    const ValueId item = c_.add(c_.mul(block, c_.literal(c_.target.threads)), c_.thread());
    c_.nest.when(c_.below(item, work.points.count(), c_.target.threads), [&] {
      const std::vector<ValueId> places = work.points.places(c_, item);
      const ValueId to = moved(places[1], work.part.to);
      const int lanes = work.vectors ? kVector : 1;
      const ValueId value = work.part.scalar >= 0 ? filled(c_.builder.scalar(work.part.scalar), lanes)
                                                  : c_.builder.load(work.part.buffer, moved(places[0], work.part.from), lanes);
      c_.builder.store(result_, to, value);
    });
  }

  ValueId moved(ValueId place, int64_t by) { return by == 0 ? place : c_.add(place, c_.nest.size(by)); }

  // The word in every lane.
  ValueId filled(ValueId word, int lanes) {
    if (lanes == 1) return word;
    if (lanes_ < 0) lanes_ = c_.fixed_buffer("lanes0", c_.builder.type(word).dtype, Space::Local, kVector);
    for (int64_t lane = 0; lane < kVector; ++lane) c_.builder.store(lanes_, c_.literal(lane), word);
    return c_.builder.load(lanes_, c_.literal(0), lanes);
  }

  Context& c_;
  std::vector<ir::JoinPart> parts_;  // that are to be copied
  int32_t result_, lanes_ = kNone;
};

}  // namespace

void call_join(Context& c, const Call& call) { Join(c, call).lower(); }

}  // namespace tenon::passes::gpu
