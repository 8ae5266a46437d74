// Element types, 16-bit floats, scalars, devices: names, conversions, promotion of two types.
#include "tenon/types.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <ostream>

#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"

namespace tenon {
namespace {

constexpr int kTypes = ir::kDTypeCount;
constexpr const char* kEnumNames[kTypes] = {"Bool", "Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double"};
constexpr const char* kCppNames[kTypes] = {"bool",     "unsigned char", "signed char",   "short int", "int",
                                           "long int", "c10::Half",     "c10::BFloat16", "float",     "double"};
constexpr const char* kPythonNames[kTypes] = {"bool",  "uint8",   "int8",     "int16",   "int32",
                                              "int64", "float16", "bfloat16", "float32", "float64"};

// Those of PyTorch's texts about numbers that do not fit.
constexpr const char* kConversionNames[kTypes] = {"bool",    "uint8_t",   "int8_t",        "int16_t", "int",
                                                  "int64_t", "c10::Half", "c10::BFloat16", "float",   "double"};

std::atomic<ScalarType> default_type{kFloat32};

int category(ScalarType t) { return t == kBool ? 0 : isFloatingType(t) ? 2 : 1; }

// The number after "cuda:"; -1 if it is not one.
int parse_index(std::string_view digits) {
  if (digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0')) return -1;
  int value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value <= 127 ? value : -1;
}

}  // namespace

int64_t elementSize(ScalarType t) { return ir::item_size(ir_type(t)); }
const char* toString(ScalarType t) { return kEnumNames[static_cast<int>(t)]; }
std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }
const char* TypeMeta::name() const { return kCppNames[static_cast<int>(type_)]; }
std::ostream& operator<<(std::ostream& out, TypeMeta type) { return out << type.name(); }
const char* dtype_name(ScalarType t) { return kPythonNames[static_cast<int>(t)]; }
std::string repr(ScalarType t) { return std::string("tenon.") + kPythonNames[static_cast<int>(t)]; }

ScalarType get_default_dtype_as_scalartype() { return default_type.load(std::memory_order_relaxed); }
void set_default_dtype(ScalarType t) { default_type = t; }

ScalarType promoteTypes(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (a > b) std::swap(a, b);
  if (a == kByte) return b == kChar ? kShort : b;  // the one unsigned type
  if (a == kHalf && b == kBFloat16) return kFloat;
  return b;
}

bool canCast(ScalarType from, ScalarType to) {
  if (category(from) == 2 && category(to) < 2) return false;
  return from == kBool || to != kBool;
}

// --- 16-bit floats

double largest(ScalarType type) {
  constexpr double values[] = {65504.0, 0x1.fep127, std::numeric_limits<float>::max(), std::numeric_limits<double>::max()};
  return values[static_cast<int>(type) - static_cast<int>(kHalf)];
}

Half::Half(float value) : bits(ir::float_to_half(value)) {}
Half::operator float() const { return ir::half_to_float(bits); }
BFloat16::BFloat16(float value) : bits(ir::float_to_bfloat16(value)) {}
BFloat16::operator float() const { return ir::bfloat16_to_float(bits); }

// --- scalars

namespace {
[[noreturn]] void overflow(ScalarType type) {
  throw Error(text("value cannot be converted to type ", kConversionNames[static_cast<int>(type)], " without overflow"));
}
}  // namespace

int64_t Scalar::toLong() const { return as_integer(kLong); }

bool fits_integer(const Scalar& value, ScalarType type) {
  if (type == kBool) return true;
  const int bits = static_cast<int>(8 * elementSize(type)) - (type == kByte ? 0 : 1);  // without the sign
  if (value.isFloatingPoint()) {
    const double end = std::ldexp(1.0, bits), lowest = type == kByte ? 0 : -end;
    return value.toDouble() >= lowest && value.toDouble() < end;
  }
  const int64_t hi = static_cast<int64_t>((uint64_t{1} << bits) - 1);
  // The unsigned type takes negative numbers of its magnitude, and wraps them.
  const int64_t lo = type == kByte ? -hi : -hi - 1;
  return type == kLong || (value.toLong() >= lo && value.toLong() <= hi);
}

int64_t Scalar::as_integer(ScalarType type) const {
  if (type == kBool) return toBool();
  if (!fits_integer(*this, type)) overflow(type);
  const int64_t whole = kind_ == Kind::Real ? static_cast<int64_t>(real_) : integer_;
  return type == kByte ? whole & 0xff : whole;
}

double Scalar::as_real(ScalarType type) const {
  const double value = toDouble();
  if (std::isfinite(value) && std::abs(value) > largest(type)) overflow(type);
  return value;
}

Scalar Scalar::operator-() const {
  if (kind_ == Kind::Real) return -real_;
  return static_cast<int64_t>(-static_cast<uint64_t>(integer_));
}

ir::Constant element_of(const Scalar& value, ScalarType type) {
  if (isFloatingType(type)) {
    const double real = value.as_real(type);
    return value.isFloatingPoint() ? ir::constant(ir_type(type), real) : ir::constant(ir_type(type), value.toLong());  // rounds once
  }
  return ir::constant(ir_type(type), value.as_integer(type));
}

ir::Constant wrapped(const Scalar& value, DType type) {
  return value.isFloatingPoint() ? ir::constant(type, value.toDouble()) : ir::constant(type, value.toLong());
}

std::ostream& operator<<(std::ostream& out, const Scalar& value) {
  if (value.isBoolean()) return out << (value.toBool() ? "true" : "false");
  TextStream number;
  number.precision(out.precision());
  number.flags(out.flags());
  if (value.isFloatingPoint()) number << value.toDouble();
  else number << value.toLong();
  return out << number.str();
}

std::ostream& operator<<(std::ostream& out, IntArrayRef values) {
  std::string list;  // one string: a stream's width holds for the whole
  for (int64_t value : values) list += (list.empty() ? "" : ", ") + std::to_string(value);
  return out << "[" + list + "]";
}

// --- devices

namespace {
constexpr const char* kDeviceNames[] = {"cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
                                        "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
                                        "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};
constexpr int kDeviceTypes = sizeof kDeviceNames / sizeof *kDeviceNames;
static_assert(kDeviceTypes == static_cast<int>(DeviceType::PrivateUse1) + 1, "a name for each");
}  // namespace

bool isValidDeviceType(DeviceType type) { return static_cast<int>(type) >= 0 && static_cast<int>(type) < kDeviceTypes; }
std::string DeviceTypeName(DeviceType type, bool lower_case) {
  check(isValidDeviceType(type), "Unknown device: ", static_cast<int>(type),
        ". If you have recently updated the caffe2.proto file to add a new device type, did you forget to "
        "update the DeviceTypeName() function to reflect such recent changes?");
  std::string name = kDeviceNames[static_cast<int>(type)];
  if (lower_case) return name;
  for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
  return name;
}
std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << DeviceTypeName(type, true); }

std::ostream& operator<<(std::ostream& out, Layout layout) {
  constexpr const char* kNames[] = {"Strided", "Sparse", "SparseCsr", "Mkldnn", "SparseCsc", "SparseBsr", "SparseBsc", "Jagged"};
  return out << kNames[static_cast<int>(layout)];
}

std::ostream& operator<<(std::ostream& out, const TensorOptions& options) {
  const auto own = [](bool given) { return given ? "" : " (default)"; };
  const auto shown = [](bool value) { return value ? "true" : "false"; };
  return out << "TensorOptions(dtype=" << options.dtype() << own(options.has_dtype()) << ", device=" << options.device()
             << own(options.has_device()) << ", layout=" << options.layout() << own(options.has_layout())
             << ", requires_grad=" << shown(options.requires_grad()) << own(options.has_requires_grad())
             << ", pinned_memory=" << shown(options.pinned_memory()) << own(options.has_pinned_memory()) << ", memory_format=(nullopt))";
}

Device::Device(DeviceType type, DeviceIndex index) : type_(type), index_(index) { check(index >= -1, "Device index must not be negative"); }

Device::Device(const std::string& name) : type_(kCPU), index_(-1) {
  check(!name.empty(), "Device string must not be empty");
  const size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const bool well_formed = kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  check(well_formed && !kind.empty(), "Invalid device string: '", name, "'");
  const auto* found = std::find(std::begin(kDeviceNames), std::end(kDeviceNames), kind);
  check(found != std::end(kDeviceNames), "Expected one of cpu, cuda device type at start of device string: ", kind);
  type_ = static_cast<DeviceType>(found - kDeviceNames);
  if (colon == std::string::npos) return;
  const int index = parse_index(std::string_view(name).substr(colon + 1));
  check(index >= 0, "Invalid device string: '", name, "'");
  index_ = static_cast<DeviceIndex>(index);
}

std::string Device::str() const {
  const std::string name = DeviceTypeName(type_, true);
  return index_ < 0 ? name : name + ":" + std::to_string(static_cast<int>(index_));
}
std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }
std::string repr(const Device& device) {
  const std::string type = DeviceTypeName(device.type(), true);
  if (!device.has_index()) return "device(type='" + type + "')";
  return "device(type='" + type + "', index=" + std::to_string(static_cast<int>(device.index())) + ")";
}

// --- dims

void refuse_dim(int64_t dim, int64_t limit) {
  throw IndexError(text("Dimension out of range (expected to be in range of [", -limit, ", ", limit - 1, "], but got ", dim, ")"));
}

Dims wrap_dims(OptionalIntArrayRef dims, int64_t rank) {
  SmallVector<bool, 16> seen(static_cast<size_t>(rank > 0 ? rank : 1), !dims.has_value() || dims.value().empty());
  if (dims.has_value()) {
    for (int64_t dim : dims.value()) {
      const size_t d = wrap_dim(dim, rank);
      check(!seen[d], "dim ", d, " appears multiple times in the list of dims");
      seen[d] = true;
    }
  }
  Dims result;
  for (int64_t d = 0; d < rank; ++d) {
    if (seen[d]) result.push_back(d);
  }
  return result;
}

int64_t checked_numel(IntArrayRef sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    check(size >= 0, "Trying to create tensor with negative dimension ", size, ": ", sizes);
    check(!__builtin_mul_overflow(count, size, &count) && count < int64_t{1} << 58, "numel: integer multiplication overflow");
  }
  return count;
}

}  // namespace tenon
