// What stands behind a Tensor. A storage has a current value, a node of the graph, that all its aliases
// share; a tensor is a strided view of it. An operation asks a tensor for its node and makes a new storage
// for the result.
//
//   Tensor -> TensorImpl {sizes, strides, offset} -> Storage {value: node, row-major} -> ir::Node -> Buffer
//
// A write replaces the storage's value by a new node; readers recorded before it keep the old one. Nothing but
// the storage holds its value, so that whoever replaces it may compute in its memory.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "frontend/src/tensor/devices.h"
#include "frontend/src/tensor/storage.h"
#include "frontend/src/tensor/text.h"

namespace tenon {

static_assert(static_cast<int>(ScalarType::Double) == static_cast<int>(DType::F64), "the two lists are one");
constexpr DType ir_type(ScalarType t) { return static_cast<DType>(t); }
const char* dtype_name(ScalarType t);  // "uint8"
constexpr ScalarType scalar_type(DType t) { return static_cast<ScalarType>(t); }
bool fits_integer(const Scalar& value, ScalarType type);
double largest(ScalarType type);  // the greatest finite number of a float type
// The number as one element, where it stands for itself (fill_, a bound, alpha). Error if it does not fit:
// "value cannot be converted to type uint8_t without overflow".
ir::Constant element_of(const Scalar& value, ScalarType type);
// The number as an operand that promotes: integers wrap, floats become infinite.
ir::Constant wrapped(const Scalar& value, DType type);
inline std::span<const int64_t> span_of(IntArrayRef a) { return {a.data(), a.size()}; }
inline IntArrayRef ref(const Dims& dims) { return {dims.data(), dims.size()}; }
inline Dims dims_of(IntArrayRef a) { return Dims(span_of(a)); }

// What else is kept with a tensor: autograd's History.
class TensorNotes {
 public:
  virtual ~TensorNotes() = default;
};

class TensorImpl {
 public:
  explicit TensorImpl(NodeRef value);                                                            // the whole of a new storage
  TensorImpl(const TensorImpl& source, IntArrayRef sizes, IntArrayRef strides, int64_t offset);  // a view
  TensorImpl(const TensorImpl& source, DType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  ~TensorImpl();

  NodeRef node() const;  // this tensor's elements, in its own shape

  Storage& storage() const { return *storage_; }
  const Dims& sizes() const { return sizes_; }
  const Dims& strides() const { return strides_; }
  int64_t offset() const { return offset_; }
  int64_t numel() const { return numel_; }
  DType dtype() const { return dtype_; }
  ir::DeviceTag device() const { return device_; }
  bool contiguous() const { return contiguous_; }
  bool inference() const { return inference_; }  // see InferenceMode
  int64_t version() const { return versions().load(std::memory_order_relaxed); }
  void bump_version() { versions().fetch_add(1, std::memory_order_relaxed); }

  void share(const TensorImpl& source);                                  // shows what the source shows
  void reshape(IntArrayRef sizes, IntArrayRef strides, int64_t offset);  // another view of its storage
  void separate_versions();  // counts its writes and those of its views apart from the storage's

  // Handles, and how many of them are given up (see Operand in tensor.h). While all are, the tensor does not claim its
  // storage's value.
  void retain();
  void release(bool given_up);
  void give_up();
  void take_back();
  bool has_one_handle() const { return static_cast<uint32_t>(handles_.load(std::memory_order_relaxed)) == 1; }

  Tensor base;  // of a view, the tensor that it shows, of which it wants no value; undefined if it stands for itself
  std::unique_ptr<TensorNotes> notes;

 private:
  static constexpr uint64_t kGivenUp = uint64_t{1} << 32;  // a handle given up in the high half, a handle in the low one
  void leave_storage(bool claiming);
  static uint64_t wanted(uint64_t handles) { return (handles & (kGivenUp - 1)) - (handles >> 32); }

  std::atomic<uint64_t> handles_{1};
  Storage* storage_;
  Dims sizes_, strides_;
  int64_t offset_ = 0, numel_;
  DType dtype_;
  ir::DeviceTag device_;  // of its storage
  bool contiguous_ = true;
  bool inference_ = this_thread.inference_mode;
  std::shared_ptr<std::atomic<int64_t>> own_versions_;  // null: the storage's

  friend class VersionWatch;
  std::atomic<int64_t>& versions() const { return own_versions_ ? *own_versions_ : storage_->version_; }
};

// Whether a tensor was written since. Does not claim its value.
class VersionWatch {
 public:
  VersionWatch() = default;  // of nothing: never written
  explicit VersionWatch(const TensorImpl& t) : VersionWatch(t, t.version()) {}
  VersionWatch(const TensorImpl& t, int64_t version);
  VersionWatch(VersionWatch&& other) noexcept;
  VersionWatch& operator=(VersionWatch&& other) noexcept;
  ~VersionWatch();

  int64_t expected() const { return expected_; }
  int64_t current() const;
  bool is_of(const TensorImpl& t) const { return storage_ == &t.storage(); }
  bool written() const { return storage_ && current() != expected_; }

 private:
  Storage* storage_ = nullptr;
  std::shared_ptr<std::atomic<int64_t>> own_;
  int64_t expected_ = 0;
};

// The implementation behind a tensor, or an Error if it is undefined.
inline TensorImpl& impl(const Tensor& tensor) {
  check_defined(tensor);
  return *tensor.unsafe_impl();
}
inline NodeRef node_of(const Tensor& tensor) { return impl(tensor).node(); }

// A tensor of a recorded operation. Past the caps on pending work it is evaluated.
Tensor record(NodeRef node);
// The dims of an elementwise result from the outermost to the innermost in memory, as the operands have them.
Dims order_in_memory(std::span<const TensorImpl* const> operands, const Dims& shape);
// A tensor of an elementwise operation on these tensors and numbers: the order of its dims in memory is theirs.
Tensor record_in_order_of(NodeRef node, std::span<const TensorImpl* const> operands);
inline const TensorImpl* operand_impl(const Tensor& x) { return x.unsafe_impl(); }
inline const TensorImpl* operand_impl(const optional<Tensor>& x) { return x ? x->unsafe_impl() : nullptr; }
inline const TensorImpl* operand_impl(const Scalar&) { return nullptr; }
template <typename... Operands>
Tensor record(NodeRef node, const Operands&... operands) {
  const TensorImpl* const all[] = {operand_impl(operands)...};
  for (const TensorImpl* t : all) {
    if (t && !t->contiguous() && t->sizes().size() > 1) return record_in_order_of(std::move(node), all);
  }
  return record(std::move(node));
}
// Does one place in memory hold several elements?
bool repeats_places(IntArrayRef sizes, IntArrayRef strides);
// Movement operations on `base` (a row-major value) that give the elements base[offset + sum(i_d *
// strides[d])].
NodeRef strided_view(const NodeRef& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
// The base with these elements replaced by `value`, whose shape is `sizes`; where places coincide the last
// wins.
NodeRef strided_write(const NodeRef& base, const NodeRef& value, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
// Flat memory with the values at these places. Each place takes the last of its values, by the value's number: so those that are
// overwritten have no gradient, as they would in a plain scatter.
NodeRef scatter_last(const NodeRef& memory, const NodeRef& places, const NodeRef& values);
// As strided_write, of elements that are equal where their places coincide: each has an equal part of the place's gradient.
NodeRef strided_mean(const NodeRef& base, const NodeRef& value, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
// The bits of a row-major value read as elements of another type, in a flat shape if the item size changes; a
// last element that the value does not fill has zeros.
NodeRef retyped(const NodeRef& node, DType dtype);

// Replaces the tensor's elements; `value` has its shape and dtype. All aliases see it, pending readers keep what they
// read. Memory whose address was given away is written before this returns. Error if several elements of the tensor
// are one place in memory. Gives what it shows now. Autograd is not told: that is write() in autograd/aliases.h.
NodeRef replace_elements(TensorImpl& t, NodeRef value);
// Scatters the values to places of the tensor's storage (i64 in their shape, in elements, all of them the tensor's), which
// is neither exposed nor of another dtype than it. `op` is one of the scatters.
void replace_places(TensorImpl& t, const NodeRef& places, const NodeRef& values, Op op);

// Copies row-major elements to the places of a strided tensor, or the other way round; `memory` is the tensor's
// first element.
void scatter_elements(const TensorImpl& t, const unsigned char* in, unsigned char* memory);
void gather_elements(const TensorImpl& t, const unsigned char* memory, unsigned char* out);

std::vector<NodeRef> pending_values(TensorList tensors);  // of their storages

// The elements of an evaluated tensor in host memory; of a tensor elsewhere, a copy (host_elements).
struct HostView {
  std::shared_ptr<runtime::Buffer> owner;
  const unsigned char* data;  // the first element
  Dims sizes, strides;
  DType dtype;

  ir::Constant element(int64_t offset) const;  // offset in elements
};
HostView host_view(const Tensor& tensor);
// State that each step updates, and that is a constant before the first one: in memory that one has the graph of all others, and
// so their plan.
void start_in_memory(const Tensor& constant);

// A new tensor with the elements in the host's `buffer`, row-major; on the device of the call (call_device).
Tensor tensor_from_buffer(DType dtype, IntArrayRef sizes, std::shared_ptr<runtime::Buffer> buffer);

}  // namespace tenon
