// torch::nn::functional, the functions without options, and pooling reversed. Included by tenon/nn/functional.h.
#pragma once

#include "tenon/neural.h"
#include "tenon/nn/options.h"

namespace tenon {
namespace nn {

template <size_t D, typename S>
struct MaxUnpoolArgs {
  MaxUnpoolArgs(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TENON_ARG_OF(S&, ExpandingArray<D>, kernel_size);
  TENON_ARG_OF(S&, ExpandingArray<D>, stride);
  TENON_ARG_OF(S&, ExpandingArray<D>, padding) = 0;
};
template <size_t D>
struct MaxUnpoolOptions : MaxUnpoolArgs<D, MaxUnpoolOptions<D>> {
  using MaxUnpoolArgs<D, MaxUnpoolOptions>::MaxUnpoolArgs;
};
using MaxUnpool1dOptions = MaxUnpoolOptions<1>;
using MaxUnpool2dOptions = MaxUnpoolOptions<2>;
using MaxUnpool3dOptions = MaxUnpoolOptions<3>;

namespace functional {

Tensor prelu(const Operand& input, const Operand& weight);
Tensor linear(const Operand& input, const Operand& weight, const Operand& bias = {});
Tensor bilinear(const Operand& input1, const Operand& input2, const Operand& weight, const Operand& bias = {});
Tensor one_hot(const Operand& tensor, int64_t num_classes = -1);
Tensor pdist(const Operand& input, double p = 2.0);
Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false);
Tensor smooth_l1_loss(const Operand& input, const Operand& target, const SmoothL1LossFuncOptions& options, double beta);

#define TENON_FUNCTION(D)                                                                                                                  \
  struct MaxUnpool##D##dFuncOptions : MaxUnpoolArgs<D, MaxUnpool##D##dFuncOptions> {                                                       \
    using MaxUnpoolArgs::MaxUnpoolArgs;                                                                                                    \
    MaxUnpool##D##dFuncOptions(const MaxUnpoolOptions<D>& o) : MaxUnpoolArgs(o.kernel_size()) { stride(o.stride()).padding(o.padding()); } \
    TENON_ARG(optional<std::vector<int64_t>>, output_size) = nullopt;                                                                      \
  };                                                                                                                                       \
  Tensor max_unpool##D##d(const Operand& input, const Operand& indices, const MaxUnpool##D##dFuncOptions& options);
TENON_FUNCTION(1)
TENON_FUNCTION(2)
TENON_FUNCTION(3)
#undef TENON_FUNCTION

}  // namespace functional
}  // namespace nn
}  // namespace tenon
