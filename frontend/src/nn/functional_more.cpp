// torch::nn::functional, second part.
#include "tenon/nn/functional_more.h"

#include <algorithm>

#include "frontend/src/nn/call_options.h"
#include "frontend/src/nn/layer_text.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/nn/functional.h"
#include "tenon/random.h"

namespace tenon::nn::functional {
// --- sampling

Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners) {
  check(theta.is_floating_point(), "Expected theta to have floating point type, but got ", theta.dtype());
  check(size.size() == 4 || size.size() == 5,
        "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine "
        "transforms, respectively. Got size ",
        size);
  const auto dims = std::ssize(size) - 2;
  check(theta.dim() == 3 && theta.size(-2) == dims && theta.size(-1) == dims + 1, "Expected a batch of ", dims,
        "D affine matrices of shape Nx", dims, "x", dims + 1, " for size ", size, ". Got ", theta.sizes(), ".");
  check(*std::min_element(size.begin(), size.end()) > 0, "Expected non-zero, positive output size. Got ", size);
  return affine_grid_generator(theta, size, align_corners);
}

Tensor grid_sample(const Operand& input, const Operand& grid, const GridSampleFuncOptions& o) {
  const Tag mode = o.mode().tag(), padding = o.padding_mode().tag();
  return grid_sampler(input, grid,
                      mode == Tag::Bilinear  ? 0
                      : mode == Tag::Nearest ? 1
                                             : 2,
                      padding == Tag::Zeros    ? 0
                      : padding == Tag::Border ? 1
                                               : 2,
                      o.align_corners().value_or(false));
}

// --- embedding

Tensor embedding_bag(const Operand& input, const Operand& weight, const EmbeddingBagFuncOptions& o) {
  const Tensor& per_sample = o.per_sample_weights();
  check(!per_sample.defined() || input.sizes() == per_sample.sizes(), "embedding_bag: If per_sample_weights (",
        per_sample.defined() ? per_sample.sizes() : IntArrayRef(), ") is not null, then it must have the same shape as the input (",
        input.sizes(), ")");
  check(input.dim() == 1 || input.dim() == 2, "input has to be 1D or 2D Tensor, but got Tensor of dimension ", input.dim());
  Tensor offsets = o.offsets(), weights = per_sample;
  if (input.dim() == 2) {
    check(!offsets.defined(),
          "If input is 2D, then offsets has to be null, as input is treated is a mini-batch of fixed "
          "length sequences. However, found offsets of type Tensor");
  } else {
    check(offsets.defined(), "offsets has to be a 1D Tensor but got null");
    check(offsets.dim() == 1, "offsets has to be a 1D Tensor");
  }
  const Tag mode = o.mode().tag();
  if (mode == Tag::Max) {
    check(!o.scale_grad_by_freq(), "max mode does not support scaling the gradient by the frequency");
    check(!o.sparse(), "max mode does not support sparse weights");
  }
  if (o.max_norm()) {
    Tensor table = weight;
    embedding_renorm_(table, input, *o.max_norm(), o.norm_type());
  }
  check(!per_sample.defined() || mode == Tag::Sum,
        "embedding_bag: per_sample_weights was not null. per_sample_weights is only supported for "
        "mode='kSum' (got mode='",
        name_of(mode).libtorch, "').Please open a feature request on GitHub.");
  if (input.dim() == 2 && !o.padding_idx() && input.size(1) > 0) {  // bags of one size: a reduction, not a scatter
    const Tensor rows = tenon::embedding(weight, input, -1, o.scale_grad_by_freq(), o.sparse());
    if (mode == Tag::Max) return std::get<0>(max(rows, 1));
    if (mode == Tag::Mean) return mean(rows, 1);
    return sum(weights.defined() ? rows * weights.unsqueeze(-1) : rows, 1);
  }
  Tensor indices = input;
  if (input.dim() == 2) {
    offsets = arange(input.size(0), input.options().dtype(kLong)) * input.size(1);
    indices = reshape(input, {-1});
    if (weights.defined()) weights = reshape(weights, {-1});
  }
  return std::get<0>(tenon::embedding_bag(weight, indices, offsets, o.scale_grad_by_freq(),
                                          mode == Tag::Sum    ? 0
                                          : mode == Tag::Mean ? 1
                                                              : 2,
                                          o.sparse(), weights, o.include_last_offset(), o.padding_idx()));
}

// --- pooling

namespace {

struct FractionalPlan {
  std::vector<int64_t> output;
  Tensor samples;
};

// The output's size and the samples, computed or drawn where they are not given.
template <size_t D>
FractionalPlan fractional_plan(const Tensor& x, const FractionalMaxPoolOptions<D>& o) {
  const int64_t dims = D;
  check(o.output_size() || o.output_ratio(), "fractional_max_pool", D,
        "d requires specifying either an output_size or an "
        "output_ratio");
  check(x.dim() == dims + 1 || x.dim() == dims + 2, "fractional_max_pool", D, "d(): Expected ", D + 1, "D or ", D + 2,
        "D tensor, but got: ", x.sizes());
  FractionalPlan plan;
  for (size_t d = 0; d < D; ++d) {
    if (o.output_size()) {
      plan.output.push_back((*o.output_size())[d]);
      continue;
    }
    const double size = static_cast<double>(x.size(static_cast<int64_t>(d) - dims));
    plan.output.push_back(static_cast<int64_t>(size * (*o.output_ratio())[d]));
  }
  const int64_t batch = x.dim() == dims + 1 ? 1 : x.size(0);
  plan.samples =
      o._random_samples().defined() ? o._random_samples() : rand({batch, x.size(-dims - 1), dims}, x.options().requires_grad(false));
  return plan;
}

}  // namespace

#define TENON_DEFINE(D)                                                                                                              \
  std::tuple<Tensor, Tensor> fractional_max_pool##D##d_with_indices(const Operand& x, const FractionalMaxPool##D##dFuncOptions& o) { \
    const FractionalPlan plan = fractional_plan<D>(x, o);                                                                            \
    return tenon::fractional_max_pool##D##d(x, o.kernel_size(), plan.output, plan.samples);                                          \
  }                                                                                                                                  \
  Tensor fractional_max_pool##D##d(const Operand& x, const FractionalMaxPool##D##dFuncOptions& o) {                                  \
    return std::get<0>(fractional_max_pool##D##d_with_indices(x, o));                                                                \
  }
TENON_DEFINE(2)
TENON_DEFINE(3)
#undef TENON_DEFINE

// --- randomised activations

Tensor rrelu(Tensor x, const RReLUFuncOptions& o) {
  return o.inplace() ? tenon::rrelu_(x, o.lower(), o.upper(), o.training()) : tenon::rrelu(x, o.lower(), o.upper(), o.training());
}

Tensor gumbel_softmax(const Operand& logits, const GumbelSoftmaxFuncOptions& o) {
  const Tensor gumbels = -log(empty_like(logits).exponential_());
  const Tensor soft = tenon::softmax((logits + gumbels) / o.tau(), o.dim());
  if (!o.hard()) return soft;
  const Tensor index = std::get<1>(max(soft, o.dim(), true));
  const Tensor hard = zeros_like(logits).scatter_(o.dim(), index, Scalar(1.0));
  return hard - soft.detach() + soft;
}

// --- losses

Tensor triplet_margin_with_distance_loss(const Operand& anchor, const Operand& positive, const Operand& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& o) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return o.distance_function() ? (*o.distance_function())(a, b) : functional::pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (o.swap()) far = min(far, distance(positive, negative));
  const Tensor loss = clamp_min(near - far + o.margin(), 0);
  const int64_t reduction = reduction_of(o);
  return reduction == Reduction::Mean ? mean(loss) : reduction == Reduction::Sum ? sum(loss) : loss;
}

}  // namespace tenon::nn::functional
