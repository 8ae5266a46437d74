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
#include <map>
#include <unordered_map>
#include <vector>

#include "ir/kernel.h"
#include "ir/looptree.h"

namespace tenon::passes {

// For each instruction of the kernel: whether its value changes along the axis (none if it is -1). A reduction along
// the axis itself ends in a scalar; one along other axes has a result for each point.
std::vector<bool> varying_along(const ir::Kernel& kernel, int axis);

class Nest {
 public:
  Nest(const ir::Kernel& kernel, ir::TreeBuilder& builder, std::vector<int64_t>& sizes);

  ir::TreeBuilder& b() { return builder_; }
  const ir::Kernel& kernel() const { return kernel_; }
  const ir::Instr& instr(ir::Value v) const { return kernel_.instr(v); }

  // --- sizes: numbers that are parameters of the tree
  int32_t size_slot(int64_t value);  // a fresh parameter with this value
  ir::ValueId size(int64_t value) { return builder_.size(size_slot(value)); }
  ir::ValueId extent(int axis);      // the axis's own parameter
  ir::ValueId literal(int64_t value) { return builder_.index_constant(value); }

  // --- vectors
  // From here on values that vary along `axis` are vectors of `lanes` elements at consecutive positions.
  void set_lane_axis(int axis, int lanes);
  int lanes() const { return lanes_; }
  int lanes(ir::Value v) const { return varies(v) ? lanes_ : 1; }
  bool varies(ir::Value v) const { return varies_[v]; }
  // Several vectors side by side keep their values apart by a sub-vector number. They are at different positions along
  // the lane axis (unrolled columns), or along the axes given here (unrolled short axes).
  void set_sub_axes(std::span<const int> axes);
  void set_sub(int sub) { sub_ = sub; }
  bool apart(ir::Value v) const { return apart_[v]; }  // each sub-vector has its own
  // Loads of v also ask for what lies `bytes` further on; for what comes from memory in several streams at once.
  void prefetch(ir::Value v, int64_t bytes) { ahead_[v] = bytes; }
  void set_mask(ir::ValueId mask) { mask_ = mask; }  // -1: every lane is live
  ir::ValueId mask() const { return mask_; }
  // lane l is live iff position + l < end
  ir::ValueId tail_mask(ir::ValueId position, ir::ValueId end);

  // --- scopes
  void push();
  void pop();
  // In the innermost scope; the lane axis: of lane 0. Throws if an axis is bound anew of which an address knows the old value.
  void bind(int axis, ir::ValueId index);
  // Splits a linear index into the axes, row-major, and binds them; extents become size parameters. The outermost takes
  // the whole quotient. What is indexed by just these axes as they lie is addressed by `linear` itself.
  void bind_linear(std::span<const int> axes, ir::ValueId linear);
  ir::ValueId axis_value(int axis) const;
  // Computes in this scope what the coming inner scope needs of these instructions but does not vary there:
  // partial addresses, scalar operands as vectors.
  void prepare(std::span<const ir::Value> instrs);

  // --- values
  void set(ir::Value v, ir::ValueId value);  // gives a reduction's or carried value in this scope
  bool known(ir::Value v) const;
  ir::ValueId get(ir::Value v);                         // as it is: scalar, or vector if it varies
  ir::ValueId vector(ir::Value v);                      // splat if scalar
  void emit(ir::Value v);                               // computes it (or stores) here
  ir::ValueId linear_index(std::span<const int> axes);  // row-major position in the product of bound axes
  ir::ValueId position(ir::ValueId index) { return cast(index, ir::DType::I64); }  // as a value of the kernel
  ir::ValueId position_of(ir::Value v) { return place(instr(v)); }  // of a load or store; of lane 0
  ir::ValueId inside(ir::Value v) { return uniform_condition(v); }  // what its guards say of all lanes; -1 if nothing

 private:
  static constexpr int kSubs = 128, kNoSub = kSubs - 1;
  struct Partial {
    ir::ValueId value = -1;   // -1: zero so far
    uint64_t terms = 0;       // bit i: term i is in; bit 63: the constant is in
    bool apart = false;       // a term along a sub axis is in: holds for one sub-vector
  };
  // The position among several axes, as they were bound.
  struct Linear {
    ir::Index index;
    ir::ValueId value;
    int sub;  // kNoSub: for all sub-vectors
  };
  struct Scope {
    std::unordered_map<int64_t, ir::ValueId> values;  // key(v)
    std::unordered_map<int64_t, ir::ValueId> splats;
    std::unordered_map<int64_t, Partial> partials;  // by partial_key
    std::unordered_map<int64_t, ir::ValueId> positions;  // scaled computed positions, by value and scale
    std::unordered_map<int, ir::ValueId> axes;      // axis * kSubs + sub
    std::vector<Linear> linear;
    std::unordered_map<int64_t, ir::ValueId> conditions;  // of guards that are the same for all lanes
    std::unordered_map<int64_t, ir::ValueId> lane_terms;  // compound terms, one value a lane; by term_key
  };
  // The size parameters of one index: its terms' coefficients by number, then these. Those of a load or store: the bounds
  // of its guards, then the size of its buffer.
  static constexpr int kSlots = 64, kScale = 61, kLaneStride = 62, kConstantPart = 63, kNumel = 63;
  static constexpr size_t kMostTerms = kScale;

  int64_t key(ir::Value v) const { return int64_t{v} * kSubs + (apart(v) ? sub_ : 0); }
  bool is_sub_axis(int axis) const;
  bool in_an_address(int axis) const;  // of the current sub-vector
  int index_number(const ir::Index& index);
  int64_t partial_key(const ir::Index& index, int sub);
  int64_t term_key(int number, size_t term, ir::DType type) const;  // of an index, for this lane axis and sub-vector
  int32_t coefficient_slot(int number, size_t term, int64_t value);
  Partial partial(const ir::Index& index);            // extended as far as the bound axes allow
  const ir::ValueId* find_bound(int axis) const;
  ir::ValueId find_axis(int axis) const {             // -1 if not bound
    const ir::ValueId* bound = find_bound(axis);
    return bound ? *bound : -1;
  }
  ir::ValueId find_linear(const ir::Index& index) const;  // -1 if it is no linear index of bound axes
  ir::ValueId address(const ir::Index& index);        // scalar; lane axis at lane 0
  ir::ValueId literal_index(const ir::Index& index);  // scalar, numbers as literals (inside compound terms)
  ir::ValueId vector_index(const ir::Index& index, bool literals, ir::DType type = ir::DType::I64);
  ir::ValueId term_value(const ir::Index::Term& term, bool vector);
  ir::ValueId floor_div_literal(ir::ValueId x, int64_t d);
  ir::ValueId cast(ir::ValueId x, ir::DType type);  // of an index: I64 or I32
  ir::DType index_type() { return builder_.tree().index_type; }
  ir::ValueId splat_index(ir::ValueId x);
  ir::ValueId condition(ir::Value v, const std::vector<int>& guards, bool vector);  // -1 if there is none
  struct Guards {
    std::vector<int> together, along;  // by number: the same for all lanes, or not
  };
  Guards split(ir::Value v) const;
  ir::ValueId bound(ir::Value v, int number, int64_t value);
  ir::ValueId uniform_condition(ir::Value v);
  int64_t condition_key(ir::Value v, const std::vector<int>& together) const;
  void prepare_guards(ir::Value v);
  void prepare_lanes(const ir::Index& index, ir::DType type);  // its compound terms that are known here
  // Runs the bodies under an if, each in a scope of its own; without an if where the condition is -1.
  void when(ir::ValueId condition, const std::function<void()>& body, const std::function<void()>& orelse = {});
  ir::ValueId load(ir::Value v);
  void load_along(ir::Value v, const std::vector<int>& guards, ir::ValueId otherwise, ir::ValueId result);
  ir::ValueId load_clamped(const ir::Instr& instr, ir::ValueId at, ir::ValueId numel);
  ir::ValueId load_at(ir::Value v, ir::ValueId mask);
  // Where a load or store takes place, with the computed part: one position, or one a lane.
  ir::ValueId place(const ir::Instr& instr);
  ir::ValueId places(const ir::Instr& instr);
  ir::ValueId scale_of(const ir::Instr& instr);
  ir::ValueId scaled_position(const ir::Instr& instr);
  // The distance from lane to lane; not ok if it changes.
  ir::Index::Stride lane_stride(const ir::Instr& instr) const;
  void store(ir::Value v);
  ir::ValueId both(ir::ValueId a, ir::ValueId b);  // conjunction of masks, -1 = true

  const ir::Kernel& kernel_;
  ir::TreeBuilder& builder_;
  std::vector<int64_t>& sizes_;
  int lane_axis_ = -1;
  int lanes_ = 1;
  int sub_ = 0;
  ir::ValueId mask_ = -1;
  std::vector<bool> varies_, apart_;
  std::unordered_map<ir::Value, int64_t> ahead_;  // loads that prefetch, and how far
  std::vector<int> sub_axes_;
  std::vector<Scope> scopes_;
  std::vector<ir::Index> indices_;              // numbered index expressions
  std::map<std::pair<ir::DType, int>, int32_t> edges_;  // scratch for a vector on the edge of a buffer
  std::unordered_map<int64_t, int32_t> slots_;  // coefficient parameters: number * kSlots + term
  std::unordered_map<int, int32_t> extents_;    // extent parameters: by axis
};

}  // namespace tenon::passes
