// What the GPU schedules of reductions share: which instructions each pass over a row computes.
#pragma once

#include <vector>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/reducer.h"

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

Reducer reducer(Context& context, ir::Value reduction);

}  // namespace tenon::passes::gpu
