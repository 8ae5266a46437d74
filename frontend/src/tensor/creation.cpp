// Functions that make tensors: from numbers, from ranges, from memory of others.
#include "tenon/creation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/devices.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "runtime/device/device.h"

namespace tenon {
namespace {

// Options as a creation function accepts them.
void check_options(const TensorOptions& options, ScalarType type) {
  check_device(options.device());
  check(options.layout() == kStrided, "tensors of Tenon are Strided, but got layout ", options.layout());
  check(!options.requires_grad() || isFloatingType(type), "Only Tensors of floating point and complex dtype can require gradients");
}

Tensor finish(Tensor result, const TensorOptions& options) {
  const ir::DeviceTag device = options.has_device() ? tag_of(options.device()) : call_device();
  if (device != impl(result).device()) result = result.to(device_with(device));
  if (options.pinned_memory()) result = result.pin_memory();
  if (options.requires_grad()) result.requires_grad_();
  return result;
}

// A number among data: floats that are too large become infinite.
ir::Constant datum(const Scalar& value, ScalarType type) {
  if (isFloatingType(type)) return wrapped(value, ir_type(type));
  check(fits_integer(value, type), "value cannot be converted to type ", dtype_name(type), " without overflow");
  return element_of(value, type);
}

Tensor filled(IntArrayRef size, const Scalar& value, ScalarType type, const TensorOptions& options) {
  check_options(options, type);
  checked_numel(size);
  return finish(record(ir::make_const(element_of(value, type), span_of(size))), options);
}

ScalarType like_type(const Tensor& self, const TensorOptions& options) {
  return options.has_dtype() ? options.dtype().toScalarType() : self.scalar_type();
}

// --- nested data

size_t element_bytes(ScalarType type) { return static_cast<size_t>(elementSize(type)); }

ir::Constant vector_element(const TensorData& data, size_t i) {
  ir::Constant c{ir_type(data.type()), 0};
  const size_t size = element_bytes(data.type());
  std::memcpy(&c.bits, static_cast<const unsigned char*>(data.elements()) + i * size, size);
  return c;
}

// What braces make: a box of one type, else an Error as LibTorch words it.
struct Box {
  std::vector<int64_t> sizes;
  ScalarType type;

  std::string sizes_text() const {
    std::string list;
    for (int64_t size : sizes) list += (list.empty() ? "" : " ") + std::to_string(size);
    return list;
  }
};

Box measured(const TensorData& data) {
  if (!data.is_list()) return {{}, data.type()};
  const int64_t count = data.count();
  if (!data.items()) return {{count}, data.is_range() ? data.type() : kFloat};
  const Box first = measured(data.items()[0]);
  for (size_t i = 1; i < data.count(); ++i) {
    const TensorData& item = data.items()[i];
    const Box box = measured(item);
    check(box.sizes == first.sizes, "Expected all sub-lists to have sizes: ", first.sizes_text(), " (e.g. ", data.items()[0],
          "), but got sub-list ", item, " with sizes: ", box.sizes_text());
    check(box.type == first.type, "Expected all elements of the tensor to have the same scalar type: ", first.type,
          ", but got element of scalar type: ", box.type);
  }
  Box box{{count}, first.type};
  box.sizes.insert(box.sizes.end(), first.sizes.begin(), first.sizes.end());
  return box;
}

// int and long literals are int64; float and double ones the default float type.
ScalarType literal_type(ScalarType type) {
  if (type == kFloat || type == kDouble) return get_default_dtype();
  return type == kInt ? kLong : type;
}

void write_elements(const TensorData& data, ScalarType type, unsigned char*& out) {
  const size_t size = element_bytes(type);
  auto put = [&](ir::Constant c) {
    std::memcpy(out, &c.bits, size);
    out += size;
  };
  if (!data.is_list()) {
    put(datum(data.number(), type));
  } else if (data.items()) {
    for (size_t i = 0; i < data.count(); ++i) write_elements(data.items()[i], type, out);
  } else if (data.type() == type && data.count() > 0) {
    std::memcpy(out, data.elements(), size * data.count());
    out += size * data.count();
  } else {
    for (size_t i = 0; i < data.count(); ++i) put(ir::cast(vector_element(data, i), ir_type(type)));
  }
}

// --- ranges

Expr index_along(const Dims& shape, int64_t dim, DType type) { return {ir::cast(ir::make_iota(shape, dim), type)}; }

// Elements of an integer range start at `start` and step by `step`, without rounding.
Tensor integer_range(int64_t start, int64_t step, int64_t count, ScalarType type) {
  const Expr i = index_along(Dims{count}, 0, DType::I64);
  return record_as(i * number(i, Scalar(step)) + number(i, Scalar(start)), type);
}

// Bounds that are given as tensors: 0-dim, and evaluated.
void check_bounds(const char* who, int64_t start_dims, int64_t end_dims) {
  if (start_dims == 0 && end_dims == 0) return;
  const std::string start = start_dims ? text("start with ", start_dims, " dimension(s)") : "";
  const std::string end = end_dims ? text("end with ", end_dims, " dimension(s)") : "";
  throw Error(
      text(who, " only supports 0-dimensional start and end tensors, but got ", start, start_dims && end_dims ? " and " : "", end, "."));
}
int64_t dims_of_bound(const Tensor& x) { return x.dim(); }
int64_t dims_of_bound(const Scalar&) { return 0; }
Scalar bound(const Tensor& x) { return x.item(); }
Scalar bound(const Scalar& x) { return x; }

template <typename A, typename B>
Tensor linspace_between(const A& start, const B& end, int64_t steps, const TensorOptions& options) {
  check_bounds("linspace", dims_of_bound(start), dims_of_bound(end));
  return linspace(bound(start), bound(end), steps, options);
}
template <typename A, typename B>
Tensor logspace_between(const A& start, const B& end, int64_t steps, double base, const TensorOptions& options) {
  check_bounds("logspace", dims_of_bound(start), dims_of_bound(end));
  return logspace(bound(start), bound(end), steps, base, options);
}

}  // namespace

TensorData::TensorData(const std::vector<bool>& values)
    : count_(values.size()), type_(kBool), list_(true), range_(true), packed_(values.begin(), values.end()) {
  elements_ = packed_.data();
}

// A bool is 1 or 0.
std::ostream& operator<<(std::ostream& out, const TensorData& data) {
  if (!data.is_list()) return out << (data.number().isBoolean() ? Scalar(data.number().toLong()) : data.number());
  out << '{';
  for (size_t i = 0; i < data.count(); ++i) {
    out << (i ? ", " : "");
    if (data.items()) {
      out << data.items()[i];
    } else {
      const ir::Constant c = vector_element(data, i);
      out << (ir::is_float(c.dtype) ? Scalar(ir::to_double(c)) : Scalar(ir::to_int64(c)));
    }
  }
  return out << '}';
}

Tensor tensor(const TensorData& data, const TensorOptions& options) {
  const Box box = measured(data);
  const ScalarType type = options.has_dtype() ? options.dtype().toScalarType() : literal_type(box.type);
  check_options(options, type);
  auto buffer = allocate_buffer(static_cast<size_t>(checked_numel(box.sizes)) * element_bytes(type));
  auto* out = static_cast<unsigned char*>(buffer->data());
  write_elements(data, type, out);
  return finish(tensor_from_buffer(ir_type(type), box.sizes, std::move(buffer)), options);
}

// --- constants

Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  const CallScope call("scalar_tensor", value);
  return filled({}, value, options.dtype(), options);
}
Tensor zeros(IntArrayRef size, const TensorOptions& options) {
  for (int64_t s : size) check(s >= 0, "zeros: Dimension size must be non-negative.");
  return filled(size, 0, options.dtype(), options);
}
Tensor ones(IntArrayRef size, const TensorOptions& options) { return filled(size, 1, options.dtype(), options); }
Tensor empty(IntArrayRef size, const TensorOptions& options) { return filled(size, 0, options.dtype(), options); }
Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& options) {
  const CallScope call("full", value);
  const ScalarType natural = value.isFloatingPoint() ? get_default_dtype_as_scalartype() : value.type();
  return filled(size, value, options.has_dtype() ? options.dtype().toScalarType() : natural, options);
}
Tensor zeros_like(const Tensor& self, const TensorOptions& options) { return full_like(self, 0, options); }
Tensor ones_like(const Tensor& self, const TensorOptions& options) { return full_like(self, 1, options); }
Tensor full_like(const Tensor& self, const Scalar& value, const TensorOptions& options) {
  const CallScope call("full_like", self, value);
  const ScalarType type = like_type(self, options);
  check_options(options, type);
  return finish(record(ir::make_const(element_of(value, type), span_of(self.sizes())), self),
                options.has_device() ? options : options.device(self.device()));
}

Tensor eye(int64_t n, const TensorOptions& options) { return eye(n, n, options); }
Tensor eye(int64_t n, int64_t m, const TensorOptions& options) {
  check(n >= 0, "n must be greater or equal to 0, got ", n);
  check(m >= 0, "m must be greater or equal to 0, got ", m);
  const ScalarType type = options.dtype();
  check_options(options, type);
  const Dims shape{n, m};
  checked_numel(ref(shape));
  if (n == 0 || m == 0) return zeros(ref(shape), options);
  const Expr same = index_along(shape, 0, DType::I64) == index_along(shape, 1, DType::I64);
  return finish(record_as(same, type), options);
}

// --- ranges

Tensor arange(const Scalar& end, const TensorOptions& options) { return arange(0, end, 1, options); }
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  const CallScope call("arange", start, end);
  return arange(start, end, 1, options);
}
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const CallScope call("arange", start, end, step);
  const bool integers = start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
  const ScalarType type = options.has_dtype() ? options.dtype().toScalarType() : integers ? kLong : get_default_dtype_as_scalartype();
  check_options(options, type);
  const double first = start.toDouble(), last = end.toDouble(), by = step.toDouble();
  check(by != 0, "step must be nonzero");
  check(std::isfinite(first) && std::isfinite(last), "unsupported range: ", first, " -> ", last);
  check((by > 0 && last >= first) || (by < 0 && last <= first), "upper bound and lower bound inconsistent with step sign");
  const double length = std::ceil((last - first) / by);
  check(length < 0x1p58, "invalid size, possible overflow?");
  const int64_t count = length;
  if (count == 0) return zeros({0}, options.dtype(type));
  if (integers) return finish(integer_range(start.toLong(), step.toLong(), count, type), options);
  const Expr i = index_along(Dims{count}, 0, DType::F64);
  return finish(record_as(i * by + first, type), options);
}

// PyTorch's rounding: counted from the nearer end, the product and the sum rounded once, 16-bit floats in float32.
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  const Scalar count(steps);
  const CallScope call("linspace", start, end, count);
  check(steps >= 0, "number of steps must be non-negative");
  const ScalarType type = options.dtype();
  check(type != kBool, "\"linspace_cpu\" not implemented for 'Bool'");
  check_options(options, type);
  if (steps == 0) return zeros({0}, options);
  checked_numel(IntArrayRef(steps));
  if (steps == 1) return filled({1}, start, type, options);
  const Dims shape{steps};
  const DType inner = isFloatingType(type) ? formula_type(ir_type(type)) : DType::F64;
  const auto rounded = [&](double v) { return ir::to_double(ir::constant(inner, v)); };
  const double a = ir::to_double(element_of(start, type)), b = ir::to_double(element_of(end, type));
  const double step = rounded(rounded(b - a) / rounded(static_cast<double>(steps - 1)));
  const Expr i = index_along(shape, 0, DType::I64);
  const Expr from_start = cast(i, inner), from_end = cast(number(i, Scalar(steps - 1)) - i, inner);
  const auto multiply_add = [](const Expr& x, double y, double z) {
    const NodeRef operands[] = {x.node, number(x, y).node, number(x, z).node};
    return Expr{ir::make_node(Op::Fma, operands)};
  };
  const Expr first_half = i < number(i, Scalar(steps / 2));
  return finish(record_as(select(first_half, multiply_add(from_start, step, a), multiply_add(from_end, -step, b)), type), options);
}

Tensor linspace(const Tensor& start, const Tensor& end, int64_t steps, const TensorOptions& options) {
  const Scalar count(steps);
  const CallScope call("linspace", start, end, count);
  return linspace_between(start, end, steps, options);
}
Tensor linspace(const Tensor& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  const Scalar count(steps);
  const CallScope call("linspace", start, end, count);
  return linspace_between(start, end, steps, options);
}
Tensor linspace(const Scalar& start, const Tensor& end, int64_t steps, const TensorOptions& options) {
  const Scalar count(steps);
  const CallScope call("linspace", start, end, count);
  return linspace_between(start, end, steps, options);
}

// The exponents are counted in double from the nearer end, whatever the type; each operation rounds.
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, const TensorOptions& options) {
  const CallScope call("logspace", start, end);
  check(steps >= 0, "number of steps must be non-negative");
  const ScalarType type = options.dtype();
  check(type != kBool, "\"logspace_cpu\" not implemented for 'Bool'");
  check_options(options, type);
  if (steps == 0) return zeros({0}, options);
  checked_numel(IntArrayRef(steps));
  const double a = ir::to_double(element_of(start, type)), b = ir::to_double(element_of(end, type));
  const double extent = isFloatingType(type) ? ir::to_double(ir::constant(ir_type(type), b - a)) : b - a;
  const double step = steps == 1 ? 0 : extent / static_cast<double>(steps - 1);
  const Expr i = index_along(Dims{steps}, 0, DType::I64);
  const Expr from_start = cast(i, DType::F64), from_end = cast(number(i, Scalar(steps - 1)) - i, DType::F64);
  const Expr first_half = i < number(i, Scalar(steps == 1 ? 1 : steps / 2));
  const Expr exponent = select(first_half, a + from_start * step, b - from_end * step);
  return finish(record_as(apply(Op::Pow, number(exponent, base), exponent), type), options);
}
Tensor logspace(const Tensor& start, const Tensor& end, int64_t steps, double base, const TensorOptions& options) {
  const CallScope call("logspace", start, end);
  return logspace_between(start, end, steps, base, options);
}
Tensor logspace(const Tensor& start, const Scalar& end, int64_t steps, double base, const TensorOptions& options) {
  const CallScope call("logspace", start, end);
  return logspace_between(start, end, steps, base, options);
}
Tensor logspace(const Scalar& start, const Tensor& end, int64_t steps, double base, const TensorOptions& options) {
  const CallScope call("logspace", start, end);
  return logspace_between(start, end, steps, base, options);
}

// --- memory of others

namespace detail {

Tensor adopt(void* data, IntArrayRef sizes, optional<IntArrayRef> strides, Deleter* deleter, const TensorOptions& options,
             const char* who) {
  std::shared_ptr<Deleter> owner(deleter);
  const ScalarType type = options.dtype();
  check_options(options, type);
  const ir::DeviceTag tag = options.device().is_cpu() ? runtime::kHostTag : tag_of(options.device());
  runtime::Device& device = runtime::device_of(tag);
  const int64_t count = checked_numel(sizes);
  check(data != nullptr || count == 0, who, ": data is null");
  check(reinterpret_cast<uintptr_t>(data) % element_bytes(type) == 0, who, ": data is not aligned to elements of ", element_bytes(type),
        " bytes");
  if (!device.host_accesses_memory() && data != nullptr) {
    const int owner = with_public_errors([&] { return device.owner_of(data); });
    check<ValueError>(owner >= 0, "The specified pointer resides on host memory and is not registered with any CUDA device.");
    check<ValueError>(owner == device.id().index, "Specified device ", device_with(tag), " does not match device of data ",
                      Device(device_with(tag).type(), static_cast<DeviceIndex>(owner)));
    check(reinterpret_cast<uintptr_t>(data) % 16 == 0, who,
          ": data of a device is not aligned to 16 bytes, which its kernels read at once");
  }
  int64_t extent = count;  // elements from the first to the last one shown
  if (strides) {
    check(strides->size() == sizes.size(), who, ": got ", sizes.size(), " sizes but ", strides->size(), " strides");
    extent = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {  // of an empty tensor too: its views compute with them
      int64_t reach = 0;
      check((*strides)[d] >= 0, who, ": stride ", (*strides)[d], " is negative");
      check(!__builtin_mul_overflow(std::max<int64_t>(sizes[d] - 1, 0), (*strides)[d], &reach) &&
                !__builtin_add_overflow(extent, reach, &extent) && extent < int64_t{1} << 58,
            who, ": the strides overflow");
    }
    if (count == 0) extent = 0;
  }
  auto buffer = runtime::Buffer::adopt(
      data, static_cast<size_t>(extent) * element_bytes(type),
      [owner](void* memory) {
        if (owner) owner->run(memory);
      },
      device);
  buffer->exposed = true;
  const IntArrayRef shape = strides ? IntArrayRef(extent) : sizes;
  // Whoever writes a device's memory orders that himself: it is read when it is computed (Storage::expose).
  Tensor base(new TensorImpl(device.host_accesses_memory() ? ir::make_volatile_input(ir_type(type), span_of(shape), std::move(buffer))
                                                           : ir::make_input(ir_type(type), span_of(shape), std::move(buffer), tag)),
              false);
  if (!strides) return finish(std::move(base), options);
  return finish(as_strided(base, sizes, *strides, 0), options);
}

}  // namespace detail

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return detail::adopt(data, sizes, nullopt, nullptr, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return detail::adopt(data, sizes, strides, nullptr, options);
}

}  // namespace tenon
