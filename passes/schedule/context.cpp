// The beginning of every tree, and phases; see context.h.
#include "passes/schedule/context.h"

#include <algorithm>

namespace tenon::passes {

Context::Context(const ir::Kernel& k, Lowered& lowered, ir::TargetKind target, DType index_type, ir::KnownTrees known)
    : kernel(k), out(lowered), builder(lowered.tree, known), nest(k, builder, lowered.sizes) {
  ir::LoopTree& tree = lowered.tree;
  tree.name = k.name;
  tree.target = target;
  tree.index_type = index_type;
  for (const ir::KernelBuffer& buffer : k.buffers) {
    builder.add_buffer({buffer.name, buffer.dtype, buffer.role == ir::Role::In ? Space::In : Space::Out, -1, 0});
  }
  for (const ir::KernelScalar& scalar : k.scalars) tree.scalars.push_back(scalar.dtype);
}

std::vector<int> Context::parallel_but(std::initializer_list<int> others) const {
  std::vector<int> result = axes(AxisKind::Parallel);
  std::erase_if(result, [&](int a) { return std::find(others.begin(), others.end(), a) != others.end(); });
  return result;
}

int64_t Context::product(std::span<const int> of) const {
  int64_t result = 1;
  for (int a : of) result *= extent(a);
  return result;
}

Reducer Context::reducer(Value reduction) {
  const Instr& in = kernel.instr(reduction);
  return {builder, in, kernel.instr(in.args[0]).dtype};
}

int32_t Context::buffer(const std::string& name, DType dtype, Space space, int64_t count) {
  return builder.add_buffer({name + std::to_string(out.tree.buffers.size()), dtype, space, nest.size_slot(count), 0});
}

AccumulatorBuffers Context::partials(Value reduction, Space space, int64_t count) {
  return reducer(reduction).buffers("part" + std::to_string(out.tree.buffers.size()), space, nest.size_slot(count), 0);
}

std::pair<ValueId, ValueId> Context::divide(ValueId linear, ValueId divisor) {
  const ValueId quotient = builder.quotient(linear, divisor);
  return {quotient, sub(linear, mul(quotient, divisor))};
}

std::pair<ValueId, ValueId> Context::bind_outer(std::span<const int> outer, ValueId linear, int64_t count) {
  if (outer.empty()) return {-1, linear};
  const auto result = divide(linear, nest.size(count));
  nest.bind_linear(outer, result.first);
  return result;
}

ValueId Context::begin_phase(std::string name, int64_t count, double ns) {
  builder.begin_phase(std::move(name), nest.size_slot(count));
  out.phase_cost.push_back(ns);
  nest.push();
  return builder.phase_index();
}

void Context::end_phase() {
  nest.pop();
  builder.end_phase();
}

}  // namespace tenon::passes
