// Storages: who claims a value, who may write its memory, what outsiders know of it, and writes that may be undone.
#include "frontend/src/tensor/storage.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>

#include "frontend/src/tensor/devices.h"
#include "frontend/src/tensor/outside.h"
#include "frontend/src/tensor/pending.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/fork.h"
#include "runtime/device/device.h"
#include "runtime/run/evaluate.h"

namespace tenon {
namespace {

// Storages share a few locks, which are held for a handful of instructions: a fork must find them all.
struct alignas(64) StorageLock {
  std::atomic_flag flag;
};
constinit StorageLock storage_locks[64];
class Locked {
 public:
  explicit Locked(const void* storage) : flag_(storage_locks[reinterpret_cast<uintptr_t>(storage) / 64 % std::size(storage_locks)].flag) {
    take(flag_);
  }
  ~Locked() { flag_.clear(std::memory_order_release); }
  static void take(std::atomic_flag& flag) {
    while (flag.test_and_set(std::memory_order_acquire)) {
      while (flag.test(std::memory_order_relaxed)) {
      }
    }
  }

 private:
  std::atomic_flag& flag_;
};
template <auto call>
void for_each_storage_lock() {
  for (StorageLock& lock : storage_locks) call(lock.flag);
}
void clear(std::atomic_flag& flag) { flag.clear(std::memory_order_release); }
// Held while a storage gives its address away for the first time: two threads that ask at once get the same one.
constinit std::mutex address_mutex;
[[maybe_unused]] const bool address_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Addresses, ir::fork_lock<[]() -> std::mutex& { return address_mutex; }>());
[[maybe_unused]] const bool storages_held_over_fork = ir::hold_over_fork(
    ir::ForkOrder::Storages, {for_each_storage_lock<Locked::take>, for_each_storage_lock<clear>, for_each_storage_lock<clear>});

// A constant costs nothing to make again, so holding one must not turn it into an output of other
// evaluations.
bool counts_holders(const NodeRef& node) { return node && node->op() != Op::Const; }
void hold(const NodeRef& node) {
  if (counts_holders(node)) node->holders.fetch_add(1, std::memory_order_relaxed);
}
void let_go(const NodeRef& node) {
  if (counts_holders(node)) node->holders.fetch_sub(1, std::memory_order_relaxed);
}

void fill(void* data, int64_t count, int size, uint64_t bits) {
  auto* out = static_cast<unsigned char*>(data);
  if (bits == 0) {
    std::memset(out, 0, static_cast<size_t>(count) * static_cast<size_t>(size));
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * size, &bits, static_cast<size_t>(size));
}

NodeRef volatile_input(const ir::Node& like, std::shared_ptr<runtime::Buffer> buffer) {
  return ir::make_volatile_input(like.dtype(), like.shape(), std::move(buffer), like.device());
}

}  // namespace

Storage::Storage(NodeRef value) : value_(std::move(value)) { hold(value_); }
Storage::~Storage() {
  if (claims_ > 0) let_go(value_);
}

void Storage::leave() {
  const bool last = refs_.load(std::memory_order_acquire) == 1;  // nobody else can make another
  if (last || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void Storage::claim() {
  Locked guard(this);
  if (claims_++ == 0) hold(value_);
}
void Storage::unclaim() {
  Locked guard(this);
  if (--claims_ == 0) let_go(value_);
}

bool Storage::is_claimed() const {
  Locked guard(this);
  return claims_ > 0;
}

NodeRef Storage::value() const {
  if (this_thread.capture) [[unlikely]]
    this_thread.capture->before_use(const_cast<Storage&>(*this));
  Locked guard(this);
  return value_;
}

void Storage::set_value(NodeRef value) {  // the old one dies after the lock is open
  if (this_thread.capture) [[unlikely]]
    this_thread.capture->before_use(*this);
  Locked guard(this);
  if (claims_ > 0) {
    hold(value);
    let_go(value_);
  }
  std::swap(value, value_);
}

std::shared_ptr<runtime::Buffer> Storage::realise() {
  NodeRef node = value();
  if (node->device() != runtime::kHostTag && node->numel() > 0) refuse_in_capture("the host reads a value");
  if (auto buffer = runtime::buffer_of(*node)) return buffer;
  if (node->numel() == 0 || node->op() == Op::Const) {
    auto buffer = allocate_buffer(byte_count(*node));
    if (node->numel() > 0) fill(buffer->data(), node->numel(), ir::item_size(node->dtype()), node->bits());
    if (node->device() != runtime::kHostTag) buffer = device_elements(buffer->data(), buffer->bytes(), node->device());
    set_value(with_buffer(*node, buffer));
    return buffer;
  }
  while (true) {
    evaluate_nodes({&node, 1});
    if (auto buffer = runtime::buffer_of(*node)) return buffer;  // else another thread has just met a device's late failure
  }
}

std::shared_ptr<runtime::Buffer> Storage::own() {
  auto buffer = realise();
  NodeRef node = value();
  const long known = shows(buffer) ? 3 : 2;         // the node's, `buffer` and perhaps the one that was shown
  const bool shared_node = node->references() > 2;  // by others than this storage and `node`
  const bool shared_buffer = node->payload().use_count() > known;
  if (!shared_node && !shared_buffer) return buffer;
  node = copy_of(*node, *buffer);  // pending readers and other tensors keep the old memory
  buffer = runtime::buffer_of(*node);
  set_value(std::move(node));
  return buffer;
}

std::shared_ptr<runtime::Buffer> Storage::show() {
  auto buffer = realise(), old = buffer;  // which dies outside the lock
  Locked guard(this);
  std::swap(shown_, old);
  return buffer;
}

bool Storage::shows(const std::shared_ptr<runtime::Buffer>& buffer) const {
  Locked guard(this);
  return shown_ == buffer;
}

std::shared_ptr<runtime::Buffer> Storage::expose() {
  if (auto buffer = realise(); buffer->exposed) return buffer;
  const std::lock_guard lock(address_mutex);
  if (auto buffer = realise(); buffer->exposed) return buffer;  // another thread was faster
  const auto buffer = own();                                    // which counts who holds it: nobody here
  buffer->exposed = true;
  buffer->drop_packed();
  // What the host cannot reach is read when it is computed: whoever writes it there orders that himself.
  if (buffer->device().host_accesses_memory()) set_value(volatile_input(*value(), buffer));
  return buffer;
}

void Storage::trust() {
  const NodeRef node = value();
  if (node->reads_volatile()) set_value(with_buffer(*node, runtime::buffer_of(*node)));
}

bool Storage::exposed() const {
  Locked guard(this);
  const auto& payload = value_->payload();
  return payload && static_cast<const runtime::Buffer&>(*payload).exposed;
}

std::shared_ptr<runtime::Buffer> Storage::spare_readers() {
  NodeRef node = value();
  auto buffer = runtime::buffer_of(*node);
  if (node->references() > 2) {  // others than this storage and `node`
    const bool is_volatile = node->reads_volatile();
    runtime::rebind(*node, runtime::buffer_of(*copy_of(*node, *buffer)));
    set_value(is_volatile ? volatile_input(*node, buffer) : with_buffer(*node, buffer));
  }
  return buffer;
}

void Storage::grow(int64_t bytes) {
  const NodeRef node = value();
  const int64_t item = ir::item_size(node->dtype()), wanted = (bytes + item - 1) / item;
  if (wanted <= node->numel()) return;
  const auto buffer = runtime::buffer_of(*node);
  check(!buffer || !buffer->adopted(), "Trying to resize storage that is not resizable");
  const NodeRef zero = ir::make_const(ir::constant(node->dtype(), int64_t{0}), Dims{}, node->device());
  if (node->numel() == 0) return set_value(ir::make_const({node->dtype(), 0}, Dims{wanted}, node->device()));
  set_value(ir::pad(ir::reshape(node, Dims{node->numel()}), zero, Dims{0}, Dims{wanted - node->numel()}));
}

void replace_exposed(Storage& storage, NodeRef value) {
  const auto target = runtime::buffer_of(*storage.value());
  Storage computed(unexposed(std::move(value)));
  const auto elements = computed.realise();
  storage.spare_readers();
  copy_elements(*target, *elements);
}

StorageHold::StorageHold(Storage& storage) : storage_(&storage) { storage.refs_.fetch_add(1, std::memory_order_relaxed); }
StorageHold::~StorageHold() {
  if (storage_) storage_->leave();
}
bool StorageHold::is_last() const { return storage_->refs_.load(std::memory_order_acquire) == 1; }
bool StorageHold::is_claimed() const { return storage_->is_claimed(); }

// --- writes that may be undone

namespace {
std::atomic<uint64_t> write_time{0};
}  // namespace

void Writes::add(Storage& storage, NodeRef before, NodeRef after) {
  list_.push_back({StorageHold(storage), std::move(before), std::move(after), write_time.fetch_add(1, std::memory_order_relaxed)});
}

// Two writes of a storage, one upon the other, become one.
void Writes::append(Writes&& others) {
  const size_t count = list_.size();
  for (Write& w : others.list_) {
    const auto upon = std::find_if(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(count),
                                   [&](const Write& own) { return &*own.storage == &*w.storage && own.after == w.before; });
    if (upon == list_.begin() + static_cast<std::ptrdiff_t>(count)) {
      list_.push_back(std::move(w));
    } else {
      upon->after = std::move(w.after);
      upon->time = w.time;
    }
  }
  others.clear();
}

void Writes::undo() {
  std::vector<const Write*> newest_first;
  for (const Write& w : list_) newest_first.push_back(&w);
  std::ranges::sort(newest_first, std::greater(), [](const Write* w) { return w->time; });
  for (const Write* w : newest_first) {
    if (w->storage->value() == w->after) w->storage->set_value(w->before);
  }
  clear();
}

void Writes::add_pending(std::vector<NodeRef>& values) const {
  for (const Write& w : list_) {
    if (!w.after->is_leaf() && w.storage->value() == w.after) values.push_back(w.after);
  }
}

}  // namespace tenon
