// The beginning of every tree, and phases; see context.h.
#include "passes/schedule/context.h"

#include <algorithm>

namespace tenon::passes {

namespace {

std::vector<std::shared_ptr<const ir::LoopTree>> trees_of(KnownLowered known) {
  std::vector<std::shared_ptr<const ir::LoopTree>> trees;
  trees.reserve(known.size());
  for (const std::shared_ptr<const Lowered>& lowered : known) trees.push_back(lowered->known);
  return trees;
}

bool same_affine(const Index& a, const Index& b) {
  const auto same_term = [](const Index::Term& x, const Index::Term& y) {
    return x.axis >= 0 && x.axis == y.axis && x.coefficient == y.coefficient;
  };
  return a.constant_part() == b.constant_part() && std::ranges::equal(a.terms(), b.terms(), same_term);
}

bool same_affine(const Instr& a, const Instr& b) {
  return a.op == b.op && a.dtype == b.dtype && a.level == b.level && a.slot == b.slot && a.bits == b.bits && a.tree == b.tree &&
         a.scale == 0 && b.scale == 0 && a.guards.empty() && b.guards.empty() && std::ranges::equal(a.args, b.args) &&
         same_affine(a.index, b.index);
}

// But for the lengths of the free axes, of which none is 1 in one of them alone, and for those of the buffers.
bool same_but_for_lengths(const ir::Kernel& a, const ir::Kernel& b, std::span<const int> free) {
  const auto same_axes = [&] {
    if (a.axes.size() != b.axes.size()) return false;
    for (size_t i = 0; i < a.axes.size(); ++i) {
      const ir::Axis &x = a.axes[i], &y = b.axes[i];
      const bool is_free = std::ranges::find(free, static_cast<int>(i)) != free.end() && x.extent > 1 && y.extent > 1;
      if (x.kind != y.kind || (x.extent != y.extent && !is_free)) return false;
    }
    return true;
  };
  const auto same_buffer = [](const ir::KernelBuffer& x, const ir::KernelBuffer& y) {
    return x.dtype == y.dtype && x.role == y.role && x.constant == y.constant && x.unaligned == y.unaligned;
  };
  return same_axes() && std::ranges::equal(a.buffers, b.buffers, same_buffer) &&
         std::ranges::equal(a.scalars, b.scalars, {}, &ir::KernelScalar::dtype, &ir::KernelScalar::dtype) &&
         std::ranges::equal(a.instrs, b.instrs, [](const Instr& x, const Instr& y) { return same_affine(x, y); });
}

}  // namespace

Context::Context(const ir::Kernel& k, Lowered& lowered, ir::TargetKind target, DType index_type, KnownLowered known_before)
    : trees_(trees_of(known_before)),
      kernel(k),
      out(lowered),
      known(known_before),
      builder(lowered.tree, trees_),
      nest(k, builder, lowered.sizes) {
  ir::LoopTree& tree = lowered.tree;
  tree.name = k.name;
  tree.target = target;
  tree.index_type = index_type;
  for (const ir::KernelBuffer& buffer : k.buffers) {
    builder.add_buffer({buffer.name, buffer.dtype, buffer.role == ir::Role::In ? Space::In : Space::Out, kNone, 0});
  }
  for (const ir::KernelScalar& scalar : k.scalars) tree.scalars.push_back(scalar.dtype);
}

int32_t Context::length_slot(const CodeLengths& lengths, int number, int64_t factor) {
  changing_.push_back({nest.size_slot(lengths.numbers[static_cast<size_t>(number)] * factor), number, factor});
  return changing_.back().slot;
}

bool Context::is_known(const CodeLengths& lengths, const ir::Target& target) {
  for (const std::shared_ptr<const Lowered>& before : known) {
    const Lowered::Lengths* of = before->lengths.get();
    const bool same_code = of && before->schedule == out.schedule && of->choices == lengths.choices && of->target == target &&
                           same_but_for_lengths(of->kernel, kernel, lengths.free);
    if (!same_code) continue;
    out.known = before->known;
    out.lengths = before->lengths;
    out.sizes = before->sizes;
    for (const auto& [slot, length, factor] : of->changing)
      out.sizes[slot] = factor * (length < 0 ? extent(~length) : lengths.numbers[length]);
    return true;
  }
  return false;
}

void Context::keep(CodeLengths lengths, const ir::Target& target) {
  for (const auto& [axis, slot] : nest.extents()) changing_.push_back({slot, ~axis, 1});
  out.lengths =
      std::make_shared<const Lowered::Lengths>(Lowered::Lengths{kernel, target, std::move(lengths.choices), std::move(changing_)});
}

std::vector<int> Context::parallel_but(std::initializer_list<int> others) const {
  std::vector<int> result = axes(AxisKind::Parallel);
  std::erase_if(result, [&](int a) { return std::ranges::find(others, a) != others.end(); });
  return result;
}

Value contraction_of(const ir::Kernel& kernel) {
  return static_cast<Value>(std::ranges::find(kernel.instrs, Op::Contract, &Instr::op) - kernel.instrs.begin());
}

Factors factors_of(const ir::Kernel& kernel, Value contraction) {
  const Instr& in = kernel.instr(contraction);
  const Value left = in.args[0], right = in.args[1];
  const Instr& factor = kernel.instr(left);
  if (left != right || factor.op != Op::Sub) return {left, right, false};
  return {factor.args[0], factor.args[1], true};
}

int64_t product_of(const ir::Kernel& kernel, std::span<const int> axes) {
  int64_t result = 1;
  for (int a : axes) result *= kernel.extent(a);
  return result;
}

Reducer Context::reducer(Value reduction) {
  const Instr& in = kernel.instr(reduction);
  return {builder, in, kernel.instr(in.args[0]).dtype};
}

int32_t Context::buffer_of(const std::string& name, DType dtype, Space space, int32_t slot) {
  return builder.add_buffer({name + std::to_string(out.tree.buffers.size()), dtype, space, slot, 0});
}

AccumulatorBuffers Context::partials(Value reduction, Space space, int64_t count) {
  return reducer(reduction).buffers("part" + std::to_string(out.tree.buffers.size()), space, 0, nest.size_slot(count));
}

ValueId Context::multiply_add(ValueId x, ValueId y, ValueId acc) {
  if (ir::is_float(builder.type(acc).dtype)) return builder.op(Op::Fma, {x, y, acc});
  return builder.op(Op::Add, {builder.op(Op::Mul, {x, y}), acc});
}

std::pair<ValueId, ValueId> Context::divide(ValueId linear, ValueId divisor) {
  const ValueId quotient = builder.quotient(linear, divisor);
  return {quotient, sub(linear, mul(quotient, divisor))};
}

std::pair<ValueId, ValueId> Context::bind_outer(std::span<const int> outer, ValueId linear, int64_t count) {
  if (outer.empty()) return {kNone, linear};
  const auto result = divide(linear, nest.size(count));
  nest.bind_linear(outer, result.first);
  return result;
}

ValueId Context::begin_phase_of(std::string name, int32_t slot, double ns) {
  builder.begin_phase(std::move(name), slot);
  out.phase_cost.push_back(ns);
  nest.push();
  return builder.phase_index();
}

void Context::end_phase() {
  nest.pop();
  builder.end_phase();
}

}  // namespace tenon::passes
