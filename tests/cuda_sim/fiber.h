// A fiber: a stack of its own and the place where its code goes on. Two kinds of switch: nine instructions on x86-64,
// ucontext elsewhere (six times slower: it saves the signal mask by system calls).
#pragma once

#include <cstddef>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tenon::cuda_sim {

class Fiber {
 public:
  Fiber() = default;  // of the stack that runs already: what a switch leaves
  // On a new stack with a guard page below it; `body` begins at the first switch and must never return.
  explicit Fiber(void (*body)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void restart();  // forgets where it stood: the next switch begins `body` again
  static void change(Fiber& from, Fiber& to);

 private:
  static constexpr size_t kStack = 512 << 10, kGuard = 4096;
  void forget_red_zones();

  void (*body_)() = nullptr;
  char* stack_ = nullptr;
#if defined(__x86_64__)
  void* top_ = nullptr;  // the stack pointer, below the six saved registers
#else
  ucontext_t context_;
#endif
};

}  // namespace tenon::cuda_sim
