// Matrix products. Everything becomes one dot over [B..., M, K] x [B..., K, N], or, with a vector, a product
// and a sum.
#include "frontend/src/ops/matmul.h"

#include <algorithm>

#include "frontend/src/autograd/replayed_call.h"
#include "frontend/src/tensor/device_check.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "ir/graph/product.h"
#include "tenon/algebra.h"

namespace tenon {
namespace {

void check_types(const Tensor& a, const Tensor& b) {
  check_argument_device(a, b, "mat2", "bmm");
  check(a.scalar_type() == b.scalar_type(), "expected scalar type ", a.scalar_type(), " but found ", b.scalar_type());
}

// Checks the types of a product of two matrices; those of a batch count as one.
void check_matrix_types(const Tensor& a, const Tensor& b) {
  check_argument_device(a, b, "mat2", "mm");
  check(a.scalar_type() == b.scalar_type(), "expected m1 and m2 to have the same dtype, but got: ", a.dtype(), " != ", b.dtype());
}

NodeRef zeros_node(DType type, const Dims& shape) { return constant_node(ir::constant(type, int64_t{0}), shape); }

// How the right operand of a product is given: as it is, or as its transpose, [N, K], such as a layer's weight.
enum class Right : uint8_t { Plain, Transposed };

// Whether the elements of a row of the matrix are nearer to each other in memory than those of a column, and the other
// way round.
bool rows_lie_along_memory(const TensorImpl& matrix) {
  const size_t rank = matrix.sizes().size();
  return matrix.sizes()[rank - 2] == 1 || matrix.strides()[rank - 1] <= matrix.strides()[rank - 2];
}
bool columns_lie_along_memory(const TensorImpl& matrix) {
  const size_t rank = matrix.sizes().size();
  return matrix.sizes()[rank - 1] == 1 || matrix.strides()[rank - 2] <= matrix.strides()[rank - 1];
}

// [B..., M, K] x [B..., K, N], equal batch dims; an empty K gives zeros. `a` and `b` are views of the tensors x and y
// whose last two dims are theirs. A right operand given as its transpose is y itself, a matrix.
NodeRef product_node(const TensorImpl& x, const TensorImpl& y, const NodeRef& a, const NodeRef& b, Right right = Right::Plain) {
  const bool transposed = right == Right::Transposed;
  Dims shape = a->shape();
  shape.back() = b->shape()[shape.size() - (transposed ? 2 : 1)];
  if (checked_numel(ref(shape)) == 0 || a->shape().back() == 0) return zeros_node(a->dtype(), shape);
  const bool right_along_columns = transposed ? !columns_lie_along_memory(y) : !rows_lie_along_memory(y);
  return ir::product(a, b, {transposed, rows_lie_along_memory(x), right_along_columns});
}

// The product of a matrix and a vector, or of two vectors.
Tensor multiply_and_sum(const Tensor& a, const Tensor& b) {
  const ScalarType type = a.scalar_type();
  const Dims kept = dims_of({a.sizes().data(), a.sizes().size() - 1});
  if (a.numel() == 0) return record(zeros_node(ir_type(type), kept));
  const NodeRef line = ir::reshape(node_of(b), Dims{1, b.size(0)});
  const NodeRef matrix = a.dim() == 2 ? node_of(a) : ir::reshape(node_of(a), Dims{1, a.size(0)});
  return record(ir::sum_of_products(matrix, line, a.dim() == 1 || rows_lie_along_memory(impl(a)), kept));
}

void check_matrices(const char* name, const Tensor& x, const Tensor& y, Right right = Right::Plain) {
  const Dims &a = impl(x).sizes(), &b = impl(y).sizes();
  check(a.size() == 2, name, ": self must be a matrix, got ", a.size(), "-D tensor");
  check(b.size() == 2, name, ": mat2 must be a matrix, got ", b.size(), "-D tensor");
  const int64_t inner = right == Right::Plain ? b[0] : b[1], columns = right == Right::Plain ? b[1] : b[0];
  check(a[1] == inner, name, ": mat1 and mat2 shapes cannot be multiplied (", a[0], "x", a[1], " and ", inner, "x", columns, ")");
}

NodeRef product_of_matrices(const Tensor& a, const Tensor& b, Right right = Right::Plain) {
  check_matrix_types(a, b);
  refuse_bool(a, "addmm_impl_cpu_");
  return product_node(impl(a), impl(b), node_of(a), node_of(b), right);
}

// Both at least 2-d: batch dims broadcast.
Tensor batched(const Tensor& a, const Tensor& b) {
  const size_t ra = a.sizes().size(), rb = b.sizes().size();
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  const Dims batch = broadcast_shape({a.sizes().data(), ra - 2}, {b.sizes().data(), rb - 2});
  const int64_t count = ir::element_count(batch);
  const int64_t expected[] = {count, k}, got[] = {count, b.size(-2)};
  check(k == b.size(-2), "Expected size for first two dimensions of batch2 tensor to be: ", IntArrayRef(expected, 2),
        " but got: ", IntArrayRef(got, 2), ".");
  check_types(a, b);
  refuse_bool(a, "bmm");
  Dims shape_a = batch, shape_b = batch;
  for (int64_t size : {m, k}) shape_a.push_back(size);
  for (int64_t size : {k, n}) shape_b.push_back(size);
  return record(product_node(impl(a), impl(b), broadcast(node_of(a), ref(shape_a)), broadcast(node_of(b), ref(shape_b))));
}

// base * beta + product * alpha; with beta 0 the base is not read.
Tensor scale_and_add(const Tensor& base, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  const Tensor added = expand(base, product.sizes());
  const Tensor scaled = alpha == Scalar(1) ? product : mul(product, alpha);
  if (beta == Scalar(0)) return scaled;
  return add(beta == Scalar(1) ? added : mul(added, beta), scaled);
}

}  // namespace

Tensor as_rows(const Tensor& a) {
  const IntArrayRef sizes = a.sizes();
  return reshape(a, {checked_numel({sizes.data(), sizes.size() - 1}), sizes.back()});
}

void check_addmm(const Tensor& added, const Tensor& a, const Tensor& b) {
  check(added.scalar_type() == b.scalar_type(), "self and mat2 must have the same dtype, but got ", added.scalar_type(), " and ",
        b.scalar_type());
  check(a.scalar_type() == b.scalar_type(), "mat1 and mat2 must have the same dtype, but got ", a.scalar_type(), " and ", b.scalar_type());
}

NodeRef product_with_transpose(const Tensor& a, const Tensor& b, const Tensor& added) {
  check_matrices("addmm", a, b, Right::Transposed);
  check_addmm(added, a, b);
  return product_of_matrices(a, b, Right::Transposed);
}

Tensor mm(const Operand& a, const Operand& b) {
  const auto recorded = [&] {
    GradScope scope("MmBackward0", a, b);
    check_matrices("mm", a, b);
    return record(product_of_matrices(a, b));
  };
  return replayed_call("mm", {}, recorded, a, b);
}

Tensor mv(const Operand& a, const Operand& b) {
  GradScope scope("MvBackward0", a, b);
  check(a.dim() == 2 && b.dim() == 1, "vector + matrix @ vector expected, got 1, ", a.dim(), ", ", b.dim());
  check(a.size(1) == b.size(0), "size mismatch, got input (", a.size(0), "), mat (", a.size(0), "x", a.size(1), "), vec (", b.size(0), ")");
  check_argument_device(a, b, "vec", "addmv_");
  check(a.scalar_type() == b.scalar_type(), "addmv input tensors must have the same dtype, but got ", b.scalar_type(), ", ",
        a.scalar_type(), ", and ", b.scalar_type());
  refuse_bool(a, "addmv_impl_cpu");
  return multiply_and_sum(a, b);
}

Tensor bmm(const Operand& a, const Operand& b) {
  GradScope scope("BmmBackward0", a, b);
  check(a.dim() == 3, "batch1 must be a 3D tensor");
  check(b.dim() == 3, "batch2 must be a 3D tensor");
  const int64_t expected[] = {a.size(0), a.size(2)};
  check(b.size(0) == expected[0] && b.size(1) == expected[1],
        "Expected size for first two dimensions of batch2 tensor to be: ", IntArrayRef(expected, 2), " but got: [", b.size(0), ", ",
        b.size(1), "].");
  return batched(a, b);
}

Tensor dot(const Operand& a, const Operand& b) {
  GradScope scope("DotBackward0", a, b);
  check(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  check(a.scalar_type() == b.scalar_type(), "dot : expected both vectors to have same dtype, but found ", a.scalar_type(), " and ",
        b.scalar_type());
  check(a.numel() == b.numel(), "inconsistent tensor size, expected tensor ", a.sizes(), " and src ", b.sizes(),
        " to have the same number of elements, but got ", a.numel(), " and ", b.numel(), " elements respectively");
  check_argument_device(a, b, "tensor", "dot");
  refuse_bool(a, "dot");
  return multiply_and_sum(a, b);
}

Tensor outer(const Operand& a, const Operand& b) {
  const CallScope call("outer", a, b);
  check(a.dim() == 1, "outer: Expected 1-D argument self, but got ", a.dim(), "-D");
  check(b.dim() == 1, "outer: Expected 1-D argument vec2, but got ", b.dim(), "-D");
  return mul(unsqueeze(a, 1), b);
}

Tensor matmul(const Operand& a, const Operand& b) {
  const CallScope call("matmul", a, b);
  const int64_t ra = a.dim(), rb = b.dim();
  check(ra > 0 && rb > 0, "both arguments to matmul need to be at least 1D, but they are ", ra, "D and ", rb, "D");
  if (ra == 1 && rb == 1) return dot(a, b);
  if (ra == 2 && rb == 2) return mm(a, b);
  if (ra == 2 && rb == 1) return mv(a, b);
  if (ra == 1 && rb == 2) {
    check_matrices("mm", unsqueeze(a, 0), b);
    GradScope scope("SqueezeBackward4", a, b);
    return squeeze(mm(unsqueeze(a, 0), b), 0);
  }
  GradScope scope("UnsafeViewBackward0", a, b);
  if (rb == 1) {  // rows against one vector
    return reshape(mv(as_rows(a), b), {a.sizes().data(), static_cast<size_t>(ra - 1)});
  }
  if (ra == 1) return squeeze(batched(unsqueeze(a, 0), b), -2);
  if (rb == 2) {  // one matrix for all batches: they are rows of one product
    Dims shape = dims_of(a.sizes());
    shape.back() = b.size(1);
    return reshape(mm(as_rows(a), b), ref(shape));
  }
  return batched(a, b);
}

Tensor addmm(const Operand& self, const Operand& mat1, const Operand& mat2, const Scalar& beta, const Scalar& alpha) {
  const CallScope call("addmm", self, mat1, mat2, beta, alpha);
  GradScope scope("AddmmBackward0", self, mat1, mat2);
  check_matrices("addmm", mat1, mat2);
  check_addmm(self, mat1, mat2);
  return scale_and_add(self, mm(mat1, mat2), beta, alpha);
}
Tensor addmv(const Operand& self, const Operand& mat, const Operand& vec, const Scalar& beta, const Scalar& alpha) {
  const CallScope call("addmv", self, mat, vec, beta, alpha);
  GradScope scope("AddmvBackward0", self, mat, vec);
  return scale_and_add(self, mv(mat, vec), beta, alpha);
}
Tensor baddbmm(const Operand& self, const Operand& batch1, const Operand& batch2, const Scalar& beta, const Scalar& alpha) {
  const CallScope call("baddbmm", self, batch1, batch2, beta, alpha);
  GradScope scope("BaddbmmBackward0", self, batch1, batch2);
  return scale_and_add(self, bmm(batch1, batch2), beta, alpha);
}
Tensor addbmm(const Operand& self, const Operand& batch1, const Operand& batch2, const Scalar& beta, const Scalar& alpha) {
  GradScope scope("AddbmmBackward0", self, batch1, batch2);
  return scale_and_add(self, sum(bmm(batch1, batch2), 0), beta, alpha);
}
Tensor addr(const Operand& self, const Operand& a, const Operand& b, const Scalar& beta, const Scalar& alpha) {
  GradScope scope("AddrBackward0", self, a, b);
  check(a.dim() == 1 && b.dim() == 1, "addr: Expected 1-D argument vec1 and vec2, but got ", a.dim(), "-D and ", b.dim(), "-D");
  return scale_and_add(self, outer(a, b), beta, alpha);
}

}  // namespace tenon
