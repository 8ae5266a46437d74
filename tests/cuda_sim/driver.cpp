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
      strict(number("TENON_SIM_STRICT", 0) != 0),
      races(number("TENON_SIM_RACES", 0) != 0),
      idle(number("TENON_SIM_IDLE", 0) != 0),
      library(number("TENON_SIM_LIBRARY", 0)),
      card(std::getenv("TENON_SIM_CARD") ? std::getenv("TENON_SIM_CARD") : "H100") {}

Driver::Driver() {
  watch(settings.races);
  for (int ordinal = 0; ordinal < settings.devices; ++ordinal) {
    Device& device = devices.emplace_back();
    device.ordinal = ordinal;
    device.default_stream = queue.create(ordinal);
    device.default_stream->legacy = true;
  }
}

void Driver::watch(bool watched) {
  memory.watch(watched);
  queue.watch(watched);
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
    if (fault.function == function && --fault.calls <= 0) code = fault.code;
  }
  std::erase_if(faults, [](const Fault& fault) { return fault.calls <= 0 && !fault.stays; });
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
  driver().faults.push_back({function, nth, code, false});
}

TENON_SIM_API void tenon_sim_fault_from(const char* function, long nth, int code) {
  const std::lock_guard lock(driver().mutex);
  driver().faults.push_back({function, nth, code, true});
}

TENON_SIM_API long tenon_sim_calls(const char* function) {
  const std::lock_guard lock(driver().mutex);
  return driver().calls[function];
}

TENON_SIM_API long tenon_sim_live(const char* what) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  size_t bytes = 0, contexts = 0;
  for (const Device& device : d.devices) {
    bytes += d.memory.used(device.ordinal);
    contexts += static_cast<size_t>(device.retained);
  }
  const std::map<std::string, size_t> counts = {
      {"allocations", d.memory.count()},     {"bytes", bytes},
      {"pinned", d.pinned.count()},          {"contexts", contexts},
      {"streams", d.queue.count()},          {"events", d.events.size()},
      {"modules", d.modules.size()},         {"graphs", d.graphs.size()},
      {"graph_execs", d.graph_execs.size()},
  };
  const auto found = counts.find(what);
  return found == counts.end() ? -1 : static_cast<long>(found->second);
}

TENON_SIM_API int tenon_sim_set(const char* setting, long value) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const auto is = [&](const char* name) { return std::strcmp(setting, name) == 0; };
  if (is("eager")) d.queue.set_eager(value != 0);
  else if (is("strict")) d.memory.set_strict(value != 0);
  else if (is("races")) d.watch(value != 0);
  else if (is("memory_mb")) d.settings.memory = static_cast<size_t>(value) << 20;
  else if (is("arch")) d.settings.arch = static_cast<int>(value);
  else if (is("library")) d.settings.library = value;
  else if (is("lost_edge")) d.settings.lost_edge = value;
  else if (is("spills")) d.settings.spills = value != 0;
  else return 0;
  return 1;
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
