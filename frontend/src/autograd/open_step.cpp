// The step at hand, and what undoes it.
#include "frontend/src/autograd/open_step.h"

#include <algorithm>
#include <optional>

#include "ir/base/of_thread.h"
#include "runtime/run/evaluate.h"

namespace tenon {

class OpenStep {
 public:
  OpenStep() = default;
  ~OpenStep() { end(); }
  OpenStep(const OpenStep&) = delete;
  OpenStep& operator=(const OpenStep&) = delete;

  // These two while the graph is held.
  void add(LeafGradient& leaf, GradientBefore& before) {
    if (leaf.step == this) return;  // it has an older one
    if (leaf.step) before = leaf.step->forget(leaf);
    leaf.step = this;
    gradients_.push_back({&leaf, std::move(before)});
  }
  GradientBefore forget(LeafGradient& leaf) {
    const auto at = std::ranges::find(gradients_, &leaf, &Gradient::leaf);
    GradientBefore before = std::move(at->before);
    std::swap(*at, gradients_.back());
    gradients_.pop_back();
    leaf.step = nullptr;
    return before;
  }
  bool has_gradients() const { return !gradients_.empty(); }

  void undo() {
    for (const Gradient& g : gradients_) g.before.restore(*g.leaf);
    buffers.undo();
    end();
  }
  void end() {
    buffers.clear();
    if (gradients_.empty()) return;
    {
      const auto lock = ir::hold_graph();
      for (const Gradient& g : gradients_) g.leaf->step = nullptr;
      gradients_.swap(gone_);
    }
    gone_.clear();  // when the lock is open
  }

  // Whether an optimizer's step is to come for it.
  bool is_optimized() const {
    return std::ranges::any_of(gradients_, [](const Gradient& g) { return g.leaf->optimized; });
  }
  void add_pending(std::vector<NodeRef>& values) const {
    for (const Gradient& g : gradients_) {
      if (!g.leaf->grad.defined()) continue;
      NodeRef value = impl(g.leaf->grad).storage().value();
      if (!value->is_leaf()) values.push_back(std::move(value));
    }
    buffers.add_pending(values);
  }
  void add_replaced(std::vector<NodeRef>& values) const {
    for (const Gradient& g : gradients_) {
      if (g.before.value) values.push_back(g.before.value);
    }
  }

  Writes buffers;

 private:
  struct Gradient {
    LeafGradient* leaf;
    GradientBefore before;
  };
  std::vector<Gradient> gradients_, gone_;
};

namespace {
// Buffers that a forward pass wrote: a GradFn keeps them, or, if there is none, the list itself until they are computed.
struct Forward {
  std::weak_ptr<Writes> writes;
  std::shared_ptr<Writes> own;
};

class AtHand final : public EvaluationListener {
 public:
  AtHand() { this_thread.step = this; }
  ~AtHand() { this_thread.step = nullptr; }
  AtHand(const AtHand&) = delete;
  AtHand& operator=(const AtHand&) = delete;

  void evaluated() override;
  void failed(std::span<const NodeRef> roots) override;
  void call_failed() override;

  OpenStep step;
  std::vector<Forward> forwards;
};
using ThisThread = ir::OfThread<AtHand>;

}  // namespace

BufferScope::BufferScope() {
  if (this_thread.buffers) return;
  writes_ = std::make_shared<Writes>();
  this_thread.buffers = writes_.get();
}

BufferScope::~BufferScope() {
  if (!writes_) return;
  this_thread.buffers = nullptr;
  if (writes_->empty()) return;
  if (std::uncaught_exceptions() > exceptions_) {
    writes_->undo();
    return;
  }
  AtHand* all = ThisThread::get();
  if (!all) return;
  const std::weak_ptr<Writes> writes = writes_;
  if (writes_.use_count() > 1) writes_ = nullptr;  // a GradFn has it
  all->forwards.push_back({writes, std::move(writes_)});
}

std::shared_ptr<Writes> BufferScope::writes() { return this_thread.buffers ? this_thread.buffers->shared_from_this() : nullptr; }

// --- gradients

LeafGradient::~LeafGradient() {
  if (step) step_at_hand::forget(*this);
}

GradientBefore::GradientBefore(const LeafGradient& leaf) : grad(leaf.grad) {
  if (grad.defined()) value = impl(grad).storage().value();
}

void GradientBefore::restore(LeafGradient& leaf) const {
  leaf.grad = grad;
  if (value && !impl(grad).storage().exposed()) impl(grad).storage().set_value(value);
}

void PassWrites::note_gradient(const Tensor& leaf, LeafGradient& gradient) {
  if (gradients_.empty()) gradients_.reserve(16);
  gradients_.push_back({leaf, &gradient, GradientBefore(gradient)});
}

void PassWrites::undo() {
  for (size_t i = gradients_.size(); i-- > 0;) gradients_[i].before.restore(*gradients_[i].gradient);
  Writes all;
  for (const auto& writes : buffers_) all.append(std::move(*writes));
  all.undo();
}

void PassWrites::hand_over() {
  AtHand* all = ThisThread::get();
  if (!all) return;
  if (!all->step.has_gradients()) all->step.end();  // the program has dropped those of the one before
  {
    const auto lock = ir::hold_graph();
    for (Gradient& g : gradients_) all->step.add(*g.gradient, g.before);
  }
  for (const auto& writes : buffers_) all->step.buffers.append(std::move(*writes));
}

// --- the step at hand

namespace step_at_hand {

std::vector<NodeRef> pending_buffers() {
  std::vector<NodeRef> values;
  if (const AtHand* all = ThisThread::find()) all->step.buffers.add_pending(values);
  return values;
}

void add_replaced(std::vector<NodeRef>& values) {
  if (const AtHand* all = ThisThread::find()) all->step.add_replaced(values);
}

void end() {
  if (AtHand* all = ThisThread::find()) all->step.end();
}

void refuse() {
  if (AtHand* all = ThisThread::find()) all->step.undo();
}

void forget(LeafGradient& leaf) {
  std::optional<GradientBefore> gone;  // when the lock is open
  const auto lock = ir::hold_graph();
  if (leaf.step) gone = leaf.step->forget(leaf);
}

}  // namespace step_at_hand

void AtHand::evaluated() {
  std::vector<NodeRef> pending;
  std::erase_if(forwards, [&](const Forward& f) {
    if (!f.own) return f.writes.expired();
    pending.clear();
    f.own->add_pending(pending);
    return pending.empty();
  });
  if (!step.has_gradients() || step.is_optimized()) return;
  pending.clear();
  step.add_pending(pending);
  if (pending.empty()) step.end();
}

void AtHand::failed(std::span<const NodeRef> roots) {
  const auto shares_work = [&](const auto& writes) {
    std::vector<NodeRef> values;
    writes.add_pending(values);
    const std::vector<bool> shares = runtime::share_work(values, roots);
    return std::ranges::find(shares, true) != shares.end();
  };
  for (size_t i = forwards.size(); i-- > 0;) {
    const std::shared_ptr<Writes> writes = forwards[i].writes.lock();
    if (writes && shares_work(*writes)) writes->undo();
  }
  if (shares_work(step)) step.undo();
}

void AtHand::call_failed() {
  for (size_t i = forwards.size(); i-- > 0;) {
    if (const std::shared_ptr<Writes> writes = forwards[i].writes.lock()) writes->undo();
  }
  step.buffers.undo();
}

}  // namespace tenon
