// DLPack: tensors of other libraries and Tenon's in the same memory, without a copy. The structs are those of
// dlpack.h 0.8 and share its include guard: include that file first if you use more of it than this.
#pragma once

#include <cstdint>

#include "tenon/tensor.h"

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
extern "C" {

typedef enum : int32_t { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 } DLDeviceType;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 } DLDataTypeCode;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;    // a DLDataTypeCode
  uint8_t bits;    // of one lane
  uint16_t lanes;  // 1 but for vector types
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;      // in elements; null: row-major
  uint64_t byte_offset;  // from data to the first element
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);  // called once by the consumer; may be null
} DLManagedTensor;

}  // extern "C"
#endif

namespace tenon {

// Evaluates the tensor and gives its memory away: a write through either side is seen by the other. The
// memory lives until the consumer has called deleter(self). On a GPU it is the device's memory, and all work on it is done.
DLManagedTensor* toDLPack(const Tensor& tensor);

// A tensor over the memory of `source`, whose deleter runs once, when the last user of the tensor's memory is
// gone. An Error that names the field if something is not supported or cannot be true; then `source` is still
// the caller's.
Tensor fromDLPack(DLManagedTensor* source);

}  // namespace tenon
