// The first tier of the CPU: a loop tree as a list of instructions, each of which works on a whole vector and is executed by a function
// that was compiled with the library. Making one takes some tens of microseconds where LLVM takes milliseconds, running it takes ten to
// forty times as long; the bits are the same. So code that is new runs at once, and what runs once is never compiled
// (runtime/cache/kernel_cache.h).
//
//   for %5 in %1..%2 step 16 {             begin_for  d=%5 a=%1 b=%2 to=+5
//     %6 = load x[%5] : f32x16             load       d=%6 b=&x a=%5              64 bytes
//     %7 = get %3                          (%7 is the register %3)
//     %8 = add %6, %7                      add        d=%3 a=%6 b=%3              straight into the register
//     set %3, %8
//   }                                      end_for    d=%5 b=%2 number=16 to=-2
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ir/looptree/looptree.h"

namespace tenon::codegen {

namespace bytecode {
struct Handlers;
}

class Bytecode {
 public:
  struct Program;
  // Null if the tree has what no handler does, or is so large that its values would not stay in a cache.
  static std::unique_ptr<Bytecode> of(const ir::LoopTree& tree);
  static std::unique_ptr<Bytecode> of(const ir::LoopTree& tree, const bytecode::Handlers& handlers);  // of another instruction set
  ~Bytecode();

  // Iterations [begin, end) of a phase, as codegen::PhaseFunction; `registers` are of the worker too, kLocalAlign aligned.
  void run(size_t phase, void* const* buffers, const int64_t* sizes, const uint64_t* scalars, int64_t begin, int64_t end, void* local,
           void* registers) const;
  size_t register_bytes() const;
  // About: how many times as long it takes as what a schedule estimates for compiled code.
  double slowdown() const;

 private:
  explicit Bytecode(std::unique_ptr<Program> program);
  const std::unique_ptr<const Program> program_;
};

}  // namespace tenon::codegen
