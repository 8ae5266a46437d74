// Index tensors, checked. Generated code reads and writes where an index says without looking, so the range
// is proved here, at the call: from the node where it shows (iota, argmax, sort, remainder, ...), else by
// evaluating the index. If the index is on a GPU, the kernel that reads it checks it (Op::Check): the host does not wait, and a
// wrong one is an error at the next call that does. Other values that must hold something go the same way (`noted_where`).
#pragma once

#include <string_view>
#include <utility>

#include "frontend/src/tensor/impl.h"

namespace tenon {

// Who indexes: what an index out of range is called, and whether a negative one counts from the end.
enum class IndexUse : uint8_t {
  Subscript,  // x[i]         IndexError "index 3 is out of bounds for dimension 0 with size 3", wraps
  Gather,     // gather       Error      "index 3 is out of bounds for dimension 0 with size 3"
  Line,       // index_select IndexError "index out of range in self"
  Fill,       // index_fill   as Subscript
  Copy,       // index_copy   IndexError "index_copy_(): index 3 is out of bounds for dimension 0 with size 3"
  Take,       // take         IndexError "out of range: tried to access index 3 on a tensor ...", wraps
  Target,     // nll_loss     IndexError "Target 3 is out of bounds."
};

// The index as i64, every element in 0..size-1. Throws as `use` says; `dim` is the indexed dim, for the
// message. Takes any integer dtype. A memory that outside code may write is copied, so that the proof stays
// true.
NodeRef checked_index(const Tensor& index, int64_t size, IndexUse use, int64_t dim = 0);

// Whether the kernels of the device check an index of this use themselves: then `checked_there` does it, else null.
void* index_note(ir::DeviceTag device, int64_t size, IndexUse use, int64_t dim = 0);
// The i64 index; where an element is outside 0..size-1 it is 0, and the device notes it.
NodeRef checked_there(const NodeRef& index, int64_t size, void* note);

// The address where a kernel of the device notes that values are not as `operation` needs them; the error is then
// `message (operation on cuda:0)`, with the number that was noted behind the message if that `names` it. Null: its kernels do not, or it
// is the host.
void* value_note(ir::DeviceTag device, std::string_view message, std::string_view operation, bool names = false);
// x, but 0 where an i64 of its shape is not in 0..size-1, or where a bool says `wrong`; the device notes it.
NodeRef noted_where(const NodeRef& x, const NodeRef& number, int64_t size, void* note);
NodeRef noted_where(const NodeRef& x, const NodeRef& wrong, void* note);

// Bounds (inclusive) of the elements that show in the node itself; nullopt if nothing is known.
optional<std::pair<int64_t, int64_t>> known_range(const ir::Node& node);

}  // namespace tenon
