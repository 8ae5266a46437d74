// What a Cat copies, part by part, for whoever makes code or a loop of it.
#pragma once

#include <vector>

#include "ir/base/small_vector.h"
#include "ir/call/call.h"

namespace tenon::ir {

// The elements of one part. Neighbouring dims that are one run on both sides are one dim; all steps in `from` are 0 for a scalar.
struct JoinPart {
  struct Dim {
    int64_t extent, from, to;  // steps in elements
  };
  int32_t buffer, scalar;    // as in its View
  int64_t from, to;          // the first element's place there and in the result
  SmallVector<Dim, 2> dims;  // outermost first
};
std::vector<JoinPart> join_parts(const Call& cat);  // of all operands

}  // namespace tenon::ir
