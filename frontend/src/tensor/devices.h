// Devices of tensors: their tags in the graph, numbers and copies on the right one, and elements that the host reads.
#pragma once

#include <memory>
#include <stdexcept>

#include "ir/graph/graph.h"
#include "runtime/memory/buffer.h"
#include "tenon/tensor.h"

namespace tenon {

// CUDA: the first question loads its libraries.
[[noreturn]] void no_cuda();            // Error that says what was looked for
bool load_cuda();                       // false if there is no device
void check_cuda_device(int64_t index);  // Error if there is no such one
int current_cuda_device();              // of this thread

ir::DeviceTag tag_of(const Device& device);  // without an index: the current one; Error if no tensor can live there
const Device& device_with(ir::DeviceTag tag);

// The value in the memory of a device: itself if it lies there.
ir::NodeRef on_device(const ir::NodeRef& node, ir::DeviceTag device);

// Bytes [begin, end) of a buffer in the host's memory, at the same distance from data(): itself if it lies there, else a
// copy. The one door from a device's memory to code of the frontend that reads elements. Error, OutOfMemoryError.
struct HostElements {
  std::shared_ptr<runtime::Buffer> owner;
  const unsigned char* data;  // of byte `begin`
};
HostElements host_elements(std::shared_ptr<runtime::Buffer> buffer, size_t begin, size_t end);

std::shared_ptr<runtime::Buffer> allocate_buffer(size_t bytes);  // of the host; throws OutOfMemoryError
// A buffer of a device with these bytes of the host, which are read later if they are pinned and have an `owner`. Error, OutOfMemoryError.
std::shared_ptr<runtime::Buffer> device_elements(const void* data, size_t bytes, ir::DeviceTag device,
                                                 const std::shared_ptr<const void>& owner = nullptr);
std::shared_ptr<runtime::Buffer> copy_on_device(const runtime::Buffer& buffer);  // another on the same device
// All bytes of one buffer to another of the same size. Error.
void copy_elements(runtime::Buffer& to, const runtime::Buffer& from);

// Runs it with the errors of the public API.
template <typename F>
auto with_public_errors(F&& f) {
  try {
    return f();
  } catch (const runtime::OutOfMemory& e) {
    throw OutOfMemoryError(e.what());
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw Error(e.what());
  }
}

}  // namespace tenon
