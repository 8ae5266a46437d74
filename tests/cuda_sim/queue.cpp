// Which piece of queued work is done next, and doing it.
#include "cuda_sim/queue.h"

#include <algorithm>
#include <thread>

#include "cuda_sim/driver.h"

namespace tenon::cuda_sim {

namespace {

int code_of(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Fine: return kSuccess;
    case Outcome::Misaligned: return kMisalignedAddress;
    case Outcome::IllegalAddress: return kIllegalAddress;
    default: return kLaunchFailed;
  }
}

}  // namespace

Stream* Queue::create(int device) {
  streams_.push_back(std::make_unique<Stream>());
  streams_.back()->device = device;
  streams_.back()->number = streams_made_++;
  return streams_.back().get();
}

bool Queue::is_stream(const void* handle) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& s) { return s.get() == handle && !s->destroyed && !s->legacy; });
}

size_t Queue::count() const {
  return static_cast<size_t>(std::count_if(streams_.begin(), streams_.end(), [](const auto& s) { return !s->destroyed && !s->legacy; }));
}

// Its work goes on; the stream is forgotten when that is done.
void Queue::destroy(Stream* stream) {
  stream->destroyed = true;
  forget_empty();
}

void Queue::forget_empty() {
  std::erase_if(streams_, [](const auto& s) { return s->destroyed && s->pending.empty(); });
}

Ticket Queue::add(Stream& stream, Work work, std::vector<Ticket> after) {
  const auto ticket = std::make_shared<Operation>();
  ticket->work = std::move(work);
  ticket->stream = &stream;
  ticket->stream_number = stream.number;
  ticket->after = std::move(after);
  for (const auto& other : streams_) {
    const bool ordered =
        other.get() != &stream && other->device == stream.device && other->blocking && stream.blocking && (stream.legacy || other->legacy);
    if (ordered && other->last) ticket->after.push_back(other->last);
  }
  ticket->place = ++stream.count;
  if (watched_) {
    ticket->before = host_;
    merge(ticket->before, stream.clock);
    for (const Ticket& earlier : ticket->after) {
      merge(ticket->before, earlier->before);
      merge(ticket->before, {{earlier->stream_number, earlier->place}});
    }
    stream.clock = ticket->before;
    stream.clock[stream.number] = ticket->place;
  }
  stream.pending.push_back(ticket);
  stream.last = ticket;
  if (eager_) finish(ticket);
  while (stream.pending.size() > kDepth) finish(Ticket(stream.pending.front()));
  return ticket;
}

// Each time, either only what must be done, or whatever can be: both ends of what hardware may do.
void Queue::finish(const Ticket& ticket) {
  const bool least = random_() % 2 == 0;
  while (!ticket->done) {
    Operation* const next = least ? needed_for(*ticket) : any_ready();
    if (next) {
      execute(*next);
    } else {  // another thread is at it
      std::unique_lock<std::mutex>* const lock = driver_.lock;
      driver_.changed.wait(*lock);
      driver_.lock = lock;
    }
  }
}

void Queue::wait(const Ticket& ticket) {
  finish(ticket);
  seen_done(*ticket);
}

void Queue::wait(const Stream& stream) {
  if (const Ticket last = stream.last) wait(last);
}

void Queue::wait_device(int device) {
  finish_device(device);
  for (const auto& stream : streams_) {
    if (stream->device == device && stream->last) seen_done(*stream->last);
  }
}

void Queue::seen_done(const Operation& operation) {
  merge(host_, operation.before);
  merge(host_, {{operation.stream_number, operation.place}});
}

void Queue::finish_device(int device) {
  for (bool any = true; any;) {
    any = false;
    for (const auto& stream : streams_) {
      if (stream->device != device || stream->pending.empty()) continue;
      finish(Ticket(stream->last));
      any = true;
      break;  // the list of streams may have changed
    }
  }
}

void Queue::progress() {
  for (uint64_t steps = random_() % 3; steps > 0; --steps) {
    if (Operation* const next = any_ready()) execute(*next);
  }
}

void Queue::drop(int device) {
  for (const auto& stream : streams_) {
    if (stream->device != device) continue;
    for (const Ticket& ticket : stream->pending) ticket->done = true;
    stream->pending.clear();
  }
  driver_.changed.notify_all();
}

bool Queue::ready(const Operation& operation) {
  return !operation.running && std::all_of(operation.after.begin(), operation.after.end(), [](const Ticket& t) { return t->done; });
}

Operation* Queue::needed_for(const Operation& target) const {
  for (const Operation* at = &target;;) {
    Operation* const head = at->stream->pending.front().get();
    if (head->running) return nullptr;
    const auto blocked = std::find_if(head->after.begin(), head->after.end(), [](const Ticket& t) { return !t->done; });
    if (blocked == head->after.end()) return head;
    at = blocked->get();
  }
}

Operation* Queue::any_ready() {
  std::vector<Operation*> candidates;
  for (const auto& stream : streams_) {
    if (!stream->pending.empty() && ready(*stream->pending.front())) candidates.push_back(stream->pending.front().get());
  }
  return candidates.empty() ? nullptr : candidates[random_() % candidates.size()];
}

void Queue::execute(Operation& operation) {
  Stream& stream = *operation.stream;
  const Ticket keep = stream.pending.front();
  operation.running = true;
  if (driver_.devices[static_cast<size_t>(stream.device)].error == 0) perform(operation.work, operation);
  operation.running = false;
  operation.done = true;
  operation.finished = std::chrono::steady_clock::now();
  operation.work = {};
  operation.after.clear();
  if (!stream.pending.empty() && stream.pending.front() == keep) stream.pending.pop_front();
  if (stream.destroyed) forget_empty();
  driver_.changed.notify_all();
}

void Queue::perform(const Work& work, const Operation& operation) {
  const int device = operation.stream->device;
  const std::set<int>& peers = driver_.devices[static_cast<size_t>(device)].peers;
  driver_.engine.touch = [&, all = work.all_devices](void* address) {
    const auto may = [&](int owner) { return all || owner == device || peers.count(owner) > 0; };
    return driver_.memory.open(reinterpret_cast<uintptr_t>(address), may);
  };
  switch (work.kind) {
    case WorkKind::Kernel: return perform_kernel(work.kernel, operation);
    case WorkKind::Graph: return perform_graph(*work.graph, operation);
    case WorkKind::Host: return perform_host(work);
    case WorkKind::Copy:
    case WorkKind::Set: {
      const Outcome outcome = driver_.engine.run(work.body);
      if (outcome.kind != Outcome::Fine) driver_.fail(device, kIllegalAddress, work.name + ": " + outcome.text);
      return close_memory(work.name, operation);
    }
    default: return;
  }
}

void Queue::perform_kernel(const KernelCall& call, const Operation& operation) {
  const int device = operation.stream->device;
  const Kernel& kernel = *call.function->kernel;
  ++driver_.launches;
  if (!call.function->module->loaded) {
    return driver_.fail(device, kLaunchFailed, "kernel " + kernel.name + ": its module was unloaded before it ran");
  }
  if (const int code = driver_.fault_due("kernel")) return driver_.fail(device, code, "kernel " + kernel.name + ": a fault asked for");
  if (driver_.settings.idle) return;
  std::vector<uint64_t> parameters = call.parameters;
  std::vector<void*> arguments;
  for (uint64_t& parameter : parameters) arguments.push_back(&parameter);
  const Outcome outcome = driver_.engine.run({.kernel = kernel.call,
                                              .machine = call.function->module->program->machine(),
                                              .arguments = arguments.data(),
                                              .blocks = call.blocks,
                                              .threads = call.threads,
                                              .shared_bytes = kernel.shared_bytes,
                                              .order = static_cast<Order>(random_() % 3),
                                              .seed = random_()});
  const std::string name = "kernel " + kernel.name;
  if (outcome.kind != Outcome::Fine) {
    driver_.fail(device, code_of(outcome.kind), name + ": " + outcome.text);
  }
  close_memory(name, operation);
}

void Queue::close_memory(const std::string& name, const Operation& operation) {
  std::string race;
  const auto note = [&](DeviceMemory::Block& block) {
    const bool writes = block.access == DeviceMemory::Block::Writable;
    const std::string found = block.history.note({operation.stream_number, operation.place, name}, writes, operation.before);
    if (race.empty()) race = found;
  };
  const std::string beside = driver_.memory.close(watched_ ? note : std::function<void(DeviceMemory::Block&)>());
  const int device = operation.stream->device;
  if (driver_.devices[static_cast<size_t>(device)].error != 0) return;
  if (!beside.empty()) driver_.fail(device, kIllegalAddress, name + ": " + beside);
  else if (!race.empty()) driver_.fail(device, kLaunchFailed, race);
}

// In any order that the nodes allow.
void Queue::perform_graph(const std::vector<Node>& nodes, const Operation& operation) {
  const int device = operation.stream->device;
  std::vector<bool> done(nodes.size());
  for (size_t left = nodes.size(); left > 0; --left) {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto is_done = [&](size_t before) { return done[before]; };
      if (!done[i] && std::all_of(nodes[i].after.begin(), nodes[i].after.end(), is_done)) candidates.push_back(i);
    }
    const size_t next = candidates[random_() % candidates.size()];
    done[next] = true;
    if (driver_.devices[static_cast<size_t>(device)].error == 0) perform(nodes[next].work, operation);
  }
}

// On a thread of the driver's, without its lock, as the real one does; calls of the driver from there are refused.
void Queue::perform_host(const Work& work) {
  std::unique_lock<std::mutex>* const lock = driver_.lock;
  lock->unlock();
  std::thread([&] {
    in_host_function() = true;
    work.body();
  }).join();
  lock->lock();
  driver_.lock = lock;
}

}  // namespace tenon::cuda_sim
