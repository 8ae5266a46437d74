// What the tests of generated kernels for a GPU share: a kernel runs on the simulator and on the kernel interpreter, and all its outputs
// are compared; and the real NVRTC compiles its text.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "codegen/cuda/emit.h"
#include "codegen/interpreter/interpreter.h"
#include "passes/passes.h"
#include "passes/schedule/schedule.h"
#include "support/cuda_sim.h"
#include "support/data_folder.h"
#include "support/nvrtc.h"

namespace tenon::test::cuda_kernels {

using ir::DType;

using Sizes = std::vector<std::pair<std::string, int64_t>>;

// The text of a kernel in tests/data, with some of its numbers replaced (each number in it means one thing).
inline std::string kernel_text(const std::string& name, const Sizes& sizes = {}) {
  std::ifstream file(data_folder() + "/kernels/" + name + ".kernel");
  REQUIRE(file.good());
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    const std::string number = text.substr(i, end - i);
    for (const auto& [from, to] : sizes) {
      if (number != from) continue;
      result += std::to_string(to);
      i = end;
    }
    if (i < end) result += number;
    if (i < end) i = end;
    if (i < text.size() && !std::isdigit(static_cast<unsigned char>(text[i]))) result += text[i++];
  }
  return result;
}

inline Sizes matrix(int64_t rows, int64_t columns) { return {{"7400", rows * columns}, {"37", rows}, {"200", columns}}; }

// A host buffer, 16-byte aligned, with a margin on both sides that must stay as it was.
struct Guarded {
  static constexpr size_t kMargin = 64;
  std::vector<uint64_t> words;
  size_t bytes;
  explicit Guarded(size_t bytes) : words((bytes + 2 * kMargin + 23) / 8 + 2, 0xa5a5a5a5a5a5a5a5u), bytes(bytes) {}
  char* data() {
    auto address = reinterpret_cast<uintptr_t>(words.data()) + kMargin;
    return reinterpret_cast<char*>((address + 15) / 16 * 16);
  }
  bool intact() {
    const char* begin = reinterpret_cast<const char*>(words.data());
    const char* end = begin + words.size() * 8;
    const auto untouched = [](char c) { return c == static_cast<char>(0xa5); };
    const char* first = data();
    return std::all_of(begin, first, untouched) && std::all_of(first + bytes, end, untouched);
  }
};

// Eighths up to 4 in magnitude, and (if asked) nan and infinities: halves whose products have sums that f32 holds, in any order.
inline ir::Constant random_eighth(DType dtype, std::mt19937& random, bool special) {
  const double odd[] = {NAN, INFINITY, -INFINITY};
  if (special && random() % 64 == 0) return ir::constant(dtype, odd[random() % 3]);
  return ir::constant(dtype, (static_cast<double>(random() % 65) - 32) / 8);
}

// Mostly moderate numbers, with zeros of both signs, ties, and (if asked) nan, infinities and what no integer
// holds.
inline ir::Constant random_element(DType dtype, std::mt19937& random, bool special) {
  const double odd[] = {0.0, -0.0, 1.0, -1.0, NAN, INFINITY, -INFINITY, 300.7, -3e9, 1e19};
  if (dtype == DType::Bool) return {dtype, random() % 2};
  if (ir::is_float(dtype)) {
    if (random() % 16 == 0) return ir::constant(dtype, odd[random() % (special ? 10 : 4)]);
    return ir::constant(dtype, std::uniform_real_distribution<double>(-4, 4)(random));
  }
  const auto wide = static_cast<int64_t>(uint64_t{random()} << 32 | random());
  if (random() % 3 == 0) return ir::constant(dtype, wide % 4);
  if (random() % 3 == 0) return ir::constant(dtype, wide % 70);
  return ir::constant(dtype, random() % 16 == 0 ? std::numeric_limits<int64_t>::min() >> (64 - 8 * ir::item_size(dtype)) : wide);
}

inline void fill(char* data, DType dtype, int64_t count, std::mt19937& random, bool special, bool eighths) {
  for (int64_t i = 0; i < count; ++i) {
    const ir::Constant c = eighths ? random_eighth(dtype, random, special) : random_element(dtype, random, special);
    std::memcpy(data + i * ir::item_size(dtype), &c.bits, static_cast<size_t>(ir::item_size(dtype)));
  }
}

// Bits equal, except that any nan equals any other.
inline bool same_element(const char* a, const char* b, DType dtype) {
  ir::Constant x{dtype, 0}, y{dtype, 0};
  std::memcpy(&x.bits, a, static_cast<size_t>(ir::item_size(dtype)));
  std::memcpy(&y.bits, b, static_cast<size_t>(ir::item_size(dtype)));
  if (x.bits == y.bits) return true;
  return ir::is_float(dtype) && std::isnan(ir::to_double(x)) && std::isnan(ir::to_double(y));
}

inline CudaSimulator::Compiler fastest_compiler() {
  using Compiler = CudaSimulator::Compiler;
  return CudaSimulator::available(Compiler::Tcc) ? Compiler::Tcc : Compiler::Cc;
}

// Schedules of one kind, by '|'.
inline constexpr const char* kRows = "rows|long rows|rows in blocks";
inline constexpr const char* kScan = "scan columns|scan groups|scan tiles";
inline constexpr const char* kScanSplit = "scan columns split|scan groups split|scan tiles split";
inline constexpr const char* kContraction = "contraction|contraction outputs";
inline bool is_one_of(const std::string& schedule, const std::string& names) {
  return ("|" + names + "|").find("|" + schedule + "|") != std::string::npos;
}

// Runs a kernel on the simulator and the interpreter and compares all outputs bit for bit. A product on tensor cores sums in an order
// of its own, so operands are such that the order makes no difference, and it runs in two.
inline void compare(const ir::Kernel& given, const std::string& schedule, bool special = false, const std::vector<double>& scalars = {},
                    CudaSimulator::Compiler compiler = fastest_compiler(), const ir::GpuTarget& target = {}) {
  const ir::Kernel kernel = passes::run_kernel_passes(given);
  CAPTURE(ir::print(given));
  const passes::Lowered lowered = passes::lower(kernel, target);
  CAPTURE(lowered.schedule);
  CHECK(is_one_of(lowered.schedule, schedule));
  REQUIRE_NOTHROW(ir::verify(lowered.tree));
  CAPTURE(ir::print(lowered.tree));

  std::mt19937 random(42);
  const bool on_tensor_cores = schedule == "contraction mma";
  std::vector<Guarded> expected, got;
  std::vector<uint64_t> scalar_bits;
  for (const ir::KernelBuffer& buffer : kernel.buffers) {
    Guarded data(static_cast<size_t>(buffer.numel * ir::item_size(buffer.dtype)));
    fill(data.data(), buffer.dtype, buffer.numel, random, special, on_tensor_cores);
    expected.push_back(data);
    got.push_back(data);
  }
  for (size_t i = 0; i < kernel.scalars.size(); ++i) {
    scalar_bits.push_back(ir::constant(kernel.scalars[i].dtype, scalars.at(i)).bits);
  }
  std::vector<void*> buffers;
  for (Guarded& data : expected) buffers.push_back(data.data());
  codegen::interpret(kernel, buffers.data(), scalar_bits.data());

  CudaSimulator simulator(lowered.tree, compiler);
  std::vector<CudaSimulator::Order> orders = {CudaSimulator::Order::Forward};
  for (const ir::TreeBuffer& buffer : lowered.tree.buffers) {  // only shared memory can tell the order of threads
    if (buffer.space == ir::Space::Shared && orders.size() == 1) {
      orders.push_back(CudaSimulator::Order::Backward);
      orders.push_back(CudaSimulator::Order::Random);
    }
  }
  for (const auto order : orders) {
    std::vector<Guarded> scratch;
    buffers.clear();
    for (Guarded& data : got) buffers.push_back(data.data());
    for (const ir::TreeBuffer& buffer : lowered.tree.buffers) {
      if (buffer.space != ir::Space::Global) continue;
      const int64_t count = lowered.sizes[static_cast<size_t>(buffer.size_param)];
      scratch.emplace_back(static_cast<size_t>(count * ir::item_size(buffer.dtype)));
    }
    for (Guarded& data : scratch) buffers.push_back(data.data());
    REQUIRE_NOTHROW(simulator.run(buffers, lowered.sizes, scalar_bits, order, 0, order == CudaSimulator::Order::Backward));
    for (Guarded& data : got) CHECK(data.intact());
    for (Guarded& data : scratch) CHECK(data.intact());
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      if (kernel.buffers[b].role == ir::Role::In) continue;
      const DType dtype = kernel.buffers[b].dtype;
      int64_t wrong = 0, first = -1;
      for (int64_t i = 0; i < kernel.buffers[b].numel; ++i) {
        const int64_t at = i * ir::item_size(dtype);
        if (same_element(expected[b].data() + at, got[b].data() + at, dtype)) continue;
        if (wrong++ == 0) first = i;
      }
      CAPTURE(kernel.buffers[b].name);
      CAPTURE(first);
      CHECK(wrong == 0);
    }
  }
}

inline void compare(const std::string& text, const std::string& schedule, bool special = false, const std::vector<double>& scalars = {},
                    CudaSimulator::Compiler compiler = fastest_compiler(), const ir::GpuTarget& target = {}) {
  compare(ir::parse_kernel(text), schedule, special, scalars, compiler, target);
}

inline ir::GpuTarget with_shared(int64_t kilobytes) {
  ir::GpuTarget target;
  target.shared_bytes = kilobytes << 10;
  return target;
}

// Compiles the text of kernels by NVRTC. Gives the registers of each phase; fails on errors and warnings, and on spills unless they are
// allowed.
struct NvrtcChecks {
  const Nvrtc nvrtc;
  double ms = 0;  // that the last one took

  std::string compile(const ir::Kernel& kernel, const std::string& arch, bool may_spill = false, const ir::GpuTarget& target = {}) {
    ir::GpuTarget machine = target;
    if (arch == "sm_75") machine.compute = 75;  // it has fewer threads
    const passes::Lowered lowered = passes::lower(passes::run_kernel_passes(kernel), machine);
    const auto begin = std::chrono::steady_clock::now();
    const Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(lowered.tree), arch);
    ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    CAPTURE(result.log);
    CHECK(result.compiled);
    CHECK(!result.warns);
    CHECK((may_spill || !result.spills));
    std::string usage;
    for (const std::string& registers : result.registers) usage += "; " + registers;
    CHECK(!usage.empty());
    return usage;
  }
};

}  // namespace tenon::test::cuda_kernels
