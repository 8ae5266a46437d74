#include "frontend/src/autograd/open_step.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "frontend/src/autograd/grad_fn.h"
#include "ir/base/of_thread.h"
#include "runtime/run/evaluate.h"

namespace tenon {

constinit thread_local BufferScope* BufferScope::open_ = nullptr;

namespace {

std::atomic<uint64_t> write_time{0};

bool is_pending(const NodeRef& value) { return !value->is_leaf(); }

}  // namespace

class OpenStep {
 public:
  OpenStep() = default;
  ~OpenStep() { end(); }
  OpenStep(const OpenStep&) = delete;
  OpenStep& operator=(const OpenStep&) = delete;

  // These two while the graph is held.
  void add(History& history, GradientBefore& before) {
    if (history.step == this) return;  // it has an older one
    if (history.step) before = history.step->forget(history);
    history.step = this;
    gradients_.push_back({&history, std::move(before)});
  }
  GradientBefore forget(History& history) {
    const auto at = std::ranges::find(gradients_, &history, &Gradient::history);
    GradientBefore before = std::move(at->before);
    std::swap(*at, gradients_.back());
    gradients_.pop_back();
    history.step = nullptr;
    return before;
  }
  bool has_gradients() const { return !gradients_.empty(); }

  void undo() {
    for (const Gradient& g : gradients_) g.before.restore(*g.history);
    buffers.undo();
    end();
  }
  void end() {
    buffers.clear();
    if (gradients_.empty()) return;
    {
      const auto lock = ir::hold_graph();
      for (const Gradient& g : gradients_) g.history->step = nullptr;
      gradients_.swap(gone_);
    }
    gone_.clear();  // when the lock is open
  }

  // Whether an optimizer's step is to come for it.
  bool is_optimized() const {
    return std::ranges::any_of(gradients_, [](const Gradient& g) { return g.history->optimized; });
  }
  void add_pending(std::vector<NodeRef>& values) const {
    for (const Gradient& g : gradients_) {
      if (!g.history->grad.defined()) continue;
      NodeRef value = impl(g.history->grad).storage().value();
      if (is_pending(value)) values.push_back(std::move(value));
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
    History* history;
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

struct AtHand {
  OpenStep step;
  std::vector<Forward> forwards;
};
using ThisThread = ir::OfThread<AtHand>;

}  // namespace

// --- writes

void Writes::add(Storage& storage, NodeRef before, NodeRef after) {
  list_.push_back({StorageHold(storage), std::move(before), std::move(after), write_time.fetch_add(1, std::memory_order_relaxed)});
}

// Two writes of a storage, one upon the other, become one.
void Writes::append(Writes&& others) {
  const size_t count = list_.size();
  for (Write& w : others.list_) {
    const auto upon = std::find_if(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(count),
                                   [&](const Write& own) { return &*own.storage == &*w.storage && own.after == w.before; });
    if (upon == list_.begin() + static_cast<std::ptrdiff_t>(count)) {
      list_.push_back(std::move(w));
    } else {
      upon->after = std::move(w.after);
      upon->time = w.time;
    }
  }
  others.clear();
}

void Writes::undo() {
  std::vector<const Write*> newest_first;
  for (const Write& w : list_) newest_first.push_back(&w);
  std::ranges::sort(newest_first, std::greater(), [](const Write* w) { return w->time; });
  for (const Write* w : newest_first) {
    if (w->storage->value() == w->after) w->storage->set_value(w->before);
  }
  clear();
}

void Writes::add_pending(std::vector<NodeRef>& values) const {
  for (const Write& w : list_) {
    if (is_pending(w.after) && w.storage->value() == w.after) values.push_back(w.after);
  }
}

BufferScope::BufferScope() {
  if (open_) return;
  open_ = this;
  writes_ = std::make_shared<Writes>();
}

BufferScope::~BufferScope() {
  if (open_ != this) return;
  open_ = nullptr;
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

const std::shared_ptr<Writes>& BufferScope::writes() {
  static constinit const std::shared_ptr<Writes> none;
  return open_ ? open_->writes_ : none;
}

// --- gradients

GradientBefore::GradientBefore(History& history) : grad(history.grad) {
  if (grad.defined()) value = impl(grad).storage().value();
}

void GradientBefore::restore(History& history) const {
  history.grad = grad;
  if (value && !impl(grad).storage().exposed()) impl(grad).storage().set_value(value);
}

void PassWrites::note_gradient(const Tensor& leaf) {
  if (gradients_.empty()) gradients_.reserve(16);
  gradients_.emplace_back(leaf, GradientBefore(own_history(leaf)));
}

void PassWrites::take_over(GradFn& fn) {
  if (fn.buffers) buffers_.push_back(fn.buffers);
}

void PassWrites::undo() {
  for (size_t i = gradients_.size(); i-- > 0;) gradients_[i].second.restore(own_history(gradients_[i].first));
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
    for (auto& [leaf, before] : gradients_) all->step.add(own_history(leaf), before);
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

void forget(History& history) {
  std::optional<GradientBefore> gone;  // when the lock is open
  const auto lock = ir::hold_graph();
  if (history.step) gone = history.step->forget(history);
}

void evaluated() {
  AtHand* all = ThisThread::find();
  if (!all) return;
  std::vector<NodeRef> pending;
  std::erase_if(all->forwards, [&](const Forward& f) {
    if (!f.own) return f.writes.expired();
    pending.clear();
    f.own->add_pending(pending);
    return pending.empty();
  });
  if (!all->step.has_gradients() || all->step.is_optimized()) return;
  pending.clear();
  all->step.add_pending(pending);
  if (pending.empty()) all->step.end();
}

void failed(std::span<const NodeRef> roots) {
  AtHand* all = ThisThread::find();
  if (!all) return;
  const auto shares_work = [&](const auto& writes) {
    std::vector<NodeRef> values;
    writes.add_pending(values);
    const std::vector<bool> shares = runtime::share_work(values, roots);
    return std::ranges::find(shares, true) != shares.end();
  };
  for (size_t i = all->forwards.size(); i-- > 0;) {
    const std::shared_ptr<Writes> writes = all->forwards[i].writes.lock();
    if (writes && shares_work(*writes)) writes->undo();
  }
  if (shares_work(all->step)) all->step.undo();
}

void call_failed() {
  AtHand* all = ThisThread::find();
  if (!all) return;
  for (size_t i = all->forwards.size(); i-- > 0;) {
    if (const std::shared_ptr<Writes> writes = all->forwards[i].writes.lock()) writes->undo();
  }
  all->step.buffers.undo();
}

}  // namespace step_at_hand
}  // namespace tenon
