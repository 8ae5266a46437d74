// Parts of sorted lines and what masks select: the routines against the graph interpreter, over dtypes, shapes and counts.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/evaluation_support.h"
#include "support/fuzz_cases.h"
#include "support/random_graph.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;
using codegen::HostTensor;

namespace {

// Few different values, odd ones among them; or all different; or in order, which keeps every element for a while.
HostTensor elements(DType dtype, const ir::Dims& shape, int kind) {
  const double odd[] = {0.0, -0.0, std::nan(""), HUGE_VAL, -HUGE_VAL, -1.0, 1.0, 1e-40, -1e-40, 65504.0};
  HostTensor x = HostTensor::zeros(dtype, shape);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t mixed = i * 7919 % 251;
    const double value = kind == 1 ? static_cast<double>(i * 7919 % 100'003 - 50'000) / 8 : static_cast<double>(i) / 4;
    if (kind == 0 && mixed % 5 == 0) {
      x.set(i, ir::constant(dtype, ir::is_float(dtype) ? odd[mixed % 10] : 0.0));
    } else {
      x.set(i, kind == 0 ? ir::constant(dtype, mixed - 100) : ir::constant(dtype, value));
    }
  }
  return x;
}

// The part of the sorted lines as the routine gives it, against the same part of what sort gives.
bool part_is_right(const HostTensor& x, int64_t dim, bool descending, int64_t first, int64_t count) {
  const NodeRef input = input_of(x);
  NodeRef sorted = ir::sort(input, dim, descending);
  const NodeRef part = ir::sort_part(input, dim, descending, first, count);
  evaluate({sorted, part});
  ir::Dims starts(x.shape.size(), 0), steps(x.shape.size(), 1), sizes = x.shape;
  starts[static_cast<size_t>(dim)] = first;
  sizes[static_cast<size_t>(dim)] = count;
  const NodeRef expected = ir::slice(sorted, starts, steps, sizes);
  if (expected.get() != sorted.get()) evaluate({expected});
  return same_elements(value_of(*part), value_of(*expected));
}

HostTensor mask_of(const ir::Dims& shape, int kind) {
  HostTensor mask = HostTensor::zeros(DType::Bool, shape);
  for (int64_t i = 0; i < mask.numel(); ++i) {
    const auto mixed = static_cast<int64_t>((static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u) >> 40);
    const bool holds = kind == 0 ? mixed % 2 == 0 : kind == 1 ? mixed % 1000 == 1 : kind == 2 ? i / 100 % 3 == 1 : true;
    mask.set(i, {DType::Bool, holds});
  }
  return mask;
}

int64_t count_of(const HostTensor& mask) {
  int64_t count = 0;
  for (int64_t i = 0; i < mask.numel(); ++i) count += mask.get(i).bits != 0;
  return count;
}

// The node over its operands, evaluated, and as the graph interpreter has it.
bool is_right(const std::function<NodeRef(const std::vector<NodeRef>&)>& make, const std::vector<HostTensor>& operands) {
  std::vector<NodeRef> inputs, placeholders;
  for (const HostTensor& t : operands) {
    inputs.push_back(input_of(t));
    placeholders.push_back(ir::make_input(t.dtype, t.shape));
  }
  NodeRef node = make(inputs);
  inputs.clear();
  evaluate({node});
  return same_elements(value_of(*node), codegen::interpret(ir::Graph::of({{make(placeholders)}}), operands)[0]);
}

}  // namespace

TEST_CASE("select: every dtype, every kind of line and place, what sort gives") {
  WithOptions options;
  for (int t = 0; t < ir::kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    CAPTURE(ir::name(dtype));
    for (const ir::Dims& shape :
         {ir::Dims{1}, ir::Dims{3, 40}, ir::Dims{5, 100}, ir::Dims{2, 700, 3}, ir::Dims{2, 5000}, ir::Dims{130, 37}}) {
      for (int kind = 0; kind < 3; ++kind) {
        const HostTensor x = elements(dtype, shape, kind);
        for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
          const int64_t size = shape[static_cast<size_t>(dim)];
          for (auto [first, count] : {std::pair<int64_t, int64_t>{0, 1},
                                      {0, 5},
                                      {0, size},
                                      {size / 2, 1},
                                      {size / 3, size / 4},
                                      {size - 1, 1},
                                      {0, size / 3},
                                      {size / 10, 3}}) {
            if (count < 1 || first + count > size) continue;
            CAPTURE(first);
            CAPTURE(count);
            CHECK(part_is_right(x, dim, (first + count + kind) % 2 == 0, first, count));
          }
        }
      }
    }
  }
}

TEST_CASE("select: one long line on several threads") {
  const std::pair<int64_t, int64_t> parts[] = {{0, 1},       {0, 10},          {0, 1000}, {100'000, 1},
                                               {100'000, 2}, {66'000, 20'000}, {0, 5000}, {199'990, 11}};
  size_t next = 0;  // a slow build takes one part at a time, in turn
  for (int threads : {1, 2, 3}) {
    WithOptions options([&](Options& o) { o.threads = threads; });
    for (DType dtype : {DType::F32, DType::I64, DType::F16, DType::U8}) {
      for (int kind = 0; kind < 3; ++kind) {
        const HostTensor x = elements(dtype, ir::Dims{200'001}, kind);
        for (int n = 0; n < fuzz_cases(8); ++n) {
          const auto [first, count] = parts[next++ % 8];
          CAPTURE(first);
          CHECK(part_is_right(x, 0, true, first, count));
          CHECK(part_is_right(x, 0, false, first, count));
        }
      }
    }
  }
}

TEST_CASE("masks: places, rows and written rows, sparse and dense, on any number of threads") {
  for (int threads : {1, 3}) {
    WithOptions options([&](Options& o) { o.threads = threads; });
    for (int kind = 0; kind < 4; ++kind) {
      for (const ir::Dims& shape : {ir::Dims{1}, ir::Dims{7}, ir::Dims{70'001}, ir::Dims{300, 401}, ir::Dims{3, 40, 17}}) {
        const HostTensor mask = mask_of(shape, kind);
        const int64_t count = count_of(mask);
        CAPTURE(count);
        if (count == 0) continue;
        CHECK(is_right([&](auto& in) { return ir::nonzero(in[0], count); }, {mask}));
      }
      const HostTensor mask = mask_of(ir::Dims{66'000}, kind);
      const int64_t count = count_of(mask);
      for (DType dtype : {DType::Bool, DType::I16, DType::F32, DType::F64}) {
        for (int64_t columns : {1, 3}) {
          const HostTensor x = elements(dtype, ir::Dims{66'000, columns}, 1);
          CHECK(is_right([&](auto& in) { return ir::compress(in[0], in[1], count); }, {x, mask}));
          const HostTensor value = elements(dtype, ir::Dims{count, columns}, 2);
          CHECK(is_right([&](auto& in) { return ir::scatter_mask(in[0], in[1], in[2]); }, {x, mask, value}));
        }
      }
    }
  }
}

TEST_CASE("masks: one whose count is another is an error and nothing is written") {
  WithOptions options;
  const HostTensor mask = mask_of(ir::Dims{100}, 0);
  const NodeRef x = input_of(elements(DType::F32, ir::Dims{100, 1}, 1));
  for (int64_t wrong : {count_of(mask) - 1, count_of(mask) + 1}) {
    const NodeRef places = ir::nonzero(input_of(mask), wrong), rows = ir::compress(x, input_of(mask), wrong);
    const NodeRef written = ir::scatter_mask(x, input_of(mask), input_of(elements(DType::F32, ir::Dims{wrong, 1}, 2)));
    for (const NodeRef& node : {places, rows, written}) CHECK_THROWS_WITH(evaluate({node}), doctest::Contains("true elements"));
    CHECK(element(x, 3) == ir::to_double(elements(DType::F32, ir::Dims{100, 1}, 1).get(3)));
  }
}

TEST_CASE("masks: a base that nobody else needs is written in place") {
  WithOptions options;
  NodeRef base = input_of(elements(DType::F32, ir::Dims{1000, 1}, 1));
  const void* memory = buffer_of(*base)->data();
  const HostTensor mask = mask_of(ir::Dims{1000}, 2);
  NodeRef result = ir::scatter_mask(base, input_of(mask), scalar(7, ir::Dims{count_of(mask), 1}));
  base = {};
  evaluate({result});
  CHECK(buffer_of(*result)->data() == memory);
  CHECK(element(result, 100) == 7);
}
