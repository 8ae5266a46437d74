// A storage: the value that all aliases of a tensor share, the memory behind it once it is evaluated, and what outsiders know of that.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "frontend/src/tensor/context.h"
#include "runtime/memory/buffer.h"

namespace tenon {

// A value that several tensors may alias. Thread-safe.
class Storage {
 public:
  explicit Storage(NodeRef value);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  NodeRef value() const;
  void set_value(NodeRef value);  // the same elements, or those of a write

  // Makes the value an Input with a buffer and returns the buffer: evaluates what is pending.
  std::shared_ptr<runtime::Buffer> realise();
  // As realise, and the memory belongs to this storage alone.
  std::shared_ptr<runtime::Buffer> own();
  // As realise, for an address that is only read: the memory outlives every write to this storage.
  std::shared_ptr<runtime::Buffer> show();
  // As own, for an address that is given away. From the first time on the memory stays where it is, and is
  // volatile: see outside.h.
  std::shared_ptr<runtime::Buffer> expose();
  bool exposed() const;
  // Nobody outside writes exposed memory any more: reading it may wait.
  void trust();
  // Gives pending readers of exposed memory a copy, before the memory is written. Returns the memory.
  std::shared_ptr<runtime::Buffer> spare_readers();
  // Grows to at least so many bytes, with zeros at the end. Error if the memory is somebody else's.
  void grow(int64_t bytes);

  // How many of its tensors are still wanted: without one the value is stored only if it is observed.
  void claim();
  void unclaim();
  bool is_claimed() const;

 private:
  friend class StorageHold;
  friend class TensorImpl;
  friend class VersionWatch;
  void leave();  // of one of those who refer to it
  bool shows(const std::shared_ptr<runtime::Buffer>& buffer) const;

  std::atomic<int32_t> refs_{1};
  std::atomic<int64_t> version_{0};  // how many writes there were
  // Under the storage's lock:
  int32_t claims_ = 1;
  NodeRef value_;
  std::shared_ptr<runtime::Buffer> shown_;  // what somebody reads through a pointer
};

// Keeps a storage, not its value.
class StorageHold {
 public:
  explicit StorageHold(Storage& storage);
  StorageHold(StorageHold&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StorageHold& operator=(StorageHold&&) = delete;
  ~StorageHold();
  Storage& operator*() const { return *storage_; }
  Storage* operator->() const { return storage_; }
  bool is_last() const;     // nobody else keeps it
  bool is_claimed() const;  // a tensor wants its value

 private:
  Storage* storage_;
};

// Values that storages had, and what came in their place.
class Writes : public std::enable_shared_from_this<Writes> {
 public:
  void add(Storage& storage, NodeRef before, NodeRef after);
  void append(Writes&& others);
  void undo();                                           // where nobody has written since
  void add_pending(std::vector<NodeRef>& values) const;  // of those that storages still hold
  bool empty() const { return list_.empty(); }
  void clear() { list_.clear(); }

 private:
  struct Write {
    StorageHold storage;
    NodeRef before, after;
    uint64_t time;
  };
  std::vector<Write> list_;
};

// Replaces the value of memory on another device whose address was given away: the value is computed, and copied there.
void replace_exposed(Storage& storage, NodeRef value);

}  // namespace tenon
