// Evaluation: pending nodes become buffers. A structural hash of the pending graph finds a finished plan;
// otherwise the passes run, kernels are compiled (or found in memory or on disk) and the plan is kept.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime {

// After it, every root is an Input with a Buffer payload, and so is every held node that was computed on the
// way. Thread-safe: graphs that share no pending node are computed at the same time; what another thread is computing is
// waited for. Throws OutOfMemory or std::runtime_error (with the kernel named) and then leaves the
// graph pending, or the part of a very large one (batches.h) that it has not computed yet.
// A root that is a Const or Iota becomes an Input for every graph that shares it.
void evaluate(std::span<const ir::NodeRef> roots);

// The same, where the caller can go back: `replaced` are values in whose place roots come, and to which the caller refers once beside
// this list. If it throws they are what they were. If not, their memory may be another's, and nobody may read them any more.
void evaluate_step(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> replaced);

// Which of these values need something that has to be computed for `roots` too; views count as nothing.
std::vector<bool> share_work(std::span<const ir::NodeRef> values, std::span<const ir::NodeRef> roots);

// Gives an evaluated node other memory with the same contents. Waits for evaluations that read it.
void rebind(ir::Node& node, std::shared_ptr<Buffer> buffer);

void clear_caches();  // plans, kernels in memory and freed memory; not the disk

}  // namespace tenon::runtime
