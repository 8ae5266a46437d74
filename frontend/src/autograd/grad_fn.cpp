// The backward pass of one operation.
#include "frontend/src/autograd/grad_fn.h"

#include <algorithm>

#include "frontend/src/autograd/anomaly.h"
#include "frontend/src/autograd/known_rule.h"
#include "frontend/src/autograd/recording.h"
#include "frontend/src/autograd/segment.h"
#include "frontend/src/tensor/text.h"
#include "ir/gradient/known_gradients.h"
#include "runtime/base/options.h"
#include "tenon/creation.h"
#include "tenon/print.h"

namespace tenon {
namespace {

std::atomic<uint64_t> recorded{0};

Tensor tensor_of(const NodeRef& node) { return node ? record(node) : Tensor(); }

// The tensor as a function of others in which it is constant.
Tensor constant_in(const std::vector<Tensor>& others, const Tensor& x, const char* name) {
  GradScope scope(name, TensorList(others));
  std::vector<NodeRef> zeros;
  for (const Tensor& y : others) zeros.push_back(ir::make_const(ir::constant(impl(y).dtype(), 0.0), impl(y).sizes(), impl(y).device()));
  scope.rule(kReadsNothing, [zeros](GradCall& c) {
    for (size_t i = 0; i < zeros.size(); ++i) c.give(i, Tensor(new TensorImpl(zeros[i]), false));
  });
  return record(node_of(x));
}

NodeRef zeros_of(const ir::Recipe& recipe, uint32_t number) {
  const ir::Recipe::Step& step = recipe.steps()[number];
  return ir::make_const(ir::constant(step.dtype, 0.0), recipe.shape(step), step.device);
}

}  // namespace

Tensor KeptValue::tensor() const { return Tensor(new TensorImpl(node_), false); }

// Where Python's name and LibTorch's are not the same: Python makes a tensor of a number operand of the first ones, and has a norm of
// its own.
std::string GradFn::name() const {
  struct Names {
    std::string_view recorded, python, libtorch;
  };
  constexpr Names kNames[] = {{"AddBackward1", "AddBackward0", "AddBackward1"},
                              {"SubBackward1", "SubBackward0", "SubBackward1"},
                              {"MulBackward1", "MulBackward0", "MulBackward1"},
                              {"DivBackward1", "DivBackward0", "DivBackward1"},
                              {"DivBackward3", "DivBackward2", "DivBackward3"},
                              {"NumberDivBackward", "MulBackward0", "DivBackward0"},  // 2 / x
                              {"NumberSubBackward", "RsubBackward1", "SubBackward0"},  // 2 - x
                              {"TensorNormBackward0", "LinalgVectorNormBackward0", "NormBackward0"},
                              {"TensorNormBackward1", "LinalgVectorNormBackward0", "NormBackward1"},
                              {"CopyBackwards", "CopyBackwards", "torch::autograd::CopyBackwards"},
                              {"NotImplemented", "NotImplemented", "torch::autograd::NotImplemented"}};
  for (const Names& names : kNames) {
    if (name_ == names.recorded) return std::string(get_print_style() == PrintStyle::Python ? names.python : names.libtorch);
  }
  return std::string(name_);
}

void GradFn::becomes_in_place() {
  constexpr std::string_view kNames[][2] = {{"UnsqueezeBackward0", "UnsqueezeBackward1"}, {"TBackward0", "TBackward1"},
                                            {"TransposeBackward0", "TransposeBackward1"}, {"SqueezeBackward0", "SqueezeBackward3"},
                                            {"SqueezeBackward1", "SqueezeBackward4"},     {"SqueezeBackward2", "SqueezeBackward5"}};
  for (const auto& [view, in_place] : kNames) {
    if (name_ == view) {
      name_ = in_place;
      return;
    }
  }
}

GradFn::GradFn(std::string_view name)
    : sequence(recorded.fetch_add(1, std::memory_order_relaxed)), forward_stack(stack_of_forward()), induced_by(AnomalyScope::current()),
      segment(Segment::current() ? Segment::current()->shared_from_this() : nullptr), name_(name) {}

GradFn::~GradFn() {
  std::vector<std::shared_ptr<GradFn>> dying;
  auto take_last_references = [&](GradFn& fn) {
    for (Edge& edge : fn.edges) {  // of two edges to one function the second has the last reference
      std::shared_ptr<GradFn> to = std::move(edge.fn);
      if (to && to.use_count() == 1) dying.push_back(std::move(to));
    }
  };
  take_last_references(*this);
  while (!dying.empty()) {
    const std::shared_ptr<GradFn> last = std::move(dying.back());
    dying.pop_back();
    take_last_references(*last);
  }
}

void GradFn::release() {
  segment = nullptr;
  if (keeps_all || (saved.empty() && watched.empty() && !reads_leaves && !once)) return;
  released_ = true;
  watched.clear();
  saved.clear();
  rule = nullptr;
}

void GradFn::forget(const History* history) {
  std::erase_if(retaining_, [&](const auto& entry) { return entry.second == history; });
}
bool GradFn::is_heard_by_others(const History& history) const {
  return !hooks_.empty() || std::ranges::any_of(retaining_, [&](const auto& entry) { return entry.second != &history; });
}
TensorHooks* GradFn::find_hooks(int64_t output_nr) {
  const auto at = std::ranges::find(hooks_, output_nr, [](const auto& entry) { return entry.first; });
  return at == hooks_.end() ? nullptr : at->second.get();
}
TensorHooks& GradFn::hooks_of(int64_t output_nr) {
  if (TensorHooks* hooks = find_hooks(output_nr)) return *hooks;
  return *hooks_.emplace_back(output_nr, std::make_unique<TensorHooks>()).second;
}

void GradFn::check_saved() const {
  check(!released_,
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
        "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
        "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
        "after calling backward.");
  for (const SavedValue& s : saved) {
    if (s.version.written()) refuse_written(s.of, s.number, s.version, s.value.node());
  }
  for (const WatchedValue& w : watched) {
    if (w.version.written()) refuse_written(w.of, w.number, w.version, ir::make_const({w.dtype, 0}, w.shape, w.device));
  }
}

void GradFn::refuse_written(SavedValue::Of of, uint32_t number, const VersionWatch& version, const NodeRef& like) const {
  const auto made_by = [](const std::string& name, int64_t output) {
    return text(", which is output ", output, " of ", name.substr(0, name.find("Backward")), ",");
  };
  std::string maker;
  if (of == SavedValue::Of::Output) maker = made_by(name(), number);
  for (const Edge& edge : edges) {
    if (of == SavedValue::Of::Operand && edge.operand == number && edge.fn) maker = made_by(edge.fn->name(), edge.output_nr);
  }
  check(false, "one of the variables needed for gradient computation has been modified by an inplace operation: [",
        Tensor(new TensorImpl(like), false).toString(), " ", ref(like->shape()), "]", maker, " is at version ", version.current(),
        "; expected version ", version.expected(),
        " instead. Hint: ",
        autograd::AnomalyMode::is_enabled()
            ? "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
              "changed in there or anywhere later. Good luck!"
            : "enable anomaly detection to find the operation that failed to compute its gradient, with "
              "autograd::set_detect_anomaly(true).");
}

Tensor GradFn::output_with_history(uint32_t number, NodeRef value) {
  Tensor x(new TensorImpl(std::move(value)), false);
  own_history(x).fn = shared_from_this();
  own_history(x).output_nr = number;
  return x;
}

// The saved value as a tensor that gradients of gradients lead to.
Tensor GradFn::with_history(const SavedValue& s) {
  if (s.of == SavedValue::Of::Output) {
    const bool known = s.number < recipe.outputs().size();
    const DType type = known ? recipe.steps()[recipe.outputs()[s.number]].dtype : s.value.node()->dtype();
    return output_with_history(s.number, ir::cast(s.value.node(), type));
  }
  for (const Edge& edge : edges) {
    if (edge.operand != s.number) continue;
    if (!edge.fn) return edge.leaf;
    Tensor x = s.value.tensor();
    own_history(x).fn = edge.fn;
    own_history(x).output_nr = edge.output_nr;
    return x;
  }
  return s.value.tensor();
}

std::vector<Tensor> GradFn::backward(const std::vector<Tensor>& grads, bool create_graph) {
  check_saved();
  std::vector<Tensor> result = rule ? by_rule(grads, create_graph) : create_graph ? by_recipe_again(grads) : by_recipe(grads);
  if (!create_graph || !derivative_reads) return result;
  const std::vector<Tensor> read = read_by_derivative();
  for (Tensor& gradient : result) {
    if (!read.empty() && gradient.defined() && !requires_grad(gradient)) gradient = constant_in(read, gradient, name_.data());
  }
  return result;
}

// Tensors that PyTorch's derivative reads and that require grad; their values do not matter.
std::vector<Tensor> GradFn::read_by_derivative() {
  std::vector<Tensor> result;
  if (derivative_reads & kReadsOutput) result.push_back(output_with_history(0, zeros_of(recipe, recipe.outputs()[0])));
  for (const Edge& edge : edges) {
    if (!(derivative_reads & reads_operand(edge.operand))) continue;
    const uint32_t step = recipe.operands()[edge.operand];
    if (!edge.fn) {
      result.push_back(edge.leaf);
    } else if (step != ir::Recipe::kUnused) {
      result.emplace_back(new TensorImpl(zeros_of(recipe, step)), false);
      own_history(result.back()).fn = edge.fn;
      own_history(result.back()).output_nr = edge.output_nr;
    }
  }
  return result;
}

std::vector<Tensor> GradFn::by_rule(const std::vector<Tensor>& grads, bool create_graph) {
  const auto given = std::ranges::find_if(grads, [](const Tensor& grad) { return grad.defined(); });
  const CallScope::On device(impl(*given).device());
  if (known_rule && !create_graph) {
    if (optional<std::vector<Tensor>> known = known_rule->gradients(*this, grads)) return *std::move(known);
  }
  std::vector<Tensor> values;
  for (const SavedValue& s : saved) values.push_back(create_graph ? with_history(s) : s.value.tensor());
  GradCall call(*this, grads, std::move(values));
  const GradRule applied = rule;  // a hook may release it
  applied(call);
  return call.take();
}

namespace {

// The tracked operands of a recipe.
ir::Recipe::Flags tracked_operands(const GradFn& fn) {
  ir::Recipe::Flags tracked(fn.recipe.operands().size(), 0);
  for (const Edge& edge : fn.edges) {
    if (edge.operand < tracked.size()) tracked[edge.operand] = 1;
  }
  return tracked;
}

std::vector<Tensor> gradients_of(const GradFn& fn, std::vector<NodeRef> values, const std::vector<Tensor>& grads) {
  std::vector<NodeRef> given;
  for (size_t k = 0; k < fn.recipe.outputs().size(); ++k)
    given.push_back(k < grads.size() && grads[k].defined() ? node_of(grads[k]) : NodeRef());
  const auto differentiate = runtime::replays() ? ir::known_gradients : ir::differentiate;
  const std::vector<NodeRef> nodes = differentiate(fn.recipe, std::move(values), given, tracked_operands(fn));
  const bool empty = std::ranges::none_of(grads, [](const Tensor& grad) { return grad.defined() && grad.numel() > 0; });
  std::vector<Tensor> result;
  for (const Edge& edge : fn.edges) {
    NodeRef gradient = edge.operand < nodes.size() ? nodes[edge.operand] : NodeRef();
    if (!gradient && edge.zeros && !empty) {  // of what was overwritten: they have no history
      result.emplace_back(new TensorImpl(edge.zeros), false);
      continue;
    }
    if (!gradient) gradient = edge.zeros;
    // What has a gradient may be another output than the operand's, or no element of one.
    if (!gradient && edge.operand < nodes.size() && fn.recipe.operands()[edge.operand] != ir::Recipe::kUnused)
      gradient = zeros_of(fn.recipe, fn.recipe.operands()[edge.operand]);
    result.push_back(tensor_of(gradient));
  }
  return result;
}

// The output before it was cast to the type of the tensor that it was written to.
uint32_t output_step(const ir::Recipe& recipe, const SavedValue& s) {
  const uint32_t step = recipe.outputs()[s.number];
  const bool cast = recipe.steps()[step].dtype != s.value.node()->dtype();
  return cast ? static_cast<uint32_t>(recipe.inputs(recipe.steps()[step])[0]) : step;
}

uint32_t step_of(const ir::Recipe& recipe, const SavedValue& s) {
  switch (s.of) {
    case SavedValue::Of::Operand: return recipe.operands()[s.number];
    case SavedValue::Of::Output: return output_step(recipe, s);
    case SavedValue::Of::Step: return s.number;
    case SavedValue::Of::Index: break;
  }
  return ir::Recipe::kUnused;
}

}  // namespace

std::vector<Tensor> GradFn::by_recipe(const std::vector<Tensor>& grads) {
  std::vector<NodeRef> values(recipe.steps().size());
  for (const SavedValue& s : saved) values[step_of(recipe, s)] = s.value.node();
  return gradients_of(*this, std::move(values), grads);
}

// As an operation of its own, on the gradients and on what it reads. What lies between operands and outputs is computed from
// the operands, so that it is differentiated too.
std::vector<Tensor> GradFn::by_recipe_again(const std::vector<Tensor>& grads) {
  std::vector<Tensor> operands = grads;
  std::vector<uint32_t> steps;
  for (const SavedValue& s : saved) {
    if (s.of == SavedValue::Of::Step) continue;
    operands.push_back(with_history(s));
    steps.push_back(step_of(recipe, s));
  }
  GradScope scope(name_.data(), TensorList(operands));
  if (std::ranges::none_of(grads, [](const Tensor& grad) { return requires_grad(grad); })) scope.attach_dependents();
  std::vector<NodeRef> values(recipe.steps().size());
  for (size_t i = 0; i < steps.size(); ++i)
    values[steps[i]] = ir::cast(node_of(operands[grads.size() + i]), recipe.steps()[steps[i]].dtype);
  return gradients_of(*this, std::move(values), grads);
}

// --- rules of their own

Tensor GradCall::grad(size_t output) const {
  if (output < grads_.size() && grads_[output].defined()) return grads_[output];
  return Tensor(new TensorImpl(zeros_of(fn_.recipe, fn_.recipe.outputs()[output])), false);
}

bool GradCall::wants(size_t operand) const {
  return std::ranges::any_of(fn_.edges, [&](const Edge& edge) { return edge.operand == operand; });
}

void GradCall::give(size_t operand, const Tensor& gradient) {
  for (size_t i = 0; i < given_.size(); ++i) {
    if (fn_.edges[i].operand == operand) given_[i] = gradient;
  }
}

Tensor gradient_for(const Tensor& operand, const Tensor& gradient) {
  return gradient.sum_to_size(operand.sizes()).to(operand.scalar_type());
}

Tensor GradCall::find(SavedValue::Of of, size_t number) const {
  for (size_t i = 0; i < saved_.size(); ++i) {
    if (fn_.saved[i].of == of && fn_.saved[i].number == number) return saved_[i];
  }
  throw ir::IrError(text("the gradient rule of ", fn_.name(), " reads a value that it did not ask for"));
}

}  // namespace tenon
