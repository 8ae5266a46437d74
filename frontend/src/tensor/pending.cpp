// Counting pending work, and evaluating it.
#include "frontend/src/tensor/pending.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <new>
#include <vector>

#include "frontend/src/tensor/context.h"
#include "ir/base/fork.h"
#include "ir/graph/recipe.h"
#include "runtime/base/options.h"
#include "runtime/device/device.h"
#include "runtime/run/evaluate.h"

namespace tenon {

// --- counting

namespace {

struct Caps {
  std::atomic<int64_t> nodes, bytes;
  Caps() {
    runtime::Options o = runtime::options();
    nodes = o.max_pending_nodes;
    bytes = o.max_pending_bytes;
  }
};
Caps& caps() {
  static Caps caps;
  return caps;
}
[[maybe_unused]] const bool caps_made_before_fork = ir::make_before_fork([] { caps(); });

constexpr int64_t kFarBelow = INT64_MIN / 2;

}  // namespace

bool count_work(int64_t operations, int64_t bytes) {
  Thread::Pending& pending = this_thread.pending;
  pending.operations += operations;
  pending.bytes += bytes;
  return pending.operations >= caps().nodes.load(std::memory_order_relaxed) ||
         pending.bytes >= caps().bytes.load(std::memory_order_relaxed);
}

void set_pending_caps(int64_t nodes, int64_t bytes) {
  caps().nodes = nodes;
  caps().bytes = bytes;
}

UncountedWork::UncountedWork() : operations_(this_thread.pending.operations), bytes_(this_thread.pending.bytes) {
  this_thread.pending = {kFarBelow, kFarBelow};
}
UncountedWork::~UncountedWork() { this_thread.pending = {operations_, bytes_}; }
int64_t UncountedWork::operations() const { return this_thread.pending.operations - kFarBelow; }
int64_t UncountedWork::bytes() const { return this_thread.pending.bytes - kFarBelow; }

// --- evaluating

namespace {

// Under PyTorch's name, and after what the training step at hand needs of it is undone.
[[noreturn]] void refuse_evaluation(std::span<const NodeRef> nodes) {
  try {
    if (this_thread.step) this_thread.step->failed(nodes);
    throw;
  } catch (const runtime::OutOfMemory& e) {
    throw OutOfMemoryError(e.what());
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("out of host memory while evaluating");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(e.what());
  }
}

template <typename Evaluate>
void evaluate_by(std::span<const NodeRef> nodes, const Evaluate& evaluate) {
  std::vector<NodeRef> of_host;
  if (this_thread.capture) [[unlikely]] {  // the rest is computed by replays
    std::ranges::copy_if(nodes, std::back_inserter(of_host), [](const NodeRef& node) { return node->device() == runtime::kHostTag; });
    if (of_host.empty()) return;
    nodes = of_host;
  }
  this_thread.pending = {};
  const ir::PausedTape paused;
  try {
    evaluate(nodes);
  } catch (const std::exception&) {
    refuse_evaluation(nodes);
  }
  if (this_thread.step) this_thread.step->evaluated();
}

}  // namespace

void evaluate_nodes(std::span<const NodeRef> nodes) {
  evaluate_by(nodes, [](std::span<const NodeRef> roots) { runtime::evaluate(roots); });
}
void evaluate_step(std::span<const NodeRef> nodes, std::span<const NodeRef> replaced) {
  evaluate_by(nodes, [&](std::span<const NodeRef> roots) { runtime::evaluate_step(roots, replaced); });
}

}  // namespace tenon
