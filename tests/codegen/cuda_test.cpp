// CUDA text: accepted by the real NVRTC without spills, and, run thread by thread on the CPU, the same bits
// as the kernel interpreter.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "codegen/cuda/emit.h"
#include "codegen/interpreter/interpreter.h"
#include "ir/kernel.h"
#include "passes/passes.h"
#include "passes/schedule.h"
#include "support/cuda_sim.h"
#include "support/nvrtc.h"

using namespace tenon;
using ir::DType;
using test::CudaSimulator;

namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

// The text of a kernel in tests/data, with some of its numbers replaced (each number in it means one thing).
std::string kernel_text(const std::string& name, const Sizes& sizes = {}) {
  std::ifstream file(std::string(TENON_TEST_DATA) + "/kernels/" + name + ".kernel");
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

Sizes matrix(int64_t rows, int64_t columns) {
  return {{"7400", rows * columns}, {"37", rows}, {"200", columns}};
}

ir::Kernel prepared(const std::string& text) { return passes::run_kernel_passes(ir::parse_kernel(text)); }

// A host buffer, 16-byte aligned, with a margin on both sides that must stay as it was.
struct Guarded {
  static constexpr size_t kMargin = 64;
  std::vector<uint64_t> words;
  size_t bytes;
  explicit Guarded(size_t bytes)
      : words((bytes + 2 * kMargin + 23) / 8 + 2, 0xa5a5a5a5a5a5a5a5u), bytes(bytes) {}
  char* data() {
    auto address = reinterpret_cast<uintptr_t>(words.data()) + kMargin;
    return reinterpret_cast<char*>((address + 15) / 16 * 16);
  }
  bool intact() {
    const char* begin = reinterpret_cast<const char*>(words.data());
    const char* end = begin + words.size() * 8;
    bool same = true;
    for (const char* p = begin; p < end; ++p) {
      if (p < data() || p >= data() + bytes) same &= *p == static_cast<char>(0xa5);
    }
    return same;
  }
};

// Mostly moderate numbers, with zeros of both signs, ties, and (if asked) nan and infinities.
void fill(char* data, DType dtype, int64_t count, std::mt19937& random, bool special) {
  std::uniform_real_distribution<double> number(-4, 4);
  const double odd[] = {0.0, -0.0, 1.0, -1.0, NAN, INFINITY, -INFINITY};
  for (int64_t i = 0; i < count; ++i) {
    double value = number(random);
    if (random() % 16 == 0) value = odd[random() % (special ? 7 : 4)];
    ir::Constant c = ir::is_float(dtype) ? ir::constant(dtype, value)
                                         : ir::constant(dtype, static_cast<int64_t>(random()) - (1u << 31));
    if (dtype == DType::Bool) c.bits = random() % 2;
    std::memcpy(data + i * ir::item_size(dtype), &c.bits, static_cast<size_t>(ir::item_size(dtype)));
  }
}

// Bits equal, except that any nan equals any other.
bool same_element(const char* a, const char* b, DType dtype) {
  ir::Constant x{dtype, 0}, y{dtype, 0};
  std::memcpy(&x.bits, a, static_cast<size_t>(ir::item_size(dtype)));
  std::memcpy(&y.bits, b, static_cast<size_t>(ir::item_size(dtype)));
  if (x.bits == y.bits) return true;
  return ir::is_float(dtype) && std::isnan(ir::to_double(x)) && std::isnan(ir::to_double(y));
}

// Runs a kernel on the simulator and the interpreter and compares all outputs bit for bit.
void compare(const std::string& text, const std::string& schedule, bool special = false,
             std::vector<double> scalars = {},
             CudaSimulator::Compiler compiler = CudaSimulator::available(CudaSimulator::Compiler::Tcc)
                                                    ? CudaSimulator::Compiler::Tcc
                                                    : CudaSimulator::Compiler::Cc) {
  CAPTURE(text);
  const ir::Kernel kernel = prepared(text);
  const passes::Lowered lowered = passes::lower_gpu(kernel);
  CHECK(lowered.schedule == schedule);
  REQUIRE_NOTHROW(ir::verify(lowered.tree));
  CAPTURE(ir::print(lowered.tree));

  std::mt19937 random(42);
  std::vector<Guarded> expected, got;
  std::vector<uint64_t> scalar_bits;
  for (const ir::KernelBuffer& buffer : kernel.buffers) {
    Guarded data(static_cast<size_t>(buffer.numel * ir::item_size(buffer.dtype)));
    fill(data.data(), buffer.dtype, buffer.numel, random, special);
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
  for (const auto order : {CudaSimulator::Order::Forward, CudaSimulator::Order::Backward}) {
    std::vector<Guarded> scratch;
    buffers.clear();
    for (Guarded& data : got) buffers.push_back(data.data());
    for (const ir::TreeBuffer& buffer : lowered.tree.buffers) {
      if (buffer.space != ir::Space::Global) continue;
      const int64_t count = lowered.sizes[static_cast<size_t>(buffer.size_param)];
      scratch.emplace_back(static_cast<size_t>(count * ir::item_size(buffer.dtype)));
    }
    for (Guarded& data : scratch) buffers.push_back(data.data());
    REQUIRE_NOTHROW(simulator.run(buffers, lowered.sizes, scalar_bits, order));
    for (Guarded& data : got) CHECK(data.intact());
    for (Guarded& data : scratch) CHECK(data.intact());
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      if (kernel.buffers[b].role != ir::Role::Out) continue;
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

struct Case {
  const char* kernel;
  const char* schedule;
  std::vector<double> scalars;
};
const Case kCases[] = {
    {"chain", "pointwise", {}}, {"gelu", "pointwise", {}},           {"add_transposed", "transpose", {}},
    {"softmax", "rows", {}},    {"layer_norm", "rows", {200, 1e-5}}, {"mean_variance", "rows", {200}},
    {"dot", "split", {}},
};

}  // namespace

TEST_CASE("cuda: the kernels of the tutorial give the interpreter's bits") {
  for (const Case& c : kCases) {
    SUBCASE(c.kernel) { compare(kernel_text(c.kernel), c.schedule, false, c.scalars); }
  }
}

TEST_CASE("cuda: rows of every length class") {
  for (const int64_t columns : {1, 31, 32, 33, 63, 64, 65, 100, 512, 1000, 1024, 1025, 1300, 4095, 4096}) {
    CAPTURE(columns);
    compare(kernel_text("softmax", matrix(columns < 1000 ? 9 : 3, columns)), "rows");
  }
  compare(kernel_text("softmax", matrix(70, 4097)), "rows");
  compare(kernel_text("softmax", matrix(2, 20000)), "rows");
  compare(kernel_text("softmax", matrix(2, 70001)), "split");
  compare(kernel_text("layer_norm", matrix(2, 70001)), "split", false, {70001, 1e-5});
  compare(kernel_text("mean_variance", matrix(64, 5000)), "rows", false, {5000});
}

TEST_CASE("cuda: nan and infinities go through maximum and softmax as they do on the CPU") {
  compare(kernel_text("softmax", matrix(16, 130)), "rows", true);
  compare(kernel_text("chain"), "pointwise", true);
}

TEST_CASE("cuda: the tiles of a transpose with ragged edges") {
  for (const auto& [rows, columns] : {std::pair{16, 16}, {32, 32}, {33, 31}, {64, 96}, {17, 129}}) {
    compare(kernel_text("add_transposed", matrix(rows, columns)), "transpose");
  }
}

TEST_CASE("cuda: a C compiler finds what tcc finds") {
  if (!CudaSimulator::available(CudaSimulator::Compiler::Cc)) return;
  compare(kernel_text("softmax"), "rows", true, {}, CudaSimulator::Compiler::Cc);
  compare(kernel_text("chain"), "pointwise", true, {}, CudaSimulator::Compiler::Cc);
}

TEST_CASE("cuda: NVRTC compiles every kernel without spills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  for (const Case& c : kCases) {
    const passes::Lowered lowered = passes::lower_gpu(prepared(kernel_text(c.kernel)));
    for (const std::string arch : {"sm_75", "sm_90"}) {
      const test::Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(lowered.tree), arch);
      CAPTURE(result.log);
      REQUIRE(result.compiled);
      std::string usage;
      std::istringstream log(result.log);
      for (std::string line; std::getline(log, line);) {
        if (line.find("bytes spill stores") != std::string::npos) {
          CHECK(line.find(" 0 bytes spill stores") != std::string::npos);
          CHECK(line.find(" 0 bytes stack frame") != std::string::npos);
        }
        CHECK(line.find("warning") == std::string::npos);
        const size_t used = line.find("Used ");
        if (used != std::string::npos) usage += "; " + line.substr(used + 5, line.find(',') - used - 5);
      }
      CHECK(!usage.empty());
      const std::string report = std::string(c.kernel) + " " + arch + usage;
      MESSAGE(report);
    }
  }
}
