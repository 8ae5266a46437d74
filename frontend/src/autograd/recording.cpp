// What a scope notes, and the recipe that it leaves behind.
#include "frontend/src/autograd/recording.h"

#include <algorithm>

#include "frontend/src/tensor/pending.h"
#include "ir/gradient/replayed_gradients.h"
#include "runtime/base/options.h"

namespace tenon {

// --- operands

namespace {
// The same value in a node of its own.
NodeRef apart(const NodeRef& node) { return ir::make_node(Op::Reshape, {&node, 1}, node->shape(), {}, ir::Folding::Unshared); }
}  // namespace

// A tensor that requires grad is no constant, whose value the rules of the graph would use.
void Recording::add_operand(const Tensor& x) {
  const TensorImpl& t = impl(x);
  const bool tracked = requires_grad(x) && !t.inference();
  Operand operand{&t, t.storage().value(), {}, {}, tracked, false, false, false, t.version()};
  if (operand.tracked) fn_->edges.push_back(edge_to(x, operands_.size()));
  if (operand.tracked && operand.storage->op() == Op::Const) {
    t.storage().realise();
    operand.storage = t.storage().value();
  }
  operand.value = t.node();
  if (operand.tracked && operand.value->op() == Op::Const) operand.value = apart(operand.value);  // a view of what was filled
  operand.read = operand.value;
  const auto first = std::ranges::find(operands_, &t, &Operand::tensor);
  operand.repeated = first != operands_.end();
  if (operand.repeated) operand.read = first->read;  // what is read twice is the first of both
  if (operand.value->op() == Op::Const || operand.repeated) {
    tape_.unused_operand();  // a constant is a step
  } else {
    // A view of memory that others may write is read as a copy, in which nobody would find the operand.
    operand.apart = !is_told_apart(operand) || (operand.tracked && operand.storage->reads_volatile());
    operand.by_element = operand.apart || (operand.tracked && !t.contiguous());
    by_element_ = by_element_ || operand.by_element;
    if (operand.apart) operand.read = apart(operand.value);
    if (!tape_.operand(operand.read)) tape_.unused_operand();
    if (!operand.apart) tape_.leaf(operand.storage);
  }
  operands_.push_back(std::move(operand));
}

// From the operands before it: by its node, and by the storage to which its views go, or that storage's value: a copy has the
// value of what it was copied from.
bool Recording::is_told_apart(const Operand& operand) const {
  const bool whole = operand.value == operand.storage;
  for (const Operand& other : operands_) {
    const bool meet = other.value == operand.value || other.storage == operand.storage ||
                      (!whole && (other.value == operand.storage || other.storage == operand.value)) ||
                      &other.tensor->storage() == &operand.tensor->storage();
    if (meet && (other.tracked || operand.tracked)) return false;
  }
  return true;
}

NodeRef Recording::read(const TensorImpl& t) const {
  const size_t count = operands_.size();
  for (size_t i = 0, at = next_read_; i < count; ++i, ++at) {
    if (at >= count) at = 0;
    const Operand& operand = operands_[at];
    if (operand.tensor != &t) continue;
    next_read_ = at + 1;
    return operand.version == t.version() ? operand.read : NodeRef();
  }
  return stand_ins_.empty() ? NodeRef() : find_stand_in(t);
}

NodeRef Recording::find_stand_in(const TensorImpl& t) const {
  const auto found = stand_ins_.find(&t);
  return found != stand_ins_.end() && found->second.version == t.version() ? found->second.node : NodeRef();
}

// The source as views of it are to read it; null if they read memory.
NodeRef Recording::read_by_element(const TensorImpl& t) const {
  for (const Operand& operand : operands_) {
    if (operand.tensor == &t && operand.by_element) return operand.version == t.version() ? operand.read : NodeRef();
  }
  return find_stand_in(t);
}

void Recording::viewed(const Tensor& source, const Tensor& view, const ElementMap* own) {
  if (!by_element_) return;
  const TensorImpl &t = impl(source), &shown = impl(view);
  const NodeRef elements = read_by_element(t);
  if (!elements) return;
  NodeRef part =
      own ? strided_view(elements, ref(shown.sizes()), ref(own->strides), own->offset) : view_of(t, elements, shown, outside_of(t));
  if (part) stand_ins_[&shown] = {std::move(part), shown.version()};
}

// --- from the start to the end

void Recording::start() {
  this_thread.recorder = this;
  ir::Tape::current = &tape_;
}

void Recording::listen(bool on) { ir::Tape::current = on ? &tape_ : nullptr; }

void Recording::begin(const char* name) {
  fn_ = std::make_shared<GradFn>(name);
  origin_ = ViewOrigin::Single;
  full_ = false;
  exceptions_ = std::uncaught_exceptions();
  rule_reads_ = 0;
  saves_ = nullopt;
  first_of_ties_ = by_element_ = dependents_only_ = false;
  next_read_ = 0;
}

void Recording::clear() {
  if (this_thread.recorder == this) this_thread.recorder = nullptr;
  if (ir::Tape::current == &tape_) ir::Tape::current = nullptr;
  tape_.clear();
  operands_.clear();
  if (!stand_ins_.empty()) stand_ins_.clear();
  results_.clear();
  outputs_.clear();
  fn_ = nullptr;
}

bool Recording::has_made(const Tensor& x) const {
  return std::any_of(results_.rbegin(), results_.rend(), [&](const Tensor& result) { return result.is_same(x); });
}

void Recording::wrote(const Tensor& self, const NodeRef& value) {
  if (!self.is_floating_point() || has_made(self)) return;
  outputs_.push_back({value ? value : node_of(self), impl(self).storage().value(), &impl(self)});
  attach_write(self, fn_);
}

// The tracked operand of which a result is a view.
const Recording::Operand* Recording::shown_by(const TensorImpl& view) const {
  for (const Operand& operand : operands_) {
    const TensorImpl& t = *operand.tensor;
    if (operand.tracked && &t.storage() == &view.storage() && t.dtype() == view.dtype()) return &operand;
  }
  return nullptr;
}

// What as_strided shows and its operand does not; null for other operations.
NodeRef Recording::outside_of(const TensorImpl& t) const {
  if (fn_->name() != "AsStridedBackward0") return {};
  const ir::PausedTape paused;
  const NodeRef memory = t.storage().value();
  return ir::make_node(Op::Reshape, {&memory, 1}, memory->shape(), {}, ir::Folding::Off);
}

// As a function of the operand and not of its whole storage.
NodeRef Recording::output_of(const Tensor& result) {
  const TensorImpl& view = impl(result);
  if (NodeRef part = find_stand_in(view)) return part;
  const Operand* operand = shown_by(view);
  if (!operand || !(operand->storage == view.storage().value()) || operand->storage == operand->read) return view.node();
  const NodeRef part = view_of(*operand->tensor, operand->read, view, outside_of(*operand->tensor));
  return part ? part : view.node();
}

// Views that the operation itself made of an operand that is a view read the storage's value. The operation wants only the part
// of that which the operand shows.
void Recording::define_storages() {
  for (const Operand& operand : operands_) {
    const NodeRef& memory = operand.storage;
    if (!operand.tracked || operand.apart || memory == operand.read) continue;
    const bool is_output = std::ranges::find(outputs_, memory, &Output::value) != outputs_.end();
    if (!is_output && !tape_.reads_leaf(memory)) continue;
    if (memory->dtype() != operand.tensor->dtype()) continue;
    const NodeRef zero = zero_gradient(memory->dtype(), memory->shape(), memory->device());
    tape_.define(memory, laid_out(*operand.tensor, operand.read, zero, operand.tensor->offset()));
  }
}

// Results that no operand which requires grad reaches through floats lose their history: a comparison ends the way.
void Recording::detach_constant() {
  const ir::Recipe& recipe = fn_->recipe;
  std::vector<bool> reached(recipe.steps().size());
  for (const Edge& edge : fn_->edges) {
    if (recipe.operands()[edge.operand] != ir::Recipe::kUnused) reached[recipe.operands()[edge.operand]] = true;
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    const ir::Recipe::Step& step = recipe.steps()[i];
    if (!ir::is_float(step.dtype)) continue;
    for (int64_t input : recipe.inputs(step)) reached[i] = reached[i] || reached[static_cast<size_t>(input)];
  }
  for (const Tensor& result : results_) {
    History& history = own_history(result);
    if (history.fn != fn_ || reached[recipe.outputs()[static_cast<size_t>(history.output_nr)]]) continue;
    history.fn = nullptr;
    history.output_nr = 0;
  }
}

void Recording::set_rule(uint32_t reads, GradRule rule) {
  fn_->rule = std::move(rule);
  rule_reads_ = reads;
}

void Recording::watch(SavedValue::Of of, size_t number, const TensorImpl& t, int64_t version) {
  fn_->watched.push_back({of, static_cast<uint32_t>(number), t.dtype(), t.device(), t.sizes(), VersionWatch(t, version)});
}

void Recording::saves_index(const Tensor& x) {
  if (x.defined()) watch(SavedValue::Of::Index, fn_->watched.size(), impl(x), impl(x).version());
}

void refuse_inference(const TensorImpl& t) {
  check(!t.inference(),
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by "
        "autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
        "instead of `torch.inference_mode()`.");
}

// A constant that is read may be an operand's.
void Recording::watch_constants(DType dtype, uint64_t bits) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& operand = operands_[i];
    const ir::Node& value = *operand.value;
    const bool reads = value.op() == Op::Const && value.dtype() == dtype && value.bits() == bits;
    if (reads) refuse_inference(*operand.tensor);
    if (reads && operand.tensor->version() == operand.version) watch(SavedValue::Of::Operand, i, *operand.tensor, operand.version);
  }
}

// What PyTorch saves is watched, in the place of what is kept here.
void Recording::watch_saved() {
  const uint32_t reads = *saves_;
  uint32_t kept = 0;
  for (SavedValue& s : fn_->saved) {
    if (s.of == SavedValue::Of::Step) continue;
    const uint32_t bits = s.of == SavedValue::Of::Operand ? reads_operand(s.number)
                          : s.number == 0                 ? kReadsOutput | kReadsFirstOutput
                                                          : kReadsOutput;
    if (reads & bits) kept |= bits;
    else s.version = VersionWatch();
  }
  std::erase_if(fn_->watched, [](const WatchedValue& w) { return w.of == SavedValue::Of::Operand; });
  const uint32_t missing = reads & ~kept;
  for (size_t i = 0; i < operands_.size() && missing; ++i) {
    const Operand& operand = operands_[i];
    const bool same = operand.tensor->version() == operand.version;
    if (missing & reads_operand(i)) refuse_inference(*operand.tensor);
    if (same && (missing & reads_operand(i))) watch(SavedValue::Of::Operand, i, *operand.tensor, operand.version);
  }
  const size_t outputs = missing & kReadsOutput ? outputs_.size() : missing & kReadsFirstOutput ? 1 : 0;
  for (size_t k = 0; k < std::min(outputs, outputs_.size()); ++k)
    watch(SavedValue::Of::Output, k, *outputs_[k].tensor, outputs_[k].tensor->version());
  for (size_t k = 0; k < results_.size() && (missing & kReadsIndices); ++k) {
    const TensorImpl& t = impl(results_[k]);
    if (!results_[k].is_floating_point() && !t.has_one_handle()) watch(SavedValue::Of::Index, k, t, t.version());
  }
  fn_->keeps_all = !reads && fn_->watched.empty();
}

// What is read twice is kept once; a write to it is a write to both.
void Recording::watch_repeated() {
  for (const SavedValue& s : fn_->saved) {
    if (s.of != SavedValue::Of::Operand) continue;
    const TensorImpl* kept = operands_[s.number].tensor;
    for (size_t i = s.number + 1; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      if (operand.tensor == kept && operand.version == kept->version()) watch(SavedValue::Of::Operand, i, *kept, operand.version);
    }
  }
}

// What the operation itself wrote, it keeps as it was: a write later on harms nothing.
void Recording::keep_operand(size_t i) {
  const Operand& operand = operands_[i];
  refuse_inference(*operand.tensor);
  VersionWatch watch;
  if (operand.tensor->version() == operand.version) watch = VersionWatch(*operand.tensor, operand.version);
  const auto edge = std::ranges::find(fn_->edges, i, &Edge::operand);
  const GradFn* maker = edge == fn_->edges.end() ? nullptr : edge->fn.get();
  fn_->saved.push_back(
      {SavedValue::Of::Operand, static_cast<uint32_t>(i), kept_operand(operand.value, operand.tracked, maker), std::move(watch)});
}

void Recording::keep_output(size_t k) {
  const Output& output = outputs_[k];
  fn_->saved.push_back({SavedValue::Of::Output, static_cast<uint32_t>(k), kept_value(output.value), VersionWatch(*output.tensor)});
}

void Recording::keep_values() {
  const ir::Recipe& recipe = fn_->recipe;
  if (fn_->rule) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (rule_reads_ & reads_operand(i)) keep_operand(i);
    }
    for (size_t k = 0; k < outputs_.size() && (rule_reads_ & kReadsOutput); ++k) keep_output(k);
    return;
  }
  ir::Recipe::Flags tracked;
  for (const Operand& operand : operands_) tracked.push_back(operand.tracked);
  for (uint32_t step : (runtime::replays() ? ir::replayed_steps_to_keep : ir::steps_to_keep)(recipe, tracked)) {
    const auto in = std::find(recipe.operands().begin(), recipe.operands().end(), step);
    const auto out = std::find(recipe.outputs().begin(), recipe.outputs().end(), step);
    if (in != recipe.operands().end()) {
      keep_operand(static_cast<size_t>(in - recipe.operands().begin()));
    } else if (out != recipe.outputs().end()) {
      keep_output(static_cast<size_t>(out - recipe.outputs().begin()));
    } else if (recipe.steps()[step].op == Op::Input) {
      fn_->reads_leaves = true;  // which the recipe holds
    } else if (recipe.steps()[step].op == Op::Const) {
      watch_constants(recipe.steps()[step].dtype, static_cast<uint64_t>(recipe.ints(recipe.steps()[step])[0]));
    } else {
      fn_->saved.push_back({SavedValue::Of::Step, step, kept_value(tape_.made(step)), VersionWatch()});
    }
  }
  watch_repeated();
}

// An operand of which the outputs are no function, since they overwrite it, has zeros for a gradient. But if the values of an
// output come from the host, nothing is known; and the base of a view that was written has its zeros from CopySlices.
void Recording::find_unused() {
  const ir::Recipe& recipe = fn_->recipe;
  const auto is_leaf = [&](const ir::Recipe::Leaf& leaf) {
    return std::ranges::find(recipe.outputs(), leaf.step) != recipe.outputs().end();
  };
  for (Edge& edge : fn_->edges) {
    const Operand& operand = operands_[edge.operand];
    const TensorImpl& t = *operand.tensor;
    if (recipe.operands()[edge.operand] != ir::Recipe::kUnused || operand.repeated) continue;
    const bool written_view = t.base.defined() && t.version() != operand.version;
    if (!written_view && std::ranges::none_of(recipe.leaves(), is_leaf)) edge.zeros = zero_gradient(t.dtype(), t.sizes(), t.device());
  }
}

void Recording::finish() {
  if (std::uncaught_exceptions() > exceptions_) return;
  for (const Tensor& result : results_) {
    const bool intermediate = impl(result).has_one_handle();
    if (intermediate || !result.is_floating_point()) continue;
    outputs_.push_back({output_of(result), impl(result).storage().value(), &impl(result)});
    attach(result, fn_, origin_);
  }
  define_storages();
  std::vector<NodeRef> values, stored;
  for (const Output& output : outputs_) {
    values.push_back(output.value);
    stored.push_back(output.stored);
  }
  fn_->buffers = BufferScope::writes();
  fn_->recipe = tape_.cut(values, first_of_ties_);
  if (dependents_only_) detach_constant();
  if (!fn_->rule) find_unused();
  keep_values();
  if (saves_) watch_saved();
  this_thread.recorder = nullptr;
  ir::Tape::current = nullptr;
  if (!full_) return;
  if (stored.empty() && !results_.empty()) stored.push_back(node_of(results_.back()));
  results_.clear();  // what only the operation holds is not stored
  std::erase_if(stored, [](const NodeRef& node) { return node->is_leaf(); });
  if (!stored.empty()) evaluate_nodes(stored);
}

}  // namespace tenon
