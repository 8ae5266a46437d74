// The driver's state, its gate, and the functions by which tests ask for faults and count what lives.
#include "cuda_sim/driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tenon::cuda_sim {

namespace {

long number(const char* variable, long otherwise) {
  const char* const text = std::getenv(variable);
  return text && *text ? std::strtol(text, nullptr, 10) : otherwise;
}

}  // namespace

Settings::Settings()
    : devices(static_cast<int>(number("TENON_SIM_DEVICES", 1))),
      memory(static_cast<size_t>(number("TENON_SIM_MEMORY_MB", 4096)) << 20),
      arch(static_cast<int>(number("TENON_SIM_ARCH", 90))),
      seed(static_cast<uint64_t>(number("TENON_SIM_SEED", 1))),
      eager(number("TENON_SIM_EAGER", 0) != 0),
      strict(number("TENON_SIM_STRICT", 0) != 0) {}

Driver::Driver() {
  for (int ordinal = 0; ordinal < settings.devices; ++ordinal) {
    Device& device = devices.emplace_back();
    device.ordinal = ordinal;
    device.default_stream = queue.create(ordinal);
    device.default_stream->legacy = true;
  }
}

void Driver::fail(int device, int code, const std::string& text) {
  finding = text;
  std::fprintf(stderr, "simulated GPU %d: error %d: %s\n", device, code, text.c_str());
  devices[static_cast<size_t>(device)].error = code;
  queue.drop(device);
}

int Driver::fault_due(const std::string& function) {
  ++calls[function];
  int code = 0;
  for (Fault& fault : faults) {
    if (fault.function == function && --fault.calls == 0) code = fault.code;
  }
  std::erase_if(faults, [](const Fault& fault) { return fault.calls == 0; });
  return code;
}

bool Driver::disturbs_capture() {
  bool any = false;
  for (const auto& capture : captures) {
    const bool ours = capture->thread == std::this_thread::get_id();
    if (capture->mode != 0 && (capture->mode != 1 || !ours)) continue;  // 0: global, 1: of this thread, 2: relaxed
    capture->invalid = any = true;
  }
  return any;
}

Driver& driver() {
  static Driver& driver = *new Driver;
  return driver;
}

std::vector<Device*>& contexts() {
  static thread_local std::vector<Device*> stack;
  return stack;
}

bool& in_host_function() {
  static thread_local bool inside = false;
  return inside;
}

int enter(Driver& d, const char* function, Need need) {
  if (const int code = d.fault_due(function)) return code;
  if (need == Need::Nothing) return kSuccess;
  if (!d.initialized) return kNotInitialized;
  if (in_host_function()) return kNotPermitted;
  if (need == Need::Initialized) return kSuccess;
  if (!current()) return kInvalidContext;
  return current()->error;
}

Stream* find_stream(Driver& d, const void* handle) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value <= 1) return current()->default_stream;  // 1: the legacy stream by its own name
  return d.queue.is_stream(handle) ? const_cast<Stream*>(static_cast<const Stream*>(handle)) : nullptr;
}

int submit(Driver& d, Stream& stream, Work work, Ticket* ticket) {
  if (stream.capture) {
    Capture& capture = *stream.capture;
    if (capture.invalid) return kCaptureInvalidated;
    capture.graph->nodes.push_back({std::move(work), stream.frontier});
    stream.frontier = {capture.graph->nodes.size() - 1};
    return kSuccess;
  }
  if (stream.legacy && d.disturbs_capture()) return kCaptureImplicit;
  const Ticket added = d.queue.add(stream, std::move(work));
  if (ticket) *ticket = added;
  return kSuccess;
}

}  // namespace tenon::cuda_sim

// --- what tests call (control.h)

using namespace tenon::cuda_sim;

TENON_SIM_API void tenon_sim_fault(const char* function, long nth, int code) {
  const std::lock_guard lock(driver().mutex);
  driver().faults.push_back({function, nth, code});
}

TENON_SIM_API long tenon_sim_calls(const char* function) {
  const std::lock_guard lock(driver().mutex);
  return driver().calls[function];
}

TENON_SIM_API long tenon_sim_live(const char* what) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const auto is = [&](const char* name) { return std::strcmp(what, name) == 0; };
  size_t count = 0;
  if (is("allocations")) count = d.memory.count();
  else if (is("pinned")) count = d.pinned.count();
  else if (is("streams")) count = d.queue.count();
  else if (is("events")) count = d.events.size();
  else if (is("modules")) count = d.modules.size();
  else if (is("graphs")) count = d.graphs.size();
  else if (is("graph_execs")) count = d.graph_execs.size();
  else if (is("contexts")) for (const Device& device : d.devices) count += static_cast<size_t>(device.retained);
  else if (is("bytes")) for (const Device& device : d.devices) count += d.memory.used(device.ordinal);
  else return -1;
  return static_cast<long>(count);
}

TENON_SIM_API void tenon_sim_seed(unsigned long long seed) {
  const std::lock_guard lock(driver().mutex);
  driver().queue.seed(seed);
}

TENON_SIM_API long tenon_sim_launches() {
  const std::lock_guard lock(driver().mutex);
  return driver().launches;
}

TENON_SIM_API int tenon_sim_finding(char* text, unsigned long capacity) {
  const std::lock_guard lock(driver().mutex);
  if (capacity > 0) std::snprintf(text, capacity, "%s", driver().finding.c_str());
  return static_cast<int>(driver().finding.size());
}

TENON_SIM_API void tenon_sim_heal() {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  for (Device& device : d.devices) {
    if (device.error) d.queue.drop(device.ordinal);
    device.error = 0;
  }
  d.faults.clear();
  d.finding.clear();
}
