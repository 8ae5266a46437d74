// A part of the forward pass whose values the backward pass computes again. A node that is not evaluated keeps its operation, so
// that nobody wants a value is all it takes: an evaluation passes over it, and who reads it later has it computed from what
// the segment was given.
#pragma once

#include "frontend/src/autograd/grad_fn.h"

namespace tenon {

class Segment {
 public:
  explicit Segment(std::shared_ptr<Segment> outer) : outer_(std::move(outer)) {}

  static const std::shared_ptr<Segment>& current();  // of this thread; null outside
  static std::shared_ptr<Segment> exchange(std::shared_ptr<Segment> segment);

  void keep(const Tensor& input);
  // Was it recorded here, or in a segment around this one?
  bool contains(const GradFn* fn) const;

 private:
  const std::shared_ptr<Segment> outer_;
  std::vector<KeptValue> inputs_;
};

// A value that a function saves: wanted outside of segments. `maker` made it; `tracked` but without one it is a leaf.
KeptValue kept_value(NodeRef node, bool tracked = false, const GradFn* maker = nullptr);

}  // namespace tenon
