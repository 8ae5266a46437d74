// Histories: how a tensor gets one, and how that of a view follows its base.
#include "frontend/src/autograd/history.h"

#include <mutex>
#include <thread>
#include <unordered_map>

#include "frontend/src/autograd/grad_fn.h"
#include "frontend/src/tensor/text.h"

namespace tenon {

// --- histories

namespace {
// Roots that are not evaluated yet.
struct Roots {
  std::mutex mutex;
  struct Root {
    TensorImpl* tensor;
    std::thread::id thread;
  };
  std::unordered_map<History*, Root> all;
};
Roots& roots() {
  static Roots& all = *new Roots;  // tensors die after main
  return all;
}

void forget_root(History& history) {
  const std::lock_guard lock(roots().mutex);
  roots().all.erase(&history);
}
}  // namespace

History::~History() {
  if (pending_root) forget_root(*this);
  if (fn) fn->forget(this);
}

History& own_history(const Tensor& x) {
  TensorImpl& t = impl(x);
  if (!t.notes) t.notes = std::make_unique<History>();
  return *known_history(t);
}

namespace {
// Was the memory of the view written since its history was made? By an operation that was recorded, or by any.
bool is_outdated(const TensorImpl& view) {
  const History* own = known_history(view);
  if (own && own->origin != ViewOrigin::Single) return false;
  if (own && own->fn && own->version != view.version()) return true;
  const History* base = known_history(impl(view.base));
  return base && base->fn && base->time > (own ? own->time : 0);
}
}  // namespace

History* history_of(const Tensor& x) {
  TensorImpl& t = impl(x);
  if (t.base.defined() && is_outdated(t)) attach_to_base(x);
  return known_history(t);
}

namespace {
// Orders writes against the views made before and after them.
std::atomic<uint64_t> clock_ticks{0};
uint64_t time_of_writes() { return clock_ticks.load(std::memory_order_relaxed); }
}  // namespace

void set_origin(const Tensor& view, ViewOrigin origin) {
  if (!view.is_floating_point() || impl(view).inference()) return;
  History& history = own_history(view);
  history.origin = origin;
  history.time = time_of_writes();
  history.version = impl(view).version();
}

// --- views that may not be written

namespace {

// Why a view of that origin may not be written.
const char* advice(ViewOrigin origin) {
  switch (origin) {
    case ViewOrigin::Single: break;
    case ViewOrigin::Several:
      return " This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
             "modified inplace. You should replace the inplace operation by an out-of-place one.";
    case ViewOrigin::NoGrad:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
             "and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you "
             "want the inplace to be tracked).";
    case ViewOrigin::Inference:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
             "and the inplace either both inside the inference_mode block (if you don't want the inplace to be tracked) or both outside "
             "(if you want the inplace to be tracked).";
    case ViewOrigin::CustomFunction:
      return " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
             "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This "
             "behavior is forbidden. You can fix this by cloning the output of the custom Function.";
  }
  return "";
}

}  // namespace

void refuse_write(const History& view, const char* is_modified) {
  const std::string made_by = view.fn ? view.fn->name() : "";
  const std::string output = text("Output ", view.output_nr, " of ", made_by.substr(0, made_by.find("Backward")), " is a view");
  const bool inference = view.origin == ViewOrigin::Inference;
  const std::string head =
      view.fn && !inference && view.origin != ViewOrigin::NoGrad
          ? text(output, " and ", is_modified, " modified inplace.")
          : text(view.fn ? output + " of a view which" : "A view", " was created in ", inference ? "inference" : "no_grad", " mode and ",
                 is_modified, " modified inplace ", inference ? "in normal mode." : "with grad mode enabled.");
  throw Error(head + advice(view.origin));
}

void refuse_outdated(const Tensor& view) {
  const TensorImpl& t = impl(view);
  const History* history = known_history(t);
  if (!history || history->origin == ViewOrigin::Single || !t.base.defined() || t.version() == history->version) return;
  if (history->fn || requires_grad(t.base)) refuse_write(*history, "its base or another view of its base has been");
}

// --- views as functions of the tensors that they show

namespace {
// How many elements lie from the first one that the tensor shows to the last.
int64_t extent(const TensorImpl& t) {
  int64_t last = 0;
  for (size_t d = 0; d < t.sizes().size(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
  return t.numel() == 0 ? 0 : last + 1;
}
}  // namespace

NodeRef laid_out(const TensorImpl& t, const NodeRef& elements, const NodeRef& memory, int64_t offset) {
  return strided_mean(memory, elements, ref(t.sizes()), ref(t.strides()), offset);
}

NodeRef view_of(const TensorImpl& t, const NodeRef& elements, const TensorImpl& view, NodeRef outside) {
  const int64_t first = view.offset() - t.offset(), reach = extent(t);
  if (t.dtype() != view.dtype()) return {};
  if (first >= 0 && first + extent(view) <= reach) {
    const NodeRef memory = t.contiguous() ? elements : laid_out(t, elements, zero_gradient(t.dtype(), Dims{reach}, t.device()), 0);
    return strided_view(memory, ref(view.sizes()), ref(view.strides()), first);
  }
  const NodeRef memory = t.storage().value();
  if (memory->dtype() != t.dtype()) return {};
  if (!outside) outside = zero_gradient(t.dtype(), memory->shape(), t.device());
  return strided_view(laid_out(t, elements, outside, t.offset()), ref(view.sizes()), ref(view.strides()), view.offset());
}

// --- what they come of

namespace {

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
      edge.zeros = zero_gradient(like.dtype(), like.sizes(), like.device());
  }
}

}  // namespace

Edge edge_to(const Tensor& x, size_t operand) {
  refuse_outdated(x);
  const History& history = own_history(x);
  return {history.fn, history.output_nr, history.fn ? Tensor() : x, operand};
}

void attach(const Tensor& x, std::shared_ptr<GradFn> fn, ViewOrigin origin) {
  History& history = own_history(x);
  history.requires_grad = false;
  if (origin != ViewOrigin::Single) history.origin = origin;  // a view of a special view is one, too
  history.version = impl(x).version();
  history.output_nr = fn->output_count++;
  history.time = time_of_writes();
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
    const NodeRef before = laid_out(base, in[0], zero_gradient(base.dtype(), memory->shape(), base.device()), base.offset());
    const NodeRef after = strided_write(before, in[1], ref(t.sizes()), ref(t.strides()), t.offset());
    return strided_view(after, ref(base.sizes()), ref(base.strides()), base.offset());
  });
  give_zeros(*copy_slices, {&base, &t});
  attach(shown, std::move(copy_slices), ViewOrigin::Single);
  if (is_view) attach_to_base(self);
}

// --- roots that are not evaluated yet

void note_root(const Tensor& x) {
  History& history = own_history(x);
  if (history.pending_root || node_of(x)->is_leaf()) return;
  const std::lock_guard lock(roots().mutex);
  roots().all.emplace(&history, Roots::Root{&impl(x), std::this_thread::get_id()});
  history.pending_root = true;
}

// A tensor whose last handle goes away meanwhile waits in forget_root for the lock.
std::vector<Tensor> take_roots() {
  std::vector<Tensor> taken;
  const std::lock_guard lock(roots().mutex);
  std::erase_if(roots().all, [&](const auto& entry) {
    const auto& [history, root] = entry;
    if (root.thread != std::this_thread::get_id()) return false;
    const NodeRef value = root.tensor->storage().value();
    const bool held = value->holders.load(std::memory_order_relaxed) > 0;
    if (held && !value->is_leaf()) taken.emplace_back(new TensorImpl(value), false);
    history->pending_root = false;
    return true;
  });
  return taken;
}

}  // namespace tenon
