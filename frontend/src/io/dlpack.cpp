// DLPack both ways. A tensor given away holds a handle on itself; one taken over holds the producer's struct.
#include "tenon/dlpack.h"

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/cuda.h"

namespace tenon {
namespace {

// The layout is the interface.
static_assert(sizeof(void*) != 8 || (sizeof(DLTensor) == 48 && offsetof(DLTensor, shape) == 24 && sizeof(DLManagedTensor) == 64 &&
                                     offsetof(DLManagedTensor, deleter) == 56));

struct TypeCode {
  ScalarType type;
  uint8_t code, bits;
};
constexpr std::array<TypeCode, 10> kTypeCodes = {{{kBool, kDLBool, 8},
                                                  {kUInt8, kDLUInt, 8},
                                                  {kInt8, kDLInt, 8},
                                                  {kInt16, kDLInt, 16},
                                                  {kInt32, kDLInt, 32},
                                                  {kInt64, kDLInt, 64},
                                                  {kFloat16, kDLFloat, 16},
                                                  {kBFloat16, kDLBfloat, 16},
                                                  {kFloat32, kDLFloat, 32},
                                                  {kFloat64, kDLFloat, 64}}};

ScalarType type_of(DLDataType given) {
  check(given.lanes == 1, "DLPack: field 'dtype': ", given.lanes, " lanes are not supported");
  for (const TypeCode& known : kTypeCodes) {
    if (known.code == given.code && known.bits == given.bits) return known.type;
  }
  throw TypeError(text("DLPack: field 'dtype': code ", int{given.code}, " with ", int{given.bits}, " bits is not supported"));
}

// What a tensor that is given away needs for as long as the consumer has it.
struct Exported {
  Tensor tensor;
  std::vector<int64_t> shape, strides;
  DLManagedTensor managed{};
};

struct CallDeleter final : detail::Deleter {
  explicit CallDeleter(DLManagedTensor* source) : source(source) {}
  void run(void*) override {
    if (source->deleter) source->deleter(source);
  }
  DLManagedTensor* source;
};

Device device_of(DLDevice device) {
  const auto type = static_cast<int>(device.device_type);
  if (type == kDLCPU || type == kDLCUDAHost) return kCPU;
  check(type == kDLCUDA, "DLPack: field 'device': type ", type, " is not supported");
  check(device.device_id >= 0 && device.device_id < cuda::device_count(), "DLPack: field 'device': there is no cuda:", device.device_id);
  return Device(kCUDA, static_cast<DeviceIndex>(device.device_id));
}

IntArrayRef sizes_of(const DLTensor& source) {
  constexpr int32_t kMaxDims = 64;
  check(source.ndim >= 0 && source.ndim <= kMaxDims, "DLPack: field 'ndim': ", source.ndim, " is not in 0..", kMaxDims);
  check(source.ndim == 0 || source.shape != nullptr, "DLPack: field 'shape' is null");
  const IntArrayRef sizes(source.shape, static_cast<size_t>(source.ndim));
  int64_t count = 1;
  for (int64_t size : sizes) {
    check(size >= 0, "DLPack: field 'shape': ", size, " is negative");
    check(!__builtin_mul_overflow(count, size, &count) && count < int64_t{1} << 58, "DLPack: field 'shape' overflows");
  }
  return sizes;
}

void* first_element(const DLTensor& source, ScalarType type) {
  uintptr_t address = 0;
  const auto data = reinterpret_cast<uintptr_t>(source.data);
  check(!__builtin_add_overflow(data, source.byte_offset, &address), "DLPack: field 'byte_offset': ", source.byte_offset, " overflows");
  check(address % static_cast<uintptr_t>(elementSize(type)) == 0, "DLPack: fields 'data' and 'byte_offset': not aligned to elements of ",
        elementSize(type), " bytes");
  return data == 0 ? nullptr : reinterpret_cast<void*>(address);
}

}  // namespace

DLManagedTensor* toDLPack(const Tensor& tensor) {
  check<NotImplementedError>(tensor.is_cpu() || tensor.is_cuda(), "DLPack: tensors on ", tensor.device(), " are not exported; use cpu()");
  auto exported = std::make_unique<Exported>();
  exported->tensor = tensor;
  exported->shape = tensor.sizes().vec();
  exported->strides = tensor.strides().vec();
  for (size_t d = 0; d < exported->shape.size(); ++d) {
    if (exported->shape[d] < 2) exported->strides[d] = 1;  // of no meaning: what consumers like best, as PyTorch
  }
  const TypeCode& type = kTypeCodes[static_cast<size_t>(tensor.scalar_type())];
  DLManagedTensor& managed = exported->managed;
  managed.dl_tensor = {tensor.data_ptr(),  // the consumer may write
                       {tensor.is_cuda() ? kDLCUDA : kDLCPU, tensor.is_cuda() ? static_cast<int32_t>(tensor.get_device()) : 0},
                       static_cast<int32_t>(tensor.dim()),
                       {type.code, type.bits, 1},
                       exported->shape.data(),
                       exported->strides.data(),
                       0};
  if (tensor.is_cuda()) cuda::synchronize(tensor.get_device());  // the consumer's stream is not known
  managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  managed.manager_ctx = exported.get();
  return &exported.release()->managed;
}

Tensor fromDLPack(DLManagedTensor* source) {
  check(source != nullptr, "DLPack: no tensor, null");
  const DLTensor& given = source->dl_tensor;
  const Device device = device_of(given.device);
  const ScalarType type = type_of(given.dtype);
  const IntArrayRef sizes = sizes_of(given);
  optional<IntArrayRef> strides;
  if (given.strides) strides = IntArrayRef(given.strides, sizes.size());
  void* data = first_element(given, type);
  return detail::adopt(data, sizes, strides, new CallDeleter(source), TensorOptions(type).device(device), "DLPack");
}

}  // namespace tenon
