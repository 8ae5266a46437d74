// Where each value of a plan lies. In: sizes and lifetimes in steps, and which value may be written over
// which. Out: a place for each, such that values alive at the same time never overlap.
//
//   updates   of a temporary that nothing reads afterwards lie where it lies: a chain of them is one value
//   parts     of a value that is laid together from them, if nothing reads them afterwards, lie in it from the start
//   inputs    stay where they are; one that dies may give its memory to an output (checked again at each run)
//   outputs   have buffers of their own, which temporaries reuse that are dead before the output is written, unless a device
//             records launches: an output may lie elsewhere in the next run, and what lies in it would move with it
//   the rest  share one arena, first fit
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::compiler {

enum class ValueKind : uint8_t { Input, Output, Temporary };

struct PlannedValue {
  ValueKind kind;
  int32_t index;  // of the input or output
  int64_t bytes;
  int32_t begin, end;  // the step that writes it (-1 for an input), the last step that reads it
};

// In step `step`, value `to` may be written where value `from` is read; `update`: it had better be, as the step writes
// only part of it, and `from` is copied otherwise; `part`: it becomes the bytes of `to` from `offset` on, and is
// copied there otherwise.
struct InPlace {
  int32_t step, from, to;
  bool update = false, part = false;
  int64_t offset = 0;
};

struct Place {
  ValueKind base;  // Temporary: in the arena
  int32_t index;   // of the input or output
  int64_t offset;  // in its buffer or in the arena
};

struct MemoryPlan {
  std::vector<Place> places;  // parallel to the values
  struct Donation {
    int32_t input, output;  // indices
  };
  std::vector<Donation> donations;  // each input and each output at most once
  int64_t arena_bytes = 0;
};

std::string print(const MemoryPlan& plan);  // a line for each value

MemoryPlan plan_memory(const std::vector<PlannedValue>& values, const std::vector<InPlace>& in_place, bool reuse_outputs = true);

}  // namespace tenon::compiler
