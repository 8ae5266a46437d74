// Subscripts: x.index({...}) on either side of an assignment. Integers, slices, None and "..." make a view.
// Tensors in the list then select places of the view's dims:
//
//   x [4,5,6], {rows, Slice(), mask[6]}:  view [4,5,6], selections {dim 0: rows}, {dim 2: places of the mask}
//
// Reading is a gather along the selected dims, merged to one and moved to the front; writing is a scatter
// along them, or, where they are not in front in memory, a scatter over the flat storage.
#include "tenon/indexing.h"

#include <algorithm>
#include <numeric>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/geometry.h"
#include "frontend/src/views/index_check.h"
#include "frontend/src/views/positions.h"
#include "tenon/creation.h"

namespace tenon {

using indexing::TensorIndex;
using Kind = TensorIndex::Kind;

indexing::Slice::Slice(optional<int64_t> start, optional<int64_t> stop, optional<int64_t> step) : step_(step.value_or(1)) {
  check<ValueError>(step_ != 0, "slice step cannot be zero");
  constexpr int64_t kLast = (int64_t{1} << 62) - 1, kFirst = -kLast - 1;  // as in LibTorch
  start_ = start.value_or(step_ < 0 ? kLast : 0);
  stop_ = stop.value_or(step_ < 0 ? kFirst : kLast);
}

namespace indexing {

std::ostream& operator<<(std::ostream& out, const Slice& slice) { return out << text(slice.start(), ':', slice.stop(), ':', slice.step()); }
std::ostream& operator<<(std::ostream& out, const TensorIndex& index) {
  switch (index.kind()) {
    case Kind::None: return out << "None";
    case Kind::Ellipsis: return out << "...";
    case Kind::Integer: return out << text(index.integer());
    case Kind::Boolean: return out << (index.boolean() ? "true" : "false");
    case Kind::Slice: return out << index.slice();
    case Kind::Tensor: return out << index.tensor();
  }
  return out;
}
std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices) {
  out << '(';
  for (size_t i = 0; i < indices.size(); ++i) out << (i ? ", " : "") << indices[i];
  return out << ')';
}

}  // namespace indexing

indexing::TensorIndex::TensorIndex(const char* dots) : kind_(Kind::Ellipsis) {
  check<TypeError>(std::string(dots) == "...", "Expected \"...\" to represent an ellipsis index, but got \"", dots, "\"");
}

namespace {

bool is_mask(const Tensor& index) { return index.scalar_type() == kBool || index.scalar_type() == kByte; }
void warn_of_bytes(const Tensor& mask) {
  if (mask.scalar_type() == kByte) warn_user("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
}

bool is_whole(const indexing::Slice& slice, int64_t size) { return slice.start() == 0 && slice.stop() >= size && slice.step() == 1; }

// A tensor among the indices, and the dims of the view that it speaks of.
struct Selection {
  Tensor index;
  int64_t dim, count;
  int64_t position;  // in the list, for messages
};

// What a list of indices means for a tensor: a view, and what is selected of it.
struct Subscript {
  Tensor view;
  std::vector<Selection> selections;
};

// --- the view

int64_t dims_taken(const TensorIndex& i) {
  switch (i.kind()) {
    case Kind::Integer:
    case Kind::Slice: return 1;
    case Kind::Tensor: return is_mask(i.tensor()) ? i.tensor().dim() : 1;
    default: return 0;
  }
}

class SubscriptReader {
 public:
  enum class For : uint8_t { Reading, Writing };  // all of x is read through a view, and written as x itself
  SubscriptReader(const Tensor& x, For use) : x_(x), g_(x), writes_(use == For::Writing) {}

  Subscript read(ArrayRef<TensorIndex> indices) {
    const int64_t rank = g_.rank();
    const bool lone = indices.size() == 1 && rank == 0;
    check<IndexError>(!lone || !indices[0].is_slice(), "slice() cannot be applied to a 0-dim tensor.");
    check<IndexError>(!lone || !indices[0].is_integer(),
                      "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                      "convert a 0-dim tensor to a number");
    int64_t taken = 0;
    for (const TensorIndex& i : indices) taken += dims_taken(i);
    check<IndexError>(taken <= rank, "too many indices for tensor of dimension ", rank);
    for (size_t i = 0; i < indices.size(); ++i) {
      position_ = static_cast<int64_t>(i);
      take(indices[i], rank - taken);
    }
    if (!viewed_ && (writes_ || !selections_.empty())) return {x_, std::move(selections_)};
    GradScope scope(grad_, x_);
    return {g_.view_of(x_), std::move(selections_)};
  }

 private:
  void take(const TensorIndex& i, int64_t skipped) {
    switch (i.kind()) {
      case Kind::None: return insert_dim(dim_++);
      case Kind::Ellipsis:
        dim_ += skipped;
        source_ += skipped;
        return;
      case Kind::Slice: return take_slice(i.slice());
      case Kind::Integer: return take_integer(i.integer());
      case Kind::Boolean: return take_flag(i.integer() != 0);
      case Kind::Tensor: return take_tensor(i.tensor());
    }
  }

  void insert_dim(int64_t dim) {
    did("UnsqueezeBackward0");
    g_.unsqueeze(dim);
  }

  void take_slice(const indexing::Slice& slice) {
    if (!is_whole(slice, g_.sizes[at(dim_)])) did("SliceBackward0");
    tenon::take_slice(g_, dim_++, slice.start(), slice.stop(), slice.step());
    ++source_;
  }

  void take_integer(int64_t index) {
    did("SelectBackward0");
    const int64_t size = g_.sizes[at(dim_)];
    check<IndexError>(index >= -size && index < size, "index ", index, " is out of bounds for dimension ", source_, " with size ", size);
    g_.select(dim_, wrap_index(index, size));
    ++source_;
  }

  // True and False select all or nothing of a new dim of size 1.
  void take_flag(bool holds) {
    insert_dim(dim_);
    select(holds ? zeros({1}, kLong) : empty({0}, kLong), 1);
  }

  void take_tensor(const Tensor& index) {
    const ScalarType type = index.scalar_type();
    const bool lone = index.dim() == 0;  // as a number
    check<IndexError>(lone ? isIntegralType(type, true) : type <= kByte || type == kInt || type == kLong,
                      "tensors used as indices must be long, int, byte or bool tensors");
    warn_of_bytes(index);
    if (!lone) {
      source_ += dims_taken(index);
      return select(index, dims_taken(index));
    }
    if (is_mask(index)) take_flag(index.item().toBool());
    else take_integer(index.item().toLong());
  }

  void select(const Tensor& index, int64_t count) {
    const ir::DeviceTag own = impl(x_).device(), given = impl(index).device();
    check(given == own || index.is_cpu(), "indices should be either on cpu or on the same device as the indexed tensor (", x_.device(),
          ")");
    selections_.push_back({given == own ? index : index.to(x_.device()), dim_, count, position_});
    dim_ += count;
  }

  void did(const char* grad) {
    grad_ = grad;
    viewed_ = true;
  }

  const Tensor& x_;
  Geometry g_;
  const bool writes_;
  std::vector<Selection> selections_;
  const char* grad_ = "AliasBackward0";
  bool viewed_ = false;
  int64_t dim_ = 0;     // in the view
  int64_t source_ = 0;  // in x, for messages
  int64_t position_ = 0;
};

// --- the places

// A selection as row-major places within its dims: i64, every element in range.
struct Chosen {
  NodeRef places;
  int64_t dim, count;
};

void check_mask_shape(const Tensor& view, const Selection& s) {
  for (int64_t d = 0; d < s.count; ++d) {
    check<IndexError>(s.index.size(d) == view.size(s.dim + d), "The shape of the mask ", s.index.sizes(), " at index ", d,
                      " does not match the shape of the indexed tensor ", view.sizes(), " at index ", s.dim + d);
  }
}

Chosen choose(const Tensor& view, const Selection& s) {
  if (!is_mask(s.index)) {
    return {checked_index(s.index, view.size(s.dim), IndexUse::Subscript, s.dim), s.dim, 1};
  }
  check_mask_shape(view, s);
  return {true_positions(s.index.to(kBool)), s.dim, s.count};
}

std::string shapes_text(const std::vector<Chosen>& chosen) {
  std::string shapes;
  for (const Chosen& c : chosen) shapes += (shapes.empty() ? "" : ", ") + text(ref(c.places->shape()));
  return shapes;
}

// Everything about the places that the selections choose together.
struct Choice {
  std::vector<Chosen> chosen;
  Dims shape;         // that the places broadcast to
  Dims order;         // of the view's dims: the selected ones first
  int64_t first = 0;  // where the places' dims stand in the result

  Dims rest(const Tensor& view) const {  // sizes of the dims that are not selected
    Dims sizes;
    for (size_t i = selected(); i < order.size(); ++i) sizes.push_back(view.size(order[i]));
    return sizes;
  }
  size_t selected() const {
    size_t count = 0;
    for (const Chosen& c : chosen) count += at(c.count);
    return count;
  }
};

// The selected dims are neighbours in the view, so their places stay where the dims were; else they go to the
// front.
bool adjacent(const std::vector<Chosen>& chosen) {
  for (size_t i = 1; i < chosen.size(); ++i) {
    if (chosen[i].dim != chosen[i - 1].dim + chosen[i - 1].count) return false;
  }
  return true;
}

Choice choice_of(const Subscript& s) {
  Choice c;
  for (const Selection& selection : s.selections) c.chosen.push_back(choose(s.view, selection));
  for (const Chosen& chosen : c.chosen) {
    const Dims& shape = chosen.places->shape();
    Dims merged(std::max(shape.size(), c.shape.size()), 1);
    for (size_t i = 0; i < merged.size(); ++i) {  // from the last dim
      const int64_t a = i < shape.size() ? shape[shape.size() - 1 - i] : 1;
      const int64_t b = i < c.shape.size() ? c.shape[c.shape.size() - 1 - i] : 1;
      check<IndexError>(a == b || a == 1 || b == 1, "shape mismatch: indexing tensors could not be broadcast together with shapes ",
                        shapes_text(c.chosen));
      merged[merged.size() - 1 - i] = a == 1 ? b : a;
    }
    c.shape = merged;
  }
  Dims others;
  std::vector<bool> selected(at(s.view.dim()));
  for (const Chosen& chosen : c.chosen) {
    for (int64_t d = chosen.dim; d < chosen.dim + chosen.count; ++d) {
      selected[at(d)] = true;
      c.order.push_back(d);
    }
  }
  for (int64_t d = 0; d < s.view.dim(); ++d) {
    if (!selected[at(d)]) c.order.push_back(d);
  }
  if (adjacent(c.chosen)) c.first = c.chosen[0].dim;
  return c;
}

NodeRef number(int64_t value, const Dims& shape) { return constant_node(ir::constant(DType::I64, value), shape); }
NodeRef plus(const NodeRef& a, const NodeRef& b) { return a ? ir::binary(Op::Add, a, b) : b; }
NodeRef times(const NodeRef& a, int64_t b) { return ir::binary(Op::Mul, a, number(b, a->shape())); }

// The place of each choice among the selected dims merged to one: i64 in the shape of the choice.
NodeRef merged_places(const Tensor& view, const Choice& c) {
  NodeRef result;
  int64_t step = 1;
  for (size_t i = c.chosen.size(); i-- > 0;) {
    const Chosen& chosen = c.chosen[i];
    result = plus(result, times(broadcast(chosen.places, ref(c.shape)), step));
    for (int64_t d = 0; d < chosen.count; ++d) step *= view.size(chosen.dim + d);
  }
  return result;
}

// From [places..., rest...] to the dims of the result: the places after `first` of the rest.
Dims result_order(const Choice& c, size_t rest) {
  Dims order;
  const size_t places = c.shape.size(), first = at(c.first);
  for (size_t i = 0; i < first; ++i) order.push_back(static_cast<int64_t>(places + i));
  for (size_t i = 0; i < places; ++i) order.push_back(static_cast<int64_t>(i));
  for (size_t i = first; i < rest; ++i) order.push_back(static_cast<int64_t>(places + i));
  return order;
}

Dims result_shape(const Tensor& view, const Choice& c) {
  Dims shape = c.rest(view);
  for (size_t i = 0; i < c.shape.size(); ++i) shape.insert(at(c.first) + i, c.shape[i]);
  return shape;
}

// The view as a matrix: a row for each place of the selected dims.
struct Matrix {
  NodeRef node;
  int64_t rows, columns;
};
Matrix selected_rows(const Tensor& view, const Choice& c) {
  const int64_t columns = ir::element_count(c.rest(view));
  int64_t rows = 1;
  for (size_t i = 0; i < c.selected(); ++i) rows *= view.size(c.order[i]);
  return {ir::reshape(ir::permute(node_of(view), c.order), Dims{rows, columns}), rows, columns};
}

NodeRef row_index(const Tensor& view, const Choice& c, int64_t columns) {
  const int64_t count = ir::element_count(c.shape);
  return ir::expand(ir::reshape(merged_places(view, c), Dims{count, 1}), Dims{count, columns});
}

// One mask over the first dims: x[mask], x[mask, 1:3].
bool is_leading_mask(const Subscript& s) {
  return s.selections.size() == 1 && s.selections[0].dim == 0 && is_mask(s.selections[0].index) && s.selections[0].count > 0 &&
         s.view.numel() > 0;
}

Counted counted_mask(const Subscript& s) {
  check_mask_shape(s.view, s.selections[0]);
  return count_true(s.selections[0].index.to(kBool));
}

Dims shape_where(const Subscript& s, int64_t count) {
  Dims shape{count};
  for (int64_t d = s.selections[0].count; d < s.view.dim(); ++d) shape.push_back(s.view.size(d));
  return shape;
}

Tensor selected_where(const Subscript& s) {
  const Counted mask = counted_mask(s);
  const Dims shape = shape_where(s, mask.count);
  if (mask.count == 0) return record(constant_node(ir::constant(ir_type(s.view.scalar_type()), int64_t{0}), shape));
  return record(ir::reshape(rows_where(mask, node_of(s.view)), shape));
}

// PyTorch saves indices; of masks it makes indices of its own.
void save_indices(GradScope& scope, const Subscript& s) {
  for (const Selection& selection : s.selections) {
    if (!is_mask(selection.index)) scope.saves(kReadsNothing, selection.index);
  }
}

Tensor selected(const Subscript& s) {
  GradScope scope("IndexBackward0", s.view);
  save_indices(scope, s);
  if (is_leading_mask(s)) return selected_where(s);
  const Choice c = choice_of(s);
  Dims shape = c.shape;
  const Dims rest = c.rest(s.view);
  shape.append(rest.data(), rest.size());
  checked_numel(ref(shape));
  if (ir::element_count(shape) == 0) {
    const DType type = ir_type(s.view.scalar_type());
    return record(constant_node(ir::constant(type, int64_t{0}), result_shape(s.view, c)));
  }
  const Matrix m = selected_rows(s.view, c);
  const NodeRef taken = ir::gather(m.node, row_index(s.view, c, m.columns), 0);
  return record(ir::permute(ir::reshape(taken, shape), result_order(c, rest.size())));
}

// --- writing

// x[mask] = one value needs no places.
bool is_masked_fill(const Subscript& s, int64_t value_count, bool accumulate) {
  return !accumulate && value_count == 1 && s.selections.size() == 1 && is_mask(s.selections[0].index);
}

void fill_where(const Subscript& s, const Tensor& value) {
  const Selection& mask = s.selections[0];
  check_mask_shape(s.view, mask);
  Tensor holds = mask.index.to(kBool);
  for (int64_t d = mask.dim + mask.count; d < s.view.dim(); ++d) holds = holds.unsqueeze(-1);
  s.view.masked_fill_(holds, value.reshape({}).to(s.view.scalar_type()));
}

Op scatter_op(ScalarType type, bool accumulate) { return !accumulate ? Op::Scatter : type == kBool ? Op::ScatterMax : Op::ScatterAdd; }

// The view is all of the storage and its selected dims lead: then rows of the storage are written.
bool selects_rows(const Tensor& view, const Choice& c) {
  return view.is_contiguous() && view.numel() == impl(view).storage().value()->numel() && std::is_sorted(c.order.begin(), c.order.end());
}

void write_rows(const Tensor& view, const Choice& c, const NodeRef& value, Op op) {
  const Matrix m = selected_rows(view, c);
  const NodeRef index = row_index(view, c, m.columns);
  const size_t rest = c.order.size() - c.selected();
  Dims back = result_order(c, rest), order(back.size(), 0);
  for (size_t i = 0; i < back.size(); ++i) order[at(back[i])] = static_cast<int64_t>(i);
  const NodeRef rows = ir::reshape(ir::permute(value, order), index->shape());
  const NodeRef written = ir::scatter(op, m.node, index, rows, 0);
  Dims shape, original(c.order.size(), 0);
  for (size_t i = 0; i < c.order.size(); ++i) {
    shape.push_back(view.size(c.order[i]));
    original[at(c.order[i])] = static_cast<int64_t>(i);
  }
  write(view, ir::permute(ir::reshape(written, shape), original));
}

// The places in the storage, in the shape of the result.
NodeRef storage_places(const Tensor& view, const Choice& c, const Dims& shape) {
  NodeRef place = number(view.storage_offset(), shape);
  const size_t selected = c.selected();
  for (size_t i = selected; i < c.order.size(); ++i) {
    size_t dim = i - selected;  // in the result
    if (dim >= at(c.first)) dim += c.shape.size();
    place = plus(place, times(iota_node(shape, static_cast<int64_t>(dim)), view.stride(c.order[i])));
  }
  Dims padded = c.shape;  // the dims of the choice, with those after them
  padded.resize(shape.size() - at(c.first), 1);
  for (const Chosen& chosen : c.chosen) {
    NodeRef left = broadcast(chosen.places, ref(c.shape));
    for (int64_t d = chosen.dim + chosen.count; d-- > chosen.dim;) {
      const NodeRef size = number(view.size(d), c.shape);
      const NodeRef along = d == chosen.dim ? left : ir::binary(Op::Rem, left, size);
      place = plus(place, broadcast(ir::reshape(times(along, view.stride(d)), padded), ref(shape)));
      if (d > chosen.dim) left = ir::binary(Op::Div, left, size);
    }
  }
  return place;
}

void check_fits(const Tensor& value, const Dims& shape) {
  bool fits = value.dim() <= std::ssize(shape);
  for (int64_t d = 1; fits && d <= value.dim(); ++d) fits = value.size(-d) == 1 || value.size(-d) == shape[shape.size() - at(d)];
  check(fits, "shape mismatch: value tensor of shape ", value.sizes(), " cannot be broadcast to indexing result of shape ", ref(shape));
}

void put_where(const Subscript& s, const Tensor& value) {
  const Counted mask = counted_mask(s);
  const Dims shape = shape_where(s, mask.count);
  check_fits(value, shape);
  if (mask.count == 0) return write_nothing(s.view);
  write(s.view, with_rows_where(mask, node_of(s.view), broadcast(node_of(value), ref(shape))));
}

void put(const Subscript& s, const Tensor& value, bool accumulate) {
  if (!accumulate && is_leading_mask(s)) return put_where(s, value);
  const Choice c = choice_of(s);
  const Dims shape = result_shape(s.view, c);
  checked_numel(ref(shape));
  check_fits(value, shape);
  if (ir::element_count(shape) == 0) return write_nothing(s.view);
  const Op op = scatter_op(s.view.scalar_type(), accumulate);
  const NodeRef values = broadcast(node_of(value), ref(shape));
  const Storage& storage = impl(s.view).storage();
  const bool through_storage = !selects_rows(s.view, c) && !storage.exposed() && storage.value()->dtype() == ir_type(s.view.scalar_type());
  if (through_storage) write_places(s.view, storage_places(s.view, c, shape), values, op);
  else write_rows(s.view, c, values, op);
}

// A value may have more dims than what it is written to, if they lead and have size 1.
Tensor without_leading_ones(const Tensor& value) {
  size_t ones = 0;
  while (ones < value.sizes().size() && value.sizes()[ones] == 1) ++ones;
  return ones == 0 ? value : value.view(value.sizes().slice(ones));
}

// Without tensors among the indices: the value over the view.
void set_view(const Tensor& view, const Tensor& value) {
  const Tensor source = view.sizes() == value.sizes() ? value : without_leading_ones(value);
  if (source.dim() == 0) view.fill_(source);
  else view.copy_(source.expand(view.sizes()));
}

Tensor& itself(const Tensor& self) { return const_cast<Tensor&>(self); }

Tensor& put_any(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& value, bool accumulate) {
  check(indices.size() > 0, "Passing an empty index list to Tensor::index_put_() is not valid syntax");
  if (impl(value).device() != impl(self).device()) {  // as copy_ takes it; beside index tensors only one number
    const bool selects = std::any_of(indices.begin(), indices.end(), [](const TensorIndex& i) { return i.is_tensor(); });
    if (selects && value.dim() > 0) check_same_device(self, value);
    const CallScope::On own(impl(self).device());
    return put_any(self, indices, value.to(self.device()), accumulate);
  }
  if (indices.size() == 1 && indices[0].is_boolean() && !accumulate) {
    if (indices[0].boolean()) set_view(self.unsqueeze(0), value);
    return itself(self);
  }
  const Subscript s = SubscriptReader(self, SubscriptReader::For::Writing).read(indices);
  if (s.selections.empty()) {
    if (accumulate) s.view.add_(value);
    else set_view(s.view, value);
    return itself(self);
  }
  if (is_masked_fill(s, value.numel(), accumulate)) {  // takes any dtype
    fill_where(s, value.to(self.scalar_type()));
    return itself(self);
  }
  check(value.scalar_type() == self.scalar_type(), "Index put requires the source and destination dtypes match, got ", self.scalar_type(),
        " for the destination and ", value.scalar_type(), " for the source.");
  GradScope scope("IndexPutBackward0", s.view, value);
  save_indices(scope, s);
  put(s, without_leading_ones(value), accumulate);
  return itself(self);
}

}  // namespace

Tensor index(const Operand& x, ArrayRef<TensorIndex> indices) {
  const CallScope call("index", x);
  check(indices.size() > 0, "Passing an empty index list to Tensor::index() is not valid syntax");
  const Subscript s = SubscriptReader(x, SubscriptReader::For::Reading).read(indices);
  return s.selections.empty() ? s.view : selected(s);
}

Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Operand& value, bool accumulate) const {
  const CallScope call("index_put_", *this, value);
  return put_any(*this, indices, value, accumulate);
}
Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Scalar& value, bool accumulate) const {
  const CallScope call("index_put_", *this, value);
  const bool view = std::none_of(indices.begin(), indices.end(), [](const TensorIndex& i) { return i.is_tensor() || i.is_boolean(); });
  if (view && indices.size() > 0 && !accumulate) {  // a number is cast as fill_ casts it
    SubscriptReader(*this, SubscriptReader::For::Writing).read(indices).view.fill_(value);
    return itself(*this);
  }
  return put_any(*this, indices, scalar_tensor(value, options()), accumulate);
}
Tensor detail::index_put(const Operand& self, ArrayRef<TensorIndex> indices, const Operand& value, bool accumulate) {
  const CallScope call("index_put", self, value);
  return self.clone().index_put_(indices, value, accumulate);
}
Tensor detail::subscript(const Operand& self, const Operand& index) { return tenon::index(self, {TensorIndex(index)}); }
Tensor& index_put_(const Operand& x, ArrayRef<TensorIndex> indices, const Operand& value, bool accumulate) {
  const CallScope call("index_put_", x, value);
  return put_any(x, indices, value, accumulate);
}
Tensor index_put(const Operand& x, ArrayRef<TensorIndex> indices, const Operand& value, bool accumulate) {
  const CallScope call("index_put", x, value);
  return detail::index_put(x, indices, value, accumulate);
}

}  // namespace tenon
