// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Reading and writing at places that an index tensor names. Indices are checked at the call, which evaluates
// an index tensor whose range is not known otherwise. Included by tensor.h, which has the methods.
#pragma once

#include "tenon/function_types.h"

namespace tenon {

// --- reading
// result[i][j] = self[i][index[i][j]] for dim 1. The index has self's rank and may be shorter.
Tensor gather(const Operand& self, int64_t dim, const Operand& index, bool sparse_grad = false);
Tensor index_select(const Operand& self, int64_t dim, const Operand& index);  // index: 1-d, int32 or int64
Tensor take(const Operand& self, const Operand& index);  // of the flattened self; negative ones from the end
Tensor take_along_dim(const Operand& self, const Operand& indices, optional<int64_t> dim = nullopt);

// --- where something holds: these sizes depend on values, so the mask is evaluated at the call
Tensor masked_select(const Operand& self, const Operand& mask);
Tensor nonzero(const Operand& self);  // [count, rank]
std::vector<Tensor> nonzero_numpy(const Operand& self);  // one [count] for each dim
std::vector<Tensor> where(const Operand& condition);  // nonzero_numpy
Tensor argwhere(const Operand& self);

// --- writing: copies of self with some elements replaced or combined, in order where places repeat
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Operand& src);
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Scalar& value);
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Operand& src,
               std::string_view reduce);  // "add", "multiply"
Tensor scatter(const Operand& self, int64_t dim, const Operand& index, const Scalar& value,
               std::string_view reduce);
Tensor scatter_add(const Operand& self, int64_t dim, const Operand& index, const Operand& src);
// reduce: sum, prod, mean, amax, amin
Tensor scatter_reduce(const Operand& self, int64_t dim, const Operand& index, const Operand& src,
                      std::string_view reduce, bool include_self = true);
Tensor index_add(const Operand& self, int64_t dim, const Operand& index, const Operand& source,
                 const Scalar& alpha = 1);
Tensor index_copy(const Operand& self, int64_t dim, const Operand& index, const Operand& source);
Tensor index_fill(const Operand& self, int64_t dim, const Operand& index, const Scalar& value);
Tensor index_fill(const Operand& self, int64_t dim, const Operand& index, const Operand& value);  // 0-dim
Tensor put(const Operand& self, const Operand& index, const Operand& source, bool accumulate = false);
// The places where the mask holds take source's elements, one after another.
Tensor masked_scatter(const Operand& self, const Operand& mask, const Operand& source);

}  // namespace tenon
