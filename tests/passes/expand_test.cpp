// expand_half and expand_math: what they write, in IR text, and what they promise about any kernel.
#include <doctest/doctest.h>

#include <string>

#include "ir/kernel.h"
#include "passes/passes.h"

using namespace tenon;
using namespace tenon::ir;

namespace {

std::string rewritten(Kernel (*pass)(const Kernel&), const std::string& text) {
  const Kernel result = pass(parse_kernel(text));
  verify(result);
  return print(result);
}

std::string canonical(const std::string& text) { return print(parse_kernel(text)); }

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
    const int out =
        kernel.add_buffer("out" + std::to_string(kernel.buffers.size()), builder.dtype(v), Role::Out, numel);
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
      store(builder.op(op, std::span<const Value>(x.data(), static_cast<size_t>(info(op).arity))), position,
            128);
    }
  }
  return kernel;
}

bool may_be_half(Op op) {
  return op == Op::Const || op == Op::Scalar || op == Op::Load || op == Op::Store || op == Op::Cast ||
         op == Op::Bitcast;
}

}  // namespace

TEST_CASE("expand-half: each op widens, computes in f32 and rounds") {
  CHECK(rewritten(passes::expand_half, R"(
    kernel @k(x: f16 in[8], y: f16 in[8], z: f16 out[8]) {
      axes i: 8 parallel
      map i : %0 = load x[i] : f16
      map i : %1 = load y[i] : f16
      map i : %2 = add %0, %1 : f16
      map i : %3 = mul %2, %1 : f16
      map i : store z[i], %3
    })") == canonical(R"(
    kernel @k(x: f16 in[8], y: f16 in[8], z: f16 out[8]) {
      axes i: 8 parallel
      map i : %0 = load x[i] : f16
      map i : %1 = load y[i] : f16
      map i : %2 = cast %0 : f32
      map i : %3 = cast %1 : f32
      map i : %4 = add %2, %3 : f32
      map i : %5 = cast %4 : f16
      map i : %6 = cast %5 : f32
      map i : %7 = mul %6, %3 : f32
      map i : %8 = cast %7 : f16
      map i : store z[i], %8
    })"));
}

TEST_CASE(
    "expand-half: a sum accumulates in f32 and rounds once; a comparison and an argmax stay as they are "
    "typed") {
  CHECK(rewritten(passes::expand_half, R"(
    kernel @k(x: bf16 in[32], s: bf16 out[4], a: i64 out[4]) {
      axes r: 4 parallel, c: 8 inner
      map r c    : %0 = load x[8*r + c] : bf16
      reduce r|c : %1 = reduce.sum %0 lanes : bf16
      reduce r|c : %2 = reduce.argmax %0 lanes : i64
      map r      : store s[r], %1
      map r      : store a[r], %2
    })") == canonical(R"(
    kernel @k(x: bf16 in[32], s: bf16 out[4], a: i64 out[4]) {
      axes r: 4 parallel, c: 8 inner
      map r c    : %0 = load x[8*r + c] : bf16
      map r c    : %1 = cast %0 : f32
      reduce r|c : %2 = reduce.sum %1 lanes : f32
      map r      : %3 = cast %2 : bf16
      reduce r|c : %4 = reduce.argmax %1 lanes : i64
      map r      : store s[r], %3
      map r      : store a[r], %4
    })"));
}

TEST_CASE("expand-half: a kernel without half types is left alone") {
  const Kernel kernel = every_op(DType::F32);
  CHECK(print(passes::expand_half(kernel)) == print(kernel));
}

TEST_CASE("expand-math: an integer remainder in full") {
  CHECK(rewritten(passes::expand_math, R"(
    kernel @k(x: i32 in[8], y: i32 in[8], z: i32 out[8]) {
      axes i: 8 parallel
      map i : %0 = load x[i] : i32
      map i : %1 = load y[i] : i32
      map i : %2 = rem %0, %1 : i32
      map i : store z[i], %2
    })") == canonical(R"(
    kernel @k(x: i32 in[8], y: i32 in[8], z: i32 out[8]) {
      axes i: 8 parallel
      map i : %0 = load x[i] : i32
      map i : %1 = load y[i] : i32
      map i : %2 = const 0 : i32
      map i : %3 = eq %1, %2 : bool
      map i : %4 = div %0, %1 : i32
      map i : %5 = mul %4, %1 : i32
      map i : %6 = sub %0, %5 : i32
      map i : %7 = where %3, %2, %6 : i32
      map i : store z[i], %7
    })"));
}

// The invariants that schedules and emitters rely on.
TEST_CASE("kernel passes: afterwards no op expands and halves are only moved and cast") {
  for (DType dtype : {DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16,
                      DType::F32, DType::F64}) {
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
  CHECK(length(Op::Exp) <= 20);
  CHECK(length(Op::Log) <= 32);
  CHECK(length(Op::Tanh) <= 34);
  CHECK(length(Op::Erf) <= 42);
}

TEST_CASE("kernel passes: run in order and are observed") {
  std::string seen;
  passes::run_kernel_passes(every_op(DType::F16), [&](std::string_view pass, const auto& text) {
    seen += std::string(pass) + (text().empty() ? "(empty) " : " ");
  });
  CHECK(seen == "expand-half expand-math clean merge-axes ");
}
