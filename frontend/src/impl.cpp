// Storages and tensor implementations: sharing, evaluation, and the caps on pending work.
#include "impl.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "grad.h"
#include "runtime/evaluate.h"
#include "runtime/options.h"
#include "text.h"

namespace tenon {
namespace {

// Held for a handful of instructions: a mutex in every storage would cost more than what it guards.
class Locked {
 public:
  explicit Locked(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
      while (flag_.test(std::memory_order_relaxed)) {
      }
    }
  }
  ~Locked() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag& flag_;
};

// A constant costs nothing to make again, so holding one must not turn it into an output of other
// evaluations.
bool counts_holders(const NodeRef& node) { return node && node->op() != Op::Const; }
void hold(const NodeRef& node) {
  if (counts_holders(node)) node->holders.fetch_add(1, std::memory_order_relaxed);
}
void let_go(const NodeRef& node) {
  if (counts_holders(node)) node->holders.fetch_sub(1, std::memory_order_relaxed);
}

struct Caps {
  std::atomic<int64_t> nodes, bytes;
  Caps() {
    runtime::Options o = runtime::options();
    nodes = o.max_pending_nodes;
    bytes = o.max_pending_bytes;
  }
};
Caps& caps() {
  static Caps caps;
  return caps;
}

// Work recorded by this thread since it last evaluated. Counting recorded operations and not graph nodes cuts
// a steady loop at the same place each time round.
struct Pending {
  int64_t operations = 0, bytes = 0;
};
thread_local Pending pending;

void fill(void* data, int64_t count, int size, uint64_t bits) {
  auto* out = static_cast<unsigned char*>(data);
  if (bits == 0) {
    std::memset(out, 0, static_cast<size_t>(count) * static_cast<size_t>(size));
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * size, &bits, static_cast<size_t>(size));
}

NodeRef with_buffer(const ir::Node& like, std::shared_ptr<runtime::Buffer> buffer) {
  return ir::make_input(like.dtype(), like.shape(), std::move(buffer), like.device());
}

size_t byte_count(const ir::Node& node) {
  return static_cast<size_t>(node.numel() * ir::item_size(node.dtype()));
}

NodeRef copy_of(const ir::Node& node, const runtime::Buffer& buffer) {
  auto own = allocate_buffer(byte_count(node));
  std::memcpy(own->data(), buffer.data(), byte_count(node));
  return with_buffer(node, std::move(own));
}

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
void retain(TensorImpl* impl) noexcept { impl->refs.fetch_add(1, std::memory_order_relaxed); }
void release(TensorImpl* impl) noexcept {
  if (impl->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete impl;
}
}  // namespace detail

// --- storage
// ----------------------------------------------------------------------------------------------------------

Storage::Storage(NodeRef value) : value_(std::move(value)) { hold(value_); }
Storage::~Storage() { let_go(value_); }

NodeRef Storage::value() const {
  Locked guard(lock_);
  return value_;
}

void Storage::set_value(NodeRef value) {
  hold(value);
  {
    Locked guard(lock_);
    std::swap(value, value_);
  }
  let_go(value);
}

std::shared_ptr<runtime::Buffer> Storage::realise() {
  NodeRef node = value();
  if (auto buffer = runtime::buffer_of(*node)) return buffer;
  if (node->numel() == 0 || node->op() == Op::Const) {
    auto buffer = allocate_buffer(byte_count(*node));
    if (node->numel() > 0) fill(buffer->data(), node->numel(), ir::item_size(node->dtype()), node->bits());
    set_value(with_buffer(*node, buffer));
    return buffer;
  }
  evaluate_nodes({&node, 1});
  return runtime::buffer_of(*node);
}

std::shared_ptr<runtime::Buffer> Storage::own() {
  auto buffer = realise();
  NodeRef node = value();
  const bool shared_node = node->references() > 2;             // by others than this storage and `node`
  const bool shared_buffer = node->payload().use_count() > 2;  // the node's and `buffer`
  if (!shared_node && !shared_buffer) return buffer;
  node = copy_of(*node, *buffer);  // pending readers and other tensors keep the old memory
  buffer = runtime::buffer_of(*node);
  set_value(std::move(node));
  return buffer;
}

std::shared_ptr<runtime::Buffer> Storage::expose() {
  auto buffer = realise();
  if (buffer->exposed) return buffer;
  buffer = own();
  buffer->exposed = true;
  return buffer;
}

bool Storage::exposed() const {
  const auto buffer = runtime::buffer_of(*value());
  return buffer && buffer->exposed;
}

// --- tensors
// ----------------------------------------------------------------------------------------------------------

TensorImpl::TensorImpl(NodeRef value)
    : storage_(nullptr), sizes_(value->shape()), numel_(value->numel()), dtype_(value->dtype()) {
  strides_ = ir::contiguous_strides(sizes_);
  storage_ = new Storage(std::move(value));
}

TensorImpl::TensorImpl(const TensorImpl& source, IntArrayRef sizes, IntArrayRef strides, int64_t offset)
    : storage_(source.storage_),
      sizes_(dims_of(sizes)),
      strides_(dims_of(strides)),
      offset_(offset),
      numel_(ir::element_count(sizes_)),
      dtype_(source.dtype_),
      contiguous_(row_major(sizes_, strides_)) {
  storage_->refs_.fetch_add(1, std::memory_order_relaxed);
  whole_ = contiguous_ && offset == 0 && sizes_ == storage_->value()->shape();
}

TensorImpl::~TensorImpl() {
  if (storage_->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete storage_;
}

void TensorImpl::share(const TensorImpl& source) {
  source.storage_->refs_.fetch_add(1, std::memory_order_relaxed);
  if (storage_->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete storage_;
  storage_ = source.storage_;
  sizes_ = source.sizes_;
  strides_ = source.strides_;
  offset_ = source.offset_;
  numel_ = source.numel_;
  dtype_ = source.dtype_;
  contiguous_ = source.contiguous_;
  whole_ = source.whole_;
  view_base_ = view_node_ = {};
}

NodeRef TensorImpl::node() {
  Locked guard(storage_->lock_);
  const NodeRef& base = storage_->value_;
  if (whole_) return base;
  if (!(view_base_ == base)) {
    view_node_ = strided_view(base, ref(sizes_), ref(strides_), offset_);
    view_base_ = base;
  }
  return view_node_;
}

TensorImpl& impl(const Tensor& tensor) {
  if (!tensor.defined()) throw Error("tensor does not have a device");
  return *tensor.unsafe_impl();
}

Tensor record(NodeRef node) {
  const bool leaf = node->is_leaf();
  if (node->op() ==
      Op::Input) {  // an operation that changed nothing: its result must not see writes from outside
    if (auto buffer = runtime::buffer_of(*node); buffer && buffer->exposed) node = copy_of(*node, *buffer);
  }
  const int64_t bytes = node->numel() * ir::item_size(node->dtype());
  Tensor result(new TensorImpl(std::move(node)), false);
  if (GradScope* scope = GradScope::current()) scope->made(result);
  if (leaf) return result;
  pending.bytes += bytes;
  if (++pending.operations >= caps().nodes.load(std::memory_order_relaxed) ||
      pending.bytes >= caps().bytes.load(std::memory_order_relaxed)) {
    eval(result);
  }
  return result;
}

Tensor make_view(const Tensor& source, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  Tensor view(new TensorImpl(impl(source), sizes, strides, offset), false);
  adopt_view(source, view);
  return view;
}

// --- evaluation
// -------------------------------------------------------------------------------------------------------

void evaluate_nodes(std::span<const NodeRef> nodes) {
  pending = {};
  try {
    runtime::evaluate(nodes);
  } catch (const runtime::OutOfMemory& e) {
    throw OutOfMemoryError(e.what());
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("out of host memory while evaluating");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(e.what());
  }
}

void set_pending_caps(int64_t nodes, int64_t bytes) {
  caps().nodes = nodes;
  caps().bytes = bytes;
}

void eval(TensorList tensors) {
  std::vector<NodeRef> nodes;
  for (const Tensor& tensor : tensors) {
    NodeRef value = impl(tensor).storage().value();
    if (!value->is_leaf() && value->numel() > 0) nodes.push_back(std::move(value));
  }
  if (nodes.empty())
    pending = {};
  else
    evaluate_nodes(nodes);
}

std::shared_ptr<runtime::Buffer> allocate_buffer(size_t bytes) {
  try {
    return runtime::Buffer::allocate(bytes);
  } catch (const runtime::OutOfMemory& e) {
    throw OutOfMemoryError(e.what());
  }
}

Tensor tensor_from_buffer(DType dtype, IntArrayRef sizes, std::shared_ptr<runtime::Buffer> buffer) {
  return Tensor(new TensorImpl(ir::make_input(dtype, span_of(sizes), std::move(buffer))), false);
}

HostView host_view(const Tensor& tensor) {
  TensorImpl& t = impl(tensor);
  auto buffer = t.storage().realise();
  const auto* base = static_cast<const unsigned char*>(buffer->data());
  const int64_t skip = t.numel() == 0 ? 0 : t.offset() * ir::item_size(t.dtype());
  return {std::move(buffer), base + skip, t.sizes(), t.strides(), t.dtype()};
}

ir::Constant HostView::element(int64_t offset) const {
  const auto size = static_cast<size_t>(ir::item_size(dtype));
  ir::Constant c{dtype, 0};
  std::memcpy(&c.bits, data + offset * static_cast<int64_t>(size), size);
  return c;
}

}  // namespace tenon
