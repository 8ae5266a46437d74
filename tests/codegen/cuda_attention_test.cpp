// Attention as generated code for a GPU, thread by thread on the CPU: one call gives all that comes of the same operands, within
// the rounding errors of its sums of what plain loops in double give, with the same bits in any order of threads and blocks. The
// real NVRTC compiles it without spills. And what the interpreter makes of the operation, by its composition.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <tuple>

#include "codegen/cuda/emit.h"
#include "codegen/interpreter/interpreter.h"
#include "compiler/pipeline.h"
#include "ir/attention.h"
#include "passes/fusion/fusion.h"
#include "support/cuda_sim.h"
#include "support/nvrtc.h"

using namespace tenon;
using ir::Dims;
using ir::DType;
using ir::NodeRef;
using ir::Op;
using test::CudaSimulator;

namespace {

enum class Mask { None, Bool, Add };

struct Case {
  DType dtype = DType::F32;
  int64_t length = 1, sources = 1, depth = 1, value_depth = 1;
  bool causal = false;
  Mask mask = Mask::None;
  Dims query = {}, key = {}, value = {}, masks = {};  // batch dims
  bool mask_rows = true;                              // else one row for all queries
  int multiprocessors = 1;                            // 1: the largest tiles that fit
  int compute = 80;                                   // from 80 on halves are on tensor cores
  int64_t shared_bytes = ir::kStaticSharedBytes;
  std::optional<double> scale = std::nullopt;
};
// In 48 KiB of shared memory the widest heads have no room for two tiles of the other side.
bool on_tensor_cores(const Case& c) {
  const bool widest = c.depth > 112 && c.value_depth > 112;
  return ir::is_half(c.dtype) && c.compute >= 80 && !(widest && c.shared_bytes <= ir::kStaticSharedBytes);
}

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << ir::name(c.dtype) << " L=" << c.length << " S=" << c.sources << " E=" << c.depth << " Ev=" << c.value_depth
             << (c.causal ? " causal" : "") << " mask " << static_cast<int>(c.mask) << " on " << c.multiprocessors << " sm_" << c.compute
             << " with " << c.shared_bytes << " bytes";
}

Dims with(Dims batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

DType type_of_sums(DType dtype) { return ir::is_half(dtype) ? DType::F32 : dtype; }

// Elements as doubles, and in memory with a margin on both sides that must stay as it was.
struct Array {
  Array(DType type, Dims dims) : dtype(type), shape(std::move(dims)), numbers(static_cast<size_t>(ir::element_count(shape))) {
    words.assign(numbers.size() * static_cast<size_t>(ir::item_size(dtype)) / 8 + 2 * kMargin + 1, kUntouched);
  }
  static constexpr size_t kMargin = 8;
  static constexpr uint64_t kUntouched = 0xa5a5a5a5a5a5a5a5u;
  char* data() { return reinterpret_cast<char*>(words.data() + kMargin); }

  void fill(std::mt19937& random, double low, double high) {
    std::uniform_real_distribution<double> any(low, high);
    for (double& x : numbers) x = dtype == DType::Bool ? static_cast<double>(random() % 4 != 0) : any(random);
    store();
  }
  void store() {  // and what it rounds to
    const auto item = static_cast<size_t>(ir::item_size(dtype));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const ir::Constant c = ir::constant(dtype, numbers[i]);
      numbers[i] = ir::to_double(c);
      std::memcpy(data() + i * item, &c.bits, item);
    }
  }
  void load() {
    const auto item = static_cast<size_t>(ir::item_size(dtype));
    for (size_t i = 0; i < numbers.size(); ++i) {
      ir::Constant c{dtype, 0};
      std::memcpy(&c.bits, data() + i * item, item);
      numbers[i] = ir::to_double(c);
    }
  }
  bool intact() const {
    const size_t bytes = numbers.size() * static_cast<size_t>(ir::item_size(dtype));
    const auto* end = reinterpret_cast<const char*>(words.data() + kMargin) + bytes;
    const auto* last = reinterpret_cast<const char*>(words.data() + words.size());
    return std::all_of(words.begin(), words.begin() + kMargin, [](uint64_t word) { return word == kUntouched; }) &&
           std::all_of(end, last, [](char c) { return c == static_cast<char>(0xa5); });
  }

  DType dtype;
  Dims shape;
  std::vector<double> numbers;
  std::vector<double> magnitudes = std::vector<double>(numbers.size());  // of a result: sums of the magnitudes of what is added
  std::vector<uint64_t> words;
};

// A batch of a matrix whose batch dims repeat where they are 1.
struct View {
  const double* first;
  int64_t rows, columns;
  double at(int64_t row, int64_t column) const {
    return first[(rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column)];
  }
};
View batch_of(const Array& a, const Dims& index) {
  const size_t rank = a.shape.size();
  int64_t number = 0;
  for (size_t d = 0; d + 2 < rank; ++d) number = number * a.shape[d] + (a.shape[d] == 1 ? 0 : index[d]);
  const int64_t rows = a.shape[rank - 2], columns = a.shape[rank - 1];
  return {a.numbers.data() + number * rows * columns, rows, columns};
}

// The operands, and what plain loops make of them.
struct Reference {
  explicit Reference(const Case& c)
      : query(c.dtype, with(c.query, c.length, c.depth)),
        key(c.dtype, with(c.key, c.sources, c.depth)),
        value(c.dtype, with(c.value, c.sources, c.value_depth)),
        mask(c.mask == Mask::Bool ? DType::Bool : c.dtype, with(c.masks, c.mask_rows ? c.length : 1, c.sources)),
        batch(whole_batch(c)),
        result(c.dtype, with(batch, c.length, c.value_depth)),
        grad(c.dtype, result.shape),
        lse(type_of_sums(c.dtype), with(batch, c.length, 1)),
        delta(lse.dtype, lse.shape),
        query_grad(c.dtype, with(batch, c.length, c.depth)),
        key_grad(c.dtype, with(batch, c.sources, c.depth)),
        value_grad(c.dtype, with(batch, c.sources, c.value_depth)),
        scale(c.scale.value_or(1 / std::sqrt(static_cast<double>(c.depth)))) {
    std::mt19937 random(static_cast<unsigned>(c.length * 131 + c.sources));
    for (Array* a : {&query, &key, &value, &grad}) a->fill(random, -2, 2);
    mask.fill(random, -2, 2);
    if (c.mask == Mask::Bool) see_something(c);
    Dims index(batch.size(), 0);
    for (int64_t b = 0; b < ir::element_count(batch); ++b) {
      compute(c, index, b);
      for (size_t d = batch.size(); d-- > 0 && ++index[d] == batch[d];) index[d] = 0;
    }
    lse.store();
    delta.store();
  }

  static Dims whole_batch(const Case& c) {
    Dims batch = c.query;
    for (size_t d = 0; d < batch.size(); ++d)
      batch[d] = std::max({c.query[d], c.key[d], c.value[d], c.mask == Mask::None ? 1 : c.masks[d]});
    return batch;
  }

  // Each row sees a key: what rows make of none has a test of its own.
  void see_something(const Case& c) {
    for (size_t i = 0; i < mask.numbers.size(); i += static_cast<size_t>(c.sources)) mask.numbers[i] = 1;
    mask.store();
  }

  void compute(const Case& c, const Dims& index, int64_t b) {
    const View q = batch_of(query, index), k = batch_of(key, index), v = batch_of(value, index), m = batch_of(mask, index),
               g = batch_of(grad, index);
    const auto place = [&](const Array& a, int64_t row, int64_t column, int64_t columns) {
      return static_cast<size_t>((b * a.shape[a.shape.size() - 2] + row) * columns + column);
    };
    const auto at = [&](Array& a, int64_t row, int64_t column, int64_t columns) -> double& {
      return a.numbers[place(a, row, column, columns)];
    };
    const auto add = [&](Array& a, int64_t row, int64_t column, int64_t columns, double x) {
      a.numbers[place(a, row, column, columns)] += x;
      a.magnitudes[place(a, row, column, columns)] += std::abs(x);
    };
    for (int64_t i = 0; i < c.length; ++i) {
      std::vector<double> p(static_cast<size_t>(c.sources)), back(p.size());
      double most = -INFINITY, sum = 0, mean = 0;
      for (int64_t j = 0; j < c.sources; ++j) {
        double s = 0;
        for (int64_t e = 0; e < c.depth; ++e) s += q.at(i, e) * k.at(j, e);
        s *= scale;
        if (c.mask == Mask::Add) s += m.at(i, j);
        if ((c.mask == Mask::Bool && m.at(i, j) == 0) || (c.causal && j > i)) s = -INFINITY;
        p[static_cast<size_t>(j)] = s;
        most = std::max(most, s);
      }
      for (double& s : p) sum += s = std::exp(s - most);
      at(lse, i, 0, 1) = most + std::log(sum);
      for (int64_t j = 0; j < c.sources; ++j) {
        double& pj = p[static_cast<size_t>(j)];
        pj /= sum;
        for (int64_t e = 0; e < c.value_depth; ++e) {
          add(result, i, e, c.value_depth, pj * v.at(j, e));
          back[static_cast<size_t>(j)] += g.at(i, e) * v.at(j, e);
          add(value_grad, j, e, c.value_depth, pj * g.at(i, e));
        }
        mean += pj * back[static_cast<size_t>(j)];
      }
      at(delta, i, 0, 1) = mean;
      for (int64_t j = 0; j < c.sources; ++j) {
        const double ds = p[static_cast<size_t>(j)] * (back[static_cast<size_t>(j)] - mean) * scale;
        for (int64_t e = 0; e < c.depth; ++e) {
          add(query_grad, i, e, c.depth, ds * k.at(j, e));
          add(key_grad, j, e, c.depth, ds * q.at(i, e));
        }
      }
    }
  }

  Array query, key, value, mask;
  Dims batch;
  Array result, grad, lse, delta, query_grad, key_grad, value_grad;
  double scale;
};

NodeRef placeholder(const Array& a) { return ir::make_input(a.dtype, a.shape); }

// The operations on placeholders, `count` of them from `first` on.
std::vector<NodeRef> nodes(const Case& c, Reference& r, Op first, size_t count, std::vector<Array*>& operands) {
  operands = {&r.query, &r.key, &r.value};
  if (ir::is_attention_gradient(first)) operands.insert(operands.end(), {&r.grad, &r.lse, &r.delta});
  if (c.mask != Mask::None) operands.push_back(&r.mask);
  std::vector<NodeRef> inputs, made;
  for (const Array* a : operands) inputs.push_back(placeholder(*a));
  const int64_t ints[] = {c.causal, std::bit_cast<int64_t>(r.scale)};
  for (size_t i = 0; i < count; ++i)
    made.push_back(ir::make_node(static_cast<Op>(static_cast<size_t>(first) + i), inputs, ints, DType::F32, ir::Folding::Off));
  return made;
}

ir::GpuTarget target_of(const Case& c) {
  ir::GpuTarget target;
  target.multiprocessors = c.multiprocessors;
  target.compute = c.compute;
  target.shared_bytes = c.shared_bytes;
  return target;
}

// One call of all of them.
passes::FusedKernel one_call(const std::vector<NodeRef>& made, const ir::GpuTarget& target) {
  passes::FusionOptions options;
  options.targets = {{0, target}};
  passes::FusionResult fusion = passes::fuse(made, options);
  REQUIRE(fusion.kernels.size() == 1);
  REQUIRE(fusion.kernels[0].routine);
  REQUIRE(fusion.kernels[0].outputs.size() == made.size());
  return std::move(fusion.kernels[0]);
}

passes::Lowered lowered_call(const passes::FusedKernel& fused, const ir::GpuTarget& target) {
  return compiler::lower_call({compiler::call_kernel(fused), *fused.routine, nullptr, fused.twins, fused.layouts}, target, {});
}

double epsilon(DType dtype) {
  return dtype == DType::F64 ? 0x1p-53 : dtype == DType::F32 ? 0x1p-24 : dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
}

// One rounding of the result, and of each element of the sums behind it one relative to the greatest magnitudes there are. On tensor
// cores also one of each p and ds, before it is multiplied, and 2^-22 of its power.
void check_near(const Array& got, const Array& wanted, const Case& c) {
  double greatest = 1;
  for (const double x : wanted.numbers) greatest = std::max(greatest, std::abs(x));
  const double sums = epsilon(type_of_sums(c.dtype)) * static_cast<double>(c.depth + c.value_depth + c.length + c.sources + 40);
  for (size_t i = 0; i < wanted.numbers.size(); ++i) {
    const double error = std::abs(got.numbers[i] - wanted.numbers[i]);
    const double factors = on_tensor_cores(c) ? epsilon(c.dtype) * wanted.magnitudes[i] + 0x1p-22 * greatest : 0;
    const double bound = epsilon(got.dtype) * std::abs(wanted.numbers[i]) + sums * greatest + factors;
    if (error <= bound) continue;
    FAIL_CHECK("element " << i << ": " << got.numbers[i] << ", wanted " << wanted.numbers[i] << " within " << bound);
    return;
  }
}

void run(const Case& c, Reference& r, Op first, const std::vector<const Array*>& wanted) {
  std::vector<Array*> operands;
  const std::vector<NodeRef> made = nodes(c, r, first, wanted.size(), operands);
  const ir::GpuTarget target = target_of(c);
  const passes::FusedKernel fused = one_call(made, target);
  const passes::Lowered lowered = lowered_call(fused, target);
  CHECK(lowered.schedule == (on_tensor_cores(c) ? "attention mma" : "attention"));
  REQUIRE_NOTHROW(ir::verify(lowered.tree));
  const std::string text = ir::print(lowered.tree);
  REQUIRE(ir::print(ir::parse_looptree(text)) == text);
  CudaSimulator simulator(lowered.tree);
  std::vector<std::vector<uint64_t>> before;
  for (const auto order : {CudaSimulator::Order::Forward, CudaSimulator::Order::Random}) {
    std::vector<Array> results;
    for (const ir::Node* output : fused.outputs) {
      const auto at = std::find_if(made.begin(), made.end(), [&](const NodeRef& node) { return node.get() == output; });
      results.emplace_back(wanted[static_cast<size_t>(at - made.begin())]->dtype, output->shape());
    }
    std::vector<void*> buffers;
    for (Array* a : operands) buffers.push_back(a->data());
    for (Array& a : results) buffers.push_back(a.data());
    REQUIRE_NOTHROW(simulator.run(buffers, lowered.sizes, {}, order, 5));
    for (size_t k = 0; k < results.size(); ++k) {
      CHECK(results[k].intact());
      results[k].load();
      const auto at = std::find_if(made.begin(), made.end(), [&](const NodeRef& node) { return node.get() == fused.outputs[k]; });
      CAPTURE(ir::info((*at)->op()).text);
      check_near(results[k], *wanted[static_cast<size_t>(at - made.begin())], c);
      if (before.size() > k) CHECK(before[k] == results[k].words);
      else before.push_back(results[k].words);
    }
  }
  for (const Array* a : operands) CHECK(a->intact());
}

void check_case(const Case& c) {
  CAPTURE(c);
  Reference r(c);
  run(c, r, Op::Attention, {&r.result, &r.lse});
  run(c, r, Op::AttentionGradQuery, {&r.query_grad, &r.key_grad, &r.value_grad});
}

}  // namespace

TEST_CASE("attention: lengths and widths around those of tiles and vectors") {
  for (const int64_t length : {1, 17, 65, 130}) {
    for (const int64_t sources : {1, 31, 97}) check_case({.length = length, .sources = sources, .depth = 8, .value_depth = 8});
  }
  for (const int64_t depth : {1, 3, 8, 15, 16, 17, 20, 33, 64, 65, 100, 128}) {
    check_case({.length = 7, .sources = 35, .depth = depth, .value_depth = depth, .multiprocessors = 108});
    check_case({.length = 37, .sources = 9, .depth = depth, .value_depth = 129 - depth, .causal = true});
  }
}

TEST_CASE("attention: every dtype, every tile, causal and masked") {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    for (const int64_t depth : {16, 64, 112})
      check_case({.dtype = dtype, .length = 70, .sources = 66, .depth = depth, .value_depth = depth});
    check_case({.dtype = dtype, .length = 70, .sources = 66, .depth = 40, .value_depth = 40, .causal = true, .mask = Mask::Bool,
                .multiprocessors = 3});
    check_case({.dtype = dtype, .length = 40, .sources = 36, .depth = 24, .value_depth = 24, .mask = Mask::Add, .multiprocessors = 108});
  }
  constexpr std::pair<int64_t, int64_t> kLengths[] = {{64, 64}, {130, 3}, {3, 130}, {1, 200}, {129, 65}};
  for (const auto& [length, sources] : kLengths)
    check_case({.length = length, .sources = sources, .depth = 32, .value_depth = 24, .causal = true});
}

TEST_CASE("attention: halves on tensor cores, lengths and widths around those of tiles") {
  constexpr int64_t kLengths[] = {1, 7, 16, 17, 65, 129}, kDepths[] = {16, 32, 64, 80, 128, 24, 100, 7};
  int number = 0;
  for (const int64_t length : kLengths) {
    for (const int64_t sources : kLengths) {
      Case c{.dtype = number % 2 ? DType::BF16 : DType::F16, .length = length, .sources = sources};
      c.depth = kDepths[number % 8];
      c.value_depth = kDepths[number % 5 ? number % 8 : (number + 1) % 8];
      c.causal = number % 4 == 1;
      c.mask = c.causal || number % 3 ? Mask::None : number % 2 ? Mask::Bool : Mask::Add;
      c.multiprocessors = number % 3 == 2 ? 108 : 1;
      c.shared_bytes = number % 2 ? int64_t{227} << 10 : ir::kStaticSharedBytes;
      check_case(c);
      ++number;
    }
  }
}

TEST_CASE("attention: halves on tensor cores, every tile, longer than it, causal and masked") {
  int number = 0;
  for (const int64_t depth : {16, 32, 64, 128}) {
    for (const Mask mask : {Mask::None, Mask::Bool, Mask::Add}) {
      Case c{.dtype = number % 4 < 2 ? DType::BF16 : DType::F16, .length = 150, .sources = 134, .depth = depth, .value_depth = depth};
      c.causal = number % 5 < 2;
      c.mask = mask;
      c.shared_bytes = number % 2 ? int64_t{227} << 10 : ir::kStaticSharedBytes;
      check_case(c);
      ++number;
    }
  }
}

TEST_CASE("attention: halves on tensor cores, scales that turn the order of scores, or make them all 0") {
  for (const double scale : {0.0, -0.3, 2.5}) {
    for (const bool causal : {false, true})
      check_case({.dtype = DType::F16, .length = 40, .sources = 36, .depth = 24, .value_depth = 24, .causal = causal, .scale = scale});
  }
}

TEST_CASE("attention: halves are of threads before compute capability 8.0") {
  for (const DType dtype : {DType::F16, DType::BF16})
    check_case({.dtype = dtype, .length = 70, .sources = 66, .depth = 40, .value_depth = 40, .causal = true, .compute = 75});
}

TEST_CASE("attention: batches that repeat in one operand, and masks that repeat") {
  for (const DType dtype : {DType::F32, DType::F16}) {
    for (const Mask mask : {Mask::Bool, Mask::Add}) {
      Case c{.dtype = dtype, .length = 19, .sources = 33, .depth = 12, .value_depth = 20, .mask = mask};
      c.query = {2, 3};
      c.key = {1, 3};
      c.value = {2, 1};
      c.masks = {2, 1};
      check_case(c);
      c.mask_rows = false;
      check_case(c);
      c.query = c.key = c.value = {1, 1};
      c.masks = {2, 2};
      check_case(c);
    }
  }
}

TEST_CASE("attention: a row that sees nothing is nan, as its composition is; the others are not") {
  for (const DType dtype : {DType::F32, DType::F16}) {
    Case c{.dtype = dtype, .length = 5, .sources = 80, .depth = 8, .value_depth = 8, .mask = Mask::Bool};
    Reference r(c);
    std::fill_n(r.mask.numbers.begin() + 2 * c.sources, c.sources, 0.0);
    std::fill_n(r.mask.numbers.begin() + 4 * c.sources, 75, 0.0);  // row 4 sees nothing in the first tile
    r.mask.store();
    std::vector<Array*> operands;
    const std::vector<NodeRef> made = nodes(c, r, Op::Attention, 1, operands);
    const ir::GpuTarget target = target_of(c);
    const passes::FusedKernel fused = one_call(made, target);
    const passes::Lowered lowered = lowered_call(fused, target);
    Array got(c.dtype, r.result.shape), composed(c.dtype, r.result.shape);
    std::vector<void*> buffers;
    for (Array* a : operands) buffers.push_back(a->data());
    buffers.push_back(got.data());
    CudaSimulator(lowered.tree).run(buffers, lowered.sizes, {});
    buffers.back() = composed.data();
    codegen::interpret(*fused.routine, buffers.data());
    got.load();
    composed.load();
    for (size_t i = 0; i < got.numbers.size(); ++i) {
      CHECK(std::isnan(got.numbers[i]) == (i / 8 == 2));
      CHECK(std::isnan(composed.numbers[i]) == (i / 8 == 2));
      if (i / 8 != 2) CHECK(got.numbers[i] == doctest::Approx(composed.numbers[i]).epsilon(dtype == DType::F32 ? 1e-5 : 4e-3));
    }
  }
}

TEST_CASE("attention: the interpreter evaluates each operation by its composition") {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16}) {
    for (const Mask mask : {Mask::None, Mask::Bool, Mask::Add}) {
      Case c{.dtype = dtype, .length = 5, .sources = 7, .depth = 3, .value_depth = 2, .causal = mask == Mask::None, .mask = mask};
      c.query = c.masks = {2};
      c.key = c.value = {1};
      CAPTURE(c);
      Reference r(c);
      const auto check = [&](Op first, const std::vector<const Array*>& wanted) {
        std::vector<Array*> operands;
        const std::vector<NodeRef> made = nodes(c, r, first, wanted.size(), operands);
        for (size_t k = 0; k < made.size(); ++k) {
          Array got(wanted[k]->dtype, wanted[k]->shape);
          REQUIRE(made[k]->shape() == got.shape);
          REQUIRE(made[k]->dtype() == got.dtype);
          std::vector<void*> buffers;
          for (Array* a : operands) buffers.push_back(a->data());
          buffers.push_back(got.data());
          codegen::interpret(*made[k], buffers.data());
          got.load();
          check_near(got, *wanted[k], c);
        }
      };
      check(Op::Attention, {&r.result, &r.lse});
      check(Op::AttentionGradQuery, {&r.query_grad, &r.key_grad, &r.value_grad});
    }
  }
}

TEST_CASE("attention: the text of a graph with it reads back, and malformed operands are refused") {
  const std::string text =
      "graph @g(%q: f32[2,5,4], %k: f32[1,7,4], %v: f32[2,7,3], %m: bool[5,7]) {\n"
      "  %0 = reshape %m [1,5,7] : bool[1,5,7]\n"
      "  %1 = attention %q, %k, %v, %0 causal=0 scale=0.5 : f32[2,5,3]\n"
      "  %2 = attention.lse %q, %k, %v, %0 causal=0 scale=0.5 : f32[2,5,1]\n"
      "  return %1, %2\n"
      "}\n";
  CHECK(ir::print(ir::parse_graph(text)) == text);
  const auto input = [](DType dtype, Dims shape) { return ir::make_input(dtype, shape); };
  const NodeRef q = input(DType::F32, {5, 4}), k = input(DType::F32, {7, 4}), v = input(DType::F32, {7, 3});
  const auto refused = [](const NodeRef& a, const NodeRef& b, const NodeRef& c, const NodeRef& mask = {}) {
    CHECK_THROWS_AS(ir::attention({a, b, c, mask}), ir::IrError);
  };
  CHECK(ir::attention({q, k, v})->shape() == Dims{5, 3});
  refused(q, v, v);
  refused(q, k, q);
  refused(q, k, input(DType::F16, {7, 3}));
  refused(input(DType::I32, {5, 4}), input(DType::I32, {7, 4}), input(DType::I32, {7, 3}));
  refused(q, k, input(DType::F32, {1, 7, 3}));
  refused(q, k, v, input(DType::F64, {5, 7}));
  refused(q, k, v, input(DType::Bool, {4, 7}));
  refused(q, k, v, input(DType::Bool, {5, 6}));
}

TEST_CASE("attention: heads that no tile takes are refused with the reason") {
  const auto accepted = [](DType dtype, int64_t depth, int64_t value_depth) {
    passes::Form form;
    form.call = Op::Attention;
    form.attention = passes::Form::Attention{dtype, depth, value_depth};
    return passes::accepts(form, ir::GpuTarget{});
  };
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) CHECK(accepted(dtype, 128, 128).accepted);
  CHECK(accepted(DType::F64, 112, 112).accepted);
  CHECK_FALSE(accepted(DType::F64, 128, 128).accepted);
  CHECK_FALSE(accepted(DType::F32, 129, 64).accepted);
  CHECK_FALSE(accepted(DType::F32, 64, 129).accepted);
  CHECK(accepted(DType::F32, 512, 64).reason.find("shared memory") != std::string_view::npos);
  const NodeRef x = ir::make_input(DType::F32, Dims{5, 4});
  CHECK_THROWS_WITH_AS(passes::fuse({ir::attention({x, x, x})}), doctest::Contains("nothing on a CPU computes 'attention'"), ir::IrError);
}

TEST_CASE("attention: NVRTC compiles the tiles without spills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  std::string report;
  const auto compile = [&](Case c, Op first, size_t count, const std::vector<int>& capabilities = {75, 80, 90}) {
    for (const int compute : capabilities) {
      c.compute = compute;
      CAPTURE(c);
      Reference r(c);
      std::vector<Array*> operands;
      const ir::GpuTarget target = target_of(c);
      const passes::Lowered lowered = lowered_call(one_call(nodes(c, r, first, count, operands), target), target);
      const std::string arch = "sm_" + std::to_string(compute);
      const test::Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(lowered.tree), arch);
      CAPTURE(result.log);
      CHECK(result.compiled);
      CHECK(!result.warns);
      CHECK(!result.spills);
      for (const std::string& registers : result.registers)
        report += "\n" + arch + " " + std::string(ir::info(first).text) + " of " + std::to_string(c.depth) + ": " + registers;
    }
  };
  constexpr std::pair<DType, int64_t> kHeads[] = {{DType::F32, 64}, {DType::F16, 128}, {DType::F64, 33}};
  for (const auto& [dtype, depth] : kHeads) {
    Case c{.dtype = dtype, .length = 70, .sources = 66, .depth = depth, .value_depth = depth};
    c.causal = dtype == DType::F16;
    c.mask = dtype == DType::F16 ? Mask::None : dtype == DType::F32 ? Mask::Bool : Mask::Add;
    if (dtype == DType::F32) compile(c, Op::Attention, 2);
    compile(c, Op::AttentionGradQuery, 3);
  }
  constexpr std::tuple<int64_t, DType, Mask> kOfWarps[] = {
      {64, DType::F16, Mask::Bool}, {96, DType::F16, Mask::None}, {96, DType::BF16, Mask::Add}, {128, DType::F16, Mask::None}};
  for (const auto& [depth, dtype, mask] : kOfWarps) {
    Case c{.dtype = dtype, .length = 300, .sources = 290, .depth = depth, .value_depth = depth, .causal = depth == 128, .mask = mask};
    c.shared_bytes = 227 << 10;
    compile(c, Op::Attention, 2, {80, 90});
    compile(c, Op::AttentionGradQuery, 3, {80, 90});
  }
  MESSAGE(report);
}
