// The driver's functions on device memory, pinned memory, copies and fills.
#include <algorithm>
#include <cstring>

#include "cuda_sim/driver.h"

using namespace tenon::cuda_sim;

namespace {

void* pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }

std::string described(const char* what, size_t bytes) { return std::string(what) + " of " + std::to_string(bytes) + " bytes"; }

// Pageable memory is read before the call returns, pinned memory when the copy is done.
int copy_to_device(Driver& d, DevicePointer to, const void* from, size_t bytes, Stream& stream) {
  if (!d.memory.contains(to, bytes) || !from) return kInvalidValue;
  Work work;
  work.kind = WorkKind::Copy;
  work.name = described("copy to the device", bytes);
  if (d.pinned.contains(from, bytes)) {
    work.body = [to, from, bytes] { std::memcpy(pointer(to), from, bytes); };
  } else {
    if (stream.capture) {
      stream.capture->invalid = true;
      return kCaptureUnsupported;
    }
    const auto staged = std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    work.body = [to, staged] { std::memcpy(pointer(to), staged->data(), staged->size()); };
  }
  return submit(d, stream, std::move(work));
}

// Into pageable memory it is done before the call returns.
int copy_to_host(Driver& d, void* to, DevicePointer from, size_t bytes, Stream& stream) {
  if (!d.memory.contains(from, bytes) || !to) return kInvalidValue;
  const bool pinned = d.pinned.contains(to, bytes);
  if (!pinned && stream.capture) {
    stream.capture->invalid = true;
    return kCaptureUnsupported;
  }
  Work work;
  work.kind = WorkKind::Copy;
  work.name = described("copy to the host", bytes);
  work.body = [to, from, bytes] { std::memcpy(to, pointer(from), bytes); };
  Ticket ticket;
  if (const int code = submit(d, stream, std::move(work), &ticket)) return code;
  if (pinned) return kSuccess;
  d.queue.wait(ticket);
  return current()->error;
}

int copy_on_device(Driver& d, DevicePointer to, DevicePointer from, size_t bytes, Stream& stream) {
  if (!d.memory.contains(to, bytes) || !d.memory.contains(from, bytes)) return kInvalidValue;
  Work work;
  work.kind = WorkKind::Copy;
  work.name = described("copy on the device", bytes);
  work.all_devices = true;
  work.body = [to, from, bytes] { std::memmove(pointer(to), pointer(from), bytes); };
  return submit(d, stream, std::move(work));
}

template <typename T>
int set(Driver& d, DevicePointer to, T value, size_t count, const void* handle) {
  Stream* const stream = find_stream(d, handle);
  if (!stream) return kInvalidHandle;
  if (count == 0) return kSuccess;
  if (to % sizeof(T) != 0 || !d.memory.contains(to, count * sizeof(T))) return kInvalidValue;
  Work work;
  work.kind = WorkKind::Set;
  work.name = described("fill", count * sizeof(T));
  work.body = [to, value, count] {
    for (T *p = static_cast<T*>(pointer(to)), *end = p + count; p < end; ++p) *p = value;
  };
  return submit(d, *stream, std::move(work));
}

}  // namespace

// --- memory

TENON_SIM_API int cuMemAlloc_v2(DevicePointer* address, size_t bytes) {
  return gate("cuMemAlloc_v2", Need::Context, [&](Driver& d) -> int {
    if (!address || bytes == 0) return kInvalidValue;
    if (d.disturbs_capture()) return kCaptureUnsupported;
    const int device = current()->ordinal;
    if (bytes > d.settings.memory - std::min(d.settings.memory, d.memory.used(device))) return kOutOfMemory;
    *address = d.memory.allocate(device, bytes);
    return *address ? kSuccess : kOutOfMemory;
  });
}

// Waits for the device, as the real one does.
TENON_SIM_API int cuMemFree_v2(DevicePointer address) {
  return gate("cuMemFree_v2", Need::Context, [&](Driver& d) -> int {
    if (address == 0) return kSuccess;
    if (d.disturbs_capture()) return kCaptureUnsupported;
    const DeviceMemory::Block* const block = d.memory.find(address);
    if (!block || block->address != address) return kInvalidValue;
    d.queue.finish_device(block->device);
    if (!d.memory.free(address)) return kInvalidValue;
    return current()->error;
  });
}

TENON_SIM_API int cuMemGetInfo_v2(size_t* free, size_t* total) {
  return gate("cuMemGetInfo_v2", Need::Context, [&](Driver& d) -> int {
    if (!free || !total) return kInvalidValue;
    *total = d.settings.memory;
    *free = d.settings.memory - d.memory.used(current()->ordinal);
    return kSuccess;
  });
}

TENON_SIM_API int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  return gate("cuMemHostAlloc", Need::Context, [&](Driver& d) -> int {
    if (!memory || bytes == 0 || flags > 7) return kInvalidValue;
    if (d.disturbs_capture()) return kCaptureUnsupported;
    *memory = d.pinned.allocate(bytes);
    return *memory ? kSuccess : kOutOfMemory;
  });
}

TENON_SIM_API int cuMemFreeHost(void* memory) {
  return gate("cuMemFreeHost", Need::Context, [&](Driver& d) -> int {
    if (d.disturbs_capture()) return kCaptureUnsupported;
    d.queue.finish_device(current()->ordinal);
    return d.pinned.free(memory) ? kSuccess : kInvalidValue;
  });
}

TENON_SIM_API int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  return gate("cuMemHostRegister_v2", Need::Context, [&](Driver& d) -> int {
    if (!memory || bytes == 0 || flags > 15) return kInvalidValue;
    if (d.disturbs_capture()) return kCaptureUnsupported;
    return d.pinned.add(memory, bytes) ? kSuccess : kHostMemoryAlreadyRegistered;
  });
}

TENON_SIM_API int cuMemHostUnregister(void* memory) {
  return gate("cuMemHostUnregister", Need::Context, [&](Driver& d) -> int {
    if (d.disturbs_capture()) return kCaptureUnsupported;
    d.queue.finish_device(current()->ordinal);
    return d.pinned.remove(memory) ? kSuccess : kHostMemoryNotRegistered;
  });
}

// Gives the memory type (2) and the device ordinal (9); an address that is neither a device's nor page-locked is an invalid value.
TENON_SIM_API int cuPointerGetAttribute(void* value, int attribute, DevicePointer address) {
  return gate("cuPointerGetAttribute", Need::Initialized, [&](Driver& d) -> int {
    const DeviceMemory::Block* const block = d.memory.find(address);
    const bool pinned = d.pinned.contains(reinterpret_cast<const void*>(static_cast<uintptr_t>(address)), 1);
    if (!value || (attribute != 2 && attribute != 9) || (!block && !pinned)) return kInvalidValue;
    if (attribute == 2) *static_cast<unsigned*>(value) = block ? 2 : 1;
    else *static_cast<int*>(value) = block ? block->device : 0;
    return kSuccess;
  });
}

// --- copies and fills

TENON_SIM_API int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, void* handle) {
  return gate("cuMemcpyHtoDAsync_v2", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    return bytes == 0 ? kSuccess : copy_to_device(d, to, from, bytes, *stream);
  });
}

TENON_SIM_API int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, void* handle) {
  return gate("cuMemcpyDtoHAsync_v2", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    return bytes == 0 ? kSuccess : copy_to_host(d, to, from, bytes, *stream);
  });
}

TENON_SIM_API int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, void* handle) {
  return gate("cuMemcpyDtoDAsync_v2", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    return bytes == 0 ? kSuccess : copy_on_device(d, to, from, bytes, *stream);
  });
}

TENON_SIM_API int cuMemcpyPeerAsync(DevicePointer to, Device* to_context, DevicePointer from, Device* from_context, size_t bytes,
                                    void* handle) {
  return gate("cuMemcpyPeerAsync", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    if (bytes == 0) return kSuccess;
    const DeviceMemory::Block* const target = d.memory.find(to);
    const DeviceMemory::Block* const source = d.memory.find(from);
    if (!target || !source || !to_context || !from_context) return kInvalidValue;
    if (target->device != to_context->ordinal || source->device != from_context->ordinal) return kInvalidValue;
    return copy_on_device(d, to, from, bytes, *stream);
  });
}

TENON_SIM_API int cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, void* stream) {
  return gate("cuMemsetD8Async", Need::Context, [&](Driver& d) { return set(d, to, value, count, stream); });
}

TENON_SIM_API int cuMemsetD16Async(DevicePointer to, unsigned short value, size_t count, void* stream) {
  return gate("cuMemsetD16Async", Need::Context, [&](Driver& d) { return set(d, to, value, count, stream); });
}

TENON_SIM_API int cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, void* stream) {
  return gate("cuMemsetD32Async", Need::Context, [&](Driver& d) { return set(d, to, value, count, stream); });
}
