// Each part's view beside the place where it belongs.
#include "ir/call/join_parts.h"

namespace tenon::ir {

std::vector<JoinPart> join_parts(const Call& cat) {
  std::vector<JoinPart> parts;
  parts.reserve(cat.operands.size());
  for (const View& place : places_of_parts(cat)) {
    const size_t p = parts.size();
    const View& from = cat.operands[p];
    const Dims& shape = cat.shape(p);
    JoinPart& part = parts.emplace_back(JoinPart{from.buffer, from.scalar, from.offset, place.offset, {}});
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      const JoinPart::Dim dim{shape[d], from.strides[d], place.strides[d]};
      const bool continues =
          !part.dims.empty() && part.dims.back().from == dim.from * dim.extent && part.dims.back().to == dim.to * dim.extent;
      if (continues) part.dims.back() = {part.dims.back().extent * dim.extent, dim.from, dim.to};
      else part.dims.push_back(dim);
    }
  }
  return parts;
}

}  // namespace tenon::ir
