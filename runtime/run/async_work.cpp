#include "runtime/run/async_work.h"

#include <algorithm>
#include <utility>

#include "ir/base/fork.h"
#include "runtime/run/evaluation.h"

namespace tenon::runtime {
namespace {

template <typename F>
void for_each_async_device(F&& f) {
  for (Device* device : all_devices()) {
    if (device->works_async()) f(*device);
  }
}

// Work outside of evaluations.
template <typename F>
void submit(F&& work) {
  try {
    AsyncWork::global().alone(work);
  } catch (const AsyncFailure&) {
    recover();
    throw;
  }
}

// All bytes of `to`, within `alone`.
void copy_into(Buffer& to, Device& device, const void* from, bool from_host, const std::shared_ptr<const void>& owner = nullptr) {
  AsyncWork& work = AsyncWork::global();
  const uint64_t number = work.begin();
  copy_between(to.device(), to.data(), device, from, to.bytes(), owner);
  work.end(number, to.device(), from_host);
  if (to.device().works_async()) to.written = number;
}

}  // namespace

AsyncWork& AsyncWork::global() {
  static auto* work = new AsyncWork;  // never destroyed: static tensors may be read at exit
  return *work;
}
std::mutex& AsyncWork::global_mutex() { return global().mutex_; }
[[maybe_unused]] const bool async_work_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Devices, ir::fork_lock<AsyncWork::global_mutex>());

void AsyncWork::end(uint64_t number, Device& device, bool from_host) {
  if (device.works_async()) submitted_.push_back({number, &device, device.record(Stream::Main), from_host});
}

std::vector<ir::Definition> AsyncWork::look() {
  const auto waits = [](const Submitted& h) { return !h.device->is_past(h.event); };
  const auto first = std::find_if(submitted_.begin(), submitted_.end(), waits);
  for_each_async_device([](Device& device) { device.throw_failure(); });  // none: then what is past is right
  submitted_.erase(submitted_.begin(), first);
  if (failed_) return {};  // what was kept is still to be given back
  return ir::take_kept_definitions(done());
}

bool AsyncWork::waits() {
  const std::lock_guard lock(mutex_);
  return !submitted_.empty();
}

void AsyncWork::fail(const AsyncFailure& failure) {
  for_each_async_device([](Device& device) {
    try {
      device.synchronise();
    } catch (const std::runtime_error&) {  // of work that counts as failed already
    }
  });
  Range lost{done() + 1, last_};
  failed_ = Range{failed_ ? failed_->first : lost.first, last_};
  for (const Submitted& work : std::exchange(submitted_, {})) {
    if (!failure.copies_are_right || !work.from_host) continue;
    if (lost.first < work.number) add_failure({lost.first, work.number - 1}, failure.what());
    lost.first = work.number + 1;
  }
  if (lost.first <= lost.last) add_failure(lost, failure.what());
}

bool AsyncWork::has_failed() {
  const std::lock_guard lock(mutex_);
  return failed_.has_value();
}

std::vector<ir::Definition> AsyncWork::recover() {
  const std::lock_guard lock(mutex_);
  if (!failed_) return {};
  std::vector<ir::Definition> gone = ir::take_kept_definitions(failed_->first - 1);
  const auto is_known_outside = [](const ir::Node& node) { return buffer_of(node)->exposed.load(); };
  for (ir::Definition& lost : ir::give_back_kept_definitions(failed_->last, is_known_outside)) gone.push_back(std::move(lost));
  failed_.reset();
  return gone;
}

void AsyncWork::add_failure(Range range, const std::string& why) {
  const std::lock_guard lock(failures_mutex_);
  failures_.push_back({range, why});
  last_failed_ = range.last;
}

void AsyncWork::check(const Buffer& buffer) {
  const uint64_t number = buffer.written;
  if (number > last_failed_ || number == 0) return;
  const std::lock_guard lock(failures_mutex_);
  for (const Failure& failure : failures_) {
    if (failure.range.first <= number && number <= failure.range.last)
      throw std::runtime_error("a value that is read here is lost: " + failure.why);
  }
}

void AsyncWork::lose(Buffer& buffer, const std::string& why) {
  const std::lock_guard lock(mutex_);
  buffer.written = begin();
  add_failure({buffer.written, buffer.written}, why);
}

void copy_to_host(void* to, const Buffer& from, size_t offset, size_t bytes) {
  submit([&] {
    AsyncWork::global().check(from);
    try {
      copy_between(host_device(), to, from.device(), static_cast<const std::byte*>(from.data()) + offset, bytes);
    } catch (const AsyncFailure&) {
      throw;
    } catch (const OutOfMemory&) {
      throw;
    } catch (const std::runtime_error& e) {
      throw std::runtime_error("the copy from " + name_of(from.device().tag()) + " to the host failed: " + e.what());
    }
  });
}

void copy_from_host(Buffer& to, const void* from, const std::shared_ptr<const void>& owner) {
  submit([&] { copy_into(to, host_device(), from, true, owner); });
}

void copy_all(Buffer& to, const Buffer& from) {
  submit([&] {
    AsyncWork::global().check(from);
    copy_into(to, from.device(), from.data(), false);
  });
}

void look_at_devices() {
  std::vector<ir::Definition> gone;
  submit([&] { gone = AsyncWork::global().look(); });
}

void synchronise() {
  std::vector<ir::Definition> gone;
  submit([&] {
    for_each_async_device([](Device& device) { device.synchronise(); });
    gone = AsyncWork::global().look();
  });
}

}  // namespace tenon::runtime
