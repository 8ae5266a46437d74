// Random graphs with large extents, kernel by kernel: what a schedule makes of a kernel, compiled and run in pieces, gives
// the bits of the kernel interpreter; and all kernels together give those of the graph interpreter, if no formula of a
// function is among them. Vector width, cache size, pieces, fusion and results in place of operands are drawn too. Every
// fourth graph, a smaller one, is scheduled for a GPU and simulated; or all are, if asked. A failing graph is reduced and printed.
//
//   schedule_fuzz [GRAPHS] [SEED] [gpu]
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "codegen/interpreter/interpreter.h"
#include "codegen/llvm/jit.h"
#include "compiler/pipeline.h"
#include "support/cuda_sim.h"
#include "support/fuzz_cases.h"
#include "support/large_graph.h"
#include "support/launch.h"
#include "support/random.h"
#include "support/random_graph.h"

using namespace tenon;
using codegen::HostTensor;

namespace {

namespace backend = codegen::llvm_backend;

// A kernel's arguments. Memory of a result has a margin on both sides that stays as it was.
struct Arguments {
  static constexpr size_t kMargin = 64;
  std::vector<void*> buffers;
  std::vector<uint64_t> scalars;
  std::vector<std::vector<std::byte>> results;

  void* add_result(size_t bytes, const HostTensor* first) {
    results.emplace_back(bytes + 2 * kMargin, std::byte{0xa5});
    std::byte* begin = results.back().data() + kMargin;
    if (first) std::memcpy(begin, first->data.data(), bytes);
    return begin;
  }
  bool margins_intact() const {
    const auto untouched = [](std::byte b) { return b == std::byte{0xa5}; };
    return std::all_of(results.begin(), results.end(), [&](const auto& r) {
      return std::all_of(r.begin(), r.begin() + kMargin, untouched) && std::all_of(r.end() - kMargin, r.end(), untouched);
    });
  }
};

class Check {
 public:
  Check(const ir::Graph& graph, uint64_t seed) : graph_(graph), random_(seed ^ 0x2545F491), seed_(seed) {}

  static inline std::map<std::string, int> schedules;  // how many kernels each has taken

  // Empty if all is well, else what is not.
  std::string run(bool on_gpu, bool with_graph_interpreter) {
    const ir::Target target = on_gpu ? ir::Target(gpu()) : ir::Target(cpu());
    settings_.fusion.targets = {{0, target}};
    settings_.fusion.enabled = random_.chance(90);
    settings_.simplify = random_.chance(80);
    settings_.verify = random_.chance(10);
    const std::vector<HostTensor> inputs = test::random_inputs(graph_, seed_);
    for (size_t i = 0; i < inputs.size(); ++i) values_[graph_.inputs[i].get()] = inputs[i];
    const compiler::Program program = compiler::compile_graph(graph_.outputs, {}, settings_);
    for (const passes::FusedKernel& fused : program.fusion.kernels) {
      std::string problem = fused.call() ? (call(fused), "") : compare(fused, target);
      if (!problem.empty()) return problem;
    }
    if (!with_graph_interpreter) return {};
    const std::vector<HostTensor> expected = codegen::interpret(graph_, inputs);
    for (size_t k = 0; k < expected.size(); ++k) {
      HostTensor got = values_.at(program.graph.outputs[k].get());
      got.shape = expected[k].shape;
      if (!test::same_elements(got, expected[k])) return "the kernels together: " + difference(got, expected[k]);
    }
    return {};
  }

 private:
  ir::CpuTarget cpu() {
    static constexpr int widths[] = {128, 256, 512, 512};
    static constexpr int64_t caches[] = {4 << 10, 32 << 10, 256 << 10, 1 << 20, 2 << 20};
    const int width = random_.pick(widths);
    return {.vector_bits = std::min(width, backend::host_vector_bits()),
            .l2_bytes = random_.pick(caches),
            .cores = static_cast<int>(random_.between(1, 4)),
            .often = random_.chance(50)};
  }

  // Few multiprocessors take large tiles of products, many small ones.
  ir::GpuTarget gpu() {
    static constexpr int processors[] = {1, 4, 16, 108};
    ir::GpuTarget target;
    target.multiprocessors = random_.pick(processors);
    if (random_.chance(80)) target.library = {};
    return target;
  }

  static std::string difference(const HostTensor& got, const HostTensor& expected) {
    for (int64_t i = 0; i < got.numel(); ++i) {
      HostTensor a = HostTensor::zeros(got.dtype, ir::Dims{1}), b = a;
      a.set(0, got.get(i));
      b.set(0, expected.get(i));
      if (!test::same_elements(a, b))
        return "element " + std::to_string(i) + ": " + ir::print(got.get(i)) + " instead of " + ir::print(expected.get(i));
    }
    return "no difference";
  }

  // What a routine of the library computes is for its own tests; here others only read it.
  void call(const passes::FusedKernel& fused) {
    std::vector<void*> buffers;
    std::vector<uint64_t> scalars;
    std::vector<HostTensor> results;
    for (const ir::Node* node : fused.inputs) buffers.push_back(values_.at(node).data.data());
    for (const ir::Node* node : fused.scalars) scalars.push_back(node->bits());
    for (size_t k = 0; k < fused.outputs.size(); ++k) {
      const ir::Node& node = *fused.outputs[k];
      results.push_back(k < fused.bases.size() ? values_.at(fused.bases[k]) : HostTensor::zeros(node.dtype(), node.shape()));
      results.back().shape = node.shape();
    }
    for (HostTensor& result : results) buffers.push_back(result.data.data());
    codegen::interpret(fused.work, buffers.data(), scalars.data());
    for (size_t k = 0; k < results.size(); ++k) values_[fused.outputs[k]] = std::move(results[k]);
  }

  // Memory for one run; with `in_place`, results lie where those operands lie that the schedule names.
  Arguments arguments(const passes::FusedKernel& fused, const ir::Kernel& kernel, const std::vector<int64_t>& begins,
                      const std::vector<std::pair<int, int>>& in_place) {
    Arguments a;
    size_t in = 0, out = 0, base = 0;
    std::vector<size_t> operand(kernel.buffers.size());
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      const ir::KernelBuffer& buffer = kernel.buffers[b];
      std::byte* data = nullptr;
      if (buffer.role == ir::Role::In) {
        operand[b] = in;
        data = values_.at(fused.inputs[in++]).data.data();
      } else {
        const ir::Node& node = *fused.outputs[out++];
        const HostTensor* first = buffer.role == ir::Role::InOut ? &values_.at(fused.bases[base++]) : nullptr;
        data = static_cast<std::byte*>(a.add_result(static_cast<size_t>(node.numel() * ir::item_size(node.dtype())), first));
      }
      a.buffers.push_back(data + begins[b] * ir::item_size(buffer.dtype));
    }
    std::vector<bool> taken(kernel.buffers.size());
    for (auto [to, from] : in_place) {
      const auto o = static_cast<size_t>(to), i = static_cast<size_t>(from);
      const HostTensor& value = values_.at(fused.inputs[operand[i]]);
      const bool fits = value.data.size() + 2 * Arguments::kMargin == a.results[o - fused.inputs.size()].size();
      if (taken[o] || taken[i] || begins[o] != 0 || begins[i] != 0 || !fits) continue;
      taken[o] = taken[i] = true;
      std::memcpy(a.buffers[o], value.data.data(), value.data.size());
      a.buffers[i] = a.buffers[o];
    }
    for (const ir::Node* node : fused.scalars) a.scalars.push_back(node->bits());
    return a;
  }

  std::string compare(const passes::FusedKernel& fused, const ir::Target& target) {
    ir::Work work = fused.work;
    const std::vector<int64_t> begins = compiler::begin_work(work, target, settings_);
    const passes::Lowered lowered = compiler::lower(work, target, settings_);
    const auto& kernel = std::get<ir::Kernel>(work);
    ir::verify(lowered.tree);
    ++schedules[lowered.schedule];
    Arguments expected = arguments(fused, kernel, begins, {});
    codegen::interpret(compiler::basic_kernel(kernel, settings_), expected.buffers.data(), expected.scalars.data());
    Arguments got = arguments(fused, kernel, begins, random_.chance(40) ? lowered.donations : decltype(lowered.donations){});
    ir::kind(target) == ir::TargetKind::Cuda ? simulate(lowered, got) : launch(lowered, got);
    const std::string where = "schedule '" + lowered.schedule + "', kernel " + kernel.name + ": ";
    if (!got.margins_intact()) return where + "writes beside its result";
    for (size_t o = 0; o < fused.outputs.size(); ++o) {
      HostTensor want = result(fused, expected, o);
      const HostTensor have = result(fused, got, o);
      if (!test::same_elements(have, want)) return where + "output " + std::to_string(o) + " " + difference(have, want);
      values_[fused.outputs[o]] = std::move(want);
    }
    return {};
  }

  static HostTensor result(const passes::FusedKernel& fused, const Arguments& a, size_t o) {
    HostTensor t = HostTensor::zeros(fused.outputs[o]->dtype(), fused.outputs[o]->shape());
    if (!t.data.empty()) std::memcpy(t.data.data(), a.results[o].data() + Arguments::kMargin, t.data.size());
    return t;
  }

  void launch(const passes::Lowered& lowered, const Arguments& a) {
    static constexpr int64_t pieces[] = {1, 3, 1'000'000};
    const auto code = backend::load_object(backend::compile_object(lowered.tree), static_cast<int>(lowered.tree.phases.size()));
    if (!random_.chance(50)) return test::launch(lowered, *code, a.buffers, a.scalars, random_.pick(pieces));
    const auto bytecode = codegen::Bytecode::of(lowered.tree);
    if (!bytecode) throw std::runtime_error("there is no bytecode of a tree");
    test::launch(lowered, *bytecode, a.buffers, a.scalars, random_.pick(pieces));
  }

  void simulate(const passes::Lowered& lowered, const Arguments& a) {
    std::vector<void*> buffers = a.buffers;
    std::vector<std::vector<std::byte>> scratch;
    for (const ir::TreeBuffer& buffer : lowered.tree.buffers) {
      if (buffer.space != ir::Space::Global) continue;
      scratch.emplace_back(static_cast<size_t>(test::buffer_bytes(buffer, lowered.sizes)), std::byte{0xff});
      buffers.push_back(scratch.back().data());
    }
    using Order = test::CudaSimulator::Order;
    test::CudaSimulator(lowered.tree).run(buffers, lowered.sizes, a.scalars, random_.chance(50) ? Order::Forward : Order::Backward);
  }

  const ir::Graph& graph_;
  test::Random random_;
  const uint64_t seed_;
  compiler::Settings settings_;
  std::unordered_map<const ir::Node*, HostTensor> values_;
};

bool all_on_gpu = false;
bool on_gpu(uint64_t seed) { return all_on_gpu || seed % 4 == 0; }

std::string outcome(const ir::Graph& graph, uint64_t seed) {
  try {
    return Check(graph, seed).run(on_gpu(seed), seed % 2 == 1);
  } catch (const std::exception& e) {
    return std::string("exception: ") + e.what();
  }
}

bool check(uint64_t seed) {
  test::LargeGraphOptions options;
  options.transcendental = seed % 2 == 0;
  if (on_gpu(seed)) options.max_numel = 24'000;
  const ir::Graph graph = test::large_graph(seed, options);
  const std::string problem = outcome(graph, seed);
  if (problem.empty()) return true;
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), problem.c_str());
  // A smaller graph must fail in the same way: an exception is no wrong value.
  const bool throws = problem.starts_with("exception");
  const ir::Graph small = test::reduce_failing(graph, [&](const ir::Graph& g) {
    const std::string other = outcome(g, seed);
    return !other.empty() && other.starts_with("exception") == throws;
  });
  std::printf("reduced: %s\n%s\n", outcome(small, seed).c_str(), ir::print(small).c_str());
  std::fflush(stdout);
  return false;
}

volatile std::sig_atomic_t running_seed = 0;

void name_seed(int signal) {
  std::fprintf(stderr, "signal %d in seed %lld\n", signal, static_cast<long long>(running_seed));
  std::_Exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  const int graphs = test::fuzz_cases(count > 1 ? std::atoi(arguments[1]) : 200);
  const auto first = static_cast<uint64_t>(count > 2 ? std::atoll(arguments[2]) : 1);
  all_on_gpu = count > 3 && std::strcmp(arguments[3], "gpu") == 0;
  if (!backend::available()) return std::puts("no compiler"), 0;
  int bad = 0;
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(signal, name_seed);
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(graphs); ++seed) {
    running_seed = static_cast<std::sig_atomic_t>(seed);
    bad += check(seed) ? 0 : 1;
  }
  std::printf("%d graphs, seeds from %llu; wrong: %d; kernels:", graphs, static_cast<unsigned long long>(first), bad);
  for (const auto& [name, taken] : Check::schedules) std::printf(" %s %d,", name.c_str(), taken);
  std::printf("\n");
  return bad != 0;
}
