// The switch between fibers, and their stacks.
#include "cuda_sim/fiber.h"

#include <sys/mman.h>

#include <new>

namespace tenon::cuda_sim {

Fiber::Fiber(void (*body)()) : body_(body) {
  void* memory = mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<char*>(memory);
  mprotect(stack_, kGuard, PROT_NONE);
  restart();
}

// Functions that are given up in their middle leave the marks of the address sanitizer on their stack.
extern "C" __attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* begin, size_t bytes);
void Fiber::forget_red_zones() {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(stack_ + kGuard, kStack);
}

Fiber::~Fiber() {
  if (stack_) munmap(stack_, kStack + kGuard);
}

#if defined(__x86_64__)

extern "C" void tenon_sim_switch(void** save, void* load);
// Saves what a call preserves and the place to return to; takes the same from the other stack.
asm(R"(
.text
.hidden tenon_sim_switch
.globl tenon_sim_switch
.type tenon_sim_switch, @function
tenon_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tenon_sim_switch, .-tenon_sim_switch
.section .note.GNU-stack,"",@progbits
.text
)");

void Fiber::restart() {
  forget_red_zones();
  // A function begins with the stack 8 above a multiple of 16, as after a call.
  void** top = reinterpret_cast<void**>(stack_ + kGuard + kStack);
  *--top = nullptr;                         // where `body` would return to
  *--top = reinterpret_cast<void*>(body_);  // where the switch returns to
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  top_ = top;
}

void Fiber::change(Fiber& from, Fiber& to) { tenon_sim_switch(&from.top_, to.top_); }

#else

void Fiber::restart() {
  forget_red_zones();
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_ + kGuard;
  context_.uc_stack.ss_size = kStack;
  context_.uc_link = nullptr;
  makecontext(&context_, body_, 0);
}

void Fiber::change(Fiber& from, Fiber& to) { swapcontext(&from.context_, &to.context_); }

#endif

}  // namespace tenon::cuda_sim
