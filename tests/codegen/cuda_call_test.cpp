// Calls as generated code for a GPU: run thread by thread on the CPU they give the interpreter's bits, write nowhere else,
// and the real NVRTC accepts them without spills.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <sstream>

#include "codegen/cuda/emit.h"
#include "codegen/interpreter/interpreter.h"
#include "compiler/pipeline.h"
#include "ir/graph/graph.h"
#include "passes/fusion/fusion.h"
#include "support/cuda_sim.h"
#include "support/nvrtc.h"

using namespace tenon;
using ir::DType;
using ir::Op;
using test::CudaSimulator;

namespace {

// Memory of a buffer, 16-byte aligned, with a margin on both sides that must stay as it was.
class Memory {
 public:
  explicit Memory(size_t bytes) : words_((bytes + 2 * kMargin + 31) / 8, 0xa5a5a5a5a5a5a5a5u), bytes_(bytes) {}
  char* data() { return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(words_.data()) + kMargin + 15) / 16 * 16); }
  size_t bytes() const { return bytes_; }
  bool intact() {
    const char *begin = reinterpret_cast<const char*>(words_.data()), *end = begin + words_.size() * 8;
    const auto untouched = [](char c) { return c == static_cast<char>(0xa5); };
    return std::all_of(begin, const_cast<const char*>(data()), untouched) &&
           std::all_of(const_cast<const char*>(data()) + bytes_, end, untouched);
  }

 private:
  static constexpr size_t kMargin = 64;
  std::vector<uint64_t> words_;
  size_t bytes_;
};

// What an operand's elements are: any of its dtype, with ties, zeros of both signs and nan; or numbers from `low` on.
using Element = std::function<ir::Constant(DType, int64_t flat, std::mt19937&)>;

ir::Constant any_element(DType dtype, int64_t, std::mt19937& random) {
  const double odd[] = {0.0, -0.0, 1.0, -1.0, NAN, INFINITY, -INFINITY, 65504};
  if (dtype == DType::Bool) return {dtype, random() % 2};
  if (ir::is_float(dtype)) {
    if (random() % 4 == 0) return ir::constant(dtype, odd[random() % 8]);
    return ir::constant(dtype, std::uniform_real_distribution<double>(-4, 4)(random));
  }
  if (random() % 2 == 0) return ir::constant(dtype, static_cast<int64_t>(random() % 7));
  const auto wide = static_cast<int64_t>(uint64_t{random()} << 32 | random());
  return ir::constant(dtype, random() % 8 == 0 ? std::numeric_limits<int64_t>::min() >> (64 - 8 * ir::item_size(dtype)) : wide);
}

Element below(int64_t end) {
  return [end](DType dtype, int64_t, std::mt19937& random) {
    return ir::constant(dtype, static_cast<int64_t>(random() % static_cast<uint64_t>(end)));
  };
}

Memory filled(DType dtype, int64_t count, const Element& element, std::mt19937& random) {
  const auto item = static_cast<size_t>(ir::item_size(dtype));
  Memory memory(static_cast<size_t>(count) * item);
  for (int64_t i = 0; i < count; ++i) {
    const ir::Constant c = element(dtype, i, random);
    std::memcpy(memory.data() + static_cast<size_t>(i) * item, &c.bits, item);
  }
  return memory;
}

// Bits equal, except that any nan equals any other.
bool same_elements(const char* a, const char* b, DType dtype, int64_t count) {
  const auto item = static_cast<size_t>(ir::item_size(dtype));
  for (size_t i = 0; i < static_cast<size_t>(count) * item; i += item) {
    ir::Constant x{dtype, 0}, y{dtype, 0};
    std::memcpy(&x.bits, a + i, item);
    std::memcpy(&y.bits, b + i, item);
    if (x.bits == y.bits) continue;
    if (ir::is_float(dtype) && std::isnan(ir::to_double(x)) && std::isnan(ir::to_double(y))) continue;
    MESSAGE("element " << i / item << ": " << ir::print(x) << ", interpreter " << ir::print(y));
    return false;
  }
  return true;
}

// The last kernel of a graph: a call. Views that it does not see through are kernels before it.
passes::FusedKernel call_of(const ir::NodeRef& node) {
  passes::FusionOptions options;
  options.targets = {{0, ir::GpuTarget{}}};
  passes::FusionResult result = passes::fuse({node}, options);
  REQUIRE(result.kernels.back().call());
  return std::move(result.kernels.back());
}

passes::Lowered lowered_call(const passes::FusedKernel& fused) { return compiler::compile(fused.work, ir::GpuTarget{}, {}); }

std::vector<void*> with_scratch(const passes::Lowered& lowered, std::vector<void*> buffers, std::vector<Memory>& scratch) {
  for (const ir::TreeBuffer& buffer : lowered.tree.buffers) {
    if (buffer.space != ir::Space::Global) continue;
    const int64_t count = buffer.size_param >= 0 ? lowered.sizes[static_cast<size_t>(buffer.size_param)] : buffer.count;
    scratch.emplace_back(static_cast<size_t>(count * ir::item_size(buffer.dtype)));
    std::memset(scratch.back().data(), 0xa5, scratch.back().bytes());
  }
  for (Memory& memory : scratch) buffers.push_back(memory.data());
  return buffers;
}

// Runs the call on the simulator, threads in both orders, and on the interpreter. `elements`: of each operand.
void compare(const ir::NodeRef& node, const std::vector<Element>& elements = {}) {
  const passes::FusedKernel fused = call_of(node);
  CAPTURE(ir::print(fused.work));
  const passes::Lowered lowered = lowered_call(fused);
  REQUIRE_NOTHROW(ir::verify(lowered.tree));
  const std::string text = ir::print(lowered.tree);
  REQUIRE(ir::print(ir::parse_looptree(text)) == text);
  CAPTURE(text);

  std::mt19937 random(7);
  std::vector<Memory> operands;  // by buffer: what is there at first
  std::vector<uint64_t> constants;
  for (const ir::Node* scalar : fused.scalars) constants.push_back(scalar->bits());
  const std::vector<ir::KernelBuffer>& signature = fused.signature().buffers;
  const auto element_of = [&](size_t buffer) -> Element {  // the operand's that is seen in it
    const std::vector<ir::View>& views = fused.call()->operands;
    const auto operand = static_cast<size_t>(std::ranges::find(views, static_cast<int32_t>(buffer), &ir::View::buffer) - views.begin());
    return operand < elements.size() ? elements[operand] : any_element;
  };
  for (size_t b = 0; b < signature.size(); ++b) operands.push_back(filled(signature[b].dtype, signature[b].numel, element_of(b), random));
  const int64_t count = node->numel();
  Memory expected = operands.back();
  std::vector<void*> all;
  for (Memory& memory : operands) all.push_back(memory.bytes() > 0 ? memory.data() : nullptr);
  all.back() = expected.data();
  codegen::interpret(fused.work, all.data(), constants.data());

  CudaSimulator simulator(lowered.tree);
  for (const auto order : {CudaSimulator::Order::Forward, CudaSimulator::Order::Backward, CudaSimulator::Order::Random}) {
    Memory got = operands.back();
    std::vector<void*> buffers = all;
    buffers.back() = got.data();
    std::vector<Memory> scratch;
    buffers = with_scratch(lowered, std::move(buffers), scratch);
    REQUIRE_NOTHROW(simulator.run(buffers, lowered.sizes, constants, order, 5));
    CHECK(same_elements(got.data(), expected.data(), node->dtype(), count));
    CHECK(got.intact());
    for (Memory& memory : scratch) CHECK(memory.intact());
    for (Memory& memory : operands) CHECK(memory.intact());
  }
}

ir::NodeRef input(DType dtype, const ir::Dims& shape) { return ir::make_input(dtype, shape, nullptr); }
ir::NodeRef make(Op op, std::vector<ir::NodeRef> operands, ir::Dims ints, DType dtype) {
  return ir::make_node(op, operands, ints, dtype, ir::Folding::Off);
}
ir::NodeRef mask_of(const ir::Dims& shape) { return input(DType::Bool, shape); }
ir::NodeRef cat(const std::vector<ir::NodeRef>& parts, int64_t dim) { return make(Op::Cat, parts, {dim}, parts[0]->dtype()); }

constexpr DType kAllTypes[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                               DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};

}  // namespace

TEST_CASE("cuda calls: parts of every dtype, along every dim, of odd and of vector sizes") {
  for (const DType dtype : kAllTypes) {
    compare(cat({input(dtype, {3, 8}), input(dtype, {3, 4}), input(dtype, {3, 16})}, 1));
    compare(cat({input(dtype, {3, 7}), input(dtype, {3, 5})}, 1));
    compare(cat({input(dtype, {3, 6}), input(dtype, {3, 2})}, 1));
  }
  for (const int64_t size : {1, 31, 32, 33, 1000, 5000}) {
    compare(cat({input(DType::F32, {size}), input(DType::F32, {3}), input(DType::F32, {size})}, 0));
    compare(cat({input(DType::U8, {2, size, 3}), input(DType::U8, {2, 5, 3})}, 1));
  }
}

TEST_CASE("cuda calls: parts that are constants, views, and without elements") {
  const auto constant = [](DType dtype, double value, ir::Dims shape) { return ir::make_const(ir::constant(dtype, value), shape); };
  compare(
      cat({input(DType::F32, {4, 8}), constant(DType::F32, -1.5, {4, 4}), input(DType::F32, {4, 3}), constant(DType::F32, 7, {4, 1})}, 1));
  compare(cat({constant(DType::F16, 0.5, {2, 8}), input(DType::F16, {2, 8}), constant(DType::F16, 2, {2, 3})}, 1));
  const ir::NodeRef x = input(DType::F64, {6, 10});
  compare(cat({ir::permute(x, ir::Dims{1, 0}), input(DType::F64, {10, 2})}, 1));
  compare(cat({ir::flip(x, ir::Dims{1}), x}, 0));
  std::vector<ir::NodeRef> many;
  for (int64_t p = 0; p < 12; ++p) many.push_back(input(DType::I32, {5, 1 + p % 3}));
  compare(cat(many, 1));
}

TEST_CASE("cuda calls: scatters of every kind and dtype, in order") {
  for (const Op op : {Op::Scatter, Op::ScatterAdd, Op::ScatterMul, Op::ScatterMax, Op::ScatterMin}) {
    for (const DType dtype : kAllTypes) {
      if (!ir::in_domain(op, dtype)) continue;
      const auto scatter = [&](ir::Dims base, ir::Dims index, int64_t dim) {
        compare(make(op, {input(dtype, base), input(DType::I64, index), input(dtype, index)}, {dim}, dtype),
                {any_element, below(base[static_cast<size_t>(dim)])});
      };
      scatter({5, 7}, {9, 7}, 0);
      scatter({40}, {300}, 0);
      if (dtype != DType::F32) continue;
      scatter({6, 7, 5}, {4, 7, 3}, 1);
      scatter({6, 70}, {6, 33}, 1);
      scatter({1}, {31}, 0);
    }
  }
}

TEST_CASE("cuda calls: scatters of few long lines, which are sorted first") {
  for (const Op op : {Op::Scatter, Op::ScatterAdd, Op::ScatterMax}) {
    for (const DType dtype : {DType::F32, DType::F16, DType::I64}) {
      const auto scatter = [&](int64_t size, int64_t count) {
        compare(make(op, {input(dtype, {size}), input(DType::I64, {count}), input(dtype, {count})}, {0}, dtype),
                {any_element, below(size)});
      };
      for (const int64_t count : {65, 1000, 2049, 5000}) scatter(700, count);
      scatter(1, 3000);
    }
    // The gradient of an embedding: one index a row.
    const ir::NodeRef rows = ir::expand(input(DType::I64, {300, 1}), ir::Dims{300, 24});
    compare(make(op, {input(DType::F32, {50, 24}), rows, input(DType::F32, {300, 24})}, {0}, DType::F32), {any_element, below(50)});
    compare(make(op, {input(DType::F32, {3, 40, 2}), input(DType::I64, {3, 130, 2}), input(DType::F32, {3, 130, 2})}, {1}, DType::F32),
            {any_element, below(40)});
  }
}

TEST_CASE("cuda calls: an index out of range writes nothing") {
  const auto wild = [](DType, int64_t flat, std::mt19937&) {
    const int64_t bad[] = {-1, 10, INT64_MIN, INT64_MAX, int64_t{1} << 32};
    return ir::constant(DType::I64, flat % 3 == 0 ? bad[flat / 3 % 5] : flat % 10);
  };
  for (const int64_t count : {30, 400}) {  // walked, sorted
    const passes::FusedKernel fused =
        call_of(make(Op::ScatterAdd, {input(DType::I32, {10}), input(DType::I64, {count}), input(DType::I32, {count})}, {0}, DType::I32));
    const passes::Lowered lowered = lowered_call(fused);
    std::mt19937 random(3);
    Memory index = filled(DType::I64, count, wild, random), value = filled(DType::I32, count, below(1000), random);
    Memory got = filled(DType::I32, 10, below(2), random), expected = got;
    const auto* places = reinterpret_cast<const int64_t*>(index.data());
    for (int64_t i = 0; i < count; ++i) {
      if (places[i] < 0 || places[i] >= 10) continue;
      reinterpret_cast<int32_t*>(expected.data())[places[i]] += reinterpret_cast<const int32_t*>(value.data())[i];
    }
    std::vector<Memory> scratch;
    CudaSimulator(lowered.tree).run(with_scratch(lowered, {index.data(), value.data(), got.data()}, scratch), lowered.sizes, {});
    CHECK(same_elements(got.data(), expected.data(), DType::I32, 10));
    CHECK(got.intact());
    for (Memory& memory : scratch) CHECK(memory.intact());
  }
}

TEST_CASE("cuda calls: what a mask selects") {
  const std::function<bool(int64_t)> masks[] = {[](int64_t) { return true; }, [](int64_t i) { return i % 3 == 1; },
                                                [](int64_t i) { return i * 2654435761 % 97 < 40; }, [](int64_t i) { return i == 0; },
                                                [](int64_t i) { return i > 4000; }};
  for (const auto& chosen : masks) {
    const Element element = [&](DType, int64_t flat, std::mt19937&) { return ir::Constant{DType::Bool, chosen(flat) ? 1u : 0u}; };
    for (const int64_t size : {1, 31, 32, 33, 1000, 4096, 5000, 9000}) {
      int64_t count = 0;
      for (int64_t i = 0; i < size; ++i) count += chosen(i) ? 1 : 0;
      for (const int64_t columns : {1, 3, 8}) {
        if (columns > 1 && size > 1000) continue;
        const ir::NodeRef base = input(DType::F32, {size, columns}), mask = input(DType::Bool, {size});
        compare(make(Op::ScatterMask, {base, mask, input(DType::F32, {count, columns})}, {}, DType::F32), {any_element, element});
        if (count > 0) compare(make(Op::Compress, {base, mask}, {count}, DType::F32), {any_element, element});
      }
      if (count > 0) compare(make(Op::Nonzero, {mask_of({size})}, {count}, DType::I64), {element});
      if (size == 1000 && count > 0) compare(make(Op::Nonzero, {mask_of({4, 25, 10})}, {count}, DType::I64), {element});
    }
  }
  const Element odd = [](DType, int64_t flat, std::mt19937&) { return ir::Constant{DType::Bool, static_cast<uint64_t>(flat) & 1}; };
  for (const DType dtype : kAllTypes) compare(make(Op::Compress, {input(dtype, {70, 1}), mask_of({70})}, {35}, dtype), {any_element, odd});
}

TEST_CASE("cuda calls: sorted lines of every length, with ties, nan and zeros of both signs") {
  for (const bool descending : {false, true}) {
    const auto sort = [&](DType dtype, ir::Dims shape, int64_t dim) {
      compare(make(Op::Sort, {input(dtype, shape)}, {dim, descending}, DType::I64));
    };
    for (const int64_t size : {1, 2, 31, 32, 33, 1000, 2048, 2049, 5000, 9000}) sort(DType::F32, {size}, 0);
    for (const DType dtype : kAllTypes) {
      sort(dtype, {100}, 0);
      sort(dtype, {3000}, 0);
    }
    sort(DType::F32, {300, 7}, 1);
    sort(DType::F32, {300, 7}, 0);
    sort(DType::I32, {3, 50, 4}, 1);
    sort(DType::F16, {2, 2500, 3}, 1);
  }
}

TEST_CASE("cuda calls: the first few of a sorted line, and its middle") {
  const auto part = [](DType dtype, ir::Dims shape, int64_t dim, int64_t first, int64_t count) {
    for (const bool descending : {false, true})
      compare(make(Op::SortPart, {input(dtype, shape)}, {dim, descending, first, count}, DType::I64));
  };
  for (const int64_t size : {1, 33, 1000, 5000, 9000}) {
    part(DType::F32, {size}, 0, 0, 1);
    part(DType::F32, {size}, 0, size / 2, 1);
    part(DType::F32, {size}, 0, size - 1, 1);
  }
  part(DType::I8, {9000}, 0, 3, 40);
  part(DType::F64, {5000}, 0, 0, 2047);
  part(DType::F64, {5000}, 0, 0, 2048);
  part(DType::F32, {4, 30, 5}, 1, 0, 6);
  part(DType::F32, {2, 4500, 2}, 1, 0, 6);
}

TEST_CASE("cuda calls: NVRTC compiles every one without spills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  const auto compile = [&](const ir::NodeRef& node) {
    const passes::Lowered lowered = lowered_call(call_of(node));
    CAPTURE(ir::print(lowered.tree));
    for (const std::string arch : {"sm_75", "sm_90"}) {
      const test::Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(lowered.tree), arch);
      CAPTURE(result.log);
      CHECK(result.compiled);
      CHECK(!result.warns);
      CHECK(!result.spills);
    }
  };
  compile(cat({input(DType::F16, {3, 8}), input(DType::F16, {3, 4})}, 1));
  compile(cat({input(DType::F32, {4, 3}), ir::make_const(ir::constant(DType::F32, 2.0), ir::Dims{4, 4})}, 1));
  for (const int64_t count : {9, 5000})
    compile(make(Op::ScatterAdd, {input(DType::F16, {70}), input(DType::I64, {count}), input(DType::F16, {count})}, {0}, DType::F16));
  compile(make(Op::Nonzero, {mask_of({4, 25, 10})}, {10}, DType::I64));
  compile(make(Op::Compress, {input(DType::F32, {70, 8}), mask_of({70})}, {35}, DType::F32));
  compile(make(Op::ScatterMask, {input(DType::U8, {70, 1}), mask_of({70}), input(DType::U8, {35, 1})}, {}, DType::U8));
  for (const DType dtype : {DType::F32, DType::F64}) {
    compile(make(Op::Sort, {input(dtype, {300, 7})}, {1, 0}, DType::I64));
    compile(make(Op::Sort, {input(dtype, {9000})}, {0, 1}, DType::I64));
    compile(make(Op::SortPart, {input(dtype, {9000})}, {0, 1, 0, 10}, DType::I64));
  }
}
