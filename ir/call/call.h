// The call: one operation on whole buffers, which no iteration space describes: a sort, a scatter, an attention, a product of
// the device's library, parts that are laid side by side. It stands beside the kernel: a launch computes one of the two.
//
//   call @cat(x0: f32 in[100], y0: f32 out[64], a1: f32 scalar) {
//     %0 = view x0 offset=50 strides=[10,1] : f32[4,8]
//     %1 = view a1 : f32[4,8]
//     %2 = cat %0, %1 dim=1 : f32[4,16]
//     store y0, %2
//   }
//
// Operands and results are views of buffers. What is not written lies in row-major order from the buffer's first element on. A call
// has several results if they have the same operands: the result of an attention and its sums, gradients of all its operands.
// What writes over its first operand has that in its result's buffer, which is inout. A part of a cat that lies there lies where it
// belongs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"

namespace tenon::ir {

// Where a value lies: its element at c is at offset + sum(c_d * strides_d) of a buffer. Or all elements are one scalar.
struct View {
  int32_t buffer = -1, scalar = -1;  // one of them
  int64_t offset = 0;
  Dims strides = {};  // 0 along dims of one element
  bool operator==(const View&) const = default;
};
Dims row_major_strides(std::span<const int64_t> shape);            // as a View has them
int64_t places(const View& view, std::span<const int64_t> shape);  // how many different ones a value with elements has

struct Call : Signature {
  std::vector<View> operands;    // in the order of the operation's
  std::vector<View> stored;      // parallel to the results
  std::vector<NodeRef> results;  // the operation over placeholders, which have the operands' shapes

  const Node& node() const { return *results.front(); }
  Op op() const { return node().op(); }
  const Dims& shape(size_t operand) const { return node().inputs()[operand]->shape(); }
  bool is_in_place(size_t operand) const;  // a part of a Cat that lies where it belongs
};

// Where each part of a Cat belongs.
std::vector<View> places_of_parts(const Call& cat);

std::string print(const Call& call);
Call parse_call(std::string_view text, std::string_view file = "<text>");
void verify(const Call& call);  // types, views within the buffers, what is read and written; throws IrError

}  // namespace tenon::ir
