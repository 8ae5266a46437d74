// What the schedules of all devices share: turning kernel instructions into loop-tree statements inside some loops.
// A Nest knows which value each axis has in the current scope, computes addresses from it (each part of a sum
// in the outermost scope where it is known, and once there), and emits an instruction as a scalar, or as a vector
// if it varies along the lane axis. A GPU's threads take single elements, so its schedules set no lane axis.
//
//   kernel:     %0 = load x[1024*i + j] : f32            axes i bound to %r, j bound to %c and vectorised
//   loop tree:  %4 = mul %r, s2    (in the scope of %r)
//               %7 = add %4, %c    (in the scope of %c)
//               %8 = load x[%7] : f32x16
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "passes/schedule/scoped_map.h"
#include "passes/schedule/words.h"

namespace tenon::passes {

// For each instruction of the kernel: whether its value changes along the axis (none if it is kNoAxis). A reduction along
// the axis itself ends in a scalar; one along other axes has a result for each point.
std::vector<bool> varying_along(const ir::Kernel& kernel, int axis);
std::vector<bool> varying_along(const ir::Kernel& kernel, std::span<const int> axes);  // any of them

class Nest {
 public:
  Nest(const ir::Kernel& kernel, ir::TreeBuilder& builder, std::vector<int64_t>& sizes);

  const Instr& instr(Value v) const { return kernel_.instr(v); }

  // --- sizes: numbers that are parameters of the tree
  int32_t size_slot(int64_t value);  // a fresh parameter with this value
  ValueId size(int64_t value) { return builder_.size(size_slot(value)); }
  ValueId extent(int axis);                                                     // the axis's own parameter
  const std::unordered_map<int, int32_t>& extents() const { return extents_; }  // these parameters, by axis
  ValueId literal(int64_t value) { return builder_.index_constant(value); }

  // --- vectors
  // From here on values that vary along `axis` are vectors of `lanes` elements at consecutive positions.
  void set_lane_axis(int axis, int lanes);
  int lanes() const { return lanes_; }
  int lanes(Value v) const { return varies(v) ? lanes_ : 1; }
  bool varies(Value v) const { return varies_[v]; }
  // Several vectors side by side keep their values apart by a sub-vector number. They are at different positions along
  // the lane axis (unrolled columns), or along the axes given here (unrolled short axes).
  void set_sub_axes(std::span<const int> axes);
  void set_sub(int sub) { sub_ = sub; }
  bool apart(Value v) const { return apart_[v]; }  // each sub-vector has its own
  // Loads of v also ask for what lies `bytes` further on; for what comes from memory in several streams at once.
  void prefetch(Value v, int64_t bytes) { ahead_[v] = bytes; }
  void ask(Value load) { builder_.prefetch(instr(load).slot, place(instr(load))); }  // for what it reads at the axes as they are bound
  void set_mask(ValueId mask) { mask_ = mask; }
  ValueId mask() const { return mask_; }
  // lane l is live iff position + l < end
  ValueId tail_mask(ValueId position, ValueId end);

  // --- numbers of indices
  void take_any_numbers(bool any) { any_numbers_ = any; }  // divisors that are powers of two and strides of 1 are no code of their own
  bool hides_power() const { return hides_power_; }        // whether vectors are divided by one, which takes longer so

  // Lanes that skip from line to line are accessed line by line under masks, where items have so many bytes.
  void take_lines(int64_t least_item) { least_item_of_lines_ = least_item; }

  // --- scopes
  void push();
  void pop();
  // The bodies under an if, each in a scope of its own; the first one alone where the condition is kAlways.
  void when(ValueId condition, const std::function<void()>& body, const std::function<void()>& orelse = {});
  // In the innermost scope; the lane axis: of lane 0. Throws if an axis is bound anew of which an address knows the old value.
  void bind(int axis, ValueId index);
  // Splits a linear index into the axes, row-major, and binds them; extents become size parameters. The outermost takes
  // the whole quotient. What is indexed by just these axes as they lie is addressed by `linear` itself.
  void bind_linear(std::span<const int> axes, ValueId linear);
  ValueId axis_value(int axis) const;
  // Computes in this scope what the coming inner scope needs of these instructions but does not vary there:
  // partial addresses, scalar operands as vectors.
  void prepare(std::span<const Value> instrs);

  // --- values
  void set(Value v, ValueId value);  // gives a reduction's or carried value in this scope
  bool known(Value v) const;
  ValueId get(Value v);                                                // as it is: scalar, or vector if it varies
  ValueId vector(Value v);                                             // splat if scalar
  void emit(Value v);                                                  // computes it (or stores) here
  void emit_new(std::span<const Value> values);                        // those that are not known yet, and all stores
  ValueId position(ValueId index) { return cast(index, DType::I64); }  // as a value of the kernel
  ValueId position_of(Value v) { return place(instr(v)); }             // of a load or store; of lane 0
  ValueId inside(Value v) { return uniform_condition(v); }             // what its guards say of all lanes
  ValueId both(ValueId a, ValueId b);                                  // of masks

 private:
  static constexpr int kSubs = 128, kNoSub = kSubs - 1;
  struct Partial {
    ValueId value = kZero;  // so far
    uint64_t terms = 0;     // bit i: term i is in; bit 63: the constant is in
    bool apart = false;     // a term along a sub axis is in: holds for one sub-vector
  };
  // The position among several axes, as they were bound.
  struct Linear {
    Index index;
    ValueId value;
    int sub;        // kNoSub: for all sub-vectors
    int32_t scope;  // of what is known
  };
  // What is known in a scope, beside partial addresses; each by a key of its own.
  enum class Kind : int64_t {
    Value,  // key(v)
    Splat,
    Position,   // scaled computed positions, by value and scale
    Axis,       // axis * kSubs + sub
    Condition,  // of guards that are the same for all lanes
    LaneTerm,   // compound terms, one value a lane; by term_key
    RunLanes,   // of the vector's runs; by term_key, with the run's number as that of a term
    RunOffset,
  };
  // The size parameters of one index: its terms' coefficients by number, then these. Those of a load or store: the bounds
  // of its guards, then the size of its buffer.
  static constexpr int kSlots = 64, kLast = 59, kLength = 60, kScale = 61, kLaneStride = 62, kConstantPart = 63, kNumel = 63;
  static constexpr size_t kMostTerms = kLast;

  static constexpr int64_t key_of(Kind kind, int64_t key) { return static_cast<int64_t>(kind) << 58 | key; }
  // The innermost scope's; null if there is none.
  const ValueId* find(Kind kind, int64_t key) const {
    const auto* entry = known_.find(key_of(kind, key));
    return entry ? &entry->value : nullptr;
  }
  // In the innermost scope.
  ValueId note(Kind kind, int64_t key, ValueId value) {
    known_.set(key_of(kind, key), value);
    return value;
  }
  int64_t key(Value v) const { return int64_t{v} * kSubs + (apart(v) ? sub_ : 0); }
  bool is_sub_axis(int axis) const;
  bool in_an_address(int axis) const;  // of the current sub-vector
  int index_number(const Index& index);
  int64_t partial_key(const Index& index, int sub);
  int64_t term_key(int number, size_t term, DType type) const;  // of an index, for this lane axis and sub-vector
  int32_t coefficient_slot(int number, size_t term, int64_t value);
  Partial partial(const Index& index);  // extended as far as the bound axes allow
  int64_t axis_key(int axis) const { return key_of(Kind::Axis, axis * kSubs + (is_sub_axis(axis) ? sub_ : 0)); }
  bool is_bound(int axis) const { return known_.find(axis_key(axis)) != nullptr; }
  ValueId find_linear(const Index& index) const;                   // none if it is no linear index of bound axes
  ValueId product(int number, size_t t, const Index::Term& term);  // of term t of the index of that number, where it is bound
  ValueId shared_product(int number, size_t t, const Index::Term& term);
  // Whether the code knows that it is 1: along the lanes it decides how vectors are read.
  bool is_known_one(const Index::Term& term) const {
    const bool along_lanes = lane_axis_ >= 0 && (term.axis >= 0 ? term.axis == lane_axis_ : term.inner_index().depends_on(lane_axis_));
    return term.coefficient == 1 && (!any_numbers_ || along_lanes);
  }
  ValueId address(const Index& index);       // scalar; lane axis at lane 0
  ValueId scalar_index(const Index& index);  // what compound terms divide
  ValueId vector_index(const Index& index, DType type = DType::I64);
  // Whether no number of an index is a part of the code. A GPU divides by literals faster.
  bool numbers_are_sizes() { return builder_.tree().target == ir::TargetKind::Cpu; }
  ValueId number(int index, size_t term, int64_t value);
  // x / d, or the remainder; x is `of`, or the remainder of that, and at most so large.
  ValueId divide(ValueId x, const Index& of, int64_t most, int64_t d, bool remainder);
  ValueId term_value(const Index::Term& term, bool vector);
  ValueId compound(const Index::Term& term, ValueId inner, const Index& of, int64_t most);  // of a value that is not negative
  ValueId cast(ValueId x, DType type);                                                      // of an index: I64 or I32
  DType index_type() { return builder_.tree().index_type; }
  ValueId splat_index(ValueId x);
  ValueId condition(Value v, const std::vector<int>& guards, bool vector);
  struct Guards {
    std::vector<int> together, along;  // by number: the same for all lanes, or not
  };
  Guards split(Value v) const;
  ValueId bound(Value v, int number, int64_t value);
  ValueId uniform_condition(Value v);
  int64_t condition_key(Value v, const std::vector<int>& together) const;
  void prepare_guards(Value v);
  void prepare_lanes(const Instr& instr);              // of an access whose lanes are no equal steps apart
  void prepare_lanes(const Index& index, DType type);  // its compound terms that are known here
  ValueId load(Value v);
  void load_along(Value v, const std::vector<int>& guards, ValueId otherwise, ValueId result);
  ValueId load_clamped(const Instr& instr, ValueId at, ValueId numel);
  ValueId load_at(Value v, ValueId mask);
  // Lanes that are neighbours within lines: an index that grows by 1 with a position x along the lanes, but where x passes multiples of
  // `length`, as in x mod 14 + 16 * (x / 14); or lanes of a line that have one element, as in x / 14.
  struct LineRuns {
    Index position;
    int64_t length;
    int most;  // runs that the lanes of a vector may have
    bool one;  // element a line
  };
  struct Run {
    ValueId lanes;   // a mask; kAlways: all
    ValueId offset;  // of its lanes from where they were if the first lane's line went on; kNone: none
  };
  std::optional<LineRuns> line_runs(const Instr& instr) const;
  Run run(const Instr& instr, const LineRuns& runs, int number);
  void each_run(const Instr& instr, const LineRuns& runs, ValueId mask,
                const std::function<void(const Run& run, ValueId place, ValueId mask)>& f);
  // Where a load or store takes place, with the computed part: one position, or one a lane.
  ValueId place(const Instr& instr);
  ValueId places(const Instr& instr);
  ValueId scale_of(const Instr& instr);
  ValueId scaled_position(const Instr& instr);
  // The distance from lane to lane; not ok if it changes.
  Index::Stride lane_stride(const Instr& instr) const;
  void store(Value v);

  const ir::Kernel& kernel_;
  ir::TreeBuilder& builder_;
  std::vector<int64_t>& sizes_;
  int lane_axis_ = kNoAxis;
  int lanes_ = 1;
  int sub_ = 0;
  ValueId mask_ = kAlways;
  bool any_numbers_ = false, hides_power_ = false;
  int64_t least_item_of_lines_ = std::numeric_limits<int64_t>::max();
  std::vector<bool> varies_, apart_;
  std::unordered_map<Value, int64_t> ahead_;  // loads that prefetch, and how far
  std::vector<int> sub_axes_;
  ScopedMap<ValueId> known_;
  ScopedMap<Partial> partials_;  // by partial_key
  struct Product {
    ValueId factor, value;
  };
  ScopedMap<Product> products_;  // terms of addresses times their coefficients: number * kSlots + term
  std::vector<Linear> linear_;
  std::vector<Index> indices_;                      // numbered index expressions
  std::map<std::pair<DType, int>, int32_t> edges_;  // scratch for a vector on the edge of a buffer
  std::unordered_map<int64_t, int32_t> slots_;      // coefficient parameters: number * kSlots + term
  std::unordered_map<int, int32_t> extents_;        // extent parameters: by axis
  // The two parameters of a division of an index, by the index's number, the divisor, and whether it divides vectors.
  std::map<std::tuple<int, int64_t, bool>, std::pair<int32_t, int32_t>> divisors_;
};

}  // namespace tenon::passes
