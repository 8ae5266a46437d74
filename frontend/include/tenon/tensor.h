// Tensor: a handle on an n-dimensional array whose values may not have been computed yet. Copying it copies
// the handle. Methods that mirror functions stand in tensor_methods.h, those that write in place in tensor_inplace.h;
// the rest are documented here.
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/algebra.h"
#include "tenon/arrays.h"
#include "tenon/autograd.h"
#include "tenon/elementary.h"
#include "tenon/function.h"
#include "tenon/generator.h"
#include "tenon/indexed.h"
#include "tenon/ops.h"
#include "tenon/order.h"
#include "tenon/random.h"
#include "tenon/views.h"

namespace tenon {

class TensorImpl;
class StorageHandle;
namespace detail {
void retain(TensorImpl* impl) noexcept;
void release(TensorImpl* impl, bool given_up) noexcept;
void give_up(TensorImpl* impl) noexcept;    // one of its handles
void take_back(TensorImpl* impl) noexcept;  // one that was given up

// What methods are that have no function in LibTorch.
Tensor to(const Operand& self, ScalarType dtype, bool non_blocking, bool copy, optional<MemoryFormat> format = nullopt);
Tensor to(const Operand& self, Device device, bool non_blocking, bool copy, optional<MemoryFormat> format = nullopt);
Tensor to(const Operand& self, Device device, ScalarType dtype, bool non_blocking, bool copy, optional<MemoryFormat> format = nullopt);
Tensor to(const Operand& self, const TensorOptions& options, bool non_blocking, bool copy, optional<MemoryFormat> format = nullopt);
Tensor to(const Operand& self, optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device, optional<bool> pin_memory,
          bool non_blocking, bool copy, optional<MemoryFormat> format);
Tensor contiguous(const Operand& self);
Tensor contiguous(const Operand& self, MemoryFormat format);
Tensor view(const Operand& self, ScalarType dtype);
Tensor mT(const Operand& self);
Tensor numpy_T(const Operand& self);
Tensor mH(const Operand& self);
Tensor H(const Operand& self);
Tensor repeat(const Operand& self, IntArrayRef repeats);
Tensor unfold(const Operand& self, int64_t dimension, int64_t size, int64_t step);
Tensor subscript(const Operand& self, const Operand& index);
Tensor invert(const Operand& self);
Tensor index_put(const Operand& self, ArrayRef<indexing::TensorIndex> indices, const Operand& value, bool accumulate);
}  // namespace detail

// Element access to evaluated memory: a.size(i), a[i][j]. Valid while the tensor lives.
// T may be const.
template <typename T, size_t N, typename Index = int64_t>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const Index* sizes, const Index* strides) : data_(data), sizes_(sizes), strides_(strides) {}
  decltype(auto) operator[](Index i) const {
    if constexpr (N == 1) return static_cast<T&>(data_[i * strides_[0]]);
    else return TensorAccessor<T, N - 1, Index>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }
  Index size(Index dim) const { return sizes_[dim]; }
  Index stride(Index dim) const { return strides_[dim]; }
  ArrayRef<Index> sizes() const { return {sizes_, N}; }
  ArrayRef<Index> strides() const { return {strides_, N}; }
  T* data() const { return data_; }

 private:
  T* data_;
  const Index *sizes_, *strides_;
};

// The same with sizes and strides of its own, so that it can be copied elsewhere. The memory is still the
// tensor's.
template <typename T, size_t N, typename Index = int64_t>
class PackedTensorAccessor {
 public:
  PackedTensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t d = 0; d < N; ++d) {
      sizes_[d] = static_cast<Index>(sizes[d]);
      strides_[d] = static_cast<Index>(strides[d]);
    }
  }
  decltype(auto) operator[](Index i) const { return TensorAccessor<T, N, Index>(data_, sizes_, strides_)[i]; }
  Index size(Index dim) const { return sizes_[dim]; }
  Index stride(Index dim) const { return strides_[dim]; }
  T* data() const { return data_; }

 private:
  T* data_;
  Index sizes_[N], strides_[N];
};
template <typename T, size_t N>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, int32_t>;
template <typename T, size_t N>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, int64_t>;

// The C++ operators over a tensor and a tensor or number, for this file alone.
#define TENON_ARITHMETIC_OPERATORS(X) X(+, add) X(-, sub) X(*, mul) X(/, div)
#define TENON_OTHER_OPERATORS(X) X(%, remainder) X(&, bitwise_and) X(|, bitwise_or) X(^, bitwise_xor)
#define TENON_COMPARISON_OPERATORS(X) X(==, eq, eq) X(!=, ne, ne) X(<, lt, gt) X(<=, le, ge) X(>, gt, lt) X(>=, ge, le)

class Tensor {
 public:
  constexpr Tensor() noexcept {}  // undefined: every use but defined() and assignment is an Error
  Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
    if (impl_) detail::retain(impl_);
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)), given_up_(other.given_up_) { take_back(); }
  Tensor& operator=(const Tensor& other) & noexcept {
    Tensor copy(other);
    swap(copy);
    return *this;
  }
  Tensor& operator=(Tensor&& other) & noexcept {
    swap(other);
    take_back();
    return *this;
  }
  // x[0] = v and x.index({...}) = v write into x. (What a tensor index selects is a copy: use index_put_.)
  Tensor& operator=(const Tensor& other) &&;
  Tensor& operator=(Tensor&& other) &&;
  Tensor& operator=(const Scalar& value) && { return fill_(value); }
  ~Tensor() {
    if (impl_) detail::release(impl_, given_up_);
  }

  // The methods that record an operation, once for tensors with a name and once for temporaries.
#define TENON_KIND const&
#include "tenon/tensor_methods.h"
#include "tenon/tensor_more_methods.h"
#undef TENON_KIND
#define TENON_KIND &&
#include "tenon/tensor_methods.h"
#include "tenon/tensor_more_methods.h"
#undef TENON_KIND

  // --- what it is
  bool defined() const { return impl_ != nullptr; }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  int64_t dim() const { return static_cast<int64_t>(sizes().size()); }
  int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const;
  int64_t size(int64_t dim) const;  // negative dims count from the end
  IntArrayRef strides() const;      // in elements
  int64_t stride(int64_t dim) const;
  int64_t storage_offset() const;  // in elements
  int64_t numel() const;
  int64_t nelement() const { return numel(); }
  int64_t element_size() const { return elementSize(scalar_type()); }
  int64_t itemsize() const { return element_size(); }
  int64_t nbytes() const { return numel() * element_size(); }
  bool is_contiguous() const;
  TypeMeta dtype() const { return scalar_type(); }
  ScalarType scalar_type() const;
  Device device() const;
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  int64_t get_device() const;  // the index of its CUDA device; -1 on the CPU
  TensorOptions options() const;
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_signed() const { return scalar_type() != kBool && scalar_type() != kByte; }
  Layout layout() const;
  bool is_sparse() const { return false; }
  bool is_alias_of(const Tensor& other) const;  // do they share one storage?
  StorageHandle storage() const;

  // --- its values: each of these evaluates
  Scalar item() const;  // of a one-element tensor
  template <typename T>
  T item() const {
    return item().to<T>();
  }
  bool is_nonzero() const;
  // The memory of the first element. It stays valid while the tensor lives, and may be written: every alias sees
  // that, and no operation called before it does. From then on an operation reads this tensor at its call, as
  // LibTorch does. Who only reads asks for const elements (data_ptr<const float>(), accessor<const float, 2>()):
  // that costs nothing later, and shows the elements as they are now; ask again after a write.
  void* data_ptr() const;
  template <typename T>
  T* data_ptr() const {
    constexpr ScalarType type = scalar_type_of<std::remove_const_t<T>>();
    if constexpr (std::is_const_v<T>) return static_cast<T*>(checked_const_data(type));
    else return static_cast<T*>(checked_data(type));
  }
  const void* const_data_ptr() const;
  template <typename T>
  const T* const_data_ptr() const {
    return data_ptr<const T>();
  }
  void* mutable_data_ptr() const { return data_ptr(); }
  // For LibTorch's programs: a GPU's memory is given back in the order of its work, whatever streams are called. NotImplementedError on
  // a CPU.
  void record_stream(const cuda::CUDAStream& stream) const;
  template <typename T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  // The program's promise that nobody else writes or frees this memory (of from_blob, data_ptr, fromDLPack) as
  // long as the tensor or anything pending that was made of it lives. Then it is read without a copy, when a
  // value is needed.
  const Tensor& promise_unchanged() const;
  template <typename T, size_t N>
  TensorAccessor<T, N> accessor() const& {
    check_accessor(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <typename T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;  // it would outlive the tensor
  template <typename T, size_t N>
  PackedTensorAccessor64<T, N> packed_accessor64() const& {
    check_accessor(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <typename T, size_t N>
  PackedTensorAccessor64<T, N> packed_accessor64() && = delete;
  template <typename T, size_t N>
  PackedTensorAccessor32<T, N> packed_accessor32() const& {
    check_accessor(N, true);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <typename T, size_t N>
  PackedTensorAccessor32<T, N> packed_accessor32() && = delete;
  std::string toString() const;  // "CPUFloatType"
  void print() const;            // "[CPUFloatType [2, 3]]" to the standard error stream

  // --- host memory that CUDA devices copy from and to without a stop
  bool is_pinned() const;
  Tensor pin_memory(optional<Device> device = nullopt) const;  // itself if it is; else a copy there. Error without a device

  // --- gradients: what is remembered of how a tensor was made
  bool requires_grad() const;
  const Tensor& requires_grad_(bool requires_grad = true) const;  // of a leaf
  const Tensor& set_requires_grad(bool requires_grad) const;
  bool is_inference() const;                        // made under InferenceMode
  bool is_leaf() const;                             // not the result of an operation on what requires grad
  std::shared_ptr<autograd::Node> grad_fn() const;  // null for a leaf
  int64_t output_nr() const;                        // which result of its grad_fn
  bool retains_grad() const;
  void retain_grad() const;
  const Tensor& grad() const;  // undefined until there is one
  Tensor& mutable_grad() const;
  // autograd::backward of this tensor.
  void backward(const Tensor& gradient = {}, optional<bool> retain_graph = nullopt, bool create_graph = false,
                optional<TensorList> inputs = nullopt) const;
  // `hook(gradient)` is called when this tensor's gradient is complete, and may return another in its place. Returns a
  // number for remove_hook.
  template <typename Hook>
  unsigned register_hook(Hook hook) const {
    return add_hook(hook_of(std::move(hook)));
  }
  void remove_hook(unsigned number) const;
  // A leaf calls `hook(leaf)` when the gradient has been added to its grad.
  template <typename Hook>
  unsigned register_post_accumulate_grad_hook(Hook hook) const {
    return add_accumulated_hook(hook_of(std::move(hook)));
  }
#include "tenon/absent_methods.h"
  Tensor detach() const;  // the same memory as a leaf without grad
  Tensor& detach_();
  Tensor data() const;
  void set_data(const Tensor& new_data) const;  // shows the memory of new_data from now on
  bool is_view() const;
  const Tensor& _base() const;  // of a view: the tensor it shows

#include "tenon/tensor_inplace.h"
  int64_t _version() const;  // how often this memory was written; Error for an inference tensor
  // --- new tensors of its dtype and device, unless the options say otherwise
  Tensor new_empty(IntArrayRef size, const TensorOptions& options = {}) const;
  Tensor new_empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options = {}) const;
  Tensor new_zeros(IntArrayRef size, const TensorOptions& options = {}) const;
  Tensor new_ones(IntArrayRef size, const TensorOptions& options = {}) const;
  Tensor new_full(IntArrayRef size, const Scalar& fill_value, const TensorOptions& options = {}) const;

#define TENON_OPERATOR(sign, name)                                          \
  Tensor& operator sign##=(const Operand& other) { return name##_(other); } \
  Tensor& operator sign##=(const Scalar& other) { return name##_(other); }
  TENON_ARITHMETIC_OPERATORS(TENON_OPERATOR)
  TENON_OTHER_OPERATORS(TENON_OPERATOR)
  TENON_OPERATOR(<<, bitwise_left_shift)
  TENON_OPERATOR(>>, bitwise_right_shift)
#undef TENON_OPERATOR

  bool is_contiguous(MemoryFormat format) const;
  bool is_set_to(const Tensor& other) const;  // the same memory in the same shape

  // For Tenon's own sources.
  explicit Tensor(TensorImpl* impl, bool add_reference = true) noexcept : impl_(impl) {
    if (impl_ && add_reference) detail::retain(impl_);
  }
  TensorImpl* unsafe_impl() const { return impl_; }
  TensorImpl* unsafeGetTensorImpl() const { return impl_; }  // LibTorch's name
  // Says that nobody will ask this handle for its value, which it goes on to have: see Operand.
  void give_up() const {
    if (!impl_ || given_up_) return;
    given_up_ = true;
    detail::give_up(impl_);
  }

 private:
  friend class Operand;
  template <typename Hook>
  static Function<Tensor(const Tensor&)> hook_of(Hook hook) {
    return [hook = std::move(hook)](const Tensor& grad) mutable -> Tensor {
      if constexpr (std::is_void_v<std::invoke_result_t<Hook&, Tensor>>) {
        hook(grad);
        return {};
      } else {
        return hook(grad);
      }
    };
  }
  unsigned add_hook(Function<Tensor(const Tensor&)> hook) const;
  unsigned add_accumulated_hook(Function<Tensor(const Tensor&)> hook) const;
  void take_back() {
    if (!given_up_) return;
    given_up_ = false;
    if (impl_) detail::take_back(impl_);
  }
  void swap(Tensor& other) noexcept {
    std::swap(impl_, other.impl_);
    std::swap(given_up_, other.given_up_);
  }
  void* checked_data(ScalarType wanted) const;
  const void* checked_const_data(ScalarType wanted) const;
  void check_accessor(size_t dims, bool narrow = false) const;
  TensorImpl* impl_ = nullptr;
  mutable bool given_up_ = false;
};

// A tensor as the argument of an operation. A temporary is given up: nobody can ask for its value after the full
// expression, so that value need not be stored when something made of it is evaluated, and
// ((x - y).square() * 0.5).mean().item() is one kernel with one number as its result. std::move(x) gives up x in the
// same way; x stays valid, and is computed again if it is read after all.
// Only for parameters: it borrows the tensor's reference.
class Operand : public Tensor {
 public:
  Operand() = default;
  Operand(const Tensor& tensor) noexcept : Tensor(tensor.impl_, false) {}
  Operand(Tensor&& tensor) noexcept : Tensor(tensor.impl_, false) { tensor.give_up(); }
  ~Operand() { impl_ = nullptr; }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
};
inline Tensor& detach_(Tensor& self) { return self.detach_(); }
inline Tensor& Tensor::operator=(const Tensor& other) && { return copy_(other); }
inline Tensor& Tensor::operator=(Tensor&& other) && { return copy_(std::move(other)); }

namespace detail {
// The handles in a braced list die with the full expression: in cat({a * 2, b}) nobody else has a * 2.
template <>
inline const Tensor* elements(const std::initializer_list<Tensor>& list) {
  for (const Tensor& tensor : list) tensor.give_up();
  return list.begin();
}
}  // namespace detail

// The memory that a tensor and its aliases share, as LibTorch's Storage (tenon/compat.h has it by that name).
// Asking for an address evaluates, as Tensor::data_ptr() does.
class StorageHandle {
 public:
  explicit StorageHandle(Tensor tensor) : tensor_(std::move(tensor)) {}
  size_t nbytes() const;
  const void* data() const { return mutable_data(); }
  void* mutable_data() const;  // the first byte
  struct Address {
    void* address;
    void* get() const { return address; }
  };
  Address data_ptr() const { return {mutable_data()}; }
  Device device() const { return tensor_.device(); }
  bool is_alias_of(const StorageHandle& other) const { return tensor_.is_alias_of(other.tensor_); }

 private:
  Tensor tensor_;
};

#define TENON_OPERATOR(sign, name)                                                              \
  inline Tensor operator sign(const Operand& a, const Operand& b) { return tenon::name(a, b); } \
  inline Tensor operator sign(const Operand& a, const Scalar& b) { return tenon::name(a, b); }
TENON_ARITHMETIC_OPERATORS(TENON_OPERATOR)
TENON_OTHER_OPERATORS(TENON_OPERATOR)
#undef TENON_OPERATOR
#undef TENON_ARITHMETIC_OPERATORS
#undef TENON_OTHER_OPERATORS
#define TENON_OPERATOR(sign, name, mirrored)                                                    \
  inline Tensor operator sign(const Operand& a, const Operand& b) { return tenon::name(a, b); } \
  inline Tensor operator sign(const Operand& a, const Scalar& b) { return tenon::name(a, b); }  \
  inline Tensor operator sign(const Scalar& a, const Operand& b) { return tenon::mirrored(b, a); }
TENON_COMPARISON_OPERATORS(TENON_OPERATOR)
#undef TENON_OPERATOR
#undef TENON_COMPARISON_OPERATORS
inline Tensor operator+(const Scalar& a, const Operand& b) { return tenon::add(b, a); }
inline Tensor operator-(const Scalar& a, const Operand& b) { return tenon::rsub(b, a); }
inline Tensor operator*(const Scalar& a, const Operand& b) { return tenon::mul(b, a); }
Tensor operator/(const Scalar& a, const Operand& b);
Tensor operator%(const Scalar& a, const Operand& b);
inline Tensor operator&(const Scalar& a, const Operand& b) { return tenon::bitwise_and(b, a); }
inline Tensor operator|(const Scalar& a, const Operand& b) { return tenon::bitwise_or(b, a); }
inline Tensor operator^(const Scalar& a, const Operand& b) { return tenon::bitwise_xor(b, a); }

// Evaluates all of them together, in one graph.
void eval(TensorList tensors);
inline void eval(const Tensor& tensor) { eval(TensorList(tensor)); }
template <typename... More>
void eval(const Tensor& first, const Tensor& second, const More&... more) {
  eval(TensorList({first, second, more...}));
}

std::string repr(const Tensor& tensor);                             // Python's: tensor([1., 2.], dtype=tenon.float16)
std::string repr(ScalarType type);                                  // tenon.float16
std::string repr(const Device& device);                             // device(type='cuda', index=0)
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);  // repr

}  // namespace tenon

#include "tenon/indexing.h"
#include "tenon/views.h"
