// Capturing a graph, and making it again.
#include "frontend/src/tensor/capture.h"

#include <algorithm>
#include <utility>

#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/outside.h"
#include "frontend/src/tensor/text.h"
#include "ir/graph/graph_map.h"
#include "ir/graph/recipe.h"
#include "runtime/device/device.h"

namespace tenon {

namespace {

// The storages are as the capture left them, not as it sees them.
struct Uncaptured {
  Capture* const before = std::exchange(this_thread.capture, nullptr);
  ~Uncaptured() { this_thread.capture = before; }
};

NodeRef zeros_like(const ir::Node& node) { return ir::make_const({node.dtype(), 0}, node.shape(), node.device()); }

}  // namespace

// --- capturing

GraphCapture::GraphCapture() {
  uncounted_.emplace();
  this_thread.capture = this;
}

void GraphCapture::stop() {
  if (std::exchange(stopped_, true)) return;
  this_thread.capture = nullptr;
  uncounted_.reset();
}

void GraphCapture::before_use(Storage& storage) {
  if (numbers_.contains(&storage)) return;
  const ir::PausedTape paused;
  const Uncaptured uncaptured;
  NodeRef value = storage.value();
  if (value->device() == runtime::kHostTag || value->numel() == 0) return;
  NodeRef input = ir::make_input(value->dtype(), value->shape(), nullptr, value->device());
  numbers_.emplace(&storage, entries_.size());
  entries_.push_back({StorageHold(storage), std::move(value), input});
  storage.set_value(std::move(input));
}

void GraphCapture::made(Storage& storage) {
  numbers_.emplace(&storage, entries_.size());
  entries_.push_back({StorageHold(storage), NodeRef(), NodeRef()});
}

uint64_t GraphCapture::take(const void* generator, uint64_t seed, uint64_t count, std::function<uint64_t(uint64_t)> advance) {
  auto found = std::ranges::find(streams_, generator, &CapturedGraph::Stream::generator);
  if (found == streams_.end()) found = streams_.insert(found, {generator, seed, 0, std::move(advance)});
  if (found->seed != seed) refuse("a generator was seeded anew");
  taken_ = {static_cast<size_t>(found - streams_.begin()), std::exchange(found->count, found->count + count)};
  return taken_.from;
}

NodeRef GraphCapture::draw(const ir::Node& like, std::function<NodeRef(uint64_t)> value) {
  draw_inputs_.push_back(ir::make_input(like.dtype(), like.shape(), nullptr, like.device()));
  draws_.push_back({taken_.stream, taken_.from, std::move(value)});
  return draw_inputs_.back();
}

void GraphCapture::abort() {
  stop();
  for (Entry& entry : entries_) {
    entry.storage->set_value(entry.before ? entry.before : zeros_like(*entry.storage->value()));
  }
  numbers_.clear();
  entries_.clear();
}

void GraphCapture::fail(const std::string& message) {
  abort();
  failed_ = true;
  throw Error(message);
}
void GraphCapture::refuse(const std::string& what) {
  fail("CUDA error: operation not permitted when stream is capturing\n  (" + what +
       ": a CUDA graph cannot hold that; the capture has ended)");
}

CapturedGraph GraphCapture::end() {
  stop();
  CapturedGraph graph;
  std::vector<NodeRef> operands, values;
  std::vector<Entry> entries = std::exchange(entries_, {});
  for (Entry& entry : entries) {
    NodeRef value = entry.storage->value();
    if (!entry.before && entry.storage.is_last()) continue;  // nobody can ask for it any more
    if (entry.input) {
      operands.push_back(entry.input);
      graph.inputs_.push_back({StorageHold(*entry.storage), entry.input});
    }
    if (value == entry.input) {
      entry.storage->set_value(entry.before);
      continue;
    }
    entry.storage->set_value(entry.before ? entry.before : zeros_like(*value));
    graph.outputs_.push_back({std::move(entry.storage), static_cast<bool>(entry.input), static_cast<uint32_t>(values.size())});
    values.push_back(std::move(value));
  }
  operands.insert(operands.end(), draw_inputs_.begin(), draw_inputs_.end());
  graph.draws_ = std::move(draws_);
  graph.streams_ = std::move(streams_);

  const auto held = ir::hold_graph();
  ir::NodeMap<char> known;
  for (const NodeRef& operand : operands) known.insert(operand.get());
  for (ir::Node* node : ir::topological_order(values)) {
    if (node->op() == Op::Input && known.insert(node).second) graph.others_.emplace_back(node);
  }
  operands.insert(operands.end(), graph.others_.begin(), graph.others_.end());
  graph.graph_.emplace(operands, values);
  return graph;
}

// --- again

// What was recorded on the inputs since is computed for itself: the replay's plan is then the same each time, and of one device.
void CapturedGraph::compute_inputs() const {
  std::vector<NodeRef> pending;
  for (const Input& input : inputs_) {
    NodeRef value = input.storage->value();
    if (!value->is_leaf()) pending.push_back(std::move(value));
  }
  if (!pending.empty()) evaluate_nodes(pending);
  pending.clear();
  for (const Input& input : inputs_) input.storage->realise();
}

void CapturedGraph::replay() const {
  refuse_in_capture("a replay");
  const ir::PausedTape paused;
  std::vector<NodeRef> operands, values;
  compute_inputs();
  for (const Input& input : inputs_) {
    NodeRef value = input.storage->value();
    const ir::Node& like = *input.like;
    check(value->dtype() == like.dtype() && value->numel() == like.numel(), "CUDAGraph::replay: a tensor that was captured with ",
          like.numel(), " elements of ", scalar_type(like.dtype()), " has ", value->numel(), " of ", scalar_type(value->dtype()), " now");
    operands.push_back(ir::reshape(std::move(value), like.shape()));
  }
  std::vector<uint64_t> starts;
  for (const Stream& s : streams_) starts.push_back(s.advance(s.count));
  for (const Draw& draw : draws_) operands.push_back(draw.value(starts[draw.stream] + draw.from));
  operands.insert(operands.end(), others_.begin(), others_.end());
  graph_->make(operands, {}, values);
  operands.clear();  // what is replaced now may be computed in place

  std::vector<NodeRef> roots;
  std::vector<std::pair<Storage*, NodeRef>> exposed;
  for (const Output& output : outputs_) {
    NodeRef& value = values[output.number];
    if (output.storage.is_last() && !output.is_input) continue;
    if (const auto buffer = runtime::buffer_of(*value); buffer && buffer->exposed) value = copy_of(*value, *buffer);  // of an input
    if (output.storage.is_claimed() && !value->is_leaf()) roots.push_back(value);
    if (output.storage->exposed()) exposed.emplace_back(&*output.storage, std::move(value));
    else output.storage->set_value(std::move(value));
  }
  values.clear();
  if (!roots.empty()) evaluate_nodes(roots);
  for (auto& [storage, value] : exposed) replace_exposed(*storage, std::move(value));
}

}  // namespace tenon
