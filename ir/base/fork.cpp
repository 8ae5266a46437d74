// The global locks that a fork takes, by place, and the three handlers around a fork.
#include "ir/base/fork.h"

#include <pthread.h>

#include <array>

namespace tenon::ir {
namespace {

constinit std::array<ForkLock, static_cast<size_t>(ForkOrder::Count)> locks{};
constinit std::array<void (*)(), 16> makers{};
constinit size_t maker_count = 0;

void before() {
  for (size_t i = 0; i < maker_count; ++i) makers[i]();
  for (const ForkLock& l : locks) {
    if (l.find) l.find();
  }
  for (const ForkLock& l : locks) {
    if (l.lock) l.lock();
  }
}

void in_parent() {
  for (size_t i = locks.size(); i-- > 0;) {
    if (locks[i].unlock) locks[i].unlock();
  }
}

void in_child() {
  for (size_t i = locks.size(); i-- > 0;) {
    if (locks[i].renew) locks[i].renew();
  }
}

// When the library is loaded: at its first use another thread may be forking.
[[maybe_unused]] const int registered = pthread_atfork(before, in_parent, in_child);

}  // namespace

bool hold_over_fork(ForkOrder place, ForkLock lock) {
  locks[static_cast<size_t>(place)] = lock;
  return true;
}

bool make_before_fork(void (*make)()) {
  makers.at(maker_count++) = make;
  return true;
}

}  // namespace tenon::ir
