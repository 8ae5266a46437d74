// fork() copies one thread, and every lock as it stands: what another thread holds at that moment nobody in the child will ever
// release. So the forking thread first takes all global locks of the library, in the order in which they nest; the parent
// releases them, the child makes them anew. A fork thus waits for the evaluations that compute, and the child finds every
// structure whole.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tenon::ir {

// The order in which locks nest: whoever holds one takes only later ones.
enum class ForkOrder : uint8_t {
  Addresses,
  Evaluation,
  Behind,
  Devices,
  Kernels,
  Generators,
  Nodes,
  Packed,
  Memory,
  Pages,
  Indices,
  Options,
  Profile,
  Threads,
  Printing,
  Storages,
  Names,
  Warnings,
  Count
};

struct ForkLock {
  void (*lock)();
  void (*unlock)();          // in the parent
  void (*renew)();           // in the child, which owns no mutex: it is another thread to the C library
  void (*find)() = nullptr;  // makes what the lock lies in, which may take other locks: before any is taken
};

// Once for each place, while the library is loaded: initialises a constant.
bool hold_over_fork(ForkOrder place, ForkLock lock);

// The usual case: `get` finds the mutex, and makes what it lies in if need be.
template <auto get>
constexpr ForkLock fork_lock() {
  return {[] { get().lock(); }, [] { get().unlock(); }, [] { std::construct_at(&get()); }, [] { get(); }};
}

// What a function makes when it is called first (a local static) may be half made in a fork, and whoever asks in the child
// would wait for ever: a fork calls these first. Not for what evaluations alone make. Once for each, like the above.
bool make_before_fork(void (*make)());

}  // namespace tenon::ir
