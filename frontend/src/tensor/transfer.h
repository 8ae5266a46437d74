// Copies from the host to a CUDA device, which begin at their call as in PyTorch: the transfer runs beside the program, memory
// figures count it, and no plan has it in its way.
#pragma once

#include <optional>
#include <utility>

#include "frontend/src/tensor/impl.h"

namespace tenon {

// The tensor's elements on the device; work of the host that they wait for is done now. Null unless the tensor is the host's and lies in
// one piece, and the device is one of CUDA: then a copy is an operation like others. `non_blocking`: pinned memory is read later; it is
// kept for that long, and only an address that was given away lets the program write there.
NodeRef transferred(const TensorImpl& t, ir::DeviceTag to, bool non_blocking);

// Bounds (inclusive) of integers that this thread transferred lately, if they are what lies there still: an index has to be checked, and
// to look on the device would wait for all its work.
std::optional<std::pair<int64_t, int64_t>> transferred_range(const ir::Node& node);

}  // namespace tenon
