// Index arithmetic and instructions of a kernel as loop-tree statements; see context.h.
#include "passes/schedule/gpu/context.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace tenon::passes::gpu {

using ir::DType;
using ir::Index;
using ir::Op;
using ir::ValueId;

void refuse(const ir::Kernel& kernel, const std::string& reason) {
  throw ir::IrError("no GPU schedule takes kernel '" + kernel.name + "': " + reason);
}

bool depends_on(const ir::Instr& instr, int axis) {
  return instr.index.depends_on(axis) ||
         std::any_of(instr.guards.begin(), instr.guards.end(),
                     [&](const ir::Guard& guard) { return guard.value.depends_on(axis); });
}

namespace {

// The largest magnitude that any partial sum of the index can take.
double magnitude(const Index& index) {
  double total = std::abs(static_cast<double>(index.constant_part()));
  for (const Index::Term& term : index.terms()) {
    double largest = static_cast<double>(term.extent);
    if (term.axis < 0) largest = magnitude(term.inner_index());
    total += std::abs(static_cast<double>(term.coefficient)) * std::max(largest, 1.0);
    total = std::max(total, static_cast<double>(std::max(term.modulus, term.divisor)));
  }
  return total;
}

constexpr int64_t kOverhang = 1 << 20;  // more than one grid's idle threads and one row's idle lanes

}  // namespace

DType index_type(const ir::Kernel& kernel, int64_t points) {
  const double limit = static_cast<double>(std::numeric_limits<int32_t>::max() - kOverhang);
  double largest = static_cast<double>(points);
  for (const ir::KernelBuffer& buffer : kernel.buffers) {
    largest = std::max(largest, static_cast<double>(buffer.numel));
  }
  for (const ir::Instr& instr : kernel.instrs) {
    largest = std::max(largest, magnitude(instr.index));
    for (const ir::Guard& guard : instr.guards) {
      largest = std::max({largest, magnitude(guard.value), std::abs(static_cast<double>(guard.lo)),
                          std::abs(static_cast<double>(guard.hi))});
    }
  }
  return largest < limit ? DType::I32 : DType::I64;
}

Context::Context(const ir::Kernel& kernel, std::string schedule, int threads) : kernel(kernel), b(out.tree) {
  int64_t points = 1;
  for (const ir::Axis& axis : kernel.axes) points *= axis.extent;
  out.schedule = std::move(schedule);
  out.tree.name = kernel.name;
  out.tree.target = ir::TargetKind::Cuda;
  out.tree.threads = threads;
  out.tree.index_type = index_type(kernel, points);
  for (const ir::KernelBuffer& buffer : kernel.buffers) {
    if (buffer.role == ir::Role::Scratch) refuse(kernel, "it has a scratch buffer");
    const ir::Space space = buffer.role == ir::Role::In ? ir::Space::In : ir::Space::Out;
    b.add_buffer({buffer.name, buffer.dtype, space, -1, 0});
  }
  for (const ir::KernelScalar& scalar : kernel.scalars) out.tree.scalars.push_back(scalar.dtype);
}

// --- sizes and constants

int32_t Context::size_slot(SizeRole role, int id, int64_t value) {
  const auto [it, fresh] = slots_.try_emplace({role, id, value}, 0);
  if (fresh) {
    it->second = b.new_size();
    out.sizes.push_back(value);
  }
  return it->second;
}

ValueId Context::size(SizeRole role, int id, int64_t value) {
  const int32_t slot = size_slot(role, id, value);
  for (const Scope& scope : scopes_) {
    if (const auto it = scope.sizes.find(slot); it != scope.sizes.end()) return it->second;
  }
  return scopes_.back().sizes[slot] = b.size(slot);
}

ValueId Context::extent(int axis) {
  return size(SizeRole::Extent, axis, kernel.extent(axis));
}

ValueId Context::constant(ir::Constant c) {
  const std::pair key{c.dtype, c.bits};
  for (const Scope& scope : scopes_) {
    if (const auto it = scope.constants.find(key); it != scope.constants.end()) return it->second;
  }
  return scopes_.back().constants[key] = b.constant(c);
}

ValueId Context::number(int64_t value) { return constant(ir::constant(out.tree.index_type, value)); }

ValueId Context::thread() {
  for (const Scope& scope : scopes_) {
    if (scope.thread >= 0) return scope.thread;
  }
  return scopes_.back().thread = b.let(Op::ThreadId, {}, {out.tree.index_type, 1});
}

ValueId Context::item() {
  const ValueId first = mul(b.phase_index(), number(out.tree.threads));
  return add(first, thread());
}

// --- scopes

void Context::begin_phase(std::string name, int64_t blocks) {
  const int phase = static_cast<int>(out.tree.phases.size());
  b.begin_phase(std::move(name), size_slot(SizeRole::Grid, phase, blocks));
  out.phase_cost.push_back(0);
  scopes_.emplace_back();
}

void Context::end_phase() {
  scopes_.pop_back();
  b.end_phase();
}

ValueId Context::begin_for(ValueId begin, ValueId end, int64_t step, bool unroll) {
  const ValueId variable = b.begin_for(begin, end, step, unroll);
  scopes_.emplace_back();
  return variable;
}

void Context::end_for() {
  scopes_.pop_back();
  b.end_for();
}

void Context::begin_if(ValueId condition) {
  b.begin_if(condition);
  scopes_.emplace_back();
}

void Context::end_if() {
  scopes_.pop_back();
  b.end_if();
}

void Context::bind_axis(int axis, ValueId value) { scopes_.back().axes[axis] = value; }

void Context::bind_flat(std::vector<int> axes, ValueId flat) {
  std::erase_if(axes, [&](int axis) { return kernel.extent(axis) == 1; });
  std::vector<Index> coordinates;
  std::vector<int64_t> shape;
  for (int axis : axes) {
    coordinates.push_back(kernel.axis(axis));
    shape.push_back(kernel.extent(axis));
  }
  scopes_.back().indices[ir::flatten(coordinates, shape)] = flat;
  for (size_t i = axes.size(); i-- > 0;) {
    if (i == 0) {
      bind_axis(axes[i], flat);
    } else {
      bind_axis(axes[i], rem(flat, extent(axes[i])));
      flat = div(flat, extent(axes[i]));
    }
  }
}

ValueId Context::find(ir::Value v) const {
  for (const Scope& scope : scopes_) {
    if (const auto it = scope.values.find(v); it != scope.values.end()) return it->second;
  }
  return -1;
}

ValueId Context::value(ir::Value v) const {
  const ValueId found = find(v);
  if (found < 0) refuse(kernel, "internal: %" + std::to_string(v) + " is used before it is lowered");
  return found;
}

ValueId Context::find_axis(int axis) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto it = scope->axes.find(axis); it != scope->axes.end()) return it->second;
  }
  return -1;
}

// --- indices

// A cached value stands for the axes as they were bound in its scope: a scope that binds one of them anew
// hides it.
ValueId Context::find_index(const Index& index) const {
  const std::vector<int> axes = index.axes();
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto it = scope->indices.find(index); it != scope->indices.end()) return it->second;
    if (std::any_of(axes.begin(), axes.end(), [&](int axis) { return scope->axes.contains(axis); }))
      return -1;
  }
  return -1;
}

Context::Partial Context::partial(const Index& index) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto it = scope->hoisted.find(index); it != scope->hoisted.end()) return it->second;
  }
  return {-1, index.constant_part(), {index.terms().begin(), index.terms().end()}};
}

bool Context::term_bound(const Index::Term& term) const {
  if (term.axis >= 0) return find_axis(term.axis) >= 0;
  const std::vector<int> axes = term.inner_index().axes();
  return std::all_of(axes.begin(), axes.end(), [&](int axis) { return find_axis(axis) >= 0; });
}

// coefficient * axis, or coefficient * ((inner mod modulus) / divisor) with floor semantics.
ValueId Context::term(const Index::Term& term) {
  ValueId x = -1;
  if (term.axis >= 0) {
    x = find_axis(term.axis);
    if (x < 0) refuse(kernel, "internal: axis " + std::to_string(term.axis) + " is not bound");
  } else {
    const Index inner = term.inner_index();
    const bool negative = inner.bounds().lo < 0;
    x = index(inner);
    if (term.modulus != 0) {
      const ValueId modulus = size(SizeRole::Modulus, 0, term.modulus);
      x = rem(x, modulus);
      if (negative) x = rem(add(x, modulus), modulus);
    }
    if (term.divisor != 1) {
      const ValueId divisor = size(SizeRole::Divisor, 0, term.divisor);
      if (negative && term.modulus == 0) {  // floor(x / d) = (x - (x mod d)) / d
        x = b.op(Op::Sub, {x, rem(add(rem(x, divisor), divisor), divisor)});
      }
      x = div(x, divisor);
    }
  }
  return term.coefficient == 1 ? x : mul(x, size(SizeRole::Stride, term.axis, term.coefficient));
}

ValueId Context::sum(const Partial& partial) {
  ValueId total = partial.value;
  for (const Index::Term& t : partial.terms) {
    const ValueId x = term(t);
    total = total < 0 ? x : add(total, x);
  }
  if (partial.constant != 0) {
    const ValueId offset = size(SizeRole::Offset, 0, partial.constant);
    total = total < 0 ? offset : add(total, offset);
  }
  return total < 0 ? number(0) : total;
}

ValueId Context::index(const Index& index) {
  const ValueId known = find_index(index);
  if (known >= 0) return known;
  const ValueId made = sum(partial(index));
  return scopes_.back().indices[index] = made;
}

void Context::hoist(const Index& index) {
  if (find_index(index) >= 0) return;
  Partial whole = partial(index);
  Partial outer{whole.value, whole.constant, {}}, rest;
  for (const Index::Term& t : whole.terms) (term_bound(t) ? outer : rest).terms.push_back(t);
  if (outer.terms.empty() && outer.constant == 0) return;
  rest.value = sum(outer);
  if (rest.terms.empty()) {
    scopes_.back().indices[index] = rest.value;
  } else {
    scopes_.back().hoisted[index] = std::move(rest);
  }
}

void Context::hoist(const ir::Instr& instr) {
  if (instr.op != Op::Load && instr.op != Op::Store && instr.op != Op::IndexOf) return;
  hoist(instr.index);
  for (const ir::Guard& guard : instr.guards) hoist(guard.value);
}

// --- instructions

// Sides of a guard that the bounds of its value prove are left out.
ValueId Context::guard(const ir::Instr& instr) {
  ValueId all = -1;
  const auto require = [&](ValueId condition) {
    all = all < 0 ? condition : b.op(Op::And, {all, condition});
  };
  for (const ir::Guard& guard : instr.guards) {
    const ir::Bounds bounds = guard.value.bounds();
    if (bounds.lo < guard.lo) {
      require(b.op(Op::Ge, {index(guard.value), size(SizeRole::Offset, 0, guard.lo)}));
    }
    if (bounds.hi >= guard.hi)
      require(b.op(Op::Lt, {index(guard.value), size(SizeRole::Offset, 0, guard.hi)}));
  }
  return all;
}

ValueId Context::place(const ir::Instr& instr) {
  const ValueId at = index(instr.index);
  if (instr.scale == 0) return at;
  ValueId position = value(instr.position());
  if (out.tree.index_type != DType::I64) position = b.op(Op::Cast, {position}, out.tree.index_type);
  return add(at, mul(position, size(SizeRole::Stride, 0, instr.scale)));
}

void Context::lower(ir::Value v) {
  const ir::Instr& instr = kernel.instr(v);
  switch (instr.op) {
    case Op::Const: bind(v, constant({instr.dtype, instr.bits})); return;
    case Op::Scalar: bind(v, b.scalar(instr.slot)); return;
    case Op::IndexOf: {
      const ValueId position = index(instr.index);
      bind(v, b.type(position).dtype == DType::I64 ? position : b.op(Op::Cast, {position}, DType::I64));
      return;
    }
    case Op::Load: {
      const ValueId mask = guard(instr);
      const ValueId loaded = b.load(instr.slot, place(instr), 1, mask);
      bind(v, mask < 0 ? loaded : b.op(Op::Where, {mask, loaded, value(instr.args[0])}));
      return;
    }
    case Op::Store: {
      const ValueId mask = guard(instr);
      b.store(instr.slot, place(instr), value(instr.args[0]), mask);
      return;
    }
    default: break;
  }
  if (!ir::is_elementwise(instr.op)) {
    refuse(kernel, "it contains '" + std::string(ir::info(instr.op).text) + "'");
  }
  SmallVector<ValueId, 3> args;
  for (ir::Value arg : instr.args) args.push_back(value(arg));
  bind(v, b.op(instr.op, args, instr.dtype));
}

void Context::lower(const std::vector<bool>& wanted) {
  for (size_t v = 0; v < wanted.size(); ++v) {
    if (wanted[v] && !bound(static_cast<ir::Value>(v))) lower(static_cast<ir::Value>(v));
  }
}

}  // namespace tenon::passes::gpu
