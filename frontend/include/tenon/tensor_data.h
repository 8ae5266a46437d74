// Tensors of numbers that are there: tensor(...) copies them, from_blob(...) shares their memory.
#pragma once

#include <concepts>
#include <string_view>

#include "tenon/tensor.h"

namespace tenon {

// An element type of tensors in C++.
template <typename T>
concept Element = std::is_arithmetic_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Elements in a row in memory: std::vector, std::array, std::span, ArrayRef.
template <typename R>
concept ElementRange = requires(const R& range) {
  requires Element<std::remove_cvref_t<decltype(*range.data())>>;
  { range.size() } -> std::same_as<size_t>;
}
&&!std::is_convertible_v<R, std::string_view>;

// What tensor(...) accepts: a number, nested braces of numbers, or a range of elements. Holds pointers into
// its arguments.
class TensorData {
 public:
  TensorData() : list_(true) {}
  template <Element T>
  TensorData(T value) : number_(value), type_(scalar_type_of<T>()) {}
  TensorData(const Scalar& value) : number_(value), type_(value.type()) {}
  TensorData(const std::initializer_list<TensorData>& items) : items_(detail::elements(items)), count_(items.size()), list_(true) {}
  template <ElementRange R>
  TensorData(const R& values)
      : elements_(values.data()),
        count_(values.size()),
        type_(scalar_type_of<std::remove_cvref_t<decltype(*values.data())>>()),
        list_(true),
        range_(true) {}
  TensorData(const std::vector<bool>& values);

  bool is_list() const { return list_; }
  size_t count() const { return count_; }
  bool is_range() const { return range_; }            // a vector, even an empty one
  const TensorData* items() const { return items_; }  // of braces
  const void* elements() const { return elements_; }  // of a vector
  const Scalar& number() const { return number_; }    // of a number
  ScalarType type() const { return type_; }           // of a number or a vector's elements
  // {{1, 2}, {3, 4}}. A friend, or it would be one more way to print a vector.
  friend std::ostream& operator<<(std::ostream& out, const TensorData& data);

 private:
  const TensorData* items_ = nullptr;
  const void* elements_ = nullptr;
  size_t count_ = 0;
  Scalar number_ = 0;
  ScalarType type_ = kFloat;
  bool list_ = false, range_ = false;
  std::vector<uint8_t> packed_ = {};  // a vector<bool>, one byte each
};
namespace detail {
using TensorDataContainer = TensorData;  // LibTorch's name
}

// A copy of the data, whose numbers must be of one type and whose lists must make a box (else Error). Without a dtype: bool stays bool,
// ints become int64, float and double the default float type.
Tensor tensor(const TensorData& data, const TensorOptions& options = {});

namespace detail {
struct Deleter {  // of memory that somebody else owns
  virtual ~Deleter() = default;
  virtual void run(void* data) = 0;
};
Tensor adopt(void* data, IntArrayRef sizes, optional<IntArrayRef> strides, Deleter* deleter, const TensorOptions& options,
             const char* who = "from_blob");
// Calls f(data); the caller owns it until a tensor does.
template <typename F>
Deleter* make_deleter(F f) {
  struct Runner final : Deleter {
    explicit Runner(F function) : f(std::move(function)) {}
    void run(void* memory) override { f(memory); }
    F f;
  };
  return new Runner(std::move(f));
}
}  // namespace detail

// Shares `data`, row-major or with the given strides in elements (not negative; elements may overlap). The
// memory must outlive the tensor, or be freed by deleter(data), which runs once, when the last user is gone,
// and not at all if from_blob throws. An operation reads it at its call, so the memory may change or go
// afterwards: it stores its result, or a copy of what it read, whichever is smaller. If the memory does not change,
// say so: from_blob(...).promise_unchanged() reads it in place, fused and when a value is needed.
// With options.device(kCUDA) it is memory of that GPU, aligned to 16 bytes. It is read when a value is computed, in the
// device's order: other streams that write it, and who frees it, come after cuda::synchronize(). The deleter runs after the work.
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
template <typename F>
requires std::is_invocable_v<F, void*> Tensor from_blob(void* data, IntArrayRef sizes, F deleter, const TensorOptions& options = {}) {
  return detail::adopt(data, sizes, nullopt, detail::make_deleter(std::move(deleter)), options);
}
template <typename F>
requires std::is_invocable_v<F, void*> Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, F deleter,
                                                        const TensorOptions& options = {}) {
  return detail::adopt(data, sizes, strides, detail::make_deleter(std::move(deleter)), options);
}

}  // namespace tenon
