// An object that each thread has, made when it first asks, and that ends with the thread. Destructors of the thread's other
// objects, of statics and exit handlers may ask later still: they get none.
//
//   if (Recent* recent = ir::OfThread<Recent>::get()) ...
#pragma once

#include <utility>

namespace tenon::ir {

template <typename T>
class OfThread {
 public:
  static T* get() {
    if (!object_ && !ended_) make();
    return object_;
  }
  static T* find() { return object_; }  // does not make it

 private:
  struct AtEnd {
    ~AtEnd() {
      ended_ = true;
      delete std::exchange(object_, nullptr);
    }
  };
  static void make() {
    static thread_local AtEnd at_end;
    static_cast<void>(&at_end);
    object_ = new T;
  }

  // Without destructors: they are read when the thread's objects have ended.
  [[gnu::tls_model("initial-exec")]] static constinit inline thread_local T* object_ = nullptr;
  [[gnu::tls_model("initial-exec")]] static constinit inline thread_local bool ended_ = false;
};

}  // namespace tenon::ir
