// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Functions in which the elements along one dim meet: running sums, sorting, and what follows from an order.
// Included by tensor.h, which has the methods.
#pragma once

#include "tenon/function_types.h"

namespace tenon {

// --- running along a dim; sums and products of bools and integers are int64
Tensor cumsum(const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor cumprod(const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);
std::tuple<Tensor, Tensor> cummax(const Operand& self, int64_t dim);  // values, indices of the latest maximum
std::tuple<Tensor, Tensor> cummin(const Operand& self, int64_t dim);
Tensor logcumsumexp(const Operand& self, int64_t dim);

// --- sorting: always stable; nan is greater than every number
std::tuple<Tensor, Tensor> sort(const Operand& self, int64_t dim = -1, bool descending = false);
std::tuple<Tensor, Tensor> sort(const Operand& self, optional<bool> stable, int64_t dim = -1,
                                bool descending = false);
Tensor argsort(const Operand& self, int64_t dim = -1, bool descending = false);
Tensor argsort(const Operand& self, bool stable, int64_t dim, bool descending = false);
Tensor msort(const Operand& self);  // along dim 0
// The k largest (or smallest) values in order, and their indices.
std::tuple<Tensor, Tensor> topk(const Operand& self, int64_t k, int64_t dim = -1, bool largest = true,
                                bool sorted = true);
// The k-th smallest, counted from 1.
std::tuple<Tensor, Tensor> kthvalue(const Operand& self, int64_t k, int64_t dim = -1, bool keepdim = false);
Tensor median(const Operand& self);  // the lower of two middle elements; nan if any is
std::tuple<Tensor, Tensor> median(const Operand& self, int64_t dim, bool keepdim = false);
Tensor nanmedian(const Operand& self);  // of what is not nan
std::tuple<Tensor, Tensor> nanmedian(const Operand& self, int64_t dim, bool keepdim = false);
// The smallest of the most frequent values, and the index of its last occurrence.
std::tuple<Tensor, Tensor> mode(const Operand& self, int64_t dim = -1, bool keepdim = false);
// q in [0, 1]; a 1-d q gives the result a first dim. `interpolation` between two elements: linear, lower,
// higher, midpoint, nearest.
Tensor quantile(const Operand& self, double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                std::string_view interpolation = "linear");
Tensor quantile(const Operand& self, const Operand& q, optional<int64_t> dim = nullopt, bool keepdim = false,
                std::string_view interpolation = "linear");
Tensor nanquantile(const Operand& self, double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                   std::string_view interpolation = "linear");
Tensor nanquantile(const Operand& self, const Operand& q, optional<int64_t> dim = nullopt,
                   bool keepdim = false, std::string_view interpolation = "linear");

// --- sets and counts. The sizes of these results depend on values: the operand is evaluated at the call.
// Values in order, where each element went, how often each occurs. What was not asked for is empty.
std::tuple<Tensor, Tensor, Tensor> _unique2(const Operand& self, bool sorted = true,
                                            bool return_inverse = false, bool return_counts = false);
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Operand& self, bool return_inverse = false,
                                                      bool return_counts = false,
                                                      optional<int64_t> dim = nullopt);
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Operand& self, int64_t dim, bool sorted = true,
                                              bool return_inverse = false, bool return_counts = false);
// Counts in equal bins from min to max, of the data if both are 0; what lies outside is not counted.
Tensor histc(const Operand& self, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0);

// Counts (or sums of weights, or densities) in bins, and the bins' edges. `bins`: edges, ascending; or how many
// between the two ends of `range`, which are the data's unless given.
std::tuple<Tensor, Tensor> histogram(const Operand& self, const Operand& bins,
                                     const optional<Tensor>& weight = detail::no_tensor(),
                                     bool density = false);
std::tuple<Tensor, Tensor> histogram(const Operand& self, int64_t bins = 100,
                                     optional<ArrayRef<double>> range = nullopt,
                                     const optional<Tensor>& weight = detail::no_tensor(),
                                     bool density = false);
// How often each of 0, 1, ... occurs in a 1-d tensor of non-negative integers, which is evaluated at the call.
Tensor bincount(const Operand& self, const optional<Tensor>& weights = detail::no_tensor(),
                int64_t minlength = 0);

// --- places in a sorted sequence: the first that keeps the order (right: the last)
Tensor searchsorted(const Operand& sorted_sequence, const Operand& self, bool out_int32 = false,
                    bool right = false, optional<std::string_view> side = nullopt,
                    const optional<Tensor>& sorter = detail::no_tensor());
Tensor searchsorted(const Operand& sorted_sequence, const Scalar& self, bool out_int32 = false,
                    bool right = false, optional<std::string_view> side = nullopt,
                    const optional<Tensor>& sorter = detail::no_tensor());
Tensor bucketize(const Operand& self, const Operand& boundaries, bool out_int32 = false, bool right = false);
Tensor bucketize(const Scalar& self, const Operand& boundaries, bool out_int32 = false, bool right = false);

}  // namespace tenon
