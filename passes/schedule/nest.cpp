// Nest: scopes, bound axes and addresses, and every instruction that is no load or store (those: nest_access.cpp).
#include "passes/schedule/nest.h"

#include <algorithm>
#include <bit>

namespace tenon::passes {

namespace {
constexpr uint64_t kConstantTerm = uint64_t{1} << 63;
}

Nest::Nest(const ir::Kernel& kernel, ir::TreeBuilder& builder, std::vector<int64_t>& sizes)
    : kernel_(kernel), builder_(builder), sizes_(sizes), varies_(kernel.instrs.size(), false), apart_(varies_) {}

int32_t Nest::size_slot(int64_t value) {
  int32_t slot = builder_.new_size();
  sizes_.resize(static_cast<size_t>(slot) + 1, 0);
  sizes_[slot] = value;
  return slot;
}

ValueId Nest::extent(int axis) {
  auto [it, fresh] = extents_.try_emplace(axis, kNone);
  if (fresh) it->second = size_slot(kernel_.extent(axis));
  return builder_.size(it->second);
}

std::vector<bool> varying_along(const ir::Kernel& kernel, int axis) {
  std::vector<bool> varies(kernel.instrs.size(), false);
  if (axis < 0) return varies;
  const bool reduced = kernel.axes[axis].kind != AxisKind::Parallel;
  for (size_t v = 0; v < kernel.instrs.size(); ++v) {
    const Instr& in = kernel.instrs[v];
    bool along = in.index.depends_on(axis) || (ir::is_scan(in.op) && kernel.axes[axis].kind == AxisKind::Serial);
    for (const ir::Guard& g : in.guards) along = along || g.value.depends_on(axis);
    if (!reduced || !(ir::is_reduce(in.op) || in.op == Op::Contract)) {
      for (Value a : in.args) along = along || varies[a];
    }
    varies[v] = along;
  }
  return varies;
}

std::vector<bool> varying_along(const ir::Kernel& kernel, std::span<const int> axes) {
  std::vector<bool> result(kernel.instrs.size(), false);
  for (int axis : axes) {
    const std::vector<bool> varies = varying_along(kernel, axis);
    std::transform(result.begin(), result.end(), varies.begin(), result.begin(), std::logical_or<>());
  }
  return result;
}

// --- vectors

void Nest::set_lane_axis(int axis, int lanes) {
  if (lanes == 1) axis = kNoAxis;
  lane_axis_ = axis;
  lanes_ = lanes;
  varies_ = apart_ = varying_along(kernel_, axis);
  sub_axes_ = {axis};
}

void Nest::set_sub_axes(std::span<const int> axes) {
  sub_axes_.assign(axes.begin(), axes.end());
  apart_ = varying_along(kernel_, axes);
}

bool Nest::is_sub_axis(int axis) const { return std::ranges::find(sub_axes_, axis) != sub_axes_.end(); }

ValueId Nest::tail_mask(ValueId position, ValueId end) {
  ValueId left = builder_.op(Op::Cast, {builder_.op(Op::Min, {builder_.op(Op::Sub, {end, position}), literal(lanes_)})}, DType::I32);
  ValueId zero = builder_.constant(ir::constant(DType::I32, int64_t{0}));
  ValueId one = builder_.constant(ir::constant(DType::I32, int64_t{1}));
  ValueId ramp = builder_.let(Op::Ramp, {zero, one}, VType{DType::I32, static_cast<int16_t>(lanes_)});
  return builder_.op(Op::Lt, {ramp, builder_.splat(left, lanes_)});
}

// --- scopes

void Nest::push() {
  known_.push();
  partials_.push();
  products_.push();
}

void Nest::pop() {
  while (!linear_.empty() && linear_.back().scope == known_.scope()) linear_.pop_back();
  known_.pop();
  partials_.pop();
  products_.pop();
}

void Nest::bind(int axis, ValueId index) {
  if (is_bound(axis) && in_an_address(axis))
    throw ir::IrError("schedule: axis " + kernel_.axes[axis].name + " of " + kernel_.name + " is bound again after it was used");
  known_.set(axis_key(axis), index);
}

bool Nest::in_an_address(int axis) const {
  for (const auto& [key, known, scope, hidden] : partials_.entries()) {
    if (key % kSubs != sub_ && key % kSubs != kNoSub) continue;
    std::span<const Index::Term> terms = indices_[key / kSubs].terms();
    for (size_t t = 0; t < terms.size(); ++t) {
      const bool along = terms[t].axis >= 0 ? terms[t].axis == axis : terms[t].inner_index().depends_on(axis);
      if (along && (known.terms >> t & 1) != 0) return true;
    }
  }
  return false;
}

ValueId Nest::axis_value(int axis) const {
  if (const auto* bound = known_.find(axis_key(axis))) return bound->value;
  throw ir::IrError("schedule: axis " + kernel_.axes[axis].name + " is used outside its loop");
}

void Nest::bind_linear(std::span<const int> axes, ValueId linear) {
  std::vector<int> long_axes;
  for (int a : axes) {
    if (kernel_.extent(a) != 1) long_axes.push_back(a);
    else bind(a, literal(0));
  }
  if (long_axes.size() > 1) {
    std::vector<Index> points;
    std::vector<int64_t> shape;
    for (int a : long_axes) {
      points.push_back(kernel_.axis(a));
      shape.push_back(kernel_.extent(a));
    }
    const bool apart = std::ranges::any_of(long_axes, [&](int a) { return is_sub_axis(a); });
    linear_.push_back({ir::flatten(points, shape), linear, apart ? sub_ : kNoSub, known_.scope()});
  }
  for (size_t i = long_axes.size(); i-- > 1;) {
    const ValueId length = extent(long_axes[i]), quotient = builder_.quotient(linear, length);
    bind(long_axes[i], builder_.op(Op::Sub, {linear, builder_.op(Op::Mul, {quotient, length})}));
    linear = quotient;
  }
  if (!long_axes.empty()) bind(long_axes[0], linear);
}

// Axes that have been bound anew since then hide it.
ValueId Nest::find_linear(const Index& index) const {
  for (size_t i = linear_.size(); i-- > 0;) {
    const Linear& linear = linear_[i];
    if (linear.index != index || (linear.sub != sub_ && linear.sub != kNoSub)) continue;
    const ir::Axes axes = index.axes();
    const bool current = std::ranges::all_of(axes, [&](int a) {
      const auto* bound = known_.find(axis_key(a));
      return bound && bound->scope == linear.scope;
    });
    if (current) return linear.value;
  }
  return kNone;
}

void Nest::prepare(std::span<const Value> instrs) {
  for (Value v : instrs) {
    const Instr& in = instr(v);
    if ((in.op == Op::Load || in.op == Op::Store || in.op == Op::IndexOf) && !in.index.is_constant()) {
      Partial known_part = partial(in.index);
      partials_.set(partial_key(in.index, known_part.apart ? sub_ : kNoSub), known_part);
      if (lane_axis_ >= 0 && !lane_stride(in).ok) prepare_lanes(in);
    }
    if (in.op == Op::Load && !in.guards.empty()) prepare_guards(v);
    if (in.scale != 0 && !varies(in.position()) && known(in.position())) scaled_position(in);
    if (!varies(v)) continue;
    for (Value a : in.args) {
      Op op = instr(a).op;
      if (a == in.position()) continue;  // a scalar: part of the address
      if (!varies(a) && (known(a) || op == Op::Const || op == Op::Scalar)) vector(a);
    }
  }
}

void Nest::prepare_lanes(const Instr& in) {
  const std::optional<LineRuns> runs = line_runs(in);
  if (!runs) return prepare_lanes(in.index, DType::I64);
  const ir::Axes axes = runs->position.axes();
  if (!std::ranges::all_of(axes, [&](int a) { return is_bound(a); })) return;
  for (int number = 0; number < runs->most; ++number) run(in, *runs, number);
}

// Divisions of a vector are costly, and no compiler finds them in a loop under conditions.
void Nest::prepare_lanes(const Index& index, DType type) {
  for (size_t t = 0; t < index.terms().size(); ++t) {
    const Index::Term& term = index.terms()[t];
    if (term.axis >= 0) continue;
    const ir::Axes axes = term.inner_index().axes();
    const bool along = std::ranges::find(axes, lane_axis_) != axes.end();
    const bool bound = std::ranges::all_of(axes, [&](int a) { return is_bound(a); });
    if (along && bound) {
      note(Kind::LaneTerm, term_key(index_number(index), t, type), cast(term_value(term, true), type));
    }
  }
}

// --- addresses

int Nest::index_number(const Index& index) {
  for (size_t i = 0; i < indices_.size(); ++i) {
    if (indices_[i] == index) return static_cast<int>(i);
  }
  if (index.terms().size() > kMostTerms) throw ir::IrError("schedule: an index of kernel '" + kernel_.name + "' has too many terms");
  indices_.push_back(index);
  return static_cast<int>(indices_.size()) - 1;
}

int64_t Nest::term_key(int number, size_t term, DType type) const {
  return (((int64_t{type == DType::I32} << 32 | number) * kSubs + static_cast<int64_t>(term)) * kSubs + sub_) << 8 | (lane_axis_ + 1);
}

int64_t Nest::partial_key(const Index& index, int sub) { return int64_t{index_number(index)} * kSubs + sub; }

int32_t Nest::coefficient_slot(int number, size_t term, int64_t value) {
  auto [it, fresh] = slots_.try_emplace(int64_t{number} * kSlots + static_cast<int64_t>(term), kNone);
  if (fresh) it->second = size_slot(value);
  return it->second;
}

Nest::Partial Nest::partial(const Index& index) {
  int number = index_number(index);
  const auto *known = partials_.find(int64_t{number} * kSubs + sub_), *of_all = partials_.find(int64_t{number} * kSubs + kNoSub);
  if (!known || (of_all && of_all->scope > known->scope)) known = of_all;
  Partial result = known ? known->value : Partial{};
  ValueId fresh = kNone;  // a sum of its own: addresses that differ in what was known share it
  auto add = [&](ValueId x) { fresh = fresh < 0 ? x : builder_.op(Op::Add, {fresh, x}); };
  std::span<const Index::Term> terms = index.terms();
  for (size_t t = 0; t < terms.size(); ++t) {
    uint64_t bit = uint64_t{1} << t;
    if ((result.terms & bit) != 0) continue;
    bool bound, along;
    if (terms[t].axis >= 0) {
      along = is_sub_axis(terms[t].axis);
      bound = is_bound(terms[t].axis);
    } else {
      ir::Axes axes = terms[t].inner_index().axes();
      along = std::ranges::any_of(axes, [&](int a) { return is_sub_axis(a); });
      bound = std::ranges::all_of(axes, [&](int a) { return is_bound(a); });
    }
    if (!bound) continue;
    add(along ? product(number, t, terms[t]) : shared_product(number, t, terms[t]));
    result.terms |= bit;
    result.apart = result.apart || along;
  }
  if ((result.terms & kConstantTerm) == 0 && index.constant_part() != 0) {
    add(builder_.size(coefficient_slot(number, kConstantPart, index.constant_part())));
  }
  result.terms |= kConstantTerm;
  if (fresh >= 0) result.value = result.value < 0 ? fresh : builder_.op(Op::Add, {result.value, fresh});
  return result;
}

ValueId Nest::product(int number, size_t t, const Index::Term& term) {
  const ValueId x = term_value(term, false);
  return is_known_one(term) ? x : builder_.op(Op::Mul, {x, builder_.size(coefficient_slot(number, t, term.coefficient))});
}

// That of an axis that all sub-vectors share.
ValueId Nest::shared_product(int number, size_t t, const Index::Term& term) {
  if (term.axis < 0 || is_known_one(term)) return product(number, t, term);
  const int64_t key = int64_t{number} * kSlots + static_cast<int64_t>(t);
  const ValueId x = axis_value(term.axis);
  const auto* known = products_.find(key);
  if (known && known->value.factor == x) return known->value.value;
  const ValueId value = product(number, t, term);
  products_.set(key, {x, value});
  return value;
}

ValueId Nest::address(const Index& index) {
  if (const ValueId linear = find_linear(index); linear >= 0) return linear;
  Partial p = partial(index);
  if (p.value < 0) p.value = literal(0);
  partials_.set(partial_key(index, p.apart ? sub_ : kNoSub), p);
  return p.value;
}

// The divisor is no part of the code on a CPU, but for whether it is a power of two, and that only where it matters. If it is not one,
// with m = ceil(2^s / d) the quotient is (x * m) >> s for all x that are so small that x * (m * d - 2^s) < 2^s; s is 64 for one number
// and 40 for a vector, so that its products fit a lane.
ValueId Nest::divide(ValueId x, const Index& of, int64_t most, int64_t d, bool remainder) {
  constexpr int64_t kMost = int64_t{1} << 31, kShift = 40;
  const VType type = builder_.type(x);
  const auto lanes = [&](ValueId number) { return builder_.splat(number, type.lanes); };
  const auto rest = [&](ValueId quotient, ValueId by) {
    return remainder ? builder_.op(Op::Sub, {x, builder_.op(Op::Mul, {quotient, by})}) : quotient;
  };
  const bool vector = type.lanes > 1, power = std::has_single_bit(static_cast<uint64_t>(d));
  const bool fits = vector ? most <= (int64_t{1} << kShift) / d && most / d < int64_t{1} << (62 - kShift) : most < kMost && d < kMost;
  const bool even = power && !(any_numbers_ && fits);
  hides_power_ = hides_power_ || (vector && power && !even);
  if (!numbers_are_sizes() || !(even || fits)) {
    const ValueId by = lanes(literal(d));
    return rest(builder_.quotient(x, by), by);
  }
  // Parameters: of a power of two its logarithm and the mask, else the divisor and m.
  auto [known, fresh] = divisors_.try_emplace({index_number(of), d, vector}, std::pair{kNone, kNone});
  auto& [first, second] = known->second;
  if (fresh) {
    const uint64_t by = static_cast<uint64_t>(d), largest = vector ? (uint64_t{1} << kShift) - 1 : ~uint64_t{0};
    first = size_slot(even ? std::countr_zero(by) : d);
    second = size_slot(static_cast<int64_t>(even ? by - 1 : largest / by + 1));
  }
  const auto size = [&](int32_t slot) { return lanes(builder_.size(slot)); };
  if (even) return remainder ? builder_.op(Op::And, {x, size(second)}) : builder_.op(Op::Shr, {x, size(first)});
  const ValueId quotient = vector ? builder_.op(Op::Shr, {builder_.op(Op::Mul, {x, size(second)}), lanes(literal(kShift))})
                                  : builder_.op(Op::MulHi, {x, size(second)});
  return rest(quotient, remainder ? size(first) : kNone);
}

// The value of one term, without its coefficient. Inside compound terms div and mod run on non-negative
// numbers: a multiple of the modulus (or of the divisor) is added first where the bounds allow negative ones.
ValueId Nest::term_value(const Index::Term& term, bool vector) {
  if (term.axis >= 0) {
    if (!vector) return axis_value(term.axis);
    if (term.axis != lane_axis_) return splat_index(axis_value(term.axis));
    return builder_.let(Op::Ramp, {axis_value(term.axis), literal(1)}, VType{DType::I64, static_cast<int16_t>(lanes_)});
  }
  Index inner = term.inner_index();
  int64_t period = term.modulus != 0 ? term.modulus : term.divisor;
  int64_t lo = inner.bounds().lo, shift = lo < 0 ? (-lo + period - 1) / period : 0;
  Index shifted = inner + shift * period;
  ValueId x = vector ? vector_index(shifted) : scalar_index(shifted);
  VType type = builder_.type(x);
  x = compound(term, x, shifted, shifted.bounds().hi);
  return shift == 0 || term.modulus != 0 ? x : builder_.op(Op::Sub, {x, builder_.constant(ir::constant(type.dtype, shift), type.lanes)});
}

ValueId Nest::compound(const Index::Term& term, ValueId inner, const Index& of, int64_t most) {
  ValueId x = inner;
  if (term.modulus != 0) {
    x = divide(x, of, most, term.modulus, true);
    most = term.modulus - 1;
  }
  return term.divisor > 1 ? divide(x, of, most, term.divisor, false) : x;
}

// A number of an index, by its term: a parameter, or on a GPU, within compound terms, a literal: what they are divided by is one too.
ValueId Nest::number(int index, size_t term, int64_t value) {
  return numbers_are_sizes() ? builder_.size(coefficient_slot(index, term, value)) : literal(value);
}

ValueId Nest::scalar_index(const Index& index) {
  const int of = index_number(index);
  ValueId sum = index.terms().empty() ? literal(index.constant_part()) : kZero;
  if (sum < 0 && index.constant_part() != 0) sum = number(of, kConstantPart, index.constant_part());
  for (size_t t = 0; t < index.terms().size(); ++t) {
    const Index::Term& term = index.terms()[t];
    ValueId x = term_value(term, false);
    if (term.coefficient != 1) x = builder_.op(Op::Mul, {x, number(of, t, term.coefficient)});
    sum = sum < 0 ? x : builder_.op(Op::Add, {sum, x});
  }
  return sum;
}

ValueId Nest::cast(ValueId x, DType type) { return builder_.type(x).dtype == type ? x : builder_.op(Op::Cast, {x}, type); }

ValueId Nest::splat_index(ValueId x) { return builder_.splat(x, lanes_); }

// One position a lane. What does not vary along the lanes is summed as a scalar first.
ValueId Nest::vector_index(const Index& index, DType type) {
  const int number = index_number(index);
  ValueId scalar = kZero, sum = kZero;
  auto add = [&](ValueId& to, ValueId x) { to = to < 0 ? x : builder_.op(Op::Add, {to, x}); };
  std::span<const Index::Term> terms = index.terms();
  auto number_value = [&](size_t t, int64_t value) { return builder_.size(coefficient_slot(number, t, value)); };
  for (size_t t = 0; t < terms.size(); ++t) {
    const Index::Term& term = terms[t];
    bool along = term.axis >= 0 ? term.axis == lane_axis_ : term.inner_index().depends_on(lane_axis_);
    const ValueId* known = along ? find(Kind::LaneTerm, term_key(number, t, type)) : nullptr;
    ValueId x = known ? *known : along ? cast(term_value(term, true), type) : term_value(term, false);
    if (term.coefficient != 1) {
      ValueId c = number_value(t, term.coefficient);
      x = builder_.op(Op::Mul, {x, along ? splat_index(cast(c, type)) : c});
    }
    add(along ? sum : scalar, x);
  }
  if (index.constant_part() != 0) add(scalar, number_value(kConstantPart, index.constant_part()));
  if (scalar >= 0) add(sum, splat_index(cast(scalar, type)));
  return sum < 0 ? splat_index(cast(literal(0), type)) : sum;
}

// --- values

void Nest::set(Value v, ValueId value) { note(Kind::Value, key(v), value); }

bool Nest::known(Value v) const { return find(Kind::Value, key(v)) != nullptr; }

ValueId Nest::get(Value v) {
  if (const ValueId* value = find(Kind::Value, key(v))) return *value;
  Op op = instr(v).op;
  if (op != Op::Const && op != Op::Scalar) {
    throw ir::IrError("schedule: %" + std::to_string(v) + " of " + kernel_.name + " is used before it is computed");
  }
  emit(v);  // constants and arguments are made where they are first needed
  return get(v);
}

ValueId Nest::vector(Value v) {
  if (varies(v)) return get(v);
  if (const ValueId* splat = find(Kind::Splat, key(v))) return *splat;
  const Instr& in = instr(v);
  ValueId wide = in.op == Op::Const ? builder_.constant({in.dtype, in.bits}, lanes_) : builder_.splat(get(v), lanes_);
  return note(Kind::Splat, key(v), wide);
}

void Nest::emit(Value v) {
  const Instr& in = instr(v);
  if (in.op == Op::Store) return store(v);
  bool along = varies(v);
  ValueId result;
  switch (in.op) {
    case Op::Const: result = builder_.constant({in.dtype, in.bits}); break;
    case Op::Scalar: result = builder_.scalar(in.slot); break;
    case Op::Load: result = load(v); break;
    case Op::IndexOf: {
      if (!along) {
        result = cast(address(in.index), DType::I64);
        break;
      }
      Index::Stride stride = in.index.stride(lane_axis_);
      if (!stride.ok) {
        result = vector_index(in.index);
        break;
      }
      ValueId step = stride.value == 1 ? literal(1) : builder_.size(coefficient_slot(index_number(in.index), kLaneStride, stride.value));
      result = builder_.let(Op::Ramp, {address(in.index), step}, VType{DType::I64, static_cast<int16_t>(lanes_)});
      break;
    }
    default: {
      SmallVector<ValueId, 3> args;
      for (Value a : in.args) args.push_back(along ? vector(a) : get(a));
      result = builder_.op(in.op, args, in.dtype);
    }
  }
  set(v, result);
}

void Nest::emit_new(std::span<const Value> values) {
  for (Value v : values) {
    if (instr(v).op == Op::Store || !known(v)) emit(v);
  }
}

}  // namespace tenon::passes
