// A GPU for tests of generated text: compiles a loop tree's CUDA text as C and runs its phases on host memory, on the
// engine of tests/cuda_sim. It reports what a real GPU would leave undefined: a barrier or shuffle that not every thread
// reaches, a misaligned vector access. Shared memory starts as nan.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "codegen/cuda/emit.h"
#include "cuda_sim/engine.h"
#include "cuda_sim/program.h"
#include "ir/looptree/looptree.h"

namespace tenon::test {

class CudaSimulator {
 public:
  using Compiler = cuda_sim::Compiler;
  using Order = cuda_sim::Order;

  static bool available(Compiler compiler) { return cuda_sim::available(compiler); }

  explicit CudaSimulator(const ir::LoopTree& tree, Compiler compiler = cuda_sim::fastest_compiler())
      : tree_(tree), program_(cuda_sim::Program::load(codegen::cuda::emit(tree), compiler)) {}

  // Runs all phases. `buffers`: In, Out and Global ones in the tree's order. Throws on a fault, naming block
  // and thread.
  void run(const std::vector<void*>& buffers, const std::vector<int64_t>& sizes, const std::vector<uint64_t>& scalars,
           Order order = Order::Forward, uint64_t seed = 0, bool backward_sums = false) {
    std::vector<void*> arguments;
    for (void* const& buffer : buffers) arguments.push_back(const_cast<void**>(&buffer));
    for (const int64_t& size : sizes) arguments.push_back(const_cast<int64_t*>(&size));
    for (const uint64_t& scalar : scalars) arguments.push_back(const_cast<uint64_t*>(&scalar));
    const void* numbers = nullptr;
    if (!scalars.empty()) arguments.push_back(&numbers);
    for (size_t phase = 0; phase < tree_.phases.size(); ++phase) {
      const cuda_sim::Kernel& kernel = program_->kernels().at(phase);
      const auto blocks = static_cast<unsigned>(sizes[static_cast<size_t>(tree_.phases[phase].extent)]);
      const cuda_sim::Outcome outcome = engine().run({.kernel = kernel.call,
                                                      .machine = program_->machine(),
                                                      .arguments = arguments.data(),
                                                      .blocks = blocks,
                                                      .threads = static_cast<unsigned>(tree_.threads),
                                                      .shared_bytes = kernel.shared_bytes,
                                                      .order = order,
                                                      .seed = seed,
                                                      .backward_sums = backward_sums});
      if (outcome.kind != cuda_sim::Outcome::Fine) throw std::runtime_error("simulator: " + kernel.name + ": " + outcome.text);
    }
  }

 private:
  static cuda_sim::Engine& engine() {
    static thread_local cuda_sim::Engine engine;
    return engine;
  }

  const ir::LoopTree& tree_;
  std::shared_ptr<const cuda_sim::Program> program_;
};

}  // namespace tenon::test
