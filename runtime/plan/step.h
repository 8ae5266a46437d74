// The steps of a plan: which work each does, and where its arguments lie.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/kernel/kernel.h"
#include "passes/fusion/fusion.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device.h"
#include "runtime/history/history.h"

namespace tenon::runtime {

struct ScalarSource {
  int32_t node;   // the constant with this number; or, if it is -1,
  uint64_t bits;  // this literal
  int32_t dim = -1;  // or where the node, a pad, begins along this dim
};

// What a step does: one of these.
struct CompiledStep {
  std::shared_ptr<const CompiledKernel> kernel;  // once the plan's code is found
  std::vector<int64_t> sizes;
  std::vector<Phase> phases;
  size_t local_bytes = 0;  // scratch of each worker
  // Where argument `argument` begins behind the first element of its place.
  struct Begin {
    int32_t argument;
    int64_t bytes;
  };
  std::vector<Begin> begins;
  // What it packs at each launch. A constant is packed in a phase of its own, which a launch with a packed copy leaves out.
  struct Packing {
    int32_t source, copy;  // arguments; the copy is -1 where the source counts as no constant: that is a matter of the kernel
    size_t phase;
    size_t bytes;  // of the copy
    std::vector<int64_t> layout;
  };
  std::optional<Packing> packing;
};
struct InterpretedStep {
  std::shared_ptr<const ir::Kernel> kernel;
};
struct RoutineStep {
  ir::NodeRef node;  // over placeholders
  std::shared_ptr<const std::vector<passes::JoinPart>> parts;  // of a Cat
  std::vector<LibraryCall::InMemory> in_memory;
  bool interpreted;
};
struct CopyStep {  // of argument 0, on another device, to argument 1
  Device* from;
  size_t bytes;
};

struct RecurrentWork;
struct RecurrentLayerStep {
  ir::NodeRef node;  // over placeholders
  std::shared_ptr<const RecurrentWork> work;  // once the plan's code is found
};

struct InPlaceStep {};  // all parts of a Cat are computed where they belong: nothing is left to do

struct Step {
  Device* device = nullptr;
  std::variant<CompiledStep, InterpretedStep, RoutineStep, RecurrentLayerStep, CopyStep, InPlaceStep> work;
  // Places, in argument order; -1: has no elements; -2-k: scalar k, in memory.
  std::vector<int32_t> buffers;
  SmallVector<int32_t, 2> writes;  // places that it writes
  // Where argument `argument` is updated: what it starts with is copied there unless it lies there already. It begins at
  // an origin of the key, or at the place's first element (-1).
  struct Base {
    int32_t argument, place;
    size_t bytes;
    int32_t origin, item_size;
  };
  std::vector<Base> bases;
  // Where argument `argument` begins behind the first element of its place: at an origin of the key.
  struct Window {
    int32_t argument, origin, item_size;
  };
  std::vector<Window> windows;
  std::vector<ScalarSource> scalars;
  KernelFacts facts;
  CacheState cache = CacheState::Memory;  // of the first run; later ones find it in memory
  double compile_ms = 0;
};

struct PlanOutput {
  int32_t node;    // number in the key
  Device* device;  // where it lies
  size_t bytes;
  int32_t same_as = -1;  // shares the buffer of this earlier output
  int32_t alias = -1;    // is this input node after all (everything around it cancelled out)
  int32_t origin = -1;   // then: is a copy of its elements from this origin of the key on
  int32_t item_size = 0;  // of those
  int32_t donor = -1;    // the input node whose buffer it takes over, if nobody else wants that
};

// What a step does that is no compiled code, on its arguments.
void start_uncompiled(const Step& step, std::span<void* const> arguments, std::span<const uint64_t> scalars);

}  // namespace tenon::runtime
