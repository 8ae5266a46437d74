// Between devices as programs name them and as the graph does.
#include "frontend/src/tensor/devices.h"

#include <vector>

#include "frontend/src/tensor/context.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/fork.h"
#include "runtime/device/device.h"
#include "runtime/run/async_work.h"

namespace tenon {
namespace {

using runtime::DeviceId;
using runtime::DeviceKind;
static_assert(static_cast<int>(kCPU) == static_cast<int>(DeviceKind::Cpu) &&
                  static_cast<int>(kCUDA) == static_cast<int>(DeviceKind::Cuda) &&
                  static_cast<int>(kPrivateUse1) == static_cast<int>(DeviceKind::PrivateUse1),
              "the two lists are one");

// By tag. One made at each call would be written in two bytes and read as one word: that waits.
const std::vector<Device>& devices() {
  static const auto* all = [] {
    auto* made = new std::vector<Device>{Device(kCPU)};
    for (int tag = 1; tag <= INT8_MAX; ++tag) {
      const DeviceId id = runtime::id_of(static_cast<ir::DeviceTag>(tag));
      made->emplace_back(static_cast<DeviceType>(id.kind), static_cast<DeviceIndex>(id.index));
    }
    return made;
  }();
  return *all;
}
[[maybe_unused]] const bool made_before_fork = ir::make_before_fork([] { devices(); });

}  // namespace

const Device& device_with(ir::DeviceTag tag) { return devices()[tag]; }

ir::DeviceTag tag_of(const Device& device) {
  if (device.is_cpu()) return runtime::kHostTag;
  if (device.is_cuda()) {
    const int index = device.has_index() ? device.index() : current_cuda_device();
    check_cuda_device(index);
    return runtime::tag_of({DeviceKind::Cuda, index});
  }
  const int index = device.has_index() ? device.index() : 0;
  if (device.type() == kPrivateUse1 && index < runtime::kMostPrivateDevices) {
    const ir::DeviceTag tag = runtime::tag_of({DeviceKind::PrivateUse1, index});
    if (runtime::find_device(tag)) return tag;
  }
  check<NotImplementedError>(!device.is_meta(),
                             "Tenon has no meta device, and needs none: an operation infers shapes and dtypes "
                             "at its call and computes nothing until a value is read");
  throw Error(text("tensors of Tenon live on cpu and cuda devices, but got device ", device));
}

void check_device(const Device& device) { tag_of(device); }

NodeRef on_device(const NodeRef& node, ir::DeviceTag device) {
  if (node->device() == device) return node;
  if (node->op() == Op::Const) return ir::make_const({node->dtype(), node->bits()}, node->shape(), device);
  if (node->op() == Op::Iota) return ir::make_iota(node->shape(), node->ints()[0], device);
  refuse_in_capture("a value is copied to another device");
  return ir::make_node(Op::Copy, {&node, 1}, Dims{device});
}

namespace {
template <typename F>
auto on_its_device(F&& f) {
  try {
    return with_public_errors(f);
  } catch (const Error&) {
    if (this_thread.step) this_thread.step->call_failed();
    throw;
  }
}
}  // namespace

std::shared_ptr<runtime::Buffer> allocate_buffer(size_t bytes) {
  return on_its_device([&] { return runtime::Buffer::allocate(bytes); });
}

HostElements host_elements(std::shared_ptr<runtime::Buffer> buffer, size_t begin, size_t end) {
  const auto* data = static_cast<const unsigned char*>(buffer->data()) + begin;
  if (buffer->device().host_accesses_memory()) return {std::move(buffer), data};
  auto copy = allocate_buffer(end - begin);
  on_its_device([&] { runtime::copy_to_host(copy->data(), *buffer, begin, end - begin); });
  data = static_cast<const unsigned char*>(copy->data());
  return {std::move(copy), data};
}

std::shared_ptr<runtime::Buffer> device_elements(const void* data, size_t bytes, ir::DeviceTag device,
                                                 const std::shared_ptr<const void>& owner) {
  return on_its_device([&] {
    runtime::Device& to = runtime::device_of(device);
    auto buffer = runtime::Buffer::allocate(bytes, to);
    runtime::copy_from_host(*buffer, data, owner);
    return buffer;
  });
}

std::shared_ptr<runtime::Buffer> copy_on_device(const runtime::Buffer& buffer) {
  return on_its_device([&] {
    auto copy = runtime::Buffer::allocate(buffer.bytes(), buffer.device());
    copy_elements(*copy, buffer);
    return copy;
  });
}

void copy_elements(runtime::Buffer& to, const runtime::Buffer& from) {
  on_its_device([&] { runtime::copy_all(to, from); });
}

}  // namespace tenon
