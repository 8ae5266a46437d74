// What a schedule may ask of the machine that it writes a loop tree for. The host's is read from the machine;
// another machine's is stated.
#pragma once

#include <cstdint>
#include <map>
#include <variant>

#include "ir/base/small_vector.h"
#include "ir/op/ops.h"

namespace tenon::ir {

enum class TargetKind : uint8_t { Cpu, Cuda };

struct CpuTarget {
  int vector_bits = 256;        // 128, 256 or 512
  int64_t l2_bytes = 1 << 20;   // the second cache, a core's own
  int cores = 1;                // that work on one launch
  bool slow_denormals = false;  // a product with a denormal number, or that gives one, takes a hundred times as long
  bool compiles = true;         // else kernels are interpreted, and nothing computes what only generated code does
  bool often = false;           // the code will run often: what it saves is worth compiling it for this length of rows alone
  int vector_registers() const { return vector_bits == 512 ? 32 : 16; }
  // Whether there are instructions for masked loads and stores of such elements.
  bool masks(int64_t item_bytes) const { return vector_bits == 512 || (vector_bits == 256 && item_bytes >= 4); }
  bool operator==(const CpuTarget&) const = default;
};

// Shared memory of a block that the text of a kernel may declare. More is asked for at each launch.
inline constexpr int64_t kStaticSharedBytes = 48 << 10;

// By default an accelerator of the middle: what a program that has none prints code for.
struct GpuTarget {
  bool compiles = true;                       // as a CPU
  int threads = 256;                          // of a block: whole warps
  int64_t shared_bytes = kStaticSharedBytes;  // that a block may have
  int warp = 32;                              // threads that run in step
  int multiprocessors = 108;                  // that share out the blocks of a launch
  int compute = 80;                           // compute capability: ten times the major number plus the minor
  double gigahertz = 1.4;                     // of a multiprocessor's clock
  double gigabytes_per_second = 1500;         // of its memory
  // Operations that a library computes there: large ones it computes better than generated code, and no kernel takes them in.
  // Empty if the library is missing; then everything is generated.
  SmallVector<Op, 2> library = {Op::Dot};
  int64_t static_shared_bytes() const { return shared_bytes < kStaticSharedBytes ? shared_bytes : kStaticSharedBytes; }
  bool operator==(const GpuTarget&) const = default;
};

using Target = std::variant<CpuTarget, GpuTarget>;
inline TargetKind kind(const Target& target) { return std::holds_alternative<CpuTarget>(target) ? TargetKind::Cpu : TargetKind::Cuda; }
std::string_view name(TargetKind kind);  // "CPU", "GPU"
inline bool compiles(const Target& target) {
  return std::visit([](const auto& device) { return device.compiles; }, target);
}

// The targets of the devices; a device that is not here has that of a CpuTarget by default.
using Targets = std::map<DeviceTag, Target>;
const Target& target_of(const Targets& targets, DeviceTag device);

// Throws IrError, with what is wrong, if there can be no such machine.
void check(const Target& target);

}  // namespace tenon::ir
