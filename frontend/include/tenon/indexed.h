// Reading and writing at places that an index tensor names. Indices are checked at the call, which evaluates
// an index tensor whose range is not known otherwise. Included by tensor.h, which has the methods.
#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/array_ref.h"
#include "tenon/types.h"

namespace tenon {

class Tensor;

// --- reading
// result[i][j] = self[i][index[i][j]] for dim 1. The index has self's rank and may be shorter.
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad = false);
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);  // index: 1-d, int32 or int64
Tensor take(const Tensor& self, const Tensor& index);  // of the flattened self; negative ones from the end
Tensor take_along_dim(const Tensor& self, const Tensor& indices, optional<int64_t> dim = nullopt);

// --- where something holds: these sizes depend on values, so the mask is evaluated at the call
Tensor masked_select(const Tensor& self, const Tensor& mask);
Tensor nonzero(const Tensor& self);                     // [count, rank]
std::vector<Tensor> nonzero_numpy(const Tensor& self);  // one [count] for each dim
std::vector<Tensor> where(const Tensor& condition);     // nonzero_numpy
Tensor argwhere(const Tensor& self);

// --- writing: copies of self with some elements replaced or combined, in order where places repeat
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
               std::string_view reduce);  // "add", "multiply"
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
               std::string_view reduce);
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
// reduce: sum, prod, mean, amax, amin
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self = true);
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha = 1);
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value);  // 0-dim
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false);
// The places where the mask holds take source's elements, one after another.
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);

}  // namespace tenon
