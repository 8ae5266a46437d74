// Which values of a segment are stored.
#include "frontend/src/autograd/segment.h"

#include "tenon/recompute.h"

namespace tenon {
namespace {
constinit thread_local Segment* open_segment = nullptr;
}  // namespace

Tensor KeptValue::tensor() const { return Tensor(new TensorImpl(node_), false); }

Segment* Segment::current() { return open_segment; }

std::shared_ptr<Segment> Segment::open() {
  auto segment = std::make_shared<Segment>();
  if (open_segment) segment->outer_ = open_segment->shared_from_this();
  open_segment = segment.get();
  return segment;
}

void Segment::close() {
  closed_ = true;
  while (open_segment && open_segment->closed_) open_segment = open_segment->outer_.get();
}

void Segment::keep(const Tensor& input) {
  if (!input.defined()) return;
  if (outer_) outermost().inside_.push_back(node_of(input));
  else inputs_.emplace_back(node_of(input), KeptValue::As::Stored);
}

void Segment::enter() {
  Segment& all = outermost();
  for (NodeRef& node : std::exchange(all.inside_, {})) all.inputs_.emplace_back(std::move(node), KeptValue::As::Stored);
}

KeptValue kept_value(NodeRef node, const Segment* origin, bool is_leaf) {
  Segment* segment = Segment::current();
  if (origin != segment) {
    const bool inside = origin && segment && &origin->outermost() == &segment->outermost();
    if (inside) segment->outermost().inside_.push_back(node);
    return KeptValue(std::move(node), inside ? KeptValue::As::Recomputed : KeptValue::As::Stored);
  }
  return KeptValue(std::move(node), !segment || is_leaf ? KeptValue::As::Wanted : KeptValue::As::Recomputed);
}

namespace autograd {

RecomputeGuard::RecomputeGuard() : segment_(Segment::open()) {}
RecomputeGuard::~RecomputeGuard() { segment_->close(); }
void RecomputeGuard::keep(const Tensor& input) { segment_->keep(input); }

}  // namespace autograd
}  // namespace tenon
