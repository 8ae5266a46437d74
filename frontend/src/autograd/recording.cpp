// Scopes, and the recipes that they leave behind.
#include "frontend/src/autograd/open_step.h"
#include "frontend/src/autograd/recording.h"
#include "frontend/src/autograd/segment.h"

#include <algorithm>

#include "frontend/src/tensor/outside.h"
#include "ir/base/of_thread.h"
#include "ir/gradient/known_gradients.h"
#include "runtime/base/options.h"

namespace tenon {

constinit thread_local Recording* GradScope::current_ = nullptr;
constinit thread_local const Recording* Recording::reading_ = nullptr;

namespace {

// Orders writes against the views made before and after them.
std::atomic<uint64_t> clock_ticks{0};

// --- views as functions of the tensors that they show

// How many elements lie from the first one that the tensor shows to the last.
int64_t extent(const TensorImpl& t) {
  int64_t last = 0;
  for (size_t d = 0; d < t.sizes().size(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
  return t.numel() == 0 ? 0 : last + 1;
}

NodeRef zeros(DType dtype, const Dims& shape, ir::DeviceTag device) {
  return ir::make_const(ir::constant(dtype, int64_t{0}), shape, device);
}

// `memory` with the tensor's elements at its places.
NodeRef laid_out(const TensorImpl& t, const NodeRef& elements, const NodeRef& memory, int64_t offset) {
  return strided_mean(memory, elements, ref(t.sizes()), ref(t.strides()), offset);
}

// The elements of a view of the tensor's storage, as PyTorch's as_strided sees them: of elements at one place each is an equal
// part of it. What lies outside the tensor is `outside`, of the storage's shape; zeros if there is none. Null if the bits of one
// of them are read as another type.
NodeRef view_of(const TensorImpl& t, const NodeRef& elements, const TensorImpl& view, NodeRef outside = {}) {
  const int64_t first = view.offset() - t.offset(), reach = extent(t);
  if (t.dtype() != view.dtype()) return {};
  if (first >= 0 && first + extent(view) <= reach) {
    const NodeRef memory = t.contiguous() ? elements : laid_out(t, elements, zeros(t.dtype(), Dims{reach}, t.device()), 0);
    return strided_view(memory, ref(view.sizes()), ref(view.strides()), first);
  }
  const NodeRef memory = t.storage().value();
  if (memory->dtype() != t.dtype()) return {};
  if (!outside) outside = zeros(t.dtype(), memory->shape(), t.device());
  return strided_view(laid_out(t, elements, outside, t.offset()), ref(view.sizes()), ref(view.strides()), view.offset());
}

// The same value in a node of its own.
NodeRef apart(const NodeRef& node) { return ir::make_node(Op::Reshape, {&node, 1}, node->shape(), {}, ir::Folding::Apart); }

// A recipe written down by hand: its operands are placeholders like these tensors.
template <typename Formula>
ir::Recipe recipe_of(std::initializer_list<const TensorImpl*> operands, Formula formula) {
  const ir::PausedTape paused;
  ir::Tape tape;
  std::vector<NodeRef> placeholders;
  for (const TensorImpl* t : operands) {
    placeholders.push_back(ir::make_input(t->dtype(), t->sizes(), nullptr, t->device()));
    tape.operand(placeholders.back());
  }
  ir::Tape::current = &tape;
  NodeRef output;
  try {
    output = formula(placeholders);
  } catch (...) {
    ir::Tape::current = nullptr;
    throw;
  }
  ir::Tape::current = nullptr;
  return output ? tape.cut({&output, 1}) : ir::Recipe();
}

// What a recipe does not use of its operands, which are like these, has zeros for a gradient.
void give_zeros(GradFn& fn, std::initializer_list<const TensorImpl*> operands) {
  for (Edge& edge : fn.edges) {
    const TensorImpl& like = *operands.begin()[edge.operand];
    if (!fn.recipe.outputs().empty() && fn.recipe.operands()[edge.operand] == ir::Recipe::kUnused)
      edge.zeros = zeros(like.dtype(), like.sizes(), like.device());
  }
}

}  // namespace

// --- histories

Edge edge_to(const Tensor& x, size_t operand) {
  refuse_outdated(x);
  const History& history = own_history(x);
  return {history.fn, history.output_nr, history.fn ? Tensor() : x, operand};
}

uint64_t autograd_time() { return clock_ticks.load(std::memory_order_relaxed); }

void attach(const Tensor& x, std::shared_ptr<GradFn> fn, ViewOrigin origin) {
  History& history = own_history(x);
  history.requires_grad = false;
  if (origin != ViewOrigin::Single) history.origin = origin;  // a view of a special view is one, too
  history.version = impl(x).version();
  history.output_nr = fn->output_count++;
  history.time = autograd_time();
  if (history.retains_grad) {
    if (history.fn) history.fn->forget(&history);
    fn->retain(history.output_nr, &history);
  }
  history.fn = std::move(fn);
}

namespace {

// The view as a function of its base, as that is now.
std::shared_ptr<GradFn> read_of_base(const Tensor& view) {
  const TensorImpl& t = impl(view);
  const TensorImpl& base = impl(t.base);
  auto fn = std::make_shared<GradFn>("AsStridedBackward0");
  if (requires_grad(t.base)) fn->edges.push_back(edge_to(t.base, 0));
  fn->recipe = recipe_of({&base}, [&](const std::vector<NodeRef>& in) { return view_of(base, in[0], t); });
  give_zeros(*fn, {&base});
  return fn;
}

// Does somebody listen to gradients between a view, whose history this is, and its base? The view's own gradient is kept elsewhere.
bool is_heard(const History& view, const GradFn* base) {
  for (const GradFn* fn = view.fn.get(); fn && fn != base; fn = fn->edges.size() == 1 ? fn->edges[0].fn.get() : nullptr) {
    if (fn->is_heard_by_others(view)) return true;
  }
  return false;
}

// A written view was a function of its base: hooks on what lies between do not see its gradient, as in PyTorch.
void lead_past_hooks(GradFn& fn, const Tensor& written) {
  const History& before = own_history(written);
  if (!before.fn || !is_heard(before, own_history(impl(written).base).fn.get())) return;
  for (Edge& edge : fn.edges) {
    if (edge.fn != before.fn || edge.output_nr != before.output_nr) continue;
    edge.fn = read_of_base(written);
    edge.output_nr = edge.fn->output_count++;
    return;
  }
}

}  // namespace

void attach_to_base(const Tensor& view) { attach(view, read_of_base(view), ViewOrigin::Single); }

void attach_write(const Tensor& self, const std::shared_ptr<GradFn>& fn) {
  clock_ticks.fetch_add(1, std::memory_order_relaxed);
  const TensorImpl& t = impl(self);
  const bool is_view = t.base.defined();
  if (!is_view && !repeats_places(ref(t.sizes()), ref(t.strides()))) return attach(self, fn, ViewOrigin::Single);
  const Tensor& shown = is_view ? t.base : self;
  const TensorImpl& base = impl(shown);
  if (is_view) lead_past_hooks(*fn, self);
  auto copy_slices = std::make_shared<GradFn>("CopySlices");
  copy_slices->once = true;  // as in PyTorch, where the written function belongs to it
  if (is_view && requires_grad(t.base)) copy_slices->edges.push_back(edge_to(t.base, 0));
  copy_slices->edges.push_back({fn, fn->output_count++, Tensor(), 1});
  copy_slices->recipe = recipe_of({&base, &t}, [&](const std::vector<NodeRef>& in) {
    const NodeRef memory = base.storage().value();
    if (t.dtype() != base.dtype() || memory->dtype() != base.dtype()) return NodeRef();
    const NodeRef before = laid_out(base, in[0], zeros(base.dtype(), memory->shape(), base.device()), base.offset());
    const NodeRef after = strided_write(before, in[1], ref(t.sizes()), ref(t.strides()), t.offset());
    return strided_view(after, ref(base.sizes()), ref(base.strides()), base.offset());
  });
  give_zeros(*copy_slices, {&base, &t});
  attach(shown, std::move(copy_slices), ViewOrigin::Single);
  if (is_view) attach_to_base(self);
}

// --- scopes

bool GradScope::tracked(TensorList list) {
  for (const Tensor& x : list) {
    if (tracked(x)) return true;
  }
  return false;
}
namespace {
// This thread's one recording that is not in use: it keeps its memory for the next scope.
using Spare = ir::OfThread<std::unique_ptr<Recording>>;
}  // namespace

void GradScope::begin(const char* name) {
  std::unique_ptr<Recording>* spare = Spare::get();
  taken_.recording = spare && *spare ? spare->release() : new Recording;
  taken_.recording->begin(name);
}
void GradScope::give_back(Recording* recording) {
  recording->clear();
  std::unique_ptr<Recording> given(recording);
  std::unique_ptr<Recording>* spare = Spare::get();
  if (spare && !*spare && !recording->is_large()) *spare = std::move(given);
}
void GradScope::add(const Tensor& x) {
  if (x.defined()) taken_.recording->add_operand(x);
}
void GradScope::start() {
  current_ = taken_.recording;
  taken_.recording->start();
}
void GradScope::end() {
  current_ = nullptr;
  taken_.recording->finish();
}
void GradScope::set_rule(uint32_t reads, GradRule rule) { taken_.recording->set_rule(reads, std::move(rule)); }
void GradScope::no_derivative(const char* operation) {
  rule(kReadsNothing, [operation](GradCall&) { check<NotImplementedError>(false, "derivative for aten::", operation, " is not implemented"); });
}
void GradScope::set_saves(uint32_t reads) { taken_.recording->set_saves(reads); }
void GradScope::set_derivative_reads(uint32_t reads) { taken_.recording->set_derivative_reads(reads); }
void GradScope::attach_dependents() {
  if (taken_.recording) taken_.recording->attach_dependents();
}
void GradScope::saves_index(const Tensor& x) { taken_.recording->saves_index(x); }
void GradScope::first_of_ties() {
  if (taken_.recording) taken_.recording->first_of_ties();
}
std::vector<Tensor> GradScope::several_views(std::vector<Tensor> results) {
  if (taken_.recording) {
    taken_.recording->several_views();
  } else if (!current_ && GradMode::is_enabled()) {
    for (const Tensor& view : results) set_origin(view, ViewOrigin::Several);
  }
  return results;
}

void written(const Tensor& self, const NodeRef& value) {
  if (Recording* recording = GradScope::current()) recording->wrote(self, value);
}

// --- operands

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
    operand.by_element = operand.apart || (operand.tracked && !t.contiguous() && repeats_places(ref(t.sizes()), ref(t.strides())));
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

NodeRef Recording::find_read(const TensorImpl& t) const {
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
  NodeRef part = own ? strided_view(elements, ref(shown.sizes()), ref(own->strides), own->offset)
                     : view_of(t, elements, shown, outside_of(t));
  if (part) stand_ins_[&shown] = {std::move(part), shown.version()};
}

// --- from the start to the end

void Recording::start() {
  reading_ = this;
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
  if (reading_ == this) reading_ = nullptr;
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
  if (!operand || !(operand->storage == view.storage().value()) || operand->storage == operand->read)
    return view.node();
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
    const NodeRef zero = zeros(memory->dtype(), memory->shape(), memory->device());
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
  check(!t.inference(), "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and "
        "use it in autograd.");
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
    const uint32_t bits = s.of == SavedValue::Of::Operand ? reads_operand(s.number) : s.number == 0 ? kReadsOutput | kReadsFirstOutput : kReadsOutput;
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
  fn_->saved.push_back({SavedValue::Of::Operand, static_cast<uint32_t>(i),
                        kept_value(operand.value, operand.tracked, maker), std::move(watch)});
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
  for (uint32_t step : (runtime::replays() ? ir::known_steps_to_keep : ir::steps_to_keep)(recipe, tracked)) {
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
    if (!written_view && std::ranges::none_of(recipe.leaves(), is_leaf)) edge.zeros = zeros(t.dtype(), t.sizes(), t.device());
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
  reading_ = nullptr;
  ir::Tape::current = nullptr;
  if (!full_) return;
  if (stored.empty() && !results_.empty()) stored.push_back(node_of(results_.back()));
  results_.clear();  // what only the operation holds is not stored
  std::erase_if(stored, [](const NodeRef& node) { return node->is_leaf(); });
  if (!stored.empty()) evaluate_nodes(stored);
}

}  // namespace tenon
