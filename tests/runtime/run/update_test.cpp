// Writes: in place where nobody else needs the base, in a copy where somebody does; what they touch, and what
// they compile.
#include <doctest/doctest.h>

#include "runtime/evaluation_support.h"
#include "runtime/history/history.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

constexpr int64_t kRows = 50, kColumns = 64, kRowBytes = kColumns * 4;

NodeRef matrix() {
  return input_of(Shape{kRows, kColumns}, [](int64_t i) { return static_cast<double>(i % 13); });
}
NodeRef row_value() {
  return input_of(Shape{kColumns}, [](int64_t i) { return static_cast<double>(i); });
}
NodeRef write_row(const NodeRef& x, const NodeRef& value, int64_t row) { return ir::update(x, value, Shape{1}, row * kColumns); }
NodeRef read_row(const NodeRef& x, int64_t row) { return ir::strided(x, Shape{kColumns}, Shape{1}, row * kColumns); }
const void* memory(const NodeRef& x) { return buffer_of(*x)->data(); }

}  // namespace

TEST_CASE("update: writing one row of a matrix touches that row only") {
  WithOptions options;
  NodeRef x = matrix(), v = row_value();
  const void* before = memory(x);
  x = write_row(x, v, 7);
  clear_kernel_history();
  evaluate({x});
  REQUIRE(kernel_history().size() == 1);
  CHECK(kernel_history()[0].bytes == 2 * kRowBytes);
  CHECK(memory(x) == before);
  CHECK(element(x, 7 * kColumns + 5) == 5);
  CHECK(element(x, 8 * kColumns) == (8 * kColumns) % 13);
}

TEST_CASE("update: x[i] += v reads and writes that row; another i finds the compiled kernel") {
  WithOptions options;
  NodeRef x = matrix(), v = row_value();
  const void* before = memory(x);
  auto bump = [&](int64_t row) { x = write_row(x, ir::binary(Op::Add, read_row(x, row), v), row); };
  bump(3);
  evaluate({x});
  reset_counters();
  clear_kernel_history();
  for (int64_t row : {4, 9, 4}) {
    bump(row);
    evaluate({x});
  }
  CHECK(counters().kernels_compiled == 0);
  for (const KernelRecord& record : kernel_history()) CHECK(record.bytes == 3 * kRowBytes);
  CHECK(memory(x) == before);
  CHECK(element(x, 4 * kColumns + 2) == (4 * kColumns + 2) % 13 + 2 * 2);
  CHECK(element(x, 9 * kColumns + 3) == (9 * kColumns + 3) % 13 + 3);
}

TEST_CASE("update: a base that somebody holds is copied, and the copy is counted") {
  WithOptions options;
  NodeRef x = matrix(), v = row_value();
  NodeRef y = write_row(x, v, 0);
  clear_kernel_history();
  evaluate({y});
  CHECK(kernel_history().at(0).bytes == 2 * kRowBytes + 2 * kRows * kRowBytes);
  CHECK(memory(y) != memory(x));
  CHECK(element(x, 5) == 5);
  CHECK(element(x, 14) == 1);
  CHECK(element(y, 14) == 14);
}

TEST_CASE("update: without donation an input is copied once, and the rest of the chain stays in that copy") {
  WithOptions options([](Options& o) { o.donation = false; });
  NodeRef x = matrix(), v = row_value();
  for (int64_t row = 0; row < 5; ++row) x = write_row(x, v, row);
  clear_kernel_history();
  evaluate({x});
  int64_t bytes = 0;
  for (const KernelRecord& record : kernel_history()) bytes += record.bytes;
  CHECK(bytes == 5 * 2 * kRowBytes + 2 * kRows * kRowBytes);
}

TEST_CASE("update: a long chain of writes to one matrix never copies it") {
  for (bool compiled : {true, false}) {
    WithOptions options([&](Options& o) {
      if (!compiled) o.backend = Options::Backend::Interpreter;
    });
    NodeRef x = matrix(), v = row_value();
    const void* before = memory(x);
    for (int64_t i = 0; i < 500; ++i) {
      NodeRef value = i % 3 == 0 ? ir::binary(Op::Add, read_row(x, i % kRows), v) : v;
      x = write_row(x, value, i % kRows);
    }
    clear_kernel_history();
    evaluate({x});
    CHECK(memory(x) == before);
    for (const KernelRecord& record : kernel_history()) CHECK(record.bytes <= 3 * kRowBytes);
    std::vector<double> column(kRows);  // number 5 of each row, where v has 5
    for (int64_t row = 0; row < kRows; ++row) column[static_cast<size_t>(row)] = (row * kColumns + 5) % 13;
    for (int64_t i = 0; i < 500; ++i) {
      double& at = column[static_cast<size_t>(i % kRows)];
      at = i % 3 == 0 ? at + 5 : 5;
    }
    for (int64_t row = 0; row < kRows; ++row) CHECK(element(x, row * kColumns + 5) == column[static_cast<size_t>(row)]);
  }
}

TEST_CASE("update: the old value is read before it is written over, in one evaluation") {
  WithOptions options;
  NodeRef x = matrix(), v = row_value();
  const void* before = memory(x);
  NodeRef sum = ir::reduce(Op::Sum, x, Shape{0, 1});
  NodeRef y = write_row(x, v, 0);
  x = {};
  double expected = 0;
  for (int64_t i = 0; i < kRows * kColumns; ++i) expected += static_cast<double>(i % 13);
  evaluate({y, sum});
  CHECK(element(sum) == expected);
  CHECK(memory(y) == before);
}

TEST_CASE("update: of a constant, of a view, of an intermediate that is returned too") {
  WithOptions options;
  NodeRef v = row_value();
  NodeRef filled = write_row(scalar(3, Shape{kRows, kColumns}), v, 2);
  NodeRef turned = ir::update(ir::permute(matrix(), Shape{1, 0}), v, Shape{kRows}, 1);  // column 1 of 64 x 50
  NodeRef first = ir::unary(Op::Neg, matrix()), second = write_row(first, v, 0);
  evaluate({filled, turned, first, second});
  CHECK(element(filled, 2 * kColumns + 9) == 9);
  CHECK(element(filled, 3 * kColumns) == 3);
  CHECK(element(turned, 3 * kRows + 1) == 3);
  CHECK(element(turned, 3 * kRows + 2) == (2 * kColumns + 3) % 13);
  CHECK(element(first, 12) == -12);
  CHECK(element(second, 12) == 12);
}

TEST_CASE("gather: rows of a table read those rows only") {
  WithOptions options;
  NodeRef table = matrix();
  NodeRef index = input_of(
      Shape{4, 1}, [](int64_t i) { return static_cast<double>(7 * i); }, DType::I64);
  NodeRef rows = ir::gather(table, ir::expand(index, Shape{4, kColumns}), 0);
  clear_kernel_history();
  evaluate({rows});
  CHECK(kernel_history().at(0).bytes == 4 * 8 + 2 * 4 * kRowBytes);
  CHECK(element(rows, 2 * kColumns + 1) == (14 * kColumns + 1) % 13);
}
