// One iterative walk that numbers the nodes and writes the key.
#include "runtime/plan/graph_key.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "runtime/device/device.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::Op;

constexpr uint64_t kKeptFollow = ~uint64_t{0}, kSharedFollow = ~uint64_t{1}, kBeginAnywhere = ~uint64_t{2};
constexpr uint64_t kAnywhere = ~uint64_t{0};
enum Flag : uint64_t { kHeld = 1, kBitsFollow = 2, kConstant = 4 };

// Marks of the runtime have the top bit set, so that they never meet the counters of other traversals.
uint64_t next_epoch() {
  static uint64_t epoch = uint64_t{1} << 63;
  return ++epoch;
}

// One row, or element, along some dim, and the fill elsewhere.
bool puts_one_row(const Node& pad) {
  const ir::Dims& inner = pad.inputs()[0]->shape();
  for (size_t d = 0; d < inner.size(); ++d) {
    if (inner[d] == 1 && pad.shape()[d] > 1) return true;
  }
  return false;
}

}  // namespace

bool changes_code(ir::DType dtype, uint64_t bits) {
  if (bits == 0 || dtype == ir::DType::Bool) return true;
  if (dtype == ir::DType::F32) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    return value == 0 || value == 1 || value == -1;
  }
  double value = ir::to_double({dtype, bits});
  return value == 0 || value == 1 || value == -1;
}

bool is_window(const Node& node) {
  if ((node.op() != Op::Slice && node.op() != Op::Strided) || node.numel() == 0) return false;
  const Op source = node.inputs()[0]->op();
  return source == Op::Input || source == Op::Update;
}

ir::Dims window_strides(const Node& node) {
  const size_t rank = node.shape().size();
  const ir::Dims of_source = ir::contiguous_strides(node.inputs()[0]->shape());
  ir::Dims strides(rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    if (node.shape()[d] == 1) continue;
    strides[d] = node.ints()[rank + d] * (node.op() == Op::Slice ? of_source[d] : 1);
  }
  return strides;
}

int64_t window_offset(const Node& node) {
  if (node.op() != Op::Slice) return node.ints().back();
  const ir::Dims strides = ir::contiguous_strides(node.inputs()[0]->shape());
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) offset += node.ints()[d] * strides[d];
  return offset;
}

int64_t window_span(const Node& node) {
  const ir::Dims strides = window_strides(node);
  int64_t span = 1;
  for (size_t d = 0; d < strides.size(); ++d) span += (node.shape()[d] - 1) * strides[d];
  return span;
}

void GraphKey::read(std::span<const ir::NodeRef> given, uint64_t salt, bool find_windows, Beside beside) {
  nodes.clear();
  operations_ = 0;
  roots.clear();
  windows.clear();
  origins.clear();
  constants.clear();
  constant_words_.clear();
  any_size.clear();
  inputs_.clear();
  places.clear();
  pads_.clear();
  kept.clear();
  shared.clear();
  stored_.clear();
  any_wanted_ = false;
  wanted_.clear();
  candidates_.clear();
  stack_.clear();
  pending = anywhere = false;
  missing = nullptr;
  epoch_ = next_epoch();
  used_ = 0;
  *room_for(1) = salt;
  used_ = 1;
  for (const ir::NodeRef& root : given) {
    if (!root) throw std::runtime_error("evaluate: an undefined tensor");
    pending = pending || root->op() != Op::Input || !root->payload();
    walk(root.get());
    roots.push_back(root->mark_value);
  }
  if (beside == Beside::Too) find_beside();
  words.resize(used_);
  for (int32_t root : roots) words.push_back(static_cast<uint64_t>(root));
  if (any_wanted_) find_kept();
  if (!shared.empty()) words.push_back(kSharedFollow);
  for (int32_t node : shared) words.push_back(static_cast<uint64_t>(node));
  if (find_windows && !candidates_.empty()) settle_windows();
  if (find_windows && pads_.size() >= (beside == Beside::Not ? 1 : kFewestPlaces)) forget_places();
}

void GraphKey::walk(Node* root) {
  if (root->mark != epoch_) visit(root);
  while (!stack_.empty()) {
    Visit& visit = stack_.back();
    if (visit.next == visit.end) {
      Node* node = visit.node;
      stack_.pop_back();
      finish(node);
      continue;
    }
    Node* operand = *visit.next++;
    if (operand->mark != epoch_) this->visit(operand);
  }
}

// A leaf is finished at once, another node after its operands.
void GraphKey::visit(Node* node) {
  node->mark = epoch_;
  node->mark_value = -1;
  if (node->is_leaf()) return finish_leaf(node);
  const auto& inputs = node->inputs();
  stack_.push_back({node, inputs.begin(), inputs.end()});
}

uint64_t GraphKey::head_of(const Node& node, Op op, uint64_t flags) {
  return static_cast<uint64_t>(op) | static_cast<uint64_t>(node.dtype()) << 8 | uint64_t{static_cast<uint8_t>(node.device())} << 16 |
         flags << 24;
}

void GraphKey::finish(Node* node) {
  node->mark_value = static_cast<int32_t>(nodes.size());
  nodes.push_back(node);
  ++operations_;
  const Op op = node->op();
  any_wanted_ = any_wanted_ || node->wanted.load(std::memory_order_relaxed) > 0;
  if ((op == Op::Slice || op == Op::Strided) && is_window(*node)) return push_window(*node);
  const uint64_t flags = node->holders.load(std::memory_order_relaxed) > 0 ? uint64_t{kHeld} : 0;
  const std::span<Node* const> inputs(node->inputs().data(), node->inputs().size());
  const std::span<const int64_t> ints = node->ints();
  uint64_t* word = room_for(4 + inputs.size() + ints.size());
  *word++ = head_of(*node, op, flags);
  *word++ = inputs.size() | ints.size() << 32;
  for (const Node* input : inputs) *word++ = static_cast<uint64_t>(input->mark_value);
  for (int64_t value : ints) *word++ = static_cast<uint64_t>(value);
  if (op == Op::Update) candidates_.push_back({node->mark_value, static_cast<size_t>(word - words.data()) - 1});
  if (op == Op::Pad) {
    if (puts_one_row(*node)) pads_.push_back({node->mark_value, static_cast<size_t>(word - words.data()) - ints.size()});
    *word++ = inputs[1]->bits();
  }
  used_ = static_cast<size_t>(word - words.data());
}

void GraphKey::finish_leaf(Node* node) {
  node->mark_value = static_cast<int32_t>(nodes.size());
  nodes.push_back(node);
  const Op op = node->op();
  check_leaf(*node);
  uint64_t flags = 0;
  if (op == Op::Const && changes_code(node->dtype(), node->bits())) flags |= kBitsFollow;
  if (op == Op::Input && node->payload() && static_cast<const Buffer&>(*node->payload()).constant()) {
    flags |= kConstant;
    constants.push_back(node->mark_value);
    constant_words_.push_back(used_);
  }
  const std::span<const int64_t> ints = node->ints(), shape = node->shape();
  uint64_t* word = room_for(4 + ints.size() + shape.size());
  *word++ = head_of(*node, op, flags);
  *word++ = shape.size() << 32;
  for (int64_t value : ints) *word++ = static_cast<uint64_t>(value);
  if (op == Op::Input) inputs_.push_back({node->mark_value, static_cast<size_t>(word - words.data())});
  for (int64_t extent : shape) *word++ = static_cast<uint64_t>(extent);
  if (flags & kBitsFollow) *word++ = node->bits();
  used_ = static_cast<size_t>(word - words.data());
}

void GraphKey::take_as_constant(const Node& input) {
  const auto noted = std::ranges::find(inputs_, number(&input), &Noted::node);
  const size_t head = noted->word - 2;
  words[head] |= uint64_t{kConstant} << 24;
  constant_words_.insert(std::ranges::lower_bound(constant_words_, head), head);
  constants.insert(std::ranges::lower_bound(constants, noted->node), noted->node);
}

void GraphKey::let_begin_anywhere() {
  anywhere = true;
  words.push_back(kBeginAnywhere);
}

std::vector<uint64_t> GraphKey::words_without_constants() const {
  std::vector<uint64_t> plain = words;
  for (size_t head : constant_words_) plain[head] &= ~(uint64_t{kConstant} << 24);
  return plain;
}

void GraphKey::grow(size_t most) { words.resize(2 * (used_ + most)); }

void GraphKey::push_window(const Node& node) {
  const bool held = node.holders.load(std::memory_order_relaxed) > 0;
  uint64_t* word = room_for(4 + 2 * node.shape().size());
  *word++ = head_of(node, Op::Strided, held ? uint64_t{kHeld} : 0);
  *word++ = 1 | (2 * node.shape().size() + 1) << 32;
  *word++ = static_cast<uint64_t>(node.inputs()[0]->mark_value);
  for (int64_t size : node.shape()) *word++ = static_cast<uint64_t>(size);
  for (int64_t stride : window_strides(node)) *word++ = static_cast<uint64_t>(stride);
  candidates_.push_back({node.mark_value, static_cast<size_t>(word - words.data())});
  *word++ = static_cast<uint64_t>(window_offset(node));
  used_ = static_cast<size_t>(word - words.data());
}

// --- gradients

bool GraphKey::is_wanted(size_t i) const {
  const Node& node = *nodes[i];
  if (node.is_leaf()) return false;
  if (!wanted_[i] && node.wanted.load(std::memory_order_relaxed) == 0) return false;
  if (!stored_.empty() && stored_[i]) return false;
  const bool root = std::find(roots.begin(), roots.end(), static_cast<int32_t>(i)) != roots.end();
  return !root && node.holders.load(std::memory_order_relaxed) == 0;
}

void GraphKey::count_readers(std::vector<uint32_t>& readers) const {
  readers.assign(nodes.size(), 0);
  for (const Node* node : nodes) {
    for (const Node* input : node->inputs()) ++readers[input->mark_value];
  }
}

// From the readers to what they read: what is stored anyway costs nothing, what is cheap hands the question on.
void GraphKey::find_kept() {
  wanted_.assign(nodes.size(), false);
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!is_wanted(i)) continue;
    const Node& node = *nodes[i];
    if (ir::is_dear(node.op())) {
      kept.push_back(static_cast<int32_t>(i));
      continue;
    }
    for (const Node* input : node.inputs()) wanted_[input->mark_value] = true;
  }
  words.push_back(kKeptFollow);
  for (int32_t node : kept) words.push_back(static_cast<uint64_t>(node));
}

std::vector<int32_t> GraphKey::computed_again() const {
  std::vector<int32_t> again;
  if (wanted_.empty()) return again;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Op op = nodes[i]->op();
    const bool view = ir::is_movement(op) && op != Op::Pad && op != Op::Cat;
    if (is_wanted(i) && !ir::is_dear(op) && !view) again.push_back(static_cast<int32_t>(i));
  }
  return again;
}

// --- windows

// Which values are read by Cats alone, from the readers to what they read.
void GraphKey::find_apart() {
  std::vector<bool> read(nodes.size(), false), joined(nodes.size(), false);
  for (int32_t root : roots) read[root] = true;
  for (size_t i = nodes.size(); i-- > 0;) {
    const Op op = nodes[i]->op();
    for (const Node* input : nodes[i]->inputs()) {
      const bool is_part = op == Op::Cat || (op == Op::Reshape && !read[i]);
      (is_part ? joined : read)[input->mark_value] = true;
    }
    uses_[i].apart = joined[i] && !read[i];
  }
}

// Notes how the node uses its operands; those come before it.
void GraphKey::note_uses(const Node& node) {
  const auto& inputs = node.inputs();
  size_t first = 0;
  if (is_window(node) && window_span(node) < inputs[0]->numel()) {
    if (!use(&node).apart) ++use(inputs[0]).windows;
    first = 1;
  } else if (node.op() == Op::Update) {
    Use& base = use(inputs[0]);
    base.written = true;
    if (inputs[0]->op() == Op::Input) base.chain = inputs[0]->mark_value;
    use(&node).chain = base.chain;
    first = 1;
  }
  const bool writes = ir::writes_over(node.op());
  for (size_t i = first; i < inputs.size(); ++i) use(inputs[i]).whole = true;
  if (!writes) return;
  for (const Node* base = inputs[0];; base = base->inputs()[0]) {  // the buffer may lie behind reshapes
    use(base).written = true;
    if (base->op() != Op::Reshape) break;
  }
}

// Passes may turn a value into another one with as many elements: `min %a, %a` into %a. If %a is of a chain and this value is
// updated, that update would follow the chain without having its origin. Then the chain stays where it is.
void GraphKey::join_chain(const Node& node) {
  Use& used = use(&node);
  used.like = used.chain;
  for (const Node* input : node.inputs()) {
    const int32_t like = use(input).like;
    if (like < 0 || input->numel() != node.numel()) continue;
    if (used.like < 0) used.like = like;
    else if (used.like != like) uses_[like].whole = true;
  }
  if (node.op() == Op::Update && used.chain < 0 && use(node.inputs()[0]).like >= 0) uses_[use(node.inputs()[0]).like].whole = true;
}

// Whether the offset of a window of `buffer`, or of an update of it, is counted from an origin.
bool GraphKey::moves(const Node& node, const Node& buffer) {
  const Use& used = use(&buffer);
  const bool writes = node.op() == Op::Update;
  if (!writes && window_span(node) == buffer.numel()) return false;
  if (writes || used.written) return used.chain >= 0 && !uses_[used.chain].whole;
  return buffer.op() == Op::Input && (use(&node).apart || used.windows <= kMostOrigins || !used.whole);
}

// Tells which windows have an origin, and writes their offsets from there into the key. All that is decided here hangs
// on what the key has already.
void GraphKey::settle_windows() {
  uses_.assign(nodes.size(), {});
  find_apart();
  for (const Node* node : nodes) note_uses(*node);
  for (const Node* node : nodes) join_chain(*node);
  // An update that writes nothing, or one in the middle of a chain that something else reads too: then all of the chain stays where it is.
  for (const Node* node : nodes) {
    const Use& used = use(node);
    if (node->op() != Op::Update || used.chain < 0) continue;
    const bool writes_nothing = node->inputs()[1]->numel() == 0;  // its base stands for it
    if (writes_nothing || (used.written && (used.whole || used.windows > 0))) uses_[used.chain].whole = true;
  }
  for (const Candidate& c : candidates_) {
    const Node* node = nodes[c.node];
    const Node* buffer = node->inputs()[0];
    if (!moves(*node, *buffer)) continue;
    const int64_t offset = window_offset(*node);
    Use& used = use(buffer);
    const bool alone = !used.written && (use(node).apart || used.windows <= kMostOrigins);
    int32_t& shared = used.chain >= 0 ? uses_[used.chain].origin : used.origin;
    int32_t origin = alone ? -1 : shared;
    if (origin < 0) {
      origin = static_cast<int32_t>(origins.size());
      origins.push_back(offset);
      if (!alone) shared = origin;
    }
    int64_t& start = origins[origin];
    start = std::min(start, offset);
    windows.push_back({c.node, origin, static_cast<int64_t>(c.word)});
  }
  for (Window& window : windows) {
    uint64_t& word = words[window.offset];
    window.offset = static_cast<int64_t>(word) - origins[window.origin];
    word = static_cast<uint64_t>(window.offset);
  }
  forget_sizes();
}

// A plan sees of such an input its windows alone, so it serves inputs of any size: a loop over the rows of a
// longer sequence.
void GraphKey::forget_sizes() {
  for (int32_t root : roots) uses_[root].whole = true;
  for (const Noted& input : inputs_) {
    const Use& used = uses_[input.node];
    if (used.whole || used.written) continue;
    any_size.push_back(input.node);
    std::fill_n(words.begin() + static_cast<ptrdiff_t>(input.word), nodes[input.node]->shape().size(), uint64_t{0});
  }
}

void GraphKey::forget_places() {
  for (const Noted& pad : pads_) {
    const ir::Dims& inner = nodes[pad.node]->inputs()[0]->shape();
    uint64_t *lo = &words[pad.word], *hi = lo + inner.size();
    for (size_t d = 0; d < inner.size(); ++d) {
      if (inner[d] != 1 || lo[d] + hi[d] == 0) continue;
      places.push_back({pad.node, static_cast<int32_t>(d)});
      hi[d] += lo[d];
      lo[d] = kAnywhere;
    }
  }
}

void GraphKey::check_leaf(const Node& node) {
  if (node.op() == Op::Input && !node.payload()) missing = &node;
  if (node.device() != kHostTag && !find_device(node.device()))
    throw std::runtime_error("evaluate: device " + name_of(node.device()) + " is not available");
}

int32_t GraphKey::number(const Node* node) const { return node->mark == epoch_ ? node->mark_value : -1; }

}  // namespace tenon::runtime
