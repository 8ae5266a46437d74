// The registry of devices and of code's sketches, and copies from one to another.
#include "runtime/device/device.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "ir/base/fork.h"

namespace tenon::runtime {
namespace {

constexpr int kFirstCuda = 1, kFirstPrivate = kFirstCuda + kMostCudaDevices, kTags = kFirstPrivate + kMostPrivateDevices;
static_assert(kTags == 128, "a tag is 0 to 127");

std::atomic<bool> others{false};

// The devices by tag. Never destroyed: tensors in static objects have memory of devices.
struct Registry {
  std::array<std::atomic<Device*>, kTags> devices{};
  Registry() { devices[kHostTag] = make_host_device().release(); }
};
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}
using Sketches = std::array<std::optional<CodeSketch>, std::size(kCodeForms)>;
Sketches& sketches() {
  static auto* s = new Sketches;
  return *s;
}
[[maybe_unused]] const bool limits_follow = when_options_change([](const Options& o) {
  for (Device* device : all_devices()) device->set_memory_limit(o.memory_limit_mb << 20);
});
[[maybe_unused]] const bool made_before_fork = ir::make_before_fork([] { registry(); });

}  // namespace

ir::DeviceTag tag_of(DeviceId id) {
  const auto checked = [&](int first, int most) {
    if (id.index < 0 || id.index >= most) throw std::runtime_error("there is no device with the index " + std::to_string(id.index));
    return static_cast<ir::DeviceTag>(first + id.index);
  };
  switch (id.kind) {
    case DeviceKind::Cpu: return checked(kHostTag, 1);
    case DeviceKind::Cuda: return checked(kFirstCuda, kMostCudaDevices);
    case DeviceKind::PrivateUse1: return checked(kFirstPrivate, kMostPrivateDevices);
  }
  throw std::runtime_error("there is no such kind of device");
}

DeviceId id_of(ir::DeviceTag tag) {
  if (tag >= kFirstPrivate) return {DeviceKind::PrivateUse1, tag - kFirstPrivate};
  if (tag >= kFirstCuda) return {DeviceKind::Cuda, tag - kFirstCuda};
  return {};
}

std::string name_of(ir::DeviceTag tag) {
  const DeviceId id = id_of(tag);
  if (id.kind == DeviceKind::Cpu) return "cpu";
  return (id.kind == DeviceKind::Cuda ? "cuda:" : "privateuseone:") + std::to_string(id.index);
}

Device& host_device() { return *registry().devices[kHostTag].load(std::memory_order_relaxed); }

Device* find_device(ir::DeviceTag tag) { return tag < 0 ? nullptr : registry().devices[tag].load(std::memory_order_acquire); }

Device& device_of(ir::DeviceTag tag) {
  if (Device* device = find_device(tag)) return *device;
  throw std::runtime_error("device " + name_of(tag) + " is not available");
}
Device& device_of(const ir::Node& node) { return device_of(node.device()); }

bool only_host() { return !others.load(std::memory_order_acquire); }

std::vector<Device*> all_devices() {
  std::vector<Device*> found;
  for (const auto& device : registry().devices) {
    if (Device* d = device.load(std::memory_order_acquire)) found.push_back(d);
  }
  return found;
}

Device& register_device(std::unique_ptr<Device> device) {
  Device* none = nullptr;
  if (!registry().devices[device->tag()].compare_exchange_strong(none, device.get()))
    throw std::runtime_error("device " + name_of(device->tag()) + " is registered already");
  others.store(true, std::memory_order_release);
  device->configure(options());
  return *device.release();
}

bool register_sketch(CodeForm form, CodeSketch sketch) {
  sketches()[static_cast<size_t>(form)] = sketch;
  return true;
}
const CodeSketch* sketch_of(CodeForm form) {
  const std::optional<CodeSketch>& sketch = sketches()[static_cast<size_t>(form)];
  return sketch ? &*sketch : nullptr;
}

void Device::in_parallel(int64_t count, const std::function<void(int64_t)>& body) {
  for (int64_t i = 0; i < count; ++i) body(i);
}

namespace {

// Work in `later` of the device starts after what is in `earlier` now.
void order(Device& device, Stream earlier, Stream later) { device.wait(later, device.record(earlier)); }

}  // namespace

// Main streams have written `from` and had `to` before; they read `to`, and free `from`, afterwards.
void copy_between(Device& to_device, void* to, Device& from_device, const void* from, size_t bytes,
                  const std::shared_ptr<const void>& owner) {
  if (bytes == 0) return;
  if (&to_device == &from_device) return to_device.copy(to, from, bytes, Stream::Main);
  if (from_device.host_accesses_memory()) {
    order(to_device, Stream::Main, Stream::Transfer);
    if (!owner || !to_device.copy_from_pinned(to, from, bytes, owner, Stream::Transfer))
      to_device.copy_from_host(to, from, bytes, Stream::Transfer);
    return order(to_device, Stream::Transfer, Stream::Main);
  }
  order(from_device, Stream::Main, Stream::Transfer);
  if (to_device.host_accesses_memory()) {
    from_device.copy_to_host(to, from, bytes, Stream::Transfer);
    for (Device* device : all_devices()) device->throw_failure();
    return;
  }
  if (to_device.id().kind == from_device.id().kind) {
    to_device.wait(Stream::Transfer, from_device.record(Stream::Main));
    order(to_device, Stream::Main, Stream::Transfer);
    if (to_device.copy_from_peer(from_device, to, from, bytes, Stream::Transfer)) {
      order(to_device, Stream::Transfer, Stream::Main);
      return from_device.wait(Stream::Main, to_device.record(Stream::Transfer));
    }
  }
  const auto staged = std::make_unique_for_overwrite<std::byte[]>(bytes);
  from_device.copy_to_host(staged.get(), from, bytes, Stream::Transfer);
  copy_between(to_device, to, host_device(), staged.get(), bytes);
}

}  // namespace tenon::runtime
