#include "ir/fold.h"
namespace tenon::ir {
NodeRef fold(Op, std::span<const NodeRef>, std::span<const int64_t>, const NodeType&) { return {}; }
}
