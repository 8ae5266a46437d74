// The sum of a value's gradients: chunks side by side, anything else added.
#include <doctest/doctest.h>

#include "ir/gradient/gradient_parts.h"

namespace tenon::ir {
namespace {

using Nodes = std::vector<NodeRef>;

NodeRef input(const Dims& shape) { return make_input(DType::F32, shape); }

// The gradient of rows `begin` and those behind it, of six.
NodeRef of_rows(int64_t begin, int64_t rows) {
  return pad(input({rows, 3}), make_const(constant(DType::F32, 0.0), Dims{}), Dims{begin, 0}, Dims{6 - begin - rows, 0});
}

TEST_CASE("the gradients of chunks are laid side by side") {
  const NodeRef a = of_rows(0, 2), b = of_rows(2, 3), c = of_rows(5, 1);
  const NodeRef whole = sum_of_parts(Nodes{c, a, b});
  REQUIRE(whole->op() == Op::Cat);
  CHECK(whole->shape() == Dims{6, 3});
  CHECK(whole->inputs()[0] == a->inputs()[0]);
  CHECK(whole->inputs()[1] == b->inputs()[0]);
  CHECK(whole->inputs()[2] == c->inputs()[0]);
  CHECK(sum_of_parts(Nodes{of_rows(0, 4), of_rows(4, 2)})->op() == Op::Cat);
  const NodeRef gaps = sum_of_parts(Nodes{of_rows(0, 1), of_rows(2, 1), of_rows(5, 1)});
  REQUIRE(gaps->op() == Op::Cat);
  CHECK(gaps->inputs().size() == 5);
}

TEST_CASE("gradients that meet, or are not of chunks, are added") {
  CHECK(sum_of_parts(Nodes{of_rows(0, 3), of_rows(2, 3), of_rows(5, 1)})->op() == Op::Add);
  CHECK(sum_of_parts(Nodes{of_rows(0, 1), of_rows(4, 1)})->op() == Op::Add);
  CHECK(sum_of_parts(Nodes{of_rows(0, 3), input({6, 3})})->op() == Op::Add);
  const NodeRef one = of_rows(1, 2);
  CHECK(sum_of_parts(Nodes{one}) == one);
}

}  // namespace
}  // namespace tenon::ir
