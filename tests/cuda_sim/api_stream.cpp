// The driver's functions on streams, events and functions of the host.
#include <algorithm>
#include <chrono>

#include "cuda_sim/driver.h"

using namespace tenon::cuda_sim;

namespace {

constexpr unsigned kNonBlocking = 1, kDisableTiming = 2;
constexpr int kLeastPriority = 0, kGreatestPriority = -5;

int create_stream(Driver& d, Stream** stream, unsigned flags, int priority) {
  if (!stream || flags > kNonBlocking) return kInvalidValue;
  *stream = d.queue.create(current()->ordinal);
  (*stream)->flags = flags;
  (*stream)->blocking = (flags & kNonBlocking) == 0;
  (*stream)->priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  return kSuccess;
}

// A call that a captured stream does not allow ends the capture.
int refuse_capture(Stream& stream) {
  stream.capture->invalid = true;
  return kCaptureUnsupported;
}

int elapsed(Driver& d, float* milliseconds, const void* begin, const void* end) {
  const Event *first = find(d.events, begin), *second = find(d.events, end);
  if (!milliseconds) return kInvalidValue;
  if (!first || !second || (first->flags | second->flags) & kDisableTiming) return kInvalidHandle;
  if (!first->record || !second->record) return kInvalidHandle;
  if (!first->record->done || !second->record->done) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(second->record->finished - first->record->finished).count();
  return kSuccess;
}

}  // namespace

// --- streams

TENON_SIM_API int cuStreamCreate(Stream** stream, unsigned flags) {
  return gate("cuStreamCreate", Need::Context, [&](Driver& d) { return create_stream(d, stream, flags, 0); });
}

TENON_SIM_API int cuStreamCreateWithPriority(Stream** stream, unsigned flags, int priority) {
  return gate("cuStreamCreateWithPriority", Need::Context, [&](Driver& d) { return create_stream(d, stream, flags, priority); });
}

TENON_SIM_API int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return gate("cuCtxGetStreamPriorityRange", Need::Context, [&](Driver&) -> int {
    if (least) *least = kLeastPriority;
    if (greatest) *greatest = kGreatestPriority;
    return kSuccess;
  });
}

TENON_SIM_API int cuStreamDestroy_v2(Stream* stream) {
  return gate("cuStreamDestroy_v2", Need::Context, [&](Driver& d) -> int {
    if (!d.queue.is_stream(stream)) return kInvalidHandle;
    if (stream->capture) return refuse_capture(*stream);
    d.queue.destroy(stream);
    return kSuccess;
  });
}

TENON_SIM_API int cuStreamSynchronize(void* handle) {
  return gate("cuStreamSynchronize", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    if (stream->capture) return refuse_capture(*stream);
    const int device = stream->device;
    d.queue.wait(*stream);
    return d.devices[static_cast<size_t>(device)].error;
  });
}

TENON_SIM_API int cuStreamQuery(void* handle) {
  return gate("cuStreamQuery", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    if (stream->capture) return refuse_capture(*stream);
    d.queue.progress();
    if (!stream->pending.empty()) return kNotReady;
    d.queue.wait(*stream);
    return d.devices[static_cast<size_t>(stream->device)].error;
  });
}

TENON_SIM_API int cuStreamWaitEvent(void* handle, Event* event, unsigned flags) {
  return gate("cuStreamWaitEvent", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream || !find(d.events, event)) return kInvalidHandle;
    if (flags != 0) return kInvalidValue;
    if (event->capture) {  // the stream joins the capture
      if (std::find(d.captures.begin(), d.captures.end(), event->capture) == d.captures.end()) return kCapturedEvent;
      if (stream->legacy) return kCaptureImplicit;
      if (stream->capture && stream->capture != event->capture) return kCaptureMerge;
      stream->capture = event->capture;
      stream->frontier.insert(stream->frontier.end(), event->frontier.begin(), event->frontier.end());
      return kSuccess;
    }
    if (stream->capture) {
      stream->capture->invalid = true;
      return kCaptureIsolation;
    }
    if (event->record) d.queue.add(*stream, {}, {event->record});
    return kSuccess;
  });
}

// --- events

TENON_SIM_API int cuEventCreate(Event** event, unsigned flags) {
  return gate("cuEventCreate", Need::Context, [&](Driver& d) -> int {
    if (!event || flags > 7) return kInvalidValue;
    auto made = std::make_unique<Event>(Event{current()->ordinal, flags, nullptr, nullptr, {}});
    *event = made.get();
    d.events[*event] = std::move(made);
    return kSuccess;
  });
}

TENON_SIM_API int cuEventDestroy_v2(Event* event) {
  return gate("cuEventDestroy_v2", Need::Context, [&](Driver& d) -> int { return d.events.erase(event) ? kSuccess : kInvalidHandle; });
}

TENON_SIM_API int cuEventRecord(Event* event, void* handle) {
  return gate("cuEventRecord", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream || !find(d.events, event) || event->device != stream->device) return kInvalidHandle;
    event->capture = stream->capture;
    if (stream->capture) {
      if (stream->capture->invalid) return kCaptureInvalidated;
      event->frontier = stream->frontier;
      return kSuccess;
    }
    if (stream->legacy && d.disturbs_capture()) return kCaptureImplicit;
    Work work;
    work.kind = WorkKind::Record;
    event->record = d.queue.add(*stream, std::move(work));
    return kSuccess;
  });
}

TENON_SIM_API int cuEventQuery(Event* event) {
  return gate("cuEventQuery", Need::Context, [&](Driver& d) -> int {
    if (!find(d.events, event)) return kInvalidHandle;
    if (event->capture) return kCapturedEvent;
    d.queue.progress();
    if (event->record && !event->record->done) return kNotReady;
    if (event->record) d.queue.seen_done(*event->record);
    return d.devices[static_cast<size_t>(event->device)].error;
  });
}

TENON_SIM_API int cuEventSynchronize(Event* event) {
  return gate("cuEventSynchronize", Need::Context, [&](Driver& d) -> int {
    if (!find(d.events, event)) return kInvalidHandle;
    if (event->capture) return kCapturedEvent;
    const int device = event->device;
    if (const Ticket record = event->record) d.queue.wait(record);
    return d.devices[static_cast<size_t>(device)].error;
  });
}

TENON_SIM_API int cuEventElapsedTime(float* milliseconds, Event* begin, Event* end) {
  return gate("cuEventElapsedTime", Need::Context, [&](Driver& d) { return elapsed(d, milliseconds, begin, end); });
}

TENON_SIM_API int cuEventElapsedTime_v2(float* milliseconds, Event* begin, Event* end) {
  return gate("cuEventElapsedTime_v2", Need::Context, [&](Driver& d) { return elapsed(d, milliseconds, begin, end); });
}

// --- functions of the host

TENON_SIM_API int cuLaunchHostFunc(void* handle, void (*function)(void*), void* data) {
  return gate("cuLaunchHostFunc", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    if (!function) return kInvalidValue;
    Work work;
    work.kind = WorkKind::Host;
    work.body = [function, data] { function(data); };
    return submit(d, *stream, std::move(work));
  });
}
