// expand_half and expand_math: what they promise about any kernel. What they write is in tests/filecheck/kernel.
#include <doctest/doctest.h>

#include <string>

#include "ir/kernel/kernel_builder.h"
#include "passes/passes.h"

using namespace tenon;
using namespace tenon::ir;

namespace {

// One kernel with every op of the table that has `dtype` operands, each result stored.
Kernel every_op(DType dtype) {
  Kernel kernel;
  const Index r = kernel.axis(kernel.add_axis("r", 4, AxisKind::Parallel));
  const Index c = kernel.axis(kernel.add_axis("c", 32, AxisKind::Inner));
  const Index position = r * 32 + c;
  KernelBuilder builder(kernel);
  std::vector<Value> x;
  for (const char* name : {"x", "y", "z"}) {
    x.push_back(builder.load(kernel.add_buffer(name, dtype, Role::In, 128), position, Level::Full));
  }
  const Value condition = builder.op(Op::Lt, {x[0], x[1]});
  const auto store = [&](Value v, const Index& index, int64_t numel) {
    const int out = kernel.add_buffer("out" + std::to_string(kernel.buffers.size()), builder.dtype(v), Role::Out, numel);
    builder.store(out, index, v, builder.level(v));
  };
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (op == Op::Any || op == Op::All || !in_domain(op, dtype)) continue;
    if (is_reduce(op)) store(builder.reduce(op, x[0], ReduceTree::Lanes), r, 4);
    if (!is_elementwise(op) || op == Op::Bitcast || op == Op::Cast) continue;
    if (op == Op::Where) {
      store(builder.op(op, {condition, x[0], x[1]}), position, 128);
    } else {
      store(builder.op(op, std::span<const Value>(x.data(), static_cast<size_t>(info(op).arity))), position, 128);
    }
  }
  return kernel;
}

bool may_be_half(Op op) {
  return op == Op::Const || op == Op::Scalar || op == Op::Load || op == Op::Store || op == Op::Cast || op == Op::Bitcast;
}

}  // namespace

TEST_CASE("expand-half: a kernel without half types is left alone") {
  const Kernel kernel = every_op(DType::F32);
  CHECK(print(passes::expand_half(kernel)) == print(kernel));
}

// The invariants that schedules and emitters rely on.
TEST_CASE("kernel passes: afterwards no op expands and halves are only moved and cast") {
  for (DType dtype : {DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64}) {
    CAPTURE(name(dtype));
    const Kernel kernel = passes::run_kernel_passes(every_op(dtype));
    int expanding = 0, half = 0;
    for (const Instr& instr : kernel.instrs) {
      expanding += is_elementwise(instr.op) && has_trait(instr.op, TraitExpands);
      bool touches_half = is_half(instr.dtype);
      for (Value arg : instr.args) touches_half |= is_half(kernel.instrs[static_cast<size_t>(arg)].dtype);
      half += touches_half && !may_be_half(instr.op);
    }
    CHECK(expanding == 0);
    CHECK(half == 0);
    CHECK(kernel.buffers.size() == every_op(dtype).buffers.size());
  }
}

TEST_CASE("kernel passes: the hot functions stay short") {
  const auto length = [](Op op) {
    Kernel kernel;
    const Index i = kernel.axis(kernel.add_axis("i", 64, AxisKind::Parallel));
    KernelBuilder builder(kernel);
    const Value x = builder.load(kernel.add_buffer("x", DType::F32, Role::In, 64), i, Level::Row);
    builder.store(kernel.add_buffer("y", DType::F32, Role::Out, 64), i, builder.op(op, {x}), Level::Row);
    int count = 0;
    for (const Instr& instr : passes::run_kernel_passes(kernel).instrs) {
      count += is_elementwise(instr.op) && instr.op != Op::Bitcast;
    }
    return count;
  };
  CHECK(length(Op::Exp) <= 21);
  CHECK(length(Op::Log) <= 32);
  CHECK(length(Op::Tanh) <= 37);
  CHECK(length(Op::Erf) <= 45);
}

TEST_CASE("kernel passes: run in order and are observed") {
  std::string seen;
  passes::run_kernel_passes(every_op(DType::F16), [&](std::string_view pass, const auto& text) {
    seen += std::string(pass) + (text().empty() ? "(empty) " : " ");
  });
  CHECK(seen == "expand-half expand-math divide-integers clean merge-axes ");
}
