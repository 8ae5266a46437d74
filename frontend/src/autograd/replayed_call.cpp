// Noting a call when it comes again, and replaying it without recording.
#include "frontend/src/autograd/replayed_call.h"

#include <algorithm>
#include <atomic>

#include "frontend/src/tensor/pending.h"
#include "runtime/base/options.h"

namespace tenon {

ir::Memo<ReplayKey, ReplayedCall::Kept>& ReplayedCall::memo() {
  static auto* const memo = new ir::Memo<ReplayKey, Kept>;  // outlives every static tensor
  return *memo;
}

bool ReplayedCall::may_repeat() { return !GradScope::is_open() && !ir::Tape::current && runtime::replays(); }
bool ReplayedCall::may_repeat_tracked() { return !this_thread.inference_mode && !Segment::current(); }

// False if the call is to be recorded: the tensor is no plain one, its value is a constant, which is no operand of a recipe, or it
// meets another operand, from which a recording tells it apart.
bool ReplayedCall::add(const Tensor& x) {
  if (!x.defined()) return key_.add(uint64_t{0}), true;
  const TensorImpl& t = impl(x);
  if (!is_plain(t) || (tracks_ && t.inference())) return false;
  NodeRef value = plain_value(t);
  if (!value || value->op() == Op::Const) return false;
  for (size_t i = 0; i < count_; ++i) {
    if (values_[i] == value || &impl(*tensors_[i]).storage() == &t.storage()) return false;
  }
  tensors_[count_] = &x;
  tracked_[count_] = tracks_ && requires_grad(x);
  key_.add(t, tracked_[count_] ? 2 : 1);
  values_[count_++] = std::move(value);
  return true;
}

void ReplayedCall::find(bool plain) {
  if (plain) found_ = memo().find(key_);
}

// --- noting

uint32_t ReplayedCall::watched_by(const VersionWatch& version, TensorList results) const {
  for (uint32_t i = 0; i < count_; ++i) {
    if (version.is_of(impl(*tensors_[i]))) return i;
  }
  for (uint32_t k = 0; k < results.size(); ++k) {
    if (version.is_of(impl(results[k]))) return static_cast<uint32_t>(count_) + k;
  }
  return Derivative::kNone;
}

// All that the function gives, in order.
bool ReplayedCall::are_results(TensorList results, const GradFn* fn) const {
  for (size_t k = 0; k < results.size(); ++k) {
    const History* history = history_of(results[k]);
    if (!history || history->fn.get() != fn || history->output_nr != static_cast<int64_t>(k) || !is_plain(impl(results[k]))) return false;
  }
  return fn->output_count == static_cast<int64_t>(results.size()) && fn->recipe.outputs().size() == results.size();
}

bool ReplayedCall::has_edges_of_operands(const GradFn& fn) const {
  size_t next = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (!tracked_[i]) continue;
    const Edge edge = edge_to(*tensors_[i], i);
    if (next == fn.edges.size()) return false;
    const Edge& other = fn.edges[next++];
    if (edge.fn != other.fn || edge.output_nr != other.output_nr || !edge.leaf.is_same(other.leaf) || other.operand != i) return false;
  }
  return next == fn.edges.size();
}

std::vector<NodeRef> ReplayedCall::placeholders() const {
  std::vector<NodeRef> result;
  for (size_t i = 0; i < count_; ++i)
    result.push_back(ir::make_input(values_[i]->dtype(), values_[i]->shape(), nullptr, values_[i]->device()));
  return result;
}

// Null if the call cannot be made from its recipe: it has leaves, or is no operation of its own.
std::shared_ptr<const ReplayedCall::Kept> ReplayedCall::kept(TensorList results) const {
  const History* history = history_of(results[0]);
  const GradFn* fn = history ? history->fn.get() : nullptr;
  if (!fn || !are_results(results, fn) || !fn->recipe.leaves().empty()) return nullptr;
  if (fn->recipe.operands().size() != count_ || !has_edges_of_operands(*fn)) return nullptr;
  static std::atomic<uint64_t> rules = 0;
  const std::vector<NodeRef> operands = placeholders();
  std::vector<NodeRef> steps, zeros, outputs = ir::replay(fn->recipe, operands, ir::Folding::On, &steps);
  std::vector<Derivative::Value> saved, watched;
  for (const SavedValue& s : fn->saved) {
    saved.push_back({s.of, s.number, watched_by(s.version, results)});
    if (s.of == SavedValue::Of::Step) outputs.push_back(steps[s.number]);
  }
  for (const WatchedValue& w : fn->watched) {
    watched.push_back({w.of, w.number, watched_by(w.version, results)});
    if (watched.back().tensor == Derivative::kNone) return nullptr;  // a tensor that only the operation knows
  }
  for (const Edge& edge : fn->edges) zeros.push_back(edge.zeros);
  return std::make_shared<const Kept>(Kept{ir::Template(operands, outputs), results.size(),
                                           Derivative{fn->literal_name(), fn->recipe, fn->rule, fn->rule ? ++rules : 0, std::move(zeros),
                                                      std::move(saved), std::move(watched), fn->keeps_all, fn->derivative_reads}});
}

void ReplayedCall::note(TensorList results) const {
  if (found_.again) memo().note(key_, kept(results));
}

ReplayedCall::Listening::Listening(const ReplayedCall& call) : call_(call) {
  for (size_t i = 0; i < call.count_; ++i) tape_.operand(call.values_[i]);
  ir::Tape::current = &tape_;
}

// All of a storage of its own.
bool ReplayedCall::is_made_anew(const Tensor& result) const {
  if (!result.defined() || !is_plain(impl(result))) return false;
  return std::ranges::none_of(std::span(tensors_, count_),
                              [&](const Tensor* operand) { return &impl(*operand).storage() == &impl(result).storage(); });
}

void ReplayedCall::Listening::note(const Tensor& result) {
  ir::Tape::current = nullptr;
  std::shared_ptr<const Kept> kept;
  const NodeRef value = call_.is_made_anew(result) ? plain_value(impl(result)) : NodeRef();
  if (value && tape_.knows(value)) {
    const ir::Recipe recipe = tape_.cut({&value, 1});
    const std::vector<NodeRef> operands = call_.placeholders();
    if (recipe.leaves().empty())
      kept = std::make_shared<const Kept>(Kept{ir::Template(operands, ir::replay(recipe, operands)), 1, nullopt});
  }
  memo().note(call_.key_, std::move(kept));
}

// --- replaying

std::shared_ptr<GradFn> ReplayedCall::grad_fn(const Derivative& derivative, std::span<const NodeRef> made, TensorList results) const {
  auto fn = std::make_shared<GradFn>(derivative.name);
  fn->edges.reserve(derivative.zeros.size());
  for (size_t i = 0; i < count_; ++i) {
    if (!tracked_[i]) continue;
    fn->edges.push_back(edge_to(*tensors_[i], i));
    fn->edges.back().zeros = derivative.zeros[fn->edges.size() - 1];
  }
  fn->recipe = derivative.recipe;
  fn->rule = derivative.rule;
  fn->rule_number = derivative.rule_number;
  fn->keeps_all = derivative.keeps_all;
  fn->derivative_reads = derivative.derivative_reads;
  const auto watched = [&](const Derivative::Value& v) -> const TensorImpl& {
    return impl(v.tensor < count_ ? *tensors_[v.tensor] : results[v.tensor - count_]);
  };
  size_t steps = results.size();
  fn->saved.reserve(derivative.saved.size());
  for (const Derivative::Value& v : derivative.saved) {
    const NodeRef& value = v.of == SavedValue::Of::Operand ? values_[v.number] : made[v.of == SavedValue::Of::Step ? steps++ : v.number];
    const bool is_watched = v.tensor != Derivative::kNone;
    fn->saved.push_back({v.of, v.number, KeptValue(value), is_watched ? VersionWatch(watched(v)) : VersionWatch()});
  }
  for (const Derivative::Value& v : derivative.watched) {
    const TensorImpl& t = watched(v);
    fn->watched.push_back({v.of, v.number, t.dtype(), t.device(), t.sizes(), VersionWatch(t)});
  }
  return fn;
}

std::vector<Tensor> ReplayedCall::replay_all() const {
  const Kept& kept = *found_.kept;
  std::vector<NodeRef> made;
  kept.graph.make({values_, count_}, {}, made);
  std::vector<Tensor> results;
  int64_t bytes;
  {
    const UncountedWork work;  // or a cap might evaluate it before its GradFn says what is to be kept
    for (size_t k = 0; k < kept.results; ++k) results.push_back(record(made[k]));
    bytes = work.bytes();
  }
  if (kept.derivative) {
    const auto fn = grad_fn(*kept.derivative, made, results);
    for (const Tensor& result : results) attach(result, fn, ViewOrigin::Single);
  }
  if (count_work(1, bytes)) eval(results);
  return results;
}

}  // namespace tenon
