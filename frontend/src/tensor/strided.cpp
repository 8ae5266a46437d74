// Strided views as nodes, for reading and for writing. A view is known by sizes, strides and offset alone.
//
//   base [4,6], sizes [2,3], strides [6,2], offset 7   ->   slice %base start [1,1] step [1,2] size [2,3]
//   base [2,3], sizes [3,2], strides [1,3]             ->   permute %base [1,0]
//   base [3],   sizes [4,3], strides [0,1]             ->   expand (reshape %base [1,3]) [4,3]
//   base [6],   sizes [5,2], strides [1,1]             ->   strided %base sizes [5,2] strides [1,1] offset 0
//   base [4,6] written at sizes [2,3], strides [6,2]   ->   update %base, %value strides [6,2] offset 0
#include <algorithm>
#include <numeric>

#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"

namespace tenon {
namespace {

struct ViewDim {
  int64_t size, stride;
  size_t position;  // in the view
};

using ViewDims = SmallVector<ViewDim, 6>;

// Dims with more than one element and their own memory, outermost (largest stride) first; equal ones in the view's
// order.
ViewDims memory_dims(IntArrayRef sizes, IntArrayRef strides) {
  ViewDims dims;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1 || strides[d] == 0) continue;
    size_t place = dims.size();
    while (place > 0 && dims[place - 1].stride < strides[d]) --place;
    dims.insert(place, {sizes[d], strides[d], d});
  }
  return dims;
}

// The view as one slice of the base in its own shape: each view dim steps along a different base dim. Null if
// it is not of that kind.
NodeRef slice_of_base(const NodeRef& base, const ViewDims& dims, int64_t offset) {
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

// The dims with each run of neighbours that is one run of places made one dim; never none.
ViewDims merged(const ViewDims& dims) {
  ViewDims result;
  for (const ViewDim& dim : dims) {
    if (!result.empty() && result.back().stride == dim.stride * dim.size) {
      result.back().size *= dim.size;
      result.back().stride = dim.stride;
    } else {
      result.push_back(dim);
    }
  }
  if (result.empty()) result.push_back({1, 1, 0});
  return result;
}

struct Places {
  Dims sizes, strides;
};
Places places_of(const ViewDims& dims) {
  Places places;
  for (const ViewDim& dim : dims) {
    places.sizes.push_back(dim.size);
    places.strides.push_back(dim.stride);
  }
  return places;
}

// Each dim steps over all that the dims inside it reach, so no place is met twice.
bool nest(const ViewDims& dims) {
  int64_t reach = 0;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i].stride <= reach) return false;
    reach += (dims[i].size - 1) * dims[i].stride;
  }
  return true;
}

// What a view shows of a base that was just written at the very same places, if that costs nothing to keep.
NodeRef written_there(const NodeRef& base, const Places& places, int64_t offset) {
  if (base->op() != Op::Update) return {};
  const auto held = ir::hold_graph();  // another thread may just compute the base
  if (base->op() != Op::Update) return {};
  const NodeRef value(base->inputs()[1]);
  Dims ints = places.strides;
  ints.push_back(offset);
  return value->is_leaf() && value->shape() == places.sizes && base->ints() == ints ? value : NodeRef();
}

// The elements in memory order, in any shape.
NodeRef elements_in_memory_order(const NodeRef& base, const ViewDims& dims, int64_t offset) {
  const ViewDims runs = merged(dims);
  const Places places = places_of(runs);
  if (offset == 0 && runs.size() == 1 && runs[0].stride == 1 && runs[0].size == base->numel()) return base;
  if (const NodeRef value = written_there(base, places, offset)) {
    Dims ints = places.sizes;
    for (const int64_t stride : places.strides) ints.push_back(stride);
    ints.push_back(offset);
    return ir::make_equal(value, Op::Strided, {&base, 1}, ints);
  }
  if (NodeRef slice = slice_of_base(base, dims, offset)) return slice;
  return ir::strided(base, places.sizes, places.strides, offset);
}

// The dims of a view in memory order (those of size 1 or stride 0 last), and where each of them went.
struct MemoryOrder {
  Dims dims, place;

  MemoryOrder(const ViewDims& memory, IntArrayRef sizes, IntArrayRef strides) : place(sizes.size(), 0) {
    for (const ViewDim& dim : memory) dims.push_back(static_cast<int64_t>(dim.position));
    if (std::is_sorted(dims.begin(), dims.end())) {
      dims.resize(sizes.size());
      std::iota(dims.begin(), dims.end(), int64_t{0});
    } else {
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] == 1 || strides[d] == 0) dims.push_back(static_cast<int64_t>(d));
      }
    }
    for (size_t i = 0; i < dims.size(); ++i) place[dims[i]] = static_cast<int64_t>(i);
  }
  bool is_that_of_the_view() const { return std::is_sorted(dims.begin(), dims.end()); }
};

NodeRef filled(DType dtype, int64_t value, const Dims& shape, const NodeRef& like) {
  return ir::make_const(ir::constant(dtype, value), shape, like->device());
}

// The memory from `offset` to the last place of a view, and the places of the view's elements in it, as numbers.
struct Window {
  Dims shape;
  NodeRef memory, places;
};
Window window_of(const NodeRef& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const Dims shape = dims_of(sizes);
  int64_t last = 0;
  NodeRef places = filled(DType::I64, 0, shape, base);
  for (size_t d = 0; d < shape.size(); ++d) {
    last += (shape[d] - 1) * strides[d];
    const NodeRef along = ir::make_iota(shape, static_cast<int64_t>(d), base->device());
    places = ir::binary(Op::Add, places, ir::binary(Op::Mul, along, filled(DType::I64, strides[d], shape, base)));
  }
  const Dims reach{last + 1};
  return {reach, strided_view(base, ref(reach), {1}, offset), ir::reshape(places, Dims{ir::element_count(shape)})};
}

}  // namespace

NodeRef scatter_last(const NodeRef& memory, const NodeRef& places, const NodeRef& values) {
  const NodeRef none = filled(DType::I64, -1, memory->shape(), memory), zero = filled(DType::I64, 0, memory->shape(), memory);
  const NodeRef number = ir::scatter(Op::Scatter, none, places, ir::make_iota(values->shape(), 0, memory->device()), 0);
  const NodeRef taken = ir::gather(values, ir::binary(Op::Max, number, zero), 0);
  return ir::where(ir::binary(Op::Lt, number, zero), memory, taken);
}

bool repeats_places(IntArrayRef sizes, IntArrayRef strides) {
  if (ir::element_count(span_of(sizes)) == 0) return false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d] == 0 && sizes[d] > 1) return true;
  }
  return !nest(memory_dims(sizes, strides));
}

NodeRef strided_view(const NodeRef& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const Dims result = dims_of(sizes);
  if (ir::element_count(result) == 0) return ir::make_const(ir::constant(base->dtype(), int64_t{0}), result, base->device());
  const ViewDims dims = memory_dims(sizes, strides);
  const NodeRef elements = elements_in_memory_order(base, dims, offset);
  const MemoryOrder order(dims, sizes, strides);
  Dims memory_shape;
  for (int64_t d : order.dims) {
    const size_t at = d;
    memory_shape.push_back(strides[at] == 0 ? 1 : sizes[at]);
  }
  // Two permutations would cancel here; but what a storage holds is computed once, what lies before it need
  // not be.
  const auto folding = base->op() == Op::Permute ? ir::Folding::Off : ir::Folding::On;
  const NodeRef shaped = ir::reshape(elements, memory_shape);
  if (order.is_that_of_the_view()) return ir::expand(shaped, result);
  return ir::expand(ir::make_node(Op::Permute, {&shaped, 1}, order.place, {}, folding), result);
}

NodeRef strided_write(const NodeRef& base, const NodeRef& value, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  if (value->numel() == 0) return base;
  const ViewDims dims = memory_dims(sizes, strides);
  if (!nest(dims)) {
    const Window w = window_of(base, sizes, strides, offset);
    const NodeRef written = scatter_last(w.memory, w.places, ir::reshape(value, Dims{value->numel()}));
    return strided_write(base, written, ref(w.shape), {1}, offset);
  }
  const ViewDims runs = merged(dims);
  const MemoryOrder order(dims, sizes, strides);
  const NodeRef elements = order.is_that_of_the_view() ? value : ir::permute(value, order.dims);
  const Places places = places_of(runs);
  if (offset == 0 && runs.size() == 1 && runs[0].stride == 1 && runs[0].size == base->numel()) return ir::reshape(elements, base->shape());
  return ir::update(base, ir::reshape(elements, places.sizes), places.strides, offset);
}

NodeRef strided_mean(const NodeRef& base, const NodeRef& value, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  if (!repeats_places(sizes, strides)) return strided_write(base, value, sizes, strides, offset);
  const Window w = window_of(base, sizes, strides, offset);
  const Dims count{value->numel()};
  const DType type = value->dtype();
  const NodeRef zero = filled(type, 0, w.shape, base), one = filled(type, 1, w.shape, base);
  const NodeRef sum = ir::scatter(Op::ScatterAdd, zero, w.places, ir::reshape(value, count), 0);
  const NodeRef number = ir::scatter(Op::ScatterAdd, zero, w.places, filled(type, 1, count, base), 0);
  const NodeRef mean = ir::binary(Op::Div, sum, ir::binary(Op::Max, number, one));
  return strided_write(base, ir::where(ir::binary(Op::Lt, number, one), w.memory, mean), ref(w.shape), {1}, offset);
}

// --- other element types

namespace {

DType bits_type(int item_size) {
  return item_size == 1 ? DType::U8 : item_size == 2 ? DType::I16 : item_size == 4 ? DType::I32 : DType::I64;
}

// Bool is no type of the bitcast, but its cast from and to u8 keeps the byte.
NodeRef same_size(const NodeRef& node, DType to) {
  if (node->dtype() == to) return node;
  if (node->dtype() == DType::Bool) return same_size(ir::cast(node, DType::U8), to);
  if (to == DType::Bool) return ir::cast(same_size(node, DType::U8), to);
  return ir::make_node(Op::Bitcast, {&node, 1}, {}, to);
}

NodeRef number_like(const NodeRef& node, int64_t value) {
  return ir::make_const(ir::constant(node->dtype(), value), node->shape(), node->device());
}

// [n] of a wide integer -> [n * ratio] of a narrow one, the low bits first.
NodeRef split_bits(const NodeRef& wide, DType narrow) {
  const int64_t ratio = ir::item_size(wide->dtype()) / ir::item_size(narrow);
  const Dims shape{wide->numel(), ratio};
  const NodeRef each = ir::expand(ir::reshape(wide, Dims{wide->numel(), 1}), shape);
  const NodeRef part = ir::cast(ir::make_iota(shape, 1, wide->device()), wide->dtype());
  const NodeRef bits = ir::binary(Op::Mul, part, number_like(part, 8 * ir::item_size(narrow)));
  return ir::reshape(ir::cast(ir::binary(Op::Shr, each, bits), narrow), Dims{wide->numel() * ratio});
}

// [n * ratio] of a narrow integer -> [n] of a wide one; a rest is filled up with zeros.
NodeRef join_bits(const NodeRef& narrow, DType wide) {
  const int bits = 8 * ir::item_size(narrow->dtype());
  const int64_t ratio = ir::item_size(wide) / ir::item_size(narrow->dtype());
  const int64_t count = (narrow->numel() + ratio - 1) / ratio;
  const NodeRef zero = ir::make_const(ir::constant(narrow->dtype(), int64_t{0}), Dims{}, narrow->device());
  const NodeRef padded = ir::pad(narrow, zero, Dims{0}, Dims{count * ratio - narrow->numel()});
  const NodeRef parts = ir::reshape(padded, Dims{count, ratio});
  NodeRef result;
  for (int64_t i = 0; i < ratio; ++i) {
    NodeRef part = ir::slice(parts, Dims{0, i}, Dims{1, 1}, Dims{count, 1});
    part = ir::cast(part, wide);
    part = ir::binary(Op::And, part, number_like(part, (int64_t{1} << bits) - 1));  // undo the sign extension
    part = ir::binary(Op::Shl, part, number_like(part, i * bits));
    result = result ? ir::binary(Op::Or, result, part) : part;
  }
  return ir::reshape(result, Dims{count});
}

}  // namespace

NodeRef retyped(const NodeRef& node, DType dtype) {
  const int from = ir::item_size(node->dtype()), to = ir::item_size(dtype);
  if (from == to) return same_size(node, dtype);
  const NodeRef bits = ir::reshape(same_size(node, bits_type(from)), Dims{node->numel()});
  return same_size(from > to ? split_bits(bits, bits_type(to)) : join_bits(bits, bits_type(to)), dtype);
}

}  // namespace tenon
