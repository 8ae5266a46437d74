#include "runtime/cuda/recording.h"

#include <algorithm>
#include <utility>

#include "runtime/cuda/libraries.h"

namespace tenon::runtime::cuda {
namespace {

// A kernel's parameters by address; `place` is where its numbers lie, 0 if they are parameters.
std::vector<void*> parameters_of(const Work& work, const CUdeviceptr& place) {
  std::vector<void*> list;
  list.reserve(work.words.size() + work.numbers.size() + 1);
  for (const uint64_t& word : work.words) list.push_back(const_cast<uint64_t*>(&word));
  for (const uint64_t& number : work.numbers) list.push_back(const_cast<uint64_t*>(&number));
  if (!work.numbers.empty()) list.push_back(const_cast<CUdeviceptr*>(&place));
  return list;
}

KernelNodeParams node_params(const Work& work, std::vector<void*>& parameters) {
  return {work.function, work.blocks, 1, 1, work.threads, 1, 1, work.shared_bytes, parameters.data(), nullptr, nullptr, nullptr};
}

// A call that the graph needs was refused. That says nothing of the device: if it is lost, a plain launch will tell.
struct Refused {};
void need(CUresult result) {
  if (result != kSuccess) throw Refused{};
}

template <typename Call>
auto refused_if_it_throws(const Call& call) {
  try {
    return call();
  } catch (const std::exception&) {
    throw Refused{};
  }
}

CUdeviceptr address(const Buffer& buffer) { return reinterpret_cast<CUdeviceptr>(buffer.data()); }

// What a library's choice of a kernel depends on beside the plan: how the operands are aligned.
std::vector<uint64_t> use_of(size_t place, const Work& work) {
  constexpr uint64_t kAlignment = 256;
  std::vector<uint64_t> use{place};
  for (const uint64_t word : work.words) use.push_back(word % kAlignment);
  return use;
}

// Whether each step writes over what the plan was given, or comes behind one that does.
std::vector<bool> overwriting(std::span<const StepOrder> order) {
  std::vector<bool> result;
  for (const StepOrder& step : order) {
    const auto is_behind = [&](int32_t before) { return result[static_cast<size_t>(before)]; };
    result.push_back(step.overwrites || std::any_of(step.after.begin(), step.after.end(), is_behind));
  }
  return result;
}

// For each piece of work, those that it comes right behind. The pieces of a step are a chain, behind the last ones of the steps that it
// comes behind; a step without pieces stands for those before it.
std::vector<std::vector<size_t>> pieces_before(std::span<const Work> work, std::span<const StepOrder> order) {
  std::vector<std::vector<size_t>> before(work.size()), last(order.size());
  size_t i = 0, product = work.size();
  const auto add_chain = [&](int32_t step, std::vector<size_t> ends) {
    for (; i < work.size() && work[i].step == step; ++i) {
      before[i] = std::exchange(ends, {i});
      if (!work[i].is_of_library) continue;
      if (product < i && std::find(before[i].begin(), before[i].end(), product) == before[i].end()) before[i].push_back(product);
      product = i;
    }
    return ends;
  };
  const std::vector<size_t> first = add_chain(-1, {});
  for (size_t s = 0; s < order.size(); ++s) {
    std::vector<size_t> ends = order[s].after.empty() ? first : std::vector<size_t>();
    for (const int32_t other : order[s].after) {
      const std::vector<size_t>& more = last[static_cast<size_t>(other)];
      ends.insert(ends.end(), more.begin(), more.end());
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    last[s] = add_chain(static_cast<int32_t>(s), std::move(ends));
  }
  return before;
}

}  // namespace

void submit(Context& context, CUstream stream, const Work& work) {
  if (!work.function) return work.call(stream);
  const CUdeviceptr nowhere = 0;
  std::vector<void*> parameters = parameters_of(work, nowhere);
  context.check(
      context.api().launch(work.function, work.blocks, 1, 1, work.threads, 1, 1, work.shared_bytes, stream, parameters.data(), nullptr),
      "cuLaunchKernel");
}

CudaRecording::~CudaRecording() {
  if (context_.is_lost()) return;
  const Context::Current current(context_);
  destroy();
}

void CudaRecording::destroy() noexcept {
  if (exec_) graphs()->graph_exec_destroy(exec_);
  if (graph_) graphs()->graph_destroy(graph_);
  exec_ = nullptr;
  graph_ = nullptr;
  nodes_.clear();
  numbers_.clear();
  placed_.reset();
}

void CudaRecording::run(std::span<const Work> work, std::span<const StepOrder> order) {
  for (const Work& piece : work) {
    if (piece.name) context_.note_launch(*piece.name);
  }
  const bool repeats = runs_ >= kPlainRuns && work.size() >= kFewest && graphs();
  if (runs_ < kPlainRuns) ++runs_;
  if (!repeats || !have_run(work) || !launch_graph(work, order)) run_plainly(work, order);
}

void CudaRecording::run_plainly(std::span<const Work> work, std::span<const StepOrder> order) {
  const std::vector<bool> is_last = overwriting(order);
  std::vector<size_t> last;
  for (size_t i = 0; i < work.size(); ++i) {
    if (work[i].step >= 0 && is_last[static_cast<size_t>(work[i].step)]) {
      last.push_back(i);
    } else {
      submit(context_, stream_, work[i]);
      if (work[i].is_of_library) run_.insert(use_of(i, work[i]));
    }
  }
  run_last(work, last);
}

// A call that is refused behind others, which may have overwritten what the plan read, is made once more.
void CudaRecording::run_last(std::span<const Work> work, std::span<const size_t> last) {
  if (last.size() > 1 && graphs() && launch_together(work, last)) return;
  for (const size_t i : last) {
    try {
      submit(context_, stream_, work[i]);
    } catch (const std::exception&) {
      if (!has_overwritten_ || context_.is_lost()) throw;
      submit(context_, stream_, work[i]);
    }
    has_overwritten_ = true;
    if (work[i].is_of_library) run_.insert(use_of(i, work[i]));
  }
}

// One after another in a graph that is launched once: all of them, or none.
bool CudaRecording::launch_together(std::span<const Work> work, std::span<const size_t> pieces) {
  for (const size_t i : pieces) {
    if (!have_run(work, i)) return false;
  }
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  try {
    need(graphs()->graph_create(&graph, 0));
    std::vector<CUgraphNode> before;
    for (const size_t i : pieces) before.assign(1, add_node(graph, work[i], before));
    need(graphs()->graph_instantiate(&exec, graph, 0));
    need(graphs()->graph_launch(exec, stream_));
    has_overwritten_ = true;
  } catch (const Refused&) {
  }
  if (exec) graphs()->graph_exec_destroy(exec);  // when its launch is done
  if (graph) graphs()->graph_destroy(graph);
  return has_overwritten_;
}

bool CudaRecording::have_run(std::span<const Work> work) const {
  for (size_t i = 0; i < work.size(); ++i) {
    if (!have_run(work, i)) return false;
  }
  return true;
}

bool CudaRecording::have_run(std::span<const Work> work, size_t piece) const {
  return !work[piece].is_of_library || run_.contains(use_of(piece, work[piece]));
}

// False if nothing is submitted.
bool CudaRecording::launch_graph(std::span<const Work> work, std::span<const StepOrder> order) {
  if (exec_ && has_shape(work)) {
    try {
      update(work);
    } catch (const Refused&) {
      destroy();
    }
  } else {
    destroy();
  }
  try {
    if (!exec_) {
      if (graphs_made_ == kMostGraphs) return false;
      ++graphs_made_;
      build(work, order);
    }
    need(graphs()->graph_launch(exec_, stream_));
    has_overwritten_ = true;
    return true;
  } catch (const Refused&) {
    destroy();
    return false;
  }
}

bool CudaRecording::has_shape(std::span<const Work> work) const {
  if (work.size() != nodes_.size()) return false;
  for (size_t i = 0; i < work.size(); ++i) {
    if (work[i].function != nodes_[i].function || work[i].words.size() != nodes_[i].words.size()) return false;
  }
  return true;
}

CUgraph CudaRecording::captured(const Work& work) {
  need(graphs()->stream_begin_capture(capturing_, kCaptureRelaxed));
  CUgraph graph = nullptr;
  bool is_whole = true;
  try {
    work.call(capturing_);
  } catch (const std::exception&) {
    is_whole = false;
  }
  const CUresult ended = graphs()->stream_end_capture(capturing_, &graph);
  if (ended == kSuccess && is_whole) return graph;
  if (ended == kSuccess && graph) graphs()->graph_destroy(graph);
  throw Refused{};
}

CUgraphNode CudaRecording::add_node(CUgraph graph, const Work& work, std::span<const CUgraphNode> before) {
  CUgraphNode node = nullptr;
  if (work.function) {
    const CUdeviceptr nowhere = 0;
    std::vector<void*> parameters = parameters_of(work, nowhere);
    const KernelNodeParams params = node_params(work, parameters);
    need(graphs()->graph_add_kernel(&node, graph, before.data(), before.size(), &params));
    return node;
  }
  CUgraph child = captured(work);  // the node has a copy of it
  const CUresult result = graphs()->graph_add_child(&node, graph, before.data(), before.size(), child);
  graphs()->graph_destroy(child);
  need(result);
  return node;
}

void CudaRecording::build(std::span<const Work> work, std::span<const StepOrder> order) {
  need(graphs()->graph_create(&graph_, 0));
  const std::vector<std::vector<size_t>> before = pieces_before(work, order);
  for (size_t i = 0; i < work.size(); ++i) {
    const Work& piece = work[i];
    std::vector<CUgraphNode> nodes;
    for (const size_t b : before[i]) nodes.push_back(nodes_[b].node);
    nodes_.push_back(
        {piece.function, piece.blocks, piece.threads, piece.shared_bytes, piece.words, piece.numbers, add_node(graph_, piece, nodes)});
  }
  need(graphs()->graph_instantiate(&exec_, graph_, 0));
}

// Room in the block, which has as much as all nodes need.
CUdeviceptr CudaRecording::place_for(const std::vector<uint64_t>& numbers) {
  if (!placed_) {
    size_t count = 0;
    for (const Node& node : nodes_) count += node.numbers.size();
    placed_ = refused_if_it_throws([&] { return Buffer::allocate(count * sizeof(uint64_t), device_); });
  }
  const CUdeviceptr place = address(*placed_) + numbers_.size() * sizeof(uint64_t);
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  return place;
}

void CudaRecording::write_numbers() {
  refused_if_it_throws([&] { device_.copy_from_host(placed_->data(), numbers_.data(), numbers_.size() * sizeof(uint64_t), Stream::Main); });
}

void CudaRecording::update(std::span<const Work> work) {
  bool other_numbers = false;
  for (size_t i = 0; i < work.size(); ++i) {
    const Work& piece = work[i];
    Node& node = nodes_[i];
    bool is_other = piece.words != node.words || piece.blocks != node.blocks;
    if (piece.numbers != node.numbers) {
      other_numbers = true;
      if (node.place == 0) {
        node.place = place_for(piece.numbers);
        is_other = true;
      }
      const auto first = static_cast<std::ptrdiff_t>((node.place - address(*placed_)) / sizeof(uint64_t));
      std::copy(piece.numbers.begin(), piece.numbers.end(), numbers_.begin() + first);
      node.numbers = piece.numbers;
    }
    if (!is_other) continue;
    if (piece.function) {
      std::vector<void*> parameters = parameters_of(piece, node.place);
      const KernelNodeParams params = node_params(piece, parameters);
      need(graphs()->graph_set_kernel(exec_, node.node, &params));
    } else {
      CUgraph child = captured(piece);
      const CUresult result = graphs()->graph_set_child(exec_, node.node, child);
      graphs()->graph_destroy(child);
      need(result);
    }
    node.words = piece.words;
    node.blocks = piece.blocks;
  }
  if (other_numbers) write_numbers();
}

}  // namespace tenon::runtime::cuda
