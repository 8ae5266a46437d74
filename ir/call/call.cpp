// Views of buffers, and the rules of well-formed calls.
#include "ir/call/call.h"

#include <algorithm>
#include <unordered_set>

#include "ir/kernel/kernel_rules.h"

namespace tenon::ir {

Dims row_major_strides(std::span<const int64_t> shape) {
  Dims strides = contiguous_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) strides[d] = 0;
  }
  return strides;
}

int64_t places(const View& view, std::span<const int64_t> shape) {
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (view.strides[d] != 0) count *= shape[d];
  }
  return count;
}

bool Call::is_in_place(size_t operand) const {
  return op() == Op::Cat && operands[operand].buffer >= 0 && operands[operand].buffer == stored[0].buffer;
}

std::vector<View> places_of_parts(const Call& cat) {
  const auto dim = static_cast<size_t>(cat.node().ints()[0]);
  std::vector<View> places;
  View place = cat.stored[0];
  for (size_t p = 0; p < cat.operands.size(); ++p) {
    const Dims& shape = cat.shape(p);
    View& own = places.emplace_back(place);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) own.strides[d] = 0;
    }
    place.offset += shape[dim] * place.strides[dim];
  }
  return places;
}

// --- verifying

namespace {

class Checker {
 public:
  explicit Checker(const Call& call) : call_(call) {}

  void check() {
    check_parameters(call_);
    require(!call_.results.empty(), "there is no result");
    require(call_.stored.size() == call_.results.size(), "each result is stored once");
    const auto& inputs = call_.node().inputs();
    require(call_.operands.size() == inputs.size(), "each operand is a view");
    for (const NodeRef& result : call_.results) {
      require(std::ranges::equal(result->inputs(), inputs), "the results have different operands");
      require(writes_over(result->op()) == writes_over(call_.op()) && (call_.results.size() == 1 || !writes_over(call_.op())),
              "one result is written over an operand");
    }
    for (const Node* input : inputs) require(input->op() == Op::Input, "an operand is no view");
    verify(Graph::of(call_.results));
    check_results();
    for (size_t i = 0; i < inputs.size(); ++i) check_operand(i);
  }

 private:
  static void require(bool holds, const std::string& reason) {
    if (!holds) throw IrError(reason);
  }

  void check_results() {
    std::unordered_set<int32_t> written;
    for (size_t k = 0; k < call_.results.size(); ++k) {
      const Node& result = *call_.results[k];
      const View& view = call_.stored[k];
      require(view.scalar < 0, "a result is stored in a scalar");
      check_view(view, result);
      const KernelBuffer& buffer = call_.buffer(view.buffer);
      require(buffer.role == Role::Out || buffer.role == Role::InOut, buffer.name + " is an input");
      require(written.insert(view.buffer).second, buffer.name + " has two results");
      require((buffer.role == Role::InOut) == (writes_over(result.op()) || has_part_in_place()), buffer.name + " has the wrong role");
    }
  }
  bool has_part_in_place() const {
    for (size_t i = 0; i < call_.operands.size(); ++i) {
      if (call_.is_in_place(i)) return true;
    }
    return false;
  }

  void check_operand(size_t i) const {
    const View& view = call_.operands[i];
    check_view(view, *call_.node().inputs()[i]);
    const bool is_base = i == 0 && writes_over(call_.op());
    require(!is_base || view == call_.stored[0], "what is written over lies elsewhere than the result");
    if (view.buffer < 0 || is_base) return;
    const KernelBuffer& buffer = call_.buffer(view.buffer);
    if (call_.is_in_place(i)) require(view == places_of_parts(call_)[i], buffer.name + " has a part where it does not belong");
    else require(buffer.role == Role::In, buffer.name + " is no input");
  }

  void check_view(const View& view, const Node& value) const {
    const bool in_buffer = view.buffer >= 0 && static_cast<size_t>(view.buffer) < call_.buffers.size();
    const bool is_scalar = view.scalar >= 0 && static_cast<size_t>(view.scalar) < call_.scalars.size();
    require(in_buffer != is_scalar && (view.buffer < 0) != (view.scalar < 0), "a view is of one buffer or scalar");
    const std::string& name = in_buffer ? call_.buffer(view.buffer).name : call_.scalars[static_cast<size_t>(view.scalar)].name;
    const DType dtype = in_buffer ? call_.buffer(view.buffer).dtype : call_.scalars[static_cast<size_t>(view.scalar)].dtype;
    require(dtype == value.dtype(), name + " is " + std::string(ir::name(dtype)));
    require(view.strides.size() == value.shape().size(), "a view of " + name + " has a stride for each dim");
    int64_t first = view.offset, last = view.offset;
    for (size_t d = 0; d < view.strides.size(); ++d) {
      const int64_t reach = view.strides[d] * (value.shape()[d] - 1);
      require(value.shape()[d] != 1 || view.strides[d] == 0, "a view of " + name + " has a stride along a dim of one element");
      require(!is_scalar || view.strides[d] == 0, name + " is one element");
      (reach < 0 ? first : last) += reach;
    }
    const int64_t numel = in_buffer ? call_.buffer(view.buffer).numel : 1;
    require(value.numel() == 0 || (first >= 0 && last < numel), "a view runs over " + std::to_string(first) + ".." + std::to_string(last) +
                                                                    ", but " + name + " has " + std::to_string(numel) + " elements");
  }

  const Call& call_;
};

}  // namespace

void verify(const Call& call) {
  try {
    Checker(call).check();
  } catch (const IrError& error) {
    throw IrError("call @" + call.name + ": " + error.what());
  }
}

}  // namespace tenon::ir
