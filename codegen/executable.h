// What every CPU code generator produces: functions that run a range of one phase of a loop tree.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tenon::codegen {

// Runs iterations [begin, end) of one phase. `buffers` are In, Out and Global buffers in the tree's order;
// `sizes` and `scalars` (raw bits) are its parameters; `local` is this worker's scratch, kLocalAlign aligned,
// holding the Local buffers one after another, each rounded up to kLocalAlign bytes.
using PhaseFunction = void (*)(void* const* buffers, const int64_t* sizes, const uint64_t* scalars, int64_t begin, int64_t end,
                               void* local);
inline constexpr int64_t kLocalAlign = 64;

// Loaded machine code. Alive as long as its functions may run.
struct Executable {
  virtual ~Executable() = default;
  std::vector<PhaseFunction> phases;
};

}  // namespace tenon::codegen
