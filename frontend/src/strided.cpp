// Strided views as movement operations. A view is known by sizes, strides and offset alone; here it becomes
// nodes.
//
//   base [4,6], sizes [2,3], strides [6,2], offset 7   ->   slice %base start [1,1] step [1,2] size [2,3]
//   base [2,3], sizes [3,2], strides [1,3]             ->   permute %base [1,0]
//   base [3],   sizes [4,3], strides [0,1]             ->   expand (reshape %base [1,3]) [4,3]
#include <algorithm>
#include <numeric>

#include "impl.h"
#include "text.h"

namespace tenon {
namespace {

struct ViewDim {
  int64_t size, stride;
  size_t position;  // in the view
};

// Dims with more than one element and their own memory, outermost (largest stride) first.
std::vector<ViewDim> memory_dims(IntArrayRef sizes, IntArrayRef strides) {
  std::vector<ViewDim> dims;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1 && strides[d] != 0) dims.push_back({sizes[d], strides[d], d});
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [](const ViewDim& a, const ViewDim& b) { return a.stride > b.stride; });
  return dims;
}

// The view as one slice of the base in its own shape: each view dim steps along a different base dim. Null if
// it is not of that kind.
NodeRef slice_of_base(const NodeRef& base, const std::vector<ViewDim>& dims, int64_t offset) {
  const Dims& shape = base->shape();
  Dims starts(shape.size(), 0), steps(shape.size(), 1), sizes(shape.size(), 1);
  const Dims strides = ir::contiguous_strides(shape);
  size_t next = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    starts[d] = offset / strides[d];
    offset %= strides[d];
    if (next == dims.size() || dims[next].stride % strides[d] != 0 || shape[d] == 1) continue;
    steps[d] = dims[next].stride / strides[d];
    sizes[d] = dims[next++].size;
    if (starts[d] + (sizes[d] - 1) * steps[d] >= shape[d]) return {};
  }
  if (next != dims.size()) return {};
  return ir::slice(base, starts, steps, sizes);
}

// Any view whose dims nest: a window of the flat base is cut into rows, outermost stride first.
NodeRef slice_of_flat(const NodeRef& base, const std::vector<ViewDim>& dims, int64_t offset) {
  int64_t block = base->numel();
  NodeRef node = ir::reshape(base, Dims{block});
  Dims shape;  // of the dims already cut off
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    const auto [size, stride, position] = dims[i];
    int64_t span = 1;  // reach of the inner dims
    for (size_t j = i + 1; j < dims.size(); ++j) span += (dims[j].size - 1) * dims[j].stride;
    check(span <= stride, "cannot express an overlapping view");
    int64_t start = std::clamp<int64_t>(block - size * stride, 0, offset);
    if (offset - start + span > stride) start = offset;
    const int64_t window = size * stride;
    if (start + window > block) {
      Dims lo(shape.size() + 1, 0), hi(shape.size() + 1, 0);
      hi.back() = start + window - block;
      node = ir::pad(node, ir::make_const(ir::constant(node->dtype(), int64_t{0}), Dims{}), lo, hi);
    }
    Dims starts(shape.size() + 1, 0), steps(shape.size() + 1, 1), sizes = shape;
    starts.back() = start;
    sizes.push_back(window);
    node = ir::slice(node, starts, steps, sizes);
    shape.push_back(size);
    Dims cut = shape;
    cut.push_back(stride);
    node = ir::reshape(node, cut);
    offset -= start;
    block = stride;
  }
  Dims starts(shape.size() + 1, 0), steps(shape.size() + 1, 1), sizes = shape;
  starts.back() = offset;
  if (!dims.empty()) steps.back() = dims.back().stride;
  sizes.push_back(dims.empty() ? 1 : dims.back().size);
  return ir::slice(node, starts, steps, sizes);
}

}  // namespace

NodeRef strided_view(const NodeRef& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const Dims result = dims_of(sizes);
  if (ir::element_count(result) == 0) return ir::make_const(ir::constant(base->dtype(), int64_t{0}), result);
  const std::vector<ViewDim> dims = memory_dims(sizes, strides);

  int64_t dense = 1;
  bool covers = offset == 0;
  for (size_t i = dims.size(); i-- > 0;) {
    covers = covers && dims[i].stride == dense;
    dense *= dims[i].size;
  }
  NodeRef node = base;
  if (!covers || dense != base->numel()) {
    node = slice_of_base(base, dims, offset);
    if (!node) node = slice_of_flat(base, dims, offset);
  }

  // In memory order now; bring the dims of size 1 back, then the view's order, then the repeated dims.
  std::vector<size_t> order;
  for (const ViewDim& dim : dims) order.push_back(dim.position);
  if (std::is_sorted(order.begin(), order.end())) {
    order.resize(sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
  } else {
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1 || strides[d] == 0) order.push_back(d);
    }
  }
  Dims memory_shape, permutation(sizes.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    memory_shape.push_back(strides[order[i]] == 0 ? 1 : sizes[order[i]]);
    permutation[order[i]] = static_cast<int64_t>(i);
  }
  node = ir::reshape(node, memory_shape);
  node = ir::permute(node, permutation);
  return ir::expand(node, result);
}

}  // namespace tenon
