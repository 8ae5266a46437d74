// What anomaly mode looks at, and what it says of the forward operation.
#include "frontend/src/autograd/anomaly.h"

#include <exception>

#include "frontend/src/tensor/stack_trace.h"
#include "frontend/src/tensor/text.h"
#include "tenon/warning.h"

namespace tenon {
namespace {
std::atomic<bool> detects{false}, looks_for_nan{true};
}  // namespace

namespace autograd {
bool AnomalyMode::is_enabled() { return detects; }
bool AnomalyMode::should_check_nan() { return looks_for_nan; }
void AnomalyMode::set_enabled(bool enabled, bool check_nan) {
  detects = enabled;
  looks_for_nan = check_nan;
}
}  // namespace autograd

AnomalyScope::AnomalyScope(const GradFn& fn) : fn_(fn), outer_(GradFn::set_running(&fn)), exceptions_(std::uncaught_exceptions()) {}

AnomalyScope::~AnomalyScope() {
  GradFn::set_running(outer_);
  if (!detects || std::uncaught_exceptions() == exceptions_) return;
  if (fn_.forward_stack.empty()) {
    warn_user(text("Error detected in ", fn_.name(),
                   ". No forward pass information available. Enable detect anomaly during "
                   "forward pass for more information."));
  } else {
    warn_user(
        text("Error detected in ", fn_.name(), ". Traceback of forward call that caused the error:", text_of_stack(fn_.forward_stack)));
  }
  for (const GradFn* by = fn_.induced_by.get(); by; by = by->induced_by.get()) {
    warn_user(text("\n\nPrevious calculation was induced by ", by->name(),
                   ". Traceback of forward call that induced the previous "
                   "calculation:",
                   text_of_stack(by->forward_stack)));
  }
}

void AnomalyScope::check(const std::vector<Tensor>& gradients) const {
  if (!detects || !looks_for_nan) return;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const NoGradGuard no_grad;
    tenon::check(!gradients[i].isnan().any().item<bool>(), "Function '", fn_.name(), "' returned nan values in its ", fn_.edges[i].operand,
                 "th output.");
  }
}

}  // namespace tenon
