// What stands behind a Tensor. A storage has a current value, a node of the graph, that all its aliases
// share; a tensor is a strided view of it. An operation asks a tensor for its node and makes a new storage
// for the result.
//
//   Tensor -> TensorImpl {sizes, strides, offset} -> Storage {value: node, row-major} -> ir::Node -> Buffer
//
// A write replaces the storage's value by a new node; readers recorded before it keep the old one.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "ir/graph.h"
#include "runtime/buffer.h"
#include "tenon/tensor.h"

namespace tenon {

using ir::Dims;
using ir::DType;
using ir::NodeRef;
using ir::Op;

static_assert(static_cast<int>(ScalarType::Double) == static_cast<int>(DType::F64), "the two lists are one");
constexpr DType ir_type(ScalarType t) { return static_cast<DType>(t); }
constexpr ScalarType scalar_type(DType t) { return static_cast<ScalarType>(t); }
inline std::span<const int64_t> span_of(IntArrayRef a) { return {a.data(), a.size()}; }
inline IntArrayRef ref(const Dims& dims) { return {dims.data(), dims.size()}; }
inline Dims dims_of(IntArrayRef a) { return Dims(span_of(a)); }

struct History;

// A value that several tensors may alias. Thread-safe.
class Storage {
 public:
  explicit Storage(NodeRef value);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  NodeRef value() const;
  void set_value(NodeRef value);  // the same elements, or those of a write

  // Makes the value an Input with a buffer and returns the buffer: evaluates what is pending.
  std::shared_ptr<runtime::Buffer> realise();
  // As realise, and the memory belongs to this storage alone.
  std::shared_ptr<runtime::Buffer> own();
  // As own, for an address that is given away. From the first time on the memory stays where it is.
  std::shared_ptr<runtime::Buffer> expose();
  bool exposed() const;

 private:
  friend class TensorImpl;
  std::atomic<int32_t> refs_{1};
  mutable std::atomic_flag lock_;  // of value_ and of the view nodes of its tensors
  NodeRef value_;
};

class TensorImpl {
 public:
  explicit TensorImpl(NodeRef value);  // the whole of a new storage
  TensorImpl(const TensorImpl& source, IntArrayRef sizes, IntArrayRef strides, int64_t offset);  // a view
  ~TensorImpl();

  NodeRef node();  // this tensor's elements, in its own shape

  Storage& storage() const { return *storage_; }
  const Dims& sizes() const { return sizes_; }
  const Dims& strides() const { return strides_; }
  int64_t offset() const { return offset_; }
  int64_t numel() const { return numel_; }
  DType dtype() const { return dtype_; }
  bool contiguous() const { return contiguous_; }

  void share(const TensorImpl& source);  // shows what the source shows

  std::atomic<int32_t> refs{1};
  Tensor base;                       // of a view, the tensor that it shows; undefined if it stands for itself
  std::unique_ptr<History> history;  // of what autograd knows; see grad.h

 private:
  Storage* storage_;
  Dims sizes_, strides_;
  int64_t offset_ = 0, numel_;
  DType dtype_;
  bool contiguous_ = true;
  bool whole_ = true;              // has the shape of the storage's value, so its node is that value
  NodeRef view_base_, view_node_;  // the node of this view, made from that value
};

// The implementation behind a tensor, or an Error if it is undefined.
TensorImpl& impl(const Tensor& tensor);
inline NodeRef node_of(const Tensor& tensor) { return impl(tensor).node(); }

// A tensor of a recorded operation. Past the caps on pending work it is evaluated.
Tensor record(NodeRef node);
Tensor make_view(const Tensor& source, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
// Movement operations on `base` (a row-major value) that give the elements base[offset + sum(i_d *
// strides[d])].
NodeRef strided_view(const NodeRef& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset);

// Evaluates them in one graph, with the errors of the public API.
void evaluate_nodes(std::span<const NodeRef> nodes);
void set_pending_caps(int64_t nodes, int64_t bytes);

// The elements of an evaluated tensor in host memory.
struct HostView {
  std::shared_ptr<runtime::Buffer> owner;
  const unsigned char* data;  // the first element
  Dims sizes, strides;
  DType dtype;

  ir::Constant element(int64_t offset) const;  // offset in elements
};
HostView host_view(const Tensor& tensor);
std::shared_ptr<runtime::Buffer> allocate_buffer(size_t bytes);  // throws OutOfMemoryError

// A new tensor with the elements in `bytes`, row-major.
Tensor tensor_from_buffer(DType dtype, IntArrayRef sizes, std::shared_ptr<runtime::Buffer> buffer);

}  // namespace tenon
