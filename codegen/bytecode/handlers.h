// What executes one instruction of a bytecode, as a table of functions. The table is compiled once for each instruction set
// (handlers_*.cpp); who translates takes the best that the machine has. Private to codegen/bytecode/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/looptree/looptree.h"

namespace tenon::codegen::bytecode {

// Operands are places in the register file, in bytes. What else a field holds each handler says.
struct Instr;
using Handler = const Instr* (*)(const Instr* instr, std::byte* registers);  // gives the next instruction, null at the end
struct Instr {
  Handler run = nullptr;
  int32_t d = 0, a = 0, b = 0, c = 0;
  int32_t n = 1;               // chunks of 64 bytes, or lanes
  int32_t to = 0;              // where a jump goes, counted from this instruction
  int64_t number = 0;          // a step
  const void* more = nullptr;  // an Evaluation, or the places of a Pick
};

constexpr int kChunk = 64;  // bytes of a register that an instruction takes at a time
constexpr int kOperands = 3;

// An elementwise operation that has no handler of its own, lane by lane as ir::evaluate has it.
struct Evaluation {
  ir::Op op;
  int operands;
  ir::DType from[kOperands], to;
};

struct Access {  // of a load or a store
  int item;      // bytes of an element
  int lanes;
  bool truth;  // a load of bools: any byte but 0 is true
  bool masked;
  enum Kind : uint8_t { Together, Strided, Indexed, IndexedNarrow } kind;  // Indexed: by i64; IndexedNarrow: by i32
};

// What an inner loop of a product does, many iterations by one instruction: for each row and column
//   registers[row][column] = fma(left[row] in each lane, right[column], registers[row][column])
// An operand is read from the buffer whose address is at `buffer`. Even: its index grows by the same amount each time; at `first` is the
// first one, at `more` the second, and all iterations are done. Else at `more` is what the next kListed iterations add to what is at
// `first`, as many iterations are done at most, and of a vector those elements are read whose bool at `mask` is true; the others are 0.
struct MultiplyAdds {
  struct Operand {
    int32_t buffer, first, more, mask = 0;
  };
  std::vector<Operand> left, right;  // elements; vectors
  std::vector<int32_t> registers;    // by row, then by column
};
constexpr int kListed = 32;

struct Handlers {
  // Null: there is none. `many`: in chunks of 64 bytes, else of one lane.
  Handler (*elementwise)(ir::Op op, ir::DType from, ir::DType to, bool many);  // d = op(a, b, c); a where of the type `to`; casts by lanes
  Handler (*splat)(int item);                                                  // d, a, n lanes
  Handler (*ramp)(int item);                                                   // d = a + lane * b, n lanes
  Handler (*pick)(int item);                                                   // lane l of d is at more[l] (int32_t), n lanes
  Handler (*extract)(int item, bool narrow);                                   // d = lane b of a; b is an i32 if narrow, else an i64
  Handler (*load)(
      const Access& access);  // d from the buffer whose address is at b, at index a; mask or stride at c; both: the mask at `to`
  Handler (*store)(const Access& access);  // the same from d
  Handler evaluation;                      // more: an Evaluation; n lanes
  Handler quotient;                        // i64
  Handler copy_word, copy_chunks;          // 8 bytes; n chunks
  Handler begin_for, end_for;              // d = a, on if it is below b, else to `to`; d += number, back to `to` if it is below b
  Handler jump_unless, jump, end;          // a: a bool
  Handler jump_unless_any;                 // a: a bool of n lanes
  Handler (*multiply_adds)(ir::DType type, int lanes, bool even);  // more: MultiplyAdds; from a to below b by `number`
};

std::vector<const Handlers*> all_handlers();  // those that this machine can execute, the fastest last

}  // namespace tenon::codegen::bytecode
