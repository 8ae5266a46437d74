// The kernel IR: one fused iteration space. A kernel has axes, buffers and a list of scalar SSA instructions,
// each at a level that says over which axes it runs; reading the levels in order gives the stages (map,
// reduction, epilogue map, second reduction, ...). Views are index expressions here and cost nothing.
//
//   kernel @softmax(x: f32 in[4194304], y: f32 out[4194304]) {
//     axes r: 4096 parallel, c: 1024 inner
//     map r c    : %0 = load x[1024*r + c] : f32
//     reduce r|c : %1 = reduce.max %0 lanes : f32
//     map r c    : %2 = sub %0, %1 : f32
//     map r c    : %3 = exp %2 : f32
//     reduce r|c : %4 = reduce.sum %3 lanes : f32
//     map r c    : %5 = div %3, %4 : f32
//     map r c    : store y[1024*r + c], %5
//   }
//
// The value of a reduction does not depend on how it is scheduled. Its tree is fixed by the extents of the
// inner axes and by its kind (see ReduceTree); every schedule, emitter and interpreter follows it to the bit.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "ir/index/index.h"
#include "ir/op/ops.h"

namespace tenon::ir {

// Where an instruction runs. Row: once for each point of the parallel axes. Full: for each point of parallel
// x inner or of parallel x serial. Contract: for each point of parallel x contract (operands of Op::Contract,
// which itself is Row).
enum class Level : uint8_t { Row, Full, Contract };

// Parallel: each value is a separate output element or row. Inner: the axes that the kernel's reductions run
// over; full-level maps run over them too. Contract: the k of a contraction; only its operands depend on it.
// Serial: the one axis along which the kernel's scans run, from first to last; full-level maps run over it too.
enum class AxisKind : uint8_t { Parallel, Inner, Contract, Serial };
// The word of each kind in text, and the level whose maps run over axes of that kind.
inline constexpr std::string_view kAxisWords[] = {"parallel", "inner", "contract", "serial"};
inline constexpr Level kAxisLevels[] = {Level::Row, Level::Full, Level::Contract, Level::Full};
static_assert(std::size(kAxisWords) == std::size(kAxisLevels));
constexpr Level level_of(AxisKind kind) { return kAxisLevels[static_cast<size_t>(kind)]; }

struct Axis {
  std::string name;
  int64_t extent;
  AxisKind kind;
};

// InOut: starts with the elements of a tensor and ends with those of the result; what is not stored stays. Every load
// from it is at the place that the same point stores, so it reads what was there before.
enum class Role : uint8_t { In, Out, InOut, Scratch };

struct KernelBuffer {
  std::string name;
  DType dtype;
  Role role;
  int64_t numel;
  bool constant = false;   // of an In buffer: what it holds has stayed the same for some launches, and is likely to
  bool unaligned = false;  // may begin at any element of an allocation, so that no vector access of a GPU is allowed
};

struct KernelScalar {
  std::string name;
  DType dtype;
};

// The order in which a reduction combines its elements, a function of the inner extents alone. Let the inner
// axes be o_1 .. o_p (outer) and, for Lanes, the last inner axis i.
//
//   Lanes (the reduced dims include the tensor's last)
//     64 virtual lanes; element (o, i) goes to lane i mod 64, each lane adding in order of (o, i). Elements
//     are cut into blocks: if extent(i) >= 4096, each o has ceil(extent(i)/4096) blocks of 4096 consecutive
//     i; otherwise a block is max(1, 4096/extent(i)) consecutive o's. A block's value is its 64 lanes folded
//     by halves: lane j += lane j+32, then +16, 8, 4, 2, 1. If there is more than one block, the block values
//     are reduced the same way as one row of 64 lanes, without further blocks.
//   Columns (they do not)
//     one lane, in order of o; blocks of 256 consecutive elements; block values added in order. How sums of floats add in order:
//     ir/op/sum_order.h.
//
// Every lane starts from the identity (sum 0, prod 1, max -inf / lowest, min +inf / highest, any false, all
// true; argmax carries (value, index) starting from (identity, none)), so lanes without elements do not
// change the result. f16 and bf16 never occur here: expand-half has made the accumulation f32.
enum class ReduceTree : uint8_t { Lanes, Columns };
inline constexpr int64_t kReduceLanes = 64;
inline constexpr int64_t kLaneBlock = 4096;
inline constexpr int64_t kColumnBlock = 256;

// A guard on a load or store: it happens only where lo <= value < hi. A guarded load gives args[0] elsewhere.
struct Guard {
  Index value;
  int64_t lo, hi;
};

using Value = int32_t;  // index of an instruction

struct Instr {
  Op op;
  DType dtype;  // of the result; of the stored value for Store
  Level level;
  SmallVector<Value, 3> args;           // Load: the value elsewhere, if guarded; Store: the value; then the position
  int32_t slot = -1;                    // Load, Store: buffer; Scalar: scalar
  uint64_t bits = 0;                    // Const
  Index index;                          // Load, Store: element position in the buffer; IndexOf: the value
  int64_t scale = 0;                    // Load, Store: if not 0, scale * args.back() (an i64) adds to the index
  std::vector<Guard> guards;            // Load, Store
  ReduceTree tree = ReduceTree::Lanes;  // reductions

  Value position() const { return scale == 0 ? -1 : args.back(); }  // of a Load or Store whose place is computed
};

// The name and the parameters of a kernel, or of a call (ir/call/call.h).
struct Signature {
  std::string name = "kernel";
  std::vector<KernelBuffer> buffers;
  std::vector<KernelScalar> scalars;

  const KernelBuffer& buffer(int slot) const { return buffers[static_cast<size_t>(slot)]; }
  KernelBuffer& buffer(int slot) { return buffers[static_cast<size_t>(slot)]; }
  int add_buffer(std::string name, DType dtype, Role role, int64_t numel);
  int add_scalar(std::string name, DType dtype);
};

struct Kernel : Signature {
  std::vector<Axis> axes;  // parallel axes first, outermost first; then inner or contract axes in reduction order, or a serial one
  std::vector<Instr> instrs;

  const Instr& instr(Value v) const { return instrs[static_cast<size_t>(v)]; }
  Instr& instr(Value v) { return instrs[static_cast<size_t>(v)]; }
  int64_t extent(int axis) const { return axes[static_cast<size_t>(axis)].extent; }

  int add_axis(std::string name, int64_t extent, AxisKind kind);
  Index axis(int id) const { return Index::axis(id, extent(id)); }
  int64_t extent_of(AxisKind kind) const;  // product; 1 if there is none
  int64_t extent_of(Level level) const;    // of all kinds of this level; Row: of the parallel axes
  bool has(AxisKind kind) const;
  bool has(Level level) const;
};
std::vector<int> axes_of(const Kernel& kernel, AxisKind kind);  // in order
std::vector<int> axes_of(const Kernel& kernel, Level level);

std::string print(const Kernel& kernel);
Kernel parse_kernel(std::string_view text, std::string_view file = "<text>");
void verify(const Kernel& kernel);  // types, levels, order, indices within the buffers (by bounds); throws IrError

}  // namespace tenon::ir
