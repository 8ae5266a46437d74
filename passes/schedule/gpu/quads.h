// Four neighbours along an axis that a thread takes together, so that memory moves them as one aligned vector: up to 16 bytes.
//
//   %v = load x[first] : f32x4
//   for l in 0..4 unroll { ... extract %v, l ...; store lanes[l], %w }
//   store y[first], load lanes[0] : f32x4
#pragma once

#include <functional>
#include <vector>

#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

inline constexpr int64_t kQuad = 4;

// Whether four elements at a multiple of four along `axis` can move as one aligned vector, without a guard.
// `varies`: which values change along the axis.
bool moves_as_quad(const ir::Kernel& kernel, const Instr& instr, int axis, const std::vector<bool>& varies);

class Quads {
 public:
  explicit Quads(Context& c) : c_(c) {}
  // The value v of each of the four is read here, together, or written after the last.
  void read(Value v, int32_t buffer, ValueId place);
  void is(Value v, ValueId vector) { readings_.push_back({v, vector}); }  // read already
  void write(Value v, int32_t buffer, ValueId place);
  // body(k) for k of 0..4, in scopes where the values read are known.
  void each(const std::function<void(ValueId k)>& body);

 private:
  struct Reading {
    Value value;
    ValueId vector;
  };
  struct Writing {
    Value value;
    int32_t buffer, lanes;  // where they go, and where they stand until then
    ValueId place;
  };
  Context& c_;
  std::vector<Reading> readings_;
  std::vector<Writing> writings_;
};

}  // namespace tenon::passes::gpu
