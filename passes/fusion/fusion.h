// Fusion: a graph becomes kernels. One walk from the outputs to the inputs gives each node the kernel of its
// readers, or of the first of them, where that is legal, or a kernel of its own; legal means that index maps can say
// what is read where, that a schedule of the target accepts the merged kernel (passes/schedule/schedule.h) and that it
// stays within limits (fused.h). Each refusal has a reason.
//
//   reads.cpp     where each op reads its operands             views.cpp     where the elements of views and operands lie
//   group.cpp     a group's axes and the maps over them        join.cpp      a node joins its readers' group
//   groups.cpp    all groups; who has asked for what           siblings.cpp  groups that read the same become one
//   fusion.cpp    the walk                                     updates.cpp   groups that write into a base
//                                                              order.cpp, build.cpp   the kernels, in order
#pragma once

#include <optional>
#include <vector>

#include "passes/fusion/fused.h"
#include "passes/schedule/form.h"

namespace tenon::passes {

// The costs that decided whether a kernel or a library computes a product of floats; none if there is no choice. The library's
// include the other launches that it needs, and the values that pass through memory for it.
std::optional<ProductCosts> product_costs(const FusedKernel& fused, const ir::Target& target);

// `outputs` are stored, each once, whether they are computed, constants or views; every Input reachable is a
// buffer. An output that others read becomes one more output of the kernel that computes it.
FusionResult fuse(const std::vector<ir::NodeRef>& outputs, const FusionOptions& options = {});

}  // namespace tenon::passes
