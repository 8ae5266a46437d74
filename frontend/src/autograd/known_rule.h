// The gradient rule of a call that comes again (known_call.h): what it made of values and gradients of some types is kept as a template, and
// made again without calling it. A rule holds numbers alone, so types decide what it makes.
#pragma once

#include <mutex>

#include "frontend/src/autograd/grad_fn.h"
#include "ir/graph/template.h"

namespace tenon {

class KnownRule {
 public:
  // The gradients, by edge; nothing if the rule must be called itself. Thread-safe.
  optional<std::vector<Tensor>> gradients(GradFn& fn, const std::vector<Tensor>& grads);

 private:
  struct Type {
    DType dtype;
    ir::DeviceTag device;
    Dims shape;
    bool operator==(const Type&) const = default;
  };
  struct Known {
    std::vector<optional<Type>> types;  // of the saved values, and of the gradients by output
    optional<ir::Template> graph;       // none: it cannot be made
  };
  static optional<ir::Template> record(GradFn& fn, const std::vector<Tensor>& grads);

  std::mutex mutex_;
  std::vector<std::shared_ptr<const Known>> known_;
};

}  // namespace tenon
