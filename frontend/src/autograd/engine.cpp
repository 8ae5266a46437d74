// The backward pass: from the given tensors along the edges, each GradFn once, when all gradients of its outputs are there.
// The one that was recorded last goes first among those that are ready.
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "frontend/src/autograd/anomaly.h"
#include "frontend/src/autograd/backward.h"
#include "frontend/src/autograd/gradient_sum.h"
#include "frontend/src/autograd/history.h"
#include "frontend/src/autograd/node.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/print.h"

namespace tenon {
namespace {

// Where a gradient goes: one output of a GradFn, or a leaf.
struct Target {
  GradFn* fn = nullptr;
  int64_t output_nr = 0;
  const TensorImpl* leaf = nullptr;

  const void* key() const { return fn ? static_cast<const void*>(fn) : leaf; }
};
Target target_of(const Edge& edge) {
  return edge.fn ? Target{edge.fn.get(), edge.output_nr, nullptr} : Target{nullptr, 0, edge.leaf.unsafe_impl()};
}

struct Options {
  bool retain_graph, create_graph, accumulate;
};

Tensor run_hooks(const TensorHooks* hooks, Tensor grad) {
  if (!hooks) return grad;
  const auto list = hooks->list;  // a hook may remove itself
  for (const TensorHooks::Hook& hook : list) {
    const Tensor replaced = [&] {
      const CallScope::Outside outside;
      return hook.call(grad);
    }();
    if (!replaced.defined()) continue;
    check(replaced.sizes() == grad.sizes(), "hook '", hook.number, "' has changed the size of value");
    check(replaced.scalar_type() == grad.scalar_type(), "hook '", hook.number, "' has changed the type of value");
    grad = replaced;
  }
  return grad;
}

// The gradient becomes, or is added to, the leaf's grad, which it returns.
Tensor accumulate(const Tensor& leaf, const Tensor& grad, bool create_graph) {
  History& history = own_history(leaf);
  Tensor& sum = history.grad;
  if (!sum.defined()) {
    sum = create_graph ? grad : Tensor(new TensorImpl(node_of(grad)), false);  // its own: the user's may be written
  } else if (create_graph) {
    sum = sum + grad;
  } else {
    sum.add_(grad);
  }
  if (history.accumulated_hooks) run_hooks(history.accumulated_hooks.get(), leaf);
  return history.grad;
}

class BackwardPass {
 public:
  explicit BackwardPass(Options options) : options_(options) {}

  void root(const Tensor& tensor, Tensor grad) {
    const Edge edge = edge_to(tensor, 0);
    roots_.emplace_back(find(edge), edge.output_nr, std::move(grad));
    fresh_.push_back(tensor);
  }

  // Only gradients that these need are computed; they are taken in the end.
  void capture(const Tensor& input) {
    const Edge edge = edge_to(input, 0);
    captures_.push_back({own_history(input).tracked() ? target_of(edge) : Target(), Tensor(), false});
  }
  struct Capture {
    Target target;
    Tensor grad;
    bool reached;
  };
  std::vector<Capture>& captures() { return captures_; }

  // If it throws, gradients of leaves and buffers of layers are as before.
  void run() {
    try {
      differentiate();
    } catch (...) {
      written_.undo();
      throw;
    }
    written_.hand_over();
  }

 private:
  void differentiate() {
    count_dependencies();
    recomputes_ ? evaluate_fresh() : fresh_.clear();
    if (!captures_.empty()) find_needed();
    for (auto& [at, output_nr, grad] : roots_) add(states_[at], output_nr, std::move(grad));
    for (size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].dependencies == 0) ready_.push({order(i), i});
    }
    while (!ready_.empty()) {
      const size_t at = ready_.top().second;
      ready_.pop();
      State state = std::move(states_[at]);
      if (state.fn) visit(state);
      else arrive(state);
    }
  }

  struct State {
    std::shared_ptr<GradFn> fn;  // or
    Tensor leaf;
    int64_t dependencies = 0;   // gradients still to come
    bool needed = true;         // the function is to be called
    bool asked = true;          // somebody wants the gradients, or hooks do
    std::vector<Tensor> grads;  // by output
    struct Waiting {
      std::vector<Tensor> grads;
      int64_t bytes = 0;   // of them, if they are computed
      int64_t slices = 0;  // bytes of those that are 0 but for a slice: of what the slices have
      bool many = false;   // some were added up before
    };
    std::vector<Waiting> more;  // by output: what is still to be added
  };

  size_t find(const Edge& edge) {
    const auto [at, fresh] = index_.emplace(target_of(edge).key(), states_.size());
    if (fresh) states_.push_back({edge.fn, edge.leaf, 0, true, true, {}, {}});
    return at->second;
  }

  uint64_t order(size_t i) const { return states_[i].fn ? states_[i].fn->sequence : UINT64_MAX; }

  void count_dependencies() {
    for (size_t i = 0; i < states_.size(); ++i) {  // grows meanwhile
      const std::shared_ptr<GradFn> fn = states_[i].fn;
      if (!fn) continue;
      recomputes_ = recomputes_ || fn->segment;
      if (options_.accumulate) written_.take_over(fn->buffers);
      for (const Edge& edge : fn->edges) ++states_[find(edge)].dependencies;
    }
  }

  // Before values of a segment are computed again, all others are done with: the forward pass at the start, and then one
  // segment's gradients before the next one's.
  void enter(Segment* segment, const std::vector<Tensor>& grads) {
    if (!segment || segment == segment_) return;
    segment_ = segment;
    segment->enter();
    fresh_.insert(fresh_.end(), grads.begin(), grads.end());
    for (size_t at : touched_) {
      add_up(states_[at]);
      for (const Tensor& grad : states_[at].grads) fresh_.push_back(grad);
    }
    for (const Capture& c : captures_) fresh_.push_back(c.grad);
    evaluate_fresh();
  }
  void evaluate_fresh() {
    std::erase_if(fresh_, [](const Tensor& x) { return !x.defined(); });
    eval(fresh_);
    fresh_.clear();
    touched_.clear();
  }

  // Each function before those that its edges lead to.
  std::vector<size_t> from_the_roots() {
    std::vector<int64_t> left;
    std::vector<size_t> order;
    for (size_t i = 0; i < states_.size(); ++i) {
      left.push_back(states_[i].dependencies);
      if (left[i] == 0) order.push_back(i);
    }
    for (size_t k = 0; k < order.size(); ++k) {
      const GradFn* fn = states_[order[k]].fn.get();
      if (!fn) continue;
      for (const Edge& edge : fn->edges) {
        const size_t to = find(edge);
        if (--left[to] == 0) order.push_back(to);
      }
    }
    return order;
  }

  // A function is needed if an edge leads towards a captured gradient; that of a captured tensor itself if its gradient is kept.
  // When it was recorded says nothing: that of a view is made anew after its base was written, when somebody reads the view.
  void find_needed() {
    for (State& state : states_) state.asked = state.needed = false;
    for (const Capture& c : captures_) {
      const auto at = index_.find(c.target.key());
      if (at == index_.end()) continue;
      State& state = states_[at->second];
      state.asked = true;
      state.needed = options_.accumulate;
    }
    const std::vector<size_t> order = from_the_roots();
    for (size_t k = order.size(); k-- > 0;) {
      State& state = states_[order[k]];
      if (!state.fn) continue;
      for (const Edge& edge : state.fn->edges) {
        if (states_[find(edge)].asked) state.needed = true;
      }
      state.asked = state.asked || state.needed;
    }
  }

  void add(State& state, int64_t output_nr, Tensor grad) {
    if (!grad.defined()) return;
    if (recomputes_) touched_.push_back(static_cast<size_t>(&state - states_.data()));
    const auto slot = static_cast<size_t>(output_nr);
    if (state.grads.size() <= slot) {
      state.grads.resize(slot + 1);
      state.more.resize(slot + 1);
    }
    if (!state.grads[slot].defined()) {
      state.grads[slot] = std::move(grad);
      return;
    }
    State::Waiting& waiting = state.more[slot];
    const auto whole = static_cast<int64_t>(grad.nbytes());
    const int64_t of_slice = bytes_of_slice(grad);
    waiting.slices += of_slice;
    if (of_slice == 0 && !is_cheap_sum(grad)) waiting.bytes += whole;
    waiting.grads.push_back(std::move(grad));
    // Slices that do not meet have no more than the gradient that they become.
    if (waiting.bytes + std::max<int64_t>(waiting.slices - whole, 0) <= kMostWaitingBytes) return;
    waiting.many = waiting.grads.size() > 4;
    add_up(state);
  }

  static void add_up(State& state) {
    for (size_t slot = 0; slot < state.more.size(); ++slot) {
      State::Waiting& waiting = state.more[slot];
      if (waiting.grads.empty()) continue;
      waiting.grads.insert(waiting.grads.begin(), state.grads[slot]);
      waiting.bytes = waiting.slices = 0;
      state.grads[slot] = sum_of_gradients(std::exchange(waiting.grads, {}), waiting.many);
    }
  }

  void take_captures(const void* key, const std::vector<Tensor>& grads) {
    for (Capture& c : captures_) {
      if (c.target.key() != key) continue;
      const auto slot = static_cast<size_t>(c.target.output_nr);
      if (slot < grads.size() && grads[slot].defined()) c.grad = grads[slot];
      c.reached = c.grad.defined();
    }
  }

  void visit(State& state) {
    add_up(state);
    GradFn& fn = *state.fn;
    for (size_t k = 0; k < state.grads.size() && state.asked; ++k) {
      if (!state.grads[k].defined()) continue;
      const auto output = static_cast<int64_t>(k);
      state.grads[k] = run_hooks(fn.find_hooks(output), state.grads[k]);
      for (const auto& [output_nr, history] : fn.retaining()) {
        if (output_nr != output) continue;
        history->grad = history->grad.defined() ? history->grad + state.grads[k] : state.grads[k];
      }
    }
    take_captures(&fn, state.grads);
    const bool any = std::ranges::any_of(state.grads, [](const Tensor& g) { return g.defined(); });
    std::vector<Tensor> passed(fn.edges.size());
    if (any && state.needed) {
      enter(fn.segment.get(), state.grads);
      const AnomalyScope anomaly(fn);
      run_pre_hooks(fn, state.grads);
      passed = gradients_by_edge(fn, state.grads, options_.create_graph);
      anomaly.check(passed);
      if (fn.hooks()) hook_operands(fn, passed, state.grads);
    }
    if (!options_.retain_graph && state.needed) fn.release();
    state.grads.clear();
    for (size_t i = 0; i < passed.size(); ++i) {
      const size_t at = find(fn.edges[i]);
      add(states_[at], fn.edges[i].output_nr, std::move(passed[i]));
      if (--states_[at].dependencies == 0) ready_.push({order(at), at});
    }
  }

  // Hooks are given gradients by operand, and not by edge.
  static void hook_operands(const GradFn& fn, std::vector<Tensor>& passed, std::vector<Tensor>& grads) {
    std::vector<Tensor> outputs(fn.num_outputs());
    for (size_t i = 0; i < passed.size(); ++i) outputs[fn.edges[i].operand] = passed[i];
    grads.resize(std::max<size_t>(grads.size(), fn.num_inputs()));
    run_post_hooks(fn, outputs, grads);
    for (size_t i = 0; i < passed.size(); ++i) passed[i] = outputs[fn.edges[i].operand];
  }

  void arrive(State& state) {
    History& history = own_history(state.leaf);
    const bool by_its_base = state.leaf.is_view() && !history.requires_grad;  // it requires grad, and has no gradient
    if (state.grads.empty() || !state.asked || by_its_base) return;
    add_up(state);
    std::vector<Tensor> total = {run_hooks(history.hooks.get(), state.grads[0])};
    take_captures(state.leaf.unsafe_impl(), total);
    if (!options_.accumulate) return;
    check(!history.fn, "leaf variable has been moved into the graph interior");
    if (!history.requires_grad) return;  // the program may have changed its mind
    const std::shared_ptr<autograd::AccumulateGrad> node = history.accumulator.lock();
    if (node) run_pre_hooks(*node, total);
    if (!total[0].defined()) return;
    written_.note_gradient(state.leaf, history);
    const Tensor grad = accumulate(state.leaf, total[0], options_.create_graph);
    if (recomputes_) fresh_.push_back(grad);
    std::vector<Tensor> none;
    if (node) run_post_hooks(*node, none, total);
  }

  const Options options_;
  PassWrites written_;
  std::vector<State> states_;
  std::unordered_map<const void*, size_t> index_;
  std::vector<std::tuple<size_t, int64_t, Tensor>> roots_;
  std::vector<Capture> captures_;
  // The state of a pass over segments:
  bool recomputes_ = false;
  const Segment* segment_ = nullptr;
  std::vector<Tensor> fresh_;    // not evaluated since a segment was entered
  std::vector<size_t> touched_;  // states with gradients like that
  std::priority_queue<std::pair<uint64_t, size_t>> ready_;
};

void check_gradient(const Tensor& tensor, const Tensor& grad, size_t i) {
  check(grad.sizes() == tensor.sizes(), "Mismatch in shape: grad_output[", i, "] has a shape of ", text("torch.Size(", grad.sizes(), ")"),
        " and output[", i, "] has a shape of ", text("torch.Size(", tensor.sizes(), ")"), ".");
  check(grad.is_floating_point(), "For complex Tensors, both grad_output and output are required to have the same dtype.");
}

// The gradients to begin with: the given ones, or ones.
void add_roots(BackwardPass& pass, TensorList tensors, TensorList grads, bool create_graph) {
  check(grads.empty() || grads.size() == tensors.size(), "got ", tensors.size(), " tensors and ", grads.size(), " gradients");
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const History* history = history_of(tensor);
    check(history && history->tracked(), "element ", i, " of tensors does not require grad and does not have a grad_fn");
    Tensor grad = grads.empty() ? Tensor() : grads[i];
    if (grad.defined()) {
      check_gradient(tensor, grad, i);
      if (!create_graph) grad = grad.detach();
    } else {
      check(tensor.numel() == 1, "grad can be implicitly created only for scalar outputs");
      grad = ones_like(tensor);
    }
    pass.root(tensor, std::move(grad));
    note_root(tensor);
  }
}

}  // namespace

namespace autograd {

void backward(TensorList tensors, TensorList grad_tensors, optional<bool> retain_graph, bool create_graph, TensorList inputs) {
  const CallScope call("backward", tensors);
  if (create_graph)
    warn_user(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause "
        "a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this function, make "
        "sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.");
  BackwardPass pass({retain_graph.value_or(create_graph), create_graph, true});
  const AutoGradMode mode(create_graph);
  add_roots(pass, tensors, grad_tensors, create_graph);
  for (const Tensor& input : inputs) {
    check(requires_grad(input), "One of the differentiated Tensors does not require grad");
    input.retain_grad();
    pass.capture(input);
  }
  pass.run();
}

std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grad_outputs, optional<bool> retain_graph, bool create_graph,
                         bool allow_unused) {
  const CallScope call("grad", outputs);
  check<ValueError>(!inputs.empty(), "grad requires non-empty inputs.");
  BackwardPass pass({retain_graph.value_or(create_graph), create_graph, false});
  const AutoGradMode mode(create_graph);
  add_roots(pass, outputs, grad_outputs, create_graph);
  for (const Tensor& input : inputs) {
    check(requires_grad(input), "One of the differentiated Tensors does not require grad");
    pass.capture(input);
  }
  pass.run();
  std::vector<Tensor> result;
  for (BackwardPass::Capture& c : pass.captures()) {
    check(c.reached || allow_unused, "The differentiated Tensor at index ", result.size(),
          " appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.");
    result.push_back(std::move(c.grad));
  }
  return result;
}

}  // namespace autograd

// --- methods of Tensor

void Tensor::backward(const Tensor& gradient, optional<bool> retain_graph, bool create_graph, optional<TensorList> inputs) const {
  check_defined(*this);
  check(!inputs || !inputs->empty(), "`inputs` argument to `backward()` cannot be empty.");
  const Tensor self = *this;
  autograd::backward({&self, 1}, gradient.defined() ? TensorList(&gradient, 1) : TensorList(), retain_graph, create_graph,
                     inputs.value_or(TensorList()));
}

namespace {
unsigned added(TensorHooks& hooks, Function<Tensor(const Tensor&)> call) {
  hooks.list.push_back({hooks.next, std::move(call)});
  return hooks.next++;
}
}  // namespace

unsigned Tensor::add_hook(Function<Tensor(const Tensor&)> hook) const {
  check(requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  refuse_outdated(*this);
  History& history = own_history(*this);
  if (history.fn) return added(history.fn->hooks_of(history.output_nr), std::move(hook));
  if (!history.hooks) history.hooks = std::make_unique<TensorHooks>();
  return added(*history.hooks, std::move(hook));
}
void Tensor::remove_hook(unsigned number) const {
  const History* history = history_of(*this);
  TensorHooks* hooks = !history ? nullptr : history->fn ? history->fn->find_hooks(history->output_nr) : history->hooks.get();
  const size_t removed = hooks ? std::erase_if(hooks->list, [&](const auto& hook) { return hook.number == number; }) : 0;
  check(removed == 1, "Invalid index, no hook at position ", number);
}
unsigned Tensor::add_accumulated_hook(Function<Tensor(const Tensor&)> hook) const {
  check(requires_grad() && is_leaf(), "post accumulate grad hooks cannot be registered on non-leaf tensors");
  History& history = own_history(*this);
  if (!history.accumulated_hooks) history.accumulated_hooks = std::make_unique<TensorHooks>();
  return added(*history.accumulated_hooks, std::move(hook));
}

}  // namespace tenon
