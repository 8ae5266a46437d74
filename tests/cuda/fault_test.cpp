// Every call of the driver, NVRTC and cuBLAS that five programs make is made to fail, one after another: the program gets an
// exception or the right result, nothing leaks, and the same program is right afterwards. What the loading of the libraries
// asks is not among them: it happens once a process.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "cuda/simulator.h"
#include "runtime/run/async_work.h"

using namespace tenon;

namespace {

const Device kGpu("cuda:0");

Tensor ramp(IntArrayRef sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return ((arange(count, kFloat) % 13) - 6).reshape(sizes) / 4;
}

// --- the programs: each gives what it computed, in the host's memory

Tensor expression() {
  const Tensor x = ramp({40, 33}).to(kGpu);
  return cat({softmax(x * 2, 1), x.cumsum(0)}, 0).cpu();
}

Tensor product() {
  const Tensor a = ramp({24, 4096}).to(kGpu), b = ramp({4096, 40}).to(kGpu);  // which the library multiplies
  return relu(a.matmul(b)).sum(0).cpu();
}

Tensor training(int steps) {
  manual_seed(3);
  nn::Sequential net(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 3));
  net->to(kGpu);
  optim::Adam adam(net->parameters(), optim::AdamOptions(0.01));
  const Tensor x = ramp({30, 8}).to(kGpu), y = (arange(30) % 3).to(kGpu);
  Tensor loss;
  for (int i = 0; i < steps; ++i) {
    adam.zero_grad();
    loss = nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    adam.step();
  }
  return loss.detach().cpu().reshape({1});
}

// A graph that is captured and replayed, with rows looked up by an index that the kernel checks.
Tensor captured() {
  const Tensor x = ramp({8, 6}).to(kGpu), index = ((arange(5) * 3) % 8).to(kDouble).to(kGpu).to(kLong);
  Tensor total = zeros({6}).to(kGpu);
  cuda::CUDAGraph graph;
  {
    const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
    graph.capture_begin();
    total.add_(x.index_select(0, index).sum(0));
    graph.capture_end();
  }
  for (int k = 0; k < 4; ++k) graph.replay();
  return total.cpu();
}

struct Program {
  const char* name;
  std::function<Tensor()> result;
  Tensor run() const {  // to the end
    const Tensor got = result();
    eval(got);
    return got;
  }
};
const std::vector<Program> kPrograms = {
    {"an expression", expression},
    {"a product", product},
    {"three training steps", [] { return training(3); }},
    {"training as a CUDA graph", [] { return training(6); }},
    {"a captured graph", captured},
};

// What may fail, and with what: refused, or out of memory.
struct Call {
  const char* name;
  int code;
};
const std::vector<Call> kCalls = {
    {"cuCtxSetCurrent", 1},
    {"cuMemAlloc_v2", 2},
    {"cuMemAlloc_v2", 1},
    {"cuMemcpyHtoDAsync_v2", 1},
    {"cuMemcpyDtoHAsync_v2", 1},
    {"cuMemcpyDtoDAsync_v2", 1},
    {"cuMemHostAlloc", 2},
    {"cuEventSynchronize", 1},
    {"cuStreamSynchronize", 1},
    {"cuStreamWaitEvent", 1},
    {"cuEventCreate", 2},
    {"cuEventRecord", 1},
    {"cuEventQuery", 1},
    {"cuModuleLoadDataEx", 2},
    {"cuModuleLoadDataEx", 200},
    {"cuModuleGetFunction", 500},
    {"cuLaunchKernel", 701},
    {"cuGraphCreate", 2},
    {"cuGraphAddKernelNode_v2", 1},
    {"cuGraphAddChildGraphNode", 1},
    {"cuGraphLaunch", 2},
    {"cuGraphInstantiateWithFlags", 2},
    {"cuGraphExecKernelNodeSetParams_v2", 1},
    {"cuStreamBeginCapture_v2", 1},
    {"cuStreamEndCapture", 1},
    {"nvrtcCreateProgram", 1},
    {"nvrtcCompileProgram", 11},
    {"nvrtcGetCUBIN", 3},
    {"cublasCreate_v2", 1},
    {"cublasGemmStridedBatchedEx", 13},
};

struct Live {
  long allocations, pinned, streams, modules, graphs, bytes;
  friend bool operator==(const Live&, const Live&) = default;
};
Live living() {
  const test::Simulator& sim = test::Simulator::get();
  runtime::synchronise();  // what ran late gives up its inputs
  clear_caches();          // plans hold graphs, kernels modules, and the allocator memory
  return {
      sim.live("allocations"), sim.live("pinned"), sim.live("streams"), sim.live("modules"), sim.live("graphs") + sim.live("graph_execs"),
      sim.live("bytes")};
}

bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && equal(a, b); }

}  // namespace

TEST_CASE("faults: whichever call fails, there is an exception, no leak, and the next run is right") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim) return;  // hardware fails when it likes
  int faults = 0, exceptions = 0;
  for (const Program& program : kPrograms) {
    const std::string name = program.name;
    CAPTURE(name);
    const Tensor want = program.run();
    program.run();  // what stays for good is there now
    const Live before = living();
    for (const Call& call : kCalls) {
      clear_caches();
      const long first = sim.calls(call.name);
      program.run();
      for (const long nth : test::calls_to_fail(sim.calls(call.name) - first)) {
        const std::string function = call.name;
        CAPTURE(function);
        CAPTURE(nth);
        clear_caches();
        sim.fault(call.name, nth, call.code);
        ++faults;
        try {
          const bool right = same(program.run(), want);  // not in the check, which would catch what it throws
          CHECK(right);                                  // the call was not needed after all: something else did instead
        } catch (const std::exception& e) {
          ++exceptions;
          CHECK(std::string(e.what()).size() > 10);
        }
        sim.heal();
        CHECK(same(program.run(), want));
      }
    }
    CHECK(living() == before);
  }
  CHECK(exceptions > faults / 3);
  MESSAGE(faults << " faults, " << exceptions << " exceptions");
}
