// Chooses between a dot and a sum of products, and makes the second.
#include "ir/graph/product.h"

#include <utility>

#include "ir/graph/expr.h"

namespace tenon::ir {
namespace {

// One row of so few products is as quick as a product, and so it is the code, and has the bits, of any number of rows.
constexpr int64_t kSmallRow = 1 << 16;

NodeRef repeated(const NodeRef& x, const Dims& shape) {
  if (x->shape() == shape) return x;
  return x->op() == Op::Const ? make_const({x->dtype(), x->bits()}, shape, x->device()) : expand(x, shape);
}

}  // namespace

NodeRef swap_last_dims(const NodeRef& x) {
  Dims order;
  for (int64_t d = 0; d < x->rank(); ++d) order.push_back(d);
  std::swap(order.end()[-2], order.end()[-1]);
  return permute(x, order);
}

NodeRef sum_of_products(const NodeRef& matrix, const NodeRef& line, bool along_rows, const Dims& shape) {
  const DType sums = type_of_sums(matrix->dtype());
  const int64_t rank = matrix->rank();
  const NodeRef x = cast(along_rows ? matrix : swap_last_dims(matrix), sums), y = cast(along_rows ? line : swap_last_dims(line), sums);
  const NodeRef total = reduce(Op::Sum, binary(Op::Mul, x, repeated(y, x->shape())), Dims{along_rows ? rank - 1 : rank - 2});
  return cast(reshape(total, shape), matrix->dtype());
}

NodeRef product(const NodeRef& left, const NodeRef& right, const ProductSides& sides) {
  Dims shape = left->shape();
  const size_t rank = shape.size();
  const int64_t rows = shape[rank - 2], depth = shape[rank - 1], columns = right->shape()[rank - (sides.right_is_transposed ? 2 : 1)];
  shape.back() = columns;
  const bool small_row = rank == 2 && rows == 1 && depth * columns <= kSmallRow;
  if ((rows > 1 || small_row) && columns > 1) return dot(left, sides.right_is_transposed ? swap_last_dims(right) : right);
  const NodeRef transposed = sides.right_is_transposed ? right : swap_last_dims(right);
  if (columns == 1) return sum_of_products(left, transposed, sides.left_along_rows, shape);
  return sum_of_products(transposed, left, sides.right_along_columns, shape);
}

}  // namespace tenon::ir
