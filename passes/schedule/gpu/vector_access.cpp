// Neighbours read and written as vectors; see vector_access.h.
#include "passes/schedule/gpu/vector_access.h"

#include <algorithm>
#include <string>

namespace tenon::passes::gpu {

namespace {

// The index with `axis` taken as groups of `count` and a lane, an axis of its own: c mod 64 of c = 8*g + lane is 8*(g mod 8) + lane.
Index in_groups(const ir::Kernel& kernel, const Index& index, int axis, int64_t count, int lane) {
  return index.substitute([&](int id, int64_t extent) {
    return id == axis ? Index::axis(axis, kernel.extent(axis) / count) * count + Index::axis(lane, count) : Index::axis(id, extent);
  });
}

}  // namespace

bool lies_as_vector(const ir::Kernel& kernel, const Instr& instr, int axis, const std::vector<bool>& varies, int64_t count) {
  if (kernel.buffer(instr.slot).unaligned || kernel.extent(axis) % count != 0) return false;
  if (instr.scale != 0 && (instr.scale % count != 0 || varies[instr.position()])) return false;
  const auto lane = static_cast<int>(kernel.axes.size());
  const Index index = in_groups(kernel, instr.index, axis, count, lane);
  const Index::Stride stride = index.stride(lane);
  if (!stride.ok || stride.value != 1) return false;
  for (const ir::Guard& guard : instr.guards) {
    if (in_groups(kernel, guard.value, axis, count, lane).depends_on(lane)) return false;
  }
  const Index start = index.substitute([&](int id, int64_t extent) { return id == lane ? Index(0) : Index::axis(id, extent); });
  return start.divisor() % count == 0;
}

namespace {

int64_t lanes_of_vector(DType dtype, int64_t lanes) { return ir::item_size(dtype) == 2 ? lanes : kVector; }

}  // namespace

std::vector<ValueId> VectorAccess::load(Context& c, int32_t buffer, ValueId place, int64_t lanes) {
  const int64_t together = lanes_of_vector(c.builder.tree().buffers[static_cast<size_t>(buffer)].dtype, lanes);
  std::vector<ValueId> vectors;
  for (int64_t first = 0; first < lanes; first += together)
    vectors.push_back(c.builder.load(buffer, c.offset(place, first), static_cast<int>(together)));
  return vectors;
}

void VectorAccess::read(Value v, int32_t buffer, ValueId place) { is(v, load(c_, buffer, place, lanes_)); }

void VectorAccess::write(Value v, int32_t buffer, ValueId place) {
  const auto same = std::ranges::find_if(writings_, [&](const Writing& w) { return w.value == v; });
  const DType dtype = c_.kernel.instr(v).dtype;
  const int32_t lanes = same != writings_.end()
                            ? same->lanes
                            : c_.fixed_buffer("lanes" + std::to_string(c_.out.tree.buffers.size()), dtype, Space::Local, lanes_);
  writings_.push_back({v, buffer, lanes, place});
}

void VectorAccess::move(std::span<const Value> accesses, int axis, ValueId first) {
  c_.in_scope([&] {
    c_.nest.bind(axis, first);
    for (Value v : accesses) {
      const Instr& in = c_.kernel.instr(v);
      const ValueId place = c_.nest.position_of(v);
      in.op == Op::Load ? read(v, in.slot, place) : write(in.args[0], in.slot, place);
    }
  });
}

void VectorAccess::each(const std::function<void(ValueId k)>& body) {
  ir::TreeBuilder& b = c_.builder;
  const ValueId zero = c_.literal(0);
  for (int64_t first = 0; first < lanes_; first += kVector) {
    c_.unrolled(kVector, [&](ValueId number) {
      const ValueId k = c_.offset(number, first);
      for (const Reading& r : readings_) {
        const DType dtype = c_.kernel.instr(r.value).dtype;
        const int64_t together = b.type(r.vectors[0]).lanes;
        const ValueId lane = c_.offset(number, first % together);
        c_.nest.set(r.value, b.let(Op::Extract, {r.vectors[static_cast<size_t>(first / together)], lane}, {dtype, 1}));
      }
      body(k);
      for (const Writing& w : writings_) {
        const auto earlier = std::ranges::find_if(writings_, [&](const Writing& o) { return o.lanes == w.lanes; });
        if (&*earlier == &w) b.store(w.lanes, k, c_.nest.get(w.value));
      }
    });
  }
  for (const Writing& w : writings_) {
    const int64_t together = lanes_of_vector(c_.kernel.instr(w.value).dtype, lanes_);
    for (int64_t first = 0; first < lanes_; first += together)
      b.store(w.buffer, c_.offset(w.place, first), b.load(w.lanes, first == 0 ? zero : c_.literal(first), static_cast<int>(together)));
  }
}

}  // namespace tenon::passes::gpu
