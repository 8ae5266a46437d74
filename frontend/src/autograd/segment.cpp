#include "frontend/src/autograd/segment.h"

#include "tenon/recompute.h"

namespace tenon {
namespace {
thread_local std::shared_ptr<Segment> open_segment;
}  // namespace

const std::shared_ptr<Segment>& Segment::current() { return open_segment; }
std::shared_ptr<Segment> Segment::exchange(std::shared_ptr<Segment> segment) {
  return std::exchange(open_segment, std::move(segment));
}

bool Segment::contains(const GradFn* fn) const {
  if (!fn || !fn->segment) return false;
  for (const Segment* s = this; s; s = s->outer_.get()) {
    if (fn->segment.get() == s) return true;
  }
  return false;
}

void Segment::keep(const Tensor& input) {
  if (!input.defined()) return;
  if (outer_ && !requires_grad(input)) return;
  const History* history = history_of(input);
  const bool outside = !outer_ || !outer_->contains(history->fn.get());
  if (outside) inputs_.emplace_back(node_of(input));
}

KeptValue kept_value(NodeRef node, bool tracked, const GradFn* maker) {
  const Segment* segment = Segment::current().get();
  const bool outside = !segment || (tracked && !segment->contains(maker));
  return KeptValue(std::move(node), outside ? KeptValue::As::Wanted : KeptValue::As::Recomputed);
}

namespace autograd {

RecomputeGuard::RecomputeGuard() : before_(Segment::exchange(std::make_shared<Segment>(Segment::current()))) {}
RecomputeGuard::~RecomputeGuard() { Segment::exchange(std::move(before_)); }
void RecomputeGuard::keep(const Tensor& input) { Segment::current()->keep(input); }

}  // namespace autograd
}  // namespace tenon
