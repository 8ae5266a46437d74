// What the GPU schedules of reductions share: which instructions each pass over a row computes, and how the
// state of a reduction (a value, or a value and its position) starts, takes an element and combines with
// another.
#pragma once

#include <vector>

#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

// A pass walks the row once. Pass p computes whatever needs the results of p reductions, one after another.
struct Pass {
  std::vector<ir::Value> reductions;  // whose operand is complete in this pass
  std::vector<ir::Value> full_stores;
  std::vector<ir::Value> row_stores;  // row values known before this pass
  std::vector<bool> row_values;       // everything at row level that its elements read
  std::vector<bool> store_values;     // everything that its row stores read
  std::vector<bool> full_values;      // everything to compute for an element, stores included
  std::vector<ir::Value> restored;    // element values kept by an earlier pass, not computed again
  std::vector<ir::Value> kept;        // element values that a later pass restores
  bool walks() const { return !reductions.empty() || !full_stores.empty(); }
};

// `keep` says whether element values survive from pass to pass; otherwise each pass starts from the loads.
std::vector<Pass> plan_passes(const ir::Kernel& kernel, bool keep);

// The state of one reduction: one value, for argmax and argmin a second one, its position (-1: no element
// yet).
using State = SmallVector<ir::ValueId, 2>;

struct Reducer {
  Context& context;
  ir::Op op;
  ir::DType dtype;  // of the elements
  bool has_position() const { return op == ir::Op::ArgMax || op == ir::Op::ArgMin; }
  SmallVector<ir::DType, 2> types() const;
  State identity() const;
  State combine(const State& a, const State& b) const;
  ir::ValueId result(const State& state) const { return state.back(); }
};
Reducer reducer(Context& context, ir::Value reduction);

// A buffer for each part of a state.
struct StateBuffer {
  SmallVector<int32_t, 2> buffers;
  State load(Context& context, ir::ValueId index) const;
  void store(Context& context, ir::ValueId index, const State& state) const;
};
StateBuffer state_buffer(Context& context, const Reducer& reducer, const std::string& name, ir::Space space,
                         int32_t size_param, int64_t count);

}  // namespace tenon::passes::gpu
