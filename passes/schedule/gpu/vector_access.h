// Four neighbours along an axis that a thread takes together, so that memory moves them as one aligned vector: up to 16 bytes.
//
//   %v = load x[first] : f32x4
//   for l in 0..4 unroll { ... extract %v, l ...; store lanes[l], %w }
//   store y[first], load lanes[0] : f32x4
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

// Whether `count` elements at a multiple of so many along `axis` lie as one aligned vector, for which a guard says the same.
// `varies`: which values change along the axis.
bool lies_as_vector(const ir::Kernel& kernel, const Instr& instr, int axis, const std::vector<bool>& varies, int64_t count);
// The same, without a guard.
inline bool moves_as_vector(const ir::Kernel& kernel, const Instr& instr, int axis, const std::vector<bool>& varies,
                            int64_t count = kVector) {
  return instr.guards.empty() && lies_as_vector(kernel, instr, axis, varies, count);
}

class VectorAccess {
 public:
  // `lanes` neighbours, four or eight: eight halves are one vector, and so are four wider elements.
  explicit VectorAccess(Context& c, int64_t lanes = kVector) : c_(c), lanes_(lanes) {}
  // The value v of each of them is read here, together, or written after the last.
  void read(Value v, int32_t buffer, ValueId place);
  void is(Value v, std::vector<ValueId> vectors) { readings_.push_back({v, std::move(vectors)}); }  // read already
  void write(Value v, int32_t buffer, ValueId place);
  // The same of loads and stores, whose places begin at position `first` of the axis.
  void move(std::span<const Value> accesses, int axis, ValueId first);
  // body(k) for each, in scopes where the values read are known.
  void each(const std::function<void(ValueId k)>& body);

  // So many neighbours of a buffer, as one vector or two.
  static std::vector<ValueId> load(Context& c, int32_t buffer, ValueId place, int64_t lanes);

 private:
  struct Reading {
    Value value;
    std::vector<ValueId> vectors;
  };
  struct Writing {
    Value value;
    int32_t buffer, lanes;  // where they go, and where they stand until then
    ValueId place;
  };
  Context& c_;
  int64_t lanes_;
  std::vector<Reading> readings_;
  std::vector<Writing> writings_;
};

}  // namespace tenon::passes::gpu
