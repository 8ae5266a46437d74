// The range of an index: from its node by interval arithmetic, or from its values.
#include "frontend/src/views/index_check.h"

#include <algorithm>
#include <limits>

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/tensor/transfer.h"
#include "runtime/cpu/index_bounds.h"
#include "runtime/device/device.h"

namespace tenon {
namespace {

using Range = std::pair<int64_t, int64_t>;
constexpr int kMaxDepth = 8;  // of the expression looked at; beyond it the values decide

Range united(Range a, Range b) { return {std::min(a.first, b.first), std::max(a.second, b.second)}; }

// The range of f over the corners, if none overflows.
template <typename F>
optional<Range> corners(Range a, Range b, F overflows) {
  optional<Range> result;
  for (int64_t x : {a.first, a.second}) {
    for (int64_t y : {b.first, b.second}) {
      int64_t value = 0;
      if (overflows(x, y, &value)) return nullopt;
      result = result ? united(*result, {value, value}) : Range{value, value};
    }
  }
  return result;
}

optional<Range> range_of(const ir::Node& node, int depth);

optional<Range> range_of_arithmetic(Op op, Range a, Range b) {
  switch (op) {
    case Op::Add: return corners(a, b, [](int64_t x, int64_t y, int64_t* r) { return __builtin_add_overflow(x, y, r); });
    case Op::Sub: return corners(a, b, [](int64_t x, int64_t y, int64_t* r) { return __builtin_sub_overflow(x, y, r); });
    case Op::Mul: return corners(a, b, [](int64_t x, int64_t y, int64_t* r) { return __builtin_mul_overflow(x, y, r); });
    case Op::Max: return Range{std::max(a.first, b.first), std::max(a.second, b.second)};
    case Op::Min: return Range{std::min(a.first, b.first), std::min(a.second, b.second)};
    case Op::Div:
      if (a.first < 0 || b.first <= 0) return nullopt;
      return Range{a.first / b.second, a.second / b.first};
    case Op::Rem:
      if (b.first <= 0) return nullopt;
      return Range{a.first < 0 ? 1 - b.second : 0, a.second < 0 ? 0 : std::min(a.second, b.second - 1)};
    default: return nullopt;
  }
}

optional<Range> range_of_all(const ir::Node& node, size_t first, size_t count, int depth) {
  optional<Range> result;
  for (size_t i = first; i < first + count; ++i) {
    const auto part = range_of(*node.inputs()[i], depth + 1);
    if (!part) return nullopt;
    result = result ? united(*result, *part) : *part;
  }
  return result;
}

optional<Range> range_of(const ir::Node& node, int depth) {
  const Op op = node.op();
  if (depth > kMaxDepth || ir::is_float(node.dtype()) || node.dtype() == DType::Bool) return nullopt;
  if (op == Op::Const) {
    const int64_t value = ir::to_int64({node.dtype(), node.bits()});
    return Range{value, value};
  }
  if (op == Op::Input) return transferred_range(node);
  if (op == Op::Copy) return range_of_all(node, 0, 1, depth);
  if (op == Op::Check && node.inputs()[1]->op() == Op::Const)
    return Range{0, std::max<int64_t>(ir::to_int64({DType::I64, node.inputs()[1]->bits()}), 1) - 1};
  if (op == Op::Iota) return Range{0, std::max<int64_t>(node.shape()[node.ints()[0]], 1) - 1};
  if (op == Op::Sort || op == Op::SortPart) return Range{0, std::max<int64_t>(node.inputs()[0]->shape()[node.ints()[0]], 1) - 1};
  if (op == Op::Nonzero) {
    int64_t longest = 1;
    for (int64_t size : node.inputs()[0]->shape()) longest = std::max(longest, size);
    return Range{0, longest - 1};
  }
  if (op == Op::ArgMax || op == Op::ArgMin) {
    int64_t count = 1;
    for (int64_t dim : node.ints()) count *= node.inputs()[0]->shape()[dim];
    return Range{0, std::max<int64_t>(count, 1) - 1};
  }
  if (op == Op::Gather) return range_of_all(node, 0, 1, depth);
  if (op == Op::Where) return range_of_all(node, 1, 2, depth);
  if (op == Op::Update) return range_of_all(node, 0, 2, depth);
  if (op == Op::Scatter) {
    const auto base = range_of(*node.inputs()[0], depth + 1), value = range_of(*node.inputs()[2], depth + 1);
    return base && value ? optional<Range>(united(*base, *value)) : nullopt;
  }
  if (ir::is_movement(op)) return range_of_all(node, 0, node.inputs().size(), depth);
  if (op == Op::Cast && node.dtype() == DType::I64) return range_of_all(node, 0, 1, depth);
  if (node.dtype() != DType::I64 || !ir::is_elementwise(op) || node.inputs().size() != 2) return nullopt;
  const auto a = range_of(*node.inputs()[0], depth + 1), b = range_of(*node.inputs()[1], depth + 1);
  return a && b ? range_of_arithmetic(op, *a, *b) : nullopt;
}

[[noreturn]] void fail(IndexUse use, int64_t index, int64_t size, int64_t dim) {
  switch (use) {
    case IndexUse::Line: throw IndexError("index out of range in self");
    case IndexUse::Target: throw IndexError(text("Target ", index, " is out of bounds."));
    case IndexUse::Take:
      check<IndexError>(size > 0, "take(): tried to take from an empty tensor");
      throw IndexError(text("out of range: tried to access index ", index, " on a tensor of ", size, " elements."));
    case IndexUse::Gather: throw Error(text("index ", index, " is out of bounds for dimension ", dim, " with size ", size));
    case IndexUse::Copy:
      throw IndexError(text("index_copy_(): index ", index, " is out of bounds for dimension ", dim, " with size ", size));
    case IndexUse::Subscript: check<IndexError>(size > 0, "index is out of bounds for dimension with size 0"); break;
    case IndexUse::Fill: break;
  }
  throw IndexError(text("index ", index, " is out of bounds for dimension ", dim, " with size ", size));
}

// The first element, in row-major order, outside lo..hi; none if all are inside. Also whether any is
// negative.
struct Scan {
  optional<int64_t> outside;
  bool negative = false;
};
Scan scan(const Tensor& index, int64_t lo, int64_t hi) {
  const Tensor dense = index.to(kLong).contiguous();
  const HostView view = host_view(dense);
  const auto* data = reinterpret_cast<const int64_t*>(view.data);
  const runtime::IndexBounds bounds = runtime::bounds_of(data, dense.numel(), lo, hi);
  if (!bounds.outside) return {nullopt, bounds.negative};
  return {runtime::first_outside(data, dense.numel(), lo, hi), bounds.negative};
}

}  // namespace

optional<std::pair<int64_t, int64_t>> known_range(const ir::Node& node) {
  const auto held = ir::hold_graph();  // another thread may just compute what it looks at
  return range_of(node, 0);
}

namespace {

bool counts_from_end(IndexUse use) { return use == IndexUse::Subscript || use == IndexUse::Fill || use == IndexUse::Take; }

std::string_view operation(IndexUse use) {
  switch (use) {
    case IndexUse::Gather: return "gather or scatter";
    case IndexUse::Line: return "index_select";
    case IndexUse::Fill: return "index_fill_";
    case IndexUse::Copy: return "index_copy_";
    case IndexUse::Take: return "take or put_";
    case IndexUse::Target: return "nll_loss";
    default: return "an index";
  }
}

// Who throws: no call of the program's shows where it is thrown.
std::string thrown_by(std::string_view operation, ir::DeviceTag device) {
  return text(" (", operation, " on ", runtime::name_of(device), ")");
}

// What `fail` says.
runtime::Device::IndexError late_error(ir::DeviceTag device, int64_t size, IndexUse use, int64_t dim) {
  const std::string by = thrown_by(operation(use), device);
  const int64_t wraps_at = counts_from_end(use) ? size : 0;
  if (use == IndexUse::Target) return {"Target ", " is out of bounds" + by, wraps_at};
  if (use == IndexUse::Take) return {"out of range: tried to access index ", text(" on a tensor of ", size, " elements", by), wraps_at};
  return {"index ", text(" is out of bounds for dimension ", dim, " with size ", size, by), wraps_at};
}

void* note_of(ir::DeviceTag tag, const runtime::Device::IndexError& error) {
  if (tag == runtime::kHostTag) return nullptr;
  runtime::Device& device = runtime::device_of(tag);
  return device.compiles(runtime::options()) ? device.note_of(error) : nullptr;
}

}  // namespace

void* index_note(ir::DeviceTag device, int64_t size, IndexUse use, int64_t dim) {
  return size == 0 ? nullptr : note_of(device, late_error(device, size, use, dim));
}
void* value_note(ir::DeviceTag device, std::string_view message, std::string_view operation, bool names) {
  return note_of(device, {std::string(message), thrown_by(operation, device), 0, names});
}

NodeRef checked_there(const NodeRef& index, int64_t size, void* note) {
  const auto splat = [&](uint64_t bits) { return ir::make_const({DType::I64, bits}, index->shape(), index->device()); };
  const NodeRef operands[] = {index, splat(static_cast<uint64_t>(size)), splat(reinterpret_cast<uint64_t>(note))};
  return ir::make_node(Op::Check, operands);
}

NodeRef noted_where(const NodeRef& x, const NodeRef& number, int64_t size, void* note) {
  const NodeRef zero = ir::make_const(ir::constant(x->dtype(), int64_t{0}), x->shape(), x->device());
  return ir::where(ir::binary(Op::Eq, checked_there(number, size, note), number), x, zero);
}
NodeRef noted_where(const NodeRef& x, const NodeRef& wrong, void* note) { return noted_where(x, ir::cast(wrong, DType::I64), 1, note); }

NodeRef checked_index(const Tensor& index, int64_t size, IndexUse use, int64_t dim) {
  const bool wraps = counts_from_end(use);
  const int64_t lo = wraps ? -size : 0, hi = size - 1;
  const Tensor own = impl(index).storage().exposed() ? index.clone() : index;
  bool negative = false;
  void* note = nullptr;
  const auto range = known_range(*node_of(own));
  if (range && range->first >= lo && range->second <= hi) {
    negative = range->first < 0;
  } else if (own.numel() > 0 && (note = index_note(impl(own).device(), size, use, dim))) {
    negative = wraps && (!range || range->first < 0);
  } else if (own.numel() > 0) {
    const Scan found = scan(own, lo, hi);
    if (found.outside) fail(use, *found.outside, size, dim);
    negative = found.negative;
  }
  NodeRef places = ir::cast(node_of(own), DType::I64);
  const auto splat = [&](int64_t value) { return constant_node(ir::constant(DType::I64, value), places->shape()); };
  if (negative) places = ir::where(ir::binary(Op::Lt, places, splat(0)), ir::binary(Op::Add, places, splat(size)), places);
  return note ? checked_there(places, size, note) : places;
}

}  // namespace tenon
