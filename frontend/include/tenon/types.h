// Element types, 16-bit floats, devices, scalars and the options that creation functions take.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "tenon/array_ref.h"
#include "tenon/error.h"

namespace tenon {

// Ordered: within one category a larger value is a wider type.
enum class ScalarType : uint8_t { Bool, Byte, Char, Short, Int, Long, Half, BFloat16, Float, Double };
using Dtype = ScalarType;

inline constexpr ScalarType kBool = ScalarType::Bool;
inline constexpr ScalarType kUInt8 = ScalarType::Byte, kByte = kUInt8;
inline constexpr ScalarType kInt8 = ScalarType::Char, kChar = kInt8;
inline constexpr ScalarType kInt16 = ScalarType::Short, kShort = kInt16;
inline constexpr ScalarType kInt32 = ScalarType::Int, kInt = kInt32;
inline constexpr ScalarType kInt64 = ScalarType::Long, kLong = kInt64;
inline constexpr ScalarType kFloat16 = ScalarType::Half, kHalf = kFloat16;
inline constexpr ScalarType kBFloat16 = ScalarType::BFloat16;
inline constexpr ScalarType kFloat32 = ScalarType::Float, kFloat = kFloat32;
inline constexpr ScalarType kFloat64 = ScalarType::Double, kDouble = kFloat64;

constexpr bool isFloatingType(ScalarType t) { return t >= ScalarType::Half; }
constexpr bool isIntegralType(ScalarType t, bool include_bool) { return t == ScalarType::Bool ? include_bool : t <= ScalarType::Long; }
int64_t elementSize(ScalarType t);                          // bytes
const char* toString(ScalarType t);                         // "Float"
std::ostream& operator<<(std::ostream& out, ScalarType t);  // Float
ScalarType promoteTypes(ScalarType a, ScalarType b);        // of two dimensioned tensors
bool canCast(ScalarType from, ScalarType to);               // may a result of `from` be written into `to`?
inline ScalarType promote_types(ScalarType a, ScalarType b) { return promoteTypes(a, b); }
inline bool can_cast(ScalarType from, ScalarType to) { return canCast(from, to); }
ScalarType get_default_dtype_as_scalartype();  // kFloat32 unless changed
// Sets the dtype of tensors made without one. With an integer type functions that need a float type are not implemented.
void set_default_dtype(ScalarType t);

template <typename T>
constexpr ScalarType scalar_type_of();

// What Tensor::dtype() returns: converts to ScalarType and prints C++'s name of the type ("float", "long
// int").
class TypeMeta {
 public:
  TypeMeta(ScalarType type) : type_(type) {}
  template <typename T>
  static TypeMeta Make() {
    return scalar_type_of<T>();
  }
  static TypeMeta fromScalarType(ScalarType type) { return type; }
  operator ScalarType() const { return type_; }
  ScalarType toScalarType() const { return type_; }
  template <typename T>
  bool Match() const {
    return type_ == scalar_type_of<T>();
  }
  int64_t itemsize() const { return elementSize(type_); }
  const char* name() const;
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
  friend bool operator==(TypeMeta a, ScalarType b) { return a.type_ == b; }

 private:
  ScalarType type_;
};
std::ostream& operator<<(std::ostream& out, TypeMeta type);
inline ScalarType typeMetaToScalarType(TypeMeta type) { return type.toScalarType(); }
inline TypeMeta scalarTypeToTypeMeta(ScalarType type) { return type; }
inline TypeMeta get_default_dtype() { return get_default_dtype_as_scalartype(); }

// IEEE binary16 and bfloat16 as storage; arithmetic goes through float. Rounded to nearest even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float value);
  operator float() const;
};
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value);
  operator float() const;
};

// The ScalarType of a C++ element type; long, long long and int64_t are all Long.
template <typename T>
constexpr ScalarType scalar_type_of() {
  if constexpr (std::is_same_v<T, bool>) return kBool;
  else if constexpr (std::is_same_v<T, Half>) return kHalf;
  else if constexpr (std::is_same_v<T, BFloat16>) return kBFloat16;
  else if constexpr (std::is_same_v<T, float>) return kFloat;
  else if constexpr (std::is_same_v<T, double>) return kDouble;
  else {
    static_assert(std::is_integral_v<T>, "not an element type");
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> || std::is_same_v<T, char> ? kChar : kByte;
    else {
      static_assert(std::is_signed_v<T>, "unsigned element types other than uint8_t do not exist");
      return sizeof(T) == 2 ? kShort : sizeof(T) == 4 ? kInt : kLong;
    }
  }
}

// One number of any element type. Promotes like a Python number: below every tensor of its category.
class Scalar {
 public:
  Scalar() = default;
  template <typename T>
  requires std::is_arithmetic_v<T> Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::Bool;
      integer_ = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = Kind::Integer;
      integer_ = static_cast<int64_t>(value);
    } else {
      kind_ = Kind::Real;
      real_ = static_cast<double>(value);
    }
  }
  Scalar(Half value) : Scalar(static_cast<float>(value)) {}
  Scalar(BFloat16 value) : Scalar(static_cast<float>(value)) {}

  bool isFloatingPoint() const { return kind_ == Kind::Real; }
  bool isIntegral(bool include_bool) const { return kind_ == Kind::Integer || (include_bool && kind_ == Kind::Bool); }
  bool isBoolean() const { return kind_ == Kind::Bool; }
  ScalarType type() const { return kind_ == Kind::Real ? kDouble : kind_ == Kind::Bool ? kBool : kLong; }

  // The value as another type; Error "value cannot be converted to type int without overflow" if it does not
  // fit.
  template <typename T>
  T to() const;
  double toDouble() const { return kind_ == Kind::Real ? real_ : static_cast<double>(integer_); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const;
  int toInt() const { return to<int>(); }
  bool toBool() const { return kind_ == Kind::Real ? real_ != 0 : integer_ != 0; }
  // As PyTorch puts a number into a type: uint8 takes -255..255 and wraps, what else does not fit is an
  // Error.
  int64_t as_integer(ScalarType type) const;
  double as_real(ScalarType type) const;
  Scalar operator-() const;
  friend bool operator==(const Scalar& a, const Scalar& b) {
    return a.kind_ == Kind::Real || b.kind_ == Kind::Real ? a.toDouble() == b.toDouble() : a.integer_ == b.integer_;
  }

 private:
  enum class Kind : uint8_t { Bool, Integer, Real } kind_ = Kind::Integer;
  int64_t integer_ = 0;
  double real_ = 0;
};
std::ostream& operator<<(std::ostream& out, const Scalar& value);

template <typename T>
T Scalar::to() const {
  if constexpr (std::is_same_v<T, bool>) return toBool();
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(as_integer(scalar_type_of<T>()));
  else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(as_real(scalar_type_of<T>()));
  else return T(static_cast<float>(as_real(scalar_type_of<T>())));  // the 16-bit floats
}

// LibTorch's kinds of devices. Tensors live on CPU and CUDA devices; the others have a name and no more.
enum class DeviceType : int8_t {
  CPU,
  CUDA,
  MKLDNN,
  OPENGL,
  OPENCL,
  IDEEP,
  HIP,
  FPGA,
  MAIA,
  XLA,
  Vulkan,
  Metal,
  XPU,
  MPS,
  Meta,
  HPU,
  VE,
  Lazy,
  IPU,
  MTIA,
  PrivateUse1
};
inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kHIP = DeviceType::HIP, kXLA = DeviceType::XLA,
                            kVulkan = DeviceType::Vulkan, kMetal = DeviceType::Metal, kXPU = DeviceType::XPU, kMPS = DeviceType::MPS,
                            kMeta = DeviceType::Meta, kHPU = DeviceType::HPU, kMTIA = DeviceType::MTIA,
                            kPrivateUse1 = DeviceType::PrivateUse1;
using DeviceIndex = int8_t;
std::string DeviceTypeName(DeviceType type, bool lower_case = false);  // "CPU"
bool isValidDeviceType(DeviceType type);                               // is there a name for the number?
std::ostream& operator<<(std::ostream& out, DeviceType type);          // cpu

// "cpu", "cuda", "cuda:1". An index of -1 means the current device. A malformed text is an Error.
class Device {
 public:
  using Type = DeviceType;
  Device(DeviceType type, DeviceIndex index = -1);
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cpu() const { return type_ == kCPU; }
  bool is_cuda() const { return type_ == kCUDA; }
  bool is_meta() const { return type_ == kMeta; }
  bool is_mps() const { return type_ == kMPS; }
  bool is_privateuseone() const { return type_ == kPrivateUse1; }
  void set_index(DeviceIndex index) { *this = Device(type_, index); }
  std::string str() const;  // "cuda:1"
  friend bool operator==(const Device& a, const Device& b) { return a.type_ == b.type_ && a.index_ == b.index_; }

 private:
  DeviceType type_;
  DeviceIndex index_;
};
std::ostream& operator<<(std::ostream& out, const Device& device);  // cuda:1

// The order of the dims in memory: row-major, as the operand's, or with dim 1 innermost (of 4 or 5 dims).
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

// How elements are stored. Every tensor is Strided; asking for another is an Error where a tensor is made.
enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged };
inline constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse, kSparseCsr = Layout::SparseCsr, kMkldnn = Layout::Mkldnn,
                        kSparseCsc = Layout::SparseCsc, kSparseBsr = Layout::SparseBsr, kSparseBsc = Layout::SparseBsc,
                        kJagged = Layout::Jagged;
std::ostream& operator<<(std::ostream& out, Layout layout);  // Strided

// Where and of what type a new tensor is; what is not set takes the function's default.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions(TypeMeta type) : dtype_(type.toScalarType()) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType device) : device_(Device(device)) {}
  TensorOptions(Layout layout) : layout_(layout) {}

  [[nodiscard]] TensorOptions dtype(optional<ScalarType> type) const {
    TensorOptions result = *this;
    result.dtype_ = type;
    return result;
  }
  [[nodiscard]] TensorOptions device(optional<Device> device) const {
    TensorOptions result = *this;
    result.device_ = device;
    return result;
  }
  [[nodiscard]] TensorOptions device(DeviceType type, DeviceIndex index) const { return device(Device(type, index)); }
  [[nodiscard]] TensorOptions device_index(DeviceIndex index) const { return device(Device(kCUDA, index)); }
  [[nodiscard]] TensorOptions pinned_memory(optional<bool> value) const {  // of the host, for copies to CUDA devices
    TensorOptions result = *this;
    result.pinned_memory_ = value;
    return result;
  }
  [[nodiscard]] TensorOptions requires_grad(bool value) const {
    TensorOptions result = *this;
    result.requires_grad_ = value;
    return result;
  }
  [[nodiscard]] TensorOptions layout(Layout layout) const {
    TensorOptions result = *this;
    result.layout_ = layout;
    return result;
  }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  bool has_requires_grad() const { return requires_grad_.has_value(); }
  bool has_layout() const { return layout_.has_value(); }
  bool has_pinned_memory() const { return pinned_memory_.has_value(); }
  bool pinned_memory() const { return pinned_memory_.value_or(false); }
  optional<bool> pinned_memory_opt() const { return pinned_memory_; }
  Layout layout() const { return layout_.value_or(kStrided); }
  optional<Device> device_opt() const { return device_; }
  TypeMeta dtype() const { return dtype_.value_or(get_default_dtype()); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  bool requires_grad() const { return requires_grad_.value_or(false); }

 private:
  optional<ScalarType> dtype_ = nullopt;
  optional<Device> device_ = nullopt;
  optional<bool> requires_grad_ = nullopt;
  optional<Layout> layout_ = nullopt;
  optional<bool> pinned_memory_ = nullopt;
};
std::ostream& operator<<(std::ostream& out, const TensorOptions& options);  // TensorOptions(dtype=float (default), ...)

class Tensor;
namespace cuda {
class CUDAStream;
}
namespace detail {
const optional<Tensor>& no_tensor();  // nullopt, as a default argument where Tensor is not complete yet
}

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device where) { return TensorOptions(where); }
inline TensorOptions device_index(DeviceIndex index) { return TensorOptions().device_index(index); }
inline TensorOptions layout(Layout layout) { return TensorOptions(layout); }
inline TensorOptions requires_grad(bool value = true) { return TensorOptions().requires_grad(value); }

}  // namespace tenon

template <>
struct std::hash<tenon::Device> {
  size_t operator()(const tenon::Device& device) const noexcept {
    return static_cast<size_t>(device.type()) << 8 | static_cast<uint8_t>(device.index());
  }
};
