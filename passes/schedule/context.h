// What a schedule of any device works on: the kernel, the result, a builder into it and a nest. A schedule says which
// loop or thread takes which axis; loops and branches are opened here, so that each has a scope of the nest.
#pragma once

#include <any>
#include <string>
#include <type_traits>
#include <utility>

#include "passes/schedule/lowered.h"
#include "passes/schedule/nest.h"
#include "passes/schedule/reducer.h"

namespace tenon::passes {

// What the code of a schedule knows of the kernel's lengths, and the numbers that they change alone.
struct CodeLengths {
  std::vector<int> free;         // axes whose extents are not in `choices` but as these say
  std::vector<int64_t> choices;  // whatever makes other code
  std::vector<int64_t> numbers;  // sizes, or factors of some; see Context::length
};

// Which of the programs for a kind of kernels takes a kernel, by its number, and what the choice has found out, which the program uses.
template <typename T>
concept ProgramName = std::is_enum_v<T> || std::is_same_v<T, bool>;
struct Choice {
  int program;
  std::any plan;
  template <ProgramName Program>
  Choice(Program chosen, std::any found = {}) : program(static_cast<int>(chosen)), plan(std::move(found)) {}
};

int64_t product_of(const ir::Kernel& kernel, std::span<const int> axes);  // of their extents
Value contraction_of(const ir::Kernel& kernel);                           // the one that it has

// What a contraction is computed from: two factors, or two values whose differences are squared, as distances are:
//
//   %2 = sub %0, %1    %3 = contract %2, %2
//
// They are read as factors are, each for the rows or columns that it has.
struct Factors {
  Value left, right;
  bool differences;
};
Factors factors_of(const ir::Kernel& kernel, Value contraction);

class Context {
  std::vector<std::shared_ptr<const ir::LoopTree>> trees_;  // of `known`

 public:
  // Starts the tree: its name, target, buffers and scalars.
  Context(const ir::Kernel& kernel, Lowered& out, ir::TargetKind target, DType index_type, KnownLowered known = {});

  const ir::Kernel& kernel;
  Lowered& out;
  const KnownLowered known;
  ir::TreeBuilder builder;
  Nest nest;
  std::any plan;  // of the choice of this program

  int64_t extent(int axis) const { return kernel.extent(axis); }
  std::vector<int> axes(AxisKind kind) const { return ir::axes_of(kernel, kind); }
  std::vector<int> parallel_but(std::initializer_list<int> others) const;  // the parallel axes without these
  int64_t product(std::span<const int> axes) const { return product_of(kernel, axes); }
  Reducer reducer(Value reduction);
  // A buffer of `count` elements, which is a size parameter; its name gets a number.
  int32_t buffer(const std::string& name, DType dtype, Space space, int64_t count) {
    return buffer_of(name, dtype, space, nest.size_slot(count));
  }
  int32_t buffer_of(const std::string& name, DType dtype, Space space, int32_t slot);
  // A buffer of `count` elements, which is a part of the code.
  int32_t fixed_buffer(std::string name, DType dtype, Space space, int64_t count) {
    return builder.add_buffer({std::move(name), dtype, space, kNone, count});
  }
  AccumulatorBuffers partials(Value reduction, Space space, int64_t count);

  // --- code that serves other lengths
  // Whether the code of a known kernel is this one's, which then is done but for phase_cost: an affine kernel without guards that differs
  // from it in lengths, none of which changes the code.
  bool is_known(const CodeLengths& lengths, const ir::Target& target);
  int32_t length_slot(const CodeLengths& lengths, int number, int64_t factor = 1);  // a parameter: numbers[number] * factor
  ValueId length(const CodeLengths& lengths, int number, int64_t factor = 1) { return builder.size(length_slot(lengths, number, factor)); }
  void keep(CodeLengths lengths, const ir::Target& target);  // in the end: for the kernels to come

  // Index arithmetic.
  ValueId literal(int64_t value) { return builder.index_constant(value); }
  ValueId add(ValueId x, ValueId y) { return builder.op(Op::Add, {x, y}); }
  ValueId offset(ValueId x, int64_t by) { return by == 0 ? x : add(x, literal(by)); }
  ValueId sub(ValueId x, ValueId y) { return builder.op(Op::Sub, {x, y}); }
  ValueId mul(ValueId x, ValueId y) { return builder.op(Op::Mul, {x, y}); }
  ValueId minimum(ValueId x, ValueId y) { return builder.op(Op::Min, {x, y}); }
  ValueId less(ValueId x, ValueId y) { return builder.op(Op::Lt, {x, y}); }
  // Where a piece of `length` stops that begins at or before `end`. begin + length might not fit the index type, as the sum of
  // an index and a literal below gpu/context.cpp's kOverhang does.
  ValueId piece_end(ValueId begin, ValueId length, ValueId end) { return add(begin, minimum(length, sub(end, begin))); }
  ValueId multiply_add(ValueId x, ValueId y, ValueId acc);  // of any numbers: fused if they are floats
  ValueId add_product(const Factors& of, ValueId left, ValueId right, ValueId acc) {
    if (!of.differences) return multiply_add(left, right, acc);
    const ValueId difference = sub(left, right);
    return multiply_add(difference, difference, acc);
  }
  // linear = quotient * divisor + remainder; gives both
  std::pair<ValueId, ValueId> divide(ValueId linear, ValueId divisor);

  // Splits a linear index over the `outer` axes and a last number below `count`. Binds the axes; gives their row-major point,
  // if there are any, and the number.
  std::pair<ValueId, ValueId> bind_outer(std::span<const int> outer, ValueId linear, int64_t count);

  // Opens a phase of `count` iterations, each costing `ns`, and a scope for it; gives the iteration's number.
  ValueId begin_phase(std::string name, int64_t count, double ns = 0) { return begin_phase_of(std::move(name), nest.size_slot(count), ns); }
  ValueId begin_phase_of(std::string name, int32_t slot, double ns);  // their number is the parameter `slot`
  void end_phase();

  // body(position), in a scope of its own.
  template <typename Body>
  void loop(ValueId begin, ValueId end, int64_t step, const Body& body, bool unroll = false) {
    const ValueId position = builder.begin_for(begin, end, step, unroll);
    in_scope([&] { body(position); });
    builder.end_for();
  }
  // The same, for the compiler to unroll.
  template <typename Body>
  void unrolled(ValueId begin, ValueId end, int64_t step, const Body& body) {
    loop(begin, end, step, body, true);
  }
  template <typename Body>
  void unrolled(int64_t count, const Body& body) {
    unrolled(literal(0), literal(count), 1, body);
  }
  template <typename Body>
  void in_scope(const Body& body) {
    nest.push();
    body();
    nest.pop();
  }

 private:
  std::vector<Lowered::Lengths::Size> changing_;
};

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace tenon::passes
