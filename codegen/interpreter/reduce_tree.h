// The order of reductions under the name by which the interpreters use it; ir/reduce_tree.h has the walk itself.
#pragma once

#include "ir/reduce_tree.h"

namespace tenon::codegen {

using ir::reduce_in_order;

}  // namespace tenon::codegen
