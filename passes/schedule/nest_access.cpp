// Nest: loads and stores. Contiguous, reversed, strided and gathered vectors, guards and masks; see nest.h.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "passes/schedule/nest.h"

namespace tenon::passes {

namespace {

// The type in which a guard's value is computed, one a lane: half as wide where it and its limits fit.
DType guard_type(const ir::Guard& guard) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const ir::Bounds reach = guard.value.bounds();
  return reach.lo > -kMost && reach.hi < kMost && guard.lo > -kMost && guard.hi < kMost ? DType::I32 : DType::I64;
}

}  // namespace

// Guards that are the same for all that comes are asked here, once.
void Nest::prepare_guards(Value v) {
  const Guards guards = split(v);
  bool known_here = !guards.together.empty();
  for (int number : guards.together) {
    for (int a : instr(v).guards[number].value.axes()) known_here = known_here && is_bound(a);
  }
  if (known_here) note(Kind::Condition, condition_key(v, guards.together), condition(v, guards.together, false));
  for (int number : guards.along) {
    const Index& value = instr(v).guards[number].value;
    Partial known_part = partial(value);
    partials_.set(partial_key(value, known_part.apart ? sub_ : kNoSub), known_part);
    prepare_lanes(value, guard_type(instr(v).guards[number]));
  }
}

ValueId Nest::both(ValueId a, ValueId b) {
  if (a < 0) return b;
  if (b < 0) return a;
  return builder_.op(Op::And, {a, b});
}

// One of the numbers of instruction v that are no coefficients: its parameter, the same however often it is used.
ValueId Nest::bound(Value v, int number, int64_t value) {
  auto [it, fresh] = slots_.try_emplace(int64_t{1} << 40 | int64_t{v} * kSlots | number, kNone);
  if (fresh) it->second = size_slot(value);
  return builder_.size(it->second);
}

ValueId Nest::condition(Value v, const std::vector<int>& guards, bool vector) {
  ValueId result = kAlways;
  for (int number : guards) {
    const ir::Guard& g = instr(v).guards[number];
    bool along = vector && lane_axis_ >= 0 && g.value.depends_on(lane_axis_);
    const DType type = along ? guard_type(g) : DType::I64;
    ValueId x = along ? vector_index(g.value, type) : address(g.value);
    ValueId lo = literal(g.lo), hi = bound(v, number, g.hi);
    if (along) {
      lo = splat_index(cast(lo, type));
      hi = splat_index(cast(hi, type));
    }
    ValueId inside = both(g.value.bounds().lo >= g.lo ? kAlways : builder_.op(Op::Ge, {x, lo}),
                          g.value.bounds().hi < g.hi ? kAlways : builder_.op(Op::Lt, {x, hi}));
    if (inside >= 0 && vector && !along) inside = builder_.splat(inside, lanes_);
    result = both(result, inside);
  }
  return result;
}

Index::Stride Nest::lane_stride(const Instr& in) const {
  if (in.scale != 0 && varies(in.position())) return {false, 0};
  return lane_axis_ >= 0 ? in.index.stride(lane_axis_) : Index::Stride{true, 0};
}

ValueId Nest::place(const Instr& in) {
  ValueId at = address(in.index);
  if (in.scale == 0) return at;
  return builder_.op(Op::Add, {at, scaled_position(in)});
}

// The offset of a position that is the same for all lanes; computed once in the scope that needs it first.
ValueId Nest::scaled_position(const Instr& in) {
  const ValueId position = cast(get(in.position()), index_type());
  if (in.scale == 1) return position;
  int64_t k = key(in.position()) << 24 | index_number(Index(in.scale));
  if (const ValueId* known = find(Kind::Position, k)) return *known;
  return note(Kind::Position, k, builder_.op(Op::Mul, {position, scale_of(in)}));
}

ValueId Nest::places(const Instr& in) {
  ValueId at = vector_index(in.index);
  if (in.scale == 0) return at;
  ValueId scaled = vector(in.position());
  if (in.scale != 1) scaled = builder_.op(Op::Mul, {scaled, splat_index(scale_of(in))});
  return builder_.op(Op::Add, {at, scaled});
}

// A parameter, as other strides are.
ValueId Nest::scale_of(const Instr& in) { return builder_.size(coefficient_slot(index_number(Index(in.scale)), kScale, in.scale)); }

// Lines so short that a vector would take more of them are gathered.
std::optional<Nest::LineRuns> Nest::line_runs(const Instr& in) const {
  constexpr int64_t kMostRuns = 4, kMostElements = 2;
  if (in.op == Op::IndexOf || in.scale != 0 || ir::item_size(kernel_.buffer(in.slot).dtype) < least_item_of_lines_) return {};
  int64_t step = 0, length = 0;  // within a line; of a line
  std::optional<Index> position;
  for (const Index::Term& term : in.index.terms()) {
    if (term.axis >= 0 ? term.axis != lane_axis_ : !term.inner_index().depends_on(lane_axis_)) continue;
    if (term.axis >= 0 || term.divisor <= 1) step += term.coefficient;
    if (term.axis >= 0) continue;
    const Index x = term.inner_index();
    const Index::Stride along = x.stride(lane_axis_);
    if (!along.ok || along.value != 1 || x.bounds().lo < 0 || (position && !(*position == x))) return {};
    const int64_t of_term = term.divisor > 1 ? term.divisor : term.modulus, shorter = length == 0 ? of_term : std::min(length, of_term);
    if (std::max(length, of_term) % shorter != 0) return {};
    length = shorter;
    position = x;
  }
  const bool one = step == 0;
  if (!(step == 1 || (one && in.guards.empty())) || !position) return {};  // an element of a line that is guarded may not be there
  const int64_t most = 1 + (lanes_ - 2 + length) / length;
  if (most > (one ? kMostElements : kMostRuns)) return {};
  return LineRuns{*position, length, static_cast<int>(most), one};
}

// Run 0 has what is left of the first lane's line; the lanes of the others are those of the lines behind it.
Nest::Run Nest::run(const Instr& in, const LineRuns& runs, int number) {
  const int index = index_number(in.index);
  const int64_t key = term_key(index, static_cast<size_t>(number), DType::I64);
  if (const ValueId* lanes = find(Kind::RunLanes, key)) return {*lanes, *find(Kind::RunOffset, key)};
  const ValueId length = builder_.size(coefficient_slot(index, kLength, runs.length)), first = scalar_index(runs.position);
  const int64_t most = runs.position.bounds().hi + lanes_;
  const auto begin_of = [&](int run) {  // its first lane
    const ValueId left = builder_.op(Op::Sub, {length, divide(first, runs.position, most, runs.length, true)});
    return builder_.op(Op::Add, {left, builder_.op(Op::Mul, {literal(run - 1), length})});
  };
  const auto before = [&](int run) { return tail_mask(literal(0), begin_of(run)); };
  const ValueId from = number == 0 ? kAlways : builder_.op(Op::Not, {before(number)});
  const ValueId lanes = number + 1 == runs.most ? from : both(from, before(number + 1));
  ValueId offset = kNone;
  if (number > 0) {  // the sum of the terms there, less that at the first lane, less the lanes in between
    const ValueId begin = begin_of(number);
    ValueId there = builder_.op(Op::Add, {first, begin});
    if (runs.one) {  // also if no lane is there
      const ValueId last = builder_.size(coefficient_slot(index, kLast, runs.position.bounds().hi));
      there = builder_.op(Op::Min, {there, last});
    }
    offset = runs.one ? literal(0) : builder_.op(Op::Sub, {literal(0), begin});
    for (size_t t = 0; t < in.index.terms().size(); ++t) {
      const Index::Term& term = in.index.terms()[t];
      if (term.axis >= 0 ? term.axis != lane_axis_ : !term.inner_index().depends_on(lane_axis_)) continue;
      const auto at = [&](ValueId x) { return term.axis >= 0 ? x : compound(term, x, runs.position, most); };
      const ValueId apart = builder_.op(Op::Sub, {at(there), at(first)});
      const ValueId c = builder_.size(coefficient_slot(index, t, term.coefficient));
      offset = builder_.op(Op::Add, {offset, builder_.op(Op::Mul, {apart, c})});
    }
  }
  note(Kind::RunOffset, key, offset);
  return {note(Kind::RunLanes, key, lanes), offset};
}

// Each run of neighbours is accessed as if the line went on as the first lane's does, under a mask:
//
//   lanes     0 .. 9 | 10 .. 15         x mod 14 + 16 * (x / 14), the first lane is at 4 of its line
//   %a = load x[%at]      mask lanes < 10
//   %b = load x[%at + 2]  mask lanes >= 10;      where(lanes >= 10, %b, %a)
void Nest::each_run(const Instr& in, const LineRuns& runs, ValueId mask,
                    const std::function<void(const Run& run, ValueId place, ValueId mask)>& f) {
  const ValueId first = place(in);
  for (int number = 0; number < runs.most; ++number) {
    const Run r = run(in, runs, number);
    f(r, number == 0 ? first : builder_.op(Op::Add, {first, r.offset}), both(mask, r.lanes));
  }
}

ValueId Nest::load_at(Value v, ValueId mask) {
  const Instr& in = instr(v);
  Index::Stride stride = lane_stride(in);
  if (!stride.ok) {
    const std::optional<LineRuns> runs = line_runs(in);
    if (!runs) return builder_.gather(in.slot, places(in), mask);
    ValueId result = kNone;
    each_run(in, *runs, mask, [&](const Run& run, ValueId place, ValueId masked) {
      const ValueId loaded =
          runs->one ? builder_.splat(builder_.load(in.slot, place, 1), lanes_) : builder_.load(in.slot, place, lanes_, masked);
      result = result < 0 ? loaded : builder_.op(Op::Where, {run.lanes, loaded, result});
    });
    return result;
  }
  if (stride.value == 1) {
    const ValueId at = place(in);
    if (const auto ahead = ahead_.find(v); ahead != ahead_.end()) {
      builder_.prefetch(in.slot, builder_.op(Op::Add, {at, literal(ahead->second / ir::item_size(in.dtype))}));
    }
    return builder_.load(in.slot, at, lanes_, mask);
  }
  if (stride.value == -1 && mask < 0) {
    const ValueId first = builder_.op(Op::Sub, {place(in), literal(lanes_ - 1)});
    const ValueId loaded = builder_.load(in.slot, first, lanes_);
    return builder_.let(Op::Reverse, {loaded}, VType{in.dtype, static_cast<int16_t>(lanes_)});
  }
  ValueId step = builder_.size(coefficient_slot(index_number(in.index), kLaneStride, stride.value));
  return builder_.load_strided(in.slot, place(in), step, lanes_, mask);
}

// A guarded load addresses nothing outside its buffer, in no lane, masked or not: a processor takes hundreds of times as
// long over a masked load of memory that is not there. What the guards say of all lanes alike is a branch, and of
// guards that vary along the lanes each vector is asked whether it is inside, outside or on the border:
//
//   %v = otherwise                                   # pad, cat: rows of 32 in a buffer of 4096
//   if first >= 0 and first + 15 < 32   %v = load x[%at]
//   else if first + 15 >= 0 and first < 32           # on the border
//     if %at >= 0 and %at + 16 <= 4096  %v = where(inside, load x[%at] mask inside, otherwise)
//     else for l in 0..16               edge[l] = load x[clamp(%at + l)]; then the same with edge
ValueId Nest::load(Value v) {
  const Instr& in = instr(v);
  const bool vector = varies(v);
  const Guards guards = split(v);
  const ValueId together = uniform_condition(v);
  if (together < 0 && guards.along.empty()) return vector ? load_at(v, mask_) : builder_.load(in.slot, place(in), 1);
  const ValueId otherwise = vector ? this->vector(in.args[0]) : get(in.args[0]);
  if (!vector) return builder_.op(Op::Where, {together, builder_.load(in.slot, place(in), 1, together), otherwise});
  const ValueId result = builder_.var(otherwise);
  for (Value a : in.args) {  // what is made once is made out here, where all that follows sees it
    if (!varies(a)) get(a);
  }
  if (in.scale != 0 && !varies(in.position())) scaled_position(in);
  when(together, [&] { guards.along.empty() ? builder_.set(result, load_at(v, mask_)) : load_along(v, guards.along, otherwise, result); });
  return builder_.get(result);
}

void Nest::when(ValueId condition, const std::function<void()>& body, const std::function<void()>& orelse) {
  const auto in_scope = [&](const auto& part) {
    push();
    part();
    pop();
  };
  if (condition < 0) return in_scope(body);
  builder_.begin_if(condition);
  in_scope(body);
  if (orelse) {
    builder_.begin_else();
    in_scope(orelse);
  }
  builder_.end_if();
}

Nest::Guards Nest::split(Value v) const {
  Guards result;
  const std::vector<ir::Guard>& guards = instr(v).guards;
  for (size_t i = 0; i < guards.size(); ++i) {
    const bool along = lane_axis_ >= 0 && guards[i].value.depends_on(lane_axis_);
    (along ? result.along : result.together).push_back(static_cast<int>(i));
  }
  return result;
}

// The condition of the guards that do not vary along the lanes.
ValueId Nest::uniform_condition(Value v) {
  const Guards guards = split(v);
  if (const ValueId* known = find(Kind::Condition, condition_key(v, guards.together))) return *known;
  return condition(v, guards.together, false);
}

// Guards are told apart by what varies along the lanes now, and by the sub-vector if they depend on where it is.
int64_t Nest::condition_key(Value v, const std::vector<int>& together) const {
  const bool apart = std::ranges::any_of(together, [&](int number) {
    const Index& value = instr(v).guards[number].value;
    return std::ranges::any_of(sub_axes_, [&](int a) { return a >= 0 && value.depends_on(a); });
  });
  return (int64_t{v} * kSubs + (apart ? sub_ : kNoSub)) << 8 | (lane_axis_ + 1);
}

void Nest::load_along(Value v, const std::vector<int>& guards, ValueId otherwise, ValueId result) {
  const Instr& in = instr(v);
  const auto masked = [&] {
    const ValueId inside = condition(v, guards, true);
    if (inside < 0) return builder_.set(result, load_at(v, mask_));
    const ValueId mask = both(mask_, inside);
    const Index::Stride stride = lane_stride(in);
    const ValueId loaded = builder_.var(otherwise);
    if (!stride.ok || stride.value != 1) {  // lane by lane
      builder_.set(loaded, load_at(v, mask));
    } else {
      const ValueId at = place(in);
      const ValueId numel = bound(v, kNumel, kernel_.buffer(in.slot).numel);
      const ValueId last = builder_.op(Op::Add, {at, literal(lanes_)});
      const ValueId in_buffer = builder_.op(Op::And, {builder_.op(Op::Ge, {at, literal(0)}), builder_.op(Op::Le, {last, numel})});
      when(
          in_buffer, [&] { builder_.set(loaded, builder_.load(in.slot, at, lanes_, mask)); },
          [&] { builder_.set(loaded, load_clamped(in, at, numel)); });
    }
    builder_.set(result, builder_.op(Op::Where, {inside, builder_.get(loaded), otherwise}));
  };
  ValueId all = kAlways, some = kAlways;
  for (int number : guards) {
    const ir::Guard& g = in.guards[number];
    const Index::Stride stride = g.value.stride(lane_axis_);
    if (!stride.ok) return masked();
    // The first and the last lane decide, since the lanes see values in equal steps.
    ValueId low = address(g.value);
    ValueId high = builder_.op(Op::Add, {low, literal(stride.value * (lanes_ - 1))});
    if (stride.value < 0) std::swap(low, high);
    const ValueId lo = literal(g.lo), hi = bound(v, number, g.hi);
    if (g.value.bounds().lo < g.lo) {
      all = both(all, builder_.op(Op::Ge, {low, lo}));
      some = both(some, builder_.op(Op::Ge, {high, lo}));
    }
    if (g.value.bounds().hi >= g.hi) {
      all = both(all, builder_.op(Op::Lt, {high, hi}));
      some = both(some, builder_.op(Op::Lt, {low, hi}));
    }
  }
  when(
      all, [&] { builder_.set(result, load_at(v, mask_)); }, [&] { when(some, masked); });
}

// Neighbours from `at` on, some of which are not in the buffer: there its first or last element.
ValueId Nest::load_clamped(const Instr& in, ValueId at, ValueId numel) {
  auto [it, fresh] = edges_.try_emplace({in.dtype, lanes_}, kNone);
  if (fresh) {
    const std::string name = "edge" + std::to_string(edges_.size() - 1);
    it->second = builder_.add_buffer({name, in.dtype, Space::Local, kNone, lanes_});
  }
  const ValueId last = builder_.op(Op::Sub, {numel, literal(1)});
  const ValueId lane = builder_.begin_for(literal(0), literal(lanes_), 1);
  const ValueId place = builder_.op(Op::Add, {at, lane});
  const ValueId inside = builder_.op(Op::Max, {builder_.op(Op::Min, {place, last}), literal(0)});
  builder_.store(it->second, lane, builder_.load(in.slot, inside, 1));
  builder_.end_for();
  return builder_.load(it->second, literal(0), lanes_);
}

void Nest::store(Value v) {
  const Instr& in = instr(v);
  bool along = lane_axis_ >= 0 && (in.index.depends_on(lane_axis_) || (in.scale != 0 && varies(in.position())));
  Guards guards = split(v);
  std::vector<int> all = guards.together;
  all.insert(all.end(), guards.along.begin(), guards.along.end());
  ValueId inside = condition(v, all, along);
  if (!along) {
    ValueId value = get(in.args[0]), at = place(in);
    if (inside >= 0) builder_.begin_if(inside);
    builder_.store(in.slot, at, value);
    if (inside >= 0) builder_.end_if();
    return;
  }
  ValueId value = vector(in.args[0]), mask = both(mask_, inside);
  Index::Stride stride = lane_stride(in);
  if (const std::optional<LineRuns> runs = stride.ok ? std::nullopt : line_runs(in); runs && !runs->one) {
    each_run(in, *runs, mask, [&](const Run&, ValueId place, ValueId masked) { builder_.store(in.slot, place, value, masked); });
  } else if (!stride.ok) {
    builder_.scatter(in.slot, places(in), value, mask);
  } else if (stride.value == 1) {
    builder_.store(in.slot, place(in), value, mask);
  } else {
    ValueId step = builder_.size(coefficient_slot(index_number(in.index), kLaneStride, stride.value));
    builder_.store_strided(in.slot, place(in), step, value, mask);
  }
}

}  // namespace tenon::passes
