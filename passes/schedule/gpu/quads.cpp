#include "passes/schedule/gpu/quads.h"

#include <algorithm>
#include <string>

namespace tenon::passes::gpu {

bool moves_as_quad(const ir::Kernel& kernel, const Instr& instr, int axis, const std::vector<bool>& varies) {
  const Index::Stride stride = instr.index.stride(axis);
  if (kernel.buffer(instr.slot).unaligned || !instr.guards.empty() || !stride.ok || stride.value != 1) return false;
  if (instr.scale != 0 && (instr.scale % kQuad != 0 || varies[instr.position()])) return false;
  const Index start = instr.index.substitute([&](int id, int64_t extent) { return id == axis ? Index(0) : Index::axis(id, extent); });
  return start.divisor() % kQuad == 0;
}

void Quads::read(Value v, int32_t buffer, ValueId place) { readings_.push_back({v, c_.builder.load(buffer, place, kQuad)}); }

void Quads::write(Value v, int32_t buffer, ValueId place) {
  const auto same = std::find_if(writings_.begin(), writings_.end(), [&](const Writing& w) { return w.value == v; });
  const DType dtype = c_.kernel.instr(v).dtype;
  const int32_t lanes = same != writings_.end() ? same->lanes
                                                : c_.builder.add_buffer({"lanes" + std::to_string(c_.out.tree.buffers.size()), dtype,
                                                                         Space::Local, -1, kQuad});
  writings_.push_back({v, buffer, lanes, place});
}

void Quads::each(const std::function<void(ValueId k)>& body) {
  ir::TreeBuilder& b = c_.builder;
  const ValueId zero = c_.literal(0);
  c_.loop(zero, c_.literal(kQuad), 1, [&](ValueId k) {
    for (const Reading& r : readings_) c_.nest.set(r.value, b.let(Op::Extract, {r.vector, k}, {c_.kernel.instr(r.value).dtype, 1}));
    body(k);
    for (const Writing& w : writings_) {
      const auto first = std::find_if(writings_.begin(), writings_.end(), [&](const Writing& o) { return o.lanes == w.lanes; });
      if (&*first == &w) b.store(w.lanes, k, c_.nest.get(w.value));
    }
  }, true);
  for (const Writing& w : writings_) b.store(w.buffer, w.place, b.load(w.lanes, zero, kQuad));
}

}  // namespace tenon::passes::gpu
