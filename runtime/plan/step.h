// The steps of a plan: which work each does, and where its arguments lie.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/call/work.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device.h"
#include "runtime/history/history.h"

namespace tenon::runtime {

inline constexpr int32_t kNone = -1;  // no node, place, origin, dim or output

struct ScalarSource {
  int32_t node;         // the constant with this number; or, if it is kNone,
  uint64_t bits;        // this literal
  int32_t dim = kNone;  // or where the node, a pad, begins along this dim
};

// Where a buffer that a step is given begins: behind the first element of a place.
struct Argument {
  struct Begin {
    int32_t place = kNone;   // kNone: it has no elements, or is a packed copy
    int32_t origin = kNone;  // of the key: so many items behind it
    int32_t item_size = 0;
    int64_t bytes = 0;
  };
  Begin at;
  // If it is updated: what is copied to the place first, unless it lies there already.
  Begin base = {};
  size_t base_bytes = 0;
};

// What a step does: one of these.
struct CompiledStep {
  std::shared_ptr<const CompiledKernel> kernel;  // once the plan's code is found
  std::vector<int64_t> sizes;
  std::vector<Phase> phases;
  size_t local_bytes = 0;  // scratch of each worker
  // What it packs at each launch. A constant is packed in a phase of its own, which a launch with a packed copy leaves out.
  struct Packing {
    int32_t source, copy;  // arguments; the copy is kNone where the source counts as no constant: that is a matter of the kernel
    size_t phase;
    size_t bytes;  // of the copy
    std::vector<int64_t> layout;
  };
  std::optional<Packing> packing;
};
struct UncompiledStep {
  std::shared_ptr<const ir::Work> work;
  bool interpreted;  // else it is a call of the library
};
struct CopyStep {  // of argument 0, on another device, to argument 1
  Device* from;
  size_t bytes;
};

struct RecurrentWork;
struct RecurrentLayerStep {
  ir::NodeRef node;                           // over placeholders
  std::shared_ptr<const RecurrentWork> work;  // once the plan's code is found
};

struct InPlaceStep {};  // all parts of a Cat are computed where they belong: nothing is left to do

struct Step {
  Device* device = nullptr;
  std::variant<CompiledStep, UncompiledStep, RecurrentLayerStep, CopyStep, InPlaceStep> work;
  std::vector<Argument> arguments;
  SmallVector<int32_t, 2> writes;  // places that it writes
  std::vector<ScalarSource> scalars;
  KernelFacts facts;
  CacheState cache = CacheState::Memory;  // of the first run; later ones find it in memory
  double compile_ms = 0;
};

struct PlanOutput {
  int32_t node;    // number in the key
  Device* device;  // where it lies
  size_t bytes;
  int32_t same_as = kNone;  // shares the buffer of this earlier output
  int32_t alias = kNone;    // is this input node after all (everything around it cancelled out)
  int32_t origin = kNone;   // then: is a copy of its elements from this origin of the key on
  int32_t item_size = 0;    // of those
  int32_t donor = kNone;    // the input node whose buffer it takes over, if no other owner wants that
};

// What a step does, on its arguments. `phases`: of compiled code.
void start(const Step& step, std::span<void* const> arguments, std::span<const uint64_t> scalars, std::span<const Phase> phases);

}  // namespace tenon::runtime
