// Training on a device whose graph calls and library calls fail, each in turn, once and from then on: the losses have the bits of a
// training without a fault, and after an exception the weights are those before the step.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cuda/simulator.h"
#include "runtime/base/options.h"

using namespace tenon;

namespace {

Tensor ramp(IntArrayRef sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return ((arange(count, kFloat) * 7 % 13) - 6).reshape(sizes) / 8;
}

struct Training {
  Tensor x, y;
  nn::AnyModule net;
  std::shared_ptr<nn::Module> module;
  std::unique_ptr<optim::Optimizer> optimizer;
  Tensor loss() { return nn::functional::cross_entropy(net.forward(x), y); }
};

template <typename Net>
Training training(Net net, const Tensor& x, int64_t classes, const Device& device) {
  net->to(device);
  Training t{x.to(device), (arange(x.size(0)) % classes).to(device), nn::AnyModule(net), net.ptr(), nullptr};
  return t;
}

// Products of the library: k is large enough for one that splits it.
Training wide(const Device& device) {
  Training t = training(nn::Sequential(nn::Linear(2048, 34), nn::ReLU(), nn::Linear(34, 4)), ramp({20, 2048}), 4, device);
  t.optimizer = std::make_unique<optim::SGD>(t.module->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  return t;
}
Training iris(const Device& device) {
  Training t = training(nn::Sequential(nn::Linear(4, 16), nn::ReLU(), nn::Linear(16, 3)), ramp({30, 4}), 3, device);
  t.optimizer = std::make_unique<optim::Adam>(t.module->parameters(), optim::AdamOptions(0.01));
  return t;
}
Training convolutions(const Device& device) {
  Training t = training(nn::Sequential(nn::Conv2d(nn::Conv2dOptions(2, 3, 3)), nn::BatchNorm2d(3), nn::ReLU(), nn::MaxPool2d(2),
                                       nn::Flatten(), nn::Linear(12, 3)),
                        ramp({6, 2, 6, 6}), 3, device);
  t.optimizer = std::make_unique<optim::AdamW>(t.module->parameters(), optim::AdamWOptions(0.01));
  return t;
}
Training words(const Device& device) {
  Training t = training(nn::Sequential(nn::Embedding(9, 6), nn::LayerNorm(nn::LayerNormOptions({6})), nn::Flatten(), nn::Linear(24, 3)),
                        (arange(40) * 5 % 9).reshape({10, 4}), 3, device);
  t.optimizer = std::make_unique<optim::RMSprop>(t.module->parameters(), optim::RMSpropOptions(0.01));
  return t;
}

struct WithoutDisk {
  WithoutDisk() {
    runtime::Options without = before;
    without.disk_cache = false;
    runtime::set_options(without);
  }
  ~WithoutDisk() { runtime::set_options(before); }
  runtime::Options before = runtime::options();
};

using Program = Training (*)(const Device&);
constexpr Program kPrograms[] = {wide, iris, convolutions, words};

std::string weights_of(const Training& t) {
  std::ostringstream out;
  for (const std::vector<Tensor>& list : {t.module->parameters(), t.module->buffers()}) {
    for (const Tensor& p : list) {
      const Tensor here = p.detach().cpu().contiguous();
      out.write(static_cast<const char*>(here.const_data_ptr()), static_cast<std::streamsize>(here.nbytes()));
    }
  }
  return out.str();
}

// The bits of all losses, and of the weights behind them. `look` is called between steps. A step that is refused is made once more.
template <typename Look>
std::string train(Program program, const Device& device, int& refused, const Look& before_step) {
  manual_seed(3);
  Training t = program(device);
  std::ostringstream out;
  std::string before;
  for (int step = 0; step < 6; ++step) {
    before_step(step);
    before = weights_of(t);
    for (const bool again : {false, true}) {
      try {
        t.optimizer->zero_grad();
        Tensor loss = t.loss();
        loss.backward();
        t.optimizer->step();
        out << std::hexfloat << loss.item<float>() << ' ';
        break;
      } catch (const Error&) {
        REQUIRE(!again);
        ++refused;
        test::Simulator::get().heal();
        REQUIRE(weights_of(t) == before);
      }
    }
  }
  test::Simulator::get().heal();
  return out.str() + weights_of(t);
}
std::string train(Program program, const Device& device) {
  int refused = 0;
  return train(program, device, refused, [](int) {});
}

struct Call {
  const char* name;
  int code;
  bool stays;  // tried too
};
const std::vector<Call> kGraphCalls = {
    {"cuStreamBeginCapture_v2", 900, true},
    {"cuStreamEndCapture", 901, true},
    {"cuGraphCreate", 2, true},
    {"cuGraphAddKernelNode_v2", 1, true},
    {"cuGraphAddChildGraphNode", 801, true},
    {"cuGraphInstantiateWithFlags", 2, true},
    {"cuGraphExecKernelNodeSetParams_v2", 1, true},
    {"cuGraphExecChildGraphNodeSetParams", 910, true},
    {"cuGraphLaunch", 2, true},
    {"cuLaunchKernel", 701, true},
    {"cublasGemmStridedBatchedEx", 13, false},
    {"cublasSetStream_v2", 1, false},
    {"cublasSetWorkspace_v2", 7, false},
};

}  // namespace

TEST_CASE("graph faults: a call of a graph or of the library that fails, once or from then on, costs no step of training") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim) return;
  int faults = 0, refused = 0;
  for (size_t p = 0; p < std::size(kPrograms); ++p) {
    CAPTURE(p);
    const Device device("cuda:0");
    clear_caches();
    std::map<std::string, long> counts;
    for (const Call& call : kGraphCalls) counts[call.name] -= sim.calls(call.name);
    const std::string want = train(kPrograms[p], device);
    for (const Call& call : kGraphCalls) counts[call.name] += sim.calls(call.name);
    // Two plain runs, whose last launches are a graph that is used once; a product runs plainly once more in the plan that is made
    // anew then. A step that is one kernel by then is no graph.
    const bool is_kernel = kPrograms[p] == iris;
    CHECK(counts["cuGraphLaunch"] == (is_kernel ? 2 : 6));
    CHECK(counts["cuGraphInstantiateWithFlags"] == (kPrograms[p] == wide ? 4 : is_kernel ? 2 : 3));
    CHECK((counts["cuGraphAddChildGraphNode"] > 0) == (kPrograms[p] == wide));
    for (const Call& call : kGraphCalls) {
      const std::string function = call.name;
      CAPTURE(function);
      for (const bool stays : {false, true}) {
        if (stays && !call.stays) continue;
        CAPTURE(stays);
        for (const long nth : test::calls_to_fail(counts[call.name])) {
          CAPTURE(nth);
          clear_caches();
          (stays ? sim.fault_from : sim.fault)(call.name, nth, call.code);
          ++faults;
          int now = 0;
          CHECK((train(kPrograms[p], device, now, [](int) {}) == want));
          CHECK(now <= (function == "cuLaunchKernel" ? 1 : 0));  // plain calls alone are thrown
          refused += now;
        }
      }
    }
  }
  CHECK(faults > 60);
  MESSAGE(faults << " faults, " << refused << " exceptions");
}

TEST_CASE("graph faults: launches that are joined and do not compile stay single, and explain says so") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim) return;
  const WithoutDisk without_disk;  // or what is joined is found there
  const Device device("cuda:0");
  for (size_t p = 0; p < std::size(kPrograms); ++p) {
    CAPTURE(p);
    const std::string want = train(kPrograms[p], device);
    for (const auto& [function, code] : {std::pair{"nvrtcCompileProgram", 6}, {"cuModuleLoadDataEx", 200}, {"cuModuleLoadDataEx", 2}}) {
      const std::string name = function;
      CAPTURE(name);
      clear_caches();
      int refused = 0;
      long compiled = 0, graphs = 0;
      const std::string got = train(kPrograms[p], device, refused, [&](int step) {
        if (step == 2) compiled = sim.calls("nvrtcCompileProgram");
        if (step == 3) compiled = sim.calls("nvrtcCompileProgram") - compiled;
        if (step == 5) graphs = sim.calls("cuGraphLaunch");
        if (step >= 2) sim.fault_from(name.c_str(), 1, code);
      });
      CHECK((got == want));
      CHECK(refused == 0);
      CHECK(compiled > 0);  // it was tried
      CHECK(sim.calls("cuGraphLaunch") > graphs);
    }
  }
  clear_caches();
  Training t = iris(device);
  for (int step = 0; step < 6; ++step) {
    if (step == 1) clear_caches();  // the first step's nodes were made in another order, and so are some kernels
    if (step == 3) sim.fault_from("nvrtcCompileProgram", 1, 6);
    t.optimizer->zero_grad();
    t.loss().backward();
    t.optimizer->step();
  }
  sim.heal();
  const std::string text = explain(t.module->parameters()[0]);
  CAPTURE(text);
  CHECK(text.find("launches are not joined: kernel '") != std::string::npos);
  clear_caches();
}

TEST_CASE("graph faults: a library that sums in another order and takes other kernels") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim) return;
  const Device device("cuda:0");
  const std::string want = train(wide, device);
  int others = 0;
  for (const long seed : {1, 2, 3}) {
    clear_caches();
    sim.set("library", seed);
    const std::string drawn = train(wide, device);
    others += drawn != want;
    const auto other_kernels = [&](int step) { sim.set("library", step < 4 ? seed : seed + 3 * step); };  // the third step made a graph
    int refused = 0;
    train(wide, device, refused, other_kernels);
    CHECK(refused == 0);
    sim.set("library", seed);
    clear_caches();  // what is recorded stays as it is
    CHECK((train(wide, device) == drawn));
    sim.set("library", 0);
  }
  clear_caches();
  CHECK(others > 0);
  CHECK((train(wide, device) == want));
}

TEST_CASE("graph faults: a library that refuses everything is left, and info() says so") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim || cuda::device_count() < 4) return;
  const std::string want = train(wide, Device("cuda:0"));
  CHECK(sim.calls("cublasSetWorkspace_v2") > 0);
  const char* const calls[] = {"cublasCreate_v2", "cublasGemmStridedBatchedEx", "cublasSetWorkspace_v2"};
  for (int i = 0; i < 3; ++i) {  // what a device has met once it does not ask again
    const Device device(kCUDA, static_cast<DeviceIndex>(i + 1));
    const std::string function = calls[i];
    CAPTURE(function);
    sim.fault_from(calls[i], 1, 3);
    int refused = 0;
    CHECK((train(wide, device, refused, [](int) {}) == want));
    CHECK(refused == 0);
    const long products = sim.calls("cublasGemmStridedBatchedEx");
    CHECK((train(wide, device) == want));
    CHECK(sim.calls("cublasGemmStridedBatchedEx") == products);
    CHECK(info().find("products are generated: cublas") != std::string::npos);
  }
}

// The other case runs this one in a process of its own.
TEST_CASE("graph faults: with another file in place of cuBLAS" * doctest::skip(std::getenv("TENON_TEST_CHILD") == nullptr)) {
  const Tensor x = ramp({64, 4096}), w = ramp({4096, 64});
  CHECK(equal(x.to("cuda:0").matmul(w.to("cuda:0")).cpu(), x.matmul(w)));
  CHECK(info().find("cuBLAS: not used, products are generated: ") != std::string::npos);
}
TEST_CASE("graph faults: a library that is there and does not load is no reason for a product to fail") {
  if (!test::Simulator::get()) return;
  for (const std::string& file :
       {std::string(std::getenv("TENON_NVRTC")), std::string("/proc/version")}) {  // without its functions; no library
    CAPTURE(file);
    const std::string command = "TENON_TEST_CHILD=1 TENON_CUBLAS=" + file + " /proc/" + std::to_string(getpid()) +
                                "/exe --test-case='graph faults: with another file*' > /dev/null 2>&1";
    CHECK(std::system(command.c_str()) == 0);
  }
}

TEST_CASE("graph faults: of a GPU that nobody uses there is no context") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim || cuda::device_count() < 6) return;
  const long contexts = sim.live("contexts");
  cuda::getDeviceProperties(5);
  clear_caches();
  cuda::synchronize();
  CHECK(sim.live("contexts") == contexts);
  CHECK(zeros({2}, Device("cuda:5")).sum().item<float>() == 0);
  CHECK(sim.live("contexts") == contexts + 1);
}

TEST_CASE("graph faults: a device that is lost takes nothing of the host with it") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim || cuda::device_count() < 6) return;
  const Device device("cuda:4");
  const Tensor host = ramp({5, 4}), copied = (host.to(device) * 2).cpu();
  Training on_host = iris(kCPU);
  Tensor there = host.to(device) + 1;
  eval({there, copied});
  sim.fault("cuStreamSynchronize", 1, 12345);  // what no version of the driver says today
  CHECK_THROWS_WITH_AS(eval({there.cpu()}), doctest::Contains("cuda:4 is lost with all that lies on it"), Error);
  sim.heal();
  for (int again = 0; again < 2; ++again) {
    CHECK_THROWS_WITH_AS(eval({there.cpu()}), doctest::Contains("cuda:4 is lost"), Error);
    CHECK_THROWS_WITH_AS(eval({host.to(device) + 1}), doctest::Contains("cuda:4 is lost"), Error);
    CHECK(equal(copied, host * 2));
    on_host.optimizer->zero_grad();
    on_host.loss().backward();
    on_host.optimizer->step();
    CHECK(on_host.loss().item<float>() < 10);
    CHECK(equal((host.to("cuda:0") + 1).cpu(), host + 1));
    clear_caches();
    cuda::empty_cache();
    cuda::synchronize();
  }
}
