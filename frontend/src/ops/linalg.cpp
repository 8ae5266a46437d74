// Norms and products of matrices without decompositions.
#include "tenon/linalg.h"

#include <cmath>
#include <limits>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/ops/norm.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"

namespace tenon {
namespace {

void check_matrix(const Tensor& x, const char* who) {
  check(x.dim() >= 2, who, ": The input tensor ", "A", " must have at least 2 dimensions.");
}
void check_square(const Tensor& x, const char* who) {
  check_matrix(x, who);
  check(x.size(-1) == x.size(-2), who, ": ", "A", " must be batches of square matrices, but they are ", x.size(-2), " by ", x.size(-1),
        " matrices");
}

Tensor as_type(const Tensor& x, optional<ScalarType> dtype) { return dtype ? x.to(*dtype) : x; }

}  // namespace

// --- norms

Tensor linalg_matrix_norm(const Operand& self, const Scalar& ord, IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_matrix_norm", self);
  check_matrix(self, "linalg.matrix_norm");
  check(dim.size() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got ", dim);
  const double order = std::abs(ord.toDouble());
  check(order == 2 || order == 1 || std::isinf(order), "linalg.matrix_norm: Order ", ord, " not supported.");
  check(order != 2, "linalg.matrix_norm: order ", ord, " needs singular values, which Tenon does not compute yet");
  const int64_t rows = wrap_dim(dim[0], self.dim()), columns = wrap_dim(dim[1], self.dim());
  check(rows != columns, "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ", dim[1], ")");
  const Tensor x = as_type(self, dtype);
  check(x.is_floating_point(), "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got ", x.scalar_type());
  const int64_t summed = std::isinf(order) ? columns : rows, compared = summed == rows ? columns : rows;
  const Tensor sums = sum(abs(x), summed, keepdim);
  const int64_t left = keepdim || compared < summed ? compared : compared - 1;
  return ord.toDouble() > 0 ? amax(sums, left, keepdim) : amin(sums, left, keepdim);
}
Tensor linalg_matrix_norm(const Operand& self, std::string_view ord, IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_matrix_norm", self);
  check_matrix(self, "linalg.matrix_norm");
  check(ord == "fro" || ord == "nuc", "linalg.matrix_norm: Order ", ord, " not supported.");
  check(ord != "nuc", "linalg.matrix_norm: order nuc needs singular values, which Tenon does not compute yet");
  check(dim.size() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got ", dim);
  check(isFloatingType(dtype.value_or(self.scalar_type())),
        "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got ", dtype.value_or(self.scalar_type()));
  return linalg_vector_norm(self, 2, dim, keepdim, dtype);
}

Tensor linalg_norm(const Operand& self, const optional<Scalar>& ord, OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_norm", self);
  if (dim.has_value()) {
    check(dim.value().size() == 1 || dim.value().size() == 2, "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ",
          dim.value());
  } else if (ord) {
    check(self.dim() == 1 || self.dim() == 2, "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
          self.dim(), "D.");
  }
  const bool matrix = dim.has_value() ? dim.value().size() == 2 : self.dim() == 2;
  if (!ord || !matrix) return linalg_vector_norm(self, ord.value_or(2), dim, keepdim, dtype);
  const Dims dims = dim.has_value() ? dims_of(dim.value()) : Dims{0, 1};
  return linalg_matrix_norm(self, *ord, ref(dims), keepdim, dtype);
}
Tensor linalg_norm(const Operand& self, std::string_view ord, OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_norm", self);
  if (dim.has_value()) {
    check(dim.value().size() == 1 || dim.value().size() == 2, "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ",
          dim.value());
  } else {
    check(self.dim() == 1 || self.dim() == 2, "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
          self.dim(), "D.");
  }
  const Dims dims = dim.has_value() ? dims_of(dim.value()) : Dims{0, 1};
  return linalg_matrix_norm(self, ord, ref(dims), keepdim, dtype);
}
Tensor frobenius_norm(const Operand& self, IntArrayRef dim, bool keepdim) {
  check(dim.size() <= 2, "Expected at most 2 dimensions, but got ", dim.size(), " dimensions instead.");
  return named_norm("NormBackward1", self, 2, dim, keepdim);
}

// --- products

Tensor linalg_vecdot(const Operand& x, const Operand& y, int64_t dim) {
  GradScope scope("LinalgVecdotBackward0", x, y);
  check(x.scalar_type() == y.scalar_type(), "linalg.vecdot: Expected x and y to have the same dtype, but found x of type ", x.scalar_type(),
        " and y of type ", y.scalar_type(), " instead");
  return sum(mul(x, y), dim, false, x.scalar_type() == kBool ? optional<ScalarType>() : x.scalar_type());
}

Tensor linalg_matrix_power(const Operand& x, int64_t n) {
  const CallScope call("linalg_matrix_power", x);
  check_square(x, "linalg.matrix_power");
  check(n >= 0, "linalg.matrix_power: n = ", n, " needs the inverse, which Tenon does not compute yet");
  if (n == 0) {
    GradScope scope("CopyBackwards", x);
    zero_gradients(scope, x);
    return expand(eye(x.size(-1), x.options().requires_grad(false)), x.sizes()).clone();
  }
  if (n == 1) return x.clone();
  Tensor result, square = x;  // squares of squares, where n's bits are set
  for (;; square = matmul(square, square), n >>= 1) {
    if (n & 1) result = result.defined() ? matmul(result, square) : square;
    if (n == 1) return result;
  }
}

namespace {

// The product of the matrices first..last, split where `splits` says.
Tensor product(const std::vector<Tensor>& matrices, const std::vector<std::vector<size_t>>& splits, size_t first, size_t last) {
  if (first == last) return matrices[first];
  const size_t middle = splits[first][last];
  return mm(product(matrices, splits, first, middle), product(matrices, splits, middle + 1, last));
}

// Where to split each part of the chain so that the multiplications are fewest: the textbook's dynamic
// program.
std::vector<std::vector<size_t>> best_splits(const std::vector<Tensor>& matrices) {
  const size_t n = matrices.size();
  std::vector<double> sides;
  for (const Tensor& m : matrices) sides.push_back(static_cast<double>(m.size(0)));
  sides.push_back(static_cast<double>(matrices.back().size(1)));
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double here = cost[i][k] + cost[k + 1][j] + sides[i] * sides[k + 1] * sides[j + 1];
        if (here < cost[i][j]) {
          cost[i][j] = here;
          split[i][j] = k;
        }
      }
    }
  }
  return split;
}

}  // namespace

Tensor linalg_multi_dot(TensorList tensors) {
  const size_t n = tensors.size();
  check(n >= 2, "multi_dot(): expected at least 2 tensors but got ", n);
  std::vector<Tensor> matrices(tensors.begin(), tensors.end());
  std::vector<int64_t> shape;  // vectors at the ends are a row and a column
  const auto check_end = [&](const Tensor& x, const char* which) {
    check(x.dim() == 1 || x.dim() == 2, "multi_dot(): the ", which, " tensor must be 1D or 2D but got ", x.dim(), "D");
  };
  check_end(tensors.front(), "first");
  check_end(tensors.back(), "last");
  if (tensors.front().dim() == 1) matrices.front() = unsqueeze(tensors.front(), 0);
  else shape.push_back(tensors.front().size(0));
  if (tensors.back().dim() == 1) matrices.back() = unsqueeze(tensors.back(), -1);
  else shape.push_back(tensors.back().size(1));
  for (size_t i = 0; i < n; ++i) {
    check(matrices[i].dim() == 2, "multi_dot(): tensor ", i, " must be 2D but got ", matrices[i].dim(), "D");
    check(tensors[i].scalar_type() == tensors[0].scalar_type(), "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
          tensors[0].dtype(), " and tensor ", i, " ", tensors[i].dtype());
    if (i > 0)
      check(matrices[i - 1].size(1) == matrices[i].size(0), "multi_dot(): tensors ", i - 1, " and ", i, " with shapes ",
            tensors[i - 1].sizes(), " and ", tensors[i].sizes(), " cannot be multiplied");
  }
  return view(product(matrices, best_splits(matrices), 0, n - 1), shape);
}

Tensor linalg_vander(const Operand& x, optional<int64_t> N) {
  const int64_t columns = N.value_or(x.dim() > 0 ? x.size(-1) : 1);
  check(columns > 1, "N must be greater than 1.");
  const ScalarType type = x.scalar_type() == kBool ? kLong : promoteTypes(x.scalar_type(), kLong);
  const Tensor line = x.dim() > 0 ? Tensor(x) : unsqueeze(x, 0);
  Dims shape = dims_of(line.sizes());
  shape.push_back(columns - 1);
  const Tensor factors = expand(unsqueeze(line.to(type), -1), ref(shape));
  shape.back() = 1;
  return cat({ones(ref(shape), x.options().dtype(type)), cumprod(factors, -1)}, -1);
}

}  // namespace tenon
