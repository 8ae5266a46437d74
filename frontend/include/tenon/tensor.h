// Tensor: a handle on an n-dimensional array whose values may not have been computed yet. Copying it copies
// the handle. Methods that mirror functions of ops.h are one line each; the rest are documented here.
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/generator.h"
#include "tenon/indexed.h"
#include "tenon/ops.h"
#include "tenon/order.h"

namespace tenon {

class TensorImpl;
namespace detail {
void retain(TensorImpl* impl) noexcept;
void release(TensorImpl* impl) noexcept;
}  // namespace detail

// Element access to evaluated memory: a.size(i), a[i][j]. Valid while the tensor lives.
// T may be const.
template <typename T, size_t N, typename Index = int64_t>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  decltype(auto) operator[](Index i) const {
    if constexpr (N == 1)
      return static_cast<T&>(data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1, Index>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
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

class Tensor {
 public:
  Tensor() = default;  // undefined: every use but defined() and assignment is an Error
  Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
    if (impl_) detail::retain(impl_);
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(const Tensor& other) & noexcept {
    Tensor copy(other);
    std::swap(impl_, copy.impl_);
    return *this;
  }
  Tensor& operator=(Tensor&& other) & noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  // x[0] = v and x.index({...}) = v write into x. (What a tensor index selects is a copy: use index_put_.)
  Tensor& operator=(const Tensor& other) && { return copy_(other); }
  Tensor& operator=(Tensor&& other) && { return copy_(other); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }
  ~Tensor() {
    if (impl_) detail::release(impl_);
  }

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
  int64_t element_size() const { return elementSize(scalar_type()); }
  int64_t itemsize() const { return element_size(); }
  int64_t nbytes() const { return numel() * element_size(); }
  bool is_contiguous() const;
  TypeMeta dtype() const { return scalar_type(); }
  ScalarType scalar_type() const;
  Device device() const;
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  int64_t get_device() const;  // the index of its CUDA device; -1 on the CPU
  TensorOptions options() const;
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_signed() const { return scalar_type() != kBool && scalar_type() != kByte; }
  bool is_alias_of(const Tensor& other) const;  // do they share one storage?

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
    if constexpr (std::is_const_v<T>)
      return static_cast<T*>(checked_const_data(type));
    else
      return static_cast<T*>(checked_data(type));
  }
  const void* const_data_ptr() const;
  template <typename T>
  const T* const_data_ptr() const {
    return data_ptr<const T>();
  }
  void* mutable_data_ptr() const { return data_ptr(); }
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
  std::string toString() const;                 // "CPUFloatType"
  void print() const;                           // "[CPUFloatType [2, 3]]" to the standard error stream

  // --- conversions: the very same tensor when nothing changes (and copy is false)
  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
  Tensor to(DeviceType device, bool non_blocking = false, bool copy = false) const {
    return to(Device(device), non_blocking, copy);
  }
  Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const;
  Tensor to(const Tensor& other) const;  // its dtype and device
  Tensor toType(ScalarType dtype) const { return to(dtype); }
  Tensor type_as(const Tensor& other) const { return to(other.scalar_type()); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  Tensor contiguous() const;  // itself when contiguous
  Tensor clone() const { return tenon::clone(*this); }

  // --- gradients: what is remembered of how a tensor was made
  bool requires_grad() const;
  const Tensor& requires_grad_(bool requires_grad = true) const;  // of a leaf
  const Tensor& set_requires_grad(bool requires_grad) const;
  bool is_leaf() const;                             // not the result of an operation on what requires grad
  std::shared_ptr<autograd::Node> grad_fn() const;  // null for a leaf
  int64_t output_nr() const;                        // which result of its grad_fn
  bool retains_grad() const;
  void retain_grad() const;
  const Tensor& grad() const;  // undefined until there is one
  Tensor& mutable_grad() const;
  Tensor detach() const;  // the same memory as a leaf without grad
  Tensor& detach_();
  Tensor data() const;
  void set_data(const Tensor& new_data) const;  // shows the memory of new_data from now on
  bool is_view() const;
  const Tensor& _base() const;  // of a view: the tensor it shows

  // --- elementwise
#define TENON_METHOD(name) \
  Tensor name() const { return tenon::name(*this); }
  TENON_UNARY_OPS(TENON_METHOD)
#undef TENON_METHOD
#define TENON_METHOD(name) \
  Tensor name(const Tensor& other) const { return tenon::name(*this, other); }
  TENON_BINARY_TENSOR_OPS(TENON_METHOD)
  TENON_BINARY_OPS(TENON_METHOD)
#undef TENON_METHOD
#define TENON_METHOD(name) \
  Tensor name(const Scalar& other) const { return tenon::name(*this, other); }
  TENON_BINARY_OPS(TENON_METHOD)
#undef TENON_METHOD
  Tensor round(int64_t decimals) const { return tenon::round(*this, decimals); }
  Tensor add(const Tensor& other, const Scalar& alpha = 1) const { return tenon::add(*this, other, alpha); }
  Tensor add(const Scalar& other, const Scalar& alpha = 1) const { return tenon::add(*this, other, alpha); }
  Tensor sub(const Tensor& other, const Scalar& alpha = 1) const { return tenon::sub(*this, other, alpha); }
  Tensor sub(const Scalar& other, const Scalar& alpha = 1) const { return tenon::sub(*this, other, alpha); }
  Tensor div(const Tensor& other) const { return tenon::div(*this, other); }
  Tensor div(const Scalar& other) const { return tenon::div(*this, other); }
  Tensor div(const Tensor& other, optional<std::string_view> mode) const {
    return tenon::div(*this, other, mode);
  }
  Tensor div(const Scalar& other, optional<std::string_view> mode) const {
    return tenon::div(*this, other, mode);
  }
  Tensor pow(const Tensor& exponent) const { return tenon::pow(*this, exponent); }
  Tensor pow(const Scalar& exponent) const { return tenon::pow(*this, exponent); }
  Tensor where(const Tensor& condition, const Tensor& other) const {
    return tenon::where(condition, *this, other);
  }
  Tensor where(const Tensor& condition, const Scalar& other) const {
    return tenon::where(condition, *this, other);
  }
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const {
    return tenon::masked_fill(*this, mask, value);
  }
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const {
    return tenon::masked_fill(*this, mask, value);
  }
  Tensor clamp(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) const {
    return tenon::clamp(*this, min, max);
  }
  Tensor clamp(const optional<Tensor>& min, const optional<Tensor>& max) const;
  Tensor clamp_min(const Scalar& min) const { return tenon::clamp_min(*this, min); }
  Tensor clamp_min(const Tensor& min) const { return tenon::clamp_min(*this, min); }
  Tensor clamp_max(const Scalar& max) const { return tenon::clamp_max(*this, max); }
  Tensor clamp_max(const Tensor& max) const { return tenon::clamp_max(*this, max); }
  Tensor lerp(const Tensor& end, const Scalar& weight) const { return tenon::lerp(*this, end, weight); }
  Tensor lerp(const Tensor& end, const Tensor& weight) const { return tenon::lerp(*this, end, weight); }
  Tensor addcmul(const Tensor& a, const Tensor& b, const Scalar& value = 1) const {
    return tenon::addcmul(*this, a, b, value);
  }
  Tensor addcdiv(const Tensor& a, const Tensor& b, const Scalar& value = 1) const {
    return tenon::addcdiv(*this, a, b, value);
  }
  Tensor nan_to_num(optional<double> nan = nullopt, optional<double> posinf = nullopt,
                    optional<double> neginf = nullopt) const {
    return tenon::nan_to_num(*this, nan, posinf, neginf);
  }
  Tensor logit(optional<double> eps = nullopt) const { return tenon::logit(*this, eps); }
  Tensor hardshrink(const Scalar& lambd = 0.5) const { return tenon::hardshrink(*this, lambd); }
  Tensor isclose(const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
                 bool equal_nan = false) const {
    return tenon::isclose(*this, other, rtol, atol, equal_nan);
  }

  // --- shape
  Tensor reshape(IntArrayRef shape) const { return tenon::reshape(*this, shape); }
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  Tensor view(IntArrayRef shape) const { return tenon::view(*this, shape); }
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const {
    return tenon::flatten(*this, start_dim, end_dim);
  }
  Tensor unflatten(int64_t dim, IntArrayRef sizes) const { return tenon::unflatten(*this, dim, sizes); }
  Tensor ravel() const { return tenon::ravel(*this); }
  Tensor permute(IntArrayRef dims) const { return tenon::permute(*this, dims); }
  Tensor transpose(int64_t dim0, int64_t dim1) const { return tenon::transpose(*this, dim0, dim1); }
  Tensor swapaxes(int64_t axis0, int64_t axis1) const { return tenon::swapaxes(*this, axis0, axis1); }
  Tensor swapdims(int64_t dim0, int64_t dim1) const { return tenon::swapaxes(*this, dim0, dim1); }
  Tensor t() const { return tenon::t(*this); }
  Tensor mT() const;       // the last two dims swapped
  Tensor numpy_T() const;  // all dims reversed: Python's x.T
  Tensor movedim(IntArrayRef source, IntArrayRef destination) const {
    return tenon::movedim(*this, source, destination);
  }
  Tensor expand(IntArrayRef size) const { return tenon::expand(*this, size); }
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor broadcast_to(IntArrayRef size) const { return tenon::broadcast_to(*this, size); }
  Tensor squeeze() const { return tenon::squeeze(*this); }
  Tensor squeeze(int64_t dim) const { return tenon::squeeze(*this, dim); }
  Tensor squeeze(IntArrayRef dims) const { return tenon::squeeze(*this, dims); }
  Tensor unsqueeze(int64_t dim) const { return tenon::unsqueeze(*this, dim); }
  Tensor select(int64_t dim, int64_t index) const { return tenon::select(*this, dim, index); }
  Tensor slice(int64_t dim = 0, optional<int64_t> start = nullopt, optional<int64_t> end = nullopt,
               int64_t step = 1) const {
    return tenon::slice(*this, dim, start, end, step);
  }
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const {
    return tenon::narrow(*this, dim, start, length);
  }
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  // What index(indices) selects takes the value's elements; where places repeat the last wins, or all are added.
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value, bool accumulate = false) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value, bool accumulate = false) const;
  Tensor index_put(ArrayRef<indexing::TensorIndex> indices, const Tensor& value, bool accumulate = false) const;
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor operator[](const Tensor& index) const;  // index({index})
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const {
    return tenon::chunk(*this, chunks, dim);
  }
  std::vector<Tensor> split(int64_t split_size, int64_t dim = 0) const {
    return tenon::split(*this, split_size, dim);
  }
  std::vector<Tensor> split(IntArrayRef split_sizes, int64_t dim = 0) const {
    return tenon::split(*this, split_sizes, dim);
  }
  std::vector<Tensor> split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) const {
    return tenon::split_with_sizes(*this, split_sizes, dim);
  }
  std::vector<Tensor> unbind(int64_t dim = 0) const { return tenon::unbind(*this, dim); }
  Tensor flip(IntArrayRef dims) const { return tenon::flip(*this, dims); }
  Tensor fliplr() const { return tenon::fliplr(*this); }
  Tensor flipud() const { return tenon::flipud(*this); }
  Tensor roll(IntArrayRef shifts, IntArrayRef dims = {}) const { return tenon::roll(*this, shifts, dims); }
  Tensor repeat(IntArrayRef repeats) const;
  Tensor tile(IntArrayRef dims) const { return tenon::tile(*this, dims); }

  // --- reductions
  Tensor sum(optional<ScalarType> dtype = nullopt) const { return tenon::sum(*this, dtype); }
  Tensor sum(OptionalIntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const {
    return tenon::sum(*this, dim, keepdim, dtype);
  }
  Tensor nansum(OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                optional<ScalarType> dtype = nullopt) const {
    return tenon::nansum(*this, dim, keepdim, dtype);
  }
  Tensor prod(optional<ScalarType> dtype = nullopt) const { return tenon::prod(*this, dtype); }
  Tensor prod(int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const {
    return tenon::prod(*this, dim, keepdim, dtype);
  }
  Tensor mean(optional<ScalarType> dtype = nullopt) const { return tenon::mean(*this, dtype); }
  Tensor mean(OptionalIntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const {
    return tenon::mean(*this, dim, keepdim, dtype);
  }
  Tensor var(bool unbiased = true) const { return tenon::var(*this, unbiased); }
  Tensor var(OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false) const {
    return tenon::var(*this, dim, unbiased, keepdim);
  }
  Tensor var(OptionalIntArrayRef dim, optional<Scalar> correction, bool keepdim = false) const {
    return tenon::var(*this, dim, correction, keepdim);
  }
  Tensor std(bool unbiased = true) const { return tenon::std(*this, unbiased); }
  Tensor std(OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false) const {
    return tenon::std(*this, dim, unbiased, keepdim);
  }
  Tensor std(OptionalIntArrayRef dim, optional<Scalar> correction, bool keepdim = false) const {
    return tenon::std(*this, dim, correction, keepdim);
  }
  Tensor var(DimList dim, bool unbiased = true, bool keepdim = false) const {
    return tenon::var(*this, dim, unbiased, keepdim);
  }
  Tensor std(DimList dim, bool unbiased = true, bool keepdim = false) const {
    return tenon::std(*this, dim, unbiased, keepdim);
  }
  template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Tensor var(T)
  const = delete;  // say var({dim}) or var(unbiased)
  template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Tensor std(T)
  const = delete;
  Tensor max() const { return tenon::max(*this); }
  Tensor max(const Tensor& other) const { return tenon::max(*this, other); }
  std::tuple<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const;
  Tensor min() const { return tenon::min(*this); }
  Tensor min(const Tensor& other) const { return tenon::min(*this, other); }
  std::tuple<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
  Tensor amax(IntArrayRef dim = {}, bool keepdim = false) const { return tenon::amax(*this, dim, keepdim); }
  Tensor amin(IntArrayRef dim = {}, bool keepdim = false) const { return tenon::amin(*this, dim, keepdim); }
  std::tuple<Tensor, Tensor> aminmax(optional<int64_t> dim = nullopt, bool keepdim = false) const;
  Tensor argmax(optional<int64_t> dim = nullopt, bool keepdim = false) const {
    return tenon::argmax(*this, dim, keepdim);
  }
  Tensor argmin(optional<int64_t> dim = nullopt, bool keepdim = false) const {
    return tenon::argmin(*this, dim, keepdim);
  }
  Tensor any() const { return tenon::any(*this); }
  Tensor any(int64_t dim, bool keepdim = false) const { return tenon::any(*this, dim, keepdim); }
  Tensor all() const { return tenon::all(*this); }
  Tensor all(int64_t dim, bool keepdim = false) const { return tenon::all(*this, dim, keepdim); }
  Tensor norm(const Scalar& p = 2) const { return tenon::norm(*this, p); }
  Tensor norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false) const {
    return tenon::norm(*this, p, dim, keepdim);
  }
  Tensor logsumexp(IntArrayRef dim, bool keepdim = false) const {
    return tenon::logsumexp(*this, dim, keepdim);
  }
  Tensor count_nonzero(IntArrayRef dim = {}) const { return tenon::count_nonzero(*this, dim); }
  Tensor softmax(int64_t dim, optional<ScalarType> dtype = nullopt) const {
    return tenon::softmax(*this, dim, dtype);
  }
  Tensor log_softmax(int64_t dim, optional<ScalarType> dtype = nullopt) const {
    return tenon::log_softmax(*this, dim, dtype);
  }

  // --- matrix products
  Tensor matmul(const Tensor& other) const { return tenon::matmul(*this, other); }
  Tensor mm(const Tensor& mat2) const { return tenon::mm(*this, mat2); }
  Tensor mv(const Tensor& vec) const { return tenon::mv(*this, vec); }
  Tensor bmm(const Tensor& mat2) const { return tenon::bmm(*this, mat2); }
  Tensor dot(const Tensor& other) const { return tenon::dot(*this, other); }
  Tensor outer(const Tensor& vec2) const { return tenon::outer(*this, vec2); }
  Tensor addmm(const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
               const Scalar& alpha = 1) const {
    return tenon::addmm(*this, mat1, mat2, beta, alpha);
  }
  Tensor addmv(const Tensor& mat, const Tensor& vec, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return tenon::addmv(*this, mat, vec, beta, alpha);
  }
  Tensor baddbmm(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return tenon::baddbmm(*this, a, b, beta, alpha);
  }

  // --- writing in place: like the operation without the underscore, into this tensor. Its shape and dtype stay,
  // so the operands must broadcast to its shape, and the result's type must not be of a higher category than its
  // own (bool < integer < float). All tensors that share its memory see the write; what was recorded before it
  // keeps the old values. Memory that data_ptr() or from_blob() made known to others is written before the call
  // returns; any other write is recorded like an operation, and evaluated in place where nothing else needs the
  // old value.
#define TENON_METHOD(name) Tensor& name##_() const;
  TENON_UNARY_INPLACE_OPS(TENON_METHOD)
#undef TENON_METHOD
#define TENON_METHOD(name) Tensor& name##_(const Tensor& other) const;
  TENON_BINARY_TENSOR_INPLACE_OPS(TENON_METHOD)
  TENON_BINARY_OPS(TENON_METHOD)
#undef TENON_METHOD
#define TENON_METHOD(name) Tensor& name##_(const Scalar& other) const;
  TENON_BINARY_OPS(TENON_METHOD)
#undef TENON_METHOD
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& subtract_(const Tensor& other, const Scalar& alpha = 1) const { return sub_(other, alpha); }
  Tensor& subtract_(const Scalar& other, const Scalar& alpha = 1) const { return sub_(other, alpha); }
  Tensor& div_(const Tensor& other) const;
  Tensor& div_(const Scalar& other) const;
  Tensor& div_(const Tensor& other, optional<std::string_view> rounding_mode) const;
  Tensor& div_(const Scalar& other, optional<std::string_view> rounding_mode) const;
  Tensor& divide_(const Tensor& other) const { return div_(other); }
  Tensor& divide_(const Scalar& other) const { return div_(other); }
  Tensor& pow_(const Tensor& exponent) const;
  Tensor& pow_(const Scalar& exponent) const;
  Tensor& float_power_(const Tensor& exponent) const;
  Tensor& float_power_(const Scalar& exponent) const;
  Tensor& round_(int64_t decimals) const;
  Tensor& clamp_(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) const;
  Tensor& clamp_(const optional<Tensor>& min, const optional<Tensor>& max) const;
  Tensor& clip_(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) const {
    return clamp_(min, max);
  }
  Tensor& clamp_min_(const Scalar& min) const;
  Tensor& clamp_min_(const Tensor& min) const;
  Tensor& clamp_max_(const Scalar& max) const;
  Tensor& clamp_max_(const Tensor& max) const;
  Tensor& lerp_(const Tensor& end, const Scalar& weight) const;
  Tensor& lerp_(const Tensor& end, const Tensor& weight) const;
  Tensor& addcmul_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
  Tensor& addcdiv_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
  Tensor& addmm_(const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const;
  Tensor& addmv_(const Tensor& mat, const Tensor& vec, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor& baddbmm_(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                   const Scalar& alpha = 1) const;
  Tensor& nan_to_num_(optional<double> nan = nullopt, optional<double> posinf = nullopt,
                      optional<double> neginf = nullopt) const;
  Tensor& logit_(optional<double> eps = nullopt) const;
  Tensor& cumsum_(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor& cumprod_(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor& copy_(const Tensor& src, bool non_blocking = false) const;  // of any dtype; broadcast to this shape
  Tensor& fill_(const Scalar& value) const;
  Tensor& fill_(const Tensor& value) const;  // 0-dim
  Tensor& zero_() const;
  Tensor& fill_diagonal_(const Scalar& value, bool wrap = false) const;
  Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const;
  Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const;
  Tensor& masked_scatter_(const Tensor& mask, const Tensor& source) const;
  Tensor& index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor& index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const;
  Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1) const;
  Tensor& index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) const;
  Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                          bool include_self = true) const;
  Tensor& put_(const Tensor& index, const Tensor& source, bool accumulate = false) const;
  // The shape alone changes: another view of the same memory.
  Tensor& squeeze_() const;
  Tensor& squeeze_(int64_t dim) const;
  Tensor& squeeze_(IntArrayRef dims) const;
  Tensor& unsqueeze_(int64_t dim) const;
  Tensor& transpose_(int64_t dim0, int64_t dim1) const;
  Tensor& swapaxes_(int64_t axis0, int64_t axis1) const { return transpose_(axis0, axis1); }
  Tensor& swapdims_(int64_t dim0, int64_t dim1) const { return transpose_(dim0, dim1); }
  Tensor& t_() const;
  Tensor& tril_(int64_t diagonal = 0) const;
  Tensor& triu_(int64_t diagonal = 0) const;
  Tensor& addr_(const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor& addbmm_(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                  const Scalar& alpha = 1) const;
  // Row-major in a new shape over the same memory, which grows (with zeros) if it is too small.
  const Tensor& resize_(IntArrayRef size) const;
  const Tensor& resize_as_(const Tensor& other) const { return resize_(other.sizes()); }
  Tensor& set_(const Tensor& source) const;  // shows the memory of the source from now on
  int64_t _version() const;                  // how often this memory was written
#define TENON_OPERATOR(sign, name)                                              \
  Tensor& operator sign##=(const Tensor& other) { return name##_(other); } \
  Tensor& operator sign##=(const Scalar& other) { return name##_(other); }
  TENON_ARITHMETIC_OPERATORS(TENON_OPERATOR)
  TENON_OTHER_OPERATORS(TENON_OPERATOR)
  TENON_OPERATOR(<<, bitwise_left_shift)
  TENON_OPERATOR(>>, bitwise_right_shift)
#undef TENON_OPERATOR

  // --- more views: views.h
  Tensor as_strided(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset = nullopt) const;
  Tensor& as_strided_(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset = nullopt) const;
  Tensor unfold(int64_t dimension, int64_t size, int64_t step) const;  // windows; their elements as a new last dim
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor view(ScalarType dtype) const;  // the same bits; the last dim shrinks or grows if the item size changes
  Tensor moveaxis(IntArrayRef source, IntArrayRef destination) const { return movedim(source, destination); }
  Tensor adjoint() const;
  Tensor mH() const;
  Tensor H() const;
  Tensor conj() const { return *this; }  // no type is complex
  Tensor resolve_conj() const { return *this; }
  Tensor resolve_neg() const { return *this; }
  bool is_contiguous(MemoryFormat format) const;
  Tensor contiguous(MemoryFormat format) const;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(IntArrayRef indices, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(const Tensor& indices_or_sections, int64_t dim = 0) const;
  std::vector<Tensor> hsplit(int64_t sections) const;
  std::vector<Tensor> hsplit(IntArrayRef indices) const;
  std::vector<Tensor> vsplit(int64_t sections) const;
  std::vector<Tensor> vsplit(IntArrayRef indices) const;
  std::vector<Tensor> dsplit(int64_t sections) const;
  std::vector<Tensor> dsplit(IntArrayRef indices) const;
  std::vector<Tensor> unsafe_chunk(int64_t chunks, int64_t dim = 0) const { return chunk(chunks, dim); }
  std::vector<Tensor> unsafe_split(int64_t split_size, int64_t dim = 0) const { return split(split_size, dim); }
  Tensor narrow_copy(int64_t dim, int64_t start, int64_t length) const { return narrow(dim, start, length).clone(); }
  bool is_set_to(const Tensor& other) const;  // the same memory in the same shape

  // --- random values in place; the generator is the default one unless given
  Tensor& uniform_(double from = 0, double to = 1, optional<Generator> generator = nullopt) const;
  Tensor& normal_(double mean = 0, double std = 1, optional<Generator> generator = nullopt) const;
  // Integers in [from, to); up to the largest of the dtype if `to` is nullopt.
  Tensor& random_(int64_t from, optional<int64_t> to, optional<Generator> generator = nullopt) const;
  Tensor& random_(int64_t to, optional<Generator> generator = nullopt) const;
  Tensor& random_(optional<Generator> generator = nullopt) const;  // from 0 to the largest of the dtype
  Tensor& bernoulli_(double p = 0.5, optional<Generator> generator = nullopt) const;
  Tensor& bernoulli_(const Tensor& p, optional<Generator> generator = nullopt) const;
  Tensor& exponential_(double lambd = 1, optional<Generator> generator = nullopt) const;
  Tensor& log_normal_(double mean = 1, double std = 2, optional<Generator> generator = nullopt) const;
  Tensor& cauchy_(double median = 0, double sigma = 1, optional<Generator> generator = nullopt) const;
  Tensor& geometric_(double p, optional<Generator> generator = nullopt) const;
  Tensor bernoulli(optional<Generator> generator = nullopt) const;
  Tensor bernoulli(double p, optional<Generator> generator = nullopt) const;
  Tensor multinomial(int64_t num_samples, bool replacement = false,
                     optional<Generator> generator = nullopt) const;

  bool equal(const Tensor& other) const { return tenon::equal(*this, other); }
  bool allclose(const Tensor& other, double rtol = 1e-05, double atol = 1e-08, bool equal_nan = false) const {
    return tenon::allclose(*this, other, rtol, atol, equal_nan);
  }

  Tensor operator-() const { return tenon::neg(*this); }
  Tensor operator+() const { return tenon::positive(*this); }
  Tensor operator!() const { return tenon::logical_not(*this); }
  Tensor operator~() const;

  // --- along one dim, sorting, counting: order.h
  Tensor cumsum(int64_t dim, optional<ScalarType> dtype = nullopt) const {
    return tenon::cumsum(*this, dim, dtype);
  }
  Tensor cumprod(int64_t dim, optional<ScalarType> dtype = nullopt) const {
    return tenon::cumprod(*this, dim, dtype);
  }
  std::tuple<Tensor, Tensor> cummax(int64_t dim) const;
  std::tuple<Tensor, Tensor> cummin(int64_t dim) const;
  Tensor logcumsumexp(int64_t dim) const { return tenon::logcumsumexp(*this, dim); }
  std::tuple<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) const;
  std::tuple<Tensor, Tensor> sort(optional<bool> stable, int64_t dim = -1, bool descending = false) const;
  Tensor argsort(int64_t dim = -1, bool descending = false) const {
    return tenon::argsort(*this, dim, descending);
  }
  Tensor argsort(bool stable, int64_t dim, bool descending = false) const {
    return tenon::argsort(*this, stable, dim, descending);
  }
  Tensor msort() const { return tenon::msort(*this); }
  std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) const;
  std::tuple<Tensor, Tensor> kthvalue(int64_t k, int64_t dim = -1, bool keepdim = false) const;
  Tensor median() const { return tenon::median(*this); }
  std::tuple<Tensor, Tensor> median(int64_t dim, bool keepdim = false) const;
  Tensor nanmedian() const { return tenon::nanmedian(*this); }
  std::tuple<Tensor, Tensor> nanmedian(int64_t dim, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> mode(int64_t dim = -1, bool keepdim = false) const;
  Tensor quantile(double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear") const {
    return tenon::quantile(*this, q, dim, keepdim, interpolation);
  }
  Tensor quantile(const Tensor& q, optional<int64_t> dim = nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear") const {
    return tenon::quantile(*this, q, dim, keepdim, interpolation);
  }
  Tensor nanquantile(double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                     std::string_view interpolation = "linear") const {
    return tenon::nanquantile(*this, q, dim, keepdim, interpolation);
  }
  Tensor bincount(const optional<Tensor>& weights = {}, int64_t minlength = 0) const;
  Tensor histc(int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) const {
    return tenon::histc(*this, bins, min, max);
  }

  // --- at places that an index names: indexed.h
  Tensor gather(int64_t dim, const Tensor& index, bool sparse_grad = false) const {
    return tenon::gather(*this, dim, index, sparse_grad);
  }
  Tensor index_select(int64_t dim, const Tensor& index) const {
    return tenon::index_select(*this, dim, index);
  }
  Tensor take(const Tensor& index) const { return tenon::take(*this, index); }
  Tensor take_along_dim(const Tensor& indices, optional<int64_t> dim = nullopt) const {
    return tenon::take_along_dim(*this, indices, dim);
  }
  Tensor masked_select(const Tensor& mask) const { return tenon::masked_select(*this, mask); }
  Tensor nonzero() const { return tenon::nonzero(*this); }
  std::vector<Tensor> nonzero_numpy() const;
  Tensor argwhere() const { return tenon::argwhere(*this); }
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& src) const {
    return tenon::scatter(*this, dim, index, src);
  }
  Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value) const {
    return tenon::scatter(*this, dim, index, value);
  }
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const {
    return tenon::scatter(*this, dim, index, src, reduce);
  }
  Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) const {
    return tenon::scatter(*this, dim, index, value, reduce);
  }
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const {
    return tenon::scatter_add(*this, dim, index, src);
  }
  Tensor scatter_reduce(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                        bool include_self = true) const {
    return tenon::scatter_reduce(*this, dim, index, src, reduce, include_self);
  }
  Tensor index_add(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1) const {
    return tenon::index_add(*this, dim, index, source, alpha);
  }
  Tensor index_copy(int64_t dim, const Tensor& index, const Tensor& source) const {
    return tenon::index_copy(*this, dim, index, source);
  }
  Tensor index_fill(int64_t dim, const Tensor& index, const Scalar& value) const {
    return tenon::index_fill(*this, dim, index, value);
  }
  Tensor index_fill(int64_t dim, const Tensor& index, const Tensor& value) const {
    return tenon::index_fill(*this, dim, index, value);
  }
  Tensor put(const Tensor& index, const Tensor& source, bool accumulate = false) const {
    return tenon::put(*this, index, source, accumulate);
  }
  Tensor masked_scatter(const Tensor& mask, const Tensor& source) const {
    return tenon::masked_scatter(*this, mask, source);
  }

  // --- matrices and their parts: algebra.h, views.h
  Tensor tril(int64_t diagonal = 0) const;
  Tensor triu(int64_t diagonal = 0) const;
  Tensor diag(int64_t diagonal = 0) const;
  Tensor diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) const;
  Tensor diagflat(int64_t offset = 0) const;
  Tensor trace() const;
  Tensor kron(const Tensor& other) const;
  Tensor inner(const Tensor& other) const;
  Tensor vdot(const Tensor& other) const;
  Tensor ger(const Tensor& vec2) const;
  Tensor addr(const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor cross(const Tensor& other, optional<int64_t> dim = nullopt) const;
  Tensor dist(const Tensor& other, const Scalar& p = 2) const;
  Tensor corrcoef() const;
  Tensor nanmean(OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                 optional<ScalarType> dtype = nullopt) const;
  Tensor rot90(int64_t k = 1, IntArrayRef dims = {0, 1}) const;
  Tensor repeat_interleave(int64_t repeats, optional<int64_t> dim = nullopt) const;
  Tensor repeat_interleave(const Tensor& repeats, optional<int64_t> dim = nullopt) const;
  Tensor sum_to_size(IntArrayRef size) const;
  Tensor select_scatter(const Tensor& src, int64_t dim, int64_t index) const;
  Tensor slice_scatter(const Tensor& src, int64_t dim = 0, optional<int64_t> start = nullopt,
                       optional<int64_t> end = nullopt, int64_t step = 1) const;
  Tensor diagonal_scatter(const Tensor& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;

  // For Tenon's own sources.
  explicit Tensor(TensorImpl* impl, bool add_reference = true) noexcept : impl_(impl) {
    if (impl_ && add_reference) detail::retain(impl_);
  }
  TensorImpl* unsafe_impl() const { return impl_; }

 private:
  void* checked_data(ScalarType wanted) const;
  const void* checked_const_data(ScalarType wanted) const;
  void check_accessor(size_t dims, bool narrow = false) const;
  TensorImpl* impl_ = nullptr;
};

#define TENON_OPERATOR(sign, name)                                                            \
  inline Tensor operator sign(const Tensor& a, const Tensor& b) { return tenon::name(a, b); } \
  inline Tensor operator sign(const Tensor& a, const Scalar& b) { return tenon::name(a, b); }
TENON_ARITHMETIC_OPERATORS(TENON_OPERATOR)
TENON_OTHER_OPERATORS(TENON_OPERATOR)
#undef TENON_OPERATOR
#undef TENON_ARITHMETIC_OPERATORS
#undef TENON_OTHER_OPERATORS
#define TENON_OPERATOR(sign, name, mirrored)                                                  \
  inline Tensor operator sign(const Tensor& a, const Tensor& b) { return tenon::name(a, b); } \
  inline Tensor operator sign(const Tensor& a, const Scalar& b) { return tenon::name(a, b); } \
  inline Tensor operator sign(const Scalar& a, const Tensor& b) { return tenon::mirrored(b, a); }
TENON_COMPARISON_OPERATORS(TENON_OPERATOR)
#undef TENON_OPERATOR
#undef TENON_COMPARISON_OPERATORS
inline Tensor operator+(const Scalar& a, const Tensor& b) { return tenon::add(b, a); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return tenon::rsub(b, a); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return tenon::mul(b, a); }
Tensor operator/(const Scalar& a, const Tensor& b);
Tensor operator%(const Scalar& a, const Tensor& b);
inline Tensor operator&(const Scalar& a, const Tensor& b) { return tenon::bitwise_and(b, a); }
inline Tensor operator|(const Scalar& a, const Tensor& b) { return tenon::bitwise_or(b, a); }
inline Tensor operator^(const Scalar& a, const Tensor& b) { return tenon::bitwise_xor(b, a); }

// Over the last dims, whose shape is `normalized_shape`.
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const optional<Tensor>& weight = nullopt,
                  const optional<Tensor>& bias = nullopt, double eps = 1e-5);
Tensor linear(const Tensor& input, const Tensor& weight,
              const optional<Tensor>& bias = nullopt);  // x @ w.t() + b

// How often each of 0, 1, ... occurs in a 1-d tensor of non-negative integers, which is evaluated at the call.
Tensor bincount(const Tensor& self, const optional<Tensor>& weights = nullopt, int64_t minlength = 0);

// --- places in a sorted sequence: the first that keeps the order (right: the last)
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32 = false,
                    bool right = false, optional<std::string_view> side = nullopt,
                    const optional<Tensor>& sorter = nullopt);
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32 = false,
                    bool right = false, optional<std::string_view> side = nullopt,
                    const optional<Tensor>& sorter = nullopt);

// Evaluates all of them together, in one graph.
void eval(TensorList tensors);
inline void eval(const Tensor& tensor) { eval(TensorList(tensor)); }
template <typename... More>
void eval(const Tensor& first, const Tensor& second, const More&... more) {
  eval(TensorList({first, second, more...}));
}

std::string repr(const Tensor& tensor);  // Python's: tensor([1., 2.], dtype=tenon.float16)
std::string repr(ScalarType type);       // tenon.float16
std::string repr(const Device& device);  // device(type='cuda', index=0)
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);  // repr

}  // namespace tenon

#include "tenon/indexing.h"
#include "tenon/views.h"
