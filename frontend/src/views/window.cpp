// Sliding windows as a strided reading; those that lie side by side as dims of their own.
#include "frontend/src/views/window.h"

#include <algorithm>

#include "frontend/src/tensor/text.h"

namespace tenon {

int64_t Window::fitting(bool ceil) const {
  const int64_t room = padded() - extent() + (ceil ? stride - 1 : 0);
  const int64_t steps = room >= 0 ? room / stride : -((-room + stride - 1) / stride);
  // A window of ceil mode must start inside the input or the padding before it.
  return ceil && steps * stride >= size + low ? steps : steps + 1;
}

namespace {

// Windows that lie side by side are parts of the dims.
bool lie_side_by_side(const Windows& dims) {
  return std::ranges::all_of(
      dims, [](const Window& w) { return w.dilation == 1 && w.stride == w.kernel && w.low == 0 && w.count * w.kernel <= w.size; });
}
NodeRef side_by_side(const NodeRef& x, const Windows& dims) {
  const size_t lead = x->shape().size() - dims.size();
  const Dims starts(x->shape().size(), 0), steps(x->shape().size(), 1);
  Dims covered(std::span(x->shape().data(), lead)), split = covered, order, counts;
  for (size_t d = 0; d < lead; ++d) order.push_back(static_cast<int64_t>(d));
  for (const Window& w : dims) {
    covered.push_back(w.count * w.kernel);
    counts.push_back(std::ssize(split));
    order.push_back(std::ssize(split) + 1);
    for (int64_t size : {w.count, w.kernel}) split.push_back(size);
  }
  order.append(counts.data(), counts.size());
  return ir::permute(ir::reshape(ir::slice(x, starts, steps, covered), split), order);
}

}  // namespace

NodeRef sliding_windows(const NodeRef& x, const Windows& dims, const ir::Constant& fill) {
  const size_t lead = x->shape().size() - dims.size();
  Dims lo(lead, 0), hi(lead, 0), sizes(std::span(x->shape().data(), lead));
  bool plain = true;  // each position is a window
  for (const Window& w : dims) {
    const int64_t reach = (w.count - 1) * w.stride + w.extent();  // what windows touch beyond the padding is padded too
    lo.push_back(std::max<int64_t>(w.low, 0));
    hi.push_back(std::max<int64_t>(reach - w.low - w.size, 0));
    sizes.push_back(w.kernel);
    plain = plain && w.kernel == 1 && w.count == w.size && w.low == 0 && w.stride == 1;
  }
  for (const Window& w : dims) sizes.push_back(w.count);
  if (ir::element_count(sizes) == 0 || x->numel() == 0) return ir::make_const(fill, sizes, x->device());
  if (plain) return ir::reshape(x, sizes);
  if (lie_side_by_side(dims)) return side_by_side(x, dims);
  const NodeRef padded = ir::pad(x, ir::make_const(fill, Dims{}, x->device()), lo, hi);
  const Dims strides = ir::contiguous_strides(padded->shape());
  Dims steps(std::span(strides.data(), lead));
  int64_t offset = 0;  // of windows that start inside
  for (size_t d = 0; d < dims.size(); ++d) offset += std::max<int64_t>(-dims[d].low, 0) * strides[lead + d];
  for (size_t d = 0; d < dims.size(); ++d) steps.push_back(strides[lead + d] * dims[d].dilation);
  for (size_t d = 0; d < dims.size(); ++d) steps.push_back(strides[lead + d] * dims[d].stride);
  return ir::strided(padded, sizes, steps, offset);
}

Dims per_dim(IntArrayRef values, size_t dims, const char* message) {
  check(values.size() == 1 || values.size() == dims, message);
  return values.size() == 1 ? Dims(dims, values[0]) : dims_of(values);
}

void check_extents(IntArrayRef values, const char* name) {
  for (int64_t v : values) check(v < (int64_t{1} << 31), name, " ", v, " is too large");
}

}  // namespace tenon
