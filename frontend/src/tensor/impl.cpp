// Tensors as views of storages: what they read, results of operations, writes, and elements for the host.
#include "frontend/src/tensor/impl.h"

#include <algorithm>
#include <cstring>

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/outside.h"
#include "frontend/src/tensor/pending.h"
#include "ir/graph/graph_infer.h"
#include "ir/graph/recipe.h"
#include "runtime/device/device.h"

namespace tenon {
namespace {

bool row_major(const Dims& sizes, const Dims& strides) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return true;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

}  // namespace

namespace detail {
void retain(TensorImpl* impl) noexcept { impl->retain(); }
void release(TensorImpl* impl, bool given_up) noexcept { impl->release(given_up); }
void give_up(TensorImpl* impl) noexcept { impl->give_up(); }
void take_back(TensorImpl* impl) noexcept { impl->take_back(); }
}  // namespace detail

// --- tensors

TensorImpl::TensorImpl(NodeRef value)
    : storage_(nullptr), sizes_(value->shape()), numel_(value->numel()), dtype_(value->dtype()), device_(value->device()) {
  strides_ = ir::contiguous_strides(sizes_);
  storage_ = new Storage(std::move(value));
  if (this_thread.capture && device_ != runtime::kHostTag && numel_ > 0) [[unlikely]]
    this_thread.capture->made(*storage_);
}

TensorImpl::TensorImpl(const TensorImpl& source, IntArrayRef sizes, IntArrayRef strides, int64_t offset)
    : storage_(source.storage_),
      sizes_(dims_of(sizes)),
      strides_(dims_of(strides)),
      offset_(offset),
      numel_(ir::element_count(sizes_)),
      dtype_(source.dtype_),
      device_(source.device_),
      contiguous_(row_major(sizes_, strides_)),
      inference_(source.inference_),
      own_versions_(source.own_versions_) {
  storage_->refs_.fetch_add(1, std::memory_order_relaxed);
  storage_->claim();
}

TensorImpl::TensorImpl(const TensorImpl& source, DType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset)
    : TensorImpl(source, sizes, strides, offset) {
  dtype_ = dtype;
}

TensorImpl::~TensorImpl() {
  notes = nullptr;
  leave_storage(wanted(handles_.load(std::memory_order_relaxed)) > 0);
}

void TensorImpl::leave_storage(bool claiming) {
  if (claiming && storage_->refs_.load(std::memory_order_relaxed) > 1) storage_->unclaim();
  storage_->leave();
}

void TensorImpl::retain() {
  if (wanted(handles_.fetch_add(1, std::memory_order_relaxed)) == 0) storage_->claim();
}

void TensorImpl::release(bool given_up) {
  if (static_cast<uint32_t>(handles_.load(std::memory_order_acquire)) == 1) {  // nobody else can make another
    delete this;
    return;
  }
  const uint64_t before = handles_.fetch_sub(given_up ? kGivenUp + 1 : 1, std::memory_order_acq_rel);
  if (static_cast<uint32_t>(before) == 1) {
    handles_.store(before, std::memory_order_relaxed);  // the destructor asks whether the last one was given up
    delete this;
  } else if (!given_up && wanted(before) == 1) {
    storage_->unclaim();
  }
}

void TensorImpl::give_up() {
  if (wanted(handles_.fetch_add(kGivenUp, std::memory_order_relaxed)) == 1) storage_->unclaim();
}

void TensorImpl::take_back() {
  if (wanted(handles_.fetch_sub(kGivenUp, std::memory_order_relaxed)) == 0) storage_->claim();
}

void TensorImpl::share(const TensorImpl& source) {
  source.storage_->refs_.fetch_add(1, std::memory_order_relaxed);
  source.storage_->claim();
  leave_storage(wanted(handles_.load(std::memory_order_relaxed)) > 0);
  storage_ = source.storage_;
  dtype_ = source.dtype_;
  device_ = source.device_;
  inference_ = source.inference_;
  own_versions_ = source.own_versions_;
  reshape(ref(source.sizes_), ref(source.strides_), source.offset_);
}

void TensorImpl::reshape(IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  Dims new_sizes = dims_of(sizes), new_strides = dims_of(strides);  // they may be its own
  sizes_ = std::move(new_sizes);
  strides_ = std::move(new_strides);
  offset_ = offset;
  numel_ = ir::element_count(sizes_);
  contiguous_ = row_major(sizes_, strides_);
}

void TensorImpl::separate_versions() { own_versions_ = std::make_shared<std::atomic<int64_t>>(0); }

namespace {

// The elements that a tensor over this memory shows now, as an input of its shape.
NodeRef snapshot(const TensorImpl& t, const runtime::Buffer& buffer) {
  const int64_t size = ir::item_size(t.dtype());
  auto own = allocate_buffer(static_cast<size_t>(t.numel() * size));
  const auto* memory = static_cast<const unsigned char*>(buffer.data());
  if (t.numel() > 0) gather_elements(t, memory + t.offset() * size, static_cast<unsigned char*>(own->data()));
  return ir::make_input(t.dtype(), t.sizes(), std::move(own));
}

// A copy of so many bytes takes about as long as recording an operation; an evaluation takes microseconds.
constexpr int64_t kCopiedBytes = 16 << 10;

}  // namespace

// Made anew at each call: a node kept here would keep the storage's old value alive after a write. As long as
// somebody reads the view, its node is found again in the table of nodes.
NodeRef TensorImpl::node() const {
  if (const Recorder* recorder = this_thread.recorder) {
    if (NodeRef operand = recorder->read(*this)) return operand;
  }
  NodeRef base = storage_->value();
  if (base->reads_volatile() && numel_ * ir::item_size(dtype_) <= kCopiedBytes) return snapshot(*this, *runtime::buffer_of(*base));
  if (base->dtype() != dtype_) base = retyped(base, dtype_);
  if (contiguous_ && offset_ == 0 && sizes_ == base->shape()) return base;
  return strided_view(base, ref(sizes_), ref(strides_), offset_);
}

// --- versions

VersionWatch::VersionWatch(const TensorImpl& t, int64_t version) : storage_(&t.storage()), own_(t.own_versions_), expected_(version) {
  storage_->refs_.fetch_add(1, std::memory_order_relaxed);
}
VersionWatch::VersionWatch(VersionWatch&& other) noexcept
    : storage_(std::exchange(other.storage_, nullptr)), own_(std::move(other.own_)), expected_(other.expected_) {}
VersionWatch& VersionWatch::operator=(VersionWatch&& other) noexcept {
  std::swap(storage_, other.storage_);
  std::swap(own_, other.own_);
  std::swap(expected_, other.expected_);
  return *this;
}
VersionWatch::~VersionWatch() {
  if (storage_) storage_->leave();
}
int64_t VersionWatch::current() const { return (own_ ? *own_ : storage_->version_).load(std::memory_order_relaxed); }

namespace {

// Counts one more recorded operation; true if it is time to evaluate.
bool past_caps(const ir::Node& node) { return !node.is_leaf() && count_work(1, static_cast<int64_t>(byte_count(node))); }

// No cap evaluates inside an operation that gradients need: that happens at its end.
bool evaluated_later() {
  if (this_thread.recorder) this_thread.recorder->evaluate_at_end();
  return this_thread.recorder != nullptr;
}

}  // namespace

Tensor record(NodeRef node) {
  node = storable(std::move(node));
  const bool full = past_caps(*node);
  Tensor result(new TensorImpl(std::move(node)), false);
  if (this_thread.recorder) this_thread.recorder->made(result);
  if (full && !evaluated_later()) eval(result);
  return result;
}

namespace {

// Whether dim a belongs inside dim b in memory: the first operand decides in which they differ. > 0 yes, < 0
// no.
int belongs_inside(std::span<const TensorImpl* const> operands, const Dims& shape, size_t a, size_t b) {
  for (const TensorImpl* t : operands) {
    if (!t) continue;
    const size_t missing = shape.size() - t->sizes().size();
    const auto stride = [&](size_t d) {
      const bool repeated = d < missing || (t->sizes()[d - missing] == 1 && shape[d] != 1);
      return repeated ? 0 : t->strides()[d - missing];
    };
    if (stride(a) == 0 || stride(b) == 0) continue;
    if (stride(a) != stride(b)) return stride(a) < stride(b) ? 1 : -1;
    if (shape[b] > shape[a]) return 1;
  }
  return 0;
}

}  // namespace

// By PyTorch's insertion sort, so that ties fall as they do there.
Dims order_in_memory(std::span<const TensorImpl* const> operands, const Dims& shape) {
  Dims order;
  for (size_t d = shape.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));  // innermost first
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t moved = i, j = i; j-- > 0;) {
      const auto inner = static_cast<size_t>(order[j]), outer = static_cast<size_t>(order[moved]);
      const int swaps = belongs_inside(operands, shape, outer, inner);
      if (swaps < 0) break;
      if (swaps == 0) continue;
      std::swap(order[j], order[moved]);
      moved = j;
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

namespace {

// The result of an operation with its dims in another order: the same formula over permuted operands. So
// (x.t() + 1) in the order of x is x + 1, and can be computed in the memory of x.
class Permuter {
 public:
  Permuter(const Dims& order, std::span<const TensorImpl* const> operands) : order_(order) {
    for (const TensorImpl* t : operands) {
      if (t) operands_.push_back(t->node());
    }
  }

  NodeRef operator()(const NodeRef& root) {
    const NodeRef result = rebuilt(root);
    return visited_ <= kMostNodes ? result : ir::permute(root, order_);
  }

 private:
  static constexpr int kMostNodes = 64;  // more than any formula has

  NodeRef rebuilt(const NodeRef& node) {
    for (const auto& [old, fresh] : done_) {
      if (old == node) return fresh;
    }
    if (++visited_ > kMostNodes) return node;
    NodeRef fresh = ends_at(node) ? ir::permute(node, order_) : with_operands_rebuilt(*node);
    done_.emplace_back(node, fresh);
    return fresh;
  }

  // What the operation did not make itself is taken as it is.
  bool ends_at(const NodeRef& node) const {
    return !ir::is_elementwise(node->op()) || node->holders.load(std::memory_order_relaxed) > 0 ||
           std::find(operands_.begin(), operands_.end(), node) != operands_.end();
  }

  NodeRef with_operands_rebuilt(const ir::Node& node) {
    std::vector<NodeRef> inputs;
    for (ir::Node* input : node.inputs()) inputs.push_back(rebuilt(NodeRef(input)));
    return visited_ > kMostNodes ? NodeRef() : ir::make_node(node.op(), inputs, node.ints(), node.dtype());
  }

  const Dims& order_;
  std::vector<NodeRef> operands_;
  std::vector<std::pair<NodeRef, NodeRef>> done_;
  int visited_ = 0;
};

NodeRef permuted(const NodeRef& node, const Dims& order, std::span<const TensorImpl* const> operands) {
  NodeRef formula;
  {
    const ir::PausedTape paused;
    formula = Permuter(order, operands)(node);
  }
  return ir::make_equal(formula, Op::Permute, {&node, 1}, order);
}

}  // namespace

Tensor record_in_order_of(NodeRef node, std::span<const TensorImpl* const> operands) {
  const Dims shape = node->shape();
  const Dims order = order_in_memory(operands, shape);
  if (node->numel() == 0 || std::is_sorted(order.begin(), order.end())) return record(std::move(node));
  Tensor result = record(permuted(node, order, operands));
  Dims strides = shape;
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    strides[d] = step;
    step *= shape[d];
  }
  impl(result).reshape(ref(shape), ref(strides), 0);
  if (ir::Tape* tape = ir::Tape::current) {
    const ir::PausedTape paused;
    tape->same(impl(result).node(), node);  // turned back
  }
  return result;
}

// --- writes

namespace {

void refuse_repeated_places(const TensorImpl& t) {
  for (size_t d = 0; d < t.sizes().size(); ++d) {
    check(t.strides()[d] != 0 || t.sizes()[d] <= 1 || t.numel() == 0,
          "unsupported operation: more than one element of the written-to tensor refers to a single memory "
          "location. Please clone() the tensor before performing the operation.");
  }
}

// each(row-major byte offset, byte offset in memory, bytes) of everything that a tensor shows.
template <typename Each>
void for_each_place(const TensorImpl& t, Each each) {
  const size_t size = ir::item_size(t.dtype());
  const int64_t step = size;
  if (t.contiguous()) {
    if (t.numel() > 0) each(int64_t{0}, int64_t{0}, size * at(t.numel()));
    return;
  }
  Dims index(t.sizes().size(), 0);
  int64_t place = 0;
  for (int64_t i = 0; i < t.numel(); ++i) {
    each(i * step, place * step, size);
    for (size_t d = index.size(); d-- > 0;) {
      place += t.strides()[d];
      if (++index[d] < t.sizes()[d]) break;
      place -= t.strides()[d] * t.sizes()[d];
      index[d] = 0;
    }
  }
}

// Memory that outsiders see is written now: they read it whenever they like.
void write_exposed(const TensorImpl& t, NodeRef value) {
  const auto target = runtime::buffer_of(*t.storage().value());
  Storage computed(unexposed(std::move(value)));
  const auto elements = computed.realise();
  t.storage().spare_readers();
  auto* first = static_cast<unsigned char*>(target->data()) + t.offset() * ir::item_size(t.dtype());
  scatter_elements(t, static_cast<const unsigned char*>(elements->data()), first);
}

// The storage takes a new value. It is counted as work unless it is the operation itself that was written.
void set_written(Storage& storage, NodeRef base, const NodeRef& operation) {
  base = storable(std::move(base));
  const bool full = !(base == operation) && past_caps(*base);
  if (this_thread.buffers) this_thread.buffers->add(storage, storage.value(), base);
  storage.set_value(std::move(base));
  if (full && !evaluated_later()) storage.realise();
}

}  // namespace

void scatter_elements(const TensorImpl& t, const unsigned char* in, unsigned char* memory) {
  for_each_place(t, [&](int64_t i, int64_t place, size_t size) { std::memcpy(memory + place, in + i, size); });
}
void gather_elements(const TensorImpl& t, const unsigned char* memory, unsigned char* out) {
  for_each_place(t, [&](int64_t i, int64_t place, size_t size) { std::memcpy(out + i, memory + place, size); });
}

namespace {
// PyTorch names the device that is not the host first.
void refuse_other_device(ir::DeviceTag own, ir::DeviceTag other) {
  if (own == runtime::kHostTag) std::swap(own, other);
  throw Error(text("Expected all tensors to be on the same device, but found at least two devices, ", device_with(own), " and ",
                   device_with(other), "!"));
}
[[maybe_unused]] const bool installed = (ir::refuse_devices = refuse_other_device) != nullptr;
}  // namespace

NodeRef replace_elements(TensorImpl& t, NodeRef value) {
  if (value->device() != t.device()) refuse_other_device(t.device(), value->device());
  Storage& storage = t.storage();
  refuse_repeated_places(t);
  if (t.numel() == 0) {
  } else if (t.device() == runtime::kHostTag && storage.exposed()) {
    write_exposed(t, value);
  } else {
    value = storable(std::move(value));
    NodeRef base = storage.value();
    const DType stored = base->dtype();
    const Dims shape = base->shape();
    const int64_t count = base->numel();
    if (t.contiguous() && t.numel() == count && t.dtype() == stored) {
      base = value;  // all of it
    } else {
      base = strided_write(retyped(base, t.dtype()), value, ref(t.sizes()), ref(t.strides()), t.offset());
      base = retyped(base, stored);
      if (base->numel() != count) base = ir::slice(base, Dims{0}, Dims{1}, Dims{count});
    }
    base = ir::reshape(std::move(base), shape);
    storage.exposed() ? replace_exposed(storage, std::move(base)) : set_written(storage, std::move(base), value);
  }
  t.bump_version();
  return value;
}

void replace_places(TensorImpl& t, const NodeRef& places, const NodeRef& values, Op op) {
  refuse_repeated_places(t);
  NodeRef base = t.storage().value();
  const Dims shape = base->shape(), flat{values->numel()};
  base = ir::reshape(base, Dims{base->numel()});
  const NodeRef at = ir::reshape(places, flat), elements = ir::reshape(values, flat);
  const bool overlaps = op == Op::Scatter && repeats_places(ref(t.sizes()), ref(t.strides()));
  base = overlaps ? scatter_last(base, at, elements) : ir::scatter(op, base, at, elements, 0);
  set_written(t.storage(), ir::reshape(base, shape), values);
  t.bump_version();
}

// --- evaluation

std::vector<NodeRef> pending_values(TensorList tensors) {
  std::vector<NodeRef> nodes;
  for (const Tensor& tensor : tensors) {
    NodeRef value = impl(tensor).storage().value();
    const bool done = value->op() == Op::Const || value->op() == Op::Iota || runtime::buffer_of(*value);
    if (!done && value->numel() > 0) nodes.push_back(std::move(value));
  }
  return nodes;
}

void eval(TensorList tensors) {
  const std::vector<NodeRef> nodes = pending_values(tensors);
  if (nodes.empty()) this_thread.pending = {};
  else evaluate_nodes(nodes);
}

void start_in_memory(const Tensor& constant) {
  if (!this_thread.capture) impl(constant).storage().realise();
}

Tensor tensor_from_buffer(DType dtype, IntArrayRef sizes, std::shared_ptr<runtime::Buffer> buffer) {
  const NodeRef node = ir::make_input(dtype, span_of(sizes), std::move(buffer));
  return Tensor(new TensorImpl(on_device(node, call_device())), false);
}

HostView host_view(const Tensor& tensor) {
  TensorImpl& t = impl(tensor);
  auto buffer = t.storage().realise();
  int64_t begin = 0, end = 0;  // of what it shows, in elements
  if (t.numel() > 0) {
    begin = t.offset();
    end = begin + 1;
    for (size_t d = 0; d < t.sizes().size(); ++d) end += (t.sizes()[d] - 1) * t.strides()[d];
  }
  const int64_t item = ir::item_size(t.dtype());
  HostElements elements = host_elements(std::move(buffer), at(begin * item), at(end * item));
  return {std::move(elements.owner), elements.data, t.sizes(), t.strides(), t.dtype()};
}

ir::Constant HostView::element(int64_t offset) const {
  const size_t size = ir::item_size(dtype);
  ir::Constant c{dtype, 0};
  std::memcpy(&c.bits, data + offset * static_cast<int64_t>(size), size);
  return c;
}

}  // namespace tenon
