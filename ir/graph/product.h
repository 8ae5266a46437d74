// A product of matrices as nodes: a dot, or, where a side has one row or column, a product and a sum.
#pragma once

#include "ir/graph/graph.h"

namespace tenon::ir {

constexpr DType type_of_sums(DType dtype) { return is_half(dtype) ? DType::F32 : dtype; }

NodeRef swap_last_dims(const NodeRef& x);

// [N.., R, K] times [N.., 1, K], added up over k, to `shape`; 16-bit floats add up in float32. No register tile would have two
// sides, so this is a reduction along memory: of rows, or of columns where the columns lie along it.
NodeRef sum_of_products(const NodeRef& matrix, const NodeRef& line, bool along_rows, const Dims& shape);

struct ProductSides {
  bool right_is_transposed = false;  // the right operand is given as its transpose, [N.., L, K]
  bool left_along_rows = true;       // elements of the left operand that are neighbours in a row are so in memory, not those of a column
  bool right_along_columns = false;  // and of the right operand [N.., K, L] those of a column
};
// [N.., M, K] x [N.., K, L], none of which is 0.
NodeRef product(const NodeRef& left, const NodeRef& right, const ProductSides& sides = {});

}  // namespace tenon::ir
