// What a GradFn is called, what it refuses, and what its rule is given.
#include "frontend/src/autograd/grad_fn.h"

#include <algorithm>

#include "frontend/src/tensor/stack_trace.h"
#include "tenon/print.h"

namespace tenon {
namespace {

std::atomic<uint64_t> recorded{0};

constinit thread_local const GradFn* running = nullptr;  // whose backward pass this thread runs

}  // namespace

const GradFn* GradFn::set_running(const GradFn* fn) { return std::exchange(running, fn); }

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
                              {"NumberDivBackward", "MulBackward0", "DivBackward0"},   // 2 / x
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
    : sequence(recorded.fetch_add(1, std::memory_order_relaxed)),
      forward_stack(autograd::AnomalyMode::is_enabled() ? call_stack() : std::vector<void*>()),
      induced_by(autograd::AnomalyMode::is_enabled() && running ? running->shared_from_this() : nullptr),
      segment(Segment::current() ? Segment::current()->shared_from_this() : nullptr),
      name_(name) {}

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
        "; expected version ", version.expected(), " instead. Hint: ",
        autograd::AnomalyMode::is_enabled()
            ? "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
              "changed in there or anywhere later. Good luck!"
            : "enable anomaly detection to find the operation that failed to compute its gradient, with "
              "autograd::set_detect_anomaly(true).");
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

Tensor GradCall::find(SavedValue::Of of, size_t number) const {
  for (size_t i = 0; i < saved_.size(); ++i) {
    if (fn_.saved[i].of == of && fn_.saved[i].number == number) return saved_[i];
  }
  throw ir::IrError(text("the gradient rule of ", fn_.name(), " reads a value that it did not ask for"));
}

}  // namespace tenon
