// What becomes of static objects at exit.
#include "ir/base/exit.h"

extern "C" {
// The C++ runtime's, by the names that --wrap=__cxa_atexit gives the two ends.
int __real___cxa_atexit(void (*destroy)(void*), void* object, void* library);
[[gnu::visibility("hidden")]] int __wrap___cxa_atexit(void (*destroy)(void*), void* object, void* library);
void _ZNSt8ios_base4InitD1Ev(void*);  // std::ios_base::Init::~Init()
extern void* __dso_handle;            // this library; without one, ThreadSanitizer takes the handler for one of atexit
}

int __wrap___cxa_atexit(void (*destroy)(void*), void* object, void* library) {
  // The standard streams count their users and are flushed when the last has gone: that count must stay right.
  return destroy == _ZNSt8ios_base4InitD1Ev ? __real___cxa_atexit(destroy, object, library) : 0;
}

namespace tenon::ir {

void at_exit(void (*handler)()) {
  __real___cxa_atexit([](void* f) { reinterpret_cast<void (*)()>(f)(); }, reinterpret_cast<void*>(handler), &__dso_handle);
}

}  // namespace tenon::ir
