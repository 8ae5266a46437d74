// Distances between vectors.
#include <algorithm>
#include <cmath>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/ops/norm.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

// Distances of 16-bit floats come from products of matrices only, in PyTorch as here.
void check_wide(const char* name, const Tensor& x) {
  check<NotImplementedError>(x.itemsize() >= 4, '"', name, "\" not implemented for '", x.scalar_type(), "'");
}

}  // namespace

Tensor cosine_similarity(const Operand& x1, const Operand& x2, int64_t dim, double eps) {
  const CallScope call("cosine_similarity", x1, x2);
  const ScalarType type = promoted(x1, x2);
  check(isFloatingType(type), "expected common dtype to be floating point, yet common dtype is ", type);
  const Dims shape = broadcast_shape(x1.sizes(), x2.sizes());
  const Tensor a = expand(x1.to(type), ref(shape)), b = expand(x2.to(type), ref(shape));
  const auto length_of = [&](const Tensor& x) {
    Tensor length = norm(x, Scalar(2), dim, true).clone();
    const NoGradGuard no_grad;  // PyTorch's gradient of a length below eps is that of the length
    length.clamp_min_(eps);
    return length;
  };
  return sum(mul(div(a, length_of(a)), div(b, length_of(b))), dim);
}

Tensor pairwise_distance(const Operand& x1, const Operand& x2, double p, double eps, bool keepdim) {
  const CallScope call("pairwise_distance", x1, x2);
  const int64_t rank = std::max(x1.dim(), x2.dim());
  return named_norm("NormBackward1", sub(x1, x2) + eps, Scalar(p), rank - 1, keepdim);
}

namespace {
// Each element of the differences of x1 and x2 that reaches the greatest one has all of its gradient.
Tensor greatest_gradient(const Tensor& apart, const Tensor& distance, const Tensor& grad) {
  const Tensor reached = abs(apart) == distance.detach().unsqueeze(-1);
  return where(reached, sign(apart.detach()), 0) * grad.unsqueeze(-1);
}

// The norms of the last dim. Where one is 0, so is its gradient; and for p < 1 that of each element which is 0.
Tensor distance(const Tensor& apart, double p) {
  if (p == 0 || p == 1 || std::isinf(p) || !GradScope::is_recording()) return norm(apart, Scalar(p), -1);
  if (p != 2) {
    const Tensor none = apart == 0, powers = where(none, 0, pow(abs(where(none, 1, apart)), p));
    const Tensor total = sum(powers, -1), zero = total == 0;
    return where(zero, total, pow(where(zero, 1, total), 1 / p));
  }
  const Tensor squares = sum(square(apart), -1), zero = squares == 0;
  return where(zero, squares, sqrt(where(zero, ones_like(squares), squares)));
}

// Products of the differences with themselves: a kernel of products takes them in, and shares each row among those of the other matrix.
Tensor squares_of_rows(const Tensor& apart) {
  Dims row = dims_of(apart.sizes()), column = row, result = row;
  row.back() = 1;
  row.push_back(apart.size(-1));
  column.push_back(1);
  result.pop_back();
  const NodeRef d = node_of(apart);
  return record(ir::reshape(ir::dot(ir::reshape(d, row), ir::reshape(d, column)), result));
}

// Each distance's gradient by the distance. Where that is 0, so is this.
Tensor per_distance(GradCall& c) {
  const Tensor distance = c.output(), zero = distance == 0;
  return where(zero, 0, div(c.grad(), where(zero, 1, distance)));
}

// The differences are taken the other way round, so that they are no values of the distances
// too, which a kernel would have to store for another.
void euclidean_gradient(GradCall& c) {
  const Tensor a = c.operand(0), b = c.operand(1);
  const Tensor g = mul(unsqueeze(per_distance(c), -1), sub(unsqueeze(b, -3), unsqueeze(a, -2)));
  c.give(0, gradient_for(a, -sum(g, -2)));
  c.give(1, gradient_for(b, sum(g, -3)));
}
}  // namespace

Tensor cdist(const Operand& x1, const Operand& x2, double p, optional<int64_t> compute_mode) {
  GradScope scope("CdistBackward0", x1, x2);
  scope.saves(reads_operand(0) | reads_operand(1) | kReadsOutput);
  scope.derivative_reads(reads_operand(0) | reads_operand(1) | kReadsOutput);
  if (p == 0) zero_gradients(scope, x1, x2);
  if (std::isinf(p))
    scope.rule(reads_operand(0) | reads_operand(1) | kReadsOutput, [](GradCall& c) {
      const Tensor a = c.operand(0), b = c.operand(1);
      const Tensor g = greatest_gradient(sub(unsqueeze(a, -2), unsqueeze(b, -3)), c.output(), c.grad());
      c.give(0, gradient_for(a, sum(g, -2)));
      c.give(1, gradient_for(b, -sum(g, -3)));
    });
  check(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  check(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  check(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ", x1.size(-1), " X2: ", x2.size(-1));
  check(x1.is_floating_point(), "cdist only supports floating-point dtypes, X1 got: ", x1.scalar_type());
  check(x2.is_floating_point(), "cdist only supports floating-point dtypes, X2 got: ", x2.scalar_type());
  check(p >= 0, "cdist only supports non-negative p values");
  const int64_t mode = compute_mode.value_or(0);
  check(mode >= 0 && mode <= 2, "possible modes: 0, 1, 2, but was: ", mode);
  const bool by_product = p == 2 && (mode == 1 || (mode == 0 && std::max(x1.size(-2), x2.size(-2)) > 25));
  const bool tiled = p == 2 && x1.itemsize() >= 4 && x1.numel() > 0 && x2.numel() > 0 && std::min(x1.size(-2), x2.size(-2)) > 1;
  if (tiled) scope.rule(reads_operand(0) | reads_operand(1) | kReadsOutput, euclidean_gradient);
  if (!by_product && x1.numel() > 0 && x2.numel() > 0) check_wide("cdist", x1);
  check(x1.scalar_type() == x2.scalar_type(), "expected scalar type ", x1.scalar_type(), " but found ", x2.scalar_type());
  if (x1.size(-1) == 0) {
    Dims shape = broadcast_shape({x1.sizes().data(), x1.sizes().size() - 2}, {x2.sizes().data(), x2.sizes().size() - 2});
    for (int64_t rows : {x1.size(-2), x2.size(-2)}) shape.push_back(rows);
    return zeros(ref(shape), x1.options());
  }
  const Tensor apart = sub(unsqueeze(x1, -2), unsqueeze(x2, -3));
  return tiled ? sqrt(squares_of_rows(apart)) : distance(apart, p);
}

namespace {
Expr counted(const Dims& shape, int64_t dim) { return cast(Expr{iota_node(shape, dim)}, DType::F64); }
Expr place(const Expr& x) { return cast(x, DType::I64); }

// The pairs (i, j) of n rows with i < j lie one behind the other: that of row i and column j is pair_row(i) + j. (A float64 counts whole
// numbers below 2^53, and a vector of it is multiplied faster than one of integers.)
Expr pair_row(const Expr& i, int64_t n) { return i * ((static_cast<double>(n) - 1.5) - 0.5 * i) - 1.0; }

// Row and column of each pair. The root meets the whole number at which a row begins within 1/(2n), far from where it would round.
std::pair<Expr, Expr> pairs(int64_t n) {
  const Expr k = counted({n * (n - 1) / 2}, 0);
  const double half = static_cast<double>(n) - 0.5;
  const Expr i = floor(half - sqrt(half * half - 1.0 - 2.0 * k));
  return {i, k - pair_row(i, n)};
}

// The elements of a square matrix that lie above its diagonal.
Tensor above_diagonal(const Tensor& x) {
  GradScope scope("IndexSelectBackward0", x);
  const int64_t n = x.size(0);
  const auto [i, j] = pairs(n);
  return record(ir::gather(ir::reshape(node_of(x), Dims{n * n}), place(i * static_cast<double>(n) + j).node, 0));
}

// The square matrix that has these elements above its diagonal, and 0 elsewhere.
Tensor matrix_above(const Tensor& above, int64_t n) {
  GradScope scope("IndexSelectBackward0", above);
  const Expr i = counted({n, n}, 0), j = counted({n, n}, 1), is_above = i < j;
  const Expr at = place(select(is_above, pair_row(i, n) + j, number(i, 0.0)));
  const Expr element{ir::reshape(ir::gather(node_of(above), ir::reshape(at.node, Dims{n * n}), 0), Dims{n, n})};
  return record(select(is_above, element, number(element, 0.0)).node);
}

void greatest_pair_gradient(GradCall& c) {
  const Tensor rows = c.operand(0);
  const auto [i, j] = pairs(rows.size(0));
  const Tensor first = record(place(i).node), second = record(place(j).node);
  const Tensor g = greatest_gradient(sub(index_select(rows, 0, first), index_select(rows, 0, second)), c.output(), c.grad());
  c.give(0, index_add(index_add(zeros_like(rows), 0, first, g), 0, second, -g));
}

void euclidean_pair_gradient(GradCall& c) {
  const Tensor rows = c.operand(0), above = matrix_above(per_distance(c), rows.size(0)), weights = add(above, above.t());
  c.give(0, -sum(mul(unsqueeze(weights, -1), sub(unsqueeze(rows, -3), unsqueeze(rows, -2))), -2));
}
}  // namespace

Tensor pdist(const Operand& x, double p) {
  GradScope scope("PdistBackward0", x);
  scope.saves(reads_operand(0) | kReadsOutput);
  scope.derivative_reads(reads_operand(0) | kReadsOutput);
  if (p == 0) zero_gradients(scope, x);
  check(x.dim() == 2, "pdist only supports 2D tensors, got: ", x.dim(), "D");
  check(x.is_floating_point(), "pdist only supports floating-point dtypes");
  check(p >= 0, "pdist only supports non-negative p values");
  const int64_t n = x.size(0);
  check(n < (int64_t{1} << 31), "pdist: too many rows");
  if (n < 2) return empty({0}, x.options());
  check_wide("pdist", x);
  const bool tiled = p == 2 && x.numel() > 0;
  if (std::isinf(p)) scope.rule(reads_operand(0) | kReadsOutput, greatest_pair_gradient);
  if (tiled) scope.rule(reads_operand(0) | kReadsOutput, euclidean_pair_gradient);
  const Tensor apart = sub(unsqueeze(x, 1), unsqueeze(x, 0));
  return above_diagonal(tiled ? sqrt(squares_of_rows(apart)) : distance(apart, p));
}

}  // namespace tenon
